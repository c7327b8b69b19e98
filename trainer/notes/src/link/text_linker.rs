//! Links texts with an open bundle: texts in, records out.
//!
//! `pel link`, the REST interface and the Python package share it.

use super::open_linker;
use crate::link::candidate_store::SharedStore;
use crate::link::second_stage::SecondStage;
use crate::link::vector_cache::VectorCache;
use pel_artifacts::bundles;
use pel_artifacts::device::OpenDevice;
use pel_io::interrupt;
use pel_kb::ConceptId;
use pel_kb::codes::System;
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::Scorer;
use pel_linker::{Link, LinkOptions, Linker, Prepared, Proposals, Queries};
use pel_model::tokens::Encoded;
use pel_model::tower::Side;
use pel_output::{Record, combine_codes};
use pel_text::context::Stated;
use pel_text::detect::{Detected, join};
use pel_text::markup::Readable;
use pel_text::senses::Senses;
use pel_text::{Mention, Span};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, PoisonError};

/// Maximum number of mentions linked at once, which bounds the memory. In longer texts candidates
/// are shared within a part.
pub(crate) const MENTIONS: usize = 1 << 14;

/// Records of a long text that are made at once.
const RECORDS: usize = 512;

/// Mentions that a thread prepares at once.
const PREPARED: usize = 256;

/// Texts whose mentions are detected at once.
const TEXTS: usize = 64;

/// A bundle that is open for linking, with what may take part in it.
pub struct TextLinker {
    /// The bundle on its device.
    pub linker: Linker,
    /// The cross-encoder, if any.
    pub second: Option<SecondStage>,
    /// Where candidates are searched instead of in the bundle, if anywhere.
    pub store: Option<SharedStore>,
    /// Vectors kept over calls, if any.
    pub cache: Option<VectorCache>,
}

/// How texts are linked, and what is kept of each link.
#[derive(Clone, Debug)]
pub struct TextOptions {
    /// Options of the linker; its `k` covers the candidates for the cross-encoder.
    pub link: LinkOptions,
    /// Candidates per mention in the records.
    pub k: usize,
    /// Prefixes of the cross-references to keep; `None` keeps all.
    pub xrefs: Option<Vec<String>>,
    /// The code systems of the codes to keep, in their order; `None` keeps all.
    pub codes: Option<Vec<System>>,
    /// Whether records have sets of answers.
    pub sets: bool,
    /// Whether only links are kept that are stated of the patient now.
    pub asserted: bool,
    /// The concepts of the links to keep; `None` keeps all, and NIL.
    pub under: Option<Arc<BTreeSet<ConceptId>>>,
    /// Whether linked concepts have the concepts and codes above them.
    pub ancestors: bool,
}

/// A text with what its document states of it.
type Told<'t> = (&'t str, Option<&'t Stated>);

/// A text with given mentions.
#[derive(Clone, Debug)]
pub struct GivenText<'t> {
    /// The text.
    pub text: &'t str,
    /// Given mentions, in text order.
    pub given: Vec<Detected>,
    /// Whether only these are linked and no others detected.
    pub only_given: bool,
    /// What its document states of it, if anything.
    pub stated: Option<&'t Stated>,
}

impl TextOptions {
    /// Options that keep the first `k` candidates, all cross-references and all links.
    #[must_use]
    pub fn new(k: usize) -> Self {
        Self {
            link: LinkOptions::default().k(k),
            k,
            xrefs: None,
            codes: None,
            sets: false,
            asserted: false,
            under: None,
            ancestors: false,
        }
    }

    /// The code systems that were chosen, which have columns in tables.
    pub(crate) fn code_systems(&self) -> &[System] {
        self.codes.as_deref().unwrap_or_default()
    }

    /// The links that have a record.
    pub(crate) fn kept<'l>(&self, links: &'l [Link]) -> impl Iterator<Item = &'l Link> {
        let (asserted, under) = (self.asserted, self.under.clone());
        let is_under = move |link: &Link| {
            let concept = Record::linked(link);
            under
                .as_ref()
                .is_none_or(|all| concept.is_some_and(|own| all.contains(&own)))
        };
        links
            .iter()
            .filter(move |link| (!asserted || link.context.is_asserted()) && is_under(link))
    }
}

impl TextLinker {
    /// Opens a bundle, a folder or a packed file, on a device.
    ///
    /// # Errors
    /// If the bundle cannot be read or is damaged.
    pub fn open(path: &Path, opened: &OpenDevice) -> Result<Self> {
        let bundle = bundles::open_to_link(path)?;
        Ok(Self::from(open_linker(path, bundle, None, opened)?))
    }

    /// Checks options against the bundle.
    ///
    /// # Errors
    /// If sets of answers are asked for and the bundle has no probabilities, or codes and it has
    /// none, or a code system twice.
    pub fn check(&self, options: &TextOptions) -> Result<()> {
        if options.sets && self.linker.bundle().manifest.nil.sets.is_empty() {
            return Err(Error::input(
                "sets: the bundle has no probabilities; `pel calibrate` adds them",
            ));
        }
        if let Some(systems) = &options.codes {
            let fit = System::check_distinct(systems).and(self.linker.bundle().check_codes());
            fit.context(|| "codes".to_owned())?;
        }
        Ok(())
    }

    /// Detects and links the mentions of texts. Returns the records of each text in its order.
    ///
    /// # Errors
    /// If the device or the store fails, a concept is damaged, or after an interrupt.
    pub fn link_texts<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        options: &TextOptions,
    ) -> Result<Vec<Vec<Record>>> {
        let given = texts.iter().map(|text| GivenText {
            text: text.as_ref(),
            given: Vec::new(),
            only_given: false,
            stated: None,
        });
        self.link_given(given.collect(), options)
    }

    /// As [`TextLinker::link_texts`], with given mentions. Detected ones that overlap a given one
    /// are left out.
    ///
    /// # Errors
    /// As [`TextLinker::link_texts`], or if a given span does not fit.
    pub fn link_given(
        &self,
        texts: Vec<GivenText<'_>>,
        options: &TextOptions,
    ) -> Result<Vec<Vec<Record>>> {
        let mut records = Vec::with_capacity(texts.len());
        for texts in texts.chunks(TEXTS) {
            let stop = interrupt::stop();
            let mentions = |text: &GivenText<'_>| self.detect(text, options, &stop);
            let detected = texts.par_iter().map(mentions).collect::<Result<Vec<_>>>()?;
            let texts: Vec<Told<'_>> = texts.iter().map(|text| (text.text, text.stated)).collect();
            let all = self.link_detected(&texts, detected, options)?;
            for ((text, _), links) in texts.iter().zip(all) {
                records.push(self.records(text, &links, options)?);
            }
        }
        Ok(records)
    }

    /// The given and the detected mentions of a text.
    fn detect(
        &self,
        text: &GivenText<'_>,
        options: &TextOptions,
        stop: &interrupt::Stop,
    ) -> Result<Vec<Detected>> {
        stop.check()?;
        let found = if text.only_given {
            Vec::new()
        } else {
            self.linker
                .steps()
                .detect_while(text.text, &options.link, || stop.check())?
        };
        Ok(join(text.given.clone(), found))
    }

    /// As [`TextLinker::link_given`], for one text whose records need not be in memory together:
    /// they are passed on in parts, in its order.
    ///
    /// # Errors
    /// As [`TextLinker::link_given`], or that of `each`.
    pub fn link_long(
        &self,
        text: &GivenText<'_>,
        options: &TextOptions,
        each: &mut dyn FnMut(&[Record]) -> Result<()>,
    ) -> Result<()> {
        let mentions = self.detect(text, options, &interrupt::stop())?;
        let mut pass = |links: &[Link]| -> Result<()> {
            for links in links.chunks(RECORDS) {
                interrupt::check()?;
                each(&self.records(text.text, links, options)?)?;
            }
            Ok(())
        };
        if mentions.len() > MENTIONS {
            let none = Stated::default();
            let stated = text.stated.unwrap_or(&none);
            let mut part = |links: Vec<Link>| pass(&links);
            return self.link_in_parts(text.text, stated, &mentions, options, &mut part);
        }
        for links in self.link_batch(vec![((text.text, text.stated), mentions)], options)? {
            pass(&links)?;
        }
        Ok(())
    }

    /// The vectors of mentions that are the whole of a text, `[texts, dim]`. A text that is empty
    /// after normalisation has zeros.
    ///
    /// # Errors
    /// If the device fails, or after an interrupt.
    pub fn encode_texts<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Vec<f32>> {
        let (bundle, dim) = (self.linker.bundle(), self.linker.steps().encoder().dim());
        let tokenize = |text: &T| {
            let text = text.as_ref();
            if text.is_empty() {
                return Ok(None);
            }
            let mention = Mention::cut(text, Span::new(0, text.len()))?;
            bundle.manifest.view.mention(&bundle.tokens, &mention)
        };
        let tokenized = texts
            .par_iter()
            .map(tokenize)
            .collect::<Result<Vec<Option<Encoded>>>>()?;
        let rows: Vec<&Encoded> = tokenized.iter().flatten().collect();
        let encoder = self.linker.steps().encoder();
        let size = encoder.batch_size();
        let found = encoder
            .encode_all(Scorer::Dual, Side::Mention, &rows, size, |_| {
                interrupt::check()
            })?
            .pooled;
        if rows.len() == texts.len() {
            return Ok(found);
        }
        let mut all = vec![0.0; texts.len() * dim];
        let filled = all
            .chunks_exact_mut(dim)
            .zip(&tokenized)
            .filter(|(_, tokens)| tokens.is_some());
        for ((row, _), vector) in filled.zip(found.chunks_exact(dim)) {
            row.copy_from_slice(vector);
        }
        Ok(all)
    }

    /// Links the detected mentions of texts, in batches of at most [`MENTIONS`].
    fn link_detected(
        &self,
        texts: &[Told<'_>],
        detected: Vec<Vec<Detected>>,
        options: &TextOptions,
    ) -> Result<Vec<Vec<Link>>> {
        let none = Stated::default();
        let mut links = Vec::with_capacity(texts.len());
        let (mut batch, mut mentions) = (Vec::new(), 0);
        for (text, found) in texts.iter().zip(detected) {
            let count = found.len();
            if mentions + count > MENTIONS {
                links.extend(self.link_batch(std::mem::take(&mut batch), options)?);
                mentions = 0;
            }
            if count > MENTIONS {
                let mut all = Vec::with_capacity(count);
                let (text, stated) = (text.0, text.1.unwrap_or(&none));
                self.link_in_parts(text, stated, &found, options, &mut |part| {
                    all.extend(part);
                    Ok(())
                })?;
                links.push(all);
            } else {
                mentions += count;
                batch.push((*text, found));
            }
        }
        links.extend(self.link_batch(batch, options)?);
        Ok(links)
    }

    /// Prepares and links texts with their detected mentions in one batch.
    fn link_batch(
        &self,
        batch: Vec<(Told<'_>, Vec<Detected>)>,
        options: &TextOptions,
    ) -> Result<Vec<Vec<Link>>> {
        let none = Stated::default();
        let texts: Vec<&str> = batch.iter().map(|((text, _), _)| *text).collect();
        let prepared = batch
            .into_par_iter()
            .map(|((text, stated), found)| {
                let stated = stated.unwrap_or(&none);
                self.linker.steps().prepare_stated(text, stated, found)
            })
            .collect::<Result<Vec<_>>>()?;
        self.link_prepared(&texts, prepared, options)
    }

    /// Links texts with prepared mentions in one batch. Returns the links of each text.
    ///
    /// # Errors
    /// If the device or the store fails, or after an interrupt.
    pub(crate) fn link_prepared(
        &self,
        texts: &[&str],
        prepared: Vec<Prepared>,
        options: &TextOptions,
    ) -> Result<Vec<Vec<Link>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let counts: Vec<usize> = prepared.iter().map(Prepared::mentions).collect();
        let joined = Prepared::join(prepared);
        let queries = self.encode(&joined)?;
        let mut links = self.finish(&joined, &queries, options)?.into_iter();
        let parts = texts.iter().zip(counts).map(|(text, count)| {
            let mut links: Vec<Link> = links.by_ref().take(count).collect();
            self.rerank(text, &mut links, options)?;
            Ok(links)
        });
        parts.collect()
    }

    /// Links the mentions of one large text in parts, and passes the links of each part on.
    ///
    /// # Errors
    /// If a span does not fit, the device or the store fails, `each` fails, or after an interrupt.
    pub(crate) fn link_in_parts(
        &self,
        text: &str,
        stated: &Stated,
        mentions: &[Detected],
        options: &TextOptions,
        each: &mut dyn FnMut(Vec<Link>) -> Result<()>,
    ) -> Result<()> {
        let readable = Readable::of_note(text)?;
        let text = &*readable.text;
        let mut reader = self.linker.bundle().manifest.view.reader();
        reader.begin(text);
        let senses = Senses::english().reader(text);
        for some in mentions.chunks(MENTIONS) {
            interrupt::check()?;
            let prepare = |some: &[Detected]| {
                self.linker
                    .steps()
                    .prepare_with(&mut reader.clone(), &senses, text, some.to_vec())
            };
            let prepared = some
                .par_chunks(PREPARED)
                .map(prepare)
                .collect::<Result<Vec<_>>>()?;
            let mut prepared = Prepared::join(prepared).of_one_text();
            self.linker
                .steps()
                .judge_stated(text, stated, &mut prepared)?;
            let queries = self.encode(&prepared)?;
            let mut links = self.finish(&prepared, &queries, options)?;
            self.rerank(text, &mut links, options)?;
            each(links)?;
        }
        Ok(())
    }

    /// The vectors of mentions.
    fn encode(&self, prepared: &Prepared) -> Result<Queries> {
        match &self.cache {
            None => self.linker.steps().encode(prepared, |_| interrupt::check()),
            Some(cache) => cache.encode(&self.linker, prepared),
        }
    }

    /// Searches candidates, in the bundle or the store, and decides.
    fn finish(
        &self,
        prepared: &Prepared,
        queries: &Queries,
        options: &TextOptions,
    ) -> Result<Vec<Link>> {
        let options = &options.link;
        let Some(SharedStore { store, types }) = &self.store else {
            return Ok(self.linker.steps().finish(prepared, queries, options));
        };
        let (wanted, dim) = (
            self.linker.steps().proposals(options),
            self.linker.steps().encoder().dim(),
        );
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        let proposals = Proposals {
            concepts: store.search(&queries.pooled, wanted, dim)?,
            types: types.clone(),
        };
        Ok(self
            .linker
            .steps()
            .finish_with(prepared, queries, options, &proposals))
    }

    /// Applies the cross-encoder, if any, then keeps the first `k` candidates.
    fn rerank(&self, text: &str, links: &mut [Link], options: &TextOptions) -> Result<()> {
        if let Some(second) = &self.second {
            second.rerank(&self.linker, text, links)?;
        }
        links.iter_mut().for_each(|link| link.truncate(options.k));
        Ok(())
    }

    /// Converts links of a text to records with names.
    ///
    /// # Errors
    /// If a concept is damaged.
    pub fn records(
        &self,
        text: &str,
        links: &[Link],
        options: &TextOptions,
    ) -> Result<Vec<Record>> {
        let mut records: Vec<Record> = options
            .kept(links)
            .map(|link| {
                let mut record = Record::new(&self.linker, link)?;
                if options.sets {
                    record.add_sets(&self.linker, link)?;
                }
                if options.ancestors {
                    record.add_ancestors(&self.linker, link)?;
                }
                Ok(record)
            })
            .collect::<Result<_>>()?;
        if let Some(prefixes) = &options.xrefs {
            records
                .iter_mut()
                .for_each(|record| record.keep_xrefs(prefixes));
        }
        combine_codes(text, &mut records);
        if let Some(systems) = &options.codes {
            records
                .iter_mut()
                .for_each(|record| record.keep_codes(systems));
        }
        Ok(records)
    }
}

impl From<Linker> for TextLinker {
    /// A linker without cross-encoder, store and cache.
    fn from(linker: Linker) -> Self {
        Self {
            linker,
            second: None,
            store: None,
            cache: None,
        }
    }
}
