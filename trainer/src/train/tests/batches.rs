//! Which concepts a mention is pushed away from.

use super::super::batch::{LinkBatch, Pairing, rank_batch};
use super::super::config::{Config, Domain, DomainOf, NegativeKind};
use super::super::examples::Example;
use super::super::survey::Survey;
use super::methods::{lists, ranking};
use super::steps::Start;
use super::{run, world};
use pel_shared::bundle::View;
use pel_shared::kb::ConceptId;
use std::path::Path;

/// `world` with a concept D9 that has the very texts of D1.
fn with_twin(folder: &Path) -> Config {
    let config = world(folder);
    let kb = std::fs::read_to_string(folder.join("kb.jsonl")).expect("read");
    let twin = kb.lines().next().expect("D1").replace("\"D1\"", "\"D9\"");
    std::fs::write(folder.join("kb.jsonl"), format!("{kb}{twin}\n")).expect("written");
    config
}

/// Asserts that no mention is pushed away from a text of its own concept, and gives how many negatives there are in all.
fn negatives(start: &Start, batch: &LinkBatch<'_>) -> usize {
    let mut all = 0;
    for (mention, entity, pairing) in batch.pairs() {
        let own = start.catalogue.has(batch.mentions[mention].concept, batch.entities[entity]);
        assert_eq!(own, pairing == Pairing::Positive, "{}", batch.mentions[mention].place);
        all += usize::from(!own);
    }
    all
}

#[test]
fn a_twin_of_the_right_concept_is_no_negative() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = with_twin(root.path());
    config.negatives.count = 8;
    for kind in [NegativeKind::None, NegativeKind::Random] {
        (config.negatives.kind, config.negatives.in_batch) = (kind, true);
        let mut start = Start::new(config.clone());
        // The second mention means the twin.
        start.examples[1].concept = ConceptId(8);
        let batch = start.batch();
        assert!(batch.mentions[0].concept == ConceptId(0) && negatives(&start, &batch) >= 4, "{kind:?}");
    }
    // Mined, however many are asked for.
    (config.negatives.kind, config.negatives.in_batch, config.negatives.mine_top) = (NegativeKind::Hard, false, 50);
    let Start { config, catalogue, model, examples, device } = &Start::new(config);
    let of = |concept| catalogue.sequences_of(ConceptId(concept));
    assert!(of(0).eq(of(8)));
    let numbered: Vec<(usize, &Example)> = examples.iter().enumerate().collect();
    let mined =
        Survey::new(model, catalogue, device).and_then(|survey| survey.mine(config, model, catalogue, &numbered));
    let mined = mined.expect("the device works");
    assert_eq!(mined[&0].len(), catalogue.rows().sequences.len() - of(0).len());
    assert!(mined[&0].iter().all(|sequence| !catalogue.has(ConceptId(8), *sequence)));
}

#[test]
fn a_listed_twin_is_no_negative() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = with_twin(root.path());
    config.view.concepts = View::Template;
    // The right one is second, the twin of the first mention's third.
    let text = std::fs::read_to_string(lists(root.path(), "train", "")).expect("read").replace("\"D3\"", "\"D9\"");
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
    let batch = rank_batch(&start.catalogue, &examples).expect("they have candidates");
    let rows: Vec<&[Pairing]> = batch.pairing.chunks_exact(4).collect();
    let (yes, no, apart) = (Pairing::Positive, Pairing::Negative, Pairing::Apart);
    assert_eq!(rows, [[no, yes, apart, no], [no, yes, no, no]]);
    assert_eq!(batch.pairs.len(), 7);
}

#[test]
fn a_mention_may_meet_no_negative() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    (config.negatives.kind, config.negatives.in_batch) = (NegativeKind::None, true);
    let mut start = Start::new(config);
    start.examples.iter_mut().for_each(|example| example.concept = ConceptId(0));
    let batch = start.batch();
    assert_eq!((batch.without_negatives(), negatives(&start, &batch)), (4, 0));
    let loss = start.loss(None);
    assert!(loss.is_finite() && loss >= 0.0, "{loss}");
}

#[test]
fn negatives_stay_inside_the_domain_of_the_right_concept() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    let kb = std::fs::read_to_string(root.path().join("kb.jsonl")).expect("read");
    // The first five are of one type, the others of another.
    let typed = kb.lines().enumerate().map(|(at, line)| {
        let kind = if at < 5 { "Finding" } else { "Sign" };
        line.replace("Finding", kind) + "\n"
    });
    std::fs::write(root.path().join("kb.jsonl"), typed.collect::<String>()).expect("written");
    config.data.domains = DomainOf::Type;
    (config.negatives.kind, config.negatives.domain, config.negatives.count) =
        (NegativeKind::Random, Domain::Inside, 2);
    let start = Start::new(config.clone());
    let batch = start.batch();
    let of_sequence = |sequence| {
        let own = |concept: &ConceptId| start.catalogue.has(*concept, sequence);
        (0..8).map(ConceptId).find(own).expect("somebody's")
    };
    for (row, example) in batch.pairing.chunks_exact(batch.entities.len()).zip(&batch.mentions) {
        let negatives = row.iter().zip(&batch.entities).filter(|(pairing, _)| **pairing == Pairing::Negative);
        let domains: Vec<bool> = negatives.map(|(_, entity)| of_sequence(*entity).0 < 5).collect();
        assert_eq!(domains, [example.concept.0 < 5; 2]);
    }
    // Mined ones do too, and a run may learn from some domains alone.
    config.negatives.kind = NegativeKind::Hard;
    config.data.only_domains = vec!["Sign".into()];
    let trained = run(&config, &root.path().join("run")).expect("it trains");
    assert_eq!(trained.examples, 3);
    assert_eq!(trained.report.skipped("mention whose concept is of another domain"), 5);
}
