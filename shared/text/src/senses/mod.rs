//! The senses of short forms that a text does not define: "MS" is multiple sclerosis, mitral
//! stenosis, morphine or mental status; "CABG" is always a bypass.
//!
//! A table lists the senses of a short form with cues, words that stand near it in that sense. The
//! nearer a cue, the more it counts. The table for English is built in ([`Senses::english`]); it
//! was written from clinical usage.
//!
//! The encoder cannot choose a sense: its vector of "MS" says little of the sentence. A mention is
//! read as its long form before it is encoded, so candidates, score and probability follow. Weights
//! were set by hand before anything was measured.

mod capitals;
mod words;

use super::Span;
use pel_kb::error::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, OnceLock};
use words::Words;

/// The senses of English short forms that have several.
const ENGLISH: &str = include_str!("english.tsv");

/// The short forms of English notes that have one sense.
const SINGLE: &str = include_str!("single.tsv");

/// The longest distances in words at which a cue counts, and how much it counts there. A line break
/// counts as some words.
const NEAR: [(usize, f32); 3] = [(4, 1.5), (12, 1.0), (30, 0.4)];

/// The longest distance of a cue that counts only beside the short form.
const BESIDE: usize = 2;

/// What a cue anywhere else in the text counts, and what all of these count at most.
const FAR: (f32, f32) = (0.1, 0.5);

/// What the name of a sense counts, anywhere in the text.
const NAME: f32 = 2.0;

/// The lowest score of a chosen sense, and the lowest lead over the next.
const LEAST: (f32, f32) = (1.0, 0.5);

/// Short forms with their senses.
#[derive(Debug, Default)]
pub struct Senses {
    /// Those with several senses, in capitals.
    forms: HashMap<String, Vec<Sense>>,
    /// Those with several senses, as they are written.
    written: HashSet<String>,
    /// Those with one sense, as they are written, and the default senses of others.
    single: HashMap<String, Sense>,
}

/// A sense of a short form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sense {
    /// The long form: a name of a concept.
    pub name: String,
    /// Whether it is something that notes are linked for. "Room air" is not.
    pub is_concept: bool,
    cues: Vec<Cue>,
}

/// A word, or several in a row, that shows a sense.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cue {
    /// The words, in lower case.
    words: Vec<String>,
    /// Whether the last word may go on.
    is_prefix: bool,
    /// Whether it counts only beside the short form.
    is_beside: bool,
}

impl Cue {
    fn parse(cue: &str) -> Self {
        let (cue, is_beside) = cue
            .strip_prefix('=')
            .map_or((cue, false), |cue| (cue, true));
        let (cue, is_prefix) = cue
            .strip_suffix('*')
            .map_or((cue, false), |cue| (cue, true));
        Self {
            words: cue.split_whitespace().map(str::to_lowercase).collect(),
            is_prefix,
            is_beside,
        }
    }
}

impl Senses {
    /// The senses of English clinical short forms.
    pub fn english() -> &'static Self {
        static TABLE: LazyLock<Senses> = LazyLock::new(|| {
            let table = Senses::parse(ENGLISH, "english.tsv").unwrap_or_default();
            table.with_single(SINGLE)
        });
        &TABLE
    }

    /// Adds short forms with one sense: a line for each with the short form, a tab, and a name, in
    /// brackets if it is no concept. A short form that has several senses has this one by default.
    fn with_single(mut self, table: &str) -> Self {
        let lines = table.lines().filter(|line| !line.starts_with('#'));
        for (form, name) in lines.filter_map(|line| line.split_once('\t')) {
            let inner = in_brackets(name);
            let sense = Sense {
                name: inner.unwrap_or(name).to_owned(),
                is_concept: inner.is_none(),
                cues: Vec::new(),
            };
            self.single.insert(form.to_owned(), sense);
        }
        self
    }

    /// Reads a table: a line for each sense with short form, name and cues, separated by tabs. The
    /// cues are separated by commas. A cue that ends with `*` is the beginning of a word; one after
    /// `=` counts only beside the short form. A name in brackets is no concept. Lines that begin
    /// with `#` are comments.
    ///
    /// # Errors
    /// If a line has no three fields, an empty one, or a short form has one sense alone. The error
    /// names `file` and the line.
    pub fn parse(table: &str, file: &str) -> Result<Self> {
        let mut forms: HashMap<String, Vec<Sense>> = HashMap::new();
        let mut last = HashMap::new();
        for (at, line) in table.lines().enumerate() {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let wrong = |found: &str| {
                Error::input(format!(
                    "{file}:{}: expected short form, sense and cues with tabs between them, found \
                     {found}",
                    at + 1
                ))
            };
            let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
            let [form, name, cues] = fields[..] else {
                return Err(wrong(&format!("{} fields", fields.len())));
            };
            let inner = in_brackets(name);
            let cues: Vec<Cue> = cues.split(',').map(str::trim).map(Cue::parse).collect();
            if form.is_empty() || name.is_empty() || cues.iter().any(|cue| cue.words.is_empty()) {
                return Err(wrong("an empty one"));
            }
            last.insert(form, at + 1);
            forms.entry(form.to_uppercase()).or_default().push(Sense {
                name: inner.unwrap_or(name).to_owned(),
                is_concept: inner.is_none(),
                cues,
            });
        }
        let alone = |(form, _): &(&&str, &usize)| {
            forms
                .get(&form.to_uppercase())
                .is_some_and(|senses| senses.len() < 2)
        };
        if let Some((form, line)) = last.iter().filter(alone).min_by_key(|(_, line)| **line) {
            return Err(Error::input(format!(
                "{file}:{line}: expected two senses of {form} or more, found one"
            )));
        }
        Ok(Self {
            forms,
            written: last.into_keys().map(str::to_owned).collect(),
            single: HashMap::new(),
        })
    }

    /// The senses of a short form, the commonest first; none if it is not in the table. Case is
    /// ignored.
    pub fn of(&self, form: &str) -> &[Sense] {
        // No short form is as long as this.
        if form.len() > 16 {
            return &[];
        }
        self.forms
            .get(&form.to_uppercase())
            .map_or(&[], Vec::as_slice)
    }

    /// The sense of a short form that has one: as it is written, or with a plural "s".
    fn single(&self, form: &str) -> Option<&Sense> {
        let singular = || self.single.get(form.strip_suffix('s')?);
        self.single.get(form).or_else(singular)
    }

    /// Whether a short form, as it is written, stands for a concept whatever is around it.
    pub fn is_concept(&self, form: &str) -> bool {
        self.single.get(form).is_some_and(|sense| sense.is_concept)
    }

    /// A reader of one text.
    pub fn reader<'t>(&'t self, text: &'t str) -> SenseReader<'t> {
        SenseReader {
            senses: self,
            text,
            words: OnceLock::new(),
        }
    }
}

/// Chooses the senses of the short forms of one text. It splits the text into words at the first
/// short form.
pub struct SenseReader<'t> {
    senses: &'t Senses,
    text: &'t str,
    words: OnceLock<Words>,
}

impl<'t> SenseReader<'t> {
    /// The sense of the short form at a span: the only one, the one that the words around it show,
    /// or the default. `None` if it has none in the table, or the text does not tell several apart
    /// and there is no default.
    pub fn choose(&self, span: Span) -> Option<&'t Sense> {
        let form = self.text_of(span)?;
        let single = self.senses.single(form);
        // "Mg" has one sense, "MG" has several.
        if single.is_some() && !self.senses.written.contains(form) {
            return single;
        }
        self.choose_by_words(span, self.senses.of(form)).or(single)
    }

    /// The sense that the words around a span show best; `None` if they show none, or several.
    fn choose_by_words(&self, span: Span, senses: &'t [Sense]) -> Option<&'t Sense> {
        if senses.is_empty() {
            return None;
        }
        let words = self.words.get_or_init(|| Words::new(self.text));
        let scores: Vec<f32> = senses
            .iter()
            .map(|sense| sense.score(words, span))
            .collect();
        let (best, score) = scores
            .iter()
            .copied()
            .enumerate()
            // Of equals the first.
            .reduce(|best, other| if other.1 > best.1 { other } else { best })?;
        let next = (scores.iter().enumerate())
            .filter(|(at, _)| *at != best)
            .fold(0.0f32, |most, (_, score)| most.max(*score));
        (score >= LEAST.0 && score - next >= LEAST.1).then(|| &senses[best])
    }

    /// The short forms in capitals that stand for a concept, in the order of the text: those with
    /// one sense, and those of which the words around them show the sense. Lines in capitals have
    /// none.
    pub fn in_capitals(&self) -> impl Iterator<Item = (Span, &'t Sense)> + '_ {
        let forms = capitals::words(self.text).filter_map(|span| {
            let form = self.text_of(span)?;
            let several = self.senses.of(form);
            let sense = match several.is_empty() {
                true => self.senses.single(form),
                false => self.choose_by_words(span, several),
            };
            Some((span, sense?))
        });
        forms.filter(|(_, sense)| sense.is_concept)
    }

    /// The text of a span; `None` if it does not fit.
    pub fn text_of(&self, span: Span) -> Option<&'t str> {
        self.text.get(span.start..span.end)
    }
}

/// A name without the brackets around it; `None` if it has none.
fn in_brackets(name: &str) -> Option<&str> {
    name.strip_prefix('(')?.strip_suffix(')')
}

impl Sense {
    /// How much the words around a span show this sense.
    fn score(&self, words: &Words, span: Span) -> f32 {
        let (mut near, mut far) = (0.0, 0.0);
        for cue in &self.cues {
            let Some(distance) = words.distance(&cue.words, cue.is_prefix, span) else {
                continue;
            };
            if cue.is_beside {
                near += if distance <= BESIDE { NEAR[0].1 } else { 0.0 };
                continue;
            }
            match NEAR.iter().find(|(most, _)| distance <= *most) {
                Some((_, weight)) => near += weight,
                None => far += FAR.0,
            }
        }
        let name: Vec<String> = self
            .name
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let named = words.distance(&name, false, span).map_or(0.0, |_| NAME);
        near + f32::min(far, FAR.1) + named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str, form: &str) -> Option<String> {
        let start = text.find(form).expect("in the text");
        let span = Span::new(start, start + form.len());
        let reader = Senses::english().reader(text);
        reader.choose(span).map(|sense| sense.name.clone())
    }

    #[test]
    fn the_table_for_english_is_valid() {
        let senses = Senses::parse(ENGLISH, "english.tsv").expect("valid");
        assert!(senses.forms.len() > 90, "{}", senses.forms.len());
        assert_eq!(senses.of("ms").len(), 4);
        assert!(senses.of("fever").is_empty());
    }

    #[test]
    fn words_of_two_meanings_are_chosen_like_short_forms() {
        for (text, form, sense) in [
            ("She fell on ice and hit her head.", "fell", Some("fall")),
            (
                "Serum ferritin fell during treatment.",
                "fell",
                Some("decrease"),
            ),
            ("A fall in hemoglobin to 8.", "fall", Some("decrease")),
            ("CP-induced nephrotoxicity in rats", "CP", Some("Cisplatin")),
            (
                "DMD and BMD carriers",
                "BMD",
                Some("Becker muscular dystrophy"),
            ),
            ("CP on exertion, troponin neg", "CP", Some("chest pain")),
            ("Former smoker, quit 2015", "smoker", Some("former smoker")),
            ("Take 1 tablet by mouth daily", "mouth", Some("by mouth")),
            ("Dry mouth", "mouth", Some("mouth")),
            ("No h/o fits or LOC.", "fits", Some("seizure")),
            ("This fits the criteria.", "fits", Some("fits")),
            ("SpO2 91% OA, OA knees", "OA", Some("on air")),
            (
                "58M RHD, fell on left wrist",
                "RHD",
                Some("right-hand dominant"),
            ),
        ] {
            assert_eq!(chosen(text, form).as_deref(), sense, "{text}");
        }
    }

    #[test]
    fn words_of_operations_and_images_are_no_drugs_or_diseases() {
        for (text, form, sense) in [
            (
                "The capsule was opened and the joint washed out.",
                "capsule",
                "articular capsule",
            ),
            (
                "Shoulder: tight posterior capsule.",
                "capsule",
                "articular capsule",
            ),
            (
                "Cataract surgery, tear of the capsule.",
                "capsule",
                "capsule of lens",
            ),
            (
                "Laceration of the liver with an intact capsule.",
                "capsule",
                "capsule of liver",
            ),
            ("Take one capsule twice daily.", "capsule", "drug form"),
            ("The capsule was intact.", "capsule", "capsule"),
            (
                "The drill passed the far cortex of the femur.",
                "cortex",
                "compact bone tissue",
            ),
            ("Kidney with a thin cortex.", "cortex", "cortex of kidney"),
            ("Stroke of the motor cortex.", "cortex", "cerebral cortex"),
            (
                "The wound was irrigated and closed.",
                "wound",
                "wound of an operation",
            ),
            ("Fell on glass, wound of the left hand.", "wound", "Trauma"),
            (
                "MR of the knee: torn meniscus.",
                "MR",
                "magnetic resonance imaging",
            ),
            ("Echo: mild MR, trace TR.", "MR", "mitral regurgitation"),
            (
                "MR, lives in a group home.",
                "MR",
                "intellectual disability",
            ),
            ("Fracture of C3 and C4.", "C3", "third cervical vertebra"),
            ("ACDF at C3 and C4.", "C4", "fourth cervical vertebra"),
            ("SLE flare, low C3 and C4.", "C4", "complement C4"),
            ("C7 radiculopathy", "C7", "seventh cervical vertebra"),
            (
                "He was excused from PE at school.",
                "PE",
                "physical education",
            ),
            ("hs-Trop 12", "hs-Trop", "troponin"),
            ("Closed with 3-0 Prolene.", "Prolene", "suture material"),
            ("Fascia closed with looped PDS.", "PDS", "suture material"),
            ("Coded in SNOMED CT.", "SNOMED CT", "terminology"),
            ("Mg 1.4", "Mg", "magnesium level"),
        ] {
            assert_eq!(chosen(text, form).as_deref(), Some(sense), "{text}");
        }
    }

    #[test]
    fn a_form_with_one_sense_is_read_as_it_is_written() {
        assert_eq!(
            chosen("s/p CABG", "CABG").as_deref(),
            Some("coronary artery bypass grafting")
        );
        assert_eq!(
            chosen("frequent PVCs", "PVCs").as_deref(),
            Some("premature ventricular contraction")
        );
        assert_eq!(chosen("s/p cabg", "cabg"), None);
        // "PT" has several senses.
        let text = "Pt ambulated with PT";
        let reader = Senses::english().reader(text);
        assert!(
            reader
                .choose(Span::new(0, 2))
                .is_some_and(|sense| !sense.is_concept)
        );
        assert!(
            reader
                .choose(Span::new(18, 20))
                .is_some_and(|sense| sense.is_concept)
        );
    }

    #[test]
    fn a_form_with_several_senses_may_have_a_default() {
        for (text, sense) in [
            ("Enlarged LN, biopsy planned.", Some("lymph node")),
            ("SLE with class IV LN, on MMF.", Some("lupus nephritis")),
            ("LN", Some("lymph node")),
        ] {
            assert_eq!(chosen(text, "LN").as_deref(), sense, "{text}");
        }
        assert_eq!(chosen("Mg", "Mg").as_deref(), Some("magnesium level"));
        assert_eq!(chosen("MG", "MG"), None);
        let senses = Senses::english();
        assert!(senses.is_concept("CABG") && !senses.is_concept("NAD"));
        assert!(!senses.is_concept("cabg") && !senses.is_concept("MG"));
    }

    #[test]
    fn near_words_choose_a_sense() {
        for (text, form, expected) in [
            (
                "Started baclofen for MS, new lesion on brain scan.",
                "MS",
                "multiple sclerosis",
            ),
            (
                "Loud diastolic murmur: MS with a valve gradient of 8.",
                "MS",
                "mitral stenosis",
            ),
            ("Received MS 2 mg IV for pain.", "MS", "morphine"),
            ("MS: alert, oriented x3.", "MS", "mental status"),
            ("Joint stiffness, RA on MTX.", "RA", "rheumatoid arthritis"),
            ("SpO2 97% on RA.", "RA", "room air"),
            ("INR 2.1, PT 23 sec.", "PT", "prothrombin time"),
            ("PT/OT consult for gait.", "PT", "physical therapy"),
            ("The PT was seen in clinic.", "PT", "patient"),
            ("Denies CP, SOB.", "CP", "chest pain"),
            ("Spastic CP, wheelchair bound.", "CP", "cerebral palsy"),
            (
                "CTA showed PE, heparin started.",
                "PE",
                "pulmonary embolism",
            ),
        ] {
            assert_eq!(chosen(text, form).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_text_that_says_nothing_chooses_none() {
        assert_eq!(chosen("Known MS.", "MS"), None);
        assert_eq!(chosen("MS", "MS"), None);
    }

    #[test]
    fn nearer_cues_count_more_and_names_count_anywhere() {
        let table = "X\talpha\tred\nX\tbeta ray\tblue";
        let senses = Senses::parse(table, "t").expect("valid");
        let choose = |text: &str| {
            let at = text.find('X').expect("in the text");
            let reader = senses.reader(text);
            let sense = reader.choose(Span::new(at, at + 1));
            sense.map(|sense| sense.name.clone())
        };
        assert_eq!(
            choose("red X one two three four five blue").as_deref(),
            Some("alpha")
        );
        // Equally near.
        assert_eq!(choose("red X blue"), None);
        let far = format!("X red {} Beta ray", "word ".repeat(100));
        assert_eq!(choose(&far).as_deref(), Some("beta ray"));
    }

    #[test]
    fn bad_tables_name_their_line() {
        for (table, expected) in [
            ("X\talpha", "t:1: expected short form, sense and cues"),
            ("X\talpha\tred, ", "t:1: expected short form"),
            (
                "X\talpha\tred",
                "t:1: expected two senses of X or more, found one",
            ),
        ] {
            let error = Senses::parse(table, "t").expect_err("bad").to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
