//! Memory of the token vectors of Sum-of-Max. A test program of its own, because allocations are
//! counted per process.

use cap::Cap;
use pel_artifacts::token_file::TokenFile;
use pel_index::{TokenCodes, TokenStore, TokenStoreLayout};
use pel_kb::ConceptId;
use pel_kb::container::Check;
use std::alloc::System;

/// Allocations above its limit end the test.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Tokens of a row and values of a token: 8,448 bytes a row, with scales.
const TOKENS: usize = 64;
const DIM: usize = 128;

/// Bytes that may be allocated for a moment, of rows that need 34 million.
const MOST: usize = 2 << 20;

/// The most bytes that are held after a row is written, or after a search.
fn held(rows: usize) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let before = MEMORY.allocated();
    let own = || MEMORY.allocated().saturating_sub(before);
    MEMORY.set_limit(before + MOST).expect("more than there is");
    let announced = (0..rows).map(|row| (ConceptId(row as u32), TOKENS));
    let layout = TokenStoreLayout::new(DIM, announced).expect("in order");
    let mut file = TokenFile::new(folder.path(), layout).expect("it can be written");
    let mut most = 0;
    for row in (0..rows).rev() {
        let values = (0..TOKENS * DIM).map(|at| ((row + at) % 7) as f32);
        let tokens = TokenCodes::new(DIM, &values.collect::<Vec<_>>());
        file.write(row, &tokens).expect("written");
        most = most.max(own());
    }
    let bytes = file.finish().expect("whole");
    let store = TokenStore::from_bytes(&bytes, Check::Trusted).expect("whole");
    let found = store.search(&store.row(rows / 2), 3);
    most = most.max(own());
    MEMORY.set_limit(usize::MAX).expect("no limit");
    assert_eq!(found.len(), 3);
    most
}

#[test]
fn memory_does_not_grow_with_token_vectors() {
    let (few, many) = (held(200), held(4000));
    // The positions and concepts of rows alone.
    let of_row = many.saturating_sub(few) as f64 / 3800.0;
    assert!(of_row < 64.0, "{of_row} bytes a row: {few}, {many}");
}
