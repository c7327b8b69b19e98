//! What follows from a configuration: how many examples at once, how many negatives of which kind.

use super::{Config, NegativeKind, Negatives, Optimiser, Task};

impl Optimiser {
    /// Examples that are computed at once.
    pub fn micro(&self) -> usize {
        if self.micro_batch == 0 { self.batch } else { self.micro_batch }
    }
}

impl Config {
    /// Whether hard negatives are mined: not for a ranker, nor where candidates are listed.
    pub fn mines(&self) -> bool {
        self.data.task == Task::Link && self.data.candidates.as_os_str().is_empty() && self.negatives.mines()
    }
}

impl Negatives {
    /// Whether hard negatives are wanted.
    pub fn mines(&self) -> bool {
        self.hard_count() > 0
    }

    /// Hard negatives of a mention.
    pub fn hard_count(&self) -> usize {
        match self.kind {
            NegativeKind::None | NegativeKind::Random => 0,
            NegativeKind::Hard => self.count,
            NegativeKind::Mixed => (self.count as f64 * self.hard_share).round() as usize,
        }
    }

    /// Random negatives of a mention.
    pub fn random_count(&self) -> usize {
        if self.kind == NegativeKind::None { 0 } else { self.count - self.hard_count() }
    }
}
