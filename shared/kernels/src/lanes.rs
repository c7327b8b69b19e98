//! Functions of sixteen numbers at once.
//!
//! They propagate NaN: limits are written as comparisons, which are false for NaN.

// A loop over lanes by number becomes one instruction.
#![allow(clippy::needless_range_loop)]

use super::isa::InstructionSet;

/// Lanes of one step, and columns of a panel of a packed matrix.
pub const LANES: usize = 16;

/// Sixteen numbers.
pub type Lane = [f32; LANES];

/// `a * b + c`, fused if the instruction set can.
#[inline(always)]
pub fn fma<I: InstructionSet>(a: f32, b: f32, c: f32) -> f32 {
    if I::FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Sixteen lanes of a function of one. Not by a closure: the compiler may leave one outside of the
/// instructions that its caller is compiled for.
macro_rules! sixteen {
    ($(#[$meta:meta])* $name:ident, $one:ident) => {
        $(#[$meta])*
        #[inline(always)]
        pub fn $name<I: InstructionSet>(x: Lane) -> Lane {
            let mut y = [0.0; LANES];
            for lane in 0..LANES {
                y[lane] = $one::<I>(x[lane]);
            }
            y
        }
    };
}

sixteen!(/// eˣ to about 1e-7 of its size; 0 below -87.3, and never infinite: at most e^88.3.
    exp, exp_one);
sixteen!(/// x Φ(x), where Φ is the normal distribution function.
    gelu, gelu_one);
sixteen!(/// The derivative of [`gelu`]: Φ(x) + x φ(x).
    gelu_slope, gelu_slope_one);
sixteen!(/// The approximation of [`gelu`] by tanh.
    gelu_tanh, gelu_tanh_one);
sixteen!(/// The derivative of [`gelu_tanh`].
    gelu_tanh_slope, gelu_tanh_slope_one);

/// The polynomial with the given coefficients, lowest power first.
#[inline(always)]
fn polynomial<I: InstructionSet, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    for at in (0..N - 1).rev() {
        sum = fma::<I>(sum, x, coefficients[at]);
    }
    sum
}

/// x = n ln 2 + r, eʳ by a polynomial of least error on [-ln 2 / 2, ln 2 / 2], 2ⁿ by its bits.
#[inline(always)]
fn exp_one<I: InstructionSet>(x: f32) -> f32 {
    // Adding and subtracting it rounds to a whole number; the number then stands in the lowest
    // bits.
    const ROUND: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = if x > 88.3 { 88.3 } else { x };
    let small = x < -87.3;
    let x = if small { -87.3 } else { x };
    let rounded = fma::<I>(x, std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = fma::<I>(n, -LN2_LOW, fma::<I>(n, -LN2_HIGH, x));
    let p = polynomial::<I, 5>(
        r,
        [
            0.499_999_94,
            0.166_665_2,
            0.041_668_393,
            0.008_368_781,
            0.001_381_446_6,
        ],
    );
    let power = fma::<I>(r * r, p, r) + 1.0;
    let two_to_n = f32::from_bits((rounded.to_bits() << 23).wrapping_add(0x3f80_0000));
    if small { 0.0 } else { power * two_to_n }
}

/// The error function to about 3e-7: x P(x²) / Q(x²), fitted on [-3.95, 3.95]; ±1 beyond.
#[inline(always)]
fn erf_one<I: InstructionSet>(x: f32) -> f32 {
    const P: [f32; 7] = [
        std::f32::consts::FRAC_2_SQRT_PI,
        0.202_579_81,
        0.050_922_84,
        0.003_807_707_5,
        0.000_143_805_94,
        -1.950_887e-6,
        1.960_387_4e-8,
    ];
    const Q: [f32; 5] = [
        1.0,
        0.512_863_2,
        0.116_093_22,
        0.014_575_479,
        0.000_979_813_5,
    ];
    let x = if x > 3.95 { 3.95 } else { x };
    let x = if x < -3.95 { -3.95 } else { x };
    let t = x * x;
    x * polynomial::<I, 7>(t, P) / polynomial::<I, 5>(t, Q)
}

/// Half of tanh's argument in the approximate GELU: √(2/π) (x + 0.044715 x³).
const SQRT_2_OVER_PI: f32 = 0.797_884_6;
const CUBIC: f32 = 0.044_715;

#[inline(always)]
fn tanh_one<I: InstructionSet>(x: f32) -> f32 {
    1.0 - 2.0 / (exp_one::<I>(2.0 * x) + 1.0)
}

#[inline(always)]
fn gelu_one<I: InstructionSet>(x: f32) -> f32 {
    let half = 0.5 * x;
    // Minus infinity times zero would be NaN; the limit is zero.
    if x < -30.0 {
        0.0
    } else {
        fma::<I>(
            half,
            erf_one::<I>(x * std::f32::consts::FRAC_1_SQRT_2),
            half,
        )
    }
}

/// x, brought between -30 and 30: beyond, the slopes have reached their limits.
#[inline(always)]
fn near(x: f32) -> f32 {
    let x = if x > 30.0 { 30.0 } else { x };
    if x < -30.0 { -30.0 } else { x }
}

#[inline(always)]
fn gelu_slope_one<I: InstructionSet>(x: f32) -> f32 {
    const INVERSE_SQRT_TWO_PI: f32 = 0.398_942_3;
    let below = fma::<I>(0.5, erf_one::<I>(x * std::f32::consts::FRAC_1_SQRT_2), 0.5);
    let x = near(x);
    fma::<I>(x * INVERSE_SQRT_TWO_PI, exp_one::<I>(-0.5 * x * x), below)
}

#[inline(always)]
fn gelu_tanh_one<I: InstructionSet>(x: f32) -> f32 {
    let inner = SQRT_2_OVER_PI * fma::<I>(CUBIC * x * x, x, x);
    let half = 0.5 * x;
    if x < -30.0 {
        0.0
    } else {
        fma::<I>(half, tanh_one::<I>(inner), half)
    }
}

#[inline(always)]
fn gelu_tanh_slope_one<I: InstructionSet>(x: f32) -> f32 {
    let x = near(x);
    let tanh = tanh_one::<I>(SQRT_2_OVER_PI * fma::<I>(CUBIC * x * x, x, x));
    let inner = SQRT_2_OVER_PI * fma::<I>(3.0 * CUBIC * x, x, 1.0);
    fma::<I>(0.5 * x * inner, 1.0 - tanh * tanh, fma::<I>(0.5, tanh, 0.5))
}

/// max(x, 0)
#[inline(always)]
pub fn relu(x: Lane) -> Lane {
    let mut y = x;
    for lane in 0..LANES {
        y[lane] = if x[lane] < 0.0 { 0.0 } else { x[lane] };
    }
    y
}

/// The derivative of [`relu`], 0 at 0.
#[inline(always)]
pub fn relu_slope(x: Lane) -> Lane {
    let mut y = x;
    for lane in 0..LANES {
        y[lane] = if x[lane] > 0.0 { 1.0 } else { 0.0 };
    }
    y
}

/// The sum of the lanes, always in the same order.
#[inline(always)]
pub fn sum(x: Lane) -> f32 {
    let mut x = x;
    for width in [8, 4, 2, 1] {
        for lane in 0..width {
            x[lane] += x[lane + width];
        }
    }
    x[0]
}

/// The largest lane. NaN may be ignored.
#[inline(always)]
pub fn max(x: Lane) -> f32 {
    let mut x = x;
    for width in [8, 4, 2, 1] {
        for lane in 0..width {
            x[lane] = larger(x[lane], x[lane + width]);
        }
    }
    x[0]
}

/// The larger of two; `a` if `b` is NaN.
#[inline(always)]
pub fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}
