//! Notes whose mentions someone has annotated or corrected, as a corpus and as notes with context.

use super::annotated::CorpusBuilder;
use super::shares::{Shares, folder_split};
use crate::data::corpus::{CorpusMention, Document};
use crate::io::outputs::{OutputFolder, write_line};
use pel_shared::error::{Error, Result};
use pel_shared::kb::import::report::Report;
use pel_shared::text::context::{Certainty, Context, Experiencer, Temporality};
use pel_shared::text::{Offsets, Span};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Note on a mention of several fragments.
pub const FRAGMENTS: &str = "mention of several fragments (its extent is taken)";
/// Note on a mention with several concepts.
pub const SEVERAL: &str = "mention with several concepts (each of them is right)";
/// Note on a second annotation of a span.
pub const SAME_SPAN: &str = "annotation of a span that has one (joined with it)";
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
            "{place}: expected notes of different names, found {id} twice; import a folder around both"
        )));
    }
    let splits = match shares.any() {
        true if ids.iter().all(|id| folder_split(id).is_some()) => {
            return Err(Error::usage(
                "--dev, --test: expected no share for notes in folders train, dev and test, found one",
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
