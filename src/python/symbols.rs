//! The functions and methods of a Python file, with the byte ranges of their parts.

use crate::domain::hex;
use std::ops::Range;

use super::depth::too_deep;
use sha2::{Digest, Sha256};
use tree_sitter::{Node, Parser, Tree};

/// Why a text is not taken for Python.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("line {line}: not Python as far as the parser knows it")]
    Syntax { line: usize },
    #[error("line {line}: nested deeper than people write")]
    Deep { line: usize },
    #[error("the Python parser did not answer")]
    Parser,
}

/// A parsed file.
pub struct Module<'t> {
    pub text: &'t str,
    tree: Tree,
}

/// A function or method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Qualified: `f`, `Class.method`, `outer.inner`; the setter of a property is `Class.x.setter`.
    pub name: String,
    /// Line of its `def`, from 1.
    pub line: usize,
    /// Stands inside another function.
    pub nested: bool,
    pub is_async: bool,
    /// From `def` or `async` to the colon, which is included.
    pub signature: Range<usize>,
    pub docstring: Option<Range<usize>>,
    /// From its first statement (the docstring, if there is one) to the end of the last.
    pub body: Range<usize>,
    /// The first statement after the docstring.
    pub first: Option<Statement>,
    /// White space before its `def`.
    pub indent: String,
    /// White space before its statements; none: they stand on the line of the signature.
    pub body_indent: Option<String>,
    pub parameters: Vec<Parameter>,
    /// Every statement in it, at any depth, in order.
    pub statements: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub range: Range<usize>,
    pub line: usize,
    /// A statement with a block of its own (`if`, `with`, `def` …).
    pub compound: bool,
    /// White space before it, where it begins its line.
    pub indent: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    pub kind: ParameterKind,
    pub has_default: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    Plain,
    /// `*name`
    Rest,
    /// `**name`
    Named,
    /// `*` alone: by name only from here on.
    Star,
    /// `/`: by place only up to here.
    Slash,
}

impl<'t> Module<'t> {
    /// Parses a file; any error in it is an error.
    pub fn parse(text: &'t str) -> Result<Self, ParseError> {
        let tree = tree(text)?;
        if tree.root_node().has_error() {
            let line = first_error(tree.root_node()).map_or(1, |n| n.start_position().row + 1);
            return Err(ParseError::Syntax { line });
        }
        // what reads a module goes down into it by calls
        if let Some(line) = too_deep(&tree) {
            return Err(ParseError::Deep { line });
        }
        Ok(Self { text, tree })
    }

    /// Whatever can be made out of a file, however damaged or deep it is. Only for readers that
    /// keep a stack of their own.
    pub(super) fn parse_any(text: &'t str) -> Result<Self, ParseError> {
        Ok(Self {
            text,
            tree: tree(text)?,
        })
    }

    /// All functions, outer ones before those in them, in the order of the file.
    pub fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        self.walk(self.tree.root_node(), "", false, &mut found);
        found
    }

    /// The strings that run over several lines: no white space may be added in them.
    pub fn long_strings(&self) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut stack = vec![self.tree.root_node()];
        while let Some(node) = stack.pop() {
            if node.kind() == "string" {
                if node.start_position().row != node.end_position().row {
                    found.push(node.byte_range());
                }
                continue;
            }
            stack.extend(children(node));
        }
        found.sort_by_key(|r| r.start);
        found
    }

    /// The whole file.
    pub(super) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// The definition of a function of this file.
    pub(super) fn node_of(&self, function: &Function) -> Option<Node<'_>> {
        let (start, end) = (function.signature.start, function.body.end);
        let mut node = self.root().descendant_for_byte_range(start, end)?;
        while node.kind() != "function_definition" || node.start_byte() != start {
            node = node.parent()?;
        }
        Some(node)
    }

    /// The source of a node.
    pub(super) fn source(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The source of a field of a node; empty where it has none.
    pub(super) fn field(&self, node: Node<'_>, name: &str) -> &'t str {
        node.child_by_field_name(name)
            .map(|n| self.source(n))
            .unwrap_or_default()
    }

    /// What stands behind the `@` of each decorator of a definition.
    pub(super) fn decorators(&self, node: Node<'_>) -> Vec<&'t str> {
        let Some(parent) = node.parent().filter(|p| p.kind() == "decorated_definition") else {
            return Vec::new();
        };
        children(parent)
            .into_iter()
            .filter(|c| c.kind() == "decorator")
            .map(|c| self.source(c).trim_start_matches('@').trim())
            .collect()
    }

    fn walk(&self, node: Node<'_>, prefix: &str, nested: bool, found: &mut Vec<Function>) {
        for child in children(node) {
            match child.kind() {
                "class_definition" => {
                    let name = self.field(child, "name");
                    self.walk(child, &format!("{prefix}{name}."), nested, found);
                }
                "function_definition" => {
                    let name = format!("{prefix}{}", self.field(child, "name"));
                    let full = match self.accessor(child) {
                        Some(accessor) => format!("{name}.{accessor}"),
                        None => name.clone(),
                    };
                    if !self.is_overload(child) {
                        found.extend(self.function(child, full, nested));
                    }
                    self.walk(child, &format!("{name}."), true, found);
                }
                _ => self.walk(child, prefix, nested, found),
            }
        }
    }

    fn function(&self, node: Node<'_>, name: String, nested: bool) -> Option<Function> {
        let block = node.child_by_field_name("body")?;
        let colon = children(node)
            .into_iter()
            .rfind(|c| c.kind() == ":" && c.end_byte() <= block.start_byte())?;
        let statements: Vec<Node<'_>> = statements(block);
        let first = *statements.first()?;
        let last = *statements.last()?;
        let docstring = is_docstring(self.text, first).then(|| self.tight(first));
        let after = statements.get(usize::from(docstring.is_some()));
        let on_its_line = first.start_position().row == colon.start_position().row;
        let mut all = Vec::new();
        self.all_statements(block, &mut all);
        Some(Function {
            name,
            line: node.start_position().row + 1,
            nested,
            is_async: children(node).first().is_some_and(|c| c.kind() == "async"),
            signature: node.start_byte()..colon.end_byte(),
            docstring,
            body: first.start_byte()..self.tight(last).end,
            first: after.map(|s| self.statement(*s)),
            indent: self.blank_before(node.start_byte()).unwrap_or_default(),
            body_indent: (!on_its_line)
                .then(|| self.blank_before(first.start_byte()))
                .flatten(),
            parameters: self.parameters(node),
            statements: all,
        })
    }

    fn all_statements(&self, node: Node<'_>, found: &mut Vec<Statement>) {
        if node.kind() == "block" {
            for statement in statements(node) {
                found.push(self.statement(statement));
                self.all_statements(statement, found);
            }
        } else {
            for child in children(node) {
                self.all_statements(child, found);
            }
        }
    }

    fn statement(&self, node: Node<'_>) -> Statement {
        Statement {
            range: self.tight(node),
            line: node.start_position().row + 1,
            compound: node.kind().ends_with("_definition")
                || matches!(
                    node.kind(),
                    "if_statement"
                        | "for_statement"
                        | "while_statement"
                        | "try_statement"
                        | "with_statement"
                        | "match_statement"
                ),
            indent: self.blank_before(node.start_byte()),
        }
    }

    /// Without white space at its end.
    fn tight(&self, node: Node<'_>) -> Range<usize> {
        let text = self.text.get(node.byte_range()).unwrap_or_default();
        node.start_byte()..node.start_byte() + text.trim_end().len()
    }

    /// The white space that begins the line of a place, where nothing else stands before it.
    fn blank_before(&self, at: usize) -> Option<String> {
        let start = self.text[..at].rfind('\n').map_or(0, |n| n + 1);
        let before = &self.text[start..at];
        before
            .chars()
            .all(|c| c == ' ' || c == '\t' || c == '\u{c}')
            .then(|| before.to_owned())
    }

    /// `setter` of `@x.setter`, for the function `x`.
    pub(super) fn accessor(&self, node: Node<'_>) -> Option<&'t str> {
        let name = self.field(node, "name");
        self.decorators(node).into_iter().find_map(|d| {
            let accessor = d.strip_prefix(name)?.strip_prefix('.')?;
            ["getter", "setter", "deleter"]
                .into_iter()
                .find(|known| *known == accessor)
        })
    }

    /// A signature without a body of its own.
    pub(super) fn is_overload(&self, node: Node<'_>) -> bool {
        let mut decorators = self.decorators(node).into_iter();
        decorators.any(|d| d == "overload" || d.ends_with(".overload"))
    }

    fn parameters(&self, node: Node<'_>) -> Vec<Parameter> {
        let Some(list) = node.child_by_field_name("parameters") else {
            return Vec::new();
        };
        let named: Vec<Node<'_>> = children(list).into_iter().filter(Node::is_named).collect();
        named
            .into_iter()
            .filter(|n| n.kind() != "comment")
            .map(|n| {
                let has_default = n.kind().ends_with("default_parameter");
                // a typed parameter holds the plain one as its first child
                let inner = match n.kind() {
                    "typed_parameter" => n.child(0).unwrap_or(n),
                    _ if has_default => n.child_by_field_name("name").unwrap_or(n),
                    _ => n,
                };
                let kind = match inner.kind() {
                    "list_splat_pattern" => ParameterKind::Rest,
                    "dictionary_splat_pattern" => ParameterKind::Named,
                    "keyword_separator" => ParameterKind::Star,
                    "positional_separator" => ParameterKind::Slash,
                    _ => ParameterKind::Plain,
                };
                let text = self.text.get(inner.byte_range()).unwrap_or_default();
                Parameter {
                    name: text.trim_start_matches('*').trim().to_owned(),
                    kind,
                    has_default,
                }
            })
            .collect()
    }
}

impl Statement {
    /// The sha256 of its text, without its own indentation; hexadecimal.
    pub fn hash(&self, text: &str) -> String {
        let own = text.get(self.range.clone()).unwrap_or_default();
        let indent = self.indent.as_deref().unwrap_or_default();
        let lines: Vec<&str> = own
            .lines()
            .map(|l| l.strip_prefix(indent).unwrap_or(l))
            .collect();
        hex(&Sha256::digest(lines.join("\n")))
    }
}

fn tree(text: &str) -> Result<Tree, ParseError> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_python::LANGUAGE.into())
        .map_err(|_| ParseError::Parser)?;
    parser.parse(text, None).ok_or(ParseError::Parser)
}

pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

/// The statements of a block, without comments.
pub(super) fn statements(block: Node<'_>) -> Vec<Node<'_>> {
    let named = children(block).into_iter().filter(Node::is_named);
    named.filter(|n| n.kind() != "comment").collect()
}

/// A plain string alone: bytes and formatted strings are none for Python.
pub(super) fn is_docstring(text: &str, statement: Node<'_>) -> bool {
    if statement.kind() != "expression_statement" {
        return false;
    }
    let parts = children(statement);
    let [string] = parts.as_slice() else {
        return false;
    };
    let plain = |node: &Node<'_>| {
        let own = text.get(node.byte_range()).unwrap_or_default();
        let prefix: String = own
            .chars()
            .take_while(|c| *c != '"' && *c != '\'')
            .collect();
        matches!(prefix.to_ascii_lowercase().as_str(), "" | "r" | "u")
    };
    match string.kind() {
        "string" => plain(string),
        "concatenated_string" => children(*string)
            .iter()
            .filter(|c| c.kind() == "string")
            .all(plain),
        _ => false,
    }
}

/// Without recursion: sources come from outside, and may be nested to any depth.
fn first_error(node: Node<'_>) -> Option<Node<'_>> {
    let mut stack = vec![node];
    while let Some(node) = stack.pop() {
        if node.is_error() || node.is_missing() {
            return Some(node);
        }
        if node.has_error() {
            stack.extend(children(node).into_iter().rev());
        }
    }
    None
}

#[cfg(test)]
mod tests;
