//! Codes that mean a concept together with what the text says beside it: ICD-10-CM has I50.23 for
//! heart failure that is systolic, acute and chronic, and N18.32 for chronic kidney disease of stage 3b.
//!
//! `table.tsv` is written by `kb/combined.py`, which takes each code and its name from the official
//! list. A row has a code of the concept, conditions, and the code that means both. Rows are applied
//! one after the other.

mod conditions;

#[cfg(test)]
mod tests;

use super::codes::NamedCode;
use super::relations::relations;
use super::{Named, Record};
use conditions::{Condition, Said};
use pel_kb::codes::{Match, System};
use pel_kb::group::Group;
use pel_text::context::{Certainty, Experiencer};
use pel_text::relations::{Relation, RelationName};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Rows are applied one after the other at most so many times; the table needs fewer.
const MOST_STEPS: usize = 6;

/// Words between a problem and what it comes with: "diabetes with neuropathy".
const WITH: [&str; 8] = [
    "with",
    "w",
    "with associated",
    "with known",
    "with diabetic",
    "complicated by",
    "c b",
    "and associated",
];
/// Words between further ones.
const AND: [&str; 3] = ["", "and", "with"];

/// A row of the table.
struct Row {
    conditions: Vec<Condition>,
    code: &'static str,
    display: &'static str,
}

/// The rows of each code.
type Table = HashMap<&'static str, Vec<Row>>;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::new();
    for line in include_str!("table.tsv").lines().skip(1) {
        let mut cells = line.split('\t');
        let cells = (cells.next(), cells.next(), cells.next(), cells.next());
        // A test reads each row.
        if let (Some(from), Some(when), Some(code), Some(display)) = cells {
            table.entry(from).or_default().push(Row {
                conditions: conditions::parse(when),
                code,
                display,
            });
        }
    }
    table
});

/// Gives the records of a text the codes that mean their concepts with what the text says of them.
/// Such a code comes first among those of its system. Those of an earlier call are replaced.
pub fn combine_codes(text: &str, records: &mut [Record]) {
    for record in records.iter_mut() {
        record.put_combined(None);
    }
    if !records
        .iter()
        .any(|record| rows_of(record).next().is_some())
    {
        return;
    }
    let related = relations(text, records);
    let mut said: Vec<Option<Said>> = records
        .iter()
        .map(|record| {
            let has_rows = rows_of(record).next().is_some();
            has_rows.then(|| Said::of(text, record))
        })
        .collect();
    for Relation {
        source,
        target,
        name,
    } in &related
    {
        if let (RelationName::Site, Some(said)) = (name, &mut said[*source]) {
            let site = pel_text::text_of(text, records[*target].pieces());
            said.add_site(&site.unwrap_or_default());
        }
    }
    let combine = |records: &mut [Record], with: &[Vec<String>]| {
        let all = records.iter_mut().zip(&said).zip(with);
        for ((record, said), with) in all {
            let code = said.as_ref().and_then(|said| combined(record, said, with));
            if code.is_some() {
                record.put_combined(code);
            }
        }
    };
    let alone = vec![Vec::new(); records.len()];
    combine(records, &alone);
    // What comes with a disease may have a combined code, too: hypertension with a stage of CKD.
    let companions = companions(text, records, &related);
    if companions.iter().any(|codes| !codes.is_empty()) {
        combine(records, &companions);
    }
}

/// The rows that the codes of a record begin.
fn rows_of(record: &Record) -> impl Iterator<Item = &'static Row> + '_ {
    codes_of(record)
        .filter_map(|code| TABLE.get(code.code.as_str()))
        .flatten()
}

/// The codes of ICD-10-CM of a problem that mean all of it, or contain it.
fn codes_of(record: &Record) -> impl Iterator<Item = &NamedCode> {
    let is_problem = record.group_of_concept() == Some(Group::Problem);
    let named = record.decision.as_ref().ok().filter(|_| is_problem);
    let codes = named.map_or(&[][..], |named| named.codes.as_slice());
    codes.iter().filter(|code| {
        code.system == System::Icd10Cm && matches!(code.matches, Match::Exact | Match::Broader)
    })
}

/// The code that means the concept of a record and what the text says of it. `with` has the codes of
/// what it comes with.
fn combined(record: &Record, said: &Said, with: &[String]) -> Option<NamedCode> {
    let found = codes_of(record).find_map(|base| {
        // A code that only contains the concept says too little of it to name a complication.
        let with = match base.matches {
            Match::Exact => with,
            _ => &[],
        };
        let fits = |row: &&Row| row.conditions.iter().all(|one| said.fits(one, with));
        let next = |code: &str| TABLE.get(code)?.iter().find(fits);
        let first = next(&base.code)?;
        let steps = std::iter::successors(Some(first), |row| next(row.code));
        steps.take(MOST_STEPS).last()
    })?;
    Some(NamedCode {
        system: System::Icd10Cm,
        code: found.code.to_owned(),
        display: Some(found.display.to_owned()),
        matches: Match::Combined,
        billable: Some(true),
    })
}

/// The codes of what each record comes with: what is due to it, and what "with" joins to it.
fn companions(text: &str, records: &[Record], related: &[Relation]) -> Vec<Vec<String>> {
    let mut of = vec![Vec::new(); records.len()];
    let is_stated = |record: &Record| {
        let context = &record.context;
        !context.negated
            && context.certainty == Certainty::Certain
            && context.experiencer == Experiencer::Patient
    };
    let mut add = |at: usize, other: usize| {
        if is_stated(&records[other])
            && let Ok(named) = &records[other].decision
        {
            let own = named.codes.iter();
            let own = own.filter(|code| code.system == System::Icd10Cm);
            of[at].extend(own.map(|code| code.code.clone()));
        }
    };
    for relation in related {
        if relation.name == RelationName::Cause {
            add(relation.target, relation.source);
        }
    }
    for at in 0..records.len() {
        let mut last = at;
        for next in at + 1..records.len() {
            let between = conditions::between(text, &records[last], &records[next]);
            let joints: &[&str] = if last == at { &WITH } else { &AND };
            if !between.is_some_and(|words| joints.contains(&words.as_str())) {
                break;
            }
            add(at, next);
            last = next;
        }
    }
    of
}

impl Record {
    /// Puts a combined code before the others of its system, in the place of an earlier one.
    fn put_combined(&mut self, code: Option<NamedCode>) {
        let Ok(named) = &mut self.decision else {
            return;
        };
        let is_earlier = |code: &NamedCode| code.matches == Match::Combined;
        if code.is_none() && !named.codes.iter().any(is_earlier) {
            return;
        }
        let Named { codes, .. } = named;
        codes.retain(|code| !is_earlier(code));
        if let Some(code) = code {
            let place = codes.iter().position(|one| one.system == code.system);
            codes.insert(place.unwrap_or(codes.len()), code);
        }
        self.choose_primary();
    }
}
