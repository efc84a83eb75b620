//! Bodies that raise, and bodies that stay.

use tree_sitter::Node;

use super::lambdas::{THROWS, is_lambda};
use crate::python::symbols::{Function, Module, ParameterKind, children, statements};

/// What stands in place of a body, and is told as `HOLLOW_ERROR`. It is an error that no probe may
/// take for a refusal.
pub const RAISES: &str = "raise NotImplementedError(\"hollow\")";

/// The bytes to replace of a function's file, and with what. Comments and the docstring before the
/// first statement stay, and so does what makes a generator one.
pub(super) fn raising(module: &Module<'_>, function: &Function) -> Option<(usize, usize, String)> {
    let first = function.first.as_ref()?;
    if is_lambda(module, function) {
        return Some((first.range.start, function.body.end, THROWS.to_owned()));
    }
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
            let error = text.strip_prefix("raise NotImplementedError");
            let ends = |rest: &str| {
                let goes_on = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
                !rest.starts_with(goes_on)
            };
            text == "..." || error.is_some_and(ends)
        })
}

/// The attributes that a method fills, where it does nothing else: arguments, constants and empty
/// containers in attributes of its own, after a call of its parent's `__init__` with such.
pub(super) fn only_stores(module: &Module<'_>, function: &Function) -> Option<Vec<String>> {
    if !function.name.contains('.') {
        return None;
    }
    let plain = |kind| matches!(kind, ParameterKind::Star | ParameterKind::Slash);
    let names: Vec<&str> = function
        .parameters
        .iter()
        .filter(|p| !plain(p.kind))
        .map(|p| p.name.as_str())
        .collect();
    let (own, arguments) = names.split_first()?;
    let block = (module.node_of(function)).and_then(|n| n.child_by_field_name("body"))?;
    let from = (function.first.as_ref()).map_or(usize::MAX, |f| f.range.start);
    let mut filled = Vec::new();
    statements(block)
        .into_iter()
        .filter(|s| s.start_byte() >= from)
        .all(|s| stores(module, s, (own, arguments), &mut filled))
        .then_some(filled)
}

pub(super) fn is_init(function: &Function) -> bool {
    function.name.rsplit('.').next() == Some("__init__")
}

fn stores(
    module: &Module<'_>,
    statement: Node<'_>,
    (own, arguments): (&str, &[&str]),
    filled: &mut Vec<String>,
) -> bool {
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
        "assignment" => assigns(module, *expression, (own, arguments), filled),
        "call" => {
            let callee = module.field(*expression, "function");
            let mut given: Vec<Node<'_>> = expression
                .child_by_field_name("arguments")
                .map_or_else(Vec::new, children);
            given.retain(Node::is_named);
            let Some((object, "__init__" | "__setattr__")) = callee.rsplit_once('.') else {
                return false;
            };
            // `Parent.__init__(self, …)`
            if !object.starts_with("super(") {
                match given.first() {
                    Some(first) if module.source(*first) == own => given.remove(0),
                    _ => return false,
                };
            }
            given.into_iter().all(|a| match a.kind() {
                "keyword_argument" => a
                    .child_by_field_name("value")
                    .is_some_and(|v| is_given(module, v, arguments)),
                "list_splat" | "dictionary_splat" => {
                    a.child(1).is_some_and(|v| is_given(module, v, arguments))
                }
                _ => is_given(module, a, arguments),
            })
        }
        _ => false,
    }
}

/// `self.a = a`, `self.a = self.b = a`, `self.a, self.b = a, b`, `self.__dict__[a] = b`
fn assigns(
    module: &Module<'_>,
    assignment: Node<'_>,
    (own, arguments): (&str, &[&str]),
    filled: &mut Vec<String>,
) -> bool {
    let Some(left) = assignment.child_by_field_name("left") else {
        return false;
    };
    let several = matches!(left.kind(), "pattern_list" | "tuple_pattern");
    let of = |node: Node<'_>| -> usize { node.named_child_count() };
    let targets = if several {
        statements(left)
    } else {
        vec![left]
    };
    for target in targets {
        if is_own_attribute(module, target, own) {
            filled.push(module.field(target, "attribute").to_owned());
        } else if module.field(target, "value") != format!("{own}.__dict__") {
            return false;
        }
    }
    // an annotation alone has no right side
    let Some(right) = assignment.child_by_field_name("right") else {
        return true;
    };
    match right.kind() {
        "assignment" => !several && assigns(module, right, (own, arguments), filled),
        "expression_list" | "tuple" if several => {
            of(left) == of(right)
                && statements(right)
                    .into_iter()
                    .all(|v| is_given(module, v, arguments))
        }
        _ => !several && is_given(module, right, arguments),
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
