//! A test file taken apart into its tests, so that an edited one can be told from the others.
//!
//! A test is a unit of its own only where nothing in the file lets one test see what another did:
//! in doubt the file stays whole. What a test imports is not looked at; that holds between files, too.

mod outlives;
mod shared;

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::symbols::{Module, children, statements};

use outlives::{is_function_scoped, is_hook, lasts, widens};
pub use shared::keeps_apart;

/// A test file whose tests stand for themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Units {
    /// All but the tests: what runs when the file is imported (decorators, defaults and annotations
    /// of tests among it), helpers, fixtures.
    pub rest: String,
    /// Name and text of each test function, in order.
    pub functions: Vec<(String, String)>,
}

/// Names that reach the file's own names, or its text, by other ways.
const REACHING: [&str; 14] = [
    "globals",
    "exec",
    "eval",
    "vars",
    "setattr",
    "delattr",
    "inspect",
    "linecache",
    "_getframe",
    "currentframe",
    "__file__",
    "modules",
    "environ",
    "importlib",
];
/// Marks that bind tests to each other, or to an order.
const BINDING: [&str; 7] = [
    "order",
    "dependency",
    "incremental",
    "xdist_group",
    "run",
    "flaky",
    "serial",
];
/// They look at what they are given and change nothing in it.
const LOOKING: [&str; 15] = [
    "len",
    "enumerate",
    "zip",
    "range",
    "sum",
    "min",
    "max",
    "sorted",
    "list",
    "tuple",
    "set",
    "frozenset",
    "any",
    "all",
    "reversed",
];

/// The tests of a file, or `None` where it must be taken as a whole.
pub fn units(text: &str) -> Option<Units> {
    let module = Module::parse(text).ok()?;
    let file = File::of(&module)?;
    let mut units = Units {
        rest: String::new(),
        functions: Vec::new(),
    };
    let mut at = 0;
    for (name, whole, function) in &file.tests {
        gap(&mut units.rest, &text[at..whole.start_byte()]);
        if !plain(*whole, *function) {
            let body = function.child_by_field_name("body")?;
            gap(
                &mut units.rest,
                &text[whole.start_byte()..body.start_byte()],
            );
        }
        units
            .functions
            .push((name.clone(), module.source(*whole).to_owned()));
        at = whole.end_byte();
    }
    gap(&mut units.rest, &text[at..]);
    (!units.functions.is_empty()).then_some(units)
}

/// White space around what is left says nothing.
fn gap(rest: &mut String, text: &str) {
    let text = text.trim();
    if !text.is_empty() {
        rest.push_str(text);
        rest.push('\n');
    }
}

/// Nothing but the function's body runs, and that only when it is called.
fn plain(whole: Node<'_>, function: Node<'_>) -> bool {
    let names = |node: Node<'_>| {
        let parts = children(node);
        parts
            .iter()
            .all(|p| !p.is_named() || p.kind() == "identifier")
    };
    whole == function
        && function.child_by_field_name("return_type").is_none()
        && (function.child_by_field_name("parameters")).is_some_and(names)
}

struct File<'m, 't> {
    module: &'m Module<'t>,
    /// Name, the whole with its decorators, the function.
    tests: Vec<(String, Node<'m>, Node<'m>)>,
    /// Names that the file itself gives to something.
    names: BTreeSet<&'t str>,
    /// Of these: lists and the like, which nothing may change.
    loose: BTreeSet<&'t str>,
}

impl<'m, 't> File<'m, 't> {
    fn of(module: &'m Module<'t>) -> Option<Self> {
        let mut file = Self {
            module,
            tests: Vec::new(),
            names: BTreeSet::new(),
            loose: BTreeSet::new(),
        };
        for node in statements(module.root()) {
            file.statement(node)?;
        }
        let tests: BTreeSet<&str> = file.tests.iter().map(|(name, ..)| name.as_str()).collect();
        let fits = tests.len() == file.tests.len()
            && all(module.root())
                .into_iter()
                .all(|node| file.harmless(node, &tests));
        fits.then_some(file)
    }

    fn statement(&mut self, node: Node<'m>) -> Option<()> {
        match node.kind() {
            "import_statement" | "import_from_statement" => {
                let identifiers = all(node).into_iter().filter(|n| n.kind() == "identifier");
                self.names
                    .extend(identifiers.map(|n| self.module.source(n)));
            }
            "future_import_statement" | "pass_statement" => {}
            "expression_statement" => {
                for part in children(node) {
                    match part.kind() {
                        "assignment" => self.assignment(part)?,
                        "augmented_assignment" => return None,
                        _ => {}
                    }
                }
            }
            "function_definition" => self.function(node, node),
            "decorated_definition" => {
                let inner = node.child_by_field_name("definition")?;
                match inner.kind() {
                    "function_definition" => self.function(node, inner),
                    _ => self.class(inner)?,
                }
            }
            "class_definition" => self.class(node)?,
            "if_statement" | "try_statement" => {
                let only_imports = all(node)
                    .iter()
                    .all(|n| !matches!(n.kind(), "assignment" | "function_definition"));
                only_imports.then_some(())?;
            }
            _ => return None,
        }
        Some(())
    }

    fn function(&mut self, whole: Node<'m>, function: Node<'m>) {
        let name = self.module.field(function, "name");
        self.names.insert(name);
        if name.starts_with("test") {
            self.tests.push((name.to_owned(), whole, function));
        }
    }

    /// A helper: no tests of its own, and nothing that its instances share and could change.
    fn class(&mut self, class: Node<'m>) -> Option<()> {
        let name = self.module.field(class, "name");
        self.names.insert(name);
        if name.starts_with("Test") || self.module.field(class, "superclasses").contains("Case") {
            return None;
        }
        for node in statements(class.child_by_field_name("body")?) {
            let assigned = children(node)
                .into_iter()
                .find(|n| n.kind() == "assignment");
            if let Some(value) = assigned.and_then(|a| a.child_by_field_name("right"))
                && !self.fixed(value)
            {
                return None;
            }
        }
        let methods = all(class)
            .into_iter()
            .filter(|n| n.kind() == "function_definition");
        let mut names = methods.map(|n| self.module.field(n, "name"));
        names.all(|name| !name.starts_with("test")).then_some(())
    }

    fn assignment(&mut self, node: Node<'m>) -> Option<()> {
        let left = node.child_by_field_name("left")?;
        let name = self.module.source(left);
        if left.kind() != "identifier" || name.starts_with("pytest_") || name.starts_with("test") {
            return None;
        }
        self.names.insert(name);
        let Some(value) = node.child_by_field_name("right") else {
            return Some(());
        };
        if self.fixed(value) || name == "pytestmark" {
            return Some(());
        }
        let parts: Vec<Node<'_>> = children(value)
            .into_iter()
            .filter(|n| n.is_named() && n.kind() != "comment")
            .collect();
        let flat = match value.kind() {
            "list" | "set" => parts.iter().all(|n| self.fixed(*n)),
            "dictionary" => parts.iter().all(|pair| {
                let value = pair.child_by_field_name("value");
                pair.kind() == "pair" && value.is_some_and(|v| self.fixed(v))
            }),
            _ => false,
        };
        flat.then(|| self.loose.insert(name)).map(|_| ())
    }

    /// A value that nothing can change; a name stands for what was there before.
    fn fixed(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "integer"
            | "float"
            | "true"
            | "false"
            | "none"
            | "string"
            | "concatenated_string"
            | "ellipsis"
            | "lambda"
            | "attribute" => true,
            "identifier" => !self.loose.contains(self.module.source(node)),
            "tuple"
            | "parenthesized_expression"
            | "unary_operator"
            | "binary_operator"
            | "boolean_operator"
            | "not_operator"
            | "comparison_operator"
            | "conditional_expression" => children(node)
                .into_iter()
                .filter(|n| n.is_named() && n.kind() != "comment")
                .all(|n| self.fixed(n)),
            _ => false,
        }
    }

    fn harmless(&self, node: Node<'m>, tests: &BTreeSet<&str>) -> bool {
        let source = || self.module.source(node);
        match node.kind() {
            "global_statement" => false,
            "identifier" => {
                let name = source();
                let own = node.parent().is_some_and(|p| {
                    p.kind() == "function_definition" && p.child_by_field_name("name") == Some(node)
                });
                let reaches =
                    REACHING.contains(&name) && !is_part_of_monkeypatch(self.module, node);
                let speaks_of_a_test = tests.contains(name) && !own;
                let changes = self.loose.contains(name) && !looks(self.module, node);
                !reaches && !speaks_of_a_test && !changes
            }
            "assignment" | "augmented_assignment" => node
                .child_by_field_name("left")
                .is_none_or(|left| self.is_own_target(left)),
            "delete_statement" => children(node).into_iter().all(|n| self.is_own_target(n)),
            "call" => !lasts(self.module, node),
            "default_parameter" | "typed_default_parameter" => {
                !shared::default_stays(self.module, node)
            }
            "decorator" => {
                let text = source();
                let marks = text.split_once(".mark.").map(|(_, rest)| rest);
                let mark =
                    marks.and_then(|m| m.split(|c: char| !c.is_alphanumeric() && c != '_').next());
                !mark.is_some_and(|mark| BINDING.contains(&mark)) && !text.contains("scope")
                    || is_function_scoped(text)
            }
            _ => !widens(self.module, node) && !is_hook(self.module, node),
        }
    }

    /// What an assignment changes is a name, or a part of something that the file does not name.
    fn is_own_target(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "attribute" | "subscript" => {
                let mut root = node;
                while let Some(inner) = root
                    .child_by_field_name("object")
                    .or_else(|| root.child_by_field_name("value"))
                {
                    root = inner;
                }
                root.kind() != "identifier" || !self.names.contains(self.module.source(root))
            }
            "pattern_list" | "tuple_pattern" | "list_pattern" | "expression_list" => {
                children(node).into_iter().all(|n| self.is_own_target(n))
            }
            _ => true,
        }
    }
}

/// `monkeypatch` puts back what it changes.
fn is_part_of_monkeypatch(module: &Module<'_>, node: Node<'_>) -> bool {
    let mut at = Some(node);
    while let Some(here) = at {
        if here.kind() == "call" && module.field(here, "function").starts_with("monkeypatch.") {
            return true;
        }
        at = here.parent().filter(|p| p.kind() != "block");
    }
    false
}

/// Whether a use of a list looks at it only.
fn looks(module: &Module<'_>, node: Node<'_>) -> bool {
    let mut above = node.parent();
    while let Some(parent) = above {
        if parent.kind() == "decorator" {
            return true;
        }
        above = parent.parent();
    }
    let Some(parent) = node.parent() else {
        return false;
    };
    let is = |name: &str| parent.child_by_field_name(name) == Some(node);
    match parent.kind() {
        "assignment" => {
            is("left")
                && parent
                    .parent()
                    .and_then(|p| p.parent())
                    .is_some_and(|p| p.kind() == "module")
        }
        "keyword_argument" => is("name"),
        "attribute" => is("attribute"),
        "for_statement" | "for_in_clause" => is("right"),
        "comparison_operator" | "list_splat" | "binary_operator" | "parameters" => true,
        "subscript" => {
            let whole = parent.parent();
            let target = whole.and_then(|p| p.child_by_field_name("left")) == Some(parent)
                || whole.is_some_and(|p| p.kind() == "delete_statement");
            is("value") && !target
        }
        "argument_list" => parent
            .parent()
            .is_some_and(|call| LOOKING.contains(&module.field(call, "function"))),
        _ => false,
    }
}

fn all(root: Node<'_>) -> Vec<Node<'_>> {
    let (mut found, mut left) = (Vec::new(), vec![root]);
    while let Some(node) = left.pop() {
        left.extend(children(node));
        found.push(node);
    }
    found
}

#[cfg(test)]
mod tests;
