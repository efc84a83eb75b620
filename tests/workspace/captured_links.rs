//! Symlinks in a capture: kept where they stay inside, left out where they lead outside.

use std::fs;
use std::os::unix::fs::symlink;

use infradev::workspace::{Capture, apply};

use crate::bench::{Bench, note};
use crate::kit::{files, with};

/// What `Bench::capture` proves, and that whoever grades it takes it.
fn capture(bench: &Bench) -> Capture {
    let captured = bench.capture();
    if !captured.patch.is_empty() {
        let applied = apply(&bench.base, &captured.patch).unwrap();
        assert_eq!(applied.tree, captured.tree);
    }
    captured
}

fn outward(captured: &Capture) -> Vec<&str> {
    let all = captured.notes.iter();
    assert!(all.clone().all(|n| n.kind == "outward-link"));
    all.map(|n| n.path.as_str()).collect()
}

#[test]
fn those_that_lead_outside_stay_out_of_the_patch() {
    let bench = Bench::new(&files(&[
        ("kept", "k\n"),
        ("dir/a", "a\n"),
        ("dir/b", "b\n"),
    ]));
    let outside = bench.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "s\n").unwrap();
    let work = &bench.work;
    symlink(&outside, work.join("out")).unwrap();
    symlink("../outside/secret", work.join("up")).unwrap();
    // through another one, which is left out too
    symlink("out/secret", work.join("through")).unwrap();
    // an absolute path is none of the tree that is graded, wherever it leads
    symlink(work.join("kept"), work.join("absolute")).unwrap();
    symlink("kept", work.join("in")).unwrap();
    symlink("nowhere/yet", work.join("dangling")).unwrap();
    symlink("../kept", work.join("dir/in")).unwrap();
    fs::hard_link(outside.join("secret"), work.join("hard")).unwrap();
    let captured = capture(&bench);
    assert_eq!(
        Bench::brief(&captured),
        ["A dangling", "A dir/in", "A hard", "A in"]
    );
    assert_eq!(outward(&captured), ["absolute", "out", "through", "up"]);
    let out = outside.to_str().unwrap();
    assert_eq!(
        note(&captured, "out").detail,
        format!("left out: a symlink to the absolute path {out}")
    );
    assert_eq!(
        note(&captured, "up").detail,
        "left out: a symlink to ../outside/secret: it points outside of the work tree"
    );
}

#[test]
fn in_place_of_something_of_base_base_stays() {
    let old = with(
        files(&[("dir/a", "a\n"), ("dir/sub/b", "b\n"), ("file", "f\n")]),
        &[(b"link", 0o120_000, b"file"), (b"l", 0o120_000, b"dir")],
    );
    let bench = Bench::new(&old);
    let work = &bench.work;
    fs::remove_dir_all(work.join("dir")).unwrap();
    for name in ["file", "link", "l"] {
        fs::remove_file(work.join(name)).unwrap();
    }
    for name in ["dir", "file", "link"] {
        symlink("/etc", work.join(name)).unwrap();
    }
    // a symlink of base made a folder: only what is in it and leads outside is left out
    bench.put(&[("l/new", "n\n")]);
    symlink("../../..", work.join("l/out")).unwrap();
    let captured = capture(&bench);
    assert_eq!(Bench::brief(&captured), ["D l", "A l/new"]);
    assert_eq!(outward(&captured), ["dir", "file", "l/out", "link"]);
    for (path, stays) in [("dir", true), ("link", true), ("l/out", false)] {
        let detail = &note(&captured, path).detail;
        assert_eq!(
            detail.ends_with("; base's version stays"),
            stays,
            "{detail}"
        );
    }
}

#[test]
fn what_would_lead_a_symlink_of_base_outside_is_left_out() {
    // `a` stays inside through `way`, whose end lies two folders deep
    let old = with(
        files(&[("one/two/file", "f\n"), ("top/file", "t\n")]),
        &[
            (b"way", 0o120_000, b"one/two"),
            (b"a", 0o120_000, b"way/../../top"),
            (b"theirs", 0o120_000, b"/usr/share"),
        ],
    );
    let told = "left out: with it, of the symlink a, it points outside of the work tree";
    for kind in ["link", "folder", "nothing"] {
        let bench = Bench::new(&old);
        let work = &bench.work;
        bench.put(&[("one/two/file", "edited\n")]);
        fs::remove_file(work.join("way")).unwrap();
        match kind {
            "link" => symlink("top", work.join("way")).unwrap(),
            "folder" => bench.put(&[("way/file", "w\n")]),
            _ => {}
        }
        symlink("way/file", work.join("good")).unwrap();
        let captured = capture(&bench);
        assert_eq!(
            Bench::brief(&captured),
            ["A good", "M one/two/file"],
            "{kind}"
        );
        assert_eq!(outward(&captured), ["way"], "{kind}");
        let detail = &note(&captured, "way").detail;
        assert!(detail.starts_with(told) && detail.ends_with("; base's version stays"));
    }
}

#[test]
fn base_that_leads_outside_already_is_left_as_it_is() {
    let old = with(
        files(&[("a", "a\n")]),
        &[(b"theirs", 0o120_000, b"/usr/share")],
    );
    let bench = Bench::new(&old);
    bench.put(&[("a", "edited\n")]);
    let captured = capture(&bench);
    assert_eq!(Bench::brief(&captured), ["M a"]);
    assert!(captured.notes.is_empty());
    // changed, it is the agent's
    fs::remove_file(bench.work.join("theirs")).unwrap();
    symlink("/usr/lib", bench.work.join("theirs")).unwrap();
    let captured = capture(&bench);
    assert_eq!(Bench::brief(&captured), ["M a"]);
    assert_eq!(outward(&captured), ["theirs"]);
    fs::remove_file(bench.work.join("theirs")).unwrap();
    assert_eq!(Bench::brief(&capture(&bench)), ["M a", "D theirs"]);
}

#[test]
fn a_maze_of_symlinks_costs_little() {
    let bench = Bench::new(&files(&[("d/a", "a\n")]));
    let long = "d/../".repeat(800);
    for n in 0..300 {
        let target = format!("{long}l{}", n + 1);
        symlink(target, bench.work.join(format!("l{n}"))).unwrap();
    }
    let started = std::time::Instant::now();
    let captured = capture(&bench);
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    // the last one dangles after 1,600 names
    assert!(captured.patch.is_empty());
    assert_eq!(captured.notes.len() + captured.more_notes, 300);
    assert!(captured.notes[0].detail.contains("too long to follow"));
}
