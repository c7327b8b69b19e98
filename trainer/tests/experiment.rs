//! The papers' tables as commands, on a corpus of a few mentions.

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
        (&line(&format!("--table blink-9 {RANKER} --own-share 2")), 2, "expected a share from 0 to 1"),
    ]);
    assert!(!bench.path("tables").exists());
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
            ["untrained encoder", "-", "-"],
            ["Biencoder", "DUAL", "Random-CD"],
            ["T-Biencoder", "DUAL", "Random-ID"]
        ]
    );
    // Both splits, and the minutes of an epoch.
    assert!(table[4][3..].iter().all(|cell| cell != "-"), "{table:?}");
    assert_eq!(rows(&bench, "t-4")[0][2..], ["Biencoder DUAL", "T-Biencoder DUAL"]);
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

#[test]
fn the_tables_of_blink_share_their_stages() {
    let bench = bench();
    let all =
        "pel-5,blink-1,blink-2,blink-3,blink-4,blink-5,blink-6,blink-7,blink-8,blink-9,blink-figure-2,blink-figure-3";
    let done = bench.pel(&line(&format!("--table {all} --counts 1,2 --search-rows 40 {RANKER}")));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let made = |name: &str| std::fs::metadata(bench.path(name)).and_then(|file| file.modified()).expect("there");
    for run in [
        "blink-bi-batch",
        "blink-bi",
        "blink-cross",
        "blink-own",
        "blink-student",
        "pb-1-mixed",
        "pel-cross",
        "pel-cross-fgsm",
    ] {
        made(&format!("tables/runs/{run}-seed0.json"));
    }
    assert_eq!(rows(&bench, "blink-1").len(), 2 + 2);
    assert_eq!(rows(&bench, "blink-3")[3].len(), 5);
    // The right concepts are among four, so recall at many is whole.
    assert!(rows(&bench, "blink-5")[5][1].starts_with("100.0"), "{:?}", rows(&bench, "blink-5"));
    let figure = rows(&bench, "blink-figure-3");
    assert_eq!([&*figure[2][0], &*figure[3][0]], ["1", "2"]);
    // One candidate has one order: the first stage's.
    assert_eq!(figure[2][1], figure[2][3]);
    assert!(bench.path("tables/plots/blink-figure-3.svg").is_file());
    assert_eq!(rows(&bench, "blink-9")[2].len(), 3);
    assert_eq!(rows(&bench, "pel-5").len(), 2 + 3);
    let search = rows(&bench, "blink-7");
    assert_eq!(search[2..].iter().map(|row| &*row[0]).collect::<Vec<_>>(), ["Ex. Search", "HNSW1", "HNSW2"]);
    // A graph of forty is searched whole.
    assert_eq!(search[2][1..5], search[3][1..5]);

    // Another ranker would not be the one that the folder has.
    let other = line(&format!("--table blink-9 --counts 1,2 {RANKER} --ranker-set optimiser.batch=3"));
    bench.refuses(&[(&other, 3, "settings-blink-ranker.json")]);

    // Nothing is done again.
    let before = made("tables/lists/blink-student-seed0-dev.jsonl");
    std::fs::remove_file(bench.path("tables/blink-9.md")).expect("removed");
    let done = bench.pel(&line(&format!("--table blink-9 --counts 1,2 {RANKER}")));
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(made("tables/lists/blink-student-seed0-dev.jsonl"), before);
    assert!(bench.path("tables/blink-9.md").is_file());
}

/// Models of another corpus, in `wiki` and `wiki-rank`, with other towers, windows and scores than those of the tables.
fn pretrain(bench: &Bench) {
    let train = format!(
        "--encoder {} --corpus @ --kb @kb.jsonl --device cpu --steps 2 --set data.split=dev --set optimiser.batch=2 \
         --set validation.mentions=0 --set view.mention_tokens=24 --set view.entity_tokens=24",
        tiny().display()
    );
    for line in [
        format!("train {train} --set negatives.kind=random --set negatives.count=1 --out @wiki"),
        "candidates --run @wiki --corpus @ --split dev --top 3 --device cpu --out @wiki.jsonl".to_owned(),
        format!("train {train} --stage rank --candidates @wiki.jsonl --out @wiki-rank"),
    ] {
        let done = bench.pel(&line);
        assert_eq!(done.code, Some(0), "{line}: {}", done.err);
    }
}

#[test]
fn models_of_another_corpus_and_another_knowledge_base_have_rows_of_their_own() {
    let bench = bench();
    pretrain(&bench);
    let write = |name: &str, text: &str| std::fs::write(bench.path(name), text).expect("written");
    // Of the two concepts of dev it lacks one; the other has another place.
    write("other.jsonl", "{\"id\":\"X1\",\"name\":\"cough\"}\n{\"id\":\"D1\",\"name\":\"fever\"}\n");
    let line = |more: &str| line(&format!("--table blink-4,blink-6 {RANKER} --ranker-set data.top=3 {more}"));
    let read = |name: &str| std::fs::read_to_string(bench.path(&format!("tables/{name}"))).expect("written");
    // The number of candidates is chosen on the way.
    let name = |row: &Vec<String>| row[0].split(", K = ").next().map(str::to_owned).expect("a name");
    let names = |table: &str| rows(&bench, table)[2..].iter().map(name).collect::<Vec<_>>();

    // Without the options the tables are small, and say what is missing; nothing else is kept.
    let done = bench.pel(&line(""));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let small = ["Most frequent", "Cosine similarity (untrained)", "Ours (bi-encoder only)", "Ours"];
    for table in ["blink-4", "blink-6"] {
        assert_eq!(rows(&bench, table)[0], ["Method", "Accuracy"]);
        assert_eq!(names(table), small);
        assert!(read(&format!("{table}.md")).contains("`--pretrained` and `--pretrained-ranker` give"), "{table}");
    }
    assert!(read("blink-4.md").contains("`--other-kb` gives") && !read("blink-6.md").contains("--other-kb"));
    let in_domain = rows(&bench, "blink-6");
    let lists = ["blink-bi-seed0-dev", "blink-bi-seed0-blink-cross2-dev"].map(|list| format!("lists/{list}.jsonl"));
    let before = lists.each_ref().map(|list| read(list));
    for name in ["settings-pretrained.json", "settings-other-kb.json"] {
        assert!(!bench.path(&format!("tables/{name}")).exists(), "{name}");
    }

    // Another knowledge base needs no other models.
    let done = bench.pel(&line("--other-kb @other.jsonl"));
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(names("blink-4"), [&small[..], &["Ours (other knowledge base)"]].concat());
    assert_eq!(rows(&bench, "blink-6"), in_domain);

    let models = "--pretrained @wiki/model --pretrained-ranker @wiki-rank/model";
    let done = bench.pel(&line(&format!("{models} --other-kb @other.jsonl")));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let others = ["Ours (other knowledge base)", "Ours (other knowledge base, without fine-tuning)"];
    assert_eq!(names("blink-4"), [small.as_slice(), &others].concat());
    for row in &rows(&bench, "blink-4")[6..] {
        let accuracy: f64 = row[1].split(' ').next().and_then(|value| value.parse().ok()).expect("a number");
        assert!(accuracy <= 50.0, "the mention whose concept is not there is missed: {row:?}");
    }
    assert!(read("blink-4.md").contains("count as missed: 1 of 2"), "{}", read("blink-4.md"));
    let table = rows(&bench, "blink-6");
    let trainings: Vec<[&str; 2]> =
        table[4..].iter().map(|row| [if row[0] == small[2] { "bi" } else { "both" }, &*row[1]]).collect();
    let of = ["in-domain", "other corpus", "other corpus and in-domain"];
    assert_eq!(trainings, of.map(|training| [["bi", training], ["both", training]]).concat());
    // What was there is the same: the runs of the models that are fine-tuned have names of their own.
    for (row, before) in table[2..6].iter().zip(&in_domain[2..]) {
        assert_eq!((&row[0], &row[2]), (&before[0], &before[1]));
    }
    assert_eq!(lists.each_ref().map(|list| read(list)), before);
    for (run, begun) in [
        ("blink-bi-batch", None),
        ("blink-cross", None),
        ("blink-finetuned-bi-batch", Some("wiki/model")),
        ("blink-finetuned-cross", Some("wiki-rank/model")),
    ] {
        let config = read(&format!("runs/{run}-seed0/config.toml"));
        let found = ["wiki/model", "wiki-rank/model"].into_iter().find(|model| config.contains(*model));
        assert_eq!(found, begun, "{run}: {config}");
    }

    std::fs::rename(bench.path("wiki"), bench.path("moved")).expect("renamed");
    std::fs::copy(bench.path("other.jsonl"), bench.path("third.jsonl")).expect("copied");
    write("foreign.jsonl", "{\"id\":\"X1\",\"name\":\"cough\"}\n");
    let models = |bi: &str, ranker: &str| line(&format!("--pretrained @{bi} --pretrained-ranker @{ranker}"));
    bench.refuses(&[
        (&line("--pretrained @moved/model"), 2, "--pretrained-ranker"),
        (&line("--pretrained-ranker @wiki-rank/model"), 2, "--pretrained <MODEL>"),
        (&models("wiki-rank/model", "wiki-rank/model"), 3, "expected the model of `pel train`, found a ranker"),
        (
            &models("moved/model", "moved/model"),
            3,
            "expected the model of `pel train --stage rank`, found a bi-encoder",
        ),
        (&models("moved", "wiki-rank/model"), 3, "found no pel.json"),
        (&models("moved/model", "wiki-rank/model"), 3, "settings-pretrained.json"),
        (&line("--other-kb @third.jsonl"), 3, "settings-other-kb.json"),
        (&line("--other-kb @foreign.jsonl"), 3, "expected concepts with identifiers of"),
        (&line("--other-kb @nothing.jsonl"), 6, "nothing.jsonl"),
    ]);
}

#[test]
fn settings_are_chosen_over_folds_of_the_training_split() {
    let bench = bench();
    // A second document like the first, and the mentions of both.
    for (file, like) in [("documents.jsonl", "documents.jsonl"), ("mentions.train.jsonl", "mentions.dev.jsonl")] {
        let text = std::fs::read_to_string(bench.path(like)).expect("read");
        let other = text.replace("\"doc_id\":\"1\"", "\"doc_id\":\"2\"");
        std::fs::write(bench.path(file), format!("{text}\n{other}")).expect("written");
    }
    let folds = "--table blink-folds --folds 2 --grid optimiser.learning_rate=1e-4,1e-3 --set negatives.count=1";
    let heads = |more: &str| -> Vec<[String; 2]> {
        let done = bench.pel(&line(&format!("{folds} {more}")));
        assert_eq!(done.code, Some(0), "{}", done.err);
        rows(&bench, "blink-folds")[2..].iter().map(|row| [row[0].clone(), row[1].clone()]).collect()
    };
    let [low, high] = ["1e-4", "1e-3"].map(|rate| format!("optimiser.learning_rate={rate}"));
    let counted = |counts: [&str; 2]| [[low.clone(), counts[0].into()], [high.clone(), counts[1].into()]];
    assert_eq!(heads("--only 1e-4"), counted(["2", "0"]));
    assert_eq!(heads("--only fold1 --seeds 0,1"), counted(["2", "1"]));
    assert_eq!(heads(""), counted(["2", "2"]));
    let lines = |name: &str| std::fs::read_to_string(bench.path(name)).expect("written").lines().count();
    let all = lines("mentions.train.jsonl");
    for fold in ["0", "1"] {
        let of = |split: &str| lines(&format!("tables/folds/2/{fold}/mentions.{split}.jsonl"));
        assert!(of("dev") > 0 && of("train") + of("dev") == all, "{fold}");
    }
    bench.refuses(&[
        (&line("--table blink-folds --folds 1"), 2, "--folds"),
        (&line("--table blink-folds --grid optimiser --set negatives.count=1"), 3, "expected KEY=VALUE,VALUE"),
    ]);
}
