//! A layer as one operation of Burn's Flex, forward and backward: [`crate::cpu::train`]
//! behind Burn's backend extension.
//!
//! Other back ends compose the layer from Burn's own operations. Both agree to 2e-5 for real
//! tokens. Rows of padding are zero here.

use crate::cpu::train;
use crate::layer::{LINEARS, LayerOptions, Params};
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, DispatchDevice, ExtensionType, Flex, backend_extension};
use burn::tensor::{Device, Tensor, TensorData};
use pel_kernels::matrix::Matrix;

/// Names the tensors of a layer's parameters once, in the order of [`PARAMS`].
macro_rules! layer_tensors {
    ($($name:ident),*) => {
        /// The tensors of a layer's parameters.
        #[derive(Clone, ExtensionType)]
        pub struct LayerTensors<B: Backend> {
            $($name: FloatTensor<B>,)*
        }

        impl<B: Backend> LayerTensors<B> {
            fn from_list([$($name),*]: [FloatTensor<B>; PARAMS]) -> Self {
                Self { $($name),* }
            }

            fn into_list(self) -> [FloatTensor<B>; PARAMS] {
                [$(self.$name),*]
            }
        }
    };
}

#[rustfmt::skip]
layer_tensors!(
    query_weight, key_weight, value_weight, attended_weight, wide_weight, narrow_weight,
    query_bias, key_bias, value_bias, attended_bias, wide_bias, narrow_bias,
    attended_gamma, attended_beta, gamma, beta
);

/// Tensors of a layer's parameters: weights `[in, out]` and biases of queries, keys, values,
/// attended, wide and narrow; γ and β of both LayerNorms.
pub const PARAMS: usize = 2 * LINEARS + 4;

/// The arguments of a layer besides its tensors.
#[derive(Clone, Debug)]
pub struct Call {
    /// The number of tokens of each sequence, without padding.
    pub lengths: Vec<usize>,
    /// The padded length.
    pub seq: usize,
    /// The layer's options.
    pub options: LayerOptions,
    /// Recompute the layer in the backward pass instead of saving activations: less memory, a third
    /// more time.
    #[cfg_attr(not(feature = "autodiff"), allow(dead_code))]
    pub recompute: bool,
}

/// The operation.
#[backend_extension(Flex, Autodiff: cfg(feature = "autodiff"))]
pub trait FusedLayer: Backend {
    /// # Shapes
    /// hidden `[batch, seq, hidden]`, params in the order of [`PARAMS`] -> `[batch, seq, hidden]`
    fn encoder_layer(
        hidden: FloatTensor<Self>,
        #[extension_type] params: LayerTensors<Self>,
        call: Call,
    ) -> FloatTensor<Self>;
}

/// Whether a device runs the operation.
pub fn runs_on(device: &Device) -> bool {
    matches!(
        device.clone().without_autodiff().as_dispatch(),
        DispatchDevice::Flex(_)
    )
}

/// Runs the layer as one operation. Call it only if [`runs_on`] is true.
///
/// # Shapes
/// `[batch, seq, hidden]` -> `[batch, seq, hidden]`
pub fn layer(
    hidden: Tensor<3>,
    weights: [Tensor<2>; LINEARS],
    biases: [Tensor<1>; LINEARS],
    norms: [[Tensor<1>; 2]; 2],
    call: Call,
) -> Tensor<3> {
    let [query, key, value, attended, wide, narrow] = weights.map(Tensor::into_dispatch);
    let biases = biases.map(Tensor::into_dispatch);
    let [[a, b], [c, d]] = norms.map(|norm| norm.map(Tensor::into_dispatch));
    let [q, k, v, o, w, n] = biases;
    let params = LayerTensors::from_list([
        query, key, value, attended, wide, narrow, q, k, v, o, w, n, a, b, c, d,
    ]);
    Tensor::from_dispatch(<Dispatch as FusedLayer>::encoder_layer(
        hidden.into_dispatch(),
        params,
        call,
    ))
}

type Primitive = FloatTensor<Flex>;

fn contiguous(tensor: &Primitive) -> Primitive {
    if tensor.as_slice::<f32>().is_some() {
        tensor.clone()
    } else {
        tensor.to_contiguous()
    }
}

/// A view of a matrix; `storage` begins with the tensor's storage.
fn matrix(tensor: &Primitive) -> Matrix<'_> {
    let layout = tensor.layout();
    let (rows, cols) = (layout.shape()[0], layout.shape()[1]);
    let stride = |at: usize| usize::try_from(layout.strides()[at]).unwrap_or_default();
    Matrix::strided(
        &tensor.storage::<f32>()[layout.start_offset()..],
        rows,
        cols,
        stride(0),
        stride(1),
    )
}

/// Parameters in a readable layout: weights with contiguous rows or columns, all others contiguous.
#[derive(Clone, Debug)]
struct Held(Vec<Primitive>);

impl Held {
    fn new(params: LayerTensors<Flex>) -> Self {
        let readable = |(at, tensor): (usize, Primitive)| {
            let strides = tensor.layout().strides();
            let plain =
                at < LINEARS && strides.contains(&1) && strides.iter().all(|stride| *stride > 0);
            if plain { tensor } else { contiguous(&tensor) }
        };
        Self(
            params
                .into_list()
                .into_iter()
                .enumerate()
                .map(readable)
                .collect(),
        )
    }

    fn params(&self) -> Params<'_> {
        let vector = |at: usize| self.0[at].as_slice::<f32>().unwrap_or_default();
        Params {
            weights: std::array::from_fn(|at| matrix(&self.0[at])),
            biases: std::array::from_fn(|at| vector(LINEARS + at)),
            norms: std::array::from_fn(|norm| {
                std::array::from_fn(|part| vector(2 * LINEARS + 2 * norm + part))
            }),
        }
    }
}

/// Rows of real tokens, without the padding.
fn compact(padded: &[f32], call: &Call) -> Vec<f32> {
    let width = padded.len() / (call.seq * call.lengths.len()).max(1);
    let rows = padded
        .chunks_exact((call.seq * width).max(1))
        .zip(&call.lengths);
    let mut all = Vec::with_capacity(call.lengths.iter().sum::<usize>() * width);
    rows.for_each(|(sequence, length)| all.extend_from_slice(&sequence[..length * width]));
    all
}

/// Rows with padding of zeros.
fn padded(rows: Vec<f32>, call: &Call) -> Primitive {
    let batch = call.lengths.len();
    let width = rows.len() / call.lengths.iter().sum::<usize>().max(1);
    let values = if call.lengths.iter().all(|length| *length == call.seq) {
        rows
    } else {
        let mut all = vec![0.0; batch * call.seq * width];
        let mut left = &rows[..];
        for (sequence, length) in all
            .chunks_exact_mut((call.seq * width).max(1))
            .zip(&call.lengths)
        {
            let (mine, rest) = left.split_at(length * width);
            sequence[..mine.len()].copy_from_slice(mine);
            left = rest;
        }
        all
    };
    tensor(values, vec![batch, call.seq, width])
}

fn tensor(values: Vec<f32>, shape: Vec<usize>) -> Primitive {
    Flex::float_from_data(TensorData::new(values, shape), &Default::default())
}

impl FusedLayer for Flex {
    fn encoder_layer(hidden: Primitive, params: LayerTensors<Self>, call: Call) -> Primitive {
        run(&hidden, &Held::new(params), &call).0
    }
}

fn run(hidden: &Primitive, held: &Held, call: &Call) -> (Primitive, Vec<f32>, train::Saved) {
    let hidden = contiguous(hidden);
    let x = compact(hidden.as_slice::<f32>().unwrap_or_default(), call);
    let (out, saved) = train::forward(&held.params(), &call.options, &call.lengths, &x);
    (padded(out, call), x, saved)
}

#[cfg(feature = "autodiff")]
mod gradient {
    use super::*;
    use burn::backend::Autodiff;
    use burn::backend::autodiff::checkpoint::base::Checkpointer;
    use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
    use burn::backend::autodiff::grads::Gradients;
    use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
    use std::sync::Arc;

    #[derive(Debug)]
    struct LayerBackward;

    #[derive(Clone, Debug)]
    struct State {
        held: Held,
        call: Call,
        /// The input. It is alive anyway as the output of the previous layer.
        hidden: Primitive,
        saved: Option<Arc<(Vec<f32>, train::Saved)>>,
    }

    impl Backward<Flex, { PARAMS + 1 }> for LayerBackward {
        type State = State;

        fn backward(
            self,
            ops: Ops<State, { PARAMS + 1 }>,
            grads: &mut Gradients,
            _: &mut Checkpointer,
        ) {
            let State {
                held,
                call,
                hidden,
                saved,
            } = ops.state;
            let out = contiguous(&grads.consume::<Flex>(&ops.node));
            let mut grad = compact(out.as_slice::<f32>().unwrap_or_default(), &call);
            let saved = saved.unwrap_or_else(|| {
                let (_, x, saved) = run(&hidden, &held, &call);
                Arc::new((x, saved))
            });
            let [input, parents @ ..] = ops.parents;
            let wanted = parents.iter().any(Option::is_some);
            let (x, saved) = &*saved;
            let found = train::backward(
                &held.params(),
                &call.options,
                &call.lengths,
                x,
                saved,
                &mut grad,
                wanted,
            );
            if let Some(node) = input {
                grads.register::<Flex>(node.id, padded(grad, &call));
            }
            let Some(found) = found else { return };
            let all = found
                .weights
                .into_iter()
                .chain(found.biases)
                .chain(found.norms.into_iter().flatten());
            for ((parent, values), param) in parents.into_iter().zip(all).zip(&held.0) {
                if let Some(node) = parent {
                    let shape: Vec<usize> = param.layout().shape().iter().copied().collect();
                    grads.register::<Flex>(node.id, tensor(values, shape));
                }
            }
        }
    }

    impl<C: CheckpointStrategy> FusedLayer for Autodiff<Flex, C> {
        fn encoder_layer(
            hidden: FloatTensor<Self>,
            params: LayerTensors<Self>,
            call: Call,
        ) -> FloatTensor<Self> {
            let params = params.into_list();
            let nodes = std::array::from_fn(|at| {
                if at == 0 {
                    hidden.node()
                } else {
                    params[at - 1].node()
                }
            });
            let hidden = hidden.into_primitive();
            let held = Held::new(LayerTensors::from_list(
                params.map(|param| param.into_primitive()),
            ));
            let (out, x, saved) = run(&hidden, &held, &call);
            match LayerBackward.prepare::<C>(nodes).compute_bound().stateful() {
                OpsKind::Tracked(prep) => {
                    let saved = (!call.recompute).then(|| Arc::new((x, saved)));
                    prep.finish(
                        State {
                            held,
                            call,
                            hidden,
                            saved,
                        },
                        out,
                    )
                }
                OpsKind::UnTracked(prep) => prep.finish(out),
            }
        }
    }
}
