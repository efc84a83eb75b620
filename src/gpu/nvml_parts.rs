//! Parts of NVML's answers that take several calls: links, instances, shares of processes.

use std::collections::BTreeMap;
use std::time::Duration;

use nvml_wrapper::enum_wrappers::device::PcieUtilCounter;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::gpm_metrics_get;
use nvml_wrapper::{Device, Nvml};

use super::Reading;
use super::nvml::reading;
use super::snapshot::{Mig, NvLink, Pcie, PcieLink};
use crate::store::now_s;

/// NVML_NVLINK_MAX_LINKS.
const MOST_LINKS: u32 = 18;
/// Between two samples of the performance monitor; NVML asks for as much.
const WINDOW: Duration = Duration::from_millis(100);
/// How far back a process's share of the multiprocessors is looked for.
const RECENT_S: f64 = 3.0;

/// The way to the machine as it runs now.
pub(super) fn link(device: &Device<'_>) -> Reading<PcieLink> {
    let generation = reading(device.current_pcie_link_gen());
    let width = reading(device.current_pcie_link_width());
    match (generation, width) {
        (Reading::Value(generation), Reading::Value(width)) => Reading::Value(PcieLink {
            generation,
            width,
            generation_max: device.max_pcie_link_gen().ok(),
            width_max: device.max_pcie_link_width().ok(),
        }),
        (Reading::Value(_), unknown) | (unknown, _) => none(&unknown),
    }
}

/// Watches PCIe for 20 ms a direction.
pub(super) fn throughput(device: &Device<'_>) -> Reading<Pcie> {
    // kilobytes in a second
    let received = reading(device.pcie_throughput(PcieUtilCounter::Receive));
    let sent = reading(device.pcie_throughput(PcieUtilCounter::Send));
    match (received, sent) {
        (Reading::Value(received), Reading::Value(sent)) => Reading::Value(Pcie {
            received_bytes_per_s: u64::from(received) * 1000,
            sent_bytes_per_s: u64::from(sent) * 1000,
        }),
        (Reading::Value(_), unknown) | (unknown, _) => none(&unknown),
    }
}

/// Links to other GPUs, watched for [`WINDOW`], in which `meanwhile` is done too.
pub(super) fn nvlink<T>(
    nvml: &Nvml,
    device: &Device<'_>,
    meanwhile: impl FnOnce() -> T,
) -> (Reading<NvLink>, T) {
    let states: Vec<Result<bool, NvmlError>> = (0..MOST_LINKS)
        .map(|link| device.link_wrapper_for(link).is_active())
        .take_while(|state| !matches!(state, Err(NvmlError::InvalidArg)))
        .collect();
    let links = states.iter().flatten().count() as u32;
    let active = states.iter().flatten().filter(|up| **up).count() as u32;
    let first = (active > 0).then(|| device.gpm_sample());
    let begun = std::time::Instant::now();
    let done = meanwhile();
    if links == 0 {
        let first = states.into_iter().next();
        let unknown = first.map_or(Reading::Unsupported, |state| reading(state).map(|_| ()));
        return (none(&unknown), done);
    }
    let rates = match first {
        None => [Reading::Value(0); 2],
        Some(Err(error)) => [none(&reading::<(), _>(Err(error))); 2],
        Some(Ok(first)) => {
            std::thread::sleep(WINDOW.saturating_sub(begun.elapsed()));
            let wanted = [
                GpmMetricId::NvlinkTotalRxPerSec,
                GpmMetricId::NvlinkTotalTxPerSec,
            ];
            let answers = device
                .gpm_sample()
                .and_then(|second| gpm_metrics_get(nvml, &first, &second, &wanted));
            match answers {
                Err(error) => [none(&reading::<(), _>(Err(error))); 2],
                Ok(answers) => {
                    let mut rates = answers.into_iter().map(|answer| {
                        // MiB in a second
                        match reading(answer).map(|metric| metric.value) {
                            Reading::Value(rate) if !rate.is_finite() => Reading::Unsupported,
                            rate => rate.map(|rate| (rate * f64::from(1 << 20)) as u64),
                        }
                    });
                    let mut next = || rates.next().unwrap_or_default();
                    [next(), next()]
                }
            }
        }
    };
    let [received_bytes_per_s, sent_bytes_per_s] = rates;
    let link = NvLink {
        active,
        links,
        received_bytes_per_s,
        sent_bytes_per_s,
    };
    (Reading::Value(link), done)
}

/// The instances that there are, each with the number that the driver gives it.
pub(super) fn handles<'nvml>(device: &Device<'nvml>) -> Vec<(u32, Device<'nvml>)> {
    // a place without an instance is no error
    (0..device.mig_device_count().unwrap_or(0))
        .filter_map(|index| Some((index, device.mig_device_by_index(index).ok()?)))
        .collect()
}

pub(super) fn instances(device: &Device<'_>) -> Vec<Mig> {
    handles(device)
        .into_iter()
        .map(|(index, instance)| {
            let memory = instance.memory_info();
            Mig {
                index,
                uuid: instance.uuid().unwrap_or_default(),
                profile: profile(&instance.name().unwrap_or_default()),
                memory_used_bytes: reading(memory.as_ref().map(|m| m.used)),
                memory_total_bytes: reading(memory.as_ref().map(|m| m.total)),
            }
        })
        .collect()
}

/// `1g.18gb` of `NVIDIA H200 MIG 1g.18gb`.
fn profile(name: &str) -> String {
    let after = name.rsplit_once("MIG ").map(|(_, profile)| profile);
    after.unwrap_or(name).to_owned()
}

/// Mean shares of the multiprocessors in the last seconds, by process; those that did nothing, and
/// all where the driver does not tell, are not among them.
pub(super) fn sm_shares(device: &Device<'_>) -> BTreeMap<u32, u32> {
    // microseconds
    let since = ((now_s() - RECENT_S).max(0.0) * 1e6) as u64;
    let samples = device.process_utilization_stats(since).unwrap_or_default();
    let mut sums: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.timestamp >= since) {
        let (sum, count) = sums.entry(sample.pid).or_default();
        *sum += sample.sm_util.min(100);
        *count += 1;
    }
    sums.into_iter()
        .map(|(pid, (sum, count))| (pid, sum / count.max(1)))
        .collect()
}

/// The same reason, of another type.
fn none<T, U>(unknown: &Reading<T>) -> Reading<U> {
    match unknown {
        Reading::NoPermission => Reading::NoPermission,
        Reading::Lost => Reading::Lost,
        Reading::Value(_) | Reading::Unsupported => Reading::Unsupported,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_the_end_of_an_instances_name() {
        assert_eq!(profile("NVIDIA H200 MIG 1g.18gb"), "1g.18gb");
        assert_eq!(
            profile("NVIDIA H100 80GB HBM3 MIG 2c.3g.40gb"),
            "2c.3g.40gb"
        );
        assert_eq!(profile("something"), "something");
    }
}
