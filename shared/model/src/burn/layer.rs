//! One transformer layer: self-attention and feed-forward, each followed by residual and LayerNorm.

use super::dropout::apply_dropout;
use super::fused::{self, Call};
use super::rows::{Product, on_gpu, probabilities};
use crate::burn::pass::Pass;
use crate::config::BertConfig;
use crate::layer::{Dropout, LINEARS, LayerOptions, take_linears, take_norms};
use crate::weights::Weights;
use burn::module::{Module, Param};
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Bool, Device, Tensor};
use pel_kb::error::Result;
use pel_kernels::rows::Activation;

/// The padding of a batch.
#[derive(Clone, Debug)]
pub enum Padding {
    /// The real tokens of each sequence, for a device that runs a layer as one operation.
    Lengths(Vec<usize>),
    /// A mask for Burn's operations.
    Mask(Box<Mask>),
}

/// The padding of a batch, in the two forms that operations want.
#[derive(Clone, Debug)]
pub struct Mask {
    /// `[batch, seq]`, 1 = real token.
    real: Tensor<2>,
    /// `[batch, 1, 1, seq]`, `true` = padding.
    padding: Tensor<4, Bool>,
}

impl Mask {
    /// From a mask `[batch, seq]`, 1 = real token.
    fn new(real: &Tensor<2>) -> Self {
        let [batch, seq] = real.dims();
        Self {
            real: real.clone(),
            padding: real.clone().equal_elem(0.0).reshape([batch, 1, 1, seq]),
        }
    }
}

impl Padding {
    /// Reads a mask `[batch, seq]`, 1 = real token.
    pub fn new(mask: &Tensor<2>) -> Self {
        let [_, seq] = mask.dims();
        if fused::runs_on(&mask.device())
            && let Ok(values) = mask.clone().into_data().try_to_vec::<f32>()
        {
            let length = |row: &[f32]| row.iter().take_while(|real| **real != 0.0).count();
            let rows = values.chunks_exact(seq.max(1));
            // Burn's operations handle a mask with a gap and a sequence without tokens.
            if rows
                .clone()
                .all(|row| length(row) > 0 && row[length(row)..].iter().all(|real| *real == 0.0))
            {
                return Self::Lengths(rows.map(length).collect());
            }
        }
        Self::Mask(Box::new(Mask::new(mask)))
    }
}

/// Layer N of `encoder.layer.N`.
#[derive(Module, Debug)]
pub struct Layer {
    pub(super) query: Linear,
    pub(super) key: Linear,
    pub(super) value: Linear,
    pub(super) attended: Linear,
    pub(super) attended_norm: LayerNorm,
    pub(super) wide: Linear,
    pub(super) narrow: Linear,
    pub(super) norm: LayerNorm,
    heads: usize,
    #[module(skip)]
    activation: Activation,
    #[module(skip)]
    epsilon: f32,
}

impl Layer {
    /// The linear parts and the LayerNorms, in the order of [`crate::layer`].
    pub(super) fn parts(&self) -> ([&Linear; LINEARS], [&LayerNorm; 2]) {
        let linears = [
            &self.query,
            &self.key,
            &self.value,
            &self.attended,
            &self.wide,
            &self.narrow,
        ];
        (linears, [&self.attended_norm, &self.norm])
    }

    /// Takes the tensors of layer `at`.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape.
    pub fn take(
        weights: &mut Weights<'_>,
        at: usize,
        config: &BertConfig,
        device: &Device,
    ) -> Result<Self> {
        let [query, key, value, attended, wide, narrow] =
            take_linears(at, config, |name, [inputs, outputs]| {
                linear(weights, name, inputs, outputs, device)
            })?;
        let [attended_norm, norm] =
            take_norms(at, |name| layer_norm(weights, name, config, device))?;
        let (heads, activation, epsilon) = (
            config.num_attention_heads,
            config.hidden_act,
            config.layer_norm_eps as f32,
        );
        Ok(Self {
            query,
            key,
            value,
            attended,
            attended_norm,
            wide,
            narrow,
            norm,
            heads,
            activation,
            epsilon,
        })
    }

    /// # Shapes
    /// `[batch, seq, hidden]` -> `[batch, seq, hidden]`
    pub fn forward(&self, hidden: Tensor<3>, padding: &Padding, pass: &Pass) -> Tensor<3> {
        match padding {
            Padding::Lengths(lengths) => self.fused(hidden, lengths, pass),
            Padding::Mask(mask) => self.composed(hidden, mask, pass),
        }
    }

    /// The layer as one operation, forward and backward.
    fn fused(&self, hidden: Tensor<3>, lengths: &[usize], pass: &Pass) -> Tensor<3> {
        let linears = [
            &self.query,
            &self.key,
            &self.value,
            &self.attended,
            &self.wide,
            &self.narrow,
        ];
        let (device, seq) = (hidden.device(), hidden.dims()[1]);
        let bias = |linear: &Linear| match &linear.bias {
            Some(bias) => bias.val(),
            None => Tensor::zeros([linear.weight.dims()[1]], &device),
        };
        let norm = |norm: &LayerNorm| {
            let beta = norm
                .beta
                .as_ref()
                .map_or_else(|| norm.gamma.val().zeros_like(), |beta| beta.val());
            [norm.gamma.val(), beta]
        };
        let norms = [norm(&self.attended_norm), norm(&self.norm)];
        let (heads, activation, epsilon) = (self.heads, self.activation, self.epsilon);
        let options = LayerOptions {
            heads,
            activation,
            epsilon,
            dropout: pass.dropout,
            precision: pass.precision,
        };
        let call = Call {
            lengths: lengths.to_vec(),
            seq,
            options,
            recompute: pass.recompute,
        };
        fused::layer(
            hidden,
            linears.map(|linear| linear.weight.val()),
            linears.map(bias),
            norms,
            call,
        )
    }

    /// The layer composed of single operations.
    ///
    /// # Shapes
    /// `[batch, seq, hidden]` -> `[batch, seq, hidden]`
    fn composed(&self, hidden: Tensor<3>, mask: &Mask, pass: &Pass) -> Tensor<3> {
        let of = |site: u64| pass.dropout.map(|dropout| dropout.part(site));
        let product = |linear: &Linear, x: Tensor<3>| Product::new(linear, x, pass.precision);
        let mixed = self.attend(hidden.clone(), mask, of(1), &product);
        let attended = dropped(product(&self.attended, mixed), of(2));
        let hidden = attended.added_to(hidden, &self.attended_norm, self.epsilon);
        // [batch, seq, intermediate]
        let wide = product(&self.wide, hidden.clone()).activated(self.activation);
        let narrow = dropped(product(&self.narrow, wide), of(3));
        narrow.added_to(hidden, &self.norm, self.epsilon)
    }

    fn attend(
        &self,
        hidden: Tensor<3>,
        mask: &Mask,
        dropout: Option<Dropout>,
        product: &impl Fn(&Linear, Tensor<3>) -> Product,
    ) -> Tensor<3> {
        let [batch, seq, width] = hidden.dims();
        let split = |linear| product(linear, hidden.clone()).by_heads(self.heads);
        let [query, key, value] = [&self.query, &self.key, &self.value].map(split);
        let mixed = if dropout.is_none() && !on_gpu(&hidden.device()) {
            let padding = mask.padding.clone().expand([batch, self.heads, seq, seq]);
            attention(
                query,
                key,
                value,
                Some(padding),
                None,
                AttentionModuleOptions::default(),
            )
        } else {
            let divisor = ((width / self.heads) as f32).sqrt();
            let scores = query.matmul(key.swap_dims(2, 3));
            let probabilities = probabilities(scores, &mask.real, &mask.padding, divisor);
            apply_dropout(probabilities, dropout).matmul(value)
        };
        mixed.swap_dims(1, 2).reshape([batch, seq, width])
    }
}

/// A product after dropout, if there is any.
fn dropped(product: Product, dropout: Option<Dropout>) -> Product {
    match dropout {
        None => product,
        Some(_) => apply_dropout(product.with_bias(), dropout).into(),
    }
}

/// A linear layer. PyTorch stores weights as `[out, in]`, Burn as `[in, out]`.
pub fn linear(
    weights: &mut Weights<'_>,
    name: &str,
    d_in: usize,
    d_out: usize,
    device: &Device,
) -> Result<Linear> {
    let weight = weights
        .take::<2>(&format!("{name}.weight"), [d_out, d_in], device)?
        .transpose();
    let bias = weights.take::<1>(&format!("{name}.bias"), [d_out], device)?;
    Ok(Linear {
        weight: Param::from_tensor(weight),
        bias: Some(Param::from_tensor(bias)),
    })
}

/// A layer normalisation with the model's ε.
pub fn layer_norm(
    weights: &mut Weights<'_>,
    name: &str,
    config: &BertConfig,
    device: &Device,
) -> Result<LayerNorm> {
    let size = config.hidden_size;
    let mut norm = LayerNormConfig::new(size)
        .with_epsilon(config.layer_norm_eps)
        .init(device);
    norm.gamma =
        Param::from_tensor(weights.take::<1>(&format!("{name}.weight"), [size], device)?);
    norm.beta = Some(Param::from_tensor(weights.take::<1>(
        &format!("{name}.bias"),
        [size],
        device,
    )?));
    Ok(norm)
}

#[cfg(all(test, feature = "autodiff"))]
mod tests {
    use super::*;
    use crate::burn::bert::Bert;
    use burn::tensor::Distribution;

    fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().try_to_vec().expect("floats")
    }

    /// The gradient of a parameter, by its name in the error.
    fn gradients(layer: &Layer, grads: &burn::tensor::Gradients) -> Vec<(&'static str, Vec<f32>)> {
        let linear = |name, linear: &Linear| {
            let bias = linear.bias.as_ref().expect("there is one").val();
            [
                (name, floats(linear.weight.val().grad(grads).expect(name))),
                ("bias", floats(bias.grad(grads).expect(name))),
            ]
        };
        let norm = |name, norm: &LayerNorm| {
            let beta = norm.beta.as_ref().expect("there is one").val();
            [
                (name, floats(norm.gamma.val().grad(grads).expect(name))),
                ("beta", floats(beta.grad(grads).expect(name))),
            ]
        };
        let linears = [
            linear("query", &layer.query),
            linear("key", &layer.key),
            linear("value", &layer.value),
            linear("attended", &layer.attended),
            linear("wide", &layer.wide),
            linear("narrow", &layer.narrow),
        ];
        let norms = [
            norm("attended_norm", &layer.attended_norm),
            norm("norm", &layer.norm),
        ];
        linears
            .into_iter()
            .flatten()
            .chain(norms.into_iter().flatten())
            .collect()
    }

    #[test]
    fn fused_layer_equals_composed_layer_forward_and_backward() {
        let device = Device::flex().autodiff();
        device.seed(3);
        let config = include_bytes!("../../../tests/fixtures/tiny/config.json");
        let config = BertConfig::from_bytes(config).expect("it is whole");
        let weights = include_bytes!("../../../tests/fixtures/tiny/model.safetensors");
        let bert = Bert::from_bytes(&config, weights, &device).expect("it is whole");
        let layer = bert.layers[0].clone();
        let (batch, seq, width) = (3, 7, config.hidden_size);
        let mask = Tensor::<2>::from_data(
            [
                [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
                [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            ],
            &device,
        );
        let normal = Distribution::Normal(0.0, 1.0);
        let x = Tensor::<3>::random([batch, seq, width], normal, &device);
        let factors = Tensor::<3>::random([batch, seq, width], normal, &device);
        let real = mask.clone().reshape([batch, seq, 1]);
        let fused = Padding::new(&mask);
        assert!(matches!(&fused, Padding::Lengths(lengths) if *lengths == [7, 4, 1]));
        let composed = Padding::Mask(Box::new(Mask::new(&mask)));
        let run = |padding: &Padding| {
            let x = Tensor::<3>::from_data(x.clone().into_data(), &device).require_grad();
            let out = layer.forward(x.clone(), padding, &Pass::default()) * real.clone();
            let grads = (out.clone() * factors.clone()).sum().backward();
            (
                floats(out),
                floats(x.grad(&grads).expect("asked for")),
                gradients(&layer, &grads),
            )
        };
        let ((out, input, params), (expected, expected_input, expected_params)) =
            (run(&fused), run(&composed));
        let near = |what: &str, found: &[f32], expected: &[f32]| {
            assert_eq!(found.len(), expected.len(), "{what}");
            for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
                let off = (found - expected).abs();
                assert!(
                    off <= 2e-5 * expected.abs().max(1.0),
                    "{what} {at}: {found}, composed {expected}"
                );
            }
        };
        near("output", &out, &expected);
        near("input", &input, &expected_input);
        for ((name, found), (_, expected)) in params.iter().zip(&expected_params) {
            near(name, found, expected);
        }
    }
}
