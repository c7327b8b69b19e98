//! The papers' tables as commands, on a corpus of a few mentions.

#[path = "experiment/blink.rs"]
mod blink;
mod common;

use common::{Bench, tiny};

/// What makes a training take a moment; the mentions of dev are those of all splits.
const SMALL: &str = "--split dev --set data.split=train --set optimiser.batch=2 --set optimiser.steps=2 \
    --set validation.mentions=0 --set model.tied=true --set view.concepts=names --set view.mention=bare --device cpu \
    --corpus @ --kb @kb.jsonl --out @tables";

/// What makes a ranker's training take a moment.
const RANKER: &str = "--ranker-set optimiser.batch=2 --ranker-set optimiser.steps=2 --ranker-set validation.mentions=0 \
    --ranker-set view.mention_tokens=24 --ranker-set view.entity_tokens=24 --ranker-set data.top=2 --rerank 1,2";

/// A corpus whose training split has what the others have.
fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::copy(bench.path("mentions.known.jsonl"), bench.path("mentions.train.jsonl")).expect("copied");
    bench
}

fn line(more: &str) -> String {
    let line = format!("experiment {SMALL} --encoder {} {more}", tiny().display());
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rows of a table, its head among them.
fn rows(bench: &Bench, table: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(bench.path(&format!("tables/{table}.md"))).expect("written");
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    text.lines().filter(|line| line.starts_with("| ")).map(cells).collect()
}

#[test]
fn a_table_has_every_row_that_was_measured_with_all_its_seeds() {
    let bench = bench();
    let line = |more: &str| line(&format!("--table pel-3 --counts 1,2 {more}"));
    let table = || std::fs::read_to_string(bench.path("tables/pel-3.md")).expect("written");
    // Baselines first: string matching, the training majority, the encoder as it is.
    let done = bench.pel(&line("--only ce-1-random --seeds 0,1"));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let rows: Vec<String> = table().lines().filter(|line| line.starts_with("| ")).map(str::to_owned).collect();
    assert_eq!(rows.len(), 2 + 3 + 1, "{rows:?}");
    assert!(
        rows[5].starts_with("| PEL-CE | ") && rows[5].contains(" ± ") && rows[5].ends_with("| - | - |"),
        "{}",
        rows[5]
    );

    // Another row joins; what was measured is not done again.
    let made = |name: &str| std::fs::metadata(bench.path(name)).and_then(|file| file.modified()).expect("there");
    let before = made("tables/results/ce-1-random-seed1.json");
    let done = bench.pel(&line("--only pb-fgsm-1-mixed"));
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(table().contains("| PEL-CE | ") && table().contains("| PEL-Pb + FGSM | - | - | "), "{}", table());
    assert_eq!(made("tables/results/ce-1-random-seed1.json"), before);
    assert!(bench.path("tables/plots/pel-figure-3-random.svg").is_file());

    // Each seed is its own.
    for seed in ["0", "1"] {
        let config = std::fs::read_to_string(bench.path(&format!("tables/runs/ce-1-random-seed{seed}/config.toml")));
        assert!(config.expect("kept").contains(&format!("seed = {seed}\n")));
    }
    let refused = |more: &str, said: &str| {
        let done = bench.pel(&line(more));
        assert!(done.code == Some(3) && done.err.contains(said), "{more}: {}", done.err);
    };
    refused("--set loss.alpha=8", "were begun with \"alpha\": 32.0, this call has \"alpha\": 8.0");
    refused("--every 2", "were begun with \"every\": 1, this call has \"every\": 2");
    refused("--set seed=5", "--set seed: give it as --seeds");
    refused("--set data.kb=other.jsonl", "--set data.kb: give it as --kb");
    let other = line("--set negatives.kind=hard").replace("--out @tables", "--out @others");
    bench.refuses(&[(&other, 3, "every row of pel-3 sets this itself")]);
    let several = line("--only typo").replace("--table pel-3", "--table pel-2,pel-3");
    bench.refuses(&[(&several, 3, "expected rows of the table (ce-1-mixed, ")]);
    let text = std::fs::read_to_string(bench.path("mentions.dev.jsonl")).expect("read");
    std::fs::write(bench.path("mentions.dev.jsonl"), format!("{text}\n")).expect("written");
    refused("--only ce-1-random", "the concepts or the corpus have changed");
    std::fs::write(bench.path("mentions.dev.jsonl"), text).expect("written");
    // A folder of somebody else's, and of the corpus.
    std::fs::create_dir(bench.path("mine")).expect("made");
    std::fs::write(bench.path("mine/pel-3.md"), "mine").expect("written");
    for out in ["@mine", "@"] {
        let line = line("--only ce-1-random").replace("--out @tables", &format!("--out {out}"));
        bench.refuses(&[(&line, 3, "expected a new or empty folder, or one of this command")]);
    }
    assert_eq!(std::fs::read_to_string(bench.path("mine/pel-3.md")).expect("read"), "mine");
}

#[test]
fn a_cross_encoder_that_cannot_be_trained_is_refused_before_anything_is() {
    let bench = bench();
    let wide = RANKER.replace("view.entity_tokens=24", "view.entity_tokens=200");
    bench.refuses(&[
        (&line(&format!("--table blink-9 {wide}")), 3, "--ranker-set view: "),
        (&line(&format!("--table blink-9 {RANKER} --own-share 2")), 2, "expected a share from 0 to less than 1"),
        (&line(&format!("--table blink-9 {RANKER} --only typo")), 3, "blink-9 has no rows that are trained apart"),
        (&line("--table blink-1 --set negatives.kind=random"), 3, "the stages of blink-1 set this themselves"),
        (&line(&format!("--table blink-9 {RANKER} --ranker-set fgsm.lambda=1")), 3, "set this themselves"),
        (&line("--table blink-9 --set distillation.own_share=1"), 3, "give it as --own-share"),
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

#[test]
fn the_tables_of_t_biencoder_are_measured_on_every_split() {
    let bench = bench();
    // What `pel split domains` calls the known domains in unknown texts.
    std::fs::copy(bench.path("mentions.known.jsonl"), bench.path("mentions.heldout.jsonl")).expect("copied");
    let done = bench.pel(&line("--table t-2,t-4,t-7 --only dual-random --set negatives.count=1 --set view.concepts=template --set data.domains=type"));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let table = rows(&bench, "t-2");
    let heads: Vec<[&str; 3]> = table[2..].iter().map(|row| [&*row[0], &*row[1], &*row[2]]).collect();
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
    assert!(done.err.contains("warning: ") && done.err.contains("(by type) that training has too"), "{}", done.err);
    // Both splits, and the minutes of an epoch.
    assert!(table[5][3..].iter().all(|cell| cell != "-"), "{table:?}");
    assert_eq!(rows(&bench, "t-4")[0][2..], ["Biencoder DUAL", "T-Biencoder DUAL"]);
    // Table 3 finds the rows that other tables have trained, and takes the best of them on the validation split.
    let settings = "--set negatives.count=1 --set view.concepts=template --set data.domains=type";
    let done = bench.pel(&line(&format!("--table t-3 --only t-dual-random-id-k1-e1 {settings}")));
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(!done.err.contains("T-Biencoder: t-dual-random-id-k1-e32"), "{}", done.err);
    let table = rows(&bench, "t-3");
    assert_eq!((table.len(), table[2][6].as_str()), (3, "2"), "{table:?}");
    assert!(["1", "32"].contains(&&*table[2][2]) && table[2][3] == "1", "{table:?}");
    // Documents that do not say where they belong cannot be searched there.
    let within = line("--table t-5 --only b-dual-random-id --within-domain").replace("@tables", "@within");
    bench.refuses(&[(&within, 3, "says its domain")]);
    let documents = std::fs::read_to_string(bench.path("documents.jsonl")).expect("read");
    let documents = documents.replace("\"text\"", "\"domain\":\"TEST\",\"text\"");
    std::fs::write(bench.path("documents.jsonl"), documents).expect("written");
    let done = bench.pel(&within.replace("@within", "@inside"));
    assert_eq!(done.code, Some(0), "{}", done.err);

    let table = rows(&bench, "t-7");
    assert_eq!(table.len(), 2 + 3, "{table:?}");
    assert_eq!(table[4][0], "T-Biencoder without L");
    assert!(table[4][3] != "-", "seen mentions of `heldout`: {table:?}");
}
