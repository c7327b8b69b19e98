//! Output paths: inputs, foreign folders and files, links, pipes, full disks.

use crate::common::{Workspace, bundle, contents, copy, from, interrupt, pel, tiny};
use std::process::Stdio;

fn done(workspace: &Workspace, line: &str) -> crate::common::CommandOutput {
    let output = workspace.pel(line);
    assert_eq!(output.code, Some(0), "{line}: {}", output.err);
    output
}

#[test]
fn inputs_and_foreign_folders_are_not_overwritten() {
    let workspace = Workspace::new();
    for (name, text) in [
        ("notes/note.txt", "fever"),
        ("notes/note.ann", "T1\tSign 0 5\tfever\n"),
        ("a/n.txt", "fever"),
    ] {
        std::fs::create_dir_all(workspace.path(name).parent().expect("a folder")).expect("made");
        std::fs::write(workspace.path(name), text).expect("written");
    }
    std::fs::create_dir(workspace.path("thesis")).expect("made");
    std::fs::write(workspace.path("thesis/chapter.md"), "mine").expect("written");
    copy(&tiny().display().to_string(), &workspace.path("encoder"));
    std::fs::create_dir(workspace.path("settings")).expect("made");
    std::fs::write(
        workspace.path("settings/config.toml"),
        "# my own words\nseed = 3\n",
    )
    .expect("written");
    let before = contents(&workspace.path(""));
    let (input, new) = ("this is an input", "expected a new or empty folder");
    workspace.refuses(&[
        (
            "link --bundle @bundle --device cpu @notes/note.txt --format csv --out @notes/note.txt",
            2,
            input,
        ),
        (
            "link --bundle @bundle --device cpu @notes --spans @notes --format brat --out @notes",
            2,
            input,
        ),
        (
            "link --bundle @bundle --device cpu @notes/note.txt @a/note.txt --out @linked",
            3,
            "expected one output per note",
        ),
        (
            "link --bundle @bundle --device cpu @notes/note.txt @a/n.txt --format brat",
            3,
            "give a folder with --out",
        ),
        (
            "link --bundle @bundle --device cpu @notes --spans @thesis",
            3,
            "the folder has neither note.ann nor note.jsonl",
        ),
        (
            "link --bundle @bundle --device cpu @notes --threshold nan",
            2,
            "expected a number",
        ),
        (
            "candidates --system bm25 --kb @kb.jsonl --corpus @ --split dev \
             --out @mentions.dev.jsonl",
            2,
            input,
        ),
        (
            "candidates --system bm25 --kb @kb.jsonl --corpus @ --split dev --out @kb.jsonl",
            2,
            input,
        ),
        (
            "evaluate --corpus @ --kb @kb.jsonl --split dev --systems exact --out @thesis",
            3,
            "found a folder",
        ),
        (
            "evaluate --corpus @ --bundle @bundle --split dev --systems dense \
             --out @documents.jsonl",
            2,
            input,
        ),
        (
            "evaluate --corpus @ --bundle @bundle --split dev --systems dense \
             --out @bundle/index.bin",
            2,
            input,
        ),
        (
            "bench --bundle @bundle --no-encode --no-search --export-vectors @bundle/index.bin",
            2,
            input,
        ),
        (
            "bench --bundle @bundle --no-encode --no-search --export-vectors @notes/note.txt \
             --notes @notes",
            2,
            "--no-encode",
        ),
        (
            "link --bundle @bundle --device cpu @notes/note.txt --json --format csv",
            3,
            "omit --json",
        ),
        (
            "calibrate @bundle --corpus @ --split dev --dry-run --out @documents.jsonl",
            2,
            input,
        ),
        (
            "calibrate @bundle --corpus @ --split dev --dry-run --curve @mentions.dev.jsonl",
            2,
            input,
        ),
        (
            "calibrate @bundle --corpus @ --split dev --dry-run --out @bundle/index.bin",
            2,
            input,
        ),
        (
            "calibrate @bundle --corpus @ --split dev --dry-run --curve @c.json --out @c.json",
            2,
            "two outputs have this path",
        ),
        (
            "train --encoder @encoder --kb @kb.jsonl --corpus @ --device cpu --steps 1 \
             --out @thesis",
            3,
            "found chapter.md",
        ),
        (
            "train --encoder @encoder --kb @kb.jsonl --corpus @ --device cpu --steps 1 \
             --out @encoder",
            2,
            input,
        ),
        (
            "pretrain --encoder @encoder --kb @kb.jsonl --device cpu --steps 1 --out @settings",
            3,
            "found config.toml",
        ),
        ("import jsonl @kb.jsonl --out @", 2, input),
        ("export @bundle --out @thesis", 3, new),
        ("export @bundle --out @bundle", 2, input),
        ("export @bundle --out ..", 3, "the name of a folder"),
        ("pack @bundle @thesis", 3, new),
        ("pack @bundle @encoder", 3, new),
        (
            "index --device cpu --kb @kb.jsonl --encoder @encoder --out @encoder",
            2,
            input,
        ),
        (
            "index --device cpu --kb @kb.jsonl --encoder @encoder --mention-tokens 2 --out @b",
            3,
            "expected a window of more than the template's 2 special tokens, found 2 tokens",
        ),
        (
            "index --device cpu --kb @kb.jsonl --encoder @encoder --nil-threshold inf --out @b",
            2,
            "expected a number",
        ),
    ]);
    assert!(contents(&workspace.path("")) == before);
}

#[test]
fn replacing_a_bundle_keeps_foreign_files() {
    let workspace = Workspace::new();
    let index = format!(
        "index --device cpu --kb @kb.jsonl --encoder {} --out @b",
        tiny().display()
    );
    done(&workspace, &format!("{index} --scorer sum-of-max"));
    assert!(workspace.path("b/token_vectors.bin").exists());
    std::fs::write(workspace.path("b/notes.txt"), "mine").expect("written");
    done(&workspace, &index);
    assert!(
        !workspace.path("b/token_vectors.bin").exists()
            && !workspace.path("b/.unfinished").exists()
    );
    assert_eq!(
        std::fs::read_to_string(workspace.path("b/notes.txt")).expect("stays"),
        "mine"
    );
    done(&workspace, "inspect @b");
    // An interrupted writer leaves an invalid bundle that can be replaced.
    std::fs::remove_file(workspace.path("b/manifest.json")).expect("removed");
    std::fs::write(workspace.path("b/.unfinished"), "").expect("written");
    workspace.refuses(&[("inspect @b", 4, "expected a bundle")]);
    done(&workspace, &index);
    done(&workspace, "inspect @b");
}

#[test]
fn outputs_are_named_after_notes_and_csv_has_one_header() {
    let workspace = Workspace::new();
    let write = |name: &str, text: &str| {
        let path = workspace.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    for name in [
        "notes/A.TXT",
        "notes/b.text",
        "notes/.git/x.txt",
        "notes/old.links.txt",
        "patient.1",
        "patient.2",
    ] {
        write(name, "fever");
    }
    let link = "link --bundle @bundle --device cpu";
    done(&workspace, &format!("{link} @notes --out @notes"));
    done(&workspace, &format!("{link} @notes --out @notes"));
    let mut written: Vec<String> = contents(&workspace.path("notes"))
        .iter()
        .filter_map(|(path, _)| {
            path.strip_prefix(workspace.path("notes"))
                .ok()
                .map(|path| path.display().to_string())
        })
        .filter(|name| name.ends_with("links.txt"))
        .collect();
    written.sort();
    assert_eq!(written, ["A.links.txt", "b.links.txt", "old.links.txt"]);
    done(
        &workspace,
        &format!("{link} @patient.1 @patient.2 --format csv --out @linked"),
    );
    assert!(
        workspace.path("linked/patient.1.csv").exists()
            && workspace.path("linked/patient.2.csv").exists()
    );
    let table = done(
        &workspace,
        &format!("{link} @patient.1 @patient.2 --format csv"),
    )
    .out;
    let docs: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!(docs, ["doc", "patient.1", "patient.2"]);
    // A single note, with the folder given by a trailing slash or by its existence.
    let slash = format!(
        "{link} @patient.1 --format csv --out @new{}",
        std::path::MAIN_SEPARATOR
    );
    done(&workspace, &slash);
    assert!(workspace.path("new/patient.1.csv").exists());
}

#[test]
fn failed_start_of_training_does_not_claim_its_folder() {
    let workspace = Workspace::new();
    let train = |more: &str| {
        format!(
            "train --kb @kb.jsonl --corpus @ --device cpu --out @run --steps 1 \
             --set data.split=known {more}"
        )
    };
    let fits = "--set view.mention_tokens=16 --set view.entity_tokens=16 --set model.tied=true \
                --set negatives.count=1 --set negatives.kind=random --set validation.mentions=0 \
                --set optimiser.batch=2";
    let encoder = format!("--encoder {}", tiny().display());
    workspace.refuses(&[(&train("--encoder nowhere"), 3, "nowhere: expected a folder")]);
    workspace.refuses(&[(
        &train(&format!("{encoder} --set view.mention_tokens=5000")),
        3,
        "reads at most",
    )]);
    let right = train(&format!(
        "{encoder} {}",
        fits.split_whitespace().collect::<Vec<_>>().join(" ")
    ));
    done(&workspace, &right);
    workspace.refuses(&[(
        &right.replace("--steps 1", "--steps 2"),
        3,
        "expected the configuration of the run in this folder",
    )]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_pipes_written_and_read_only_files_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let workspace = Workspace::new();
    std::fs::write(workspace.path("note.txt"), "fever").expect("written");
    std::fs::write(workspace.path("target.csv"), "old").expect("written");
    symlink(workspace.path("target.csv"), workspace.path("link.csv")).expect("linked");
    let link = "link --bundle @bundle --device cpu @note.txt --format csv --out";
    done(&workspace, &format!("{link} @link.csv"));
    let read = |name: &str| std::fs::read_to_string(workspace.path(name)).expect("read");
    assert!(workspace.path("link.csv").is_symlink() && read("target.csv").starts_with("doc,"));
    std::fs::write(workspace.path("locked.csv"), "old").expect("written");
    std::fs::set_permissions(
        workspace.path("locked.csv"),
        PermissionsExt::from_mode(0o444),
    )
    .expect("set");
    workspace.refuses(&[(&format!("{link} @locked.csv"), 6, "the file is read-only")]);
    assert_eq!(read("locked.csv"), "old");

    let pipe = workspace.path("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .expect("mkfifo")
            .success()
    );
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).expect("read")
    });
    done(&workspace, &format!("{link} @pipe"));
    assert!(reader.join().expect("it ends").starts_with("doc,") && !pipe.is_file());
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_reported_and_closed_pipe_is_not() {
    let full = || {
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("Linux has it")
    };
    for line in [
        &["inspect", bundle()][..],
        &["devices"],
        &["train", "--print"],
    ] {
        let output = pel(line)
            .stdout(full())
            .stderr(Stdio::piped())
            .output()
            .expect("it can be started");
        let output = from(output);
        assert!(
            output.code == Some(6) && output.err.contains("No space left"),
            "{line:?}: {:?} {}",
            output.code,
            output.err
        );
        let mut child = pel(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        drop(child.stdout.take());
        let output = from(child.wait_with_output().expect("it ends"));
        assert!(
            output.code == Some(0) && !output.err.contains("pel:"),
            "{line:?}: {:?} {}",
            output.code,
            output.err
        );
    }
}

#[cfg(unix)]
#[test]
fn waiting_for_standard_input_can_be_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    let nothing = folder.path().join("out").display().to_string();
    for line in [
        &["link", "--bundle", bundle(), "--device", "cpu"][..],
        &["import", "jsonl", "-", "--out", &nothing],
    ] {
        let mut child = pel(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        let held = child.stdin.take();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        interrupt(&child);
        let output = from(child.wait_with_output().expect("it ends"));
        drop(held);
        assert_eq!(output.code, Some(130), "{line:?}: {}", output.err);
        assert_eq!(std::fs::read_dir(&folder).expect("listed").count(), 0);
    }
}
