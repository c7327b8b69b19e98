//! The annotated mentions of a split with their gold concepts, and whether training has these.

use crate::corpus::{Corpus, Document, PlacedMention, held_out};
use crate::domain::{OwnDomain, domain_of, missing_domain_error};
use clap::ValueEnum;
use pel_io::corpus_files;
use pel_kb::error::{Error, Result};
use pel_kb::score::Candidate;
use pel_kb::{ConceptId, KnowledgeBase};
use pel_terminologies::import::report::Report;
use pel_text::abbreviations::Reader;
use pel_text::detect::Detected;
use pel_text::{Offsets, Span};
use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// The concepts and surfaces of the training split.
pub struct TrainingSplit {
    /// All mentions in file order.
    pub mentions: Vec<TrainingMention>,
    /// All their concepts, whether or not in a knowledge base.
    pub concepts: HashSet<String>,
    /// Counts of what was read.
    pub counts: TrainingCounts,
}

/// A mention of the training split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingMention {
    /// Its text.
    text: String,
    /// Its text with abbreviations expanded, if it has any that its document defines.
    written_out: Option<String>,
    /// The identifier of its concept, if it has one.
    pub id: Option<String>,
}

impl TrainingMention {
    /// Its text, with abbreviations expanded if `written_out`.
    pub fn surface(&self, written_out: bool) -> &str {
        self.written_out
            .as_deref()
            .filter(|_| written_out)
            .unwrap_or(&self.text)
    }
}

/// The counts of a training split.
#[derive(Clone, Debug, Serialize)]
pub struct TrainingCounts {
    /// The name of the split.
    pub split: String,
    /// Number of mentions.
    pub mentions: usize,
    /// Number of distinct concepts.
    pub concepts: usize,
    /// Skipped records by reason, with examples.
    pub skipped: Report,
}

impl TrainingSplit {
    /// Reads a training split.
    ///
    /// # Errors
    /// As [`Corpus::read`].
    pub fn read(folder: &Path, split: &str) -> Result<Self> {
        let Corpus {
            documents,
            mentions: placed,
            report,
        } = Corpus::read(folder, split)?;
        let concepts: HashSet<String> = placed
            .iter()
            .flat_map(|placed| placed.mention.ids())
            .map(str::to_owned)
            .collect();
        let mut reader = Reader::new(true);
        let mut mentions = Vec::with_capacity(placed.len());
        for placed in placed {
            let text = documents
                .get(placed.document)
                .map_or("", |document| document.text.as_str());
            let written_out = match reader.mention(text, placed.span)?.text {
                Cow::Owned(text) => Some(text),
                Cow::Borrowed(_) => None,
            };
            mentions.push(TrainingMention {
                text: placed.mention.text,
                written_out,
                id: placed.mention.id,
            });
        }
        let counts = TrainingCounts {
            split: split.to_owned(),
            mentions: mentions.len(),
            concepts: concepts.len(),
            skipped: report,
        };
        Ok(Self {
            mentions,
            concepts,
            counts,
        })
    }
}

/// A mention to search candidates for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MentionQuery<'a> {
    /// The whole document.
    pub text: &'a str,
    /// Its span in bytes.
    pub span: Span,
    /// Its domain: that of the document, unless the split defines others.
    pub domain: Option<&'a str>,
}

/// A mention with its gold concept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gold {
    /// Index of its document in [`Split::documents`].
    pub document: usize,
    /// Its span in bytes.
    pub span: Span,
    /// The gold concept; `None` if it is not in the knowledge base (NIL).
    pub concept: Option<ConceptId>,
    /// Whether the concept occurs in training; `None` if unknown.
    pub seen: Option<bool>,
    /// Whether it is NIL because its concept was held out (`pel split okb`).
    pub held_out: bool,
    /// Its number among the parts of a composite mention; 0 for the first and for other mentions.
    pub part: usize,
}

/// The NIL mentions to include, besides all linkable mentions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum NilOf {
    /// All NIL mentions
    #[default]
    All,
    /// Those whose concept `pel split okb` held out
    HeldOut,
    /// Those whose concept was never in the knowledge base
    Natural,
}

impl NilOf {
    /// Whether a mention is included. Linkable mentions always are.
    pub fn takes(self, gold: &Gold) -> bool {
        match self {
            _ if gold.concept.is_some() => true,
            Self::All => true,
            Self::HeldOut => gold.held_out,
            Self::Natural => !gold.held_out,
        }
    }

    /// Its name in tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::HeldOut => "held out",
            Self::Natural => "natural",
        }
    }
}

/// A split for evaluation or calibration.
pub struct Split {
    /// Its documents.
    pub documents: Vec<Document>,
    /// Its mentions in file order.
    pub mentions: Vec<Gold>,
    /// Counts of its mentions.
    pub counts: SplitCounts,
    /// Further gold concepts besides [`Gold::concept`], by document, span and that concept.
    pub other_concepts: HashMap<(usize, Span, ConceptId), Vec<ConceptId>>,
    /// How each mention was detected; `None` if the mentions are the annotated ones
    /// ([`Split::detected_by`]).
    pub detected: Option<Vec<Detected>>,
    /// The domain of each gold concept, if it replaces the document's ([`OwnDomain`]).
    pub own_domains: Option<HashMap<ConceptId, String>>,
}

/// Counts of the mentions of a split.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SplitCounts {
    /// The name of the split.
    pub split: String,
    /// Number of documents.
    pub documents: usize,
    /// Number of mentions evaluated, each part of a composite one for itself.
    pub mentions: usize,
    /// Mentions with a concept of the knowledge base.
    pub in_kb: usize,
    /// Of these, mentions with a concept in training.
    pub seen: usize,
    /// Of these, mentions with a concept not in training.
    pub zero_shot: usize,
    /// Mentions without a concept of the knowledge base (NIL).
    pub nil: usize,
    /// NIL mentions without any annotated concept.
    pub nil_by_annotation: usize,
    /// NIL mentions whose concept was held out (`pel split okb`).
    pub held_out: usize,
    /// Mentions with several gold concepts, each of them right.
    pub several: usize,
    /// Composite mentions whose parts are mentions for themselves.
    pub composite: usize,
    /// The number of these parts.
    pub parts: usize,
    /// Mentions with a retired gold concept, for which its successor stands.
    pub redirected: usize,
    /// Hash of the documents and evaluated mentions with concepts, independent of compression.
    pub blake3: String,
    /// What determined seen and zero-shot concepts.
    pub seen_by: SeenBy,
    /// Mentions with `seen_in_train` in the corpus.
    pub seen_said: usize,
    /// Mentions whose `seen_in_train` contradicts the training split.
    pub seen_differs: usize,
    /// Skipped records by reason, with examples.
    pub skipped: Report,
}

/// What determined seen and zero-shot concepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenBy {
    /// The concepts whose mentions the bundle's model was trained on, as the bundle tells.
    Model,
    /// The concepts of the training split's mentions.
    TrainingSplit,
    /// The field `seen_in_train` of the corpus, without a training split.
    Corpus,
    /// Unknown.
    #[default]
    Nobody,
}

/// How a split is read.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// The first of so many mentions is read.
    pub every: usize,
    /// The identifiers of seen concepts, and what determined them.
    pub seen: Option<(&'a HashSet<String>, SeenBy)>,
    /// Whether each part of a composite mention is a mention for itself. Otherwise the concepts of
    /// all parts are right for the whole.
    pub by_part: bool,
}

/// Reason for skipping a mention that `--every` excludes.
const THINNED: &str = "left out by --every";

/// A reader of the mentions of a split.
struct SplitReader<'a> {
    folder: &'a Path,
    kb: &'a KnowledgeBase,
    reading: Reading<'a>,
    counts: SplitCounts,
    hash: blake3::Hasher,
    mentions: Vec<Gold>,
    other_concepts: HashMap<(usize, Span, ConceptId), Vec<ConceptId>>,
}

impl SplitReader<'_> {
    fn hash_documents(&mut self, documents: &[Document]) {
        for document in documents {
            self.hash
                .update(document.doc_id.as_bytes())
                .update(b"\0")
                .update(document.text.as_bytes())
                .update(b"\0");
        }
    }

    fn hash_mention(&mut self, placed: &PlacedMention) {
        let mention = &placed.mention;
        for number in [placed.document, placed.span.start, placed.span.end] {
            self.hash.update(&(number as u64).to_le_bytes());
        }
        self.hash
            .update(mention.id.as_deref().unwrap_or_default().as_bytes());
        for other in &mention.other_ids {
            self.hash.update(b"|").update(other.as_bytes());
        }
        for part in &mention.parts {
            self.hash.update(b";");
            for id in part {
                self.hash.update(b"&").update(id.as_bytes());
            }
        }
        self.hash.update(b"\n");
    }

    /// Adds the mention at a place of the file, or each part of a composite one.
    fn add(&mut self, at: usize, placed: &PlacedMention) -> Result<()> {
        let every = self.reading.every;
        if !at.is_multiple_of(every.max(1)) {
            self.counts
                .skipped
                .skip(THINNED, || format!("every {every}. is measured"));
            return Ok(());
        }
        self.hash_mention(placed);
        let mention = &placed.mention;
        let parts = match self.reading.by_part {
            true => mention.ids_by_part(),
            false => vec![mention.ids().collect()],
        };
        let is_composite = parts.len() > 1;
        if is_composite {
            self.counts.composite += 1;
            self.counts.parts += parts.len();
        }
        for (part, ids) in parts.into_iter().enumerate() {
            self.counts.several += usize::from(match is_composite {
                true => ids.len() > 1,
                false => !mention.other_ids.is_empty(),
            });
            self.add_part(placed, part, &ids)?;
        }
        Ok(())
    }

    /// Adds a part of a mention with its concepts.
    fn add_part(&mut self, placed: &PlacedMention, part: usize, ids: &[&str]) -> Result<()> {
        let id = ids.first().copied();
        let mut known_concepts = self.known_concepts(ids)?;
        let original = id.and_then(held_out);
        if let Some(original) = original.filter(|original| self.kb.find(original).is_some()) {
            return Err(Error::input(format!(
                "{}: the knowledge base has the held-out concept {original}; use the kb.jsonl in \
                 the folder of the corpus",
                self.folder.display()
            )));
        }
        let seen = self.seen(placed.mention.seen_in_train, ids, &known_concepts);
        // Any of several concepts is correct, so the first one in the knowledge base represents
        // them.
        let concept = known_concepts.first().copied();
        let others = known_concepts.split_off(known_concepts.len().min(1));
        let held_out = original.is_some() && concept.is_none();
        let counts = &mut self.counts;
        match (concept, seen) {
            (None, _) => counts.nil += 1,
            (Some(_), Some(true)) => counts.seen += 1,
            (Some(_), Some(false)) => counts.zero_shot += 1,
            (Some(_), None) => {}
        }
        counts.in_kb += usize::from(concept.is_some());
        counts.nil_by_annotation += usize::from(id.is_none());
        counts.held_out += usize::from(held_out);
        if let Some(concept) = concept.filter(|_| !others.is_empty()) {
            self.other_concepts
                .insert((placed.document, placed.span, concept), others);
        }
        self.mentions.push(Gold {
            document: placed.document,
            span: placed.span,
            concept,
            seen,
            held_out,
            part,
        });
        Ok(())
    }

    /// The concepts of the knowledge base for identifiers, with the successors of retired ones.
    fn known_concepts(&mut self, ids: &[&str]) -> Result<Vec<ConceptId>> {
        let (mut known_concepts, mut followed) = (Vec::new(), false);
        for id in ids {
            let found = match self.kb.find(id) {
                Some(found) => Some(found),
                None => self.kb.successor(id)?.inspect(|_| followed = true),
            };
            // Several retired identifiers may have the same successor.
            known_concepts.extend(found.filter(|found| !known_concepts.contains(found)));
        }
        self.counts.redirected += usize::from(followed);
        Ok(known_concepts)
    }

    /// Whether a mention's concept occurs in training, as the training split or the model tells, or
    /// else the corpus (`said`).
    fn seen(
        &mut self,
        said: Option<bool>,
        ids: &[&str],
        known_concepts: &[ConceptId],
    ) -> Option<bool> {
        let known = self.reading.seen.zip(ids.first()).map(|((seen, _), _)| {
            let current = known_concepts
                .iter()
                .filter_map(|concept| self.kb.get(*concept))
                .map(|concept| concept.id.as_str());
            ids.iter()
                .copied()
                .chain(current)
                .any(|id| seen.contains(id))
        });
        let by = self.reading.seen.map_or(SeenBy::Corpus, |(_, by)| by);
        self.counts.seen_said += usize::from(said.is_some());
        self.counts.seen_differs += usize::from(
            by == SeenBy::TrainingSplit
                && said.zip(known).is_some_and(|(said, known)| said != known),
        );
        let seen = known.or(said);
        if seen.is_some() {
            self.counts.seen_by = by;
        }
        seen
    }

    fn finish(self, documents: Vec<Document>) -> Split {
        Split {
            documents,
            counts: SplitCounts {
                mentions: self.mentions.len(),
                blake3: self.hash.finalize().to_hex().to_string(),
                ..self.counts
            },
            mentions: self.mentions,
            other_concepts: self.other_concepts,
            detected: None,
            own_domains: None,
        }
    }
}

impl Split {
    /// Start and end of each mention in code points.
    pub fn code_points(&self) -> Vec<[usize; 2]> {
        // Each document is indexed once.
        let mut offsets: Vec<Option<Offsets<'_>>> = self.documents.iter().map(|_| None).collect();
        let of = |gold: &Gold| {
            let offsets = offsets[gold.document]
                .get_or_insert_with(|| Offsets::new(&self.documents[gold.document].text));
            [gold.span.start, gold.span.end].map(|byte| offsets.code_point(byte))
        };
        self.mentions.iter().map(of).collect()
    }

    /// Reads every `every`-th mention of a split and looks up its concepts in the knowledge base
    /// and training split. Composite mentions stay whole.
    ///
    /// # Errors
    /// As [`Split::read_as`].
    pub fn read(
        folder: &Path,
        split: &str,
        every: usize,
        kb: &KnowledgeBase,
        training: Option<&TrainingSplit>,
    ) -> Result<Self> {
        let reading = Reading {
            every,
            seen: training.map(|training| (&training.concepts, SeenBy::TrainingSplit)),
            by_part: false,
        };
        Self::read_as(folder, split, kb, reading)
    }

    /// Reads mentions of a split and looks up their concepts in the knowledge base.
    ///
    /// # Errors
    /// As [`Corpus::read`]; if the knowledge base has a concept that the corpus holds out.
    pub fn read_as(
        folder: &Path,
        split: &str,
        kb: &KnowledgeBase,
        reading: Reading<'_>,
    ) -> Result<Self> {
        let Corpus {
            documents,
            mentions: placed,
            report,
        } = Corpus::read(folder, split)?;
        let counts = SplitCounts {
            split: split.to_owned(),
            documents: documents.len(),
            skipped: report,
            ..Default::default()
        };
        let mut reader = SplitReader {
            folder,
            kb,
            reading,
            counts,
            hash: blake3::Hasher::new(),
            mentions: Vec::with_capacity(placed.len()),
            other_concepts: HashMap::new(),
        };
        reader.hash_documents(&documents);
        for (at, placed) in placed.into_iter().enumerate() {
            reader.add(at, &placed)?;
        }
        Ok(reader.finish(documents))
    }

    /// The mentions that are detected in the texts, in place of the annotated ones. The concepts of
    /// the annotated mentions that a detected one overlaps are right for it; the first is that of
    /// the longest overlap. A detected mention that overlaps none is NIL. Only texts with an
    /// annotated mention are read, and all their mentions of interest must be annotated.
    ///
    /// # Errors
    /// Those of `detect`.
    pub fn detected_by(
        self,
        mut detect: impl FnMut(&str) -> Result<Vec<Detected>>,
    ) -> Result<Self> {
        let (mut mentions, mut all) = (Vec::new(), Vec::new());
        let mut other_concepts = HashMap::new();
        for annotated in self.mentions.chunk_by(|a, b| a.document == b.document) {
            let document = annotated[0].document;
            for detected in detect(&self.documents[document].text)? {
                let span = detected.span;
                let overlap = |gold: &Gold| {
                    let end = gold.span.end.min(span.end);
                    end.saturating_sub(gold.span.start.max(span.start))
                };
                let mut over: Vec<&Gold> =
                    annotated.iter().filter(|gold| overlap(gold) > 0).collect();
                over.sort_by_key(|gold| Reverse(overlap(gold)));
                let mut concepts: Vec<ConceptId> = Vec::new();
                for gold in &over {
                    let own = gold.concept.into_iter();
                    for concept in own.chain(self.other_concepts_of(gold).iter().copied()) {
                        if !concepts.contains(&concept) {
                            concepts.push(concept);
                        }
                    }
                }
                let concept = concepts.first().copied();
                if let (Some(concept), true) = (concept, concepts.len() > 1) {
                    other_concepts.insert((document, span, concept), concepts.split_off(1));
                }
                mentions.push(Gold {
                    document,
                    span,
                    concept,
                    seen: over.first().and_then(|gold| gold.seen),
                    held_out: false,
                    part: 0,
                });
                all.push(detected);
            }
        }
        Ok(Self {
            mentions,
            other_concepts,
            detected: Some(all),
            ..self
        })
    }

    /// The gold concepts of a mention besides [`Gold::concept`].
    pub fn other_concepts_of(&self, gold: &Gold) -> &[ConceptId] {
        let key = gold
            .concept
            .map(|concept| (gold.document, gold.span, concept));
        key.and_then(|key| self.other_concepts.get(&key))
            .map_or(&[], Vec::as_slice)
    }

    /// Puts the concept that stands for all right ones of a mention in the place of the first of
    /// them that was found, and leaves the others out: whichever came first is then the right
    /// answer, once. `ranked` are the answers to the mentions.
    pub fn unify_gold(&self, ranked: &mut [Vec<Candidate>]) {
        if self.other_concepts.is_empty() {
            return;
        }
        for (gold, ranked) in self.mentions.iter().zip(ranked) {
            let others = self.other_concepts_of(gold);
            let Some(concept) = gold.concept.filter(|_| !others.is_empty()) else {
                continue;
            };
            let mut is_found = false;
            ranked.retain_mut(|found| {
                if found.concept != concept && !others.contains(&found.concept) {
                    return true;
                }
                found.concept = concept;
                !std::mem::replace(&mut is_found, true)
            });
        }
    }

    /// Sets the domain in which each mention is searched, if `own` is given. Warns of mentions
    /// without one.
    ///
    /// # Errors
    /// If no document has a domain, or a domain has no concept.
    pub fn in_own_domain(mut self, own: Option<OwnDomain>, kb: &KnowledgeBase) -> Result<Self> {
        let Some(own) = own else { return Ok(self) };
        let name = &self.counts.split;
        if let Some(by) = own.of_concept() {
            let domain = |concept| Some((concept, domain_of(kb.get(concept)?, by).to_owned()));
            self.own_domains = Some(
                self.mentions
                    .iter()
                    .filter_map(|gold| domain(gold.concept?))
                    .collect(),
            );
            return Ok(self);
        }
        if self
            .documents
            .iter()
            .all(|document| document.domain.is_none())
        {
            return Err(Error::input(format!(
                "--within-domain: no document of the split {name} has the field `domain`; use \
                 --within-domain=type or =source for the domain of the gold concept"
            )));
        }
        let domains: BTreeSet<Option<&str>> = self.queries().map(|query| query.domain).collect();
        let members = own.members(kb);
        if let Some(domain) = domains
            .iter()
            .flatten()
            .find(|domain| !members.contains_key(**domain))
        {
            return Err(missing_domain_error(domain));
        }
        let (all, without) = (
            self.mentions.len(),
            self.queries()
                .filter(|query| query.domain.is_none())
                .count(),
        );
        if without > 0 {
            eprintln!(
                "warning: {without} of the {all} mentions of {name} have a document without a \
                 domain; the whole knowledge base is searched for them"
            );
        }
        Ok(self)
    }

    /// The split, if it has mentions.
    ///
    /// # Errors
    /// If it has none.
    pub fn not_empty(self) -> Result<Self> {
        if !self.mentions.is_empty() {
            return Ok(self);
        }
        let reasons = self.counts.skipped.reasons();
        let skipped = if reasons.is_empty() {
            String::new()
        } else {
            format!(" (skipped: {reasons})")
        };
        Err(Error::input(format!(
            "the split {} has no mentions{skipped}",
            self.counts.split
        )))
    }

    /// Whether it has NIL mentions of this kind.
    pub fn has_nil(&self, of: NilOf) -> bool {
        self.mentions
            .iter()
            .any(|gold| gold.concept.is_none() && of.takes(gold))
    }

    /// The mentions as questions.
    pub fn queries(&self) -> impl Iterator<Item = MentionQuery<'_>> {
        self.mentions.iter().map(|gold| self.query(gold))
    }

    /// One of the mentions as a question.
    pub fn query(&self, gold: &Gold) -> MentionQuery<'_> {
        let document = self.documents.get(gold.document);
        let text = document.map_or("", |document| document.text.as_str());
        let domain = match &self.own_domains {
            Some(own) => gold.concept.and_then(|concept| own.get(&concept)),
            None => document.and_then(|document| document.domain.as_ref()),
        };
        MentionQuery {
            text,
            span: gold.span,
            domain: domain.map(String::as_str),
        }
    }
}

/// Whether the corpus has a mention file of this split.
pub fn has_split(folder: &Path, split: &str) -> bool {
    corpus_files::existing(folder, &format!("mentions.{split}"))
        .next()
        .is_some()
}
