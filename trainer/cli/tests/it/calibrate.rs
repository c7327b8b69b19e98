//! `pel calibrate` and `pel split okb` as commands: what they say, what they change, and what they
//! refuse.

use crate::common::{KB, Workspace as Bench, sealed, tiny};
use std::path::Path;

fn manifest(bundle: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(bundle.join("manifest.json")).expect("read"))
        .expect("JSON")
}

#[test]
fn bundle_stores_threshold_and_its_calibration() {
    let bench = Bench::new();
    let line = "calibrate @bundle --corpus @ --device cpu";
    let before = manifest(&bench.path("bundle"));
    let dry = bench.done(&format!("{line} --dry-run"));
    assert!(
        dry.out
            .contains("3 mentions of the split dev, 1 of them NIL")
            && dry.out.contains("not changed"),
        "{}",
        dry.out
    );
    assert_eq!(manifest(&bench.path("bundle")), before);

    bench.done(&format!("{line} --curve @nil.csv --out @nil.json"));
    let nil = &manifest(&bench.path("bundle"))["nil"];
    let threshold = nil["threshold"].as_f64().expect("a threshold");
    // The two names have the score 1, the unknown word less.
    assert!(threshold < 1.0, "{nil}");
    let words = nil["calibrated_on"].as_str().expect("words");
    assert!(
        words.contains("split dev: 3 mentions, 1 NIL") && words.contains("F1 100.0"),
        "{words}"
    );
    assert!(!words.contains('/'), "no paths: {words}");
    let curve = std::fs::read_to_string(bench.path("nil.csv")).expect("written");
    assert_eq!(curve.lines().next(), Some("threshold,precision,recall"));
    assert_eq!(
        curve.lines().nth(1),
        Some(format!("{},1,1", threshold as f32).as_str())
    );
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bench.path("nil.json")).expect("read"))
            .expect("JSON");
    assert_eq!(
        (&record["figures"]["f1"], &record["rule"]),
        (&1.0.into(), &"best_f1".into())
    );
    let said = bench.pel("inspect @bundle");
    assert!(
        said.code == Some(0) && said.out.contains("best F1 of NIL"),
        "{}{}",
        said.out,
        said.err
    );

    // A bundle of one file gets the same.
    bench.done("pack @bundle @one.pel");
    bench.done("calibrate @one.pel --corpus @ --device cpu --precision 1 --json");
    let said = bench.pel("inspect @one.pel --json");
    assert!(
        said.out.contains("most links with at least 100.0 % right"),
        "{}",
        said.out
    );
    // Its own threshold is one that `pel evaluate` measures at.
    let said = bench.pel(
        "evaluate --bundle @one.pel --corpus @ --split dev --train-split none --systems link,dense \
         --device cpu",
    );
    assert!(
        said.code == Some(0)
            && said.out.contains("(bundle)")
            && said.out.contains("as in `pel link`"),
        "{}{}",
        said.out,
        said.err
    );
}

#[test]
fn mix_is_chosen_and_stored() {
    let bench = Bench::new();
    let done = bench.pel("calibrate @bundle --corpus @ --mix --device cpu");
    assert!(
        done.code == Some(3) && done.err.contains("names and templates"),
        "{}",
        done.err
    );
    let tiny = tiny().display().to_string();
    for (more, code, expected) in [
        ("--mix 1.5", 3, "expected a weight from 0 to 1"),
        ("--mix 0.25", 0, ""),
    ] {
        let done = bench.pel(&format!(
            "index --encoder {tiny} --kb @kb.jsonl --view both --device cpu --out @both {more}"
        ));
        assert_eq!(done.code, Some(code), "{}", done.err);
        assert!(done.err.contains(expected), "{}", done.err);
    }
    assert_eq!(manifest(&bench.path("both"))["view"]["mix"], 0.25);
    let said = bench.pel("inspect @both");
    assert!(said.out.contains("weight 0.25"), "{}", said.out);
    let done = bench.pel("calibrate @both --corpus @ --mix --device cpu");
    assert!(
        done.code == Some(0) && done.out.contains("Share of the template"),
        "{}{}",
        done.out,
        done.err
    );
    let mix = manifest(&bench.path("both"))["view"]["mix"]
        .as_f64()
        .expect("a number");
    assert!(
        done.out.contains(&format!("Taken: {}", mix as f32)),
        "{mix}: {}",
        done.out
    );
    // Another view of the same encoder has neither its mix nor its threshold.
    let made = bench.pel(
        "index --encoder @both --kb @kb.jsonl --view both --mix 0.5 --device cpu --out @mixed",
    );
    assert!(
        made.code == Some(0) && manifest(&bench.path("mixed"))["nil"]["threshold"].is_null(),
        "{}",
        made.err
    );
    let made =
        bench.pel("index --encoder @mixed --kb @kb.jsonl --view names --device cpu --out @names");
    assert!(
        made.code == Some(0) && manifest(&bench.path("names"))["view"]["mix"] == 0.0,
        "{}",
        made.err
    );
    // What the manifest says is what links.
    let linked = bench.pel(
        "evaluate --bundle @both --corpus @ --split dev --train-split none --systems link \
         --device cpu",
    );
    let said = if mix > 0.0 {
        linked.out.contains("of its template")
    } else {
        !linked.out.contains("of its template")
    };
    assert!(
        linked.code == Some(0) && said,
        "{}{}",
        linked.out,
        linked.err
    );
}

#[test]
fn spelling_weight_is_chosen_stored_and_copied() {
    let bench = Bench::new();
    let view = |bundle: &str| manifest(&bench.path(bundle))["view"].clone();
    assert_eq!(
        view("bundle").get("spelling"),
        None,
        "older builds read bundles without it"
    );
    let done = bench.pel("calibrate @bundle --corpus @ --spelling --device cpu");
    assert!(
        done.code == Some(0) && done.out.contains("Share of spelling"),
        "{}{}",
        done.out,
        done.err
    );
    // It costs nothing on three mentions, two of which are names.
    assert!(
        done.out.contains("Taken: 0.3") && done.out.contains("0.3 of spelling in a score"),
        "{}",
        done.out
    );
    let spelled = manifest(&bench.path("bundle"));
    assert_eq!(
        (
            &spelled["format"],
            spelled["view"]["spelling"]
                .as_f64()
                .map(|share| share as f32)
        ),
        (&8.into(), Some(0.3))
    );
    assert!(
        bench
            .pel("inspect @bundle")
            .out
            .contains("spelling has weight 0.3 in the score")
    );
    // What it adds is shown beside the similarity, which makes up the rest.
    let line = "explain --bundle @bundle --text fever --mention fever --device cpu";
    let why: serde_json::Value =
        serde_json::from_str(&bench.pel(&format!("{line} --json")).out).expect("JSON");
    let of = |one: &serde_json::Value, key: &str| one[key].as_f64().expect("a number");
    for one in why["candidates"].as_array().expect("a list") {
        let sum = 0.7 * of(one, "best_text_score") + of(one, "spelling");
        assert!((of(one, "score") - sum).abs() < 0.02, "{one}");
    }
    assert!(
        (of(&why["candidates"][0], "spelling") - 0.3).abs() < 1e-6,
        "{why}"
    );
    assert!(bench.pel(line).out.contains("Spelling adds"));
    let said = bench.pel("index --encoder @bundle --kb @kb.jsonl --device cpu --out @heir");
    assert!(
        said.code == Some(0) && view("heir")["spelling"] == view("bundle")["spelling"],
        "{}",
        said.err
    );
    let said =
        bench.pel("index --encoder @bundle --kb @kb.jsonl --spelling 0 --device cpu --out @plain");
    assert!(
        said.code == Some(0) && view("plain").get("spelling").is_none(),
        "{}",
        said.err
    );
    // A policy that is taken over brings the scores that it was chosen for.
    bench.done("calibrate @plain --from @bundle");
    assert_eq!(view("plain")["spelling"], view("bundle")["spelling"]);
    bench.refuses(&[
        (
            "index --encoder @bundle --kb @kb.jsonl --device cpu --out @no --spelling 1.5",
            3,
            "expected a weight from 0 to 1",
        ),
        (
            "index --encoder @bundle --kb @kb.jsonl --device cpu --out @no --score dot",
            3,
            "0 unless the similarity is cosine, found 0.3",
        ),
        (
            "calibrate @plain --from @bundle --spelling",
            2,
            "cannot be used with",
        ),
        (
            "calibrate @plain --from @bundle --split dev",
            2,
            "cannot be used with",
        ),
    ]);
    bench.done(
        "index --encoder @bundle --kb @kb.jsonl --spelling 0 --score dot --device cpu --out @dots",
    );
    bench.refuses(&[(
        "calibrate @dots --corpus @ --spelling --device cpu",
        3,
        "0 unless the similarity is cosine",
    )]);
}

#[test]
fn index_of_a_bundles_encoder_copies_its_threshold() {
    let bench = Bench::new();
    bench.done("calibrate @bundle --corpus @ --device cpu");
    bench.done("pack @bundle @one.pel");
    for from in ["@bundle", "@one.pel"] {
        bench.done(&format!(
            "index --encoder {from} --kb @kb.jsonl --device cpu --out @again"
        ));
        let (before, after) = (
            manifest(&bench.path("bundle")),
            manifest(&bench.path("again")),
        );
        for part in ["encoder", "view", "nil", "index"] {
            assert_eq!(before[part], after[part], "{from}");
        }
        assert!(before["nil"]["threshold"].is_number());
        let index =
            |bundle: &str| std::fs::read(bench.path(bundle).join("index.bin")).expect("read");
        assert!(index("bundle") == index("again"), "{from}");
    }
    let done =
        bench.pel("index --encoder @bundle --entity-encoder @bundle --kb @kb.jsonl --out @again");
    assert!(
        done.code == Some(3) && done.err.contains("brings its own"),
        "{}",
        done.err
    );
    let done = bench.pel("index --encoder @kb.jsonl --kb @kb.jsonl --out @again");
    assert!(
        done.code == Some(4) && done.err.contains("bundle"),
        "{}",
        done.err
    );
}

#[test]
fn threshold_and_curve_are_copied_to_a_bundle_of_equal_views() {
    let bench = Bench::new();
    let nil = |bundle: &str| manifest(&bench.path(bundle))["nil"].clone();
    bench.done("calibrate @bundle --corpus @ --device cpu");
    let curve = nil("bundle")["curve"].as_array().map_or(0, Vec::len);
    assert!((1..=64).contains(&curve), "{curve}");
    bench.done(
        "index --encoder @bundle --kb @kb.jsonl --nil-threshold 0.1 --device cpu --out @other",
    );
    let done = bench.pel("calibrate @other --from @bundle");
    assert!(
        done.code == Some(0) && done.out.contains("written to the manifest"),
        "{}{}",
        done.out,
        done.err
    );
    assert_eq!(nil("other"), nil("bundle"));
    bench.done("inspect @other");

    let line =
        "index --encoder @bundle --kb @kb.jsonl --view template --device cpu --out @templates";
    bench.done(line);
    let before = nil("templates");
    bench.refuses(&[
        (
            "calibrate @templates --from @bundle",
            3,
            "its views or scores are not those of",
        ),
        (
            "calibrate @other --from @bundle --corpus @",
            2,
            "cannot be used with",
        ),
        ("calibrate @other --from @nothing", 4, "expected a bundle"),
        (
            "index --encoder @bundle --kb @kb.jsonl --device cpu --out @bundle",
            2,
            "this is an input",
        ),
    ]);
    assert_eq!(nil("templates"), before);
    // Another encoder's scores mean something else.
    let cased = tiny().with_file_name("tiny-cased");
    let line = format!(
        "index --encoder {} --kb @kb.jsonl --device cpu --out @cased",
        cased.display()
    );
    bench.done(&line);
    bench.refuses(&[
        ("calibrate @cased --from @bundle", 3, "its encoder"),
        (
            "calibrate @bundle --mix --corpus @ --device cpu",
            3,
            "--mix: expected a bundle whose concepts have names and templates",
        ),
    ]);
}

#[test]
fn failed_calibration_leaves_the_bundle_unchanged() {
    let bench = Bench::new();
    let before = manifest(&bench.path("bundle"));
    bench.refuses(&[
        (
            "calibrate @bundle --corpus @ --by length",
            2,
            "[possible values: probability, score]",
        ),
        (
            "calibrate @bundle --corpus @ --split known",
            3,
            "the split known has no NIL mention",
        ),
        (
            "calibrate @bundle --corpus @ --split test",
            6,
            "expected mentions.test.jsonl",
        ),
        (
            "calibrate @bundle --corpus @ --nil held-out",
            3,
            "no NIL mention of the kind `held out`",
        ),
        (
            "calibrate @bundle --corpus @ --precision 1.5",
            2,
            "expected a share above 0 and at most 1",
        ),
        ("calibrate @nothing --corpus @", 4, "expected a bundle"),
        ("calibrate @bundle", 2, "--corpus"),
    ]);
    assert_eq!(manifest(&bench.path("bundle")), before);
}

#[test]
fn okb_split_is_written_and_evaluated() {
    let bench = Bench::new();
    bench.refuses(&[
        (
            "split okb --corpus @ --kb @kb.jsonl --train-split dev --types Sing --out @okb",
            3,
            "did you mean Sign?",
        ),
        (
            "split okb --corpus @ --kb @kb.jsonl --train-split dev --types Sign",
            2,
            "--out",
        ),
        (
            "split okb --corpus @ --kb @kb.jsonl --train-split dev --out @okb",
            2,
            "--types",
        ),
        (
            "split okb --corpus @ --kb @kb.jsonl --train-split dev --target 12",
            2,
            "expected a share between 0 and 1",
        ),
        (
            "split okb --corpus @ --kb @kb.jsonl",
            6,
            "found the splits dev, known",
        ),
    ]);
    // All mentions are Signs here; one of another type has to stay.
    let kb = KB.replacen(
        "chest pain\", \"types\": [\"Sign\"]",
        "chest pain\", \"types\": [\"Pain\"]",
        1,
    );
    std::fs::write(bench.path("kb.jsonl"), kb).expect("written");
    std::fs::remove_file(bench.path("mentions.known.jsonl")).expect("removed");
    let done =
        bench.pel("split okb --corpus @ --kb @kb.jsonl --train-split dev --suggest --target 0.5");
    assert!(
        done.code == Some(0) && done.out.contains("--types "),
        "{}{}",
        done.out,
        done.err
    );
    let done =
        bench.pel("split okb --corpus @ --kb @kb.jsonl --train-split dev --types Sign --out @okb");
    assert!(
        done.code == Some(0) && done.out.contains("written to"),
        "{}{}",
        done.out,
        done.err
    );
    let done = bench.done(
        "evaluate --corpus @okb --kb @okb/kb.jsonl --split dev --train-split none --systems exact \
         --json",
    );
    let json: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!(
        (&json["split"]["nil"], &json["split"]["held_out"]),
        (&2.into(), &1.into())
    );
}

/// A corpus of forty notes. In each, one name is right, one name is annotated with another concept,
/// and one word has no concept.
fn notes_of_right_and_wrong(bench: &Bench, folder: &str) {
    let (mut documents, mut mentions) = (String::new(), String::new());
    for at in 0..40 {
        let text = format!("Fever, chest pain and plumbago, note {at}.");
        documents += &format!(
            "{}\n",
            serde_json::json!({"doc_id": at.to_string(), "text": text})
        );
        for (mention, id) in [("Fever", "D1"), ("chest pain", "D3"), ("plumbago", "none")] {
            let start = text.find(mention).expect("in the text");
            let line = serde_json::json!({
                "doc_id": at.to_string(), "start": start, "end": start + mention.len(),
                "text": mention, "id": id,
            });
            mentions += &format!("{line}\n");
        }
    }
    let folder = bench.path(folder);
    std::fs::create_dir(&folder).expect("created");
    std::fs::write(folder.join("documents.jsonl"), documents).expect("written");
    std::fs::write(folder.join("mentions.dev.jsonl"), mentions).expect("written");
}

#[test]
fn probabilities_are_fitted_stored_and_decide() {
    let bench = Bench::new();
    notes_of_right_and_wrong(&bench, "notes");
    let line = "calibrate @bundle --corpus @notes --by probability --device cpu";
    let done = bench.done(&format!("{line} --out @found.json"));
    assert!(
        done.out.contains("120 mentions of corpus notes")
            && done.out.contains("Weights of the log odds"),
        "{}",
        done.out
    );
    let with_model = manifest(&bench.path("bundle"));
    let nil = &with_model["nil"];
    assert_eq!(with_model["format"], 8);
    // A wrong link costs 0.6, so links are made from 0.6 / 1.6 on.
    assert_eq!(nil["threshold"], 0.375);
    assert!((nil["probability"]["prior"].as_f64().expect("a share") - 1.0 / 3.0).abs() < 1e-6);
    assert_eq!(
        nil["sets"][0]["coverage"].as_f64().map(|it| it as f32),
        Some(0.9)
    );
    let found: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bench.path("found.json")).expect("read"))
            .expect("JSON");
    let error = found["probability"]["calibration_error"].as_f64();
    assert!(error.is_some_and(|error| error < 0.05), "{found}");

    // One of two exact names is right, so the other cannot be told from it.
    std::fs::write(bench.path("note.txt"), "Fever and plumbago.").expect("written");
    std::fs::write(
        bench.path("spans.jsonl"),
        "{\"start\":0,\"end\":5}\n{\"start\":10,\"end\":18}\n",
    )
    .expect("written");
    let line = "link @note.txt --bundle @bundle --spans @spans.jsonl --spans-only --device cpu";
    let linked: Vec<serde_json::Value> = bench
        .done(&format!("{line} --format jsonl --sets"))
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let probability = |at: usize| linked[at]["probability"].as_f64().expect("a probability");
    assert!(probability(0) > 0.4 && probability(1) < 0.1, "{linked:?}");
    assert_eq!(linked[0]["decision"], "linked");
    assert_eq!(linked[1]["nil_reason"], "unlike_any_name");
    let sets = linked[1]["answer_sets"].as_array().expect("sets");
    let coverages: Vec<f64> = sets
        .iter()
        .filter_map(|set| set["coverage"].as_f64())
        .collect();
    assert!(
        coverages == [0.9, 0.95] && sets[0]["concepts"].is_array(),
        "{sets:?}"
    );
    let low = bench.done(&format!("{line} --format jsonl --threshold 0"));
    assert!(!low.out.contains("\"nil\""), "{}", low.out);
    let table = bench.done(line);
    assert!(table.out.contains("Probability"), "{}", table.out);

    let why =
        bench.done("explain --bundle @bundle --file @note.txt --mention plumbago --device cpu");
    for part in [
        "right with a probability of 0.",
        "Adds to the log odds",
        "unlike any name",
    ] {
        assert!(why.out.contains(part), "{part:?} is missing in {}", why.out);
    }
    let said = bench.done(
        "evaluate --bundle @bundle --corpus @notes --split dev --train-split none --systems link \
         --device cpu",
    );
    for part in [
        "ECE",
        "Reliability",
        "Sets of answers",
        "NIL by the probability",
    ] {
        assert!(
            said.out.contains(part),
            "{part:?} is missing in {}",
            said.out
        );
    }

    // Few mentions scale the weights of the bundle's own model: they keep their proportions.
    let before = nil["probability"]["weights"].clone();
    bench.done("calibrate @bundle --corpus @notes --device cpu --cost 1");
    let after = manifest(&bench.path("bundle"));
    assert_eq!(after["nil"]["threshold"], 0.5);
    let ratio = |of: &str| {
        let weight = |weights: &serde_json::Value| weights[of].as_f64().expect("a weight");
        weight(&after["nil"]["probability"]["weights"]) / weight(&before)
    };
    assert!((ratio("score") - ratio("exact_match")).abs() < 1e-3);

    // A model with a weight of unknown words has a format of its own.
    assert_eq!(bench.pel("pack @bundle @weighed").code, Some(0));
    let path = bench.path("weighed/manifest.json");
    let mut weighed = manifest(&bench.path("weighed"));
    weighed["nil"]["probability"]["weights"]["unknown_word"] = (-1.0).into();
    std::fs::write(&path, sealed(&weighed)).expect("written");
    bench.refuses(&[(
        "inspect @weighed",
        4,
        "expected format version 9 for its fields",
    )]);
    weighed["format"] = 9.into();
    std::fs::write(&path, sealed(&weighed)).expect("written");
    bench.done("inspect @weighed");

    assert_eq!(bench.pel("pack @bundle @copy").code, Some(0));
    bench.done("calibrate @copy --corpus @ --by score --device cpu");
    assert!(
        manifest(&bench.path("copy"))["nil"]
            .get("probability")
            .is_none()
    );
    bench.refuses(&[
        (
            "link @note.txt --bundle @copy --format jsonl --sets",
            3,
            "has no probabilities; `pel calibrate` adds them",
        ),
        (
            "link @note.txt --bundle @bundle --sets",
            3,
            "--sets: only --format json and jsonl",
        ),
        (
            "calibrate @copy --corpus @ --by probability --device cpu",
            3,
            "expected at least 30 mentions whose best candidate is right",
        ),
        (
            "calibrate @copy --corpus @ --by score --cost 1",
            3,
            "--cost: a cost needs probabilities",
        ),
        (
            "calibrate @copy --corpus @ --corpus @notes --by score",
            3,
            "--by score: the threshold of a score is chosen on one corpus",
        ),
        (
            "calibrate @copy --corpus @ --split dev --split known",
            3,
            "--split: expected one, or one for each of 1 corpora, found 2",
        ),
    ]);
    let mut broken = after.clone();
    broken["nil"]["probability"]["prior"] = 1.0.into();
    std::fs::write(bench.path("bundle").join("manifest.json"), sealed(&broken)).expect("written");
    bench.refuses(&[(
        "inspect @bundle",
        4,
        "`nil.probability`: expected a prior above 0 and below 1",
    )]);
}

#[test]
fn leaving_parts_out_says_what_each_gives() {
    let bench = Bench::new();
    notes_of_right_and_wrong(&bench, "notes");
    let before = manifest(&bench.path("bundle"));
    let line = "calibrate @bundle --corpus @notes --leave-out --device cpu";
    let done = bench.done(&format!("{line} --out @parts.json"));
    for part in [
        "120 mentions of corpus notes, split dev",
        "| left out | right | wrong | NIL |",
        "| nothing | 50.0 | ",
        "| source: exact names | ",
        "| source: edit distance | ",
        "| source: search by vectors | ",
        "| source: coherence of the text | ",
        "| features: all of names | ",
        "| feature: margin to the next candidate | ",
        "The vectors of names and of templates cannot be left out one by one",
    ] {
        assert!(
            done.out.contains(part),
            "{part:?} is missing in {}",
            done.out
        );
    }
    assert_eq!(manifest(&bench.path("bundle")), before);
    let found: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bench.path("parts.json")).expect("read"))
            .expect("JSON");
    assert_eq!(
        (&found["folds"], &found["threshold"]),
        (&5.into(), &0.375.into())
    );
    let rows = found["rows"].as_array().expect("rows");
    // The whole, four sides, four groups, fourteen features.
    assert_eq!(rows.len(), 1 + 4 + 4 + 14);
    let share = |hits: u32, of: u32| serde_json::json!({"hits": hits, "of": of});
    // One name of each note is right, the other is not.
    for (of, expected) in [
        ("right", share(40, 80)),
        ("recall_at_1", share(40, 80)),
        ("nil_without_concept", share(40, 40)),
    ] {
        assert_eq!(rows[0][of], expected, "{of}: {}", rows[0]);
    }
    let both = bench.pel(&format!(
        "index --encoder {} --kb @kb.jsonl --view both --mix 0.25 --device cpu --out @both",
        tiny().display()
    ));
    assert_eq!(both.code, Some(0), "{}", both.err);
    let said =
        bench.done("calibrate @both --corpus @notes --leave-out --cost 1 --device cpu --json");
    let found: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(found["rows"].as_array().map(Vec::len), Some(23 + 2));
    bench.refuses(&[
        (&format!("{line} --precision 0.9"), 2, "--precision"),
        (&format!("{line} --dry-run"), 2, "--dry-run"),
        (
            "calibrate @bundle --from @both --leave-out",
            2,
            "--leave-out",
        ),
        (
            "calibrate @bundle --corpus @ --leave-out --device cpu",
            3,
            "leaving out nothing: expected mentions whose best candidate is right",
        ),
    ]);
}
