//! Every system reads the same text: short forms written out, or as they stand.

use super::super::*;
use super::{args, fixed, measure};
use pel_corpora::retrieve::BundleRetrievers;
use pel_corpora::retrieve::lexical::{lexical, short_forms};
use std::fs;

/// Short forms that their text defines; the training split knows the long forms, the test split
/// uses the short ones.
fn corpus() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let kb = r#"{"id":"D0","name":"heart failure"}
{"id":"D1","name":"hydrogen fluoride","synonyms":["HF"]}
{"id":"D2","name":"chronic cough"}"#;
    let documents = r#"{"doc_id":"a","split":"train","text":"bad hayfever (BH) and severe hayfever (SH): BH, hayfever"}
{"doc_id":"c","split":"test","text":"heart failure (HF) and broad hayfever (BH): HF, BH"}"#;
    // D2 is what "bad hayfever" means in training.
    let train = r#"{"doc_id":"a","start":44,"end":46,"text":"BH","id":"D2"}"#;
    let test = r#"{"doc_id":"c","start":44,"end":46,"text":"HF","id":"D0"}
{"doc_id":"c","start":48,"end":50,"text":"BH","id":"D1"}"#;
    for (name, text) in [
        ("kb", kb),
        ("documents", documents),
        ("mentions.train", train),
        ("mentions.test", test),
    ] {
        fs::write(folder.path().join(format!("{name}.jsonl")), text).expect("written");
    }
    folder
}

/// Mentions whose concept comes first, of each system.
fn first(found: &Evaluation) -> Vec<(&str, usize)> {
    found
        .systems
        .iter()
        .map(|system| (system.system.as_str(), system.recall[0].at[0].share.hits))
        .collect()
}

#[test]
fn lexical_systems_expand_short_forms() {
    let folder = corpus();
    let all = [
        "--systems",
        "exact,exact-words,tfidf,bm25,bm25-definitions,majority",
    ];
    let found = measure(folder.path(), &all).expect("measured");
    assert!(found.abbreviations);
    // "HF" is heart failure in this text, whatever else bears the name.
    assert!(
        first(&found).iter().all(|(_, hits)| *hits == 1),
        "{:?}",
        first(&found)
    );
    let kept = measure(
        folder.path(),
        &[&all[..], &["--keep-abbreviations"]].concat(),
    )
    .expect("measured");
    assert!(
        !kept.abbreviations && first(&kept).iter().all(|(_, hits)| *hits == 0),
        "{:?}",
        first(&kept)
    );
    assert!(
        kept.tables().contains("are read as they stand"),
        "{}",
        kept.tables()
    );
    assert!(
        kept.systems
            .iter()
            .all(|system| system.protocol.ends_with("short forms as they stand"))
    );
}

#[test]
fn training_mentions_expand_short_forms_as_test_mentions_do() {
    let folder = corpus();
    let split = TrainingSplit::read(folder.path(), "train").expect("read");
    let [mention] = &split.mentions[..] else {
        panic!("one mention")
    };
    assert_eq!(
        (mention.surface(true), mention.surface(false)),
        ("bad hayfever", "BH")
    );
    // In the test split BH is another kind of hayfever, which training does not know; as it stands
    // it is what training knew.
    let kb = pel_artifacts::concept_table::read(&folder.path().join("kb.jsonl"))
        .expect("read")
        .kb;
    let test = Split::read(folder.path(), "test", 1, &kb, None).expect("read");
    let candidates = |written_out: bool| -> Vec<Vec<u32>> {
        let majority = lexical(System::Majority, &kb, Some(&split), written_out).expect("built");
        let found = majority
            .search(&test.queries().collect::<Vec<_>>(), 3, &mut |_| Ok(()))
            .expect("found");
        found
            .iter()
            .map(|ranked| ranked.iter().map(|found| found.concept.0).collect())
            .collect()
    };
    assert_eq!(
        [candidates(true), candidates(false)],
        [[vec![0], vec![]], [vec![1], vec![2]]]
    );
}

#[test]
fn bundle_sets_expansion_for_every_system() {
    let folder = corpus();
    let open = |abbreviations: bool| {
        move |_: &Path| {
            fixed(&["D0", "D1", "D2"], Vec::new()).map(|opened| BundleRetrievers {
                abbreviations,
                ..opened
            })
        }
    };
    let of = |abbreviations: bool, more: &[&str]| {
        let line = args(
            folder.path(),
            &[&["--bundle", "b", "--systems", "exact"], more].concat(),
        );
        evaluate(&line, open(abbreviations), None)
    };
    for abbreviations in [true, false] {
        let found = of(abbreviations, &[]).expect("measured");
        assert_eq!(found.abbreviations, abbreviations);
        let said = format!("short forms {}", short_forms(abbreviations));
        assert!(
            found.systems[0].protocol.contains(&said),
            "{}",
            found.systems[0].protocol
        );
    }
    assert!(of(false, &["--keep-abbreviations"]).is_ok());
    let error = of(true, &["--keep-abbreviations"])
        .expect_err("the bundle writes them out")
        .to_string();
    assert!(
        error.contains("--keep-abbreviations: expected a bundle"),
        "{error}"
    );
}
