//! What names and expressions stand for, as far as reading tells: functions, classes, objects of a
//! class, and modules. What cannot be told is nothing: no name is taken for another one that only
//! sounds like it.

use std::collections::HashMap;

use tree_sitter::Node;

use super::imports::{Target, Wanted};
use super::names::{Known, Scope, Thing, World, bound, stem};
use crate::python::symbols::{Module, children};

/// How far a name is followed.
const STEPS: usize = 12;

impl<'n, 't> World<'n, 't> {
    fn module_of(&self, function: &Known<'n>) -> &'n Module<'t> {
        self.modules[function.module].module
    }

    /// The scope of a function's body.
    pub fn inside(&self, index: usize) -> Scope<'n> {
        let function = &self.functions[index];
        let module = self.module_of(function);
        let body = function.node.child_by_field_name("body");
        let own = function.class.and_then(|class| {
            let parameters = function.node.child_by_field_name("parameters")?;
            let first = parameters.named_child(0)?;
            let name = module.field(function.node, "name");
            let decorators = module.decorators(function.node);
            if decorators.contains(&"staticmethod") {
                return None;
            }
            let of_class = decorators.contains(&"classmethod")
                || ["__new__", "__init_subclass__", "__class_getitem__"].contains(&name);
            let thing = if of_class {
                Thing::Class(class)
            } else {
                Thing::Object(class)
            };
            Some((module.source(first), thing))
        });
        Scope {
            module: function.module,
            class: None,
            own,
            locals: body.map_or_else(HashMap::new, |body| bound(module, body)),
        }
    }

    /// What an expression gives.
    pub fn value(&self, scope: &Scope<'n>, node: Node<'n>) -> Vec<Thing> {
        self.value_in(scope, node, STEPS)
    }

    fn value_in(&self, scope: &Scope<'n>, node: Node<'n>, steps: usize) -> Vec<Thing> {
        let Some(steps) = steps.checked_sub(1) else {
            return Vec::new();
        };
        let module = self.modules[scope.module].module;
        let inner = |name: &str| {
            let inner = node.child_by_field_name(name);
            inner.map_or_else(Vec::new, |n| self.value_in(scope, n, steps))
        };
        match node.kind() {
            "identifier" => self.named(scope, module.source(node), steps),
            "attribute" => {
                let name = module.field(node, "attribute");
                let objects = inner("object");
                all(objects
                    .into_iter()
                    .map(|thing| self.attribute(thing, name, steps)))
            }
            "call" => {
                let callee = module.field(node, "function");
                if let ("super", Some((_, own))) = (callee, scope.own) {
                    return match own {
                        Thing::Class(class) | Thing::Object(class) => vec![Thing::Parents(class)],
                        _ => Vec::new(),
                    };
                }
                let objects = inner("function")
                    .into_iter()
                    .filter_map(|thing| match thing {
                        Thing::Class(class) => Some(Thing::Object(class)),
                        _ => None,
                    });
                objects.collect()
            }
            // `R[int]` is still R
            "subscript" => {
                let classes = inner("value").into_iter();
                classes.filter(|t| matches!(t, Thing::Class(_))).collect()
            }
            "binary_operator" => {
                let objects = inner("left").into_iter();
                objects.filter(|t| matches!(t, Thing::Object(_))).collect()
            }
            "named_expression" => inner("value"),
            "parenthesized_expression"
            | "conditional_expression"
            | "boolean_operator"
            | "as_pattern" => {
                let parts = children(node).into_iter().filter(Node::is_named);
                all(parts.map(|part| self.value_in(scope, part, steps)))
            }
            _ => Vec::new(),
        }
    }

    fn named(&self, scope: &Scope<'n>, name: &str, steps: usize) -> Vec<Thing> {
        if let Some((own, thing)) = scope.own
            && own == name
        {
            return vec![thing];
        }
        if let Some(class) = scope.class {
            let found = self.in_class(class, name, steps);
            if !found.is_empty() {
                return found;
            }
        }
        match scope.locals.get(name) {
            Some(nodes) => all(nodes.iter().map(|n| self.value_in(scope, *n, steps))),
            None => self.global(scope.module, name, steps),
        }
    }

    /// What a module has under a name.
    fn global(&self, at: usize, name: &str, steps: usize) -> Vec<Thing> {
        let Some(steps) = steps.checked_sub(1) else {
            return Vec::new();
        };
        let names = &self.names[at];
        let functions = names.functions.get(name).into_iter().flatten();
        let mut found: Vec<Thing> = functions.map(|f| Thing::Function(*f)).collect();
        found.extend(names.classes.get(name).map(|c| Thing::Class(*c)));
        let scope = Scope {
            module: at,
            ..Scope::default()
        };
        for node in names.bound.get(name).into_iter().flatten() {
            found.extend(self.value_in(&scope, *node, steps));
        }
        if !found.is_empty() {
            return found;
        }
        for wanted in names.imports.of_name(name) {
            found.extend(match wanted {
                Wanted::Module(target) => {
                    let modules = self.found(&target).into_iter();
                    modules.map(Thing::Module).collect()
                }
                Wanted::Name(target, name) => self.imported(&target, name, steps),
            });
        }
        found
    }

    /// `from target import name`
    fn imported(&self, target: &Target, name: &str, steps: usize) -> Vec<Thing> {
        let below = self.found(&target.below(name)).into_iter();
        let mut found: Vec<Thing> = below.map(Thing::Module).collect();
        for module in self.found(target) {
            found.extend(self.global(module, name, steps));
        }
        found
    }

    /// Modules of the tree that an import means.
    fn found(&self, target: &Target) -> Vec<usize> {
        let last = target.stem.rsplit('/').next().unwrap_or_default();
        let known = self.by_last.get(last).into_iter().flatten();
        let means = |index: &&usize| {
            let stem = stem(self.modules[**index].path);
            if target.exact {
                return stem == target.stem;
            }
            // its first part is found where Python begins to look, so in no package
            let root = stem.strip_suffix(target.stem.as_str());
            root.is_some_and(|root| {
                root.is_empty()
                    || root
                        .strip_suffix('/')
                        .is_some_and(|root| !self.packages.contains(root))
            })
        };
        known.filter(means).copied().collect()
    }

    fn attribute(&self, thing: Thing, name: &str, steps: usize) -> Vec<Thing> {
        match thing {
            Thing::Module(module) => {
                let found = self.global(module, name, steps);
                if !found.is_empty() {
                    return found;
                }
                // `import a.b` binds a, whose b is a module
                let below = Target {
                    stem: format!("{}/{name}", stem(self.modules[module].path)),
                    exact: true,
                };
                self.found(&below).into_iter().map(Thing::Module).collect()
            }
            Thing::Class(class) | Thing::Object(class) => self.in_class(class, name, steps),
            Thing::Parents(class) => {
                let parents = self.parents.get(class).into_iter().flatten();
                all(parents.map(|parent| self.in_class(*parent, name, steps)))
            }
            Thing::Function(_) => Vec::new(),
        }
    }

    fn in_class(&self, class: usize, name: &str, steps: usize) -> Vec<Thing> {
        for class in self.line(class) {
            let own = &self.classes[class];
            if let Some(methods) = own.methods.get(name) {
                return methods.iter().map(|m| Thing::Function(*m)).collect();
            }
            if let Some(nodes) = own.bound.get(name) {
                let scope = Scope {
                    module: own.module,
                    ..Scope::default()
                };
                return all(nodes.iter().map(|n| self.value_in(&scope, *n, steps)));
            }
        }
        Vec::new()
    }

    /// A class and all that it derives from.
    pub fn line(&self, class: usize) -> Vec<usize> {
        let (mut line, mut at) = (vec![class], 0);
        while at < line.len() {
            for parent in self.parents.get(line[at]).into_iter().flatten() {
                if !line.contains(parent) {
                    line.push(*parent);
                }
            }
            at += 1;
        }
        line
    }

    /// Finds out what each class derives from. Until then no class has parents, so that nothing asks
    /// in a circle.
    pub fn relate(&mut self) {
        let all = 0..self.classes.len();
        let classes = |things: Vec<Thing>| -> Vec<usize> {
            let classes = things.into_iter().filter_map(|thing| match thing {
                Thing::Class(class) => Some(class),
                _ => None,
            });
            classes.collect()
        };
        let of = |keyword: Option<&str>| -> Vec<Vec<usize>> {
            let each = all.clone().map(|class| self.arguments(class, keyword));
            each.map(classes).collect()
        };
        let (parents, metaclasses) = (of(None), of(Some("metaclass")));
        self.parents = parents;
        self.metas = metaclasses;
    }

    /// The class of a class, its own or inherited.
    pub fn metaclasses(&self, class: usize) -> Vec<usize> {
        let line = self.line(class).into_iter();
        line.flat_map(|class| self.metas[class].clone()).collect()
    }

    fn arguments(&self, class: usize, keyword: Option<&str>) -> Vec<Thing> {
        let class = &self.classes[class];
        let module = self.modules[class.module].module;
        let Some(list) = class.node.child_by_field_name("superclasses") else {
            return Vec::new();
        };
        let scope = Scope {
            module: class.module,
            ..Scope::default()
        };
        let values = children(list)
            .into_iter()
            .filter_map(|node| match (node.kind(), keyword) {
                ("keyword_argument", Some(name)) if module.field(node, "name") == name => {
                    node.child_by_field_name("value")
                }
                ("keyword_argument", _) | (_, Some(_)) => None,
                _ => Some(node),
            });
        all(values.map(|value| self.value(&scope, value)))
    }

    /// The functions that a class gives its objects under a name.
    pub fn methods(&self, class: usize, name: &str) -> Vec<usize> {
        let line = self.line(class);
        let own = line.iter().find_map(|c| self.classes[*c].methods.get(name));
        own.cloned().unwrap_or_default()
    }
}

fn all(things: impl Iterator<Item = Vec<Thing>>) -> Vec<Thing> {
    let mut found = Vec::new();
    for thing in things.flatten() {
        if !found.contains(&thing) {
            found.push(thing);
        }
    }
    found
}
