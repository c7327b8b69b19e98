//! The models of BLINK's two stages, and their names in files.

use super::pel::{LossName, PelRow, Sampling};
use super::{Bench, Row};
use crate::evaluate::System;

/// What finds candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finder {
    /// Without training.
    Lexical(System),
    /// The encoder as it is.
    Untrained,
    /// A trained bi-encoder.
    Trained(Encoder),
    /// A trained bi-encoder, in the other knowledge base (table 4).
    Elsewhere(Encoder),
}

/// A trained bi-encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoder {
    /// With negatives of the batch, then with mined ones beside them (BLINK, section 4.1).
    Retriever,
    /// PEL's: the proxy-based loss, half of the negatives hard (its table 3).
    Proxy,
    /// The retriever, trained on with the lists that the student has, without the teacher (table 9).
    Own,
    /// The retriever, trained on by a teacher (section 4.3).
    Student,
    /// That of another corpus, as it is (section 5.2.2).
    Pretrained,
    /// As the retriever, but begun with that of another corpus (section 5.2.2).
    Finetuned,
}

/// A cross-encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cross {
    /// Whose candidates it has learned from; with those of another corpus it is that corpus's own, as it is or trained on.
    pub of: Encoder,
    /// Whether FGSM regularised it (PEL, appendix B).
    pub fgsm: bool,
}

impl Cross {
    /// BLINK's.
    pub const BLINK: Self = Self { of: Encoder::Retriever, fgsm: false };

    /// Its name in files.
    pub fn slug(self) -> String {
        let of = match self.of {
            Encoder::Proxy => "pel",
            Encoder::Pretrained => "blink-pretrained",
            Encoder::Finetuned => "blink-finetuned",
            Encoder::Retriever | Encoder::Own | Encoder::Student => "blink",
        };
        format!("{of}-cross{}", if self.fgsm { "-fgsm" } else { "" })
    }
}

impl Encoder {
    /// Its name in files.
    pub fn slug(self, bench: &Bench<'_>) -> String {
        match self {
            Self::Retriever => "blink-bi".into(),
            Self::Proxy => proxy(bench).slug(),
            Self::Own => "blink-own".into(),
            Self::Student => "blink-student".into(),
            Self::Pretrained => "blink-pretrained-bi".into(),
            Self::Finetuned => "blink-finetuned-bi".into(),
        }
    }
}

/// The row of PEL's table 3 whose candidates are ranked; its run is that table's.
pub fn proxy(bench: &Bench<'_>) -> PelRow {
    let count = bench.args.counts.first().copied().unwrap_or(1);
    PelRow { loss: LossName::Pb, count, sampling: Sampling::Mixed, fgsm: false, delta: None }
}

impl Finder {
    /// Its name in files.
    pub fn slug(self, bench: &Bench<'_>, seed: u64) -> String {
        match self {
            Self::Lexical(system) => format!("{system:?}").to_lowercase(),
            Self::Untrained => "untrained".into(),
            // No seed of ours has made it.
            Self::Trained(Encoder::Pretrained) => Encoder::Pretrained.slug(bench),
            Self::Trained(encoder) => format!("{}-seed{seed}", encoder.slug(bench)),
            Self::Elsewhere(encoder) => format!("{}-other-kb", Self::Trained(encoder).slug(bench, seed)),
        }
    }
}
