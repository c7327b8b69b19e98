//! Tests of combined codes with invented sentences.

use super::*;
use crate::testing::record;
use conditions::Condition;
use pel_text::Span;
use pel_text::attributes::{Anchor, AttributeRules, Kind};

/// A mention by its words, and the ICD-10-CM code of its concept.
type Coded<'a> = (&'a str, &'a str);

fn plain(code: &str) -> NamedCode {
    NamedCode {
        system: System::Icd10Cm,
        code: code.to_owned(),
        display: None,
        matches: Match::Exact,
        billable: Some(true),
    }
}

/// The records of mentions with their attributes, and their codes.
fn records(text: &str, mentions: &[Coded]) -> Vec<Record> {
    let spans: Vec<[Span; 1]> = mentions
        .iter()
        .map(|(words, _)| {
            let at = text.find(words).expect("the mention is in the text");
            [Span::new(at, at + words.len())]
        })
        .collect();
    let anchors = spans
        .iter()
        .zip(mentions)
        .map(|(pieces, (_, code))| Anchor {
            pieces,
            kind: Kind::of_group(Some(group(code))),
        });
    let found = AttributeRules::english().find(text, &anchors.collect::<Vec<_>>());
    let all = spans.iter().zip(mentions).zip(found);
    all.map(|((span, (_, code)), attributes)| {
        let mut record = record(span[0]);
        record.group = Some(group(code));
        record.attributes = attributes;
        let codes = match code.is_empty() {
            true => Vec::new(),
            false => vec![plain(code)],
        };
        record.decision = Ok(Named {
            codes,
            ..Named::default()
        });
        record
    })
    .collect()
}

fn group(code: &str) -> Group {
    match code {
        "" => Group::Anatomy,
        _ => Group::Problem,
    }
}

/// The first code of the first mention after the codes were combined.
fn first(text: &str, mentions: &[Coded]) -> String {
    let mut records = records(text, mentions);
    combine_codes(text, &mut records);
    let named = records[0].decision.as_ref().expect("it is linked");
    named.codes[0].code.clone()
}

#[test]
fn every_row_has_conditions_that_are_known() {
    let table = include_str!("table.tsv");
    let rows = table.lines().skip(1);
    for line in rows.clone() {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells.len(), 4, "{line}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{line}");
        let when = conditions::parse(line.split('\t').nth(1).expect("a cell"));
        assert!(!when.contains(&Condition::Unknown), "{line}");
    }
    let of_table: usize = TABLE.values().map(Vec::len).sum();
    assert_eq!(of_table, rows.count());
}

#[test]
fn codes_say_what_the_text_says_of_the_concept() {
    for (text, words, from, code) in [
        (
            "Acute on chronic systolic HF.",
            "systolic HF",
            "I50.9",
            "I50.23",
        ),
        (
            "Chronic diastolic heart failure.",
            "diastolic heart failure",
            "I50.30",
            "I50.32",
        ),
        ("HF, stable.", "HF", "I50.9", "I50.9"),
        ("CKD 3b.", "CKD", "N18.9", "N18.32"),
        ("CKD stage IV.", "CKD", "N18.9", "N18.4"),
        ("CKD stage G3b A2.", "CKD", "N18.9", "N18.32"),
        ("Stage 3 CKD.", "CKD", "N18.9", "N18.30"),
        ("CKD.", "CKD", "N18.9", "N18.9"),
        ("Moderate persistent asthma.", "asthma", "J45.909", "J45.40"),
        (
            "Severe persistent asthma with acute exacerbation.",
            "asthma",
            "J45.909",
            "J45.51",
        ),
        ("Severe asthma.", "asthma", "J45.909", "J45.909"),
        ("COPD with acute exacerbation.", "COPD", "J44.9", "J44.1"),
        ("COPD without exacerbation.", "COPD", "J44.9", "J44.9"),
        ("Class II obesity.", "obesity", "E66.9", "E66.812"),
        ("Left knee pain.", "knee pain", "M25.569", "M25.562"),
        (
            "Pressure ulcer of the heel on the right, stage 3.",
            "Pressure ulcer of the heel",
            "L89.609",
            "L89.613",
        ),
        (
            "Poorly controlled type 2 diabetes.",
            "Poorly controlled type 2 diabetes",
            "E11.9",
            "E11.65",
        ),
        (
            "Acute on chronic respiratory failure.",
            "respiratory failure",
            "J96.90",
            "J96.20",
        ),
        (
            "Recurrent depression, moderate.",
            "depression",
            "F32.9",
            "F33.1",
        ),
    ] {
        assert_eq!(first(text, &[(words, from)]), code, "{text}");
    }
}

#[test]
fn complications_count_where_the_text_joins_them_to_the_disease() {
    let diabetes = ("T2DM", "E11.9");
    for (text, others, code) in [
        ("T2DM with CKD.", &[("CKD", "N18.9")][..], "E11.22"),
        ("T2DM with stage 3 CKD.", &[("CKD", "N18.9")], "E11.22"),
        (
            "T2DM with retinopathy and CKD.",
            &[("retinopathy", "H35.00"), ("CKD", "N18.9")],
            "E11.22",
        ),
        (
            "T2DM complicated by neuropathy.",
            &[("neuropathy", "G62.9")],
            "E11.40",
        ),
        (
            "T2DM with hyperglycemia.",
            &[("hyperglycemia", "R73.9")],
            "E11.65",
        ),
        ("T2DM, CKD.", &[("CKD", "N18.9")], "E11.9"),
        ("T2DM and CKD.", &[("CKD", "N18.9")], "E11.9"),
        ("T2DM. With CKD.", &[("CKD", "N18.9")], "E11.9"),
        ("T2DM without CKD.", &[("CKD", "N18.9")], "E11.9"),
        ("T2DM with cough.", &[("cough", "R05.9")], "E11.9"),
    ] {
        let mentions: Vec<Coded> = [&[diabetes], others].concat();
        assert_eq!(first(text, &mentions), code, "{text}");
    }
    let text = "CKD 5 due to hypertension.";
    let mut records = records(text, &[("CKD", "N18.9"), ("hypertension", "I10")]);
    combine_codes(text, &mut records);
    let codes = records.iter().map(|record| {
        let named = record.decision.as_ref().expect("it is linked");
        named.codes[0].code.as_str()
    });
    assert_eq!(codes.collect::<Vec<_>>(), ["N18.5", "I12.0"]);
}

#[test]
fn negated_complications_and_broader_codes_name_no_complication() {
    let text = "T2DM with CKD.";
    let mentions = [("T2DM", "E11.9"), ("CKD", "N18.9")];
    let code = |change: &dyn Fn(&mut [Record])| {
        let mut records = records(text, &mentions);
        change(&mut records);
        combine_codes(text, &mut records);
        let named = records[0].decision.as_ref().expect("it is linked");
        named.codes[0].code.clone()
    };
    assert_eq!(code(&|_| {}), "E11.22");
    assert_eq!(code(&|all| all[1].context.negated = true), "E11.9");
    let broader = |all: &mut [Record]| {
        if let Ok(named) = &mut all[0].decision {
            named.codes[0].matches = Match::Broader;
        }
    };
    assert_eq!(code(&broader), "E11.9");
}

#[test]
fn sites_tell_where_a_pressure_ulcer_is() {
    let text = "Pressure ulcer of the sacrum, stage 2.";
    let mentions = [("Pressure ulcer", "L89.90"), ("sacrum", "")];
    assert_eq!(first(text, &mentions), "L89.152");
}

#[test]
fn combined_code_comes_first_and_is_replaced_when_the_text_changes() {
    let text = "CKD 3b.";
    let mut records = records(text, &[("CKD", "N18.9")]);
    combine_codes(text, &mut records);
    combine_codes(text, &mut records);
    let named = records[0].decision.as_ref().expect("it is linked");
    let codes: Vec<(&str, Match)> = named
        .codes
        .iter()
        .map(|code| (code.code.as_str(), code.matches))
        .collect();
    assert_eq!(
        codes,
        [("N18.32", Match::Combined), ("N18.9", Match::Exact)]
    );
    assert_eq!(
        named.code.as_ref().map(|code| code.code.as_str()),
        Some("N18.32")
    );
    let display = named.codes[0].display.as_deref();
    assert_eq!(display, Some("Chronic kidney disease, stage 3b"));
    records[0].attributes.clear();
    combine_codes(text, &mut records);
    let named = records[0].decision.as_ref().expect("it is linked");
    assert_eq!(named.codes.len(), 1);
    assert_eq!(
        named.code.as_ref().map(|code| code.code.as_str()),
        Some("N18.9")
    );
}
