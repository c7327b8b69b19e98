//! Micro-batches of windows: what the model reads, and what it should answer.

use super::corpora::{Corpora, Example};
use crate::train::config::Detect;
use crate::train::random::{Purpose, stream};
use burn::tensor::{Device, Int, Tensor, TensorData};
use pel_model::burn::bert::BertInput;
use pel_model::burn::span_head::SpanInput;
use pel_model::detector::DetectorInfo;
use pel_model::detector::features::SHAPES;
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
    let batch = examples.len();
    let words = examples
        .iter()
        .map(|(_, example)| example.window.words.len())
        .max()
        .unwrap_or(0);
    let (lengths, labels) = (info.words, info.labels());
    let rows: Vec<_> = examples
        .iter()
        .map(|(_, example)| {
            let text = &corpora.texts[example.text];
            example.window.encoded(info, &text.words, tokens)
        })
        .collect();
    let token_batch = tokens.batch(&rows.iter().collect::<Vec<_>>());
    let seq = token_batch.seq;
    let mut ends = [vec![0i32; batch * words], vec![0i32; batch * words]];
    let mut marks = vec![0i32; batch * words];
    let mut shapes = vec![0i32; batch * words];
    let mut matches = vec![0i32; batch * words * lengths];
    let mut targets = vec![0f32; batch * words * lengths * labels];
    let mut mask = vec![0f32; batch * words * lengths * labels];
    let mut counts = Vec::with_capacity(batch);
    for (row, (position, example)) in examples.iter().enumerate() {
        let text = &corpora.texts[example.text];
        let mut random = stream(seed, Purpose::Example, *position as u64);
        let (written, named) = (random.random::<f64>(), random.random::<f64>());
        let writing = if written < detect.small_letters {
            Writing::SmallLetters
        } else if written < detect.small_letters + detect.capitals {
            Writing::Capitals
        } else {
            Writing::AsItIs
        };
        let with_names = named >= detect.without_names;
        let features = &text.features[usize::from(writing == Writing::SmallLetters)];
        let window = &example.window;
        let (first, count) = (window.words.start, window.words.len());
        for (at, [from, to]) in window.ends(info, &text.words).into_iter().enumerate() {
            let place = row * words + at;
            ends[0][place] = (row * seq + from) as i32;
            ends[1][place] = (row * seq + to) as i32;
            shapes[place] = i32::from(in_capitals(features.shapes[first + at], writing));
            if with_names {
                marks[place] = i32::from(features.marks[first + at]);
            }
            for length in 0..lengths.min(count - at) {
                let span = place * lengths + length;
                if with_names {
                    matches[span] = i32::from(features.matched(first + at, first + at + length));
                }
                let covered = &corpora.covered[text.corpus].1;
                for (label, covered) in covered.iter().enumerate() {
                    mask[span * labels + label] = f32::from(u8::from(*covered));
                }
            }
        }
        for (from, to, label) in &text.mentions {
            if window.words.contains(from) && window.words.contains(to) && to - from < lengths {
                let span = (row * words + from - first) * lengths + to - from;
                targets[span * labels + label] = 1.0;
            }
        }
        counts.push(count as f32);
    }
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
            bert: BertInput::new(&token_batch, device),
            words,
            ends: ends.map(|values| {
                let count = values.len();
                Tensor::from_data(TensorData::new(values, [count]), device)
            }),
            marks: ints(marks, [batch, words]),
            shapes: ints(shapes, [batch, words]),
            matches: ints(matches, [batch, words * lengths]),
        },
        targets: floats(targets),
        mask: floats(mask),
        counts: Tensor::from_data(TensorData::new(counts, [batch]), device),
        tokens: rows.iter().map(|row| row.ids.len()).sum(),
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
