//! Which loops belong to which set of instructions.

#[cfg(target_arch = "aarch64")]
use super::neon::Neon as Base;
#[cfg(not(any(target_arch = "aarch64", all(target_arch = "wasm32", target_feature = "simd128"))))]
use super::plain::Plain as Base;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use super::wasm::Simd128 as Base;
#[cfg(target_arch = "x86_64")]
use super::{avx2::Avx2, avx512::Avx512};
use super::{loops::Dots, plain::Plain};
use crate::kernels::isa::{InstructionSet, Isa, Work, with};

/// The sets that have loops of their own.
#[cfg(target_arch = "x86_64")]
pub const SETS: &[Isa] = &[Isa::Scalar, Isa::Avx2, Isa::Avx512Vnni];
/// The sets that have loops of their own.
#[cfg(not(target_arch = "x86_64"))]
pub const SETS: &[Isa] = &[Isa::Scalar, Isa::Base];

/// Work that is done by the loops of one set; `by` must be `#[inline(always)]`.
pub trait DotWork {
    /// What it gives.
    type Output;
    /// Does it.
    fn by<D: Dots>(self) -> Self::Output;
}

/// Does the work as [`with`] says.
#[inline]
pub fn dots_with<W: DotWork>(isa: Isa, work: W) -> W::Output {
    with(isa, Dispatched(work))
}

struct Dispatched<W>(W);

impl<W: DotWork> Work for Dispatched<W> {
    type Output = W::Output;
    const SETS: &'static [Isa] = SETS;

    #[inline(always)]
    fn run<I: InstructionSet>(self) -> W::Output {
        if const { I::ISA.is(Isa::Scalar) } {
            return self.0.by::<Plain>();
        }
        #[cfg(target_arch = "x86_64")]
        if const { I::ISA.is(Isa::Avx512Vnni) } {
            return self.0.by::<Avx512>();
        } else if const { I::ISA.is(Isa::Avx2) } {
            return self.0.by::<Avx2>();
        }
        self.0.by::<Base>()
    }
}
