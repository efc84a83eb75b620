//! Finding assertions in tests.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use tree_sitter::Node;

use super::class::{
    Class, Verdict, amounts, bounds, error_call, numerical_call, of_expression, of_value, weighs,
};
use super::helpers::{Helper, Helpers};
use super::names::{Imports, Reading, imports};
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
    /// What they stand for, where that is called otherwise.
    pub aliases: HashMap<String, String>,
}

impl Parsed<'_> {
    pub fn reading(&self) -> Reading<'_> {
        Reading {
            module: &self.module,
            aliases: &self.aliases,
        }
    }

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
        let Imports { names, aliases } = imports(&module);
        parsed.push(Parsed {
            path,
            module,
            imports: names,
            aliases,
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
        bounds: form == Form::Assert && bounds(raised_unless(node).unwrap_or(node)),
        why,
        text: first.chars().take(LONGEST).collect(),
    }
}

/// What a mock is asked, by how that begins.
const ASKED: [&str; 7] = [
    "assert_called",
    "assert_not_called",
    "assert_any_call",
    "assert_has_calls",
    "assert_awaited",
    "assert_has_awaits",
    "assert_any_await",
];

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
        if let Some(condition) = raised_unless(node) {
            let raised = node.named_child(0)?;
            let name = called(module, raised).unwrap_or_else(|| module.source(raised));
            return (name == "AssertionError").then(|| (Form::Assert, self.verdict(condition)));
        }
        let written = called(module, node)?;
        let callee = self.file.reading().full(written);
        let (object, last) = callee.rsplit_once('.').unwrap_or(("", &callee));
        let arguments = node.child_by_field_name("arguments")?;
        if ["self", "cls", "testcase"].contains(&object)
            && (last.starts_with("assert") || last == "fail")
        {
            return Some((Form::Unittest, self.unittest(last, arguments)));
        }
        let library = |class| Some((Form::Library, (class, format!("calls {written}"))));
        if error_call(&callee) {
            return library(Class::ErrorPath);
        }
        if numerical_call(&callee) && last.starts_with("assert") {
            return library(Class::Numerical);
        }
        if object == "pytest" || self.file.imports.contains(written) {
            let class = match last {
                "raises" | "warns" | "deprecated_call" => Class::ErrorPath,
                "fail" if object == "pytest" && inside(node, "try_statement") => Class::ErrorPath,
                "fail" if object == "pytest" => Class::Functional,
                _ => return None,
            };
            return library(class);
        }
        // of a mock
        if ASKED.iter().any(|a| last.starts_with(a)) {
            let why = format!("asks a mock ({last})");
            return Some((Form::Library, (Class::Functional, why)));
        }
        None
    }

    fn unittest(&self, method: &str, arguments: Node<'_>) -> Verdict {
        let why = format!("calls {method}");
        match method {
            "assertRaises" | "assertRaisesRegex" | "assertWarns" | "assertWarnsRegex"
            | "assertLogs" => (Class::ErrorPath, why),
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
            _ => {
                let bound = method.starts_with("assertLess") || method.starts_with("assertGreater");
                let all = children(arguments);
                let operands: Vec<&Node<'_>> = all.iter().filter(|n| n.is_named()).collect();
                let weighed = bound || amounts(&self.file.reading(), &operands);
                self.weighed(arguments, weighed)
            }
        }
    }

    /// An expression by what stands in it, else by what its names stand for.
    fn verdict(&self, node: Node<'_>) -> Verdict {
        self.weighed(node, false)
    }

    /// `weighed`: as a whole it is held against a bound or a number.
    fn weighed(&self, node: Node<'_>, weighed: bool) -> Verdict {
        if let Some(error) = self.error_in(node) {
            return (Class::ErrorPath, format!("looks at the error `{error}`"));
        }
        let read = self.file.reading();
        let own = if weighed {
            of_value(&read, node)
        } else {
            of_expression(&read, node)
        };
        if let Some((class, _)) = &own
            && *class != Class::Structural
        {
            return own.unwrap_or((Class::Functional, String::new()));
        }
        let mut best = own;
        for (name, verdict) in self.behind(node, weighed) {
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
    fn behind(&self, node: Node<'_>, weighed: bool) -> Vec<(String, Option<Verdict>)> {
        let module = &self.file.module;
        let read = self.file.reading();
        let mut found = Vec::new();
        let mut stack = vec![(node, weighed)];
        while let Some((node, weighed)) = stack.pop() {
            let weighed = match node.kind() {
                "comparison_operator" => weighs(&read, node),
                _ => weighed,
            };
            // an amount that is held against nothing is not measured
            let held = |v: &Verdict| weighed || v.0 != Class::Resource;
            if node.kind() == "identifier" {
                let name = module.source(node);
                if let Some(value) = self.scope.value(name, node.start_byte()) {
                    let mut verdict = of_value(&read, value);
                    if verdict.is_none()
                        && let Some(callee) = called(module, value)
                    {
                        verdict = self.given_by(callee);
                    }
                    // what shape a value has does not say what is asked of it
                    let verdict = verdict.filter(|v| v.0 != Class::Structural && held(v));
                    found.push((name.to_owned(), verdict));
                }
            }
            if let Some(callee) = called(module, node) {
                found.push((callee.to_owned(), self.given_by(callee).filter(held)));
            }
            stack.extend(children(node).into_iter().map(|c| (c, weighed)));
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
                && let Some(verdict) = of_value(&file.reading(), node)
                && best.as_ref().is_none_or(|(b, _)| verdict.0 < *b)
            {
                best = Some(verdict);
            }
            stack.extend(children(node));
        }
        best
    }
}

/// `if condition: raise …`: the condition.
fn raised_unless(node: Node<'_>) -> Option<Node<'_>> {
    let block = (node.kind() == "raise_statement").then(|| node.parent())??;
    let branch = block.parent()?;
    let branches = matches!(branch.kind(), "if_statement" | "elif_clause");
    branch
        .child_by_field_name("condition")
        .filter(|_| branches && branch.child_by_field_name("consequence") == Some(block))
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
