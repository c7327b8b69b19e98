//! Targets: terminologies in their released layouts.

use pel_corpora::import_host::ImportHost;
use pel_kb::error::Result;
use pel_kb::redirects::HEADER;
use pel_kb::{Concept, KnowledgeBase};
use pel_terminologies::import::Longest;
use pel_terminologies::import::concepts::{CONCEPTS, Concepts, Defaults};
use pel_terminologies::import::obo::{Scope, SynonymChoice};
use pel_terminologies::import::report::Report;
use pel_terminologies::redirects::Redirects;
use pel_terminologies::{Sink, icd10cm, loinc, mesh, obograph, owl};
use std::io::{BufRead, Cursor};
use std::path::Path;

/// A limit that inputs can reach.
const LONGEST: Longest<'static> = Longest {
    bytes: 4 << 10,
    remedy: "",
};

/// Runs a reader and checks its concepts and redirects.
fn check(read: impl FnOnce(&mut Sink<'_, '_>) -> Result<()>) {
    let (mut read_concepts, mut report) = (Vec::<Concept>::new(), Report::default());
    let mut take = |concept| {
        read_concepts.push(concept);
        Ok(())
    };
    let mut redirects = Redirects::default();
    let mut concepts = Concepts::new(&mut take, Defaults::default(), &mut report);
    // Errors are allowed. The readers here use no temporary files.
    let read = read(&mut Sink::new(
        &mut concepts,
        &mut redirects,
        &mut || (),
        &ImportHost {
            scratch: Path::new("/nonexistent"),
        },
    ));
    drop(concepts);
    assert_eq!(report.kept(CONCEPTS), read_concepts.len());
    let mut kb = KnowledgeBase::new();
    for concept in &read_concepts {
        assert!(!concept.id.contains(char::is_control), "{concept:?}");
        kb.push(concept.clone())
            .unwrap_or_else(|error| panic!("{concept:?}: {error}"));
    }
    if read.is_err() {
        return;
    }
    let exists = |id: &str| kb.find(id).is_some();
    if let Ok(resolved) = redirects.resolve(exists, &mut report) {
        let mut written = Vec::new();
        resolved
            .write(&mut written)
            .expect("memory does not run out");
        let written = String::from_utf8(written).expect("identifiers are texts");
        let mut lines = written.lines();
        assert_eq!(lines.next(), Some(HEADER));
        for line in lines {
            let cells: Vec<&str> = line.split('\t').collect();
            let [id, successor, _] = cells[..] else {
                panic!("three cells in {line:?}");
            };
            assert!(!exists(id), "{id} is retired and in use");
            assert!(successor.is_empty() || exists(successor), "{line:?}");
        }
    }
}

fn reader(data: &[u8]) -> Box<dyn BufRead> {
    Box::new(Cursor::new(data.to_vec()))
}

/// MeSH in XML.
pub fn mesh(data: &[u8]) {
    let options = mesh::Options::default();
    check(|sink| mesh::read_one("desc.xml", reader(data), LONGEST, &options, sink));
}

/// ICD-10-CM: an order file and a tabular list, separated by a zero byte.
pub fn icd10cm(data: &[u8]) {
    let at = data.iter().position(|byte| *byte == 0);
    let (order, tabular) = at.map_or((data, &[][..]), |at| (&data[..at], &data[at + 1..]));
    for skip_bad in [false, true] {
        let options = icd10cm::Options {
            skip_bad,
            ..icd10cm::Options::default()
        };
        check(|sink| {
            let mut release = icd10cm::Release::default();
            release.read_order("order.txt", &mut reader(order), &options, sink)?;
            if !tabular.is_empty() {
                release.read_tabular("tabular.xml", reader(tabular), LONGEST, sink)?;
            }
            release.finish(&options, sink)
        });
    }
}

/// LOINC: the table and `MapTo.csv`, separated by a zero byte.
pub fn loinc(data: &[u8]) {
    let at = data.iter().position(|byte| *byte == 0);
    let (table, map) = at.map_or((data, &[][..]), |at| (&data[..at], &data[at + 1..]));
    for skip_bad in [false, true] {
        let options = loinc::Options {
            skip_bad,
            ..loinc::Options::default()
        };
        check(|sink| {
            let mut others = loinc::Others::default();
            if !map.is_empty() {
                others.read_map("MapTo.csv", &mut reader(map), &options, sink)?;
            }
            loinc::read_table("Loinc.csv", &mut reader(table), &others, &options, sink)
        });
    }
}

fn every_scope() -> SynonymChoice {
    SynonymChoice::of(&[Scope::Exact, Scope::Broad, Scope::Narrow, Scope::Related])
}

/// An ontology in OWL.
pub fn owl(data: &[u8]) {
    let options = owl::Options {
        synonyms: every_scope(),
        ..owl::Options::default()
    };
    check(|sink| owl::read_one("a.owl", reader(data), LONGEST, &options, sink));
}

/// An ontology as OBO Graphs.
pub fn obograph(data: &[u8]) {
    let options = obograph::Options {
        synonyms: every_scope(),
    };
    check(|sink| obograph::read_one("a.json", reader(data), LONGEST, &options, sink));
}
