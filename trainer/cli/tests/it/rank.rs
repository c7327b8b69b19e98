//! Both stages of linking as commands: candidates, a ranker, a student of it, and links in the
//! ranker's order.

use crate::common::{Workspace as Bench, tiny};
use serde_json::Value;

const WINDOWS: &str = "--set view.mention_tokens=24 --set view.entity_tokens=24";

/// The output of a command line that has to succeed.
fn done(bench: &Bench, line: &str) -> String {
    bench.done(line).out
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn candidates_ranker_student_and_links_work_together() {
    let bench = Bench::new();
    let train = format!(
        "--corpus @ --kb @kb.jsonl --device cpu --set data.split=dev \
         --set optimiser.batch=2 {WINDOWS}"
    );
    let tiny = tiny().display().to_string();
    done(
        &bench,
        &format!(
            "train {train} --encoder {tiny} --steps 4 --set negatives.count=1 \
             --set negatives.kind=random --set data.mentions=2 --set validation.mentions=0 \
             --out @run"
        ),
    );
    // Every retriever writes lists of the same form.
    for (retriever, out) in [
        ("--run @run", "of-run"),
        ("--bundle @bundle", "of-bundle"),
        ("--system tfidf --kb @kb.jsonl", "of-tfidf"),
    ] {
        let said = done(
            &bench,
            &format!(
                "candidates {retriever} --corpus @ --split dev --top 3 --device cpu --out @{out} \
                 --json"
            ),
        );
        let said = json(&said);
        assert_eq!(
            (&said["mentions"], &said["ranker_accuracy"]),
            (&2.into(), &Value::Null),
            "{retriever}: {said}"
        );
        let text = std::fs::read_to_string(bench.path(out)).expect("written");
        let lines: Vec<Value> = text.lines().map(json).collect();
        assert_eq!(
            (lines.len(), &lines[0]["id"], &lines[1]["end"]),
            (2, &"D1".into(), &17.into()),
            "{retriever}: {text}"
        );
    }
    done(
        &bench,
        &format!(
            "train --stage rank {train} --encoder {tiny} --steps 6 --candidates @of-run \
             --dev-candidates @of-run --out @rank"
        ),
    );
    let taught = done(
        &bench,
        "candidates --from @of-run --ranker @rank/model --kb @kb.jsonl --corpus @ --split dev \
         --top 3 --device cpu --out @taught",
    );
    assert!(taught.contains("accuracy of the cross-encoder"), "{taught}");
    let first = std::fs::read_to_string(bench.path("taught")).expect("written");
    let first = json(first.lines().next().expect("a line"));
    assert_eq!(
        first["teacher"].as_array().map(Vec::len),
        first["candidates"].as_array().map(Vec::len)
    );
    done(
        &bench,
        &format!(
            "train {train} --encoder {tiny} --steps 2 --distil @taught --set validation.mentions=0 \
             --set negatives.kind=none --out @student"
        ),
    );
    // Its negatives are listed: nothing is mined.
    let student = format!(
        "train {train} --encoder {tiny} --steps 2 --distil @taught --set validation.mentions=0 \
         --out @second"
    );
    done(&bench, &student);
    let metrics = std::fs::read_to_string(bench.path("second/metrics.jsonl")).expect("written");
    assert!(
        metrics.contains("\"step\"") && !metrics.contains("mining"),
        "{metrics}"
    );

    // BLINK's bi-encoder has negatives of the batch, its student lists alone; a file's own share
    // stays.
    std::fs::write(
        bench.path("share.toml"),
        "[distillation]\nown_share = 0.25\n",
    )
    .expect("written");
    for (more, share) in [
        ("", "own_share = 0.5"),
        ("--config @share.toml", "own_share = 0.25"),
    ] {
        let printed = done(
            &bench,
            format!("train --paper blink --distil @taught --print {more}").trim_end(),
        );
        assert!(
            printed.contains(share) && printed.contains("in_batch = false"),
            "{printed}"
        );
    }

    // Links: the ranker's scores stand beside the candidates, in their order; what is NIL stays so.
    std::fs::write(bench.path("note.txt"), "fever and chest pain").expect("written");
    let line = "link --bundle @bundle @note.txt --names-only --device cpu --format jsonl";
    let (plain, ranked) = (
        done(&bench, line),
        done(&bench, &format!("{line} --ranker @rank/model --rerank 3")),
    );
    assert_eq!(
        (plain.lines().count(), ranked.lines().count()),
        (2, 2),
        "{ranked}"
    );
    for (plain, ranked) in plain.lines().map(json).zip(ranked.lines().map(json)) {
        let scores = |link: &Value| -> Vec<Option<f64>> {
            link["candidates"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|one| one["ranker_score"].as_f64())
                .collect()
        };
        assert!(scores(&plain).iter().all(Option::is_none), "{plain}");
        assert!(
            scores(&ranked).is_sorted_by(|a, b| a >= b) && scores(&ranked)[0].is_some(),
            "{ranked}"
        );
        assert_eq!(plain["decision"], ranked["decision"]);
        assert_eq!(
            ranked["concept"]["id"], ranked["candidates"][0]["id"],
            "{ranked}"
        );
    }

    let table = done(
        &bench,
        &format!(
            "{} --ranker @rank/model --rerank 3",
            line.replace("jsonl", "table")
        ),
    );
    assert!(table.contains("chosen by the cross-encoder"), "{table}");

    // The same candidates in the same order, with the places that they had.
    let line = "explain --bundle @bundle --file @note.txt --span SPAN --device cpu";
    let link = json(ranked.lines().next().expect("a line"));
    let line = line.replace("SPAN", &format!("{}:{}", link["start"], link["end"]));
    let why = json(&done(
        &bench,
        &format!("{line} --ranker @rank/model --rerank 3 --json"),
    ));
    let of = |key: &str| -> Vec<Value> {
        why["candidates"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| one[key].clone())
            .collect()
    };
    let linked = |key: &str| -> Vec<Value> {
        link["candidates"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| one[key].clone())
            .collect()
    };
    assert_eq!(
        (of("id"), of("ranker_score")),
        (linked("id"), linked("ranker_score"))
    );
    let plain = json(&done(&bench, &format!("{line} --json")));
    let before = plain["candidates"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["id"].clone());
    let before: Vec<Value> = before.collect();
    let places: Vec<usize> = of("first_stage_rank")
        .iter()
        .filter_map(Value::as_u64)
        .map(|at| at as usize)
        .collect();
    assert_eq!(
        places
            .iter()
            .map(|at| before[at - 1].clone())
            .collect::<Vec<_>>(),
        of("id")
    );
    assert!(
        plain["candidates"][0].get("ranker_score").is_none(),
        "{plain}"
    );
    let shown = done(&bench, &format!("{line} --ranker @rank/model --rerank 3"));
    assert!(
        shown.contains("Before") && shown.contains(" first of 3 by the cross-encoder"),
        "{shown}"
    );
    // What is not shown was seen all the same.
    let shown = done(
        &bench,
        &format!("{line} -k 1 --ranker @rank/model --rerank 3"),
    );
    assert!(shown.contains(" first of 3"), "{shown}");

    let evaluated = done(
        &bench,
        "evaluate --bundle @bundle --corpus @ --split dev --train-split none --systems link,bm25 \
         --ranker @rank/model --rerank 2,3 --device cpu --json",
    );
    let systems = json(&evaluated)["systems"]
        .as_array()
        .expect("a list")
        .clone();
    let names: Vec<&str> = systems
        .iter()
        .filter_map(|system| system["system"].as_str())
        .collect();
    let expected = [
        "link",
        "link + ranker@2",
        "link + ranker@3",
        "bm25",
        "bm25 + ranker@2",
        "bm25 + ranker@3",
    ];
    assert_eq!(names, expected);
    assert_eq!(systems[2]["ranking"]["found"]["of"], 2, "{}", systems[2]);
    // All three concepts are candidates: normalised accuracy is recall@1, also where one candidate
    // alone is kept.
    let first = &systems[2]["recall"][0];
    assert_eq!(systems[2]["ranking"]["found"]["recall"], 1.0);
    assert_eq!(
        systems[2]["ranking"]["normalised"]["recall"],
        first["at"][0]["recall"]
    );
    assert!(
        first["first_by_chance"].is_null()
            && systems[0]["recall"][0]["first_by_chance"].is_number()
    );
    let one = done(
        &bench,
        "evaluate --bundle @bundle --corpus @ --split dev --train-split none --systems link \
         --ranker @rank/model --rerank 3 --top 1 --device cpu --json",
    );
    assert_eq!(json(&one)["systems"][1]["ranking"], systems[2]["ranking"]);
    // NIL is decided by the first stage's score.
    assert_eq!(systems[0]["nil"][0]["au_pr"], systems[2]["nil"][0]["au_pr"]);
    let shown = done(
        &bench,
        "evaluate --bundle @bundle --corpus @ --split dev --train-split none --systems link \
         --ranker @rank/model --rerank 2 --device cpu",
    );
    assert!(
        shown.contains("Normalised accuracy") && shown.contains("link + ranker@2"),
        "{shown}"
    );
    assert_eq!(
        systems[2]["domains"][0]["normalised"]["recall"],
        systems[2]["domains"][0]["macro_average"][0]["recall"]
    );
    // T-Biencoder's table 3 has a bound for each scorer and kind of negatives.
    let bound = |settings: &str| {
        let printed = done(
            &bench,
            &format!("train --print --json --paper t-biencoder --encoder {tiny} {settings}"),
        );
        let transformation = json(&printed)["transformation"].clone();
        (
            transformation["epsilon"].as_f64(),
            transformation["layer"].as_u64(),
        )
    };
    assert_eq!(bound("--seed 1"), (Some(32.0), Some(1)));
    assert_eq!(
        bound("--set model.scorer=sum-of-max --set negatives.kind=hard"),
        (Some(40.0), Some(1))
    );
    assert_eq!(
        bound("--set negatives.kind=hard --set transformation.epsilon=7"),
        (Some(7.0), Some(1))
    );

    // A concept without a readable name comes last, and stops nothing.
    let odd = "{\"id\": \"O1\", \"name\": \"\\u0007\", \"synonyms\": [\"fever\"]}\n\
               {\"id\": \"O2\", \"name\": \"cough\"}\n";
    std::fs::write(bench.path("odd.jsonl"), odd).expect("written");
    std::fs::write(bench.path("odd.txt"), "fever").expect("written");
    done(
        &bench,
        &format!("index --encoder {tiny} --kb @odd.jsonl --out @odd --device cpu"),
    );
    let linked = done(
        &bench,
        "link --bundle @odd @odd.txt --ranker @rank/model --rerank 2 --format jsonl --device cpu",
    );
    let candidates = json(linked.trim())["candidates"].clone();
    let ids: Vec<&str> = (0..2)
        .filter_map(|at| candidates[at]["id"].as_str())
        .collect();
    assert_eq!(ids, ["O2", "O1"], "{linked}");
    assert!(
        candidates[0]["ranker_score"].is_number() && !candidates[1]["ranker_score"].is_number(),
        "{linked}"
    );

    // Lists of another corpus, and some of the mentions.
    let lists = std::fs::read_to_string(bench.path("of-run")).expect("written");
    std::fs::write(
        bench.path("foreign"),
        lists.replace("\"id\":\"D1\"", "\"id\":\"D2\""),
    )
    .expect("written");
    let strange = lists
        .replace("\"id\":\"D1\"", "\"id\":\"D3\"")
        .replace("\"id\":\"D2\"", "\"id\":\"D3\"");
    std::fs::write(bench.path("strange"), strange).expect("written");
    let some: String = lists
        .lines()
        .take(1)
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(bench.path("some"), some).expect("written");
    let few = done(
        &bench,
        "candidates --from @some --ranker @rank/model --kb @kb.jsonl --corpus @ --split dev \
         --device cpu --out @few",
    );
    assert!(few.contains("1 more have no list"), "{few}");
    let foreign = "expected `id` D1 as in the corpus, found D2";
    bench.refuses(&[
        (
            &format!("train {train} --encoder {tiny} --stage rank --candidates @foreign --out @y"),
            3,
            foreign,
        ),
        (
            "candidates --from @strange --ranker @rank/model --kb @kb.jsonl --corpus @ --split dev \
             --device cpu --out @z",
            3,
            "2 of 2 lists differ, so they belong to another corpus",
        ),
        (
            &format!(
                "train {train} --encoder {tiny} --stage rank --candidates @of-run --set data.top=1 \
                 --out @y"
            ),
            3,
            "at least 2",
        ),
        (
            &format!(
                "train {train} --encoder {tiny} --distil @taught --set distillation.own_share=1 \
                 --out @y"
            ),
            3,
            "expected less than 1",
        ),
        (
            &format!("train {train} --encoder {tiny} --dev-candidates @of-run --out @y"),
            3,
            "expected --stage rank, found a bi-encoder",
        ),
        (
            &format!("train {train} --encoder {tiny} --set data.only_domains=[\"NOPE\"] --out @y"),
            3,
            "expected domains that a concept has (TEST), found \"NOPE\"",
        ),
        (
            "evaluate --bundle @bundle --corpus @ --split dev --train-split none --device cpu \
             --out @kb.jsonl",
            2,
            "this is an input",
        ),
    ]);

    bench.refuses(&[
        (
            "link --bundle @bundle @note.txt -k 0",
            2,
            "0 is not in 1..=1000",
        ),
        ("link --bundle @bundle @note.txt --rerank 3", 2, "--ranker"),
        (
            "link --bundle @bundle @note.txt --rerank 3 --ranker @run/model",
            3,
            "expected a cross-encoder of `pel train --stage rank`",
        ),
        (
            "candidates --run @rank --corpus @ --split dev --device cpu --out @x",
            3,
            "found a ranker's",
        ),
        (
            "candidates --run @run --corpus @ --split dev --device cpu --out @kb.jsonl",
            2,
            "this is an input",
        ),
        (
            "index --encoder @rank/model --kb @kb.jsonl --device cpu --out @never",
            3,
            "this is a ranker",
        ),
        (
            "candidates --corpus @ --split dev --out @x",
            3,
            "say where candidates come from: --run",
        ),
        (
            "candidates --from @kb.jsonl --ranker @rank/model --kb @kb.jsonl --corpus @ \
             --split dev --out @x",
            3,
            "doc_id",
        ),
        (
            "train --stage rank --encoder x --corpus @ --kb @kb.jsonl --out @y --device cpu",
            3,
            "`data.candidates`",
        ),
        (
            "evaluate --kb @kb.jsonl --corpus @ --split dev --train-split none --within-domain",
            3,
            "has the field `domain`",
        ),
        (
            "candidates --system bm25 --kb @kb.jsonl --corpus @ --split dev --out @x \
             --within-domain",
            3,
            "has the field `domain`",
        ),
        (
            "train --stage rank --paper t-biencoder --print",
            3,
            "found t-biencoder, which has no cross-encoder",
        ),
    ]);
    // A mention with a second concept, for which the lists were not made.
    let mentions = std::fs::read_to_string(bench.path("mentions.dev.jsonl")).expect("read");
    let second = mentions
        .lines()
        .next()
        .expect("a mention")
        .replace("D1", "D2");
    std::fs::write(
        bench.path("mentions.dev.jsonl"),
        format!("{}\n{second}\n", mentions.trim_end()),
    )
    .expect("written");
    done(
        &bench,
        &format!(
            "train {train} --encoder {tiny} --steps 1 --stage rank --candidates @of-run \
             --out @twice"
        ),
    );
    let printed = done(&bench, "train --stage rank --paper blink --print");
    assert!(
        printed.contains("top = 64") && printed.contains("batch = 1\n"),
        "{printed}"
    );
}

#[test]
fn candidates_within_domain_have_that_domain() {
    let bench = Bench::new();
    let kb = std::fs::read_to_string(bench.path("kb.jsonl")).expect("read");
    let other = r#"{"id": "X1", "name": "fever", "sources": ["OTHER"]}"#;
    std::fs::write(bench.path("kb.jsonl"), format!("{other}\n{kb}")).expect("written");
    let documents = std::fs::read_to_string(bench.path("documents.jsonl")).expect("read");
    let documents = documents.replace("\"text\"", "\"domain\":\"TEST\",\"text\"");
    std::fs::write(bench.path("documents.jsonl"), documents).expect("written");
    let line =
        "candidates --system bm25 --kb @kb.jsonl --corpus @ --split dev --device cpu --out @lists";
    let listed = |more: &str| {
        done(&bench, &format!("{line}{more}"));
        let text = std::fs::read_to_string(bench.path("lists")).expect("written");
        json(text.lines().next().expect("a line"))["candidates"]
            .as_array()
            .expect("a list")
            .clone()
    };
    assert_eq!(listed("")[0], "X1");
    let own = listed(" --within-domain");
    assert!(own[0] == "D1" && !own.contains(&"X1".into()), "{own:?}");
}
