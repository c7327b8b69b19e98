//! Searching: exactly and through HNSW, over the bundle's vectors or more of their kind.

use crate::bench::{Options, Random, milliseconds, timed};
use crate::indexing::recall::{Against, share_found, spaced};
use crate::io::files::{io_error, write_whole};
use crate::io::{bundles, interrupt};
use bytes::Bytes;
use pel_shared::bundle::{Bundle, names};
use pel_shared::container::Check;
use pel_shared::error::{Error, Result};
use pel_shared::index::{HnswOptions, Index, IndexInfo, Precision};
use pel_shared::kb::ConceptId;
use pel_shared::score::{Candidate, Similarity};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// Queries that are searched at once.
const BATCHES: [usize; 2] = [1, 64];

/// The time of one kind of search.
#[derive(Serialize)]
pub(crate) struct SearchRow {
    pub kind: &'static str,
    pub rows: usize,
    pub dim: usize,
    pub k: usize,
    /// Nodes kept while searching a graph.
    pub ef: Option<usize>,
    pub batch: usize,
    pub queries_per_s: f64,
    /// The share of what the exact f32 search finds among the same rows, as the bundle keeps them ([`share_found`]).
    pub recall: f64,
    /// The index as it is kept, in the file and in memory.
    pub bytes: usize,
    /// Nothing if the index was taken from the cache.
    pub build_s: Option<f64>,
    /// The file with the rows that were found.
    pub found: Option<String>,
}

/// What is searched for.
struct Queries {
    /// `[n, dim]`
    values: Vec<f32>,
    dim: usize,
}

/// An index with its name.
struct Subject {
    kind: &'static str,
    index: Index,
    bytes: usize,
    build_s: Option<f64>,
    k: usize,
}

/// What was found, a list for each query.
type Lists = [Vec<Candidate>];

/// Writes the vectors where that was asked for, and measures each kind of search unless that is left out.
pub(crate) fn search(options: &Options, bundle: &Bundle) -> Result<Vec<SearchRow>> {
    if options.no_search && options.export_vectors.is_none() {
        return Ok(Vec::new());
    }
    let (dim, score) = (bundle.index.info().dim, bundle.index.info().score);
    let vectors = vectors(options, &bundle.index);
    if let Some(path) = &options.export_vectors {
        write(path, bytemuck::cast_slice(&vectors))?;
    }
    if options.no_search {
        return Ok(Vec::new());
    }
    let queries = Queries { values: queries(options, &vectors, dim)?, dim };
    let mut found = Vec::new();
    // The bundle itself, unless other vectors or queries are asked for.
    if options.rows.is_none() && options.queries_from.is_none() && options.export_found.is_none() {
        own(options, bundle, &mut found)?;
    }

    let whole = |kind, precision| Subject::build(kind, &vectors, dim, precision, score, options.k);
    let subject = whole(EXACT[0], Precision::F32)?;
    let exact = subject.index.search(&queries.values, options.k);
    subject.measure(options, &queries, &exact, &mut found)?;
    drop(subject);
    whole(EXACT[1], Precision::Int8)?.measure(options, &queries, &exact, &mut found)?;

    if !options.hnsw.is_empty() {
        let rows = options.hnsw_rows.unwrap_or(usize::MAX).min(vectors.len() / dim);
        let vectors = &vectors[..rows * dim];
        let oracle = Subject::build("exact-f32", vectors, dim, Precision::F32, score, options.hnsw_k)?;
        let exact = oracle.index.search(&queries.values, options.hnsw_k);
        drop(oracle);
        let hnsw = Some(HnswOptions::default());
        let info = IndexInfo { rows, dim, precision: Precision::Int8, score, hnsw };
        let mut subject = Subject::graph(options, vectors, &info)?;
        for ef_search in &options.hnsw {
            subject.index.set_ef_search(*ef_search);
            subject.measure(options, &queries, &exact, &mut found)?;
        }
    }
    Ok(found)
}

/// The bundle's own index, as `pel link` searches it: by concepts, through its graph if it has one, with its mix of views.
fn own(options: &Options, bundle: &Bundle, rows: &mut Vec<SearchRow>) -> Result<()> {
    let mix = bundle.manifest.view.mix;
    let against = Against::own(&bundle.index, options.queries, mix)?;
    let exact = against.exact(options.k);
    let bytes = bundle.parts().get(names::INDEX)?;
    let mut index = Index::from_bytes(bytes, Check::Trusted)?;
    if mix > 0.0 {
        index.set_mix(mix);
    }
    let queries = Queries { values: against.queries().to_vec(), dim: index.info().dim };
    let subject = Subject { kind: "bundle", bytes: bytes.len(), index, build_s: None, k: options.k };
    subject.measure(options, &queries, &exact, rows)
}

impl Subject {
    fn build(
        kind: &'static str,
        vectors: &[f32],
        dim: usize,
        precision: Precision,
        score: Similarity,
        k: usize,
    ) -> Result<Self> {
        interrupt::check()?;
        let began = Instant::now();
        let bytes = built(vectors, &IndexInfo { rows: vectors.len() / dim, dim, precision, score, hnsw: None })?;
        let build_s = Some(milliseconds(began) / 1000.0);
        Ok(Self { kind, bytes: bytes.len(), index: Index::from_bytes(&bytes, Check::Trusted)?, build_s, k })
    }

    /// A graph from the cache, or built and put there.
    fn graph(options: &Options, vectors: &[f32], info: &IndexInfo) -> Result<Self> {
        interrupt::check()?;
        let described = serde_json::to_vec(info).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        let mut name = blake3::Hasher::new();
        name.update(&described).update(bytemuck::cast_slice(vectors));
        let name = format!("{}.hnsw", &name.finalize().to_hex()[..16]);
        let cached = options.cache.as_ref().map(|folder| folder.join(name));
        // One that an earlier version wrote is built anew.
        let kept = match &cached {
            Some(path) if path.is_file() => bundles::map(path).and_then(|bytes| opened(bytes, None)).ok(),
            _ => None,
        };
        let (index, bytes, build_s) = match kept {
            Some(kept) => kept,
            None => {
                let began = Instant::now();
                let bytes = built(vectors, info)?;
                let build_s = milliseconds(began) / 1000.0;
                if let Some(path) = &cached {
                    write(path, &bytes)?;
                }
                opened(bytes, Some(build_s))?
            }
        };
        Ok(Self { kind: HNSW, bytes, index, build_s, k: options.hnsw_k })
    }

    fn measure(&self, options: &Options, queries: &Queries, exact: &Lists, rows: &mut Vec<SearchRow>) -> Result<()> {
        let info = self.index.info();
        let ef = info.hnsw.map(|options| options.ef_search);
        let lists = self.index.search(&queries.values, self.k);
        let recall = share_found(&lists, exact);
        let found = match &options.export_found {
            None => None,
            Some(folder) => {
                let name = found_name(self.kind, ef);
                write(&folder.join(&name), &found_rows(&lists, self.k))?;
                Some(name)
            }
        };
        for batch in BATCHES {
            let batches: Vec<&[f32]> = queries.values.chunks(batch * queries.dim).collect();
            let whole = batches.iter().filter(|part| part.len() == batch * queries.dim).count().max(1);
            let searched = batches[0].len() / queries.dim;
            let mut at = 0;
            let (median_ms, _) = timed(options.seconds, || {
                self.index.search(batches[at % whole], self.k);
                at += 1;
                Ok(())
            })?;
            rows.push(SearchRow {
                kind: self.kind,
                rows: info.rows,
                dim: info.dim,
                k: self.k,
                ef,
                batch,
                queries_per_s: 1000.0 * searched as f64 / median_ms,
                recall,
                bytes: self.bytes,
                build_s: self.build_s,
                found: found.clone(),
            });
        }
        Ok(())
    }
}

/// The kinds of search that are always measured.
const EXACT: [&str; 2] = ["exact-f32", "exact-int8"];
const HNSW: &str = "hnsw";

/// The file of what a kind of search has found.
fn found_name(kind: &str, ef: Option<usize>) -> String {
    ef.map_or_else(|| format!("{kind}.u32"), |ef| format!("{kind}-{ef}.u32"))
}

/// The files of what all kinds of search find.
pub(crate) fn found_names(efs: &[usize]) -> Vec<String> {
    let exact = EXACT.iter().map(|kind| found_name(kind, None));
    let mut names: Vec<String> = exact.chain(efs.iter().map(|ef| found_name(HNSW, Some(*ef)))).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// An index, how large it is, and how long it took.
fn opened(bytes: Bytes, build_s: Option<f64>) -> Result<(Index, usize, Option<f64>)> {
    Ok((Index::from_bytes(&bytes, Check::Trusted)?, bytes.len(), build_s))
}

/// An index in which each row is a concept of its own.
fn built(vectors: &[f32], info: &IndexInfo) -> Result<Bytes> {
    let concepts: Vec<ConceptId> = (0..info.rows as u32).map(ConceptId).collect();
    Ok(Index::build(vectors, &concepts, info)?.into())
}

/// Little-endian row numbers, `[queries, k]`, the highest number where fewer were found.
fn found_rows(lists: &Lists, k: usize) -> Vec<u8> {
    let padded = |list: &Vec<Candidate>| {
        let rows = list.iter().map(|candidate| candidate.concept.0).chain(std::iter::repeat(u32::MAX)).take(k);
        rows.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    lists.iter().flat_map(padded).collect()
}

/// The bundle's own vectors; beyond them the normalised means of two of them, chosen with a fixed seed.
fn vectors(options: &Options, index: &Index) -> Vec<f32> {
    let own = index.info().rows;
    let rows = options.rows.map_or(own, |rows| rows as usize);
    let mut vectors: Vec<f32> = (0..own.min(rows)).flat_map(|row| index.vector(row)).collect();
    let mut random = Random(1);
    for _ in own..rows {
        let mut pick = || index.vector((random.next() % own as u64) as usize);
        let mixed: Vec<f32> = pick().iter().zip(pick()).map(|(a, b)| a + b).collect();
        let length = mixed.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-12);
        vectors.extend(mixed.iter().map(|value| value / length));
    }
    vectors
}

/// The queries of the file, or rows at equal steps.
fn queries(options: &Options, vectors: &[f32], dim: usize) -> Result<Vec<f32>> {
    let Some(path) = &options.queries_from else {
        return Ok(spaced(vectors, dim, options.queries));
    };
    let bytes = std::fs::read(path).map_err(|cause| io_error("reading", path, cause))?;
    if bytes.is_empty() || bytes.len() % (4 * dim) != 0 {
        let (path, size) = (path.display(), bytes.len());
        return Err(Error::input(format!("{path}: expected rows of {dim} f32 values, found {size} bytes")));
    }
    Ok(bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|cause| io_error("making the folder", folder, cause))?;
    }
    write_whole(path, |file| file.write_all(bytes).map_err(|cause| io_error("writing", path, cause)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(concepts: &[u32]) -> Vec<Candidate> {
        concepts.iter().map(|concept| Candidate { concept: ConceptId(*concept), score: 1.0 }).collect()
    }

    #[test]
    fn found_rows_are_padded() {
        let bytes = found_rows(&[list(&[1]), list(&[2, 258])], 2);
        assert_eq!(bytes, [1, 0, 0, 0, 255, 255, 255, 255, 2, 0, 0, 0, 2, 1, 0, 0]);
    }
}
