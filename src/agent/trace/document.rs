//! Walks a log that is one JSON document part by part, so that a large one is never whole in
//! memory and a cut one gives what it has.

use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::domain::submission::LogFormat;

use super::atif::Atif;
use super::entry::{Entry, Kind};
use super::lossy::Lossy;
use super::mini::Mini;
use super::openhands::Openhands;
use super::reader::{Out, TraceReader};
use super::sweagent::SweAgent;

const PIECE: usize = 256 << 10;
/// A longer first line is no event of a stream.
const FIRST_LINE: u64 = 32 << 20;

/// How the value of a key is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A list, one item after the other.
    Items,
    /// A list of documents like this one.
    Documents,
    Whole,
    Skip,
}

/// Takes the parts of a document as they are read.
pub trait Parts {
    /// Called once for each key when it is come to.
    fn part(&mut self, key: &str, out: &mut Out) -> Part;
    /// The key is empty where the document is a bare list.
    fn item(&mut self, key: &str, item: &Value, out: &mut Out);
    fn field(&mut self, key: &str, value: &Value, out: &mut Out);
    /// Before each of [`Part::Documents`].
    fn enter(&mut self, _out: &mut Out) {}
    /// After each of them.
    fn leave(&mut self, _out: &mut Out) {}
    fn finish(&mut self, out: &mut Out);
}

/// Calls `each` after every part. An error is one of the source.
pub fn walk(
    source: impl Read,
    format: LogFormat,
    out: &mut Out,
    each: &mut dyn FnMut(&mut Out),
) -> io::Result<()> {
    match format {
        LogFormat::SweAgent => walk_parts(source, &mut SweAgent::default(), out, each),
        LogFormat::Atif => walk_parts(source, &mut Atif::default(), out, each),
        LogFormat::Openhands => walk_openhands(source, out, each),
        _ => walk_parts(source, &mut Mini::default(), out, each),
    }
}

/// A list of events, a document with one, or an event a line: the first line tells.
fn walk_openhands(
    source: impl Read,
    out: &mut Out,
    each: &mut dyn FnMut(&mut Out),
) -> io::Result<()> {
    let mut source = BufReader::with_capacity(PIECE, source);
    let mut first = Vec::new();
    while first.trim_ascii().is_empty() {
        first.clear();
        let read = source
            .by_ref()
            .take(FIRST_LINE)
            .read_until(b'\n', &mut first)?;
        if read == 0 {
            break;
        }
    }
    let start = first.trim_ascii();
    let event = || serde_json::from_slice::<IgnoredAny>(start).is_ok();
    let document = match start.split_first() {
        Some((b'{', _)) => !event(),
        // and not the `[time]` of a text
        Some((b'[', rest)) => matches!(
            rest.trim_ascii_start().first(),
            None | Some(b'{' | b'[' | b']')
        ),
        _ => false,
    };
    let mut source = Cursor::new(first).chain(source);
    if document {
        return walk_parts(source, &mut Openhands::default(), out, each);
    }
    let mut reader = TraceReader::lines(LogFormat::Openhands);
    reader.out = std::mem::take(out);
    let mut piece = vec![0; PIECE];
    loop {
        let length = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => length,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        reader.take(&piece[..length]);
        each(&mut reader.out);
    }
    reader.end();
    *out = reader.out;
    each(out);
    Ok(())
}

fn walk_parts(
    source: impl Read,
    parts: &mut dyn Parts,
    out: &mut Out,
    each: &mut dyn FnMut(&mut Out),
) -> io::Result<()> {
    let source = BufReader::with_capacity(PIECE, Lossy::new(source));
    let mut json = serde_json::Deserializer::from_reader(source);
    let document = Document { parts, out, each };
    let read = document.deserialize(&mut json).and_then(|()| json.end());
    if let Err(e) = read {
        if e.is_io() {
            return Err(e.into());
        }
        out.facts.cut = true;
        out.facts.unparsed_lines += 1;
        if out.count() == 0 {
            let text = format!("no whole trajectory: {e}");
            out.push(Entry::new(None, Kind::Raw { text }));
        }
    }
    parts.finish(out);
    each(out);
    Ok(())
}

struct Document<'a> {
    parts: &'a mut dyn Parts,
    out: &'a mut Out,
    each: &'a mut dyn FnMut(&mut Out),
}

impl Document<'_> {
    fn inner(&mut self) -> Document<'_> {
        Document {
            parts: &mut *self.parts,
            out: &mut *self.out,
            each: &mut *self.each,
        }
    }

    fn items<'de, A: SeqAccess<'de>>(self, key: &str, mut list: A) -> Result<(), A::Error> {
        while let Some(item) = list.next_element::<Value>()? {
            self.parts.item(key, &item, self.out);
            (self.each)(self.out);
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with what happened, or a list of it")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        self.items("", list)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match self.parts.part(&key, self.out) {
                part @ (Part::Items | Part::Documents) => map.next_value_seed(List {
                    key: &key,
                    part,
                    document: self.inner(),
                })?,
                Part::Whole => {
                    self.parts
                        .field(&key, &map.next_value::<Value>()?, self.out);
                    (self.each)(self.out);
                }
                Part::Skip => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct List<'a> {
    key: &'a str,
    part: Part,
    document: Document<'a>,
}

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        if self.part == Part::Items {
            return self.document.items(self.key, list);
        }
        while list
            .next_element_seed(Inner(self.document.inner()))?
            .is_some()
        {
            // a cut document is left open: it has no end
            self.document.parts.leave(self.document.out);
        }
        Ok(())
    }
}

struct Inner<'a>(Document<'a>);

impl<'de> DeserializeSeed<'de> for Inner<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        self.0.parts.enter(self.0.out);
        self.0.deserialize(json)
    }
}
