//! The half of a shell at the person's terminal: passes keys in and output out, and gives the
//! terminal back. The other half (`__shell`) holds the sandbox, and ends it when this one is gone.

use std::io::{self, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};

use super::args::ShellArgs;
use super::line::{line, words};
use super::target::order;
use super::terminal::{self, Raw};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output;
use crate::domain::CaseId;
use crate::engine::frame::{encode, read_one};
use crate::engine::{ProcessStatus, Stream};
use crate::pipeline::shell::{self, FromPerson, Order, ToPerson};
use crate::store::Home;

/// What is told of what the other half said when it died.
const SAID: u64 = 4 << 10;

pub fn run(context: &Context, args: &ShellArgs) -> Result<Exit, Failure> {
    let (mut order, name) = order(context, args)?;
    if args.print {
        let case = order.case.as_ref().map(CaseId::as_str);
        output::line(&output::safe(&line(
            context.home_path(),
            &context.tasks_dir(),
            &words(args, name, case),
        )));
        return Ok(Exit::Yes);
    }
    if let Some(file) = &args.keep_patch {
        writable(file)?;
    }
    if args.command.is_none() {
        if !terminal::there() {
            return Err(Failure::input(
                "a shell needs a terminal on standard input and output; -c CMD runs a command \
                 without one",
            ));
        }
        order.terminal = Some(terminal::size());
        order.terminal_type = std::env::var("TERM").ok();
    }
    let home = context.home()?;
    let interactive = order.terminal.is_some();
    // before there are threads: it is one of them that takes these
    let signals = signals();
    signals
        .thread_block()
        .map_err(|e| Failure::machinery(format!("signals: {e}")))?;
    let mut other = Other::start(&home, order)?;
    let by = other.mind(signals);
    let done = pass(&mut other, interactive, args.keep_patch.as_deref());
    terminal::restore();
    let said = other.end();
    match by.load(Ordering::SeqCst) {
        0 => {}
        signal => {
            if interactive {
                output::bytes(Stream::Stdout, terminal::CALM);
            }
            return Ok(Exit::Other((128 + signal) as u8));
        }
    }
    let status = done?.ok_or_else(|| {
        shell::sweep(&home);
        let words = if said.is_empty() {
            "killed".into()
        } else {
            said
        };
        Failure::machinery(format!("what held the sandbox ended: {words}"))
    })?;
    Ok(match status {
        _ if interactive => Exit::Yes,
        ProcessStatus::Exited(code) => Exit::Other(code as u8),
        ProcessStatus::Signaled(signal) => Exit::Other((128 + signal) as u8),
    })
}

/// The hidden subcommand `__shell`.
pub fn serve(context: &Context) -> Result<Exit, Failure> {
    shell::serve(&context.home()?)
        .map(|()| Exit::Yes)
        .map_err(|e| Failure::machinery(e.to_string()))
}

fn writable(file: &Path) -> Result<(), Failure> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if file.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        let file = file.display();
        return Err(Failure::input(format!(
            "{file}: give a file in a folder that is there"
        )));
    }
    Ok(())
}

fn signals() -> SigSet {
    let mut all = SigSet::empty();
    for signal in [
        Signal::SIGWINCH,
        Signal::SIGCONT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
    ] {
        all.add(signal);
    }
    all
}

/// The way to the other half; closing it ends that.
type Line = Arc<Mutex<Option<ChildStdin>>>;

struct Other {
    child: Child,
    line: Line,
    said: Option<std::thread::JoinHandle<String>>,
}

impl Other {
    fn start(home: &Home, order: Order) -> Result<Self, Failure> {
        let fail =
            |e: io::Error| Failure::machinery(format!("starting what holds the sandbox: {e}"));
        let program = std::env::current_exe().map_err(fail)?;
        let mut child = Command::new(program)
            .arg("--home")
            .arg(home.root())
            .arg("__shell")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(fail)?;
        let stderr = child.stderr.take();
        let said = std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(mut stderr) = stderr {
                stderr.by_ref().take(SAID).read_to_end(&mut text).ok();
                io::copy(&mut stderr, &mut io::sink()).ok();
            }
            String::from_utf8_lossy(&text).trim().to_owned()
        });
        let line = Arc::new(Mutex::new(child.stdin.take()));
        let other = Self {
            child,
            line,
            said: Some(said),
        };
        say(&other.line, &FromPerson::Order(Box::new(order)), &[]);
        Ok(other)
    }

    /// Takes signals from here on: the number of the one that ended us, once there was one.
    fn mind(&self, signals: SigSet) -> Arc<AtomicI32> {
        let by = Arc::new(AtomicI32::new(0));
        let (line, told) = (Arc::clone(&self.line), Arc::clone(&by));
        std::thread::spawn(move || {
            while let Ok(signal) = signals.wait() {
                match signal {
                    Signal::SIGWINCH => say(&line, &FromPerson::Resize(terminal::size()), &[]),
                    Signal::SIGCONT => {
                        terminal::again();
                        say(&line, &FromPerson::Resize(terminal::size()), &[]);
                    }
                    signal => {
                        terminal::restore();
                        if told.swap(signal as i32, Ordering::SeqCst) != 0 {
                            // asked twice: what is left ends the other half
                            std::process::exit(128 + signal as i32);
                        }
                        close(&line);
                    }
                }
            }
        });
        by
    }

    /// Waits until nothing is left; what it said on standard error.
    fn end(&mut self) -> String {
        close(&self.line);
        self.child.wait().ok();
        let said = self.said.take().and_then(|said| said.join().ok());
        said.unwrap_or_default()
    }
}

fn say(line: &Line, said: &FromPerson, bytes: &[u8]) {
    let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
    if let (Some(pipe), Ok(frame)) = (&mut *line, encode(said, bytes)) {
        // the other half's end is heard on its own stream
        pipe.write_all(&frame).ok();
    }
}

fn close(line: &Line) {
    line.lock().unwrap_or_else(PoisonError::into_inner).take();
}

/// Until the other half has no more to say: how the shell ended.
fn pass(
    other: &mut Other,
    interactive: bool,
    keep: Option<&Path>,
) -> Result<Option<ProcessStatus>, Failure> {
    let Some(stdout) = other.child.stdout.take() else {
        return Ok(None);
    };
    let mut frames = BufReader::new(stdout);
    let mut ended = None;
    let mut raw = None;
    // keys that come after the end are not ours
    let mut typing = None;
    while let Ok(Some((message, bytes))) = read_one::<ToPerson>(&mut frames) {
        match message {
            ToPerson::Progress(text) => output::note(&output::safe(&text)),
            ToPerson::Open { warnings, greeting } => {
                for warning in warnings {
                    output::note(&format!("note: {}", output::safe(&warning)));
                }
                if interactive {
                    for line in greeting {
                        output::line(&output::safe(&line));
                    }
                    let entered = Raw::enter();
                    raw = Some(entered.map_err(|e| Failure::machinery(format!("terminal: {e}")))?);
                    let (over, end) = nix::unistd::pipe2(OFlag::O_CLOEXEC)
                        .map_err(|e| Failure::machinery(format!("a pipe: {e}")))?;
                    typing = Some(end);
                    let line = Arc::clone(&other.line);
                    std::thread::spawn(move || type_in(&line, &over));
                }
            }
            ToPerson::Output(stream) => output::bytes(stream, &bytes),
            ToPerson::Note(text) => {
                output::note(&format!("\r\ninfradev: {}\r", output::safe(&text)));
            }
            ToPerson::Ended(status) => {
                (raw, typing) = (None, None);
                ended = Some(status);
                if interactive && matches!(status, ProcessStatus::Signaled(_)) {
                    output::bytes(Stream::Stdout, terminal::CALM);
                }
            }
            ToPerson::Patch { left_out } => {
                for path in left_out {
                    output::note(&output::safe(&path));
                }
                if let Some(file) = keep {
                    keep_patch(file, &bytes)?;
                }
            }
            ToPerson::Failed { input, message } => {
                drop((raw, typing));
                let exit = if input { Exit::Input } else { Exit::Machinery };
                return Err(Failure { exit, message });
            }
        }
    }
    Ok(ended)
}

fn keep_patch(file: &Path, patch: &[u8]) -> Result<(), Failure> {
    if patch.is_empty() {
        output::note("nothing was changed in the tree: no patch is kept");
        return Ok(());
    }
    std::fs::write(file, patch)
        .map_err(|e| Failure::machinery(format!("{}: {e}", file.display())))?;
    output::note(&format!("what was changed is in {}", file.display()));
    Ok(())
}

/// Passes keys on until there are no more, or `over` is closed.
fn type_in(line: &Line, over: &OwnedFd) {
    let mut keys = [0; 4096];
    let stdin = io::stdin();
    loop {
        let mut fds = [stdin.as_fd(), over.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match poll(&mut fds, PollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            Err(_) => return close(line),
            Ok(_) if fds[1].any().unwrap_or(true) => return,
            Ok(_) => {}
        }
        match nix::unistd::read(&stdin, &mut keys) {
            Ok(n) if n > 0 => say(line, &FromPerson::Typed, &keys[..n]),
            Err(Errno::EINTR) => {}
            // the terminal is gone, and nobody may have been told by a signal
            _ => return close(line),
        }
    }
}
