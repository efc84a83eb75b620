//! Which functions of a change raise.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::body::{declares_only, is_init, only_stores, raising};
use super::found::Works;
use super::import_time::{Candidate, import_time};
use super::lambdas::{code_of, outer};
use super::names::Scanned;
use crate::python::encoding::Source;
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
    /// An `__init__` that only stores, or a setter that it stores by: objects can be made.
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
    source: &'a Source<'a>,
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
    hollow_but(base, gold, &Works::new())
}

/// The same, but for functions of which it is known that they run at import.
pub fn hollow_but(base: &Files, gold: &Files, works: &Works) -> Hollow {
    let changed = changed_python(base, gold);
    let (old, new) = (sources(base, &changed), sources(gold, &changed));
    let mut unparsed = Vec::new();
    let pairs: Vec<Pair<'_>> = changed
        .iter()
        .filter_map(|path| match pair(path, &old, &new) {
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
    keep_import_time(&pairs, gold, &changed, works, &mut looked);
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
        let bytes = pair.source.encode(&text);
        hollow.files.insert(pair.path.to_owned(), bytes);
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

type Sources<'a> = HashMap<&'a str, Result<Source<'a>, String>>;

/// Those of the files that the tree has, as texts.
fn sources<'a>(tree: &'a Files, paths: &'a [String]) -> Sources<'a> {
    let there = paths.iter().filter_map(|path| {
        let bytes = tree.get(path)?;
        Some((path.as_str(), Source::decode(bytes)))
    });
    there.collect()
}

fn pair<'a>(
    path: &'a str,
    base: &'a Sources<'a>,
    gold: &'a Sources<'a>,
) -> Result<Pair<'a>, String> {
    let source = |tree: &'a Sources<'a>, which: &str| match tree.get(path) {
        None => Ok(None),
        Some(Ok(source)) => Ok(Some(source)),
        Some(Err(why)) => Err(format!("{which}: {why}")),
    };
    let parse = |source: &'a Source<'a>, which: &str| {
        Module::parse(&source.text).map_err(|e| format!("{which}: {e}"))
    };
    let own = source(gold, "gold")?.ok_or("gold: no such file")?;
    let before = source(base, "base")?;
    Ok(Pair {
        path,
        source: own,
        gold: parse(own, "gold")?,
        base: before.map(|b| parse(b, "base")).transpose()?,
    })
}

/// Functions of base that are no longer where they stood: name and code to place. By another name
/// it is another function, that only does the same.
fn gone(pairs: &[Pair<'_>], base: &Files, gold: &Files) -> HashMap<(String, String), String> {
    let mut found = HashMap::new();
    let mut add = |path: &str, module: &Module<'_>, still: &HashSet<String>| {
        for function in outer(module) {
            if !still.contains(&function.name) {
                let place = format!("{path}:{}", function.line);
                let code = code_of(module, &function);
                found.entry((function.name, code)).or_insert(place);
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
            && let Ok(source) = Source::decode(bytes)
            && let Ok(module) = Module::parse(&source.text)
        {
            add(path, &module, &HashSet::new());
        }
    }
    found
}

fn look(pairs: &[Pair<'_>], gone: &HashMap<(String, String), String>) -> Vec<Looked> {
    let mut looked = Vec::new();
    for (index, pair) in pairs.iter().enumerate() {
        let mut before: HashMap<String, HashSet<String>> = HashMap::new();
        if let Some(base) = &pair.base {
            for function in outer(base) {
                let code = code_of(base, &function);
                before.entry(function.name).or_default().insert(code);
            }
        }
        for function in outer(&pair.gold) {
            let own = (function.name.clone(), code_of(&pair.gold, &function));
            let state = match (before.get(&function.name), gone.get(&own)) {
                (Some(known), _) if known.contains(&own.1) => State::Same,
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
    let stores: Vec<Option<Vec<String>>> = looked
        .iter()
        .map(|l| only_stores(&pairs[l.pair].gold, &l.function))
        .collect();
    for at in 0..looked.len() {
        let l = &looked[at];
        let init = is_init(&l.function);
        if declares_only(&pairs[l.pair].gold, &l.function) {
            looked[at].keep = Some((Why::DeclaresOnly, None));
            continue;
        }
        let Some(filled) = stores[at].as_ref().filter(|_| init) else {
            continue;
        };
        let setters = setters(looked, at, filled);
        // one that does more raises: the object cannot be made, whatever its `__init__` does
        if setters.iter().all(|s| stores[*s].is_some()) {
            for index in setters.into_iter().chain([at]) {
                looked[index].keep = Some((Why::OnlyStores, None));
            }
        }
    }
}

/// New functions through which an `__init__` stores its attributes.
fn setters(looked: &[Looked], init: usize, filled: &[String]) -> Vec<usize> {
    let own = &looked[init];
    let class = own.function.name.trim_end_matches("__init__");
    let stores = |l: &Looked| {
        let name = l.function.name.strip_prefix(class).unwrap_or_default();
        let setter = name.strip_suffix(".setter");
        l.pair == own.pair
            && l.state == State::New
            && (name == "__setattr__" || setter.is_some_and(|s| filled.iter().any(|f| f == s)))
    };
    let all = looked.iter().enumerate();
    all.filter(|(_, l)| stores(l)).map(|(at, _)| at).collect()
}

fn keep_import_time(
    pairs: &[Pair<'_>],
    gold: &Files,
    changed: &[String],
    works: &Works,
    looked: &mut [Looked],
) {
    let could: Vec<usize> = (0..looked.len())
        .filter(|i| {
            let l = &looked[*i];
            l.keep.is_none() && matches!(l.state, State::New | State::Changed)
        })
        .collect();
    let work = |l: &Looked| works.get(&(pairs[l.pair].path.to_owned(), l.function.name.clone()));
    let candidates: Vec<Candidate> = could
        .iter()
        .map(|i| {
            let l = &looked[*i];
            Candidate {
                module: l.pair,
                start: l.function.signature.start,
                runs: work(l).is_some(),
            }
        })
        .collect();
    if candidates.is_empty() {
        return;
    }
    let names: HashSet<&str> = could
        .iter()
        .flat_map(|i| looked[*i].function.name.split('.'))
        .filter(|n| !n.starts_with("__"))
        .collect();
    // a file that has none of the names calls none of them, nor passes them on
    let others: Vec<(&str, Source<'_>)> = gold
        .iter()
        .filter(|(path, _)| is_python(path) && !changed.contains(path))
        .filter_map(|(path, bytes)| {
            let source = Source::decode(bytes).ok()?;
            let words = source
                .text
                .split(|c: char| !c.is_alphanumeric() && c != '_');
            let mut words = words.filter(|w| !w.is_empty());
            let speaks = words.any(|w| names.contains(w)) || source.text.contains("import *");
            speaks.then_some((path.as_str(), source))
        })
        .collect();
    let others: Vec<(&str, Module<'_>)> = (others.iter())
        .filter_map(|(path, source)| Some((*path, Module::parse(&source.text).ok()?)))
        .collect();
    let changed = pairs.iter().map(|p| Scanned {
        path: p.path,
        module: &p.gold,
    });
    let others = others.iter().map(|(path, module)| Scanned { path, module });
    let modules: Vec<Scanned<'_, '_>> = changed.chain(others).collect();
    let packages: HashSet<&str> = (gold.keys())
        .filter_map(|path| path.strip_suffix("/__init__.py"))
        .collect();
    for (candidate, place) in import_time(&modules, &packages, &candidates) {
        let l = &looked[could[candidate]];
        let place = work(l).cloned().unwrap_or(place);
        looked[could[candidate]].keep = Some((Why::RunsAtImport, Some(place)));
    }
}
