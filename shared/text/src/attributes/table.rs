//! Tests of the rules by tables: a line of a note, and the attributes of its mentions.
//!
//! A row is a line and what is expected, with a tab between. `\n` in a line is a line end. Expected
//! attributes, with " ; " between, are "MENTION | KIND | NAME | WORDS | NORMAL [| prior]"; without a kind the
//! mention is a drug. "MENTION | -" has none. "words@2" is the second occurrence of words. The words of
//! an indication are a mention of a problem.

use super::*;

/// The rows with drugs.
const SIGS: &str = include_str!("tables/sigs.tsv");
/// The rows with dates, onsets, durations and courses.
const DATES: &str = include_str!("tables/dates.tsv");
/// The rows with results of tests and vital signs.
const RESULTS: &str = include_str!("tables/results.tsv");

/// The rows with stages, grades and classes.
const STAGES: &str = include_str!("tables/stages.tsv");

/// The bytes of words in a text. "words@2" is the second occurrence.
fn place(text: &str, words: &str) -> Option<Span> {
    let (plain, nth) = match words.rsplit_once('@') {
        Some((plain, nth)) if !text.contains(words) => (plain, nth.parse().ok()?),
        _ => (words, 1usize),
    };
    let (start, found) = text.match_indices(plain).nth(nth.checked_sub(1)?)?;
    Some(Span::new(start, start + found.len()))
}

/// A mention's first byte with an attribute as words.
type Fact = (usize, String);

fn fact(mention: usize, name: &str, span: Span, text: &str, value: &str, prior: bool) -> Fact {
    let words = span.of(text).unwrap_or_default();
    let prior = if prior { "prior " } else { "" };
    let at = span.start;
    (
        mention,
        format!("{prior}{name} {words:?} at {at} = {value}"),
    )
}

/// A normal form with the fields of a timing in one order.
fn shown(value: Option<&Value>) -> String {
    match value {
        None => "null".to_owned(),
        Some(Value::Text(text)) => text.clone(),
        Some(timing) => serde_json::to_value(timing).unwrap().to_string(),
    }
}

/// What is missing and what is too much in a row; `None` if the row cannot be read.
fn differences(text: &str, expected: &str) -> Option<(Vec<Fact>, Vec<Fact>)> {
    let mut mentions: Vec<(Span, Kind)> = Vec::new();
    let mut others: Vec<Span> = Vec::new();
    let mut facts: Vec<Fact> = Vec::new();
    for entry in expected.split(" ; ") {
        let mut fields = entry.split(" | ").map(str::trim);
        let span = place(text, fields.next()?)?;
        let mut name = fields.next()?;
        let kind = Kind::of_name(name);
        if kind.is_some() {
            name = fields.next()?;
        }
        let mention = (span, kind.unwrap_or(Kind::Drug));
        if !mentions.contains(&mention) {
            mentions.push(mention);
        }
        if name == "-" {
            continue;
        }
        let words = place(text, fields.next()?)?;
        let value = fields.next()?;
        let value = match value.starts_with("{\"") {
            true => {
                let value: serde_json::Value = serde_json::from_str(value).ok()?;
                value.to_string()
            }
            false => value.to_owned(),
        };
        let prior = fields.next() == Some("prior");
        if name == "indication" && !others.contains(&words) {
            others.push(words);
        }
        facts.push(fact(span.start, name, words, text, &value, prior));
    }
    others.retain(|span| !mentions.iter().any(|(one, _)| one.overlaps(span)));
    mentions.extend(others.into_iter().map(|span| (span, Kind::Problem)));
    let spans: Vec<[Span; 1]> = mentions.iter().map(|(span, _)| [*span]).collect();
    let anchors: Vec<Anchor> = spans
        .iter()
        .zip(&mentions)
        .map(|(pieces, (_, kind))| Anchor {
            pieces,
            kind: *kind,
        })
        .collect();
    let found = AttributeRules::english().find(text, &anchors);
    let known = |start: usize| facts.iter().any(|(at, _)| *at == start) || expected.contains("| -");
    let mut found_facts: Vec<Fact> = Vec::new();
    for ((span, _), attributes) in mentions.iter().zip(&found) {
        if !known(span.start) {
            continue;
        }
        found_facts.extend(attributes.iter().map(|one| {
            let value = shown(one.value.as_ref());
            fact(
                span.start,
                one.name.name(),
                one.span,
                text,
                &value,
                one.prior,
            )
        }));
    }
    let only = |these: &[Fact], those: &[Fact]| {
        let only = these.iter().filter(|fact| !those.contains(fact));
        only.cloned().collect::<Vec<_>>()
    };
    Some((only(&facts, &found_facts), only(&found_facts, &facts)))
}

/// Runs each row; lists the wrong ones, and fails if more than `wrong` are.
fn check(table: &str, names: &[&str], wrong: usize) {
    let of = |facts: Vec<Fact>| {
        let named = |(_, fact): &Fact| {
            let name = fact.trim_start_matches("prior ").split(' ').next();
            name.is_some_and(|name| names.contains(&name))
        };
        facts.into_iter().filter(named).collect::<Vec<_>>()
    };
    let (mut rows, mut failed) = (0usize, 0usize);
    for row in table.lines().skip(1) {
        let (line, expected) = row.split_once('\t').unwrap();
        let text = line.replace("\\n", "\n");
        let (missed, spurious) = differences(&text, expected).expect(row);
        let (missed, spurious) = (of(missed), of(spurious));
        rows += 1;
        if !missed.is_empty() || !spurious.is_empty() {
            failed += 1;
            println!("{text:?}\n    missed {missed:?}\n    spurious {spurious:?}");
        }
    }
    println!("{} of {rows} rows right", rows - failed);
    assert!(failed <= wrong, "{failed} of {rows} rows are wrong");
}

#[test]
fn sigs_are_read() {
    let names = [
        "strength",
        "dose",
        "form",
        "route",
        "frequency",
        "duration",
        "prn",
        "indication",
        "status",
    ];
    check(SIGS, &names, 2);
}

#[test]
fn dates_are_read() {
    check(DATES, &["date", "onset", "duration", "course"], 2);
}

#[test]
fn results_are_read() {
    check(
        RESULTS,
        &["value", "comparator", "unit", "flag", "range"],
        0,
    );
}

#[test]
fn stages_are_read() {
    check(STAGES, &["stage", "severity", "laterality"], 0);
}
