//! Adversarial examples: the Fast Gradient Sign Method on an entity's input embeddings (PEL, section 4.2).

use crate::bert::{BertInput, Pass};
use crate::biencoder::{Reduction, Tower};
use burn::tensor::Tensor;

/// Which way a perturbation moves a pair's similarity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// Eq. 6: a negative comes nearer, s(m, e-) rises.
    Higher,
    /// Eq. 7: the positive goes away, s(m, e+) falls.
    Lower,
}

/// What to add to the input embeddings z of each pair's entity: `±ε sign(∇z s(m, e))`, one for each pair, also where an
/// entity stands in several. It is a constant: no gradient flows through it.
///
/// The tower takes part without gradients of its own; see [`burn::module::Module::no_grad`].
///
/// # Shapes
/// entities `[pairs, seq]`, mentions `[pairs, dim]` (as reduced as the tower's vectors), towards `[pairs]` ->
/// `[pairs, seq, hidden]`
///
/// # Panics
/// If the entities are not on a device with gradients.
pub fn fgsm(
    tower: &Tower,
    entities: &BertInput,
    mentions: Tensor<2>,
    towards: &[Towards],
    epsilon: f32,
    reduction: Reduction,
) -> Tensor<3> {
    let z = tower.bert().embedding_sum(entities).detach().require_grad();
    let hidden = tower.bert().forward_from_sum(z.clone(), &entities.mask, &Pass::default());
    let vectors = tower.reduce(hidden, entities, reduction);
    // A pair's similarity depends on its own embeddings alone: the gradient of the sum is each pair's own.
    let gradients = (vectors * mentions.detach()).sum().backward();
    let Some(gradient) = z.grad(&gradients) else { return z.zeros_like() };
    let signs: Vec<f32> = towards
        .iter()
        .map(|towards| match towards {
            Towards::Higher => epsilon,
            Towards::Lower => -epsilon,
        })
        .collect();
    let signs = Tensor::<1>::from_floats(&signs[..], &z.device().inner()).reshape([signs.len(), 1, 1]);
    (gradient.sign() * signs).autodiff()
}
