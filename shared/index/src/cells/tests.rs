//! Tests of an index with cells: against the exact search, and damaged files.

use crate::{CellOptions, FORMAT_CELLS, GraphUpdate, Index, IndexInfo, Precision, RowSource};
use bytes::Bytes;
use pel_kb::ConceptId;
use pel_kb::container;
use pel_kb::container::{Check, Container};
use pel_kb::score::{Candidate, Similarity};
use proptest::prelude::*;

const DIM: usize = 12;

/// Vectors around some centres, with a fixed seed.
fn clustered(rows: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    let centres: Vec<f32> = (0..20 * DIM).map(|_| next()).collect();
    (0..rows)
        .flat_map(|row| {
            let centre = &centres[row % 20 * DIM..][..DIM];
            centre
                .iter()
                .map(|value| value + 0.4 * next())
                .collect::<Vec<_>>()
        })
        .collect()
}

fn info(rows: usize, precision: Precision, cells: Option<CellOptions>) -> IndexInfo {
    IndexInfo {
        cells,
        ..IndexInfo::exact(rows, DIM, precision, Similarity::Dot)
    }
}

/// Three rows for each concept.
fn concepts(rows: usize) -> Vec<ConceptId> {
    (0..rows as u32).map(|row| ConceptId(row / 3)).collect()
}

fn read(bytes: Vec<u8>) -> Index {
    Index::from_bytes(&Bytes::from(bytes), Check::Checksums).expect("whole")
}

fn pair(rows: usize, precision: Precision, cells: usize, probes: usize) -> (Index, Index) {
    let vectors = clustered(rows, 3);
    let options = Some(CellOptions { cells, probes });
    let build = |info: &IndexInfo| {
        read(Index::build(&vectors, &concepts(rows), info).expect("sizes agree"))
    };
    (
        build(&info(rows, precision, options)),
        build(&info(rows, Precision::F32, None)),
    )
}

fn shared(found: &[Vec<Candidate>], exact: &[Vec<Candidate>]) -> f64 {
    let hits: usize = found
        .iter()
        .zip(exact)
        .map(|(found, exact)| {
            let found: Vec<ConceptId> = found.iter().map(|one| one.concept).collect();
            exact
                .iter()
                .filter(|one| found.contains(&one.concept))
                .count()
        })
        .sum();
    hits as f64 / exact.iter().map(Vec::len).sum::<usize>() as f64
}

#[test]
fn search_of_all_cells_equals_the_exact_search() {
    let (cells, exact) = pair(900, Precision::F32, 30, 30);
    let queries = clustered(40, 8);
    let (found, expected) = (cells.search(&queries, 10), exact.search(&queries, 10));
    assert_eq!(found, cells.search_exact(&queries, 10));
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert_eq!(found.concept, expected.concept);
        assert!((found.score - expected.score).abs() < 1e-5);
    }
}

#[test]
fn differences_in_bytes_keep_the_nearest_concepts() {
    let (cells, exact) = pair(1500, Precision::Int8, 40, 40);
    let queries = clustered(60, 8);
    let expected = exact.search(&queries, 10);
    let all = shared(&cells.search(&queries, 10), &expected);
    assert!(all > 0.98, "recall@10 {all} (seeds 3 and 8)");
}

#[test]
fn more_probes_find_more() {
    let (mut cells, exact) = pair(3000, Precision::Int8, 60, 1);
    let queries = clustered(60, 8);
    let expected = exact.search(&queries, 10);
    let mut last = 0.0;
    for probes in [1, 8, 60] {
        cells.set_depth(probes);
        let recall = shared(&cells.search(&queries, 10), &expected);
        assert!(recall > last, "{recall} after {last} with {probes} probes");
        last = recall;
    }
    assert!(last > 0.98, "{last}");
}

#[test]
fn search_returns_k_concepts_where_the_first_cells_have_fewer() {
    let (cells, _) = pair(300, Precision::Int8, 50, 1);
    for (k, expected) in [(0, 0), (5, 5), (60, 60), (100, 100), (5000, 100)] {
        let found = cells.search(&clustered(1, 8), k);
        assert_eq!(found[0].len(), expected);
        assert!(
            found[0]
                .windows(2)
                .all(|pair| pair[0].rank(&pair[1]).is_lt())
        );
    }
}

#[test]
fn rows_are_numbered_by_concept_and_scored_as_in_a_search() {
    let rows = 300;
    let vectors = clustered(rows, 3);
    let (cells, _) = pair(rows, Precision::Int8, 25, 25);
    assert_eq!(cells.concepts().collect::<Vec<_>>(), concepts(rows));
    for row in 0..rows {
        let stored = cells.vector(row);
        let given = &vectors[row * DIM..][..DIM];
        assert!(stored.iter().zip(given).all(|(a, b)| (a - b).abs() < 0.01));
    }
    let query = clustered(1, 8);
    let found = cells.search(&query, 100);
    let mut scored = cells.score(&query, (0..105).map(ConceptId));
    scored.sort_unstable_by(Candidate::rank);
    assert_eq!(found[0], scored);
}

#[test]
fn cells_need_bytes_or_floats_and_no_graph() {
    let vectors = clustered(9, 3);
    let options = Some(CellOptions {
        cells: 2,
        probes: 1,
    });
    let both = IndexInfo {
        hnsw: Some(crate::HnswOptions::default()),
        ..info(9, Precision::Int8, options)
    };
    for (info, expected) in [
        (info(9, Precision::Int4, options), "int4 vectors go with"),
        (both, "not both"),
    ] {
        let error = Index::build(&vectors, &concepts(9), &info).expect_err(expected);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn inconsistent_sections_are_errors() {
    let rows = 60;
    let options = Some(CellOptions {
        cells: 4,
        probes: 2,
    });
    let info = info(rows, Precision::Int8, options);
    let bytes = Bytes::from(
        Index::build(&clustered(rows, 3), &concepts(rows), &info).expect("sizes agree"),
    );
    let whole =
        Container::<IndexInfo>::read(FORMAT_CELLS, &bytes, Check::Checksums).expect("whole");
    let with = |name: &str, change: &dyn Fn(&mut Vec<u32>)| {
        let sections: Vec<(String, Vec<u8>)> = whole
            .sections()
            .map(|(own, body)| {
                let mut numbers: Vec<u32> = match own == name {
                    true => body
                        .chunks_exact(4)
                        .map(bytemuck::pod_read_unaligned)
                        .collect(),
                    false => return (own.to_owned(), body.to_vec()),
                };
                change(&mut numbers);
                (own.to_owned(), bytemuck::cast_slice(&numbers).to_vec())
            })
            .collect();
        let sections: Vec<(&str, &[u8])> = sections
            .iter()
            .map(|(name, body)| (name.as_str(), body.as_slice()))
            .collect();
        let bytes = container::write(FORMAT_CELLS, &info, &sections).expect("encoded");
        Index::from_bytes(&Bytes::from(bytes), Check::Trusted)
            .map(drop)
            .expect_err(name)
            .to_string()
    };
    for (name, change, expected) in [
        (
            "means",
            (|all| all.truncate(5)) as fn(&mut Vec<u32>),
            "found 5 values",
        ),
        ("means", |all| all[1] = f32::NAN.to_bits(), "`means`"),
        ("cell_starts", |all| all[1] = u32::MAX, "`cell_starts`"),
        ("cell_starts", |all| all[0] = 1, "`cell_starts`"),
        ("cell_starts", Vec::clear, "0 cells"),
        ("by_concept", |all| all[7] = 60, "below 60"),
        ("by_concept", |all| all.truncate(3), "found 3"),
    ] {
        let message = with(name, &change);
        assert!(message.contains(expected), "{name}: {message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn results_depend_neither_on_the_batch_nor_on_threads(
        rows in 1usize..400,
        cells in 1usize..40,
        probes in 1usize..40,
        k in 1usize..30,
    ) {
        let (index, _) = pair(rows, Precision::Int8, cells, probes);
        let queries = clustered(6, 8);
        let together = index.search(&queries, k);
        let alone: Vec<_> = queries.chunks(DIM).flat_map(|query| index.search(query, k)).collect();
        prop_assert_eq!(&together, &alone);
        prop_assert_eq!(together, pel_kernels::on_one_thread(|| index.search(&queries, k)));
    }
}

#[test]
fn updated_index_keeps_rows_and_adds_new_ones_to_their_cells() {
    let rows = 300;
    let vectors = clustered(rows, 3);
    let (cells, _) = pair(rows, Precision::Int8, 12, 12);
    // The rows of the first ten concepts go, two new concepts come at the end.
    let new = clustered(4, 8);
    let sources: Vec<RowSource> = (30..rows)
        .map(RowSource::Old)
        .chain((0..4).map(RowSource::New))
        .collect();
    let kept: Vec<ConceptId> = (0..270).map(|row| ConceptId(row / 3)).collect();
    let ids = [kept, [90, 90, 91, 91].map(ConceptId).to_vec()].concat();
    let updated = cells
        .updated(&new, &sources, &ids, GraphUpdate::Repair)
        .expect("sizes agree");
    assert_eq!((updated.info.rows, updated.graph), (274, None));
    let index = Index::from_bytes(&updated.bytes, Check::Checksums).expect("whole");
    assert_eq!(index.concepts().collect::<Vec<_>>(), ids);
    for (row, source) in sources.iter().enumerate() {
        match source {
            RowSource::Old(old) => assert_eq!(index.vector(row), cells.vector(*old)),
            RowSource::New(at) => {
                let given = &new[at * DIM..][..DIM];
                let stored = index.vector(row);
                assert!(stored.iter().zip(given).all(|(a, b)| (a - b).abs() < 0.02));
            }
        }
    }
    // Against an exact search over the same floats.
    let floats = [&vectors[30 * DIM..], &new[..]].concat();
    let exact = read(Index::build(&floats, &ids, &info(274, Precision::F32, None)).expect("sizes"));
    let queries = clustered(40, 9);
    let recall = shared(&index.search(&queries, 10), &exact.search(&queries, 10));
    assert!(recall > 0.97, "{recall} (seeds 3, 8 and 9)");
}
