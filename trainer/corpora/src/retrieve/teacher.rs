//! The teacher of a distillation (BLINK, section 4.3): a ranker that scores lists of candidates. An
//! interrupted run can be resumed.

use crate::retrieve::candidates::Found;
use crate::retrieve::rerank::{Reranker, ScoreStore, scores};
use pel_artifacts::device::OpenDevice;
use pel_artifacts::models::{model_hash, open_ranker};
use pel_io::resume::WorkFolder;
use pel_kb::KnowledgeBase;
use pel_kb::error::{Context, Error, Result};
use pel_model::cross_encoder::Ranker;
use pel_model::layer::Precision;
use std::path::{Path, PathBuf};

/// A ranker, and a key of what its scores depend on.
pub struct Teacher {
    folder: PathBuf,
    ranker: Ranker,
    key: String,
}

impl Teacher {
    /// Opens the model of `pel train --stage rank`, computing in `precision`.
    ///
    /// # Errors
    /// If a file is missing or does not fit, or the model is not a ranker.
    pub fn open(folder: &Path, precision: Precision, device: &OpenDevice) -> Result<Self> {
        let ranker = open_ranker(folder, &device.device)?.in_precision(precision);
        let key = format!("{} {precision:?} {}", model_hash(folder)?, device.name);
        Ok(Self {
            folder: folder.to_owned(),
            ranker,
            key,
        })
    }

    /// Scores the first `k` candidates of each mention and writes the lists with the scores to
    /// `out`. After an interrupt the next call with the same lists resumes.
    ///
    /// # Errors
    /// If a mention cannot be encoded, the device fails, the user interrupts, or a file cannot be
    /// written.
    pub fn write(
        &self,
        found: &Found,
        kb: &KnowledgeBase,
        k: usize,
        out: &Path,
    ) -> Result<Vec<Vec<f32>>> {
        let work = WorkFolder::beside(out);
        let store = ScoreStore {
            work: &work,
            key: self.key(found, kb, k)?,
        };
        let scores = scores(
            &Reranker::new(&self.ranker, kb),
            &found.split,
            &found.ranked,
            k,
            Some(&store),
        )
        .context(|| self.folder.display().to_string())?;
        found.write(out, kb, Some(&scores))?;
        work.remove()?;
        Ok(scores)
    }

    /// A hash of the ranker, the mentions, and the candidates' records.
    fn key(&self, found: &Found, kb: &KnowledgeBase, k: usize) -> Result<blake3::Hash> {
        let mut hash = blake3::Hasher::new();
        hash.update(self.key.as_bytes())
            .update(found.split.counts.blake3.as_bytes());
        for (gold, ranked) in found.split.mentions.iter().zip(&found.ranked) {
            for number in [
                gold.document,
                gold.span.start,
                gold.span.end,
                ranked.len().min(k),
            ] {
                hash.update(&(number as u64).to_le_bytes());
            }
            for concept in ranked
                .iter()
                .take(k)
                .filter_map(|candidate| kb.get(candidate.concept))
            {
                serde_json::to_writer(&mut hash, concept).map_err(|cause| {
                    Error::artifact(format!("the concept {}", concept.id)).caused_by(cause)
                })?;
            }
        }
        Ok(hash.finalize())
    }
}
