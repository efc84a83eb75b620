//! Keys of the log pane, and what is typed for it.

use std::fmt::Write as _;

use crate::agent::trace::Kind;
use crate::domain::Source;
use crate::tui::action::Action;
use crate::tui::effect::{Effect, Place};
use crate::tui::layout::PaneKind;
use crate::tui::moment::Jump;
use crate::tui::overlays::PromptFor;
use crate::tui::panes::log::parts::Parts;
use crate::tui::panes::log::scan::Wanted;
use crate::tui::panes::log::{Goal, LogSource, scroll as rows};
use crate::tui::state::App;
use crate::tui::widgets::figures;
use crate::tui::{ansi, text};

use super::{log_scans, logs, prompts, scroll};

pub fn perform(app: &mut App, action: Action) {
    let (width, page) = scroll::inner(app, PaneKind::Log);
    let forward = matches!(
        action,
        Action::NextMatch | Action::NextError | Action::NextWarning
    );
    match action {
        Action::LogSource => {
            app.log.earlier = None;
            app.log.current = (app.log.current + 1) % app.log.sources.len().max(1);
            app.log.chosen = true;
            logs::show_source(app);
        }
        Action::Follow if app.log.follow => {
            app.log.follow = false;
            rows::settle(&mut app.log, width, page);
        }
        Action::Follow => scroll::vertical(app, PaneKind::Log, Action::Bottom),
        Action::NextMatch | Action::PrevMatch => {
            if app.log.step_hit(forward) {
                rows::reveal(&mut app.log, width, page);
            } else if app.log.looked_through() {
                app.complain("no more matches that way");
            } else {
                app.complain("no more matches that way so far; it is still being searched");
            }
        }
        Action::NextError | Action::PrevError => log_scans::seek(app, forward, Wanted::Error),
        Action::NextWarning | Action::PrevWarning => {
            log_scans::seek(app, forward, Wanted::Warning);
        }
        Action::UnfoldAll => {
            app.log.unfold_all = !app.log.unfold_all;
            app.log.toggled.clear();
            app.log.stand();
        }
        Action::WrapLines => {
            app.log.wrap = !app.log.wrap;
            app.log.stand();
        }
        Action::RawLog => {
            app.log.raw = !app.log.raw;
            let (here, follow) = (app.time.at_s, app.log.follow);
            logs::begin(app, Place::Start);
            app.log.follow = follow;
            app.log.place = here.map(Goal::Time);
        }
        Action::OnlyMatching => prompts::open(app, PromptFor::LogOnly),
        Action::HideMatching => prompts::open(app, PromptFor::LogHide),
        Action::ToTime => prompts::open(app, PromptFor::LogTime),
        Action::Tie => tie(app),
        Action::EarlierLog => logs::show_earlier(app),
        Action::SaveLog => save(app),
        _ => {}
    }
}

/// Unfolds the entry under the cursor, or folds it.
pub fn fold(app: &mut App) {
    let at = app.log.cursor;
    if !app.log.toggled.remove(&at) {
        app.log.toggled.insert(at);
    }
    if !app.log.follow && app.log.top.entry == at {
        app.log.top.row = 0;
    }
}

/// Takes the search away, then the filters; `false`: there are none.
pub fn back(app: &mut App) -> bool {
    let look = &mut app.log.look;
    if look.search.take().is_none() {
        if look.only.is_none() && look.hide.is_none() {
            return false;
        }
        look.only = None;
        look.hide = None;
    }
    app.log.look_anew();
    log_scans::on(app);
    app.log.stand();
    true
}

/// What was typed in one of the pane's prompts.
pub fn typed(app: &mut App, what: PromptFor, words: &str) {
    let here = app.log.cursor;
    let set = match what {
        PromptFor::LogSearch => app.log.set_search(words),
        PromptFor::LogOnly | PromptFor::LogHide => {
            app.log.set_filter(what == PromptFor::LogOnly, words)
        }
        _ => return to_time(app, words),
    };
    if let Err(why) = set {
        return app.complain(text::clean(&why));
    }
    if what == PromptFor::LogSearch && !words.is_empty() {
        app.log.look.goal = Some(here);
    }
    log_scans::on(app);
}

fn to_time(app: &mut App, words: &str) {
    if words.trim().is_empty() {
        return;
    }
    let Some(jump) = Jump::parse(words) else {
        return app.complain("a time is 17:30, 17:30:05, +10m, -5m, or 41m into the run");
    };
    let (Some(first), Some(last)) = (app.log.first_s(), app.log.last_s()) else {
        return app.complain("this log tells no times");
    };
    let here = app.log.moment().unwrap_or(last);
    let since = app.time.since_s.unwrap_or(first);
    let goal = jump.at_s(here, since, app.ui.utc_offset_s);
    let clock = |at_s| figures::clock(at_s, app.ui.utc_offset_s);
    if goal < first && (app.log.part.0 > 0 || app.log.base > 0) {
        app.log.follow = false;
        logs::begin(app, Place::Start);
        app.log.place = Some(Goal::Time(goal));
    } else if app.log.go_to_time(goal) {
        if goal < first {
            let words = format!("the log begins at {}", clock(first));
            app.say(words);
        }
    } else if app.log.behind && !app.log.full {
        app.log.follow = false;
        app.log.place = Some(Goal::Time(goal));
    } else {
        let words = format!("what is shown ends at {}", clock(last));
        let at = app.log.last().unwrap_or(0);
        app.log.go_to(at);
        app.say(words);
    }
}

/// Ties cases and GPUs to the moment under the cursor, or lets them show what is now.
fn tie(app: &mut App) {
    app.time.tied = !app.time.tied;
    if !app.time.tied {
        return app.say("cases and GPUs show what is now");
    }
    if app.log.follow {
        // the newest entry: from here the reader goes back
        let (width, page) = scroll::inner(app, PaneKind::Log);
        app.log.follow = false;
        rows::settle(&mut app.log, width, page);
    }
    logs::keep_time(app);
    let clock = app
        .time
        .at_s
        .map(|at_s| figures::clock(at_s, app.ui.utc_offset_s));
    let clock = clock.unwrap_or_default();
    app.say(format!(
        "cases and GPUs show {clock}; move in the log and they follow"
    ));
}

/// What is shown, unfolded, into a file.
fn save(app: &mut App) {
    let log = &app.log;
    let mut out = String::new();
    let mut next = log.first();
    while let Some(at) = next {
        next = log.after(at);
        let Some(entry) = log.entries.get(at) else {
            break;
        };
        // in the raw view the lines are as they came, to the byte
        if let (true, Kind::Raw { text }) = (log.raw, &entry.kind) {
            out.push_str(text);
            out.push('\n');
            continue;
        }
        let time = entry.at_s.map(|s| figures::clock(s, app.ui.utc_offset_s));
        let mut time = time.unwrap_or_default();
        for line in Parts::of(entry).lines() {
            let _ = writeln!(out, "{time:8}  {}", ansi::plain(line));
            time.clear();
        }
    }
    let label = log.source().map(LogSource::label);
    let source = app.target.source.as_ref().map(Source::label);
    let words = [app.target.task.clone(), source, label];
    let name: Vec<String> = words.into_iter().flatten().map(|w| plain(&w)).collect();
    let name = name.join("-");
    app.ask(Effect::Save { name, text: out });
}

/// Letters that any file system takes.
fn plain(words: &str) -> String {
    let good = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    let name: String = words.chars().take(60).map(good).collect();
    name.split('-')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}
