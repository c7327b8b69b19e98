//! Files that are too large, folders that are closed, links that were planted, and users who stop the work: nothing is lost, and no memory
//! or patience is used up.

mod common;

use common::{Bench, bundle, contents, from, pel};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// So many bytes of blanks, packed.
fn packed_blanks(path: &Path, mebibytes: usize) {
    let file = std::fs::File::create(path).expect("made");
    let mut file = zstd::Encoder::new(file, 1).expect("zstd").auto_finish();
    let piece = vec![b' '; 1 << 20];
    (0..mebibytes).for_each(|_| file.write_all(&piece).expect("written"));
}

#[test]
fn a_small_packed_file_does_not_fill_the_memory() {
    let bench = Bench::new();
    packed_blanks(&bench.path("note.txt"), 65);
    packed_blanks(&bench.path("line.jsonl"), 65);
    packed_blanks(&bench.path("spans.jsonl"), 257);
    packed_blanks(&bench.path("settings.toml"), 65);
    std::fs::write(bench.path("short.txt"), "fever").expect("written");
    std::fs::create_dir(bench.path("model")).expect("made");
    for name in ["config.json", "model.safetensors"] {
        std::fs::copy(common::tiny().join(name), bench.path("model").join(name)).expect("copied");
    }
    let tokenizer = std::fs::read(common::tiny().join("tokenizer.json")).expect("read");
    let padded = [&tokenizer[..], &vec![b' '; (16 << 20) + 1]].concat();
    std::fs::write(bench.path("model/tokenizer.json"), &padded).expect("written");
    let manifest = std::fs::read(bench.path("bundle/manifest.json")).expect("read");
    std::fs::write(bench.path("bundle/manifest.json"), [&manifest[..], &vec![b' '; 16 << 20]].concat())
        .expect("written");
    let (good, raise) = (bundle(), "--max-input SIZE");
    for (line, expected) in [
        (format!("link --bundle {good} --device cpu @note.txt"), "note.txt: expected at most 64.0 MiB of a text"),
        (format!("explain --bundle {good} --file @note.txt --mention fever"), "note.txt: expected at most 64.0 MiB"),
        (
            format!("link --bundle {good} --device cpu @short.txt --spans @spans.jsonl --spans-only"),
            "spans.jsonl: line 1: expected at most 67108864 bytes in one line",
        ),
        (
            "index --device cpu --kb @line.jsonl --encoder @model --out @b".to_owned(),
            "line.jsonl: line 1: expected at most",
        ),
        ("train --config @settings.toml --print".to_owned(), "settings.toml: expected at most 64.0 MiB of a text"),
        ("inspect @bundle".to_owned(), "manifest.json: expected at most 16.0 MiB of a manifest"),
    ] {
        bench.refuses(&[(&line, 3, expected), (&line, 3, raise)]);
    }
    let raised = bench.pel("inspect @bundle --max-input 20MiB");
    assert_eq!(raised.code, Some(0), "{}", raised.err);
    // The tokenizer has more room than other parts of a model.
    let indexed = bench.pel("index --device cpu --kb @kb.jsonl --encoder @model --out @b");
    assert_eq!(indexed.code, Some(0), "{}", indexed.err);
    bench.refuses(&[("inspect @bundle --max-input many", 2, "many")]);
}

/// A note with so many mentions.
fn long_note(mentions: usize) -> String {
    (0..mentions).map(|at| if at % 2 == 0 { "Fever since May.\n" } else { "No chest pain 😷.\n" }).collect()
}

#[test]
fn a_note_with_many_mentions_is_written_part_by_part_as_it_is_whole() {
    let bench = Bench::new();
    let count = 16_384 + 3;
    let text = long_note(count);
    std::fs::write(bench.path("long.txt"), &text).expect("written");
    std::fs::write(bench.path("short.txt"), long_note(2)).expect("written");
    let link = |more: &str| {
        let said = bench.pel(&format!("link --bundle @bundle --device cpu {more}"));
        assert_eq!(said.code, Some(0), "{more}: {}", said.err);
        said.out
    };
    let rows = link("@long.txt --format jsonl");
    let rows: Vec<serde_json::Value> = rows.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    assert_eq!(rows.len(), count);
    for (at, row) in rows.iter().enumerate() {
        // Each line has 17 code points, every second one an emoji among them.
        let start = at / 2 * 34 + if at % 2 == 0 { 0 } else { 17 + 3 };
        assert_eq!((row["start_code_point"].as_u64(), row["decision"].as_str()), (Some(start as u64), Some("linked")));
    }
    link("@long.txt --format brat --out @long.ann");
    let brat = std::fs::read_to_string(bench.path("long.ann")).expect("read");
    let numbers = brat.lines().filter_map(|line| line.strip_prefix('T')?.split('\t').next()?.parse::<usize>().ok());
    assert!(numbers.eq(1..=count));
    let object: serde_json::Value = serde_json::from_str(&link("@long.txt --format json")).expect("JSON");
    assert_eq!(object["mentions"].as_array().map(Vec::len), Some(count));
    // One head for all.
    let table = link("@short.txt @long.txt @short.txt --format csv");
    assert_eq!(table.lines().count(), 1 + 2 + count + 2);
    assert_eq!(table.lines().filter(|line| line.starts_with("doc,")).count(), 1);
    let page = link("@short.txt --format html");
    assert!(page.contains("2 mentions: 2 linked"));
    let table = link("@long.txt");
    assert!(
        table.contains(&format!("long: {count} mentions, {count} linked, 0 NIL")),
        "{}",
        &table[table.len() - 200..]
    );
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::{Child, Command};

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).expect("there").permissions().mode() & 0o777
    }

    #[test]
    fn a_private_file_stays_private_and_planted_links_are_not_followed() {
        let bench = Bench::new();
        std::fs::write(bench.path("note.txt"), "fever").expect("written");
        std::fs::write(bench.path("private.csv"), "old").expect("written");
        std::fs::set_permissions(bench.path("private.csv"), PermissionsExt::from_mode(0o600)).expect("its own");
        let link = "link --bundle @bundle --device cpu @note.txt --format csv --out";
        let said = bench.pel(&format!("{link} @private.csv"));
        assert_eq!((said.code, mode(&bench.path("private.csv"))), (Some(0), 0o600), "{}", said.err);
        assert!(std::fs::read_to_string(bench.path("private.csv")).expect("read").contains("fever"));
        // The manifest of a bundle that is calibrated, as that of a packed one.
        std::fs::set_permissions(bench.path("bundle/manifest.json"), PermissionsExt::from_mode(0o640))
            .expect("its own");
        let said = bench.pel("calibrate @bundle --corpus @ --split dev");
        assert_eq!((said.code, mode(&bench.path("bundle/manifest.json"))), (Some(0), 0o640), "{}", said.err);

        let victim = bench.path("victim");
        std::fs::write(&victim, "precious").expect("written");
        let pack = || bench.pel("pack @bundle @b");
        assert_eq!(pack().code, Some(0));
        symlink(&victim, bench.path("b/.unfinished")).expect("linked");
        let said = pack();
        assert!(said.code == Some(6) && said.err.contains("found a link"), "{:?} {}", said.code, said.err);
        std::fs::remove_file(bench.path("b/.unfinished")).expect("removed");
        for name in ["index.bin", "manifest.json"] {
            std::fs::rename(bench.path("b").join(name), bench.path(&format!("old-{name}"))).expect("moved");
            symlink(bench.path(&format!("old-{name}")), bench.path("b").join(name)).expect("linked");
        }
        let before = std::fs::read(bench.path("old-index.bin")).expect("read");
        assert_eq!(pack().code, Some(0));
        assert!(!bench.path("b/index.bin").is_symlink() && !bench.path("b/manifest.json").is_symlink());
        assert!(std::fs::read(bench.path("old-index.bin")).expect("read") == before);
        assert_eq!(std::fs::read_to_string(&victim).expect("read"), "precious");
    }

    #[test]
    fn a_limit_on_the_size_of_files_is_an_error_that_leaves_nothing() {
        let bench = Bench::new();
        std::fs::write(bench.path("note.txt"), long_note(2000)).expect("written");
        let program = pel(&[]).get_program().to_string_lossy().into_owned();
        let [bundle, note, out] =
            ["bundle", "note.txt", "out.jsonl"].map(|name| bench.path(name).display().to_string());
        let before = contents(&bench.path(""));
        let line = format!(
            "ulimit -f 64; exec '{program}' link --bundle '{bundle}' --device cpu '{note}' --format jsonl --out '{out}'"
        );
        let said = from(Command::new("sh").args(["-c", &line]).output().expect("it can be started"));
        assert!(said.code == Some(6) && said.err.contains("too large"), "{:?} {}", said.code, said.err);
        assert!(contents(&bench.path("")) == before);
    }

    /// Sends a signal and gives the time until the process has ended.
    fn stop(mut child: Child, signal: &str) -> (Option<i32>, Duration) {
        let begun = Instant::now();
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill can be started").success());
        let code = child.wait().expect("it ends").code();
        (code, begun.elapsed())
    }

    #[test]
    fn long_work_ends_at_once_and_leaves_nothing_half_done() {
        let bench = Bench::new();
        std::fs::write(bench.path("long.txt"), long_note(400_000)).expect("written");
        let concept = |at: usize| format!("{{\"id\": \"X{at}\", \"name\": \"name number {at}\"}}\n");
        let table: String = (0..60_000).map(concept).collect();
        std::fs::write(bench.path("large.jsonl"), &table).expect("written");
        let encoder = common::tiny().display().to_string();
        for (line, signal) in [
            ("link --bundle @bundle --device cpu @long.txt --format jsonl --out @out.jsonl".to_owned(), "-INT"),
            ("link --bundle @bundle --device cpu @long.txt --format html --out @out.html".to_owned(), "-TERM"),
            (format!("index --device cpu --kb @large.jsonl --encoder {encoder} --out @b"), "-INT"),
            ("import jsonl - --out @imported".to_owned(), "-TERM"),
        ] {
            let words: Vec<String> = line
                .split(' ')
                .map(|word| {
                    word.strip_prefix('@').map_or(word.to_owned(), |name| bench.path(name).display().to_string())
                })
                .collect();
            let mut command = pel(&words.iter().map(String::as_str).collect::<Vec<_>>());
            let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let mut child = child.expect("it can be started");
            let held = child.stdin.take();
            std::thread::sleep(Duration::from_millis(1200));
            assert!(child.try_wait().expect("asked").is_none(), "{line}: done before it was stopped");
            let (code, took) = stop(child, signal);
            assert_eq!(code, Some(130), "{line}");
            // 0.17 s of patience; the rest is a busy machine.
            assert!(took < Duration::from_millis(1500), "{line}: {took:?}");
            for left in contents(&bench.path("")).iter().map(|(path, _)| path.display().to_string()) {
                assert!(!left.contains(".part") && !left.contains("out.") && !left.contains("/b/"), "{line}: {left}");
            }
            drop(held);
        }
    }

    #[test]
    fn a_closed_folder_does_not_keep_the_other_notes_from_being_linked() {
        use std::os::unix::fs::MetadataExt;
        use std::os::unix::process::CommandExt;
        let bench = Bench::new();
        for name in ["notes/a.txt", "notes/closed/b.txt", "notes/open/c.txt"] {
            std::fs::create_dir_all(bench.path(name).parent().expect("a folder")).expect("made");
            std::fs::write(bench.path(name), "fever").expect("written");
        }
        let root = bench.path("");
        let is_root = std::fs::metadata(&root).expect("there").uid() == 0;
        std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).expect("its own");
        std::fs::set_permissions(bench.path("notes/closed"), PermissionsExt::from_mode(0o000)).expect("its own");
        let [bundle, notes] = ["bundle", "notes"].map(|name| bench.path(name).display().to_string());
        // A build may lie where only its owner looks.
        let program = bench.path("pel");
        if std::fs::hard_link(env!("CARGO_BIN_EXE_pel"), &program).is_err() {
            std::fs::copy(env!("CARGO_BIN_EXE_pel"), &program).expect("copied");
        }
        let mut command = Command::new(program);
        command.args(["link", "--bundle", &bundle, "--device", "cpu", "--format", "csv", &notes]).stdin(Stdio::null());
        if is_root {
            // Whom no folder is closed to.
            command.uid(65534).gid(65534);
        }
        let said = from(command.output().expect("it can be started"));
        std::fs::set_permissions(bench.path("notes/closed"), PermissionsExt::from_mode(0o755)).expect("its own");
        assert_eq!(said.code, Some(6), "{}", said.err);
        for expected in ["1 folder cannot be read, and the others are linked", "notes/closed"] {
            assert!(said.err.contains(expected), "{}", said.err);
        }
        let docs: Vec<&str> = said.out.lines().filter_map(|line| line.split(',').next()).collect();
        assert_eq!(docs, ["doc", "a", "open/c"]);
    }

    #[test]
    fn a_machine_without_a_desktop_hears_nothing_of_it() {
        let mut command = pel(&["devices", "--json"]);
        for name in ["XDG_RUNTIME_DIR", "WAYLAND_DISPLAY", "NODEVICE_SELECT", "DISPLAY"] {
            command.env_remove(name);
        }
        let said = from(command.output().expect("it can be started"));
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    }
}

#[test]
fn the_longest_line_of_an_import_can_be_raised() {
    let bench = Bench::new();
    let definition = "so ".repeat(23 << 20);
    std::fs::write(
        bench.path("long.jsonl"),
        format!("{{\"id\": \"D1\", \"name\": \"fever\", \"definition\": \"{definition}\"}}\n"),
    )
    .expect("written");
    let import = "import jsonl @long.jsonl --out @imported";
    bench.refuses(&[(import, 3, "expected at most 67108864 bytes in one line, found more; --max-input SIZE raises")]);
    let raised = bench.pel(&format!("{import} --max-input 100MiB"));
    assert_eq!(raised.code, Some(0), "{}", raised.err);
}
