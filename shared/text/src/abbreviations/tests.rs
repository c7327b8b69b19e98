use super::*;
use proptest::prelude::*;
use std::cell::Cell;

thread_local! {
    /// Definitions that searches compared with a place.
    pub(super) static COMPARISONS: Cell<usize> = const { Cell::new(0) };
}

/// The long form of the last occurrence of `word`.
fn long_form<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let at = text.rfind(word).expect("the text has it");
    let found = Abbreviations::of(text).definition_of(word, Span::new(at, at + word.len()))?;
    Some(&text[found.long.start..found.long.end])
}

fn check(cases: &[(&str, &str, &str)]) {
    for (text, short, long) in cases {
        assert_eq!(long_form(text, short), Some(*long), "{text}");
    }
}

fn check_none(cases: &[(&str, &str)]) {
    for (text, short) in cases {
        assert_eq!(long_form(text, short), None, "{text}");
    }
}

#[test]
fn capitals_need_not_be_in_the_order_of_the_words_in_brackets() {
    check(&[
        ("myotonic dystrophy (DM). DM", "DM", "myotonic dystrophy"),
        (
            "the carcinoma of the breast (BC). BC",
            "BC",
            "carcinoma of the breast",
        ),
        (
            "Charcot-Marie-Tooth disease (CMT). CMT",
            "CMT",
            "Charcot-Marie-Tooth disease",
        ),
    ]);
    check_none(&[
        ("a patient with tuberculosis (XT). XT", "XT"),
        ("myotonic dystrophy dm. dm", "dm"),
        ("Charcot-Marie-Tooth gait (CMT). CMT", "CMT"),
        ("the disease (DT). DT", "DT"),
    ]);
}

#[test]
fn bracketed_definitions_are_found() {
    check(&[
        (
            "Infants small for gestational age (SGA) and others. SGA",
            "SGA",
            "small for gestational age",
        ),
        (
            "patients with multiple myeloma (MM)",
            "MM",
            "multiple myeloma",
        ),
        (
            "a tail suspension test (TST)",
            "TST",
            "tail suspension test",
        ),
        (
            "the extracellular matrix [ECM] was",
            "ECM",
            "extracellular matrix",
        ),
        (
            "cancer stem cells (CSCs); a CSC",
            "CSC",
            "cancer stem cells",
        ),
        ("a cancer stem cell (CSC); CSCs", "CSCs", "cancer stem cell"),
        ("interleukin-10 (IL-10, 5 ng)", "IL-10", "interleukin-10"),
        ("HCV (hepatitis C virus) is", "HCV", "hepatitis C virus"),
        (
            "électro-encéphalographie (ÉEG)",
            "ÉEG",
            "électro-encéphalographie",
        ),
        (
            "congestive heart failure (CHF). No chf",
            "chf",
            "congestive heart failure",
        ),
        (
            "first Mitral Stenosis (MS), then Multiple Sclerosis (MS) and MS",
            "MS",
            "Multiple Sclerosis",
        ),
    ]);
    check_none(&[
        ("it fell (see below)", "see"),
        ("acute lymphoblastic leukemia (ALL) in all", "all"),
        ("gold. Standard (GS)", "GS"),
        ("ten patients (12 %)", "12"),
        ("a b (ab", "ab"),
        ("blood pressure (xyz)", "xyz"),
    ]);
}

#[test]
fn definitions_without_brackets_are_found() {
    check(&[
        (
            "born small for gestational age sga . sga",
            "sga",
            "small for gestational age",
        ),
        ("the skeletal muscle skm of", "skm", "skeletal muscle"),
        ("oral lichen planus olp", "olp", "oral lichen planus"),
        ("pegylated nanoparticles nps", "nps", "nanoparticles"),
        (
            "sudden arrhythmic death syndrome sads",
            "sads",
            "sudden arrhythmic death syndrome",
        ),
        (
            "bovine herpesvirus 1 bhv-1 in cattle",
            "bhv-1",
            "bovine herpesvirus 1",
        ),
        ("ribonucleic acids rnas", "rnas", "ribonucleic acids"),
    ]);
    check_none(&[
        ("a large lesion all", "all"),
        ("fresh bovine bone", "bone"),
        ("idle lungs ill", "ill"),
        ("old nasal obstruction on", "on"),
        ("to be treated tbt", "tbt"),
        ("treatment tr", "tr"),
        ("heart failure, hf", "hf"),
        ("heart\r\n\r\nfailure hf", "hf"),
        ("the heart, lung hl", "hl"),
        // No long form starts with a pronoun.
        ("She takes St. John's wort", "St"),
        ("He takes HT tablets", "HT"),
        ("feels her pulse HP at night", "HP"),
        ("when they prescribed TP daily", "TP"),
        ("saw his surgeon HS again", "HS"),
    ]);
}

#[test]
fn english_words_are_not_short_forms() {
    check_none(&[
        // s-i-n-u in "Symptoms include" and p-ed-is in "palpable dorsalis" match, but are words.
        ("Symptoms include sinus pressure", "sinus"),
        ("palpable dorsalis pedis pulses", "pedis"),
        ("before starting taking stat doses", "stat"),
        ("of the immunologic systems is", "is"),
        ("PALPABLE DORSALIS PEDIS PULSES", "PEDIS"),
        ("the test was over two weeks", "two"),
        (
            "bleeding and rejection in experimental (renal) grafts",
            "renal",
        ),
        ("stenoses of the tested (stents)", "stents"),
    ]);
    check(&[
        (
            "the mean arterial pressure map fell",
            "map",
            "mean arterial pressure",
        ),
        (
            "the interquartile range iqr was",
            "iqr",
            "interquartile range",
        ),
        (
            "urinary tract infections utis and",
            "utis",
            "urinary tract infections",
        ),
        ("apolipoprotein (apo) and apo", "apo", "apolipoprotein"),
    ]);
}

#[test]
fn list_markers_and_references_define_nothing() {
    check_none(&[
        ("(i) heart rate, intravenous volume (iv) and iv", "iv"),
        ("it was refractory effusion fluid (Ref)", "Ref"),
        ("highest risk group (Hughes et al., 2011) Hughes", "Hughes"),
    ]);
    check(&[("given intravenously (iv), iv", "iv", "intravenously")]);
}

#[test]
fn long_form_starts_at_a_token() {
    check(&[
        (
            "tissue type plasminogen activator (tPA). tPA",
            "tPA",
            "tissue type plasminogen activator",
        ),
        (
            "tissue-type plasminogen activator (tPA). tPA",
            "tPA",
            "tissue-type plasminogen activator",
        ),
        ("type 2 diabetes (T2D), T2D", "T2D", "type 2 diabetes"),
        (
            "with 2,6-diaminopurine (DAP), DAP",
            "DAP",
            "2,6-diaminopurine",
        ),
        (
            "alpha-1-antitrypsin deficiency (ATD), ATD",
            "ATD",
            "alpha-1-antitrypsin deficiency",
        ),
        (
            "(-)-[125I]-cyanopindolol (CYP), CYP",
            "CYP",
            "(-)-[125I]-cyanopindolol",
        ),
        (
            "(the N-nitrosodimethylamine (NDMA), NDMA",
            "NDMA",
            "N-nitrosodimethylamine",
        ),
        // A negating prefix is not part of the long form.
        (
            "anti-human immunodeficiency virus (HIV), HIV",
            "HIV",
            "human immunodeficiency virus",
        ),
        (
            "non-high-density lipoprotein (HDL), HDL",
            "HDL",
            "high-density lipoprotein",
        ),
    ]);
}

#[test]
fn definitions_are_in_text_order() {
    let text = "Small for gestational age (SGA), the skeletal muscle skm, SGA.";
    let found: Vec<(&str, &str, bool)> = Abbreviations::of(text)
        .definitions()
        .map(|found| {
            (
                &text[found.short.start..found.short.end],
                &text[found.long.start..found.long.end],
                found.bracketed,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("SGA", "Small for gestational age", true),
            ("skm", "skeletal muscle", false)
        ]
    );
}

#[test]
fn reader_expands_abbreviations_in_mentions() {
    let text = "Nanoparticles (NPs) in small for gestational age (SGA) infants: SGA infants, \
                non-SGA ones, liposome-based NPs.";
    let mut reader = Reader::new(true);
    let mut expand = |piece: &str| {
        let at = text.rfind(piece).expect("the text has it");
        reader
            .mention(text, Span::new(at, at + piece.len()))
            .expect("it fits")
            .text
            .into_owned()
    };
    assert_eq!(expand("SGA infants"), "small for gestational age infants");
    assert_eq!(expand("non-SGA"), "non-small for gestational age");
    assert_eq!(expand("liposome-based NPs"), "liposome-based Nanoparticles");
    // The definition itself is not expanded.
    assert_eq!(
        expand("small for gestational age (SGA) infants"),
        "small for gestational age (SGA) infants"
    );
    assert_eq!(expand("ones"), "ones");
    let at = |piece: &str| {
        let start = text.rfind(piece).expect("the text has it");
        Span::new(start, start + piece.len())
    };
    let parts =
        [at("SGA infants, non"), at("ones")].map(|span| Span::new(span.start, span.start + 4));
    let discontinuous = reader.mention_in(text, &parts).expect("it fits");
    assert_eq!(discontinuous.text, "small for gestational age  ones");
    assert_eq!(discontinuous.right, ", liposome-based NPs.");
    let plain = Reader::new(false)
        .mention(text, Span::new(15, 18))
        .expect("it fits");
    assert_eq!(plain.text, "NPs");
    assert_eq!(plain.left, "Nanoparticles (");
    let all: Vec<(&str, &str)> = Abbreviations::of(text)
        .all()
        .map(|(span, long)| (&text[span.start..span.end], long))
        .collect();
    let nps = ("NPs", "Nanoparticles");
    let sga = ("SGA", "small for gestational age");
    assert_eq!(all, [nps, sga, sga, sga, nps]);
}

#[test]
fn time_is_linear_in_the_text() {
    for unit in [
        "a ",
        "a (",
        "(a ",
        "(a) ",
        "ab ab ",
        "a-",
        "a b (ab) ",
        "a b ab ",
        "ab (a b) ",
        "abcdef ",
        "a, b; ",
        "\u{301}",
        "\n\n",
    ] {
        let text = unit.repeat((1 << 20) / unit.len());
        let found = Abbreviations::of(&text);
        assert!(
            found.all().count() <= text.len()
                && found
                    .expand(Span::new(0, unit.len()))
                    .is_none_or(|it| !it.is_empty())
        );
    }
}

#[test]
fn search_of_definitions_is_logarithmic_in_their_number() {
    // Alternating long forms, so that no definition repeats the one before; English words never
    // match them.
    let unit = "acute lymphoblastic leukemia (ALL), acute long latency (ALL). all ";
    let comparisons = |count: usize| {
        let text = unit.repeat(count);
        let found = Abbreviations::of(&text);
        assert_eq!(found.definitions().count(), 2 * count);
        COMPARISONS.set(0);
        assert_eq!(found.all().count(), 2 * count);
        COMPARISONS.get()
    };
    let (few, many) = (comparisons(100), comparisons(1600));
    // 16 times the text, and 4 more halvings of a search that takes 8 of 200 definitions.
    assert!(many < 16 * few * 2, "{few} comparisons, then {many}");
}

#[test]
fn english_words_match_the_spelling_of_a_short_form() {
    check(&[
        (
            "acute lymphoblastic leukemia (ALL). ALLs",
            "ALLs",
            "acute lymphoblastic leukemia",
        ),
        (
            "acute lymphoblastic leukemias (ALLs). ALL",
            "ALL",
            "acute lymphoblastic leukemias",
        ),
        (
            "the mean arterial pressure map fell. maps",
            "maps",
            "mean arterial pressure",
        ),
    ]);
    check_none(&[
        ("acute lymphoblastic leukemia (ALL). alls", "alls"),
        ("anti smooth antigen (asa). assa", "assa"),
    ]);
}

proptest! {
    #[test]
    fn spans_of_any_text_are_valid(
        pieces in proptest::collection::vec(
            proptest::sample::select(
                &[
                    "a", "ab", "Abc", "(", ")", "[", "]", " ", "-", "\n", "é", "ß", "İ", "😷", "1",
                    "s", ", ", "acid base c",
                ][..],
            ),
            0..60,
        ),
    ) {
        let text = pieces.concat();
        let found = Abbreviations::of(&text);
        for (span, long) in found.all() {
            prop_assert!(span.of(&text).is_ok() && !long.is_empty());
        }
        if !text.is_empty() {
            let expanded = found.expand(Span::new(0, text.len()));
            prop_assert!(expanded.is_none_or(|expanded| expanded != text));
        }
    }
}
