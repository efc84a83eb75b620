//! What a run folder says: the fold over its journal, gold's calibrations, and whether it counts.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sha2::{Digest, Sha256};

use super::made_by::made_by;
use super::tasks::TaskFolders;
use crate::domain::agent::ENDED_IN_ERROR;
use crate::domain::agent_state::Captured;
use crate::domain::run_state::RunState;
use crate::domain::{
    Calibration, CaseId, Manifest, Outcome, Record, Source, Subject, Suite, SuiteChoice, Work,
};
use crate::judge::score::{Evidence, LeftOut, RunRead, Standing, TaskFacts, recount};
use crate::store::{Home, RunDir, kept_calibration, read_records, review_of, task_calibrations};

/// Runs as they were read, and what their tasks are.
pub struct Read {
    pub runs: Vec<RunRead>,
    pub tasks: BTreeMap<String, TaskFacts>,
}

/// Reads run folders. `home` is looked into for calibrations after each run's own; `tasks` for
/// task folders that are not where a run says.
pub fn read_runs(runs: &[RunDir], home: &Path, tasks: &Path) -> Read {
    let mut reader = Reader {
        home: Home::there(home),
        folders: TaskFolders::new(tasks),
        calibrations: HashMap::new(),
    };
    let manifests: Vec<Result<Manifest, String>> = (runs.iter())
        .map(|run| run.manifest().map_err(|e| e.to_string()))
        .collect();
    let mut copies: HashMap<&str, Vec<&RunDir>> = HashMap::new();
    let mut dirs: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for (run, manifest) in runs.iter().zip(&manifests) {
        if let Ok(manifest) = manifest {
            copies.entry(&manifest.run.0).or_default().push(run);
            let dirs = dirs.entry(manifest.task.clone()).or_default();
            dirs.push(manifest.task_dir.clone());
        }
    }
    let read = runs
        .iter()
        .zip(&manifests)
        .map(|(run, manifest)| match manifest {
            Err(why) => unreadable(run, why.clone()),
            Ok(manifest) => {
                let copies = &copies[manifest.run.0.as_str()];
                reader.read(run, manifest, copies)
            }
        });
    let read = read.collect();
    Read {
        runs: read,
        tasks: reader.folders.facts(&dirs),
    }
}

fn unreadable(run: &RunDir, why: String) -> RunRead {
    RunRead {
        run: run.id().0,
        task: None,
        configuration: None,
        origin: String::new(),
        keys: String::new(),
        version: None,
        created_s: 0.0,
        standing: Standing::LeftOut(LeftOut::Unreadable, why),
    }
}

/// What an own home keeps under a key, or the task's folder.
type Kept = Result<Option<Rc<Calibration>>, String>;

struct Reader {
    home: Option<Home>,
    folders: TaskFolders,
    /// By the run's own home, its task's folder and the key.
    calibrations: HashMap<(PathBuf, PathBuf, String), Kept>,
}

impl Reader {
    fn read(&mut self, run: &RunDir, manifest: &Manifest, copies: &[&RunDir]) -> RunRead {
        let path = run.journal_path();
        let records = if path.exists() {
            read_records(&path)
        } else {
            Ok(Vec::new())
        };
        let (records, broken) = match records {
            Ok(records) => (records, None),
            Err(e) => (Vec::new(), Some(e.to_string())),
        };
        let state = RunState::fold(&records);
        let task = self.folders.task(&manifest.task, &manifest.task_dir);
        let maker = made_by(run, manifest, &records, task);
        let copied = copied(run, copies);
        let standing = match (broken, copied) {
            (Some(why), _) => Standing::LeftOut(LeftOut::Unreadable, why),
            (_, Some((reason, why))) => Standing::LeftOut(reason, why),
            _ => self.standing(run, manifest, &state, &records),
        };
        let key = |suite| state.keys.get(&Some(suite)).map_or("", String::as_str);
        let (configuration, version, origin) = match maker {
            Some(m) => (Some(m.configuration), m.version, m.origin),
            None => (None, None, String::new()),
        };
        RunRead {
            run: manifest.run.0.clone(),
            task: Some(manifest.task.clone()),
            configuration,
            origin,
            keys: format!("{} {}", key(Suite::Official), key(Suite::Probes)),
            version,
            created_s: manifest.created_s,
            standing,
        }
    }

    /// In this order: what was asked for, how it ended, what it is counted against.
    fn standing(
        &mut self,
        run: &RunDir,
        manifest: &Manifest,
        state: &RunState,
        records: &[Record],
    ) -> Standing {
        let out = |reason, why: &str| Standing::LeftOut(reason, why.to_owned());
        if let Work::Calibrate { runs } = manifest.work {
            return out(LeftOut::Calibration, &format!("gold, {runs} times"));
        }
        if matches!(manifest.source, Source::Gold | Source::Base) {
            return out(LeftOut::Reference, &manifest.source.label());
        }
        if !manifest.only.is_empty() || manifest.parent.is_some() {
            return out(LeftOut::ChosenCases, "no verdict on the whole");
        }
        if manifest.suites != SuiteChoice::All {
            return out(LeftOut::PartOfSuites, "grade it with --suite all");
        }
        if !state.finished() {
            let status = run.status(state, manifest.created_s).name();
            let why = match records {
                [] => format!("{status}, and its journal is empty"),
                _ => status.to_owned(),
            };
            return Standing::LeftOut(LeftOut::Unfinished, why);
        }
        if state.cancelled {
            return out(LeftOut::Cancelled, "");
        }
        if let Some(message) = &state.fault {
            return match state.exit {
                Some(2) => out(LeftOut::RefusedOrder, message),
                _ => Standing::Fault(message.clone()),
            };
        }
        match self.count(run, manifest, state) {
            Ok(standing) => standing,
            Err((reason, why)) => Standing::LeftOut(reason, why),
        }
    }

    fn count(
        &mut self,
        run: &RunDir,
        manifest: &Manifest,
        state: &RunState,
    ) -> Result<Standing, (LeftOut, String)> {
        let Some(grade) = &state.grade else {
            return Err((LeftOut::NoGrade, String::new()));
        };
        let mut golds: BTreeMap<Suite, Rc<Calibration>> = BTreeMap::new();
        for suite in Suite::ALL {
            let Some(key) = state.keys.get(&Some(suite)) else {
                continue;
            };
            let nowhere = |why: String| (LeftOut::NoCalibration, why);
            let found = self.calibration(run, manifest, suite, key);
            let found = found.map_err(nowhere)?.ok_or_else(|| {
                let short: String = key.chars().take(12).collect();
                nowhere(format!(
                    "{suite}: what gold did under the key {short} is neither in the home nor in \
                     the task's folder; grade it again"
                ))
            })?;
            golds.insert(suite, found);
        }
        let suites = (golds.iter()).map(|(suite, gold)| {
            let own = state.suite(Subject::Submission, *suite);
            let results: HashMap<&CaseId, Outcome> = (own.into_iter())
                .flat_map(|s| &s.results)
                .map(|(id, result)| (id, result.outcome))
                .collect();
            (*suite, (&**gold, results))
        });
        let evidence = Evidence {
            task: &manifest.task,
            run: &manifest.run.0,
            suites: suites.collect(),
            tampered: state.twins.values().any(|(_, passed)| !passed.is_empty()),
            disagreed: !state.disagreed.is_empty(),
            badges: state.captured.iter().flat_map(Captured::badges).collect(),
            grade,
        };
        let mut counted = recount(&evidence)?;
        if counted.suspect() {
            counted.cleared = review_of(run);
        }
        let notes = state.captured.iter().flat_map(|captured| &captured.notes);
        let mut ended = notes.filter(|note| note.kind == ENDED_IN_ERROR);
        counted.ended_in_error = ended.next().map(|note| note.detail.clone());
        Ok(Standing::Counted(Box::new(counted)))
    }

    /// What gold did under a key: in the run's own home, in this one, in the task's folder.
    fn calibration(&mut self, run: &RunDir, manifest: &Manifest, suite: Suite, key: &str) -> Kept {
        // keys come from journals and name files
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(format!("{suite}: its key is none"));
        }
        let own = run.path().parent().and_then(Path::parent);
        let own = own.unwrap_or(run.path()).to_path_buf();
        let place = (own.clone(), manifest.task_dir.clone(), key.to_owned());
        if let Some(known) = self.calibrations.get(&place) {
            return known.clone();
        }
        let homes = [Home::there(&own), self.home.clone()];
        let dirs = self.folders.places(&manifest.task, &manifest.task_dir);
        let kept = (homes.iter().flatten())
            .filter_map(|home| kept_calibration(home, key).ok().flatten())
            .find(|found| found.suites.contains_key(&suite));
        let found = kept.or_else(|| {
            (dirs.iter().flat_map(|dir| task_calibrations(dir)))
                .filter_map(|(_, read)| read.ok()?.of_key(key))
                .find(|found| found.suites.contains_key(&suite))
        });
        let found = Ok(found.map(Rc::new));
        self.calibrations.insert(place, found.clone());
        found
    }
}

/// Whether another folder holds the same run: a copy, or one that says something else. Of equal
/// copies the first, by its path, is read.
fn copied(run: &RunDir, copies: &[&RunDir]) -> Option<(LeftOut, String)> {
    let first = copies.first().filter(|_| copies.len() > 1)?;
    let own = digest(run);
    match copies.iter().find(|other| digest(other) != own) {
        Some(other) => {
            let why = format!("{} differs; name the right one", other.path().display());
            Some((LeftOut::Conflict, why))
        }
        None if *first == run => None,
        None => Some((LeftOut::Duplicate, first.path().display().to_string())),
    }
}

fn digest(run: &RunDir) -> Vec<Option<Vec<u8>>> {
    let files = [run.manifest_path(), run.journal_path()];
    let hash = |path: PathBuf| Some(Sha256::digest(std::fs::read(path).ok()?).to_vec());
    files.into_iter().map(hash).collect()
}
