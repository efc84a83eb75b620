//! What the diff pane costs: the model of a large file, the colours of the page that is seen, two
//! solutions beside each other part by part, a line of 5 MB. Prints medians.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use infradev::diff::align::{SourceFile, align};
use infradev::diff::{DiffOptions, FileDiff, Layout, Rows, word_diff};
use infradev::python::units::source_file;
use infradev::tui::highlight::{Wanted, highlight};
use infradev::tui::panes::diff::view::find_in;

const ROUNDS: usize = 15;
const LINES: usize = 20_000;
const FILES: usize = 60;
const FUNCTIONS: usize = 50;

fn main() {
    // under `cargo test` a bench target is only built
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    model();
    colours();
    alignment();
    one_line();
}

fn median(what: &str, mut work: impl FnMut()) {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            work();
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{what:<58} {:>9.2} ms", times[ROUNDS / 2]);
}

/// Python that looks like Python; `salt` makes every function's body its own.
fn function(name: &str, salt: usize) -> String {
    let mut text = format!("def {name}(values, world):\n");
    for n in 0..8 {
        writeln!(
            text,
            "    part_{salt}_{n} = reduce(values[{n}], world + {})  # {salt}",
            salt * 3 + n
        )
        .unwrap();
    }
    text + "    return values\n\n\n"
}

fn large() -> (String, String) {
    let mut old = String::new();
    let mut salt = 0;
    while old.lines().count() < LINES {
        for _ in 0..50 {
            old.push_str(&function(&format!("f{salt}"), salt));
            salt += 1;
        }
    }
    let mut new = String::new();
    for (n, line) in old.lines().enumerate() {
        match n % 17 {
            3 => writeln!(new, "{line} + 1").unwrap(),
            9 => writeln!(new, "{line}\n    added = {n}").unwrap(),
            _ => writeln!(new, "{line}").unwrap(),
        }
    }
    (old, new)
}

fn model() {
    let (old, new) = large();
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let make = || FileDiff::new(Some(old), Some(new), DiffOptions::default());
    median("model of 20,000 lines, 2 of 17 changed", || {
        black_box(make());
    });
    let diff = make();
    for layout in [Layout::SideBySide, Layout::Unified] {
        median(&format!("  rows of it, {layout:?}"), || {
            black_box(Rows::new(&diff, layout, 3));
        });
    }
    let rewritten: Vec<String> = (0..LINES).map(|n| format!("other {n}")).collect();
    let rewritten = rewritten.join("\n");
    median("model of 20,000 lines, all of them others", || {
        black_box(FileDiff::new(
            Some(old),
            Some(rewritten.as_bytes()),
            DiffOptions::default(),
        ));
    });
    median("words of a page of 60 changed lines", || {
        for line in 0..60 {
            let (a, b) = (&diff.old[line * 17 + 3], &diff.new[line * 17 + 3]);
            black_box(word_diff(a.text(old), b.text(new)));
        }
    });
}

fn colours() {
    let (old, _) = large();
    let mut wanted = Wanted {
        ticket: 1,
        side: 0,
        path: "a.py".into(),
        text: Arc::new(old.into_bytes()),
        first: 0,
    };
    for first in [0, 15_000] {
        wanted.first = first;
        median(
            &format!("colours of the page at line {first}, of 20,000"),
            || {
                // a newer ticket after the first piece stops the pass over the rest
                let newest = AtomicU64::new(1);
                highlight(&wanted, &newest, |piece| {
                    black_box(piece);
                    newest.store(2, std::sync::atomic::Ordering::Relaxed);
                });
            },
        );
    }
}

fn trees(prefix: &str, salt: usize) -> Vec<SourceFile> {
    let file = |n: usize| {
        let mut text = String::new();
        for f in 0..FUNCTIONS {
            let id = n * FUNCTIONS + f;
            text.push_str(&function(&format!("{prefix}{id}"), id + salt));
        }
        source_file(format!("{prefix}/{n}.py"), Arc::new(text.into_bytes()))
    };
    (0..FILES).map(file).collect()
}

fn alignment() {
    let base = trees("same", 0);
    let edited = trees("same", 1);
    let elsewhere = trees("other", 0);
    let apart = trees("apart", 1_000_000);
    for (what, left, right) in [
        ("by place, all of them edited", &base, &edited),
        (
            "by likeness, all under other names and paths",
            &base,
            &elsewhere,
        ),
        ("nothing in common", &base, &apart),
    ] {
        median(&format!("3,000 functions a side, {what}"), || {
            black_box(align(&[], left, right));
        });
    }
    let text = Arc::clone(&base[0].text);
    median("one file of 50 functions cut into parts", || {
        black_box(source_file("a.py", Arc::clone(&text)));
    });
}

fn one_line() {
    let old = "x = [1, 2],".repeat(5 * 100_000);
    let new = format!("{old}3");
    let (old, new) = (old.as_bytes(), new.as_bytes());
    median("model of one line of 5 MB", || {
        black_box(FileDiff::new(Some(old), Some(new), DiffOptions::default()));
    });
    median("search in it", || {
        black_box(find_in(old, "[9"));
    });
}
