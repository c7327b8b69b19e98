//! Vectorised and parallel inner loops: the only module with `cfg(target_arch)`, `unsafe` and
//! threads.
//!
//! Each loop has a plain fallback, and tests compare both. Float sums are taken in lanes, so the
//! plain loop and the vector loop add in nearly the same order. Results may differ in the last bits
//! between processors.

mod adamw;
pub mod bf16;
mod dots;
mod dropout;
pub mod gemm;
pub mod int8;
mod isa;
mod lanes;
pub mod matrix;
mod parallel;
pub mod rows;
pub mod sums;
#[cfg(test)]
mod tested;
mod tiling;

pub use adamw::{AdamW, adamw, add_to, sum_of_squares};
pub use dots::{
    Hit, QueriesF32, QueriesI8, QueryI8, RowCodes, Scratch, dot_f32, dot_f32_at, dot_i8,
    dot_i8_row, prefetch,
};
pub use dropout::apply_dropout;
pub use isa::{Isa, Supported};
pub use lanes::LANES;
pub use parallel::{for_each, for_each_chunk, on_one_thread, threads};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
