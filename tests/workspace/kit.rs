//! Trees in memory, and what git and we make of a patch.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use infradev::workspace::{Applied, ApplyError, Refused, Snapshot, apply};

/// Path to git mode and bytes.
pub type Files = BTreeMap<Vec<u8>, (u32, Vec<u8>)>;

pub fn files(list: &[(&str, &str)]) -> Files {
    list.iter()
        .map(|(path, text)| {
            (
                path.as_bytes().to_vec(),
                (0o100_644, text.as_bytes().to_vec()),
            )
        })
        .collect()
}

/// `line 1` to `line <count>`.
pub fn numbered(count: usize) -> String {
    use std::fmt::Write;
    (1..=count).fold(String::new(), |mut text, n| {
        writeln!(text, "line {n}").unwrap();
        text
    })
}

pub fn with(mut base: Files, list: &[(&[u8], u32, &[u8])]) -> Files {
    for (path, mode, text) in list {
        base.insert(path.to_vec(), (*mode, text.to_vec()));
    }
    base
}

pub fn without(mut base: Files, list: &[&str]) -> Files {
    for path in list {
        assert!(base.remove(path.as_bytes()).is_some(), "{path}");
    }
    base
}

pub fn write(dir: &Path, files: &Files) {
    for (path, (mode, bytes)) in files {
        let path = dir.join(OsStr::from_bytes(path));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if *mode == 0o120_000 {
            symlink(OsStr::from_bytes(bytes), &path).unwrap();
        } else {
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o777)).unwrap();
        }
    }
}

pub fn read(dir: &Path) -> Files {
    let mut files = Files::new();
    read_into(dir, dir, &mut files);
    files
}

fn read_into(root: &Path, dir: &Path, files: &mut Files) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let relative = path
            .strip_prefix(root)
            .unwrap()
            .as_os_str()
            .as_bytes()
            .to_vec();
        if meta.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            files.insert(
                relative,
                (0o120_000, target.as_os_str().as_bytes().to_vec()),
            );
        } else if meta.is_dir() {
            if relative != b".git" {
                read_into(root, &path, files);
            }
        } else {
            let mode = 0o100_000
                | if meta.permissions().mode() & 0o100 == 0 {
                    0o644
                } else {
                    0o755
                };
            files.insert(relative, (mode, fs::read(&path).unwrap()));
        }
    }
}

pub fn git(dir: &Path, args: &[&str]) -> Result<Vec<u8>, String> {
    let output = Command::new("git")
        .args([
            "-c",
            "core.autocrlf=false",
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
        ])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", dir.parent().unwrap())
        .stdin(Stdio::null())
        .output()
        .expect("git is needed for this test");
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// A repository with `old` committed and `new` staged.
pub fn repository(dir: &Path, old: &Files, new: &Files) {
    git(dir, &["init", "-q"]).unwrap();
    write(dir, old);
    git(dir, &["add", "-A", "-f"]).unwrap();
    git(dir, &["commit", "-q", "--allow-empty", "-m", "base"]).unwrap();
    for path in old.keys() {
        let path = dir.join(OsStr::from_bytes(path));
        fs::remove_file(path).unwrap();
    }
    // folders may become files
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name() != Some(OsStr::new(".git")) {
            fs::remove_dir_all(path).unwrap();
        }
    }
    write(dir, new);
    git(dir, &["add", "-A", "-f"]).unwrap();
}

/// What the real `git diff` says, with options.
pub fn diff(old: &Files, new: &Files, options: &[&str]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path(), old, new);
    let (config, options): (Vec<&str>, Vec<&str>) =
        options.iter().partition(|o| o.starts_with("core."));
    let mut args = Vec::new();
    for option in &config {
        args.extend(["-c", *option]);
    }
    args.extend(["diff", "--cached", "HEAD"]);
    args.extend(options);
    git(dir.path(), &args).unwrap()
}

/// The oracle.
pub fn git_apply(base: &Files, patch: &[u8]) -> Result<Files, String> {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work");
    fs::create_dir(&work).unwrap();
    write(&work, base);
    fs::write(dir.path().join("patch"), patch).unwrap();
    git(&work, &["apply", "--whitespace=nowarn", "../patch"])?;
    Ok(read(&work))
}

pub fn snapshot(dir: &Path, base: &Files) -> Snapshot {
    let folder = dir.join("base");
    fs::create_dir(&folder).unwrap();
    write(&folder, base);
    Snapshot::from_dir(&folder, &dir.join("snapshots")).unwrap()
}

/// What we make of it, written out and read back.
pub fn ours(base: &Files, patch: &[u8]) -> Result<(Applied, Files), Refused> {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = snapshot(dir.path(), base);
    let applied = match apply(&snapshot, patch) {
        Ok(applied) => applied,
        Err(ApplyError::Refused(refused)) => return Err(refused),
        Err(fault) => panic!("our machinery: {fault}"),
    };
    let work = dir.path().join("work");
    snapshot.write_tree(applied.tree, &work).unwrap();
    Ok((applied, read(&work)))
}

pub fn shown(patch: &[u8]) -> String {
    String::from_utf8_lossy(patch).into_owned()
}

/// A patch of git goes in: ours and git's trees are `new`.
pub fn goes_in(old: &Files, new: &Files, options: &[&str]) {
    let patch = diff(old, new, options);
    let (_, tree) =
        ours(old, &patch).unwrap_or_else(|e| panic!("{options:?}: {e}\n{}", shown(&patch)));
    assert_eq!(&tree, new, "{options:?}\n{}", shown(&patch));
    assert_eq!(
        git_apply(old, &patch).as_ref(),
        Ok(new),
        "the oracle, {options:?}"
    );
}
