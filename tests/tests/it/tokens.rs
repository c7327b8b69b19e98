//! Token ids equal those of Python's slow BertTokenizer: goldens of `python/tokens.py`.

use pel_model::tokens::Tokens;
use pel_tests::{bytes, golden, model, path};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    model: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    text: String,
    ids: Vec<u32>,
}

fn tokens(name: &str) -> Tokens {
    let json = std::fs::read(model(name).join("tokenizer.json")).expect("it can be read");
    Tokens::from_bytes(&json).expect("it is a tokenizer")
}

/// The ids of `[CLS] text [SEP]`, without truncation. An empty text has the two special tokens.
fn ids(tokens: &Tokens, text: &str) -> Vec<u32> {
    match tokens
        .name(text, 100_000)
        .expect("the window is long enough")
    {
        Some(encoded) => encoded.ids,
        None => {
            let ids = tokens
                .name("a", 100_000)
                .expect("long enough")
                .expect("not empty")
                .ids;
            vec![ids[0], ids[ids.len() - 1]]
        }
    }
}

#[test]
fn sentences_equal_the_slow_tokenizer() {
    for group in golden::<Golden>("ids.json").groups {
        let tokens = tokens(&group.model);
        for row in group.rows {
            assert_eq!(
                ids(&tokens, &row.text),
                row.ids,
                "{}: {:?}",
                group.model,
                row.text
            );
        }
    }
}

#[test]
fn ten_thousand_lines_equal_the_slow_tokenizer() {
    let mut lines = Vec::new();
    pel_io::files::for_each_line(&path("goldens/lines.txt.xz"), |_, line| {
        lines.push(line.to_owned());
        Ok(())
    })
    .expect("the lines can be read");
    assert_eq!(lines.len(), 10_000);
    for name in ["tiny", "tiny-cased", "minilm"] {
        let tokens = tokens(name);
        let hashes = bytes(&format!("goldens/lines.{name}.hashes"));
        assert_eq!(hashes.len(), 8 * lines.len());
        for (line, expected) in lines.iter().zip(hashes.chunks_exact(8)) {
            let ids: Vec<u8> = ids(&tokens, line)
                .iter()
                .flat_map(|id| id.to_le_bytes())
                .collect();
            assert_eq!(
                &blake3::hash(&ids).as_bytes()[..8],
                expected,
                "{name}: {line:?}"
            );
        }
    }
}
