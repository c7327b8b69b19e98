//! Relations between two mentions of a sentence: what a drug is given for, what a problem comes
//! from, where it is, what an examination shows or excludes, which reaction an allergen caused.
//!
//! A relation is found only where the text says so: the words between both mentions, without
//! attributes and fillers at their ends, must be an entry of a readable rule file. One pass over
//! the mentions.

mod gap;
mod reactions;
mod rules;

#[cfg(test)]
mod tests;

use super::Span;
use super::context::{Allergy, Context};
use gap::Gap;
use pel_kb::error::Result;
use pel_kb::group::Group;
use rules::{Order, Rule, Rules};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// What a relation says of its two mentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelationName {
    /// A drug, and the problem that it is given for.
    Indication,
    /// A problem, and what it comes from.
    Cause,
    /// A problem or procedure, and its part of the body.
    Site,
    /// An examination, and what it shows.
    Finding,
    /// An examination, and what it excludes.
    Excludes,
    /// An allergen, and the reaction to it.
    Reaction,
}

impl RelationName {
    /// All names, in the order of their declaration.
    pub const ALL: [Self; 6] = [
        Self::Indication,
        Self::Cause,
        Self::Site,
        Self::Finding,
        Self::Excludes,
        Self::Reaction,
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Indication => "indication",
            Self::Cause => "cause",
            Self::Site => "site",
            Self::Finding => "finding",
            Self::Excludes => "excludes",
            Self::Reaction => "reaction",
        }
    }
}

/// Two mentions, by their numbers in the list that they were given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Relation {
    /// The mention that the relation is said of.
    pub source: usize,
    /// The other mention.
    pub target: usize,
    /// What is said.
    pub name: RelationName,
}

/// A mention that may stand in relations.
#[derive(Clone, Debug)]
pub struct Related<'a> {
    /// Its extent in bytes.
    pub span: Span,
    /// What kind of thing it is.
    pub group: Option<Group>,
    /// What the text says of it.
    pub context: &'a Context,
    /// The bytes of its attributes, which may stand between it and the next mention.
    pub attributes: Vec<Span>,
    /// The bytes of what it is given for.
    pub indications: Vec<Span>,
}

/// The rules of a language.
#[derive(Clone, Debug)]
pub struct RelationRules {
    rules: Rules,
}

impl RelationRules {
    /// The rules of English.
    pub fn english() -> &'static Self {
        static RULES: LazyLock<RelationRules> = LazyLock::new(|| {
            match RelationRules::parse(include_str!("english.relations"), "english.relations") {
                Ok(rules) => rules,
                // A test parses the built-in file.
                Err(_) => unreachable!("the English rules are valid"),
            }
        });
        &RULES
    }

    /// Parses a rule file. `name` is the file's name in messages.
    ///
    /// # Errors
    /// If a line is invalid. The message has the file and line, and says what was expected and
    /// found.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let rules = Rules::parse(text, name)?;
        Ok(Self { rules })
    }

    /// The relations between mentions of a text, in the order of their sources, then of their
    /// targets. The mentions are in the order of the text.
    pub fn find(&self, text: &str, mentions: &[Related<'_>]) -> Vec<Relation> {
        let mut found = Vec::new();
        for first in 0..mentions.len() {
            let Some(second) = next(mentions, first) else {
                break;
            };
            let gap = Gap::between(text, &mentions[first], &mentions[second]);
            let (one, two) = (mentions[first].group, mentions[second].group);
            // "negative" of "negative for" is a value, too.
            let rule = [true, false].iter().find_map(|attributes| {
                let words = gap.core(&self.rules.fillers, *attributes)?;
                self.rules.of(&words, one, two)
            });
            let Some(rule) = rule else {
                continue;
            };
            let mut relate = |other: usize| {
                let (source, target) = match rule.order {
                    Order::Before => (first, other),
                    Order::After => (other, first),
                };
                found.push(Relation {
                    source,
                    target,
                    name: rule.name,
                });
            };
            relate(second);
            let mut last = second;
            while let Some(more) = next(mentions, last)
                && self.is_listed(text, mentions, rule, last, more)
            {
                relate(more);
                last = more;
            }
        }
        found.extend(indications(mentions));
        found.extend(reactions::find(text, mentions));
        found.sort();
        found.dedup();
        found
    }

    /// Whether the list goes on from one mention to the next.
    fn is_listed(
        &self,
        text: &str,
        mentions: &[Related<'_>],
        rule: &Rule,
        last: usize,
        more: usize,
    ) -> bool {
        let gap = Gap::between(text, &mentions[last], &mentions[more]);
        let fits = mentions[more].group.is_some() && mentions[more].group == mentions[last].group;
        let joints = rule.list.joints();
        let words = gap.core(&self.rules.fillers, false);
        fits && words.is_some_and(|words| joints.contains(&words.join(" ").as_str()))
    }
}

/// How many mentions before the end of an indication may overlap it.
const MOST_NESTED: usize = 8;

/// The problems that the attributes of drugs name as their indications.
fn indications(mentions: &[Related<'_>]) -> Vec<Relation> {
    let mut found = Vec::new();
    for (source, drug) in mentions.iter().enumerate() {
        for span in &drug.indications {
            let end = mentions.partition_point(|one| one.span.start < span.end);
            let near = mentions[..end].iter().enumerate().rev().take(MOST_NESTED);
            let problems = near
                .filter(|(_, one)| one.group == Some(Group::Problem) && one.span.overlaps(span));
            found.extend(problems.map(|(target, _)| Relation {
                source,
                target,
                name: RelationName::Indication,
            }));
        }
    }
    found
}

/// The first mention behind another one that shares no byte with it.
fn next(mentions: &[Related<'_>], at: usize) -> Option<usize> {
    let end = mentions[at].span.end;
    let behind = mentions.iter().enumerate().skip(at + 1);
    let mut free = behind.filter(|(_, one)| one.span.start >= end);
    free.next().map(|(at, _)| at)
}

/// Whether a mention is an allergen or a reaction.
fn is(mention: &Related<'_>, allergy: Allergy) -> bool {
    mention.context.allergy == Some(allergy)
}
