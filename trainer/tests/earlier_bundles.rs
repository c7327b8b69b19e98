//! Bundles of earlier formats open and link to the same concepts.

mod common;

use common::{output_of, pel};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Scores may differ by rounding between instruction sets.
const TOLERANCE: f64 = 5e-3;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/fixtures/bundles")
        .join(name)
}

/// A mention with its concept, or NIL, and the scores of its candidates.
#[derive(Debug)]
struct Linked {
    span: (u64, u64),
    concept: String,
    /// Whether the words around a short form chose its long form.
    read_as_long_form: bool,
    scores: BTreeMap<String, f64>,
}

fn expected(name: &str) -> Vec<Linked> {
    let table = std::fs::read_to_string(fixture(name)).expect("the table is there");
    let rows = table.lines().skip(1).map(|row| {
        let [start, end, concept, candidates] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{name}: expected four columns, found {row:?}");
        };
        let scores = candidates.split(' ').map(|candidate| {
            let (id, score) = candidate.split_once(':').expect("ID:SCORE");
            (id.to_owned(), score.parse().expect("a number"))
        });
        Linked {
            span: (
                start.parse().expect("a number"),
                end.parse().expect("a number"),
            ),
            concept: concept.to_owned(),
            read_as_long_form: false,
            scores: scores.collect(),
        }
    });
    rows.collect()
}

fn linked(bundle: &str) -> Vec<Linked> {
    let mut command = pel(&["link", "--device", "cpu", "--format", "jsonl", "--bundle"]);
    command
        .arg(fixture(bundle))
        .arg("--spans")
        .args([fixture("note.ann"), fixture("note.txt")]);
    let output = output_of(command);
    assert_eq!(output.code, Some(0), "{bundle}: {}", output.err);
    let records = output.out.lines().map(|line| {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let id = |concept: &Value| concept["id"].as_str().expect("an id").to_owned();
        let candidates = record["candidates"].as_array().expect("candidates");
        Linked {
            span: (
                record["start"].as_u64().expect("a byte"),
                record["end"].as_u64().expect("a byte"),
            ),
            concept: if record["decision"] == "linked" {
                id(&record["concept"])
            } else {
                "NIL".to_owned()
            },
            read_as_long_form: !record["read_as"].is_null(),
            scores: candidates
                .iter()
                .map(|candidate| (id(candidate), candidate["score"].as_f64().expect("a score")))
                .collect(),
        }
    });
    records.collect()
}

fn links_as_before(format: u32) {
    let (expected, found) = (
        expected(&format!("format-{format}.tsv")),
        linked(&format!("format-{format}.pel")),
    );
    assert_eq!(found.len(), expected.len(), "format {format}");
    for (found, expected) in found.iter().zip(&expected) {
        let equal =
            |(one, other): (&f64, &f64)| (one - other).abs() <= TOLERANCE * other.abs().max(1.0);
        let scores = found.scores.keys().eq(expected.scores.keys())
            && found
                .scores
                .values()
                .zip(expected.scores.values())
                .all(equal);
        // Programs of that time read a short form as it stands: "ASA" was no aspirin.
        let as_before = found.concept == expected.concept && scores;
        assert!(
            found.span == expected.span && (as_before || found.read_as_long_form),
            "format {format}: expected {expected:?}, found {found:?}"
        );
    }
}

#[test]
fn format_1_links_as_before() {
    links_as_before(1);
}

#[test]
fn format_2_links_as_before() {
    links_as_before(2);
}

#[test]
fn format_3_links_as_before() {
    links_as_before(3);
}

#[test]
fn format_4_links_as_before() {
    links_as_before(4);
}
