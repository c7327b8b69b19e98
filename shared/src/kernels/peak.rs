//! The processor's peak of multiply-add operations from registers. Training speed is compared with
//! it.

use super::isa::{InstructionSet, Isa, with_lanes};
use super::lanes::{LANES, Lane, fma};

/// Independent sums, so that one need not wait for another: as many as fit into the registers, and
/// at least latency times throughput.
const WIDE: usize = 10;
/// The same where a register holds half a lane or less.
const NARROW: usize = 5;

/// Multiplies and adds `rounds` times over all sums. Returns the number of operations, two for a
/// product and its sum, and the sum, so that the compiler removes no work.
pub fn multiply_add(isa: Isa, rounds: usize) -> (f64, f32) {
    let (sums, sum) = match isa >= Isa::Avx512 {
        true => (WIDE, with_lanes!(isa, wide(rounds: usize) -> f32)),
        false => (NARROW, with_lanes!(isa, narrow(rounds: usize) -> f32)),
    };
    ((2 * LANES * sums * rounds) as f64, sum)
}

#[inline(always)]
fn wide<I: InstructionSet>(rounds: usize) -> f32 {
    sum::<I, WIDE>(rounds)
}

#[inline(always)]
fn narrow<I: InstructionSet>(rounds: usize) -> f32 {
    sum::<I, NARROW>(rounds)
}

#[inline(always)]
fn sum<I: InstructionSet, const N: usize>(rounds: usize) -> f32 {
    let factor: f32 = std::hint::black_box(0.5);
    let mut sums: [Lane; N] = [[1.0; LANES]; N];
    for _ in 0..rounds {
        for sum in &mut sums {
            for lane in sum.iter_mut() {
                *lane = fma::<I>(*lane, factor, 1.0);
            }
        }
    }
    sums.as_flattened().iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tested::supported_sets;

    #[test]
    fn operations_and_sum_match_hand_computed_values() {
        for isa in supported_sets("sums of products", Isa::LANES) {
            // 1, then 1.5, 1.75, 1.875.
            let (operations, sum) = multiply_add(isa, 3);
            let sums = operations / 6.0;
            assert_eq!(f64::from(sum), 1.875 * sums, "{isa:?}");
        }
    }
}
