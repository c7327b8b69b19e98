//! The loops in plain Rust, written so that a compiler can vectorise them for any target.

const LANES: usize = 16;

/// See [`super::dot_f32`].
pub fn dot_f32(query: &[f32], rows: &[f32], out: &mut [f32]) {
    for (row, out) in rows.chunks_exact(query.len()).zip(out) {
        let mut sums = [0.0f32; LANES];
        let (query_lanes, row_lanes) = (query.chunks_exact(LANES), row.chunks_exact(LANES));
        let rest: f32 = query_lanes.remainder().iter().zip(row_lanes.remainder()).map(|(q, r)| q * r).sum();
        for (q, r) in query_lanes.zip(row_lanes) {
            for lane in 0..LANES {
                sums[lane] += q[lane] * r[lane];
            }
        }
        *out = sums.iter().sum::<f32>() + rest;
    }
}

/// See [`super::dot_i8`].
pub fn dot_i8(query: &[i8], rows: &[i8], out: &mut [i32]) {
    for (row, out) in rows.chunks_exact(query.len()).zip(out) {
        *out = query.iter().zip(row).map(|(q, r)| i32::from(*q) * i32::from(*r)).sum();
    }
}
