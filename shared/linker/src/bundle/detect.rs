//! Detection of the mentions of a text: by the detector of the bundle, or by its names alone.

use super::Bundle;
use pel_kb::ConceptId;
use pel_kb::error::{Error, Result};
use pel_kb::group::Group;
use pel_model::detector;
use pel_model::detector::decode::{ScoredSpan, without_overlap};
use pel_model::detector::features::place;
use pel_model::detector::{Features, Reading, Window};
use pel_model::tokens::{Encoded, Words};
use pel_text::Span;
use pel_text::abbreviations::Abbreviations;
use pel_text::allergens;
use pel_text::detect::{Barriers, DetectOptions, Detected, Origin, is_jargon};
use pel_text::language::{is_foreign, is_function_word};
use pel_text::markup::Readable;
use pel_text::modifiers::{
    is_modifier, without_drug_form, without_last_number, without_last_results, without_modifiers,
};
use pel_text::senses::Senses;
use std::collections::{HashMap, HashSet};

/// The share of the detector's threshold that a name of the knowledge base has to reach. Of 1, 0.5
/// and 0.25, a lower one finds more in texts unlike those of the training (ID-68) and more that is
/// wrong in abstracts; notes are alike with all.
const NAMED: f32 = 0.5;

/// The same for a name of several words ("heart block"), which has few other senses.
const LONG_NAME: f32 = 0.25;

/// The same for a name of a few capitals ("MS"), which has no other sense in everyday English, and
/// for short forms of the built-in table ("N/V/D"). The detector misses many in telegraphic
/// sentences.
const ACRONYM: f32 = 0.1;

/// The number of words from which on a wording is a mention whatever the detector says: what
/// patients say ("bringing up blood") is unlike the notes of the training, and has no other sense.
/// So is a word of jargon ("appy").
const PHRASE: usize = 3;

/// The fewest letters of a word of which the lists of English tell whether it is jargon.
const LISTED: usize = 6;

/// The characters after which a sentence or an entry of a list begins.
const BEGINNING: [char; 13] = [
    '.', '!', '?', ':', ';', '\n', '\r', '|', '-', '*', '•', ')', ']',
];

/// The letters that a clipped name has in common with the whole one at the beginning, and how many
/// it lacks at least.
const CLIPPED: (usize, usize) = (3, 4);

/// Words for findings that say nothing without what is before them: "ECG changes".
const UNSPECIFIC: [&str; 12] = [
    "abnormality",
    "abnormalities",
    "change",
    "changes",
    "disorder",
    "elevation",
    "finding",
    "findings",
    "problem",
    "problems",
    "sign",
    "symptom",
];

/// A line of at most this many words is short: an entry of a list, or telegraphic.
const SHORT_LINE: usize = 8;

/// A sentence of at most this many words is short.
const SHORT_SENTENCE: usize = 10;

/// A line with fewer characters was not wrapped.
const WRAPPED: usize = 40;

/// The most bytes of a letter or number that names share the words before: "hepatitis B and C".
const DESIGNATOR: usize = 3;

/// The earlier mentions that are searched for one that overlaps a position.
const BESIDE: usize = 32;

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
        let DetectorInput {
            words,
            names,
            mut wordings,
            scheme,
            mut spans,
            ..
        } = input;
        // Windows come in any order.
        spans.sort_by_key(|span| (span.first, span.last));
        let labels = &detector.info().schemes[scheme];
        let mut thresholds: HashMap<Span, f32> = HashMap::new();
        for name in names.iter().filter(|name| is_whole_name(name)) {
            let words = name.span.of(text)?;
            let share = if is_acronym(text, &name.span) || is_jargon(words) {
                ACRONYM
            } else if words.contains(char::is_whitespace) {
                LONG_NAME
            } else {
                NAMED
            };
            thresholds.insert(name.span, share * labels.threshold);
        }
        let barriers = self.dictionary.barriers(text);
        let of_words = |first: usize, last: usize| {
            Span::new(words.words[first].span.start, words.words[last].span.end)
        };
        // A word is empty if another one has its only character ("…" may become "...").
        let is_there = |word: usize| !words.words[word].span.is_empty();
        let spans = spans
            .into_iter()
            .filter(|span| is_there(span.first) && is_there(span.last))
            .filter(|span| {
                let place = of_words(span.first, span.last);
                let least = match thresholds.get(&place) {
                    Some(least) => *least,
                    None if is_short_form(text, place) => ACRONYM * labels.threshold,
                    None => labels.threshold,
                };
                span.probability >= least
                    && barriers.admit(&place)
                    && !crosses_entry(text, &place)
                    && !is_in_number(text, &place)
            })
            .collect();
        let chosen = match options.overlapping {
            true => spans,
            false => {
                let is_name = |span: &ScoredSpan| {
                    span.first < span.last
                        && thresholds.contains_key(&of_words(span.first, span.last))
                };
                without_overlap(without_parts(spans, is_name))
            }
        };
        let groups: Vec<Option<Group>> = labels
            .labels
            .iter()
            .map(|label| Group::of_label(label))
            .collect();
        let without_results = |place: Span, group: Option<Group>| {
            if thresholds.contains_key(&place) {
                return Some(place);
            }
            let mut kept =
                without_cut_word(text, without_last_results(place.of(text).ok()?), &place);
            // "ferritin 22", but not "trisomy 21".
            if matches!(group, Some(Group::Measurement | Group::Drug))
                && let Some(name) = without_last_number(kept)
                && (is_short_form(text, Span::new(place.start, place.start + name.len()))
                    || !self.named(name).is_empty())
            {
                kept = name;
            }
            (!kept.is_empty()).then(|| Span::new(place.start, place.start + kept.len()))
        };
        let mut detected: Vec<Detected> = chosen
            .into_iter()
            .filter_map(|span| {
                let group = groups[span.label];
                let place = without_results(of_words(span.first, span.last), group)?;
                Some(Detected {
                    group,
                    ..Detected::new(place, Origin::Detector)
                })
            })
            .collect();
        if groups.iter().any(Option::is_some) {
            let named = |name: &&Detected| self.is_telegraphic_name(text, name);
            let named: Vec<&Detected> = names.iter().filter(named).collect();
            add_names_of_short_lines(text, &named, &mut detected);
            let admits =
                |found: &Detected| barriers.admit(&found.span) && !crosses_entry(text, &found.span);
            wordings.retain(|wording| {
                let words = wording.span.of(text).unwrap_or_default();
                let is_phrase = words.split_whitespace().count() >= PHRASE;
                (is_jargon(words) || is_phrase || is_slashed(words)) && admits(wording)
            });
            let jargon = names.iter();
            let jargon = jargon.filter(|name| self.is_jargon_name(text, name) && admits(name));
            wordings.extend(jargon.cloned());
            wordings.sort_unstable();
            detected = add_wordings(detected, wordings, options.overlapping).0;
            detected = self.divided(text, detected);
            self.add_short_forms(text, &barriers, &mut detected);
            add_allergens(text, &barriers, &mut detected);
        }
        if self.manifest.every_name {
            let own = names.iter().filter(|name| {
                let words = name.span.of(text).unwrap_or_default();
                is_whole_name(name) && !is_function_word(words)
            });
            let is_name = |found: &Detected| self.is_name_of_base(text, found);
            // What a detector of English finds in another language.
            if is_foreign(text) {
                detected.retain(|found| found.origin != Origin::Detector || is_name(found));
            }
            let own = own.cloned().collect();
            detected = with_names(own, detected, is_name, options.overlapping);
        }
        let nested: Vec<Detected> = match options.overlapping {
            true => names
                .iter()
                .filter(|name| is_whole_name(name))
                .cloned()
                .collect(),
            false => Vec::new(),
        };
        add_coordinations(names, options.overlapping, &mut detected);
        add_nested(nested, &mut detected);
        detected.sort_unstable();
        detected.dedup();
        Ok(readable.whole_mentions(detected))
    }

    /// Whether a mention is a name of the knowledge base, but for words of side, severity or a
    /// drug's form at its ends.
    fn is_name_of_base(&self, text: &str, mention: &Detected) -> bool {
        let words = mention.span.of(text).unwrap_or_default();
        let core = without_modifiers(words).or_else(|| without_drug_form(words));
        !self.named(words).is_empty() || core.is_some_and(|core| !self.named(core).is_empty())
    }

    /// The mentions with those of a test and what it shows divided: "MRI infarct", "EKG STEMI". The
    /// test is a short form in capitals, and the rest ends with a name of a problem.
    fn divided(&self, text: &str, detected: Vec<Detected>) -> Vec<Detected> {
        let senses = Senses::english().reader(text);
        let group_of = |span: Span| {
            let words = senses.text_of(span)?;
            let concepts = match senses.choose(span) {
                Some(sense) if !sense.is_concept => Vec::new(),
                Some(sense) => self.dictionary.lookup_mention(&sense.name),
                None => self.named(words),
            };
            Group::of(&self.concepts.get(*concepts.first()?).ok()?)
        };
        let parts = |found: &Detected| {
            let span = found.span;
            let words = senses.text_of(span)?;
            let (test, _) = words.split_once(char::is_whitespace)?;
            let (_, last) = words.rsplit_once(char::is_whitespace)?;
            let place = Span::new(span.start, span.start + test.len());
            let is_whole = found.origin != Origin::Detector || !found.fragments.is_empty();
            let is_unspecific = UNSPECIFIC.contains(&last.to_lowercase().as_str());
            if is_whole || is_unspecific || !is_acronym(text, &place) {
                return None;
            }
            let group = group_of(place)?;
            let is_test = matches!(group, Group::Measurement | Group::Procedure);
            let end = Span::new(span.end - last.len(), span.end);
            if !is_test || group_of(end)? != Group::Problem || !self.named(words).is_empty() {
                return None;
            }
            let rest = words[test.len()..].trim_start();
            let part = |span, group| Detected {
                group: Some(group),
                ..Detected::new(span, Origin::Detector)
            };
            let finding = Span::new(span.end - rest.len(), span.end);
            Some(vec![part(place, group), part(finding, Group::Problem)])
        };
        let divide = |found: Detected| parts(&found).unwrap_or_else(|| vec![found]);
        detected.into_iter().flat_map(divide).collect()
    }

    /// Adds short forms in capitals that stand for a concept where nothing was found. The detector
    /// misses many beside numbers and other short forms. `detected` is in the order of the text.
    fn add_short_forms(&self, text: &str, barriers: &Barriers, detected: &mut Vec<Detected>) {
        let ends = highest_ends(detected.iter().map(|found| &found.span));
        let mut added = Vec::new();
        for (span, sense) in Senses::english().reader(text).in_capitals() {
            let beside = detected.get(ends.partition_point(|end| *end <= span.start));
            let is_taken = beside.is_some_and(|found| found.span.start < span.end);
            let is_heading = text
                .get(span.end..)
                .is_some_and(|after| after.starts_with(':'));
            if is_taken || is_heading || !barriers.admit(&span) || is_in_number(text, &span) {
                continue;
            }
            let concepts = self.dictionary.lookup_mention(&sense.name).into_iter();
            let mut concepts = concepts.filter_map(|id| self.concepts.get(id).ok());
            if let Some(concept) = concepts.next() {
                added.push(Detected {
                    group: Group::of(&concept),
                    ..Detected::new(span, Origin::Detector)
                });
            }
        }
        detected.extend(added);
        detected.sort_unstable();
    }

    /// The concepts of a mention in ascending order: those with this name, else those with a name
    /// that it is a wording of, else those with a regular variant of it.
    fn named(&self, mention: &str) -> Vec<ConceptId> {
        let stated = self.dictionary.lookup(mention);
        if !stated.is_empty() {
            return stated;
        }
        let names = self.wordings().names_of(mention);
        let mut concepts: Vec<ConceptId> = names
            .flat_map(|name| self.dictionary.lookup_mention(name))
            .collect();
        if concepts.is_empty() {
            return self.dictionary.lookup_forms(mention);
        }
        concepts.sort_unstable();
        concepts.dedup();
        concepts
    }

    /// The names of the dictionary and the wordings of such names in a text, in its order, and the
    /// wordings alone.
    fn names_and_wordings(
        &self,
        text: &str,
        options: &DetectOptions,
    ) -> (Vec<Detected>, Vec<Detected>) {
        let names = self.dictionary.detect(text, options);
        let mut wordings = self.wordings().detect(text, options);
        wordings.retain(|wording| {
            let words = wording.span.of(text).unwrap_or_default();
            let mut meant = self.wordings().names_of(words);
            meant.any(|name| !self.dictionary.lookup_mention(name).is_empty())
        });
        add_wordings(names, wordings, options.overlapping)
    }

    /// Whether a name stands for a finding even if nothing around it says so. Names of body parts
    /// and tests are headings of an examination, unless they are all of an entry, or a number stands
    /// behind them.
    fn is_telegraphic_name(&self, text: &str, name: &Detected) -> bool {
        if !is_whole_name(name) {
            return false;
        }
        let words = text.get(name.span.start..name.span.end).unwrap_or_default();
        let concepts = self.named(words).into_iter();
        let mut groups = concepts.filter_map(|id| Group::of(&self.concepts.get(id).ok()?));
        groups.any(|group| match group {
            Group::Problem | Group::Drug => true,
            Group::Anatomy => is_whole_entry(text, &name.span),
            Group::Measurement if has_number(text, &name.span) => true,
            Group::Measurement | Group::Procedure => {
                is_acronym(text, &name.span) || words.contains(' ') || has_jargon(text, &name.span)
            }
            _ => is_acronym(text, &name.span),
        })
    }

    /// Whether a name has a word of jargon and stands for something else than a body part. A short
    /// one has to be a clipped name of its concept: "chole" of cholecystectomy.
    fn is_jargon_name(&self, text: &str, name: &Detected) -> bool {
        let words = text.get(name.span.start..name.span.end).unwrap_or_default();
        if !is_whole_name(name) || !has_jargon(text, &name.span) {
            return false;
        }
        let mut concepts = self.dictionary.lookup(words).into_iter();
        concepts.any(|id| {
            let Ok(concept) = self.concepts.get(id) else {
                return false;
            };
            let is_clipped = || {
                let start = concept.name.get(..CLIPPED.0).unwrap_or_default();
                concept.name.len() >= words.len() + CLIPPED.1
                    && words.get(..CLIPPED.0) == Some(&start.to_lowercase())
            };
            let group = Group::of(&concept);
            // "Weight-bear as tolerated": words of English beside one that the lists lack.
            let is_named = words.contains(' ');
            let is_problem = matches!(group, Some(Group::Problem | Group::Drug));
            group.is_some_and(|group| !matches!(group, Group::Anatomy | Group::Device))
                && (is_problem || !is_named)
                && (words.len() >= LISTED || is_clipped())
        })
    }

    /// Detects the names of the dictionary, wordings of them, and abbreviations whose long form in
    /// the text is such a name.
    fn detect_names(&self, text: &str, options: &DetectOptions) -> Vec<Detected> {
        let readable = Readable::new(text);
        let text = &*readable.text;
        let (mut detected, _) = self.names_and_wordings(text, options);
        if !self.manifest.view.abbreviations {
            return readable.whole_mentions(detected);
        }
        let abbreviations = Abbreviations::of(text);
        let mut named: Vec<Span> = Vec::new();
        for (span, long) in abbreviations.all() {
            let whole = Detected::new(span, Origin::Name);
            // A discontinuous mention may end after later ones.
            let to = detected.partition_point(|found| found.span.start < span.end);
            let mut beside = detected[..to].iter().rev().take(BESIDE);
            let taken = !options.overlapping
                && beside.any(|found| found.origin == Origin::Name && found.overlaps(&whole));
            if !taken && !self.dictionary.lookup_mention(long).is_empty() {
                named.push(span);
            }
        }
        detected.retain(|found| {
            let beside = named.get(named.partition_point(|span| span.end <= found.span.start));
            found.origin == Origin::Name || beside.is_none_or(|span| !span.overlaps(&found.span))
        });
        detected.extend(
            named
                .into_iter()
                .map(|span| Detected::new(span, Origin::Name)),
        );
        detected.sort_unstable();
        detected.dedup();
        readable.whole_mentions(detected)
    }
}

/// The spans without those that lie inside one that is a name: "epilepticus" in "status
/// epilepticus".
fn without_parts(spans: Vec<ScoredSpan>, is_name: impl Fn(&ScoredSpan) -> bool) -> Vec<ScoredSpan> {
    let mut names: Vec<(usize, usize)> = spans
        .iter()
        .filter(|span| is_name(span))
        .map(|span| (span.first, span.last))
        .collect();
    names.sort_unstable();
    // The names in a text do not overlap, so a span lies inside the last that begins before it, or
    // inside none.
    let is_part = |span: &ScoredSpan| {
        let before = names.partition_point(|(first, _)| *first <= span.first);
        let name = before.checked_sub(1).map(|at| names[at]);
        name.is_some_and(|(first, last)| {
            span.last <= last && (first, last) != (span.first, span.last)
        })
    };
    spans.into_iter().filter(|span| !is_part(span)).collect()
}

/// Adds wordings to names, both in the order of the text, and returns all and the wordings that
/// were added. A wording replaces unknown terms and, unless mentions may overlap, the names inside
/// it. It is left out if it is a name, or crosses one or is in one.
fn add_wordings(
    names: Vec<Detected>,
    wordings: Vec<Detected>,
    overlapping: bool,
) -> (Vec<Detected>, Vec<Detected>) {
    if wordings.is_empty() {
        return (names, wordings);
    }
    let ends = highest_ends(names.iter().map(|name| &name.span));
    let (mut lost, mut added) = (vec![false; names.len()], Vec::new());
    for wording in wordings {
        let span = wording.span;
        let first = ends.partition_point(|end| *end <= span.start);
        let beside: Vec<usize> = (first..names.len())
            .take_while(|at| names[*at].span.start < span.end)
            .filter(|at| names[*at].overlaps(&wording))
            .collect();
        let is_unknown = |at: &usize| names[*at].origin == Origin::UnknownTerm;
        let fits = |at: &usize| {
            let name = names[*at].span;
            let is_inside = span.start <= name.start && name.end <= span.end;
            is_unknown(at) || name != span && (overlapping || is_inside)
        };
        if beside.iter().all(fits) {
            let replaced = beside.iter().filter(|at| !overlapping || is_unknown(at));
            replaced.for_each(|at| lost[*at] = true);
            added.push(wording);
        }
    }
    let kept = names.into_iter().zip(lost).filter(|(_, lost)| !lost);
    let mut all: Vec<Detected> = kept.map(|(name, _)| name).collect();
    all.extend(added.iter().cloned());
    all.sort_unstable();
    (all, added)
}

/// Adds names, in the order of the text, where no mention that is a name itself covers them. They
/// replace mentions that they overlap, unless mentions may overlap.
fn with_names(
    names: Vec<Detected>,
    detected: Vec<Detected>,
    is_name: impl Fn(&Detected) -> bool,
    overlapping: bool,
) -> Vec<Detected> {
    let ends = highest_ends(detected.iter().map(|found| &found.span));
    let (mut lost, mut added) = (vec![false; detected.len()], Vec::new());
    for name in names {
        let span = name.span;
        let first = ends.partition_point(|end| *end <= span.start);
        let beside: Vec<usize> = (first..detected.len())
            .take_while(|at| detected[*at].span.start < span.end)
            .filter(|at| detected[*at].overlaps(&name))
            .collect();
        let is_taken = |at: &usize| {
            let found = detected[*at].span;
            let covers = found.start <= span.start && span.end <= found.end;
            found == span || !overlapping && covers && is_name(&detected[*at])
        };
        if !beside.iter().any(is_taken) {
            let replaced = beside.iter().filter(|_| !overlapping);
            replaced.for_each(|at| lost[*at] = true);
            added.push(name);
        }
    }
    let kept = detected.into_iter().zip(lost).filter(|(_, lost)| !lost);
    let mut all: Vec<Detected> = kept.map(|(found, _)| found).collect();
    all.append(&mut added);
    all.sort_unstable();
    all
}

/// Adds names that coordinated mentions share words of ("breast cancer" in "breast and ovarian
/// cancer") if the detector found a mention at the shared words. Mentions inside the other words
/// are removed, unless mentions may overlap. `detected` is in the order of the text.
fn add_coordinations(names: Vec<Detected>, overlapping: bool, detected: &mut Vec<Detected>) {
    let ends = highest_ends(detected.iter().map(|found| &found.span));
    let mut shared = Vec::new();
    for name in names {
        let Some(last) = name.fragments.last() else {
            continue;
        };
        // A mention that overlaps the shared words: the first that ends after their start.
        let group_at = |place: &Span| {
            let beside = detected.get(ends.partition_point(|end| *end <= place.start))?;
            beside.span.overlaps(place).then_some(beside.group)
        };
        // "C" of "hepatitis A, B and C" shares the words before it.
        let is_letter = last.end - last.start <= DESIGNATOR;
        let before = || group_at(name.fragments.first().filter(|_| is_letter)?);
        if let Some(group) = group_at(last).or_else(before) {
            shared.push(Detected { group, ..name });
        }
    }
    if !overlapping {
        let mut own: Vec<Span> = shared
            .iter()
            .filter_map(|name| name.fragments.split_last())
            .flat_map(|(_, own)| own.iter().copied())
            .collect();
        own.sort_unstable();
        let ends = highest_ends(own.iter());
        detected.retain(|found| {
            let before = own.partition_point(|piece| piece.start <= found.span.start);
            let end = before.checked_sub(1).map_or(0, |last| ends[last]);
            found.span.end > end
        });
    }
    detected.extend(shared);
}

/// Adds the names that lie in a mention, or in a piece of one ("lung" in "lung cancer"). A place
/// that is a mention already stays as it is.
fn add_nested(names: Vec<Detected>, detected: &mut Vec<Detected>) {
    let mut pieces: Vec<Span> = detected
        .iter()
        .flat_map(Detected::pieces)
        .copied()
        .collect();
    pieces.sort_unstable();
    let ends = highest_ends(pieces.iter());
    let whole: HashSet<Span> = detected
        .iter()
        .filter(|found| found.fragments.is_empty())
        .map(|found| found.span)
        .collect();
    detected.extend(names.into_iter().filter(|name| {
        let before = pieces.partition_point(|piece| piece.start <= name.span.start);
        let end = before.checked_sub(1).map_or(0, |last| ends[last]);
        name.span.end <= end && !whole.contains(&name.span)
    }));
}

/// Whether a mention is a name in one piece.
fn is_whole_name(found: &Detected) -> bool {
    found.origin == Origin::Name && found.fragments.is_empty()
}

/// For each span, the largest end of it and those before it.
fn highest_ends<'s>(spans: impl Iterator<Item = &'s Span>) -> Vec<usize> {
    let mut highest = 0;
    spans
        .map(|span| {
            highest = highest.max(span.end);
            highest
        })
        .collect()
}

/// Whether a name is a few capitals, which texts use without saying what they stand for.
fn is_acronym(text: &str, name: &Span) -> bool {
    let name = text.get(name.start..name.end).unwrap_or_default();
    (2..=5).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_uppercase())
}

/// Whether a span has a word of jargon: it is one, or one of its words is long and one. The capital
/// of a word that begins a sentence is left aside.
fn has_jargon(text: &str, span: &Span) -> bool {
    let (before, _) = text.split_at_checked(span.start).unwrap_or_default();
    let words = text.get(span.start..span.end).unwrap_or_default();
    let begins = before
        .trim_end_matches([' ', '\t'])
        .chars()
        .next_back()
        .is_none_or(|last| BEGINNING.contains(&last));
    let mut small = words.to_owned();
    if begins && let Some(first) = small.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let mut parts = small.split(' ');
    let is_long = |part: &str| part.len() >= LISTED && !is_modifier(part) && is_jargon(part);
    is_jargon(&small) || parts.any(is_long)
}

/// Whether a wording is small letters with slashes between them: "n/v/d".
fn is_slashed(words: &str) -> bool {
    words.contains('/') && words.split('/').all(is_small_letter)
}

fn is_small_letter(word: &str) -> bool {
    word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The words of a span without the last one if that is the first letter of "s/p", "w/" or the like.
fn without_cut_word<'t>(text: &'t str, words: &'t str, span: &Span) -> &'t str {
    let goes_on = span.start + words.len() == span.end
        && text
            .get(span.end..)
            .is_some_and(|after| after.starts_with('/'));
    match words.rsplit_once(char::is_whitespace) {
        Some((rest, word)) if goes_on && is_small_letter(word) => rest.trim_end(),
        _ => words,
    }
}

/// Whether a span is a short form that stands for a concept in English notes.
fn is_short_form(text: &str, span: Span) -> bool {
    Senses::english().is_concept(text.get(span.start..span.end).unwrap_or_default())
}

/// Whether a span goes on into another entry of a list: a line begins in it with a capital, or the
/// line before is too short to be wrapped.
fn crosses_entry(text: &str, span: &Span) -> bool {
    let inside = text.get(span.start..span.end).unwrap_or_default();
    inside.match_indices(['\n', '\r']).any(|(at, _)| {
        let (before, after) = text.split_at(span.start + at);
        let before = before.strip_suffix('\r').unwrap_or(before);
        let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
        let is_pair = after.starts_with("\r\n");
        let next = after.trim_start();
        let number = next.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = number.len() < next.len() && number.starts_with(['.', ')']);
        let begins = is_numbered || next.starts_with(char::is_uppercase);
        !is_pair && (begins || line.chars().take(WRAPPED).count() < WRAPPED)
    })
}

/// Whether a number stands behind a name: "serum potassium 5.9", "ferritin: 22".
fn has_number(text: &str, name: &Span) -> bool {
    let after = text.get(name.end..).unwrap_or_default();
    let after = after.trim_start_matches([' ', '\t', ':', '=', '<', '>']);
    after.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a name is all of an entry of a list or a cell of a table: "1. Heart", "| Liver | large |".
/// A word that has a line for itself is a heading.
fn is_whole_entry(text: &str, name: &Span) -> bool {
    let (before, _) = text.split_at_checked(name.start).unwrap_or_default();
    let after = text.get(name.end..).unwrap_or_default();
    let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
    let rest = after.split(['\n', '\r']).next().unwrap_or_default();
    let (line, rest) = (line.trim(), rest.trim_matches([' ', '\t', '.']));
    let number = line.strip_suffix(['.', ')']).unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_marked = is_number || ["-", "*", "•"].contains(&line);
    let in_cell = (line.ends_with('|') || line.is_empty()) && rest.starts_with('|');
    is_marked && rest.is_empty() || in_cell || line.ends_with('|') && rest.is_empty()
}

/// Whether a span is the first part of a number: "M54" of the code "M54.50", or "HD" of "HD#3", the
/// third day in hospital.
fn is_in_number(text: &str, span: &Span) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let (before, after) = text.split_at_checked(span.end).unwrap_or_default();
    let goes_on = |mark: char| {
        let rest = after.strip_prefix(mark);
        rest.is_some_and(|rest| rest.starts_with(is_digit))
    };
    goes_on('.') && before.ends_with(is_digit) || goes_on('#')
}

/// Adds the foods and materials that a text tells allergies to, where nothing was found. `detected`
/// is in the order of the text.
fn add_allergens(text: &str, barriers: &Barriers, detected: &mut Vec<Detected>) {
    let ends = highest_ends(detected.iter().map(|found| &found.span));
    let mut added = allergens::find(text);
    added.retain(|span| {
        let beside = detected.get(ends.partition_point(|end| *end <= span.start));
        beside.is_none_or(|found| found.span.start >= span.end) && barriers.admit(span)
    });
    detected.extend(added.into_iter().map(|span| Detected {
        group: Some(Group::Drug),
        ..Detected::new(span, Origin::Detector)
    }));
    detected.sort_unstable();
}

/// Whether a name in capitals is all of a line: "PHYSICAL EXAM".
fn is_line_in_capitals(text: &str, name: &Span) -> bool {
    let (before, rest) = text.split_at_checked(name.start).unwrap_or_default();
    let (words, after) = rest
        .split_at_checked(name.end - name.start)
        .unwrap_or_default();
    let ends = |text: &str| text.is_empty() || text.starts_with(['\n', '\r']);
    let begins = before.is_empty() || before.ends_with(['\n', '\r']);
    let is_phrase = words.contains(' ') && !words.contains(char::is_lowercase);
    begins && is_phrase && ends(after.trim_start_matches([' ', '\t']))
}

/// The ends of the lines of a text, and of the sentences in them if asked for, with whether they
/// have a few words.
fn short_parts(text: &str, sentences: bool) -> Vec<(usize, bool)> {
    let most = if sentences {
        SHORT_SENTENCE
    } else {
        SHORT_LINE
    };
    let mut ends = Vec::new();
    let mut start = 0;
    let is_end = |at: usize, mark: char| match mark {
        '\n' | '\r' => true,
        '.' | '!' | '?' | ';' if sentences => {
            let after = text[at + 1..].strip_prefix(' ').unwrap_or_default();
            after.starts_with(char::is_uppercase) || mark == ';' && !after.is_empty()
        }
        _ => false,
    };
    for (at, mark) in text.char_indices() {
        if is_end(at, mark) {
            let end = at + mark.len_utf8();
            ends.push((end, is_short(&text[start..end], most)));
            start = end;
        }
    }
    ends.push((text.len(), is_short(&text[start..], most)));
    ends
}

fn is_short(sentence: &str, words: usize) -> bool {
    sentence.split_whitespace().take(words + 1).count() <= words
}

/// Adds the names in lines and sentences of a few words where nothing was found: entries of lists
/// and telegraphic notes, which the detector has seen little of. A name before a colon is a
/// heading. `detected` is in the order of the text, and so are `names`.
fn add_names_of_short_lines(text: &str, names: &[&Detected], detected: &mut Vec<Detected>) {
    let ends = highest_ends(detected.iter().map(|found| &found.span));
    let (lines, sentences) = (short_parts(text, false), short_parts(text, true));
    let short = |parts: &[(usize, bool)], name: &Detected| {
        let at = parts.partition_point(|(end, _)| *end <= name.span.start);
        parts.get(at).is_some_and(|(_, is_short)| *is_short)
    };
    let mut added = Vec::new();
    for name in names {
        let (line, sentence) = (short(&lines, name), short(&sentences, name));
        let is_short = line || sentence && !is_acronym(text, &name.span);
        let after = text.get(name.span.end..).unwrap_or_default();
        let is_heading = after.trim_start_matches([' ', '\t']).starts_with(':')
            && !has_number(text, &name.span)
            || is_line_in_capitals(text, &name.span);
        let beside = ends.partition_point(|end| *end <= name.span.start);
        let is_taken = detected[beside..]
            .iter()
            .take_while(|found| found.span.start < name.span.end)
            .any(|found| found.overlaps(name));
        if is_short && !is_heading && !is_taken {
            added.push((*name).clone());
        }
    }
    detected.extend(added);
    detected.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(start: usize, end: usize) -> Detected {
        Detected {
            group: Some(Group::Problem),
            ..Detected::new(Span::new(start, end), Origin::Detector)
        }
    }

    #[test]
    fn parts_of_a_name_are_left_out() {
        let span = |first, last, probability| ScoredSpan {
            first,
            last,
            label: 0,
            probability,
        };
        // "status epilepticus" is a name, "severe status epilepticus" is none.
        let (name, part, longer, next) = (
            span(1, 2, 0.3),
            span(2, 2, 0.9),
            span(0, 2, 0.4),
            span(3, 3, 0.8),
        );
        let spans = vec![part, name, longer, next];
        let kept = without_parts(spans.clone(), |span| *span == name);
        assert_eq!(kept, [name, longer, next]);
        assert_eq!(without_parts(spans.clone(), |_| false), spans);
    }

    #[test]
    fn names_are_added_where_no_named_mention_covers_them() {
        let name = |start: usize, end: usize| Detected::new(Span::new(start, end), Origin::Name);
        let names = || vec![name(0, 6), name(10, 16), name(20, 26), name(30, 36)];
        // The same span, a longer one, one that crosses the name, and one inside it.
        let mentions = || vec![found(0, 6), found(8, 18), found(18, 22), found(31, 33)];
        assert_eq!(
            with_names(names(), mentions(), |_| true, false),
            [found(0, 6), found(8, 18), name(20, 26), name(30, 36)]
        );
        // "Niega fiebre" is not a name of the knowledge base, "fiebre" is.
        assert_eq!(
            with_names(names(), mentions(), |_| false, false),
            [found(0, 6), name(10, 16), name(20, 26), name(30, 36)]
        );
        let mut all = mentions();
        all.extend([name(10, 16), name(20, 26), name(30, 36)]);
        all.sort_unstable();
        assert_eq!(with_names(names(), mentions(), |_| true, true), all);
        assert_eq!(with_names(names(), Vec::new(), |_| true, false), names());
    }

    /// "throwing up blood" is a wording, "blood" and "throwing up" are names.
    #[test]
    fn a_wording_replaces_the_names_inside_it() {
        let at = |start: usize, end: usize| Detected::new(Span::new(start, end), Origin::Name);
        let term = Detected::new(Span::new(30, 42), Origin::UnknownTerm);
        let names = || vec![at(0, 11), at(12, 17), at(20, 28), term.clone()];
        let (wording, jargon) = (at(0, 17), at(30, 42));
        for (overlapping, wordings, all, added) in [
            (
                false,
                vec![wording.clone(), jargon.clone()],
                vec![wording.clone(), at(20, 28), jargon.clone()],
                vec![wording.clone(), jargon.clone()],
            ),
            (
                true,
                vec![wording.clone(), jargon.clone()],
                vec![
                    at(0, 11),
                    wording.clone(),
                    at(12, 17),
                    at(20, 28),
                    jargon.clone(),
                ],
                vec![wording, jargon],
            ),
            // A name, a part of one, and one that crosses a name.
            (
                false,
                vec![at(0, 11), at(21, 28), at(26, 33)],
                names(),
                vec![],
            ),
            (false, vec![], names(), vec![]),
        ] {
            assert_eq!(add_wordings(names(), wordings, overlapping), (all, added));
        }
    }

    fn coordinated(pieces: [(usize, usize); 2]) -> Detected {
        let pieces = pieces.map(|(start, end)| Span::new(start, end)).to_vec();
        Detected::of_pieces(pieces, Origin::Name).expect("it has pieces")
    }

    /// "breast and ovarian cancer"
    #[test]
    fn a_coordinated_name_replaces_its_own_words() {
        let name = coordinated([(0, 6), (19, 25)]);
        let with_group = Detected {
            group: Some(Group::Problem),
            ..name.clone()
        };
        let (part, other) = (found(0, 6), found(11, 25));
        for (overlapping, before, after) in [
            (
                false,
                vec![part.clone(), other.clone()],
                vec![other.clone(), with_group.clone()],
            ),
            (
                true,
                vec![part.clone(), other.clone()],
                vec![part.clone(), other, with_group],
            ),
            // Nothing was found at the shared word.
            (false, vec![part.clone()], vec![part]),
        ] {
            let mut detected = before;
            add_coordinations(vec![name.clone()], overlapping, &mut detected);
            assert_eq!(detected, after);
        }
    }

    /// "breast and left ovarian cancer, knee": a name across the end of a mention, one that is a
    /// mention already and one outside are not added.
    #[test]
    fn names_inside_mentions_are_added_once() {
        let name = |start, end| Detected::new(Span::new(start, end), Origin::Name);
        let coordinated = coordinated([(0, 6), (24, 30)]);
        let mut detected = vec![coordinated.clone(), found(16, 30), found(24, 30)];
        let names = vec![
            name(0, 6),
            name(11, 23),
            name(16, 23),
            name(24, 30),
            name(32, 36),
        ];
        add_nested(names, &mut detected);
        let expected = [
            coordinated,
            found(16, 30),
            found(24, 30),
            name(0, 6),
            name(16, 23),
        ];
        assert_eq!(detected, expected);
        let mut nothing = Vec::new();
        add_nested(vec![name(0, 6)], &mut nothing);
        assert!(nothing.is_empty());
    }

    #[test]
    fn a_span_ends_with_an_entry_of_a_list() {
        let crosses = |text: &str, words: &str| {
            let start = text.find(words).expect("there");
            crosses_entry(text, &Span::new(start, start + words.len()))
        };
        assert!(crosses("self harm\nHeadache", "harm\nHeadache"));
        assert!(crosses("thick skin\r\n  Rash", "skin\r\n  Rash"));
        assert!(crosses("jaundice\nascites", "jaundice\nascites"));
        let wrapped =
            "The patient was admitted with signs of chronic heart\n  failure and went home";
        assert!(!crosses(wrapped, "heart\n  failure"));
        assert!(!crosses(
            &wrapped.replace('\n', "\r\n"),
            "heart\r\n  failure"
        ));
        assert!(!crosses("Heart Failure", "Heart Failure") && !crosses("", ""));
    }

    #[test]
    fn a_span_ends_with_a_numbered_entry() {
        let text = "10. primary open-angle glaucoma, both eyes, mild stage\n11. colon polyps";
        let start = text.find("stage").expect("there");
        assert!(crosses_entry(text, &Span::new(start, start + 8)));
    }

    #[test]
    fn a_span_ends_before_a_short_form_with_a_slash() {
        let text = "CAD s/p CABG, hepatitis B/C";
        let words = |start: usize, end: usize| {
            let span = Span::new(start, end);
            without_cut_word(text, &text[start..end], &span)
        };
        assert_eq!(words(0, 5), "CAD");
        assert_eq!(words(0, 3), "CAD");
        assert_eq!(words(8, 13), "CABG,");
        assert_eq!(words(14, 25), "hepatitis B");
    }

    #[test]
    fn a_part_of_a_code_is_in_a_number() {
        let text = "M54.50 low back pain, interleukin 6. 3 days, HD#3";
        let is_in_number = |words: &str| {
            let start = text.find(words).expect("there");
            is_in_number(text, &Span::new(start, start + words.len()))
        };
        assert!(is_in_number("M54") && is_in_number("HD"));
        assert!(!is_in_number("M54.50") && !is_in_number("interleukin 6") && !is_in_number("3"));
    }

    #[test]
    fn names_in_short_lines_are_added_where_nothing_was_found() {
        let text = "Past history:\ngout\nFever: none\nknee pain\n\
                    He said that he has had no gout for a long time";
        let name = |word: &str, from: usize| {
            let start = from + text[from..].find(word).expect("there");
            Detected::new(Span::new(start, start + word.len()), Origin::Name)
        };
        let names = [
            name("gout", 0),
            name("Fever", 0),
            name("knee", 0),
            name("gout", 60),
        ];
        let mut detected = vec![found(31, 40)];
        assert_eq!(&text[31..40], "knee pain");
        add_names_of_short_lines(text, &names.iter().collect::<Vec<_>>(), &mut detected);
        assert_eq!(detected, [name("gout", 0), found(31, 40)]);
    }

    /// "hepatitis A, B and C"
    #[test]
    fn a_letter_shares_the_words_before_it() {
        let name = coordinated([(0, 9), (19, 20)]);
        let mut detected = vec![found(0, 11)];
        add_coordinations(vec![name.clone()], false, &mut detected);
        let group = Some(Group::Problem);
        assert_eq!(detected, [found(0, 11), Detected { group, ..name }]);
    }

    #[test]
    fn small_letters_with_slashes_are_short_forms() {
        assert!(is_slashed("n/v") && is_slashed("n/v/d"));
        assert!(!is_slashed("nv") && !is_slashed("N/V") && !is_slashed("nausea/vomiting"));
    }

    #[test]
    fn an_entry_or_a_cell_may_be_a_name_alone() {
        let alone = |text: &str, words: &str| {
            let start = text.find(words).expect("there");
            is_whole_entry(text, &Span::new(start, start + words.len()))
        };
        assert!(alone("1. Heart\n2. Lung", "Heart") && alone("Liver | large", "Liver"));
        assert!(alone("x | Spleen", "Spleen") && alone("| Knee | pain |", "Knee"));
        assert!(alone("- Skin.", "Skin") && alone("3) Neck", "Neck"));
        assert!(!alone("Heart\nregular", "Heart") && !alone("1. Heart failure", "Heart"));
        assert!(!alone("the heart", "heart") && !alone("1. Heart: regular", "Heart"));
    }

    #[test]
    fn a_number_behind_a_name_is_its_result() {
        let has = |text: &str, words: &str| {
            let start = text.find(words).expect("there");
            has_number(text, &Span::new(start, start + words.len()))
        };
        assert!(has("Serum potassium 5.9 today", "Serum potassium"));
        assert!(has("Ferritin: 22", "Ferritin") && has("Ferritin <10", "Ferritin"));
        assert!(!has("Ferritin low", "Ferritin") && !has("Ferritin", "Ferritin"));
        assert!(!has("Ferritin, 3 days", "Ferritin"));
    }

    /// With a search through all mentions for each name this took minutes.
    #[test]
    fn many_coordinated_names_take_little_time() {
        let count = 100_000;
        let names =
            (0..count).map(|at| coordinated([(at * 10, at * 10 + 2), (at * 10 + 4, at * 10 + 6)]));
        let parts = (0..count)
            .flat_map(|at| [found(at * 10, at * 10 + 2), found(at * 10 + 4, at * 10 + 6)]);
        let mut detected: Vec<Detected> = parts.collect();
        let start = std::time::Instant::now();
        add_coordinations(names.collect(), false, &mut detected);
        assert!(start.elapsed().as_secs() < 20);
        assert_eq!(detected.len(), 2 * count);
    }
}
