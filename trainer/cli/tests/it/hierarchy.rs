//! The hierarchy of a bundle: `--hierarchy`, `--under`, `--ancestors` and `pel count`.

use crate::common::{Workspace, copy, tiny};
use serde_json::Value;

const KB: &str = r#"{"id": "D1", "name": "fever", "synonyms": ["pyrexia"], "types": ["Sign or symptom"]}
{"id": "D2", "name": "chest pain", "types": ["Sign or symptom"]}
{"id": "D3", "name": "diabetes mellitus", "synonyms": ["diabetes"], "types": ["Disease"]}
{"id": "D4", "name": "diabetic foot", "types": ["Disease"]}
{"id": "D5", "name": "aspirin", "types": ["Drug or chemical"]}
"#;

/// D4 has no code of ICD-10-CM; its parent has.
const HIERARCHY: &str = "child\tparent\tsource
D4\tD3\tmondo
ICD10CM:E11\tICD10CM:E08-E13\ticd10cm
ICD10CM:E08-E13\tICD10CM:E00-E89\ticd10cm
ICD10CM:R50\tICD10CM:R50-R69\ticd10cm
ICD10CM:R07\tICD10CM:R00-R09\ticd10cm
ICD10CM:R50-R69\tICD10CM:R00-R99\ticd10cm
ICD10CM:R00-R09\tICD10CM:R00-R99\ticd10cm
RXNORM:1191\tMEDRT:N0000175722\tmedrt
X1\tD3\tother
";

const CODES: &str = "id\tsystem\tcode\tmatch
D1\tICD10CM\tR50\texact
D1\tSNOMEDCT\t386661006\texact
D2\tICD10CM\tR07\tbroader
D3\tICD10CM\tE11\texact
D5\tRXNORM\t1191\texact
";

/// The last code is a node of the hierarchy alone.
const NAMES: &str = "system\tcode\tdisplay\tbillable
ICD10CM\tE11\tType 2 diabetes mellitus\t0
ICD10CM\tE00-E89\tEndocrine, nutritional and metabolic diseases\t0
";

const NOTE: &str = "Fever and chest pain. Diabetes, diabetic foot. Takes aspirin.\n";

/// A folder with a bundle that has codes and a hierarchy.
pub(crate) fn place() -> Workspace {
    let place = Workspace::new();
    for (name, text) in [
        ("kb.jsonl", KB),
        ("hierarchy.tsv", HIERARCHY),
        ("codes.tsv", CODES),
        ("names.tsv", NAMES),
        ("note.txt", NOTE),
    ] {
        std::fs::write(place.path(name), text).expect("written");
    }
    copy(&tiny().display().to_string(), &place.path("encoder"));
    place.done(
        "index --device cpu --kb @kb.jsonl --encoder @encoder --out @bundle --hierarchy \
         @hierarchy.tsv --codes @codes.tsv --code-names @names.tsv",
    );
    place
}

/// The identifiers that `pel inspect --under` lists.
fn under(place: &Workspace, bundle: &str, code: &str) -> Vec<String> {
    let shown = place
        .done(&format!("--json inspect @{bundle} --under {code}"))
        .out;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let all = shown.as_array().expect("a list").iter();
    all.map(|one| one["id"].as_str().expect("an id").to_owned())
        .collect()
}

/// The linked concepts of the note.
fn links(place: &Workspace, more: &str) -> Vec<Value> {
    let line = format!("link --device cpu --bundle @bundle @note.txt --format jsonl {more}");
    let lines = place.done(line.trim_end()).out;
    let of = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["concept"].clone();
    lines.lines().map(of).collect()
}

fn ids(links: &[Value]) -> Vec<&str> {
    links
        .iter()
        .filter_map(|link| link["id"].as_str())
        .collect()
}

#[test]
fn concepts_below_a_code_or_a_concept_are_listed() {
    let place = place();
    for (code, expected) in [
        ("ICD10CM:E00-E89", &["D3", "D4"][..]),
        ("icd-10-cm:E11", &["D3", "D4"]),
        ("ICD10CM:R00-R99", &["D1", "D2"]),
        ("D3", &["D3", "D4"]),
        ("D4", &["D4"]),
        ("SNOMEDCT:386661006", &["D1"]),
        ("MEDRT:N0000175722", &["D5"]),
    ] {
        assert_eq!(under(&place, "bundle", code), expected, "{code}");
    }
    let shown = place.done("inspect @bundle --under D3");
    assert_eq!(shown.out, "D3  diabetes mellitus\nD4  diabetic foot\n");
    let shown = place.done("inspect @bundle").out;
    assert!(
        shown.contains("8 parents of concepts and 10 codes"),
        "{shown}"
    );
}

#[test]
fn hierarchy_is_given_and_kept_by_updates() {
    let place = place();
    let line = "index --device cpu --kb @kb.jsonl --encoder @encoder --out @plain --codes \
                @codes.tsv --code-names @names.tsv";
    place.done(line);
    place.refuses(&[(
        "inspect @plain --under D3",
        3,
        "expected a bundle with a hierarchy, found one without; `pel update --hierarchy",
    )]);
    let done =
        place.done("update @plain --hierarchy @hierarchy.tsv --code-names @names.tsv --out @given");
    assert!(
        done.err.contains("1 row left out") && done.err.contains("X1"),
        "{}",
        done.err
    );
    assert!(
        done.out.contains("8 parents written, nothing was encoded"),
        "{}",
        done.out
    );
    for (path, bytes) in crate::common::contents(&place.path("bundle")) {
        let name = path.file_name().expect("a file").to_owned();
        let given = std::fs::read(place.path("given").join(&name)).expect("there too");
        assert!(given == bytes, "{name:?}");
    }
    // The concepts in another order, one renamed, with an index that is kept and one that is not.
    let mut lines: Vec<String> = KB
        .lines()
        .map(|line| line.replace("\"D3\"", "\"S3\""))
        .collect();
    lines.reverse();
    std::fs::write(place.path("new.jsonl"), lines.join("\n") + "\n").expect("written");
    let redirects = "id\treplaced_by\treason\nD3\tS3\trenamed\n";
    std::fs::write(place.path("redirects.tsv"), redirects).expect("written");
    let update = "update @bundle --kb @new.jsonl --redirects @redirects.tsv --device cpu";
    place.done(&format!("{update} --keep-index --out @kept"));
    assert_eq!(under(&place, "kept", "ICD10CM:E00-E89"), ["S3", "D4"]);
    assert_eq!(under(&place, "kept", "D3"), ["S3", "D4"]);
    place.done(&format!("{update} --hierarchy @hierarchy.tsv --out @full"));
    assert_eq!(under(&place, "full", "S3"), ["D4", "S3"]);
    place.done(&format!("{update} --out @without"));
    assert_eq!(under(&place, "without", "MEDRT:N0000175722"), ["D5"]);
}

#[test]
fn links_are_chosen_by_a_value_set() {
    let place = place();
    assert_eq!(ids(&links(&place, "")), ["D1", "D2", "D3", "D4", "D5"]);
    assert_eq!(ids(&links(&place, "--under ICD10CM:E08-E13")), ["D3", "D4"]);
    assert_eq!(
        ids(&links(&place, "--under ICD10CM:R07,RXNORM:1191")),
        ["D2", "D5"]
    );
    let set = "# diabetes and fever\nICD10CM:E11\tType 2 diabetes mellitus\n\nD1\n";
    std::fs::write(place.path("set.txt"), set).expect("written");
    let file = format!("--under=@{}", place.path("set.txt").display());
    assert_eq!(ids(&links(&place, &file)), ["D1", "D3", "D4"]);
}

#[test]
fn ancestors_are_written_nearest_first() {
    let place = place();
    let links = links(&place, "--ancestors");
    let of = |at: usize| {
        let ancestors = links[at]["ancestors"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let id = |one: &Value| one["id"].as_str().expect("an id").to_owned();
        ancestors.iter().map(id).collect::<Vec<_>>()
    };
    assert_eq!(
        of(3),
        ["D3", "ICD10CM:E11", "ICD10CM:E08-E13", "ICD10CM:E00-E89"]
    );
    assert_eq!(links[3]["ancestors"][0]["name"], "diabetes mellitus");
    assert_eq!(links[3]["ancestors"][1]["name"], "Type 2 diabetes mellitus");
    assert_eq!(links[3]["ancestors"][2].get("name"), None);
    let chapter = "Endocrine, nutritional and metabolic diseases";
    assert_eq!(links[3]["ancestors"][3]["name"], chapter);
    assert_eq!(of(4), ["RXNORM:1191", "MEDRT:N0000175722"]);
}

#[test]
fn concepts_are_counted_by_note_by_patient_and_by_chapter() {
    let place = place();
    let table = "note_id,patient,text\nn1,p1,Fever. Fever again.\nn2,p2,No fever. Diabetes.\n\
                 n3,p1,Fever and diabetic foot.\nn4,p2,Diabetes.\n";
    std::fs::write(place.path("notes.csv"), table).expect("written");
    let count = |more: &str| {
        let line = format!("count --device cpu --bundle @bundle @notes.csv {more}");
        place.done(line.trim_end()).out.replace("\r\n", "\n")
    };
    assert_eq!(
        count(""),
        "id,name,asserted_notes,negated_notes,other_notes,asserted_mentions,negated_mentions,\
         other_mentions\n\
         D1,fever,2,1,0,3,1,0\n\
         D3,diabetes mellitus,2,0,0,2,0,0\n\
         D4,diabetic foot,1,0,0,1,0,0\n"
    );
    let by_patient = count("--patient-column patient");
    assert!(by_patient.contains("asserted_patients"), "{by_patient}");
    for line in [
        "D1,fever,1,1,0,3,1,0",
        "D3,diabetes mellitus,1,0,0,2,0,0",
        "D4,diabetic foot,1,0,0,1,0,0",
    ] {
        assert!(
            by_patient.lines().any(|own| own == line),
            "{line}: {by_patient}"
        );
    }
    // The concept without a code counts by its parent.
    let chapters = count("--roll-up ICD10CM");
    assert!(
        chapters.contains(
            "\nE00-E89,\"Endocrine, nutritional and metabolic diseases\",3,0,0,3,0,0\n\
             R00-R99,,2,1,0,3,1,0\n"
        ),
        "{chapters}"
    );
    let categories = count("--roll-up ICD10CM:3 --under ICD10CM:E08-E13");
    assert!(
        categories.ends_with("\nE11,Type 2 diabetes mellitus,3,0,0,3,0,0\n"),
        "{categories}"
    );
    let drugs = count("--roll-up MEDRT --patient-column patient");
    assert!(
        drugs.ends_with("\n,without a code of the system,2,1,0,6,1,0\n"),
        "{drugs}"
    );
}

#[test]
fn bad_hierarchies_and_value_sets_are_refused() {
    let place = place();
    let write = |name: &str, text: &str| std::fs::write(place.path(name), text).expect("written");
    write("circle.tsv", "child\tparent\nD1\tD2\nD2\tD3\nD3\tD1\n");
    write("short.tsv", "child\tparent\nD1\tD2\nD1\n");
    write("head.tsv", "from\tto\nD1\tD2\n");
    write("set.txt", "D1\nICD10CM:E99\n");
    write("none.txt", "# nothing\n");
    let update = |file: &str| format!("update @bundle --hierarchy @{file} --out @new");
    let under = |file: &str| {
        let file = place.path(file).display().to_string();
        format!("link --device cpu --bundle @bundle @note.txt --under=@{file}")
    };
    let lines = [
        (
            update("circle.tsv"),
            3,
            "circle.tsv: expected a hierarchy without circles, found one of 3 members: \
             D1 -> D2 -> D3 -> D1 (lines 2, 3, 4); take one",
        ),
        (
            update("short.tsv"),
            3,
            "short.tsv: line 3: expected at least 2 fields",
        ),
        (
            update("head.tsv"),
            3,
            "head.tsv: line 1: expected a header with the columns child, parent",
        ),
        (
            under("set.txt"),
            3,
            "set.txt: line 2: expected the identifier of a concept, or a code",
        ),
        (under("none.txt"), 3, "found none in"),
        (
            "index --device cpu --kb @kb.jsonl --encoder @encoder --out @new --code-names @names.tsv"
                .to_owned(),
            2,
            "--code-names: expected --codes or --hierarchy with it",
        ),
        (
            "link --device cpu --bundle @bundle @note.txt --under OPCS4:X".to_owned(),
            3,
            "--under: expected the identifier of a concept",
        ),
        (
            "link --device cpu --bundle @bundle @note.txt --ancestors --format csv".to_owned(),
            3,
            "--ancestors: expected --format json or jsonl",
        ),
        (
            "count --device cpu --bundle @bundle @note.txt --roll-up ICD10CM:7".to_owned(),
            3,
            "it has 3 levels of it",
        ),
        (
            "count --device cpu --bundle @bundle @note.txt --roll-up OPCS4".to_owned(),
            2,
            "expected a code system",
        ),
        (
            "count --device cpu --bundle @bundle @note.txt --patient-column p".to_owned(),
            3,
            "--patient-column: expected a table of notes",
        ),
    ];
    let lines: Vec<_> = lines
        .iter()
        .map(|(line, code, expected)| (line.as_str(), *code, *expected))
        .collect();
    place.refuses(&lines);
}
