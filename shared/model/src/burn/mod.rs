//! A tower in Burn's tensors, on any device, with gradients.

pub mod bert;
pub mod biencoder;
mod dropout;
pub mod export;
mod fused;
#[cfg(feature = "gpu")]
mod gpu_rows;
mod layer;
mod pass;
mod read_back;
mod rows;
pub mod span_head;
pub mod sum_of_max;

pub use read_back::floats;
