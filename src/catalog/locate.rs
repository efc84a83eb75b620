//! Lines of values in a TOML text, for messages.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A step into a document: a key or an index.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// 1-based line of a byte offset.
pub fn line_at(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    memchr::memchr_iter(b'\n', &text.as_bytes()[..end]).count() + 1
}

/// 1-based line of the value at `path`; where it is absent, of the deepest part that is there.
pub fn line_of(text: &str, path: &[Step<'_>]) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut offset = None;
    let Some((Step::Key(first), rest)) = path.split_first() else {
        return None;
    };
    let mut value: &Spanned<DeValue<'_>> = lookup(table.get_ref(), first, &mut offset)?;
    for step in rest {
        let next = match (step, value.get_ref()) {
            (Step::Key(key), DeValue::Table(table)) => lookup(table, key, &mut offset),
            (Step::Index(i), DeValue::Array(array)) => {
                let item = array.get(*i);
                if let Some(item) = item {
                    offset = Some(item.span().start);
                }
                item
            }
            _ => None,
        };
        match next {
            Some(next) => value = next,
            None => break,
        }
    }
    offset.map(|o| line_at(text, o))
}

fn lookup<'t, 'i>(
    table: &'t DeTable<'i>,
    key: &str,
    offset: &mut Option<usize>,
) -> Option<&'t Spanned<DeValue<'i>>> {
    let (_, value) = table.iter().find(|(k, _)| k.get_ref().as_ref() == key)?;
    *offset = Some(value.span().start);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tables_and_items() {
        let text = "a = 1\n[b]\nc = \"x\"\n\n[[d]]\nname = \"one\"\n\n[[d]]\nname = \"two\"\nlist = [\n \"p\",\n \"q\",\n]\n";
        assert_eq!(line_of(text, &[Step::Key("b"), Step::Key("c")]), Some(3));
        assert_eq!(
            line_of(text, &[Step::Key("d"), Step::Index(1), Step::Key("name")]),
            Some(9)
        );
        assert_eq!(
            line_of(
                text,
                &[
                    Step::Key("d"),
                    Step::Index(1),
                    Step::Key("list"),
                    Step::Index(1)
                ]
            ),
            Some(12)
        );
        assert_eq!(
            line_of(text, &[Step::Key("d"), Step::Index(1), Step::Key("none")]),
            Some(8)
        );
        assert_eq!(line_of(text, &[Step::Key("nothing")]), None);
    }
}
