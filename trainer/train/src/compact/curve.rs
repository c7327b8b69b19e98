//! Recall on a validation split by the number of dimensions and the precision of the index.

use super::projection::{Projection, principal};
use crate::train::{CANDIDATES, Snapshot, Validated, Validation};
use comfy_table::{Cell, CellAlignment};
use pel_index::{Index, IndexInfo, Precision};
use pel_io::text_tables::{percent, table};
use pel_kb::container::Check;
use pel_kb::error::Result;
use pel_kb::score::Similarity;
use serde::Serialize;

/// The precisions to measure.
const PRECISIONS: [Precision; 3] = [Precision::F32, Precision::Int8, Precision::Int4];

/// One index.
#[derive(Debug, Serialize)]
pub struct Point {
    dim: usize,
    precision: Precision,
    /// The size of the index file.
    bytes: usize,
    #[serde(flatten)]
    found: Validated,
}

/// Measures an index for each of `dims`, and for all dimensions, in each precision.
///
/// # Errors
/// If a dimension is invalid, or an index cannot be built.
pub fn curve(
    snapshot: &Snapshot,
    validation: &Validation,
    mentions: &[f32],
    dims: &[usize],
) -> Result<Vec<Point>> {
    let (vectors, hidden) = snapshot.vectors();
    let widest = dims.iter().copied().max().unwrap_or(hidden);
    let projection = principal(vectors, hidden, widest)?;
    let mut dims = dims.to_vec();
    dims.sort_unstable();
    dims.dedup();
    let mut points = Vec::new();
    for dim in dims {
        let narrow = |vectors: &[f32]| projected(&projection, hidden, dim, vectors);
        points.extend(measure(
            snapshot,
            validation,
            dim,
            &narrow(vectors),
            &narrow(mentions),
        )?);
    }
    if widest < hidden {
        points.extend(measure(snapshot, validation, hidden, vectors, mentions)?);
    }
    Ok(points)
}

fn measure(
    snapshot: &Snapshot,
    validation: &Validation,
    dim: usize,
    vectors: &[f32],
    mentions: &[f32],
) -> Result<Vec<Point>> {
    let (vectors, concepts) = snapshot.rows(vectors);
    let point = |precision: Precision| {
        let info = IndexInfo::exact(concepts.len(), dim, precision, Similarity::Cosine);
        let built = Index::build(&vectors, concepts, &info)?;
        let bytes = built.len();
        let index = Index::from_bytes(&built.into(), Check::Trusted)?;
        Ok(Point {
            dim,
            precision,
            bytes,
            found: validation.figures(&index.search(mentions, CANDIDATES)),
        })
    };
    PRECISIONS.into_iter().map(point).collect()
}

/// Projects vectors to the first `dim` directions, and normalises them.
///
/// # Shapes
/// vectors `[n, hidden]` -> `[n, dim]`
fn projected(projection: &Projection, hidden: usize, dim: usize, vectors: &[f32]) -> Vec<f32> {
    let rows = vectors.chunks_exact(hidden).flat_map(|vector| {
        let along = |direction: &[f32]| {
            direction
                .iter()
                .zip(vector)
                .map(|(a, b)| a * b)
                .sum::<f32>()
        };
        let row: Vec<f32> = projection
            .weight
            .chunks_exact(hidden)
            .take(dim)
            .map(along)
            .collect();
        let length = row
            .iter()
            .map(|value| value * value)
            .sum::<f32>()
            .sqrt()
            .max(f32::MIN_POSITIVE);
        row.into_iter().map(move |value| value / length)
    });
    rows.collect()
}

/// The curve as a table.
pub fn shown(points: &[Point]) -> String {
    let mut shown = table([
        "Dimensions",
        "Precision",
        "MB",
        "@1",
        "@64",
        "Zero-shot @1",
        "@64",
        "NIL auPR",
    ]);
    for Point {
        dim,
        precision,
        bytes,
        found,
    } in points
    {
        let shares = [
            found.recall_1,
            found.recall_64,
            found.zero_shot_1,
            found.zero_shot_64,
            found.nil_aupr,
        ];
        let first = [
            dim.to_string(),
            format!("{precision:?}").to_lowercase(),
            format!("{:.1}", *bytes as f64 / 1e6),
        ];
        shown.add_row(
            first
                .into_iter()
                .chain(shares.map(percent))
                .map(|text| Cell::new(text).set_alignment(CellAlignment::Right)),
        );
    }
    shown.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_projected_by_hand() {
        let projection = Projection {
            weight: vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            dim: 2,
            kept: 1.0,
        };
        let vectors = [3.0, 4.0, 5.0, 0.0, 2.0, 0.0];
        assert_eq!(projected(&projection, 3, 2, &vectors), [0.6, 0.8, 0.0, 1.0]);
        assert_eq!(projected(&projection, 3, 1, &vectors), [1.0, 0.0]);
    }
}
