//! OBO Graphs in JSON.

use super::Workspace;
use pel_terminologies::import::obo::OBSOLETE;
use pel_terminologies::obograph;

const GRAPH: &str = r#"{
  "meta": {"version": "1", "x": [1, 2.5, -3, true, null, {"a": "b"}]},
  "graphs": [{
    "nodes": [
      {"id": "http://purl.obolibrary.org/obo/x#EXCLUDE", "type": "PROPERTY", "lbl": "to be excluded"},
      {"id": "http://purl.obolibrary.org/obo/X_1", "type": "CLASS", "lbl": "disease"},
      {"id": "http://purl.obolibrary.org/obo/X_2", "lbl": "fever", "type": "CLASS", "propertyType": "ANNOTATION",
       "meta": {
         "definition": {"val": "Raised \"temperature\".", "xrefs": ["PMID:1"]},
         "comments": ["a comment"],
         "subsets": [],
         "synonyms": [
           {"pred": "hasExactSynonym", "val": "pyrexia", "xrefs": []},
           {"pred": "hasExactSynonym", "val": "feever", "synonymType": "http://purl.obolibrary.org/obo/x#EXCLUDE"},
           {"pred": "hasRelatedSynonym", "val": "hot flush"},
           {"pred": "other", "val": "nothing"}
         ],
         "xrefs": [{"val": "MESH:D005334"}],
         "basicPropertyValues": [
           {"pred": "http://www.geneontology.org/formats/oboInOwl#hasAlternativeId", "val": "X:9"},
           {"pred": "http://www.geneontology.org/formats/oboInOwl#hasOBONamespace", "val": "x"},
           {"pred": "http://www.w3.org/2004/02/skos/core#exactMatch", "val": "http://identifiers.org/snomedct/386661006"},
           {"pred": "http://www.w3.org/2002/07/owl#flag", "val": true}
         ]}},
      {"id": "http://purl.obolibrary.org/obo/X_3", "type": "CLASS", "lbl": "obsolete heat",
       "meta": {"deprecated": true, "basicPropertyValues": [{"pred": "http://purl.obolibrary.org/obo/IAO_0100001", "val": "X:2"}]}},
      {"id": "http://purl.obolibrary.org/obo/X_4", "type": "CLASS", "lbl": null, "meta": null},
      {"type": "CLASS", "lbl": "no id"},
      {"id": "http://purl.obolibrary.org/obo/Y_1", "lbl": "of another ontology"}
    ],
    "edges": [
      {"sub": "http://purl.obolibrary.org/obo/X_2", "pred": "is_a", "obj": "http://purl.obolibrary.org/obo/X_1"},
      {"sub": "http://purl.obolibrary.org/obo/X_1", "pred": "http://purl.obolibrary.org/obo/BFO_0000050", "obj": "http://purl.obolibrary.org/obo/Y_1"}
    ],
    "id": "http://purl.obolibrary.org/obo/x.owl",
    "equivalentNodesSets": [{"representativeNodeId": "http://purl.obolibrary.org/obo/X_2",
      "nodeIds": ["http://purl.obolibrary.org/obo/X_2", "http://purl.obolibrary.org/obo/NCIT_C3038"]}],
    "logicalDefinitionAxioms": [{"definedClassId": "x", "genusIds": []}]
  }]
}
"#;

#[test]
fn nodes_become_concepts_and_deprecated_ones_redirects() {
    let workspace = Workspace::new(&[("x.json", GRAPH.as_bytes())]);
    let report = workspace.import("obograph @x.json").expect("readable");
    let concepts = workspace.concepts();
    let all: Vec<String> = concepts
        .iter()
        .map(|concept| {
            format!(
                "{} {} {}",
                concept.id,
                concept.name,
                concept.types.join("+")
            )
        })
        .collect();
    assert_eq!(all, ["X:1 disease disease", "X:2 fever disease"]);
    let fever = &concepts[1];
    assert_eq!(fever.synonyms, ["pyrexia"]);
    assert_eq!(fever.definition.as_deref(), Some("Raised \"temperature\"."));
    assert_eq!(
        fever.xrefs,
        ["MESH:D005334", "SNOMEDCT:386661006", "NCIT:C3038", "X:9"]
    );
    assert_eq!(
        std::fs::read_to_string(workspace.path("out/redirects.tsv")).expect("written"),
        "id\treplaced_by\treason\nX:3\tX:2\treplaced\nX:9\tX:2\tmerged\n"
    );
    let skipped = [OBSOLETE, "class with no name", obograph::NO_ID];
    assert_eq!(skipped.map(|reason| report.skipped(reason)), [1; 3]);
    let noted = [
        "RELATED synonym left out",
        "synonym of type EXCLUDE left out",
        obograph::OTHER_NODE,
    ];
    assert_eq!(noted.map(|reason| report.noted[reason]), [1; 3]);
}

#[test]
fn options_choose_synonyms() {
    let workspace = Workspace::new(&[("x.json", GRAPH.as_bytes())]);
    workspace
        .import("obograph @x.json --scopes exact,related --with-synonym-types exclude")
        .expect("readable");
    assert_eq!(
        workspace.concepts()[1].synonyms,
        ["pyrexia", "feever", "hot flush"]
    );
}

#[test]
fn other_and_broken_documents_are_refused() {
    for (text, message) in [
        (
            "{\"id\": \"1\", \"name\": \"a\"}",
            "found JSON without `graphs`",
        ),
        ("{\"graphs\": []}", "has no classes"),
        (
            "[1]",
            "expected an OBO Graphs document: invalid type: sequence",
        ),
        (
            "{\"graphs\": [{\"nodes\": [\n{\"id\": 7}]}]}",
            "invalid type: integer `7`, expected a string at line 2 column",
        ),
        (&GRAPH[..600], "EOF while parsing"),
        (&format!("{GRAPH}x"), "trailing characters"),
        (
            &format!("{{\"graphs\": {}", "[".repeat(100_000)),
            "invalid type: sequence, expected a graph",
        ),
        (
            &format!("{{\"other\": {}", "[".repeat(100_000)),
            "EOF while parsing",
        ),
    ] {
        let workspace = Workspace::new(&[("x.json", text.as_bytes())]);
        let error = workspace.refusal("obograph @x.json").to_string();
        assert!(
            error.contains("x.json: ") && error.contains(message),
            "{message}: {error}"
        );
    }
}

#[test]
fn references_of_equivalent_nodes_grow_with_their_number() {
    let references = |count: usize| {
        let node = |at: usize| {
            format!("{{\"id\": \"http://x/{at}\", \"lbl\": \"node {at}\", \"type\": \"CLASS\"}}")
        };
        let nodes: Vec<String> = (0..count).map(node).collect();
        let ids: Vec<String> = (0..count).map(|at| format!("\"http://x/{at}\"")).collect();
        let text = format!(
            "{{\"graphs\": [{{\"nodes\": [{}], \"equivalentNodesSets\": [{{\
             \"representativeNodeId\": \"http://x/7\", \"nodeIds\": [{}]}}]}}]}}",
            nodes.join(","),
            ids.join(",")
        );
        let workspace = Workspace::new(&[("x.json", text.as_bytes())]);
        let report = workspace.import("obograph @x.json").expect("readable");
        let concepts = workspace.concepts();
        let noted = report.noted.get(obograph::LARGE_SET).copied().unwrap_or(0);
        let all: Vec<usize> = concepts.iter().map(|concept| concept.xrefs.len()).collect();
        (all, noted)
    };
    assert_eq!(references(32), (vec![31; 32], 0));
    // The representative refers to all, and all to it.
    let (found, noted) = references(2_000);
    assert_eq!((found[7], noted), (1_999, 1));
    assert_eq!(found.iter().sum::<usize>(), 2 * 1_999);
}
