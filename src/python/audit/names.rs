//! What a file calls things that it imports.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use crate::python::symbols::{Module, children};

/// A file's text with what its names stand for.
pub(super) struct Reading<'a> {
    pub module: &'a Module<'a>,
    /// Full names by the file's own: `np` is `numpy`.
    pub aliases: &'a HashMap<String, String>,
}

impl Reading<'_> {
    /// What a call calls, by its full name.
    pub fn callee(&self, call: Node<'_>) -> String {
        self.full(self.module.field(call, "function"))
    }

    pub fn full(&self, name: &str) -> String {
        let (first, rest) = name.split_once('.').unwrap_or((name, ""));
        match self.aliases.get(first) {
            Some(full) if rest.is_empty() => full.clone(),
            Some(full) => format!("{full}.{rest}"),
            None => name.to_owned(),
        }
    }
}

/// Names that a file imports, as it calls them, and what they stand for.
#[derive(Default)]
pub(super) struct Imports {
    pub names: HashSet<String>,
    pub aliases: HashMap<String, String>,
}

pub(super) fn imports(module: &Module<'_>) -> Imports {
    let mut found = Imports::default();
    let mut stack = vec![module.root()];
    while let Some(node) = stack.pop() {
        if matches!(node.kind(), "import_from_statement" | "import_statement") {
            let from = node.child_by_field_name("module_name");
            for child in children(node) {
                let (own, name) = match child.kind() {
                    "aliased_import" => (module.field(child, "alias"), module.field(child, "name")),
                    "dotted_name" => (module.source(child), module.source(child)),
                    "wildcard_import" => ("*", "*"),
                    _ => continue,
                };
                let last = own.rsplit('.').next().unwrap_or(own);
                found.names.insert(last.to_owned());
                let full = match from {
                    Some(from) if from != child => format!("{}.{name}", module.source(from)),
                    _ => name.to_owned(),
                };
                // `import a.b` binds a
                if !own.contains('.') && own != full {
                    found.aliases.insert(own.to_owned(), full);
                }
            }
        }
        stack.extend(children(node));
    }
    found
}
