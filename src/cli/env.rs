//! `infradev env`: the shared environments of the home.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use super::args::{EnvCheckArgs, EnvCommand, EnvGcArgs};
use super::context::Context;
use super::env_words as words;
use super::exit::{Exit, Failure};
use super::follow::on_interrupt;
use super::output;
use crate::domain::task::EnvironmentKind;
use crate::domain::{EngineChoice, Task};
use crate::environment::keep::{self, Collect, Wanted};
use crate::environment::{EnvironmentError, Request, prepare};
use crate::pipeline::builder;

/// `infradev env build`.
#[derive(Serialize, JsonSchema)]
pub struct EnvironmentsBuilt {
    pub schema: u32,
    pub ok: bool,
    pub tasks: Vec<BuiltEnvironment>,
}

#[derive(Serialize, JsonSchema)]
pub struct BuiltEnvironment {
    pub task: String,
    pub kind: EnvironmentKind,
    /// Absent, with all that follows, where there is none; then `error` says why.
    pub hash: Option<String>,
    /// Built just now, rather than found.
    pub built: bool,
    pub python: Option<String>,
    pub packages: usize,
    /// Until it was there.
    pub seconds: f64,
    pub error: Option<String>,
}

pub fn run(context: &Context, command: &EnvCommand) -> Result<Exit, Failure> {
    match command {
        EnvCommand::List(args) => list(context, args.json),
        EnvCommand::Build(args) => build(context, &args.tasks, args.engine, args.json),
        EnvCommand::Check(args) => check(context, args),
        EnvCommand::Gc(args) => gc(context, args),
        EnvCommand::Usage(args) => usage(context, args.json),
    }
}

/// The tasks of the catalog that can be read.
fn tasks(context: &Context) -> Result<Vec<Task>, Failure> {
    let loaded = context.catalog()?.load_all()?;
    Ok(loaded.into_iter().filter_map(|l| l.task).collect())
}

fn list(context: &Context, json: bool) -> Result<Exit, Failure> {
    let home = context.home()?;
    // a home can be looked at without its tasks
    let wanted = match tasks(context) {
        Ok(tasks) => Wanted::by(&tasks, home.root()),
        Err(failure) => {
            output::note(&output::safe_lines(&failure.message));
            Wanted::default()
        }
    };
    let document = keep::list(home.root(), &wanted)?;
    if json {
        output::document(&document)?;
        return Ok(Exit::Yes);
    }
    if document.environments.is_empty() {
        output::note("no environments yet; `infradev env build` makes those of the tasks");
    }
    for row in &document.environments {
        output::line(&output::safe(&words::list(row)));
    }
    notes(&document.notes);
    Ok(Exit::Yes)
}

fn build(
    context: &Context,
    ids: &[String],
    engine: EngineChoice,
    json: bool,
) -> Result<Exit, Failure> {
    let catalog = context.catalog()?;
    let home = context.home()?;
    let ids = if ids.is_empty() {
        catalog.ids()?
    } else {
        ids.to_vec()
    };
    let mut tasks = Vec::new();
    for id in &ids {
        tasks.push(catalog.usable(id)?);
    }
    let stop = Arc::new(AtomicBool::new(false));
    on_interrupt({
        let stop = Arc::clone(&stop);
        move || {
            stop.store(true, Ordering::Relaxed);
            true
        }
    })?;
    // containers are driven on it while this thread waits for them
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|e| Failure::machinery(format!("no runtime: {e}")))?;
    let mut exit = Exit::Yes;
    let mut built = Vec::new();
    for task in &tasks {
        let spec = task.spec.environment.clone();
        let mut request = Request::new(spec, &task.dir, home.root());
        request.stop = Arc::clone(&stop);
        let chosen = runtime.block_on(builder(engine, &home, task));
        request.builder = chosen.map_err(Failure::input)?;
        let begun = Instant::now();
        let made = prepare(&request, &|progress| {
            let text = format!("{}: {progress}", task.id());
            output::note(&output::safe(&text));
        });
        let seconds = begun.elapsed().as_secs_f64();
        if matches!(made, Err(EnvironmentError::Stopped)) {
            return Err(Failure::machinery("stopped; what was finished is kept"));
        }
        let mut row = BuiltEnvironment {
            task: task.id().into(),
            kind: task.spec.environment.kind,
            hash: None,
            built: false,
            python: None,
            packages: 0,
            seconds,
            error: None,
        };
        match made {
            Ok(environment) => {
                row.built = environment.built;
                row.python = Some(environment.python_version);
                row.packages = environment.packages.len();
                row.hash = Some(environment.hash);
            }
            Err(error) => {
                row.error = Some(error.to_string());
                let failed = Failure::from(error).exit;
                exit = if failed.code() > exit.code() {
                    failed
                } else {
                    exit
                };
            }
        }
        if !json {
            output::line(&output::safe_lines(&words::built(&row)));
        }
        built.push(row);
    }
    if json {
        output::document(&EnvironmentsBuilt {
            schema: 1,
            ok: built.iter().all(|row| row.error.is_none()),
            tasks: built,
        })?;
    }
    Ok(exit)
}

fn check(context: &Context, args: &EnvCheckArgs) -> Result<Exit, Failure> {
    let home = context.home()?;
    let mut checked = keep::check(home.root(), &args.hashes, &mut |environment| {
        if !args.json {
            for line in words::checked(environment) {
                output::line(&output::safe(&line));
            }
        }
    })?;
    if args.discard && !checked.ok {
        keep::discard(home.root(), &mut checked)?;
    }
    if args.json {
        output::document(&checked)?;
    } else {
        if checked.environments.is_empty() {
            output::note("no environments");
        }
        for item in &checked.discarded {
            output::line(&output::safe(&format!("discarded {}", item.path.display())));
        }
        for kept in &checked.kept {
            output::line(&output::safe(&format!(
                "kept {}: {}",
                &kept.hash[..12],
                kept.why
            )));
        }
        if !checked.ok && !args.discard {
            output::note(
                "mend: `infradev env check --discard` removes these environments and what the cache \
                 holds of them; the next run builds them anew",
            );
        }
    }
    Ok(if checked.ok { Exit::Yes } else { Exit::No })
}

fn gc(context: &Context, args: &EnvGcArgs) -> Result<Exit, Failure> {
    let home = context.home()?;
    // without its tasks nobody could tell what is wanted
    let wanted = Wanted::by(&tasks(context)?, home.root());
    let asked = Collect {
        dry_run: args.dry_run,
        days: args.days,
    };
    let collected = keep::collect(home.root(), &wanted, asked)?;
    if args.json {
        output::document(&collected)?;
        return Ok(Exit::Yes);
    }
    for line in words::collected(&collected) {
        output::line(&output::safe(&line));
    }
    notes(&collected.notes);
    Ok(Exit::Yes)
}

fn usage(context: &Context, json: bool) -> Result<Exit, Failure> {
    let document = keep::usage(context.home()?.root())?;
    if json {
        output::document(&document)?;
        return Ok(Exit::Yes);
    }
    for line in words::usage(&document) {
        output::line(&output::safe(&line));
    }
    Ok(Exit::Yes)
}

fn notes(notes: &[String]) {
    for note in notes {
        output::note(&output::safe_lines(note));
    }
}
