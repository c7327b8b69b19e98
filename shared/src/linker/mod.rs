//! The whole road from text and spans to links.
//!
//! ```text
//! let prepared = linker.prepare(text, linker.detect(text, &options))?;   steps 0 to 2
//! let queries = linker.encode(&prepared)?;                               steps 3 and 4
//! let links = linker.finish(&prepared, &queries, &options);              steps 5 to 7
//! ```
//!
//! Several texts go together faster: [`Prepared::join`] makes one of them, and [`Linker::finish`] gives their links one after
//! the other. A page, which wants to show the first links early and must wait for its GPU without blocking, goes by parts:
//! [`Prepared::split`] by [`Encoder::batches`], and for each [`Encoder::steps`] and [`Linker::finish`].

mod added;
mod candidates;
mod explain;
mod prepared;
mod queries;
mod rerank;

pub use crate::index::Queries;
pub use crate::model::cross_encoder::Pairs;
pub use added::Added;
pub use explain::{Met, Texts, TokenMet};
pub use prepared::{Part, Prepared};

use crate::bundle::Bundle;
use crate::error::Result;
use crate::index::best_per_concept;
use crate::kb::{Concept, ConceptId};
use crate::model::encode::{Encoder, SequenceInterner};
use crate::nil::{Decision, NilPolicy, NilReason, Signs};
use crate::score::{Candidate, Score, Scorer};
use crate::text::abbreviations::Reader;
use crate::text::detect::{DetectOptions, Detected, Origin};
use crate::text::{self, Span};
use crate::tokens::View;
use crate::tokens::{Cut, MentionTemplate};
use burn::tensor::Device;
use candidates::is_among;
use prepared::PreparedMention;
use std::borrow::Cow;

/// How far the best score may be before that of a concept which bears the mention's name, and the latter comes first still, as a share of
/// the highest score there is. On 789 mentions of notes and 8,387 of abstracts and articles where the best did not bear the name and
/// another concept did, the latter was right up to 0.07 behind; further behind, "PVC" was a plastic.
const NAMED_BEHIND: f32 = 0.15;

/// A bundle with its encoder on a device, and concepts that were added to it.
pub struct Linker {
    bundle: Bundle,
    encoder: Encoder,
    scorer: Scorer,
    added: Added,
}

/// What a caller may choose for one text.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// Candidates of a mention.
    pub k: usize,
    /// A threshold in place of the bundle's.
    pub threshold: Option<f32>,
    /// How mentions are found.
    pub detect: DetectOptions,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self { k: 5, threshold: None, detect: DetectOptions::default() }
    }
}

/// A mention with what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Where it stands, from its first piece to its last.
    pub span: Span,
    /// Its pieces, if it is in several ([`Detected::fragments`]).
    pub fragments: Vec<Span>,
    /// Who says that it is a mention.
    pub origin: Origin,
    /// Linked or NIL.
    pub decision: Decision,
    /// The best candidates, best first.
    pub candidates: Vec<Candidate>,
    /// What the bundle's policy adds to the best score before it compares it with the threshold; 0 where scores stand alone.
    pub lift: f32,
    /// The ranker's scores of the first of them, if it has put them into order.
    pub ranker_scores: Vec<f32>,
    /// Whether the mention is a name of the best one, up to spelling.
    pub named: bool,
    /// What a short form was read as, where the text defines it.
    pub read_as: Option<String>,
    /// What did not fit into the encoder's window.
    pub cut: Cut,
}

impl Link {
    /// The pieces of the text that the mention consists of, one or more.
    pub fn pieces(&self) -> &[Span] {
        text::pieces(&self.span, &self.fragments)
    }

    /// How far the best candidate is before the second, by whoever put them into order.
    pub fn margin(&self) -> Option<f32> {
        match (&self.ranker_scores[..], &self.candidates[..]) {
            ([best, second, ..], _) => Some(best - second).filter(|margin| margin.is_finite()),
            (_, [best, second, ..]) => Some(best.score - second.score),
            _ => None,
        }
    }

    /// Leaves the first `count` candidates.
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
        let (added, scorer) = (Added::new(bundle.concepts.len()), bundle.scorer());
        let mut linker = Self { bundle, encoder, scorer, added };
        linker.set_scorer(scorer)?;
        Ok(linker)
    }

    /// The bundle.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Scores with another mix than the bundle's ([`ViewOptions::mix`](crate::tokens::ViewOptions::mix)).
    ///
    /// # Errors
    /// As [`ViewOptions::check_mix`](crate::tokens::ViewOptions::check_mix).
    pub fn set_mix(&mut self, mix: f32) -> Result<()> {
        let view = &mut self.bundle.manifest.view;
        view.mix = mix;
        view.check_mix()?;
        self.bundle.index.set_mix(mix);
        self.bundle.token_vectors.iter_mut().for_each(|store| store.set_mix(mix));
        Ok(())
    }

    /// Scores with another share of spelling than the bundle's
    /// ([`ViewOptions::spelling`](crate::tokens::ViewOptions::spelling)).
    ///
    /// # Errors
    /// As [`ViewOptions::check_spelling`](crate::tokens::ViewOptions::check_spelling).
    pub fn set_spelling(&mut self, share: f32) -> Result<()> {
        let manifest = &mut self.bundle.manifest;
        manifest.view.spelling = share;
        manifest.view.check_spelling(manifest.encoder.reduction.score)
    }

    /// Decides by another policy than the bundle's.
    pub fn set_policy(&mut self, policy: NilPolicy) {
        self.bundle.manifest.nil = policy;
    }

    /// The concepts that were added.
    pub fn added(&self) -> &Added {
        &self.added
    }

    /// A concept of the bundle, or an added one.
    ///
    /// # Errors
    /// If there is none at the position, or its record is damaged.
    pub fn concept(&self, id: ConceptId) -> Result<Concept> {
        self.added.concept(id).map_or_else(|| self.bundle.concepts.get(id), |concept| Ok(concept.clone()))
    }

    /// The position of an identifier.
    ///
    /// # Errors
    /// As [`ConceptTable::find`](crate::kb::table::ConceptTable::find).
    pub fn find(&self, id: &str) -> Result<Option<ConceptId>> {
        self.added.find(id).map_or_else(|| self.bundle.concepts.find(id), |found| Ok(Some(found)))
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Mentions in raw text (step 0).
    pub fn detect(&self, text: &str, options: &LinkOptions) -> Vec<Detected> {
        self.added.detect(text, self.bundle.detect(text, &options.detect), &options.detect)
    }

    /// Cuts and tokenizes mentions (steps 1 and 2).
    ///
    /// # Errors
    /// If a span cannot be cut out of the text.
    pub fn prepare(&self, text: &str, mentions: Vec<Detected>) -> Result<Prepared> {
        self.prepare_with(&mut self.reader(), text, mentions)
    }

    /// What reads the mentions of texts.
    pub fn reader<'t>(&self) -> Reader<'t> {
        self.bundle.manifest.view.reader()
    }

    /// As [`Linker::prepare`], for some of a text's mentions: the reader keeps what it knows of the text for the next ones.
    ///
    /// # Errors
    /// As [`Linker::prepare`].
    pub fn prepare_with<'t>(
        &self,
        reader: &mut Reader<'t>,
        text: &'t str,
        mentions: Vec<Detected>,
    ) -> Result<Prepared> {
        let view = &self.bundle.manifest.view;
        let (mut interner, mut prepared) = (SequenceInterner::default(), Vec::with_capacity(mentions.len()));
        for detected in mentions {
            let mention = reader.mention_in(text, detected.pieces())?;
            let encoded = view.mention(&self.bundle.tokens, &mention)?;
            let sequence = encoded.map(|encoded| interner.intern(encoded));
            let named = self.named_concepts(&mention.text);
            let rewritten = match &mention.text {
                Cow::Borrowed(_) => false,
                Cow::Owned(read) => *read != text::text_of(text, detected.pieces())?,
            };
            prepared.push(PreparedMention { detected, sequence, named, text: mention.text.into_owned(), rewritten });
        }
        let texts = vec![prepared.len()];
        Ok(Prepared { mentions: prepared, sequences: interner.into_sequences(), texts })
    }

    /// The concepts that have a text as their name, up to spelling.
    fn named_concepts(&self, text: &str) -> Vec<ConceptId> {
        let mut named = self.bundle.dictionary.lookup_mention(text);
        named.extend(self.added.named(text));
        named
    }

    /// Whether a concept has a mention as its name, or its name in another form: where "seminal vesicles" is a name of one concept,
    /// "seminal vesicle" is one of another.
    fn is_named(&self, text: &str, named: &[ConceptId], concept: ConceptId) -> bool {
        let bears = |concepts: &[ConceptId]| concepts.binary_search(&concept).is_ok();
        let alike = || bears(&self.bundle.dictionary.lookup_forms(text)) || bears(&self.added.alike(text));
        bears(named) || !named.is_empty() && alike()
    }

    /// Whether an equal name has the highest score there is: then a name that differs only in what the dictionary
    /// forgives (plural, hyphen, accent, case) gets it too.
    fn names_score_highest(&self) -> bool {
        let manifest = &self.bundle.manifest;
        manifest.view.concepts != View::Template
            && manifest.view.mention_template == MentionTemplate::Bare
            && manifest.encoder.reduction.score == Score::Cosine
    }

    /// Searches and decides (steps 5 to 7).
    ///
    /// # Shapes
    /// queries `[sequences]` -> a link for each mention
    ///
    /// # Panics
    /// If the queries are not those of the sequences.
    pub fn finish(&self, prepared: &Prepared, queries: &Queries, options: &LinkOptions) -> Vec<Link> {
        let k = options.k.max(1);
        // The best is compared with the second, even if one alone is asked for.
        let candidates = self.candidates(prepared, queries, k.max(2));
        let link = |(mention, mut candidates): (&PreparedMention, Vec<Candidate>)| {
            let Detected { span, origin, fragments } = mention.detected.clone();
            let cut = mention.sequence.map_or(Cut::default(), |at| prepared.sequences[at].cut);
            self.put_named_first(prepared, mention, queries, &mut candidates);
            let named =
                candidates.first().is_some_and(|best| self.is_named(&mention.text, &mention.named, best.concept));
            let lift = self.lift(mention, queries, &candidates, named);
            candidates.truncate(k);
            let decision = match mention.sequence {
                Some(_) => self.decide(&candidates, lift, named, options.threshold),
                None => Decision::Nil { reason: NilReason::EmptyMention, best: None },
            };
            let read_as = mention.rewritten.then(|| mention.text.clone());
            let ranker_scores = Vec::new();
            Link { span, fragments, origin, decision, candidates, lift, ranker_scores, named, read_as, cut }
        };
        let mut links: Vec<Link> = prepared.mentions.iter().zip(candidates).map(link).collect();
        let mut first = 0;
        for mentions in &prepared.texts {
            self.accompany_some(prepared, first, queries, &mut links[first..first + mentions], k);
            first += mentions;
        }
        links
    }

    /// Puts the best concept of a mention's very name before all others, with a score just above theirs. It stays where it is if the
    /// best has the name in another form, or is far before it and good enough to be linked: then a short form means something else here.
    fn put_named_first(
        &self,
        prepared: &Prepared,
        mention: &PreparedMention,
        queries: &Queries,
        found: &mut Vec<Candidate>,
    ) {
        let named = found.iter().position(|candidate| is_among(&mention.named, candidate));
        let (Some(at @ 1..), Some(best)) = (named, found.first().copied()) else { return };
        if self.is_named(&mention.text, &mention.named, best.concept) {
            return;
        }
        let scale = match self.bundle.manifest.encoder.reduction.score {
            Score::Cosine => self.highest(prepared, mention),
            Score::Dot => best.score.abs(),
        };
        if best.score - found[at].score > NAMED_BEHIND * scale {
            let lift = self.lift(mention, queries, found, false);
            if let Decision::Linked { .. } = self.bundle.manifest.nil.decide(found, lift) {
                return;
            }
        }
        let named = found.remove(at);
        found.insert(0, Candidate { score: best.score.next_up(), ..named });
    }

    /// What tells whether there is a concept for each mention, beside the score; nothing for one without a candidate.
    ///
    /// # Shapes
    /// links, one for each mention; queries `[sequences]`
    ///
    /// # Errors
    /// If a concept's record is damaged.
    pub fn signs(&self, prepared: &Prepared, queries: &Queries, links: &[Link]) -> Result<Vec<Option<Signs>>> {
        let each = prepared.mentions.iter().zip(links);
        each.map(|(mention, link)| self.signs_of(mention, queries, &link.candidates, link.named)).collect()
    }

    fn signs_of(
        &self,
        mention: &PreparedMention,
        queries: &Queries,
        candidates: &[Candidate],
        named: bool,
    ) -> Result<Option<Signs>> {
        let (Some(best), Some(at)) = (candidates.first(), mention.sequence) else { return Ok(None) };
        let (concept, vector) = (self.concept(best.concept)?, queries.vector(at, self.encoder.dim()));
        Ok(Signs::new(&mention.text, vector, candidates, concept.names(), named))
    }

    fn lift(&self, mention: &PreparedMention, queries: &Queries, candidates: &[Candidate], named: bool) -> f32 {
        let Some(lift) = &self.bundle.manifest.nil.lift else { return 0.0 };
        // A damaged record is said where the concept's name is shown.
        self.signs_of(mention, queries, candidates, named).ok().flatten().map_or(0.0, |signs| lift.of(&signs))
    }

    /// Decides a link anew, by the bundle's policy or another threshold; one whose candidates a ranker has put into order, by the
    /// best score of the first stage still.
    pub fn decide_again(&self, link: &mut Link, threshold: Option<f32>) {
        if matches!(link.decision, Decision::Nil { reason: NilReason::EmptyMention, .. }) {
            return;
        }
        let by_score = best_per_concept(link.candidates.clone(), link.candidates.len());
        link.decision = self.decide(&by_score, link.lift, link.named, threshold);
        if let (Decision::Linked { best } | Decision::Nil { best: Some(best), .. }, Some(first)) =
            (&mut link.decision, link.candidates.first())
        {
            *best = *first;
        }
    }

    fn decide(&self, candidates: &[Candidate], lift: f32, named: bool, threshold: Option<f32>) -> Decision {
        let policy = &self.bundle.manifest.nil;
        match threshold {
            // Who sets a threshold means it.
            Some(_) => NilPolicy { threshold, ..NilPolicy::default() }.decide(candidates, lift),
            None => policy.decide_named(candidates, lift, named),
        }
    }
}
