//! ICD-10-CM: order file and tabular list.

use super::Workspace;
use pel_io::testing::zipped;
use pel_terminologies::icd10cm;

fn order_line(number: usize, code: &str, flag: u8, short: &str, long: &str) -> String {
    format!("{number:05} {code:<7} {flag} {short:<60} {long}\n")
}

fn order() -> String {
    [
        order_line(1, "A00", 0, "Cholera", "Cholera"),
        order_line(
            2,
            "A000",
            1,
            "Cholera due to Vibrio cholerae 01, biovar cholerae",
            "Cholera due to Vibrio cholerae 01, biovar cholerae",
        ),
        order_line(
            3,
            "S020XXA",
            1,
            "Fracture of vault of skull, init for clos fx",
            "Fracture of vault of skull, initial encounter for closed fracture",
        ),
        order_line(
            4,
            "H8101",
            1,
            "Ménière's disease, r ear",
            "Ménière's disease, right ear",
        ),
        order_line(
            5,
            "C7A1",
            0,
            "Malig poorly diff neuroendocrine tumors",
            "Malignant poorly differentiated neuroendocrine tumors",
        ),
    ]
    .concat()
}

const TABULAR: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<ICD10CM.tabular>
  <version>2026</version>
  <introduction><introSection type="title"><title>ICD-10-CM <i>TABULAR</i> LIST</title></introSection></introduction>
  <chapter>
    <name>1</name>
    <desc>Certain infectious and parasitic diseases (A00-B99)</desc>
    <includes><note>diseases generally recognized as communicable</note></includes>
    <sectionIndex><sectionRef first="A00" last="A09" id="A00-A09">Intestinal</sectionRef></sectionIndex>
    <section id="A00-A09">
      <desc>Intestinal infectious diseases (A00-A09)</desc>
      <diag>
        <name>A00</name>
        <desc>Cholera</desc>
        <includes><note>cholera of any kind</note></includes>
        <diag>
          <name>A00.0</name>
          <desc>Cholera due to Vibrio cholerae 01, biovar cholerae</desc>
          <inclusionTerm><note>Classical cholera</note><note>Asiatic cholera</note></inclusionTerm>
          <excludes1><note>not this (A09)</note></excludes1>
        </diag>
        <diag><name>A00.9</name><desc>Cholera, unspecified</desc></diag>
      </diag>
    </section>
  </chapter>
  <chapter>
    <name>19</name>
    <desc>Injury, poisoning and certain other consequences of external causes (S00-T88)</desc>
    <section id="S00-S09">
      <desc>Injuries to the head (S00-S09)</desc>
      <diag>
        <name>S02</name>
        <desc>Fracture of skull and facial bones</desc>
        <sevenChrDef><extension char="A">initial encounter for closed fracture</extension></sevenChrDef>
        <diag><name>S02.0</name><desc>Fracture of vault of skull</desc>
          <inclusionTerm><note>Fracture of frontal bone</note></inclusionTerm></diag>
      </diag>
    </section>
  </chapter>
</ICD10CM.tabular>
"#;

fn workspace() -> Workspace {
    Workspace::new(&[
        ("icd10cm_order_2026.txt", order().as_bytes()),
        ("icd10cm_tabular_2026.xml", TABULAR.as_bytes()),
    ])
}

#[test]
fn order_file_gives_codes_with_a_dot_and_both_descriptions() {
    let workspace = workspace();
    let report = workspace
        .import("icd10cm @icd10cm_order_2026.txt")
        .expect("readable");
    let concepts = workspace.concepts();
    let ids: Vec<&str> = concepts.iter().map(|concept| &*concept.id).collect();
    assert_eq!(ids, ["A00", "A00.0", "S02.0XXA", "H81.01", "C7A.1"]);
    assert!(concepts[0].synonyms.is_empty());
    assert_eq!(
        (&*concepts[2].name, &concepts[2].synonyms[..]),
        (
            "Fracture of vault of skull, initial encounter for closed fracture",
            &["Fracture of vault of skull, init for clos fx".to_owned()][..]
        )
    );
    // Chapters are known without the tabular list, letters in a category included.
    let types: Vec<String> = concepts.iter().map(|one| one.types.join("+")).collect();
    assert_eq!(
        types,
        [
            "Certain infectious and parasitic diseases",
            "Certain infectious and parasitic diseases",
            "Injury, poisoning and certain other consequences of external causes",
            "Diseases of the ear and mastoid process",
            "Neoplasms"
        ]
    );
    assert_eq!(concepts[3].name, "Ménière's disease, right ear");
    assert!(
        concepts
            .iter()
            .all(|concept| concept.sources == ["ICD10CM"])
    );
    assert_eq!(report.skipped_in_all(), 0);
    let report = workspace
        .import("icd10cm @icd10cm_order_2026.txt --billable --without-short")
        .expect("readable");
    let concepts = workspace.concepts();
    assert_eq!(concepts.len(), 3);
    assert!(concepts.iter().all(|concept| concept.synonyms.is_empty()));
    assert_eq!(report.noted[icd10cm::NOT_BILLABLE], 2);
}

#[test]
fn tabular_list_adds_inclusion_terms_and_types() {
    let workspace = workspace();
    let report = workspace
        .import("icd10cm @icd10cm_tabular_2026.xml @icd10cm_order_2026.txt")
        .expect("readable");
    let concepts = workspace.concepts();
    let ids: Vec<&str> = concepts.iter().map(|concept| &*concept.id).collect();
    assert_eq!(
        ids,
        [
            "A00", "A00.0", "S02.0XXA", "H81.01", "C7A.1", "A00.9", "S02", "S02.0"
        ]
    );
    assert_eq!(
        concepts[1].synonyms,
        ["Classical cholera", "Asiatic cholera"]
    );
    assert_eq!(
        concepts[1].types,
        [
            "Certain infectious and parasitic diseases",
            "Intestinal infectious diseases"
        ]
    );
    // A code with a seventh character has the types of its category, but not its inclusion terms.
    assert_eq!(
        concepts[2].types,
        [
            "Injury, poisoning and certain other consequences of external causes",
            "Injuries to the head"
        ]
    );
    assert_eq!(concepts[2].synonyms.len(), 1);
    assert_eq!(concepts[7].synonyms, ["Fracture of frontal bone"]);
    assert_eq!(report.noted[icd10cm::NOT_IN_ORDER], 3);
    assert_eq!(report.noted[icd10cm::INCLUDES], 1);
    assert_eq!(report.noted[icd10cm::SEVENTH], 1);
}

#[test]
fn tabular_list_alone_has_codes_up_to_six_characters() {
    let workspace = workspace();
    workspace
        .import("icd10cm @icd10cm_tabular_2026.xml --billable")
        .expect("readable");
    let concepts = workspace.concepts();
    let ids: Vec<&str> = concepts.iter().map(|concept| &*concept.id).collect();
    // S02.0 needs a seventh character.
    assert_eq!(ids, ["A00.0", "A00.9"]);
}

#[test]
fn archive_is_searched_for_both_files() {
    let workspace = workspace();
    zipped(
        &workspace.path("codes.zip"),
        &[
            (
                "Code Descriptions/icd10cm-order-2026.txt",
                order().as_bytes(),
            ),
            (
                "Code Descriptions/icd10cm-order-addenda-2026.txt",
                b"Add: 00002",
            ),
            (
                "Code Descriptions/icd10cm-codes-2026.txt",
                b"A000    Cholera",
            ),
            (
                "Table and Index/icd10cm-tabular-2026.xml",
                TABULAR.as_bytes(),
            ),
        ],
    );
    workspace.import("icd10cm @codes.zip").expect("readable");
    assert_eq!(workspace.concepts().len(), 8);
}

#[test]
fn line_of_wrong_width_is_an_error_or_counted() {
    let good = order_line(1, "A00", 0, "Cholera", "Cholera");
    for (bad, message) in [
        (
            "A000    Cholera due to Vibrio cholerae\n",
            "line 2: expected the order number, 5 digits",
        ),
        (
            "00002 A000    1 Cholera\n",
            "line 2: expected at least 78 columns",
        ),
        (
            &good.replace("00001", "0001 "),
            "line 2: expected the order number",
        ),
        (
            &good.replace(" 0 Chol", " 2 Chol"),
            "expected 0 or 1 (billable) in column 15, found \"2 \"",
        ),
        (
            &good.replace("A00    ", "a00    "),
            "expected a code of 3 to 7 letters and digits",
        ),
        (
            &good.replace("A00 ", " A00"),
            "expected a code of 3 to 7 letters and digits",
        ),
        (
            &format!(
                "{:<76}x{}\n",
                good.trim_end().trim_end_matches("Cholera").trim_end(),
                "Cholera"
            ),
            "expected a space in column 77",
        ),
        (
            &format!("{:<90}\n", &good[..70]),
            "the code has no long description from column 78",
        ),
    ] {
        let text = format!(
            "{good}{bad}\r\n{}",
            order_line(3, "A000", 1, "C", "Cholera due to A")
        );
        let workspace = Workspace::new(&[("order.txt", text.as_bytes())]);
        let error = workspace.refusal("icd10cm @order.txt").to_string();
        assert!(
            error.contains("order.txt: line 2: ") && error.contains(message),
            "{error}"
        );
        let report = workspace
            .import("icd10cm @order.txt --skip-bad")
            .expect("skipped");
        assert_eq!(
            (
                report.skipped(icd10cm::BAD_LINE),
                workspace.concepts().len()
            ),
            (1, 2)
        );
    }
}

#[test]
fn columns_of_bytes_are_read_too() {
    // "Sjögren" padded to 60 bytes: the long description begins in column 77.
    let line = "00001 M3500   1 Sjögren syndrome, unspecified";
    let padding = " ".repeat(77 - line.len());
    let text = format!("{line}{padding}Sjögren syndrome, unspecified\n");
    let workspace = Workspace::new(&[("order.txt", text.as_bytes())]);
    workspace.import("icd10cm @order.txt").expect("readable");
    assert_eq!(
        workspace.concepts()[0].name,
        "Sjögren syndrome, unspecified"
    );
    assert!(workspace.concepts()[0].synonyms.is_empty());
}

#[test]
fn other_files_are_refused() {
    let workspace = Workspace::new(&[
        ("index.xml", b"<ICD10CM.index/>"),
        ("empty.txt", b""),
        (
            "twice.txt",
            format!("{}{}", order(), order_line(9, "A00", 0, "X", "X")).as_bytes(),
        ),
    ]);
    let error = workspace.refusal("icd10cm @index.xml").to_string();
    assert!(
        error.contains("expected the tabular list of ICD-10-CM"),
        "{error}"
    );
    let error = workspace.refusal("icd10cm @empty.txt").to_string();
    assert!(error.contains("there are no codes"), "{error}");
    let report = workspace.import("icd10cm @twice.txt").expect("readable");
    assert_eq!(report.skipped(icd10cm::REPEATED_CODE), 1);
}
