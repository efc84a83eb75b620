//! How far long work is that fills the pane: a suite's cases, an environment's packages.

use std::collections::HashMap;

use ratatui::text::Line;

use crate::domain::run_state::LogLine;
use crate::domain::{Stage, Subject, Suite};
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures, meter};

/// One bar: what it is of, how full it is, what stands behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub name: &'static str,
    /// 0 to 1.
    pub part: f64,
    pub words: String,
}

/// What runs now of the open run, as far as it can be counted.
pub fn progress(app: &App) -> Option<Progress> {
    let run = app.open.as_ref().filter(|run| run.status.live())?;
    let (stage, subject) = run.state.stage?;
    let suite = match stage {
        Stage::Official => Suite::Official,
        Stage::Probes => Suite::Probes,
        // gold runs both: the one that is not through
        Stage::Calibrate => Suite::ALL.into_iter().find(|suite| {
            run.state
                .suite(subject, *suite)
                .is_some_and(|state| !state.finished)
        })?,
        Stage::Prepare => return build(&run.state.log, app.now_s, app.ui.glyphs.dash),
        _ => return None,
    };
    let state = run.state.suite(subject, suite)?;
    let done = state.results.len();
    let total = state.order.len().max(done);
    let since = run.state.stage_since_s.unwrap_or(app.now_s);
    let name = match (subject, suite) {
        (Subject::Gold, Suite::Official) => "gold off",
        (Subject::Gold, Suite::Probes) => "gold prb",
        (_, Suite::Official) => "official",
        (_, Suite::Probes) => "probes",
    };
    let dash = app.ui.glyphs.dash;
    Some(counted(name, (done, total), app.now_s - since, dash))
}

/// `12/40  0.5/s  56s left`, after so many seconds.
pub fn counted(
    name: &'static str,
    (done, total): (usize, usize),
    seconds: f64,
    dash: &str,
) -> Progress {
    let rate = done as f64 / seconds.max(0.001);
    let left = total.saturating_sub(done);
    let left_s = if rate > 0.0 {
        figures::duration(left as f64 / rate)
    } else {
        dash.to_owned()
    };
    let rate = if rate < 0.1 && done > 0 {
        format!("{:.1}/min", rate * 60.0)
    } else {
        format!("{rate:.1}/s")
    };
    Progress {
        name,
        part: done as f64 / total.max(1) as f64,
        words: format!("{done}/{total}  {rate}  {left_s} left"),
    }
}

/// What uv says of the environment that is built: large packages by name and size, all of them by
/// their number.
fn build(log: &[LogLine], now_s: f64, dash: &str) -> Option<Progress> {
    let begun = log
        .iter()
        .rposition(|line| line.text.starts_with("environment: create: "))?;
    let mut sizes: HashMap<&str, (u64, bool)> = HashMap::new();
    let mut packages = None;
    let mut since = None;
    for line in log.iter().skip(begun) {
        let Some(said) = line.text.strip_prefix("environment: install: ") else {
            continue;
        };
        let mut words = said.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("Resolved"), Some(count), _) => packages = count.parse::<usize>().ok(),
            (Some("Downloading"), Some(name), size) => {
                since.get_or_insert(line.at_s);
                sizes.insert(name, (size.and_then(bytes).unwrap_or(0), false));
            }
            (Some("Downloaded"), Some(name), _) => {
                if let Some((_, done)) = sizes.get_mut(name) {
                    *done = true;
                }
            }
            (Some("Prepared"), ..) => {
                for (_, done) in sizes.values_mut() {
                    *done = true;
                }
            }
            _ => {}
        }
    }
    let sum = |done: bool| {
        let of = sizes.values().filter(|(_, d)| !done || *d);
        of.map(|(bytes, _)| *bytes).sum::<u64>()
    };
    let (got, all) = (sum(true), sum(false));
    let done = sizes.values().filter(|(_, done)| *done).count();
    let of = packages.map_or_else(String::new, |n| format!("  of {n} packages"));
    if all == 0 {
        return packages.map(|n| Progress {
            name: "packages",
            part: 0.0,
            words: format!("{n} to install"),
        });
    }
    let rate = got as f64 / (now_s - since.unwrap_or(now_s)).max(0.001);
    let left_s = if got > 0 {
        figures::duration((all - got) as f64 / rate)
    } else {
        dash.to_owned()
    };
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    Some(Progress {
        name: "packages",
        part: got as f64 / all as f64,
        words: format!(
            "{done}/{} downloads{of}  {:.1}/{:.1} MiB  {:.1} MiB/s  {left_s} left",
            sizes.len(),
            mib(got),
            mib(all),
            rate / f64::from(1 << 20)
        ),
    })
}

/// `(16.0MiB)` in bytes.
fn bytes(size: &str) -> Option<u64> {
    let size = size.strip_prefix('(')?.strip_suffix(')')?;
    let digits = size.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = size.split_at_checked(digits)?;
    let times = match unit {
        "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some((number.parse::<f64>().ok()? * times) as u64)
}

pub fn draw(canvas: &mut Canvas<'_>, known: &Progress) {
    let words = format!(" {} ", known.words);
    let cells = canvas.width().saturating_sub(text::width(&words) + 11);
    let mut spans = vec![canvas.span(Role::Running, format!(" {:<8} ", known.name))];
    spans.extend(meter::filled(canvas, known.part, cells, Role::Running));
    spans.push(canvas.span(Role::Text, words));
    canvas.put(0, &Line::from(spans));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::Level;

    /// As the stage log of a run on an empty cache has it.
    const SAID: [&str; 7] = [
        "environment: create: building /h/env/3bc1 with python 3.11.7",
        "environment: install: not everything is in the cache: downloading",
        "environment: install: Resolved 6 packages in 182ms",
        "environment: install: Downloading numpy (16.0MiB)",
        "environment: install: Downloading pygments (1.5MiB)",
        "environment: install:  Downloaded pygments",
        "environment: install: Prepared 6 packages in 507ms",
    ];

    fn at(lines: usize) -> Option<Progress> {
        let log: Vec<LogLine> = (SAID.iter().take(lines).enumerate())
            .map(|(at, text)| LogLine {
                at_s: at as f64,
                level: Level::Info,
                text: (*text).into(),
            })
            .collect();
        build(&log, 8.0, "–")
    }

    #[test]
    fn what_uv_says_of_a_build_is_counted() {
        assert_eq!(at(0), None);
        assert_eq!(at(2), None);
        assert_eq!(at(3).unwrap().words, "6 to install");
        let words = |lines| at(lines).unwrap().words;
        assert_eq!(
            words(5),
            "0/2 downloads  of 6 packages  0.0/17.5 MiB  0.0 MiB/s  – left"
        );
        assert_eq!(
            words(6),
            "1/2 downloads  of 6 packages  1.5/17.5 MiB  0.3 MiB/s  53s left"
        );
        assert!((at(7).unwrap().part - 1.0).abs() < 1e-9);
        assert_eq!(bytes("(1.2GiB)"), Some(1_288_490_188));
        assert_eq!(bytes("1.2GiB"), None);
        assert_eq!(bytes("(12parsecs)"), None);
    }

    #[test]
    fn slow_work_is_counted_by_the_minute() {
        let words = |done, seconds| counted("graded", (done, 40), seconds, "–").words;
        assert_eq!(words(10, 20.0), "10/40  0.5/s  1m00s left");
        assert_eq!(words(2, 120.0), "2/40  1.0/min  38m00s left");
        assert_eq!(words(0, 3.0), "0/40  0.0/s  – left");
    }
}
