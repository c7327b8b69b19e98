//! MeSH in XML.

use super::Workspace;
use pel_io::testing::zipped;
use pel_kb::error::Kind;
use pel_terminologies::mesh;

const DESCRIPTORS: &str = r#"<?xml version="1.0"?>
<!DOCTYPE DescriptorRecordSet SYSTEM "https://www.nlm.nih.gov/databases/dtd/nlmdescriptorrecordset_20260101.dtd">
<DescriptorRecordSet LanguageCode="eng">
  <DescriptorRecord DescriptorClass="1">
    <DescriptorUI>D015004</DescriptorUI>
    <DescriptorName><String>Yellow Fever</String></DescriptorName>
    <DateCreated><Year>1999</Year><Month>01</Month><Day>01</Day></DateCreated>
    <TreeNumberList>
      <TreeNumber>C01.925.782</TreeNumber>
      <TreeNumber>C01.920</TreeNumber>
      <TreeNumber>B04.820</TreeNumber>
    </TreeNumberList>
    <ConceptList>
      <Concept PreferredConceptYN="N">
        <ConceptUI>M3</ConceptUI>
        <ConceptName><String>Viral Fever</String></ConceptName>
        <ScopeNote>Not this one.</ScopeNote>
        <TermList>
          <Term ConceptPreferredTermYN="Y" IsPermutedTermYN="N" LexicalTag="NON" RecordPreferredTermYN="N">
            <TermUI>T5</TermUI><String>Viral Fever</String>
          </Term>
        </TermList>
      </Concept>
      <Concept PreferredConceptYN="Y">
        <ConceptUI>M1</ConceptUI>
        <ConceptName><String>Yellow Fever</String></ConceptName>
        <RegistryNumber>0</RegistryNumber>
        <ScopeNote>An acute disease
          of Africa &amp; South America.</ScopeNote>
        <ConceptRelationList>
          <ConceptRelation RelationName="NRW"><Concept1UI>M1</Concept1UI><Concept2UI>M2</Concept2UI></ConceptRelation>
          <ConceptRelation RelationName="BRD"><Concept1UI>M1</Concept1UI><Concept2UI>M3</Concept2UI></ConceptRelation>
        </ConceptRelationList>
        <TermList>
          <Term ConceptPreferredTermYN="Y" IsPermutedTermYN="N" LexicalTag="NON" RecordPreferredTermYN="Y">
            <TermUI>T1</TermUI><String>Yellow Fever</String>
          </Term>
          <Term ConceptPreferredTermYN="N" IsPermutedTermYN="Y" LexicalTag="NON" RecordPreferredTermYN="N">
            <TermUI>T1</TermUI><String>Fever, Yellow</String>
          </Term>
          <Term ConceptPreferredTermYN="N" IsPermutedTermYN="N" LexicalTag="ABB" RecordPreferredTermYN="N">
            <TermUI>T2</TermUI><String>YF</String>
          </Term>
          <Term ConceptPreferredTermYN="N" IsPermutedTermYN="N" LexicalTag="LAB" RecordPreferredTermYN="N">
            <TermUI>T3</TermUI><String>LAB-17</String>
          </Term>
        </TermList>
      </Concept>
      <Concept PreferredConceptYN="N">
        <ConceptUI>M2</ConceptUI>
        <ConceptName><String>Jungle Yellow Fever</String></ConceptName>
        <TermList>
          <Term ConceptPreferredTermYN="Y" IsPermutedTermYN="N" LexicalTag="NON" RecordPreferredTermYN="N">
            <TermUI>T4</TermUI><String>Jungle Yellow Fever</String>
          </Term>
        </TermList>
      </Concept>
    </ConceptList>
  </DescriptorRecord>
  <DescriptorRecord DescriptorClass="3">
    <DescriptorUI>D005260</DescriptorUI>
    <DescriptorName><String>Female</String></DescriptorName>
    <ConceptList>
      <Concept PreferredConceptYN="Y">
        <ConceptUI>M8</ConceptUI>
        <TermList><Term RecordPreferredTermYN="Y"><String>Female</String></Term></TermList>
      </Concept>
    </ConceptList>
  </DescriptorRecord>
</DescriptorRecordSet>
"#;

const SUPPLEMENTARY: &str = r#"<SupplementalRecordSet LanguageCode="eng">
<SupplementalRecord SCRClass="1">
  <SupplementalRecordUI>C025735</SupplementalRecordUI>
  <SupplementalRecordName><String>Aeron</String></SupplementalRecordName>
  <Note>contains scopolamine</Note>
  <HeadingMappedToList>
    <HeadingMappedTo><DescriptorReferredTo>
      <DescriptorUI>*D012601</DescriptorUI><DescriptorName><String>Scopolamine</String></DescriptorName>
    </DescriptorReferredTo></HeadingMappedTo>
    <HeadingMappedTo><DescriptorReferredTo><DescriptorUI>D001286</DescriptorUI></DescriptorReferredTo></HeadingMappedTo>
  </HeadingMappedToList>
  <ConceptList>
    <Concept PreferredConceptYN="Y">
      <ConceptUI>M9</ConceptUI>
      <RegistryNumberList><RegistryNumber>37H9VM9WZL</RegistryNumber><RegistryNumber>EC 3.1.1.1</RegistryNumber></RegistryNumberList>
      <RelatedRegistryNumberList>
        <RelatedRegistryNumber>52665-69-7 (Aeron)</RelatedRegistryNumber>
        <RelatedRegistryNumber>51-34-3 (Scopolamine)</RelatedRegistryNumber>
        <RelatedRegistryNumber>txid9606</RelatedRegistryNumber>
      </RelatedRegistryNumberList>
      <TermList><Term RecordPreferredTermYN="Y"><String>Aeron</String></Term></TermList>
    </Concept>
  </ConceptList>
</SupplementalRecord>
<SupplementalRecord SCRClass="3">
  <SupplementalRecordUI>C538231</SupplementalRecordUI>
  <SupplementalRecordName><String>Aase syndrome</String></SupplementalRecordName>
  <ConceptList><Concept PreferredConceptYN="N"><TermList/></Concept></ConceptList>
</SupplementalRecord>
<SupplementalRecord SCRClass="2">
  <SupplementalRecordUI>C044362</SupplementalRecordUI>
  <SupplementalRecordName><String>CHOP protocol</String></SupplementalRecordName>
</SupplementalRecord>
</SupplementalRecordSet>
"#;

fn workspace() -> Workspace {
    Workspace::new(&[
        ("desc2026.xml", DESCRIPTORS.as_bytes()),
        ("supp2026.xml", SUPPLEMENTARY.as_bytes()),
    ])
}

#[test]
fn records_become_concepts_with_the_terms_of_all_their_concepts() {
    let workspace = workspace();
    let report = workspace
        .import("mesh @desc2026.xml @supp2026.xml")
        .expect("readable");
    let concepts = workspace.concepts();
    let ids: Vec<&str> = concepts.iter().map(|concept| &*concept.id).collect();
    assert_eq!(ids, ["D015004", "D005260", "C025735", "C044362"]);
    let fever = &concepts[0];
    assert_eq!(fever.name, "Yellow Fever");
    // Narrower concepts come before broader ones.
    assert_eq!(
        fever.synonyms,
        ["YF", "LAB-17", "Jungle Yellow Fever", "Viral Fever"]
    );
    assert_eq!(
        fever.definition.as_deref(),
        Some("An acute disease of Africa & South America.")
    );
    assert_eq!(fever.types, ["Diseases", "Organisms"]);
    assert_eq!(fever.type_ids, ["C", "B"]);
    assert_eq!(fever.sources, ["MSH"]);
    assert!(fever.xrefs.is_empty(), "the registry number 0 is none");
    assert!(concepts[1].types.is_empty());
    let drug = &concepts[2];
    assert_eq!(drug.types, ["Chemicals and Drugs"]);
    assert_eq!(drug.definition.as_deref(), Some("contains scopolamine"));
    assert_eq!(
        drug.xrefs,
        [
            "UNII:37H9VM9WZL",
            "EC:3.1.1.1",
            "CAS:52665-69-7",
            "NCBITaxon:9606",
            "MESH:D012601",
            "MESH:D001286"
        ]
    );
    assert_eq!(concepts[3].types, ["Chemotherapy Protocols"]);
    assert_eq!(report.noted[mesh::PERMUTED], 1);
    assert_eq!(report.kept(mesh::SHORT_FORMS), 1);
    assert_eq!(report.skipped(mesh::NO_PREFERRED), 1);
    assert_eq!(
        report.examples[mesh::NO_PREFERRED],
        [format!(
            "{}:25 C538231",
            workspace.path("supp2026.xml").display()
        )]
    );
}

#[test]
fn options_choose_terms_and_classes() {
    let workspace = workspace();
    let synonyms = |line: &str| {
        let report = workspace.import(line).expect(line);
        (workspace.concepts()[0].synonyms.join("+"), report)
    };
    let (preferred, report) = synonyms("mesh @desc2026.xml --terms preferred --without-tags lab");
    assert_eq!(preferred, "YF");
    assert_eq!(
        [
            report.noted[mesh::OTHER_CONCEPT],
            report.noted[mesh::TAGGED]
        ],
        [2, 1]
    );
    let (narrower, _) = synonyms("mesh @desc2026.xml --terms narrower --permuted");
    assert_eq!(narrower, "Fever, Yellow+YF+LAB-17+Jungle Yellow Fever");
    let report = workspace
        .import("mesh @supp2026.xml --classes protocol,disease")
        .expect("readable");
    let concepts = workspace.concepts();
    assert_eq!((concepts.len(), &*concepts[0].id), (1, "C044362"));
    assert_eq!(report.noted[mesh::OTHER_CLASS], 1);
}

#[test]
fn folders_and_archives_are_searched_for_records() {
    let workspace = workspace();
    let folder = workspace.path("release");
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(folder.join("desc2026.xml"), DESCRIPTORS).expect("written");
    std::fs::write(folder.join("qual2026.xml"), "<QualifierRecordSet/>").expect("written");
    workspace.import("mesh @release").expect("readable");
    assert_eq!(workspace.concepts().len(), 2);
    zipped(
        &workspace.path("supp2026.zip"),
        &[("supp2026.xml", SUPPLEMENTARY.as_bytes())],
    );
    workspace.import("mesh @supp2026.zip").expect("readable");
    assert_eq!(workspace.concepts().len(), 2);
    let error = workspace
        .import("mesh @release/desc2026.xml @release/qual2026.xml")
        .expect_err("qualifiers");
    assert!(error.to_string().contains("qual*.xml"), "{error}");
}

#[test]
fn other_files_of_mesh_are_refused_by_name() {
    for (name, text, message) in [
        (
            "pa.xml",
            "<PharmacologicalActionSet>\n</PharmacologicalActionSet>",
            "found <PharmacologicalActionSet>, the pharmacological actions",
        ),
        (
            "qual.xml",
            "<QualifierRecordSet/>",
            "found <QualifierRecordSet>, the qualifiers",
        ),
        ("other.xml", "<html/>", "found <html>"),
        (
            "class.xml",
            "<SupplementalRecordSet>\n<SupplementalRecord SCRClass=\"9\"/></SupplementalRecordSet>",
            "line 2: expected an SCRClass from 1 to 6, found \"9\"",
        ),
        (
            "inner.xml",
            "<DescriptorRecordSet>\n<SupplementalRecord/></DescriptorRecordSet>",
            "line 2: expected <DescriptorRecord>, found <SupplementalRecord>",
        ),
    ] {
        let workspace = Workspace::new(&[(name, text.as_bytes())]);
        let error = workspace.refusal(&format!("mesh @{name}"));
        assert_eq!(error.kind(), Kind::Input, "{error}");
        let error = error.to_string();
        assert!(error.contains(name) && error.contains(message), "{error}");
    }
}

#[test]
fn truncated_file_and_entity_bomb_are_refused() {
    let half = &DESCRIPTORS[..DESCRIPTORS.find("</TreeNumberList>").expect("there")];
    let bomb = "<!DOCTYPE x [<!ENTITY a \"1234567890\"><!ENTITY b \
                \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">\n\
                <!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d \
                \"&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;\">]>\n\
                <DescriptorRecordSet>&d;</DescriptorRecordSet>";
    for (text, message) in [
        (
            half,
            "line 12: expected well-formed XML: the file ends within an element",
        ),
        (
            bomb,
            "expected entities of at most 4096 bytes, found d of more",
        ),
        (
            "<DescriptorRecordSet>\n\
             <DescriptorRecord><DescriptorUI>&x;</DescriptorUI></DescriptorRecord>\
             </DescriptorRecordSet>",
            "line 2: expected well-formed XML",
        ),
    ] {
        let workspace = Workspace::new(&[("desc.xml", text.as_bytes())]);
        let error = workspace.refusal("mesh @desc.xml").to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn declared_encoding_is_read() {
    let mut text = DESCRIPTORS
        .replace(
            "<?xml version=\"1.0\"?>",
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>",
        )
        .replace("Viral Fever", "Fi#vre")
        .into_bytes();
    text.iter_mut()
        .filter(|byte| **byte == b'#')
        .for_each(|byte| *byte = 0xe8);
    let workspace = Workspace::new(&[("desc.xml", &text)]);
    workspace.import("mesh @desc.xml").expect("readable");
    assert!(
        workspace.concepts()[0]
            .synonyms
            .contains(&"Fièvre".to_owned())
    );
}
