//! Size classes and layouts to rectangles.

mod cut;
mod kinds;
mod plan;
mod split;

pub use cut::{split_bottom, split_left, split_top};
pub use kinds::{LayoutKind, PaneKind};
pub use plan::{Plan, SizeClass, Wish, plan, resize, size_class};
pub use split::{Sizes, Way};

#[cfg(test)]
mod tests;
