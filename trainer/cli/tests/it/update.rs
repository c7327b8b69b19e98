//! `pel update` and `pel diff`, and bundles with redirects.

use crate::common::{CommandOutput, KB, Workspace, copy, index, tiny};
use pel_linker::bundle::{Bundle, Parts, Resolved};
use serde_json::Value;
use std::path::Path;

/// The first version: two concepts that merge, one that is retired, one that gets another name.
const OLD: &str = r#"{"id": "D1", "name": "fever", "synonyms": ["pyrexia"], "types": ["Sign"], "definition": "A high temperature."}
{"id": "D2", "name": "chest pain", "synonyms": ["thoracic pain", "pain in the chest"], "types": ["Sign"]}
{"id": "D3", "name": "diabetes mellitus", "synonyms": ["diabetes", "sugar disease"], "types": ["Disease"]}
{"id": "D4", "name": "high temperature", "synonyms": ["febris"], "types": ["Sign"]}
{"id": "D5", "name": "grippe", "types": ["Disease"]}
{"id": "D6", "name": "knee", "types": ["Anatomy"]}
{"id": "D7", "name": "cold", "synonyms": ["common cold"], "types": ["Disease"]}
"#;

/// The next version, in another order.
const NEW: &str = r#"{"id": "D7", "name": "common cold", "synonyms": ["cold", "acute rhinitis"], "types": ["Disease"]}
{"id": "D1", "name": "fever", "synonyms": ["pyrexia", "febris", "high temperature"], "types": ["Sign"], "definition": "A high temperature."}
{"id": "D8", "name": "influenza", "synonyms": ["flu", "grippe"], "types": ["Disease"]}
{"id": "D2", "name": "chest pain", "synonyms": ["thoracic pain"], "types": ["Symptom"], "xrefs": ["ICD10:R07.4"]}
{"id": "D3", "name": "diabetes mellitus", "synonyms": ["diabetes", "sugar disease"], "types": ["Disease"], "sources": ["TEST"]}
{"id": "D9", "name": "hip", "synonyms": ["diabetes"], "types": ["Anatomy"]}
"#;

const REDIRECTS: &str = "id\treplaced_by\treason\nD4\tD1\tmerged\nD5\tD8\tmoved\nD0\tD4\tmerged\n";

const NOTE: &str = "Fever and chest pain, no diabetes mellitus. Had the flu and an acute rhinitis; \
                    knee and hip hurt, thoracic pain, febris, grippe, sugar disease. Qwertz.\n";

/// A folder with both versions, redirects, a note and the encoder.
fn place() -> Workspace {
    let place = Workspace::new();
    for (name, text) in [
        ("old.jsonl", OLD),
        ("new.jsonl", NEW),
        ("redirects.tsv", REDIRECTS),
        ("note.txt", NOTE),
    ] {
        std::fs::write(place.path(name), text).expect("written");
    }
    copy(&tiny().display().to_string(), &place.path("encoder"));
    place
}

fn indexed(place: &Workspace, kb: &str, out: &str, more: &str) -> CommandOutput {
    place.done(&format!(
        "index --device cpu --kb @{kb} --encoder @encoder --kb-name notes --out @{out}{more}"
    ))
}

fn json(output: &CommandOutput) -> Value {
    serde_json::from_str(&output.out).unwrap_or_else(|error| panic!("{error}: {}", output.out))
}

fn open(path: &Path) -> Bundle {
    let mut parts = Parts::default();
    for entry in std::fs::read_dir(path).expect("listed") {
        let entry = entry.expect("listed");
        let bytes = std::fs::read(entry.path()).expect("read");
        parts
            .0
            .insert(entry.file_name().display().to_string(), bytes.into());
    }
    Bundle::read(parts).expect("whole")
}

fn links(place: &Workspace, bundle: &str) -> String {
    let line = format!("link --device cpu --bundle @{bundle} @note.txt --format jsonl");
    place.done(&line).out
}

/// The options of `pel index` with those that `pel update` needs for the same vectors.
const SETTINGS: [(&str, &str); 8] = [
    ("", ""),
    (" --precision f32", ""),
    (
        " --precision int4 --encoder-precision int8",
        " --encoder @encoder",
    ),
    (
        " --view both --mix 0.25 --spelling 0.2 --nil-threshold 0.3",
        "",
    ),
    (" --view both --mix 0.25 --mixed-rows --distinct 0.99", ""),
    (" --view template --template types --synonyms", ""),
    (" --scorer sum-of-max --view both", ""),
    (
        " --hnsw --recall-floor 0",
        " --recall-floor 0 --rebuild-graph",
    ),
];

#[test]
fn updated_bundle_has_the_bytes_of_a_rebuilt_one() {
    for (of_index, of_update) in SETTINGS {
        let place = place();
        indexed(&place, "old.jsonl", "old", of_index);
        let line = format!(
            "--json update @old --kb @new.jsonl --redirects @redirects.tsv --out @new \
             --device cpu{of_update}"
        );
        let report = json(&place.done(&line));
        let given = " --redirects @new/redirects.tsv";
        indexed(
            &place,
            "new.jsonl",
            "rebuilt",
            &format!("{of_index}{given}"),
        );
        let mut files: Vec<_> = crate::common::contents(&place.path("rebuilt"))
            .into_iter()
            .map(|(path, bytes)| (path.file_name().expect("a file").to_owned(), bytes))
            .collect();
        assert_eq!(
            crate::common::contents(&place.path("new")).len(),
            files.len()
        );
        files.retain(|(name, _)| name != "manifest.json");
        for (name, bytes) in files {
            let updated = std::fs::read(place.path("new").join(&name)).expect("there too");
            assert!(updated == bytes, "{of_index}: {} differs", name.display());
        }
        // Both manifests were written by one version and from one table.
        let manifest = |bundle: &str| open(&place.path(bundle)).manifest;
        assert_eq!(manifest("new"), manifest("rebuilt"), "{of_index}");
        assert_eq!(links(&place, "new"), links(&place, "rebuilt"));
        let number = |field: &str| report[field].as_u64().expect("a number");
        assert_eq!(
            number("rows"),
            number("rows_reused") + number("rows_encoded"),
            "{of_index}"
        );
        assert!(number("rows_encoded") < number("rows"), "{of_index}");
    }
}

#[test]
fn only_new_texts_are_encoded() {
    let place = place();
    indexed(&place, "old.jsonl", "old", "");
    let report = json(&place.done(
        "--json update @old --kb @new.jsonl --redirects @redirects.tsv --out @new --device cpu \
         --report @report.json",
    ));
    // acute rhinitis, influenza, flu and hip; "grippe" comes from a retired concept, "diabetes"
    // from another one.
    assert_eq!(report["texts_encoded"], 4);
    assert_eq!(report["rows_encoded"], 4);
    assert_eq!(report["rows_reused"], 13);
    let counts = &report["counts"];
    for (field, expected) in [
        ("added", 2),
        ("retired", 3),
        ("redirected", 2),
        ("merged", 1),
        ("renamed", 1),
        ("names_added", 3),
        ("names_dropped", 1),
        ("types_changed", 1),
        ("xrefs_changed", 1),
        ("sources_changed", 1),
        ("changed", 4),
        ("unchanged", 0),
    ] {
        assert_eq!(counts[field], expected, "{field}: {counts}");
    }
    let whole: Value = serde_json::from_slice(
        &std::fs::read(place.path("report.json")).expect("the report is written"),
    )
    .expect("JSON");
    assert_eq!(whole["counts"], *counts);
    let changes = whole["changes"].as_array().expect("a list");
    let of = |id: &str| {
        let own = changes.iter().find(|change| change["id"] == id);
        own.unwrap_or_else(|| panic!("{id} has changed"))
    };
    assert_eq!(changes.len(), 9);
    assert_eq!(of("D4")["replaced_by"], "D1");
    assert_eq!(of("D5")["merged"], false);
    assert_eq!(of("D6")["replaced_by"], Value::Null);
    assert_eq!(of("D7")["renamed_from"], "cold");

    // A table without a change: nothing is encoded, and the index is copied.
    let again =
        json(&place.done("--json update @new --kb @new.jsonl --out @again.pel --device cpu"));
    assert_eq!(
        (&again["texts_encoded"], &again["rows_reused"]),
        (&0.into(), &17.into())
    );
    assert_eq!(again["counts"]["unchanged"], 6);
    assert_eq!(again["redirects"]["kept"], 4);
    let done = place.done("--json diff @new @again.pel");
    assert_eq!(done.out.lines().count(), 1, "{}", done.out);
    assert!(done.out.contains(r#""change":"summary""#) && done.out.contains(r#""unchanged":6"#));
}

#[test]
fn retired_identifiers_are_redirected_and_later_restored() {
    let place = place();
    indexed(&place, "old.jsonl", "old", "");
    place.done("update @old --kb @new.jsonl --redirects @redirects.tsv --out @new --device cpu");
    let text = std::fs::read_to_string(place.path("new/redirects.tsv")).expect("written");
    assert_eq!(
        text,
        "id\treplaced_by\treason\nD0\tD1\tmerged\nD4\tD1\tmerged\nD5\tD8\tmoved\nD6\t\tretired\n"
    );
    let bundle = open(&place.path("new"));
    let resolved = |id: &str| bundle.resolve(id).expect("whole");
    for (id, successor) in [("D1", "D1"), ("D0", "D1"), ("D4", "D1"), ("D5", "D8")] {
        let found = bundle.concepts.find(successor).expect("whole");
        assert_eq!(resolved(id).concept(), found, "{id}");
    }
    assert_eq!(bundle.concepts.find("D4").expect("whole"), None);
    assert!(matches!(resolved("D6"), Resolved::Retired(_)));
    assert_eq!(resolved("D6").concept(), None);
    assert_eq!(resolved("D66"), Resolved::Unknown);

    // The third version retires a successor and brings a retired concept back.
    let third = NEW.replace("\"D8\"", "\"D6\"");
    std::fs::write(place.path("third.jsonl"), third).expect("written");
    let report =
        json(&place.done("--json update @new --kb @third.jsonl --out @third --device cpu"));
    assert_eq!(report["redirects"]["restored"], 1);
    assert_eq!(report["rows_encoded"], 0, "the names are those of D8");
    let text = std::fs::read_to_string(place.path("third/redirects.tsv")).expect("written");
    assert_eq!(
        text,
        "id\treplaced_by\treason\nD0\tD1\tmerged\nD4\tD1\tmerged\nD5\t\tmoved\nD8\t\tretired\n"
    );
    // Every command that writes a bundle carries them along.
    place.done("pack @third @third.pel");
    place.done("pack @third.pel @unpacked");
    assert_eq!(
        std::fs::read_to_string(place.path("unpacked/redirects.tsv")).expect("kept"),
        text
    );
    let shown = place.done("inspect @unpacked").out;
    assert!(shown.contains("4 retired identifiers"), "{shown}");
    let shown = place.done("inspect @unpacked --concept D0");
    assert!(shown.out.contains("D1  fever"), "{}", shown.out);
    assert!(
        shown.err.contains("D0 is retired (merged)"),
        "{}",
        shown.err
    );
    place.refuses(&[(
        "inspect @unpacked --concept D8",
        3,
        "the id D8 is retired (retired)",
    )]);
}

#[test]
fn gold_concepts_follow_redirects() {
    let place = place();
    let mentions = concat!(
        r#"{"doc_id":"1","start":0,"end":5,"text":"fever","id":"D4"}"#,
        "\n",
        r#"{"doc_id":"1","start":7,"end":17,"text":"chest pain","id":"D2"}"#,
        "\n",
        r#"{"doc_id":"1","start":19,"end":25,"text":"qwertz","id":"D6"}"#,
        "\n",
    );
    std::fs::write(place.path("mentions.dev.jsonl"), mentions).expect("written");
    indexed(&place, "old.jsonl", "old", "");
    place.done("update @old --kb @new.jsonl --redirects @redirects.tsv --out @new --device cpu");
    let line =
        "--json evaluate --device cpu --corpus @ --bundle @new --split dev --systems link,exact";
    let figures = json(&place.done(line));
    let split = &figures["split"];
    assert_eq!(
        (&split["in_kb"], &split["nil"], &split["redirected"]),
        (&2.into(), &1.into(), &1.into())
    );
    let words = place
        .done(line.strip_prefix("--json ").expect("begins so"))
        .out;
    assert!(
        words.contains("1 has a retired concept, its successor is right"),
        "{words}"
    );
    let with_table = place.done(&format!("{line} --kb @new.jsonl"));
    assert_eq!(json(&with_table)["split"]["redirected"], 1);
    // Without redirects the retired concept is NIL.
    indexed(&place, "new.jsonl", "plain", "");
    let plain = json(&place.done(&line.replace("@new", "@plain")));
    assert_eq!(
        (&plain["split"]["in_kb"], &plain["split"]["redirected"]),
        (&1.into(), &0.into())
    );
    place.done("candidates --device cpu --bundle @new --corpus @ --split dev --out @lists.jsonl");
    let lists = std::fs::read_to_string(place.path("lists.jsonl")).expect("written");
    assert_eq!(lists.lines().count(), 2, "{lists}");
    assert!(lists.contains(r#""start":0,"end":5,"id":"D1""#), "{lists}");
    let calibrated = place.done("--json calibrate @new --corpus @ --device cpu");
    assert!(!calibrated.out.is_empty());
    assert!(open(&place.path("new")).redirects.is_some());
}

#[test]
fn diff_shows_the_first_of_each_kind_and_all_as_lines() {
    let place = place();
    indexed(&place, "old.jsonl", "old", "");
    let of_tables = place
        .done("--json diff @old.jsonl @new.jsonl --redirects @redirects.tsv")
        .out;
    let of_bundle = place
        .done("--json diff @old @new.jsonl --redirects @redirects.tsv")
        .out;
    assert_eq!(of_tables, of_bundle);
    let lines: Vec<Value> = of_tables
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let ids: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["id"].as_str())
        .collect();
    assert_eq!(ids, ["D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "D9"]);
    assert_eq!(lines[9]["change"], "summary");
    assert_eq!(lines[9]["merged"], 1);
    let text = place
        .done("diff @old.jsonl @new.jsonl --redirects @redirects.tsv --first 1")
        .out;
    for expected in [
        "2 concepts added, 3 retired (2 redirected, 1 of them merged), 4 changed, 0 unchanged",
        "Added: 2",
        "D8",
        "1 more; --all shows them",
        "Renamed: 1",
        "Other names: 3",
        "Other cross-references: 1",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("D9"), "{text}");
    let all = place
        .done("diff @old.jsonl @new.jsonl --redirects @redirects.tsv --all")
        .out;
    assert!(
        all.contains("D9") && all.contains("acute rhinitis"),
        "{all}"
    );
}

#[test]
fn unsuitable_inputs_are_refused_before_anything_is_written() {
    let place = place();
    indexed(&place, "old.jsonl", "old", " --encoder-precision int8");
    let write = |name: &str, text: &str| {
        std::fs::write(place.path(name), text).expect("written");
    };
    write(
        "live.tsv",
        "id\treplaced_by\treason\nD4\tD1\tmerged\nD2\tD1\tmerged\n",
    );
    write("missing.tsv", "id\treplaced_by\treason\nD4\tD77\tmerged\n");
    write(
        "cycle.tsv",
        "id\treplaced_by\treason\nD4\tD5\tx\nD5\tD4\tx\n",
    );
    write("fields.tsv", "id\treplaced_by\treason\nD4\tD1\n");
    write("headless.tsv", "D4\tD1\tmerged\n");
    write(
        "twice.tsv",
        "id\treplaced_by\treason\nD4\tD1\tx\nD4\tD2\tx\n",
    );
    write(
        "bad.jsonl",
        "{\"id\": \"D1\", \"name\": \"fever\"}\n{\"id\": \"D2\"}\n",
    );
    copy(&tiny().display().to_string(), &place.path("other"));
    let config = std::fs::read_to_string(place.path("other/config.json")).expect("read");
    std::fs::write(place.path("other/config.json"), format!("{config} ")).expect("written");
    let before = crate::common::contents(&place.path(""));
    let update = |more: &str| format!("update @old --kb @new.jsonl --device cpu {more}");
    let lines = [
        (update("--out @old"), 2, "old"),
        (update("--out @old/new"), 2, "old"),
        (
            update("--out @new --redirects @live.tsv"),
            3,
            "live.tsv: line 3: expected a retired id, found D2",
        ),
        (
            update("--out @new --redirects @missing.tsv"),
            3,
            "missing.tsv: line 2: expected a successor of D4",
        ),
        (
            update("--out @new --redirects @cycle.tsv"),
            3,
            "cycle.tsv: line 2: expected redirects without a cycle, found D4 -> D5 -> D4",
        ),
        (
            update("--out @new --redirects @fields.tsv"),
            3,
            "fields.tsv: line 2: expected 3 fields",
        ),
        (
            update("--out @new --redirects @headless.tsv"),
            3,
            "headless.tsv: line 1: expected the header",
        ),
        (
            update("--out @new --redirects @twice.tsv"),
            3,
            "twice.tsv: line 3: expected each retired id once",
        ),
        (update("--out @new --redirects @gone.tsv"), 6, "gone.tsv"),
        (
            update("--out @new --encoder @other"),
            3,
            "other: the file `config.json` differs from the encoder of the bundle (encoder)",
        ),
        (
            update("--out @new --report @redirects.tsv --redirects @redirects.tsv"),
            2,
            "redirects.tsv",
        ),
        (
            "update @old --kb @bad.jsonl --out @new --device cpu".to_owned(),
            3,
            "bad.jsonl: line 2",
        ),
        (
            "update @new.jsonl --kb @new.jsonl --out @new --device cpu".to_owned(),
            4,
            "new.jsonl",
        ),
        (
            "index --device cpu --kb @new.jsonl --encoder @encoder --out @new --redirects @live.tsv"
                .to_owned(),
            3,
            "live.tsv: line 3",
        ),
        (
            "diff @old.jsonl @new.jsonl --redirects @missing.tsv".to_owned(),
            3,
            "missing.tsv: line 2",
        ),
        ("diff @old @gone.jsonl".to_owned(), 6, "gone.jsonl"),
    ];
    let lines: Vec<_> = lines
        .iter()
        .map(|(line, code, expected)| (line.as_str(), *code, *expected))
        .collect();
    place.refuses(&lines);
    assert!(
        crate::common::contents(&place.path("")) == before,
        "something was written"
    );
}

#[test]
fn damaged_redirects_of_a_bundle_are_refused() {
    let place = place();
    std::fs::write(place.path("kb.jsonl"), KB).expect("written");
    std::fs::write(
        place.path("given.tsv"),
        "id\treplaced_by\treason\nB1\tD1\tmerged\n",
    )
    .expect("written");
    let done = index(
        &place.path("kb.jsonl"),
        &place.path("whole"),
        &[
            "--redirects",
            &place.path("given.tsv").display().to_string(),
        ],
    );
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.contains("1 retired identifier"), "{}", done.out);
    let damaged = |text: &str| {
        copy(
            &place.path("whole").display().to_string(),
            &place.path("damaged"),
        );
        std::fs::write(place.path("damaged/redirects.tsv"), text).expect("written");
        let path = place.path("damaged/manifest.json");
        let mut manifest: Value =
            serde_json::from_slice(&std::fs::read(&path).expect("read")).expect("JSON");
        manifest["files"]["redirects.tsv"] = serde_json::json!({
            "bytes": text.len(), "blake3": blake3::hash(text.as_bytes()).to_hex().as_str(),
        });
        std::fs::write(&path, crate::common::sealed(&manifest)).expect("written");
        place.pel("inspect @damaged")
    };
    for (text, expected) in [
        (
            "id\treplaced_by\nB1\tD1\n",
            "redirects.tsv: expected the header",
        ),
        (
            "id\treplaced_by\treason\nB1\tD1\tmerged",
            "redirects.tsv: expected a line end",
        ),
        (
            "id\treplaced_by\treason\nB1\tD1\n",
            "redirects.tsv: line 2: expected 3 fields",
        ),
        (
            "id\treplaced_by\treason\nB2\tD1\tx\nB1\tD1\tx\n",
            "redirects.tsv: line 3: expected ids in ascending order",
        ),
    ] {
        let done = damaged(text);
        assert_eq!(done.code, Some(4), "{text:?}: {}", done.err);
        assert!(done.err.contains(expected), "{text:?}: {}", done.err);
    }
    // Without a seal the change itself is noticed.
    std::fs::write(
        place.path("whole/redirects.tsv"),
        "id\treplaced_by\treason\n",
    )
    .expect("written");
    place.refuses(&[(
        "inspect @whole",
        4,
        "`redirects.tsv` has been cut or extended",
    )]);
}
