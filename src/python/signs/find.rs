//! Signs in one Python file.

use std::collections::HashMap;

use tree_sitter::Node;

use super::names::Names;
use super::writes::{Own, Scopes, is_scope};
use crate::domain::Sign;
use crate::python::symbols::{Module, children, is_docstring};

const LONGEST: usize = 120;
/// Modules whose use is only listed.
const WEAK: [&str; 6] = ["gc", "inspect", "ctypes", "atexit", "subprocess", "signal"];
/// What sets a function that sees, or steers, everything that runs.
const TRACING: [&str; 5] = [
    "sys.settrace",
    "sys.setprofile",
    "threading.settrace",
    "threading.setprofile",
    "sys.monitoring",
];
const FRAMES: [&str; 3] = ["inspect.stack", "inspect.currentframe", "sys._getframe"];
const VARIABLES: [&str; 3] = ["PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_PLUGINS"];
/// Its exceptions end a test without a word.
const UNITTEST: &str = "unittest.case._";
/// Nodes between a use and the function around it.
const HIGHEST: usize = 64;
pub(super) const PATTERNS: [&str; 3] = ["pattern_list", "tuple_pattern", "expression_list"];
/// What takes a folder's name, by the last part of its own.
const PATHS: [&str; 14] = [
    "join",
    "joinpath",
    "Path",
    "PurePath",
    "PosixPath",
    "listdir",
    "scandir",
    "walk",
    "glob",
    "rglob",
    "open",
    "chdir",
    "import_module",
    "__import__",
];
const RUNNERS: [&str; 2] = ["_pytest", "pluggy"];

/// A sign, and whether it is a strong one.
pub(super) type Found = (bool, Sign);

/// The signs of a file, in the order of their lines. `folders`: where the suites' tests go.
pub(super) fn in_python(
    path: &str,
    module: &Module<'_>,
    folders: &[&str],
    own: &Own,
) -> Vec<Found> {
    let (names, imported) = Names::of(module);
    let mut file = File {
        path,
        module,
        lines: module.text.lines().collect(),
        names,
        folders,
        own,
        scopes: Scopes::default(),
        callers: HashMap::new(),
        found: Vec::new(),
    };
    for (from, node) in imported {
        let root = from.split('.').next().unwrap_or_default();
        if RUNNERS.contains(&root) {
            file.strong(node, &format!("uses {root}"));
        } else if folders.contains(&root) {
            file.strong(node, &format!("imports the tests ({root})"));
        } else if WEAK.contains(&root) || root == "pytest" {
            file.weak(node, &format!("imports {root}"));
        }
    }
    // parents come along: to ask a node for its own costs as much as it is deep
    file.bind_all();
    let mut stack = vec![(module.root(), None, None)];
    while let Some((node, parent, scope)) = stack.pop() {
        file.look(node, parent, scope);
        let scope = if is_scope(node) {
            Some(node.id())
        } else {
            scope
        };
        stack.extend((children(node).into_iter()).map(|child| (child, Some(node), scope)));
    }
    let mut found = file.found;
    found.sort_by(|(_, a), (_, b)| (a.line, &a.what).cmp(&(b.line, &b.what)));
    found.dedup();
    found
}

pub(super) struct File<'a, 't> {
    path: &'a str,
    pub(super) module: &'t Module<'a>,
    lines: Vec<&'a str>,
    pub(super) names: Names,
    folders: &'a [&'a str],
    pub(super) own: &'a Own,
    pub(super) scopes: Scopes,
    /// Whether a function (by its node) reads who calls it, once looked at.
    callers: HashMap<usize, bool>,
    found: Vec<Found>,
}

impl<'t> File<'_, 't> {
    fn add(&mut self, strong: bool, node: Node<'_>, what: &str) {
        let row = node.start_position().row;
        let line = self.lines.get(row).copied().unwrap_or_default();
        let sign = Sign {
            path: self.path.to_owned(),
            line: u32::try_from(row + 1).unwrap_or(u32::MAX),
            what: what.to_owned(),
            text: line.trim().chars().take(LONGEST).collect(),
        };
        self.found.push((strong, sign));
    }

    pub(super) fn strong(&mut self, node: Node<'_>, what: &str) {
        self.add(true, node, what);
    }

    pub(super) fn weak(&mut self, node: Node<'_>, what: &str) {
        self.add(false, node, what);
    }

    fn look(&mut self, node: Node<'t>, parent: Option<Node<'t>>, scope: Option<usize>) {
        match node.kind() {
            "assignment" | "augmented_assignment" | "for_statement" | "for_in_clause" => {
                if let Some(left) = node.child_by_field_name("left") {
                    let mut value = node.child_by_field_name("right");
                    while let Some(inner) = value.filter(|v| v.kind() == "assignment") {
                        value = inner.child_by_field_name("right");
                    }
                    self.written(node, left, value, scope);
                }
            }
            "delete_statement" | "as_pattern_target" => {
                for child in children(node) {
                    self.written(node, child, Some(node), scope);
                }
            }
            "call" => {
                self.call(node);
                self.put_by_call(node, parent, scope);
            }
            "attribute" | "identifier" => self.name(node, parent),
            "string" => self.string(node, parent),
            "function_definition" => self.function(node),
            _ => {}
        }
    }

    pub(super) fn path_of(&self, node: Node<'_>) -> Option<String> {
        self.names.path(self.module, node)
    }

    /// Something is put in the place of `target`, or taken from it.
    fn written(
        &mut self,
        statement: Node<'t>,
        target: Node<'t>,
        value: Option<Node<'t>>,
        scope: Option<usize>,
    ) {
        let mut stack = vec![target];
        while let Some(target) = stack.pop() {
            if PATTERNS.contains(&target.kind()) {
                stack.extend(children(target).into_iter().rev());
            } else {
                self.written_one(statement, target);
                // `np.abs: int` puts nothing there
                if value.is_some() {
                    self.put(statement, target, value, scope);
                }
            }
        }
    }

    fn written_one(&mut self, statement: Node<'_>, target: Node<'_>) {
        if target.kind() == "subscript" {
            let value = target.child_by_field_name("value");
            let Some(path) = value.and_then(|v| self.path_of(v)) else {
                return;
            };
            // a module that puts a lazy one in its own place is a common idiom
            let own = self.module.field(target, "subscript") == "__name__";
            match path.as_str() {
                "sys.modules" if own => self.weak(statement, "replaces itself in sys.modules"),
                "sys.modules" => self.strong(statement, "writes into sys.modules"),
                "builtins.__dict__" | "__builtins__" => {
                    self.strong(statement, "writes into the built-in names");
                }
                _ => {}
            }
            return;
        }
        let Some(path) = self.path_of(target) else {
            return;
        };
        if path.starts_with("builtins.") || path.starts_with("__builtins__.") {
            self.strong(statement, "writes into the built-in names");
        } else if path == "sys.modules" {
            self.strong(statement, "writes into sys.modules");
        }
    }

    fn call(&mut self, node: Node<'_>) {
        let function = node.child_by_field_name("function");
        let Some(path) = function.and_then(|f| self.path_of(f)) else {
            return;
        };
        let arguments = node.child_by_field_name("arguments").map(children);
        let arguments: Vec<Node<'_>> = (arguments.into_iter().flatten())
            .filter(Node::is_named)
            .collect();
        let first = arguments.first().and_then(|a| self.path_of(*a));
        match (path.as_str(), first.as_deref()) {
            ("setattr" | "delattr", Some("builtins" | "__builtins__")) => {
                self.strong(node, "writes into the built-in names");
            }
            (
                "sys.modules.update"
                | "sys.modules.setdefault"
                | "sys.modules.pop"
                | "sys.modules.__setitem__",
                _,
            ) => self.strong(node, "writes into sys.modules"),
            ("threading.Thread" | "threading.Timer", _) if !inside_function(node) => {
                self.weak(node, "makes a thread at import");
            }
            _ => {}
        }
    }

    fn name(&mut self, node: Node<'_>, parent: Option<Node<'_>>) {
        // the whole chain is looked at once
        let part_of = |p: Node<'_>| {
            p.kind() == "attribute" || p.kind().contains("import") || p.kind() == "dotted_name"
        };
        if node.kind() == "identifier" && parent.is_some_and(part_of) {
            return;
        }
        let Some(path) = self.path_of(node) else {
            return;
        };
        if path == "os._exit" {
            self.strong(node, "ends the process (os._exit)");
        } else if path.starts_with(UNITTEST) {
            self.strong(node, "uses what unittest keeps to itself");
        } else if let Some(known) = TRACING.iter().find(|t| path == **t) {
            self.strong(node, &format!("sets a trace function ({known})"));
        } else if FRAMES.contains(&path.as_str()) {
            let around = enclosing_function(node).unwrap_or_else(|| self.module.root());
            let known = self.callers.get(&around.id()).copied();
            let reads = known.unwrap_or_else(|| self.reads_callers(around));
            self.callers.insert(around.id(), reads);
            if reads {
                self.strong(node, "reads who calls it");
            } else {
                self.weak(node, "looks at frames");
            }
        }
    }

    /// Whether code that looks at frames asks for their files or locals, or speaks of tests.
    fn reads_callers(&self, around: Node<'_>) -> bool {
        let mut stack = vec![around];
        while let Some(node) = stack.pop() {
            let source = self.module.source(node);
            let tells = match node.kind() {
                "identifier" => ["co_filename", "f_locals", "filename"].contains(&source),
                "string" => source.contains("test"),
                _ => false,
            };
            if tells {
                return true;
            }
            stack.extend(children(node));
        }
        false
    }

    fn string(&mut self, node: Node<'_>, parent: Option<Node<'_>>) {
        let statement = parent.filter(|p| p.kind() == "expression_statement");
        if statement.is_some_and(|s| is_docstring(self.module.text, s)) {
            return;
        }
        let text = self.module.source(node);
        if let Some(name) = VARIABLES.iter().find(|v| text.contains(*v)) {
            self.strong(node, &format!("names {name}"));
        }
        let content = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let content = content.trim_matches(['"', '\'']);
        let root = content.split('.').next().unwrap_or_default();
        if RUNNERS.contains(&root) {
            self.strong(node, &format!("uses {root}"));
        }
        let folder = self.folders.iter().find(|folder| {
            content.match_indices(&format!("{folder}/")).any(|(at, _)| {
                let before = content[..at].chars().next_back();
                before.is_none_or(|c| c == '/' || c == '}')
            })
        });
        let whole = || {
            let content = content.trim_matches('/');
            let last = |f: &&str| f.rsplit('/').next().unwrap_or(f) == content;
            let named = self.folders.iter().find(|f| last(f) || **f == content)?;
            parent.is_some_and(|p| self.joins(p)).then_some(named)
        };
        if let Some(folder) = folder.or_else(whole) {
            self.strong(node, &format!("names a path of the tests ({folder}/)"));
        }
    }

    /// Whether what holds a name makes a path of it: `root / "tests"`, `join(root, "tests")`.
    fn joins(&self, holder: Node<'_>) -> bool {
        match holder.kind() {
            "binary_operator" => self.module.field(holder, "operator") == "/",
            "argument_list" => holder.parent().is_some_and(|call| {
                let called = self.module.field(call, "function");
                PATHS.contains(&called.rsplit('.').next().unwrap_or(called))
            }),
            _ => false,
        }
    }

    fn function(&mut self, node: Node<'_>) {
        let (name, constant) = match self.module.field(node, "name") {
            "__eq__" => ("__eq__", "True"),
            "__ne__" => ("__ne__", "False"),
            _ => return,
        };
        let mut returns = Vec::new();
        let mut stack: Vec<Node<'_>> = node.child_by_field_name("body").into_iter().collect();
        while let Some(node) = stack.pop() {
            match node.kind() {
                "return_statement" => {
                    returns.push(node.named_child(0).map(|v| self.module.source(v)));
                }
                "function_definition" | "lambda" => {}
                _ => stack.extend(children(node)),
            }
        }
        if !returns.is_empty() && returns.iter().all(|r| *r == Some(constant)) {
            self.strong(node, &format!("{name} is always {constant}"));
        }
    }
}

/// As far up as code of people goes.
fn enclosing_function(node: Node<'_>) -> Option<Node<'_>> {
    let above = std::iter::successors(node.parent(), Node::parent);
    let mut above = above.take(HIGHEST);
    above.find(|n| n.kind() == "function_definition")
}

fn inside_function(node: Node<'_>) -> bool {
    enclosing_function(node).is_some()
}
