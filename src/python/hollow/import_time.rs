//! What runs while modules are imported. A function that is called there must do its work, or
//! nothing of its module can be used and the hollow patch only shows that imports fail.
//!
//! Calls are found by name, without running anything: in a module's own statements, in class
//! bodies, decorators and default values, and from there through the functions that are called.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use crate::python::symbols::{Module, children};

/// A function that would raise.
pub(super) struct Candidate {
    /// Index of its module.
    pub module: usize,
    /// Qualified, without an accessor.
    pub name: String,
    /// Where its definition begins and ends.
    pub start: usize,
    pub end: usize,
}

/// A module that may call candidates, by its path.
pub(super) struct Scanned<'a, 't> {
    pub path: &'a str,
    pub module: &'a Module<'t>,
}

/// Of the candidates, those that run at import, and the place from which.
pub(super) fn import_time(
    modules: &[Scanned<'_, '_>],
    candidates: &[Candidate],
) -> HashMap<usize, String> {
    let names = Names::of(modules, candidates);
    let mut found: HashMap<usize, String> = HashMap::new();
    let mut todo = Vec::new();
    for (at, scanned) in modules.iter().enumerate() {
        let mut calls = Vec::new();
        at_import(scanned.module, scanned.module.root(), &mut calls);
        for (name, line) in calls {
            let place = format!("{}:{line}", scanned.path);
            todo.extend(
                names
                    .meant(at, &name)
                    .into_iter()
                    .map(|c| (c, place.clone())),
            );
        }
    }
    while let Some((index, place)) = todo.pop() {
        if found.contains_key(&index) {
            continue;
        }
        let candidate = &candidates[index];
        let module = modules[candidate.module].module;
        let mut calls = Vec::new();
        if let Some(body) = module
            .root()
            .descendant_for_byte_range(candidate.start, candidate.end)
            .and_then(|n| n.child_by_field_name("body"))
        {
            at_import(module, body, &mut calls);
        }
        for (name, _) in calls {
            let reached = names.meant(candidate.module, &name);
            todo.extend(reached.into_iter().map(|c| (c, place.clone())));
        }
        found.insert(index, place);
    }
    found
}

/// What names mean in each module.
struct Names<'a> {
    paths: Vec<&'a str>,
    candidates: &'a [Candidate],
    /// Candidates by the last part of the name under which they are called.
    by_last: HashMap<&'a str, Vec<usize>>,
    imports: Vec<Imports<'a>>,
}

impl<'a> Names<'a> {
    fn of(modules: &'a [Scanned<'_, '_>], candidates: &'a [Candidate]) -> Self {
        let mut by_last: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, candidate) in candidates.iter().enumerate() {
            let mut parts = candidate.name.rsplit('.');
            let last = parts.next().unwrap_or_default();
            by_last.entry(last).or_default().push(index);
            // a class that is called runs these
            if ["__init__", "__new__", "__post_init__"].contains(&last)
                && let Some(class) = parts.next()
            {
                by_last.entry(class).or_default().push(index);
            }
        }
        Self {
            paths: modules.iter().map(|m| m.path).collect(),
            candidates,
            by_last,
            imports: modules.iter().map(|m| imports(m.module)).collect(),
        }
    }

    /// The candidates that a name that is called in module `at` may mean.
    fn meant(&self, at: usize, name: &str) -> Vec<usize> {
        let (before, last) = match name.rsplit_once('.') {
            Some((before, last)) => (before.rsplit('.').next(), last),
            None => (None, name),
        };
        let imported = &self.imports[at];
        let original = if before.is_none() {
            imported.names.get(last).copied().unwrap_or(last)
        } else {
            last
        };
        let known = self.by_last.get(original).map_or(&[][..], Vec::as_slice);
        let means = |index: &usize| {
            let candidate = &self.candidates[*index];
            let class = candidate.name.rsplit_once('.').map(|(class, _)| class);
            match (before, class) {
                // f(), or a class
                (None, class) => {
                    let right = class.is_none_or(|c| c.rsplit('.').next() == Some(original));
                    let here =
                        candidate.module == at || imported.names.values().any(|o| *o == original);
                    right && here
                }
                // module.f()
                (Some(before), None) => {
                    let stem = self.paths[candidate.module].trim_end_matches(".py");
                    let stem = stem.trim_end_matches("/__init__");
                    let module = imported.names.get(before).copied().unwrap_or(before);
                    stem.rsplit('/').next() == Some(module)
                }
                // Class.f(), or a method of an object that its name alone tells
                (Some(before), Some(class)) if last.starts_with("__") => {
                    let before = imported.names.get(before).copied().unwrap_or(before);
                    class.rsplit('.').next() == Some(before)
                }
                (Some(before), Some(_)) => !imported.modules.contains(before),
            }
        };
        known.iter().filter(|i| means(i)).copied().collect()
    }
}

/// Names that a module imports.
#[derive(Default)]
struct Imports<'m> {
    /// As it calls them, and as they are called where they come from.
    names: HashMap<&'m str, &'m str>,
    /// Those of `import …`, which are modules for certain.
    modules: HashSet<&'m str>,
}

fn imports<'m>(module: &'m Module<'_>) -> Imports<'m> {
    let mut found = Imports::default();
    let mut stack = vec![module.root()];
    while let Some(node) = stack.pop() {
        match node.kind() {
            "import_from_statement" | "import_statement" => {
                for child in children(node) {
                    let (name, original) = match child.kind() {
                        "aliased_import" => {
                            (module.field(child, "alias"), module.field(child, "name"))
                        }
                        "dotted_name" => (module.source(child), module.source(child)),
                        _ => continue,
                    };
                    let last = |text: &'m str| text.rsplit('.').next().unwrap_or(text);
                    found.names.insert(last(name), last(original));
                    if node.kind() == "import_statement" {
                        found.modules.insert(last(name));
                    }
                }
            }
            "function_definition" => {}
            _ => stack.extend(children(node)),
        }
    }
    found
}

/// The names that are called when `node` is run, with their lines; nothing of functions that are
/// only defined in it.
fn at_import(module: &Module<'_>, node: Node<'_>, calls: &mut Vec<(String, usize)>) {
    let mut add = |node: Node<'_>, name: &str| {
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        if !name.is_empty() && name.chars().all(plain) {
            calls.push((name.to_owned(), node.start_position().row + 1));
        }
    };
    match node.kind() {
        "lambda" => return,
        "if_statement" if module.field(node, "condition").starts_with("__name__") => return,
        "decorator" => {
            if let Some(expression) = node.named_child(0) {
                add(node, module.source(expression));
            }
        }
        "call" => {
            let callee = module.field(node, "function");
            // a method of what a call gives: `make().run()`
            add(node, callee.rsplit(").").next().unwrap_or(callee));
        }
        "class_definition" => {
            if let Some(parents) = node.child_by_field_name("superclasses") {
                for parent in children(parents) {
                    let hook = format!("{}.__init_subclass__", module.source(parent));
                    add(parent, &hook);
                }
            }
        }
        "function_definition" => {
            if let Some(parameters) = node.child_by_field_name("parameters") {
                for parameter in children(parameters) {
                    if let Some(value) = parameter.child_by_field_name("value") {
                        at_import(module, value, calls);
                    }
                }
            }
            return;
        }
        _ => {}
    }
    for child in children(node) {
        at_import(module, child, calls);
    }
}
