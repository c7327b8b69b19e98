//! What a reviewer decided of mapped terms, as names and concepts to add to a knowledge base.

use super::output::{ID, REVIEW, candidate_id};
use super::sheet::{SheetRow, TermTable, unguarded};
use pel_kb::clean::check_id;
use pel_kb::error::{Error, Kind, Result};
use pel_kb::{Concept, ConceptId};
use pel_linker::bundle::{Bundle, Resolved};
use pel_terminologies::import::concepts::single_spaced;
use pel_text::detect::normalise_name;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Words that accept the concept of a row.
const ACCEPT: [&str; 4] = ["accept", "ok", "yes", "y"];
/// Words that say that no concept is right.
const NONE: [&str; 4] = ["nil", "none", "no", "reject"];

/// What becomes of terms without a concept, and of local identifiers.
#[derive(Clone, Debug, Default)]
pub struct ReviewOptions {
    /// The prefix of the identifiers of new concepts; `None` makes none.
    pub new_concepts: Option<String>,
    /// The type of new concepts.
    pub new_type: Option<String>,
    /// The prefix of local identifiers as cross-references of the chosen concepts; `None` adds
    /// none.
    pub xrefs: Option<String>,
}

/// Rows by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReviewCounts {
    /// Rows.
    pub rows: usize,
    /// Rows whose term belongs to a concept.
    pub accepted: usize,
    /// Names that were not names of their concept before, each once.
    pub names: usize,
    /// Rows whose concept is retired and has a successor, which was taken.
    pub redirected: usize,
    /// Rows without a concept.
    pub nil: usize,
    /// New concepts.
    pub new_concepts: usize,
    /// Rows that nobody decided.
    pub undecided: usize,
    /// Terms that were accepted for several concepts.
    pub several: usize,
}

/// The additions of a review.
#[derive(Debug)]
pub struct Reviewed {
    /// Concepts with only what they gain, in the order of their identifiers: those of the bundle
    /// with their name, then new ones.
    pub concepts: Vec<Concept>,
    /// Rows by what became of them.
    pub counts: ReviewCounts,
    /// The errors of wrong rows, in the order of the table. With any, the rest is incomplete.
    pub wrong: Vec<Error>,
}

/// What a row says.
enum Decision {
    Undecided,
    Nil,
    Id(String),
}

/// Reads what a reviewer decided. A row that names no concept of the bundle is [`Reviewed::wrong`].
///
/// # Errors
/// If a column is missing or the bundle is damaged.
pub fn read(table: &TermTable, bundle: &Bundle, options: &ReviewOptions) -> Result<Reviewed> {
    let column = |name: &str| {
        table.named(name).ok_or_else(|| {
            Error::input(format!(
                "{}: the table has no column {name:?}; review a table that `pel map` wrote",
                table.name
            ))
        })
    };
    let columns = (column(REVIEW)?, column(ID)?);
    if options.xrefs.is_some() && table.id.is_none() {
        return Err(Error::usage(
            "--xref-prefix: name the column of local identifiers with --id-column",
        ));
    }
    let mut reading = Reading {
        table,
        bundle,
        options,
        columns,
        counts: ReviewCounts {
            rows: table.rows.len(),
            ..ReviewCounts::default()
        },
        chosen: BTreeMap::new(),
        new: BTreeMap::new(),
        of_terms: BTreeMap::new(),
    };
    let mut wrong = Vec::new();
    for row in &table.rows {
        match reading.add(row) {
            Err(error) if error.kind() == Kind::Input => wrong.push(
                error
                    .context(format!("column {REVIEW}"))
                    .context(format!("{}: line {}", table.name, row.line)),
            ),
            added => added?,
        }
    }
    let Reading {
        mut counts,
        chosen,
        new,
        of_terms,
        ..
    } = reading;
    counts.several = of_terms
        .values()
        .filter(|concepts| concepts.len() > 1)
        .count();
    let mut concepts = Vec::new();
    for (at, additions) in chosen {
        let concept = bundle.concepts.get(at)?;
        let known: BTreeSet<&str> = concept.names().collect();
        let synonyms: Vec<String> = additions
            .names
            .into_iter()
            .filter(|name| !known.contains(name.as_str()))
            .collect();
        let xrefs: Vec<String> = additions
            .xrefs
            .into_iter()
            .filter(|xref| !concept.xrefs.contains(xref))
            .collect();
        counts.names += synonyms.len();
        if !(synonyms.is_empty() && xrefs.is_empty()) {
            concepts.push(Concept {
                id: concept.id.clone(),
                name: concept.name.clone(),
                synonyms,
                xrefs,
                ..Concept::default()
            });
        }
    }
    concepts.sort_by(|one, other| one.id.cmp(&other.id));
    counts.new_concepts = new.len();
    concepts.extend(new.into_values());
    Ok(Reviewed {
        concepts,
        counts,
        wrong,
    })
}

/// A review that is being read.
struct Reading<'a> {
    table: &'a TermTable,
    bundle: &'a Bundle,
    options: &'a ReviewOptions,
    /// The columns of the decision and of the concept that was found.
    columns: (usize, usize),
    counts: ReviewCounts,
    /// What concepts of the bundle gain.
    chosen: BTreeMap<ConceptId, Additions>,
    /// New concepts by identifier.
    new: BTreeMap<String, Concept>,
    /// The concepts of each normalised term.
    of_terms: BTreeMap<String, BTreeSet<ConceptId>>,
}

impl Reading<'_> {
    /// Adds what a row says.
    fn add(&mut self, row: &SheetRow) -> Result<()> {
        let (table, bundle, options) = (self.table, self.bundle, self.options);
        let term = cell(row, table.term);
        let id = match decision(table, row, self.columns)? {
            Decision::Undecided => {
                self.counts.undecided += 1;
                return Ok(());
            }
            Decision::Nil => {
                self.counts.nil += 1;
                if let Some(prefix) = &options.new_concepts
                    && !term.is_empty()
                {
                    let concept = new_concept(table, row, prefix, options)?;
                    add_new(&mut self.new, concept, bundle)?;
                }
                return Ok(());
            }
            Decision::Id(id) => id,
        };
        let (concept, redirected) = resolve(bundle, &id)?;
        if term.is_empty() {
            return Err(Error::input("the row has no term"));
        }
        self.counts.accepted += 1;
        self.counts.redirected += usize::from(redirected);
        self.of_terms
            .entry(normalise_name(&term))
            .or_default()
            .insert(concept);
        let additions = self.chosen.entry(concept).or_default();
        additions.names.insert(term);
        if let (Some(prefix), Some(at)) = (&options.xrefs, table.id) {
            let local = cell(row, at);
            if !local.is_empty() {
                additions.xrefs.insert(format!("{prefix}:{local}"));
            }
        }
        Ok(())
    }
}

/// What a concept gains.
#[derive(Default)]
struct Additions {
    names: BTreeSet<String>,
    xrefs: BTreeSet<String>,
}

fn cell(row: &SheetRow, at: usize) -> String {
    row.cells
        .get(at)
        .map_or(String::new(), |cell| single_spaced(unguarded(cell)))
}

/// The decision of a row, from its column `review`: a word of [`ACCEPT`] or [`NONE`], `#2` for the
/// second candidate, or an identifier.
fn decision(table: &TermTable, row: &SheetRow, (review, own): (usize, usize)) -> Result<Decision> {
    let said = cell(row, review);
    let lower = said.to_lowercase();
    if said.is_empty() {
        return Ok(Decision::Undecided);
    }
    if NONE.contains(&lower.as_str()) {
        return Ok(Decision::Nil);
    }
    let (column, id) = if ACCEPT.contains(&lower.as_str()) {
        (ID.to_owned(), cell(row, own))
    } else if let Some(number) = said.strip_prefix('#') {
        let number: usize = number.trim().parse().map_err(|cause| {
            Error::input(format!(
                "expected # and the number of a candidate, found {said:?}"
            ))
            .caused_by(cause)
        })?;
        let column = candidate_id(number);
        let at = table.named(&column).ok_or_else(|| {
            Error::input(format!(
                "expected a candidate that the table has, found {said:?}"
            ))
        })?;
        (column, cell(row, at))
    } else {
        return Ok(Decision::Id(said));
    };
    match id.is_empty() {
        true => Err(Error::input(format!(
            "expected an identifier or NIL, found {said:?} for a row whose column {column} is empty"
        ))),
        false => Ok(Decision::Id(id)),
    }
}

/// The concept of an identifier, and whether it is the successor of a retired one.
fn resolve(bundle: &Bundle, id: &str) -> Result<(ConceptId, bool)> {
    match bundle.resolve(id)? {
        Resolved::Concept(concept) => Ok((concept, false)),
        Resolved::Redirected { concept, .. } => Ok((concept, true)),
        Resolved::Retired(_) => Err(Error::input(format!(
            "the id {id} is retired, and no concept of the bundle has replaced it"
        ))),
        Resolved::Unknown => Err(Error::input(format!(
            "expected accept, NIL, # and the number of a candidate, or an identifier of the \
             bundle, found {id:?}"
        ))),
    }
}

/// The new concept of a term. Its identifier is the prefix with the local identifier, else with the
/// words of the term.
fn new_concept(
    table: &TermTable,
    row: &SheetRow,
    prefix: &str,
    options: &ReviewOptions,
) -> Result<Concept> {
    let term = cell(row, table.term);
    let local = table.id.map(|at| cell(row, at)).filter(|id| !id.is_empty());
    let local = local.unwrap_or_else(|| {
        let words: Vec<String> = term
            .to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        words.join("-")
    });
    if local.is_empty() {
        return Err(Error::input(format!(
            "the term {term:?} has no letters to make an identifier of; name a column of \
             identifiers with --id-column"
        )));
    }
    let id = format!("{prefix}:{local}");
    check_id(&id)?;
    Ok(Concept {
        id,
        name: term,
        types: options.new_type.iter().cloned().collect(),
        sources: vec![prefix.to_owned()],
        ..Concept::default()
    })
}

/// Adds a new concept; another name of the same identifier becomes a synonym.
fn add_new(new: &mut BTreeMap<String, Concept>, concept: Concept, bundle: &Bundle) -> Result<()> {
    if !matches!(bundle.resolve(&concept.id)?, Resolved::Unknown) {
        return Err(Error::input(format!(
            "expected a new identifier, found {}, which the bundle has; accept it, or set another \
             --new-concepts",
            concept.id
        )));
    }
    match new.get_mut(&concept.id) {
        None => {
            new.insert(concept.id.clone(), concept);
        }
        Some(first) if first.names().any(|name| name == concept.name) => {}
        Some(first) => first.synonyms.push(concept.name),
    }
    Ok(())
}
