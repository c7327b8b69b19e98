//! Dot products of queries with rows, in floats and in bytes: the inner loop of every search.
//!
//! Several queries share each loaded row ([`QueriesF32`], [`QueriesI8`]). A float product is summed
//! in the same order for any number of queries, so a result does not depend on its batch. Between
//! processors the last bits may differ. Integer sums are exact.

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
pub use queries::{QueriesF32, QueriesI8, RowCodes, Scratch};
pub use query::{QueryI8, dot_f32, dot_f32_at, dot_i8, dot_i8_row};
