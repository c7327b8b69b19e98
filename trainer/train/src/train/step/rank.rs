//! The cross-encoder's loss over pairs of a mention and a candidate (BLINK, section 4.2; PEL,
//! appendix B).

use super::super::batch::RankBatch;
use super::clock::Phase;
use super::{Outcome, Step, tokens_in, towards};
use burn::module::Module;
use burn::tensor::Tensor;
use pel_kb::error::Result;
use pel_model::burn::bert::Pass;
use pel_model::burn::biencoder::Tower;
use pel_model::losses::fgsm::fgsm;
use pel_model::tokens::Encoded;
use pel_model::tower::Side;

impl Step<'_> {
    /// Cross-entropy over the candidates of each mention; with FGSM, also over pairs with perturbed
    /// entity embeddings.
    ///
    /// # Errors
    /// If the device fails.
    pub fn rank(&self, batch: &RankBatch<'_>) -> Result<Outcome> {
        let rows: Vec<&Encoded> = batch.pairs.iter().collect();
        let mut clock = self.clock()?;
        let input = self.input(&rows);
        let tower = self.towers.tower(Side::Mention);
        let score = |tower: &Tower, z: Tensor<3>, pass: &Pass| {
            let hidden = tower.bert().forward_from_sum(z, &input.mask, pass);
            tower
                .reduce(hidden, &input, self.model.reduction)
                .reshape([rows.len()])
        };
        let targets = self.targets(&batch.pairing, batch.width);
        let loss = |scores| self.loss(self.spread(scores, &batch.pairing, batch.width), &targets);
        let z = tower.bert().embedding_sum(&input);
        let mut sum = loss(score(tower, z.clone(), &self.pass(0)));
        let mut tokens = tokens_in(rows.iter().copied());
        clock.end(Phase::Plain)?;
        if self.config.fgsm.lambda > 0.0 {
            let frozen = tower.clone().no_grad();
            let compared = batch.pairing.iter().filter(|pairing| pairing.compared());
            let signs: Vec<_> = compared.map(|pairing| towards(*pairing)).collect();
            let epsilon = self.config.fgsm.absolute_epsilon as f32;
            let step = fgsm(z.clone(), &signs, epsilon, |z| {
                score(&frozen, z, &Pass::default())
            });
            clock.end(Phase::Direction)?;
            let [batch_size, seq] = input.segments.dims();
            // Only the tokens of the entity, which are the second segment, are perturbed.
            let of_entity = input.segments.clone().float().reshape([batch_size, seq, 1]);
            sum = sum
                + loss(score(tower, z + step * of_entity, &self.pass(1))) * self.config.fgsm.lambda;
            tokens *= 2;
            clock.end(Phase::Perturbed)?;
        }
        self.outcome(sum.sum(), tokens, clock)
    }
}
