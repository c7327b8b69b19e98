//! The formats of other systems, field by field: FHIR, OMOP, BioC, spaCy, UIMA.

use pel_index::Precision;
use pel_kb::group::Group;
use pel_linker::Linker;
use pel_model::nil::NilReason;
use pel_output::{Form, Moment, Note, NoteWriter, Record};
use pel_tests::cpu;
use pel_tests::table::{Table, linker, recipe, records};
use pel_text::Span;
use pel_text::context::{
    Allergy, Certainty, Cue, Effect, Experiencer, Laterality, Severity, Temporality,
};
use serde_json::{Value, json};

/// "fever" is at code points 7 to 12 and UTF-16 units 8 to 13, "chest\r\npain" at code points 29 to
/// 40.
const TEXT: &str = "Note 😷\nfever of the toe\nand =chest\r\npain";

struct Written {
    linker: Linker,
    records: Vec<Record>,
}

impl Written {
    fn new(change: impl Fn(&mut Vec<Record>)) -> Self {
        let linker = linker(recipe(&Table::read(), Precision::F32), &cpu());
        let mut records = records(&linker, TEXT);
        assert_eq!(records.len(), 2);
        change(&mut records);
        Self { linker, records }
    }

    fn named(&self, form: Form, name: &str) -> String {
        let moment = Moment::new("2026-11-26", "10:45:07").ok();
        let mut writer = NoteWriter::new(form, name, TEXT, &self.linker).dated(moment);
        writer.head().expect("written")
            + &writer.part(&self.records).expect("written")
            + &writer.tail().expect("written")
    }

    fn text(&self, form: Form) -> String {
        self.named(form, "note")
    }

    fn json(&self, form: Form) -> Value {
        let text = self.text(form);
        assert_eq!(text.lines().count(), 1, "one note is one line");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The resources of the FHIR bundle, after the note and the program, before the provenance.
    fn resources(&self) -> Vec<Value> {
        let bundle = self.json(Form::Fhir);
        let mut resources: Vec<Value> = bundle["entry"]
            .as_array()
            .expect("entries")
            .iter()
            .map(|entry| entry["resource"].clone())
            .collect();
        assert_eq!(
            resources.pop().expect("a provenance")["resourceType"],
            "Provenance"
        );
        resources.split_off(2)
    }
}

#[test]
fn probability_is_written_in_each_format_with_a_place_for_it() {
    let written = Written::new(|records| {
        records[0].probability = Some(0.875);
        records[1].decision = Err(NilReason::Ambiguous);
        records[1].probability = Some(0.25);
    });
    let brat = written.text(Form::Brat);
    for note in [
        "\n#1\tAnnotatorNotes T1\tProbability: 0.8750\n",
        "\n#2\tAnnotatorNotes T2\tNIL: ambiguous between candidates; Probability: 0.2500\n",
    ] {
        assert!(brat.contains(note), "{brat}");
    }
    for form in [
        Form::Jsonl,
        Form::Json,
        Form::Csv,
        Form::Html,
        Form::Omop,
        Form::BiocXml,
        Form::BiocJson,
        Form::SpacyJson,
        Form::CasJson,
    ] {
        let text = written.text(form);
        assert!(
            text.contains("0.875") && text.contains("0.25"),
            "{form:?}: {text}"
        );
    }
    // A code is right with it; NIL has no code.
    let fhir = written.text(Form::Fhir);
    assert!(fhir.contains("0.875") && !fhir.contains("0.25"), "{fhir}");
    assert!(!written.text(Form::Pubtator).contains("0.875"));
}

/// The first code of a concept.
fn code(concept: &Value) -> &Value {
    &concept["coding"][0]["code"]
}

#[test]
fn fhir_condition_has_codes_status_and_place() {
    let written = Written::new(|records| {
        let concept = records[0].decision.as_mut().expect("linked");
        concept.xrefs = vec!["ICD10CM:R50.9".into(), "DRUGBANK:DB1".into()];
        records[0].context.severity = Some(Severity::Severe);
        records[0].context.laterality = Some(Laterality::Left);
        records[0].fragments = vec![Span::new(10, 15), Span::new(23, 26)];
        records[0].span = Span::new(10, 26);
        records[0].probability = Some(0.87654);
    });
    let bundle = written.json(Form::Fhir);
    assert_eq!(
        (&bundle["type"], &bundle["timestamp"]),
        (&"collection".into(), &"2026-11-26T10:45:07Z".into())
    );
    let document = &bundle["entry"][0];
    let condition = &bundle["entry"][2]["resource"];
    let place = |offset: u32, length: u32| {
        json!({
            "url": "http://hl7.org/fhir/StructureDefinition/derivation-reference",
            "extension": [
                { "url": "reference", "valueReference": { "reference": document["fullUrl"] } },
                { "url": "path", "valueString": "DocumentReference.content[0].attachment.data" },
                { "url": "offset", "valueInteger": offset },
                { "url": "length", "valueInteger": length },
            ],
        })
    };
    let probability = json!({ "url": "urn:pel:probability", "valueDecimal": 0.8765 });
    assert_eq!(
        condition["extension"],
        json!([place(7, 5), place(20, 3), probability])
    );
    let codings = condition["code"]["coding"].as_array().expect("codings");
    assert_eq!(
        (&codings[0]["code"], &codings[0]["display"], codings.len()),
        (&"D1".into(), &"fever".into(), 2)
    );
    assert_eq!(
        codings[1],
        json!({ "system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "R50.9" })
    );
    assert_eq!(condition["code"]["text"], "fever toe");
    for (field, expected) in [
        ("verificationStatus", "unconfirmed"),
        ("clinicalStatus", "active"),
        ("severity", "24484000"),
    ] {
        assert_eq!(code(&condition[field]), expected, "{field}");
    }
    assert_eq!(code(&condition["category"][0]), "encounter-diagnosis");
    assert_eq!(condition["bodySite"][0]["text"], "left");
    assert_eq!(
        condition["subject"],
        json!({ "display": "the patient of the note note" })
    );
    let attachment = &document["resource"]["content"][0]["attachment"];
    assert_eq!(
        (&attachment["size"], &attachment["data"]),
        (
            &TEXT.len().into(),
            &"Tm90ZSDwn5i3CmZldmVyIG9mIHRoZSB0b2UKYW5kID1jaGVzdA0KcGFpbg==".into()
        )
    );
    let provenance = &bundle["entry"][4]["resource"];
    assert_eq!(provenance["recorded"], "2026-11-26T10:45:07Z");
    assert_eq!(
        provenance["target"],
        json!([
            { "reference": bundle["entry"][2]["fullUrl"] },
            { "reference": bundle["entry"][3]["fullUrl"] },
        ])
    );
    assert_eq!(
        provenance["entity"][1]["what"]["identifier"]["value"],
        written.linker.bundle().manifest.digest.as_str()
    );
}

#[test]
fn fhir_status_follows_the_context() {
    let condition = |change: &dyn Fn(&mut Record)| {
        let written = Written::new(|records| {
            records.truncate(1);
            change(&mut records[0]);
        });
        let resource = written.resources().remove(0);
        let words = |field: &str| code(&resource[field]).as_str().map(str::to_owned);
        (words("verificationStatus"), words("clinicalStatus"))
    };
    let some = |word: &str| Some(word.to_owned());
    assert_eq!(
        condition(&|record| record.context.negated = true),
        (some("refuted"), None)
    );
    assert_eq!(
        condition(&|record| record.context.certainty = Certainty::Uncertain),
        (some("provisional"), some("active"))
    );
    assert_eq!(
        condition(&|record| record.context.temporality = Temporality::Historical),
        (some("unconfirmed"), some("inactive"))
    );
}

#[test]
fn fhir_resource_follows_the_group() {
    let of = |group, change: &dyn Fn(&mut Record)| {
        let written = Written::new(|records| {
            records.truncate(1);
            records[0].group = Some(group);
            change(&mut records[0]);
        });
        written.resources().first().cloned().unwrap_or_default()
    };
    let stated = |_: &mut Record| {};
    let negated = |record: &mut Record| record.context.negated = true;
    for (group, change, kind, status) in [
        (
            Group::Drug,
            &stated as &dyn Fn(&mut Record),
            "MedicationStatement",
            "unknown",
        ),
        (Group::Drug, &negated, "MedicationStatement", "not-taken"),
        (Group::Procedure, &stated, "Procedure", "unknown"),
        (Group::Procedure, &negated, "Procedure", "not-done"),
        (Group::Measurement, &stated, "Observation", "preliminary"),
        (Group::Measurement, &negated, "Observation", "preliminary"),
    ] {
        let resource = of(group, change);
        assert_eq!(
            (&resource["resourceType"], &resource["status"]),
            (&kind.into(), &status.into())
        );
    }
    let drug = of(Group::Drug, &stated);
    assert_eq!(code(&drug["medicationCodeableConcept"]), "D1");
    assert_eq!(
        code(&of(Group::Measurement, &negated)["dataAbsentReason"]),
        "not-performed"
    );
    assert_eq!(of(Group::Anatomy, &stated), Value::Null);
    let family = of(Group::Problem, &|record| {
        record.context.experiencer = Experiencer::Family;
        // The cue need not be in the rules: "Note".
        record.context.cues = vec![Cue {
            span: Span::new(0, 4),
            effect: Effect::Family,
            scope: Span::new(0, 20),
            rule: 0,
        }];
    });
    assert_eq!(family["resourceType"], "FamilyMemberHistory");
    assert_eq!(code(&family["relationship"]), "FAMMEMB");
    assert_eq!(code(&family["condition"][0]["code"]), "D1");
    assert!(family.get("subject").is_none() && family["patient"]["display"].is_string());
}

#[test]
fn fhir_allergens_have_their_reactions_and_are_not_taken() {
    let written = |negated| {
        let written = Written::new(|records| {
            records[0].group = Some(Group::Drug);
            records[0].context.allergy = Some(Allergy::Allergen);
            records[0].context.negated = negated;
            // "toe", in the line of the first.
            records[1].span = Span::new(23, 26);
            records[1].context.allergy = Some(Allergy::Reaction);
            records[1].context.severity = Some(Severity::Mild);
        });
        written.json(Form::Fhir)["entry"].clone()
    };
    let entries = written(false);
    // The note, the program, the allergy and the provenance.
    assert_eq!(entries.as_array().map(Vec::len), Some(4), "{entries}");
    let allergy = &entries[2]["resource"];
    assert_eq!(allergy["resourceType"], "AllergyIntolerance");
    assert_eq!(code(&allergy["code"]), "D1");
    assert_eq!(code(&allergy["clinicalStatus"]), "active");
    assert_eq!(code(&allergy["verificationStatus"]), "unconfirmed");
    assert!(allergy["patient"]["display"].is_string() && allergy.get("subject").is_none());
    assert!(allergy.get("type").is_none());
    let reactions = allergy["reaction"].as_array().expect("reactions");
    assert_eq!(reactions.len(), 1);
    assert_eq!(code(&reactions[0]["manifestation"][0]), "D2");
    assert_eq!(reactions[0]["severity"], "mild");
    let refuted = &written(true)[2]["resource"];
    assert_eq!(code(&refuted["verificationStatus"]), "refuted");
    assert!(refuted.get("clinicalStatus").is_none());
}

#[test]
fn fhir_nil_mentions_have_words_without_codes() {
    let written = Written::new(|records| records[0].decision = Err(NilReason::NoCandidate));
    assert_eq!(written.resources()[0]["code"], json!({ "text": "fever" }));
}

#[test]
fn fhir_bundles_are_repeatable_and_state_a_missing_date() {
    let written = Written::new(|_| {});
    assert_eq!(written.text(Form::Fhir), written.text(Form::Fhir));
    assert_ne!(
        written.named(Form::Fhir, "a"),
        written.named(Form::Fhir, "b")
    );
    let note = |records| Note {
        name: "note",
        text: TEXT,
        records,
        linker: &written.linker,
    };
    let bundle = note(&[]).write(Form::Fhir).expect("written");
    let bundle: Value = serde_json::from_str(&bundle).expect("JSON");
    let provenance = &bundle["entry"][2]["resource"];
    assert_eq!(
        provenance["_recorded"]["extension"][0]["valueCode"],
        "unknown"
    );
    assert_eq!(
        provenance["target"][0]["reference"],
        bundle["entry"][0]["fullUrl"]
    );
    let error = note(&written.records[..])
        .write(Form::Omop)
        .expect_err("NOTE_NLP needs a date");
    assert!(error.to_string().contains("expected the date"), "{error}");
}

#[test]
fn omop_rows_have_the_columns_of_note_nlp() {
    let written = Written::new(|records| {
        records[0].context.negated = true;
        records[0].fragments = vec![Span::new(10, 15), Span::new(23, 26)];
        records[0].span = Span::new(10, 26);
        let concept = records[0].decision.as_mut().expect("linked");
        concept.xrefs = vec!["ICD10CM:R50.9".into(), "OMOP:437663".into()];
        records[1].context.temporality = Temporality::Historical;
    });
    let table = written.named(Form::Omop, "1042");
    let (head, rows) = table.split_once('\n').expect("a head");
    assert_eq!(
        head,
        "note_nlp_id,note_id,section_concept_id,snippet,offset,lexical_variant,\
         note_nlp_concept_id,note_nlp_source_concept_id,nlp_system,nlp_date,nlp_datetime,\
         term_exists,term_temporal,term_modifiers"
    );
    let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split(',').collect()).collect();
    let snippet = TEXT.replace(['\n', '\r'], " ");
    for (row, (offset, words, concept, exists, when)) in rows.iter().zip([
        ("7", "fever toe", "437663", "N", "present"),
        ("29", "chest  pain", "0", "Y", "past"),
    ]) {
        assert_eq!(row.len(), 14, "{row:?}");
        assert!(row[0].parse::<i64>().is_ok_and(|id| id > 0), "{row:?}");
        assert_eq!(
            row[1..8],
            ["1042", "0", &snippet, offset, words, concept, "0"]
        );
        assert_eq!(
            row[9..13],
            ["2026-11-26", "2026-11-26 10:45:07", exists, when]
        );
    }
    assert!(
        rows[0][13].starts_with(
            "concept_code=D1;concept_name=fever;fragments=7 12|20 23;origin=name;group=problem;\
             negated=true;certainty=certain;"
        ),
        "{}",
        rows[0][13]
    );
    assert!(rows.len() == 2 && rows[0][0] != rows[1][0]);
}

#[test]
fn bioc_has_locations_in_code_points() {
    let written = Written::new(|records| {
        records[0].fragments = vec![Span::new(10, 15), Span::new(23, 26)];
        records[0].span = Span::new(10, 26);
        records[1].decision = Err(NilReason::NoCandidate);
        records[1].context.section = Some("a<b".into());
    });
    let collection = written.json(Form::BiocJson);
    assert_eq!(collection["date"], "2026-11-26");
    let passage = &collection["documents"][0]["passages"][0];
    assert_eq!(
        (&passage["offset"], &passage["text"]),
        (&0.into(), &TEXT.into())
    );
    let [first, second] = &passage["annotations"].as_array().expect("two")[..] else {
        panic!("expected two annotations, found {passage}");
    };
    assert_eq!(
        (&first["id"], &first["text"], &first["locations"]),
        (
            &"1".into(),
            &"fever of the toe".into(),
            &json!([{ "offset": 7, "length": 5 }, { "offset": 20, "length": 3 }])
        )
    );
    assert_eq!(
        (&first["infons"]["identifier"], &first["infons"]["type"]),
        (&"D1".into(), &"Sign".into())
    );
    assert_eq!(
        (&second["infons"]["identifier"], &second["infons"]["type"]),
        (&"-".into(), &"NIL".into())
    );
    let xml = written.text(Form::BiocXml);
    for expected in [
        "<passage><offset>0</offset><text>Note 😷\nfever of the toe\nand =chest&#13;\npain</text>",
        "<location offset=\"7\" length=\"5\"></location><location offset=\"20\" \
         length=\"3\"></location>\
         <text>fever of the toe</text></annotation>",
        "<infon key=\"section\">a&lt;b</infon>",
        "<location offset=\"29\" length=\"11\"></location><text>chest&#13;\npain</text>",
    ] {
        assert!(xml.contains(expected), "{expected}: {xml}");
    }
}

#[test]
fn spacy_has_all_mentions_in_a_group_and_tokens_at_their_ends() {
    let written = Written::new(|records| {
        let mut inside = records[0].clone();
        inside.span = Span::new(11, 13);
        inside.decision = Err(NilReason::NoCandidate);
        records.insert(1, inside);
    });
    let document = written.json(Form::SpacyJson);
    assert_eq!(
        document["spans"]["pel"],
        json!([
            { "start": 7, "end": 12, "label": "Sign", "kb_id": "D1" },
            { "start": 8, "end": 10, "label": "NIL", "kb_id": "" },
            { "start": 29, "end": 40, "label": "Sign", "kb_id": "D2" },
        ])
    );
    assert_eq!(
        document["ents"],
        json!([
            { "start": 7, "end": 12, "label": "Sign" },
            { "start": 29, "end": 40, "label": "Sign" },
        ])
    );
    let ends: Vec<(u64, u64)> = document["tokens"]
        .as_array()
        .expect("tokens")
        .iter()
        .filter_map(|token| Some((token["start"].as_u64()?, token["end"].as_u64()?)))
        .collect();
    // "Note", "😷", the line end, and "fever" in three.
    assert_eq!(
        ends[..6],
        [(0, 4), (5, 6), (6, 7), (7, 8), (8, 10), (10, 12)]
    );
    let mentions = document["pel"]["mentions"].as_array().expect("a list");
    assert_eq!(
        (
            mentions.len(),
            &mentions[0]["name"],
            &mentions[0]["negated"]
        ),
        (3, &"fever".into(), &false.into())
    );
}

#[test]
fn cas_has_utf16_offsets_and_fragments() {
    let written = Written::new(|records| {
        records[0].fragments = vec![Span::new(10, 15), Span::new(23, 26)];
        records[0].span = Span::new(10, 26);
    });
    let cas = written.json(Form::CasJson);
    let structures = cas["%FEATURE_STRUCTURES"].as_array().expect("a list");
    assert_eq!(structures[0]["sofaString"], TEXT);
    assert_eq!(structures[1]["end"], TEXT.encode_utf16().count());
    let found: Vec<_> = structures[2..]
        .iter()
        .map(|one| {
            (
                one["%TYPE"].as_str(),
                one["begin"].as_u64(),
                one["end"].as_u64(),
                one["@mention"].as_u64(),
            )
        })
        .collect();
    let (mention, fragment) = (Some("pel.Mention"), Some("pel.Fragment"));
    assert_eq!(
        found,
        [
            (mention, Some(8), Some(24), None),
            (fragment, Some(8), Some(13), Some(3)),
            (fragment, Some(21), Some(24), Some(3)),
            (mention, Some(30), Some(41), None),
        ]
    );
    assert_eq!(
        (&structures[2]["identifier"], &structures[2]["kind"]),
        (&"D1".into(), &"Sign".into())
    );
    assert_eq!(
        cas["%VIEWS"]["_InitialView"],
        json!({ "%SOFA": 1, "%MEMBERS": [2, 3, 4, 5, 6] })
    );
}
