//! Imports of ZESHEL, BLINK and WikilinksNED.

use super::Workspace;
use pel_corpora::corpus::{Corpus, MISPLACED, UNKNOWN_DOCUMENT, documents};
use pel_corpora::import::annotated::{SECOND_CONCEPT, UNKNOWN_CONCEPT};
use pel_corpora::import::pubtator::NO_TEXT;
use pel_corpora::import::zeshel::OTHER_WORLD;
use pel_kb::error::Kind;

/// Invented data in the format of the release.
const YUGIOH: &str = r#"{"document_id": "00A1", "title": "Kuriboh", "text": "Kuriboh Kuriboh is a small fiend ."}
{"document_id": "00A2", "title": "Dark  Magician", "text": "Dark Magician meets été Kuriboh ( anime ) there ."}
"#;
const LEGO: &str = r#"{"document_id": "00B1", "title": "Brick", "text": "Brick a plastic block ."}
"#;
const TRAIN: &str = r#"{"mention_id": "1", "context_document_id": "00A2", "start_index": 4, "end_index": 6, "text": "Kuriboh ( anime", "category": "LOW_OVERLAP", "corpus": "yugioh", "label_document_id": "00A1"}
{"mention_id": "2", "context_document_id": "00A2", "start_index": 0, "end_index": 0, "text": "Magician", "category": "x", "corpus": "yugioh", "label_document_id": "00A2"}
{"mention_id": "3", "context_document_id": "00ZZ", "start_index": 0, "end_index": 0, "text": "x", "category": "x", "corpus": "yugioh", "label_document_id": "00A2"}
{"mention_id": "4", "context_document_id": "00A2", "start_index": 0, "end_index": 1, "text": "Dark Magician", "category": "x", "corpus": "yugioh", "label_document_id": "00ZZ"}
"#;
const VAL: &str = r#"{"mention_id": "5", "context_document_id": "00B1", "start_index": 0, "end_index": 0, "text": "Brick", "category": "HIGH_OVERLAP", "corpus": "lego", "label_document_id": "00B1"}
"#;

#[test]
fn zeshel_worlds_and_word_offsets_are_imported() {
    // Another concept, since equal mentions of both files would be merged.
    let unseen = VAL.replace(
        r#""label_document_id": "00B1""#,
        r#""label_document_id": "00A1""#,
    );
    let workspace = Workspace::new(&[
        ("z/documents/yugioh.json", YUGIOH.as_bytes()),
        ("z/documents/lego.json", LEGO.as_bytes()),
        ("z/mentions/train.json", TRAIN.as_bytes()),
        ("z/mentions/val.json", VAL.as_bytes()),
        ("z/mentions/heldout_train_seen.json", VAL.as_bytes()),
        ("z/mentions/heldout_train_unseen.json", unseen.as_bytes()),
    ]);
    let report = workspace.import("zeshel @z").expect("readable");
    let concepts = workspace.concepts();
    let ids: Vec<_> = concepts
        .iter()
        .map(|concept| (concept.id.as_str(), concept.sources[0].as_str()))
        .collect();
    assert_eq!(
        ids,
        [("00B1", "lego"), ("00A1", "yugioh"), ("00A2", "yugioh")]
    );
    assert_eq!(concepts[2].name, "Dark Magician");
    let train = Corpus::read(&workspace.path("out"), "train").expect("readable");
    assert_eq!(
        (train.mentions.len(), train.report.skipped_in_all()),
        (1, 0)
    );
    assert_eq!(train.mentions[0].mention.text, "Kuriboh ( anime");
    assert_eq!(
        (
            train.mentions[0].mention.start,
            train.mentions[0].mention.seen_in_train
        ),
        (24, Some(true))
    );
    let dev = Corpus::read(&workspace.path("out"), "dev").expect("readable");
    assert_eq!(dev.mentions[0].mention.id.as_deref(), Some("00B1"));
    assert_eq!(
        Corpus::read(&workspace.path("out"), "heldout")
            .expect("readable")
            .mentions
            .len(),
        2
    );
    let domains: Vec<_> = documents(&workspace.path("out"))
        .expect("readable")
        .into_iter()
        .map(|one| one.domain)
        .collect();
    assert_eq!(
        domains,
        [Some("lego".to_owned()), Some("yugioh".to_owned())]
    );
    for (reason, count) in [(MISPLACED, 1), (UNKNOWN_DOCUMENT, 1), (UNKNOWN_CONCEPT, 1)] {
        assert_eq!(report.skipped(reason), count, "{reason}");
    }
    assert!(report.noted.is_empty(), "{report:?}");
    let message = &report.examples[MISPLACED][0];
    assert!(
        message.ends_with("train.json:2 words 0 to 0: expected \"Magician\", found \"Dark\""),
        "{message}"
    );
}

#[test]
fn invalid_zeshel_is_refused() {
    let workspace = |pages: &[u8]| {
        let (train, val) = (
            ("z/mentions/train.json", TRAIN.as_bytes()),
            ("z/mentions/val.json", VAL.as_bytes()),
        );
        Workspace::new(&[
            ("z/documents/yugioh.json", YUGIOH.as_bytes()),
            train,
            val,
            ("z/documents/lego.json", pages),
            ("y/x", b""),
        ])
    };
    let refusal = |pages: &[u8]| workspace(pages).refusal("zeshel @z").to_string();
    let error = refusal(b"{}");
    assert!(
        error.contains("lego.json") && error.contains("missing field"),
        "{error}"
    );
    // A world without entities.
    let error = refusal(b"\n");
    assert!(
        error.contains("lego.json: there are no pages of the world lego"),
        "{error}"
    );
    let without = workspace(LEGO.as_bytes());
    std::fs::remove_file(without.path("z/documents/lego.json")).expect("removed");
    let error = without.refusal("zeshel @z").to_string();
    assert!(
        error.contains("val.json")
            && error.contains("line 1")
            && error.contains("the world lego of the mention has no file "),
        "{error}"
    );
    assert_eq!(without.refusal("zeshel @y").kind(), Kind::Io);
}

#[test]
fn duplicate_pages_and_other_worlds_are_counted() {
    let again = r#"{"document_id": "00A1", "title": "Kuriboh", "text": "Other words ."}"#;
    let there = VAL.replace("lego", "yugioh");
    let workspace = Workspace::new(&[
        ("z/documents/yugioh.json", YUGIOH.as_bytes()),
        (
            "z/documents/lego.json",
            format!("{LEGO}{again}\n").as_bytes(),
        ),
        ("z/mentions/val.json", there.as_bytes()),
    ]);
    let report = workspace.import("zeshel @z").expect("readable");
    assert_eq!(
        (report.skipped(SECOND_CONCEPT), report.noted[OTHER_WORLD]),
        (1, 1)
    );
    let message = &report.examples[SECOND_CONCEPT][0];
    assert!(
        message.starts_with("00A1 at ") && message.ends_with("yugioh.json:1"),
        "{message}"
    );
}

const BLINK: &str = r#"{"context_left": "No", "mention": "fever", "context_right": "today .", "label_id": 0, "label_title": "Fever", "label": "A high temperature.", "world": "signs"}
{"context_left": "", "mention": " ", "context_right": "", "label_id": 1, "label_title": "Cough", "label": ""}
{"context_left": "", "mention": "cough", "context_right": "", "label_id": "12", "label_title": "Cough", "label": "Sudden air."}
{"context_left": "a dry", "mention": "cough", "context_right": "", "label_id": "99", "label_title": "Nothing", "label": ""}
"#;

#[test]
fn blink_is_imported_with_and_without_tables() {
    let entities = r#"{"title": "Fever", "text": "A high temperature.", "document_id": "S7"}
{"entity": "Cough", "text": "Sudden air.", "idx": "https://en.wikipedia.org/wiki?curid=12"}
"#;
    let workspace = Workspace::new(&[
        ("train.jsonl", BLINK.as_bytes()),
        ("signs.jsonl", entities.as_bytes()),
    ]);
    std::fs::create_dir(workspace.path("tables")).expect("made");
    std::fs::copy(
        workspace.path("signs.jsonl"),
        workspace.path("tables/signs.jsonl"),
    )
    .expect("copied");
    std::fs::write(workspace.path("tables/README.md"), "words").expect("written");
    workspace
        .import("blink --entities @tables --train @train.jsonl")
        .expect("a folder of tables");
    let folder = workspace.concepts();
    let report = workspace
        .import("blink --entities @signs.jsonl --train @train.jsonl")
        .expect("readable");
    assert_eq!(workspace.concepts(), folder);
    let ids: Vec<_> = workspace
        .concepts()
        .into_iter()
        .map(|concept| concept.id)
        .collect();
    assert_eq!(ids, ["S7", "12"]);
    let corpus = Corpus::read(&workspace.path("out"), "train").expect("readable");
    let found: Vec<_> = corpus
        .mentions
        .iter()
        .map(|placed| placed.mention.id.as_deref().unwrap_or(""))
        .collect();
    // The first is line 0 of its world, the second an identifier.
    assert_eq!(
        (found, corpus.documents[0].text.as_str()),
        (vec!["S7", "12"], "No fever today .")
    );
    assert_eq!(
        (report.skipped(NO_TEXT), report.skipped(UNKNOWN_CONCEPT)),
        (1, 1)
    );

    let workspace = Workspace::new(&[("train.jsonl", BLINK.as_bytes())]);
    workspace
        .import("blink --train @train.jsonl")
        .expect("readable");
    let names: Vec<_> = workspace
        .concepts()
        .into_iter()
        .map(|concept| (concept.id, concept.name))
        .collect();
    let expected = [("signs:0", "Fever"), ("12", "Cough"), ("99", "Nothing")];
    assert_eq!(
        names,
        expected.map(|(id, name)| (id.to_owned(), name.to_owned()))
    );
    // Line numbers restart in each world, with tables and without.
    let of_worlds = |world: &str, title: &str| {
        format!(
            r#"{{"context_left": "a", "mention": "brick", "context_right": "", "label_id": 0, "label_title": "{title}", "world": "{world}"}}"#
        ) + "\n"
    };
    let train = of_worlds("lego", "Brick") + &of_worlds("yugioh", "Kuriboh");
    let entity = |title: &str| format!("{{\"title\": \"{title}\", \"text\": \"\"}}\n");
    let (lego, yugioh) = (entity("Brick"), entity("Kuriboh"));
    let workspace = Workspace::new(&[
        ("train.jsonl", train.as_bytes()),
        ("lego.jsonl", lego.as_bytes()),
        ("yugioh.jsonl", yugioh.as_bytes()),
    ]);
    for entities in ["", "--entities @lego.jsonl --entities @yugioh.jsonl "] {
        workspace
            .import(&format!("blink {entities}--train @train.jsonl"))
            .expect("readable");
        let names: Vec<_> = workspace
            .concepts()
            .into_iter()
            .map(|concept| (concept.id, concept.name))
            .collect();
        let expected = [("lego:0", "Brick"), ("yugioh:0", "Kuriboh")];
        assert_eq!(
            names,
            expected.map(|(id, name)| (id.to_owned(), name.to_owned()))
        );
        let corpus = Corpus::read(&workspace.path("out"), "train").expect("readable");
        let found: Vec<_> = corpus
            .mentions
            .iter()
            .filter_map(|placed| placed.mention.id.clone())
            .collect();
        assert_eq!(found, ["lego:0", "yugioh:0"]);
    }
    // A line number is meaningless in a world without a table.
    let report = workspace
        .import("blink --entities @yugioh.jsonl --train @train.jsonl")
        .expect("readable");
    let corpus = Corpus::read(&workspace.path("out"), "train").expect("readable");
    let found: Vec<_> = corpus
        .mentions
        .iter()
        .filter_map(|placed| placed.mention.id.clone())
        .collect();
    assert_eq!(
        (found, report.skipped(UNKNOWN_CONCEPT)),
        (vec!["0".to_owned()], 1)
    );
    let workspace = Workspace::new(&[
        ("train.jsonl", train.as_bytes()),
        ("lego.jsonl", b"\n"),
        ("yugioh.jsonl", yugioh.as_bytes()),
    ]);
    let error = workspace
        .refusal("blink --entities @lego.jsonl --entities @yugioh.jsonl --train @train.jsonl")
        .to_string();
    assert!(
        error.contains("lego.jsonl: there are no entities of the world lego"),
        "{error}"
    );
    // A mention's domain takes the name of its table, without spaces, which is the source of its
    // concepts.
    let spaced = of_worlds("final fantasy", "Moogle");
    let moogle = entity("Moogle");
    let workspace = Workspace::new(&[
        ("train.jsonl", spaced.as_bytes()),
        ("final_fantasy.jsonl", moogle.as_bytes()),
    ]);
    workspace
        .import("blink --entities @final_fantasy.jsonl --train @train.jsonl")
        .expect("readable");
    let corpus = Corpus::read(&workspace.path("out"), "train").expect("readable");
    assert_eq!(corpus.documents[0].domain.as_deref(), Some("final_fantasy"));
    assert_eq!(workspace.concepts()[0].sources, ["final_fantasy"]);
    let workspace = Workspace::new(&[(
        "bad.jsonl",
        br#"{"context_left": "", "mention": 7, "context_right": "", "label_id": 0}"#,
    )]);
    let error = workspace.refusal("blink --train @bad.jsonl").to_string();
    assert!(
        error.contains("bad.jsonl") && error.contains("field `mention`"),
        "{error}"
    );
}

#[test]
fn wikilinks_contexts_are_imported() {
    let lines = r#"{"ex_id": "a", "left_context": ["he", "had"], "word": "fever", "right_context": ["."], "wikiId": 77, "y_title": "High_fever"}
{"ex_id": "b", "left_context": "no", "word": "cough", "right_context": "", "wikiId": "78"}
"#;
    let workspace = Workspace::new(&[("dev.jsonl", lines.as_bytes())]);
    workspace
        .import("wikilinks --dev @dev.jsonl")
        .expect("readable");
    let names: Vec<_> = workspace
        .concepts()
        .into_iter()
        .map(|concept| (concept.id, concept.name))
        .collect();
    assert_eq!(
        names,
        [
            ("77".to_owned(), "High fever".to_owned()),
            ("78".to_owned(), "78".to_owned())
        ]
    );
    let corpus = Corpus::read(&workspace.path("out"), "dev").expect("readable");
    assert_eq!(corpus.documents[0].text, "he had fever .");
    assert_eq!(corpus.mentions[1].mention.start, 3);
}
