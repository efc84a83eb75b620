//! How deep a source may be nested. What reads a module goes down into it by calls, and a stack
//! that is used up ends the process.

use tree_sitter::Tree;

/// Levels of nodes. A long sum counts, since each of its terms is a level.
const DEEPEST: usize = 1_000;

/// The line of the first node that is nested too deeply.
pub(super) fn too_deep(tree: &Tree) -> Option<usize> {
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        if depth > DEEPEST {
            return Some(cursor.node().start_position().row + 1);
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
            depth -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::TaskSpec;
    use crate::python::audit::{self, AuditInput};
    use crate::python::contract::{self, ContractInput};
    use crate::python::{Files, Module, ParseError, code, hollow, mutants, twin};

    /// What a thread of the runtime has.
    const STACK: usize = 2 << 20;

    fn nested(levels: usize) -> [String; 3] {
        let mut blocks = String::new();
        // two levels of nodes a block
        for level in 0..levels / 2 {
            blocks.push_str(&" ".repeat(level + 1));
            blocks.push_str("if x:\n");
        }
        blocks.push_str(&" ".repeat(levels / 2 + 1));
        blocks.push_str("assert x\n");
        [
            format!(" assert x == {}1\n", "-".repeat(levels)),
            format!(" assert {}1 == x\n", "x + ".repeat(levels)),
            blocks,
        ]
    }

    fn files(text: &str) -> Files {
        Files::from([("tests/test_a.py".to_owned(), text.as_bytes().to_vec())])
    }

    #[test]
    fn what_is_taken_for_a_module_can_be_read_by_all_that_read_one() {
        let spec: TaskSpec = toml::from_str(
            "schema = 1\nid = \"t\"\ntitle = \"t\"\narea = \"rl\"\nkind = \"feature\"\nrepository = \"t/t\"\n\
             [source]\nbase = \"base\"\n[gold]\npatch = \"gold.patch\"\n[environment]\nkind = \"host\"\n\
             [suites.official]\nfrom = \"official\"\ninto = \"tests\"\n",
        )
        .unwrap();
        let read = move || {
            for (at, body) in nested(DEEPEST - 20).into_iter().enumerate() {
                let text = format!("def test_a(x):\n{body}");
                let module = Module::parse(&text).unwrap();
                assert!(!code(&module, &module.functions()[0]).is_empty());
                twin(&text, "n").unwrap();
                let (base, gold) = (files("def test_a(x):\n pass\n"), files(&text));
                audit::audit(&AuditInput {
                    spec: &spec,
                    official: &gold,
                    probes: &gold,
                    base_tests: &base,
                });
                contract::contract(&ContractInput {
                    spec: &spec,
                    base: &base,
                    gold: &gold,
                    official: &gold,
                    probes: &gold,
                });
                hollow::hollow(&base, &gold);
                // a mutant of each of many places takes a while
                if at == 0 {
                    mutants::mutants(&base, &gold);
                }
            }
        };
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(read);
        thread.unwrap().join().unwrap();
    }

    #[test]
    fn deeper_sources_are_refused_with_their_line() {
        // the parser itself refuses as many blocks
        for body in &nested(3 * DEEPEST)[..2] {
            let text = format!("def test_a(x):\n{body}");
            let refused = Module::parse(&text).err().unwrap();
            assert!(matches!(refused, ParseError::Deep { .. }), "{refused}");
        }
    }
}
