//! A step of AdamW (Loshchilov and Hutter, 2019) in place, and the norm of gradients.

use super::isa::{InstructionSet, Isa, with_lanes};
use super::lanes::LANES;
use super::parallel::{for_each, for_each_chunk};

/// Values of a thread's chunk. It is fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 1 << 16;

/// The options of a step. Only the decay differs between parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// The learning rate.
    pub rate: f32,
    /// β1, of the mean of gradients.
    pub beta_1: f32,
    /// β2, of the mean of their squares.
    pub beta_2: f32,
    /// Added to the root of the squares.
    pub epsilon: f32,
    /// Weight decay, apart from the gradient.
    pub decay: f32,
    /// Steps done, this one included: the means are corrected for their beginning at 0.
    pub step: u32,
    /// Gradients are multiplied by this: the mean over accumulated batches, and clipping.
    pub scale: f32,
}

impl AdamW {
    /// 1 - β^t of this step: the divisor of a mean with this β. It is in `f64`, because it loses
    /// digits for small t.
    pub fn bias_correction(&self, beta: f32) -> f64 {
        1.0 - f64::from(beta).powf(f64::from(self.step))
    }
}

/// One step: values, the mean of gradients and the mean of squares are changed in place.
///
/// # Panics
/// If the slices are not equally long.
pub fn adamw(
    isa: Isa,
    options: AdamW,
    values: &mut [f32],
    first: &mut [f32],
    second: &mut [f32],
    gradient: &[f32],
) {
    let length = values.len();
    assert!(first.len() == length && second.len() == length && gradient.len() == length);
    let chunks = values
        .chunks_mut(CHUNK)
        .zip(first.chunks_mut(CHUNK))
        .zip(second.chunks_mut(CHUNK));
    let chunks = chunks.zip(gradient.chunks(CHUNK)).collect();
    for_each(chunks, |(((values, first), second), gradient)| {
        with_lanes!(
            isa,
            step(options: AdamW, values: &mut [f32], first: &mut [f32], second: &mut [f32], gradient: &[f32])
        );
    });
}

#[inline(always)]
fn step<I: InstructionSet>(
    options: AdamW,
    values: &mut [f32],
    first: &mut [f32],
    second: &mut [f32],
    gradient: &[f32],
) {
    let AdamW {
        rate,
        beta_1,
        beta_2,
        epsilon,
        decay,
        scale,
        ..
    } = options;
    let (size, root) = (
        (f64::from(rate) / options.bias_correction(beta_1)) as f32,
        options.bias_correction(beta_2).sqrt().recip() as f32,
    );
    let retained = 1.0 - rate * decay;
    for (((value, first), second), gradient) in
        values.iter_mut().zip(first).zip(second).zip(gradient)
    {
        let gradient = gradient * scale;
        *first = beta_1 * *first + (1.0 - beta_1) * gradient;
        *second = beta_2 * *second + (1.0 - beta_2) * gradient * gradient;
        *value = *value * retained - size * *first / (second.sqrt() * root + epsilon);
    }
}

/// The sum of squares, the same on any number of threads.
pub fn sum_of_squares(isa: Isa, values: &[f32]) -> f64 {
    let sums = for_each_chunk(
        values,
        CHUNK,
        |_, values| with_lanes!(isa, squares(values: &[f32]) -> f64),
    );
    sums.iter().sum()
}

#[inline(always)]
fn squares<I: InstructionSet>(values: &[f32]) -> f64 {
    let (whole, rest) = values.as_chunks::<LANES>();
    let mut sums = [0.0f64; LANES];
    for lane in whole {
        for (sum, value) in sums.iter_mut().zip(lane) {
            *sum += f64::from(*value) * f64::from(*value);
        }
    }
    let rest: f64 = rest
        .iter()
        .map(|value| f64::from(*value) * f64::from(*value))
        .sum();
    sums.iter().sum::<f64>() + rest
}

/// Adds other gradients.
///
/// # Panics
/// If the slices are not equally long.
pub fn add_to(sum: &mut [f32], other: &[f32]) {
    assert_eq!(sum.len(), other.len());
    for_each(
        sum.chunks_mut(CHUNK).zip(other.chunks(CHUNK)).collect(),
        |(sum, other)| {
            super::sums::add(sum, other);
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tested::supported_sets;

    const OPTIONS: AdamW = AdamW {
        rate: 0.1,
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-6,
        decay: 0.01,
        step: 1,
        scale: 0.5,
    };

    #[test]
    fn the_first_step_by_hand() {
        // A gradient of 4, halved: the corrected means are 2 and 4, so that the step is the rate,
        // after the decay.
        let (mut values, mut first, mut second) = ([1.0], [0.0], [0.0]);
        adamw(
            Isa::best(),
            OPTIONS,
            &mut values,
            &mut first,
            &mut second,
            &[4.0],
        );
        assert!((first[0] - 0.2).abs() < 1e-6 && (second[0] - 0.004).abs() < 1e-6);
        assert!((values[0] - (1.0 - 0.001 - 0.1)).abs() < 1e-6, "{values:?}");
    }

    #[test]
    fn all_instruction_sets_agree_on_odd_lengths() {
        let numbers = |seed: u32, count: usize| -> Vec<f32> {
            (0..count as u32)
                .map(|at| ((at.wrapping_mul(2_654_435_761) ^ seed) >> 8) as f32 / 1e7 - 0.8)
                .collect()
        };
        let count = CHUNK + 37;
        let gradient = numbers(1, count);
        let run = |isa| {
            let (mut values, mut first, mut second) =
                (numbers(2, count), numbers(3, count), vec![0.25; count]);
            adamw(
                isa,
                AdamW { step: 7, ..OPTIONS },
                &mut values,
                &mut first,
                &mut second,
                &gradient,
            );
            (values, sum_of_squares(isa, &gradient))
        };
        let (plain, squares) = run(Isa::Base);
        let exact: f64 = gradient.iter().map(|value| f64::from(*value).powi(2)).sum();
        assert!(
            (squares - exact).abs() < 1e-9 * exact,
            "{squares}, exactly {exact}"
        );
        for isa in supported_sets("AdamW", Isa::LANES) {
            let (values, other) = run(isa);
            assert!((other - squares).abs() < 1e-9 * exact);
            for (value, expected) in values.iter().zip(&plain) {
                assert!(
                    (value - expected).abs() < 1e-6,
                    "{isa:?}: {value}, {expected}"
                );
            }
        }
    }
}
