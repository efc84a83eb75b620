//! Files that tests share: a `conftest.py`, helpers.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::outlives::{is_hook, lasts, widens};
use super::{all, looks};
use crate::python::symbols::{Module, children};

/// They make something that is filled, emptied or counted on later.
const CONTAINERS: [&str; 14] = [
    "list",
    "dict",
    "set",
    "bytearray",
    "deque",
    "collections.deque",
    "defaultdict",
    "collections.defaultdict",
    "Counter",
    "collections.Counter",
    "OrderedDict",
    "iter",
    "count",
    "itertools.count",
];
/// Of what is called so on a name of the file, or on `os.environ`, something stays.
const FILLING: [&str; 14] = [
    "append",
    "extend",
    "insert",
    "add",
    "update",
    "setdefault",
    "pop",
    "popitem",
    "remove",
    "discard",
    "clear",
    "appendleft",
    "popleft",
    "__setitem__",
];

/// Whether a file that tests share leaves them apart from each other: no fixture outlives a test, no
/// hook looks at more than one, no function changes what the file holds, or the process.
pub fn keeps_apart(text: &str) -> bool {
    Module::parse(text).is_ok_and(|module| {
        let nodes = all(module.root());
        let held = Held::of(&module, &nodes);
        !nodes.iter().any(|node| {
            widens(&module, *node)
                || is_hook(&module, *node)
                || default_stays(&module, *node)
                || is_of_all_instances(&module, *node)
                || is_in_a_function(*node) && held.changes(*node)
        })
    })
}

/// Whether a default is one that all calls have in common and may fill; a name says nothing.
pub(super) fn default_stays(module: &Module<'_>, node: Node<'_>) -> bool {
    matches!(node.kind(), "default_parameter" | "typed_default_parameter")
        && (node.child_by_field_name("value")).is_some_and(|value| is_container(module, value))
}

/// A list and the like in a class.
fn is_of_all_instances(module: &Module<'_>, node: Node<'_>) -> bool {
    let above = std::iter::successors(node.parent(), Node::parent).nth(2);
    node.kind() == "assignment"
        && above.is_some_and(|n| n.kind() == "class_definition")
        && !module.field(node, "left").starts_with("__")
        && (node.child_by_field_name("right")).is_some_and(|value| is_container(module, value))
}

fn is_container(module: &Module<'_>, value: Node<'_>) -> bool {
    match value.kind() {
        "list"
        | "dictionary"
        | "set"
        | "list_comprehension"
        | "dictionary_comprehension"
        | "set_comprehension"
        | "generator_expression" => true,
        "call" => CONTAINERS.contains(&module.field(value, "function")),
        _ => false,
    }
}

fn is_in_a_function(node: Node<'_>) -> bool {
    std::iter::successors(node.parent(), Node::parent)
        .any(|above| matches!(above.kind(), "function_definition" | "lambda"))
}

/// Of a function or a class: no name of the file.
fn is_inside(node: Node<'_>) -> bool {
    std::iter::successors(node.parent(), Node::parent).any(|above| {
        matches!(
            above.kind(),
            "class_definition" | "function_definition" | "lambda"
        )
    })
}

/// What a file holds for whoever imports it.
struct Held<'m, 't> {
    module: &'m Module<'t>,
    /// Names that stand outside of functions.
    names: BTreeSet<&'t str>,
    /// Of these: lists and the like.
    loose: BTreeSet<&'t str>,
}

impl<'m, 't> Held<'m, 't> {
    fn of(module: &'m Module<'t>, nodes: &[Node<'_>]) -> Self {
        let (mut names, mut loose) = (BTreeSet::new(), BTreeSet::new());
        for node in nodes.iter().filter(|node| !is_inside(**node)) {
            match node.kind() {
                "assignment" => {
                    let Some(left) = node.child_by_field_name("left") else {
                        continue;
                    };
                    let filled = (node.child_by_field_name("right"))
                        .is_some_and(|value| is_container(module, value));
                    for name in all(left).into_iter().filter(|n| n.kind() == "identifier") {
                        names.insert(module.source(name));
                        if filled {
                            loose.insert(module.source(name));
                        }
                    }
                }
                "function_definition" | "class_definition" => {
                    names.insert(module.field(*node, "name"));
                }
                "import_statement" | "import_from_statement" => {
                    let parts = all(*node).into_iter().filter(|n| n.kind() == "identifier");
                    names.extend(parts.map(|n| module.source(n)));
                }
                _ => {}
            }
        }
        Self {
            module,
            names,
            loose,
        }
    }

    /// Whether this, in a function, changes something that is there for the next test.
    fn changes(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "global_statement" => true,
            "call" => lasts(self.module, node) || self.fills(node) || self.sets(node),
            "assignment" | "augmented_assignment" => node
                .child_by_field_name("left")
                .is_some_and(|left| self.is_target(left)),
            "delete_statement" => children(node).into_iter().any(|n| self.is_target(n)),
            "identifier" => {
                self.loose.contains(self.module.source(node)) && !looks(self.module, node)
            }
            _ => false,
        }
    }

    fn fills(&self, call: Node<'_>) -> bool {
        let Some(called) = call.child_by_field_name("function") else {
            return false;
        };
        called.kind() == "attribute"
            && FILLING.contains(&self.module.field(called, "attribute"))
            && (called.child_by_field_name("object")).is_some_and(|object| self.is_held(object))
    }

    fn sets(&self, call: Node<'_>) -> bool {
        let first = call.child_by_field_name("arguments");
        let first = first.and_then(|all| children(all).into_iter().find(Node::is_named));
        matches!(self.module.field(call, "function"), "setattr" | "delattr")
            && first.is_some_and(|first| self.is_held(first))
    }

    /// A part of something that the file holds.
    fn is_target(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "attribute" | "subscript" => self.is_held(node),
            "pattern_list" | "tuple_pattern" | "list_pattern" | "expression_list" => {
                children(node).into_iter().any(|n| self.is_target(n))
            }
            _ => false,
        }
    }

    fn is_held(&self, node: Node<'_>) -> bool {
        let mut root = node;
        while let Some(inner) = root
            .child_by_field_name("object")
            .or_else(|| root.child_by_field_name("value"))
        {
            root = inner;
        }
        root.kind() == "identifier" && self.names.contains(self.module.source(root))
    }
}
