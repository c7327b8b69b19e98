//! `pel index --hnsw`: names that many concepts bear, what is found of them, and the floor below which nothing is written.

mod common;

use common::{Bench, Said, pel, said, tiny};
use serde_json::Value;

/// 300 concepts of one name beside 100 of their own: two words each, from lists of the tiny model's vocabulary and beyond.
fn write_table(bench: &Bench) -> Vec<String> {
    let mut lines = Vec::new();
    let mut others = Vec::new();
    for at in 0..300 {
        lines.push(format!(r#"{{"id": "E{at}", "name": "unnamed lesion", "types": ["Sign"]}}"#));
        if at % 3 == 0 {
            let letters: String =
                (0u32..4).map(|place| char::from(b'a' + ((at / 3 + 7 * place) * (place + 3) % 26) as u8)).collect();
            let name = format!("{letters} pain {}", at / 3);
            lines.push(format!(r#"{{"id": "S{at}", "name": "{name}", "types": ["Sign"]}}"#));
            others.push(name);
        }
    }
    std::fs::write(bench.path("many.jsonl"), lines.join("\n")).expect("written");
    others
}

fn index(bench: &Bench, more: &str) -> Said {
    let encoder = tiny().display().to_string();
    bench.pel(&format!("index --device cpu --kb @many.jsonl --encoder {encoder} {more}"))
}

fn json(said: &Said) -> Value {
    assert_eq!(said.code, Some(0), "{}", said.err);
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.out))
}

#[test]
fn a_graph_over_equal_names_links_as_the_exact_search_does() {
    let bench = Bench::new();
    let names = write_table(&bench);
    let exact = json(&index(&bench, "--out @exact --json"));
    let graph = json(&index(&bench, "--hnsw --out @graph --json"));
    assert_eq!(graph["recall_at_64"], 1.0, "{graph}");
    assert_eq!(graph["recall_at_64_against_f32"], exact["recall_at_64_against_f32"]);
    std::fs::write(bench.path("note.txt"), names.join(". ")).expect("written");
    let link = |bundle: &str| {
        let (bundle, note) = (bench.path(bundle).display().to_string(), bench.path("note.txt").display().to_string());
        let done = said(pel(&["link", "--device", "cpu", "--bundle", &bundle, "--format", "jsonl", &note]));
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.out
    };
    let found = link("graph");
    assert_eq!(found, link("exact"));
    assert_eq!(found.lines().filter(|line| line.contains("unnamed lesion")).count(), 0, "{found}");
}

#[test]
fn recall_is_the_same_for_index_and_bench() {
    let bench = Bench::new();
    write_table(&bench);
    for more in ["", "--hnsw --ef-search 8 --recall-floor 0"] {
        let indexed = json(&index(&bench, format!("--out @out --json {more}").trim()));
        let line = "bench --bundle @out --device cpu --no-encode --seconds 0 --json";
        let benched = json(&bench.pel(line));
        let own = &benched["search"][0];
        assert_eq!((&own["kind"], &own["k"]), (&"bundle".into(), &64.into()));
        assert_eq!(own["recall"], indexed["recall_at_64"], "{more}");
    }
}

#[test]
fn a_graph_below_the_floor_is_refused_and_nothing_is_written() {
    let bench = Bench::new();
    write_table(&bench);
    let wanting = index(&bench, "--hnsw --ef-search 1 --ef-construction 1 --recall-floor 1 --out @out");
    assert_eq!(wanting.code, Some(4), "{}{}", wanting.out, wanting.err);
    assert!(wanting.err.contains("expected recall@64 of at least 1") && wanting.err.contains("--recall-floor"));
    assert!(!bench.path("out").exists());
    bench.refuses(&[
        ("index --kb @many.jsonl --encoder @bundle --out @o --recall-floor 0.9", 2, "--hnsw"),
        (
            "index --kb @many.jsonl --encoder @bundle --out @o --hnsw --recall-floor 2",
            2,
            "expected a share from 0 to 1",
        ),
    ]);
}

#[test]
fn texts_that_do_not_fit_are_counted_with_the_option_that_helps() {
    let bench = Bench::new();
    write_table(&bench);
    let done = index(&bench, "--view both --entity-tokens 8 --name-tokens 3 --mention-tokens 12 --out @out");
    assert_eq!(done.code, Some(0), "{}", done.err);
    for part in [
        "of 400 templates (",
        "longer than 8 tokens",
        "--entity-tokens sets",
        "of 400 names (",
        "longer than 3 tokens",
        "--name-tokens sets",
    ] {
        assert!(done.out.contains(part), "{part}: {}", done.out);
    }
    let whole = index(&bench, "--view both --entity-tokens 64 --name-tokens 32 --out @whole");
    assert!(whole.code == Some(0) && !whole.out.contains("longer than"), "{}{}", whole.out, whole.err);
}
