//! System calls that no safe crate offers: the only unsafe code of the crate.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use hakoniwa::Container;
use nix::errno::Errno;
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, Signal};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid, setsid};

/// Standard input without a buffer: what was not asked for stays in the pipe.
pub(super) fn raw_stdin() -> impl Read {
    struct Raw;
    impl Read for Raw {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            Ok(nix::unistd::read(std::io::stdin(), buffer)?)
        }
    }
    Raw
}

/// Leaves what this process inherited and no program in a sandbox should have: descriptors beyond
/// the standard ones, ignored and blocked signals, and the login session's keys. Best effort: old kernels lack the first, which
/// hakoniwa does again; some lack the second, and then there are no keys.
pub(super) fn leave_inheritance() {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    for signal in Signal::iterator() {
        // ours stays ignored, and is reset in every process that is started; SIGKILL and SIGSTOP
        // cannot be ignored in the first place
        if signal != Signal::SIGPIPE {
            // SAFETY: the default action runs no code of ours.
            unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) }.ok();
        }
    }
    SigSet::empty().thread_set_mask().ok();
    // SAFETY: nobody in this process, which has just begun, holds a descriptor from 3 up; the null
    // pointer asks for a new anonymous keyring.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0);
        libc::syscall(
            libc::SYS_keyctl,
            JOIN_SESSION_KEYRING,
            std::ptr::null::<libc::c_char>(),
        );
    }
}

/// How much sooner than what it watches process 1 gets its turn, in nice values.
const AHEAD: libc::c_int = 10;

/// Goes ahead of other processes, where that is allowed (as root): a crowd in the sandbox must not
/// starve process 1, which inherits this. What it starts falls back ([`prepare`]).
pub(super) fn go_ahead() {
    // SAFETY: no pointers.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, -AHEAD);
    }
}

/// Becomes `id`, user and group, saved ids included, without other groups.
pub(super) fn become_user(id: u32) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
    setgroups(&[])?;
    setresgid(gid, gid, gid)?;
    setresuid(uid, uid, uid)
}

/// Sets the flag "up" of `lo` in the current network namespace.
pub(super) fn loopback_up() -> Result<(), Errno> {
    let any = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    // SAFETY: `ifreq` is plain old data; all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    // SAFETY: the descriptor is open, and both requests read and write one `ifreq`, which lives
    // across the calls; the flags are the member that SIOCGIFFLAGS has filled in.
    unsafe {
        Errno::result(libc::ioctl(
            any.as_raw_fd(),
            libc::SIOCGIFFLAGS,
            &mut request,
        ))?;
        request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
        Errno::result(libc::ioctl(any.as_raw_fd(), libc::SIOCSIFFLAGS, &request))?;
    }
    Ok(())
}

/// Makes a mount and all mounts below it ignore set-user-id bits, and read-only and without
/// devices where asked.
pub(super) fn restrict_mount(at: &Path, read_only: bool, no_devices: bool) -> Result<(), Errno> {
    /// `struct mount_attr` of `<linux/mount.h>`.
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        userns_fd: u64,
    }
    const RDONLY: u64 = 1;
    const NOSUID: u64 = 2;
    const NODEV: u64 = 4;
    let path = CString::new(at.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
    let attributes = MountAttr {
        set: NOSUID | if read_only { RDONLY } else { 0 } | if no_devices { NODEV } else { 0 },
        clear: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path is a C string and the attributes are a `struct mount_attr` of the size that
    // is passed; the kernel only reads both.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &attributes,
            size_of::<MountAttr>(),
        )
    };
    match Errno::result(done) {
        // Linux before 5.12: the mount itself only
        Err(Errno::ENOSYS) => {
            let mut flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_NOSUID;
            flags.set(MsFlags::MS_RDONLY, read_only);
            flags.set(MsFlags::MS_NODEV, no_devices);
            mount(None::<&str>, at, None::<&str>, flags, None::<&str>)
        }
        other => other.map(drop),
    }
}

/// A descriptor that becomes readable when the process ends.
pub(super) fn pidfd_open(pid: u32) -> Result<OwnedFd, Errno> {
    // SAFETY: no pointers; the result is a new descriptor that nobody else owns.
    unsafe {
        let fd = Errno::result(libc::syscall(libc::SYS_pidfd_open, pid, 0))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// A command that runs `enter` in the container instead of a program.
pub(super) fn contained(container: &Container, enter: fn() -> i32) -> hakoniwa::Command {
    // SAFETY: the closure runs in a fork of this process, which has a single thread (`__sandbox`
    // starts none), so that no lock can be held by a thread that the fork has not got.
    unsafe { container.command_from_closure(enter) }
}

/// Replaces this process; comes back only with an error. The environment is empty.
pub(super) fn execute(program: &str, arguments: &[&str]) -> std::io::Error {
    Command::new(program)
        .arg0(arguments.first().unwrap_or(&program))
        .args(arguments.iter().skip(1))
        .env_clear()
        .exec()
}

/// Gives up, for this process and its children for ever, every capability that a program start
/// could bring back.
pub(super) fn drop_bounding_set() -> Result<(), Errno> {
    for capability in 0..64 {
        // SAFETY: no pointers.
        let done = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        match Errno::result(done) {
            // past the last capability that this kernel knows
            Err(Errno::EINVAL) => break,
            other => other?,
        };
    }
    Ok(())
}

/// Puts a filter on the system calls of this process and all that it starts.
pub(super) fn filter_system_calls(program: &[libc::sock_filter]) -> Result<(), Errno> {
    let program = libc::sock_fprog {
        len: program.len().try_into().map_err(|_| Errno::EINVAL)?,
        filter: program.as_ptr().cast_mut(),
    };
    let install = |flags: libc::c_ulong| {
        // SAFETY: the program and its instructions live across the call; the kernel copies them
        // and writes to neither.
        let done = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        };
        Errno::result(done).map(drop)
    };
    // older kernels otherwise turn a processor's speculation off for filtered processes, which
    // costs more than the filter
    install(libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW).or_else(|_| install(0))
}

/// Sets a terminal's size; who is in its foreground is told.
pub(super) fn set_terminal_size(terminal: &OwnedFd, size: libc::winsize) -> Result<(), Errno> {
    // SAFETY: the descriptor is open, and the kernel only reads the size, which lives across the
    // call.
    let done = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    Errno::result(done).map(drop)
}

/// What a process is given between fork and exec.
#[derive(Clone, Copy, Debug)]
pub(super) struct Birth {
    /// Standard input is a terminal, which becomes its own.
    pub terminal: bool,
    /// Kept open across the program's start, under its own number.
    pub channel: Option<RawFd>,
    pub file_bytes: u64,
    pub threads: u64,
}

/// Arranges for `birth` to be applied to the process that `command` starts: a session of its own
/// and its limits. There is no limit on address space: CUDA reserves huge ranges of it.
pub(super) fn prepare(command: &mut Command, birth: Birth) {
    let set_up = move || {
        setsid()?;
        if birth.terminal {
            // SAFETY: no pointers; descriptor 0 is this process's own by now.
            Errno::result(unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) })?;
        }
        // SAFETY: no pointers. A plain priority again, where ours was raised; lowering never fails.
        unsafe {
            let own = libc::getpriority(libc::PRIO_PROCESS, 0);
            if own < 0 {
                libc::setpriority(libc::PRIO_PROCESS, 0, own + AHEAD);
            }
        }
        // with 0 a core dump is still piped to a handler; 1 turns off both kinds (core(5))
        lower(Resource::RLIMIT_CORE, 1)?;
        lower(Resource::RLIMIT_FSIZE, birth.file_bytes)?;
        lower(Resource::RLIMIT_NPROC, birth.threads)?;
        if let Some(fd) = birth.channel {
            // SAFETY: no pointers; the descriptor is open in the parent until after the spawn.
            Errno::result(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) })?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made: nothing allocates or locks.
    unsafe { command.pre_exec(set_up) };
}

/// Sets a limit, or leaves a lower one that is there already.
fn lower(resource: Resource, to: u64) -> Result<(), Errno> {
    let (_, hard) = nix::sys::resource::getrlimit(resource)?;
    let to = to.min(hard);
    setrlimit(resource, to, to)
}
