//! Which concepts a mention is pushed away from.

use super::super::METRICS;
use super::super::batch::{
    HardNegatives, LinkBatch, Pairing, few_negatives, link_batch, rank_batch,
};
use super::super::checkpoint::Checkpoints;
use super::super::config::{Config, Domain, NegativeKind};
use super::super::examples::Example;
use super::super::log::{Event, read};
use super::methods::{lists, ranking};
use super::steps::Start;
use super::{run, world};
use crate::train::encoded_kb::EncodedKb;
use crate::train::entity_inputs::SequenceId;
use pel_corpora::domain::DomainOf;
use pel_kb::ConceptId;
use pel_kb::score::Scorer;
use pel_model::tokens::{Encoded, View};
use std::path::Path;

/// `world` whose first five concepts are of one type, the others of another.
fn typed(folder: &Path) -> Config {
    let mut config = world(folder);
    let kb = std::fs::read_to_string(folder.join("kb.jsonl")).expect("read");
    let typed = kb.lines().enumerate().map(|(at, line)| {
        let kind = if at < 5 { "Finding" } else { "Sign" };
        line.replace("Finding", kind) + "\n"
    });
    std::fs::write(folder.join("kb.jsonl"), typed.collect::<String>()).expect("written");
    config.data.domains = DomainOf::Type;
    config
}

/// `world` with a concept D9 that has the very texts of D1.
fn with_twin(folder: &Path) -> Config {
    let config = world(folder);
    let kb = std::fs::read_to_string(folder.join("kb.jsonl")).expect("read");
    let twin = kb.lines().next().expect("D1").replace("\"D1\"", "\"D9\"");
    std::fs::write(folder.join("kb.jsonl"), format!("{kb}{twin}\n")).expect("written");
    config
}

/// Asserts that no mention is pushed away from a text of its own concept, and gives how many
/// negatives there are in all.
fn negatives(start: &Start, batch: &LinkBatch<'_>) -> usize {
    let mut all = 0;
    for (mention, entity, pairing) in batch.pairs() {
        let own = start
            .entity_inputs
            .has(batch.mentions[mention].concept, batch.entities[entity]);
        assert_eq!(
            own,
            pairing == Pairing::Positive,
            "{}",
            batch.mentions[mention].place
        );
        all += usize::from(!own);
    }
    all
}

#[test]
fn concept_with_equal_texts_is_no_negative() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = with_twin(root.path());
    config.negatives.count = 8;
    for kind in [NegativeKind::None, NegativeKind::Random] {
        (config.negatives.kind, config.negatives.in_batch) = (kind, true);
        let mut start = Start::new(config.clone());
        // The second mention means the twin.
        start.examples[1].concept = ConceptId(8);
        let batch = start.batch();
        assert!(
            batch.mentions[0].concept == ConceptId(0) && negatives(&start, &batch) >= 4,
            "{kind:?}"
        );
    }
    // Mined, however many are asked for.
    (
        config.negatives.kind,
        config.negatives.in_batch,
        config.negatives.mine_top,
    ) = (NegativeKind::Hard, false, 50);
    let Start {
        config,
        entity_inputs,
        model,
        examples,
        device,
    } = &Start::new(config);
    let of = |concept| entity_inputs.sequences_of(ConceptId(concept));
    assert!(of(0).eq(of(8)));
    let numbered: Vec<(usize, &Example)> = examples.iter().enumerate().collect();
    let mined = EncodedKb::new(model, entity_inputs, device, &std::env::temp_dir())
        .and_then(|encoded_kb| encoded_kb.mine(config, entity_inputs, &numbered));
    let mined = mined.expect("the device works");
    assert_eq!(
        mined[&0].len(),
        entity_inputs.rows().sequences.len() - of(0).len()
    );
    assert!(
        mined[&0]
            .iter()
            .all(|sequence| !entity_inputs.has(ConceptId(8), *sequence))
    );
}

#[test]
fn listed_concept_with_equal_texts_is_no_negative() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = with_twin(root.path());
    config.view.concepts = View::Template;
    // The right one is second, the twin of the first mention's third.
    let text = std::fs::read_to_string(lists(root.path(), "train", ""))
        .expect("read")
        .replace("\"D3\"", "\"D9\"");
    let path = root.path().join("twins.jsonl");
    std::fs::write(&path, text).expect("written");
    config.data.candidates = path.clone();
    let start = Start::new(config);
    assert!(negatives(&start, &start.batch()) > 0);

    let mut config = ranking(root.path());
    config.data.candidates = path;
    with_twin(root.path());
    let start = Start::new(config);
    let examples: Vec<&Example> = start.examples.iter().take(2).collect();
    let batch = rank_batch(&start.entity_inputs, &examples).expect("they have candidates");
    let rows: Vec<&[Pairing]> = batch.pairing.chunks_exact(4).collect();
    let (yes, no, apart) = (Pairing::Positive, Pairing::Negative, Pairing::Ignored);
    assert_eq!(rows, [[no, yes, apart, no], [no, yes, no, no]]);
    assert_eq!(batch.pairs.len(), 7);
}

#[test]
fn mention_may_have_no_negative() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    (config.negatives.kind, config.negatives.in_batch) = (NegativeKind::None, true);
    let mut start = Start::new(config);
    start
        .examples
        .iter_mut()
        .for_each(|example| example.concept = ConceptId(0));
    let batch = start.batch();
    assert_eq!(
        (batch.without_negatives(), negatives(&start, &batch)),
        (4, 0)
    );
    let loss = start.loss(None);
    assert!(loss.is_finite() && loss >= 0.0, "{loss}");
}

#[test]
fn negatives_stay_inside_the_domain_of_the_right_concept() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = typed(root.path());
    (
        config.negatives.kind,
        config.negatives.domain,
        config.negatives.count,
    ) = (NegativeKind::Random, Domain::Inside, 2);
    let start = Start::new(config.clone());
    let batch = start.batch();
    let of_sequence = |sequence| {
        let own = |concept: &ConceptId| start.entity_inputs.has(*concept, sequence);
        (0..8).map(ConceptId).find(own).expect("somebody's")
    };
    for (row, example) in batch
        .pairing
        .chunks_exact(batch.entities.len())
        .zip(&batch.mentions)
    {
        let negatives = row
            .iter()
            .zip(&batch.entities)
            .filter(|(pairing, _)| **pairing == Pairing::Negative);
        let domains: Vec<bool> = negatives
            .map(|(_, entity)| of_sequence(*entity).0 < 5)
            .collect();
        assert_eq!(domains, [example.concept.0 < 5; 2]);
    }
    // A run may learn from some domains alone.
    config.negatives.kind = NegativeKind::Hard;
    config.data.only_domains = vec!["Sign".into()];
    let trained = run(&config, &root.path().join("run")).expect("it trains");
    assert_eq!(trained.examples, 3);
    assert_eq!(
        trained
            .report
            .skipped("mention whose concept is of another domain"),
        5
    );
}

#[test]
fn hard_negatives_are_those_that_were_mined() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    (
        config.negatives.count,
        config.negatives.mine_top,
        config.negatives.hard_share,
    ) = (4, 5, 0.5);
    for (kind, drawn) in [(NegativeKind::Hard, 4), (NegativeKind::Mixed, 2)] {
        config.negatives.kind = kind;
        let start = Start::new(config.clone());
        let wrong = |example: &Example| {
            let all = (0..start.entity_inputs.rows().sequences.len() as u32).map(SequenceId);
            all.filter(|sequence| !start.entity_inputs.has(example.concept, *sequence))
                .collect::<Vec<_>>()
        };
        // As if the last six had been the nearest, of which five count.
        let hard: HardNegatives = start
            .examples
            .iter()
            .map(|example| wrong(example).into_iter().rev().take(6).collect())
            .enumerate()
            .collect();
        let places: Vec<_> = start
            .examples
            .iter()
            .take(4)
            .enumerate()
            .map(|(at, example)| (at, at, example))
            .collect();
        let batch = link_batch(&start.config, &start.entity_inputs, &places, &hard);
        let mut mined = 0;
        for (at, row) in batch.pairing.chunks_exact(batch.entities.len()).enumerate() {
            let negatives = row
                .iter()
                .zip(&batch.entities)
                .filter(|(pairing, _)| **pairing == Pairing::Negative);
            let negatives: Vec<SequenceId> = negatives.map(|(_, entity)| *entity).collect();
            let near = |sequence: &&SequenceId| hard[&at][..5].contains(sequence);
            assert_eq!(negatives.len(), 4, "{kind:?}");
            assert!(
                negatives.iter().filter(near).count() >= drawn,
                "{kind:?}: {negatives:?} of {:?}",
                hard[&at]
            );
            mined += negatives.iter().filter(near).count();
        }
        // The others of mixed ones are drawn over everything.
        assert!(kind == NegativeKind::Hard || mined < 16, "{mined}");
    }
}

#[test]
fn the_nearest_wrong_ones_are_mined() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = typed(root.path());
    config.negatives.mine_top = 2;
    for domain in [Domain::Across, Domain::Inside] {
        config.negatives.domain = domain;
        let Start {
            config,
            entity_inputs,
            model,
            examples,
            device,
        } = &Start::new(config.clone());
        let encoded_kb =
            EncodedKb::new(model, entity_inputs, device, &std::env::temp_dir()).expect("encoded");
        let numbered: Vec<(usize, &Example)> = examples.iter().enumerate().collect();
        let mined = encoded_kb
            .mine(config, entity_inputs, &numbered)
            .expect("the device works");
        let (vectors, dim) = encoded_kb.vectors();
        let mentions: Vec<&Encoded> = examples.iter().map(|example| &example.mention).collect();
        let mentions = encoded_kb
            .encode_mentions(Scorer::Dual, &mentions)
            .expect("encoded")
            .pooled;
        for (at, example) in examples.iter().enumerate() {
            let score = |sequence: u32| -> f32 {
                let entity = &vectors[sequence as usize * dim..][..dim];
                mentions[at * dim..][..dim]
                    .iter()
                    .zip(entity)
                    .map(|(a, b)| a * b)
                    .sum()
            };
            let may = |sequence: &u32| {
                let of =
                    |concept: &u32| entity_inputs.has(ConceptId(*concept), SequenceId(*sequence));
                let inside = (0..8)
                    .filter(of)
                    .any(|concept| (concept < 5) == (example.concept.0 < 5));
                !of(&example.concept.0) && (domain == Domain::Across || inside)
            };
            let mut all: Vec<u32> = (0..entity_inputs.rows().sequences.len() as u32)
                .filter(may)
                .collect();
            all.sort_by(|one, other| score(*other).total_cmp(&score(*one)));
            let found: Vec<u32> = mined[&at].iter().map(|sequence| sequence.0).collect();
            assert!(
                found.len() == 2 && found.iter().all(may),
                "{domain:?}: {found:?} of {all:?}"
            );
            // The index is of bytes.
            for (found, nearest) in found.iter().zip(&all) {
                assert!(
                    score(*nearest) - score(*found) < 0.02,
                    "{domain:?}: {found:?} of {all:?}"
                );
            }
        }
    }
}

#[test]
fn negatives_can_be_limited_to_training_domains() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = typed(root.path());
    config.data.only_domains = vec!["Sign".into()];
    (
        config.negatives.kind,
        config.negatives.count,
        config.negatives.mine_top,
    ) = (NegativeKind::Random, 3, 50);
    for (domain, others) in [(Domain::Across, true), (Domain::Trained, false)] {
        config.negatives.domain = domain;
        let mut start = Start::new(config.clone());
        let golds: Vec<ConceptId> = start
            .examples
            .iter()
            .map(|example| example.concept)
            .collect();
        start.entity_inputs.train_on(golds.iter().copied());
        let own = start.entity_inputs.domain(golds[0]);
        let is_other = |sequence: SequenceId| {
            (0..8).map(ConceptId).all(|one| {
                start.entity_inputs.domain(one) != own || !start.entity_inputs.has(one, sequence)
            })
        };
        let batch = start.batch();
        assert!(batch.pairing.contains(&Pairing::Negative));
        if !others {
            assert!(!batch.entities.iter().any(|entity| is_other(*entity)));
        }
        let Start {
            config,
            entity_inputs,
            model,
            examples,
            device,
        } = &start;
        let numbered: Vec<(usize, &Example)> = examples.iter().enumerate().collect();
        let encoded_kb =
            EncodedKb::new(model, entity_inputs, device, &std::env::temp_dir()).expect("encoded");
        let mined = encoded_kb
            .mine(config, entity_inputs, &numbered)
            .expect("the device works");
        assert!(mined.values().all(|found| !found.is_empty()));
        assert_eq!(
            mined.values().flatten().any(|sequence| is_other(*sequence)),
            others,
            "{domain:?}"
        );
    }
}

#[test]
fn run_draws_negatives_from_its_training_domains() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = typed(root.path());
    config.data.only_domains = vec!["Sign".into()];
    (config.negatives.kind, config.negatives.mine_top) = (NegativeKind::Hard, 50);
    config.optimiser.steps = Some(1);
    for (domain, others) in [(Domain::Across, true), (Domain::Trained, false)] {
        config.negatives.domain = domain;
        let out = root.path().join(format!("{domain:?}"));
        run(&config, &out).expect("it trains");
        let Start {
            entity_inputs,
            examples,
            device,
            ..
        } = Start::new(config.clone());
        let own = entity_inputs.domain(examples[0].concept);
        let (_, folder) = Checkpoints::of(&out, &config.checkpoints)
            .last()
            .expect("read")
            .expect("a checkpoint");
        let (resumed, _) = Checkpoints::load(&folder, &config, &device).expect("whole");
        let is_other = |sequence: &SequenceId| {
            (0..8)
                .map(ConceptId)
                .all(|one| entity_inputs.domain(one) != own || !entity_inputs.has(one, *sequence))
        };
        assert!(!resumed.hard.is_empty());
        assert_eq!(
            resumed.hard.values().flatten().any(is_other),
            others,
            "{domain:?}"
        );
    }
}

#[test]
fn domains_with_too_few_texts_are_named() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = typed(root.path());
    config.negatives.domain = Domain::Inside;
    let said = |config: &Config, count| {
        let mut config = config.clone();
        config.negatives.count = count;
        let start = Start::new(config);
        few_negatives(&start.config, &start.entity_inputs, &start.examples)
    };
    assert_eq!(said(&config, 1), None);
    let words = said(&config, 50).expect("none has so many");
    assert!(
        words.contains("8 examples have fewer than 50 negatives") && words.contains("Sign ("),
        "{words}"
    );
    config.negatives.domain = Domain::Across;
    assert_eq!(said(&config, 1), None);
    assert!(
        said(&config, 500).is_some_and(|words| words.contains("fewer than 500 negatives: only"))
    );
}

#[test]
fn hard_negatives_may_be_mined_once_an_epoch() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = typed(root.path());
    (
        config.negatives.kind,
        config.negatives.mine_every,
        config.optimiser.batch,
    ) = (NegativeKind::Hard, 0, 4);
    config.optimiser.steps = Some(5);
    let out = root.path().join("run");
    let trained = run(&config, &out).expect("it trains");
    assert_eq!(trained.examples, 8);
    let mined = |event: &Event| {
        if let Event::Mining { step, .. } = event {
            Some(*step)
        } else {
            None
        }
    };
    let steps: Vec<usize> = read(&out.join(METRICS))
        .expect("kept")
        .iter()
        .filter_map(mined)
        .collect();
    assert_eq!(steps, [0, 2, 4]);
}
