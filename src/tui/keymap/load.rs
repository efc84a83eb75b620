//! The user's `keymap.toml` over the table's own keys: every error with its line and the mend.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::tui::action::{Action, Entry, Scope, TABLE};
use crate::tui::config::{ConfigFile, Problem, nearest};
use crate::tui::layout::PaneKind;

use super::key::{Key, chord, written};
use super::map::Keymap;

/// Where the user gave an entry a chord.
struct Given {
    entry: usize,
    chord: Vec<Key>,
    span: Range<usize>,
}

/// The keymap that the text makes of the standard one; what is wrong is told and left out.
pub fn load(source: &ConfigFile<'_>, problems: &mut Vec<Problem>) -> Keymap {
    let mut keymap = Keymap::default();
    let Some(document) = source.document(problems) else {
        return keymap;
    };
    let mut given = Vec::new();
    for (name, value) in document.get_ref() {
        let scope = Scope::all().find(|scope| scope.name() == name.get_ref().as_ref());
        match (scope, value.get_ref()) {
            (None, _) => {
                let names = Scope::all().map(Scope::name).collect::<Vec<_>>();
                let words = format!("there is no context `{}`", name.get_ref());
                problems.push(source.problem(
                    &name.span(),
                    &words,
                    unknown(name.get_ref(), &names),
                ));
            }
            (Some(scope), DeValue::Table(table)) => {
                context(source, scope, table, &mut keymap, &mut given, problems);
            }
            (Some(scope), _) => {
                let words = format!("`{}` is a context, not an action", scope.name());
                let mend = format!("write [{}], and the actions below it", scope.name());
                problems.push(source.problem(&name.span(), &words, mend));
            }
        }
    }
    // a table has no order: lines have
    given.sort_by_key(|given| given.span.start);
    conflicts(source, &keymap, &given, problems);
    keymap
}

/// The nearest name where one is near, else all of them.
fn unknown(name: &str, names: &[&str]) -> String {
    match nearest(name, names) {
        Some(near) => format!("write `{near}`"),
        None if names.len() < 15 => format!("one of {}", names.join(", ")),
        None => "`infradev --print-keymap` lists all".into(),
    }
}

fn context(
    source: &ConfigFile<'_>,
    scope: Scope,
    table: &DeTable<'_>,
    keymap: &mut Keymap,
    given: &mut Vec<Given>,
    problems: &mut Vec<Problem>,
) {
    for (name, value) in table {
        let known = |entry: &Entry| entry.name == name.get_ref().as_ref();
        let Some(at) = TABLE
            .iter()
            .position(|entry| known(entry) && entry.scope == scope)
        else {
            let words = format!("[{}] has no action `{}`", scope.name(), name.get_ref());
            let mend = if let Some(other) = TABLE.iter().find(|entry| known(entry)) {
                format!("it stands in [{}]", other.scope.name())
            } else {
                let own = TABLE.iter().filter(|entry| entry.scope == scope);
                let names: Vec<&str> = own.map(|entry| entry.name).collect();
                unknown(name.get_ref(), &names)
            };
            problems.push(source.problem(&name.span(), &words, mend));
            continue;
        };
        let Some(chords) = chords(source, value, problems) else {
            continue;
        };
        let needed = [Action::Quit, Action::Palette, Action::Back];
        if chords.is_empty() && needed.contains(&TABLE[at].action) {
            let words = format!("`{}` has no key", name.get_ref());
            let mend = "give it one: nothing else does what it does".to_owned();
            problems.push(source.problem(&value.span(), &words, mend));
            continue;
        }
        let own = chords.iter().map(|(chord, span)| Given {
            entry: at,
            chord: chord.clone(),
            span: span.clone(),
        });
        given.extend(own);
        keymap.set(at, chords.into_iter().map(|(chord, _)| chord).collect());
    }
}

type Chords = Vec<(Vec<Key>, Range<usize>)>;

/// A key, or a list of alternatives. `None`: something was wrong, and is told.
fn chords(
    source: &ConfigFile<'_>,
    value: &Spanned<DeValue<'_>>,
    problems: &mut Vec<Problem>,
) -> Option<Chords> {
    let items: Vec<&Spanned<DeValue<'_>>> = match value.get_ref() {
        DeValue::Array(items) => items.iter().collect(),
        _ => vec![value],
    };
    let mut all = Vec::new();
    let mut right = true;
    for item in items {
        match one(item.get_ref()) {
            Ok(chord) => all.push((chord, item.span())),
            Err((words, mend)) => {
                problems.push(source.problem(&item.span(), &words, mend));
                right = false;
            }
        }
    }
    right.then_some(all)
}

fn one(value: &DeValue<'_>) -> Result<Vec<Key>, (String, String)> {
    let DeValue::String(text) = value else {
        let mend = "write \"g\", or [\"g\", \"ctrl-g\"], or [] for none".to_owned();
        return Err(("a key is a string".into(), mend));
    };
    let Some(chord) = chord(text) else {
        let part = text
            .split_whitespace()
            .find(|part| Key::parse(part).is_none());
        let words = match part {
            Some(part) => format!("`{part}` is no key"),
            None => "an empty string is no key".into(),
        };
        let mend = "a letter or sign, a name such as enter or f5, ctrl-x or alt-x; blanks part \
                    the keys of a chord";
        return Err((words, mend.into()));
    };
    if let Some((key, why)) = chord.iter().find_map(|key| Some((key, key.unsent()?))) {
        return Err((format!("`{key}` never arrives"), why));
    }
    Ok(chord)
}

/// A key that means two things in a pane, or is the beginning of another's chord.
fn conflicts(
    source: &ConfigFile<'_>,
    keymap: &Keymap,
    given: &[Given],
    problems: &mut Vec<Problem>,
) {
    for (number, own) in given.iter().enumerate() {
        let entry = &TABLE[own.entry];
        let other = keymap.all().enumerate().find_map(|(at, (other, chords))| {
            // of two lines of the file the later one is told
            let earlier = || given[..number].iter().any(|g| g.entry == at);
            let later = given[number..].iter().any(|g| g.entry == at) && !earlier();
            let pane = PaneKind::ALL
                .into_iter()
                .find(|pane| entry.reaches(*pane) && other.reaches(*pane))?;
            if at == own.entry || later {
                return None;
            }
            let chord = chords
                .iter()
                .find(|c| c.starts_with(&own.chord) || own.chord.starts_with(c))?;
            Some((other, chord, pane))
        });
        let Some((other, chord, pane)) = other else {
            continue;
        };
        let key = written(&own.chord);
        let words = if *chord == own.chord {
            format!(
                "`{key}` would mean both `{}` and `{}` in {}",
                entry.name,
                other.name,
                pane.name()
            )
        } else {
            format!(
                "`{key}` and `{}` of `{}` begin alike: the shorter one shadows the longer in {}",
                written(chord),
                other.name,
                pane.name()
            )
        };
        let mend = format!(
            "take another key, or give `{}` in [{}] another one, or [] for none",
            other.name,
            other.scope.name()
        );
        problems.push(source.problem(&own.span, &words, mend));
    }
}
