//! PURE: patches and differences as data.
//!
//! [`patch`] reads patches, strictly enough to apply them and leniently enough to show them.
//! [`FileDiff`] compares two versions of a file, or holds what a patch says of one; [`Rows`] is
//! what a screen shows of it, and [`word_diff`] which words of a pair of lines changed.
//! [`align`] sets two changes of one base side by side, part by part. Bytes stay bytes: what is
//! shown is sanitised in `tui`.

pub mod align;
mod from_patch;
mod lines;
mod notice;
mod pairs;
mod parts;
pub mod patch;
mod rows;
mod share;
mod words;

pub use lines::{Break, ChangeRange, DiffOptions, FileDiff, Span};
pub use notice::{Notice, is_binary};
pub use pairs::Pair;
pub use rows::{Layout, Open, Row, RowKind, Rows, Side};
pub use share::added_line_share;
pub use words::{MAX_LINE, WordDiff, word_diff};
