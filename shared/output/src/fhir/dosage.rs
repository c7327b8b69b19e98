//! The Dosage of a drug.
//!
//! Where the text says two strengths, doses or frequencies, such as in a taper, the dosage has its
//! words alone: a program must not take one of them for the dose.

use super::codes::coded;
use super::quantity::{Amount, Unit, amount, decimal, parted, quantity};
use crate::Record;
use crate::attributes::said;
use pel_text::attributes::{Attribute, AttributeName, Timing, Value as Normal};
use serde_json::{Map, Value, json};

/// The attributes that a dosage is made of.
const PARTS: [AttributeName; 8] = [
    AttributeName::Strength,
    AttributeName::Dose,
    AttributeName::Form,
    AttributeName::Route,
    AttributeName::Frequency,
    AttributeName::Duration,
    AttributeName::Prn,
    AttributeName::Indication,
];

/// The attributes of which a dosage has at least one: a form or an indication alone is none.
const TELLING: [AttributeName; 6] = [
    AttributeName::Strength,
    AttributeName::Dose,
    AttributeName::Route,
    AttributeName::Frequency,
    AttributeName::Duration,
    AttributeName::Prn,
];

/// The dosage that the text states for a drug, if any.
pub(super) fn dosage(text: &str, record: &Record) -> Option<Value> {
    let mut telling = TELLING.iter();
    telling.find(|name| record.attributes_named(**name).next().is_some())?;
    let mut fields = Map::new();
    fields.insert("text".to_owned(), words(text, record)?.into());
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    if let Some(timing) = timing(record) {
        put("timing", timing);
    }
    let indication = sole(text, record, AttributeName::Indication);
    if record.attributes_named(AttributeName::Prn).next().is_some() {
        match indication {
            Some(reason) => put("asNeededCodeableConcept", json!({ "text": reason })),
            None => put("asNeededBoolean", true.into()),
        };
    }
    if let Some(route) = record.sole_attribute(AttributeName::Route) {
        put("route", self::route(text, route));
    }
    if let Some(dose) = dose(record) {
        put("doseAndRate", json!([dose]));
    }
    Some(Value::Object(fields))
}

/// What the drug is given for, unless the dosage says it as a condition.
pub(super) fn reason(text: &str, record: &Record) -> Option<Value> {
    let is_needed = record.attributes_named(AttributeName::Prn).next().is_some();
    let reason = sole(text, record, AttributeName::Indication).filter(|_| !is_needed)?;
    Some(json!([{ "text": reason }]))
}

fn sole(text: &str, record: &Record, name: AttributeName) -> Option<String> {
    let words = said(text, record.sole_attribute(name)?);
    (!words.is_empty()).then_some(words)
}

/// The words of the dosage: those of the text from its first part to its last, if they are in one
/// line and nothing but the dosage is between them; else the parts with commas between them.
fn words(text: &str, record: &Record) -> Option<String> {
    let is_part = |one: &&Attribute| PARTS.contains(&one.name) && !one.prior;
    let parts: Vec<&Attribute> = record.attributes.iter().filter(is_part).collect();
    let (first, last) = (parts.first()?, parts.iter().map(|one| one.span.end).max()?);
    let gaps = parts.windows(2).all(|two| {
        let gap = text.get(two[0].span.end..two[1].span.start);
        gap.is_none_or(|gap| gap.len() <= MOST_BETWEEN && !gap.contains(['\n', '\r', '.', ';']))
    });
    let whole = text.get(first.span.start..last).filter(|_| gaps);
    let words = match whole {
        Some(words) => crate::in_one_line(words),
        None => {
            let words: Vec<String> = parts.iter().map(|one| said(text, one)).collect();
            words.join(", ")
        }
    };
    (!words.is_empty()).then_some(words)
}

/// The most bytes between two parts of a dosage that is written as one.
const MOST_BETWEEN: usize = 12;

/// How often the drug is taken, and how long.
fn timing(record: &Record) -> Option<Value> {
    let normal = |name| record.sole_attribute(name)?.value.as_ref();
    let mut timing = Map::new();
    let mut repeat = Map::new();
    if let Some(Normal::Text(length)) = normal(AttributeName::Duration) {
        match length.split_once("..") {
            Some((low, high)) => {
                let range = bounds(low).zip(bounds(high));
                repeat.extend(range.map(|(low, high)| {
                    let range = json!({ "low": low, "high": high });
                    ("boundsRange".to_owned(), range)
                }));
            }
            None => repeat.extend(bounds(length).map(|one| ("boundsDuration".to_owned(), one))),
        }
    }
    match normal(AttributeName::Frequency) {
        Some(Normal::Text(code)) => {
            let (_, frequency, period, unit, when) =
                *CODES.iter().find(|(known, ..)| known == code)?;
            repeat.insert("frequency".to_owned(), frequency.into());
            repeat.insert("period".to_owned(), period.into());
            repeat.insert("periodUnit".to_owned(), unit.into());
            repeat.extend(when.map(|when| ("when".to_owned(), json!([when]))));
            timing.insert("code".to_owned(), coded(TIMING, code));
        }
        Some(Normal::Timing(timing)) => repeat.extend(repeated(timing)?),
        None => {}
    }
    if repeat.is_empty() {
        return None;
    }
    timing.insert("repeat".to_owned(), Value::Object(repeat));
    Some(Value::Object(timing))
}

/// The code system of abbreviations of timings.
const TIMING: &str = "http://terminology.hl7.org/CodeSystem/v3-GTSAbbreviation";

/// FHIR's codes of timings: how many times, in how long a period, and when in the day.
const CODES: [(&str, u32, u32, &str, Option<&str>); 13] = [
    ("QD", 1, 1, "d", None),
    ("BID", 2, 1, "d", None),
    ("TID", 3, 1, "d", None),
    ("QID", 4, 1, "d", None),
    ("QOD", 1, 2, "d", None),
    ("AM", 1, 1, "d", Some("MORN")),
    ("PM", 1, 1, "d", None),
    ("BED", 1, 1, "d", Some("HS")),
    ("WK", 1, 1, "wk", None),
    ("MO", 1, 1, "mo", None),
    ("Q4H", 1, 4, "h", None),
    ("Q6H", 1, 6, "h", None),
    ("Q8H", 1, 8, "h", None),
];

/// The members of a repetition. `None` if a part of it has no code in FHIR.
fn repeated(timing: &Timing) -> Option<Map<String, Value>> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("frequency", timing.frequency.into());
    if let Some(most) = timing.frequency_max {
        put("frequencyMax", most.into());
    }
    put("period", decimal(&timing.period.to_string())?.into());
    if let Some(longest) = timing.period_max {
        put("periodMax", decimal(&longest.to_string())?.into());
    }
    put("periodUnit", timing.unit.as_str().into());
    if let Some(when) = &timing.when {
        let (_, code) = WHEN.iter().find(|(known, _)| known == when)?;
        put("when", json!([code]));
    }
    Some(fields)
}

/// When in the day: names of timings, and FHIR's codes of events.
const WHEN: [(&str, &str); 20] = [
    ("AM", "MORN"),
    ("MORN", "MORN"),
    ("NOON", "NOON"),
    ("PM", "AFT"),
    ("AFT", "AFT"),
    ("EVE", "EVE"),
    ("NIGHT", "NIGHT"),
    ("BED", "HS"),
    ("HS", "HS"),
    ("AC", "AC"),
    ("ACM", "ACM"),
    ("ACD", "ACD"),
    ("ACV", "ACV"),
    ("PC", "PC"),
    ("PCM", "PCM"),
    ("PCV", "PCV"),
    ("C", "C"),
    ("CM", "CM"),
    ("CD", "CD"),
    ("CV", "CV"),
];

/// The Duration of an ISO 8601 duration: "P10D", "PT5H".
fn bounds(iso: &str) -> Option<Value> {
    let rest = iso.strip_prefix('P')?;
    let (time, rest) = match rest.strip_prefix('T') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let (at, letter) = rest.char_indices().next_back()?;
    let unit = match (time, letter) {
        (true, 'S') => "s",
        (true, 'M') => "min",
        (true, 'H') => "h",
        (false, 'D') => "d",
        (false, 'W') => "wk",
        (false, 'M') => "mo",
        (false, 'Y') => "a",
        _ => return None,
    };
    quantity(&rest[..at], Unit::Ucum(unit))
}

/// The dose, or the rate of an infusion. A strength is the dose only if nothing shows that it is
/// the strength of a form: "metformin 1000 mg BID", but not "25 mg tablet".
fn dose(record: &Record) -> Option<Value> {
    let has = |name| record.attributes_named(name).next().is_some();
    let normal = |name| match record.sole_attribute(name)?.value.as_ref()? {
        Normal::Text(text) => Some(text.as_str()),
        Normal::Timing(_) => None,
    };
    if has(AttributeName::Dose) {
        let (numbers, unit) = parted(normal(AttributeName::Dose)?);
        let form = normal(AttributeName::Form);
        let unit = match unit.or(form) {
            Some(unit) if is_ucum(unit) => Unit::Ucum(unit),
            Some(unit) => Unit::Word(unit),
            None => Unit::None,
        };
        return amount(numbers, unit).map(dosed);
    }
    if has(AttributeName::Form) {
        return None;
    }
    let (numbers, unit) = parted(normal(AttributeName::Strength)?);
    let unit = unit?;
    if let Some((mass, time)) = unit.rsplit_once('/') {
        let is_rate = matches!(time, "min" | "h" | "d");
        let rate = amount(numbers, Unit::Ucum(unit)).filter(|_| is_rate && !mass.is_empty());
        return match rate? {
            Amount::Quantity(rate) => Some(json!({ "rateQuantity": rate })),
            // A range of rates with their units has no field in FHIR.
            Amount::Range(_) => None,
        };
    }
    let is_amount = is_ucum(unit);
    amount(numbers, Unit::Ucum(unit))
        .filter(|_| is_amount)
        .map(dosed)
}

fn dosed(amount: Amount) -> Value {
    match amount {
        Amount::Quantity(dose) => json!({ "doseQuantity": dose }),
        Amount::Range(dose) => json!({ "doseRange": dose }),
    }
}

/// Whether a unit is a mass, a volume or an activity in UCUM.
fn is_ucum(unit: &str) -> bool {
    [
        // No dose is told in litres: that is what a patient drinks.
        "kg", "g", "mg", "ug", "ng", "mL", "[IU]", "m[IU]", "meq", "mmol", "mol", "[drp]",
        "[tsp_us]", "[tbs_us]", "[oz_av]", "[foz_us]",
    ]
    .contains(&unit)
}

/// Codes of SNOMED CT for routes. Others have their words alone.
const ROUTES: [(&str, &str, &str); 9] = [
    ("oral", "26643006", "Oral route"),
    ("intravenous", "47625008", "Intravenous route"),
    ("intramuscular", "78421000", "Intramuscular route"),
    ("subcutaneous", "34206005", "Subcutaneous route"),
    ("sublingual", "37839007", "Sublingual route"),
    ("topical", "6064005", "Topical route"),
    ("nasal", "46713006", "Nasal route"),
    ("ophthalmic", "54485002", "Ophthalmic route"),
    ("transdermal", "45890007", "Transdermal route"),
];

/// The route, by its code and its words.
fn route(text: &str, attribute: &Attribute) -> Value {
    let normal = attribute.value.as_ref().map(Normal::to_string);
    let known = ROUTES
        .iter()
        .find(|(name, ..)| normal.as_deref() == Some(name));
    let mut route = json!({ "text": said(text, attribute) });
    if let Some((_, code, display)) = known {
        let coding = json!({
            "system": "http://snomed.info/sct",
            "code": code,
            "display": display,
        });
        route["coding"] = json!([coding]);
    }
    route
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use pel_text::Span;
    use pel_text::attributes::{Anchor, AttributeRules, Kind};

    /// The dosage of a line that begins with a drug of one word.
    fn of(line: &str) -> Option<Value> {
        let drug = Span::new(0, line.find(' ').unwrap_or(line.len()));
        let anchor = Anchor {
            pieces: &[drug],
            kind: Kind::Drug,
        };
        let mut drug = record(drug);
        let found = AttributeRules::english().find(line, &[anchor]);
        drug.attributes = found.into_iter().next().expect("one mention");
        dosage(line, &drug)
    }

    #[test]
    fn sigs_have_a_dose_a_route_and_a_timing() {
        let found = of("Metformin 1000 mg PO twice daily").expect("a dosage");
        assert_eq!(found["text"], "1000 mg PO twice daily");
        let dose = &found["doseAndRate"][0]["doseQuantity"];
        assert_eq!(
            (&dose["value"], &dose["code"]),
            (&json!(1000), &json!("mg"))
        );
        assert_eq!(found["route"]["coding"][0]["code"], "26643006");
        assert_eq!(found["timing"]["code"]["coding"][0]["code"], "BID");
        assert_eq!(found["timing"]["repeat"]["frequency"], 2);
        assert!(found.get("asNeededBoolean").is_none());
    }

    #[test]
    fn needs_and_intervals_are_read() {
        let found = of("Oxycodone 5 mg 1-2 tablets q4-6h prn pain").expect("a dosage");
        let dose = &found["doseAndRate"][0]["doseRange"];
        assert_eq!(
            (&dose["low"]["value"], &dose["high"]["value"]),
            (&json!(1), &json!(2))
        );
        assert_eq!(dose["low"]["unit"], "tablet");
        let repeat = &found["timing"]["repeat"];
        assert_eq!(
            (&repeat["period"], &repeat["periodMax"]),
            (&json!(4), &json!(6))
        );
        assert_eq!(found["asNeededCodeableConcept"]["text"], "pain");
    }

    /// The strength of a tablet is not the dose of an unknown number of tablets.
    #[test]
    fn strength_of_a_form_is_no_dose() {
        let found = of("Metoprolol 25 mg tablet BID").expect("a dosage");
        assert!(found.get("doseAndRate").is_none(), "{found}");
        assert_eq!(found["text"], "25 mg tablet BID");
    }

    #[test]
    fn two_doses_are_words_alone() {
        let found = of("Prednisone 40 mg daily x 5 days, then 20 mg daily x 5 days");
        let found = found.expect("a dosage");
        assert!(found.get("doseAndRate").is_none(), "{found}");
    }

    #[test]
    fn an_indication_or_a_form_alone_is_no_dosage() {
        assert_eq!(of("Amoxicillin for otitis media."), None);
        assert_eq!(of("Hydrocortisone cream."), None);
    }

    #[test]
    fn durations_bound_the_timing() {
        let found = of("Amoxicillin 500 mg TID for 10 days").expect("a dosage");
        let bounds = &found["timing"]["repeat"]["boundsDuration"];
        assert_eq!(
            (&bounds["value"], &bounds["code"]),
            (&json!(10), &json!("d"))
        );
        assert_eq!(of("Aspirin was mentioned."), None);
    }
}
