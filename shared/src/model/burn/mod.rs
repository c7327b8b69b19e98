//! A tower in Burn's tensors, on any device, with gradients.

pub mod bert;
pub mod biencoder;
mod dropout;
pub mod export;
mod fused;
mod layer;
mod pass;
pub mod span_head;
pub mod sum_of_max;
