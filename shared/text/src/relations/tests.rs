use super::*;
use crate::attributes::{Anchor, AttributeRules, Kind};

/// The relations of a line in which mentions are in brackets with the first letters of their group:
/// "{dr lisinopril} for {pr hypertension}".
fn of(line: &str) -> Vec<String> {
    let (mut text, mut spans, mut rest) = (String::new(), Vec::new(), line);
    while let Some((before, after)) = rest.split_once('{') {
        let (mention, after) = after.split_once('}').expect("a closed bracket");
        let (group, words) = mention.split_once(' ').expect("a group");
        let mut groups = Group::ALL.into_iter();
        let group = groups.find(|known| known.name().starts_with(group));
        text += before;
        spans.push((Span::new(text.len(), text.len() + words.len()), group));
        text += words;
        rest = after;
    }
    text += rest;
    let anchors = spans.iter().map(|(span, group)| Anchor {
        pieces: std::slice::from_ref(span),
        kind: Kind::of_group(*group),
    });
    let attributes = AttributeRules::english().find(&text, &anchors.collect::<Vec<_>>());
    let context = Context::default();
    let mentions = spans
        .iter()
        .zip(&attributes)
        .map(|((span, group), found)| Related {
            span: *span,
            group: *group,
            context: &context,
            attributes: found.iter().map(|one| one.span).collect(),
            indications: Vec::new(),
            stopped: false,
        });
    let mentions: Vec<Related<'_>> = mentions.collect();
    let words = |at: usize| mentions[at].span.of(&text).expect("it is in the text");
    let found = RelationRules::english().find(&text, &mentions);
    let said = found.iter().map(|one| {
        let (source, target) = (words(one.source), words(one.target));
        format!("{source} {} {target}", one.name.name())
    });
    said.collect()
}

#[test]
fn each_kind_of_relation_is_found() {
    for (line, expected) in [
        (
            "{dr lisinopril} 10 mg PO daily for {pr hypertension}",
            "lisinopril indication hypertension",
        ),
        (
            "{pr hypertension}, treated with {dr lisinopril}",
            "lisinopril indication hypertension",
        ),
        ("{pr hypertension}. Treated with {dr lisinopril}", ""),
        (
            "{pr hypertension} treated with {dr lisinopril}",
            "lisinopril indication hypertension",
        ),
        (
            "{dr oxycodone} 5 mg q6h prn for severe {pr pain}",
            "oxycodone indication pain",
        ),
        ("{pr AKI} (2/2 {pr dehydration})", "AKI cause dehydration"),
        (
            "{pr cirrhosis} likely due to {dr alcohol}",
            "cirrhosis cause alcohol",
        ),
        (
            "{pr pneumonia} causing {pr hypoxia}",
            "hypoxia cause pneumonia",
        ),
        ("{pr pain} in the left {an knee}", "pain site knee"),
        ("{proc CXR}: {pr cardiomegaly}", "CXR finding cardiomegaly"),
        (
            "{proc CXR} showed no {pr effusion}",
            "CXR excludes effusion",
        ),
        (
            "{me troponin} was negative for {pr MI}",
            "troponin excludes MI",
        ),
    ] {
        assert_eq!(of(line).join("; "), expected, "{line}");
    }
}

#[test]
fn lists_go_on_as_far_as_their_relation_does() {
    assert_eq!(
        of("{proc CT} shows {pr edema}, {pr effusion} and {pr nodules}."),
        [
            "CT finding edema",
            "CT finding effusion",
            "CT finding nodules"
        ]
    );
    assert_eq!(
        of("{pr pain} in {an neck} and {an shoulder}"),
        ["pain site neck", "pain site shoulder"]
    );
    // A comma behind the problem of a drug begins another statement.
    assert_eq!(
        of("{dr aspirin} for {pr CAD}, {pr gout}, {dr metformin} for {pr diabetes}"),
        ["aspirin indication CAD", "metformin indication diabetes"]
    );
}

#[test]
fn indication_of_a_drug_joins_it_to_the_problem() {
    let text = "aspirin 81 mg (was 325 mg) for pain, fever";
    let context = Context::default();
    let of = |words: &str, group, indications| {
        let start = text.find(words).expect("the words");
        Related {
            span: Span::new(start, start + words.len()),
            group: Some(group),
            context: &context,
            attributes: Vec::new(),
            indications,
            stopped: false,
        }
    };
    let mentions = [
        of("aspirin", Group::Drug, vec![Span::new(31, 35)]),
        of("pain", Group::Problem, Vec::new()),
        of("fever", Group::Problem, Vec::new()),
    ];
    let found = RelationRules::english().find(text, &mentions);
    let (source, target, name) = (0, 1, RelationName::Indication);
    assert_eq!(
        found,
        [Relation {
            source,
            target,
            name
        }]
    );
}

#[test]
fn nothing_is_related_across_sentences_and_lines() {
    for line in [
        "{dr aspirin}. For {pr CAD} he has a stent.",
        "{dr aspirin} was stopped. Due to {pr bleeding}, no restart.",
        "{proc CXR}:\n{pr cough}",
        "{pr fever} and {pr cough}",
        "{an knee} {pr pain}",
        "{dr aspirin} not for {pr pain}",
    ] {
        assert_eq!(of(line), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn faults_of_a_rule_file_have_their_line() {
    for (file, words) in [
        ("    for\n", "a heading before"),
        ("reason: drug before problem\n", "indication"),
        (
            "site: problem near anatomy\n",
            "site: problem before anatomy",
        ),
        ("site: problem before organ\n", "organ"),
    ] {
        let error = RelationRules::parse(file, "own.relations").expect_err("a fault");
        let message = error.to_string();
        assert!(
            message.contains(words) && message.contains("own.relations:1"),
            "{message}"
        );
    }
}

#[test]
fn arbitrary_mentions_do_not_break_the_search() {
    let text = "é (\u{a0}, 2° to -> []…";
    let context = Context::default();
    for start in 0..=text.len() {
        for end in [start, start + 1, text.len() + 3] {
            let related = |span| Related {
                span,
                group: Some(Group::Problem),
                context: &context,
                attributes: vec![span],
                indications: vec![Span::new(0, text.len())],
                stopped: false,
            };
            let mentions = [
                related(Span::new(start, end)),
                related(Span::new(end, end + 1)),
            ];
            let _ = RelationRules::english().find(text, &mentions);
        }
    }
}
