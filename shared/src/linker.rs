//! The whole road from text and spans to links.
//!
//! ```text
//! let prepared = linker.prepare(text, linker.detect(text, &options))?;   steps 0 to 2
//! let vectors = linker.encode(&prepared)?;                               steps 3 and 4
//! let links = linker.finish(&prepared, &vectors, &options);              steps 5 to 7
//! ```
//!
//! Several texts go together faster: [`Prepared::join`] makes one of them, and [`Linker::finish`] gives their links one after
//! the other.

use crate::biencoder::Side;
use crate::bundle::{Bundle, View};
use crate::detect::{DetectOptions, Detected, Origin};
use crate::encoder::Encoder;
use crate::error::Result;
use crate::index::best_per_concept;
use crate::kb::ConceptId;
use crate::nil::{Decision, NilPolicy, NilReason};
use crate::score::{Candidate, Score};
use crate::text::Span;
use crate::tokens::{Cut, Encoded, MentionTemplate};
use burn::tensor::Device;
use std::collections::HashMap;

/// A bundle with its encoder on a device.
pub struct Linker {
    bundle: Bundle,
    encoder: Encoder,
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
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self { k: 5, threshold: None, detect: DetectOptions::default() }
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
}

struct PreparedMention {
    detected: Detected,
    /// Its token sequence; nothing if nothing is left of it after normalising.
    sequence: Option<usize>,
    /// The concepts that have its text as a name, up to spelling.
    named: Vec<ConceptId>,
}

/// Different token sequences, numbered as they come.
#[derive(Default)]
struct Numbered(HashMap<Encoded, usize>);

impl Numbered {
    fn number(&mut self, encoded: Encoded) -> usize {
        let next = self.0.len();
        *self.0.entry(encoded).or_insert(next)
    }

    fn in_order(self) -> Vec<Encoded> {
        let mut sequences: Vec<(Encoded, usize)> = self.0.into_iter().collect();
        sequences.sort_unstable_by_key(|(_, at)| *at);
        sequences.into_iter().map(|(encoded, _)| encoded).collect()
    }
}

impl Prepared {
    /// Joins the mentions of several texts; sequences that occur in more than one are encoded once.
    pub fn join(texts: impl IntoIterator<Item = Prepared>) -> Self {
        let (mut numbered, mut mentions) = (Numbered::default(), Vec::new());
        for text in texts {
            let numbers: Vec<usize> = text.sequences.into_iter().map(|encoded| numbered.number(encoded)).collect();
            mentions.extend(text.mentions.into_iter().map(|mention| {
                let sequence = mention.sequence.map(|at| numbers[at]);
                PreparedMention { sequence, ..mention }
            }));
        }
        Self { mentions, sequences: numbered.in_order() }
    }

    /// The number of mentions.
    pub fn mentions(&self) -> usize {
        self.mentions.len()
    }

    /// The different token sequences.
    pub fn sequences(&self) -> &[Encoded] {
        &self.sequences
    }
}

impl Linker {
    /// Builds the encoder of a bundle on a device.
    ///
    /// # Errors
    /// As [`Bundle::encoder`].
    pub fn new(bundle: Bundle, device: &Device) -> Result<Self> {
        let encoder = bundle.encoder(device)?;
        Ok(Self { bundle, encoder })
    }

    /// The bundle.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Scores with another mix than the bundle's ([`ViewOptions::mix`](crate::bundle::ViewOptions::mix)).
    ///
    /// # Errors
    /// As [`ViewOptions::check_mix`](crate::bundle::ViewOptions::check_mix).
    pub fn set_mix(&mut self, mix: f32) -> Result<()> {
        let view = &mut self.bundle.manifest.view;
        view.mix = mix;
        view.check_mix()?;
        self.bundle.index.set_mix(mix);
        Ok(())
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Mentions in raw text (step 0).
    pub fn detect(&self, text: &str, options: &LinkOptions) -> Vec<Detected> {
        self.bundle.detect(text, &options.detect)
    }

    /// Cuts and tokenizes mentions (steps 1 and 2).
    ///
    /// # Errors
    /// If a span cannot be cut out of the text.
    pub fn prepare(&self, text: &str, mentions: Vec<Detected>) -> Result<Prepared> {
        let view = &self.bundle.manifest.view;
        let (mut numbered, mut prepared) = (Numbered::default(), Vec::with_capacity(mentions.len()));
        let mut reader = view.reader();
        for detected in mentions {
            let mention = reader.mention(text, detected.span)?;
            let encoded = view.mention(&self.bundle.tokens, &mention)?;
            let sequence = encoded.map(|encoded| numbered.number(encoded));
            let named = self.bundle.dictionary.lookup_mention(&mention.text);
            prepared.push(PreparedMention { detected, sequence, named });
        }
        Ok(Prepared { mentions: prepared, sequences: numbered.in_order() })
    }

    /// Whether an equal name has the highest score there is: then a name that differs only in what the dictionary
    /// forgives (plural, hyphen, accent, case) gets it too.
    fn names_score_one(&self) -> bool {
        let manifest = &self.bundle.manifest;
        manifest.view.concepts != View::Template
            && manifest.view.mention_template == MentionTemplate::Bare
            && manifest.encoder.reduction.score == Score::Cosine
    }

    /// Encodes the sequences (steps 3 and 4).
    ///
    /// # Shapes
    /// -> `[sequences, dim]`
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn encode(&self, prepared: &Prepared) -> Result<Vec<f32>> {
        self.encoder.encode(Side::Mention, &prepared.sequences.iter().collect::<Vec<_>>())
    }

    /// Searches and decides (steps 5 to 7).
    ///
    /// # Shapes
    /// vectors `[sequences, dim]` -> a link for each mention
    ///
    /// # Panics
    /// If the vectors are not those of the sequences.
    pub fn finish(&self, prepared: &Prepared, vectors: &[f32], options: &LinkOptions) -> Vec<Link> {
        let (count, dim) = (prepared.sequences.len(), self.bundle.index.info().dim);
        assert_eq!(vectors.len(), count * dim, "a vector of {dim} values for each of {count} sequences");
        let candidates = self.bundle.index.search(vectors, options.k.max(1));
        let nil = &self.bundle.manifest.nil;
        let policy = NilPolicy { threshold: options.threshold.or(nil.threshold), calibrated_on: None };
        let link = |mention: &PreparedMention| {
            let (span, origin) = (mention.detected.span, mention.detected.origin);
            let Some(at) = mention.sequence else {
                let decision = Decision::Nil { reason: NilReason::EmptyMention, best: None };
                return Link { span, origin, decision, candidates: Vec::new(), cut: Cut::default() };
            };
            let mut all = candidates[at].clone();
            if self.names_score_one() {
                all.extend(mention.named.iter().map(|concept| Candidate { concept: *concept, score: 1.0 }));
            }
            let candidates = best_per_concept(all, options.k.max(1));
            let decision = match options.threshold {
                // Who sets a threshold means it.
                Some(_) => policy.decide(&candidates),
                None => policy.decide_named(&candidates, &mention.named),
            };
            Link { span, origin, decision, candidates, cut: prepared.sequences[at].cut }
        };
        prepared.mentions.iter().map(link).collect()
    }
}
