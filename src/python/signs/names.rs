//! What the names of a file stand for, as far as its imports tell.

use std::collections::HashMap;

use tree_sitter::Node;

use crate::python::symbols::{Module, children};

const LONGEST_CHAIN: usize = 16;

/// Local name to dotted path: `from sys import settrace as s` gives `s` → `sys.settrace`.
pub(super) struct Names(HashMap<String, String>);

/// A module that a statement imports: its dotted path, and where.
pub(super) type Imported<'t> = (String, Node<'t>);

impl Names {
    /// Wherever in the file the imports stand.
    pub fn of<'m>(module: &'m Module<'_>) -> (Self, Vec<Imported<'m>>) {
        let mut names = HashMap::new();
        let mut imported = Vec::new();
        let mut stack = vec![module.root()];
        while let Some(node) = stack.pop() {
            match node.kind() {
                "import_statement" => {
                    for child in children(node) {
                        let (path, alias) = parts(module, child);
                        if path.is_empty() {
                            continue;
                        }
                        // `import a.b` binds `a`
                        let root = path.split('.').next().unwrap_or(path);
                        let local = alias.unwrap_or(root);
                        let meant = if alias.is_some() { path } else { root };
                        names.insert(local.to_owned(), meant.to_owned());
                        imported.push((path.to_owned(), node));
                    }
                }
                "import_from_statement" => {
                    let from = module.field(node, "module_name");
                    imported.push((from.to_owned(), node));
                    for child in children(node)
                        .into_iter()
                        .skip_while(|c| c.kind() != "import")
                    {
                        let (path, alias) = parts(module, child);
                        if !path.is_empty() {
                            let local = alias.unwrap_or(path);
                            names.insert(local.to_owned(), format!("{from}.{path}"));
                        }
                    }
                }
                _ => {}
            }
            stack.extend(children(node));
        }
        (Self(names), imported)
    }

    /// What a name stands for that an import binds; none where that is a module of the package.
    pub fn imported(&self, name: &str) -> Option<&str> {
        let path = self.0.get(name).map(String::as_str);
        path.filter(|path| !path.starts_with('.'))
    }

    /// The dotted path of `a.b.c`, with what its first name stands for; none for what is no such
    /// chain.
    pub fn path(&self, module: &Module<'_>, node: Node<'_>) -> Option<String> {
        let mut attributes = Vec::new();
        let mut object = node;
        while object.kind() == "attribute" {
            // nothing that is looked for is longer, and a submission may write any chain
            if attributes.len() == LONGEST_CHAIN {
                return None;
            }
            attributes.push(module.field(object, "attribute"));
            object = object.child_by_field_name("object")?;
        }
        if object.kind() != "identifier" {
            return None;
        }
        let name = module.source(object);
        let mut path = self.0.get(name).cloned().unwrap_or_else(|| name.to_owned());
        for attribute in attributes.iter().rev() {
            path.push('.');
            path.push_str(attribute);
        }
        Some(path)
    }
}

fn parts<'m>(module: &'m Module<'_>, node: Node<'_>) -> (&'m str, Option<&'m str>) {
    match node.kind() {
        "dotted_name" => (module.source(node), None),
        "aliased_import" => (
            module.field(node, "name"),
            Some(module.field(node, "alias")),
        ),
        _ => ("", None),
    }
}
