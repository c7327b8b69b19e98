//! Adversarial examples: the Fast Gradient Sign Method on an entity's input embeddings (PEL,
//! section 4.2).
//!
//! The caller multiplies ε by the deviation of the embedding tables. One setting then suits several
//! encoders and does not depend on the knowledge base. Directions are found in f32: they are signs.

use burn::tensor::Tensor;

/// The direction in which a perturbation changes a pair's similarity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// Eq. 6: a negative becomes more similar, s(m, e-) rises.
    Higher,
    /// Eq. 7: the positive becomes less similar, s(m, e+) falls.
    Lower,
}

/// The perturbation of the input embeddings z of each pair's entity: `±ε sign(∇z s(m, e))`. An
/// entity in several pairs has one for each. The result is a constant on a device without
/// gradients.
///
/// `scores` computes the similarity of each pair from its embeddings. Its weights should be frozen;
/// see [`burn::module::Module::no_grad`].
///
/// # Shapes
/// z `[pairs, seq, hidden]`, scores and towards `[pairs]` -> `[pairs, seq, hidden]`
///
/// # Panics
/// If z is not on a device with gradients.
pub fn fgsm(
    z: Tensor<3>,
    towards: &[Towards],
    epsilon: f32,
    scores: impl FnOnce(Tensor<3>) -> Tensor<1>,
) -> Tensor<3> {
    let z = z.detach().require_grad();
    // A pair's similarity depends only on its own embeddings, so the gradient of the sum has each
    // pair's gradient.
    let gradients = scores(z.clone()).sum().backward();
    let Some(gradient) = z.grad(&gradients) else {
        return z.inner().zeros_like();
    };
    let signs: Vec<f32> = towards
        .iter()
        .map(|towards| match towards {
            Towards::Higher => epsilon,
            Towards::Lower => -epsilon,
        })
        .collect();
    let signs =
        Tensor::<1>::from_floats(&signs[..], &z.device().inner()).reshape([signs.len(), 1, 1]);
    gradient.sign() * signs
}
