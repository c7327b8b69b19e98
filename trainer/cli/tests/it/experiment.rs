//! The papers' tables as commands, on a corpus of a few mentions.

mod blink;
mod presets;

use crate::common::{KB, Workspace as Bench, contents, tiny};
use std::path::Path;

/// What makes a training take a moment; the mentions of dev are those of all splits.
const SMALL: &str = "--split dev --set data.split=train --set optimiser.batch=2 \
                     --set optimiser.steps=2 --set validation.mentions=0 --set model.tied=true \
                     --set view.concepts=names --set view.mention=bare --device cpu --corpus @ \
                     --kb @kb.jsonl --out @tables";

/// What makes a ranker's training take a moment.
const RANKER: &str = "--ranker-set optimiser.batch=2 --ranker-set optimiser.steps=2 \
                      --ranker-set validation.mentions=0 --ranker-set view.mention_tokens=24 \
                      --ranker-set view.entity_tokens=24 --ranker-set data.top=2 --rerank 1,2";

/// A corpus whose training split has what the others have.
fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::copy(
        bench.path("mentions.known.jsonl"),
        bench.path("mentions.train.jsonl"),
    )
    .expect("copied");
    bench
}

fn line(more: &str) -> String {
    let line = format!("experiment {SMALL} --encoder {} {more}", tiny().display());
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rows of a table, its head among them.
fn rows(bench: &Bench, table: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(bench.path(&format!("tables/{table}.md"))).expect("written");
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    text.lines()
        .filter(|line| line.starts_with("| "))
        .map(cells)
        .collect()
}

#[test]
fn a_table_has_every_row_that_was_measured_with_all_its_seeds() {
    let bench = bench();
    let line = |more: &str| line(&format!("--table pel-3 --counts 1,2 {more}"));
    let table = || std::fs::read_to_string(bench.path("tables/pel-3.md")).expect("written");
    // Baselines first: string matching, the training majority, the encoder as it is.
    bench.done(&line("--only ce-1-random --seeds 0,1"));
    let rows: Vec<String> = table()
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(str::to_owned)
        .collect();
    assert_eq!(rows.len(), 2 + 3 + 1, "{rows:?}");
    assert!(
        rows[5].starts_with("| PEL-CE | ")
            && rows[5].contains(" ± ")
            && rows[5].ends_with("| - | - |"),
        "{}",
        rows[5]
    );

    // Another row joins; what was measured is not done again.
    let made = |name: &str| {
        std::fs::metadata(bench.path(name))
            .and_then(|file| file.modified())
            .expect("there")
    };
    let before = made("tables/results/ce-1-random-seed1.json");
    bench.done(&line("--only pb-fgsm-1-mixed"));
    assert!(
        table().contains("| PEL-CE | ") && table().contains("| PEL-Pb + FGSM | - | - | "),
        "{}",
        table()
    );
    assert_eq!(made("tables/results/ce-1-random-seed1.json"), before);
    assert!(bench.path("tables/plots/pel-figure-3-random.svg").is_file());
    for said in [
        "Difference from PEL-CE in random negatives, recall@1, in points: tfidf ",
        "BLAKE3 of the data: concepts `",
        "ce-1-random-seed0 `",
        "ce-1-random-seed1 `",
        "Seeds 0, 1.",
    ] {
        assert!(table().contains(said), "{said}: {}", table());
    }
    let latex = std::fs::read_to_string(bench.path("tables/pel-3.tex")).expect("written");
    assert!(latex.contains("\\midrule\n{}tfidf & "), "{latex}");
    let csv = std::fs::read_to_string(bench.path("tables/pel-3.csv")).expect("written");
    assert!(
        csv.contains("Random recall@1,Random recall@1 deviation,Random recall@1 low,"),
        "{csv}"
    );

    // Each seed is its own.
    for seed in ["0", "1"] {
        let config = std::fs::read_to_string(
            bench.path(&format!("tables/runs/ce-1-random-seed{seed}/config.toml")),
        );
        assert!(config.expect("kept").contains(&format!("seed = {seed}\n")));
    }
    let refused = |more: &str, said: &str| {
        let done = bench.pel(&line(more));
        assert!(
            done.code == Some(3) && done.err.contains(said),
            "{more}: {}",
            done.err
        );
    };
    refused(
        "--set loss.alpha=8",
        "expected the settings of its rows, \"alpha\": 32.0, found \"alpha\": 8.0",
    );
    refused(
        "--every 2",
        "expected the settings of its rows, \"every\": 1, found \"every\": 2",
    );
    refused("--set seed=5", "--set seed: give it as --seeds");
    refused(
        "--set data.kb=other.jsonl",
        "--set data.kb: give it as --kb",
    );
    let other = line("--set negatives.kind=hard").replace("--out @tables", "--out @others");
    bench.refuses(&[(&other, 3, "every row of pel-3 sets this itself")]);
    let several = line("--only typo").replace("--table pel-3", "--table pel-2,pel-3");
    bench.refuses(&[(&several, 3, "expected rows of the table (ce-1-mixed, ")]);
    let text = std::fs::read_to_string(bench.path("mentions.dev.jsonl")).expect("read");
    std::fs::write(bench.path("mentions.dev.jsonl"), format!("{text}\n")).expect("written");
    refused(
        "--only ce-1-random",
        "the concepts or the corpus have changed",
    );
    std::fs::write(bench.path("mentions.dev.jsonl"), text).expect("written");
    // A folder of somebody else's, and of the corpus.
    std::fs::create_dir(bench.path("mine")).expect("made");
    std::fs::write(bench.path("mine/pel-3.md"), "mine").expect("written");
    for (out, code, said) in [
        (
            "@mine",
            3,
            "expected a new or empty folder, or one of this command",
        ),
        ("@", 2, "this is an input; choose another output"),
    ] {
        let line = line("--only ce-1-random").replace("--out @tables", &format!("--out {out}"));
        bench.refuses(&[(&line, code, said)]);
    }
    assert_eq!(
        std::fs::read_to_string(bench.path("mine/pel-3.md")).expect("read"),
        "mine"
    );
}

/// Copies a file, or a folder with all that is in it.
fn copy_all(from: &Path, to: &Path) {
    let files = match from.is_dir() {
        true => contents(from),
        false => vec![(from.to_owned(), std::fs::read(from).expect("read"))],
    };
    for (path, bytes) in files {
        let to = match path.strip_prefix(from) {
            Ok(below) if from.is_dir() => to.join(below),
            _ => to.to_owned(),
        };
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("made");
        std::fs::write(to, bytes).expect("written");
    }
}

#[test]
fn a_folder_resumes_where_it_was_moved_to() {
    let bench = bench();
    copy_all(&tiny(), &bench.path("encoder"));
    let line = line(&format!(
        "--table pel-3,blink-2 --counts 1,2 --only ce-1-random {RANKER} --set checkpoints.every=1"
    ))
    .replace(&tiny().display().to_string(), "@encoder");
    // Stages have no rows to choose from.
    let [rows_line, stages_line] = [
        line.replace("pel-3,blink-2", "pel-3"),
        line.replace("pel-3,blink-2", "blink-2")
            .replace(" --only ce-1-random", ""),
    ];
    bench.done(&rows_line.replace(RANKER, "").replace("  ", " "));
    bench.done(&stages_line);
    // On another machine, where nothing has the place that it had. It had been stopped after the
    // first step of one training, and before the cross-encoder was measured.
    let other = self::bench();
    for name in ["encoder", "kb.jsonl", "tables"] {
        copy_all(&bench.path(name), &other.path(name));
        if name == "encoder" {
            std::fs::remove_dir_all(bench.path(name)).expect("removed");
        }
    }
    let result = "tables/results/ce-1-random-seed0.json";
    for name in [
        result,
        "tables/runs/blink-cross-seed0.json",
        "tables/lists/blink-bi-seed0-blink-cross2-dev.jsonl",
    ] {
        std::fs::remove_file(other.path(name)).expect("removed");
    }
    let run = "tables/runs/ce-1-random-seed0";
    for name in ["model", "checkpoints/step-0000002"] {
        std::fs::remove_dir_all(other.path(&format!("{run}/{name}"))).expect("removed");
    }
    let done = other.done(&rows_line.replace(RANKER, "").replace("  ", " "));
    assert!(done.err.contains("resuming from step 1"), "{}", done.err);
    let done = other.done(&stages_line);
    assert!(done.err.contains("resuming from step 2"), "{}", done.err);
    let measured = |bench: &Bench| {
        let text = std::fs::read_to_string(bench.path(result)).expect("measured");
        let found: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        ["recall", "kept", "hits", "weights"].map(|key| found[key].clone())
    };
    assert_eq!(measured(&bench), measured(&other));
    assert!(measured(&bench)[3].is_string());
    for table in ["pel-3", "blink-2"] {
        assert_eq!(rows(&bench, table), rows(&other, table));
    }
    // A file that names a place names the new one.
    let config =
        std::fs::read_to_string(other.path(&format!("{run}/config.toml"))).expect("written");
    assert!(config.contains(&other.path("kb.jsonl").display().to_string()));
    // Another encoder in its place is another.
    std::fs::write(other.path("encoder/README.md"), "other").expect("written");
    other.refuses(&[(&stages_line, 3, "the encoder has changed")]);
}

#[test]
fn untrainable_cross_encoder_is_refused_before_training() {
    let bench = bench();
    let wide = RANKER.replace("view.entity_tokens=24", "view.entity_tokens=200");
    bench.refuses(&[
        (
            &line(&format!("--table blink-9 {wide}")),
            3,
            "--ranker-set view: ",
        ),
        (
            &line(&format!("--table blink-9 {RANKER} --own-share 2")),
            2,
            "expected a share from 0 to less than 1",
        ),
        (
            &line(&format!("--table blink-9 {RANKER} --only typo")),
            3,
            "blink-9 has no independent rows",
        ),
        (
            &line("--table blink-1 --set negatives.kind=random"),
            3,
            "the stages of blink-1 set this themselves",
        ),
        (
            &line(&format!(
                "--table blink-9 {RANKER} --ranker-set fgsm.lambda=1"
            )),
            3,
            "set this themselves",
        ),
        (
            &line("--table blink-9 --set distillation.own_share=1"),
            3,
            "give it as --own-share",
        ),
    ]);
    assert!(!bench.path("tables").exists());
    bench.refuses(&[(
        &line(&format!("--table pel-5 {RANKER} --set loss.kind=proxy")),
        3,
        "every row of pel-5 sets this itself",
    )]);
    // Where nothing has been trained, settings may still change.
    let line = |more: &str| line(&format!("--table blink-9 {RANKER} --own-share 0.25 {more}"));
    bench.refuses(&[
        (&line("--set data.split=nowhere"), 6, "mentions.nowhere"),
        (&line("--set data.split=elsewhere"), 6, "mentions.elsewhere"),
    ]);
}

/// Splits of which each has an outcome of its own at recall@64: on `dev` the concept is found, on
/// `test` it is not, and `heldout`, which `pel split domains` calls the known domains in unknown
/// texts, has a seen concept that is found and an unseen one that is not.
fn splits_apart() -> Bench {
    let bench = bench();
    let write = |name: &str, text: &str| std::fs::write(bench.path(name), text).expect("written");
    // More concepts like the mention than candidates; its own is none of them.
    let many: String = (0..400)
        .map(|at| {
            format!(
                "{{\"id\":\"N{at}\",\"name\":\"qwertz\",\"types\":[\"Noise\"],\
                 \"sources\":[\"TEST\"]}}\n"
            )
        })
        .collect();
    write("kb.jsonl", &format!("{KB}{many}"));
    let mention = |text: &str, start: usize, id: &str| {
        let end = start + text.len();
        format!(
            "{{\"doc_id\":\"1\",\"start\":{start},\"end\":{end},\"text\":\"{text}\",\
             \"id\":\"{id}\"}}\n"
        )
    };
    let (found, missed) = (mention("fever", 0, "D1"), mention("qwertz", 19, "D2"));
    write("mentions.dev.jsonl", &found);
    write("mentions.test.jsonl", &missed);
    write("mentions.heldout.jsonl", &format!("{found}{missed}"));
    bench
}

/// The first number of a cell.
fn percent(cell: &str) -> f64 {
    cell.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("{cell}: no number"))
}

/// What all rows of T-Biencoder share here.
const T_SETTINGS: &str =
    "--set negatives.count=1 --set view.concepts=template --set data.domains=type";

fn t_line(more: &str) -> String {
    line(&format!("{T_SETTINGS} {more}")).replace("--split dev", "--split test")
}

#[test]
fn the_tables_of_t_biencoder_are_measured_on_every_split() {
    let bench = splits_apart();
    let done = bench.done(&t_line("--table t-2,t-4,t-7 --only dual-random"));
    let table = rows(&bench, "t-2");
    let heads: Vec<[&str; 3]> = table[2..]
        .iter()
        .map(|row| [&*row[0], &*row[1], &*row[2]])
        .collect();
    assert_eq!(
        heads,
        [
            ["bm25", "-", "-"],
            ["bm25-definitions", "-", "-"],
            ["untrained encoder", "-", "-"],
            ["Biencoder", "DUAL", "Random-CD"],
            ["T-Biencoder", "DUAL", "Random-ID"]
        ]
    );
    assert_eq!(table[0][3..5], ["Validation", "Testing"]);
    for row in &table[2..] {
        assert_eq!(
            [&row[3], &row[4]].map(|cell| percent(cell)),
            [100.0, 0.0],
            "{row:?}"
        );
    }
    // The minutes of an epoch, of what was trained alone.
    assert!(
        table[2..5].iter().all(|row| row[5] == "-") && table[5..].iter().all(|row| row[5] != "-"),
        "{table:?}"
    );
    assert!(
        done.err.contains("warning: ") && done.err.contains("(by type) that training has too"),
        "{}",
        done.err
    );

    let table = rows(&bench, "t-4");
    assert_eq!(table[0][2..], ["Biencoder DUAL", "T-Biencoder DUAL"]);
    // A domain of each split, with that split's figures.
    let by_domain: Vec<(&str, Vec<f64>)> = table[2..]
        .iter()
        .map(|row| {
            (
                &*row[1],
                row[2..].iter().map(|cell| percent(cell)).collect(),
            )
        })
        .collect();
    assert!(
        by_domain
            .iter()
            .any(|(split, values)| *split == "dev" && *values == [100.0, 100.0]),
        "{table:?}"
    );
    assert!(
        by_domain
            .iter()
            .any(|(split, values)| *split == "test" && *values == [0.0, 0.0]),
        "{table:?}"
    );

    let table = rows(&bench, "t-7");
    assert_eq!(table.len(), 2 + 3, "{table:?}");
    assert_eq!(table[4][0], "T-Biencoder without L");
    assert_eq!(
        table[0][2..],
        [
            "Testing",
            "Training domains, seen",
            "Training domains, unseen"
        ]
    );
    for row in &table[2..] {
        assert_eq!(
            [&row[2], &row[3], &row[4]].map(|cell| percent(cell)),
            [0.0, 100.0, 0.0],
            "{row:?}"
        );
    }
    // What was compared with what: raw dot products where a row was trained by them, cosines where
    // nothing was.
    let protocol = |name: &str| {
        let text = std::fs::read_to_string(bench.path(&format!("tables/results/{name}.json")))
            .expect("measured");
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")["protocol"].to_string()
    };
    assert!(protocol("untrained-t-biencoder-cosine").contains("Dual, Cosine"));
    assert!(protocol("b-dual-random-cd-seed0").contains("Dual, Dot"));
    let text = std::fs::read_to_string(bench.path("tables/t-2.md")).expect("written");
    assert!(
        text.contains("Test split: test; validation split: dev.") && !text.contains("ORACLE"),
        "{text}"
    );
    assert!(
        text.contains(
            "short forms that a text defines written out; the untrained encoder is compared by \
             cosine"
        ),
        "{text}"
    );
}

#[test]
fn the_bound_of_table_3_is_chosen_on_the_validation_split() {
    let bench = splits_apart();
    // Rows that other tables have trained are found.
    bench.done(&t_line("--table t-5 --only t-dual-random-id-k1-e32"));
    let line = t_line("--table t-3 --only t-dual-random-id-k1-e1");
    let done = bench.done(&line);
    assert!(
        !done.err.contains("T-Biencoder: t-dual-random-id-k1-e32"),
        "{}",
        done.err
    );
    let table = rows(&bench, "t-3");
    assert_eq!(
        (table.len(), table[2][6].as_str(), table[2][3].as_str()),
        (3, "2", "1"),
        "{table:?}"
    );
    // As if each had been better on another split.
    let say = |epsilon: usize, dev: f64, test: f64| {
        let path = bench.path(&format!(
            "tables/results/t-dual-random-id-k1-e{epsilon}-seed0.json"
        ));
        let text = std::fs::read_to_string(&path).expect("measured");
        let mut measured: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for split in measured["splits"].as_array_mut().expect("a list") {
            let value = if split["split"] == "dev" { dev } else { test };
            for at in split["recall"][0]["at"].as_array_mut().expect("a list") {
                at["value"] = value.into();
            }
        }
        std::fs::write(&path, measured.to_string()).expect("written");
    };
    for ([one, other], best) in [([0.25, 0.75], "32"), ([0.75, 0.25], "1")] {
        say(1, one, other);
        say(32, other, one);
        bench.done(&line);
        let table = rows(&bench, "t-3");
        assert_eq!(
            (
                table[2][2].as_str(),
                percent(&table[2][4]),
                percent(&table[2][5])
            ),
            (best, 75.0, 25.0),
            "{table:?}"
        );
    }
}

#[test]
fn search_within_domain_requires_domains_of_documents() {
    let bench = bench();
    let within = line(&format!(
        "--table t-5 --only b-dual-random-id {T_SETTINGS} --within-domain"
    ));
    bench.refuses(&[(&within, 3, "has the field `domain`")]);
    let documents = std::fs::read_to_string(bench.path("documents.jsonl")).expect("read");
    let documents = documents.replace("\"text\"", "\"domain\":\"TEST\",\"text\"");
    std::fs::write(bench.path("documents.jsonl"), documents).expect("written");
    bench.done(&within);
}
