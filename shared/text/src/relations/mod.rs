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
use rules::{List, Order, Rule, Rules};
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
    /// Whether it is a drug that is stopped or held.
    pub stopped: bool,
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
            let Some(rule) = self.rule(text, mentions, first, second) else {
                continue;
            };
            let mut targets = vec![second];
            while let Some(more) = next(mentions, *targets.last().unwrap_or(&second))
                && self.is_listed(
                    text,
                    mentions,
                    rule,
                    *targets.last().unwrap_or(&second),
                    more,
                )
            {
                targets.push(more);
            }
            let sources = match rule.shared {
                true => self.shared(text, mentions, first),
                false => vec![first],
            };
            for one in &sources {
                let of = |other: &usize| relate(rule, mentions, (*one, *other), second);
                found.extend(targets.iter().map(of));
            }
        }
        found.extend(indications(mentions));
        found.extend(reactions::find(text, mentions));
        found.sort();
        found.dedup();
        found
    }

    /// The rule of the words between two mentions.
    fn rule(
        &self,
        text: &str,
        mentions: &[Related<'_>],
        first: usize,
        second: usize,
    ) -> Option<&Rule> {
        let gap = Gap::between(text, &mentions[first], &mentions[second]);
        // "negative" of "negative for" is a value, too.
        let cores = [
            gap.core(&self.rules.fillers, true),
            gap.core(&self.rules.fillers, false),
            gap.marked(&self.rules.fillers),
        ];
        let groups = (mentions[first].group, mentions[second].group);
        let mut cores = cores.into_iter().flatten();
        let rule = cores.find_map(|words| self.rules.of(&words, groups.0, groups.1))?;
        let is_given = |at: usize| {
            let one = &mentions[at];
            let is_drug = one.group == Some(Group::Drug);
            let is_out = is_drug && (one.stopped || one.context.allergy.is_some());
            !is_out && (is_drug || !one.context.negated)
        };
        (!rule.given || is_given(first) && is_given(second)).then_some(rule)
    }

    /// A mention and those before it that "and" joins to it: "pain and swelling in the knee". Commas join
    /// those before, if nothing is said of one of them alone.
    fn shared(&self, text: &str, mentions: &[Related<'_>], first: usize) -> Vec<usize> {
        let mut all = vec![first];
        let mut last = first;
        while all.len() < MOST_SHARED
            && let Some(before) = before(mentions, last)
            && mentions[before].group == mentions[last].group
        {
            let gap = Gap::between(text, &mentions[before], &mentions[last]);
            let words = gap
                .core(&self.rules.fillers, false)
                .map(|words| words.join(" "));
            let joints = match last == first {
                true => List::Pairs.joints(),
                false => List::All.joints(),
            };
            if !words.is_some_and(|words| joints.contains(&words.as_str())) || gap.has_attributes()
            {
                break;
            }
            all.push(before);
            last = before;
        }
        all
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
        let words = words.map(|words| words.join(" "));
        // "CXR: cardiomegaly, no effusion."
        let examines = matches!(rule.name, RelationName::Finding | RelationName::Excludes);
        let is_denied = examines && mentions[more].context.negated;
        let words = words.map(|words| match words.rsplit_once(' ') {
            Some((joint, "no" | "without")) if is_denied => joint.to_owned(),
            _ => words,
        });
        fits && words.is_some_and(|words| joints.contains(&words.as_str()))
    }
}

/// The mentions that "and" joins before a relation at most.
const MOST_SHARED: usize = 4;

/// The relation of two mentions by a rule, in the order of the text. What a text denies is no finding.
/// `lead` is the first mention behind the rule's words: "no effusion, mild regurgitation".
fn relate(
    rule: &Rule,
    mentions: &[Related<'_>],
    (first, second): (usize, usize),
    lead: usize,
) -> Relation {
    let (source, target) = match rule.order {
        Order::Before => (first, second),
        Order::After => (second, first),
    };
    let denied = |at: usize| mentions[at].context.negated;
    let name = match rule.name {
        RelationName::Finding if denied(target) => RelationName::Excludes,
        RelationName::Excludes if denied(lead) && !denied(second) => RelationName::Finding,
        name => name,
    };
    Relation {
        source,
        target,
        name,
    }
}

/// The last mention before another one that shares no byte with it.
fn before(mentions: &[Related<'_>], at: usize) -> Option<usize> {
    let start = mentions[at].span.start;
    let all = mentions.get(..at)?.iter().enumerate().rev();
    let mut free = all
        .take(MOST_NESTED)
        .filter(|(_, one)| one.span.end <= start);
    free.next().map(|(at, _)| at)
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
