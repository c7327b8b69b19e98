//! The models of BLINK's two stages, and their names in files.

use super::pel::{self, PelRow, Sampling};
use super::{Options, Row, TableId};
use crate::retrieve::lexical::System;
use pel_shared::error::{Error, Result};

/// What finds candidates.
#[derive(Clone, Copy, Debug, PartialEq)]
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encoder {
    /// With negatives of the batch, then with mined ones beside them (BLINK, section 4.1).
    Retriever,
    /// A row of PEL's tables 2 and 3.
    Pel(PelRow),
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
#[derive(Clone, Copy, Debug, PartialEq)]
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
            Encoder::Pel(row) => row.slug(),
            Encoder::Pretrained => "blink-pretrained".into(),
            Encoder::Finetuned => "blink-finetuned".into(),
            Encoder::Retriever | Encoder::Own | Encoder::Student => "blink".into(),
        };
        format!("{of}-cross{}", if self.fgsm { "-fgsm" } else { "" })
    }
}

impl Encoder {
    /// Its name in files.
    pub fn slug(self) -> String {
        match self {
            Self::Retriever => "blink-bi".into(),
            Self::Pel(row) => row.slug(),
            Self::Own => "blink-own".into(),
            Self::Student => "blink-student".into(),
            Self::Pretrained => "blink-pretrained-bi".into(),
            Self::Finetuned => "blink-finetuned-bi".into(),
        }
    }
}

/// The retrievers of which the best gives the candidates of PEL's table 5; their runs are those of tables 2 and 3.
///
/// # Errors
/// If one is asked for that these tables do not have.
pub fn retrievers(options: &Options, counts: [usize; 2]) -> Result<Vec<PelRow>> {
    let compared = pel::rows(TableId::Pel3, counts);
    if options.retrievers.is_empty() {
        return Ok(compared.into_iter().filter(|row| row.sampling == Sampling::Mixed).collect());
    }
    let all = [pel::rows(TableId::Pel2, counts), compared].concat();
    let row = |word: &String| {
        all.iter().find(|row| row.slug() == *word).copied().ok_or_else(|| {
            let mut slugs: Vec<String> = all.iter().map(Row::slug).collect();
            slugs.sort_unstable();
            slugs.dedup();
            Error::input(format!(
                "--retrievers: expected rows of PEL's tables 2 and 3 ({}), found {word}",
                slugs.join(", ")
            ))
        })
    };
    options.retrievers.iter().map(row).collect()
}

impl Finder {
    /// Whether each seed has a model of its own.
    pub fn is_seeded(self) -> bool {
        matches!(self, Self::Trained(encoder) | Self::Elsewhere(encoder) if encoder != Encoder::Pretrained)
    }

    /// Its name in files.
    pub fn slug(self, seed: u64) -> String {
        match self {
            // An earlier version's lists, which have no such ending, were of short forms as they stand.
            Self::Lexical(system) => format!("{}-as-read", format!("{system:?}").to_lowercase()),
            Self::Untrained => "untrained-cosine".into(),
            // No seed of ours has made it.
            Self::Trained(Encoder::Pretrained) => Encoder::Pretrained.slug(),
            Self::Trained(encoder) => format!("{}-seed{seed}", encoder.slug()),
            Self::Elsewhere(encoder) => format!("{}-other-kb", Self::Trained(encoder).slug(seed)),
        }
    }
}
