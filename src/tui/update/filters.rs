//! Which cases are shown.

use crate::domain::Suite;
use crate::tui::action::Action;
use crate::tui::overlays::Overlay;
use crate::tui::overlays::pick::{Choice, Pick};
use crate::tui::panes::cases::Only;
use crate::tui::panes::words::plural;
use crate::tui::state::App;

use super::heat;
use super::target::load_why;

pub fn perform(app: &mut App, action: Action) {
    let cases = &mut app.cases;
    match action {
        Action::OnlyRejected => cases.only_rejected = !cases.only_rejected,
        Action::OnlyChanged => cases.only_changed = !cases.only_changed,
        Action::CasesOrder if cases.heat.open => {
            cases.heat.hardest_first = !cases.heat.hardest_first;
        }
        Action::CasesOrder => cases.slowest_first = !cases.slowest_first,
        Action::SuiteFilter => {
            cases.suite = match cases.suite {
                None => Some(Suite::Official),
                Some(Suite::Official) => Some(Suite::Probes),
                Some(Suite::Probes) => None,
            };
        }
        Action::OnlyAlike => return choose(app),
        _ => {}
    }
    apply(app);
}

/// Brings list and map in line with the filters.
pub fn apply(app: &mut App) {
    app.cases.refilter();
    heat::keep_up(app);
    load_why(app);
}

pub fn alike(app: &mut App, only: Option<Only>) {
    app.cases.only = only;
    apply(app);
}

/// Opens the list of signatures and claims.
fn choose(app: &mut App) {
    let task = app.target.task.as_deref().and_then(|id| app.task(id));
    let mut rows = vec![(
        "all".to_owned(),
        plural(app.cases.all.len(), "case"),
        Choice::Alike(None),
    )];
    for (only, all, rejected) in app.cases.groups() {
        let dot = app.ui.glyphs.dot;
        let count = format!("{} {dot} {rejected} rejected", plural(all, "case"));
        let (name, more) = match &only {
            Only::Signature(words) => (words.clone(), count),
            Only::Claim(id) => {
                let claims = task.iter().flat_map(|task| &task.spec.claims);
                let claim = claims.into_iter().find(|claim| claim.id == *id);
                let text = claim.map_or("", |claim| claim.text.as_str());
                (format!("claim {id}"), format!("{count} {dot} {text}"))
            }
        };
        rows.push((name, more, Choice::Alike(Some(only))));
    }
    let now = |row: &(String, String, Choice)| row.2 == Choice::Alike(app.cases.only.clone());
    let selected = rows.iter().position(now).unwrap_or(0);
    app.overlay = Some(Overlay::Pick(Pick {
        title: "only cases that fail alike, or are of one claim",
        keys: &[],
        rows,
        selected,
    }));
}
