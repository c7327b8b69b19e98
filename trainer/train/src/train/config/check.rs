//! Checks the values of a configuration.

use super::{Config, Loss, LossKind, NegativeKind, Negatives, Task};
use burn::tensor::Device;
use pel_kb::error::{Error, Result};
use pel_kb::score::Scorer;
use pel_model::burn::bert::multiplies_in;
use pel_model::losses::objectives::MultiSimilarity;
use pel_model::tokens::View;

impl Config {
    /// Checks the ranges of values, and that they fit together.
    ///
    /// # Errors
    /// If a value is invalid; the error names its key.
    pub(super) fn validate(&self) -> Result<()> {
        self.check_bounds()?;
        let refuse = |key: &str, expected: &str, found: &dyn std::fmt::Display| {
            Err(Error::input(format!(
                "the configuration: `{key}`: expected {expected}, found {found}"
            )))
        };
        let share = |value: f64| (0.0..=1.0).contains(&value);
        let Self {
            data,
            model,
            view,
            loss,
            negatives,
            fgsm,
            distillation,
            transformation,
            optimiser,
            ..
        } = self;
        let link = data.task == Task::Link;
        if data.task == Task::Rank {
            if loss.kind != LossKind::CrossEntropy {
                return refuse(
                    "loss.kind",
                    "cross-entropy, the loss of a cross-encoder",
                    &"proxy",
                );
            }
            if view.concepts != View::Template {
                return refuse(
                    "view.concepts",
                    "template, because a pair holds one text of the concept",
                    &"names",
                );
            }
            if model.scorer != Scorer::Dual {
                return refuse(
                    "model.scorer",
                    "dual, because a pair has one score",
                    &"sum-of-max",
                );
            }
            if !model.tied {
                return refuse(
                    "model.tied",
                    "true, because one encoder reads the pair",
                    &false,
                );
            }
        }
        if data.top == 0 {
            return refuse("data.top", "at least 1 candidate", &0);
        }
        if data.task == Task::Rank && data.top == 1 {
            return refuse("data.top", "at least 2 candidates to rank", &1);
        }
        if !share(distillation.own_share) {
            return refuse(
                "distillation.own_share",
                "a share from 0 to 1",
                &distillation.own_share,
            );
        }
        if !(distillation.temperature > 0.0 && distillation.temperature.is_finite()) {
            return refuse(
                "distillation.temperature",
                "a positive number",
                &distillation.temperature,
            );
        }
        let learns = |name: &str| {
            (!link).then(|| {
                refuse(
                    name,
                    "no setting, because it applies only to the bi-encoder",
                    &"something",
                )
            })
        };
        if distillation.own_share < 1.0
            && let Some(refused) = learns("distillation")
        {
            return refused;
        }
        if transformation.weight > 0.0
            && let Some(refused) = learns("transformation")
        {
            return refused;
        }
        let aligns = [
            ("fgsm.lambda", fgsm.lambda > 0.0),
            ("model.scorer", model.scorer != Scorer::Dual),
            ("loss.kind", loss.kind != Loss::default().kind),
            ("negatives", *negatives != Negatives::default()),
        ];
        if let (Task::Align, Some((found, _))) =
            (data.task, aligns.iter().find(|(_, foreign)| *foreign))
        {
            let expected =
                "no setting, because alignment uses whole vectors and the multi-similarity loss";
            return refuse(found, expected, &"something");
        }
        let MultiSimilarity { alpha, beta, .. } = loss.multi_similarity;
        if !(alpha > 0.0 && beta > 0.0 && alpha.is_finite() && beta.is_finite()) {
            return refuse(
                "loss.multi_similarity",
                "alpha and beta above 0",
                &format!("{alpha} and {beta}"),
            );
        }
        if !(transformation.weight >= 0.0 && transformation.weight.is_finite()) {
            return refuse(
                "transformation.weight",
                "a number from 0",
                &transformation.weight,
            );
        }
        if transformation.weight == 0.0 && !transformation.plain {
            return refuse(
                "transformation.plain",
                "true, because there is no other loss",
                &false,
            );
        }
        if !transformation.plain && link && distillation.own_share < 1.0 {
            let expected = "true, because distillation uses the plain loss";
            return refuse("transformation.plain", expected, &false);
        }
        if !(transformation.epsilon > 0.0 && transformation.epsilon.is_finite()) {
            return refuse(
                "transformation.epsilon",
                "a positive number",
                &transformation.epsilon,
            );
        }
        if !(transformation.rate > 0.0 && transformation.rate <= 2.0) {
            return refuse(
                "transformation.rate",
                "a share of ε above 0 and at most 2",
                &transformation.rate,
            );
        }
        if transformation.ascents > 0 && optimiser.micro() < optimiser.batch {
            let expected = "0 with micro-batches, because the ascent needs the whole batch";
            return refuse("transformation.ascents", expected, &transformation.ascents);
        }
        if model.tied && model.entity_encoder.is_some() {
            return refuse(
                "model.tied",
                "false, because there is an entity encoder",
                &true,
            );
        }
        if !(0.0..1.0).contains(&model.dropout) {
            return refuse(
                "model.dropout",
                "a share from 0 to less than 1",
                &model.dropout,
            );
        }
        if !share(view.template_share) {
            return refuse(
                "view.template_share",
                "a share from 0 to 1",
                &view.template_share,
            );
        }
        if !(loss.alpha > 0.0 && loss.alpha.is_finite()) {
            return refuse("loss.alpha", "a positive number", &loss.alpha);
        }
        // Cosines are at most 1, so no pair can reach a larger margin.
        if !(0.0..1.0).contains(&loss.delta) {
            return refuse("loss.delta", "a margin from 0 to less than 1", &loss.delta);
        }
        if !(loss.scale > 0.0 && loss.scale.is_finite()) {
            return refuse("loss.scale", "a positive number", &loss.scale);
        }
        if !(0.0..=10.0).contains(&fgsm.absolute_epsilon) {
            return refuse(
                "fgsm.absolute_epsilon",
                "a small positive number, or 0 for that of fgsm.epsilon",
                &fgsm.absolute_epsilon,
            );
        }
        if !(0.0..=10.0).contains(&fgsm.epsilon) || (fgsm.lambda > 0.0 && fgsm.resolved(1.0) == 0.0)
        {
            return refuse(
                "fgsm.epsilon",
                "a small positive number, a multiple of the deviation of the input embeddings",
                &fgsm.epsilon,
            );
        }
        if !(fgsm.lambda >= 0.0 && fgsm.lambda.is_finite()) {
            return refuse("fgsm.lambda", "a number from 0", &fgsm.lambda);
        }
        if !share(negatives.hard_share) {
            return refuse(
                "negatives.hard_share",
                "a share from 0 to 1",
                &negatives.hard_share,
            );
        }
        let drawn = negatives.kind != NegativeKind::None && negatives.count > 0;
        // Listed candidates are the negatives.
        let listed = !data.candidates.as_os_str().is_empty();
        if link && !listed && !drawn && !negatives.in_batch {
            return refuse(
                "negatives",
                "a count, or in_batch = true",
                &"no negatives at all",
            );
        }
        if !listed && negatives.mines() && negatives.mine_top < negatives.hard_count() {
            let expected = format!(
                "at least the {} hard ones of a mention",
                negatives.hard_count()
            );
            return refuse("negatives.mine_top", &expected, &negatives.mine_top);
        }
        if !(optimiser.learning_rate > 0.0 && optimiser.learning_rate < 1.0) {
            return refuse(
                "optimiser.learning_rate",
                "a small positive number",
                &optimiser.learning_rate,
            );
        }
        if !share(optimiser.warmup) {
            return refuse("optimiser.warmup", "a share from 0 to 1", &optimiser.warmup);
        }
        if optimiser
            .betas
            .iter()
            .any(|beta| !(0.0..1.0).contains(beta))
        {
            return refuse(
                "optimiser.betas",
                "two shares below 1",
                &format!("{:?}", optimiser.betas),
            );
        }
        let from_zero = |value: f64| value >= 0.0 && value.is_finite();
        if optimiser.epsilon == 0.0
            || ![optimiser.epsilon, optimiser.clip, optimiser.weight_decay]
                .into_iter()
                .all(from_zero)
        {
            return refuse(
                "optimiser",
                "epsilon above 0, clip and weight_decay from 0",
                &"something else",
            );
        }
        if optimiser.batch == 0 {
            return refuse("optimiser.batch", "at least 1", &0);
        }
        if !optimiser.batch.is_multiple_of(optimiser.micro()) {
            return refuse(
                "optimiser.micro_batch",
                "a divisor of the batch",
                &optimiser.micro_batch,
            );
        }
        if !(1..=optimiser.micro()).contains(&optimiser.replicas) {
            return refuse(
                "optimiser.replicas",
                "at least 1, and at most the examples of a micro-batch",
                &optimiser.replicas,
            );
        }
        if optimiser.in_chunks() {
            let (key, expected, found) = match optimiser.chunk {
                0 => ("optimiser.replicas", "1", optimiser.replicas),
                chunk => ("optimiser.chunk", "0", chunk),
            };
            let why = match data.task {
                Task::Rank | Task::Detect => Some("this task learns from each example alone"),
                _ if transformation.weight > 0.0 => {
                    Some("the learned transformation needs the whole micro-batch")
                }
                _ => None,
            };
            if let Some(why) = why {
                return refuse(key, &format!("{expected}, because {why}"), &found);
            }
        }
        if optimiser.epochs == 0.0 || !from_zero(optimiser.epochs) || optimiser.steps == Some(0) {
            return refuse("optimiser", "epochs above 0, or at least one step", &"none");
        }
        if let Some(detect) = &self.detect {
            detect.check()?;
        }
        if data.task == Task::Detect && self.detect.is_none() {
            return refuse("detect", "the options of a detector", &"none");
        }
        if self.checkpoints.every == 0 || self.checkpoints.keep == 0 {
            return refuse("checkpoints", "every and keep of at least 1", &0);
        }
        Ok(())
    }

    /// Checks that the paths of data and encoder are set, and that the device supports the
    /// precision.
    ///
    /// # Errors
    /// If a path is missing or the precision is unsupported; the error names the key.
    pub fn check_output(&self, device: &Device) -> Result<()> {
        let Self { data, model, .. } = self;
        let detects = data.task == Task::Detect;
        if let Some(detect) = self.detect.as_ref().filter(|_| detects)
            && detect.corpora.is_empty()
        {
            return Err(Error::input(
                "the configuration: `detect.corpora`: expected annotated texts, found none",
            ));
        }
        let (mentions, lists) = (
            data.task != Task::Align && !detects,
            data.task == Task::Rank || self.distillation.own_share < 1.0,
        );
        let paths = [
            ("data.kb", &data.kb, !detects),
            ("data.corpus", &data.corpus, mentions),
            ("model.encoder", &model.encoder, true),
            ("data.candidates", &data.candidates, lists),
        ];
        match paths
            .into_iter()
            .find(|(_, path, needed)| *needed && path.as_os_str().is_empty())
        {
            Some((key, ..)) => {
                let expected = match (key, data.task) {
                    ("data.candidates", Task::Rank) => "the candidate lists to rank (--candidates)",
                    ("data.candidates", _) => "candidate lists with teacher scores (--distil)",
                    _ => "a path",
                };
                Err(Error::input(format!(
                    "the configuration: `{key}`: expected {expected}, found nothing"
                )))
            }
            None if !multiplies_in(model.precision, device) => {
                let found = format!("{:?}", model.precision).to_lowercase();
                let expected = "f32, or bf16 on a processor with AMX or AVX-512 BF16 or a GPU that \
                                has it, or f16 on a GPU that has it";
                let message = format!(
                    "`model.precision`: expected {expected} (this device: `pel devices`), found \
                     {found}"
                );
                Err(Error::input(format!("the configuration: {message}")))
            }
            None => Ok(()),
        }
    }
}
