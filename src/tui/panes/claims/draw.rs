//! Claims in rows; the selected item is unfolded.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::acceptance::{Finding, RuleVerdict};
use crate::domain::task::{Claim, Oracle};
use crate::report::acceptance::Sign;
use crate::tui::action::Action;
use crate::tui::layout::PaneKind;
use crate::tui::panes::acceptance::row::sign;
use crate::tui::panes::words::plural;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title};

use super::state::{Cover, Item, cover, items, judged};

/// A row of the pane.
pub struct Shown {
    pub line: Line<'static>,
    /// The item that it belongs to; a heading belongs to none.
    pub item: Option<usize>,
}

pub fn draw(canvas: &mut Canvas<'_>) {
    let title = title(canvas);
    let mut inner = canvas.pane(PaneKind::Claims, title);
    let rows = rows(&inner);
    if rows.is_empty() {
        let rows = match &inner.app.acceptance.task {
            None => vec![
                Line::from(inner.dim("no task is selected")),
                Line::from(inner.key_hint(Action::Pane(PaneKind::Tasks), "goes to the tasks")),
            ],
            Some(_) => vec![
                Line::from(inner.dim("the task names no claims")),
                Line::from(inner.dim("[[claims]] in task.toml: a promise of the change each")),
            ],
        };
        return inner.empty(&rows);
    }
    let app = inner.app;
    let first = app
        .claims
        .top
        .min(rows.len().saturating_sub(inner.height()));
    let seen = rows.iter().skip(first).take(inner.height());
    for (at, row) in seen.enumerate() {
        inner.put(at, &row.line);
        if row.item == Some(app.claims.selected) {
            let head = at == 0 || rows.get(first + at - 1).is_none_or(|r| r.item != row.item);
            if head {
                let focused = app.focus == PaneKind::Claims;
                let role = if focused {
                    Role::Selection
                } else {
                    Role::SelectionIdle
                };
                let style = inner.style(role);
                inner.paint(at, style);
            }
        }
    }
}

fn title(canvas: &Canvas<'_>) -> Title {
    let app = canvas.app;
    let mut right = Vec::new();
    if let Some(judged) = judged(app) {
        if !judged.revise.is_empty() {
            let words = format!("{} to revise", judged.revise.len());
            right.push(canvas.span(Role::Failed, words));
            right.push(Span::raw("  "));
        }
        if !judged.warnings.is_empty() {
            let words = plural(judged.warnings.len(), "warning");
            right.push(canvas.span(Role::Warn, words));
        }
    }
    Title {
        left: Vec::new(),
        right,
    }
}

/// The item on a row of the pane.
pub fn item_at(app: &App, block: Rect, row: usize) -> Option<usize> {
    let mut buf = Buffer::empty(block);
    let rows = rows(&Canvas::new(app, &mut buf, block));
    let first = rows.len().saturating_sub(usize::from(block.height));
    rows.get(app.claims.top.min(first) + row)?.item
}

/// Keeps the selected item in sight, its head above all.
pub fn settle(app: &mut App, block: Rect) {
    let mut buf = Buffer::empty(block);
    let rows = rows(&Canvas::new(app, &mut buf, block));
    let own = |row: &Shown| row.item == Some(app.claims.selected);
    let first = rows.iter().position(own).unwrap_or(0);
    let last = rows.iter().rposition(own).unwrap_or(0);
    // with the heading above it
    let first = match first.checked_sub(1).and_then(|at| rows.get(at)) {
        Some(above) if above.item.is_none() => first - 1,
        _ => first,
    };
    let height = usize::from(block.height).max(1);
    let top = app.claims.top.max((last + 1).saturating_sub(height));
    app.claims.top = top.min(first);
}

/// All rows, those of the selected item unfolded.
pub fn rows(canvas: &Canvas<'_>) -> Vec<Shown> {
    let items = items(canvas.app);
    let mut rows: Vec<Shown> = Vec::new();
    let mut heading = "";
    for (at, item) in items.iter().enumerate() {
        if item.heading() != heading {
            if !heading.is_empty() {
                heading = item.heading();
                let line = Line::from(canvas.dim(format!(" {heading}")));
                rows.push(Shown { line, item: None });
            }
            heading = item.heading();
        }
        // unfolded only while it is read
        let focused = canvas.app.focus == PaneKind::Claims;
        let selected = focused && at == canvas.app.claims.selected;
        let mut push = |line: Line<'static>| {
            rows.push(Shown {
                line,
                item: Some(at),
            });
        };
        match item {
            Item::Claim(claim) => {
                let cover = cover(canvas.app, claim);
                push(claim_row(canvas, claim, &cover));
                if selected {
                    unfold_claim(canvas, claim, &cover, &mut push);
                }
            }
            Item::Rule(rule) => rule_rows(canvas, rule, selected, &mut push),
            Item::Revise(finding) => {
                finding_rows(canvas, finding, Sign::Breaks, selected, &mut push);
            }
            Item::Warning(finding) => {
                finding_rows(canvas, finding, Sign::Warns, selected, &mut push);
            }
        }
    }
    rows
}

fn claim_row(canvas: &Canvas<'_>, claim: &Claim, cover: &Cover) -> Line<'static> {
    let app = canvas.app;
    let width = canvas.width();
    let (mark, role) = sign(app, cover.sign);
    let oracles = oracles(claim);
    let adversarial = match cover.tried.len() {
        0 => app.ui.glyphs.dash.to_owned(),
        n => format!("{}/{n}", cover.rejected.len()),
    };
    let counts = match &claim.unmeasured {
        Some(_) => "unmeasured".to_owned(),
        None => format!("prb {:>2} adv {adversarial:>3}", cover.probes),
    };
    let mut right = vec![Span::raw(" ")];
    if width >= 70 {
        right.push(canvas.dim(format!("{oracles}  ")));
    }
    right.push(canvas.span(Role::Text, counts));
    right.push(Span::raw(" "));
    right.push(canvas.span(role, mark));
    right.push(Span::raw(" "));
    let right = Line::from(right);
    let id = text::fit(&claim.id, 4, app.ui.glyphs.ellipsis);
    let room = width.saturating_sub(right.width() + text::width(&id) + 2);
    let words = text::fit(&claim.text, room, app.ui.glyphs.ellipsis);
    let mut spans = vec![
        Span::raw(" "),
        canvas.span(Role::Accent, id),
        Span::raw(" "),
        canvas.span(Role::Text, words),
    ];
    spans.extend(right.spans);
    text::window(spans, 0, width)
}

fn oracles(claim: &Claim) -> String {
    let words = claim.oracles.iter().map(|oracle| match oracle {
        Oracle::ExistingPath => "existing path",
        Oracle::Invariance => "invariance",
        Oracle::Direct => "direct",
        Oracle::Property => "property",
    });
    words.collect::<Vec<_>>().join(", ")
}

fn unfold_claim(
    canvas: &Canvas<'_>,
    claim: &Claim,
    cover: &Cover,
    push: &mut dyn FnMut(Line<'static>),
) {
    let say = |role: Role, words: &str, push: &mut dyn FnMut(Line<'static>)| {
        indented(canvas, role, words, push);
    };
    say(Role::Text, &claim.text, push);
    let mut facts = vec![format!("{:?}", claim.kind).to_lowercase()];
    facts.extend(claim.modes.iter().map(|mode| format!("mode {mode}")));
    match claim.oracles.len() {
        0 => facts.push("no oracle named".to_owned()),
        1 => facts.push(format!("a single oracle kind: {}", oracles(claim))),
        _ => facts.push(oracles(claim)),
    }
    say(Role::Dim, &facts.join("; "), push);
    if let Some(why) = &claim.unmeasured {
        say(Role::Warn, &format!("unmeasured: {why}"), push);
    }
    for probe in &claim.probes {
        say(Role::Dim, &format!("probe {probe}"), push);
    }
    for patch in &cover.tried {
        let by = if cover.rejected.contains(patch) {
            "rejected by its own probes"
        } else {
            "not rejected by its own probes"
        };
        let role = if cover.rejected.contains(patch) {
            Role::Dim
        } else {
            Role::Warn
        };
        say(role, &format!("{patch}: {by}"), push);
    }
    if cover.tried.is_empty() && cover.sign != Sign::Open {
        say(Role::Warn, "no adversarial patch violates it", push);
    }
    if !cover.also.is_empty() {
        let words = format!("also rejected by probes of {}", cover.also.join(", "));
        say(Role::Dim, &words, push);
    }
}

fn rule_rows(
    canvas: &Canvas<'_>,
    rule: &RuleVerdict,
    selected: bool,
    push: &mut dyn FnMut(Line<'static>),
) {
    let (mark, role) = sign(
        canvas.app,
        if rule.holds {
            Sign::Holds
        } else {
            Sign::Breaks
        },
    );
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    let words = text::cut(
        rule.rule.words(),
        canvas.width().saturating_sub(4),
        ellipsis,
    );
    push(Line::from(vec![
        Span::raw(" "),
        canvas.span(role, mark),
        Span::raw(" "),
        canvas.span(if rule.holds { Role::Text } else { role }, words),
    ]));
    if selected || !rule.holds {
        let most = if selected { usize::MAX } else { 3 };
        for line in rule.evidence.iter().take(most) {
            indented(canvas, Role::Text, line, push);
        }
        let hidden = rule.evidence.len().saturating_sub(most);
        if hidden > 0 {
            indented(canvas, Role::Dim, &format!("and {hidden} more"), push);
        }
    }
}

fn finding_rows(
    canvas: &Canvas<'_>,
    finding: &Finding,
    how: Sign,
    selected: bool,
    push: &mut dyn FnMut(Line<'static>),
) {
    let (mark, role) = sign(canvas.app, how);
    let mut words = format!("{}: {}", finding.kind.words(), finding.subject);
    if !finding.detail.is_empty() {
        words = format!("{words} ({})", finding.detail);
    }
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    let room = canvas.width().saturating_sub(4);
    push(Line::from(vec![
        Span::raw(" "),
        canvas.span(role, mark),
        Span::raw(" "),
        canvas.span(Role::Text, text::cut(&words, room, ellipsis)),
    ]));
    if selected && text::width(&text::clean(&words)) > room {
        indented(canvas, Role::Text, &words, push);
    }
}

fn indented(canvas: &Canvas<'_>, role: Role, words: &str, push: &mut dyn FnMut(Line<'static>)) {
    let width = canvas.width().saturating_sub(7);
    for line in canvas.wrapped(role, words, width, 8) {
        let mut spans = vec![Span::raw("      ")];
        spans.extend(line.spans);
        push(Line::from(spans));
    }
}
