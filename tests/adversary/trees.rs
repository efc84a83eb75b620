//! The trees of attacks, and the patches that make them out of base.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::attack::{Attack, here};

pub fn task(attack: &Attack) -> PathBuf {
    here().join("tasks").join(&attack.task)
}

/// A folder that goes with its handle.
pub fn scratch() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            copy(&source, &target);
        } else {
            fs::copy(&source, &target).unwrap();
        }
    }
}

/// Base with the attack over it; `honest`: with its wrong solution alone.
pub fn lay(attack: &Attack, honest: bool, to: &Path) {
    copy(&task(attack).join("base"), to);
    if honest {
        for path in &attack.honest {
            fs::copy(attack.dir().join(path), to.join(path)).unwrap();
        }
        return;
    }
    for path in &attack.delete {
        let path = to.join(path);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
    copy(&attack.dir(), to);
    fs::remove_file(to.join("attack.toml")).unwrap();
    for (path, target) in &attack.link {
        symlink(target, to.join(path)).unwrap();
    }
}

/// What git says of the difference from base.
pub fn patch(attack: &Attack, honest: bool) -> Vec<u8> {
    let scratch = scratch();
    let tree = scratch.path().join("tree");
    copy(&task(attack).join("base"), &tree);
    git(&tree, &["init", "-q"]);
    git(&tree, &["add", "-A", "-f"]);
    let from = git(&tree, &["write-tree"]);
    let from = String::from_utf8(from).unwrap();
    for name in [attack.task.as_str(), "tests"] {
        fs::remove_dir_all(tree.join(name)).unwrap();
    }
    lay(attack, honest, &tree);
    git(&tree, &["add", "-A", "-f"]);
    git(
        &tree,
        &["diff", "--cached", "--binary", "--no-renames", from.trim()],
    )
}

fn git(dir: &Path, args: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {output:?}");
    output.stdout
}
