//! No command overwrites its input: every command with each of its inputs as output.

use crate::common::{Workspace, contents, copy, from, pel, tiny};
use std::path::Path;
use std::process::Stdio;

/// A folder with every kind of input: corpus `c`, concept tables, bundles, models, notes, sources
/// of imports.
fn everything() -> Workspace {
    let workspace = Workspace::new();
    for (name, text) in [
        ("c/documents.jsonl", "{\"doc_id\":\"1\",\"text\":\"fever\"}"),
        (
            "c/mentions.dev.jsonl",
            "{\"doc_id\":\"1\",\"start\":0,\"end\":5,\"text\":\"fever\",\"id\":\"D1\"}",
        ),
        (
            "c/mentions.train.jsonl",
            "{\"doc_id\":\"1\",\"start\":0,\"end\":5,\"text\":\"fever\",\"id\":\"D1\"}",
        ),
        ("c/kb.jsonl", crate::common::KB),
        ("more.jsonl", crate::common::KB),
        ("other.jsonl", crate::common::KB),
        ("lists.jsonl", ""),
        ("dev_lists.jsonl", ""),
        ("settings.toml", "seed = 3\n"),
        ("ranker.toml", "seed = 3\n"),
        ("words.txt", "fever"),
        ("numbers.bin", "12345678"),
        ("notes/note.txt", "fever"),
        ("notes/note.ann", "T1\tSign 0 5\tfever\n"),
        ("run/config.toml", "seed = 3\n"),
        ("run/model/config.json", "{}"),
        ("a.obo", "[Term]\nid: A:1\nname: fever\n"),
        ("a.csv", "id,name\nA1,fever\n"),
        ("a.pubtator", "1|t|fever\n1|a|\n"),
        ("list.txt", "1\n"),
        ("zeshel/documents/lego.json", ""),
        ("zeshel/mentions/train.json", ""),
        ("entities/lego.jsonl", ""),
        ("train.jsonl", ""),
        ("tac_kb/kb.xml", "<knowledge_base/>"),
        ("tac_documents/1.txt", "fever"),
        ("queries.xml", "<kbpentlink/>"),
        ("answers.tab", ""),
        ("found/exact-f32.u32", "12345678"),
    ] {
        let path = workspace.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    for name in ["encoder", "entities_encoder", "rk", "model"] {
        copy(&tiny().display().to_string(), &workspace.path(name));
    }
    for name in ["other_bundle", "lb"] {
        copy(
            &workspace.path("bundle").display().to_string(),
            &workspace.path(name),
        );
    }
    std::fs::write(workspace.path("lb/kb.jsonl"), crate::common::KB).expect("written");
    std::fs::write(
        workspace.path("lb/LICENSES.md"),
        "| Source | Licence |\n| --- | --- |\n| TEST | CC0 |\n",
    )
    .expect("written");
    let packed = workspace.pel("pack @bundle @b.pel");
    assert_eq!(packed.code, Some(0), "{}", packed.err);
    std::fs::hard_link(workspace.path("notes/note.txt"), workspace.path("hard.txt"))
        .expect("linked");
    #[cfg(unix)]
    for (to, name) in [
        ("notes/note.txt", "soft.txt"),
        ("bundle", "soft_bundle"),
        ("bundle/new.txt", "dangling.txt"),
    ] {
        std::os::unix::fs::symlink(workspace.path(to), workspace.path(name)).expect("linked");
    }
    workspace
}

/// A command with all inputs, its output option, and outputs that it must refuse.
const TABLE: &[(&str, &str, &[&str])] = &[
    (
        "link --bundle @bundle --device cpu @notes/note.txt --spans @notes/note.ann --ranker @rk \
         --rerank 2 --format csv",
        "--out",
        &[
            "@notes/note.txt",
            "@notes/../notes/note.txt",
            "@notes/note.ann",
            "@bundle/manifest.json",
            "@bundle/new.csv",
            "@rk/config.json",
            "@rk/model.safetensors",
            "@hard.txt",
        ],
    ),
    (
        "link --bundle @b.pel --device cpu @notes/note.txt",
        "--out",
        &["@b.pel", "@notes/note.txt"],
    ),
    (
        "link --bundle @bundle --device cpu @notes --format brat",
        "--out",
        &["@bundle", "@bundle/new"],
    ),
    (
        "link --bundle @bundle --device cpu @notes --spans @notes --format brat",
        "--out",
        &["@notes"],
    ),
    (
        "count --bundle @bundle --device cpu @notes/note.txt",
        "--out",
        &[
            "@notes/note.txt",
            "@bundle/manifest.json",
            "@bundle/new.csv",
        ],
    ),
    (
        "map @words.txt --device cpu --bundle @bundle",
        "--out",
        &["@words.txt", "@bundle/manifest.json", "@bundle/new.csv"],
    ),
    (
        "map @a.csv --reviewed --bundle @b.pel",
        "--out",
        &["@a.csv", "@b.pel"],
    ),
    (
        "train --device cpu --encoder @encoder --kb @kb.jsonl --corpus @c \
         --candidates @lists.jsonl --dev-candidates @dev_lists.jsonl --stage rank \
         --config @settings.toml",
        "--out",
        &[
            "@encoder",
            "@encoder/run",
            "@kb.jsonl",
            "@c",
            "@lists.jsonl",
            "@dev_lists.jsonl",
            "@settings.toml",
            "@",
        ],
    ),
    (
        "train --device cpu --encoder @encoder --kb @kb.jsonl --corpus @c --distil @lists.jsonl",
        "--out",
        &["@encoder", "@lists.jsonl"],
    ),
    (
        "pretrain --device cpu --encoder @encoder --kb @kb.jsonl --more-kb @more.jsonl --corpus @c",
        "--out",
        &["@encoder", "@kb.jsonl", "@more.jsonl", "@c", "@"],
    ),
    (
        "candidates --bundle @bundle --corpus @c --ranker @rk --split dev",
        "--out",
        &[
            "@bundle/index.bin",
            "@c/documents.jsonl",
            "@c/mentions.train.jsonl",
            "@c/mentions.new.jsonl",
            "@rk/config.json",
        ],
    ),
    (
        "candidates --from @lists.jsonl --kb @kb.jsonl --ranker @rk --corpus @c",
        "--out",
        &["@lists.jsonl", "@kb.jsonl"],
    ),
    (
        "candidates --system bm25 --kb @kb.jsonl --corpus @c",
        "--out",
        &["@kb.jsonl", "@c/kb.jsonl"],
    ),
    (
        "candidates --run @run --kb @kb.jsonl --corpus @c",
        "--out",
        &[
            "@run/config.toml",
            "@run/model/config.json",
            "@run/model/new",
            "@kb.jsonl",
        ],
    ),
    (
        "compact @model --kb @kb.jsonl --corpus @c --text @words.txt",
        "--out",
        &[
            "@model",
            "@model/small",
            "@kb.jsonl",
            "@c",
            "@words.txt",
            "@",
        ],
    ),
    (
        "experiment --table pel-2 --device cpu --encoder @encoder --kb @kb.jsonl --corpus @c \
         --config @settings.toml --other-kb @other.jsonl --pretrained @model \
         --pretrained-ranker @rk --ranker-config @ranker.toml",
        "--out",
        &[
            "@encoder",
            "@encoder/tables",
            "@kb.jsonl",
            "@c",
            "@settings.toml",
            "@other.jsonl",
            "@model",
            "@rk",
            "@ranker.toml",
        ],
    ),
    (
        "index --device cpu --kb @kb.jsonl --encoder @encoder --entity-encoder @entities_encoder",
        "--out",
        &[
            "@kb.jsonl",
            "@encoder",
            "@encoder/bundle",
            "@encoder/b.pel",
            "@entities_encoder",
            "@",
        ],
    ),
    (
        "index --device cpu --kb @kb.jsonl --encoder @bundle",
        "--out",
        &["@bundle", "@bundle/b.pel"],
    ),
    (
        "index --device cpu --kb @kb.jsonl --encoder @b.pel",
        "--out",
        &["@b.pel"],
    ),
    (
        "index --device cpu --kb @lb/kb.jsonl --encoder @encoder",
        "--out",
        &["@lb"],
    ),
    (
        "index --device cpu --kb @kb.jsonl --encoder @encoder --redirects @list.txt --out @new",
        "--export-vectors",
        &["@kb.jsonl", "@list.txt"],
    ),
    (
        "update @bundle --device cpu --kb @kb.jsonl --redirects @list.txt",
        "--out",
        &["@bundle", "@bundle/b.pel", "@kb.jsonl", "@list.txt"],
    ),
    (
        "update @b.pel --device cpu --kb @kb.jsonl",
        "--out",
        &["@b.pel"],
    ),
    (
        "update @bundle --device cpu --add @more.jsonl",
        "--out",
        &["@bundle", "@more.jsonl"],
    ),
    (
        "export-vectors @bundle",
        "--out",
        &["@bundle", "@bundle/new.parquet"],
    ),
    ("export-vectors @b.pel", "--out", &["@b.pel"]),
    ("export @bundle", "--out", &["@bundle", "@bundle/model"]),
    ("export @b.pel", "--out", &["@b.pel"]),
    ("convert @encoder", "--out", &["@encoder", "@encoder/new"]),
    (
        "convert @numbers.bin --bert @encoder --params @settings.toml",
        "--out",
        &["@numbers.bin", "@encoder", "@encoder/new", "@settings.toml"],
    ),
    (
        "pack @bundle",
        "",
        &["@bundle", "@bundle/b.pel", "@bundle/new"],
    ),
    ("pack @b.pel", "", &["@b.pel"]),
    ("import obo @a.obo", "--out", &["@a.obo"]),
    ("import jsonl @kb.jsonl", "--out", &["@kb.jsonl", "@"]),
    ("import csv @a.csv", "--out", &["@a.csv"]),
    (
        "import pubtator @a.pubtator --train @list.txt",
        "--out",
        &["@a.pubtator", "@list.txt"],
    ),
    (
        "import brat @notes --texts @tac_documents",
        "--out",
        &["@notes", "@notes/new", "@tac_documents"],
    ),
    (
        "import links @entities --texts @notes",
        "--out",
        &["@entities", "@entities/new", "@notes"],
    ),
    (
        "import zeshel @zeshel",
        "--out",
        &["@zeshel", "@zeshel/new", "@zeshel/documents"],
    ),
    (
        "import blink --entities @entities --train @train.jsonl",
        "--out",
        &["@entities", "@entities/new", "@train.jsonl"],
    ),
    (
        "import wikilinks --train @train.jsonl",
        "--out",
        &["@train.jsonl"],
    ),
    (
        "import tac --kb @tac_kb --documents @tac_documents --test @queries.xml \
         --test-answers @answers.tab",
        "--out",
        &[
            "@tac_kb",
            "@tac_documents",
            "@tac_documents/new",
            "@queries.xml",
            "@answers.tab",
        ],
    ),
    (
        "export-corpus --format zeshel --corpus @c --kb @kb.jsonl",
        "--out",
        &["@c", "@kb.jsonl", "@"],
    ),
    (
        "evaluate --corpus @c --kb @kb.jsonl --bundle @bundle --ranker @rk --rerank 2 --split dev",
        "--out",
        &[
            "@c/documents.jsonl",
            "@c/mentions.dev.jsonl",
            "@kb.jsonl",
            "@bundle/manifest.json",
            "@bundle/new",
            "@rk/config.json",
        ],
    ),
    (
        "evaluate --corpus @c --bundle @b.pel --split dev",
        "--out",
        &["@b.pel"],
    ),
    (
        "calibrate @bundle --corpus @c --dry-run",
        "--out",
        &[
            "@c/documents.jsonl",
            "@c/mentions.dev.jsonl",
            "@bundle/manifest.json",
            "@bundle/index.bin",
            "@bundle/nil.json",
        ],
    ),
    (
        "calibrate @b.pel --corpus @c",
        "--curve",
        &["@c/documents.jsonl", "@b.pel"],
    ),
    ("calibrate @bundle", "--from", &["@bundle"]),
    (
        "split okb --corpus @c --kb @kb.jsonl --types Sign",
        "--out",
        &["@c", "@kb.jsonl", "@"],
    ),
    (
        "split domains --corpus @c --kb @kb.jsonl --by type --dev Sign --test Disease",
        "--out",
        &["@c", "@kb.jsonl", "@"],
    ),
    (
        "bench --bundle @bundle --int8-bundle @other_bundle --ranker @rk --pairs-from @numbers.bin \
         --notes @notes",
        "--export-vectors",
        &[
            "@bundle/index.bin",
            "@bundle/new",
            "@other_bundle/index.bin",
            "@rk/config.json",
            "@numbers.bin",
            "@notes/note.txt",
            "@notes/note.ann",
        ],
    ),
    (
        "bench --bundle @b.pel --queries-from @found/exact-f32.u32",
        "--export-found",
        &["@found", "@b.pel"],
    ),
    (
        "bench --bundle @bundle --hnsw 10",
        "--cache",
        &["@bundle", "@bundle/graphs"],
    ),
];

/// Commands that write no file.
const WITHOUT: [&str; 6] = ["inspect", "explain", "diff", "serve", "devices", "help"];

#[test]
fn no_command_overwrites_its_input() {
    let workspace = everything();
    let before = contents(&workspace.path(""));
    let mut faults = Vec::new();
    let mut refuse = |line: String| {
        let output = workspace.pel(&line);
        if output.code != Some(2) || !output.err.contains("input") {
            faults.push(format!("{line}: {:?} {}", output.code, output.err));
        }
    };
    for (command, option, outputs) in TABLE {
        let words: Vec<&str> = command
            .split_whitespace()
            .chain(Some(*option).filter(|word| !word.is_empty()))
            .collect();
        outputs
            .iter()
            .for_each(|output| refuse(format!("{} {output}", words.join(" "))));
    }
    #[cfg(unix)]
    for output in [
        "@soft.txt",
        "@soft_bundle/manifest.json",
        "@soft_bundle/new.txt",
        "@dangling.txt",
    ] {
        refuse(format!(
            "link --bundle @bundle --device cpu @notes/note.txt --out {output}"
        ));
        refuse(format!(
            "link --bundle @soft_bundle --device cpu @soft.txt --out {output}"
        ));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(contents(&workspace.path("")) == before);
}

#[test]
fn every_command_is_in_the_table() {
    let help = from(pel(&["--help"]).output().expect("it can be started")).out;
    let commands = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 15, "{help}");
    for command in commands {
        let tested = TABLE
            .iter()
            .any(|(line, ..)| line.split(' ').next() == Some(command));
        assert!(tested != WITHOUT.contains(&command), "{command}");
    }
}

#[cfg(unix)]
#[test]
fn redirected_standard_streams_are_checked() {
    let workspace = everything();
    let note = workspace.path("notes/note.txt");
    let (bundle, path) = (
        workspace.path("bundle").display().to_string(),
        note.display().to_string(),
    );
    let link = ["link", "--bundle", &bundle, "--device", "cpu"];
    let run = |words: &[&str], input: Stdio, output: Stdio| {
        let mut command = pel(&[&link, words].concat());
        from(
            command
                .stdin(input)
                .stdout(output)
                .stderr(Stdio::piped())
                .output()
                .expect("it can be started"),
        )
    };
    let open = || Stdio::from(std::fs::File::open(&note).expect("there"));
    let append = || {
        Stdio::from(
            std::fs::OpenOptions::new()
                .append(true)
                .open(&note)
                .expect("there"),
        )
    };
    for (words, input, output) in [
        (&["-", "--out", path.as_str()][..], open(), Stdio::piped()),
        (&[path.as_str()], Stdio::null(), append()),
        (&["-"], open(), append()),
    ] {
        let output = run(words, input, output);
        assert!(
            output.code == Some(2) && output.err.contains("input"),
            "{words:?}: {:?} {}",
            output.code,
            output.err
        );
    }
    assert_eq!(std::fs::read_to_string(&note).expect("there"), "fever");
    // Pipes are no files.
    let output = run(&["-", "--format", "csv"], open(), Stdio::piped());
    assert!(
        output.code == Some(0) && output.out.contains("fever"),
        "{}",
        output.err
    );
    // `-` is standard output and creates no file of that name.
    let output = run(
        &[&path, "--format", "csv", "--out", "-"],
        Stdio::null(),
        Stdio::piped(),
    );
    assert!(
        output.code == Some(0) && output.out.contains("fever") && !Path::new("-").exists(),
        "{}",
        output.err
    );
}
