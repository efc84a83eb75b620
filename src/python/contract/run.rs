//! The contract of a task.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::facts::{Definition, Kind};
use super::uses::{Found, Use, Walker};
use super::world::{Place, Value, World};
use crate::domain::{Suite, TaskSpec};
use crate::python::files::Files;
use crate::python::hollow::Unparsed;
use crate::python::symbols::Module;

/// Sources by their place in the work tree.
pub struct ContractInput<'a> {
    pub spec: &'a TaskSpec,
    pub base: &'a Files,
    pub gold: &'a Files,
    pub official: &'a Files,
    pub probes: &'a Files,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Contract {
    /// By name.
    pub symbols: Vec<Symbol>,
    /// Suite files that could not be read.
    pub unparsed: Vec<Unparsed>,
}

/// A name of the project that tests use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Symbol {
    /// Qualified, as tests import it where they do: `pkg.Class.method`.
    pub name: String,
    pub kind: SymbolKind,
    pub state: State,
    /// As in gold; of a class: what it is called with. Values of variables are left out.
    pub signature: String,
    /// Keyword arguments that tests use.
    pub keywords: Vec<String>,
    /// Where gold defines it: `path:line`.
    pub defined: String,
    pub uses: Vec<Use>,
}

impl Symbol {
    /// Its last part.
    pub fn last(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SymbolKind {
    Class,
    Function,
    Method,
    Property,
    /// Of an object or a class.
    Attribute,
    /// Of a module.
    Variable,
}

impl SymbolKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Function => "function",
            Self::Method => "method",
            Self::Property => "property",
            Self::Attribute => "attribute",
            Self::Variable => "variable",
        }
    }
}

/// Against base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Base has no such name.
    New,
    /// Base has it with another signature.
    Changed,
    /// Base has it as it is.
    InBase,
}

/// Names that many things have: on something unknown they say nothing.
const COMMON: &[&str] = &[
    "append", "extend", "keys", "items", "values", "get", "pop", "copy", "update", "add", "remove",
    "clear", "close", "shape", "size", "dtype", "sum", "mean", "max", "min", "all", "any", "index",
    "count", "join", "split", "format", "read", "write", "name", "device", "data", "reshape",
    "view", "start", "stop", "wait", "set", "run",
];

/// Finds what the suites use of the project.
pub fn contract(input: &ContractInput<'_>) -> Contract {
    let pythonpath = &input.spec.environment.pythonpath;
    let world = World::new(input.gold, &[input.official, input.probes], pythonpath);
    let before = World::new(input.base, &[], pythonpath);
    let mut found = Found::default();
    let mut unparsed = Vec::new();
    for (suite, files) in [
        (Suite::Official, input.official),
        (Suite::Probes, input.probes),
    ] {
        for (path, bytes) in files {
            let module = match std::str::from_utf8(bytes).map(Module::parse) {
                Ok(Ok(module)) => module,
                Ok(Err(e)) => {
                    let (path, why) = (path.clone(), e.to_string());
                    unparsed.push(Unparsed { path, why });
                    continue;
                }
                Err(_) => {
                    let (path, why) = (path.clone(), "not UTF-8".to_owned());
                    unparsed.push(Unparsed { path, why });
                    continue;
                }
            };
            Walker {
                world: &world,
                suite,
                path,
                module: &module,
                found: &mut found,
            }
            .walk();
        }
    }
    by_name(&world, &before, &mut found);
    let mut symbols: Vec<Symbol> = found
        .uses
        .iter()
        .filter_map(|(place, uses)| symbol(&world, &before, &found, place, uses))
        .collect();
    symbols.sort_by(|a, b| a.name.cmp(&b.name));
    Contract { symbols, unparsed }
}

/// New members of the classes that tests use are told by their name, where what they are taken
/// from is not known.
fn by_name(world: &World<'_>, before: &World<'_>, found: &mut Found) {
    let classes: BTreeSet<Place> = found
        .uses
        .keys()
        .filter_map(|place| {
            let class = match world.definition(place)?.kind {
                Kind::Class => place.name.clone(),
                _ => place.name.rsplit_once('.')?.0.to_owned(),
            };
            Some(Place {
                file: place.file.clone(),
                name: class,
            })
        })
        .collect();
    let mut members: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for class in classes {
        let Some(facts) = world.facts(&class.file) else {
            continue;
        };
        let prefix = format!("{}.", class.name);
        for name in facts.definitions.keys() {
            let Some(member) = name.strip_prefix(&prefix) else {
                continue;
            };
            let place = Place {
                file: class.file.clone(),
                name: name.clone(),
            };
            let new = before.definition(&place).is_none() && !member.starts_with("__");
            if new && !member.contains('.') && !COMMON.contains(&member) {
                members.entry(member.to_owned()).or_default().push(place);
            }
        }
    }
    for (name, mut one, keywords) in std::mem::take(&mut found.open) {
        // a name that several classes have is no one's
        let Some([place]) = members.get(&name).map(Vec::as_slice) else {
            continue;
        };
        one.by_name = true;
        found.uses.entry(place.clone()).or_default().push(one);
        found
            .keywords
            .entry(place.clone())
            .or_default()
            .extend(keywords);
    }
}

fn symbol(
    world: &World<'_>,
    before: &World<'_>,
    found: &Found,
    place: &Place,
    uses: &[Use],
) -> Option<Symbol> {
    let definition = world.definition(place)?;
    let called = called_with(world, place, &definition);
    let names = Names::of(before, found, place);
    let state = match names.old(before) {
        None => State::New,
        Some((at, old)) if called_with(before, &at, &old) != called => State::Changed,
        Some(_) => State::InBase,
    };
    let member = place.name.contains('.');
    let kind = match (definition.kind, member) {
        (Kind::Class, _) => SymbolKind::Class,
        (Kind::Function, true) => SymbolKind::Method,
        (Kind::Function, false) => SymbolKind::Function,
        (Kind::Property, _) => SymbolKind::Property,
        (Kind::Variable, true) => SymbolKind::Attribute,
        (Kind::Variable, false) => SymbolKind::Variable,
    };
    let mut uses = uses.to_vec();
    uses.sort();
    uses.dedup();
    let keywords: BTreeSet<&String> = found.keywords.get(place).into_iter().flatten().collect();
    Some(Symbol {
        name: names.shown(world),
        kind,
        state,
        signature: match called.strip_prefix("()") {
            Some(rest) if kind == SymbolKind::Property => rest.replacen(" -> ", ": ", 1),
            _ => called,
        },
        keywords: keywords.into_iter().cloned().collect(),
        defined: format!("{}:{}", place.file, definition.line),
        uses,
    })
}

/// What something is called with; of a class, what its `__init__` takes.
fn called_with(world: &World<'_>, place: &Place, definition: &Definition) -> String {
    if definition.kind != Kind::Class || !definition.signature.is_empty() {
        return definition.signature.clone();
    }
    world
        .of_class(place, "__init__")
        .and_then(|init| world.definition(&init))
        .map(|init| init.signature.split(" -> ").next().unwrap_or("").to_owned())
        .unwrap_or_default()
}

/// The names under which tests reach a definition, and what base has under them: a name is new
/// where base cannot import it, wherever it is defined, and is not where it only moved.
struct Names<'n> {
    place: &'n Place,
    owner: Place,
    /// Behind the owner: `.member`, or nothing.
    rest: String,
    /// The shortest one; of those that base does not have, where there are some.
    shortest: Option<&'n String>,
    /// What base has under a name; the owner's own place where tests reach it without one.
    before: Option<Place>,
}

impl<'n> Names<'n> {
    fn of(before: &World<'_>, found: &'n Found, place: &'n Place) -> Self {
        let (owner, rest) = match place.name.split_once('.') {
            Some((owner, rest)) => (owner, format!(".{rest}")),
            None => (place.name.as_str(), String::new()),
        };
        let owner = Place {
            file: place.file.clone(),
            name: owner.to_owned(),
        };
        let old = |name: &str| match before.named(name, "") {
            Value::Class(at) | Value::Function(at) | Value::Variable(at) => Some(at),
            _ => None,
        };
        let names = || found.imported_as.get(&owner).into_iter().flatten();
        let missing: Vec<&String> = names().filter(|n| old(n).is_none()).collect();
        let shortest = match missing.as_slice() {
            [] => names().min_by_key(|n| (n.len(), (*n).clone())),
            some => some.iter().copied().min_by_key(|n| (n.len(), (*n).clone())),
        };
        let own = || before.definition(&owner).map(|_| owner.clone());
        let before = match names().next() {
            None => own(),
            // a new name of an old class does not make its members new
            Some(_) if !missing.is_empty() && rest.is_empty() => None,
            Some(_) => names().find_map(|n| old(n)).or_else(own),
        };
        Self {
            place,
            owner,
            rest,
            shortest,
            before,
        }
    }

    fn old(&self, before: &World<'_>) -> Option<(Place, Definition)> {
        let owner = self.before.as_ref()?;
        let place = match self.rest.strip_prefix('.') {
            None => owner.clone(),
            Some(member) => before.of_class(owner, member).unwrap_or_else(|| Place {
                file: owner.file.clone(),
                name: format!("{}{}", owner.name, self.rest),
            }),
        };
        let definition = before.definition(&place)?;
        Some((place, definition))
    }

    /// As tests import it or its owner where they do; else the place of its definition.
    fn shown(&self, world: &World<'_>) -> String {
        let Self { owner, rest, .. } = self;
        let dotted = || format!("{}.{}", world.dotted(&self.place.file), owner.name);
        format!("{}{rest}", self.shortest.cloned().unwrap_or_else(dotted))
    }
}
