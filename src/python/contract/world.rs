//! Project and suites as one set of modules, and what their names mean.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::facts::{Definition, Expr, Facts, Kind};
use crate::python::files::Files;
use crate::python::symbols::Module;

/// How far names are followed.
const DEEPEST: usize = 12;

/// A definition's place: file and qualified name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub file: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Module(String),
    Class(Place),
    Function(Place),
    Variable(Place),
    Instance(Place),
    Unknown,
}

/// Where a name is looked up.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub file: &'a str,
    /// The qualified function; empty: the module.
    pub function: &'a str,
    pub line: usize,
}

pub(super) struct World<'a> {
    pub gold: &'a Files,
    pub suites: BTreeMap<&'a str, &'a [u8]>,
    /// Folders on the module path, without `/` at the end; empty: the root.
    roots: Vec<String>,
    facts: RefCell<HashMap<String, Option<Rc<Facts>>>>,
    busy: RefCell<Vec<String>>,
}

impl<'a> World<'a> {
    pub fn new(gold: &'a Files, suites: &[&'a Files], pythonpath: &[String]) -> Self {
        let roots = pythonpath
            .iter()
            .map(|p| p.trim_start_matches("./").trim_matches('/'))
            .map(|p| if p == "." { "" } else { p }.to_owned());
        Self {
            gold,
            suites: suites
                .iter()
                .flat_map(|s| s.iter())
                .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
                .collect(),
            roots: roots.collect(),
            facts: RefCell::default(),
            busy: RefCell::default(),
        }
    }

    pub fn in_project(&self, file: &str) -> bool {
        self.gold.contains_key(file) && !self.suites.contains_key(file)
    }

    pub fn facts(&self, file: &str) -> Option<Rc<Facts>> {
        if let Some(known) = self.facts.borrow().get(file) {
            return known.clone();
        }
        let bytes = self.suites.get(file).copied();
        let bytes = bytes.or_else(|| self.gold.get(file).map(Vec::as_slice));
        let made = bytes
            .and_then(|b| std::str::from_utf8(b).ok())
            .and_then(|text| Module::parse(text).ok())
            .map(|module| Rc::new(Facts::of(&module)));
        self.facts
            .borrow_mut()
            .insert(file.to_owned(), made.clone());
        made
    }

    pub fn definition(&self, place: &Place) -> Option<Definition> {
        self.facts(&place.file)?
            .definitions
            .get(&place.name)
            .cloned()
    }

    /// The file of a module, by its dotted name.
    fn file_of(&self, dotted: &str, beside: &str) -> Option<String> {
        let path = dotted.replace('.', "/");
        // a test's own folder is on the path as well
        let own = folder(beside);
        let roots = self.roots.iter().map(String::as_str).chain([own]);
        let there = |p: &String| self.suites.contains_key(p.as_str()) || self.gold.contains_key(p);
        roots
            .flat_map(|root| {
                let base = if root.is_empty() {
                    path.clone()
                } else {
                    format!("{root}/{path}")
                };
                [format!("{base}.py"), format!("{base}/__init__.py")]
            })
            .find(there)
    }

    /// Whether a dotted name is a folder of the project.
    fn is_folder(&self, dotted: &str) -> bool {
        let path = format!("{}/", dotted.replace('.', "/"));
        self.roots.iter().any(|root| {
            let path = if root.is_empty() {
                path.clone()
            } else {
                format!("{root}/{path}")
            };
            let first = self.gold.range(path.clone()..).next();
            first.is_some_and(|(p, _)| p.starts_with(&path))
                || self.suites.keys().any(|p| p.starts_with(&path))
        })
    }

    /// The module of a file or folder.
    pub fn dotted(&self, path: &str) -> String {
        let stem = path.strip_suffix(".py").unwrap_or(path);
        let stem = stem.strip_suffix("/__init__").unwrap_or(stem);
        let mut roots = self.roots.iter().filter(|root| !root.is_empty());
        let inside = roots.find_map(|root| stem.strip_prefix(root.as_str())?.strip_prefix('/'));
        inside.unwrap_or(stem).replace('/', ".")
    }

    /// What an import names: an absolute module.
    fn absolute(&self, file: &str, level: usize, module: &str) -> String {
        if level == 0 {
            return module.to_owned();
        }
        let mut at = file;
        for _ in 0..level {
            at = folder(at);
        }
        let parts = [&self.dotted(at), module];
        let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        parts.join(".")
    }

    pub fn module(&self, dotted: &str, beside: &str) -> Option<Value> {
        if self.file_of(dotted, beside).is_some() || self.is_folder(dotted) {
            return Some(Value::Module(dotted.to_owned()));
        }
        None
    }

    /// What a dotted name stands for, from its outermost module on.
    pub fn named(&self, dotted: &str, beside: &str) -> Value {
        let mut parts = dotted.split('.');
        let first = self.module(parts.next().unwrap_or_default(), beside);
        let first = first.unwrap_or(Value::Unknown);
        parts.fold(first, |value, part| self.attribute(&value, part, beside))
    }

    /// What an import of `file` gives.
    pub fn imported(&self, file: &str, level: usize, module: &str, name: Option<&str>) -> Value {
        let dotted = self.absolute(file, level, module);
        match name {
            None => self.module(&dotted, file).unwrap_or(Value::Unknown),
            Some(name) => self.member(&dotted, name, file),
        }
    }

    /// A name of a module.
    fn member(&self, dotted: &str, name: &str, beside: &str) -> Value {
        if let Some(file) = self.file_of(dotted, beside) {
            let found = self.top(&file, name);
            if found != Value::Unknown {
                return found;
            }
        }
        let inner = format!("{dotted}.{name}");
        self.module(&inner, beside).unwrap_or(Value::Unknown)
    }

    /// A name at the top of a file.
    fn top(&self, file: &str, name: &str) -> Value {
        let Some(facts) = self.facts(file) else {
            return Value::Unknown;
        };
        if let Some(definition) = facts.definitions.get(name) {
            let place = Place {
                file: file.to_owned(),
                name: name.to_owned(),
            };
            return match definition.kind {
                Kind::Class => Value::Class(place),
                Kind::Function | Kind::Property => Value::Function(place),
                Kind::Variable => Value::Variable(place),
            };
        }
        self.guarded(&format!("{file}:{name}"), || {
            if let Some(import) = facts.imports.get(name) {
                return self.imported(file, import.level, &import.module, import.name.as_deref());
            }
            let stars = facts.imports.iter().filter(|(key, _)| key.starts_with('*'));
            for (_, import) in stars {
                let found = self.imported(file, import.level, &import.module, Some(name));
                if found != Value::Unknown {
                    return found;
                }
            }
            Value::Unknown
        })
    }

    /// Runs `f` unless it is running for the same thing already.
    fn guarded(&self, key: &str, f: impl FnOnce() -> Value) -> Value {
        {
            let mut busy = self.busy.borrow_mut();
            if busy.len() >= DEEPEST || busy.iter().any(|b| b == key) {
                return Value::Unknown;
            }
            busy.push(key.to_owned());
        }
        let found = f();
        self.busy.borrow_mut().pop();
        found
    }

    /// A member of a class or of its parents, with the place where it is defined.
    pub fn of_class(&self, class: &Place, name: &str) -> Option<Place> {
        self.lookup(class, name, 0)
    }

    fn lookup(&self, class: &Place, name: &str, depth: usize) -> Option<Place> {
        let own = Place {
            file: class.file.clone(),
            name: format!("{}.{name}", class.name),
        };
        let definition = self.definition(class)?;
        if self.definition(&own).is_some() {
            return Some(own);
        }
        if depth >= DEEPEST {
            return None;
        }
        let scope = Scope {
            file: &class.file,
            function: "",
            line: usize::MAX,
        };
        definition.bases.iter().find_map(|base| {
            let Value::Class(parent) = self.value(base, scope) else {
                return None;
            };
            self.lookup(&parent, name, depth + 1)
        })
    }

    /// What an attribute gives; the place is that of its definition.
    pub fn attribute(&self, object: &Value, name: &str, beside: &str) -> Value {
        match object {
            Value::Module(dotted) => self.member(dotted, name, beside),
            Value::Class(class) | Value::Instance(class) => {
                let Some(place) = self.of_class(class, name) else {
                    return Value::Unknown;
                };
                match self.definition(&place).map(|d| d.kind) {
                    Some(Kind::Class) => Value::Class(place),
                    Some(Kind::Function) => Value::Function(place),
                    Some(_) => Value::Variable(place),
                    None => Value::Unknown,
                }
            }
            Value::Variable(place) => match self.held(place) {
                Value::Unknown => Value::Unknown,
                held => self.attribute(&held, name, beside),
            },
            _ => Value::Unknown,
        }
    }

    /// What a variable or property holds.
    pub fn held(&self, place: &Place) -> Value {
        self.given(place)
    }

    /// As [`World::value`], with what a variable holds instead of the variable.
    pub fn content(&self, expr: &Expr, scope: Scope<'_>) -> Value {
        match self.value(expr, scope) {
            Value::Variable(place) => self.held(&place),
            value => value,
        }
    }

    /// What a function gives back, or a variable holds: the first that is known.
    fn given(&self, place: &Place) -> Value {
        let Some(definition) = self.definition(place) else {
            return Value::Unknown;
        };
        let owner = place.name.rsplit_once('.').map(|(class, _)| class);
        self.guarded(&format!("{}:{}()", place.file, place.name), || {
            let function = if definition.kind == Kind::Variable {
                owner.map_or(String::new(), |class| format!("{class}.__init__"))
            } else {
                place.name.clone()
            };
            let scope = Scope {
                file: &place.file,
                function: &function,
                line: usize::MAX,
            };
            definition
                .gives
                .iter()
                .map(|g| self.value(g, scope))
                .find(|v| *v != Value::Unknown)
                .unwrap_or(Value::Unknown)
        })
    }

    /// What an expression gives.
    pub fn value(&self, expr: &Expr, scope: Scope<'_>) -> Value {
        match expr {
            Expr::Name(name) => self.name(name, scope),
            Expr::Attribute(object, name) => {
                let object = self.value(object, scope);
                self.attribute(&object, name, scope.file)
            }
            Expr::Call(function) => match self.value(function, scope) {
                Value::Class(class) => Value::Instance(class),
                Value::Function(place) => self.given(&place),
                _ => Value::Unknown,
            },
            // what is known of a collection is what is in it
            Expr::Element(of) => match self.value(of, scope) {
                Value::Variable(place) => self.held(&place),
                value => value,
            },
            Expr::Module(name) => self.module(name, scope.file).unwrap_or(Value::Unknown),
            Expr::Typed(text) => self.typed(text, scope),
            Expr::Other => Value::Unknown,
        }
    }

    /// The first class of ours in an annotation.
    fn typed(&self, text: &str, scope: Scope<'_>) -> Value {
        let names = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
        for name in names.filter(|n| !n.is_empty() && *n != "None") {
            let mut parts = name.split('.');
            let Some(first) = parts.next() else { continue };
            let mut value = if first == "Self" {
                self.own_class(scope).unwrap_or(Value::Unknown)
            } else {
                self.top(scope.file, first)
            };
            for part in parts {
                value = self.attribute(&value, part, scope.file);
            }
            if let Value::Class(class) = value {
                return Value::Instance(class);
            }
        }
        Value::Unknown
    }

    fn own_class(&self, scope: Scope<'_>) -> Option<Value> {
        let (class, _) = scope.function.rsplit_once('.')?;
        let place = Place {
            file: scope.file.to_owned(),
            name: class.to_owned(),
        };
        (self.definition(&place)?.kind == Kind::Class).then_some(Value::Class(place))
    }

    fn name(&self, name: &str, scope: Scope<'_>) -> Value {
        if let Some(class) = self.own_class(scope) {
            match (name, class) {
                ("self", Value::Class(place)) => return Value::Instance(place),
                ("cls", class) => return class,
                _ => {}
            }
        }
        let facts = self.facts(scope.file);
        let function = facts
            .as_ref()
            .and_then(|f| f.definitions.get(scope.function));
        if let Some(function) = function {
            let mut known = function.locals.iter().filter(|(n, _, _)| n == name);
            let first = known.clone().next();
            let found = known.rfind(|(_, line, _)| *line <= scope.line).or(first);
            if let Some((_, line, expr)) = found {
                let inner = Scope {
                    line: line.saturating_sub(1),
                    ..scope
                };
                let key = format!("{}:{}:{name}:{line}", scope.file, scope.function);
                return self.guarded(&key, || self.value(expr, inner));
            }
            if function.parameters.iter().any(|p| p == name) {
                return self.fixture(name, scope.file);
            }
        }
        self.top(scope.file, name)
    }

    /// What a fixture of this name gives: of the file itself, or of a conftest.py above it.
    fn fixture(&self, name: &str, file: &str) -> Value {
        let mut places = vec![file.to_owned()];
        let mut at = folder(file);
        loop {
            places.push(if at.is_empty() {
                "conftest.py".into()
            } else {
                format!("{at}/conftest.py")
            });
            if at.is_empty() {
                break;
            }
            at = folder(at);
        }
        for place in places {
            let place = Place {
                file: place,
                name: name.to_owned(),
            };
            if self
                .definition(&place)
                .is_some_and(|d| d.kind == Kind::Function)
            {
                return self.given(&place);
            }
        }
        Value::Unknown
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
