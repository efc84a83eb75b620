//! The home on disk: run directories, their journals, locks and requests.
//!
//! One run is one directory with one writer, its worker; everybody else reads
//! (DESIGN.md, The one idea).

mod acceptances;
mod calibrations;
mod cells;
mod clock;
mod home;
mod journal;
mod left;
mod lock;
mod mutations;
mod notes;
mod random;
mod reviews;
mod run;
mod signoffs;
mod summary;
mod watch;

pub use acceptances::{
    acceptance_path, is_as_written, keep_acceptance, made_acceptance, recorded_acceptance,
};
pub use calibrations::{
    keep_calibration, kept_calibration, made_calibration, record_calibration, task_calibrations,
    write_calibration,
};
pub use cells::{keep_cell, kept_cell};
pub use clock::now_s;
pub use home::{Home, StoreError};
pub use journal::{Journal, Tail, read_records};
pub use left::{keep_left, kept_left};
pub use lock::Lock;
pub use mutations::{keep_mutation, made_mutation};
pub use notes::{notes_of, put_note};
pub use random::random_hex;
pub use reviews::{clear_run, review_of};
pub use run::{Request, RunDir, RunStatus};
pub use signoffs::{keep_signoffs, recorded_signoffs, signoff_path};
pub use summary::{Pair, Summary};
pub use watch::Watch;
