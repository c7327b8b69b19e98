//! `pel link` over documents: HTML, RTF, PDF, CDA, HL7 v2, FHIR.

use crate::common::{CommandOutput, bundle, output_of, pel};
use serde_json::Value;
use std::path::PathBuf;
use tempfile::TempDir;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
        std::fs::write(path, content).expect("written");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn link(&self, args: &[&str]) -> CommandOutput {
        let mut all = vec!["link", "--bundle", bundle()];
        all.extend(args);
        let mut command = pel(&all);
        command.current_dir(self.0.path());
        output_of(command)
    }
}

fn rows(lines: &str) -> Vec<Value> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

/// A PDF with one line of text; `trailer` is added to its trailer.
fn pdf(text: &str, trailer: &str) -> String {
    let content = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET");
    format!(
        "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n\
         2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj\n\
         3 0 obj <</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>> endobj\n\
         4 0 obj <</Length {}>> stream\n{content}\nendstream endobj\n\
         5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj\n\
         trailer <</Root 1 0 R{trailer}>>\n%%EOF\n",
        content.len()
    )
}

const CDA: &str = "<?xml version=\"1.0\"?><ClinicalDocument xmlns=\"urn:hl7-org:v3\">\
    <effectiveTime value=\"20260103\"/><recordTarget><patientRole><id extension=\"998991\"/>\
    </patientRole></recordTarget><component><structuredBody><component><section>\
    <code code=\"10157-6\" codeSystem=\"2.16.840.1.113883.6.1\"/><title>Verwandte</title>\
    <text>Diabetes</text></section></component></structuredBody></component></ClinicalDocument>";

#[test]
fn documents_of_a_folder_are_linked_and_their_texts_written() {
    let place = Place::new();
    place.put("in/a.html", "<h1>Note</h1><p>No&nbsp;chest <b>pain</b>.");
    place.put("in/b.rtf", "{\\rtf1\\ansi Fever.\\par}");
    place.put("in/c.pdf", pdf("Chest pain", ""));
    place.put("in/ward/d.xml", CDA);
    place.put("in/e.pdf", pdf("Fever", "/Encrypt<</Filter/Standard>>"));
    let output = place.link(&[
        "in",
        "--format",
        "jsonl",
        "--out",
        "out",
        "--text-out",
        "texts",
    ]);
    assert_eq!(output.code, Some(3), "{}", output.err);
    assert!(
        output.err.contains("1 of 5 notes cannot be read"),
        "{}",
        output.err
    );
    assert!(
        output.err.contains("e.pdf: the PDF is encrypted"),
        "{}",
        output.err
    );
    assert_eq!(place.read("texts/a.txt"), "Note\n\nNo chest pain.");
    for (name, concept, words) in [
        ("a", "D2", "chest pain"),
        ("b", "D1", "Fever"),
        ("c", "D2", "Chest pain"),
        ("ward/d", "D3", "Diabetes"),
    ] {
        let rows = rows(&place.read(&format!("out/{name}.jsonl")));
        let row = rows
            .iter()
            .find(|row| row["concept"]["id"] == concept)
            .unwrap_or_else(|| panic!("{name}: {rows:?}"));
        let text = place.read(&format!("texts/{name}.txt"));
        let place = |key: &str| row[key].as_u64().expect("a number") as usize;
        assert_eq!(
            text.get(place("start")..place("end")),
            Some(words),
            "{name}"
        );
    }
    let rows = rows(&place.read("out/ward/d.jsonl"));
    let row = &rows[0];
    assert_eq!(row["patient"], "998991");
    assert_eq!(row["note_date"], "2026-01-03");
    // By the code of the section, whose heading no rule has.
    assert_eq!(row["section"], "family history");
    assert_eq!(row["experiencer"], "family");
}

#[test]
fn texts_of_a_folder_come_before_its_documents() {
    let place = Place::new();
    place.put("in/a.txt", "Fever.");
    place.put("in/b.html", "<p>Chest pain.");
    let output = place.link(&["in", "--format", "jsonl"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let told = "left out 1 document next to the texts, first in/b.html";
    assert!(output.err.contains(told), "{}", output.err);
    let rows = rows(&output.out);
    assert!(rows.iter().all(|row| row["doc"] == "a"), "{rows:?}");
}

#[test]
fn messages_and_reports_state_patient_and_encounter() {
    let place = Place::new();
    let message = "MSH|^~\\&|A|B|C|D|20260103||ORU^R01|M1|P|2.3\rPID|1||77^^^H^MR\r\
                   PV1|1|I|||||||||||||||||V12\rOBX|1|TX|R^Report||Fever\\.br\\today||||||F\r";
    place.put("in.hl7", message);
    let output = place.link(&["in.hl7", "--format", "fhir"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let bundle: Value = serde_json::from_str(&output.out).expect("FHIR");
    let entries = bundle["entry"].as_array().expect("entries");
    let of_type = |name: &str| {
        let mut all = entries.iter().map(|entry| &entry["resource"]);
        all.find(|resource| resource["resourceType"] == name)
            .unwrap_or_else(|| panic!("{name}: {bundle}"))
    };
    let document = of_type("DocumentReference");
    assert_eq!(document["subject"]["identifier"]["value"], "77");
    assert_eq!(
        document["context"]["encounter"][0]["identifier"]["value"],
        "V12"
    );
    assert_eq!(document["context"]["period"]["start"], "2026-01-03");
    let report = "{\"resourceType\": \"DiagnosticReport\", \"id\": \"r1\", \
        \"subject\": {\"reference\": \"Patient/p1\"}, \"encounter\": {\"reference\": \"Encounter/e1\"}, \
        \"text\": {\"div\": \"<div>Fever</div>\"}}\n{\"resourceType\": \"DiagnosticRep\n";
    place.put("in.ndjson", report);
    let output = place.link(&["in.ndjson", "--format", "jsonl"]);
    assert_eq!(output.code, Some(3), "{}", output.err);
    assert!(output.err.contains("in.ndjson: line 2: "), "{}", output.err);
    let rows = rows(&output.out);
    assert_eq!(
        (&rows[0]["doc"], &rows[0]["patient"]),
        (&"r1".into(), &"Patient/p1".into())
    );
    assert_eq!(rows[0]["encounter"], "Encounter/e1");
}
