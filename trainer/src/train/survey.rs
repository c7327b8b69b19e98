//! Looking at the whole knowledge base with the towers as they are: hard negatives for the examples to come, and recall on
//! a held-out split.

use super::batch::HardNegatives;
use super::catalogue::{Catalogue, SequenceId};
use super::config::Config;
use super::examples::Example;
use super::model::Model;
use crate::evaluate::{Gold, Split, TrainingSplit};
use crate::interrupt;
use crate::progress::Progress;
use burn::tensor::Device;
use bytes::Bytes;
use pel_shared::biencoder::Side;
use pel_shared::container::Check;
use pel_shared::encoder::Encoder;
use pel_shared::error::{Error, Result};
use pel_shared::index::{Index, IndexInfo, Precision};
use pel_shared::kb::ConceptId;
use pel_shared::metrics::{Top, average_precision, recall_at};
use pel_shared::score::Candidate;
use pel_shared::tokens::{Encoded, by_length};
use serde::{Deserialize, Serialize};

/// Tokens of one encoder batch, padding included.
const BATCH_TOKENS: usize = 2048;
/// Candidates that validation looks at.
pub const CANDIDATES: usize = 64;

/// The vectors of all sequences.
pub struct Survey {
    encoder: Encoder,
    /// `[sequences, dim]`
    vectors: Vec<f32>,
    dim: usize,
}

/// The mentions of a held-out split.
pub struct HeldOut {
    mentions: Vec<(Encoded, Gold)>,
}

/// What validation found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validated {
    /// Mentions that were looked at.
    pub mentions: usize,
    /// Of the mentions in the knowledge base, those whose concept is first.
    pub recall_1: Option<f64>,
    /// Of these, those whose concept is among the first 64.
    pub recall_64: Option<f64>,
    /// As `recall_1`, for concepts that training does not have.
    pub zero_shot_1: Option<f64>,
    /// As `recall_64`, for concepts that training does not have.
    pub zero_shot_64: Option<f64>,
    /// The area under the precision-recall curve of NIL.
    pub nil_aupr: Option<f64>,
}

/// Encodes sequences in batches of similar length.
fn encode(encoder: &Encoder, side: Side, rows: &[&Encoded], doing: &'static str) -> Result<Vec<f32>> {
    let dim = encoder.dim();
    let lengths: Vec<usize> = rows.iter().map(|row| row.ids.len()).collect();
    let mut vectors = vec![0.0; rows.len() * dim];
    let mut progress = Progress::new(doing, rows.len() as u64, "texts");
    for group in by_length(&lengths, 256, BATCH_TOKENS).chunks(2 * rayon::current_num_threads()) {
        interrupt::check()?;
        let places = group.concat();
        let found = encoder.encode(side, &places.iter().map(|at| rows[*at]).collect::<Vec<_>>())?;
        for (at, vector) in places.iter().zip(found.chunks_exact(dim)) {
            vectors[at * dim..][..dim].copy_from_slice(vector);
        }
        progress.advance(places.len() as u64);
    }
    Ok(vectors)
}

impl Survey {
    /// Encodes every sequence of the catalogue.
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn new(model: &Model, catalogue: &Catalogue, device: &Device) -> Result<Self> {
        let encoder = model.encoder(&device.clone().inner())?;
        let rows: Vec<&Encoded> = catalogue.rows().sequences.iter().collect();
        let vectors = encode(&encoder, Side::Entity, &rows, "encoding the knowledge base")?;
        let dim = encoder.dim();
        Ok(Self { encoder, vectors, dim })
    }

    /// An index of the concepts.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn by_concept(&self, model: &Model, catalogue: &Catalogue) -> Result<Index> {
        let rows = catalogue.rows();
        self.index(&rows.spread(&self.vectors), &rows.concepts, model)
    }

    /// The vectors of all sequences, and their width.
    pub fn vectors(&self) -> (&[f32], usize) {
        (&self.vectors, self.dim)
    }

    /// Encodes mentions.
    ///
    /// # Shapes
    /// -> `[mentions, dim]`
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn mentions(&self, mentions: &[&Encoded]) -> Result<Vec<f32>> {
        encode(&self.encoder, Side::Mention, mentions, "encoding mentions")
    }

    fn index(&self, vectors: &[f32], concepts: &[ConceptId], model: &Model) -> Result<Index> {
        let (rows, dim, score) = (concepts.len(), self.dim, model.reduction.score);
        let info = IndexInfo { rows, dim, precision: Precision::Int8, score, hnsw: None };
        Index::from_bytes(&Bytes::from(Index::build(vectors, concepts, &info)?), Check::Trusted)
    }

    /// The nearest wrong sequences of examples, at most `mine_top` for each.
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn mine(
        &self,
        config: &Config,
        model: &Model,
        catalogue: &Catalogue,
        examples: &[(usize, &Example)],
    ) -> Result<HardNegatives> {
        // Sequences stand for themselves here.
        let all: Vec<ConceptId> = (0..catalogue.rows().sequences.len() as u32).map(ConceptId).collect();
        let index = self.index(&self.vectors, &all, model)?;
        let vectors = self.mentions(&examples.iter().map(|(_, example)| &example.mention).collect::<Vec<_>>())?;
        let top = config.negatives.mine_top;
        let mut found = HardNegatives::with_capacity(examples.len());
        let mut progress = Progress::new("mining hard negatives", examples.len() as u64, "mentions");
        for (examples, vectors) in examples.chunks(1024).zip(vectors.chunks(1024 * self.dim)) {
            interrupt::check()?;
            // Some of the nearest are the right concept's own names.
            for ((number, example), candidates) in examples.iter().zip(index.search(vectors, 2 * top + 16)) {
                let own: Vec<SequenceId> = catalogue.sequences_of(example.concept).collect();
                let wrong = candidates.iter().map(|candidate| SequenceId(candidate.concept.0));
                found.insert(*number, wrong.filter(|sequence| !own.contains(sequence)).take(top).collect());
            }
            progress.advance(examples.len() as u64);
        }
        Ok(found)
    }

    /// Links the mentions of a held-out split.
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn validate(&self, model: &Model, catalogue: &Catalogue, held_out: &HeldOut) -> Result<Validated> {
        let vectors = self.mentions(&held_out.encoded())?;
        Ok(held_out.judge(&self.by_concept(model, catalogue)?.search(&vectors, CANDIDATES)))
    }
}

impl HeldOut {
    /// Reads mentions of the validation split at equal steps; nothing if none are wanted.
    ///
    /// # Errors
    /// If the split cannot be read, or is empty.
    pub fn read(config: &Config, model: &Model, catalogue: &Catalogue) -> Result<Option<Self>> {
        let wanted = config.validation.mentions;
        if wanted == 0 {
            return Ok(None);
        }
        let (folder, split) = (&config.data.corpus, &config.validation.split);
        let training = TrainingSplit::read(folder, &config.data.split)?;
        let read = |every| Split::read(folder, split, every, &catalogue.kb, Some(&training));
        let all = read(1)?.mentions.len();
        if all == 0 {
            return Err(Error::input(format!("{}: the split {split} has no mention", folder.display())));
        }
        let split = read((all / wanted).max(1))?;
        let view = config.view_options();
        let (mut reader, mut mentions) = (view.reader(), Vec::with_capacity(split.mentions.len()));
        for gold in &split.mentions {
            let text = &split.documents[gold.document].text;
            // A mention of which nothing is left has no candidate, whatever the model.
            if let Some(mention) = view.mention(&model.tokens, &reader.mention(text, gold.span)?)? {
                mentions.push((mention, *gold));
            }
        }
        Ok(Some(Self { mentions }))
    }

    /// The mentions, as a tower reads them.
    pub fn encoded(&self) -> Vec<&Encoded> {
        self.mentions.iter().map(|(mention, _)| mention).collect()
    }

    /// What the candidates of each mention, [`CANDIDATES`] at most, say.
    pub fn judge(&self, found: &[Vec<Candidate>]) -> Validated {
        let golds = || self.mentions.iter().map(|(_, gold)| gold).zip(found);
        let rank = |gold: &Gold, found: &[Candidate]| found.iter().position(|one| Some(one.concept) == gold.concept);
        let recall = |k: usize, wanted: fn(&Gold) -> bool| -> Option<f64> {
            let golds = golds().filter(|(gold, _)| gold.concept.is_some() && wanted(gold));
            recall_at(golds.map(|(gold, found)| rank(gold, found)), k).value()
        };
        let zero_shot = |gold: &Gold| gold.seen == Some(false);
        let top = |(gold, found): (&Gold, &Vec<Candidate>)| Top {
            score: found.first().map(|best| best.score),
            nil: gold.concept.is_none(),
        };
        Validated {
            mentions: self.mentions.len(),
            recall_1: recall(1, |_| true),
            recall_64: recall(CANDIDATES, |_| true),
            zero_shot_1: recall(1, zero_shot),
            zero_shot_64: recall(CANDIDATES, zero_shot),
            nil_aupr: average_precision(&golds().map(top).collect::<Vec<_>>()),
        }
    }
}
