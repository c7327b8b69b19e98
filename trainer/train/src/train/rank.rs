//! One of several replicas in its thread, and the sums that they make together.
//!
//! On the CPU the replicas meet in memory and add in their order, so that a run can be repeated.
//! NVIDIA GPUs use Burn's collective operation, NCCL below it.

use crate::train::differentiable::floats;
use burn::tensor::distributed::{ReduceOperation, all_reduce};
use burn::tensor::{Device, Tensor, TensorData};
use pel_kb::error::{Error, Result};
use pel_kernels::add_to;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// One of the replicas, in its thread.
pub struct Rank<'a> {
    rank: usize,
    meeting: Option<&'a Meeting>,
}

/// Where replicas sum.
struct Meeting {
    /// Without gradients.
    devices: Vec<Device>,
    state: Mutex<State>,
    changed: Condvar,
}

/// The state of a sum.
#[derive(Default)]
struct State {
    /// What each replica has.
    parts: Vec<Vec<f32>>,
    arrived: usize,
    /// Sums so far.
    sums: usize,
    last: Arc<Vec<f32>>,
    /// Replicas that have ended.
    ended: usize,
    /// The first one that failed.
    failed: Option<usize>,
}

/// Runs `work` for each device in a thread of its own, the first in this one. Returns their results
/// in the order of the devices.
///
/// # Errors
/// That of the first replica that failed.
pub(super) fn each<T: Send>(
    devices: Vec<Device>,
    work: impl Fn(&Rank<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let count = devices.len();
    let meeting = Meeting {
        state: Mutex::new(State {
            parts: vec![Vec::new(); count],
            ..State::default()
        }),
        devices,
        changed: Condvar::new(),
    };
    let run = |rank: usize| {
        let mut end = End {
            rank,
            meeting: &meeting,
            failed: true,
        };
        let result = work(&Rank {
            rank,
            meeting: Some(&meeting),
        });
        end.failed = result.is_err();
        result
    };
    let run = &run;
    let mut results = std::thread::scope(|scope| {
        let others: Vec<_> = (1..count)
            .map(|rank| scope.spawn(move || run(rank)))
            .collect();
        let mut results = vec![run(0)];
        for other in others {
            match other.join() {
                Ok(result) => results.push(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    let failed = meeting.lock().failed;
    match failed {
        // The others failed because this one did.
        Some(rank) => results.drain(rank..=rank).collect(),
        None => results.into_iter().collect(),
    }
}

/// Tells the others that a replica has ended, after a panic too: nobody may wait for it.
struct End<'a> {
    rank: usize,
    meeting: &'a Meeting,
    failed: bool,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let mut state = self.meeting.lock();
        state.ended += 1;
        if self.failed {
            state.failed.get_or_insert(self.rank);
        }
        self.meeting.changed.notify_all();
    }
}

impl Meeting {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the values of all replicas in their order.
    fn sum(&self, rank: usize, values: Vec<f32>) -> Result<Arc<Vec<f32>>> {
        let mut state = self.lock();
        let before = state.sums;
        state.parts[rank] = values;
        state.arrived += 1;
        if state.arrived == state.parts.len() {
            let mut parts = state.parts.iter_mut().map(std::mem::take);
            let mut all = parts.next().unwrap_or_default();
            for part in parts {
                if part.len() != all.len() {
                    let (expected, found) = (all.len(), part.len());
                    return Err(Error::device(format!(
                        "a sum over replicas: expected {expected} values, found {found}"
                    )));
                }
                add_to(&mut all, &part);
            }
            state.last = Arc::new(all);
            state.arrived = 0;
            state.sums += 1;
            self.changed.notify_all();
        }
        while state.sums == before {
            if state.ended > 0 {
                return Err(Error::device("another replica has ended"));
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        Ok(state.last.clone())
    }
}

impl Rank<'_> {
    /// The only replica.
    pub fn alone() -> Self {
        Self {
            rank: 0,
            meeting: None,
        }
    }

    /// Its number, from 0.
    pub fn number(&self) -> usize {
        self.rank
    }

    /// Its share of so many places.
    pub fn share(&self, places: usize) -> Range<usize> {
        let count = self.meeting.map_or(1, |meeting| meeting.devices.len());
        places * self.rank / count..places * (self.rank + 1) / count
    }

    /// The sum over all replicas, on a device without gradients. Each must ask for the same sums in
    /// the same order.
    ///
    /// # Shapes
    /// `[values]` -> `[values]`
    ///
    /// # Errors
    /// If the device fails, or another replica has ended.
    pub fn sum(&self, values: Tensor<1>) -> Result<Tensor<1>> {
        let Some(meeting) = self.meeting else {
            return Ok(values);
        };
        let (device, count) = (values.device(), values.dims()[0]);
        let first = &meeting.devices[0];
        if meeting.devices.iter().all(|other| other == first) {
            let sum = meeting.sum(self.rank, floats(values)?)?;
            return Ok(Tensor::from_data(
                TensorData::new(sum.to_vec(), [count]),
                &device,
            ));
        }
        // A replica that has failed would never come to the operation.
        meeting.sum(self.rank, Vec::new())?;
        Ok(all_reduce(values, ReduceOperation::Sum, meeting.devices.clone()).resolve())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four<T: Send>(work: impl Fn(&Rank<'_>) -> Result<T> + Sync) -> Result<Vec<T>> {
        each(vec![Device::flex(); 4], work)
    }

    #[test]
    fn replicas_sum_in_their_order() {
        let found = four(|rank| {
            let mut all = Vec::new();
            for round in 0..50 {
                let own = [rank.number() as f32, round as f32];
                all.extend(floats(
                    rank.sum(Tensor::from_floats(own, &Device::flex()))?,
                )?);
            }
            Ok(all)
        });
        // 0 + 1 + 2 + 3, and four times the round.
        let expected: Vec<f32> = (0..50)
            .flat_map(|round| [6.0, 4.0 * round as f32])
            .collect();
        assert_eq!(found.expect("they meet"), vec![expected; 4]);
    }

    #[test]
    fn shares_are_the_whole() {
        let shares = four(|rank| Ok([rank.share(10), rank.share(3)])).expect("they end");
        let of = |at: usize| -> Vec<Range<usize>> {
            shares.iter().map(|share| share[at].clone()).collect()
        };
        assert_eq!(of(0), [0..2, 2..5, 5..7, 7..10]);
        assert_eq!(of(1), [0..0, 0..1, 1..2, 2..3]);
        assert_eq!(Rank::alone().share(7), 0..7);
    }

    #[test]
    fn error_of_one_replica_ends_all() {
        let ones = || Tensor::<1>::ones([1], &Device::flex());
        let failed = four(|rank| match rank.number() {
            2 => Err(Error::input("the third one")),
            _ => rank.sum(ones()).map(drop),
        });
        let error = failed.expect_err("one failed").to_string();
        assert_eq!(error, "the third one");
        // One sums more often than the others.
        let failed = four(|rank| match rank.number() {
            0 => rank.sum(ones()).and_then(|_| rank.sum(ones())).map(drop),
            _ => rank.sum(ones()).map(drop),
        });
        let error = failed.expect_err("one is alone").to_string();
        assert_eq!(error, "another replica has ended");
        // And other values than they.
        let failed = four(|rank| {
            let values = Tensor::<1>::ones([1 + rank.number() / 3], &Device::flex());
            rank.sum(values).map(drop)
        });
        let error = failed.expect_err("they differ").to_string();
        assert!(error.contains("expected 1 values, found 2"), "{error}");
    }
}
