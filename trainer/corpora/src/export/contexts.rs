//! Formats with one line per mention and its context: BLINK and WikilinksNED.

use super::source::{Linked, NO_MENTION, Source};
use super::zeshel::world_of;
use crate::export::capabilities::{Capabilities, WIKILINKS, ZESHEL_BLINK};
use crate::import::annotated::join_context;
use pel_io::outputs::OutputFolder;
use pel_io::outputs::write_line;
use pel_kb::Concept;
use pel_kb::error::Result;
use pel_terminologies::import::concepts::single_spaced;
use pel_terminologies::import::report::Report;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// File of concepts without a source, named as in BLINK's Wikipedia data.
const NO_WORLD: &str = "entity";
/// Note on a mention whose neighbouring white space is not a single space.
pub const SPACED: &str = "mention whose context reads back with other white space";
/// Note on a document with several mentions.
pub const SEVERAL_DOCUMENTS: &str = "document that reads back as several, one for each mention";
/// Reason for skipping a concept without mentions in a format that has no concept table.
pub const NOT_MENTIONED: &str = "concept that no mention names (no place for it)";
/// Note on a concept whose name has an underscore, which WikilinksNED reads as a space.
pub const UNDERSCORE: &str = "concept whose name reads back with a space for `_`";

/// A line of BLINK's mentions.
#[derive(Serialize)]
struct BlinkRow<'a> {
    context_left: &'a str,
    mention: &'a str,
    context_right: &'a str,
    label_title: &'a str,
    /// The description.
    label: &'a str,
    label_id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    world: Option<&'a str>,
}

/// A line of BLINK's entities.
#[derive(Serialize)]
struct BlinkEntity<'a> {
    text: &'a str,
    idx: &'a str,
    title: &'a str,
    entity: &'a str,
}

/// A line of WikilinksNED.
#[derive(Serialize)]
struct WikilinksRow<'a> {
    ex_id: String,
    left_context: Vec<&'a str>,
    word: &'a str,
    right_context: Vec<&'a str>,
    #[serde(rename = "wikiId")]
    id: Value,
    y_title: String,
}

/// An identifier as a JSON number if its canonical decimal form is equal.
fn number_or_text(id: &str) -> Value {
    match id.parse::<i64>() {
        Ok(number) if number.to_string() == id => Value::from(number),
        _ => Value::from(id),
    }
}

/// The text before a mention, the mention and the text after it, trimmed.
fn cut<'a>(linked: &Linked<'a>) -> [&'a str; 3] {
    let (text, span) = (linked.document.text.as_str(), linked.span());
    let parts = [
        text.get(..span.start),
        text.get(span.start..span.end),
        text.get(span.end..),
    ];
    parts.map(|part| part.unwrap_or_default().trim())
}

/// Writes `entities/{world}.jsonl` and one file per split; `dev` is called `valid`.
///
/// # Errors
/// If the output cannot be written, or two splits have the same file name.
pub fn blink(source: &Source, output: &mut OutputFolder, report: &mut Report) -> Result<()> {
    let mut worlds: BTreeMap<String, Vec<&Concept>> = BTreeMap::new();
    for (_, concept) in source.kb.iter() {
        let world = world_of(concept, NO_WORLD, report);
        worlds.entry(world).or_default().push(concept);
    }
    for (world, concepts) in &worlds {
        output.write(&format!("entities/{world}.jsonl"), |out| {
            concepts.iter().try_for_each(|concept| {
                let Concept {
                    id,
                    name,
                    definition,
                    ..
                } = concept;
                let text = definition.as_deref().unwrap_or_default();
                write_line(
                    out,
                    &BlinkEntity {
                        text,
                        idx: id,
                        title: name,
                        entity: name,
                    },
                )
            })
        })?;
    }
    rows(
        source,
        "valid",
        ZESHEL_BLINK,
        output,
        report,
        |linked, _| {
            let [context_left, mention, context_right] = cut(linked);
            let row = BlinkRow {
                context_left,
                mention,
                context_right,
                label_title: &linked.concept.name,
                label: linked.concept.definition.as_deref().unwrap_or_default(),
                label_id: number_or_text(&linked.concept.id),
                world: linked.document.domain.as_deref(),
            };
            (row, join_context(context_left, mention, context_right).0)
        },
    )
}

/// Writes one file per split.
///
/// # Errors
/// If the output cannot be written, or two splits have the same file name.
pub fn wikilinks(source: &Source, output: &mut OutputFolder, report: &mut Report) -> Result<()> {
    let linked = source.linked(&mut Report::default());
    let mentioned: BTreeSet<&str> = linked
        .iter()
        .flatten()
        .map(|linked| linked.concept.id.as_str())
        .collect();
    for (_, concept) in source.kb.iter() {
        if !mentioned.contains(concept.id.as_str()) {
            report.skip(NOT_MENTIONED, || concept.id.clone());
            continue;
        }
        WIKILINKS.concept(concept, report);
        report.keep("concepts", 1);
        if concept.name.contains('_') {
            report.note(UNDERSCORE, || format!("{} {}", concept.id, concept.name));
        }
    }
    rows(source, "dev", WIKILINKS, output, report, |linked, id| {
        let [left, word, right] = cut(linked);
        let row = WikilinksRow {
            ex_id: id,
            left_context: left.split_whitespace().collect(),
            word,
            right_context: right.split_whitespace().collect(),
            id: number_or_text(&linked.concept.id),
            y_title: linked.concept.name.replace(' ', "_"),
        };
        (
            row,
            join_context(&single_spaced(left), word, &single_spaced(right)).0,
        )
    })
}

/// Writes a line per mention. `row` gives it, and the text that an import would restore.
fn rows<'a, T: Serialize>(
    source: &'a Source,
    dev: &str,
    capabilities: Capabilities,
    output: &mut OutputFolder,
    report: &mut Report,
    row: impl Fn(&Linked<'a>, String) -> (T, String),
) -> Result<()> {
    let splits = source.linked(report);
    for ((name, split), mentions) in source
        .split_files(dev)?
        .iter()
        .zip(&source.splits)
        .zip(&splits)
    {
        output.write(&format!("{name}.jsonl"), |out| {
            for (number, linked) in mentions.iter().enumerate() {
                let mention = &linked.placed.mention;
                let (row, text) = row(linked, format!("{name}-{number}"));
                if text != linked.document.text {
                    report.note(SPACED, || {
                        format!("{} {}..{}", mention.doc_id, mention.start, mention.end)
                    });
                }
                capabilities.mention(mention, report);
                report.keep(&format!("mentions ({})", split.name), 1);
                write_line(out, &row)?;
            }
            Ok(())
        })?;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for linked in splits.iter().flatten() {
        *counts.entry(&linked.document.doc_id).or_default() += 1;
    }
    for document in &source.documents {
        match counts.get(document.doc_id.as_str()) {
            None => report.skip(NO_MENTION, || document.doc_id.clone()),
            Some(count) => {
                report.keep("documents", 1);
                capabilities.document(document, report);
                if *count > 1 {
                    report.note(SEVERAL_DOCUMENTS, || {
                        format!("{} as {count}", document.doc_id)
                    });
                }
            }
        }
    }
    Ok(())
}
