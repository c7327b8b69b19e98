//! Candidates of a mention: its own, the weight of spelling in their order, and those shared within
//! a document.

use pel_index::Precision;
use pel_index::lexical::Spelling;
use pel_kb::score::{Candidate, Scorer};
use pel_kb::{Concept, ConceptId};
use pel_linker::{Link, LinkOptions, Linker, Prepared, Proposals, Queries};
use pel_model::tokens::MentionTemplate;
use pel_model::tokens::View;
use pel_model::tower::Pooling;
use pel_tests::cpu;
use pel_tests::table::{Table, linker, recipe};
use pel_text::Span;
use pel_text::detect::{Detected, Origin};

const TEXT: &str = "fever, chest pain and cough with a rash of the knee";
const MENTIONS: [&str; 5] = ["fever", "chest pain", "cough", "rash", "knee"];

/// Concepts with two names each, made of pairs of words of the text.
fn concepts() -> Vec<Concept> {
    let words = ["fever", "chest", "pain", "cough", "rash", "knee", "toe"];
    let pairs = words
        .iter()
        .flat_map(|one| words.iter().map(move |other| (one, other)));
    let concept = |(at, (one, other)): (usize, (&&str, &&str))| Concept {
        id: format!("D{at}"),
        name: format!("{one} {other}"),
        synonyms: vec![format!("{other} of {one}")],
        ..Concept::default()
    };
    pairs.enumerate().map(concept).collect()
}

fn bundle(scorer: Scorer, spelling: f32) -> Linker {
    pooled(Pooling::Mean, scorer, spelling)
}

fn pooled(pooling: Pooling, scorer: Scorer, spelling: f32) -> Linker {
    let mut recipe = recipe(
        &Table {
            concepts: concepts(),
            ..Table::read()
        },
        Precision::F32,
    );
    recipe.view.concepts = View::Both;
    recipe.view.mention_template = MentionTemplate::Context;
    recipe.view.mix = 0.5;
    recipe.view.spelling = spelling;
    recipe.scorer = scorer;
    recipe.encoder.reduction.pooling = pooling;
    linker(recipe, &cpu())
}

fn prepared(linker: &Linker, mentions: &[&str]) -> (Prepared, Queries) {
    let given = mentions.iter().map(|mention| {
        let start = TEXT.find(mention).expect("there");
        Detected::new(Span::new(start, start + mention.len()), Origin::Given)
    });
    let prepared = linker
        .steps()
        .prepare(TEXT, given.collect())
        .expect("they fit");
    let queries = linker
        .steps()
        .encode(&prepared, |_| Ok(()))
        .expect("encoded");
    (prepared, queries)
}

fn links(linker: &Linker, mentions: &[&str], k: usize) -> Vec<Link> {
    let (prepared, queries) = prepared(linker, mentions);
    linker
        .steps()
        .finish(&prepared, &queries, &LinkOptions::default().k(k))
}

fn ids(candidates: &[Candidate]) -> Vec<ConceptId> {
    candidates
        .iter()
        .map(|candidate| candidate.concept)
        .collect()
}

#[test]
fn links_to_proposed_concepts_are_those_of_a_search() {
    for (scorer, spelling) in [
        (Scorer::Dual, 0.0),
        (Scorer::Dual, 0.5),
        (Scorer::SumOfMax, 0.5),
    ] {
        let linker = bundle(scorer, spelling);
        let (prepared, queries) = prepared(&linker, &MENTIONS);
        let options = LinkOptions::default().k(8);
        assert!(linker.steps().proposals(&options) >= 8);
        // Every concept twice, in another order than that of the scores.
        let count = concepts().len() as u32;
        let all: Vec<ConceptId> = (0..count).rev().chain(0..count).map(ConceptId).collect();
        let mut proposals = Proposals {
            concepts: vec![all; prepared.sequences().len()],
            types: Vec::new(),
        };
        let found = linker
            .steps()
            .finish_with(&prepared, &queries, &options, &proposals);
        // A search takes the best row of a concept before it scores it finely, so the last digits
        // differ.
        for (found, searched) in found
            .iter()
            .zip(linker.steps().finish(&prepared, &queries, &options))
        {
            assert_eq!(ids(&found.candidates), ids(&searched.candidates));
            for (one, other) in found.candidates.iter().zip(&searched.candidates) {
                assert!((one.score - other.score).abs() < 1e-3, "{one:?} {other:?}");
            }
            assert_eq!(
                std::mem::discriminant(&found.decision),
                std::mem::discriminant(&searched.decision)
            );
        }
        assert!(found.iter().all(|link| link.candidates.len() == 8));
        proposals.types = vec!["Finding".to_owned()];
        let typed = linker
            .steps()
            .finish_with(&prepared, &queries, &options, &proposals);
        assert!(typed.iter().all(|link| link.candidates.is_empty()));
    }
}

#[test]
fn a_quarter_of_the_places_is_for_shared_candidates() {
    let mut came = 0;
    for (scorer, spelling) in [
        (Scorer::Dual, 0.0),
        (Scorer::Dual, 0.5),
        (Scorer::SumOfMax, 0.5),
    ] {
        let linker = bundle(scorer, spelling);
        let together = links(&linker, &MENTIONS, 8);
        for (mention, link) in MENTIONS.iter().zip(&together) {
            let [alone, all] = [8, 49].map(|k| links(&linker, &[mention], k).remove(0));
            assert_eq!(
                (link.candidates.len(), ids(&link.candidates[..6])),
                (8, ids(&alone.candidates[..6])),
                "{mention}"
            );
            assert!(
                link.candidates.is_sorted_by(|a, b| a.rank(b).is_lt()),
                "{link:?}"
            );
            assert_eq!(link.decision, alone.decision);
            // The two best concepts of other mentions that are not among the six, with the
            // mention's own scores.
            let mut best: Vec<Candidate> = together.iter().map(|link| link.candidates[0]).collect();
            best.sort_by(Candidate::rank);
            let mut wanted: Vec<ConceptId> = Vec::new();
            for id in ids(&best) {
                if !wanted.contains(&id)
                    && !ids(&link.candidates[..6]).contains(&id)
                    && wanted.len() < 2
                {
                    wanted.push(id);
                }
            }
            for id in &wanted {
                let found = link
                    .candidates
                    .iter()
                    .find(|candidate| candidate.concept == *id)
                    .expect("has come");
                let own = all
                    .candidates
                    .iter()
                    .find(|candidate| candidate.concept == *id)
                    .expect("all are there");
                assert!((found.score - own.score).abs() < 1e-5, "{found:?} {own:?}");
            }
            came += ids(&link.candidates)
                .iter()
                .filter(|id| !ids(&alone.candidates).contains(id))
                .count();
            let few = links(&linker, &MENTIONS, 7);
            let at = MENTIONS
                .iter()
                .position(|other| other == mention)
                .expect("there");
            assert_eq!(
                ids(&few[at].candidates),
                ids(&alone.candidates[..7]),
                "short lists share no candidates"
            );
        }
    }
    assert!(came > 0, "no candidate was shared");
}

#[test]
fn candidates_are_shared_within_a_text_also_across_parts() {
    let linker = bundle(Scorer::Dual, 0.25);
    let options = LinkOptions::default().k(8);
    let whole = links(&linker, &MENTIONS, 8);
    let joined = Prepared::join(
        [&MENTIONS[..], &MENTIONS[..1]].map(|mentions| prepared(&linker, mentions).0),
    );
    let found = linker.steps().finish(
        &joined,
        &linker.steps().encode(&joined, |_| Ok(())).expect("encoded"),
        &options,
    );
    assert_eq!(found[..5], whole[..]);
    assert_eq!(found[5..], links(&linker, &MENTIONS[..1], 8)[..]);

    let (all, _) = prepared(&linker, &MENTIONS);
    let parts = all.split(&[vec![3, 1], vec![0], vec![4, 2]]);
    let (mut done, mut queries, mut places) = (Vec::new(), Queries::default(), Vec::new());
    for part in parts {
        let vectors = linker
            .steps()
            .encode(&part.prepared, |_| Ok(()))
            .expect("encoded");
        queries.extend(vectors);
        places.extend(part.places);
        done.push(part.prepared);
    }
    let links = linker
        .steps()
        .finish(&Prepared::join(done).of_one_text(), &queries, &options);
    for (place, link) in places.into_iter().zip(&links) {
        assert_eq!(*link, whole[place]);
    }
}

#[test]
fn spelling_has_its_weight_in_every_score() {
    for (pooling, scorer) in [
        (Pooling::Mean, Scorer::Dual),
        (Pooling::Mention, Scorer::Dual),
        (Pooling::Mean, Scorer::SumOfMax),
        (Pooling::Mention, Scorer::SumOfMax),
    ] {
        let (plain, spelled) = (pooled(pooling, scorer, 0.0), pooled(pooling, scorer, 0.25));
        let [before, after] = [&plain, &spelled]
            .map(|linker| links(linker, &["chest pain"], 49).remove(0).candidates);
        assert_eq!((before.len(), after.len()), (49, 49));
        // The score of an identical text: each compared token has a cosine of 1.
        let sequence = prepared(&spelled, &["chest pain"]).0.sequences()[0].clone();
        assert!(
            sequence.own.len() < sequence.ids.len(),
            "a mention in its context"
        );
        let highest = match (scorer, pooling) {
            (Scorer::Dual, _) => 1.0,
            (Scorer::SumOfMax, Pooling::Mention) => sequence.own.len() as f32,
            (Scorer::SumOfMax, _) => sequence.ids.len() as f32,
        };
        let mention = Spelling::new("chest pain");
        let nearest = |concept: &Concept| {
            let nearest = mention.nearest_name(concept.names());
            nearest.map_or(0.0, |(overlap, _)| overlap)
        };
        for candidate in &after {
            let own = before
                .iter()
                .find(|other| other.concept == candidate.concept)
                .expect("all are there")
                .score;
            let concept = spelled.concept(candidate.concept).expect("there");
            // A concept with the mention's exact name comes first, whatever its vectors.
            if concept.names().any(|name| name == "chest pain") {
                assert!(candidate == &after[0], "{pooling:?} {scorer:?}");
                continue;
            }
            let overlap = nearest(&concept);
            let expected = 0.75 * own + 0.25 * highest * overlap * overlap;
            assert!(
                (candidate.score - expected).abs() < 1e-5 * highest,
                "{pooling:?} {scorer:?}"
            );
        }
        assert!(after.is_sorted_by(|a, b| a.rank(b).is_lt()));
        let first = spelled.concept(after[0].concept).expect("there");
        assert!(
            scorer != Scorer::Dual || nearest(&first) == 1.0,
            "{}",
            first.name
        );
    }

    let mut linker = bundle(Scorer::Dual, 0.0);
    for share in [-0.1, 1.5, f32::NAN] {
        let error = linker
            .settings()
            .set_spelling(share)
            .expect_err("no share")
            .to_string();
        assert!(
            error.contains("`spelling`: expected a weight from 0 to 1"),
            "{error}"
        );
    }
}
