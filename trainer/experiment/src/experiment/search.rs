//! BLINK's table 7: recall and time of exact search and HNSW, over a given number of vectors.

use super::cells::Table;
use super::models::TrainedEncoder;
use super::stages::Stages;
use super::{Bench, TableId};
use bytes::Bytes;
use pel_index::{HnswOptions, Index, IndexInfo, Precision};
use pel_io::interrupt;
use pel_kb::ConceptId;
use pel_kb::container::Check;
use pel_kb::error::{Error, Result};
use pel_kb::score::Similarity;
use pel_trainer::train::Validation;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The seed of the synthetic vectors.
const SEED: u64 = 1;

/// The ks of the table.
const KS: [usize; 4] = [1, 10, 30, 100];

/// The search depths (ef) of HNSW1 and HNSW2 (footnotes 7 and 8), and the depth of construction.
const EF: [usize; 2] = [256, 128];
const EF_CONSTRUCTION: usize = 200;

/// Timed searches; the median is reported.
const ROUNDS: usize = 5;

/// A row of the table.
#[derive(Serialize, Deserialize)]
struct Searched {
    method: String,
    /// Recall at each of [`KS`].
    recall: Vec<Option<f64>>,
    milliseconds: f64,
    build_seconds: f64,
    bytes: usize,
}

/// The whole table.
#[derive(Serialize, Deserialize)]
struct Searches {
    rows: usize,
    own: usize,
    queries: usize,
    searched: Vec<Searched>,
}

/// The table. Missing measurements are made first.
///
/// # Errors
/// As training.
pub fn table(table: TableId, bench: &Bench<'_>, stages: &Stages<'_>) -> Result<Table> {
    let wanted = bench.options.search_rows as usize;
    let seed = bench.options.seeds.first().copied().unwrap_or(0);
    let path = bench
        .options
        .out
        .join("results")
        .join(format!("{}-{wanted}-seed{seed}.json", table.slug()));
    let found: Searches = super::kept(&path, || measure(bench, stages, wanted))?;
    let head = [
        "Method",
        "Acc",
        "R@10",
        "R@30",
        "R@100",
        "ms/q",
        "Construction, s",
        "MB",
    ];
    let mut text = Table::new(table.title(), &head);
    for row in &found.searched {
        let mut cells = vec![row.method.clone()];
        cells.extend(
            row.recall
                .iter()
                .map(|value| value.map_or("-".into(), |value| format!("{:.1}", 100.0 * value))),
        );
        cells.push(format!("{:.2}", row.milliseconds));
        cells.push(format!("{:.0}", row.build_seconds));
        cells.push(format!("{:.0}", row.bytes as f64 / 1e6));
        text.line(&cells);
    }
    let mixed = if found.rows > found.own {
        ", the others means of two of them"
    } else {
        ""
    };
    text.note(&format!(
        "{} vectors: {} of the knowledge base's texts{mixed}. {} mentions, whatever `--every`, all \
         in one call; median of {ROUNDS}; seed {seed}. Vectors are floats in the exact search and \
         int8 in the graph. HNSW with {} neighbours a node (the paper has 128), a depth of \
         {EF_CONSTRUCTION} while building and of {} (HNSW1) and {} (HNSW2) while searching.",
        found.rows,
        found.own,
        found.queries,
        HnswOptions::NEIGHBOURS,
        EF[0],
        EF[1]
    ));
    Ok(text)
}

fn measure(bench: &Bench<'_>, stages: &Stages<'_>, wanted: usize) -> Result<Searches> {
    let mut config = bench.config(&[], 0)?;
    config.validation.split.clone_from(&bench.options.split);
    config.validation.mentions = usize::MAX;
    let snapshot = stages.retriever(TrainedEncoder::Retriever, &config)?;
    let Some((validation, queries)) = snapshot.validation(&config)? else {
        return Err(Error::input(
            "--split: expected mentions to search for, found none",
        ));
    };
    let (own, dim) = snapshot.vectors();
    let (mut vectors, concepts) = snapshot.rows(own);
    let mut concepts = concepts.to_vec();
    let count = concepts.len();
    let score = config.reduction().score;
    widen(
        &mut vectors,
        &mut concepts,
        dim,
        wanted,
        snapshot.kb().len(),
    );
    let bench = Search {
        vectors: &vectors,
        concepts: &concepts,
        dim,
        score,
        validation: &validation,
        queries: &queries,
    };
    let (exact, seconds, bytes) = bench.built(None)?;
    let mut searched = vec![bench.measured("Ex. Search", &exact, seconds, bytes)?];
    drop(exact);
    let options = HnswOptions {
        ef_construction: EF_CONSTRUCTION,
        ..HnswOptions::default()
    };
    let (mut graph, seconds, bytes) = bench.built(Some(options))?;
    for (at, ef) in EF.into_iter().enumerate() {
        graph.set_depth(ef);
        searched.push(bench.measured(&format!("HNSW{}", at + 1), &graph, seconds, bytes)?);
    }
    Ok(Searches {
        rows: concepts.len(),
        own: count,
        queries: queries.len() / dim.max(1),
        searched,
    })
}

/// Vectors and queries.
struct Search<'a> {
    vectors: &'a [f32],
    concepts: &'a [ConceptId],
    dim: usize,
    score: Similarity,
    validation: &'a Validation,
    queries: &'a [f32],
}

impl Search<'_> {
    /// Builds an index; returns it, the seconds of construction and its bytes.
    fn built(&self, hnsw: Option<HnswOptions>) -> Result<(Index, f64, usize)> {
        interrupt::check()?;
        let began = Instant::now();
        let precision = if hnsw.is_some() {
            Precision::Int8
        } else {
            Precision::F32
        };
        let info = IndexInfo {
            hnsw,
            ..IndexInfo::exact(self.concepts.len(), self.dim, precision, self.score)
        };
        let bytes = Bytes::from(Index::build(self.vectors, self.concepts, &info)?);
        let seconds = began.elapsed().as_secs_f64();
        Ok((
            Index::from_bytes(&bytes, Check::Trusted)?,
            seconds,
            bytes.len(),
        ))
    }

    fn measured(
        &self,
        method: &str,
        index: &Index,
        build_seconds: f64,
        bytes: usize,
    ) -> Result<Searched> {
        let (mut times, mut found) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            interrupt::check()?;
            let began = Instant::now();
            found = index.search(self.queries, KS[KS.len() - 1]);
            times.push(began.elapsed().as_secs_f64());
        }
        times.sort_unstable_by(f64::total_cmp);
        let queries = (self.queries.len() / self.dim).max(1);
        Ok(Searched {
            method: method.into(),
            recall: KS.map(|k| self.validation.recall(&found, k)).into(),
            milliseconds: 1000.0 * times[ROUNDS / 2] / queries as f64,
            build_seconds,
            bytes,
        })
    }
}

/// Adds synthetic concepts until there are `wanted` vectors: each is the mean of two vectors,
/// scaled to the length of one.
fn widen(
    vectors: &mut Vec<f32>,
    concepts: &mut Vec<ConceptId>,
    dim: usize,
    wanted: usize,
    known: usize,
) {
    let (own, mut random) = (concepts.len(), ChaCha8Rng::seed_from_u64(SEED));
    vectors.reserve(wanted.saturating_sub(own) * dim);
    for at in own..wanted {
        let [one, other] = [(); 2].map(|()| random.random_range(0..own) * dim);
        let mixed: Vec<f32> = (0..dim)
            .map(|at| (vectors[one + at] + vectors[other + at]) / 2.0)
            .collect();
        let length = |vector: &[f32]| vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        // The dot product favours long vectors, so the length is kept.
        let factor = length(&vectors[one..one + dim]) / length(&mixed).max(f32::MIN_POSITIVE);
        vectors.extend(mixed.iter().map(|value| value * factor));
        concepts.push(ConceptId((known + at - own) as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synthetic_vectors_are_new_concepts() {
        let (mut vectors, mut concepts) =
            (vec![3.0, 0.0, 0.0, 4.0], vec![ConceptId(0), ConceptId(0)]);
        widen(&mut vectors, &mut concepts, 2, 5, 1);
        assert_eq!(concepts, [0, 0, 1, 2, 3].map(ConceptId));
        for mixed in vectors.chunks_exact(2).skip(2) {
            let length = mixed[0].hypot(mixed[1]);
            assert!(
                (length - 3.0).abs() < 1e-5 || (length - 4.0).abs() < 1e-5,
                "{mixed:?}"
            );
        }
        // Fewer than there are change nothing.
        widen(&mut vectors, &mut concepts, 2, 1, 1);
        assert_eq!(concepts.len(), 5);
    }
}
