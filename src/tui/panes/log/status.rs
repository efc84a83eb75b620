//! Below an agent's log: its time, what it did, its tokens. Unknown is a dash, never 0.

use ratatui::text::{Line, Span};

use crate::agent::trace::TraceUsage;
use crate::domain::AgentEnd;
use crate::domain::agent_state::AgentState;
use crate::domain::submission::LogFormat;
use crate::tui::backend::LogKey;
use crate::tui::reading::Figures;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures};

use super::source::LogSource;

/// From here on all figures stand in one row.
const WIDE: usize = 130;
/// A pane with fewer rows has none to spare.
const LOW: usize = 8;
/// Seconds without a byte after which silence is worth a look.
const SILENT_S: f64 = 120.0;

/// Rows that the figures take of a log pane.
pub fn height(app: &App, width: usize, height: usize) -> usize {
    let agents = matches!(
        app.log.source(),
        Some(LogSource::Agent(..) | LogSource::Earlier(LogKey::Attempt { .. }, _))
    );
    if !agents || height < LOW || (app.log.figures.is_none() && work(app).is_none()) {
        0
    } else if width >= WIDE {
        1
    } else {
        2
    }
}

/// The agent whose log is shown, where it works or worked in the open run.
fn work(app: &App) -> Option<&AgentState> {
    let Some(LogSource::Agent(LogKey::Run { run }, _)) = app.log.source() else {
        return None;
    };
    let open = app.open.as_ref().filter(|open| open.id == *run)?;
    open.state.agent.as_ref()
}

pub fn draw(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let width = canvas.width().saturating_sub(2);
    let figures = app.log.figures.clone().unwrap_or_default();
    let deeds = deeds(canvas, &figures);
    // the log's own words first; else what the agent's record of its session tells
    let told = figures.usage.clone().or_else(|| {
        let usage = work(app)?.usage?;
        Some(TraceUsage {
            input: usage.input,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            output: usage.output,
            reasoning: usage.reasoning,
            cost_usd: None,
        })
    });
    let tokens = tokens(canvas, told.as_ref());
    if canvas.height() > 1 {
        let deeds = joined(canvas, deeds, width);
        canvas.put_at(0, 1, &deeds);
        let tokens = joined(canvas, tokens, width);
        canvas.put_at(1, 1, &tokens);
    } else {
        let all = deeds.into_iter().chain(tokens).collect();
        let all = joined(canvas, all, width);
        canvas.put_at(0, 1, &all);
    }
}

/// One figure: what is seen of it, and how soon it goes where there is no room.
struct Figure {
    spans: Vec<Span<'static>>,
    rank: u8,
    /// Belongs to the figure before it.
    joins: bool,
}

/// Figures beside each other; those of the highest rank go first where they do not fit.
fn joined(canvas: &Canvas<'_>, mut figures: Vec<Figure>, width: usize) -> Line<'static> {
    let line = |figures: &[Figure]| {
        let dot = canvas.app.ui.glyphs.dot;
        let mut spans = Vec::new();
        for figure in figures {
            if !spans.is_empty() {
                let between = if figure.joins { "+" } else { dot };
                spans.push(canvas.dim(format!(" {between} ")));
            }
            spans.extend(figure.spans.iter().cloned());
        }
        Line::from(spans)
    };
    while line(&figures).width() > width && figures.len() > 1 {
        let last = figures.iter().map(|f| f.rank).max().unwrap_or(0);
        let Some(at) = figures.iter().rposition(|f| f.rank == last) else {
            break;
        };
        figures.remove(at);
    }
    text::window(line(&figures).spans, 0, width)
}

/// Time, commands, files, how long nothing came.
fn deeds(canvas: &Canvas<'_>, figures: &Figures) -> Vec<Figure> {
    let app = canvas.app;
    let dash = app.ui.glyphs.dash;
    let mut out = Vec::new();
    let work = work(app);
    if let Some(agent) = work {
        out.push(time(canvas, agent));
    }
    let mut commands = vec![
        canvas.span(Role::Text, figures.commands.to_string()),
        canvas.dim(if figures.commands == 1 {
            " command"
        } else {
            " commands"
        }),
    ];
    if figures.failed > 0 {
        let words = format!(" {} failed", figures.failed);
        commands.push(canvas.span(Role::Failed, words));
    }
    out.push(Figure {
        spans: commands,
        rank: 1,
        joins: false,
    });
    if let Some(agent) = work {
        out.extend(silence(canvas, agent, figures));
    }
    out.extend(waits(canvas, figures));
    let captured = work.and(app.open.as_ref()).and_then(|open| {
        let captured = open.state.captured.as_ref()?;
        let sum = |pick: fn(&crate::domain::event::PatchedFile) -> usize| {
            captured.files.iter().map(pick).sum::<usize>()
        };
        let changed = (sum(|f| f.added), sum(|f| f.deleted));
        Some((captured.files.len(), changed.0, changed.1))
    });
    // the tree tells lines; the stream only what edit tools named
    let changed = captured.or_else(|| work.and_then(|agent| agent.changed));
    let (files, lines) = match changed {
        Some((files, added, deleted)) => (files.to_string(), format!(" +{added} -{deleted}")),
        None => (
            figures
                .files
                .map_or_else(|| dash.to_owned(), |files| files.to_string()),
            " edited".to_owned(),
        ),
    };
    let word = if files == "1" { " file" } else { " files" };
    out.push(Figure {
        spans: vec![
            canvas.span(Role::Text, files),
            canvas.dim(format!("{word}{lines}")),
        ],
        rank: 3,
        joins: false,
    });
    out
}

/// `12m05s/2h30m`, and how it ended.
fn time(canvas: &Canvas<'_>, agent: &AgentState) -> Figure {
    let live = at_work(canvas.app);
    let mut spans = Vec::new();
    let spent = match agent.duration_s {
        Some(seconds) => figures::duration(seconds),
        None if live => figures::whole(canvas.app.now_s - agent.since_s),
        None => canvas.app.ui.glyphs.dash.to_owned(),
    };
    let role = if live { Role::Running } else { Role::Text };
    spans.push(canvas.span(role, spent));
    spans.push(canvas.dim(format!("/{}", figures::duration(agent.limit_s))));
    if live {
        let left = agent.limit_s - (canvas.app.now_s - agent.since_s);
        spans.push(canvas.dim(format!(" {} left", figures::whole(left))));
    }
    match &agent.end {
        Some(end) => {
            let role = if *end == (AgentEnd::Exited { code: 0 }) {
                Role::Dim
            } else {
                Role::Notice
            };
            let words = match end {
                AgentEnd::Exited { code } => format!(" exit {code}"),
                AgentEnd::Signaled { signal } => format!(" signal {signal}"),
                AgentEnd::Limit => " limit reached".to_owned(),
                AgentEnd::Killed { limit, .. } => {
                    format!(" {} limit reached", text::clean(limit.as_str()))
                }
            };
            spans.push(canvas.span(role, words));
        }
        None if !live => spans.push(canvas.span(Role::Notice, " no end was seen")),
        None => {}
    }
    Figure {
        spans,
        rank: 0,
        joins: false,
    }
}

/// Whether the agent whose log is shown may still write to it.
pub fn at_work(app: &App) -> bool {
    let live = app.open.as_ref().is_some_and(|open| open.status.live());
    live && work(app).is_some_and(|agent| agent.end.is_none())
}

/// How long no byte came, while bytes may come.
fn silence(canvas: &Canvas<'_>, agent: &AgentState, figures: &Figures) -> Option<Figure> {
    let app = canvas.app;
    if !at_work(app) {
        return None;
    }
    // a log of an attempt before this one says nothing of it
    let since = figures.written_s.unwrap_or(agent.since_s);
    let idle = (app.now_s - since.max(agent.since_s)).max(0.0);
    let role = if idle >= SILENT_S {
        Role::Notice
    } else {
        Role::Text
    };
    Some(Figure {
        spans: vec![canvas.dim("idle "), canvas.span(role, figures::whole(idle))],
        rank: 2,
        joins: false,
    })
}

/// How often the agent waited for its model's service; `waits` while it does.
fn waits(canvas: &Canvas<'_>, figures: &Figures) -> Option<Figure> {
    let waits = figures.waits;
    let (count, what) = match (waits.rate_limits, waits.others) {
        (0, 0) => return None,
        (0, others) => (others, "retries"),
        (limits, _) => (limits, "rate limits"),
    };
    let now = waits.now && at_work(canvas.app);
    let role = if now { Role::Notice } else { Role::Text };
    let mut spans = vec![
        canvas.dim(format!("{what} ")),
        canvas.span(role, count.to_string()),
    ];
    if waits.told_s > 0.0 {
        spans.push(canvas.dim(format!(", {}", figures::duration(waits.told_s))));
    }
    if now {
        spans.push(canvas.span(role, " waits".to_owned()));
    }
    Some(Figure {
        spans,
        rank: 2,
        joins: false,
    })
}

/// Tokens by kind, and the cost where the stream tells one.
fn tokens(canvas: &Canvas<'_>, usage: Option<&TraceUsage>) -> Vec<Figure> {
    let dash = canvas.app.ui.glyphs.dash;
    let count = |count: Option<u64>| count.map_or_else(|| dash.to_owned(), figures::tokens);
    let first = |name: &str, tokens| Figure {
        spans: vec![
            canvas.dim(format!("{name} ")),
            canvas.span(Role::Text, count(tokens)),
        ],
        rank: 0,
        joins: false,
    };
    let more = |tokens, name: &str, rank| Figure {
        spans: vec![
            canvas.span(Role::Text, count(tokens)),
            canvas.dim(format!(" {name}")),
        ],
        rank,
        joins: true,
    };
    let Some(usage) = usage else {
        let mut out = vec![first("tokens", None)];
        if matches!(
            canvas.app.log.source(),
            Some(LogSource::Agent(_, LogFormat::Codex))
        ) && at_work(canvas.app)
        {
            out[0]
                .spans
                .push(canvas.dim(" (codex tells them at its end)"));
        }
        return out;
    };
    let mut out = vec![
        first("tokens in", Some(usage.input)),
        more(Some(usage.cache_read), "cached", 4),
    ];
    // most streams have no word for these, and say nothing instead of 0
    if usage.cache_write > 0 {
        out.push(more(Some(usage.cache_write), "to cache", 6));
    }
    out.push(first("out", Some(usage.output)));
    if usage.reasoning > 0 {
        out.push(more(Some(usage.reasoning), "reasoning", 5));
    }
    if let Some(cost) = usage.cost_usd.filter(|cost| *cost > 0.0) {
        let words = if cost >= 0.01 {
            format!("${cost:.2}")
        } else {
            format!("${cost:.4}")
        };
        out.push(Figure {
            spans: vec![canvas.span(Role::Strong, words)],
            rank: 3,
            joins: false,
        });
    }
    out
}
