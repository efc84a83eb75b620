//! How much runs beside each other.

use crate::domain::Suite;
use crate::pipeline::ground::Ground;

/// How many cells run at a time: as many as have a core for each rank and their memory; one where
/// there are GPUs, which they would share.
pub(in crate::pipeline) fn beside(ground: &Ground) -> usize {
    let spec = &ground.task.spec;
    if spec.hardware.gpus > 0 {
        return 1;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let ranks = Suite::ALL
        .iter()
        .filter_map(|s| spec.suites.get(*s))
        .map(|s| s.ranks.max(1));
    let by_cores = cores.div_ceil(ranks.min().unwrap_or(1) as usize);
    by_cores.min(by_memory(spec.limits.memory_mib)).max(1)
}

fn by_memory(each_mib: u64) -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = text.lines().find_map(|l| {
        let kib = l
            .strip_prefix("MemAvailable:")?
            .trim()
            .strip_suffix(" kB")?;
        kib.trim().parse::<u64>().ok()
    });
    free.map_or(usize::MAX, |kib| (kib / 1024 / each_mib.max(1)) as usize)
}
