//! What a stream tells of the session as a whole, beside its entries.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::Usage;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The program, where the format is of none.
    pub agent: Option<String>,
    pub model: Option<String>,
    /// Version of the program that wrote it.
    pub version: Option<String>,
    /// `None`: no end was told.
    pub end: Option<End>,
    /// The log stops inside a line or document.
    pub cut: bool,
    /// Lines that are no JSON object where they should be, a cut last one among them.
    pub unparsed_lines: u64,
    /// Where the stream tells a running total of the cost instead of a difference.
    pub(super) cost_so_far: f64,
    /// The same of tokens and cost (OpenHands).
    pub(super) counted: Count,
}

/// Tokens and cost up to one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    pub usage: Usage,
    pub cost_usd: Option<f64>,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The agent said that it was done. A plain text tells no end and counts as this.
    Completed,
    /// It gave up: an error of the service, a limit.
    Error,
    /// It was stopped, or was killed before it told an end.
    Interrupted,
    /// The log itself stops inside a line.
    Truncated,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::Facts;
    use crate::agent::trace::read;
    use crate::domain::submission::LogFormat;

    fn facts(log: &str, format: LogFormat) -> Facts {
        read(log.as_bytes(), format, &mut |_, _| {}).unwrap()
    }

    #[test]
    fn the_model_and_the_version_are_as_the_log_names_them() {
        let named = |facts: &Facts| (facts.model.clone(), facts.version.clone());
        let both = |model: &str, version: &str| (Some(model.to_owned()), Some(version.to_owned()));
        let claude = r#"{"type":"system","subtype":"init","model":"m-2025","claude_code_version":"2.1.332"}"#;
        assert_eq!(
            named(&facts(claude, LogFormat::Claude)),
            both("m-2025", "2.1.332")
        );
        let mini = r#"{"info":{"mini_version":"2.4.6","config":{"model":{"model_name":"m"}}},"messages":[]}"#;
        assert_eq!(named(&facts(mini, LogFormat::Mini)), both("m", "2.4.6"));
        let codex = r#"{"type":"thread.started","thread_id":"t"}"#;
        assert_eq!(named(&facts(codex, LogFormat::Codex)), (None, None));
    }
}
