//! What a row of combined codes asks of the text, and what the text says of a record.

use crate::Record;
use pel_text::attributes::{Attribute, AttributeName, Value};
use std::collections::BTreeSet;

/// The bytes behind a mention that are read for what it comes with.
const MOST_BEHIND: usize = 80;

/// A condition of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// One of these courses, each of which is one or more: acute and chronic.
    Course(Vec<Vec<&'static str>>),
    /// One of these severities.
    Severity(Vec<&'static str>),
    /// One of these stages, as [`stage_key`] writes them.
    Stage(Vec<&'static str>),
    /// One of these sides.
    Laterality(Vec<&'static str>),
    /// The mention, its name or its site has one of these phrases.
    Words(Vec<&'static str>),
    /// One of these phrases follows the mention.
    Next(Vec<&'static str>),
    /// It comes with a problem whose code begins so.
    With(Vec<&'static str>),
    /// A condition of a name that is not known, which never holds.
    Unknown,
}

/// The conditions of a cell such as `severity=mild course=acute+chronic`. Values may have blanks.
pub(super) fn parse(cell: &'static str) -> Vec<Condition> {
    let mut parts: Vec<&str> = Vec::new();
    let mut start = 0;
    for (at, _) in cell.match_indices(' ') {
        let rest = cell[at + 1..].trim_start_matches(|c: char| c.is_ascii_lowercase());
        if rest.starts_with('=') && !cell[at + 1..].starts_with('=') {
            parts.push(&cell[start..at]);
            start = at + 1;
        }
    }
    parts.push(&cell[start..]);
    parts.into_iter().map(condition).collect()
}

fn condition(text: &'static str) -> Condition {
    let (name, values) = text.split_once('=').unwrap_or((text, ""));
    let list = |by: char| values.split(by).map(str::trim).collect::<Vec<_>>();
    match name {
        "course" => {
            let all = values.split('|');
            Condition::Course(all.map(|one| one.split('+').collect()).collect())
        }
        "severity" => Condition::Severity(list('|')),
        "stage" => Condition::Stage(list('|')),
        "laterality" => Condition::Laterality(list('|')),
        "words" => Condition::Words(list('|')),
        "next" => Condition::Next(list('|')),
        "with" => Condition::With(list(',')),
        _ => Condition::Unknown,
    }
}

/// What the text says of a record.
#[derive(Debug)]
pub(super) struct Said {
    courses: BTreeSet<String>,
    severity: Option<String>,
    stage: Option<String>,
    side: Option<String>,
    /// The words of the mention, its long form and its name, with blanks around each.
    words: String,
    /// The words behind it.
    behind: String,
}

impl Said {
    /// What a text says of a record.
    pub(super) fn of(text: &str, record: &Record) -> Self {
        let normals = |name| record.attributes_named(name).filter_map(normal);
        let context = &record.context;
        let sole = |name| normal(record.sole_attribute(name)?);
        let severity = sole(AttributeName::Severity);
        let side = sole(AttributeName::Laterality);
        let is_silent = |name| record.attributes_named(name).next().is_none();
        let stages: BTreeSet<String> = normals(AttributeName::Stage)
            .filter_map(|stage| stage_key(&stage))
            .collect();
        let mention = pel_text::text_of(text, record.pieces()).unwrap_or_default();
        let name = record.decision.as_ref().map_or("", |named| &named.name);
        let long = record.read_as.as_deref().unwrap_or_default();
        let end = record.span.end;
        let behind = text.get(end..).unwrap_or_default();
        let behind: String = behind.chars().take(MOST_BEHIND).collect();
        let sentence = behind.split(['.', '\n', ';']).next().unwrap_or_default();
        Self {
            courses: normals(AttributeName::Course).collect(),
            severity: severity.or_else(|| {
                let said = context
                    .severity
                    .filter(|_| is_silent(AttributeName::Severity));
                said.map(|one| one.name().to_owned())
            }),
            stage: stages.first().filter(|_| stages.len() == 1).cloned(),
            side: side.or_else(|| {
                let said = context.laterality;
                let said = said.filter(|_| is_silent(AttributeName::Laterality));
                said.map(|one| one.name().to_owned())
            }),
            words: format!(" {} | {} | {} ", words(&mention), words(long), words(name)),
            behind: format!("{} ", words(sentence)),
        }
    }

    /// Adds the words of a site of the record.
    pub(super) fn add_site(&mut self, site: &str) {
        self.words += &format!("| {} ", words(site));
    }

    /// Whether a condition holds. `with` has the codes of what the record comes with.
    pub(super) fn fits(&self, condition: &Condition, with: &[String]) -> bool {
        let is = |said: &Option<String>, values: &[&str]| {
            said.as_deref().is_some_and(|said| values.contains(&said))
        };
        match condition {
            Condition::Course(all) => all
                .iter()
                .any(|one| one.iter().all(|course| self.courses.contains(*course))),
            Condition::Severity(values) => is(&self.severity, values),
            Condition::Stage(values) => is(&self.stage, values),
            Condition::Laterality(values) => is(&self.side, values),
            Condition::Words(phrases) => phrases
                .iter()
                .any(|phrase| self.words.contains(&format!(" {phrase} "))),
            Condition::Next(phrases) => phrases
                .iter()
                .any(|phrase| self.behind.starts_with(&format!("{phrase} "))),
            Condition::With(codes) => {
                let mut all = with.iter();
                all.any(|code| codes.iter().any(|begins| code.starts_with(begins)))
            }
            Condition::Unknown => false,
        }
    }
}

/// The normal form of an attribute as text.
fn normal(attribute: &Attribute) -> Option<String> {
    match &attribute.value {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

/// A stage in the form of the table: "IIIb" and "G3bA2" are "3b". `None` for a stage of albuminuria
/// alone.
fn stage_key(stage: &str) -> Option<String> {
    let lower = stage.trim().to_lowercase();
    let lower = match lower.strip_prefix('g') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => rest,
        _ => lower.as_str(),
    };
    let is_albumin = |text: &str| {
        let rest = text.strip_prefix('a');
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    if is_albumin(lower) {
        return None;
    }
    let roman = lower.trim_end_matches(|c: char| !matches!(c, 'i' | 'v'));
    const ROMAN: [&str; 6] = ["i", "ii", "iii", "iv", "v", "vi"];
    let number = ROMAN.iter().position(|one| *one == roman);
    if let Some(number) = number {
        return Some(format!("{}{}", number + 1, &lower[roman.len()..]));
    }
    let albumin = lower
        .char_indices()
        .find(|(at, _)| *at > 0 && is_albumin(&lower[*at..]));
    let end = albumin.map_or(lower.len(), |(at, _)| at);
    let end = lower[..end].find(['/', ' ']).unwrap_or(end);
    Some(lower[..end].to_owned())
}

/// The words of a text in lower case with blanks between them.
fn words(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The words between two records without attributes; `None` if a sentence or line ends there.
pub(super) fn between(text: &str, one: &Record, other: &Record) -> Option<String> {
    let (start, end) = (one.span.end, other.span.start);
    let gap = text
        .get(start..end)
        .filter(|gap| gap.len() <= MOST_BEHIND)?;
    if gap.contains(['\n', ';']) || gap.contains(". ") {
        return None;
    }
    let attributes = || one.attributes.iter().chain(&other.attributes);
    let bare = gap.char_indices().map(|(at, c)| {
        let at = start + at;
        let covered = attributes().any(|one| one.span.start <= at && at < one.span.end);
        if covered { ' ' } else { c }
    });
    Some(words(&bare.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_have_names_and_values_with_blanks() {
        assert_eq!(
            parse("words=end stage|late severity=mild course=acute+chronic"),
            [
                Condition::Words(vec!["end stage", "late"]),
                Condition::Severity(vec!["mild"]),
                Condition::Course(vec![vec!["acute", "chronic"]]),
            ]
        );
        assert_eq!(parse("with=N18,I50"), [Condition::With(vec!["N18", "I50"])]);
        assert_eq!(parse("color=red"), [Condition::Unknown]);
    }

    #[test]
    fn stages_of_several_forms_have_one_key() {
        for (stage, key) in [
            ("3b", "3b"),
            ("IIIb", "3b"),
            ("G3b", "3b"),
            ("G3bA2", "3b"),
            ("G4A3", "4"),
            ("IV", "4"),
            ("V", "5"),
            ("3", "3"),
            ("3a", "3a"),
            ("G3b/A2", "3b"),
            ("unstageable", "unstageable"),
            ("D", "d"),
        ] {
            assert_eq!(stage_key(stage).as_deref(), Some(key), "{stage}");
        }
        assert_eq!(stage_key("A2"), None);
        assert_eq!(stage_key("é"), Some("é".to_owned()));
    }
}
