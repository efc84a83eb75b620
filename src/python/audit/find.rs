//! Finding assertions in tests.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;
use tree_sitter::Node;

use super::class::{Class, Verdict, bounds, numerical_call, of_expression};
use super::helpers::{Helper, Helpers};
use super::scope::Scope;
use crate::python::files::{Files, is_python};
use crate::python::hollow::Unparsed;
use crate::python::symbols::{Function, Module, children};

/// How an assertion is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// `assert …`
    Assert,
    /// A method of unittest.
    Unittest,
    /// A function of numpy's, torch's or pytest's.
    Library,
    /// A function of the suite that asserts.
    Helper,
}

/// One place at which a test checks something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Assertion {
    pub path: String,
    pub line: usize,
    /// The test function, qualified.
    pub test: String,
    pub form: Form,
    pub class: Class,
    /// A helper may look at more than one.
    pub also: Vec<Class>,
    /// It sets a bound (`<`, `<=` …).
    pub bounds: bool,
    pub why: String,
    /// Its first line, shortened.
    pub text: String,
}

/// The assertions of test files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assertions {
    pub assertions: Vec<Assertion>,
    pub helpers: Vec<Helper>,
    /// Test functions: path and qualified name.
    pub tests: Vec<(String, String)>,
    pub unparsed: Vec<Unparsed>,
}

/// A parsed file of a suite.
pub(super) struct Parsed<'a> {
    pub path: &'a str,
    pub module: Module<'a>,
    /// Names that it imports, as it calls them.
    pub imports: HashSet<String>,
}

impl Parsed<'_> {
    /// As pytest and unittest name tests, in a file of tests.
    pub fn is_test(&self, function: &Function) -> bool {
        let file = self.path.rsplit('/').next().unwrap_or(self.path);
        let holds_tests = file.starts_with("test_") || file.ends_with("_test.py");
        let name = function.name.rsplit('.').next().unwrap_or_default();
        holds_tests && !function.nested && name.starts_with("test")
    }
}

/// Finds and classes the assertions of a suite's files. Files that hold no tests are looked at for
/// helpers.
pub fn assertions(files: &Files) -> Assertions {
    let mut found = Assertions::default();
    let mut parsed = Vec::new();
    for (path, bytes) in files.iter().filter(|(path, _)| is_python(path)) {
        let module = match std::str::from_utf8(bytes).map(Module::parse) {
            Ok(Ok(module)) => module,
            Ok(Err(e)) => {
                let (path, why) = (path.clone(), e.to_string());
                found.unparsed.push(Unparsed { path, why });
                continue;
            }
            Err(_) => {
                let (path, why) = (path.clone(), "not UTF-8".to_owned());
                found.unparsed.push(Unparsed { path, why });
                continue;
            }
        };
        let imports = imports(&module);
        parsed.push(Parsed {
            path,
            module,
            imports,
        });
    }
    let helpers = Helpers::of(&parsed);
    for (index, file) in parsed.iter().enumerate() {
        for function in file.module.functions() {
            let Some(node) = file.module.node_of(&function) else {
                continue;
            };
            if !file.is_test(&function) {
                continue;
            }
            let mut own = direct(file, index, &function, node, &helpers);
            own.extend(through_helpers(
                file, index, &function, node, &helpers, false,
            ));
            if own.is_empty() {
                own = through_helpers(file, index, &function, node, &helpers, true);
            }
            own.sort_by_key(|a| a.line);
            found.assertions.extend(own);
            found.tests.push((file.path.to_owned(), function.name));
        }
    }
    found.helpers = helpers.into_list();
    found
}

fn imports(module: &Module<'_>) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut stack = vec![module.root()];
    while let Some(node) = stack.pop() {
        if matches!(node.kind(), "import_from_statement" | "import_statement") {
            for child in children(node) {
                let name = match child.kind() {
                    "aliased_import" => module.field(child, "alias"),
                    "dotted_name" => module.source(child),
                    "wildcard_import" => "*",
                    _ => continue,
                };
                found.insert(name.rsplit('.').next().unwrap_or(name).to_owned());
            }
        }
        stack.extend(children(node));
    }
    found
}

/// The name that a call calls.
pub(super) fn called<'m>(module: &'m Module<'_>, node: Node<'_>) -> Option<&'m str> {
    (node.kind() == "call").then(|| module.field(node, "function"))
}

/// Assertions that stand in a function itself.
pub(super) fn direct(
    file: &Parsed<'_>,
    index: usize,
    function: &Function,
    node: Node<'_>,
    helpers: &Helpers<'_>,
) -> Vec<Assertion> {
    let looking = Looking {
        file,
        index,
        scope: Scope::of(&file.module, node),
        helpers,
    };
    let mut found = Vec::new();
    let mut stack = vec![node];
    while let Some(node) = stack.pop() {
        if let Some((form, (class, why))) = looking.assertion(node) {
            found.push(made(file, function, node, form, class, why));
        }
        stack.extend(children(node));
    }
    found.sort_by_key(|a| a.line);
    found
}

/// Calls of helpers. One that gives a value back guards that: such a call is an assertion where
/// the value is dropped, or with `all`.
fn through_helpers(
    file: &Parsed<'_>,
    index: usize,
    function: &Function,
    node: Node<'_>,
    helpers: &Helpers<'_>,
    all: bool,
) -> Vec<Assertion> {
    let mut found = Vec::new();
    let mut stack = vec![node];
    while let Some(node) = stack.pop() {
        if let Some(callee) = called(&file.module, node)
            && let Some(helper) = helpers.meant(index, callee)
            && (all || !helper.gives_a_value || is_statement(node))
        {
            let place = format!("{}:{}", helper.path, helper.line);
            let why = format!("{} ({place}), {}", helper.function, helper.why);
            let mut one = made(file, function, node, Form::Helper, helper.class, why);
            let others = helper.classes.iter().copied();
            one.also = others.filter(|c| *c != helper.class).collect();
            found.push(one);
        }
        stack.extend(children(node));
    }
    found
}

fn is_statement(node: Node<'_>) -> bool {
    node.parent()
        .is_some_and(|p| p.kind() == "expression_statement")
}

fn made(
    file: &Parsed<'_>,
    function: &Function,
    node: Node<'_>,
    form: Form,
    class: Class,
    why: String,
) -> Assertion {
    const LONGEST: usize = 80;
    let first = file.module.source(node).lines().next().unwrap_or_default();
    Assertion {
        path: file.path.to_owned(),
        line: node.start_position().row + 1,
        test: function.name.clone(),
        form,
        class,
        also: Vec::new(),
        bounds: form == Form::Assert && bounds(node),
        why,
        text: first.chars().take(LONGEST).collect(),
    }
}

struct Looking<'a, 't> {
    file: &'a Parsed<'a>,
    index: usize,
    scope: Scope<'t>,
    helpers: &'a Helpers<'a>,
}

impl Looking<'_, '_> {
    fn assertion(&self, node: Node<'_>) -> Option<(Form, Verdict)> {
        let module = &self.file.module;
        if node.kind() == "assert_statement" {
            let condition = node.named_child(0)?;
            return Some((Form::Assert, self.verdict(condition)));
        }
        let callee = called(module, node)?;
        let (object, last) = callee.rsplit_once('.').unwrap_or(("", callee));
        let arguments = node.child_by_field_name("arguments")?;
        if ["self", "cls", "testcase"].contains(&object)
            && (last.starts_with("assert") || last == "fail")
        {
            return Some((Form::Unittest, self.unittest(last, arguments)));
        }
        if numerical_call(callee) && last.starts_with("assert") {
            let why = format!("calls {callee}");
            return Some((Form::Library, (Class::Numerical, why)));
        }
        if object == "pytest" || self.file.imports.contains(callee) {
            let class = match last {
                "raises" | "warns" | "deprecated_call" => Class::ErrorPath,
                "fail" if object == "pytest" && inside(node, "try_statement") => Class::ErrorPath,
                "fail" if object == "pytest" => Class::Functional,
                _ => return None,
            };
            return Some((Form::Library, (class, format!("calls {callee}"))));
        }
        // of a mock
        if last.starts_with("assert_called")
            || last == "assert_not_called"
            || last.starts_with("assert_any_call")
        {
            let why = format!("asks a mock ({last})");
            return Some((Form::Library, (Class::Functional, why)));
        }
        None
    }

    fn unittest(&self, method: &str, arguments: Node<'_>) -> Verdict {
        let why = format!("calls {method}");
        match method {
            "assertRaises" | "assertRaisesRegex" | "assertWarns" | "assertWarnsRegex" => {
                (Class::ErrorPath, why)
            }
            "assertAlmostEqual" | "assertNotAlmostEqual" => (Class::Numerical, why),
            "assertIsNone"
            | "assertIsNotNone"
            | "assertIs"
            | "assertIsNot"
            | "assertIsInstance"
            | "assertNotIsInstance"
            | "assertHasAttr" => match self.verdict(arguments) {
                (Class::Functional, _) => (Class::Structural, why),
                verdict => verdict,
            },
            _ => self.verdict(arguments),
        }
    }

    /// An expression by what stands in it, else by what its names stand for.
    fn verdict(&self, node: Node<'_>) -> Verdict {
        let module = &self.file.module;
        if let Some(error) = self.error_in(node) {
            return (Class::ErrorPath, format!("looks at the error `{error}`"));
        }
        let own = of_expression(module, node);
        if let Some((class, _)) = &own
            && *class != Class::Structural
        {
            return own.unwrap_or((Class::Functional, String::new()));
        }
        let mut best = own;
        for (name, verdict) in self.behind(node) {
            let Some((class, why)) = verdict else {
                continue;
            };
            if best.as_ref().is_none_or(|(b, _)| class < *b) {
                best = Some((class, format!("`{name}`: {why}")));
            }
        }
        best.unwrap_or((Class::Functional, "compares results or state".into()))
    }

    fn error_in(&self, node: Node<'_>) -> Option<&str> {
        let module = &self.file.module;
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if node.kind() == "identifier" {
                let name = module.source(node);
                if let Some(known) = self.scope.errors.iter().find(|e| *e == name) {
                    return Some(known);
                }
            }
            stack.extend(children(node));
        }
        None
    }

    /// What the names and the functions of the suite in an expression stand for, one step deep.
    fn behind(&self, node: Node<'_>) -> Vec<(String, Option<Verdict>)> {
        let module = &self.file.module;
        let mut found = Vec::new();
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if node.kind() == "identifier" {
                let name = module.source(node);
                if let Some(value) = self.scope.value(name, node.start_byte()) {
                    let mut verdict = of_expression(module, value);
                    if verdict.is_none()
                        && let Some(callee) = called(module, value)
                    {
                        verdict = self.given_by(callee);
                    }
                    // what shape a value has does not say what is asked of it
                    let verdict = verdict.filter(|(class, _)| *class != Class::Structural);
                    found.push((name.to_owned(), verdict));
                }
            }
            if let Some(callee) = called(module, node) {
                found.push((callee.to_owned(), self.given_by(callee)));
            }
            stack.extend(children(node));
        }
        found
    }

    /// What a function of the suite gives back.
    fn given_by(&self, callee: &str) -> Option<Verdict> {
        let (file, function) = self.helpers.function(self.index, callee)?;
        let mut stack = vec![file.module.node_of(function)?];
        let mut best: Option<Verdict> = None;
        while let Some(node) = stack.pop() {
            if node.kind() == "return_statement"
                && let Some(verdict) = of_expression(&file.module, node)
                && best.as_ref().is_none_or(|(b, _)| verdict.0 < *b)
            {
                best = Some(verdict);
            }
            stack.extend(children(node));
        }
        best
    }
}

fn inside(node: Node<'_>, kind: &str) -> bool {
    let mut node = node;
    while let Some(parent) = node.parent() {
        if parent.kind() == kind {
            return true;
        }
        node = parent;
    }
    false
}
