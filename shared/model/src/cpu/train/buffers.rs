//! Reused buffers: each training step needs buffers of the same sizes.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Idle buffers, smallest first.
static IDLE: Mutex<Vec<Vec<f32>>> = Mutex::new(Vec::new());
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

/// Numbers in a cache line, to which every buffer is aligned.
const LINE: usize = 16;

/// A buffer that returns to the idle ones when it is dropped.
#[derive(Debug)]
pub struct Buffer {
    values: Vec<f32>,
    first: usize,
}

impl Buffer {
    /// `len` numbers with unspecified values.
    pub fn new(len: usize) -> Self {
        let room = len + LINE - 1;
        let found = IDLE.lock().ok().and_then(|mut idle| {
            let at = idle.partition_point(|buffer| buffer.capacity() < room);
            // A much larger buffer is left for other requests.
            let fits = idle
                .get(at)
                .is_some_and(|buffer| buffer.capacity() <= room.saturating_mul(2));
            fits.then(|| idle.remove(at))
        });
        let mut values = found.unwrap_or_else(|| {
            ALLOCATED.fetch_add(1, Ordering::Relaxed);
            Vec::with_capacity(room)
        });
        let first = values.as_ptr().align_offset(4 * LINE).min(LINE - 1);
        values.resize(first + len, 0.0);
        Self { values, first }
    }

    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut buffer = Self::new(len);
        buffer.fill(0.0);
        buffer
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.len());
        copy.copy_from_slice(self);
        copy
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Ok(mut idle) = IDLE.lock() {
            let at = idle.partition_point(|buffer| buffer.capacity() < self.values.capacity());
            idle.insert(at, std::mem::take(&mut self.values));
        }
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values[self.first..]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.values[self.first..]
    }
}

/// The number of buffers allocated so far.
pub fn allocated() -> usize {
    ALLOCATED.load(Ordering::Relaxed)
}

/// Frees the idle buffers, after training.
pub fn release() {
    if let Ok(mut idle) = IDLE.lock() {
        idle.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_buffer_is_reused() {
        let mut first = Buffer::new(123_457);
        first[5] = 7.0;
        let place = first.as_ptr();
        drop(first);
        let second = Buffer::new(123_457);
        assert_eq!(
            (second.as_ptr(), second[5], second.len()),
            (place, 7.0, 123_457)
        );
        assert!(Buffer::zeros(100).iter().all(|value| *value == 0.0));
    }
}
