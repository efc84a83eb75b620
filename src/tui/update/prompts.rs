//! Keys while a line is typed: filters act as they grow, searches when they are done.

use crate::tui::keymap::Key;
use crate::tui::overlays::prompt::Typed;
use crate::tui::overlays::{Overlay, Prompt, PromptFor};
use crate::tui::panes::tasks;
use crate::tui::state::App;

use super::target::{load_why, retarget};

pub fn open(app: &mut App, what: PromptFor) {
    let text = match what {
        PromptFor::TasksFilter => &app.tree.filter,
        PromptFor::CasesFilter => &app.cases.filter,
        PromptFor::LogSearch => &app.log.search,
        PromptFor::DiffSearch => &app.diff.search,
    };
    app.overlay = Some(Overlay::Prompt(Prompt::new(what, text)));
}

pub fn key(app: &mut App, key: Key) {
    let Some(Overlay::Prompt(prompt)) = &mut app.overlay else {
        return;
    };
    match prompt.key(key) {
        Typed::Nothing => {}
        Typed::Changed => changed(app),
        Typed::Accept => {
            let prompt = prompt.clone();
            app.overlay = None;
            accept(app, &prompt);
        }
        Typed::Abort => {
            prompt.text = prompt.before.clone();
            changed(app);
            app.overlay = None;
        }
    }
}

/// Applies what is typed so far.
pub fn changed(app: &mut App) {
    let Some(Overlay::Prompt(prompt)) = &app.overlay else {
        return;
    };
    let (what, text) = (prompt.what, prompt.text.clone());
    match what {
        PromptFor::TasksFilter => {
            app.tree.filter = text;
            tasks::state::rebuild(app);
        }
        PromptFor::CasesFilter => {
            app.cases.filter = text;
            app.cases.refilter();
        }
        PromptFor::LogSearch | PromptFor::DiffSearch => {}
    }
}

fn accept(app: &mut App, prompt: &Prompt) {
    match prompt.what {
        PromptFor::TasksFilter => retarget(app),
        PromptFor::CasesFilter => load_why(app),
        PromptFor::LogSearch => {
            app.log.set_search(prompt.text.clone());
            if prompt.text.is_empty() {
                return;
            }
            let here = app.log.cursor;
            // the first hit at or after the cursor, else the first of all
            let hit = app
                .log
                .hits
                .iter()
                .copied()
                .find(|at| *at >= here)
                .or_else(|| app.log.hits.first().copied());
            match hit {
                Some(at) => app.log.go_to(at),
                None => app.complain("nothing matches"),
            }
        }
        PromptFor::DiffSearch => {
            app.diff.search.clone_from(&prompt.text);
            if !prompt.text.is_empty() && !app.diff.find_next() {
                app.complain("nothing matches in this file");
            }
        }
    }
}
