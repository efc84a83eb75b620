//! A measured value, or why there is none.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// In JSON the bare value, or one of `"unsupported"`, `"no_permission"`, `"lost"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading<T> {
    Value(T),
    /// The device, the driver or this machine does not tell.
    #[default]
    Unsupported,
    NoPermission,
    /// The device fell off the bus.
    Lost,
}

impl<T> Reading<T> {
    pub fn value(self) -> Option<T> {
        match self {
            Reading::Value(value) => Some(value),
            _ => None,
        }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Reading::Value(value) => Reading::Value(change(value)),
            Reading::Unsupported => Reading::Unsupported,
            Reading::NoPermission => Reading::NoPermission,
            Reading::Lost => Reading::Lost,
        }
    }

    pub fn as_ref(&self) -> Reading<&T> {
        match self {
            Reading::Value(value) => Reading::Value(value),
            Reading::Unsupported => Reading::Unsupported,
            Reading::NoPermission => Reading::NoPermission,
            Reading::Lost => Reading::Lost,
        }
    }

    /// The word for a value that is not known.
    pub fn unknown(&self) -> Option<&'static str> {
        match self {
            Reading::Value(_) => None,
            Reading::Unsupported => Some("unsupported"),
            Reading::NoPermission => Some("no_permission"),
            Reading::Lost => Some("lost"),
        }
    }
}

impl<T> From<std::io::Result<T>> for Reading<T> {
    fn from(result: std::io::Result<T>) -> Self {
        match result {
            Ok(value) => Reading::Value(value),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                Reading::NoPermission
            }
            Err(_) => Reading::Unsupported,
        }
    }
}

impl<T: Serialize> Serialize for Reading<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self, self.unknown()) {
            (Reading::Value(value), _) => value.serialize(serializer),
            (_, word) => serializer.serialize_str(word.unwrap_or("unsupported")),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Reading<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Word {
            Unsupported,
            NoPermission,
            Lost,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Wire<T> {
            Word(Word),
            Value(T),
        }
        Ok(match Wire::deserialize(deserializer)? {
            Wire::Value(value) => Reading::Value(value),
            Wire::Word(Word::Unsupported) => Reading::Unsupported,
            Wire::Word(Word::NoPermission) => Reading::NoPermission,
            Wire::Word(Word::Lost) => Reading::Lost,
        })
    }
}

impl<T: JsonSchema> JsonSchema for Reading<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Reading_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [value, { "enum": ["unsupported", "no_permission", "lost"] }]
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn unknown_is_a_word_and_never_a_number() {
        let all: [Reading<u32>; 4] = [
            Reading::Value(0),
            Reading::Unsupported,
            Reading::NoPermission,
            Reading::Lost,
        ];
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(text, r#"[0,"unsupported","no_permission","lost"]"#);
        let back: [Reading<u32>; 4] = serde_json::from_str(&text).unwrap();
        assert_eq!(back, all);
        assert_eq!(all.map(Reading::value), [Some(0), None, None, None]);
        let words: Reading<Vec<String>> = serde_json::from_str(r#"["power cap"]"#).unwrap();
        assert_eq!(words, Reading::Value(vec!["power cap".to_string()]));
    }
}
