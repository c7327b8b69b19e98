//! The options of a forward pass, as the encoder and its layers read them.

use super::fused;
use crate::layer::{Dropout, Precision};
use burn::tensor::{Device, FloatDType};

/// The options of a forward pass. The default is inference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pass {
    /// Dropout of the embeddings, attention probabilities and sublayer outputs.
    pub dropout: Option<Dropout>,
    /// Recompute each layer in the backward pass instead of saving activations: less memory, a
    /// third more time. It has an effect where a layer is one operation. Other devices have their
    /// own gradient checkpointing.
    pub recompute: bool,
    /// The number format in which linear layers multiply.
    pub precision: Precision,
}

/// Whether a device supports this number format for linear layers.
pub fn multiplies_in(precision: Precision, device: &Device) -> bool {
    match dtype(precision) {
        Some(dtype) if !fused::runs_on(device) => device.supports_dtype(dtype),
        _ => precision.is_supported(),
    }
}

/// Burn's type for a precision; `None` for f32.
pub(super) fn dtype(precision: Precision) -> Option<FloatDType> {
    match precision {
        Precision::F32 => None,
        Precision::Bf16 => Some(FloatDType::BF16),
        Precision::F16 => Some(FloatDType::F16),
    }
}

impl Pass {
    /// The options of layer `at`, which has its own dropout seed.
    pub(super) fn of_layer(self, at: usize) -> Self {
        Self {
            dropout: self.dropout.map(|dropout| dropout.part(at as u64 + 1)),
            ..self
        }
    }
}
