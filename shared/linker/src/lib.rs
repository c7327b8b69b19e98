//! PEL links mentions in clinical notes to the concepts of a knowledge base.
//!
//! The crate is pure and synchronous: it uses no files, clock, network or async code, and it
//! compiles to WebAssembly. Papers: the bi-encoder and the cross-encoder are those of BLINK (Wu et
//! al., 2020), Sum-of-Max and the learned transformation those of T-Biencoder, the proxy loss and
//! FGSM those of PEL.
//!
//! # Pipeline
//!
//! | step | value | where |
//! | --- | --- | --- |
//! | detect | text to mentions | [`Linker::detect`], [`text::detect`] |
//! | cut | [`Mention`] | [`Mention::cut`], [`text::abbreviations`] |
//! | tokenize | [`Encoded`](model::tokens::Encoded) | [`ViewOptions::mention`] |
//! | encode | vectors | [`Encoder`](model::encode::Encoder) |
//! | search | [`Candidate`]s | [`Index::search`](index::Index::search), [`TokenStore`](index::TokenStore) |
//! | decide | [`Decision`] | [`NilPolicy::decide`] |
//! | output | JSON, CSV, BRAT, PubTator, HTML, FHIR, OMOP, BioC, spaCy, UIMA | `Note::write` of `pel-output` |
//!
//! A [`Bundle`] has all that linking needs: encoder, tokenizer, index, concepts, names and NIL
//! policy. A [`Linker`] is a bundle with its encoder on a [`Device`]. [`Device::flex`] is the CPU.
//!
//! # Link a note
//!
//! [`Parts::from_one_file`] reads the one file of a bundle (`pel pack`). This example builds a
//! bundle instead.
//!
//! ```
//! # use pel_linker::bundle::names;
//! # use pel_linker::{Bundle, BundleBuilder, Bytes, Concept, KnowledgeBase, Parts};
//! # let mut kb = KnowledgeBase::new();
//! # for (id, name) in [("D1", "fever"), ("D2", "cough")] {
//! #     kb.push(Concept { id: id.into(), name: name.into(), ..Concept::default() })?;
//! # }
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/tiny");
//! # let mut files = Parts::default();
//! # for name in [names::CONFIG, names::WEIGHTS, names::TOKENIZER] {
//! #     files.0.insert(name.into(), std::fs::read(format!("{folder}/{name}"))?.into());
//! # }
//! # let bundle = BundleBuilder::new(kb, files).build(&burn::tensor::Device::flex())?;
//! # let bytes = Bytes::from(bundle.parts().to_one_file()?);
//! use pel_linker::{Decision, Device, LinkOptions, Linker};
//!
//! let bundle = Bundle::read(Parts::from_one_file(&bytes)?)?;
//! let linker = Linker::new(bundle, &Device::flex())?;
//! let text = "Fever since Monday, no cough.";
//! for link in linker.link_with(text, &LinkOptions::default().k(3))? {
//!     match link.decision {
//!         Decision::Linked { best } => println!("{}: {}", link.span.of(text)?, linker.concept(best.concept)?.id),
//!         Decision::Nil { reason, .. } => println!("{}: NIL, {}", link.span.of(text)?, reason.words()),
//!     }
//! }
//! # assert_eq!(linker.link(text)?.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Index a table of concepts
//!
//! The encoder is a folder of Hugging Face files with a BERT model.
//!
//! ```
//! use pel_linker::bundle::names;
//! use pel_linker::{BundleBuilder, Concept, Device, KnowledgeBase, Parts};
//!
//! let table = r#"{"id": "D1", "name": "fever", "synonyms": ["pyrexia"], "types": ["Sign"]}
//! {"id": "D2", "name": "diabetes mellitus", "definition": "A disease of the metabolism."}"#;
//! let mut kb = KnowledgeBase::new();
//! for line in table.lines() {
//!     kb.push(serde_json::from_str::<Concept>(line)?)?;
//! }
//! let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/tiny");
//! let mut files = Parts::default();
//! for name in [names::CONFIG, names::WEIGHTS, names::TOKENIZER] {
//!     files.0.insert(name.into(), std::fs::read(format!("{folder}/{name}"))?.into());
//! }
//! let bundle = BundleBuilder::new(kb, files).build(&Device::flex())?;
//! let bytes: Vec<u8> = bundle.parts().to_one_file()?;
//! # assert_eq!((bundle.concepts.len(), bundle.index.info().rows), (2, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Evaluate links
//!
//! [`index::metrics`] has recall, NIL precision and recall, and bootstrap intervals.
//!
//! ```
//! # use pel_linker::bundle::names;
//! # use pel_linker::{BundleBuilder, Concept, Device, KnowledgeBase, LinkOptions, Linker, Parts};
//! # let mut kb = KnowledgeBase::new();
//! # for (id, name) in [("D1", "fever"), ("D2", "cough"), ("D3", "chest pain")] {
//! #     kb.push(Concept { id: id.into(), name: name.into(), ..Concept::default() })?;
//! # }
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/tiny");
//! # let mut files = Parts::default();
//! # for name in [names::CONFIG, names::WEIGHTS, names::TOKENIZER] {
//! #     files.0.insert(name.into(), std::fs::read(format!("{folder}/{name}"))?.into());
//! # }
//! # let linker = Linker::new(BundleBuilder::new(kb, files).build(&Device::flex())?, &Device::flex())?;
//! use pel_linker::Span;
//! use pel_linker::index::metrics::{Share, pooled_with_interval};
//! use pel_linker::{Detected, Origin};
//!
//! let gold = [("Severe cough.", 7..12, "D2"), ("Chest pain at night.", 0..10, "D3"), ("No fever.", 3..8, "D1")];
//! let mut hits = Vec::new();
//! for (document, (text, span, id)) in gold.into_iter().enumerate() {
//!     let mention = Detected::new(Span::new(span.start, span.end), Origin::Given);
//!     let links = linker.link_mentions(text, vec![mention], &LinkOptions::default())?;
//!     let best = links[0].candidates.first().map(|candidate| candidate.concept);
//!     hits.push((document, best == linker.find(id)?));
//! }
//! let (recall, interval) = pooled_with_interval(hits, 1000, 0);
//! println!("recall@1 {:?}, 95 % interval {interval:?}, n = {}", recall.value(), recall.of);
//! # assert_eq!(recall, Share { hits: 3, of: 3 });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Train a step
//!
//! Gradients and Burn's optimisers need the feature `autodiff`. The step uses in-batch negatives:
//! the entities of the other mentions.
#![cfg_attr(feature = "autodiff", doc = "```")]
#![cfg_attr(not(feature = "autodiff"), doc = "```ignore")]
//! # use bytes::Bytes;
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/tiny");
//! # let read = |name: &str| std::fs::read(format!("{folder}/{name}")).map(Bytes::from);
//! # let (config, weights, tokenizer) = (read("config.json")?, read("model.safetensors")?, read("tokenizer.json")?);
//! use burn::optim::{AdamWConfig, GradientsParams};
//! use burn::tensor::Tensor;
//! use pel_linker::model::losses::objectives::{Proxy, Targets, proxy};
//! use pel_linker::model::burn::biencoder::{BiEncoder, Tower};
//! use pel_linker::model::tower::{Pooling, Reduction, Side, TowerBytes};
//! use pel_linker::model::tokens::{Encoded, Tokens};
//! use pel_linker::{Device, Result, Similarity};
//!
//! let device = Device::flex().autodiff();
//! let tokens = Tokens::from_bytes(&tokenizer)?;
//! let files = TowerBytes { config: &config, weights: &weights, projection: None };
//! let mut model = BiEncoder::new(Tower::from_bytes(files, &tokens, &device)?, None)?;
//! let reduction = Reduction { pooling: Pooling::Mean, score: Similarity::Cosine };
//! let encode = |model: &BiEncoder, side, texts: [&str; 2]| -> Result<Tensor<2>> {
//!     let rows = texts.iter().filter_map(|text| tokens.name(text, 32).transpose()).collect::<Result<Vec<Encoded>>>()?;
//!     Ok(model.tower(side).forward(&tokens.batch(&rows.iter().collect::<Vec<_>>()), reduction, &device))
//! };
//! let positive = Tensor::<2>::from_floats([[1.0, 0.0], [0.0, 1.0]], &device);
//! let targets = Targets { negative: 1.0 - positive.clone(), positive };
//! let loss = |model: &BiEncoder| -> Result<Tensor<1>> {
//!     let mentions = encode(model, Side::Mention, ["high temperature", "coughing"])?; // [2, dim]
//!     let entities = encode(model, Side::Entity, ["fever", "cough"])?; // [2, dim]
//!     Ok(proxy(mentions.matmul(entities.transpose()), &targets, Proxy::default()).mean())
//! };
//! let before = loss(&model)?;
//! let gradients = GradientsParams::from_grads(before.backward(), &model);
//! model = AdamWConfig::new().init().step(1e-3, model, gradients);
//! # let [before, after] = [before, loss(&model)?].map(|loss| loss.into_scalar::<f32>());
//! # assert!(after < before, "{before} {after}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod added;
mod additions;
pub mod bundle;
mod candidates;
mod context;
mod decide;
mod detect;
mod explain;
mod kinds;
mod link;
mod linker;
mod normalise;
#[cfg(feature = "fs")]
mod open;
mod options;
mod prepared;
mod rerank;
mod settings;
mod sources;
mod step;
mod steps;

/// The tensor library, for its modules, optimisers and tensors.
pub use burn;

/// The crates below, so that a program needs to name this one alone.
pub use {
    pel_index as index, pel_kb as kb, pel_kernels as kernels, pel_model as model, pel_text as text,
};

pub use burn::tensor::{Device, Tensor};
pub use bytes::Bytes;

pub use added::{AddedChanges, AddedConcepts, TokenizedConcepts};
pub use bundle::{Bundle, BundleBuilder, Manifest, Parts, Queries};
pub use candidates::{Proposals, SearchedCandidates};
pub use detect::DetectorInput;
pub use explain::{CandidateTexts, MatchedText, TokenAlignment};
pub use link::Link;
pub use linker::{Linker, Settings, Steps};
pub use options::LinkOptions;
pub use pel_kb::error::{Error, Kind as ErrorKind, Result};
pub use pel_kb::score::{Candidate, Scorer, Similarity};
pub use pel_kb::{Concept, ConceptId, KnowledgeBase};
pub use pel_model::cross_encoder::Pairs;
pub use pel_model::nil::{Decision, NilPolicy, NilReason};
pub use pel_model::tokens::ViewOptions;
pub use pel_text::detect::{DetectOptions, Detected, Origin};
pub use pel_text::{Mention, Span};
pub use prepared::{Part, Prepared};
pub use sources::CandidateSource;
pub use step::Step;
pub use steps::MISSPELT;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
