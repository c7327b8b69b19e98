//! Attributes of a mention as the cells, pairs and words of several formats.

use super::Record;
use super::relations::by_source;
use pel_text::attributes::{Attribute, AttributeName, Value};
use pel_text::relations::Relation;

/// The attributes that tables have a column for. Laterality and severity are columns of the context.
pub const ATTRIBUTE_COLUMNS: [AttributeName; 19] = [
    AttributeName::Strength,
    AttributeName::Dose,
    AttributeName::Form,
    AttributeName::Route,
    AttributeName::Frequency,
    AttributeName::Duration,
    AttributeName::Prn,
    AttributeName::Indication,
    AttributeName::Status,
    AttributeName::Comparator,
    AttributeName::Value,
    AttributeName::Unit,
    AttributeName::Flag,
    AttributeName::Range,
    AttributeName::Specimen,
    AttributeName::Date,
    AttributeName::Onset,
    AttributeName::Stage,
    AttributeName::Course,
];

impl Record {
    /// What the text says now under a name, in its order. Earlier values beside the present one are
    /// left out.
    pub fn attributes_named(&self, name: AttributeName) -> impl Iterator<Item = &Attribute> {
        let is_named = move |one: &&Attribute| one.name == name && !one.prior;
        self.attributes.iter().filter(is_named)
    }

    /// The one thing that the text says under a name; `None` if it says nothing, or several things.
    pub fn sole_attribute(&self, name: AttributeName) -> Option<&Attribute> {
        let mut all = self.attributes_named(name);
        let first = all.next()?;
        let is_same = |other: &Attribute| first.value.is_some() && other.value == first.value;
        all.all(is_same).then_some(first)
    }

    /// The cell of a column: normal forms, or words where there is none, with `|` between several.
    /// Earlier values are left out.
    pub fn attribute_cell(&self, text: &str, name: AttributeName) -> String {
        let shown = |one: &Attribute| normal_or_words(text, one);
        joined(self.attributes_named(name).map(shown))
    }

    /// The earlier values beside the present one, with `|` between several.
    pub fn earlier_cell(&self, text: &str) -> String {
        let earlier = self.attributes.iter().filter(|one| one.prior);
        joined(earlier.map(|one| normal_or_words(text, one)))
    }

    /// The words of all attributes in the order of the text, in one line: "1000 mg, PO, BID".
    /// Those inside the mention itself are left out.
    pub fn attribute_words(&self, text: &str) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut end = 0;
        for one in &self.attributes {
            let is_inside = one.span.start >= self.span.start && one.span.end <= self.span.end;
            // "daily" may be both a frequency and a timing word of another attribute.
            if is_inside || one.span.start < end {
                continue;
            }
            end = one.span.end;
            let said = said(text, one);
            let value = match one.name {
                AttributeName::Unit if !one.prior => words.pop(),
                _ => None,
            };
            words.push(match value {
                Some(value) => format!("{value} {said}"),
                None if one.prior => format!("earlier {said}"),
                None => said,
            });
        }
        words.join(", ")
    }
}

/// The names of the columns of attributes, earlier values and relations in tables.
pub fn beside_columns() -> impl Iterator<Item = &'static str> {
    let names = ATTRIBUTE_COLUMNS.iter().map(|name| name.name());
    names.chain(["earlier", "relations"])
}

/// The cells of these columns for each record of a text: normal forms, or words where there is none,
/// with `|` between several. A relation is "indication: hypertension".
pub fn beside_cells(text: &str, records: &[Record]) -> Vec<Vec<String>> {
    let related = |relation: &Relation| {
        let target = &records[relation.target];
        let words = pel_text::text_of(text, target.pieces()).unwrap_or_default();
        format!("{}: {}", relation.name.name(), super::in_one_line(&words))
    };
    let all = records.iter().zip(by_source(text, records));
    let cells = all.map(|(record, relations)| {
        let attributes = ATTRIBUTE_COLUMNS.iter();
        let attributes = attributes.map(|name| record.attribute_cell(text, *name));
        let relations: Vec<String> = relations.iter().map(related).collect();
        let last = [record.earlier_cell(text), relations.join("|")];
        attributes.chain(last).collect()
    });
    cells.collect()
}

/// Distinct cells with `|` between them.
fn joined(all: impl Iterator<Item = String>) -> String {
    let mut cells: Vec<String> = Vec::new();
    for cell in all {
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells.join("|")
}

/// The words of an attribute in one line.
pub(super) fn said(text: &str, attribute: &Attribute) -> String {
    super::in_one_line(attribute.span.of(text).unwrap_or_default())
}

/// The normal form of an attribute, or its words if the text does not settle it.
pub(super) fn normal_or_words(text: &str, attribute: &Attribute) -> String {
    let normal = attribute.value.as_ref().map(Value::to_string);
    normal.unwrap_or_else(|| said(text, attribute))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use pel_text::Span;

    fn attribute(text: &str, name: AttributeName, words: &str, normal: Option<&str>) -> Attribute {
        let start = text.find(words).expect("the words are in the text");
        Attribute {
            name,
            span: Span::new(start, start + words.len()),
            value: normal.map(|normal| Value::Text(normal.to_owned())),
            prior: false,
        }
    }

    #[test]
    fn cells_have_normal_forms_and_leave_earlier_values_out() {
        let text = "Cr 2.7 mg/dL (b/l 1.8), up to 2.9";
        let of = |name, words, normal| attribute(text, name, words, normal);
        let mut creatinine = record(Span::new(0, 2));
        creatinine.attributes = vec![
            of(AttributeName::Value, "2.7", Some("2.7")),
            of(AttributeName::Unit, "mg/dL", Some("mg/dL")),
            Attribute {
                prior: true,
                ..of(AttributeName::Value, "1.8", Some("1.8"))
            },
            of(AttributeName::Value, "2.9", None),
        ];
        let cell = |name| creatinine.attribute_cell(text, name);
        assert_eq!(cell(AttributeName::Value), "2.7|2.9");
        assert_eq!(cell(AttributeName::Unit), "mg/dL");
        assert_eq!(cell(AttributeName::Range), "");
        assert_eq!(creatinine.earlier_cell(text), "1.8");
        assert_eq!(
            creatinine.attribute_words(text),
            "2.7 mg/dL, earlier 1.8, 2.9"
        );
        assert!(creatinine.sole_attribute(AttributeName::Value).is_none());
        assert!(creatinine.sole_attribute(AttributeName::Unit).is_some());
    }

    #[test]
    fn words_inside_the_mention_are_not_repeated() {
        let text = "chronic cough x 3 weeks";
        let mut cough = record(Span::new(0, 13));
        cough.attributes = vec![
            attribute(text, AttributeName::Course, "chronic", Some("chronic")),
            attribute(text, AttributeName::Duration, "3 weeks", Some("P3W")),
        ];
        assert_eq!(cough.attribute_words(text), "3 weeks");
        assert_eq!(cough.attribute_cell(text, AttributeName::Duration), "P3W");
    }
}
