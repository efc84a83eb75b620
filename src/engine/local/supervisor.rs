//! `infradev __sandbox`: builds a sandbox and waits for its end.
//!
//! Single-threaded and blocking: the kernel kills a child whose parent *thread* is gone, so this
//! process is the one thread that lives as long as the sandbox. It is told what to build in the
//! first frame on standard input; the frames after that are process 1's.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::stat::{Mode, umask};
use nix::sys::wait::waitpid;

use super::super::frame::{encode, read_one};
use super::super::ownership::drops_root;
use super::super::{Isolation, Message, Refusal, RefusalKind};
use super::harden::harden;
use super::init::init_main;
use super::stage::{Staged, drop_root, other, stage};
use super::start::Setup;
use super::{INIT_PATH, processors, root, sys};

/// After the worker's end of the stream is gone, process 1 has this long to end by itself.
const ORPHAN_PATIENCE: Duration = Duration::from_millis(300);
/// 128 and the number of SIGKILL.
const KILLED: i32 = 137;
/// The code of `__sandbox` where something outside (the machine, short of memory) killed process 1.
pub(super) const KILLED_OUTSIDE: u8 = 86;

/// The hidden subcommand `__sandbox`.
pub fn supervisor_main() -> ExitCode {
    sys::leave_inheritance();
    sys::go_ahead();
    // when the machine runs out of memory, a sandbox goes before the worker does; inherited by all
    std::fs::write("/proc/self/oom_score_adj", "300").ok();
    umask(Mode::from_bits_truncate(0o022));
    let setup = match read_one::<Setup>(&mut sys::raw_stdin()) {
        Ok(Some((setup, _))) => setup,
        Ok(None) => return ExitCode::FAILURE,
        Err(error) => return refuse(refusal("reading what to build", error.to_string())),
    };
    if let Some(cpus) = setup.spec.limits.cpus
        && let Err(error) = processors::leave(cpus)
    {
        return refuse(refusal("leaving it its processors", error.to_string()));
    }
    if setup.isolation == Isolation::None {
        return match drop_root_if_any() {
            Ok(()) => init_main(),
            Err(refusal) => refuse(refusal),
        };
    }
    match run(&setup) {
        Ok(code) => code,
        Err(refusal) => refuse(refusal),
    }
}

fn drop_root_if_any() -> Result<(), Refusal> {
    if drops_root() {
        drop_root()?;
    }
    Ok(())
}

fn run(setup: &Setup) -> Result<ExitCode, Refusal> {
    let Staged { root, binds, links } = stage(setup)?;
    let mut container = root::container(&root, &setup.spec.limits, setup.spec.network);
    for (target, staged, bind) in &binds {
        let options = root::options(staged, bind).map_err(|e| other(target, &e.into()))?;
        let staged = staged.to_str().unwrap_or_default();
        container.mount(staged, target, "", options, None);
    }
    for (link, text) in &links {
        container.symlink(text, link);
    }
    prctl::set_child_subreaper(true).map_err(|e| other("becoming a reaper", &e.into()))?;
    let mut child = sys::contained(&container, enter)
        .spawn()
        .map_err(|e| refusal("entering the sandbox", e.to_string()))?;
    if wait_or_orphaned(&mut child)? {
        return Ok(ExitCode::SUCCESS);
    }
    let status = child
        .wait()
        .map_err(|e| refusal("waiting for the sandbox", e.to_string()))?;
    // process 1 itself never ends with this code: it was hakoniwa, or `enter`, that failed
    if status.code == 125 {
        let mut refusal = refusal("entering the sandbox", status.reason);
        if refusal.message.contains("EPERM") || refusal.message.contains("unshare(") {
            refusal.kind = RefusalKind::Namespaces;
        }
        return Err(refusal);
    }
    // nothing inside can send process 1 this signal
    Ok(match status.code {
        KILLED => ExitCode::from(KILLED_OUTSIDE),
        _ => ExitCode::SUCCESS,
    })
}

/// Runs as process 1, with all its capabilities inside the sandbox and everything mounted: closes
/// what is still open and becomes `__init`.
fn enter() -> i32 {
    let (step, error) = match harden() {
        Ok(()) => (
            INIT_PATH.to_owned(),
            sys::execute(INIT_PATH, &["infradev", "__init"]),
        ),
        Err(failure) => failure,
    };
    writeln!(std::io::stderr(), "{step}: {error}").ok();
    125
}

/// Returns when the sandbox has ended; or, with `true`, kills it when the worker has closed its end
/// and the sandbox goes on.
fn wait_or_orphaned(child: &mut hakoniwa::Child) -> Result<bool, Refusal> {
    let failed = |e: nix::errno::Errno| other("watching the sandbox", &e.into());
    let ended = sys::pidfd_open(child.id()).ok();
    let stdin = std::io::stdin();
    let mut orphaned: Option<Instant> = None;
    loop {
        // without events only the hang-up is reported: the bytes are process 1's
        let mut fds = vec![PollFd::new(stdin.as_fd(), PollFlags::empty())];
        if orphaned.is_some() {
            fds.clear();
        }
        fds.extend(ended.as_ref().map(|fd| watch(fd.as_fd())));
        let patience = match orphaned {
            Some(_) => 20,
            None if ended.is_none() => 100,
            None => 60_000,
        };
        match poll(&mut fds, PollTimeout::from(patience as u16)) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(e) => return Err(failed(e)),
        }
        let hung_up = orphaned.is_none()
            && fds[0]
                .revents()
                .is_some_and(|r| r.intersects(PollFlags::POLLHUP | PollFlags::POLLERR));
        match child.try_wait() {
            Ok(Some(_)) => return Ok(false),
            Ok(None) => {}
            Err(e) => return Err(refusal("waiting for the sandbox", e.to_string())),
        }
        if hung_up {
            orphaned = Some(Instant::now());
        }
        if orphaned.is_some_and(|since| since.elapsed() > ORPHAN_PATIENCE) {
            child.kill().ok();
            // process 1 dies with its parent and becomes our child; it is gone only when
            // everything in its namespace is
            while !matches!(waitpid(None, None), Err(nix::errno::Errno::ECHILD)) {}
            return Ok(true);
        }
    }
}

fn watch(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::new(fd, PollFlags::POLLIN)
}

fn refusal(step: &str, message: String) -> Refusal {
    Refusal {
        kind: RefusalKind::Other,
        step: step.into(),
        message,
    }
}

fn refuse(refusal: Refusal) -> ExitCode {
    if let Ok(frame) = encode(&Message::Refused(refusal), &[]) {
        let mut out = std::io::stdout();
        out.write_all(&frame).and_then(|()| out.flush()).ok();
    }
    ExitCode::FAILURE
}
