//! Sums of rows, for gradients of biases and of work split between threads.

/// Adds `more` to `values`.
///
/// # Panics
/// If the sizes disagree.
pub fn add(values: &mut [f32], more: &[f32]) {
    assert_eq!(values.len(), more.len());
    values
        .iter_mut()
        .zip(more)
        .for_each(|(value, more)| *value += more);
}

/// Adds each of the rows to `sums`.
///
/// # Shapes
/// sums `[width]`, rows `[n, width]`
///
/// # Panics
/// If the sizes disagree.
pub fn add_rows(sums: &mut [f32], rows: &[f32]) {
    assert!(rows.len().is_multiple_of(sums.len()));
    rows.chunks_exact(sums.len()).for_each(|row| add(sums, row));
}
