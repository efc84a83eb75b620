//! Writes into modules that are not the project's own. What a test compares with is what the
//! environment brings: who puts something else there decides what the test says.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::find::{File, PATTERNS};
use crate::python::symbols::children;

/// What tests compare with, by the first part of its name. Writes into other modules are listed.
const COMPARED: [&str; 30] = [
    "cmath",
    "copy",
    "cupy",
    "dataclasses",
    "decimal",
    "difflib",
    "fractions",
    "functools",
    "hashlib",
    "infradev_probe",
    "itertools",
    "jax",
    "json",
    "math",
    "mock",
    "numbers",
    "numpy",
    "operator",
    "pandas",
    "pickle",
    "pytest",
    "random",
    "re",
    "scipy",
    "statistics",
    "struct",
    "tensorflow",
    "time",
    "torch",
    "unittest",
];
const HAD: [&str; 6] = ["bool", "int", "float", "complex", "object", "str"];
/// Parts of names under which libraries keep what people set.
const SETTINGS: [&str; 2] = ["backends", "config"];
const LOADERS: [&str; 3] = [
    "importlib.import_module",
    "builtins.__import__",
    "__import__",
];
const SETTERS: [&str; 4] = ["setattr", "delattr", "__setattr__", "__delattr__"];
/// What changes a dictionary, called on it.
const CHANGES: [&str; 7] = [
    "update",
    "setdefault",
    "pop",
    "popitem",
    "clear",
    "__setitem__",
    "__delitem__",
];
/// ... and called with it.
const CHANGING: [&str; 4] = [
    "dict.__setitem__",
    "dict.update",
    "operator.setitem",
    "operator.delitem",
];
/// Nobody writes a longer name.
const LONGEST: usize = 100;
const DEEPEST: usize = 16;
/// Functions in functions: in deeper ones nobody binds a name that hides a module.
const INNERMOST: usize = 64;
const BUILTINS: [&str; 2] = ["builtins", "__builtins__"];

/// First parts of the names of modules that belong to the project.
#[derive(Default)]
pub(super) struct Own {
    /// By base's and gold's files: a submission does not choose them.
    pub known: HashSet<String>,
    /// By the submission's files, too.
    pub all: HashSet<String>,
}

/// Functions, by their node's id, with the one around each and the names that are bound in it.
#[derive(Default)]
pub(super) struct Scopes {
    around: HashMap<usize, Option<usize>>,
    bound: HashMap<usize, HashSet<String>>,
    /// `n = numpy`, in whichever function.
    aliases: HashMap<String, String>,
}

pub(super) fn is_scope(node: Node<'_>) -> bool {
    ["function_definition", "lambda"].contains(&node.kind())
}

impl<'t> File<'_, 't> {
    /// What names are bound to in the file's functions.
    pub(super) fn bind_all(&mut self) {
        let mut stack = vec![(self.module.root(), None)];
        let mut functions = Vec::new();
        while let Some((node, scope)) = stack.pop() {
            let mut inner = scope;
            if is_scope(node) {
                self.scopes.around.insert(node.id(), scope);
                functions.push(node);
                inner = Some(node.id());
            } else if node.kind() == "assignment" {
                self.alias(node);
            }
            stack.extend(children(node).into_iter().map(|child| (child, inner)));
        }
        // once all modules' names are known
        for function in functions {
            self.bind(function);
        }
    }

    /// A module under another name of the file.
    fn alias(&mut self, assignment: Node<'t>) {
        let (Some(left), Some(right)) = (
            assignment.child_by_field_name("left"),
            assignment.child_by_field_name("right"),
        ) else {
            return;
        };
        if left.kind() == "identifier"
            && right.kind() != "attribute"
            && let Some(path) = self.place(right, None)
        {
            let name = self.module.source(left).to_owned();
            self.scopes.aliases.insert(name, path);
        }
    }

    /// A statement puts `value` (none: it is not seen which) in the place of `target`.
    pub(super) fn put(
        &mut self,
        statement: Node<'t>,
        target: Node<'t>,
        value: Option<Node<'t>>,
        scope: Option<usize>,
    ) {
        let place = match target.kind() {
            "attribute" => self.place(target, scope),
            "subscript" => {
                let holder = target.child_by_field_name("value");
                let key = target.child_by_field_name("subscript");
                holder
                    .and_then(|h| self.dictionary(h, scope))
                    .map(|h| self.named(h, key))
            }
            _ => None,
        };
        if let Some(place) = place {
            self.write(statement, &place, value, false);
        }
    }

    /// A call that writes.
    pub(super) fn put_by_call(
        &mut self,
        node: Node<'t>,
        parent: Option<Node<'t>>,
        scope: Option<usize>,
    ) {
        let Some(function) = node.child_by_field_name("function") else {
            return;
        };
        let arguments = node.child_by_field_name("arguments").map(children);
        let arguments: Vec<Node<'t>> = (arguments.into_iter().flatten())
            .filter(Node::is_named)
            .collect();
        let (first, second) = (arguments.first().copied(), arguments.get(1).copied());
        let path = self.path_of(function).unwrap_or_default();
        let last = match function.kind() {
            "attribute" => self.module.field(function, "attribute"),
            _ => path.rsplit('.').next().unwrap_or_default(),
        }
        .to_owned();
        let on = (function.kind() == "attribute")
            .then(|| function.child_by_field_name("object"))
            .flatten();
        if SETTERS.contains(&last.as_str()) {
            // `numpy.__setattr__(name, …)`: on the module itself
            if let Some(place) = on.and_then(|o| self.place(o, scope))
                && last.starts_with("__")
            {
                let place = self.named(place, first);
                self.write(node, &place, second, false);
            } else if let Some(place) = first.and_then(|f| self.place(f, scope)) {
                let place = self.named(place, second);
                self.write(node, &place, arguments.get(2).copied(), false);
            } else if let Some(place) = first.and_then(|f| self.text(f))
                && on.is_some()
                && place.contains('.')
            {
                // `monkeypatch.setattr("numpy.allclose", …)`
                self.write(node, &place, second, false);
            }
        } else if CHANGES.contains(&last.as_str())
            && let Some(place) = on.and_then(|o| self.dictionary(o, scope))
        {
            let key = first.filter(|_| last != "update");
            let place = self.named(place, key);
            self.write(node, &place, None, false);
        } else if CHANGING.contains(&path.as_str())
            && let Some(place) = first.and_then(|f| self.dictionary(f, scope))
        {
            let place = self.named(place, second);
            self.write(node, &place, None, false);
        } else if let Some((_, how)) = path.split_once("mock.patch") {
            // for a while only, where it stands over a block or a function
            let ends = ["with_item", "as_pattern", "decorator"];
            let ends = parent.is_some_and(|p| ends.contains(&p.kind()));
            let place = first.and_then(|f| self.place(f, scope).or_else(|| self.text(f)));
            let key = second.filter(|_| how == ".object");
            if let Some(place) = place.map(|p| self.named(p, key)) {
                self.write(node, &place, None, ends);
            }
        }
    }

    fn write(&mut self, node: Node<'t>, place: &str, value: Option<Node<'t>>, ends: bool) {
        let root = place.split('.').next().unwrap_or_default();
        if BUILTINS.contains(&root) {
            return self.strong(node, "writes into the built-in names");
        }
        let compared = COMPARED.contains(&root) && !self.own.known.contains(root);
        if root.is_empty()
            || place.split('.').any(|part| SETTINGS.contains(&part))
            || (!compared && (self.own.all.contains(root) || value.is_none()))
        {
            return;
        }
        // a flag is not called; but mocks answer by attributes
        let is_flag = value.is_some_and(is_flag) && !["unittest", "mock"].contains(&root);
        // names that numpy had once, put back for old code
        let named = value.map(|v| self.module.source(v)).unwrap_or_default();
        let had = place.strip_prefix("numpy.") == Some(named) && HAD.contains(&named);
        let flag = is_flag || had;
        let what = format!("writes into {place}");
        let what: String = what.chars().take(LONGEST).collect();
        if compared && !flag && !ends {
            self.strong(node, &what);
        } else if !flag {
            self.weak(node, &what);
        }
    }

    /// The dotted name of what stands there, where it begins with a module that is imported.
    fn place(&self, node: Node<'t>, scope: Option<usize>) -> Option<String> {
        let (mut tail, mut object) = (Vec::new(), node);
        let mut path = loop {
            if tail.len() > DEEPEST {
                return None;
            }
            match object.kind() {
                "attribute" => {
                    tail.push(self.module.field(object, "attribute").to_owned());
                    object = object.child_by_field_name("object")?;
                }
                "call" => {
                    let called = self.path_of(object.child_by_field_name("function")?)?;
                    let arguments = children(object.child_by_field_name("arguments")?);
                    let mut arguments = arguments.into_iter().filter(Node::is_named);
                    if LOADERS.contains(&called.as_str()) {
                        break self.text(arguments.next()?)?;
                    }
                    if called != "getattr" {
                        return None;
                    }
                    object = arguments.next()?;
                    tail.push(self.text(arguments.next()?)?);
                }
                "subscript" => {
                    let holder = self.path_of(object.child_by_field_name("value")?)?;
                    let key = self.text(object.child_by_field_name("subscript")?)?;
                    if holder != "sys.modules" {
                        return None;
                    }
                    break key;
                }
                "identifier" => {
                    let name = self.module.source(object);
                    let found = (self.names.imported(name))
                        .or_else(|| self.scopes.aliases.get(name).map(String::as_str))?;
                    if self.is_bound(name, scope) {
                        return None;
                    }
                    break found.to_owned();
                }
                _ => return None,
            }
        };
        for part in tail.iter().rev() {
            path.push('.');
            path.push_str(part);
        }
        Some(path)
    }

    /// Whose names a dictionary holds: `numpy.__dict__`, `vars(numpy)`.
    fn dictionary(&self, node: Node<'t>, scope: Option<usize>) -> Option<String> {
        if node.kind() == "call" {
            let called = self.path_of(node.child_by_field_name("function")?)?;
            let arguments = children(node.child_by_field_name("arguments")?);
            let first = arguments.into_iter().find(Node::is_named)?;
            let vars = ["vars", "builtins.vars"].contains(&called.as_str());
            return self.place(first, scope).filter(|_| vars);
        }
        let place = self.place(node, scope)?;
        place.strip_suffix(".__dict__").map(str::to_owned)
    }

    /// With the name in it, where that can be read.
    fn named(&self, holder: String, name: Option<Node<'t>>) -> String {
        match name.and_then(|n| self.text(n)) {
            Some(name) => format!("{holder}.{name}"),
            None => holder,
        }
    }

    /// The content of a string that nothing is put into.
    fn text(&self, node: Node<'t>) -> Option<String> {
        let plain =
            node.kind() == "string" && children(node).iter().all(|c| c.kind() != "interpolation");
        let text = self.module.source(node);
        let text = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        plain.then(|| text.trim_matches(['"', '\'']).to_owned())
    }

    /// Whether a function around binds the name to something that is no module.
    fn is_bound(&self, name: &str, scope: Option<usize>) -> bool {
        let mut scope = scope;
        for _ in 0..INNERMOST {
            let Some(id) = scope else {
                return false;
            };
            if self.scopes.bound.get(&id).is_some_and(|b| b.contains(name)) {
                return true;
            }
            scope = self.scopes.around.get(&id).copied().flatten();
        }
        false
    }

    /// Finds what every function binds, each looked at once.
    fn bind(&mut self, function: Node<'t>) {
        let mut bound = HashSet::new();
        let mut targets: Vec<Node<'t>> = Vec::new();
        let mut stack = children(function);
        while let Some(node) = stack.pop() {
            match node.kind() {
                "parameters" | "lambda_parameters" | "as_pattern_target" => {
                    targets.extend(children(node));
                }
                "assignment" if self.is_module(node) => {}
                "assignment" | "for_statement" | "for_in_clause" => {
                    targets.extend(node.child_by_field_name("left"));
                    stack.extend(children(node));
                }
                "function_definition" | "lambda" | "class_definition" => {}
                _ => stack.extend(children(node)),
            }
        }
        while let Some(target) = targets.pop() {
            match target.kind() {
                "identifier" => {
                    bound.insert(self.module.source(target).to_owned());
                }
                "default_parameter" | "typed_default_parameter" => {
                    targets.extend(target.child_by_field_name("name"));
                }
                "typed_parameter" => targets.extend(target.named_child(0)),
                "list_splat_pattern" | "dictionary_splat_pattern" | "list_pattern" => {
                    targets.extend(children(target));
                }
                kind if PATTERNS.contains(&kind) => targets.extend(children(target)),
                _ => {}
            }
        }
        self.scopes.bound.insert(function.id(), bound);
    }

    fn is_module(&self, assignment: Node<'t>) -> bool {
        let right = assignment.child_by_field_name("right");
        right.is_some_and(|r| r.kind() != "attribute" && self.place(r, None).is_some())
    }
}

/// What is set and never called: `True`, `None`, a number, a text.
fn is_flag(value: Node<'_>) -> bool {
    let value = match value.kind() {
        "unary_operator" => value.child_by_field_name("argument").unwrap_or(value),
        _ => value,
    };
    ["true", "false", "none", "integer", "float", "string"].contains(&value.kind())
}
