//! Concepts added by a user, on every device.

use pel_shared::index::Precision;
use pel_shared::kb::Concept;
use pel_shared::kb::import::report::Report;
use pel_shared::linker::{LinkOptions, Linker};
use pel_shared::model::tower::Side;
use pel_shared::nil::Decision;
use pel_shared::tokens::View;
use pel_tests::table::{Table, linker, recipe};
use pel_tests::{cpu, devices};
use pel_trainer::io::device::OpenDevice;
use pel_trainer::link::link;

fn concept(id: &str, name: &str, synonyms: &[&str]) -> Concept {
    let synonyms = synonyms
        .iter()
        .map(|synonym| (*synonym).to_owned())
        .collect();
    Concept {
        id: id.into(),
        name: name.into(),
        synonyms,
        ..Concept::default()
    }
}

fn add(linker: &mut Linker, concepts: Vec<Concept>) -> Result<(usize, Report), String> {
    let mut report = Report::default();
    let tokenized = linker
        .tokenize_concepts(concepts, &mut report)
        .map_err(|error| error.to_string())?;
    let vectors = linker
        .encoder()
        .encode_for(
            linker.scorer(),
            Side::Entity,
            &tokenized.rows.iter().collect::<Vec<_>>(),
        )
        .expect("encoded");
    let added = tokenized.concepts.len();
    linker
        .add_concepts(tokenized, &vectors)
        .expect("they are new");
    Ok((added, report))
}

/// Text and concept of each link.
fn linked(linker: &Linker, text: &str) -> Vec<(String, Option<String>)> {
    let options = LinkOptions::default();
    let links = link(linker, text, linker.detect(text, &options), &options).expect("linked");
    let named = links.iter().map(|link| {
        let id = match link.decision {
            Decision::Linked { best } => Some(linker.concept(best.concept).expect("there").id),
            Decision::Nil { .. } => None,
        };
        (text[link.span.start..link.span.end].to_owned(), id)
    });
    named.collect()
}

fn expected(links: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
    links
        .iter()
        .map(|(text, id)| ((*text).to_owned(), Some((*id).to_owned())))
        .collect()
}

#[test]
fn added_concepts_are_linked_until_removed() {
    for (name, device) in devices() {
        let device = OpenDevice { device, name };
        let mut linker = linker(recipe(&Table::read(), Precision::F32), &device);
        let text = "Fever, severe chest pain, sore toe.";
        let before = expected(&[("Fever", "D1"), ("chest pain", "D2")]);
        assert_eq!(linked(&linker, text), before);

        let own = vec![
            concept("X1", "sore toe", &["toe pain"]),
            concept("X2", "severe chest pain", &[]),
        ];
        let (added, report) = add(&mut linker, own).expect("new");
        assert_eq!((added, report.skipped_in_all()), (2, 0));
        // Their longer name is preferred to the bundle's.
        let with = expected(&[
            ("Fever", "D1"),
            ("severe chest pain", "X2"),
            ("sore toe", "X1"),
        ]);
        assert_eq!(linked(&linker, text), with, "{}", device.name);
        assert_eq!(linked(&linker, "Toe pain"), expected(&[("Toe pain", "X1")]));
        let at = linker.find("X1").expect("readable").expect("there");
        assert_eq!(
            (at.index(), linker.concept(at).expect("there").name.as_str()),
            (5, "sore toe")
        );

        // A second addition keeps the first; a shorter name yields to the bundle's longer one.
        add(&mut linker, vec![concept("X3", "pain", &[])]).expect("new");
        assert_eq!(linked(&linker, text), with);
        assert_eq!(linked(&linker, "pain"), expected(&[("pain", "X3")]));
        assert_eq!(
            linker
                .remove_concepts(|concept| concept.id == "X2")
                .expect("taken away"),
            1
        );
        assert_eq!(
            linked(&linker, text),
            expected(&[("Fever", "D1"), ("chest pain", "D2"), ("sore toe", "X1")])
        );
        assert_eq!(linker.remove_concepts(|_| true).expect("taken away"), 2);
        assert_eq!(linked(&linker, text), before);
        assert_eq!(linker.added_concepts().concepts().len(), 0);
    }
}

#[test]
fn invalid_additions_are_counted_or_refused() {
    let mut linker = linker(recipe(&Table::read(), Precision::F32), &cpu());
    let mixed = vec![
        concept("D1", "again", &[]),
        concept("X1", "toe", &[]),
        concept("X1", "toe twice", &[]),
        concept("X2", " ", &[]),
        concept("X3", "\u{200d}", &[]),
    ];
    let (added, report) = add(&mut linker, mixed).expect("one is new");
    assert_eq!((added, report.skipped_in_all()), (1, 4), "{report:?}");
    assert!(
        report
            .reasons()
            .contains("2 x the id is taken by another concept"),
        "{}",
        report.reasons()
    );
    for (concepts, expected) in [
        (vec![], "no concept to add: there is none"),
        (
            vec![concept("X1", "toe", &[])],
            "no concept to add: skipped 1 x the id is taken by another concept",
        ),
    ] {
        assert_eq!(
            add(&mut linker, concepts).expect_err("nothing new"),
            expected
        );
    }
    assert_eq!(
        linker
            .added_concepts()
            .concepts()
            .map(|concept| concept.name.as_str())
            .collect::<Vec<_>>(),
        ["toe"]
    );
}

#[test]
fn added_concepts_are_scored_by_both_views() {
    let mut recipe = recipe(&Table::read(), Precision::F32);
    recipe.view.concepts = View::Both;
    recipe.view.mix = 0.5;
    let mut linker = linker(recipe, &cpu());
    // The bundle's own concept under another identifier.
    let twin = Concept {
        id: "X1".into(),
        ..linker
            .bundle()
            .concepts
            .get(pel_shared::kb::ConceptId(0))
            .expect("there")
    };
    add(&mut linker, vec![twin]).expect("new");
    let text = "pyrexia";
    let options = LinkOptions::default().k(2);
    let links = link(&linker, text, linker.detect(text, &options), &options).expect("linked");
    let [own, twin] = links[0].candidates[..] else {
        panic!("two candidates: {links:?}")
    };
    assert_eq!((own.concept.index(), twin.concept.index()), (0, 5));
    // The bundle has int8 vectors, the addition floats.
    assert!((own.score - twin.score).abs() < 0.01, "{own:?} {twin:?}");
}
