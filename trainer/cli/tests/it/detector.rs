//! A detector of the tiny model: trained, stopped and resumed, put into a bundle, and used.

use crate::common::{index, output_of, pel, tiny};
use serde_json::Value;
use std::path::{Path, PathBuf};

const WORDS: [&str; 4] = ["fever", "chest pain", "heart failure", "cough"];

/// Texts in which the mentions always follow "has".
fn corpus(folder: &Path, split: &str, texts: usize) {
    std::fs::create_dir_all(folder).expect("made");
    let (mut documents, mut mentions) = (String::new(), String::new());
    for number in 0..texts {
        let word = WORDS[number % WORDS.len()];
        let before = ["the patient has ", "she has ", "he now has "][number % 3];
        let text = format!("{before}{word} for {number} days");
        let (start, end) = (before.len(), before.len() + word.len());
        let document =
            serde_json::json!({"doc_id": format!("d{number}"), "text": text, "split": split});
        let mention = serde_json::json!({"doc_id": format!("d{number}"), "start": start, "end": end,
            "text": word, "id": null, "type": "problem"});
        documents += &format!("{document}\n");
        mentions += &format!("{mention}\n");
    }
    std::fs::write(folder.join("documents.jsonl"), documents).expect("written");
    std::fs::write(folder.join(format!("mentions.{split}.jsonl")), mentions).expect("written");
}

struct Workspace {
    root: tempfile::TempDir,
}

impl Workspace {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        corpus(&at("train"), "train", 24);
        corpus(&at("dev"), "dev", 9);
        std::fs::write(at("kb.jsonl"), crate::common::KB).expect("written");
        let bundle = index(&at("kb.jsonl"), &at("bundle"), &[]);
        assert_eq!(bundle.code, Some(0), "{}", bundle.err);
        let config = format!(
            "[model]\nencoder = {:?}\n[optimiser]\nlearning_rate = 0.003\nbatch = 8\n\
             micro_batch = 4\n[checkpoints]\nevery = 5\n[validation]\nevery = 10\n\
             [detect]\nnames = {:?}\nwindow = 64\noverlap = 16\nwords = 6\nwidth = 16\nrank = 8\n\
             head_rate = 3.0\nlicence = \"CC0-1.0\"\n\
             corpora = [{{ folder = {:?}, split = \"train\", scheme = \"clinical\" }}]\n\
             validation = [{{ folder = {:?}, split = \"dev\", scheme = \"clinical\" }}]\n",
            tiny(),
            at("bundle"),
            at("train"),
            at("dev"),
        );
        std::fs::write(at("detector.toml"), config).expect("written");
        Self { root }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    fn train(&self, out: &str, steps: &str) -> crate::common::CommandOutput {
        let (config, out) = (self.text("detector.toml"), self.text(out));
        let arguments = [
            "train", "--stage", "detect", "--config", &config, "--out", &out, "--steps", steps,
            "--device", "cpu",
        ];
        output_of(pel(&arguments))
    }

    fn pack(&self, model: &str, out: &str) -> crate::common::CommandOutput {
        let (bundle, model, out) = (self.text("bundle"), self.text(model), self.text(out));
        output_of(pel(&["pack", &bundle, &out, "--detector", &model]))
    }

    fn link(&self, bundle: &str, text: &str, more: &[&str]) -> Vec<Value> {
        let (bundle, note) = (self.text(bundle), self.text("note.txt"));
        std::fs::write(&note, text).expect("written");
        let mut arguments = vec!["link", "--bundle", &bundle, &note, "--format", "jsonl"];
        arguments.extend(more);
        let output = output_of(pel(&arguments));
        assert_eq!(output.code, Some(0), "{}", output.err);
        let lines = output.out.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }
}

fn texts(links: &[Value]) -> Vec<&str> {
    links
        .iter()
        .map(|link| link["text"].as_str().expect("a text"))
        .collect()
}

#[test]
fn a_detector_is_trained_packed_and_used() {
    let workspace = Workspace::new();
    let trained = workspace.train("run", "60");
    assert_eq!(trained.code, Some(0), "{}", trained.err);
    let metrics = std::fs::read_to_string(workspace.at("run/metrics.jsonl")).expect("written");
    let last = metrics.lines().last().expect("an event");
    let last: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(last["event"], "detection");
    assert!(last["found"][0]["f1"].as_f64() > Some(0.9), "{last}");
    // The same command again neither trains nor changes the model.
    let weights = || std::fs::read(workspace.at("run/model/detector.safetensors")).expect("whole");
    let info = || std::fs::read(workspace.at("run/model/detector.json")).expect("whole");
    let before = (weights(), info());
    assert_eq!(workspace.train("run", "60").code, Some(0));
    assert!(before == (weights(), info()), "another model");

    let packed = workspace.pack("run/model", "with");
    assert_eq!(packed.code, Some(0), "{}", packed.err);
    let manifest = std::fs::read(workspace.at("with/manifest.json")).expect("written");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    assert_eq!(manifest["format"], 8);
    assert_eq!(manifest["detector"]["schemes"][0]["name"], "clinical");
    // "heart failure" is no name of the knowledge base.
    let note = "She has heart failure for 3 days";
    let found = workspace.link("with", note, &[]);
    assert_eq!(texts(&found), ["heart failure"]);
    assert_eq!(found[0]["origin"], "detector");
    assert_eq!(found[0]["group"], "problem");
    assert!(workspace.link("with", note, &["--names-only"]).is_empty());
    // A bundle for another table keeps the detector.
    let (kb, with, other) = (
        workspace.text("kb.jsonl"),
        workspace.text("with"),
        workspace.text("other"),
    );
    let indexed = output_of(pel(&[
        "index",
        "--kb",
        &kb,
        "--encoder",
        &with,
        "--out",
        &other,
    ]));
    assert_eq!(indexed.code, Some(0), "{}", indexed.err);
    assert_eq!(
        texts(&workspace.link("other", note, &[])),
        ["heart failure"]
    );
    let labels = output_of(pel(&[
        "link",
        "--bundle",
        &with,
        "--labels",
        "abstracts",
        "-",
    ]));
    assert!(
        labels
            .err
            .contains("--labels: expected clinical, found abstracts"),
        "{}",
        labels.err
    );
}

/// The floats of a tensor in a safetensors file.
fn tensor(path: &Path, name: &str) -> Vec<f32> {
    let bytes = std::fs::read(path).expect("written");
    let file = safetensors::SafeTensors::deserialize(&bytes).expect("whole");
    let tensor = file.tensor(name).expect(name);
    let values = tensor.data().chunks_exact(4);
    values
        .map(|value| f32::from_le_bytes(value.try_into().expect("four bytes")))
        .collect()
}

#[test]
fn several_detectors_are_packed_as_their_mean() {
    let workspace = Workspace::new();
    for (out, steps) in [("short", "5"), ("long", "60")] {
        let trained = workspace.train(out, steps);
        assert_eq!(trained.code, Some(0), "{}", trained.err);
    }
    let [bundle, short, long, out] =
        ["bundle", "short/model", "long/model", "mean"].map(|name| workspace.text(name));
    let pack = |second: &str| {
        output_of(pel(&[
            "pack",
            &bundle,
            &out,
            "--detector",
            &short,
            "--detector",
            second,
        ]))
    };
    let packed = pack(&long);
    assert_eq!(packed.code, Some(0), "{}", packed.err);
    // The bundle of the tiny encoder has floats.
    let weights = |name: &str| {
        tensor(
            &workspace.at(name).join("detector.safetensors"),
            "head.first.weight",
        )
    };
    let (one, other) = (weights("short/model"), weights("long/model"));
    let expected: Vec<f32> = one.iter().zip(&other).map(|(a, b)| (a + b) / 2.0).collect();
    assert!(one != other);
    assert_eq!(weights("mean"), expected);
    // One with other labels is refused.
    let info = workspace.at("long/model/detector.json");
    let text = std::fs::read_to_string(&info).expect("written");
    std::fs::write(&info, text.replace("problem", "finding")).expect("written");
    std::fs::remove_dir_all(workspace.at("mean")).expect("removed");
    let refused = pack(&long);
    assert_eq!(refused.code, Some(3), "{}", refused.err);
    assert!(refused.err.contains("with the labels"), "{}", refused.err);
}

#[test]
fn probabilities_are_fitted_on_detected_mentions() {
    let workspace = Workspace::new();
    let trained = workspace.train("run", "60");
    assert_eq!(trained.code, Some(0), "{}", trained.err);
    assert_eq!(workspace.pack("run/model", "with").code, Some(0));
    // Half of the mentions have a concept of the knowledge base.
    corpus(&workspace.at("many"), "dev", 160);
    let path = workspace.at("many/mentions.dev.jsonl");
    let mentions = std::fs::read_to_string(&path).expect("written");
    let known = |line: &str| match line {
        line if line.contains("\"fever\"") => line.replace("null", "\"D1\""),
        line if line.contains("\"chest pain\"") => line.replace("null", "\"D2\""),
        line => line.to_owned(),
    };
    let mentions: String = mentions.lines().map(|line| known(line) + "\n").collect();
    std::fs::write(&path, mentions).expect("written");
    let calibrate = |more: &[&str]| {
        let (bundle, many) = (workspace.text("with"), workspace.text("many"));
        let mut arguments = vec!["calibrate", &bundle, "--corpus", &many, "--device", "cpu"];
        arguments.extend(["--mentions", "detected", "--by", "probability"]);
        arguments.extend(more);
        output_of(pel(&arguments))
    };
    let (with, bundle) = (workspace.text("with"), workspace.text("bundle"));
    for (more, said) in [
        (
            &["--over", &with, "--over", &with][..],
            "--over: expected one for each of 1 corpora, found 2",
        ),
        (
            &["--mentions", "annotated"],
            "--mentions: expected one, or one for each of 1 corpora, found 2",
        ),
    ] {
        let refused = calibrate(more);
        assert_eq!(refused.code, Some(3), "{}", refused.err);
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    let done = calibrate(&["--over", &with]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let manifest = std::fs::read(workspace.at("with/manifest.json")).expect("written");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    let probability = &manifest["nil"]["probability"];
    let weights = probability["weights"].as_object().expect("weights");
    assert!(weights.contains_key("exact_match"), "{probability}");
    // All candidates are problems, so their kind tells nothing.
    assert!(!weights.contains_key("kind_fit"), "{probability}");
    let words = manifest["nil"]["calibrated_on"].as_str().expect("words");
    assert!(words.contains("detected mentions"), "{words}");
    let found = workspace.link(
        "with",
        "She has fever for 3 days, he has cough for 4 days",
        &[],
    );
    assert_eq!(texts(&found), ["fever", "cough"]);
    assert_eq!(found[0]["decision"], "linked", "{:?}", found[0]);
    assert_eq!(found[1]["decision"], "nil", "{:?}", found[1]);
    assert_eq!(
        (&found[0]["origin"], &found[1]["origin"]),
        (&"name".into(), &"detector".into())
    );
    explanations_are_those_of_the_links(&workspace);
    a_threshold_is_a_probability(&workspace);
    // Over a bundle without a detector only names are found, which are all right here.
    let refused = calibrate(&["--over", &bundle, "--dry-run"]);
    assert_eq!(refused.code, Some(3), "{}", refused.err);
    assert!(refused.err.contains("found 80 and 0"), "{}", refused.err);
}

/// `pel explain` says of each mention what `pel link` does, with the same detection.
fn explanations_are_those_of_the_links(workspace: &Workspace) {
    let note = "She has chest pain for 3 days, he has cough for 4 days, fever: he now has fever";
    let (bundle, path) = (workspace.text("with"), workspace.text("note.txt"));
    for more in [&[][..], &["--names-only"], &["--labels", "clinical"]] {
        let links = workspace.link("with", note, more);
        assert!(links.len() > 1, "{links:?}");
        for link in links {
            let span = format!("{}:{}", link["start"], link["end"]);
            let mut arguments = vec!["explain", "--bundle", &bundle, "--file", &path];
            arguments.extend(["--span", &span, "--json", "--device", "cpu"]);
            arguments.extend(more);
            let explained = output_of(pel(&arguments));
            assert_eq!(explained.code, Some(0), "{}", explained.err);
            let explained: Value = serde_json::from_str(&explained.out).expect("JSON");
            for field in ["origin", "group", "probability"] {
                assert_eq!(link[field], explained[field], "{field} of {link}");
            }
            assert_eq!(link["decision"], explained["decision"]["kind"], "{link}");
            assert_eq!(link["negated"], explained["context"]["negated"], "{link}");
            let best = |of: &Value| {
                (
                    of["candidates"][0]["id"].clone(),
                    of["candidates"][0]["score"].clone(),
                )
            };
            assert_eq!(best(&link), best(&explained), "{link}");
        }
    }
    // Of several occurrences the first one that is detected is explained.
    let mut arguments = vec!["explain", "--bundle", &bundle, "--file", &path, "--json"];
    arguments.extend(["--mention", "fever"]);
    let explained = output_of(pel(&arguments)).out;
    let explained: Value = serde_json::from_str(&explained).expect("JSON");
    let first = workspace.link("with", note, &[]);
    let first = first.iter().find(|link| link["text"] == "fever");
    let first = first.expect("fever is detected");
    assert_eq!(explained["span"]["start"], first["start"]);
}

fn a_threshold_is_a_probability(workspace: &Workspace) {
    let (bundle, path) = (workspace.text("with"), workspace.text("note.txt"));
    for (threshold, code) in [("1.5", 3), ("-0.1", 3), ("1", 0), ("0", 0)] {
        let threshold = format!("--threshold={threshold}");
        let link = ["link", "--bundle", &bundle, &path, &threshold];
        let mut explain = vec!["explain", "--bundle", &bundle, "--file", &path, &threshold];
        explain.extend(["--span", "0:3"]);
        for arguments in [&link[..], &explain] {
            let output = output_of(pel(arguments));
            assert_eq!(output.code, Some(code), "{arguments:?}: {}", output.err);
            let said = output
                .err
                .contains("--threshold: expected a probability from 0 to 1");
            assert_eq!(said, code == 3, "{}", output.err);
        }
    }
}

#[test]
fn model_cards_have_text_and_no_byte_order_mark() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (card, out) = (at("card.md"), at("out"));
    for (text, accepted) in [
        ("", None),
        ("\u{feff} \n\t\n", None),
        ("\u{feff}# Card\n", Some("# Card\n")),
    ] {
        std::fs::write(&card, text).expect("written");
        let packed = output_of(pel(&[
            "pack",
            crate::common::bundle(),
            &out,
            "--card",
            &card,
        ]));
        match accepted {
            Some(expected) => {
                assert_eq!(packed.code, Some(0), "{}", packed.err);
                let written = Path::new(&out).join("MODEL_CARD.md");
                assert_eq!(std::fs::read_to_string(written).expect("written"), expected);
            }
            None => {
                assert_eq!(packed.code, Some(3), "{}", packed.err);
                let said = "card.md: expected a model card, found an empty file";
                assert!(packed.err.contains(said), "{}", packed.err);
            }
        }
    }
}

#[test]
fn the_concepts_that_an_encoder_was_trained_on_can_be_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (list, out) = (at("seen.txt"), at("out"));
    std::fs::write(&list, "C2\r\nC10\n\nC2\n").expect("written");
    let packed = output_of(pel(&[
        "pack",
        crate::common::bundle(),
        &out,
        "--trained",
        &list,
    ]));
    assert_eq!(packed.code, Some(0), "{}", packed.err);
    let written = Path::new(&out).join("trained.txt");
    assert_eq!(
        std::fs::read_to_string(written).expect("written"),
        "C10\nC2\n"
    );
    let inspected = output_of(pel(&["inspect", &out]));
    assert_eq!(inspected.code, Some(0), "{}", inspected.err);
    assert!(
        inspected.out.contains("mentions of 2 concepts"),
        "{}",
        inspected.out
    );
}

#[test]
fn a_resumed_run_gives_the_model_of_an_uninterrupted_one() {
    let workspace = Workspace::new();
    assert_eq!(workspace.train("whole", "12").code, Some(0));
    // As if the process was killed after its first checkpoint.
    assert_eq!(workspace.train("parted", "12").code, Some(0));
    std::fs::remove_dir_all(workspace.at("parted/model")).expect("removed");
    for step in ["0000012", "0000010"] {
        let folder = workspace.at(&format!("parted/checkpoints/step-{step}"));
        if folder.exists() && step != "0000010" {
            std::fs::remove_dir_all(folder).expect("removed");
        }
    }
    assert_eq!(workspace.train("parted", "12").code, Some(0));
    for name in ["detector.safetensors", "detector.json"] {
        let read =
            |run: &str| std::fs::read(workspace.at(&format!("{run}/model/{name}"))).expect("whole");
        assert!(read("whole") == read("parted"), "{name} differs");
    }
}

#[test]
fn bad_configurations_and_models_are_refused() {
    let workspace = Workspace::new();
    let config = std::fs::read_to_string(workspace.at("detector.toml")).expect("written");
    for (old, new, said) in [
        (
            "window = 64",
            "window = 400",
            "`detect.window`: expected at most the 128 tokens",
        ),
        (
            "overlap = 16",
            "overlap = 40",
            "`detect.overlap`: expected less than half a window",
        ),
        (
            "rank = 8",
            "rank = 0",
            "`detect.rank`: expected 1 to 4096, found 0",
        ),
        ("split = \"train\"", "split = \"none\"", "mentions.none"),
        ("head_rate = 3.0", "head_rate = 0.0", "`detect.head_rate`"),
        ("words = 6", "wrods = 6", "did you mean `detect.words`?"),
    ] {
        std::fs::write(workspace.at("detector.toml"), config.replace(old, new)).expect("written");
        let refused = workspace.train("bad", "2");
        assert_ne!(refused.code, Some(0), "{new}");
        assert!(refused.err.contains(said), "{new}: {}", refused.err);
    }
    std::fs::write(workspace.at("detector.toml"), config).expect("written");
    assert_eq!(workspace.train("run", "2").code, Some(0));
    let corpus = workspace.text("train");
    let given = output_of(pel(&[
        "train",
        "--stage",
        "detect",
        "--corpus",
        &corpus,
        "--out",
        &workspace.text("x"),
    ]));
    assert!(
        given.err.contains("--corpus: expected no such option"),
        "{}",
        given.err
    );
    // Another tokenizer, then a missing tensor.
    let tokenizer = workspace.at("run/model/tokenizer.json");
    let whole = std::fs::read(&tokenizer).expect("whole");
    std::fs::write(&tokenizer, [&whole[..], b" "].concat()).expect("written");
    let refused = workspace.pack("run/model", "packed");
    assert!(
        refused.err.contains("found one with another tokenizer"),
        "{}",
        refused.err
    );
    std::fs::write(&tokenizer, whole).expect("written");
    let info = workspace.at("run/model/detector.json");
    let text = std::fs::read_to_string(&info).expect("whole");
    std::fs::write(&info, text.replace("\"rank\": 8", "\"rank\": 9")).expect("written");
    let refused = workspace.pack("run/model", "packed");
    assert!(refused.err.contains("head.start.weight"), "{}", refused.err);
    assert!(!workspace.at("packed").exists());
}
