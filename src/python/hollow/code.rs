//! What a function does, told apart from how it is written down.

use tree_sitter::Node;

use crate::python::symbols::{Function, Module, children, is_docstring, statements};

/// A form of a function's code that comments, docstrings and white space do not change:
/// decorators, signature and body as the parser nests them.
pub(super) fn code(module: &Module<'_>, function: &Function) -> String {
    let mut out = module
        .node_of(function)
        .map(|node| module.decorators(node).join("@"))
        .unwrap_or_default();
    if let Some(node) = module.node_of(function) {
        write(module, node, &mut out);
    }
    out
}

fn write(module: &Module<'_>, node: Node<'_>, out: &mut String) {
    let parts = children(node);
    if parts.is_empty() || node.kind() == "string" {
        out.push_str(module.source(node));
        out.push(' ');
        return;
    }
    let documented = (node.kind() == "block")
        .then(|| statements(node).into_iter().next())
        .flatten()
        .filter(|first| is_docstring(module.text, *first));
    out.push('(');
    for part in parts {
        if part.kind() != "comment" && Some(part) != documented {
            write(module, part, out);
        }
    }
    out.push(')');
}
