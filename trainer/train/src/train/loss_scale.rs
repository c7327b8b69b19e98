//! The scale of the loss in half floats, whose smallest number is 6e-8 and whose largest is 65,504:
//! gradients are computed of the loss times a power of two, as large as they bear it.

use pel_kb::error::{Error, Result};
use pel_model::layer::Precision;
use serde::{Deserialize, Serialize};

/// The factor at the start, small enough for sums of losses over a batch.
const START: f32 = 4096.0;

/// Steps without overflow after which the factor doubles, and where it stops.
const PATIENCE: u32 = 1000;
const MOST: f32 = 16_777_216.0;

/// What the loss is multiplied with before its gradients are taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    factor: f32,
    /// Steps since it last changed.
    held: u32,
}

impl Scale {
    /// The scale at the start of a run; nothing for numbers that need none.
    pub fn begin(precision: Precision) -> Option<Self> {
        precision.needs_scale().then_some(Self {
            factor: START,
            held: 0,
        })
    }

    /// Checks a scale that was read.
    ///
    /// # Errors
    /// If its factor is not one that [`Scale::begin`], [`Scale::lower`] and [`Scale::hold`] come
    /// to.
    pub fn check(&self) -> Result<()> {
        match (1.0..=MOST).contains(&self.factor) && self.factor.log2().fract() == 0.0 {
            true => Ok(()),
            false => {
                let found = self.factor;
                Err(Error::artifact(format!(
                    "`scale.factor`: expected a power of two from 1 to {MOST}, found {found}"
                )))
            }
        }
    }

    /// The factor.
    pub fn factor(&self) -> f32 {
        self.factor
    }

    /// Halves the factor after an overflow. False if it is 1 already: then the scale is not the
    /// cause.
    pub fn lower(&mut self) -> bool {
        let lowered = self.factor > 1.0;
        if lowered {
            *self = Self {
                factor: self.factor / 2.0,
                held: 0,
            };
        }
        lowered
    }

    /// Counts a step without overflow.
    pub fn hold(&mut self) {
        self.held += 1;
        if self.held >= PATIENCE && self.factor < MOST {
            *self = Self {
                factor: self.factor * 2.0,
                held: 0,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_doubles_after_finite_steps_and_halves_at_an_overflow() {
        assert_eq!(Scale::begin(Precision::Bf16), None);
        let mut scale = Scale::begin(Precision::F16).expect("half floats need one");
        (0..PATIENCE).for_each(|_| scale.hold());
        assert_eq!(
            scale,
            Scale {
                factor: 2.0 * START,
                held: 0
            }
        );
        scale.hold();
        assert!(scale.lower());
        assert_eq!(
            scale,
            Scale {
                factor: START,
                held: 0
            }
        );
        scale.check().expect("what steps come to");
        for factor in [0.5, 3.0, 2.0 * MOST, f32::NAN, f32::INFINITY, -2.0] {
            assert!(Scale { factor, held: 0 }.check().is_err(), "{factor}");
        }
        let halved = (0..).take_while(|_| scale.lower()).count();
        assert_eq!((halved, scale.factor()), (12, 1.0));
    }
}
