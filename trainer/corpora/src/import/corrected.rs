//! Notes whose mentions someone has annotated or corrected, as a corpus and as notes with context.

use super::annotated::CorpusBuilder;
use super::shares::{Shares, folder_split};
use crate::corpus::{CorpusMention, Document};
use pel_artifacts::bundles;
use pel_io::outputs::{OutputFolder, write_line};
use pel_kb::error::{Context as _, Error, Result};
use pel_linker::bundle::{Bundle, Resolved};
use pel_terminologies::import::report::Report;
use pel_text::context::{Certainty, Context, Experiencer, Temporality};
use pel_text::{Offsets, Span};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Note on a mention of several fragments.
pub const FRAGMENTS: &str = "mention of several fragments (its extent is taken)";
/// Note on a mention with several concepts.
pub const SEVERAL: &str = "mention with several concepts (each of them is right)";
/// Note on a second annotation of a span.
pub const SAME_SPAN: &str = "annotation of a span that has one (joined with it)";
/// Note on an identifier that the bundle replaces.
pub const RETIRED: &str = "retired identifier (its successor is taken)";
/// Note on an identifier that the bundle does not have.
pub const OUTSIDE: &str = "concept outside of the bundle, beside one of it (kept)";

/// Mentions that an error lists.
const LISTED: usize = 5;

/// Kind of mentions without a concept in a report.
pub const NIL: &str = "mentions without a concept (NIL)";

/// A note with its annotated mentions.
#[derive(Clone, Debug)]
pub struct CorrectedNote {
    /// The path below its folder without extension, or its name.
    pub doc_id: String,
    /// The text.
    pub text: String,
    /// The mentions.
    pub mentions: Vec<CorrectedMention>,
    /// Its file, for the report.
    pub place: String,
}

/// An annotated mention.
#[derive(Clone, Debug)]
pub struct CorrectedMention {
    /// Its fragments in bytes, in text order.
    pub pieces: Vec<Span>,
    /// The right concepts, each as right as the others; none for NIL.
    pub ids: Vec<String>,
    /// Its semantic types.
    pub types: Vec<String>,
    /// What the text says of it.
    pub context: Context,
}

/// A line of a file of notes, as `pel evaluate --raw --notes` reads it. Offsets are code points.
#[derive(Serialize)]
struct NoteLine<'a> {
    doc_id: &'a str,
    text: &'a str,
    mentions: Vec<MentionLine>,
}

#[derive(Serialize)]
struct MentionLine {
    start: usize,
    end: usize,
    text: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    concept: Option<Vec<String>>,
    negated: bool,
    certainty: Certainty,
    temporality: Temporality,
    experiencer: Experiencer,
}

impl CorrectedNote {
    /// Joins annotations of one span and sorts the mentions by place.
    fn tidy(&mut self, report: &mut Report) {
        let mut joined: BTreeMap<Vec<Span>, CorrectedMention> = BTreeMap::new();
        for mention in std::mem::take(&mut self.mentions) {
            match joined.get_mut(&mention.pieces) {
                None => {
                    joined.insert(mention.pieces.clone(), mention);
                }
                Some(first) => {
                    report.note(SAME_SPAN, || self.place.clone());
                    add_each(&mut first.ids, mention.ids);
                    add_each(&mut first.types, mention.types);
                }
            }
        }
        self.mentions = joined.into_values().collect();
    }
}

fn add_each(own: &mut Vec<String>, others: Vec<String>) {
    for other in others {
        if !own.contains(&other) {
            own.push(other);
        }
    }
}

/// Checks the concepts of mentions against a bundle, a folder or a packed file. A retired
/// identifier becomes its successor. Of several concepts of a mention the bundle must have one.
///
/// # Errors
/// If the bundle cannot be read, or does not have the concepts of a mention.
pub fn check_concepts(
    notes: &mut [CorrectedNote],
    bundle: &Path,
    report: &mut Report,
) -> Result<()> {
    let place = || bundle.display().to_string();
    let opened = bundles::open_to_link(bundle)?;
    replace_retired(notes, &mut |id: &str| current(&opened, id), report).context(place)
}

/// The identifier of a concept, or of its successor; `None` if the bundle has neither.
fn current(bundle: &Bundle, id: &str) -> Result<Option<String>> {
    match bundle.resolve(id)? {
        Resolved::Concept(_) => Ok(Some(id.to_owned())),
        Resolved::Redirected { concept, .. } => Ok(Some(bundle.concepts.get(concept)?.id)),
        Resolved::Retired(_) | Resolved::Unknown => Ok(None),
    }
}

fn replace_retired(
    notes: &mut [CorrectedNote],
    current: &mut dyn FnMut(&str) -> Result<Option<String>>,
    report: &mut Report,
) -> Result<()> {
    let (mut count, mut listed) = (0_usize, Vec::new());
    for note in notes {
        for mention in &mut note.mentions {
            let (mut known, mut ids) = (0_usize, Vec::new());
            for id in &mention.ids {
                let now = current(id)?;
                known += usize::from(now.is_some());
                if now.as_ref().is_some_and(|now| now != id) {
                    report.note(RETIRED, || format!("{} {id}", note.place));
                }
                add_each(&mut ids, vec![now.unwrap_or_else(|| id.clone())]);
            }
            if known == 0 && !ids.is_empty() {
                count += 1;
                if listed.len() < LISTED {
                    let start = mention.pieces.first().map_or(0, |first| first.start);
                    let start = Offsets::new(&note.text).code_point(start);
                    listed.push(format!(
                        "{} at code point {start} of {}",
                        ids.join(", "),
                        note.place
                    ));
                }
            } else if known < mention.ids.len() {
                report.note(OUTSIDE, || format!("{} {}", note.place, ids.join(", ")));
            }
            mention.ids = ids;
        }
    }
    match count {
        0 => Ok(()),
        count => Err(Error::input(format!(
            "the bundle lacks the concepts of {}: {}{}",
            pel_io::terminal::counted(count, "mention"),
            listed.join("; "),
            if count > listed.len() { "; ..." } else { "" }
        ))),
    }
}

/// Writes notes as a corpus: `documents.jsonl`, `mentions.SPLIT.jsonl` for each split, and
/// `notes.SPLIT.jsonl`, which also has the context of the mentions.
///
/// # Errors
/// If shares are given for notes that are in folders of splits, two notes have one name, or the
/// output cannot be written.
pub fn write(
    mut notes: Vec<CorrectedNote>,
    shares: &Shares,
    output: &mut OutputFolder,
    report: &mut Report,
) -> Result<()> {
    let ids: BTreeSet<&str> = notes.iter().map(|note| note.doc_id.as_str()).collect();
    if ids.len() < notes.len() {
        let mut seen = BTreeSet::new();
        let twice = notes.iter().find(|note| !seen.insert(&note.doc_id));
        let (id, place) =
            twice.map_or(("", ""), |note| (note.doc_id.as_str(), note.place.as_str()));
        return Err(Error::input(format!(
            "{place}: expected notes of different names, found {id} twice; import a folder around \
             both"
        )));
    }
    let splits = match shares.any() {
        true if ids.iter().all(|id| folder_split(id).is_some()) => {
            return Err(Error::usage(
                "--dev, --test: expected no share for notes in folders train, dev and test, found \
                 one",
            ));
        }
        _ => shares.splits(&ids),
    };
    let splits: BTreeMap<String, &'static str> = splits
        .into_iter()
        .map(|(id, split)| (id.to_owned(), split))
        .collect();
    let mut builder = CorpusBuilder::default();
    let mut lines: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
    for (at, note) in notes.iter_mut().enumerate() {
        note.tidy(report);
        let Some(split) = splits.get(&note.doc_id).copied() else {
            continue;
        };
        builder.split(split);
        lines.entry(split).or_default().push(at);
        let document = Document {
            doc_id: note.doc_id.clone(),
            text: note.text.clone(),
            split: Some(split.to_owned()),
            domain: None,
        };
        builder.document(document, report, || note.place.clone());
        let offsets = Offsets::new(&note.text);
        for mention in &note.mentions {
            builder.mention(split, corpus_mention(note, mention, &offsets, report)?);
        }
    }
    builder.write(output, report)?;
    for (split, places) in lines {
        output.write(&format!("notes.{split}.jsonl"), |out| {
            for at in places {
                if let Some(note) = notes.get(at) {
                    write_line(out, &note_line(note)?)?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The extent of a mention with its text.
fn extent(note: &CorrectedNote, mention: &CorrectedMention) -> Result<(Span, String)> {
    let (first, last) = (mention.pieces.first(), mention.pieces.last());
    let span = first.zip(last).map_or(Span::new(0, 0), |(first, last)| {
        Span::new(first.start, last.end)
    });
    Ok((span, span.of(&note.text)?.to_owned()))
}

fn corpus_mention(
    note: &CorrectedNote,
    mention: &CorrectedMention,
    offsets: &Offsets<'_>,
    report: &mut Report,
) -> Result<CorpusMention> {
    let (span, text) = extent(note, mention)?;
    let example = || format!("{} {text:?}", note.place);
    if mention.pieces.len() > 1 {
        report.note(FRAGMENTS, example);
    }
    if mention.ids.len() > 1 {
        report.note(SEVERAL, example);
    }
    report.keep(NIL, usize::from(mention.ids.is_empty()));
    let mut ids = mention.ids.iter().cloned();
    let (id, other_ids) = (ids.next(), ids.collect());
    Ok(CorpusMention {
        doc_id: note.doc_id.clone(),
        start: offsets.code_point(span.start),
        end: offsets.code_point(span.end),
        text,
        id,
        other_ids,
        types: mention.types.clone(),
        ..CorpusMention::default()
    })
}

fn note_line(note: &CorrectedNote) -> Result<NoteLine<'_>> {
    let offsets = Offsets::new(&note.text);
    let line = |mention: &CorrectedMention| {
        let (span, text) = extent(note, mention)?;
        let Context {
            negated,
            certainty,
            temporality,
            experiencer,
            ..
        } = mention.context.clone();
        Ok(MentionLine {
            start: offsets.code_point(span.start),
            end: offsets.code_point(span.end),
            text,
            kind: mention.types.first().cloned(),
            concept: (!mention.ids.is_empty()).then(|| mention.ids.clone()),
            negated,
            certainty,
            temporality,
            experiencer,
        })
    };
    Ok(NoteLine {
        doc_id: &note.doc_id,
        text: &note.text,
        mentions: note.mentions.iter().map(line).collect::<Result<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A note with a mention of each list of identifiers.
    fn note(ids: &[&[&str]]) -> CorrectedNote {
        let mention = |ids: &&[&str]| CorrectedMention {
            pieces: vec![Span::new(3, 8)],
            ids: ids.iter().map(|id| (*id).to_owned()).collect(),
            types: Vec::new(),
            context: Context::default(),
        };
        CorrectedNote {
            doc_id: "a".to_owned(),
            text: "é fever".to_owned(),
            mentions: ids.iter().map(mention).collect(),
            place: "a.ann".to_owned(),
        }
    }

    /// A bundle with the concept NEW, which has replaced OLD.
    fn current(id: &str) -> Result<Option<String>> {
        Ok(["NEW", "OLD"].contains(&id).then(|| "NEW".to_owned()))
    }

    #[test]
    fn retired_identifiers_become_their_successors() {
        let mut report = Report::default();
        let mut notes = [note(&[&["NEW"], &["OLD", "NEW"], &["X", "OLD"], &[]])];
        replace_retired(&mut notes, &mut current, &mut report).expect("known");
        let ids: Vec<String> = notes[0]
            .mentions
            .iter()
            .map(|mention| mention.ids.join(" "))
            .collect();
        assert_eq!(ids, ["NEW", "NEW", "X NEW", ""]);
        assert_eq!([report.noted[RETIRED], report.noted[OUTSIDE]], [2, 1]);
    }

    #[test]
    fn mentions_of_unknown_concepts_are_listed() {
        let mut notes = [note(&[&["NEW"], &["X", "Y"], &["Z"]])];
        let error = replace_retired(&mut notes, &mut current, &mut Report::default())
            .expect_err("unknown")
            .to_string();
        assert_eq!(
            error,
            "the bundle lacks the concepts of 2 mentions: X, Y at code point 2 of \
             a.ann; Z at code point 2 of a.ann"
        );
        let mut many = vec![note(&[&["Z"]]); 7];
        let error = replace_retired(&mut many, &mut current, &mut Report::default())
            .expect_err("unknown")
            .to_string();
        assert!(
            error.contains("of 7 mentions") && error.ends_with("; ..."),
            "{error}"
        );
    }
}
