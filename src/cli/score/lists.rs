//! What is counted apart, and what is said task by task or pair by pair.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::table::{Table, wrapped};
use super::tables::{letter, number, percent};
use crate::judge::score::{LeftOut, Rank, Score, Transition};

/// Lists of tasks longer than this are cut; the document has all.
const LISTED: usize = 12;

/// What is counted apart: verdicts, badges, causes, faults, what is left out.
pub(super) fn apart(score: &Score) -> Vec<String> {
    let heads = ["", "resolved", "official only", "failed", "void", "fault"];
    let title = "Runs by verdict. void: tampered, score 0, in every denominator; fault: in none";
    let mut table = Table::new(title, &heads);
    for (at, c) in score.configurations.iter().enumerate() {
        let v = &c.totals.verdicts;
        let faults: usize = c.faults.iter().map(|f| f.runs).sum();
        if c.totals.all.runs + faults > 0 {
            let cells = [v.resolved, v.official_only, v.failed, v.void, faults];
            let cells = cells.iter().map(ToString::to_string);
            table.row(std::iter::once(letter(at)).chain(cells).collect());
        }
    }
    let mut out = table.lines();
    let mut lists = Vec::new();
    let counts = |what: &str, all: &BTreeMap<String, usize>| {
        let words: Vec<String> = all.iter().map(|(name, n)| format!("{name} {n}")).collect();
        (!words.is_empty()).then(|| format!("{what}, runs: {}", words.join(", ")))
    };
    lists.extend(counts("badges", &score.total.badges));
    lists.extend(counts("causes", &score.total.causes));
    for run in &score.scored {
        if let Some(review) = &run.cleared {
            let note = review
                .note
                .as_ref()
                .map_or(String::new(), |n| format!(": {n}"));
            let (run, task, by) = (&run.run, &run.task, &review.by);
            lists.push(format!("suspect, cleared: {run} {task}, by {by}{note}"));
        }
    }
    for run in &score.scored {
        if let Some(error) = &run.ended_in_error {
            let (run, task) = (&run.run, &run.task);
            lists.push(format!(
                "agent ended in an error, counted: {run} {task}: {error}"
            ));
        }
    }
    for (at, c) in score.configurations.iter().enumerate() {
        for fault in &c.faults {
            lists.push(format!(
                "fault: {} of {}, {}",
                fault.runs,
                letter(at),
                fault.task
            ));
        }
    }
    let mut reasons: BTreeMap<LeftOut, usize> = BTreeMap::new();
    for row in &score.left_out {
        *reasons.entry(row.reason).or_default() += 1;
    }
    for (reason, runs) in &reasons {
        lists.push(format!("left out: {} {runs}", reason.words()));
    }
    for row in score.left_out.iter().filter(|row| !row.reason.expected()) {
        let (task, detail) = (row.task.as_deref().unwrap_or(""), &row.detail);
        lists.push(format!(
            "left out: {} {task}, {}: {detail}",
            row.run,
            row.reason.words()
        ));
    }
    out.extend(lists.iter().flat_map(|line| wrapped(line, "  ")));
    if !lists.is_empty() {
        out.push(String::new());
    }
    out
}

pub(super) fn repeats(score: &Score) -> Vec<String> {
    let title = "Repeats: pass@k (some of k runs resolved) and all-k, %, over tasks with k runs; all \
                 runs of a configuration and task are repeats. Intervals above take runs as \
                 independent";
    let heads = [
        "",
        "k",
        "tasks",
        "official pass@k",
        "all-k",
        "off.+probes pass@k",
        "all-k",
    ];
    let mut table = Table::new(title, &heads);
    let mut notes = Vec::new();
    for (at, c) in score.configurations.iter().enumerate() {
        let r = &c.repeats;
        if r.repeated_tasks == 0 {
            continue;
        }
        for k in &r.at_k {
            table.row(vec![
                letter(at),
                k.k.to_string(),
                k.tasks.to_string(),
                percent(k.official_pass),
                percent(k.official_all),
                percent(k.joint_pass),
                percent(k.joint_all),
            ]);
        }
        let mut words = format!(
            "{}: {} of {} tasks have several runs",
            letter(at),
            r.repeated_tasks,
            c.totals.all.tasks
        );
        if r.graded_again > 0 {
            let _ = write!(
                words,
                "; {} runs grade a submission again: they show the judge's noise, not the agent's",
                r.graded_again
            );
        }
        notes.extend(wrapped(&words, "   "));
        for task in r.by_task.iter().take(LISTED) {
            let words = format!(
                "   {}: resolved {} of {} runs; variance of the score {}, of resolved {}",
                task.task,
                task.joint,
                task.runs,
                number(task.score_variance, 4),
                number(task.resolved_variance, 4)
            );
            notes.extend(wrapped(&words, "   "));
        }
        notes.extend(more(r.by_task.len()));
    }
    let mut out = table.lines();
    if !out.is_empty() {
        out.pop();
        out.extend(notes);
        out.push(String::new());
    }
    out
}

fn more(all: usize) -> Option<String> {
    (all > LISTED).then(|| format!("   and {} more: see --json", all - LISTED))
}

pub(super) fn comparisons(score: &Score) -> Vec<String> {
    let title = "On the same tasks: solved by both, only by the second (fixed), only by the first \
                 (regressed), by neither; difference in points; p: exact McNemar";
    let heads = [
        "",
        "judge",
        "tasks",
        "both",
        "fixed",
        "regressed",
        "neither",
        "points",
        "p",
    ];
    let mut table = Table::new(title, &heads);
    let mut notes = Vec::new();
    for c in &score.comparisons {
        let pair = format!("{} → {}", letter(c.a), letter(c.b));
        for (judge, t) in [("official", &c.official), ("off.+probes", &c.joint)] {
            let cells = [c.tasks, t.both, t.fixed, t.regressed, t.neither];
            let mut row = vec![pair.clone(), judge.to_owned()];
            row.extend(cells.iter().map(ToString::to_string));
            let points = t
                .difference_points
                .map_or("–".into(), |d| format!("{d:+.1}"));
            row.extend([points, number(t.p_value, 4)]);
            table.row(row);
        }
        notes.extend(changes(&pair, &c.joint));
        if c.repeated_tasks > 0 {
            let words = format!(
                "{pair}: {} tasks have several runs; solved: more than half of them",
                c.repeated_tasks
            );
            notes.push(words);
        }
        if !c.only_a.is_empty() || !c.only_b.is_empty() {
            notes.push(format!(
                "{pair}: not compared, since only one has runs: {} tasks of {}, {} of {}",
                c.only_a.len(),
                letter(c.a),
                c.only_b.len(),
                letter(c.b)
            ));
        }
    }
    let mut out = table.lines();
    if !out.is_empty() {
        out.pop();
        out.extend(notes.iter().flat_map(|note| wrapped(note, "   ")));
        out.push(String::new());
    }
    out
}

fn changes(pair: &str, t: &Transition) -> Vec<String> {
    [("fixed", &t.fixes), ("regressed", &t.regressions)]
        .into_iter()
        .filter(|(_, tasks)| !tasks.is_empty())
        .map(|(what, tasks)| format!("{pair} {what}: {}", list(tasks)))
        .collect()
}

fn list(tasks: &[String]) -> String {
    let shown: Vec<&str> = tasks.iter().take(LISTED).map(String::as_str).collect();
    let rest = tasks.len().saturating_sub(LISTED);
    let more = if rest > 0 {
        format!(", and {rest} more")
    } else {
        String::new()
    };
    format!("{}{more}", shown.join(", "))
}

/// Ranks, and what other weights make of them.
pub(super) fn order(score: &Score) -> Vec<String> {
    if score.ranking.len() < 2 && score.weighted.is_none() {
        return Vec::new();
    }
    let ranks = |ranks: &[Rank]| {
        let words: Vec<String> = (ranks.iter())
            .map(|r| {
                let rate = percent(Some(r.rate));
                format!("{}. {} {rate} %", r.rank, letter(r.configuration))
            })
            .collect();
        words.join(", ")
    };
    let mut out = wrapped(
        &format!(
            "Order by resolved on official + probes, mean over tasks: {}",
            ranks(&score.ranking)
        ),
        "   ",
    );
    if !score.same_tasks {
        out.push("   not all on the same tasks: compare pairs above instead".into());
    }
    if let Some(w) = &score.weighted {
        let weights: Vec<String> = (w.weights.iter())
            .map(|(value, weight)| format!("{value} {weight}"))
            .collect();
        let change = if w.ranking_changes {
            "the order changes"
        } else {
            "the order stays"
        };
        out.extend(wrapped(
            &format!(
                "With weights by {} ({}): {change}",
                w.by,
                weights.join(", ")
            ),
            "   ",
        ));
        out.extend(wrapped(&format!("   {}", ranks(&w.ranking)), "   "));
        for c in w.configurations.iter().filter(|c| !c.missing.is_empty()) {
            let words = format!(
                "   {} has no run of {}, so it has no weighted figure",
                letter(c.configuration),
                c.missing.join(", ")
            );
            out.extend(wrapped(&words, "   "));
        }
    }
    out.push(String::new());
    out
}

pub(super) fn tasks(score: &Score) -> Vec<String> {
    let mut notes = Vec::new();
    let whole = score.tasks.len();
    for (what, tasks) in [
        (
            "Solved by none, official suite",
            &score.solved.official.by_none,
        ),
        (
            "Solved by none, official + probes",
            &score.solved.joint.by_none,
        ),
        (
            "Solved by all, official suite",
            &score.solved.official.by_all,
        ),
        (
            "Solved by all, official + probes",
            &score.solved.joint.by_all,
        ),
        (
            "Resolved and not strict, official suite",
            &score
                .total
                .strict_differs
                .official
                .iter()
                .cloned()
                .collect(),
        ),
        (
            "Resolved and not strict, official + probes",
            &score.total.strict_differs.joint.iter().cloned().collect(),
        ),
    ] {
        let names = if tasks.is_empty() {
            String::new()
        } else {
            format!(": {}", list(tasks))
        };
        notes.push(format!("{what}: {} of {whole} tasks{names}", tasks.len()));
    }
    for task in score.tasks.iter().filter(|t| t.keys > 1) {
        notes.push(format!(
            "{}: its runs were graded under {} keys (tests, environment, engine or limits differ)",
            task.task, task.keys
        ));
    }
    notes.iter().flat_map(|note| wrapped(note, "   ")).collect()
}
