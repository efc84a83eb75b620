//! `infradev prompt TASK`: the prompt that an agent is given.

use schemars::JsonSchema;
use serde::Serialize;

use super::args::PromptArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::{output, sources};
use crate::launch;
use crate::python::prompt::draft;

#[derive(Serialize, JsonSchema)]
pub struct PromptDocument {
    pub schema: u32,
    pub task: String,
    /// `draft`: made from the contract, not the task's own.
    pub variant: String,
    pub text: String,
    /// `message only`: of the change's own text just the commit's message is here.
    pub note: Option<String>,
    /// All that the task has.
    pub variants: Vec<String>,
}

pub fn run(context: &Context, args: &PromptArgs) -> Result<Exit, Failure> {
    let task = context.catalog()?.usable(&args.task)?;
    let store = context.home()?.snapshots();
    let (variant, text, note) = if args.draft {
        let (task, versions) = sources::open(context, &args.task)?;
        let text = draft(&task.spec, &launch::contract_of(&task, &versions)?);
        ("draft", text, None)
    } else {
        let prompt = launch::prompt(&task, &args.variant, &context.mirrors(), &store)?;
        (args.variant.as_str(), prompt.text, prompt.note)
    };
    if args.json {
        output::document(&PromptDocument {
            schema: 1,
            task: task.id().into(),
            variant: variant.into(),
            text,
            note: note.map(str::to_owned),
            variants: launch::variants(&task),
        })?;
        return Ok(Exit::Yes);
    }
    if let Some(note) = note {
        output::note(&format!("{variant}: {note}"));
    }
    output::line(&output::safe_lines(&text));
    Ok(Exit::Yes)
}
