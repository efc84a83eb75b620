//! What `infradev env` says to people.

use std::fmt::Write as _;

use super::env::BuiltEnvironment;
use crate::environment::keep::{
    CheckedEnvironment, Collected, EnvironmentRow, Finding, UsageDocument,
};
use crate::store::now_s;

pub fn list(row: &EnvironmentRow) -> String {
    let short = &row.hash[..12];
    let tasks = if row.tasks.is_empty() {
        "no task".to_string()
    } else {
        row.tasks.join(", ")
    };
    let used = match (row.in_use, row.last_used_s) {
        (true, _) => "in use".to_string(),
        (false, Some(at)) => format!("used {}", ago(now_s() - at)),
        (false, None) => "never used".to_string(),
    };
    let (Some(python), Some(files), Some(bytes), Some(shared), Some(build_s)) = (
        &row.python,
        row.files,
        row.bytes,
        row.shared_bytes,
        row.build_s,
    ) else {
        return format!("{short}  {}  {used}", row.state.name());
    };
    format!(
        "{short}  {:<10}  python {python}  {:>3} packages  {files:>6} files  {:>9} ({} shared)  \
         built in {build_s:.1} s  {used}  {tasks}",
        row.state.name(),
        row.packages.len(),
        size(bytes),
        size(shared),
    )
}

pub fn built(row: &BuiltEnvironment) -> String {
    match (&row.hash, &row.error) {
        (Some(hash), _) => format!(
            "{:<16} {}  {}  python {}  {} packages  {:.1} s",
            row.task,
            &hash[..12],
            if row.built { "built" } else { "there already" },
            row.python.as_deref().unwrap_or("–"),
            row.packages,
            row.seconds,
        ),
        (None, error) => format!("{}: {}", row.task, error.as_deref().unwrap_or("–")),
    }
}

pub fn checked(environment: &CheckedEnvironment) -> Vec<String> {
    let short = &environment.hash[..12];
    let mut lines: Vec<String> = environment.findings.iter().map(finding_line).collect();
    let conclusion = if environment.ok {
        format!("ok, {} files as they were sealed", environment.files)
    } else {
        format!(
            "NOT as it was sealed: {} findings",
            environment.findings.len()
        )
    };
    for line in &mut lines {
        line.insert_str(0, &format!("{short}: "));
    }
    lines.push(format!("{short}: {conclusion}"));
    lines
}

fn finding_line(finding: &Finding) -> String {
    let mut line = format!("{}: {}", finding.kind.name(), finding.path.display());
    if let (Some(links), Some(known), Some(inode)) =
        (finding.links, finding.known_links, finding.inode)
        && links > known
    {
        let _ = write!(
            line,
            " ({} of its {links} links are outside this home: `find / -inum {inode}` finds them)",
            links - known
        );
    }
    if !finding.shared_with.is_empty() {
        let others: Vec<&str> = finding.shared_with.iter().map(|h| &h[..12]).collect();
        let _ = write!(line, ", the same file as in {}", others.join(", "));
    }
    for path in &finding.cached {
        let _ = write!(line, ", and in the cache as {}", path.display());
    }
    for path in &finding.pooled {
        let _ = write!(line, ", and in the pool as {}", path.display());
    }
    line
}

pub fn collected(collected: &Collected) -> Vec<String> {
    let (verb, freed) = if collected.dry_run {
        ("would remove", "would free")
    } else {
        ("removed", "freed")
    };
    let mut lines = Vec::new();
    for kept in &collected.kept {
        lines.push(format!("kept {}: {}", &kept.hash[..12], kept.why));
    }
    for item in &collected.removed {
        lines.push(format!(
            "{verb} {:<11} {:>9}  {}: {}",
            item.kind.name(),
            size(item.bytes),
            item.path.display(),
            item.why
        ));
    }
    lines.push(format!("{freed} {}", size(collected.freed_bytes)));
    lines
}

pub fn usage(usage: &UsageDocument) -> Vec<String> {
    let mut lines: Vec<String> = usage
        .environments
        .iter()
        .map(|row| {
            format!(
                "{}  {:>9}, of which {} are its own",
                &row.hash[..12],
                size(row.bytes),
                size(row.own_bytes)
            )
        })
        .collect();
    let saved = if usage.saved_bytes < 0 {
        format!(
            "the cache costs {} more than sharing saves",
            size(usage.saved_bytes.unsigned_abs())
        )
    } else {
        format!("sharing saves {}", size(usage.saved_bytes.unsigned_abs()))
    };
    lines.push(format!(
        "environments {}, the cache beside them {}: {} on disk; as copies the environments alone \
         would take {}; {saved}",
        size(usage.environments_bytes),
        size(usage.cache_bytes),
        size(usage.total_bytes),
        size(usage.copies_bytes),
    ));
    lines.push(format!(
        "data {}, tools {}",
        size(usage.data_bytes),
        size(usage.tools_bytes)
    ));
    lines
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

fn ago(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    match seconds {
        s if s < 120.0 => "just now".into(),
        s if s < 7200.0 => format!("{:.0} min ago", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h ago", s / 3600.0),
        s => format!("{:.0} days ago", s / 86_400.0),
    }
}
