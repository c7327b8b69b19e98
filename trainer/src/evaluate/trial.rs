//! The mentions of a split on the road of `pel link`, encoded once, so that a bundle's settings can be tried on them.

use crate::data::concept_table::KbFile;
use crate::data::split::Query;
use crate::data::split::Split;
use crate::io::bundles;
use crate::io::device::{DeviceArgs, OpenDevice, Work};
use crate::io::interrupt;
use crate::io::progress::Progress;
use crate::retrieve::bundle::{batches, judged, prepare, protocol};
use pel_shared::error::{Context, Result};
use pel_shared::lexical::Ranked;
use pel_shared::linker::{LinkOptions, Linker, Prepared, Queries};
use pel_shared::nil::{NilFeatures, NilModel, NilPolicy};
use std::path::Path;

/// A bundle on a device, whose threshold and lift are set aside.
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
        // A damaged bundle is said before a GPU is started.
        let bundle = bundles::open(path)?;
        let device = device.open(Work::Long)?;
        let mut linker = Linker::new(bundle, &device.device).context(|| path.display().to_string())?;
        let before = linker.bundle().manifest.nil.clone();
        linker.set_policy(NilPolicy::default());
        Ok(Self { linker, device, before, encoded: Vec::new() })
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
        Ok(KbFile { kb: bundle.concepts.to_knowledge_base()?, blake3: bundle.manifest.kb.blake3.clone() })
    }

    /// Encodes the mentions of a split.
    ///
    /// # Errors
    /// If one cannot be encoded.
    pub fn encode(&mut self, split: &Split) -> Result<()> {
        let queries: Vec<Query<'_>> = split.queries().collect();
        let mut progress = Progress::new("encoding", queries.len() as u64, "mentions");
        self.encoded.clear();
        for queries in batches(&queries) {
            interrupt::check()?;
            let prepared = prepare(&self.linker, queries)?;
            let vectors = self.linker.encode(&prepared, |_| Ok(()))?;
            self.encoded.push((prepared, vectors));
            progress.advance(queries.len() as u64);
        }
        Ok(())
    }

    /// Sets the mix of views.
    ///
    /// # Errors
    /// As [`Linker::set_mix`].
    pub fn set_mix(&mut self, mix: f32) -> Result<()> {
        self.linker.set_mix(mix)
    }

    /// Sets the share of spelling in a score.
    ///
    /// # Errors
    /// As [`Linker::set_spelling`].
    pub fn set_spelling(&mut self, share: f32) -> Result<()> {
        self.linker.set_spelling(share)
    }

    /// The share of spelling in a score.
    pub fn spelling(&self) -> f32 {
        self.linker.bundle().manifest.view.spelling
    }

    /// The share of mentions with a concept for which it comes first.
    ///
    /// # Errors
    /// If the run is interrupted.
    pub fn recall(&self, split: &Split) -> Result<f64> {
        let (mut found, _) = self.search(1, false)?;
        split.settle(&mut found);
        let golds = split.mentions.iter().map(|gold| gold.concept);
        let first = found.iter().map(|found| found.first().map(|(concept, _)| *concept));
        let right = golds.clone().zip(first).filter(|(gold, first)| gold.is_some() && gold == first).count();
        Ok(right as f64 / golds.flatten().count().max(1) as f64)
    }

    /// The best `k` concepts of each mention with the scores that NIL is judged by, and what tells beside the score whether its concept
    /// is known.
    ///
    /// # Errors
    /// If a concept is damaged, or the run is interrupted.
    pub fn found(&self, k: usize) -> Result<(Vec<Ranked>, Vec<Option<NilFeatures>>)> {
        self.search(k, true)
    }

    fn search(&self, k: usize, with_signs: bool) -> Result<(Vec<Ranked>, Vec<Option<NilFeatures>>)> {
        let options = LinkOptions::default().k(k);
        let (mut all, mut signs) = (Vec::new(), Vec::new());
        for (prepared, vectors) in &self.encoded {
            interrupt::check()?;
            let links = self.linker.finish(prepared, vectors, &options);
            if with_signs {
                signs.extend(self.linker.nil_features(prepared, vectors, &links)?);
            }
            all.extend(links.iter().map(judged));
        }
        Ok((all, signs))
    }

    /// What is compared with what, as `pel evaluate` says it.
    pub fn protocol(&self, lift: Option<&NilModel>) -> String {
        protocol(&self.linker, &self.device, lift.is_some())
    }
}
