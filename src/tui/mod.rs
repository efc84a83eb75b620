//! The workbench: a terminal over runs.
//!
//! It reads and asks through one seam, [`backend::Backend`]; it never touches a sandbox, a tree
//! or an environment. One loop ([`run`]) turns keys, signals, answers and samples into
//! [`msg::Msg`]; [`update::update`] alone changes the [`state::App`] and says what to do next
//! ([`effect::Effect`]); [`draw::draw`] shows it, only when something that is seen changed.
//!
//! - [`action`] one table of what can be done; keymap, help, hints and tests come from it
//! - [`keymap`], [`possible`] which keys mean what, and when an action is possible
//! - [`config`] the user's keymap and themes, [`remember`] how the workbench was left
//! - [`agent_offer`] what is known of agents before one is run
//! - [`hints`] header and footer, which a click reads as well
//! - [`layout`] size classes and layouts to rectangles
//! - [`panes`], [`widgets`], [`overlays`] what is seen
//! - [`theme`], [`glyphs`], [`caps`] roles to styles at the terminal's colour depth
//! - [`text`], [`ansi`] untrusted text made safe
//! - [`moment`] the time cursor that ties log, cases and GPUs
//! - [`highlight`] syntax colours on a worker thread
//! - [`jobs`] effects on the blocking pool; `lanes`: the newest request of a kind replaces a waiting one
//! - [`reading`] the shown log read on: entries, arrival times, figures
//! - [`term`] entering and leaving the terminal, signals, hang-ups, the mouse, the clipboard

pub mod action;
pub mod agent_offer;
pub mod ansi;
pub mod backend;
pub mod caps;
pub mod config;
pub mod draw;
pub mod effect;
pub mod glyphs;
pub mod gpu_view;
pub mod highlight;
pub mod hints;
pub mod input;
pub mod jobs;
pub mod keymap;
mod lanes;
pub mod layout;
pub mod moment;
pub mod msg;
pub mod overlays;
pub mod panes;
pub mod possible;
pub mod reading;
pub mod remember;
pub mod run;
pub mod state;
pub mod term;
pub mod text;
pub mod theme;
pub mod update;
pub mod widgets;

pub use backend::Backend;
pub use remember::Remembered;
pub use run::{Left, Options, WorkbenchError, run};

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
