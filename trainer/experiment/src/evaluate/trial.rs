//! The mentions of a split, encoded once, so that a bundle's settings can be tried on them as `pel
//! link` would use them.

use super::bundle_settings::same_scores;
use pel_artifacts::bundles;
use pel_artifacts::concept_table::KbFile;
use pel_artifacts::device::{DeviceArgs, OpenDevice, Work};
use pel_corpora::retrieve::CandidateLists;
use pel_corpora::retrieve::bundle::{batches, judged, prepare, prepare_detected, protocol};
use pel_corpora::split::{MentionQuery, Split};
use pel_index::metrics::{rank_of, recall_at};
use pel_io::interrupt;
use pel_io::progress::Progress;
use pel_kb::error::{Context, Result};
use pel_linker::{CandidateSource, LinkOptions, Linker, Prepared, Queries};
use pel_model::nil::{Evidence, NilPolicy};
use pel_model::tokens::View;
use pel_text::detect::join;
use std::path::Path;

/// A bundle on a device, without its policy.
pub struct Trial {
    linker: Linker,
    device: OpenDevice,
    before: NilPolicy,
    encoded: Vec<(Prepared, Queries)>,
}

impl Trial {
    /// Opens a bundle.
    ///
    /// # Errors
    /// If it cannot be read, or the device cannot be started.
    pub fn open(path: &Path, device: &DeviceArgs) -> Result<Self> {
        // A damaged bundle is reported before a GPU is started.
        let bundle = bundles::open(path)?;
        let device = device.open(Work::Long)?;
        let mut linker =
            Linker::new(bundle, &device.device).context(|| path.display().to_string())?;
        // A fit needs the evidence of all mentions.
        linker.settings().set_search_names(true);
        let before = linker.bundle().manifest.nil.clone();
        linker.settings().set_policy(NilPolicy::default());
        Ok(Self {
            linker,
            device,
            before,
            encoded: Vec::new(),
        })
    }

    /// The bundle's own policy.
    pub fn before(&self) -> &NilPolicy {
        &self.before
    }

    /// Its concepts.
    ///
    /// # Errors
    /// If one is damaged.
    pub fn concepts(&self) -> Result<KbFile> {
        let bundle = self.linker.bundle();
        Ok(KbFile {
            kb: bundle.knowledge_base()?,
            blake3: bundle.manifest.kb.blake3.clone(),
        })
    }

    /// Whether mentions are encoded.
    pub fn has_encoded(&self) -> bool {
        !self.encoded.is_empty()
    }

    /// Checks that the scores of another bundle mean the same.
    ///
    /// # Errors
    /// If encoders, views or scores of the two differ.
    pub fn check_scores_like(&self, other: &Self) -> Result<()> {
        let [own, other] = [self, other].map(|trial| &trial.linker.bundle().manifest);
        same_scores(own, other)
    }

    /// The split with the mentions that the bundle detects in its texts
    /// ([`Split::detected_by`]).
    ///
    /// # Errors
    /// If the run is interrupted, or detection fails.
    pub fn detect(&self, split: Split) -> Result<Split> {
        let mut progress = Progress::new("detecting", split.mentions.len() as u64, "documents");
        split.detected_by(|text| {
            interrupt::check()?;
            progress.advance(1);
            // `pel link` orders mentions by joining them with given ones.
            let found = self.linker.detect(text, &LinkOptions::default())?;
            Ok(join(Vec::new(), found))
        })
    }

    /// Encodes the mentions of a split.
    ///
    /// # Errors
    /// If one cannot be encoded.
    pub fn encode(&mut self, split: &Split) -> Result<()> {
        let queries: Vec<MentionQuery<'_>> = split.queries().collect();
        let mut progress = Progress::new("encoding", queries.len() as u64, "mentions");
        self.encoded.clear();
        let mut first = 0;
        for queries in batches(&queries) {
            interrupt::check()?;
            let detected = split.detected.as_ref();
            let prepared = match detected.map(|all| &all[first..first + queries.len()]) {
                Some(detected) => prepare_detected(&self.linker, queries, detected)?,
                None => prepare(&self.linker, queries)?,
            };
            first += queries.len();
            let vectors = self.linker.steps().encode(&prepared, |_| Ok(()))?;
            self.encoded.push((prepared, vectors));
            progress.advance(queries.len() as u64);
        }
        Ok(())
    }

    /// Sets the mix of views.
    ///
    /// # Errors
    /// As [`Settings::set_mix`](pel_linker::Settings::set_mix).
    pub fn set_mix(&mut self, mix: f32) -> Result<()> {
        self.linker.settings().set_mix(mix)
    }

    /// Sets the share of spelling in a score.
    ///
    /// # Errors
    /// As [`Settings::set_spelling`](pel_linker::Settings::set_spelling).
    pub fn set_spelling(&mut self, share: f32) -> Result<()> {
        self.linker.settings().set_spelling(share)
    }

    /// The share of spelling in a score.
    pub fn spelling(&self) -> f32 {
        self.linker.bundle().manifest.view.spelling
    }

    /// Recall@1.
    ///
    /// # Errors
    /// If the run is interrupted.
    pub fn recall(&self, split: &Split) -> Result<f64> {
        let mut found = self.found(1)?;
        split.unify_gold(&mut found);
        let ranks = split
            .mentions
            .iter()
            .zip(&found)
            .filter_map(|(gold, found)| Some(rank_of(gold.concept?, found)));
        Ok(recall_at(ranks, 1).value().unwrap_or(0.0))
    }

    /// The best `k` concepts of each mention with the scores that NIL is judged by.
    ///
    /// # Errors
    /// If the run is interrupted.
    pub fn found(&self, k: usize) -> Result<CandidateLists> {
        let options = LinkOptions::default().k(k);
        let mut all = Vec::new();
        for (prepared, vectors) in &self.encoded {
            interrupt::check()?;
            let links = self.linker.steps().finish(prepared, vectors, &options);
            all.extend(links.iter().map(judged));
        }
        Ok(all)
    }

    /// Whether the vectors of names and of templates are apart, so that [`Trial::set_mix`] can
    /// leave out one of the two.
    pub fn has_views_apart(&self) -> bool {
        let bundle = self.linker.bundle();
        bundle.manifest.view.concepts == View::Both && bundle.index.info().mixed == 0.0
    }

    /// The mix of views.
    pub fn mix(&self) -> f32 {
        self.linker.bundle().manifest.view.mix
    }

    /// All candidates of each mention that are searched, best first, and what is known of the best;
    /// without a side, if one is given.
    ///
    /// # Errors
    /// If the run is interrupted.
    pub fn evidence(
        &self,
        without: Option<CandidateSource>,
    ) -> Result<(CandidateLists, Vec<Option<Evidence>>)> {
        let (mut all, mut evidence) = (Vec::new(), Vec::new());
        let (linker, options) = (&self.linker, LinkOptions::default());
        for (prepared, vectors) in &self.encoded {
            interrupt::check()?;
            let links = match without {
                None => linker.steps().finish(prepared, vectors, &options),
                Some(side) => linker
                    .steps()
                    .finish_without(prepared, vectors, &options, side),
            };
            for link in links {
                all.push(link.searched().to_vec());
                evidence.push(link.evidence);
            }
        }
        Ok((all, evidence))
    }

    /// The protocol with a policy, as in `pel evaluate`.
    pub fn protocol(&self, policy: &NilPolicy) -> String {
        protocol(&self.linker, &self.device, policy)
    }
}
