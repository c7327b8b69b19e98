//! The annotated documents to measure on: a split of a corpus, or notes in one file.

use super::counts::{Annotated, Unit, values_of};
use pel_corpora::corpus::{Corpus, MISPLACED, span_of};
use pel_io::files::for_each_line;
use pel_kb::ConceptId;
use pel_kb::error::{Error, Result};
use pel_terminologies::import::records::record;
use pel_terminologies::import::report::Report;
use pel_text::Offsets;
use pel_text::context::{Certainty, Context, Experiencer, Temporality};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where the annotated documents are.
#[derive(Clone, Debug)]
pub enum Source {
    /// A split of a corpus folder.
    Corpus {
        /// The folder.
        folder: PathBuf,
        /// The split.
        split: String,
    },
    /// A JSONL file with a note a line.
    Notes(PathBuf),
}

/// A text with its annotated mentions.
#[derive(Clone, Debug)]
pub struct AnnotatedText {
    /// Its name in messages.
    pub name: String,
    /// The text.
    pub text: String,
    /// Its mentions, in the order of the file.
    pub annotated: Vec<Annotated>,
}

/// The documents of a source.
#[derive(Clone, Debug)]
pub struct AnnotatedTexts {
    /// The documents, with or without mentions.
    pub documents: Vec<AnnotatedText>,
    /// What counts once.
    pub unit: Unit,
    /// Mentions that name a concept, whether the knowledge base has it or not.
    pub with_concept: usize,
    /// Composite mentions, and the number of their parts.
    pub composite: [usize; 2],
    /// Records that were skipped, with reasons.
    pub skipped: Report,
}

/// A line of a file of notes. Unknown fields are ignored.
#[derive(Debug, Deserialize)]
struct Note {
    doc_id: String,
    text: String,
    #[serde(default)]
    mentions: Vec<NoteMention>,
}

/// A mention of a note. Offsets are code points.
#[derive(Debug, Deserialize)]
struct NoteMention {
    start: usize,
    end: usize,
    text: String,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// The right concepts; `None` if there is none.
    #[serde(default)]
    concept: Option<Vec<String>>,
    /// `None` if the context was not annotated.
    negated: Option<bool>,
    #[serde(default)]
    certainty: Certainty,
    #[serde(default)]
    temporality: Temporality,
    #[serde(default)]
    experiencer: Experiencer,
}

impl NoteMention {
    fn context(&self) -> Option<BTreeSet<&'static str>> {
        Some(values_of(&Context {
            negated: self.negated?,
            certainty: self.certainty,
            temporality: self.temporality,
            experiencer: self.experiencer,
            ..Context::default()
        }))
    }
}

impl Source {
    /// The path of the folder or file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Corpus { folder, .. } => folder,
            Self::Notes(file) => file,
        }
    }

    /// The split, if there is one.
    pub fn split(&self) -> Option<&str> {
        match self {
            Self::Corpus { split, .. } => Some(split),
            Self::Notes(_) => None,
        }
    }

    /// Reads the documents. `resolve` finds the concept of an identifier in the knowledge base.
    ///
    /// # Errors
    /// If a file is missing or cannot be read, or there is no document. An invalid line is named
    /// with file, line and field. Mentions that do not match their document are counted and
    /// skipped.
    pub fn read(
        &self,
        resolve: &dyn Fn(&str) -> Result<Option<ConceptId>>,
    ) -> Result<AnnotatedTexts> {
        let read = match self {
            Self::Corpus { folder, split } => read_corpus(folder, split, resolve)?,
            Self::Notes(file) => read_notes(file, resolve)?,
        };
        if read.documents.is_empty() {
            let what = match self {
                Self::Corpus { split, .. } => format!("one document of the split {split}"),
                Self::Notes(_) => "one note".to_owned(),
            };
            return Err(Error::input(format!(
                "{}: there is not {what}",
                self.path().display()
            )));
        }
        Ok(read)
    }
}

/// The concepts that the knowledge base has.
fn known<'a>(
    ids: impl Iterator<Item = &'a str>,
    resolve: &dyn Fn(&str) -> Result<Option<ConceptId>>,
) -> Result<BTreeSet<ConceptId>> {
    let mut known = BTreeSet::new();
    for id in ids {
        known.extend(resolve(id)?);
    }
    Ok(known)
}

fn read_corpus(
    folder: &Path,
    split: &str,
    resolve: &dyn Fn(&str) -> Result<Option<ConceptId>>,
) -> Result<AnnotatedTexts> {
    let Corpus {
        documents,
        mentions,
        report,
    } = Corpus::read(folder, split)?;
    let mut read = AnnotatedTexts {
        documents: documents
            .into_iter()
            .map(|document| AnnotatedText {
                name: document.doc_id,
                text: document.text,
                annotated: Vec::new(),
            })
            .collect(),
        unit: Unit::Span,
        with_concept: 0,
        composite: [0, 0],
        skipped: report,
    };
    for placed in mentions {
        let mention = &placed.mention;
        read.with_concept += usize::from(mention.ids().next().is_some());
        let mut parts = Vec::new();
        if mention.parts.len() > 1 {
            for part in &mention.parts {
                parts.push(known(part.iter().map(String::as_str), resolve)?);
            }
            read.composite[0] += 1;
            read.composite[1] += parts.len();
        }
        let annotated = Annotated {
            span: placed.span,
            concepts: known(mention.ids(), resolve)?,
            parts,
            types: match mention.types.is_empty() {
                true => mention.type_ids.iter().cloned().collect(),
                false => mention.types.iter().cloned().collect(),
            },
            context: None,
        };
        if let Some(document) = read.documents.get_mut(placed.document) {
            document.annotated.push(annotated);
        }
    }
    Ok(read)
}

fn read_notes(
    file: &Path,
    resolve: &dyn Fn(&str) -> Result<Option<ConceptId>>,
) -> Result<AnnotatedTexts> {
    let mut read = AnnotatedTexts {
        documents: Vec::new(),
        unit: Unit::Mention,
        with_concept: 0,
        composite: [0, 0],
        skipped: Report::default(),
    };
    for_each_line(file, |number, line| {
        if line.trim().is_empty() {
            return Ok(());
        }
        let note: Note = record(line)?;
        let offsets = Offsets::new(&note.text);
        let mut annotated = Vec::with_capacity(note.mentions.len());
        for mention in &note.mentions {
            let NoteMention {
                start, end, text, ..
            } = mention;
            let found = span_of(&note.text, &offsets, *start, *end);
            let Some((span, _)) = found.filter(|(_, found)| found == text) else {
                let found = found.map_or("nothing".to_owned(), |(_, found)| format!("{found:?}"));
                read.skipped.skip(MISPLACED, || {
                    format!(
                        "{}:{number} document {} {start}..{end}: expected {text:?}, found {found}",
                        file.display(),
                        note.doc_id
                    )
                });
                continue;
            };
            let ids = mention.concept.iter().flatten().map(String::as_str);
            read.with_concept += usize::from(ids.clone().next().is_some());
            annotated.push(Annotated {
                span,
                concepts: known(ids, resolve)?,
                parts: Vec::new(),
                types: mention.kind.iter().cloned().collect(),
                context: mention.context(),
            });
        }
        read.documents.push(AnnotatedText {
            name: note.doc_id,
            text: note.text,
            annotated,
        });
        Ok(())
    })?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_text::Span;

    /// "D1" is in the knowledge base, and the retired "OLD1" stands for it.
    fn resolve(id: &str) -> Result<Option<ConceptId>> {
        Ok(match id {
            "D1" | "OLD1" => Some(ConceptId(1)),
            "D2" => Some(ConceptId(2)),
            _ => None,
        })
    }

    fn notes(lines: &str) -> Result<AnnotatedTexts> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("notes.jsonl");
        std::fs::write(&file, lines).expect("written");
        Source::Notes(file).read(&resolve)
    }

    #[test]
    fn notes_are_read_with_known_concepts() {
        // "😷" is one code point and four bytes.
        let read = notes(
            r#"{"doc_id":"a","text":"😷 fever, cough","mentions":[{"start":2,"end":7,"text":"fever","type":"problem","concept":["OLD1","D1","X"],"negated":true},{"start":9,"end":14,"text":"cough","type":"problem","concept":null},{"start":1,"end":6,"text":"fever","concept":["D2"]}]}

{"doc_id":"b","text":"","mentions":[]}"#,
        )
        .expect("readable");
        let [first, empty] = &read.documents[..] else {
            panic!("{read:?}")
        };
        let [fever, cough] = &first.annotated[..] else {
            panic!("{first:?}")
        };
        assert_eq!(
            (fever.span, &fever.concepts),
            (Span::new(5, 10), &BTreeSet::from([ConceptId(1)]))
        );
        assert_eq!(fever.types, BTreeSet::from(["problem".to_owned()]));
        assert!(cough.concepts.is_empty() && empty.annotated.is_empty());
        assert_eq!(
            (
                read.unit,
                read.with_concept,
                read.skipped.skipped(MISPLACED)
            ),
            (Unit::Mention, 1, 1)
        );
    }

    #[test]
    fn error_of_notes_names_line_and_field() {
        let say = |lines: &str| notes(lines).expect_err("bad").to_string();
        let message = say("{\"doc_id\":\"a\",\"text\":\"\"}\n{\"doc_id\":\"b\",\"text\":7}");
        assert!(
            message.contains("notes.jsonl: line 2: field `text`"),
            "{message}"
        );
        assert!(say("\n").ends_with("there is not one note"));
    }

    #[test]
    fn corpus_mentions_keep_all_concepts_and_types() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("written");
        };
        write(
            "documents.jsonl",
            "{\"doc_id\":\"a\",\"text\":\"fever\"}\n{\"doc_id\":\"b\",\"text\":\"\"}\n",
        );
        write(
            "mentions.dev.jsonl",
            r#"{"doc_id":"a","start":0,"end":5,"text":"fever","id":"X","kb_ids":["D1","D2"],"tui":"T184"}"#,
        );
        let source = Source::Corpus {
            folder: folder.path().to_owned(),
            split: "dev".into(),
        };
        let read = source.read(&resolve).expect("readable");
        assert_eq!((read.documents.len(), read.unit), (2, Unit::Span));
        let annotated = Annotated {
            span: Span::new(0, 5),
            concepts: BTreeSet::from([ConceptId(1), ConceptId(2)]),
            parts: Vec::new(),
            types: BTreeSet::from(["T184".to_owned()]),
            context: None,
        };
        assert_eq!(
            read.documents[0].annotated,
            std::slice::from_ref(&annotated)
        );
        write(
            "mentions.dev.jsonl",
            r#"{"doc_id":"a","start":0,"end":5,"text":"fever","id":"X","other_ids":["D1","D2"],"parts":[["X","D1"],["D2"]],"tui":"T184"}"#,
        );
        let read = source.read(&resolve).expect("readable");
        let composite = Annotated {
            parts: [1, 2].map(|at| BTreeSet::from([ConceptId(at)])).into(),
            ..annotated
        };
        assert_eq!(read.documents[0].annotated, [composite]);
        assert_eq!((read.composite, read.with_concept), ([1, 2], 1));
    }
}
