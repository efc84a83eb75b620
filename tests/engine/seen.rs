//! Processes as the machine sees them, past our own code.

use std::time::Duration;

/// A process of the machine: its number and its command line.
pub type Seen = (i32, String);

fn parents() -> Vec<(i32, i32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        if let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) {
            let (_, rest) = stat.rsplit_once(')').unwrap();
            let parent = rest.split_ascii_whitespace().nth(1).unwrap();
            found.push((pid, parent.parse().unwrap()));
        }
    }
    found
}

pub fn command_line(pid: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes)
        .trim_end_matches('\0')
        .replace('\0', " ")
}

pub fn children(of: u32) -> Vec<u32> {
    let all = parents().into_iter();
    all.filter(|(_, parent)| *parent == of.cast_signed())
        .map(|(pid, _)| pid.cast_unsigned())
        .collect()
}

/// Everything below a process, as the machine sees it.
pub fn descendants(of: u32) -> Vec<Seen> {
    let parents = parents();
    let mut family = vec![of.cast_signed()];
    let mut at = 0;
    while at < family.len() {
        let parent = family[at];
        family.extend(parents.iter().filter(|p| p.1 == parent).map(|p| p.0));
        at += 1;
    }
    family[1..]
        .iter()
        .map(|pid| (*pid, command_line(*pid)))
        .collect()
}

/// Fails when one of them is still there, under its number and command line, after `patience`.
pub async fn wait_until_gone(seen: &[Seen], patience: Duration) {
    let until = std::time::Instant::now() + patience;
    loop {
        let left: Vec<_> = seen
            .iter()
            .filter(|(pid, line)| !line.is_empty() && command_line(*pid) == *line)
            .collect();
        if left.is_empty() {
            return;
        }
        assert!(std::time::Instant::now() < until, "still there: {left:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A process and everything below it.
pub fn all_of(first: u32) -> Vec<Seen> {
    let mut all = descendants(first);
    all.push((first.cast_signed(), command_line(first.cast_signed())));
    all
}
