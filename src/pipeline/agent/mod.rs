//! The agent's part of a run: it works on a copy of base, and its patch is made from the trees.
//!
//! - [`part`]: from the order to the captured patch
//! - [`install`], [`site`]: its program, what it holds, and what its sandbox is made of
//! - [`stage`], [`log`], [`trajectory`], [`changes`], [`disk`]: while it works
//! - [`capture`]: what it leaves

mod capture;
mod certificates;
mod changes;
mod install;
mod log;
mod part;
mod recording;
mod rollout;
mod site;
mod stage;
mod theirs;
mod trajectory;

pub(super) use part::{agent_part, agent_tree, awaits_capture};
