use super::*;
use proptest::prelude::*;

/// What the first use of `word` at or after the last place of `from` means.
fn meaning<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let at = text.rfind(word).expect("it is there");
    let found = Abbreviations::of(text).meaning(word, Span::new(at, at + word.len()))?;
    Some(&text[found.long.start..found.long.end])
}

fn check(cases: &[(&str, &str, &str)]) {
    for (text, short, long) in cases {
        assert_eq!(meaning(text, short), Some(*long), "{text}");
    }
}

fn check_none(cases: &[(&str, &str)]) {
    for (text, short) in cases {
        assert_eq!(meaning(text, short), None, "{text}");
    }
}

#[test]
fn definitions_in_brackets() {
    check(&[
        ("Infants small for gestational age (SGA) and others. SGA", "SGA", "small for gestational age"),
        ("patients with multiple myeloma (MM)", "MM", "multiple myeloma"),
        ("a tail suspension test (TST)", "TST", "tail suspension test"),
        ("the extracellular matrix [ECM] was", "ECM", "extracellular matrix"),
        ("cancer stem cells (CSCs); a CSC", "CSC", "cancer stem cells"),
        ("a cancer stem cell (CSC); CSCs", "CSCs", "cancer stem cell"),
        ("interleukin-10 (IL-10, 5 ng)", "IL-10", "interleukin-10"),
        ("HCV (hepatitis C virus) is", "HCV", "hepatitis C virus"),
        ("électro-encéphalographie (ÉEG)", "ÉEG", "électro-encéphalographie"),
        ("congestive heart failure (CHF). No chf", "chf", "congestive heart failure"),
        ("first Mitral Stenosis (MS), then Multiple Sclerosis (MS) and MS", "MS", "Multiple Sclerosis"),
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
fn definitions_whose_brackets_were_lost() {
    check(&[
        ("born small for gestational age sga . sga", "sga", "small for gestational age"),
        ("the skeletal muscle skm of", "skm", "skeletal muscle"),
        ("oral lichen planus olp", "olp", "oral lichen planus"),
        ("pegylated nanoparticles nps", "nps", "nanoparticles"),
        ("sudden arrhythmic death syndrome sads", "sads", "sudden arrhythmic death syndrome"),
        ("bovine herpesvirus 1 bhv-1 in cattle", "bhv-1", "bovine herpesvirus 1"),
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
    ]);
}

#[test]
fn mentions_are_written_out() {
    let text = "Nanoparticles (NPs) in small for gestational age (SGA) infants: SGA infants, non-SGA ones, liposome-based NPs.";
    let mut reader = Reader::new(true);
    let mut read = |piece: &str| {
        let at = text.rfind(piece).expect("it is there");
        reader.mention(text, Span::new(at, at + piece.len())).expect("it fits").text.into_owned()
    };
    assert_eq!(read("SGA infants"), "small for gestational age infants");
    assert_eq!(read("non-SGA"), "non-small for gestational age");
    assert_eq!(read("liposome-based NPs"), "liposome-based Nanoparticles");
    // The definition itself stays as it is.
    assert_eq!(read("small for gestational age (SGA) infants"), "small for gestational age (SGA) infants");
    assert_eq!(read("ones"), "ones");
    let at = |piece: &str| {
        let start = text.rfind(piece).expect("it is there");
        Span::new(start, start + piece.len())
    };
    let parts = [at("SGA infants, non"), at("ones")].map(|span| Span::new(span.start, span.start + 4));
    let in_parts = reader.mention_in(text, &parts).expect("it fits");
    assert_eq!((in_parts.text.as_ref(), in_parts.right), ("small for gestational age  ones", ", liposome-based NPs."));
    let plain = Reader::new(false).mention(text, Span::new(15, 18)).expect("it fits");
    assert_eq!((plain.text.as_ref(), plain.left), ("NPs", "Nanoparticles ("));
    let all: Vec<(&str, &str)> =
        Abbreviations::of(text).all().map(|(span, long)| (&text[span.start..span.end], long)).collect();
    let (nps, sga) = (("NPs", "Nanoparticles"), ("SGA", "small for gestational age"));
    assert_eq!(all, [nps, sga, sga, sga, nps]);
}

#[test]
fn a_long_text_takes_linear_time() {
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
            found.all().count() <= text.len() && found.expand(Span::new(0, unit.len())).is_none_or(|it| !it.is_empty())
        );
    }
}

proptest! {
    #[test]
    fn any_text_can_be_read(pieces in proptest::collection::vec(
        proptest::sample::select(&["a", "ab", "Abc", "(", ")", "[", "]", " ", "-", "\n", "é", "ß", "İ", "😷", "1", "s", ", ", "acid base c"][..]), 0..60
    )) {
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
