//! Changes of the store and the catalog, from the file system's notices.
//!
//! Watched are the folder of runs, each run that is not finished (a worker writes there), its
//! output, the folder of tasks, and each task's with the suites and patches in it. A finished run's folder is left alone: a thousand of them
//! would cost a thousand watches.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::RunId;
use crate::store::{Home, Watch};
use crate::tui::backend::{Answer, BackendError, Change, Guard, Sink};

struct Watching {
    watch: Option<Watch>,
    runs: HashSet<PathBuf>,
}

pub fn start(home: &Home, tasks: &Path, sink: Sink<Change>) -> Answer<Guard> {
    let runs_dir = home.runs();
    let tasks_dir = tasks.to_path_buf();
    let watching = Arc::new(Mutex::new(Watching {
        watch: None,
        runs: HashSet::new(),
    }));
    // new run folders are added on a thread of their own: the notifier's must not wait for it
    let (found, arrivals) = std::sync::mpsc::channel::<PathBuf>();
    let changed = {
        let runs_dir = runs_dir.clone();
        move |paths: Vec<PathBuf>| {
            for path in paths {
                let Ok(inside) = path.strip_prefix(&runs_dir) else {
                    if path.starts_with(&tasks_dir) {
                        sink(Change::Tasks);
                    }
                    continue;
                };
                let mut parts = inside.components();
                let Some(run) = parts.next() else { continue };
                let folder = runs_dir.join(run);
                if parts.next().is_none() {
                    // the thread that watches it ends when the guard is dropped
                    let _ = found.send(folder);
                    sink(Change::Runs);
                } else {
                    sink(Change::Run(RunId(
                        run.as_os_str().to_string_lossy().into_owned(),
                    )));
                }
            }
        }
    };
    let mut watch = Watch::new(changed).map_err(BackendError::new)?;
    watch.add(&runs_dir).map_err(BackendError::new)?;
    // a folder of tasks that is not there cannot change
    if tasks.is_dir() {
        watch.add(tasks).map_err(BackendError::new)?;
        // the folders in which an author edits
        for folder in folders_of(tasks).iter().flat_map(|task| {
            let mut own = folders_of(task);
            own.push(task.clone());
            own
        }) {
            // where the system has no more watches, edits there are seen by the next key that asks
            let _ = watch.add(&folder);
        }
    }
    {
        let mut state = watching.lock().unwrap_or_else(PoisonError::into_inner);
        state.watch = Some(watch);
        for run in home.list().map_err(BackendError::new)? {
            // a finished run keeps a summary, and nobody writes to it any more
            if !run.summary_path().exists() {
                state.follow(run.path());
            }
        }
    }
    let adder = Arc::downgrade(&watching);
    std::thread::Builder::new()
        .name("run watcher".into())
        .spawn(move || {
            while let Ok(folder) = arrivals.recv() {
                let Some(watching) = adder.upgrade() else {
                    return;
                };
                watching
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .follow(&folder);
            }
        })
        .map_err(BackendError::new)?;
    Ok(Guard::new(watching))
}

impl Watching {
    fn follow(&mut self, folder: &Path) {
        let Some(watch) = &mut self.watch else { return };
        if !folder.is_dir() {
            watch.remove(folder);
            self.runs.remove(folder);
            return;
        }
        if self.runs.insert(folder.to_path_buf()) {
            // a run that went meanwhile needs no watch
            let _ = watch.add(folder);
            let _ = watch.add(&folder.join("output"));
        }
    }
}

/// Folders of a folder, links and hidden ones left out.
fn folders_of(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| entry.path())
        .take(500)
        .collect()
}
