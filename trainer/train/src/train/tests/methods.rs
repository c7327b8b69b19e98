//! BLINK's and T-Biencoder's methods as runs of the tiny model: ranking, distillation, the learned
//! transformation, domains.

use super::super::config::{Config, Domain, LossKind, Schedule, Task};
use super::super::log;
use super::refused::refused;
use super::{cpu, ended_and_resumed, run, world};
use crate::train::Snapshot;
use burn::tensor::Device;
use pel_artifacts::models::open_ranker;
use pel_corpora::retrieve::Retriever;
use pel_corpora::retrieve::candidates::Found;
use pel_corpora::retrieve::rerank::Reranker;
use pel_corpora::retrieve::teacher::Teacher;
use pel_corpora::split::{MentionQuery, Split};
use pel_io::interrupt;
use pel_kb::score::{Candidate, Scorer};
use pel_kb::{ConceptId, KnowledgeBase};
use pel_model::layer::Precision;
use pel_model::tokens::View;
use std::path::Path;

/// Candidates of the mentions of a split of `world`: the right concept, then the next ones; `more`
/// is added to each line.
pub(super) fn lists(folder: &Path, split: &str, more: &str) -> std::path::PathBuf {
    let synonyms = [
        "pyrexia",
        "coughing",
        "pain in the chest",
        "diabetes",
        "cardiac failure",
        "kidney failure",
    ];
    let names = [
        "fever",
        "cough",
        "chest pain",
        "diabetes mellitus",
        "heart failure",
        "renal failure",
    ];
    let texts = if split == "train" { synonyms } else { names };
    let lines = texts.iter().enumerate().map(|(at, text)| {
        // The right one is second.
        let candidates = [1, 0, 2, 3]
            .map(|next| format!("\"D{}\"", (at + next) % 8 + 1))
            .join(", ");
        let end = 16 + text.len();
        format!(
            "{{\"doc_id\": \"{split}{at}\", \"start\": 16, \"end\": {end}, \"candidates\": \
             [{candidates}]{more}}}\n"
        )
    });
    let path = folder.join(format!("candidates.{split}.jsonl"));
    std::fs::write(&path, lines.collect::<String>()).expect("written");
    path
}

pub(super) fn ranking(folder: &Path) -> Config {
    let mut config = world(folder);
    config.data.task = Task::Rank;
    config.data.candidates = lists(folder, "train", "");
    config.validation.candidates = lists(folder, "dev", "");
    (config.model.tied, config.loss.kind, config.view.concepts) =
        (true, LossKind::CrossEntropy, View::Template);
    config
}

#[test]
fn ranker_learns_to_rank_the_right_concept_first() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = ranking(root.path());
    config.model.dropout = 0.0;
    (config.fgsm.lambda, config.fgsm.absolute_epsilon) = (0.5, 0.01);
    config.validation.split = "train".into();
    config.validation.candidates = config.data.candidates.clone();
    (
        config.optimiser.steps,
        config.checkpoints.every,
        config.validation.every,
    ) = (Some(80), 80, 80);
    let trained = run(&config, &root.path().join("run")).expect("it trains");
    assert_eq!(trained.examples, 6);
    assert_eq!(
        trained
            .report
            .skipped("mention that is not in the candidate list"),
        2
    );
    let validated = trained.validated.expect("there are candidates");
    assert_eq!(
        (
            validated.mentions,
            validated.recall_listed,
            validated.recall_64
        ),
        (6, Some(1.0), None)
    );
    assert!(
        validated.recall_1.is_some_and(|accuracy| accuracy >= 0.8),
        "{validated:?}"
    );
    assert_eq!(validated.normalised(), validated.recall_1);

    // The model that was written ranks the same way.
    let ranker = open_ranker(&trained.model, &Device::flex()).expect("whole");
    let kb = pel_artifacts::concept_table::read(&config.data.kb)
        .expect("whole")
        .kb;
    let mut split = Split::read(root.path(), "train", 1, &kb, None).expect("whole");
    split.mentions.truncate(6);
    let queries: Vec<MentionQuery<'_>> = split.queries().collect();
    let candidate = |at: u32| Candidate::new(ConceptId(at % 8), 1.0);
    let candidates: Vec<Vec<Candidate>> = (0..6)
        .map(|at| [1, 0, 2, 3].map(|next| candidate(at + next)).to_vec())
        .collect();
    let scores = Reranker::new(&ranker, &kb)
        .scores(&queries, &candidates, 4)
        .expect("ranked");
    let right = scores
        .iter()
        .filter(|scores| scores[1] > scores[0].max(scores[2]).max(scores[3]))
        .count();
    assert_eq!(Some(right as f64 / 6.0), validated.recall_1);
    assert!(open_ranker(&super::tiny(), &Device::flex()).is_err());
    stopped_and_begun_again(&trained.model, split, &candidates, &kb, root.path());
}

/// Scoring lists of candidates that is stopped goes on, computes nothing twice, and ends the same.
fn stopped_and_begun_again(
    model: &Path,
    mut split: Split,
    candidates: &[Vec<Candidate>],
    kb: &KnowledgeBase,
    root: &Path,
) {
    // Three pieces of 128 mentions and a rest.
    split.mentions = split.mentions.iter().cycle().take(400).copied().collect();
    let ranked = candidates.iter().cycle().take(400).cloned().collect();
    let mut found = Found {
        split,
        ranked,
        missing: 0,
    };
    let teacher = Teacher::open(model, Precision::F32, &cpu()).expect("a ranker");
    let whole = teacher
        .write(&found, kb, 4, &root.join("whole.jsonl"))
        .expect("written");
    let (out, done) = (
        root.join("taught.jsonl"),
        root.join(".taught.jsonl.work/done.f32"),
    );
    // Stopped at later and later checks; each piece has four scores of four bytes a mention, and a
    // checksum of 32.
    let ends =
        [0, 128, 256, 384, 400].map(|mentions: u64| 16 * mentions + 32 * mentions.div_ceil(128));
    let (mut kept, mut first_kept) = (vec![0], 0);
    let resumed = (1..100).find_map(|checks| {
        interrupt::kill_after(checks);
        let written = teacher.write(&found, kb, 4, &out);
        interrupt::reset();
        if let Ok(scores) = written {
            return Some(scores);
        }
        assert!(!out.exists());
        let size = std::fs::metadata(&done).map_or(0, |file| file.len());
        assert!(
            ends.contains(&size) && kept.last() <= Some(&size),
            "{size} after {kept:?}"
        );
        if size > 0 {
            first_kept = if first_kept == 0 { checks } else { first_kept };
            // Half a score is cut off, its piece computed again.
            let file = std::fs::OpenOptions::new()
                .append(true)
                .open(&done)
                .expect("there");
            file.set_len(size + 2).expect("longer");
        }
        kept.push(size);
        None
    });
    assert_eq!(resumed.expect("it ends"), whole);
    assert!(
        first_kept > 0 && kept.iter().any(|size| *size > ends[1]),
        "{kept:?}"
    );
    let read = |path: &Path| std::fs::read(path).expect("written");
    assert!(read(&out) == read(&root.join("whole.jsonl")) && !done.exists());

    // What was kept for other lists is not taken.
    interrupt::kill_after(first_kept);
    assert!(teacher.write(&found, kb, 4, &out).is_err());
    interrupt::reset();
    assert!(std::fs::metadata(&done).is_ok_and(|file| file.len() > 0));
    found.ranked.iter_mut().for_each(|list| list.reverse());
    let turned = teacher
        .write(&found, kb, 4, &out)
        .expect("it starts from the beginning");
    assert!(
        turned
            .iter()
            .zip(&whole)
            .all(|(turned, whole)| turned.iter().rev().eq(whole))
    );
}

#[test]
fn killed_runs_of_every_task_resume() {
    let root = tempfile::tempdir().expect("a folder");
    let rank = ranking(root.path());
    let mut transformed = world(root.path());
    (
        transformed.transformation.weight,
        transformed.transformation.epsilon,
    ) = (1.0, 2.0);
    transformed.transformation.rate = 0.6;
    transformed.negatives.domain = Domain::Inside;
    transformed.model.freeze_embeddings = true;
    (transformed.model.scorer, transformed.fgsm.lambda) = (Scorer::SumOfMax, 0.5);
    let mut taught = world(root.path());
    taught.data.candidates = lists(
        root.path(),
        "train",
        r#", "teacher": [0.5, 2.0, -1.0, 0.0]"#,
    );
    taught.distillation.own_share = 0.5;
    // Names alone, of two tables.
    let defaults = Config::alignment();
    let mut aligned = Config {
        loss: defaults.loss,
        ..world(root.path())
    };
    (aligned.data.task, aligned.view.concepts, aligned.model.tied) =
        (Task::Align, View::Names, true);
    let more = root.path().join("more.jsonl");
    let kb = r#"{"id": "D20", "name": "itch", "synonyms": ["pruritus", "itching"]}"#;
    std::fs::write(&more, format!("{kb}\n")).expect("written");
    aligned.data.more_kbs = vec![more];
    for (name, config) in [
        ("rank", rank),
        ("transformed", transformed),
        ("taught", taught),
        ("aligned", aligned),
    ] {
        let outcome = |out: &Path| -> Vec<Vec<u8>> {
            let files = ["", "mention/", "entity/"]
                .map(|side| out.join(format!("model/{side}model.safetensors")));
            files
                .iter()
                .filter_map(|file| std::fs::read(file).ok())
                .collect()
        };
        let whole = root.path().join(format!("{name}-whole"));
        run(&config, &whole).expect("it trains");
        for end in [interrupt::kill_after, interrupt::interrupt_after] {
            let deaths =
                ended_and_resumed(end, &config, root.path(), "ended", 23, |out, checks| {
                    assert!(
                        outcome(out) == outcome(&whole),
                        "{name}, ended at check {checks}: other weights"
                    );
                });
            assert!(deaths > 2, "{name}: {deaths}");
        }
        let events = log::read(&whole.join("metrics.jsonl")).expect("whole");
        assert!(events.len() >= 5, "{name}: {events:?}");
        let norms = events.iter().filter_map(|event| match event {
            log::Event::Step { transformation, .. } => *transformation,
            _ => None,
        });
        let (norms, bound) = (
            norms.flatten().collect::<Vec<f64>>(),
            config.transformation.epsilon * (1.0 + 1e-5),
        );
        assert_eq!(
            norms.is_empty(),
            config.transformation.weight == 0.0,
            "{name}"
        );
        assert!(
            norms.iter().all(|norm| (0.0..=bound).contains(norm)),
            "{name}: {norms:?}"
        );
        // Only frozen embeddings stay what they were.
        let words = |file: &Path| {
            let bytes = std::fs::read(file).expect("written");
            let all = safetensors::SafeTensors::deserialize(&bytes).expect("whole");
            all.tensor("embeddings.word_embeddings.weight")
                .expect("there")
                .data()
                .to_vec()
        };
        let side = if config.model.tied {
            "model/model.safetensors"
        } else {
            "model/mention/model.safetensors"
        };
        let same = words(&whole.join(side)) == words(&super::tiny().join("model.safetensors"));
        assert_eq!(same, config.model.freeze_embeddings, "{name}");
    }
}

#[test]
fn unusable_ranking_and_distillation_data_is_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let config = ranking(root.path());
    let refused = |change: &dyn Fn(&mut Config), said: &[&str]| refused(&config, change, said);
    let file = |name: &str, line: &str| {
        let path = root.path().join(name);
        std::fs::write(&path, line).expect("written");
        path
    };
    let list = |rest: &str| {
        format!(r#"{{"doc_id": "train0", "start": 16, "end": 23, "candidates": {rest}}}"#)
    };
    let with = |name: &str, rest: &str| {
        let path = file(name, &list(rest));
        move |config: &mut Config| config.data.candidates = path.clone()
    };
    refused(
        &with("a", r#"["D2", "D3"]"#),
        &[
            "has no training mention",
            "1 x mention whose candidates lack the right concept",
        ],
    );
    // Unless it may be put in.
    let mut added = config.clone();
    with("a", r#"["D2", "D3"]"#)(&mut added);
    added.data.add_gold = true;
    assert_eq!(
        run(&added, &root.path().join("added"))
            .expect("it trains")
            .examples,
        1
    );
    refused(
        &with("b", r#"["D1", "D77"]"#),
        &[
            "line 1",
            "expected candidates of the knowledge base",
            "found D77",
        ],
    );
    refused(
        &with("c", r#"["D1", "D1"]"#),
        &["line 1", "expected each candidate once, found D1 twice"],
    );
    refused(
        &with("d", r#"["D1", "D2"], "teacher": [1.0]"#),
        &["line 1", "expected 2 teacher scores", "found 1"],
    );
    let twice = file(
        "g",
        &format!("{}\n{}\n", list(r#"["D1", "D2"]"#), list(r#"["D1", "D3"]"#)),
    );
    refused(
        &|config| config.data.candidates = twice.clone(),
        &["line 2", "line 1 has another list of the same mention"],
    );
    // A teacher has nothing to say of no candidates.
    let unlisted = with("f", "[]");
    let unlisted = |config: &mut Config| {
        *config = world(root.path());
        unlisted(config);
        (config.distillation.own_share, config.data.add_gold) = (0.5, true);
    };
    refused(
        &unlisted,
        &[
            "has no training mention",
            "1 x mention whose candidates lack the right concept",
        ],
    );
    let empty = file("e", "");
    refused(
        &|config| config.data.candidates = empty.clone(),
        &["the file has no candidate lists"],
    );
    refused(
        &|config| config.data.candidates = std::path::PathBuf::new(),
        &["`data.candidates` is missing"],
    );
    refused(
        &|config| config.view.entity_tokens = 120,
        &["at most 128 tokens", "143"],
    );
    let student = |config: &mut Config| {
        *config = world(root.path());
        config.data.candidates = lists(root.path(), "train", "");
        config.distillation.own_share = 0.5;
    };
    refused(&student, &["line 1", "have no teacher scores"]);
    let deep = |config: &mut Config| {
        *config = world(root.path());
        (config.transformation.weight, config.transformation.layer) = (1.0, 9);
    };
    refused(
        &deep,
        &[
            "`transformation.layer`",
            "how deep the encoder is",
            "found 9",
        ],
    );
    // The shallower of two towers counts.
    let shallow = root.path().join("shallow");
    std::fs::create_dir(&shallow).expect("a folder");
    for entry in std::fs::read_dir(super::tiny()).expect("there") {
        let entry = entry.expect("there");
        std::fs::copy(entry.path(), shallow.join(entry.file_name())).expect("copied");
    }
    let text = std::fs::read_to_string(shallow.join("config.json")).expect("there");
    let text = text.replace("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 1");
    std::fs::write(shallow.join("config.json"), text).expect("written");
    let weights = std::fs::read(shallow.join("model.safetensors")).expect("there");
    let weights = safetensors::SafeTensors::deserialize(&weights).expect("whole");
    let deeper = |name: &String| {
        ["encoder.layer.1.", "encoder.layer.2."]
            .iter()
            .any(|layer| name.contains(layer))
    };
    let kept = weights
        .tensors()
        .into_iter()
        .filter(|(name, _)| !deeper(name));
    let kept = safetensors::serialize(kept, None).expect("tensors");
    std::fs::write(shallow.join("model.safetensors"), kept).expect("written");
    let uneven = |config: &mut Config| {
        *config = world(root.path());
        config.model.entity_encoder = Some(shallow.clone());
        (config.transformation.weight, config.transformation.layer) = (1.0, 2);
    };
    refused(
        &uneven,
        &[
            "`transformation.layer`: expected a layer from 0 to 1",
            "found 2",
        ],
    );
    // A ranker is no encoder, and an encoder no ranker.
    let out = root.path().join("run");
    let trained = run(&config, &out).expect("it trains");
    let of_ranker = |config: &mut Config| {
        *config = world(root.path());
        config.model.encoder = trained.model.clone();
    };
    refused(
        &of_ranker,
        &["expected an encoder that gives vectors, found 1 values"],
    );
}

#[test]
fn sum_of_max_learns_and_finds() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    (
        config.model.scorer,
        config.model.dropout,
        config.validation.split,
    ) = (Scorer::SumOfMax, 0.0, "train".into());
    (
        config.optimiser.steps,
        config.checkpoints.every,
        config.validation.every,
    ) = (Some(150), 150, 150);
    // As the paper: cross-entropy over sums of raw dot products.
    (config.loss.kind, config.optimiser.schedule) = (LossKind::CrossEntropy, Schedule::Constant);
    config.negatives.mine_every = 50;
    let trained = run(&config, &root.path().join("run")).expect("it trains");
    let validated = trained.validated.expect("there is a split");
    assert!(
        validated.recall_1.is_some_and(|recall| recall >= 0.7),
        "{validated:?}"
    );
    // A snapshot finds what validation found.
    let snapshot = Snapshot::open(&config, Some(&trained.model), "run", &cpu()).expect("whole");
    let split = Split::read(root.path(), "train", 1, snapshot.kb(), None).expect("whole");
    let queries: Vec<MentionQuery<'_>> = split.queries().collect();
    let found = snapshot
        .search(&queries, 3, &mut |_| Ok(()))
        .expect("found");
    let right = found.iter().zip(&split.mentions);
    let right = right.filter(|(found, gold)| {
        gold.concept.is_some() && found.first().map(|best| best.concept) == gold.concept
    });
    assert_eq!(Some(right.count() as f64 / 8.0), validated.recall_1);
}
