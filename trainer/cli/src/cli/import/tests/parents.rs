//! Parents of concepts: `hierarchy.tsv` of each format.

use super::Workspace;

/// The rows that an import writes, without the header.
fn rows(files: &[(&str, &str)], line: &str) -> Vec<String> {
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    let workspace = Workspace::new(&files);
    workspace
        .import(&format!("{line} --hierarchy"))
        .unwrap_or_else(|error| panic!("{line}: {error}"));
    let text = std::fs::read_to_string(workspace.path("out/hierarchy.tsv")).expect("written");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("child\tparent\tparent_name"));
    let rows: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    // Without the option there is no such file, and one of an earlier import is removed.
    workspace.import(line).expect("again");
    assert!(!workspace.path("out/hierarchy.tsv").exists());
    rows
}

const OBO: &str = "format-version: 1.4\n\n[Term]\nid: X:1\nname: disease\n\n[Term]\nid: X:2\n\
                   name: fever\nis_a: X:1 ! disease\nis_a: Y:7 ! elsewhere\n\n[Term]\nid: X:3\n\
                   name: high fever\nis_a: X:2\n\n[Term]\nid: X:4\nname: heat\nis_obsolete: true\n\
                   is_a: X:2\n";

#[test]
fn obo_terms_have_the_parents_of_is_a() {
    assert_eq!(
        rows(&[("x.obo", OBO)], "obo @x.obo"),
        ["X:2\tX:1", "X:3\tX:2"]
    );
}

#[test]
fn merged_terms_have_the_parents_of_both() {
    let map = "subject_id\tpredicate_id\tobject_id\tmapping_justification\n\
               X:1\tskos:exactMatch\tX:3\tsemapv:ManualMappingCuration\n";
    let other = "format-version: 1.4\n\n[Term]\nid: X:1\nname: fever\n\n[Term]\nid: X:2\nname: sign\n\n\
                 [Term]\nid: X:3\nname: pyrexia\nis_a: X:2\n\n[Term]\nid: X:4\nname: high fever\n\
                 is_a: X:3\n";
    let rows = rows(
        &[("x.obo", other), ("map.tsv", map)],
        "obo @x.obo --map @map.tsv",
    );
    assert_eq!(rows, ["X:1\tX:2", "X:4\tX:1"]);
}

#[test]
fn owl_classes_have_the_parents_of_subclass_of() {
    let owl = r#"<?xml version="1.0"?>
<rdf:RDF xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
<owl:Class rdf:about="http://purl.obolibrary.org/obo/X_1"><rdfs:label>disease</rdfs:label></owl:Class>
<owl:Class rdf:about="http://purl.obolibrary.org/obo/X_2"><rdfs:label>fever</rdfs:label>
  <rdfs:subClassOf rdf:resource="http://purl.obolibrary.org/obo/X_1"/></owl:Class>
</rdf:RDF>
"#;
    assert_eq!(rows(&[("x.owl", owl)], "owl @x.owl"), ["X:2\tX:1"]);
}

#[test]
fn obo_graphs_have_the_parents_of_is_a() {
    let graph = r#"{"graphs": [{"nodes": [
        {"id": "http://purl.obolibrary.org/obo/X_1", "type": "CLASS", "lbl": "disease"},
        {"id": "http://purl.obolibrary.org/obo/X_2", "type": "CLASS", "lbl": "fever"}],
      "edges": [{"sub": "http://purl.obolibrary.org/obo/X_2", "pred": "is_a",
                 "obj": "http://purl.obolibrary.org/obo/X_1"}]}]}"#;
    assert_eq!(rows(&[("x.json", graph)], "obograph @x.json"), ["X:2\tX:1"]);
}

/// Snapshot of SNOMED CT with a relationship of each kind.
fn snapshot(relationships: &str) -> [(&'static str, String); 3] {
    let concept = |id: &str| format!("{id}\t20200131\t1\t900000000000207008\t900000000000074008\n");
    let name = |at: usize, id: &str, name: &str| {
        format!(
            "{at}\t20200131\t1\t900000000000207008\t{id}\ten\t900000000000003001\t{name} (finding)\t\
             900000000000448009\n"
        )
    };
    let concepts = ["1001", "1002", "1003"].map(concept).concat();
    let names = [
        name(1, "1001", "Sign"),
        name(2, "1002", "Fever"),
        name(3, "1003", "High fever"),
    ];
    [
        (
            "Snapshot/sct2_Concept_Snapshot_INT_20200131.txt",
            format!("id\teffectiveTime\tactive\tmoduleId\tdefinitionStatusId\n{concepts}"),
        ),
        (
            "Snapshot/sct2_Description_Snapshot-en_INT_20200131.txt",
            format!(
                "id\teffectiveTime\tactive\tmoduleId\tconceptId\tlanguageCode\ttypeId\tterm\t\
                 caseSignificanceId\n{}",
                names.concat()
            ),
        ),
        (
            "Snapshot/sct2_Relationship_Snapshot_INT_20200131.txt",
            format!(
                "id\teffectiveTime\tactive\tmoduleId\tsourceId\tdestinationId\trelationshipGroup\t\
                 typeId\tcharacteristicTypeId\tmodifierId\n{relationships}"
            ),
        ),
    ]
}

/// A row of the relationships of SNOMED CT.
fn relationship(id: u64, active: u8, child: &str, parent: &str, kind: &str) -> String {
    format!(
        "{id}\t20200131\t{active}\t900000000000207008\t{child}\t{parent}\t0\t{kind}\t\
         900000000000011006\t900000000000451002\n"
    )
}

const IS_A: &str = "116680003";

#[test]
fn snomed_concepts_have_the_parents_of_active_is_a() {
    let files = snapshot(
        &[
            relationship(1, 1, "1003", "1002", IS_A),
            relationship(2, 1, "1002", "1001", IS_A),
            relationship(3, 0, "1003", "1001", IS_A),
            relationship(4, 1, "1001", "1003", "363698007"),
            relationship(5, 1, "1003", "9999", IS_A),
        ]
        .concat(),
    );
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    assert_eq!(
        rows(&files, "snomed @Snapshot"),
        ["1002\t1001", "1003\t1002"]
    );
}

#[test]
fn umls_concepts_have_the_parents_of_par_chd_and_isa() {
    let atom =
        |cui: &str, name: &str| format!("{cui}|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|{name}|0|N|256|\n");
    let relation = |first: &str, rel: &str, second: &str, rela: &str, source: &str| {
        format!("{first}|A1|AUI|{rel}|{second}|A2|AUI|{rela}|R1||{source}|{source}|||N||\n")
    };
    let names = ["Sign", "Fever", "High fever", "Heat"];
    let names = (1..)
        .zip(names)
        .map(|(at, name)| atom(&format!("C000000{at}"), name));
    let names = names.collect::<String>();
    let relations = [
        relation("C0000002", "PAR", "C0000001", "", "MSH"),
        relation("C0000001", "CHD", "C0000002", "", "MSH"),
        relation("C0000002", "RN", "C0000003", "isa", "SNOMEDCT_US"),
        relation("C0000004", "RB", "C0000001", "inverse_isa", "SNOMEDCT_US"),
        relation("C0000001", "RO", "C0000004", "causes", "MSH"),
    ];
    let relations = relations.concat();
    let files = [
        ("META/MRCONSO.RRF", names.as_str()),
        ("META/MRREL.RRF", relations.as_str()),
    ];
    assert_eq!(
        rows(&files, "umls @META"),
        [
            "C0000002\tC0000001",
            "C0000003\tC0000002",
            "C0000004\tC0000001"
        ]
    );
    assert_eq!(
        rows(&files, "umls @META --sources MSH"),
        ["C0000002\tC0000001"]
    );
}

#[test]
fn rxnorm_drugs_have_the_parents_of_forms_brands_and_isa() {
    let drug = |id: &str, kind: &str, name: &str| {
        format!("{id}|ENG||||||A1||{id}||RXNORM|{kind}|{id}|{name}||N|4096|\n")
    };
    let relation = |first: &str, second: &str, rela: &str, source: &str| {
        format!("{first}||CUI|RO|{second}||CUI|{rela}|1||{source}||||||\n")
    };
    let names = [
        drug("1", "IN", "metoprolol"),
        drug("2", "PIN", "metoprolol succinate"),
        drug("3", "BN", "Toprol"),
    ];
    let relations = [
        relation("1", "2", "form_of", "RXNORM"),
        relation("2", "1", "has_form", "RXNORM"),
        relation("3", "1", "has_tradename", "RXNORM"),
        relation("3", "2", "has_ingredient", "RXNORM"),
        relation("3", "2", "isa", "MTHSPL"),
    ];
    let (names, relations) = (names.concat(), relations.concat());
    let files = [
        ("rrf/RXNCONSO.RRF", names.as_str()),
        ("rrf/RXNREL.RRF", relations.as_str()),
    ];
    assert_eq!(rows(&files, "rxnorm @rrf"), ["2\t1", "3\t1"]);
}

#[test]
fn mesh_records_have_the_parents_of_tree_numbers_and_headings() {
    let record = |kind: &str, id: &str, name: &str, more: &str| {
        format!(
            "<{kind}Record><{kind}UI>{id}</{kind}UI><{kind}Name><String>{name}</String></{kind}Name>\
             {more}</{kind}Record>"
        )
    };
    let tree = |numbers: &[&str]| {
        let all = numbers
            .iter()
            .map(|own| format!("<TreeNumber>{own}</TreeNumber>"));
        format!(
            "<TreeNumberList>{}</TreeNumberList>",
            all.collect::<String>()
        )
    };
    let descriptors = [
        record(
            "Descriptor",
            "D2",
            "Fever",
            &tree(&["C23.888.119", "C01.2"]),
        ),
        record(
            "Descriptor",
            "D1",
            "Signs and Symptoms",
            &tree(&["C23.888"]),
        ),
    ];
    let headings = "<HeadingMappedToList><HeadingMappedTo><DescriptorReferredTo><DescriptorUI>*D2\
                    </DescriptorUI></DescriptorReferredTo></HeadingMappedTo></HeadingMappedToList>";
    let supplementary = record("Supplemental", "C1", "Rare fever", headings);
    let supplementary = supplementary
        .replace("<SupplementalUI>", "<SupplementalRecordUI>")
        .replace("</SupplementalUI>", "</SupplementalRecordUI>")
        .replace("<SupplementalName>", "<SupplementalRecordName>")
        .replace("</SupplementalName>", "</SupplementalRecordName>");
    let descriptors = format!(
        "<?xml version=\"1.0\"?>\n<DescriptorRecordSet>{}</DescriptorRecordSet>\n",
        descriptors.concat()
    );
    let supplementary = format!(
        "<?xml version=\"1.0\"?>\n<SupplementalRecordSet>{supplementary}</SupplementalRecordSet>\n"
    );
    let files = [
        ("desc.xml", descriptors.as_str()),
        ("supp.xml", supplementary.as_str()),
    ];
    assert_eq!(
        rows(&files, "mesh @desc.xml @supp.xml"),
        ["C1\tD2", "D2\tD1"]
    );
}

#[test]
fn icd10cm_codes_are_below_their_categories_and_chapters() {
    let line = |number: usize, code: &str, flag: u8, name: &str| {
        format!("{number:05} {code:<7} {flag} {name:<60} {name}\n")
    };
    let order = [
        line(1, "A00", 0, "Cholera"),
        line(2, "A000", 1, "Cholera due to Vibrio cholerae 01"),
        line(3, "S020XXA", 1, "Fracture of vault of skull"),
        line(4, "S020", 0, "Fracture of vault"),
    ];
    let order = order.concat();
    let files = [("icd10cm_order_2026.txt", order.as_str())];
    let injuries = "Injury, poisoning and certain other consequences of external causes";
    let infections = "Certain infectious and parasitic diseases";
    assert_eq!(
        rows(&files, "icd10cm @icd10cm_order_2026.txt"),
        [
            format!("A00\tICD10CM:A00-B99\t{infections}"),
            "A00.0\tA00".to_owned(),
            "S02.0XXA\tS02.0".to_owned(),
            format!("S02.0\tICD10CM:S00-T88\t{injuries}"),
        ]
    );
    assert_eq!(
        rows(&files, "icd10cm @icd10cm_order_2026.txt --billable"),
        [
            format!("A00.0\tICD10CM:A00-B99\t{infections}"),
            format!("S02.0XXA\tICD10CM:S00-T88\t{injuries}"),
        ]
    );
}

#[test]
fn loinc_codes_are_below_the_parts_of_the_multi_axial_hierarchy() {
    let table = "\"LOINC_NUM\",\"LONG_COMMON_NAME\",\"STATUS\"\n\
                 \"2345-7\",\"Glucose [Mass/volume] in Serum or Plasma\",\"ACTIVE\"\n";
    let tree = "\"PATH_TO_ROOT\",\"SEQUENCE\",\"IMMEDIATE_PARENT\",\"CODE\",\"CODE_TEXT\"\n\
                \"\",\"1\",\"\",\"LP29693-6\",\"Laboratory\"\n\
                \"LP29693-6\",\"1\",\"LP29693-6\",\"LP7786-9\",\"Chemistry\"\n\
                \"LP29693-6.LP7786-9\",\"1\",\"LP7786-9\",\"2345-7\",\"Glucose\"\n";
    let files = [
        ("LoincTable/Loinc.csv", table),
        (
            "AccessoryFiles/MultiAxialHierarchy/MultiAxialHierarchy.csv",
            tree,
        ),
    ];
    assert_eq!(
        rows(&files, "loinc @LoincTable @AccessoryFiles"),
        [
            "LOINC:LP7786-9\tLOINC:LP29693-6\tLaboratory",
            "2345-7\tLOINC:LP7786-9\tChemistry"
        ]
    );
}

#[test]
fn circles_and_missing_tables_are_refused() {
    let circle = OBO.replacen("name: disease\n", "name: disease\nis_a: X:3\n", 1);
    let workspace = Workspace::new(&[("x.obo", circle.as_bytes())]);
    let said = workspace.refusal("obo @x.obo --hierarchy").to_string();
    assert!(
        said.contains("x.obo: expected a hierarchy without circles, found one of 3 members")
            && said.contains("(lines "),
        "{said}"
    );
    // Without the option a circle does no harm.
    workspace.import("obo @x.obo").expect("imported");
    let files = snapshot(
        &[
            relationship(1, 1, "1003", "1002", IS_A),
            relationship(2, 1, "1002", "1003", IS_A),
        ]
        .concat(),
    );
    let bytes = files
        .each_ref()
        .map(|(name, text)| (*name, text.as_bytes()));
    let said = Workspace::new(&bytes).refusal("snomed @Snapshot --hierarchy");
    let said = said.to_string();
    assert!(said.contains("1002 -> 1003 -> 1002 (lines 3, 2)"), "{said}");
    for (files, line, expected) in [
        (
            &bytes[..2],
            "snomed @Snapshot",
            "expected sct2_Relationship_Snapshot_*.txt",
        ),
        (
            &[(
                "META/MRCONSO.RRF",
                &b"C1|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|x|0|N|256|\n"[..],
            )],
            "umls @META",
            "expected MRREL.RRF",
        ),
        (
            &[(
                "Loinc.csv",
                &b"LOINC_NUM,LONG_COMMON_NAME,STATUS\n1-8,a,ACTIVE\n"[..],
            )],
            "loinc @Loinc.csv",
            "expected ComponentHierarchyBySystem.csv or MultiAxialHierarchy.csv",
        ),
    ] {
        let said = Workspace::new(files).refusal(&format!("{line} --hierarchy"));
        assert!(said.to_string().contains(expected), "{expected}: {said}");
    }
}
