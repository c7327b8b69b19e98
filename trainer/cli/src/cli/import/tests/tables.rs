//! Imports of JSONL and CSV tables.

use super::Workspace;
use pel_kb::error::Kind;
use pel_terminologies::import::concepts::CONCEPTS;
use pel_terminologies::import::merging::JOINED;
use pel_terminologies::import::{delimited, jsonl};

#[test]
fn invalid_json_lines_are_located_or_counted() {
    let good = "{\"id\":\"1\",\"name\":\"fever\",\"synonyms\":null,\"more\":[]}\r\n\r\n\
                {\"id\":\"1\",\"name\":\"twice\"}\n";
    let faults = [
        (
            "{\"id\":\"2\",\"name\":\"cou",
            "expected one JSON object: EOF",
        ),
        ("{\"id\":\"2\"}", "missing field `name`"),
        (
            "{\"id\":2,\"name\":\"cough\"}",
            "field `id`: invalid type: integer `2`",
        ),
        ("{\"id\":\"2\",\"name\":\" \"}", "the concept has no name"),
    ];
    for (fault, message) in faults {
        let workspace = Workspace::new(&[("a.jsonl", format!("{good}{fault}\n").as_bytes())]);
        let error = workspace.refusal("jsonl @a.jsonl");
        assert!(
            error
                .to_string()
                .contains(&format!("a.jsonl: line 4: {message}")),
            "{error}"
        );
        let report = workspace
            .import("jsonl @a.jsonl --skip-bad --type Sign")
            .expect("readable");
        assert_eq!(
            (
                report.kept(CONCEPTS),
                report.skipped(jsonl::BAD_LINE),
                report.noted[JOINED]
            ),
            (1, 1, 1)
        );
        assert!(
            report.examples[jsonl::BAD_LINE][0].contains(message),
            "{report:?}"
        );
        let concept = &workspace.concepts()[0];
        assert_eq!(
            (concept.types.join("+"), concept.synonyms.join("+")),
            ("Sign".into(), "twice".into())
        );
    }
    let workspace = Workspace::new(&[("a.jsonl", b"{\"id\":\"1\"}\n"), ("empty.jsonl", b"")]);
    let message = workspace.refusal("jsonl @a.jsonl --skip-bad").to_string();
    assert!(
        message.ends_with("there are no concepts: skipped 1 x line is not a concept"),
        "{message}"
    );
    assert!(
        workspace
            .refusal("jsonl @empty.jsonl")
            .to_string()
            .ends_with("the input is empty")
    );
}

#[test]
fn columns_are_found_by_header() {
    let table = "\u{feff}Name,ID,synonyms,definition,x\r\n\
                 fever,R50,pyrexia|febris||pyrexia,\"hot, \"\"very\"\"\",1\r\n";
    let workspace = Workspace::new(&[
        ("a.csv", table.as_bytes()),
        ("b.tsv", b"code\tlabel\nR05\t\"dry\" cough\n"),
        ("c.csv", b"id;name\n1;a\n"),
        ("open.csv", b"id,name\n1,\"fever\n2,cough\n"),
    ]);
    let report = workspace
        .import("csv @a.csv --source LOCAL")
        .expect("readable");
    assert_eq!(
        report.examples[delimited::UNUSED],
        [format!("{}: \"x\"", workspace.path("a.csv").display())]
    );
    let [fever] = &workspace.concepts()[..] else {
        panic!("{report:?}")
    };
    assert_eq!(
        (
            fever.id.as_str(),
            fever.name.as_str(),
            fever.definition.as_deref()
        ),
        ("R50", "fever", Some("hot, \"very\""))
    );
    assert_eq!(
        (fever.synonyms.join("+"), fever.sources.join("+")),
        ("pyrexia+febris".into(), "LOCAL".into())
    );
    workspace
        .import("csv @b.tsv --id-column CODE --name-column label --no-quotes")
        .expect("readable");
    assert_eq!(workspace.concepts()[0].name, "\"dry\" cough");
    assert_eq!(
        workspace
            .import("csv @c.csv --delimiter ;")
            .expect("readable")
            .kept(CONCEPTS),
        1
    );
    std::fs::remove_dir_all(workspace.path("out")).expect("removed");
    // An unclosed quote would include all following rows.
    for line in ["csv @open.csv", "csv @open.csv --skip-bad"] {
        let message = workspace.refusal(line).to_string();
        assert!(
            message.contains("open.csv: line 2: expected a closing quote for this row"),
            "{message}"
        );
    }
    assert_eq!(
        workspace
            .import("csv @open.csv --no-quotes")
            .expect("readable")
            .kept(CONCEPTS),
        2
    );
    std::fs::remove_dir_all(workspace.path("out")).expect("removed");
    let message = workspace.refusal("csv @c.csv --delimiter ,").to_string();
    assert!(
        message.contains(r#"c.csv: expected a column "id", found the columns "id;name""#),
        "{message}"
    );
}

#[test]
fn invalid_rows_are_located_or_counted() {
    let rows =
        b"id,name\r\n1,fever\r\n2,cough,extra\r\n3,bad \xff\r\n4\r\n,nameless\r\n1,twice\r\n\
          5,chill";
    let cut = |lines: usize| {
        rows.split_inclusive(|byte| *byte == b'\n')
            .take(lines)
            .collect::<Vec<_>>()
            .concat()
    };
    let only = |line: usize| {
        [
            cut(2),
            rows.split_inclusive(|byte| *byte == b'\n')
                .nth(line - 1)
                .expect("it")
                .to_vec(),
        ]
        .concat()
    };
    let workspace = Workspace::new(&[
        ("all.csv", rows),
        ("three.csv", &cut(3)),
        ("utf8.csv", &only(4)),
        ("id.csv", &only(6)),
        ("blank.csv", b"id,name\r\n\r\n1,\"a\r\nb\"\r\n\n2"),
    ]);
    for (line, message) in [
        (
            "csv @three.csv",
            "three.csv: line 3: expected 2 fields as in the header, found 3",
        ),
        (
            "csv @utf8.csv",
            "utf8.csv: line 3: expected UTF-8, found the byte 0xFF at byte 4 of field 2 (name the \
             encoding, for example --encoding windows-1252, or convert the file)",
        ),
        ("csv @id.csv", "id.csv: line 3: the concept has no id"),
        (
            "csv @blank.csv",
            "blank.csv: line 6: expected 2 fields as in the header, found 1",
        ),
    ] {
        let error = workspace.refusal(line);
        assert!(
            error.kind() == Kind::Input && error.to_string().ends_with(message),
            "{error}"
        );
    }
    let report = workspace
        .import("csv @blank.csv --skip-bad")
        .expect("readable");
    assert!(
        report.examples[delimited::SEVERAL_LINES][0].ends_with("blank.csv:3, 2 lines"),
        "{report:?}"
    );
    let report = workspace
        .import("csv @all.csv --skip-bad")
        .expect("readable");
    let skipped =
        [delimited::RAGGED, delimited::NOT_UTF8, "no id"].map(|reason| report.skipped(reason));
    assert_eq!(
        (
            report.kept(CONCEPTS),
            skipped,
            report.skipped_in_all(),
            report.noted[JOINED]
        ),
        (2, [2, 1, 1], 4, 1)
    );
    assert_eq!(workspace.concepts()[0].synonyms, ["twice"]);
}

#[test]
fn rows_of_one_concept_are_merged_across_files() {
    let workspace = Workspace::new(&[
        (
            "a.csv",
            b"cui,name,name_status,type_ids\nC1,renal failure,A,T047\nC2,tick fever,A,T047\n\
              C1,kidney failure,P,T047\n",
        ),
        (
            "b.tsv",
            b"concept_id\tconcept_synonym_name\nC2\tmountain fever\nC1\tRF\n",
        ),
    ]);
    let report = workspace.import("csv @a.csv @b.tsv").expect("readable");
    let names: Vec<_> = workspace
        .concepts()
        .iter()
        .map(|concept| concept.names().collect::<Vec<_>>().join("/"))
        .collect();
    assert_eq!(
        names,
        [
            "kidney failure/renal failure/RF",
            "tick fever/mountain fever"
        ]
    );
    assert_eq!((report.kept(CONCEPTS), report.noted[JOINED]), (2, 3));
    assert!(
        report.examples[delimited::OTHER_NAME][0].ends_with("a.csv: \"cui\" for id"),
        "{report:?}"
    );
    workspace
        .import("csv @a.csv --preferred-marks a")
        .expect("readable");
    assert_eq!(workspace.concepts()[0].name, "renal failure");
}

#[test]
fn options_set_columns_quotes_and_limits() {
    let workspace = Workspace::new(&[
        ("a.rrf", b"C1|ENG|P|fever|\nC1|ENG|S|\"pyrexia|\n"),
        ("b.tsv", b"id\tname\n1\t\"two\nlines\"\n"),
        ("head.csv", b"a,b\n1,fever\n"),
        (
            "long.csv",
            format!("id,name\n1,\"{}", "x\n".repeat(1 << 20)).as_bytes(),
        ),
    ]);
    workspace
        .import("csv @a.rrf --columns id=1,name=4,preferred=3")
        .expect("readable");
    assert_eq!(
        workspace.concepts()[0].names().collect::<Vec<_>>(),
        ["fever", "\"pyrexia"]
    );
    workspace.import("csv @b.tsv --quotes").expect("readable");
    assert_eq!(workspace.concepts()[0].name, "two lines");
    workspace
        .import("csv @head.csv --columns id=1,name=2 --header")
        .expect("readable");
    assert_eq!(workspace.concepts().len(), 1);
    workspace
        .import("csv @head.csv --columns id=a,name=b")
        .expect("readable");
    std::fs::remove_dir_all(workspace.path("out")).expect("removed");
    let message = workspace.refusal("csv @b.tsv").to_string();
    assert!(
        message.contains("b.tsv: line 2: expected 2 fields")
            || message.contains("b.tsv: line 3: expected 2 fields"),
        "{message}"
    );
    let message = workspace
        .refusal("csv @long.csv --max-row 1 --skip-bad")
        .to_string();
    assert!(
        message.contains("long.csv: line 2: expected a row of at most 1 MiB")
            && message.contains("--max-row"),
        "{message}"
    );
}

#[test]
fn error_names_the_command_for_another_format() {
    let obo = "format-version: 1.2\n\n[Term]\nid: T:1\nname: fever\n";
    let workspace = Workspace::new(&[
        ("a.obo", obo.as_bytes()),
        (
            "a.owl",
            b"<?xml version=\"1.0\"?>\n<rdf:RDF xmlns:owl=\"http://www.w3.org/2002/07/owl#\">\n\
              </rdf:RDF>\n",
        ),
        ("a.json", b"{\n  \"graphs\": []\n}\n"),
        ("a.jsonl", b"{\"id\":\"1\",\"name\":\"fever\"}\n"),
        ("a.xlsx", b"PK\x03\x04........"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c........"),
    ]);
    for (line, message) in [
        ("csv @a.obo", "which `pel import obo` reads"),
        ("jsonl @a.obo", "which `pel import obo` reads"),
        (
            "obo @a.owl",
            "an ontology in OWL, which `pel import owl` reads",
        ),
        ("jsonl @a.owl", "`pel import owl`"),
        ("obo @a.json", "OBO Graphs JSON"),
        ("obo @a.jsonl", "which `pel import jsonl` reads"),
        ("csv @a.jsonl", "which `pel import jsonl` reads"),
        ("csv @a.xlsx", "a ZIP archive"),
        ("obo @a.7z", "PEL unpacks gzip, bzip2, xz and zstd"),
    ] {
        let error = workspace.refusal(line);
        assert!(
            error.kind() == Kind::Input && error.to_string().contains(message),
            "{line}: {error}"
        );
    }
    assert_eq!(
        workspace
            .import("obo @a.obo")
            .expect("readable")
            .kept(CONCEPTS),
        1
    );
}
