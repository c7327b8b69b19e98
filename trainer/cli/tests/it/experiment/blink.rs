//! BLINK's tables: one chain of trainings that they share.

use super::{RANKER, bench, line, rows};
use crate::common::{KB, Workspace as Bench, tiny};

#[test]
fn the_tables_of_blink_share_their_stages() {
    let bench = bench();
    let all = "pel-5,blink-1,blink-2,blink-3,blink-4,blink-5,blink-6,blink-7,blink-8,blink-9,\
               blink-figure-2,blink-figure-3";
    bench.done(&line(&format!(
        "--table {all} --counts 1,2 --retrievers pb-1-mixed --search-rows 40 {RANKER}"
    )));
    let made = |name: &str| {
        std::fs::metadata(bench.path(name))
            .and_then(|file| file.modified())
            .expect("there")
    };
    for run in [
        "blink-bi-batch",
        "blink-bi",
        "blink-cross",
        "blink-own",
        "blink-student",
        "pb-1-mixed",
        "pb-1-mixed-cross",
        "pb-1-mixed-cross-fgsm",
    ] {
        made(&format!("tables/runs/{run}-seed0.json"));
    }
    let config = |run: &str| {
        std::fs::read_to_string(bench.path(&format!("tables/runs/{run}-seed0/config.toml")))
            .expect("kept")
    };
    for (run, setting) in [
        ("pb-1-mixed-cross", "lambda = 0.0"),
        ("pb-1-mixed-cross-fgsm", "lambda = 1.0"),
        ("blink-own", "own_share = 1.0"),
        ("blink-student", "own_share = 0.5"),
        ("blink-own", "in_batch = false"),
        ("blink-student", "in_batch = false"),
        ("blink-bi", "in_batch = true"),
    ] {
        assert!(config(run).contains(setting), "{run}: {setting}");
    }
    // The untrained encoder is searched by cosines, a row of PEL's by the scores that it was
    // trained with.
    let highest = |list: &str| {
        let lists = std::fs::read_to_string(bench.path(&format!("tables/lists/{list}.jsonl")))
            .expect("written");
        let lists = lists
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        lists
            .filter_map(|list| list["scores"][0].as_f64())
            .fold(f64::MIN, f64::max)
    };
    assert!(highest("untrained-cosine-dev") < 1.001 && highest("pb-1-mixed-seed0-dev") < 1.001);
    assert!(highest("blink-bi-seed0-dev") > 1.001);
    assert_eq!(rows(&bench, "blink-1").len(), 2 + 3);
    assert_eq!(rows(&bench, "blink-3")[3].len(), 5);
    // The right concepts are among four, so recall at many is whole.
    assert!(
        rows(&bench, "blink-5")[6][1].starts_with("100.0"),
        "{:?}",
        rows(&bench, "blink-5")
    );
    let figure = rows(&bench, "blink-figure-3");
    assert_eq!([&*figure[2][0], &*figure[3][0]], ["1", "2"]);
    // One candidate has one order: the first stage's.
    assert_eq!(figure[2][1], figure[2][3]);
    assert!(bench.path("tables/plots/blink-figure-3.svg").is_file());
    assert_eq!(rows(&bench, "blink-9")[2].len(), 3);
    assert_eq!(rows(&bench, "pel-5").len(), 2 + 3);
    let search = rows(&bench, "blink-7");
    assert_eq!(
        search[2..].iter().map(|row| &*row[0]).collect::<Vec<_>>(),
        ["Ex. Search", "HNSW1", "HNSW2"]
    );
    // A graph of forty is searched whole.
    assert_eq!(search[2][1..5], search[3][1..5]);

    // Each table is compared with one row, and says what it was made from.
    let text = std::fs::read_to_string(bench.path("tables/blink-5.md")).expect("written");
    for said in [
        "Difference from Alias table of the training split, by frequency, then names in recall@100",
        "Paired bootstrap over documents (1000 samples, seed 1)",
        "BLAKE3 of the data: concepts `",
        "blink-cross-seed0 `",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let latex = std::fs::read_to_string(bench.path("tables/blink-9.tex")).expect("written");
    assert!(latex.contains("\\toprule") && latex.contains("\\end{table}"));
    let csv = std::fs::read_to_string(bench.path("tables/blink-figure-3.csv")).expect("written");
    assert!(csv.starts_with("K,Recall@K of the bi-encoder,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 2);

    // What was measured; K was chosen on the very same mentions.
    let text = std::fs::read_to_string(bench.path("tables/blink-2.md")).expect("written");
    assert!(
        text.contains("Test split: dev; validation split: dev.") && text.contains("ORACLE"),
        "{text}"
    );
    let list = bench.path("tables/lists/blink-bi-seed0-dev.jsonl");
    let whole = std::fs::read_to_string(&list).expect("written");
    std::fs::write(
        &list,
        whole
            .lines()
            .take(1)
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    )
    .expect("written");
    let done = bench.pel(&line("--table blink-figure-2 --folds 5 --own-share 0.25"));
    assert!(
        done.code == Some(3)
            && done
                .err
                .contains("expected candidates of 2 mentions, 1 are missing"),
        "{}",
        done.err
    );
    for flag in ["--folds", "--own-share"] {
        assert!(
            done.err
                .contains(&format!("warning: {flag} changes nothing")),
            "{}",
            done.err
        );
    }
    std::fs::write(&list, whole).expect("written");

    // Each seed has a cross-encoder of its own, whoever has listed the candidates.
    bench.done(&line(&format!("--table blink-3 --seeds 0,1 {RANKER}")));
    for seed in [0, 1] {
        made(&format!("tables/runs/blink-cross-seed{seed}.json"));
        made(&format!(
            "tables/lists/bm25-as-read-blink-cross2-seed{seed}-dev.jsonl"
        ));
    }

    // Lists of another part of the training split are others.
    bench.done(&line("--table blink-1 --train-every 2"));
    for list in [
        "blink-bi-seed0-train.jsonl",
        "blink-bi-seed0-train-every2.jsonl",
        "bm25-as-read-train-every2.jsonl",
    ] {
        made(&format!("tables/lists/{list}"));
    }

    // Another ranker would not be the one that the folder has.
    let other = line(&format!(
        "--table blink-9 --counts 1,2 {RANKER} --ranker-set optimiser.batch=3"
    ));
    bench.refuses(&[(&other, 3, "settings-blink-ranker.json")]);

    // Nothing is done again.
    let before = made("tables/lists/blink-student-seed0-dev.jsonl");
    std::fs::remove_file(bench.path("tables/blink-9.md")).expect("removed");
    bench.done(&line(&format!("--table blink-9 --counts 1,2 {RANKER}")));
    assert_eq!(made("tables/lists/blink-student-seed0-dev.jsonl"), before);
    assert!(bench.path("tables/blink-9.md").is_file());
}

#[test]
fn the_retriever_of_pels_rankers_is_the_best_at_recall_16() {
    let bench = bench();
    let line = |rows: &str| {
        line(&format!(
            "--table pel-5 --counts 1,2 {RANKER} --retrievers {rows}"
        ))
    };
    let chosen = || {
        bench.done(&line("ce-1-mixed,pb-1-mixed"));
        let text = std::fs::read_to_string(bench.path("tables/pel-5.md")).expect("written");
        let note = text
            .lines()
            .find(|line| line.starts_with("The candidates are"))
            .expect("a note");
        note.split_whitespace()
            .nth(5)
            .expect("a row")
            .trim_matches(',')
            .to_owned()
    };
    // All concepts are among sixteen: the first of equals, which is searched by its own scores, dot
    // products.
    assert_eq!(chosen(), "ce-1-mixed");
    let list = std::fs::read_to_string(bench.path("tables/lists/ce-1-mixed-seed0-dev.jsonl"))
        .expect("written");
    let list: serde_json::Value =
        serde_json::from_str(list.lines().next().expect("a line")).expect("JSON");
    assert!(
        list["scores"][0]
            .as_f64()
            .is_some_and(|score| score > 1.001),
        "{list}"
    );
    // As if it had found one wrong concept alone.
    let path = bench.path("tables/lists/ce-1-mixed-seed0-dev.jsonl");
    let missed = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        (line["candidates"], line["scores"]) =
            (serde_json::json!(["nothing"]), serde_json::json!([1.0]));
        format!("{line}\n")
    };
    let text = std::fs::read_to_string(&path).expect("read");
    let kb = std::fs::read_to_string(bench.path("kb.jsonl")).expect("read");
    let wrong: serde_json::Value =
        serde_json::from_str(kb.lines().last().expect("a line")).expect("JSON");
    let wrong = wrong["id"].as_str().expect("an id").to_owned();
    std::fs::write(
        &path,
        text.lines()
            .map(missed)
            .collect::<String>()
            .replace("nothing", &wrong),
    )
    .expect("written");
    assert_eq!(chosen(), "pb-1-mixed");
    bench.refuses(&[(
        &line("pb-3-mixed"),
        3,
        "--retrievers: expected rows of PEL's tables 2 and 3 (ce-1-mixed, ",
    )]);
}

/// Models of another corpus, in `wiki` and `wiki-rank`, with other towers, windows and scores than
/// those of the tables.
fn pretrain(bench: &Bench) {
    let train = format!(
        "--encoder {} --corpus @ --kb @kb.jsonl --device cpu --steps 2 --set data.split=dev \
         --set optimiser.batch=2 --set validation.mentions=0 --set view.mention_tokens=24 \
         --set view.entity_tokens=24",
        tiny().display()
    );
    for line in [
        format!("train {train} --set negatives.kind=random --set negatives.count=1 --out @wiki"),
        "candidates --run @wiki --corpus @ --split dev --top 3 --device cpu --out @wiki.jsonl"
            .to_owned(),
        format!("train {train} --stage rank --candidates @wiki.jsonl --out @wiki-rank"),
    ] {
        bench.done(&line);
    }
}

#[test]
fn models_of_another_corpus_and_another_knowledge_base_have_rows_of_their_own() {
    let bench = bench();
    pretrain(&bench);
    let write = |name: &str, text: &str| std::fs::write(bench.path(name), text).expect("written");
    // Of the two concepts of dev it lacks one; the other has another place.
    write(
        "other.jsonl",
        "{\"id\":\"X1\",\"name\":\"cough\"}\n{\"id\":\"D1\",\"name\":\"fever\"}\n",
    );
    let line = |more: &str| {
        line(&format!(
            "--table blink-4,blink-6 {RANKER} --ranker-set data.top=3 {more}"
        ))
    };
    let read = |name: &str| {
        std::fs::read_to_string(bench.path(&format!("tables/{name}"))).expect("written")
    };
    // The number of candidates is chosen on the way.
    let name = |row: &Vec<String>| {
        row[0]
            .split(", K = ")
            .next()
            .map(str::to_owned)
            .expect("a name")
    };
    let names = |table: &str| {
        rows(&bench, table)[2..]
            .iter()
            .map(name)
            .collect::<Vec<_>>()
    };

    // Without the options the tables are small, and say what is missing; nothing else is kept.
    bench.done(&line(""));
    let small = [
        "Most frequent",
        "Cosine similarity (untrained)",
        "Ours (bi-encoder only)",
        "Ours",
    ];
    for table in ["blink-4", "blink-6"] {
        assert_eq!(rows(&bench, table)[0], ["Method", "Accuracy"]);
        assert_eq!(names(table), small);
        assert!(
            read(&format!("{table}.md")).contains("`--pretrained` and `--pretrained-ranker` give"),
            "{table}"
        );
    }
    assert!(
        read("blink-4.md").contains("`--other-kb` gives")
            && !read("blink-6.md").contains("--other-kb")
    );
    let in_domain = rows(&bench, "blink-6");
    let lists = ["blink-bi-seed0-dev", "blink-bi-seed0-blink-cross2-dev"]
        .map(|list| format!("lists/{list}.jsonl"));
    let before = lists.each_ref().map(|list| read(list));
    for name in ["settings-pretrained.json", "settings-other-kb.json"] {
        assert!(!bench.path(&format!("tables/{name}")).exists(), "{name}");
    }

    // Another knowledge base needs no other models.
    bench.done(&line("--other-kb @other.jsonl"));
    assert_eq!(
        names("blink-4"),
        [&small[..], &["Ours (other knowledge base)"]].concat()
    );
    assert_eq!(rows(&bench, "blink-6"), in_domain);

    let models = "--pretrained @wiki/model --pretrained-ranker @wiki-rank/model";
    bench.done(&line(&format!("{models} --other-kb @other.jsonl")));
    let others = [
        "Ours (other knowledge base)",
        "Ours (other knowledge base, without fine-tuning)",
    ];
    assert_eq!(names("blink-4"), [small.as_slice(), &others].concat());
    for row in &rows(&bench, "blink-4")[6..] {
        let accuracy: f64 = row[1]
            .split(' ')
            .next()
            .and_then(|value| value.parse().ok())
            .expect("a number");
        assert!(
            accuracy <= 50.0,
            "the mention whose concept is not there is missed: {row:?}"
        );
    }
    assert!(
        read("blink-4.md").contains("count as missed: 1 of 2"),
        "{}",
        read("blink-4.md")
    );
    let table = rows(&bench, "blink-6");
    let trainings: Vec<[&str; 2]> = table[4..]
        .iter()
        .map(|row| [if row[0] == small[2] { "bi" } else { "both" }, &*row[1]])
        .collect();
    let of = ["in-domain", "other corpus", "other corpus and in-domain"];
    assert_eq!(
        trainings,
        of.map(|training| [["bi", training], ["both", training]])
            .concat()
    );
    // What was there is the same: the runs of the models that are fine-tuned have names of their
    // own.
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
        let found = ["wiki/model", "wiki-rank/model"]
            .into_iter()
            .find(|model| config.contains(*model));
        assert_eq!(found, begun, "{run}: {config}");
    }

    // What lies at the same place may be another.
    let other = "{\"id\":\"X1\",\"name\":\"cough\"}\n{\"id\":\"D1\",\"name\":\"fever\"}\n";
    write("other.jsonl", &format!("{other}\n"));
    bench.refuses(&[(
        &line("--other-kb @other.jsonl"),
        3,
        "the other knowledge base has changed",
    )]);
    write("other.jsonl", other);
    write("wiki/model/README.md", "another model");
    bench.refuses(&[(
        &line(models),
        3,
        "the model of the other corpus has changed",
    )]);

    std::fs::rename(bench.path("wiki"), bench.path("moved")).expect("renamed");
    // The same concepts in another place are the same.
    std::fs::copy(bench.path("other.jsonl"), bench.path("third.jsonl")).expect("copied");
    bench.done(&line("--other-kb @third.jsonl"));
    write("foreign.jsonl", "{\"id\":\"X1\",\"name\":\"cough\"}\n");
    let models =
        |bi: &str, ranker: &str| line(&format!("--pretrained @{bi} --pretrained-ranker @{ranker}"));
    bench.refuses(&[
        (&line("--pretrained @moved/model"), 2, "--pretrained-ranker"),
        (
            &line("--pretrained-ranker @wiki-rank/model"),
            2,
            "--pretrained <MODEL>",
        ),
        (
            &models("wiki-rank/model", "wiki-rank/model"),
            3,
            "expected the model of `pel train`, found a ranker",
        ),
        (
            &models("moved/model", "moved/model"),
            3,
            "expected the model of `pel train --stage rank`, found a bi-encoder",
        ),
        (&models("moved", "wiki-rank/model"), 3, "found no pel.json"),
        (
            &models("moved/model", "wiki-rank/model"),
            3,
            "settings-pretrained.json",
        ),
        (
            &line("--other-kb @foreign.jsonl"),
            3,
            "expected concepts with identifiers of",
        ),
        (&line("--other-kb @nothing.jsonl"), 6, "nothing.jsonl"),
    ]);
}

#[test]
fn settings_are_chosen_over_folds_of_the_training_split() {
    let bench = bench();
    // A second document like the first, and the mentions of both.
    for (file, like) in [
        ("documents.jsonl", "documents.jsonl"),
        ("mentions.train.jsonl", "mentions.dev.jsonl"),
    ] {
        let text = std::fs::read_to_string(bench.path(like)).expect("read");
        let other = text.replace("\"doc_id\":\"1\"", "\"doc_id\":\"2\"");
        std::fs::write(bench.path(file), format!("{text}\n{other}")).expect("written");
    }
    let folds = "--table blink-folds --folds 2 --grid optimiser.learning_rate=1e-4,1e-3 \
                 --set negatives.count=1";
    let heads = |more: &str| -> Vec<[String; 2]> {
        bench.done(&line(&format!("{folds} {more}")));
        rows(&bench, "blink-folds")[2..]
            .iter()
            .map(|row| [row[0].clone(), row[1].clone()])
            .collect()
    };
    let [low, high] = ["1e-4", "1e-3"].map(|rate| format!("optimiser.learning_rate={rate}"));
    let counted = |counts: [&str; 2]| {
        [
            [low.clone(), counts[0].into()],
            [high.clone(), counts[1].into()],
        ]
    };
    assert_eq!(heads("--only 1e-4"), counted(["2", "0"]));
    assert_eq!(heads("--only fold1 --seeds 0,1"), counted(["2", "1"]));
    assert_eq!(heads(""), counted(["2", "2"]));
    let lines = |name: &str| {
        std::fs::read_to_string(bench.path(name))
            .expect("written")
            .lines()
            .count()
    };
    let all = lines("mentions.train.jsonl");
    for fold in ["0", "1"] {
        let of = |split: &str| lines(&format!("tables/folds/2/{fold}/mentions.{split}.jsonl"));
        assert!(of("dev") > 0 && of("train") + of("dev") == all, "{fold}");
    }

    // Cross-encoders over the same folds: those of a fold share its bi-encoder.
    let ranker = format!(
        "--table blink-folds-ranker --folds 2 --ranker-grid optimiser.learning_rate=1e-4,1e-3 \
         {RANKER} --set negatives.count=1"
    );
    bench.done(&line(&format!("{ranker} --only fold0")));
    bench.done(&line(&ranker));
    let table = rows(&bench, "blink-folds-ranker");
    assert_eq!(
        table[0],
        [
            "Settings",
            "Folds",
            "Accuracy, K = 2",
            "recall@2 of the bi-encoder"
        ]
    );
    let heads: Vec<[String; 2]> = table[2..]
        .iter()
        .map(|row| [row[0].clone(), row[1].clone()])
        .collect();
    assert_eq!(heads, counted(["2", "2"]));
    assert_eq!(table[2][3], table[3][3]);
    for fold in ["0", "1"] {
        let runs =
            std::fs::read_dir(bench.path(&format!("tables/folds/2/{fold}/runs"))).expect("there");
        let mut runs: Vec<String> = runs
            .filter_map(|run| run.ok()?.file_name().into_string().ok())
            .collect();
        runs.retain(|name| !name.ends_with(".json"));
        runs.sort_unstable();
        let cross = |rate: &str| format!("blink-cross-optimiser.learning-rate-{rate}-seed0");
        let expected = [
            "blink-bi-batch-seed0".into(),
            "blink-bi-seed0".into(),
            cross("1e-3"),
            cross("1e-4"),
        ];
        assert_eq!(runs, expected);
        // No weights are chosen on what settings are compared on.
        for run in runs {
            let config = bench.path(&format!("tables/folds/2/{fold}/runs/{run}/config.toml"));
            let config = std::fs::read_to_string(config).expect("kept");
            assert!(config.contains("keep = \"last\""), "{run}: {config}");
        }
    }

    bench.refuses(&[
        (
            &line(&ranker.replace("learning_rate=1e-4", "speed=1")),
            3,
            "--ranker-grid",
        ),
        (
            &line(&ranker.replace("learning_rate=1e-4,1e-3", "batch=1,2")),
            3,
            "every row of blink-folds-ranker sets this",
        ),
        (&line("--table blink-folds --folds 1"), 2, "--folds"),
        (
            &line("--table blink-folds --grid optimiser --set negatives.count=1"),
            3,
            "expected KEY=VALUE,VALUE",
        ),
    ]);
}

#[test]
fn the_number_of_candidates_is_chosen_on_the_validation_split() {
    let bench = bench();
    let line = line(&format!("--table blink-2 {RANKER} --set negatives.count=1"))
        .replace("--split dev", "--split known");
    // The weights of the cross-encoder are chosen there too.
    let line = line.replace("--ranker-set validation.mentions=0 ", "");
    bench.done(&line);
    let run = |name: &str| {
        std::fs::read_to_string(bench.path(&format!("tables/runs/blink-cross-seed0/{name}")))
            .expect("written")
    };
    assert!(
        run("config.toml").contains("lists/blink-bi-seed0-dev.jsonl"),
        "{}",
        run("config.toml")
    );
    let metrics = run("metrics.jsonl");
    let last: serde_json::Value =
        serde_json::from_str(metrics.lines().last().expect("a line")).expect("JSON");
    assert!(
        last["event"] == "kept" && last["recall_1"].is_number(),
        "{metrics}"
    );
    // As if the ranker had found on dev that the second candidate is right, and was wrong about it
    // elsewhere.
    for (split, right) in [("dev", 1), ("known", 0)] {
        let path = bench.path(&format!(
            "tables/lists/blink-bi-seed0-blink-cross2-{split}.jsonl"
        ));
        let lists = std::fs::read_to_string(&path).expect("written");
        let turned = lists.lines().map(|list| {
            let mut list: serde_json::Value = serde_json::from_str(list).expect("a list");
            let gold = list["id"].as_str().expect("an identifier").to_owned();
            let mut candidates = [gold.clone(), gold];
            candidates[1 - right] = KB
                .lines()
                .filter_map(|line| line.split('"').nth(3))
                .find(|id| *id != candidates[right])
                .expect("another")
                .to_owned();
            list["candidates"] = serde_json::json!(candidates);
            list["scores"] = serde_json::json!([2.0, 1.0]);
            list["teacher"] = serde_json::json!([0.0, 1.0]);
            format!("{list}\n")
        });
        std::fs::write(&path, turned.collect::<String>()).expect("written");
    }
    bench.done(&line);
    let row = &rows(&bench, "blink-2")[3];
    assert_eq!(row[0], "Bi-encoder and cross-encoder, K = 2");
    assert!(row[1].starts_with("0.0"), "{row:?}");
}
