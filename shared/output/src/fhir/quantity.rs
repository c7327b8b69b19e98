//! Numbers and amounts of attributes as FHIR's Quantity and Range.

use serde_json::{Map, Number, Value, json};

/// FHIR's name of UCUM.
const UCUM: &str = "http://unitsofmeasure.org";

/// The unit of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit<'a> {
    /// A code of UCUM: "mg".
    Ucum(&'a str),
    /// A word: "tablet".
    Word(&'a str),
    /// None.
    None,
}

/// An amount, or the two ends of a range.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Amount {
    /// A Quantity.
    Quantity(Value),
    /// A Range.
    Range(Value),
}

/// The amount of a number or of two ("4..5"), in a unit. `None` if it is no number.
pub(super) fn amount(numbers: &str, unit: Unit<'_>) -> Option<Amount> {
    match numbers.split_once("..") {
        Some((low, high)) => Some(Amount::Range(json!({
            "low": quantity(low, unit)?,
            "high": quantity(high, unit)?,
        }))),
        None => quantity(numbers, unit).map(Amount::Quantity),
    }
}

/// The Quantity of a number in a unit. `None` if it is no number.
pub(super) fn quantity(number: &str, unit: Unit<'_>) -> Option<Value> {
    let mut fields = Map::new();
    fields.insert("value".to_owned(), decimal(number)?.into());
    match unit {
        Unit::Ucum(code) => {
            fields.insert("unit".to_owned(), code.into());
            fields.insert("system".to_owned(), UCUM.into());
            fields.insert("code".to_owned(), code.into());
        }
        Unit::Word(word) => {
            fields.insert("unit".to_owned(), word.into());
        }
        Unit::None => {}
    }
    Some(Value::Object(fields))
}

/// A decimal of digits with at most one point, with the digits that the text has.
pub(super) fn decimal(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits = |part: &str| !part.is_empty() && part.bytes().all(|one| one.is_ascii_digit());
    // A decimal of 15 digits is the same in 64 bits.
    if !are_digits(whole) || !are_digits(rest) || digits.len() > 15 {
        return None;
    }
    match digits.contains('.') {
        true => Number::from_f64(text.parse().ok()?),
        false => Some(text.parse::<i64>().ok()?.into()),
    }
}

/// The number and the unit of a normal form: "20 mg", "1..2 puff", "2".
pub(super) fn parted(normal: &str) -> (&str, Option<&str>) {
    match normal.split_once(' ') {
        Some((number, unit)) => (number, Some(unit)),
        None => (normal, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_value() {
        let value = |text| decimal(text).map(|number| number.to_string());
        assert_eq!(value("1000").as_deref(), Some("1000"));
        assert_eq!(value("0.25").as_deref(), Some("0.25"));
        assert_eq!(value("-1.5").as_deref(), Some("-1.5"));
        for text in ["", ".", "1.", "1,000", "1.000.5", "2+", "1e5", "--1", "NaN"] {
            assert_eq!(value(text), None, "{text:?}");
        }
    }

    #[test]
    fn amounts_have_a_quantity_or_a_range() {
        let milligrams = Unit::Ucum("mg");
        let twenty = json!({ "value": 20, "unit": "mg", "system": UCUM, "code": "mg" });
        assert_eq!(
            amount("20", milligrams),
            Some(Amount::Quantity(twenty.clone()))
        );
        let low = json!({ "value": 1, "unit": "puff" });
        let high = json!({ "value": 2, "unit": "puff" });
        assert_eq!(
            amount("1..2", Unit::Word("puff")),
            Some(Amount::Range(json!({ "low": low, "high": high })))
        );
        assert_eq!(amount("some", Unit::None), None);
        assert_eq!(parted("5000 [IU]"), ("5000", Some("[IU]")));
        assert_eq!(parted("2"), ("2", None));
    }
}
