//! The class of an assertion.

use schemars::JsonSchema;
use serde::Serialize;
use tree_sitter::Node;

use super::lists::{
    ARRAYS, MEASURING, NUMERICAL_CALLS, RESOURCE, SETTING, STRUCTURE, TOLERANCE, TRANSPARENT,
};
use super::names::Reading;
use crate::python::symbols::children;

/// The first is the rarest and says most: where several fit, it wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// An error or a warning that is due.
    ErrorPath,
    /// A promised resource: bytes, entries, collectives, peak memory, time.
    Resource,
    /// Values of arrays or floating-point numbers.
    Numerical,
    /// Shapes, dtypes, types, presence, identity.
    Structural,
    /// Any other result or state.
    Functional,
}

impl Class {
    pub const ALL: [Self; 5] = [
        Self::Functional,
        Self::Structural,
        Self::Numerical,
        Self::ErrorPath,
        Self::Resource,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Functional => "functional",
            Self::Structural => "structural",
            Self::Numerical => "numerical",
            Self::ErrorPath => "error-path",
            Self::Resource => "resource",
        }
    }
}

/// A class and the reason in a few words.
pub(super) type Verdict = (Class, String);

/// Whether a called name compares numbers, whatever its arguments.
pub(super) fn numerical_call(callee: &str) -> bool {
    let last = callee.rsplit('.').next().unwrap_or(callee);
    let of_testing =
        callee.contains("testing.assert") && !error_call(callee) && last != "assert_string_equal";
    NUMERICAL_CALLS.contains(&last)
        || callee == "torch.equal"
        || of_testing
        || callee == "assert_equal"
}

/// Whether a called name of a library asks for an error or a warning.
pub(super) fn error_call(callee: &str) -> bool {
    let last = callee.rsplit('.').next().unwrap_or(callee);
    ["assert_raises", "assert_raises_regex", "assert_warns"].contains(&last)
}

/// The class of an expression that must hold; none: nothing in it says more than that something
/// is compared.
pub(super) fn of_expression(read: &Reading<'_>, node: Node<'_>) -> Option<Verdict> {
    looked(read, node, false)
}

/// As [`of_expression`], of something that is held against a bound or a number elsewhere.
pub(super) fn of_value(read: &Reading<'_>, node: Node<'_>) -> Option<Verdict> {
    looked(read, node, true)
}

fn looked(read: &Reading<'_>, root: Node<'_>, weighed: bool) -> Option<Verdict> {
    let mut seen = Seen {
        read,
        root,
        resource: None,
        numerical: None,
        structural: None,
    };
    seen.look(root, weighed);
    seen.verdict()
}

/// Whether something is held against a bound or a number: a name alone measures nothing.
pub(super) fn weighs(read: &Reading<'_>, comparison: Node<'_>) -> bool {
    let parts = children(comparison);
    let has = |list: &[&str]| parts.iter().any(|p| list.contains(&p.kind()));
    if has(&["<", "<=", ">", ">="]) {
        return true;
    }
    let operands: Vec<&Node<'_>> = parts.iter().filter(|p| p.is_named()).collect();
    has(&["==", "!="]) && amounts(read, &operands)
}

/// Whether one of the operands is a number or computed from some, or two are amounts.
pub(super) fn amounts(read: &Reading<'_>, operands: &[&Node<'_>]) -> bool {
    let number = |n: &Node<'_>| {
        let mut stack = vec![*n];
        while let Some(node) = stack.pop() {
            match node.kind() {
                "integer" | "float" => return true,
                "binary_operator" | "unary_operator" | "parenthesized_expression" => {
                    stack.extend(children(node));
                }
                _ => {}
            }
        }
        n.kind() == "binary_operator"
    };
    operands.iter().any(|n| number(n))
        || operands.iter().filter(|n| is_amount(read, ***n)).count() > 1
}

/// Whether an operand is an amount of a resource by its name.
fn is_amount(read: &Reading<'_>, operand: Node<'_>) -> bool {
    let mut stack = vec![operand];
    while let Some(node) = stack.pop() {
        match node.kind() {
            "comparison_operator" | "lambda" | "string" => continue,
            "identifier" => {
                let words = words(read.module.source(node));
                let hit = words.iter().any(|w| RESOURCE.contains(&w.as_str()));
                if hit && is_value(read, operand, node) {
                    return true;
                }
            }
            _ => {}
        }
        stack.extend(children(node));
    }
    false
}

/// What stands in an expression.
struct Seen<'r, 't> {
    read: &'r Reading<'r>,
    root: Node<'t>,
    resource: Option<String>,
    numerical: Option<String>,
    structural: Option<String>,
}

impl<'t> Seen<'_, 't> {
    fn verdict(self) -> Option<Verdict> {
        let of = |class, why: Option<String>| Some((class, why?));
        of(Class::Resource, self.resource)
            .or(of(Class::Numerical, self.numerical))
            .or(of(Class::Structural, self.structural))
    }

    /// `weighed`: it is held against a bound or a number.
    fn look(&mut self, node: Node<'t>, weighed: bool) {
        let module = self.read.module;
        let mut weighed = weighed;
        match node.kind() {
            "identifier" => self.name(node, weighed),
            // what an argument is called says nothing about what is looked at
            "keyword_argument" => {
                let name = module.field(node, "name");
                if TOLERANCE.contains(&name) || name == "abs" || name == "rel" {
                    numerical(self, name);
                }
                if let Some(value) = node.child_by_field_name("value")
                    && value.kind() != "identifier"
                {
                    self.look(value, weighed);
                }
                return;
            }
            "float" => {
                let text = module.source(node);
                self.numerical
                    .get_or_insert_with(|| format!("compares with {text}"));
            }
            "call" => self.call(node, weighed),
            "comparison_operator" => {
                weighed = weighs(self.read, node);
                self.comparison(node);
                if self.is_setting(node) {
                    return;
                }
            }
            "string" | "lambda" => return,
            _ => {}
        }
        for child in children(node) {
            self.look(child, weighed);
        }
    }

    fn call(&mut self, node: Node<'t>, weighed: bool) {
        let callee = self.read.callee(node);
        let (object, last) = callee.rsplit_once('.').unwrap_or(("", &callee));
        if numerical_call(&callee) || last == "equal" && !object.is_empty() {
            self.numerical
                .get_or_insert_with(|| format!("calls {}", short(&callee)));
        }
        if weighed
            && (MEASURING.contains(&last) || callee == "time.time")
            && is_value(self.read, self.root, node)
        {
            self.resource
                .get_or_insert_with(|| format!("calls {}", short(&callee)));
        }
        // (a == b).all(), np.all(a == b)
        let all = last == "all" || last == "any";
        let arguments = self.read.module.field(node, "arguments");
        if all
            && (object.ends_with(')') && object.contains("==")
                || ARRAYS.contains(&object) && arguments.contains("=="))
        {
            self.numerical
                .get_or_insert_with(|| "compares every element".into());
        }
    }

    fn name(&mut self, node: Node<'t>, weighed: bool) {
        let name = self.read.module.source(node);
        // the constructor, not an amount
        if is_callee(node) && name == "bytes" {
            return;
        }
        let words = words(name);
        let hit = |list: &[&str]| words.iter().any(|w| list.contains(&w.as_str()));
        if hit(RESOURCE) && weighed && is_value(self.read, self.root, node) {
            self.resource
                .get_or_insert_with(|| format!("looks at `{name}`"));
        }
        if hit(TOLERANCE) {
            numerical(self, name);
        }
        let member = is_callee(node) || is_attribute(node);
        if STRUCTURE.contains(&name) && member
            || hit(STRUCTURE) && is_value(self.read, self.root, node)
        {
            self.structural
                .get_or_insert_with(|| format!("looks at `{name}`"));
        }
    }

    /// `config.timeout == 0.5`: a number that was set, and is asked for exactly.
    fn is_setting(&self, comparison: Node<'t>) -> bool {
        let module = self.read.module;
        let parts = children(comparison);
        let [left, operator, right] = parts.as_slice() else {
            return false;
        };
        let plain = |n: &Node<'_>| {
            let text = module.source(*n);
            matches!(n.kind(), "identifier" | "attribute")
                && !text.contains('(')
                && words(&text.replace('.', "_"))
                    .iter()
                    .any(|w| SETTING.contains(&w.as_str()))
        };
        let number = |n: &Node<'_>| n.kind() == "float";
        ["==", "!="].contains(&operator.kind())
            && (plain(left) && number(right) || number(left) && plain(right))
    }

    fn comparison(&mut self, node: Node<'t>) {
        let module = self.read.module;
        let parts = children(node);
        let text = module.source(node);
        let operator = |name: &str| parts.iter().any(|p| p.kind() == name);
        let truth = parts.iter().any(|p| ["true", "false"].contains(&p.kind()));
        if (operator("is") || operator("is not")) && !truth {
            self.structural
                .get_or_insert_with(|| "asks for identity".into());
        }
        let bounded = operator("<") || operator("<=") || operator(">") || operator(">=");
        if bounded
            && ["abs(", ".norm(", "norm(", "fabs("]
                .iter()
                .any(|a| text.contains(a))
        {
            self.numerical
                .get_or_insert_with(|| "bounds a difference".into());
        }
    }
}

fn numerical(seen: &mut Seen<'_, '_>, name: &str) {
    seen.numerical
        .get_or_insert_with(|| format!("has a tolerance (`{name}`)"));
}

/// Whether a name is what the expression gives, or an element or an amount of that: not where
/// it only leads to something else (`device_map.lookup(3)`), or is an argument.
fn is_value(read: &Reading<'_>, root: Node<'_>, node: Node<'_>) -> bool {
    let module = read.module;
    let mut at = node;
    while at != root
        && let Some(parent) = at.parent()
    {
        let field = |name: &str| parent.child_by_field_name(name) == Some(at);
        match parent.kind() {
            "attribute"
                if field("object") && !TRANSPARENT.contains(&module.field(parent, "attribute")) =>
            {
                return false;
            }
            "subscript" if !field("value") => return false,
            "argument_list" if parent != root => {
                let Some(call) = parent.parent() else {
                    return false;
                };
                let callee = module.field(call, "function");
                let last = callee.rsplit('.').next().unwrap_or(callee);
                // a suite's own helper that makes a number of what it is given
                let is_helper = !callee.contains('.') && children(parent).len() == 3;
                if !is_helper && !TRANSPARENT.contains(&last) {
                    return false;
                }
            }
            "comparison_operator" => return true,
            _ => {}
        }
        at = parent;
    }
    true
}

/// Whether an expression bounds something: `<`, `<=`, `>`, `>=`.
pub(super) fn bounds(node: Node<'_>) -> bool {
    if ["lambda", "call"].contains(&node.kind()) {
        return false;
    }
    let own = node.kind() == "comparison_operator";
    children(node)
        .into_iter()
        .any(|c| own && ["<", "<=", ">", ">="].contains(&c.kind()) || bounds(c))
}

fn is_callee(node: Node<'_>) -> bool {
    node.parent()
        .is_some_and(|p| p.kind() == "call" && p.child_by_field_name("function") == Some(node))
}

fn is_attribute(node: Node<'_>) -> bool {
    node.parent().is_some_and(|p| {
        p.kind() == "attribute" && p.child_by_field_name("attribute") == Some(node)
    })
}

fn short(callee: &str) -> &str {
    callee.rsplit_once(").").map_or(callee, |(_, last)| last)
}

/// `max_memory_allocated` and `maxMemory` as words in lower case.
fn words(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut before = '_';
    for c in name.chars() {
        let upper = c.is_uppercase() && before.is_lowercase();
        if c == '_' || upper {
            out.push(String::new());
        }
        if c != '_'
            && let Some(last) = out.last_mut()
        {
            last.extend(c.to_lowercase());
        }
        before = c;
    }
    out.retain(|w| !w.is_empty());
    out
}
