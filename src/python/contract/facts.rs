//! What a Python file defines, imports and assigns, without its text.

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::python::symbols::{Module, children};

/// An expression, as far as it can say what it gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expr {
    Name(String),
    Attribute(Box<Expr>, String),
    Call(Box<Expr>),
    /// An element of it: a subscript, or what a loop goes through.
    Element(Box<Expr>),
    /// A module that is imported by a call, by its dotted name.
    Module(String),
    /// What a type annotation says, as text.
    Typed(String),
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Class,
    Function,
    Property,
    /// A module's or a class's variable, or an attribute that a method sets.
    Variable,
}

#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub kind: Kind,
    pub line: usize,
    /// Of functions: parameters and what they give. Of classes: the fields.
    pub signature: String,
    /// Of functions: its parameters' names. Of classes: the fields' names.
    pub parameters: Vec<String>,
    /// Parent classes, as written.
    pub bases: Vec<Expr>,
    /// What it gives: annotations first, then returned and yielded values, or the assigned one.
    pub gives: Vec<Expr>,
    /// Of functions: what is assigned in it, with lines.
    pub locals: Vec<(String, usize, Expr)>,
}

/// `from module import name as as_name`; `name` is none for `import module`.
#[derive(Clone, Debug)]
pub(super) struct Import {
    /// Dots before the module: 0 is absolute.
    pub level: usize,
    pub module: String,
    pub name: Option<String>,
}

/// What is known of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// By qualified name: `f`, `A`, `A.m`.
    pub definitions: BTreeMap<String, Definition>,
    /// By the name that the file uses.
    pub imports: BTreeMap<String, Import>,
}

impl Facts {
    pub fn of(module: &Module<'_>) -> Self {
        let mut facts = Self::default();
        Reader {
            module,
            facts: &mut facts,
        }
        .block(module.root(), "");
        facts
    }
}

/// The expression of a node.
pub(super) fn expression(module: &Module<'_>, node: Node<'_>) -> Expr {
    let inner = |name: &str| {
        node.child_by_field_name(name)
            .map_or(Expr::Other, |n| expression(module, n))
    };
    match node.kind() {
        "identifier" => Expr::Name(module.source(node).to_owned()),
        "attribute" => Expr::Attribute(
            Box::new(inner("object")),
            module.field(node, "attribute").to_owned(),
        ),
        "call" => {
            let (last, first) = (last(module.field(node, "function")), first_argument(node));
            let text = first
                .filter(|n| n.kind() == "string")
                .map(|n| unquoted(module.source(n)));
            match (last, first, text) {
                ("importorskip" | "import_module", _, Some(name)) => Expr::Module(name.to_owned()),
                // a call of it calls what it is made of
                ("partial" | "partialmethod", Some(first), _) => expression(module, first),
                _ => Expr::Call(Box::new(inner("function"))),
            }
        }
        "subscript" => Expr::Element(Box::new(inner("value"))),
        "list_comprehension"
        | "generator_expression"
        | "list"
        | "tuple"
        | "await"
        | "parenthesized_expression"
        | "yield"
        | "expression_list" => node
            .named_child(0)
            .map_or(Expr::Other, |n| expression(module, n)),
        "conditional_expression" => node
            .named_child(0)
            .map_or(Expr::Other, |n| expression(module, n)),
        _ => Expr::Other,
    }
}

pub(super) fn last(dotted: &str) -> &str {
    dotted.rsplit('.').next().unwrap_or(dotted)
}

pub(super) fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}

pub(super) fn first_argument(call: Node<'_>) -> Option<Node<'_>> {
    call.child_by_field_name("arguments")?.named_child(0)
}

struct Reader<'m, 't> {
    module: &'m Module<'t>,
    facts: &'m mut Facts,
}

impl Reader<'_, '_> {
    fn block(&mut self, node: Node<'_>, prefix: &str) {
        for child in children(node) {
            match child.kind() {
                "class_definition" => self.class(child, prefix),
                "function_definition" => self.function(child, prefix),
                "import_statement" | "import_from_statement" => self.import(child),
                "assignment" => self.variable(child, prefix),
                "lambda" | "call" | "string" => {}
                _ => self.block(child, prefix),
            }
        }
    }

    fn class(&mut self, node: Node<'_>, prefix: &str) {
        let name = format!("{prefix}{}", self.module.field(node, "name"));
        let bases = node.child_by_field_name("superclasses").map(|list| {
            let named = children(list).into_iter().filter(Node::is_named);
            named.map(|n| expression(self.module, n)).collect()
        });
        let bases: Vec<Expr> = bases.unwrap_or_default();
        let tuple = bases.iter().any(|b| match b {
            Expr::Name(n) | Expr::Attribute(_, n) => n == "NamedTuple",
            _ => false,
        });
        self.define(&name, node, Kind::Class).bases = bases;
        if let Some(body) = node.child_by_field_name("body") {
            self.block(body, &format!("{name}."));
        }
        let decorated = self.module.decorators(node);
        if tuple || decorated.iter().any(|d| d.contains("dataclass")) {
            self.fields(&name, node);
        }
    }

    /// The fields of a dataclass or a named tuple are what it is called with.
    fn fields(&mut self, name: &str, class: Node<'_>) {
        let Some(body) = class.child_by_field_name("body") else {
            return;
        };
        let mut fields = Vec::new();
        let mut names = Vec::new();
        for statement in children(body) {
            let Some(assignment) = statement
                .named_child(0)
                .filter(|n| n.kind() == "assignment" && n.child_by_field_name("type").is_some())
            else {
                continue;
            };
            names.push(self.module.field(assignment, "left").to_owned());
            fields.push(squeeze(self.module.source(assignment)));
        }
        if let Some(class) = self.facts.definitions.get_mut(name) {
            class.signature = format!("({})", fields.join(", "));
            class.parameters = names;
        }
    }

    fn function(&mut self, node: Node<'_>, prefix: &str) {
        let module = self.module;
        let name = format!("{prefix}{}", module.field(node, "name"));
        let decorators = module.decorators(node);
        let overload = decorators.iter().any(|d| d.ends_with("overload"));
        let accessor = decorators.iter().any(|d| d.ends_with(".setter"));
        if overload || accessor {
            return;
        }
        let property = decorators
            .iter()
            .any(|d| *d == "property" || d.ends_with("cached_property"));
        let kind = if property {
            Kind::Property
        } else {
            Kind::Function
        };
        let (mut names, mut shown, mut locals) = (Vec::new(), Vec::new(), Vec::new());
        let fixed = decorators.contains(&"staticmethod");
        if let Some(list) = node.child_by_field_name("parameters") {
            let all = children(list)
                .into_iter()
                .filter(|n| n.is_named() && n.kind() != "comment");
            for (index, parameter) in all.enumerate() {
                let own = parameter_name(module, parameter);
                if let Some(kind) = parameter.child_by_field_name("type") {
                    let typed = Expr::Typed(module.source(kind).to_owned());
                    locals.push((own.clone(), node.start_position().row + 1, typed));
                }
                if index == 0 && !prefix.is_empty() && !fixed {
                    continue;
                }
                shown.push(squeeze(module.source(parameter)));
                names.push(own);
            }
        }
        let mut gives = Vec::new();
        let mut arrow = String::new();
        if let Some(kind) = node.child_by_field_name("return_type") {
            gives.push(Expr::Typed(module.source(kind).to_owned()));
            arrow = format!(" -> {}", squeeze(module.source(kind)));
        }
        if let Some(body) = node.child_by_field_name("body") {
            self.body(body, prefix, &mut gives, &mut locals);
        }
        let definition = self.define(&name, node, kind);
        definition.signature = format!("({}){arrow}", shown.join(", "));
        definition.parameters = names;
        definition.gives = gives;
        definition.locals = locals;
    }

    /// Assignments, values that are given back, and attributes that a method sets.
    fn body(
        &mut self,
        node: Node<'_>,
        prefix: &str,
        gives: &mut Vec<Expr>,
        locals: &mut Vec<(String, usize, Expr)>,
    ) {
        let module = self.module;
        let line = node.start_position().row + 1;
        match node.kind() {
            "function_definition" | "class_definition" | "lambda" => return,
            "import_statement" | "import_from_statement" => self.import(node),
            "return_statement" | "yield" => {
                if let Some(value) = node.named_child(0) {
                    gives.push(expression(module, value));
                }
            }
            "assignment" => {
                let left = node.child_by_field_name("left");
                let value = match node.child_by_field_name("type") {
                    Some(kind) => Expr::Typed(module.source(kind).to_owned()),
                    None => node
                        .child_by_field_name("right")
                        .map_or(Expr::Other, |r| expression(module, r)),
                };
                if let Some(left) = left {
                    self.bind(left, value, prefix, locals);
                }
            }
            "for_statement" | "for_in_clause" => {
                let left = node.child_by_field_name("left");
                let right = node.child_by_field_name("right");
                if let (Some(left), Some(right)) = (left, right) {
                    let value = Expr::Element(Box::new(expression(module, right)));
                    self.bind(left, value, prefix, locals);
                }
            }
            "as_pattern" => {
                let alias = node.child_by_field_name("alias");
                if let (Some(value), Some(alias)) = (node.named_child(0), alias) {
                    let value = Expr::Element(Box::new(expression(module, value)));
                    locals.push((module.source(alias).to_owned(), line, value));
                }
            }
            _ => {}
        }
        for child in children(node) {
            self.body(child, prefix, gives, locals);
        }
    }

    fn bind(
        &mut self,
        left: Node<'_>,
        value: Expr,
        prefix: &str,
        locals: &mut Vec<(String, usize, Expr)>,
    ) {
        let module = self.module;
        let line = left.start_position().row + 1;
        match left.kind() {
            "identifier" => locals.push((module.source(left).to_owned(), line, value)),
            "attribute" if module.field(left, "object") == "self" && !prefix.is_empty() => {
                let name = format!("{prefix}{}", module.field(left, "attribute"));
                if !self.facts.definitions.contains_key(&name) {
                    self.define(&name, left, Kind::Variable).gives.push(value);
                }
            }
            "pattern_list" | "tuple_pattern" | "list_pattern" => {
                for name in children(left).into_iter().filter(Node::is_named) {
                    self.bind(name, Expr::Element(Box::new(value.clone())), prefix, locals);
                }
            }
            _ => {}
        }
    }

    fn variable(&mut self, node: Node<'_>, prefix: &str) {
        let module = self.module;
        let Some(left) = node.child_by_field_name("left") else {
            return;
        };
        let value = match node.child_by_field_name("type") {
            Some(kind) => Expr::Typed(module.source(kind).to_owned()),
            None => node
                .child_by_field_name("right")
                .map_or(Expr::Other, |r| expression(module, r)),
        };
        let names: Vec<Node<'_>> = if left.kind() == "identifier" {
            vec![left]
        } else {
            let inside = children(left).into_iter();
            inside.filter(|n| n.kind() == "identifier").collect()
        };
        for name in names {
            let name = format!("{prefix}{}", module.source(name));
            let annotation = node.child_by_field_name("type");
            let shown = annotation.map(|a| format!(": {}", squeeze(module.source(a))));
            let definition = self.define(&name, left, Kind::Variable);
            definition.signature = shown.unwrap_or_default();
            definition.gives.push(value.clone());
        }
    }

    fn define(&mut self, name: &str, node: Node<'_>, kind: Kind) -> &mut Definition {
        let line = node.start_position().row + 1;
        let new = Definition {
            kind,
            line,
            signature: String::new(),
            parameters: Vec::new(),
            bases: Vec::new(),
            gives: Vec::new(),
            locals: Vec::new(),
        };
        self.facts
            .definitions
            .entry(name.to_owned())
            .and_modify(|d| {
                // the last definition holds; an attribute does not hide a method
                if kind != Kind::Variable {
                    *d = new.clone();
                }
            })
            .or_insert_with(|| new.clone())
    }

    fn import(&mut self, node: Node<'_>) {
        let module = self.module;
        let from = node.child_by_field_name("module_name");
        let (level, source) = from.map_or((0, String::new()), |n| {
            let text = module.source(n).trim();
            let name = text.trim_start_matches('.');
            (text.len() - name.len(), name.trim().to_owned())
        });
        for child in children(node) {
            if Some(child) == from {
                continue;
            }
            let (name, as_name) = match child.kind() {
                "dotted_name" => (module.source(child), None),
                "aliased_import" => (
                    module.field(child, "name"),
                    Some(module.field(child, "alias")),
                ),
                "wildcard_import" => ("*", None),
                _ => continue,
            };
            let import = |module: &str, name: Option<&str>| Import {
                level,
                module: module.to_owned(),
                name: name.map(str::to_owned),
            };
            let (key, import) = match (from, as_name) {
                (Some(_), as_name) => (as_name.unwrap_or(name), import(&source, Some(name))),
                (None, Some(as_name)) => (as_name, import(name, None)),
                // `import a.b` binds a
                (None, None) => {
                    let first = name.split('.').next().unwrap_or(name);
                    (first, import(first, None))
                }
            };
            let key = if key == "*" {
                format!("*{source}")
            } else {
                key.to_owned()
            };
            self.facts.imports.insert(key, import);
        }
    }
}

fn parameter_name(module: &Module<'_>, node: Node<'_>) -> String {
    let inner = match node.kind() {
        "typed_parameter" => node.child(0).unwrap_or(node),
        "default_parameter" | "typed_default_parameter" => {
            node.child_by_field_name("name").unwrap_or(node)
        }
        _ => node,
    };
    module
        .source(inner)
        .trim_start_matches('*')
        .trim()
        .to_owned()
}

/// On one line, with single spaces.
pub(super) fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
