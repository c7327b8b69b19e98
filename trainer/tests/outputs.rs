//! What is in the way of an output: inputs, folders and files of somebody else, links, pipes; and a full disk.

mod common;

use common::{Bench, bundle, contents, copy, from, interrupt, pel, tiny};
use std::process::Stdio;

fn done(bench: &Bench, line: &str) -> common::Said {
    let said = bench.pel(line);
    assert_eq!(said.code, Some(0), "{line}: {}", said.err);
    said
}

#[test]
fn inputs_and_foreign_folders_are_refused_and_stay() {
    let bench = Bench::new();
    for (name, text) in [("notes/note.txt", "fever"), ("notes/note.ann", "T1\tSign 0 5\tfever\n"), ("a/n.txt", "fever")]
    {
        std::fs::create_dir_all(bench.path(name).parent().expect("a folder")).expect("made");
        std::fs::write(bench.path(name), text).expect("written");
    }
    std::fs::create_dir(bench.path("thesis")).expect("made");
    std::fs::write(bench.path("thesis/chapter.md"), "mine").expect("written");
    copy(&tiny().display().to_string(), &bench.path("encoder"));
    std::fs::create_dir(bench.path("settings")).expect("made");
    std::fs::write(bench.path("settings/config.toml"), "# my own words\nseed = 3\n").expect("written");
    let before = contents(&bench.path(""));
    let (input, new) = ("this is an input", "expected a new or empty folder");
    bench.refuses(&[
        ("link --bundle @bundle --device cpu @notes/note.txt --format csv --out @notes/note.txt", 2, input),
        ("link --bundle @bundle --device cpu @notes --spans @notes --format brat --out @notes", 2, input),
        ("link --bundle @bundle --device cpu @notes/note.txt @a/note.txt --out @linked", 3, "would both go into"),
        ("link --bundle @bundle --device cpu @notes/note.txt @a/n.txt --format brat", 3, "choose a folder with --out"),
        ("link --bundle @bundle --device cpu @notes --spans @thesis", 3, "expected note.ann or note.jsonl in it"),
        ("link --bundle @bundle --device cpu @notes --threshold nan", 2, "expected a number"),
        ("candidates --system bm25 --kb @kb.jsonl --corpus @ --split dev --out @mentions.dev.jsonl", 2, input),
        ("candidates --system bm25 --kb @kb.jsonl --corpus @ --split dev --out @kb.jsonl", 2, input),
        ("evaluate --corpus @ --kb @kb.jsonl --split dev --systems exact --out @thesis", 3, "found a folder"),
        ("evaluate --corpus @ --bundle @bundle --split dev --systems dense --out @documents.jsonl", 2, input),
        ("evaluate --corpus @ --bundle @bundle --split dev --systems dense --out @bundle/index.bin", 2, input),
        ("bench --bundle @bundle --no-encode --no-search --export-vectors @bundle/index.bin", 2, input),
        (
            "bench --bundle @bundle --no-encode --no-search --export-vectors @notes/note.txt --notes @notes",
            2,
            "--no-encode",
        ),
        ("link --bundle @bundle --device cpu @notes/note.txt --json --format csv", 3, "leave one out"),
        ("calibrate @bundle --corpus @ --split dev --dry-run --out @documents.jsonl", 2, input),
        ("calibrate @bundle --corpus @ --split dev --dry-run --curve @mentions.dev.jsonl", 2, input),
        ("calibrate @bundle --corpus @ --split dev --dry-run --out @bundle/index.bin", 2, input),
        (
            "calibrate @bundle --corpus @ --split dev --dry-run --curve @c.json --out @c.json",
            2,
            "two outputs would go there",
        ),
        (
            "train --encoder @encoder --kb @kb.jsonl --corpus @ --device cpu --steps 1 --out @thesis",
            3,
            "found chapter.md",
        ),
        ("train --encoder @encoder --kb @kb.jsonl --corpus @ --device cpu --steps 1 --out @encoder", 2, input),
        ("pretrain --encoder @encoder --kb @kb.jsonl --device cpu --steps 1 --out @settings", 3, "found config.toml"),
        ("import jsonl @kb.jsonl --out @", 2, input),
        ("export @bundle --out @thesis", 3, new),
        ("export @bundle --out @bundle", 2, input),
        ("export @bundle --out ..", 3, "the name of a folder"),
        ("pack @bundle @thesis", 3, new),
        ("pack @bundle @encoder", 3, new),
        ("index --device cpu --kb @kb.jsonl --encoder @encoder --out @encoder", 2, input),
        (
            "index --device cpu --kb @kb.jsonl --encoder @encoder --mention-tokens 2 --out @b",
            3,
            "expected a window of more than the template's 2 special tokens, found 2 tokens",
        ),
        ("index --device cpu --kb @kb.jsonl --encoder @encoder --nil-threshold inf --out @b", 2, "expected a number"),
    ]);
    assert!(contents(&bench.path("")) == before);
}

#[test]
fn a_bundle_is_replaced_whole_and_strangers_in_its_folder_stay() {
    let bench = Bench::new();
    let index = format!("index --device cpu --kb @kb.jsonl --encoder {} --out @b", tiny().display());
    done(&bench, &format!("{index} --scorer sum-of-max"));
    assert!(bench.path("b/token_vectors.bin").exists());
    std::fs::write(bench.path("b/notes.txt"), "mine").expect("written");
    done(&bench, &index);
    assert!(!bench.path("b/token_vectors.bin").exists() && !bench.path("b/.unfinished").exists());
    assert_eq!(std::fs::read_to_string(bench.path("b/notes.txt")).expect("stays"), "mine");
    done(&bench, "inspect @b");
    // A writer that was stopped leaves a bundle that is none, and may be written again.
    std::fs::remove_file(bench.path("b/manifest.json")).expect("removed");
    std::fs::write(bench.path("b/.unfinished"), "").expect("written");
    bench.refuses(&[("inspect @b", 4, "expected a bundle")]);
    done(&bench, &index);
    done(&bench, "inspect @b");
}

#[test]
fn notes_keep_their_names_and_tables_one_head() {
    let bench = Bench::new();
    let write = |name: &str, text: &str| {
        let path = bench.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    for name in ["notes/A.TXT", "notes/b.text", "notes/.git/x.txt", "notes/old.links.txt", "patient.1", "patient.2"] {
        write(name, "fever");
    }
    let link = "link --bundle @bundle --device cpu";
    done(&bench, &format!("{link} @notes --out @notes"));
    done(&bench, &format!("{link} @notes --out @notes"));
    let mut written: Vec<String> = contents(&bench.path("notes"))
        .iter()
        .filter_map(|(path, _)| path.strip_prefix(bench.path("notes")).ok().map(|path| path.display().to_string()))
        .filter(|name| name.ends_with("links.txt"))
        .collect();
    written.sort();
    assert_eq!(written, ["A.links.txt", "b.links.txt", "old.links.txt"]);
    done(&bench, &format!("{link} @patient.1 @patient.2 --format csv --out @linked"));
    assert!(bench.path("linked/patient.1.csv").exists() && bench.path("linked/patient.2.csv").exists());
    let table = done(&bench, &format!("{link} @patient.1 @patient.2 --format csv")).out;
    let docs: Vec<&str> = table.lines().filter_map(|line| line.split(',').next()).collect();
    assert_eq!(docs, ["doc", "patient.1", "patient.2"]);
    // One note into a folder, as it is written or as it is.
    let slash = format!("{link} @patient.1 --format csv --out @new{}", std::path::MAIN_SEPARATOR);
    done(&bench, &slash);
    assert!(bench.path("new/patient.1.csv").exists());
}

#[test]
fn a_training_that_never_began_does_not_hold_its_folder() {
    let bench = Bench::new();
    let train = |more: &str| {
        format!("train --kb @kb.jsonl --corpus @ --device cpu --out @run --steps 1 --set data.split=known {more}")
    };
    let fits = "--set view.mention_tokens=16 --set view.entity_tokens=16 --set model.tied=true --set negatives.count=1 \
        --set negatives.kind=random --set validation.mentions=0 --set optimiser.batch=2";
    let encoder = format!("--encoder {}", tiny().display());
    bench.refuses(&[(&train("--encoder nowhere"), 3, "nowhere: expected a folder")]);
    bench.refuses(&[(&train(&format!("{encoder} --set view.mention_tokens=5000")), 3, "reads at most")]);
    let right = train(&format!("{encoder} {}", fits.split_whitespace().collect::<Vec<_>>().join(" ")));
    done(&bench, &right);
    bench.refuses(&[(
        &right.replace("--steps 1", "--steps 2"),
        3,
        "expected the configuration of the run in this folder",
    )]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_pipes_written_and_readable_files_left() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let bench = Bench::new();
    std::fs::write(bench.path("note.txt"), "fever").expect("written");
    std::fs::write(bench.path("target.csv"), "old").expect("written");
    symlink(bench.path("target.csv"), bench.path("link.csv")).expect("linked");
    let link = "link --bundle @bundle --device cpu @note.txt --format csv --out";
    done(&bench, &format!("{link} @link.csv"));
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).expect("read");
    assert!(bench.path("link.csv").is_symlink() && read("target.csv").starts_with("doc,"));
    std::fs::write(bench.path("locked.csv"), "old").expect("written");
    std::fs::set_permissions(bench.path("locked.csv"), PermissionsExt::from_mode(0o444)).expect("set");
    bench.refuses(&[(&format!("{link} @locked.csv"), 6, "may only be read")]);
    assert_eq!(read("locked.csv"), "old");

    let pipe = bench.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).expect("read")
    });
    done(&bench, &format!("{link} @pipe"));
    assert!(reader.join().expect("it ends").starts_with("doc,") && !pipe.is_file());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_and_a_closed_pipe_is_not() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    for line in [&["inspect", bundle()][..], &["devices"], &["train", "--print"]] {
        let output = pel(line).stdout(full()).stderr(Stdio::piped()).output().expect("it can be started");
        let said = from(output);
        assert!(said.code == Some(6) && said.err.contains("No space left"), "{line:?}: {:?} {}", said.code, said.err);
        let mut child = pel(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
        drop(child.stdout.take());
        let said = from(child.wait_with_output().expect("it ends"));
        assert!(said.code == Some(0) && !said.err.contains("pel:"), "{line:?}: {:?} {}", said.code, said.err);
    }
}

#[cfg(unix)]
#[test]
fn waiting_for_standard_input_can_be_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let nothing = folder.path().join("out").display().to_string();
    for line in [&["link", "--bundle", bundle(), "--device", "cpu"][..], &["import", "jsonl", "-", "--out", &nothing]] {
        let mut child =
            pel(line).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        let held = child.stdin.take();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        interrupt(&child);
        let said = from(child.wait_with_output().expect("it ends"));
        drop(held);
        assert_eq!(said.code, Some(130), "{line:?}: {}", said.err);
        assert_eq!(std::fs::read_dir(&folder).expect("listed").count(), 0);
    }
}
