//! Tests of attributes with invented sentences.

use super::*;
use proptest::prelude::*;

/// A mention by its words, and its kind.
type Said<'a> = (&'a str, Kind);

/// The attributes of each mention as "NAME TEXT = NORMAL".
fn found(rules: &AttributeRules, text: &str, mentions: &[Said]) -> Vec<Vec<String>> {
    let spans: Vec<[Span; 1]> = mentions
        .iter()
        .map(|(words, _)| {
            let at = text.find(words).unwrap();
            [Span::new(at, at + words.len())]
        })
        .collect();
    let anchors: Vec<Anchor> = spans
        .iter()
        .zip(mentions)
        .map(|(pieces, (_, kind))| Anchor {
            pieces,
            kind: *kind,
        })
        .collect();
    let all = rules.find(text, &anchors);
    let shown = |one: &Attribute| {
        let prior = if one.prior { "prior " } else { "" };
        let words = one.span.of(text).unwrap();
        let value = serde_json::to_string(&one.value).unwrap().replace('"', "");
        format!("{prior}{} {words} = {value}", one.name.name())
    };
    all.iter()
        .map(|attributes| attributes.iter().map(shown).collect())
        .collect()
}

fn english(text: &str, mentions: &[Said]) -> Vec<Vec<String>> {
    found(AttributeRules::english(), text, mentions)
}

const SMALL: &str = "\
words joining:
    \",\", and
words linking:
    of, the
words referring:
    it
words mass:
    mg: mg, milligrams
words time:
    h: h, hours
    d: day, days
words amount:
    $number: <number>
    $number..$number.2: <number> (-|to) <number>
attributes of drug carried:
    strength{<amount> <mass>}
    frequency{(every|q) <amount> <time> => timing 1 per $amount $time}
    for duration{<amount> <time> => duration $amount $time}
    from prior:strength{<number> <mass>} to strength{<number> <mass>}
attributes of drug forward list:
    status{start => start}
attributes of problem before inside:
    severity{mild}
nothing of drug:
    <number> mg / dl
";

fn small(text: &str, mentions: &[Said]) -> Vec<Vec<String>> {
    found(
        &AttributeRules::parse(SMALL, "small.attributes").unwrap(),
        text,
        mentions,
    )
}

#[test]
fn built_in_rules_are_valid() {
    for (name, _) in BUILT_IN {
        if let Err(error) = AttributeRules::built_in(name).unwrap() {
            // A part refers to the words.
            assert!(name != "english", "{error}");
        }
    }
}

#[test]
fn patterns_give_attributes_with_normal_forms() {
    for (text, expected) in [
        ("ASA 20mg", "strength 20mg = 20 mg"),
        ("ASA 1,000 mg", "strength 1,000 mg = 1000 mg"),
        (
            "ASA .5-1 milligrams",
            "strength .5-1 milligrams = 0.5..1 mg",
        ),
        (
            "ASA q4-6h",
            "frequency q4-6h = {frequency:1,period:4,period_max:6,unit:h}",
        ),
        ("ASA q.8h.", "frequency q.8h. = Q8H"),
        ("ASA every 24 hours", "frequency every 24 hours = QD"),
        ("ASA for 3 to 4 days", "duration 3 to 4 days = P3D..P4D"),
    ] {
        assert_eq!(
            small(text, &[("ASA", Kind::Drug)]),
            [[expected]],
            "{text:?}"
        );
    }
}

#[test]
fn numbers_that_are_none_give_nothing() {
    for text in [
        "ASA 1,000.5.2 mg",
        "ASA 10/20 mg",
        "ASA 5-10-20 mg",
        "ASA B12mg",
        "ASA 20 mg/dl",
        "ASA 20mgs",
    ] {
        let none: [Vec<String>; 1] = [Vec::new()];
        assert_eq!(small(text, &[("ASA", Kind::Drug)]), none, "{text:?}");
    }
}

#[test]
fn an_attribute_belongs_to_the_mention_it_is_said_of() {
    let drugs = [("aspirin", Kind::Drug), ("statin", Kind::Drug)];
    for (text, aspirin, statin) in [
        ("aspirin 5 mg and statin 10 mg", "5 mg", "10 mg"),
        ("5 mg of aspirin and 10 mg of the statin", "5 mg", "10 mg"),
        ("aspirin, statin 10 mg", "", "10 mg"),
        ("aspirin, 5 mg, and statin", "5 mg", ""),
        ("aspirin 5 mg\nstatin 10 mg", "5 mg", "10 mg"),
        ("aspirin\nstatin. It was 10 mg", "", "10 mg"),
        ("- aspirin\n- statin\n\n5 mg", "", ""),
    ] {
        let values: Vec<String> = small(text, &drugs)
            .iter()
            .map(|attributes| attributes.join(" "))
            .collect();
        let shown = |value: &str| match value {
            "" => String::new(),
            value => format!("strength {value} = {value}"),
        };
        assert_eq!(values, [shown(aspirin), shown(statin)], "{text:?}");
    }
}

#[test]
fn a_verb_is_said_of_each_mention_of_a_list() {
    let drugs = [("aspirin", Kind::Drug), ("statin", Kind::Drug)];
    let start = "status start = start";
    assert_eq!(
        small("start aspirin and the statin", &drugs),
        [[start], [start]]
    );
    let first = small("start aspirin. The statin helps", &drugs);
    assert_eq!(first, [vec![start.to_owned()], Vec::new()]);
}

#[test]
fn an_earlier_value_is_marked() {
    assert_eq!(
        small("ASA from 5 mg to 10 mg", &[("ASA", Kind::Drug)]),
        [["prior strength 5 mg = 5 mg", "strength 10 mg = 10 mg"]]
    );
}

#[test]
fn an_attribute_is_in_its_own_mention_only() {
    let rash = [("mild rash", Kind::Problem)];
    assert_eq!(small("mild rash", &rash), [["severity mild = mild"]]);
    let both = [("mild rash", Kind::Drug), ("cough", Kind::Problem)];
    let none: [Vec<String>; 2] = Default::default();
    assert_eq!(small("mild rash, cough", &both), none);
    let before = [("cough", Kind::Problem), ("rash", Kind::Problem)];
    assert_eq!(
        small("cough, mild rash", &before),
        [vec![], vec!["severity mild = mild".to_owned()]]
    );
}

#[test]
fn a_file_with_an_error_is_refused_with_its_line() {
    for (text, message) in [
        (
            "words mass",
            "expected ':' at the end of \"words mass\" (own:1)",
        ),
        (
            "    mg",
            "expected a heading before the first indented line, found \"mg\" (own:1)",
        ),
        (
            "\nwords Mass:",
            "expected one name in lower case after \"words\", found \"words Mass\" (own:2)",
        ),
        (
            "attributes of\n",
            "expected ':' at the end of \"attributes of\" (own:1)",
        ),
        (
            "attributes of:\n",
            "expected a kind of mention after \"of\", found none (own:1)",
        ),
        (
            "attributes of drug:\n    strength{<mass>}",
            "expected the name of a class declared above, found \"mass\" (own:2)",
        ),
        (
            "attributes of drug:\n    mg",
            "expected an attribute in \"mg\", found none (own:2)",
        ),
        (
            "attributes of drug:\n    dose{one",
            "expected a closing '}', found \"\" (own:2)",
        ),
        (
            "attributes of drug:\n    dose{one => $two}",
            "expected a class of the pattern after '$', found \"two\" (own:2)",
        ),
        (
            "attributes of drug:\n    dose{one => timing 1}",
            "expected \"timing TIMES per PERIOD UNIT [at WHEN]\", found \"timing 1\" (own:2)",
        ),
        (
            "attributes of drug:\n    (one|two",
            "expected ')', found \"\" (own:2)",
        ),
        (
            "words a:\n    ()",
            "expected a pattern with a word, mark or class, found \"()\" (own:2)",
        ),
        (
            "include german",
            "expected one of english, english-words, english-dates, english-drugs, english-tests, \
             english-problems, found \"german\" (own:1)",
        ),
    ] {
        let error = AttributeRules::parse(text, "own").unwrap_err();
        assert_eq!(error.to_string(), message, "{text:?}");
    }
    let error = AttributeRules::parse("attributes of drug:\n    amount{one}", "own").unwrap_err();
    assert!(
        error.to_string().contains("found \"amount\" (own:2)"),
        "{error}"
    );
}

#[test]
fn drugs_have_their_attributes() {
    let drug = [("aspirin", Kind::Drug)];
    let expected = [
        "status Start = start",
        "strength 81 mg = 81 mg",
        "route p.o. = oral",
        "frequency b.i.d. = BID",
        "duration 10 days = P10D",
    ];
    let text = "Start aspirin 81 mg p.o. b.i.d. for 10 days.";
    assert_eq!(english(text, &drug), [expected]);
}

proptest! {
    #[test]
    fn arbitrary_texts_and_mentions_do_no_harm(
        text in "[a-z0-9 .,/|%é½\\n\\t-]{0,60}|\\PC{0,60}",
        ends in proptest::collection::vec((0usize..80, 0usize..80, 0usize..6), 0..6),
    ) {
        let spans: Vec<[Span; 1]> = ends.iter().map(|(a, b, _)| [Span::new(*a.min(b), *a.max(b))]).collect();
        let anchors: Vec<Anchor> = spans.iter().zip(&ends)
            .map(|(pieces, (_, _, kind))| Anchor { pieces, kind: Kind::ALL[*kind] })
            .collect();
        for attributes in AttributeRules::english().find(&text, &anchors) {
            for attribute in attributes {
                prop_assert!(attribute.span.of(&text).is_ok_and(|words| !words.is_empty()));
            }
        }
    }

    #[test]
    fn no_rule_reads_a_value_of_another_line(
        strengths in proptest::collection::vec(1u32..1000, 2..6),
        bullet in prop::sample::select(vec!["- ", "* ", "", "1. "]),
        tail in prop::sample::select(vec!["", " daily", " po bid", " prn pain", "."]),
    ) {
        let lines: Vec<String> = strengths.iter().enumerate()
            .map(|(at, strength)| format!("{bullet}drug{} {strength} mg{tail}", ["a", "b", "c", "d", "e"][at]))
            .collect();
        let text = lines.join("\n");
        let letters = ["a", "b", "c", "d", "e"];
        let names: Vec<String> = (0..strengths.len()).map(|at| format!("drug{}", letters[at])).collect();
        let mentions: Vec<Said> = names.iter().map(|name| (name.as_str(), Kind::Drug)).collect();
        for (at, attributes) in english(&text, &mentions).iter().enumerate() {
            let own = format!("strength {0} mg = {0} mg", strengths[at]);
            prop_assert_eq!(&attributes[0], &own);
            prop_assert_eq!(attributes.iter().filter(|one| one.starts_with("strength")).count(), 1);
        }
    }
}

proptest! {
    #[test]
    fn no_rule_reads_a_result_date_or_stage_of_another_line(
        numbers in proptest::collection::vec(1u32..9, 2..6),
        bullet in prop::sample::select(vec!["- ", "* ", "", "1. ", "\t"]),
        form in prop::sample::select(vec![
            ("test", "{} mg/dL"), ("test", ": {} (H)"), ("test", "on 3/4/2024: {}"), ("test", "> {}"),
            ("test", "{} (2022)"), ("test", "{} L"), ("test", "-{}"), ("test", "3/{} 7.2"),
            ("problem", "stage {}"), ("problem", "NYHA {}"), ("problem", "x {} days"), ("problem", "in 201{}"),
            ("problem", "diagnosed 201{}"), ("problem", "T{} N1 M0"), ("problem", "since {}/2020"),
            ("procedure", "{}/2025"), ("procedure", "in {} weeks"), ("drug", "- NEW {}"), ("drug", "for {} days"),
            ("drug", "{}/2021"),
        ]),
    ) {
        let kind = Kind::of_name(form.0).unwrap();
        let letters = ["a", "b", "c", "d", "e"];
        let names: Vec<String> = (0..numbers.len()).map(|at| format!("thing{}", letters[at])).collect();
        let lines = names.iter().zip(&numbers);
        let lines: Vec<String> = lines
            .map(|(name, number)| format!("{bullet}{name} {}", form.1.replace("{}", &number.to_string())))
            .collect();
        let text = lines.join("\n");
        let spans: Vec<[Span; 1]> = names.iter().map(|name| {
            let at = text.find(name.as_str()).unwrap();
            [Span::new(at, at + name.len())]
        }).collect();
        let anchors: Vec<Anchor> = spans.iter().map(|pieces| Anchor { pieces, kind }).collect();
        let mut start = 0;
        for (line, attributes) in lines.iter().zip(AttributeRules::english().find(&text, &anchors)) {
            for one in attributes {
                prop_assert!(start <= one.span.start && one.span.end <= start + line.len(), "{text:?} {one:?}");
            }
            start += line.len() + 1;
        }
    }
}

/// A detector takes such words for mentions.
#[test]
fn attributes_that_are_taken_for_mentions_are_still_said_of_the_drug() {
    let all = english(
        "Ramipril 5mg bd, beclometasone nasal spray nocte.",
        &[
            ("Ramipril", Kind::Drug),
            ("bd", Kind::Problem),
            ("beclometasone", Kind::Drug),
            ("nasal spray", Kind::Drug),
        ],
    );
    assert!(
        all[0].contains(&"frequency bd = BID".to_owned()),
        "{:?}",
        all[0]
    );
    assert!(
        all[2].contains(&"frequency nocte = BED".to_owned()),
        "{:?}",
        all[2]
    );
    assert!(all[1].is_empty() && all[3].is_empty(), "{all:?}");
}

/// A detector takes a part of a unit for a mention.
#[test]
fn units_go_on_through_words_that_are_no_mentions() {
    let text = "HbA1c 58 mmol/mol.";
    let of = |start, end, kind| ([Span::new(start, end)], kind);
    let mentions = [of(0, 5, Kind::Test), of(14, 17, Kind::Test)];
    let anchors = mentions.each_ref().map(|(pieces, kind)| Anchor {
        pieces,
        kind: *kind,
    });
    let found = AttributeRules::english().find(text, &anchors);
    let words = found.iter().map(|all| {
        let all = all.iter().map(|one| one.span.of(text).unwrap());
        all.collect::<Vec<_>>()
    });
    assert_eq!(
        words.collect::<Vec<_>>(),
        [vec!["58", "mmol/mol"], Vec::new()]
    );
}

/// A weekly dose that is given every three weeks is a wrong fact.
#[test]
fn weeks_that_are_counted_are_no_plain_weeks() {
    let of = |text: &str| english(text, &[("Denosumab", Kind::Drug)]).remove(0);
    let three = of("Denosumab 120 mg three weekly.");
    assert!(!three.iter().any(|one| one.ends_with("= WK")), "{three:?}");
    let six = of("Denosumab 120 mg six days a week.");
    assert!(!six.iter().any(|one| one.ends_with("= WK")), "{six:?}");
}
