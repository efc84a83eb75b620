//! Walks a mini-swe-agent document message by message, so that a large one is never whole in
//! memory and a cut one gives what it has.

use std::fmt;
use std::io::{self, BufReader, Read};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::entry::{Entry, Kind};
use super::lossy::Lossy;
use super::mini::Mini;
use super::reader::Out;

/// Calls `each` after every message. An error is one of the source.
pub fn walk(source: impl Read, out: &mut Out, each: &mut dyn FnMut(&mut Out)) -> io::Result<()> {
    let mut mini = Mini::default();
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(Lossy::new(source)));
    let document = Document {
        mini: &mut mini,
        out,
        each,
    };
    let read = document.deserialize(&mut json).and_then(|()| json.end());
    if let Err(e) = read {
        if e.is_io() {
            return Err(e.into());
        }
        out.facts.cut = true;
        out.facts.unparsed_lines += 1;
        if out.count() == 0 {
            let text = format!("no whole mini-swe-agent trajectory: {e}");
            out.push(Entry::new(None, Kind::Raw { text }));
        }
    }
    mini.finish(out);
    each(out);
    Ok(())
}

struct Document<'a> {
    mini: &'a mut Mini,
    out: &'a mut Out,
    each: &'a mut dyn FnMut(&mut Out),
}

impl Document<'_> {
    fn messages<'de, A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(message) = list.next_element::<Value>()? {
            self.mini.message(&message, self.out);
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
        f.write_str("an object with messages, or a list of them")
    }

    // version 1 wrote a bare list
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        self.messages(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "messages" => map.next_value_seed(Messages(Document {
                    mini: &mut *self.mini,
                    out: &mut *self.out,
                    each: &mut *self.each,
                }))?,
                "info" => self.mini.info(&map.next_value::<Value>()?, self.out),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct Messages<'a>(Document<'a>);

impl<'de> DeserializeSeed<'de> for Messages<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        self.0.messages(list)
    }
}
