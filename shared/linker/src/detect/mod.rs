//! Detection of the mentions of a text: by the detector of the bundle, or by its names alone.
//!
//! The detector scores spans, [`spans`] chooses among them, and the passes add, divide and replace
//! mentions, one pass a file.

mod allergens;
mod coordination;
mod divide;
mod jargon;
mod names;
mod nested;
mod other_words;
mod own_names;
mod places;
mod short_forms;
mod short_lines;
mod spans;
mod wordings;

use crate::bundle::Bundle;
use pel_kb::error::{Error, Result};
use pel_kb::group::Group;
use pel_model::detector;
use pel_model::detector::decode::ScoredSpan;
use pel_model::detector::features::place;
use pel_model::detector::{Features, Reading, Window};
use pel_model::tokens::{Encoded, Words};
use pel_text::detect::{Barriers, DetectOptions, Detected};
use pel_text::markup::Readable;
use spans::ACRONYM;

/// A text as the detector reads it ([`Bundle::detector_input`]).
pub struct DetectorInput {
    words: Words,
    features: Features,
    names: Vec<Detected>,
    wordings: Vec<Detected>,
    scheme: usize,
    /// The least probability of a span.
    least: f32,
    windows: Vec<Window>,
    rows: Vec<Encoded>,
    spans: Vec<ScoredSpan>,
}

impl DetectorInput {
    /// The token sequences of the windows.
    pub fn rows(&self) -> &[Encoded] {
        &self.rows
    }

    fn reading(&self) -> Reading<'_> {
        Reading {
            words: &self.words,
            features: &self.features,
            scheme: self.scheme,
            threshold: self.least,
        }
    }
}

/// What the passes over the mentions of a text share.
struct Passes<'a> {
    bundle: &'a Bundle,
    text: &'a str,
    /// The names of the dictionary and the paraphrases, in the order of the text.
    names: &'a [Detected],
    /// The paraphrases alone.
    wordings: &'a [Detected],
    /// Where no mention goes on.
    barriers: Barriers,
    /// Whether mentions may overlap.
    overlapping: bool,
}

/// A pass over the mentions of a text.
type Pass = fn(&Passes<'_>, Vec<Detected>) -> Vec<Detected>;

/// The passes with a detector that tells the kinds of mentions, which was trained on notes.
const OF_NOTES: [Pass; 5] = [
    short_lines::add,
    wordings::add,
    divide::divide,
    short_forms::add,
    allergens::add,
];

/// The passes with every detector, after the others.
const OF_ALL: [Pass; 3] = [own_names::add, coordination::add, nested::add];

impl Bundle {
    /// Detects the mentions of a text, ordered by start, then end. With a detector: the spans that
    /// it takes for mentions, less probable ones if they are names of the dictionary or wordings of
    /// them ([`Bundle::wordings`]); with [`DetectOptions::overlapping`] also the names inside them.
    /// Without one, or with [`DetectOptions::names_only`]: names of the dictionary, wordings of
    /// them, and abbreviations whose long form in the text is such a name.
    ///
    /// # Errors
    /// If the text is no plain text ([`Readable::of_note`]) or cannot be tokenized, or a concept is
    /// damaged.
    pub fn detect(&self, text: &str, options: &DetectOptions) -> Result<Vec<Detected>> {
        self.detect_while(text, options, || Ok(()))
    }

    /// As [`Bundle::detect`]. `tick` is called between the windows of a long text and can end the
    /// work.
    ///
    /// # Errors
    /// As [`Bundle::detect`], or that of `tick`.
    pub fn detect_while(
        &self,
        text: &str,
        options: &DetectOptions,
        mut tick: impl FnMut() -> Result<()>,
    ) -> Result<Vec<Detected>> {
        let Some(mut input) = self.detector_input(text, options)? else {
            return Ok(self.detect_names(text, options));
        };
        if let Some(detector) = &self.detector {
            let mut spans = Vec::new();
            let rows = input.rows.chunks(detector::BATCH);
            for (windows, rows) in input.windows.chunks(detector::BATCH).zip(rows) {
                tick()?;
                spans.extend(detector.spans_of(&input.reading(), windows, rows));
            }
            input.spans = spans;
        }
        tick()?;
        self.detect_from(text, options, input)
    }

    /// What the detector reads of a text, for callers that compute its windows elsewhere:
    /// [`Bundle::take_window`] takes the values of each, then [`Bundle::detect_from`] gives what
    /// [`Bundle::detect`] does. `None` without a detector, or with [`DetectOptions::names_only`].
    ///
    /// # Errors
    /// As [`Bundle::detect`].
    pub fn detector_input(
        &self,
        text: &str,
        options: &DetectOptions,
    ) -> Result<Option<DetectorInput>> {
        let readable = Readable::of_note(text)?;
        let text = &*readable.text;
        let Some(detector) = self.detector.as_ref().filter(|_| !options.names_only) else {
            return Ok(None);
        };
        let words = self.tokens.words(text)?;
        detector.check_tokens(&self.tokens, &words)?;
        let mut features = Features::new(text, &words, &self.dictionary, |concept| {
            self.concepts.group(concept)
        })?;
        let (names, mut wordings) = self.names_and_wordings(text, options);
        if options.overlapping {
            // The probabilities of spans do not depend on the option.
            let overlapping = false;
            let options = DetectOptions {
                overlapping,
                ..*options
            };
            wordings = self.names_and_wordings(text, &options).1;
        }
        for wording in &wordings {
            if let Some(place) = place(&words, wording.span) {
                let concepts = self.named(wording.span.of(text)?).into_iter();
                let mut groups = concepts.filter_map(|id| Group::of(&self.concepts.get(id).ok()?));
                features.add_name(place, groups.next());
            }
        }
        let scheme = options.scheme.min(detector.info().schemes.len() - 1);
        let labels = &detector.info().schemes[scheme];
        let least = ACRONYM * labels.threshold;
        let windows = detector.windows(&words);
        Ok(Some(DetectorInput {
            rows: detector.rows(&self.tokens, &words, &windows),
            words,
            features,
            names,
            wordings,
            scheme,
            least,
            windows,
            spans: Vec::new(),
        }))
    }

    /// Takes the last layer of a window, as
    /// [`Detector::last_layer`](pel_model::detector::Detector::last_layer) gives it for
    /// [`DetectorInput::rows`], in any order.
    ///
    /// # Errors
    /// If there is no such window, or these are not its values.
    pub fn take_window(&self, input: &mut DetectorInput, at: usize, hidden: &[f32]) -> Result<()> {
        let detector = self.detector.as_ref();
        let (Some(detector), Some(window)) = (detector, input.windows.get(at)) else {
            return Err(Error::input(format!("the text has no window {at}")));
        };
        let expected = input.rows[at].ids.len() * detector.width();
        if hidden.len() != expected {
            let found = hidden.len();
            return Err(Error::input(format!(
                "window {at}: expected {expected} values, found {found}"
            )));
        }
        let spans = detector.spans_in(&input.reading(), window, hidden);
        input.spans.extend(spans);
        Ok(())
    }

    /// The mentions of a text whose windows were taken.
    ///
    /// # Errors
    /// As [`Bundle::detect`].
    pub fn detect_from(
        &self,
        text: &str,
        options: &DetectOptions,
        input: DetectorInput,
    ) -> Result<Vec<Detected>> {
        let Some(detector) = &self.detector else {
            return Ok(self.detect_names(text, options));
        };
        let readable = Readable::new(text);
        let text = &*readable.text;
        let passes = Passes {
            bundle: self,
            text,
            names: &input.names,
            wordings: &input.wordings,
            barriers: self.dictionary.barriers(text),
            overlapping: options.overlapping,
        };
        let scheme = &detector.info().schemes[input.scheme];
        let mut detected = spans::choose(&passes, scheme, &input.words, input.spans)?;
        let tells_kinds = scheme
            .labels
            .iter()
            .any(|label| Group::of_label(label).is_some());
        let of_notes = OF_NOTES.iter().filter(|_| tells_kinds);
        for pass in of_notes.chain(&OF_ALL) {
            detected = pass(&passes, detected);
        }
        detected.sort_unstable();
        detected.dedup();
        Ok(readable.whole_mentions(detected))
    }
}

#[cfg(test)]
mod test_mentions {
    use pel_kb::group::Group;
    use pel_text::Span;
    use pel_text::detect::{Detected, Origin};

    pub fn found(start: usize, end: usize) -> Detected {
        Detected {
            group: Some(Group::Problem),
            ..Detected::new(Span::new(start, end), Origin::Detector)
        }
    }

    pub fn coordinated(pieces: [(usize, usize); 2]) -> Detected {
        let pieces = pieces.map(|(start, end)| Span::new(start, end)).to_vec();
        Detected::of_pieces(pieces, Origin::Name).expect("it has pieces")
    }
}
