//! The repository that an agent works in, as the git command line sees it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use infradev::workspace::GIT_ENVIRONMENT;

use crate::bench::Bench;
use crate::kit::{Files, files, git, read, with};

fn base() -> Files {
    with(
        files(&[
            ("src/a.py", "a = 1\n"),
            ("crlf.txt", "a\r\nb\r\n"),
            // what git would change on the way in and out
            (
                ".gitattributes",
                "*.txt text=auto\n*.id ident\n*.dat filter=lfs\n",
            ),
            ("v.id", "$Id: theirs $\n"),
            ("x.dat", "data\n"),
            (".gitignore", "*.log\n"),
            ("kept.log", "tracked all the same\n"),
        ]),
        &[
            (b"run", 0o100_755, b"#!/bin/sh\n"),
            (b"link", 0o120_000, b"src"),
            (b"\xff \"\n", 0o100_644, b"odd\n"),
        ],
    )
}

fn text(bench: &Bench, args: &[&str]) -> String {
    String::from_utf8(git(&bench.work, args).unwrap()).unwrap()
}

#[test]
fn it_is_one_clean_commit() {
    let bench = Bench::new(&base());
    let mut there = read(&bench.work);
    there.retain(|path, _| !path.starts_with(b".git/"));
    assert_eq!(there, base());
    assert_eq!(text(&bench, &["status", "--porcelain=v2", "--branch"]), {
        let head = text(&bench, &["rev-parse", "HEAD"]);
        format!("# branch.oid {}\n# branch.head main\n", head.trim())
    });
    assert_eq!(text(&bench, &["diff"]), "");
    // without a refresh of the index, too
    assert_eq!(text(&bench, &["diff-files"]), "");
    assert_eq!(
        text(&bench, &["log", "--all", "--format=%an %ae %at %s"]),
        "infradev infradev@localhost 1704067200 Base\n"
    );
    assert_eq!(text(&bench, &["rev-list", "--count", "--all"]), "1\n");
    assert_eq!(text(&bench, &["fsck", "--strict", "--full"]), "");
    // made again it is the same commit
    let again = bench.dir.path().join("again");
    bench
        .base
        .agent_repository(bench.base.tree(), &again)
        .unwrap();
    assert_eq!(
        git(&again, &["rev-parse", "HEAD"]).unwrap(),
        git(&bench.work, &["rev-parse", "HEAD"]).unwrap()
    );
}

#[test]
fn it_holds_no_object_ref_or_log_beside_that_commit() {
    let bench = Bench::new(&base());
    // an object of another tree is in the snapshot's memory, and its commit
    let later = bench.base.with_files(
        bench.base.tree(),
        &[("src/gold.py".into(), b"GOLD\n".to_vec())],
    );
    let other = bench.dir.path().join("other");
    bench.base.agent_repository(later.unwrap(), &other).unwrap();
    let after = bench.dir.path().join("after");
    bench
        .base
        .agent_repository(bench.base.tree(), &after)
        .unwrap();
    for work in [&bench.work, &after] {
        let ids = |args: &[&str]| -> BTreeSet<String> {
            let text = String::from_utf8(git(work, args).unwrap()).unwrap();
            let id = |line: &str| line.split_whitespace().next().unwrap().to_owned();
            text.lines().map(id).collect()
        };
        let all = ids(&["cat-file", "--batch-all-objects", "--batch-check"]);
        let mut wanted = ids(&["ls-tree", "-r", "-t", "--format=%(objectname)", "HEAD"]);
        wanted.extend(ids(&["rev-parse", "HEAD", "HEAD^{tree}"]));
        assert_eq!(all, wanted);
        let refs = git(work, &["for-each-ref", "--format=%(refname)"]).unwrap();
        assert_eq!(refs, b"refs/heads/main\n");
        assert_eq!(git(work, &["remote"]).unwrap(), b"");
        assert_eq!(git(work, &["reflog", "--all"]).unwrap(), b"");
        let git_dir = work.join(".git");
        assert!(!git_dir.join("objects/info/alternates").exists());
        assert!(!git_dir.join("logs").exists() && !git_dir.join("hooks").join("x").exists());
    }
}

#[test]
fn its_pack_is_one_that_git_takes() {
    let large: Vec<u8> = (0..3_000_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 17) as u8)
        .collect();
    let many = (0..600).map(|n| (format!("many/{n:03}"), format!("{n}\n")));
    let mut old = with(
        files(&[("a/x/f", "same\n"), ("b/x/f", "same\n"), ("same", "same\n")]),
        &[(b"empty", 0o100_644, b""), (b"large", 0o100_644, &large)],
    );
    old.extend(many.map(|(path, text)| (path.into_bytes(), (0o100_644, text.into_bytes()))));
    for old in [old, Files::new()] {
        let bench = Bench::new(&old);
        assert_eq!(text(&bench, &["fsck", "--strict", "--full"]), "");
        assert_eq!(text(&bench, &["status", "--porcelain"]), "");
        let packs = fs::read_dir(bench.work.join(".git/objects/pack")).unwrap();
        let packs: BTreeSet<_> = packs.map(|e| e.unwrap().path()).collect();
        let endings: Vec<_> = packs.iter().filter_map(|p| p.extension()).collect();
        assert_eq!(endings, ["idx", "pack"]);
        let pack = packs.iter().next().unwrap().to_str().unwrap().to_owned();
        assert!(text(&bench, &["verify-pack", "-v", &pack]).contains(": ok"));
        // and can hand on
        let again = bench.dir.path().join("clone");
        let to = again.to_str().unwrap();
        git(bench.dir.path(), &["clone", "-q", "--no-local", "work", to]).unwrap();
        assert_eq!(read(&again), old);
    }
}

#[test]
fn an_agent_can_work_in_it() {
    let bench = Bench::new(&base());
    bench.put(&[("src/a.py", "a = 2\n"), ("new.py", "n\n")]);
    // as an agent calls it: nothing on the command line
    let plain = |args: &[&str]| {
        let output = Command::new("git")
            .args(args)
            .current_dir(&bench.work)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        plain(&["status", "--porcelain"]),
        " M src/a.py\n?? new.py\n"
    );
    assert!(plain(&["diff"]).contains("+a = 2"));
    plain(&["stash", "-u"]);
    assert_eq!(plain(&["status", "--porcelain"]), "");
    plain(&["stash", "pop"]);
    plain(&["checkout", "-b", "mine"]);
    plain(&["add", "-A"]);
    plain(&["commit", "-m", "work"]);
    assert_eq!(
        plain(&["log", "--format=%an %s"]),
        "agent work\ninfradev Base\n"
    );
    assert_eq!(Bench::brief(&bench.capture()), ["A new.py", "M src/a.py"]);
}

#[test]
fn another_user_can_read_it_with_the_variables_that_are_named() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("needs root: skipped");
        return;
    }
    let bench = Bench::new(&base());
    let open = |path: &std::path::Path| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    open(bench.dir.path());
    let status = |named: bool| {
        let mut command = Command::new("git");
        command
            .args(["status", "--porcelain"])
            .current_dir(&bench.work)
            .env("HOME", "/nonexistent")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .uid(65534)
            .gid(65534);
        if named {
            command.envs(GIT_ENVIRONMENT);
        }
        command.output().unwrap()
    };
    let refused = String::from_utf8(status(false).stderr).unwrap();
    assert!(refused.contains("dubious ownership"), "{refused}");
    let clean = status(true);
    assert!(
        clean.status.success() && clean.stdout.is_empty(),
        "{clean:?}"
    );
}
