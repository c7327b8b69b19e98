//! Ontologies in OWL, and vocabularies in SKOS.

use super::Workspace;
use pel_kb::Concept;
use pel_kb::error::Kind;
use pel_terminologies::import::obo::OBSOLETE;
use pel_terminologies::owl;

const HEAD: &str = r#"<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [
  <!ENTITY obo "http://purl.obolibrary.org/obo/">
  <!ENTITY x "&obo;X_">
]>
<rdf:RDF xmlns="http://purl.obolibrary.org/obo/x.owl#" xml:base="http://purl.obolibrary.org/obo/x.owl"
  xmlns:obo="http://purl.obolibrary.org/obo/"
  xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:skos="http://www.w3.org/2004/02/skos/core#"
  xmlns:ex="http://example.org/terms/"
  xmlns:oboInOwl="http://www.geneontology.org/formats/oboInOwl#">
"#;

const BODY: &str = r#"
<owl:Ontology rdf:about="http://purl.obolibrary.org/obo/x.owl"/>
<owl:AnnotationProperty rdf:about="http://purl.obolibrary.org/obo/x#mistake">
  <rdfs:label>common misspelling</rdfs:label>
</owl:AnnotationProperty>
<owl:Class rdf:about="&x;1"><rdfs:label>disease</rdfs:label></owl:Class>
<owl:Class rdf:about="&x;2">
  <rdfs:subClassOf rdf:resource="http://purl.obolibrary.org/obo/X_1"/>
  <rdfs:subClassOf>
    <owl:Restriction><owl:onProperty rdf:resource="&obo;RO_1"/><owl:someValuesFrom rdf:resource="&obo;Y_1"/></owl:Restriction>
  </rdfs:subClassOf>
  <obo:IAO_0000115 xml:lang="de">Erhöhte Temperatur.</obo:IAO_0000115>
  <obo:IAO_0000115 xml:lang="en">Raised temperature.</obo:IAO_0000115>
  <oboInOwl:hasAlternativeId>X:9</oboInOwl:hasAlternativeId>
  <oboInOwl:hasDbXref>MESH:D005334</oboInOwl:hasDbXref>
  <oboInOwl:hasExactSynonym>pyrexia</oboInOwl:hasExactSynonym>
  <oboInOwl:hasExactSynonym>feever</oboInOwl:hasExactSynonym>
  <oboInOwl:hasBroadSynonym>raised temperature</oboInOwl:hasBroadSynonym>
  <obo:IAO_0000118>febrile state</obo:IAO_0000118>
  <skos:exactMatch rdf:resource="http://identifiers.org/snomedct/386661006"/>
  <owl:equivalentClass rdf:resource="http://example.org/terms/T7"/>
  <ex:nickname>the heat</ex:nickname>
  <rdfs:label xml:lang="fr">fièvre</rdfs:label>
  <rdfs:label xml:lang="en-GB">fever</rdfs:label>
</owl:Class>
<owl:Axiom>
  <owl:annotatedSource rdf:resource="&x;2"/>
  <owl:annotatedProperty rdf:resource="http://www.geneontology.org/formats/oboInOwl#hasExactSynonym"/>
  <owl:annotatedTarget>feever</owl:annotatedTarget>
  <oboInOwl:hasSynonymType rdf:resource="http://purl.obolibrary.org/obo/x#mistake"/>
</owl:Axiom>
<owl:Axiom>
  <owl:annotatedSource rdf:resource="&x;2"/>
  <owl:annotatedProperty rdf:resource="&obo;IAO_0000115"/>
  <owl:annotatedTarget>Raised temperature.</owl:annotatedTarget>
  <oboInOwl:hasDbXref>PMID:1</oboInOwl:hasDbXref>
</owl:Axiom>
<owl:Class rdf:about="&x;3">
  <rdfs:label>obsolete heat</rdfs:label>
  <obo:IAO_0100001 rdf:resource="&x;2"/>
  <owl:deprecated rdf:datatype="http://www.w3.org/2001/XMLSchema#boolean">true</owl:deprecated>
</owl:Class>
<owl:Class rdf:about="&x;4"><owl:deprecated>true</owl:deprecated></owl:Class>
<owl:Class rdf:about="http://example.org/terms/T8">
  <rdfs:label>chill</rdfs:label>
  <rdfs:subClassOf rdf:resource="&x;2"/>
</owl:Class>
<owl:Class rdf:about="urn:other:5"><rdfs:label>lone</rdfs:label></owl:Class>
<owl:Class rdf:about="&x;6"/>
</rdf:RDF>
"#;

const TURTLE: &str = r#"@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix oboInOwl: <http://www.geneontology.org/formats/oboInOwl#> .
@prefix ex: <http://example.org/terms/> .
ex:T1 a owl:Class ; rdfs:label "disease"@en .
ex:T2 a owl:Class ; rdfs:subClassOf ex:T1, [ a owl:Restriction ] ;
  rdfs:label "fever # ( [ not a comment"@en, """Fieber "hoch" """@de ; oboInOwl:hasExactSynonym "pyrexia", "feever" .
[ a owl:Axiom ; owl:annotatedSource ex:T2 ; owl:annotatedProperty oboInOwl:hasExactSynonym ;
  owl:annotatedTarget "feever" ; oboInOwl:hasSynonymType ex:MISSPELLING ] .
ex:S1 a skos:Concept ; skos:prefLabel "top"@en .
ex:S2 a skos:Concept ; skos:prefLabel "pain"@en ; skos:altLabel "ache"@en, "dolor"@es ; skos:broader ex:S1 ;
  skos:definition "An unpleasant feeling."@en .
"#;

fn text() -> String {
    format!("{HEAD}{BODY}")
}

fn types(concepts: &[Concept]) -> Vec<String> {
    concepts
        .iter()
        .map(|concept| format!("{} {}", concept.id, concept.types.join("+")))
        .collect()
}

#[test]
fn classes_become_concepts_and_deprecated_ones_redirects() {
    let workspace = Workspace::new(&[("x.owl", text().as_bytes())]);
    let report = workspace.import("owl @x.owl").expect("readable");
    let concepts = workspace.concepts();
    assert_eq!(
        types(&concepts),
        [
            "X:1 disease",
            "X:2 disease",
            "ex:T8 disease",
            "urn:other:5 "
        ]
    );
    let fever = &concepts[1];
    assert_eq!(fever.name, "fever");
    assert_eq!(fever.synonyms, ["pyrexia", "febrile state"]);
    assert_eq!(fever.definition.as_deref(), Some("Raised temperature."));
    assert_eq!(
        fever.xrefs,
        ["MESH:D005334", "SNOMEDCT:386661006", "ex:T7", "X:9"]
    );
    assert_eq!(fever.sources, ["X"]);
    assert_eq!(
        std::fs::read_to_string(workspace.path("out/redirects.tsv")).expect("written"),
        "id\treplaced_by\treason\nX:3\tX:2\treplaced\nX:4\t\tretired\nX:9\tX:2\tmerged\n"
    );
    assert_eq!(
        [
            report.skipped(OBSOLETE),
            report.skipped("class with no name")
        ],
        [2, 1]
    );
    let noted = [
        "BROAD synonym left out",
        "synonym of type x#mistake left out",
        "synonym of type mistake left out",
        owl::OTHER_LANGUAGE,
    ];
    let noted = noted.map(|reason| report.noted.get(reason).copied().unwrap_or(0));
    assert_eq!(noted, [1, 0, 1, 2]);
}

#[test]
fn options_choose_languages_scopes_and_properties() {
    let workspace = Workspace::new(&[("x.owl", text().as_bytes())]);
    workspace
        .import(
            "owl @x.owl --languages fr,en --scopes exact,broad --with-synonym-types mistake \
             --synonym-properties http://example.org/terms/nickname",
        )
        .expect("readable");
    let fever = &workspace.concepts()[1];
    assert_eq!(fever.name, "fièvre");
    assert_eq!(
        fever.synonyms,
        [
            "fever",
            "pyrexia",
            "feever",
            "raised temperature",
            "febrile state",
            "the heat"
        ]
    );
    assert_eq!(fever.definition.as_deref(), Some("Raised temperature."));
}

#[test]
fn turtle_and_skos_are_read() {
    let workspace = Workspace::new(&[("x.ttl", TURTLE.as_bytes())]);
    workspace
        .import("owl @x.ttl --languages en,de")
        .expect("readable");
    let concepts = workspace.concepts();
    assert_eq!(
        types(&concepts),
        ["ex:T1 disease", "ex:T2 disease", "ex:S1 ", "ex:S2 "]
    );
    assert_eq!(concepts[1].name, "fever # ( [ not a comment");
    assert_eq!(concepts[1].synonyms, ["Fieber \"hoch\"", "pyrexia"]);
    assert_eq!(
        (&*concepts[3].name, concepts[3].synonyms.join("+")),
        ("pain", "ache".to_owned())
    );
}

#[test]
fn statements_of_a_class_may_be_scattered_over_files() {
    let first = format!(
        "{HEAD}<owl:Class rdf:about=\"&x;2\"><rdfs:subClassOf \
         rdf:resource=\"&x;1\"/></owl:Class></rdf:RDF>"
    );
    let second = format!(
        "{HEAD}<owl:Class rdf:about=\"&x;1\"><rdfs:label>disease</rdfs:label></owl:Class>\n\
         <rdf:Description rdf:about=\"&x;2\"><rdfs:label>fever</rdfs:label></rdf:Description>\
         </rdf:RDF>"
    );
    let workspace = Workspace::new(&[("a.owl", first.as_bytes()), ("b.owl", second.as_bytes())]);
    workspace.import("owl @a.owl @b.owl").expect("readable");
    assert_eq!(types(&workspace.concepts()), ["X:2 disease", "X:1 disease"]);
}

#[test]
fn other_syntaxes_and_broken_documents_are_refused() {
    let laughs = text().replace(
        "<!ENTITY x \"&obo;X_\">",
        "<!ENTITY x \"&obo;X_\">\n<!ENTITY l1 \"&x;&x;&x;&x;&x;&x;&x;&x;&x;&x;\">\n\
         <!ENTITY l2 \"&l1;&l1;&l1;&l1;&l1;&l1;&l1;&l1;&l1;&l1;\">\n\
         <!ENTITY l3 \"&l2;&l2;&l2;&l2;\">",
    );
    let cases: [(&str, &str); 9] = [
        (
            "<?xml version=\"1.0\"?>\n<Ontology xmlns=\"http://www.w3.org/2002/07/owl#\"/>",
            "found OWL/XML: convert it (`robot convert",
        ),
        (
            "Prefix(:=<http://a/>)\nOntology(<http://a>)",
            "found OWL in functional or Manchester syntax",
        ),
        (
            "format-version: 1.2\n\n[Term]\nid: X:1\n",
            "found an ontology in OBO, which `pel import obo` reads",
        ),
        ("words", "found something else"),
        (&text()[..text().len() - 60], "expected well-formed"),
        (
            &text().replace("<rdfs:label>chill", "<rdfs:label>chi<ll"),
            "line 58: expected well-formed RDF/XML",
        ),
        (
            &laughs,
            "expected entities of at most 4096 bytes, found l2 of more",
        ),
        (&format!("{HEAD}</rdf:RDF>"), "the file has no classes"),
        (
            "@prefix a: <http://a/> .\na:b a:c \"unclosed .",
            "line 2: expected well-formed Turtle",
        ),
    ];
    for (text, message) in cases {
        let workspace = Workspace::new(&[("x.owl", text.as_bytes())]);
        let error = workspace.refusal("owl @x.owl").to_string();
        assert!(
            error.contains("x.owl") && error.contains(message),
            "{message}: {error}"
        );
    }
}

#[test]
fn too_long_text_of_turtle_is_an_error_of_the_input() {
    let text = format!(
        "{TURTLE}\nex:T9 rdfs:label \"{}\" .\n",
        "a".repeat(17 << 20)
    );
    let workspace = Workspace::new(&[("x.ttl", text.as_bytes())]);
    let error = workspace.refusal("owl @x.ttl");
    assert_eq!(error.kind(), Kind::Input, "{error}");
    assert!(error.to_string().contains("at most 16 MiB"), "{error}");
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("{HEAD}{}", "<owl:Class><rdfs:subClassOf>".repeat(600));
    let brackets = format!(
        "@prefix a: <http://a/> .\na:b a:c {}",
        "[ a:c ".repeat(2_000)
    );
    for (text, message) in [
        (deep, "elements within each other"),
        (brackets, "brackets within each other"),
    ] {
        let workspace = Workspace::new(&[("x.owl", text.as_bytes())]);
        let error = workspace.refusal("owl @x.owl").to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn turtle_and_n_triples_are_read_however_they_begin() {
    let class = "<http://www.w3.org/2002/07/owl#Class>";
    let kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
    let label = "<http://www.w3.org/2000/01/rdf-schema#label>";
    let triples = format!("<urn:x:1> {kind} {class} .\n<urn:x:1> {label} \"nausea\"@en .\n");
    let prefixes = "owl: <http://www.w3.org/2002/07/owl#>";
    for (name, text) in [
        ("a.nt", triples.clone()),
        ("a.ttl", format!("_:n {label} \"note\" .\n{triples}")),
        ("a.owl", format!("# made by hand\n#\n\n{triples}")),
        (
            "a.rdf",
            format!("PREFIX {prefixes}\n<urn:x:1> a owl:Class ; {label} \"nausea\" ."),
        ),
        (
            "a.owl",
            format!(
                "#\r\n@base <urn:x:> .\r\n@prefix {prefixes} .\r\n<urn:x:1> a owl:Class; {label} 'nausea' ."
            ),
        ),
        (
            "a.txt",
            format!("<urn:x:1> a {class} ;\n\t{label} \"\"\"nausea\"\"\" ."),
        ),
        // Only the name of the file tells.
        ("a.ttl", format!("[] a <urn:other> .\n{triples}")),
        ("a.TTL", format!("#{}\n{triples}", "#".repeat(70_000))),
    ] {
        let workspace = Workspace::new(&[(name, text.as_bytes())]);
        workspace
            .import(&format!("owl @{name}"))
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        let concepts = workspace.concepts();
        assert_eq!(concepts.len(), 1, "{text}");
        assert_eq!(concepts[0].name, "nausea", "{text}");
    }
    // A wrong name does not hide RDF/XML.
    let workspace = Workspace::new(&[("x.ttl", text().as_bytes())]);
    workspace.import("owl @x.ttl").expect("RDF/XML");
}

#[test]
fn overlong_iris_are_refused() {
    let long = format!("http://example.org/{}", "x".repeat(2_048));
    for text in [
        format!("@prefix a: <{long}> .\na:1 a <http://www.w3.org/2002/07/owl#Class> ."),
        text().replace("urn:other:5", &long),
        text().replace("http://example.org/terms/T7", &long),
    ] {
        let workspace = Workspace::new(&[("x.owl", text.as_bytes())]);
        let error = workspace.refusal("owl @x.owl").to_string();
        assert!(
            error.contains("x.owl: expected IRIs of at most 2048 bytes"),
            "{error}"
        );
    }
    // A picture is no identifier.
    let picture = format!("<ex:picture rdf:resource=\"data:image/png;base64,{long}\"/>");
    let text = text().replace("<ex:nickname>the heat</ex:nickname>", &picture);
    let workspace = Workspace::new(&[("x.owl", text.as_bytes())]);
    workspace.import("owl @x.owl").expect("readable");
}

#[test]
fn parents_that_are_stated_again_count_once() {
    let parents = "<http://x/1>, <http://x/2>, <http://x/1>, <http://x/2>";
    let class = |number: u32, more: &str| {
        format!(
            "<http://x/{number}> a <http://www.w3.org/2002/07/owl#Class> ; \
             <http://www.w3.org/2000/01/rdf-schema#label> \"class {number} of things\" {more} .\n"
        )
    };
    let below = format!("; <http://www.w3.org/2000/01/rdf-schema#subClassOf> {parents}");
    let text = [class(1, ""), class(2, ""), class(3, &below)].concat();
    let workspace = Workspace::new(&[("x.ttl", text.as_bytes())]);
    workspace.import("owl @x.ttl").expect("readable");
    let concepts = workspace.concepts();
    assert_eq!(
        concepts[2].types,
        ["class 1 of things", "class 2 of things"]
    );
}
