//! ZESHEL: every document is the page of a concept of its world; mentions have word offsets.

use super::source::{Linked, NO_MENTION, Source, file_of};
use crate::export::capabilities::ZESHEL_BLINK;
use pel_io::outputs::OutputFolder;
use pel_io::outputs::write_line;
use pel_kb::Concept;
use pel_kb::error::Result;
use pel_terminologies::import::concepts::single_spaced;
use pel_terminologies::import::report::Report;
use pel_text::Span;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// World of concepts without a source and documents without a domain.
pub const NO_WORLD: &str = "world";
/// Note on a concept that gets the name of its file as a source.
pub const GETS_WORLD: &str = "concept without a source, which gets the name of its file";
/// Note on a document that is not the page of a concept.
pub const BECOMES_PAGE: &str = "document that becomes a page, and so a concept";
/// Note on a document with the identifier of a concept with another text.
pub const RENAMED_DOCUMENT: &str = "document under another id, for a concept has it";
/// Note on a mention that begins or ends within a word.
pub const DIVIDED: &str =
    "mention that begins or ends within a word: the text is divided there by a space";
/// Note on a page whose document has another world.
pub const OTHER_WORLD: &str = "page whose domain is not its concept's source (the source stays)";

/// A line of `documents/{world}.json`.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    text: String,
    document_id: String,
}

/// A line of `mentions/{split}.json`.
#[derive(Serialize)]
struct Row<'a> {
    category: &'a str,
    text: String,
    end_index: usize,
    context_document_id: &'a str,
    label_document_id: &'a str,
    mention_id: String,
    corpus: &'a str,
    start_index: usize,
}

/// A document with mentions.
struct Context {
    text: Divided,
    /// Identifier and world of the page, once known.
    page: Option<(String, String)>,
}

/// Writes `documents/{world}.json` and `mentions/{split}.json`; `dev` is called `val`.
///
/// # Errors
/// If the output cannot be written, or two splits have the same file name.
pub fn write(source: &Source, output: &mut OutputFolder, report: &mut Report) -> Result<()> {
    let splits = source.linked(report);
    let mut borders: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for linked in splits.iter().flatten() {
        let of_document = borders.entry(&linked.document.doc_id).or_default();
        let within = within_words(&linked.document.text, linked.span());
        if !within.is_empty() {
            let mention = &linked.placed.mention;
            report.note(DIVIDED, || {
                format!(
                    "{} {}..{} {:?}",
                    mention.doc_id, mention.start, mention.end, mention.text
                )
            });
        }
        of_document.extend(within);
    }
    let mut contexts: BTreeMap<&str, Context> = BTreeMap::new();
    for document in &source.documents {
        if let Some(borders) = borders.get(document.doc_id.as_str()) {
            contexts.insert(
                &document.doc_id,
                Context {
                    text: Divided::new(&document.text, borders),
                    page: None,
                },
            );
        }
    }
    let worlds = pages(source, &mut contexts, report);
    for (world, pages) in &worlds {
        output.write(&format!("documents/{world}.json"), |out| {
            pages.iter().try_for_each(|page| write_line(out, page))
        })?;
    }
    let mut number = 0;
    for ((name, split), mentions) in source
        .split_files("val")?
        .iter()
        .zip(&source.splits)
        .zip(&splits)
    {
        output.write(&format!("mentions/{name}.json"), |out| {
            for linked in mentions {
                if let Some(row) = row(linked, &contexts, number) {
                    number += 1;
                    ZESHEL_BLINK.mention(&linked.placed.mention, report);
                    report.keep(&format!("mentions ({})", split.name), 1);
                    write_line(out, &row)?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Counts a concept of ZESHEL or BLINK; returns the name of its world, or `none` without a source.
pub fn world_of(concept: &Concept, none: &str, report: &mut Report) -> String {
    ZESHEL_BLINK.concept(concept, report);
    report.keep("concepts", 1);
    if concept.sources.is_empty() {
        report.note(GETS_WORLD, || concept.id.clone());
    }
    file_of(concept.sources.first().map(String::as_str), none, report)
}

/// The pages of each world: concepts first, then documents that are no concepts.
fn pages<'a>(
    source: &'a Source,
    contexts: &mut BTreeMap<&str, Context>,
    report: &mut Report,
) -> BTreeMap<String, Vec<Page<'a>>> {
    let mut worlds: BTreeMap<String, Vec<Page<'a>>> = BTreeMap::new();
    let documents: BTreeMap<&str, _> = source
        .documents
        .iter()
        .map(|one| (one.doc_id.as_str(), one))
        .collect();
    let mut are_pages: BTreeSet<&str> = BTreeSet::new();
    for (_, concept) in source.kb.iter() {
        let world = world_of(concept, NO_WORLD, report);
        let definition = concept.definition.as_deref().unwrap_or_default();
        // Concepts have single spaces, pages may have several.
        let same = |text: &str| single_spaced(text) == single_spaced(definition);
        let mut text = definition.to_owned();
        if let Some(document) = documents
            .get(concept.id.as_str())
            .filter(|document| same(&document.text))
        {
            are_pages.insert(&document.doc_id);
            if document
                .domain
                .as_ref()
                .is_some_and(|domain| Some(domain) != concept.sources.first())
            {
                report.note(OTHER_WORLD, || document.doc_id.clone());
            }
            text = document.text.clone();
            if let Some(context) = contexts.get_mut(document.doc_id.as_str()) {
                text = context.text.text.clone();
                context.page = Some((concept.id.clone(), world.clone()));
                report.keep("documents", 1);
            }
        }
        let page = Page {
            title: &concept.name,
            text,
            document_id: concept.id.clone(),
        };
        worlds.entry(world).or_default().push(page);
    }
    for document in source
        .documents
        .iter()
        .filter(|document| !are_pages.contains(document.doc_id.as_str()))
    {
        let Some(context) = contexts.get_mut(document.doc_id.as_str()) else {
            report.skip(NO_MENTION, || document.doc_id.clone());
            continue;
        };
        report.note(BECOMES_PAGE, || document.doc_id.clone());
        report.keep("documents", 1);
        let mut id = document.doc_id.clone();
        while source.kb.find(&id).is_some()
            || id != document.doc_id && documents.contains_key(id.as_str())
        {
            id.insert_str(0, "document ");
        }
        if id != document.doc_id {
            report.note(RENAMED_DOCUMENT, || format!("{} as {id}", document.doc_id));
        }
        let world = file_of(document.domain.as_deref(), NO_WORLD, report);
        let page = Page {
            title: &document.doc_id,
            text: context.text.text.clone(),
            document_id: id.clone(),
        };
        context.page = Some((id, world.clone()));
        worlds.entry(world).or_default().push(page);
    }
    worlds
}

fn row<'a>(
    linked: &Linked<'a>,
    contexts: &'a BTreeMap<&str, Context>,
    number: usize,
) -> Option<Row<'a>> {
    let context = contexts.get(linked.document.doc_id.as_str())?;
    let (id, world) = context.page.as_ref()?;
    let (text, start_index, end_index) = context.text.words(linked.span())?;
    Some(Row {
        category: category(&text, &linked.concept.name),
        text,
        end_index,
        context_document_id: id,
        label_document_id: &linked.concept.id,
        mention_id: format!("{number:016X}"),
        corpus: world,
        start_index,
    })
}

/// The lexical overlap of a mention with its concept's title (ZESHEL paper, section 3).
fn category(mention: &str, title: &str) -> &'static str {
    let (mention, title) = (mention.to_lowercase(), title.to_lowercase());
    match title.strip_prefix(&mention).map(str::trim) {
        Some("") => "HIGH_OVERLAP",
        Some(phrase) if phrase.starts_with('(') && phrase.ends_with(')') => "MULTIPLE_CATEGORIES",
        _ if title.contains(&mention) => "AMBIGUOUS_SUBSTRING",
        _ => "LOW_OVERLAP",
    }
}

/// The ends of a span that lie within a word.
fn within_words(text: &str, span: Span) -> Vec<usize> {
    let is_within = |at: &usize| {
        let before = text.get(..*at).and_then(|left| left.chars().next_back());
        let after = text.get(*at..).and_then(|right| right.chars().next());
        before
            .zip(after)
            .is_some_and(|(before, after)| !before.is_whitespace() && !after.is_whitespace())
    };
    [span.start, span.end]
        .into_iter()
        .filter(is_within)
        .collect()
}

/// A text with inserted spaces, and the starts of its words.
struct Divided {
    text: String,
    borders: Vec<usize>,
    words: Vec<usize>,
}

impl Divided {
    fn new(text: &str, borders: &BTreeSet<usize>) -> Self {
        let (mut divided, mut from) = (String::with_capacity(text.len() + borders.len()), 0);
        for border in borders {
            divided.push_str(text.get(from..*border).unwrap_or_default());
            divided.push(' ');
            from = *border;
        }
        divided.push_str(text.get(from..).unwrap_or_default());
        let begin = divided.as_ptr() as usize;
        let words = divided
            .split_whitespace()
            .map(|word| word.as_ptr() as usize - begin)
            .collect();
        Self {
            text: divided,
            borders: borders.iter().copied().collect(),
            words,
        }
    }

    /// The words of a span of the original text, and the indices of the first and the last.
    fn words(&self, span: Span) -> Option<(String, usize, usize)> {
        let start = span.start + self.borders.partition_point(|border| *border <= span.start);
        let end = span.end + self.borders.partition_point(|border| *border < span.end);
        let first = self.words.binary_search(&start).ok()?;
        let last = self
            .words
            .partition_point(|word| *word < end)
            .checked_sub(1)?;
        Some((single_spaced(self.text.get(start..end)?), first, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_after_inserting_spaces() {
        let text = "non-été (fever), hot";
        let spans = ["été", "fever", "hot", "non-été (fever)"].map(|part| {
            let start = text.find(part).expect("there");
            Span::new(start, start + part.len())
        });
        let borders: BTreeSet<usize> = spans
            .iter()
            .flat_map(|span| within_words(text, *span))
            .collect();
        let divided = Divided::new(text, &borders);
        assert_eq!(divided.text, "non- été ( fever ) , hot");
        let words = spans.map(|span| divided.words(span).expect("whole words"));
        let expected = [
            ("été", 1, 1),
            ("fever", 3, 3),
            ("hot", 6, 6),
            ("non- été ( fever )", 0, 4),
        ]
        .map(|(text, first, last)| (text.to_owned(), first, last));
        assert_eq!(words, expected);
    }

    #[test]
    fn categories_follow_the_paper() {
        for (mention, title, expected) in [
            ("fever", "Fever", "HIGH_OVERLAP"),
            ("Fever", "Fever (episode)", "MULTIPLE_CATEGORIES"),
            ("fever", "Yellow fever", "AMBIGUOUS_SUBSTRING"),
            ("heat", "Fever", "LOW_OVERLAP"),
        ] {
            assert_eq!(category(mention, title), expected, "{mention} {title}");
        }
    }
}
