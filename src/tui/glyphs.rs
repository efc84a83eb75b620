//! The figures and lines that a screen is made of, in two sets.

/// The figures and lines that a screen is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    pub unicode: bool,
    pub ellipsis: &'static str,
    pub open: &'static str,
    pub closed: &'static str,
    pub cursor: &'static str,
    pub dot: &'static str,
    pub dash: &'static str,
    pub rule: &'static str,
    pub bar: [&'static str; 9],
    pub spark: [&'static str; 8],
    pub full: &'static str,
    pub rest: &'static str,
    pub gap: &'static str,
    pub split: &'static str,
    pub waiting: &'static str,
    pub running: &'static str,
    pub stopped: &'static str,
}

pub const UNICODE: Glyphs = Glyphs {
    unicode: true,
    ellipsis: "…",
    open: "▾",
    closed: "▸",
    cursor: "▸",
    dot: "·",
    dash: "–",
    rule: "─",
    bar: [" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
    spark: ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
    full: "█",
    rest: "░",
    gap: "┆",
    split: "│",
    waiting: "·",
    running: "◐",
    stopped: "⊘",
};

pub const ASCII: Glyphs = Glyphs {
    unicode: false,
    ellipsis: ">",
    open: "-",
    closed: "+",
    cursor: ">",
    dot: "-",
    dash: "-",
    rule: "-",
    bar: [" ", " ", " ", "-", "-", "=", "=", "#", "#"],
    spark: ["_", "_", ".", ".", "-", "=", "*", "#"],
    full: "#",
    rest: ".",
    gap: ":",
    split: "|",
    waiting: ".",
    running: "*",
    stopped: "/",
};
