//! Methods that Python calls without their name being written.

use tree_sitter::Node;

use crate::python::symbols::{Module, children};

pub(super) const ITERATES: &[&str] = &["__iter__", "__next__", "__getitem__"];

/// Functions of Python's own that call what they are given.
pub(super) const TAKES_FUNCTIONS: &[&str] = &[
    "sorted",
    "map",
    "filter",
    "min",
    "max",
    "reduce",
    "functools.reduce",
];

/// Functions of Python's own, and what they ask an object for.
pub(super) const BUILTINS: &[(&str, &[&str])] = &[
    ("len", &["__len__"]),
    ("str", &["__str__", "__repr__"]),
    ("print", &["__str__", "__repr__"]),
    ("repr", &["__repr__"]),
    ("hash", &["__hash__"]),
    ("bool", &["__bool__", "__len__"]),
    ("int", &["__int__", "__index__"]),
    ("float", &["__float__"]),
    ("abs", &["__abs__"]),
    ("next", &["__next__"]),
    ("reversed", &["__reversed__"]),
    ("iter", ITERATES),
    ("list", ITERATES),
    ("tuple", ITERATES),
    ("set", ITERATES),
    ("dict", ITERATES),
    ("sum", ITERATES),
    ("any", ITERATES),
    ("all", ITERATES),
    ("sorted", ITERATES),
    ("map", ITERATES),
    ("filter", ITERATES),
    ("enumerate", ITERATES),
];

/// By the operator: what the left side is asked for, the right side, and the left in place.
type Asked = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

const BINARY: &[Asked] = &[
    ("+", &["__add__"], &["__radd__"], &["__iadd__", "__add__"]),
    ("-", &["__sub__"], &["__rsub__"], &["__isub__", "__sub__"]),
    ("*", &["__mul__"], &["__rmul__"], &["__imul__", "__mul__"]),
    (
        "/",
        &["__truediv__"],
        &["__rtruediv__"],
        &["__itruediv__", "__truediv__"],
    ),
    (
        "//",
        &["__floordiv__"],
        &["__rfloordiv__"],
        &["__ifloordiv__", "__floordiv__"],
    ),
    ("%", &["__mod__"], &["__rmod__"], &["__imod__", "__mod__"]),
    ("**", &["__pow__"], &["__rpow__"], &["__ipow__", "__pow__"]),
    (
        "@",
        &["__matmul__"],
        &["__rmatmul__"],
        &["__imatmul__", "__matmul__"],
    ),
    ("|", &["__or__"], &["__ror__"], &["__ior__", "__or__"]),
    ("&", &["__and__"], &["__rand__"], &["__iand__", "__and__"]),
    ("^", &["__xor__"], &["__rxor__"], &["__ixor__", "__xor__"]),
    (
        "<<",
        &["__lshift__"],
        &["__rlshift__"],
        &["__ilshift__", "__lshift__"],
    ),
    (
        ">>",
        &["__rshift__"],
        &["__rrshift__"],
        &["__irshift__", "__rshift__"],
    ),
];

const COMPARES: &[(&str, &[&str])] = &[
    ("==", &["__eq__"]),
    ("!=", &["__ne__", "__eq__"]),
    ("<", &["__lt__", "__gt__"]),
    (">", &["__gt__", "__lt__"]),
    ("<=", &["__le__", "__ge__"]),
    (">=", &["__ge__", "__le__"]),
];

const CONTAINS: &[&str] = &["__contains__", "__iter__", "__getitem__"];
const TRUTH: &[&str] = &["__bool__", "__len__"];

/// The operands of an expression or statement, and what each is asked for.
pub(super) fn of<'n>(
    kind: &str,
    node: Node<'n>,
    module: &Module<'_>,
) -> Vec<(Node<'n>, &'static [&'static str])> {
    let mut found = Vec::new();
    let mut add = |operand: Option<Node<'n>>, names: &'static [&'static str]| {
        found.extend(operand.map(|operand| (operand, names)));
    };
    let field = |name: &str| node.child_by_field_name(name);
    match kind {
        "binary_operator" => {
            let operator = module.field(node, "operator");
            if let Some((_, left, right, _)) = BINARY.iter().find(|(o, ..)| *o == operator) {
                add(field("left"), left);
                add(field("right"), right);
            }
        }
        "augmented_assignment" => {
            let operator = module.field(node, "operator").trim_end_matches('=');
            if let Some((.., in_place)) = BINARY.iter().find(|(o, ..)| *o == operator) {
                add(field("left"), in_place);
            }
        }
        "unary_operator" => add(
            field("argument"),
            match module.field(node, "operator") {
                "-" => &["__neg__"],
                "+" => &["__pos__"],
                _ => &["__invert__"],
            },
        ),
        "not_operator" => add(field("argument"), TRUTH),
        "if_statement" | "while_statement" | "elif_clause" => add(field("condition"), TRUTH),
        "assert_statement" => add(node.named_child(0), TRUTH),
        "comparison_operator" => {
            let parts = children(node);
            for (at, part) in parts.iter().enumerate().filter(|(_, p)| !p.is_named()) {
                let before = at.checked_sub(1).and_then(|at| parts.get(at));
                let after = parts.get(at + 1);
                let operator = module.source(*part);
                if operator.ends_with("in") {
                    add(after.copied(), CONTAINS);
                } else if let Some((_, names)) = COMPARES.iter().find(|(o, _)| *o == operator) {
                    add(before.copied(), names);
                    add(after.copied(), names);
                }
            }
        }
        _ => {}
    }
    found
}
