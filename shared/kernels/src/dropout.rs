//! Dropout that depends only on a seed and a value's position.

use super::isa::{InstructionSet, Isa, with_lanes};

/// Sets values to zero with probability `rate` and divides the others by 1 - rate. The choice
/// depends only on the seed and a value's position, so the same call on a gradient drops the same
/// positions.
pub fn apply_dropout(isa: Isa, rate: f32, seed: u32, values: &mut [f32]) {
    with_lanes!(isa, dropout_lanes(rate: f32, seed: u32, values: &mut [f32]));
}

#[inline(always)]
fn dropout_lanes<I: InstructionSet>(rate: f32, seed: u32, values: &mut [f32]) {
    let limit = (f64::from(rate) * 4_294_967_296.0) as u32;
    let scale = 1.0 / (1.0 - rate);
    for (at, value) in values.iter_mut().enumerate() {
        // Two rounds of multiplying and shifting mix the position well enough.
        let mut x = (at as u32).wrapping_mul(0x9e37_79b9) ^ seed;
        x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
        x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
        x ^= x >> 16;
        *value = if x < limit { 0.0 } else { *value * scale };
    }
}
