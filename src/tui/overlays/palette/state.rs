//! What the palette offers, and what of it the typed letters leave.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::domain::{RunId, Source};
use crate::tui::action::{Scope, TABLE};
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::widgets::figures;

/// Runs that are offered, the newest.
const RUNS: usize = 2_000;

/// What choosing an item does.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// An entry of the table, by its place.
    Action(usize),
    Task(String),
    Source(String, Source),
    Run(RunId),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub goal: Goal,
    /// Safe to show.
    pub name: String,
    pub help: String,
    /// The keys that do the same; empty: none.
    pub key: String,
    /// Why it is not possible now.
    pub refused: Option<String>,
}

/// An item that the letters leave.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    pub item: usize,
    /// Characters of the name that were matched.
    pub marks: Vec<u32>,
}

/// Not by its name, how badly it fits, not possible: the least comes first.
type Rank = (bool, Reverse<u32>, bool);

#[derive(Clone, Debug, PartialEq)]
pub struct Palette {
    pub text: String,
    pub items: Vec<Item>,
    pub shown: Vec<Shown>,
    pub selected: usize,
    /// First of the shown on the screen.
    pub top: usize,
}

impl Palette {
    pub fn new(app: &App) -> Self {
        let mut palette = Self {
            text: String::new(),
            items: items(app),
            shown: Vec::new(),
            selected: 0,
            top: 0,
        };
        palette.filter();
        palette
    }

    pub fn item(&self) -> Option<&Item> {
        self.items.get(self.shown.get(self.selected)?.item)
    }

    /// Finds anew what the text leaves: best first, and of equals what is possible.
    pub fn filter(&mut self) {
        let mut matcher = Matcher::new(Config::DEFAULT);
        let pattern = Pattern::parse(&self.text, CaseMatching::Ignore, Normalization::Smart);
        let mut found: Vec<(Rank, Shown)> = Vec::new();
        let mut buffer = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            let mut marks = Vec::new();
            let name = Utf32Str::new(&item.name, &mut buffer);
            let own = pattern.indices(name, &mut matcher, &mut marks);
            let about = || {
                let all = format!("{} {}", item.name, item.help);
                pattern.score(Utf32Str::new(&all, &mut buffer), &mut matcher)
            };
            let Some(score) = own.or_else(about) else {
                continue;
            };
            if own.is_none() {
                marks.clear();
            }
            marks.sort_unstable();
            marks.dedup();
            // a name says more than the words about it; what is not possible has to fit better
            let share = if item.refused.is_some() { 3 } else { 4 };
            let score = Reverse(score.saturating_mul(share));
            let rank = (own.is_none(), score, item.refused.is_some());
            found.push((rank, Shown { item: at, marks }));
        }
        // stable: what is equally good stays in the table's order
        found.sort_by_key(|(rank, _)| *rank);
        self.shown = found.into_iter().map(|(_, shown)| shown).collect();
        self.selected = 0;
        self.top = 0;
    }

    /// Goes to a place of the list, and keeps it in sight of `rows`.
    pub fn go_to(&mut self, at: usize, rows: usize) {
        self.selected = at.min(self.shown.len().saturating_sub(1));
        let least = (self.selected + 1).saturating_sub(rows.max(1));
        self.top = self.top.clamp(least, self.selected);
    }
}

fn items(app: &App) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let keymap = &app.ui.keymap;
    for (at, entry) in TABLE.iter().enumerate() {
        let refused = if entry.reaches(app.focus) {
            (entry.possible)(app).err().map(|words| keymap.fill(words))
        } else {
            Some(format!("works {}", entry.scope.words()))
        };
        items.push(Item {
            goal: Goal::Action(at),
            name: entry.name.to_owned(),
            help: keymap.fill(entry.help),
            key: keymap.keys(entry).join(" or "),
            refused,
        });
    }
    // what the pane's own table says comes first
    items.sort_by_key(|item| match item.goal {
        Goal::Action(at) => TABLE
            .get(at)
            .is_none_or(|e| !matches!(e.scope, Scope::In(_))),
        _ => true,
    });
    for task in &app.tasks {
        let id = task.id();
        items.push(place(Goal::Task(id.into()), id, &task.spec.title));
        let named = [Source::Gold, Source::Base]
            .into_iter()
            .chain(task.submissions.iter().map(|s| Source::Submission {
                name: s.spec.name.clone(),
            }));
        for source in named {
            let name = format!("{id} {}", source.label());
            items.push(place(Goal::Source(id.into(), source), &name, "go to it"));
        }
    }
    for run in app.runs.iter().take(RUNS) {
        let name = format!("{} {}", run.task, run.source.label());
        let when = figures::moment(run.created_s, app.now_s, app.ui.utc_offset_s);
        let help = format!("run {} of {when}", run.id.0);
        items.push(place(Goal::Run(run.id.clone()), &name, &help));
    }
    items
}

fn place(goal: Goal, name: &str, help: &str) -> Item {
    Item {
        goal,
        name: text::clean(name).into_owned(),
        help: text::clean(help).into_owned(),
        key: String::new(),
        refused: None,
    }
}
