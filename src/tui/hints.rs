//! The header's and the footer's words, each with the action that a click on it does.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::action::{Action, Entry, TABLE, entry};
use super::keymap::written;
use super::layout::{LayoutKind, PaneKind};
use super::state::App;
use super::text;
use super::theme::Role;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bar {
    Header,
    Footer,
}

/// One word of a bar.
pub struct Hint {
    /// First column.
    pub column: usize,
    pub spans: Vec<Span<'static>>,
    pub entry: &'static Entry,
}

impl Hint {
    pub fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }
}

/// The entry whose word stands at a column of a bar.
pub fn at(app: &App, bar: Bar, rect: Rect, column: usize) -> Option<&'static Entry> {
    let hints = match bar {
        Bar::Footer => footer(app, rect.width.into()),
        Bar::Header if app.plan().tabs.is_some() => tab_bar(app, rect.width.into()),
        Bar::Header => layouts(app),
    };
    let over = |hint: &&Hint| (hint.column..hint.column + hint.width()).contains(&column);
    hints.iter().find(over).map(|hint| hint.entry)
}

fn hint(app: &App, key: &str, words: &str, role: Role) -> Vec<Span<'static>> {
    let theme = &app.ui.theme;
    let mut spans = Vec::new();
    if !key.is_empty() {
        spans.push(Span::styled(key.to_owned(), theme.style(Role::Key)));
        spans.push(Span::raw(" "));
    }
    spans.push(Span::styled(words.to_owned(), theme.style(role)));
    spans
}

/// What is possible here, as many as there is room for; help and quit always, on the right.
pub fn footer(app: &App, width: usize) -> Vec<Hint> {
    let keymap = &app.ui.keymap;
    let last = [Action::Help, Action::Quit];
    let mut tail = Vec::new();
    for own in last.into_iter().filter_map(entry) {
        let key = keymap.first(own).unwrap_or_default();
        tail.push((own, key, own.hint.unwrap_or(own.name)));
    }
    // two blanks after each
    let wide = |key: &str, words: &str| text::width(key) + text::width(words) + 3;
    let tail_width: usize = tail.iter().map(|(_, key, words)| wide(key, words)).sum();
    let mut hints = Vec::new();
    let mut column = 1 + chord(app).map_or(0, |typed| text::width(&typed) + 2);
    for own in TABLE {
        let Some(words) = own.hint else { continue };
        let Some(key) = keymap.first(own) else {
            continue;
        };
        if !own.reaches(app.focus) || last.contains(&own.action) || (own.possible)(app).is_err() {
            continue;
        }
        if !app.chord.is_empty() && !continues(app, own) {
            continue;
        }
        let wide = wide(&key, words);
        if column + wide + tail_width > width {
            break;
        }
        let spans = hint(app, &key, words, Role::Dim);
        hints.push(Hint {
            column,
            spans,
            entry: own,
        });
        column += wide;
    }
    let mut column = width.saturating_sub(tail_width);
    for (own, key, words) in tail {
        let spans = hint(app, &key, words, Role::Dim);
        hints.push(Hint {
            column,
            spans,
            entry: own,
        });
        column += wide(&key, words);
    }
    hints
}

/// The beginning of a chord, as the footer shows it.
pub fn chord(app: &App) -> Option<String> {
    let typed = written(&app.chord);
    (!typed.is_empty()).then(|| format!("{typed} {}", app.ui.glyphs.ellipsis))
}

/// Whether a chord of the entry begins as what was typed.
fn continues(app: &App, entry: &Entry) -> bool {
    let typed = written(&app.chord);
    let keys = app.ui.keymap.keys(entry);
    keys.iter().any(|key| key.starts_with(&format!("{typed} ")))
}

/// The layouts, in the header.
pub fn layouts(app: &App) -> Vec<Hint> {
    let mut hints = Vec::new();
    // behind the program's name
    let mut column = 12;
    for kind in LayoutKind::ALL {
        let Some(own) = entry(Action::Layout(kind)) else {
            continue;
        };
        let key = app.ui.keymap.first(own).unwrap_or_default();
        let role = if kind == app.layout {
            Role::Strong
        } else {
            Role::Dim
        };
        let spans = hint(app, &key, kind.name(), role);
        let hint = Hint {
            column,
            spans,
            entry: own,
        };
        column += hint.width() + 2;
        hints.push(hint);
    }
    hints
}

/// Whether the tabs' names all have room beside what runs.
fn tabs_named(app: &App, width: usize) -> bool {
    let all: usize = tabs(app, true)
        .last()
        .map_or(0, |last| last.column + last.width() + 1);
    let busy = Line::from(super::draw::clock(app)).width() + 1;
    all + if app.any_live() { busy } else { 0 } <= width
}

/// The bar of tabs: what runs is said before what the other tabs are called.
pub fn tab_bar(app: &App, width: usize) -> Vec<Hint> {
    tabs(app, tabs_named(app, width))
}

/// The number and name of each pane; of those without the focus, where `all` is not said, the
/// number alone.
fn tabs(app: &App, all: bool) -> Vec<Hint> {
    let theme = &app.ui.theme;
    let mut hints = Vec::new();
    let mut column = 1;
    for kind in PaneKind::ALL {
        let Some(own) = entry(Action::Pane(kind)) else {
            continue;
        };
        let key = app.ui.keymap.first(own).unwrap_or_default();
        let focused = kind == app.focus;
        let style = theme.style(if focused { Role::Selection } else { Role::Dim });
        let mut spans = vec![Span::styled(key, theme.style(Role::Key))];
        if focused || all {
            spans.push(Span::styled(format!(" {} ", kind.name()), style));
        }
        let hint = Hint {
            column,
            spans,
            entry: own,
        };
        column += hint.width() + 1;
        hints.push(hint);
    }
    hints
}
