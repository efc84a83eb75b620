//! One table of everything that can be done: name, keys, help, and when it is possible.
//!
//! The keymap, the help page, the footer's hints and the tests come from it, so none can lie
//! about another.

use super::layout::{LayoutKind, PaneKind};
use super::possible as when;
use super::state::App;

/// Something that a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Left,
    Right,
    Open,
    Back,
    Find,
    NextPane,
    PrevPane,
    Pane(PaneKind),
    Zoom,
    Layout(LayoutKind),
    Help,
    Quit,
    Suspend,
    Redraw,
    Grade,
    GradeGold,
    RunAgent,
    Cancel,
    RerunCase,
    RerunFailing,
    LogSource,
    Follow,
    NextMatch,
    PrevMatch,
    NextError,
    PrevError,
    DiffView,
    DiffAgainst,
    NextHunk,
    PrevHunk,
    NextFile,
    PrevFile,
    Unfold,
    OnlyRejected,
    SuiteFilter,
    NextFailing,
    PrevFailing,
    NextFrame,
    PrevFrame,
    ToDiff,
    Why,
}

/// Where an action's keys work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    Everywhere,
    In(PaneKind),
}

/// Possible, or why not: the words that the footer says when the key is pressed all the same.
pub type Possible = Result<(), &'static str>;

/// One line of the table.
pub struct Entry {
    pub action: Action,
    pub name: &'static str,
    /// As [`super::keymap`] reads them; the first is what hints show.
    pub keys: &'static [&'static str],
    pub scope: Scope,
    pub help: &'static str,
    pub possible: fn(&App) -> Possible,
    /// The footer's word for it; `None`: on the help page only.
    pub hint: Option<&'static str>,
}

impl Entry {
    /// Works while this pane has the focus.
    pub fn reaches(&self, pane: PaneKind) -> bool {
        match self.scope {
            Scope::Everywhere => true,
            Scope::In(scope) => scope == pane,
        }
    }
}

/// The entry of an action.
pub fn entry(action: Action) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.action == action)
}

const ALL: Scope = Scope::Everywhere;
const TASKS: Scope = Scope::In(PaneKind::Tasks);
const LOG: Scope = Scope::In(PaneKind::Log);
const DIFF: Scope = Scope::In(PaneKind::Diff);
const CASES: Scope = Scope::In(PaneKind::Cases);

macro_rules! table {
    ($($action:expr, $name:literal, [$($key:literal),+], $scope:expr, $hint:expr, $possible:expr, $help:literal;)+) => {
        /// All actions, in the order of the help page and of the footer.
        pub static TABLE: &[Entry] = &[$(Entry {
            action: $action, name: $name, keys: &[$($key),+], scope: $scope,
            help: $help, possible: $possible, hint: $hint,
        }),+];
    };
}

use Action as A;

table! {
    // the pane's own first: the footer shows them first
    A::LogSource, "log-source", ["s"], LOG, Some("source"), when::has_other_log,
        "next source: agent log, worker's stages, what the suites printed";
    A::Follow, "follow", ["f"], LOG, Some("follow"), when::always,
        "follow the newest line, or stop; scrolling up stops too";
    A::NextMatch, "next-match", ["n"], LOG, Some("next"), when::searching,
        "next line that matches the search";
    A::PrevMatch, "prev-match", ["N"], LOG, None, when::searching,
        "previous line that matches the search";
    A::NextError, "next-error", ["e"], LOG, Some("error"), when::always,
        "next error or failed command";
    A::PrevError, "prev-error", ["E"], LOG, None, when::always,
        "previous error or failed command";

    A::DiffView, "diff-view", ["v"], DIFF, Some("view"), when::always,
        "side by side, or one under the other";
    A::DiffAgainst, "diff-against", ["b"], DIFF, Some("base/gold"), when::always,
        "compare with gold, or with base";
    A::NextHunk, "next-hunk", ["n"], DIFF, Some("hunk"), when::has_diff, "next change";
    A::PrevHunk, "prev-hunk", ["N"], DIFF, None, when::has_diff, "previous change";
    A::NextFile, "next-file", ["]"], DIFF, Some("file"), when::has_files, "next file";
    A::PrevFile, "prev-file", ["["], DIFF, None, when::has_files, "previous file";
    A::Unfold, "unfold", ["e"], DIFF, Some("unfold"), when::has_diff,
        "show the unchanged lines, or fold them";

    A::OnlyRejected, "only-rejected", ["f"], CASES, Some("only rejected"), when::has_cases,
        "only the cases that gold passes and this does not";
    A::SuiteFilter, "suite-filter", ["s"], CASES, Some("suite"), when::has_cases,
        "both suites, official only, probes only";
    A::NextFailing, "next-failing", ["n"], CASES, Some("failing"), when::has_cases,
        "next case that did not pass";
    A::PrevFailing, "prev-failing", ["N"], CASES, None, when::has_cases,
        "previous case that did not pass";
    A::NextFrame, "next-frame", ["]"], CASES, Some("frame"), when::has_frames,
        "next frame of the traceback";
    A::PrevFrame, "prev-frame", ["["], CASES, None, when::has_frames,
        "previous frame of the traceback";
    A::ToDiff, "to-diff", ["o", "enter"], CASES, Some("to diff"), when::has_frames,
        "show the frame's line in the diff";
    A::Why, "why", ["v"], CASES, Some("why"), when::has_cases,
        "the whole traceback in place of the list, and back";

    A::Open, "open", ["enter", "o"], TASKS, Some("open"), when::always,
        "open or close a branch; on a run, go to its cases";
    A::Open, "unfold-entry", ["enter", "o"], LOG, Some("unfold"), when::always,
        "show or fold the output of the entry under the cursor";

    A::Grade, "grade", ["g"], ALL, Some("grade"), when::can_grade,
        "grade what is selected: official tests, then probes";
    A::GradeGold, "grade-gold", ["G"], ALL, Some("grade gold"), when::has_task,
        "grade the task's gold patch";
    A::RunAgent, "run-agent", ["a"], ALL, Some("run agent"), when::has_task,
        "choose an agent and let it work on the task";
    A::Cancel, "cancel", ["x"], ALL, Some("cancel"), when::can_cancel,
        "cancel the run that is shown (asks first)";
    A::RerunCase, "rerun-case", ["r"], ALL, Some("rerun case"), when::can_rerun_case,
        "run the selected case again; the verdict stays as it is";
    A::RerunFailing, "rerun-failing", ["F"], ALL, Some("rerun failing"), when::can_rerun_failing,
        "run all cases again that did not pass";

    A::Find, "find", ["/"], ALL, Some("filter"), when::can_find,
        "filter tasks or cases by name; search the log or the diff";
    A::Back, "back", ["esc"], ALL, None, when::always,
        "close what is open, clear the filter, leave zoom";
    A::Zoom, "zoom", ["z"], ALL, Some("zoom"), when::always,
        "give the whole screen to this pane, and back";
    A::NextPane, "next-pane", ["tab"], ALL, Some("pane"), when::always, "next pane";
    A::PrevPane, "prev-pane", ["backtab"], ALL, None, when::always, "previous pane";
    A::Pane(PaneKind::Tasks), "tasks", ["1", "t"], ALL, None, when::always,
        "tasks, submissions and runs";
    A::Pane(PaneKind::Log), "log", ["2", "l"], ALL, None, when::always, "log";
    A::Pane(PaneKind::Diff), "diff", ["3", "d"], ALL, None, when::always, "diff";
    A::Pane(PaneKind::Cases), "cases", ["4", "c"], ALL, None, when::always, "cases";
    A::Pane(PaneKind::Gpu), "gpu", ["5", "u"], ALL, None, when::always, "GPUs and machine";
    A::Layout(LayoutKind::Author), "author", ["A"], ALL, None, when::always,
        "layout: author (cases first)";
    A::Layout(LayoutKind::Reviewer), "reviewer", ["R"], ALL, None, when::always,
        "layout: reviewer (diff and cases)";
    A::Layout(LayoutKind::Operator), "operator", ["O"], ALL, None, when::always,
        "layout: operator (log and GPUs)";

    A::Up, "up", ["k", "up"], ALL, None, when::always, "up";
    A::Down, "down", ["j", "down"], ALL, None, when::always, "down";
    A::PageUp, "page-up", ["K", "pageup"], ALL, None, when::always, "a page up";
    A::PageDown, "page-down", ["J", "pagedown", "space"], ALL, None, when::always, "a page down";
    A::Top, "top", ["<", "home"], ALL, None, when::always, "to the first line";
    A::Bottom, "bottom", [">", "end"], ALL, None, when::always, "to the last line; follows a log";
    A::Left, "left", [",", "left"], ALL, None, when::always, "scroll left; close a branch";
    A::Right, "right", [".", "right"], ALL, None, when::always, "scroll right; open a branch";

    A::Redraw, "redraw", ["ctrl-l"], ALL, None, when::always, "draw the whole screen anew";
    A::Suspend, "suspend", ["ctrl-z"], ALL, None, when::always,
        "back to the shell, `fg` returns; runs go on";
    A::Help, "help", ["?"], ALL, Some("help"), when::always, "this page";
    A::Quit, "quit", ["q", "ctrl-c"], ALL, Some("quit"), when::always,
        "leave; runs go on without the workbench";
}
