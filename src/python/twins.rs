//! Must-fail twins of tests (DESIGN.md, The judge's mechanics): the same file, in which every
//! test's body begins with a comparison that fails. A twin that is reported as passed was not run
//! by pytest. The comparison is of numbers that differ from test to test and from run to run, so
//! that neither its message nor its text is one that code could wait for.
//!
//! What no `def` of the file makes (factories, lambdas, imports, inherited methods) is wrapped at
//! the end of the file. What a file makes by other ways (`globals()[…] = …`) has no twin.

use sha2::{Digest, Sha256};

use tree_sitter::Node;

use super::symbols::{Function, Module, ParseError, children};
use crate::domain::hex;

/// A test file and its tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twin {
    pub text: String,
    /// Qualified names of the functions that fail now; `A.*`: whatever tests class `A` has.
    pub functions: Vec<String>,
}

/// Makes every test function and method of a file fail before its first statement; `nonce` decides
/// on which numbers. Lines keep their numbers, but for those after a body that begins with a
/// statement that has a block of its own: such a body grows by a line.
pub fn twin(text: &str, nonce: &str) -> Result<Twin, ParseError> {
    let module = Module::parse(text)?;
    let (mut out, mut at, mut functions) = (String::new(), 0, Vec::new());
    for function in module.functions() {
        if function.nested || !is_test(&function) {
            continue;
        }
        let (place, words) = insertion(&function, &failing(nonce, functions.len()));
        out.push_str(&text[at..place]);
        out.push_str(&words);
        at = place;
        functions.push(function.name);
    }
    out.push_str(&text[at..]);
    let made = Made::of(&module, &functions);
    if !made.names.is_empty() || !made.classes.is_empty() {
        out.push_str(&made.wrapped(nonce, functions.len()));
        functions.extend(made.names);
        functions.extend(made.classes.iter().map(|c| format!("{c}.*")));
    }
    Ok(Twin {
        text: out,
        functions,
    })
}

/// As pytest and unittest name tests, and more: a helper that raises makes its tests fail too.
fn is_test(function: &Function) -> bool {
    let name = function.name.rsplit('.').next().unwrap_or_default();
    test_like(name) || name == "runTest"
}

fn test_like(name: &str) -> bool {
    name.starts_with("test") || name.starts_with("Test")
}

/// Whether a test has a twin, by its qualified name; `is`: whether [`Twin::functions`] has a name.
pub fn has_twin(name: &str, is: impl Fn(&str) -> bool) -> bool {
    let mut dots = name.match_indices('.');
    is(name) || dots.any(|(at, _)| is(&format!("{}.*", &name[..at])))
}

/// Tests that no `def` of the file makes.
#[derive(Default)]
struct Made {
    /// At the top of the file.
    names: Vec<String>,
    /// Classes whose tests may come from elsewhere.
    classes: Vec<String>,
}

impl Made {
    fn of(module: &Module<'_>, known: &[String]) -> Self {
        let mut found = Self::default();
        found.block(module, module.root(), "");
        found.names.retain(|n| !known.contains(n));
        for list in [&mut found.names, &mut found.classes] {
            let mut seen = std::collections::HashSet::new();
            list.retain(|n| seen.insert(n.clone()));
        }
        found
    }

    fn block(&mut self, module: &Module<'_>, node: Node<'_>, prefix: &str) {
        for child in children(node) {
            match child.kind() {
                "function_definition" | "lambda" | "call" | "string" => {}
                "class_definition" => {
                    let name = format!("{prefix}{}", module.field(child, "name"));
                    let bases = module.field(child, "superclasses");
                    let plain = ["", "()", "(object)"].contains(&bases);
                    if !plain && !self.classes.contains(&name) {
                        self.classes.push(name.clone());
                    }
                    if let Some(body) = child.child_by_field_name("body") {
                        self.block(module, body, &format!("{name}."));
                    }
                }
                "assignment" | "for_statement" => {
                    if let Some(left) = child.child_by_field_name("left") {
                        self.bound(module, left, prefix);
                    }
                    self.block(module, child, prefix);
                }
                "import_statement" | "import_from_statement" => {
                    let from = child.child_by_field_name("module_name");
                    for name in children(child).into_iter().filter(|c| Some(*c) != from) {
                        let own = match name.kind() {
                            "aliased_import" => module.field(name, "alias"),
                            "dotted_name" => module.source(name),
                            _ => continue,
                        };
                        self.add(own, prefix);
                    }
                }
                _ => self.block(module, child, prefix),
            }
        }
    }

    fn bound(&mut self, module: &Module<'_>, left: Node<'_>, prefix: &str) {
        match left.kind() {
            "identifier" => self.add(module.source(left), prefix),
            "pattern_list" | "tuple_pattern" | "list_pattern" => {
                for part in children(left) {
                    self.bound(module, part, prefix);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, name: &str, prefix: &str) {
        if name.contains('.') || !(test_like(name) || name == "runTest") {
            return;
        }
        // a class with a test of that kind is wrapped as a whole
        match prefix.strip_suffix('.') {
            Some(class) => self.classes.push(class.to_owned()),
            None if name.starts_with("Test") => self.classes.push(name.to_owned()),
            None => self.names.push(name.to_owned()),
        }
    }

    /// Code for the end of a file: what is there under these names when it runs is wrapped in what
    /// fails, with the signature, the marks and the kind of method that it had.
    fn wrapped(&self, nonce: &str, index: usize) -> String {
        let digest = Sha256::digest(format!("{nonce} names"));
        let own = hex(&digest[..4]);
        let list = |of: &[String]| {
            let quoted: Vec<String> = of.iter().map(|n| format!("{n:?}")).collect();
            quoted.join(", ")
        };
        WRAP.replace("OWN", &format!("_{own}"))
            .replace("NAMES", &list(&self.names))
            .replace("CLASSES", &list(&self.classes))
            .replace("FAILS", &failing(nonce, index))
    }
}

const WRAP: &str = r#"

def OWN(one):
    if isinstance(one, (staticmethod, classmethod)):
        return type(one)(OWN(one.__func__))
    if isinstance(one, type) or not callable(one):
        return one
    def twin(*args, **kwargs):
        FAILS
    twin.__dict__.update(getattr(one, "__dict__", {}))
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(twin, name, getattr(one, name, "") or "")
    twin.__wrapped__ = one
    return twin
def OWN_in(kind):
    known = {}
    for owner in getattr(kind, "__mro__", ())[::-1]:
        known.update(vars(owner))
    for name, one in known.items():
        if name.startswith("test") or name == "runTest":
            try:
                setattr(kind, name, OWN(one))
            except TypeError:
                pass
for OWN_name in [NAMES]:
    if OWN_name in globals():
        globals()[OWN_name] = OWN(globals()[OWN_name])
for OWN_name in [CLASSES]:
    OWN_at = globals().get(OWN_name.split(".")[0])
    for OWN_part in OWN_name.split(".")[1:]:
        OWN_at = getattr(OWN_at, OWN_part, None)
    OWN_in(OWN_at)
"#;

/// A comparison that fails, as a test's own would.
fn failing(nonce: &str, index: usize) -> String {
    let digest = Sha256::digest(format!("{nonce} {index}"));
    let small = u32::from(u16::from_le_bytes([digest[0], digest[1]])) % 1000;
    let large = small + 1 + u32::from(digest[2]) % 97;
    let part = digest[3] % 10;
    match digest[4] % 4 {
        0 => format!("assert {small} == {large}"),
        1 => format!("assert {large}.{part} == {small}.{part}"),
        2 => format!("assert {large} <= {small}"),
        _ => format!("assert {small}.{part} > {large}.{part}"),
    }
}

fn insertion(function: &Function, raise: &str) -> (usize, String) {
    match (&function.docstring, &function.first) {
        (Some(doc), _) => (doc.end, format!("; {raise}")),
        (None, Some(first)) if first.compound => {
            let indent = first.indent.as_deref().unwrap_or_default();
            (first.range.start, format!("{raise}\n{indent}"))
        }
        (None, _) => (function.body.start, format!("{raise}; ")),
    }
}

#[cfg(test)]
mod tests;
