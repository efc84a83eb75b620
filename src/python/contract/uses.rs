//! What a suite uses of the project.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use tree_sitter::Node;

use super::facts::expression;
use super::world::{Place, Scope, Value, World};
use crate::domain::Suite;
use crate::python::symbols::{Module, children};

/// How a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Import,
    Call,
    Read,
    /// It is replaced by something of the test's own.
    Patch,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Use {
    pub suite: Suite,
    pub path: String,
    pub line: usize,
    pub how: How,
    /// What it is a member of was not found: the name alone says what is meant.
    pub by_name: bool,
}

#[derive(Default)]
pub(super) struct Found {
    /// Keyed by definition; a module is a place without a name.
    pub uses: BTreeMap<Place, Vec<Use>>,
    /// Keyword arguments of calls.
    pub keywords: BTreeMap<Place, Vec<String>>,
    /// Dotted names under which definitions were imported.
    pub imported_as: BTreeMap<Place, Vec<String>>,
    /// Attributes of things that are not known: name, use, keywords.
    pub open: Vec<(String, Use, Vec<String>)>,
}

pub(super) struct Walker<'w, 'a> {
    pub world: &'w World<'a>,
    pub suite: Suite,
    pub path: &'w str,
    pub module: &'w Module<'w>,
    pub found: &'w mut Found,
}

impl Walker<'_, '_> {
    pub fn walk(&mut self) {
        self.visit(self.module.root(), "", "");
    }

    /// `function`: the qualified name of the function that is walked, `prefix` that of classes.
    fn visit(&mut self, node: Node<'_>, function: &str, prefix: &str) {
        let module = self.module;
        match node.kind() {
            "class_definition" => {
                let prefix = format!("{prefix}{}.", module.field(node, "name"));
                for child in children(node) {
                    self.visit(child, function, &prefix);
                }
                return;
            }
            "function_definition" => {
                // what stands in a function is looked up there as well
                let name = format!("{prefix}{}", module.field(node, "name"));
                let inner = if function.is_empty() { &name } else { function };
                for child in children(node) {
                    self.visit(child, inner, "");
                }
                return;
            }
            "import_statement" | "import_from_statement" => {
                self.import(node);
                return;
            }
            "call" => {
                self.call(node, function);
                self.implied(node, function);
            }
            "subscript"
            | "with_item"
            | "comparison_operator"
            | "for_statement"
            | "for_in_clause" => self.implied(node, function),
            "attribute" | "identifier" => self.reference(node, function),
            "keyword_argument" => {
                if let Some(value) = node.child_by_field_name("value") {
                    self.visit(value, function, prefix);
                }
                return;
            }
            _ => {}
        }
        for child in children(node) {
            // the name of an attribute is no name of its own
            let named =
                node.kind() == "attribute" && node.child_by_field_name("attribute") == Some(child);
            if !named {
                self.visit(child, function, prefix);
            }
        }
    }

    pub(super) fn scope<'s>(&'s self, node: Node<'_>, function: &'s str) -> Scope<'s> {
        Scope {
            file: self.path,
            function,
            line: node.start_position().row + 1,
        }
    }

    pub(super) fn one(&self, node: Node<'_>, how: How) -> Use {
        Use {
            suite: self.suite,
            path: self.path.to_owned(),
            line: node.start_position().row + 1,
            how,
            by_name: false,
        }
    }

    pub(super) fn add(&mut self, value: &Value, node: Node<'_>, how: How) -> Option<Place> {
        let place = match value {
            Value::Class(place) | Value::Function(place) | Value::Variable(place) => place.clone(),
            _ => return None,
        };
        if !self.world.in_project(&place.file) {
            return None;
        }
        let one = self.one(node, how);
        self.found.uses.entry(place.clone()).or_default().push(one);
        Some(place)
    }

    fn import(&mut self, node: Node<'_>) {
        let module = self.module;
        let from = node.child_by_field_name("module_name");
        for child in children(node) {
            if Some(child) == from {
                continue;
            }
            let name = match child.kind() {
                "dotted_name" => module.source(child),
                "aliased_import" => module.field(child, "name"),
                _ => continue,
            };
            let Some(from) = from else {
                continue;
            };
            let source = module.source(from).trim();
            let bare = source.trim_start_matches('.');
            let level = source.len() - bare.len();
            let value = self.world.imported(self.path, level, bare, Some(name));
            if let Some(place) = self.add(&value, child, How::Import)
                && level == 0
            {
                self.named(&place, format!("{bare}.{name}"));
            }
        }
    }

    fn call(&mut self, node: Node<'_>, function: &str) {
        let module = self.module;
        let Some(callee) = node.child_by_field_name("function") else {
            return;
        };
        let keywords = keywords(module, node);
        self.patches(node, callee, function);
        self.partial(node, callee, function);
        let value = self
            .world
            .value(&expression(module, callee), self.scope(node, function));
        if let Some(place) = self.add(&value, callee, How::Call) {
            self.taken_from_module(callee, function, &place);
            let known = self.found.keywords.entry(place).or_default();
            known.extend(keywords);
        } else if callee.kind() == "attribute"
            && value == Value::Unknown
            && self.unknown_object(callee, function)
        {
            let name = module.field(callee, "attribute").to_owned();
            let one = self.one(callee, How::Call);
            self.found.open.push((name, one, keywords));
        }
    }

    /// `pkg.name`, with the module under the name by which the test reaches it.
    fn taken_from_module(&mut self, node: Node<'_>, function: &str, place: &Place) {
        let Some(object) = node.child_by_field_name("object") else {
            return;
        };
        let object = expression(self.module, object);
        if let Value::Module(dotted) = self.world.content(&object, self.scope(node, function)) {
            let name = format!("{dotted}.{}", self.module.field(node, "attribute"));
            self.named(place, name);
        }
    }

    pub(super) fn named(&mut self, place: &Place, name: String) {
        let names = self.found.imported_as.entry(place.clone()).or_default();
        names.push(name);
    }

    /// `monkeypatch.setattr(object, "name", …)`, `patch.object(object, "name")`, `patch("a.b.c")`.
    fn patches(&mut self, node: Node<'_>, callee: Node<'_>, function: &str) {
        let module = self.module;
        let text = module.source(callee);
        let last = text.rsplit('.').next().unwrap_or(text);
        if last == "multiple" {
            self.patches_several(node, function);
            return;
        }
        let known = ["setattr", "delattr", "object", "patch", "spy"].contains(&last);
        let reads = ["getattr", "hasattr"].contains(&text);
        if !known && !reads {
            return;
        }
        let how = if reads { How::Read } else { How::Patch };
        let Some(list) = node.child_by_field_name("arguments") else {
            return;
        };
        let arguments: Vec<Node<'_>> = children(list)
            .into_iter()
            .filter(|n| n.is_named() && n.kind() != "keyword_argument")
            .collect();
        let string = |n: &Node<'_>| {
            let text = module.source(*n);
            (n.kind() == "string").then(|| text.trim_matches(['"', '\'']).to_owned())
        };
        let scope = self.scope(node, function);
        let mut reached = None;
        let value = match arguments.as_slice() {
            [target, name, ..] if string(target).is_none() => {
                let Some(name) = string(name) else { return };
                let object = self.world.value(&expression(module, *target), scope);
                if let Value::Module(dotted) = &object {
                    reached = Some(format!("{dotted}.{name}"));
                }
                self.world.attribute(&object, &name, self.path)
            }
            [dotted, ..] => {
                let Some(dotted) = string(dotted) else { return };
                let value = self.world.named(&dotted, self.path);
                reached = Some(dotted);
                value
            }
            [] => return,
        };
        let place = self.add(&value, node, how);
        // a member is told by its owner
        if let (Some(place), Some(name)) = (place, reached)
            && !place.name.contains('.')
        {
            self.named(&place, name);
        }
    }

    fn reference(&mut self, node: Node<'_>, function: &str) {
        let module = self.module;
        let parent = node.parent();
        let field_of = |kind: &str, field: &str| {
            parent.is_some_and(|p| p.kind() == kind && p.child_by_field_name(field) == Some(node))
        };
        if field_of("call", "function") {
            return;
        }
        let assigned = field_of("assignment", "left") || field_of("augmented_assignment", "left");
        if node.kind() == "identifier" {
            // a name that is bound here, or that only leads to an attribute
            if assigned || field_of("attribute", "object") {
                return;
            }
            let name = module.source(node);
            let facts = self.world.facts(self.path);
            if !facts.is_some_and(|f| f.imports.contains_key(name)) {
                return;
            }
            let value = self
                .world
                .value(&expression(module, node), self.scope(node, function));
            if matches!(
                value,
                Value::Class(_) | Value::Function(_) | Value::Variable(_)
            ) {
                self.add(&value, node, How::Read);
            }
            return;
        }
        let how = if assigned { How::Patch } else { How::Read };
        let value = self
            .world
            .value(&expression(module, node), self.scope(node, function));
        if let Some(place) = self.add(&value, node, how) {
            self.taken_from_module(node, function, &place);
        } else if value == Value::Unknown && self.unknown_object(node, function) {
            let name = module.field(node, "attribute").to_owned();
            let one = self.one(node, how);
            self.found.open.push((name, one, Vec::new()));
        }
    }

    /// Whether nothing is known of what an attribute is taken from. A name that is imported from
    /// elsewhere (numpy, torch) is none of ours.
    fn unknown_object(&self, node: Node<'_>, function: &str) -> bool {
        let module = self.module;
        let Some(object) = node.child_by_field_name("object") else {
            return false;
        };
        let scope = self.scope(node, function);
        if self.world.value(&expression(module, object), scope) != Value::Unknown {
            return false;
        }
        let mut root = object;
        while let Some(inner) = root
            .child_by_field_name("object")
            .or_else(|| root.child_by_field_name("function"))
            .or_else(|| root.child_by_field_name("value"))
        {
            root = inner;
        }
        let name = module.source(root);
        let foreign = self
            .world
            .facts(self.path)
            .is_some_and(|f| f.imports.contains_key(name));
        root.kind() == "identifier" && !foreign
    }
}

/// The names of a call's keyword arguments.
pub(super) fn keywords(module: &Module<'_>, call: Node<'_>) -> Vec<String> {
    let list = call.child_by_field_name("arguments").map(children);
    let all = list.unwrap_or_default().into_iter();
    all.filter(|n| n.kind() == "keyword_argument")
        .map(|n| module.field(n, "name").to_owned())
        .collect()
}
