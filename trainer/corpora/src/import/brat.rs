//! BRAT standoff with normalisations: pairs of NAME.txt and NAME.ann.

use super::corrected::{CorrectedMention, CorrectedNote};
use crate::spans::{brat_row, pieces};
use pel_io::counter::Counter;
use pel_io::files::{for_each_line_in, list_files};
use pel_io::limits::Bound;
use pel_io::text_encoding::{TextEncoding, read_text_in};
use pel_kb::error::{Context as _, Error, Result};
use pel_terminologies::import::report::Report;
use pel_text::Offsets;
use pel_text::context::{
    Allergy, Certainty, Context, Experiencer, Laterality, Severity, Temporality,
};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Note on a text without annotations.
pub const NO_ANN: &str = "text without a file of annotations (skipped)";
/// Note on the note of an annotator.
pub const ANNOTATOR_NOTE: &str = "note of an annotator (not read)";
/// Note on a relation, event or equivalence.
pub const RELATION: &str = "relation, event or equivalence (not used by an entity linker)";
/// Reason for skipping an attribute.
pub const ATTRIBUTE: &str = "attribute or value that PEL does not know";
/// Reason for skipping a line.
pub const BAD_LINE: &str = "line that is no annotation of BRAT";
/// Reason for skipping a line that refers to another.
pub const NO_TARGET: &str = "normalisation or attribute of an unknown mention";

/// The prefix of references to the bundle's knowledge base, as PEL writes them.
const OWN_KB: &str = "KB:";

/// Pairs of texts and annotations.
#[derive(Clone, Debug)]
pub struct Folders {
    /// Folders with NAME.ann.
    pub folders: Vec<PathBuf>,
    /// The folder with NAME.txt; `None` if texts are beside their annotations.
    pub texts: Option<PathBuf>,
    /// Prefix to remove from concept ids besides `KB:`.
    pub prefix: String,
}

/// Reads all notes with annotations, in the order of their names.
///
/// # Errors
/// If a folder or file cannot be read, there is no file of annotations, one has no text, or a
/// mention does not fit its text. The error names file and line.
pub fn read(
    given: &Folders,
    encoding: &TextEncoding,
    report: &mut Report,
    counter: &mut Counter,
) -> Result<Vec<CorrectedNote>> {
    let mut notes = Vec::new();
    for folder in &given.folders {
        let texts = given.texts.as_ref().unwrap_or(folder);
        let (named, without) = pairs(folder, texts)?;
        for name in &without {
            report.note(NO_ANN, || name.clone());
        }
        if named.is_empty() {
            return Err(Error::input(format!(
                "{}: the folder has no .ann files with annotations",
                folder.display()
            )));
        }
        for name in named {
            counter.step();
            let text_file = texts.join(format!("{name}.txt"));
            if !text_file.is_file() {
                return Err(Error::input(format!(
                    "{}: the text of {name}.ann is missing; --texts names another folder with \
                     texts",
                    text_file.display()
                )));
            }
            let text = read_text_in(&text_file, encoding)?;
            let ann = folder.join(format!("{name}.ann"));
            let mentions = read_ann(&ann, encoding, &text, &given.prefix, report)?;
            notes.push(CorrectedNote {
                doc_id: name.replace(std::path::MAIN_SEPARATOR, "/"),
                text,
                mentions,
                place: ann.display().to_string(),
            });
        }
    }
    Ok(notes)
}

/// Names of `.ann` files below a folder without extension, and of texts without one.
fn pairs(folder: &Path, texts: &Path) -> Result<(BTreeSet<String>, BTreeSet<String>)> {
    let names = |folder: &Path, ending: &str| -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for file in list_files(folder)? {
            let below = file.strip_prefix(folder).unwrap_or(&file);
            let hidden = below
                .components()
                .any(|part| part.as_os_str().to_string_lossy().starts_with('.'));
            if !hidden && below.extension().is_some_and(|own| own == ending) {
                names.insert(below.with_extension("").to_string_lossy().into_owned());
            }
        }
        Ok(names)
    };
    let annotated = names(folder, "ann")?;
    let without = names(texts, "txt")?
        .difference(&annotated)
        // PEL's own tables for the terminal.
        .filter(|name| !name.ends_with(".links"))
        .cloned()
        .collect();
    Ok((annotated, without))
}

/// Reads the mentions of a file of annotations.
fn read_ann(
    path: &Path,
    encoding: &TextEncoding,
    text: &str,
    prefix: &str,
    report: &mut Report,
) -> Result<Vec<CorrectedMention>> {
    let offsets = Offsets::new(text);
    let mut mentions: BTreeMap<String, (usize, CorrectedMention)> = BTreeMap::new();
    let mut others: Vec<(usize, String)> = Vec::new();
    for_each_line_in(path, encoding, Bound::Spans, |number, line| {
        if let Some(row) = brat_row(line)? {
            let id = line.split('\t').next().unwrap_or_default();
            let mention = CorrectedMention {
                pieces: pieces(&row, text, &offsets)?,
                ids: Vec::new(),
                types: types(&row.label),
                context: Context::default(),
            };
            if mentions.insert(id.to_owned(), (number, mention)).is_some() {
                return Err(Error::input(format!(
                    "the file has a second annotation {id}; identifiers of annotations must differ"
                )));
            }
            Bound::Spans.check_count(|| path.display().to_string(), mentions.len())?;
        } else if !line.trim().is_empty() {
            others.push((number, line.to_owned()));
        }
        Ok(())
    })?;
    for (number, line) in others {
        let place = || format!("{}:{number}", path.display());
        match line.chars().next() {
            Some('N') => {
                let (mention, id) = normalisation(&line, prefix).context(place)?;
                match mentions.get_mut(mention) {
                    Some((_, mention)) if mention.ids.iter().any(|own| own == id) => {}
                    Some((_, mention)) => mention.ids.push(id.to_owned()),
                    None => report.skip(NO_TARGET, place),
                }
            }
            Some('A' | 'M') => {
                let mut words = line
                    .split_once('\t')
                    .map_or("", |(_, rest)| rest)
                    .split_whitespace();
                let (name, mention, value) = (words.next(), words.next(), words.next());
                let own = mention.and_then(|mention| mentions.get_mut(mention));
                match (name, own) {
                    (Some(name), Some((_, own))) => {
                        if !set(&mut own.context, name, value) {
                            report.skip(ATTRIBUTE, || {
                                format!("{} {name} {}", place(), value.unwrap_or_default())
                            });
                        }
                    }
                    _ => report.skip(NO_TARGET, place),
                }
            }
            Some('#') if is_own_note(&line) => {}
            Some('#') => report.note(ANNOTATOR_NOTE, place),
            Some('R' | 'E' | '*') => report.note(RELATION, place),
            _ => report.skip(BAD_LINE, place),
        }
    }
    let mut mentions: Vec<(usize, CorrectedMention)> = mentions.into_values().collect();
    mentions.sort_by_key(|(number, _)| *number);
    Ok(mentions.into_iter().map(|(_, mention)| mention).collect())
}

/// Whether a note is one that PEL writes itself: the reason for NIL, that its user chose the
/// concept, the probability, and the review; or a mention that was removed.
fn is_own_note(line: &str) -> bool {
    let mut fields = line.split('\t').skip(1);
    let kind = fields.next().unwrap_or_default();
    let words = fields.next().unwrap_or_default().trim();
    let is_own = |part: &str| {
        let number = part.strip_prefix("Probability: ");
        part == "Linked: chosen by the user"
            || part.starts_with("Reviewed: ")
            || part.starts_with("Former: ")
            || number.is_some_and(|number| number.parse::<f32>().is_ok())
    };
    kind.starts_with("Removed ") || words.starts_with("NIL: ") || words.split("; ").all(is_own)
}

/// The semantic types of a label. BRAT has `_` for a space; `NIL` and `Concept` are PEL's labels
/// of mentions without a type.
fn types(label: &str) -> Vec<String> {
    match label {
        "NIL" | "Concept" => Vec::new(),
        other => vec![other.replace('_', " ")],
    }
}

/// The mention and concept of `N1<tab>Reference T1 SOURCE:ID<tab>name`.
fn normalisation<'l>(line: &'l str, prefix: &str) -> Result<(&'l str, &'l str)> {
    let refuse = || {
        Error::input(format!(
            "a concept is written `N1<tab>Reference T1 SOURCE:ID<tab>name`; this line is {line:?}"
        ))
    };
    let mut words = line
        .split('\t')
        .nth(1)
        .ok_or_else(refuse)?
        .split_whitespace();
    let (Some(_), Some(mention), Some(reference), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(refuse());
    };
    let id = reference.strip_prefix(OWN_KB).unwrap_or(reference);
    let id = match prefix.is_empty() {
        true => id,
        false => id.strip_prefix(prefix).unwrap_or(id),
    };
    match id.is_empty() {
        true => Err(refuse()),
        false => Ok((mention, id)),
    }
}

/// Sets a value of a context; `false` if there is no such attribute or value.
fn set(context: &mut Context, name: &str, value: Option<&str>) -> bool {
    let value = value.unwrap_or_default().to_lowercase();
    match name.to_lowercase().as_str() {
        "negated" | "negation" => match value.as_str() {
            "" | "true" | "yes" | "negated" => context.negated = true,
            "false" | "no" | "affirmed" => context.negated = false,
            _ => return false,
        },
        "certainty" => return parse::<Certainty>(&value, &mut context.certainty),
        "temporality" => return parse::<Temporality>(&value, &mut context.temporality),
        "experiencer" => return parse::<Experiencer>(&value, &mut context.experiencer),
        "laterality" => return parse_some::<Laterality>(&value, &mut context.laterality),
        "severity" => return parse_some::<Severity>(&value, &mut context.severity),
        "allergy" => return parse_some::<Allergy>(&value, &mut context.allergy),
        _ => return false,
    }
    true
}

fn parse<'v, T: Deserialize<'v>>(value: &'v str, into: &mut T) -> bool {
    let value: StrDeserializer<'v, ValueError> = value.into_deserializer();
    match T::deserialize(value) {
        Ok(parsed) => {
            *into = parsed;
            true
        }
        Err(_) => false,
    }
}

fn parse_some<'v, T: Deserialize<'v>>(value: &'v str, into: &mut Option<T>) -> bool {
    let value: StrDeserializer<'v, ValueError> = value.into_deserializer();
    match T::deserialize(value) {
        Ok(parsed) => {
            *into = Some(parsed);
            true
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = "😷 no fever.\nLung and heart injuries, RLL pna\n";
    const ANN: &str = "T1\tSign_or_Symptom 5 10\tfever\nN1\tReference T1 KB:D1\tfever\n\
                       N9\tReference T1 MESH:D005334\tFever\nA1\tNegated T1\n\
                       T2\tNIL 12 16;27 35\tLung injuries\n\
                       #2\tAnnotatorNotes T2\tNIL: no candidate\nT3\tProblem 41 44\tpna\n\
                       A2\tCertainty T3 uncertain\nA3\tColour T3 red\n\
                       #3\tAnnotatorNotes T3\tcheck this\nR1\tHas Arg1:T1 Arg2:T3\n\
                       N5\tReference T7 KB:D1\tx\n";

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("below")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        folder
    }

    fn read_folder(files: &[(&str, &str)]) -> Result<(Vec<CorrectedNote>, Report)> {
        let folder = folder(files);
        let given = Folders {
            folders: vec![folder.path().to_owned()],
            texts: None,
            prefix: "MESH:".to_owned(),
        };
        let mut report = Report::default();
        let notes = read(
            &given,
            &TextEncoding::default(),
            &mut report,
            &mut Counter::new("notes"),
        )?;
        Ok((notes, report))
    }

    #[test]
    fn normalisations_fragments_and_attributes_are_read() {
        let (notes, report) =
            read_folder(&[("ward/a.txt", NOTE), ("ward/a.ann", ANN), ("b.txt", "x")])
                .expect("read");
        let [note] = &notes[..] else {
            panic!("{notes:?}")
        };
        assert_eq!(note.doc_id, "ward/a");
        let [fever, lung, pna] = &note.mentions[..] else {
            panic!("{note:?}")
        };
        assert_eq!(fever.ids, ["D1", "D005334"]);
        assert_eq!(fever.types, ["Sign or Symptom"]);
        assert!(fever.context.negated && !pna.context.negated);
        assert_eq!(fever.pieces[0].of(&note.text).expect("it fits"), "fever");
        assert_eq!(
            (lung.pieces.len(), lung.ids.len(), lung.types.len()),
            (2, 0, 0)
        );
        assert_eq!(pna.context.certainty, Certainty::Uncertain);
        let skipped = [ATTRIBUTE, NO_TARGET, BAD_LINE].map(|reason| report.skipped(reason));
        assert_eq!(skipped, [1, 1, 0]);
        let noted = [NO_ANN, ANNOTATOR_NOTE, RELATION].map(|what| report.noted[what]);
        assert_eq!(noted, [1, 1, 1]);
    }

    #[test]
    fn own_notes_are_told_from_those_of_annotators() {
        for (note, own) in [
            ("#1\tAnnotatorNotes T1\tNIL: no candidate", true),
            (
                "#1\tAnnotatorNotes T1\tNIL: no candidate; Probability: 0.2500",
                true,
            ),
            ("#1\tAnnotatorNotes T1\tProbability: 0.8750", true),
            ("#1\tAnnotatorNotes T1\tLinked: chosen by the user", true),
            (
                "#1\tAnnotatorNotes T1\tProbability: 0.8750; Reviewed: confirmed by AB",
                true,
            ),
            (
                "#1\tAnnotatorNotes T1\tLinked: chosen by the user; Reviewed: changed; Former: D1 fever",
                true,
            ),
            ("#4\tRemoved 3-8\tfever; Reviewed: changed by AB", true),
            ("#1\tAnnotatorNotes T1\tLinked: wrong", false),
            (
                "#1\tAnnotatorNotes T1\tProbability: 0.8750, but wrong",
                false,
            ),
            ("#1\tAnnotatorNotes T1\tcheck this", false),
            ("#1", false),
        ] {
            assert_eq!(is_own_note(note), own, "{note}");
        }
    }

    #[test]
    fn faults_are_located() {
        for (files, message) in [
            (&[("a.ann", "")][..], "the text of a.ann is missing"),
            (&[("a.txt", "fever")], "the folder has no .ann files"),
            (
                &[("a.txt", "fever"), ("a.ann", "T1\tX 0 5\tcough\n")],
                "expected \"cough\", found \"fever\"",
            ),
            (
                &[
                    ("a.txt", "fever"),
                    ("a.ann", "T1\tX 0 5\tfever\nN1\tReference T1\n"),
                ],
                "a.ann:2: a concept is written `N1<tab>Reference",
            ),
            (
                &[
                    ("a.txt", "fever"),
                    ("a.ann", "T1\tX 0 5\tfever\nT1\tX 0 5\tfever\n"),
                ],
                "a second annotation T1",
            ),
        ] {
            let error = read_folder(files).expect_err(message).to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
