//! `infradev agents`: which agents can be run here, and what they need.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::exit::{Exit, Failure};
use super::output;
use crate::agent::adapter::{Adapters, Passed};
use crate::domain::NetworkMode;
use crate::domain::submission::LogFormat;

#[derive(Serialize, JsonSchema)]
pub struct AgentsDocument {
    pub schema: u32,
    pub agents: Vec<AgentLine>,
}

#[derive(Serialize, JsonSchema)]
pub struct AgentLine {
    pub name: String,
    pub version: Option<String>,
    pub summary: String,
    /// Absent: its file cannot be used.
    pub format: Option<LogFormat>,
    pub network: NetworkMode,
    pub hosts: Vec<String>,
    /// What must be done before it can be run; absent: nothing.
    pub needs: Option<String>,
    /// The file that describes it; absent: it comes with infradev.
    pub file: Option<std::path::PathBuf>,
}

impl AgentLine {
    fn broken(name: String, problem: String) -> Self {
        Self {
            name,
            version: None,
            summary: String::new(),
            format: None,
            network: NetworkMode::None,
            hosts: Vec::new(),
            needs: Some(problem),
            file: None,
        }
    }
}

pub fn run(context: &Context, json: bool) -> Result<Exit, Failure> {
    let folder = context.home_path().join("agents");
    let mut agents = Vec::new();
    for listed in Adapters::new(folder).list()? {
        let problems: Vec<String> = listed.problems.iter().map(ToString::to_string).collect();
        let Some(adapter) = listed.adapter else {
            agents.push(AgentLine::broken(listed.name, problems.join("; ")));
            continue;
        };
        let passed = Passed::resolve(&adapter.spec, |name| std::env::var_os(name));
        agents.push(AgentLine {
            needs: passed.err().map(|e| e.to_string()),
            file: (!adapter.shipped).then_some(adapter.file),
            name: adapter.spec.name,
            version: adapter.spec.version,
            summary: adapter.spec.summary,
            format: Some(adapter.spec.format),
            network: adapter.spec.network.mode,
            hosts: adapter.spec.network.hosts,
        });
    }
    if json {
        output::document(&AgentsDocument { schema: 1, agents })?;
        return Ok(Exit::Yes);
    }
    for agent in &agents {
        let version = agent.version.as_deref().unwrap_or("");
        let words = format!(
            "{:<16} {version:<10} network {:<10} {}",
            agent.name,
            agent.network.name(),
            agent.needs.as_deref().unwrap_or(&agent.summary)
        );
        output::line(&output::safe(&words));
    }
    Ok(Exit::Yes)
}
