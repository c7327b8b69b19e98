//! Damaged, edited and incomplete artifacts: error messages and recovery.

use crate::common::{KB, Workspace, bundle, copy, index, output_of, pel, sealed, tiny};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;

fn manifest(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).expect("read"))
        .expect("JSON")
}

/// The tiny model's weights with one number replaced, and the name of its tensor.
fn weights_with(value: f32) -> (Vec<u8>, String) {
    use safetensors::tensor::SafeTensors;
    let mut whole = std::fs::read(tiny().join("model.safetensors")).expect("read");
    let name = "encoder.layer.1.output.dense.weight";
    let at = {
        let file = SafeTensors::deserialize(&whole).expect("whole");
        let data = file.tensor(name).expect("there").data().as_ptr() as usize;
        data - whole.as_ptr() as usize
    };
    // The eighth number of the tensor.
    whole[at + 28..at + 32].copy_from_slice(&value.to_le_bytes());
    (whole, name.to_owned())
}

#[test]
fn non_finite_weights_are_refused_on_every_load() {
    for value in [f32::NAN, f32::INFINITY] {
        let workspace = Workspace::new();
        let (weights, name) = weights_with(value);
        copy(&tiny().display().to_string(), &workspace.path("encoder"));
        std::fs::write(workspace.path("encoder/model.safetensors"), &weights).expect("written");
        let words = format!(
            "the tensor `{name}`: expected finite numbers, found {value} at position 7, 1 of"
        );
        workspace.refuses(&[(
            "index --kb @kb.jsonl --encoder @encoder --device cpu --out @new",
            4,
            &words,
        )]);
        assert!(!workspace.path("new").exists());
        // In a bundle with matching checksums.
        std::fs::write(workspace.path("bundle/model.safetensors"), &weights).expect("written");
        let mut json = manifest(&workspace.path("bundle"));
        json["files"]["model.safetensors"]["blake3"] =
            blake3::hash(&weights).to_hex().as_str().into();
        std::fs::write(workspace.path("bundle/manifest.json"), sealed(&json)).expect("written");
        std::fs::write(workspace.path("note.txt"), "fever").expect("written");
        let settings =
            serde_json::json!({"view": json["view"], "reduction": json["encoder"]["reduction"]});
        std::fs::write(workspace.path("encoder/pel.json"), settings.to_string()).expect("written");
        workspace.refuses(&[
            ("inspect @bundle", 4, &words),
            (
                "compact @encoder --kb @kb.jsonl --device cpu --out @small",
                4,
                &words,
            ),
            ("link --bundle @bundle --device cpu @note.txt", 4, &words),
            (
                "explain --bundle @bundle --text fever --mention fever",
                4,
                &words,
            ),
            (
                "index --kb @kb.jsonl --encoder @bundle --device cpu --out @new",
                4,
                &words,
            ),
            (
                "train --encoder @encoder --kb @kb.jsonl --corpus @ --device cpu --steps 1 \
                 --out @run --set data.split=dev --set view.mention_tokens=32 \
                 --set view.entity_tokens=32",
                4,
                &words,
            ),
        ]);
    }
}

#[test]
fn altered_manifest_is_refused_and_edited_one_can_be_sealed() {
    let workspace = Workspace::new();
    let done = workspace.pel("calibrate @bundle --corpus @ --device cpu");
    assert_eq!(done.code, Some(0), "{}", done.err);
    let path = workspace.path("bundle/manifest.json");
    let text = std::fs::read_to_string(&path).expect("read");
    let threshold = manifest(&workspace.path("bundle"))["nil"]["threshold"].to_string();
    // One digit of the threshold.
    let last = threshold.len() - 1;
    let digit = if threshold.ends_with('1') { '2' } else { '1' };
    let other = format!("{}{digit}", &threshold[..last]);
    let altered = text.replacen(
        &format!("\"threshold\": {threshold}"),
        &format!("\"threshold\": {other}"),
        1,
    );
    assert_ne!(altered, text);
    std::fs::write(&path, &altered).expect("written");
    let words = "manifest.json has been altered: its digest differs";
    workspace.refuses(&[
        ("inspect @bundle", 4, words),
        (
            "link --bundle @bundle --device cpu @kb.jsonl",
            4,
            "pel pack --edited",
        ),
        ("pack @bundle @new", 4, words),
        ("calibrate @bundle --corpus @ --device cpu", 4, words),
    ]);
    assert_eq!(
        workspace.pel("pack --edited @bundle @new.pel").code,
        Some(0)
    );
    let output = workspace.pel("inspect @new.pel --json");
    assert_eq!(output.code, Some(0), "{}", output.err);
    let json: Value = serde_json::from_str(&output.out).expect("JSON");
    let printed = json["nil"]["threshold"].to_string();
    assert_eq!(printed.parse::<f32>().ok(), other.parse::<f32>().ok());
    // The checksum of a single file covers the manifest too.
    let mut bytes = std::fs::read(workspace.path("new.pel")).expect("read");
    let place = bytes
        .windows(printed.len())
        .position(|bytes| bytes == printed.as_bytes())
        .expect("there");
    let at = place + printed.len() - 1;
    bytes[at] ^= 1;
    std::fs::write(workspace.path("new.pel"), bytes).expect("written");
    workspace.refuses(&[(
        "inspect @new.pel",
        4,
        "the checksum of `manifest.json` differs",
    )]);
    // Only the manifest may be edited.
    std::fs::write(workspace.path("bundle/tokenizer.json"), "{}").expect("written");
    workspace.refuses(&[(
        "pack --edited @bundle @again",
        4,
        "`tokenizer.json` has been cut",
    )]);
}

#[test]
fn bundle_of_another_format_is_refused() {
    let workspace = Workspace::new();
    assert!(workspace.pel("inspect @bundle").out.contains("(checked)"));
    let path = workspace.path("bundle/manifest.json");
    for (format, what_to_do) in [
        (7, "build the bundle again with `pel index`"),
        (12, "install a newer version of PEL"),
    ] {
        let written = serde_json::json!({"format": format, "written_by": "pel 0.1.0"});
        std::fs::write(&path, written.to_string()).expect("written");
        let message = format!(
            "the bundle has format version {format}, this build reads 8 to 11; {what_to_do}, or \
             open it with the program that wrote it (\"pel 0.1.0\")"
        );
        workspace.refuses(&[
            ("inspect @bundle", 4, &message),
            ("pack @bundle @new", 4, &message),
        ]);
    }
}

#[test]
fn impossible_windows_and_sizes_are_refused() {
    let workspace = Workspace::new();
    let mut json = manifest(&workspace.path("bundle"));
    json["view"]["mention_tokens"] = 43_200.into();
    std::fs::write(workspace.path("bundle/manifest.json"), sealed(&json)).expect("written");
    let words = "`view.mention_tokens`: expected at most the 128 tokens that the encoder reads, \
                 found 43200";
    workspace.refuses(&[
        ("inspect @bundle", 4, words),
        ("link --bundle @bundle --device cpu @kb.jsonl", 4, words),
    ]);
    copy(&tiny().display().to_string(), &workspace.path("encoder"));
    let config = workspace.path("encoder/config.json");
    let mut json: Value =
        serde_json::from_slice(&std::fs::read(&config).expect("read")).expect("JSON");
    json["num_hidden_layers"] = (1u64 << 53).into();
    std::fs::write(&config, json.to_string()).expect("written");
    workspace.refuses(&[(
        "index --kb @kb.jsonl --encoder @encoder --device cpu --out @new",
        4,
        "`num_hidden_layers`: expected a number from 1 to 1024, found 9007199254740992",
    )]);
}

/// Kills an index, damages its work, and compares the result of the next run with an uninterrupted
/// one.
#[cfg(unix)]
#[test]
fn killed_index_with_damaged_work_equals_uninterrupted_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let kb = folder.path().join("kb.jsonl");
    let lines = (0..6_000).map(|n| {
        format!(
            "{{\"id\": \"D{n}\", \"name\": \"fever of kind {n} and cough {}\"}}\n",
            n * 7
        )
    });
    std::fs::write(&kb, lines.collect::<String>()).expect("written");
    let killed = folder.path().join("killed");
    let (kb_arg, encoder, out) = (
        kb.display().to_string(),
        tiny().display().to_string(),
        killed.display().to_string(),
    );
    let args = [
        "index",
        "--device",
        "cpu",
        "--batch-tokens",
        "256",
        "--kb",
        &kb_arg,
        "--encoder",
        &encoder,
        "--out",
        &out,
    ];
    let mut child = pel(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it can be started");
    let work = folder.path().join(".killed.work/done.f32");
    let size = || std::fs::metadata(&work).map_or(0, |metadata| metadata.len());
    while size() < 20_000 {
        assert_eq!(
            child.try_wait().expect("a status"),
            None,
            "it has ended early"
        );
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().expect("it lives");
    child.wait().expect("it ends");
    assert!(!killed.exists());
    let mut bytes = std::fs::read(&work).expect("read");
    // Flips a bit in the middle and appends zeros, as a file system may.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    bytes.extend([0; 4096]);
    std::fs::write(&work, bytes).expect("written");
    let whole = folder.path().join("whole");
    let more = ["--batch-tokens", "256"];
    let done = index(&kb, &killed, &more);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(
        done.err.contains("are damaged and will be computed again"),
        "{}",
        done.err
    );
    assert_eq!(index(&kb, &whole, &more).code, Some(0));
    let read = |folder: &Path| std::fs::read(folder.join("index.bin")).expect("read");
    assert!(read(&whole) == read(&killed), "another index");
}

/// The names in a folder without hidden files.
fn shown(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder)
        .expect("listed")
        .map(|entry| entry.expect("listed").file_name());
    let mut names: Vec<String> = entries
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn killed_import_can_be_repeated() {
    use std::io::Write;
    let workspace = Workspace::new();
    let done = workspace.pel("import jsonl @kb.jsonl --out @out");
    assert_eq!(done.code, Some(0), "{}", done.err);
    let before = std::fs::read(workspace.path("out/kb.jsonl")).expect("read");
    let hidden = |folder: &Path| {
        std::fs::read_dir(folder).is_ok_and(|mut entries| {
            entries.any(|entry| {
                entry.is_ok_and(|entry| {
                    entry
                        .file_name()
                        .to_string_lossy()
                        .starts_with(".pel-output-")
                })
            })
        })
    };
    for out in ["out", "new"] {
        let place = workspace.path(out).display().to_string();
        let mut command = pel(&["import", "jsonl", "-", "--out", &place]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(KB.as_bytes()).expect("written");
        while !hidden(&workspace.path(out)) {
            assert_eq!(
                child.try_wait().expect("a status"),
                None,
                "it has ended early"
            );
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        child.kill().expect("it lives");
        child.wait().expect("it ends");
        if out == "out" {
            assert_eq!(shown(&workspace.path(out)), ["import.json", "kb.jsonl"]);
            assert!(std::fs::read(workspace.path("out/kb.jsonl")).expect("read") == before);
        }
        let done = workspace.pel(&format!("import jsonl @kb.jsonl --out @{out}"));
        assert_eq!(done.code, Some(0), "{}", done.err);
        assert_eq!(shown(&workspace.path(out)), ["import.json", "kb.jsonl"]);
        assert!(!hidden(&workspace.path(out)));
    }
}

#[test]
fn folder_with_files_of_two_runs_is_refused_until_completed() {
    let workspace = Workspace::new();
    let kb = KB.replacen(
        "chest pain\", \"types\": [\"Sign\"]",
        "chest pain\", \"types\": [\"Pain\"]",
        1,
    );
    std::fs::write(workspace.path("kb.jsonl"), kb).expect("written");
    std::fs::remove_file(workspace.path("mentions.known.jsonl")).expect("removed");
    let split = "split okb --corpus @ --kb @kb.jsonl --train-split dev --types Sign --out @okb";
    let done = workspace.pel(split);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let names = shown(&workspace.path("okb"));
    let whole: Vec<Vec<u8>> = names
        .iter()
        .map(|name| std::fs::read(workspace.path("okb").join(name)).expect("read"))
        .collect();
    // As if a second run had been killed after moving its first file.
    let hidden = workspace.path("okb/.pel-output-abc");
    std::fs::create_dir_all(hidden.join("files")).expect("made");
    std::fs::write(hidden.join("lock"), "").expect("written");
    std::fs::rename(
        workspace.path("okb/mentions.dev.jsonl"),
        hidden.join("files/mentions.dev.jsonl"),
    )
    .expect("moved");
    std::fs::write(workspace.path("okb/mentions.dev.jsonl"), "{}\n").expect("written");
    let plan = serde_json::json!({"files": names, "stale": []});
    std::fs::write(hidden.join("plan.json"), plan.to_string()).expect("written");
    let words = "found files of two";
    workspace.refuses(&[
        (
            "evaluate --corpus @okb --kb @okb/kb.jsonl --split dev --train-split none \
             --systems exact",
            3,
            words,
        ),
        (
            "index --kb @okb/kb.jsonl --encoder @bundle --device cpu --out @new",
            3,
            words,
        ),
    ]);
    let again = workspace.pel(split);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(
        again
            .err
            .contains("completed the output of an earlier command"),
        "{}",
        again.err
    );
    assert_eq!(shown(&workspace.path("okb")), names);
    for (name, before) in names
        .iter()
        .zip(whole)
        .filter(|(name, _)| name.ends_with(".jsonl"))
    {
        assert!(
            std::fs::read(workspace.path("okb").join(name)).expect("read") == before,
            "{name}"
        );
    }
    assert!(!hidden.exists());
}

#[test]
fn bundle_cannot_be_unpacked_outside_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = folder.path().join("b.pel").display().to_string();
    assert_eq!(output_of(pel(&["pack", bundle(), &one])).code, Some(0));
    // The header, which has its own checksum, contains the names twice.
    let mut bytes = std::fs::read(&one).expect("read");
    let length = u32::from_le_bytes(bytes[12..16].try_into().expect("four")) as usize;
    let header = String::from_utf8(bytes[48..48 + length].to_vec()).expect("JSON");
    let planted = header.replace("\"config.json\"", "\"../fig.json\"");
    assert!(planted.len() == header.len() && planted != header);
    bytes[16..48].copy_from_slice(blake3::hash(planted.as_bytes()).as_bytes());
    bytes[48..48 + length].copy_from_slice(planted.as_bytes());
    std::fs::write(&one, &bytes).expect("written");
    let out = folder.path().join("sub/out").display().to_string();
    let done = output_of(pel(&["pack", &one, &out]));
    assert!(
        done.code == Some(4) && done.err.contains("expected file names of letters, digits"),
        "{:?} {}",
        done.code,
        done.err
    );
    assert!(!folder.path().join("sub").exists());
}
