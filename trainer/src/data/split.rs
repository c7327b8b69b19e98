//! The annotated mentions of a split, placed in a knowledge base: which concept is right, and whether training had it.

use crate::data::corpus::{Corpus, Document, held_out};
use crate::data::domain::{OwnDomain, domain_of, without_concept};
use clap::ValueEnum;
use pel_shared::error::{Error, Result};
use pel_shared::kb::import::report::Report;
use pel_shared::kb::{ConceptId, KnowledgeBase};
use pel_shared::score::Candidate;
use pel_shared::text::abbreviations::Reader;
use pel_shared::text::{Offsets, Span};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// What the training split says: which concepts it has, and what its surfaces stood for.
pub struct TrainingSplit {
    /// Every mention, in the order of the file.
    pub mentions: Vec<TrainingMention>,
    /// All concepts of these mentions, whether or not a knowledge base has them.
    pub concepts: HashSet<String>,
    /// What was read.
    pub counts: TrainingCounts,
}

/// A mention of the training split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingMention {
    /// Its text.
    text: String,
    /// Its text with the short forms that its document defines written out, if it has any.
    written_out: Option<String>,
    /// The identifier of its concept, if it has one.
    pub id: Option<String>,
}

impl TrainingMention {
    /// Its text, with short forms written out or as they stand.
    pub fn surface(&self, written_out: bool) -> &str {
        self.written_out.as_deref().filter(|_| written_out).unwrap_or(&self.text)
    }
}

/// The counts of a training split.
#[derive(Clone, Debug, Serialize)]
pub struct TrainingCounts {
    /// The name of the split.
    pub split: String,
    /// Mentions that were read.
    pub mentions: usize,
    /// Different concepts among them.
    pub concepts: usize,
    /// What was skipped, by reason, and examples.
    pub skipped: Report,
}

impl TrainingSplit {
    /// Reads it.
    ///
    /// # Errors
    /// As [`Corpus::read`].
    pub fn read(folder: &Path, split: &str) -> Result<Self> {
        let Corpus { documents, mentions: placed, report } = Corpus::read(folder, split)?;
        let concepts: HashSet<String> =
            placed.iter().flat_map(|placed| placed.mention.ids()).map(str::to_owned).collect();
        let mut reader = Reader::new(true);
        let mut mentions = Vec::with_capacity(placed.len());
        for placed in placed {
            let text = documents.get(placed.document).map_or("", |document| document.text.as_str());
            let written_out = match reader.mention(text, placed.span)?.text {
                Cow::Owned(text) => Some(text),
                Cow::Borrowed(_) => None,
            };
            mentions.push(TrainingMention { text: placed.mention.text, written_out, id: placed.mention.id });
        }
        let counts = TrainingCounts {
            split: split.to_owned(),
            mentions: mentions.len(),
            concepts: concepts.len(),
            skipped: report,
        };
        Ok(Self { mentions, concepts, counts })
    }
}

/// A mention to search candidates for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MentionQuery<'a> {
    /// The whole document.
    pub text: &'a str,
    /// Where the mention stands in it, in bytes.
    pub span: Span,
    /// The domain that is its own: the document's, unless the split was given others.
    pub domain: Option<&'a str>,
}

/// One mention and its right answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gold {
    /// The position of its document in [`Split::documents`].
    pub document: usize,
    /// Where it stands in it, in bytes.
    pub span: Span,
    /// The right concept; `None` where the knowledge base has none: NIL.
    pub concept: Option<ConceptId>,
    /// Whether the training split has the concept; `None` if nobody says.
    pub seen: Option<bool>,
    /// Whether it is NIL because its concept was taken out of the knowledge base (`pel split okb`).
    pub held_out: bool,
}

/// Which of the NIL mentions are looked at, beside all mentions that can be linked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum NilOf {
    /// All of them
    #[default]
    All,
    /// Those whose concept `pel split okb` took out of the knowledge base
    HeldOut,
    /// Those whose concept the knowledge base never had
    Natural,
}

impl NilOf {
    /// Whether a mention is looked at: one that can be linked always is.
    pub fn takes(self, gold: &Gold) -> bool {
        match self {
            _ if gold.concept.is_some() => true,
            Self::All => true,
            Self::HeldOut => gold.held_out,
            Self::Natural => !gold.held_out,
        }
    }

    /// As tables have it.
    pub fn words(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::HeldOut => "held out",
            Self::Natural => "natural",
        }
    }
}

/// A split to measure or to calibrate on.
pub struct Split {
    /// Its documents.
    pub documents: Vec<Document>,
    /// Its mentions in the order of the file.
    pub mentions: Vec<Gold>,
    /// What they are.
    pub counts: SplitCounts,
    /// Of mentions with several right concepts those beside [`Gold::concept`], by document, span and that concept.
    pub other_concepts: HashMap<(usize, Span, ConceptId), Vec<ConceptId>>,
    /// The domains of right concepts, where mentions are searched in these instead of their documents' ([`OwnDomain`]).
    pub own_domains: Option<HashMap<ConceptId, String>>,
}

/// What the mentions of a split are.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SplitCounts {
    /// The name of the split.
    pub split: String,
    /// Documents, with mentions or without.
    pub documents: usize,
    /// Mentions that are measured.
    pub mentions: usize,
    /// Mentions whose concept the knowledge base has.
    pub in_kb: usize,
    /// Of these, the ones whose concept the training split has.
    pub seen: usize,
    /// Of these, the ones whose concept the training split does not have.
    pub zero_shot: usize,
    /// Mentions without a concept in the knowledge base: NIL.
    pub nil: usize,
    /// Of the NIL mentions, those that the corpus gives no concept at all.
    pub nil_by_annotation: usize,
    /// Of the NIL mentions, those whose concept was taken out of the knowledge base (`pel split okb`).
    pub held_out: usize,
    /// Mentions that the corpus gives several concepts, each of which is right.
    pub several: usize,
    /// A hash of the documents and of the mentions that are measured, with their concepts; the same however packed.
    pub blake3: String,
    /// Who told seen from zero-shot.
    pub seen_by: SeenBy,
    /// Mentions of which the corpus has `seen_in_train`.
    pub seen_said: usize,
    /// Mentions whose `seen_in_train` in the corpus says something else than the training split.
    pub seen_differs: usize,
    /// What was skipped, by reason, and examples.
    pub skipped: Report,
}

/// Who tells seen concepts from zero-shot ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenBy {
    /// The concepts of the training split's mentions.
    TrainingSplit,
    /// The field `seen_in_train` of the corpus, for want of a training split.
    Corpus,
    /// Nobody.
    #[default]
    Nobody,
}

/// Why a mention is not measured that could be.
const THINNED: &str = "left out by --every";

impl Split {
    /// Where each mention begins and ends in its document, in code points.
    pub fn code_points(&self) -> Vec<[usize; 2]> {
        // A document is counted once, however many mentions it has.
        let mut offsets: Vec<Option<Offsets<'_>>> = self.documents.iter().map(|_| None).collect();
        let of = |gold: &Gold| {
            let offsets =
                offsets[gold.document].get_or_insert_with(|| Offsets::new(&self.documents[gold.document].text));
            [gold.span.start, gold.span.end].map(|byte| offsets.code_point(byte))
        };
        self.mentions.iter().map(of).collect()
    }

    /// Reads a split, of its mentions every `every`-th, and looks its concepts up in the knowledge base and in the
    /// training split.
    ///
    /// # Errors
    /// As [`Corpus::read`]; if the knowledge base has a concept that the corpus holds out.
    pub fn read(
        folder: &Path,
        split: &str,
        every: usize,
        kb: &KnowledgeBase,
        training: Option<&TrainingSplit>,
    ) -> Result<Self> {
        let Corpus { documents, mentions: placed, report } = Corpus::read(folder, split)?;
        let mut counts =
            SplitCounts { split: split.to_owned(), documents: documents.len(), skipped: report, ..Default::default() };
        let mut mentions = Vec::with_capacity(placed.len());
        let (mut hash, mut other_concepts) = (blake3::Hasher::new(), HashMap::new());
        for document in &documents {
            hash.update(document.doc_id.as_bytes()).update(b"\0").update(document.text.as_bytes()).update(b"\0");
        }
        for (at, placed) in placed.into_iter().enumerate() {
            if at % every.max(1) != 0 {
                counts.skipped.skip(THINNED, || format!("every {every}. is measured"));
                continue;
            }
            let id = placed.mention.id.as_deref();
            // Any of several concepts is right, so the first that the knowledge base has stands for all.
            let mut known_concepts = placed.mention.ids().filter_map(|id| kb.find(id));
            let concept = known_concepts.next();
            let others: Vec<ConceptId> = known_concepts.collect();
            let original = id.and_then(held_out);
            if let Some(original) = original.filter(|original| kb.find(original).is_some()) {
                return Err(Error::input(format!(
                    "the corpus {} holds {original} out, but the knowledge base has it; use the kb.jsonl beside the corpus",
                    folder.display()
                )));
            }
            let (said, known) = (placed.mention.seen_in_train, training.zip(id));
            let known = known.map(|(training, _)| placed.mention.ids().any(|id| training.concepts.contains(id)));
            counts.seen_said += usize::from(said.is_some());
            counts.seen_differs += usize::from(said.zip(known).is_some_and(|(said, known)| said != known));
            let seen = known.or(said);
            if seen.is_some() {
                counts.seen_by = if training.is_some() { SeenBy::TrainingSplit } else { SeenBy::Corpus };
            }
            match (concept, seen) {
                (None, _) => counts.nil += 1,
                (Some(_), Some(true)) => counts.seen += 1,
                (Some(_), Some(false)) => counts.zero_shot += 1,
                (Some(_), None) => {}
            }
            counts.in_kb += usize::from(concept.is_some());
            counts.nil_by_annotation += usize::from(id.is_none());
            let held_out = original.is_some() && concept.is_none();
            counts.several += usize::from(!placed.mention.other_ids.is_empty());
            counts.held_out += usize::from(held_out);
            for number in [placed.document, placed.span.start, placed.span.end] {
                hash.update(&(number as u64).to_le_bytes());
            }
            hash.update(id.unwrap_or_default().as_bytes());
            for other in &placed.mention.other_ids {
                hash.update(b"|").update(other.as_bytes());
            }
            hash.update(b"\n");
            if let Some(concept) = concept.filter(|_| !others.is_empty()) {
                other_concepts.insert((placed.document, placed.span, concept), others);
            }
            mentions.push(Gold { document: placed.document, span: placed.span, concept, seen, held_out });
        }
        counts.mentions = mentions.len();
        counts.blake3 = hash.finalize().to_hex().to_string();
        Ok(Self { documents, mentions, counts, other_concepts, own_domains: None })
    }

    /// The concepts that are right for a mention beside [`Gold::concept`].
    pub fn other_concepts_of(&self, gold: &Gold) -> &[ConceptId] {
        let key = gold.concept.map(|concept| (gold.document, gold.span, concept));
        key.and_then(|key| self.other_concepts.get(&key)).map_or(&[], Vec::as_slice)
    }

    /// Puts the concept that stands for all right ones of a mention in the place of the first of them that was found, and leaves the
    /// others out: whichever came first is then the right answer, once. `ranked` are the answers to the mentions.
    pub fn settle(&self, ranked: &mut [Vec<Candidate>]) {
        if self.other_concepts.is_empty() {
            return;
        }
        for (gold, ranked) in self.mentions.iter().zip(ranked) {
            let others = self.other_concepts_of(gold);
            let Some(concept) = gold.concept.filter(|_| !others.is_empty()) else { continue };
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

    /// The split with the domains that its mentions are searched in, if these are to be. Warns of mentions without one.
    ///
    /// # Errors
    /// If no document says its domain, or a domain has no concept.
    pub fn in_own_domain(mut self, own: Option<OwnDomain>, kb: &KnowledgeBase) -> Result<Self> {
        let Some(own) = own else { return Ok(self) };
        let name = &self.counts.split;
        if let Some(by) = own.of_concept() {
            let domain = |concept| Some((concept, domain_of(kb.get(concept)?, by).to_owned()));
            self.own_domains = Some(self.mentions.iter().filter_map(|gold| domain(gold.concept?)).collect());
            return Ok(self);
        }
        if self.documents.iter().all(|document| document.domain.is_none()) {
            return Err(Error::input(format!(
                "--within-domain: no document of the split {name} says its domain (the field `domain`); expected that, or \
                 --within-domain=type or =source, by which the domain is that of the right concept"
            )));
        }
        let domains: BTreeSet<Option<&str>> = self.queries().map(|query| query.domain).collect();
        let members = own.members(kb);
        if let Some(domain) = domains.iter().flatten().find(|domain| !members.contains_key(**domain)) {
            return Err(without_concept(domain));
        }
        let (all, without) = (self.mentions.len(), self.queries().filter(|query| query.domain.is_none()).count());
        if without > 0 {
            eprintln!(
                "warning: {without} of the {all} mentions of {name} are in documents that say no domain; they are searched everywhere"
            );
        }
        Ok(self)
    }

    /// The split itself, if there is anything to measure on.
    ///
    /// # Errors
    /// If it has no mention.
    pub fn not_empty(self) -> Result<Self> {
        if !self.mentions.is_empty() {
            return Ok(self);
        }
        let reasons = self.counts.skipped.reasons();
        let skipped = if reasons.is_empty() { String::new() } else { format!(" (skipped: {reasons})") };
        Err(Error::input(format!("the split {} has no mention to measure on{skipped}", self.counts.split)))
    }

    /// Whether it has a NIL mention of the kind.
    pub fn has_nil(&self, of: NilOf) -> bool {
        self.mentions.iter().any(|gold| gold.concept.is_none() && of.takes(gold))
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
        MentionQuery { text, span: gold.span, domain: domain.map(String::as_str) }
    }
}

/// Whether the corpus has mentions of this split.
pub fn has_split(folder: &Path, split: &str) -> bool {
    ["", ".xz", ".gz", ".zst"].iter().any(|packed| folder.join(format!("mentions.{split}.jsonl{packed}")).is_file())
}
