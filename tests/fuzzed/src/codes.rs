//! Target: codes of concepts, as a file of a bundle and as tables.

use crate::artifacts::{both, two};
use bytes::Bytes;
use pel_kb::ConceptId;
use pel_kb::codes::{Code, CodeList, CodeReader, CodeTable, NameReader, System};
use pel_kb::container::Check;
use pel_kb::error::Result;

/// The most concepts whose codes are looked at.
const MOST: usize = 1 << 10;

/// The code file of a bundle. What is none is read as a table of codes and a table of names, with a
/// zero byte between them.
pub fn codes(data: &[u8]) {
    let mut is_table = false;
    for bytes in both(data) {
        for check in [Check::Checksums, Check::Trusted] {
            if let Ok(table) = CodeTable::from_bytes(&bytes, check) {
                is_table = true;
                check_table(&table);
            }
        }
    }
    if !is_table {
        let (codes, names) = two(data);
        if let (Ok(codes), Ok(names)) = (std::str::from_utf8(codes), std::str::from_utf8(names)) {
            rows(codes, names);
        }
    }
}

/// All that is known of the codes of the first concepts.
fn known(table: &CodeTable) -> Vec<Vec<Code<'_>>> {
    let concepts = 0..table.concepts().min(MOST) as u32;
    concepts
        .map(|at| table.of(ConceptId(at)).collect())
        .collect()
}

/// Checks that a table has codes of its own systems for its own concepts alone, and that a table
/// that was written reads back equal.
fn check_table(table: &CodeTable) {
    let found = known(table);
    let mut all = found.iter().flatten();
    assert!(all.all(|code| table.systems().contains(&code.system)));
    for outside in [table.concepts(), u32::MAX as usize] {
        assert_eq!(table.of(ConceptId(outside as u32)).count(), 0, "{outside}");
    }
    let counts = table.counts();
    for (system, counts) in &counts {
        assert!(counts.concepts <= table.concepts(), "{system:?}");
        let by_match = counts.exact + counts.broader + counts.parts;
        assert!(counts.concepts <= by_match, "{system:?}");
    }
    // A damaged table may have a code twice, which a written one has once.
    let once = rewritten(table);
    let twice = rewritten(&once);
    assert_eq!(
        known(&once),
        known(&twice),
        "a written table reads back differently"
    );
    assert_eq!(once.counts(), twice.counts());
}

fn rewritten(table: &CodeTable) -> CodeTable {
    let same = (0..table.concepts() as u32).map(|at| Some(ConceptId(at)));
    written(&table.kept(same), table.concepts())
}

fn written(list: &CodeList, concepts: usize) -> CodeTable {
    let bytes = Bytes::from(CodeTable::build(list, concepts).expect("what was read is written"));
    CodeTable::from_bytes(&bytes, Check::Checksums).expect("what was written is read")
}

/// Reads tables of codes and of names, and writes what they have.
fn rows(codes: &str, names: &str) {
    let concepts = 4;
    let mut find = |id: &str| -> Result<Option<ConceptId>> {
        let number = id.strip_prefix('C').and_then(|at| at.parse::<u32>().ok());
        Ok(number.filter(|at| (*at as usize) < concepts).map(ConceptId))
    };
    let (mut reader, mut name_reader) = (CodeReader::new(), NameReader::new());
    name_reader.begin();
    let read = codes
        .lines()
        .try_for_each(|line| reader.read_line(line, &mut find))
        .and_then(|()| {
            names
                .lines()
                .try_for_each(|line| name_reader.read_line(line))
        });
    let Ok(list) = read.and_then(|()| reader.finish(name_reader)) else {
        return;
    };
    let table = written(&list, concepts);
    let all: usize = known(&table).iter().map(Vec::len).sum();
    assert_eq!(all, list.len(), "a code is lost");
    for code in known(&table).iter().flatten() {
        assert!(!code.code.is_empty() && !code.code.contains(char::is_whitespace));
        assert_eq!(System::of_prefix(code.system.prefix()), Some(code.system));
    }
    check_table(&table);
}
