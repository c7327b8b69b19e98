//! The test cases in `tests/fixtures/cases`: small inputs like those of hospitals, corpora and
//! ontologies, with the expected results. Each folder has a `case.toml` and the files that its
//! steps read.

use crate::common::{CommandOutput, output_of, pel, shared_bundle, tiny};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A test case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// The expected result in one sentence.
    expected: String,
    step: Vec<Step>,
}

/// A step in a copy of the case's folder: a command or a check.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Step {
    /// A command line of `pel`; `BUNDLE` is the bundle of `kb.jsonl` beside the cases, `ENCODER`
    /// the tiny model.
    pel: Option<String>,
    /// Its exit code.
    code: i32,
    /// Texts that its output or errors must and must not contain.
    says: Vec<String>,
    never: Vec<String>,
    /// `pel link --format jsonl`: all mentions in order with their concepts, or `NIL`.
    links: Option<Vec<(String, String)>>,
    /// As `links`, but further mentions are allowed.
    finds: Vec<(String, String)>,
    /// Texts that no mention may contain.
    misses: Vec<String>,
    /// Concepts by id in `file`, a concept table. Omitted fields are not checked.
    concepts: Vec<Concept>,
    /// Number of lines in `file`.
    lines: Option<usize>,
    contains: Vec<String>,
    lacks: Vec<String>,
    file: Option<String>,
    /// Writes this text `times` times to `file`; `{n}` is the number of the repetition.
    write: Option<String>,
    times: Option<usize>,
    /// Writes these bytes to `file`.
    bytes: Option<Vec<u8>>,
    /// Replaces the first text in `file` by the second, which must have the same length in a binary
    /// file.
    replace: Option<(String, String)>,
    /// Replaces the last bytes of `file`.
    end: Option<Vec<u8>>,
    /// Permissions of `file` in octal digits, to set or to check.
    set_mode: Option<String>,
    mode: Option<String>,
    /// Makes `file` a symbolic link to this.
    link_to: Option<String>,
    /// Copies `file` to this name, or compares it with such a copy.
    keep: Option<String>,
    same_as: Option<String>,
    /// Files that must not exist.
    absent: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Concept {
    id: String,
    name: Option<String>,
    synonyms: Option<Vec<String>>,
    types: Option<Vec<String>>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/cases")
}

/// The bundle of the concept table beside the cases.
fn bundle() -> &'static Path {
    static BUNDLE: OnceLock<PathBuf> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let kb = folder().join("kb.jsonl");
        shared_bundle("cases-bundle", |_| kb.clone(), &[&kb])
    })
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("the case is there") {
        let path = entry.expect("listed").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, to).expect("copied");
        }
    }
}

/// A case being run.
struct Place {
    folder: TempDir,
    name: &'static str,
    expected: String,
}

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name))
            .unwrap_or_else(|error| panic!("{}: {name}: {error}", self.name))
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("a file of text")
    }

    /// The message of a failed check.
    fn failure(&self, what: &str) -> String {
        format!("{}: {what}\n  expected: {}", self.name, self.expected)
    }

    fn run(&self, line: &str) -> CommandOutput {
        let word = |word: &str| match word {
            "BUNDLE" => bundle().display().to_string(),
            "ENCODER" => tiny().display().to_string(),
            _ => word.to_owned(),
        };
        let words: Vec<String> = line.split_whitespace().map(word).collect();
        let mut command = pel(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.current_dir(self.folder.path());
        output_of(command)
    }

    fn take(&self, step: &Step) {
        if let Some(line) = &step.pel {
            let done = self.run(line);
            let all = format!("{}{}", done.out, done.err);
            assert_eq!(
                done.code,
                Some(step.code),
                "{}",
                self.failure(&format!("{line}: {all}"))
            );
            for text in &step.says {
                assert!(
                    all.contains(text),
                    "{}",
                    self.failure(&format!("{line}: expected {text:?} in {all}"))
                );
            }
            for text in &step.never {
                assert!(
                    !all.contains(text),
                    "{}",
                    self.failure(&format!("{line}: did not expect {text:?} in {all}"))
                );
            }
            self.check_links(step, &done.out);
        }
        for name in &step.absent {
            assert!(
                !self.path(name).exists(),
                "{}",
                self.failure(&format!("{name} is there"))
            );
        }
        if let Some(name) = &step.file {
            self.prepare(step, name);
            self.check_file(step, name);
        }
    }

    fn check_links(&self, step: &Step, out: &str) {
        if step.links.is_none() && step.finds.is_empty() && step.misses.is_empty() {
            return;
        }
        let found: Vec<(String, String)> = out
            .lines()
            .map(|line| {
                let line: Value = serde_json::from_str(line).expect("lines of JSON");
                let id = line["concept"]["id"].as_str().unwrap_or("NIL");
                (
                    line["text"].as_str().expect("a text").to_owned(),
                    id.to_owned(),
                )
            })
            .collect();
        if let Some(expected) = &step.links {
            assert_eq!(&found, expected, "{}", self.failure("other links"));
        }
        for expected in &step.finds {
            assert!(
                found.contains(expected),
                "{}",
                self.failure(&format!("expected {expected:?} in {found:?}"))
            );
        }
        for text in &step.misses {
            let within = found
                .iter()
                .find(|(found, _)| found.contains(text.as_str()));
            assert!(
                within.is_none(),
                "{}",
                self.failure(&format!("{within:?} is no mention"))
            );
        }
    }

    /// Applies a step to a file.
    fn prepare(&self, step: &Step, name: &str) {
        let path = self.path(name);
        if let Some(text) = &step.write {
            let times = step.times.unwrap_or(1);
            let text: String = (0..times)
                .map(|n| text.replace("{n}", &n.to_string()))
                .collect();
            std::fs::write(&path, text).expect("written");
        }
        if let Some(bytes) = &step.bytes {
            std::fs::write(&path, bytes).expect("written");
        }
        if let Some((from, to)) = &step.replace {
            let mut bytes = self.read(name);
            let at = bytes
                .windows(from.len())
                .position(|window| window == from.as_bytes());
            let at = at
                .unwrap_or_else(|| panic!("{}", self.failure(&format!("{name} has no {from:?}"))));
            bytes.splice(at..at + from.len(), to.bytes());
            std::fs::write(&path, bytes).expect("written");
        }
        if let Some(end) = &step.end {
            let mut bytes = self.read(name);
            bytes.truncate(bytes.len().saturating_sub(end.len()));
            bytes.extend(end);
            std::fs::write(&path, bytes).expect("written");
        }
        if let Some(kept) = &step.keep {
            std::fs::copy(&path, self.path(kept)).expect("copied");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::{PermissionsExt, symlink};
            if let Some(to) = &step.link_to {
                symlink(to, &path).expect("linked");
            }
            if let Some(digits) = &step.set_mode {
                let bits = u32::from_str_radix(digits, 8).expect("octal digits");
                std::fs::set_permissions(&path, PermissionsExt::from_mode(bits)).expect("set");
            }
        }
    }

    /// Checks a file.
    fn check_file(&self, step: &Step, name: &str) {
        for text in &step.contains {
            let all = self.text(name);
            assert!(
                all.contains(text),
                "{}",
                self.failure(&format!("{name}: expected {text:?} in {all}"))
            );
        }
        for text in &step.lacks {
            let all = self.text(name);
            assert!(
                !all.contains(text),
                "{}",
                self.failure(&format!("{name}: did not expect {text:?} in {all}"))
            );
        }
        if let Some(lines) = step.lines {
            assert_eq!(
                self.text(name).lines().count(),
                lines,
                "{}",
                self.failure(&self.text(name))
            );
        }
        if let Some(kept) = &step.same_as {
            assert!(
                self.read(name) == self.read(kept),
                "{}",
                self.failure(&format!("{name} has changed"))
            );
        }
        #[cfg(unix)]
        if let Some(digits) = &step.mode {
            use std::os::unix::fs::PermissionsExt;
            let found = std::fs::metadata(self.path(name))
                .expect("it is there")
                .permissions()
                .mode()
                & 0o777;
            assert_eq!(
                &format!("{found:03o}"),
                digits,
                "{}",
                self.failure(&format!("permissions of {name}"))
            );
        }
        for expected in &step.concepts {
            self.check_concept(name, expected);
        }
    }

    fn check_concept(&self, file: &str, expected: &Concept) {
        let text = self.text(file);
        let all: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("lines of JSON"))
            .collect();
        let found: Vec<&Value> = all
            .iter()
            .filter(|concept| concept["id"] == expected.id)
            .collect();
        let [found] = found[..] else {
            panic!(
                "{}",
                self.failure(&format!("{} once in {text}", expected.id))
            )
        };
        let list = |field: &str| -> Vec<String> {
            let values = found[field].as_array().into_iter().flatten();
            values
                .filter_map(|value| value.as_str().map(str::to_owned))
                .collect()
        };
        if let Some(name) = &expected.name {
            assert_eq!(found["name"], *name, "{}", self.failure(&found.to_string()));
        }
        for (field, expected) in [("synonyms", &expected.synonyms), ("types", &expected.types)] {
            if let Some(expected) = expected {
                assert_eq!(
                    &list(field),
                    expected,
                    "{}",
                    self.failure(&found.to_string())
                );
            }
        }
    }
}

fn case(name: &'static str) {
    let from = folder().join(name);
    let text = std::fs::read_to_string(from.join("case.toml"))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let Case { expected, step } =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let place = Place {
        folder: tempfile::tempdir().expect("a folder"),
        name,
        expected,
    };
    copy(&from, place.folder.path());
    step.iter().for_each(|step| place.take(step));
}

/// Declares a test per case, so that they run in parallel.
macro_rules! cases {
    ($($test:ident: $folder:literal;)*) => {
        $(#[test]
        fn $test() {
            case($folder);
        })*

        #[test]
        fn every_case_has_a_test() {
            let mut all: Vec<String> = std::fs::read_dir(folder())
                .expect("the cases are there")
                .map(|entry| entry.expect("listed").path())
                .filter(|path| path.is_dir())
                .map(|path| path.file_name().expect("a name").display().to_string())
                .collect();
            all.sort();
            assert_eq!(all, [$($folder),*]);
        }
    };
}

cases! {
    equal_names: "01-equal-names";
    exact_names: "02-exact-names";
    columns: "03-columns";
    surnames: "04-surnames";
    deidentified: "05-deidentified";
    commas: "06-commas";
    short_forms: "07-short-forms";
    zero_width: "08-zero-width";
    coordination: "09-coordination";
    overlapping: "10-overlapping";
    plurals_and_accents: "11-plurals-and-accents";
    brat_fragments: "20-brat-fragments";
    doubled_annotations: "21-doubled-annotations";
    span_that_does_not_fit: "22-span-that-does-not-fit";
    obo_quotes: "30-obo-quotes";
    obo_synonym_types: "31-obo-synonym-types";
    obo_obsolete: "32-obo-obsolete";
    obo_stub: "33-obo-stub";
    obo_one_root: "34-obo-one-root";
    obo_circle: "35-obo-circle";
    obo_other_stanzas: "36-obo-other-stanzas";
    row_a_name: "40-row-a-name";
    open_quote: "41-open-quote";
    open_quote_csv: "42-open-quote-csv";
    utf_16: "43-utf-16";
    windows_1252: "44-windows-1252";
    bzip2: "45-bzip2";
    control_signs: "46-control-signs";
    formulas: "47-formulas";
    no_header: "48-no-header";
    variants: "50-variants";
    pubtator_doubled: "51-pubtator-doubled";
    xrefs: "60-xrefs";
    inputs_stay: "61-inputs-stay";
    permissions: "62-permissions";
    planted_link: "63-planted-link";
    packed_manifest: "70-packed-manifest";
    manifest_of_a_folder: "71-manifest-of-a-folder";
    long_window: "72-long-window";
    many_layers: "73-many-layers";
    nan_weights: "74-nan-weights";
    endless_field: "81-endless-field";
    unreadable_folder: "82-unreadable-folder";
}
