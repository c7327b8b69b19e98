//! What follows a product in a layer: bias, activation, residual and LayerNorm, and the softmax of
//! attention. A GPU runs each as one kernel ([`super::gpu_rows`]); other devices run Burn's
//! operations.

use super::fused;
#[cfg(feature = "gpu")]
use super::gpu_rows;
use super::pass::dtype;
use crate::layer::Precision;
use burn::nn::{LayerNorm, Linear};
#[cfg(not(feature = "gpu"))]
use burn::tensor::Device;
use burn::tensor::{Bool, FloatDType, Tensor, activation};
use pel_kernels::rows::Activation;

/// The product of a linear layer. On a GPU the operation that follows adds the bias.
pub(super) struct Product {
    values: Tensor<3>,
    bias: Option<Tensor<1>>,
}

impl Product {
    /// Multiplies in `precision`. The backward pass casts gradients at the same points.
    ///
    /// # Shapes
    /// x `[batch, seq, in]`, out `[batch, seq, out]`
    pub(super) fn new(linear: &Linear, x: Tensor<3>, precision: Precision) -> Self {
        let device = x.device();
        let weight = linear.weight.val();
        let values = match dtype(precision) {
            None if fused::runs_on(&device) => return Self::from(linear.forward(x)),
            None => rows_by(x, weight),
            Some(dtype) => rows_by(x.cast(dtype), weight.cast(dtype)).cast(FloatDType::F32),
        };
        let bias = linear.bias.as_ref().map(|bias| bias.val());
        let product = Self { values, bias };
        if on_gpu(&device) {
            product
        } else {
            Self::from(product.with_bias())
        }
    }

    /// # Shapes
    /// `[batch, seq, out]`
    pub(super) fn with_bias(self) -> Tensor<3> {
        match self.bias {
            Some(bias) => self.values + bias.unsqueeze(),
            None => self.values,
        }
    }

    /// The activation of the product.
    ///
    /// # Shapes
    /// `[batch, seq, out]`
    pub(super) fn activated(self, activation: Activation) -> Tensor<3> {
        #[cfg(feature = "gpu")]
        if on_gpu(&self.values.device()) {
            let (values, bias) = self.parts();
            return gpu_rows::activated(values, bias, activation);
        }
        let values = self.with_bias();
        match activation {
            Activation::Gelu => activation::gelu(values),
            Activation::GeluTanh => activation::gelu_approximate(values),
            Activation::Relu => activation::relu(values),
        }
    }

    /// The product by heads.
    ///
    /// # Shapes
    /// `[batch, heads, seq, out / heads]`
    pub(super) fn by_heads(self, heads: usize) -> Tensor<4> {
        let [batch, seq, width] = self.values.dims();
        #[cfg(feature = "gpu")]
        if on_gpu(&self.values.device()) {
            let (values, bias) = self.parts();
            return gpu_rows::heads(values, bias, heads);
        }
        self.with_bias()
            .reshape([batch, seq, heads, width / heads])
            .swap_dims(1, 2)
    }

    /// LayerNorm of the product and its residual.
    ///
    /// # Shapes
    /// `[batch, seq, out]`
    #[cfg_attr(not(feature = "gpu"), allow(unused_variables))]
    pub(super) fn added_to(self, residual: Tensor<3>, norm: &LayerNorm, epsilon: f32) -> Tensor<3> {
        #[cfg(feature = "gpu")]
        if on_gpu(&residual.device()) {
            let (values, bias) = self.parts();
            let gamma = norm.gamma.val();
            let beta = norm
                .beta
                .as_ref()
                .map_or_else(|| gamma.zeros_like(), |beta| beta.val());
            return gpu_rows::norm_of_sum(residual, values, [bias, gamma, beta], epsilon);
        }
        norm.forward(residual + self.with_bias())
    }

    /// The values and the bias, which is zero if it is in the values.
    #[cfg(feature = "gpu")]
    fn parts(self) -> (Tensor<3>, Tensor<1>) {
        let [_, _, width] = self.values.dims();
        let device = self.values.device();
        let bias = self.bias.unwrap_or_else(|| Tensor::zeros([width], &device));
        (self.values, bias)
    }
}

impl From<Tensor<3>> for Product {
    fn from(values: Tensor<3>) -> Self {
        Self { values, bias: None }
    }
}

/// The softmax of scores over the real tokens of each sequence.
///
/// # Shapes
/// scores `[batch, heads, seq, seq]`, real `[batch, seq]` (1 = real token), padding `[batch, 1, 1,
/// seq]` -> `[batch, heads, seq, seq]`
#[cfg_attr(not(feature = "gpu"), allow(unused_variables))]
pub(super) fn probabilities(
    scores: Tensor<4>,
    real: &Tensor<2>,
    padding: &Tensor<4, Bool>,
    divisor: f32,
) -> Tensor<4> {
    #[cfg(feature = "gpu")]
    if on_gpu(&scores.device()) {
        return gpu_rows::probabilities(scores, real.clone(), 1.0 / divisor);
    }
    let shape = scores.dims();
    let scores = (scores / divisor).mask_fill(padding.clone().expand(shape), f32::MIN);
    activation::softmax(scores, 3)
}

/// Whether a device runs these operations as one kernel each.
#[cfg(feature = "gpu")]
pub(super) use super::gpu_rows::runs_on as on_gpu;

/// No device of this build does.
#[cfg(not(feature = "gpu"))]
pub(super) fn on_gpu(_: &Device) -> bool {
    false
}

/// The product of all rows with a matrix. On a GPU it is one product: a product for each sequence
/// would be too small, and its backward pass would keep a gradient of the matrix for each sequence.
/// On the CPU a product for each sequence has sums in an order that does not depend on how the
/// matrix lies in memory, so that a resumed training ends with the same weights.
///
/// # Shapes
/// `[batch, seq, in]`, `[in, out]` -> `[batch, seq, out]`
pub(super) fn rows_by(x: Tensor<3>, matrix: Tensor<2>) -> Tensor<3> {
    if fused::runs_on(&x.device()) {
        return x.matmul(matrix.unsqueeze());
    }
    let [batch, seq, inputs] = x.dims();
    let [_, outputs] = matrix.dims();
    x.reshape([batch * seq, inputs])
        .matmul(matrix)
        .reshape([batch, seq, outputs])
}
