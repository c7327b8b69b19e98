//! The span head on tensors, for training ([`crate::detector`] has the model).

use crate::burn::bert::{Bert, BertInput, Pass};
use crate::burn::export::Exported;
use crate::burn::rows::{Product, rows_by};
use crate::config::BertConfig;
use crate::detector::features::{MARKS, MATCHES, SHAPES};
use crate::detector::{DetectorInfo, names};
use crate::layer::Precision;
use crate::weights::Weights;
use burn::module::{Module, Param};
use burn::nn::{Embedding, Linear};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Int, Tensor, TensorData};
use pel_kb::error::Result;

/// The head.
#[derive(Module, Debug)]
pub struct SpanHead {
    input: Linear,
    marks: Embedding,
    shapes: Embedding,
    start: Linear,
    end: Linear,
    /// `[labels, rank]`
    pair: Embedding,
    first: Linear,
    last: Linear,
    inside: Linear,
    /// `[words, labels]`
    lengths: Embedding,
    /// `[MATCHES, labels]`
    matches: Embedding,
}

/// An encoder with a span head.
#[derive(Module, Debug)]
pub struct SpanModel {
    bert: Bert,
    head: SpanHead,
}

/// The windows of a batch, padded to the most words of one.
#[derive(Clone, Debug)]
pub struct SpanInput {
    /// The tokens.
    pub bert: BertInput,
    /// The number of words of a row, padding included.
    pub words: usize,
    /// The tokens of the first and of the last piece of each word, `[batch * words]`, counted over
    /// the whole batch.
    pub ends: [Tensor<1, Int>; 2],
    /// [`Features::marks`](crate::detector::Features::marks), `[batch, words]`
    pub marks: Tensor<2, Int>,
    /// [`Features::shapes`](crate::detector::Features::shapes), `[batch, words]`
    pub shapes: Tensor<2, Int>,
    /// The match of each span by its first word and its length, `[batch, words * lengths]`
    pub matches: Tensor<2, Int>,
}

impl SpanModel {
    /// Joins an encoder and a head.
    pub fn new(bert: Bert, head: SpanHead) -> Self {
        Self { bert, head }
    }

    /// The model with a frozen embedding layer, which it shares with another encoder.
    #[must_use]
    pub fn freeze_embeddings(self) -> Self {
        Self {
            bert: self.bert.freeze_embeddings(),
            ..self
        }
    }

    /// The logits of all spans.
    ///
    /// # Shapes
    /// -> `[batch, words, lengths, labels]`
    pub fn forward(&self, input: &SpanInput, pass: &Pass) -> Tensor<4> {
        let hidden = self.bert.forward(&input.bert, pass);
        self.head.forward(hidden, input)
    }

    /// The weights of the layers and the head, without the embeddings.
    ///
    /// # Errors
    /// If the tensors cannot be read from the device.
    pub fn to_safetensors(&self) -> Result<Vec<u8>> {
        let mut all = Exported::default();
        self.bert.export_layers(&mut all)?;
        self.head.export(&mut all)?;
        all.into_bytes()
    }
}

/// Values for new weights.
pub trait Draw {
    /// So many values with this deviation around 0.
    fn draw(&mut self, count: usize, deviation: f32) -> Vec<f32>;
}

impl SpanHead {
    /// A head with drawn weights. Its length terms make every span improbable at first.
    pub fn begin(
        info: &DetectorInfo,
        hidden: usize,
        draw: &mut impl Draw,
        device: &Device,
    ) -> Self {
        let (width, rank, labels) = (info.width, info.rank, info.labels());
        let matrix = |values: Vec<f32>, shape: [usize; 2]| {
            Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), device))
        };
        let mut linear = |inputs: usize, outputs: usize| Linear {
            weight: matrix(
                draw.draw(inputs * outputs, (1.0 / inputs as f32).sqrt()),
                [inputs, outputs],
            ),
            bias: Some(Param::from_tensor(Tensor::zeros([outputs], device))),
        };
        let (input, start, end) = (
            linear(hidden, width),
            linear(width, rank),
            linear(width, rank),
        );
        let [first, last, inside] = [(); 3].map(|()| linear(width, labels));
        let mut table = |rows: usize, width: usize, deviation: f32, middle: f32| Embedding {
            weight: matrix(
                draw.draw(rows * width, deviation)
                    .into_iter()
                    .map(|value| value + middle)
                    .collect(),
                [rows, width],
            ),
        };
        Self {
            input,
            marks: table(MARKS, width, 0.1, 0.0),
            shapes: table(SHAPES, width, 0.1, 0.0),
            start,
            end,
            pair: table(labels, rank, 0.1, 0.0),
            first,
            last,
            inside,
            lengths: table(info.words, labels, 0.0, -4.0),
            matches: table(MATCHES, labels, 0.0, 0.0),
        }
    }

    /// Takes the tensors of a written head.
    ///
    /// # Errors
    /// If one is missing or of another shape; the error names it.
    pub fn take(
        weights: &mut Weights<'_>,
        info: &DetectorInfo,
        hidden: usize,
        device: &Device,
    ) -> Result<Self> {
        let (width, rank, labels) = (info.width, info.rank, info.labels());
        let mut linear = |name: &str, inputs: usize, outputs: usize| -> Result<Linear> {
            let weight: Tensor<2> =
                weights.take(&format!("{name}.weight"), [outputs, inputs], device)?;
            let bias = weights.take(&format!("{name}.bias"), [outputs], device)?;
            Ok(Linear {
                weight: Param::from_tensor(weight.transpose()),
                bias: Some(Param::from_tensor(bias)),
            })
        };
        let (input, start, end) = (
            linear(names::INPUT, hidden, width)?,
            linear(names::START, width, rank)?,
            linear(names::END, width, rank)?,
        );
        let (first, last, inside) = (
            linear(names::FIRST, width, labels)?,
            linear(names::LAST, width, labels)?,
            linear(names::INSIDE, width, labels)?,
        );
        let mut table = |name: &str, rows: usize, width: usize| -> Result<Embedding> {
            Ok(Embedding {
                weight: Param::from_tensor(weights.take(name, [rows, width], device)?),
            })
        };
        Ok(Self {
            input,
            marks: table(names::MARKS, MARKS, width)?,
            shapes: table(names::SHAPES, SHAPES, width)?,
            start,
            end,
            pair: table(names::PAIR, labels, rank)?,
            first,
            last,
            inside,
            lengths: table(names::LENGTHS, info.words, labels)?,
            matches: table(names::MATCHES, MATCHES, labels)?,
        })
    }

    fn export(&self, all: &mut Exported) -> Result<()> {
        for (name, linear) in [
            (names::INPUT, &self.input),
            (names::START, &self.start),
            (names::END, &self.end),
            (names::FIRST, &self.first),
            (names::LAST, &self.last),
            (names::INSIDE, &self.inside),
        ] {
            all.linear(name, linear)?;
        }
        for (name, table) in [
            (names::MARKS, &self.marks),
            (names::SHAPES, &self.shapes),
            (names::PAIR, &self.pair),
            (names::LENGTHS, &self.lengths),
            (names::MATCHES, &self.matches),
        ] {
            all.put(name, table.weight.val())?;
        }
        Ok(())
    }

    /// # Shapes
    /// hidden `[batch, seq, hidden]` -> `[batch, words, lengths, labels]`
    fn forward(&self, hidden: Tensor<3>, input: &SpanInput) -> Tensor<4> {
        let [batch, seq, size] = hidden.dims();
        let words = input.words;
        let rows = hidden.reshape([batch * seq, size]);
        let [first, last] = &input.ends;
        let means = (rows.clone().select(0, first.clone()) + rows.select(0, last.clone())) / 2.0;
        let means = means.reshape([batch, words, size]);
        let through =
            |linear: &Linear, x: Tensor<3>| Product::new(linear, x, Precision::F32).with_bias();
        let vectors = relu(
            through(&self.input, means)
                + self.marks.forward(input.marks.clone())
                + self.shapes.forward(input.shapes.clone()),
        );
        let (start, end) = (
            through(&self.start, vectors.clone()),
            through(&self.end, vectors.clone()),
        );
        let (first, last, inside) = (
            through(&self.first, vectors.clone()),
            through(&self.last, vectors.clone()),
            through(&self.inside, vectors),
        );
        let [lengths, labels] = self.lengths.weight.dims();
        let pair = self.pair.weight.val().transpose();
        let mut sum = Tensor::zeros_like(&inside);
        let mut all = Vec::with_capacity(lengths);
        for length in 0..lengths {
            sum = sum + shifted(&inside, length);
            let products = start.clone() * shifted(&end, length);
            let logits = rows_by(products, pair.clone())
                + first.clone()
                + shifted(&last, length)
                + sum.clone() / (length + 1) as f32;
            all.push(logits.unsqueeze_dim::<4>(2));
        }
        let matches = self.matches.forward(input.matches.clone());
        Tensor::cat(all, 2)
            + matches.reshape([batch, words, lengths, labels])
            + self.lengths.weight.val().reshape([1, 1, lengths, labels])
    }
}

/// Row i + `by` in place of row i; the last rows are zero.
///
/// # Shapes
/// `[batch, words, width]` -> `[batch, words, width]`
fn shifted(rows: &Tensor<3>, by: usize) -> Tensor<3> {
    let [batch, words, width] = rows.dims();
    if by == 0 {
        return rows.clone();
    }
    let zeros = Tensor::zeros([batch, by.min(words), width], &rows.device());
    if by >= words {
        return zeros;
    }
    Tensor::cat(
        vec![rows.clone().slice([0..batch, by..words, 0..width]), zeros],
        1,
    )
}

/// The loss of each window: the binary cross-entropy of its spans and labels, divided by the number
/// of its words.
///
/// # Shapes
/// logits, targets and mask `[batch, words, lengths, labels]`, words `[batch]` -> `[batch]`
pub fn span_loss(
    logits: Tensor<4>,
    targets: Tensor<4>,
    mask: Tensor<4>,
    words: Tensor<1>,
) -> Tensor<1> {
    let positive = logits.clone().clamp_min(0.0);
    let softplus = (-logits.clone().abs()).exp().log1p();
    let loss = (positive - logits * targets + softplus) * mask;
    let [batch, ..] = loss.dims();
    loss.reshape([batch as i32, -1]).sum_dim(1).reshape([batch]) / words
}

/// Reads the layers and the head of a detector from one file, its embeddings from another.
///
/// # Errors
/// If a tensor is missing or of another shape; the error names it.
pub fn read_span_model(
    info: &DetectorInfo,
    config: &BertConfig,
    weights: &[u8],
    embeddings: &[u8],
    device: &Device,
) -> Result<SpanModel> {
    let mut own = Weights::from_bytes(weights)?;
    let mut shared = Weights::from_bytes(embeddings)?;
    let bert = Bert::with_embeddings_of(config, &mut shared, &mut own, device)?;
    let head = SpanHead::take(&mut own, info, config.hidden_size, device)?;
    own.finish()?;
    Ok(SpanModel::new(bert, head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::quantise_layers;
    use crate::detector::tests::info;
    use crate::detector::{Detector, Features, windows};
    use crate::tokens::Tokens;
    use bytes::Bytes;

    const CONFIG: &[u8] = include_bytes!("../../../tests/fixtures/tiny/config.json");
    const FLOATS: &[u8] = include_bytes!("../../../tests/fixtures/tiny/model.safetensors");
    const TOKENIZER: &[u8] = include_bytes!("../../../tests/fixtures/tiny/tokenizer.json");

    /// Values from a linear congruential generator.
    struct Numbers(u32);

    impl Draw for Numbers {
        fn draw(&mut self, count: usize, deviation: f32) -> Vec<f32> {
            let mut next = || {
                self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                deviation * ((self.0 >> 8) as f32 / 8_388_608.0 - 1.0) * 1.7
            };
            (0..count).map(|_| next()).collect()
        }
    }

    fn model(device: &Device) -> SpanModel {
        let config = BertConfig::from_bytes(CONFIG).expect("whole");
        let bert = Bert::from_bytes(&config, FLOATS, device).expect("whole");
        let mut numbers = Numbers(5);
        let mut head = SpanHead::begin(&info(), config.hidden_size, &mut numbers, device);
        // The tables that begin at one value too.
        let table = |values: Vec<f32>, shape: [usize; 2]| Embedding {
            weight: Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), device)),
        };
        head.lengths = table(numbers.draw(4 * 3, 0.5), [4, 3]);
        head.matches = table(numbers.draw(MATCHES * 3, 0.5), [MATCHES, 3]);
        SpanModel::new(bert, head)
    }

    const TEXT: &str =
        "Heart failure, no fever. UNREMARKABLE chest x-ray\nHx: heart attack in 2004, chronic pain";

    /// The probability of each span of the text by tensors, for the labels of both schemes.
    fn by_tensors(model: &SpanModel, device: &Device) -> Vec<(usize, usize, [f32; 3])> {
        let (tokens, info) = (Tokens::from_bytes(TOKENIZER).expect("whole"), info());
        let words = tokens.words(TEXT).expect("text");
        let features = Features::of_text(TEXT, &words);
        let mut all = Vec::new();
        for window in windows(&info, &words) {
            let row = window.encoded(&info, &words, &tokens);
            let ends = window.ends(&info, &words);
            let count = ends.len();
            let ints = |values: Vec<i32>, shape: [usize; 2]| -> Tensor<2, Int> {
                Tensor::from_data(TensorData::new(values, shape), device)
            };
            let input = SpanInput {
                bert: BertInput::new(&tokens.batch(&[&row]), device),
                words: count,
                ends: [0, 1].map(|side| {
                    let values: Vec<i32> = ends.iter().map(|end| end[side] as i32).collect();
                    Tensor::from_data(TensorData::new(values, [count]), device)
                }),
                marks: ints(vec![0; count], [1, count]),
                shapes: ints(
                    features.shapes[window.words.clone()]
                        .iter()
                        .map(|shape| i32::from(*shape))
                        .collect(),
                    [1, count],
                ),
                matches: ints(vec![0; count * info.words], [1, count * info.words]),
            };
            let logits = model.forward(&input, &Pass::default());
            let values: Vec<f32> = logits.into_data().try_to_vec().expect("floats");
            for (place, logits) in values.as_chunks::<3>().0.iter().enumerate() {
                let (first, length) = (place / info.words, place % info.words);
                if first + length < count && window.own.contains(&(window.words.start + first)) {
                    let first = window.words.start + first;
                    all.push((first, first + length, *logits));
                }
            }
        }
        all
    }

    #[test]
    fn detector_on_plain_floats_equals_tensors() {
        let device = Device::flex();
        let model = model(&device);
        let expected = by_tensors(&model, &device);
        let weights = Bytes::from(model.to_safetensors().expect("written"));
        let config = BertConfig::from_bytes(CONFIG).expect("whole");
        let codes = Bytes::from(quantise_layers(&config, &weights).expect("whole"));
        let tokens = Tokens::from_bytes(TOKENIZER).expect("whole");
        let words = tokens.words(TEXT).expect("text");
        let features = Features::of_text(TEXT, &words);
        for (weights, near) in [(&weights, 1e-4), (&codes, 0.1)] {
            let detector =
                Detector::from_bytes(info(), CONFIG, weights, &Bytes::from_static(FLOATS))
                    .expect("whole");
            for (scheme, columns) in [(0, 0..2), (1, 2..3)] {
                let found = detector.spans(&tokens, &words, &features, scheme, 0.0);
                assert_eq!(found.len(), expected.len());
                for (found, (first, last, logits)) in found.iter().zip(&expected) {
                    assert_eq!((found.first, found.last), (*first, *last));
                    let probability: f32 = logits[columns.clone()]
                        .iter()
                        .map(|logit| 1.0 / (1.0 + (-logit).exp()))
                        .sum();
                    let off = (found.probability - probability.min(1.0)).abs();
                    assert!(off < near, "{first}..={last}: {off}");
                }
            }
        }
    }

    #[test]
    fn tokens_that_the_encoder_lacks_are_refused() {
        let weights = Bytes::from(model(&Device::flex()).to_safetensors().expect("written"));
        let embeddings = Bytes::from_static(FLOATS);
        let detector = Detector::from_bytes(info(), CONFIG, &weights, &embeddings).expect("whole");
        let tokens = Tokens::from_bytes(TOKENIZER).expect("whole");
        let mut words = tokens.words(TEXT).expect("text");
        assert!(detector.check_tokens(&tokens, &words).is_ok());
        words.pieces[3] = 1 << 30;
        let error = detector
            .check_tokens(&tokens, &words)
            .expect_err("no such token")
            .to_string();
        assert!(error.contains("token 1073741824"), "{error}");
    }

    #[test]
    fn written_weights_read_back() {
        let device = Device::flex();
        let model = model(&device);
        let weights = model.to_safetensors().expect("written");
        let config = BertConfig::from_bytes(CONFIG).expect("whole");
        let again = read_span_model(&info(), &config, &weights, FLOATS, &device).expect("whole");
        assert_eq!(again.to_safetensors().expect("written"), weights);
        let mut other = info();
        other.rank = 6;
        let error = read_span_model(&other, &config, &weights, FLOATS, &device)
            .expect_err("another rank")
            .to_string();
        assert!(error.contains("head.start.weight"), "{error}");
    }

    #[test]
    fn loss_is_the_binary_cross_entropy() {
        let device = Device::flex();
        let tensor = |values: [f32; 4]| -> Tensor<4> {
            Tensor::from_data(TensorData::new(values.to_vec(), [1, 2, 1, 2]), &device)
        };
        let counts = Tensor::from_data(TensorData::new(vec![2f32], [1]), &device);
        let loss = span_loss(
            tensor([2.0, -1.0, 0.0, 5.0]),
            tensor([1.0, 0.0, 0.0, 1.0]),
            tensor([1.0, 1.0, 1.0, 0.0]),
            counts,
        );
        let value: Vec<f32> = loss.into_data().try_to_vec().expect("floats");
        // (ln(1 + e^-2) + ln(1 + e^-1) + ln 2) / 2
        let expected = (0.126_928 + 0.313_262 + std::f32::consts::LN_2) / 2.0;
        assert!((value[0] - expected).abs() < 1e-5, "{value:?}");
    }
}
