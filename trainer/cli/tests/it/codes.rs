//! Codes of concepts in standard code systems: from tables into bundles, and into outputs.

use crate::common::{CommandOutput, Workspace, contents, copy, tiny};
use serde_json::{Value, json};

const KB: &str = r#"{"id": "D1", "name": "fever", "synonyms": ["pyrexia"], "types": ["Sign or symptom"]}
{"id": "D2", "name": "chest pain", "types": ["Sign or symptom"]}
{"id": "D3", "name": "diabetes mellitus", "types": ["Disease"]}
{"id": "D4", "name": "aspirin", "types": ["Drug or chemical"]}
{"id": "PEL:x", "name": "body weight", "types": ["Measurement"]}
"#;

const CODES: &str = "\
id\tsystem\tcode\tmatch\tsource
D1\tSNOMEDCT\t386661006\texact\tmondo
D1\tICD10CM\tR50.9\texact\thand
D3\tICD10CM\tE08-E13\tbroader\tmondo
D3\tUMLS\tC0011849\texact\tmondo
D4\tRXNORM\t1191\texact\thand
D9\tRXNORM\t7052\texact\thand
D8\tRXNORM\t7052\texact\thand
PEL:x\tLOINC\t29463-7\texact\thand
";

const NAMES: &str = "\
system\tcode\tdisplay\tbillable
ICD10CM\tR50.9\tFever, unspecified\t1
ICD10CM\tE08-E13\tDiabetes mellitus\t0
SNOMEDCT\t386661006\tFever\t
RXNORM\t1191\taspirin\t
";

const LOINC: &str = "LOINC_NUM\tLONG_COMMON_NAME\n29463-7\tBody weight\n";

pub const NOTE: &str =
    "Fever and chest pain, diabetes mellitus. Takes aspirin. Body weight stable.\n";

/// A folder with a bundle without codes, tables of codes and a note.
fn place() -> Workspace {
    let place = Workspace::new();
    for (name, text) in [
        ("kb.jsonl", KB),
        ("codes.tsv", CODES),
        ("names.tsv", NAMES),
        ("loinc.tsv", LOINC),
        ("note.txt", NOTE),
    ] {
        std::fs::write(place.path(name), text).expect("written");
    }
    copy(&tiny().display().to_string(), &place.path("encoder"));
    place.done("index --device cpu --kb @kb.jsonl --encoder @encoder --out @plain");
    place
}

/// As [`place`], with a bundle with codes.
pub fn coded() -> Workspace {
    let place = place();
    place.done("update @plain --codes @codes.tsv --code-names @names.tsv @loinc.tsv --out @coded");
    place
}

fn lines(output: &CommandOutput) -> Vec<Value> {
    let lines = output.out.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The concepts that the note is linked to, by identifier.
fn concept(lines: &[Value], id: &str) -> Value {
    let mut concepts = lines.iter().map(|line| line["concept"].clone());
    concepts
        .find(|concept| concept["id"] == id)
        .expect("linked")
}

#[test]
fn bundle_gains_codes_without_other_changes() {
    let place = place();
    let done = place.done(
        "--json update @plain --codes @codes.tsv --code-names @names.tsv @loinc.tsv --out @coded",
    );
    assert_eq!(lines(&done)[0]["codes"], 6);
    assert!(
        done.err.contains("2 rows left out") && done.err.contains("the first of them D9"),
        "{}",
        done.err
    );
    for (path, bytes) in contents(&place.path("plain")) {
        let name = path.file_name().expect("a file").to_owned();
        let same = std::fs::read(place.path("coded").join(&name)).expect("there") == bytes;
        assert_eq!(same, name != "manifest.json", "{}", name.display());
    }
    let notice = std::fs::read_to_string(place.path("coded/codes.loinc.txt")).expect("there");
    assert!(
        notice.contains("available at no cost under the license"),
        "{notice}"
    );
    let shown = place.done("inspect @coded").out;
    for expected in [
        "SNOMED CT (SNOMEDCT): 1 code of 1 concept (1 exact)",
        "ICD-10-CM (ICD10CM): 2 codes of 2 concepts (1 exact, 1 broader)",
        "codes.bin",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let shown = place.done("--json inspect @coded --concept D1").out;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown[0]["codes"][1]["display"], "Fever, unspecified");
}

#[test]
fn indexed_bundle_has_the_codes_of_an_updated_one() {
    let place = coded();
    place.done(
        "index --device cpu --kb @kb.jsonl --encoder @encoder --out @indexed --codes @codes.tsv \
         --code-names @names.tsv @loinc.tsv",
    );
    for name in ["codes.bin", "codes.loinc.txt", "index.bin"] {
        let read = |bundle: &str| std::fs::read(place.path(bundle).join(name)).expect("there");
        assert!(read("coded") == read("indexed"), "{name}");
    }
}

#[test]
fn concepts_that_stay_keep_their_codes() {
    let place = coded();
    let kb: String = KB.lines().rev().map(|line| format!("{line}\n")).collect();
    let kb = kb.replace("\"fever\"", "\"raised temperature\"");
    let kb = kb.lines().filter(|line| !line.contains("\"D3\""));
    let kb: String = kb.map(|line| format!("{line}\n")).collect();
    std::fs::write(place.path("new.jsonl"), kb).expect("written");
    place.done("update @coded --device cpu --kb @new.jsonl --out @new");
    let code_of = |id: &str| {
        let shown = place
            .done(&format!("--json inspect @new --concept {id}"))
            .out;
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        shown[0]["codes"][0]["code"].clone()
    };
    assert_eq!(code_of("D1"), "386661006");
    assert_eq!(code_of("D4"), "1191");
    assert_eq!(code_of("D2"), Value::Null);
    assert!(!place.done("inspect @new").out.contains("UMLS"));
}

#[test]
fn codes_of_retired_identifiers_go_to_their_successors() {
    let place = place();
    let redirects = "id\treplaced_by\treason\nD9\tD4\tmerged\n";
    std::fs::write(place.path("redirects.tsv"), redirects).expect("written");
    let done = place.done(
        "index --device cpu --kb @kb.jsonl --encoder @encoder --out @new --codes @codes.tsv \
         --redirects @redirects.tsv",
    );
    assert!(done.err.contains("1 row left out"), "{}", done.err);
    let shown = place.done("inspect @new --concept D4").out;
    assert!(
        shown.contains("RXNORM:1191") && shown.contains("RXNORM:7052"),
        "{shown}"
    );
}

#[test]
fn json_has_the_codes_of_the_linked_concept() {
    let place = coded();
    let all = lines(&place.done("link --device cpu --bundle @coded @note.txt --format jsonl"));
    let fever = concept(&all, "D1");
    assert_eq!(
        fever["codes"],
        json!([
            {"system": "SNOMEDCT", "code": "386661006", "display": "Fever", "match": "exact"},
            {
                "system": "ICD10CM", "code": "R50.9", "display": "Fever, unspecified",
                "match": "exact", "billable": true,
            },
        ])
    );
    assert_eq!(fever["code"]["code"], "R50.9");
    assert_eq!(concept(&all, "D3")["code"]["match"], "broader");
    assert_eq!(concept(&all, "PEL:x")["code"]["display"], "Body weight");
    assert!(concept(&all, "D2").get("codes").is_none());
    let line = "link --device cpu --bundle @coded @note.txt --format jsonl --codes umls,SNOMEDCT";
    let chosen = lines(&place.done(line));
    assert_eq!(
        concept(&chosen, "D1")["codes"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(concept(&chosen, "D1")["code"]["code"], "386661006");
    assert_eq!(concept(&chosen, "D3")["code"]["code"], "C0011849");
    assert!(concept(&chosen, "D4").get("code").is_none());
}

#[test]
fn csv_has_columns_for_each_chosen_system() {
    let place = coded();
    let table = place
        .done("link --device cpu --bundle @coded @note.txt --format csv --codes ICD10CM,RXNORM")
        .out;
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let names = rows.headers().expect("a header").clone();
    let last: Vec<&str> = names.iter().rev().take(4).collect();
    assert_eq!(last, ["RXNORM_match", "RXNORM", "ICD10CM_match", "ICD10CM"]);
    let at = |name: &str| names.iter().position(|one| one == name).expect("a column");
    let rows: Vec<csv::StringRecord> = rows.records().map(|row| row.expect("a row")).collect();
    let field = |id: &str, name: &str| {
        let row = rows
            .iter()
            .find(|row| &row[at("id")] == id)
            .expect("linked");
        row[at(name)].to_owned()
    };
    assert_eq!(field("D1", "ICD10CM"), "R50.9");
    assert_eq!(field("D3", "ICD10CM_match"), "broader");
    assert_eq!(field("D4", "RXNORM"), "1191");
    assert_eq!(field("D4", "ICD10CM") + &field("D4", "ICD10CM_match"), "");
    let plain = place
        .done("link --device cpu --bundle @coded @note.txt --format csv")
        .out;
    assert!(!plain.contains("ICD10CM"));
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_the_columns_of_csv_for_each_chosen_system() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, Row};
    let place = coded();
    place.done(
        "link --device cpu --bundle @coded @note.txt --format parquet --codes ICD10CM,RXNORM \
         --out @links.parquet",
    );
    let file = std::fs::File::open(place.path("links.parquet")).expect("there");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let rows = reader.get_row_iter(None).expect("rows");
    let rows: Vec<Row> = rows.map(|row| row.expect("a row")).collect();
    let field = |id: &str, name: &str| {
        let value = |row: &Row, name: &str| {
            let mut columns = row.get_column_iter();
            let column = columns.find(|(one, _)| *one == name).expect("a column");
            match column.1 {
                Field::Str(text) => text.clone(),
                other => format!("{other:?}"),
            }
        };
        let row = rows.iter().find(|row| value(row, "id") == id);
        value(row.expect("linked"), name)
    };
    assert_eq!(field("D1", "ICD10CM"), "R50.9");
    assert_eq!(field("D1", "ICD10CM_match"), "exact");
    assert_eq!(field("D3", "ICD10CM_match"), "broader");
    assert_eq!(field("D4", "RXNORM"), "1191");
    assert_eq!(field("D4", "ICD10CM"), "Null");
    let names: Vec<&String> = rows[0].get_column_iter().map(|(name, _)| name).collect();
    let last: Vec<&str> = names
        .iter()
        .rev()
        .take(5)
        .map(|name| name.as_str())
        .collect();
    let expected = [
        "RXNORM_match",
        "RXNORM",
        "ICD10CM_match",
        "ICD10CM",
        "relations",
    ];
    assert_eq!(last, expected);
}

#[test]
fn table_shows_the_code_of_the_group() {
    let place = coded();
    let table = place
        .done("link --device cpu --bundle @coded @note.txt")
        .out;
    for expected in [
        "Code",
        "ICD10CM:R50.9",
        "~ICD10CM:E08-E13",
        "RXNORM:1191",
        "LOINC:29463-7",
    ] {
        assert!(table.contains(expected), "{expected}: {table}");
    }
    let plain = place
        .done("link --device cpu --bundle @plain @note.txt")
        .out;
    assert!(!plain.contains("Code"), "{plain}");
}

#[test]
fn fhir_resources_have_standard_codings_and_no_local_system() {
    let place = coded();
    let text = place
        .done("link --device cpu --bundle @coded @note.txt --format fhir")
        .out;
    let bundle: Value = serde_json::from_str(&text).expect("JSON");
    let entries = bundle["entry"].as_array().expect("entries");
    let codings = |kind: &str, field: &str| -> Vec<Value> {
        let resources = entries.iter().map(|entry| &entry["resource"]);
        let of_kind = resources.filter(|resource| resource["resourceType"] == kind);
        of_kind
            .map(|resource| resource[field]["coding"].clone())
            .collect()
    };
    let conditions = codings("Condition", "code");
    let systems = |codings: &Value| -> Vec<String> {
        let codings = codings.as_array().expect("codings").iter();
        codings
            .map(|coding| coding["system"].as_str().expect("a URI").to_owned())
            .collect()
    };
    assert_eq!(
        systems(&conditions[0]),
        [
            "http://snomed.info/sct",
            "http://hl7.org/fhir/sid/icd-10-cm"
        ]
    );
    let rxnorm = &codings("MedicationStatement", "medicationCodeableConcept")[0];
    assert_eq!(rxnorm[0]["code"], "1191");
    assert_eq!(
        codings("Observation", "code")[0],
        json!([{"system": "http://loinc.org", "code": "29463-7", "display": "Body weight"}])
    );
    assert!(!text.contains("\"system\":\"urn:uuid"), "{text}");
}

#[test]
fn bad_codes_and_systems_are_refused() {
    let place = place();
    let bad = CODES.replace("D4\tRXNORM\t1191", "D4\tOPCS4\tX70");
    std::fs::write(place.path("bad.tsv"), bad).expect("written");
    place.refuses(&[
        (
            "update @plain --codes @bad.tsv --out @new",
            3,
            "bad.tsv: line 6: expected a code system (SNOMEDCT, ICD10CM",
        ),
        (
            "update @plain --codes @codes.tsv --code-names @codes.tsv --out @new",
            3,
            "codes.tsv: line 1: expected a header with the columns system, code, display",
        ),
        (
            "link --bundle @plain @note.txt --codes ICD10CM",
            3,
            "has no codes; `pel update --codes FILE` adds them",
        ),
        (
            "link --bundle @plain @note.txt --codes ICD10CM --format pubtator",
            3,
            "--codes: this --format has no codes; use table, json, jsonl, csv, parquet or fhir",
        ),
        (
            "link --bundle @plain @note.txt --codes ICD10CM,icd-10-cm",
            3,
            "--codes: expected each code system once, found ICD10CM twice",
        ),
        (
            "link --bundle @plain @note.txt --codes ICD10CM,OPCS4",
            2,
            "expected a code system (SNOMEDCT, ICD10CM, RXNORM",
        ),
        (
            "update @plain --code-names @names.tsv --out @new",
            2,
            "--kb",
        ),
    ]);
}
