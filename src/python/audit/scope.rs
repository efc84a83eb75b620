//! What names stand for in a function: the last thing that was assigned to them before a place.

use std::collections::HashMap;

use tree_sitter::Node;

use crate::python::symbols::{Module, children};

#[derive(Default)]
pub(super) struct Scope<'t> {
    /// By name: places and values, in order.
    values: HashMap<String, Vec<(usize, Node<'t>)>>,
    /// Names of errors that were caught or awaited.
    pub errors: Vec<String>,
}

impl<'t> Scope<'t> {
    /// `function`: a function's node.
    pub fn of(module: &Module<'_>, function: Node<'t>) -> Self {
        let mut scope = Self::default();
        scope.walk(module, function);
        scope
    }

    /// What a name stands for at a place.
    pub fn value(&self, name: &str, at: usize) -> Option<Node<'t>> {
        let values = self.values.get(name)?;
        let before = values.iter().rfind(|(place, _)| *place < at);
        before.or_else(|| values.first()).map(|(_, node)| *node)
    }

    fn walk(&mut self, module: &Module<'_>, node: Node<'t>) {
        match node.kind() {
            "assignment" | "augmented_assignment" | "named_expression" => {
                let left = node.child_by_field_name("left");
                let left = left.or_else(|| node.child_by_field_name("name"));
                let right = node.child_by_field_name("right");
                let right = right.or_else(|| node.child_by_field_name("value"));
                if let (Some(left), Some(right)) = (left, right) {
                    self.bind(module, left, right);
                }
            }
            "for_statement" | "for_in_clause" => {
                if let (Some(left), Some(right)) = (
                    node.child_by_field_name("left"),
                    node.child_by_field_name("right"),
                ) {
                    self.bind(module, left, right);
                }
            }
            // with a as b, except A as b
            "as_pattern" => {
                let value = node.named_child(0);
                let alias = node.child_by_field_name("alias");
                if let (Some(value), Some(alias)) = (value, alias) {
                    let caught = node.parent().is_some_and(|p| p.kind() == "except_clause");
                    let text = module.source(value);
                    if caught || text.contains("raises") || text.contains("assertRaises") {
                        self.errors.push(module.source(alias).to_owned());
                    } else {
                        self.bind(module, alias, value);
                    }
                }
            }
            _ => {}
        }
        for child in children(node) {
            self.walk(module, child);
        }
    }

    fn bind(&mut self, module: &Module<'_>, left: Node<'t>, right: Node<'t>) {
        let list = |n: Node<'t>| {
            matches!(
                n.kind(),
                "pattern_list" | "tuple_pattern" | "expression_list" | "tuple" | "list_pattern"
            )
        };
        let named = |n: Node<'t>| -> Vec<Node<'t>> {
            children(n).into_iter().filter(Node::is_named).collect()
        };
        match left.kind() {
            "identifier" | "as_pattern_target" => {
                let name = module.source(left).to_owned();
                let values = self.values.entry(name).or_default();
                values.push((left.start_byte(), right));
            }
            _ if list(left) => {
                let (names, values) = (named(left), named(right));
                let paired = list(right) && names.len() == values.len();
                for (index, name) in names.into_iter().enumerate() {
                    self.bind(module, name, if paired { values[index] } else { right });
                }
            }
            _ => {}
        }
    }
}
