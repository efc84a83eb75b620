//! What cannot be seen, written or reached from inside.

use infradev::engine::{Access, Network};
use tempfile::TempDir;

use crate::house::{Place, mount, process, python, shell, write};

async fn nothing_inside_has_capabilities_or_can_get_any(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let ran = sandbox
        .run(shell(
            1,
            "id -u; grep -E '^(Cap|NoNewPrivs|Groups)' /proc/self/status",
        ))
        .await;
    let out = ran.succeeded().out();
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some(at.inner_user().to_string().as_str()));
    for line in lines {
        let (name, value) = line.split_once('\t').unwrap();
        match name {
            "NoNewPrivs:" => assert_eq!(value, "1"),
            "Groups:" => {}
            _ => assert_eq!(value, "0000000000000000", "{line}"),
        }
    }
    for (id, script) in [
        (2, "unshare --user true"),
        (3, "unshare --mount true"),
        (4, "mount -t tmpfs none /tmp"),
        (5, "mount -o remount,rw /usr"),
        (6, "umount /proc/sys"),
        (7, "chroot / true"),
        (8, "su root -c true </dev/null"),
    ] {
        let ran = sandbox.run(shell(id, script)).await;
        assert_ne!(
            ran.status,
            Some(infradev::engine::ProcessStatus::Exited(0)),
            "{script}"
        );
    }
}

async fn the_kernels_settings_cannot_be_written(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let ran = sandbox
        .run(python(
            1,
            "import os\n\
             for path in ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe',\n\
                          '/proc/sysrq-trigger', '/proc/sys/vm/drop_caches',\n\
                          '/proc/sys/user/max_user_namespaces', '/proc/1/oom_score_adj',\n\
                          '/sys/devices/system/cpu/cpu0/uevent']:\n\
             \x20   if not os.path.exists(path): continue\n\
             \x20   try: os.close(os.open(path, os.O_WRONLY)); print('open:', path)\n\
             \x20   except OSError as e: pass\n\
             for path in ['/proc/kcore', '/proc/keys', '/proc/kallsyms']:\n\
             \x20   try: print(open(path).read(1), end='')\n\
             \x20   except OSError as e: pass\n\
             print('done')",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "done\n");
}

async fn the_machines_files_are_not_there(at: &Place) {
    let home = TempDir::new().unwrap();
    write(&home.path().join("secret"), "x");
    let mut sandbox = at.start(at.spec()).await;
    let secret = home.path().join("secret");
    let here = env!("CARGO_MANIFEST_DIR");
    let script = format!(
        "cat /etc/shadow; for d in /root /home {here} {here}/tasks; do ls -A $d; done; cat {}",
        secret.display()
    );
    let ran = sandbox.run(shell(1, &script)).await;
    assert_eq!(ran.out(), "");
    let ran = sandbox
        .run(shell(2, "cat /etc/passwd | wc -l; ls -A / /var"))
        .await;
    let out = ran.out();
    let mut names: Vec<_> = out.lines().collect();
    names.retain(|n| !["bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr"].contains(n));
    let local = ["3", "/:", "dev", "etc", "infradev", "proc", "sys", "tmp"];
    // the image's own
    let debian = [
        "3",
        "/:",
        ".dockerenv",
        "boot",
        "dev",
        "etc",
        "home",
        "infradev",
        "media",
        "mnt",
        "opt",
        "proc",
        "root",
        "run",
        "srv",
        "sys",
        "tmp",
        "var",
        "",
        "/var:",
        "backups",
        "cache",
        "local",
        "lock",
        "log",
        "mail",
        "opt",
        "run",
        "spool",
        "tmp",
    ];
    let expected = if at.containers.is_some() {
        &debian[..]
    } else {
        &local
    };
    assert_eq!(names, expected);
}

async fn only_minimal_devices_are_there_and_none_can_be_added(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let ran = sandbox
        .run(shell(
            1,
            "ls /dev; echo x > /dev/file; echo x > /dev/null && head -c 4 /dev/zero | wc -c",
        ))
        .await;
    let out = ran.succeeded().out();
    let mut names: Vec<_> = out.split_whitespace().collect();
    let mut expected = vec![
        "core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout",
        "tty", "urandom", "zero", "4",
    ];
    if at.containers.is_some() {
        // message queues of its own; a link to the kernel's memory, where the kernel shows that
        names.retain(|name| !["core", "mqueue"].contains(name));
        expected.remove(0);
    }
    assert_eq!(names, expected);
}

async fn no_address_outside_can_be_reached_and_loopback_can(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let ran = sandbox
        .run(python(
            1,
            "import errno, socket\n\
             for family, address in [(socket.AF_INET, '192.0.2.1'), (socket.AF_INET6, '2001:db8::1')]:\n\
             \x20   s = socket.socket(family)\n\
             \x20   try: s.connect((address, 80))\n\
             \x20   except OSError as e: print(errno.errorcode[e.errno])\n\
             print(socket.if_nameindex())",
        ))
        .await;
    assert_eq!(
        ran.succeeded().out(),
        "ENETUNREACH\nENETUNREACH\n[(1, 'lo')]\n"
    );
    // two processes, by name
    let serves = "import socket\ns = socket.create_server(('localhost', 29500))\n\
                  print('up', flush=True)\nc, _ = s.accept()\nc.sendall(b'over lo')\n";
    sandbox.sandbox.spawn(python(2, serves)).unwrap();
    sandbox
        .until(|e| matches!(e, infradev::engine::SandboxEvent::Output { id: 2, .. }))
        .await;
    let ran = sandbox
        .run(python(
            3,
            "import socket\nprint(socket.create_connection(('localhost', 29500)).recv(99).decode())",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "over lo\n");
}

async fn process_1_can_be_neither_traced_nor_opened_nor_killed(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let ran = sandbox
        .run(python(
            1,
            "import ctypes, os, signal\n\
             libc = ctypes.CDLL(None, use_errno=True)\n\
             for request in (16, 0x4206):\n\
             \x20   assert libc.ptrace(request, 1, 0, 0) == -1, request\n\
             for path in ('fd', 'map_files', 'task/1/fd'):\n\
             \x20   try: print(path, os.listdir('/proc/1/' + path))\n\
             \x20   except PermissionError: pass\n\
             for path in ('mem', 'environ', 'maps'):\n\
             \x20   try: print(path, open('/proc/1/' + path, 'rb').read(1))\n\
             \x20   except PermissionError: pass\n\
             for path in ('exe', 'cwd', 'root'):\n\
             \x20   try: print(path, os.readlink('/proc/1/' + path))\n\
             \x20   except PermissionError: pass\n\
             for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGINT):\n\
             \x20   os.kill(1, number)\n\
             print('done')",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "done\n");
    sandbox.run(process(2, &["true"])).await.succeeded();
}

async fn two_sandboxes_do_not_see_each_other(at: &Place) {
    let mut one = at.start(at.spec()).await;
    let mut two = at.start(at.spec()).await;
    one.sandbox
        .spawn(shell(
            1,
            "echo mine > /tmp/file; echo mine > /dev/shm/file; echo up; exec sleep 600",
        ))
        .unwrap();
    one.until(|e| matches!(e, infradev::engine::SandboxEvent::Output { .. }))
        .await;
    let ran = two
        .run(shell(
            1,
            "ls /tmp /dev/shm; cat /proc/[0-9]*/comm | grep -c sleep; true",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "/dev/shm:\n\n/tmp:\n0\n");
    assert_eq!(two.kill_all().await, 0);
    assert_eq!(one.kill_all().await, 1);
}

async fn the_keys_of_the_session_stay_outside(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let ran = sandbox
        .run(python(
            1,
            "import ctypes\n\
             libc = ctypes.CDLL(None, use_errno=True)\n\
             session = ctypes.c_int(-3)\n\
             buffer = ctypes.create_string_buffer(4096)\n\
             size = libc.syscall(250, 11, session, buffer, 4096)\n\
             print(max(size, 0))",
        ))
        .await;
    // an empty keyring, or none
    assert_eq!(ran.succeeded().out(), "0\n");
}

async fn our_own_binary_is_read_only(at: &Place) {
    let folder = TempDir::new().unwrap();
    let mut spec = at.spec();
    spec.mounts = vec![mount(folder.path(), "/work", Access::ReadWrite)];
    let mut sandbox = at.start(spec).await;
    let ran = sandbox
        .run(shell(
            1,
            "echo x > /infradev/init || rm -f /infradev/init || ls /infradev",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "init\n");
}

async fn the_hosts_network_is_there_only_when_asked_for(at: &Place) {
    let mut spec = at.spec();
    spec.network = Network::Host;
    let mut sandbox = at.start(spec).await;
    let ran = sandbox
        .run(shell(1, "readlink /proc/self/ns/net; ls /etc/resolv.conf"))
        .await;
    let outside = std::fs::read_link("/proc/self/ns/net").unwrap();
    let out = ran.out();
    assert_eq!(out.lines().next(), outside.to_str());
    assert_eq!(
        out.contains("/etc/resolv.conf"),
        std::path::Path::new("/etc/resolv.conf").exists()
    );
}

async fn a_leased_device_can_be_opened_and_its_neighbourhood_seen(at: &Place) {
    let mut spec = at.spec();
    spec.devices = vec!["/dev/zero".into()];
    let mut sandbox = at.start(spec).await;
    let ran = sandbox
        .run(shell(
            1,
            "head -c 3 /dev/zero | wc -c; ls -d /sys/bus/pci /sys/class",
        ))
        .await;
    let expected = ["/sys/bus/pci", "/sys/class"]
        .iter()
        .filter(|p| std::path::Path::new(p).exists())
        .fold("3\n".to_owned(), |text, p| text + p + "\n");
    assert_eq!(ran.out(), expected);
}

async fn doors_that_no_namespace_closes_are_closed(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let ran = sandbox
        .run(python(
            1,
            "import ctypes, errno, socket\n\
             libc = ctypes.CDLL(None, use_errno=True)\n\
             for family in (socket.AF_VSOCK, socket.AF_PACKET, socket.AF_ALG):\n\
             \x20   try: socket.socket(family, socket.SOCK_STREAM); print('open', family)\n\
             \x20   except OSError as e: print(errno.errorcode[e.errno])\n\
             for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):\n\
             \x20   socket.socket(family, socket.SOCK_DGRAM)\n\
             print(libc.unshare(0x10000000), errno.errorcode[ctypes.get_errno()])\n\
             print([l for l in open('/proc/self/status') if l.startswith('Seccomp:')])",
        ))
        .await;
    assert_eq!(
        ran.succeeded().out(),
        "EAFNOSUPPORT\nEAFNOSUPPORT\nEAFNOSUPPORT\n-1 EPERM\n['Seccomp:\\t2\\n']\n"
    );
}

crate::house::both!(
    nothing_inside_has_capabilities_or_can_get_any,
    the_kernels_settings_cannot_be_written,
    the_machines_files_are_not_there,
    only_minimal_devices_are_there_and_none_can_be_added,
    no_address_outside_can_be_reached_and_loopback_can,
    process_1_can_be_neither_traced_nor_opened_nor_killed,
    two_sandboxes_do_not_see_each_other,
    the_keys_of_the_session_stay_outside,
    our_own_binary_is_read_only,
    the_hosts_network_is_there_only_when_asked_for,
    a_leased_device_can_be_opened_and_its_neighbourhood_seen,
    doors_that_no_namespace_closes_are_closed,
);
