//! The GPUs of this machine and whether they are free; no figures, and so no waiting for them.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use super::attribution::Attribution;
use super::leased::GpuLease;
use super::leases::Leases;
use super::snapshot::Gpu;
use super::source::{Lane, Readings, Source, Unavailable, Why};
use super::workers::Finder;

/// A driver that has to wake its GPUs takes a few seconds.
const LIMIT: Duration = Duration::from_secs(8);

/// Looks once. A driver that hangs is left to itself.
pub fn here(
    source: impl Source + 'static,
    leases: Leases,
    home: &Path,
) -> Result<Vec<Gpu>, Unavailable> {
    let failed = |reason: String| Unavailable::new(Why::Failed, reason);
    let (sender, answer) = mpsc::channel();
    let home = home.to_path_buf();
    std::thread::Builder::new()
        .name("gpu look".into())
        .spawn(move || {
            // nobody listens any more after the limit
            let _ = sender.send(look(source, &leases, &home));
        })
        .map_err(|error| failed(error.to_string()))?;
    answer.recv_timeout(LIMIT).unwrap_or_else(|_| {
        let reason = format!("the driver gave no answer in {} s", LIMIT.as_secs());
        Err(failed(reason))
    })
}

fn look(mut source: impl Source, leases: &Leases, home: &Path) -> Result<Vec<Gpu>, Unavailable> {
    let proc = Path::new("/proc");
    source.open()?;
    let mut attribution = Attribution::new(proc);
    let trees = attribution.trees(&Finder::new(proc, home).find());
    let mut gpus = Vec::new();
    for index in 0..source.count()? {
        // one that does not answer cannot be used
        let Ok(identity) = source.identity(index) else {
            continue;
        };
        let mut gpu = Gpu::new(index, identity.uuid, identity.name, identity.fixed);
        let mut readings = Readings::default();
        if source.read(index, Lane::Processes, &mut readings).is_err() {
            continue;
        }
        gpu.lease = GpuLease::read(leases, &gpu.uuid);
        gpu.processes = readings.processes.map(|raw| {
            raw.iter()
                .map(|process| attribution.describe(process, &trees))
                .collect()
        });
        gpus.push(gpu);
    }
    Ok(gpus)
}
