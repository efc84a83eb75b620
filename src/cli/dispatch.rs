//! From arguments to a subcommand, and from its answer to an exit code.

use std::process::ExitCode;

use clap::Parser;

use super::args::{Cli, Command};
use super::context::Context;
use super::exit::{Exit, Failure};
use super::{
    agents, attach, audit, calibrate, cancel, check, clear, contract, coverage, doctor, env, gc,
    gpu, grade, hollow, image, lint, mutants, output, prompt, resume, run_agent, runs, schema,
    score, shell, tasks, trace, verify, workbench, worker,
};

/// The whole program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            return if e.use_stderr() {
                Exit::Input.into()
            } else {
                Exit::Yes.into()
            };
        }
    };
    match run(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::note(&format!(
                "infradev: {}",
                output::safe_lines(&failure.message)
            ));
            failure.exit.into()
        }
    }
}

fn run(cli: Cli) -> Result<Exit, Failure> {
    let context = Context::new(&cli);
    match cli.command {
        None => workbench::run(&context, cli.workbench),
        Some(Command::Tasks(args)) => tasks::run(&context, args.json),
        Some(Command::Check(args)) => check::run(&context, &args),
        Some(Command::Hollow(args)) => hollow::run(&context, &args),
        Some(Command::Audit(args)) => audit::run(&context, &args),
        Some(Command::Contract(args)) => contract::run(&context, &args),
        Some(Command::Prompt(args)) => prompt::run(&context, &args),
        Some(Command::Lint(args)) => lint::run(&context, &args),
        Some(Command::Mutants(args)) => mutants::run(&context, &args),
        Some(Command::Grade(args)) => grade::run(&context, args),
        Some(Command::Run(args)) => run_agent::run(&context, args),
        Some(Command::Agents(args)) => agents::run(&context, args.json),
        Some(Command::Calibrate(args)) => calibrate::run(&context, &args),
        Some(Command::Verify(args)) => verify::run(&context, &args),
        Some(Command::Coverage(args)) => coverage::run(&context, &args),
        Some(Command::Runs(args)) => runs::run(&context, args.json),
        Some(Command::Attach(args)) => attach::run(&context, &args),
        Some(Command::Cancel(args)) => cancel::run(&context, &args),
        Some(Command::Shell(args)) => shell::run(&context, &args),
        Some(Command::ServeShell) => shell::serve(&context),
        Some(Command::Clear(args)) => clear::run(&context, args),
        Some(Command::Resume(args)) => resume::run(&context, &args),
        Some(Command::Doctor(args)) => doctor::run(&context, args.json),
        Some(Command::Gpu(args)) => gpu::run(&context, &args),
        Some(Command::Env(command)) => env::run(&context, &command),
        Some(Command::Image(command)) => image::run(&context, command),
        Some(Command::Gc(args)) => gc::run(&context, &args),
        Some(Command::Score(args)) => score::run(&context, &args),
        Some(Command::Trace(args)) => trace::run(&args),
        Some(Command::Worker { run_dir }) => worker::run(&context, &run_dir),
        Some(Command::Schema { dir }) => schema::run(&dir),
    }
}
