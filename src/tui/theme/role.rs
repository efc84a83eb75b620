//! What a piece of the screen means.

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
