//! Detection of instruction sets, and the dispatch of a kernel to the best one.
//!
//! A loop is written in plain Rust over arrays of sixteen lanes, or over registers that its file
//! defines for each set. The macro `dispatch!` compiles it once for each set that the call lists.
//! `unsafe` because a function for instructions that the processor lacks must not be called;
//! `dispatch!` checks the processor first ([`Isa::supported`]).
#![allow(unsafe_code)]

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use std::sync::LazyLock;
#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicU8, Ordering};

/// A set of vector instructions. Each set of x86 has all of those before it, but for
/// [`Isa::AvxVnni`], which AVX-512 lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Plain loops, the reference of tests.
    Scalar,
    /// The target's baseline: SSE2, NEON, or the SIMD of wasm, relaxed if the module is compiled
    /// so.
    Base,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-VNNI: sums of products of bytes, 32 bytes at a time (Intel since Alder Lake).
    AvxVnni,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
    /// AVX-512 VNNI: sums of products of bytes (Intel since Cascade Lake, AMD since Zen 4).
    Avx512Vnni,
    /// AVX-512 BF16: sums of products of bfloat16 (Intel's Cooper Lake and Sapphire Rapids, AMD
    /// since Zen 4).
    Avx512Bf16,
    /// The tile registers of Intel's AMX, for bfloat16. Linux grants them on request.
    Amx,
}

/// One bit for each set that this processor has; 0 before detection. AMX has no bit, because it
/// needs a system call.
#[cfg(target_arch = "x86_64")]
static HERE: AtomicU8 = AtomicU8::new(0);

/// Fills [`HERE`]. It is a function of its own so that the check before each kernel is a few
/// instructions.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
fn detect() -> u8 {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    let vnni = avx512 && is_x86_feature_detected!("avx512vnni");
    let sets = [
        (Isa::Scalar, true),
        (Isa::Base, true),
        (Isa::Avx2, avx2),
        (Isa::AvxVnni, avx2 && is_x86_feature_detected!("avxvnni")),
        (Isa::Avx512, avx512),
        (Isa::Avx512Vnni, vnni),
        (
            Isa::Avx512Bf16,
            vnni && is_x86_feature_detected!("avx512bf16"),
        ),
    ];
    let bits = sets
        .iter()
        .fold(0, |bits, (isa, here)| bits | u8::from(*here) << *isa as u8);
    HERE.store(bits, Ordering::Relaxed);
    bits
}

/// Whether the processor has AMX with bfloat16 and the system lets this process use it.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
static AMX: LazyLock<bool> = LazyLock::new(|| {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    // Leaf 7 of CPUID: bit 22 of EDX is AMX-BF16, bit 24 the tiles.
    const BITS: u32 = 1 << 22 | 1 << 24;
    const REQUEST_PERMISSION: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    let tiles = __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & BITS == BITS;
    // SAFETY: a system call that changes no memory. A system without it returns an error.
    Isa::Avx512Bf16.is_supported()
        && tiles
        && unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0 }
});

impl Isa {
    /// The sets that loops over arrays of lanes are compiled for.
    pub const LANES: &[Isa] = &[Isa::Base, Isa::Avx2, Isa::Avx512];

    /// The best set that this processor has. AMX is left out, because only products of bfloat16 use
    /// it ([`super::bf16::best`]).
    pub fn best() -> Self {
        Self::best_of(&[
            Isa::Base,
            Isa::Avx2,
            Isa::AvxVnni,
            Isa::Avx512,
            Isa::Avx512Vnni,
            Isa::Avx512Bf16,
        ])
    }

    /// The last of the given sets that this processor has.
    pub fn best_of(sets: &[Isa]) -> Self {
        sets.iter()
            .rev()
            .copied()
            .find(|isa| isa.is_supported())
            .unwrap_or(Isa::Scalar)
    }

    /// Whether this processor has the set.
    #[inline]
    pub fn is_supported(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return match self {
            #[cfg(target_os = "linux")]
            Isa::Amx => *AMX,
            _ => {
                let known = HERE.load(Ordering::Relaxed);
                let bits = if known == 0 { detect() } else { known };
                bits >> self as u8 & 1 == 1
            }
        };
        #[cfg(not(target_arch = "x86_64"))]
        return self <= Isa::Base;
    }

    /// This set, or [`Isa::Base`] if the processor lacks it.
    #[inline]
    pub fn supported(self) -> Supported {
        Supported(if self.is_supported() { self } else { Isa::Base })
    }
}

/// A set that this processor has. It saves the check where a kernel runs for every row.
#[derive(Clone, Copy, Debug)]
pub struct Supported(Isa);

impl Supported {
    /// Itself, so that [`dispatch!`] takes either type.
    #[inline]
    pub(super) fn supported(self) -> Self {
        self
    }

    /// Whether a processor with this set has the other one too.
    #[inline]
    pub(super) fn includes(self, other: Isa) -> bool {
        self.0 == other || other < self.0 && other != Isa::AvxVnni
    }
}

/// What loops over arrays of lanes must know of the instructions that they are compiled for.
pub trait InstructionSet {
    /// Whether a product and a sum are one instruction; if not, `mul_add` would call a slow
    /// function.
    const FUSED: bool;
}

/// The target's baseline.
#[derive(Debug)]
pub struct Base;

impl InstructionSet for Base {
    const FUSED: bool = cfg!(target_arch = "aarch64");
}

/// A set with fused products and sums.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub struct Fused;

#[cfg(target_arch = "x86_64")]
impl InstructionSet for Fused {
    const FUSED: bool = true;
}

/// Calls a function that is generic over its loops, with the loops of one set and compiled for its
/// instructions.
///
/// `dispatch!(isa, [SET: LOOPS, ...; PLAIN], function(argument: Type, ...) -> Output)` calls
/// `function::<LOOPS>(argument, ...)` for the first of the listed sets that `isa` includes, else
/// `function::<PLAIN>`. List the sets from best to worst. A processor that lacks `isa` runs
/// [`Isa::Base`]. Sets and loops of x86 are read on x86 only. The function must be
/// `#[inline(always)]`, and so must all that it calls, unless an attribute of its own names the
/// instructions.
macro_rules! dispatch {
    ($isa:expr, $sets:tt, $function:ident $arguments:tt) => {
        $crate::isa::dispatch!($isa, $sets, $function $arguments -> ())
    };
    (
        $isa:expr,
        [$($set:ident: $loops:ty),+; $plain:ty],
        $function:ident $arguments:tt -> $output:ty
    ) => {{
        // Elsewhere than on x86 some calls have one set only.
        #[allow(unused_variables)]
        let isa = $isa.supported();
        #[allow(unused_labels)]
        let output = 'done: {
            $($crate::isa::dispatch!(
                @$set isa, 'done, $loops, $function $arguments -> $output
            );)+
            $crate::isa::dispatch!(@plain $plain, $function $arguments -> $output)
        };
        output
    }};
    // Not inlined on x86: registers that it needs would be saved before every call of the sets
    // below.
    (@plain $loops:ty, $function:ident($($argument:ident: $type:ty),*) -> $output:ty) => {{
        #[cfg_attr(target_arch = "x86_64", inline(never))]
        fn plain($($argument: $type),*) -> $output {
            $function::<$loops>($($argument),*)
        }
        plain($($argument),*)
    }};
    (@Base $isa:ident, $done:lifetime, $loops:ty, $function:ident $arguments:tt -> $output:ty) => {
        if $isa.includes($crate::isa::Isa::Base) {
            break $done $crate::isa::dispatch!(
                @plain $loops, $function $arguments -> $output
            );
        }
    };
    (@Avx2 $($call:tt)*) => {
        $crate::isa::dispatch!(@compiled Avx2, "avx2,fma", $($call)*)
    };
    (@AvxVnni $($call:tt)*) => {
        $crate::isa::dispatch!(@compiled AvxVnni, "avx2,fma,avxvnni", $($call)*)
    };
    (@Avx512 $($call:tt)*) => {
        $crate::isa::dispatch!(
            @compiled Avx512,
            "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma",
            $($call)*
        )
    };
    (@Avx512Vnni $($call:tt)*) => {
        $crate::isa::dispatch!(
            @compiled Avx512Vnni,
            "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma",
            $($call)*
        )
    };
    (@compiled $set:ident, $features:literal,
        $isa:ident, $done:lifetime, $loops:ty,
        $function:ident($($argument:ident: $type:ty),*) -> $output:ty) => {
        #[cfg(target_arch = "x86_64")]
        if $isa.includes($crate::isa::Isa::$set) {
            #[target_feature(enable = $features)]
            fn compiled($($argument: $type),*) -> $output {
                $function::<$loops>($($argument),*)
            }
            #[allow(unsafe_code)]
            // SAFETY: the processor has `isa`, which includes the set.
            break $done unsafe { compiled($($argument),*) };
        }
    };
}
pub(super) use dispatch;

/// [`dispatch!`] for loops over arrays of lanes, which are compiled for [`Isa::LANES`] and are
/// generic over [`InstructionSet`].
macro_rules! with_lanes {
    ($isa:expr, $($call:tt)*) => {
        $crate::isa::dispatch!(
            $isa,
            [
                Avx512: $crate::isa::Fused, Avx2: $crate::isa::Fused;
                $crate::isa::Base
            ],
            $($call)*
        )
    };
}
pub(super) use with_lanes;

#[cfg(test)]
mod tests {
    use super::*;

    /// Which loops ran.
    trait Loops {
        const NAME: &str;
    }

    macro_rules! loops {
        ($($name:ident),*) => {$(
            struct $name;

            impl Loops for $name {
                const NAME: &str = stringify!($name);
            }
        )*};
    }

    loops!(Scalar, Avx2, AvxVnni, Avx512Vnni);

    #[inline(always)]
    fn name<L: Loops>() -> &'static str {
        L::NAME
    }

    fn ran(isa: Isa) -> &'static str {
        dispatch!(
            isa,
            [Avx512Vnni: Avx512Vnni, AvxVnni: AvxVnni, Avx2: Avx2; Scalar],
            name() -> &'static str
        )
    }

    #[test]
    fn dispatch_chooses_the_best_listed_set_that_the_requested_one_includes() {
        use Isa::{Amx, Avx512, Avx512Bf16};
        let cases = [
            (Isa::Scalar, "Scalar"),
            (Isa::Base, "Scalar"),
            (Isa::Avx2, "Avx2"),
            (Isa::AvxVnni, "AvxVnni"),
            (Avx512, "Avx2"),
            (Isa::Avx512Vnni, "Avx512Vnni"),
            (Avx512Bf16, "Avx512Vnni"),
            (Amx, "Avx512Vnni"),
        ];
        for (isa, name) in cases {
            assert_eq!(
                ran(isa),
                if isa.is_supported() { name } else { "Scalar" },
                "{isa:?}"
            );
        }
        assert!(Isa::best().is_supported() && Isa::best() >= Isa::Base);
    }
}
