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
mod gather;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pick;
mod plain;
mod queries;
#[cfg(test)]
mod tests;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;

pub use gather::{dot_f32_at, prefetch};
pub use pick::Hit;
pub use queries::{QueriesF32, QueriesI8, QueryI8, Scratch};

/// The instructions that the loops use. Only those of this processor can be had, which is what makes calling them sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Road(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    #[cfg_attr(any(target_arch = "aarch64", target_feature = "simd128"), allow(dead_code))]
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW and VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Wasm,
}

impl Road {
    /// The fastest road of this processor.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni")
            {
                return Self(Kind::Avx512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self(Kind::Avx2);
            }
            Self(Kind::Plain)
        }
        // NEON is part of every 64-bit ARM; SIMD in wasm is a matter of how the module was compiled.
        #[cfg(target_arch = "aarch64")]
        return Self(Kind::Neon);
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        return Self(Kind::Wasm);
        #[cfg(not(any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            all(target_arch = "wasm32", target_feature = "simd128")
        )))]
        return Self(Kind::Plain);
    }

    /// The product of two rows of codes; `sum` is the sum of `query`'s.
    ///
    /// # Panics
    /// If the sizes disagree.
    #[inline]
    pub fn dot_i8(self, query: &[i8], sum: i32, row: &[i8]) -> i32 {
        #[cfg(target_arch = "x86_64")]
        if self.0 == Kind::Avx512 {
            return avx512::one_i8(query, sum, row);
        }
        let mut out = [0];
        one_i8(self, query, sum, row, &mut out);
        out[0]
    }

    /// Every road of this processor, the plain one first.
    #[cfg(test)]
    fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let kinds = [Kind::Plain, Kind::Avx2, Kind::Avx512];
        #[cfg(not(target_arch = "x86_64"))]
        let kinds = [Kind::Plain, Self::best().0];
        let mut here = super::tested::here("dot products", &kinds, |kind| match kind {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => Self::best().0 == Kind::Avx512,
            _ => true,
        });
        here.dedup();
        here.into_iter().map(Self).collect()
    }
}

/// Dot products of one query with consecutive rows: `out[r] = rows[r] · query`.
///
/// # Shapes
/// query `[dim]`, rows `[n, dim]`, out `[n]`
///
/// # Panics
/// If the sizes disagree.
pub fn dot_f32(query: &[f32], rows: &[f32], out: &mut [f32]) {
    one_f32(Road::best(), query, rows, out);
}

/// Dot products of one quantised query with consecutive quantised rows; sums are exact in i32 up to a dimension of 131,071.
///
/// # Shapes
/// query `[dim]`, rows `[n, dim]`, out `[n]`
///
/// # Panics
/// If the sizes disagree.
pub fn dot_i8(query: &[i8], rows: &[i8], out: &mut [i32]) {
    one_i8(Road::best(), query, sum(query), rows, out);
}

fn one_f32(road: Road, query: &[f32], rows: &[f32], out: &mut [f32]) {
    check(query.len(), rows.len(), out.len());
    match road.0 {
        Kind::Plain => plain::dot_f32(query, rows, out),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => avx2::dot_f32(query, rows, out),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => avx512::dot_f32(query, rows, out),
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => neon::dot_f32(query, rows, out),
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        Kind::Wasm => wasm::dot_f32(query, rows, out),
    }
}

/// `sum` is the sum of the query's codes.
fn one_i8(road: Road, query: &[i8], sum: i32, rows: &[i8], out: &mut [i32]) {
    check(query.len(), rows.len(), out.len());
    let _ = sum;
    match road.0 {
        Kind::Plain => plain::dot_i8(query, rows, out),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => avx2::dot_i8(query, rows, out),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => avx512::dot_i8(query, sum, rows, out),
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => neon::dot_i8(query, rows, out),
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        Kind::Wasm => wasm::dot_i8(query, rows, out),
    }
}

fn sum(codes: &[i8]) -> i32 {
    codes.iter().map(|code| i32::from(*code)).sum()
}

fn check(dim: usize, values: usize, rows: usize) {
    assert!(dim > 0 && values == dim * rows, "{rows} rows of {dim} values need {}, found {values}", dim * rows);
}
