//! Which functions of a change raise.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::body::{declares_only, only_stores, raising};
use super::import_time::{Candidate, Scanned, import_time};
use crate::python::code::code;
use crate::python::files::{Files, changed_python, is_python};
use crate::python::symbols::{Function, Module};

/// The hollow patch of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hollow {
    /// The files of gold that change: put over gold's tree they make the hollow one.
    pub files: Files,
    pub rule: Rule,
    pub raised: Vec<Raised>,
    /// New and changed functions that keep their body.
    pub kept: Vec<Kept>,
    pub unparsed: Vec<Unparsed>,
    /// The Python files that differ from base: those that a compile check looks at.
    pub changed: Vec<String>,
}

/// Which functions of a change raise (METHOD.md section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The change adds functions: these raise, and changed ones are as in gold.
    New,
    /// It adds none that could raise: the changed ones do.
    Changed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Raised {
    pub path: String,
    /// Qualified, as in symbol edits.
    pub function: String,
    /// Line of its `def` in gold, from 1.
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Kept {
    pub path: String,
    pub function: String,
    pub line: usize,
    pub new: bool,
    pub why: Why,
    /// More about it: from where it is called, or where it stood.
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// An `__init__` that only stores: objects can be made.
    OnlyStores,
    /// It has no body of its own (`...`, a docstring, an error that says so).
    DeclaresOnly,
    /// It runs while modules are imported.
    RunsAtImport,
    /// It stood elsewhere in base, as it is.
    Moved,
    /// Changed, not new, and the change adds functions.
    NotNew,
}

impl Why {
    pub fn words(self) -> &'static str {
        match self {
            Self::OnlyStores => "only stores its arguments",
            Self::DeclaresOnly => "has no body of its own",
            Self::RunsAtImport => "runs at import",
            Self::Moved => "moved, unchanged",
            Self::NotNew => "changed, not new",
        }
    }
}

/// A Python file that stays as in gold, because it, or its base, could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unparsed {
    pub path: String,
    pub why: String,
}

/// A changed file, in both trees.
struct Pair<'a> {
    path: &'a str,
    gold: Module<'a>,
    base: Option<Module<'a>>,
}

/// What the change did to a function of gold.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Same,
    New,
    Changed,
    Moved(String),
}

struct Looked {
    pair: usize,
    function: Function,
    state: State,
    keep: Option<(Why, Option<String>)>,
}

/// Makes the hollow form of a change. `base` and `gold`: whole trees, or at least all files in
/// which they differ; of the rest, Python files are looked at for what they call at import. Leave
/// out the folders that the suites replace.
///
/// Functions that stand in a function are a part of its body. A function is new where its file had
/// none of its qualified name, unless it only moved.
pub fn hollow(base: &Files, gold: &Files) -> Hollow {
    let changed = changed_python(base, gold);
    let mut unparsed = Vec::new();
    let pairs: Vec<Pair<'_>> = changed
        .iter()
        .filter_map(|path| match pair(path, base, gold) {
            Ok(pair) => Some(pair),
            Err(why) => {
                let path = path.clone();
                unparsed.push(Unparsed { path, why });
                None
            }
        })
        .collect();
    let mut looked = look(&pairs, &gone(&pairs, base, gold));
    keep_bodies(&pairs, &mut looked);
    keep_import_time(&pairs, gold, &changed, &mut looked);
    let adds = |l: &Looked| l.state == State::New && l.keep.is_none();
    let rule = if looked.iter().any(adds) {
        Rule::New
    } else {
        Rule::Changed
    };
    let mut hollow = Hollow {
        files: Files::new(),
        rule,
        raised: Vec::new(),
        kept: Vec::new(),
        unparsed,
        changed: changed.clone(),
    };
    let mut edits: Vec<Vec<(usize, usize, String)>> = pairs.iter().map(|_| Vec::new()).collect();
    for l in looked {
        let pair = &pairs[l.pair];
        let raises = l.state == State::New || rule == Rule::Changed && l.state == State::Changed;
        if l.state == State::Same {
            continue;
        }
        let edit = (raises && l.keep.is_none()).then(|| raising(&pair.gold, &l.function));
        let (path, line) = (pair.path.to_owned(), l.function.line);
        let function = l.function.name;
        if let Some(Some(edit)) = edit {
            edits[l.pair].push(edit);
            hollow.raised.push(Raised {
                path,
                function,
                line,
            });
            continue;
        }
        let (why, note) = match (l.state.clone(), l.keep) {
            (State::Moved(from), _) => (Why::Moved, Some(from)),
            (State::Changed, _) if !raises => (Why::NotNew, None),
            (_, Some(keep)) => keep,
            _ => (Why::DeclaresOnly, None),
        };
        hollow.kept.push(Kept {
            path,
            function,
            line,
            new: l.state == State::New,
            why,
            note,
        });
    }
    for (pair, edits) in pairs.iter().zip(edits) {
        if edits.is_empty() {
            continue;
        }
        let text = edited(pair.gold.text, &edits);
        hollow.files.insert(pair.path.to_owned(), text.into_bytes());
    }
    hollow
}

fn edited(text: &str, edits: &[(usize, usize, String)]) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for (start, end, words) in edits {
        out.push_str(&text[at..*start]);
        out.push_str(words);
        at = *end;
    }
    out.push_str(&text[at..]);
    out
}

fn pair<'a>(path: &'a str, base: &'a Files, gold: &'a Files) -> Result<Pair<'a>, String> {
    let parse = |tree: &'a Files, which: &str| {
        let Some(bytes) = tree.get(path) else {
            return Ok(None);
        };
        let text = std::str::from_utf8(bytes).map_err(|_| format!("{which}: not UTF-8"))?;
        Module::parse(text)
            .map(Some)
            .map_err(|e| format!("{which}: {e}"))
    };
    Ok(Pair {
        path,
        gold: parse(gold, "gold")?.ok_or("gold: no such file")?,
        base: parse(base, "base")?,
    })
}

/// Functions that stand in no other.
fn outer(module: &Module<'_>) -> Vec<Function> {
    let mut functions = module.functions();
    functions.retain(|f| !f.nested);
    functions
}

/// Functions of base that are no longer where they stood: code to place.
fn gone(pairs: &[Pair<'_>], base: &Files, gold: &Files) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let mut add = |path: &str, module: &Module<'_>, still: &HashSet<String>| {
        for function in outer(module) {
            if !still.contains(&function.name) {
                let place = format!("{path}:{}", function.line);
                found.entry(code(module, &function)).or_insert(place);
            }
        }
    };
    for pair in pairs {
        if let Some(base) = &pair.base {
            let still = outer(&pair.gold).into_iter().map(|f| f.name).collect();
            add(pair.path, base, &still);
        }
    }
    for (path, bytes) in base {
        if !gold.contains_key(path)
            && is_python(path)
            && let Ok(text) = std::str::from_utf8(bytes)
            && let Ok(module) = Module::parse(text)
        {
            add(path, &module, &HashSet::new());
        }
    }
    found
}

fn look(pairs: &[Pair<'_>], gone: &HashMap<String, String>) -> Vec<Looked> {
    let mut looked = Vec::new();
    for (index, pair) in pairs.iter().enumerate() {
        let mut before: HashMap<String, HashSet<String>> = HashMap::new();
        if let Some(base) = &pair.base {
            for function in outer(base) {
                let code = code(base, &function);
                before.entry(function.name).or_default().insert(code);
            }
        }
        for function in outer(&pair.gold) {
            let own = code(&pair.gold, &function);
            let state = match (before.get(&function.name), gone.get(&own)) {
                (Some(known), _) if known.contains(&own) => State::Same,
                (Some(_), _) => State::Changed,
                (None, Some(from)) => State::Moved(from.clone()),
                (None, None) => State::New,
            };
            looked.push(Looked {
                pair: index,
                function,
                state,
                keep: None,
            });
        }
    }
    looked
}

fn keep_bodies(pairs: &[Pair<'_>], looked: &mut [Looked]) {
    for l in looked {
        let module = &pairs[l.pair].gold;
        if declares_only(module, &l.function) {
            l.keep = Some((Why::DeclaresOnly, None));
        } else if only_stores(module, &l.function) {
            l.keep = Some((Why::OnlyStores, None));
        }
    }
}

fn keep_import_time(pairs: &[Pair<'_>], gold: &Files, changed: &[String], looked: &mut [Looked]) {
    let could: Vec<usize> = (0..looked.len())
        .filter(|i| {
            let l = &looked[*i];
            l.keep.is_none() && matches!(l.state, State::New | State::Changed)
        })
        .collect();
    let candidates: Vec<Candidate> = could
        .iter()
        .map(|i| {
            let l = &looked[*i];
            let accessors = [".setter", ".getter", ".deleter"];
            let name = accessors
                .iter()
                .find_map(|a| l.function.name.strip_suffix(a))
                .unwrap_or(&l.function.name);
            Candidate {
                module: l.pair,
                name: name.to_owned(),
                start: l.function.signature.start,
                end: l.function.body.end,
            }
        })
        .collect();
    if candidates.is_empty() {
        return;
    }
    let names: HashSet<&str> = candidates
        .iter()
        .flat_map(|c| c.name.split('.'))
        .filter(|n| !n.starts_with("__"))
        .collect();
    // a file that has none of the names calls none of them
    let others: Vec<(&str, Module<'_>)> = gold
        .iter()
        .filter(|(path, _)| is_python(path) && !changed.contains(path))
        .filter_map(|(path, bytes)| {
            let text = std::str::from_utf8(bytes).ok()?;
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            let mut words = words.filter(|w| !w.is_empty());
            words.any(|w| names.contains(w)).then_some(())?;
            Some((path.as_str(), Module::parse(text).ok()?))
        })
        .collect();
    let changed = pairs.iter().map(|p| Scanned {
        path: p.path,
        module: &p.gold,
    });
    let others = others.iter().map(|(path, module)| Scanned { path, module });
    let modules: Vec<Scanned<'_, '_>> = changed.chain(others).collect();
    for (candidate, place) in import_time(&modules, &candidates) {
        looked[could[candidate]].keep = Some((Why::RunsAtImport, Some(place)));
    }
}
