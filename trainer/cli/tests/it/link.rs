//! `pel link`: inputs and outputs.

use crate::common::{KB, Workspace, bundle, from, index, output_of, pel, tiny};
use std::io::Write;
use std::process::Stdio;

fn link(text: &[u8], more: &[&str]) -> crate::common::CommandOutput {
    let mut args = vec!["link", "--bundle", bundle()];
    args.extend(more);
    let mut child = pel(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut stdin = child.stdin.take().expect("it is piped");
    let text = text.to_vec();
    let writer = std::thread::spawn(move || {
        // The reader may close the pipe after refusing the text.
        let _ = stdin.write_all(&text);
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("the writer ends");
    from(output)
}

fn rows(output: &crate::common::CommandOutput) -> Vec<serde_json::Value> {
    assert_eq!(output.code, Some(0), "{}", output.err);
    output
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

#[test]
fn offsets_are_correct_in_every_unit() {
    let found = rows(&link(
        "😷 No pyrexia.\r\nChest  pain.".as_bytes(),
        &["--format", "jsonl"],
    ));
    let offsets = |row: &serde_json::Value, unit: &str| {
        let at = |end: &str| row[format!("{end}{unit}")].as_u64().expect("a number");
        (at("start"), at("end"))
    };
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0]["text"], "pyrexia");
    assert_eq!(found[0]["concept"]["id"], "D1");
    let units = ["", "_code_point", "_utf16"].map(|unit| offsets(&found[0], unit));
    assert_eq!(units, [(8, 15), (5, 12), (6, 13)]);
    assert_eq!(found[1]["concept"]["id"], "D2");
    assert_eq!(found[1]["text"], "Chest  pain");
}

#[test]
fn nil_has_a_reason_and_the_best_candidate() {
    let found = rows(&link(b"fever", &["--format", "jsonl", "--threshold", "2"]));
    assert_eq!(
        (&found[0]["decision"], &found[0]["nil_reason"]),
        (&"nil".into(), &"below_threshold".into())
    );
    assert!(found[0]["concept"].is_null());
    assert_eq!(found[0]["candidates"][0]["id"], "D1");
    let table = link(b"fever", &["--threshold", "2"]);
    assert!(
        table
            .out
            .contains("its vocabulary is too small to detect unknown terms"),
        "{}",
        table.out
    );
    assert!(
        table.out.contains("NIL")
            && table.out.contains("nearest: fever")
            && table.out.contains("1 NIL"),
        "{}",
        table.out
    );
}

#[test]
fn overlapping_names_are_detected_on_request() {
    let texts = |more: &[&str]| -> Vec<String> {
        let found = rows(&link(b"diabetes mellitus", more));
        found
            .iter()
            .map(|row| row["text"].as_str().expect("a text").to_owned())
            .collect()
    };
    assert_eq!(texts(&["--format", "jsonl"]), ["diabetes mellitus"]);
    assert_eq!(
        texts(&["--format", "jsonl", "--overlapping"]),
        ["diabetes", "diabetes mellitus"]
    );
    let both = link(b"x", &["--overlapping", "--spans", "x.ann", "--spans-only"]);
    assert_eq!(both.code, Some(2), "{}", both.err);
}

#[test]
fn brat_and_html_are_written() {
    let brat = link("Has diabetes.".as_bytes(), &["--format", "brat"]);
    assert_eq!(
        brat.out,
        "T1\tDisease 4 12\tdiabetes\nN1\tReference T1 KB:D3\tdiabetes mellitus\n"
    );
    let html = link("<b>fever</b> & diabetes".as_bytes(), &["--format", "html"]);
    assert_eq!(html.code, Some(0), "{}", html.err);
    assert!(
        html.out.contains("&lt;b&gt;") && html.out.contains(">fever</a>"),
        "{}",
        html.out
    );
    assert!(
        !html.out.contains("<b>") && !html.out.contains("<script"),
        "{}",
        html.out
    );
}

#[test]
fn given_spans_are_linked_and_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let note = folder.path().join("note.txt");
    std::fs::write(&note, "Asked about blue skin. No fever.").expect("written");
    let run = |ann: &str, more: &[&str]| {
        let spans = folder.path().join("note.ann");
        std::fs::write(&spans, ann).expect("written");
        let (note, spans) = (note.display().to_string(), spans.display().to_string());
        let mut args = vec![
            "link",
            "--bundle",
            bundle(),
            &note,
            "--spans",
            &spans,
            "--format",
            "jsonl",
        ];
        args.extend(more);
        output_of(pel(&args))
    };
    let good = "T1\tSign 12 21\tblue skin\n";
    let origins = |message: &crate::common::CommandOutput| {
        rows(message)
            .iter()
            .map(|row| row["origin"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(origins(&run(good, &[])), ["given", "name"]);
    assert_eq!(origins(&run(good, &["--spans-only"])), ["given"]);
    let off = run("T1\tSign 13 22\tblue skin\n", &[]);
    assert_eq!(off.code, Some(3));
    assert!(
        off.err.contains("note.ann: line 1") && off.err.contains("expected \"blue skin\""),
        "{}",
        off.err
    );
}

#[test]
fn discontinuous_mention_is_linked_by_its_fragments() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    // "chest pain" is D2; "chest and mild back pain" is not a name.
    let note = write("note.txt", "Chest and mild back pain, fever.");
    let ann = "T1\tSign 20 24;0 5\tChest pain\nT2\tSign 0 5;20 24\tChest pain\n\
               T3\tFinding 0 5;20 24\tChest pain\n";
    let spans = write("note.ann", ann);
    let run = |format: &str| {
        output_of(pel(&[
            "link",
            "--bundle",
            bundle(),
            &note,
            "--spans",
            &spans,
            "--format",
            format,
        ]))
    };
    let done = run("jsonl");
    let found = rows(&done);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(
        (&found[0]["text"], &found[0]["concept"]["id"]),
        (&"Chest pain".into(), &"D2".into())
    );
    assert!(
        found[0]["concept"]["score"]
            .as_f64()
            .is_some_and(|score| score > 0.999),
        "{found:?}"
    );
    assert_eq!(
        (
            &found[0]["fragments"][1]["start"],
            &found[0]["fragments"][1]["end"]
        ),
        (&20.into(), &24.into())
    );
    assert_eq!(found[1]["concept"]["id"], "D1");
    // Skipped annotations are reported.
    let says = |what: &str| done.err.lines().any(|line| line.contains(what));
    assert!(
        says("1 x annotation that stands twice (read once), first at"),
        "{}",
        done.err
    );
    assert!(
        says("note.ann: line 2") && says("note.ann: line 3"),
        "{}",
        done.err
    );
    assert!(
        says("1 x mention with several annotations (linked once)"),
        "{}",
        done.err
    );

    // `pel explain` accepts fragments too.
    let line = [
        "explain",
        "--bundle",
        bundle(),
        "--file",
        &note,
        "--span",
        "20:24;0:5",
        "--json",
    ];
    let explained = output_of(pel(&line));
    let explained: serde_json::Value = serde_json::from_str(&explained.out).expect("JSON");
    assert_eq!(
        (&explained["mention"], &explained["candidates"][0]["id"]),
        (&"Chest pain".into(), &"D2".into())
    );
    assert_eq!(explained["fragments"][1]["start"], 20);

    // BRAT output can be read again with the same result.
    let brat = run("brat").out;
    assert!(
        brat.starts_with("T1\tSign 0 5;20 24\tChest pain\nN1\tReference T1 KB:D2\tchest pain\n"),
        "{brat}"
    );
    let again = write("again.ann", &brat);
    let line = [
        "link",
        "--bundle",
        bundle(),
        &note,
        "--spans",
        &again,
        "--spans-only",
        "--format",
        "brat",
    ];
    assert_eq!(output_of(pel(&line)).out, brat);
}

#[test]
fn names_between_fragments_are_detected() {
    let folder = tempfile::tempdir().expect("a folder");
    let (note, spans) = (folder.path().join("n.txt"), folder.path().join("n.jsonl"));
    std::fs::write(&note, "chest with fever and pain").expect("written");
    std::fs::write(
        &spans,
        "{\"fragments\": [[0, 5], [21, 25]], \"text\": \"chest pain\"}\n",
    )
    .expect("written");
    let (note, spans) = (note.display().to_string(), spans.display().to_string());
    let found = rows(&output_of(pel(&[
        "link",
        "--bundle",
        bundle(),
        &note,
        "--spans",
        &spans,
        "--format",
        "jsonl",
    ])));
    let texts: Vec<&str> = found
        .iter()
        .filter_map(|row| row["text"].as_str())
        .collect();
    assert_eq!(texts, ["chest pain", "fever"]);
}

#[test]
fn cross_references_are_filtered_by_prefix() {
    let folder = tempfile::tempdir().expect("a folder");
    let kb = folder.path().join("kb.jsonl");
    let line = r#"{"id": "D1", "name": "fever", "types": ["Sign"], "xrefs": ["ICD10:R50.9", "MESH:D005334"]}"#;
    std::fs::write(&kb, line).expect("written");
    let bundle = folder.path().join("b");
    assert_eq!(index(&kb, &bundle, &[]).code, Some(0));
    let note = folder.path().join("n.txt");
    std::fs::write(&note, "fever").expect("written");
    let (bundle, note) = (bundle.display().to_string(), note.display().to_string());
    let run = |more: &[&str]| {
        output_of(pel(
            &[&["link", "--bundle", &bundle, &note][..], more].concat()
        ))
    };
    let xrefs = |done: &crate::common::CommandOutput| rows(done)[0]["concept"]["xrefs"].clone();
    assert_eq!(
        xrefs(&run(&["--format", "jsonl"])),
        serde_json::json!(["ICD10:R50.9", "MESH:D005334"])
    );
    let chosen = run(&["--format", "jsonl", "--xrefs", "mesh,SNOMED"]);
    assert_eq!(xrefs(&chosen), serde_json::json!(["MESH:D005334"]));
    assert_eq!(
        rows(&chosen)[0]["candidates"][0]["xrefs"],
        serde_json::json!(["MESH:D005334"])
    );
    assert!(
        chosen
            .err
            .contains("warning: --xrefs SNOMED: no cross-reference of the bundle"),
        "{}",
        chosen.err
    );
    assert!(!chosen.err.contains("mesh"), "{}", chosen.err);
    let csv = run(&["--format", "csv", "--xrefs", "ICD10:"]);
    assert!(
        csv.out.contains(",found,,ICD10:R50.9,") && csv.err.is_empty(),
        "{} {}",
        csv.out,
        csv.err
    );
    assert_eq!(run(&["--xrefs", "ICD10,"]).code, Some(2));
}

#[test]
fn folder_of_notes_is_linked_to_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let notes = folder.path().join("notes/ward");
    std::fs::create_dir_all(&notes).expect("a folder");
    std::fs::write(notes.join("b.txt"), "fever").expect("written");
    std::fs::write(folder.path().join("notes/a.txt"), "diabetes").expect("written");
    std::fs::write(folder.path().join("notes/other.md"), "fever").expect("written");
    let (input, out) = (folder.path().join("notes"), folder.path().join("out"));
    let (input, out_arg) = (input.display().to_string(), out.display().to_string());
    let done = output_of(pel(&[
        "link",
        "--bundle",
        bundle(),
        &input,
        "--format",
        "brat",
        "--out",
        &out_arg,
    ]));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect(name);
    assert!(read("a.ann").contains("KB:D3") && read("ward/b.ann").contains("KB:D1"));
    assert_eq!(std::fs::read_dir(&out).expect("listed").count(), 2);

    // Unreadable notes are named and the others linked.
    for bad in ["0.txt", "c.txt"] {
        std::fs::write(folder.path().join("notes").join(bad), b"fever \xff").expect("written");
    }
    std::fs::remove_dir_all(&out).expect("removed");
    let done = output_of(pel(&[
        "link",
        "--bundle",
        bundle(),
        &input,
        "--format",
        "brat",
        "--out",
        &out_arg,
    ]));
    assert_eq!(done.code, Some(3), "{}", done.err);
    let names = [
        "2 of 4 notes cannot be read; the others are linked",
        "0.txt: expected UTF-8",
        "c.txt: expected UTF-8",
    ];
    assert!(
        names.iter().all(|name| done.err.contains(name)),
        "{}",
        done.err
    );
    assert!(read("a.ann").contains("KB:D3") && read("ward/b.ann").contains("KB:D1"));
    assert_eq!(std::fs::read_dir(&out).expect("listed").count(), 2);
    // One header, although the first note is unreadable.
    let table = output_of(pel(&[
        "link",
        "--bundle",
        bundle(),
        &input,
        "--format",
        "csv",
    ]));
    assert_eq!(
        (table.code, table.out.matches("doc,start").count()),
        (Some(3), 1),
        "{}",
        table.out
    );
}

#[test]
fn unusual_texts_are_linked() {
    for text in ["", " ", "\u{feff}fever", "fe", "\u{0}\u{0}", "👩‍⚕️👩‍⚕️"] {
        let done = link(text.as_bytes(), &["--format", "jsonl"]);
        assert_eq!(done.code, Some(0), "{text:?}: {}", done.err);
    }
    let bad = link(b"fever \xff\xfe", &[]);
    assert_eq!(bad.code, Some(3));
    assert!(
        bad.err.contains("expected UTF-8") && bad.err.contains("byte 6"),
        "{}",
        bad.err
    );
}

#[test]
fn line_of_ten_megabytes_is_linked() {
    let mut line = "no fever but diabetes and ".repeat(4000);
    line.push_str(&"x".repeat(10 << 20));
    line.push_str(" chest pain");
    let found = rows(&link(
        line.as_bytes(),
        &["--format", "jsonl", "--names-only", "-k", "1"],
    ));
    assert_eq!(found.len(), 8001);
    assert_eq!(found[8000]["concept"]["id"], "D2");
}

#[test]
fn closed_pipe_ends_the_command_quietly() {
    let mut child = pel(&["link", "--bundle", bundle(), "--format", "jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin
        .write_all("fever ".repeat(1000).as_bytes())
        .expect("it reads");
    drop(stdin);
    let done = from(child.wait_with_output().expect("it ends"));
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
}

#[test]
fn bundles_of_every_view_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let kb = folder.path().join("kb.jsonl");
    std::fs::write(&kb, KB).expect("written");
    let tower = tiny().display().to_string();
    for (at, more) in [
        &[
            "--view",
            "template",
            "--mention",
            "context",
            "--template",
            "description",
        ][..],
        &[
            "--view",
            "both",
            "--synonyms",
            "--mention",
            "bare",
            "--precision",
            "f32",
        ],
        &[
            "--entity-encoder",
            &tower,
            "--score",
            "dot",
            "--pooling",
            "cls",
        ],
        &["--hnsw", "--ef-search", "50", "--score", "dot"],
    ]
    .iter()
    .enumerate()
    {
        let out = folder.path().join(format!("bundle{at}"));
        let done = index(&kb, &out, more);
        assert_eq!(done.code, Some(0), "{more:?}: {}", done.err);
        let bundle = out.display().to_string();
        let args = [
            "explain",
            "--bundle",
            &bundle,
            "--text",
            "He has diabetes.",
            "--mention",
            "diabetes",
            "--json",
        ];
        let output = output_of(pel(&args));
        assert_eq!(output.code, Some(0), "{more:?}: {}", output.err);
        let found: serde_json::Value = serde_json::from_str(&output.out).expect("JSON");
        assert_eq!(
            found["candidates"].as_array().map(Vec::len),
            Some(3),
            "{more:?}"
        );
        // Only with cosine a name is certainly its own best match.
        if !more.contains(&"template") && !more.contains(&"dot") {
            assert_eq!(found["candidates"][0]["id"], "D3", "{more:?}");
            assert_eq!(
                found["candidates"][0]["best_text"], "the name \"diabetes\"",
                "{more:?}"
            );
        }
        // The recomputed score equals the stored one up to quantisation.
        let (kept, again) = (
            &found["candidates"][0]["score"],
            &found["candidates"][0]["best_text_score"],
        );
        let (kept, again) = (
            kept.as_f64().expect("a number"),
            again.as_f64().expect("a number"),
        );
        assert!(
            (kept - again).abs() < 0.02 * again.abs(),
            "{more:?}: {kept} and {again}"
        );
    }
}

/// Of two concepts with the very name, the one that more sources list is linked, though it is later
/// in the table. Short forms in capitals stay with the first.
#[test]
fn of_equal_names_the_concept_of_most_sources_is_linked() {
    let workspace = Workspace::new();
    let table = [
        r#"{"id": "A", "name": "low tone", "synonyms": ["LT"], "types": ["Sign"], "sources": ["X"]}"#,
        r#"{"id": "B", "name": "low tone", "synonyms": ["LT"], "types": ["Sign"], "sources": ["X", "Y", "Z"]}"#,
    ];
    std::fs::write(workspace.path("two.jsonl"), table.join("\n")).expect("written");
    std::fs::write(workspace.path("note.txt"), "She has low tone. LT.").expect("written");
    let encoder = tiny().display().to_string();
    workspace.done(&format!(
        "index --device cpu --kb @two.jsonl --encoder {encoder} --out @two"
    ));
    let done = workspace.done("link --device cpu --bundle @two --format jsonl @note.txt");
    let best: Vec<(String, String)> = done
        .out
        .lines()
        .map(|line| {
            let link: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            (word(&link["text"]), word(&link["candidates"][0]["id"]))
        })
        .collect();
    let own = |text: &str, id: &str| (text.to_owned(), id.to_owned());
    assert_eq!(best, [own("low tone", "B"), own("LT", "A")]);
}
