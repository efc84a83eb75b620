//! A theme's file: roles to looks, every error with its line and the mend.

use ratatui::style::Modifier;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::tui::caps::Depth;
use crate::tui::config::{ConfigFile, Problem, nearest};

use super::colour::{self, Shade};
use super::role::Role;
use super::style::{BUNDLED, Look, Theme};

type Value<'a> = Spanned<DeValue<'a>>;

const MODIFIERS: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
];

/// The theme of a file named `name`; roles that it leaves out are those of the bundled theme for
/// the same ground. What is wrong is told and left out.
pub fn parse(
    name: &str,
    file: &ConfigFile<'_>,
    depth: Depth,
    problems: &mut Vec<Problem>,
) -> Theme {
    let looks = looks(name, file, problems);
    Theme::new(name.to_owned(), &looks, depth)
}

fn looks(name: &str, file: &ConfigFile<'_>, problems: &mut Vec<Problem>) -> Vec<Look> {
    let mut looks = vec![Look::default(); Role::ALL.len()];
    let Some(document) = file.document(problems) else {
        return looks;
    };
    let document = document.get_ref();
    let variant = meta(name, file, document, problems);
    // of a bundled theme nothing is left out: a test holds that
    if let Some((base, text)) = BUNDLED.iter().find(|(n, _)| *n == variant && *n != name) {
        let own = ConfigFile { file: base, text };
        looks = self::looks(base, &own, &mut Vec::new());
    }
    for (key, value) in document {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("roles", DeValue::Table(table)) => {
                for (key, value) in table {
                    role(file, key.get_ref(), key.span(), value, &mut looks, problems);
                }
            }
            ("meta", _) => {}
            ("roles", _) => problems.push(file.problem(
                &key.span(),
                "`roles` is a table",
                "write [roles], and the roles below it",
            )),
            (other, _) => problems.push(file.problem(
                &key.span(),
                &format!("a theme has no `{other}`"),
                "a theme has [meta] and [roles]",
            )),
        }
    }
    looks
}

/// Reads `[meta]`; returns the name of the bundled theme for the same ground.
fn meta(
    name: &str,
    file: &ConfigFile<'_>,
    document: &DeTable<'_>,
    problems: &mut Vec<Problem>,
) -> &'static str {
    let found = document
        .iter()
        .find(|(key, _)| key.get_ref().as_ref() == "meta");
    let Some((_, value)) = found else {
        let words = "a theme says its name and its ground".to_owned();
        let mend = format!(
            "write [meta] with name = \"{name}\" and variant = \"any\", \"dark\" or \"light\""
        );
        problems.push(file.problem(&(0..0), &words, mend));
        return "default";
    };
    let mut variant = "default";
    let entries = match value.get_ref() {
        DeValue::Table(table) => table.iter().collect(),
        _ => Vec::new(),
    };
    let mut named = false;
    for (key, value) in entries {
        let wrong = match (key.get_ref().as_ref(), value.get_ref()) {
            ("name", DeValue::String(own)) if own.as_ref() == name => {
                named = true;
                None
            }
            ("name", _) => Some((
                "the name is not the file's",
                format!("write name = \"{name}\""),
            )),
            ("variant", DeValue::String(word)) => match word.as_ref() {
                "any" => None,
                "dark" => {
                    variant = "dark";
                    None
                }
                "light" => {
                    variant = "light";
                    None
                }
                _ => Some(("no such variant", "one of any, dark, light".to_owned())),
            },
            _ => Some((
                "[meta] has `name` and `variant` only",
                "take it out".to_owned(),
            )),
        };
        if let Some((words, mend)) = wrong {
            // a wrong name is told, not that it is missing
            named |= key.get_ref().as_ref() == "name";
            problems.push(file.problem(&value.span(), words, mend));
        }
    }
    if !named {
        let mend = format!("write name = \"{name}\"");
        problems.push(file.problem(&value.span(), "[meta] has no name", mend));
    }
    variant
}

fn role(
    file: &ConfigFile<'_>,
    name: &str,
    span: std::ops::Range<usize>,
    value: &Value<'_>,
    looks: &mut [Look],
    problems: &mut Vec<Problem>,
) {
    let Some(role) = Role::ALL.iter().find(|role| role.name() == name) else {
        let names: Vec<&str> = Role::ALL.iter().map(|role| role.name()).collect();
        let mend = match nearest(name, &names) {
            Some(near) => format!("write `{near}`"),
            None => format!("one of {}", names.join(", ")),
        };
        problems.push(file.problem(&span, &format!("there is no role `{name}`"), mend));
        return;
    };
    let DeValue::Table(table) = value.get_ref() else {
        let mend =
            "write { fg = \"red\" }; keys are fg, bg, bold, dim, italic, underline, reversed, mono";
        problems.push(file.problem(&value.span(), &format!("`{name}` is a table"), mend));
        return;
    };
    let mut look = Look::default();
    for (key, value) in table {
        if let Err((span, words, mend)) = one(key.get_ref(), &key.span(), value, &mut look) {
            problems.push(file.problem(&span, &format!("role `{name}`: {words}"), mend));
        }
    }
    if let Some(slot) = looks.get_mut(*role as usize) {
        *slot = look;
    }
}

/// Where, what, the mend.
type Wrong = (std::ops::Range<usize>, String, String);

fn one(
    key: &str,
    span: &std::ops::Range<usize>,
    value: &Value<'_>,
    look: &mut Look,
) -> Result<(), Wrong> {
    let modifier = |name: &str| MODIFIERS.iter().find(|(n, _)| *n == name).map(|(_, m)| *m);
    match (key, value.get_ref()) {
        ("fg", _) => look.fg = shade(value)?,
        ("bg", _) => look.bg = shade(value)?,
        ("mono", DeValue::String(word)) => {
            let Some(own) = modifier(word) else {
                let names = MODIFIERS.map(|(name, _)| name).join(", ");
                let words = format!("`{word}` is no modifier");
                return Err((value.span(), words, format!("one of {names}")));
            };
            look.mono |= own;
        }
        (name, DeValue::Boolean(on)) if modifier(name).is_some() => {
            if *on {
                look.modifiers |= modifier(name).unwrap_or_default();
            }
        }
        (name, _) if modifier(name).is_some() => {
            let words = format!("`{name}` is true or false");
            return Err((value.span(), words, format!("write {name} = true")));
        }
        (other, _) => {
            let mend = "keys are fg, bg, bold, dim, italic, underline, reversed, mono".to_owned();
            return Err((span.clone(), format!("there is no `{other}`"), mend));
        }
    }
    Ok(())
}

const COLOUR: &str = "a name of the palette (red, lightblue, darkgray, …), default, or #rrggbb";

fn shade(value: &Value<'_>) -> Result<Shade, Wrong> {
    let colour = |value: &Value<'_>| match value.get_ref() {
        DeValue::String(text) => colour::parse(text).ok_or_else(|| {
            (
                value.span(),
                format!("`{text}` is no colour"),
                COLOUR.to_owned(),
            )
        }),
        _ => Err((
            value.span(),
            "a colour is a string".into(),
            COLOUR.to_owned(),
        )),
    };
    let DeValue::Table(table) = value.get_ref() else {
        return Ok(Shade {
            truecolor: Some(colour(value)?),
            ..Shade::default()
        });
    };
    let mut shade = Shade::default();
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "truecolor" => shade.truecolor = Some(colour(value)?),
            "ansi16" => {
                let named = colour(value)?;
                if !colour::of_the_palette(named) {
                    let words = "`ansi16` is one of the 16 colours".to_owned();
                    let mend = "a name of the palette (red, lightblue, …) or default".to_owned();
                    return Err((value.span(), words, mend));
                }
                shade.ansi16 = Some(named);
            }
            "ansi256" => {
                let index = match value.get_ref() {
                    DeValue::Integer(number) => number.as_str().parse().ok(),
                    _ => None,
                };
                let Some(index) = index else {
                    let words = "`ansi256` is an index".to_owned();
                    return Err((value.span(), words, "a number from 0 to 255".into()));
                };
                shade.ansi256 = Some(index);
            }
            other => {
                let words = format!("a colour has no `{other}`");
                let mend = "keys are truecolor, ansi256, ansi16".to_owned();
                return Err((key.span(), words, mend));
            }
        }
    }
    if shade == Shade::default() {
        let mend = "give at least one of truecolor, ansi256, ansi16".to_owned();
        return Err((value.span(), "the colour is empty".into(), mend));
    }
    Ok(shade)
}
