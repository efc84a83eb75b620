//! Task folders: found, read, and checked against what METHOD.md asks of a task.
//!
//! Everything wrong is a [`Problem`] that names file, line and the mend; loading collects all of
//! them rather than stopping at the first.

mod check;
mod claims;
mod load;
mod locate;
mod mapping;
mod problem;
mod untwinned;

pub use load::{Catalog, Loaded, load_task};
pub(crate) use load::{parse_toml, read_text};
pub use locate::line_at;
pub(crate) use locate::{Step, line_of};
pub use mapping::mapping_hashes;
pub use problem::{CatalogError, Problem, Severity};
pub use untwinned::{untwinned, without_twin};
