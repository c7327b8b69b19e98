//! `pel map`: a spreadsheet of local terms, its review, and the names that come back.

use crate::common::{KB, Workspace, copy, tiny};
use serde_json::Value;
use std::collections::HashMap;

/// A spreadsheet as Excel writes it in Europe.
const TABLE: &str = "\u{feff}Code;Test Name;Panel;Count\r\nA1;\"FEVER; HIGH (MG/DL)\";;12\r\n\
                     A2;fever;\"=1+1\";-5\r\nA3;sugar sickness;two words;\r\nA4;fever;;7\r\n\
                     A5;zorbium;\"said \"\"x\"\"\";1\r\nA6;;;\r\n";

fn place(redirects: &str) -> Workspace {
    let place = Workspace::new();
    std::fs::write(place.path("terms.csv"), TABLE).expect("written");
    std::fs::write(place.path("table.jsonl"), KB).expect("written");
    std::fs::write(
        place.path("redirects.tsv"),
        format!("id\treplaced_by\treason\n{redirects}"),
    )
    .expect("written");
    copy(&tiny().display().to_string(), &place.path("encoder"));
    place.done(
        "index --device cpu --kb @table.jsonl --encoder @encoder --redirects @redirects.tsv \
         --out @base",
    );
    place
}

/// The rows of a table by column.
fn rows(place: &Workspace, name: &str) -> Vec<HashMap<String, String>> {
    let text = std::fs::read_to_string(place.path(name)).expect("written");
    let mut reader = csv::Reader::from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    reader
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("a table")
}

/// Fills the column `review` of the rows in order.
fn review(place: &Workspace, decisions: &[&str]) {
    let text = std::fs::read_to_string(place.path("mapped.csv")).expect("written");
    let mut reader = csv::Reader::from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let mut writer = csv::Writer::from_path(place.path("reviewed.csv")).expect("made");
    let header = reader.headers().expect("a header").clone();
    writer.write_record(&header).expect("written");
    for (row, decision) in reader.records().zip(decisions) {
        let row = row.expect("a row");
        let cells = row.iter().take(row.len() - 1).chain([*decision]);
        writer.write_record(cells).expect("written");
    }
    writer.flush().expect("written");
}

const MAP: &str = "map @terms.csv --device cpu --bundle @base --column Panel --out @mapped.csv";

fn mapped(place: &Workspace, bundle: &str, more: &str) -> Value {
    // The name of the column has a blank, which the command lines of these tests cannot have.
    let line = format!(
        "--json map @terms.csv --device cpu --bundle @{bundle} --column 2 --header \
         --out @mapped.csv{more}"
    );
    serde_json::from_str(&place.done(&line).err).expect("totals")
}

#[test]
fn columns_stay_and_terms_are_linked_once() {
    let place = place("");
    let totals = mapped(&place, "base", " -k 2");
    assert_eq!(
        (&totals["rows"], &totals["terms"], &totals["empty"]),
        (&6.into(), &4.into(), &1.into())
    );
    let text = std::fs::read_to_string(place.path("mapped.csv")).expect("written");
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some(
            "\u{feff}Code,Test Name,Panel,Count,pel_query,pel_decision,pel_reason,pel_id,pel_name,\
             pel_types,pel_group,\
             pel_probability,pel_score,pel_1_id,pel_1_name,pel_1_score,pel_2_id,pel_2_name,\
             pel_2_score,review"
        )
    );
    let rows = rows(&place, "mapped.csv");
    let column = |name: &str| -> Vec<&str> { rows.iter().map(|row| row[name].as_str()).collect() };
    assert_eq!(column("Code"), ["A1", "A2", "A3", "A4", "A5", "A6"]);
    assert_eq!(column("Count"), ["12", "-5", "", "7", "1", ""]);
    assert_eq!(
        column("Panel"),
        ["", "'=1+1", "two words", "", "said \"x\"", ""]
    );
    assert_eq!(column("pel_query")[0], "FEVER; HIGH");
    assert_eq!(
        (column("pel_id")[1], column("pel_reason")[1]),
        ("D1", "name")
    );
    assert_eq!(column("pel_id")[3], "D1");
    assert_eq!(column("pel_group")[1], "problem");
    assert_eq!(column("pel_decision")[5], "empty");
    assert_eq!(column("pel_1_id")[1], "D1");
    assert!(column("review").iter().all(|cell| cell.is_empty()));
}

#[test]
fn filters_leave_other_concepts_out() {
    let place = place("");
    mapped(&place, "base", " --type disease");
    for row in rows(&place, "mapped.csv").iter().take(5) {
        assert_eq!(row["pel_1_id"], "D3", "{row:?}");
        assert_eq!(row["pel_2_id"], "");
    }
    place.refuses(&[
        (&format!("{MAP} --type nothing"), 3, "--type nothing"),
        (&format!("{MAP} --group device"), 3, "--group device"),
        (
            &format!("{MAP} --group colour"),
            2,
            "expected one of problem",
        ),
    ]);
}

#[test]
fn doubtful_rows_come_first_if_asked() {
    let place = place("");
    mapped(&place, "base", " --threshold 0.9 --sort uncertain");
    let rows = rows(&place, "mapped.csv");
    let distance = |row: &HashMap<String, String>| {
        row["pel_score"]
            .parse::<f32>()
            .map_or(f32::MAX, |score| (score - 0.9).abs())
    };
    let distances: Vec<f32> = rows.iter().map(distance).collect();
    assert!(distances.is_sorted(), "{distances:?}");
    assert_eq!(rows.last().map(|row| row["Code"].as_str()), Some("A6"));
}

#[test]
fn reviewed_terms_are_linked_exactly_after_an_update() {
    let place = place("D0\tD3\tmerged\n");
    mapped(&place, "base", "");
    // A5 has no concept, so that it becomes a new one.
    review(&place, &["D1", "accept", "D0", "", "NIL", ""]);
    let read = "--json map @reviewed.csv --reviewed --bundle @base --column 2 --header \
                --id-column Code --new-concepts LAB --new-type Test --xref-prefix LAB \
                --out @names.jsonl";
    let counts: Value = serde_json::from_str(&place.done(read).err).expect("counts");
    for (name, count) in [
        ("accepted", 3),
        ("names", 2),
        ("redirected", 1),
        ("nil", 1),
        ("new_concepts", 1),
        ("undecided", 2),
        ("several", 0),
    ] {
        assert_eq!(counts[name], count, "{name}: {counts}");
    }
    let names = std::fs::read_to_string(place.path("names.jsonl")).expect("written");
    let lines: Vec<Value> = names
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["id"], "D1");
    assert_eq!(
        lines[0]["synonyms"],
        serde_json::json!(["FEVER; HIGH (MG/DL)"])
    );
    assert_eq!(lines[0]["xrefs"], serde_json::json!(["LAB:A1", "LAB:A2"]));
    assert_eq!(lines[1]["id"], "D3");
    assert_eq!(lines[2]["id"], "LAB:A5");
    assert_eq!(lines[2]["types"], serde_json::json!(["Test"]));

    let done = place.done("update @base --device cpu --add @names.jsonl --out @local");
    assert!(
        done.out
            .contains("additions  2 names, 3 cross-references, 1 concept;"),
        "{}",
        done.out
    );
    mapped(&place, "local", "");
    let found: Vec<(String, String)> = rows(&place, "mapped.csv")
        .into_iter()
        .map(|mut row| {
            (
                row.remove("pel_id").expect("a column"),
                row.remove("pel_reason").expect("a column"),
            )
        })
        .collect();
    let exact = |id: &str| (id.to_owned(), "name".to_owned());
    assert_eq!(found[..5], ["D1", "D1", "D3", "D1", "LAB:A5"].map(exact));

    // The other way: a merged table.
    place.done("import jsonl @table.jsonl @names.jsonl --out @merged");
    let merged = std::fs::read_to_string(place.path("merged/kb.jsonl")).expect("written");
    assert!(merged.contains("sugar sickness") && merged.contains("LAB:A5"));
    // A new release keeps the local names.
    place.done("update @base --device cpu --kb @table.jsonl --add @names.jsonl --out @release");
    assert_eq!(
        std::fs::read(place.path("release/concepts.bin")).expect("there"),
        std::fs::read(place.path("local/concepts.bin")).expect("there")
    );
}

#[test]
fn wrong_decisions_are_located() {
    let place = place("D8\t\tretired\n");
    mapped(&place, "base", " -k 2");
    let read = "map @reviewed.csv --reviewed --bundle @base --column 2 --header --out @names.jsonl";
    for (decision, message) in [
        ("D77", "line 2: column review: expected accept, NIL"),
        ("D8", "the id D8 is retired"),
        ("#9", "found \"#9\""),
        ("#x", "found \"#x\""),
    ] {
        review(&place, &[decision, "", "", "", "", ""]);
        place.refuses(&[(read, 3, message)]);
        assert!(!place.path("names.jsonl").exists());
    }
    review(&place, &["", "", "", "", "", "accept"]);
    place.refuses(&[(
        read,
        3,
        "line 7: column review: expected an identifier or NIL",
    )]);
    // All wrong rows are listed.
    review(&place, &["D77", "", "#9", "", "", "accept"]);
    place.refuses(&[
        (read, 3, "3 of 6 rows are wrong, nothing is written: "),
        (read, 3, "line 2: column review: expected accept, NIL"),
        (read, 3, "line 4: column review: expected a candidate"),
        (
            read,
            3,
            "line 7: column review: expected an identifier or NIL",
        ),
    ]);
    assert!(!place.path("names.jsonl").exists());
    review(&place, &["", "", "", "", "", ""]);
    place.refuses(&[(read, 3, "nothing to add")]);
    review(&place, &["#1", "", "", "", "", ""]);
    place.done(read);
    place.refuses(&[
        (
            "map @terms.csv --reviewed --bundle @base --column 2 --header --out @n.jsonl",
            3,
            "the table has no column \"review\"",
        ),
        (
            "map @mapped.csv --device cpu --bundle @base --column 2 --header --out @again.csv",
            3,
            "the table has the column",
        ),
        (
            "map @terms.csv --device cpu --bundle @base --column 2 --header --out @terms.csv",
            2,
            "input",
        ),
    ]);
    // "Test Name" is a usual name.
    place.done("map @terms.csv --device cpu --bundle @base --out @usual.csv");
}
