//! The class of an assertion.

use schemars::JsonSchema;
use serde::Serialize;
use tree_sitter::Node;

use crate::python::symbols::{Module, children};

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

const RESOURCE: &[&str] = &[
    "bytes",
    "nbytes",
    "memory",
    "peak",
    "entries",
    "payload",
    "payloads",
    "collectives",
    "allocated",
    "allocations",
    "footprint",
    "rss",
    "elapsed",
    "duration",
    "latency",
    "throughput",
    "bandwidth",
    "flops",
    "traffic",
    "spent",
];

const NUMERICAL_CALLS: &[&str] = &[
    "allclose",
    "isclose",
    "approx",
    "assert_close",
    "assert_allclose",
    "assert_array_equal",
    "assert_array_almost_equal",
    "assert_array_less",
    "assert_almost_equal",
    "assert_array_max_ulp",
    "assertAlmostEqual",
    "assertNotAlmostEqual",
    "array_equal",
    "array_equiv",
    "assert_equal_tensors",
];

const TOLERANCE: &[&str] = &[
    "atol",
    "rtol",
    "tol",
    "tolerance",
    "eps",
    "epsilon",
    "ulp",
    "ulps",
];

const STRUCTURE: &[&str] = &[
    "shape",
    "shapes",
    "dtype",
    "dtypes",
    "ndim",
    "numel",
    "stride",
    "strides",
    "device",
    "isinstance",
    "issubclass",
    "hasattr",
    "callable",
    "len",
    "keys",
    "contiguous",
    "type",
    "layout",
    "signature",
    "contiguous",
    "names",
    "mro",
    "annotations",
];

/// Whether a called name compares numbers, whatever its arguments.
pub(super) fn numerical_call(callee: &str) -> bool {
    let last = callee.rsplit('.').next().unwrap_or(callee);
    NUMERICAL_CALLS.contains(&last)
        || callee == "torch.equal"
        || callee.contains("testing.assert")
        || callee == "assert_equal"
}

/// The class of an expression that must hold; none: nothing in it says more than that something
/// is compared.
pub(super) fn of_expression(module: &Module<'_>, node: Node<'_>) -> Option<Verdict> {
    let mut seen = Seen::default();
    seen.look(module, node);
    seen.verdict()
}

/// What stands in an expression.
#[derive(Default)]
struct Seen {
    resource: Option<String>,
    numerical: Option<String>,
    structural: Option<String>,
}

impl Seen {
    fn verdict(self) -> Option<Verdict> {
        let of = |class, why: Option<String>| Some((class, why?));
        of(Class::Resource, self.resource)
            .or(of(Class::Numerical, self.numerical))
            .or(of(Class::Structural, self.structural))
    }

    fn look(&mut self, module: &Module<'_>, node: Node<'_>) {
        match node.kind() {
            "identifier" => self.name(module.source(node), is_callee(node)),
            // what an argument is called says nothing about what is looked at
            "keyword_argument" => {
                let name = module.field(node, "name");
                if TOLERANCE.contains(&name) || name == "abs" || name == "rel" {
                    numerical(self, name);
                }
                if let Some(value) = node.child_by_field_name("value")
                    && value.kind() != "identifier"
                {
                    self.look(module, value);
                }
                return;
            }
            "float" => {
                let text = module.source(node);
                self.numerical
                    .get_or_insert_with(|| format!("compares with {text}"));
            }
            "call" => {
                let callee = module.field(node, "function");
                if numerical_call(callee) {
                    self.numerical
                        .get_or_insert_with(|| format!("calls {}", short(callee)));
                }
                // (a == b).all()
                let all = callee.ends_with(").all") || callee.ends_with(").any");
                if all && callee.contains("==") {
                    self.numerical
                        .get_or_insert_with(|| "compares every element".into());
                }
            }
            "comparison_operator" => self.comparison(module, node),
            "string" | "lambda" => return,
            _ => {}
        }
        for child in children(node) {
            self.look(module, child);
        }
    }

    fn name(&mut self, name: &str, called: bool) {
        // the constructor, not an amount
        if called && name == "bytes" {
            return;
        }
        let words = words(name);
        let hit = |list: &[&str]| words.iter().any(|w| list.contains(&w.as_str()));
        if hit(RESOURCE) {
            self.resource
                .get_or_insert_with(|| format!("looks at `{name}`"));
        }
        if hit(TOLERANCE) {
            numerical(self, name);
        }
        if hit(STRUCTURE) {
            self.structural
                .get_or_insert_with(|| format!("looks at `{name}`"));
        }
    }

    fn comparison(&mut self, module: &Module<'_>, node: Node<'_>) {
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

fn numerical(seen: &mut Seen, name: &str) {
    seen.numerical
        .get_or_insert_with(|| format!("has a tolerance (`{name}`)"));
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
