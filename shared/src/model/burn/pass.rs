//! The options of a forward pass, as the encoder and its layers read them.

use super::fused;
use crate::model::layer::{Dropout, Precision};
use burn::tensor::{Device, FloatDType};

/// What a pass does besides the arithmetic of inference, which is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pass {
    /// Dropout of the embeddings, of attention shares and of the sublayers' outputs.
    pub dropout: Option<Dropout>,
    /// Compute each layer again on the way back instead of keeping what it computed: less memory, a third more time. It
    /// is heeded where a layer is one operation; other devices have gradient checkpointing of their own.
    pub recompute: bool,
    /// In which numbers linear layers multiply.
    pub precision: Precision,
}

/// Whether linear layers can multiply in these numbers on a device.
pub fn multiplies_in(precision: Precision, device: &Device) -> bool {
    match dtype(precision) {
        Some(dtype) if !fused::runs_on(device) => device.supports_dtype(dtype),
        _ => precision.is_here(),
    }
}

/// The numbers of a precision as Burn calls them, where they are not plain floats.
pub(super) fn dtype(precision: Precision) -> Option<FloatDType> {
    match precision {
        Precision::F32 => None,
        Precision::Bf16 => Some(FloatDType::BF16),
        Precision::F16 => Some(FloatDType::F16),
    }
}

impl Pass {
    /// The pass as layer `at` sees it, with a seed of its own.
    pub(super) fn of_layer(self, at: usize) -> Self {
        Self { dropout: self.dropout.map(|dropout| dropout.part(at as u64 + 1)), ..self }
    }
}
