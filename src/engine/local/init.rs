//! `infradev __init`: process 1 of a sandbox.
//!
//! One blocking loop. It starts what the worker asks for, passes output on as it comes, reaps
//! whatever is orphaned, watches the limits, and on request kills everything but itself. It trusts
//! nothing beside it: it cannot be traced, and its descriptors cannot be opened, by processes of
//! the same user, and none of them inherits one. When the worker's end of the stream closes it
//! ends, and the kernel ends everything else in its process namespace with it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

use super::super::frame::Decoder;
use super::super::{
    Begin, Isolation, Message, ProcessSpec, ProcessStatus, Request, Stream, TerminalSize,
};
use super::filter;
use super::inbox::{read_begin, take};
use super::outbox::Outbox;
use super::process::Process;
use super::terminal::Terminal;
use super::tree::{count, kill_each, list};
use super::watch::{Hit, Watch};

/// Killed processes that do not go away within this time never will (the kernel waits for a
/// device); ending process 1 is all that is left to do.
const KILL_PATIENCE: Duration = Duration::from_secs(10);
/// The worker has this long to take our last words.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The hidden subcommand `__init`.
pub fn init_main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write;
            writeln!(io::stderr(), "process 1: {error}").ok();
            ExitCode::FAILURE
        }
    }
}

/// Why the loop ends.
enum End {
    /// The worker closed its end.
    Closed,
    /// For a reason that it should hear.
    Because(String),
}

fn run() -> io::Result<()> {
    prctl::set_dumpable(false)?;
    prctl::set_no_new_privs()?;
    filter::install();
    // process 1 of a namespace is given orphans anyway; without one this asks for them
    prctl::set_child_subreaper(true)?;
    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&children), None)?;
    let ended = SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let (input, output) = (io::stdin(), io::stdout());
    fcntl(&input, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    fcntl(&output, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;

    let mut decoder = Decoder::default();
    let Some(begin) = read_begin(input.as_fd(), &mut decoder)? else {
        return Ok(());
    };
    let mut init = Init::new(begin);
    init.out.put(&Message::Ready, &[]);
    let end = init.serve(input.as_fd(), output.as_fd(), &ended, &mut decoder)?;
    let killed = init.kill_all();
    if let End::Because(reason) = end {
        init.drain();
        init.out.put(&Message::Ending { reason }, &[]);
        init.out.finish(output.as_fd(), LAST_WORDS);
    }
    killed.map(drop).map_err(io::Error::other)
}

struct Init {
    begin: Begin,
    processes: BTreeMap<u32, Process>,
    out: Outbox,
    watch: Watch,
    next_check: Instant,
    wall: Instant,
}

impl Init {
    fn new(begin: Begin) -> Self {
        let now = Instant::now();
        Self {
            watch: Watch::new(&begin),
            // a limit beyond what a clock holds is none
            wall: (now.checked_add(begin.limits.wall))
                .unwrap_or(now + Duration::from_secs(u64::from(u32::MAX))),
            next_check: now,
            processes: BTreeMap::new(),
            out: Outbox::default(),
            begin,
        }
    }

    fn serve(
        &mut self,
        input: BorrowedFd<'_>,
        output: BorrowedFd<'_>,
        ended: &SignalFd,
        decoder: &mut Decoder,
    ) -> io::Result<End> {
        loop {
            if self.out.flush(output).is_err() {
                return Ok(End::Closed);
            }
            let (has_input, streams) = match self.wait(input, output, ended) {
                Ok(waited) => waited,
                Err(error) => return Ok(self.blind(&error)),
            };
            for (id, stream) in streams {
                if let Some(process) = self.processes.get_mut(&id) {
                    process.pump(stream, self.begin.limits.output_bytes, &mut self.out);
                }
            }
            for process in self.processes.values_mut() {
                if let Some(terminal) = process.terminal() {
                    terminal.pass();
                }
            }
            while ended.read_signal()?.is_some() {}
            self.reap();
            if let Some(end) = self.tell_kernel_kills() {
                return Ok(end);
            }
            self.say_ends();
            if has_input {
                let closed = take(input, decoder)?;
                if closed {
                    return Ok(End::Closed);
                }
                if let Some(end) = self.obey(decoder) {
                    return Ok(end);
                }
            }
            if let Some(end) = self.enforce() {
                return Ok(end);
            }
        }
    }

    /// Waits until there is something to do: whether the worker spoke, and which streams have
    /// something.
    fn wait(
        &self,
        input: BorrowedFd<'_>,
        output: BorrowedFd<'_>,
        ended: &SignalFd,
    ) -> io::Result<(bool, Vec<(u32, Stream)>)> {
        let mut fds = vec![
            PollFd::new(input, PollFlags::POLLIN),
            PollFd::new(ended.as_fd(), PollFlags::POLLIN),
        ];
        if !self.out.is_empty() {
            fds.push(PollFd::new(output, PollFlags::POLLOUT));
        }
        let first_stream = fds.len();
        let mut streams = Vec::new();
        if !self.out.is_full() {
            for process in self.processes.values() {
                for (stream, fd) in process.descriptors() {
                    fds.push(PollFd::new(fd.as_fd(), PollFlags::POLLIN));
                    streams.push((process.id, stream));
                }
            }
        }
        let streams_end = fds.len();
        let typing = self.processes.values().filter_map(Process::typing);
        fds.extend(typing.map(|fd| PollFd::new(fd, PollFlags::POLLOUT)));
        match poll(&mut fds, self.patience()) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok((false, Vec::new())),
            Err(e) => return Err(e.into()),
        }
        let speaks = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        let ready = (streams.into_iter().zip(&fds[first_stream..streams_end]))
            .filter(|(_, fd)| speaks(fd))
            .map(|(stream, _)| stream)
            .collect();
        Ok((speaks(&fds[0]), ready))
    }

    fn patience(&self) -> PollTimeout {
        let lingering = self.processes.values().filter_map(Process::lingers_until);
        // with nothing running there is nothing to watch; orphans that survive what was asked for
        // are still watched, because they keep `watching` true
        let until = lingering
            .chain(std::iter::once(self.wall))
            .chain(self.watching().then_some(self.next_check))
            .min()
            .unwrap_or(self.wall);
        // rounded up, so that the moment has come when we wake
        let left = until.saturating_duration_since(Instant::now()) + Duration::from_micros(999);
        PollTimeout::try_from(left.as_millis().min(60_000)).unwrap_or(PollTimeout::MAX)
    }

    /// Whether anything may be running.
    fn watching(&self) -> bool {
        !self.processes.is_empty() || has_children()
    }

    fn obey(&mut self, decoder: &mut Decoder) -> Option<End> {
        loop {
            match decoder.take::<Request>() {
                Ok(None) => return None,
                Ok(Some((Request::Spawn(spec), stdin))) => self.spawn(&spec, &stdin, None),
                Ok(Some((Request::SpawnOnTerminal(spec, size), _))) => {
                    self.spawn(&spec, &[], Some(size));
                }
                Ok(Some((Request::Typed { id }, bytes))) => {
                    if let Some(terminal) = self.terminal(id) {
                        terminal.typed(&bytes);
                    }
                }
                Ok(Some((Request::Resize { id, size }, _))) => {
                    if let Some(terminal) = self.terminal(id) {
                        terminal.resize(size);
                    }
                }
                Ok(Some((Request::KillAll, _))) => match self.kill_all() {
                    Ok(processes) => {
                        self.drain();
                        self.out.put(&Message::Killed { processes }, &[]);
                    }
                    Err(reason) => return Some(End::Because(reason)),
                },
                Ok(Some((Request::Begin(_), _))) => {
                    return Some(End::Because("`begin` came twice".into()));
                }
                Err(error) => return Some(End::Because(error.to_string())),
            }
        }
    }

    fn terminal(&mut self, id: u32) -> Option<&mut Terminal> {
        self.processes.get_mut(&id)?.terminal()
    }

    fn spawn(&mut self, spec: &ProcessSpec, stdin: &[u8], terminal: Option<TerminalSize>) {
        let id = spec.id;
        if self.processes.contains_key(&id) {
            let message = format!("there is a process {id} already");
            self.out.put(&Message::NotStarted { id, message }, &[]);
            return;
        }
        match Process::start(spec, stdin, terminal, &self.begin) {
            Ok(process) => {
                self.processes.insert(id, process);
                self.out.put(&Message::Started { id }, &[]);
                self.next_check = self.next_check.min(Instant::now() + self.watch.tick());
            }
            Err(error) => {
                let program = spec.argv.first().map_or("", String::as_str);
                let message = format!("starting {program} in {}: {error}", spec.cwd.display());
                self.out.put(&Message::NotStarted { id, message }, &[]);
            }
        }
    }

    /// Takes note of everything that has ended, ours or orphaned.
    fn reap(&mut self) {
        loop {
            let (pid, status) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, ProcessStatus::Exited(code)),
                Ok(WaitStatus::Signaled(pid, signal, _)) => {
                    (pid, ProcessStatus::Signaled(signal as i32))
                }
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return,
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(_) => return,
            };
            self.note(pid, status);
        }
    }

    fn note(&mut self, pid: Pid, status: ProcessStatus) {
        let own = (self.processes.values_mut()).find(|p| p.pid == pid.as_raw());
        if let Some(process) = own {
            process.end(status);
        }
    }

    /// After a kill: everything that the dead have written, and their ends.
    fn drain(&mut self) {
        let limit = self.begin.limits.output_bytes;
        for process in self.processes.values_mut() {
            process.drain(limit, &mut self.out);
        }
        self.say_ends();
    }

    fn say_ends(&mut self) {
        let (now, limit) = (Instant::now(), self.begin.limits.output_bytes);
        let out = &mut self.out;
        self.processes.retain(|_, p| !p.finish(now, limit, out));
    }

    /// Kills everything but ourselves and waits until it is gone: how many there were.
    fn kill_all(&mut self) -> Result<u32, String> {
        let isolation = self.begin.isolation;
        let until = Instant::now() + KILL_PATIENCE;
        let mut seen = BTreeSet::new();
        let mut pause = Duration::from_micros(200);
        let mut crowd = count(isolation);
        if crowd > self.begin.limits.processes {
            // first of all an end to their forks: looking at each takes long among so many
            kill_each(isolation, &[]);
        } else {
            crowd = 0;
        }
        loop {
            let tasks = match list(isolation) {
                Ok(tasks) => tasks,
                // without a list, one call still reaches all of them, and the last one's end is seen
                Err(_) if isolation == Isolation::Namespaces && has_children() => {
                    if Instant::now() > until {
                        return Err("processes cannot be killed".into());
                    }
                    kill_each(isolation, &[]);
                    std::thread::sleep(pause);
                    self.reap();
                    continue;
                }
                Err(_) if isolation == Isolation::Namespaces => Vec::new(),
                Err(error) => return Err(format!("looking for processes: {error}")),
            };
            seen.extend(tasks.iter().map(|t| t.pid));
            if tasks.is_empty() {
                self.reap();
                return Ok((seen.len() as u32).max(crowd as u32));
            }
            if Instant::now() > until {
                return Err(format!("{} processes cannot be killed", tasks.len()));
            }
            kill_each(isolation, &tasks);
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
            self.reap();
        }
    }

    fn enforce(&mut self) -> Option<End> {
        let now = Instant::now();
        if now >= self.wall {
            let detail = format!("{} s", self.begin.limits.wall.as_secs_f64());
            self.hit(Hit {
                limit: "wall",
                detail,
            });
            return Some(End::Because("wall limit".into()));
        }
        if now < self.next_check || !self.watching() {
            return None;
        }
        let found = self.watch.check();
        self.next_check = now + self.watch.tick();
        match found {
            Ok(None) => None,
            Ok(Some(hit)) => self.hit(hit),
            Err(error) => Some(self.blind(&error)),
        }
    }

    /// Somebody inside may have taken our descriptors away: blind is the same as over.
    fn blind(&mut self, error: &io::Error) -> End {
        let reason = format!("the limits cannot be watched: {error}");
        let detail = reason.clone();
        let limit = "sandbox";
        self.hit(Hit { limit, detail });
        End::Because(reason)
    }

    /// Before the ends of those that were killed.
    fn tell_kernel_kills(&mut self) -> Option<End> {
        let ended = |p: &Process| p.lingers_until().is_some();
        if !self.processes.values().any(ended) {
            return None;
        }
        let hit = self.watch.kernel_kills()?;
        self.hit(hit)
    }

    fn hit(&mut self, hit: Hit) -> Option<End> {
        let killed = self.kill_all();
        self.watch.forget();
        let limit = hit.limit.to_owned();
        let detail = hit.detail;
        self.out.put(&Message::LimitHit { limit, detail }, &[]);
        self.drain();
        killed.err().map(End::Because)
    }
}

/// ECHILD is the only sure sign that nothing is left below us.
fn has_children() -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    !matches!(waitid(Id::All, flags), Err(Errno::ECHILD))
}
