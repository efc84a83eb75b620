//! What runs while modules are imported. A function that is called there must do its work, or
//! nothing of its module can be used and the hollow patch only shows that imports fail.
//!
//! Calls are found without running anything: in a module's own statements, in class bodies,
//! decorators and default values, and from there through the functions that are called. Who is
//! called is told by [`names`](super::names); of what that does not know, nothing is kept, and
//! verify finds out by running it.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::names::{Scanned, Scope, Thing, World};
use super::operators::{self, BUILTINS, TAKES_FUNCTIONS};
use crate::python::symbols::{Module, children};

/// A function that would raise.
pub(super) struct Candidate {
    /// Index of its module.
    pub module: usize,
    /// Where its definition begins.
    pub start: usize,
    /// It runs at import, whoever calls it.
    pub runs: bool,
}

/// A function that runs; `inner`: those that it defines run too, as it is called for what it gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Run {
    function: usize,
    inner: bool,
}

/// Of the candidates, those that run at import, and the place from which.
pub(super) fn import_time(
    modules: &[Scanned<'_, '_>],
    packages: &HashSet<&str>,
    candidates: &[Candidate],
) -> HashMap<usize, String> {
    let world = World::of(modules, packages);
    let by_place: HashMap<(usize, usize), usize> = (candidates.iter().enumerate())
        .map(|(index, c)| ((c.module, c.start), index))
        .collect();
    let mut todo: Vec<(Run, String)> = Vec::new();
    for (at, scanned) in modules.iter().enumerate() {
        let scope = Scope {
            module: at,
            ..Scope::default()
        };
        let mut walk = Walk::new(&world, scope, false);
        walk.node(scanned.module.root());
        let place = |line| format!("{}:{line}", scanned.path);
        todo.extend(walk.runs.into_iter().map(|(run, line)| (run, place(line))));
    }
    let mut found = HashMap::new();
    for (index, function) in world.functions.iter().enumerate() {
        let own = by_place.get(&(function.module, function.node.start_byte()));
        if let Some(candidate) = own.filter(|c| candidates[**c].runs) {
            let line = function.node.start_position().row + 1;
            let place = format!("{}:{line}", modules[function.module].path);
            found.insert(*candidate, place.clone());
            let run = Run {
                function: index,
                inner: false,
            };
            todo.push((run, place));
        }
    }
    let mut seen = HashSet::new();
    // in the order of the places
    todo.reverse();
    while let Some((run, place)) = todo.pop() {
        if !seen.insert(run) {
            continue;
        }
        let function = &world.functions[run.function];
        let key = (function.module, function.node.start_byte());
        if let Some(candidate) = by_place.get(&key) {
            found.entry(*candidate).or_insert_with(|| place.clone());
        }
        if let Some(body) = function.node.child_by_field_name("body") {
            let mut walk = Walk::new(&world, world.inside(run.function), run.inner);
            walk.node(body);
            let runs = walk.runs.into_iter().rev();
            todo.extend(runs.map(|(run, _)| (run, place.clone())));
        }
    }
    found
}

/// Finds what runs when a piece of code does.
struct Walk<'w, 'n, 't> {
    world: &'w World<'n, 't>,
    module: &'n Module<'t>,
    scope: Scope<'n>,
    /// Functions that the code defines run too.
    inner: bool,
    runs: Vec<(Run, usize)>,
}

impl<'w, 'n, 't> Walk<'w, 'n, 't> {
    fn new(world: &'w World<'n, 't>, scope: Scope<'n>, inner: bool) -> Self {
        Self {
            world,
            module: world.modules[scope.module].module,
            scope,
            inner,
            runs: Vec::new(),
        }
    }

    fn value(&self, node: Node<'n>) -> Vec<Thing> {
        self.world.value(&self.scope, node)
    }

    fn run(&mut self, function: usize, inner: bool, node: Node<'n>) {
        let line = node.start_position().row + 1;
        self.runs.push((Run { function, inner }, line));
    }

    /// `inner`: what the call gives is called as well.
    fn call(&mut self, things: &[Thing], inner: bool, node: Node<'n>) {
        for thing in things {
            match thing {
                Thing::Function(function) => self.run(*function, inner, node),
                Thing::Class(class) => {
                    self.methods(*class, &["__new__", "__init__", "__post_init__"], node);
                    for meta in self.world.metaclasses(*class) {
                        self.methods(meta, &["__call__"], node);
                    }
                    if inner {
                        self.methods(*class, &["__call__"], node);
                    }
                }
                Thing::Object(class) => self.methods(*class, &["__call__"], node),
                Thing::Parents(_) | Thing::Module(_) => {}
            }
        }
    }

    fn methods(&mut self, class: usize, names: &[&str], node: Node<'n>) {
        for name in names {
            for function in self.world.methods(class, name) {
                self.run(function, false, node);
            }
        }
    }

    /// The methods that objects are asked for by an operator.
    fn asked(&mut self, node: Option<Node<'n>>, names: &[&str]) {
        let Some(node) = node else { return };
        for thing in self.value(node) {
            if let Thing::Object(class) = thing {
                self.methods(class, names, node);
            }
        }
    }

    fn node(&mut self, node: Node<'n>) {
        let field = |name: &str| node.child_by_field_name(name);
        match node.kind() {
            "lambda" => return,
            "if_statement" if self.module.field(node, "condition").starts_with("__name__") => {
                return;
            }
            "decorator" => {
                if let Some(expression) = node.named_child(0) {
                    let (callee, inner) = match expression.kind() {
                        "call" => (expression.child_by_field_name("function"), true),
                        _ => (Some(expression), false),
                    };
                    let things = callee.map_or_else(Vec::new, |callee| self.value(callee));
                    self.call(&things, inner, node);
                }
            }
            "call" => self.calls(node),
            "class_definition" => {
                self.class(node);
                return;
            }
            "function_definition" => {
                self.definition(node);
                return;
            }
            "with_item" => self.asked(field("value"), &["__enter__", "__exit__"]),
            "for_statement" | "for_in_clause" => self.asked(field("right"), operators::ITERATES),
            "attribute" => self.reads(node),
            "assignment" => {
                if let Some(left) = field("left").filter(|l| l.kind() == "subscript") {
                    self.asked(left.child_by_field_name("value"), &["__setitem__"]);
                }
                if let Some(left) = field("left").filter(|l| l.kind() == "attribute") {
                    self.asked(left.child_by_field_name("object"), &["__setattr__"]);
                }
            }
            "subscript" => self.subscript(node),
            "interpolation" => self.asked(node.named_child(0), BUILTINS_STR),
            kind => {
                for (operand, names) in operators::of(kind, node, self.module) {
                    self.asked(Some(operand), names);
                }
            }
        }
        for child in children(node) {
            self.node(child);
        }
    }

    fn calls(&mut self, node: Node<'n>) {
        let Some(callee) = node.child_by_field_name("function") else {
            return;
        };
        let things = self.value(callee);
        let called = node.parent().filter(|p| p.kind() == "call");
        let called = called.and_then(|p| p.child_by_field_name("function"));
        self.call(&things, called == Some(node), node);
        let name = self.module.source(callee);
        let last = name.rsplit('.').next().unwrap_or(name);
        let Some(list) = node.child_by_field_name("arguments") else {
            return;
        };
        for argument in children(list).into_iter().filter(Node::is_named) {
            let value = argument.child_by_field_name("value");
            let value = match argument.kind() {
                "keyword_argument" => value.unwrap_or(argument),
                _ => argument,
            };
            // a function that is given to one of Python's own, which calls it
            if things.is_empty() && (TAKES_FUNCTIONS.contains(&name) || last == "sort") {
                let given = self.value(value).into_iter();
                let given: Vec<Thing> = given.filter(|t| !matches!(t, Thing::Object(_))).collect();
                self.call(&given, false, node);
                if let Some(body) = value.child_by_field_name("body") {
                    self.node(body);
                }
            }
            if let Some((_, names)) = BUILTINS.iter().find(|(known, _)| *known == name) {
                self.asked(Some(value), names);
            }
        }
    }

    /// A property that is read.
    fn reads(&mut self, node: Node<'n>) {
        for thing in self.value(node) {
            if let Thing::Function(function) = thing
                && self.world.functions[function].property
            {
                self.run(function, false, node);
            }
        }
    }

    fn subscript(&mut self, node: Node<'n>) {
        let Some(value) = node.child_by_field_name("value") else {
            return;
        };
        for thing in self.value(value) {
            match thing {
                Thing::Object(class) => self.methods(class, &["__getitem__"], node),
                Thing::Class(class) => {
                    self.methods(class, &["__class_getitem__"], node);
                    for meta in self.world.metaclasses(class) {
                        self.methods(meta, &["__getitem__"], node);
                    }
                }
                _ => {}
            }
        }
    }

    fn class(&mut self, node: Node<'n>) {
        if let Some(parents) = node.child_by_field_name("superclasses") {
            self.node(parents);
        }
        let Some(body) = node.child_by_field_name("body") else {
            return;
        };
        let index = self.world.class_at(self.scope.module, node);
        if let Some(class) = index {
            let hooks = ["__init_subclass__"];
            for parent in self.world.line(class).into_iter().skip(1) {
                self.methods(parent, &hooks, node);
            }
            for meta in self.world.metaclasses(class) {
                self.methods(meta, &["__prepare__", "__new__", "__init__"], node);
            }
        }
        let outer = std::mem::replace(&mut self.scope.class, index);
        self.node(body);
        for statement in children(body) {
            let assignment = statement
                .named_child(0)
                .filter(|n| n.kind() == "assignment");
            let value = assignment.and_then(|a| a.child_by_field_name("right"));
            self.asked(value, &["__set_name__"]);
        }
        self.scope.class = outer;
    }

    /// Of a function that is only defined, its default values and annotations run.
    fn definition(&mut self, node: Node<'n>) {
        let parameters = node.child_by_field_name("parameters");
        let parameters = parameters.map_or_else(Vec::new, children);
        for parameter in &parameters {
            if let Some(value) = parameter.child_by_field_name("value") {
                self.node(value);
            }
        }
        if !self
            .module
            .text
            .contains("from __future__ import annotations")
        {
            let types = parameters
                .iter()
                .filter_map(|p| p.child_by_field_name("type"));
            for annotation in types.chain(node.child_by_field_name("return_type")) {
                self.node(annotation);
            }
        }
        if self.inner
            && let Some(body) = node.child_by_field_name("body")
        {
            self.inner = false;
            self.node(body);
            self.inner = true;
        }
    }
}

const BUILTINS_STR: &[&str] = &["__format__", "__str__", "__repr__"];
