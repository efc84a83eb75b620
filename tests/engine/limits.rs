//! Limits: each ends what exceeds it, says so, and leaves the sandbox usable.

use std::time::{Duration, Instant};

use infradev::engine::{Loss, ProcessStatus, SandboxEvent, Stream};

use crate::common::blind;
use crate::house::{Box, Place, process, python, shell};
use crate::seen::wait_until_gone;

/// Runs until a limit is hit and gives its name; then the sandbox still works and is empty.
async fn hit(sandbox: &mut Box, id: u32) -> String {
    let seen = sandbox
        .until(|e| matches!(e, SandboxEvent::LimitHit { .. }))
        .await;
    let Some(SandboxEvent::LimitHit { limit, detail }) = seen.last() else {
        unreachable!()
    };
    assert!(!detail.is_empty());
    let seen = sandbox
        .until(|e| matches!(e, SandboxEvent::Exited { id: said, .. } if *said == id))
        .await;
    assert!(
        matches!(
            seen.last(),
            Some(SandboxEvent::Exited {
                status: ProcessStatus::Signaled(9),
                ..
            })
        ),
        "{seen:?}"
    );
    assert_eq!(sandbox.kill_all().await, 0);
    sandbox.run(process(id + 1, &["true"])).await.succeeded();
    limit.clone()
}

async fn ten_minutes_of_sleep_end_at_the_wall_limit(at: &Place) {
    let mut spec = at.spec();
    spec.limits.wall = Duration::from_millis(700);
    let begin = Instant::now();
    let mut sandbox = at.start(spec).await;
    sandbox
        .sandbox
        .spawn(shell(1, "trap '' TERM; sleep 600; sleep 600"))
        .unwrap();
    let seen = sandbox
        .until(|e| matches!(e, SandboxEvent::Closed { .. }))
        .await;
    assert!(
        begin.elapsed() < Duration::from_secs(4),
        "{:?}",
        begin.elapsed()
    );
    assert!(
        seen.iter()
            .any(|e| matches!(e, SandboxEvent::LimitHit { limit, .. } if limit == "wall")),
        "{seen:?}"
    );
    assert!(
        seen.iter().any(|e| matches!(
            e,
            SandboxEvent::Exited {
                id: 1,
                status: ProcessStatus::Signaled(9),
                ..
            }
        )),
        "{seen:?}"
    );
    assert!(sandbox.sandbox.next().await.is_none());
}

async fn a_fork_bomb_is_stopped_and_nobody_else_notices(at: &Place) {
    let mut other = at.start(at.spec()).await;
    let mut sandbox = at.start(at.spec()).await;
    sandbox
        .sandbox
        // one that goes on where no more processes can be had, and so cannot die out unseen
        .spawn(python(
            1,
            "import os, time\n\
             while True:\n\
             \x20   try: os.fork()\n\
             \x20   except OSError: time.sleep(0.01)\n",
        ))
        .unwrap();
    assert_eq!(hit(&mut sandbox, 1).await, "processes");
    let ran = other.run(process(1, &["echo", "fine"])).await;
    assert_eq!(ran.succeeded().out(), "fine\n");
    // threads count as well
    sandbox
        .sandbox
        .spawn(python(
            5,
            "import threading, time\n\
             for _ in range(70): threading.Thread(target=time.sleep, args=(600,)).start()\n",
        ))
        .unwrap();
    assert_eq!(hit(&mut sandbox, 5).await, "processes");
}

async fn as_many_processes_as_allowed_do_run(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let ran = sandbox
        .run(python(
            1,
            "import threading, time\n\
             ts = [threading.Thread(target=time.sleep, args=(0.3,)) for _ in range(60)]\n\
             [t.start() for t in ts]; [t.join() for t in ts]; print('all')",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "all\n");
}

async fn two_gigabytes_of_output_are_cut_counted_and_block_nobody(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let begin = Instant::now();
    let ran = sandbox
        .run(shell(1, "head -c 2147483648 /dev/zero; echo end >&2"))
        .await;
    eprintln!("2 GiB of output took {:?}", begin.elapsed());
    assert!(begin.elapsed() < Duration::from_secs(20));
    ran.succeeded();
    assert_eq!(ran.stdout.len(), 1 << 20);
    assert_eq!(ran.dropped_bytes, (1 << 31) - (1 << 20) + 4);
    assert_eq!(ran.truncated, [Stream::Stdout, Stream::Stderr]);
}

async fn a_memory_hog_is_stopped(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    sandbox
        .sandbox
        .spawn(python(
            1,
            "import time\nx = []\nwhile True: x.append(bytearray(16 << 20)); time.sleep(0.01)",
        ))
        .unwrap();
    assert_eq!(hit(&mut sandbox, 1).await, "memory");
}

async fn memory_that_is_in_no_process_counts(at: &Place) {
    for (id, hog) in [
        (
            // files in memory, never mapped
            10,
            "import os, time\nkept = []\n\
             while True:\n\
             \x20   f = os.memfd_create('x'); kept.append(f)\n\
             \x20   os.write(f, b'x' * (32 << 20)); time.sleep(0.01)",
        ),
        (
            // System V segments, detached
            20,
            "import ctypes, time\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n\
             while True:\n\
             \x20   i = libc.shmget(0, 32 << 20, 0o1600)\n\
             \x20   a = libc.shmat(i, None, 0)\n\
             \x20   ctypes.memset(a, 1, 32 << 20); libc.shmdt(ctypes.c_void_p(a)); time.sleep(0.01)",
        ),
        (
            // anonymous memory shared between two
            30,
            "import mmap, os, time\nm = []\n\
             while True:\n\
             \x20   m.append(mmap.mmap(-1, 32 << 20)); m[-1].write(b'x' * (32 << 20)); time.sleep(0.01)",
        ),
    ] {
        let mut sandbox = at.start(at.spec()).await;
        sandbox.sandbox.spawn(python(id, hog)).unwrap();
        assert_eq!(hit(&mut sandbox, id).await, "memory", "{hog}");
    }
}

async fn memory_shared_by_many_counts_once(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    // 8 processes with the same 200 MiB: 1600 MiB by resident size, under the limit of 512
    let ran = sandbox
        .run(python(
            1,
            "import os, time\nx = bytearray(200 << 20)\n\
             for _ in range(7):\n\
             \x20   if os.fork() == 0: time.sleep(1.0); os._exit(0)\n\
             for _ in range(7): os.wait()\n\
             print('kept')",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "kept\n");
    assert!(ran.limits.is_empty());
}

async fn scratch_that_is_mapped_counts_once(at: &Place) {
    let mut spec = at.spec();
    spec.limits.memory_bytes = 300 << 20;
    spec.limits.shm_bytes = 256 << 20;
    spec.limits.file_bytes = 256 << 20;
    let mut sandbox = at.start(spec).await;
    let ran = sandbox
        .run(python(
            1,
            "import mmap, time\nf = open('/dev/shm/x', 'w+b'); f.truncate(200 << 20)\n\
             m = mmap.mmap(f.fileno(), 200 << 20)\n\
             for i in range(200): m[i << 20:(i + 1) << 20] = b'x' * (1 << 20)\n\
             time.sleep(0.7); print('kept')",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "kept\n");
    assert!(ran.limits.is_empty());
}

async fn a_file_over_its_limit_is_not_written(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let mut spec = at.spec();
    spec.limits.file_bytes = 1 << 20;
    let mut small = at.start(spec).await;
    for (sandbox, fits) in [(&mut sandbox, true), (&mut small, false)] {
        let ran = sandbox
            .run(shell(1, "head -c 2000000 /dev/zero > /tmp/file"))
            .await;
        assert_eq!(ran.status == Some(ProcessStatus::Exited(0)), fits);
    }
    let ran = small
        .run(python(
            2,
            "import errno\n\
             try:\n\
             \x20   with open('/tmp/f', 'wb') as f: f.write(b'x' * 2000000)\n\
             except OSError as e: print(errno.errorcode[e.errno])",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "EFBIG\n");
}

async fn process_1_cannot_be_blinded_or_starved_from_inside(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    // the kernel would let the same user do all of it
    let ran = sandbox
        .run(python(
            1,
            "import errno, os, resource, signal\n\
             def no(call, *args):\n\
             \x20   try: call(*args)\n\
             \x20   except PermissionError: return\n\
             \x20   print(call, args)\n\
             no(resource.prlimit, 1, resource.RLIMIT_NOFILE, (0, 0))\n\
             no(os.setpriority, os.PRIO_PROCESS, 1, 19)\n\
             no(os.setpriority, os.PRIO_USER, 0, 19)\n\
             no(os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0))\n\
             no(os.sched_setaffinity, 1, os.sched_getaffinity(0))\n\
             for own in (0, os.getpid()):\n\
             \x20   resource.prlimit(own, resource.RLIMIT_NOFILE, (99, 99))\n\
             \x20   os.setpriority(os.PRIO_PROCESS, own, 3)\n\
             \x20   os.sched_setscheduler(own, os.SCHED_IDLE, os.sched_param(0))\n\
             print('done')",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "done\n");
    assert_eq!(sandbox.kill_all().await, 0);
    sandbox.sandbox.close().await;
}

/// Whatever way there is past the filter: the sandbox is over, and not by the machine's doing.
async fn a_blind_process_1_is_the_end_and_the_doing_of_what_runs(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let script = "sleep 641 & echo up; sleep 641";
    sandbox.sandbox.spawn(shell(1, script)).unwrap();
    let ours = at.whole_sandbox("sleep 641").await;
    let init = ours.iter().find(|p| p.1.contains("__init")).unwrap().0;
    blind(init);
    let seen = sandbox
        .until(|e| matches!(e, SandboxEvent::Closed { .. }))
        .await;
    let hit =
        |e: &SandboxEvent| matches!(e, SandboxEvent::LimitHit { limit, .. } if limit == "sandbox");
    assert!(seen.iter().any(hit), "{seen:?}");
    let ended = |e: &SandboxEvent| matches!(e, SandboxEvent::Exited { id: 1, .. });
    assert!(seen.iter().any(ended), "{seen:?}");
    assert!(
        matches!(
            seen.last(),
            Some(SandboxEvent::Closed {
                reason: Some(Loss::Inside(_))
            })
        ),
        "{seen:?}"
    );
    wait_until_gone(&ours, Duration::ZERO).await;
}

/// Two processes that each want a processor for a moment: on one, they take two moments.
async fn processors_are_as_many_as_allowed(at: &Place) {
    let busy = "import os, time\n\
        begun = time.monotonic()\n\
        children = []\n\
        for _ in range(2):\n\
        \x20   child = os.fork()\n\
        \x20   if not child:\n\
        \x20       while time.process_time() < 0.5: pass\n\
        \x20       os._exit(0)\n\
        \x20   children.append(child)\n\
        for child in children: os.waitpid(child, 0)\n\
        print(time.monotonic() - begun)";
    let mut spec = at.spec();
    spec.limits.cpus = Some(1);
    let mut sandbox = at.start(spec).await;
    let run = sandbox.run(python(1, busy)).await;
    run.succeeded();
    let took: f64 = run.out().trim().parse().unwrap();
    // on a machine of one processor it cannot be otherwise, and nothing is shown
    assert!(took > 0.9, "{took}");
}

crate::house::both!(
    processors_are_as_many_as_allowed,
    ten_minutes_of_sleep_end_at_the_wall_limit,
    a_fork_bomb_is_stopped_and_nobody_else_notices,
    as_many_processes_as_allowed_do_run,
    two_gigabytes_of_output_are_cut_counted_and_block_nobody,
    a_memory_hog_is_stopped,
    memory_that_is_in_no_process_counts,
    memory_shared_by_many_counts_once,
    scratch_that_is_mapped_counts_once,
    a_file_over_its_limit_is_not_written,
    process_1_cannot_be_blinded_or_starved_from_inside,
    a_blind_process_1_is_the_end_and_the_doing_of_what_runs,
);
