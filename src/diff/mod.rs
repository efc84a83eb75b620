//! PURE: patches and differences as data.
//!
//! [`patch`] reads patches, strictly enough to apply them and leniently enough to show them;
//! bytes stay bytes here: what is shown is sanitised in `tui`.

pub mod patch;
