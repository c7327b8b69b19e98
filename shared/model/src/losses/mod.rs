//! The losses of training, and the perturbations of adversarial training.
//!
//! [`objectives`] has the losses. [`fgsm`] and [`transformation`] perturb an encoder's inputs
//! within a small ball, in the direction that raises the loss.

#[cfg(feature = "autodiff")]
pub mod fgsm;
pub mod objectives;
#[cfg(feature = "autodiff")]
pub mod transformation;
