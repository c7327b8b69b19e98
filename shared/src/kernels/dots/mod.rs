//! Dot products of queries with consecutive rows, in floats and in bytes, the inner loop of every search.
//!
//! One query is taken row by row; several share each row that is loaded ([`QueriesF32`], [`QueriesI8`]). A float product is
//! summed in one order however many queries there are, so that an answer does not depend on its batch; between processors
//! the last bits may differ. Integer sums are the same everywhere.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_panel;
mod loops;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pick;
mod plain;
mod prefetch;
mod queries;
mod query;
mod rows;
#[cfg(test)]
mod tests;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;

pub use pick::Hit;
pub use prefetch::prefetch;
pub use queries::{QueriesF32, QueriesI8, Scratch};
pub use query::{QueryI8, dot_f32, dot_f32_at, dot_i8, dot_i8_row};
