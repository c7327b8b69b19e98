//! Operations on the rows of a layer that a GPU runs as one kernel each, forward and backward.
//!
//! Composed of Burn's operations, a LayerNorm of a sum takes 11 kernels and GELU of one six. Each
//! kernel costs its start and one pass over memory.
//!
//! | operation | forward | backward, besides sums over rows |
//! | --- | --- | --- |
//! | [`norm_of_sum`] | `LayerNorm(h + x + b)` | one kernel |
//! | [`activated`] | `f(x + b)` | one kernel |
//! | [`heads`] | `x + b`, by heads | a copy |
//! | [`probabilities`] | `softmax(scale · s)` over real tokens | one kernel |
//!
//! A cube of [`UNITS`] units reduces a row. All numbers are f32.

#[cfg(feature = "autodiff")]
mod gradient;
mod kernels;

use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, DispatchDevice, ExtensionType, backend_extension};
use burn::tensor::{DType, Device, Shape, Tensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::cubecl::prelude::{CubeCount, CubeDim, TensorArg};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use pel_kernels::rows::Activation;

/// The units of a cube: at most as many as the smallest GPUs have.
const UNITS: u32 = 64;

/// The most cubes in a row of the grid. WebGPU allows 65,535.
const GRID: usize = 32_768;

/// The vectors of a LayerNorm and the bias before it, `[width]`.
#[derive(Clone, ExtensionType)]
pub struct NormTensors<B: Backend> {
    bias: FloatTensor<B>,
    gamma: FloatTensor<B>,
    beta: FloatTensor<B>,
}

/// The operations.
#[backend_extension(Cube, Autodiff: cfg(feature = "autodiff"))]
pub trait RowOps: Backend {
    /// # Shapes
    /// hidden and x `[.., width]` -> `[.., width]`
    fn norm_of_sum(
        hidden: FloatTensor<Self>,
        x: FloatTensor<Self>,
        #[extension_type] norm: NormTensors<Self>,
        epsilon: f32,
    ) -> FloatTensor<Self>;

    /// # Shapes
    /// x `[.., width]`, bias `[width]` -> `[.., width]`
    fn activated(
        x: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        activation: Activation,
    ) -> FloatTensor<Self>;

    /// # Shapes
    /// x `[batch, seq, width]`, bias `[width]` -> `[batch, heads, seq, width / heads]`
    fn heads(x: FloatTensor<Self>, bias: FloatTensor<Self>, heads: usize) -> FloatTensor<Self>;

    /// # Shapes
    /// scores `[batch, heads, seq, seq]`, real `[batch, seq]` -> `[batch, heads, seq, seq]`
    fn probabilities(
        scores: FloatTensor<Self>,
        real: FloatTensor<Self>,
        scale: f32,
    ) -> FloatTensor<Self>;
}

/// Whether a device runs the operations.
pub fn runs_on(device: &Device) -> bool {
    matches!(
        device.clone().without_autodiff().as_dispatch(),
        DispatchDevice::Cube(_)
    )
}

/// `LayerNorm(hidden + x + bias)`.
///
/// # Shapes
/// hidden and x `[batch, seq, width]`, vectors `[width]` -> `[batch, seq, width]`
pub fn norm_of_sum(
    hidden: Tensor<3>,
    x: Tensor<3>,
    [bias, gamma, beta]: [Tensor<1>; 3],
    epsilon: f32,
) -> Tensor<3> {
    let norm = NormTensors {
        bias: bias.into_dispatch(),
        gamma: gamma.into_dispatch(),
        beta: beta.into_dispatch(),
    };
    let (hidden, x) = (hidden.into_dispatch(), x.into_dispatch());
    Tensor::from_dispatch(<Dispatch as RowOps>::norm_of_sum(hidden, x, norm, epsilon))
}

/// The activation of `x + bias`.
///
/// # Shapes
/// x `[batch, seq, width]`, bias `[width]` -> `[batch, seq, width]`
pub fn activated(x: Tensor<3>, bias: Tensor<1>, activation: Activation) -> Tensor<3> {
    let (x, bias) = (x.into_dispatch(), bias.into_dispatch());
    Tensor::from_dispatch(<Dispatch as RowOps>::activated(x, bias, activation))
}

/// `x + bias`, by heads.
///
/// # Shapes
/// x `[batch, seq, width]`, bias `[width]` -> `[batch, heads, seq, width / heads]`
pub fn heads(x: Tensor<3>, bias: Tensor<1>, heads: usize) -> Tensor<4> {
    let (x, bias) = (x.into_dispatch(), bias.into_dispatch());
    Tensor::from_dispatch(<Dispatch as RowOps>::heads(x, bias, heads))
}

/// The softmax of `scale · scores` over the real tokens of each sequence. A sequence without real
/// tokens has equal probabilities.
///
/// # Shapes
/// scores `[batch, heads, seq, seq]`, real `[batch, seq]` (1 = real token) -> `[batch, heads, seq,
/// seq]`
pub fn probabilities(scores: Tensor<4>, real: Tensor<2>, scale: f32) -> Tensor<4> {
    let (scores, real) = (scores.into_dispatch(), real.into_dispatch());
    Tensor::from_dispatch(<Dispatch as RowOps>::probabilities(scores, real, scale))
}

impl RowOps for CubeBackend {
    fn norm_of_sum(
        hidden: CubeTensor,
        x: CubeTensor,
        norm: NormTensors<Self>,
        epsilon: f32,
    ) -> CubeTensor {
        let (hidden, x) = (into_contiguous(hidden), into_contiguous(x));
        let (out, grid) = (empty_like(&hidden), Grid::of(&hidden));
        if let Some(cubes) = grid.cubes() {
            kernels::normalise::launch(
                &out.client,
                cubes,
                CubeDim::new_1d(UNITS),
                grid.argument(&hidden),
                grid.argument(&x),
                vector(norm.bias),
                vector(norm.gamma),
                vector(norm.beta),
                grid.argument(&out),
                epsilon,
                UNITS as usize,
            );
        }
        out
    }

    fn activated(x: CubeTensor, bias: CubeTensor, activation: Activation) -> CubeTensor {
        let x = into_contiguous(x);
        let (out, grid) = (empty_like(&x), Grid::of(&x));
        if let Some(cubes) = grid.cubes() {
            kernels::activate::launch(
                &out.client,
                cubes,
                CubeDim::new_1d(UNITS),
                grid.argument(&x),
                vector(bias),
                grid.argument(&out),
                activation,
                UNITS as usize,
            );
        }
        out
    }

    fn heads(x: CubeTensor, bias: CubeTensor, heads: usize) -> CubeTensor {
        let x = into_contiguous(x);
        let [batch, seq, width] = x.meta.shape().dims();
        let grid = Grid::of(&x);
        let out = empty(&x, [batch, heads, seq, width / heads].into());
        if let Some(cubes) = grid.cubes() {
            kernels::split_heads::launch(
                &out.client,
                cubes,
                CubeDim::new_1d(UNITS),
                grid.argument(&x),
                vector(bias),
                out.clone().into_tensor_arg(),
                UNITS as usize,
            );
        }
        out
    }

    fn probabilities(scores: CubeTensor, real: CubeTensor, scale: f32) -> CubeTensor {
        let (scores, real) = (into_contiguous(scores), into_contiguous(real));
        let (out, grid) = (empty_like(&scores), Grid::of(&scores));
        if let Some(cubes) = grid.cubes() {
            kernels::softmax::launch(
                &out.client,
                cubes,
                CubeDim::new_1d(UNITS),
                grid.argument(&scores),
                real.into_tensor_arg(),
                grid.argument(&out),
                scale,
                UNITS as usize,
            );
        }
        out
    }
}

/// A contiguous tensor as rows.
#[derive(Clone, Copy, Debug)]
struct Grid {
    rows: usize,
    width: usize,
}

impl Grid {
    fn of(tensor: &CubeTensor) -> Self {
        let shape = tensor.meta.shape();
        let width = shape.last().copied().unwrap_or_default();
        let rows = shape.num_elements() / width.max(1);
        Self { rows, width }
    }

    /// One cube for each row, or a few more. `None` if there is nothing to compute.
    fn cubes(self) -> Option<CubeCount> {
        let wide = self.rows.min(GRID);
        (self.rows * self.width > 0)
            .then(|| CubeCount::Static(wide as u32, self.rows.div_ceil(wide) as u32, 1))
    }

    fn argument(self, tensor: &CubeTensor) -> TensorArg {
        reshaped(tensor.clone(), [self.rows, self.width]).into_tensor_arg()
    }
}

fn reshaped(tensor: CubeTensor, shape: impl Into<Shape>) -> CubeTensor {
    CubeBackend::float_reshape(tensor, shape.into())
}

fn empty_like(tensor: &CubeTensor) -> CubeTensor {
    empty(tensor, tensor.meta.shape().clone())
}

/// A tensor beside another on its device.
fn empty(beside: &CubeTensor, shape: Shape) -> CubeTensor {
    let (client, device) = (beside.client.clone(), beside.device.clone());
    empty_device_contiguous_dtype(client, device, shape, DType::F32)
}

fn vector(tensor: CubeTensor) -> TensorArg {
    into_contiguous(tensor).into_tensor_arg()
}
