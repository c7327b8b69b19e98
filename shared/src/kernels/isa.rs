//! Which vector instructions the processor has, and how a loop is compiled once for each set of them.
//!
//! A loop is written in plain Rust over arrays of sixteen lanes, inlined, and compiled here three times; the compiler
//! turns the arrays into the registers that each set has. `unsafe` because a function for instructions that the
//! processor lacks must not be called; [`Isa::best`] and [`Isa::is_here`] ask the processor.
#![allow(unsafe_code)]

/// A set of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// What the target always has: SSE2, NEON, or the SIMD of wasm.
    Base,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Isa {
    /// All sets, the best last.
    pub const ALL: [Isa; 3] = [Isa::Base, Isa::Avx2, Isa::Avx512];

    /// The best set that this processor has.
    pub fn best() -> Self {
        *Self::ALL.iter().rev().find(|isa| isa.is_here()).unwrap_or(&Isa::Base)
    }

    /// Whether this processor has the set.
    pub fn is_here(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let avx2 = || is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        match self {
            Isa::Base => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                avx2()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }
}

/// What a loop must know of the instructions that it is compiled for.
pub trait Flavour {
    /// Whether a product and a sum are one instruction; if not, `mul_add` would call a slow function.
    const FUSED: bool;
}

/// [`Isa::Base`]: on x86 and in wasm 16 registers of 4 lanes; on ARM 32 of them.
#[derive(Debug)]
pub struct Base;

/// [`Isa::Avx2`]: 16 registers of 8 lanes.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub struct Avx2;

/// [`Isa::Avx512`]: 32 registers of 16 lanes.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub struct Avx512;

impl Flavour for Base {
    const FUSED: bool = cfg!(target_arch = "aarch64");
}

#[cfg(target_arch = "x86_64")]
impl Flavour for Avx2 {
    const FUSED: bool = true;
}

#[cfg(target_arch = "x86_64")]
impl Flavour for Avx512 {
    const FUSED: bool = true;
}

/// Work that is compiled for each set; `run` must be `#[inline(always)]`, and so must all that it calls.
pub trait Work {
    /// What it gives.
    type Output;
    /// Does it.
    fn run<F: Flavour>(self) -> Self::Output;
}

/// Does the work with the instructions of one set, or with the plain ones if the processor lacks it.
pub fn with<W: Work>(isa: Isa, work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn avx2<W: Work>(work: W) -> W::Output {
            work.run::<Avx2>()
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        fn avx512<W: Work>(work: W) -> W::Output {
            work.run::<Avx512>()
        }
        match isa {
            // SAFETY: the processor has the instructions that the function is compiled for.
            Isa::Avx2 if isa.is_here() => return unsafe { avx2(work) },
            // SAFETY: as above.
            Isa::Avx512 if isa.is_here() => return unsafe { avx512(work) },
            _ => {}
        }
    }
    let _ = isa;
    work.run::<Base>()
}
