//! Which paths and modes a patch may name.

use crate::diff::patch::show;

/// Longest path in bytes that every file system here takes, with room for the work tree's own.
const MAX_PATH: usize = 3000;
const MAX_NAME: usize = 255;

/// Why a path of a patch is refused.
pub(in super::super) fn check_path(path: &[u8]) -> Result<(), String> {
    let refuse = |why: &str| Err(format!("the path {} is refused: {why}", show(path)));
    if path.is_empty() {
        return refuse("it is empty");
    }
    if path[0] == b'/' {
        return refuse("it is absolute");
    }
    if path.contains(&0) {
        return refuse("it holds a NUL byte");
    }
    if path.len() > MAX_PATH {
        return refuse("it is too long");
    }
    for name in path.split(|&b| b == b'/') {
        match name {
            b"" => return refuse("it has an empty part"),
            b"." | b".." => return refuse("it has a `.` or `..` in it"),
            _ if is_git(name) => return refuse("it reaches into a `.git`"),
            _ if name.len() > MAX_NAME => return refuse("a name in it is too long"),
            _ => {}
        }
    }
    Ok(())
}

/// `.git` in any case, and the names that some file systems take for it.
fn is_git(name: &[u8]) -> bool {
    let stem = name
        .split(|&b| b == b':')
        .next()
        .unwrap_or_default()
        .trim_ascii_end();
    let dots = stem.iter().rev().take_while(|&&b| b == b'.').count();
    let stem = stem[..stem.len() - dots].trim_ascii_end();
    if stem.eq_ignore_ascii_case(b".git") || stem.eq_ignore_ascii_case(b"git~1") {
        return true;
    }
    // code points that HFS+ ignores in names
    let Ok(text) = std::str::from_utf8(name) else {
        return false;
    };
    let ignored = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let seen: String = text.chars().filter(|c| !ignored(c)).collect();
    seen.eq_ignore_ascii_case(".git")
}

/// The mode of a file in a tree, from one that a patch says.
pub(super) fn canonical_mode(mode: u32) -> Result<i32, String> {
    match mode {
        0o120_000 => Ok(0o120_000),
        0o160_000 => Err("a submodule (a link to another repository's commit) is refused".into()),
        // group and world bits differ among machines; only "executable" counts
        0o100_000..=0o100_777 => Ok(if mode & 0o100 == 0 {
            0o100_644
        } else {
            0o100_755
        }),
        _ => Err(format!(
            "the mode {mode:06o} is refused: only files (100644, 100755) and symlinks (120000)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        for good in [
            "a",
            "a/b",
            ".github/x",
            ".gitignore",
            "a..b",
            "..a/b",
            "git",
            "a b/ b/c",
            "é",
            "x.git/y",
        ] {
            assert_eq!(check_path(good.as_bytes()), Ok(()), "{good}");
        }
        for bad in [
            "",
            "/a",
            "a//b",
            "a/",
            "..",
            "a/../b",
            "./a",
            ".git",
            ".GIT/config",
            "a/.Git/hooks/x",
            ".git ",
            ".git.",
            "git~1/x",
            ".git::$INDEX_ALLOCATION/x",
            ".g\u{200c}it/x",
            "a\0b",
        ] {
            assert!(check_path(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(check_path(&[b'a'; 256]).is_err());
        assert!(check_path("a/".repeat(2000).as_bytes()).is_err());
        assert_eq!(check_path(b"\xff\xfe"), Ok(()));
    }

    #[test]
    fn modes_are_files_and_symlinks() {
        assert_eq!(canonical_mode(0o100_664), Ok(0o100_644));
        assert_eq!(canonical_mode(0o100_775), Ok(0o100_755));
        assert_eq!(canonical_mode(0o120_000), Ok(0o120_000));
        for bad in [
            0, 0o644, 0o040_000, 0o020_666, 0o060_644, 0o160_000, 0o104_755, 0o140_755,
        ] {
            assert!(canonical_mode(bad).is_err(), "{bad:o}");
        }
    }
}
