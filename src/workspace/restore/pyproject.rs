//! The test tables of `pyproject.toml`: `[tool.pytest…]` and the entry points that register a
//! plugin. The text is cut by its table headers, which is right for nearly every file; what comes
//! out is parsed again and must say exactly the submission's other tables and gold's test tables,
//! else the whole file is gold's.

use toml::{Table, Value};

use super::ini::Sections;

const TEST_TABLES: [&[&str]; 2] = [
    &["tool", "pytest"],
    &["project", "entry-points", "pytest11"],
];

pub(super) fn compare(gold: Option<&[u8]>, work: &[u8]) -> Sections {
    let (Ok(gold), Ok(work)) = (
        std::str::from_utf8(gold.unwrap_or_default()),
        std::str::from_utf8(work),
    ) else {
        return Sections::Whole;
    };
    let Ok(gold_table) = toml::from_str::<Table>(gold) else {
        return Sections::Whole;
    };
    let Ok(work_table) = toml::from_str::<Table>(work) else {
        return Sections::Whole;
    };
    let (mut rest, tests) = (work_table.clone(), gold_table.clone());
    let wanted: Vec<Option<Value>> = TEST_TABLES.iter().map(|p| get(&tests, p)).collect();
    let there: Vec<Option<Value>> = TEST_TABLES.iter().map(|p| get(&rest, p)).collect();
    if wanted == there {
        return Sections::Same;
    }
    let mut text = split(work).0;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&split(gold).1);
    for path in TEST_TABLES {
        remove(&mut rest, path);
    }
    let Ok(mut made) = toml::from_str::<Table>(&text) else {
        return Sections::Whole;
    };
    let got: Vec<Option<Value>> = TEST_TABLES.iter().map(|p| get(&made, p)).collect();
    for path in TEST_TABLES {
        remove(&mut made, path);
    }
    if got == wanted && made == rest {
        Sections::Set(text)
    } else {
        Sections::Whole
    }
}

fn get(table: &Table, path: &[&str]) -> Option<Value> {
    let (last, way) = path.split_last()?;
    let mut table = table;
    for name in way {
        table = table.get(*name)?.as_table()?;
    }
    table.get(*last).cloned()
}

/// Removes a table and the tables on the way that are empty then.
fn remove(table: &mut Table, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        table.remove(*first);
        return;
    }
    if let Some(Value::Table(inner)) = table.get_mut(*first) {
        remove(inner, rest);
        if inner.is_empty() {
            table.remove(*first);
        }
    }
}

/// The text without the blocks of test tables, and those blocks.
fn split(text: &str) -> (String, String) {
    let (mut rest, mut tests) = (String::new(), String::new());
    let mut is_test = false;
    for line in text.split_inclusive('\n') {
        if let Some(path) = header(line) {
            is_test = TEST_TABLES
                .iter()
                .any(|t| path.len() >= t.len() && path.iter().zip(t.iter()).all(|(a, b)| a == b));
        }
        let into = if is_test { &mut tests } else { &mut rest };
        into.push_str(line);
    }
    if !tests.is_empty() && !tests.ends_with('\n') {
        tests.push('\n');
    }
    (rest, tests)
}

fn header(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim_start().strip_prefix('[')?;
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    let inner = &inner[..inner.find(']')?];
    let plain = |name: &str| !name.is_empty() && !name.contains(['"', '\'', ',', '=', '{']);
    let names: Vec<&str> = inner
        .split('.')
        .map(|n| n.trim().trim_matches(['"', '\'']))
        .collect();
    names.iter().all(|n| plain(n)).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(gold: &str, work: &str) -> Sections {
        compare(Some(gold.as_bytes()), work.as_bytes())
    }

    #[test]
    fn only_the_test_tables_are_golds() {
        let gold = "[project]\nname = 'x'\n[tool.pytest.ini_options]\naddopts = '-q'\n";
        let work = "[tool.pytest.ini_options]\naddopts = '--deselect a'\n\n[project]\nname = 'y'\n[tool.ruff]\nx = 1\n";
        assert_eq!(
            set(gold, work),
            Sections::Set("[project]\nname = 'y'\n[tool.ruff]\nx = 1\n[tool.pytest.ini_options]\naddopts = '-q'\n".into())
        );
        assert_eq!(
            set(gold, "[tool.pytest]\nini_options.addopts = '-q'\n[a]\n"),
            Sections::Same
        );
        assert_eq!(
            set(
                "",
                "[project]\nname = 'y'\n[project.entry-points.pytest11]\nx = 'evil'\n"
            ),
            Sections::Set("[project]\nname = 'y'\n".into())
        );
        assert_eq!(
            set("", "[tool.pytest.ini_options]\nx = 1\n"),
            Sections::Set(String::new())
        );
    }

    #[test]
    fn other_spellings_take_the_whole_file() {
        for work in [
            "tool.pytest.ini_options.addopts = '-x'\n",
            "[tool]\npytest = { ini_options = { addopts = '-x' } }\n",
            "[tool]\npytest.ini_options.addopts = '-x'\n[a]\n",
            "[a]\nx = '''\n[tool.pytest.ini_options]\n'''\n[tool.pytest.ini_options]\naddopts = '-x'\n",
            "[a\n",
        ] {
            assert_eq!(set("[tool.other]\n", work), Sections::Whole, "{work}");
        }
        assert_eq!(
            set(
                "",
                "[\"tool\" . 'pytest' . ini_options]\naddopts = '-x'\n[a]\nb = 1\n"
            ),
            Sections::Set("[a]\nb = 1\n".into()),
            "a quoted header is understood"
        );
        // text that only looks like a table
        let same = "[a]\nx = '''\n[tool.pytest.ini_options]\n'''\n";
        assert_eq!(set("", same), Sections::Same);
    }
}
