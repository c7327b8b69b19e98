//! The steps of linking, one by one.
//!
//! | stage | call | steps |
//! | --- | --- | --- |
//! | detect | [`Linker::detect`] | find the mentions |
//! | prepare | [`Steps::prepare`] | cut and tokenize them |
//! | encode | [`Steps::encode`] | encode and pool the tokens |
//! | finish | [`Steps::finish`] | search, compare and share candidates within a text, decide |
//!
//! Several texts are linked faster together: [`Prepared::join`] joins them, and [`Steps::finish`]
//! returns their links text by text. A web page shows the first links early and must not block on
//! its GPU. It calls [`Prepared::split`] with [`Encoder::batches`]. For each part it calls
//! [`Encoder::steps`], [`Steps::search_candidates`] and [`Steps::finish_searched`]. At the end it
//! calls [`Steps::finish_searched`] with the candidates of all parts for the whole text
//! ([`Prepared::of_one_text`]), since the mentions of a text bear on each other. Its other workers
//! have [`Encoders`](crate::bundle::Encoders): they compute what [`Bundle::detector_input`](crate::Bundle::detector_input) asks
//! for, before [`Steps::detect_from`], and parts, for [`Encoder::encodings`].
//!
//! [`Bundle::detector_input`]: crate::bundle::Bundle::detector_input

use crate::added::AddedConcepts;
use crate::bundle::Queries;
use crate::candidates::{Proposals, SearchedCandidates};
use crate::detect::DetectorInput;
use crate::link::Link;
use crate::linker::{Linker, Steps};
use crate::normalise::Words;
use crate::options::LinkOptions;
use crate::prepared::{Prepared, PreparedMention, SharedLists};
use pel_kb::error::Result;
use pel_kb::score::{Candidate, Scorer, Similarity};
use pel_model::encode::{Encoder, SequenceInterner};
use pel_model::tokens::Encoded;
use pel_model::tower::Side;
use pel_text::abbreviations::Reader;
use pel_text::context::{Context, ContextRules, Stated};
use pel_text::detect::Detected;
use pel_text::markup::Readable;
use pel_text::modifiers::without_modifiers;
use pel_text::senses::{SenseReader, Senses};
use std::borrow::Cow;

/// The most concepts that a misspelt mention may name.
pub const MISSPELT: usize = 8;

impl Linker {
    /// Links the mentions that are detected in a text, in the order of the text, with the default options.
    ///
    /// # Errors
    /// If the device fails.
    pub fn link(&self, text: &str) -> Result<Vec<Link>> {
        self.link_with(text, &LinkOptions::default())
    }

    /// As [`Linker::link`], with options.
    ///
    /// # Errors
    /// If the device fails.
    pub fn link_with(&self, text: &str, options: &LinkOptions) -> Result<Vec<Link>> {
        self.link_mentions(text, self.detect(text, options)?, options)
    }

    /// Links given mentions of a text, in the order given.
    ///
    /// # Errors
    /// If a span cannot be cut out of the text, or the device fails.
    pub fn link_mentions(
        &self,
        text: &str,
        mentions: Vec<Detected>,
        options: &LinkOptions,
    ) -> Result<Vec<Link>> {
        let prepared = self.steps().prepare(text, mentions)?;
        let queries = self.steps().encode(&prepared, |_| Ok(()))?;
        Ok(self.steps().finish(&prepared, &queries, options))
    }

    /// Detects the mentions of a text, in its order.
    ///
    /// # Errors
    /// As [`Bundle::detect`](crate::Bundle::detect).
    pub fn detect(&self, text: &str, options: &LinkOptions) -> Result<Vec<Detected>> {
        self.steps().detect_while(text, options, || Ok(()))
    }
}

impl<'l> Steps<'l> {
    /// The encoder.
    pub fn encoder(&self) -> &'l Encoder {
        &self.linker.encoder
    }

    /// The vectors of a mention and a concept that are compared.
    pub fn scorer(&self) -> Scorer {
        self.linker.scorer
    }

    /// The rules of context.
    pub fn context_rules(&self) -> &'l ContextRules {
        &self.linker.context_rules
    }

    /// The concepts that were added.
    pub fn added_concepts(&self) -> &'l AddedConcepts {
        &self.linker.added
    }

    /// A score as it is written: that of single vectors is at most 1, above which a candidate that
    /// fits the text ([`Steps::finish`]) stands by a rounding.
    pub fn shown_score(&self, score: f32) -> f32 {
        let is_cosine = self.linker.bundle.manifest.encoder.reduction.score == Similarity::Cosine;
        match self.linker.scorer {
            Scorer::Dual if is_cosine => score.min(1.0),
            _ => score,
        }
    }

    /// As [`Linker::detect`]; `tick` as in [`Bundle::detect_while`](crate::Bundle::detect_while).
    ///
    /// # Errors
    /// As [`Bundle::detect_while`](crate::Bundle::detect_while).
    pub fn detect_while(
        &self,
        text: &str,
        options: &LinkOptions,
        tick: impl FnMut() -> Result<()>,
    ) -> Result<Vec<Detected>> {
        let found = self
            .linker
            .bundle
            .detect_while(text, &options.detect, tick)?;
        Ok(self.linker.detected(text, options, found))
    }

    /// As [`Linker::detect`], from windows that were computed elsewhere ([`Bundle::detector_input`](crate::Bundle::detector_input)).
    ///
    /// # Errors
    /// As [`Bundle::detect`](crate::Bundle::detect).
    pub fn detect_from(
        &self,
        text: &str,
        options: &LinkOptions,
        input: DetectorInput,
    ) -> Result<Vec<Detected>> {
        let found = self
            .linker
            .bundle
            .detect_from(text, &options.detect, input)?;
        Ok(self.linker.detected(text, options, found))
    }

    /// Cuts mentions out of a text and tokenizes them.
    ///
    /// # Errors
    /// If the text is no plain text ([`Readable::of_note`]), or a span cannot be cut out of it.
    pub fn prepare(&self, text: &str, mentions: Vec<Detected>) -> Result<Prepared> {
        self.prepare_stated(text, &Stated::default(), mentions)
    }

    /// As [`Steps::prepare`], for a text of which its document states the day and the sections.
    ///
    /// # Errors
    /// As [`Steps::prepare`].
    pub fn prepare_stated(
        &self,
        text: &str,
        stated: &Stated,
        mentions: Vec<Detected>,
    ) -> Result<Prepared> {
        let readable = Readable::of_note(text)?;
        let text = &*readable.text;
        let reader = &mut self.linker.bundle.manifest.view.reader();
        let senses = Senses::english().reader(text);
        let mut prepared = self.prepare_with(reader, &senses, text, mentions)?;
        self.judge_stated(text, stated, &mut prepared)?;
        Ok(prepared)
    }

    /// As [`Steps::prepare`], for some of a text's mentions. The reader
    /// ([`ViewOptions::reader`](pel_model::tokens::ViewOptions::reader)) finds the abbreviations of the
    /// text once for all calls, and so does that of senses ([`Senses::reader`]). The context of the
    /// mentions is left to [`Steps::judge`].
    ///
    /// # Errors
    /// As [`Steps::prepare`].
    pub fn prepare_with<'t>(
        &self,
        reader: &mut Reader<'t>,
        senses: &SenseReader<'t>,
        text: &'t str,
        mentions: Vec<Detected>,
    ) -> Result<Prepared> {
        let linker = self.linker;
        let view = &linker.bundle.manifest.view;
        let (mut interner, mut prepared) = (
            SequenceInterner::default(),
            Vec::with_capacity(mentions.len()),
        );
        let mut lists = SharedLists::default();
        for detected in mentions {
            let mut mention = reader.mention_in(text, detected.pieces())?;
            let reading = match &mention.text {
                Cow::Borrowed(words) => linker.read(&Words {
                    detected: &detected,
                    mention: words,
                    senses,
                }),
                Cow::Owned(long_form) => Some(linker.read_long_form(long_form)),
            };
            let is_own = reading.is_none();
            let step = reading.as_ref().map(|reading| reading.step);
            let mut named = match reading {
                Some(reading) => {
                    mention.text = Cow::Owned(reading.name);
                    reading.concepts
                }
                None => linker.named_concepts(&mention.text),
            };
            let plain = is_own && linker.is_plain_name(&detected, &mention.text, &named);
            let encoded = match plain && linker.skips_plain_names() {
                true => None,
                false => view.mention_named(&linker.bundle.tokens, &mention, named.len())?,
            };
            let sequence = encoded.map(|encoded| interner.intern(encoded));
            let mut modified = false;
            if let (true, Some(core)) = (named.is_empty(), without_modifiers(&mention.text)) {
                named = match linker.read_by_wording(core) {
                    Some((_, concepts)) => concepts,
                    None => linker.named_concepts(core),
                };
                modified = !named.is_empty();
            }
            let dictionary = &linker.bundle.dictionary;
            let misspelt = match named.is_empty() {
                true => dictionary.lookup_misspelt(&mention.text, MISSPELT),
                false => None,
            };
            let unknown_word =
                misspelt.as_ref().is_some_and(Vec::is_empty) && dictionary.knows_enough_words();
            let rewritten = match &mention.text {
                Cow::Borrowed(_) => false,
                Cow::Owned(read) => *read != pel_text::text_of(text, detected.pieces())?,
            };
            prepared.push(PreparedMention {
                detected,
                sequence,
                named: lists.share(named),
                modified,
                plain,
                misspelt: misspelt.unwrap_or_default(),
                unknown_word,
                text: mention.text.into_owned(),
                rewritten,
                read_by: step.filter(|_| rewritten),
                group: None,
                context: Context::default(),
                attributes: Vec::new(),
            });
        }
        let texts = vec![prepared.len()];
        Ok(Prepared {
            mentions: prepared,
            sequences: interner.into_sequences(),
            texts,
        })
    }

    /// Encodes the sequences of mentions. After each step `tick` gets the number of sequences that
    /// the step encoded. Its error stops the work.
    ///
    /// # Errors
    /// As [`Encoder::encode_batches`](pel_model::encode::Encoder::encode_batches).
    pub fn encode(
        &self,
        prepared: &Prepared,
        tick: impl FnMut(usize) -> Result<()>,
    ) -> Result<Queries> {
        let rows: Vec<&Encoded> = prepared.sequences.iter().collect();
        Queries::encode(
            &self.linker.encoder,
            self.linker.scorer,
            Side::Mention,
            &rows,
            self.linker.encoder.batch_size(),
            tick,
        )
    }

    /// Searches candidates, shares them within each text, and decides.
    ///
    /// # Shapes
    /// queries `[sequences]` -> one link per mention
    ///
    /// # Panics
    /// If the queries are not those of the sequences.
    pub fn finish(
        &self,
        prepared: &Prepared,
        queries: &Queries,
        options: &LinkOptions,
    ) -> Vec<Link> {
        let searched = self.search_candidates(prepared, queries, options);
        self.finish_searched(prepared, queries, options, searched)
    }

    /// The first half of [`Steps::finish`]: searches the candidates of each mention by itself.
    ///
    /// # Shapes
    /// queries `[sequences]` -> one list per mention
    ///
    /// # Panics
    /// If the queries are not those of the sequences.
    pub fn search_candidates(
        &self,
        prepared: &Prepared,
        queries: &Queries,
        options: &LinkOptions,
    ) -> SearchedCandidates {
        let k = self.linker.searched(options.candidates());
        SearchedCandidates(self.linker.candidates(prepared, queries, None, k))
    }

    /// The second half of [`Steps::finish`]: shares candidates within each text, and decides.
    ///
    /// # Shapes
    /// queries `[sequences]`, candidates `[mentions]` -> one link per mention
    ///
    /// # Panics
    /// If the queries or the candidates are not those of the mentions.
    pub fn finish_searched(
        &self,
        prepared: &Prepared,
        queries: &Queries,
        options: &LinkOptions,
        searched: SearchedCandidates,
    ) -> Vec<Link> {
        self.linker
            .finish_from(prepared, queries, options, searched.0, true)
    }

    /// As [`Steps::finish`], but with concepts that were searched elsewhere. With
    /// [`Steps::proposals`] concepts for each sequence, the best by their best rows, and no types,
    /// the links are those of an exact search in the bundle.
    ///
    /// # Shapes
    /// queries and proposals `[sequences]` -> one link per mention
    ///
    /// # Panics
    /// If the queries or proposals are not those of the sequences.
    pub fn finish_with(
        &self,
        prepared: &Prepared,
        queries: &Queries,
        options: &LinkOptions,
        proposals: &Proposals,
    ) -> Vec<Link> {
        let k = self.linker.searched(options.candidates());
        let candidates = self
            .linker
            .candidates(prepared, queries, Some(proposals), k);
        self.linker
            .finish_from(prepared, queries, options, candidates, true)
    }
}

impl Linker {
    /// `coherent` is whether the mentions of a text choose between candidates.
    pub(crate) fn finish_from(
        &self,
        prepared: &Prepared,
        queries: &Queries,
        options: &LinkOptions,
        mut candidates: Vec<Vec<Candidate>>,
        coherent: bool,
    ) -> Vec<Link> {
        assert_eq!(
            candidates.len(),
            prepared.mentions.len(),
            "a list of candidates for each mention"
        );
        let k = options.k.max(1);
        let mut first = 0;
        let mut behind: Vec<f32> = Vec::with_capacity(candidates.len());
        for mentions in &prepared.texts {
            let those = first..first + mentions;
            first += mentions;
            if !coherent {
                behind.resize(first, 0.0);
                continue;
            }
            behind.extend(self.make_coherent(
                prepared,
                &prepared.mentions[those.clone()],
                &mut candidates[those],
            ));
        }
        let link = |((mention, searched), behind): ((&PreparedMention, Vec<_>), f32)| {
            self.link_of(prepared, mention, options, searched, behind)
        };
        let mentions = prepared.mentions.iter().zip(candidates).zip(behind);
        let mut links: Vec<Link> = mentions.map(link).collect();
        let mut first = 0;
        for mentions in &prepared.texts {
            let those = first..first + mentions;
            self.decide_text(&mut links[those.clone()], options.threshold);
            let own = &prepared.mentions[those.clone()];
            self.make_equal_mentions_agree(own, &mut links[those]);
            self.share_from(
                prepared,
                first,
                queries,
                &mut links[first..first + mentions],
                k,
            );
            first += mentions;
        }
        links
    }
}
