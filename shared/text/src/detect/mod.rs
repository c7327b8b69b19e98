//! Mention detection: a dictionary matcher over all names of a knowledge base.
//!
//! Names and text are normalised ([`normalise_name`]) and compared word by word. Spans refer to the
//! original text. The table shows the effect of each rule on 2,635 abstracts of MedMentions and
//! 41,054 concepts: precision against all gold spans, and recall of those with a concept in the
//! knowledge base. Both count exact spans, in %.
//!
//! | rule, in addition to those above | precision | recall |
//! | --- | --- | --- |
//! | whole words; longest match from left to right | 41.8 | 51.7 |
//! | names have a letter and at least 3 characters | 44.4 | 50.5 |
//! | shorter abbreviations; those of 2 letters or equal to a word ("ALL") match case | 49.5 | 51.6 |
//! | names that are ordinary words of notes are never found (`stopped.txt`) | 57.7 | 50.8 |
//! | the last word may be plural or singular | 58.2 | 58.3 |
//! | the text or the name may lack a hyphen; "Crohns" matches "Crohn's" | 58.3 | 58.5 |
//!
//! Languages beside English: an elided word before an apostrophe is a word of its own
//! ("d'asthme"), and names with German umlauts are also found spelt out ("Uebelkeit").
//!
//! An abbreviation that is not a word, such as "COPD", is also found in lower case. In text without
//! capitals that raises recall by 2.8 points and leaves precision unchanged.
//!
//! A name may span lines, but not an empty line or a list bullet. Within a line it does not span a
//! border between table cells: a tab, 3 blanks, 2 blanks before a capitalised word, or a row of
//! underscores or dashes. It neither spans nor is in a de-identification placeholder or a tag. A
//! person's name is no mention ("Dr. Brain"). Coordinated names with shared words are found
//! separately, as discontinuous mentions: "breast and ovarian cancer".
//!
//! A word that occurs in no name, no definition and not in general English, in any regular form, is
//! reported as [`Origin::UnknownTerm`]. General English is `ordinary.txt` and the lists in
//! `lexicon/`. In 55 clinical notes 80.5 % of the unknown terms are annotated mentions; with
//! `ordinary.txt` alone it was 40.8 %.

mod automaton;
mod build;
mod coordination;
mod deidentified;
mod dictionary;
mod elision;
mod fold;
mod format;
mod inflect;
mod lexicon;
mod lookup;
mod normalise;
mod persons;
mod posting;
mod scan;
mod similar;
mod spelling;
mod terms;
mod umlauts;
mod words;

use crate::Span;
use coordination::{around_designators, before_shared_head};
pub use dictionary::Dictionary;
pub use normalise::normalise_name;
use normalise::{Gap, Kind, Source};
use pel_kb::group::Group;
use persons::{Person, person_at};
use scan::{Found, Scan};
use serde::{Deserialize, Serialize};
pub use similar::SimilarName;
pub use spelling::in_american;
pub use terms::{is_common_word, is_jargon};
pub(crate) use umlauts::spelt_out;
pub(crate) use words::is_ordinary;

/// A mention that was detected in a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Detected {
    /// The span from the first fragment to the last, in bytes, on character boundaries.
    pub span: Span,
    /// Why it is a mention.
    pub origin: Origin,
    /// The fragments of a discontinuous mention, in ascending order without overlap ("lung
    /// injuries" in "lung and heart injuries"). Empty for a contiguous mention.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fragments: Vec<Span>,
    /// What kind of thing it is, if a detector found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
}

impl Detected {
    /// A contiguous mention.
    pub fn new(span: Span, origin: Origin) -> Self {
        Self {
            span,
            origin,
            fragments: Vec::new(),
            group: None,
        }
    }

    /// A mention of some fragments in any order. Fragments that overlap or touch are merged. `None`
    /// without a fragment.
    pub fn of_pieces(pieces: Vec<Span>, origin: Origin) -> Option<Self> {
        let fragments = crate::in_order(pieces);
        let span = Span::new(fragments.first()?.start, fragments.last()?.end);
        Some(Self {
            span,
            origin,
            fragments: if fragments.len() > 1 {
                fragments
            } else {
                Vec::new()
            },
            group: None,
        })
    }

    /// The fragments, or the whole span of a contiguous mention.
    pub fn pieces(&self) -> &[Span] {
        crate::pieces(&self.span, &self.fragments)
    }

    /// Whether both mentions share a byte. A mention in the gap of a discontinuous one does not
    /// overlap.
    pub fn overlaps(&self, other: &Self) -> bool {
        let shares_byte = |own: &Span| other.pieces().iter().any(|piece| piece.overlaps(own));
        self.span.overlaps(&other.span) && self.pieces().iter().any(shares_byte)
    }
}

/// Why a span is a mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It matches a name in the knowledge base.
    Name,
    /// It is a word that neither the knowledge base nor general English has, and no person's name:
    /// a misspelling or a new term.
    UnknownTerm,
    /// The detector of the bundle found it. Of a link: and it is no name in the knowledge base.
    Detector,
    /// The user gave it.
    Given,
}

/// Options of mention detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetectOptions {
    /// Report unknown terms. Has no effect unless [`Dictionary::knows_enough_words`].
    pub unknown_terms: bool,
    /// Report overlapping names instead of the longest matches from left to right; of a detector,
    /// all spans that reach its threshold instead of the most probable without overlap, and the
    /// names inside them.
    pub overlapping: bool,
    /// Find names of the knowledge base and unknown terms, even if the bundle has a detector.
    pub names_only: bool,
    /// The number of the detector's set of labels; 0 is its default.
    pub scheme: usize,
}

impl Default for DetectOptions {
    /// The longest names without overlap, and unknown terms.
    fn default() -> Self {
        Self {
            unknown_terms: true,
            overlapping: false,
            names_only: false,
            scheme: 0,
        }
    }
}

impl Dictionary {
    /// Detects the mentions in a text, ordered by start and end. Time is linear in the text; memory
    /// depends on the number of mentions alone.
    pub fn detect(&self, text: &str, options: &DetectOptions) -> Vec<Detected> {
        let unknown_terms = options.unknown_terms && self.knows_enough_words();
        let mut scan = Scan::new(self, text, Source::Text);
        let mut detected: Vec<Detected> = Vec::new();
        // Token positions: the current one; one past the last token of a name; one past the last
        // unknown term.
        let mut at = 0;
        let mut covered = 0;
        let mut term_end = None;
        let mut person = Person::default();
        let mut coordinated = false;
        // The start of the previous token, if it is capitalised and in no mention.
        let mut capital_before = None;
        while let Some(token) = scan.token(at) {
            let mut next = at + 1;
            person = person_at(&mut scan, at)
                .filter(|found| found.end > person.end)
                .unwrap_or(person);
            let surname = person.first <= at && at < person.end;
            let capital = is_capital(text, token.start);
            if token.gap != Gap::Glued {
                let names = scan.names_at(at);
                let is_mention = |found: &&Found| {
                    let whole = !surname || person.after_initial && found.last >= person.end;
                    whole && scan.accepts(at, **found)
                };
                let accepted = names
                    .iter()
                    .filter(is_mention)
                    .map(|found| (found.last, found.end));
                let first_new = detected.len();
                let mut longest = None;
                for (last, end) in accepted {
                    if !options.overlapping {
                        detected.truncate(first_new); // shorter matches come first
                        next = last + 1;
                    }
                    covered = covered.max(last + 1);
                    longest = Some(last);
                    let name = Detected::new(Span::new(token.start, end), Origin::Name);
                    if detected.last() != Some(&name) {
                        detected.push(name);
                    }
                }
                scan.recycle(names);
                let mut coordinations = Vec::new();
                if let Some(last) = longest.filter(|last| *last > at) {
                    coordinations = before_shared_head(self, &mut scan, at, last, |end| {
                        ends_at(&detected, end)
                    });
                } else if !surname
                    && let Some((mentions, end)) = around_designators(self, &mut scan, at)
                {
                    coordinations = mentions;
                    covered = covered.max(end);
                    next = if options.overlapping { next } else { end };
                }
                coordinated |= !coordinations.is_empty();
                add_coordinations(&mut detected, coordinations, options.overlapping);
            }
            let is_free = at >= covered && !surname;
            if unknown_terms && is_free {
                let joined = term_end == Some(at) && token.gap == Gap::Hyphen;
                let term = detected.last_mut().filter(|_| joined);
                // One half of a double name ("Harrow-Lindqvist") may be an English word.
                let begins_so = |term: &Detected| is_capital(text, term.span.start);
                let is_half = capital && term.as_deref().is_some_and(begins_so);
                if is_half || self.is_unknown_term(&mut scan, at) {
                    match term {
                        Some(term) => term.span.end = token.end,
                        None => {
                            let half =
                                capital_before.filter(|_| capital && token.gap == Gap::Hyphen);
                            let span = Span::new(half.unwrap_or(token.start), token.end);
                            detected.push(Detected::new(span, Origin::UnknownTerm));
                        }
                    }
                    term_end = Some(at + 1);
                }
            }
            capital_before = (capital && is_free && next == at + 1).then_some(token.start);
            at = next;
            scan.forget_before(at);
        }
        if coordinated {
            detected.sort_unstable();
            detected.dedup();
        }
        detected
    }
}

/// The places of a text where no mention is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Barriers {
    /// The persons' names and the de-identification placeholders, in the order of the text. No
    /// mention overlaps one.
    pub hidden: Vec<Span>,
    /// The first bytes after borders of table cells, list bullets and empty lines. No mention spans
    /// one.
    pub borders: Vec<usize>,
}

impl Barriers {
    /// Whether a span may be a mention.
    pub fn admit(&self, span: &Span) -> bool {
        let hidden = self.hidden.get(
            self.hidden
                .partition_point(|hidden| hidden.end <= span.start),
        );
        let border = self
            .borders
            .get(self.borders.partition_point(|border| *border <= span.start));
        hidden.is_none_or(|hidden| !hidden.overlaps(span))
            && border.is_none_or(|border| *border >= span.end)
    }
}

impl Dictionary {
    /// The places of a text where no mention is.
    pub fn barriers(&self, text: &str) -> Barriers {
        let mut scan = Scan::new(self, text, Source::Text);
        let mut found = Barriers::default();
        let mut at = 0;
        let mut person_end = 0;
        while let Some(token) = scan.token(at) {
            if let Some(person) = person_at(&mut scan, at).filter(|person| person.end > person_end)
            {
                person_end = person.end;
            }
            if token.kind == Kind::Hidden || at < person_end {
                found.hidden.push(Span::new(token.start, token.end));
            }
            if token.gap.parts() {
                found.borders.push(token.start);
            }
            at += 1;
            scan.forget_before(at);
        }
        found
    }
}

/// Whether a capital letter is at a byte.
fn is_capital(text: &str, at: usize) -> bool {
    text.get(at..)
        .is_some_and(|rest| rest.starts_with(char::is_uppercase))
}

/// Adds coordinated names, in place of the names that they cover unless names may overlap.
fn add_coordinations(
    detected: &mut Vec<Detected>,
    coordinations: Vec<Vec<Span>>,
    overlapping: bool,
) {
    for pieces in coordinations {
        if !overlapping {
            remove_covered(detected, &pieces);
        }
        detected.extend(Detected::of_pieces(pieces, Origin::Name));
    }
}

/// The number of last mentions that are compared with a new one.
const RECENT: usize = 32;

/// The start of the last contiguous mention that ends at a byte.
fn ends_at(detected: &[Detected], end: usize) -> Option<usize> {
    let mut recent = detected.iter().rev().take(RECENT);
    let found = recent.find(|found| found.fragments.is_empty() && found.span.end == end);
    found.map(|found| found.span.start)
}

/// Removes recent mentions inside a fragment of a longer mention.
fn remove_covered(detected: &mut Vec<Detected>, pieces: &[Span]) {
    let recent = detected.len().saturating_sub(RECENT);
    let is_covered = |found: &Detected| {
        found.fragments.is_empty()
            && pieces
                .iter()
                .any(|piece| piece.start <= found.span.start && found.span.end <= piece.end)
            && pieces.iter().map(Span::len).sum::<usize>() > found.span.len()
    };
    let kept: Vec<Detected> = detected
        .drain(recent..)
        .filter(|found| !is_covered(found))
        .collect();
    detected.extend(kept);
}

/// Merges detected mentions with given ones, which take precedence where they overlap. A detected
/// mention may lie in the gap of a given one.
pub fn join(mut given: Vec<Detected>, found: Vec<Detected>) -> Vec<Detected> {
    let mut at = 0;
    let free: Vec<Detected> = found
        .into_iter()
        .filter(|detected| {
            while given
                .get(at)
                .is_some_and(|given| given.span.end <= detected.span.start)
            {
                at += 1;
            }
            // Given spans may overlap each other, so all that start before this one ends are
            // compared.
            let mut near = given[at..]
                .iter()
                .take_while(|given| given.span.start < detected.span.end);
            !near.any(|given| given.overlaps(detected))
        })
        .collect();
    given.extend(free);
    given.sort_by_key(|detected| (detected.span.start, detected.span.end));
    given
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use pel_kb::{Concept, ConceptId};
    use proptest::prelude::*;

    /// A dictionary of these names with synonyms; the first concept has the definition.
    pub(super) fn dictionary(concepts: &[(&str, &[&str])], definition: &str) -> Dictionary {
        Dictionary::from_bytes(Bytes::from(bytes(concepts, definition)))
            .expect("a built dictionary is valid")
    }

    pub(super) fn bytes(concepts: &[(&str, &[&str])], definition: &str) -> Vec<u8> {
        let concept = |at: usize, name: &str, synonyms: &[&str]| Concept {
            id: format!("D{at}"),
            name: name.to_owned(),
            synonyms: synonyms
                .iter()
                .map(|synonym| (*synonym).to_owned())
                .collect(),
            definition: (at == 0).then(|| definition.to_owned()),
            ..Concept::default()
        };
        let concepts: Vec<Concept> = concepts
            .iter()
            .enumerate()
            .map(|(at, (n, s))| concept(at, n, s))
            .collect();
        let numbered = concepts
            .iter()
            .enumerate()
            .map(|(at, concept)| (ConceptId(at as u32), concept));
        Dictionary::build(numbered).expect("it can be built")
    }

    /// Concepts of which two have the name "cold".
    pub(super) const FEVER_AND_COLD: [(&str, &[&str]); 3] = [
        ("Fever", &["Pyrexia", "FEVER"]),
        ("cold", &["common cold"]),
        ("sensation of cold", &["Cold", "Alzheimer's"]),
    ];

    pub(super) fn ids(found: &[u32]) -> Vec<ConceptId> {
        found.iter().map(|id| ConceptId(*id)).collect()
    }

    pub(super) fn found<'t>(
        dictionary: &Dictionary,
        text: &'t str,
        origin: Origin,
    ) -> Vec<&'t str> {
        let detected = dictionary.detect(text, &DetectOptions::default());
        let detected = detected
            .into_iter()
            .filter(|mention| mention.origin == origin);
        detected
            .map(|mention| mention.span.of(text).expect("a span can be cut"))
            .collect()
    }

    const CONCEPTS: [(&str, &[&str]); 9] = [
        ("heart failure", &["HF", "cardiac failure"]),
        ("failure", &[]),
        ("acute lymphoblastic leukemia", &["ALL"]),
        ("Crohn's disease", &["Morbus Crohn"]),
        ("beta-blocker", &["β adrenergic blocker"]),
        ("nonsmoker", &["Stage"]),
        ("COPD", &["chronic obstructive pulmonary disease"]),
        (
            "diagnosis",
            &["Fièvre", "T-cell receptor α", "(1->3)-glucan"],
        ),
        ("heart failure, left", &["MSI"]),
    ];

    fn names(text: &str) -> Vec<&str> {
        found(
            &dictionary(&CONCEPTS, "all of them can fail"),
            text,
            Origin::Name,
        )
    }

    #[test]
    fn longest_names_are_matched_from_left_to_right() {
        assert_eq!(
            names("cardiac failure; heart failure, left heart"),
            ["cardiac failure", "heart failure, left"]
        );
        assert_eq!(
            names("heart failures, failures"),
            ["heart failures", "failures"]
        );
        assert_eq!(names("chronic obstructive lung failure"), ["failure"]);
    }

    #[test]
    fn overlapping_option_reports_all_names() {
        let options = DetectOptions {
            overlapping: true,
            ..DetectOptions::default()
        };
        let detected = dictionary(&CONCEPTS, "").detect("heart failure, left", &options);
        let spans: Vec<(usize, usize)> = detected
            .iter()
            .map(|found| (found.span.start, found.span.end))
            .collect();
        assert_eq!(spans, [(0, 13), (0, 19), (6, 13)]);
    }

    #[test]
    fn names_match_whole_words() {
        assert_eq!(
            names("heartfailure xHF HFx HF2 failurexyz 1failure"),
            [""; 0]
        );
        assert_eq!(names("(HF) HF,HF/HF 'HF'"), ["HF"; 5]);
    }

    #[test]
    fn hyphens_blanks_line_ends_and_apostrophes_may_vary() {
        for text in [
            "beta-blocker",
            "Beta\u{a0}blockers",
            "BETA\u{2011}BLOCKER",
            "betablocker",
            "beta\t\n blocker",
            "be\u{ad}ta-\nblocker",
        ] {
            assert_eq!(names(&format!("a {text}, b")), [text], "{text}");
        }
        assert_eq!(
            names("Crohn’s disease, Crohn disease, crohns disease, Crohn's Disease's"),
            [
                "Crohn’s disease",
                "Crohn disease",
                "crohns disease",
                "Crohn's Disease",
            ]
        );
        assert_eq!(
            names("a non-smoker, non\u{2010}smokers, non smoker"),
            ["non-smoker", "non\u{2010}smokers"]
        );
    }

    #[test]
    fn names_do_not_span_empty_lines_and_bullets() {
        assert_eq!(names("heart\nfailure"), ["heart\nfailure"]);
        assert_eq!(names("heart\n\nfailure"), ["failure"]);
        assert_eq!(names("- heart\n- failure"), ["failure"]);
    }

    #[test]
    fn names_do_not_span_table_cells() {
        for border in [
            "          ",
            "\t",
            " \t",
            "  ",
            "\u{a0}\u{a0}",
            "\u{3000}\u{3000}",
            " | ",
            "|",
            " ¦ ",
            "_____",
            " -----+----- ",
        ] {
            assert_eq!(
                names(&format!("Heart{border}Failure to thrive")),
                ["Failure"],
                "{border:?}"
            );
        }
        // Two blanks before a lower-case word are a border only in a line that has another border.
        assert_eq!(names("a chronic heart  failure"), ["heart  failure"]);
        assert_eq!(names("heart  failure   none"), ["failure"]);
        assert_eq!(names("Test   heart  failure"), ["failure"]);
        assert_eq!(
            names("cardiac failure  heart failure\tfailure"),
            ["cardiac failure", "heart failure", "failure"]
        );
        assert_eq!(names("copd  HF\tALL  "), ["copd", "HF", "ALL"]);
    }

    #[test]
    fn names_span_line_ends_with_blanks_around_them() {
        for end in [
            "\n",
            "   \n",
            "\n          ",
            "  \r\n\t",
            "\r",
            " \r\r\n ",
            "\u{2028}  ",
        ] {
            let text = format!("chronic heart{end}failure");
            assert_eq!(names(&text), [&text[8..]], "{end:?}");
        }
        for end in ["\r\r", "\r\n\r\n", "\n \n"] {
            assert_eq!(names(&format!("heart{end}failure")), ["failure"], "{end:?}");
        }
    }

    #[test]
    fn cell_continues_in_an_indented_line_only() {
        let text = "PMH      chronic heart\n         failure";
        assert_eq!(names(text), ["heart\n         failure"]);
        assert_eq!(names("Chest    heart\nfailure  none"), ["failure"]);
        assert_eq!(names("1.\tchronic heart\nfailure"), ["heart\nfailure"]);
        assert_eq!(
            names("He is well.  He has heart\nfailure"),
            ["heart\nfailure"]
        );
    }

    #[test]
    fn names_neither_contain_placeholders_nor_are_in_them() {
        for placeholder in [
            "[**Failure 5827**]",
            "[**Hospital1 (failure) 18**]",
            "<failure>",
            "<PHI TYPE=\"X\">failure</PHI>",
            "{{failure}}",
            "[NAME: failure]",
            "@@@failure@@@",
            "XXXXXX",
            "xxx",
            "REDACTED",
            "STitle",
            "___",
        ] {
            assert_eq!(
                names(&format!("HF {placeholder} COPD")),
                ["HF", "COPD"],
                "{placeholder}"
            );
            assert_eq!(
                names(&format!("heart {placeholder} failure")),
                ["failure"],
                "{placeholder}"
            );
        }
        assert_eq!(
            names("[heart failure] (HF) {COPD} **failure**"),
            ["heart failure", "HF", "COPD", "failure"]
        );
    }

    #[test]
    fn name_may_contain_a_placeholder_word() {
        let dictionary = dictionary(&[("XXX syndrome", &["XXX"])], "");
        assert_eq!(
            found(&dictionary, "XXX syndrome, XXX, 47,XXX", Origin::Name),
            ["XXX syndrome"]
        );
    }

    #[test]
    fn names_match_with_or_without_a_blank_between_digits_and_letters() {
        let dictionary = dictionary(&[("5-FU", &["COVID19"]), ("type 2 diabetes", &[])], "");
        let text = "given 5-FU, given 5FU, given 5 FU, virus COVID-19, virus COVID19, type2 \
                    diabetes, type-2 diabetes, given 15FU, given 5F U";
        let found = found(&dictionary, text, Origin::Name);
        assert_eq!(
            found,
            [
                "5-FU",
                "5FU",
                "5 FU",
                "COVID-19",
                "COVID19",
                "type2 diabetes",
                "type-2 diabetes"
            ]
        );
        assert_eq!(dictionary.lookup_mention("5FU"), [ConceptId(0)]);
    }

    #[test]
    fn invisible_characters_are_ignored() {
        for text in [
            "heart\u{200b} failure",
            "hea\u{200b}rt fail\u{2060}ure",
            "\u{feff}heart\u{a0}failure\u{200d}",
            "\u{200e}heart failure",
        ] {
            let found = names(text);
            assert_eq!(found.len(), 1, "{text:?}");
            assert_eq!(normalise_name(found[0]), "heart failure");
        }
    }

    #[test]
    fn case_distinguishes_abbreviations_from_words() {
        assert_eq!(
            names("We can treat all with ALL, but not hf or Hf; HF, HFs, HFS."),
            ["ALL", "HF", "HFs"]
        );
        assert_eq!(names("copd, COPD"), ["copd", "COPD"]);
        assert_eq!(names("THE PATIENT HAS ALL SYMPTOMS"), [""; 0]);
        assert_eq!(names("ALL: penicillin"), [""; 0]);
        assert_eq!(names("MSI MSIS MSIs"), ["MSI", "MSIs"]);
    }

    #[test]
    fn ordinary_words_are_found_by_lookup_only() {
        assert_eq!(names("Stage III, late stages"), [""; 0]);
        assert_eq!(dictionary(&CONCEPTS, "").lookup("stage"), [ConceptId(5)]);
    }

    #[test]
    fn non_ascii_letters_do_not_shift_spans() {
        let text =
            "😷 FIE\u{300}VRE；Ｆｉèvre, T\u{200d}-Cell receptor alpha 👩🏽‍⚕️β-adrenergic blockers";
        assert_eq!(
            names(text),
            [
                "FIE\u{300}VRE",
                "Ｆｉèvre",
                "T\u{200d}-Cell receptor alpha",
                "β-adrenergic blockers",
            ]
        );
        assert_eq!(names("a (1->3)-glucan"), ["(1->3)-glucan"]);
    }

    #[test]
    fn time_is_linear_in_the_text() {
        let dictionary = dictionary(&CONCEPTS, "");
        let letters = [
            "a",
            "a ",
            "heart ",
            "beta-",
            "β",
            "β\u{301}",
            "a'",
            "\u{fdfa}",
            "\u{200b}",
            "1,",
            "\n",
            "非",
        ];
        let marks = [
            "a  ", "[", "[**", "<", "<a ", "{{", "@@ ", "**a", "_", "_ ", "$${", "-", " ", "\t",
            "\r", "xx ",
        ];
        let joined = [
            "Mr. ",
            "Drs. A and ",
            "J. ",
            "A/",
            "B, ",
            "B and ",
            "heart and ",
            "and/or ",
            "John ",
        ];
        for unit in letters.into_iter().chain(marks).chain(joined) {
            assert!(
                dictionary
                    .detect(
                        &unit.repeat((1 << 20) / unit.len()),
                        &DetectOptions::default()
                    )
                    .is_empty(),
                "{unit:?}"
            );
        }
        let text = "cardiac failure of nobody ".repeat(40_000);
        assert_eq!(
            dictionary.detect(&text, &DetectOptions::default()).len(),
            40_000
        );
    }

    fn piece() -> impl Strategy<Value = String> {
        let words = [
            "heart",
            "failure",
            "ALL",
            "beta",
            "blocker",
            "Crohn",
            "’s",
            "disease",
            "fi\u{300}e",
            "α",
            "T",
            "cell",
            " and ",
            "Mr. ",
        ];
        let signs = [
            " ",
            "\n",
            "-",
            "\u{ad}",
            "\u{301}",
            ",",
            "½",
            "ﬁ",
            "\u{1f637}",
            "\u{2019}",
            "\u{e9}",
            "\u{fdfa}",
            "s",
        ];
        prop_oneof![
            4 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned),
            4 => proptest::sample::select(signs.to_vec()).prop_map(str::to_owned),
            1 => any::<String>(),
        ]
    }

    proptest! {
        #[test]
        fn spans_are_valid_and_match_names(
            pieces in proptest::collection::vec(piece(), 0..40), overlapping: bool
        ) {
            let dictionary = dictionary(&CONCEPTS, "");
            let text = pieces.concat();
            let detected = dictionary.detect(
                &text,
                &DetectOptions {
                    overlapping,
                    ..DetectOptions::default()
                },
            );
            for mention in &detected {
                let name = crate::text_of(&text, mention.pieces()).expect("on character boundaries");
                prop_assert!(!dictionary.lookup_mention(&name).is_empty(), "{:?}", name);
            }
            prop_assert!(detected.is_sorted_by(|a, b| a < b));
            let whole = detected
                .iter()
                .filter(|mention| mention.fragments.is_empty())
                .collect::<Vec<_>>();
            prop_assert!(overlapping || whole.is_sorted_by(|a, b| a.span.end <= b.span.start));
        }

        #[test]
        fn varied_name_is_found_at_its_span(
            concept in 0..CONCEPTS.len(),
            before in "([.;!?😷] ?){0,3}",
            after in "[ .;!?😷\n]{0,3}",
            upper: bool,
            dash in proptest::sample::select(&[" ", "-", "\u{2013}", "\u{3000}", "\u{a0}", " \n\t"][..]),
            plural in proptest::sample::select(&["", "s"][..]),
        ) {
            let name = CONCEPTS[concept].0;
            let name = if upper {
                name.to_uppercase()
            } else {
                name.to_owned()
            };
            let ending = if name.ends_with(['s', 'S', 'e', 'E']) || upper || name.contains(',') {
                ""
            } else {
                plural
            };
            let varied = name.replace([' ', '-'], dash) + ending;
            let text = format!("{before}{varied}{after}");
            let detected = dictionary(&CONCEPTS, "").detect(&text, &DetectOptions::default());
            let expected = Span::new(before.len(), before.len() + varied.len());
            prop_assert_eq!(detected.first().map(|found| found.span), Some(expected));
            prop_assert_eq!(detected.len(), 1);
        }
    }

    #[test]
    fn join_prefers_given_mentions() {
        let detected = |origin, start, end| Detected::new(Span::new(start, end), origin);
        let given = vec![
            detected(Origin::Given, 2, 20),
            detected(Origin::Given, 4, 6),
        ];
        let found = vec![
            detected(Origin::Name, 0, 2),
            detected(Origin::Name, 10, 12),
            detected(Origin::Name, 19, 25),
            detected(Origin::Name, 20, 25),
        ];
        let joined = join(given, found);
        let spans: Vec<_> = joined
            .iter()
            .map(|detected| (detected.span.start, detected.span.end))
            .collect();
        assert_eq!(spans, [(0, 2), (2, 20), (4, 6), (20, 25)]);
    }

    #[test]
    fn join_keeps_detected_mentions_in_gaps_of_given_ones() {
        let at = |start, end| Detected::new(Span::new(start, end), Origin::Name);
        let given = Detected::of_pieces(vec![Span::new(27, 35), Span::new(7, 11)], Origin::Given)
            .expect("two pieces");
        assert_eq!(given.span, Span::new(7, 35));
        assert_eq!(given.pieces(), [Span::new(7, 11), Span::new(27, 35)]);
        let joined = join(
            vec![given],
            vec![at(0, 6), at(11, 20), at(21, 35), at(10, 12)],
        );
        let spans: Vec<_> = joined
            .iter()
            .map(|detected| (detected.span.start, detected.span.end))
            .collect();
        assert_eq!(spans, [(0, 6), (7, 35), (11, 20)]);
        let touching = Detected::of_pieces(vec![Span::new(3, 5), Span::new(0, 3)], Origin::Given);
        assert_eq!(
            touching,
            Some(Detected::new(Span::new(0, 5), Origin::Given))
        );
        assert_eq!(Detected::of_pieces(Vec::new(), Origin::Given), None);
    }
}
