//! Seed bundles and a small encoder, which targets mutate or use for linking.

use burn::tensor::Device;
use bytes::Bytes;
use pel_index::{HnswOptions, Index, IndexInfo, Precision, TokenStore, TokenStoreBuilder};
use pel_kb::container::Check;
use pel_kb::score::{Scorer, Similarity};
use pel_kb::table::ConceptTable;
use pel_kb::{Concept, ConceptId, KnowledgeBase};
use pel_linker::Linker;
use pel_linker::bundle::{Bundle, Manifest, OLDEST_FORMAT, Parts, names};
use pel_model::config::BertConfig;
use pel_model::cpu::{quantise, quantise_layers};
use pel_model::detector::features::{MARKS, MATCHES, SHAPES};
use pel_model::detector::{DetectorInfo, Scheme};
use pel_model::encode::Encoder;
use pel_model::tokens::ViewOptions;
use pel_model::tokens::{Cut, Encoded, Tokens};
use pel_model::tower::{Pooling, Reduction, Side};
use pel_text::detect::Dictionary;
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// A tokenizer whose vocabulary is replaced.
const TOKENIZER: &[u8] = include_bytes!("../../../shared/tests/fixtures/tiny/tokenizer.json");

/// The concepts of the seed bundles.
pub fn concepts() -> Vec<Concept> {
    let concept =
        |id: &str, name: &str, synonyms: &[&str], kind: &str, definition: Option<&str>| Concept {
            id: id.into(),
            name: name.into(),
            synonyms: synonyms.iter().map(|synonym| (*synonym).into()).collect(),
            types: vec![kind.into()],
            definition: definition.map(Into::into),
            xrefs: vec![format!("ICD10CM:{id}")],
            sources: vec!["TEST".into()],
            ..Concept::default()
        };
    vec![
        concept(
            "C1",
            "fever",
            &["pyrexia", "Fièvre"],
            "Sign",
            Some("A high temperature of the body."),
        ),
        concept("C2", "chest pain", &[], "Sign", None),
        concept(
            "C3",
            "diabetes mellitus",
            &["DM", "diabetes"],
            "Disease",
            Some("Too much sugar in the blood."),
        ),
        concept(
            "C4",
            "beta-blocker",
            &["α-blocker", "β adrenergic blocker"],
            "Drug",
            None,
        ),
        concept("C5", "cold", &["common cold"], "Disease", None),
        concept("C6", "sensation of cold", &["cold"], "Sign", None),
    ]
}

/// A seed bundle: its files and a linker.
pub struct SeedBundle {
    /// Its files.
    pub parts: Parts,
    /// A linker with it.
    pub linker: Linker,
}

/// Options of a seed bundle.
struct Recipe {
    view: ViewOptions,
    pooling: Pooling,
    index: Precision,
    encoder: Precision,
    hnsw: bool,
    tokens: bool,
    detector: bool,
}

impl SeedBundle {
    /// A bundle with names and single vectors, one with every optional part of it, a minimal one,
    /// and one with a detector.
    pub fn all() -> &'static [Self] {
        static ALL: OnceLock<Vec<SeedBundle>> = OnceLock::new();
        ALL.get_or_init(|| {
            let view = ViewOptions {
                entity_tokens: 24,
                name_tokens: 12,
                mention_tokens: 24,
                ..ViewOptions::names()
            };
            let both = ViewOptions {
                concepts: pel_model::tokens::View::Both,
                synonyms: true,
                mention_template: pel_model::tokens::MentionTemplate::Context,
                mix: 0.25,
                spelling: 0.25,
                ..view
            };
            let (names, floats) = (Pooling::Mean, Precision::F32);
            let recipes = [
                Recipe {
                    view,
                    pooling: names,
                    index: floats,
                    encoder: floats,
                    hnsw: false,
                    tokens: false,
                    detector: false,
                },
                Recipe {
                    view: both,
                    pooling: Pooling::Mention,
                    index: Precision::Int8,
                    encoder: floats,
                    hnsw: true,
                    tokens: true,
                    detector: false,
                },
                Recipe {
                    view,
                    pooling: Pooling::Cls,
                    index: Precision::Int4,
                    encoder: Precision::Int8,
                    hnsw: false,
                    tokens: false,
                    detector: false,
                },
                Recipe {
                    view,
                    pooling: names,
                    index: Precision::Int8,
                    encoder: Precision::Int8,
                    hnsw: false,
                    tokens: false,
                    detector: true,
                },
            ];
            recipes.iter().map(Self::new).collect()
        })
    }

    fn new(recipe: &Recipe) -> Self {
        let mut parts = Parts::default();
        let SmallEncoder {
            config,
            weights,
            tokens,
            ..
        } = small_encoder();
        for (name, bytes) in [
            (names::CONFIG, config),
            (names::TOKENIZER, &small_tokenizer()),
        ] {
            parts.0.insert(name.into(), bytes.clone().into());
        }
        let weights = match recipe.encoder {
            Precision::Int8 => {
                let config = BertConfig::from_bytes(config).expect("it is whole");
                quantise(&config, weights).expect("they are whole").into()
            }
            _ => weights.clone(),
        };
        parts.0.insert(names::WEIGHTS.into(), weights);
        if recipe.detector {
            let fields = BertConfig::from_bytes(config).expect("it is whole");
            let weights = quantise_layers(&fields, &small_detector().1).expect("they are whole");
            for (name, bytes) in [
                (names::DETECTOR_CONFIG, config.clone()),
                (names::DETECTOR_WEIGHTS, weights),
            ] {
                parts.0.insert(name.into(), bytes.into());
            }
        }
        let reduction = Reduction {
            pooling: recipe.pooling,
            score: Similarity::Cosine,
        };
        let info = serde_json::from_value(
            json!({"name": "tiny", "licence": "MIT", "tied": true, "reduction": reduction,
            "precision": recipe.encoder}),
        )
        .expect("what every manifest has");
        let encoder = parts
            .encoder(tokens, &info, &Device::flex())
            .expect("it fits together");
        let (mut kb, mut rows, mut of) = (KnowledgeBase::new(), Vec::new(), Vec::new());
        for concept in concepts() {
            let id = kb.push(concept.clone()).expect("the ids are unique");
            let encoded = recipe
                .view
                .rows(tokens, &concept)
                .expect("the tokenizer has the markers");
            of.extend(encoded.iter().map(|_| id));
            rows.extend(encoded);
        }
        let scorer = if recipe.tokens {
            Scorer::SumOfMax
        } else {
            Scorer::Dual
        };
        let vectors = encoder
            .encode_for(scorer, Side::Entity, &rows.iter().collect::<Vec<_>>())
            .expect("they fit");
        let index = IndexInfo {
            hnsw: recipe.hnsw.then(HnswOptions::default),
            ..IndexInfo::exact(rows.len(), encoder.dim(), recipe.index, Similarity::Cosine)
        };
        let token_vectors = vectors
            .tokens
            .as_ref()
            .map(|tokens| store(&encoder, &of, tokens, &mut parts));
        parts.0.insert(
            names::INDEX.into(),
            Index::build(&vectors.pooled, &of, &index)
                .expect("they fit")
                .into(),
        );
        parts.0.insert(
            names::CONCEPTS.into(),
            ConceptTable::build(&kb)
                .expect("they can be encoded")
                .into(),
        );
        parts.0.insert(
            names::DICTIONARY.into(),
            Dictionary::build(kb.iter())
                .expect("they can be encoded")
                .into(),
        );
        parts
            .0
            .insert(names::LICENCES.into(), Bytes::from_static(b"none"));
        let mut manifest = json!({
            "format": OLDEST_FORMAT, "digest": "", "written_by": "pel-fuzzed", "encoder": info,
            "kb": {"name": "test", "concepts": kb.len(), "names": rows.len(), "blake3": "",
                "licences": []},
            "view": recipe.view, "index": index,
            "nil": {"threshold": 0.5, "calibrated_on": null},
            "files": parts.file_infos(),
        });
        if let Some(info) = token_vectors {
            manifest["token_vectors"] = info;
        }
        if recipe.detector {
            manifest["detector"] = json!(small_detector().0);
        }
        let manifest = Manifest::edited(manifest.to_string().as_bytes()).expect("it is whole");
        let json = manifest.sealed().expect("it can be encoded").1;
        parts.0.insert(names::MANIFEST.into(), json.into());
        let bundle = Bundle::read(parts.clone())
            .unwrap_or_else(|error| panic!("the bundle is not sound: {error}"));
        Self {
            parts,
            linker: Linker::new(bundle, &Device::flex()).expect("its encoder fits"),
        }
    }
}

/// Adds token vectors to the files and returns their description for the manifest.
fn store(encoder: &Encoder, of: &[ConceptId], tokens: &[Vec<f32>], parts: &mut Parts) -> Value {
    let mut store = TokenStoreBuilder::new(encoder.dim());
    for (concept, tokens) in of.iter().zip(tokens) {
        store.push(*concept, tokens);
    }
    let bytes = Bytes::from(store.finish().expect("it can be written"));
    let info = json!(
        TokenStore::from_bytes(&bytes, Check::Checksums)
            .expect("it can be read")
            .info()
    );
    parts.0.insert(names::TOKEN_VECTORS.into(), bytes);
    info
}

/// An encoder with small files, so that a fuzzer changes relevant bytes more often.
pub struct SmallEncoder {
    /// `config.json`
    pub config: Vec<u8>,
    /// `model.safetensors`
    pub weights: Bytes,
    /// Its tokenizer.
    pub tokens: Tokens,
    /// Pooling and similarity.
    pub reduction: Reduction,
}

const HIDDEN: usize = 4;
const INNER: usize = 8;
const POSITIONS: usize = 24;
const WORDS: [&str; 16] = [
    "[PAD]",
    "[unused0]",
    "[unused1]",
    "[unused2]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "fever",
    "chest",
    "pain",
    "##s",
    "cold",
    "d",
    "##m",
    "a",
];

/// The small encoder.
pub fn small_encoder() -> &'static SmallEncoder {
    static SMALL: OnceLock<SmallEncoder> = OnceLock::new();
    SMALL.get_or_init(|| {
        let config = json!({"vocab_size": WORDS.len(), "hidden_size": HIDDEN,
            "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": INNER,
            "max_position_embeddings": POSITIONS});
        SmallEncoder {
            config: config.to_string().into_bytes(),
            weights: small_weights().into(),
            tokens: Tokens::from_bytes(&small_tokenizer()).expect("it has the special tokens"),
            reduction: Reduction {
                pooling: Pooling::Mean,
                score: Similarity::Cosine,
            },
        }
    })
}

impl SmallEncoder {
    /// A sequence.
    pub fn row(&self) -> Encoded {
        Encoded::whole(vec![5, 8, 11, 6], Cut::default())
    }
}

/// The tokenizer file of the small encoder.
pub fn small_tokenizer() -> Vec<u8> {
    let mut tokenizer: Value = serde_json::from_slice(TOKENIZER).expect("JSON");
    let numbered = WORDS.iter().enumerate();
    tokenizer["model"]["vocab"] = numbered
        .map(|(id, word)| ((*word).to_owned(), json!(id)))
        .collect();
    if let Some(added) = tokenizer["added_tokens"].as_array_mut() {
        added.retain(|token| WORDS.iter().any(|word| token["content"] == *word));
        for token in added {
            token["id"] = json!(WORDS.iter().position(|word| token["content"] == *word));
        }
    }
    if let Some(post) = tokenizer.get_mut("post_processor") {
        *post = Value::Null;
    }
    tokenizer.to_string().into_bytes()
}

/// A detector with the configuration and the embeddings of the small encoder: its description and
/// its weights.
pub fn small_detector() -> &'static (DetectorInfo, Bytes) {
    static SMALL: OnceLock<(DetectorInfo, Bytes)> = OnceLock::new();
    SMALL.get_or_init(|| {
        let scheme = |name: &str, labels: &[&str], threshold: f32| Scheme {
            name: name.into(),
            labels: labels.iter().map(|label| (*label).into()).collect(),
            threshold,
        };
        let info = DetectorInfo {
            name: "tiny".into(),
            licence: "MIT".into(),
            schemes: vec![
                scheme("clinical", &["problem", "drug"], 0.875),
                scheme("abstracts", &["Finding"], 0.5),
            ],
            window: 16,
            overlap: 4,
            words: 4,
            width: 3,
            rank: 2,
        };
        let (width, rank, labels) = (info.width, info.rank, info.labels());
        let mut shapes = Vec::new();
        layer_shapes(&mut shapes);
        for (linear, outputs, inputs) in [
            ("input", width, HIDDEN),
            ("start", rank, width),
            ("end", rank, width),
            ("first", labels, width),
            ("last", labels, width),
            ("inside", labels, width),
        ] {
            shapes.push((format!("head.{linear}.weight"), vec![outputs, inputs]));
            shapes.push((format!("head.{linear}.bias"), vec![outputs]));
        }
        for (table, rows, width) in [
            ("marks", MARKS, width),
            ("shapes", SHAPES, width),
            ("pair", labels, rank),
            ("lengths", info.words, labels),
            ("matches", MATCHES, labels),
        ] {
            shapes.push((format!("head.{table}.weight"), vec![rows, width]));
        }
        let weights = weights_file(&shapes).into();
        (info, weights)
    })
}

/// The name and shape of a tensor.
type Shape = (String, Vec<usize>);

/// The weights file of the small encoder.
fn small_weights() -> Vec<u8> {
    let mut shapes: Vec<Shape> = Vec::new();
    for (table, rows) in [
        ("word", WORDS.len()),
        ("position", POSITIONS),
        ("token_type", 2),
    ] {
        shapes.push((
            format!("embeddings.{table}_embeddings.weight"),
            vec![rows, HIDDEN],
        ));
    }
    norm_shapes(&mut shapes, "embeddings");
    layer_shapes(&mut shapes);
    weights_file(&shapes)
}

fn norm_shapes(shapes: &mut Vec<Shape>, name: &str) {
    for part in ["weight", "bias"] {
        shapes.push((format!("{name}.LayerNorm.{part}"), vec![HIDDEN]));
    }
}

/// The tensors of the only layer.
fn layer_shapes(shapes: &mut Vec<Shape>) {
    let layer = "encoder.layer.0";
    for norm in ["attention.output", "output"] {
        norm_shapes(shapes, &format!("{layer}.{norm}"));
    }
    for (linear, outputs, inputs) in [
        ("attention.self.query", HIDDEN, HIDDEN),
        ("attention.self.key", HIDDEN, HIDDEN),
        ("attention.self.value", HIDDEN, HIDDEN),
        ("attention.output.dense", HIDDEN, HIDDEN),
        ("intermediate.dense", INNER, HIDDEN),
        ("output.dense", HIDDEN, INNER),
    ] {
        shapes.push((format!("{layer}.{linear}.weight"), vec![outputs, inputs]));
        shapes.push((format!("{layer}.{linear}.bias"), vec![outputs]));
    }
}

/// A weights file with tensors of these shapes.
fn weights_file(shapes: &[Shape]) -> Vec<u8> {
    let bodies: Vec<Vec<u8>> = shapes
        .iter()
        .map(|(_, shape)| {
            let count = shape.iter().product::<usize>();
            (0..count)
                .flat_map(|at| ((at % 7) as f32 / 7.0 - 0.4).to_le_bytes())
                .collect()
        })
        .collect();
    let views = shapes.iter().zip(&bodies).map(|((name, shape), body)| {
        (
            name.as_str(),
            TensorView::new(Dtype::F32, shape.clone(), body).expect("sizes agree"),
        )
    });
    serialize(views, None).expect("it can be written")
}
