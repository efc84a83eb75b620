//! A filter on system calls, for process 1 and everything that it starts.
//!
//! Namespaces leave some doors of the kernel open to a user without any capability: families of
//! sockets that belong to no network namespace (a virtual machine's line to its host), keyrings,
//! and large machinery with a history of holes. None of it is needed to build or test. What is
//! refused fails with an error that callers know how to live with.
//!
//! Process 1 has the user of what it watches, which the kernel lets lower its limits and its
//! priority; that would blind or starve it, and is refused as well.

use nix::libc::{self, sock_filter};

use super::sys;

/// Families of sockets that are kept apart by the network namespace, and netlink.
const FAMILIES: [i32; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// Refused with "operation not permitted".
const REFUSED: [libc::c_long; 29] = [
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
];

/// Calls on the process that their first argument names.
const ON_A_PROCESS: [libc::c_long; 5] = [
    libc::SYS_prlimit64,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
];
/// Calls on one or many processes, by their first two arguments; and which kind means all of a
/// user's.
const ON_PROCESSES: [(libc::c_long, u32); 2] = [
    (libc::SYS_setpriority, libc::PRIO_USER),
    (libc::SYS_ioprio_set, IOPRIO_WHO_USER),
];
/// `<linux/ioprio.h>`
const IOPRIO_WHO_USER: u32 = 3;

/// As if the kernel were built without: libraries that want them have another way.
const ABSENT: [libc::c_long; 3] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Numbers from here on are another calling convention of the same processor (x32).
const OTHER_CONVENTION: u32 = 0x4000_0000;

// offsets in `struct seccomp_data`
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
/// The low half of the first argument, on the little-endian machines that we run on.
const FIRST_ARGUMENT_AT: u32 = 16;
const SECOND_ARGUMENT_AT: u32 = 24;

/// Puts the filter on this process for ever. Kernels that have no filters go without: it is the
/// second lock on most of these doors.
pub(super) fn install() {
    sys::filter_system_calls(&program(std::process::id())).ok();
}

/// The filter's program: straight comparisons, each followed by its verdict. `own`: process 1.
fn program(own: u32) -> Vec<sock_filter> {
    let mut program = vec![load(ARCHITECTURE_AT)];
    program.extend(unless_equal(ARCHITECTURE, refuse(libc::ENOSYS)));
    program.push(load(NUMBER_AT));
    program.extend(if_at_least(OTHER_CONVENTION, refuse(libc::ENOSYS)));
    for number in REFUSED {
        program.extend(if_equal(number as u32, refuse(libc::EPERM)));
    }
    for number in ABSENT {
        program.extend(if_equal(number as u32, refuse(libc::ENOSYS)));
    }
    for number in ON_A_PROCESS {
        let mut body = vec![load(FIRST_ARGUMENT_AT)];
        body.extend(if_equal(own, refuse(libc::EPERM)));
        program.extend(only_for(number, body));
    }
    for (number, all_of_a_user) in ON_PROCESSES {
        let mut body = vec![load(FIRST_ARGUMENT_AT)];
        body.extend(if_equal(all_of_a_user, refuse(libc::EPERM)));
        body.push(load(SECOND_ARGUMENT_AT));
        body.extend(if_equal(own, refuse(libc::EPERM)));
        program.extend(only_for(number, body));
    }
    program.extend(unless_equal(libc::SYS_socket as u32, ALLOW));
    program.push(load(FIRST_ARGUMENT_AT));
    for family in FAMILIES {
        program.extend(if_equal(family.cast_unsigned(), ALLOW));
    }
    program.push(answer(refuse(libc::EAFNOSUPPORT)));
    program
}

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

fn refuse(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()
}

const fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}

fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
}

fn answer(verdict: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, verdict)
}

/// `body` where the call is `number`, allowed where it says nothing else.
fn only_for(number: libc::c_long, mut body: Vec<sock_filter>) -> Vec<sock_filter> {
    body.push(answer(ALLOW));
    let jump = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    // a body is a few instructions
    body.insert(0, instruction(jump, 0, body.len() as u8, number as u32));
    body
}

fn if_equal(value: u32, verdict: u32) -> [sock_filter; 2] {
    let jump = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    [instruction(jump, 0, 1, value), answer(verdict)]
}

fn unless_equal(value: u32, verdict: u32) -> [sock_filter; 2] {
    let jump = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    [instruction(jump, 1, 0, value), answer(verdict)]
}

fn if_at_least(value: u32, verdict: u32) -> [sock_filter; 2] {
    let jump = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    [instruction(jump, 0, 1, value), answer(verdict)]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const OWN: u32 = 1;

    /// What the kernel would answer: runs the few instructions that the program is made of.
    fn verdict(number: u32, architecture: u32, [first, second]: [u32; 2]) -> u32 {
        let program = program(OWN);
        let mut at = 0;
        let mut value = 0;
        loop {
            let i = program.get(at).unwrap();
            at += 1;
            match u32::from(i.code) & 0x07 {
                0x00 => {
                    value = match i.k {
                        NUMBER_AT => number,
                        ARCHITECTURE_AT => architecture,
                        FIRST_ARGUMENT_AT => first,
                        SECOND_ARGUMENT_AT => second,
                        other => panic!("load of {other}"),
                    }
                }
                0x05 => {
                    let holds = match u32::from(i.code) & 0xf0 {
                        0x10 => value == i.k,
                        0x30 => value >= i.k,
                        other => panic!("jump {other:x}"),
                    };
                    at += usize::from(if holds { i.jt } else { i.jf });
                }
                0x06 => return i.k,
                other => panic!("instruction {other:x}"),
            }
        }
    }

    #[test]
    fn what_is_named_is_refused_and_the_rest_allowed() {
        let here = |number: libc::c_long, first: i32| {
            verdict(number as u32, ARCHITECTURE, [first.cast_unsigned(), 0])
        };
        assert_eq!(here(libc::SYS_read, 0), ALLOW);
        assert_eq!(here(libc::SYS_clone3, 0), ALLOW);
        assert_eq!(here(libc::SYS_bpf, 0), refuse(libc::EPERM));
        assert_eq!(here(libc::SYS_syslog, 0), refuse(libc::EPERM));
        assert_eq!(here(libc::SYS_io_uring_setup, 0), refuse(libc::ENOSYS));
        for family in FAMILIES {
            assert_eq!(here(libc::SYS_socket, family), ALLOW);
        }
        for family in [libc::AF_VSOCK, libc::AF_PACKET, libc::AF_ALG, -1] {
            assert_eq!(here(libc::SYS_socket, family), refuse(libc::EAFNOSUPPORT));
        }
        assert_eq!(verdict(0, 0x4000_0003, [0, 0]), refuse(libc::ENOSYS));
        let x32 = OTHER_CONVENTION | libc::SYS_bpf as u32;
        assert_eq!(verdict(x32, ARCHITECTURE, [0, 0]), refuse(libc::ENOSYS));
    }

    #[test]
    fn process_1_keeps_its_limits_and_its_priority() {
        let here = |number: libc::c_long, arguments: [u32; 2]| {
            verdict(number as u32, ARCHITECTURE, arguments)
        };
        let no = refuse(libc::EPERM);
        for number in ON_A_PROCESS {
            assert_eq!(here(number, [OWN, 7]), no);
            // its own, by either name, and another one beside it
            assert_eq!(here(number, [0, OWN]), ALLOW);
            assert_eq!(here(number, [77, OWN]), ALLOW);
        }
        for (number, all_of_a_user) in ON_PROCESSES {
            for which in 0..4 {
                assert_eq!(here(number, [which, OWN]), no);
                let others = here(number, [which, 0]);
                assert_eq!(others == no, which == all_of_a_user, "{which}");
            }
        }
        assert_eq!(here(libc::SYS_getpriority, [0, OWN]), ALLOW);
    }
}
