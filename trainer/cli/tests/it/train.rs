//! From a corpus to a bundle for small devices: `pel train`, `compact`, `index` and `evaluate` as
//! commands.

use crate::common::{Workspace as Bench, from, interrupt, pel, tiny};
use serde_json::Value;
use std::process::Stdio;

const STEPS: &str = "--steps 6 --set data.split=dev --set optimiser.batch=2 \
                     --set negatives.count=1 --set negatives.mine_top=2 \
                     --set negatives.mine_every=3 --set model.tied=true --set view.concepts=names \
                     --set view.mention=bare --set validation.mentions=3";

/// Trains the tiny model for a few steps.
fn trained() -> Bench {
    let bench = Bench::new();
    // What is seen and what is zero-shot.
    std::fs::copy(
        bench.path("mentions.known.jsonl"),
        bench.path("mentions.train.jsonl"),
    )
    .expect("copied");
    let words: Vec<&str> = STEPS.split_whitespace().collect();
    let done = bench.done(&format!(
        "train --corpus @ --kb @kb.jsonl --encoder {} --device cpu --out @run {}",
        tiny().display(),
        words.join(" ")
    ));
    // As in the paper, with what it is and what it costs.
    assert!(
        done.err.contains("FGSM: λ = 1, ε = ") && done.out.contains("FGSM took "),
        "{} {}",
        done.out,
        done.err
    );
    bench
}

#[test]
fn curve_measures_recall_by_dimension() {
    let bench = trained();
    let line = "compact @run/model --kb @kb.jsonl --corpus @ --curve 8,2 --mentions 3 --device cpu";
    let done = bench.done(&format!("{line} --json"));
    let points: Vec<Value> = serde_json::from_str(&done.out).expect("JSON");
    let found: Vec<_> = points
        .iter()
        .map(|point| (point["dim"].as_u64(), point["precision"].as_str()))
        .collect();
    let hidden = std::fs::read_to_string(tiny().join("config.json")).expect("read");
    let hidden = serde_json::from_str::<Value>(&hidden).expect("JSON")["hidden_size"].as_u64();
    let precisions = ["f32", "int8", "int4"];
    let expected: Vec<_> = [Some(2), Some(8), hidden]
        .into_iter()
        .flat_map(|dim| precisions.map(|name| (dim, Some(name))))
        .collect();
    assert_eq!(found, expected);
    // Two of the three mentions have a concept, by their own names.
    assert_eq!(
        points.last().map(|point| &point["recall_64"]),
        Some(&1.0.into())
    );
    let bytes: Vec<_> = points.iter().map(|point| point["bytes"].as_u64()).collect();
    assert!(
        bytes[6] > bytes[7] && bytes[7] > bytes[8] && bytes[6] > bytes[3],
        "{bytes:?}"
    );

    let shown = bench.pel(line);
    assert!(
        shown.code == Some(0) && shown.out.contains("Zero-shot @1"),
        "{}{}",
        shown.out,
        shown.err
    );
    bench.refuses(&[
        ("compact @run/model --kb @kb.jsonl --curve 8", 2, "--corpus"),
        (
            "compact @run/model --kb @kb.jsonl --corpus @ --curve 8 --out @small",
            2,
            "cannot be used with",
        ),
        (
            "compact @run/model --kb @kb.jsonl --corpus @ --curve 0 --mentions 3 --device cpu",
            3,
            "dimensions",
        ),
        (
            "compact @run/model --kb @kb.jsonl --corpus @ --curve 8 --mentions 0 --device cpu",
            3,
            "--mentions",
        ),
        ("compact @run/model --kb @kb.jsonl", 2, "--out"),
        (
            "compact @bundle --kb @kb.jsonl --out @small",
            3,
            "expected a model that `pel train` wrote",
        ),
    ]);
}

#[test]
fn concepts_of_training_are_recorded_and_kept() {
    let bench = trained();
    let record = |name: &str| std::fs::read_to_string(bench.path(name)).ok();
    let known = Some("D1\nD2\n".to_owned());
    assert_eq!(record("run/model/trained.txt"), known);
    assert_eq!(
        record("run/checkpoints/step-0000006/model/trained.txt"),
        known
    );
    for line in [
        "compact @run/model --kb @kb.jsonl --corpus @ --dim 8 --device cpu --out @small",
        "index --encoder @small --kb @kb.jsonl --device cpu --out @made",
        "pack @made @made.pel",
        "index --encoder @made.pel --kb @kb.jsonl --device cpu --out @again",
        "calibrate @again --corpus @ --device cpu",
        "update @again --kb @kb.jsonl --device cpu --out @updated",
        "export @updated --out @exported",
    ] {
        bench.done(line);
    }
    for folder in ["small", "made", "again", "updated", "exported"] {
        assert_eq!(record(&format!("{folder}/trained.txt")), known, "{folder}");
    }
    let shown = bench.done("inspect @made.pel").out;
    assert!(shown.contains("mentions of 2 concepts"), "{shown}");

    // The training split has one of the two.
    let seen = |more: &str| {
        let done = bench.done(&format!(
            "evaluate --bundle @made --corpus @ --split dev --systems dense --device cpu \
             --json{more}"
        ));
        let json: Value = serde_json::from_str(&done.out).expect("JSON");
        let split = &json["split"];
        serde_json::json!([
            split["seen_by"],
            split["seen"],
            split["zero_shot"],
            json["trained"]
        ])
    };
    let trained = serde_json::json!({"concepts": 2, "in_kb": 2});
    assert_eq!(seen(""), serde_json::json!(["model", 2, 0, trained]));
    assert_eq!(
        seen(" --train-split train"),
        serde_json::json!(["training_split", 1, 1, null])
    );

    // A model that is trained further keeps its record; without one the new model has none either.
    let further = |out: &str| {
        let words: Vec<&str> = STEPS.split_whitespace().collect();
        bench.done(&format!(
            "train --corpus @ --kb @kb.jsonl --encoder @run/model --device cpu --out @{out} {}",
            words.join(" ")
        ))
    };
    let own = bench.path("run/model/trained.txt");
    std::fs::write(&own, "D9\n").expect("written");
    further("more");
    assert_eq!(
        record("more/model/trained.txt").as_deref(),
        Some("D1\nD2\nD9\n")
    );
    std::fs::remove_file(&own).expect("removed");
    let warned = further("untold").err;
    assert!(
        warned.contains("no record of its training concepts (trained.txt)"),
        "{warned}"
    );
    assert_eq!(record("untold/model/trained.txt"), None);
}

#[test]
fn a_compact_model_is_indexed_and_links() {
    let bench = trained();
    bench.done("compact @run/model --kb @kb.jsonl --corpus @ --dim 8 --device cpu --out @small");
    let (made, floats) = (
        "--encoder @made --kb @kb.jsonl --device cpu --out @again",
        "--encoder-precision f32",
    );
    for more in ["", " --bf16 --encoder-precision int8 --precision int4"] {
        bench.done(&format!(
            "index --encoder @small --kb @kb.jsonl --device cpu --out @made{more}"
        ));
        let done = bench.done(
            "evaluate --bundle @made --corpus @ --split dev --train-split none --systems link \
             --device cpu --json",
        );
        let json: Value = serde_json::from_str(&done.out).expect("JSON");
        assert_eq!(json["split"]["in_kb"], 2, "{json}");
    }
    // Bytes do not become floats again.
    bench.refuses(&[(
        &format!("index {made} {floats}"),
        3,
        "found int8 weights; choose int8 for the encoder (`pel index --encoder-precision int8`)",
    )]);
    bench.done(&format!("index {made}"));
}

#[test]
#[cfg(unix)]
fn interrupted_training_resumes_at_its_last_step() {
    let bench = Bench::new();
    let line = format!(
        "train --corpus @ --kb @kb.jsonl --encoder {} --device cpu --out @run {STEPS} \
         --set data.mentions=2 --set validation.mentions=0 --set checkpoints.every=1000000",
        tiny().display()
    );
    // A run that would take days.
    let line = line.replace("--steps 6", "--steps 100000000");
    let words: Vec<String> = line
        .split_whitespace()
        .map(|word| {
            word.strip_prefix('@')
                .map_or(word.into(), |name| bench.path(name).display().to_string())
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let steps = || {
        let text = std::fs::read_to_string(bench.path("run/metrics.jsonl")).unwrap_or_default();
        text.lines()
            .filter(|line| line.contains("\"step\"") && line.contains("\"loss\""))
            .count()
    };
    let mut before = 0;
    for _ in 0..2 {
        let mut child = pel(&words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        while steps() < before + 3 && child.try_wait().expect("it is there").is_none() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        interrupt(&child);
        let said = from(child.wait_with_output().expect("it ends"));
        assert_eq!(said.code, Some(130), "{}", said.err);
        assert_eq!(
            said.err.contains(&format!("resuming from step {before}\n")),
            before > 0,
            "{}",
            said.err
        );
        before = steps();
        assert!(
            bench
                .path(&format!("run/checkpoints/step-{before:07}/state.json"))
                .is_file(),
            "{before} steps"
        );
    }
}

#[test]
fn batch_without_negatives_is_reported_once() {
    let bench = Bench::new();
    let line = format!(
        "train --corpus @ --kb @kb.jsonl --encoder {} --device cpu --out @run --steps 3 \
         --set data.split=dev --set data.mentions=2 --set optimiser.batch=1 \
         --set negatives.kind=none --set negatives.in_batch=true --set validation.mentions=0",
        tiny().display()
    );
    let done = bench.done(&line.split_whitespace().collect::<Vec<_>>().join(" "));
    assert_eq!(
        done.err
            .matches("step 1: 1 examples have no negative")
            .count(),
        1,
        "{}",
        done.err
    );
    assert_eq!(
        done.err.matches("have no negative").count(),
        1,
        "{}",
        done.err
    );
}

#[test]
fn best_weights_are_kept_unless_keep_is_last() {
    let bench = Bench::new();
    for (command, more) in [("train", ""), ("train", " --stage rank"), ("pretrain", "")] {
        let keep = |flag: &str| bench.pel(&format!("{command}{more}{flag} --print")).out;
        assert!(
            keep("").contains("keep = \"best\"")
                && keep(" --keep last").contains("keep = \"last\""),
            "{command}"
        );
    }
    let words: Vec<&str> = STEPS.split_whitespace().collect();
    let line = |out: &str, more: &str| {
        format!(
            "train --corpus @ --kb @kb.jsonl --encoder {} --device cpu --out @{out} {} {more}",
            tiny().display(),
            words.join(" ")
        )
    };
    // Weights that do not move: every validation is like the first.
    let rate = "--set optimiser.learning_rate=1e-12 --set validation.every=2 \
                --set validation.split=dev --json";
    std::fs::copy(
        bench.path("mentions.known.jsonl"),
        bench.path("mentions.train.jsonl"),
    )
    .expect("copied");
    let kept = |out: &str, more: &str| -> (Value, String) {
        let done = bench.done(&line(out, &format!("{rate}{more}")));
        let said: Value = serde_json::from_str(&done.out).expect("JSON");
        (said["kept"].clone(), done.err)
    };
    let (best, said) = kept("best", "");
    assert!(best["step"] == 2 && best["recall_1"].is_number(), "{best}");
    assert!(
        said.contains(
            "after step 6: the model has the weights after step 2, the best on the validation split"
        ),
        "{said}"
    );
    let (last, said) = kept("last", " --keep last");
    assert!(last["step"] == 6 && last["recall_1"].is_null(), "{last}");
    assert!(
        said.contains("the model has the weights after the last step (6)"),
        "{said}"
    );
    // Nothing to choose by.
    let (none, said) = kept("none", " --keep best --set validation.mentions=0");
    assert!(
        none["step"] == 6 && said.contains("warning: --keep has no effect: nothing is validated"),
        "{said}"
    );
    bench.refuses(&[(
        &line("best", &format!("{rate} --keep last")),
        3,
        "`keep = \"best\"`, found `keep = \"last\"`",
    )]);
}
