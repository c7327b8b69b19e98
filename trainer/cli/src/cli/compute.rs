//! The options for the number format in which an encoder multiplies.

use clap::Args;
use pel_model::layer::Precision;

/// The options of a command that encodes concepts.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct ComputeArgs {
    /// Encode concepts in bfloat16: faster on a CPU with AMX or AVX-512 BF16; vectors differ in the
    /// third digit
    #[arg(long)]
    bf16: bool,
    /// Encode concepts in half floats: faster on a GPU; vectors differ in the third digit
    #[arg(long, conflicts_with = "bf16")]
    f16: bool,
}

impl ComputeArgs {
    /// The format asked for.
    pub fn precision(self) -> Precision {
        match (self.bf16, self.f16) {
            (true, _) => Precision::Bf16,
            (_, true) => Precision::F16,
            _ => Precision::F32,
        }
    }
}
