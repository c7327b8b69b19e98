//! Exact output of every link format.

use pel_index::Precision;
use pel_model::nil::NilReason;
use pel_output::{DecidedBy, Form, FormerAnswer, Note, Record, Review, ReviewOutcome};
use pel_tests::cpu;
use pel_tests::table::{Table, linker, recipe, records};
use pel_text::Span;
use pel_text::context::{Allergy, Experiencer, Laterality, Severity};
use pel_text::detect::Origin;

const TEXT: &str = "Note 😷\nfever of the toe\nand =chest\r\npain";

fn written(change: impl Fn(&mut Vec<Record>)) -> impl Fn(Form) -> String {
    let linker = linker(recipe(&Table::read(), Precision::F32), &cpu());
    let mut records = records(&linker, TEXT);
    change(&mut records);
    move |form| {
        Note {
            name: "a,b|c",
            text: TEXT,
            records: &records,
            linker: &linker,
        }
        .write(form)
        .expect("written")
    }
}

#[test]
fn offsets_have_the_unit_of_each_format() {
    let write = written(|records| assert_eq!(records.len(), 2));
    assert_eq!(
        write(Form::Brat),
        "T1\tSign 7 12\tfever\nN1\tReference T1 KB:D1\tfever\n\
         T2\tSign 29 34;36 40\tchest pain\nN2\tReference T2 KB:D2\tchest pain\n"
    );
    assert_eq!(
        write(Form::Pubtator),
        "a,b c|t|Note 😷\na,b c|a|fever of the toe and =chest  pain\n\
         a,b c\t7\t12\tfever\tSign\tD1\na,b c\t29\t40\tchest  pain\tSign\tD2\n"
    );
    assert_eq!(
        write(Form::Csv),
        "doc,start_code_point,end_code_point,text,read_as,decision,id,name,type,score,found,fragments,xrefs,\
         probability,group,negated,certainty,temporality,experiencer,section,\
         laterality,severity,allergy,decided_by,strength,dose,form,route,frequency,duration,\
         prn,indication,status,comparator,value,unit,flag,range,specimen,date,onset,stage,course,\
         earlier,relations\r\n\
         \"a,b|c\",7,12,fever,,linked,D1,fever,Sign,1,found,,,,problem,false,certain,current,patient,,,,,,,,,,,,,,,,,,,,,,,,,,\r\n\
         \"a,b|c\",29,40,\"chest\r\npain\",,linked,D2,chest pain,Sign,1,found,,,,problem,false,certain,current,patient,,,,,,,,,,,,,,,,,,,,,,,,,,\r\n"
    );
    let lines = write(Form::Jsonl);
    let first: serde_json::Value =
        serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    for (field, expected) in [
        ("start", 10),
        ("start_code_point", 7),
        ("start_utf16", 8),
        ("end_utf16", 13),
    ] {
        assert_eq!(first[field], expected, "{field}");
    }
    let whole: serde_json::Value = serde_json::from_str(&write(Form::Json)).expect("JSON");
    assert_eq!(
        (
            whole["text"].as_str(),
            whole["mentions"].as_array().map(Vec::len)
        ),
        (Some(TEXT), Some(2))
    );
    assert_eq!(whole["mentions"][1]["concept"]["id"], "D2");
}

#[test]
fn user_decisions_are_written() {
    let write = written(|records| {
        records[0].decision = Err(NilReason::Reader);
        records[0].read_as = Some("+fever".into());
        let other = records[1].candidates[1].clone();
        records[1].decision = Ok(other);
        records[1].origin = Origin::Given;
        // Includes the preceding `=`, which a spreadsheet would evaluate.
        records[1].span.start -= 1;
    });
    assert!(
        write(Form::Brat).contains(
            "T1\tNIL 7 12\tfever\n#1\tAnnotatorNotes T1\tNIL: marked as NIL by the user\n"
        )
    );
    assert!(write(Form::Pubtator).contains("a,b c\t7\t12\tfever\tNIL\t-\n"));
    let csv = write(Form::Csv);
    assert!(
        csv.contains("fever,'+fever,NIL: marked as NIL by the user,,,,,found,,,,problem,false,certain,current,patient,,,,,,,,,,,,,,,,,,,,,,,,,,\r\n"),
        "{csv}"
    );
    assert!(csv.contains("\"'=chest\r\npain\""), "{csv}");
    let html = write(Form::Html);
    assert!(
        html.contains("marked as NIL by the user") && html.contains("read as &quot;+fever&quot;"),
        "{html}"
    );
    assert!(html.contains("<td>given</td>"), "{html}");
}

#[test]
fn laterality_and_severity_are_written_in_each_format() {
    let write = written(|records| {
        records[0].context.laterality = Some(Laterality::Left);
        records[0].context.severity = Some(Severity::Severe);
    });
    assert!(
        write(Form::Brat).starts_with(
            "T1\tSign 7 12\tfever\nA1000\tLaterality T1 left\nA1001\tSeverity T1 severe\nN1\t"
        ),
        "{}",
        write(Form::Brat)
    );
    let csv = write(Form::Csv);
    assert!(csv.contains(",current,patient,,left,severe,,,"), "{csv}");
    assert!(write(Form::Html).contains("; left, severe"));
    let lines: Vec<serde_json::Value> = write(Form::Jsonl)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(
        (&lines[0]["laterality"], &lines[0]["severity"]),
        (&"left".into(), &"severe".into())
    );
    assert!(lines[1].get("laterality").is_none() && lines[1].get("severity").is_none());
}

#[test]
fn a_decision_of_the_user_is_told_in_each_format_that_has_a_place_for_it() {
    let write = written(|records| records[0].decided_by = DecidedBy::Reader);
    let lines: Vec<serde_json::Value> = write(Form::Jsonl)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines[0]["decided_by"], "reader");
    assert!(lines[1].get("decided_by").is_none());
    let csv = write(Form::Csv);
    let row = csv.lines().nth(1).expect("a row");
    assert!(row.contains(",patient,,,,,reader,,"), "{csv}");
    assert_eq!(csv.matches(",reader,").count(), 1, "{csv}");
    let brat = write(Form::Brat);
    let note = "#1\tAnnotatorNotes T1\tLinked: chosen by the user\n";
    assert!(brat.contains(note) && !brat.contains("#2\t"), "{brat}");
    let html = write(Form::Html);
    assert_eq!(html.matches("chosen by the user").count(), 1, "{html}");
}

#[test]
fn allergens_are_written_in_each_format() {
    let write = written(|records| {
        records[0].context.allergy = Some(Allergy::Allergen);
        records[1].context.allergy = Some(Allergy::Reaction);
    });
    let brat = write(Form::Brat);
    assert!(brat.contains("\nA1000\tAllergy T1 allergen\n"), "{brat}");
    let csv = write(Form::Csv);
    assert!(csv.contains(",current,patient,,,,allergen,,"), "{csv}");
    let html = write(Form::Html);
    assert!(
        html.contains("data-signs=\"A\" aria-label=\"fever, allergy\"")
            && html.contains("; allergic reaction"),
        "{html}"
    );
    for form in [Form::Jsonl, Form::BiocJson, Form::CasJson, Form::SpacyJson] {
        let text = write(form);
        for word in ["allergen", "reaction"] {
            assert!(
                text.contains(&format!("\"allergy\":\"{word}\"")),
                "{form:?}: {text}"
            );
        }
    }
    let bioc = write(Form::BiocXml);
    assert!(
        bioc.contains("<infon key=\"allergy\">allergen</infon>"),
        "{bioc}"
    );
}

/// What is denied or someone else's must not look like a fact.
#[test]
fn html_marks_the_context_in_the_text() {
    let html = written(|records| {
        records[0].context.negated = true;
        records[0].context.experiencer = Experiencer::Family;
    })(Form::Html);
    for part in [
        "data-signs=\"F\" aria-label=\"fever, negated, family\" href=\"#m1\"",
        "; negated, family\">fever</a>",
        "<li><span class=\"negated\">negated</span>: said to be absent</li>",
        "<li><span data-signs=\"F\">family</span>: of a relative</li></ul>",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    let marked = html.matches(" negated\" ").count();
    assert_eq!(marked, 1, "{html}");
    // A legend explains only the marks that the note has.
    let plain = written(|_| {})(Form::Html);
    assert!(
        !plain.contains("class=\"legend\"") && !plain.contains("aria-label"),
        "{plain}"
    );
}

#[test]
fn fragments_are_written_in_each_format() {
    let write = written(|records| {
        // "fever" at bytes 10..15 and "toe" at 23..26; the text between is not part of the mention.
        records[0].fragments = vec![Span::new(10, 15), Span::new(23, 26)];
        records[0].span = Span::new(10, 26);
        let concept = records[0].decision.as_mut().expect("linked");
        concept.xrefs = vec![
            "ICD10:R50.9".into(),
            "ICD10CM:R50.9".into(),
            "MESH:D005334".into(),
        ];
    });
    assert!(
        write(Form::Brat).starts_with("T1\tSign 7 12;20 23\tfever toe\nN1\t"),
        "{}",
        write(Form::Brat)
    );
    let whole = "a,b c\t7\t23\tfever of the toe\tSign\tD1\n";
    assert!(
        write(Form::Pubtator).contains(whole),
        "{}",
        write(Form::Pubtator)
    );
    let row = "7,23,fever toe,,linked,D1,fever,Sign,1,found,7 12;20 23,ICD10:R50.9|ICD10CM:R50.9|MESH:D005334,";
    assert!(write(Form::Csv).contains(row), "{}", write(Form::Csv));
    let line = write(Form::Jsonl)
        .lines()
        .next()
        .expect("a line")
        .to_owned();
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(
        (&line["text"], &line["start"], &line["end"]),
        (&"fever toe".into(), &10.into(), &26.into())
    );
    let second = serde_json::json!({
        "start": 23, "end": 26, "start_code_point": 20, "end_code_point": 23, "start_utf16": 21, "end_utf16": 24
    });
    assert_eq!(line["fragments"][1], second);
    assert_eq!(line["concept"]["xrefs"][2], "MESH:D005334");
    let html = write(Form::Html);
    assert_eq!(html.matches("href=\"#m1\"").count(), 2, "{html}");
    assert!(
        html.contains("<td>fever toe</td>") && html.contains(">toe</a>"),
        "{html}"
    );
}

#[test]
fn cross_references_are_filtered_by_prefix() {
    let kept = |prefixes: &[&str]| {
        let prefixes: Vec<String> = prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
        let write = written(|records| {
            let xrefs = [
                "ICD10:R50.9",
                "ICD10CM:R50.9",
                "MESH:D005334",
                "SNOMEDCT_US:386661006",
            ]
            .map(str::to_owned);
            records[0].candidates[0].xrefs = xrefs.to_vec();
            records[0].decision.as_mut().expect("linked").xrefs = xrefs.to_vec();
            records[0].keep_xrefs(&prefixes);
            assert_eq!(
                records[0].candidates[0].xrefs,
                records[0].decision.as_ref().expect("linked").xrefs
            );
        });
        let csv = write(Form::Csv);
        csv.lines()
            .nth(1)
            .and_then(|row| row.rsplit(',').nth(32))
            .expect("a cell")
            .to_owned()
    };
    assert_eq!(kept(&["icd10"]), "ICD10:R50.9|ICD10CM:R50.9");
    assert_eq!(
        kept(&["ICD10:", "snomed"]),
        "ICD10:R50.9|SNOMEDCT_US:386661006"
    );
    assert_eq!(kept(&["é", "OMIM"]), "");
}

#[test]
fn identifiers_of_old_bundles_cannot_forge_lines() {
    let write = written(|records| {
        let concept = records[0].decision.as_mut().expect("linked");
        (concept.id, concept.name) = ("D1\tx\nT9 y".into(), "fe\nver\u{1b}[2J".into());
        concept.types = vec![" \t".into()];
        records[1].decision.as_mut().expect("linked").types = vec![String::new()];
    });
    let brat = write(Form::Brat);
    assert!(
        brat.starts_with(
            "T1\t__ 7 12\tfever\nN1\tReference T1 KB:D1_x_T9_y\tfe ver [2J\nT2\tConcept "
        ),
        "{brat}"
    );
    let pubtator = write(Form::Pubtator);
    assert!(pubtator.contains("\tfever\t  \tD1 x T9 y\n"), "{pubtator}");
    let csv = write(Form::Csv);
    assert!(
        csv.contains("\\u001b[2J") && !csv.contains('\u{1b}'),
        "{csv}"
    );
}

#[test]
fn offsets_count_byte_order_mark_and_line_ends() {
    // As in Python's str of the file, the mark and "\r" are one code point each.
    let linker = linker(recipe(&Table::read(), Precision::F32), &cpu());
    for (text, place) in [
        ("\u{feff}fever", "1 6"),
        ("a\r\nb\r\nfever", "6 11"),
        ("a\rb\rfever", "4 9"),
        ("é\u{2028}chest\r\npain", "2 7;9 13"),
        ("chest\rpain", "0 5;6 10"),
    ] {
        let records = records(&linker, text);
        let brat = Note {
            name: "n",
            text,
            records: &records,
            linker: &linker,
        }
        .write(Form::Brat)
        .expect("written");
        assert!(
            brat.starts_with(&format!("T1\tSign {place}\t")),
            "{text:?}: {brat}"
        );
    }
}

#[test]
fn a_review_is_told_in_each_format_that_has_a_place_for_it() {
    let review = || Review {
        outcome: ReviewOutcome::Changed,
        reviewed_by: Some("AB".to_owned()),
        reviewed_at: Some("2026-11-30T09:30:00Z".to_owned()),
        former: Some(FormerAnswer {
            id: Some("D9".to_owned()),
            name: Some("cold".to_owned()),
            probability: Some(0.25),
        }),
    };
    let write = written(|records| records[0].review = Some(review()));
    let lines: Vec<serde_json::Value> = write(Form::Jsonl)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines[0]["review"], "changed");
    assert_eq!(lines[0]["reviewed_by"], "AB");
    assert_eq!(
        lines[0]["former"],
        serde_json::json!({ "id": "D9", "name": "cold", "probability": 0.25 })
    );
    assert!(lines[1].get("review").is_none() && lines[1].get("former").is_none());
    let words = "Reviewed: changed by AB at 2026-11-30T09:30:00Z; Former: D9 cold";
    let brat = write(Form::Brat);
    let note = format!("#1\tAnnotatorNotes T1\t{words}\n");
    assert!(brat.contains(&note) && !brat.contains("#2\t"), "{brat}");
    let html = write(Form::Html);
    assert_eq!(html.matches("Reviewed: changed by AB").count(), 1, "{html}");
    // Only a reader's tables have the columns.
    assert!(!write(Form::Csv).contains("reviewed_by"));
}
