//! `infradev run TASK --agent NAME`: an agent works, and what it leaves is graded.

use super::args::AgentArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::grade::{carry_out, show};
use crate::domain::{Source, Work};
use crate::launch::{AgentWish, agent_launch};

pub fn run(context: &Context, args: AgentArgs) -> Result<Exit, Failure> {
    let task = context.catalog()?.usable(&args.task)?;
    let wish = AgentWish {
        agent: args.agent,
        limit_s: args.limit,
        prompt: args.prompt,
        model: args.model,
        effort: args.effort,
        skill: args.skill,
        network: args.network,
        recording: args.recording,
        rate: args.rate,
    };
    let agent = agent_launch(&context.home()?, &task, &wish)?;
    let running = &args.running;
    // what the agent leaves takes base's place once it is there
    let order = (Source::Base, Work::Grade, Some(agent));
    match carry_out(context, &task, order, Vec::new(), running)? {
        Some(done) => show(&done, running.json),
        None => Ok(Exit::Yes),
    }
}
