//! Concepts added by a user, on every device.

use pel_artifacts::device::OpenDevice;
use pel_corpora::indexing::Recipe;
use pel_index::Precision;
use pel_kb::Concept;
use pel_kb::redirects::Redirect;
use pel_kb::score::Scorer;
use pel_linker::{AddedChanges, LinkOptions, Linker, added};
use pel_model::nil::Decision;
use pel_model::tokens::View;
use pel_model::tower::Side;
use pel_notes::link::link;
use pel_terminologies::import::report::Report;
use pel_tests::table::{Table, linker, recipe};
use pel_tests::{cpu, devices};

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
        .steps()
        .tokenize_concepts(concepts, &mut report)
        .map_err(|error| error.to_string())?;
    let vectors = linker
        .steps()
        .encoder()
        .encode_for(
            linker.steps().scorer(),
            Side::Entity,
            &tokenized.rows.iter().collect::<Vec<_>>(),
        )
        .expect("encoded");
    let added = tokenized.concepts.len();
    linker
        .settings()
        .add_concepts(tokenized, &vectors)
        .expect("they are new");
    Ok((added, report))
}

fn add_list(linker: &mut Linker, concepts: Vec<Concept>) -> AddedChanges {
    let mut report = Report::default();
    let tokenized = linker
        .steps()
        .tokenize_list("own.csv", concepts, &mut report)
        .expect("they can be added");
    assert_eq!(report.skipped_in_all(), 0, "{report:?}");
    let rows: Vec<_> = tokenized.rows.iter().collect();
    let (scorer, encoder) = (linker.steps().scorer(), linker.steps().encoder());
    let vectors = encoder
        .encode_for(scorer, Side::Entity, &rows)
        .expect("encoded");
    linker
        .settings()
        .add_concepts(tokenized, &vectors)
        .expect("no other list has them")
}

/// Text and concept of each link.
fn linked(linker: &Linker, text: &str) -> Vec<(String, Option<String>)> {
    let options = LinkOptions::default();
    let links = link(
        linker,
        text,
        linker.detect(text, &options).expect("detected"),
        &options,
    )
    .expect("linked");
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
                .settings()
                .remove_concepts(|concept| concept.id == "X2")
                .expect("taken away"),
            1
        );
        assert_eq!(
            linked(&linker, text),
            expected(&[("Fever", "D1"), ("chest pain", "D2"), ("sore toe", "X1")])
        );
        assert_eq!(
            linker
                .settings()
                .remove_concepts(|_| true)
                .expect("taken away"),
            2
        );
        assert_eq!(linked(&linker, text), before);
        assert_eq!(linker.steps().added_concepts().concepts().len(), 0);
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
            .steps()
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
            .get(pel_kb::ConceptId(0))
            .expect("there")
    };
    add(&mut linker, vec![twin]).expect("new");
    let text = "pyrexia";
    let options = LinkOptions::default().k(2);
    let links = link(
        &linker,
        text,
        linker.detect(text, &options).expect("detected"),
        &options,
    )
    .expect("linked");
    let [own, twin] = links[0].candidates[..] else {
        panic!("two candidates: {links:?}")
    };
    assert_eq!((own.concept.index(), twin.concept.index()), (0, 5));
    // The bundle has int8 vectors, the addition floats.
    assert!((own.score - twin.score).abs() < 0.01, "{own:?} {twin:?}");
}

#[test]
fn changed_list_encodes_only_new_texts_and_equals_a_fresh_one() {
    for scorer in [Scorer::Dual, Scorer::SumOfMax] {
        let fresh = || {
            let recipe = Recipe {
                scorer,
                ..recipe(&Table::read(), Precision::F32)
            };
            let mut linker = linker(recipe, &cpu());
            add(&mut linker, vec![concept("X0", "elbow", &[])]).expect("new");
            linker
        };
        let before = vec![
            concept("X1", "sore toe", &["toe pain"]),
            concept("X2", "bad knee", &[]),
            concept("X3", "stiff neck", &[]),
        ];
        let after = vec![
            concept("X4", "swollen finger", &["bad knee"]),
            concept("X1", "toe pain", &["sore toe", "hallux pain"]),
            concept("X3", "stiff neck", &[]),
        ];
        let mut changed = fresh();
        let expected = AddedChanges {
            added: 3,
            texts_encoded: 4,
            ..AddedChanges::default()
        };
        assert_eq!(add_list(&mut changed, before.clone()), expected);
        let expected = AddedChanges {
            added: 1,
            removed: 1,
            changed: 1,
            renamed: 1,
            unchanged: 1,
            // "swollen finger" and "hallux pain".
            texts_encoded: 2,
            rows_reused: 4,
        };
        assert_eq!(add_list(&mut changed, after.clone()), expected);
        let mut once = fresh();
        add_list(&mut once, after.clone());
        let text = "Toe pain, a sore toe, bad knee, stiff neck, elbow, swollen finger, hallux \
                    pain, fever.";
        let links = |linker: &Linker| {
            let options = LinkOptions::default();
            let found = linker.detect(text, &options).expect("detected");
            format!("{:?}", link(linker, text, found, &options).expect("linked"))
        };
        assert_eq!(links(&changed), links(&once), "{scorer:?}");
        let lists = changed.steps().added_concepts().lists();
        let names: Vec<_> = lists
            .iter()
            .map(|(list, concepts)| (*list, concepts.len()))
            .collect();
        assert_eq!(names, [(None, 1), (Some("own.csv"), 3)]);
        // Once more without a change: nothing is encoded.
        let expected = AddedChanges {
            unchanged: 3,
            rows_reused: 6,
            ..AddedChanges::default()
        };
        assert_eq!(add_list(&mut changed, after), expected);
        assert_eq!(links(&changed), links(&once), "{scorer:?}");
        // Concepts outside the list keep their identifiers.
        let mut report = Report::default();
        let taken = changed.steps().tokenize_list(
            "other.csv",
            vec![concept("X1", "toe", &[]), concept("X0", "arm", &[])],
            &mut report,
        );
        assert!(taken.is_err() && report.skipped_in_all() == 2);
    }
}

#[test]
fn retired_identifiers_are_added_only_without_a_successor() {
    let redirect = |id: &str, replaced_by: Option<&str>| Redirect {
        id: id.into(),
        replaced_by: replaced_by.map(Into::into),
        reason: "merged".into(),
    };
    let recipe = Recipe {
        redirects: vec![redirect("R1", Some("D1")), redirect("R2", None)],
        ..recipe(&Table::read(), Precision::F32)
    };
    let mut linker = linker(recipe, &cpu());
    let own = vec![
        concept("R1", "sore toe", &[]),
        concept("R2", "bad knee", &[]),
    ];
    let (added, report) = add(&mut linker, own).expect("one is new");
    assert_eq!((added, report.skipped(added::REDIRECTED)), (1, 1));
    assert_eq!(report.noted[added::RETIRED], 1);
    let of = |id: &str| linker.resolve(id).expect("whole").concept();
    assert_eq!(of("R1"), linker.find("D1").expect("whole"));
    assert_eq!(of("R2").map(|at| at.index()), Some(5), "the added one");
    assert_eq!(of("R3"), None);
}
