//! What is there after a test, whatever file it stands in.

use tree_sitter::Node;

use crate::python::symbols::Module;

/// Calls that change what later tests see, whatever they are called on.
const LASTING: &[&str] = &[
    "seed",
    "manual_seed",
    "manual_seed_all",
    "seterr",
    "seterrcall",
    "set_printoptions",
    "set_state",
    "set_rng_state",
    "set_default_dtype",
    "set_default_device",
    "set_default_tensor_type",
    "set_num_threads",
    "set_num_interop_threads",
    "set_grad_enabled",
    "set_float32_matmul_precision",
    "use_deterministic_algorithms",
    "setrecursionlimit",
    "setswitchinterval",
    "settrace",
    "setprofile",
    "simplefilter",
    "filterwarnings",
    "resetwarnings",
    "chdir",
    "umask",
    "putenv",
    "unsetenv",
    "register",
    "set_start_method",
    "setlocale",
];
/// Whether what a call changes is there for later tests.
pub(super) fn lasts(module: &Module<'_>, call: Node<'_>) -> bool {
    let Some(called) = call.child_by_field_name("function") else {
        return true;
    };
    if called.kind() != "attribute" {
        return LASTING.contains(&module.source(called));
    }
    LASTING.contains(&module.field(called, "attribute"))
        && module.field(called, "object") != "monkeypatch"
}

/// A fixture that lives longer than a test.
pub(super) fn widens(module: &Module<'_>, node: Node<'_>) -> bool {
    node.kind() == "keyword_argument"
        && module.field(node, "name").ends_with("scope")
        && !is_function_scoped(module.source(node))
}

pub(super) fn is_function_scoped(text: &str) -> bool {
    text.contains("scope=\"function\"") || text.contains("scope='function'")
}

/// A hook of pytest, or a function that runs around a whole module.
pub(super) fn is_hook(module: &Module<'_>, node: Node<'_>) -> bool {
    if node.kind() != "function_definition" {
        return false;
    }
    let name = module.field(node, "name");
    (name.starts_with("pytest_") && name != "pytest_configure" && name != "pytest_addoption")
        || name.starts_with("setup_")
        || name.starts_with("teardown_")
        || matches!(name, "setUpModule" | "tearDownModule" | "load_tests")
}
