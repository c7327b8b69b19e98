//! The result of a test: value, interpretation and reference range of an Observation.

use super::quantity::{Amount, Unit, amount, quantity};
use crate::Record;
use crate::attributes::{normal_or_words, said};
use pel_text::attributes::{AttributeName, Value as Normal};
use serde_json::{Map, Value, json};

/// The fields that a test's attributes give. Without a value there is none of the names `value…`
/// and `component`.
pub(super) fn fields(text: &str, record: &Record) -> Vec<(&'static str, Value)> {
    let mut fields = Vec::new();
    fields.extend(value(text, record));
    if let Some(flag) = record.sole_attribute(AttributeName::Flag) {
        let normal = flag.value.as_ref().map(Normal::to_string);
        let known = FLAGS
            .iter()
            .find(|(name, ..)| normal.as_deref() == Some(name));
        let mut interpretation = json!({ "text": said(text, flag) });
        if let Some((_, code, display)) = known {
            let coding = json!({ "system": FLAG, "code": code, "display": display });
            interpretation["coding"] = json!([coding]);
        }
        fields.push(("interpretation", json!([interpretation])));
    }
    if let Some(range) = range(text, record) {
        fields.push(("referenceRange", json!([range])));
    }
    fields
}

/// The code system of interpretations.
const FLAG: &str = "http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation";

/// Flags with their codes and the names of these.
const FLAGS: [(&str, &str, &str); 4] = [
    ("high", "H", "High"),
    ("low", "L", "Low"),
    ("normal", "N", "Normal"),
    ("abnormal", "A", "Abnormal"),
];

/// The value. Several values are words: which of them is the result of the test, the text alone can
/// tell.
fn value(text: &str, record: &Record) -> Option<(&'static str, Value)> {
    record.attributes_named(AttributeName::Value).next()?;
    let cell = || record.attribute_cell(text, AttributeName::Value);
    let words = || ("valueString", cell().replace('|', "; ").into());
    let Some(value) = record.sole_attribute(AttributeName::Value) else {
        return Some(words());
    };
    let normal = normal_or_words(text, value);
    if normal.is_empty() {
        return None;
    }
    let unit = unit(text, record);
    let is_pressure = record.decision.as_ref().is_ok_and(|named| {
        let name = named.name.to_lowercase();
        name.contains("blood pressure")
    });
    if let Some((above, below)) = normal.split_once('/')
        && is_pressure
        && let Some(components) = pressures(above, below)
    {
        return Some(("component", components));
    }
    let mut found = match amount(&normal, unit.as_deref().map_or(Unit::None, Unit::Ucum)) {
        Some(Amount::Quantity(found)) => found,
        Some(Amount::Range(found)) => return Some(("valueRange", found)),
        // A word is a code that the text does not give.
        None if normal.chars().any(char::is_alphabetic) => {
            let concept = json!({ "text": normal });
            return Some(("valueCodeableConcept", concept));
        }
        None => return Some(words()),
    };
    if let Some(comparator) = record.sole_attribute(AttributeName::Comparator) {
        let sign = normal_or_words(text, comparator);
        if !["<", "<=", ">", ">="].contains(&sign.as_str()) {
            return Some(("valueString", format!("{sign} {normal}").into()));
        }
        found["comparator"] = sign.into();
    }
    Some(("valueQuantity", found))
}

/// The unit of the value, if the text says one alone and it has a code in UCUM.
fn unit(text: &str, record: &Record) -> Option<String> {
    let unit = record.sole_attribute(AttributeName::Unit)?;
    unit.value.as_ref()?;
    Some(normal_or_words(text, unit)).filter(|unit| !unit.contains(char::is_whitespace))
}

/// A blood pressure as its two components, in the shape of FHIR's vital signs.
fn pressures(above: &str, below: &str) -> Option<Value> {
    let component = |code: &str, display: &str, number: &str| {
        Some(json!({
            "code": {
                "coding": [{ "system": "http://loinc.org", "code": code, "display": display }],
            },
            "valueQuantity": quantity(number, Unit::Ucum("mm[Hg]"))?,
        }))
    };
    Some(json!([
        component("8480-6", "Systolic blood pressure", above)?,
        component("8462-4", "Diastolic blood pressure", below)?,
    ]))
}

/// The reference range, with its words.
fn range(text: &str, record: &Record) -> Option<Value> {
    let range = record.sole_attribute(AttributeName::Range)?;
    let mut fields = Map::new();
    fields.insert("text".to_owned(), said(text, range).into());
    let unit = unit(text, record);
    let unit = unit.as_deref().map_or(Unit::None, Unit::Ucum);
    let normal = normal_or_words(text, range);
    let ends = match normal.split_once("..") {
        Some((low, high)) => [("low", low), ("high", high)].to_vec(),
        None => match normal.strip_prefix('<') {
            Some(high) => [("high", high.trim_start_matches('='))].to_vec(),
            None => match normal.strip_prefix('>') {
                Some(low) => [("low", low.trim_start_matches('='))].to_vec(),
                None => Vec::new(),
            },
        },
    };
    for (name, number) in ends {
        if let Some(end) = quantity(number.trim(), unit) {
            fields.insert(name.to_owned(), end);
        }
    }
    Some(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Named;
    use crate::testing::record;
    use pel_text::Span;
    use pel_text::attributes::{Anchor, AttributeRules, Kind};

    /// The fields of a line that begins with a test of these words.
    fn of(line: &str, test: &str, concept: &str) -> Value {
        let span = Span::new(0, test.len());
        let anchor = Anchor {
            pieces: &[span],
            kind: Kind::Test,
        };
        let mut test = record(span);
        test.decision = Ok(Named {
            name: concept.to_owned(),
            ..Named::default()
        });
        let found = AttributeRules::english().find(line, &[anchor]);
        test.attributes = found.into_iter().next().expect("one mention");
        let fields = fields(line, &test);
        Value::Object(fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
    }

    #[test]
    fn results_have_a_quantity_a_flag_and_a_range() {
        let found = of(
            "Potassium 5.9 mmol/L (H) (3.5-5.1)",
            "Potassium",
            "potassium",
        );
        let value = &found["valueQuantity"];
        assert_eq!(
            (&value["value"], &value["code"]),
            (&json!(5.9), &json!("mmol/L"))
        );
        assert_eq!(found["interpretation"][0]["coding"][0]["code"], "H");
        assert_eq!(found["referenceRange"][0]["high"]["value"], json!(5.1));
    }

    #[test]
    fn bounds_and_words_are_no_plain_numbers() {
        let found = of("Troponin <0.04 ng/mL", "Troponin", "troponin");
        assert_eq!(found["valueQuantity"]["comparator"], "<");
        let found = of("Urine culture negative", "Urine culture", "urine culture");
        assert_eq!(found["valueCodeableConcept"]["text"], "negative");
    }

    #[test]
    fn blood_pressure_has_two_components() {
        let found = of("BP 128/72 mmHg", "BP", "Blood pressure");
        let component = &found["component"];
        assert_eq!(component[0]["valueQuantity"]["value"], 128);
        assert_eq!(component[1]["valueQuantity"]["value"], 72);
        assert!(found.get("valueQuantity").is_none());
    }

    #[test]
    fn a_test_without_a_result_has_no_value() {
        assert_eq!(
            of("Potassium was not sent.", "Potassium", "potassium"),
            json!({})
        );
    }
}
