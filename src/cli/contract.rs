//! `infradev contract TASK`: every name of the project that its tests and probes use.

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
use crate::python::contract::{Contract, State, Symbol};

/// A name that stands on a line of its own.
const LONG: usize = 60;

#[derive(Serialize, JsonSchema)]
pub struct ContractDocument {
    pub schema: u32,
    pub task: String,
    #[serde(flatten)]
    pub contract: Contract,
}

pub fn run(context: &Context, args: &TaskArgs) -> Result<Exit, Failure> {
    let (task, versions) = sources::open(context, &args.task)?;
    let contract = launch::contract_of(&task, &versions)?;
    if args.json {
        output::document(&ContractDocument {
            schema: 1,
            task: task.id().into(),
            contract,
        })?;
        return Ok(Exit::Yes);
    }
    for (state, head) in [
        (State::New, "new"),
        (State::Changed, "called otherwise than in base"),
        (State::InBase, "in base already"),
    ] {
        let some: Vec<&Symbol> = (contract.symbols.iter())
            .filter(|s| s.state == state)
            .collect();
        if some.is_empty() {
            continue;
        }
        line(&format!("{head}: {}", count(some.len(), "name")));
        for symbol in some {
            show(symbol);
        }
        line("");
    }
    for unparsed in &contract.unparsed {
        paragraph(
            &format!("not read: {}: {}", unparsed.path, unparsed.why),
            "  ",
        );
    }
    Ok(Exit::Yes)
}

fn show(symbol: &Symbol) {
    // a long name leaves no room beside it
    if symbol.name.len() > LONG {
        line(&format!("  {}", output::safe(&symbol.name)));
        paragraph(&format!("      {}", symbol.signature), "      ");
    } else {
        let text = format!("  {}{}", symbol.name, symbol.signature);
        paragraph(&text, "      ");
    }
    let used = |suite| symbol.uses.iter().filter(|u| u.suite == suite).count();
    let mut words = vec![symbol.kind.name().to_owned()];
    for suite in Suite::ALL {
        let n = used(suite);
        if n > 0 {
            words.push(format!("{suite} {n}"));
        }
    }
    if !symbol.keywords.is_empty() {
        words.push(format!("by keyword: {}", symbol.keywords.join(", ")));
    }
    if let Some(first) = symbol.uses.first() {
        words.push(format!("first in {}:{}", first.path, first.line));
    }
    if symbol.uses.iter().all(|u| u.by_name) {
        words.push("told by its name alone".into());
    }
    paragraph(&format!("      {}", words.join("; ")), "      ");
}
