//! What `replay` is given: the recorded log, its times, and the files that its patch changed.

use std::path::Path;

use crate::agent::replay::{Change, Content, LOG, Recording};
use crate::domain::Replay;
use crate::pipeline::error::Stop;
use crate::pipeline::trees::{Patch, Trees, Unchanged};

/// git's mode of a symlink.
const LINK: u32 = 0o120_000;

/// Writes the folder.
pub(super) fn prepare(replay: &Replay, trees: &Trees, folder: &Path) -> Result<(), Stop> {
    let io = |path: &Path| {
        let path = path.display().to_string();
        move |e: std::io::Error| Stop::Input(format!("{path}: {e}"))
    };
    std::fs::create_dir_all(folder).map_err(io(folder))?;
    std::fs::copy(&replay.log, folder.join(LOG)).map_err(io(&replay.log))?;
    let mut recording = Recording {
        rate: replay.rate,
        ..Recording::default()
    };
    if let Some(times) = &replay.times {
        let text = std::fs::read_to_string(times).map_err(io(times))?;
        recording.pieces = Recording::pieces(&text);
    }
    if let Some(patch) = &replay.patch {
        recording.changes = changes(patch, trees, folder)?;
    }
    recording.write(folder).map_err(io(folder))
}

fn changes(patch: &Path, trees: &Trees, folder: &Path) -> Result<Vec<Change>, Stop> {
    let read = Patch::read(patch)?;
    let changed = match trees.change(&read) {
        Ok(changed) => changed,
        Err(Unchanged::Stop(stop)) => return Err(stop),
        // it left nothing, or nothing that applies: it changes nothing here either
        Err(Unchanged::Refused(_)) => return Ok(Vec::new()),
    };
    let fault = |e: crate::workspace::WorkspaceError| Stop::Fault(e.to_string());
    let diff = trees
        .snapshot
        .diff_trees(trees.base, changed.tree)
        .map_err(fault)?;
    let modes = trees.snapshot.files(changed.tree).map_err(fault)?;
    let mut changes = Vec::new();
    for (n, file) in diff.files.iter().enumerate() {
        let found = trees
            .snapshot
            .file(changed.tree, &file.path)
            .map_err(fault)?;
        let mode = modes.iter().find(|(path, _)| *path == file.path);
        let content = match (found, mode.map(|(_, mode)| *mode)) {
            (Some(target), Some(LINK)) => Content::Link { target },
            (Some(bytes), Some(mode)) => {
                let name = n.to_string();
                std::fs::write(folder.join(&name), bytes)
                    .map_err(|e| Stop::Fault(format!("{}: {e}", folder.display())))?;
                Content::File {
                    name,
                    executable: mode & 0o111 != 0,
                }
            }
            _ => Content::Gone,
        };
        changes.push(Change {
            path: file.path.clone(),
            content,
        });
    }
    // what goes first makes room
    changes.sort_by_key(|c| c.content != Content::Gone);
    Ok(changes)
}
