//! Values derived from a configuration: the micro-batch size and the numbers of negatives.

use super::{Config, NegativeKind, Negatives, Optimiser, Task};

impl Optimiser {
    /// Examples of a micro-batch.
    pub fn micro(&self) -> usize {
        if self.micro_batch == 0 {
            self.batch
        } else {
            self.micro_batch
        }
    }

    /// Whether a micro-batch is encoded in several parts.
    pub fn in_chunks(&self) -> bool {
        self.chunk > 0 || self.replicas > 1
    }
}

impl Config {
    /// Whether FGSM is part of the training by default: of a bi-encoder or a cross-encoder that
    /// learns from annotations alone.
    pub(super) fn may_perturb(&self) -> bool {
        matches!(self.data.task, Task::Link | Task::Rank) && self.distillation.own_share >= 1.0
    }

    /// Whether hard negatives are mined: not for a cross-encoder, and not with candidate lists.
    pub fn mines(&self) -> bool {
        self.data.task == Task::Link
            && self.data.candidates.as_os_str().is_empty()
            && self.negatives.mines()
    }
}

impl Negatives {
    /// Whether the kind of negatives needs mining.
    pub fn mines(&self) -> bool {
        self.hard_count() > 0
    }

    /// The number of hard negatives of a mention.
    pub fn hard_count(&self) -> usize {
        match self.kind {
            NegativeKind::None | NegativeKind::Random => 0,
            NegativeKind::Hard => self.count,
            NegativeKind::Mixed => (self.count as f64 * self.hard_share).round() as usize,
        }
    }

    /// The number of random negatives of a mention.
    pub fn random_count(&self) -> usize {
        if self.kind == NegativeKind::None {
            0
        } else {
            self.count - self.hard_count()
        }
    }
}
