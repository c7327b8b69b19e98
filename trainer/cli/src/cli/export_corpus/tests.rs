//! Round trips of exports: what a format can store is restored, what it cannot is counted.

use super::{ExportCorpusArgs, export};
use crate::cli::import::{ImportArgs, import};
use clap::{CommandFactory, Parser};
use pel_corpora::corpus::{CorpusMention, Document};
use pel_corpora::export::{capabilities, contexts, source, zeshel};
use pel_corpora::import::annotated::UNKNOWN_CONCEPT;
use pel_io::files::write_jsonl;
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use pel_terminologies::import::report::Report;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use tempfile::TempDir;

#[derive(Parser)]
enum Command {
    Import(Box<ImportArgs>),
    ExportCorpus(ExportCorpusArgs),
}

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/formats/");

/// A folder in which commands run.
struct Workspace(TempDir);

impl Workspace {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect(name)
    }

    /// A line of JSON, counted from 0.
    fn row<T: DeserializeOwned>(&self, name: &str, at: usize) -> T {
        let text = self.read(name);
        serde_json::from_str(text.lines().nth(at).expect("a line")).expect(name)
    }

    /// Runs a command line in which `@name` is a file of the folder and `%name` a fixture.
    fn run(&self, line: &str) -> Result<Report> {
        let word = |word: &str| match (word.strip_prefix('@'), word.strip_prefix('%')) {
            (Some(name), _) => self.path(name).into_os_string(),
            (_, Some(name)) => format!("{FIXTURES}{name}").into(),
            _ => word.into(),
        };
        let words = std::iter::once("pel".into()).chain(line.split_whitespace().map(word));
        match Command::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")) {
            Command::Import(args) => import(&args),
            Command::ExportCorpus(args) => export(&args),
        }
    }

    /// Imports into `a`, exports `a` to `b`, imports `b` into `c`, and compares `a` with `c`.
    /// Returns the export's report.
    fn round_trip(&self, there: &str, format: &str, back: &str) -> Report {
        self.run(&format!("import {there} --out @a"))
            .expect("a sample");
        let report = self
            .run(&format!(
                "export-corpus --format {format} --corpus @a --out @b"
            ))
            .expect("written");
        self.run(&format!("import {back} --out @c"))
            .expect("what we write");
        let mut names: Vec<_> = std::fs::read_dir(self.path("a"))
            .expect("listed")
            .map(|entry| entry.expect("read").file_name())
            .collect();
        names.sort();
        assert!(names.len() >= 5, "{names:?}");
        for name in names
            .iter()
            .filter_map(|name| name.to_str())
            .filter(|name| *name != "import.json")
        {
            assert_eq!(
                self.read(&format!("a/{name}")),
                self.read(&format!("c/{name}")),
                "{format} {name}"
            );
        }
        let record: serde_json::Value =
            serde_json::from_str(&self.read("b/export.json")).expect("a record");
        assert_eq!(record["format"], format);
        report
    }

    /// A corpus with everything that some format cannot store.
    fn clinical(&self) {
        let concept = |id: &str, name: &str| Concept {
            id: id.into(),
            name: name.into(),
            ..Concept::default()
        };
        let fever = Concept {
            synonyms: vec!["pyrexia".into(), "a < b".into()],
            types: vec!["Sign".into(), "Finding".into()],
            type_ids: vec!["T184".into()],
            definition: Some("heat ]]> above\u{1} 38 é".into()),
            xrefs: vec!["MESH:D005334".into()],
            sources: vec!["X/Y".into(), "Z".into()],
            ..concept("C1", "Fever_high")
        };
        let never = Concept {
            definition: Some("not\n  once".into()),
            ..concept("C4", "never")
        };
        let concepts = [fever, concept("C2", "cough"), concept("NIL3", "odd"), never];
        write_jsonl(&self.path("a/kb.jsonl"), concepts).expect("written");
        let text = "🐦 subfever\tand cough.";
        let document = |doc_id: &str, text: &str, domain: Option<&str>| Document {
            doc_id: doc_id.into(),
            text: text.into(),
            split: None,
            domain: domain.map(str::to_owned),
        };
        let documents = [
            document("C1", text, Some("ward")),
            document("n/1", "cough", None),
            document("e", "nothing", None),
        ];
        write_jsonl(&self.path("a/documents.jsonl"), documents).expect("written");
        let mention = |doc_id: &str, start, end, text: &str, id: Option<&str>| CorpusMention {
            doc_id: doc_id.into(),
            start,
            end,
            text: text.into(),
            id: id.map(str::to_owned),
            types: vec!["Sign".into()],
            type_ids: vec!["T184".into()],
            ..CorpusMention::default()
        };
        let mentions = [
            mention("C1", 5, 10, "fever", Some("C1")),
            mention("C1", 15, 20, "cough", Some("C2")),
            mention("n/1", 0, 5, "cough", Some("C2")),
            mention("C1", 2, 10, "subfever", None),
            mention("C1", 2, 5, "sub", Some("C9")),
            mention("C1", 2, 5, "sub", Some("NIL:C7")),
            mention("C1", 11, 14, "and", Some("NIL3")),
            mention("C1", 11, 14, "end", Some("C1")),
        ];
        write_jsonl(&self.path("a/mentions.dev.jsonl"), mentions).expect("written");
    }

    /// The text of each mention of a file with its concept, or "" for NIL.
    fn texts(&self, name: &str) -> Vec<(String, String)> {
        let line = |line: &str| {
            let mention: CorpusMention = serde_json::from_str(line).expect("a mention");
            (mention.text, mention.id.unwrap_or_default())
        };
        self.read(name).lines().map(line).collect()
    }
}

/// Expected mentions, for [`Workspace::texts`].
fn expected<const N: usize>(mentions: [(&str, &str); N]) -> [(String, String); N] {
    mentions.map(|(text, id)| (text.to_owned(), id.to_owned()))
}

/// Checks that nothing was skipped or changed. `kept` counts the concepts, the documents, and the
/// mentions of train, dev and test.
fn assert_lossless(report: &Report, kept: [usize; 5]) {
    let found = [
        "concepts",
        "documents",
        "mentions (train)",
        "mentions (dev)",
        "mentions (test)",
    ]
    .map(|kind| report.kept(kind));
    assert_eq!(
        (found, report.skipped_in_all(), report.noted.len()),
        (kept, 0, 0)
    );
}

#[test]
fn command_line_is_valid() {
    Command::command().debug_assert();
}

#[test]
fn zeshel_round_trips() {
    let report = Workspace::new().round_trip("zeshel %zeshel", "zeshel", "zeshel @b");
    assert_lossless(&report, [7, 6, 3, 2, 1]);
}

#[test]
fn zeshel_export_equals_fixture() {
    let workspace = Workspace::new();
    workspace.round_trip("zeshel %zeshel", "zeshel", "zeshel @b");
    let lines = |text: String| -> Vec<serde_json::Value> {
        text.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    };
    let ours = lines(workspace.read("b/mentions/train.json"));
    let theirs = lines(
        std::fs::read_to_string(format!("{FIXTURES}zeshel/mentions/train.json"))
            .expect("a fixture"),
    );
    assert_eq!(ours.len(), 3);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        for (field, value) in theirs
            .as_object()
            .expect("an object")
            .iter()
            .filter(|(field, _)| *field != "mention_id")
        {
            assert_eq!(&ours[field], value, "{field}");
        }
    }
    let theirs = std::fs::read_to_string(format!("{FIXTURES}zeshel/documents/verdigris.json"))
        .expect("a fixture");
    assert_eq!(
        lines(workspace.read("b/documents/verdigris.json")),
        lines(theirs)
    );
}

#[test]
fn blink_round_trips() {
    let files = |folder: &str| {
        format!("--train {folder}train.jsonl --dev {folder}valid.jsonl --test {folder}test.jsonl")
    };
    let (there, back) = (files("%blink/"), files("@b/"));
    let there = format!("blink --entities %blink/entity.jsonl {there}");
    let workspace = Workspace::new();
    let report = workspace.round_trip(
        &there,
        "blink",
        &format!("blink --entities @b/entities/entity.jsonl {back}"),
    );
    assert_lossless(&report, [3, 4, 2, 1, 1]);
    let row: serde_json::Value = workspace.row("b/train.jsonl", 0);
    assert_eq!(
        row["context_left"],
        "Fifty winters long the été fleet steered by the"
    );
    assert_eq!(
        (&row["context_right"], &row["label_id"]),
        (&", until the lamp broke.".into(), &7001.into())
    );
}

#[test]
fn wikilinks_round_trips() {
    let files = |folder: &str| {
        format!(
            "wikilinks --train {folder}train.jsonl --dev {folder}dev.jsonl --test {folder}test.jsonl"
        )
    };
    let workspace = Workspace::new();
    let report = workspace.round_trip(&files("%wikilinks/"), "wikilinks", &files("@b/"));
    assert_lossless(&report, [3, 4, 2, 1, 1]);
    let row: serde_json::Value = workspace.row("b/train.jsonl", 1);
    assert_eq!(
        row["right_context"],
        serde_json::json!(["of", "copper", "🐦", "sing", "."])
    );
    assert_eq!(
        (&row["wikiId"], &row["y_title"]),
        (&7002.into(), &"Copper_finch".into())
    );
}

#[test]
fn zeshel_splits_words_and_counts_losses() {
    let workspace = Workspace::new();
    workspace.clinical();
    let report = workspace
        .run("export-corpus --format zeshel --corpus @a --out @b")
        .expect("written");
    workspace
        .run("import zeshel @b --out @c")
        .expect("readable");
    let skipped = [
        (source::NO_CONCEPT, 1),
        (UNKNOWN_CONCEPT, 2),
        (source::NO_MENTION, 1),
        (pel_corpora::corpus::MISPLACED, 1),
    ];
    for (reason, count) in skipped {
        assert_eq!(report.skipped(reason), count, "{reason}");
    }
    let noted = [
        (zeshel::DIVIDED, 2),
        (zeshel::RENAMED_DOCUMENT, 1),
        (zeshel::BECOMES_PAGE, 2),
        (zeshel::GETS_WORLD, 3),
        (source::RENAMED, 1),
        (capabilities::WIDE, 1),
        ("concept's synonyms: no place for them", 1),
        ("mention's types: no place for them", 4),
    ];
    for (reason, count) in noted {
        assert_eq!(
            report.noted.get(reason),
            Some(&count),
            "{reason} in {report:?}"
        );
    }
    let documents = workspace.read("c/documents.jsonl");
    assert!(
        documents.contains(
            r#"{"doc_id":"document C1","text":"🐦 sub fever\tand cough .","domain":"ward"}"#
        ),
        "{documents}"
    );
    let mut found = workspace.texts("c/mentions.dev.jsonl");
    found.sort();
    let expected = expected([
        ("and", "NIL3"),
        ("cough", "C2"),
        ("cough", "C2"),
        ("fever", "C1"),
    ]);
    assert_eq!(found, expected);
}

#[test]
fn context_formats_count_losses() {
    let workspace = Workspace::new();
    workspace.clinical();
    let report = workspace
        .run("export-corpus --format blink --corpus @a --out @b")
        .expect("written");
    workspace.run("import blink --entities @b/entities/X_Y.jsonl --entities @b/entities/entity.jsonl --dev @b/valid.jsonl --out @c").expect("readable");
    assert_eq!(
        (
            report.noted[contexts::SPACED],
            report.kept("mentions (dev)"),
            report.skipped(source::NO_MENTION)
        ),
        (3, 4, 1)
    );
    assert_eq!(report.noted[capabilities::WIDE], 1);
    let expected = expected([
        ("fever", "C1"),
        ("cough", "C2"),
        ("cough", "C2"),
        ("and", "NIL3"),
    ]);
    assert_eq!(workspace.texts("c/mentions.dev.jsonl"), expected);

    let report = workspace
        .run("export-corpus --format wikilinks --corpus @a --out @w")
        .expect("written");
    assert_eq!(
        (
            report.skipped(contexts::NOT_MENTIONED),
            report.noted[contexts::UNDERSCORE]
        ),
        (1, 1)
    );
    assert_eq!(report.noted[contexts::SEVERAL_DOCUMENTS], 1);
    assert_eq!(report.noted["document's domain: no place for it"], 1);
    // Definitions are not exported.
    assert!(!report.noted.contains_key(capabilities::WIDE));
}

#[test]
fn failed_exports_write_nothing() {
    let workspace = Workspace::new();
    workspace.clinical();
    let refusal = |line: &str, message: &str| {
        let error: Error = workspace.run(line).expect_err(line);
        assert!(error.to_string().contains(message), "{line}: {error}");
    };
    refusal(
        "export-corpus --format zeshel --corpus @a --out @a",
        "this is an input; choose another output",
    );
    refusal(
        "export-corpus --format zeshel --corpus @none --kb @a/kb.jsonl --out @b",
        "reading the folder",
    );
    refusal(
        "export-corpus --format zeshel --corpus @a --kb @none --out @b",
        "opening ",
    );
    std::fs::copy(
        workspace.path("a/mentions.dev.jsonl"),
        workspace.path("a/mentions.val.jsonl"),
    )
    .expect("copied");
    refusal(
        "export-corpus --format zeshel --corpus @a --out @b",
        "found two that become val",
    );
    for name in ["dev", "val"] {
        std::fs::remove_file(workspace.path(&format!("a/mentions.{name}.jsonl"))).expect("removed");
    }
    refusal(
        "export-corpus --format blink --corpus @a --out @b",
        "has no mentions.SPLIT.jsonl",
    );
    std::fs::remove_file(workspace.path("a/kb.jsonl")).expect("removed");
    refusal(
        "export-corpus --format blink --corpus @a --out @b",
        "give the concept table with --kb",
    );
    assert!(!workspace.path("b").exists());
}
