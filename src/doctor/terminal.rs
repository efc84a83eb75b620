//! The terminal that the workbench would draw on.

use super::document::Check;
use super::examine::Examination;

pub(super) fn check(examination: &Examination<'_>) -> Check {
    const NAME: &str = "terminal";
    let term = examination
        .variable("TERM")
        .unwrap_or_else(|| "unset".into());
    let full = examination
        .variable("COLORTERM")
        .is_some_and(|value| value == "truecolor" || value == "24bit");
    let tmux = examination.variable("TMUX").is_some();
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| examination.variable(name))
        .is_some_and(|value| {
            let value = value.to_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        });
    let colours = if examination.variable("NO_COLOR").is_some() {
        "colours off (NO_COLOR)"
    } else if full || term.ends_with("-direct") {
        "24-bit colours"
    } else if term.contains("256color") {
        "256 colours"
    } else {
        "16 colours"
    };
    let multiplexer = if tmux { ", inside tmux" } else { "" };
    let letters = if utf8 { "UTF-8" } else { "no UTF-8" };
    let found = format!("{term}{multiplexer}, {colours}, {letters}");
    if term == "unset" || term == "dumb" {
        return Check::warn(
            NAME,
            found,
            "the workbench needs a terminal (every subcommand works without): set TERM, for \
             example to xterm-256color",
        );
    }
    if !utf8 {
        return Check::warn(
            NAME,
            found,
            "set LANG to a UTF-8 locale, for example C.UTF-8",
        );
    }
    if tmux && colours == "256 colours" {
        return Check::warn(
            NAME,
            found,
            "for 24-bit colours: set -ga terminal-features ',*:RGB' in tmux.conf",
        );
    }
    Check::ok(NAME, found)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Status;
    use super::*;

    #[test]
    fn what_terminals_say_of_themselves() {
        let of = |pairs: &[(&str, &str)]| {
            let mut examination = Examination::new(Path::new("/"));
            examination.env = pairs
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect();
            check(&examination)
        };
        let plain = of(&[("TERM", "xterm-256color"), ("LANG", "C.UTF-8")]);
        assert_eq!(plain.status, Status::Ok);
        assert_eq!(plain.found, "xterm-256color, 256 colours, UTF-8");
        let full = of(&[
            ("TERM", "xterm"),
            ("COLORTERM", "truecolor"),
            ("LANG", "en_US.utf8"),
        ]);
        assert_eq!(
            (full.status, full.found.as_str()),
            (Status::Ok, "xterm, 24-bit colours, UTF-8")
        );
        let tmux = of(&[
            ("TERM", "screen-256color"),
            ("TMUX", "/x"),
            ("LANG", "C.UTF-8"),
        ]);
        assert!(tmux.mend.is_some_and(|mend| mend.contains("RGB")));
        // LC_ALL wins over LANG
        let letters = of(&[("TERM", "xterm"), ("LC_ALL", "C"), ("LANG", "C.UTF-8")]);
        assert_eq!(letters.status, Status::Warn);
        assert_eq!(of(&[]).status, Status::Warn);
    }
}
