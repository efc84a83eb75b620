//! One table of everything that can be done: name, keys, help, and when it is possible.
//!
//! The keymap, the palette, the help page, the footer's hints, clicks on these and the tests come
//! from it, so none can lie about another.

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
    NextWarning,
    PrevWarning,
    UnfoldAll,
    WrapLines,
    RawLog,
    OnlyMatching,
    HideMatching,
    ToTime,
    Tie,
    EarlierLog,
    SaveLog,
    DiffView,
    DiffAgainst,
    NextHunk,
    PrevHunk,
    NextFile,
    PrevFile,
    Unfold,
    NextSubmission,
    PrevSubmission,
    Mark,
    MarkAll,
    TasksOrder,
    TasksStatus,
    OnlyRejected,
    OnlyChanged,
    OnlyAlike,
    CasesOrder,
    Heat,
    RerunShown,
    SuiteFilter,
    NextFailing,
    PrevFailing,
    NextFrame,
    PrevFrame,
    ToDiff,
    Why,
    Verify,
    VerifyCell,
    VerifyRow,
    OnlyBroken,
    NextBroken,
    PrevBroken,
    NextCase,
    PrevCase,
    ToCell,
    ToMatrix,
    EditProbe,
    EditPatch,
    Palette,
    Copy,
    Narrower,
    Wider,
    Lower,
    Higher,
    EvenSizes,
    NextTheme,
    Mouse,
    Shell,
    TellShell,
    Engine,
    DiffChoose,
    DiffBy,
    DiffSpace,
    DiffEndings,
    DiffLarge,
    MoreContext,
    LessContext,
    ToFrame,
    Note,
    Notes,
    GpuOpen,
    GpuSort,
    GpuSpan,
}

/// Where an action's keys work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    Everywhere,
    In(PaneKind),
    /// In the author's panes: the matrix, claims, a cell.
    Author,
    /// In all other panes.
    Elsewhere,
}

impl Scope {
    /// In the order of a printed keymap.
    pub fn all() -> impl Iterator<Item = Scope> {
        let panes = PaneKind::ALL.into_iter().map(Scope::In);
        let several = [Scope::Elsewhere, Scope::Author];
        std::iter::once(Scope::Everywhere)
            .chain(panes)
            .chain(several)
    }

    /// As a keymap names it.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Everywhere => "everywhere",
            Scope::In(pane) => pane.name(),
            Scope::Author => "author",
            Scope::Elsewhere => "elsewhere",
        }
    }

    /// As the help page says it.
    pub fn words(self) -> String {
        match self {
            Scope::Everywhere => "everywhere".to_owned(),
            Scope::In(pane) => format!("in {}", pane.name()),
            Scope::Author => "in acceptance, claims and cell".to_owned(),
            Scope::Elsewhere => "in all other panes".to_owned(),
        }
    }

    pub fn reaches(self, pane: PaneKind) -> bool {
        match self {
            Scope::Everywhere => true,
            Scope::In(own) => own == pane,
            Scope::Author => pane.author(),
            Scope::Elsewhere => !pane.author(),
        }
    }
}

/// Possible, or why not: the words that the footer says when the key is pressed all the same.
/// `{grade}` in them stands for that action's key.
pub type Possible = Result<(), &'static str>;

/// One line of the table.
pub struct Entry {
    pub action: Action,
    pub name: &'static str,
    /// As [`super::keymap`] reads them; the user's keymap may say others.
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
        self.scope.reaches(pane)
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
const MATRIX: Scope = Scope::In(PaneKind::Acceptance);
const CLAIMS: Scope = Scope::In(PaneKind::Claims);
const CELL: Scope = Scope::In(PaneKind::Cell);
const GPU: Scope = Scope::In(PaneKind::Gpu);
const AUTHOR: Scope = Scope::Author;
const ELSEWHERE: Scope = Scope::Elsewhere;

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
    A::NextWarning, "next-warning", ["w"], LOG, None, when::always,
        "next warning, or wait for the model's service";
    A::PrevWarning, "prev-warning", ["W"], LOG, None, when::always, "previous warning";
    A::UnfoldAll, "unfold-all", ["U"], LOG, None, when::always, "unfold all entries, or fold them";
    A::OnlyMatching, "only-matching", ["&", "I"], LOG, None, when::has_log,
        "show only entries that match a regular expression; an empty one takes it away";
    A::HideMatching, "hide-matching", ["X"], LOG, None, when::has_log,
        "hide entries that match a regular expression";
    A::ToTime, "to-time", ["h", "@"], LOG, None, when::tells_times,
        "go to a time: 17:30, 17:30:05, +10m, -5m, or 41m into the run";
    A::Tie, "tie", ["b"], LOG, None, when::tells_times,
        "cases and GPUs show the moment under the cursor, or now again";
    A::RawLog, "raw", ["v"], LOG, Some("raw"), when::has_structure,
        "the log's own lines, or what they say";
    A::WrapLines, "wrap", ["L"], LOG, None, when::always, "wrap long lines, or cut them at the edge";
    A::EarlierLog, "earlier-log", ["P"], LOG, None, when::has_earlier_log,
        "the log of the attempt before, of the same run or of an earlier one; back to the newest";
    A::SaveLog, "save-log", ["D"], LOG, None, when::has_log,
        "save what is shown, unfolded, to a file whose path is told";

    A::DiffView, "diff-view", ["v"], DIFF, Some("view"), when::always,
        "side by side, or one under the other";
    A::DiffAgainst, "diff-against", ["b"], DIFF, Some("base/gold"), when::always,
        "what is selected against gold, against base; gold against base";
    A::NextHunk, "next-hunk", ["n"], DIFF, Some("hunk"), when::has_diff,
        "next change; while a search is set (esc ends it), next match";
    A::PrevHunk, "prev-hunk", ["N"], DIFF, None, when::has_diff,
        "previous change, or match";
    A::NextFile, "next-file", ["]"], DIFF, Some("file"), when::has_files, "next file";
    A::PrevFile, "prev-file", ["["], DIFF, None, when::has_files, "previous file";
    A::Unfold, "unfold", ["e"], DIFF, Some("unfold"), when::has_diff,
        "show the unchanged lines, or fold them";
    A::DiffBy, "diff-by", ["s"], DIFF, Some("by symbol"), when::has_comparison,
        "file beside file, or functions and classes beside each other wherever they stand";
    A::DiffChoose, "diff-choose", ["B"], DIFF, None, when::has_comparison,
        "compare with another submission, hollow, an adversarial or alternative patch";
    A::Note, "note", ["h"], DIFF, Some("note"), when::can_note,
        "write a note on the line, kept with the run; an empty one takes it away";
    A::Notes, "notes", ["H"], DIFF, None, when::can_note, "all notes of the run: go to one, delete one";
    A::ToFrame, "to-frame", ["enter", "o"], DIFF, None, when::has_diff,
        "open the fold; on a line that the selected case's traceback names, back to its frame";
    A::MoreContext, "more-context", [")"], DIFF, None, when::has_diff, "more unchanged lines around changes";
    A::LessContext, "less-context", ["("], DIFF, None, when::has_diff, "fewer unchanged lines around changes";
    A::DiffSpace, "ignore-space", ["w"], DIFF, None, when::has_files, "leave white space aside, or not";
    A::DiffEndings, "ignore-endings", ["W"], DIFF, None, when::has_files,
        "leave line ends (LF, CRLF) aside, or not";
    A::DiffLarge, "show-large", ["L"], DIFF, None, when::has_diff, "show a large file all the same";

    A::OnlyRejected, "only-rejected", ["f"], CASES, Some("only rejected"), when::has_cases,
        "only the cases that gold passes and this does not";
    A::Heat, "map", ["h"], CASES, Some("map"), when::has_task,
        "all cases of the task across its graded submissions, and back";
    A::OnlyAlike, "only-alike", ["b"], CASES, Some("by signature"), when::has_cases,
        "only the cases that fail alike, or that are of one claim: choose from a list with counts";
    A::OnlyChanged, "only-changed", ["e"], CASES, Some("changed"), when::has_before,
        "only the cases that ended otherwise than in the run of the same before this one";
    A::CasesOrder, "cases-order", ["w"], CASES, None, when::has_cases,
        "the slowest first, or as collected; of the map, what the fewest pass first";
    A::SuiteFilter, "suite-filter", ["s"], CASES, Some("suite"), when::has_cases,
        "both suites, official only, probes only";
    A::NextFailing, "next-failing", ["n"], CASES, Some("failing"), when::has_cases,
        "next case that gold passes and this fails";
    A::PrevFailing, "prev-failing", ["N"], CASES, None, when::has_cases,
        "previous case that gold passes and this fails";
    A::NextFrame, "next-frame", ["]"], CASES, Some("frame"), when::has_frames,
        "next frame of the traceback";
    A::PrevFrame, "prev-frame", ["["], CASES, None, when::has_frames,
        "previous frame of the traceback";
    A::ToDiff, "to-diff", ["o", "enter"], CASES, Some("to diff"), when::has_place,
        "show the frame's line in the diff; from the map, go to the submission's case";
    A::Why, "why", ["v"], CASES, Some("why"), when::has_cases,
        "the whole traceback in place of the list, and back";

    A::GpuOpen, "gpu-open", ["enter", "o"], GPU, Some("open"), when::has_gpus,
        "this GPU alone with all of its figures and curves, and back; on a process, its run";
    A::GpuSort, "gpu-sort", ["s"], GPU, Some("sort"), when::has_gpus,
        "sort processes by GPU, memory, share of the GPU, of the processors, time";
    A::GpuSpan, "gpu-span", ["v"], GPU, Some("span"), when::always,
        "curves over one, five, thirty minutes";

    A::NextBroken, "next-broken", ["n"], MATRIX, Some("broken"), when::has_matrix,
        "next cell that breaks the rule or stands behind a warning";
    A::PrevBroken, "prev-broken", ["N"], MATRIX, None, when::has_matrix,
        "previous cell that breaks the rule or stands behind a warning";
    A::OnlyBroken, "only-broken", ["f"], MATRIX, Some("only broken"), when::has_matrix,
        "only the rows that break the rule or have a warning";
    A::ToCell, "to-cell", ["enter", "o"], MATRIX, Some("cell"), when::has_matrix,
        "show why the cell under the cursor is as it is";
    A::ToMatrix, "to-matrix", ["enter", "o"], CLAIMS, Some("matrix"), when::has_matrix,
        "go to the row and the probe that this speaks of";
    A::NextCase, "next-case", ["n"], CELL, Some("case"), when::has_cell, "next case of the cell";
    A::PrevCase, "prev-case", ["N"], CELL, None, when::has_cell, "previous case of the cell";
    A::NextFrame, "next-cell-frame", ["]"], CELL, Some("frame"), when::has_cell_frames,
        "next frame of the traceback, its source beside it";
    A::PrevFrame, "prev-cell-frame", ["["], CELL, None, when::has_cell_frames,
        "previous frame of the traceback";
    A::ToMatrix, "back-to-matrix", ["enter", "o"], CELL, Some("matrix"), when::has_matrix,
        "back to the matrix";
    A::Verify, "verify", ["v"], AUTHOR, Some("verify"), when::can_verify,
        "run what is stale or missing of the acceptance matrix, and judge it";
    A::EditProbe, "edit-probe", ["e"], AUTHOR, Some("edit probe"), when::has_matrix,
        "open the probe in $VISUAL or $EDITOR, at the line";
    A::EditPatch, "edit-patch", ["E"], AUTHOR, Some("edit patch"), when::has_matrix,
        "open the row's patch in $VISUAL or $EDITOR, at the file of the frame";
    A::VerifyCell, "rerun-cell", ["r"], AUTHOR, Some("rerun cell"), when::can_verify_row,
        "run the test file under the cursor on the row's patch again, though it is known";
    A::VerifyRow, "rerun-row", ["F"], AUTHOR, Some("rerun row"), when::can_verify_row,
        "run both suites on the row's patch again, though they are known";

    A::Open, "open", ["enter", "o"], TASKS, Some("open"), when::always,
        "open or close a branch; on a run, go to its cases";
    A::Mark, "mark", ["v"], TASKS, Some("mark"), when::has_task,
        "mark the submission, of a task all that are shown; what is done then is done to all marked";
    A::MarkAll, "mark-all", ["V"], TASKS, None, when::has_task,
        "mark all submissions that are shown, or take all marks away";
    A::TasksOrder, "tasks-order", ["s"], TASKS, Some("order"), when::always,
        "as the catalog has them, newest first, worst first, by name";
    A::TasksStatus, "tasks-status", ["f"], TASKS, Some("only"), when::always,
        "only what runs, only unresolved, only ungraded, all; `/` takes area: kind: repo: status: as well";
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
    A::RerunCase, "rerun-case", ["r"], ELSEWHERE, Some("rerun case"), when::can_rerun_case,
        "run the selected case again; the verdict stays as it is";
    A::RerunFailing, "rerun-failing", ["F"], ELSEWHERE, Some("rerun failing"), when::can_rerun_failing,
        "run all cases again that did not pass";

    A::RerunShown, "rerun-shown", ["*"], CASES, None, when::can_rerun_case,
        "run all cases again that the filters leave: all of them, where none is on";

    A::NextSubmission, "next-submission", ["'"], ALL, None, when::has_task,
        "the next submission of the tree, on the same case";
    A::PrevSubmission, "prev-submission", [";"], ALL, None, when::has_task,
        "the previous submission of the tree, on the same case";
    A::Palette, "palette", [":", "p"], ALL, Some("palette"), when::always,
        "find what can be done, and what there is to go to, by a few letters of its name";
    A::Shell, "shell", ["S"], ALL, None, when::has_task,
        "a shell in the sandbox of the case, the cell or the submission: `testcase` runs it";
    A::TellShell, "tell-shell", ["Y"], ALL, None, when::has_task,
        "the command line that reproduces the case elsewhere";
    A::Engine, "engine", ["Z"], ALL, None, when::always,
        "where new runs run: auto (docker where it answers), docker, local; running ones stay";

    A::Find, "find", ["/"], ALL, Some("filter"), when::can_find,
        "filter tasks, cases, processes on GPUs; search the log or the diff";
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
    A::Pane(PaneKind::Acceptance), "acceptance", ["6", "m"], ALL, None, when::always,
        "the acceptance matrix of the task";
    A::Pane(PaneKind::Claims), "claims", ["7", "C"], ALL, None, when::always,
        "claims, what to revise, warnings";
    A::Pane(PaneKind::Cell), "cell", ["8", "i"], ALL, None, when::always,
        "the cell under the matrix' cursor";
    A::Layout(LayoutKind::Author), "author", ["A"], ALL, None, when::always,
        "layout: author (acceptance matrix, claims, cell)";
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
    A::Left, "left", [",", "left"], ALL, None, when::always, "scroll left; close a branch; a column of the matrix";
    A::Right, "right", [".", "right"], ALL, None, when::always, "scroll right; open a branch; a column of the matrix";

    A::Copy, "copy", ["y"], ALL, None, when::can_copy,
        "copy what the cursor is on: to the terminal's clipboard, and into a file";
    A::Narrower, "narrower", ["{"], ALL, None, when::has_splits, "make this pane narrower";
    A::Wider, "wider", ["}"], ALL, None, when::has_splits, "make this pane wider";
    A::Lower, "lower", ["-"], ALL, None, when::has_splits, "make this pane lower";
    A::Higher, "higher", ["+"], ALL, None, when::has_splits, "make this pane higher";
    A::EvenSizes, "even-sizes", ["="], ALL, None, when::has_splits,
        "all panes of this layout in their usual sizes";
    A::NextTheme, "next-theme", ["T"], ALL, None, when::always,
        "next theme: terminal's own, dark, light, high contrast, colour-blind safe, monochrome, yours";
    A::Mouse, "mouse", ["M"], ALL, None, when::always,
        "take the mouse, or leave it to the terminal: clicks select, the wheel scrolls";

    A::Redraw, "redraw", ["ctrl-l"], ALL, None, when::always, "draw the whole screen anew";
    A::Suspend, "suspend", ["ctrl-z"], ALL, None, when::always,
        "back to the shell, `fg` returns; runs go on";
    A::Help, "help", ["?"], ALL, Some("help"), when::always, "this page";
    A::Quit, "quit", ["q", "ctrl-c"], ALL, Some("quit"), when::always,
        "leave; runs go on without the workbench";
}
