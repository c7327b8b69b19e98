//! The only place that uses threads. In wasm, work runs on the caller's thread.

/// Runs `work` over equal chunks of `items` (the last may be shorter), each with its number, and
/// returns the results in order.
pub fn for_each_chunk<T: Sync, R: Send>(
    items: &[T],
    chunk: usize,
    work: impl Fn(usize, &[T]) -> R + Sync,
) -> Vec<R> {
    #[cfg(not(target_arch = "wasm32"))]
    use rayon::prelude::*;
    #[cfg(not(target_arch = "wasm32"))]
    let chunks = items.par_chunks(chunk.max(1));
    #[cfg(target_arch = "wasm32")]
    let chunks = items.chunks(chunk.max(1));
    chunks
        .enumerate()
        .map(|(at, chunk)| work(at, chunk))
        .collect()
}

/// Runs `work` for each item, in parallel as far as there are threads.
#[cfg(not(target_arch = "wasm32"))]
pub fn for_each<T: Send>(items: Vec<T>, work: impl Fn(T) + Send + Sync) {
    use rayon::prelude::*;
    match items.len() {
        1 => items.into_iter().for_each(work),
        _ => items.into_par_iter().with_max_len(1).for_each(work),
    }
}

/// Runs `work` for each item, in parallel as far as there are threads.
#[cfg(target_arch = "wasm32")]
pub fn for_each<T: Send>(items: Vec<T>, work: impl Fn(T) + Send + Sync) {
    items.into_iter().for_each(work);
}

/// The number of threads.
#[cfg(not(target_arch = "wasm32"))]
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// The number of threads.
#[cfg(target_arch = "wasm32")]
pub fn threads() -> usize {
    1
}

/// Runs work that uses threads itself on a single thread, so that it is deterministic.
#[cfg(not(target_arch = "wasm32"))]
pub fn on_one_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// Runs work that uses threads itself on a single thread, so that it is deterministic.
#[cfg(target_arch = "wasm32")]
pub fn on_one_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    work()
}

#[cfg(test)]
mod tests {
    use super::for_each_chunk;

    #[test]
    fn results_are_in_chunk_order() {
        let items: Vec<u32> = (0..1000).collect();
        let sums = for_each_chunk(&items, 7, |at, chunk| (at, chunk.iter().sum::<u32>()));
        assert!(
            sums.iter()
                .enumerate()
                .all(|(at, (number, _))| at == *number)
        );
        assert_eq!(sums.iter().map(|(_, sum)| sum).sum::<u32>(), 499_500);
    }
}
