//! A mention that is plainly the name of one concept is linked without the encoder.

use pel_index::Precision;
use pel_kb::Concept;
use pel_linker::{Link, LinkOptions, Linker};
use pel_model::nil::{Decision, Feature, NameModel, NilPolicy, ProbabilityModel};
use pel_model::tokens::{MentionTemplate, View};
use pel_tests::cpu;
use pel_tests::table::{Table, linker, recipe};
use pel_text::Span;
use pel_text::detect::{Detected, Origin};

const TEXT: &str = "fever and cough, rashes, PRS and cold";

fn concept(id: &str, name: &str) -> Concept {
    Concept {
        id: id.into(),
        name: name.into(),
        types: vec!["Sign or symptom".into()],
        ..Concept::default()
    }
}

/// "cold" is a name of two concepts, "PRS" a short form.
fn opened(plain_names: Option<NameModel>) -> Linker {
    let concepts = vec![
        concept("S1", "fever"),
        concept("S2", "cough"),
        concept("S3", "rash"),
        concept("S4", "PRS"),
        concept("S5", "cold"),
        Concept {
            synonyms: vec!["cold".into()],
            ..concept("S6", "rhinitis")
        },
    ];
    let table = Table {
        concepts,
        ..Table::read()
    };
    let mut recipe = recipe(&table, Precision::F32);
    recipe.view.concepts = View::Both;
    recipe.view.mention_template = MentionTemplate::Context;
    recipe.view.mix = 0.5;
    recipe.nil = NilPolicy {
        threshold: Some(0.5),
        probability: Some(ProbabilityModel {
            weights: [(Feature::Score, 1.0)].into(),
            prior: 0.5,
            plain_names,
            ..ProbabilityModel::default()
        }),
        ..NilPolicy::default()
    };
    linker(recipe, &cpu())
}

/// A name of the kind that was read has the log odds 2, of another one −2.
fn names() -> NameModel {
    NameModel {
        weights: [(Feature::PreferredName, 2.0)].into(),
        intercept: 0.0,
    }
}

fn mentions(origin: Origin) -> Vec<Detected> {
    ["fever", "cough", "rashes", "PRS", "cold"]
        .into_iter()
        .map(|words| {
            let start = TEXT.find(words).expect("there");
            Detected::new(Span::new(start, start + words.len()), origin)
        })
        .collect()
}

/// The links, and the number of sequences that were encoded.
fn linked(linker: &Linker, origin: Origin) -> (Vec<Link>, usize) {
    let prepared = linker
        .steps()
        .prepare(TEXT, mentions(origin))
        .expect("they fit");
    let queries = linker
        .steps()
        .encode(&prepared, |_| Ok(()))
        .expect("encoded");
    let sequences = prepared.sequences().len();
    let links = linker
        .steps()
        .finish(&prepared, &queries, &LinkOptions::default());
    (links, sequences)
}

#[test]
fn plain_names_are_linked_without_the_encoder() {
    let (links, sequences) = linked(&opened(Some(names())), Origin::Name);
    // The short form and the name of two concepts.
    assert_eq!(sequences, 2);
    let expected = 1.0 / (1.0 + (-2f32).exp());
    for link in &links[..2] {
        assert!(matches!(link.decision, Decision::Linked { .. }), "{link:?}");
        assert_eq!((link.candidates.len(), link.candidates[0].score), (1, 1.0));
        let probability = link.probability.expect("one");
        assert!((probability - expected).abs() < 1e-6, "{probability}");
    }
    // The plural is a name, but not the preferred one as it stands in the table.
    assert_eq!(links[2].candidates.len(), 1);
    for link in &links[3..] {
        assert!(link.candidates.len() > 1, "{link:?}");
    }
}

#[test]
fn searching_plain_names_gives_them_candidates_and_the_same_probability() {
    let mut linker = opened(Some(names()));
    let (alone, _) = linked(&linker, Origin::Name);
    linker.settings().set_search_names(true);
    let (searched, sequences) = linked(&linker, Origin::Name);
    assert_eq!(sequences, 5);
    for (alone, searched) in alone.iter().zip(&searched).take(3) {
        assert!(searched.candidates.len() > 1);
        assert_eq!(alone.probability, searched.probability);
        assert_eq!(alone.candidates[0].concept, searched.candidates[0].concept);
    }
}

#[test]
fn given_mentions_and_bundles_without_probabilities_of_names_are_searched() {
    let (_, given) = linked(&opened(Some(names())), Origin::Given);
    let (_, without) = linked(&opened(None), Origin::Name);
    assert_eq!((given, without), (5, 5));
}
