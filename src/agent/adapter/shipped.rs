//! The adapters that are part of the program (`assets/agents`).

/// File name and text.
pub(super) const FILES: &[(&str, &str)] = &[
    (
        "claude-code.toml",
        include_str!("../../../assets/agents/claude-code.toml"),
    ),
    (
        "codex.toml",
        include_str!("../../../assets/agents/codex.toml"),
    ),
    (
        "mini-swe-agent.lock",
        include_str!("../../../assets/agents/mini-swe-agent.lock"),
    ),
    (
        "mini-swe-agent.toml",
        include_str!("../../../assets/agents/mini-swe-agent.toml"),
    ),
    (
        "opencode.toml",
        include_str!("../../../assets/agents/opencode.toml"),
    ),
    (
        "replay.toml",
        include_str!("../../../assets/agents/replay.toml"),
    ),
    (
        "shell.toml",
        include_str!("../../../assets/agents/shell.toml"),
    ),
];

/// For messages.
pub(super) const FOLDER: &str = "assets/agents";

pub(super) fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|f| f.1)
}
