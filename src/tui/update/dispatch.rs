//! Messages to the parts that take them.

use crate::tui::backend::Change;
use crate::tui::effect::Effect;
use crate::tui::layout::PaneKind;
use crate::tui::msg::Msg;
use crate::tui::overlays::Overlay;
use crate::tui::state::App;

use super::{answers, author, help, keys, log_scans, logs, mouse, palette, prompts, scroll};

/// Seconds between looks at runs whose worker may have died: that leaves no trace in the store.
const LIVENESS_S: f64 = 2.0;

pub fn update(app: &mut App, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Key(key) => keys::key(app, key),
        Msg::Paste(text) => match &mut app.overlay {
            Some(Overlay::Prompt(prompt)) => {
                prompt.insert(&text);
                prompts::changed(app);
                app.dirty = true;
            }
            Some(Overlay::Agents(chooser)) => {
                chooser.paste(&text);
                app.dirty = true;
            }
            Some(Overlay::Palette(_)) => palette::paste(app, &text),
            Some(Overlay::Help(_)) => help::paste(app, &text),
            Some(Overlay::ConfirmCancel { .. } | Overlay::Pick(_)) | None => {}
        },
        Msg::Resize(width, height) => {
            app.size = (width, height);
            app.dirty = true;
        }
        Msg::ToastOver => {
            if app.toast.as_ref().is_some_and(|t| t.until_s <= app.now_s) {
                app.toast = None;
                app.dirty = true;
            }
        }
        Msg::Tick => tick(app),
        Msg::Resumed => {
            app.ask(Effect::Repaint);
            app.dirty = true;
        }
        Msg::Toast(text) => app.complain(text),
        Msg::Said(text) => app.say(text),
        Msg::Click { column, row } => mouse::click(app, column, row),
        Msg::Wheel { column, row, steps } => mouse::wheel(app, column, row, steps),
        Msg::LogScanned(scanned) => log_scans::take(app, scanned),
        Msg::Changed(change) => changed(app, &change),
        Msg::Gpu(view) => {
            app.gpu.take(view);
            app.touch(PaneKind::Gpu);
        }
        answer => answers::take(app, answer),
    }
    author::keep_up(app);
    scroll::settle(app);
    logs::keep_time(app);
    std::mem::take(&mut app.effects)
}

fn tick(app: &mut App) {
    if !app.wants_tick() {
        return;
    }
    app.dirty = true;
    if app.now_s - app.liveness_s < LIVENESS_S {
        return;
    }
    app.liveness_s = app.now_s;
    let live: Vec<_> = app
        .runs
        .iter()
        .filter(|run| run.status.live())
        .map(|run| run.id.clone())
        .collect();
    for run in live {
        app.ask(Effect::LoadRun(run));
    }
}

fn changed(app: &mut App, change: &Change) {
    match change {
        Change::Tasks => {
            author::outdated(app, None);
            app.ask(Effect::LoadTasks);
        }
        Change::Runs => app.ask(Effect::LoadRuns),
        Change::Run(run) => {
            author::outdated(app, Some(run));
            let followed = [app.open.as_mut(), app.rerun.as_mut()]
                .into_iter()
                .flatten()
                .find(|open| open.id == *run);
            let Some(open) = followed else {
                app.ask(Effect::LoadRun(run.clone()));
                return;
            };
            if open.reading {
                // the answer on its way may lack the newest lines: look once more after it
                open.again = true;
            } else {
                open.reading = true;
                let from = open.next;
                app.ask(Effect::LoadJournal {
                    run: run.clone(),
                    from,
                });
            }
            logs::read_on(app);
        }
    }
}
