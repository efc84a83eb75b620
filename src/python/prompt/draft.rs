//! A prompt to begin with: what contract and claims say, in the template.

use crate::domain::TaskSpec;
use crate::python::contract::{Contract, State, Symbol, SymbolKind};

const TEMPLATE: &str = include_str!("../../../assets/prompt/task.md");

/// Fills the template. Claims are stated as they stand in the task; the author turns them into
/// requirements, and leaves out what is ambiguous.
pub fn draft(spec: &TaskSpec, contract: &Contract) -> String {
    let list = |lines: Vec<String>| {
        if lines.is_empty() {
            "Nothing.".to_owned()
        } else {
            lines.join("\n")
        }
    };
    let new = |s: &&Symbol| s.state != State::InBase;
    let interface = contract.symbols.iter().filter(new).map(item).collect();
    let existing = contract
        .symbols
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
    let mut rest = TEMPLATE;
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
    format!("- `{}{}`: {what}{changed}.", symbol.name, symbol.signature)
}
