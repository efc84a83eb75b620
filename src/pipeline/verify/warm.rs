//! Sandboxes that wait for an author's next edit: one for each patch on the probes, each with the
//! patch's tree laid and its ranks started (`suite::waiting`). An order puts the probes as they are
//! then in the tree, is carried out once, and another sandbox takes its place when nobody waits.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use git2::Oid;
use tokio::task::{JoinHandle, spawn_blocking};

use super::candidates::Candidate;
use super::cells::Slot;
use super::compiled::{Compiled, Compiler, Over, Source, sources};
use super::modules::modules;
use super::reading::Suites;
use crate::domain::{Level, Subject, Suite};
use crate::engine::Sandbox;
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::pipeline::place::{Aside, Place};
use crate::pipeline::recorder::Recorder;
use crate::pipeline::run_suites::{Subjected, lay, suite_run, worktree};
use crate::pipeline::suite::{Waiting, WaitsFor};
use crate::workspace::replace_suite;

/// The suite that authors edit.
const SUITE: Suite = Suite::Probes;
/// A waiting sandbox ends with the run; this only bounds one that outlives everything else.
const LIFE: Duration = Duration::from_secs(7 * 86_400);

/// A work tree.
struct Tree {
    oid: Oid,
    worktree: PathBuf,
    /// What of each suite lies in it.
    suites: BTreeMap<Suite, String>,
}

/// A sandbox with its work tree.
struct Laid {
    tree: PathBuf,
    orders: PathBuf,
    waiting: Waiting,
    suites: BTreeMap<Suite, String>,
}

/// The sandboxes that wait, by the tree that is laid in each.
#[derive(Default)]
pub(in crate::pipeline) struct Warm {
    ready: Mutex<BTreeMap<Oid, Vec<Laid>>>,
    /// Those that no sandbox waits on yet.
    trees: Mutex<Vec<Tree>>,
    made: AtomicU32,
    /// Where this cannot be done, it is told once and left.
    refused: AtomicBool,
    /// Where the suites' folders go in a tree.
    into: Mutex<BTreeMap<Suite, String>>,
    compiled: Arc<Compiled>,
    /// Work on the newest edit's bytecode.
    compiling: tokio::sync::Mutex<Option<JoinHandle<()>>>,
    /// Of cells that are known: ended and removed when nobody waits for an answer.
    over: Aside,
    old: Arc<Mutex<Vec<PathBuf>>>,
}

impl Warm {
    /// A sandbox that waits on this tree, with the suite's tests put in it just now.
    pub async fn take(
        &self,
        tree: Oid,
        suite: Suite,
        suites: &Suites,
    ) -> Option<(PathBuf, Waiting)> {
        if suite != SUITE {
            return None;
        }
        let place = lock(&self.ready).get_mut(&tree)?.pop()?;
        if let Some(compiling) = self.compiling.lock().await.take() {
            let _ = compiling.await;
        }
        let into = lock(&self.into).clone();
        lock(&self.old).push(place.orders);
        let worktree = place.tree.clone();
        // in the order in which a tree is laid: the suite's own comes last
        let is_new = |suite: &Suite| place.suites.get(suite) != suites.digests.get(suite);
        let new = suites.dirs.iter().skip_while(|(suite, _)| !is_new(suite));
        let new: Vec<(Suite, PathBuf)> = new.map(|(suite, dir)| (*suite, dir.clone())).collect();
        let compiled = Arc::clone(&self.compiled);
        let put = spawn_blocking(move || {
            for (suite, tests) in &new {
                if let Some(into) = into.get(suite) {
                    put(
                        &worktree,
                        into,
                        tests,
                        (*suite == SUITE).then_some(&*compiled),
                    )?;
                }
            }
            Ok::<_, std::io::Error>(())
        });
        match put.await {
            Ok(Ok(())) => Some((place.tree, place.waiting)),
            // it runs in a new one, which says what is wrong
            _ => None,
        }
    }

    /// Begins to compile what an edit brought; whoever takes a sandbox waits for that.
    pub async fn compile(&self, suites: &Suites) {
        let into = lock(&self.into).get(&SUITE).cloned();
        let (Some(into), Some(dir)) = (into, suites.dirs.get(&SUITE).cloned()) else {
            return;
        };
        let compiled = Arc::clone(&self.compiled);
        let (over, old) = (Arc::clone(&self.over), Arc::clone(&self.old));
        let work = tokio::spawn(async move {
            if let Some(done) = compiled.make(sources(&dir, &into, true)).await {
                lock(&over).push(done.sandbox);
                lock(&old).extend(done.folders);
            }
        });
        *self.compiling.lock().await = Some(work);
    }

    /// Where sandboxes go that are over.
    pub fn aside(&self) -> Aside {
        Arc::clone(&self.over)
    }

    /// What a cell leaves.
    pub fn remove_later(&self, paths: [PathBuf; 2]) {
        lock(&self.old).extend(paths);
    }

    /// What was laid is not what the task says any more.
    pub fn forget(&self) {
        self.let_go(|_| false);
        if let Some(compiler) = self.compiled.forget() {
            self.put_aside(compiler);
        }
    }

    /// Ends and removes what is over; goes on where nobody waits for it.
    async fn clear(&self) {
        let over: Vec<Sandbox> = std::mem::take(&mut *lock(&self.over));
        let old = std::mem::take(&mut *lock(&self.old));
        let cleared = tokio::spawn(async move {
            for sandbox in over {
                sandbox.close().await;
            }
            let removed = spawn_blocking(move || {
                for path in old {
                    let _ = std::fs::remove_dir_all(path);
                }
            });
            let _ = removed.await;
        });
        let _ = cleared.await;
    }

    /// Makes those that are missing; can be dropped at any time.
    pub async fn fill(
        &self,
        ground: &Ground,
        candidates: &[Candidate],
        suites: &Suites,
        slots: &[Slot],
        beside: usize,
        recorder: &Recorder,
    ) {
        self.clear().await;
        let spec = ground.task.spec.suites.get(SUITE);
        if spec.is_none() || ground.task.spec.hardware.gpus > 0 {
            return;
        }
        let into = Suite::ALL.into_iter().filter_map(|suite| {
            let spec = ground.task.spec.suites.get(suite)?;
            Some((suite, spec.into.clone()))
        });
        *lock(&self.into) = into.collect();
        if let Err(stop) = self
            .make_all(ground, candidates, suites, slots, beside)
            .await
            && !self.refused.swap(true, Ordering::Relaxed)
        {
            let text = format!("no sandboxes wait for edits, cells start cold: {stop:?}");
            recorder.say(Level::Warn, text);
        }
    }

    async fn make_all(
        &self,
        ground: &Ground,
        candidates: &[Candidate],
        suites: &Suites,
        slots: &[Slot],
        beside: usize,
    ) -> Result<(), Stop> {
        if self.refused.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut wanted: BTreeMap<Oid, (Subject, usize)> = BTreeMap::new();
        for slot in slots.iter().filter(|slot| slot.suite == SUITE) {
            let candidate = &candidates[slot.candidate];
            if let Ok(tree) = candidate.tree {
                wanted.entry(tree).or_insert((candidate.subject(), 0)).1 += 1;
            }
        }
        self.let_go(|tree| wanted.contains_key(tree));
        let mut jobs = Vec::new();
        for (tree, (subject, count)) in wanted {
            let there = lock(&self.ready).get(&tree).map_or(0, Vec::len);
            let laid = lock(&self.trees).iter().filter(|t| t.oid == tree).count();
            let missing = count.saturating_sub(there + laid);
            jobs.extend(std::iter::repeat_n((tree, subject), missing));
        }
        let mut laying = stream::iter(jobs)
            .map(|of| self.lay(ground, suites, of))
            .buffer_unordered(beside.max(1));
        while let Some(tree) = laying.next().await {
            let tree = tree?;
            lock(&self.trees).push(tree);
        }
        drop(laying);
        self.hire(ground).await?;
        let worktrees: Vec<PathBuf> = (lock(&self.trees).iter())
            .map(|tree| tree.worktree.clone())
            .collect();
        let intos = lock(&self.into).clone();
        let found = spawn_blocking(move || {
            let of = |tree: &PathBuf| files(tree, &intos);
            worktrees.iter().flat_map(of).collect()
        });
        if let Some(over) = self.compiled.make(found.await.unwrap_or_default()).await {
            self.put_aside(over);
        }
        // for the next edit
        self.hire(ground).await?;
        let modules = modules(ground, suites.dirs.get(&SUITE));
        let trees = std::iter::from_fn(|| lock(&self.trees).pop());
        let mut starting = stream::iter(trees)
            .map(|tree| self.start(ground, tree, &modules))
            .buffer_unordered(beside.max(1));
        while let Some(started) = starting.next().await {
            let (oid, place) = started?;
            lock(&self.ready).entry(oid).or_default().push(place);
        }
        Ok(())
    }

    /// What waits on trees that are not wanted: of a patch that was edited, of a build that came out
    /// otherwise.
    fn let_go(&self, wanted: impl Fn(&Oid) -> bool) {
        let ready = std::mem::take(&mut *lock(&self.ready));
        let (kept, gone): (BTreeMap<_, _>, BTreeMap<_, _>) =
            ready.into_iter().partition(|(tree, _)| wanted(tree));
        *lock(&self.ready) = kept;
        for place in gone.into_values().flatten() {
            self.put_aside(Over {
                sandbox: place.waiting.into_sandbox(),
                folders: [place.tree, place.orders],
            });
        }
        let trees = std::mem::take(&mut *lock(&self.trees));
        let (kept, gone): (Vec<_>, Vec<_>) = trees.into_iter().partition(|t| wanted(&t.oid));
        *lock(&self.trees) = kept;
        lock(&self.old).extend(gone.into_iter().map(|tree| tree.worktree));
    }

    async fn lay(
        &self,
        ground: &Ground,
        suites: &Suites,
        (oid, subject): (Oid, Subject),
    ) -> Result<Tree, Stop> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let subjected = Subjected {
            subject,
            tree: oid,
            // beside the numbers of cells, which are less
            slot: 1_000_000_000 + number,
        };
        let tests = suites.tests(SUITE);
        let mut begun = Begun {
            worktree: worktree(&ground.scratch, subjected, SUITE, tests.as_ref()),
            old: Some(Arc::clone(&self.old)),
        };
        let worktree = lay(ground, &subjected, SUITE, tests, None).await?;
        begun.old = None;
        Ok(Tree {
            oid,
            worktree,
            suites: suites.digests.clone(),
        })
    }

    async fn start(
        &self,
        ground: &Ground,
        tree: Tree,
        modules: &[String],
    ) -> Result<(Oid, Laid), Stop> {
        let (compiled, worktree) = (Arc::clone(&self.compiled), tree.worktree.clone());
        let intos = lock(&self.into).clone();
        let put = spawn_blocking(move || compiled.put(&worktree, &files(&worktree, &intos)));
        let put = put.await.unwrap_or(Ok(()));
        put.map_err(|e| Stop::Fault(format!("{}: {e}", tree.worktree.display())))?;
        let waits_for = WaitsFor::Suite(modules);
        let (waiting, orders) = self.wait(ground, &tree.worktree, waits_for).await?;
        let place = Laid {
            tree: tree.worktree,
            orders,
            waiting,
            suites: tree.suites,
        };
        Ok((tree.oid, place))
    }

    /// Somebody who compiles.
    async fn hire(&self, ground: &Ground) -> Result<(), Stop> {
        if self.compiled.has_compiler() {
            return Ok(());
        }
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let worktree = ground.scratch.join(format!("compiler-{number}"));
        let made = worktree.join("made");
        std::fs::create_dir_all(&made).map_err(|e| Stop::Fault(e.to_string()))?;
        let (waiting, orders) = self.wait(ground, &worktree, WaitsFor::Files).await?;
        self.compiled.engage(Compiler {
            worktree,
            orders,
            waiting,
        });
        Ok(())
    }

    /// A sandbox that waits on a tree, and the folder out of which its order comes.
    async fn wait(
        &self,
        ground: &Ground,
        worktree: &Path,
        waits_for: WaitsFor<'_>,
    ) -> Result<(Waiting, PathBuf), Stop> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let orders = ground.scratch.join(format!("orders-{number}"));
        std::fs::create_dir_all(&orders).map_err(|e| Stop::Fault(e.to_string()))?;
        let mut run = suite_run(ground, Subject::Gold, SUITE, None, &[], None);
        if matches!(waits_for, WaitsFor::Files) {
            run.ranks = 1;
        }
        let isolated = Arc::new(AtomicBool::new(true));
        let mut place = Place::new(ground, worktree, run.ranks, LIFE, &isolated);
        let waiting = place.wait(&run, &orders, waits_for).await;
        Ok((waiting.map_err(|e| Stop::Fault(e.to_string()))?, orders))
    }

    fn put_aside(&self, over: Over) {
        lock(&self.over).push(over.sandbox);
        lock(&self.old).extend(over.folders);
    }
}

/// A work tree that is being laid: an edit that comes first leaves it to be removed.
struct Begun {
    worktree: PathBuf,
    old: Option<Arc<Mutex<Vec<PathBuf>>>>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(old) = &self.old {
            lock(old).push(std::mem::take(&mut self.worktree));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The Python files of a work tree that are compiled: its own, and the suite's.
fn files(worktree: &Path, intos: &BTreeMap<Suite, String>) -> Vec<Source> {
    let mut all = sources(worktree, "", false);
    all.retain(|source| {
        let path = Path::new(&source.path);
        !intos.values().any(|into| path.starts_with(into))
    });
    if let Some(into) = intos.get(&SUITE) {
        all.extend(sources(&worktree.join(into), into, true));
    }
    all
}

/// Puts a suite in a tree that is lent to a sandbox already; what is new belongs to whom the rest does.
fn put(
    worktree: &Path,
    into: &str,
    tests: &Path,
    compiled: Option<&Compiled>,
) -> std::io::Result<()> {
    replace_suite(worktree, into, tests).map_err(|e| std::io::Error::other(e.to_string()))?;
    if let Some(compiled) = compiled {
        compiled.put(worktree, &sources(&worktree.join(into), into, true))?;
    }
    let owner = std::fs::symlink_metadata(worktree)?;
    let mut path = PathBuf::new();
    for part in Path::new(into).components() {
        path.push(part);
        lchown(worktree.join(&path), Some(owner.uid()), Some(owner.gid()))?;
    }
    let mut folders = vec![worktree.join(into)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            lchown(entry.path(), Some(owner.uid()), Some(owner.gid()))?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}
