//! The parts of a Python file that are compared one by one.

use std::ops::Range;
use std::sync::Arc;

use tree_sitter::Node;

use crate::diff::align::{SourceFile, Unit, UnitKind};

use super::files::is_python;
use super::symbols::{Module, children};

/// A file cut into its functions, its classes without them, and the rest of the module. Other
/// files than Python's, and those that cannot be read as such, are one part.
pub fn source_file(path: impl Into<String>, text: Arc<Vec<u8>>) -> SourceFile {
    let path = path.into();
    let units = (is_python(&path))
        .then(|| std::str::from_utf8(&text).ok())
        .flatten()
        .and_then(|text| Module::parse(text).ok())
        .map(|module| units(&module));
    SourceFile::new(path, text, units.unwrap_or_default())
}

fn units(module: &Module<'_>) -> Vec<Unit> {
    let lines: Vec<&str> = module.text.split('\n').collect();
    let mut found: Vec<Unit> = vec![Unit {
        kind: UnitKind::Rest,
        name: String::new(),
        lines: Vec::new(),
    }];
    // which part a line is of: inner ones are met after those around them
    let mut owner = vec![0usize; lines.len()];
    let mut stack = vec![(module.root(), String::new())];
    while let Some((node, prefix)) = stack.pop() {
        let inside = match node.kind() {
            "function_definition" | "class_definition" => {
                let unit = unit(module, node, &prefix);
                let whole = with_comments(&lines, lines_of(node));
                if let Some(part) = owner.get_mut(whole) {
                    part.fill(found.len());
                }
                let class = unit.kind == UnitKind::Class;
                let inside = class.then(|| format!("{}.", unit.name));
                found.push(unit);
                inside
            }
            _ => Some(prefix),
        };
        if let Some(prefix) = inside {
            let inner = children(node).into_iter().rev();
            stack.extend(inner.map(|child| (child, prefix.clone())));
        }
    }
    for (part, range) in stretches(&lines, &owner) {
        found[part].lines.push(range);
    }
    found.retain(|unit| !unit.lines.is_empty());
    found
}

fn unit(module: &Module<'_>, node: Node<'_>, prefix: &str) -> Unit {
    let name = format!("{prefix}{}", module.field(node, "name"));
    let class = node.kind() == "class_definition";
    let suffix = if class {
        None
    } else if module.is_overload(node) {
        Some("overload")
    } else {
        module.accessor(node)
    };
    Unit {
        kind: if class {
            UnitKind::Class
        } else {
            UnitKind::Function
        },
        name: suffix.map_or(name.clone(), |suffix| format!("{name}.{suffix}")),
        lines: Vec::new(),
    }
}

/// The lines of a definition, with its decorators.
fn lines_of(node: Node<'_>) -> Range<usize> {
    let decorated = node
        .parent()
        .filter(|p| p.kind() == "decorated_definition")
        .unwrap_or(node);
    let end = node.end_position();
    let last = end.row + usize::from(end.column > 0);
    decorated.start_position().row..last.max(node.start_position().row + 1)
}

/// Comments right above a definition speak of it.
fn with_comments(lines: &[&str], range: Range<usize>) -> Range<usize> {
    let above = lines.get(..range.start).unwrap_or_default();
    let comments = above
        .iter()
        .rev()
        .take_while(|line| line.trim_start().starts_with('#'))
        .count();
    range.start - comments..range.end
}

/// Runs of lines of one part. Blank lines between two parts are of neither.
fn stretches(lines: &[&str], owner: &[usize]) -> Vec<(usize, Range<u32>)> {
    let mut runs: Vec<(usize, Range<u32>)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let at = at as u32;
        match runs.last_mut() {
            // blank lines since the last one are within the part
            Some((part, range)) if *part == owner[at as usize] => range.end = at + 1,
            _ => runs.push((owner[at as usize], at..at + 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"import x

LIMIT = 3

# speaks of f
@deco
def f(a):
    # why

    def inner():
        return 1
    return inner


class A(B):
    """Doc."""

    size = 1

    def m(self):
        return 2

    @property
    def p(self): return 3

    @p.setter
    def p(self, v): pass

    class In:
        def deep(self): pass
    after = 2

if x:
    def late():
        return """
# not a comment of anything
"""
    y = 1
"#;

    #[test]
    fn every_line_has_its_part() {
        let file = source_file("a.py", Arc::new(TEXT.into()));
        let brief: Vec<(&str, Vec<Range<u32>>)> = file
            .units
            .iter()
            .map(|u| (u.name.as_str(), u.lines.clone()))
            .collect();
        // from 0, without the last
        let lines = |ranges: &[(u32, u32)]| ranges.iter().map(|(a, b)| *a..*b).collect::<Vec<_>>();
        assert_eq!(
            brief,
            [
                ("", lines(&[(0, 3), (32, 33), (37, 38)])),
                ("f", lines(&[(4, 12)])),
                ("A", lines(&[(14, 18), (30, 31)])),
                ("A.m", lines(&[(19, 21)])),
                ("A.p", lines(&[(22, 24)])),
                ("A.p.setter", lines(&[(25, 27)])),
                ("A.In", lines(&[(28, 29)])),
                ("A.In.deep", lines(&[(29, 30)])),
                ("late", lines(&[(33, 37)])),
            ]
        );
    }

    #[test]
    fn what_is_no_python_is_one_part() {
        for (path, text) in [
            ("a.md", "def f(): pass\n"),
            ("a.py", "def f(:\n"),
            ("b.py", "\0"),
            ("c.py", ""),
        ] {
            let file = source_file(path, Arc::new(text.into()));
            assert_eq!(file.units.len(), 1, "{path}");
            assert_eq!(file.units[0].kind, UnitKind::File, "{path}");
        }
    }
}
