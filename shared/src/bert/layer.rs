//! One transformer layer: self-attention and feed-forward, each followed by residual and LayerNorm.

use super::config::{Activation, BertConfig};
use super::weights::Weights;
use crate::error::Result;
use burn::module::{Module, Param};
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Bool, Device, Tensor, activation};

/// Layer N of `encoder.layer.N`.
#[derive(Module, Debug)]
pub struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    wide: Linear,
    narrow: Linear,
    norm: LayerNorm,
    heads: usize,
    #[module(skip)]
    activation: Activation,
}

impl Layer {
    /// Takes the tensors of layer `at`.
    ///
    /// | field | Hugging Face name under `encoder.layer.N.` |
    /// | --- | --- |
    /// | query, key, value | `attention.self.{query,key,value}` |
    /// | attended, attended_norm | `attention.output.{dense,LayerNorm}` |
    /// | wide | `intermediate.dense` |
    /// | narrow, norm | `output.{dense,LayerNorm}` |
    ///
    /// # Errors
    /// If a tensor is missing or of another shape.
    pub fn take(weights: &mut Weights<'_>, at: usize, config: &BertConfig, device: &Device) -> Result<Self> {
        let prefix = format!("encoder.layer.{at}");
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let mut linear = |name: &str, d_in, d_out| linear(weights, &format!("{prefix}.{name}"), d_in, d_out, device);
        let query = linear("attention.self.query", hidden, hidden)?;
        let key = linear("attention.self.key", hidden, hidden)?;
        let value = linear("attention.self.value", hidden, hidden)?;
        let attended = linear("attention.output.dense", hidden, hidden)?;
        let wide = linear("intermediate.dense", hidden, inner)?;
        let narrow = linear("output.dense", inner, hidden)?;
        let attended_norm = layer_norm(weights, &format!("{prefix}.attention.output.LayerNorm"), config, device)?;
        let norm = layer_norm(weights, &format!("{prefix}.output.LayerNorm"), config, device)?;
        let (heads, activation) = (config.num_attention_heads, config.hidden_act);
        Ok(Self { query, key, value, attended, attended_norm, wide, narrow, norm, heads, activation })
    }

    /// # Shapes
    /// `[batch, seq, hidden]`, padding `[batch, 1, 1, seq]` (`true` = padding) -> `[batch, seq, hidden]`
    pub fn forward(&self, hidden: Tensor<3>, padding: &Tensor<4, Bool>) -> Tensor<3> {
        let attended = self.attended.forward(self.attend(hidden.clone(), padding));
        let hidden = self.attended_norm.forward(hidden + attended);
        let wide = self.wide.forward(hidden.clone()); // [batch, seq, intermediate]
        let wide = match self.activation {
            Activation::Gelu => activation::gelu(wide),
            Activation::GeluTanh => activation::gelu_approximate(wide),
            Activation::Relu => activation::relu(wide),
        };
        self.norm.forward(hidden + self.narrow.forward(wide))
    }

    fn attend(&self, hidden: Tensor<3>, padding: &Tensor<4, Bool>) -> Tensor<3> {
        let [batch, seq, width] = hidden.dims();
        let split = |linear: &Linear| {
            let all = linear.forward(hidden.clone());
            all.reshape([batch, seq, self.heads, width / self.heads]).swap_dims(1, 2) // [batch, heads, seq, head]
        };
        let padding = padding.clone().expand([batch, self.heads, seq, seq]);
        let options = AttentionModuleOptions::default();
        let mixed = attention(split(&self.query), split(&self.key), split(&self.value), Some(padding), None, options);
        mixed.swap_dims(1, 2).reshape([batch, seq, width])
    }
}

/// A linear layer; PyTorch keeps `[out, in]`, Burn wants `[in, out]`.
pub fn linear(weights: &mut Weights<'_>, name: &str, d_in: usize, d_out: usize, device: &Device) -> Result<Linear> {
    let weight = weights.take::<2>(&format!("{name}.weight"), [d_out, d_in], device)?.transpose();
    let bias = weights.take::<1>(&format!("{name}.bias"), [d_out], device)?;
    Ok(Linear { weight: Param::from_tensor(weight), bias: Some(Param::from_tensor(bias)) })
}

/// A layer normalisation with the model's ε.
pub fn layer_norm(weights: &mut Weights<'_>, name: &str, config: &BertConfig, device: &Device) -> Result<LayerNorm> {
    let size = config.hidden_size;
    let mut norm = LayerNormConfig::new(size).with_epsilon(config.layer_norm_eps).init(device);
    norm.gamma = Param::from_tensor(weights.take::<1>(&format!("{name}.weight"), [size], device)?);
    norm.beta = Some(Param::from_tensor(weights.take::<1>(&format!("{name}.bias"), [size], device)?));
    Ok(norm)
}
