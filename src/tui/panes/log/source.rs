//! Which logs there are, and what they are called.

use crate::domain::submission::LogFormat;
use crate::domain::{Subject, Suite};
use crate::tui::backend::LogKey;

/// One of the logs that the pane can show.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LogSource {
    Agent(LogKey, LogFormat),
    /// What an earlier agent of the same run wrote, or an earlier run of the same.
    Earlier(LogKey, LogFormat),
    /// The worker's own words about its stages.
    Stages,
    Output(LogKey),
}

impl LogSource {
    pub fn key(&self) -> Option<&LogKey> {
        match self {
            LogSource::Agent(key, _) | LogSource::Earlier(key, _) | LogSource::Output(key) => {
                Some(key)
            }
            LogSource::Stages => None,
        }
    }

    pub fn format(&self) -> LogFormat {
        match self {
            LogSource::Agent(_, format) | LogSource::Earlier(_, format) => *format,
            _ => LogFormat::Text,
        }
    }

    /// A session: read from its beginning, where nobody writes to it any more.
    pub fn recorded(&self) -> bool {
        matches!(self, LogSource::Agent(..) | LogSource::Earlier(..))
    }

    /// What programs wrote to their standard error alone.
    pub fn is_stderr(&self) -> bool {
        matches!(self.key(), Some(LogKey::Beside { name, .. }) if name.starts_with("stderr"))
    }

    /// As the title and the hints name it.
    pub fn label(&self) -> String {
        match self {
            LogSource::Agent(_, format) => format!("agent ({})", format_name(*format)),
            LogSource::Earlier(LogKey::Attempt { attempt, .. }, format) => {
                format!("agent ({}), attempt {attempt}", format_name(*format))
            }
            LogSource::Earlier(key, _) => format!("earlier {}", written_by(key)),
            LogSource::Stages => "stages".into(),
            LogSource::Output(key) => written_by(key),
        }
    }
}

/// What wrote a log.
fn written_by(key: &LogKey) -> String {
    match key {
        LogKey::Output {
            subject,
            suite,
            rank,
            ..
        } => {
            let who = match subject {
                Subject::Gold => "gold ",
                Subject::Submission => "",
            };
            let what = match suite {
                Suite::Official => "official",
                Suite::Probes => "probes",
            };
            format!("{who}{what} output, rank {rank}")
        }
        LogKey::Beside { name, .. } => format!("agent's {name}"),
        _ => "agent".into(),
    }
}

pub fn format_name(format: LogFormat) -> &'static str {
    match format {
        LogFormat::Codex => "codex",
        LogFormat::Claude => "claude",
        LogFormat::Opencode => "opencode",
        LogFormat::Mini => "mini",
        LogFormat::SweAgent => "sweagent",
        LogFormat::Openhands => "openhands",
        LogFormat::Atif => "atif",
        LogFormat::Text => "text",
    }
}
