//! Finds mentions with an encoder: a transformer over windows of the text, and a head that scores
//! spans of words.
//!
//! ```text
//! words ── windows ── encoder ──┬── head ── probabilities of spans ── mentions without overlap
//!   └───── features ────────────┘
//! ```
//!
//! The head scores every span of at most [`DetectorInfo::words`] words, for each label: a low-rank
//! product of its first and last word, as in the biaffine model of Yu et al. (2020), linear terms
//! for the first word, the last word and the mean of all, its length, and whether it is a name of
//! the knowledge base. A label's probability is the logistic function of its score.
//!
//! The encoder shares the embeddings of the bundle's mention tower and has layers of its own.
//!
//! Each kind of corpus has its own set of labels. Labels have a sigmoid each, not one softmax: a
//! corpus that lacks a label leaves it out of the loss. The threshold is compared with the sum over
//! the labels of a set. Tags of words (BIO) would give no probability of a span.
//!
//! Names of the knowledge base are a feature and not a rule. Training leaves them out of a share of
//! the windows, so that the detector also finds what the knowledge base lacks.

pub mod decode;
pub mod features;
mod head;
mod info;
mod windows;

pub use decode::ScoredSpan;
pub use features::Features;
pub(crate) use head::names;
pub use info::{DetectorInfo, Scheme};
pub use windows::{Window, windows};

use crate::config::BertConfig;
use crate::cpu::{Encoder, Sequence};
use crate::tokens::{Encoded, Tokens, Words};
use crate::weights::Weights;
use bytes::Bytes;
use head::{Head, Input};
use pel_kb::error::{Context, Error, Result};

/// A detector on the processor.
#[derive(Debug)]
pub struct Detector {
    info: DetectorInfo,
    encoder: Encoder,
    /// The number of tokens that the encoder knows.
    vocabulary: usize,
    head: Head,
}

/// What [`Detector::spans_in`] looks for in a text.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// The words of the text.
    pub words: &'a Words,
    /// Their features.
    pub features: &'a Features,
    /// The position of the scheme in [`DetectorInfo::schemes`].
    pub scheme: usize,
    /// The least probability of a span.
    pub threshold: f32,
}

/// Windows that are encoded at once, so that memory is bounded for long texts.
pub const BATCH: usize = 16;

impl Detector {
    /// Builds a detector.
    ///
    /// `weights` has the layers and the head. If it has no embeddings, `embeddings` must have them:
    /// the weights of the encoder with the configuration `config`.
    ///
    /// # Errors
    /// If a tensor is missing or of another shape, or the sizes are out of range. The error names
    /// it.
    pub fn from_bytes(
        info: DetectorInfo,
        config: &[u8],
        weights: &Bytes,
        embeddings: &Bytes,
    ) -> Result<Self> {
        info.check()?;
        let config = BertConfig::from_bytes(config)?;
        if info.window > config.max_position_embeddings {
            return Err(Error::artifact(format!(
                "`detector.window`: expected at most the {} tokens that the encoder reads, found \
                 {}",
                config.max_position_embeddings, info.window
            )));
        }
        let mut own = Weights::within(weights)?;
        let encoder = if own.has(EMBEDDINGS) {
            Encoder::from_weights(&config, &mut own)?
        } else {
            let mut shared = Weights::within(embeddings)?;
            Encoder::with_embeddings_of(&config, &mut shared, &mut own)
                .context(|| "the detector".into())?
        };
        let head = Head::take(&mut own, &info, config.hidden_size)?;
        own.finish()?;
        Ok(Self {
            info,
            encoder,
            vocabulary: config.vocab_size,
            head,
        })
    }

    /// The description.
    pub fn info(&self) -> &DetectorInfo {
        &self.info
    }

    /// Checks that the encoder knows the tokens of a text.
    ///
    /// # Errors
    /// If it does not, because the tokenizer is of another encoder.
    pub fn check_tokens(&self, tokens: &Tokens, words: &Words) -> Result<()> {
        let special = [tokens.cls(), tokens.sep()];
        let mut all = words.pieces.iter().chain(&special);
        match all.find(|id| **id as usize >= self.vocabulary) {
            None => Ok(()),
            Some(id) => Err(Error::artifact(format!(
                "the tokenizer gives token {id}, the detector has {}: they belong to different \
                 models",
                self.vocabulary
            ))),
        }
    }

    /// The token sequences of a text's windows.
    pub fn rows(&self, tokens: &Tokens, words: &Words, windows: &[Window]) -> Vec<Encoded> {
        let encoded = |window: &Window| window.encoded(&self.info, words, tokens);
        windows.iter().map(encoded).collect()
    }

    /// The windows of a text.
    pub fn windows(&self, words: &Words) -> Vec<Window> {
        windows(&self.info, words)
    }

    /// The last layer for the token sequences of windows. [`Detector::spans_in`] reads it.
    ///
    /// # Shapes
    /// -> `[seq, hidden]` of each sequence
    ///
    /// # Panics
    /// If [`Detector::check_tokens`] fails for their text.
    pub fn last_layer(&self, rows: &[Encoded]) -> Vec<Vec<f32>> {
        self.forward(rows, |_, hidden| hidden.to_vec())
    }

    /// The probabilities of all spans of a text that reach `threshold` for a scheme.
    ///
    /// # Panics
    /// If the scheme does not exist, the features are of other words, or
    /// [`Detector::check_tokens`] fails.
    pub fn spans(
        &self,
        tokens: &Tokens,
        words: &Words,
        features: &Features,
        scheme: usize,
        threshold: f32,
    ) -> Vec<ScoredSpan> {
        let reading = Reading {
            words,
            features,
            scheme,
            threshold,
        };
        let windows = self.windows(words);
        self.spans_of(&reading, &windows, &self.rows(tokens, words, &windows))
    }

    /// As [`Detector::spans`], of windows and their token sequences.
    ///
    /// # Panics
    /// As [`Detector::spans`].
    pub fn spans_of(
        &self,
        reading: &Reading<'_>,
        windows: &[Window],
        rows: &[Encoded],
    ) -> Vec<ScoredSpan> {
        let mut found = Vec::new();
        for (windows, rows) in windows.chunks(BATCH).zip(rows.chunks(BATCH)) {
            let spans = self.forward(rows, |at, hidden| {
                self.spans_in(reading, &windows[at], hidden)
            });
            found.extend(spans.into_iter().flatten());
        }
        found
    }

    /// The probabilities of the spans that begin in a window's own words and reach the threshold.
    ///
    /// # Shapes
    /// hidden `[seq, hidden]`, from [`Detector::last_layer`] for this window
    ///
    /// # Panics
    /// As [`Detector::spans`], or if the values are not those of the window.
    pub fn spans_in(
        &self,
        reading: &Reading<'_>,
        window: &Window,
        hidden: &[f32],
    ) -> Vec<ScoredSpan> {
        let ends = window.ends(&self.info, reading.words);
        let input = Input {
            window,
            ends: &ends,
            features: reading.features,
        };
        let mut spans = Vec::new();
        let take = |first, last, logits: &[f32]| {
            let (label, probability) = best(logits);
            if probability >= reading.threshold {
                spans.push(ScoredSpan {
                    first,
                    last,
                    label,
                    probability,
                });
            }
        };
        let columns = self.info.columns(reading.scheme);
        let width = self.encoder.hidden();
        self.head.spans(hidden, width, &input, columns, take);
        spans
    }

    /// The values of one token in [`Detector::last_layer`].
    pub fn width(&self) -> usize {
        self.encoder.hidden()
    }

    /// Runs the encoder and calls `take` with the position of each row and its last layer.
    fn forward<R: Send>(
        &self,
        rows: &[Encoded],
        take: impl Fn(usize, &[f32]) -> R + Sync,
    ) -> Vec<R> {
        let segments: Vec<Vec<u32>> = rows.iter().map(|row| row.segments().collect()).collect();
        let own: Vec<_> = (0..rows.len()).map(|at| at..at + 1).collect();
        // The place of a row travels in its `own` range.
        let sequences: Vec<Sequence<'_>> = rows
            .iter()
            .zip(&segments)
            .zip(&own)
            .map(|((row, segments), own)| Sequence {
                ids: &row.ids,
                segments,
                own,
            })
            .collect();
        self.encoder.forward(&sequences, |sequence, hidden| {
            take(sequence.own.start, hidden)
        })
    }
}

/// A tensor that only a file with embeddings has.
const EMBEDDINGS: &str = "embeddings.word_embeddings.weight";

/// The most probable label, and the probability of any: labels exclude each other, so their
/// probabilities are added. 0 if a logit is not a number, because weights near the largest float
/// overflow.
fn best(logits: &[f32]) -> (usize, f32) {
    let (mut label, mut sum) = (0, 0.0);
    for (at, logit) in logits.iter().enumerate() {
        if *logit > logits[label] {
            label = at;
        }
        sum += 1.0 / (1.0 + (-logit).exp());
    }
    (label, if sum.is_nan() { 0.0 } else { sum.min(1.0) })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two schemes with three labels, windows of 16 tokens, mentions of at most 4 words.
    pub(crate) fn info() -> DetectorInfo {
        let scheme = |name: &str, labels: &[&str]| Scheme {
            name: name.to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            threshold: 0.5,
        };
        DetectorInfo {
            name: "test".into(),
            licence: "CC0-1.0".into(),
            schemes: vec![
                scheme("clinical", &["problem", "drug"]),
                scheme("abstracts", &["Finding"]),
            ],
            window: 16,
            overlap: 4,
            words: 4,
            width: 8,
            rank: 5,
        }
    }

    #[test]
    fn probabilities_of_labels_are_added() {
        let (label, probability) = best(&[0.0, 1.0, -20.0]);
        assert_eq!(label, 1);
        assert!((probability - 1.0).abs() < 1e-6, "{probability}");
        let (label, probability) = best(&[-1.0, -2.0]);
        assert_eq!(label, 0);
        assert!((probability - (0.268_941 + 0.119_203)).abs() < 1e-5);
        assert_eq!(best(&[1.0, f32::NAN]), (0, 0.0));
        assert_eq!(best(&[f32::NEG_INFINITY, f32::INFINITY]), (1, 1.0));
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        let refused = |change: fn(&mut DetectorInfo)| {
            let mut info = info();
            change(&mut info);
            info.check().expect_err("out of range").to_string()
        };
        assert!(info().check().is_ok());
        assert!(refused(|info| info.window = 8).contains("`detector.window`"));
        assert!(refused(|info| info.overlap = 8).contains("`detector.overlap`"));
        assert!(refused(|info| info.rank = 0).contains("`detector.rank`"));
        assert!(refused(|info| info.schemes.clear()).contains("`detector.schemes`"));
        assert!(refused(|info| info.schemes[0].threshold = f32::NAN).contains("threshold"));
    }
}
