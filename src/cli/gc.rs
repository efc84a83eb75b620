//! `infradev gc`: containers that dead workers left.

use schemars::JsonSchema;
use serde::Serialize;

use super::args::GcArgs;
use super::context::Context;
use super::engine::with_docker;
use super::exit::{Exit, Failure};
use super::output;
use crate::engine::docker::{Docker, DockerUnavailable, Leftover};

/// Only containers with our labels, of this machine, whose worker is surely gone.
#[derive(Serialize, JsonSchema)]
pub struct GcDocument {
    pub schema: u32,
    /// Nothing was removed: `reaped` tells what would be.
    pub dry_run: bool,
    pub reaped: Vec<Reaped>,
    pub failed: Vec<NotReaped>,
    /// Why there was no container engine to look at, and so nothing to reap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_engine: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Reaped {
    pub id: String,
    pub name: String,
    /// The run that it was for.
    pub run: String,
    /// What it did there.
    pub purpose: String,
    /// A run of the home in use, or of another one.
    pub of_this_home: bool,
    /// `running`, `exited` and the like, when it was found.
    pub state: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct NotReaped {
    pub name: String,
    pub reason: String,
}

/// 0: nothing dead is left (or only told, with `--dry-run`); 3: something could not be removed.
pub fn run(context: &Context, args: &GcArgs) -> Result<Exit, Failure> {
    let found = with_docker(context, async |docker| match docker {
        Ok(docker) => reap(&docker, args.dry_run).await,
        // where no engine is, there are no containers
        Err(absent @ DockerUnavailable::Absent { .. }) => Ok(GcDocument {
            schema: 1,
            dry_run: args.dry_run,
            reaped: Vec::new(),
            failed: Vec::new(),
            no_engine: Some(absent.to_string()),
        }),
        Err(unavailable) => Err(unavailable.into()),
    })?;
    if args.json {
        output::document(&found)?;
    } else {
        for line in lines(&found) {
            output::line(&output::safe(&line));
        }
    }
    Ok(if found.failed.is_empty() {
        Exit::Yes
    } else {
        Exit::Machinery
    })
}

async fn reap(docker: &Docker, dry_run: bool) -> Result<GcDocument, Failure> {
    let (mut reaped, mut failed) = (Vec::new(), Vec::new());
    for leftover in docker.leftovers().await? {
        if dry_run {
            reaped.push(leftover.into());
            continue;
        }
        match docker.reap(&leftover).await {
            Ok(true) => reaped.push(leftover.into()),
            // somebody else was faster
            Ok(false) => {}
            Err(error) => failed.push(NotReaped {
                name: leftover.name,
                reason: error.to_string(),
            }),
        }
    }
    Ok(GcDocument {
        schema: 1,
        dry_run,
        reaped,
        failed,
        no_engine: None,
    })
}

impl From<Leftover> for Reaped {
    fn from(leftover: Leftover) -> Self {
        Self {
            id: leftover.id,
            name: leftover.name,
            run: leftover.run,
            purpose: leftover.purpose,
            of_this_home: leftover.of_this_home,
            state: leftover.state,
        }
    }
}

fn lines(found: &GcDocument) -> Vec<String> {
    let done = if found.dry_run {
        "would remove"
    } else {
        "removed"
    };
    let mut lines: Vec<String> = (found.reaped.iter())
        .map(|r| {
            let home = if r.of_this_home {
                ""
            } else {
                ", of another home"
            };
            format!(
                "{done} {} ({}) of run {}{home}: {}",
                r.name, r.state, r.run, r.purpose
            )
        })
        .collect();
    lines.extend((found.failed.iter()).map(|f| format!("not removed: {}: {}", f.name, f.reason)));
    match &found.no_engine {
        Some(why) => lines.push(format!("no container engine: {why}")),
        None if lines.is_empty() => lines.push("nothing is left of dead workers".into()),
        None => {}
    }
    lines
}
