//! `infradev audit TASK`: what the tests of a task look at, and what they leave out.

use schemars::JsonSchema;
use serde::Serialize;

use super::args::TaskArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::output::{self, line, safe};
use super::sources::{self, count};
use super::table::{by_file, paragraph, table};
use crate::domain::Suite;
use crate::python::audit::{Audit, AuditInput, Class, Counts, SuiteAudit, audit};

#[derive(Serialize, JsonSchema)]
pub struct AuditDocument {
    pub schema: u32,
    pub task: String,
    #[serde(flatten)]
    pub audit: Audit,
}

pub fn run(context: &Context, args: &TaskArgs) -> Result<Exit, Failure> {
    let (task, versions) = sources::open(context, &args.task)?;
    let audit = audit(&AuditInput {
        spec: &task.spec,
        official: &versions.suite(&task, Suite::Official)?,
        probes: &versions.suite(&task, Suite::Probes)?,
        base_tests: &versions.base_tests(&task)?,
    });
    if args.json {
        output::document(&AuditDocument {
            schema: 1,
            task: task.id().into(),
            audit,
        })?;
    } else {
        show(&audit);
    }
    // a flag is a finding about the suite, no error of the task
    Ok(Exit::Yes)
}

fn show(audit: &Audit) {
    for suite in &audit.suites {
        of_suite(suite);
    }
    let mut rows = vec![head()];
    for suite in &audit.suites {
        rows.push(row(suite.suite.name(), &suite.all));
        if suite.of_the_change != suite.all {
            rows.push(row("  of the change", &suite.of_the_change));
        }
    }
    table("", &rows);
    line("");
    for suite in &audit.suites {
        if !suite.without.is_empty() {
            let names = suite.without.join(", ");
            let n = count(suite.without.len(), "test");
            paragraph(
                &format!("{}: {n} without an assertion: {names}", suite.suite),
                "  ",
            );
        }
    }
    for saving in &audit.savings {
        let by = match (&saving.unmeasured, saving.measured_by.len()) {
            (Some(why), _) => format!("unmeasured: {why}"),
            (None, 0) => "measured by no assertion of its probes".into(),
            (None, _) => format!("measured at {}", saving.measured_by.join(", ")),
        };
        paragraph(&format!("saving {}: {by}", saving.claim), "  ");
    }
    if audit.flags.is_empty() {
        line("no flag");
    }
    for flag in &audit.flags {
        let text = format!("flag: {}: {} ({})", flag.suite, flag.flag.words(), flag.why);
        paragraph(&text, "  ");
    }
}

fn of_suite(suite: &SuiteAudit) {
    line(&format!("{} suite", suite.suite));
    by_file(suite.assertions.iter().map(|a| {
        let a = &a.assertion;
        let also: Vec<&str> = a.also.iter().map(|c| c.name()).collect();
        let why = if also.is_empty() {
            a.why.clone()
        } else {
            format!("{}; also {}", a.why, also.join(", "))
        };
        let cells = vec![a.line.to_string(), a.class.name().into(), why];
        (a.path.as_str(), cells)
    }));
    for unparsed in &suite.unparsed {
        let text = format!("not read: {}: {}", unparsed.path, unparsed.why);
        line(&format!("  {}", safe(&text)));
    }
    line("");
}

fn head() -> Vec<String> {
    let mut cells = vec![String::new(), "tests".into(), "assertions".into()];
    cells.extend(Class::ALL.map(|c| c.name().to_owned()));
    cells
}

fn row(name: &str, counts: &Counts) -> Vec<String> {
    let mut cells = vec![
        name.to_owned(),
        counts.tests.to_string(),
        counts.assertions.to_string(),
    ];
    cells.extend(Class::ALL.map(|c| counts.of(c).to_string()));
    cells
}
