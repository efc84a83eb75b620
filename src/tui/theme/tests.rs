#![allow(clippy::unwrap_used)]

use ratatui::style::Modifier;

use super::*;
use crate::tui::caps::Depth;
use crate::tui::config::ConfigFile;

const DEPTHS: [Depth; 4] = [Depth::None, Depth::Ansi16, Depth::Ansi256, Depth::True];

fn read(name: &str, text: &str, depth: Depth) -> (Theme, Vec<String>) {
    let mut problems = Vec::new();
    let file = ConfigFile { file: name, text };
    let theme = parse(name, &file, depth, &mut problems);
    (theme, problems.iter().map(ToString::to_string).collect())
}

#[test]
fn every_bundled_theme_has_every_role_and_no_error_at_any_depth() {
    for (name, text) in BUNDLED {
        for depth in DEPTHS {
            let (theme, problems) = read(name, text, depth);
            assert_eq!(problems, Vec::<String>::new(), "{name}");
            assert_eq!(theme.name, name);
        }
        let file: toml::Table = toml::from_str(text).unwrap();
        let roles = file["roles"].as_table().unwrap();
        for role in Role::ALL {
            assert!(roles.contains_key(role.name()), "{name}: {}", role.name());
        }
    }
}

#[test]
fn without_colours_selection_and_failures_still_stand_out() {
    for (name, text) in BUNDLED {
        // the monochrome theme has no colours anywhere
        let depths: &[Depth] = if name == "monochrome" {
            &DEPTHS
        } else {
            &[Depth::None]
        };
        for depth in depths {
            let (theme, _) = read(name, text, *depth);
            for role in [Role::Selection, Role::BorderFocus, Role::Failed] {
                let style = theme.style(role);
                assert_eq!((style.fg, style.bg), (None, None), "{name} {role:?}");
                assert_ne!(style.add_modifier, Modifier::empty(), "{name} {role:?}");
            }
        }
    }
}

#[test]
fn what_passes_and_what_fails_differ_for_every_eye() {
    // red and green are one colour to some: blue and orange are not, and brightness differs
    let (_, text) = BUNDLED
        .iter()
        .find(|(name, _)| *name == "colour-blind")
        .unwrap();
    for depth in [Depth::Ansi16, Depth::Ansi256, Depth::True] {
        let (theme, _) = read("colour-blind", text, depth);
        for (good, bad) in [
            (Role::Passed, Role::Failed),
            (Role::Add, Role::Del),
            (Role::Resolved, Role::Rejected),
            (Role::GaugeLow, Role::GaugeHigh),
        ] {
            let (good, bad) = (theme.style(good), theme.style(bad));
            assert_ne!(good.fg, bad.fg);
            for style in [good, bad] {
                let named = [ratatui::style::Color::Green, ratatui::style::Color::Red];
                assert!(!named.contains(&style.fg.unwrap()), "{style:?}");
            }
        }
    }
}

#[test]
fn a_role_that_is_left_out_is_that_of_the_same_ground() {
    let text = "[meta]\nname='mine'\nvariant='light'\n[roles]\ntext={fg='#010203'}\n";
    let (theme, problems) = read("mine", text, Depth::True);
    assert_eq!(problems, Vec::<String>::new());
    let (light, _) = read("light", BUNDLED[2].1, Depth::True);
    assert_eq!(theme.style(Role::Failed), light.style(Role::Failed));
    assert_ne!(theme.style(Role::Text), light.style(Role::Text));
}
