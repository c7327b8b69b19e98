//! Rule files of relations.

use super::RelationName;
use crate::rule_lines::split_entries;
use pel_kb::error::{Error, Result};
use pel_kb::group::Group;
use std::collections::{HashMap, HashSet};

/// The largest number of lines of a file.
const MAX_LINES: usize = 1 << 12;

/// Which of both mentions stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The source.
    Before,
    /// The target.
    After,
}

/// How a relation goes on behind the second mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// It does not.
    One,
    /// To a second one, with "and" between them.
    Pairs,
    /// To all mentions of a list.
    All,
}

impl List {
    /// What may stand between two mentions of the list.
    pub(super) fn joints(self) -> &'static [&'static str] {
        match self {
            Self::One => &[],
            Self::Pairs => &["and", "or", "and/or", "&"],
            Self::All => &[
                "and",
                "or",
                "and/or",
                "&",
                ",",
                ", and",
                ", or",
                ", &",
                "/",
                "+",
                "as well as",
            ],
        }
    }
}

/// A relation between mentions of some groups.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) name: RelationName,
    pub(super) order: Order,
    pub(super) list: List,
    /// Whether mentions that "and" joins to the first one are in the same relation.
    pub(super) shared: bool,
    /// Whether it is said of drugs that are given, and not of stopped ones and allergens.
    pub(super) given: bool,
    /// The groups of the first mention in the text, and of the second.
    groups: [Vec<Group>; 2],
}

/// The rules of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) fillers: HashSet<String>,
    rules: Vec<Rule>,
    /// The rules of an entry, in the order of the file.
    of: HashMap<String, Vec<usize>>,
}

impl Rules {
    /// The first rule of words between mentions of two groups.
    pub(super) fn of(
        &self,
        words: &[&str],
        one: Option<Group>,
        two: Option<Group>,
    ) -> Option<&Rule> {
        let (one, two) = (one?, two?);
        let rules = self.of.get(&words.join(" "))?.iter();
        let mut rules = rules.filter_map(|at| self.rules.get(*at));
        rules.find(|rule| rule.groups[0].contains(&one) && rule.groups[1].contains(&two))
    }

    /// Parses a file.
    pub(super) fn parse(text: &str, name: &str) -> Result<Self> {
        let mut rules = Self::default();
        // The rule of the entries; `None` before the first heading.
        let mut target: Option<Option<usize>> = None;
        for (index, line) in text.lines().enumerate() {
            let fail = |message: String| Error::input(format!("{message} ({name}:{})", index + 1));
            if index >= MAX_LINES {
                return Err(fail(format!("expected at most {MAX_LINES} lines")));
            }
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            if !line.starts_with(char::is_whitespace) {
                target = Some(rules.heading(trimmed).map_err(fail)?);
                continue;
            }
            let Some(target) = target else {
                return Err(fail(format!(
                    "expected a heading before the first indented line, found \"{trimmed}\""
                )));
            };
            rules.entries(trimmed, target);
        }
        Ok(rules)
    }

    /// The rule that a heading begins; `None` for the fillers.
    fn heading(&mut self, line: &str) -> std::result::Result<Option<usize>, String> {
        let expected = || {
            format!(
                "expected \"fillers:\" or a heading such as \"site: problem before anatomy\", \
                 found \"{line}\""
            )
        };
        let (name, rest) = line.split_once(':').ok_or_else(expected)?;
        if name == "fillers" && rest.trim().is_empty() {
            return Ok(None);
        }
        let mut names = RelationName::ALL.into_iter();
        let found = names.find(|known| known.name() == name.trim());
        let Some(name) = found else {
            let known: Vec<&str> = RelationName::ALL.iter().map(|one| one.name()).collect();
            let known = known.join(", ");
            return Err(format!(
                "expected one of {known}, found \"{}\"",
                name.trim()
            ));
        };
        let mut rest = rest.trim();
        let (mut list, mut shared, mut given) = (List::One, false, false);
        for (option, set) in [
            (" if given", &mut given as &mut bool),
            (" of each", &mut shared),
        ] {
            if let Some(before) = rest.strip_suffix(option) {
                (rest, *set) = (before, true);
            }
        }
        for (option, of) in [(" in lists", List::All), (" in pairs", List::Pairs)] {
            if let Some(before) = rest.strip_suffix(option) {
                (rest, list) = (before, of);
            }
        }
        let parted = |word| rest.split_once(word);
        let (sources, targets, order) = match (parted(" before "), parted(" after ")) {
            (Some((one, two)), _) => (one, two, Order::Before),
            (None, Some((one, two))) => (one, two, Order::After),
            (None, None) => return Err(expected()),
        };
        let (sources, targets) = (groups(sources)?, groups(targets)?);
        let groups = match order {
            Order::Before => [sources, targets],
            Order::After => [targets, sources],
        };
        self.rules.push(Rule {
            name,
            order,
            list,
            shared,
            given,
            groups,
        });
        Ok(Some(self.rules.len() - 1))
    }

    /// Adds the entries of a line to a rule, or to the fillers.
    fn entries(&mut self, line: &str, target: Option<usize>) {
        for entry in split_entries(line) {
            // Quotes keep a comma or bracket in an entry.
            let entry = entry.replace('"', "");
            let words: Vec<String> = entry.split_whitespace().map(str::to_lowercase).collect();
            let entry = words.join(" ");
            match target {
                None => {
                    self.fillers.insert(entry);
                }
                Some(rule) => self.of.entry(entry).or_default().push(rule),
            }
        }
    }
}

/// The groups of a list.
fn groups(names: &str) -> std::result::Result<Vec<Group>, String> {
    let group = |name: &str| {
        let name = name.trim();
        Group::of_name(name).ok_or_else(|| {
            let known: Vec<&str> = Group::ALL.iter().map(|group| group.name()).collect();
            format!("expected one of {}, found \"{name}\"", known.join(", "))
        })
    };
    names.split(',').map(group).collect()
}
