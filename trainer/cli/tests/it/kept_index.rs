//! `pel update --keep-index`: concepts are renamed and merged over the same index.

use crate::common::{CommandOutput, Workspace, copy, tiny};
use serde_json::Value;

const OLD: &str = r#"{"id": "D1", "name": "fever", "synonyms": ["pyrexia"], "types": ["Sign"], "definition": "A high temperature."}
{"id": "D2", "name": "chest pain", "synonyms": ["thoracic pain", "pain in the chest"], "types": ["Sign"]}
{"id": "D3", "name": "diabetes mellitus", "synonyms": ["diabetes", "sugar disease"], "types": ["Disease"]}
{"id": "D4", "name": "high temperature", "synonyms": ["febris"], "types": ["Sign"]}
{"id": "D5", "name": "grippe", "types": ["Disease"]}
{"id": "D6", "name": "knee", "types": ["Anatomy"]}
{"id": "D7", "name": "cold", "synonyms": ["common cold"], "types": ["Disease"]}
"#;

/// In another order: D4 is merged into D1, D2, D3 and D5 have other identifiers, D7 another name.
const NEW: &str = r#"{"id": "A5", "name": "grippe", "types": ["Disease"]}
{"id": "D7", "name": "common cold", "synonyms": ["cold"], "types": ["Disease"]}
{"id": "D6", "name": "knee", "types": ["Anatomy"]}
{"id": "S3", "name": "diabetes mellitus", "synonyms": ["diabetes", "sugar disease"], "types": ["Disease"]}
{"id": "D1", "name": "fever", "synonyms": ["pyrexia", "high temperature", "febris"], "types": ["Sign"], "definition": "A high temperature."}
{"id": "S2", "name": "chest pain", "synonyms": ["thoracic pain", "pain in the chest"], "types": ["Sign"]}
"#;

const REDIRECTS: &str = "id\treplaced_by\treason\nD2\tS2\trenamed\nD3\tS3\trenamed\nD4\tD1\tmerged\n\
                         D5\tA5\trenamed\n";

/// The identifiers of [`NEW`] for those of [`OLD`].
const SUCCESSORS: [(&str, &str); 4] = [("D2", "S2"), ("D3", "S3"), ("D4", "D1"), ("D5", "A5")];

const NOTE: &str = "Fever and chest pain, no diabetes mellitus. High temperature, a cold and \
                    thoracc pain; knee hurts, febris, grippe, sugar diseases. Qwertz.\n";

const UPDATE: &str =
    "update @old --keep-index --kb @new.jsonl --redirects @redirects.tsv --device cpu --out @new";

fn place(of_index: &str) -> Workspace {
    let place = Workspace::new();
    for (name, text) in [
        ("old.jsonl", OLD),
        ("new.jsonl", NEW),
        ("redirects.tsv", REDIRECTS),
        ("note.txt", NOTE),
    ] {
        std::fs::write(place.path(name), text).expect("written");
    }
    copy(&tiny().display().to_string(), &place.path("encoder"));
    index(&place, "old.jsonl", "old", of_index);
    place
}

fn index(place: &Workspace, kb: &str, out: &str, more: &str) -> CommandOutput {
    place.done(&format!(
        "index --device cpu --kb @{kb} --encoder @encoder --kb-name notes --out @{out}{more}"
    ))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The options of `pel index` for each kind of index.
const SETTINGS: [&str; 7] = [
    "",
    " --precision f32",
    " --precision int4 --encoder-precision int8",
    " --view both --mix 0.25 --spelling 0.2",
    " --view both --mix 0.25 --mixed-rows --distinct 0.99",
    " --scorer sum-of-max --view both --mix 0.25",
    " --hnsw --recall-floor 0",
];

/// The mentions of the note with the identifiers of their concepts.
fn links(place: &Workspace, bundle: &str) -> Vec<(u64, u64, Option<String>)> {
    let line = format!("link --device cpu --bundle @{bundle} @note.txt --format jsonl");
    let lines = place.done(&line).out;
    let of = |line: &str| {
        let link = json(line);
        let at = |field: &str| link[field].as_u64().expect("a position");
        let id = link["concept"]["id"].as_str().map(str::to_owned);
        (at("start"), at("end"), id)
    };
    lines.lines().map(of).collect()
}

fn successor(id: String) -> String {
    let own = SUCCESSORS.iter().find(|(former, _)| *former == id);
    own.map_or(id, |(_, next)| (*next).to_owned())
}

#[test]
fn links_are_the_same_over_the_same_index() {
    for of_index in SETTINGS {
        let place = place(of_index);
        let report = json(&place.done(&format!("--json {UPDATE}")).out);
        assert_eq!(report["texts_encoded"], 0, "{of_index}");
        assert_eq!(report["rows"], report["rows_reused"], "{of_index}");
        assert_eq!(report["concepts"], 6, "{of_index}");
        for entry in std::fs::read_dir(place.path("old")).expect("listed") {
            let name = entry.expect("listed").file_name();
            let read = |bundle: &str| std::fs::read(place.path(bundle).join(&name)).expect("there");
            let changes = ["manifest.json", "concepts.bin", "dictionary.bin"];
            let changed = changes.iter().any(|own| name == *own);
            assert_eq!(read("old") != read("new"), changed, "{of_index}: {name:?}");
        }
        let manifest = std::fs::read_to_string(place.path("new/manifest.json")).expect("there");
        assert_eq!(json(&manifest)["format"], 11, "{of_index}");
        let before: Vec<_> = links(&place, "old")
            .into_iter()
            .map(|(start, end, id)| (start, end, id.map(successor)))
            .collect();
        assert!(before.len() > 6, "{of_index}: {before:?}");
        assert_eq!(links(&place, "new"), before, "{of_index}");
    }
}

#[test]
fn later_full_update_has_the_bytes_of_a_rebuilt_bundle() {
    for of_index in [SETTINGS[0], SETTINGS[3], SETTINGS[4], SETTINGS[5]] {
        let place = place(of_index);
        place.done(UPDATE);
        let report = json(
            &place
                .done("--json update @new --kb @new.jsonl --device cpu --out @full")
                .out,
        );
        assert!(
            report["rows_reused"].as_u64() > Some(0),
            "{of_index}: {report}"
        );
        let given = format!("{of_index} --redirects @full/redirects.tsv");
        index(&place, "new.jsonl", "rebuilt", &given);
        for (path, bytes) in crate::common::contents(&place.path("rebuilt")) {
            let name = path.file_name().expect("a file").to_owned();
            let full = std::fs::read(place.path("full").join(&name)).expect("there too");
            assert!(full == bytes, "{of_index}: {name:?} differs");
        }
        assert!(!place.path("full/index.concepts.bin").exists());
    }
}

#[test]
fn new_identifiers_alone_need_no_further_file() {
    let place = place("");
    let renamed = OLD.replace("\"D2\"", "\"S2\"").replace("\"D6\"", "\"A6\"");
    std::fs::write(place.path("new.jsonl"), renamed).expect("written");
    let redirects = "id\treplaced_by\treason\nD2\tS2\trenamed\nD6\tA6\trenamed\n";
    std::fs::write(place.path("redirects.tsv"), redirects).expect("written");
    place.done(UPDATE);
    assert!(!place.path("new/index.concepts.bin").exists());
    let manifest = std::fs::read_to_string(place.path("new/manifest.json")).expect("there");
    assert_eq!(json(&manifest)["format"], 8);
    let shown = place.done("inspect @new --concept D6");
    assert!(shown.out.contains("A6  knee"), "{}", shown.out);
}

#[test]
fn index_is_kept_again_and_former_identifiers_lead_to_the_last() {
    let place = place("");
    place.done(UPDATE);
    let third = NEW.replace("\"S3\"", "\"T3\"").replace("\"D6\"", "\"T6\"");
    std::fs::write(place.path("third.jsonl"), third).expect("written");
    let redirects = "id\treplaced_by\treason\nS3\tT3\trenamed\nD6\tT6\trenamed\n";
    std::fs::write(place.path("third.tsv"), redirects).expect("written");
    place
        .done("update @new --keep-index --kb @third.jsonl --redirects @third.tsv --out @third.pel");
    for (former, now) in [("D3", "T3"), ("S3", "T3"), ("D4", "D1"), ("D6", "T6")] {
        let shown = place
            .done(&format!("inspect @third.pel --concept {former}"))
            .out;
        assert!(shown.contains(&format!("{now}  ")), "{former}: {shown}");
    }
    let before: Vec<_> = links(&place, "new")
        .into_iter()
        .map(|(start, end, id)| {
            (
                start,
                end,
                id.map(|id| id.replace("S3", "T3").replace("D6", "T6")),
            )
        })
        .collect();
    assert_eq!(links(&place, "third.pel"), before);
}

#[test]
fn concept_can_be_retired_without_a_successor() {
    let place = place("");
    let without: String = OLD
        .lines()
        .filter(|line| !line.contains("D5"))
        .fold(String::new(), |all, line| all + line + "\n");
    std::fs::write(place.path("new.jsonl"), without).expect("written");
    std::fs::write(
        place.path("redirects.tsv"),
        "id\treplaced_by\treason\nD5\t\tretired\n",
    )
    .expect("written");
    place.done(UPDATE);
    let linked = links(&place, "new");
    assert!(
        linked.iter().all(|(.., id)| id.as_deref() != Some("D5")),
        "{linked:?}"
    );
    assert!(
        linked.iter().any(|(.., id)| id.as_deref() == Some("D7")),
        "{linked:?}"
    );
}

#[test]
fn codes_follow_their_concepts() {
    let place = place("");
    let codes = "id\tsystem\tcode\tmatch\nD3\tICD10CM\tE11\texact\nD4\tICD10CM\tR50\texact\n\
                 D6\tSNOMEDCT\t72696002\texact\n";
    std::fs::write(place.path("codes.tsv"), codes).expect("written");
    place.done("update @old --codes @codes.tsv --out @coded");
    let keep = UPDATE.replace("@old", "@coded");
    place.done(&keep);
    let code = |id: &str| {
        let shown = json(
            &place
                .done(&format!("--json inspect @new --concept {id}"))
                .out,
        );
        shown[0]["codes"][0]["code"].as_str().map(str::to_owned)
    };
    assert_eq!(code("S3").as_deref(), Some("E11"));
    assert_eq!(code("D6").as_deref(), Some("72696002"));
    assert_eq!(
        code("D1"),
        None,
        "the codes of a merged concept are not those of its successor"
    );
    // Given ones are those of the new table; a former identifier stands for its successor.
    place.done(
        &keep
            .replace("@new ", "@given ")
            .replace("--out @new", "--out @given --codes @codes.tsv"),
    );
    let shown = json(&place.done("--json inspect @given --concept D1").out);
    assert_eq!(shown[0]["codes"][0]["code"], "R50");
}

#[test]
fn tables_that_do_not_fit_the_index_are_refused() {
    let place = place("");
    let write = |name: &str, text: &str| std::fs::write(place.path(name), text).expect("written");
    write(
        "added.jsonl",
        &format!("{NEW}{{\"id\": \"D9\", \"name\": \"hip\"}}\n"),
    );
    write(
        "few.tsv",
        "id\treplaced_by\treason\nD2\tS2\trenamed\nD3\tS3\trenamed\n",
    );
    write(
        "bad.tsv",
        "id\treplaced_by\treason\nD2\tS2\trenamed\nD3 S3\n",
    );
    write("astray.tsv", &format!("{REDIRECTS}D0\tX9\tmoved\n"));
    let line = |kb: &str, redirects: &str| {
        format!("update @old --keep-index --kb @{kb} --redirects @{redirects} --out @new")
    };
    let lines = [
        (
            line("added.jsonl", "redirects.tsv"),
            3,
            "the index has no vectors of 1 concept of the new table: D9",
        ),
        (
            line("new.jsonl", "few.tsv"),
            3,
            "2 concepts of the bundle are neither in the new table nor redirected: D4, D5",
        ),
        (
            line("new.jsonl", "bad.tsv"),
            3,
            "bad.tsv: line 3: expected 3 fields",
        ),
        (
            line("new.jsonl", "astray.tsv"),
            3,
            "astray.tsv: line 6: expected a successor of D0",
        ),
        (
            format!("{UPDATE} --rebuild-graph"),
            2,
            "cannot be used with",
        ),
    ];
    let lines: Vec<_> = lines
        .iter()
        .map(|(line, code, expected)| (line.as_str(), *code, *expected))
        .collect();
    place.refuses(&lines);
    assert!(!place.path("new").exists());
}

#[test]
fn damaged_map_of_concepts_is_refused() {
    let place = place("");
    place.done(UPDATE);
    let file = place.path("new/index.concepts.bin");
    let mut bytes = std::fs::read(&file).expect("there");
    let last = bytes.len() - 64;
    bytes[last] ^= 1;
    std::fs::write(&file, bytes).expect("written");
    place.refuses(&[("inspect @new", 4, "`index.concepts.bin` has been altered")]);
    std::fs::remove_file(&file).expect("removed");
    place.refuses(&[("inspect @new", 4, "index.concepts.bin")]);
}
