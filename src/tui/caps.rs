//! What the terminal can show: colour depth and whether it speaks UTF-8.

/// How many colours may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// None at all: modifiers (bold, reversed, …) carry everything.
    None,
    #[default]
    Ansi16,
    Ansi256,
    True,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    pub depth: Depth,
    pub unicode: bool,
    /// The mouse may be taken without being asked for: not from a multiplexer, which has uses for
    /// it, nor over a network.
    pub mouse: bool,
    pub tmux: bool,
}

impl Caps {
    /// Reads the usual variables through `var`.
    pub fn detect(var: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| var(name).filter(|value| !value.is_empty());
        let term = get("TERM").unwrap_or_default();
        let colours = get("COLORTERM").unwrap_or_default();
        let depth = if get("NO_COLOR").is_some() || term == "dumb" {
            Depth::None
        } else if colours == "truecolor" || colours == "24bit" {
            // inside tmux the variable may be the outer terminal's: 256 colours are safe there
            if get("TMUX").is_some() {
                Depth::Ansi256
            } else {
                Depth::True
            }
        } else if term.ends_with("-256color") || term.ends_with("-direct") {
            Depth::Ansi256
        } else {
            Depth::Ansi16
        };
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(get)
            .unwrap_or_default()
            .to_ascii_lowercase();
        // no locale at all is the rule in containers, where the terminal outside speaks UTF-8
        let unicode = locale.is_empty() || locale.contains("utf-8") || locale.contains("utf8");
        let far = ["SSH_CONNECTION", "SSH_TTY", "TMUX", "STY"];
        Self {
            depth,
            unicode,
            mouse: term != "dumb" && far.into_iter().all(|name| get(name).is_none()),
            tmux: get("TMUX").is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(vars: &[(&str, &str)]) -> Caps {
        Caps::detect(|name| {
            vars.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_string())
        })
    }

    #[test]
    fn depth_follows_the_variables() {
        let truecolor = ("COLORTERM", "truecolor");
        let term = ("TERM", "xterm-256color");
        assert_eq!(caps(&[truecolor, term]).depth, Depth::True);
        assert_eq!(caps(&[truecolor, ("TMUX", "/x")]).depth, Depth::Ansi256);
        assert_eq!(caps(&[term]).depth, Depth::Ansi256);
        assert_eq!(caps(&[("TERM", "linux")]).depth, Depth::Ansi16);
        assert_eq!(
            caps(&[truecolor, term, ("NO_COLOR", "1")]).depth,
            Depth::None
        );
        // an empty NO_COLOR means nothing
        assert_eq!(caps(&[truecolor, ("NO_COLOR", "")]).depth, Depth::True);
    }

    #[test]
    fn the_mouse_is_not_taken_from_a_multiplexer_or_over_a_network() {
        assert!(caps(&[("TERM", "xterm")]).mouse);
        for name in ["TMUX", "STY", "SSH_TTY", "SSH_CONNECTION"] {
            assert!(!caps(&[("TERM", "xterm"), (name, "x")]).mouse, "{name}");
        }
    }

    #[test]
    fn a_latin_locale_gets_ascii() {
        assert!(caps(&[("LANG", "en_GB.UTF-8")]).unicode);
        assert!(!caps(&[("LANG", "en_GB.ISO-8859-1")]).unicode);
        assert!(caps(&[]).unicode);
    }
}
