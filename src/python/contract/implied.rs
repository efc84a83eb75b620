//! Uses of names that the text does not say, or says in a string: `len(c)` is `C.__len__`.

use tree_sitter::Node;

use super::facts::{expression, first_argument, last, unquoted};
use super::uses::{How, Walker, keywords};
use super::world::{Place, Value};
use crate::python::symbols::children;

/// Built-in functions and what they call.
const BUILT_IN: &[(&str, &str)] = &[
    ("len", "__len__"),
    ("iter", "__iter__"),
    ("next", "__next__"),
    ("bool", "__bool__"),
    ("hash", "__hash__"),
    ("repr", "__repr__"),
    ("str", "__str__"),
    ("int", "__int__"),
    ("float", "__float__"),
    ("abs", "__abs__"),
    ("reversed", "__reversed__"),
];

impl Walker<'_, '_> {
    /// Special methods of objects of the project that Python calls for a node.
    pub(super) fn implied(&mut self, node: Node<'_>, function: &str) {
        let module = self.module;
        let field = |name: &str| node.child_by_field_name(name);
        let assigned = |kind: &str| {
            node.parent().is_some_and(|p| {
                p.kind() == kind
                    && (kind != "assignment" || p.child_by_field_name("left") == Some(node))
            })
        };
        let mut found: Vec<(Node<'_>, &str)> = Vec::new();
        match node.kind() {
            "call" => {
                let Some(callee) = field("function") else {
                    return;
                };
                if let Some(place) = self.special(callee, "__call__", function) {
                    let known = self.found.keywords.entry(place).or_default();
                    known.extend(keywords(module, node));
                }
                let name = module.source(callee);
                let method = BUILT_IN.iter().find(|(own, _)| *own == name);
                found.extend(method.and_then(|(_, m)| Some((first_argument(node)?, *m))));
            }
            "subscript" => {
                let method = if assigned("assignment") {
                    "__setitem__"
                } else if assigned("delete_statement") {
                    "__delitem__"
                } else {
                    "__getitem__"
                };
                found.extend(field("value").map(|v| (v, method)));
            }
            "with_item" => {
                let value = field("value").map(|v| match v.kind() {
                    "as_pattern" => v.named_child(0).unwrap_or(v),
                    _ => v,
                });
                found.extend(value.map(|v| (v, "__enter__")));
            }
            "for_statement" | "for_in_clause" => {
                found.extend(field("right").map(|r| (r, "__iter__")));
            }
            "comparison_operator" => {
                let parts = children(node);
                for pair in parts.windows(2) {
                    if ["in", "not in"].contains(&pair[0].kind()) {
                        found.push((pair[1], "__contains__"));
                    }
                }
            }
            _ => {}
        }
        for (object, method) in found {
            self.special(object, method, function);
        }
    }

    fn special(&mut self, object: Node<'_>, method: &str, function: &str) -> Option<Place> {
        let expr = expression(self.module, object);
        let scope = self.scope(object, function);
        let Value::Instance(class) = self.world.content(&expr, scope) else {
            return None;
        };
        let place = self.world.of_class(&class, method)?;
        self.add(&Value::Function(place), object, How::Call)
    }

    /// `functools.partial(f, scale=2)` passes keywords as a call does.
    pub(super) fn partial(&mut self, node: Node<'_>, callee: Node<'_>, function: &str) {
        let module = self.module;
        if !["partial", "partialmethod"].contains(&last(module.source(callee))) {
            return;
        }
        let Some(first) = first_argument(node) else {
            return;
        };
        let scope = self.scope(node, function);
        let value = self.world.value(&expression(module, first), scope);
        if let Some(place) = self.add(&value, first, How::Call) {
            let known = self.found.keywords.entry(place).or_default();
            known.extend(keywords(module, node));
        }
    }

    /// `mock.patch.multiple("pkg.core", make=…)`: the keywords are names.
    pub(super) fn patches_several(&mut self, node: Node<'_>, function: &str) {
        let module = self.module;
        let Some(target) = first_argument(node) else {
            return;
        };
        let object = if target.kind() == "string" {
            self.world.named(unquoted(module.source(target)), self.path)
        } else {
            let scope = self.scope(node, function);
            self.world.content(&expression(module, target), scope)
        };
        for name in keywords(module, node) {
            let value = self.world.attribute(&object, &name, self.path);
            let place = self.add(&value, node, How::Patch);
            if let (Some(place), Value::Module(dotted)) = (place, &object) {
                self.named(&place, format!("{dotted}.{name}"));
            }
        }
    }
}
