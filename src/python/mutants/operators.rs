//! Small wrong changes.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use tree_sitter::Node;

use crate::python::symbols::{Module, children, is_docstring, statements};

/// A way of being wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operator {
    /// A condition never holds.
    DropBranch,
    /// A condition always holds.
    AlwaysBranch,
    /// A sum is a mean, a mean a sum.
    SwapSumMean,
    /// A state is updated in the first call only.
    SkipSecondUpdate,
    /// A state is never updated, a call never made.
    SkipStatement,
    /// A mode's flag has its default, whatever is asked for.
    IgnoreFlag,
    /// All is taken where a part is due.
    SendEverything,
    /// What was copied is shared.
    StaleReference,
    /// A bound is missed by one.
    OffByOne,
    /// Plus is minus, times is divided by.
    SwapArithmetic,
    /// A wide type is a narrow one.
    NarrowType,
    /// An error is not raised.
    SwallowError,
    /// Nothing is given back.
    ReturnNothing,
    /// A part of the change is left out.
    RevertHunk,
}

impl Operator {
    pub fn name(self) -> &'static str {
        match self {
            Self::DropBranch => "drop-branch",
            Self::AlwaysBranch => "always-branch",
            Self::SwapSumMean => "swap-sum-mean",
            Self::SkipSecondUpdate => "skip-second-update",
            Self::SkipStatement => "skip-statement",
            Self::IgnoreFlag => "ignore-flag",
            Self::SendEverything => "send-everything",
            Self::StaleReference => "stale-reference",
            Self::OffByOne => "off-by-one",
            Self::SwapArithmetic => "swap-arithmetic",
            Self::NarrowType => "narrow-type",
            Self::SwallowError => "swallow-error",
            Self::ReturnNothing => "return-nothing",
            Self::RevertHunk => "revert-hunk",
        }
    }
}

/// A change of a file: what stands instead of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub operator: Operator,
    /// Of the place that is wrong afterwards.
    pub line: usize,
    pub range: Range<usize>,
    pub text: String,
    pub summary: String,
}

/// What can be done wrong at a node itself.
pub(super) fn at(module: &Module<'_>, node: Node<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let made = Made {
        module,
        edits: &mut edits,
    };
    made.all(node);
    edits
}

struct Made<'m, 't> {
    module: &'m Module<'t>,
    edits: &'m mut Vec<Edit>,
}

impl Made<'_, '_> {
    fn add(&mut self, operator: Operator, node: Node<'_>, text: String) {
        let old = shown(self.module.source(node));
        let new = shown(&text);
        self.edits.push(Edit {
            operator,
            line: node.start_position().row + 1,
            range: node.byte_range(),
            summary: format!("`{old}` is `{new}`"),
            text,
        });
    }

    fn all(mut self, node: Node<'_>) {
        match node.kind() {
            "if_statement" | "elif_clause" | "while_statement" | "conditional_expression" => {
                self.condition(node);
            }
            "if_clause" => {
                if let Some(condition) = node.named_child(0) {
                    self.add(Operator::SendEverything, condition, "True".into());
                }
            }
            "expression_statement" => self.statement(node),
            "call" => self.call(node),
            "identifier" | "string" => self.word(node),
            "slice" => self.slice(node),
            "comparison_operator" => self.comparison(node),
            "binary_operator" => self.arithmetic(node),
            "raise_statement" => self.add(Operator::SwallowError, node, "pass".into()),
            "return_statement" => {
                let value = node.named_child(0).filter(|v| v.kind() != "none");
                if value.is_some() {
                    self.add(Operator::ReturnNothing, node, "return None".into());
                }
            }
            "function_definition" => self.flags(node),
            _ => {}
        }
    }

    fn condition(&mut self, node: Node<'_>) {
        let condition = node
            .child_by_field_name("condition")
            .or_else(|| node.named_child(1));
        let Some(condition) = condition else { return };
        self.add(Operator::DropBranch, condition, "False".into());
        // a loop that always goes on would only hang
        if node.kind() != "while_statement" {
            self.add(Operator::AlwaysBranch, condition, "True".into());
        }
    }

    fn statement(&mut self, node: Node<'_>) {
        let Some(expression) = node.named_child(0) else {
            return;
        };
        let module = self.module;
        let updates = match expression.kind() {
            "augmented_assignment" => true,
            "assignment" => expression
                .child_by_field_name("left")
                .is_some_and(|l| matches!(l.kind(), "attribute" | "subscript")),
            "call" => !module.field(expression, "function").starts_with("super"),
            _ => false,
        };
        let Some(function) = enclosing(node) else {
            return;
        };
        if !updates {
            return;
        }
        let own = expression.child_by_field_name("left").map(|l| l.kind()) == Some("identifier");
        self.add(Operator::SkipStatement, node, "pass".into());
        let init = module.field(function, "name").starts_with("__");
        let method = module
            .source(function)
            .split('(')
            .nth(1)
            .is_some_and(|rest| rest.trim_start().starts_with("self"));
        // a statement that shares its line cannot have a block of its own
        let line_start = module.text[..node.start_byte()]
            .rfind('\n')
            .map_or(0, |n| n + 1);
        let indent = &module.text[line_start..node.start_byte()];
        if method && !init && !own && indent.trim().is_empty() {
            self.second(node, function, indent);
        }
    }

    /// A statement is done in the first call of its function that comes to it, for each object.
    /// The object need not take an attribute, and a loop in that first call goes on.
    fn second(&mut self, node: Node<'_>, function: Node<'_>, indent: &str) {
        let module = self.module;
        let Some(body) = function.child_by_field_name("body") else {
            return;
        };
        let mut all = statements(body).into_iter();
        let Some(first) = all.find(|s| !is_docstring(module.text, *s)) else {
            return;
        };
        let own = &module.text[..first.start_byte()];
        let outer = &own[own.rfind('\n').map_or(0, |n| n + 1)..];
        if !outer.trim().is_empty() {
            return;
        }
        let line = node.start_position().row + 1;
        let inner = module.source(node).replace('\n', "\n    ");
        let known = format!("globals().setdefault(\"_once_{line}\", {{}})");
        let text = format!(
            "_first_{line} = id(self) not in {known}\n{outer}{}if _first_{line}:\n{indent}    {known}[id(self)] = self\n{indent}    {inner}",
            &module.text[first.start_byte()..node.start_byte()],
        );
        let old = module.source(node);
        self.edits.push(Edit {
            operator: Operator::SkipSecondUpdate,
            line,
            range: first.start_byte()..node.end_byte(),
            text,
            summary: format!("`{}` is done in the first call only", shown(old)),
        });
    }

    /// `node - 1`, unless it is `x + 1`: then that is `x`, which is made of the sum.
    fn less(&mut self, node: Node<'_>) {
        let module = self.module;
        let text = module.source(node);
        let sum = node.kind() == "binary_operator"
            && module.field(node, "operator") == "+"
            && module.field(node, "right") == "1";
        if sum || node.kind().ends_with("_splat") {
            return;
        }
        let tight = matches!(
            node.kind(),
            "identifier"
                | "attribute"
                | "call"
                | "subscript"
                | "integer"
                | "float"
                | "unary_operator"
                | "parenthesized_expression"
                | "await"
        );
        let arithmetic = node.kind() == "binary_operator"
            && ["+", "-", "*", "/", "//", "%", "**", "@"].contains(&module.field(node, "operator"));
        let moved = if tight || arithmetic {
            format!("{text} - 1")
        } else {
            format!("({text}) - 1")
        };
        self.add(Operator::OffByOne, node, moved);
    }

    fn call(&mut self, node: Node<'_>) {
        let module = self.module;
        let callee = module.field(node, "function");
        let arguments: Vec<Node<'_>> = node
            .child_by_field_name("arguments")
            .map(|list| children(list).into_iter().filter(Node::is_named).collect())
            .unwrap_or_default();
        if let Some(object) = callee
            .strip_suffix(".copy")
            .or_else(|| callee.strip_suffix(".clone"))
            && arguments.is_empty()
        {
            self.add(Operator::StaleReference, node, object.to_owned());
        }
        let copies = [
            "list",
            "dict",
            "set",
            "tuple",
            "np.array",
            "numpy.array",
            "deepcopy",
            "copy.deepcopy",
            "copy.copy",
        ];
        if let ([first, ..], true) = (arguments.as_slice(), copies.contains(&callee))
            && matches!(first.kind(), "identifier" | "attribute" | "subscript")
        {
            let inner = module.source(*first).to_owned();
            self.add(Operator::StaleReference, node, inner);
        }
        if callee == "range"
            && let Some(last) = arguments.get(usize::from(arguments.len() > 1))
        {
            self.less(*last);
        }
        if callee == "max" || callee == "min" {
            let other = if callee == "max" { "min" } else { "max" };
            if let Some(function) = node.child_by_field_name("function") {
                self.add(Operator::SwapArithmetic, function, other.into());
            }
        }
    }

    fn word(&mut self, node: Node<'_>) {
        let text = self.module.source(node);
        let swapped = match text {
            "sum" => "mean",
            "mean" => "sum",
            "SUM" => "AVG",
            "AVG" => "SUM",
            "\"sum\"" => "\"mean\"",
            "\"mean\"" => "\"sum\"",
            "'sum'" => "'mean'",
            "'mean'" => "'sum'",
            _ => "",
        };
        // the builtin has no counterpart
        let attribute = node.parent().is_some_and(|p| p.kind() == "attribute");
        if !swapped.is_empty() && (attribute || node.kind() == "string") {
            self.add(Operator::SwapSumMean, node, swapped.into());
        }
        let narrow = match text {
            "float64" => "float32",
            "float32" => "float16",
            "int64" => "int32",
            _ => return,
        };
        if attribute {
            self.add(Operator::NarrowType, node, narrow.into());
        }
    }

    fn slice(&mut self, node: Node<'_>) {
        let module = self.module;
        let text = module.source(node);
        if text.trim() != ":" {
            self.add(Operator::SendEverything, node, ":".into());
            if let Some(last) = children(node).into_iter().rfind(Node::is_named) {
                self.less(last);
            }
        }
    }

    fn comparison(&mut self, node: Node<'_>) {
        for part in children(node) {
            let (operator, other) = match part.kind() {
                "<" => (Operator::OffByOne, "<="),
                "<=" => (Operator::OffByOne, "<"),
                ">" => (Operator::OffByOne, ">="),
                ">=" => (Operator::OffByOne, ">"),
                "==" => (Operator::DropBranch, "!="),
                "!=" => (Operator::DropBranch, "=="),
                _ => continue,
            };
            let whole = shown(self.module.source(node));
            self.add(operator, part, other.into());
            if let Some(edit) = self.edits.last_mut() {
                edit.summary = format!("`{whole}` compares with `{other}`");
            }
        }
    }

    fn arithmetic(&mut self, node: Node<'_>) {
        let Some(operator) = node.child_by_field_name("operator") else {
            return;
        };
        let other = match operator.kind() {
            "+" => "-",
            "-" => "+",
            "*" => "/",
            "/" | "//" => "*",
            "%" => "//",
            _ => return,
        };
        let module = self.module;
        let right = module.field(node, "right");
        let boundary = ["+", "-"].contains(&operator.kind()) && right == "1";
        let whole = shown(module.source(node));
        if boundary {
            let left = module.field(node, "left").to_owned();
            self.add(Operator::OffByOne, node, left);
        }
        self.add(Operator::SwapArithmetic, operator, other.into());
        if let Some(edit) = self.edits.last_mut() {
            edit.summary = format!("`{whole}` computes with `{other}`");
        }
    }

    /// Parameters that are true or false by default have their default at the beginning.
    fn flags(&mut self, function: Node<'_>) {
        let module = self.module;
        let Some((list, body)) = function
            .child_by_field_name("parameters")
            .zip(function.child_by_field_name("body"))
        else {
            return;
        };
        let line_start = module.text[..body.start_byte()]
            .rfind('\n')
            .map_or(0, |n| n + 1);
        let indent = &module.text[line_start..body.start_byte()];
        if !indent.trim().is_empty() {
            return;
        }
        for parameter in children(list) {
            let value = module.field(parameter, "value");
            let name = module.field(parameter, "name");
            if ["True", "False", "None"].contains(&value) && !name.is_empty() {
                self.edits.push(Edit {
                    operator: Operator::IgnoreFlag,
                    line: function.start_position().row + 1,
                    range: body.start_byte()..body.start_byte(),
                    text: format!("{name} = {value}\n{indent}"),
                    summary: format!("`{name}` is always {value}"),
                });
            }
        }
    }
}

/// The function that a node stands in.
pub(super) fn enclosing(node: Node<'_>) -> Option<Node<'_>> {
    let mut at = node.parent()?;
    while at.kind() != "function_definition" {
        at = at.parent()?;
    }
    Some(at)
}

fn shown(text: &str) -> String {
    const LONGEST: usize = 50;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    let head: String = line.chars().take(LONGEST).collect();
    format!("{head}…")
}
