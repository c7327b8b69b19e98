//! Figures by kind of NIL, domain and threshold.

use super::*;
use pel_corpora::retrieve::{BundleRetrievers, CandidateLists, Retriever, Tick, search};
use pel_corpora::split::{MentionQuery, NilOf};
use pel_kb::score::Candidate;

#[test]
fn held_out_and_natural_nil_are_measured_separately() {
    let folder = corpus(&[]);
    let write =
        |name: &str, text: String| std::fs::write(folder.path().join(name), text).expect("written");
    write(
        "documents.jsonl",
        FILES[1].1.replace("fever, rash", "fever, rash, ache"),
    );
    let ache = r#"{"doc_id":"b","start":13,"end":17,"text":"ache","id":null}"#;
    write(
        "mentions.dev.jsonl",
        format!("{}\n{ache}", FILES[3].1.replace("X2", "NIL:D8")),
    );
    write("mentions.test.jsonl", FILES[4].1.replace("X1", "NIL:D9"));
    let found = measure(folder.path(), &["--systems", "exact"]).expect("measured");
    assert_eq!(
        (
            found.split.nil,
            found.split.held_out,
            found.split.nil_by_annotation
        ),
        (2, 1, 1)
    );
    // "hives" is held out, "thing" is natural; "hot" is rejected too. fever, cough and headache are
    // linked rightly.
    let row = |nil: &NilFigures| {
        (
            nil.nil,
            nil.mentions,
            nil.counts,
            nil.links.right,
            nil.all_classes[0].share,
        )
    };
    let rows: Vec<_> = found.systems[0].nil.iter().map(row).collect();
    let one = NilCounts {
        found: 1,
        wrong: 1,
        missed: 0,
    };
    assert_eq!(
        rows,
        [
            (
                NilOf::All,
                6,
                NilCounts {
                    found: 2,
                    wrong: 1,
                    missed: 0
                },
                3,
                Share { hits: 5, of: 6 }
            ),
            (NilOf::HeldOut, 5, one, 3, Share { hits: 4, of: 5 }),
            (NilOf::Natural, 5, one, 3, Share { hits: 4, of: 5 }),
        ]
    );
    let said = found.tables();
    assert!(
        said.contains("2 NIL (1 have no concept in the corpus; 1 held out, 1 natural)"),
        "{said}"
    );
    assert!(
        said.contains("held out") && said.contains("natural") && said.contains("both"),
        "{said}"
    );

    write(
        "kb.jsonl",
        format!("{}\n{{\"id\":\"D9\",\"name\":\"hives\"}}", FILES[0].1),
    );
    let error = measure(folder.path(), &["--systems", "exact"])
        .expect_err("the wrong table")
        .to_string();
    assert!(
        error.contains("the knowledge base has the held-out concept D9"),
        "{error}"
    );
}

#[test]
fn recall_is_grouped_by_domain_and_macro_averaged() {
    let folder = corpus(&[]);
    let kb = r#"{"id":"D0","name":"Fever","types":["Sign"],"sources":["A","B"]}
{"id":"D1","name":"cough","types":["Sign"],"sources":["B"]}
{"id":"D2","name":"headache","types":["Pain"]}"#;
    std::fs::write(folder.path().join("kb.jsonl"), kb).expect("written");
    let each = |found: &Evaluation, at: usize| {
        let domains = &found.systems[0].domains[at];
        let row = |recall: &Recall| {
            (
                recall.mentions.clone(),
                recall.at[0].share.hits,
                recall.at[0].share.of,
            )
        };
        (
            domains.macro_average[0].recall,
            domains.without,
            domains.each.iter().map(row).collect::<Vec<_>>(),
        )
    };
    // fever is found, hot is not (both D0); cough (D1) and headache (D2) are.
    let found = measure(
        folder.path(),
        &["--systems", "exact", "--by", "type,source"],
    )
    .expect("measured");
    let row = |name: &str, hits, of| (name.to_owned(), hits, of);
    assert_eq!(
        each(&found, 0),
        (
            Some((2.0 / 3.0 + 1.0) / 2.0),
            0,
            vec![row("Sign", 2, 3), row("Pain", 1, 1)]
        )
    );
    assert_eq!(
        each(&found, 1),
        (
            Some((2.0 / 3.0 + 0.5) / 2.0),
            1,
            vec![row("B", 2, 3), row("A", 1, 2)]
        )
    );
    let said = found.tables();
    for part in [
        "mean over 2 types",
        "Recall in % by types",
        "Recall in % by sources",
        "(none)",
        "83.3 [83.3..83.3]",
    ] {
        assert!(said.contains(part), "{part:?} is missing in\n{said}");
    }
    let unasked = measure(folder.path(), &["--systems", "exact"])
        .expect("measured")
        .tables();
    assert!(
        unasked.contains("mean over 2 types") && !unasked.contains("by types"),
        "{unasked}"
    );
    let error = measure(folder.path(), &["--systems", "exact", "--by", "domain"])
        .expect_err("none")
        .to_string();
    assert!(
        error.contains("no mention of the split test has domains"),
        "{error}"
    );
    let documents = FILES[1]
        .1
        .replace(r#""split":"test""#, r#""split":"test","domain":"wards""#);
    std::fs::write(folder.path().join("documents.jsonl"), documents).expect("written");
    let found =
        measure(folder.path(), &["--systems", "exact", "--by", "domain"]).expect("measured");
    assert_eq!(each(&found, 0), (Some(0.75), 0, vec![row("wards", 3, 4)]));
}

#[test]
fn a_threshold_is_chosen_by_f1_or_by_the_precision_of_links() {
    let folder = corpus(&[]);
    let kb = pel_artifacts::concept_table::read(&folder.path().join("kb.jsonl"))
        .expect("read")
        .kb;
    let split = Split::read(folder.path(), "test", 1, &kb, None).expect("read");
    let exact =
        pel_corpora::retrieve::lexical::lexical(System::Exact, &kb, None, true).expect("built");
    let choose = |split: &Split, nil, rule| {
        Calibration::choose(
            &search(&exact, split, 64, "searching").expect("found"),
            folder.path(),
            split,
            nil,
            rule,
        )
    };
    let found = choose(&split, NilOf::All, Rule::BestF1).expect("chosen");
    // Three have a candidate with score 1, three have none: the only two steps are after those and
    // after these.
    assert_eq!(
        (found.figures.counts, found.curve.len()),
        (
            NilCounts {
                found: 2,
                wrong: 1,
                missed: 0
            },
            2
        )
    );
    assert_eq!(
        (found.figures.precision, found.figures.f1),
        (Some(2.0 / 3.0), Some(0.8))
    );
    let policy = found.policy();
    assert_eq!(policy.threshold, Some(1.0));
    let words = policy.calibrated_on.expect("said");
    for part in [
        "split test: 6 mentions, 2 NIL, blake3 ",
        "; best F1 of NIL by scores; there NIL has precision 66.7, recall 100.0",
    ] {
        assert!(words.contains(part), "{part:?} is missing in {words}");
    }
    assert!(
        !words.contains(&folder.path().display().to_string()),
        "no path of this machine: {words}"
    );

    let links = choose(&split, NilOf::All, Rule::LinkPrecision(0.9))
        .expect("chosen")
        .figures
        .links;
    assert_eq!((links.right, links.wrong, links.known), (3, 0, 4));
    let wrong = Fixed(vec![Candidate::new(ConceptId(0), 0.5)]);
    let choose_wrong = |rule| {
        Calibration::choose(
            &search(&wrong, &split, 64, "searching").expect("found"),
            folder.path(),
            &split,
            NilOf::All,
            rule,
        )
        .map(drop)
    };
    let error = choose_wrong(Rule::LinkPrecision(0.9))
        .expect_err("D0 is right for 2 of 6")
        .to_string();
    assert!(
        error.contains("are 90.0 % of the links right; the most is 33.3 % of 6 links"),
        "{error}"
    );
    let error = choose(&split, NilOf::HeldOut, Rule::BestF1)
        .expect_err("none is held out")
        .to_string();
    assert!(
        error.contains("the split test has no NIL mention of the kind `held out`"),
        "{error}"
    );
    // The hash knows what is measured, and does not care how it is packed.
    let again = Split::read(folder.path(), "test", 1, &kb, None).expect("read");
    let fewer = Split::read(folder.path(), "test", 2, &kb, None).expect("read");
    assert_eq!(split.counts.blake3, again.counts.blake3);
    assert_ne!(split.counts.blake3, fewer.counts.blake3);
}

/// Answers each mention by its surface; infinite scores are linked at any threshold.
struct ByWord(Vec<(&'static str, Vec<Candidate>)>);

impl Retriever for ByWord {
    fn name(&self) -> &str {
        "dense"
    }

    fn protocol(&self) -> String {
        "by a list".into()
    }

    fn threshold(&self) -> Option<f32> {
        Some(0.5)
    }

    fn search(
        &self,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists> {
        done(queries.len())?;
        let of = |query: &MentionQuery<'_>| {
            let found = self.0.iter().find(|(word, _)| *word == surface(query));
            found.map_or(Vec::new(), |(_, ranked)| {
                ranked.iter().take(k).copied().collect()
            })
        };
        Ok(queries.iter().map(of).collect())
    }

    fn judged(
        &self,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists> {
        let mut ranked = self.search(queries, k, done)?;
        // "cough" bears its name.
        for (query, ranked) in queries.iter().zip(&mut ranked) {
            if let ("cough" | "thing", Some(first)) = (surface(query), ranked.first_mut()) {
                first.score = f32::INFINITY;
            }
        }
        Ok(ranked)
    }
}

/// The words of the mention as they stand.
fn surface<'a>(query: &MentionQuery<'a>) -> &'a str {
    query.span.of(query.text).expect("it can be cut")
}

fn by_word() -> Result<BundleRetrievers> {
    let BundleRetrievers {
        concepts,
        link,
        abbreviations,
        ..
    } = fixed(&["D0", "D1", "D2"], Vec::new())?;
    let [fever, cough, headache] =
        [0, 1, 2].map(|at| move |score| Candidate::new(ConceptId(at), score));
    let answers = ByWord(vec![
        ("fever", vec![fever(0.9)]),
        ("cough", vec![cough(0.1), fever(0.05)]),
        ("hives", vec![fever(0.7)]),
        ("headache", vec![cough(0.8), headache(0.6)]),
        ("hot", vec![fever(0.2)]),
        ("thing", vec![fever(0.3)]),
    ]);
    Ok(BundleRetrievers {
        concepts,
        dense: Box::new(answers),
        link,
        abbreviations,
        trained: None,
    })
}

#[test]
fn decisions_equal_those_of_the_bundle() {
    let folder = corpus(&[]);
    let line = args(folder.path(), &["--bundle", "b", "--systems", "dense"]);
    let found = evaluate(&line, |_| by_word(), None).expect("measured");
    let [.., decisions] = &found.systems[0].decisions[..] else {
        panic!("there are some")
    };
    assert_eq!(
        (
            decisions.threshold,
            decisions.chosen_on.as_str(),
            decisions.at_any_score
        ),
        (Some(0.5), "bundle", 2)
    );
    // At 0.5: fever right, cough right by its name, headache wrong, hot NIL; hives and thing are
    // linked, though NIL.
    let with = &decisions.with_concept;
    let share = |hits, of| Share { hits, of };
    assert_eq!(
        [with.right.share, with.wrong.share, with.nil.share],
        [share(2, 4), share(1, 4), share(1, 4)]
    );
    let without = &decisions.without_concept;
    assert_eq!(
        [without.nil.share, without.linked.share],
        [share(0, 2), share(2, 2)]
    );
    let nil = found.systems[0]
        .nil
        .iter()
        .find(|nil| nil.chosen_on == "bundle")
        .expect("it brings one");
    assert_eq!(
        (nil.counts, nil.links.right),
        (
            NilCounts {
                found: 0,
                wrong: 1,
                missed: 2
            },
            2
        )
    );
    let said = found.tables();
    assert!(
        said.contains("Linked rightly")
            && said.contains("50.0 [50.0..50.0]")
            && said.contains("0.5000 (bundle)"),
        "{said}"
    );
    // Without NIL in the split the bundle's decisions are shown all the same.
    let known = FILES[4]
        .1
        .lines()
        .filter(|line| !line.contains("hives") && !line.contains("thing"));
    std::fs::write(
        folder.path().join("mentions.test.jsonl"),
        known.collect::<Vec<_>>().join("\n"),
    )
    .expect("written");
    let found = evaluate(&line, |_| by_word(), None).expect("measured");
    let [decisions] = &found.systems[0].decisions[..] else {
        panic!("at one threshold")
    };
    assert_eq!(
        (
            decisions.with_concept.right.share,
            decisions.without_concept.nil.share
        ),
        (share(2, 4), share(0, 0))
    );
}

#[test]
fn threshold_that_rejects_everything_is_reported() {
    let folder = corpus(&[]);
    // On dev "fever" is found with a lower score than "rash", which is NIL: the best F1 rejects
    // both.
    let line = args(folder.path(), &["--bundle", "b", "--systems", "dense"]);
    let open = || {
        let BundleRetrievers {
            concepts,
            link,
            abbreviations,
            ..
        } = by_word()?;
        let fever = |score| vec![Candidate::new(ConceptId(0), score)];
        let search = ByWord(vec![("fever", fever(0.5)), ("rash", fever(0.75))]);
        Ok(BundleRetrievers {
            concepts,
            dense: Box::new(search),
            link,
            abbreviations,
            trained: None,
        })
    };
    let found = evaluate(&line, |_| open(), None).expect("measured");
    let nil = &found.systems[0].nil[0];
    assert!(
        nil.rejects_all && nil.threshold > 0.75 && nil.chosen_on == "dev",
        "{nil:?}"
    );
    assert!(
        found
            .tables()
            .contains("rejects every mention of dev that a threshold can"),
        "{}",
        found.tables()
    );
    let found = evaluate(&line, |_| by_word(), None).expect("measured");
    assert!(found.systems[0].nil.iter().all(|nil| !nil.rejects_all));
    // The threshold of this bundle, 0.75, is above all of its scores.
    let low = || fixed(&["D0", "D1", "D2"], vec![Candidate::new(ConceptId(0), 0.5)]);
    let found = evaluate(&line, |_| low(), None).expect("measured");
    let own = found.systems[0].nil.last().expect("at 0.75");
    assert!(own.rejects_all && own.chosen_on == "bundle", "{own:?}");
    assert!(
        found
            .tables()
            .contains("the threshold 0.7500 (bundle) rejects every mention that a threshold can."),
        "{}",
        found.tables()
    );
}
