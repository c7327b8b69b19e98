//! Corrected links: the JSON that the page exports and `pel link` writes.

use super::corrected::{CorrectedMention, CorrectedNote};
use pel_io::counter::Counter;
use pel_io::files::{for_each_line_in, list_files};
use pel_io::limits::Bound;
use pel_io::text_encoding::{TextEncoding, read_text_in};
use pel_kb::error::{Context as _, Error, Result};
use pel_terminologies::import::records::record;
use pel_text::context::{
    Allergy, Certainty, Context, Experiencer, Laterality, Severity, Temporality,
};
use pel_text::{Span, in_order, text_of};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files of links.
#[derive(Clone, Debug)]
pub struct LinkFiles {
    /// JSON or JSONL files, or folders of them.
    pub paths: Vec<PathBuf>,
    /// The folder with NAME.txt, which JSONL needs.
    pub texts: Option<PathBuf>,
    /// Whether only mentions that were reviewed in the page are taken.
    pub reviewed: bool,
}

/// A note with its mentions.
#[derive(Deserialize)]
struct NoteObject {
    doc: String,
    text: String,
    mentions: Vec<MentionObject>,
}

/// A mention. Offsets are bytes.
#[derive(Deserialize)]
struct MentionObject {
    doc: Option<String>,
    start: usize,
    end: usize,
    #[serde(default)]
    fragments: Vec<Span>,
    text: String,
    decision: Decision,
    concept: Option<ConceptObject>,
    /// `confirmed` or `changed`, if a reader has reviewed it.
    review: Option<String>,
    #[serde(default)]
    negated: bool,
    #[serde(default)]
    certainty: Certainty,
    #[serde(default)]
    temporality: Temporality,
    #[serde(default)]
    experiencer: Experiencer,
    laterality: Option<Laterality>,
    severity: Option<Severity>,
    allergy: Option<Allergy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Linked,
    Nil,
}

#[derive(Deserialize)]
struct ConceptObject {
    id: String,
    #[serde(default)]
    types: Vec<String>,
}

/// Reads all notes.
///
/// # Errors
/// If a file cannot be read or is no JSON of links, a JSONL file has no text, or a mention does not
/// fit its text. The error names file and line, or note.
pub fn read(
    given: &LinkFiles,
    encoding: &TextEncoding,
    counter: &mut Counter,
) -> Result<Vec<CorrectedNote>> {
    let mut notes = Vec::new();
    for path in &given.paths {
        let files = match path.is_dir() {
            true => list_files(path)?
                .into_iter()
                .filter(|file| is_links(file))
                .collect(),
            false => vec![path.clone()],
        };
        if files.is_empty() {
            return Err(Error::input(format!(
                "{}: the folder has no .json or .jsonl files",
                path.display()
            )));
        }
        for file in files {
            counter.step();
            match file.extension().is_some_and(|ending| ending == "jsonl") {
                true => notes.extend(lines(&file, given, encoding)?),
                false => notes.push(object(&file, given.reviewed, encoding)?),
            }
        }
    }
    Ok(notes)
}

fn is_links(file: &Path) -> bool {
    file.extension()
        .is_some_and(|ending| ending == "json" || ending == "jsonl")
}

/// Reads a note as one object.
fn object(file: &Path, reviewed: bool, encoding: &TextEncoding) -> Result<CorrectedNote> {
    let place = || file.display().to_string();
    let NoteObject {
        doc,
        text,
        mentions,
    } = serde_json::from_str(&read_text_in(file, encoding)?).map_err(|cause| {
        Error::input(format!(
            "{}: expected a note with `doc`, `text` and `mentions`, as the page exports it",
            place()
        ))
        .caused_by(cause)
    })?;
    let mentions = mentions
        .into_iter()
        .filter(|mention| !reviewed || mention.review.is_some())
        .map(|mention| mention.read(&text))
        .collect::<Result<_>>()
        .context(place)?;
    Ok(CorrectedNote {
        doc_id: doc,
        text,
        mentions,
        place: place(),
    })
}

/// Reads the notes of a file with a mention a line.
fn lines(file: &Path, given: &LinkFiles, encoding: &TextEncoding) -> Result<Vec<CorrectedNote>> {
    let Some(texts) = given.texts.as_deref() else {
        return Err(Error::usage(format!(
            "{}: expected --texts with the folder of the notes, since lines have no text, found \
             none; --format json has it",
            file.display()
        )));
    };
    let mut notes: BTreeMap<String, CorrectedNote> = BTreeMap::new();
    for_each_line_in(file, encoding, Bound::Records, |number, line| {
        if line.trim().is_empty() {
            return Ok(());
        }
        let mention: MentionObject = record(line)?;
        let doc = mention
            .doc
            .clone()
            .ok_or_else(|| Error::input("the mention has no field `doc`, the name of its note"))?;
        if !notes.contains_key(&doc) {
            let text = texts.join(format!("{doc}.txt"));
            // Names of notes are relative paths below the folder.
            if Path::new(&doc)
                .components()
                .any(|part| !matches!(part, std::path::Component::Normal(_)))
            {
                return Err(Error::input(format!(
                    "expected the name of a note in --texts, found {doc:?}"
                )));
            }
            let note = CorrectedNote {
                doc_id: doc.clone(),
                text: read_text_in(&text, encoding)?,
                mentions: Vec::new(),
                place: format!("{}:{number}", file.display()),
            };
            notes.insert(doc.clone(), note);
        }
        let is_taken = !given.reviewed || mention.review.is_some();
        if let (Some(note), true) = (notes.get_mut(&doc), is_taken) {
            note.mentions.push(mention.read(&note.text)?);
            Bound::Record.check_count(|| doc, note.mentions.len())?;
        }
        Ok(())
    })?;
    Ok(notes.into_values().collect())
}

impl MentionObject {
    /// Checks the place of a mention.
    fn read(self, text: &str) -> Result<CorrectedMention> {
        let pieces = match self.fragments.is_empty() {
            true => vec![Span::new(self.start, self.end)],
            false => in_order(self.fragments),
        };
        let found = text_of(text, &pieces)?;
        if found != self.text {
            return Err(Error::input(format!(
                "expected {:?} at the bytes {}..{}, found {found:?}",
                self.text, self.start, self.end
            )));
        }
        let concept = match (self.decision, self.concept) {
            (Decision::Nil, _) => None,
            (Decision::Linked, Some(concept)) => Some(concept),
            (Decision::Linked, None) => {
                return Err(Error::input(format!(
                    "the mention {:?} is linked and has no concept",
                    self.text
                )));
            }
        };
        let (ids, types) = concept.map_or((Vec::new(), Vec::new()), |concept| {
            (vec![concept.id], concept.types)
        });
        Ok(CorrectedMention {
            pieces,
            ids,
            types,
            context: Context {
                negated: self.negated,
                certainty: self.certainty,
                temporality: self.temporality,
                experiencer: self.experiencer,
                laterality: self.laterality,
                severity: self.severity,
                allergy: self.allergy,
                ..Context::default()
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MENTIONS: &str = r#"{"doc":"a","start":5,"end":10,"text":"fever","decision":"linked","concept":{"id":"D1","types":["Sign"],"name":"fever"},"negated":true,"certainty":"uncertain"}
{"doc":"a","start":12,"end":17,"text":"cough","decision":"nil","concept":null}"#;
    const NOTE: &str = "😷 fever, cough";

    fn read_files(files: &[(&str, &str)], path: &str, texts: bool) -> Result<Vec<CorrectedNote>> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        let given = LinkFiles {
            paths: vec![folder.path().join(path)],
            texts: texts.then(|| folder.path().to_owned()),
            reviewed: false,
        };
        read(&given, &TextEncoding::default(), &mut Counter::new("notes"))
    }

    #[test]
    fn object_and_lines_give_the_same_mentions() {
        let object = format!(
            r#"{{"doc":"a","text":"{NOTE}","mentions":[{}]}}"#,
            MENTIONS.replace('\n', ",")
        );
        for (files, path, texts) in [
            (vec![("a.json", object.as_str())], "a.json", false),
            (vec![("a.jsonl", MENTIONS), ("a.txt", NOTE)], "", true),
        ] {
            let notes = read_files(&files, path, texts).expect(path);
            let [note] = &notes[..] else {
                panic!("{notes:?}")
            };
            let [fever, cough] = &note.mentions[..] else {
                panic!("{note:?}")
            };
            assert_eq!(
                (&fever.ids[..], &fever.types[..]),
                (&["D1".to_owned()][..], &["Sign".to_owned()][..])
            );
            assert!(fever.context.negated && cough.ids.is_empty());
            assert_eq!(fever.context.certainty, Certainty::Uncertain);
        }
    }

    #[test]
    fn only_reviewed_mentions_are_taken_on_request() {
        let folder = tempfile::tempdir().expect("a folder");
        let reviewed = MENTIONS.replace(r#""end":17,"#, r#""end":17,"review":"confirmed","#);
        std::fs::write(folder.path().join("a.jsonl"), &reviewed).expect("written");
        std::fs::write(folder.path().join("a.txt"), NOTE).expect("written");
        let object = format!(
            r#"{{"doc":"b","text":"{NOTE}","mentions":[{}],"removed":[{{"start":0}}]}}"#,
            reviewed.replace('\n', ",")
        );
        std::fs::write(folder.path().join("b.json"), object).expect("written");
        let given = LinkFiles {
            paths: vec![folder.path().to_owned()],
            texts: Some(folder.path().to_owned()),
            reviewed: true,
        };
        let notes = read(&given, &TextEncoding::default(), &mut Counter::new("notes"));
        let notes = notes.expect("notes");
        assert_eq!(notes.len(), 2);
        for note in notes {
            assert_eq!(note.mentions.len(), 1, "{note:?}");
            assert!(note.mentions[0].ids.is_empty(), "{note:?}");
        }
    }

    #[test]
    fn faults_are_located() {
        let moved = MENTIONS.replace("\"start\":5", "\"start\":6");
        for (files, texts, message) in [
            (vec![("a.jsonl", MENTIONS)], false, "--texts"),
            (
                vec![("a.jsonl", moved.as_str()), ("a.txt", NOTE)],
                true,
                "a.jsonl: line 1: expected \"fever\" at the bytes 6..10",
            ),
            (
                vec![(
                    "a.jsonl",
                    r#"{"doc":"../a","start":0,"end":1,"text":"a","decision":"nil"}"#,
                )],
                true,
                "expected the name of a note",
            ),
            (
                vec![("a.json", "{}")],
                false,
                "a.json: expected a note with `doc`",
            ),
        ] {
            let error = read_files(&files, files[0].0, texts)
                .expect_err(message)
                .to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
