//! Which vector instructions the processor has, and how a loop is compiled once for each set of them.
//!
//! A loop is written in plain Rust over arrays of sixteen lanes, or over registers that its file describes for each set. It is
//! inlined and compiled here for each set that it names ([`Work::SETS`]). `unsafe` because a function for instructions that
//! the processor lacks must not be called; [`with`] calls none without having asked ([`Isa::is_here`]).
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;

/// A set of vector instructions. Each set of x86 has all of those before it, but for [`Isa::AvxVnni`], which AVX-512 lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Plain loops, which the others are tested against.
    Scalar,
    /// What the target always has: SSE2, NEON, or the SIMD of wasm, relaxed if the module is compiled so.
    Base,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-VNNI: sums of products of bytes, 32 bytes at a time (Intel since Alder Lake).
    AvxVnni,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
    /// AVX-512 VNNI: sums of products of bytes (Intel since Cascade Lake, AMD since Zen 4).
    Avx512Vnni,
    /// AVX-512 BF16: sums of products of bfloat16 (Intel's Cooper Lake and Sapphire Rapids, AMD since Zen 4).
    Avx512Bf16,
    /// The tile registers of Intel's AMX, for bfloat16. Linux must be asked for them.
    Amx,
}

/// The sets that this processor has, each a bit; all but AMX, for which the system would have to be asked.
#[cfg(target_arch = "x86_64")]
static HERE: LazyLock<u8> = LazyLock::new(|| {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    let vnni = avx512 && is_x86_feature_detected!("avx512vnni");
    [
        (Isa::Scalar, true),
        (Isa::Base, true),
        (Isa::Avx2, avx2),
        (Isa::AvxVnni, avx2 && is_x86_feature_detected!("avxvnni")),
        (Isa::Avx512, avx512),
        (Isa::Avx512Vnni, vnni),
        (Isa::Avx512Bf16, vnni && is_x86_feature_detected!("avx512bf16")),
    ]
    .iter()
    .fold(0, |bits, (isa, here)| bits | u8::from(*here) << *isa as u8)
});

/// Whether the processor has AMX with bfloat16 and the system lets this process use it.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
static AMX: LazyLock<bool> = LazyLock::new(|| {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    // Leaf 7 of CPUID: bit 22 of EDX is AMX-BF16, bit 24 the tiles.
    const BITS: u32 = 1 << 22 | 1 << 24;
    const REQUEST_PERMISSION: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    let tiles = __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & BITS == BITS;
    // SAFETY: a system call that changes nothing in memory; a system that does not know it says no.
    Isa::Avx512Bf16.is_here()
        && tiles
        && unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0 }
});

impl Isa {
    /// The sets that loops over arrays of lanes are compiled for.
    pub const LANES: &[Isa] = &[Isa::Base, Isa::Avx2, Isa::Avx512];

    /// The best set that this processor has. AMX is left out: only products of bfloat16 ask for it
    /// ([`super::bf16::best`]).
    pub fn best() -> Self {
        Self::best_of(&[Isa::Base, Isa::Avx2, Isa::AvxVnni, Isa::Avx512, Isa::Avx512Vnni, Isa::Avx512Bf16])
    }

    /// The last of some sets that this processor has.
    pub fn best_of(sets: &[Isa]) -> Self {
        sets.iter().rev().copied().find(|isa| isa.is_here()).unwrap_or(Isa::Scalar)
    }

    /// Whether this processor has the set.
    #[inline]
    pub fn is_here(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return match self {
            #[cfg(target_os = "linux")]
            Isa::Amx => *AMX,
            _ => *HERE >> self as u8 & 1 == 1,
        };
        #[cfg(not(target_arch = "x86_64"))]
        return self <= Isa::Base;
    }

    /// Whether both are one set; for constants.
    pub const fn is(self, other: Isa) -> bool {
        self as u8 == other as u8
    }

    const fn includes(self, other: Isa) -> bool {
        self.is(other) || other as u8 <= self as u8 && !other.is(Isa::AvxVnni)
    }
}

/// For each set the best of `sets` that it includes, else the first of them.
const fn nearest(sets: &[Isa]) -> [Isa; Isa::Amx as usize + 1] {
    use Isa::{Amx, Avx2, Avx512, Avx512Bf16, Avx512Vnni, AvxVnni, Base, Scalar};
    let all = [Scalar, Base, Avx2, AvxVnni, Avx512, Avx512Vnni, Avx512Bf16, Amx];
    let mut found = [sets[0]; Amx as usize + 1];
    let mut at = 0;
    while at < all.len() {
        let mut set = 0;
        while set < sets.len() {
            if all[at].includes(sets[set]) {
                found[at] = sets[set];
            }
            set += 1;
        }
        at += 1;
    }
    found
}

/// What a loop must know of the instructions that it is compiled for.
pub trait InstructionSet {
    /// Its name.
    const ISA: Isa;
    /// Whether a product and a sum are one instruction; if not, `mul_add` would call a slow function.
    const FUSED: bool;
}

macro_rules! instruction_sets {
    ($($isa:ident, $fused:expr;)*) => {$(
        #[doc = concat!("[`Isa::", stringify!($isa), "`] as a type.")]
        #[derive(Debug)]
        pub struct $isa;

        impl InstructionSet for $isa {
            const ISA: Isa = Isa::$isa;
            const FUSED: bool = $fused;
        }
    )*};
}

instruction_sets! {
    Scalar, false;
    Base, cfg!(target_arch = "aarch64");
}

#[cfg(target_arch = "x86_64")]
instruction_sets! {
    Avx2, true;
    AvxVnni, true;
    Avx512, true;
    Avx512Vnni, true;
    Avx512Bf16, true;
    Amx, true;
}

/// Work that is compiled for each set; `run` must be `#[inline(always)]`, and so must all that it calls, unless it is
/// compiled for the set by an attribute of its own.
pub trait Work {
    /// What it gives.
    type Output;
    /// The sets that it is compiled for, the best last. What is asked for another set runs on the best that this includes.
    const SETS: &'static [Isa] = Isa::LANES;
    /// Does it.
    fn run<I: InstructionSet>(self) -> Self::Output;
}

/// Does the work with the instructions of one set, or with those that the target always has if the processor lacks it.
#[inline]
pub fn with<W: Work>(isa: Isa, work: W) -> W::Output {
    let isa = if isa.is_here() { isa } else { Isa::Base };
    let isa = (const { &nearest(W::SETS) })[isa as usize];
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! compiled {
            ($($isa:ident: $features:tt;)*) => {$(
                if const { nearest(W::SETS)[Isa::$isa as usize].is(Isa::$isa) } && isa == Isa::$isa {
                    #[target_feature(enable = $features)]
                    fn compiled<W: Work>(work: W) -> W::Output {
                        work.run::<$isa>()
                    }
                    // SAFETY: the processor has the set, or one that includes it.
                    return unsafe { compiled(work) };
                }
            )*};
        }
        compiled! {
            Avx2: "avx2,fma";
            AvxVnni: "avx2,fma,avxvnni";
            Avx512: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma";
            Avx512Vnni: "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma";
            Avx512Bf16: "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma";
            // Its own instructions are written as assembly.
            Amx: "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma";
        }
    }
    match isa {
        Isa::Scalar if const { nearest(W::SETS)[0].is(Isa::Scalar) } => work.run::<Scalar>(),
        _ => work.run::<Base>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the set that it was compiled for.
    struct Ran;

    impl Work for Ran {
        type Output = Isa;
        const SETS: &'static [Isa] = &[Isa::Scalar, Isa::Avx2, Isa::AvxVnni, Isa::Avx512Vnni];

        #[inline(always)]
        fn run<I: InstructionSet>(self) -> Isa {
            I::ISA
        }
    }

    #[test]
    fn work_runs_on_the_best_of_its_sets_that_the_asked_one_includes() {
        use Isa::{Amx, Avx2, Avx512, Avx512Bf16, Avx512Vnni, AvxVnni, Base, Scalar};
        let expected = [Scalar, Scalar, Avx2, AvxVnni, Avx2, Avx512Vnni, Avx512Vnni, Avx512Vnni];
        assert_eq!(nearest(Ran::SETS), expected);
        assert_eq!(nearest(Isa::LANES), [Base, Base, Avx2, Avx2, Avx512, Avx512, Avx512, Avx512]);
        for (isa, nearest) in
            [Scalar, Base, Avx2, AvxVnni, Avx512, Avx512Vnni, Avx512Bf16, Amx].into_iter().zip(expected)
        {
            assert_eq!(with(isa, Ran), if isa.is_here() { nearest } else { Scalar }, "{isa:?}");
        }
        assert!(Isa::best().is_here() && Isa::best() >= Base);
    }
}
