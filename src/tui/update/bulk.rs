//! What is done to all marked submissions at once.

use crate::domain::{RunId, Source, SuiteChoice};
use crate::tui::backend::GradeRequest;
use crate::tui::effect::Effect;
use crate::tui::layout::PaneKind;
use crate::tui::overlays::Overlay;
use crate::tui::panes::tasks::{self, bulk, state::standing_run};
use crate::tui::panes::words::plural;
use crate::tui::state::App;

/// Whether actions are for the marked submissions: they are where the marks are seen.
pub fn meant(app: &App) -> bool {
    app.focus == PaneKind::Tasks && !app.tree.marked.is_empty()
}

/// The marks go with what was done to them.
fn take_marks(app: &mut App) -> Vec<(String, Source)> {
    std::mem::take(&mut app.tree.marked)
}

pub fn grade(app: &mut App) {
    let mut requests = Vec::new();
    for (task, source) in take_marks(app) {
        let live = standing_run(app, &task, &source).is_some_and(|run| run.status.live());
        let queued = app.bulk.waiting.iter().chain(&app.bulk.asked);
        let queued = queued
            .into_iter()
            .any(|r| r.task == task && r.source == source);
        if !live && !queued {
            requests.push(GradeRequest {
                task,
                source,
                suites: SuiteChoice::All,
                only: Vec::new(),
                parent: None,
                engine: app.engine,
            });
        }
    }
    begin(
        app,
        requests,
        "every marked submission is being graded already",
    );
}

/// Runs again what failed of the marked submissions, each in a run of its own.
pub fn rerun_failing(app: &mut App) {
    let marked = take_marks(app);
    rerun_failing_of(app, marked);
}

pub fn rerun_failing_of(app: &mut App, of: Vec<(String, Source)>) {
    let mut unread = 0;
    let mut unknown: Vec<RunId> = Vec::new();
    let mut requests = Vec::new();
    for (task, source) in &of {
        let queued = app.bulk.waiting.iter().chain(&app.bulk.asked);
        if queued
            .into_iter()
            .any(|r| r.task == *task && r.source == *source)
        {
            continue;
        }
        let Some(run) = standing_run(app, task, source).filter(|run| !run.status.live()) else {
            continue;
        };
        if app
            .runs
            .iter()
            .any(|r| r.status.live() && r.parent.as_ref() == Some(&run.id))
        {
            continue;
        }
        let Some(cases) = app.cases.known.get(&run.id) else {
            unknown.push(run.id.clone());
            continue;
        };
        unread += usize::from(app.cases.unread.contains(&run.id));
        let failing = cases.iter().filter(|case| !case.outcome.passed());
        let only: Vec<_> = failing.map(|case| case.id.clone()).collect();
        if !only.is_empty() {
            requests.push(GradeRequest {
                task: task.clone(),
                source: source.clone(),
                suites: SuiteChoice::All,
                only,
                parent: Some(run.id.clone()),
                engine: app.engine,
            });
        }
    }
    if !unknown.is_empty() {
        app.bulk.rerun = Some(of);
        app.say("reading which cases failed…");
        return app.ask(Effect::LoadOutcomes(unknown));
    }
    if unread > 0 && requests.is_empty() {
        return app.complain("the cases of the marked submissions could not be read");
    }
    begin(app, requests, "no case of the marked submissions failed");
}

fn begin(app: &mut App, requests: Vec<GradeRequest>, nothing: &'static str) {
    if requests.is_empty() {
        return app.complain(nothing);
    }
    let count = plural(requests.len(), "run");
    let once = bulk::at_once(app);
    app.bulk.add(requests, app.now_s);
    app.say(format!(
        "{count} to start, {once} at once; the rest waits here"
    ));
    feed(app);
}

/// Starts what there is room for, and says when all is done.
pub fn feed(app: &mut App) {
    if !app.bulk.active() {
        return;
    }
    let most = bulk::at_once(app);
    for request in app.bulk.next(&app.runs, most) {
        app.ask(Effect::Grade(request));
    }
    if app.bulk.over() {
        let done = std::mem::take(&mut app.bulk);
        app.say(format!(
            "the batch is through: {}",
            plural(done.total, "run")
        ));
    }
    app.touch(PaneKind::Tasks);
}

/// Runs of the marked submissions that could be cancelled.
pub fn live(app: &App) -> Vec<RunId> {
    let marked = app.tree.marked.iter();
    let runs = marked.flat_map(|(task, source)| {
        let own = move |run: &&crate::tui::backend::RunSummary| {
            run.status.live() && run.task == *task && run.source == *source
        };
        app.runs.iter().filter(own).map(|run| run.id.clone())
    });
    runs.collect()
}

/// Whether there is something of the marked, or of the batch, to cancel.
pub fn can_cancel(app: &App) -> bool {
    meant(app) && (!live(app).is_empty() || !app.bulk.waiting.is_empty())
}

/// Asks whether all that runs of the marked submissions is to be cancelled, and what waits dropped.
pub fn cancel(app: &mut App) {
    let runs = live(app);
    let marked = app.tree.marked.clone();
    let waits = |r: &&GradeRequest| marked.iter().any(|(t, s)| *t == r.task && *s == r.source);
    let waiting = app.bulk.waiting.iter().filter(waits).count();
    let (what, told) = question(runs.len(), waiting);
    app.overlay = Some(Overlay::ConfirmCancel { runs, what, told });
}

/// What is asked, and what comes of a yes.
fn question(running: usize, waiting: usize) -> (String, Vec<String>) {
    let mut told = Vec::new();
    match running {
        0 => told.push("None of them runs.".to_owned()),
        1 => told.push(
            "1 run ends where it is, without a verdict. Its log and what it found so far are kept."
                .into(),
        ),
        _ => told.push(format!(
            "{running} runs end where they are, without a verdict. Their logs and what they found \
             so far are kept."
        )),
    }
    match waiting {
        0 => {}
        1 => told.push("1 that waits in the batch is dropped: it never starts.".into()),
        _ => told.push(format!(
            "{waiting} that wait in the batch are dropped: they never start."
        )),
    }
    told.push("What has ended, and what is not marked, stays as it is.".into());
    let what = match (running, waiting) {
        (0, _) => "Drop what waits of the marked submissions?",
        (_, 0) => "Cancel what runs of the marked submissions?",
        _ => "Cancel what runs and drop what waits of the marked submissions?",
    };
    (what.into(), told)
}

/// The question was answered with yes: what waits of the marked is dropped.
pub fn drop_waiting(app: &mut App) {
    if !meant(app) {
        return;
    }
    let marked = take_marks(app);
    let before = app.bulk.waiting.len();
    let meant = |r: &GradeRequest| marked.iter().any(|(t, s)| *t == r.task && *s == r.source);
    app.bulk.waiting.retain(|r| !meant(r));
    app.bulk.total -= before - app.bulk.waiting.len();
    tasks::state::rebuild(app);
    feed(app);
}

/// Leaving would lose what waits: says so once, then lets go.
pub fn holds_back(app: &mut App) -> bool {
    let waiting = app.bulk.waiting.len();
    if waiting == 0 || std::mem::replace(&mut app.bulk.warned, true) {
        return false;
    }
    let waits = plural(waiting, "run");
    app.complain(format!(
        "{waits} of the batch are not started yet, and will not be when the workbench ends; once more leaves"
    ));
    true
}

/// A request was answered; whether it was one of the batch.
pub fn started(app: &mut App, request: &GradeRequest, run: Option<&RunId>) -> bool {
    let own = app.bulk.started(request, run);
    if own && run.is_none() {
        feed(app);
    }
    own
}
