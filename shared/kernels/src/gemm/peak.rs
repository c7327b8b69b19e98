//! The peak of the instructions of products of floats, from registers alone.

use super::LANES;
use super::tile::{Vector, load, store};
use crate::tiling::{Tiled, for_each_tile};
use std::hint::black_box;
use std::marker::PhantomData;

/// See [`super::multiply_add`]. Sums are registers of the processor's own type, as many as a tile
/// of a product has. Arrays of floats stayed in memory, where an operation took ten times as long.
#[inline(always)]
pub fn chains<V: Vector>(rounds: usize) -> (f64, f64) {
    let mut chains = Chains {
        rounds,
        operations: 0.0,
        total: 0.0,
        registers: PhantomData::<V>,
    };
    // One tile of full size.
    for_each_tile(&mut chains, V::ROWS, V::PANELS * LANES);
    (chains.operations, chains.total)
}

struct Chains<V> {
    rounds: usize,
    operations: f64,
    total: f64,
    registers: PhantomData<V>,
}

impl<V: Vector> Tiled for Chains<V> {
    const ROWS: usize = V::ROWS;
    const PANELS: usize = V::PANELS;

    // A loop over rows and panels by number is unrolled into registers.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn tile<const R: usize, const P: usize>(&mut self, _: usize, _: usize) {
        let rounds = self.rounds;
        let mut values = [[[0.0f32; LANES]; P]; R];
        let mut sums: [[V::Sixteen; P]; R] = load::<V, R, P>(&values);
        let factor = black_box(1.0f32);
        // A fused product with a constant one would be compiled to a sum.
        let ones = match V::FUSED {
            true => black_box([1.0; LANES]),
            false => [1.0; LANES],
        };
        let one = V::load(&ones);
        for _ in 0..rounds {
            for r in 0..R {
                for p in 0..P {
                    // Without fusion the product must depend on the sum: one of constants would be
                    // computed once.
                    sums[r][p] = match V::FUSED {
                        true => V::add(sums[r][p], factor, one),
                        false => V::add(one, factor, sums[r][p]),
                    };
                }
            }
        }
        store::<V, R, P>(sums, &mut values);
        self.operations += (2 * LANES * R * P * rounds) as f64;
        for value in values.as_flattened().as_flattened() {
            self.total += f64::from(*value);
        }
    }
}
