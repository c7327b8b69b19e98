//! Names, identifiers, notes and file names cannot send commands to a terminal or forge table
//! lines.

use crate::common::{bundle, index, output_of, pel};
use std::path::Path;

/// Escape sequences for colours, window titles, clearing the screen (C1) and text direction.
const KB: &str = r#"{"id": "D1", "name": "\u001b]0;owned\u0007Fever", "synonyms": ["fever", "\u001b[2Jpyrexia"], "types": ["Si\u001b[31mgn"], "definition": "Hot\u009b2J\u202e.", "xrefs": ["ICD10:R50\u001b[8m", "MESH:D005334"], "sources": ["S\u007f1"]}
{"id": "D2", "name": "cough", "types": ["Sign\tT9"], "sources": ["TEST"]}
"#;

/// Whether a text has no control characters except line ends and tabs, and no bidirectional
/// controls.
fn is_harmless(text: &str) -> bool {
    let text = text.replace("\r\n", "\n");
    let is_bidi =
        |c: char| ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c);
    text.chars()
        .all(|c| matches!(c, '\n' | '\t') || !c.is_control() && !is_bidi(c))
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[cfg(unix)]
#[test]
fn output_has_no_terminal_commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let kb = write(folder.path(), "kb.jsonl", KB);
    let out = folder.path().join("b");
    let done = index(Path::new(&kb), &out, &["--kb-name", "k\u{1b}[1mb"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(
        is_harmless(&done.out) && is_harmless(&done.err),
        "{:?} {:?}",
        done.out,
        done.err
    );
    let bundle = out.display().to_string();
    let note = write(
        folder.path(),
        "n\u{1b}[31m.txt",
        "No \u{1b}[32m fever\u{9b}2J and \u{202e}cough.\rfe\u{7}ver\n",
    );
    let corpus = folder.path().join("c");
    std::fs::create_dir(&corpus).expect("made");
    write(
        &corpus,
        "documents.jsonl",
        "{\"doc_id\":\"a\\u001b[31m\",\"text\":\"fever\"}\n",
    );
    write(
        &corpus,
        "mentions.dev.jsonl",
        "{\"doc_id\":\"a\\u001b[31m\",\"start\":0,\"end\":5,\"text\":\"fever\",\"id\":\"D1\",\
         \"types\":[\"Sign\\u001b[31m\"]}\n\
         {\"doc_id\":\"a\\u001b[31m\",\"start\":0,\"end\":9,\"text\":\"\\u001b[31m\",\
         \"id\":\"D1\"}\n",
    );
    let (corpus, missing) = (
        corpus.display().to_string(),
        folder.path().join("\u{1b}[31mno.txt").display().to_string(),
    );
    let link = |format: &'static str| {
        vec![
            "link", "--bundle", &bundle, &note, "--format", format, "-k", "2",
        ]
    };
    let mut lines: Vec<Vec<&str>> = ["table", "json", "jsonl", "csv", "brat", "pubtator", "html"]
        .map(link)
        .into();
    lines.extend([
        vec!["inspect", &bundle, "--concept", "D1"],
        vec!["inspect", &bundle, "--concept", "D1", "--json"],
        vec!["inspect", &bundle],
        vec![
            "explain",
            "--bundle",
            &bundle,
            "--file",
            &note,
            "--mention",
            "fever",
        ],
        vec![
            "explain",
            "--bundle",
            &bundle,
            "--file",
            &note,
            "--mention",
            "fever",
            "--json",
        ],
        vec![
            "explain",
            "--bundle",
            &bundle,
            "--text",
            "x",
            "--mention",
            "\u{1b}[31mno",
        ],
        vec![
            "evaluate",
            "--corpus",
            &corpus,
            "--bundle",
            &bundle,
            "--split",
            "dev",
            "--systems",
            "exact,dense",
        ],
        vec![
            "evaluate",
            "--corpus",
            &corpus,
            "--bundle",
            &bundle,
            "--split",
            "dev",
            "--systems",
            "exact",
            "--json",
        ],
        vec!["link", "--bundle", &bundle, &missing],
        vec!["link", "--bundle", "\u{1b}[31mno", &note],
        vec!["link", "--bundle", &bundle, "--\u{1b}[31m"],
        vec!["import", "csv", &note, "--out", &missing],
    ]);
    for line in lines {
        let done = output_of(pel(&line));
        assert!(is_harmless(&done.out), "{line:?}: {:?}", done.out);
        assert!(is_harmless(&done.err), "{line:?}: {:?}", done.err);
        assert!(!done.out.is_empty() || !done.err.is_empty(), "{line:?}");
    }
    // JSON keeps every character.
    let done = output_of(pel(&link("json")));
    let found: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    assert!(
        found["text"]
            .as_str()
            .is_some_and(|text| text.contains("fever\u{9b}2J and \u{202e}cough.\r")),
        "{}",
        done.out
    );
    assert_eq!(
        found["mentions"][0]["concept"]["name"],
        "\u{1b}]0;owned\u{7}Fever"
    );
}

#[test]
fn types_and_mentions_cannot_forge_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let kb = write(folder.path(), "kb.jsonl", KB);
    let out = folder.path().join("b");
    assert_eq!(index(Path::new(&kb), &out, &[]).code, Some(0));
    let bundle = out.display().to_string();
    let note = write(folder.path(), "note.txt", "cough\tT9\nfever");
    let spans = write(
        folder.path(),
        "note.jsonl",
        "{\"start\": 0, \"end\": 14}\n{\"start\": 0, \"end\": 5}\n",
    );
    let form = |format: &str| {
        let line = [
            "link",
            "--bundle",
            &bundle,
            &note,
            "--spans",
            &spans,
            "--spans-only",
            "--format",
            format,
        ];
        let done = output_of(pel(&line));
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.out
    };
    let brat = form("brat");
    let texts: Vec<Vec<&str>> = brat
        .lines()
        .filter(|line| line.starts_with('T'))
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(texts[0], ["T1", "Sign_T9 0 5", "cough"]);
    assert_eq!(
        (texts.len(), texts[1][1].split_once(' ').expect("a place").1),
        (2, "0 5;6 8;9 14")
    );
    assert_eq!(texts[1][2], "cough T9 fever");
    let pubtator = form("pubtator");
    assert_eq!(pubtator.lines().count(), 4, "{pubtator}");
    assert!(
        pubtator.contains("note\t0\t5\tcough\tSign T9\tD2\n"),
        "{pubtator}"
    );
    assert!(
        pubtator
            .lines()
            .skip(2)
            .all(|line| line.split('\t').count() == 6),
        "{pubtator}"
    );
}

#[test]
fn csv_cells_are_no_formulas() {
    let folder = tempfile::tempdir().expect("a folder");
    let note = write(folder.path(), "=1+1.txt", "a \u{a0}=SUM(1) fever @x");
    let spans = write(
        folder.path(),
        "s.jsonl",
        "{\"start\": 1, \"end\": 10}\n{\"fragments\": [[17, 19], [11, 16]]}\n\
         {\"start\": 17, \"end\": 19}\n",
    );
    let line = [
        "link",
        "--bundle",
        bundle(),
        &note,
        "--spans",
        &spans,
        "--spans-only",
        "--format",
        "csv",
    ];
    let done = output_of(pel(&line));
    let rows: Vec<&str> = done.out.lines().collect();
    assert_eq!(rows.len(), 4, "{}", done.out);
    assert!(rows[0].contains(",found,fragments,xrefs,"), "{}", rows[0]);
    assert!(
        rows[1].starts_with("'=1+1,1,10,' \u{a0}=SUM(1),"),
        "{}",
        rows[1]
    );
    assert!(
        rows[2].starts_with("'=1+1,11,19,fever @x,") && rows[2].contains(",given,11 16;17 19,"),
        "{}",
        rows[2]
    );
    assert!(rows[3].starts_with("'=1+1,17,19,'@x,"), "{}", rows[3]);
}

#[test]
fn identifiers_with_control_characters_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for (escape, code) in [
        ("\\u001b[2J", "U+001B"),
        ("\\tT9", "U+0009"),
        ("\\n", "U+000A"),
        ("\\u202e", "U+202E"),
    ] {
        let line = format!(
            "{{\"id\": \"D1\", \"name\": \"fever\"}}\n\
             {{\"id\": \"D2{escape}x\", \"name\": \"cough\"}}\n"
        );
        let kb = write(folder.path(), "kb.jsonl", &line);
        let done = index(Path::new(&kb), &folder.path().join("b"), &[]);
        assert_eq!(done.code, Some(3), "{escape}: {}", done.err);
        assert!(
            done.err.contains("kb.jsonl: line 2") && done.err.contains(code),
            "{}",
            done.err
        );
        assert!(
            !folder.path().join("b").exists() && is_harmless(&done.err),
            "{}",
            done.err
        );
        let out = folder.path().join("out").display().to_string();
        let done = output_of(pel(&["import", "jsonl", &kb, "--out", &out]));
        assert_eq!(done.code, Some(3), "{escape}: {}", done.err);
        assert!(
            done.err.contains("line 2") && done.err.contains("id with a control character"),
            "{}",
            done.err
        );
    }
}
