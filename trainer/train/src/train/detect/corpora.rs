//! Annotated texts as words, features and labelled spans.

use crate::train::config::{AnnotatedTexts, Detect};
use pel_artifacts::bundles;
use pel_corpora::corpus::Corpus;
use pel_kb::error::{Error, Result};
use pel_linker::bundle::Bundle;
use pel_model::detector::features::place;
use pel_model::detector::{DetectorInfo, Features, Scheme, Window, windows};
use pel_model::tokens::{Tokens, Words};
use pel_terminologies::import::report::Report;
use std::collections::BTreeMap;

/// The threshold of a scheme before it is chosen on validation texts.
const THRESHOLD: f32 = 0.5;

/// Reason for leaving out a mention.
const BETWEEN_WORDS: &str = "mention that begins or ends inside a word";
/// The label of a mention without a type.
const OTHER: &str = "other";

/// Reason for leaving out a mention.
const UNKNOWN_LABEL: &str = "mention whose label is not one of its set in the training texts";

/// A text.
pub struct AnnotatedText {
    /// Its document, for error messages.
    pub place: String,
    /// The words.
    pub words: Words,
    /// The features of the text as it is, and in small letters.
    pub features: [Features; 2],
    /// The mentions: first word, last word, label among those of all schemes.
    pub mentions: Vec<(usize, usize, usize)>,
    /// Its corpus in [`Corpora::covered`].
    pub corpus: usize,
}

/// A window of a text.
#[derive(Clone, Debug)]
pub struct Example {
    /// The text.
    pub text: usize,
    /// The window.
    pub window: Window,
}

/// The texts of some corpora.
pub struct Corpora {
    /// The texts.
    pub texts: Vec<AnnotatedText>,
    /// For each corpus its scheme, and whether it has each label of all schemes.
    pub covered: Vec<(usize, Vec<bool>)>,
    /// What was read and left out.
    pub report: Report,
}

/// The label of a mention: its first type, renamed.
fn label<'a>(texts: &'a AnnotatedTexts, types: &'a [String]) -> &'a str {
    let first = types.first().map_or(OTHER, String::as_str);
    texts.labels.get(first).map_or(first, String::as_str)
}

/// The schemes of the training corpora, with their labels in alphabetical order.
///
/// # Errors
/// If a corpus cannot be read.
pub fn schemes(detect: &Detect) -> Result<Vec<Scheme>> {
    let mut labels: Vec<(String, Vec<String>)> = Vec::new();
    for texts in &detect.corpora {
        let corpus = Corpus::read(&texts.folder, &texts.split)?;
        let at = match labels.iter().position(|(name, _)| *name == texts.scheme) {
            Some(at) => at,
            None => {
                labels.push((texts.scheme.clone(), Vec::new()));
                labels.len() - 1
            }
        };
        let found = corpus
            .mentions
            .iter()
            .map(|placed| label(texts, &placed.mention.types));
        let own = &mut labels[at].1;
        for name in found {
            if let Err(place) = own.binary_search_by(|known| known.as_str().cmp(name)) {
                own.insert(place, name.to_owned());
            }
        }
    }
    let scheme = |(name, labels)| Scheme {
        name,
        labels,
        threshold: THRESHOLD,
    };
    Ok(labels.into_iter().map(scheme).collect())
}

impl Corpora {
    /// Reads corpora.
    ///
    /// # Errors
    /// If one cannot be read, or has no mention with a label of its scheme.
    pub fn read(
        all: &[AnnotatedTexts],
        info: &DetectorInfo,
        tokens: &Tokens,
        names: Option<&Bundle>,
    ) -> Result<Self> {
        let mut corpora = Self {
            texts: Vec::new(),
            covered: Vec::new(),
            report: Report::default(),
        };
        for texts in all {
            corpora.add(texts, info, tokens, names)?;
        }
        Ok(corpora)
    }

    fn add(
        &mut self,
        texts: &AnnotatedTexts,
        info: &DetectorInfo,
        tokens: &Tokens,
        names: Option<&Bundle>,
    ) -> Result<()> {
        let corpus = Corpus::read(&texts.folder, &texts.split)?;
        let folder = texts.folder.display();
        let Some(scheme) = info.scheme(&texts.scheme) else {
            return Err(Error::input(format!(
                "{folder}: expected a set of labels of the training corpora, found {:?}",
                texts.scheme
            )));
        };
        let columns = info.columns(scheme);
        let number: BTreeMap<&str, usize> = info.schemes[scheme]
            .labels
            .iter()
            .map(String::as_str)
            .zip(columns)
            .collect();
        let first = self.texts.len();
        for document in &corpus.documents {
            let words = tokens.words(&document.text)?;
            self.texts.push(AnnotatedText {
                place: format!("{folder} {}", document.doc_id),
                features: features(&document.text, &words, names)?,
                words,
                mentions: Vec::new(),
                corpus: self.covered.len(),
            });
        }
        let mut covered = vec![false; info.labels()];
        for placed in &corpus.mentions {
            let text = &mut self.texts[first + placed.document];
            let named = || format!("{} {:?}", text.place, placed.mention.text);
            let Some(label) = number.get(label(texts, &placed.mention.types)) else {
                self.report.skip(UNKNOWN_LABEL, named);
                continue;
            };
            match place(&text.words, placed.span) {
                Some((from, to)) => {
                    covered[*label] = true;
                    text.mentions.push((from, to, *label));
                }
                None => self.report.skip(BETWEEN_WORDS, named),
            }
        }
        self.report.keep("documents", corpus.documents.len());
        let kept = self.texts[first..].iter().map(|text| text.mentions.len());
        self.report.keep("mentions", kept.sum());
        if !covered.contains(&true) {
            return Err(Error::input(format!(
                "{folder}: no mention has a label of {:?}",
                texts.scheme
            )));
        }
        self.covered.push((scheme, covered));
        Ok(())
    }

    /// The windows of all texts, those of a corpus as often as it is repeated.
    pub fn examples(&self, all: &[AnnotatedTexts], info: &DetectorInfo) -> Vec<Example> {
        let mut examples = Vec::new();
        for (number, text) in self.texts.iter().enumerate() {
            for window in windows(info, &text.words) {
                let example = Example {
                    text: number,
                    window,
                };
                let repeat = all.get(text.corpus).map_or(1, |texts| texts.repeat);
                examples.extend(std::iter::repeat_n(example, repeat));
            }
        }
        examples
    }
}

fn features(text: &str, words: &Words, names: Option<&Bundle>) -> Result<[Features; 2]> {
    let read = |text: &str| match names {
        Some(bundle) => Features::new(text, words, &bundle.dictionary, |concept| {
            bundle.concepts.group(concept)
        }),
        None => Ok(Features::of_text(text, words)),
    };
    let small = text.to_lowercase();
    let own = read(text)?;
    // Offsets are those of the text.
    let in_small = if small.len() == text.len() && words_fit(&small, words) {
        read(&small)?
    } else {
        own.clone()
    };
    Ok([own, in_small])
}

fn words_fit(text: &str, words: &Words) -> bool {
    words
        .words
        .iter()
        .all(|word| text.get(word.span.start..word.span.end).is_some())
}

/// Opens the bundle whose names are known to the detector.
///
/// # Errors
/// If it cannot be read.
pub fn names(detect: &Detect) -> Result<Option<Bundle>> {
    if detect.names.as_os_str().is_empty() {
        return Ok(None);
    }
    bundles::open(&detect.names).map(Some)
}
