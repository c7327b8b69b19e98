//! Imports of terminologies in their released layouts, with the defects found in releases.

use super::{Command, Workspace};
use crate::cli::import::run;
use clap::Parser;
use pel_corpora::recognise;
use pel_io::testing::zipped;
use pel_kb::Concept;
use pel_kb::error::Kind;
use pel_terminologies::import::concepts::CONCEPTS;
use pel_terminologies::import::merging::OTHER_DEFINITION;
use pel_terminologies::{mapping, names, redirects, release, rrf, rxnorm, snomed, umls};

fn by_id<'a>(concepts: &'a [Concept], id: &str) -> &'a Concept {
    let found = concepts.iter().find(|concept| concept.id == id);
    found.unwrap_or_else(|| panic!("{id} is missing"))
}

fn ids(concepts: &[Concept]) -> Vec<&str> {
    concepts.iter().map(|concept| concept.id.as_str()).collect()
}

impl Workspace {
    fn redirects(&self) -> String {
        std::fs::read_to_string(self.path("out/redirects.tsv")).expect("written")
    }
}

/// A row of MRCONSO: CUI, language, TS, STT, ISPREF, source, term type, code, name, SUPPRESS.
fn atom(fields: [&str; 10]) -> String {
    let [
        cui,
        language,
        status,
        form,
        preferred,
        source,
        kind,
        code,
        name,
        suppress,
    ] = fields;
    format!(
        "{cui}|{language}|{status}|L1|{form}|S1|{preferred}|A1||||{source}|{kind}|{code}|{name}|0|{suppress}|256|\n"
    )
}

fn metathesaurus() -> Vec<(&'static str, String)> {
    let names = [
        // Not sorted by CUI.
        [
            "C0000002",
            "ENG",
            "S",
            "PF",
            "Y",
            "SNOMEDCT_US",
            "SY",
            "386661006",
            "Pyrexia",
            "N",
        ],
        [
            "C0000001", "ENG", "P", "PF", "Y", "MSH", "MH", "D003371", "Cough", "N",
        ],
        // Canonical marks, but the rank of MRRANK precedes them.
        [
            "C0000002",
            "ENG",
            "P",
            "PF",
            "Y",
            "ICD10",
            "PT",
            "R50",
            "Fever, unspecified",
            "N",
        ],
        [
            "C0000002", "ENG", "S", "VO", "N", "MSH", "MH", "D005334", "Fever", "N",
        ],
        [
            "C0000002", "ENG", "S", "VC", "N", "MSH", "ET", "D005334", "FEVER", "N",
        ],
        [
            "C0000002",
            "ENG",
            "S",
            "VC",
            "N",
            "MTH",
            "PN",
            "NOCODE",
            "febrile \"hot\" state",
            "N",
        ],
        [
            "C0000002",
            "ENG",
            "S",
            "VC",
            "N",
            "HPO",
            "PT",
            "HP:0001945",
            "F",
            "N",
        ],
        [
            "C0000002", "GER", "P", "PF", "Y", "MSHGER", "MH", "D005334", "Fieber", "N",
        ],
        [
            "C0000002",
            "ENG",
            "S",
            "VC",
            "N",
            "MSH",
            "PM",
            "D005334",
            "suppressed fever",
            "Y",
        ],
        [
            "C0000002",
            "ENG",
            "S",
            "VC",
            "N",
            "MSH",
            "PM",
            "D005334",
            "edited fever",
            "E",
        ],
        [
            "C0000002",
            "ENG",
            "S",
            "VC",
            "N",
            "MSH",
            "PM",
            "D005334",
            "old fever",
            "O",
        ],
        // No canonical atom at all.
        [
            "C0000003",
            "ENG",
            "S",
            "VO",
            "N",
            "MSH",
            "ET",
            "D1",
            "odd thing",
            "N",
        ],
        [
            "C0000003",
            "ENG",
            "S",
            "PF",
            "N",
            "MSH",
            "ET",
            "D1",
            "odd thing, preferred form",
            "N",
        ],
        [
            "C0000004",
            "GER",
            "P",
            "PF",
            "Y",
            "MSHGER",
            "MH",
            "D2",
            "Nur deutsch",
            "N",
        ],
    ];
    let rank = "0400|MSH|MH|N|\n0300|SNOMEDCT_US|SY|N|\n0100|ICD10|PT|N|\n0090|MTH|PN|N|\n";
    let types = "C0000002|T184|A2.2.2|Sign or Symptom|AT1||\nC0000002|T033|A2.2|Finding|AT2||\n\
        C0000001|T184|A2.2.2|Sign or Symptom|AT3||\n";
    let definitions = "C0000002|A1|AT1||ICD10|Heat, as coded.|N||\n\
                       C0000002|A1|AT1||MSH|An abnormal elevation.|N||\n\
                       C0000002|A1|AT1||NCI|Of a source without names here.|N||\n";
    let retired = "C0000009|2001AA|SY|||C0000008|Y|\nC0000008|2002AA|SY|||C0000002|Y|\n\
                   C0000007|2002AA|DEL|||||\nC0000006|2002AA|RB|||C0000001|Y|\n\
                   C0000005|1999AA|SY|||C0999999|Y|\nC0000001|1999AA|SY|||C0000002|Y|\n";
    vec![
        ("META/MRCONSO.RRF", names.map(atom).concat()),
        ("META/MRRANK.RRF", rank.to_owned()),
        ("META/MRSTY.RRF", types.to_owned()),
        ("META/MRDEF.RRF", definitions.to_owned()),
        ("META/MRCUI.RRF", retired.to_owned()),
    ]
}

fn workspace(files: &[(&'static str, String)]) -> Workspace {
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    Workspace::new(&files)
}

#[test]
fn umls_atoms_become_concepts_by_rank() {
    let workspace = workspace(&metathesaurus());
    let report = workspace.import("umls @META").expect("readable");
    let concepts = workspace.concepts();
    assert_eq!(ids(&concepts), ["C0000001", "C0000002", "C0000003"]);
    let fever = by_id(&concepts, "C0000002");
    assert_eq!(fever.name, "Fever");
    assert_eq!(
        fever.synonyms,
        [
            "Pyrexia",
            "Fever, unspecified",
            "febrile \"hot\" state",
            "FEVER"
        ]
    );
    assert_eq!(fever.types, ["Sign or Symptom", "Finding"]);
    assert_eq!(fever.type_ids, ["T184", "T033"]);
    assert_eq!(fever.definition.as_deref(), Some("An abnormal elevation."));
    assert_eq!(
        fever.xrefs,
        [
            "MSH:D005334",
            "SNOMEDCT_US:386661006",
            "ICD10:R50",
            "HP:0001945"
        ]
    );
    assert_eq!(fever.sources, ["MSH", "SNOMEDCT_US", "ICD10", "MTH", "HPO"]);
    // The preferred form of several without a canonical atom.
    assert_eq!(
        by_id(&concepts, "C0000003").name,
        "odd thing, preferred form"
    );
    let noted = [
        umls::OTHER_LANGUAGE,
        umls::SUPPRESSED,
        umls::OBSOLETE,
        names::ONE_CHARACTER,
        OTHER_DEFINITION,
        umls::ONLY_RELATED,
        redirects::NO_SUCCESSOR,
        redirects::ID_IN_USE,
    ];
    assert_eq!(
        noted.map(|reason| report.noted[reason]),
        [2, 2, 1, 1, 1, 1, 1, 1]
    );
    assert_eq!(
        workspace.redirects(),
        "id\treplaced_by\treason\nC0000005\t\tmerged\nC0000006\t\tretired\nC0000007\t\tretired\n\
         C0000008\tC0000002\tmerged\nC0000009\tC0000002\tmerged\n"
    );
    let left = std::fs::read_dir(workspace.path("out"))
        .expect("listed")
        .count();
    assert_eq!(left, 3, "no temporary files stay");
}

#[test]
fn umls_names_follow_marks_without_ranks() {
    let mut files = metathesaurus();
    files.retain(|(name, _)| *name == "META/MRCONSO.RRF");
    let workspace = workspace(&files);
    workspace.import("umls @META").expect("readable");
    let concepts = workspace.concepts();
    let fever = by_id(&concepts, "C0000002");
    assert_eq!(fever.name, "Fever, unspecified");
    assert_eq!(fever.synonyms[0], "Pyrexia");
    assert!(fever.types.is_empty() && fever.definition.is_none());
    assert!(!workspace.path("out/redirects.tsv").exists());
}

#[test]
fn umls_options_choose_languages_sources_status_and_types() {
    let workspace = workspace(&metathesaurus());
    let names = |line: &str| {
        workspace
            .import(line)
            .unwrap_or_else(|error| panic!("{error}"));
        workspace.concepts()
    };
    let german = names("umls @META --languages GER,eng");
    assert_eq!(by_id(&german, "C0000002").name, "Fieber");
    assert_eq!(by_id(&german, "C0000002").synonyms[0], "Fever");
    assert_eq!(by_id(&german, "C0000004").name, "Nur deutsch");
    assert_eq!(names("umls @META --languages all").len(), 4);
    let mesh = names("umls @META --sources msh");
    assert_eq!(ids(&mesh), ["C0000001", "C0000002", "C0000003"]);
    assert_eq!(by_id(&mesh, "C0000002").sources, ["MSH"]);
    let more = names("umls @META --suppressed --obsolete");
    for name in ["suppressed fever", "edited fever", "old fever"] {
        assert!(
            by_id(&more, "C0000002")
                .synonyms
                .iter()
                .any(|own| own == name),
            "{name}"
        );
    }
    assert_eq!(
        ids(&names("umls @META --semantic-types T033")),
        ["C0000002"]
    );
    let report = workspace
        .import("umls @META --semantic-types finding")
        .expect("readable");
    assert_eq!(
        (report.kept(CONCEPTS), report.noted[umls::OTHER_TYPE]),
        (1, 2)
    );
}

#[test]
fn umls_columns_follow_mrfiles() {
    // SUPPRESS is the second column here, and CVF is missing.
    let row = "C1|N|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|Fever|0|\n";
    let suppressed = "C2|Y|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D2|Cough|0|\n";
    let files = "MRCONSO.RRF|Names|CUI,SUPPRESS,LAT,TS,LUI,STT,SUI,ISPREF,AUI,SAUI,SCUI,SDUI,SAB,\
                 TTY,CODE,STR,SRL|17|5|99|\n";
    let workspace = Workspace::new(&[
        (
            "META/MRCONSO.RRF",
            format!("{row}\r\n{suppressed}").as_bytes(),
        ),
        ("META/MRFILES.RRF", files.as_bytes()),
    ]);
    // 5 rows are promised.
    let message = workspace.refusal("umls @META").to_string();
    assert!(
        message.contains("MRCONSO.RRF: expected 5 rows as in MRFILES.RRF, found 2")
            && message.contains("--skip-bad"),
        "{message}"
    );
    let report = workspace.import("umls @META --skip-bad").expect("readable");
    assert_eq!(workspace.concepts()[0].name, "Fever");
    assert_eq!(
        (report.kept(CONCEPTS), report.noted[rrf::OTHER_COUNT]),
        (1, 1)
    );
    // More rows may have been added.
    let fewer = files.replace("|5|", "|1|");
    std::fs::write(workspace.path("META/MRFILES.RRF"), fewer).expect("written");
    let report = workspace.import("umls @META").expect("readable");
    assert_eq!(report.noted[rrf::OTHER_COUNT], 1);
    let without = files.replace("STR,", "");
    std::fs::write(workspace.path("META/MRFILES.RRF"), without).expect("written");
    let message = workspace
        .import("umls @META")
        .expect_err("no STR")
        .to_string();
    assert!(
        message.contains("expected a column STR of MRCONSO.RRF"),
        "{message}"
    );
}

#[test]
fn broken_last_row_names_file_and_line() {
    for cut in [30, 4] {
        let mut names = metathesaurus().swap_remove(0).1.into_bytes();
        names.extend_from_slice(
            "C0000010|ENG|P|L0000010|PF|S1|Y|A1||||MSH|MH|D1|fièvre|0|N|256|\n".as_bytes(),
        );
        names.truncate(names.len() - cut);
        // Cut inside a character too.
        let end = names
            .iter()
            .rposition(|byte| *byte == 0xa8)
            .map_or(names.len(), |at| at);
        for names in [&names[..], &names[..end]] {
            let workspace = Workspace::new(&[("META/MRCONSO.RRF", names)]);
            let message = workspace.refusal("umls @META").to_string();
            assert!(
                message.contains("MRCONSO.RRF: line 15: expected"),
                "{message}"
            );
            let report = workspace.import("umls @META --skip-bad").expect("readable");
            assert_eq!(
                (report.kept(CONCEPTS), report.skipped(release::INVALID_ROW)),
                (3, 1)
            );
        }
    }
}

#[test]
fn missing_table_and_unknown_status_are_errors() {
    let workspace = workspace(&[
        ("empty/MRSTY.RRF", String::new()),
        (
            "odd/MRCONSO.RRF",
            atom(["C1", "ENG", "P", "PF", "Y", "MSH", "MH", "D1", "Fever", "Q"]),
        ),
    ]);
    let error = workspace.refusal("umls @empty");
    assert_eq!(error.kind(), Kind::Input);
    assert!(
        error
            .to_string()
            .contains("expected MRCONSO.RRF, found 1 files (MRSTY.RRF ...)"),
        "{error}"
    );
    let message = workspace.refusal("umls @odd").to_string();
    assert!(
        message.contains("line 1: expected N, O, E or Y in SUPPRESS, found \"Q\""),
        "{message}"
    );
    assert_eq!(workspace.refusal("umls @none").kind(), Kind::Io);
}

#[test]
fn archive_is_read_as_its_folder() {
    let files = metathesaurus();
    let workspace = workspace(&files);
    workspace.import("umls @META").expect("readable");
    let expected = std::fs::read(workspace.path("out/kb.jsonl")).expect("read");
    let redirects = workspace.redirects();
    let members: Vec<(String, &[u8])> = files
        .iter()
        .map(|(name, text)| (format!("2026AA/{name}"), text.as_bytes()))
        .collect();
    let members: Vec<(&str, &[u8])> = members
        .iter()
        .map(|(name, bytes)| (name.as_str(), *bytes))
        .collect();
    zipped(&workspace.path("umls.zip"), &members);
    workspace.import("umls @umls.zip").expect("readable");
    assert_eq!(
        std::fs::read(workspace.path("out/kb.jsonl")).expect("read"),
        expected
    );
    assert_eq!(workspace.redirects(), redirects);
}

#[test]
fn redirects_of_an_earlier_import_are_removed() {
    let workspace = workspace(&metathesaurus());
    workspace.import("umls @META").expect("readable");
    assert!(workspace.path("out/redirects.tsv").exists());
    std::fs::remove_file(workspace.path("META/MRCUI.RRF")).expect("removed");
    workspace.import("umls @META").expect("readable");
    assert!(!workspace.path("out/redirects.tsv").exists());
}

#[test]
fn killed_import_leaves_nothing_visible_and_can_be_repeated() {
    let workspace = workspace(&metathesaurus());
    for checks in 0..60 {
        pel_io::interrupt::kill_after(checks);
        let ended = workspace.import("umls @META");
        pel_io::interrupt::reset();
        if ended.is_ok() {
            assert!(checks > 20, "the reader checks at each row");
            return;
        }
        assert!(!workspace.path("out/kb.jsonl").exists());
    }
    workspace.import("umls @META").expect("readable");
    assert_eq!(workspace.concepts().len(), 3);
}

const CONCEPT: &str = "id\teffectiveTime\tactive\tmoduleId\tdefinitionStatusId";
const DESCRIPTION: &str = "id\teffectiveTime\tactive\tmoduleId\tconceptId\tlanguageCode\ttypeId\tterm\tcaseSignificanceId";
const LANGUAGE: &str =
    "id\teffectiveTime\tactive\tmoduleId\trefsetId\treferencedComponentId\tacceptabilityId";
const ASSOCIATION: &str =
    "id\teffectiveTime\tactive\tmoduleId\trefsetId\treferencedComponentId\ttargetComponentId";

const FSN: &str = "900000000000003001";
const SYNONYM: &str = "900000000000013009";
const US: &str = "900000000000509007";
const GB: &str = "900000000000508004";
const PREFERRED: &str = "900000000000548007";
const ACCEPTABLE: &str = "900000000000549004";

fn concept(id: &str, active: u8) -> String {
    format!("{id}\t20200131\t{active}\t900000000000207008\t900000000000074008")
}

fn description(id: &str, active: u8, of: &str, language: &str, kind: &str, term: &str) -> String {
    format!(
        "{id}\t20200131\t{active}\t900000000000207008\t{of}\t{language}\t{kind}\t{term}\t900000000000448009"
    )
}

fn member(set: &str, of: &str, value: &str) -> String {
    format!("uuid-{set}-{of}\t20200131\t1\t900000000000207008\t{set}\t{of}\t{value}")
}

/// A table with a comment, blank lines and CRLF.
fn table(header: &str, rows: &[String]) -> String {
    format!(
        "# a comment\r\n\r\n{header}\r\n{}\r\n\r\n",
        rows.join("\r\n")
    )
}

fn snapshot() -> Vec<(&'static str, String)> {
    let concepts = [
        concept("386661006", 1),
        concept("49727002", 1),
        concept("111", 0),
        concept("112", 0),
        concept("113", 0),
        concept("114", 0),
        concept("271737000", 1),
    ];
    let names = [
        description("1", 1, "386661006", "en", FSN, "Fever (finding)"),
        description(
            "2",
            1,
            "386661006",
            "en",
            SYNONYM,
            "Pyrexia \"of unknown origin",
        ),
        description("3", 1, "386661006", "en", SYNONYM, "Fever"),
        description("4", 0, "386661006", "en", SYNONYM, "Inactive fever"),
        description("5", 1, "386661006", "es", SYNONYM, "Fiebre"),
        description("6", 1, "271737000", "en", FSN, "Anemia (disorder)"),
        description("7", 1, "271737000", "en", SYNONYM, "Anaemia"),
        description("8", 1, "271737000", "en", SYNONYM, "Anemia"),
        description("9", 1, "111", "en", FSN, "Old fever (finding)"),
        // Trailing blank fields.
        format!(
            "{}\t\t",
            description("10", 1, "49727002", "en", FSN, "Cough (finding)")
        ),
        description("11", 1, "999", "en", SYNONYM, "Of another edition"),
    ];
    let language = [
        member(US, "1", PREFERRED),
        member(US, "2", ACCEPTABLE),
        member(US, "3", PREFERRED),
        member(GB, "3", ACCEPTABLE),
        member(GB, "2", PREFERRED),
        member(US, "8", PREFERRED),
        member(US, "6", PREFERRED),
        member(GB, "7", PREFERRED),
        member("448879004", "5", PREFERRED),
    ];
    let definitions = [description(
        "20",
        1,
        "386661006",
        "en",
        "900000000000550004",
        "A body temperature above normal.",
    )];
    let associations = [
        member("900000000000527005", "111", "386661006"),
        member("900000000000526001", "112", "111"),
        member("900000000000523009", "113", "386661006"),
        member("900000000000523009", "113", "49727002"),
    ];
    vec![
        (
            "International/Snapshot/Terminology/sct2_Concept_Snapshot_INT_20200131.txt",
            table(CONCEPT, &concepts),
        ),
        (
            "International/Snapshot/Terminology/sct2_Description_Snapshot-en_INT_20200131.txt",
            table(DESCRIPTION, &names),
        ),
        (
            "International/Snapshot/Terminology/sct2_TextDefinition_Snapshot-en_INT_20200131.txt",
            table(DESCRIPTION, &definitions),
        ),
        (
            "International/Snapshot/Refset/Language/der2_cRefset_LanguageSnapshot-en_INT_20200131.txt",
            table(LANGUAGE, &language),
        ),
        (
            "International/Snapshot/Refset/Content/der2_cRefset_AssociationSnapshot_INT_20200131.txt",
            table(ASSOCIATION, &associations),
        ),
        (
            "International/Full/Terminology/sct2_Concept_Full_INT_20200131.txt",
            "not read".to_owned(),
        ),
    ]
}

#[test]
fn snomed_snapshot_becomes_concepts() {
    let workspace = workspace(&snapshot());
    let report = workspace.import("snomed @International").expect("readable");
    let concepts = workspace.concepts();
    assert_eq!(ids(&concepts), ["49727002", "271737000", "386661006"]);
    let fever = by_id(&concepts, "386661006");
    assert_eq!(fever.name, "Fever");
    assert_eq!(fever.synonyms, ["Pyrexia \"of unknown origin"]);
    assert_eq!(
        (&fever.types[..], &fever.sources[..]),
        (&["finding".to_owned()][..], &["SNOMEDCT".to_owned()][..])
    );
    assert_eq!(
        fever.definition.as_deref(),
        Some("A body temperature above normal.")
    );
    assert_eq!(by_id(&concepts, "271737000").name, "Anemia");
    // Without a synonym the fully specified name is left, without its tag.
    assert_eq!(by_id(&concepts, "49727002").name, "Cough");
    let noted = [
        snomed::INACTIVE,
        snomed::INACTIVE_NAME,
        snomed::OTHER_LANGUAGE,
        snomed::NO_CONCEPT,
    ];
    assert_eq!(noted.map(|reason| report.noted[reason]), [4, 1, 1, 1]);
    assert_eq!(
        workspace.redirects(),
        "id\treplaced_by\treason\n111\t386661006\tmerged\n112\t386661006\treplaced\n113\t\tsplit\n\
         114\t\tretired\n"
    );
}

#[test]
fn snomed_dialect_and_languages_choose_names() {
    let workspace = workspace(&snapshot());
    let concepts = |line: &str| {
        workspace
            .import(line)
            .unwrap_or_else(|error| panic!("{error}"));
        workspace.concepts()
    };
    let british = concepts("snomed @International --dialect GB");
    assert_eq!(by_id(&british, "271737000").name, "Anaemia");
    assert_eq!(
        by_id(&british, "386661006").name,
        "Pyrexia \"of unknown origin"
    );
    let spanish = concepts("snomed @International --languages es,en");
    assert_eq!(by_id(&spanish, "386661006").name, "Fiebre");
    assert_eq!(by_id(&spanish, "386661006").types, ["finding"]);
    let only = concepts("snomed @International --languages es --dialect 448879004");
    assert_eq!(
        (ids(&only), only[0].types.join("+")),
        (vec!["386661006"], "finding".into())
    );
    let report = workspace
        .import("snomed @International --languages es --dialect 5")
        .expect("readable");
    assert_eq!(
        (
            report.noted[snomed::WITHOUT_NAME],
            report.noted[snomed::NO_DIALECT]
        ),
        (2, 1)
    );
    let inactive = concepts("snomed @International --inactive");
    assert_eq!(by_id(&inactive, "111").name, "Old fever");
}

#[test]
fn snomed_extension_replaces_rows_by_time() {
    let mut files = snapshot();
    let later = |row: String| row.replacen("20200131", "20210301", 1);
    let blank = |row: String| row.replacen("20200131", "", 1);
    files.extend([
        (
            "Extension/Snapshot/Terminology/sct2_Concept_Snapshot_US1000124_20210301.txt",
            table(
                CONCEPT,
                &[later(concept("49727002", 0)), blank(concept("555", 1))],
            ),
        ),
        (
            "Extension/Snapshot/Terminology/sct2_Description_Snapshot-en_US1000124_20210301.txt",
            table(
                DESCRIPTION,
                &[
                    later(description("2", 0, "386661006", "en", SYNONYM, "Pyrexia")),
                    blank(description(
                        "30",
                        1,
                        "555",
                        "en",
                        FSN,
                        "Local thing (finding)",
                    )),
                    description("3", 0, "386661006", "en", SYNONYM, "Fever")
                        .replacen("20200131", "20190101", 1),
                ],
            ),
        ),
    ]);
    let workspace = workspace(&files);
    workspace
        .import("snomed @International @Extension")
        .expect("readable");
    let concepts = workspace.concepts();
    assert_eq!(ids(&concepts), ["555", "271737000", "386661006"]);
    assert!(by_id(&concepts, "386661006").synonyms.is_empty());
    assert!(workspace.redirects().contains("49727002\t\tretired\n"));
}

#[test]
fn snomed_full_or_delta_alone_is_refused() {
    let workspace = workspace(&[
        (
            "full/sct2_Concept_Full_INT_20200131.txt",
            table(CONCEPT, &[concept("1", 1)]),
        ),
        (
            "delta/sct2_Concept_Delta_INT_20200131.txt",
            table(CONCEPT, &[concept("1", 1)]),
        ),
        (
            "half/sct2_Concept_Snapshot_INT_20200131.txt",
            table(CONCEPT, &[concept("1", 1)]),
        ),
        ("other/readme.txt", String::new()),
    ]);
    for (folder, message) in [
        (
            "full",
            "which has all earlier states too; name the folder Snapshot",
        ),
        ("delta", "which has the changes of one release only"),
        (
            "half",
            "expected sct2_Description_Snapshot-*.txt, found 1 files without one",
        ),
        (
            "other",
            "expected sct2_Concept_Snapshot_*.txt, found 1 files without one",
        ),
    ] {
        let error = workspace.refusal(&format!("snomed @{folder}")).to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn malformed_rf2_rows_name_file_and_line() {
    let names = "half/sct2_Description_Snapshot-en_INT_20200131.txt";
    for (row, message) in [
        (
            "1\t20200131\t1\t9\t1\ten\t900000000000013009",
            "expected 9 columns, found 7",
        ),
        (
            "x\t20200131\t1\t9\t1\ten\t900000000000013009\tFever\t9",
            "identifier of at most 18 digits, found \"x\"",
        ),
        (
            "1\t2020\t1\t9\t1\ten\t900000000000013009\tFever\t9",
            "in effectiveTime, found \"2020\"",
        ),
        (
            "1\t20200131\tyes\t9\t1\ten\t900000000000013009\tFever\t9",
            "expected 0 or 1 in active",
        ),
        (
            "1\t20200131\t1\t9\t1\ten\t5\tFever\t9",
            "in typeId, found 5",
        ),
    ] {
        let good = description("2", 1, "1", "en", FSN, "Fever (finding)");
        let workspace = workspace(&[
            (
                "half/sct2_Concept_Snapshot_INT_20200131.txt",
                table(CONCEPT, &[concept("1", 1)]),
            ),
            (names, format!("{DESCRIPTION}\n{good}\n{row}")),
        ]);
        let error = workspace.refusal("snomed @half").to_string();
        assert!(
            error.contains("INT_20200131.txt: line 3: ") && error.contains(message),
            "{error}"
        );
        let report = workspace
            .import("snomed @half --skip-bad")
            .expect("readable");
        assert_eq!(
            (report.kept(CONCEPTS), report.skipped(release::INVALID_ROW)),
            (1, 1)
        );
    }
}

/// A row of RXNCONSO: RXCUI, source, term type, code, name, SUPPRESS.
fn drug(fields: [&str; 6]) -> String {
    let [id, source, kind, code, name, suppress] = fields;
    format!("{id}|ENG||||||A1||{code}||{source}|{kind}|{code}|{name}||{suppress}|4096|\n")
}

#[test]
fn rxnorm_atoms_become_drugs() {
    let names = [
        ["1991302", "RXNORM", "BN", "1991302", "Ozempic", "N"],
        ["1191", "RXNORM", "SY", "1191", "ASA", "N"],
        ["1191", "RXNORM", "IN", "1191", "aspirin", "N"],
        ["1191", "RXNORM", "TMSY", "1191", "ASPIRIN tablet-like", "N"],
        ["1191", "MSH", "MH", "D001241", "Aspirin of MeSH", "N"],
        ["1191", "ATC", "IN", "N02BA01", "acetylsalicylic acid", "O"],
        ["1191", "RXNORM", "SY", "1191", "hidden", "Y"],
        ["316074", "RXNORM", "DF", "316074", "Oral Tablet", "N"],
        ["5555", "MMSL", "GN", "x", "only of another source", "N"],
    ];
    let retired = "1000|200801|200903|1|1191|\n1001|200801|200903|2|1191|\n\
                   1001|200801|200903|2|1991302|\n316074|200801||1|1191|\n\
                   1002|200801|200903|1|1002|\n1191|200801|200903|1|1000|\n";
    let archive = "A1||old aspirin|2009|2008|2009|1003|N|ENG|2009||RXNORM|1003|RXNORM|IN|1191|\n\
        A2||gone|2009|2008|2009|1004|N|ENG|2009||RXNORM|1004|RXNORM|IN||\n\
        A3||of a source|2009|2008|2009|1005|N|ENG|2009||MSH|1005|MSH|MH|1191|\n";
    let workspace = workspace(&[
        ("rrf/RXNCONSO.RRF", names.map(drug).concat()),
        (
            "rrf/RXNSTY.RRF",
            "1191|T109|A1.4|Organic Chemical|AT1|256|\n".to_owned(),
        ),
        ("rrf/RXNCUI.RRF", retired.to_owned()),
        ("rrf/RXNATOMARCHIVE.RRF", archive.to_owned()),
        // Reads backwards; not needed.
        (
            "rrf/RXNREL.RRF",
            "1191||RXCUI|RN|198440||RXCUI|has_ingredient||RXNORM||||||\n".to_owned(),
        ),
    ]);
    let report = workspace.import("rxnorm @rrf").expect("readable");
    let concepts = workspace.concepts();
    assert_eq!(ids(&concepts), ["1191", "1991302"]);
    let aspirin = &concepts[0];
    assert_eq!(
        (aspirin.name.as_str(), aspirin.synonyms.join("+")),
        ("aspirin", "ASA+ASPIRIN tablet-like".into())
    );
    assert_eq!(
        (aspirin.xrefs.join("+"), aspirin.sources.join("+")),
        ("MSH:D001241".into(), "RXNORM".into())
    );
    assert_eq!(aspirin.types, ["Organic Chemical"]);
    let noted = [rxnorm::OTHER_TERM_TYPE, umls::SUPPRESSED, umls::OBSOLETE];
    assert_eq!(noted.map(|reason| report.noted[reason]), [1, 1, 1]);
    assert_eq!(
        workspace.redirects(),
        "id\treplaced_by\treason\n1000\t1191\tmerged\n1001\t\tsplit\n1002\t\tretired\n\
         1003\t1191\tmerged\n1004\t\tretired\n"
    );
    workspace
        .import("rxnorm @rrf --term-types DF")
        .expect("readable");
    assert_eq!(ids(&workspace.concepts()), ["316074"]);
}

#[test]
fn mapping_merges_concepts_of_any_table() {
    let map = "#curie_map:\n#  UMLS: https://uts.nlm.nih.gov/uts/umls/concept/\n\
        subject_id\tpredicate_id\tobject_id\tmapping_justification\n\
        T:2\tskos:exactMatch\tUMLS:C0000002\tsemapv:ManualMappingCuration\n\
        T:5\tskos:broadMatch\tUMLS:C0000001\tsemapv:ManualMappingCuration\n";
    let mut files = metathesaurus();
    files.push(("m.sssom.tsv", map.to_owned()));
    files.push(("a.obo", super::OBO.to_owned()));
    let workspace = workspace(&files);
    workspace
        .import("umls @META --map @m.sssom.tsv")
        .expect("readable");
    let own = workspace.concepts();
    assert!(
        by_id(&own, "C0000002")
            .xrefs
            .iter()
            .any(|xref| xref == "T:2")
    );
    std::fs::copy(workspace.path("out/kb.jsonl"), workspace.path("umls.jsonl")).expect("copied");
    std::fs::remove_dir_all(workspace.path("out")).expect("removed");
    workspace.import("obo @a.obo").expect("readable");
    std::fs::copy(workspace.path("out/kb.jsonl"), workspace.path("obo.jsonl")).expect("copied");
    let report = workspace
        .import("jsonl @obo.jsonl @umls.jsonl --map @m.sssom.tsv")
        .expect("readable");
    let concepts = workspace.concepts();
    assert_eq!(
        ids(&concepts),
        ["T:1", "T:5", "C0000001", "C0000003", "T:2"]
    );
    let fever = by_id(&concepts, "T:2");
    assert_eq!(fever.name, "fever");
    assert!(
        fever
            .synonyms
            .iter()
            .any(|name| name == "Fever, unspecified")
    );
    assert!(fever.xrefs.iter().any(|xref| xref == "UMLS:C0000002"));
    assert_eq!(
        (report.kept(CONCEPTS), report.noted[mapping::MERGED]),
        (5, 1)
    );
    assert_eq!(
        workspace.redirects(),
        "id\treplaced_by\treason\nC0000002\tT:2\tmapped\n"
    );
    let record = std::fs::read_to_string(workspace.path("out/import.json")).expect("written");
    assert!(record.contains("m.sssom.tsv"), "{record}");
    let error = workspace
        .import("jsonl @obo.jsonl --map @a.obo")
        .expect_err("no mapping");
    assert!(
        error.to_string().contains("expected a mapping in SSSOM"),
        "{error}"
    );
}

#[test]
fn inputs_are_recognised_with_their_command() {
    let mut files = metathesaurus();
    files.extend(snapshot());
    files.extend([
        (
            "rrf/RXNCONSO.RRF",
            drug(["1", "RXNORM", "IN", "1", "a", "N"]),
        ),
        (
            "full/sct2_Concept_Full_INT_20200131.txt",
            table(CONCEPT, &[]),
        ),
        ("Loinc.csv", "\"LOINC_NUM\",\"COMPONENT\"\n".to_owned()),
        ("my codes.csv", "id,name\n1,fever\n".to_owned()),
        ("a.obo", super::OBO.to_owned()),
        ("b.jsonl", "{\"id\": \"1\", \"name\": \"a\"}\n".to_owned()),
        (
            "order.txt",
            "00001 A00     0 Cholera                                                      Cholera\n"
                .to_owned(),
        ),
        (
            "desc2026.xml",
            "<?xml version=\"1.0\"?>\n<DescriptorRecordSet>".to_owned(),
        ),
        (
            "m.tsv",
            "#x: y\nsubject_id\tpredicate_id\tobject_id\n".to_owned(),
        ),
        ("c.txt", "12|t|Fever\n12|a|None.\n".to_owned()),
        (
            "d.owl",
            "<?xml version=\"1.0\"?>\n<rdf:RDF xmlns:owl=\"http://www.w3.org/2002/07/owl#\">"
                .to_owned(),
        ),
        ("nlm/2026aa-1-meta.nlm", "x".to_owned()),
        ("poem.txt", "Roses are red\n".to_owned()),
        ("onto/a.obo", super::OBO.to_owned()),
        ("none/.keep", String::new()),
    ]);
    let workspace = workspace(&files);
    std::fs::remove_file(workspace.path("none/.keep")).expect("removed");
    zipped(&workspace.path("rx.zip"), &[("rrf/RXNCONSO.RRF", b"")]);
    for (name, what, command) in [
        (
            "META",
            "the UMLS Metathesaurus",
            Some("pel import umls @ --out DIR"),
        ),
        (
            "International",
            "SNOMED CT in RF2 (Snapshot)",
            Some("pel import snomed @ --out DIR"),
        ),
        ("rrf", "RxNorm", Some("pel import rxnorm @ --out DIR")),
        ("rx.zip", "RxNorm", Some("pel import rxnorm @ --out DIR")),
        ("full", "SNOMED CT in RF2 without its Snapshot", None),
        ("Loinc.csv", "LOINC", Some("pel import loinc @ --out DIR")),
        (
            "my codes.csv",
            "a concept table with columns",
            Some("pel import csv '@' --out DIR"),
        ),
        (
            "a.obo",
            "an ontology in OBO",
            Some("pel import obo @ --out DIR"),
        ),
        (
            "b.jsonl",
            "concepts as JSON lines",
            Some("pel import jsonl @ --out DIR"),
        ),
        (
            "order.txt",
            "ICD-10-CM",
            Some("pel import icd10cm @ --out DIR"),
        ),
        ("desc2026.xml", "MeSH", Some("pel import mesh @ --out DIR")),
        (
            "m.tsv",
            "a mapping in SSSOM",
            Some("pel import FORMAT IN --map @ --out DIR"),
        ),
        (
            "c.txt",
            "annotated texts in PubTator",
            Some("pel import pubtator @ --out DIR"),
        ),
        (
            "d.owl",
            "an ontology in OWL",
            Some("pel import owl @ --out DIR"),
        ),
        ("nlm", "the UMLS before installation", None),
    ] {
        let path = workspace.path(name);
        let found = recognise::recognise(&path).unwrap_or_else(|error| panic!("{error}"));
        assert!(found.what.starts_with(what), "{name}: {}", found.what);
        let command = command.map(|command| command.replace('@', &path.display().to_string()));
        assert_eq!(found.command, command, "{name}");
    }
    // A single table of a release stands for its folder, and a folder with an ontology for that.
    let found = recognise::recognise(&workspace.path("META/MRCONSO.RRF")).expect("recognised");
    let command = format!(
        "pel import umls {} --out DIR",
        workspace.path("META").display()
    );
    assert_eq!(found.command, Some(command));
    let found = recognise::recognise(&workspace.path("onto")).expect("recognised");
    let command = format!(
        "pel import obo {} --out DIR",
        workspace.path("onto/a.obo").display()
    );
    assert_eq!(found.command, Some(command));
    for (name, message) in [
        ("poem.txt", "a file that begins with \"Roses are red\""),
        ("none", "an empty folder"),
    ] {
        let error = recognise::recognise(&workspace.path(name)).expect_err(name);
        assert!(error.to_string().contains(message), "{error}");
    }
    assert_eq!(
        recognise::recognise(&workspace.path("absent"))
            .expect_err("absent")
            .kind(),
        Kind::Io
    );
    let words = ["import".into(), workspace.path("a.obo").into_os_string()];
    let command = Command::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
    run(&command.import, false).expect("printed");
}
