//! Text into a new file below the home.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Files of one name that are told apart.
const MOST: u32 = 1000;

/// Saves; says in words where, or why not. What is there already is never written over.
pub fn save(text: &str, dir: &Path, name: &str) -> Result<String, String> {
    let size = text.len();
    match write(text, dir, name) {
        Ok(path) => {
            let path = std::path::absolute(&path).unwrap_or(path);
            Ok(format!("saved {size} bytes: {}", path.display()))
        }
        Err(error) => Err(format!("not saved: {}: {error}", dir.display())),
    }
}

fn write(text: &str, dir: &Path, name: &str) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    for count in 1..MOST {
        let file = match count {
            1 => dir.join(format!("{name}.log")),
            count => dir.join(format!("{name}-{count}.log")),
        };
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(0o600).open(&file) {
            Ok(mut open) => return open.write_all(text.as_bytes()).map(|()| file),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("a thousand files of that name are there"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_saved_is_where_it_says_and_nothing_is_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("home/saved");
        for (text, end) in [("one", "a.log"), ("two", "a-2.log")] {
            let words = save(text, &dir, "a").unwrap();
            assert!(words.starts_with("saved 3 bytes: /"), "{words}");
            assert!(words.ends_with(end), "{words}");
        }
        assert_eq!(std::fs::read_to_string(dir.join("a.log")).unwrap(), "one");
        let below_a_file = dir.join("a.log/saved");
        let why = save("x", &below_a_file, "a").unwrap_err();
        assert!(why.contains("not saved") && why.contains("a.log"), "{why}");
    }
}
