//! Functions that are written as an assignment: `name = lambda …`, in a module or a class.

use tree_sitter::Node;

use super::names::named_lambda;
use crate::python::code::code;
use crate::python::symbols::{Function, Module, Statement, children};

/// What stands in place of a lambda's body, which takes no statement.
pub(super) const THROWS: &str = "(_ for _ in ()).throw(NotImplementedError(\"hollow\"))";

/// Functions that stand in no other, lambdas with a name among them, in the order of the file.
pub(super) fn outer(module: &Module<'_>) -> Vec<Function> {
    let mut functions = module.functions();
    functions.retain(|f| !f.nested);
    lambdas(module, module.root(), "", &mut functions);
    functions.sort_by_key(|f| f.signature.start);
    functions
}

fn lambdas(module: &Module<'_>, node: Node<'_>, prefix: &str, found: &mut Vec<Function>) {
    for child in children(node) {
        match child.kind() {
            "function_definition" | "lambda" => {}
            "class_definition" => {
                let prefix = format!("{prefix}{}.", module.field(child, "name"));
                lambdas(module, child, &prefix, found);
            }
            "assignment" => {
                let named = named_lambda(module, child);
                found.extend(named.and_then(|(name, node)| function(node, prefix, name)));
            }
            _ => lambdas(module, child, prefix, found),
        }
    }
}

fn function(node: Node<'_>, prefix: &str, name: &str) -> Option<Function> {
    let body = node.child_by_field_name("body")?;
    let line = node.start_position().row + 1;
    Some(Function {
        name: format!("{prefix}{name}"),
        line,
        nested: false,
        is_async: false,
        signature: node.start_byte()..body.start_byte(),
        docstring: None,
        body: body.byte_range(),
        first: Some(Statement {
            range: body.byte_range(),
            line,
            compound: false,
            indent: None,
        }),
        indent: String::new(),
        body_indent: None,
        parameters: Vec::new(),
        statements: Vec::new(),
    })
}

pub(super) fn is_lambda(module: &Module<'_>, function: &Function) -> bool {
    module.node_of(function).is_none()
}

/// The code of either, whatever its layout.
pub(super) fn code_of(module: &Module<'_>, function: &Function) -> String {
    if is_lambda(module, function) {
        let text = &module.text[function.signature.start..function.body.end];
        return text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    code(module, function)
}
