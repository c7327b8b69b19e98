//! The encoders: towers, the two engines that compute them, the bi-encoder and the cross-encoder.
//!
//! [`tower`], [`config`], [`layer`] and [`weights`] describe a tower for both engines. [`cpu`]
//! computes it with packed weights on the processor, for inference and for the layers of a training
//! step. [`burn`] computes it with Burn's tensors on any device, with gradients. [`encode`] is the
//! encoder that the rest of the crate uses. It chooses the engine.

pub mod burn;
pub mod config;
pub mod cpu;
pub mod cross_encoder;
pub mod detector;
pub mod encode;
pub mod layer;
pub mod losses;
pub mod nil;
pub mod tokens;
pub mod tower;
pub mod weights;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
