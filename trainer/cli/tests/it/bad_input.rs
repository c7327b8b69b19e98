//! Damaged or missing input and interrupted commands: clear errors, exit codes, no partial files.

use crate::common::{KB, bundle, copy, index, index_with, output_of, pel, sealed, tiny};
use std::path::Path;

/// Damages one file of a copied bundle and links with it.
fn link_with(
    file: &str,
    damage: impl FnOnce(Vec<u8>) -> Option<Vec<u8>>,
) -> crate::common::CommandOutput {
    let folder = tempfile::tempdir().expect("a folder");
    copy(bundle(), folder.path());
    let path = folder.path().join(file);
    match damage(std::fs::read(&path).expect(file)) {
        Some(bytes) => std::fs::write(&path, bytes).expect("written"),
        None => std::fs::remove_file(&path).expect("removed"),
    }
    let bundle = folder.path().display().to_string();
    output_of(pel(&[
        "explain",
        "--bundle",
        &bundle,
        "--text",
        "fever",
        "--mention",
        "fever",
    ]))
}

#[test]
fn error_names_the_damaged_file_of_a_bundle() {
    let flip = |at: usize| {
        move |mut bytes: Vec<u8>| {
            let last = bytes.len() - 1;
            bytes[at.min(last)] ^= 1;
            Some(bytes)
        }
    };
    for file in [
        "index.bin",
        "concepts.bin",
        "dictionary.bin",
        "model.safetensors",
        "tokenizer.json",
        "config.json",
    ] {
        for (how, done) in [
            ("altered", link_with(file, flip(200))),
            (
                "cut",
                link_with(file, |bytes| Some(bytes[..bytes.len() / 2].to_vec())),
            ),
            ("empty", link_with(file, |_| Some(Vec::new()))),
            ("missing", link_with(file, |_| None)),
        ] {
            assert_eq!(done.code, Some(4), "{file} {how}: {}", done.err);
            assert!(
                done.err.contains(&format!("`{file}`")),
                "{file} {how}: {}",
                done.err
            );
        }
    }
}

#[test]
fn invalid_manifest_is_refused() {
    let replace = |from: &'static str, to: &'static str| {
        move |bytes: Vec<u8>| {
            Some(
                String::from_utf8(bytes)
                    .expect("JSON")
                    .replacen(from, to, 1)
                    .into_bytes(),
            )
        }
    };
    for (from, to, message) in [
        (
            "\"format\": 8",
            "\"format\": 99",
            "format version 99, this build reads 8 to 11",
        ),
        ("\"format\"", "\"colour\"", "format"),
        ("\"kb\"", "\"kbs\"", "kbs"),
        ("{", "", "manifest.json"),
        (
            "\"dim\": 32",
            "\"dim\": 16",
            "manifest.json has been altered: its digest differs",
        ),
    ] {
        let done = link_with("manifest.json", replace(from, to));
        assert_eq!(done.code, Some(4), "{}", done.err);
        assert!(done.err.contains(message), "{}", done.err);
    }
    let spare = tempfile::tempdir().expect("a folder");
    copy(bundle(), spare.path());
    std::fs::write(spare.path().join("notes.txt"), "x").expect("written");
    // The folder may hold other files.
    let done = output_of(pel(&["inspect", &spare.path().display().to_string()]));
    assert!(
        done.code == Some(0) && !done.out.contains("notes.txt"),
        "{}",
        done.err
    );
}

#[test]
fn bundle_file_of_another_version_is_refused() {
    // The manifest is adapted, so that only the file's own check fails.
    let folder = tempfile::tempdir().expect("a folder");
    copy(bundle(), folder.path());
    let path = folder.path().join("index.bin");
    let mut bytes = std::fs::read(&path).expect("read");
    let old = blake3::hash(&bytes).to_hex().to_string();
    bytes[8] = 77;
    std::fs::write(&path, &bytes).expect("written");
    let manifest = folder.path().join("manifest.json");
    let text = std::fs::read_to_string(&manifest).expect("read");
    let text = text.replace(&old, blake3::hash(&bytes).to_hex().as_str());
    std::fs::write(
        &manifest,
        sealed(&serde_json::from_str(&text).expect("JSON")),
    )
    .expect("written");
    let done = output_of(pel(&["inspect", &folder.path().display().to_string()]));
    assert_eq!(done.code, Some(4));
    assert!(
        done.err
            .contains("the index has format version 77, this build reads 5"),
        "{}",
        done.err
    );
}

#[test]
fn error_names_the_tensor_that_does_not_fit() {
    use safetensors::tensor::SafeTensors;
    let (folder, place) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    copy(&tiny().display().to_string(), folder.path());
    let whole = std::fs::read(tiny().join("model.safetensors")).expect("read");
    let file = SafeTensors::deserialize(&whole).expect("whole");
    let name = "encoder.layer.1.output.dense.bias";
    let without: Vec<_> = file
        .tensors()
        .into_iter()
        .filter(|(other, _)| other != name)
        .collect();
    let mut spare = file.tensors();
    let (_, view) = spare
        .iter()
        .find(|(other, _)| other == name)
        .cloned()
        .expect("there");
    spare.push(("encoder.layer.9.output.dense.bias".into(), view));
    for (tensors, expected) in [
        (without, name),
        (spare, "encoder.layer.9.output.dense.bias"),
    ] {
        let bytes = safetensors::serialize(tensors, None).expect("it can be written");
        std::fs::write(folder.path().join("model.safetensors"), bytes).expect("written");
        let kb = folder.path().join("kb.jsonl");
        std::fs::write(&kb, KB).expect("written");
        let out = place.path().join("b");
        let done = index_with(folder.path(), &kb, &out, &[]);
        assert_eq!(done.code, Some(4));
        assert!(done.err.contains(expected), "{}", done.err);
        assert!(!out.exists());
    }
}

#[test]
fn error_names_the_invalid_line_of_a_knowledge_base() {
    let folder = tempfile::tempdir().expect("a folder");
    let (kb, out) = (folder.path().join("kb.jsonl"), folder.path().join("bundle"));
    for (line, expected) in [
        (
            &b"{\"id\": \"D1\", \"name\": \"x\"}"[..],
            "expected unique ids, found D1 twice",
        ),
        (b"{\"id\": \"D9\"}", "missing field `name`"),
        (
            b"{\"id\": \"D9\", \"name\": \"\"}",
            "the concept D9 has no `name`",
        ),
        (b"{\"id\": \"D9\", \"name\": \"caf\xe9\"}", "expected UTF-8"),
    ] {
        std::fs::write(&kb, [KB.as_bytes(), line].concat()).expect("written");
        let done = index(&kb, &out, &[]);
        assert_eq!(done.code, Some(3), "{}", done.err);
        assert!(
            done.err.contains("kb.jsonl")
                && done.err.contains("line 4")
                && done.err.contains(expected),
            "{}",
            done.err
        );
        assert!(!out.exists());
    }
}

#[test]
fn missing_input_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let nothing = folder.path().join("nothing");
    let nothing = nothing.display().to_string();
    let empty = folder.path().display().to_string();
    for (args, code, expected) in [
        (
            vec!["link", "--bundle", bundle(), nothing.as_str()],
            6,
            "nothing",
        ),
        (
            vec!["link", "--bundle", bundle(), empty.as_str()],
            3,
            "the folder has no .txt files, documents or tables of notes",
        ),
        (
            vec!["link", "--bundle", nothing.as_str()],
            4,
            "expected a bundle",
        ),
        (
            vec!["inspect", empty.as_str()],
            4,
            "the folder has no manifest.json",
        ),
        (
            vec!["inspect", bundle(), "--concept", "D77"],
            3,
            "has no concept with the id D77",
        ),
        (
            vec!["link", "--bundle", bundle(), "--gpu", "99"],
            5,
            "no GPU 99",
        ),
        (vec!["link"], 2, "--bundle"),
    ] {
        let done = output_of(pel(&args));
        assert_eq!(done.code, Some(code), "{args:?}: {}", done.err);
        assert!(done.err.contains(expected), "{args:?}: {}", done.err);
    }
}

/// A limit on file sizes fails every longer write, as a full disk does.
#[cfg(unix)]
#[test]
fn full_disk_leaves_no_partial_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (note, out) = (
        folder.path().join("note.txt"),
        folder.path().join("links.jsonl"),
    );
    std::fs::write(&note, "fever ".repeat(2000)).expect("written");
    std::fs::write(&out, "from before").expect("written");
    let command = format!(
        "trap '' XFSZ; ulimit -f 8; exec {:?} link --bundle {:?} {note:?} --format jsonl --out {out:?}",
        env!("CARGO_BIN_EXE_pel"),
        bundle()
    );
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &command]);
    let done = output_of(shell);
    assert_eq!(done.code, Some(6), "{}", done.err);
    assert!(
        done.err.contains("writing") && done.err.contains("links.jsonl"),
        "{}",
        done.err
    );
    assert_eq!(std::fs::read_to_string(&out).expect("read"), "from before");
    assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 2);
}

#[cfg(unix)]
#[test]
fn resumed_index_equals_uninterrupted_index() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().expect("a folder");
    let kb = folder.path().join("kb.jsonl");
    let lines = (0..20_000).map(|n| {
        format!(
            "{{\"id\": \"D{n}\", \"name\": \"fever of kind {n} and cough {}\"}}\n",
            n * 7
        )
    });
    std::fs::write(&kb, lines.collect::<String>()).expect("written");
    let stopped = folder.path().join("stopped");
    let args = ["index", "--device", "cpu", "--batch-tokens", "256", "--kb"];
    let (kb_arg, encoder, out) = (
        kb.display().to_string(),
        tiny().display().to_string(),
        stopped.display().to_string(),
    );
    let mut command = pel(&args);
    command
        .args([&kb_arg, "--encoder", &encoder, "--out", &out])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it can be started");
    let work = folder.path().join(".stopped.work/done.f32");
    let begun = || std::fs::metadata(&work).is_ok_and(|metadata| metadata.len() > 0);
    while !begun() {
        assert_eq!(
            child.try_wait().expect("a status"),
            None,
            "it has ended early"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let signal = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill can be started");
    assert!(signal.success());
    let done = crate::common::from(child.wait_with_output().expect("it ends"));
    assert_eq!(done.code, Some(130), "{}", done.err);
    assert!(!stopped.exists());
    let kept = std::fs::metadata(&work)
        .expect("what was done is kept")
        .len();
    assert!(kept > 0 && kept < 20_000 * 32 * 4, "{kept}");

    let whole = folder.path().join("whole");
    let more = ["--batch-tokens", "256"];
    assert_eq!(index(&kb, &stopped, &more).code, Some(0));
    assert_eq!(index(&kb, &whole, &more).code, Some(0));
    assert!(!folder.path().join(".stopped.work").exists());
    for entry in std::fs::read_dir(&whole).expect("listed") {
        let name = entry.expect("listed").file_name();
        let read = |folder: &Path| std::fs::read(folder.join(&name)).expect("read");
        assert!(read(&whole) == read(&stopped), "{name:?} differs");
    }
}

#[test]
fn packed_bundle_equals_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, back) = (folder.path().join("b.pel"), folder.path().join("back"));
    let (one, back) = (one.display().to_string(), back.display().to_string());
    assert_eq!(output_of(pel(&["pack", bundle(), &one])).code, Some(0));
    assert_eq!(output_of(pel(&["pack", &one, &back])).code, Some(0));
    let manifest = |path: &str| output_of(pel(&["inspect", path, "--json"])).out;
    assert!(manifest(&one).contains("\"format\": 8"));
    assert_eq!(manifest(&one), manifest(bundle()));
    assert_eq!(manifest(&back), manifest(bundle()));
    let mut bytes = std::fs::read(&one).expect("read");
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    std::fs::write(&one, &bytes).expect("written");
    assert_eq!(output_of(pel(&["inspect", &one])).code, Some(4));
    std::fs::write(&one, &bytes[..bytes.len() / 3]).expect("written");
    let cut = output_of(pel(&["inspect", &one]));
    assert!(
        cut.code == Some(4) && cut.err.contains("cut short"),
        "{}",
        cut.err
    );
}

#[test]
fn undecodable_notes_are_reported_and_others_linked() {
    let folder = tempfile::tempdir().expect("a folder");
    let notes = folder.path().join("notes");
    std::fs::create_dir(&notes).expect("a folder");
    let text = "Sjögren: fever.\n";
    let utf16: Vec<u8> = std::iter::once(0xfeff)
        .chain(text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    std::fs::write(notes.join("utf8.txt"), text).expect("written");
    std::fs::write(notes.join("utf16.txt"), &utf16).expect("written");
    std::fs::write(notes.join("bare16.txt"), &utf16[2..]).expect("written");
    std::fs::write(notes.join("cp1252.txt"), b"Sj\xf6gren: fever.\n").expect("written");
    std::fs::write(notes.join("word.txt"), b"PK\x03\x04 a file of Word").expect("written");
    let (input, out) = (notes.display().to_string(), folder.path().join("out"));
    let link = |more: &[&str]| {
        let _ = std::fs::remove_dir_all(&out);
        let out = out.display().to_string();
        let mut args = vec![
            "link",
            "--bundle",
            bundle(),
            &input,
            "--names-only",
            "--format",
            "brat",
            "--out",
            &out,
        ];
        args.extend(more);
        output_of(pel(&args))
    };
    let linked =
        |name: &str| std::fs::read_to_string(out.join(format!("{name}.ann"))).unwrap_or_default();
    let done = link(&[]);
    assert_eq!(done.code, Some(3), "{}", done.err);
    assert!(
        done.err.contains("3 of 5 notes cannot be read"),
        "{}",
        done.err
    );
    for (name, why) in [
        (
            "cp1252.txt",
            "expected UTF-8, found the byte 0xF6 at byte 2 of line 1",
        ),
        ("bare16.txt", "--encoding utf-16le"),
        ("word.txt", "a ZIP archive"),
    ] {
        assert!(
            done.err
                .lines()
                .any(|line| line.contains(name) && line.contains(why)),
            "{name}: {}",
            done.err
        );
    }
    // Offsets count characters, independent of the encoding.
    for name in ["utf8", "utf16"] {
        assert!(
            linked(name).contains(" 9 14\tfever"),
            "{name}: {}",
            linked(name)
        );
    }
    let done = link(&["--encoding", "utf-8,windows-1252"]);
    assert!(
        done.err.contains("word.txt") && !done.err.contains("cp1252.txt"),
        "{}",
        done.err
    );
    for name in ["utf8", "utf16", "cp1252"] {
        assert!(
            linked(name).contains(" 9 14\tfever"),
            "{name}: {}",
            linked(name)
        );
    }
    let done = link(&["--encoding", "utf-7"]);
    assert!(
        done.code == Some(2) && done.err.contains("expected an encoding such as"),
        "{}",
        done.err
    );
}

#[test]
fn index_names_the_command_for_another_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("bundle");
    for (name, text, expected) in [
        (
            "a.obo",
            "format-version: 1.2\n\n[Term]\nid: T:1\nname: fever\n",
            "`pel import obo` reads",
        ),
        ("a.csv", "id,name\n1,fever\n", "`pel import csv` reads"),
        (
            "a.owl",
            "<?xml version=\"1.0\"?>\n<rdf:RDF>\n</rdf:RDF>\n",
            "an ontology in OWL",
        ),
    ] {
        let kb = folder.path().join(name);
        std::fs::write(&kb, text).expect("written");
        let done = index(&kb, &out, &[]);
        assert!(
            done.code == Some(3) && done.err.contains(expected) && done.err.contains(name),
            "{}",
            done.err
        );
        assert!(!out.exists());
    }
    let kb = folder.path().join("kb.jsonl");
    std::fs::write(&kb, b"{\"id\": \"D1\", \"name\": \"Sj\xf6gren\"}\n").expect("written");
    let done = index(&kb, &out, &[]);
    assert!(
        done.err.contains("line 1: expected UTF-8") && done.err.contains("--encoding"),
        "{}",
        done.err
    );
    let done = index(&kb, &out, &["--encoding", "windows-1252"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
}
