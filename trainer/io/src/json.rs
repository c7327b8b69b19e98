//! JSON texts.

use pel_kb::error::{Error, Result};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// A value as JSON on one line.
///
/// # Errors
/// If it cannot be encoded.
pub fn compact(value: &(impl Serialize + ?Sized)) -> Result<String> {
    serde_json::to_string(value).map_err(|cause| Error::io("encoding JSON").caused_by(cause))
}

/// A value as indented JSON.
///
/// # Errors
/// If it cannot be encoded.
pub fn pretty(value: &(impl Serialize + ?Sized)) -> Result<String> {
    serde_json::to_string_pretty(value).map_err(|cause| Error::io("encoding JSON").caused_by(cause))
}

/// Any JSON, in whose objects each name stands once. A [`Value`] keeps the last of several.
#[derive(Debug, PartialEq)]
pub struct UniqueNames(pub Value);

impl<'de> Deserialize<'de> for UniqueNames {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyValue).map(Self)
    }
}

/// The error for a name that stands twice in an object.
pub fn repeated_name<E: serde::de::Error>(name: &str) -> E {
    let name: String = name.chars().take(40).collect();
    E::custom(format!("the field {name} stands twice"))
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number without end"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(UniqueNames(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = object.next_key::<String>()? {
            if members.contains_key(&name) {
                return Err(repeated_name(&name));
            }
            let UniqueNames(value) = object.next_value()?;
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_with_unique_names_is_the_value() {
        for text in [
            r#"{"a": [1, -2, 2.5, 1e300, true, null, "\u00e9"], "b": {"a": {}, "c": []}}"#,
            "18446744073709551615",
            "\"a\"",
        ] {
            let UniqueNames(value) = serde_json::from_str(text).expect(text);
            assert_eq!(value, serde_json::from_str::<Value>(text).expect(text));
        }
    }

    #[test]
    fn repeated_name_is_refused_at_any_depth() {
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"[{"b": {"c": 1, "a": 2, "\u0061": 3}}]"#,
        ] {
            let error = serde_json::from_str::<UniqueNames>(text).expect_err(text);
            assert!(
                error.to_string().contains("the field a stands twice"),
                "{error}"
            );
        }
    }
}
