//! What contract and claims say, in the template: the variants of a prompt, and one to begin with.

use super::sections::{Variant, cut};
use crate::domain::TaskSpec;
use crate::python::contract::{Contract, State, Symbol, SymbolKind};

const TEMPLATE: &str = include_str!("../../../assets/prompt/task.md");

/// All of the template, filled. Claims are stated as they stand in the task; the author turns them
/// into requirements, and leaves out what is ambiguous.
pub fn draft(spec: &TaskSpec, contract: &Contract) -> String {
    filled(TEMPLATE, spec, Some(contract))
}

/// A part of the template, filled from the task (METHOD.md section 4): a claim is its text, never
/// how it is checked. `contract` is asked for where the part states names. The error says what the
/// task lacks.
pub fn render<E: From<String>>(
    spec: &TaskSpec,
    variant: Variant,
    contract: impl FnOnce() -> Result<Contract, E>,
) -> Result<String, E> {
    // cut before it is filled: what is filled in may hold a heading
    let part = cut(TEMPLATE, variant)?;
    if part.contains("{behaviour}") && spec.claims.is_empty() {
        return Err(E::from("task.toml states no claim".to_owned()));
    }
    let named = part.contains("{interface}");
    let contract = named.then(contract).transpose()?;
    Ok(filled(&part, spec, contract.as_ref()))
}

fn filled(template: &str, spec: &TaskSpec, contract: Option<&Contract>) -> String {
    let list = |lines: Vec<String>| {
        if lines.is_empty() {
            "Nothing.".to_owned()
        } else {
            lines.join("\n")
        }
    };
    let new = |s: &&Symbol| s.state != State::InBase;
    let symbols = contract.map_or(&[][..], |c| c.symbols.as_slice());
    let interface = symbols.iter().filter(new).map(item).collect();
    let existing = symbols
        .iter()
        .filter(|s| !new(s))
        .map(|s| format!("- `{}`", s.name))
        .collect();
    let behaviour = spec
        .claims
        .iter()
        .map(|c| format!("- {}", c.text))
        .collect();
    let fields = [
        ("{title}", spec.title.clone()),
        ("{summary}", spec.summary.clone()),
        ("{interface}", list(interface)),
        ("{existing}", list(existing)),
        ("{behaviour}", list(behaviour)),
    ];
    // one pass: what is filled in may hold a brace
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        let field = fields.iter().find(|(name, _)| rest[at..].starts_with(name));
        if let Some((name, value)) = field {
            out.push_str(value);
            rest = &rest[at + name.len()..];
        } else {
            out.push('{');
            rest = &rest[at + 1..];
        }
    }
    out + rest
}

fn item(symbol: &Symbol) -> String {
    let what = match symbol.kind {
        SymbolKind::Attribute | SymbolKind::Variable | SymbolKind::Property => {
            format!(
                "an {}",
                if symbol.kind == SymbolKind::Property {
                    "attribute (read)"
                } else {
                    "attribute"
                }
            )
        }
        kind => format!("a {}", kind.name()),
    };
    let changed = match symbol.state {
        State::Changed => ", there already with another signature",
        _ => "",
    };
    let keywords = match symbol.keywords.as_slice() {
        [] => String::new(),
        all => {
            let all: Vec<String> = all.iter().map(|k| format!("`{k}`")).collect();
            format!("; given by keyword: {}", all.join(", "))
        }
    };
    let name = format!("{}{}", symbol.name, symbol.signature);
    format!("- `{name}`: {what}{changed}{keywords}.")
}
