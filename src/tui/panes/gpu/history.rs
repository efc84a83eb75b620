//! What was measured in the last half hour, and its means over a span of time.

use std::collections::VecDeque;

/// Spans that a curve can show, in seconds.
pub const SPANS_S: [f64; 3] = [60.0, 300.0, 1800.0];
/// The last of them, and what a source that is asked twice a second tells in it.
const KEPT_S: f64 = 1800.0;
const KEPT: usize = 3600;
/// A measurement stands for this long where no other follows; then there is a gap.
const HOLD_S: f64 = 2.5;

/// One measurement; what is not known is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Seconds since the epoch.
    pub at_s: f64,
    /// Percent.
    pub util: Option<f32>,
    pub memory: Option<f32>,
    pub power_w: Option<f32>,
    pub heat_c: Option<f32>,
}

/// Oldest first.
#[derive(Clone, Debug, Default)]
pub struct History(VecDeque<Sample>);

impl History {
    /// Takes a measurement; one that is not newer than the last was taken already.
    pub fn push(&mut self, sample: Sample) {
        if self.0.back().is_some_and(|last| sample.at_s <= last.at_s) {
            return;
        }
        while self
            .0
            .front()
            .is_some_and(|first| self.0.len() >= KEPT || first.at_s < sample.at_s - KEPT_S)
        {
            self.0.pop_front();
        }
        self.0.push_back(sample);
    }

    /// What was known at a moment.
    pub fn at(&self, at_s: f64) -> Option<&Sample> {
        let before = self.0.partition_point(|sample| sample.at_s <= at_s);
        let sample = self.0.get(before.checked_sub(1)?)?;
        (at_s - sample.at_s <= HOLD_S).then_some(sample)
    }

    /// Means over `cells` equal parts of the `span_s` seconds before `end_s`; a part without a
    /// measurement is absent. The parts begin at whole multiples of their length: a curve moves by
    /// whole cells.
    pub fn means(
        &self,
        end_s: f64,
        span_s: f64,
        cells: usize,
        of: impl Fn(&Sample) -> Option<f32>,
    ) -> Vec<Option<f64>> {
        let part_s = span_s / cells.max(1) as f64;
        let place = |at_s: f64| (at_s / part_s).floor();
        let first = place(end_s) - cells as f64 + 1.0;
        let mut sums = vec![(0.0, 0_u32); cells];
        let from = self.0.partition_point(|s| place(s.at_s + HOLD_S) < first);
        for sample in self.0.range(from..) {
            let Some(value) = of(sample) else { continue };
            let at = place(sample.at_s) - first;
            if at >= 0.0
                && let Some((sum, count)) = sums.get_mut(at as usize)
            {
                *sum += f64::from(value);
                *count += 1;
            }
        }
        let held = |at: usize| {
            let begins_s = (first + at as f64) * part_s;
            self.at(begins_s).and_then(&of).map(f64::from)
        };
        let means = sums
            .iter()
            .enumerate()
            .map(|(at, (sum, count))| match count {
                // a part shorter than the time between two measurements
                0 => held(at),
                count => Some(sum / f64::from(*count)),
            });
        means.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_s: f64, util: Option<f32>) -> Sample {
        Sample {
            at_s,
            util,
            ..Sample::default()
        }
    }

    #[test]
    fn a_pause_is_a_gap_and_not_a_zero() {
        let mut history = History::default();
        for second in 0..60 {
            // nothing from 20 to 40
            if !(20..40).contains(&second) {
                history.push(sample(1000.0 + f64::from(second), Some(50.0)));
            }
        }
        let means = history.means(1059.0, 60.0, 6, |s| s.util);
        let there: Vec<bool> = means.iter().map(Option::is_some).collect();
        assert_eq!(there, [true, true, true, false, true, true]);
        assert_eq!(means.last(), Some(&Some(50.0)));
        assert_eq!(history.at(1010.5), Some(&sample(1010.0, Some(50.0))));
        assert_eq!((history.at(1030.0), history.at(999.0)), (None, None));
        // a figure that a device does not tell is no curve at all
        assert_eq!(history.means(1059.0, 60.0, 6, |s| s.heat_c), [None; 6]);
        assert!(history.means(1059.0, 60.0, 0, |s| s.util).is_empty());
    }

    #[test]
    fn a_part_shorter_than_a_second_holds_the_last_value() {
        let mut history = History::default();
        for second in 0..10 {
            history.push(sample(f64::from(second), Some(second as f32)));
        }
        let means = history.means(9.0, 10.0, 20, |s| s.util);
        assert_eq!(means.len(), 20);
        assert!(means.iter().skip(1).all(Option::is_some), "{means:?}");
    }

    #[test]
    fn half_an_hour_is_kept_and_the_same_reading_once() {
        let mut history = History::default();
        for second in 0..4000 {
            history.push(sample(f64::from(second), Some(1.0)));
            history.push(sample(f64::from(second), Some(9.0)));
        }
        assert_eq!(history.0.len(), 1801);
        let means = history.means(3999.0, 1800.0, 10, |s| s.util);
        assert_eq!(means, [Some(1.0); 10]);
    }
}
