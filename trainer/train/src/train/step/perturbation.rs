//! The inner maximisation of T-Biencoder (section 3.3, eq. 10): matrices that ascend L' within a
//! norm ball.

use crate::train::config::{Config, Transformation};
use crate::train::differentiable::differentiable;
use crate::train::model::Model;
use burn::tensor::{Device, Gradients, Tensor};
use pel_kb::error::{Error, Result};
use pel_model::losses::transformation::{Ball, none, norm};
use pel_model::tower::Side;

/// The learned transformation A_m and A_e, kept from step to step.
#[derive(Clone, Debug)]
pub struct Perturbation {
    ball: Ball,
    /// The device of the inputs, with gradients.
    device: Device,
    /// A_m and A_e, without gradients.
    matrices: [Tensor<2>; 2],
    /// The accumulated gradients of the step's micro-batches.
    gradients: [Option<Tensor<2>>; 2],
    overflowed: bool,
}

impl Perturbation {
    /// The zero transformation; `hidden` are the widths of both encoders.
    ///
    /// # Shapes
    /// matrices `[hidden, hidden]`
    pub fn new(options: &Transformation, hidden: [usize; 2], device: &Device) -> Self {
        let inner = device.clone().inner();
        Self::from_matrices(options, hidden.map(|hidden| none(hidden, &inner)), device)
    }

    /// The transformation at the start of a run, if it has one.
    ///
    /// # Errors
    /// If one of the encoders has no layer K.
    pub fn begin(model: &Model, config: &Config, device: &Device) -> Result<Option<Self>> {
        let options = &config.transformation;
        if options.weight == 0.0 {
            return Ok(None);
        }
        let berts = [Side::Mention, Side::Entity].map(|side| model.towers.tower(side).bert());
        let depth = berts
            .map(|bert| bert.depth())
            .into_iter()
            .fold(usize::MAX, usize::min);
        if options.layer > depth {
            let found = options.layer;
            let expected = format!("a layer from 0 to {depth}, which is how deep the encoder is");
            return Err(Error::input(format!(
                "the configuration: `transformation.layer`: expected {expected}, found {found}"
            )));
        }
        Ok(Some(Self::new(
            options,
            berts.map(|bert| bert.hidden()),
            device,
        )))
    }

    /// Resumes with the matrices of a checkpoint.
    pub fn from_matrices(
        options: &Transformation,
        matrices: [Tensor<2>; 2],
        device: &Device,
    ) -> Self {
        let Transformation {
            norm,
            epsilon,
            rate,
            ..
        } = *options;
        let ball = Ball {
            norm,
            epsilon,
            rate,
        };
        Self {
            ball,
            device: device.clone(),
            matrices,
            gradients: [None, None],
            overflowed: false,
        }
    }

    /// A_m and A_e.
    pub fn matrices(&self) -> &[Tensor<2>; 2] {
        &self.matrices
    }

    /// The norms of A_m and A_e, of the kind that is bounded.
    ///
    /// # Errors
    /// If the device fails.
    pub fn norms(&self) -> Result<[f64; 2]> {
        let [mention, entity] = self
            .matrices
            .each_ref()
            .map(|matrix| norm(matrix, self.ball.norm));
        Ok([mention?, entity?])
    }

    /// Whether a gradient of this step was not finite. The matrices ignored it, so the step must be
    /// repeated.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Both matrices as leaves of the graph, so that the loss has gradients for them.
    pub fn tracked(&self) -> [Tensor<2>; 2] {
        let strategy = self.device.gradient_checkpointing_strategy();
        self.matrices
            .clone()
            .map(|matrix| differentiable(matrix, strategy).require_grad())
    }

    /// Ascends `steps` steps on `loss`, a function of both matrices.
    ///
    /// # Errors
    /// As [`Perturbation::ascend_once`].
    pub fn ascend(
        &mut self,
        steps: usize,
        loss: impl Fn([Tensor<2>; 2]) -> Tensor<1>,
    ) -> Result<()> {
        for _ in 0..steps {
            let tracked = self.tracked();
            let mut gradients = loss(tracked.clone()).backward();
            self.add(&tracked, &mut gradients);
            self.ascend_once()?;
        }
        Ok(())
    }

    /// Accumulates the gradients of these leaves.
    pub fn add(&mut self, tracked: &[Tensor<2>; 2], gradients: &mut Gradients) {
        for (sum, tracked) in self.gradients.iter_mut().zip(tracked) {
            if let Some(gradient) = tracked.grad_remove(gradients) {
                *sum = Some(sum.take().map_or(gradient.clone(), |sum| sum + gradient));
            }
        }
    }

    /// Ascends one step along the accumulated gradients and clears them: once for each step of the
    /// weights, over all its micro-batches.
    ///
    /// # Errors
    /// If the device fails.
    pub fn ascend_once(&mut self) -> Result<()> {
        for (matrix, gradient) in self.matrices.iter_mut().zip(&mut self.gradients) {
            if let Some(gradient) = gradient.take() {
                match self.ball.ascend_once(matrix.clone(), gradient)? {
                    Some(higher) => *matrix = higher,
                    None => self.overflowed = true,
                }
            }
        }
        Ok(())
    }
}
