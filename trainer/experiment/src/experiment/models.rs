//! The models of BLINK's two stages, and their names in files.

use super::pel::{self, PelRow};
use super::{Options, Row, TableId};
use pel_corpora::retrieve::lexical::System;
use pel_kb::error::{Error, Result};
use pel_kb::score::Similarity;
use pel_trainer::train::config::{Config, NegativeKind};

/// A candidate retriever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finder {
    /// A lexical system.
    Lexical(System),
    /// The encoder without training.
    Untrained,
    /// A trained bi-encoder.
    Trained(TrainedEncoder),
    /// A trained bi-encoder, over the other knowledge base (table 4).
    Elsewhere(TrainedEncoder),
}

/// A trained bi-encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrainedEncoder {
    /// Trained with in-batch negatives, then with mined ones too (BLINK, section 4.1).
    Retriever,
    /// A row of PEL's tables 2 and 3.
    Pel(PelRow),
    /// The retriever, trained further on the student's candidate lists without the teacher (table
    /// 9).
    Own,
    /// The retriever, distilled from a teacher (section 4.3).
    Student,
    /// A bi-encoder of another corpus (section 5.2.2).
    Pretrained,
    /// As the retriever, fine-tuned from the one of another corpus (section 5.2.2).
    Finetuned,
}

/// A cross-encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cross {
    /// The bi-encoder of its training candidates. For `Pretrained` and `Finetuned` it is the ranker
    /// of the other corpus, fine-tuned or not.
    pub of: TrainedEncoder,
    /// Whether FGSM regularised it (PEL, appendix B).
    pub fgsm: bool,
}

impl Cross {
    /// BLINK's.
    pub const BLINK: Self = Self {
        of: TrainedEncoder::Retriever,
        fgsm: false,
    };

    /// Its name in files.
    pub fn slug(self) -> String {
        let of = match self.of {
            TrainedEncoder::Pel(row) => row.slug(),
            TrainedEncoder::Pretrained => "blink-pretrained".into(),
            TrainedEncoder::Finetuned => "blink-finetuned".into(),
            TrainedEncoder::Retriever | TrainedEncoder::Own | TrainedEncoder::Student => {
                "blink".into()
            }
        };
        format!("{of}-cross{}", if self.fgsm { "-fgsm" } else { "" })
    }
}

impl TrainedEncoder {
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

/// The configuration of an untrained encoder: by cosine. Dot products of vectors that were not
/// trained for them are meaningless.
pub fn by_cosine(mut config: Config) -> Config {
    config.model.score = Some(Similarity::Cosine);
    config
}

/// The retrievers that are compared for PEL's table 5. Their runs are those of tables 2 and 3.
///
/// # Errors
/// If `--retrievers` has a row that these tables lack.
pub fn retrievers(options: &Options, counts: [usize; 2]) -> Result<Vec<PelRow>> {
    let compared = pel::rows(TableId::Pel3, counts);
    if options.retrievers.is_empty() {
        return Ok(compared
            .into_iter()
            .filter(|row| row.sampling == NegativeKind::Mixed)
            .collect());
    }
    let all = [pel::rows(TableId::Pel2, counts), compared].concat();
    let row = |word: &String| {
        all.iter()
            .find(|row| row.slug() == *word)
            .copied()
            .ok_or_else(|| {
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
        matches!(self, Self::Trained(encoder) | Self::Elsewhere(encoder) if encoder != TrainedEncoder::Pretrained)
    }

    /// Its name in files.
    pub fn slug(self, seed: u64) -> String {
        match self {
            // Lists without this ending are of an earlier version, which did not expand short
            // forms.
            Self::Lexical(system) => format!("{}-as-read", format!("{system:?}").to_lowercase()),
            Self::Untrained => "untrained-cosine".into(),
            // Its training did not use these seeds.
            Self::Trained(TrainedEncoder::Pretrained) => TrainedEncoder::Pretrained.slug(),
            Self::Trained(encoder) => format!("{}-seed{seed}", encoder.slug()),
            Self::Elsewhere(encoder) => format!("{}-other-kb", Self::Trained(encoder).slug(seed)),
        }
    }
}
