//! Mentions in raw text, by a dictionary of all names of a knowledge base.
//!
//! Names and text are compared after normalising ([`normalise_name`]), word by word; spans point into the text as it was
//! given. The rules, with what each did to the spans found in 2,635 abstracts of MedMentions (precision against all gold
//! spans, recall on those whose concept is in the knowledge base, both exact; 41,054 concepts):
//!
//! | rule, each on top of those above | precision | recall |
//! | --- | --- | --- |
//! | whole words; longest name from left to right | 41.8 | 51.7 |
//! | names have a letter and at least three characters | 44.4 | 50.5 |
//! | abbreviations may be shorter; those with two letters, or that are words ("ALL"), need their case | 49.5 | 51.6 |
//! | names that are ordinary words in a note are never found (`stopped.txt`) | 57.7 | 50.8 |
//! | the last word may be in the plural or singular | 58.2 | 58.3 |
//! | a hyphen may be missing in the text or in the name; "Crohns" is "Crohn's" | 58.3 | 58.5 |
//!
//! An abbreviation that is no word, as "COPD", is found in lower case too: in text without capitals that finds 2.8 points
//! more of the gold spans at no cost in precision.
//!
//! A name may span lines, but no empty line and no list bullet. On one line it runs over no border between cells: a tab,
//! three blanks, two of them before a word with a capital, a row of underscores or dashes. It runs over no mark that an
//! anonymiser left and no tag, and in these there is none. A name that is a person's name is no mention ("Dr. Brain").
//! Names that share words are found each, in pieces: "breast and ovarian cancer".
//!
//! A word that neither these names, nor the definitions, nor plain English know in any usual form is reported as an
//! [`Origin::UnknownTerm`]; plain English is `ordinary.txt` and the lists in `lexicon/`. With them 80.5 % of the unknown
//! terms in 55 clinical notes are annotated mentions; with `ordinary.txt` alone 40.8 % were.

mod automaton;
mod build;
mod coordination;
mod deidentified;
mod dictionary;
mod fold;
mod inflect;
mod lexicon;
mod normalise;
mod persons;
mod posting;
mod scan;
mod terms;
mod words;

pub use dictionary::Dictionary;
pub use normalise::normalise_name;
pub(crate) use words::is_ordinary;

use crate::text;
use crate::text::Span;
use coordination::{around_designators, before_shared_head};
use normalise::{Gap, Source};
use persons::{Person, person_at};
use scan::{Found, Scan};
use serde::{Deserialize, Serialize};

/// A mention found in a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Detected {
    /// Where it stands, from its first piece to its last, in bytes on char boundaries of the text.
    pub span: Span,
    /// Why it was taken for a mention.
    pub origin: Origin,
    /// The pieces that it consists of, in the order of the text and apart from each other, if something stands between them
    /// that does not belong to it ("lung injuries" in "lung and heart injuries"); none if it is its whole span.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fragments: Vec<Span>,
}

impl Detected {
    /// A mention that is a whole span.
    pub fn new(span: Span, origin: Origin) -> Self {
        Self { span, origin, fragments: Vec::new() }
    }

    /// A mention of some pieces of the text, in any order; those that overlap or touch are joined. Nothing without a piece.
    pub fn of_pieces(pieces: Vec<Span>, origin: Origin) -> Option<Self> {
        let fragments = text::in_order(pieces);
        let span = Span::new(fragments.first()?.start, fragments.last()?.end);
        Some(Self { span, origin, fragments: if fragments.len() > 1 { fragments } else { Vec::new() } })
    }

    /// The pieces that it consists of, one or more.
    pub fn pieces(&self) -> &[Span] {
        text::pieces(&self.span, &self.fragments)
    }

    /// Whether both mentions share a byte; one that stands in the gap of another does not overlap it.
    pub fn overlaps(&self, other: &Self) -> bool {
        let share = |own: &Span| other.pieces().iter().any(|piece| piece.overlaps(own));
        self.span.overlaps(&other.span) && self.pieces().iter().any(share)
    }
}

/// Why a piece of text was taken for a mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It is a name in the knowledge base, or a form of one.
    Name,
    /// It is a word that neither the knowledge base nor plain English knows, and no person's name: misspelt, or new.
    UnknownTerm,
    /// The user says so.
    Given,
}

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetectOptions {
    /// Report unknown terms too. Has no effect where [`Dictionary::knows_enough_words`] is false.
    pub unknown_terms: bool,
    /// Report every name, also within and across others, instead of the longest ones from left to right.
    pub overlapping: bool,
}

impl Default for DetectOptions {
    /// Names without overlap, and unknown terms.
    fn default() -> Self {
        Self { unknown_terms: true, overlapping: false }
    }
}

impl Dictionary {
    /// The mentions in a text, by start, then end. Takes time linear in the text, and memory for what it finds alone.
    pub fn detect(&self, text: &str, options: &DetectOptions) -> Vec<Detected> {
        let unknown_terms = options.unknown_terms && self.knows_enough_words();
        let mut scan = Scan::new(self, text, Source::Text);
        let mut detected: Vec<Detected> = Vec::new();
        // Tokens; `covered` is one past the last that is part of a name, `after_term` one past the last unknown term.
        let (mut at, mut covered, mut after_term) = (0, 0, None);
        let (mut person, mut coordinated) = (Person::default(), false);
        // Where the token before starts, if it is a word with a capital that belongs to nothing yet.
        let mut capital_before = None;
        while let Some(token) = scan.token(at) {
            let mut next = at + 1;
            person = person_at(&mut scan, at).filter(|found| found.end > person.end).unwrap_or(person);
            let surname = person.first <= at && at < person.end;
            let capital = text.get(token.start..).is_some_and(|rest| rest.starts_with(char::is_uppercase));
            if token.gap != Gap::Glued {
                let names = scan.names_at(at);
                let is_mention = |found: &&Found| {
                    let whole = !surname || person.after_initial && found.last >= person.end;
                    whole && scan.accepts(at, **found)
                };
                let accepted = names.iter().filter(is_mention).map(|found| (found.last, found.end));
                let (first_new, mut longest) = (detected.len(), None);
                for (last, end) in accepted {
                    if !options.overlapping {
                        detected.truncate(first_new); // shorter ones come first
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
                let mut parts = Vec::new();
                if let Some(last) = longest.filter(|last| *last > at) {
                    parts = before_shared_head(self, &mut scan, at, last, |end| ends_at(&detected, end));
                } else if !surname && let Some((mentions, end)) = around_designators(self, &mut scan, at) {
                    parts = mentions;
                    covered = covered.max(end);
                    next = if options.overlapping { next } else { end };
                }
                coordinated |= !parts.is_empty();
                for pieces in parts {
                    if !options.overlapping {
                        make_room(&mut detected, &pieces);
                    }
                    detected.extend(Detected::of_pieces(pieces, Origin::Name));
                }
            }
            let is_free = at >= covered && !surname;
            if unknown_terms && is_free {
                let joined = after_term == Some(at) && token.gap == Gap::Hyphen;
                // Of a double name ("Harrow-Lindqvist") one half may be an English word.
                let begun = detected.last().filter(|_| joined).and_then(|term| text.get(term.span.start..));
                let is_half = capital && begun.is_some_and(|rest| rest.starts_with(char::is_uppercase));
                if is_half || self.is_unknown_term(&mut scan, at) {
                    match detected.last_mut().filter(|_| joined) {
                        Some(term) => term.span.end = token.end,
                        None => {
                            let half = capital_before.filter(|_| capital && token.gap == Gap::Hyphen);
                            let span = Span::new(half.unwrap_or(token.start), token.end);
                            detected.push(Detected::new(span, Origin::UnknownTerm));
                        }
                    }
                    after_term = Some(at + 1);
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

/// Mentions before the last one that are looked at.
const LAST: usize = 32;

/// Where the mention starts that was found last and ends at a byte.
fn ends_at(detected: &[Detected], end: usize) -> Option<usize> {
    let found = detected.iter().rev().take(LAST).find(|found| found.fragments.is_empty() && found.span.end == end);
    found.map(|found| found.span.start)
}

/// Takes out the mentions that are part of a piece: the longer name is meant.
fn make_room(detected: &mut Vec<Detected>, pieces: &[Span]) {
    let last = detected.len().saturating_sub(LAST);
    let within = |found: &Detected| {
        found.fragments.is_empty()
            && pieces.iter().any(|piece| piece.start <= found.span.start && found.span.end <= piece.end)
            && pieces.iter().map(Span::len).sum::<usize>() > found.span.len()
    };
    let kept: Vec<Detected> = detected.drain(last..).filter(|found| !within(found)).collect();
    detected.extend(kept);
}

/// Found mentions beside given ones: where they overlap, the given one stays. In the gap of a given one there is room.
pub fn join(mut given: Vec<Detected>, found: Vec<Detected>) -> Vec<Detected> {
    let mut at = 0;
    let free: Vec<Detected> = found
        .into_iter()
        .filter(|detected| {
            while given.get(at).is_some_and(|given| given.span.end <= detected.span.start) {
                at += 1;
            }
            // Given spans may overlap each other: look at all that begin before this one ends.
            let mut beside = given[at..].iter().take_while(|given| given.span.start < detected.span.end);
            !beside.any(|given| given.overlaps(detected))
        })
        .collect();
    given.extend(free);
    given.sort_by_key(|detected| (detected.span.start, detected.span.end));
    given
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kb::{Concept, ConceptId};
    use bytes::Bytes;
    use proptest::prelude::*;

    /// A dictionary of concepts with these names and synonyms; the first has a definition.
    pub(super) fn dictionary(concepts: &[(&str, &[&str])], definition: &str) -> Dictionary {
        Dictionary::from_bytes(Bytes::from(bytes(concepts, definition))).expect("what was built can be read")
    }

    pub(super) fn bytes(concepts: &[(&str, &[&str])], definition: &str) -> Vec<u8> {
        let concept = |at: usize, name: &str, synonyms: &[&str]| Concept {
            id: format!("D{at}"),
            name: name.to_owned(),
            synonyms: synonyms.iter().map(|synonym| (*synonym).to_owned()).collect(),
            definition: (at == 0).then(|| definition.to_owned()),
            ..Concept::default()
        };
        let concepts: Vec<Concept> = concepts.iter().enumerate().map(|(at, (n, s))| concept(at, n, s)).collect();
        let numbered = concepts.iter().enumerate().map(|(at, concept)| (ConceptId(at as u32), concept));
        Dictionary::build(numbered).expect("it can be built")
    }

    pub(super) fn found<'t>(dictionary: &Dictionary, text: &'t str, origin: Origin) -> Vec<&'t str> {
        let detected = dictionary.detect(text, &DetectOptions::default());
        let detected = detected.into_iter().filter(|mention| mention.origin == origin);
        detected.map(|mention| mention.span.of(text).expect("a span can be cut")).collect()
    }

    const CONCEPTS: [(&str, &[&str]); 9] = [
        ("heart failure", &["HF", "cardiac failure"]),
        ("failure", &[]),
        ("acute lymphoblastic leukemia", &["ALL"]),
        ("Crohn's disease", &["Morbus Crohn"]),
        ("beta-blocker", &["β adrenergic blocker"]),
        ("nonsmoker", &["Stage"]),
        ("COPD", &["chronic obstructive pulmonary disease"]),
        ("diagnosis", &["Fièvre", "T-cell receptor α", "(1->3)-glucan"]),
        ("heart failure, left", &["MSI"]),
    ];

    fn names(text: &str) -> Vec<&str> {
        found(&dictionary(&CONCEPTS, "all of them can fail"), text, Origin::Name)
    }

    #[test]
    fn the_longest_name_from_left_to_right_is_taken() {
        assert_eq!(names("cardiac failure; heart failure, left heart"), ["cardiac failure", "heart failure, left"]);
        assert_eq!(names("heart failures, failures"), ["heart failures", "failures"]);
        assert_eq!(names("chronic obstructive lung failure"), ["failure"]);
    }

    #[test]
    fn overlapping_names_are_all_reported_on_request() {
        let options = DetectOptions { overlapping: true, ..DetectOptions::default() };
        let detected = dictionary(&CONCEPTS, "").detect("heart failure, left", &options);
        let spans: Vec<(usize, usize)> = detected.iter().map(|found| (found.span.start, found.span.end)).collect();
        assert_eq!(spans, [(0, 13), (0, 19), (6, 13)]);
    }

    #[test]
    fn words_are_matched_whole() {
        assert_eq!(names("heartfailure xHF HFx HF2 failurexyz 1failure"), [""; 0]);
        assert_eq!(names("(HF) HF,HF/HF 'HF'"), ["HF"; 5]);
    }

    #[test]
    fn hyphens_blanks_lines_and_apostrophes_vary() {
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
            ["Crohn’s disease", "Crohn disease", "crohns disease", "Crohn's Disease",]
        );
        assert_eq!(names("a non-smoker, non\u{2010}smokers, non smoker"), ["non-smoker", "non\u{2010}smokers"]);
    }

    #[test]
    fn an_empty_line_and_a_bullet_part_names() {
        assert_eq!(names("heart\nfailure"), ["heart\nfailure"]);
        assert_eq!(names("heart\n\nfailure"), ["failure"]);
        assert_eq!(names("- heart\n- failure"), ["failure"]);
    }

    #[test]
    fn cells_of_a_line_part_names() {
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
            assert_eq!(names(&format!("Heart{border}Failure to thrive")), ["Failure"], "{border:?}");
        }
        // Two blanks before a word in lower case are a slip in prose, and a border where the line has another one.
        assert_eq!(names("a chronic heart  failure"), ["heart  failure"]);
        assert_eq!(names("heart  failure   none"), ["failure"]);
        assert_eq!(names("Test   heart  failure"), ["failure"]);
        assert_eq!(names("cardiac failure  heart failure\tfailure"), ["cardiac failure", "heart failure", "failure"]);
        assert_eq!(names("copd  HF\tALL  "), ["copd", "HF", "ALL"]);
    }

    #[test]
    fn a_line_end_with_blanks_around_it_parts_nothing() {
        for end in ["\n", "   \n", "\n          ", "  \r\n\t", "\r", " \r\r\n ", "\u{2028}  "] {
            let text = format!("chronic heart{end}failure");
            assert_eq!(names(&text), [&text[8..]], "{end:?}");
        }
        for end in ["\r\r", "\r\n\r\n", "\n \n"] {
            assert_eq!(names(&format!("heart{end}failure")), ["failure"], "{end:?}");
        }
    }

    #[test]
    fn a_cell_goes_on_in_an_indented_line_and_not_in_the_next_row() {
        let text = "PMH      chronic heart\n         failure";
        assert_eq!(names(text), ["heart\n         failure"]);
        assert_eq!(names("Chest    heart\nfailure  none"), ["failure"]);
        assert_eq!(names("1.\tchronic heart\nfailure"), ["heart\nfailure"]);
        assert_eq!(names("He is well.  He has heart\nfailure"), ["heart\nfailure"]);
    }

    #[test]
    fn marks_of_anonymisers_hold_no_mention_and_part_names() {
        for mark in [
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
            assert_eq!(names(&format!("HF {mark} COPD")), ["HF", "COPD"], "{mark}");
            assert_eq!(names(&format!("heart {mark} failure")), ["failure"], "{mark}");
        }
        assert_eq!(names("[heart failure] (HF) {COPD} **failure**"), ["heart failure", "HF", "COPD", "failure"]);
    }

    #[test]
    fn a_name_may_hold_a_row_of_crosses() {
        let dictionary = dictionary(&[("XXX syndrome", &["XXX"])], "");
        assert_eq!(found(&dictionary, "XXX syndrome, XXX, 47,XXX", Origin::Name), ["XXX syndrome"]);
    }

    #[test]
    fn digits_and_letters_may_be_apart() {
        let dictionary = dictionary(&[("5-FU", &["COVID19"]), ("type 2 diabetes", &[])], "");
        let text = "given 5-FU, given 5FU, given 5 FU, virus COVID-19, virus COVID19, type2 diabetes, type-2 diabetes, \
                    given 15FU, given 5F U";
        let found = found(&dictionary, text, Origin::Name);
        assert_eq!(found, ["5-FU", "5FU", "5 FU", "COVID-19", "COVID19", "type2 diabetes", "type-2 diabetes"]);
        assert_eq!(dictionary.lookup_mention("5FU"), [ConceptId(0)]);
    }

    #[test]
    fn signs_that_nobody_sees_do_not_matter() {
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
    fn case_tells_abbreviations_from_words() {
        assert_eq!(names("We can treat all with ALL, but not hf or Hf; HF, HFs, HFS."), ["ALL", "HF", "HFs"]);
        assert_eq!(names("copd, COPD"), ["copd", "COPD"]);
        assert_eq!(names("THE PATIENT HAS ALL SYMPTOMS"), [""; 0]);
        assert_eq!(names("ALL: penicillin"), [""; 0]);
        assert_eq!(names("MSI MSIS MSIs"), ["MSI", "MSIs"]);
    }

    #[test]
    fn ordinary_words_are_found_by_name_only() {
        assert_eq!(names("Stage III, late stages"), [""; 0]);
        assert_eq!(dictionary(&CONCEPTS, "").lookup("stage"), [ConceptId(5)]);
    }

    #[test]
    fn foreign_letters_do_not_shift_spans() {
        let text = "😷 FIE\u{300}VRE；Ｆｉèvre, T\u{200d}-Cell receptor alpha 👩🏽‍⚕️β-adrenergic blockers";
        assert_eq!(
            names(text),
            ["FIE\u{300}VRE", "Ｆｉèvre", "T\u{200d}-Cell receptor alpha", "β-adrenergic blockers",]
        );
        assert_eq!(names("a (1->3)-glucan"), ["(1->3)-glucan"]);
    }

    #[test]
    fn a_long_line_takes_linear_time() {
        let dictionary = dictionary(&CONCEPTS, "");
        let letters = ["a", "a ", "heart ", "beta-", "β", "β\u{301}", "a'", "\u{fdfa}", "\u{200b}", "1,", "\n", "非"];
        let marks = ["a  ", "[", "[**", "<", "<a ", "{{", "@@ ", "**a", "_", "_ ", "$${", "-", " ", "\t", "\r", "xx "];
        let joined = ["Mr. ", "Drs. A and ", "J. ", "A/", "B, ", "B and ", "heart and ", "and/or ", "John "];
        for unit in letters.into_iter().chain(marks).chain(joined) {
            assert!(
                dictionary.detect(&unit.repeat((1 << 20) / unit.len()), &DetectOptions::default()).is_empty(),
                "{unit:?}"
            );
        }
        let text = "cardiac failure of nobody ".repeat(40_000);
        assert_eq!(dictionary.detect(&text, &DetectOptions::default()).len(), 40_000);
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
        let signs =
            [" ", "\n", "-", "\u{ad}", "\u{301}", ",", "½", "ﬁ", "\u{1f637}", "\u{2019}", "\u{e9}", "\u{fdfa}", "s"];
        prop_oneof![
            4 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned),
            4 => proptest::sample::select(signs.to_vec()).prop_map(str::to_owned),
            1 => any::<String>(),
        ]
    }

    proptest! {
        #[test]
        fn spans_can_be_cut_and_are_names(pieces in proptest::collection::vec(piece(), 0..40), overlapping: bool) {
            let dictionary = dictionary(&CONCEPTS, "");
            let text = pieces.concat();
            let detected = dictionary.detect(&text, &DetectOptions { overlapping, ..DetectOptions::default() });
            for mention in &detected {
                let name = text::text_of(&text, mention.pieces()).expect("on char boundaries");
                prop_assert!(!dictionary.lookup_mention(&name).is_empty(), "{:?}", name);
            }
            prop_assert!(detected.is_sorted_by(|a, b| a < b));
            let whole = detected.iter().filter(|mention| mention.fragments.is_empty()).collect::<Vec<_>>();
            prop_assert!(overlapping || whole.is_sorted_by(|a, b| a.span.end <= b.span.start));
        }

        #[test]
        fn a_name_in_any_dress_is_found_where_it_stands(
            concept in 0..CONCEPTS.len(),
            before in "([.;!?😷] ?){0,3}",
            after in "[ .;!?😷\n]{0,3}",
            upper: bool,
            dash in proptest::sample::select(&[" ", "-", "\u{2013}", "\u{3000}", "\u{a0}", " \n\t"][..]),
            plural in proptest::sample::select(&["", "s"][..]),
        ) {
            let name = CONCEPTS[concept].0;
            let name = if upper { name.to_uppercase() } else { name.to_owned() };
            let ending = if name.ends_with(['s', 'S', 'e', 'E']) || upper || name.contains(',') { "" } else { plural };
            let dressed = name.replace([' ', '-'], dash) + ending;
            let text = format!("{before}{dressed}{after}");
            let detected = dictionary(&CONCEPTS, "").detect(&text, &DetectOptions::default());
            prop_assert_eq!(detected.first().map(|found| found.span), Some(Span::new(before.len(), before.len() + dressed.len())));
            prop_assert_eq!(detected.len(), 1);
        }
    }

    #[test]
    fn given_spans_win_over_found_ones() {
        let detected = |origin, start, end| Detected::new(Span::new(start, end), origin);
        let given = vec![detected(Origin::Given, 2, 20), detected(Origin::Given, 4, 6)];
        let found = vec![
            detected(Origin::Name, 0, 2),
            detected(Origin::Name, 10, 12),
            detected(Origin::Name, 19, 25),
            detected(Origin::Name, 20, 25),
        ];
        let joined = join(given, found);
        let spans: Vec<_> = joined.iter().map(|detected| (detected.span.start, detected.span.end)).collect();
        assert_eq!(spans, [(0, 2), (2, 20), (4, 6), (20, 25)]);
    }
    #[test]
    fn a_found_mention_in_the_gap_of_a_given_one_stays() {
        let at = |start, end| Detected::new(Span::new(start, end), Origin::Name);
        let given = Detected::of_pieces(vec![Span::new(27, 35), Span::new(7, 11)], Origin::Given).expect("two pieces");
        assert_eq!((given.span, given.pieces()), (Span::new(7, 35), &[Span::new(7, 11), Span::new(27, 35)][..]));
        let joined = join(vec![given], vec![at(0, 6), at(11, 20), at(21, 35), at(10, 12)]);
        let spans: Vec<_> = joined.iter().map(|detected| (detected.span.start, detected.span.end)).collect();
        assert_eq!(spans, [(0, 6), (7, 35), (11, 20)]);
        let touching = Detected::of_pieces(vec![Span::new(3, 5), Span::new(0, 3)], Origin::Given);
        assert_eq!(touching, Some(Detected::new(Span::new(0, 5), Origin::Given)));
        assert_eq!(Detected::of_pieces(Vec::new(), Origin::Given), None);
    }
}
