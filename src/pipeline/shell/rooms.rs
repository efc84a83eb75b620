//! The folders of shells: one each, locked while it is open, and removed at its end. What was killed
//! together with its cleaner goes with the next one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::environment::remove_tree;
use crate::pipeline::error::Stop;
use crate::store::{Home, Lock, RunDir, StoreError, random_hex};

/// Held while a folder is made, so that nobody sweeps it before it is locked.
const DOOR: &str = "lock";
/// A sandbox that ends just now still holds its tree.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// A shell's own folder.
pub(super) struct Room {
    pub dir: RunDir,
    _lock: Lock,
}

impl Room {
    pub(super) fn open(home: &Home) -> Result<Self, Stop> {
        let rooms = home.shells();
        let io = |path: PathBuf| move |source| Stop::from(StoreError::Io { path, source });
        std::fs::create_dir_all(&rooms).map_err(io(rooms.clone()))?;
        let _door = Lock::take(&rooms.join(DOOR))?;
        sweep_now(&rooms);
        let name = random_hex::<4>().map_err(io(rooms.clone()))?;
        let dir = RunDir::at(rooms.join(format!("shell-{name}")));
        for path in [
            dir.path().to_path_buf(),
            dir.output_dir(),
            dir.scratch_path(),
        ] {
            std::fs::create_dir(&path).map_err(io(path.clone()))?;
        }
        let Some(lock) = Lock::try_take(&dir.lock_path())? else {
            return Err(Stop::Fault(format!("{} is taken", dir.path().display())));
        };
        Ok(Self { dir, _lock: lock })
    }

    /// Removes it; what runs in it has ended.
    pub(super) fn clear(self) -> Result<(), Stop> {
        gone(self.dir.path()).map_err(Stop::Fault)
    }
}

/// Removes what shells left that were killed.
pub fn sweep(home: &Home) {
    let rooms = home.shells();
    if !rooms.is_dir() {
        return;
    }
    if let Ok(_door) = Lock::take(&rooms.join(DOOR)) {
        sweep_now(&rooms);
    }
}

fn sweep_now(rooms: &Path) {
    for entry in std::fs::read_dir(rooms).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !Lock::is_held(&RunDir::at(path.clone()).lock_path()) {
            // what cannot be removed is there for the next one
            let _ = gone(&path);
        }
    }
}

fn gone(path: &Path) -> Result<(), String> {
    for _ in 1..TRIES {
        if remove_tree(path).is_ok() {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
    remove_tree(path).map_err(|e| e.to_string())
}
