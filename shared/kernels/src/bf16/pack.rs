//! Packing: a side of a product becomes tiles of pairs.

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::tiles::{DEPTH, PAIRS, Packed, Side, TILE, packed_len};
use crate::isa::Isa;
use crate::lanes::LANES;
use crate::matrix::Matrix;
use half::bf16;

/// Packs A.
///
/// # Shapes
/// a `[m, k]` -> `[m / 16, k / 32]` tiles of `[16 rows, 16 pairs]`
///
/// # Panics
/// If the length of `tiles` is not that of [`packed_len`].
pub fn pack_rows(isa: Isa, a: Matrix<'_>, tiles: &mut [u32]) {
    let Matrix {
        data,
        rows,
        cols,
        row_stride,
        col_stride,
    } = a;
    pack(
        isa,
        Side {
            data,
            count: rows,
            k: cols,
            stride: row_stride,
            k_stride: col_stride,
        },
        false,
        tiles,
    );
}

/// Packs B.
///
/// # Shapes
/// b `[k, n]` -> `[n / 16, k / 32]` tiles of `[16 pairs, 16 columns]`
///
/// # Panics
/// If the length of `tiles` is not that of [`packed_len`].
pub fn pack_columns(isa: Isa, b: Matrix<'_>, tiles: &mut [u32]) {
    let Matrix {
        data,
        rows,
        cols,
        row_stride,
        col_stride,
    } = b;
    pack(
        isa,
        Side {
            data,
            count: cols,
            k: rows,
            stride: col_stride,
            k_stride: row_stride,
        },
        true,
        tiles,
    );
}

#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn pack(isa: Isa, side: Side<'_>, pairs_first: bool, tiles: &mut [u32]) {
    assert_eq!(
        tiles.len(),
        packed_len(side.count, side.k),
        "{} x {} packed",
        side.count,
        side.k
    );
    let isa = isa.supported();
    let deep = Packed {
        tiles: &[],
        count: side.count,
        k: side.k,
    }
    .deep();
    let (tiles, _) = tiles.as_chunks_mut::<TILE>();
    let wide = tiles.len() / deep.max(1);
    for nth in 0..tiles.len() {
        // Numbers are read in memory order.
        let (at, step) = if side.k_stride == 1 {
            (nth / deep, nth % deep)
        } else {
            (nth % wide, nth / wide)
        };
        let tile = &mut tiles[at * deep + step];
        let (first, step) = (at * LANES, step * DEPTH);
        if first >= side.count {
            tile.fill(0);
            continue;
        }
        #[cfg(target_arch = "x86_64")]
        if isa.includes(Isa::Avx512Bf16) && avx512::pack(side, first, step, pairs_first, tile) {
            continue;
        }
        pack_tile(side, first, step, pairs_first, tile);
    }
}

/// Any tile, also one beyond an edge.
fn pack_tile(side: Side<'_>, first: usize, step: usize, pairs_first: bool, tile: &mut [u32; TILE]) {
    let value = |at: usize, k: usize| -> u32 {
        if at >= side.count || k >= side.k {
            return 0;
        }
        u32::from(bf16::from_f32(side.data[at * side.stride + k * side.k_stride]).to_bits())
    };
    let mut rows = [[0; PAIRS]; LANES];
    for (line, row) in rows.iter_mut().enumerate() {
        for (pair, both) in row.iter_mut().enumerate() {
            let (at, k) = if pairs_first {
                (first + pair, step + 2 * line)
            } else {
                (first + line, step + 2 * pair)
            };
            *both = value(at, k) | value(at, k + 1) << 16;
        }
    }
    tile.copy_from_slice(rows.as_flattened());
}
