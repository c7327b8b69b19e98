//! The tokenized concepts of a run: its positives and negatives.

use super::config::Domain;
use pel_artifacts::concept_table;
use pel_corpora::domain::{DomainOf, domain_of};
use pel_corpora::indexing::tokenize;
use pel_kb::error::{Error, Result};
use pel_kb::{ConceptId, KnowledgeBase};
use pel_linker::bundle::ConceptRows;
use pel_model::tokens::{Encoded, Tokens, View, ViewOptions};
use rand::Rng;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;

/// The number of a token sequence. Equal sequences of different concepts have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceId(pub u32);

impl SequenceId {
    /// The position as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Concepts with their token sequences.
pub struct EntityInputs {
    /// The concepts.
    pub kb: KnowledgeBase,
    rows: ConceptRows,
    /// For each concept its rows.
    places: Vec<Range<usize>>,
    /// Whether the first row of a concept is its template.
    templates: bool,
    domains: Domains,
    /// The concepts of the training domains, if these are not all.
    trained: Option<Vec<ConceptId>>,
}

/// The domains of the concepts.
#[derive(Default)]
struct Domains {
    names: Vec<String>,
    of: Vec<DomainId>,
    members: Vec<Vec<ConceptId>>,
}

/// The position of a domain in the order in which they come in the knowledge base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainId(u32);

impl Domains {
    fn new(kb: &KnowledgeBase, by: DomainOf) -> Self {
        let (mut all, mut places) = (Self::default(), HashMap::new());
        for (id, concept) in kb.iter() {
            let name = domain_of(concept, by);
            let at = *places.entry(name).or_insert_with(|| {
                all.names.push(name.to_owned());
                all.members.push(Vec::new());
                DomainId(all.names.len() as u32 - 1)
            });
            all.of.push(at);
            all.members[at.0 as usize].push(id);
        }
        all
    }
}

impl EntityInputs {
    /// Reads and tokenizes concept tables. Of concepts with the same identifier, the first is used.
    ///
    /// # Errors
    /// If a table cannot be read, or a concept cannot be written by the template.
    pub fn read<'a>(
        tables: impl IntoIterator<Item = &'a Path>,
        tokens: &Tokens,
        view: &ViewOptions,
        domains: DomainOf,
    ) -> Result<Self> {
        let mut all = KnowledgeBase::new();
        for table in tables {
            let kb = concept_table::read(table)?.kb;
            let new: Vec<_> = kb
                .iter()
                .filter(|(_, concept)| all.find(&concept.id).is_none())
                .collect();
            for (_, concept) in new {
                all.push(concept.clone())?;
            }
        }
        Self::new(all, tokens, view, domains)
    }

    /// Tokenizes concepts.
    ///
    /// # Errors
    /// If a concept cannot be written by the template.
    pub fn new(
        kb: KnowledgeBase,
        tokens: &Tokens,
        view: &ViewOptions,
        domains: DomainOf,
    ) -> Result<Self> {
        let rows = tokenize(&kb, tokens, view)?;
        let mut places = vec![0..0; kb.len()];
        for (row, concept) in rows.concepts.iter().enumerate() {
            let place = &mut places[concept.index()];
            *place = if place.end == 0 {
                row..row + 1
            } else {
                place.start..row + 1
            };
        }
        let domains = Domains::new(&kb, domains);
        Ok(Self {
            kb,
            rows,
            places,
            templates: view.concepts != View::Names,
            domains,
            trained: None,
        })
    }

    /// The sequences of a concept: its template if the view has one, then its names.
    pub fn sequences_of(
        &self,
        concept: ConceptId,
    ) -> impl ExactSizeIterator<Item = SequenceId> + '_ {
        let place = self.places.get(concept.index()).cloned().unwrap_or(0..0);
        self.rows.sequence_of[place]
            .iter()
            .map(|sequence| SequenceId(*sequence as u32))
    }

    /// Whether a concept has this sequence.
    pub fn has(&self, concept: ConceptId, sequence: SequenceId) -> bool {
        self.sequences_of(concept).any(|own| own == sequence)
    }

    /// The tokens of a sequence.
    pub fn tokens(&self, sequence: SequenceId) -> &Encoded {
        &self.rows.sequences[sequence.index()]
    }

    /// All sequences.
    pub fn rows(&self) -> &ConceptRows {
        &self.rows
    }

    /// Draws one of a concept's sequences: its template with probability `template_share`,
    /// otherwise a name.
    pub fn draw(
        &self,
        concept: ConceptId,
        template_share: f64,
        random: &mut impl Rng,
    ) -> Option<SequenceId> {
        let count = self.sequences_of(concept).len();
        let names = if self.templates {
            count.saturating_sub(1)
        } else {
            count
        };
        let at = match (count, names) {
            (0, _) => return None,
            (_, 0) => 0,
            _ if self.templates && random.random_bool(template_share) => 0,
            _ => count - names + random.random_range(0..names),
        };
        self.sequences_of(concept).nth(at)
    }

    /// Sets the training concepts. Before that, all domains count as training domains.
    pub fn train_on(&mut self, concepts: impl IntoIterator<Item = ConceptId>) {
        let domains: BTreeSet<DomainId> = concepts
            .into_iter()
            .map(|concept| self.domain(concept))
            .collect();
        let whole = domains.len() == self.domains.names.len();
        let mut trained: Vec<ConceptId> = domains
            .iter()
            .flat_map(|domain| self.members(*domain))
            .copied()
            .filter(|_| !whole)
            .collect();
        trained.sort_unstable();
        self.trained = (!trained.is_empty()).then_some(trained);
    }

    /// The concepts of the training domains; `None` if these are all domains.
    pub fn trained(&self) -> Option<&[ConceptId]> {
        self.trained.as_deref()
    }

    /// Draws a negative concept uniformly from the domains that `from` allows for this right
    /// concept.
    pub fn draw_concept(&self, from: Domain, gold: ConceptId, random: &mut impl Rng) -> ConceptId {
        let members = match from {
            Domain::Across => None,
            Domain::Trained => self.trained(),
            Domain::Inside => Some(self.members(self.domain(gold))),
        };
        match members {
            None => ConceptId(random.random_range(0..self.kb.len() as u32)),
            Some(members) => members[random.random_range(0..members.len())],
        }
    }

    /// The domain of a concept.
    pub fn domain(&self, concept: ConceptId) -> DomainId {
        self.domains.of[concept.index()]
    }

    /// Checks that all names are domains.
    ///
    /// # Errors
    /// If one is not; the error names some domains.
    pub fn check_domains(&self, wanted: &[String]) -> Result<()> {
        let Some(unknown) = wanted
            .iter()
            .find(|name| !self.domains.names.contains(name))
        else {
            return Ok(());
        };
        let (names, most) = (&self.domains.names, 10);
        let shown = names
            .iter()
            .take(most)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let more = if names.len() > most { ", ..." } else { "" };
        Err(Error::input(format!(
            "the configuration: `data.only_domains`: expected domains that a concept has \
             ({shown}{more}), found {unknown:?}"
        )))
    }

    /// The name of a domain.
    pub fn name_of(&self, domain: DomainId) -> &str {
        &self.domains.names[domain.0 as usize]
    }

    /// The concepts of a domain.
    pub fn members(&self, domain: DomainId) -> &[ConceptId] {
        &self.domains.members[domain.0 as usize]
    }

    /// Whether a concept is of one of these domains, or `domains` is empty.
    pub fn is_wanted(&self, concept: ConceptId, domains: &[String]) -> bool {
        domains.is_empty() || domains.contains(&self.domains.names[self.domain(concept).0 as usize])
    }
}
