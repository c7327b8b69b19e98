//! Imports of JSONL and CSV tables.

use super::Bench;
use pel_shared::error::Kind;
use pel_shared::import::concepts::{CONCEPTS, DUPLICATE};
use pel_shared::import::{delimited, jsonl};

#[test]
fn json_lines_name_their_faults_or_are_counted() {
    let good =
        "{\"id\":\"1\",\"name\":\"fever\",\"synonyms\":null,\"more\":[]}\r\n\r\n{\"id\":\"1\",\"name\":\"twice\"}\n";
    let faults = [
        ("{\"id\":\"2\",\"name\":\"cou", "expected one JSON object: EOF"),
        ("{\"id\":\"2\"}", "missing field `name`"),
        ("{\"id\":2,\"name\":\"cough\"}", "field `id`: invalid type: integer `2`"),
        ("{\"id\":\"2\",\"name\":\" \"}", "the concept has no name"),
    ];
    for (fault, said) in faults {
        let bench = Bench::new(&[("a.jsonl", format!("{good}{fault}\n").as_bytes())]);
        let error = bench.refusal("jsonl @a.jsonl");
        assert!(error.to_string().contains(&format!("a.jsonl: line 4: {said}")), "{error}");
        let report = bench.import("jsonl @a.jsonl --skip-bad --type Sign").expect("readable");
        assert_eq!((report.kept(CONCEPTS), report.skipped(jsonl::BAD_LINE), report.skipped(DUPLICATE)), (1, 1, 1));
        assert!(report.examples[jsonl::BAD_LINE][0].contains(said), "{report:?}");
        assert_eq!(bench.concepts()[0].types, ["Sign"]);
    }
    let bench = Bench::new(&[("a.jsonl", b"{\"id\":\"1\"}\n"), ("empty.jsonl", b"")]);
    let said = bench.refusal("jsonl @a.jsonl --skip-bad").to_string();
    assert!(said.ends_with("a.jsonl: skipped 1 x the line is no concept"), "{said}");
    assert!(bench.refusal("jsonl @empty.jsonl").to_string().ends_with("it is empty"));
}

#[test]
fn tables_are_read_by_their_header() {
    let table =
        "\u{feff}Name,ID,synonyms,definition,x\r\nfever,R50,pyrexia|febris||pyrexia,\"hot, \"\"very\"\"\",1\r\n";
    let bench = Bench::new(&[
        ("a.csv", table.as_bytes()),
        ("b.tsv", b"code\tlabel\nR05\t\"dry\" cough\n"),
        ("c.csv", b"id;name\n1;a\n"),
        ("open.csv", b"id,name\n1,\"fever\n2,cough\n"),
    ]);
    let report = bench.import("csv @a.csv --source LOCAL").expect("readable");
    assert_eq!(report.examples[delimited::UNUSED], [format!("{}: \"x\"", bench.path("a.csv").display())]);
    let [fever] = &bench.concepts()[..] else { panic!("{report:?}") };
    assert_eq!(
        (fever.id.as_str(), fever.name.as_str(), fever.definition.as_deref()),
        ("R50", "fever", Some("hot, \"very\""))
    );
    assert_eq!((fever.synonyms.join("+"), fever.sources.join("+")), ("pyrexia+febris".into(), "LOCAL".into()));
    bench.import("csv @b.tsv --id-column CODE --name-column label --no-quotes").expect("readable");
    assert_eq!(bench.concepts()[0].name, "\"dry\" cough");
    assert_eq!(bench.import("csv @c.csv --delimiter ;").expect("readable").kept(CONCEPTS), 1);
    std::fs::remove_dir_all(bench.path("out")).expect("removed");
    // An open quote would swallow what follows.
    for line in ["csv @open.csv", "csv @open.csv --skip-bad"] {
        let said = bench.refusal(line).to_string();
        assert!(said.contains("open.csv: line 2: a quote is opened in this row and never closed"), "{said}");
    }
    assert_eq!(bench.import("csv @open.csv --no-quotes").expect("readable").kept(CONCEPTS), 2);
    std::fs::remove_dir_all(bench.path("out")).expect("removed");
    let said = bench.refusal("csv @c.csv").to_string();
    assert!(said.contains(r#"c.csv: no column "id"; the columns are "id;name""#), "{said}");
}

#[test]
fn bad_rows_name_their_line_or_are_counted() {
    let rows = b"id,name\r\n1,fever\r\n2,cough,extra\r\n3,bad \xff\r\n4\r\n,nameless\r\n1,twice\r\n5,chill";
    let cut = |lines: usize| rows.split_inclusive(|byte| *byte == b'\n').take(lines).collect::<Vec<_>>().concat();
    let only = |line: usize| {
        [cut(2), rows.split_inclusive(|byte| *byte == b'\n').nth(line - 1).expect("it").to_vec()].concat()
    };
    let bench = Bench::new(&[
        ("all.csv", rows),
        ("three.csv", &cut(3)),
        ("utf8.csv", &only(4)),
        ("id.csv", &only(6)),
        ("blank.csv", b"id,name\r\n\r\n1,\"a\r\nb\"\r\n\n2"),
    ]);
    for (line, said) in [
        ("csv @three.csv", "three.csv: line 3: expected 2 fields as in the header, found 3"),
        ("csv @utf8.csv", "utf8.csv: line 3: expected UTF-8, found another encoding in field 2"),
        ("csv @id.csv", "id.csv: line 3: the concept has no id"),
        ("csv @blank.csv", "blank.csv: line 6: expected 2 fields as in the header, found 1"),
    ] {
        let error = bench.refusal(line);
        assert!(error.kind() == Kind::Input && error.to_string().ends_with(said), "{error}");
    }
    let report = bench.import("csv @blank.csv --skip-bad").expect("readable");
    assert!(report.examples[delimited::SEVERAL_LINES][0].ends_with("blank.csv:3, 2 lines"), "{report:?}");
    let report = bench.import("csv @all.csv --skip-bad").expect("readable");
    let skipped = [delimited::RAGGED, delimited::NOT_UTF8, "no id", DUPLICATE].map(|reason| report.skipped(reason));
    assert_eq!((report.kept(CONCEPTS), skipped, report.skipped_in_all()), (2, [2, 1, 1, 1], 5));
}
