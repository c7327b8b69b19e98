//! Targets: concept tables, ontologies and redirects.

use pel_kb::error::Result;
use pel_kb::redirects::{RedirectList, Redirects, to_bytes};
use pel_kb::{Concept, KnowledgeBase};
use pel_terminologies::import::concepts::{CONCEPTS, Concepts, Defaults};
use pel_terminologies::import::delimited::Layout;
use pel_terminologies::import::merging::ConceptTable;
use pel_terminologies::import::obo::Ontology;
use pel_terminologies::import::obo::{Scope, SynonymChoice};
use pel_terminologies::import::report::Report;
use pel_terminologies::import::rows::Quoting;
use pel_terminologies::import::{Input, Longest, delimited, jsonl};

/// Limit of progress calls per reader, far above that of a linear reader.
const TICKS: usize = 10_000_000;

/// Runs a reader and returns its concepts, in order, and its report.
fn taken(read: impl FnOnce(&mut Concepts<'_>) -> Result<()>) -> (Result<()>, Vec<Concept>, Report) {
    let (mut concepts, mut report) = (Vec::new(), Report::default());
    let mut take = |concept: Concept| {
        concepts.push(concept);
        Ok(())
    };
    let read = read(&mut Concepts::new(
        &mut take,
        Defaults::default(),
        &mut report,
    ));
    (read, concepts, report)
}

/// As [`taken`], for readers of rows that are merged by concept.
fn joined(
    read: impl FnOnce(&mut ConceptTable, &mut Report) -> Result<()>,
) -> (Result<()>, Vec<Concept>, Report) {
    taken(|concepts| {
        let mut table = ConceptTable::default();
        read(&mut table, concepts.report)?;
        table.finish(concepts)
    })
}

/// Runs a reader on bytes.
fn from_bytes(
    name: &str,
    mut bytes: &[u8],
    read: impl FnOnce(Input<'_>) -> Result<()>,
) -> Result<()> {
    let mut ticks = 0;
    let mut tick = || {
        ticks += 1;
        assert!(ticks < TICKS, "too many steps");
        Ok(())
    };
    read(Input {
        name,
        reader: &mut bytes,
        tick: &mut tick,
        longest: Longest::default(),
    })
}

/// Checks the concepts of a reader and that they read back equal as JSON Lines.
fn check(concepts: &[Concept], report: &Report) {
    assert_eq!(report.kept(CONCEPTS), concepts.len());
    let mut kb = KnowledgeBase::new();
    let mut lines = Vec::new();
    for concept in concepts {
        let Concept { id, name, .. } = concept;
        assert!(!id.is_empty() && id.trim() == id, "the id {id:?}");
        assert!(!id.contains(char::is_control), "the id {id:?}");
        assert!(!name.trim().is_empty(), "{id} has no name");
        serde_json::to_writer(&mut lines, concept).expect("memory does not run out");
        lines.push(b'\n');
        kb.push(concept.clone())
            .unwrap_or_else(|error| panic!("{concept:?}: {error}"));
    }
    let (read, again, _) = joined(|table, report| {
        from_bytes("again.jsonl", &lines, |input| {
            jsonl::read(input, false, table, report)
        })
    });
    read.unwrap_or_else(|error| panic!("what was written is refused: {error}"));
    assert_eq!(concepts, again, "written concepts read back differently");
}

/// OBO ontologies, separated by zero bytes.
pub fn obo(data: &[u8]) {
    let scopes = [Scope::Exact, Scope::Broad, Scope::Narrow, Scope::Related];
    let files: Vec<&[u8]> = data.splitn(3, |byte| *byte == 0).collect();
    // Every scope, and the default.
    for scopes in [&scopes[..], &scopes[..1]] {
        let choice = SynonymChoice::of(scopes);
        let (_, concepts, report) = taken(|concepts| {
            let mut ontology = Ontology::default();
            for (at, file) in files.iter().enumerate() {
                from_bytes(&format!("{at}.obo"), file, |input| {
                    ontology.read(input, &choice, concepts.report)
                })?;
            }
            ontology.finish(concepts)
        });
        check(&concepts, &report);
    }
}

/// A delimited table. Bits of the first byte: 0 for tabs, 2 for skipping bad rows, 4 and 5 for the
/// quoting.
pub fn delimited(data: &[u8]) {
    let Some((how, table)) = data.split_first() else {
        return;
    };
    let mut layout = Layout::lenient(if how & 1 == 0 { b',' } else { b'\t' });
    layout.skip_bad = how & 4 != 0;
    layout.quoting = [
        None,
        Some(Quoting::Csv),
        Some(Quoting::Cells),
        Some(Quoting::None),
    ][usize::from(how >> 4 & 3)];
    let (read, concepts, report) = joined(|rows, report| {
        from_bytes("table", table, |input| {
            delimited::read(input, &layout, rows, report)
        })
    });
    check(&concepts, &report);
    if read.is_ok() && !concepts.is_empty() {
        rows_read_back(&concepts);
    }
}

/// A quoted table can contain any text, so concepts can be written as one.
fn rows_read_back(concepts: &[Concept]) {
    let mut rows = csv::Writer::from_writer(Vec::new());
    let head = [
        "id",
        "name",
        "synonyms",
        "types",
        "type_ids",
        "definition",
        "xrefs",
        "sources",
    ];
    rows.write_record(head).expect("memory does not run out");
    for concept in concepts {
        let Concept {
            id,
            name,
            synonyms,
            types,
            type_ids,
            definition,
            xrefs,
            sources,
        } = concept;
        let lists = [synonyms, types, type_ids, xrefs, sources];
        // The separator cannot be escaped within a field.
        if lists
            .iter()
            .any(|list| list.iter().any(|value| value.contains('|')))
        {
            return;
        }
        let [synonyms, types, type_ids, xrefs, sources] = lists.map(|list| list.join("|"));
        let definition = definition.clone().unwrap_or_default();
        let row = [
            id,
            name,
            &synonyms,
            &types,
            &type_ids,
            &definition,
            &xrefs,
            &sources,
        ];
        rows.write_record(row).expect("as many fields as the head");
    }
    let bytes = rows.into_inner().expect("memory does not run out");
    let mut layout = Layout::lenient(b',');
    layout.skip_bad = false;
    let (read, again, _) = joined(|table, report| {
        from_bytes("again.csv", &bytes, |input| {
            delimited::read(input, &layout, table, report)
        })
    });
    read.unwrap_or_else(|error| panic!("what was written is refused: {error}"));
    assert_eq!(concepts, again, "written concepts read back differently");
}

/// Concepts as JSON Lines, read strictly and leniently.
pub fn concepts(data: &[u8]) {
    for skip_bad in [false, true] {
        let (read, concepts, report) = joined(|table, report| {
            from_bytes("table.jsonl", data, |input| {
                jsonl::read(input, skip_bad, table, report)
            })
        });
        check(&concepts, &report);
        if skip_bad {
            // Only invalid UTF-8 is an error.
            assert!(
                read.is_ok() || std::str::from_utf8(data).is_err(),
                "{read:?}"
            );
        }
    }
}

/// Redirects: a file that is read line by line, and the part of a bundle. Identifiers that begin
/// with C are concepts.
pub fn redirects(data: &[u8]) {
    let is_concept = |id: &str| Ok(id.starts_with('C'));
    let mut list = RedirectList::new();
    let read = from_bytes("redirects.tsv", data, |mut input| {
        input.for_each_line(|number, line| list.read_line(number, line))
    });
    if read.is_ok()
        && list.check_header().is_ok()
        && let Ok(resolved) = list.resolved(is_concept)
    {
        let part = Redirects::from_bytes(to_bytes(&resolved).into())
            .unwrap_or_else(|error| panic!("what was written is refused: {error}"));
        part.check()
            .unwrap_or_else(|error| panic!("what was written is damaged: {error}"));
        assert_eq!(part.len(), resolved.len());
        for redirect in &resolved {
            let successor = redirect.replaced_by.as_deref();
            assert!(
                successor.is_none_or(|id| id.starts_with('C')),
                "{redirect:?}"
            );
            assert!(!redirect.id.starts_with('C'), "{redirect:?}");
            let found = part.find(&redirect.id).expect("it is whole");
            assert_eq!(found.as_ref(), Some(redirect));
        }
    }
    let Ok(part) = Redirects::from_bytes(data.to_vec().into()) else {
        return;
    };
    let all: Vec<_> = part.iter().collect();
    assert_eq!(all.len(), part.len());
    let whole = part.check().is_ok();
    for redirect in all.into_iter().flatten() {
        let found = part.find(&redirect.id);
        if whole {
            assert_eq!(found.expect("it is whole").as_ref(), Some(&redirect));
        }
    }
    // An unordered part gives an answer or an error.
    let _ = part.find("C1");
}
