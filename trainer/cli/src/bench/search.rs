//! Searching: exact, HNSW and cells, over the bundle's vectors and means of them.

use crate::bench::notes::mention_vectors;
use crate::bench::{Options, Random, milliseconds, read_rows, timed};
use bytes::Bytes;
use pel_artifacts::bundles;
use pel_artifacts::device::OpenDevice;
use pel_corpora::indexing::recall::{Against, share_found, spaced};
use pel_index::{CellOptions, HnswOptions, Index, IndexInfo, Precision};
use pel_io::files::{io_error, write_atomic};
use pel_io::interrupt;
use pel_kb::ConceptId;
use pel_kb::container::Check;
use pel_kb::error::{Error, Result};
use pel_kb::score::Candidate;
use pel_linker::bundle::{Bundle, names};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// Queries of one call.
const BATCHES: [usize; 2] = [1, 64];

/// The time of one kind of search.
#[derive(Serialize)]
pub(crate) struct SearchRow {
    pub kind: &'static str,
    pub rows: usize,
    pub dim: usize,
    pub k: usize,
    /// The depth of an approximate search: ef of a graph, or the cells that it reads.
    pub ef: Option<usize>,
    pub batch: usize,
    pub queries_per_s: f64,
    /// The recall against the exact f32 search over the same rows ([`share_found`]).
    pub recall: f64,
    /// The size of the index.
    pub bytes: usize,
    /// `None` if the index was cached.
    pub build_s: Option<f64>,
    /// The file with the rows that were found.
    pub found: Option<String>,
}

/// The queries.
struct QueryVectors {
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

/// The candidates of each query.
type Lists = [Vec<Candidate>];

/// Measures each kind of search, and writes the vectors if an option says so.
pub(crate) fn search(
    options: &Options,
    bundle: &Bundle,
    device: &OpenDevice,
) -> Result<Vec<SearchRow>> {
    if options.no_search && options.export_vectors.is_none() {
        return Ok(Vec::new());
    }
    let (dim, score) = (bundle.index.info().dim, bundle.index.info().score);
    if options.floats.is_some() {
        let mut found = Vec::new();
        own(options, bundle, device, &mut found)?;
        return Ok(found);
    }
    let vectors = vectors(options, &bundle.index);
    if let Some(path) = &options.export_vectors {
        write(path, bytemuck::cast_slice(&vectors))?;
    }
    if options.no_search {
        return Ok(Vec::new());
    }
    let queries = QueryVectors {
        values: match given_queries(options, bundle, device)? {
            Some(given) => given,
            None => spaced(&vectors, dim, options.queries),
        },
        dim,
    };
    let mut found = Vec::new();
    // The bundle's own index, unless options give other vectors or queries.
    if options.rows.is_none() && options.queries_from.is_none() && options.export_found.is_none() {
        own(options, bundle, device, &mut found)?;
    }

    let exact = |kind, vectors: &[f32], precision, k| -> Result<Subject> {
        let info = IndexInfo::exact(vectors.len() / dim, dim, precision, score);
        Ok(Subject::build(kind, vectors, &info, k)?.0)
    };
    let subject = exact(EXACT[0], &vectors, Precision::F32, options.k)?;
    let expected = subject.index.search(&queries.values, options.k);
    subject.measure(options, &queries, &expected, &mut found)?;
    drop(subject);
    exact(EXACT[1], &vectors, Precision::Int8, options.k)?
        .measure(options, &queries, &expected, &mut found)?;

    if !options.hnsw.is_empty() {
        let rows = options
            .hnsw_rows
            .unwrap_or(usize::MAX)
            .min(vectors.len() / dim);
        let vectors = &vectors[..rows * dim];
        let oracle = exact(EXACT[0], vectors, Precision::F32, options.hnsw_k)?;
        let expected = oracle.index.search(&queries.values, options.hnsw_k);
        drop(oracle);
        let hnsw = Some(HnswOptions::default());
        let info = IndexInfo {
            hnsw,
            ..IndexInfo::exact(rows, dim, Precision::Int8, score)
        };
        let mut subject = Subject::cached(options, HNSW, vectors, &info, options.hnsw_k)?;
        for ef_search in &options.hnsw {
            subject.index.set_depth(*ef_search);
            subject.measure(options, &queries, &expected, &mut found)?;
        }
    }
    if let Some(cells) = options.cells {
        let cells = Some(CellOptions {
            cells: cells as usize,
            probes: 1,
        });
        let info = IndexInfo {
            cells,
            ..IndexInfo::exact(vectors.len() / dim, dim, Precision::Int8, score)
        };
        let mut subject = Subject::cached(options, CELLS, &vectors, &info, options.k)?;
        for probes in &options.probes {
            subject.index.set_depth(*probes);
            subject.measure(options, &queries, &expected, &mut found)?;
        }
    }
    Ok(found)
}

/// Measures the bundle's index as `pel link` searches it: by concepts, with its graph if it has
/// one, and its mix of views.
fn own(
    options: &Options,
    bundle: &Bundle,
    device: &OpenDevice,
    rows: &mut Vec<SearchRow>,
) -> Result<()> {
    let mix = mix(bundle);
    let info = bundle.index.info();
    let mut against = match &options.floats {
        None => Against::own(&bundle.index, options.queries, mix)?,
        Some(path) => {
            let values = read_rows(path, info.dim, "f32 values")?;
            if values.len() != info.rows * info.dim {
                return Err(Error::input(format!(
                    "{}: expected the {} vectors of the bundle's index, found {}",
                    path.display(),
                    info.rows,
                    values.len() / info.dim
                )));
            }
            let floats: Vec<f32> = values.into_iter().map(f32::from_le_bytes).collect();
            Against::of(&floats, bundle.index.concepts(), info, options.queries, mix)?
        }
    };
    if let Some(queries) = given_queries(options, bundle, device)? {
        against.set_queries(queries);
    }
    let exact = against.exact(options.k);
    let (index, bytes) = own_index(bundle)?;
    let queries = QueryVectors {
        values: against.queries().to_vec(),
        dim: index.info().dim,
    };
    let subject = Subject {
        kind: "bundle",
        bytes,
        index,
        build_s: None,
        k: options.k,
    };
    subject.measure(options, &queries, &exact, rows)
}

/// The weight of a concept's first row in a search.
fn mix(bundle: &Bundle) -> f32 {
    match bundle.index.info().mixed > 0.0 {
        true => 0.0,
        false => bundle.manifest.view.mix,
    }
}

/// The bundle's index as `pel link` searches it, and its size.
pub(super) fn own_index(bundle: &Bundle) -> Result<(Index, usize)> {
    let bytes = bundle.parts().get(names::INDEX)?;
    let mut index = Index::from_bytes(bytes, Check::Trusted)?;
    if mix(bundle) > 0.0 {
        index.set_mix(mix(bundle));
    }
    Ok((index, bytes.len()))
}

impl Subject {
    /// Builds an index in which each row is a concept of its own.
    fn build(
        kind: &'static str,
        vectors: &[f32],
        info: &IndexInfo,
        k: usize,
    ) -> Result<(Self, Bytes)> {
        interrupt::check()?;
        let began = Instant::now();
        let concepts: Vec<ConceptId> = (0..info.rows as u32).map(ConceptId).collect();
        let bytes = Bytes::from(Index::build(vectors, &concepts, info)?);
        let build_s = Some(milliseconds(began) / 1000.0);
        let index = Index::from_bytes(&bytes, Check::Trusted)?;
        Ok((
            Self {
                kind,
                bytes: bytes.len(),
                index,
                build_s,
                k,
            },
            bytes,
        ))
    }

    /// Reads an index from the cache, or builds and caches it.
    fn cached(
        options: &Options,
        kind: &'static str,
        vectors: &[f32],
        info: &IndexInfo,
        k: usize,
    ) -> Result<Self> {
        let described = serde_json::to_vec(info)
            .map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        let mut name = blake3::Hasher::new();
        name.update(&described)
            .update(bytemuck::cast_slice(vectors));
        let name = format!("{}.{kind}", &name.finalize().to_hex()[..16]);
        let cached = options.cache.as_ref().map(|folder| folder.join(name));
        if let Some(path) = cached.as_ref().filter(|path| path.is_file()) {
            let read = |bytes: Bytes| Ok((Index::from_bytes(&bytes, Check::Trusted)?, bytes.len()));
            // A file that cannot be read is of an earlier version, and is replaced.
            if let Ok((index, bytes)) = bundles::map(path).and_then(read) {
                return Ok(Self {
                    kind,
                    bytes,
                    index,
                    build_s: None,
                    k,
                });
            }
        }
        let (subject, bytes) = Self::build(kind, vectors, info, k)?;
        if let Some(path) = &cached {
            write(path, &bytes)?;
        }
        Ok(subject)
    }

    fn measure(
        &self,
        options: &Options,
        queries: &QueryVectors,
        exact: &Lists,
        rows: &mut Vec<SearchRow>,
    ) -> Result<()> {
        let info = self.index.info();
        let ef = info.depth();
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
            let whole = batches
                .iter()
                .filter(|part| part.len() == batch * queries.dim)
                .count()
                .max(1);
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
const CELLS: &str = "cells";

/// The file of the rows that a kind of search found.
fn found_name(kind: &str, ef: Option<usize>) -> String {
    ef.map_or_else(|| format!("{kind}.u32"), |ef| format!("{kind}-{ef}.u32"))
}

/// The files of the rows that all kinds of search find.
pub(crate) fn found_names(options: &Options) -> Vec<String> {
    let exact = EXACT.iter().map(|kind| found_name(kind, None));
    let graphs = options.hnsw.iter().map(|ef| found_name(HNSW, Some(*ef)));
    let probes: &[usize] = match options.cells {
        Some(_) => &options.probes,
        None => &[],
    };
    let cells = probes.iter().map(|probes| found_name(CELLS, Some(*probes)));
    let mut names: Vec<String> = exact.chain(graphs).chain(cells).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Little-endian row numbers, `[queries, k]`, padded with the highest number.
fn found_rows(lists: &Lists, k: usize) -> Vec<u8> {
    let padded = |list: &Vec<Candidate>| {
        let rows = list
            .iter()
            .map(|candidate| candidate.concept.0)
            .chain(std::iter::repeat(u32::MAX))
            .take(k);
        rows.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    lists.iter().flat_map(padded).collect()
}

/// The bundle's vectors, then normalised means of two of them, chosen with a fixed seed.
fn vectors(options: &Options, index: &Index) -> Vec<f32> {
    let own = index.info().rows;
    let rows = options.rows.map_or(own, |rows| rows as usize);
    let mut vectors: Vec<f32> = (0..own.min(rows))
        .flat_map(|row| index.vector(row))
        .collect();
    let mut random = Random(1);
    for _ in own..rows {
        let mut pick = || index.vector((random.next() % own as u64) as usize);
        let mixed: Vec<f32> = pick().iter().zip(pick()).map(|(a, b)| a + b).collect();
        let length = mixed
            .iter()
            .map(|value| value * value)
            .sum::<f32>()
            .sqrt()
            .max(1e-12);
        vectors.extend(mixed.iter().map(|value| value / length));
    }
    vectors
}

/// The queries of a file or of notes, if an option names them.
fn given_queries(
    options: &Options,
    bundle: &Bundle,
    device: &OpenDevice,
) -> Result<Option<Vec<f32>>> {
    let given = match (&options.queries_from, &options.query_notes) {
        (Some(path), _) => read_rows(path, bundle.index.info().dim, "f32 values")?
            .into_iter()
            .map(f32::from_le_bytes)
            .collect(),
        (None, Some(folder)) => mention_vectors(folder, bundle, device, options.queries)?,
        (None, None) => return Ok(None),
    };
    if let Some(path) = &options.export_queries {
        write(path, bytemuck::cast_slice(&given))?;
    }
    Ok(Some(given))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|cause| io_error("making the folder", folder, cause))?;
    }
    write_atomic(path, |file| {
        file.write_all(bytes)
            .map_err(|cause| io_error("writing", path, cause))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of concepts with equal scores.
    fn list(concepts: &[u32]) -> Vec<Candidate> {
        concepts
            .iter()
            .map(|&concept| Candidate {
                concept: ConceptId(concept),
                score: 1.0,
            })
            .collect()
    }

    #[test]
    fn found_rows_are_padded() {
        let bytes = found_rows(&[list(&[1]), list(&[2, 258])], 2);
        assert_eq!(
            bytes,
            [1, 0, 0, 0, 255, 255, 255, 255, 2, 0, 0, 0, 2, 1, 0, 0]
        );
    }
}
