//! The signs of a whole change.

use std::collections::{HashMap, HashSet};

use super::find::{Found, in_python};
use super::writes::Own;
use crate::domain::Sign;
use crate::python::files::{Files, is_python};
use crate::python::symbols::Module;

/// Files that steer how tests are run or what an interpreter starts with.
const STEERING: [&str; 3] = ["conftest.py", "sitecustomize.py", "usercustomize.py"];
/// Files in which a project says which plugins it brings.
const METADATA: [&str; 4] = [
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "entry_points.txt",
];

/// Folders that packages lie in, and that are none.
const SOURCES: [&str; 3] = ["src", "lib", "python"];

/// Of each change the files that it adds or changes, as they are then.
pub struct SignsInput<'a> {
    /// The same files in base, and those that the submission deletes.
    pub base: &'a Files,
    pub submission: &'a Files,
    pub gold: &'a Files,
    /// Where the suites' tests go: what a patch does there is replaced, so it is not looked at.
    pub folders: &'a [&'a str],
}

/// Larger files are not read: no people write such a one.
const LARGEST: usize = 4 << 20;

/// Whether a file's content counts. Of others only the name does.
pub fn is_looked_at(path: &str, bytes: usize) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    // a larger one is a sign by itself
    is_python(path) || (METADATA.contains(&name) && bytes <= LARGEST)
}

/// Encodings in which source says what it seems to say.
const PLAIN: [&str; 8] = [
    "utf-8",
    "utf8",
    "utf-8-sig",
    "ascii",
    "us-ascii",
    "latin-1",
    "latin1",
    "iso-8859-1",
];

/// Signs of a kind that are told of one patch; more of them say nothing more.
const MOST: usize = 500;

/// What a submission's change holds that base does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// The badge `suspect`, until a reviewer clears it.
    pub strong: Vec<Sign>,
    /// Only listed; strong ones of a kind that gold's change has, too.
    pub weak: Vec<Sign>,
}

/// Looks at what a submission adds. What stood in base's files already is no news, wherever it
/// went.
pub fn signs(input: &SignsInput<'_>) -> Signs {
    let folders: Vec<&str> = (input.folders.iter())
        .map(|f| f.trim_matches('/'))
        .filter(|f| !f.is_empty() && *f != ".")
        .collect();
    let known: HashSet<String> = roots(input.base).chain(roots(input.gold)).collect();
    let all_of_them = known
        .iter()
        .cloned()
        .chain(roots(input.submission))
        .collect();
    let own = Own {
        known,
        all: all_of_them,
    };
    let mut before: HashMap<(String, String), usize> = HashMap::new();
    for (_, sign) in all(input.base, &folders, &own) {
        *before.entry((sign.what, sign.text)).or_default() += 1;
    }
    let gold: HashSet<String> = all(input.gold, &folders, &own)
        .into_iter()
        .map(|(_, s)| s.what)
        .collect();
    let mut signs = Signs::default();
    for (strong, sign) in all(input.submission, &folders, &own) {
        let key = (sign.what.clone(), sign.text.clone());
        if let Some(left) = before.get_mut(&key).filter(|left| **left > 0) {
            *left -= 1;
        } else if strong && !gold.contains(&sign.what) {
            signs.strong.push(sign);
        } else if strong || !gold.contains(&sign.what) {
            signs.weak.push(sign);
        }
    }
    signs.strong.truncate(MOST);
    signs.weak.truncate(MOST);
    signs
}

/// First parts of the names that the files' modules may have.
fn roots(files: &Files) -> impl Iterator<Item = String> {
    files.keys().flat_map(|path| {
        let mut parts = path.split('/');
        let first = parts.next().unwrap_or_default();
        let inner = parts.next().filter(|_| SOURCES.contains(&first));
        let bare = |name: &str| name.trim_end_matches(".py").to_owned();
        [Some(bare(first)), inner.map(bare)].into_iter().flatten()
    })
}

fn all(files: &Files, folders: &[&str], own: &Own) -> Vec<Found> {
    let inside = |path: &str| {
        let rest = |folder: &&str| {
            path.strip_prefix(*folder)
                .is_some_and(|r| r.starts_with('/'))
        };
        folders.iter().any(rest)
    };
    files
        .iter()
        .filter(|(path, _)| !inside(path))
        .flat_map(|(path, bytes)| in_file(path, bytes, folders, own))
        .collect()
}

fn in_file(path: &str, bytes: &[u8], folders: &[&str], own: &Own) -> Vec<Found> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let whole = |what: &str| {
        let (path, what) = (path.to_owned(), what.to_owned());
        let sign = Sign {
            path,
            line: 0,
            what,
            text: String::new(),
        };
        (true, sign)
    };
    let mut found = Vec::new();
    if STEERING.contains(&name) {
        found.push(whole(&format!("is a {name}")));
    }
    if name.strip_suffix(".pth").is_some() {
        found.push(whole("is a path file (.pth)"));
    }
    let text = String::from_utf8_lossy(bytes);
    if METADATA.contains(&name) && text.contains("pytest11") {
        found.push(whole("brings a plugin of pytest (pytest11)"));
    }
    if !is_python(path) {
        return found;
    }
    if bytes.len() > LARGEST {
        found.push(whole("is too large to be read (over 4 MiB)"));
        return found;
    }
    if let Some(name) = encoding(&text)
        && !PLAIN.contains(&name.as_str())
    {
        found.push(whole(&format!("hides its source in the encoding {name}")));
    }
    // damaged files as well: the interpreter may take what the parser does not
    match Module::parse_any(&text) {
        Ok(module) => found.extend(in_python(path, &module, folders, own)),
        Err(_) => found.push(whole("cannot be parsed")),
    }
    found
}

/// The encoding that a file's first two lines name, as the interpreter finds it.
fn encoding(text: &str) -> Option<String> {
    let lines = text.split(['\n', '\r']).take(2);
    let mut comments = lines.filter(|line| {
        line.trim_start_matches([' ', '\t', '\u{c}', '\u{feff}'])
            .starts_with('#')
    });
    comments.find_map(|line| {
        let named = line.match_indices("coding").find_map(|(at, word)| {
            let rest = &line[at + word.len()..];
            rest.strip_prefix([':', '='])
        })?;
        let name: String = (named.trim_start_matches([' ', '\t']).chars())
            .take_while(|c| c.is_alphanumeric() || ['-', '_', '.'].contains(c))
            .collect();
        (!name.is_empty()).then(|| name.to_ascii_lowercase().replace('_', "-"))
    })
}
