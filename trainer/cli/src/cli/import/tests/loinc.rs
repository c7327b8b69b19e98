//! LOINC.

use super::Workspace;
use pel_io::testing::zipped;
use pel_terminologies::loinc;

const TABLE: &str = r#""LOINC_NUM","COMPONENT","PROPERTY","SYSTEM","CLASS","DefinitionDescription","STATUS","CONSUMER_NAME","CLASSTYPE","RELATEDNAMES2","SHORTNAME","EXTERNAL_COPYRIGHT_NOTICE","LONG_COMMON_NAME","DisplayName"
"2345-7","Glucose","MCnc","Ser/Plas","CHEM","","ACTIVE","","1","Glu; Gluc; Glucoseur; Chemistry","Glucose SerPl-mCnc","","Glucose [Mass/volume] in Serum or Plasma","Glucose [Mass/Vol]"
"8480-6","Intravascular systolic","Pres","Arterial system","BP.ATOM","Pressure, ""systolic"",
at peak","TRIAL","","2","","BP sys","","Systolic blood pressure",""
"1111-1","Old","","","CHEM","","DEPRECATED","","1","","","","Old glucose",""
"1112-2","Old","","","CHEM","","DEPRECATED","","1","","","","Older glucose",""
"1113-3","Old","","","CHEM","","DEPRECATED","","1","","","","Oldest glucose",""
"44249-1","PHQ-9","Find","^Patient","SURVEY.MTLHLTH","","DISCOURAGED","","4","","","Copyright of others","PHQ-9 panel",""
"#;

const MAP: &str = "\"LOINC\",\"MAP_TO\",\"COMMENT\"\n\"1111-1\",\"2345-7\",\"\"\n\
                   \"1112-2\",\"2345-7\",\"if serum\"\n\"1112-2\",\"8480-6\",\"else\"\n";
const CONSUMER: &str = "\"LoincNumber\",\"ConsumerName\"\n\"2345-7\",\"Glucose, Blood\"\n";

fn workspace() -> Workspace {
    Workspace::new(&[
        ("LoincTable/Loinc.csv", TABLE.as_bytes()),
        ("LoincTable/MapTo.csv", MAP.as_bytes()),
        (
            "AccessoryFiles/ConsumerName/ConsumerName.csv",
            CONSUMER.as_bytes(),
        ),
    ])
}

fn redirects(workspace: &Workspace) -> String {
    std::fs::read_to_string(workspace.path("out/redirects.tsv")).expect("written")
}

#[test]
fn active_and_trial_codes_become_concepts_and_deprecated_ones_redirects() {
    let workspace = workspace();
    let report = workspace
        .import("loinc @LoincTable @AccessoryFiles")
        .expect("readable");
    let concepts = workspace.concepts();
    let ids: Vec<&str> = concepts.iter().map(|concept| &*concept.id).collect();
    assert_eq!(ids, ["2345-7", "8480-6"]);
    let glucose = &concepts[0];
    assert_eq!(glucose.name, "Glucose [Mass/volume] in Serum or Plasma");
    assert_eq!(
        glucose.synonyms,
        ["Glucose [Mass/Vol]", "Glucose SerPl-mCnc", "Glucose, Blood"]
    );
    assert_eq!(glucose.types, ["Laboratory", "CHEM"]);
    assert_eq!(glucose.sources, ["LNC"]);
    assert_eq!(concepts[1].types, ["Clinical", "BP.ATOM"]);
    assert_eq!(
        concepts[1].definition.as_deref(),
        Some("Pressure, \"systolic\", at peak")
    );
    assert_eq!(
        redirects(&workspace),
        "id\treplaced_by\treason\n1111-1\t2345-7\treplaced\n1112-2\t\tsplit\n1113-3\t\tretired\n"
    );
    assert_eq!(
        [loinc::DEPRECATED, loinc::DISCOURAGED, loinc::SEVERAL].map(|reason| report.noted[reason]),
        [3, 1, 1]
    );
}

#[test]
fn options_choose_names_and_status() {
    let workspace = workspace();
    let report = workspace
        .import("loinc @LoincTable/Loinc.csv --names component,related --discouraged")
        .expect("readable");
    let concepts = workspace.concepts();
    assert_eq!(
        concepts[0].synonyms,
        ["Glucose", "Glu", "Gluc", "Glucoseur", "Chemistry"]
    );
    assert_eq!(concepts[2].types, ["Survey", "SURVEY.MTLHLTH"]);
    assert_eq!(report.noted[loinc::COPYRIGHT], 1);
    // Without MapTo.csv nothing is known of successors.
    assert_eq!(redirects(&workspace).matches("\tretired\n").count(), 3);
}

#[test]
fn archive_and_renamed_table_are_read() {
    let workspace = workspace();
    zipped(
        &workspace.path("Loinc_2.82.zip"),
        &[
            ("LoincTable/Loinc.csv", TABLE.as_bytes()),
            ("LoincTable/MapTo.csv", MAP.as_bytes()),
            ("LoincTableCore/LoincTableCore.csv", b"x"),
            ("LoincTableCore/MapTo.csv", b"not this one"),
            ("LoincLicense.txt", b"text"),
        ],
    );
    workspace.import("loinc @Loinc_2.82.zip").expect("readable");
    assert!(redirects(&workspace).contains("1111-1\t2345-7\treplaced"));
    std::fs::write(workspace.path("codes.csv"), TABLE).expect("written");
    workspace.import("loinc @codes.csv").expect("readable");
    assert_eq!(workspace.concepts().len(), 2);
}

#[test]
fn broken_table_is_an_error_or_counted() {
    let header = TABLE.lines().next().expect("a header");
    let row = TABLE.lines().nth(1).expect("a row");
    for (bad, message) in [
        (
            row.replacen("\"Glucose\",", "", 1),
            "expected 14 cells as in the header, found 13",
        ),
        (
            row.replace("ACTIVE", "Active?"),
            "expected the status ACTIVE, TRIAL, DISCOURAGED or DEPRECATED, found \"Active?\"",
        ),
        (
            row.replace("\"CHEM\"", "\"CH\"EM\""),
            "expected the end of the cell after its closing quote",
        ),
    ] {
        let other = row.replace("2345-7", "2346-5");
        let text = format!("{header}\n{bad}\n{other}\n");
        let workspace = Workspace::new(&[("Loinc.csv", text.as_bytes())]);
        let error = workspace.refusal("loinc @Loinc.csv").to_string();
        assert!(
            error.contains("Loinc.csv: line 2: ") && error.contains(message),
            "{error}"
        );
        let report = workspace
            .import("loinc @Loinc.csv --skip-bad")
            .expect("skipped");
        assert_eq!(
            (report.skipped_in_all(), workspace.concepts().len()),
            (1, 1)
        );
    }
    for (text, message) in [
        (
            String::new(),
            "expected a header with the column LOINC_NUM, found an empty file",
        ),
        (
            header.replace("STATUS", "STATE"),
            "expected a header with the column STATUS, found LOINC_NUM",
        ),
        (
            format!("{header}\n{}", &row[..60]),
            "expected a closing quote for this row, found the end of the file",
        ),
    ] {
        let workspace = Workspace::new(&[("Loinc.csv", text.as_bytes())]);
        let error = workspace.refusal("loinc @Loinc.csv").to_string();
        assert!(error.contains(message), "{error}");
    }
    let workspace = Workspace::new(&[("a/LoincPanels.csv", b"a"), ("a/Part.csv", b"a")]);
    let error = workspace.refusal("loinc @a").to_string();
    assert!(error.contains("there is no Loinc.csv"), "{error}");
}

#[test]
fn repeated_column_is_refused_and_repeated_successor_counts_once() {
    let twice = TABLE.replacen("\"COMPONENT\"", "\"Status\"", 1);
    let workspace = Workspace::new(&[("Loinc.csv", twice.as_bytes())]);
    let error = workspace.refusal("loinc @Loinc.csv").to_string();
    assert!(
        error.contains("expected one column STATUS, found the columns 2 and 7 of this name"),
        "{error}"
    );
    // One successor that is listed again is one.
    let again = MAP.replace("\"8480-6\",\"else\"", "\"2345-7\",\"else\"");
    let workspace = Workspace::new(&[
        ("LoincTable/Loinc.csv", TABLE.as_bytes()),
        ("LoincTable/MapTo.csv", again.as_bytes()),
    ]);
    workspace.import("loinc @LoincTable").expect("readable");
    assert!(
        redirects(&workspace).contains("1112-2\t2345-7\treplaced"),
        "{}",
        redirects(&workspace)
    );
}
