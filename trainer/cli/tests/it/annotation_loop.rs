//! The annotation loop: links of notes as BRAT or JSON, corrected, as a corpus that calibrates,
//! trains and measures.

use crate::common::{Workspace, copy, tiny};
use serde_json::Value;
use std::path::Path;

const NOTES: [(&str, &str); 6] = [
    ("a", "Fever, no chest pain.\n"),
    ("b", "Known diabetes. Pyrexia 😷 today, chest pain.\n"),
    ("c", "No fever. Chest pain, left.\n"),
    ("d", "Diabetes mellitus and fever.\n"),
    ("e", "Chest pain? Diabetes.\n"),
    ("f", "Mother has diabetes, fever.\n"),
];

fn place() -> Workspace {
    let place = Workspace::new();
    std::fs::create_dir(place.path("notes")).expect("made");
    for (name, text) in NOTES {
        std::fs::write(place.path(&format!("notes/{name}.txt")), text).expect("written");
    }
    copy(&tiny().display().to_string(), &place.path("encoder"));
    place
}

fn edit(path: &Path, edits: &[(&str, &str)]) {
    let mut text = std::fs::read_to_string(path).expect("written");
    for (from, to) in edits {
        assert!(text.contains(from), "{from:?} in {text}");
        text = text.replace(from, to);
    }
    std::fs::write(path, text).expect("written");
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("written");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn corrected_brat_calibrates_trains_and_measures() {
    let place = place();
    place
        .done("link --device cpu --bundle @bundle @notes --names-only --format brat --out @linked");
    // The annotator: another concept, a mention of another place, NIL, another context.
    edit(
        &place.path("linked/b.ann"),
        &[
            ("KB:D1", "KB:D9"),
            (
                "T1\tDisease 6 14\tdiabetes",
                "T1\tDisease 0 14\tKnown diabetes",
            ),
        ],
    );
    edit(
        &place.path("linked/d.ann"),
        &[("N2\tReference T2 KB:D1\tfever\n", "A9\tNegated T2\n")],
    );
    place.done("import brat @linked --texts @notes --dev 0.3 --test 0.3 --seed 7 --out @corpus");

    let all: Vec<Value> = ["train", "dev", "test"]
        .iter()
        .flat_map(|split| lines(&place.path(&format!("corpus/mentions.{split}.jsonl"))))
        .collect();
    let of = |doc: &str| -> Vec<(String, Value)> {
        all.iter()
            .filter(|mention| mention["doc_id"] == doc)
            .map(|mention| {
                let text = mention["text"].as_str().expect("a text");
                (text.to_owned(), mention["id"].clone())
            })
            .collect()
    };
    assert_eq!(
        of("b"),
        [
            ("Known diabetes".to_owned(), "D3".into()),
            ("Pyrexia".to_owned(), "D9".into()),
            ("chest pain".to_owned(), "D2".into())
        ]
    );
    assert_eq!(of("d")[1], ("fever".to_owned(), Value::Null));
    let notes: Vec<Value> = ["train", "dev", "test"]
        .iter()
        .flat_map(|split| lines(&place.path(&format!("corpus/notes.{split}.jsonl"))))
        .collect();
    assert_eq!(notes.len(), 6);
    let note = |id: &str| {
        notes
            .iter()
            .find(|note| note["doc_id"] == id)
            .expect("there")
    };
    assert_eq!(note("d")["mentions"][1]["negated"], true);
    assert_eq!(note("f")["mentions"][0]["experiencer"], "family");
    // Code points: the emoji is one.
    assert_eq!(note("b")["mentions"][2]["start"], 33);

    place.done("import brat @linked --texts @notes --out @all");
    place.done("calibrate @bundle --device cpu --corpus @all --split all --by score");
    let measured = place.done(
        "--json evaluate --device cpu --raw --notes @corpus/notes.train.jsonl --bundle @bundle \
         --names-only",
    );
    let measured: Value = serde_json::from_str(&measured.out).expect("JSON");
    assert_eq!(measured["counts"]["documents"], 2);
    place.done(
        "train --device cpu --encoder @encoder --kb @kb.jsonl --corpus @corpus --steps 2 \
         --out @run --set view.mention_tokens=32 --set view.entity_tokens=40 \
         --set negatives.count=2",
    );
    assert!(place.path("run/model").is_dir());
    place.done(
        "evaluate --device cpu --corpus @corpus --kb @kb.jsonl --split test --systems exact \
         --out @figures.json",
    );
}

#[test]
fn json_of_the_page_gives_the_same_corpus_as_brat() {
    let place = place();
    for (format, out) in [("brat", "brat"), ("json", "json"), ("jsonl", "lines")] {
        place.done(&format!(
            "link --device cpu --bundle @bundle @notes --names-only --format {format} --out @{out}"
        ));
    }
    place.done("import brat @brat --texts @notes --bundle @bundle --out @one");
    place.done("import links @json --bundle @bundle --out @two");
    place.done("import links @lines --texts @notes --out @three");
    for file in ["documents.jsonl", "mentions.all.jsonl", "notes.all.jsonl"] {
        let read = |folder: &str| {
            std::fs::read_to_string(place.path(&format!("{folder}/{file}"))).expect("written")
        };
        assert_eq!(read("one"), read("two"), "{file}");
        assert_eq!(read("two"), read("three"), "{file}");
    }
    edit(&place.path("brat/b.ann"), &[("KB:D1", "KB:NONE")]);
    place.refuses(&[(
        "import brat @brat --texts @notes --bundle @bundle --out @four",
        3,
        "the bundle lacks the concepts of 1 mention: ",
    )]);
    assert!(!place.path("four").exists());
}

#[test]
fn folder_of_brat_is_recognised_and_not_overwritten() {
    let place = place();
    place.done("link --device cpu --bundle @bundle @notes --format brat --out @notes");
    let done = place.done("import @notes");
    assert!(done.out.contains("pel import brat"), "{}", done.out);
    place.refuses(&[
        ("import brat @notes --out @notes", 2, "input"),
        ("import brat @notes --dev 2 --out @corpus", 2, "from 0 to 1"),
        (
            "import links @notes --out @corpus",
            3,
            "the folder has no .json",
        ),
    ]);
    assert!(!place.path("corpus").exists());
    place.done("import brat @notes --out @corpus");
    assert!(place.path("corpus/mentions.all.jsonl").is_file());
}
