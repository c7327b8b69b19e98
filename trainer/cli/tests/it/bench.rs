//! `pel bench`: with a ranker, what it times, on which pairs, and what it refuses; the steps of
//! linking notes.

use crate::common::{Workspace as Bench, tiny};
use serde_json::Value;

const WINDOWS: &str = "--set view.mention_tokens=24 --set view.entity_tokens=24";
/// Nothing but the cold start, and what comes after.
const LINE: &str = "bench --bundle @bundle --device cpu --no-encode --no-search --seconds 0";

/// The output of a command line that has to succeed.
fn done(bench: &Bench, line: &str) -> String {
    bench.done(line).out
}

/// The rows of the ranker.
fn rows(bench: &Bench, more: &str) -> Vec<Value> {
    let said = done(bench, format!("{LINE} --json {more}").trim());
    let value: Value =
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    value["rank"]
        .as_array()
        .unwrap_or_else(|| panic!("no rows: {said}"))
        .clone()
}

fn scores(row: &Value) -> Vec<f64> {
    row["scores"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_f64)
        .collect()
}

#[test]
fn bench_repeats_a_fixed_amount_of_work() {
    let bench = Bench::new();
    let line = "bench --bundle @bundle --device cpu --encode-shapes 2x8 --repeat 3";
    for (more, encodes, searches) in [
        ("", 3u32, 3u32),
        (" --no-search", 3, 0),
        (" --no-encode", 0, 3),
    ] {
        let said = done(&bench, &format!("{line}{more} --json"));
        let value: Value = serde_json::from_str(&said).expect("JSON");
        assert_eq!(
            (&value["encodes"], &value["searches"]),
            (&encodes.into(), &searches.into()),
            "{said}"
        );
        let instructions = value["instructions"].as_str().expect("a name");
        let shown = done(&bench, &format!("{line}{more}"));
        let expected = format!("{encodes} encodes and {searches} searches with {instructions}");
        assert_eq!(shown.trim(), expected);
    }
    bench.refuses(&[
        (&format!("{line} --train"), 2, "--train"),
        (&format!("{LINE} --repeat 0"), 2, "--repeat"),
        (
            "bench --bundle @bundle --device cpu --encode-shapes 1x9999 --repeat 1",
            3,
            "expected at most",
        ),
    ]);
}

#[test]
fn bench_times_each_step_of_linking_notes() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("notes")).expect("made");
    std::fs::write(bench.path("notes/a.txt"), "Fever, no chest pain.\n").expect("written");
    std::fs::write(bench.path("notes/b.txt"), "Known diabets and fever.\n").expect("written");
    let line = "bench --bundle @bundle --device cpu --encode-shapes 1x8 --no-search --seconds 0";
    let said = done(&bench, &format!("{line} --notes @notes --json"));
    let value: Value = serde_json::from_str(&said).expect("JSON");
    let sides = value["sides"].as_array().expect("steps");
    let named: Vec<&str> = sides
        .iter()
        .filter_map(|row| row["side"].as_str())
        .collect();
    assert_eq!(
        named,
        [
            "detection of mentions",
            "names in the dictionary",
            "names by edit distance",
            "tokens and context",
            "encoding",
            "search by vectors",
            "n-grams in the score",
            "coherence of the text",
            "order, features and decision",
        ]
    );
    let is_time = |row: &Value| row["ms_per_note"].as_f64().is_some_and(|ms| ms >= 0.0);
    assert!(sides.iter().all(is_time), "{said}");
    let files = value["file_bytes"].as_object().expect("files");
    let sum: u64 = files.values().filter_map(Value::as_u64).sum();
    assert_eq!(value["bundle_bytes"].as_u64(), Some(sum));
    let shown = done(&bench, &format!("{line} --notes @notes"));
    for part in ["names by edit distance", "dictionary.bin", "ms a note"] {
        assert!(shown.contains(part), "{part:?} is missing in {shown}");
    }
    let without = done(&bench, &format!("{LINE} --json"));
    let without: Value = serde_json::from_str(&without).expect("JSON");
    assert_eq!(without["sides"].as_array().map(Vec::len), Some(0));
}

#[test]
fn bench_times_a_ranker_on_pairs() {
    let bench = Bench::new();
    let train = format!(
        "train --encoder {} --corpus @ --kb @kb.jsonl --device cpu --set data.split=dev \
         --set optimiser.batch=2 --set validation.mentions=0 {WINDOWS}",
        tiny().display()
    );
    done(
        &bench,
        "candidates --system tfidf --kb @kb.jsonl --corpus @ --split dev --top 3 --device cpu \
         --out @lists",
    );
    done(
        &bench,
        &format!("{train} --stage rank --steps 2 --candidates @lists --out @rank"),
    );
    done(
        &bench,
        &format!(
            "{train} --steps 1 --set negatives.count=1 --set negatives.kind=random \
             --set data.mentions=2 --out @run"
        ),
    );
    assert!(rows(&bench, "").is_empty());

    let found = rows(&bench, "--ranker @rank/model");
    let precisions: Vec<&str> = found
        .iter()
        .filter_map(|row| row["precision"].as_str())
        .collect();
    // bfloat16 where the processor multiplies in it.
    assert!(
        precisions == ["f32", "int8"] || precisions == ["f32", "bf16", "int8"],
        "{precisions:?}"
    );
    let floats = scores(&found[0]);
    for row in &found {
        assert_eq!(
            (&row["batch"], &row["seq"], &row["runs"]),
            (&16.into(), &128.into(), &3.into()),
            "{row}"
        );
        assert!(
            row["median_ms"].as_f64().is_some_and(|ms| ms > 0.0),
            "{row}"
        );
        let near = scores(row)
            .iter()
            .zip(&floats)
            .all(|(one, float)| (one - float).abs() < 0.05);
        assert!(near && scores(row).len() == 16, "{row}");
    }

    // Three pairs of a file, of which two are the same.
    let pair = |token: u32| (0..128).flat_map(move |at: u32| ((token + at) % 400).to_le_bytes());
    let ids: Vec<u8> = [7, 7, 90].into_iter().flat_map(pair).collect();
    std::fs::write(bench.path("pairs.u32"), &ids).expect("written");
    let given = scores(&rows(&bench, "--ranker @rank/model --pairs-from @pairs.u32")[0]);
    assert_eq!(given.len(), 3);
    assert!(
        (given[0] - given[1]).abs() < 1e-6 && given[0] != given[2],
        "{given:?}"
    );

    let shown = done(&bench, &format!("{LINE} --ranker @rank/model"));
    assert!(
        shown.contains("Rank") && shown.contains("16 x 128") && shown.contains("int8"),
        "{shown}"
    );

    std::fs::write(bench.path("cut.u32"), &ids[..ids.len() - 4]).expect("written");
    std::fs::write(bench.path("strange.u32"), [255u8; 4 * 128]).expect("written");
    let with = |more: &str| format!("{LINE} {more}");
    bench.refuses(&[
        (
            &with("--ranker @run/model"),
            3,
            "expected a cross-encoder of `pel train --stage rank`",
        ),
        (
            &with("--ranker @nothing"),
            3,
            "expected a cross-encoder of `pel train --stage rank`",
        ),
        (&with("--pairs-from @pairs.u32"), 2, "--ranker"),
        (
            &with("--ranker @rank/model --pairs-from @cut.u32"),
            3,
            "expected rows of 128 u32 token ids",
        ),
        (
            &with("--ranker @rank/model --pairs-from @strange.u32"),
            3,
            "expected token ids below 401",
        ),
        (
            &with("--ranker @rank/model --pairs-from @nothing"),
            6,
            "nothing",
        ),
    ]);
}
