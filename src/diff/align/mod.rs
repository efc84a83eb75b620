//! Two changes of one base, part by part.
//!
//! Two real solutions rarely line up by path. [`align`] takes their files cut into [`Unit`]s
//! (functions, classes without their methods, what else stands in a module) and says which part
//! of one stands for which of the other: by place, by qualified name, by likeness of their text;
//! and what has no counterpart. [`SourceFile::diff`] is a pair as any other difference.

mod pair;
mod run;
mod sketch;
#[cfg(test)]
mod tests;
mod unit;

pub use run::{Aligned, At, How, Touched, align, renames};
pub use unit::{SourceFile, Unit, UnitKind};
