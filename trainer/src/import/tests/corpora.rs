//! Imports of PubTator corpora, read back.

use super::Bench;
use crate::corpus::{Corpus, DUPLICATE_DOCUMENT, MISPLACED, UNKNOWN_DOCUMENT};
use crate::import::pubtator;
use pel_shared::text::Span;

/// "😷" is one code point: "fever" stands at 2..7 of the title, "cough" at 10..15 behind the separator.
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
fn pubtator_offsets_are_checked_and_repaired_by_one() {
    for text in [PUBTATOR.to_owned(), PUBTATOR.replace('\n', "\r\n")] {
        let bench = Bench::new(&[("a.txt", text.as_bytes())]);
        let report = bench.import("pubtator @a.txt").expect("readable");
        let corpus = Corpus::read(&bench.path("out"), "all").expect("readable");
        let texts: Vec<_> = corpus.documents.iter().map(|document| document.text.as_str()).collect();
        assert_eq!(texts, ["😷 fever a cough", "fever ", "chill"]);
        let found: Vec<_> = corpus
            .mentions
            .iter()
            .map(|placed| (placed.document, placed.span.start, placed.mention.id.as_deref().unwrap_or("NIL")))
            .collect();
        // "cough" is at code point 10, byte 13; two of its three lines are one off and repaired, one is two off.
        let (fever, cough) = ("C0015967", "C0010200");
        assert_eq!(
            found,
            [(0, 5, fever), (0, 13, cough), (0, 13, cough), (0, 5, "NIL"), (1, 0, fever), (2, 0, "C0085593")]
        );
        assert_eq!(corpus.mentions[1].span, Span::new(13, 18));
        assert_eq!(
            (&corpus.mentions[1].mention.types[..], corpus.report.skipped_in_all()),
            (&["Sign".to_owned()][..], 0)
        );
        assert_eq!(report.noted[pubtator::MOVED], 2);
        let reasons = [
            (MISPLACED, 2),
            (pubtator::SEVERAL, 1),
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
        assert_eq!(report.skipped_in_all(), reasons.iter().map(|(_, count)| count).sum::<usize>());
        assert!(
            report.examples[MISPLACED][0].ends_with("a.txt:6 12..17: expected \"cough\", found nothing"),
            "{report:?}"
        );
    }
}

#[test]
fn split_files_divide_a_corpus() {
    let bench =
        Bench::new(&[("a.txt", PUBTATOR.as_bytes()), ("train", b"1\r\n8\r\n"), ("test", b"2\n"), ("bad", b"1\n")]);
    let report = bench.import("pubtator @a.txt --train @train --test @test").expect("readable");
    let seen = |split: &str| {
        let corpus = Corpus::read(&bench.path("out"), split).expect("readable");
        corpus.mentions.iter().map(|placed| placed.mention.seen_in_train).collect::<Vec<_>>()
    };
    assert_eq!((seen("train"), seen("test")), (vec![Some(true), Some(true), Some(true), None], vec![Some(true)]));
    assert_eq!((report.kept("mentions (train)"), report.kept("mentions (test)"), report.kept("documents")), (4, 1, 2));
    assert_eq!((report.skipped(pubtator::NO_SPLIT), report.skipped(pubtator::MENTION_NO_SPLIT)), (1, 1));
    assert_eq!(report.examples[pubtator::NOT_THERE], ["8 of train"]);
    std::fs::remove_dir_all(bench.path("out")).expect("removed");
    let said = bench.refusal("pubtator @a.txt --train @train --dev @bad").to_string();
    assert!(said.contains("bad: line 1: document 1 is listed for train and for dev"), "{said}");
}
