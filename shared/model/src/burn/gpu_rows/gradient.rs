//! The gradients of the operations.

use super::*;
use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};

/// `gradient` summed over rows, `[width]`.
fn over_rows(gradient: CubeTensor) -> CubeTensor {
    let Grid { rows, width } = Grid::of(&gradient);
    let sums = CubeBackend::float_sum_dim(reshaped(gradient, [rows, width]), 0);
    reshaped(sums, [width])
}

#[derive(Debug)]
struct NormBackward;

#[derive(Clone, Debug)]
struct NormState {
    hidden: CubeTensor,
    x: CubeTensor,
    bias: CubeTensor,
    gamma: CubeTensor,
    epsilon: f32,
}

impl Backward<CubeBackend, 5> for NormBackward {
    type State = NormState;

    fn backward(self, ops: Ops<NormState, 5>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let given = into_contiguous(gradients.consume::<CubeBackend>(&ops.node));
        let [hidden, x, bias, gamma, beta] = ops.parents;
        let state = ops.state;
        let (out, of_gamma, grid) = (empty_like(&given), empty_like(&given), Grid::of(&given));
        if let Some(cubes) = grid.cubes() {
            kernels::normalise_gradient::launch(
                &out.client,
                cubes,
                CubeDim::new_1d(UNITS),
                grid.argument(&state.hidden),
                grid.argument(&state.x),
                vector(state.bias),
                vector(state.gamma),
                grid.argument(&given),
                grid.argument(&out),
                grid.argument(&of_gamma),
                state.epsilon,
                UNITS as usize,
            );
        }
        if let Some(node) = bias {
            gradients.register::<CubeBackend>(node.id, over_rows(out.clone()));
        }
        if let Some(node) = gamma {
            gradients.register::<CubeBackend>(node.id, over_rows(of_gamma));
        }
        if let Some(node) = beta {
            gradients.register::<CubeBackend>(node.id, over_rows(given));
        }
        if let Some(node) = hidden {
            gradients.register::<CubeBackend>(node.id, out.clone());
        }
        if let Some(node) = x {
            gradients.register::<CubeBackend>(node.id, out);
        }
    }
}

#[derive(Debug)]
struct ActivationBackward;

impl Backward<CubeBackend, 2> for ActivationBackward {
    type State = (CubeTensor, CubeTensor, Activation);

    fn backward(self, ops: Ops<Self::State, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let given = into_contiguous(gradients.consume::<CubeBackend>(&ops.node));
        let ([of_x, of_bias], (x, bias, activation)) = (ops.parents, ops.state);
        let (out, grid) = (empty_like(&given), Grid::of(&given));
        if let Some(cubes) = grid.cubes() {
            kernels::activate_gradient::launch(
                &out.client,
                cubes,
                CubeDim::new_1d(UNITS),
                grid.argument(&x),
                vector(bias),
                grid.argument(&given),
                grid.argument(&out),
                activation,
                UNITS as usize,
            );
        }
        if let Some(node) = of_bias {
            gradients.register::<CubeBackend>(node.id, over_rows(out.clone()));
        }
        if let Some(node) = of_x {
            gradients.register::<CubeBackend>(node.id, out);
        }
    }
}

#[derive(Debug)]
struct HeadsBackward;

impl Backward<CubeBackend, 2> for HeadsBackward {
    /// `[batch, seq, width]`
    type State = Shape;

    fn backward(self, ops: Ops<Self::State, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let given = gradients.consume::<CubeBackend>(&ops.node);
        let [of_x, of_bias] = ops.parents;
        let by_tokens = CubeBackend::float_swap_dims(given, 1, 2);
        let out = CubeBackend::float_reshape(into_contiguous(by_tokens), ops.state);
        if let Some(node) = of_bias {
            gradients.register::<CubeBackend>(node.id, over_rows(out.clone()));
        }
        if let Some(node) = of_x {
            gradients.register::<CubeBackend>(node.id, out);
        }
    }
}

#[derive(Debug)]
struct SoftmaxBackward;

impl Backward<CubeBackend, 1> for SoftmaxBackward {
    type State = (CubeTensor, f32);

    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let given = into_contiguous(gradients.consume::<CubeBackend>(&ops.node));
        let ([of_scores], (probabilities, scale)) = (ops.parents, ops.state);
        let Some(node) = of_scores else { return };
        let (out, grid) = (empty_like(&given), Grid::of(&given));
        if let Some(cubes) = grid.cubes() {
            kernels::softmax_gradient::launch(
                &out.client,
                cubes,
                CubeDim::new_1d(UNITS),
                grid.argument(&probabilities),
                grid.argument(&given),
                grid.argument(&out),
                scale,
                UNITS as usize,
            );
        }
        gradients.register::<CubeBackend>(node.id, out);
    }
}

impl<C: CheckpointStrategy> RowOps for Autodiff<CubeBackend, C> {
    fn norm_of_sum(
        hidden: FloatTensor<Self>,
        x: FloatTensor<Self>,
        norm: NormTensors<Self>,
        epsilon: f32,
    ) -> FloatTensor<Self> {
        let NormTensors { bias, gamma, beta } = norm;
        let nodes = [&hidden, &x, &bias, &gamma, &beta].map(|tensor| tensor.node());
        let state = NormState {
            hidden: into_contiguous(hidden.into_primitive()),
            x: into_contiguous(x.into_primitive()),
            bias: bias.into_primitive(),
            gamma: gamma.into_primitive(),
            epsilon,
        };
        let norm = NormTensors {
            bias: state.bias.clone(),
            gamma: state.gamma.clone(),
            beta: beta.into_primitive(),
        };
        let out = CubeBackend::norm_of_sum(state.hidden.clone(), state.x.clone(), norm, epsilon);
        match NormBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish(state, out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }

    fn activated(
        x: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        activation: Activation,
    ) -> FloatTensor<Self> {
        let nodes = [x.node(), bias.node()];
        let (x, bias) = (into_contiguous(x.into_primitive()), bias.into_primitive());
        let out = CubeBackend::activated(x.clone(), bias.clone(), activation);
        match ActivationBackward
            .prepare::<C>(nodes)
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prep) => prep.finish((x, bias, activation), out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }

    fn heads(x: FloatTensor<Self>, bias: FloatTensor<Self>, heads: usize) -> FloatTensor<Self> {
        let nodes = [x.node(), bias.node()];
        let (x, bias) = (x.into_primitive(), bias.into_primitive());
        let shape = x.meta.shape().clone();
        let out = CubeBackend::heads(x, bias, heads);
        match HeadsBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish(shape, out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }

    fn probabilities(
        scores: FloatTensor<Self>,
        real: FloatTensor<Self>,
        scale: f32,
    ) -> FloatTensor<Self> {
        let nodes = [scores.node()];
        let (scores, real) = (scores.into_primitive(), real.into_primitive());
        let out = CubeBackend::probabilities(scores, real, scale);
        match SoftmaxBackward
            .prepare::<C>(nodes)
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prep) => prep.finish((out.clone(), scale), out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }
}
