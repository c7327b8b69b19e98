//! Rows that are the weighted mean of a name's vector and its concept's template's.
//!
//! With a weight m of the template, a concept's score is `(1 - m) × its best row + m × its first
//! row`. For the row of a name this equals the product of the query with `(1 - m) × name + m ×
//! template`, so one row can hold both. The template then needs no row of its own, and one search
//! orders concepts by the final score. A concept whose template is more similar to the query than
//! each of its names has a lower score than with separate rows.

use pel_kb::ConceptId;

/// Rows with their concepts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MixedRows {
    /// `[rows, dim]`
    pub vectors: Vec<f32>,
    /// `[rows]`: the concept of each row, ascending.
    pub concepts: Vec<ConceptId>,
    /// The number of names that were left out because a row of their concept is similar.
    pub similar: usize,
}

/// Mixes the rows of names with their concept's first row, its template. A concept with its
/// template alone keeps it.
///
/// A name is left out if its row has a cosine similarity of at least `distinct` with a row of its
/// concept that stays. Spelling variants have nearly the same vector and find the same mentions.
///
/// # Shapes
/// vectors `[rows, dim]`; concepts `[rows]` ascending, each concept's template first
///
/// # Panics
/// If the sizes disagree.
pub fn mixed_rows(
    vectors: &[f32],
    concepts: &[ConceptId],
    dim: usize,
    share: f32,
    distinct: Option<f32>,
) -> MixedRows {
    assert_eq!(
        vectors.len(),
        concepts.len() * dim,
        "one vector for each row"
    );
    let mut rows = MixedRows::default();
    let mut start = 0;
    for own in concepts.chunk_by(|a, b| a == b) {
        let own_vectors = &vectors[start * dim..(start + own.len()) * dim];
        start += own.len();
        let (template, names) = own_vectors.split_at(dim);
        let first = rows.concepts.len();
        let mut add = |row: Vec<f32>| {
            let kept = &rows.vectors[first * dim..];
            let near = |most: f32| {
                kept.chunks_exact(dim)
                    .any(|other| cosine(&row, other) >= most)
            };
            if distinct.is_some_and(near) {
                rows.similar += 1;
                return;
            }
            rows.vectors.extend_from_slice(&row);
            rows.concepts.push(own[0]);
        };
        if names.is_empty() {
            add(template.to_vec());
        }
        for name in names.chunks_exact(dim) {
            let mixed = name
                .iter()
                .zip(template)
                .map(|(name, template)| (1.0 - share) * name + share * template);
            add(mixed.collect());
        }
    }
    rows
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 {
        dot(a, b) / lengths
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_mixed_with_the_template_of_their_concept() {
        let concepts = [2, 2, 2, 5, 7, 7].map(ConceptId);
        let vectors = [
            1.0, 0.0, 0.0, 1.0, 1.0, 0.0, // template and two names of concept 2
            0.0, 2.0, // template of concept 5
            0.0, 4.0, 4.0, 0.0, // template and name of concept 7
        ];
        let rows = mixed_rows(&vectors, &concepts, 2, 0.25, None);
        assert_eq!(rows.concepts, [2, 2, 5, 7].map(ConceptId));
        assert_eq!(rows.vectors, [0.25, 0.75, 1.0, 0.0, 0.0, 2.0, 3.0, 1.0]);
        assert_eq!(rows.similar, 0);
    }

    #[test]
    fn similar_names_of_one_concept_are_left_out() {
        let concepts = [0, 0, 0, 0, 1, 1].map(ConceptId);
        // The cosines of the names of concept 0 with its first one: 1 and 0.6.
        let vectors = [1.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.6, 0.8, 1.0, 0.0, 1.0, 0.0];
        let rows = mixed_rows(&vectors, &concepts, 2, 0.0, Some(0.9));
        assert_eq!(rows.concepts, [0, 0, 1].map(ConceptId));
        assert_eq!((rows.vectors.len(), rows.similar), (6, 1));
        assert_eq!(
            mixed_rows(&vectors, &concepts, 2, 0.0, Some(0.5)).similar,
            2
        );
    }
}
