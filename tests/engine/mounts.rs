//! Mounts: where they land, who may write, who owns what is left.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use infradev::engine::{Access, EngineError, ProcessStatus, Sandbox};
use tempfile::TempDir;

use crate::house::{Place, mount, options, shell, write};

async fn read_only_refuses_and_read_write_accepts_and_files_come_back_as_ours(at: &Place) {
    let before = std::fs::metadata("/etc/passwd").unwrap();
    let before = (before.uid(), before.gid());
    let (fixed, work) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(&fixed.path().join("file"), "fixed");
    write(&work.path().join("old"), "old");
    symlink("/etc/hostname", work.path().join("link")).unwrap();
    let mut spec = at.spec();
    spec.mounts = vec![
        mount(fixed.path(), "/fixed", Access::ReadOnly),
        mount(work.path(), "/work", Access::ReadWrite),
    ];
    let mut sandbox = at.start(spec).await;
    let ran = sandbox
        .run(shell(
            1,
            "cd /work && echo more >> old && mkdir -p new/deep && echo new > new/deep/file && \
             cp /bin/true suid && chmod 4755 suid && mkfifo fifo && ln -s /etc/passwd new/link || exit 9\n\
             cat /fixed/file; echo x >> /fixed/file || echo x > /fixed/other || rm -f /fixed/file || echo refused",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "fixedrefused\n");
    sandbox.sandbox.close().await;

    let at = |name: &str| work.path().join(name);
    assert_eq!(
        std::fs::read_to_string(at("old")).unwrap(),
        "old\nmore\n".replacen('\n', "", 1)
    );
    assert_eq!(
        std::fs::read_to_string(at("new/deep/file")).unwrap(),
        "new\n"
    );
    let own = (
        nix::unistd::geteuid().as_raw(),
        nix::unistd::getegid().as_raw(),
    );
    for name in [
        "",
        "old",
        "new",
        "new/deep/file",
        "suid",
        "fifo",
        "link",
        "new/link",
    ] {
        let metadata = at(name).symlink_metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), own, "{name}");
    }
    // a program of the sandbox's that would run as us, whoever starts it
    let mode = at("suid").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    assert_eq!(
        std::fs::read_to_string(fixed.path().join("file")).unwrap(),
        "fixed"
    );
    // what links point to was not given away
    let after = std::fs::metadata("/etc/passwd").unwrap();
    assert_eq!((after.uid(), after.gid()), before);
}

async fn a_source_below_a_closed_folder_works(at: &Place) {
    let closed = TempDir::new().unwrap();
    let inner = closed.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    write(&inner.join("file"), "found");
    let mode = std::fs::Permissions::from_mode;
    std::fs::set_permissions(closed.path(), mode(0o700)).unwrap();
    let mut spec = at.spec();
    spec.mounts = vec![
        mount(&inner, "/inner", Access::ReadOnly),
        mount(inner.join("file"), "/one/file", Access::ReadOnly),
    ];
    let mut sandbox = at.start(spec).await;
    let ran = sandbox.run(shell(1, "cat /inner/file /one/file")).await;
    assert_eq!(ran.succeeded().out(), "foundfound");
}

async fn targets_below_read_only_mounts_work_and_touch_no_source(at: &Place) {
    let (tool, base) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(&tool.path().join("file"), "tool");
    std::fs::create_dir_all(base.path().join("a/b")).unwrap();
    write(&base.path().join("a/kept"), "kept");
    let mut spec = at.spec();
    spec.mounts = vec![
        mount(tool.path(), "/usr/local/not-there/x", Access::ReadOnly),
        mount(tool.path(), "/lib/not-there-either", Access::ReadOnly),
        mount(base.path(), "/base", Access::ReadOnly),
        mount(tool.path(), "/base/a/b", Access::ReadOnly),
        mount(tool.path(), "/base/a/c/d", Access::ReadOnly),
        mount(tool.path().join("file"), "/base/file", Access::ReadOnly),
        mount(tool.path(), "/tmp/tool", Access::ReadOnly),
    ];
    let mut sandbox = at.start(spec).await;
    let ran = sandbox
        .run(shell(
            1,
            "cat /usr/local/not-there/x/file /lib/not-there-either/file /base/a/b/file \
             /base/a/c/d/file /base/a/kept /base/file /tmp/tool/file; \
             echo x > /base/new || echo x > /base/a/new || echo x > /usr/new || echo x > /usr/local/new || echo; \
             python3 -c 'print(1)'; echo x > /tmp/new",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "tooltooltooltoolkepttooltool\n1\n");
    sandbox.sandbox.close().await;
    assert!(!base.path().join("a/c").exists() && !base.path().join("file").exists());
    assert!(!std::path::Path::new("/usr/local/not-there").exists());
}

async fn mounts_inside_a_writable_tree_lie_on_top_of_it(at: &Place) {
    let (work, suite) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    std::fs::create_dir(work.path().join("tests")).unwrap();
    write(&work.path().join("tests/own"), "own");
    write(&suite.path().join("case"), "case");
    let mut spec = at.spec();
    spec.mounts = vec![
        mount(suite.path(), "/work/tests", Access::ReadOnly),
        mount(work.path(), "/work", Access::ReadWrite),
    ];
    let mut sandbox = at.start(spec).await;
    let ran = sandbox
        .run(shell(
            1,
            "ls /work/tests; echo x > /work/tests/case || rm -r /work/tests || mv /work/tests /work/t || echo refused",
        ))
        .await;
    assert_eq!(ran.succeeded().out(), "case\nrefused\n");
}

async fn what_cannot_be_mounted_is_refused_by_name(at: &Place) {
    let work = TempDir::new().unwrap();
    symlink("/", work.path().join("link")).unwrap();
    write(&work.path().join("file"), "");
    let tree = |target: &str| mount(work.path(), target, Access::ReadOnly);
    let writable = mount(work.path(), "/work", Access::ReadWrite);
    for (mounts, named) in [
        (vec![mount("/no/such", "/x", Access::ReadOnly)], "/no/such"),
        (vec![mount("/no/such", "/x", Access::ReadWrite)], "/no/such"),
        (vec![tree("relative")], "relative"),
        (vec![tree("/a/../etc")], "/a/../etc"),
        (vec![tree("/etc")], "/etc"),
        (vec![tree("/proc/x")], "/proc/x"),
        (vec![tree("/")], "/"),
        (vec![writable.clone(), tree("/work/new")], "/work/new"),
        (
            vec![writable.clone(), tree("/work/link/etc")],
            "/work/link/etc",
        ),
        (vec![writable, tree("/work/file")], "/work/file"),
    ] {
        let mut spec = at.spec();
        spec.mounts = mounts;
        let refused = Sandbox::start_local_with(spec, work.path(), &options()).await;
        match refused {
            Err(EngineError::Mount { what, .. }) => assert_eq!(what, named),
            Err(other) => panic!("{named}: {other}"),
            Ok(_) => panic!("{named} was mounted"),
        }
        assert!(!work.path().join("new").exists());
    }
}

async fn scratch_and_shared_memory_have_their_size(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let ran = sandbox
        .run(shell(
            1,
            "for d in /tmp /dev/shm; do head -c 20000000 /dev/zero > $d/a && head -c 20000000 /dev/zero > $d/b || echo full; done",
        ))
        .await;
    assert_eq!(ran.out(), "full\nfull\n");
    assert_eq!(ran.status, Some(ProcessStatus::Exited(0)));
}

crate::house::both!(
    read_only_refuses_and_read_write_accepts_and_files_come_back_as_ours,
    a_source_below_a_closed_folder_works,
    targets_below_read_only_mounts_work_and_touch_no_source,
    mounts_inside_a_writable_tree_lie_on_top_of_it,
    what_cannot_be_mounted_is_refused_by_name,
    scratch_and_shared_memory_have_their_size,
);
