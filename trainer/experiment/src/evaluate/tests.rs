//! `pel evaluate` on a corpus small enough to be checked by hand.

mod abbreviations;
mod grouped;

use super::*;
use clap::Parser;
use pel_corpora::retrieve::{BundleRetrievers, CandidateLists, Retriever, Tick};
use pel_corpora::split::{MentionQuery, SeenBy};
use pel_index::metrics::{NilCounts, Share};
use pel_kb::error::Kind;
use pel_kb::score::Candidate;
use pel_kb::{Concept, ConceptId, KnowledgeBase};
use pel_text::Span;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Options,
}

/// Three concepts; a training, a dev and a test split of one document each.
const FILES: [(&str, &str); 5] = [
    (
        "kb.jsonl",
        r#"{"id":"D0","name":"Fever","synonyms":["pyrexia"]}
{"id":"D1","name":"cough"}
{"id":"D2","name":"headache"}"#,
    ),
    (
        "documents.jsonl",
        r#"{"doc_id":"a","split":"train","text":"fever, hot, cough, itch"}
{"doc_id":"b","split":"dev","text":"fever, rash"}
{"doc_id":"c","split":"test","text":"fever, cough, hives, headache, hot, thing"}"#,
    ),
    (
        "mentions.train.jsonl",
        r#"{"doc_id":"a","start":0,"end":5,"text":"fever","id":"D0"}
{"doc_id":"a","start":7,"end":10,"text":"hot","id":"D0"}
{"doc_id":"a","start":12,"end":17,"text":"cough","id":"D1"}
{"doc_id":"a","start":19,"end":23,"text":"itch","id":"X1"}"#,
    ),
    (
        "mentions.dev.jsonl",
        r#"{"doc_id":"b","start":0,"end":5,"text":"fever","id":"D0"}
{"doc_id":"b","start":7,"end":11,"text":"rash","id":"X2"}"#,
    ),
    (
        // D0 is said to be unseen once, which is wrong; the last mention is misplaced.
        "mentions.test.jsonl",
        r#"{"doc_id":"c","start":0,"end":5,"text":"fever","id":"D0","seen_in_train":false}
{"doc_id":"c","start":7,"end":12,"text":"cough","id":"D1","seen_in_train":true}
{"doc_id":"c","start":14,"end":19,"text":"hives","id":"X1","seen_in_train":true}
{"doc_id":"c","start":21,"end":29,"text":"headache","id":"D2","seen_in_train":false}
{"doc_id":"c","start":31,"end":34,"text":"hot","id":"D0","seen_in_train":true}
{"doc_id":"c","start":36,"end":41,"text":"thing","id":null}
{"doc_id":"c","start":1,"end":6,"text":"fever","id":"D0"}"#,
    ),
];

fn corpus(without: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in FILES.iter().filter(|(name, _)| !without.contains(name)) {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

fn args(folder: &Path, more: &[&str]) -> Options {
    let corpus = folder.to_string_lossy().into_owned();
    let line = ["evaluate", "--corpus", &corpus]
        .into_iter()
        .chain(more.iter().copied());
    Line::try_parse_from(line)
        .expect("a good command line")
        .args
}

fn no_bundle(_: &Path) -> Result<BundleRetrievers> {
    Err(Error::artifact("there is no bundle"))
}

fn measure(folder: &Path, more: &[&str]) -> Result<Evaluation> {
    let kb = folder.join("kb.jsonl").to_string_lossy().into_owned();
    evaluate(
        &args(folder, &[&["--kb", &kb], more].concat()),
        no_bundle,
        None,
    )
}

fn shares(figures: &Figures, at: usize) -> Vec<(usize, usize)> {
    figures
        .recall
        .iter()
        .map(|recall| (recall.at[at].share.hits, recall.at[at].share.of))
        .collect()
}

#[test]
fn figures_equal_hand_counts() {
    let folder = corpus(&[]);
    let found =
        measure(folder.path(), &["--systems", "exact,majority,tfidf,exact"]).expect("measured");
    let split = &found.split;
    assert_eq!(
        (
            split.documents,
            split.mentions,
            split.in_kb,
            split.nil,
            split.nil_by_annotation
        ),
        (1, 6, 4, 2, 1)
    );
    assert_eq!(
        (
            split.seen,
            split.zero_shot,
            split.seen_differs,
            split.seen_by
        ),
        (3, 1, 1, SeenBy::TrainingSplit)
    );
    assert_eq!(
        (
            split.skipped.skipped_in_all(),
            split.skipped.skipped(pel_corpora::corpus::MISPLACED)
        ),
        (1, 1)
    );
    let training = found.training.as_ref().expect("there is one");
    assert_eq!((training.mentions, training.concepts), (4, 3));

    let [exact, majority, tfidf] = &found.systems[..] else {
        panic!("each system once")
    };
    // All, seen, zero-shot: "hot" is no name, but training knew it.
    assert_eq!(shares(exact, 0), [(3, 4), (2, 3), (1, 1)]);
    assert_eq!(shares(majority, 0), [(4, 4), (3, 3), (1, 1)]);
    assert_eq!(shares(tfidf, 2), [(3, 4), (2, 3), (1, 1)]);
    assert_eq!(
        exact.recall[0].at.iter().map(|at| at.k).collect::<Vec<_>>(),
        [1, 8, 16, 64]
    );
    assert_eq!(exact.recall[0].first_by_chance, Some(0.75));

    // Dev: "fever" has a candidate with score 1, "rash" none. So "hot" is rejected beside the two
    // NIL mentions.
    let [nil] = &exact.nil[..] else {
        panic!("one kind of NIL, one threshold")
    };
    assert_eq!(
        (nil.threshold, nil.chosen_on.as_str(), nil.oracle),
        (1.0, "dev", false)
    );
    assert_eq!(
        nil.counts,
        NilCounts {
            found: 2,
            wrong: 1,
            missed: 0
        }
    );
    assert_eq!(nil.all_classes[0].share, Share { hits: 5, of: 6 });
    // Majority: one training mention of "fever" gives 1/2, which is also the score of a name never
    // seen.
    let [nil] = &majority.nil[..] else {
        panic!("one kind of NIL, one threshold")
    };
    assert_eq!(
        (nil.threshold, nil.counts),
        (
            0.5,
            NilCounts {
                found: 2,
                wrong: 0,
                missed: 0
            }
        )
    );
    assert_eq!(
        (nil.au_pr, nil.f1, nil.all_classes[0].recall),
        (Some(1.0), Some(1.0), Some(1.0))
    );
}

#[test]
fn mentions_left_out_by_every_are_counted() {
    let folder = corpus(&[]);
    let found = measure(folder.path(), &["--systems", "exact", "--every", "4"]).expect("measured");
    assert_eq!(
        (
            found.split.mentions,
            found.split.skipped.skipped("left out by --every")
        ),
        (2, 4)
    );
}

#[test]
fn tables_state_the_protocol() {
    let folder = corpus(&[]);
    let said = measure(folder.path(), &["--systems", "exact"])
        .expect("measured")
        .tables();
    for part in [
        "1 documents, 6 mentions, 4 in the knowledge base (3 of seen concepts, 1 zero-shot), 2 NIL (1 have no concept",
        "skipped: 1 x mention whose text is not at its offsets",
        "says otherwise of 1 mentions",
        "best F1 of NIL on split dev",
        "the short forms that a text defines are read written out, by every system",
        "exact: mention text equal to a name",
        "candidate; short forms written out.",
        "75.0 [75.0..75.0]",
    ] {
        assert!(said.contains(part), "{part:?} is missing in\n{said}");
    }
    assert!(!said.contains("ORACLE"));
}

#[test]
fn without_other_splits_the_threshold_is_an_oracle() {
    let folder = corpus(&["mentions.train.jsonl", "mentions.dev.jsonl"]);
    let found = measure(folder.path(), &[]).expect("measured");
    assert_eq!(
        found
            .systems
            .iter()
            .map(|figures| figures.system.as_str())
            .collect::<Vec<_>>(),
        ["exact", "tfidf", "bm25"]
    );
    assert_eq!(
        (found.split.seen, found.split.zero_shot, found.split.seen_by),
        (2, 2, SeenBy::Corpus)
    );
    assert!(
        found
            .systems
            .iter()
            .all(|figures| figures.nil.len() == 1 && figures.nil[0].oracle)
    );
    assert!(found.tables().contains("ORACLE") && found.tables().contains("as the corpus says"));
    let refused = |more: &[&str]| {
        measure(folder.path(), more)
            .expect_err("refused")
            .to_string()
    };
    assert!(refused(&["--systems", "majority"]).contains("expected mentions.train.jsonl"));
    assert!(refused(&["--calibrate-split", "dev"]).contains("expected mentions.dev.jsonl"));
    assert!(refused(&["--split", "dev"]).contains("expected mentions.dev.jsonl"));
}

#[test]
fn unmeasurable_systems_are_refused() {
    let folder = corpus(&[]);
    let error = measure(folder.path(), &["--systems", "dense"]).expect_err("no bundle");
    assert!(
        error.kind() == Kind::Input && error.to_string().contains("give --bundle"),
        "{error}"
    );
    let error = evaluate(&args(folder.path(), &[]), no_bundle, None).expect_err("no concepts");
    assert!(
        error.to_string().contains("give --kb or --bundle"),
        "{error}"
    );
    std::fs::write(folder.path().join("mentions.empty.jsonl"), FILES[3].1).expect("written");
    let error = measure(folder.path(), &["--split", "empty"])
        .expect_err("no mention")
        .to_string();
    assert!(
        error.contains(
            "the split empty has no mentions (skipped: 2 x mention of a document of another split)"
        ),
        "{error}"
    );
    assert!(Line::try_parse_from(["evaluate", "--corpus", "c", "--top", "0"]).is_err());
}

/// Finds the concepts that it was made with, whatever the mention.
struct Fixed(Vec<Candidate>);

impl Retriever for Fixed {
    fn name(&self) -> &str {
        "dense"
    }

    fn protocol(&self) -> String {
        "always the same".into()
    }

    fn threshold(&self) -> Option<f32> {
        Some(0.75)
    }

    fn search(
        &self,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists> {
        done(queries.len())?;
        // One that has nothing to say forgets the last answer too.
        let answers = queries.len() - usize::from(self.0.is_empty());
        Ok(vec![self.0.iter().take(k).copied().collect(); answers])
    }
}

fn fixed(names: &[&str], ranked: Vec<Candidate>) -> Result<BundleRetrievers> {
    let mut kb = KnowledgeBase::new();
    for id in names {
        kb.push(Concept {
            id: (*id).into(),
            name: (*id).into(),
            ..Concept::default()
        })?;
    }
    let concepts = KbFile {
        kb,
        blake3: "of the bundle".into(),
    };
    Ok(BundleRetrievers {
        concepts,
        dense: Box::new(Fixed(ranked.clone())),
        link: Box::new(Fixed(ranked)),
        abbreviations: true,
        trained: None,
    })
}

#[test]
fn concepts_of_a_bundle_must_equal_those_of_a_table() {
    let folder = corpus(&[]);
    let with_bundle = args(folder.path(), &["--bundle", "b", "--systems", "dense"]);
    let ranked = [1, 0].map(|at| Candidate::new(ConceptId(at), 0.5)).to_vec();
    let found =
        evaluate(&with_bundle, |_| fixed(&["D1", "D0"], ranked.clone()), None).expect("measured");
    // D2 is not in this bundle: "headache" is NIL. D0 comes first, as often as D1 by chance.
    assert_eq!(
        (found.split.in_kb, found.split.nil, found.kb.blake3.as_str()),
        (3, 3, "of the bundle")
    );
    assert_eq!(
        (
            shares(&found.systems[0], 0)[0],
            shares(&found.systems[0], 1)[0]
        ),
        ((2, 3), (3, 3))
    );
    assert_eq!(found.systems[0].recall[0].first_by_chance, Some(0.5));
    // At the bundle's 0.75 everything is NIL: 3 of 6 rightly.
    let of_bundle = found.systems[0]
        .nil
        .iter()
        .find(|nil| nil.chosen_on == "bundle")
        .expect("it brings one");
    assert_eq!(
        (of_bundle.threshold, of_bundle.oracle, of_bundle.base_rate),
        (0.75, false, 0.5)
    );
    assert_eq!(
        (of_bundle.precision, of_bundle.recall, of_bundle.links_right),
        (Some(0.5), Some(1.0), None)
    );
    assert!(
        found.tables().contains("0.7500 (bundle)"),
        "{}",
        found.tables()
    );

    let error = evaluate(&with_bundle, |_| fixed(&["D1", "D0"], Vec::new()), None)
        .expect_err("an answer is missing");
    assert!(
        error.to_string().contains("expected 6 answers, found 5"),
        "{error}"
    );
    let kb = folder
        .path()
        .join("kb.jsonl")
        .to_string_lossy()
        .into_owned();
    let both = args(folder.path(), &["--bundle", "b", "--kb", &kb]);
    let error = evaluate(&both, |_| fixed(&["D1", "D0", "D2"], Vec::new()), None)
        .expect_err("another order");
    assert!(
        error
            .to_string()
            .contains("expected the bundle's concepts in the bundle's order"),
        "{error}"
    );
}

#[test]
fn equal_texts_are_searched_once_and_interrupts_are_returned() {
    let found = corpus(&[]);
    let kb = pel_artifacts::concept_table::read(&found.path().join("kb.jsonl"))
        .expect("read")
        .kb;
    let exact =
        pel_corpora::retrieve::lexical::lexical(System::Exact, &kb, None, true).expect("built");
    let text = "fever pyrexia FEVER fever";
    let queries = [(0, 5), (6, 13), (14, 19), (20, 25)].map(|(start, end)| MentionQuery {
        text,
        span: Span::new(start, end),
        domain: None,
    });
    let mut count = 0;
    let mut done = |mentions| {
        count += mentions;
        Ok(())
    };
    let ranked = exact.search(&queries, 8, &mut done).expect("searched");
    assert_eq!(
        ranked.iter().map(Vec::len).collect::<Vec<_>>(),
        [1, 1, 1, 1]
    );
    assert_eq!(count, 4);
    let outside = MentionQuery {
        span: Span::new(14, 99),
        ..queries[0]
    };
    assert!(exact.search(&[outside], 8, &mut |_| Ok(())).is_err());
    let stopped = exact
        .search(&queries, 8, &mut |_| Err(Error::interrupted()))
        .expect_err("stopped");
    assert!(stopped.is_interrupted());
}

#[test]
fn json_file_has_every_figure() {
    let folder = corpus(&[]);
    let out = folder.path().join("new/results.json");
    measure(folder.path(), &["--top", "8"])
        .expect("measured")
        .save(&out)
        .expect("saved");
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(out).expect("read")).expect("JSON");
    assert_eq!(json["kb"]["concepts"], 3);
    assert_eq!(json["split"]["zero_shot"], 1);
    assert_eq!(json["run"]["pel"], env!("CARGO_PKG_VERSION"));
    let systems: Vec<_> = json["systems"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|system| &system["system"])
        .collect();
    assert_eq!(systems, ["exact", "tfidf", "bm25", "majority"]);
    let at = &json["systems"][3]["recall"][0]["at"];
    assert_eq!(
        (
            &at[0]["k"],
            &at[0]["hits"],
            &at[0]["of"],
            &at[1]["k"],
            &at[2]
        ),
        (
            &1.into(),
            &4.into(),
            &4.into(),
            &8.into(),
            &serde_json::Value::Null
        )
    );
}

#[test]
fn any_of_the_concepts_of_a_mention_is_right() {
    let folder = corpus(&[]);
    // "cough" is annotated with a concept that no table has, with headache, and with cough itself.
    let mentions = r#"{"doc_id":"c","start":0,"end":5,"text":"fever","id":"D1","other_ids":["D2"]}
{"doc_id":"c","start":7,"end":12,"text":"cough","id":"X9","other_ids":["D2","D1"]}
{"doc_id":"c","start":21,"end":29,"text":"headache","id":"X8","other_ids":["X9"]}"#;
    std::fs::write(folder.path().join("mentions.test.jsonl"), mentions).expect("written");
    let found = measure(folder.path(), &["--systems", "exact"]).expect("measured");
    let split = &found.split;
    assert_eq!(
        (
            split.several,
            split.in_kb,
            split.nil,
            split.seen,
            split.zero_shot
        ),
        (3, 2, 1, 2, 0)
    );
    // The name "fever" is D0's, which is neither; the name "cough" is D1's.
    assert_eq!(shares(&found.systems[0], 0)[0], (1, 2));
    assert!(
        found
            .tables()
            .contains("3 have several concepts, each of them right"),
        "{}",
        found.tables()
    );
}

#[test]
fn first_of_several_right_concepts_counts_once() {
    let folder = corpus(&[]);
    let mentions = r#"{"doc_id":"c","start":0,"end":5,"text":"fever","id":"D1","other_ids":["D2"]}
{"doc_id":"c","start":7,"end":12,"text":"cough","id":"D1"}"#;
    std::fs::write(folder.path().join("mentions.test.jsonl"), mentions).expect("written");
    let kb = pel_artifacts::concept_table::read(&folder.path().join("kb.jsonl"))
        .expect("read")
        .kb;
    let split = Split::read(folder.path(), "test", 1, &kb, None).expect("read");
    let candidate = |(at, score)| Candidate::new(ConceptId(at), score);
    let all = [(0, 0.9), (2, 0.8), (1, 0.7)].map(candidate).to_vec();
    let mut ranked = vec![all.clone(), all.clone()];
    split.unify_gold(&mut ranked);
    assert_eq!(ranked, [[(0, 0.9), (1, 0.8)].map(candidate).to_vec(), all]);
}

#[test]
fn each_part_of_a_composite_mention_is_measured() {
    let folder = corpus(&[]);
    // "fever" stands for D0 and D1; "cough" for D1, or what no table has, and for D2.
    let mentions = r#"{"doc_id":"c","start":0,"end":5,"text":"fever","id":"D0","other_ids":["D1"],"parts":[["D0"],["D1"]]}
{"doc_id":"c","start":7,"end":12,"text":"cough","id":"X9","other_ids":["D1","D2"],"parts":[["X9","D1"],["D2"]]}
{"doc_id":"c","start":14,"end":19,"text":"hives","id":"X1"}"#;
    std::fs::write(folder.path().join("mentions.test.jsonl"), mentions).expect("written");
    let found = measure(folder.path(), &["--systems", "exact"]).expect("measured");
    let split = &found.split;
    assert_eq!(
        [
            split.mentions,
            split.in_kb,
            split.nil,
            split.seen,
            split.zero_shot
        ],
        [5, 4, 1, 3, 1]
    );
    assert_eq!([split.composite, split.parts, split.several], [2, 4, 1]);
    // The name "fever" is D0's alone, the name "cough" D1's alone.
    assert_eq!(shares(&found.systems[0], 0), [(2, 4), (2, 3), (0, 1)]);
    let said = found.tables();
    assert!(
        said.contains("1 have several concepts")
            && said.contains("2 are composite, each of their 4 parts counts as a mention"),
        "{said}"
    );

    // With two candidates both parts of "fever" are found; D2 is not in this bundle.
    let line = args(folder.path(), &["--bundle", "b", "--systems", "dense"]);
    let ranked = [1, 0].map(|at| Candidate::new(ConceptId(at), 0.8)).to_vec();
    let found = evaluate(&line, |_| fixed(&["D0", "D1"], ranked.clone()), None).expect("measured");
    let at = |at| shares(&found.systems[0], at)[0];
    assert_eq!((at(0), at(1), found.split.nil), ((2, 3), (3, 3), 2));
    // A mention is linked to one concept, so at most one of its parts is linked rightly. The parts
    // of "fever": wrong and right; of "cough": right and a NIL that is linked, as "hives" is.
    let decisions = found.systems[0].decisions.last().expect("at 0.75");
    let share = |hits, of| Share { hits, of };
    assert_eq!(
        (
            decisions.with_concept.right.share,
            decisions.with_concept.wrong.share,
            decisions.without_concept.linked.share
        ),
        (share(2, 3), share(1, 3), share(2, 2))
    );

    // Where mentions stay whole, any of the concepts is right.
    let kb = pel_artifacts::concept_table::read(&folder.path().join("kb.jsonl"))
        .expect("read")
        .kb;
    let split = Split::read(folder.path(), "test", 1, &kb, None).expect("read");
    assert_eq!(
        [
            split.counts.mentions,
            split.counts.in_kb,
            split.counts.parts
        ],
        [3, 2, 0]
    );
}

/// A bundle with D0 and D2 whose model was trained on some concepts.
fn trained(ids: &[&str]) -> Result<BundleRetrievers> {
    let mut trained = TrainedConcepts::default();
    trained.extend(ids.iter().map(|id| (*id).to_owned()));
    Ok(BundleRetrievers {
        trained: Some(trained),
        ..fixed(&["D0", "D1", "D2"], vec![Candidate::new(ConceptId(2), 0.5)])?
    })
}

#[test]
fn seen_concepts_are_those_of_the_model() {
    let folder = corpus(&[]);
    let line = |more: &[&str]| {
        let bundle = ["--bundle", "b", "--systems", "dense"];
        args(folder.path(), &[&bundle[..], more].concat())
    };
    // "headache" is the only mention of D2, which the training split does not have.
    let found = evaluate(&line(&[]), |_| trained(&["D2", "X7"]), None).expect("measured");
    let split = &found.split;
    assert_eq!(
        (
            split.seen,
            split.zero_shot,
            split.seen_by,
            split.seen_differs
        ),
        (1, 3, SeenBy::Model, 0)
    );
    assert_eq!(shares(&found.systems[0], 0), [(1, 4), (1, 1), (0, 3)]);
    assert_eq!(
        found.trained,
        Some(TrainedCounts {
            concepts: 2,
            in_kb: 1
        })
    );
    assert!(
        found
            .tables()
            .contains("one of the 2 whose mentions the bundle's model was trained on, 1 of them"),
        "{}",
        found.tables()
    );
    // Trained on no mention.
    let found = evaluate(&line(&[]), |_| trained(&[]), None).expect("measured");
    assert_eq!((found.split.seen, found.split.zero_shot), (0, 4));
    // The option, and a bundle that does not tell.
    let split = line(&["--train-split", "train"]);
    let by_option = evaluate(&split, |_| trained(&["D2"]), None).expect("measured");
    let untold = || -> Result<BundleRetrievers> {
        Ok(BundleRetrievers {
            trained: None,
            ..trained(&[])?
        })
    };
    let by_split = evaluate(&line(&[]), |_| untold(), None).expect("measured");
    for found in [by_option, by_split] {
        assert_eq!(
            (found.split.seen, found.split.zero_shot, found.split.seen_by),
            (3, 1, SeenBy::TrainingSplit)
        );
        assert_eq!(found.trained, None);
        assert!(found.tables().contains("mentions of the split train"));
    }
}

/// Counts the mentions that it is asked for.
struct Counting(std::cell::Cell<usize>);

impl Retriever for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn protocol(&self) -> String {
        "the number of the mention".into()
    }

    fn search(
        &self,
        queries: &[MentionQuery<'_>],
        _: usize,
        _: Tick<'_>,
    ) -> Result<CandidateLists> {
        self.0.set(queries.len());
        let numbered = |at| vec![Candidate::new(ConceptId(at), 1.0)];
        Ok((0..queries.len() as u32).map(numbered).collect())
    }
}

#[test]
fn parts_of_a_mention_are_searched_once() {
    let folder = corpus(&[]);
    let mentions = r#"{"doc_id":"c","start":0,"end":5,"text":"fever","id":"D0","other_ids":["D1"],"parts":[["D0"],["D1"]]}
{"doc_id":"c","start":7,"end":12,"text":"cough","id":"D1"}
{"doc_id":"c","start":7,"end":12,"text":"cough","id":"D2"}"#;
    std::fs::write(folder.path().join("mentions.test.jsonl"), mentions).expect("written");
    let kb = pel_artifacts::concept_table::read(&folder.path().join("kb.jsonl"))
        .expect("read")
        .kb;
    let reading = Reading {
        every: 1,
        seen: None,
        by_part: true,
    };
    let split = Split::read_as(folder.path(), "test", &kb, reading).expect("read");
    let counting = Counting(std::cell::Cell::new(0));
    let ranked = pel_corpora::retrieve::search(&counting, &split, 1, "searching").expect("found");
    let found: Vec<u32> = ranked.iter().map(|ranked| ranked[0].concept.0).collect();
    assert_eq!((counting.0.get(), found), (3, vec![0, 0, 1, 2]));
}
