//! Random streams that depend only on the seed and the place of use, so that a run can resume at
//! any step.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The use of a random stream; each use has its own streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The sample of training mentions.
    Subset,
    /// The order of an epoch.
    Order,
    /// The views and negatives of an example.
    Example,
    /// The dropout of a pass.
    Dropout,
    /// The initial weights of the cross-encoder's output layer.
    Head,
}

/// The random stream of a place, such as an epoch or the position of an example in the run.
pub fn stream(seed: u64, purpose: Purpose, place: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(((purpose as u64) << 56) ^ place);
    random
}

/// The order of the examples, which each epoch shuffles again.
#[derive(Debug)]
pub struct Order {
    seed: u64,
    count: usize,
    epoch: Option<usize>,
    places: Vec<usize>,
}

impl Order {
    /// An order of `count` examples.
    pub fn new(seed: u64, count: usize) -> Self {
        Self {
            seed,
            count,
            epoch: None,
            places: Vec::new(),
        }
    }

    /// The example at a position of the run; after `count` positions the next epoch begins.
    pub fn at(&mut self, position: usize) -> usize {
        let (epoch, place) = (position / self.count, position % self.count);
        if self.epoch != Some(epoch) {
            self.places = (0..self.count).collect();
            self.places
                .shuffle(&mut stream(self.seed, Purpose::Order, epoch as u64));
            self.epoch = Some(epoch);
        }
        self.places[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngCore;

    #[test]
    fn each_epoch_is_another_permutation() {
        let mut order = Order::new(3, 50);
        let epochs: Vec<Vec<usize>> = (0..2)
            .map(|e| (0..50).map(|at| order.at(e * 50 + at)).collect())
            .collect();
        assert_ne!(epochs[0], epochs[1]);
        for mut epoch in epochs.clone() {
            epoch.sort_unstable();
            assert_eq!(epoch, (0..50).collect::<Vec<_>>());
        }
        assert_eq!(Order::new(3, 50).at(61), epochs[1][11]);
        assert_ne!(
            (0..50)
                .map(|at| Order::new(4, 50).at(at))
                .collect::<Vec<_>>(),
            epochs[0]
        );
    }

    #[test]
    fn places_and_purposes_have_distinct_streams() {
        let first = |purpose, place| stream(1, purpose, place).next_u64();
        assert_eq!(first(Purpose::Example, 5), first(Purpose::Example, 5));
        assert_ne!(first(Purpose::Example, 5), first(Purpose::Example, 6));
        assert_ne!(first(Purpose::Example, 5), first(Purpose::Dropout, 5));
    }
}
