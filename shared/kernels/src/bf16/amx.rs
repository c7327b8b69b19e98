//! Tiles of AMX: eight registers of sixteen rows of 64 bytes, and one instruction that multiplies
//! two of them.
//!
//! `unsafe`, and written as assembly, because Rust has no stable intrinsics for these instructions.
//! The processor and the system are checked first ([`Isa::is_supported`]). Each call sets up and
//! releases the registers.
#![allow(unsafe_code)]

use super::tiles::{BLOCK, DEPTH, ONES, Packed, RUN, TILE, total, write};
use crate::Isa;
use crate::gemm::Start;
use crate::lanes::LANES;
use crate::matrix::MatrixMut;
use std::arch::asm;

/// What `ldtilecfg` reads: sixteen rows of 64 bytes in every register.
#[repr(C, align(64))]
struct Setup {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

static SETUP: Setup = {
    let (mut bytes, mut rows) = ([0; 16], [0; 16]);
    let mut at = 0;
    while at < 8 {
        bytes[at] = 64;
        rows[at] = 16;
        at += 1;
    }
    Setup {
        palette: 1,
        start_row: 0,
        reserved: [0; 14],
        bytes,
        rows,
    }
};

/// Sums of a block, `[32, 32]`.
#[repr(C, align(64))]
struct Sums([[f32; BLOCK]; BLOCK]);

/// See [`super::gemm`].
pub fn gemm(a: Packed<'_>, b: Packed<'_>, start: Start<'_>, out: MatrixMut<'_>) {
    assert!(Isa::Amx.is_supported());
    // SAFETY: the processor has the instructions, and the system allows them.
    unsafe { compiled(a, b, start, out) }
}

#[target_feature(enable = "avx512f")]
fn compiled(a: Packed<'_>, b: Packed<'_>, start: Start<'_>, mut out: MatrixMut<'_>) {
    // SAFETY: the 64 bytes that it reads are there.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const SETUP, options(nostack, readonly)) };
    let mut sums = Sums([[0.0; BLOCK]; BLOCK]);
    for step in (0..a.deep()).step_by(RUN) {
        let deep = RUN.min(a.deep() - step);
        let start = if step == 0 { start } else { Start::Sum };
        for col in (0..b.count).step_by(BLOCK) {
            for row in (0..a.count).step_by(BLOCK) {
                block(a, b, [row / LANES, col / LANES], step, deep, &mut sums);
                write(&sums.0, start, &mut out, row, col);
            }
        }
    }
    // SAFETY: it releases the registers.
    unsafe { asm!("tilerelease", options(nostack, nomem)) };
}

/// The products of two tiles of rows and two of columns, summed over `deep` tiles; both sides are
/// packed in whole blocks.
#[inline(always)]
fn block(a: Packed<'_>, b: Packed<'_>, at: [usize; 2], step: usize, deep: usize, sums: &mut Sums) {
    let [row, col] = at;
    let left = [
        a.run(row, step, deep).as_ptr(),
        a.run(row + 1, step, deep).as_ptr(),
    ];
    let right = [
        b.run(col, step, deep).as_ptr(),
        b.run(col + 1, step, deep).as_ptr(),
    ];
    let first = sums.0.as_mut_ptr();
    // SAFETY: each side has `deep` tiles of 1,024 bytes from its pointer on, as `run` has checked,
    // and `sums` has 32 rows of 128 bytes.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            "tileloadd tmm4, [{a} + {line}*1]",
            "tileloadd tmm6, [{b} + {line}*1]",
            "tileloadd tmm7, [{d} + {line}*1]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm5, [{c} + {line}*1]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {a}, 1024",
            "add {b}, 1024",
            "add {c}, 1024",
            "add {d}, 1024",
            "dec {deep}",
            "jnz 2b",
            "tilestored [{sums} + {wide}*1], tmm0",
            "tilestored [{sums} + {wide}*1 + 64], tmm1",
            "tilestored [{lower} + {wide}*1], tmm2",
            "tilestored [{lower} + {wide}*1 + 64], tmm3",
            a = inout(reg) left[0] => _,
            c = inout(reg) left[1] => _,
            b = inout(reg) right[0] => _,
            d = inout(reg) right[1] => _,
            deep = inout(reg) deep => _,
            line = in(reg) 64usize,
            sums = in(reg) first,
            lower = in(reg) first.add(LANES),
            wide = in(reg) 4 * BLOCK,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

/// See [`super::multiply_add`]. The products are those of `block`, without its loads.
pub fn multiply_add(rounds: usize) -> (f64, f64) {
    assert!(Isa::Amx.is_supported());
    let rounds = rounds.max(1);
    let ones = [ONES; TILE];
    let mut sums = Sums([[0.0; BLOCK]; BLOCK]);
    let first = sums.0.as_mut_ptr();
    // SAFETY: the processor has the instructions, and the system allows them. `ones` has sixteen
    // rows of 64 bytes, `SETUP` 64 bytes, and `sums` 32 rows of 128 bytes.
    unsafe {
        asm!(
            "ldtilecfg [{setup}]",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "tileloadd tmm4, [{ones} + {line}*1]",
            "tileloadd tmm5, [{ones} + {line}*1]",
            "tileloadd tmm6, [{ones} + {line}*1]",
            "tileloadd tmm7, [{ones} + {line}*1]",
            "2:",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "dec {rounds}",
            "jnz 2b",
            "tilestored [{sums} + {wide}*1], tmm0",
            "tilestored [{sums} + {wide}*1 + 64], tmm1",
            "tilestored [{lower} + {wide}*1], tmm2",
            "tilestored [{lower} + {wide}*1 + 64], tmm3",
            "tilerelease",
            setup = in(reg) &raw const SETUP,
            ones = in(reg) ones.as_ptr(),
            rounds = inout(reg) rounds => _,
            line = in(reg) 64usize,
            sums = in(reg) first,
            lower = in(reg) first.add(LANES),
            wide = in(reg) 4 * BLOCK,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
    // Each number of the block adds a product for each step of a tile.
    let operations = (2 * DEPTH * BLOCK * BLOCK * rounds) as f64;
    (operations, total(sums.0.as_flattened()))
}
