//! The chooser: a list, what is known of the selected row, and what can be changed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::domain::NetworkMode;
use crate::tui::agent_offer::{AgentChoice, AgentOffer, Recording};
use crate::tui::layout::{split_bottom, split_top};
use crate::tui::overlays::draw::window;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures};

use super::state::{Chooser, Step};

const WIDEST: u16 = 104;
/// Rows of the list that are kept where rows are dear.
const LEAST_ROWS: usize = 3;
/// Rows of what is known of the selected one.
const CARD: usize = 8;

pub fn draw(app: &App, chooser: &Chooser, buf: &mut Buffer, area: Rect) {
    let width = WIDEST.min(area.width);
    let room = usize::from(width).saturating_sub(4);
    let (list, card, mut below, keys) = {
        // styles only: nothing is drawn yet
        let canvas = Canvas::new(app, buf, Rect::default());
        (
            list(&canvas, chooser, room),
            card(&canvas, chooser, room),
            flow(settings(&canvas, chooser), room),
            flow(keys(&canvas, chooser), room),
        )
    };
    // borders and two rules
    let around = 4;
    let high = usize::from(area.height);
    if chooser.error.is_some() && 1 + card.len() + below.len() + keys.len() + around > high {
        // why not is worth more than what can be changed
        below.clear();
    }
    below.extend(keys);
    let inside = list.len().max(1) + card.len() + below.len();
    let height = u16::try_from(inside + around).unwrap_or(area.height);
    let rect = window(area, width, height);
    Clear.render(rect, buf);
    let mut canvas = Canvas::new(app, buf, rect);
    let title = title(&canvas, chooser);
    let inner = canvas.boxed(Role::BorderFocus, title, Vec::new()).area;
    let (top, bottom) = split_bottom(inner, below.len() as u16);
    put_all(&mut canvas.part(bottom), &below);
    let least = match chooser.error {
        Some(_) => 1,
        None => list.len().clamp(1, LEAST_ROWS),
    };
    let free = usize::from(top.height).saturating_sub(least);
    let lines = card.len().min(free);
    let rules = (free - lines).min(2);
    let (top, middle) = split_bottom(top, (lines + rules) as u16);
    draw_list(&mut canvas.part(top), chooser, &list);
    let mut middle = canvas.part(middle);
    let rule = app.ui.glyphs.rule.repeat(middle.width());
    let rule = Line::from(middle.span(Role::Border, rule));
    if rules > 0 {
        middle.put(0, &rule);
    }
    if rules > 1 {
        middle.put(lines + 1, &rule);
    }
    let (_, text) = split_top(middle.area, rules.min(1) as u16);
    let (text, _) = split_top(text, lines as u16);
    put_all(&mut middle.part(text), &card);
}

fn put_all(canvas: &mut Canvas<'_>, lines: &[Line<'static>]) {
    for (row, line) in lines.iter().enumerate() {
        canvas.put_at(row, 1, line);
    }
}

fn title(canvas: &Canvas<'_>, chooser: &Chooser) -> Vec<Span<'static>> {
    let what = match chooser.step {
        Step::Agent => "run an agent",
        Step::Recording => "replay",
    };
    vec![
        Span::raw(" "),
        canvas.span(Role::Title, what),
        canvas.dim(format!(" · {} ", text::clean(&chooser.task))),
    ]
}

fn draw_list(canvas: &mut Canvas<'_>, chooser: &Chooser, list: &[Line<'static>]) {
    let selected = match chooser.step {
        Step::Agent => chooser.agent,
        Step::Recording => chooser.recording,
    };
    let rows = canvas.height();
    let offset = (selected + 1).saturating_sub(rows);
    for (row, line) in list.iter().skip(offset).take(rows).enumerate() {
        canvas.put_at(row, 1, line);
        if row + offset == selected && chooser.offer.is_some() {
            let style = canvas.style(Role::Selection);
            canvas.paint(row, style);
        }
    }
}

/// One row for each thing to choose.
fn list(canvas: &Canvas<'_>, chooser: &Chooser, room: usize) -> Vec<Line<'static>> {
    let Some(offer) = &chooser.offer else {
        let words = if chooser.error.is_some() {
            "no agents"
        } else {
            "looking for agents…"
        };
        return vec![Line::from(canvas.dim(words))];
    };
    match chooser.step {
        Step::Agent => {
            let agents = offer.agents.iter();
            agents.map(|agent| agent_row(canvas, agent, room)).collect()
        }
        Step::Recording => {
            let recordings = offer.recordings.iter();
            recordings
                .map(|recording| recording_row(canvas, recording, room))
                .collect()
        }
    }
}

fn agent_row(canvas: &Canvas<'_>, agent: &AgentChoice, room: usize) -> Line<'static> {
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    let mark = if agent.missing.is_some() {
        canvas.span(Role::Warn, "! ")
    } else {
        Span::raw("  ")
    };
    let version = agent.version.as_deref().unwrap_or("");
    let (words, role) = match &agent.missing {
        Some(missing) => (missing, Role::Warn),
        None => (&agent.summary, Role::Dim),
    };
    let mut spans = vec![
        mark,
        canvas.span(Role::Text, text::fit(&agent.name, 16, ellipsis)),
        canvas.dim(format!(" {}", text::fit(version, 9, ellipsis))),
        canvas.dim(format!(
            " net {}",
            text::fit(agent.network.name(), 10, ellipsis)
        )),
    ];
    let used = Line::from(spans.clone()).width() + 1;
    if used < room {
        let words = text::cut(words.lines().next().unwrap_or(""), room - used, ellipsis);
        spans.push(canvas.span(role, format!(" {words}")));
    }
    Line::from(spans)
}

fn recording_row(canvas: &Canvas<'_>, recording: &Recording, room: usize) -> Line<'static> {
    let app = canvas.app;
    let ellipsis = app.ui.glyphs.ellipsis;
    let what = match recording.created_s {
        Some(at_s) => format!(
            "run {}",
            figures::moment(at_s, app.now_s, app.ui.utc_offset_s)
        ),
        None => recording.what.clone(),
    };
    let length = recording
        .duration_s
        .map_or_else(|| app.ui.glyphs.dash.into(), figures::duration);
    let figures = format!("{:>9} {length:>6}", size(recording.bytes));
    let names = room.saturating_sub(text::width(&figures) + 1);
    let what_width = (names / 2).min(28);
    let who = text::fit(
        &recording.who,
        names.saturating_sub(what_width + 1),
        ellipsis,
    );
    Line::from(vec![
        canvas.span(Role::Text, text::fit(&what, what_width, ellipsis)),
        canvas.dim(format!(" {who} {figures}")),
    ])
}

/// `36 KiB`, `88.1 MiB`.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
    }
}

/// What is known of the selected one, or what went wrong.
fn card(canvas: &Canvas<'_>, chooser: &Chooser, room: usize) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    let mut say = |role: Role, words: &str| {
        for line in text::wrap(words, room, CARD) {
            rows.push(Line::from(canvas.span(role, line)));
        }
    };
    if let Some(error) = &chooser.error {
        say(Role::Bad, error);
        return rows;
    }
    let (Some(offer), Some(choice)) = (&chooser.offer, chooser.choice()) else {
        return rows;
    };
    if chooser.step == Step::Recording {
        say(Role::Text, &pace(canvas, chooser, offer));
        return rows;
    }
    if let Some(missing) = &choice.missing {
        say(Role::Warn, missing);
    }
    if !choice.summary.is_empty() {
        say(Role::Text, &choice.summary);
    }
    if choice.needs_model() && chooser.model.trim().is_empty() {
        say(Role::Warn, "it must be told a model: m names one");
    }
    if choice.network == NetworkMode::Open {
        say(
            Role::Warn,
            "network open: its run gets the badge could-read-upstream",
        );
    }
    rows
}

/// How fast the recording is replayed, in words.
fn pace(canvas: &Canvas<'_>, chooser: &Chooser, offer: &AgentOffer) -> String {
    let recorded = chooser.chosen_recording().and_then(|r| r.duration_s);
    let what = chooser
        .chosen_recording()
        .map_or(canvas.app.ui.glyphs.dash, |r| r.what.as_str());
    match (chooser.rate(), recorded) {
        (Some(rate), _) => format!("{what}: at {rate} lines a second"),
        (None, Some(seconds)) => {
            let length = figures::duration(seconds);
            format!("{what}: as it came, in {length}")
        }
        (None, None) => format!(
            "{what}: no times were kept with its log: {} lines a second",
            offer.rate
        ),
    }
}

/// What can be changed, each with its key.
fn settings(canvas: &Canvas<'_>, chooser: &Chooser) -> Vec<Vec<Span<'static>>> {
    let app = canvas.app;
    let mut settings = Vec::new();
    let set = |key: &str, name: &str, value: Vec<Span<'static>>| {
        let mut spans = canvas.hint(key, &format!("{name} "));
        spans.extend(value);
        spans
    };
    let plain = |value: &str| {
        let value = text::cut(value, 40, app.ui.glyphs.ellipsis);
        vec![canvas.span(Role::Strong, value)]
    };
    if let (Some(choice), Some(offer)) = (chooser.choice(), &chooser.offer) {
        let limit = figures::duration(chooser.limit_s);
        settings.push(set("+ -", "limit", plain(&limit)));
        if choice.replays {
            let rate = match (chooser.rate(), chooser.step) {
                (Some(rate), _) => format!("{rate} lines/s"),
                (None, _) => "as recorded".into(),
            };
            settings.push(set("r", "rate", plain(&rate)));
        } else {
            let name = chooser.variant_name().unwrap_or_default();
            let count = offer.variants.len();
            let name = match count {
                1 => format!("{name} (the only one)"),
                _ => format!("{name} ({} of {count})", chooser.variant + 1),
            };
            settings.push(set("p", "prompt", plain(&name)));
        }
        if choice.takes_model {
            let own = choice.model.as_deref().unwrap_or(app.ui.glyphs.dash);
            let value = match (&chooser.typing, chooser.model.as_str()) {
                (Some(_), model) => {
                    let shown = text::cut_start(model, 40, app.ui.glyphs.ellipsis);
                    vec![
                        canvas.span(Role::Strong, shown),
                        canvas.span(Role::Selection, " "),
                    ]
                }
                (None, "") => plain(own),
                (None, model) => plain(model),
            };
            settings.push(set("m", "model", value));
        }
    }
    settings
}

fn keys(canvas: &Canvas<'_>, chooser: &Chooser) -> Vec<Vec<Span<'static>>> {
    if chooser.typing.is_some() {
        vec![canvas.hint("enter", "keeps"), canvas.hint("esc", "drops")]
    } else if chooser.starting {
        vec![vec![canvas.dim("starting…")], canvas.hint("esc", "closes")]
    } else {
        let enter = match (chooser.choice(), chooser.step) {
            (Some(choice), Step::Agent) if choice.replays => "chooses what to replay",
            _ => "starts it",
        };
        let esc = match chooser.step {
            Step::Agent => "closes",
            Step::Recording => "back",
        };
        vec![canvas.hint("enter", enter), canvas.hint("esc", esc)]
    }
}

/// Groups of words in as few rows as they fit in.
fn flow(groups: Vec<Vec<Span<'static>>>, room: usize) -> Vec<Line<'static>> {
    let mut rows: Vec<Line<'static>> = Vec::new();
    for group in groups {
        let wide = Line::from(group.clone()).width();
        match rows.last_mut() {
            Some(row) if row.width() + 3 + wide <= room => {
                row.push_span(Span::raw("   "));
                row.extend(group);
            }
            _ => rows.push(Line::from(group)),
        }
    }
    rows
}
