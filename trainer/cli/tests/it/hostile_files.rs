//! Oversized files, unreadable folders, planted links and interrupts.

use crate::common::{Workspace, bundle, contents, from, pel};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Writes compressed spaces.
fn packed_blanks(path: &Path, mebibytes: usize) {
    let file = std::fs::File::create(path).expect("made");
    let mut file = zstd::Encoder::new(file, 1).expect("zstd").auto_finish();
    let piece = vec![b' '; 1 << 20];
    (0..mebibytes).for_each(|_| file.write_all(&piece).expect("written"));
}

#[test]
fn small_compressed_file_cannot_fill_the_memory() {
    let workspace = Workspace::new();
    packed_blanks(&workspace.path("note.txt"), 65);
    packed_blanks(&workspace.path("line.jsonl"), 65);
    packed_blanks(&workspace.path("spans.jsonl"), 257);
    packed_blanks(&workspace.path("settings.toml"), 65);
    std::fs::write(workspace.path("short.txt"), "fever").expect("written");
    std::fs::create_dir(workspace.path("model")).expect("made");
    for name in ["config.json", "model.safetensors"] {
        std::fs::copy(
            crate::common::tiny().join(name),
            workspace.path("model").join(name),
        )
        .expect("copied");
    }
    let tokenizer = std::fs::read(crate::common::tiny().join("tokenizer.json")).expect("read");
    let padded = [&tokenizer[..], &vec![b' '; (16 << 20) + 1]].concat();
    std::fs::write(workspace.path("model/tokenizer.json"), &padded).expect("written");
    let manifest = std::fs::read(workspace.path("bundle/manifest.json")).expect("read");
    std::fs::write(
        workspace.path("bundle/manifest.json"),
        [&manifest[..], &vec![b' '; 16 << 20]].concat(),
    )
    .expect("written");
    let (good, raise) = (bundle(), "--max-input SIZE");
    for (line, expected) in [
        (
            format!("link --bundle {good} --device cpu @note.txt"),
            "note.txt: expected at most 64.0 MiB of a text",
        ),
        (
            format!("explain --bundle {good} --file @note.txt --mention fever"),
            "note.txt: expected at most 64.0 MiB",
        ),
        (
            format!(
                "link --bundle {good} --device cpu @short.txt --spans @spans.jsonl --spans-only"
            ),
            "spans.jsonl: line 1: expected at most 67108864 bytes in one line",
        ),
        (
            "index --device cpu --kb @line.jsonl --encoder @model --out @b".to_owned(),
            "line.jsonl: line 1: expected at most",
        ),
        (
            "train --config @settings.toml --print".to_owned(),
            "settings.toml: expected at most 64.0 MiB of a text",
        ),
        (
            "inspect @bundle".to_owned(),
            "manifest.json: expected at most 16.0 MiB of a manifest",
        ),
    ] {
        workspace.refuses(&[(&line, 3, expected), (&line, 3, raise)]);
    }
    let raised = workspace.pel("inspect @bundle --max-input 20MiB");
    assert_eq!(raised.code, Some(0), "{}", raised.err);
    // The limit of a tokenizer is larger than that of other model files.
    let indexed = workspace.pel("index --device cpu --kb @kb.jsonl --encoder @model --out @b");
    assert_eq!(indexed.code, Some(0), "{}", indexed.err);
    workspace.refuses(&[("inspect @bundle --max-input many", 2, "many")]);
}

/// A note with this many mentions.
fn long_note(mentions: usize) -> String {
    (0..mentions)
        .map(|at| {
            if at % 2 == 0 {
                "Fever since May.\n"
            } else {
                "No chest pain 😷.\n"
            }
        })
        .collect()
}

#[test]
fn long_note_is_linked_in_parts() {
    let workspace = Workspace::new();
    let count = 16_384 + 3;
    let text = long_note(count);
    std::fs::write(workspace.path("long.txt"), &text).expect("written");
    std::fs::write(workspace.path("short.txt"), long_note(2)).expect("written");
    let link = |more: &str| {
        let output = workspace.pel(&format!("link --bundle @bundle --device cpu {more}"));
        assert_eq!(output.code, Some(0), "{more}: {}", output.err);
        output.out
    };
    let rows = link("@long.txt --format jsonl");
    let rows: Vec<serde_json::Value> = rows
        .lines()
        .map(|row| serde_json::from_str(row).expect("JSON"))
        .collect();
    assert_eq!(rows.len(), count);
    for (at, row) in rows.iter().enumerate() {
        // Each line has 17 code points; every second one has an emoji.
        let start = at / 2 * 34 + if at % 2 == 0 { 0 } else { 17 + 3 };
        assert_eq!(
            (row["start_code_point"].as_u64(), row["decision"].as_str()),
            (Some(start as u64), Some("linked"))
        );
    }
    link("@long.txt --format brat --out @long.ann");
    let brat = std::fs::read_to_string(workspace.path("long.ann")).expect("read");
    let numbers = brat.lines().filter_map(|line| {
        line.strip_prefix('T')?
            .split('\t')
            .next()?
            .parse::<usize>()
            .ok()
    });
    assert!(numbers.eq(1..=count));
    let object: serde_json::Value =
        serde_json::from_str(&link("@long.txt --format json")).expect("JSON");
    assert_eq!(object["mentions"].as_array().map(Vec::len), Some(count));
    // A single header.
    let table = link("@short.txt @long.txt @short.txt --format csv");
    assert_eq!(table.lines().count(), 1 + 2 + count + 2);
    assert_eq!(
        table
            .lines()
            .filter(|line| line.starts_with("doc,"))
            .count(),
        1
    );
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
    fn modes_are_kept_and_planted_links_are_not_followed() {
        let workspace = Workspace::new();
        std::fs::write(workspace.path("note.txt"), "fever").expect("written");
        std::fs::write(workspace.path("private.csv"), "old").expect("written");
        std::fs::set_permissions(
            workspace.path("private.csv"),
            PermissionsExt::from_mode(0o600),
        )
        .expect("its own");
        let link = "link --bundle @bundle --device cpu @note.txt --format csv --out";
        let output = workspace.pel(&format!("{link} @private.csv"));
        assert_eq!(
            (output.code, mode(&workspace.path("private.csv"))),
            (Some(0), 0o600),
            "{}",
            output.err
        );
        assert!(
            std::fs::read_to_string(workspace.path("private.csv"))
                .expect("read")
                .contains("fever")
        );
        // The manifest of a calibrated bundle, and of a packed one.
        std::fs::set_permissions(
            workspace.path("bundle/manifest.json"),
            PermissionsExt::from_mode(0o640),
        )
        .expect("its own");
        let output = workspace.pel("calibrate @bundle --corpus @ --split dev");
        assert_eq!(
            (output.code, mode(&workspace.path("bundle/manifest.json"))),
            (Some(0), 0o640),
            "{}",
            output.err
        );

        let victim = workspace.path("victim");
        std::fs::write(&victim, "precious").expect("written");
        let pack = || workspace.pel("pack @bundle @b");
        assert_eq!(pack().code, Some(0));
        symlink(&victim, workspace.path("b/.unfinished")).expect("linked");
        let output = pack();
        assert!(
            output.code == Some(6) && output.err.contains("found a link"),
            "{:?} {}",
            output.code,
            output.err
        );
        std::fs::remove_file(workspace.path("b/.unfinished")).expect("removed");
        for name in ["index.bin", "manifest.json"] {
            std::fs::rename(
                workspace.path("b").join(name),
                workspace.path(&format!("old-{name}")),
            )
            .expect("moved");
            symlink(
                workspace.path(&format!("old-{name}")),
                workspace.path("b").join(name),
            )
            .expect("linked");
        }
        let before = std::fs::read(workspace.path("old-index.bin")).expect("read");
        assert_eq!(pack().code, Some(0));
        assert!(
            !workspace.path("b/index.bin").is_symlink()
                && !workspace.path("b/manifest.json").is_symlink()
        );
        assert!(std::fs::read(workspace.path("old-index.bin")).expect("read") == before);
        assert_eq!(std::fs::read_to_string(&victim).expect("read"), "precious");
    }

    /// A document type with entities that stand for each other, ten times each, `depth` deep.
    fn nested_entities(depth: u8) -> String {
        let names: Vec<char> = (b'a'..b'a' + depth).map(char::from).collect();
        let mut declared = "<!ENTITY a \"aaaaaaaaaa\">".to_owned();
        for pair in names.windows(2) {
            let value = format!("&{};", pair[0]).repeat(10);
            declared.push_str(&format!("<!ENTITY {} \"{value}\">", pair[1]));
        }
        format!("<!DOCTYPE x [{declared}]>")
    }

    /// Runs a command line in the folder, within 3 GB of address space.
    fn within_memory(workspace: &Workspace, line: &str) -> crate::common::CommandOutput {
        let program = pel(&[]).get_program().to_string_lossy().into_owned();
        let folder = workspace.path("").display().to_string();
        let line = format!("cd '{folder}'; ulimit -v 3000000; exec '{program}' {line}");
        from(
            Command::new("sh")
                .args(["-c", &line])
                .output()
                .expect("it can be started"),
        )
    }

    #[test]
    fn entities_of_xml_cannot_fill_the_memory() {
        let owl = |doctype: &str, attributes: &str, label: &str| {
            format!(
                "<?xml version=\"1.0\"?>{doctype}<rdf:RDF \
                 xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" \
                 xmlns:owl=\"http://www.w3.org/2002/07/owl#\" \
                 xmlns:rdfs=\"http://www.w3.org/2000/01/rdf-schema#\">\n\
                 <owl:Class rdf:about=\"http://x/A\" {attributes}>\
                 <rdfs:label>{label}</rdfs:label></owl:Class></rdf:RDF>"
            )
        };
        let deep = nested_entities(10);
        let long = format!("<!DOCTYPE x [<!ENTITY l \"{}\">]>", "l".repeat(4_000));
        let labels = format!("{}</rdfs:label><rdfs:label>", "&l;".repeat(10_000)).repeat(40);
        let attributes: String = (0..40)
            .map(|at| format!("rdfs:label{at}=\"{}\" ", "&l;".repeat(500)))
            .collect();
        let twice = format!("<!DOCTYPE x [<!ENTITY a \"{}\">]>", "a".repeat(4_000))
            + &format!("<!DOCTYPE x [<!ENTITY b \"{}\">]>", "&a;".repeat(1_000));
        // A name that ends elsewhere for another reader of the declaration.
        let odd = deep
            .replace("<!ENTITY b ", "<!ENTITY b\u{a0}c ")
            .replace("&b;", "&b\u{a0}c;");
        let entities = "expected entities of at most 4096 bytes";
        let expanded = "expected at most 10 bytes of expanded entities for each byte of the file";
        for (text, expected) in [
            (owl(&deep, "", "&j;"), entities),
            (owl(&deep, "", ""), entities),
            (owl(&odd, "", "&j;"), entities),
            (owl(&long, "", &labels), expanded),
            (owl(&long, &attributes, "a"), expanded),
            (owl(&twice, "", "&b;"), "found a second"),
            (
                owl("<!DOCTYPE x [<!ENTITY a b>]>", "", "&a;"),
                "expected <!ENTITY name \"text\">, found <!ENTITY a b>",
            ),
        ] {
            let workspace = Workspace::new();
            std::fs::write(workspace.path("a.owl"), text).expect("written");
            let done = within_memory(&workspace, "import owl a.owl --out o");
            assert_eq!(done.code, Some(3), "{expected}: {}", done.err);
            assert!(done.err.contains("a.owl: line "), "{}", done.err);
            assert!(done.err.contains(expected), "{expected}: {}", done.err);
            assert!(!workspace.path("o").exists());
        }
        let workspace = Workspace::new();
        for (name, root) in [
            ("desc2026.xml", "DescriptorRecordSet"),
            ("icd10cm_tabular.xml", "ICD10CM.tabular"),
            ("bioc.xml", "collection"),
            ("kb/kb.xml", "knowledge_base"),
        ] {
            std::fs::create_dir_all(workspace.path("kb")).expect("made");
            let text = format!("{deep}<{root}>&j;</{root}>");
            std::fs::write(workspace.path(name), text).expect("written");
        }
        std::fs::create_dir(workspace.path("texts")).expect("made");
        std::fs::write(workspace.path("texts/1.txt"), "fever").expect("written");
        std::fs::write(workspace.path("q.xml"), "<kbpentlinking/>").expect("written");
        std::fs::write(workspace.path("a.tab"), "").expect("written");
        for line in [
            "import mesh desc2026.xml --out o",
            "import icd10cm icd10cm_tabular.xml --out o",
            "import tac --kb kb --documents texts --test q.xml --test-answers a.tab --out o",
            "link --bundle bundle --device cpu bioc.xml --format jsonl",
        ] {
            let done = within_memory(&workspace, line);
            assert_eq!(done.code, Some(3), "{line}: {}", done.err);
            assert!(done.err.contains(entities), "{line}: {}", done.err);
        }
        // The entities of usual ontologies stand for the beginnings of IRIs.
        let usual = "<!DOCTYPE rdf:RDF [\n    <!ENTITY xsd \"http://www.w3.org/2001/XMLSchema#\" >\n    \
                     <!ENTITY x \"http://x/\" >\n    <!ENTITY y \"&x;Y_\" >\n]>";
        let more = "</rdfs:label></owl:Class><owl:Class rdf:about=\"&y;1\"><rdfs:label \
                    rdf:datatype=\"&xsd;string\">cough";
        let text = owl(usual, "", &("fever".to_owned() + more));
        std::fs::write(workspace.path("usual.owl"), text).expect("written");
        workspace.done("import owl @usual.owl --out @usual");
        let kb = std::fs::read_to_string(workspace.path("usual/kb.jsonl")).expect("read");
        assert!(kb.contains("http://x/Y_1") && kb.contains("cough"), "{kb}");
    }

    #[test]
    fn file_size_limit_leaves_no_partial_file() {
        let workspace = Workspace::new();
        std::fs::write(workspace.path("note.txt"), long_note(2000)).expect("written");
        let program = pel(&[]).get_program().to_string_lossy().into_owned();
        let [bundle, note, out] = ["bundle", "note.txt", "out.jsonl"]
            .map(|name| workspace.path(name).display().to_string());
        let before = contents(&workspace.path(""));
        let line = format!(
            "ulimit -f 64; exec '{program}' link --bundle '{bundle}' --device cpu '{note}' \
             --format jsonl --out '{out}'"
        );
        let output = from(
            Command::new("sh")
                .args(["-c", &line])
                .output()
                .expect("it can be started"),
        );
        assert!(
            output.code == Some(6) && output.err.contains("too large"),
            "{:?} {}",
            output.code,
            output.err
        );
        assert!(contents(&workspace.path("")) == before);
    }

    /// Sends a signal and returns the exit code and the time until the end.
    fn stop(mut child: Child, signal: &str) -> (Option<i32>, Duration) {
        let begun = Instant::now();
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.expect("kill can be started").success());
        let code = child.wait().expect("it ends").code();
        (code, begun.elapsed())
    }

    #[test]
    fn interrupted_work_ends_quickly_without_partial_files() {
        let workspace = Workspace::new();
        std::fs::write(workspace.path("long.txt"), long_note(400_000)).expect("written");
        let concept =
            |at: usize| format!("{{\"id\": \"X{at}\", \"name\": \"name number {at}\"}}\n");
        let table: String = (0..60_000).map(concept).collect();
        std::fs::write(workspace.path("large.jsonl"), &table).expect("written");
        let encoder = crate::common::tiny().display().to_string();
        for (line, signal) in [
            (
                "link --bundle @bundle --device cpu @long.txt --format jsonl --out @out.jsonl"
                    .to_owned(),
                "-INT",
            ),
            (
                "link --bundle @bundle --device cpu @long.txt --format html --out @out.html"
                    .to_owned(),
                "-TERM",
            ),
            (
                format!("index --device cpu --kb @large.jsonl --encoder {encoder} --out @b"),
                "-INT",
            ),
            ("import jsonl - --out @imported".to_owned(), "-TERM"),
        ] {
            let words: Vec<String> = line
                .split(' ')
                .map(|word| {
                    word.strip_prefix('@').map_or(word.to_owned(), |name| {
                        workspace.path(name).display().to_string()
                    })
                })
                .collect();
            let mut command = pel(&words.iter().map(String::as_str).collect::<Vec<_>>());
            let child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            let mut child = child.expect("it can be started");
            let held = child.stdin.take();
            std::thread::sleep(Duration::from_millis(1200));
            assert!(
                child.try_wait().expect("a status").is_none(),
                "{line}: done before it was stopped"
            );
            let (code, took) = stop(child, signal);
            assert_eq!(code, Some(130), "{line}");
            // A grace period of 0.17 s, and some time on a busy machine.
            assert!(took < Duration::from_millis(1500), "{line}: {took:?}");
            for left in contents(&workspace.path(""))
                .iter()
                .map(|(path, _)| path.display().to_string())
            {
                assert!(
                    !left.contains(".part") && !left.contains("out.") && !left.contains("/b/"),
                    "{line}: {left}"
                );
            }
            drop(held);
        }
    }

    #[test]
    fn unreadable_folder_does_not_stop_linking() {
        use std::os::unix::fs::MetadataExt;
        use std::os::unix::process::CommandExt;
        let workspace = Workspace::new();
        for name in ["notes/a.txt", "notes/closed/b.txt", "notes/open/c.txt"] {
            std::fs::create_dir_all(workspace.path(name).parent().expect("a folder"))
                .expect("made");
            std::fs::write(workspace.path(name), "fever").expect("written");
        }
        let root = workspace.path("");
        let is_root = std::fs::metadata(&root).expect("there").uid() == 0;
        std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).expect("its own");
        std::fs::set_permissions(
            workspace.path("notes/closed"),
            PermissionsExt::from_mode(0o000),
        )
        .expect("its own");
        let [bundle, notes] =
            ["bundle", "notes"].map(|name| workspace.path(name).display().to_string());
        // The build folder may be readable by its owner only.
        let program = workspace.path("pel");
        if std::fs::hard_link(env!("CARGO_BIN_EXE_pel"), &program).is_err() {
            std::fs::copy(env!("CARGO_BIN_EXE_pel"), &program).expect("copied");
        }
        let mut command = Command::new(program);
        command
            .args([
                "link", "--bundle", &bundle, "--device", "cpu", "--format", "csv", &notes,
            ])
            .stdin(Stdio::null());
        if is_root {
            // Root can read every folder.
            command.uid(65534).gid(65534);
        }
        let output = from(command.output().expect("it can be started"));
        std::fs::set_permissions(
            workspace.path("notes/closed"),
            PermissionsExt::from_mode(0o755),
        )
        .expect("its own");
        assert_eq!(output.code, Some(6), "{}", output.err);
        for expected in [
            "1 folder cannot be read; the others are linked",
            "notes/closed",
        ] {
            assert!(output.err.contains(expected), "{}", output.err);
        }
        let docs: Vec<&str> = output
            .out
            .lines()
            .filter_map(|line| line.split(',').next())
            .collect();
        assert_eq!(docs, ["doc", "a", "open/c"]);
    }

    #[test]
    fn missing_desktop_causes_no_message() {
        let mut command = pel(&["devices", "--json"]);
        for name in [
            "XDG_RUNTIME_DIR",
            "WAYLAND_DISPLAY",
            "NODEVICE_SELECT",
            "DISPLAY",
        ] {
            command.env_remove(name);
        }
        let output = from(command.output().expect("it can be started"));
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    }
}

#[test]
fn line_limit_of_an_import_can_be_raised() {
    let workspace = Workspace::new();
    let definition = "so ".repeat(23 << 20);
    std::fs::write(
        workspace.path("long.jsonl"),
        format!("{{\"id\": \"D1\", \"name\": \"fever\", \"definition\": \"{definition}\"}}\n"),
    )
    .expect("written");
    let import = "import jsonl @long.jsonl --out @imported";
    workspace.refuses(&[(
        import,
        3,
        "expected at most 67108864 bytes in one line, found more; --max-input SIZE raises",
    )]);
    let raised = workspace.pel(&format!("{import} --max-input 100MiB"));
    assert_eq!(raised.code, Some(0), "{}", raised.err);
}
