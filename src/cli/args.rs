//! The arguments, as people type them.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use super::author_args::{CoverageArgs, HollowArgs, MutantsArgs};
pub use super::shell::ShellArgs;
use super::workbench::WorkbenchArgs;
use crate::domain::{CalibrationChoice, EngineChoice, NetworkMode, SuiteChoice};
use crate::judge::score::Dimension;

/// A terminal workbench for measuring whether coding agents can make large changes to AI
/// infrastructure. Without a subcommand it opens the workbench.
#[derive(Debug, Parser)]
#[command(name = "infradev", version, max_term_width = 100)]
pub struct Cli {
    /// Where runs, environments and caches are kept.
    #[arg(
        long,
        global = true,
        env = "INFRADEV_HOME",
        default_value = ".infradev",
        value_name = "DIR"
    )]
    pub home: PathBuf,
    /// The folder of tasks.
    #[arg(
        long,
        global = true,
        env = "INFRADEV_TASKS",
        default_value = "tasks",
        value_name = "DIR"
    )]
    pub tasks: PathBuf,
    #[command(flatten)]
    pub workbench: WorkbenchArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the tasks.
    Tasks(Json),
    /// Check tasks: files, claims, patches against base. All of them where none is named.
    Check(CheckArgs),
    /// Make a task's hollow patch: gold's new interfaces, whose bodies raise.
    Hollow(HollowArgs),
    /// What the tests of a task look at: every assertion with its class, and what is left out.
    Audit(TaskArgs),
    /// The names of the project that a task's tests and probes use, with signatures and places.
    Contract(TaskArgs),
    /// Show a task's prompt as an agent is given it, or a draft from contract and claims.
    Prompt(PromptArgs),
    /// Look at a task's prompt: what it leaves out, what it gives away, what nobody can tell.
    Lint(TaskArgs),
    /// Candidates for adversarial patches: gold with one small wrong change each.
    Mutants(MutantsArgs),
    /// Grade one patch of a task.
    Grade(GradeArgs),
    /// Let an agent work on a task, and grade what it leaves.
    Run(AgentArgs),
    /// List the agents that can be run, and what they need.
    Agents(Json),
    /// Run gold several times: what it collects and passes, what is flaky or skipped, recorded with
    /// the machine in the task's folder.
    Calibrate(CalibrateArgs),
    /// Run every patch of a task on both suites, gold several times, and judge by the acceptance
    /// rule whether its probes are to be believed.
    Verify(VerifyArgs),
    /// What is known of how a task's claims are covered, claim by claim, and what is missing; a
    /// person's word on it.
    Coverage(CoverageArgs),
    /// List the runs.
    Runs(Json),
    /// Follow a run until it ends.
    Attach(RunArgs),
    /// Cancel a run.
    Cancel(RunArgs),
    /// A shell in the sandbox of a case as it was graded, or one command there.
    Shell(ShellArgs),
    /// Say that a suspect run was looked at and is none: `score` counts it as clear.
    Clear(ClearArgs),
    /// Take up a run whose worker died, keeping the suites that were finished.
    Resume(RunArgs),
    /// What this machine can do, and what to install or do about the rest.
    Doctor(Json),
    /// One reading of the GPUs, their processes and the machine.
    Gpu(GpuArgs),
    /// The shared environments of the home: list, build, check, clean up, count.
    #[command(subcommand)]
    Env(EnvCommand),
    /// The base images of the docker engine.
    #[command(subcommand)]
    Image(ImageCommand),
    /// Remove the containers that dead workers left, and nothing else.
    Gc(GcArgs),
    /// Figures over graded runs: both judges, gaps, comparisons, repeats, slices. All runs of the
    /// home where none is named.
    Score(ScoreArgs),
    /// Read an agent's log: commands, edits, tokens, and how it ended.
    Trace(TraceArgs),
    /// Execute a run directory. Started by the other commands; one worker per run.
    #[command(hide = true)]
    Worker { run_dir: PathBuf },
    /// What holds the sandbox of a shell. Started by `shell`.
    #[command(name = "__shell", hide = true)]
    ServeShell,
    /// Write the JSON schemas of task files and documents into a folder.
    #[command(hide = true)]
    Schema { dir: PathBuf },
}

#[derive(Debug, Args)]
pub struct Json {
    /// One JSON document on standard output.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum ImageCommand {
    /// Make the CPU base image from Debian packages: as root, with debootstrap, without a registry.
    Import(ImportArgs),
    /// List the base images that the container engine has, and how the others are made.
    List(Json),
}

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A mirror of Debian instead of the one that this machine's apt uses.
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct GcArgs {
    /// Only say what would be removed.
    #[arg(long)]
    pub dry_run: bool,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct GpuArgs {
    /// Read once and end; the workbench shows them as they go.
    #[arg(long, required = true)]
    pub once: bool,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum EnvCommand {
    /// Which there are, which tasks use them, and when each was last used.
    List(Json),
    /// Build the environments of tasks, as a run would. All of them where none is named.
    Build(EnvBuildArgs),
    /// Read environments again: does each still hold what was sealed, and who else could change it?
    /// All of them where none is named.
    Check(EnvCheckArgs),
    /// Remove what no task wants and nobody used lately, and what killed builds left.
    Gc(EnvGcArgs),
    /// What environments and their cache take on disk, and what sharing saves.
    Usage(Json),
}

#[derive(Debug, Args)]
pub struct EnvBuildArgs {
    /// Task ids; none: all.
    #[arg(id = "task_ids", value_name = "TASK")]
    pub tasks: Vec<String>,
    /// For this machine's interpreter (local), or for the task's image (docker).
    #[arg(long, default_value = "auto")]
    pub engine: EngineChoice,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct EnvCheckArgs {
    /// An environment's hash, or the beginning of it; none: all.
    #[arg(value_name = "HASH")]
    pub hashes: Vec<String>,
    /// Remove what is not as it was sealed, in the cache as well: the next run builds it anew.
    #[arg(long)]
    pub discard: bool,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct EnvGcArgs {
    /// Only say what would be removed.
    #[arg(long)]
    pub dry_run: bool,
    /// An environment that no task wants goes when nobody used it for so long.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub days: u32,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// Ids of runs, run folders, folders of runs, or homes; none: all runs of the home.
    pub runs: Vec<String>,
    /// The slices to show; the document always has all four.
    #[arg(long)]
    pub by: Option<Dimension>,
    /// Other weights of areas (or repositories, kinds, gpus): a TOML file with one table, `[area]`,
    /// and a number for each value, such as `training = 2`.
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// Only configurations whose words hold this text (may be repeated).
    #[arg(long = "configuration", value_name = "TEXT")]
    pub configurations: Vec<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TraceArgs {
    /// What the agent printed, or the trajectory or events that it wrote.
    pub file: PathBuf,
    /// The program that wrote it; auto looks at the content.
    #[arg(long, default_value = "auto")]
    pub format: TraceFormat,
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    Codex,
    Opencode,
    Claude,
    Mini,
    #[value(name = "sweagent")]
    SweAgent,
    Openhands,
    Atif,
    Text,
    Auto,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Task ids; none: all.
    #[arg(id = "task_ids", value_name = "TASK")]
    pub tasks: Vec<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TaskArgs {
    pub task: String,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PromptArgs {
    pub task: String,
    /// full, interface, behaviour, process, original, or NAME of a prompt.NAME.md.
    #[arg(long, value_name = "VARIANT", default_value = "full")]
    pub variant: String,
    /// A prompt to begin with instead, from the contract, the claims and the template.
    #[arg(long, conflicts_with = "variant")]
    pub draft: bool,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// A run's id, or the beginning or end of it; the newest where none is given (`cancel`: the
    /// newest that is live).
    pub run: Option<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ClearArgs {
    /// A run's id, or the beginning or end of it.
    pub run: String,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct GradeArgs {
    pub task: String,
    #[command(flatten)]
    pub what: What,
    /// Only this case (may be repeated); such a run is no verdict on the whole.
    #[arg(long = "case", value_name = "ID")]
    pub cases: Vec<String>,
    #[command(flatten)]
    pub running: Running,
}

#[derive(Debug, Args)]
pub struct AgentArgs {
    pub task: String,
    /// An agent by name; `infradev agents` lists them.
    #[arg(long, value_name = "NAME")]
    pub agent: String,
    /// Wall time of the agent ("2h30m", "90s"); where it ends, what is there is graded. Absent: the
    /// task's own.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub limit: Option<f64>,
    /// The prompt's variant: full (prompt.md), interface, behaviour or process (its parts), original
    /// (the change's own text), or NAME of a prompt.NAME.md.
    #[arg(long, value_name = "VARIANT", default_value = "full")]
    pub prompt: String,
    /// The model, where the agent takes one.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The reasoning effort that the agent is set to and that tells its configuration apart; refused where it takes none.
    #[arg(long, value_name = "NAME", value_parser = recorded)]
    pub effort: Option<String>,
    /// The skill that it is given, for the record.
    #[arg(long, value_name = "NAME", value_parser = recorded)]
    pub skill: Option<String>,
    /// The network instead of the agent's own.
    #[arg(long, value_name = "MODE")]
    pub network: Option<NetworkMode>,
    /// replay: a submission of the task, a run, or a log file.
    #[arg(long, value_name = "WHAT")]
    pub recording: Option<String>,
    /// replay: this many lines a second instead of the recorded times.
    #[arg(long, value_name = "LINES")]
    pub rate: Option<f64>,
    #[command(flatten)]
    pub running: Running,
}

/// A word of a configuration's record.
fn recorded(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if text.is_empty() || text.len() > 100 || !text.chars().all(plain) {
        return Err("give a name of letters, digits, '-', '_' and '.'".into());
    }
    Ok(text.to_owned())
}

/// A time as people write it, in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let mend = "give a time such as 2h30m, 45m or 90s";
    let time: jiff::SignedDuration = text.parse().map_err(|e| format!("{e}; {mend}"))?;
    let seconds = time.as_secs_f64();
    if !(1.0..=30.0 * 86400.0).contains(&seconds) {
        return Err(format!("it must lie between 1s and 30 days; {mend}"));
    }
    Ok(seconds)
}

#[derive(Debug, Args)]
pub struct CalibrateArgs {
    pub task: String,
    /// How often gold runs.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    #[command(flatten)]
    pub running: Running,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    pub task: String,
    /// How often gold runs, one after the other; with fewer than 3 nothing is recorded with the task.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// Stay, and answer each edit of the task's folder: what it made stale runs again.
    #[arg(long)]
    pub watch: bool,
    /// --watch: end when nothing was edited for so long ("30m", "90s").
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "10m", requires = "watch")]
    pub idle: f64,
    #[arg(long, default_value = "auto")]
    pub engine: EngineChoice,
    /// Processes of every suite instead of the task's own number, one GPU for each where the task
    /// needs GPUs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub ranks: Option<u32>,
    /// Start the run and return at once; `infradev attach` follows it.
    #[arg(long)]
    pub detach: bool,
    /// One JSON document on standard output.
    #[arg(long)]
    pub json: bool,
}

/// How a run that a command starts is carried out.
#[derive(Debug, Args)]
pub struct Running {
    /// The suites to run.
    #[arg(long, default_value = "all")]
    pub suite: SuiteChoice,
    #[arg(long, default_value = "auto")]
    pub engine: EngineChoice,
    /// Processes of every suite instead of the task's own number, one GPU for each where the task
    /// needs GPUs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub ranks: Option<u32>,
    /// Where gold has not run on such a machine: auto lets it run first, recorded refuses, any takes
    /// a calibration of another GPU type or environment, with the badge `uncalibrated`.
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub calibration: CalibrationChoice,
    /// Start the run and return at once; `infradev attach` follows it.
    #[arg(long)]
    pub detach: bool,
    #[arg(long)]
    pub json: bool,
}

/// What is graded: exactly one.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct What {
    /// A patch file, or a symbol-edit TOML.
    #[arg(long, value_name = "FILE")]
    pub patch: Option<PathBuf>,
    /// A submission of the task, by name.
    #[arg(long, value_name = "NAME")]
    pub submission: Option<String>,
    /// The gold patch.
    #[arg(long)]
    pub gold: bool,
    /// The repository just before the change.
    #[arg(long)]
    pub base: bool,
}
