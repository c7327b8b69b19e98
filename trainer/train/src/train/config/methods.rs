//! The options of the papers' methods: FGSM, distillation, the learned transformation.

use pel_model::losses::transformation::Norm;
use serde::{Deserialize, Serialize};

/// FGSM regularisation (PEL, eq. 6 to 8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Fgsm {
    /// λ: the weight of the loss over perturbed entities; 0 = no FGSM.
    pub lambda: f64,
    /// ε, the size of a perturbation, as a multiple of the standard deviation of the encoder's
    /// input embeddings (`Bert::embedding_deviation`), so that it means the same for every encoder.
    pub epsilon: f64,
    /// ε itself, as the paper gives it; 0 = it follows from `epsilon`.
    pub absolute_epsilon: f64,
}

impl Fgsm {
    /// No FGSM.
    pub fn off() -> Self {
        Self {
            lambda: 0.0,
            ..Self::default()
        }
    }

    /// ε itself, for input embeddings of this deviation.
    pub fn resolved(&self, deviation: f64) -> f64 {
        if self.absolute_epsilon > 0.0 {
            self.absolute_epsilon
        } else {
            self.epsilon * deviation
        }
    }
}

/// [`Fgsm`] as it is written. Earlier versions had no `absolute_epsilon`: their `epsilon` was it.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    lambda: f64,
    epsilon: Option<f64>,
    absolute_epsilon: Option<f64>,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            lambda: Fgsm::default().lambda,
            epsilon: None,
            absolute_epsilon: None,
        }
    }
}

impl From<Written> for Fgsm {
    fn from(written: Written) -> Self {
        let defaults = Self::default();
        let (epsilon, absolute_epsilon) = match (written.epsilon, written.absolute_epsilon) {
            (Some(epsilon), None) => (defaults.epsilon, epsilon),
            (epsilon, absolute) => (
                epsilon.unwrap_or(defaults.epsilon),
                absolute.unwrap_or(defaults.absolute_epsilon),
            ),
        };
        Self {
            lambda: written.lambda,
            epsilon,
            absolute_epsilon,
        }
    }
}

/// Distillation of a bi-encoder from the scores of a cross-encoder (BLINK, section 4.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Distillation {
    /// The weight of the student's own loss, α of BLINK's eq. 10 (0.5 in the paper); 1 = no
    /// distillation.
    pub own_share: f64,
    /// T: the temperature of both softmaxes; the paper has 2 to 5.
    pub temperature: f64,
}

/// The learned transformation (T-Biencoder, section 3.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Transformation {
    /// The weight of L', the loss over transformed mentions and entities; 1 in the paper, 0 = no
    /// transformation.
    pub weight: f64,
    /// Whether to minimise L, the loss without the transformation, too; the paper's ablation omits
    /// it.
    pub plain: bool,
    /// K: the layer whose output is transformed; 0 is the embedding layer.
    pub layer: usize,
    /// The norm that bounds the matrices.
    pub norm: Norm,
    /// ε: the bound.
    pub epsilon: f64,
    /// Extra steps of ascent for each batch before L' is computed.
    pub ascents: usize,
    /// The step size of the ascent, as a share of ε.
    pub rate: f64,
}
