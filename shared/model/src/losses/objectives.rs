//! The losses, from the scores of a batch: cross-entropy, the proxy-based loss (PEL, section 4.1),
//! distillation (BLINK, section 4.3) and the multi-similarity loss of self-alignment.
//!
//! Each is unreduced, with one value for each row; the caller takes the mean. All are numerically
//! stable: exponents are relative to the row's largest.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// The entities of a batch that a mention is compared with. Entities in neither mask are ignored.
#[derive(Clone, Debug)]
pub struct Targets {
    /// `[mentions, entities]`, 1 = e+, the gold entity; exactly one in each row.
    pub positive: Tensor<2>,
    /// `[mentions, entities]`, 1 = in P-, a negative.
    pub negative: Tensor<2>,
}

/// The hyper-parameters of the proxy-based loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proxy {
    /// α: the scale of the similarities.
    pub alpha: f64,
    /// δ: the margin.
    pub delta: f64,
}

impl Default for Proxy {
    /// PEL, table 6.
    fn default() -> Self {
        Self {
            alpha: 32.0,
            delta: 0.0,
        }
    }
}

/// The hyper-parameters of the multi-similarity loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MultiSimilarity {
    /// α: the scale of positives.
    pub alpha: f64,
    /// β: the scale of negatives.
    pub beta: f64,
    /// λ: the similarity at which neither has an effect.
    pub base: f64,
    /// The mining margin: a pair counts if it is in a triplet whose positive is not more similar
    /// than its negative by this margin.
    pub margin: f64,
}

impl Default for MultiSimilarity {
    /// The values of SapBERT (Liu et al., 2021).
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 60.0,
            base: 0.5,
            margin: 0.2,
        }
    }
}

/// Added to masked-out values.
const OUT: f32 = 1e30;

/// Cross-entropy (PEL, eq. 1): `-log(exp s(m, e+) / Σ exp s(m, e))` over e+ and P-.
///
/// # Shapes
/// scores `[mentions, entities]` -> `[mentions]`
pub fn cross_entropy(scores: Tensor<2>, targets: &Targets) -> Tensor<1> {
    let mentions = scores.dims()[0];
    let taking_part = targets.positive.clone() + targets.negative.clone();
    let masked = mask(scores.clone(), &taking_part);
    let largest = masked.clone().detach().max_dim(1); // [mentions, 1]
    let sum = ((masked - largest.clone()).exp() * taking_part).sum_dim(1);
    let all = sum.log() + largest;
    (all - positive(scores, targets)).reshape([mentions])
}

/// The proxy-based loss (PEL, eq. 3): `log(1 + exp(-α(s(m, e+) - δ))) + log(1 + Σ exp(α(s(m, e-) +
/// δ)))` over P-.
///
/// # Shapes
/// scores `[mentions, entities]` -> `[mentions]`
pub fn proxy(scores: Tensor<2>, targets: &Targets, options: Proxy) -> Tensor<1> {
    let Proxy { alpha, delta } = options;
    let positive = (positive(scores.clone(), targets) - delta) * -alpha; // [mentions, 1]
    let one = positive.ones_like();
    let negative = (scores + delta) * alpha;
    log_one_plus(positive, &one) + log_one_plus(negative, &targets.negative)
}

/// Distillation (BLINK, eq. 7 and 8): the cross-entropy `-Σ σ(z_t; T) log σ(z_s; T)` of the
/// student's tempered softmax under the teacher's, over the unmasked entities. As in the paper,
/// without a factor T².
///
/// # Shapes
/// both scores and the mask (1 = unmasked; at least one in each row) `[mentions, entities]` ->
/// `[mentions]`
pub fn distillation(
    student: Tensor<2>,
    teacher: Tensor<2>,
    taking_part: &Tensor<2>,
    temperature: f64,
) -> Tensor<1> {
    let mentions = student.dims()[0];
    let shares = log_softmax(teacher / temperature, taking_part).exp() * taking_part.clone();
    let logs = log_softmax(student / temperature, taking_part);
    (shares * logs).sum_dim(1).neg().reshape([mentions])
}

/// The log-softmax over the unmasked entries of a row; far below zero in the others.
fn log_softmax(scores: Tensor<2>, taking_part: &Tensor<2>) -> Tensor<2> {
    let masked = mask(scores, taking_part);
    let largest = masked.clone().detach().max_dim(1); // [rows, 1]
    let shifted = masked - largest;
    let sum = (shifted.clone().exp() * taking_part.clone()).sum_dim(1);
    shifted - sum.log()
}

/// The multi-similarity loss (Wang et al., 2019) over triplets that violate the margin, as in
/// SapBERT: `1/α log(1 + Σ exp(-α(s - base))) + 1/β log(1 + Σ exp(β(s - base)))` over a row's
/// positives and its negatives. A row without such a triplet has loss 0.
///
/// # Shapes
/// scores, positives and negatives `[anchors, others]` (1 = a pair) -> `[anchors]`
pub fn multi_similarity(
    scores: Tensor<2>,
    positives: &Tensor<2>,
    negatives: &Tensor<2>,
    options: MultiSimilarity,
) -> Tensor<1> {
    let MultiSimilarity {
        alpha,
        beta,
        base,
        margin,
    } = options;
    let seen = scores.clone().detach();
    let nearest_negative = mask(seen.clone(), negatives).max_dim(1); // [anchors, 1]
    let farthest_positive = mask(-seen.clone(), positives).max_dim(1).neg();
    let close = |difference: Tensor<2>| difference.lower_equal_elem(margin).float();
    let positives = positives.clone() * close(seen.clone() - nearest_negative);
    let negatives = negatives.clone() * close(farthest_positive - seen);
    let pull = log_one_plus((scores.clone() - base) * -alpha, &positives) / alpha;
    let push = log_one_plus((scores - base) * beta, &negatives) / beta;
    pull + push
}

/// # Shapes
/// -> `[mentions, 1]`
fn positive(scores: Tensor<2>, targets: &Targets) -> Tensor<2> {
    (scores * targets.positive.clone()).sum_dim(1)
}

fn mask(values: Tensor<2>, taking_part: &Tensor<2>) -> Tensor<2> {
    values * taking_part.clone() + (taking_part.clone() - 1.0) * OUT
}

/// `log(1 + Σ exp x)` over the unmasked entries of a row; 0 if there are none.
///
/// # Shapes
/// `[rows, places]` -> `[rows]`
fn log_one_plus(x: Tensor<2>, taking_part: &Tensor<2>) -> Tensor<1> {
    let rows = x.dims()[0];
    let masked = mask(x, taking_part);
    let largest = masked.clone().detach().max_dim(1).clamp_min(0.0); // [rows, 1]
    let sum = (masked - largest.clone()).exp().sum_dim(1);
    // 1 is exp(0 - largest) here. log1p is exact for small values.
    let one = largest.clone().neg().exp() - 1.0;
    ((sum + one).log1p() + largest).reshape([rows])
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;
    use proptest::prelude::*;

    fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().try_to_vec().expect("floats")
    }

    /// One mention. The first entity is the gold entity, the others are negatives.
    fn first(scores: &[f32], device: &Device) -> (Tensor<2>, Targets) {
        let places = scores.len();
        let positive: Vec<f32> = (0..places).map(|at| f32::from(u8::from(at == 0))).collect();
        let row = |values: &[f32]| Tensor::<1>::from_floats(values, device).reshape([1, places]);
        let positive = row(&positive);
        (
            row(scores),
            Targets {
                negative: 1.0 - positive.clone(),
                positive,
            },
        )
    }

    fn exact(scores: &[f32], Proxy { alpha, delta }: Proxy) -> f64 {
        let positive = (-alpha * (f64::from(scores[0]) - delta)).exp().ln_1p();
        let sum: f64 = scores[1..]
            .iter()
            .map(|score| (alpha * (f64::from(*score) + delta)).exp())
            .sum();
        positive + sum.ln_1p()
    }

    #[test]
    fn losses_match_hand_computed_values() {
        let device = Device::flex();
        // e^0 / (e^0 + e^0 + e^0): log 3.
        let (scores, targets) = first(&[0.0, 0.0, 0.0], &device);
        let loss = floats(cross_entropy(scores.clone(), &targets));
        assert!((loss[0] - 3f32.ln()).abs() < 1e-6, "{loss:?}");
        // log(1 + 1) + log(1 + 2).
        let loss = floats(proxy(scores, &targets, Proxy::default()));
        assert!((loss[0] - 6f32.ln()).abs() < 1e-6, "{loss:?}");
        // A margin of 0.1 at α = 10 makes both exponents 1: log(1 + e) + log(1 + 2e).
        let (scores, targets) = first(&[0.0, 0.0, 0.0], &device);
        let loss = floats(proxy(
            scores,
            &targets,
            Proxy {
                alpha: 10.0,
                delta: 0.1,
            },
        ));
        let e = std::f32::consts::E;
        assert!(
            (loss[0] - (1.0 + e).ln() - (1.0 + 2.0 * e).ln()).abs() < 1e-5,
            "{loss:?}"
        );
    }

    #[test]
    fn entities_in_neither_mask_are_ignored() {
        let device = Device::flex();
        let (scores, targets) = first(&[0.3, 0.2], &device);
        let (wide, mut wide_targets) = first(&[0.3, 0.2, 900.0], &device);
        wide_targets.negative = Tensor::from_floats([[0.0, 1.0, 0.0]], &device);
        let options = Proxy::default();
        assert_eq!(
            floats(proxy(scores.clone(), &targets, options)),
            floats(proxy(wide.clone(), &wide_targets, options))
        );
        assert_eq!(
            floats(cross_entropy(scores, &targets)),
            floats(cross_entropy(wide, &wide_targets))
        );
    }

    #[test]
    fn without_negatives_only_the_positive_counts() {
        let device = Device::flex();
        let (scores, targets) = first(&[0.5], &device);
        assert_eq!(floats(cross_entropy(scores.clone(), &targets)), [0.0]);
        let loss = floats(proxy(
            scores,
            &targets,
            Proxy {
                alpha: 2.0,
                delta: 0.0,
            },
        ));
        assert!((loss[0] - (-1f32).exp().ln_1p()).abs() < 1e-6, "{loss:?}");
    }

    #[test]
    fn distillation_matches_hand_computed_values() {
        let device = Device::flex();
        let tensor = |values: [[f32; 3]; 1]| Tensor::<2>::from_floats(values, &device);
        let (all, two) = (tensor([[1.0; 3]]), tensor([[1.0, 1.0, 0.0]]));
        // The third entity is masked out. Teacher: e^(ln 3) to 1, so 3/4 and 1/4; student: halves.
        let teacher = tensor([[3f32.ln(), 0.0, 99.0]]);
        let loss = floats(distillation(
            tensor([[5.0, 5.0, -3.0]]),
            teacher.clone(),
            &two,
            1.0,
        ));
        assert!((loss[0] - 2f32.ln()).abs() < 1e-6, "{loss:?}");
        // At T = 2 the teacher's probabilities are √3 to 1, the student's e^(1/2) to 1.
        let loss = floats(distillation(tensor([[1.0, 0.0, 0.0]]), teacher, &two, 2.0));
        let (share, sum) = (3f32.sqrt() / (3f32.sqrt() + 1.0), (0.5f32.exp() + 1.0).ln());
        let expected = -(share * (0.5 - sum) - (1.0 - share) * sum);
        assert!(
            (loss[0] - expected).abs() < 1e-6,
            "{loss:?}, expected {expected}"
        );
        // A teacher with probability 1 for one entity gives the cross-entropy.
        let scores = tensor([[0.2, -1.0, 0.7]]);
        let sure = floats(distillation(
            scores.clone(),
            tensor([[1e4, 0.0, 0.0]]),
            &all,
            1.0,
        ));
        let (_, targets) = first(&[0.0; 3], &device);
        assert!(
            (sure[0] - floats(cross_entropy(scores, &targets))[0]).abs() < 1e-6,
            "{sure:?}"
        );
    }

    #[test]
    fn satisfied_triplets_have_zero_loss() {
        let device = Device::flex();
        let tensor = |values: [[f32; 3]; 2]| Tensor::<2>::from_floats(values, &device);
        let (positives, negatives) = (tensor([[1.0, 0.0, 0.0]; 2]), tensor([[0.0, 1.0, 1.0]; 2]));
        // First row: 0.9 is nearer than 0.1 and 0.2 by more than 0.2. Second row: the triplet with
        // 0.8 violates the margin.
        let scores = tensor([[0.9, 0.1, 0.2], [0.9, 0.8, 0.2]]);
        let options = MultiSimilarity {
            alpha: 2.0,
            beta: 10.0,
            base: 0.5,
            margin: 0.2,
        };
        let loss = floats(multi_similarity(scores, &positives, &negatives, options));
        assert_eq!(loss[0], 0.0);
        let expected = (-0.8f32).exp().ln_1p() / 2.0 + 3f32.exp().ln_1p() / 10.0;
        assert!(
            (loss[1] - expected).abs() < 1e-5,
            "{loss:?}, expected {expected}"
        );
    }

    proptest! {
        #[test]
        fn the_proxy_loss_is_exact_and_finite(
            scores in prop::collection::vec(-1.0f32..1.0, 2..40),
            delta in 0.0f64..0.5,
        ) {
            let device = Device::flex();
            let options = Proxy { alpha: 32.0, delta };
            let (tensor, targets) = first(&scores, &device);
            let found = floats(proxy(tensor, &targets, options))[0];
            let expected = exact(&scores, options);
            prop_assert!(
                (f64::from(found) - expected).abs() <= 1e-5 * expected.max(1.0),
                "{found}, exactly {expected}"
            );
        }
    }

    #[cfg(feature = "autodiff")]
    mod gradients {
        use super::*;

        fn gradient(scores: &[f32], loss: impl Fn(Tensor<2>, &Targets) -> Tensor<1>) -> Vec<f32> {
            let device = Device::flex().autodiff();
            let (scores, targets) = first(scores, &device);
            let scores = scores.require_grad();
            let grads = loss(scores.clone(), &targets).sum().backward();
            floats(scores.grad(&grads).expect("asked for"))
        }

        #[test]
        fn the_gradient_of_cross_entropy_is_equation_2() {
            let scores = [1.5f32, 0.2, -3.0, 1.4];
            let sum: f32 = scores.iter().map(|score| score.exp()).sum();
            for (at, found) in gradient(&scores, cross_entropy).into_iter().enumerate() {
                let expected = scores[at].exp() / sum - f32::from(u8::from(at == 0));
                assert!(
                    (found - expected).abs() < 1e-6,
                    "{at}: {found}, expected {expected}"
                );
            }
        }

        #[test]
        fn the_gradient_of_the_proxy_loss_is_equation_4() {
            // The last one has scores far out, where a naive exponential overflows.
            for (scores, alpha, delta) in [
                ([0.7f32, 0.2, -0.3, 0.65], 32.0f64, 0.0f64),
                ([0.1, 0.2, 0.0, -0.9], 32.0, 0.1),
                ([-9.0, 9.0, 8.9, 0.0], 32.0, 0.05),
            ] {
                let found = gradient(&scores, |scores, targets| {
                    proxy(scores, targets, Proxy { alpha, delta })
                });
                let power = |at: usize| alpha * (f64::from(scores[at]) + delta);
                let sum: f64 = 1.0 + (1..4).map(|at| power(at).exp()).sum::<f64>();
                for (at, found) in found.into_iter().enumerate() {
                    let expected = match at {
                        // exp(-x) / (1 + exp(-x)) = 1 / (1 + exp(x))
                        0 => -alpha / (1.0 + (alpha * (f64::from(scores[0]) - delta)).exp()),
                        _ => alpha * power(at).exp() / sum,
                    };
                    assert!(
                        (f64::from(found) - expected).abs() < 1e-4 * alpha,
                        "{at}: {found}, expected {expected}"
                    );
                }
            }
        }

        #[test]
        fn gradients_match_finite_differences() {
            let scores = [0.31f32, 0.22, 0.3, -0.5, 0.05];
            type Loss = fn(Tensor<2>, &Targets) -> Tensor<1>;
            let losses: [(&str, Loss); 4] = [
                ("cross-entropy", |scores, targets| {
                    cross_entropy(scores * 4.0, targets)
                }),
                ("proxy", |scores, targets| {
                    proxy(
                        scores,
                        targets,
                        Proxy {
                            alpha: 8.0,
                            delta: 0.05,
                        },
                    )
                }),
                ("distillation", |scores, targets| {
                    let teacher =
                        Tensor::from_floats([[0.9, 0.5, -0.3, 0.1, 2.0]], &Device::flex());
                    let teacher = if cfg!(feature = "autodiff") && scores.device() != Device::flex()
                    {
                        teacher.autodiff()
                    } else {
                        teacher
                    };
                    distillation(
                        scores,
                        teacher,
                        &(targets.positive.clone() + targets.negative.clone()),
                        2.0,
                    )
                }),
                ("multi-similarity", |scores, targets| {
                    multi_similarity(
                        scores,
                        &targets.positive,
                        &targets.negative,
                        MultiSimilarity::default(),
                    )
                }),
            ];
            for (name, loss) in losses {
                let found = gradient(&scores, loss);
                let value = |scores: &[f32]| {
                    let (scores, targets) = first(scores, &Device::flex());
                    floats(loss(scores, &targets))[0]
                };
                let step = 1e-3;
                for at in 0..scores.len() {
                    let (mut more, mut less) = (scores, scores);
                    (more[at], less[at]) = (scores[at] + step, scores[at] - step);
                    let expected = (value(&more) - value(&less)) / (2.0 * step);
                    assert!(
                        (found[at] - expected).abs() < 5e-3,
                        "{name} {at}: {}, differences {expected}",
                        found[at]
                    );
                }
            }
        }
    }
}
