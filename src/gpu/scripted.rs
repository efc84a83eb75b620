//! A source that follows a script: what no machine at hand can show.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::Reading;
use super::snapshot::{Mig, NvLink, Pcie, PcieLink};
use super::source::{Fixed, Identity, Lane, Missing, RawProcess, Readings, Source, Unavailable};

/// What the hardware does from now on; changed while a sampler runs on it.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub gpus: u32,
    /// How long each call takes.
    pub call: Duration,
    pub lost: Vec<u32>,
    pub forbidden: Vec<u32>,
    /// In MIG mode.
    pub mig: Vec<u32>,
    /// GPUs that the driver does not list any more: the others move up.
    pub unlisted: Vec<u32>,
    pub memory_used_bytes: Option<u64>,
    /// Figures that these GPUs do not tell.
    pub silent: Vec<u32>,
    /// Opening and counting fail with this.
    pub unavailable: Option<Unavailable>,
    pub processes: Vec<RawProcess>,
    /// Counted by the source: how often it was opened, and calls made.
    pub opened: u32,
    pub calls: u64,
}

impl Script {
    /// The GPU that has this number now.
    fn listed(&self, index: u32) -> u32 {
        (0..self.gpus)
            .filter(|gpu| !self.unlisted.contains(gpu))
            .nth(index as usize)
            .unwrap_or(index)
    }
}

/// Shares its script with whoever made it.
#[derive(Clone, Debug, Default)]
pub struct ScriptedSource {
    script: Arc<Mutex<Script>>,
    open: bool,
}

impl ScriptedSource {
    pub fn new(script: Script) -> Self {
        Self {
            script: Arc::new(Mutex::new(script)),
            open: false,
        }
    }

    pub fn change<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        change(&mut self.script.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One call, with its duration.
    fn call(&self) -> Script {
        let script = self.change(|script| {
            script.calls += 1;
            script.clone()
        });
        std::thread::sleep(script.call);
        script
    }
}

impl Source for ScriptedSource {
    fn open(&mut self) -> Result<String, Unavailable> {
        self.open = false;
        let script = self.call();
        self.change(|script| script.opened += 1);
        if let Some(unavailable) = script.unavailable {
            return Err(unavailable);
        }
        self.open = true;
        Ok("scripted 1.0".into())
    }

    fn count(&mut self) -> Result<u32, Unavailable> {
        let script = self.call();
        match script.unavailable {
            Some(unavailable) => Err(unavailable),
            None => Ok(script.gpus - script.unlisted.len() as u32),
        }
    }

    fn cuda(&mut self) -> Option<String> {
        self.open.then(|| "13.0".into())
    }

    fn identity(&mut self, index: u32) -> Result<Identity, Missing> {
        let script = self.call();
        let index = script.listed(index);
        if !self.open {
            return Err(Missing::Driver);
        }
        if script.forbidden.contains(&index) {
            return Err(Missing::NoPermission);
        }
        Ok(Identity {
            uuid: format!("GPU-{index:08}"),
            name: "Scripted GPU".into(),
            minor: Some(index),
            mig: script.mig.contains(&index),
            fixed: Fixed {
                bus_id: Some(format!("00000000:{index:02X}:00.0")),
                sm_clock_max_mhz: Reading::Value(1980),
                memory_clock_max_mhz: Reading::Value(3201),
                slowdown_c: Reading::Value(92),
                ..Fixed::default()
            },
        })
    }

    fn read(&mut self, index: u32, lane: Lane, into: &mut Readings) -> Result<(), Missing> {
        let script = self.call();
        let index = script.listed(index);
        if !self.open || script.unavailable.is_some() {
            return Err(Missing::Driver);
        }
        if script.lost.contains(&index) {
            return Err(Missing::Lost);
        }
        if script.forbidden.contains(&index) {
            return Err(Missing::NoPermission);
        }
        let tells = !script.silent.contains(&index);
        match lane {
            Lane::Figures => {
                let used = script.memory_used_bytes.unwrap_or(1 << 30);
                into.memory_used_bytes = Reading::Value(used);
                into.memory_total_bytes = Reading::Value(80 << 30);
                if tells {
                    into.utilisation_pct = Reading::Value(index);
                    into.temperature_c = Reading::Value(40 + index);
                    into.power_w = Reading::Value(100.0);
                    into.power_limit_w = Reading::Value(700.0);
                    into.sm_clock_mhz = Reading::Value(1980);
                    into.memory_clock_mhz = Reading::Value(3201);
                    into.pstate = Reading::Value(0);
                    into.throttle = Reading::Value(Vec::new());
                    into.ecc_uncorrected = Reading::Value(0);
                }
                into.mig = Reading::Value(Vec::new());
                if script.mig.contains(&index) {
                    // the whole of such a GPU has no utilisation
                    into.utilisation_pct = Reading::Unsupported;
                    let instance = |part| Mig {
                        index: part,
                        uuid: format!("MIG-{index:04}-{part}"),
                        profile: "1g.10gb".into(),
                        memory_used_bytes: Reading::Value(1 << 30),
                        memory_total_bytes: Reading::Value(10 << 30),
                    };
                    into.mig = Reading::Value((0..2).map(instance).collect());
                }
            }
            Lane::Processes if tells => into.processes = Reading::Value(script.processes),
            Lane::Slow if tells => {
                into.pcie_link = Reading::Value(PcieLink {
                    generation: 5,
                    width: 16,
                    generation_max: Some(5),
                    width_max: Some(16),
                });
                into.nvlink = Reading::Value(NvLink {
                    active: 18,
                    links: 18,
                    received_bytes_per_s: Reading::Value(2000),
                    sent_bytes_per_s: Reading::Value(2000),
                });
                into.pcie = Reading::Value(Pcie {
                    received_bytes_per_s: 1000,
                    sent_bytes_per_s: 1000,
                });
            }
            Lane::Processes | Lane::Slow => {}
        }
        Ok(())
    }
}
