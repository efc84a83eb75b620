//! Themes: a style for each role, from `themes/*.toml`.
//!
//! A role gives colours for a depth of 24 bits and, where it wants, for 256 and 16 colours; what
//! is missing is derived. The default theme uses the terminal's own palette only, so that it
//! reads on light and dark grounds alike. Without colours the modifiers carry the meaning.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

use super::caps::Depth;

macro_rules! roles {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// What a piece of the screen means; the theme says how it looks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Role { $($variant),+ }

        impl Role {
            pub const ALL: &'static [Role] = &[$(Role::$variant),+];

            /// As theme files name it.
            pub fn name(self) -> &'static str {
                match self { $(Role::$variant => $name),+ }
            }
        }
    };
}

roles! {
    Text = "text",
    Dim = "dim",
    Strong = "strong",
    Accent = "accent",
    Border = "border",
    BorderFocus = "border.focus",
    Title = "title",
    Selection = "selection",
    SelectionIdle = "selection.idle",
    Key = "key",
    Hidden = "hidden",
    Match = "match",
    Notice = "notice",
    Passed = "status.pass",
    Failed = "status.fail",
    Error = "status.error",
    Skipped = "status.skip",
    Running = "status.running",
    Resolved = "verdict.resolved",
    OfficialOnly = "verdict.official_only",
    Rejected = "verdict.failed",
    Void = "verdict.void",
    Fault = "verdict.fault",
    Badge = "badge",
    Info = "level.info",
    Warn = "level.warn",
    Bad = "level.error",
    Add = "diff.add",
    Del = "diff.del",
    AddEmph = "diff.add.emph",
    DelEmph = "diff.del.emph",
    Hunk = "diff.hunk",
    LineNo = "diff.number",
    GaugeLow = "gauge.low",
    GaugeMid = "gauge.mid",
    GaugeHigh = "gauge.high",
    GaugeRest = "gauge.rest",
    Keyword = "syntax.keyword",
    Str = "syntax.string",
    Number = "syntax.number",
    Comment = "syntax.comment",
    Function = "syntax.function",
    Type = "syntax.type",
    Constant = "syntax.constant",
    Operator = "syntax.operator",
}

/// A theme that cannot be read, with the place and the mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("theme {name}: {message}")]
pub struct ThemeError {
    pub name: String,
    pub message: String,
}

/// The bundled themes, by name.
pub const BUNDLED: [(&str, &str); 3] = [
    ("default", include_str!("../../themes/default.toml")),
    ("dark", include_str!("../../themes/dark.toml")),
    ("light", include_str!("../../themes/light.toml")),
];

#[derive(Clone, Debug)]
pub struct Theme {
    pub name: String,
    styles: Vec<Style>,
}

impl Theme {
    /// A bundled theme at a colour depth.
    pub fn bundled(name: &str, depth: Depth) -> Result<Self, ThemeError> {
        match BUNDLED.iter().find(|(n, _)| *n == name) {
            Some((_, text)) => Self::parse(name, text, depth),
            None => Err(ThemeError {
                name: name.into(),
                message: format!(
                    "not known; there are {}",
                    BUNDLED.map(|(n, _)| n).join(", ")
                ),
            }),
        }
    }

    pub fn parse(name: &str, text: &str, depth: Depth) -> Result<Self, ThemeError> {
        let fail = |message: String| ThemeError {
            name: name.into(),
            message,
        };
        let file: ThemeFile = toml::from_str(text).map_err(|e| fail(e.to_string()))?;
        if let Some(odd) = file
            .roles
            .keys()
            .find(|key| !Role::ALL.iter().any(|role| role.name() == key.as_str()))
        {
            return Err(fail(format!("[roles] has no role `{odd}`")));
        }
        let mut styles = Vec::with_capacity(Role::ALL.len());
        for role in Role::ALL {
            let style = match file.roles.get(role.name()) {
                Some(spec) => spec
                    .style(depth)
                    .map_err(|e| fail(format!("role `{}`: {e}", role.name())))?,
                None => Style::default(),
            };
            styles.push(style);
        }
        Ok(Self {
            name: file.meta.name,
            styles,
        })
    }

    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThemeFile {
    meta: Meta,
    roles: BTreeMap<String, RoleSpec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta {
    name: String,
    #[serde(rename = "variant")]
    _variant: Variant,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Variant {
    Dark,
    Light,
    Any,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RoleSpec {
    fg: Option<ColorSpec>,
    bg: Option<ColorSpec>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    reversed: bool,
    /// Modifiers that apply only where there are no colours.
    mono: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ColorSpec {
    Plain(String),
    ByDepth {
        truecolor: String,
        #[serde(default)]
        ansi256: Option<u8>,
        #[serde(default)]
        ansi16: Option<String>,
    },
}

impl RoleSpec {
    fn style(&self, depth: Depth) -> Result<Style, String> {
        let mut style = Style::default();
        if depth > Depth::None {
            if let Some(fg) = &self.fg {
                style = style.fg(fg.colour(depth)?);
            }
            if let Some(bg) = &self.bg {
                style = style.bg(bg.colour(depth)?);
            }
        }
        let mut modifier = Modifier::empty();
        for (on, one) in [
            (self.bold, Modifier::BOLD),
            (self.dim, Modifier::DIM),
            (self.italic, Modifier::ITALIC),
            (self.underline, Modifier::UNDERLINED),
            (self.reversed, Modifier::REVERSED),
        ] {
            if on {
                modifier |= one;
            }
        }
        if let Some(mono) = &self.mono {
            let extra = match mono.as_str() {
                "bold" => Modifier::BOLD,
                "dim" => Modifier::DIM,
                "underline" => Modifier::UNDERLINED,
                "reversed" => Modifier::REVERSED,
                other => return Err(format!("mono = `{other}` is no modifier")),
            };
            if depth == Depth::None {
                modifier |= extra;
            }
        }
        Ok(style.add_modifier(modifier))
    }
}

impl ColorSpec {
    fn colour(&self, depth: Depth) -> Result<Color, String> {
        let (full, wide, small) = match self {
            ColorSpec::Plain(full) => (full, None, None),
            ColorSpec::ByDepth {
                truecolor,
                ansi256,
                ansi16,
            } => (truecolor, *ansi256, ansi16.as_deref()),
        };
        let exact = parse(full)?;
        Ok(match (depth, exact) {
            (Depth::Ansi256, Color::Rgb(r, g, b)) => {
                Color::Indexed(wide.unwrap_or_else(|| nearest_256(r, g, b)))
            }
            (Depth::Ansi16 | Depth::None, Color::Rgb(r, g, b)) => match small {
                Some(name) => parse(name)?,
                None => nearest_16(r, g, b),
            },
            (_, other) => other,
        })
    }
}

fn parse(text: &str) -> Result<Color, String> {
    if text == "default" {
        return Ok(Color::Reset);
    }
    text.parse::<Color>()
        .map_err(|_| format!("`{text}` is no colour: a name of the palette, or #rrggbb"))
}

/// Nearest of the 6x6x6 cube and the grey ramp.
fn nearest_256(r: u8, g: u8, b: u8) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let step = |v: u8| {
        (0..6_u8)
            .min_by_key(|i| STEPS[usize::from(*i)].abs_diff(v))
            .unwrap_or(0)
    };
    let (cr, cg, cb) = (step(r), step(g), step(b));
    let cube = [cr, cg, cb].map(|i| STEPS[usize::from(i)]);
    let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let grey_step = (mean.saturating_sub(8) / 10).min(23) as u8;
    let grey = 8 + grey_step * 10;
    if distance([r, g, b], [grey; 3]) < distance([r, g, b], cube) {
        232 + grey_step
    } else {
        16 + 36 * cr + 6 * cg + cb
    }
}

fn nearest_16(r: u8, g: u8, b: u8) -> Color {
    const TABLE: [([u8; 3], Color); 16] = [
        ([0, 0, 0], Color::Black),
        ([205, 0, 0], Color::Red),
        ([0, 205, 0], Color::Green),
        ([205, 205, 0], Color::Yellow),
        ([0, 0, 238], Color::Blue),
        ([205, 0, 205], Color::Magenta),
        ([0, 205, 205], Color::Cyan),
        ([229, 229, 229], Color::Gray),
        ([127, 127, 127], Color::DarkGray),
        ([255, 0, 0], Color::LightRed),
        ([0, 255, 0], Color::LightGreen),
        ([255, 255, 0], Color::LightYellow),
        ([92, 92, 255], Color::LightBlue),
        ([255, 0, 255], Color::LightMagenta),
        ([0, 255, 255], Color::LightCyan),
        ([255, 255, 255], Color::White),
    ];
    TABLE
        .iter()
        .min_by_key(|(rgb, _)| distance([r, g, b], *rgb))
        .map_or(Color::Reset, |(_, colour)| *colour)
}

fn distance(a: [u8; 3], b: [u8; 3]) -> u32 {
    a.iter()
        .zip(b)
        .map(|(x, y)| u32::from(x.abs_diff(y)).pow(2))
        .sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_bundled_theme_has_every_role_at_every_depth() {
        for (name, text) in BUNDLED {
            for depth in [Depth::None, Depth::Ansi16, Depth::Ansi256, Depth::True] {
                let theme = Theme::parse(name, text, depth).unwrap();
                assert_eq!(theme.name, name);
            }
            let file: ThemeFile = toml::from_str(text).unwrap();
            for role in Role::ALL {
                assert!(
                    file.roles.contains_key(role.name()),
                    "{name}: {}",
                    role.name()
                );
            }
        }
    }

    #[test]
    fn without_colours_selection_and_failures_still_stand_out() {
        for (name, _) in BUNDLED {
            let theme = Theme::bundled(name, Depth::None).unwrap();
            for role in [Role::Selection, Role::BorderFocus, Role::Failed] {
                let style = theme.style(role);
                assert_eq!((style.fg, style.bg), (None, None));
                assert_ne!(style.add_modifier, Modifier::empty(), "{name} {role:?}");
            }
        }
    }

    #[test]
    fn colours_come_down_to_what_the_terminal_has() {
        assert_eq!(nearest_256(255, 0, 0), 196);
        assert_eq!(nearest_256(128, 128, 128), 244);
        assert_eq!(nearest_16(250, 10, 10), Color::LightRed);
    }

    #[test]
    fn errors_name_the_place() {
        let text = "[meta]\nname='x'\nvariant='any'\n[roles]\n'borders'={fg='red'}\n";
        let error = Theme::parse("x", text, Depth::True).unwrap_err();
        assert_eq!(error.to_string(), "theme x: [roles] has no role `borders`");
        let text = "[meta]\nname='x'\nvariant='any'\n[roles]\n'border'={fg='rod'}\n";
        let error = Theme::parse("x", text, Depth::True).unwrap_err();
        assert!(error.message.contains("`rod` is no colour"), "{error}");
    }
}
