//! The README's table is what the set says: one row for each of `rows.toml`, with the classes of its
//! attacks and how many there are of each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use crate::attack::{Attack, Class, attacks, here};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    row: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// What attacks name.
    name: String,
    by: String,
}

const HEAD: &str = "| a submission tries to | now | by |\n| --- | --- | --- |\n";

const CLASSES: [(Class, &str); 4] = [
    (Class::Blocked, "blocked"),
    (Class::Void, "detected: void"),
    (Class::Suspect, "detected: suspect"),
    (Class::Possible, "possible"),
];

/// The table, and what is wrong with it.
fn table() -> (String, Vec<String>) {
    let text = std::fs::read_to_string(here().join("rows.toml")).unwrap();
    let rows: Rows = toml::from_str(&text).unwrap();
    let mut by_row: BTreeMap<String, Vec<Attack>> = BTreeMap::new();
    for attack in attacks() {
        by_row.entry(attack.row.clone()).or_default().push(attack);
    }
    let (mut table, mut wrong) = (HEAD.to_owned(), Vec::new());
    for row in rows.row {
        let Some(attacks) = by_row.remove(&row.name) else {
            wrong.push(format!("no attack tries to {}", row.name));
            continue;
        };
        let count = |class| attacks.iter().filter(|a| a.expect == class).count();
        let now: Vec<String> = CLASSES
            .iter()
            .filter(|(class, _)| count(*class) > 0)
            .map(|(class, word)| format!("{word} ({})", count(*class)))
            .collect();
        writeln!(table, "| {} | {} | {} |", row.name, now.join(", "), row.by).unwrap();
    }
    for (row, attacks) in by_row {
        wrong.push(format!("{}: no row {row:?}", attacks[0].name));
    }
    (table, wrong)
}

/// `INFRADEV_WRITE_README=1` writes the table.
#[test]
fn the_readme_has_the_table_of_the_set() {
    let (table, wrong) = table();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let from = readme
        .find("| a submission tries to |")
        .expect("the table of attacks");
    let to = from + readme[from..].find("\n\n").unwrap() + 1;
    if std::env::var_os("INFRADEV_WRITE_README").is_some() {
        std::fs::write(
            &path,
            format!("{}{table}{}", &readme[..from], &readme[to..]),
        )
        .unwrap();
        return;
    }
    assert_eq!(
        &readme[from..to],
        table,
        "INFRADEV_WRITE_README=1 cargo test --test adversary readme:: writes it"
    );
}
