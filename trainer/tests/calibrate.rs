//! `pel calibrate` and `pel split okb` as commands: what they say, what they change, and what they refuse.

mod common;

use common::{KB, bundle, copy, pel, said};
use std::path::{Path, PathBuf};

const DOCUMENT: &str = r#"{"doc_id":"1","text":"fever, chest pain, qwertz"}"#;
const MENTIONS: &str = r#"{"doc_id":"1","start":0,"end":5,"text":"fever","id":"D1","types":["Sign"]}
{"doc_id":"1","start":7,"end":17,"text":"chest pain","id":"D2"}
{"doc_id":"1","start":19,"end":25,"text":"qwertz","id":null}"#;

/// A folder with a corpus, a knowledge base and a copy of the bundle.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
        write("documents.jsonl", DOCUMENT);
        write("mentions.dev.jsonl", MENTIONS);
        write("mentions.known.jsonl", MENTIONS.split_once('\n').expect("several").0);
        write("kb.jsonl", KB);
        copy(bundle(), &folder.path().join("bundle"));
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command line in which `@name` stands for a file of the folder and `@` for the folder.
    fn pel(&self, line: &str) -> common::Said {
        let word = |word: &str| match word.strip_prefix('@') {
            Some(name) => self.path(name).display().to_string(),
            None => word.to_owned(),
        };
        let words: Vec<String> = line.split(' ').map(word).collect();
        said(pel(&words.iter().map(String::as_str).collect::<Vec<_>>()))
    }
}

fn manifest(bundle: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(bundle.join("manifest.json")).expect("read")).expect("JSON")
}

#[test]
fn the_threshold_goes_into_the_bundle_with_what_it_was_chosen_on() {
    let bench = Bench::new();
    let line = "calibrate @bundle --corpus @ --device cpu";
    let before = manifest(&bench.path("bundle"));
    let dry = bench.pel(&format!("{line} --dry-run"));
    assert_eq!(dry.code, Some(0), "{}", dry.err);
    assert!(
        dry.out.contains("3 mentions of the split dev, 1 of them NIL") && dry.out.contains("left as it was"),
        "{}",
        dry.out
    );
    assert_eq!(manifest(&bench.path("bundle")), before);

    let done = bench.pel(&format!("{line} --curve @nil.csv --out @nil.json"));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let nil = &manifest(&bench.path("bundle"))["nil"];
    let threshold = nil["threshold"].as_f64().expect("a threshold");
    // The two names have the score 1, the unknown word less.
    assert!(threshold < 1.0, "{nil}");
    let words = nil["calibrated_on"].as_str().expect("words");
    assert!(words.contains("split dev: 3 mentions, 1 NIL") && words.contains("F1 100.0"), "{words}");
    assert!(!words.contains('/'), "no paths: {words}");
    let curve = std::fs::read_to_string(bench.path("nil.csv")).expect("written");
    assert_eq!(curve.lines().next(), Some("threshold,precision,recall"));
    assert_eq!(curve.lines().nth(1), Some(format!("{},1,1", threshold as f32).as_str()));
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bench.path("nil.json")).expect("read")).expect("JSON");
    assert_eq!((&record["figures"]["f1"], &record["rule"]), (&1.0.into(), &"best_f1".into()));
    let said = bench.pel("inspect @bundle");
    assert!(said.code == Some(0) && said.out.contains("best F1 of NIL"), "{}{}", said.out, said.err);

    // A bundle of one file gets the same.
    assert_eq!(bench.pel("pack @bundle @one.pel").code, Some(0));
    let done = bench.pel("calibrate @one.pel --corpus @ --device cpu --precision 1 --json");
    assert_eq!(done.code, Some(0), "{}", done.err);
    let said = bench.pel("inspect @one.pel --json");
    assert!(said.out.contains("most links with at least 100.0 % right"), "{}", said.out);
    // Its own threshold is one that `pel evaluate` measures at.
    let said = bench
        .pel("evaluate --bundle @one.pel --corpus @ --split dev --train-split none --systems link,dense --device cpu");
    assert!(
        said.code == Some(0) && said.out.contains("(bundle)") && said.out.contains("as `pel link` does"),
        "{}{}",
        said.out,
        said.err
    );
}

#[test]
fn what_cannot_be_calibrated_on_leaves_the_bundle_alone() {
    let bench = Bench::new();
    let before = manifest(&bench.path("bundle"));
    for (line, code, expected) in [
        ("calibrate @bundle --corpus @ --split known", 3, "the split known has no NIL mention"),
        ("calibrate @bundle --corpus @ --split test", 6, "no mentions.test.jsonl"),
        ("calibrate @bundle --corpus @ --nil held-out", 3, "no NIL mention of the kind `held out`"),
        ("calibrate @bundle --corpus @ --precision 1.5", 2, "expected a share above 0 and at most 1"),
        ("calibrate @nothing --corpus @", 4, "expected a bundle"),
        ("calibrate @bundle", 2, "--corpus"),
    ] {
        let done = bench.pel(line);
        assert_eq!(done.code, Some(code), "{line}: {}", done.err);
        assert!(done.err.contains(expected), "{line}: {}", done.err);
    }
    assert_eq!(manifest(&bench.path("bundle")), before);
}

#[test]
fn a_data_set_is_split_off_and_measured_on() {
    let bench = Bench::new();
    for (line, code, expected) in [
        ("split okb --corpus @ --kb @kb.jsonl --train-split dev --types Sing --out @okb", 3, "did you mean Sign?"),
        ("split okb --corpus @ --kb @kb.jsonl --train-split dev --types Sign", 2, "--out"),
        ("split okb --corpus @ --kb @kb.jsonl --train-split dev --out @okb", 2, "--types"),
        ("split okb --corpus @ --kb @kb.jsonl --train-split dev --target 12", 2, "expected a share between 0 and 1"),
        ("split okb --corpus @ --kb @kb.jsonl", 6, "its splits: dev, known"),
    ] {
        let done = bench.pel(line);
        assert_eq!(done.code, Some(code), "{line}: {}", done.err);
        assert!(done.err.contains(expected), "{line}: {}", done.err);
    }
    // All mentions are Signs here; one of another type has to stay.
    let kb = KB.replacen("chest pain\", \"types\": [\"Sign\"]", "chest pain\", \"types\": [\"Pain\"]", 1);
    std::fs::write(bench.path("kb.jsonl"), kb).expect("written");
    std::fs::remove_file(bench.path("mentions.known.jsonl")).expect("removed");
    let done = bench.pel("split okb --corpus @ --kb @kb.jsonl --train-split dev --suggest --target 0.5");
    assert!(done.code == Some(0) && done.out.contains("--types "), "{}{}", done.out, done.err);
    let done = bench.pel("split okb --corpus @ --kb @kb.jsonl --train-split dev --types Sign --out @okb");
    assert!(done.code == Some(0) && done.out.contains("written to"), "{}{}", done.out, done.err);
    let done =
        bench.pel("evaluate --corpus @okb --kb @okb/kb.jsonl --split dev --train-split none --systems exact --json");
    assert_eq!(done.code, Some(0), "{}", done.err);
    let json: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!((&json["split"]["nil"], &json["split"]["held_out"]), (&2.into(), &1.into()));
}
