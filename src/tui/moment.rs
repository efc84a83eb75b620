//! The time cursor: one moment that log, cases and the GPUs' history are looked at together.

use super::widgets::figures;

/// Where in time the log's reader stands. The log sets it; panes with a history read it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeCursor {
    /// Seconds since the epoch of the entry under the log's cursor; `None`: the log is followed,
    /// or tells no times.
    pub at_s: Option<f64>,
    /// When the run that the log belongs to began, in seconds since the epoch.
    pub since_s: Option<f64>,
    /// Panes with a history show that of then instead of now.
    pub tied: bool,
}

impl TimeCursor {
    /// The moment that panes with a history show; `None`: now.
    pub fn then_s(self) -> Option<f64> {
        self.at_s.filter(|_| self.tied)
    }

    /// `41m05s into the run`; `None`: no moment, or before the run.
    pub fn words(self) -> Option<String> {
        let into = self.at_s? - self.since_s?;
        (into >= 0.0).then(|| format!("{} into the run", figures::whole(into)))
    }
}

/// Where a reader wants to be in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Jump {
    /// Seconds of the day, by the clock that the log shows.
    Clock(f64),
    /// Seconds from where the cursor is.
    By(f64),
    /// Seconds into the run.
    Into(f64),
}

impl Jump {
    /// `17:30`, `17:30:05`, `+10m`, `-1h30m`, `41m`, `90` (seconds).
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix('+') {
            return span(rest).map(Self::By);
        }
        if let Some(rest) = text.strip_prefix(['-', '\u{2212}']) {
            return span(rest).map(|s| Self::By(-s));
        }
        if text.contains(':') {
            return clock(text).map(Self::Clock);
        }
        span(text).map(Self::Into)
    }

    /// The moment meant, in seconds since the epoch, from one the cursor is on and one the run
    /// began at; a time of day is the nearest one.
    pub fn at_s(self, here_s: f64, since_s: f64, utc_offset_s: i32) -> f64 {
        match self {
            Jump::By(seconds) => here_s + seconds,
            Jump::Into(seconds) => since_s + seconds,
            Jump::Clock(of_day) => {
                let local = here_s + f64::from(utc_offset_s);
                let nearest = ((local - of_day) / DAY_S).round() * DAY_S + of_day;
                nearest - f64::from(utc_offset_s)
            }
        }
    }
}

const DAY_S: f64 = 86_400.0;

fn clock(text: &str) -> Option<f64> {
    let mut parts = text.split(':');
    let mut part = |below: u32| {
        let number = parts.next().map(str::parse::<u32>)?.ok()?;
        (number < below).then_some(f64::from(number))
    };
    let (hours, minutes) = (part(24)?, part(60)?);
    let seconds = if text.matches(':').count() > 1 {
        part(60)?
    } else {
        0.0
    };
    let whole = parts.next().is_none();
    whole.then_some(hours * 3600.0 + minutes * 60.0 + seconds)
}

/// `1h02m`, `90s`, `2.5m`; a bare number is seconds.
fn span(text: &str) -> Option<f64> {
    let (mut sum, mut number) = (0.0, String::new());
    let mut any = false;
    for c in text.trim().chars().filter(|c| *c != ' ') {
        let unit = match c {
            '0'..='9' | '.' => {
                number.push(c);
                continue;
            }
            'h' => 3600.0,
            'm' => 60.0,
            's' => 1.0,
            'd' => DAY_S,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * unit;
        number.clear();
        any = true;
    }
    if !number.is_empty() {
        // `1h30` is an hour and a half
        let unit = if any { 60.0 } else { 1.0 };
        sum += number.parse::<f64>().ok()? * unit;
        any = true;
    }
    any.then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::{Jump, TimeCursor};

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, jump) in [
            ("17:30", Some(Jump::Clock(63_000.0))),
            ("7:05:09", Some(Jump::Clock(25_509.0))),
            ("+10m", Some(Jump::By(600.0))),
            ("-1h30m", Some(Jump::By(-5400.0))),
            ("-5", Some(Jump::By(-5.0))),
            ("1h30", Some(Jump::Into(5400.0))),
            ("41m 05s", Some(Jump::Into(2465.0))),
            ("24:00", None),
            ("1:2:3:4", None),
            ("soon", None),
            ("+", None),
            ("", None),
        ] {
            assert_eq!(Jump::parse(text), jump, "{text}");
        }
    }

    #[test]
    fn a_time_of_day_is_the_nearest_one() {
        // 1970-01-02 00:10 in a zone an hour east
        let here = 86_400.0 - 3600.0 + 600.0;
        let at = |text: &str| Jump::parse(text).map(|jump| jump.at_s(here, 0.0, 3600));
        assert_eq!(at("00:05"), Some(here - 300.0));
        assert_eq!(at("23:50"), Some(here - 1200.0));
        assert_eq!(at("+1m"), Some(here + 60.0));
        assert_eq!(at("1m"), Some(60.0));
    }

    #[test]
    fn a_moment_is_shown_where_it_is_tied_and_told_from_the_runs_beginning() {
        let mut time = TimeCursor {
            at_s: Some(3460.0),
            since_s: Some(1000.0),
            tied: false,
        };
        assert_eq!(time.then_s(), None);
        time.tied = true;
        assert_eq!(time.then_s(), Some(3460.0));
        assert_eq!(time.words().as_deref(), Some("41m00s into the run"));
        time.since_s = Some(4000.0);
        assert_eq!(time.words(), None);
    }
}
