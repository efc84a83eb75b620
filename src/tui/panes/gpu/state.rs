//! The newest sample, what came before it, and where the cursor stands.

use std::collections::HashMap;

use crate::tui::gpu_view::{Figure, GpuRow, GpuView, HostView, ProcessRow};

use super::history::{History, SPANS_S, Sample};

/// By what processes are sorted; the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Gpu,
    Memory,
    Sm,
    Cpu,
    /// The longest first.
    Time,
}

impl Sort {
    pub fn name(self) -> &'static str {
        match self {
            Sort::Gpu => "GPU",
            Sort::Memory => "memory",
            Sort::Sm => "SM",
            Sort::Cpu => "CPU",
            Sort::Time => "time",
        }
    }

    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Sort::Gpu => Sort::Memory,
            Sort::Memory => Sort::Sm,
            Sort::Sm => Sort::Cpu,
            Sort::Cpu => Sort::Time,
            Sort::Time => Sort::Gpu,
        }
    }
}

/// Something that the cursor can stand on: a GPU of the view, or a process of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    Gpu(usize),
    Process(usize, usize),
}

impl Item {
    pub fn gpu(self) -> usize {
        match self {
            Item::Gpu(gpu) | Item::Process(gpu, _) => gpu,
        }
    }
}

/// What the cursor stands on, whatever order the next sample has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    gpu: String,
    process: Option<(u32, Option<u32>)>,
}

#[derive(Clone, Debug, Default)]
pub struct GpuState {
    pub view: Option<GpuView>,
    /// By UUID.
    pub history: HashMap<String, History>,
    /// The machine: CPU as `util`, and memory.
    pub host: History,
    /// Which of the items.
    pub selected: usize,
    /// What it is, once the cursor was moved.
    place: Option<Place>,
    sort: Sort,
    pub filter: String,
    /// The GPU that is looked at alone.
    detail: Option<String>,
    /// Which of the spans the curves show.
    span: usize,
    /// Sampling could not begin.
    pub error: Option<String>,
    /// The sampler runs.
    pub sampling: bool,
}

impl GpuState {
    pub fn take(&mut self, view: GpuView) {
        for gpu in view.gpus.iter().filter(|gpu| gpu.lost_since_s.is_none()) {
            let used = gpu.memory_used.value().zip(gpu.memory_total.value());
            let sample = Sample {
                at_s: gpu.read_at_s,
                util: gpu.util_percent.value().map(|percent| percent as f32),
                memory: used.map(|(used, total)| percent(used, total)),
                power_w: gpu.power_w.value().map(|watts| watts as f32),
                heat_c: gpu.temperature_c.value().map(|degrees| degrees as f32),
            };
            self.history.entry(key(gpu)).or_default().push(sample);
        }
        let used = view.host.memory_used.zip(view.host.memory_total);
        self.host.push(Sample {
            at_s: view.host.read_at_s,
            util: view.host.cpu_percent.map(|percent| percent as f32),
            memory: used.map(|(used, total)| percent(used, total)),
            ..Sample::default()
        });
        self.view = Some(view);
        self.refind();
    }

    /// The cursor stays on what it stood on, where that is still there.
    fn refind(&mut self) {
        let items = self.items();
        let known = self.place.as_ref();
        let found = known.and_then(|known| {
            let here = |item: &Item| self.place_of(*item).as_ref() == Some(known);
            items.iter().position(here)
        });
        if let Some(at) = found {
            self.selected = at;
        } else {
            self.selected = self.selected.min(items.len().saturating_sub(1));
        }
    }

    pub fn set_filter(&mut self, filter: String) {
        self.filter = filter;
        self.refind();
    }

    /// One GPU alone, or all again.
    pub fn set_alone(&mut self, gpu: Option<String>) {
        self.detail = gpu;
        self.refind();
    }

    pub fn set_sort(&mut self, sort: Sort) {
        self.sort = sort;
        self.refind();
    }

    pub fn select(&mut self, at: usize) {
        let items = self.items();
        self.selected = at.min(items.len().saturating_sub(1));
        let item = items.get(self.selected).copied();
        self.place = item.and_then(|item| self.place_of(item));
    }

    fn place_of(&self, item: Item) -> Option<Place> {
        Some(Place {
            gpu: key(self.gpu(item)?),
            process: self.process(item).map(|found| (found.pid, found.instance)),
        })
    }

    pub fn gpu(&self, item: Item) -> Option<&GpuRow> {
        self.view.as_ref()?.gpus.get(item.gpu())
    }

    pub fn process(&self, item: Item) -> Option<&ProcessRow> {
        match item {
            Item::Gpu(_) => None,
            Item::Process(_, at) => self.gpu(item)?.processes.get(at),
        }
    }

    pub fn sort(&self) -> Sort {
        self.sort
    }

    pub fn item(&self) -> Option<Item> {
        self.items().get(self.selected).copied()
    }

    /// The GPU that is looked at alone, while it is there.
    pub fn alone(&self) -> Option<usize> {
        let wanted = self.detail.as_ref()?;
        let gpus = &self.view.as_ref()?.gpus;
        gpus.iter().position(|gpu| key(gpu) == *wanted)
    }

    /// All GPUs, then the processes that are not filtered out; of one GPU where one is looked at.
    pub fn items(&self) -> Vec<Item> {
        let Some(view) = &self.view else {
            return Vec::new();
        };
        let alone = self.alone();
        let shown = |at: usize| alone.is_none_or(|alone| alone == at);
        let gpus = (0..view.gpus.len()).filter(|at| shown(*at));
        let mut items: Vec<Item> = gpus.map(Item::Gpu).collect();
        let wanted = self.filter.to_lowercase();
        let mut processes: Vec<(Item, &ProcessRow)> = Vec::new();
        for (at, gpu) in view.gpus.iter().enumerate().filter(|(at, _)| shown(*at)) {
            let here = gpu.processes.iter().enumerate();
            let here = here.filter(|(_, process)| matches(process, &wanted));
            processes.extend(here.map(|(of, process)| (Item::Process(at, of), process)));
        }
        // as it is listed where two are equal; what is not known comes last
        let by = |of: &dyn Fn(&ProcessRow) -> Option<f64>, list: &mut Vec<(Item, &ProcessRow)>| {
            let value = |process: &ProcessRow| of(process).unwrap_or(f64::MIN);
            list.sort_by(|a, b| value(b.1).total_cmp(&value(a.1)));
        };
        match self.sort {
            Sort::Gpu => {}
            Sort::Memory => by(
                &|p| p.memory.value().map(|bytes| bytes as f64),
                &mut processes,
            ),
            Sort::Sm => by(&|p| p.sm_percent.value().map(f64::from), &mut processes),
            Sort::Cpu => by(&|p| p.cpu_percent.value(), &mut processes),
            Sort::Time => by(&|p| p.started_s.value().map(|at| -at), &mut processes),
        }
        items.extend(processes.into_iter().map(|(item, _)| item));
        items
    }

    /// The view as it was at a moment, as far as the history knows: what was not kept is unknown.
    pub fn then(&self, at_s: f64) -> Option<GpuView> {
        let mut view = self.view.clone()?;
        for gpu in &mut view.gpus {
            let sample = self.history.get(&key(gpu)).and_then(|kept| kept.at(at_s));
            let sample = sample.copied().unwrap_or_default();
            let total = gpu.memory_total.value();
            let used = sample.memory.zip(total);
            *gpu = GpuRow {
                index: gpu.index,
                uuid: std::mem::take(&mut gpu.uuid),
                name: std::mem::take(&mut gpu.name),
                util_percent: figure(sample.util.map(|percent| percent as u32)),
                memory_used: figure(
                    used.map(|(part, total)| (f64::from(part) / 100.0 * total as f64) as u64),
                ),
                memory_total: gpu.memory_total,
                power_w: figure(sample.power_w.map(f64::from)),
                power_limit_w: gpu.power_limit_w,
                temperature_c: figure(sample.heat_c.map(|degrees| degrees as u32)),
                read_at_s: at_s,
                lost_since_s: gpu.lost_since_s.filter(|since_s| *since_s <= at_s),
                ..GpuRow::default()
            };
        }
        let host = self.host.at(at_s).copied().unwrap_or_default();
        let total = view.host.memory_total;
        view.host = HostView {
            read_at_s: at_s,
            cores: view.host.cores,
            cpu_percent: host.util.map(f64::from),
            memory_used: host
                .memory
                .zip(total)
                .map(|(part, total)| (f64::from(part) / 100.0 * total as f64) as u64),
            memory_total: total,
            ..HostView::default()
        };
        view.at_s = at_s;
        Some(view)
    }

    /// Seconds that the curves show.
    pub fn span_s(&self) -> f64 {
        SPANS_S.get(self.span).copied().unwrap_or(60.0)
    }

    pub fn next_span(&mut self) {
        self.span = (self.span + 1) % SPANS_S.len();
    }

    /// Rows that the list of GPUs can use, those of instances among them.
    pub fn rows_wanted(&self) -> u16 {
        let gpus = self.view.as_ref().map(|view| view.gpus.iter());
        let rows = gpus.map_or(0, |gpus| gpus.map(|gpu| 1 + gpu.mig.len()).sum());
        u16::try_from(rows).unwrap_or(u16::MAX)
    }
}

/// What tells a GPU from the others; one that may not be asked has but its number.
pub fn key(gpu: &GpuRow) -> String {
    if gpu.uuid.is_empty() {
        gpu.index.to_string()
    } else {
        gpu.uuid.clone()
    }
}

fn matches(process: &ProcessRow, wanted: &str) -> bool {
    let texts = [&process.who, &process.user, &process.command];
    wanted.is_empty()
        || process.pid.to_string().contains(wanted)
        || texts
            .iter()
            .any(|text| text.to_lowercase().contains(wanted))
}

fn figure<T>(value: Option<T>) -> Figure<T> {
    value.map_or(Figure::Unsupported, Figure::Value)
}

fn percent(used: u64, total: u64) -> f32 {
    (used as f64 * 100.0 / total.max(1) as f64).min(100.0) as f32
}
