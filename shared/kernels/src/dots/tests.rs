//! Compares every instruction set of this processor with the plain loops.

use super::loops::SETS;
use super::query::{bytes, bytes_at, floats as one_floats, floats_at, sum};
use super::*;
use crate::isa::Isa;
use crate::tested::supported_sets;
use proptest::prelude::*;

fn sets() -> Vec<Isa> {
    supported_sets("dot products", SETS)
}

fn i8_on(isa: Isa, query: &[i8], rows: &[i8]) -> Vec<i32> {
    let mut out = vec![0; rows.len() / query.len()];
    bytes(isa, query, sum(query), rows, &mut out);
    out
}

fn f32_on(isa: Isa, query: &[f32], rows: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; rows.len() / query.len()];
    one_floats(isa, query, rows, &mut out);
    out
}

/// All scores of all queries in order of row and query. Every score passes a NaN threshold.
fn all_i8(isa: Isa, queries: &[i8], rows: &[i8], dim: usize, kind: RowCodes) -> Vec<f32> {
    let (count, row_count) = (queries.len() / dim, rows.len() / dim);
    let queries = QueriesI8::on(isa, queries.to_vec(), &vec![1.0; count], dim, kind);
    let mut hits = Vec::new();
    queries.hits(
        rows,
        &vec![1.0; row_count],
        &vec![f32::NAN; count],
        &mut Scratch::default(),
        &mut hits,
    );
    in_order(&hits, count)
}

fn all_f32(isa: Isa, queries: &[f32], rows: &[f32], dim: usize) -> Vec<f32> {
    let queries = QueriesF32::on(isa, queries, dim);
    let mut hits = Vec::new();
    queries.hits(
        rows,
        &vec![f32::NAN; queries.len()],
        &mut Scratch::default(),
        &mut hits,
    );
    in_order(&hits, queries.len())
}

fn in_order(hits: &[Hit], count: usize) -> Vec<f32> {
    let mut hits = hits.to_vec();
    hits.sort_by_key(|hit| (hit.row, hit.query));
    assert!(
        hits.iter()
            .enumerate()
            .all(|(at, hit)| hit.row as usize * count + hit.query as usize == at)
    );
    hits.iter().map(|hit| hit.score).collect()
}

#[test]
fn dot_product_matches_hand_computed_values() {
    for isa in sets() {
        assert_eq!(
            f32_on(isa, &[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0, -1.0, 0.0, 1.0]),
            [32.0, 2.0],
            "{isa:?}"
        );
        assert_eq!(
            i8_on(isa, &[1, 2, 3], &[4, 5, 6, -127, 0, 127]),
            [32, 254],
            "{isa:?}"
        );
    }
}

#[test]
#[should_panic]
fn row_number_out_of_range_panics() {
    QueryI8::new(vec![1; 3]).dots_at(&[1; 6], &[2], &mut [0]);
}

#[test]
fn extremes_do_not_overflow() {
    for isa in sets() {
        for (query, row) in [
            (-127, 127),
            (127, 127),
            (-127, -127),
            (127, -127),
            (-128, -128),
            (-128, 127),
        ] {
            for dim in [4096, 4099] {
                let expected = i32::from(query as i8) * i32::from(row as i8) * dim as i32;
                let rows = vec![row as i8; 17 * dim];
                assert_eq!(
                    i8_on(isa, &vec![query as i8; dim], &rows),
                    [expected; 17],
                    "{isa:?}"
                );
                let all = all_i8(isa, &vec![query as i8; 5 * dim], &rows, dim, RowCodes::Int8);
                assert_eq!(all, [expected as f32; 85], "{isa:?}");
            }
        }
    }
}

#[test]
fn extremes_of_int4_rows_do_not_overflow() {
    for isa in sets() {
        for (query, row) in [(-127, 7), (127, 7), (-128, -8), (127, -8)] {
            for dim in [4096, 4099] {
                let expected = i32::from(query as i8) * i32::from(row as i8) * dim as i32;
                let (queries, rows) = (vec![query as i8; 5 * dim], vec![row as i8; 17 * dim]);
                let all = all_i8(isa, &queries, &rows, dim, RowCodes::Int4);
                assert_eq!(all, [expected as f32; 85], "{isa:?}");
            }
        }
    }
}

#[test]
fn non_finite_values_propagate() {
    for isa in sets() {
        for (bad, dim) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY]
            .into_iter()
            .zip([37, 64, 3])
        {
            let mut row = vec![1.0; dim];
            row[dim - 1] = bad;
            let good = vec![1.0; dim];
            for out in [
                f32_on(isa, &good, &row),
                f32_on(isa, &row, &good),
                all_f32(isa, &row.repeat(6), &good, dim),
            ] {
                assert!(out.iter().all(|score| !score.is_finite()), "{isa:?}");
            }
            // Its neighbours are unaffected.
            let rows = [good.clone(), row.clone(), good.clone()].concat();
            let out = all_f32(isa, &good.repeat(6), &rows, dim);
            assert!(
                out[..6]
                    .iter()
                    .chain(&out[12..])
                    .all(|score| *score == dim as f32),
                "{isa:?}"
            );
        }
    }
}

#[test]
fn denormals_are_summed() {
    for isa in sets() {
        // 2^-149, the smallest of all, times 1.
        let smallest = f32::from_bits(1);
        assert_eq!(
            f32_on(isa, &[1.0; 33], &[smallest; 33]),
            [f32::from_bits(33)],
            "{isa:?}"
        );
        assert_eq!(
            all_f32(isa, &[1.0; 33 * 5], &[smallest; 33], 33),
            [f32::from_bits(33); 5],
            "{isa:?}"
        );
    }
}

#[test]
fn scores_above_the_threshold_are_hits() {
    let of = |hits: &[Hit], query: usize| -> Vec<u32> {
        hits.iter()
            .filter(|hit| hit.query as usize == query)
            .map(|hit| hit.row)
            .collect()
    };
    for isa in sets() {
        for count in [1, 5, 16, 17, 70] {
            for kind in [RowCodes::Int8, RowCodes::Int4] {
                let queries = QueriesI8::on(isa, vec![1; count], &vec![0.5; count], 1, kind);
                let (mut hits, mut scratch) = (Vec::new(), Scratch::default());
                // Scores 0.5 × 2 × (1, 2, 3, NaN); a threshold of 2.
                let scales = [2.0, 2.0, 2.0, f32::NAN];
                queries.hits(
                    &[1, 2, 3, 1],
                    &scales,
                    &vec![2.0; count],
                    &mut scratch,
                    &mut hits,
                );
                assert!(
                    (0..count).all(|query| of(&hits, query) == [2, 3]),
                    "{isa:?} {count} {hits:?}"
                );
                assert_eq!(hits.len(), 2 * count);
            }

            let (mut hits, mut scratch) = (Vec::new(), Scratch::default());
            let floats = QueriesF32::on(isa, &vec![1.0; count], 1);
            floats.hits(
                &[1.0, 2.0, 3.0, f32::NAN],
                &vec![2.0; count],
                &mut scratch,
                &mut hits,
            );
            assert!(
                (0..count).all(|query| of(&hits, query) == [2, 3]),
                "{isa:?} {count}"
            );
            assert_eq!(hits.len(), 2 * count);
        }
    }
}

fn codes(count: usize, seed: u64) -> Vec<i8> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 56) as u8 as i8
    };
    (0..count).map(|_| next()).collect()
}

proptest! {
    #[test]
    fn sets_agree(
        dim in 1usize..300,
        rows in 1usize..60,
        queries in 1usize..90,
        seed in any::<u64>(),
    ) {
        let (q, r) = (codes(dim * queries, seed), codes(dim * rows, !seed));
        let plain = Isa::Scalar;
        let halves: Vec<i8> = r.iter().map(|code| code >> 4).collect();
        let exact = all_i8(plain, &q, &r, dim, RowCodes::Int8);
        let exact_halves = all_i8(plain, &q, &halves, dim, RowCodes::Int8);
        for isa in sets() {
            prop_assert_eq!(
                &all_i8(isa, &q, &r, dim, RowCodes::Int8),
                &exact,
                "{:?}",
                isa
            );
            prop_assert_eq!(
                &all_i8(isa, &q, &halves, dim, RowCodes::Int4),
                &exact_halves,
                "{:?}",
                isa
            );
            prop_assert_eq!(
                i8_on(isa, &q[..dim], &r),
                i8_on(plain, &q[..dim], &r),
                "{:?}",
                isa
            );
        }

        let floats = |codes: &[i8]| {
            codes
                .iter()
                .map(|c| f32::from(*c) / 97.0)
                .collect::<Vec<f32>>()
        };
        let (q, r) = (floats(&q), floats(&r));
        let slow = all_f32(plain, &q, &r, dim);
        for isa in sets() {
            let fast = all_f32(isa, &q, &r, dim);
            for (fast, slow) in fast.iter().zip(&slow) {
                prop_assert!((fast - slow).abs() <= 1e-5 * dim as f32, "{:?}", isa);
            }
            // The order of a sum does not depend on the batch, nor on the number of rows.
            for (query, values) in q.chunks_exact(dim).enumerate() {
                let alone = f32_on(isa, values, &r);
                let of_batch: Vec<f32> =
                    fast.iter().skip(query).step_by(queries).copied().collect();
                prop_assert_eq!(&alone, &of_batch, "{:?}", isa);
                prop_assert_eq!(f32_on(isa, values, &r[..dim])[0], alone[0], "{:?}", isa);
            }
        }
    }

    #[test]
    fn numbered_rows_equal_consecutive_rows(
        dim in 1usize..200,
        numbers in prop::collection::vec(0u32..40, 0..40),
        seed in any::<u64>(),
    ) {
        let codes: Vec<i8> = (0..41 * dim as u64)
            .map(|at| (seed.wrapping_mul(at * 2 + 1) >> 32) as i8)
            .collect();
        let floats: Vec<f32> = codes.iter().map(|code| f32::from(*code) / 100.0).collect();
        for isa in sets() {
            let (mut ints, mut sums) = (vec![0; numbers.len()], vec![0.0; numbers.len()]);
            bytes_at(
                isa.supported(),
                &codes[..dim],
                sum(&codes[..dim]),
                &codes[dim..],
                &numbers,
                &mut ints,
            );
            floats_at(isa, &floats[..dim], &floats[dim..], &numbers, &mut sums);
            let (all_ints, all_sums) = (
                i8_on(isa, &codes[..dim], &codes[dim..]),
                f32_on(isa, &floats[..dim], &floats[dim..]),
            );
            for (at, number) in numbers.iter().enumerate() {
                prop_assert_eq!(ints[at], all_ints[*number as usize]);
                prop_assert_eq!(sums[at], all_sums[*number as usize]);
            }
        }
    }
}
