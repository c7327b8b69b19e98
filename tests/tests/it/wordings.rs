//! Wordings that stand for names of the knowledge base: they are detected and read as these names.

use pel_index::Precision;
use pel_kb::{Concept, KnowledgeBase};
use pel_linker::{Link, Linker};
use pel_tests::cpu;
use pel_tests::table::{Table, linker, recipe};
use pel_text::detect::Origin;
use pel_text::wordings::Wordings;

fn opened(names: &[(&str, &[&str])]) -> Linker {
    let mut recipe = recipe(&Table::read(), Precision::F32);
    let mut kb = KnowledgeBase::new();
    for (at, (name, synonyms)) in names.iter().enumerate() {
        let concept = Concept {
            id: format!("N{at}"),
            name: (*name).into(),
            synonyms: synonyms.iter().map(|name| (*name).to_owned()).collect(),
            types: vec!["Sign".into()],
            ..Concept::default()
        };
        kb.push(concept).expect("unique");
    }
    recipe.kb = kb;
    linker(recipe, &cpu())
}

/// The texts of the links, with what the encoder read and the best concept.
fn read(linker: &Linker, text: &str) -> Vec<(String, Option<String>, String)> {
    let links = linker.link(text).expect("linked");
    let shown = |link: &Link| {
        assert_eq!(link.origin, Origin::Name);
        let words = link.span.of(text).expect("inside").to_owned();
        let best = linker.concept(link.candidates[0].concept).expect("there");
        (words, link.read_as.clone(), best.id)
    };
    links.iter().map(shown).collect()
}

fn row(words: &str, read_as: Option<&str>, id: &str) -> (String, Option<String>, String) {
    (words.to_owned(), read_as.map(str::to_owned), id.to_owned())
}

#[test]
fn wordings_are_found_and_read_as_the_names_that_they_stand_for() {
    let linker = opened(&[
        ("fever", &[]),
        ("hematemesis", &[]),
        ("blood", &[]),
        ("Hyperkalemia", &["high potassium"]),
    ]);
    // "lytes" stands for a name that this knowledge base does not have.
    let text = "Threw up blood, fever; hyperK on lytes, high potassium.";
    assert_eq!(
        read(&linker, text),
        [
            row("Threw up blood", Some("hematemesis"), "N1"),
            row("fever", None, "N0"),
            row("hyperK", Some("Hyperkalemia"), "N3"),
            row("high potassium", Some("Hyperkalemia"), "N3"),
        ]
    );
}

#[test]
fn a_name_of_another_concept_is_no_wording() {
    let linker = opened(&[
        ("hematemesis", &[]),
        ("act of bringing", &["threw up blood"]),
    ]);
    assert_eq!(
        read(&linker, "He threw up blood."),
        [row("threw up blood", None, "N1")]
    );
}

#[test]
fn own_wordings_replace_those_of_english() {
    let mut linker = opened(&[("hematemesis", &[]), ("fever", &["pyrexia"])]);
    let own = Wordings::parse("pyrexia\thot head; red cheeks", "own.tsv").expect("valid");
    linker.settings().set_wordings(own);
    assert_eq!(
        read(&linker, "Threw up blood, red cheeks."),
        [row("red cheeks", Some("pyrexia"), "N1")]
    );
}
