//! The functions, classes and names of a tree's modules.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::imports::Imports;
use crate::python::symbols::{Module, children};

/// Assignments of one name that are looked at.
const BINDINGS: usize = 3;

/// A module of the tree, by its path.
pub(super) struct Scanned<'a, 't> {
    pub path: &'a str,
    pub module: &'a Module<'t>,
}

/// What a name or an expression stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Thing {
    /// Index of a function.
    Function(usize),
    Class(usize),
    /// An object of a class.
    Object(usize),
    /// An object that its class's parents are asked for: `super()`.
    Parents(usize),
    Module(usize),
}

/// A function that stands in no other.
pub(super) struct Known<'n> {
    pub module: usize,
    pub node: Node<'n>,
    /// The class in whose body it stands.
    pub class: Option<usize>,
    /// Read without a call.
    pub property: bool,
}

pub(super) struct Class<'n> {
    pub module: usize,
    pub node: Node<'n>,
    pub methods: HashMap<&'n str, Vec<usize>>,
    /// Values of its attributes.
    pub bound: HashMap<&'n str, Vec<Node<'n>>>,
}

/// Names that are bound where code runs, beside those of its module.
#[derive(Clone, Default)]
pub(super) struct Scope<'n> {
    pub module: usize,
    /// Of the class whose body runs.
    pub class: Option<usize>,
    /// The first parameter of a method, and what it is.
    pub own: Option<(&'n str, Thing)>,
    pub locals: HashMap<&'n str, Vec<Node<'n>>>,
}

#[derive(Default)]
pub(super) struct Names<'n> {
    /// By their qualified name: accessors and other definitions of it are all of them.
    pub functions: HashMap<String, Vec<usize>>,
    pub classes: HashMap<String, usize>,
    pub bound: HashMap<&'n str, Vec<Node<'n>>>,
    pub imports: Imports<'n>,
}

pub(super) struct World<'n, 't> {
    pub modules: &'n [Scanned<'n, 't>],
    pub functions: Vec<Known<'n>>,
    pub classes: Vec<Class<'n>>,
    /// Functions and classes by where their definition begins.
    at: HashMap<(usize, usize), Thing>,
    pub names: Vec<Names<'n>>,
    /// Of each class, the classes that it derives from, and its own metaclasses.
    pub parents: Vec<Vec<usize>>,
    pub metas: Vec<Vec<usize>>,
    /// Modules by the last part of their path.
    pub by_last: HashMap<&'n str, Vec<usize>>,
    pub packages: &'n HashSet<&'n str>,
}

impl<'n, 't> World<'n, 't> {
    /// `packages`: folders of the tree that are Python packages.
    pub fn of(modules: &'n [Scanned<'n, 't>], packages: &'n HashSet<&'n str>) -> Self {
        let mut world = World {
            modules,
            functions: Vec::new(),
            classes: Vec::new(),
            at: HashMap::new(),
            names: Vec::new(),
            parents: Vec::new(),
            metas: Vec::new(),
            by_last: HashMap::new(),
            packages,
        };
        for (index, scanned) in modules.iter().enumerate() {
            let last = stem(scanned.path).rsplit('/').next().unwrap_or_default();
            world.by_last.entry(last).or_default().push(index);
            let mut names = Names {
                imports: Imports::of(scanned.path, scanned.module),
                ..Names::default()
            };
            names.bound = bound(scanned.module, scanned.module.root());
            world.names.push(names);
            world.define(index, scanned.module.root(), None, "");
        }
        world.relate();
        world
    }

    fn define(&mut self, at: usize, node: Node<'n>, class: Option<usize>, prefix: &str) {
        let module = self.modules[at].module;
        for child in children(node) {
            match child.kind() {
                "class_definition" => {
                    let name = module.field(child, "name");
                    let index = self.classes.len();
                    self.at
                        .insert((at, child.start_byte()), Thing::Class(index));
                    let body = child.child_by_field_name("body").unwrap_or(child);
                    self.classes.push(Class {
                        module: at,
                        node: child,
                        methods: HashMap::new(),
                        bound: bound(module, body),
                    });
                    let full = format!("{prefix}{name}");
                    self.define(at, child, Some(index), &format!("{full}."));
                    self.names[at].classes.insert(full, index);
                }
                "function_definition" if !module.is_overload(child) => {
                    let name = module.field(child, "name");
                    let decorators = module.decorators(child);
                    let property = decorators.iter().any(|d| d.contains("property"))
                        || module.accessor(child).is_some();
                    self.function((at, child, property), class, (prefix, name));
                }
                "assignment" => {
                    if let Some((name, lambda)) = named_lambda(module, child) {
                        self.function((at, lambda, false), class, (prefix, name));
                    }
                }
                "function_definition" | "lambda" => {}
                _ => self.define(at, child, class, prefix),
            }
        }
    }

    fn function(
        &mut self,
        (module, node, property): (usize, Node<'n>, bool),
        class: Option<usize>,
        (prefix, name): (&str, &'n str),
    ) {
        let index = self.functions.len();
        let start = node.start_byte();
        self.at.insert((module, start), Thing::Function(index));
        self.functions.push(Known {
            module,
            node,
            class,
            property,
        });
        if let Some(class) = class {
            let methods = &mut self.classes[class].methods;
            methods.entry(name).or_default().push(index);
        }
        let all = &mut self.names[module].functions;
        let full = format!("{prefix}{name}");
        all.entry(full).or_default().push(index);
    }

    /// The class that a definition makes.
    pub fn class_at(&self, module: usize, node: Node<'_>) -> Option<usize> {
        match self.at.get(&(module, node.start_byte()))? {
            Thing::Class(class) => Some(*class),
            _ => None,
        }
    }
}

/// A path without its end, and a package's without `__init__` too.
pub(super) fn stem(path: &str) -> &str {
    let stem = path.trim_end_matches(".py");
    stem.strip_suffix("/__init__").unwrap_or(stem)
}

/// Names that a block binds to a value, not those of functions and classes in it.
pub(super) fn bound<'n>(
    module: &'n Module<'_>,
    block: Node<'n>,
) -> HashMap<&'n str, Vec<Node<'n>>> {
    let mut found: HashMap<&str, Vec<Node<'_>>> = HashMap::new();
    let mut stack = vec![block];
    while let Some(node) = stack.pop() {
        let (name, value) = match node.kind() {
            "function_definition" | "class_definition" | "lambda" => continue,
            "assignment" if named_lambda(module, node).is_some() => continue,
            "assignment" => (
                node.child_by_field_name("left"),
                node.child_by_field_name("right"),
            ),
            "named_expression" => (
                node.child_by_field_name("name"),
                node.child_by_field_name("value"),
            ),
            // `with X() as name`
            "as_pattern" => (
                node.child_by_field_name("alias")
                    .and_then(|alias| alias.named_child(0)),
                node.named_child(0),
            ),
            _ => (None, None),
        };
        if let (Some(name), Some(value)) = (name, value)
            && name.kind() == "identifier"
        {
            let known = found.entry(module.source(name)).or_default();
            if known.len() < BINDINGS {
                known.push(value);
            }
        }
        stack.extend(children(node).into_iter().rev());
    }
    found
}

/// A function by another way of writing: `name = lambda …`.
pub(super) fn named_lambda<'n>(
    module: &'n Module<'_>,
    assignment: Node<'n>,
) -> Option<(&'n str, Node<'n>)> {
    let name = assignment.child_by_field_name("left")?;
    let value = assignment.child_by_field_name("right")?;
    let named = name.kind() == "identifier" && value.kind() == "lambda";
    named.then(|| (module.source(name), value))
}
