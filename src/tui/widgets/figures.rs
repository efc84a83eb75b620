//! Numbers as text: right-aligned where they stand in columns, `–` where they are not known.

use crate::tui::backend::Count;

/// `3.2s`, `41s`, `2m05s`, `1h02m`.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    if !seconds.is_finite() {
        return "–".into();
    }
    if seconds < 9.95 {
        return format!("{seconds:.1}s");
    }
    let whole = seconds.round() as u64;
    if whole < 60 {
        format!("{whole}s")
    } else if whole < 3600 {
        format!("{}m{:02}s", whole / 60, whole % 60)
    } else {
        format!("{}h{:02}m", whole / 3600, whole % 3600 / 60)
    }
}

/// As [`duration`] without tenths: of a clock that ticks by the second.
pub fn whole(seconds: f64) -> String {
    let seconds = seconds.max(0.0).floor();
    if seconds < 10.0 {
        format!("{seconds}s")
    } else {
        duration(seconds)
    }
}

/// `88.1`: GiB with one digit.
pub fn gib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 30))
}

/// `8240 MiB`, as `nvidia-smi` counts: whole ones.
pub fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// `1.2 GB/s`: bytes in a second, as links are sold.
pub fn rate(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        b if b < 1e6 => format!("{:.0} kB/s", b / 1e3),
        b if b < 1e9 => format!("{:.0} MB/s", b / 1e6),
        b => format!("{:.1} GB/s", b / 1e9),
    }
}

/// `940`, `38k`, `1.2M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..=999 => count.to_string(),
        1000..=9_949 => format!("{:.1}k", count as f64 / 1e3),
        9_950..=999_499 => format!("{:.0}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// `12/12`, or `–` where nothing is known.
pub fn count(count: Option<Count>, dash: &str) -> String {
    count.map_or_else(
        || dash.to_owned(),
        |c| format!("{}/{}", c.passed, c.collected),
    )
}

/// Time of day of a moment.
pub fn clock(at_s: f64, utc_offset_s: i32) -> String {
    let of_day = (at_s as i64 + i64::from(utc_offset_s)).rem_euclid(86_400);
    format!(
        "{:02}:{:02}:{:02}",
        of_day / 3600,
        of_day % 3600 / 60,
        of_day % 60
    )
}

/// `8-20 of 41`: which rows of a list are seen; `None`: all of them.
pub fn part(first: usize, rows: usize, all: usize) -> Option<String> {
    let last = (first + rows).min(all);
    (rows > 0 && rows < all).then(|| format!("{}-{last} of {all}", first + 1))
}

/// As [`clock`], with the day where it is not today: `Nov 28 17:42`.
pub fn moment(at_s: f64, now_s: f64, utc_offset_s: i32) -> String {
    let day = |s: f64| (s as i64 + i64::from(utc_offset_s)).div_euclid(86_400);
    if day(at_s) == day(now_s) {
        return clock(at_s, utc_offset_s);
    }
    let local = at_s as i64 + i64::from(utc_offset_s);
    jiff::Timestamp::from_second(local).map_or_else(
        |_| "–".into(),
        |t| {
            jiff::tz::TimeZone::UTC
                .to_datetime(t)
                .strftime("%b %d %H:%M")
                .to_string()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_the_sketches_write_them() {
        for (seconds, shown) in [
            (3.21, "3.2s"),
            (9.99, "10s"),
            (41.0, "41s"),
            (125.0, "2m05s"),
            (3720.0, "1h02m"),
        ] {
            assert_eq!(duration(seconds), shown);
        }
        for (seconds, shown) in [(-1.0, "0s"), (3.9, "3s"), (59.9, "59s"), (60.0, "1m00s")] {
            assert_eq!(whole(seconds), shown);
        }
        assert_eq!(tokens(1_200_000), "1.2M");
        assert_eq!(tokens(38_000), "38k");
        assert_eq!(gib(94_600_000_000), "88.1");
        assert_eq!(rate(12_345_678_901), "12.3 GB/s");
        assert_eq!(
            (rate(1000), rate(2_500_000)),
            ("1 kB/s".into(), "2 MB/s".into())
        );
        assert_eq!(clock(1_795_974_112.0, 3600), "18:41:52");
        assert_eq!(moment(1_795_974_112.0, 1_795_974_999.0, 0), "17:41:52");
        assert_eq!(moment(1_795_874_112.0, 1_795_974_999.0, 0), "Nov 28 13:55");
    }
}
