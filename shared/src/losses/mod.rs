//! What training minimises, and what it makes harder on the way.
//!
//! [`objectives`] are the losses. [`fgsm`] and [`transformation`] perturb the inputs of an encoder so that training has to
//! withstand the worst of their neighbourhood.

#[cfg(feature = "autodiff")]
pub mod fgsm;
pub mod objectives;
#[cfg(feature = "autodiff")]
pub mod transformation;
