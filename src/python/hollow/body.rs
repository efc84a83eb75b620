//! Bodies that raise, and bodies that stay.

use tree_sitter::Node;

use crate::python::symbols::{Function, Module, ParameterKind, children, statements};

/// What stands in place of a body, and is told as `HOLLOW_ERROR`. It is an error that no probe may
/// take for a refusal.
pub const RAISES: &str = "raise NotImplementedError(\"hollow\")";

/// The bytes to replace of a function's file, and with what. Comments and the docstring before the
/// first statement stay, and so does what makes a generator one.
pub(super) fn raising(module: &Module<'_>, function: &Function) -> Option<(usize, usize, String)> {
    let first = function.first.as_ref()?;
    let mut words = RAISES.to_owned();
    if is_generator(module, function) {
        match (&function.body_indent, &first.indent) {
            (Some(indent), Some(_)) => {
                let newline = if module.text.contains("\r\n") {
                    "\r\n"
                } else {
                    "\n"
                };
                words = format!("{words}{newline}{indent}yield");
            }
            _ => words.push_str("; yield"),
        }
    }
    Some((first.range.start, function.body.end, words))
}

pub(super) fn is_generator(module: &Module<'_>, function: &Function) -> bool {
    let body = module
        .node_of(function)
        .and_then(|n| n.child_by_field_name("body"));
    body.is_some_and(yields)
}

/// Whether a body makes its function a generator: not what functions in it do.
fn yields(node: Node<'_>) -> bool {
    match node.kind() {
        "yield" => true,
        "function_definition" | "lambda" | "class_definition" => false,
        _ => children(node).into_iter().any(yields),
    }
}

/// A body that says nothing beyond the signature: `...`, a docstring alone, or an error of its own
/// that says that there is nothing.
pub(super) fn declares_only(module: &Module<'_>, function: &Function) -> bool {
    let Some(block) = module
        .node_of(function)
        .and_then(|n| n.child_by_field_name("body"))
    else {
        return false;
    };
    let from = function
        .first
        .as_ref()
        .map_or(usize::MAX, |f| f.range.start);
    statements(block)
        .into_iter()
        .filter(|s| s.start_byte() >= from)
        .all(|statement| {
            let text = module.source(statement).trim();
            text == "..." || text.starts_with("raise NotImplementedError")
        })
}

/// An `__init__` that only stores: arguments, constants and empty containers in attributes of its
/// own, after a call of its parent's `__init__` with such.
pub(super) fn only_stores(module: &Module<'_>, function: &Function) -> bool {
    if function.name.rsplit('.').next() != Some("__init__") || !function.name.contains('.') {
        return false;
    }
    let plain = |kind| matches!(kind, ParameterKind::Star | ParameterKind::Slash);
    let names: Vec<&str> = function
        .parameters
        .iter()
        .filter(|p| !plain(p.kind))
        .map(|p| p.name.as_str())
        .collect();
    let Some((own, arguments)) = names.split_first() else {
        return false;
    };
    let Some(block) = module
        .node_of(function)
        .and_then(|n| n.child_by_field_name("body"))
    else {
        return false;
    };
    let from = (function.first.as_ref()).map_or(usize::MAX, |f| f.range.start);
    statements(block)
        .into_iter()
        .filter(|s| s.start_byte() >= from)
        .all(|s| stores(module, s, own, arguments))
}

fn stores(module: &Module<'_>, statement: Node<'_>, own: &str, arguments: &[&str]) -> bool {
    if statement.kind() == "pass_statement" {
        return true;
    }
    if statement.kind() != "expression_statement" {
        return false;
    }
    let parts = children(statement);
    let [expression] = parts.as_slice() else {
        return false;
    };
    match expression.kind() {
        "assignment" => {
            let attribute = expression
                .child_by_field_name("left")
                .is_some_and(|left| is_own_attribute(module, left, own));
            // an annotation alone has no right side
            let value = expression.child_by_field_name("right");
            attribute && value.is_none_or(|v| is_given(module, v, arguments))
        }
        "call" => {
            let callee = module.field(*expression, "function");
            let parents = callee == "super().__init__"
                || callee.ends_with(".__init__") && callee.starts_with("super(");
            parents
                && expression
                    .child_by_field_name("arguments")
                    .is_some_and(|list| {
                        children(list)
                            .into_iter()
                            .filter(Node::is_named)
                            .all(|a| match a.kind() {
                                "keyword_argument" => a
                                    .child_by_field_name("value")
                                    .is_some_and(|v| is_given(module, v, arguments)),
                                "list_splat" | "dictionary_splat" => {
                                    a.child(1).is_some_and(|v| is_given(module, v, arguments))
                                }
                                _ => is_given(module, a, arguments),
                            })
                    })
        }
        _ => false,
    }
}

fn is_own_attribute(module: &Module<'_>, node: Node<'_>, own: &str) -> bool {
    node.kind() == "attribute" && module.field(node, "object") == own
}

/// An argument, a constant, or an empty container.
fn is_given(module: &Module<'_>, node: Node<'_>, arguments: &[&str]) -> bool {
    match node.kind() {
        "identifier" => arguments.contains(&module.source(node)),
        "integer" | "float" | "true" | "false" | "none" | "ellipsis" => true,
        "string" => children(node).iter().all(|c| c.kind() != "interpolation"),
        "unary_operator" | "parenthesized_expression" => children(node)
            .into_iter()
            .filter(Node::is_named)
            .all(|n| is_given(module, n, arguments)),
        "list" | "dictionary" | "tuple" => node.named_child_count() == 0,
        "call" => {
            let empty = ["list", "dict", "set", "tuple"].contains(&module.field(node, "function"));
            let bare = node
                .child_by_field_name("arguments")
                .is_some_and(|a| a.named_child_count() == 0);
            empty && bare
        }
        _ => false,
    }
}
