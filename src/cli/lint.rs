//! `infradev lint TASK`: what is wrong with a task's prompt.

use schemars::JsonSchema;
use serde::Serialize;

use super::args::TaskArgs;
use super::context::Context;
use super::contract;
use super::exit::{Exit, Failure};
use super::output::{self, line};
use super::sources::{self, count};
use super::table::paragraph;
use crate::domain::Suite;
use crate::launch;
use crate::python::prompt::{Finding, LintInput, lint};

#[derive(Serialize, JsonSchema)]
pub struct LintDocument {
    pub schema: u32,
    pub task: String,
    /// Nothing was found.
    pub ok: bool,
    pub findings: Vec<Finding>,
}

pub fn run(context: &Context, args: &TaskArgs) -> Result<Exit, Failure> {
    let (task, versions) = sources::open(context, &args.task)?;
    let prompt = launch::prompt(&task, launch::FULL, &context.mirrors())?;
    let findings = lint(&LintInput {
        spec: &task.spec,
        prompt: &prompt.text,
        contract: &contract::of(&task, &versions)?,
        base: &versions.base()?,
        gold: &versions.gold()?,
        official: &versions.suite(&task, Suite::Official)?,
        probes: &versions.suite(&task, Suite::Probes)?,
        base_tests: &versions.base_tests(&task)?,
    });
    let ok = findings.is_empty();
    if args.json {
        output::document(&LintDocument {
            schema: 1,
            task: task.id().into(),
            ok,
            findings,
        })?;
    } else {
        for finding in &findings {
            show(finding);
        }
        let end = if ok {
            "nothing found".into()
        } else {
            count(findings.len(), "finding")
        };
        line(&format!("{}: {end}", output::safe(task.id())));
    }
    Ok(if ok { Exit::Yes } else { Exit::No })
}

fn show(finding: &Finding) {
    let place = match finding.line {
        Some(line) => format!("prompt.md:{line}"),
        None => "prompt.md".into(),
    };
    let source = match &finding.source {
        Some(source) => format!(" ({source})"),
        None => String::new(),
    };
    let kind = finding.kind.words();
    paragraph(
        &format!("{place}: {kind}: {}{source}", finding.message),
        "    ",
    );
    paragraph(&format!("    mend: {}", finding.mend), "    ");
}
