//! Evidence beside the cases: what a submission exchanged in the process that reports and which
//! test files it rewrote, held against gold's run, and what its patch holds, against gold's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use git2::Oid;

use super::calibrate::key;
use super::error::Stop;
use super::gold::{build_gold, gold_once};
use super::ground::Ground;
use super::recorder::Recorder;
use super::trees::Trees;
use crate::diff::patch::Change;
use crate::domain::{Area, Calibration, Deviation, Event, Evidence, Level, Suite};
use crate::judge::unlike_gold;
use crate::python::Files;
use crate::python::signs::{Signs, SignsInput, is_looked_at, signs};
use crate::store::{Home, keep_calibration};
use crate::workspace::rewritten;

/// The deviations of a suite that gold does not show, told to the journal. Where nobody looked
/// when gold was calibrated, gold runs for it, once.
pub(super) async fn weigh(
    home: &Home,
    ground: &Ground,
    suite: Suite,
    calibration: &Calibration,
    seen: &[Deviation],
    recorder: &Recorder,
    isolated: &Arc<AtomicBool>,
) -> Result<Vec<Evidence>, Stop> {
    if seen.is_empty() {
        return Ok(Vec::new());
    }
    let gold = calibration.suites.get(&suite);
    let of_gold = if let Some(known) = gold.and_then(|g| g.deviations.clone()) {
        known
    } else {
        recorder.say(
            Level::Info,
            format!("{suite}: gold runs once more, to see which changes to pytest are its own"),
        );
        build_gold(ground, isolated).await?;
        let (_, found) = gold_once(ground, suite, recorder, isolated).await?;
        // another machine's calibration says nothing of what gold does here
        if let Some(part) = gold
            && part.key == key(ground, suite)?
        {
            let mut part = part.clone();
            part.deviations = Some(found.clone());
            let whole = Calibration {
                suites: BTreeMap::from([(suite, part)]),
                ..calibration.clone()
            };
            keep_calibration(home, &whole)?;
        }
        found
    };
    let evidence = unlike_gold(seen, &of_gold);
    for evidence in &evidence {
        recorder.record(Event::Deviated {
            suite,
            evidence: evidence.clone(),
        });
    }
    Ok(evidence)
}

/// Test files that are no longer what was laid, now that their suite is over: the place of a
/// deviation is the file. `laid`: the suite as it was put there.
pub(super) async fn rewritten_tests(
    ground: &Ground,
    suite: Suite,
    worktree: &Path,
    laid: PathBuf,
) -> Result<Vec<Deviation>, Stop> {
    let spec = ground.task.spec.suites.get(suite);
    let into = spec.map(|s| s.into.clone()).unwrap_or_default();
    let work = worktree.to_path_buf();
    let changed = tokio::task::spawn_blocking(move || rewritten(&work, &into, &laid))
        .await
        .map_err(|e| Stop::Fault(format!("test files: {e}")))?
        .map_err(|e| Stop::Fault(format!("test files: {e}")))?;
    let deviation = |path: PathBuf| Deviation {
        area: Area::Test,
        place: path.to_string_lossy().into_owned(),
        file: String::new(),
        name: "not what was laid".into(),
        line: 0,
        // whatever gold writes there is fine
        digest: String::new(),
        case: None,
    };
    Ok(changed.into_iter().map(deviation).collect())
}

/// Looks at what a submission's tree adds to base, tells the journal, and gives the number of
/// strong signs.
pub(super) async fn audit(ground: &Ground, tree: Oid, recorder: &Recorder) -> Result<usize, Stop> {
    let trees = Arc::clone(&ground.trees);
    let suites = &ground.task.spec.suites;
    let folders: Vec<String> = (Suite::ALL.into_iter())
        .filter_map(|s| suites.get(s))
        .map(|s| s.into.clone())
        .collect();
    let found = tokio::task::spawn_blocking(move || signs_of(&trees, tree, &folders))
        .await
        .map_err(|e| Stop::Fault(format!("patch audit: {e}")))??;
    let strong = found.strong.len();
    if !(found.strong.is_empty() && found.weak.is_empty()) {
        recorder.record(Event::Audited {
            strong: found.strong,
            weak: found.weak,
        });
    }
    Ok(strong)
}

fn signs_of(trees: &Trees, tree: Oid, folders: &[String]) -> Result<Signs, Stop> {
    let (base, submission) = changed(trees, tree)?;
    let (_, gold) = changed(trees, trees.gold)?;
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    Ok(signs(&SignsInput {
        base: &base,
        submission: &submission,
        gold: &gold,
        folders: &folders,
    }))
}

/// The files in which a tree differs from base: as they are there, and as they are in the tree.
fn changed(trees: &Trees, tree: Oid) -> Result<(Files, Files), Stop> {
    let fault = |e: crate::workspace::WorkspaceError| Stop::Fault(format!("patch audit: {e}"));
    let difference = trees.snapshot.diff_trees(trees.base, tree).map_err(fault)?;
    let (mut before, mut after) = (Files::new(), Files::new());
    for file in difference.files {
        let name = String::from_utf8_lossy(&file.path).into_owned();
        for (side, from, skipped) in [
            (&mut before, trees.base, Change::Add),
            (&mut after, tree, Change::Delete),
        ] {
            if file.change != skipped
                && let Some(bytes) = trees.snapshot.file(from, &file.path).map_err(fault)?
            {
                // that it is there is enough, where it is no Python
                let kept = is_looked_at(&name, bytes.len());
                side.insert(name.clone(), if kept { bytes } else { Vec::new() });
            }
        }
    }
    Ok((before, after))
}
