//! The newest sample and a short history of each figure that has a curve.

use std::collections::{HashMap, VecDeque};

use crate::tui::gpu_view::GpuView;

/// Samples kept of a curve: a little over two minutes at one a second.
pub const HISTORY: usize = 128;

#[derive(Clone, Debug, Default)]
pub struct GpuState {
    pub view: Option<GpuView>,
    /// Utilisation in percent, by UUID.
    pub util: HashMap<String, VecDeque<u32>>,
    pub cpu: VecDeque<u32>,
    pub memory: VecDeque<u32>,
    pub offset: usize,
    /// Sampling could not begin.
    pub error: Option<String>,
    /// The sampler runs.
    pub sampling: bool,
}

impl GpuState {
    pub fn take(&mut self, view: GpuView) {
        for gpu in &view.gpus {
            if let Some(percent) = gpu.util_percent.value() {
                push(self.util.entry(gpu.uuid.clone()).or_default(), percent);
            }
        }
        if let Some(percent) = view.host.cpu_percent {
            push(&mut self.cpu, percent.clamp(0.0, 100.0) as u32);
        }
        if let (Some(used), Some(total)) = (view.host.memory_used, view.host.memory_total) {
            let percent = used.saturating_mul(100) / total.max(1);
            push(&mut self.memory, percent.min(100) as u32);
        }
        self.view = Some(view);
    }
}

fn push(curve: &mut VecDeque<u32>, value: u32) {
    if curve.len() >= HISTORY {
        curve.pop_front();
    }
    curve.push_back(value);
}
