//! Tests of the index: small cases by hand, graph against exact search, and values that are not
//! finite.

use super::*;
use proptest::prelude::*;

fn info(
    rows: usize,
    dim: usize,
    precision: Precision,
    score: Similarity,
    hnsw: Option<HnswOptions>,
) -> IndexInfo {
    IndexInfo {
        hnsw,
        ..IndexInfo::exact(rows, dim, precision, score)
    }
}

fn index(vectors: &[f32], rows: &[u32], info: &IndexInfo) -> Index {
    let rows: Vec<_> = rows.iter().map(|concept| ConceptId(*concept)).collect();
    let bytes = Index::build(vectors, &rows, info).expect("sizes agree");
    Index::from_bytes(&Bytes::from(bytes), Check::Checksums).expect("whole")
}

fn random(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

fn names(found: &[Candidate]) -> Vec<u32> {
    found.iter().map(|candidate| candidate.concept.0).collect()
}

#[test]
fn search_scores_a_concept_by_its_best_row() {
    // Concept 0 has two rows; its second one is the best for the query (0, 1).
    let vectors = [1.0, 0.0, 0.0, 1.0, 0.6, 0.8];
    for precision in [Precision::F32, Precision::Int8, Precision::Int4] {
        let index = index(
            &vectors,
            &[0, 0, 1],
            &info(3, 2, precision, Similarity::Cosine, None),
        );
        let found = index.search(&[0.0, 1.0, 1.0, 0.0], 2);
        assert_eq!(
            (names(&found[0]), names(&found[1])),
            (vec![0, 1], vec![0, 1])
        );
        let near = if precision == Precision::Int4 {
            0.03
        } else {
            0.01
        };
        assert!((found[0][1].score - 0.8).abs() < near && (found[1][1].score - 0.6).abs() < near);
    }
}

/// Of a concept's rows the coarse scores choose one, and its finer score is reported, by a search
/// and for proposed concepts alike.
#[test]
fn proposed_concepts_have_the_scores_of_the_exact_search() {
    let (concepts, rows, dim) = (30, 5, 16);
    // So similar that coarse and finer scores order the rows of a concept differently.
    let vectors = cluster(concepts * rows, dim, 0.2, 5);
    let queries = cluster(40, dim, 0.2, 9);
    let of: Vec<u32> = (0..concepts * rows)
        .map(|row| (row / rows) as u32)
        .collect();
    let all: Vec<ConceptId> = (0..concepts as u32).map(ConceptId).collect();
    let all = vec![all; 40];
    for precision in [Precision::Int8, Precision::Int4] {
        let info = info(of.len(), dim, precision, Similarity::Cosine, None);
        let index = index(&vectors, &of, &info);
        let exact = index.search_exact(&queries, concepts);
        assert_eq!(index.rank(&queries, &all, concepts), exact, "{precision:?}");
    }
}

#[test]
fn equal_scores_are_in_concept_order() {
    let vectors = [1.0, 0.0].repeat(5000);
    let rows: Vec<u32> = (0..5000).collect();
    let index = index(
        &vectors,
        &rows,
        &info(5000, 2, Precision::F32, Similarity::Dot, None),
    );
    assert_eq!(names(&index.search(&[1.0, 0.0], 4)[0]), [0, 1, 2, 3]);
}

#[test]
fn hnsw_finds_95_percent_of_the_exact_search() {
    let (rows, dim) = (2000, 16);
    let concepts: Vec<u32> = (0..rows as u32).map(|row| row / 2).collect();
    for score in [Similarity::Dot, Similarity::Cosine] {
        let mut vectors = random(rows * dim, 7);
        if score == Similarity::Cosine {
            for vector in vectors.chunks_exact_mut(dim) {
                let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
                vector.iter_mut().for_each(|value| *value /= norm);
            }
        }
        let options = HnswOptions {
            ef_search: 200,
            ..HnswOptions::default()
        };
        let index = index(
            &vectors,
            &concepts,
            &info(rows, dim, Precision::F32, score, Some(options)),
        );
        let queries = random(50 * dim, 9);
        let (found, exact) = (index.search(&queries, 10), index.search_exact(&queries, 10));
        let hits: usize = found
            .iter()
            .zip(&exact)
            .map(|(f, e)| f.iter().filter(|candidate| e.contains(candidate)).count())
            .sum();
        assert!(hits >= 475, "{score:?}: {hits} of 500 (seeds 7 and 9)");
    }
}

#[test]
fn results_do_not_depend_on_the_batch() {
    let (rows, dim) = (700, 24);
    let vectors = random(rows * dim, 5);
    let concepts: Vec<u32> = (0..rows as u32).map(|row| row / 2).collect();
    for precision in [Precision::F32, Precision::Int8, Precision::Int4] {
        let index = index(
            &vectors,
            &concepts,
            &info(rows, dim, precision, Similarity::Dot, None),
        );
        let queries = random(70 * dim, 6);
        let together = index.search(&queries, 9);
        for (query, found) in queries.chunks_exact(dim).zip(&together) {
            assert_eq!(&index.search(query, 9)[0], found, "{precision:?}");
        }
    }
}

#[test]
fn row_has_cosine_one_with_itself() {
    let (rows, dim) = (500, 48);
    let mut vectors = random(rows * dim, 8);
    for vector in vectors.chunks_exact_mut(dim) {
        let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|value| *value /= norm);
    }
    let concepts: Vec<u32> = (0..rows as u32).collect();
    let index = index(
        &vectors,
        &concepts,
        &info(rows, dim, Precision::Int8, Similarity::Cosine, None),
    );
    for (row, found) in index.search(&vectors, 3).iter().enumerate() {
        assert_eq!(found[0].concept.0, row as u32);
        assert!((found[0].score - 1.0).abs() < 1e-6, "{found:?}");
    }
}

/// Checks that building refuses rows with a value that is not finite.
fn refuses_rows_that_are_not_finite(precision: Precision, hnsw: Option<HnswOptions>) {
    let ids: Vec<ConceptId> = (0..200).map(ConceptId).collect();
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut vectors = random(200 * 8, 4);
        vectors[3 * 8 + 1] = value;
        let said = Index::build(
            &vectors,
            &ids,
            &info(200, 8, precision, Similarity::Dot, hnsw),
        )
        .expect_err("broken")
        .to_string();
        let expected = format!(
            "the vectors of an index: expected finite numbers, found {value} at position 25, 1 of \
             1600"
        );
        assert!(said.starts_with(&expected), "{precision:?}: {said}");
    }
}

#[test]
fn rows_that_are_not_finite_are_refused_and_such_queries_return_candidates() {
    let concepts: Vec<u32> = (0..200).collect();
    for precision in [Precision::F32, Precision::Int8, Precision::Int4] {
        refuses_rows_that_are_not_finite(precision, None);
        let index = index(
            &random(200 * 8, 4),
            &concepts,
            &info(200, 8, precision, Similarity::Dot, None),
        );
        assert_eq!(index.search(&[f32::NAN; 8], 5)[0].len(), 5, "{precision:?}");
    }
}

#[test]
fn nan_scores_rank_last() {
    let mut vectors = random(200 * 8, 4);
    // Finite values whose products with the query are infinite, one above and one below: their sum
    // is no number.
    vectors[3 * 8..3 * 8 + 2].copy_from_slice(&[f32::MAX, f32::MAX]);
    let concepts: Vec<u32> = (0..200).collect();
    let index = index(
        &vectors,
        &concepts,
        &info(200, 8, Precision::F32, Similarity::Dot, None),
    );
    let query = [4.0, -4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    assert!(!names(&index.search(&query, 100)[0]).contains(&3));
}

#[test]
fn file_with_a_value_that_is_not_finite_is_refused() {
    let ids: Vec<ConceptId> = (0..20).map(ConceptId).collect();
    for (precision, name) in [
        (Precision::F32, "values"),
        (Precision::Int8, "scales"),
        (Precision::Int4, "scales"),
    ] {
        let info = info(20, 8, precision, Similarity::Dot, None);
        let whole = Bytes::from(Index::build(&random(20 * 8, 4), &ids, &info).expect("in order"));
        let container =
            Container::<IndexInfo>::read(FORMAT, &whole, Check::Checksums).expect("whole");
        let bodies: Vec<(&str, Vec<u8>)> = container
            .names()
            .map(|own| {
                let mut body = container.section(own).expect("there").to_vec();
                if own == name {
                    body[8..12].copy_from_slice(&f32::NAN.to_le_bytes());
                }
                (own, body)
            })
            .collect();
        let sections: Vec<(&str, &[u8])> = bodies
            .iter()
            .map(|(name, body)| (*name, &body[..]))
            .collect();
        let broken =
            Bytes::from(container::write(FORMAT, &info, &sections).expect("it can be written"));
        let said = Index::from_bytes(&broken, Check::Checksums)
            .err()
            .expect("refused")
            .to_string();
        let expected =
            format!("the index: `{name}`: expected finite numbers, found NaN at position 2, 1 of");
        assert!(said.starts_with(&expected), "{said}");
    }
}

#[test]
fn ef_search_can_be_changed() {
    let vectors = random(4000 * 16, 3);
    let concepts: Vec<u32> = (0..4000).collect();
    let options = HnswOptions {
        ef_search: 10,
        ..HnswOptions::default()
    };
    let mut index = index(
        &vectors,
        &concepts,
        &info(4000, 16, Precision::F32, Similarity::Dot, Some(options)),
    );
    let queries = random(40 * 16, 1);
    let exact = index.search_exact(&queries, 10);
    let hits = |index: &Index| -> usize {
        let found = index.search(&queries, 10);
        found
            .iter()
            .zip(&exact)
            .map(|(f, e)| f.iter().filter(|candidate| e.contains(candidate)).count())
            .sum()
    };
    let few = hits(&index);
    index.set_depth(200);
    assert!(few < hits(&index), "{few} of 400 (seeds 3 and 1)");
}

#[test]
fn graph_search_returns_k_concepts() {
    let vectors = random(400 * 8, 3);
    // Four rows a concept: ten nodes may hold three concepts.
    let concepts: Vec<u32> = (0..400).map(|row| row / 4).collect();
    let options = HnswOptions {
        ef_search: 10,
        ..HnswOptions::default()
    };
    let index = index(
        &vectors,
        &concepts,
        &info(400, 8, Precision::Int8, Similarity::Dot, Some(options)),
    );
    for (k, expected) in [(50, 50), (100, 100), (500, 100)] {
        assert_eq!(index.search(&random(8, 1), k)[0].len(), expected);
    }
}

#[test]
fn graph_search_is_deterministic() {
    let (rows, dim) = (900, 12);
    let vectors = random(rows * dim, 11);
    let concepts: Vec<u32> = (0..rows as u32).map(|row| row / 3).collect();
    for precision in [Precision::F32, Precision::Int8, Precision::Int4] {
        let hnsw = Some(HnswOptions {
            ef_search: 40,
            ..HnswOptions::default()
        });
        let index = index(
            &vectors,
            &concepts,
            &info(rows, dim, precision, Similarity::Dot, hnsw),
        );
        // More searches than there are numbers for the marks.
        let queries = random(600 * dim, 12);
        let together = index.search(&queries, 7);
        for (query, found) in queries.chunks_exact(dim).zip(&together) {
            assert_eq!(&index.search(query, 7)[0], found, "{precision:?}");
        }
    }
}

#[test]
fn graph_search_finds_every_row() {
    let (rows, dim) = (3000, 16);
    let mut vectors = random(rows * dim, 13);
    for vector in vectors.chunks_exact_mut(dim) {
        let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|value| *value /= norm);
    }
    let concepts: Vec<u32> = (0..rows as u32).collect();
    let hnsw = Some(HnswOptions::default());
    let index = index(
        &vectors,
        &concepts,
        &info(rows, dim, Precision::Int8, Similarity::Cosine, hnsw),
    );
    let found = index.search(&vectors, 1);
    let lost: Vec<usize> = (0..rows)
        .filter(|row| found[*row][0].concept.0 != *row as u32)
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn graph_search_leaves_a_group_of_equal_rows() {
    let (rows, dim) = (600, 8);
    let mut vectors = random(rows * dim, 21);
    let place = vectors[..dim].to_vec();
    vectors[..50 * dim]
        .chunks_exact_mut(dim)
        .for_each(|vector| vector.copy_from_slice(&place));
    let concepts: Vec<u32> = (0..rows as u32).collect();
    let options = HnswOptions {
        ef_search: 150,
        ..HnswOptions::default()
    };
    let index = index(
        &vectors,
        &concepts,
        &info(rows, dim, Precision::F32, Similarity::Dot, Some(options)),
    );
    let mut queries = random(20 * dim, 22);
    queries.extend(&place);
    for (found, exact) in index
        .search(&queries, 60)
        .iter()
        .zip(index.search_exact(&queries, 60))
    {
        let hits = found
            .iter()
            .filter(|candidate| exact.contains(candidate))
            .count();
        assert!(hits >= 57, "{hits} of 60 (seeds 21 and 22)");
    }
}

#[test]
fn graphs_without_rows_and_with_few_rows_are_searched() {
    for rows in [0u32, 1, 2, 40] {
        let concepts: Vec<u32> = (0..rows).collect();
        let hnsw = Some(HnswOptions::default());
        let index = index(
            &random(rows as usize * 4, 1),
            &concepts,
            &info(rows as usize, 4, Precision::Int8, Similarity::Dot, hnsw),
        );
        let query = random(4, 2);
        assert_eq!(
            index.search(&query, 50),
            index.search_exact(&query, 50),
            "{rows} rows"
        );
    }
}

#[test]
fn nan_queries_are_searched_in_a_graph() {
    let concepts: Vec<u32> = (0..200).collect();
    for precision in [Precision::F32, Precision::Int8, Precision::Int4] {
        let hnsw = Some(HnswOptions::default());
        refuses_rows_that_are_not_finite(precision, hnsw);
        let index = index(
            &random(200 * 8, 4),
            &concepts,
            &info(200, 8, precision, Similarity::Dot, hnsw),
        );
        assert_eq!(index.search(&[f32::NAN; 8], 5)[0].len(), 5, "{precision:?}");
    }
}

#[test]
fn graph_with_links_to_missing_nodes_is_refused() {
    // So many rows have an upper layer.
    let vectors = random(1100 * 8, 3);
    let rows: Vec<_> = (0..1100).map(ConceptId).collect();
    let info = info(
        1100,
        8,
        Precision::Int8,
        Similarity::Dot,
        Some(HnswOptions::default()),
    );
    let bytes = Index::build(&vectors, &rows, &info).expect("sizes agree");
    let whole =
        Container::<IndexInfo>::read(FORMAT, &Bytes::from(bytes), Check::Checksums).expect("whole");
    for name in hnsw::SECTIONS {
        let bodies: Vec<(&str, Vec<u8>)> = ["concepts", "codes", "scales"]
            .into_iter()
            .chain(hnsw::SECTIONS)
            .map(|section| {
                let mut body = whole.section(section).expect("there").to_vec();
                if section == name {
                    // The second number: in `graph.upper` the first is no link.
                    body[4..8].copy_from_slice(&1100u32.to_le_bytes());
                }
                (section, body)
            })
            .collect();
        let sections: Vec<(&str, &[u8])> = bodies
            .iter()
            .map(|(name, body)| (*name, body.as_slice()))
            .collect();
        let bytes = container::write(FORMAT, &info, &sections).expect("written");
        let said = Index::from_bytes(&Bytes::from(bytes), Check::Trusted)
            .err()
            .map(|error| error.to_string());
        assert!(
            said.as_ref()
                .is_some_and(|said| said.contains("a link leads to 1100")),
            "{name}: {said:?}"
        );
    }
}

#[test]
fn equal_seeds_give_equal_graphs() {
    let vectors = random(300 * 8, 3);
    let rows: Vec<_> = (0..300).map(ConceptId).collect();
    let info = info(
        300,
        8,
        Precision::Int8,
        Similarity::Dot,
        Some(HnswOptions::default()),
    );
    let build = || Index::build(&vectors, &rows, &info).expect("sizes agree");
    assert_eq!(build(), build());
}

#[test]
fn inconsistent_index_is_refused() {
    let info = info(2, 2, Precision::F32, Similarity::Dot, None);
    assert!(Index::build(&[0.0; 4], &[ConceptId(1), ConceptId(0)], &info).is_err());
    assert!(Index::build(&[0.0; 3], &[ConceptId(0), ConceptId(1)], &info).is_err());
    let bytes = Index::build(&[0.0; 4], &[ConceptId(0), ConceptId(1)], &info).expect("sizes agree");
    let mut altered = bytes.clone();
    let last = altered.len() - 60;
    altered[last] ^= 1;
    let said = Index::from_bytes(&Bytes::from(altered), Check::Checksums)
        .err()
        .expect("altered")
        .to_string();
    assert!(said.contains("altered"), "{said}");
    assert!(
        Index::from_bytes(
            &Bytes::from(bytes[..bytes.len() / 2].to_vec()),
            Check::Checksums
        )
        .is_err()
    );
}

proptest! {
    #[test]
    fn results_do_not_depend_on_blocks_and_threads(
        rows in 1usize..6000,
        seed in any::<u64>(),
        k in 1usize..20,
    ) {
        let vectors = random(rows * 4, seed);
        let concepts: Vec<u32> = (0..rows as u32).map(|row| row / 3).collect();
        let index = index(
            &vectors,
            &concepts,
            &info(rows, 4, Precision::F32, Similarity::Dot, None),
        );
        let query = random(4, seed ^ 1);
        let mut all = Vec::new();
        for (row, vector) in vectors.chunks_exact(4).enumerate() {
            let mut score = [0.0];
            pel_kernels::dot_f32(&query, vector, &mut score);
            all.push(Candidate {
                concept: ConceptId(concepts[row]),
                score: score[0],
            });
        }
        prop_assert_eq!(&index.search(&query, k)[0], &best_per_concept(all, k));
    }
}

#[test]
fn mix_weighs_the_template() {
    // Concepts 0 and 2 have a template and the same name; concept 3 has a template alone.
    let vectors = [[0.0, 1.0], [1.0, 0.0], [0.6, 0.8], [1.0, 0.0], [0.96, 0.28]].concat();
    let mut index = index(
        &vectors,
        &[0, 0, 2, 2, 3],
        &info(5, 2, Precision::F32, Similarity::Cosine, None),
    );
    let check = |index: &Index, expected: [(u32, f32); 3]| {
        let found = &index.search(&[1.0, 0.0], 3)[0];
        assert_eq!(names(found), expected.map(|(concept, _)| concept));
        for (found, (_, score)) in found.iter().zip(expected) {
            assert!(
                (found.score - score).abs() < 1e-6,
                "{found:?}, expected {score}"
            );
        }
        assert_eq!(
            index.search(&[1.0, 0.0], 2),
            index.search_exact(&[1.0, 0.0], 2)
        );
        assert_eq!(index.search(&[1.0, 0.0], 1)[0], found[..1]);
    };
    check(&index, [(0, 1.0), (2, 1.0), (3, 0.96)]);
    index.set_mix(0.5);
    check(&index, [(3, 0.96), (2, 0.8), (0, 0.5)]);
    index.set_mix(1.0);
    check(&index, [(3, 0.96), (2, 0.6), (0, 0.0)]);
    index.set_mix(0.0);
    check(&index, [(0, 1.0), (2, 1.0), (3, 0.96)]);
}

/// `count` unit vectors, each `spread` from the first axis at most.
fn cluster(count: usize, dim: usize, spread: f32, seed: u64) -> Vec<f32> {
    let mut vectors = random(count * dim, seed);
    for vector in vectors.chunks_exact_mut(dim) {
        vector.iter_mut().for_each(|value| *value *= spread);
        vector[0] += 1.0;
        let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|value| *value /= norm);
    }
    vectors
}

fn unit(count: usize, dim: usize, seed: u64) -> Vec<f32> {
    let mut vectors = random(count * dim, seed);
    for vector in vectors.chunks_exact_mut(dim) {
        let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|value| *value /= norm);
    }
    vectors
}

#[test]
fn graph_search_finds_rows_near_a_thousand_equal_ones() {
    let (equal, others, dim) = (1000, 1000, 24);
    let place = unit(1, dim, 3);
    // Equal rows among the others, at every second place.
    let (mut vectors, singles) = (Vec::new(), unit(others, dim, 4));
    for single in singles.chunks_exact(dim) {
        vectors.extend_from_slice(&place);
        vectors.extend_from_slice(single);
    }
    let concepts: Vec<u32> = (0..(equal + others) as u32).collect();
    for precision in [Precision::F32, Precision::Int8, Precision::Int4] {
        let hnsw = Some(HnswOptions::default());
        let index = index(
            &vectors,
            &concepts,
            &info(equal + others, dim, precision, Similarity::Cosine, hnsw),
        );
        let found = index.search(&singles, 1);
        let lost = found
            .iter()
            .enumerate()
            .filter(|(at, found)| found[0].concept.0 as usize != 2 * at + 1)
            .count();
        assert_eq!(lost, 0, "{precision:?}");
        // All equal rows, in concept order, more than ef_search.
        let found = &index.search(&place, 300)[0];
        assert_eq!(found, &index.search_exact(&place, 300)[0], "{precision:?}");
        assert!(
            names(found)
                .iter()
                .zip(0u32..)
                .all(|(found, at)| *found == 2 * at),
            "{precision:?}"
        );
    }
}

#[test]
fn graph_search_finds_rows_near_nearly_equal_ones() {
    for spread in [1e-6, 1e-3, 0.02] {
        let (count, others, dim) = (600, 30, 16);
        let mut vectors = cluster(count, dim, spread, 5);
        let singles = unit(others, dim, 6);
        vectors.extend_from_slice(&singles);
        let concepts: Vec<u32> = (0..(count + others) as u32).collect();
        for precision in [Precision::F32, Precision::Int8] {
            let hnsw = Some(HnswOptions {
                ef_search: 50,
                ef_construction: 50,
                seed: 0,
            });
            let index = index(
                &vectors,
                &concepts,
                &info(count + others, dim, precision, Similarity::Cosine, hnsw),
            );
            let found = index.search(&singles, 1);
            let lost = found
                .iter()
                .enumerate()
                .filter(|(at, found)| found[0].concept.0 as usize != count + at)
                .count();
            assert_eq!(lost, 0, "{spread} {precision:?}");
        }
    }
}

#[test]
fn equal_rows_of_several_concepts_are_ordered_as_in_the_exact_search() {
    // 40 places. Concept c has the rows c % 40 and c % 7: nodes have many concepts, and concepts
    // have two nodes.
    let (places, dim) = (40, 8);
    let all = unit(places, dim, 9);
    let (mut vectors, mut concepts) = (Vec::new(), Vec::new());
    for concept in 0..500u32 {
        for place in [concept as usize % places, concept as usize % 7] {
            vectors.extend_from_slice(&all[place * dim..(place + 1) * dim]);
            concepts.push(concept);
        }
    }
    let queries = [all.clone(), random(30 * dim, 10)].concat();
    for precision in [Precision::F32, Precision::Int8, Precision::Int4] {
        let hnsw = Some(HnswOptions::default());
        let index = index(
            &vectors,
            &concepts,
            &info(concepts.len(), dim, precision, Similarity::Dot, hnsw),
        );
        for k in [1, 3, 20, 200, 600] {
            assert_eq!(
                index.search(&queries, k),
                index.search_exact(&queries, k),
                "{precision:?} {k}"
            );
        }
    }
}

#[test]
fn graph_without_equal_rows_has_format_3() {
    let version = |vectors: &[f32]| {
        let rows: Vec<_> = (0..vectors.len() as u32 / 4).map(ConceptId).collect();
        let info = info(
            rows.len(),
            4,
            Precision::F32,
            Similarity::Dot,
            Some(HnswOptions::default()),
        );
        Index::build(vectors, &rows, &info).expect("sizes agree")[8]
    };
    let vectors = random(20 * 4, 1);
    assert_eq!((version(&vectors), version(&vectors.repeat(2))), (3, 4));
}

#[test]
fn index_of_an_unknown_version_is_refused() {
    let info = info(1, 2, Precision::F32, Similarity::Dot, None);
    let mut bytes = Index::build(&[1.0, 0.0], &[ConceptId(0)], &info).expect("sizes agree");
    bytes[8] = 6;
    let said = Index::from_bytes(&Bytes::from(bytes), Check::Trusted)
        .err()
        .map(|error| error.to_string());
    assert!(
        said.as_ref()
            .is_some_and(|said| said.contains("version 6, this build reads 5")),
        "{said:?}"
    );
}

/// A version of an index and the next one: some rows are dropped, some are new, and the order of
/// concepts differs.
struct Versions {
    dim: usize,
    old: Vec<f32>,
    new: Vec<f32>,
    sources: Vec<RowSource>,
}

impl Versions {
    /// Of `rows` rows of which each fourth equals the one before, `changed` are dropped and as many
    /// are new.
    fn new(rows: usize, dim: usize, changed: usize) -> Self {
        let mut old = random(rows * dim, 21);
        for row in (3..rows).step_by(4) {
            old.copy_within((row - 1) * dim..row * dim, row * dim);
        }
        let every = rows / changed;
        let kept = (0..rows).filter(|row| row % every != 1);
        let mut sources: Vec<RowSource> = kept.map(RowSource::Old).collect();
        for at in 0..changed {
            sources.insert(at * every, RowSource::New(at));
        }
        sources.rotate_left(rows / 3);
        Self {
            dim,
            old,
            new: random(changed * dim, 22),
            sources,
        }
    }

    /// The vectors of the next version.
    fn next(&self) -> Vec<f32> {
        let row = |all: &[f32], row: usize| all[row * self.dim..(row + 1) * self.dim].to_vec();
        let vector = |source: &RowSource| match *source {
            RowSource::Old(at) => row(&self.old, at),
            RowSource::New(at) => row(&self.new, at),
        };
        self.sources.iter().flat_map(vector).collect()
    }

    fn concepts(rows: usize) -> Vec<ConceptId> {
        (0..rows as u32).map(|row| ConceptId(row / 2)).collect()
    }

    /// The index of the old version.
    fn old_index(&self, precision: Precision, hnsw: Option<HnswOptions>) -> Index {
        let rows = self.old.len() / self.dim;
        let concepts: Vec<u32> = Self::concepts(rows).iter().map(|id| id.0).collect();
        let info = info(rows, self.dim, precision, Similarity::Dot, hnsw);
        index(&self.old, &concepts, &info)
    }

    fn updated(&self, old: &Index, graph: GraphUpdate) -> UpdatedIndex {
        let concepts = Self::concepts(self.sources.len());
        old.updated(&self.new, &self.sources, &concepts, graph)
            .expect("sizes agree")
    }

    /// The bytes of an index that is rebuilt.
    fn rebuilt(&self, old: &Index) -> Vec<u8> {
        let info = IndexInfo {
            rows: self.sources.len(),
            ..old.info().clone()
        };
        let concepts = Self::concepts(self.sources.len());
        Index::build(&self.next(), &concepts, &info).expect("sizes agree")
    }
}

#[test]
fn updated_index_has_the_bytes_of_a_rebuilt_one() {
    // With 5 values, codes of 4 bits do not end at a byte with each row.
    let versions = Versions::new(400, 5, 20);
    for precision in [Precision::F32, Precision::Int8, Precision::Int4] {
        for hnsw in [None, Some(HnswOptions::default())] {
            let old = versions.old_index(precision, hnsw);
            let updated = versions.updated(&old, GraphUpdate::Rebuild);
            assert!(updated.bytes == versions.rebuilt(&old), "{precision:?}");
            assert_eq!(updated.info.rows, 400);
            assert_eq!(updated.graph, hnsw.map(|_| GraphUpdate::Rebuild));
        }
    }
}

#[test]
fn repaired_graph_finds_as_much_as_a_rebuilt_one() {
    let options = HnswOptions {
        ef_search: 100,
        ..HnswOptions::default()
    };
    for (precision, changed) in [(Precision::F32, 20), (Precision::Int8, 120)] {
        let versions = Versions::new(4000, 16, changed);
        let old = versions.old_index(precision, Some(options));
        let updated = versions.updated(&old, GraphUpdate::Repair);
        assert_eq!(updated.graph, Some(GraphUpdate::Repair));
        let repaired = Index::from_bytes(&updated.bytes, Check::Checksums).expect("whole");
        let rebuilt =
            Index::from_bytes(&versions.rebuilt(&old).into(), Check::Checksums).expect("whole");
        assert_eq!(repaired.info(), rebuilt.info());
        // Half of the queries are near new rows.
        let mut queries = random(100 * 16, 23);
        queries.extend_from_slice(&versions.new[..20 * 16]);
        let exact = rebuilt.search_exact(&queries, 10);
        assert_eq!(repaired.search_exact(&queries, 10), exact);
        let recall = |index: &Index| {
            let found = index.search(&queries, 10);
            let hits = |(found, exact): (&Vec<Candidate>, &Vec<Candidate>)| {
                exact.iter().filter(|one| found.contains(one)).count()
            };
            let all: usize = found.iter().zip(&exact).map(hits).sum();
            all as f64 / (10 * exact.len()) as f64
        };
        let (own, other) = (recall(&repaired), recall(&rebuilt));
        assert!(
            own > 0.97 && own > other - 0.01,
            "{precision:?}: {own} {other}"
        );
        // Each row finds its own concept.
        let next = versions.next();
        let lost = repaired
            .search(&next, 3)
            .iter()
            .zip(repaired.search_exact(&next, 3))
            .filter(|(found, exact)| found.first() != exact.first())
            .count();
        assert!(lost <= 4, "{lost} of 4000 rows");
    }
}

#[test]
fn graph_of_which_much_changes_is_built_again() {
    let versions = Versions::new(200, 8, 40);
    let old = versions.old_index(Precision::F32, Some(HnswOptions::default()));
    let updated = versions.updated(&old, GraphUpdate::Repair);
    assert_eq!(updated.graph, Some(GraphUpdate::Rebuild));
    assert!(updated.bytes == versions.rebuilt(&old));
}

#[test]
fn update_refuses_sources_and_concepts_that_do_not_fit() {
    let versions = Versions::new(40, 4, 2);
    let old = versions.old_index(Precision::F32, None);
    let concepts = Versions::concepts(40);
    let updated = |new: &[f32], sources: &[RowSource], concepts: &[ConceptId]| {
        old.updated(new, sources, concepts, GraphUpdate::Repair)
            .is_ok()
    };
    let new = &versions.new;
    assert!(updated(new, &versions.sources, &concepts));
    assert!(!updated(new, &versions.sources[1..], &concepts));
    assert!(!updated(&new[..4], &versions.sources, &concepts));
    assert!(!updated(&new[..7], &versions.sources, &concepts));
    assert!(!updated(&[f32::NAN; 8], &versions.sources, &concepts));
    let mut wrong = versions.sources.clone();
    wrong[3] = RowSource::Old(40);
    assert!(!updated(new, &wrong, &concepts));
    let mut unsorted = concepts.clone();
    unsorted.swap(0, 39);
    assert!(!updated(new, &versions.sources, &unsorted));
}
