//! `pel export`: exported folders give the vectors of sentence-transformers
//! (`tests/python/exported.py`).

use crate::common::{Workspace, tiny};
use burn::tensor::Device;
use bytes::Bytes;
use pel_artifacts::tensors::{NamedTensor, to_bytes};
use pel_kb::score::Similarity;
use pel_model::encode::Encoder;
use pel_model::tokens::Tokens;
use pel_model::tower::{Pooling, Reduction, Side, TowerBytes};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Golden {
    texts: Vec<String>,
    ways: Vec<Way>,
}

#[derive(Deserialize)]
struct Way {
    layers: Vec<f32>,
    options: Vec<String>,
    vectors: Vec<Vec<Vec<f32>>>,
}

/// The tiny model with a projection of this magnitude.
fn encoder(folder: &Path, size: f32) {
    crate::common::copy(&tiny().display().to_string(), folder);
    if size > 0.0 {
        let wave = |count: usize| -> Vec<f32> {
            (0..count)
                .map(|at| size * ((at * 37 % 101) as f32 / 50.5 - 1.0))
                .collect()
        };
        let (weight, bias) = (wave(16 * 32), wave(16));
        let layer = [
            NamedTensor::floats("weight", vec![16, 32], &weight),
            NamedTensor::floats("bias", vec![16], &bias),
        ];
        std::fs::write(
            folder.join("projection.safetensors"),
            to_bytes(&layer).expect("written"),
        )
        .expect("written");
    }
}

/// The vectors of an exported folder.
fn vectors(folder: &Path, way: &Way, texts: &[String]) -> Vec<Vec<f32>> {
    let read = |name: &str| std::fs::read(folder.join(name)).map(Bytes::from).ok();
    let [config, weights, tokenizer] = ["config.json", "model.safetensors", "tokenizer.json"]
        .map(|name| read(name).expect("written"));
    let projection = read("projection.safetensors");
    let tower = TowerBytes {
        config: &config,
        weights: &weights,
        projection: projection.as_deref(),
    };
    let has = |word: &str| way.options.iter().any(|option| option == word);
    let reduction = Reduction {
        pooling: if has("cls") {
            Pooling::Cls
        } else {
            Pooling::Mean
        },
        score: if has("dot") {
            Similarity::Dot
        } else {
            Similarity::Cosine
        },
    };
    let tokens = Tokens::from_bytes(&tokenizer).expect("whole");
    let encoder = Encoder::new(tower, None, &tokens, reduction, &Device::flex()).expect("whole");
    let encode = |text: &String| {
        let text = tokens
            .name(text, 64)
            .expect("long enough")
            .expect("letters are left");
        encoder.encode(Side::Entity, &[&text]).expect("encoded")
    };
    texts.iter().map(encode).collect()
}

#[test]
fn exported_towers_equal_sentence_transformers() {
    let golden: Golden =
        serde_json::from_str(include_str!("../../../../tests/goldens/exported.json"))
            .expect("the golden is whole");
    for (number, way) in golden.ways.iter().enumerate() {
        let workspace = Workspace::new();
        let towers = way.layers.iter().enumerate();
        towers.for_each(|(at, size)| encoder(&workspace.path(&format!("encoder{at}")), *size));
        let second = if way.layers.len() > 1 {
            " --entity-encoder @encoder1"
        } else {
            ""
        };
        let options = way.options.join(" ");
        let index = format!(
            "index --device cpu --kb @kb.jsonl --encoder @encoder0{second} --out @made {options}"
        );
        for line in [index.as_str(), "export @made --out @out"] {
            let done = workspace.pel(line);
            assert_eq!(done.code, Some(0), "{line}: {}", done.err);
            // Pooling over the mention's tokens cannot be exported.
            assert_eq!(
                done.err.contains("mention's tokens"),
                line.starts_with("export") && options.contains("mention")
            );
        }
        let folders: &[&str] = if way.layers.len() > 1 {
            &["out/mention", "out/entity"]
        } else {
            &["out"]
        };
        for (folder, expected) in folders.iter().zip(&way.vectors) {
            for (found, expected) in vectors(&workspace.path(folder), way, &golden.texts)
                .iter()
                .zip(expected)
            {
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(expected) {
                    let close = (found - expected).abs() <= 1e-5 * expected.abs().max(1.0);
                    assert!(
                        close,
                        "way {number}, {folder}: {found}, by PyTorch {expected}"
                    );
                }
            }
        }
    }
}
