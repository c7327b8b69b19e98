//! `pel split okb` on a corpus that can be checked by hand.

use super::*;
use crate::split::Split;
use pel_artifacts::concept_table;
use pel_index::metrics::Share;
use pel_kb::error::Kind;
use std::path::Path;

const FILES: [(&str, &str); 5] = [
    (
        "kb.jsonl",
        r#"{"id":"D0","name":"Fever","synonyms":["pyrexia"],"types":["Sign"],"type_ids":["T1"],"definition":"a high temperature","extra":7}
{"id":"D1","name":"cough","types":["Sign"],"type_ids":["T1"]}
{"id":"D2","name":"aspirin","types":["Drug"],"type_ids":["T2"],"definition":"one two three four five"}
{"id":"D3","name":"ibuprofen","synonyms":["Cough"],"types":["Drug"],"type_ids":["T2"]}
{"id":"D4","name":"plaster","types":["Device"],"type_ids":["T3"]}"#,
    ),
    (
        "documents.jsonl",
        r#"{"doc_id":"a","split":"train","text":"fever, aspirin, hot, itch"}
{"doc_id":"b","split":"dev","text":"fever, hot, cough, aspirin"}
{"doc_id":"c","split":"test","text":"Pyrexia, ibuprofen, rash"}"#,
    ),
    (
        "mentions.train.jsonl",
        r#"{"doc_id":"a","start":0,"end":5,"text":"fever","id":"D0"}
{"doc_id":"a","start":7,"end":14,"text":"aspirin","id":"D2","type":"Sign"}
{"doc_id":"a","start":16,"end":19,"text":"hot","id":"D2"}
{"doc_id":"a","start":21,"end":25,"text":"itch","id":"X1","tui":"T9"}"#,
    ),
    (
        "mentions.dev.jsonl",
        r#"{"doc_id":"b","start":0,"end":5,"text":"fever","id":"D0"}
{"doc_id":"b","start":7,"end":10,"text":"hot","cui":"D0"}
{"doc_id":"b","start":12,"end":17,"text":"cough","id":"D1"}
{"doc_id":"b","start":19,"end":26,"text":"aspirin","id":"D2"}
{"doc_id":"b","start":0,"end":6,"text":"fever","id":"D0"}"#,
    ),
    (
        "mentions.test.jsonl",
        r#"{"doc_id":"c","start":0,"end":7,"text":"Pyrexia","id":"D0","types":["Drug"]}
{"doc_id":"c","start":9,"end":18,"text":"ibuprofen","id":"D3"}
{"doc_id":"c","start":20,"end":24,"text":"rash","id":"X2"}"#,
    ),
];

struct TestCorpus(tempfile::TempDir);

impl TestCorpus {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in FILES {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn material(&self) -> Material {
        Material::read(self.0.path(), &self.path("kb.jsonl"), "train").expect("read")
    }

    fn hold_out(&self, types: &[&str], out: &Path) -> pel_kb::error::Result<OkbReport> {
        let types = types.iter().map(|text| (*text).to_owned()).collect();
        let okb = Okb {
            corpus: self.0.path().into(),
            kb: self.path("kb.jsonl"),
            types,
            out: out.into(),
        };
        hold_out(&self.material(), &okb)
    }
}

fn share(hits: usize, of: usize) -> Share {
    Share { hits, of }
}

#[test]
fn statistics_equal_counts_by_hand() {
    let corpus = TestCorpus::new();
    let found = corpus
        .hold_out(&["sign"], &corpus.path("okb"))
        .expect("written")
        .statistics;
    assert_eq!(found.held_out, share(5, 9));
    let [train, dev, test] = &found.splits[..] else {
        panic!("three splits in their order")
    };
    assert_eq!(
        [&train.split, &dev.split, &test.split],
        ["train", "dev", "test"]
    );
    let subset = |mentions, entities_seen, zero_shot| Subset {
        mentions,
        entities_seen,
        zero_shot,
    };
    assert_eq!(
        (train.held_out, train.whole),
        (
            subset(1, share(1, 1), share(0, 1)),
            subset(3, share(2, 2), share(0, 3))
        )
    );
    // fever and hot are D0, which training has; cough is D1, which it has not.
    assert_eq!(
        (dev.held_out, dev.whole),
        (
            subset(3, share(1, 2), share(1, 3)),
            subset(4, share(2, 3), share(1, 4))
        )
    );
    assert_eq!(
        (test.held_out, test.whole),
        (
            subset(1, share(1, 1), share(0, 1)),
            subset(2, share(1, 2), share(1, 2))
        )
    );
    assert_eq!(
        [train.natural_nil, dev.natural_nil, test.natural_nil],
        [1, 0, 1]
    );
    // cough is also a name of D3, which stays; training links hot to D2, which stays, and calls
    // aspirin a Sign.
    assert_eq!(
        (
            dev.named_like_others,
            dev.linked_in_training,
            train.other_type
        ),
        (1, 1, 1)
    );
    // The corpus calls Pyrexia a Drug.
    assert_eq!(
        (test.typed_otherwise, train.typed_otherwise, test.other_type),
        (1, 0, 0)
    );
    let [sign] = &found.types[..] else {
        panic!("one type")
    };
    assert_eq!(
        (sign.concepts, &sign.zero_shot[..]),
        (2, &[share(0, 1), share(1, 3), share(0, 1)][..])
    );
    let [train_dev, train_test, dev_test] = &found.overlaps[..] else {
        panic!("three pairs")
    };
    let of = |surfaces, mentions| OverlapOf { surfaces, mentions };
    assert_eq!(train_dev.held_out, of(share(1, 3), share(1, 3)));
    assert_eq!(train_dev.whole, of(share(3, 4), share(3, 4)));
    assert_eq!(
        (train_test.held_out.surfaces, dev_test.whole.surfaces),
        (share(0, 1), share(0, 2))
    );
    // 3 and 0 words against 0, 0, 3 and 5: D4 has no mention.
    let [held, whole] = found.descriptions_mentioned;
    assert_eq!(
        (held.concepts, held.described, held.mean, held.quartiles),
        (2, share(1, 2), 1.5, [0, 0, 3])
    );
    assert_eq!(
        (whole.concepts, whole.described, whole.mean, whole.quartiles),
        (4, share(2, 4), 2.0, [0, 0, 3])
    );
    assert_eq!(found.descriptions.map(|lengths| lengths.concepts), [2, 5]);
}

#[test]
fn written_data_set_can_be_read() {
    let corpus = TestCorpus::new();
    let out = corpus.path("okb");
    std::fs::write(
        corpus.path("LICENSES.md"),
        "| Source | Licence |\n| --- | --- |\n| A | CC0 |\n",
    )
    .expect("written");
    let report = corpus.hold_out(&["T1"], &out).expect("written");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect(name);
    assert_eq!(
        read("held_out.jsonl").lines().collect::<Vec<_>>(),
        FILES[0].1.lines().take(2).collect::<Vec<_>>()
    );
    let kb = concept_table::read(&out.join("kb.jsonl")).expect("a table");
    assert_eq!((kb.kb.len(), &kb.blake3), (3, &report.kb_without_blake3));
    assert_eq!((report.concepts_before, report.concepts_held_out), (5, 2));
    assert!(read("LICENSES.md").contains("CC0"));
    assert!(
        read("mentions.dev.jsonl")
            .starts_with(r#"{"doc_id":"b","start":0,"end":5,"text":"fever","id":"NIL:D0""#)
    );
    let counts = |split: &str| {
        let counts = Split::read(&out, split, 1, &kb.kb, None)
            .expect("read")
            .counts;
        (counts.mentions, counts.in_kb, counts.nil, counts.held_out)
    };
    assert_eq!(
        [counts("train"), counts("dev"), counts("test")],
        [(4, 2, 2, 1), (4, 1, 3, 3), (3, 1, 2, 1)]
    );
    // The misplaced mention of the corpus is counted as skipped.
    assert_eq!(report.skipped["dev"].skipped_in_all(), 1);
    let text = read("okb.txt");
    for part in [
        "Held out: T1 Sign",
        "5 of 9 mentions that could be linked (55.6 %)",
        "Skipped in reading the split dev: 1 x",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&read("okb.json")).expect("JSON");
    assert_eq!(
        json["statistics"]["splits"][1]["held_out"]["zero_shot"]["hits"],
        1
    );
    // A second run writes the same files.
    let again = corpus.path("again");
    corpus.hold_out(&["Sign"], &again).expect("written");
    for name in [
        "kb.jsonl",
        "held_out.jsonl",
        "documents.jsonl",
        "mentions.train.jsonl",
        "okb.txt",
    ] {
        assert_eq!(
            read(name),
            std::fs::read_to_string(again.join(name)).expect(name),
            "{name}"
        );
    }
}

#[test]
fn proposed_set_is_near_the_target() {
    let corpus = TestCorpus::new();
    let material = corpus.material();
    let found = suggest(&material, 0.55).expect("a set");
    let rows: Vec<_> = found
        .types
        .iter()
        .map(|one| (one.semantic_type.words(), one.concepts, one.share()))
        .collect();
    let row = |words: &str, concepts, hits| (words.to_owned(), concepts, share(hits, 9));
    assert_eq!(
        rows,
        [
            row("T1 Sign", 2, 5),
            row("T2 Drug", 2, 4),
            row("T3 Device", 1, 0)
        ]
    );
    assert_eq!(
        found
            .proposed
            .iter()
            .map(SemanticType::short)
            .collect::<Vec<_>>(),
        ["T1"]
    );
    assert_eq!(
        (&found.shares[..], found.concepts),
        (&[share(1, 3), share(3, 4), share(1, 2)][..], 2)
    );
    // Shares: (|1/3-.55| + |3/4-.55| + |1/2-.55|) / .55 / 3; zero-shot: (|1/3-1/4|*4 + |0-1/2|*2) /
    // 2; length: |1.5-2|/2.
    let off = (0.55 - 1.0 / 3.0 + 0.2 + 0.05) / 0.55 / 3.0 + (1.0 / 3.0 + 1.0) / 2.0 + 0.25;
    assert!(
        (found.off - off).abs() < 1e-12,
        "{} is not {off}",
        found.off
    );
    let text = found.text(&["train".into(), "dev".into(), "test".into()]);
    assert!(
        text.contains("--types T1\n") && text.contains("dev 75.0 % (33.3 % zero-shot)"),
        "{text}"
    );
    let error = suggest(&material, 0.1)
        .expect_err("both are larger")
        .to_string();
    assert!(
        error.contains("expected a type with at most 10.0 %"),
        "{error}"
    );
}

#[test]
fn useless_choices_are_refused_and_write_nothing() {
    let corpus = TestCorpus::new();
    let out = corpus.path("okb");
    for (types, message) in [
        (&["Sing"][..], "did you mean T1 Sign?"),
        (
            &["T9"],
            "expected a type with concepts in the knowledge base, found T9 in 1 mentions only",
        ),
        (&["T3"], "nothing would become NIL"),
        (
            &["T1,T2,T3"],
            "found that every concept has one of these types",
        ),
        (
            &["T1,Drug"],
            "expected linkable mentions in the split train, found that all 3",
        ),
    ] {
        let error = corpus.hold_out(types, &out).expect_err(message);
        assert!(
            error.kind() == Kind::Input && error.to_string().contains(message),
            "{error}"
        );
        assert!(!out.exists(), "{message}");
    }
    let error = corpus
        .hold_out(&["T1"], corpus.0.path())
        .expect_err("its own folder")
        .to_string();
    assert!(error.contains("this folder is an input"), "{error}");
    assert_eq!(
        std::fs::read_to_string(corpus.path("kb.jsonl")).expect("read"),
        FILES[0].1
    );

    let read = |train: &str, kb: &str| {
        Material::read(corpus.0.path(), &corpus.path(kb), train)
            .err()
            .expect("refused")
            .to_string()
    };
    assert!(read("training", "kb.jsonl").contains("found the splits train, dev, test"));
    std::fs::write(corpus.path("other.jsonl"), r#"{"id":"Z","name":"z"}"#).expect("written");
    assert!(
        read("train", "other.jsonl")
            .contains("expected mentions with a concept of the knowledge base")
    );
    std::fs::write(corpus.path("untyped.jsonl"), r#"{"id":"D0","name":"z"}"#).expect("written");
    let material =
        Material::read(corpus.0.path(), &corpus.path("untyped.jsonl"), "train").expect("read");
    assert!(
        suggest(&material, 0.12)
            .expect_err("no types")
            .to_string()
            .contains("expected concepts with types, found none")
    );
}

#[test]
fn parts_of_composite_mentions_lose_held_out_concepts() {
    let corpus = TestCorpus::new();
    let mentions = r#"{"doc_id":"c","start":0,"end":7,"text":"Pyrexia","id":"D0","other_ids":["D3","D2"],"parts":[["D0"],["D3","D2"]]}
{"doc_id":"c","start":9,"end":18,"text":"ibuprofen","id":"D3","other_ids":["D1","D2"],"parts":[["D3","D1"],["D2"]]}
{"doc_id":"c","start":20,"end":24,"text":"rash","id":"D3","other_ids":["D1"],"parts":[["D3"],["D1"]]}"#;
    std::fs::write(corpus.path("mentions.test.jsonl"), mentions).expect("written");
    let out = corpus.path("okb");
    corpus.hold_out(&["T1"], &out).expect("written");
    let read = crate::corpus::Corpus::read(&out, "test").expect("read");
    let parts = |placed: &crate::corpus::PlacedMention| {
        let parts: Vec<String> = placed
            .mention
            .parts
            .iter()
            .map(|part| part.join(";"))
            .collect();
        parts.join("|")
    };
    assert_eq!(
        read.mentions.iter().map(parts).collect::<Vec<_>>(),
        ["NIL:D0|D3;D2", "D3|D2", ""]
    );
}
