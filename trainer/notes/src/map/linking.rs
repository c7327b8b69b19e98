//! Links the terms of a table: each once, as a mention that is a whole text.

use super::query;
use super::sheet::{TermTable, unguarded};
use pel_io::interrupt;
use pel_io::progress::Progress;
use pel_kb::ConceptId;
use pel_kb::error::{Error, Result};
use pel_kb::group::Group;
use pel_kb::score::Candidate;
use pel_linker::{Link, LinkOptions, Linker, Prepared, Proposals};
use pel_model::nil::Decision;
use pel_output::Record;
use pel_terminologies::import::concepts::single_spaced;
use pel_text::Span;
use pel_text::detect::{Detected, Origin};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Terms that are linked at once, which bounds the memory.
const TERMS: usize = 1024;

/// Concepts that are searched for a term before those of other types are left out.
const BEFORE_FILTER: usize = 2048;

/// Which concepts a term may be mapped to.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The types that a concept must have one of; any if empty.
    types: Vec<String>,
    /// The kind that all terms are of, if it is known.
    group: Option<Group>,
}

/// A term to link, with the text around it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// The term as in the table, in one line.
    pub term: String,
    /// The text around it, or nothing.
    pub context: String,
}

/// How a term was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Linked.
    Linked,
    /// Linked, and several concepts have this name.
    Ambiguous,
    /// No concept.
    Nil,
}

/// A term with its link.
#[derive(Clone, Debug)]
pub struct MappedTerm {
    /// What was linked in place of the term ([`query::forms`]).
    pub read_as: String,
    /// The link with names.
    pub record: Record,
    /// The decision.
    pub outcome: Outcome,
    /// Whether it is a name of the best candidate.
    pub named: bool,
    /// The probability or score that the decision is wrong, higher for what needs a look first.
    pub doubt: f32,
}

impl Filter {
    /// A filter by names of types, in any case, and by groups. A concept must have one of the types
    /// or a type of one of the groups.
    ///
    /// # Errors
    /// If no concept of the bundle has a type, or a group has no type in it; if a concept is
    /// damaged.
    pub fn new(linker: &Linker, types: &[String], groups: &[Group]) -> Result<Self> {
        if types.is_empty() && groups.is_empty() {
            return Ok(Self::default());
        }
        let concepts = &linker.bundle().concepts;
        let mut known = BTreeSet::new();
        for at in 0..concepts.len() as u32 {
            known.extend(concepts.get(ConceptId(at))?.types);
        }
        let mut kept = BTreeSet::new();
        for wanted in types {
            let found: Vec<&String> = known
                .iter()
                .filter(|name| name.eq_ignore_ascii_case(wanted))
                .collect();
            if found.is_empty() {
                let some: Vec<&str> = known.iter().take(12).map(String::as_str).collect();
                return Err(Error::input(format!(
                    "--type {wanted}: the bundle has no concepts of this type; it has types such \
                     as {}",
                    some.join(", ")
                )));
            }
            kept.extend(found.into_iter().cloned());
        }
        for group in groups {
            let of_group = known
                .iter()
                .filter(|name| Group::of_label(name) == Some(*group));
            let before = kept.len();
            kept.extend(of_group.cloned());
            if kept.len() == before && types.is_empty() {
                return Err(Error::input(format!(
                    "--group {}: the bundle has no concepts of this group",
                    group.name()
                )));
            }
        }
        Ok(Self {
            types: kept.into_iter().collect(),
            group: match groups {
                [one] if types.is_empty() => Some(*one),
                _ => None,
            },
        })
    }

    fn fits(&self, linker: &Linker, concept: ConceptId) -> bool {
        self.types.is_empty()
            || linker
                .concept(concept)
                .is_ok_and(|concept| concept.types.iter().any(|own| self.types.contains(own)))
    }
}

/// The query of each row; `None` for a row without a term.
pub fn queries(table: &TermTable) -> Vec<Option<Query>> {
    let cell = |cells: &[String], at: usize| {
        cells
            .get(at)
            .map_or(String::new(), |cell| single_spaced(unguarded(cell)))
    };
    let of_row = |cells: &[String]| {
        let term = cell(cells, table.term);
        let context = table.context.map_or(String::new(), |at| cell(cells, at));
        (!term.is_empty()).then_some(Query { term, context })
    };
    table.rows.iter().map(|row| of_row(&row.cells)).collect()
}

/// Links each different query once.
///
/// # Errors
/// If the device fails, a concept is damaged, or the user interrupts.
pub fn map<'q>(
    linker: &Linker,
    queries: impl Iterator<Item = &'q Query>,
    filter: &Filter,
    options: &LinkOptions,
) -> Result<HashMap<&'q Query, MappedTerm>> {
    let mut seen = HashSet::new();
    let order: Vec<&Query> = queries.filter(|query| seen.insert(*query)).collect();
    let mut progress = Progress::new("mapping", order.len() as u64, "terms");
    let mut mapped = HashMap::with_capacity(order.len());
    for some in order.chunks(TERMS) {
        interrupt::check()?;
        let forms: Vec<String> = some
            .iter()
            .map(|query| best_form(linker, filter, &query.term))
            .collect();
        for ((query, read_as), link) in some
            .iter()
            .zip(forms.clone())
            .zip(link(linker, some, &forms, filter, options)?)
        {
            let mapped_term = MappedTerm::new(linker, &link, read_as, options)?;
            mapped.insert(*query, mapped_term);
        }
        progress.advance(some.len() as u64);
    }
    Ok(mapped)
}

/// The first form of a term that is a name of a concept that fits, else the last form.
fn best_form(linker: &Linker, filter: &Filter, term: &str) -> String {
    let forms = query::forms(term);
    let dictionary = &linker.bundle().dictionary;
    let is_name = |form: &&String| {
        dictionary
            .lookup_mention(form)
            .into_iter()
            .any(|concept| filter.fits(linker, concept))
    };
    forms
        .iter()
        .find(is_name)
        .or(forms.last())
        .cloned()
        .unwrap_or_default()
}

/// Links the forms of some queries.
fn link(
    linker: &Linker,
    queries: &[&Query],
    forms: &[String],
    filter: &Filter,
    options: &LinkOptions,
) -> Result<Vec<Link>> {
    let mut prepared = Vec::with_capacity(queries.len());
    for (query, form) in queries.iter().zip(forms) {
        let (text, span) = in_context(query, form);
        let mention = Detected {
            group: filter.group,
            ..Detected::new(span, Origin::Given)
        };
        prepared.push(linker.steps().prepare(&text, vec![mention])?);
    }
    let prepared = Prepared::join(prepared);
    let encoded = linker.steps().encode(&prepared, |_| interrupt::check())?;
    if filter.types.is_empty() {
        return Ok(linker.steps().finish(&prepared, &encoded, options));
    }
    let found = linker
        .steps()
        .search(prepared.sequences().len(), &encoded, BEFORE_FILTER);
    let fitting = |found: Vec<Candidate>| {
        found
            .into_iter()
            .map(|candidate| candidate.concept)
            .filter(|concept| filter.fits(linker, *concept))
            .collect()
    };
    let proposals = Proposals {
        concepts: found.into_iter().map(fitting).collect(),
        types: filter.types.clone(),
    };
    Ok(linker
        .steps()
        .finish_with(&prepared, &encoded, options, &proposals))
}

/// The text of a query with the place of its form: in the context where the term stands in it, else
/// before the context.
fn in_context(query: &Query, form: &str) -> (String, Span) {
    let Query { term, context } = query;
    if context.is_empty() {
        return (form.to_owned(), Span::new(0, form.len()));
    }
    match context.find(term.as_str()) {
        Some(at) => {
            let (left, right) = (&context[..at], &context[at + term.len()..]);
            (
                format!("{left}{form}{right}"),
                Span::new(at, at + form.len()),
            )
        }
        None => (format!("{form}. {context}"), Span::new(0, form.len())),
    }
}

impl MappedTerm {
    fn new(linker: &Linker, link: &Link, read_as: String, options: &LinkOptions) -> Result<Self> {
        let record = Record::new(linker, link)?;
        let outcome = match link.decision {
            Decision::Nil { .. } => Outcome::Nil,
            Decision::Linked { .. } if record.same_name > 1 => Outcome::Ambiguous,
            Decision::Linked { .. } => Outcome::Linked,
        };
        Ok(Self {
            read_as,
            named: link.named,
            doubt: doubt(linker, link, outcome, options),
            record,
            outcome,
        })
    }
}

/// The probability that a decision is wrong, as far as the bundle has probabilities. Without them
/// it orders by the distance to the threshold, with ambiguous names first.
fn doubt(linker: &Linker, link: &Link, outcome: Outcome, options: &LinkOptions) -> f32 {
    if let Some(probability) = link.probability {
        return match outcome {
            Outcome::Nil => probability,
            Outcome::Linked | Outcome::Ambiguous => 1.0 - probability,
        };
    }
    let threshold = options
        .threshold
        .or(linker.bundle().manifest.nil.threshold)
        .unwrap_or(0.0);
    let distance = link
        .judged()
        .map_or(f32::MAX, |judged| (judged - threshold).abs());
    match outcome {
        Outcome::Ambiguous => 1.0,
        Outcome::Linked | Outcome::Nil => -distance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(term: &str, context: &str) -> Query {
        Query {
            term: term.to_owned(),
            context: context.to_owned(),
        }
    }

    #[test]
    fn form_takes_the_place_of_its_term_in_the_context() {
        for (term, context, text, mention) in [
            ("Na+", "", "sodium", "sodium"),
            ("Na+", "é Na+ in blood", "é sodium in blood", "sodium"),
            ("Na+", "electrolytes", "sodium. electrolytes", "sodium"),
        ] {
            let (found, span) = in_context(&query(term, context), "sodium");
            assert_eq!(found, text);
            assert_eq!(span.of(&found).expect("it fits"), mention);
        }
    }
}
