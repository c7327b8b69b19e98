//! Micro-batches of windows: what the model reads, and what it should answer.

use super::corpora::{AnnotatedText, Corpora, Example};
use crate::train::config::Detect;
use crate::train::random::{Purpose, stream};
use burn::tensor::{Device, Int, Tensor, TensorData};
use pel_model::burn::bert::BertInput;
use pel_model::burn::span_head::SpanInput;
use pel_model::detector::features::SHAPES;
use pel_model::detector::{DetectorInfo, Window};
use pel_model::tokens::Tokens;
use rand::Rng;

/// A micro-batch.
pub struct SpanBatch {
    /// What the model reads.
    pub input: SpanInput,
    /// 1 for each mention's span and label, `[batch, words, lengths, labels]`.
    pub targets: Tensor<4>,
    /// 1 for spans and labels that take part in the loss, `[batch, words, lengths, labels]`.
    pub mask: Tensor<4>,
    /// The number of words of each row, `[batch]`.
    pub counts: Tensor<1>,
    /// Tokens.
    pub tokens: usize,
}

/// How a window is written in this pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    AsItIs,
    SmallLetters,
    Capitals,
}

/// What is drawn for an example.
#[derive(Clone, Copy)]
struct Drawn {
    writing: Writing,
    /// Whether the model reads which words are names.
    with_names: bool,
}

impl Drawn {
    /// Draws by the seed and the position in the run alone.
    fn new(detect: &Detect, seed: u64, position: usize) -> Self {
        let mut random = stream(seed, Purpose::Example, position as u64);
        let (written, named) = (random.random::<f64>(), random.random::<f64>());
        let writing = if written < detect.small_letters {
            Writing::SmallLetters
        } else if written < detect.small_letters + detect.capitals {
            Writing::Capitals
        } else {
            Writing::AsItIs
        };
        Self {
            writing,
            with_names: named >= detect.without_names,
        }
    }
}

/// Builds a micro-batch. What is drawn for an example depends only on the seed and on its position
/// in the run.
pub fn span_batch(
    detect: &Detect,
    seed: u64,
    info: &DetectorInfo,
    tokens: &Tokens,
    corpora: &Corpora,
    examples: &[(usize, &Example)],
    device: &Device,
) -> SpanBatch {
    let words = examples
        .iter()
        .map(|(_, example)| example.window.words.len())
        .max()
        .unwrap_or(0);
    let rows: Vec<_> = examples
        .iter()
        .map(|(_, example)| {
            let text = &corpora.texts[example.text];
            example.window.encoded(info, &text.words, tokens)
        })
        .collect();
    let token_batch = tokens.batch(&rows.iter().collect::<Vec<_>>());
    let mut arrays = Arrays::new(examples.len(), words, info);
    for (row, (position, example)) in examples.iter().enumerate() {
        let drawn = Drawn::new(detect, seed, *position);
        let text = &corpora.texts[example.text];
        let ends = example.window.ends(info, &text.words);
        let covered = &corpora.covered[text.corpus].1;
        arrays.fill_ends(row, token_batch.seq, &ends);
        arrays.fill_words(row, &example.window, text, covered, drawn);
        arrays.fill_targets(row, &example.window, text);
    }
    arrays.into_batch(
        BertInput::new(&token_batch, device),
        rows.iter().map(|row| row.ids.len()).sum(),
        device,
    )
}

/// The numbers of a micro-batch.
struct Arrays {
    batch: usize,
    words: usize,
    lengths: usize,
    labels: usize,
    /// `[batch, words]`
    ends: [Vec<i32>; 2],
    /// `[batch, words]`
    marks: Vec<i32>,
    /// `[batch, words]`
    shapes: Vec<i32>,
    /// `[batch, words, lengths]`
    matches: Vec<i32>,
    /// `[batch, words, lengths, labels]`
    targets: Vec<f32>,
    /// `[batch, words, lengths, labels]`
    mask: Vec<f32>,
    /// `[batch]`
    counts: Vec<f32>,
}

impl Arrays {
    fn new(batch: usize, words: usize, info: &DetectorInfo) -> Self {
        let (lengths, labels) = (info.words, info.labels());
        Self {
            batch,
            words,
            lengths,
            labels,
            ends: [vec![0; batch * words], vec![0; batch * words]],
            marks: vec![0; batch * words],
            shapes: vec![0; batch * words],
            matches: vec![0; batch * words * lengths],
            targets: vec![0.0; batch * words * lengths * labels],
            mask: vec![0.0; batch * words * lengths * labels],
            counts: Vec::with_capacity(batch),
        }
    }

    /// The first and last token of each word of a row, among the tokens of the batch.
    fn fill_ends(&mut self, row: usize, seq: usize, ends: &[[usize; 2]]) {
        for (at, [from, to]) in ends.iter().enumerate() {
            let place = row * self.words + at;
            self.ends[0][place] = (row * seq + from) as i32;
            self.ends[1][place] = (row * seq + to) as i32;
        }
    }

    /// The features of the words of a row, the names that spans match, and the mask.
    fn fill_words(
        &mut self,
        row: usize,
        window: &Window,
        text: &AnnotatedText,
        covered: &[bool],
        drawn: Drawn,
    ) {
        let Drawn {
            writing,
            with_names,
        } = drawn;
        let features = &text.features[usize::from(writing == Writing::SmallLetters)];
        let (first, count) = (window.words.start, window.words.len());
        for at in 0..count {
            let place = row * self.words + at;
            self.shapes[place] = i32::from(in_capitals(features.shapes[first + at], writing));
            if with_names {
                self.marks[place] = i32::from(features.marks[first + at]);
            }
            for length in 0..self.lengths.min(count - at) {
                let span = place * self.lengths + length;
                if with_names {
                    let matched = features.matched(first + at, first + at + length);
                    self.matches[span] = i32::from(matched);
                }
                for (label, covered) in covered.iter().enumerate() {
                    self.mask[span * self.labels + label] = f32::from(u8::from(*covered));
                }
            }
        }
        self.counts.push(count as f32);
    }

    /// The mentions of a row.
    fn fill_targets(&mut self, row: usize, window: &Window, text: &AnnotatedText) {
        let first = window.words.start;
        for (from, to, label) in &text.mentions {
            if window.words.contains(from) && window.words.contains(to) && to - from < self.lengths
            {
                let span = (row * self.words + from - first) * self.lengths + to - from;
                self.targets[span * self.labels + label] = 1.0;
            }
        }
    }

    fn into_batch(self, bert: BertInput, tokens: usize, device: &Device) -> SpanBatch {
        let Self {
            batch,
            words,
            lengths,
            labels,
            ..
        } = self;
        let ints = |values: Vec<i32>, shape: [usize; 2]| -> Tensor<2, Int> {
            Tensor::from_data(TensorData::new(values, shape), device)
        };
        let floats = |values: Vec<f32>| -> Tensor<4> {
            Tensor::from_data(
                TensorData::new(values, [batch, words, lengths, labels]),
                device,
            )
        };
        SpanBatch {
            input: SpanInput {
                bert,
                words,
                ends: self.ends.map(|values| {
                    let count = values.len();
                    Tensor::from_data(TensorData::new(values, [count]), device)
                }),
                marks: ints(self.marks, [batch, words]),
                shapes: ints(self.shapes, [batch, words]),
                matches: ints(self.matches, [batch, words * lengths]),
            },
            targets: floats(self.targets),
            mask: floats(self.mask),
            counts: Tensor::from_data(TensorData::new(self.counts, [batch]), device),
            tokens,
        }
    }
}

/// The shape of a word when the text is written in capitals: of a word with letters that of a word
/// in capitals.
fn in_capitals(shape: u8, writing: Writing) -> u8 {
    let half = SHAPES as u8 / 2;
    match (writing, shape % half) {
        (Writing::Capitals, 0..4) => shape / half * half + 2,
        _ => shape,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_change_words_with_letters_only() {
        let shapes = |writing| [0u8, 1, 3, 4, 5, 6, 9, 10].map(|shape| in_capitals(shape, writing));
        assert_eq!(shapes(Writing::AsItIs), [0, 1, 3, 4, 5, 6, 9, 10]);
        assert_eq!(shapes(Writing::Capitals), [2, 2, 2, 4, 5, 8, 8, 10]);
    }
}
