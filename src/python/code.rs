//! What a function does, told apart from how it is written down.

use tree_sitter::Node;

use crate::python::symbols::{Function, Module, children, is_docstring, statements};

/// A form of a function's code that comments, docstrings and white space do not change:
/// decorators, signature and body as the parser nests them.
pub fn code(module: &Module<'_>, function: &Function) -> String {
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
    let named = node.named_child_count();
    for part in parts {
        // a comma at the end says nothing, but for a tuple of one
        let last = part
            .next_sibling()
            .is_some_and(|n| [")", "]", "}"].contains(&n.kind()));
        let comma = part.kind() == "," && last && !(node.kind() == "tuple" && named == 1);
        if part.kind() != "comment" && Some(part) != documented && !comma {
            write(module, part, out);
        }
    }
    out.push(')');
}
