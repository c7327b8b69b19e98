//! `pel link` over tables and collections of notes.

use crate::common::{CommandOutput, bundle, from, output_of, pel};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

const CSV: &str = "note_id,text\r\na,\"Fever.\r\nNo chest pain.\"\r\nb,\r\nc,😷 diabetes\r\n";

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    }

    fn link(&self, args: &[&str]) -> CommandOutput {
        let mut all = vec!["link", "--bundle", bundle()];
        all.extend(args);
        let mut command = pel(&all);
        command.current_dir(self.0.path());
        output_of(command)
    }

    fn read(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn rows(&self, name: &str) -> Vec<Value> {
        json(&self.read(name))
    }
}

fn json(lines: &str) -> Vec<Value> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

fn good(output: &CommandOutput) -> &str {
    assert_eq!(output.code, Some(0), "{}", output.err);
    &output.out
}

/// Note, concept, and the offsets in code points.
fn found(rows: &[Value]) -> Vec<(&str, &str, u64, u64)> {
    rows.iter()
        .map(|row| {
            (
                row["doc"].as_str().expect("a name"),
                row["concept"]["id"].as_str().unwrap_or_default(),
                row["start_code_point"].as_u64().expect("a number"),
                row["end_code_point"].as_u64().expect("a number"),
            )
        })
        .collect()
}

/// The links of [`CSV`].
const LINKS: [(&str, &str, u64, u64); 3] =
    [("a", "D1", 0, 5), ("a", "D2", 11, 21), ("c", "D3", 2, 10)];

#[test]
fn notes_that_repeat_earlier_ones_have_their_links() {
    let place = Place::new();
    let texts = [
        "Fever. No chest pain.",
        "Diabetes with fever since May.",
        "😷 diabetes, chest pain",
    ];
    // More notes than are linked at once.
    let jsonl: String = (0..600)
        .map(|at| {
            let text = texts[at % texts.len()];
            serde_json::json!({"note_id": at.to_string(), "text": text}).to_string() + "\n"
        })
        .collect();
    place.put("notes.jsonl", jsonl);
    let output = place.link(&["notes.jsonl", "--format", "jsonl"]);
    let mut links: Vec<Vec<Value>> = vec![Vec::new(); 600];
    for mut row in json(good(&output)) {
        let note = row["doc"].take();
        let note: usize = note
            .as_str()
            .and_then(|id| id.parse().ok())
            .expect("a note");
        links[note].push(row);
    }
    for (at, own) in links.iter().enumerate() {
        assert!(!own.is_empty(), "note {at} has no links");
        assert_eq!(*own, links[at % texts.len()], "note {at}");
    }
}

#[test]
fn rows_of_a_table_are_notes_with_their_identifiers() {
    let place = Place::new();
    let jsonl: String = [
        ("a", "Fever.\r\nNo chest pain."),
        ("b", ""),
        ("c", "😷 diabetes"),
    ]
    .iter()
    .map(|(id, text)| serde_json::json!({"note_id": id, "text": text}).to_string() + "\n")
    .collect();
    place.put("notes.csv", CSV);
    place.put("notes.tsv", CSV.replace(',', "\t"));
    place.put("notes.jsonl", &jsonl);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(jsonl.as_bytes()).expect("packed");
    place.put("notes.ndjson.gz", packed.finish().expect("packed"));
    place.put("other.dat", CSV);
    for args in [
        &["notes.csv"][..],
        &["notes.tsv"],
        &["notes.jsonl"],
        &["notes.ndjson.gz"],
        &["other.dat", "--input-format", "csv"],
    ] {
        let output = place.link(&[args, &["--format", "jsonl"]].concat());
        assert_eq!(found(&json(good(&output))), LINKS, "{args:?}");
    }
    let limited = place.link(&["notes.csv", "--format", "jsonl", "--limit", "2"]);
    assert_eq!(found(&json(good(&limited))), LINKS[..2]);
    let as_text = place.link(&["notes.csv", "--input-format", "text", "--format", "jsonl"]);
    let rows = json(good(&as_text));
    assert!(rows.iter().all(|row| row["doc"] == "notes"), "{rows:?}");
    // One header for all notes.
    let csv = place.link(&["notes.csv", "--format", "csv"]);
    assert_eq!(
        good(&csv)
            .matches("start_code_point,end_code_point")
            .count(),
        1
    );
}

#[test]
fn tables_beside_texts_are_left_out() {
    let place = Place::new();
    place.put("in/note.txt", "fever");
    place.put("in/notes.csv", CSV);
    let output = place.link(&["in", "--format", "jsonl"]);
    assert_eq!(json(good(&output)).len(), 1);
    let told = "in: left out 1 table next to the texts, first ";
    assert!(output.err.contains(told), "{}", output.err);
}

#[test]
fn standard_input_is_a_table_on_request() {
    let mut child = pel(&[
        "link",
        "--bundle",
        bundle(),
        "--format",
        "jsonl",
        "--input-format",
        "csv",
    ])
    .stdin(Stdio::piped())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("it can be started");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(CSV.as_bytes()).expect("written");
    drop(stdin);
    let output = from(child.wait_with_output().expect("it ends"));
    assert_eq!(found(&json(good(&output))), LINKS);
}

#[test]
fn fhir_and_bioc_are_read() {
    let place = Place::new();
    // "Fever.\r\nNo chest pain." and "😷 diabetes"
    let entry = |id: &str, data: &str| {
        serde_json::json!({"resourceType": "DocumentReference", "id": id, "status": "current",
            "content": [{"attachment": {"contentType": "text/plain; charset=utf-8",
                "data": data}}]})
    };
    let (a, c) = (
        entry("a", "RmV2ZXIuDQpObyBjaGVzdCBwYWluLg=="),
        entry("c", "8J+YtyBkaWFiZXRlcw=="),
    );
    let bundle =
        serde_json::json!({"resourceType": "Bundle", "entry": [{"resource": a}, {"resource": c}]});
    place.put("bundle.json", bundle.to_string());
    place.put("notes.ndjson", format!("{a}\n{c}\n"));
    for input in ["bundle.json", "notes.ndjson"] {
        let output = place.link(&[input, "--format", "jsonl"]);
        assert_eq!(found(&json(good(&output))), LINKS, "{input}");
    }
    place.put(
        "bioc.xml",
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><collection><document><id>a</id>\
         <passage><offset>0</offset><text>Fever.</text></passage>\
         <passage><offset>8</offset><text>No chest pain.</text></passage></document>\
         <document><id>c</id><passage><offset>0</offset><text>😷 \
         diabetes</text></passage></document></collection>",
    );
    let document = |id: &str, passages: Value| serde_json::json!({"id": id, "passages": passages});
    let collection = serde_json::json!({"documents": [
        document("a", serde_json::json!([{"offset": 0, "text": "Fever."},
            {"offset": 8, "text": "No chest pain."}])),
        document("c", serde_json::json!([{"offset": 0, "text": "😷 diabetes"}])),
    ]});
    place.put("bioc.json", collection.to_string());
    for input in ["bioc.xml", "bioc.json"] {
        let output = place.link(&[input, "--format", "jsonl"]);
        assert_eq!(found(&json(good(&output))), LINKS, "{input}");
    }
    let url = serde_json::json!({"resourceType": "DocumentReference", "id": "u",
        "content": [{"attachment": {"contentType": "text/plain", "url": "http://127.0.0.1:9/x"}}]});
    place.put("url.json", url.to_string());
    let refused = place.link(&["url.json"]);
    assert_eq!(refused.code, Some(3), "{}", refused.err);
    assert!(
        refused
            .err
            .contains("url.json: the attachment has a url and no `data`"),
        "{}",
        refused.err
    );
}

#[test]
fn bad_rows_are_counted_and_others_linked() {
    let place = Place::new();
    place.put("notes.csv", "id,text\n1,fever\n2\n1,diabetes\n");
    let output = place.link(&["notes.csv", "--format", "jsonl", "--out", "links.jsonl"]);
    assert_eq!(output.code, Some(3), "{}", output.err);
    for expected in [
        "1 of 3 notes cannot be read; the others are linked: ",
        "notes.csv: line 3: expected 2 cells as in the first row, found 1",
        "warning: notes.csv: 1 note with the identifier of an earlier one, first at notes.csv: \
         line 4",
    ] {
        assert!(output.err.contains(expected), "{expected}: {}", output.err);
    }
    assert!(!output.err.contains("fever"), "{}", output.err);
    let rows = place.rows("links.jsonl");
    assert_eq!(found(&rows), [("1", "D1", 0, 5), ("1", "D3", 0, 8)]);
    // A table that cannot be read to its end gives no output.
    place.put("broken.csv", "id,text\n1,fever\n2,\"diab\n");
    let broken = place.link(&["broken.csv", "--format", "jsonl", "--out", "broken.jsonl"]);
    assert_eq!(broken.code, Some(3), "{}", broken.err);
    assert!(
        broken
            .err
            .contains("broken.csv: line 3: expected a closing quote"),
        "{}",
        broken.err
    );
    assert!(!place.path("broken.jsonl").exists());
}

#[test]
fn rows_that_are_no_plain_text_are_refused_and_others_linked() {
    let place = Place::new();
    place.put(
        "notes.csv",
        "id,text\n1,fever\n2,{\\rtf1 fever}\n3,no&nbsp;fever\\.br\\diabetes\n4,MSH|^~\\&|LAB|fever\n",
    );
    let output = place.link(&["notes.csv", "--format", "jsonl", "--out", "links.jsonl"]);
    assert_eq!(output.code, Some(3), "{}", output.err);
    for expected in [
        "2 of 4 notes cannot be read; the others are linked: ",
        "notes.csv: line 3: expected a note in plain text, found RTF",
    ] {
        assert!(output.err.contains(expected), "{expected}: {}", output.err);
    }
    let rows = place.rows("links.jsonl");
    let expected = [("1", "D1", 0, 5), ("3", "D1", 8, 13), ("3", "D3", 18, 26)];
    assert_eq!(found(&rows), expected);
    place.put("note.txt", "<html><body>fever</body></html>");
    let output = place.link(&["note.txt"]);
    assert_eq!(output.code, Some(3), "{}", output.err);
    let expected = "note.txt: expected a note in plain text, found HTML";
    assert!(output.err.contains(expected), "{}", output.err);
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let place = Place::new();
    place.put("notes.csv", CSV);
    place.put("note.txt", "fever");
    place.put("note.odt", "fever");
    place.put("in/notes.csv", CSV);
    for (args, expected) in [
        (
            &["notes.csv", "note.txt"][..],
            "the inputs are texts and tables of notes",
        ),
        (
            &["notes.csv", "--format", "brat"],
            "cannot hold the notes of a table in one file; use one of jsonl",
        ),
        (
            &["notes.csv", "--out", "links/"],
            "cannot hold the notes of a table",
        ),
        (
            &["notes.csv", "--spans", "x.ann"],
            "--spans: expected texts",
        ),
        (
            &["notes.csv", "--part", "1/2"],
            "--part: this needs tables of notes as inputs",
        ),
        (
            &["note.txt", "--overwrite"],
            "--overwrite: this needs tables",
        ),
        (
            &["note.txt", "--text-column", "x"],
            "--text-column: the inputs are texts",
        ),
        (&["note.odt"], "note.odt: PEL does not read this format"),
        (&["notes.csv", "--limit", "0"], "--limit"),
        (
            &["notes.csv", "--text-column", "x"],
            "expected the column x (--text-column), found note_id, text",
        ),
        (
            &["in", "--format", "jsonl", "--out", "in/links/"],
            "is inside in, which is an input",
        ),
        (
            &["notes.csv", "--format", "csv", "--out", "notes.csv"],
            "this is an input",
        ),
    ] {
        let output = place.link(args);
        assert!(
            matches!(output.code, Some(2 | 3)),
            "{args:?}: {}",
            output.err
        );
        assert!(output.err.contains(expected), "{args:?}: {}", output.err);
    }
}

/// Writes some tables, each with one note.
fn shards(place: &Place, count: usize) {
    for at in 0..count {
        let text = ["fever", "chest pain", "diabetes"][at % 3];
        place.put(
            &format!("shards/part-{at}.jsonl"),
            serde_json::json!({"id": format!("n{at}"), "text": text}).to_string() + "\n",
        );
    }
}

const TO_FOLDER: [&str; 5] = ["shards", "--format", "jsonl", "--out", "linked"];

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("listed")
        .map(|entry| entry.expect("listed").file_name().display().to_string())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

#[test]
fn finished_tables_are_skipped_and_changed_ones_refused() {
    let place = Place::new();
    shards(&place, 3);
    let first = place.link(&TO_FOLDER);
    good(&first);
    assert!(!first.err.contains("skipped"), "{}", first.err);
    let all = [
        "manifest.jsonl",
        "part-0.jsonl",
        "part-1.jsonl",
        "part-2.jsonl",
    ];
    assert_eq!(names(&place.path("linked")), all);
    assert_eq!(
        found(&place.rows("linked/part-1.jsonl")),
        [("n1", "D2", 0, 10)]
    );
    let manifest = place.rows("linked/manifest.jsonl");
    let entry = &manifest[1];
    assert_eq!(
        (
            &entry["shard"],
            &entry["output"],
            &entry["notes"],
            &entry["mentions"],
            &entry["unread"]
        ),
        (
            &"part-1.jsonl".into(),
            &"part-1.jsonl".into(),
            &1.into(),
            &1.into(),
            &0.into()
        )
    );
    assert_eq!(entry["pel"], env!("CARGO_PKG_VERSION"));

    std::fs::remove_file(place.path("linked/part-0.jsonl")).expect("there");
    let again = place.link(&TO_FOLDER);
    good(&again);
    assert!(
        again
            .err
            .contains("2 of 3 tables are linked already and skipped"),
        "{}",
        again.err
    );
    assert_eq!(names(&place.path("linked")), all);

    let options = [&TO_FOLDER[..], &["--threshold", "2"]].concat();
    let other = place.link(&options);
    assert_eq!(other.code, Some(2), "{}", other.err);
    assert!(
        other.err.contains("the options changed since") && other.err.contains("--overwrite"),
        "{}",
        other.err
    );
    assert_eq!(
        found(&place.rows("linked/part-0.jsonl")),
        [("n0", "D1", 0, 5)]
    );
    good(&place.link(&[&options[..], &["--overwrite"]].concat()));
    assert_eq!(place.rows("linked/part-0.jsonl")[0]["decision"], "nil");

    place.put(
        "shards/part-2.jsonl",
        "{\"id\": \"n2\", \"text\": \"fever\"}\n",
    );
    let changed = place.link(&options);
    assert!(
        changed.err.contains("part-2.jsonl was linked"),
        "{}",
        changed.err
    );
    let relinked = place.link(&[&options[..], &["--overwrite"]].concat());
    good(&relinked);
    assert!(
        relinked.err.contains("2 of 3 tables are linked already"),
        "{}",
        relinked.err
    );
}

#[test]
fn parts_share_the_tables_and_a_whole_run_completes_them() {
    let place = Place::new();
    shards(&place, 5);
    good(&place.link(&[&TO_FOLDER[..], &["--part", "2/2"]].concat()));
    assert_eq!(
        names(&place.path("linked")),
        ["manifest.2-of-2.jsonl", "part-1.jsonl", "part-3.jsonl"]
    );
    let rest = place.link(&TO_FOLDER);
    good(&rest);
    assert!(
        rest.err.contains("2 of 5 tables are linked already"),
        "{}",
        rest.err
    );
    assert_eq!(place.rows("linked/manifest.jsonl").len(), 3);
    for at in 0..5 {
        assert_eq!(
            place.rows(&format!("linked/part-{at}.jsonl")).len(),
            1,
            "{at}"
        );
    }
}

#[test]
fn a_folder_holds_the_links_of_several_formats() {
    let place = Place::new();
    shards(&place, 2);
    place.put(
        "shards/manifest.2026.jsonl",
        "{\"id\": \"m\", \"text\": \"fever\"}\n",
    );
    let csv = ["shards", "--format", "csv", "--out", "linked"];
    for args in [TO_FOLDER, csv] {
        good(&place.link(&args));
    }
    for args in [TO_FOLDER, csv] {
        let again = place.link(&args);
        good(&again);
        assert!(
            again.err.contains("3 of 3 tables are linked already"),
            "{}",
            again.err
        );
    }
    assert_eq!(place.rows("linked/manifest.jsonl").len(), 6);
    assert_eq!(
        found(&place.rows("linked/manifest.2026.jsonl")),
        [("m", "D1", 0, 5)]
    );
}

#[test]
fn links_do_not_take_the_place_of_others() {
    let place = Place::new();
    place.put("manifest.csv", CSV);
    place.put("notes.csv", CSV);
    place.put("notes.tsv", CSV.replace(',', "\t"));
    let to = ["--format", "jsonl", "--out", "linked/"];
    let manifest = place.link(&[&["manifest.csv"][..], &to].concat());
    assert_eq!(manifest.code, Some(3), "{}", manifest.err);
    assert!(
        manifest.err.contains("expected a table of another name"),
        "{}",
        manifest.err
    );
    good(&place.link(&[&["notes.csv"][..], &to].concat()));
    let other = place.link(&[&["notes.tsv"][..], &to].concat());
    assert_eq!(other.code, Some(2), "{}", other.err);
    assert!(other.err.contains("notes.tsv was linked"), "{}", other.err);
    good(&place.link(&[&["notes.tsv", "--overwrite"][..], &to].concat()));
}

#[test]
fn table_that_cannot_be_read_does_not_stop_the_others() {
    let place = Place::new();
    shards(&place, 2);
    place.put("shards/deep/bad.csv", "a,b\n1,2\n");
    let output = place.link(&TO_FOLDER);
    assert_eq!(output.code, Some(3), "{}", output.err);
    assert!(
        output
            .err
            .contains("1 of 3 tables cannot be read; the others are linked: shards/deep/bad.csv: "),
        "{}",
        output.err
    );
    assert_eq!(place.rows("linked/manifest.jsonl").len(), 2);
    assert!(!place.path("linked/deep/bad.jsonl").exists());
    place.put("shards/deep/bad.csv", "id,text\n1,fever\n");
    let repaired = place.link(&TO_FOLDER);
    good(&repaired);
    assert!(
        repaired.err.contains("2 of 3 tables are linked already"),
        "{}",
        repaired.err
    );
    assert_eq!(
        found(&place.rows("linked/deep/bad.jsonl")),
        [("1", "D1", 0, 5)]
    );
}

#[cfg(feature = "parquet")]
#[test]
fn links_are_written_as_parquet_and_read_back() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let place = Place::new();
    place.put("notes.csv", CSV);
    good(&place.link(&["notes.csv", "--format", "parquet", "--out", "links.parquet"]));
    let file = std::fs::File::open(place.path("links.parquet")).expect("there");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let rows: Vec<_> = reader
        .get_row_iter(None)
        .expect("rows")
        .map(|row| row.expect("a row"))
        .collect();
    let column = |name: &str| {
        let schema = reader.metadata().file_metadata().schema_descr();
        (0..schema.num_columns())
            .find(|at| schema.column(*at).name() == name)
            .expect("a column")
    };
    let found: Vec<(&str, &str, i64, i64)> = rows
        .iter()
        .map(|row| {
            (
                row.get_string(column("doc")).expect("a text").as_str(),
                row.get_string(column("id")).expect("a text").as_str(),
                row.get_long(column("start_code_point")).expect("a number"),
                row.get_long(column("end_code_point")).expect("a number"),
            )
        })
        .collect();
    let expected = LINKS.map(|(doc, id, start, end)| (doc, id, start as i64, end as i64));
    assert_eq!(found, expected);
    // Its own output is a table of texts: the mentions.
    let again = place.link(&["links.parquet", "--id-column", "id", "--format", "jsonl"]);
    assert_eq!(
        names_and_concepts(&json(good(&again))),
        ["D1", "D2", "D3"].map(|id| (id.to_owned(), id.to_owned()))
    );
}

#[cfg(feature = "parquet")]
fn names_and_concepts(rows: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| (text(&row["doc"]), text(&row["concept"]["id"])))
        .collect()
}

#[cfg(not(feature = "parquet"))]
#[test]
fn build_without_parquet_says_so() {
    let place = Place::new();
    place.put("notes.parquet", "PAR1");
    place.put("notes.csv", CSV);
    for args in [
        &["notes.parquet", "--format", "jsonl"][..],
        &["notes.csv", "--format", "parquet", "--out", "x.parquet"],
    ] {
        let output = place.link(args);
        assert!(matches!(output.code, Some(2 | 3)), "{}", output.err);
        assert!(output.err.contains("this build of pel"), "{}", output.err);
    }
}
