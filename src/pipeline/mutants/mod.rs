//! Gold's mutants on both suites (METHOD.md section 3): all on the official one, and those that it
//! lets pass on the probes. The cells are verify's.
//!
//! - [`candidates`]: the mutants, as trees
//! - [`stage`]: from the order to the record

mod candidates;
mod stage;

pub(super) use candidates::mutants_of;
pub(super) use stage::mutants;
