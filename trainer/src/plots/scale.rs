//! Scales of axes and their ticks.

/// Values beyond these are not drawn, since their differences or quotients may overflow.
const HUGE: f64 = 1e300;
const TINY: f64 = 1e-300;

/// The range of an axis, with `low < high`, both positive if it is logarithmic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Position from 0 (low end) to 1 (high end).
    pub at: f64,
    /// Label.
    pub label: String,
}

impl Scale {
    /// A given range, if valid.
    pub fn from_range(range: Option<(f64, f64)>, log: bool) -> Option<Self> {
        let (low, high) = range?;
        let is_range =
            drawable(low, log) && drawable(high, log) && (low, high) == widened(low, high, log);
        is_range.then_some(Self { low, high, log })
    }

    /// The range of the values, or a default without values.
    pub fn of(values: impl Iterator<Item = f64>, log: bool) -> Self {
        let (low, high) = values
            .filter(|&value| drawable(value, log))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let (low, high) = if low <= high {
            widened(low, high, log)
        } else if log {
            (1.0, 10.0)
        } else {
            (0.0, 1.0)
        };
        Self { low, high, log }
    }

    /// Extends a linear scale to zero if the values are near it.
    pub fn to_zero(self) -> Self {
        let low = if self.low > 0.0 && self.low < self.high / 4.0 {
            0.0
        } else {
            self.low
        };
        let high = if self.high < 0.0 && self.high > self.low / 4.0 {
            0.0
        } else {
            self.high
        };
        Self { low, high, ..self }
    }

    /// Extends a linear scale to multiples of the tick step, if that adds at most `reach` of its
    /// span.
    pub fn rounded(self, most: usize, reach: f64) -> Self {
        let span = self.high - self.low;
        let step = step(span, most);
        let (below, above) = (
            (self.low / step + 1e-9).floor() * step,
            (self.high / step - 1e-9).ceil() * step,
        );
        let low = if self.low - below <= reach * span {
            below
        } else {
            self.low
        };
        let high = if above - self.high <= reach * span {
            above
        } else {
            self.high
        };
        if self.log {
            self
        } else {
            Self { low, high, ..self }
        }
    }

    /// The position of a value, 0 at the low end and 1 at the high end; `None` if it cannot be
    /// drawn.
    pub fn place(&self, value: f64) -> Option<f64> {
        if !drawable(value, self.log) {
            return None;
        }
        let place = if self.log {
            (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        // Snap to the ends, since division may be off in the last bits.
        let end = place.round().clamp(0.0, 1.0);
        (place.abs() <= HUGE).then_some(if (place - end).abs() < 1e-9 {
            end
        } else {
            place
        })
    }

    /// Round numbers within the range, about `most`, and at least one if `most` >= 3.
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        let powers = if self.log {
            self.powers(most)
        } else {
            Vec::new()
        };
        // Less than one decade: linear ticks at logarithmic positions.
        let labelled = if powers.len() >= 2 {
            powers
        } else {
            self.multiples(most)
        };
        labelled
            .into_iter()
            .filter_map(|(value, label)| {
                Some(Tick {
                    at: self.place(value)?,
                    label,
                })
            })
            .collect()
    }

    /// 1, 2 and 5 times powers of ten, or powers of ten, thinned if too many.
    fn powers(&self, most: usize) -> Vec<(f64, String)> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let stride = decades.clone().count().div_ceil(most.max(1));
        let of = |mantissas: &[u8]| {
            let written = decades.clone().step_by(stride);
            let values = written.flat_map(|power| {
                mantissas
                    .iter()
                    .map(move |mantissa| format!("{mantissa}e{power}"))
            });
            let close = |value: &f64| {
                *value >= self.low * (1.0 - 1e-9) && *value <= self.high * (1.0 + 1e-9)
            };
            values
                .filter_map(|written| Some((written.parse().ok().filter(close)?, written)))
                .map(|(value, written)| {
                    (
                        value,
                        if (1e-3..1e6).contains(&value) {
                            grouped(&value.to_string())
                        } else {
                            minus(&written)
                        },
                    )
                })
                .collect::<Vec<_>>()
        };
        let dense = of(&[1, 2, 5]);
        if dense.len() <= most { dense } else { of(&[1]) }
    }

    /// Multiples of 1, 2 or 5 times a power of ten.
    fn multiples(&self, most: usize) -> Vec<(f64, String)> {
        let step = step(self.high - self.low, most);
        let (first, last) = (
            (self.low / step - 1e-9).ceil(),
            (self.high / step + 1e-9).floor(),
        );
        let largest = self.low.abs().max(self.high.abs());
        let count = (last - first + 1.0).clamp(0.0, 100.0) as usize;
        (0..count)
            .map(|n| (first + n as f64) * step)
            .map(|value| (value, number(value, step, largest)))
            .collect()
    }
}

/// Whether a value can be drawn.
fn drawable(value: f64, log: bool) -> bool {
    value.abs() <= HUGE && (!log || value >= TINY)
}

/// Widens an empty range.
fn widened(low: f64, high: f64, log: bool) -> (f64, f64) {
    let largest = low.abs().max(high.abs());
    if high - low > largest * 1e-12 && high - low > TINY {
        (low, high)
    } else if log {
        (low / 2.0, high * 2.0)
    } else if largest < TINY {
        (0.0, 1.0)
    } else {
        (low - largest / 10.0, high + largest / 10.0)
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that divides `span` into at most `most` parts.
fn step(span: f64, most: usize) -> f64 {
    let least = span / most.max(1) as f64;
    let power = power_of_ten(least.log10().floor() as i32);
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|times| times * power)
        .find(|&step| step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// Parsed from decimal, because `powi` does not guarantee the nearest float.
fn power_of_ten(power: i32) -> f64 {
    format!("1e{power}").parse().unwrap_or(1.0)
}

/// Formats a multiple of `step` with as many digits as the step needs, in the same form for all up
/// to `largest`.
fn number(value: f64, step: f64, largest: f64) -> String {
    let power = |value: f64| (value.log10() + 1e-9).floor() as i32;
    if value.abs() < step / 2.0 {
        return "0".to_owned();
    }
    if (1e-3..1e7).contains(&largest) {
        return grouped(&format!(
            "{value:.*}",
            usize::try_from(-power(step)).unwrap_or(0)
        ));
    }
    minus(&format!(
        "{value:.*e}",
        usize::try_from(power(value.abs()) - power(step)).unwrap_or(0)
    ))
}

/// Formats `-12345.5` as `−12,345.5`; four digits are not grouped.
fn grouped(written: &str) -> String {
    let (whole, fraction) = written.split_at(written.find('.').unwrap_or(written.len()));
    let digits = whole.trim_start_matches('-').len();
    if digits < 5 {
        return minus(written);
    }
    let mut groups = String::new();
    for (at, letter) in whole.chars().enumerate() {
        let left = whole.len() - at;
        if left % 3 == 0 && left < digits {
            groups.push(',');
        }
        groups.push(letter);
    }
    minus(&(groups + fraction))
}

/// Replaces hyphens by minus signs.
fn minus(written: &str) -> String {
    written.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(low: f64, high: f64, log: bool, most: usize) -> String {
        let scale = Scale::from_range(Some((low, high)), log).expect("a range");
        scale
            .ticks(most)
            .into_iter()
            .map(|tick| tick.label)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn tick_labels_are_round_and_short() {
        assert_eq!(labels(0.0, 1.0, false, 6), "0 0.2 0.4 0.6 0.8 1.0");
        assert_eq!(labels(-3.0, 7.0, false, 5), "−2 0 2 4 6");
        assert_eq!(
            labels(0.0, 25_000.0, false, 6),
            "0 5000 10,000 15,000 20,000 25,000"
        );
        assert_eq!(labels(0.0, 4e-5, false, 4), "0 1e−5 2e−5 3e−5 4e−5");
        assert_eq!(labels(0.0, 1.2e-5, false, 3), "0 5e−6 1.0e−5");
        assert_eq!(
            labels(1e9, 1e9 + 2.0, false, 2),
            "1.000000000e9 1.000000001e9 1.000000002e9"
        );
        assert_eq!(labels(1.0, 64.0, true, 8), "1 2 5 10 20 50");
        assert_eq!(
            labels(1.0, 1e8, true, 9),
            "1 10 100 1000 10,000 100,000 1e6 1e7 1e8"
        );
        assert_eq!(labels(30.0, 60.0, true, 4), "30 40 50 60");
    }

    #[test]
    fn ranges_are_extended_to_round_numbers_and_zero() {
        let of = |values: &[f64]| {
            Scale::of(values.iter().copied(), false)
                .to_zero()
                .rounded(6, 1.0)
        };
        assert_eq!(
            of(&[0.3, 5.7]),
            Scale {
                low: 0.0,
                high: 6.0,
                log: false
            }
        );
        assert_eq!(
            of(&[90.2, 93.9]),
            Scale {
                low: 90.0,
                high: 94.0,
                log: false
            }
        );
        assert_eq!(
            of(&[-8.0, -1.0]),
            Scale {
                low: -8.0,
                high: 0.0,
                log: false
            }
        );
        assert_eq!(
            of(&[]),
            Scale {
                low: 0.0,
                high: 1.0,
                log: false
            }
        );
        let flat = of(&[2.0, 2.0]);
        assert!(flat.low < 2.0 && flat.high > 2.0);
        // From 1 to 4999, an extension of 3 % reaches 0 and 5000, but not from 4700.
        let steps = |last| Scale::of([1.0, last].into_iter(), false).rounded(10, 0.03);
        assert_eq!(
            steps(4999.0),
            Scale {
                low: 0.0,
                high: 5000.0,
                log: false
            }
        );
        assert_eq!(
            steps(4700.0),
            Scale {
                low: 0.0,
                high: 4700.0,
                log: false
            }
        );
    }

    #[test]
    fn values_at_the_ends_are_in_range() {
        // As doubles 0.94 - 0.14 is slightly less than 0.8.
        let lowest = 0.94 - 0.14;
        let scale = Scale::of([lowest, 0.938].into_iter(), false).rounded(6, 1.0);
        assert!(lowest < scale.low && scale.place(lowest) == Some(0.0));
        assert_eq!(scale.place(0.95), Some(1.0));
    }

    #[test]
    fn invalid_ranges_are_refused() {
        for none in [
            (1.0, 1.0),
            (2.0, 1.0),
            (f64::NAN, 1.0),
            (0.0, f64::INFINITY),
        ] {
            assert_eq!(Scale::from_range(Some(none), false), None);
        }
        assert_eq!(Scale::from_range(Some((0.0, 10.0)), true), None);
        assert_eq!(
            Scale::from_range(Some((0.0, 10.0)), false),
            Some(Scale {
                low: 0.0,
                high: 10.0,
                log: false
            })
        );
    }

    proptest! {
        #[test]
        fn ticks_are_in_range_in_order_and_few(
            values in proptest::collection::vec(proptest::num::f64::ANY, 0..5),
            log: bool,
            round: bool,
            most in 3usize..12,
        ) {
            let scale = Scale::of(values.iter().copied(), log);
            let scale = if round {
                scale.rounded(most, 1.0)
            } else {
                scale
            };
            prop_assert!(scale.low < scale.high && scale.low.is_finite() && scale.high.is_finite());
            let ticks = scale.ticks(most);
            prop_assert!(
                (1..=most + 1).contains(&ticks.len()),
                "{} for {scale:?}",
                ticks.len()
            );
            prop_assert!(
                ticks
                    .iter()
                    .all(|tick| (-1e-6..1.000_001).contains(&tick.at)),
                "{ticks:?}"
            );
            prop_assert!(
                ticks
                    .windows(2)
                    .all(|pair| pair[0].at < pair[1].at && pair[0].label != pair[1].label),
                "{ticks:?}"
            );
            for value in values {
                let place = scale.place(value);
                prop_assert!(
                    place.is_none_or(|place| (-1e-6..1.000_001).contains(&place)),
                    "{place:?}"
                );
            }
        }
    }
}
