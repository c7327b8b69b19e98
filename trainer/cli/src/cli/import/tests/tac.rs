//! Imports of TAC-KBP files.

use super::Workspace;
use pel_corpora::corpus::{Corpus, MISPLACED, documents};
use pel_corpora::import::annotated::UNKNOWN_CONCEPT;
use pel_corpora::import::{tac, tac_files};
use pel_kb::error::Kind;
use pel_terminologies::import::concepts::CONCEPTS;

const FIXTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/fixtures/formats/tac"
);

#[test]
fn queries_become_mentions_and_others_are_counted() {
    let workspace = Workspace::new(&[]);
    let line = "tac --kb F/kb --documents F/source --train F/training_queries.xml \
                --train-answers F/training_KB_links.tab --test F/evaluation_queries.xml \
                --test-answers F/evaluation_KB_links.tab";
    let report = workspace
        .import(&line.replace("F/", &format!("{FIXTURE}/")))
        .expect("readable");
    assert_eq!((report.kept(CONCEPTS), report.kept("documents")), (3, 2));
    let read = |split: &str| {
        let corpus = Corpus::read(&workspace.path("out"), split).expect("readable");
        assert_eq!(corpus.report.skipped_in_all(), 0, "{split}");
        let text = |id: &Option<String>| id.clone().unwrap_or_else(|| "none".into());
        let of = |placed: pel_corpora::corpus::PlacedMention| {
            (
                placed.mention.text,
                text(&placed.mention.id),
                placed.mention.types.join("+"),
            )
        };
        corpus.mentions.into_iter().map(of).collect::<Vec<_>>()
    };
    let owned = |rows: &[(&str, &str, &str)]| {
        rows.iter()
            .map(|(a, b, c)| (a.to_string(), b.to_string(), c.to_string()))
            .collect::<Vec<_>>()
    };
    // White space and entities of the source are kept in the mention.
    let train = [
        ("Ann\nBrasse", "E0000001", "PER"),
        ("Finch &amp; Sons", "E0000003", "ORG"),
        ("Quill", "NIL00012", "PER"),
    ];
    assert_eq!(read("train"), owned(&train));
    let test = [
        ("Tidewall", "E0000002", "GPE"),
        ("Ann Brasse", "E0000001", "PER"),
        ("Quill", "none", ""),
        ("Tidewall", "E0000002", "GPE"),
    ];
    assert_eq!(read("test"), owned(&test));
    // A document of two splits is assigned to none.
    let splits: Vec<_> = documents(&workspace.path("out"))
        .expect("readable")
        .into_iter()
        .map(|one| (one.doc_id, one.split))
        .collect();
    assert_eq!(
        splits,
        [
            ("TID_ENG_20070101.0001.LDC2009T13".to_owned(), None),
            ("web-0002".to_owned(), Some("test".to_owned()))
        ]
    );
    let skipped = [
        (tac::NO_PLACE, 1),
        (UNKNOWN_CONCEPT, 1),
        (tac::BEYOND, 1),
        (MISPLACED, 1),
        (tac::NO_DOCUMENT, 1),
        (tac::NO_ANSWER, 1),
        (tac::UNKNOWN_QUERY, 1),
        (tac::SECOND_ANSWER, 1),
    ];
    for (reason, count) in skipped {
        assert_eq!(report.skipped(reason), count, "{reason}");
    }
    assert_eq!(report.skipped_in_all(), skipped.len());
    for (reason, count) in [
        (tac::FIRST_PLACE, 4),
        (tac::HALF_OPEN, 1),
        (tac::NOT_ASKED, 1),
        (tac_files::FACT, 3),
    ] {
        assert_eq!(report.noted[reason], count, "{reason}");
    }
    let message = &report.examples[tac::BEYOND][0];
    assert!(
        message.contains("evaluation_queries.xml:27 EL000105 \"Tidewall\" 4000..=4007 of "),
        "{message}"
    );
    let message = &report.examples[MISPLACED][0];
    assert!(
        message.ends_with("EL000106 0..=7: expected \"Tidewall\", found \"<DOC>\\n<D\""),
        "{message}"
    );
    assert!(
        report.examples[tac::UNKNOWN_QUERY][0].ends_with("evaluation_KB_links.tab:9 EL000109"),
        "{report:?}"
    );

    let concepts = workspace.concepts();
    assert_eq!(concepts[0].synonyms, ["Anna Öland", "the Keeper"]);
    let definition = "Ann Brasse Ann Brasse kept the Öland Light & its <lamp> for fifty winters.";
    assert_eq!(
        (concepts[0].definition.as_deref(), &concepts[0].types[..]),
        (Some(definition), &["PER".to_owned()][..])
    );
    assert_eq!(
        (concepts[1].name.as_str(), &concepts[1].synonyms[..]),
        ("Tidewall", &["Tidewall (town)".to_owned()][..])
    );
    assert_eq!(
        (
            concepts[2].name.as_str(),
            concepts[2].types.len(),
            &concepts[2].definition
        ),
        ("Finch & Sons", 0, &None)
    );
}

const KB: &str = "<knowledge_base>\n<entity id=\"E1\" name=\"Été\" \
                  type=\"GPE\"><wiki_text>x</wiki_text></entity>\n</knowledge_base>";
const QUERIES: &str = "<kbpentlinking>\n\
                       <query id=\"EL1\"><name>Été</name><docid>d</docid><beg>1</beg><end>3</end>\
                       </query>\n</kbpentlinking>";

/// A workspace with these four files.
fn workspace(kb: &str, queries: &str, answers: &str, name: &str) -> Workspace {
    Workspace::new(&[
        ("kb.xml", kb.as_bytes()),
        ("q.xml", queries.as_bytes()),
        ("a.tab", answers.as_bytes()),
        (&format!("docs/{name}"), "🐦Été".as_bytes()),
    ])
}

const LINE: &str = "tac --kb @kb.xml --documents @docs --dev @q.xml --dev-answers @a.tab";

#[test]
fn error_names_file_and_line() {
    let good = workspace(KB, QUERIES, "EL1\tE1\n", "d.txt");
    assert_eq!(
        good.import(LINE).expect("readable").kept("mentions (dev)"),
        1
    );
    let without = |text: &str, part: &str| text.replace(part, "");
    for (kb, queries, answers, message) in [
        (
            KB,
            without(QUERIES, "</query>"),
            "EL1\tE1",
            "q.xml: line 3: expected well-formed XML",
        ),
        (
            KB,
            without(QUERIES, "</kbpentlinking>"),
            "EL1\tE1",
            "q.xml: line 3: expected well-formed XML",
        ),
        (
            KB,
            QUERIES.replace("Été", "&ete;"),
            "EL1\tE1",
            "q.xml: line 2: expected well-formed XML",
        ),
        (
            KB,
            QUERIES.replace("query", "question"),
            "EL1\tE1",
            "q.xml: line 2: expected <query>, found <question>",
        ),
        (
            KB,
            without(QUERIES, " id=\"EL1\""),
            "EL1\tE1",
            "q.xml: line 2: the <query> has no id",
        ),
        (
            KB,
            without(QUERIES, "<docid>d</docid>"),
            "EL1\tE1",
            "q.xml: line 2: query EL1: it has no <docid>",
        ),
        (
            KB,
            without(QUERIES, "<end>3</end>"),
            "EL1\tE1",
            "query EL1: it has no <end>",
        ),
        (
            KB,
            QUERIES.replace(">3<", ">-3<"),
            "EL1\tE1",
            "<end> must be the number of a character, and is \"-3\"",
        ),
        (
            KB,
            KB.into(),
            "EL1\tE1",
            "q.xml: line 1: expected <kbpentlinking>, found <knowledge_base>",
        ),
        (
            KB,
            QUERIES.into(),
            "EL1\tE1\nEL1 E1\n",
            "a.tab: line 2: expected 2 to 5 tab-separated columns (query, entity, type), found 1",
        ),
        (
            KB,
            QUERIES.into(),
            "EL1\tE1\tGPE\tNW\tNO\tx",
            "a.tab: line 1: expected 2 to 5 tab-separated columns",
        ),
        (
            KB,
            QUERIES.into(),
            "EL1\t\tGPE",
            "a.tab: line 1: expected 2 to 5 tab-separated columns",
        ),
        (
            QUERIES,
            QUERIES.into(),
            "EL1\tE1",
            "kb.xml: line 1: expected <knowledge_base>, found <kbpentlinking>",
        ),
        (
            "<knowledge_base>\n\n<entity>",
            QUERIES.into(),
            "EL1\tE1",
            "kb.xml: line 3: expected well-formed XML",
        ),
    ] {
        let error = workspace(kb, &queries, answers, "d.txt").refusal(LINE);
        assert!(
            error.kind() == Kind::Input && error.to_string().contains(message),
            "{message}: {error}"
        );
    }
    for (name, line, message) in [
        (
            "d.doc",
            LINE.to_owned(),
            "docs: there are no documents (.xml, .sgm or .txt)",
        ),
        (
            "d.txt",
            LINE.replace(" --dev-answers @a.tab", ""),
            "--dev: give the answers too, with --dev-answers",
        ),
        (
            "d.txt",
            LINE.replace("@kb.xml", "@docs"),
            "docs: there is no file of a knowledge base (.xml)",
        ),
    ] {
        let error = workspace(KB, QUERIES, "EL1\tE1", name)
            .refusal(&line)
            .to_string();
        assert!(error.contains(message), "{message}: {error}");
    }
    for (from, to) in [
        ("@kb.xml", "@none"),
        ("@docs", "@none"),
        ("@q.xml", "@none"),
        ("@a.tab", "@none"),
    ] {
        let error = workspace(KB, QUERIES, "EL1\tE1", "d.txt").refusal(&LINE.replace(from, to));
        assert!(
            error.kind() == Kind::Io && error.to_string().contains("none"),
            "{error}"
        );
    }
}
