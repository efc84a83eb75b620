//! NVIDIA's management library, loaded when it is first asked for.

use std::borrow::Borrow;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{
    Clock, ComputeMode, EccCounter, MemoryError, PerformanceState, TemperatureSensor,
    TemperatureThreshold,
};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::{Device, Nvml, cuda_driver_version_major, cuda_driver_version_minor};

use super::nvml_parts::{instances, link, nvlink, sm_shares, throughput};
use super::snapshot::ProcessKind;
use super::source::{
    Fixed, Identity, Lane, Missing, RawProcess, Readings, Source, Unavailable, Why,
};
use super::{Reading, nvml_parts};

/// NVML_DEVICE_MIG_ENABLE.
const MIG_ON: u32 = 1;

/// The real source.
#[derive(Default)]
pub struct NvmlSource {
    nvml: Option<Nvml>,
}

impl NvmlSource {
    pub fn new() -> Self {
        Self::default()
    }
}

impl Source for NvmlSource {
    fn open(&mut self) -> Result<String, Unavailable> {
        // unloaded first: a driver that was replaced comes with a new library
        self.nvml = None;
        let nvml = Nvml::init().map_err(|error| unavailable(&error))?;
        let version = nvml
            .sys_driver_version()
            .map_err(|error| unavailable(&error))?;
        self.nvml = Some(nvml);
        Ok(version)
    }

    fn count(&mut self) -> Result<u32, Unavailable> {
        let answer = match &self.nvml {
            Some(nvml) => nvml.device_count(),
            None => Err(NvmlError::Uninitialized),
        };
        answer.map_err(|error| {
            self.nvml = None;
            unavailable(&error)
        })
    }

    fn cuda(&mut self) -> Option<String> {
        let version = self.nvml.as_ref()?.sys_cuda_driver_version().ok()?;
        let (major, minor) = (
            cuda_driver_version_major(version),
            cuda_driver_version_minor(version),
        );
        Some(format!("{major}.{minor}"))
    }

    fn identity(&mut self, index: u32) -> Result<Identity, Missing> {
        let nvml = self.nvml.as_ref().ok_or(Missing::Driver)?;
        let device = nvml.device_by_index(index).map_err(|e| missing(&e))?;
        Ok(Identity {
            uuid: device.uuid().map_err(|e| missing(&e))?,
            // a GPU without a name is still one
            name: device.name().unwrap_or_else(|_| "GPU".into()),
            minor: device.minor_number().ok(),
            mig: cut(&device),
            fixed: fixed(&device),
        })
    }

    fn read(&mut self, index: u32, lane: Lane, into: &mut Readings) -> Result<(), Missing> {
        let nvml = self.nvml.as_ref().ok_or(Missing::Driver)?;
        let device = nvml.device_by_index(index).map_err(|e| missing(&e))?;
        match lane {
            Lane::Figures => {
                let memory = device.memory_info();
                // the first call tells whether the GPU still answers at all
                if let Err(error) = &memory
                    && let Some(missing) = gone(error)
                {
                    return Err(missing);
                }
                into.memory_used_bytes = reading(memory.as_ref().map(|m| m.used));
                into.memory_total_bytes = reading(memory.as_ref().map(|m| m.total));
                let rates = reading(device.utilization_rates());
                into.utilisation_pct = rates.as_ref().map(|rates| rates.gpu);
                into.memory_utilisation_pct = rates.map(|rates| rates.memory);
                into.temperature_c = reading(device.temperature(TemperatureSensor::Gpu));
                into.fan_pct = reading(device.fan_speed(0));
                into.power_w = reading(device.power_usage()).map(watts);
                into.power_limit_w = reading(device.enforced_power_limit()).map(watts);
                // millijoules
                into.energy_j =
                    reading(device.total_energy_consumption()).map(|mj| mj as f64 / 1000.0);
                into.sm_clock_mhz = reading(device.clock_info(Clock::SM));
                into.memory_clock_mhz = reading(device.clock_info(Clock::Memory));
                into.pstate = pstate(device.performance_state());
                into.throttle = reading(device.current_throttle_reasons()).map(throttle);
                let errors = |kind| reading(device.total_ecc_errors(kind, EccCounter::Volatile));
                into.ecc_corrected = errors(MemoryError::Corrected);
                into.ecc_uncorrected = errors(MemoryError::Uncorrected);
                into.mig = if cut(&device) {
                    Reading::Value(instances(&device))
                } else {
                    Reading::Value(Vec::new())
                };
            }
            Lane::Processes => {
                into.processes = running(&device);
                if cut(&device) {
                    for (index, instance) in nvml_parts::handles(&device) {
                        join(&mut into.processes, index, running(&instance));
                    }
                }
                if let Reading::Value(processes) = &mut into.processes
                    && !processes.is_empty()
                {
                    let shares = sm_shares(&device);
                    for process in processes {
                        let share = shares.get(&process.pid).copied();
                        process.sm_pct = share.map_or(Reading::Unsupported, Reading::Value);
                    }
                }
            }
            Lane::Slow => {
                into.pcie_link = link(&device);
                (into.nvlink, into.pcie) = nvlink(nvml, &device, || throughput(&device));
            }
        }
        Ok(())
    }
}

fn cut(device: &Device<'_>) -> bool {
    device.mig_mode().is_ok_and(|mode| mode.current == MIG_ON)
}

fn fixed(device: &Device<'_>) -> Fixed {
    let threshold = |which| reading(device.temperature_threshold(which));
    Fixed {
        bus_id: device.pci_info().ok().map(|info| info.bus_id),
        sm_clock_max_mhz: reading(device.max_clock_info(Clock::SM)),
        memory_clock_max_mhz: reading(device.max_clock_info(Clock::Memory)),
        slowdown_c: threshold(TemperatureThreshold::Slowdown),
        shutdown_c: threshold(TemperatureThreshold::Shutdown),
        compute_mode: device.compute_mode().ok().map(|mode| {
            match mode {
                ComputeMode::Default => "default",
                ComputeMode::ExclusiveThread => "exclusive thread",
                ComputeMode::Prohibited => "prohibited",
                ComputeMode::ExclusiveProcess => "exclusive process",
            }
            .to_owned()
        }),
        persistence: reading(device.is_in_persistent_mode()),
    }
}

fn running(device: &Device<'_>) -> Reading<Vec<RawProcess>> {
    let compute = device.running_compute_processes();
    let graphics = device.running_graphics_processes();
    processes(reading(compute), reading(graphics))
}

/// What runs on an instance, whether or not the whole GPU told of it too.
fn join(into: &mut Reading<Vec<RawProcess>>, instance: u32, found: Reading<Vec<RawProcess>>) {
    let Reading::Value(found) = found else { return };
    let mut all = std::mem::take(into).value().unwrap_or_default();
    for mut process in found {
        process.instance = Some(instance);
        all.retain(|known| known.pid != process.pid || known.instance.is_some());
        all.push(process);
    }
    all.sort_by_key(|process| (process.pid, process.instance));
    *into = Reading::Value(all);
}

/// A call's answer; an error is never a number.
pub(super) fn reading<T, E: Borrow<NvmlError>>(answer: Result<T, E>) -> Reading<T> {
    match answer {
        Ok(value) => Reading::Value(value),
        Err(error) => match error.borrow() {
            NvmlError::NoPermission => Reading::NoPermission,
            NvmlError::GpuLost | NvmlError::ResetRequired => Reading::Lost,
            _ => Reading::Unsupported,
        },
    }
}

/// Errors after which nothing more can be asked of the GPU, or of the driver.
fn gone(error: &NvmlError) -> Option<Missing> {
    match error {
        NvmlError::GpuLost
        | NvmlError::ResetRequired
        | NvmlError::IrqIssue
        | NvmlError::InsufficientPower => Some(Missing::Lost),
        NvmlError::Uninitialized
        | NvmlError::DriverNotLoaded
        | NvmlError::LibRmVersionMismatch
        | NvmlError::LibraryNotFound => Some(Missing::Driver),
        _ => None,
    }
}

/// The answer to asking for the GPU itself.
fn missing(error: &NvmlError) -> Missing {
    match error {
        NvmlError::NoPermission | NvmlError::OperatingSystem => Missing::NoPermission,
        // the GPUs are others than they were
        NvmlError::InvalidArg | NvmlError::NotFound => Missing::Driver,
        other => gone(other).unwrap_or(Missing::Lost),
    }
}

fn unavailable(error: &NvmlError) -> Unavailable {
    let why = match error {
        NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => Why::LibraryAbsent,
        NvmlError::DriverNotLoaded => Why::DriverNotLoaded,
        NvmlError::LibRmVersionMismatch => Why::DriverMismatch,
        NvmlError::NoPermission | NvmlError::OperatingSystem => Why::NoPermission,
        NvmlError::NotFound => Why::NoGpu,
        _ => Why::Failed,
    };
    let reason = match why {
        Why::LibraryAbsent => "the NVIDIA management library is not on this machine".into(),
        _ => error.to_string(),
    };
    Unavailable::new(why, reason)
}

fn watts(milliwatts: u32) -> f64 {
    f64::from(milliwatts) / 1000.0
}

fn pstate(answer: Result<PerformanceState, NvmlError>) -> Reading<u32> {
    const ORDER: [PerformanceState; 16] = [
        PerformanceState::Zero,
        PerformanceState::One,
        PerformanceState::Two,
        PerformanceState::Three,
        PerformanceState::Four,
        PerformanceState::Five,
        PerformanceState::Six,
        PerformanceState::Seven,
        PerformanceState::Eight,
        PerformanceState::Nine,
        PerformanceState::Ten,
        PerformanceState::Eleven,
        PerformanceState::Twelve,
        PerformanceState::Thirteen,
        PerformanceState::Fourteen,
        PerformanceState::Fifteen,
    ];
    match reading(answer) {
        Reading::Value(state) => ORDER
            .iter()
            .position(|s| *s == state)
            .map_or(Reading::Unsupported, |at| Reading::Value(at as u32)),
        unknown => unknown.map(|_| 0),
    }
}

/// In words; being idle holds nothing down.
fn throttle(reasons: ThrottleReasons) -> Vec<String> {
    [
        (ThrottleReasons::SW_POWER_CAP, "power cap"),
        (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
        (ThrottleReasons::HW_THERMAL_SLOWDOWN, "hardware thermal"),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
        (ThrottleReasons::SW_THERMAL_SLOWDOWN, "thermal"),
        (ThrottleReasons::SYNC_BOOST, "sync boost"),
        (
            ThrottleReasons::APPLICATIONS_CLOCKS_SETTING,
            "application clocks",
        ),
        (ThrottleReasons::DISPLAY_CLOCK_SETTING, "display clocks"),
    ]
    .into_iter()
    .filter(|(reason, _)| reasons.contains(*reason))
    .map(|(_, word)| word.to_string())
    .collect()
}

/// One list by pid. One kind that cannot be told leaves the other; two leave none.
fn processes(
    compute: Reading<Vec<ProcessInfo>>,
    graphics: Reading<Vec<ProcessInfo>>,
) -> Reading<Vec<RawProcess>> {
    let (compute, graphics) = match (compute, graphics) {
        (Reading::Value(compute), graphics) => (compute, graphics.value().unwrap_or_default()),
        (_, Reading::Value(graphics)) => (Vec::new(), graphics),
        (unknown, _) => return unknown.map(|_| Vec::new()),
    };
    let mut found: Vec<RawProcess> = compute
        .iter()
        .map(|process| raw(process, ProcessKind::Compute))
        .collect();
    for process in &graphics {
        match found.iter_mut().find(|f| f.pid == process.pid) {
            Some(both) => both.kind = ProcessKind::Both,
            None => found.push(raw(process, ProcessKind::Graphics)),
        }
    }
    found.sort_by_key(|process| process.pid);
    Reading::Value(found)
}

fn raw(process: &ProcessInfo, kind: ProcessKind) -> RawProcess {
    let memory = match process.used_gpu_memory {
        UsedGpuMemory::Used(bytes) => Reading::Value(bytes),
        UsedGpuMemory::Unavailable => Reading::Unsupported,
    };
    RawProcess::new(process.pid, kind, memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_never_a_number() {
        let cases = [
            (NvmlError::NotSupported, Reading::Unsupported),
            (NvmlError::NotFound, Reading::Unsupported),
            (NvmlError::InvalidArg, Reading::Unsupported),
            (NvmlError::Unknown, Reading::Unsupported),
            (NvmlError::NoPermission, Reading::NoPermission),
            (NvmlError::GpuLost, Reading::Lost),
        ];
        for (error, expected) in cases {
            assert_eq!(reading::<u32, _>(Err(error)), expected);
        }
        assert_eq!(reading::<u32, NvmlError>(Ok(0)), Reading::Value(0));
        assert_eq!(pstate(Ok(PerformanceState::Unknown)), Reading::Unsupported);
        assert_eq!(pstate(Ok(PerformanceState::Two)), Reading::Value(2));
        assert_eq!(pstate(Err(NvmlError::NoPermission)), Reading::NoPermission);
    }

    #[test]
    fn idle_is_no_throttle() {
        assert!(throttle(ThrottleReasons::GPU_IDLE).is_empty());
        let reasons = ThrottleReasons::SW_POWER_CAP | ThrottleReasons::HW_THERMAL_SLOWDOWN;
        assert_eq!(throttle(reasons), ["power cap", "hardware thermal"]);
    }

    fn process(pid: u32, used_gpu_memory: UsedGpuMemory) -> ProcessInfo {
        ProcessInfo {
            pid,
            used_gpu_memory,
            gpu_instance_id: None,
            compute_instance_id: None,
        }
    }

    #[test]
    fn a_process_that_computes_and_draws_is_one_row() {
        let compute = Reading::Value(vec![
            process(9, UsedGpuMemory::Unavailable),
            process(7, UsedGpuMemory::Used(5)),
        ]);
        let graphics = Reading::Value(vec![process(7, UsedGpuMemory::Used(5))]);
        let Reading::Value(found) = processes(compute, graphics) else {
            panic!("no list");
        };
        assert_eq!((found[0].pid, found[0].kind), (7, ProcessKind::Both));
        assert_eq!(found[1].memory_bytes, Reading::Unsupported);
        let none = processes(Reading::NoPermission, Reading::Unsupported);
        assert_eq!(none, Reading::NoPermission);
    }

    #[test]
    fn a_process_on_an_instance_is_told_once_and_with_it() {
        let list = |pids: &[u32]| {
            let raw = |pid: &u32| RawProcess::new(*pid, ProcessKind::Compute, Reading::Value(1));
            Reading::Value(pids.iter().map(raw).collect::<Vec<_>>())
        };
        let mut all = list(&[3, 7]);
        join(&mut all, 0, list(&[7]));
        join(&mut all, 2, list(&[9]));
        join(&mut all, 3, Reading::NoPermission);
        let found: Vec<_> = all
            .value()
            .unwrap_or_default()
            .iter()
            .map(|process| (process.pid, process.instance))
            .collect();
        assert_eq!(found, [(3, None), (7, Some(0)), (9, Some(2))]);
        // the whole tells nothing under MIG
        let mut none = Reading::Unsupported;
        join(&mut none, 1, list(&[5]));
        assert!(matches!(none, Reading::Value(all) if all.len() == 1));
    }

    #[test]
    fn what_stops_everything_is_told_from_one_lost_gpu() {
        assert_eq!(missing(&NvmlError::GpuLost), Missing::Lost);
        assert_eq!(missing(&NvmlError::LibRmVersionMismatch), Missing::Driver);
        assert_eq!(missing(&NvmlError::NoPermission), Missing::NoPermission);
        let unavailable = unavailable(&NvmlError::LibRmVersionMismatch);
        assert_eq!(unavailable.why, Why::DriverMismatch);
        assert!(unavailable.advice.contains("reload"));
    }
}
