//! Functions of a suite that assert on behalf of tests.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;
use tree_sitter::Node;

use super::class::Class;
use super::find::{Parsed, called, direct};
use crate::python::symbols::{Function, children};

/// A function that asserts; a call of it in a test is an assertion of that test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Helper {
    pub path: String,
    pub line: usize,
    pub function: String,
    pub class: Class,
    /// Every class that it looks at.
    pub classes: Vec<Class>,
    /// Which assertion makes it one of its class.
    pub why: String,
    /// It gives a value back: its assertions guard that, and a call of it is none.
    pub gives_a_value: bool,
}

/// Functions by the last part of their name.
pub(super) struct Helpers<'a> {
    all: Vec<Helper>,
    by_last: HashMap<String, Vec<usize>>,
    /// Every function of the suite, asserting or not.
    functions: HashMap<String, Vec<(usize, Function)>>,
    files: &'a [Parsed<'a>],
}

impl<'a> Helpers<'a> {
    pub fn of(files: &'a [Parsed<'a>]) -> Self {
        let mut found = Self {
            all: Vec::new(),
            by_last: HashMap::new(),
            functions: HashMap::new(),
            files,
        };
        for (index, file) in files.iter().enumerate() {
            for function in file.module.functions().into_iter().filter(|f| !f.nested) {
                let last = last(&function.name).to_owned();
                let known = found.functions.entry(last).or_default();
                known.push((index, function));
            }
        }
        // helpers call helpers: until nothing is added
        loop {
            let before = found.all.iter().map(|h| h.classes.len()).sum::<usize>();
            found.round();
            if found.all.iter().map(|h| h.classes.len()).sum::<usize>() == before {
                return found;
            }
        }
    }

    pub fn into_list(self) -> Vec<Helper> {
        self.all
    }

    fn round(&mut self) {
        let mut made: Vec<Helper> = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            for function in file.module.functions().into_iter().filter(|f| !f.nested) {
                if file.is_test(&function) {
                    continue;
                }
                let Some(node) = file.module.node_of(&function) else {
                    continue;
                };
                let mut classes: BTreeMap<Class, String> = BTreeMap::new();
                for a in direct(file, index, &function, node, self) {
                    let why = format!("line {}: {}", a.line, a.why);
                    classes.entry(a.class).or_insert(why);
                }
                for (line, helper) in self.calls(index, node) {
                    for class in &helper.classes {
                        let why = format!("line {line}: calls {}", helper.function);
                        classes.entry(*class).or_insert(why);
                    }
                }
                let context = file
                    .module
                    .decorators(node)
                    .iter()
                    .any(|d| d.ends_with("contextmanager"));
                // a context that catches what its body raises
                if context && has(node, "except_clause") && !classes.is_empty() {
                    let why = "catches what its block raises".to_owned();
                    classes.insert(Class::ErrorPath, why);
                }
                // what it does with values is what it is for, what it says of amounts goes with it
                let main = classes
                    .get_key_value(&Class::ErrorPath)
                    .filter(|_| context)
                    .or_else(|| classes.get_key_value(&Class::Numerical))
                    .or_else(|| classes.first_key_value());
                if let Some((class, why)) = main {
                    made.push(Helper {
                        path: file.path.to_owned(),
                        line: function.line,
                        function: function.name.clone(),
                        class: *class,
                        why: why.clone(),
                        classes: classes.keys().copied().collect(),
                        gives_a_value: !context && gives(node),
                    });
                }
            }
        }
        self.by_last.clear();
        for (index, helper) in made.iter().enumerate() {
            let known = self.by_last.entry(last(&helper.function).to_owned());
            known.or_default().push(index);
        }
        self.all = made;
    }

    /// The helper that a call means, where it is one: `close(…)`, `support.close(…)`, or a method
    /// `rig.check(…)`.
    pub fn meant(&self, file: usize, callee: &str) -> Option<&Helper> {
        let (object, name) = split(callee);
        let known = self.by_last.get(name)?;
        known
            .iter()
            .map(|i| &self.all[*i])
            .find(|h| self.reaches(file, object, name, &h.path, &h.function))
    }

    /// The function of the suite that a call means.
    pub fn function(&self, file: usize, callee: &str) -> Option<(&'a Parsed<'a>, &Function)> {
        let (object, name) = split(callee);
        let known = self.functions.get(name)?;
        let found = known.iter().find(|(index, function)| {
            let path = self.files[*index].path;
            self.reaches(file, object, name, path, &function.name)
        });
        found.map(|(index, function)| (&self.files[*index], function))
    }

    fn reaches(
        &self,
        from: usize,
        object: Option<&str>,
        name: &str,
        path: &str,
        function: &str,
    ) -> bool {
        let file = &self.files[from];
        let method = function.contains('.');
        match object {
            None => !method && (file.path == path || file.imports.contains(name)),
            Some("self" | "cls") => method && file.path == path,
            Some(object) if !method => {
                let stem = path
                    .rsplit('/')
                    .next()
                    .unwrap_or(path)
                    .trim_end_matches(".py");
                object.rsplit('.').next() == Some(stem) && file.imports.contains(stem)
            }
            // of an object: its class must be known here, by whatever way
            Some(_) => true,
        }
    }

    /// Calls of checking helpers in a function, with their lines.
    pub fn calls(&self, file: usize, node: Node<'_>) -> Vec<(usize, &Helper)> {
        let mut found = Vec::new();
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if let Some(callee) = called(&self.files[file].module, node)
                && let Some(helper) = self.meant(file, callee)
                && !helper.gives_a_value
            {
                found.push((node.start_position().row + 1, helper));
            }
            stack.extend(children(node));
        }
        found.sort_by_key(|(line, _)| *line);
        found
    }
}

fn split(callee: &str) -> (Option<&str>, &str) {
    match callee.rsplit_once('.') {
        Some((object, name)) => (Some(object), name),
        None => (None, callee),
    }
}

fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn has(node: Node<'_>, kind: &str) -> bool {
    node.kind() == kind || children(node).into_iter().any(|c| has(c, kind))
}

/// Whether a function gives back more than nothing.
fn gives(node: Node<'_>) -> bool {
    children(node).into_iter().any(|child| match child.kind() {
        "return_statement" => child
            .named_child(0)
            .is_some_and(|value| value.kind() != "none"),
        "function_definition" | "lambda" | "class_definition" => false,
        _ => gives(child),
    })
}
