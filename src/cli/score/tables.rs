//! Scores as tables: figures named, each with its denominator.

use super::lists::{apart, comparisons, order, repeats, tasks};
use super::table::{Table, wrapped};
use crate::judge::score::{Dimension, Gap, Headline, Means, Rate, Score, Slice, Totals};

const RESOLVED: &str = "Resolved, of runs, %, with the 95 % Wilson interval and the standard error SE: \
     the official suite alone, and official + probes, each on its own counts. strict: G ⊆ S. pooled: \
     on the union of both suites";
const GAP: &str = "Acceptance gap over all tasks, conditional (of the officially resolved) and in \
     points (of all runs): official + probes is more discriminating by what only the official suite \
     accepts";

/// All lines, each at most 100 columns wide.
pub(super) fn lines(score: &Score, by: Option<Dimension>) -> Vec<String> {
    let mut out = head(score);
    let parts: Vec<(String, &Headline)> = with_total(score, |t| &t.all);
    out.extend(resolved(RESOLVED, &parts));
    out.extend(scores(&parts));
    out.extend(gaps(GAP, &parts));
    let total = &score.total;
    if total.probed.runs != total.all.runs {
        let probed = with_total(score, |t| &t.probed);
        out.extend(resolved("The same over probed tasks alone", &probed));
        out.extend(gaps("Acceptance gap, over probed tasks", &probed));
    }
    if total.without_suspects.runs != total.all.runs {
        let clear = with_total(score, |t| &t.without_suspects);
        out.extend(resolved(
            "The same without suspects (badge suspect)",
            &clear,
        ));
    }
    out.extend(apart(score));
    if let Some(by) = by {
        out.extend(slices(score, by));
    }
    out.extend(repeats(score));
    out.extend(comparisons(score));
    out.extend(order(score));
    out.extend(tasks(score));
    out
}

/// `A`, `B`, …, `Z`, `AA`, …
pub(super) fn letter(mut at: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.insert(0, char::from(b'A' + (at % 26) as u8));
        if at < 26 {
            return letters.into_iter().collect();
        }
        at = at / 26 - 1;
    }
}

fn with_total(score: &Score, pick: fn(&Totals) -> &Headline) -> Vec<(String, &Headline)> {
    let own = score.configurations.iter().enumerate();
    let mut rows: Vec<(String, &Headline)> = own
        .filter(|(_, c)| c.totals.all.runs > 0)
        .map(|(at, c)| (letter(at), pick(&c.totals)))
        .collect();
    if rows.len() > 1 {
        rows.push(("all".into(), pick(&score.total)));
    }
    rows
}

fn head(score: &Score) -> Vec<String> {
    let runs = &score.runs;
    let mut out = wrapped(
        &format!(
            "{} of {} runs count; {} harness faults are excluded, {} are left out",
            runs.counted, runs.given, runs.faults, runs.left_out
        ),
        "",
    );
    out.push(String::new());
    for (at, c) in score.configurations.iter().enumerate() {
        let all = &c.totals.all;
        let mut words = format!(
            "{}  {}: runs {}, tasks {}",
            letter(at),
            c.configuration,
            all.runs,
            all.tasks
        );
        if !c.unknown.is_empty() && all.runs > 1 {
            words += "; runs that differ in what is unknown stand together here";
        }
        let failed = score.scored.iter();
        let failed = failed.filter(|run| run.configuration == at && run.ended_in_error.is_some());
        let failed = failed.count();
        if failed > 0 {
            words += "; ";
            words += &failed.to_string();
            words += " counted though the agent ended in an error";
        }
        if !c.versions.is_empty() {
            let versions: Vec<&str> = c.versions.iter().map(String::as_str).collect();
            words += "; harness ";
            words += &versions.join(", ");
        }
        out.extend(wrapped(&words, "   "));
    }
    out.push(String::new());
    out
}

pub(super) fn percent(value: Option<f64>) -> String {
    value.map_or("–".into(), |v| format!("{:.1}", 100.0 * v))
}

pub(super) fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".into(), |v| format!("{v:.digits$}"))
}

fn of(rate: &Rate) -> String {
    format!("{}/{}", rate.count, rate.of)
}

fn interval(rate: &Rate) -> String {
    match (rate.low, rate.high) {
        (Some(low), Some(high)) => format!("{:.1}–{:.1}", 100.0 * low, 100.0 * high),
        _ => "–".into(),
    }
}

fn resolved(title: &str, parts: &[(String, &Headline)]) -> Vec<String> {
    let heads = [
        "",
        "official",
        "%",
        "95 %",
        "strict",
        "off.+probes",
        "%",
        "95 %",
        "SE",
        "strict",
        "pooled",
    ];
    let mut table = Table::new(title, &heads);
    for (name, h) in parts {
        let (off, all) = (&h.official, &h.joint);
        table.row(vec![
            name.clone(),
            of(&off.resolved),
            percent(off.resolved.rate),
            interval(&off.resolved),
            off.strict.count.to_string(),
            of(&all.resolved),
            percent(all.resolved.rate),
            interval(&all.resolved),
            number(all.resolved.standard_error, 3),
            all.strict.count.to_string(),
            h.resolved_pooled.count.to_string(),
        ]);
    }
    table.lines()
}

fn scores(parts: &[(String, &Headline)]) -> Vec<String> {
    let title = "Test pass score |S|/|C|, %: mean over tasks (macro), and pooled over all cases";
    let heads = [
        "",
        "tasks",
        "one is",
        "official",
        "pooled",
        "off.+probes",
        "pooled",
        "cases",
        "probes",
    ];
    let mut table = Table::new(title, &heads);
    for (name, h) in parts {
        let Means {
            passed, collected, ..
        } = h.joint.score;
        table.row(vec![
            name.clone(),
            h.tasks.to_string(),
            format!("{} p.", number(h.task_weight_points, 2)),
            percent(h.official.score.macro_mean),
            percent(h.official.score.pooled),
            percent(h.joint.score.macro_mean),
            percent(h.joint.score.pooled),
            format!("{passed}/{collected}"),
            percent(h.probes.macro_mean),
        ]);
    }
    table.lines()
}

fn gaps(title: &str, parts: &[(String, &Headline)]) -> Vec<String> {
    let heads = [
        "",
        "official",
        "off.+probes",
        "of runs",
        "conditional %",
        "points",
    ];
    let mut table = Table::new(title, &heads);
    for (name, h) in parts {
        let Gap {
            official,
            joint,
            of,
            conditional,
            points,
        } = &h.gap;
        table.row(vec![
            name.clone(),
            official.to_string(),
            joint.to_string(),
            of.to_string(),
            percent(*conditional),
            number(*points, 1),
        ]);
    }
    table.lines()
}

fn slices(score: &Score, by: Dimension) -> Vec<String> {
    let title = format!(
        "By {by}: resolved of runs, and the share that the part has of the runs; shares times rates \
         add up to the total"
    );
    let heads = [
        "",
        "runs",
        "share %",
        "official",
        "%",
        "off.+probes",
        "%",
        "score %",
    ];
    let mut table = Table::new(&title, &heads);
    let mut rows = |name: &str, parts: &[Slice]| {
        for part in parts {
            let h = &part.headline;
            table.row(vec![
                format!("{name} {}", part.value.as_deref().unwrap_or("unknown")),
                part.runs.to_string(),
                percent(Some(part.share_of_runs)),
                of(&h.official.resolved),
                percent(h.official.resolved.rate),
                of(&h.joint.resolved),
                percent(h.joint.resolved.rate),
                percent(h.joint.score.macro_mean),
            ]);
        }
    };
    for (at, c) in score.configurations.iter().enumerate() {
        rows(&letter(at), c.slices.by(by));
    }
    rows("all", score.total_slices.by(by));
    table.lines()
}
