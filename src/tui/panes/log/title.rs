//! The pane's border: which log it is and where the reader stands above, what is looked for and
//! the moment under the cursor below.

use ratatui::text::{Line, Span};

use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title, figures};

use super::find::Pattern;
use super::source::LogSource;

/// Columns of a pattern that are shown.
const PATTERN: usize = 20;

pub fn title(canvas: &Canvas<'_>) -> Title {
    let app = canvas.app;
    let log = &app.log;
    let mut left = Vec::new();
    if let Some(source) = log.source() {
        left.push(canvas.span(Role::Title, "log"));
        let role = if matches!(source, LogSource::Earlier(..)) {
            Role::Notice
        } else {
            Role::Dim
        };
        left.push(canvas.dim(" · "));
        left.push(canvas.span(role, source.label()));
        if let Some(source) = &app.target.source {
            left.push(canvas.dim(format!(" · {}", text::clean(&source.label()))));
        }
        let model = log.figures.as_ref().and_then(|f| f.model.as_ref());
        let asked = app.open.as_ref().and_then(|open| open.state.agent.as_ref());
        if let Some(model) = model.or(asked.and_then(|agent| agent.model.as_ref()))
            && source.recorded()
        {
            left.push(canvas.dim(format!(" · {}", text::clean(model))));
        }
    }
    let right = place(canvas);
    // where the reader stands is said before whose log it is
    let room = canvas.width().saturating_sub(10);
    let wide = Line::from(right.clone()).width();
    while left.len() > 3 && Line::from(left.clone()).width() + wide > room {
        left.pop();
    }
    Title { left, right }
}

fn place(canvas: &Canvas<'_>) -> Vec<Span<'static>> {
    let app = canvas.app;
    let log = &app.log;
    let mut right = Vec::new();
    if log.reading && log.behind {
        right.push(canvas.dim("reading "));
    }
    if log.cut || log.part.0 > 0 || log.base > 0 {
        let mib = |bytes: u64| bytes >> 20;
        let (from, to) = log.part;
        let words = match (log.base, log.size) {
            (0, size) if size > 0 => format!("{}-{} of {} MiB ", mib(from), mib(to), mib(size)),
            _ => "the newest ".into(),
        };
        right.push(canvas.span(Role::Notice, words));
    }
    if !log.entries.is_empty() {
        if log.follow {
            right.push(canvas.span(Role::Accent, "follow"));
        } else {
            let (count, at) = log.counted();
            right.push(canvas.dim(format!("{at}/{count}")));
            // what grows says that it is not followed any more
            if log.grows || !log.source().is_some_and(LogSource::recorded) {
                right.push(canvas.span(
                    Role::Notice,
                    app.ui.keymap.fill(" paused, {bottom} follows"),
                ));
            }
        }
    }
    right
}

/// What stands in the lower border; what has no room goes from the end.
pub fn below(canvas: &Canvas<'_>) -> Line<'static> {
    let app = canvas.app;
    let log = &app.log;
    let ellipsis = app.ui.glyphs.ellipsis;
    let pattern = |pattern: &Pattern| text::cut(&pattern.words, PATTERN, ellipsis);
    let mut parts: Vec<Span<'static>> = Vec::new();
    if let Some(at_s) = app.time.at_s {
        let clock = figures::clock(at_s, app.ui.utc_offset_s);
        let words = app
            .time
            .words()
            .map_or(clock.clone(), |words| format!("{clock}, {words}"));
        parts.push(canvas.span(Role::Text, words));
        if app.time.tied {
            parts.push(canvas.span(Role::Accent, "cases and GPUs of then"));
        }
    }
    if let Some(search) = &log.look.search {
        let all = log.looked_through();
        let more = if all { "" } else { "+" };
        let count = log.look.count();
        let of = match log.look.hit {
            Some(_) => format!("{}/{count}{more}", log.look.ordinal),
            None => format!("{count}{more}"),
        };
        parts.push(canvas.span(Role::Notice, format!("/{} {of}", pattern(search))));
    }
    for (filter, word) in [(&log.look.only, "only"), (&log.look.hide, "without")] {
        if let Some(filter) = filter {
            parts.push(canvas.span(Role::Notice, format!("{word} {}", pattern(filter))));
        }
    }
    if let Some((word, percent)) = log.progress() {
        let words = format!("{word}{ellipsis} {percent} %");
        parts.push(canvas.span(Role::Running, words));
    }
    if log.look.shown.is_some() {
        let words = format!("{} of {}", log.counted().0, log.entries.len());
        parts.push(canvas.dim(words));
    }
    if log.raw {
        parts.push(canvas.dim("raw"));
    }
    if log.wrap {
        parts.push(canvas.dim("wrapped"));
    } else if log.skip > 0 {
        parts.push(canvas.dim(format!("from column {}", log.skip + 1)));
    }
    let room = canvas.width().saturating_sub(6);
    loop {
        let mut spans = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let between = if at == 0 { " " } else { " · " };
            spans.push(canvas.dim(between));
            spans.push(part.clone());
        }
        if !parts.is_empty() {
            spans.push(Span::raw(" "));
        }
        let line = Line::from(spans);
        if line.width() <= room {
            return line;
        }
        parts.pop();
    }
}
