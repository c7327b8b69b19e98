//! Imports of PubTator corpora.

use super::Workspace;
use pel_corpora::corpus::{
    Corpus, DUPLICATE_DOCUMENT, DUPLICATE_MENTION, MISPLACED, SAME_SPAN, UNKNOWN_DOCUMENT,
};
use pel_corpora::import::pubtator;
use pel_text::Span;

/// "😷" is one code point: "fever" is at 2..7 of the title, "cough" at 10..15 after the separator.
const PUBTATOR: &str = "1|t|😷 fever
1|a|a cough
1\t2\t7\tfever\tT184\tUMLS:C0015967
1\t11\t16\tcough\tT184,Sign\tUMLS:C0010200
1\t9\t14\tcough\tT184\tUMLS:C0010200
1\t12\t17\tcough\tT184\tUMLS:C0010200
1\t2\t7\tFever\tT184\tUMLS:C0015967
1\t2\t7\tfever\tT184\tC1|C2
1\t2\t7\tfever\tT184\t-1
1\t2\t7\t\tT184\tC1
1\t99999999999999999999\t7\tfever\tT184\tC1
1\tCID\tD1\tD2
7\t0\t1\ta\tT184\tC1

2|t|fever
2|a|
2\t0\t5\tfever\tT184\tUMLS:C0015967
3|t|chill
3\t0\t5\tchill\tT184\tUMLS:C0085593

2|t|again
2\t0\t5\tagain\tT184\tC1
";

#[test]
fn pubtator_offsets_are_checked_and_moved_by_one() {
    for text in [PUBTATOR.to_owned(), PUBTATOR.replace('\n', "\r\n")] {
        let workspace = Workspace::new(&[("a.txt", text.as_bytes())]);
        let report = workspace.import("pubtator @a.txt").expect("readable");
        let corpus = Corpus::read(&workspace.path("out"), "all").expect("readable");
        let texts: Vec<_> = corpus
            .documents
            .iter()
            .map(|document| document.text.as_str())
            .collect();
        assert_eq!(texts, ["😷 fever a cough", "fever ", "chill"]);
        let found: Vec<_> = corpus
            .mentions
            .iter()
            .map(|placed| {
                (
                    placed.document,
                    placed.span.start,
                    placed.mention.id.as_deref().unwrap_or("NIL"),
                )
            })
            .collect();
        // "cough" is at code point 10, byte 13. Two of its three lines are off by one and moved;
        // one is off by two.
        let (fever, cough) = ("C0015967", "C0010200");
        assert_eq!(
            found,
            [
                (0, 5, fever),
                (0, 13, cough),
                (0, 13, cough),
                (0, 5, "C1"),
                (0, 5, "NIL"),
                (1, 0, fever),
                (2, 0, "C0085593")
            ]
        );
        assert_eq!(corpus.mentions[3].mention.other_ids, ["C2"]);
        assert_eq!(corpus.mentions[3].mention.parts, [["C1"], ["C2"]]);
        // "fever" has three different annotations.
        assert_eq!(
            (report.noted[pubtator::COMPOSITE], report.noted[SAME_SPAN]),
            (1, 2)
        );
        assert_eq!(corpus.mentions[1].span, Span::new(13, 18));
        assert_eq!(
            (
                &corpus.mentions[1].mention.types[..],
                corpus.report.skipped_in_all()
            ),
            (&["Sign".to_owned()][..], 0)
        );
        assert_eq!(report.noted[pubtator::MOVED], 2);
        let reasons = [
            (MISPLACED, 2),
            (pubtator::NO_TEXT, 1),
            (pubtator::BAD_LINE, 1),
            (pubtator::RELATION, 1),
            (UNKNOWN_DOCUMENT, 1),
            (DUPLICATE_DOCUMENT, 1),
            (pubtator::MENTION_DUPLICATE, 1),
        ];
        for (reason, count) in reasons {
            assert_eq!(report.skipped(reason), count, "{reason}");
        }
        assert_eq!(
            report.skipped_in_all(),
            reasons.iter().map(|(_, count)| count).sum::<usize>()
        );
        assert!(
            report.examples[MISPLACED][0]
                .ends_with("a.txt:6 12..17: expected \"cough\", found the end of the text"),
            "{report:?}"
        );
    }
}

#[test]
fn split_lists_divide_a_corpus() {
    let workspace = Workspace::new(&[
        ("a.txt", PUBTATOR.as_bytes()),
        ("train", b"1\r\n8\r\n"),
        ("test", b"2\n"),
        ("bad", b"1\n"),
    ]);
    let report = workspace
        .import("pubtator @a.txt --train @train --test @test")
        .expect("readable");
    let seen = |split: &str| {
        let corpus = Corpus::read(&workspace.path("out"), split).expect("readable");
        corpus
            .mentions
            .iter()
            .map(|placed| placed.mention.seen_in_train)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (seen("train"), seen("test")),
        (
            vec![Some(true), Some(true), Some(true), Some(true), None],
            vec![Some(true)]
        )
    );
    assert_eq!(
        (
            report.kept("mentions (train)"),
            report.kept("mentions (test)"),
            report.kept("documents")
        ),
        (5, 1, 2)
    );
    assert_eq!(
        (
            report.skipped(pubtator::NO_SPLIT),
            report.skipped(pubtator::MENTION_NO_SPLIT)
        ),
        (1, 1)
    );
    assert_eq!(report.examples[pubtator::NOT_THERE], ["8 of train"]);
    std::fs::remove_dir_all(workspace.path("out")).expect("removed");
    let message = workspace
        .refusal("pubtator @a.txt --train @train --dev @bad")
        .to_string();
    assert!(
        message
            .contains("bad: line 1: expected each document in one list, found 1 in train and dev"),
        "{message}"
    );
}

/// Identifiers of tmVar, PubTator Central and BC5CDR, with a NUL, an empty abstract and ASCII
/// spellings.
const IDENTIFIERS: &str = "1|t|Iron in \0carriers
1|a|The p.C282Y variant of c.845G>A; IL-1β rose.
1\t9\t17\tcarriers\tDisease\t-
1\t22\t29\tp.C282Y\tProteinMutation\tp|SUB|C|282|Y\tRSID:1800562
1\t22\t29\tp.C282Y\tProteinMutation\tp|SUB|C|282|Y;RS#:1800562
1\t41\t49\tc.845G>A\tDNAMutation\tc|SUB|G|845|A
1\t51\t56\tIL-1b\tGene\t3553(Tax:9606)
1\t51\t56\tIL-2b\tGene\t3558

2|t|Breast and ovarian cancer
2|a|
2\t0\t25\tBreast and ovarian cancer\tDisease\tD001943|D010051\tbreast cancer|ovarian cancer
2\t8\t10\tnd\tDisease\tD\u{1b}1
2\t11\t25\tovarian cancer\tDisease\tMESH:D010051*
";

#[test]
fn variant_and_composite_identifiers_are_read() {
    let workspace = Workspace::new(&[
        ("a.txt", IDENTIFIERS.as_bytes()),
        ("train", b"1\n"),
        ("test", b"2\n"),
    ]);
    let report = workspace
        .import("pubtator @a.txt --prefix MESH: --train @train --test @test")
        .expect("readable");
    let read = |split: &str| {
        let corpus = Corpus::read(&workspace.path("out"), split).expect("readable");
        let shown = |found: &pel_corpora::corpus::PlacedMention| {
            format!(
                "{} {}",
                found.mention.text,
                found.mention.ids().collect::<Vec<_>>().join(" or ")
            )
        };
        corpus.mentions.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(
        read("train"),
        [
            "carriers ",
            "p.C282Y p|SUB|C|282|Y",
            "c.845G>A c|SUB|G|845|A",
            "IL-1β 3553"
        ]
    );
    assert_eq!(
        read("test"),
        [
            "Breast and ovarian cancer D001943 or D010051",
            "ovarian cancer D010051"
        ]
    );
    for (reason, count) in [
        (MISPLACED, 1),
        (DUPLICATE_MENTION, 1),
        (pubtator::CONTROL_IN_ID, 1),
    ] {
        assert_eq!(report.skipped(reason), count, "{reason}: {report:?}");
    }
    assert_eq!(report.skipped_in_all(), 3);
    for (reason, count) in [
        (pubtator::COMPOSITE, 1),
        (pubtator::ANNEX, 3),
        (pubtator::RESPELLED, 1),
    ] {
        assert_eq!(report.noted[reason], count, "{reason}: {report:?}");
    }
    assert!(
        report.examples[MISPLACED][0].contains("expected \"IL-2b\", found \"IL-1β\""),
        "{report:?}"
    );
    assert!(
        report.examples[DUPLICATE_MENTION][0].contains("a.txt:5"),
        "{report:?}"
    );
}

#[test]
fn mention_is_seen_if_any_of_its_concepts_is() {
    let text = "1|t|fever\n1\t0\t5\tfever\tDisease\tD2\n\n\
                2|t|fever and cough\n2\t0\t15\tfever and cough\tDisease\tD1|D2\n";
    let workspace = Workspace::new(&[
        ("a.txt", text.as_bytes()),
        ("train", b"1\n"),
        ("test", b"2\n"),
    ]);
    workspace
        .import("pubtator @a.txt --train @train --test @test")
        .expect("readable");
    let corpus = Corpus::read(&workspace.path("out"), "test").expect("readable");
    assert_eq!(corpus.mentions[0].mention.seen_in_train, Some(true));
}

#[test]
fn duplicate_mentions_are_skipped_and_other_concepts_noted() {
    let text = "7|t|XPA and fever
7|a|
7\t8\t13\tfever\tT184\tC1
7\t8\t13\tfever\tT184\tC1
7\t0\t3\tXPA\tT028\tC2
7\t0\t3\tXPA\tT116,T123\tC3
7\t8\t13\tfever\tT184\tC1
";
    let workspace = Workspace::new(&[("a.txt", text.as_bytes())]);
    let report = workspace.import("pubtator @a.txt").expect("readable");
    assert_eq!(
        (
            report.kept("mentions (all)"),
            report.skipped(DUPLICATE_MENTION),
            report.noted[SAME_SPAN]
        ),
        (3, 2, 1)
    );
    assert!(
        report.examples[DUPLICATE_MENTION][0].contains("a.txt:4 \"fever\" C1"),
        "{report:?}"
    );
    assert!(
        report.examples[SAME_SPAN][0].contains("a.txt:6 \"XPA\" C3"),
        "{report:?}"
    );
}
