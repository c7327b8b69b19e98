//! The description of a transformer layer for both engines: names and shapes of its tensors, and
//! its options.

use crate::config::BertConfig;
use pel_kb::error::Result;
use pel_kernels::matrix::Matrix;
use pel_kernels::rows::{Activation, Norm};
use pel_kernels::{Isa, bf16};
use serde::{Deserialize, Serialize};

/// A width of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Of a token's vector: `hidden_size`.
    Hidden,
    /// Between the feed-forward layers: `intermediate_size`.
    Inner,
}

impl Width {
    fn of(self, config: &BertConfig) -> usize {
        match self {
            Self::Hidden => config.hidden_size,
            Self::Inner => config.intermediate_size,
        }
    }
}

/// A linear part of a layer.
#[derive(Clone, Copy, Debug)]
pub struct LinearPart {
    /// Its Hugging Face name under `encoder.layer.N.`
    pub name: &'static str,
    inputs: Width,
    outputs: Width,
}

impl LinearPart {
    const fn new(name: &'static str, inputs: Width, outputs: Width) -> Self {
        Self {
            name,
            inputs,
            outputs,
        }
    }

    /// Inputs and outputs.
    pub fn sizes(&self, config: &BertConfig) -> [usize; 2] {
        [self.inputs.of(config), self.outputs.of(config)]
    }
}

/// How many linear parts a layer has.
pub const LINEARS: usize = 6;

/// The linear parts in the order in which engines hold them: query, key, value, attention output,
/// and the two of the feed-forward sublayer.
pub const LINEAR_PARTS: [LinearPart; LINEARS] = [
    LinearPart::new("attention.self.query", Width::Hidden, Width::Hidden),
    LinearPart::new("attention.self.key", Width::Hidden, Width::Hidden),
    LinearPart::new("attention.self.value", Width::Hidden, Width::Hidden),
    LinearPart::new("attention.output.dense", Width::Hidden, Width::Hidden),
    LinearPart::new("intermediate.dense", Width::Hidden, Width::Inner),
    LinearPart::new("output.dense", Width::Inner, Width::Hidden),
];

/// The LayerNorms in the order in which engines hold them: after the attention, and at the end.
pub const NORM_PARTS: [&str; 2] = ["attention.output.LayerNorm", "output.LayerNorm"];

/// The Hugging Face name of a part of layer `at`.
pub fn path(at: usize, part: &str) -> String {
    format!("encoder.layer.{at}.{part}")
}

/// Takes the linear parts of layer `at`: `take` gets a part's name, its inputs and its outputs.
///
/// # Errors
/// The first that `take` gives.
pub fn take_linears<T>(
    at: usize,
    config: &BertConfig,
    mut take: impl FnMut(&str, [usize; 2]) -> Result<T>,
) -> Result<[T; LINEARS]> {
    let mut part = |index: usize| {
        let part = LINEAR_PARTS[index];
        take(&path(at, part.name), part.sizes(config))
    };
    Ok([part(0)?, part(1)?, part(2)?, part(3)?, part(4)?, part(5)?])
}

/// Takes the LayerNorms of layer `at`: `take` gets a part's name.
///
/// # Errors
/// The first that `take` gives.
pub fn take_norms<T>(at: usize, mut take: impl FnMut(&str) -> Result<T>) -> Result<[T; 2]> {
    Ok([
        take(&path(at, NORM_PARTS[0]))?,
        take(&path(at, NORM_PARTS[1]))?,
    ])
}

/// The number format in which linear layers multiply. Weights and all other operations stay f32.
/// [`crate::burn::bert::multiplies_in`] tells which formats a device supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits.
    #[default]
    F32,
    /// bfloat16: eight bits of precision, summed in f32.
    Bf16,
    /// Half floats for GPUs: eleven bits of precision, at most 65,504. Gradients need a loss scale
    /// ([`Precision::needs_scale`]).
    F16,
}

impl Precision {
    /// Whether this processor has instructions for this format.
    pub fn is_supported(self) -> bool {
        match self {
            Self::F32 => true,
            Self::Bf16 => bf16::best() != Isa::Scalar,
            Self::F16 => false,
        }
    }

    /// Whether gradients underflow or overflow unless the loss is scaled.
    pub fn needs_scale(self) -> bool {
        self == Self::F16
    }
}

/// The options of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerOptions {
    /// Attention heads.
    pub heads: usize,
    /// The activation between the feed-forward layers.
    pub activation: Activation,
    /// ε of both LayerNorms.
    pub epsilon: f32,
    /// Dropout of attention probabilities and of both sublayers' outputs.
    pub dropout: Option<Dropout>,
    /// The number format of the linear layers' products.
    pub precision: Precision,
}

/// Dropout that depends only on the seed and a value's position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The probability that a value becomes zero.
    pub rate: f32,
    /// A different seed for each layer and step.
    pub seed: u64,
}

/// The positions of dropout in a layer.
#[derive(Clone, Copy, Debug)]
pub enum Site {
    /// Attention probabilities.
    AttentionProbabilities,
    /// The output of the attention sublayer.
    AttentionOutput,
    /// The output of the feed-forward sublayer.
    FeedForwardOutput,
}

impl Dropout {
    /// The same dropout with the seed of one of its parts.
    pub fn part(self, part: u64) -> Self {
        // SplitMix64 (Steele et al., 2014).
        let mut z = self
            .seed
            .wrapping_add(part.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self {
            seed: z ^ (z >> 31),
            ..self
        }
    }

    /// The seed of a position in the layer. `part` distinguishes sequences and heads.
    pub fn seed(self, site: Site, part: usize) -> u32 {
        self.part(((site as u64) << 62) ^ part as u64).seed as u32
    }
}

/// The parameters of a layer.
#[derive(Clone, Copy, Debug)]
pub struct Params<'a> {
    /// Weights `[in, out]`, in any layout.
    pub weights: [Matrix<'a>; LINEARS],
    /// Biases `[out]`.
    pub biases: [&'a [f32]; LINEARS],
    /// γ and β after the attention, and at the end.
    pub norms: [[&'a [f32]; 2]; 2],
}

impl<'a> Params<'a> {
    /// A LayerNorm: 0 after the attention, 1 at the end.
    pub fn norm(&self, which: usize, epsilon: f32) -> Norm<'a> {
        let [gamma, beta] = self.norms[which];
        Norm {
            gamma,
            beta,
            epsilon,
        }
    }

    /// Values of a token's vector.
    pub fn hidden(&self) -> usize {
        self.weights[0].rows
    }

    /// Values between the feed-forward layers.
    pub fn inner(&self) -> usize {
        self.weights[4].cols
    }
}
