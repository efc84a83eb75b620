//! What must be refused, and how it is said.

use infradev::domain::Cause;
use infradev::workspace::Refused;

use crate::kit::{Files, diff, files, git_apply, numbered, ours, with};

fn base() -> Files {
    with(
        files(&[("a", &numbered(30)), ("d/b", "bee\n")]),
        &[
            (b"link", 0o120_000, b"d"),
            (b"up", 0o120_000, b"../outside"),
        ],
    )
}

fn refused(patch: &str) -> Refused {
    let refused = ours(&base(), patch.as_bytes()).unwrap_err();
    if refused.cause == Cause::Apply {
        assert!(refused.message.starts_with("patch line "), "{refused}");
    }
    refused
}

fn says(patch: &str, words: &[&str]) {
    let refused = refused(patch);
    assert_eq!(refused.cause, Cause::Apply, "{refused}");
    for word in words {
        assert!(refused.message.contains(word), "{word:?} in: {refused}");
    }
}

#[test]
fn empty_white_and_idle_are_three_things() {
    let messages = [
        refused(""),
        refused(" \n\t\r\n \n"),
        refused("diff --git a/a b/a\nold mode 100644\nnew mode 100644\n"),
    ];
    for (index, refused) in messages.iter().enumerate() {
        assert_eq!(refused.cause, Cause::Empty, "{refused}");
        for other in &messages[index + 1..] {
            assert_ne!(refused.message, other.message);
        }
    }
}

#[test]
fn text_that_is_no_patch() {
    says("I could not finish the task.\n", &["no patch"]);
    says("@@ -1,1 +1,1 @@\n-a\n+b\n", &["without a file header"]);
    says(
        "diff --cc a\nindex 1,2..3\n--- a/a\n+++ b/a\n@@@ -1,2 -1,2 +1,2 @@@\n  x\n",
        &["combined"],
    );
}

#[test]
fn paths_that_leave_the_work_tree() {
    let add = |name: &str| {
        format!(
            "diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"
        )
    };
    for (name, word) in [
        ("../evil", ".."),
        ("d/../../evil", ".."),
        ("/etc/evil", "absolute"),
        (".git/hooks/post-checkout", ".git"),
        (".GIT/config", ".GIT"),
        ("d/.git/config", ".git"),
        (".git", ".git"),
        ("d//x", "empty part"),
        ("./x", "`.`"),
    ] {
        says(&add(name), &[name, word]);
    }
    says(
        "--- /dev/null\n+++ /etc/evil\n@@ -0,0 +1 @@\n+x\n",
        &["absolute", "/etc/evil"],
    );
    says(
        "diff --git a/a b/a\nsimilarity index 100%\nrename from a\nrename to ../a\n",
        &["../a"],
    );
    says(
        "diff --git a/a b/a\nsimilarity index 100%\ncopy from ../../etc/passwd\ncopy to p\n",
        &["../../etc/passwd"],
    );
    says(
        "diff --git \"a/\\056\\056/x\" \"b/\\056\\056/x\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/\\056\\056/x\"\n@@ -0,0 +1 @@\n+x\n",
        &["../x"],
    );
}

#[test]
fn symlinks_that_lead_out() {
    let link = |name: &str, target: &str| {
        format!(
            "diff --git a/{name} b/{name}\nnew file mode 120000\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+{target}\n\\ No newline at end of file\n"
        )
    };
    for (name, target) in [
        ("l", ".."),
        ("l", "/etc/passwd"),
        ("l", "d/../.."),
        ("d/l", "../../x"),
        ("d/l", "../d/../../x"),
        // through another symlink, which leads to a folder less deep than its own name
        ("d/l", "../link/../../x"),
        // through base's own way out
        ("l", "up/x"),
    ] {
        says(&link(name, target), &["symlink", name, "refused"]);
    }
    for (name, target) in [
        ("l", "d/b"),
        ("d/l", "../a"),
        ("l", "nowhere/at/all"),
        ("l", "l"),
        ("l", "link/b"),
        ("l", "d/../a"),
    ] {
        let patch = link(name, target);
        let (_, tree) = ours(&base(), patch.as_bytes()).unwrap();
        assert_eq!(tree[name.as_bytes()].1, target.as_bytes());
    }
    // what no kernel makes or follows
    says(&link("l", &"d/".repeat(2500)), &["symlink l", "5000 bytes"]);
    says(&link("l", &"d/../".repeat(600)), &["symlink l", "too long"]);
    says(
        "diff --git a/l b/l\nnew file mode 120000\nindex 0000000..e69de29\n",
        &["symlink l", "0 bytes"],
    );
    // two together: each looks harmless alone
    let both = link("s", ".") + &link("d/t", "../s/../x");
    says(&both, &["d/t", "outside"]);
    // the target of an existing one is changed
    says(
        "diff --git a/link b/link\nindex 1..2 120000\n--- a/link\n+++ b/link\n@@ -1 +1 @@\n-d\n\\ No newline at end of file\n+../..\n\\ No newline at end of file\n",
        &["link", "outside"],
    );
    // a folder is replaced, so that a symlink of base leads elsewhere
    let nested = with(
        files(&[("real/x", "x\n"), ("top", "t\n")]),
        &[
            (b"s", 0o120_000, b"real/deep"),
            (b"l", 0o120_000, b"s/../../top"),
            (b"real/deep/y", 0o100_644, b"y\n"),
        ],
    );
    let flat = with(
        files(&[("real/x", "x\n"), ("top", "t\n"), ("s/y", "y\n")]),
        &[
            (b"l", 0o120_000, b"s/../../top"),
            (b"real/deep/y", 0o100_644, b"y\n"),
        ],
    );
    let refused = ours(&nested, &diff(&nested, &flat, &[])).unwrap_err();
    assert!(refused.message.contains("the symlink l"), "{refused}");
}

#[test]
fn nothing_goes_through_a_symlink() {
    says(
        "diff --git a/link/b b/link/b\n--- a/link/b\n+++ b/link/b\n@@ -1 +1 @@\n-bee\n+wasp\n",
        &["link/b", "not in base"],
    );
    says(
        "diff --git a/link/new b/link/new\nnew file mode 100644\n--- /dev/null\n+++ b/link/new\n@@ -0,0 +1 @@\n+x\n",
        &["symlink link"],
    );
    says(
        "diff --git a/a/new b/a/new\nnew file mode 100644\n--- /dev/null\n+++ b/a/new\n@@ -0,0 +1 @@\n+x\n",
        &["file a"],
    );
    // made by the same patch
    says(
        "diff --git a/n b/n\nnew file mode 120000\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+d\n\\ No newline at end of file\n\
         diff --git a/n/x b/n/x\nnew file mode 100644\n--- /dev/null\n+++ b/n/x\n@@ -0,0 +1 @@\n+x\n",
        &["a file and a folder"],
    );
}

#[test]
fn submodules_and_odd_modes() {
    for mode in ["160000", "040000", "020666", "060660", "104755", "000644"] {
        says(
            &format!(
                "diff --git a/s b/s\nnew file mode {mode}\nindex 0000000..1234567\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 1234567890123456789012345678901234567890\n"
            ),
            &["s: ", if mode == "160000" { "submodule" } else { mode }],
        );
    }
    says(
        "diff --git a/a b/a\nold mode 100644\nnew mode 120000\n",
        &["a is a file in base"],
    );
}

#[test]
fn a_patch_that_is_in_already_is_not_taken_back() {
    let old = base();
    let text = String::from_utf8(old[&b"a"[..]].1.clone()).unwrap();
    let new = with(
        old.clone(),
        &[(
            b"a",
            0o100_644,
            text.replace("line 9\n", "nine\n").as_bytes(),
        )],
    );
    let patch = diff(&old, &new, &["--full-index"]);
    let refused = ours(&new, &patch).unwrap_err();
    assert_eq!(refused.cause, Cause::Apply);
    assert!(
        refused.message.contains("a: hunk 1 (line 6 of the file)"),
        "{refused}"
    );
    assert!(
        refused.message.starts_with("patch line 9:"),
        "the first line that differs: {refused}"
    );
    assert!(git_apply(&new, &patch).is_err());
    // an added file that is there already
    let more = with(old.clone(), &[(b"new", 0o100_644, b"n\n")]);
    let patch = diff(&old, &more, &[]);
    assert!(
        ours(&more, &patch)
            .unwrap_err()
            .message
            .contains("in base already")
    );
}

#[test]
fn one_bad_file_and_nothing_is_applied() {
    let good = "diff --git a/d/b b/d/b\n--- a/d/b\n+++ b/d/b\n@@ -1 +1 @@\n-bee\n+wasp\n";
    let bad =
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -3,3 +3,3 @@\n line 3\n-line four\n+4\n line 5\n";
    assert!(ours(&base(), good.as_bytes()).is_ok());
    says(&format!("{good}{bad}"), &["patch line 12: a: hunk 1"]);
    says(&format!("{bad}{good}"), &["patch line 6: a: hunk 1"]);
    // the second of two hunks
    let second = format!("{bad}@@ -20,3 +20,3 @@\n line 20\n-line 21\n+21\n line 22\n")
        .replace("line four", "line 4");
    assert!(ours(&base(), second.as_bytes()).is_ok());
    says(&second.replace("line 21", "line xx"), &["hunk 2 (line 20"]);
}

#[test]
fn damaged_patches() {
    let head = "diff --git a/a b/a\n--- a/a\n+++ b/a\n";
    for (hunk, word) in [
        (
            "@@ -1,9 +1,9 @@\n line 1\n-line 2\n+2\n line 3\n",
            "ends inside the hunk",
        ),
        (
            "@@ -1,3 +1,3 @@\n line 1\n-line 2\n+2\n line 3",
            "ends inside a line",
        ),
        (
            "@@ -1,3 +1,2 @@\n line 1\n-line 2\n+2\n line 3\n",
            "announces fewer",
        ),
        (
            "@@ -1,2 +1,2 @@\n line 1\n-line 2\n+2\n+3\n line 3\n",
            "more lines than its header",
        ),
        (
            "@@ -1,3 +1,3 @@\n line 1\nline 2\n+2\n line 3\n",
            "damaged hunk",
        ),
        ("@@ -x +1 @@\n-line 1\n+1\n", "damaged hunk header"),
    ] {
        says(&format!("{head}{hunk}"), &[word]);
        assert!(
            git_apply(&base(), format!("{head}{hunk}").as_bytes()).is_err()
                || word.starts_with("more")
        );
    }
    says(
        "diff --git a/a b/a\nindex 1234567..89abcde 100644\nBinary files a/a and b/a differ\n",
        &["a is binary", "--binary"],
    );
    says(
        "diff --git a/n b/n\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..1234567890123456789012345678901234567890\nGIT binary patch\nliteral 99999999999\nD00000\n\n",
        &["larger than"],
    );
    says(
        "diff --git a/n b/n\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..1234567890123456789012345678901234567890\nGIT binary patch\nliteral 5\nD00000\n\n",
        &["n: ", "damaged"],
    );
    says("diff --git a/a b/a\nrename from a\n", &["only one"]);
    says(
        "diff --git a/a b/a\n--- a/a\n+++ b/other\n@@ -1 +1 @@\n-line 1\n+1\n",
        &["differ"],
    );
    says(
        "diff --git a/nope b/nope\n--- a/nope\n+++ b/nope\n@@ -1 +1 @@\n-1\n+2\n",
        &["nope is not in base"],
    );
    says(
        "diff --git a/d/b b/d/b\ndeleted file mode 100644\n--- a/d/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-wasp\n",
        &["d/b: hunk 1"],
    );
}
