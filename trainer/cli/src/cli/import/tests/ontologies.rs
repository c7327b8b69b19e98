//! Imports of ontologies with defects found in releases.

use super::Workspace;
use pel_terminologies::import::concepts::CONCEPTS;
use pel_terminologies::import::merging::JOINED;
use pel_terminologies::import::obo;
use std::time::{Duration, Instant};

fn read(text: &str) -> (Workspace, pel_terminologies::import::report::Report) {
    let workspace = Workspace::new(&[("a.obo", text.as_bytes())]);
    let report = workspace.import("obo @a.obo").expect("readable");
    (workspace, report)
}

#[test]
fn unescaped_quotes_do_not_truncate() {
    let text = "format-version: 1.2\n\n[Term]\nid: D:1\nname: acid\n\
        synonym: \"3,3',3\"-triyl acid\" EXACT IUPAC_NAME [IUPAC:]\n\
        synonym: \"so-called \"sour\" stuff\" EXACT []\n\
        synonym: sour water EXACT []\n\
        def: \"Stuff called \"sour\" by cooks, with a taste.\" [D:x]\n";
    let (workspace, report) = read(text);
    let acid = &workspace.concepts()[0];
    assert_eq!(
        acid.synonyms,
        [
            "3,3',3\"-triyl acid",
            "so-called \"sour\" stuff",
            "sour water"
        ]
    );
    assert_eq!(
        acid.definition.as_deref(),
        Some("Stuff called \"sour\" by cooks, with a taste.")
    );
    assert_eq!(
        (report.noted[obo::MENDED_QUOTES], report.skipped_in_all()),
        (4, 0)
    );
}

#[test]
fn withdrawn_synonyms_are_skipped_by_default() {
    let text = "format-version: 1.4\nsynonymtypedef: EXCLUDE \"Synonyms to be removed from public \
                release\"\nsynonymtypedef: X_9 \"a common misspelling\"\n\
                synonymtypedef: ABBREVIATION \"abbreviation\"\n\n\
                [Term]\nid: D:1\nname: myopathy\n\
                synonym: \"MM\" EXACT ABBREVIATION []\n\
                synonym: \"gene entry\" EXACT EXCLUDE [X:1]\n\
                synonym: \"myoapthy\" EXACT X_9 []\n\
                synonym: \"old name\" EXACT DEPRECATED []\n\
                synonym: \"wasting\" EXACT obsolete_synonym []\n";
    let (workspace, report) = read(text);
    assert_eq!(workspace.concepts()[0].synonyms, ["MM"]);
    for kind in ["EXCLUDE", "X_9", "DEPRECATED", "obsolete_synonym"] {
        assert_eq!(
            report.noted[&format!("synonym of type {kind} left out")],
            1,
            "{kind}"
        );
    }
    workspace
        .import(
            "obo @a.obo --with-synonym-types X_9,deprecated --without-synonym-types ABBREVIATION",
        )
        .expect("readable");
    assert_eq!(workspace.concepts()[0].synonyms, ["myoapthy", "old name"]);
}

#[test]
fn old_obsolete_flags_and_continuation_lines_are_read() {
    let mut text = String::from("format-version: 1.0\n");
    for (at, value) in [
        "True",
        "true ! merged",
        "1",
        "TRUE {a=\"b\"}",
        "yes",
        "False",
        "0",
        "maybe",
    ]
    .iter()
    .enumerate()
    {
        text.push_str(&format!(
            "\n[Term]\nid: D:{at}\nname: fever {at}\nis_obsolete: {value}\n"
        ));
    }
    text.push_str(
        "\n[Term]\nid: D:20\nname: tick fever\ndef: \"A fever that \\\n  \
         comes from ticks.\" [D:x]\nexact_synonym: \"tick-borne fever\" []\n\
         comment: ends with a letter \\\\\nxref: X:1 \\\n[Term]\nid: D:21\nname: mite fever\n",
    );
    let (workspace, report) = read(&text);
    let ids: Vec<String> = workspace
        .concepts()
        .iter()
        .map(|concept| concept.id.clone())
        .collect();
    assert_eq!(ids, ["D:5", "D:6", "D:7", "D:20", "D:21"]);
    let tick = &workspace.concepts()[3];
    assert_eq!(
        tick.definition.as_deref(),
        Some("A fever that comes from ticks.")
    );
    assert_eq!(
        (tick.synonyms.join("+"), tick.xrefs.join("+")),
        ("tick-borne fever".into(), "X:1".into())
    );
    assert_eq!(
        (
            report.skipped(obo::OBSOLETE),
            report.noted[obo::ODD_OBSOLETE]
        ),
        (5, 1)
    );
}

#[test]
fn malformed_lines_do_not_stop_the_import() {
    let text = "format-version: 1.2\ndate: 05:20:2021 12:00\ndefault-namespace: demo ontology\n\n\
                [Term]\nid: D:1\nname: bony process\n\
                synonym: \"anterior process\" EXACT [TAO:Bird and Mabee 2003]\n\
                xref: http://example.org/wiki/Category\\:Bony\nxref: xref (ILX:0770149)\n\
                xref: KEGG COMPOUND:70458-96-7 \"CAS\"\n\
                def: \"Made of bone.\" [GOC:pz, Rhea: 36507\ncreation_date: 202z-09-29\n\n\
                [Term]\nid: D:2\nname: odd\nnamespace: fission yeast phenotype\n\
                def: \"Text.\" [PMID:3<new dbxref>]\n\
                is_a: D:1 {xref=\"url:https://example.org/\", xref=\"b}\"} ! bony process\n";
    let (workspace, report) = read(text);
    let concepts = workspace.concepts();
    assert_eq!(
        concepts
            .iter()
            .map(|concept| concept.name.as_str())
            .collect::<Vec<_>>(),
        ["bony process", "odd"]
    );
    assert_eq!(
        (
            concepts[0].synonyms.join("+"),
            concepts[0].definition.as_deref()
        ),
        ("anterior process".into(), Some("Made of bone."))
    );
    assert_eq!(
        (
            concepts[1].definition.as_deref(),
            concepts[1].types.join("+")
        ),
        (Some("Text."), "bony process".into())
    );
    assert_eq!(report.skipped_in_all(), 0);
}

#[test]
fn stub_in_an_earlier_file_is_merged() {
    let stub = "format-version: 1.2\n[Term]\nid: U:1\nname: heart\n\n[Term]\nid: U:2\n";
    let whole = "format-version: 1.2\n[Term]\nid: U:0\nname: organ\n\n\
                 [Term]\nid: U:1\nname: heart\n\
                 def: \"It pumps.\" []\nsynonym: \"cardium\" EXACT []\nis_a: U:0\n\n\
                 [Term]\nid: U:2\nname: lung\nis_a: U:0\n";
    let workspace = Workspace::new(&[
        ("stub.obo", stub.as_bytes()),
        ("whole.obo", whole.as_bytes()),
    ]);
    let report = workspace
        .import("obo @stub.obo @whole.obo")
        .expect("readable");
    let concepts = workspace.concepts();
    let message: Vec<_> = concepts
        .iter()
        .map(|concept| {
            (
                concept.id.as_str(),
                concept.name.as_str(),
                concept.types.join("+"),
            )
        })
        .collect();
    assert_eq!(
        message,
        [
            ("U:1", "heart", "organ".into()),
            ("U:2", "lung", "organ".into()),
            ("U:0", "organ", "organ".into())
        ]
    );
    assert_eq!(
        (
            concepts[0].synonyms.join("+"),
            concepts[0].definition.as_deref()
        ),
        ("cardium".into(), Some("It pumps."))
    );
    assert_eq!((report.noted[JOINED], report.skipped_in_all()), (2, 0));
    assert!(
        report.examples[JOINED][0].contains("whole.obo:6 U:1 heart"),
        "{report:?}"
    );
}

#[test]
fn type_is_the_topmost_meaningful_ancestor() {
    let ontology = |prefix: &str, roots: &[&str]| {
        let mut text = String::from("format-version: 1.2\nontology: hp\n");
        let mut parent = String::new();
        for (at, root) in roots.iter().enumerate() {
            text.push_str(&format!(
                "\n[Term]\nid: {prefix}:0{at}\nname: {root}\n{parent}"
            ));
            parent = format!("is_a: {prefix}:0{at}\n");
        }
        text.push_str(&format!(
            "\n[Term]\nid: {prefix}:1\nname: Phenotypic abnormality\n{parent}"
        ));
        text.push_str(&format!(
            "\n[Term]\nid: {prefix}:2\nname: Seizure\nis_a: {prefix}:1\n"
        ));
        text.push_str(&format!(
            "\n[Term]\nid: {prefix}:3\nname: Mode of inheritance\n{parent}"
        ));
        text.push_str(&format!(
            "\n[Term]\nid: {prefix}:4\nname: Dominant inheritance\nis_a: {prefix}:3\n"
        ));
        text
    };
    for roots in [
        &["All"][..],
        &["owl:Thing", "entity"],
        &["HPO root"],
        &["SNOMED CT Concept"],
        &["root of all terms"],
    ] {
        let (workspace, _) = read(&ontology("HP", roots));
        let concepts = workspace.concepts();
        let types: Vec<_> = concepts[roots.len()..]
            .iter()
            .map(|concept| concept.types.join("+"))
            .collect();
        let expected = [
            "Phenotypic abnormality",
            "Phenotypic abnormality",
            "Mode of inheritance",
            "Mode of inheritance",
        ];
        assert_eq!(types, expected, "{roots:?}");
        assert!(concepts[0].types.is_empty(), "{roots:?}");
    }
    // A meaningful root is the type of all terms.
    for roots in [&["disease"][..], &["cell"], &["disease entity"]] {
        let (workspace, _) = read(&ontology("HP", roots));
        assert!(
            workspace
                .concepts()
                .iter()
                .all(|concept| concept.types == [roots[0]]),
            "{roots:?}"
        );
    }
}

#[test]
fn long_cycle_is_read_in_linear_time() {
    let count = 20_000;
    let mut text = String::from("format-version: 1.2\n");
    for at in 0..count {
        text.push_str(&format!(
            "[Term]\nid: C:{at}\nname: term {at}\nis_a: C:{}\n",
            (at + 1) % count
        ));
    }
    let begin = Instant::now();
    let (_, report) = read(&text);
    assert_eq!(report.kept(CONCEPTS), count);
    // A traversal per term took a minute.
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn obsolete_and_merged_terms_become_redirects() {
    let text = "format-version: 1.4\n\n[Term]\nid: D:1\nname: fever\nalt_id: D:9\n\n\
                [Term]\nid: D:2\nname: old fever\nis_obsolete: true\nreplaced_by: D:3\n\n\
                [Term]\nid: D:3\nname: older fever\nis_obsolete: true\nreplaced_by: D:1\n\n\
                [Term]\nid: D:4\nname: two fevers\nis_obsolete: true\nreplaced_by: D:1\n\
                replaced_by: D:5\n\n[Term]\nid: D:5\nname: cough\n\n\
                [Term]\nid: D:6\nname: gone\nis_obsolete: true\nconsider: D:1\n";
    let (workspace, report) = read(text);
    let written = std::fs::read_to_string(workspace.path("out/redirects.tsv")).expect("written");
    assert_eq!(
        written,
        "id\treplaced_by\treason\nD:2\tD:1\treplaced\nD:3\tD:1\treplaced\nD:4\t\tretired\n\
         D:6\t\tretired\nD:9\tD:1\tmerged\n"
    );
    assert_eq!(report.skipped(obo::OBSOLETE), 4);
}
