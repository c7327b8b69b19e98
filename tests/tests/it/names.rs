//! A mention that is a name of concepts: they are candidates in every kind of bundle, and one of
//! them is linked.

use pel_corpora::indexing::Recipe;
use pel_index::{HnswOptions, Precision};
use pel_kb::score::{Scorer, Similarity};
use pel_kb::{Concept, ConceptId, KnowledgeBase};
use pel_linker::{Link, LinkOptions, Linker};
use pel_model::nil::Decision;
use pel_model::tokens::MentionTemplate;
use pel_model::tokens::View;
use pel_model::tower::Side;
use pel_notes::link::link;
use pel_terminologies::import::report::Report;
use pel_tests::cpu;
use pel_tests::table::{Table, linker, recipe};
use pel_text::Span;
use pel_text::detect::{Detected, Origin};

const TEXT: &str = "severe chest pain since this morning, qrz 2.3, no fever";

fn concept(at: usize, name: &str, synonyms: &[&str]) -> Concept {
    let synonyms = synonyms.iter().map(|name| (*name).to_owned()).collect();
    Concept {
        id: format!("N{at}"),
        name: name.into(),
        synonyms,
        types: vec!["Sign".into()],
        ..Concept::default()
    }
}

/// Many concepts that share words with [`TEXT`]; 3 have the synonym `qrz` and nothing else in
/// common with it.
fn table() -> KnowledgeBase {
    let mut kb = KnowledgeBase::new();
    for at in 0..60 {
        let name = format!("severe chest pain since this morning no fever {at}");
        kb.push(concept(at, &name, &[])).expect("unique");
    }
    for (at, name) in ["toe", "arm of the toe", "cold toe"]
        .into_iter()
        .enumerate()
    {
        kb.push(concept(60 + at, name, &["qrz"])).expect("unique");
    }
    kb
}

fn recipes() -> Vec<(String, Recipe)> {
    let mut all = Vec::new();
    for view in [View::Names, View::Template, View::Both] {
        for template in [MentionTemplate::Bare, MentionTemplate::Context] {
            for score in [Similarity::Cosine, Similarity::Dot] {
                for scorer in [Scorer::Dual, Scorer::SumOfMax] {
                    for hnsw in [None, Some(HnswOptions::default())] {
                        let mut recipe = recipe(&Table::read(), Precision::F32);
                        recipe.kb = table();
                        (recipe.hnsw, recipe.scorer) = (hnsw, scorer);
                        recipe.view.concepts = view;
                        recipe.view.mention_template = template;
                        if view == View::Both {
                            recipe.view.mix = 0.5;
                        }
                        if score == Similarity::Cosine {
                            recipe.view.spelling = 0.15;
                        }
                        recipe.encoder.reduction.score = score;
                        // Unreachable for any score.
                        recipe.nil.threshold = Some(1e9);
                        all.push((
                            format!(
                                "{view:?} {template:?} {score:?} {scorer:?} {}",
                                hnsw.is_some()
                            ),
                            recipe,
                        ));
                    }
                }
            }
        }
    }
    all
}

fn of(linker: &Linker, mention: &str, k: usize) -> Link {
    let start = TEXT.find(mention).expect("it is there");
    let given = vec![Detected::new(
        Span::new(start, start + mention.len()),
        Origin::Given,
    )];
    link(linker, TEXT, given, &LinkOptions::default().k(k))
        .expect("linked")
        .remove(0)
}

fn ids(found: &Link) -> Vec<u32> {
    found
        .candidates
        .iter()
        .map(|candidate| candidate.concept.0)
        .collect()
}

#[test]
fn exact_names_are_candidates_in_every_bundle_and_one_is_linked() {
    for (name, recipe) in recipes() {
        let linker = linker(recipe, &cpu());
        for k in [1, 2, 4, 8, 20] {
            let found = of(&linker, "qrz", k);
            let named: Vec<u32> = ids(&found).into_iter().filter(|id| *id >= 60).collect();
            // With k of 1 or 2 the best of all may take a place.
            assert!(
                found.candidates.len() == k && named.len() >= k.min(3) - usize::from(k == 2),
                "{name} {k}: {found:?}"
            );
            assert!(
                matches!(found.decision, Decision::Linked { best } if best.concept.0 >= 60),
                "{name} {k}: {found:?}"
            );
            assert!(
                found.named && found.candidates[0].concept.0 >= 60,
                "{name} {k}: {found:?}"
            );
            assert!(
                found.candidates.is_sorted_by(|a, b| a.rank(b).is_le()),
                "{name} {k}: {found:?}"
            );
            assert_eq!(found, of(&linker, "qrz", k), "{name} {k}");
        }
        // Other mentions are decided by their score.
        assert!(
            matches!(of(&linker, "morning", 4).decision, Decision::Nil { .. }),
            "{name}"
        );
    }
}

#[test]
fn of_two_concepts_with_one_name_the_text_chooses() {
    let mut recipe = recipe(&Table::read(), Precision::F32);
    let mut kb = KnowledgeBase::new();
    for (at, name) in ["strabismus", "strabismus", "fever", "cough", "headache"]
        .into_iter()
        .enumerate()
    {
        let kind = if at == 0 { "Disease" } else { "Sign" };
        let types = vec![kind.to_owned()];
        kb.push(Concept {
            types,
            ..concept(at, name, &[])
        })
        .expect("unique");
    }
    recipe.kb = kb;
    recipe.view.concepts = View::Names;
    let linker = linker(recipe, &cpu());
    let text = "strabismus, fever, cough and headache";
    let given = |span| Detected::new(span, Origin::Given);
    let first = |mentions: Vec<Detected>| {
        let links = link(&linker, text, mentions, &LinkOptions::default()).expect("spans fit");
        links[0].candidates[0].concept
    };
    let alone = vec![given(Span::new(0, 10))];
    let together = [0..10, 12..17, 19..24, 29..37]
        .map(|span| given(Span::new(span.start, span.end)))
        .to_vec();
    // Equal scores are in the order of concepts.
    assert_eq!(first(alone), ConceptId(0));
    assert_eq!(first(together), ConceptId(1));
}

#[test]
fn misspelt_name_is_the_first_candidate_at_any_length_of_the_list() {
    let mut recipe = recipe(&Table::read(), Precision::F32);
    let mut kb = table();
    for (at, name) in ["pneumonia", "neuropathy"].into_iter().enumerate() {
        kb.push(concept(70 + at, name, &[])).expect("unique");
    }
    recipe.kb = kb;
    recipe.view.spelling = 0.15;
    let linker = linker(recipe, &cpu());
    let text = "treated for pnuemonia, no nervousness";
    for k in [1, 5, 64] {
        let links = link(
            &linker,
            text,
            vec![
                Detected::new(Span::new(12, 21), Origin::Given),
                Detected::new(Span::new(26, 37), Origin::Given),
            ],
            &LinkOptions::default().k(k),
        )
        .expect("the spans are in the text");
        let first = links[0].candidates[0];
        assert_eq!(linker.concept(first.concept).expect("it exists").id, "N70");
        assert!(first.score > 0.7, "{first:?}");
        // English words are not misspelt.
        assert!(links[1].candidates.iter().all(|one| one.score < 1.0));
    }
    let detected = |span| vec![Detected::new(span, Origin::Given)];
    let prepared = |start, end| {
        linker
            .steps()
            .prepare(text, detected(Span::new(start, end)))
            .expect("the span is in the text")
    };
    assert_eq!(prepared(12, 21).misspelt(0).len(), 1);
    assert_eq!(prepared(12, 21).misspelt(0)[0].edits, 1);
    assert!(prepared(26, 37).misspelt(0).is_empty());
    assert!(prepared(26, 37).misspelt(1).is_empty());
}

#[test]
fn added_concept_with_the_exact_name_is_a_candidate() {
    for (name, recipe) in recipes() {
        let mut linker = linker(recipe, &cpu());
        let added = Concept {
            id: "X1".into(),
            ..concept(0, "hip", &["severe chest"])
        };
        let tokenized = linker
            .steps()
            .tokenize_concepts(vec![added], &mut Report::default())
            .expect("new");
        let vectors = linker
            .steps()
            .encoder()
            .encode_for(
                linker.steps().scorer(),
                Side::Entity,
                &tokenized.rows.iter().collect::<Vec<_>>(),
            )
            .expect("encoded");
        linker
            .settings()
            .add_concepts(tokenized, &vectors)
            .expect("new");
        for k in [1, 3, 8] {
            let found = of(&linker, "severe chest", k);
            assert_eq!(
                (ids(&found)[0], found.named),
                (63, true),
                "{name} {k}: {found:?}"
            );
            assert!(
                matches!(found.decision, Decision::Linked { best } if best.concept == ConceptId(63)),
                "{name} {k}"
            );
        }
    }
}

#[test]
fn concepts_with_equal_names_are_ordered_by_score_then_index() {
    // Equal names with different definitions, which are part of the template.
    let mut recipe = recipe(&Table::read(), Precision::F32);
    let mut kb = KnowledgeBase::new();
    for (at, definition) in [
        "a toe that is cold",
        "pain in the chest",
        "pain in the chest",
    ]
    .into_iter()
    .enumerate()
    {
        let twin = Concept {
            definition: Some(definition.into()),
            ..concept(at, "qrz", &[])
        };
        kb.push(twin).expect("unique");
    }
    recipe.kb = kb;
    recipe.view.concepts = View::Template;
    recipe.view.mention_template = MentionTemplate::Context;
    recipe.nil.threshold = Some(1e9);
    let linker = linker(recipe, &cpu());
    let found = of(&linker, "qrz", 3);
    let score = |id: u32| {
        found
            .candidates
            .iter()
            .find(|one| one.concept.0 == id)
            .expect("a candidate")
            .score
    };
    assert_eq!(score(1), score(2));
    assert!(score(0) != score(1), "{found:?}");
    assert_eq!(
        ids(&found),
        if score(0) > score(1) {
            [0, 1, 2]
        } else {
            [1, 2, 0]
        }
    );
}
