//! `pel index --hnsw`: equal names, recall and the recall floor.

use crate::common::{CommandOutput, Workspace, output_of, pel, tiny};
use serde_json::Value;

/// 300 concepts with the same name and 100 with unique names.
fn write_table(workspace: &Workspace) -> Vec<String> {
    let mut lines = Vec::new();
    let mut others = Vec::new();
    for at in 0..300 {
        lines.push(format!(
            r#"{{"id": "E{at}", "name": "unnamed lesion", "types": ["Sign"]}}"#
        ));
        if at % 3 == 0 {
            let letters: String = (0u32..4)
                .map(|place| char::from(b'a' + ((at / 3 + 7 * place) * (place + 3) % 26) as u8))
                .collect();
            let name = format!("{letters} pain {}", at / 3);
            lines.push(format!(
                r#"{{"id": "S{at}", "name": "{name}", "types": ["Sign"]}}"#
            ));
            others.push(name);
        }
    }
    std::fs::write(workspace.path("many.jsonl"), lines.join("\n")).expect("written");
    others
}

fn index(workspace: &Workspace, more: &str) -> CommandOutput {
    let encoder = tiny().display().to_string();
    workspace.pel(&format!(
        "index --device cpu --kb @many.jsonl --encoder {encoder} {more}"
    ))
}

fn json(output: &CommandOutput) -> Value {
    assert_eq!(output.code, Some(0), "{}", output.err);
    serde_json::from_str(&output.out).unwrap_or_else(|error| panic!("{error}: {}", output.out))
}

#[test]
fn graph_with_equal_names_links_as_exact_search() {
    let workspace = Workspace::new();
    let names = write_table(&workspace);
    let exact = json(&index(&workspace, "--out @exact --json"));
    let graph = json(&index(&workspace, "--hnsw --out @graph --json"));
    assert_eq!(graph["recall_at_64"], 1.0, "{graph}");
    assert_eq!(
        graph["recall_at_64_against_f32"],
        exact["recall_at_64_against_f32"]
    );
    std::fs::write(workspace.path("note.txt"), names.join(". ")).expect("written");
    let link = |bundle: &str| {
        let (bundle, note) = (
            workspace.path(bundle).display().to_string(),
            workspace.path("note.txt").display().to_string(),
        );
        let done = output_of(pel(&[
            "link", "--device", "cpu", "--bundle", &bundle, "--format", "jsonl", &note,
        ]));
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.out
    };
    let found = link("graph");
    assert_eq!(found, link("exact"));
    assert_eq!(
        found
            .lines()
            .filter(|line| line.contains("unnamed lesion"))
            .count(),
        0,
        "{found}"
    );
}

#[test]
fn index_and_bench_give_the_same_recall() {
    let workspace = Workspace::new();
    write_table(&workspace);
    for more in ["", "--hnsw --ef-search 8 --recall-floor 0"] {
        let indexed = json(&index(
            &workspace,
            format!("--out @out --json {more}").trim(),
        ));
        let line = "bench --bundle @out --device cpu --no-encode --seconds 0 --json";
        let benched = json(&workspace.pel(line));
        let own = &benched["search"][0];
        assert_eq!((&own["kind"], &own["k"]), (&"bundle".into(), &64.into()));
        assert_eq!(own["recall"], indexed["recall_at_64"], "{more}");
    }
}

#[test]
fn graph_below_the_recall_floor_is_refused() {
    let workspace = Workspace::new();
    write_table(&workspace);
    let wanting = index(
        &workspace,
        "--hnsw --ef-search 1 --ef-construction 1 --recall-floor 1 --out @out",
    );
    assert_eq!(wanting.code, Some(4), "{}{}", wanting.out, wanting.err);
    assert!(
        wanting.err.contains("expected recall@64 of at least 1")
            && wanting.err.contains("--recall-floor")
    );
    assert!(!workspace.path("out").exists());
    workspace.refuses(&[
        (
            "index --kb @many.jsonl --encoder @bundle --out @o --recall-floor 0.9",
            2,
            "--hnsw|--cells",
        ),
        (
            "index --kb @many.jsonl --encoder @bundle --out @o --hnsw --recall-floor 2",
            2,
            "expected a share from 0 to 1",
        ),
    ]);
}

#[test]
fn truncated_texts_are_counted_with_the_option_to_change() {
    let workspace = Workspace::new();
    write_table(&workspace);
    let done = index(
        &workspace,
        "--view both --entity-tokens 8 --name-tokens 3 --mention-tokens 12 --out @out",
    );
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
    let whole = index(
        &workspace,
        "--view both --entity-tokens 64 --name-tokens 32 --out @whole",
    );
    assert!(
        whole.code == Some(0) && !whole.out.contains("longer than"),
        "{}{}",
        whole.out,
        whole.err
    );
}
