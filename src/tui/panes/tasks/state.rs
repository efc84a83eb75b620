//! The tree of tasks, their submissions and the runs of these.

use std::collections::{HashMap, HashSet};

use crate::domain::{RunId, Source, Task, Work};
use crate::tui::backend::{RunStatus, RunSummary};
use crate::tui::state::{App, Target};
use crate::tui::text;
use crate::tui::widgets::figures;

use super::filter::Filter;
use super::order::{self, Order};

/// One row of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeRow {
    pub task: String,
    pub node: Node,
    pub branch: Branch,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Task,
    /// A folder that could not be loaded, and why.
    Problem(String),
    Source(Source),
    Run(Source, RunId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    Leaf,
    Open,
    Closed,
}

impl TreeRow {
    pub fn depth(&self) -> usize {
        match self.node {
            Node::Task | Node::Problem(_) => 0,
            Node::Source(_) => 1,
            Node::Run(..) => 2,
        }
    }

    /// A name that stays the same while rows come and go.
    fn id(&self) -> String {
        match &self.node {
            Node::Task | Node::Problem(_) => self.task.clone(),
            Node::Source(source) => source_id(&self.task, source),
            Node::Run(_, run) => run.0.clone(),
        }
    }
}

fn source_id(task: &str, source: &Source) -> String {
    match source {
        Source::Gold => format!("{task}\0gold"),
        Source::Base => format!("{task}\0base"),
        Source::Submission { name } => format!("{task}\0s\0{name}"),
        Source::Patch { file } => format!("{task}\0p\0{}", file.display()),
        Source::Agent { name, run } => format!("{task}\0a\0{name}\0{run}"),
    }
}

#[derive(Clone, Debug, Default)]
pub struct TasksState {
    pub rows: Vec<TreeRow>,
    pub selected: usize,
    /// First row on the screen.
    pub offset: usize,
    pub filter: String,
    pub order: Order,
    /// Submissions that what is done is done to, in the order in which they were marked.
    pub marked: Vec<(String, Source)>,
    /// Tasks are open unless named here, sources closed unless named here.
    toggled: HashSet<String>,
}

impl TasksState {
    pub fn is_marked(&self, task: &str, source: &Source) -> bool {
        let same = |(t, s): &(String, Source)| t == task && s == source;
        self.marked.iter().any(same)
    }

    /// Marks submissions; where all of them are marked already, takes the marks away.
    fn mark(&mut self, all: Vec<(String, Source)>) {
        if all
            .iter()
            .all(|(task, source)| self.is_marked(task, source))
        {
            self.marked.retain(|own| !all.contains(own));
            return;
        }
        for own in all {
            if !self.is_marked(&own.0, &own.1) {
                self.marked.push(own);
            }
        }
    }

    /// Marks what the cursor is on, or takes the mark away; of a task, all of its submissions that
    /// are shown. Goes one on.
    pub fn mark_here(&mut self) {
        let Some(row) = self.row() else { return };
        let all = match &row.node {
            Node::Source(source) | Node::Run(source, _) => vec![(row.task.clone(), source.clone())],
            Node::Task => {
                let task = row.task.clone();
                self.submissions(|row| row.task == task)
            }
            Node::Problem(_) => return,
        };
        self.mark(all);
        self.selected = (self.selected + 1).min(self.rows.len().saturating_sub(1));
    }

    /// Marks all submissions that are shown, or takes all marks away.
    pub fn mark_all(&mut self) {
        if !self.marked.is_empty() {
            return self.marked.clear();
        }
        let all = self.submissions(|_| true);
        self.mark(all);
    }

    /// Submissions that are shown; gold and base are none.
    fn submissions(&self, of: impl Fn(&TreeRow) -> bool) -> Vec<(String, Source)> {
        let rows = self.rows.iter().filter(|row| of(row));
        rows.filter_map(|row| match &row.node {
            Node::Source(source) if !matches!(source, Source::Gold | Source::Base) => {
                Some((row.task.clone(), source.clone()))
            }
            _ => None,
        })
        .collect()
    }

    pub fn row(&self) -> Option<&TreeRow> {
        self.rows.get(self.selected)
    }

    pub fn toggle(&mut self, open: Option<bool>) -> bool {
        let Some(row) = self.row() else { return false };
        let is_open = match row.branch {
            Branch::Leaf => return false,
            Branch::Open => true,
            Branch::Closed => false,
        };
        if open == Some(is_open) {
            return false;
        }
        let id = row.id();
        if !self.toggled.remove(&id) {
            self.toggled.insert(id);
        }
        true
    }

    /// Goes to the row above that this one hangs from.
    pub fn to_parent(&mut self) -> bool {
        let Some(depth) = self.row().map(TreeRow::depth) else {
            return false;
        };
        let parent = self.rows[..self.selected.min(self.rows.len())]
            .iter()
            .rposition(|row| row.depth() < depth);
        if let Some(at) = parent {
            self.selected = at;
        }
        parent.is_some()
    }
}

/// Runs of each source, newest first, as indices of `App::runs`.
fn by_source(runs: &[RunSummary]) -> HashMap<String, Vec<usize>> {
    let mut map: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, run) in runs.iter().enumerate() {
        map.entry(source_id(&run.task, &run.source))
            .or_default()
            .push(at);
    }
    map
}

/// The run that stands for a source: the newest one that graded whole suites.
pub fn standing_run<'a>(app: &'a App, task: &str, source: &Source) -> Option<&'a RunSummary> {
    let of_source = |run: &&RunSummary| run.task == task && run.source == *source;
    let whole = |run: &&RunSummary| of_source(run) && run.only == 0;
    let runs = || app.runs.iter();
    // what has ended without a verdict (cancelled, refused, a calibration, a verify run) says less
    // of a source than the verdict before it
    runs()
        .filter(whole)
        .find(|run| {
            let refused = run.fault.is_some() && run.verdict.is_none();
            let said = run.work == Work::Grade && run.status != RunStatus::Cancelled && !refused;
            said || run.status.live()
        })
        .or_else(|| runs().find(whole))
        .or_else(|| runs().find(of_source))
}

/// The name of a source's row: agents work more than once, so theirs has the time.
pub fn row_name(app: &App, source: &Source) -> (String, Option<String>) {
    let name = text::clean(&source.label()).into_owned();
    let when = match source {
        Source::Agent { run, .. } => app
            .summary(run)
            .map(|run| figures::moment(run.created_s, app.now_s, app.ui.utc_offset_s)),
        _ => None,
    };
    (name, when)
}

/// Makes the rows anew after data, branches or the filter changed; the selection stays on its
/// node, or on the nearest row that is left.
pub fn rebuild(app: &mut App) {
    let before = app.tree.row().map(TreeRow::id);
    let runs = by_source(&app.runs);
    let filter = Filter::read(&app.tree.filter);
    let mut rows = Vec::new();
    for task in order::tasks(app).iter().filter_map(|at| app.tasks.get(*at)) {
        let id = task.id();
        let mut sources = sources(app, task);
        if !filter.is_empty() {
            sources = filter.left(app, task, sources);
        }
        if sources.is_empty() {
            continue;
        }
        order::sources(app, task, &mut sources);
        let open = !app.tree.toggled.contains(id) || !filter.is_empty();
        rows.push(TreeRow {
            task: id.into(),
            node: Node::Task,
            branch: branch(true, open),
        });
        if open {
            for source in sources {
                push_source(app, id, &source, &runs, &mut rows);
            }
        }
    }
    for problem in &app.problems {
        if filter.is_empty() || filter.named(&problem.id) {
            rows.push(TreeRow {
                task: problem.id.clone(),
                node: Node::Problem(problem.message.clone()),
                branch: Branch::Leaf,
            });
        }
    }
    let tree = &mut app.tree;
    tree.rows = rows;
    let found = before.and_then(|id| tree.rows.iter().position(|row| row.id() == id));
    match found {
        Some(at) => tree.selected = at,
        None => tree.selected = tree.selected.min(tree.rows.len().saturating_sub(1)),
    }
}

/// All that a task can be graded on: gold, base, its submissions, and what else something ran on.
pub fn sources(app: &App, task: &Task) -> Vec<Source> {
    let named = [Source::Gold, Source::Base]
        .into_iter()
        .chain(task.submissions.iter().map(|s| Source::Submission {
            name: s.spec.name.clone(),
        }));
    let mut sources: Vec<Source> = named.collect();
    // patches from elsewhere are listed once something ran on them
    for run in app.runs.iter().filter(|run| run.task == task.id()) {
        if !sources.contains(&run.source) {
            sources.push(run.source.clone());
        }
    }
    sources
}

fn push_source(
    app: &App,
    task: &str,
    source: &Source,
    runs: &HashMap<String, Vec<usize>>,
    rows: &mut Vec<TreeRow>,
) {
    let id = source_id(task, source);
    let own = runs.get(&id).map_or(&[][..], Vec::as_slice);
    let open = app.tree.toggled.contains(&id);
    // an agent's run is the row itself
    let many = match source {
        Source::Agent { .. } => own.len() > 1,
        _ => !own.is_empty(),
    };
    rows.push(TreeRow {
        task: task.into(),
        node: Node::Source(source.clone()),
        branch: branch(many, open),
    });
    if open && many {
        rows.extend(
            own.iter()
                .filter_map(|at| app.runs.get(*at))
                .map(|run| TreeRow {
                    task: task.into(),
                    node: Node::Run(source.clone(), run.id.clone()),
                    branch: Branch::Leaf,
                }),
        );
    }
}

fn branch(has_children: bool, open: bool) -> Branch {
    match (has_children, open) {
        (false, _) => Branch::Leaf,
        (true, true) => Branch::Open,
        (true, false) => Branch::Closed,
    }
}

/// Selects the first thing worth looking at: what runs now, else the first submission.
pub fn select_first(app: &mut App) {
    let live = app.runs.iter().find(|run| run.status.live());
    let wanted = live.map(|run| source_id(&run.task, &run.source));
    let at = app
        .tree
        .rows
        .iter()
        .position(|row| Some(row.id()) == wanted)
        .or_else(|| {
            app.tree
                .rows
                .iter()
                .position(|row| matches!(row.node, Node::Source(Source::Submission { .. })))
        });
    if let Some(at) = at {
        app.tree.selected = at;
    }
}

/// Selects the row of a task.
pub fn select_task(app: &mut App, task: &str) {
    app.tree.filter.clear();
    rebuild(app);
    select(app, task);
}

/// Selects the row of a source, opening its task.
pub fn select_source(app: &mut App, task: &str, source: &Source) {
    app.tree.toggled.remove(task);
    app.tree.filter.clear();
    rebuild(app);
    select(app, &source_id(task, source));
}

/// Selects the row of a run, opening what it hangs from; an agent's one run is its source's row.
pub fn select_run(app: &mut App, run: &RunId) {
    let Some(summary) = app.summary(run) else {
        return;
    };
    let (task, source) = (summary.task.clone(), summary.source.clone());
    app.tree.toggled.insert(source_id(&task, &source));
    select_source(app, &task, &source);
    select(app, &run.0);
}

/// Selects the row of that name, where there is one.
fn select(app: &mut App, id: &str) {
    if let Some(at) = app.tree.rows.iter().position(|row| row.id() == id) {
        app.tree.selected = at;
    }
}

/// What the selection points at.
pub fn target(app: &App) -> Target {
    let Some(row) = app.tree.row() else {
        return Target::default();
    };
    let mut target = Target {
        task: Some(row.task.clone()),
        ..Target::default()
    };
    match &row.node {
        Node::Task => {}
        Node::Problem(_) => target.task = None,
        Node::Source(source) => {
            target.run = standing_run(app, &row.task, source).map(|run| run.id.clone());
            target.source = Some(source.clone());
        }
        Node::Run(source, run) => {
            target.source = Some(source.clone());
            target.run = Some(run.clone());
        }
    }
    target
}
