//! Task folders, each read once.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::catalog::load_task;
use crate::domain::Task;
use crate::judge::score::TaskFacts;

/// Tasks where their runs say, else in the folder of tasks.
pub(super) struct TaskFolders {
    tasks_dir: PathBuf,
    read: HashMap<PathBuf, Option<Task>>,
}

impl TaskFolders {
    pub(super) fn new(tasks_dir: &Path) -> Self {
        Self {
            tasks_dir: tasks_dir.to_path_buf(),
            read: HashMap::new(),
        }
    }

    /// The task `id`, from its own folder or from the folder of tasks.
    pub(super) fn task(&mut self, id: &str, dir: &Path) -> Option<&Task> {
        let dirs = self.places(id, dir);
        let dir = dirs.iter().find(|dir| self.load(id, dir).is_some())?;
        self.load(id, dir)
    }

    /// Where the task may lie, whether it is there or not.
    pub(super) fn places(&self, id: &str, dir: &Path) -> Vec<PathBuf> {
        let own = Some(dir.to_path_buf());
        own.into_iter().chain(self.fallback(id)).collect()
    }

    /// Ids come from manifests: only a plain name is looked for.
    fn fallback(&self, id: &str) -> Option<PathBuf> {
        let mut parts = Path::new(id).components();
        let plain = matches!(parts.next(), Some(std::path::Component::Normal(_)));
        (plain && parts.next().is_none()).then(|| self.tasks_dir.join(id))
    }

    fn load(&mut self, id: &str, dir: &Path) -> Option<&Task> {
        let read = self.read.entry(dir.to_path_buf()).or_insert_with(|| {
            if dir.join("task.toml").is_file() {
                load_task(dir).task
            } else {
                None
            }
        });
        read.as_ref().filter(|task| task.id() == id)
    }

    /// What each task is. `dirs`: the folders that runs of a task name; the first that can be read
    /// tells.
    pub(super) fn facts(
        &mut self,
        dirs: &BTreeMap<String, Vec<PathBuf>>,
    ) -> BTreeMap<String, TaskFacts> {
        let mut facts = BTreeMap::new();
        for (id, dirs) in dirs {
            let mut dirs = dirs.clone();
            dirs.sort();
            dirs.dedup();
            let known = dirs
                .iter()
                .find_map(|dir| Some(facts_of(self.task(id, dir)?)));
            facts.insert(id.clone(), known.unwrap_or_default());
        }
        facts
    }
}

fn facts_of(task: &Task) -> TaskFacts {
    let spec = &task.spec;
    TaskFacts {
        area: Some(spec.area.name().to_owned()),
        repository: Some(spec.repository.clone()),
        kind: Some(spec.kind.name().to_owned()),
        gpus: Some(spec.hardware.gpus.to_string()),
    }
}
