//! Sum-of-Max through a bundle, on every device.

use bytes::Bytes;
use pel_artifacts::device::OpenDevice;
use pel_corpora::indexing::{Recipe, build};
use pel_index::{HnswOptions, Precision, TokenStore, TokenStoreBuilder};
use pel_io::resume::WorkFolder;
use pel_kb::container::Check;
use pel_kb::score::{Candidate, Scorer};
use pel_kb::{Concept, ConceptId};
use pel_linker::bundle::{Bundle, OLDEST_FORMAT, Parts, names};
use pel_linker::{LinkOptions, Linker};
use pel_model::encode::Encodings;
use pel_model::nil::{Decision, NilReason};
use pel_model::tokens::View;
use pel_model::tokens::{Encoded, MentionTemplate};
use pel_model::tower::{Pooling, Side};
use pel_notes::link::link;
use pel_terminologies::import::report::Report;
use pel_tests::table::{Table, built, linker, recipe};
use pel_tests::{cpu, devices, sealed};
use pel_text::Span;
use pel_text::detect::{Detected, Origin};

const TEXTS: [&str; 4] = [
    "fever",
    "severe chest pain",
    "pyrexia of the toe",
    "chest pains since this morning",
];

fn with_tokens(view: View) -> Recipe {
    let mut recipe = recipe(&Table::read(), Precision::F32);
    recipe.scorer = Scorer::SumOfMax;
    recipe.view.concepts = view;
    recipe.nil.threshold = None;
    recipe
}

fn parts(recipe: Recipe) -> Parts {
    built(recipe, &cpu())
}

/// A text as a single mention.
fn whole(text: &str) -> Vec<Detected> {
    vec![Detected::new(Span::new(0, text.len()), Origin::Given)]
}

/// Equation 5 as a loop over floats.
fn by_loops(mention: &[f32], text: &[f32], dim: usize) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let nearest = |t: &[f32]| {
        text.chunks_exact(dim)
            .map(|u| dot(t, u))
            .fold(f32::MIN, f32::max)
    };
    mention.chunks_exact(dim).map(nearest).sum()
}

/// The score of each concept's best row, in concept order.
fn expected(linker: &Linker, mention: &Encoded) -> Vec<Candidate> {
    let (bundle, encoder) = (linker.bundle(), linker.steps().encoder());
    let tokens = encoder
        .encode_tokens(Side::Mention, &[mention])
        .expect("encoded")
        .remove(0);
    let score = |at: u32| {
        let concept = bundle.concepts.get(ConceptId(at)).expect("there");
        let rows = bundle
            .manifest
            .view
            .rows(&bundle.tokens, &concept)
            .expect("tokenized");
        let rows = encoder
            .encode_tokens(Side::Entity, &rows.iter().collect::<Vec<_>>())
            .expect("encoded");
        let scores = rows.iter().map(|row| by_loops(&tokens, row, encoder.dim()));
        Candidate {
            concept: ConceptId(at),
            score: scores.fold(f32::MIN, f32::max),
        }
    };
    (0..bundle.concepts.len() as u32).map(score).collect()
}

#[test]
fn bundle_search_equals_loops_and_exact_search() {
    for (name, device) in devices() {
        let device = OpenDevice { device, name };
        for (view, hnsw) in [
            (View::Names, None),
            (View::Both, Some(HnswOptions::default())),
        ] {
            let linker = linker(
                Recipe {
                    hnsw,
                    ..with_tokens(view)
                },
                &device,
            );
            assert_eq!(linker.steps().scorer(), Scorer::SumOfMax);
            for text in TEXTS {
                let prepared = linker.steps().prepare(text, whole(text)).expect("it fits");
                let queries = linker
                    .steps()
                    .encode(&prepared, |_| Ok(()))
                    .expect("encoded");
                let sequence = &prepared.sequences()[0];
                let mut found = linker.steps().search(1, &queries, 99).remove(0);
                // The first pass includes all concepts.
                assert_eq!(
                    found,
                    linker.steps().search_exact(1, &queries, 99).remove(0),
                    "{text}"
                );
                assert!(
                    found.is_sorted_by(|a, b| a.rank(b).is_le()),
                    "{text}: {found:?}"
                );
                found.sort_by_key(|candidate| candidate.concept);
                let expected = expected(&linker, sequence);
                assert_eq!(found.len(), expected.len(), "{text}");
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found.concept, expected.concept);
                    // Both factors are rounded to int8.
                    let most = 0.02 * sequence.ids.len() as f32;
                    assert!(
                        (found.score - expected.score).abs() < most,
                        "{text}: {found:?}, by loops {expected:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn one_pass_gives_vectors_and_token_vectors() {
    for (name, device) in devices() {
        let linker = linker(with_tokens(View::Names), &OpenDevice { device, name });
        let rows: Vec<Encoded> = TEXTS
            .iter()
            .flat_map(|text| {
                linker
                    .steps()
                    .prepare(text, whole(text))
                    .expect("it fits")
                    .sequences()
                    .to_vec()
            })
            .collect();
        let rows: Vec<&Encoded> = rows.iter().collect();
        let Encodings { pooled, tokens } = linker
            .steps()
            .encoder()
            .encode_for(linker.steps().scorer(), Side::Mention, &rows)
            .expect("encoded");
        let alone = linker
            .steps()
            .encoder()
            .encode(Side::Mention, &rows)
            .expect("encoded");
        assert!(
            pooled.iter().zip(&alone).all(|(a, b)| (a - b).abs() < 1e-5)
                && pooled.len() == alone.len()
        );
        let tokens = tokens.expect("requested");
        let lengths: Vec<usize> = tokens
            .iter()
            .map(|tokens| tokens.len() / linker.steps().encoder().dim())
            .collect();
        assert_eq!(
            lengths,
            rows.iter().map(|row| row.ids.len()).collect::<Vec<_>>()
        );
    }
}

#[test]
fn mention_pooling_compares_only_the_mentions_tokens() {
    let text = "since monday severe chest pain";
    for (name, device) in devices() {
        let device = OpenDevice { device, name };
        let tokens = |pooling: Pooling| {
            let mut recipe = with_tokens(View::Names);
            recipe.view.mention_template = MentionTemplate::Context;
            recipe.encoder.reduction.pooling = pooling;
            let linker = linker(recipe, &device);
            let mention = vec![Detected::new(Span::new(13, text.len()), Origin::Given)];
            let sequence = linker
                .steps()
                .prepare(text, mention)
                .expect("it fits")
                .sequences()[0]
                .clone();
            let vectors = linker
                .steps()
                .encoder()
                .encode_tokens(Side::Mention, &[&sequence])
                .expect("encoded")
                .remove(0);
            (sequence, vectors, linker.steps().encoder().dim())
        };
        let ((sequence, all, dim), (_, own, _)) = (tokens(Pooling::Mean), tokens(Pooling::Mention));
        assert!(sequence.own.start > 2 && all.len() == sequence.ids.len() * dim);
        assert_eq!(own, all[sequence.own.start * dim..sequence.own.end * dim]);
    }
}

#[test]
fn bundle_without_token_vectors_refuses_sum_of_max() {
    let plain = parts(recipe(&Table::read(), Precision::F32));
    let manifest: serde_json::Value =
        serde_json::from_slice(&plain.0[names::MANIFEST]).expect("JSON");
    assert_eq!(manifest["format"], OLDEST_FORMAT);
    assert!(manifest.get("token_vectors").is_none() && !plain.0.contains_key(names::TOKEN_VECTORS));
    // All other files of a bundle with token vectors are equal.
    let more = parts(Recipe {
        scorer: Scorer::SumOfMax,
        ..recipe(&Table::read(), Precision::F32)
    });
    for (name, bytes) in plain.0.iter().filter(|(name, _)| *name != names::MANIFEST) {
        assert_eq!(Some(bytes), more.0.get(name), "{name}");
    }
    let bundle = Bundle::read(more).expect("whole");
    assert_eq!(
        (bundle.manifest.format, bundle.scorer()),
        (OLDEST_FORMAT, Scorer::SumOfMax)
    );

    let mut linker =
        Linker::new(Bundle::read(plain).expect("whole"), &cpu().device).expect("it fits");
    assert_eq!(linker.steps().scorer(), Scorer::Dual);
    let message = linker
        .settings()
        .set_scorer(Scorer::SumOfMax)
        .expect_err("there are none")
        .to_string();
    assert!(
        message.contains("token_vectors.bin") && message.contains("pel index --scorer sum-of-max"),
        "{message}"
    );
    assert!(linker.bundle().manifest.nil.threshold.is_some());
    linker
        .settings()
        .set_scorer(Scorer::Dual)
        .expect("it is so already");
    assert!(linker.bundle().manifest.nil.threshold.is_some());
}

#[test]
fn packed_bundle_keeps_token_vectors() {
    let whole = parts(with_tokens(View::Names));
    let one = Bytes::from(whole.to_one_file().expect("it can be written"));
    let again = Bundle::read(Parts::from_one_file(&one).expect("whole")).expect("whole");
    assert_eq!(again.parts().0, whole.0);
    let info = again.token_vectors.expect("there").info().clone();
    assert_eq!(Some(info), again.manifest.token_vectors);
}

#[test]
fn error_names_the_damaged_token_file() {
    let whole = parts(with_tokens(View::Names));
    let refused = |change: &dyn Fn(&mut Parts)| {
        let mut parts = whole.clone();
        change(&mut parts);
        Bundle::read(parts)
            .map(drop)
            .expect_err("damaged")
            .to_string()
    };
    let tokens = whole.0[names::TOKEN_VECTORS].clone();
    let put = |parts: &mut Parts, bytes: Vec<u8>| {
        parts.0.insert(names::TOKEN_VECTORS.into(), bytes.into())
    };
    let altered = refused(&|parts| {
        let mut bytes = tokens.to_vec();
        *bytes.last_mut().expect("bytes") ^= 1;
        put(parts, bytes);
    });
    assert!(
        altered.contains("`token_vectors.bin` has been altered"),
        "{altered}"
    );
    let cut = refused(&|parts| drop(put(parts, tokens[..tokens.len() - 64].to_vec())));
    assert!(cut.contains("`token_vectors.bin` has been cut"), "{cut}");
    let gone = refused(&|parts| drop(parts.0.remove(names::TOKEN_VECTORS)));
    assert!(gone.contains("no `token_vectors.bin`"), "{gone}");

    // A valid file of another bundle contradicts the manifest or the index.
    let other = |rows: usize, dim: usize| {
        let mut store = TokenStoreBuilder::new(dim);
        (0..rows).for_each(|at| store.push(ConceptId(at as u32), &vec![1.0; dim]));
        Bytes::from(store.finish().expect("in order"))
    };
    let with = |store: Bytes, described: bool| {
        refused(&|parts| {
            let mut manifest: serde_json::Value =
                serde_json::from_slice(&parts.0[names::MANIFEST]).expect("JSON");
            parts.0.insert(names::TOKEN_VECTORS.into(), store.clone());
            manifest["files"] = serde_json::to_value(parts.file_infos()).expect("JSON");
            if described {
                let store = TokenStore::from_bytes(&store, Check::Checksums).expect("whole");
                manifest["token_vectors"] = serde_json::to_value(store.info()).expect("JSON");
            }
            parts
                .0
                .insert(names::MANIFEST.into(), sealed(manifest).into());
        })
    };
    let rows = Bundle::read(whole.clone())
        .expect("whole")
        .index
        .info()
        .rows;
    let said = with(other(rows, 32), false);
    assert!(
        said.contains("token_vectors.bin: expected what the manifest describes"),
        "{said}"
    );
    let said = with(other(rows + 1, 32), true);
    assert!(
        said.contains(&format!(
            "token_vectors.bin: expected the index's {rows} rows of 32 values"
        )),
        "{said}"
    );
    let said = with(other(rows, 32), true);
    assert!(
        said.contains("token_vectors.bin: the rows are of other concepts"),
        "{said}"
    );
    let said = with(Bytes::from_static(b"PK\x03\x04 something else"), false);
    assert!(
        said.contains("token_vectors.bin: this file does not have PEL's format `token store`"),
        "{said}"
    );
}

#[test]
fn sum_is_compared_with_the_threshold() {
    let mut recipe = with_tokens(View::Names);
    recipe.nil.threshold = Some(2.5);
    let mut linker = linker(recipe, &cpu());
    let one = |linker: &Linker, text: &str, threshold: Option<f32>| {
        let options = LinkOptions::default().threshold(threshold);
        link(linker, text, whole(text), &options)
            .expect("linked")
            .remove(0)
    };
    // The dictionary matches the plural; each token of the mention, including special ones, counts
    // 1.
    let found = one(&linker, "fevers", None);
    let tokens = linker
        .steps()
        .prepare("fevers", whole("fevers"))
        .expect("it fits")
        .sequences()[0]
        .ids
        .len() as f32;
    assert!(
        found.named && found.candidates[0].score == tokens,
        "{found:?}"
    );
    // No cosine could reach the threshold, and no sum of so few tokens the other one.
    let found = one(&linker, "severe pain of the toe", None);
    assert!(
        matches!(found.decision, Decision::Linked { best } if best.score > 2.5),
        "{found:?}"
    );
    let found = one(&linker, "severe pain of the toe", Some(99.0));
    assert!(
        matches!(
            found.decision,
            Decision::Nil {
                reason: NilReason::BelowThreshold,
                ..
            }
        ),
        "{found:?}"
    );
    // The bundle's threshold does not apply to single vectors.
    linker.settings().set_scorer(Scorer::Dual).expect("always");
    let found = one(&linker, "severe pain of the toe", None);
    assert!(
        matches!(found.decision, Decision::Linked { best } if best.score <= 1.0),
        "{found:?}"
    );
}

#[test]
fn token_similarities_add_up_to_the_score() {
    for (name, device) in devices() {
        let linker = linker(with_tokens(View::Both), &OpenDevice { device, name });
        let text = "severe chest pain";
        let prepared = linker.steps().prepare(text, whole(text)).expect("it fits");
        let mention = &prepared.sequences()[0];
        let links = linker.steps().finish(
            &prepared,
            &linker
                .steps()
                .encode(&prepared, |_| Ok(()))
                .expect("encoded"),
            &LinkOptions::default(),
        );
        let texts = linker.steps().candidate_texts(&links[0]).expect("whole");
        let own = linker
            .steps()
            .encoder()
            .encode_for(linker.steps().scorer(), Side::Mention, &[mention])
            .expect("encoded");
        let vectors = linker
            .steps()
            .encoder()
            .encode_for(linker.steps().scorer(), Side::Entity, &texts.rows())
            .expect("encoded");
        let met = linker
            .steps()
            .matched_texts(&texts, mention, &own, &vectors);
        assert_eq!(met.len(), links[0].candidates.len());
        for met in &met {
            let message: Vec<&str> = met
                .tokens
                .iter()
                .map(|token| token.mention.as_str())
                .collect();
            let ids: Vec<String> = mention
                .ids
                .iter()
                .map(|id| linker.bundle().tokens.token(*id))
                .collect();
            assert_eq!(message, ids);
            let sum: f32 = met.tokens.iter().map(|token| token.similarity).sum();
            assert!((sum - met.best_text_score).abs() < 1e-4, "{met:?}");
            assert!(
                (sum - met.score).abs() < 0.02 * message.len() as f32,
                "{met:?}"
            );
        }
    }
}

#[test]
fn added_concepts_are_scored_by_tokens() {
    for (name, device) in devices() {
        let mut recipe = with_tokens(View::Both);
        recipe.view.mention_template = MentionTemplate::Context;
        recipe.view.mix = 0.5;
        let mut linker = linker(recipe, &OpenDevice { device, name });
        let twin = Concept {
            id: "X1".into(),
            ..linker.bundle().concepts.get(ConceptId(0)).expect("there")
        };
        let tokenized = linker
            .steps()
            .tokenize_concepts(vec![twin], &mut Report::default())
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
        let options = LinkOptions::default().k(99);
        let links = link(&linker, "pyrexia", whole("pyrexia"), &options).expect("linked");
        let score = |concept: usize| {
            links[0]
                .candidates
                .iter()
                .find(|found| found.concept.index() == concept)
                .expect("found")
                .score
        };
        assert!(
            (score(0) - score(linker.bundle().concepts.len())).abs() < 1e-3,
            "{:?}",
            links[0]
        );
        assert!(linker.settings().set_scorer(Scorer::Dual).is_err());
        assert_eq!(
            linker
                .settings()
                .remove_concepts(|_| true)
                .expect("taken away"),
            1
        );
        linker
            .settings()
            .set_scorer(Scorer::Dual)
            .expect("there is none left");
    }
}

#[test]
fn interrupted_index_is_resumed() {
    let (folder, device) = (tempfile::tempdir().expect("a folder"), cpu());
    let out = folder.path().join("bundle");
    let recipe = || Recipe {
        batch_tokens: Some(16),
        ..with_tokens(View::Both)
    };
    let whole = build(recipe(), &device, &WorkFolder::beside(&out))
        .expect("it fits together")
        .parts;
    // Simulates an interrupt in the second batch.
    let kept = folder.path().join(".bundle.work").join("done.f32");
    let bytes = std::fs::read(&kept).expect("kept until the bundle is saved");
    std::fs::write(&kept, &bytes[..bytes.len() / 2]).expect("written");
    let again = build(recipe(), &device, &WorkFolder::beside(&out))
        .expect("it resumes")
        .parts;
    assert_eq!(whole.0, again.0);
    // Without token vectors the work differs and starts again.
    let plain = build(
        Recipe {
            scorer: Scorer::Dual,
            ..recipe()
        },
        &device,
        &WorkFolder::beside(&out),
    );
    let plain = plain.expect("it fits together").parts;
    assert_eq!(plain.0[names::INDEX], whole.0[names::INDEX]);
    assert!(std::fs::metadata(&kept).expect("there").len() < bytes.len() as u64);
}
