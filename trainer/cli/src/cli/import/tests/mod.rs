//! Whole imports, from command-line arguments to output files.

mod contexts;
mod corpora;
mod encodings;
mod icd10cm;
mod loinc;
mod mesh;
mod obograph;
mod ontologies;
mod owl;
mod parents;
mod tables;
mod tac;
mod terminologies;

use super::{ImportArgs, import};
use crate::cli::conversion;
use clap::{CommandFactory, Parser};
use pel_corpora::import::pubtator;
use pel_kb::Concept;
use pel_kb::error::{Error, Kind, Result};
use pel_terminologies::import::concepts::{CONCEPTS, REPEATED};
use pel_terminologies::import::merging::JOINED;
use pel_terminologies::import::obo;
use pel_terminologies::import::report::Report;
use std::path::PathBuf;
use tempfile::TempDir;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    import: ImportArgs,
}

/// A folder with input files and the imports into its `out`.
struct Workspace(TempDir);

impl Workspace {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, bytes) in files {
            let path = folder.path().join(name);
            path.parent()
                .map(std::fs::create_dir_all)
                .transpose()
                .expect("a folder");
            std::fs::write(path, bytes).expect("written");
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command line in which `@name` is a file of the folder.
    fn import(&self, line: &str) -> Result<Report> {
        let word = |word: &str| match word.strip_prefix('@') {
            Some(name) => self.path(name).into_os_string(),
            None => word.into(),
        };
        let words = ["import"]
            .into_iter()
            .chain(line.split(' '))
            .chain(["--out", "@out"])
            .map(word);
        let command = Command::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        import(&command.import)
    }

    /// The error of an import that must not write anything.
    fn refusal(&self, line: &str) -> Error {
        let error = self.import(line).expect_err(line);
        assert!(!self.path("out").exists(), "{line} left something: {error}");
        error
    }

    fn concepts(&self) -> Vec<Concept> {
        let text = std::fs::read_to_string(self.path("out/kb.jsonl")).expect("written");
        text.lines()
            .map(|line| serde_json::from_str(line).expect("a concept"))
            .collect()
    }
}

#[test]
fn command_line_is_valid() {
    Command::command().debug_assert();
}

const OBO: &str = r#"format-version: 1.4
ontology: tiny
default-namespace: tiny_things

[Term]
id: T:1
name: sign_or_symptom ! the top

[Term]
id: T:2
alt_id: T:9
name: fever {source="x"}
def: "Body \"heat\" above normal\, \nmeasured: 38 C." [PMID:1]
synonym: "pyrexia" EXACT []
synonym: " pyrexia" EXACT ABBREVIATION [X:1 "y"]
synonym: "heat" BROAD []
synonym: "hot flush" []
synonym: "lost
xref: MESH:D005334 "Fever"
is_a: T:1 {source="x"} ! sign
a line without a tag

[Term]
id: T:3
comment: no name here

[Term]
id: T:4
name: old
is_obsolete: true

[Term]
id: T:2
name: fever again

[Term]
name: no id

[Term]
id: T:5
name: lone

[Typedef]
id: part_of
name: part of
"#;

#[test]
fn obo_terms_become_concepts_and_others_are_counted() {
    for text in [OBO.to_owned(), OBO.replace('\n', "\r\n")] {
        let workspace = Workspace::new(&[("a.obo", text.as_bytes())]);
        let report = workspace.import("obo @a.obo").expect("readable");
        let concepts = workspace.concepts();
        assert_eq!(
            concepts
                .iter()
                .map(|concept| concept.id.as_str())
                .collect::<Vec<_>>(),
            ["T:1", "T:2", "T:5"]
        );
        let fever = &concepts[1];
        assert_eq!(
            (fever.name.as_str(), fever.synonyms.join("+")),
            ("fever", "pyrexia+fever again".into())
        );
        assert_eq!(
            fever.definition.as_deref(),
            Some("Body \"heat\" above normal, measured: 38 C.")
        );
        assert_eq!(fever.xrefs, ["T:9", "MESH:D005334"]);
        assert_eq!(fever.sources, ["T"]);
        // A root has its own type, like its descendants; a lone term has the file's namespace.
        let types: Vec<_> = concepts
            .iter()
            .map(|concept| concept.types.join("+"))
            .collect();
        assert_eq!(types, ["sign or symptom", "sign or symptom", "tiny things"]);
        let skipped = [
            "term with no name",
            "term with no id",
            obo::OBSOLETE,
            obo::NO_TAG,
            obo::NOT_QUOTED,
        ];
        assert_eq!(skipped.map(|reason| report.skipped(reason)), [1; 5]);
        assert_eq!(report.skipped_in_all(), 5);
        let noted = [
            REPEATED,
            JOINED,
            "BROAD synonym left out",
            "RELATED synonym left out",
            "[Typedef] stanza left out",
        ];
        assert_eq!(noted.map(|reason| report.noted[reason]), [1; 5]);
        assert!(
            report.examples["[Typedef] stanza left out"][0].ends_with("a.obo:43"),
            "{report:?}"
        );
        assert!(
            report.examples["term with no name"][0].ends_with("a.obo:23 T:3"),
            "{report:?}"
        );
        let record = std::fs::read_to_string(workspace.path("out/import.json")).expect("written");
        assert_eq!(
            serde_json::from_str::<Report>(&record).expect("a report"),
            report
        );
    }
}

#[test]
fn obo_options_apply_to_several_files() {
    let second = "[Term]\nid: T:2\nname: other\n[Term]\nid: 7\nname: chill\nis_a: T:2\n";
    let workspace = Workspace::new(&[
        ("a.obo", OBO.as_bytes()),
        ("b.obo", second.as_bytes()),
        ("c.obo", b"no stanza\n"),
    ]);
    let report = workspace
        .import("obo @a.obo @b.obo --scopes exact,related,broad --source S --type Sign")
        .expect("readable");
    let concepts = workspace.concepts();
    assert_eq!(
        concepts
            .iter()
            .map(|concept| concept.name.as_str())
            .collect::<Vec<_>>()[3..],
        ["chill"]
    );
    assert_eq!(
        concepts[1].synonyms,
        ["pyrexia", "heat", "hot flush", "fever again", "other"]
    );
    assert!(
        concepts
            .iter()
            .all(|concept| concept.types == ["Sign"] && concept.sources == ["S"])
    );
    assert_eq!(report.noted[JOINED], 2);
    // Without --type, parents in other files count.
    workspace.import("obo @a.obo @b.obo").expect("readable");
    assert_eq!(
        (
            &workspace.concepts()[3].types[..],
            workspace.concepts()[3].sources.len()
        ),
        (&["sign or symptom".into()][..], 0)
    );
    std::fs::remove_dir_all(workspace.path("out")).expect("removed");
    assert!(
        workspace
            .refusal("obo @c.obo")
            .to_string()
            .contains("c.obo: the file has no [Term] stanza")
    );
}

#[test]
fn unreadable_input_is_reported_and_nothing_is_written() {
    let mut packed = Vec::new();
    let mut packer = niffler::get_writer(
        Box::new(&mut packed),
        niffler::Format::Gzip,
        niffler::Level::One,
    )
    .expect("a packer");
    std::io::Write::write_all(&mut packer, OBO.repeat(50).as_bytes()).expect("packed");
    drop(packer);
    packed.truncate(packed.len() / 2);
    let workspace = Workspace::new(&[("bytes", b"id,name\n\xff\xfe,1\n"), ("cut.gz", &packed)]);
    std::fs::create_dir(workspace.path("folder")).expect("made");
    for format in ["obo", "jsonl", "csv", "pubtator"] {
        for (name, message) in [
            ("missing", "opening "),
            ("folder", "expected a file, found a folder"),
        ] {
            let error = workspace.refusal(&format!("{format} @{name}"));
            assert_eq!(error.kind(), Kind::Io, "{error}");
            assert!(
                error.to_string().contains(message) && error.to_string().contains(name),
                "{error}"
            );
        }
        let error = workspace.refusal(&format!("{format} @bytes"));
        assert!(error.kind() == Kind::Input, "{error}");
        if format != "jsonl" {
            assert!(
                error.to_string().contains("expected UTF-8")
                    && error.to_string().contains("line 2"),
                "{error}"
            );
        }
        let error = workspace
            .import(&format!("{format} - -"))
            .expect_err("twice");
        assert!(error.to_string().contains("can be read once"), "{error}");
    }
    for format in ["obo", "pubtator"] {
        let error = workspace.refusal(&format!("{format} @cut.gz"));
        assert!(
            error.kind() == Kind::Io && error.to_string().contains("cut.gz"),
            "{error}"
        );
    }
    // A file with the name of the output folder is not changed.
    std::fs::write(workspace.path("out"), "mine").expect("written");
    assert_eq!(
        workspace
            .import("obo @bytes")
            .expect_err("no folder")
            .kind(),
        Kind::Io
    );
    assert_eq!(
        std::fs::read_to_string(workspace.path("out")).expect("read"),
        "mine"
    );
}

#[test]
fn failed_import_keeps_the_earlier_one() {
    let workspace = Workspace::new(&[
        ("a.obo", OBO.as_bytes()),
        ("b.jsonl", b"{\"id\":\"1\",\"name\":\"a\"}\n{"),
    ]);
    workspace.import("obo @a.obo").expect("readable");
    let before = workspace.concepts();
    workspace
        .import("jsonl @b.jsonl")
        .expect_err("line 2 is cut");
    assert_eq!(workspace.concepts(), before);
    let mut names: Vec<_> = std::fs::read_dir(workspace.path("out"))
        .expect("listed")
        .map(|entry| entry.expect("read").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["import.json", "kb.jsonl", "redirects.tsv"]);
}

#[test]
fn long_lines_are_read() {
    let long = "x".repeat(10 << 20);
    let pubtator = format!("1|t|fever {long}\n1\t0\t5\tfever\tT184\tC1\n{long}\n");
    let jsonl = format!("{{\"id\":\"1\",\"name\":\"{long}\"}}\n");
    let obo = format!("[Term]\nid: T:1\nname: fever\ndef: \"{long}\" []\n{long}\n");
    let workspace = Workspace::new(&[
        ("a", pubtator.as_bytes()),
        ("b", jsonl.as_bytes()),
        ("c", obo.as_bytes()),
    ]);
    let report = workspace.import("pubtator @a").expect("readable");
    assert_eq!(
        (
            report.kept("mentions (all)"),
            report.skipped(pubtator::BAD_LINE)
        ),
        (1, 1)
    );
    assert!(conversion::table(&report).to_string().len() < 10_000);
    assert_eq!(
        workspace
            .import("jsonl @b")
            .expect("readable")
            .kept(CONCEPTS),
        1
    );
    assert_eq!(
        workspace
            .import("obo @c")
            .expect("readable")
            .skipped(obo::NO_TAG),
        1
    );
}
