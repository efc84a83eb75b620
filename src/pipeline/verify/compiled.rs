//! Bytecode of Python files, made once for all trees: of tests what pytest makes of them, which costs
//! as much as running one. A sandbox of its own compiles them and runs nothing; pytest and Python
//! take it by their own rule, where it fits the time and the size of the file beside it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::engine::Sandbox;
use crate::pipeline::place::WORKTREE;
use crate::pipeline::suite::Waiting;

/// A tree with more files than this is left as it is.
const MOST: usize = 500;
/// Compiling takes a few milliseconds a file.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where bytecode lies.
const CACHE: &str = "__pycache__";

/// A file of a work tree.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// In the work tree.
    pub path: String,
    pub bytes: Vec<u8>,
    /// pytest imports it by ways of its own.
    pub rewritten: bool,
}

type Key = (String, [u8; 32]);

impl Source {
    fn key(&self) -> Key {
        (self.path.clone(), Sha256::digest(&self.bytes).into())
    }

    /// When it was written, as far as anybody can tell: another text has another time, so that no
    /// bytecode serves the wrong one.
    fn time(&self) -> SystemTime {
        let (_, digest) = self.key();
        let seconds = u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]);
        UNIX_EPOCH + Duration::from_secs(u64::from(seconds & 0x7fff_ffff))
    }

    fn write(&self, at: &Path) -> std::io::Result<()> {
        if let Some(folder) = at.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(at, &self.bytes)?;
        File::options()
            .write(true)
            .open(at)?
            .set_modified(self.time())
    }
}

/// The Python files below a folder, as files of the work tree below `into`; `tests`: it is a suite's.
pub(super) fn sources(folder: &Path, into: &str, tests: bool) -> Vec<Source> {
    let (mut found, mut left) = (Vec::new(), vec![into.to_owned()]);
    while let Some(path) = left.pop() {
        let below = Path::new(&path).strip_prefix(into).unwrap_or(Path::new(""));
        for entry in fs::read_dir(folder.join(below))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = match path.as_str() {
                "" => name.clone(),
                path => format!("{path}/{name}"),
            };
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && name != CACHE && name != ".git" {
                left.push(path);
            } else if kind.is_file()
                && let Some(stem) = name.strip_suffix(".py")
                && let Ok(bytes) = fs::read(entry.path())
            {
                let test = stem.starts_with("test_") || stem.ends_with("_test");
                found.push(Source {
                    path,
                    bytes,
                    rewritten: tests && (test || stem == "conftest"),
                });
            }
        }
    }
    if found.len() > MOST {
        Vec::new()
    } else {
        found
    }
}

/// A sandbox that waits for files to compile, on a tree of its own.
pub(super) struct Compiler {
    pub worktree: PathBuf,
    pub orders: PathBuf,
    pub waiting: Waiting,
}

/// A sandbox that is to be ended, and folders that are to be removed then.
pub(super) struct Over {
    pub sandbox: Sandbox,
    pub folders: [PathBuf; 2],
}

/// Where the bytecode of a file lies, in its folder's cache, and what it is.
type Bytecode = (String, Vec<u8>);

#[derive(Default)]
pub(super) struct Compiled {
    known: Mutex<HashMap<Key, Arc<Bytecode>>>,
    compiler: Mutex<Option<Compiler>>,
}

#[derive(Serialize)]
struct Order<'a> {
    nonce: &'a str,
    worktree: &'a str,
    files: Vec<(String, &'a str, String, bool)>,
}

impl Compiled {
    /// Whether somebody waits for work.
    pub fn has_compiler(&self) -> bool {
        lock(&self.compiler).is_some()
    }

    pub fn engage(&self, compiler: Compiler) {
        *lock(&self.compiler) = Some(compiler);
    }

    /// Makes what is not known yet, where somebody waits for that. What cannot be made is left to
    /// whoever imports it. Answers with the sandbox that did it.
    pub async fn make(&self, sources: Vec<Source>) -> Option<Over> {
        let mut new: HashMap<Key, Source> = HashMap::new();
        for source in sources {
            let key = source.key();
            if !lock(&self.known).contains_key(&key) {
                new.insert(key, source);
            }
        }
        if new.is_empty() {
            return None;
        }
        let Compiler {
            worktree,
            orders,
            waiting,
        } = lock(&self.compiler).take()?;
        let sources: Vec<Source> = new.into_values().collect();
        let tree = worktree.clone();
        let laid = tokio::task::spawn_blocking(move || {
            let order = lay(&tree, &sources)?;
            Ok::<_, std::io::Error>((order, sources))
        });
        let (order, sources) = laid.await.ok()?.ok()?;
        let sandbox = waiting.serve(order, PATIENCE).await.ok()?;
        for (number, source) in sources.iter().enumerate() {
            if let Some(made) = made(&worktree.join(format!("made/{number}"))) {
                lock(&self.known).insert(source.key(), Arc::new(made));
            }
        }
        Some(Over {
            sandbox,
            folders: [worktree, orders],
        })
    }

    /// Another environment makes other bytecode. Answers with who was to make it.
    pub fn forget(&self) -> Option<Over> {
        lock(&self.known).clear();
        let compiler = lock(&self.compiler).take()?;
        Some(Over {
            sandbox: compiler.waiting.into_sandbox(),
            folders: [compiler.worktree, compiler.orders],
        })
    }

    /// Puts what is known of these files beside them in a work tree. A folder that has bytecode of its
    /// own keeps that.
    pub fn put(&self, worktree: &Path, sources: &[Source]) -> std::io::Result<()> {
        let mut own: HashMap<PathBuf, bool> = HashMap::new();
        for source in sources {
            let path = worktree.join(&source.path);
            let Some(cache) = path.parent().map(|folder| folder.join(CACHE)) else {
                continue;
            };
            let is_free = *own.entry(cache.clone()).or_insert_with(|| !cache.exists());
            let known = lock(&self.known).get(&source.key()).cloned();
            let Some(made) = known.filter(|_| is_free) else {
                continue;
            };
            File::options()
                .write(true)
                .open(&path)?
                .set_modified(source.time())?;
            fs::create_dir_all(&cache)?;
            fs::write(cache.join(&made.0), &made.1)?;
        }
        Ok(())
    }
}

/// Lays the files in the compiler's tree; its order.
fn lay(worktree: &Path, sources: &[Source]) -> std::io::Result<Vec<u8>> {
    let mut files = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        // pytest reads a file where it will be; of others there are several under one name
        let from = if source.rewritten {
            source.path.clone()
        } else {
            format!("given/{number}.py")
        };
        source.write(&worktree.join(&from))?;
        files.push((
            from,
            source.path.as_str(),
            format!("made/{number}"),
            source.rewritten,
        ));
    }
    let order = Order {
        nonce: "",
        worktree: WORKTREE,
        files,
    };
    Ok(serde_json::to_vec(&order)?)
}

/// The one file that a folder holds.
fn made(folder: &Path) -> Option<Bytecode> {
    let entry = fs::read_dir(folder).ok()?.flatten().next()?;
    let name = entry.file_name().into_string().ok()?;
    let bytes = fs::read(entry.path()).ok()?;
    Some((name, bytes))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bytecode_lies_beside_the_text_that_it_is_of_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/one.py", "A = 1\n");
        write("b/two.py", "B = 2\n");
        write("b/__pycache__/two.pyc", "its own");
        let compiled = Compiled::default();
        for source in sources(dir.path(), "", false) {
            let made = (format!("{}.pyc", source.path.len()), b"code".to_vec());
            compiled
                .known
                .lock()
                .unwrap()
                .insert(source.key(), Arc::new(made));
        }
        // another text than the one that was compiled
        write("a/three.py", "C = 3\n");
        let all = sources(dir.path(), "", false);
        assert_eq!(all.len(), 3);
        compiled.put(dir.path(), &all).unwrap();
        let names = |folder: &str| -> Vec<String> {
            let entries = fs::read_dir(dir.path().join(folder)).unwrap().flatten();
            entries
                .map(|e| e.file_name().into_string().unwrap())
                .collect()
        };
        assert_eq!(names("a/__pycache__"), ["8.pyc"]);
        assert_eq!(names("b/__pycache__"), ["two.pyc"]);
    }

    #[test]
    fn another_text_has_another_time() {
        let of = |text: &str| Source {
            path: "a.py".into(),
            bytes: text.into(),
            rewritten: true,
        };
        assert_eq!(of("A = 1").time(), of("A = 1").time());
        assert_ne!(of("A = 1").time(), of("A = 2").time());
        let tests = tempfile::tempdir().unwrap();
        for name in [
            "test_a.py",
            "a_test.py",
            "conftest.py",
            "support.py",
            "a.txt",
        ] {
            fs::write(tests.path().join(name), "").unwrap();
        }
        let mut found = sources(tests.path(), "probes", true);
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let rewritten = found
            .iter()
            .filter(|s| s.rewritten)
            .map(|s| s.path.as_str());
        let expected = ["probes/a_test.py", "probes/conftest.py", "probes/test_a.py"];
        assert_eq!(rewritten.collect::<Vec<_>>(), expected);
        assert_eq!(found.len(), 4);
    }
}
