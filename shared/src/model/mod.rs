//! The encoders: what a tower is, the engines that compute it, and the bi-encoder and cross-encoder on top.
//!
//! [`tower`], [`config`], [`layer`] and [`weights`] describe a tower once, for all engines. [`cpu`] computes it with packed
//! weights on the processor, for inference and for the layers of a training step; [`burn`] computes it with Burn's tensors, on
//! any device, with gradients. [`encode`] is the encoder that the rest of the crate sees: it knows which engine runs where.

pub mod burn;
pub mod config;
pub mod cpu;
pub mod cross_encoder;
pub mod encode;
pub mod layer;
pub mod tower;
pub mod weights;
