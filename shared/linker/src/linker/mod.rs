//! Links the mentions of texts to the concepts of a bundle.
//!
//! [`Linker::link`] links one text. Its stages can be called one by one:
//!
//! | stage | call | steps |
//! | --- | --- | --- |
//! | detect | [`Linker::detect`] | find the mentions |
//! | prepare | [`Linker::prepare`] | cut and tokenize them |
//! | encode | [`Linker::encode`] | encode and pool the tokens |
//! | finish | [`Linker::finish`] | search, compare and share candidates within a text, decide |
//!
//! Several texts are linked faster together: [`Prepared::join`] joins them, and [`Linker::finish`]
//! returns their links text by text. A web page shows the first links early and must not block on
//! its GPU. It calls [`Prepared::split`] with [`Encoder::batches`]. For each part it calls
//! [`Encoder::steps`], [`Linker::search_candidates`] and [`Linker::finish_searched`]. At the end it
//! calls [`Linker::finish_searched`] with the candidates of all parts for the whole text
//! ([`Prepared::of_one_text`]), since the mentions of a text bear on each other. Its other workers
//! have [`Encoders`](crate::bundle::Encoders): they compute what [`Bundle::detector_input`] asks
//! for, before [`Linker::detect_from`], and parts, for [`Encoder::encodings`].

pub mod added;
mod candidates;
mod coherence;
mod context;
mod evidence;
mod explain;
mod kinds;
mod named;
mod plain_names;
mod prepared;
mod proposals;
mod queries;
mod rerank;
mod senses;
mod sides;

pub use crate::bundle::Queries;
pub use added::{AddedChanges, AddedConcepts, TokenizedConcepts};
pub use candidates::SearchedCandidates;
pub use explain::{CandidateTexts, MatchedText, TokenAlignment};
pub use pel_model::cross_encoder::Pairs;
pub use prepared::{Part, Prepared};
pub use proposals::Proposals;
pub use sides::Side;

use crate::bundle::{Bundle, DetectorInput, Resolved};
use burn::tensor::Device;
use candidates::first_with_named;
use pel_index::best_per_concept;
use pel_kb::error::{Error, Result};
use pel_kb::group::Group;
use pel_kb::score::{Candidate, Scorer, Similarity};
use pel_kb::{Concept, ConceptId};
use pel_model::encode::{Encoder, SequenceInterner};
use pel_model::nil::{Decision, Evidence, NilPolicy, NilReason};
use pel_model::tokens::View;
use pel_model::tokens::{Cut, MentionTemplate};
use pel_text::Span;
use pel_text::abbreviations::Reader;
use pel_text::attributes::{Attribute, AttributeRules};
use pel_text::context::{Context, ContextRules, Stated};
use pel_text::detect::{DetectOptions, Detected, Origin};
use pel_text::markup::Readable;
use pel_text::modifiers::without_modifiers;
use pel_text::senses::{SenseReader, Senses};
use pel_text::wordings::Wordings;
use prepared::{PreparedMention, SharedLists};
use std::borrow::Cow;

/// The most concepts that a misspelt mention may name.
pub const MISSPELT: usize = 8;

/// A bundle with its encoder on a device, and the concepts that were added to it.
pub struct Linker {
    bundle: Bundle,
    encoder: Encoder,
    scorer: Scorer,
    added: AddedConcepts,
    context_rules: Cow<'static, ContextRules>,
    attribute_rules: Cow<'static, AttributeRules>,
    /// Whether plain names are encoded and searched as the others.
    search_names: bool,
}

/// The options for linking a text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkOptions {
    /// The number of candidates of a mention.
    pub k: usize,
    /// The lowest value that is linked, a probability if the bundle has a model of it, otherwise a
    /// score; `None` uses the bundle's policy.
    pub threshold: Option<f32>,
    /// The options for detection.
    pub detect: DetectOptions,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self {
            k: 5,
            threshold: None,
            detect: DetectOptions::default(),
        }
    }
}

impl LinkOptions {
    /// Sets the number of candidates of a mention.
    #[must_use]
    pub fn k(self, k: usize) -> Self {
        Self { k, ..self }
    }

    /// The number of candidates to find: the margin needs two, even if one was asked for.
    fn candidates(&self) -> usize {
        self.k.max(2)
    }

    /// Sets the lowest value that is linked, a probability if the bundle has a model of it,
    /// otherwise a score; `None` uses the bundle's policy.
    #[must_use]
    pub fn threshold(self, threshold: Option<f32>) -> Self {
        Self { threshold, ..self }
    }

    /// Sets the options for detection.
    #[must_use]
    pub fn detect(self, detect: DetectOptions) -> Self {
        Self { detect, ..self }
    }
}

/// A mention with its decision.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Link {
    /// The extent of the mention, from its first fragment to its last.
    pub span: Span,
    /// The fragments of a discontinuous mention ([`Detected::fragments`]); empty for a continuous
    /// one.
    pub fragments: Vec<Span>,
    /// The source of the mention: [`Origin::Name`] for each name of the knowledge base that was not
    /// given, the detector's too.
    pub origin: Origin,
    /// What kind of thing it is: by the concepts of its name, what the text says of a substance, and
    /// what the detector read.
    pub group: Option<Group>,
    /// Whether the text says that it is absent, past, uncertain or someone else's.
    pub context: Context,
    /// What stands beside the mention: doses, values, dates, stages. In the order of the text.
    pub attributes: Vec<Attribute>,
    /// Linked or NIL.
    pub decision: Decision,
    /// The best candidates, best first.
    pub candidates: Vec<Candidate>,
    /// The probability that the best candidate is right; `None` without a model of it or without a
    /// candidate. A reranking does not change it.
    pub probability: Option<f32>,
    /// What is known of the mention and its best candidate; `None` without a candidate.
    pub evidence: Option<Evidence>,
    /// All candidates that were searched, best first, at least 64 as far as there are so many
    /// concepts.
    searched: Vec<Candidate>,
    /// The cross-encoder's scores of the first candidates. Empty without a reranking.
    pub ranker_scores: Vec<f32>,
    /// Whether the mention is a name of the best candidate after normalisation, or without words of
    /// side and severity at its ends ("left-sided pneumonia").
    pub named: bool,
    /// The long form of an abbreviation that the text defines, or that the words around it show, or
    /// the name that a wording stands for ([`Bundle::wordings`]).
    pub read_as: Option<String>,
    /// What the encoder's window truncated.
    pub cut: Cut,
}

impl Link {
    /// The fragments of the mention, one or more.
    pub fn pieces(&self) -> &[Span] {
        pel_text::pieces(&self.span, &self.fragments)
    }

    /// All candidates that were searched, best first: at least 64, as far as there are so many
    /// concepts, however short [`Link::candidates`] is. Without shared candidates.
    pub fn searched(&self) -> &[Candidate] {
        &self.searched
    }

    /// The number of concepts that bear the mention as a name, if it is a name of the best
    /// candidate. Two or more are told apart by their scores and by the text alone.
    pub fn same_name(&self) -> usize {
        self.evidence
            .filter(|evidence| evidence.exact_match)
            .map_or(0, |evidence| evidence.same_name)
    }

    /// The value that is compared with the threshold: the probability, otherwise the best score.
    /// `None` without a candidate.
    pub fn judged(&self) -> Option<f32> {
        let by_score = || Some(self.candidates.first()?.score);
        self.probability.or_else(by_score)
    }

    /// The lead of the best candidate over the second, in the scores that ordered them; `None` with
    /// fewer than 2 candidates.
    pub fn margin(&self) -> Option<f32> {
        match (&self.ranker_scores[..], &self.candidates[..]) {
            ([best, second, ..], _) => Some(best - second).filter(|margin| margin.is_finite()),
            (_, [best, second, ..]) => Some(best.score - second.score),
            _ => None,
        }
    }

    /// Removes all but the first `count` candidates.
    pub fn truncate(&mut self, count: usize) {
        self.candidates.truncate(count);
        self.ranker_scores.truncate(count);
    }
}

impl Linker {
    /// Builds the encoder of a bundle on a device.
    ///
    /// # Errors
    /// As [`Bundle::encoder`].
    pub fn new(bundle: Bundle, device: &Device) -> Result<Self> {
        let encoder = bundle.encoder(device)?;
        let (added, scorer) = (AddedConcepts::new(bundle.concepts.len()), bundle.scorer());
        let mut linker = Self {
            bundle,
            encoder,
            scorer,
            added,
            context_rules: Cow::Borrowed(ContextRules::english()),
            attribute_rules: Cow::Borrowed(AttributeRules::english()),
            search_names: false,
        };
        linker.set_scorer(scorer)?;
        Ok(linker)
    }

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
        let prepared = self.prepare(text, mentions)?;
        let queries = self.encode(&prepared, |_| Ok(()))?;
        Ok(self.finish(&prepared, &queries, options))
    }

    /// The bundle, with the changes of the setters in its manifest.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Sets the weight of the template in a score
    /// ([`ViewOptions::mix`](pel_model::tokens::ViewOptions::mix)).
    ///
    /// # Errors
    /// As [`ViewOptions::check_mix`](pel_model::tokens::ViewOptions::check_mix).
    pub fn set_mix(&mut self, mix: f32) -> Result<()> {
        let mixed = self.bundle.index.info().mixed;
        if mixed > 0.0 {
            return match mix == mixed {
                true => Ok(()),
                false => Err(Error::input(format!(
                    "expected the weight {mixed} of the template, which the rows of the index hold, found {mix}; index again \
                     with --mix {mix}"
                ))),
            };
        }
        let view = &mut self.bundle.manifest.view;
        view.mix = mix;
        view.check_mix()?;
        self.bundle.index.set_mix(mix);
        self.bundle
            .token_vectors
            .iter_mut()
            .for_each(|store| store.set_mix(mix));
        Ok(())
    }

    /// Sets the weight of spelling in a score
    /// ([`ViewOptions::spelling`](pel_model::tokens::ViewOptions::spelling)).
    ///
    /// # Errors
    /// As [`ViewOptions::check_spelling`](pel_model::tokens::ViewOptions::check_spelling).
    pub fn set_spelling(&mut self, share: f32) -> Result<()> {
        let manifest = &mut self.bundle.manifest;
        manifest.view.spelling = share;
        manifest
            .view
            .check_spelling(manifest.encoder.reduction.score)
    }

    /// Sets the rule for NIL.
    pub fn set_policy(&mut self, policy: NilPolicy) {
        self.bundle.manifest.nil = policy;
    }

    /// The concepts that were added.
    pub fn added_concepts(&self) -> &AddedConcepts {
        &self.added
    }

    /// The concept at a position, of the bundle or added.
    ///
    /// # Errors
    /// If there is no such concept, or its record is damaged.
    pub fn concept(&self, id: ConceptId) -> Result<Concept> {
        self.added.concept(id).map_or_else(
            || self.bundle.concepts.get(id),
            |concept| Ok(concept.clone()),
        )
    }

    /// The position of an identifier.
    ///
    /// # Errors
    /// As [`ConceptTable::find`](pel_kb::table::ConceptTable::find).
    pub fn find(&self, id: &str) -> Result<Option<ConceptId>> {
        self.added
            .find(id)
            .map_or_else(|| self.bundle.concepts.find(id), |found| Ok(Some(found)))
    }

    /// What an identifier stands for: an added concept, or as [`Bundle::resolve`].
    ///
    /// # Errors
    /// As [`Bundle::resolve`].
    pub fn resolve(&self, id: &str) -> Result<Resolved> {
        self.added.find(id).map_or_else(
            || self.bundle.resolve(id),
            |found| Ok(Resolved::Concept(found)),
        )
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Sets the wordings that stand for names, in place of those of English.
    pub fn set_wordings(&mut self, wordings: Wordings) {
        self.bundle.set_wordings(wordings);
    }

    /// Sets the rules of context, in place of those of English.
    pub fn set_context_rules(&mut self, rules: ContextRules) {
        self.context_rules = Cow::Owned(rules);
    }

    /// Sets whether mentions that are plainly a name of one concept are encoded and searched as the
    /// others. Their probability stays, and they get further candidates. By default a bundle that
    /// has probabilities of plain names leaves both out: more than half of the mentions of a
    /// clinical note then need no encoder.
    pub fn set_search_names(&mut self, search: bool) {
        self.search_names = search;
    }

    /// Sets the rules of attributes, in place of those of English.
    pub fn set_attribute_rules(&mut self, rules: AttributeRules) {
        self.attribute_rules = Cow::Owned(rules);
    }

    /// The rules of context.
    pub fn context_rules(&self) -> &ContextRules {
        &self.context_rules
    }

    /// A score as it is written: that of single vectors is at most 1, above which a candidate that
    /// fits the text ([`Linker::finish`]) stands by a rounding.
    pub fn shown_score(&self, score: f32) -> f32 {
        let is_cosine = self.bundle.manifest.encoder.reduction.score == Similarity::Cosine;
        match self.scorer {
            Scorer::Dual if is_cosine => score.min(1.0),
            _ => score,
        }
    }

    /// Detects the mentions of a text, in its order.
    ///
    /// # Errors
    /// As [`Bundle::detect`].
    pub fn detect(&self, text: &str, options: &LinkOptions) -> Result<Vec<Detected>> {
        self.detect_while(text, options, || Ok(()))
    }

    /// As [`Linker::detect`]; `tick` as in [`Bundle::detect_while`].
    ///
    /// # Errors
    /// As [`Bundle::detect_while`].
    pub fn detect_while(
        &self,
        text: &str,
        options: &LinkOptions,
        tick: impl FnMut() -> Result<()>,
    ) -> Result<Vec<Detected>> {
        let found = self.bundle.detect_while(text, &options.detect, tick)?;
        Ok(self.detected(text, options, found))
    }

    /// As [`Linker::detect`], from windows that were computed elsewhere ([`Bundle::detector_input`]).
    ///
    /// # Errors
    /// As [`Bundle::detect`].
    pub fn detect_from(
        &self,
        text: &str,
        options: &LinkOptions,
        input: DetectorInput,
    ) -> Result<Vec<Detected>> {
        let found = self.bundle.detect_from(text, &options.detect, input)?;
        Ok(self.detected(text, options, found))
    }

    /// What the bundle detected, with the names of added concepts and without words that a sense
    /// takes for no mention.
    fn detected(&self, text: &str, options: &LinkOptions, found: Vec<Detected>) -> Vec<Detected> {
        let readable = Readable::new(text);
        let text = &*readable.text;
        let found = self.added.detect(text, found, &options.detect);
        readable.whole_mentions(self.without_other_words(text, found))
    }

    /// Cuts mentions out of a text and tokenizes them.
    ///
    /// # Errors
    /// If the text is no plain text ([`Readable::of_note`]), or a span cannot be cut out of it.
    pub fn prepare(&self, text: &str, mentions: Vec<Detected>) -> Result<Prepared> {
        self.prepare_stated(text, &Stated::default(), mentions)
    }

    /// As [`Linker::prepare`], for a text of which its document states the day and the sections.
    ///
    /// # Errors
    /// As [`Linker::prepare`].
    pub fn prepare_stated(
        &self,
        text: &str,
        stated: &Stated,
        mentions: Vec<Detected>,
    ) -> Result<Prepared> {
        let readable = Readable::of_note(text)?;
        let text = &*readable.text;
        let reader = &mut self.bundle.manifest.view.reader();
        let senses = Senses::english().reader(text);
        let mut prepared = self.prepare_with(reader, &senses, text, mentions)?;
        self.judge_stated(text, stated, &mut prepared)?;
        Ok(prepared)
    }

    /// As [`Linker::prepare`], for some of a text's mentions. The reader
    /// ([`ViewOptions::reader`](pel_model::tokens::ViewOptions::reader)) finds the abbreviations of the
    /// text once for all calls, and so does that of senses ([`Senses::reader`]). The context of the
    /// mentions is left to [`Linker::judge`].
    ///
    /// # Errors
    /// As [`Linker::prepare`].
    pub fn prepare_with<'t>(
        &self,
        reader: &mut Reader<'t>,
        senses: &SenseReader<'t>,
        text: &'t str,
        mentions: Vec<Detected>,
    ) -> Result<Prepared> {
        let view = &self.bundle.manifest.view;
        let (mut interner, mut prepared) = (
            SequenceInterner::default(),
            Vec::with_capacity(mentions.len()),
        );
        let mut lists = SharedLists::default();
        for detected in mentions {
            let mut mention = reader.mention_in(text, detected.pieces())?;
            let read = match &mention.text {
                Cow::Borrowed(words) => self.read(&detected, words, senses),
                // An abbreviation, written out.
                Cow::Owned(words) => self.read_as_variant(words),
            };
            let read = read.map(|(name, concepts)| {
                mention.text = Cow::Owned(name);
                concepts
            });
            let is_own = read.is_none() && matches!(mention.text, Cow::Borrowed(_));
            let mut named = read.unwrap_or_else(|| self.named_concepts(&mention.text));
            let plain = is_own && self.is_plain_name(&detected, &mention.text, &named);
            let encoded = match plain && self.skips_plain_names() {
                true => None,
                false => view.mention_named(&self.bundle.tokens, &mention, named.len())?,
            };
            let sequence = encoded.map(|encoded| interner.intern(encoded));
            let mut modified = false;
            if let (true, Some(core)) = (named.is_empty(), without_modifiers(&mention.text)) {
                named = match self.read_by_wording(core) {
                    Some((_, concepts)) => concepts,
                    None => self.named_concepts(core),
                };
                modified = !named.is_empty();
            }
            let dictionary = &self.bundle.dictionary;
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

    /// The concepts with this name after normalisation.
    fn named_concepts(&self, text: &str) -> Vec<ConceptId> {
        let mut named = self.bundle.dictionary.lookup_mention(text);
        named.extend(self.added.named(text));
        named
    }

    /// Whether an equal name has the highest possible score. A name that the dictionary normalises
    /// to the mention (plural, hyphen, accent, case) then gets it too.
    fn names_score_highest(&self) -> bool {
        let manifest = &self.bundle.manifest;
        manifest.view.concepts != View::Template
            && manifest.view.mention_template == MentionTemplate::Bare
            && manifest.encoder.reduction.score == Similarity::Cosine
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

    /// The first half of [`Linker::finish`]: searches the candidates of each mention by itself.
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
        let k = self.searched(options.candidates());
        SearchedCandidates(self.candidates(prepared, queries, None, k))
    }

    /// The second half of [`Linker::finish`]: shares candidates within each text, and decides.
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
        self.finish_from(prepared, queries, options, searched.0, true)
    }

    /// As [`Linker::finish`], but with concepts that were searched elsewhere. With
    /// [`Linker::proposals`] concepts for each sequence, the best by their best rows, and no types,
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
        let k = self.searched(options.candidates());
        let candidates = self.candidates(prepared, queries, Some(proposals), k);
        self.finish_from(prepared, queries, options, candidates, true)
    }

    /// `coherent` is whether the mentions of a text choose between candidates.
    fn finish_from(
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
            self.decide_text(&mut links[first..first + mentions], options.threshold);
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

    /// Decides on a mention. `behind` is how far the best candidate was behind the most similar
    /// one.
    fn link_of(
        &self,
        prepared: &Prepared,
        mention: &PreparedMention,
        options: &LinkOptions,
        mut searched: Vec<Candidate>,
        behind: f32,
    ) -> Link {
        let Detected {
            span,
            origin,
            fragments,
            group: _,
        } = mention.detected.clone();
        let origin = match origin {
            // Only here: how the mention was found bears on its probability.
            Origin::Detector if mention.is_name() => Origin::Name,
            origin => origin,
        };
        let cut = mention
            .sequence
            .map_or(Cut::default(), |at| prepared.sequences[at].cut);
        let mut moved = self.put_named_first(prepared, mention, &mut searched, behind);
        moved |= self.put_best_known_first(prepared, mention, &mut searched);
        let mut candidates =
            first_with_named(searched.clone(), &mention.named, options.candidates());
        let named = candidates
            .first()
            .is_some_and(|best| self.is_named(&mention.text, &mention.named, best.concept));
        let behind = if moved { 0.0 } else { behind };
        let highest = self.highest(prepared, mention).max(1.0);
        let evidence = self.evidence(mention, &searched, highest, named, behind);
        candidates.truncate(options.k.max(1));
        let is_empty = mention.sequence.is_none() && mention.known().is_none();
        let decision = match is_empty {
            false => self.decide(&candidates, named, options.threshold),
            true => Decision::Nil {
                reason: NilReason::EmptyMention,
                best: None,
            },
        };
        let read_as = mention.rewritten.then(|| mention.text.clone());
        let ranker_scores = Vec::new();
        Link {
            span,
            fragments,
            origin,
            group: mention.group,
            context: mention.context.clone(),
            attributes: mention.attributes.clone(),
            decision,
            candidates,
            probability: None,
            evidence: evidence.filter(|_| !is_empty),
            searched,
            ranker_scores,
            named,
            read_as,
            cut,
        }
    }

    /// Decides a link again with another threshold; `None` uses the bundle's policy. The best score
    /// of the first stage decides, even after a reranking.
    pub fn decide_again(&self, link: &mut Link, threshold: Option<f32>) {
        if matches!(
            link.decision,
            Decision::Nil {
                reason: NilReason::EmptyMention,
                ..
            }
        ) {
            return;
        }
        let by_score = best_per_concept(link.candidates.clone(), link.candidates.len());
        link.decision = self
            .decide_by_probability(link, threshold)
            .unwrap_or_else(|| self.decide(&by_score, link.named, threshold));
        if let (
            Decision::Linked { best }
            | Decision::Nil {
                best: Some(best), ..
            },
            Some(first),
        ) = (&mut link.decision, link.candidates.first())
        {
            *best = *first;
        }
    }

    fn decide(&self, candidates: &[Candidate], named: bool, threshold: Option<f32>) -> Decision {
        let policy = &self.bundle.manifest.nil;
        match threshold {
            // A threshold of the user also holds for mentions that are a name.
            Some(_) => NilPolicy {
                threshold,
                ..NilPolicy::default()
            }
            .decide(candidates),
            None => policy.decide_named(candidates, named),
        }
    }
}
