//! `infradev lint TASK`: what is wrong with a task's prompt.

use schemars::JsonSchema;
use serde::Serialize;

use super::args::TaskArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::output::{self, line};
use super::sources::{self, count};
use super::table::paragraph;
use crate::domain::Suite;
use crate::launch;
use crate::python::prompt::{Finding, LintInput, Variant, lint, lint_leaks};

#[derive(Serialize, JsonSchema)]
pub struct LintDocument {
    pub schema: u32,
    pub task: String,
    /// Nothing was found.
    pub ok: bool,
    pub findings: Vec<VariantFinding>,
}

#[derive(Serialize, JsonSchema)]
pub struct VariantFinding {
    /// `full`: the task's prompt.md. Of those that are rendered, only what they give away is told.
    pub variant: Variant,
    #[serde(flatten)]
    pub finding: Finding,
}

/// What contract and claims are rendered into.
const RENDERED: [Variant; 3] = [Variant::Interface, Variant::Behaviour, Variant::Process];

pub fn run(context: &Context, args: &TaskArgs) -> Result<Exit, Failure> {
    let (task, versions) = sources::open(context, &args.task)?;
    let store = context.home()?.snapshots();
    let text = |variant: Variant| {
        launch::prompt(&task, variant.name(), &context.mirrors(), &store).map(|p| p.text)
    };
    let full = text(Variant::Full)?;
    let input = LintInput {
        spec: &task.spec,
        prompt: &full,
        contract: &launch::contract_of(&task, &versions)?,
        base: &versions.base()?,
        gold: &versions.gold()?,
        official: &versions.suite(&task, Suite::Official)?,
        probes: &versions.suite(&task, Suite::Probes)?,
        base_tests: &versions.base_tests(&task)?,
    };
    let of = |variant| move |finding| VariantFinding { variant, finding };
    let mut findings: Vec<VariantFinding> =
        lint(&input).into_iter().map(of(Variant::Full)).collect();
    let there = launch::variants(&task);
    for variant in RENDERED {
        if there.iter().any(|v| v == variant.name()) {
            let prompt = &text(variant)?;
            let found = lint_leaks(&LintInput { prompt, ..input });
            findings.extend(found.into_iter().map(of(variant)));
        }
    }
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

fn show(VariantFinding { variant, finding }: &VariantFinding) {
    let text = match variant {
        Variant::Full => "prompt.md".to_owned(),
        rendered => format!("variant {rendered}"),
    };
    let place = match finding.line {
        Some(line) => format!("{text}:{line}"),
        None => text,
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
