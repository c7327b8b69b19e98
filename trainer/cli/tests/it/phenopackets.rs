//! A bundle of the Human Phenotype Ontology, and the Phenopackets of its links.

use crate::common::{CommandOutput, Workspace, copy, output_of, tiny};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const ONTOLOGY: &str = "format-version: 1.2\ndata-version: hp/releases/2026-02-16\nontology: hp\n\n\
    [Term]\nid: HP:0000001\nname: All\n\n\
    [Term]\nid: HP:0000118\nname: Phenotypic abnormality\nis_a: HP:0000001 ! All\n\n\
    [Term]\nid: HP:0001945\nname: Fever\nalt_id: HP:0001955\nsynonym: \"Pyrexia\" EXACT []\n\
    is_a: HP:0000118 ! Phenotypic abnormality\n\n\
    [Term]\nid: HP:0012735\nname: Cough\nis_a: HP:0000118\n\n\
    [Term]\nid: HP:0012823\nname: Clinical modifier\nis_a: HP:0000001\n\n\
    [Term]\nid: HP:0012828\nname: Severe\nis_a: HP:0012823\n";

const NOTE: &str = "Pyrexia since March 2024.\nNo cough.\nHis mother has cough.\n";

/// Runs the script that makes the bundle.
fn make(place: &Workspace, ontology: &str, out: &str) -> CommandOutput {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new("bash");
    command
        .arg(root.join("scripts/data/hpo-bundle"))
        .args([place.path(ontology), place.path("encoder"), place.path(out)])
        .args(["--device", "cpu"])
        .env("PEL", env!("CARGO_BIN_EXE_pel"));
    output_of(command)
}

#[test]
fn one_command_makes_a_bundle_whose_links_are_phenopackets() {
    let place = Workspace::new();
    std::fs::write(place.path("hp.obo"), ONTOLOGY).expect("written");
    std::fs::write(place.path("note.txt"), NOTE).expect("written");
    copy(&tiny().display().to_string(), &place.path("encoder"));
    let made = make(&place, "hp.obo", "hpo");
    assert_eq!(made.code, Some(0), "{}", made.err);
    let licences = std::fs::read_to_string(place.path("hpo/LICENSES.md")).expect("there");
    assert!(
        licences.contains("Human Phenotype Ontology (hp/releases/2026-02-16)"),
        "{licences}"
    );
    let below = place.done("inspect @hpo --under HP:0000118").out;
    assert!(
        below.contains("HP:0001945  Fever") && !below.contains("HP:0012828"),
        "{below}"
    );
    // The alternative identifier leads to the term.
    let former = place.done("inspect @hpo --concept HP:0001955").out;
    assert!(former.contains("HP:0001945"), "{former}");
    let line = "link --device cpu --bundle @hpo @note.txt --format phenopackets --date 2026-11-26";
    let written = place.done(line).out;
    let packet: Value = serde_json::from_str(&written).expect("one line of JSON");
    let features = packet["phenotypicFeatures"].as_array().expect("a list");
    let ids: Vec<&str> = features
        .iter()
        .map(|one| one["type"]["id"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids, ["HP:0001945", "HP:0012735"], "{written}");
    assert_eq!(
        features[0]["onset"]["interval"]["start"],
        "2024-03-01T00:00:00Z"
    );
    assert_eq!(features[0].get("excluded"), None);
    assert_eq!(features[1]["excluded"], true);
    assert_eq!(packet["metaData"]["created"], "2026-11-26T00:00:00Z");
}

#[test]
fn an_altered_or_missing_ontology_is_refused() {
    let place = Workspace::new();
    let altered = ONTOLOGY.replacen("data-version: hp/releases/2026-02-16\n", "", 1);
    std::fs::write(place.path("altered.obo"), altered).expect("written");
    for (file, expected) in [
        (
            "altered.obo",
            "expected a line data-version before the first term",
        ),
        ("none.obo", "expected hp.obo of a release"),
    ] {
        let made = make(&place, file, "hpo");
        assert_ne!(made.code, Some(0));
        assert!(made.err.contains(expected), "{expected}: {}", made.err);
        assert!(!place.path("hpo").exists());
    }
}
