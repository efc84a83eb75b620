//! Two threads that look, and one channel of whole snapshots.
//!
//! One thread owns the GPU source: a call that hangs holds nobody but that thread. The other reads
//! the machine's load. Readers take the newest snapshot from a watch channel and never wait.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::attribution::Attribution;
use super::host::HostSampler;
use super::leased::GpuLease;
use super::leases::Leases;
use super::snapshot::{Gpu, Snapshot, WorkerProcess};
use super::source::{Fixed, Lane, Missing, Readings, Source, Unavailable, Why};
use super::workers::Finder;
use super::{NvmlSource, Reading};
use crate::store::now_s;

/// First wait after a source could not be opened; doubled up to the last.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_LAST: Duration = Duration::from_secs(30);
/// During a slow round what is known so far is published this often.
const PUBLISH: Duration = Duration::from_millis(250);
const SLOW_LANE: Duration = Duration::from_secs(5);
/// Between the first two samples of the machine: rates are differences.
const FIRST_RATE: Duration = Duration::from_millis(200);
/// How long a stop waits for a call that hangs.
const STOP: Duration = Duration::from_millis(500);

/// How a sampler works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// From the start of one round to the next.
    pub interval: Duration,
    /// PCIe and NVLink as well: a tenth of a second a GPU.
    pub slow_lane: bool,
    /// Whose disk is shown, and whose live runs are known.
    pub home: PathBuf,
    pub leases: Leases,
}

impl Settings {
    pub fn new(home: &Path) -> Self {
        Self {
            interval: Duration::from_secs(1),
            slow_lane: false,
            home: home.to_path_buf(),
            leases: Leases::look(),
        }
    }
}

struct Shared {
    settings: Settings,
    sender: watch::Sender<Arc<Snapshot>>,
    stopped: Mutex<bool>,
    wake: Condvar,
    slow_lane: AtomicBool,
    workers: Mutex<Vec<WorkerProcess>>,
    /// Processes of live runs, as of the last sample of the machine.
    trees: Mutex<Arc<BTreeMap<u32, String>>>,
}

/// Runs until it is stopped or dropped.
pub struct Sampler {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Sampler {
    /// Samples this machine.
    pub fn start(settings: Settings) -> Self {
        Self::with_source(Box::new(NvmlSource::new()), settings)
    }

    pub fn with_source(source: Box<dyn Source>, settings: Settings) -> Self {
        let (sender, _) = watch::channel(Arc::new(Snapshot::default()));
        let shared = Arc::new(Shared {
            slow_lane: AtomicBool::new(settings.slow_lane),
            settings,
            sender,
            stopped: Mutex::new(false),
            wake: Condvar::new(),
            workers: Mutex::new(Vec::new()),
            trees: Mutex::new(Arc::new(BTreeMap::new())),
        });
        let host = Arc::clone(&shared);
        let gpus = Arc::clone(&shared);
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new().name(name.into()).spawn(work)
        };
        let threads = [
            spawn("host sampler", Box::new(move || sample_host(&host))),
            spawn(
                "gpu sampler",
                Box::new(move || GpuThread::new(&gpus, source).run()),
            ),
        ];
        // a machine that gives no thread shows nothing; the age tells
        let threads = threads.into_iter().filter_map(Result::ok).collect();
        Self { shared, threads }
    }

    /// The newest snapshot, and notice of the next.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.shared.sender.subscribe()
    }

    /// Workers of live runs of other homes: their processes are listed and attributed from the next sample on.
    pub fn set_workers(&self, workers: Vec<WorkerProcess>) {
        *lock(&self.shared.workers) = workers;
    }

    pub fn set_slow_lane(&self, on: bool) {
        self.shared.slow_lane.store(on, Ordering::Relaxed);
    }

    /// Ends both threads; one whose call hangs is left to end by itself.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        *lock(&self.shared.stopped) = true;
        self.shared.wake.notify_all();
        let deadline = Instant::now() + STOP;
        for thread in self.threads.drain(..) {
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(2));
            }
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn stopped(&self) -> bool {
        *lock(&self.stopped)
    }

    /// Sleeps; `false` when it is time to end.
    fn sleep(&self, duration: Duration) -> bool {
        let guard = lock(&self.stopped);
        let (guard, _) = self
            .wake
            .wait_timeout_while(guard, duration, |stopped| !*stopped)
            .unwrap_or_else(PoisonError::into_inner);
        !*guard
    }

    fn publish(&self, change: impl FnOnce(&mut Snapshot)) {
        self.sender.send_modify(|newest| {
            let snapshot = Arc::make_mut(newest);
            change(snapshot);
            snapshot.at_s = now_s();
        });
    }
}

fn sample_host(shared: &Shared) {
    let proc = Path::new("/proc");
    let mut host = HostSampler::new(proc, &shared.settings.home);
    let mut finder = Finder::new(proc, &shared.settings.home);
    let mut wait = FIRST_RATE.min(shared.settings.interval);
    loop {
        let mut workers = lock(&shared.workers).clone();
        workers.extend(finder.find());
        let (load, trees) = host.sample(&workers);
        *lock(&shared.trees) = Arc::new(trees);
        shared.publish(|snapshot| snapshot.host = load);
        if !shared.sleep(wait) {
            return;
        }
        wait = shared.settings.interval;
    }
}

/// Why a round ended early.
enum End {
    Stopped,
    /// The source must be opened again.
    Closed(Unavailable),
}

struct GpuThread<'a> {
    shared: &'a Shared,
    source: Box<dyn Source>,
    attribution: Attribution,
    gpus: Vec<Gpu>,
    readings: Vec<Readings>,
    /// Those that were there and that the driver does not list any more.
    gone: Vec<Gpu>,
    driver: Option<String>,
    cuda: Option<String>,
    rounds: u64,
    published: Instant,
    /// When each was last read on the slow lane.
    slow_at: Vec<Option<Instant>>,
    retry: Duration,
}

impl<'a> GpuThread<'a> {
    fn new(shared: &'a Shared, source: Box<dyn Source>) -> Self {
        Self {
            shared,
            source,
            attribution: Attribution::new(Path::new("/proc")),
            gpus: Vec::new(),
            readings: Vec::new(),
            gone: Vec::new(),
            driver: None,
            cuda: None,
            rounds: 0,
            published: Instant::now(),
            slow_at: Vec::new(),
            retry: RETRY_FIRST,
        }
    }

    fn run(mut self) {
        loop {
            let end = match self.source.open() {
                Ok(driver) => {
                    self.driver = Some(driver);
                    self.cuda = self.source.cuda();
                    self.rounds()
                }
                Err(unavailable) => End::Closed(unavailable),
            };
            let End::Closed(unavailable) = end else {
                return;
            };
            // what comes back is told from what does not by its UUID
            let there = std::mem::take(&mut self.gpus);
            self.gone.extend(there);
            self.rounds += 1;
            let wait = self.retry;
            self.retry = (wait * 2).min(RETRY_LAST);
            let rounds = self.rounds;
            self.shared.publish(|snapshot| {
                snapshot.rounds = rounds;
                snapshot.gpus.clear();
                snapshot.driver = None;
                snapshot.cuda = None;
                snapshot.unavailable = Some(unavailable);
                snapshot.retry_at_s = Some(now_s() + wait.as_secs_f64());
            });
            if !self.shared.sleep(wait) {
                return;
            }
        }
    }

    /// Round after round until the source closes.
    fn rounds(&mut self) -> End {
        loop {
            let begun = Instant::now();
            if let Err(end) = self.round() {
                return end;
            }
            self.rounds += 1;
            // only a whole round shows that it works again
            self.retry = RETRY_FIRST;
            self.publish();
            let rest = self
                .shared
                .settings
                .interval
                .saturating_sub(begun.elapsed());
            // a round that takes longer than the interval still leaves the processor to others
            if !self.shared.sleep(rest.max(Duration::from_millis(50))) {
                return End::Stopped;
            }
        }
    }

    fn round(&mut self) -> Result<(), End> {
        let count = self.source.count().map_err(End::Closed)?;
        if count == 0 {
            let reason = "the driver runs and sees no GPU";
            return Err(End::Closed(Unavailable::new(Why::NoGpu, reason)));
        }
        if self.gpus.len() != count as usize {
            self.identify(count)?;
        }
        let slow = self.slow_lane();
        for at in 0..self.gpus.len() {
            self.read(at, slow.contains(&at))?;
            if self.published.elapsed() >= PUBLISH {
                self.publish();
            }
        }
        Ok(())
    }

    fn identify(&mut self, count: u32) -> Result<(), End> {
        let before = std::mem::take(&mut self.gpus);
        self.gone.extend(before);
        self.readings = vec![Readings::default(); count as usize];
        self.slow_at = vec![None; count as usize];
        for index in 0..count {
            self.go_on()?;
            let gpu = match self.source.identity(index) {
                Ok(identity) => Gpu::new(index, identity.uuid, identity.name, identity.fixed),
                Err(Missing::Driver) => return Err(changed()),
                // its figures will tell why
                Err(Missing::Lost | Missing::NoPermission) => {
                    Gpu::new(index, String::new(), "GPU".into(), Fixed::default())
                }
            };
            self.gpus.push(gpu);
            if self.published.elapsed() >= PUBLISH {
                self.publish();
            }
        }
        let listed = &self.gpus;
        let mut told = BTreeSet::new();
        self.gone.retain(|gone| {
            let listed = listed.iter().any(|gpu| gpu.uuid == gone.uuid);
            !listed && !gone.uuid.is_empty() && told.insert(gone.uuid.clone())
        });
        for gone in &mut self.gone {
            gone.lose(now_s());
        }
        Ok(())
    }

    fn read(&mut self, at: usize, slow: bool) -> Result<(), End> {
        let index = self.gpus[at].index;
        self.gpus[at].lease = GpuLease::read(&self.shared.settings.leases, &self.gpus[at].uuid);
        let lanes = [Lane::Figures, Lane::Processes, Lane::Slow];
        let used = if slow { &lanes[..] } else { &lanes[..2] };
        for lane in used {
            self.go_on()?;
            match self.source.read(index, *lane, &mut self.readings[at]) {
                Ok(()) => {}
                Err(Missing::Driver) => return Err(changed()),
                Err(Missing::Lost) => {
                    self.readings[at] = Readings::default();
                    self.gpus[at].lose(now_s());
                    return Ok(());
                }
                Err(Missing::NoPermission) => {
                    self.gpus[at].forbid(now_s());
                    return Ok(());
                }
            }
        }
        if !self.shared.slow_lane.load(Ordering::Relaxed) {
            self.readings[at].pcie = Reading::Unsupported;
            self.readings[at].nvlink = Reading::Unsupported;
        }
        let trees = Arc::clone(&lock(&self.shared.trees));
        let readings = &self.readings[at];
        let processes = readings.processes.clone().map(|raw| {
            raw.iter()
                .map(|process| self.attribution.describe(process, &trees))
                .collect()
        });
        self.gpus[at].take(now_s(), readings, processes);
        Ok(())
    }

    /// Those whose turn it is: all that were never read there, else one, so that no round takes
    /// much longer than the others.
    fn slow_lane(&mut self) -> Vec<usize> {
        if !self.shared.slow_lane.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let places = self.slow_at.iter().enumerate();
        let mut turn: Vec<usize> = places
            .clone()
            .filter_map(|(at, read)| read.is_none().then_some(at))
            .collect();
        if turn.is_empty() {
            let due = places
                .filter_map(|(at, read)| Some((read.as_ref()?.elapsed(), at)))
                .filter(|(age, _)| *age >= SLOW_LANE);
            turn.extend(due.max().map(|(_, at)| at));
        }
        for at in &turn {
            self.slow_at[*at] = Some(Instant::now());
        }
        turn
    }

    fn go_on(&self) -> Result<(), End> {
        if self.shared.stopped() {
            Err(End::Stopped)
        } else {
            Ok(())
        }
    }

    fn publish(&mut self) {
        self.published = Instant::now();
        let gpus: Vec<Gpu> = self.gpus.iter().chain(&self.gone).cloned().collect();
        let (driver, cuda, rounds) = (self.driver.clone(), self.cuda.clone(), self.rounds);
        self.shared.publish(|snapshot| {
            snapshot.gpus = gpus;
            snapshot.driver = driver;
            snapshot.cuda = cuda;
            snapshot.rounds = rounds;
            snapshot.unavailable = None;
            snapshot.retry_at_s = None;
        });
    }
}

fn changed() -> End {
    End::Closed(Unavailable::new(
        Why::Failed,
        "the driver or its GPUs changed while they were read",
    ))
}
