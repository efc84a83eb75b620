//! A sandbox that was started before anybody knew for what: its ranks have imported pytest, the
//! reporter and some of the environment's modules, and wait for their order (`assets/waiting/`). It serves one suite run,
//! once. What its ranks run until then is the environment's and ours alone.

use std::fs::{OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;

use super::command::waiting_processes;
use super::files::io;
use super::spec::{SuiteError, SuiteRun};
use crate::engine::{
    Access, EngineError, Isolation, Loss, Mount, ProcessSpec, Sandbox, SandboxEvent, Stream,
};

/// Where a sandbox sees the pipes out of which its orders come.
pub const ORDERS: &str = "/infradev/orders";

/// What a rank says when it waits (`assets/reporter/runner.py`).
const READY: &[u8] = b"waiting\n";
/// Imports take a second; on a machine in trouble there is no waiting sandbox.
const READY_PATIENCE: Duration = Duration::from_secs(60);
/// What a rank imports while it waits, beside the pipes.
const SOURCES: [(&str, &str); 2] = [
    (
        "infradev_ahead.py",
        include_str!("../../../assets/waiting/infradev_ahead.py"),
    ),
    (
        "infradev_compile.py",
        include_str!("../../../assets/waiting/infradev_compile.py"),
    ),
];

/// What a sandbox waits for.
#[derive(Clone, Copy, Debug)]
pub enum WaitsFor<'a> {
    /// A suite's run. Modules of the environment that are there by then.
    Suite(&'a [String]),
    /// Files to compile.
    Files,
}

/// A rank that said that it waits opens its pipe at once.
const OPEN_PATIENCE: Duration = Duration::from_secs(5);

/// A sandbox, with the pipe of each rank.
#[derive(Debug)]
pub struct Waiting {
    pub(super) sandbox: Sandbox,
    pub(super) orders: Vec<PathBuf>,
}

impl From<Sandbox> for Waiting {
    /// One in which nothing was started yet.
    fn from(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            orders: Vec::new(),
        }
    }
}

/// The mount that a waiting sandbox needs.
pub fn orders_mount(dir: &Path) -> Mount {
    Mount {
        source: dir.to_owned(),
        target: PathBuf::from(ORDERS),
        access: Access::ReadOnly,
    }
}

impl Waiting {
    /// Starts the ranks of `run` and returns when all of them wait. `orders`: an own folder, which
    /// the sandbox sees by [`orders_mount`]; `inherited`: the sandbox's own `PYTHONPATH`.
    pub async fn new(
        mut sandbox: Sandbox,
        run: &SuiteRun,
        orders: &Path,
        waits_for: WaitsFor<'_>,
        inherited: Option<&str>,
    ) -> Result<Self, SuiteError> {
        if sandbox.isolation() == Isolation::None {
            let why = "it has no namespaces of its own, so its ports are not known yet";
            return Err(SuiteError::SandboxDied(why.into()));
        }
        let pipes = pipes(orders, run.ranks)?;
        let (own, modules) = match waits_for {
            WaitsFor::Suite(modules) => ("infradev_ahead", modules),
            WaitsFor::Files => ("infradev_compile", [].as_slice()),
        };
        sources(orders, modules)?;
        // they take it off again
        let path = match inherited {
            Some(inherited) => format!("{ORDERS}:{inherited}"),
            None => ORDERS.to_owned(),
        };
        let specs = waiting_processes(run, Path::new(ORDERS), (own, path), &sandbox)?;
        let first = specs.first().map_or(0, |p| p.id);
        for spec in specs {
            sandbox.spawn(spec)?;
        }
        let mut said = vec![Vec::new(); run.ranks as usize];
        let until = tokio::time::Instant::now() + READY_PATIENCE;
        while said.iter().any(|said| said != READY) {
            let died = |why: &str| SuiteError::SandboxDied(why.to_owned());
            let event = tokio::time::timeout_at(until, sandbox.next()).await;
            match event.map_err(|_| died("its ranks did not come to wait"))? {
                Some(SandboxEvent::Output {
                    id,
                    stream: Stream::Channel,
                    bytes,
                }) => {
                    let rank = id.checked_sub(first).map(|rank| rank as usize);
                    if let Some(said) = rank.and_then(|rank| said.get_mut(rank)) {
                        said.extend(bytes);
                    }
                }
                Some(SandboxEvent::Started { .. } | SandboxEvent::Output { .. }) => {}
                Some(SandboxEvent::Closed { reason }) => return Err(died(&Loss::told(reason))),
                other => return Err(died(&format!("{other:?} instead of a rank that waits"))),
            }
        }
        Ok(Self {
            sandbox,
            orders: pipes,
        })
    }
}

impl Waiting {
    /// To be closed: nobody has an order for it.
    pub fn into_sandbox(self) -> Sandbox {
        self.sandbox
    }

    /// Gives the first rank an order and waits for its end. The sandbox is to be closed.
    pub async fn serve(
        mut self,
        order: Vec<u8>,
        patience: Duration,
    ) -> Result<Sandbox, SuiteError> {
        let died = |why: &str| SuiteError::SandboxDied(why.to_owned());
        let Some(path) = self.orders.into_iter().next() else {
            return Err(died("it does not wait"));
        };
        let given = tokio::task::spawn_blocking(move || {
            give_one(&path, &order).map_err(|e| io("giving an order through", &path, e))
        });
        given.await.map_err(|e| died(&e.to_string()))??;
        let until = tokio::time::Instant::now() + patience;
        loop {
            let event = tokio::time::timeout_at(until, self.sandbox.next()).await;
            match event.map_err(|_| died("it took too long"))? {
                Some(SandboxEvent::Exited { .. }) => return Ok(self.sandbox),
                Some(SandboxEvent::Output { .. }) => {}
                other => return Err(died(&format!("{other:?} instead of an end"))),
            }
        }
    }
}

/// What the ranks import, where they find their pipes.
fn sources(dir: &Path, modules: &[String]) -> Result<(), SuiteError> {
    let modules = modules.join("\n");
    for (name, source) in SOURCES.into_iter().chain([("modules", modules.as_str())]) {
        let path = dir.join(name);
        let write = std::fs::write(&path, source)
            .and_then(|()| std::fs::set_permissions(&path, Permissions::from_mode(0o644)));
        write.map_err(|e| io("writing", &path, e))?;
    }
    Ok(())
}

/// A pipe for each rank: whoever runs in the sandbox can read it and nothing else.
fn pipes(dir: &Path, ranks: u32) -> Result<Vec<PathBuf>, SuiteError> {
    (0..ranks)
        .map(|rank| {
            let path = dir.join(rank.to_string());
            nix::unistd::mkfifo(&path, Mode::from_bits_truncate(0o644))
                .map_err(|e| io("making", &path, e.into()))?;
            Ok(path)
        })
        .collect()
}

/// Starts the ranks of a group. Those that wait are given their order; the pipes are gone then.
pub(super) async fn start(
    sandbox: &Sandbox,
    orders: Vec<PathBuf>,
    specs: Vec<ProcessSpec>,
) -> Result<(), SuiteError> {
    if orders.is_empty() {
        for spec in specs {
            // what ended it is heard next
            let spawned = sandbox.spawn(spec);
            spawned.or_else(|e| matches!(e, EngineError::Ended).then_some(()).ok_or(e))?;
        }
        return Ok(());
    }
    let orders = orders.into_iter();
    let pairs: Vec<(PathBuf, Vec<u8>)> = orders.zip(specs.into_iter().map(|s| s.stdin)).collect();
    let given = tokio::task::spawn_blocking(move || {
        pairs.iter().try_for_each(|(path, order)| {
            give_one(path, order).map_err(|e| io("giving an order through", path, e))
        })
    });
    given
        .await
        .map_err(|e| SuiteError::SandboxDied(e.to_string()))?
}

fn give_one(path: &Path, order: &[u8]) -> std::io::Result<()> {
    let until = Instant::now() + OPEN_PATIENCE;
    // never waits for a reader that is gone
    let mut pipe = loop {
        let opened = OpenOptions::new()
            .write(true)
            .custom_flags(nix::libc::O_NONBLOCK)
            .open(path);
        match opened {
            Err(e) if e.raw_os_error() == Some(nix::libc::ENXIO) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            other => break other?,
        }
    };
    let _ = std::fs::remove_file(path);
    let mut left = order;
    while !left.is_empty() {
        match pipe.write(left) {
            Ok(count) => left = &left[count..],
            Err(e) if e.kind() == ErrorKind::WouldBlock && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
