//! Keys while a line is typed: filters act as they grow, searches when they are done.

use crate::tui::keymap::Key;
use crate::tui::overlays::prompt::Typed;
use crate::tui::overlays::{Overlay, Prompt, PromptFor};
use crate::tui::panes::diff::marks::note_here;
use crate::tui::panes::log::find::Pattern;
use crate::tui::panes::tasks;
use crate::tui::state::App;

use super::target::{load_why, retarget};
use super::{heat, log_keys, notes};

pub fn open(app: &mut App, what: PromptFor) {
    let text = match what {
        PromptFor::TasksFilter => &app.tree.filter,
        PromptFor::CasesFilter => &app.cases.filter,
        PromptFor::LogSearch => words(app.log.look.search.as_ref()),
        PromptFor::LogOnly => words(app.log.look.only.as_ref()),
        PromptFor::LogHide => words(app.log.look.hide.as_ref()),
        PromptFor::LogTime => "",
        PromptFor::DiffSearch => &app.diff.search,
        PromptFor::GpuFilter => &app.gpu.filter,
        PromptFor::DiffNote => note_here(app).map_or("", |note| &note.text),
    };
    app.overlay = Some(Overlay::Prompt(Prompt::new(what, text)));
}

fn words(pattern: Option<&Pattern>) -> &str {
    pattern.map_or("", |pattern| pattern.words.as_str())
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
            heat::keep_up(app);
        }
        PromptFor::GpuFilter => app.gpu.set_filter(text),
        PromptFor::LogSearch
        | PromptFor::LogOnly
        | PromptFor::LogHide
        | PromptFor::LogTime
        | PromptFor::DiffSearch
        | PromptFor::DiffNote => {}
    }
}

fn accept(app: &mut App, prompt: &Prompt) {
    match prompt.what {
        PromptFor::TasksFilter => retarget(app),
        PromptFor::CasesFilter => load_why(app),
        PromptFor::GpuFilter => {}
        PromptFor::LogSearch | PromptFor::LogOnly | PromptFor::LogHide | PromptFor::LogTime => {
            log_keys::typed(app, prompt.what, &prompt.text);
        }
        PromptFor::DiffNote => notes::keep_typed(app, &prompt.text),
        PromptFor::DiffSearch => {
            app.diff.search.clone_from(&prompt.text);
            if !prompt.text.is_empty() && !app.diff.find_next() {
                app.complain("nothing matches in this file");
            }
        }
    }
}
