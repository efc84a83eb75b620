//! The run folders that somebody means.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::store::{Home, RunDir, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error(
        "{0}: no run in it; name a run folder (it holds manifest.json), a folder of such, or a home"
    )]
    NoRuns(PathBuf),
    #[error("{0}: there is no home; `infradev grade` makes one, or name run folders")]
    NoHome(PathBuf),
    #[error("{what} is no folder, and {source}")]
    NoRun { what: String, source: StoreError },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs by id (as other commands take it), run folders, folders of runs, homes; nothing: all runs
/// of the home at `home`. Each folder once, in the order of their paths.
pub fn find_runs(inputs: &[String], home: &Path) -> Result<Vec<RunDir>, FindError> {
    let own = || Home::there(home).ok_or_else(|| FindError::NoHome(home.to_path_buf()));
    let mut found = BTreeSet::new();
    if inputs.is_empty() {
        found.extend(folders(&own()?.runs()));
    }
    for input in inputs {
        let path = Path::new(input);
        if path.is_dir() {
            let inside = [path.to_path_buf(), path.join("runs")];
            let runs = if is_run(path) {
                vec![path.to_path_buf()]
            } else {
                inside.iter().flat_map(|folder| folders(folder)).collect()
            };
            if runs.is_empty() {
                return Err(FindError::NoRuns(path.to_path_buf()));
            }
            found.extend(runs);
        } else {
            let run = own()?.find(input).map_err(|source| FindError::NoRun {
                what: input.clone(),
                source,
            })?;
            found.insert(run.path().to_path_buf());
        }
    }
    let mut real = BTreeSet::new();
    for path in found {
        real.insert(path.canonicalize().map_err(|source| {
            let path = path.clone();
            StoreError::Io { path, source }
        })?);
    }
    Ok(real.into_iter().map(RunDir::at).collect())
}

fn is_run(path: &Path) -> bool {
    path.join("manifest.json").is_file()
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|e| e.path()).filter(|p| is_run(p)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_is_taken_once_however_it_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        for run in ["20260101-000000-aaaa", "20260101-000000-bbbb", "no-run"] {
            std::fs::create_dir_all(home.join("runs").join(run)).unwrap();
            if run != "no-run" {
                std::fs::write(home.join("runs").join(run).join("manifest.json"), "{}").unwrap();
            }
        }
        let word = |path: &Path| path.to_string_lossy().into_owned();
        let named = |inputs: &[String]| {
            let runs = find_runs(inputs, &home).unwrap();
            runs.iter().map(|r| r.id().0).collect::<Vec<_>>()
        };
        let both = ["20260101-000000-aaaa", "20260101-000000-bbbb"];
        assert_eq!(named(&[]), both);
        assert_eq!(named(&[word(&home)]), both);
        let store = home.join("runs");
        assert_eq!(named(&[word(&store), "bbbb".into()]), both);
        let one = [word(&store.join(both[0])), both[0].into()];
        assert_eq!(named(&one), both[..1]);
        let empty = word(&store.join("no-run"));
        assert!(matches!(
            find_runs(&[empty], &home),
            Err(FindError::NoRuns(_))
        ));
        let other = dir.path().join("elsewhere");
        assert!(matches!(find_runs(&[], &other), Err(FindError::NoHome(_))));
        let unknown = find_runs(&["cccc".into()], &home);
        assert!(matches!(unknown, Err(FindError::NoRun { .. })));
        assert!(!other.exists(), "a look makes no home");
    }
}
