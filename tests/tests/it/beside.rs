//! Attributes and relations of mentions in every format.

use pel_index::Precision;
use pel_kb::group::Group;
use pel_output::{Form, Note, NoteWriter, Record};
use pel_tests::cpu;
use pel_tests::table::{Table, linker, recipe, records};
use pel_text::Span;
use pel_text::attributes::{Anchor, AttributeRules, Kind};
use serde_json::{Value, json};

const TEXT: &str = "😷 Aspirin 81 mg PO daily (was 325 mg) for pain.";

/// The note with a drug and a problem, in a format.
fn written(form: Form) -> String {
    let linker = linker(recipe(&Table::read(), Precision::F32), &cpu());
    let model = records(&linker, "fever").pop().expect("a record");
    let of = |words: &str, group: Group| {
        let start = TEXT.find(words).expect("the words");
        let span = Span::new(start, start + words.len());
        let anchor = Anchor {
            pieces: &[span],
            kind: Kind::of_group(Some(group)),
        };
        let mut found = AttributeRules::english().find(TEXT, &[anchor]);
        Record {
            span,
            group: Some(group),
            attributes: found.pop().expect("one mention"),
            ..model.clone()
        }
    };
    let records = [of("Aspirin", Group::Drug), of("pain", Group::Problem)];
    let note = Note {
        name: "7",
        text: TEXT,
        records: &records,
        linker: &linker,
    };
    if form != Form::Omop {
        return note.write(form).expect("written");
    }
    let moment = pel_output::Moment::new("2026-11-26", "10:00:00").expect("a moment");
    let mut writer = NoteWriter::new(form, "7", TEXT, &linker).dated(Some(moment));
    let head = writer.head().expect("a head");
    head + &writer.part(&records).expect("a part") + &writer.tail().expect("a tail")
}

fn parsed(form: Form) -> Value {
    serde_json::from_str(&written(form)).expect("JSON")
}

#[test]
fn json_has_the_other_mention_in_three_units() {
    let lines = written(Form::Jsonl);
    let drug: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    let relation = &drug["relations"][0];
    assert_eq!(
        (&relation["name"], &relation["text"]),
        (&json!("indication"), &json!("pain"))
    );
    let start = TEXT.find("pain").expect("the word");
    assert_eq!(relation["start"], start);
    assert_eq!(relation["start_code_point"], start - 3);
    assert_eq!(relation["start_utf16"], start - 2);
    assert_eq!(drug["attributes"][0]["value"], "81 mg");
    assert!(!lines.lines().nth(1).expect("a line").contains("relations"));
}

#[test]
fn tables_have_normal_forms_and_earlier_values_apart() {
    let csv = written(Form::Csv);
    let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').collect()).collect();
    let cell = |name: &str| {
        let at = rows[0].iter().position(|one| *one == name);
        rows[1][at.expect("the column")]
    };
    assert_eq!(
        (cell("strength"), cell("route"), cell("frequency")),
        ("81 mg", "oral", "QD")
    );
    assert_eq!(
        (cell("earlier"), cell("relations")),
        ("325 mg", "indication: pain")
    );
    let omop = written(Form::Omop);
    assert!(
        omop.contains(";strength=81 mg;") && omop.contains(";earlier=325 mg"),
        "{omop}"
    );
}

#[test]
fn fhir_has_the_dosage_and_its_reason() {
    let bundle = parsed(Form::Fhir);
    let entries = bundle["entry"].as_array().expect("entries");
    let of = |kind: &str| {
        let mut found = entries
            .iter()
            .filter(|one| one["resource"]["resourceType"] == kind);
        found.next().expect("a resource").clone()
    };
    let drug = of("MedicationStatement")["resource"].clone();
    let dosage = &drug["dosage"][0];
    assert_eq!(dosage["doseAndRate"][0]["doseQuantity"]["value"], 81);
    assert_eq!(dosage["timing"]["repeat"]["frequency"], 1);
    assert_eq!(dosage["route"]["text"], "PO");
    // The reason is the condition itself.
    let condition = of("Condition");
    assert_eq!(
        drug["reasonReference"][0]["reference"],
        condition["fullUrl"]
    );
    assert!(drug.get("reasonCode").is_none());
    let note = drug["note"][0]["text"].as_str().expect("a note");
    assert!(note.contains("earlier strength: 325 mg"), "{note}");
}

#[test]
fn standoff_formats_have_attributes_and_relations() {
    let brat = written(Form::Brat);
    assert!(brat.contains("\tStrength T1 81_mg\n"), "{brat}");
    assert!(brat.contains("\tFrequency T1 QD\n"), "{brat}");
    assert!(
        brat.contains("R1000\tIndication Arg1:T1 Arg2:T2\n"),
        "{brat}"
    );
    let passage = parsed(Form::BiocJson)["documents"][0]["passages"][0].clone();
    assert_eq!(passage["annotations"][0]["infons"]["strength"], "81 mg");
    let relation = &passage["relations"][0];
    assert_eq!(relation["infons"]["type"], "indication");
    assert_eq!(
        (
            &relation["nodes"][0]["refid"],
            &relation["nodes"][1]["refid"]
        ),
        (&json!("1"), &json!("2"))
    );
    let xml = written(Form::BiocXml);
    assert!(
        xml.contains("<relation id=\"R1\"><infon key=\"type\">indication</infon><node refid=\"1\" role=\"source\">"),
        "{xml}"
    );
    let spacy = parsed(Form::SpacyJson);
    assert_eq!(spacy["pel"]["mentions"][0]["route"], "oral");
    let cas = parsed(Form::CasJson);
    let mentions = cas["%FEATURE_STRUCTURES"].as_array().expect("structures");
    assert!(
        mentions.iter().any(|one| one["earlier"] == "325 mg"),
        "{cas}"
    );
}
