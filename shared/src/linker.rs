//! The whole road from text and spans to links. Everything but the read-back of vectors, which is the caller's.
//!
//! ```text
//! let prepared = linker.prepare(text, linker.detect(text, &options), &options)?;   steps 0 to 2
//! for batch in prepared.batches() { vectors <- linker.encode(batch) }              step 3, then the caller reads back
//! let links = linker.finish(&prepared, &vectors, &options);                        steps 5 to 7
//! ```

use crate::biencoder::{BiEncoder, Side};
use crate::bundle::{Bundle, View};
use crate::detect::{DetectOptions, Detected, Origin};
use crate::error::Result;
use crate::index::best_per_concept;
use crate::kb::ConceptId;
use crate::nil::{Decision, NilPolicy, NilReason};
use crate::score::{Candidate, Score};
use crate::text::{Mention, Span};
use crate::tokens::{Cut, Encoded, MentionTemplate, TokenBatch, by_length};
use burn::tensor::{Device, Tensor};
use std::collections::HashMap;

/// A bundle with its encoder on a device.
pub struct Linker {
    bundle: Bundle,
    encoder: BiEncoder,
    device: Device,
}

/// What a caller may choose for one text.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// Candidates of a mention.
    pub k: usize,
    /// A threshold in place of the bundle's.
    pub threshold: Option<f32>,
    /// How mentions are found.
    pub detect: DetectOptions,
    /// Rows of one encoder batch.
    pub batch_rows: usize,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self { k: 5, threshold: None, detect: DetectOptions::default(), batch_rows: 32 }
    }
}

/// A mention with what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Where it stands.
    pub span: Span,
    /// Who says that it is a mention.
    pub origin: Origin,
    /// Linked or NIL.
    pub decision: Decision,
    /// The best candidates, best first.
    pub candidates: Vec<Candidate>,
    /// What did not fit into the encoder's window.
    pub cut: Cut,
}

/// Mentions on their way to the encoder; equal token sequences are encoded once.
pub struct Prepared {
    mentions: Vec<PreparedMention>,
    sequences: Vec<Encoded>,
    batches: Vec<Vec<usize>>,
}

struct PreparedMention {
    detected: Detected,
    /// Its token sequence; nothing if nothing is left of it after normalising.
    sequence: Option<usize>,
    /// The concepts that have its text as a name, up to spelling.
    named: Vec<ConceptId>,
}

impl Prepared {
    /// The sequences of each batch.
    pub fn batches(&self) -> &[Vec<usize>] {
        &self.batches
    }

    /// The number of different token sequences.
    pub fn sequences(&self) -> usize {
        self.sequences.len()
    }
}

impl Linker {
    /// Builds the encoder of a bundle on a device.
    ///
    /// # Errors
    /// As [`Bundle::encoder`].
    pub fn new(bundle: Bundle, device: Device) -> Result<Self> {
        let encoder = bundle.encoder(&device)?;
        Ok(Self { bundle, encoder, device })
    }

    /// The bundle.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// The encoder.
    pub fn encoder(&self) -> &BiEncoder {
        &self.encoder
    }

    /// Mentions in raw text (step 0).
    pub fn detect(&self, text: &str, options: &LinkOptions) -> Vec<Detected> {
        self.bundle.dictionary.detect(text, &options.detect)
    }

    /// Cuts and tokenizes mentions (steps 1 and 2).
    ///
    /// # Errors
    /// If a span cannot be cut out of the text.
    pub fn prepare(&self, text: &str, mentions: Vec<Detected>, options: &LinkOptions) -> Result<Prepared> {
        let view = &self.bundle.manifest.view;
        let mut known: HashMap<Encoded, usize> = HashMap::new();
        let mut prepared = Vec::with_capacity(mentions.len());
        for detected in mentions {
            let mention = Mention::cut(text, detected.span)?;
            let encoded = view.mention(&self.bundle.tokens, &mention)?;
            let next = known.len();
            let sequence = encoded.map(|encoded| *known.entry(encoded).or_insert(next));
            let named =
                if self.names_score_one() { self.bundle.dictionary.lookup_mention(mention.text) } else { Vec::new() };
            prepared.push(PreparedMention { detected, sequence, named });
        }
        let mut sequences: Vec<(Encoded, usize)> = known.into_iter().collect();
        sequences.sort_unstable_by_key(|(_, at)| *at);
        let sequences: Vec<Encoded> = sequences.into_iter().map(|(encoded, _)| encoded).collect();
        let lengths: Vec<usize> = sequences.iter().map(|encoded| encoded.ids.len()).collect();
        let batches = by_length(&lengths, options.batch_rows.max(1), usize::MAX);
        Ok(Prepared { mentions: prepared, sequences, batches })
    }

    /// Whether an equal name has the highest score there is: then a name that differs only in what the dictionary
    /// forgives (plural, hyphen, accent, case) gets it too.
    fn names_score_one(&self) -> bool {
        let manifest = &self.bundle.manifest;
        manifest.view.concepts != View::Template
            && manifest.view.mention_template == MentionTemplate::Bare
            && manifest.encoder.reduction.score == Score::Cosine
    }

    /// The token sequences of a text's mentions.
    pub fn sequences<'a>(&self, prepared: &'a Prepared) -> &'a [Encoded] {
        &prepared.sequences
    }

    /// The token batch of one batch of sequences.
    pub fn token_batch(&self, prepared: &Prepared, batch: &[usize]) -> TokenBatch {
        let rows: Vec<&Encoded> = batch.iter().map(|at| &prepared.sequences[*at]).collect();
        self.bundle.tokens.batch(&rows)
    }

    /// Encodes one batch (step 3); the caller reads the vectors back.
    ///
    /// # Shapes
    /// -> `[batch, dim]` on the device
    pub fn encode(&self, prepared: &Prepared, batch: &[usize]) -> Tensor<2> {
        let tokens = self.token_batch(prepared, batch);
        let reduction = self.bundle.manifest.encoder.reduction;
        self.encoder.tower(Side::Mention).forward(&tokens, reduction, &self.device)
    }

    /// Searches and decides (steps 5 to 7).
    ///
    /// # Shapes
    /// vectors: for each batch the values that were read back, `[batch, dim]`
    ///
    /// # Panics
    /// If the vectors are not those of the batches.
    pub fn finish(&self, prepared: &Prepared, vectors: &[Vec<f32>], options: &LinkOptions) -> Vec<Link> {
        let dim = self.bundle.index.info().dim;
        let mut candidates = vec![Vec::new(); prepared.sequences.len()];
        assert_eq!(vectors.len(), prepared.batches.len(), "one read-back for each batch");
        for (batch, vectors) in prepared.batches.iter().zip(vectors) {
            assert_eq!(vectors.len(), batch.len() * dim, "a vector of {dim} values for each sequence");
            for (at, found) in batch.iter().zip(self.bundle.index.search(vectors, options.k.max(1))) {
                candidates[*at] = found;
            }
        }
        let nil = &self.bundle.manifest.nil;
        let policy = NilPolicy { threshold: options.threshold.or(nil.threshold), calibrated_on: None };
        let link = |mention: &PreparedMention| {
            let (span, origin) = (mention.detected.span, mention.detected.origin);
            let Some(at) = mention.sequence else {
                let decision = Decision::Nil { reason: NilReason::EmptyMention, best: None };
                return Link { span, origin, decision, candidates: Vec::new(), cut: Cut::default() };
            };
            let named = mention.named.iter().map(|concept| Candidate { concept: *concept, score: 1.0 });
            let all = named.chain(candidates[at].iter().copied()).collect();
            let candidates = best_per_concept(all, options.k.max(1));
            Link { span, origin, decision: policy.decide(&candidates), candidates, cut: prepared.sequences[at].cut }
        };
        prepared.mentions.iter().map(link).collect()
    }
}
