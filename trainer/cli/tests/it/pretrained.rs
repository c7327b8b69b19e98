//! Encoders as they are published, and BLINK's files (`tests/python/checkpoints.py`), against
//! vectors of PyTorch.

use crate::common::Workspace;
use burn::tensor::Device;
use bytes::Bytes;
use pel_kb::score::Similarity;
use pel_model::burn::biencoder::Tower;
use pel_model::encode::Encoder;
use pel_model::tokens::{Cut, Encoded, Tokens};
use pel_model::tower::{Pooling, Reduction, Side, TowerBytes};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A sequence and its vector by PyTorch.
#[derive(Deserialize)]
struct Row {
    ids: Vec<u32>,
    second: Option<usize>,
    vector: Vec<f32>,
}

#[derive(Deserialize)]
struct Blink {
    mention: Row,
    entity: Row,
    pair: Row,
}

#[derive(Deserialize)]
struct Golden {
    bert: Row,
    sapbert: Row,
    blink: Blink,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/checkpoints")
}

fn golden() -> Golden {
    let file = std::fs::read(fixtures().join("vectors.json")).expect("there");
    serde_json::from_slice(&file).expect("the golden is whole")
}

/// A folder with copies of the published files.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    for name in ["bert", "sapbert", "blink"] {
        let from = fixtures().join(name).display().to_string();
        crate::common::copy(&from, &workspace.path(name));
    }
    workspace
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("written")).expect("JSON")
}

/// Compares the vector of a sequence by both engines with PyTorch's.
fn check(folder: &Path, row: &Row) {
    let read = |name: &str| std::fs::read(folder.join(name)).map(Bytes::from).ok();
    let [config, weights, tokenizer] = ["config.json", "model.safetensors", "tokenizer.json"]
        .map(|name| read(name).expect("written"));
    let projection = read("projection.safetensors");
    let bytes = TowerBytes {
        config: &config,
        weights: &weights,
        projection: projection.as_deref(),
    };
    let reduction = Reduction {
        pooling: Pooling::Cls,
        score: Similarity::Dot,
    };
    let (tokens, device) = (
        Tokens::from_bytes(&tokenizer).expect("whole"),
        Device::flex(),
    );
    tokens.markers().expect("three");
    let encoded = Encoded {
        second: row.second.unwrap_or(row.ids.len()),
        ..Encoded::whole(row.ids.clone(), Cut::default())
    };
    let packed = Encoder::new(bytes, None, &tokens, reduction, &device)
        .expect("whole")
        .encode(Side::Mention, &[&encoded])
        .expect("encoded");
    let tensors: Vec<f32> = Tower::from_bytes(bytes, &tokens, &device)
        .expect("whole")
        .forward(&tokens.batch(&[&encoded]), reduction, &device)
        .into_data()
        .try_to_vec()
        .expect("floats");
    for found in [packed, tensors] {
        assert_eq!(found.len(), row.vector.len(), "{}", folder.display());
        for (found, expected) in found.iter().zip(&row.vector) {
            let close = (found - expected).abs() <= 1e-4 * expected.abs().max(1.0);
            assert!(
                close,
                "{}: {found}, by PyTorch {expected}",
                folder.display()
            );
        }
    }
}

#[test]
fn published_encoders_have_the_vectors_of_pytorch() {
    let (workspace, golden) = (workspace(), golden());
    for (name, row) in [("bert", &golden.bert), ("sapbert", &golden.sapbert)] {
        workspace.done(&format!("convert @{name} --out @made-{name}"));
        let made = workspace.path(&format!("made-{name}"));
        check(&made, row);
        // SapBERT's 13 tokens and three markers.
        assert_eq!(json(&made.join("config.json"))["vocab_size"], 16, "{name}");
    }
}

#[test]
fn encoder_is_indexed_without_conversion() {
    let workspace = workspace();
    workspace.done("convert @sapbert --out @made");
    for (encoder, out) in [("sapbert", "direct"), ("made", "converted")] {
        workspace.done(&format!(
            "index --device cpu --kb @kb.jsonl --encoder @{encoder} --out @{out}"
        ));
    }
    for file in [
        "index.bin",
        "model.safetensors",
        "tokenizer.json",
        "config.json",
    ] {
        let [direct, converted] = ["direct", "converted"]
            .map(|folder| std::fs::read(workspace.path(folder).join(file)).expect("there"));
        assert!(direct == converted, "{file}");
    }
}

#[test]
fn models_of_blink_are_converted() {
    let (workspace, golden) = (workspace(), golden());
    for (file, kind, out) in [
        ("biencoder_wiki_large", "bi-encoder", "bi"),
        ("crossencoder_wiki_large", "cross-encoder", "cross"),
    ] {
        let done = workspace.done(&format!(
            "convert @blink/{file}.bin --bert @bert --out @{out}"
        ));
        assert!(done.out.ends_with(&format!(": {kind}\n")), "{}", done.out);
    }
    check(&workspace.path("bi/mention"), &golden.blink.mention);
    check(&workspace.path("bi/entity"), &golden.blink.entity);
    check(&workspace.path("cross"), &golden.blink.pair);
    for (folder, ranker) in [("bi/mention", false), ("bi/entity", false), ("cross", true)] {
        let settings = json(&workspace.path(folder).join("pel.json"));
        assert_eq!(settings["ranker"], ranker, "{folder}");
        assert_eq!(settings["view"]["mention_tokens"], 16, "{folder}");
        assert_eq!(settings["view"]["entity_tokens"], 20, "{folder}");
        assert_eq!(
            settings["view"]["entity_template"], "description",
            "{folder}"
        );
    }
    std::fs::write(workspace.path("note.txt"), "He has fever and chest pain.").expect("written");
    workspace.done("index --device cpu --kb @kb.jsonl --encoder @bi --out @indexed");
    workspace.done(
        "link --device cpu --bundle @indexed --ranker @cross --rerank 2 --format csv @note.txt",
    );
}

#[test]
fn files_that_are_no_models_are_refused() {
    let workspace = workspace();
    for name in ["calls", "other", "neither"] {
        let from = fixtures().join("bert").display().to_string();
        crate::common::copy(&from, &workspace.path(name));
    }
    // The beginning of the stream form, then a pickle that runs a command.
    let calls = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\
                  \x80\x02}X\x0d\x00\x00\x00little_endian\x88s.\x80\x02cposix\nsystem\n\
                  X\x02\x00\x00\x00ls\x85R.";
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(workspace.path(name).join("pytorch_model.bin"), bytes).expect("written");
    };
    write("calls", calls);
    write("other", b"\x89HDF");
    std::fs::remove_file(workspace.path("neither/pytorch_model.bin")).expect("removed");
    let truncated = std::fs::read(workspace.path("sapbert/pytorch_model.bin")).expect("there");
    write("sapbert", &truncated[..truncated.len() / 2]);
    workspace.refuses(&[
        ("convert @calls --out @out", 4, "found `posix.system`"),
        ("convert @other --out @out", 4, "torch.save(torch.load("),
        ("convert @neither --out @out", 6, "model.safetensors"),
        ("convert @sapbert --out @out", 4, "whole ZIP archive"),
        (
            "convert @kb.jsonl --out @out",
            2,
            "a file of BLINK also needs --bert FOLDER",
        ),
        (
            "convert @bert --bert @bert --out @out",
            2,
            "expected a file of BLINK",
        ),
        (
            "convert @bert/pytorch_model.bin --bert @bert \
             --params @blink/biencoder_wiki_large.json --out @out",
            4,
            "`context_encoder.bert_model.*`",
        ),
        (
            "convert @blink/biencoder_wiki_large.bin --bert @sapbert --out @out",
            4,
            "expected three `[unusedN]` tokens",
        ),
    ]);
}
