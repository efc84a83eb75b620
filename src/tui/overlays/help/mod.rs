//! The help page: all keys, those that work here first; a search narrows it.

pub mod draw;

/// Where the reader is on the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Help {
    pub scroll: usize,
    /// Only what holds this.
    pub search: String,
    /// The search is being typed.
    pub typing: bool,
}
