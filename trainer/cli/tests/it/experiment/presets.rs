//! Presets: published experiments, on samples in the formats of their data.

use crate::common::{Workspace as Bench, contents, tiny};
use std::path::Path;

/// Copies samples of a format.
fn sample(bench: &Bench, of: &str, to: &str) {
    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/formats");
    let from = formats.join(of);
    for (path, bytes) in contents(&from) {
        let inside = path.strip_prefix(&from).expect("below the folder");
        let place = bench.path(to).join(inside);
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("made");
        std::fs::write(place, bytes).expect("written");
    }
}

fn line(preset: &str, more: &str) -> String {
    let encoder = tiny().display().to_string();
    format!("experiment --preset {preset} --device cpu --encoder {encoder} {more}")
}

#[test]
fn preset_imports_its_data_and_chains_its_parts() {
    let bench = Bench::new();
    sample(&bench, "tac", "data");
    sample(&bench, "blink", "data/wikipedia");
    let run = line("blink-tac", "--smoke --data @data --out @out");
    bench.done(&run);
    for table in [
        "wikipedia/blink-2.md",
        "tac/blink-4.md",
        "distillation/blink-9.md",
    ] {
        assert!(bench.path("out").join(table).is_file(), "{table}");
    }
    let table = std::fs::read_to_string(bench.path("out/tac/blink-4.md")).expect("written");
    assert!(table.contains("Ours was fine-tuned from "), "{table}");

    // What is done is not done again.
    let made = |name: &str| {
        std::fs::metadata(bench.path(name))
            .and_then(|file| file.modified())
            .expect("there")
    };
    let done = [
        "out/data/tac/import.json",
        "out/wikipedia/runs/blink-cross-seed0.json",
        "out/distillation/runs/blink-student-seed0.json",
    ];
    let before = done.map(made);
    bench.done(&run);
    assert_eq!(done.map(made), before);

    let scaled = line(
        "blink-tac",
        "--smoke --set loss.scale=2 --data @data --out @out",
    );
    let other = line("pel-zeshel", "--smoke --data @data --out @out");
    let table = line(
        "blink-tac",
        "--table t-2 --smoke --data @data --out @another",
    );
    let config = line(
        "blink-tac",
        "--config @kb.jsonl --smoke --data @data --out @another",
    );
    let without = line("blink-tac", "--smoke --out @another");
    let inside = line("blink-tac", "--smoke --data @data --out @data/out");
    bench.refuses(&[
        (
            &scaled,
            3,
            "expected the settings of its rows, \"scale\": 1.0, found",
        ),
        (&other, 3, "the folder belongs to another preset"),
        (
            &table,
            3,
            "expected tables of the preset (blink-2, blink-4, blink-9), found t-2",
        ),
        (&config, 2, "cannot be used with"),
        (&without, 2, "with --data"),
        (&inside, 2, "choose another output"),
    ]);
    std::fs::remove_file(bench.path("data/wikipedia/valid.jsonl")).expect("removed");
    let lacking = line("blink-tac", "--smoke --data @data --out @another");
    bench.refuses(&[(&lacking, 3, "valid.jsonl is missing")]);
}

#[test]
fn preset_is_printed_with_its_sources() {
    let bench = Bench::new();
    let found = bench.done("experiment --preset pel-zeshel --print");
    assert!(found.out.contains("# table 6"), "{}", found.out);
    let found = bench.done("experiment --preset pel-zeshel --print --json");
    let json: serde_json::Value = serde_json::from_str(&found.out).expect("JSON");
    let optimiser = &json["part"][0]["bi-encoder"]["optimiser"];
    assert_eq!(optimiser["learning_rate"], 1e-5);
}

#[test]
fn cost_is_estimated_from_the_published_size() {
    let bench = Bench::new();
    let json = bench.done(&line("pel-zeshel", "--estimate --json")).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let trainings = json["trainings"].as_array().expect("a list");
    let row = trainings
        .iter()
        .find(|row| row["training"] == "ce-32-random");
    let row = row.expect("a row of table 3");
    // 7 epochs of 49,000 mentions in steps of 32; an example has a mention and 33 entities.
    assert_eq!(row["steps"], 10719);
    assert_eq!(row["sequences"], 34 * 32 * 10719);
    let table = bench
        .done(&line("pel-zeshel", "--estimate --table pel-3"))
        .out;
    assert!(table.contains("All of it: "), "{table}");
}
