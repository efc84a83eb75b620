//! Claims and a prompt's promises, each held against the other.

use super::lint::{Finding, FindingKind, LintInput};
use super::sections::{Variant, belongs, sections};
use super::spans::marker;
use super::words::sentences;

pub(super) fn claims(input: &LintInput<'_>, found: &mut Vec<Finding>) {
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for claim in &input.spec.claims {
        let at = Some(format!("claim {}", claim.id));
        if claim.prompt.is_none() && !claim.probes.is_empty() {
            found.push(Finding {
                kind: FindingKind::Unstated,
                line: None,
                message: format!("{} is probed, and the prompt states it nowhere", claim.id),
                source: at.clone(),
                mend: "state it, and quote it in the claim as prompt = \"…\"".into(),
            });
        }
        if claim.prompt.is_some() && claim.probes.is_empty() && claim.unmeasured.is_none() {
            found.push(Finding {
                kind: FindingKind::Unprobed,
                line: None,
                message: format!(
                    "{} is promised, with neither probe nor a reason why not",
                    claim.id
                ),
                source: at,
                mend: "map probes to it, or add unmeasured = \"<reason>\"".into(),
            });
        }
    }
    // everything that is required belongs to a claim
    for section in sections(input.prompt) {
        if !requires(section.title) {
            continue;
        }
        for (title, line, text) in promises(section.text, section.line) {
            let text = squeeze(&text);
            // a quote may run over several sentences
            let quoted = (input.spec.claims.iter())
                .filter_map(|c| c.prompt.as_deref())
                .map(squeeze)
                .any(|quote| text.contains(&quote) || quote.contains(&text));
            if !quoted {
                found.push(Finding {
                    kind: FindingKind::Unprobed,
                    line: Some(line),
                    message: format!("no claim quotes what is required under {title:?}"),
                    source: None,
                    mend: "make it a claim with probes, or with unmeasured = \"<reason>\"; or quote it in the claim that it belongs to".into(),
                });
            }
        }
    }
}

/// Whether what stands under a heading is required.
fn requires(title: &str) -> bool {
    let lower = title.to_lowercase();
    let words = ["behavio", "requirement", "required", "promise", "guarantee"];
    let says = words.iter().any(|w| lower.contains(w));
    says && belongs(title).is_none_or(|v| v == Variant::Behaviour)
}

/// The promises of a section with their titles and lines: its topics; without topics the items of
/// its lists, and the sentences that are in no list and lead to none.
fn promises(section: &str, first_line: usize) -> Vec<(String, usize, String)> {
    let by_topic = topics(section, first_line);
    if !by_topic.is_empty() {
        let owned = by_topic.into_iter();
        return owned.map(|(t, l, text)| (t, l, text.to_owned())).collect();
    }
    let lines: Vec<&str> = section.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let item = |line: &&&str| marker(line.trim_start()) > 0;
    let outermost = lines.iter().filter(item).map(|l| indent(l)).min();
    let mut found: Vec<(String, usize, String)> = Vec::new();
    let (mut free, mut open) = (String::new(), false);
    for line in &lines {
        let begins = item(&line) && Some(indent(line)) == outermost;
        let ends = !line.trim().is_empty() && Some(indent(line)) <= outermost;
        open = begins || open && !ends;
        // what leads to the first item is none
        if begins && found.is_empty() {
            free = "\n".repeat(free.matches('\n').count());
        }
        free.push_str(if open || line.starts_with('#') {
            ""
        } else {
            line
        });
        free.push('\n');
        if begins {
            let number = free.matches('\n').count();
            found.push((String::new(), first_line + number - 1, String::new()));
        }
        if open && let Some((_, _, text)) = found.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    let alone = sentences(&free).into_iter();
    found.extend(alone.map(|(line, text)| (String::new(), first_line + line - 1, text)));
    found.sort_by_key(|(_, line, _)| *line);
    for (title, _, text) in &mut found {
        const LONGEST: usize = 50;
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        *title = words.chars().take(LONGEST).collect();
    }
    found
}

/// The topics of a section: each begins with a paragraph that has a bold beginning, or with a
/// heading of the third level. What stands before the first is none.
fn topics(section: &str, first_line: usize) -> Vec<(String, usize, &str)> {
    let mut starts: Vec<(usize, usize, String)> = Vec::new();
    let mut at = 0;
    for (index, line) in section.split_inclusive('\n').enumerate() {
        let bold = line
            .strip_prefix("**")
            .and_then(|rest| rest.split_once("**"))
            .map(|(title, _)| title);
        let heading = line.strip_prefix("### ");
        if let Some(title) = bold.or(heading) {
            let title = title.trim().trim_end_matches('.').to_owned();
            starts.push((at, first_line + index, title));
        }
        at += line.len();
    }
    let ends: Vec<usize> = starts.iter().skip(1).map(|s| s.0).chain([at]).collect();
    starts
        .into_iter()
        .zip(ends)
        .map(|((start, line, title), end)| (title, line, &section[start..end]))
        .collect()
}
