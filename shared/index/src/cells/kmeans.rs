//! K-means over the directions of vectors (spherical k-means; Dhillon and Modha, 2001).

use pel_kernels::gemm;
use pel_kernels::gemm::Start;
use pel_kernels::matrix::{Matrix, MatrixMut};
use pel_kernels::{Isa, for_each_chunk};

/// Vectors that a thread assigns at a time: their products with some thousand centroids fit into
/// the level-2 cache.
const CHUNK: usize = 32;

/// Training vectors for each centroid. More change the cells little.
const SAMPLE: usize = 64;

/// Rounds of training. Later rounds move few vectors.
const ROUNDS: usize = 10;

/// Directions that divide vectors into cells.
pub struct Centroids {
    dim: usize,
    /// `[cells, dim]`, of unit length
    values: Vec<f32>,
    /// The transposed centroids, packed for products.
    panels: Vec<f32>,
}

impl Centroids {
    /// Trains at most `cells` centroids. The training vectors and the first centroids are taken at
    /// equal steps, so the result does not depend on a random choice.
    ///
    /// # Shapes
    /// vectors `[rows, dim]`
    pub fn train(vectors: &[f32], dim: usize, cells: usize) -> Self {
        let rows = vectors.len() / dim;
        let cells = cells.clamp(1, rows.max(1));
        let sample = spaced(vectors, dim, cells.saturating_mul(SAMPLE));
        let mut centroids = Self::new(spaced(&sample, dim, cells), dim);
        for _ in 0..ROUNDS {
            let cell_of = centroids.assign(&sample);
            let mut sums = vec![0.0f32; centroids.values.len()];
            for (vector, cell) in sample.chunks_exact(dim).zip(&cell_of) {
                let length = length(vector);
                let sum = &mut sums[*cell as usize * dim..][..dim];
                if length > 0.0 {
                    sum.iter_mut()
                        .zip(vector)
                        .for_each(|(sum, value)| *sum += value / length);
                }
            }
            // An empty cell keeps its centroid.
            for (sum, old) in sums
                .chunks_exact_mut(dim)
                .zip(centroids.values.chunks_exact(dim))
            {
                if length(sum) == 0.0 {
                    sum.copy_from_slice(old);
                }
            }
            centroids = Self::new(sums, dim);
        }
        centroids
    }

    /// Centroids in given directions.
    ///
    /// # Shapes
    /// values `[cells, dim]`
    pub fn new(mut values: Vec<f32>, dim: usize) -> Self {
        values.chunks_exact_mut(dim).for_each(normalise);
        let cells = values.len() / dim;
        let mut panels = vec![0.0; gemm::packed_len(dim, cells)];
        gemm::pack(Matrix::new(&values, cells, dim).transposed(), &mut panels);
        Self {
            dim,
            values,
            panels,
        }
    }

    /// The centroids, `[cells, dim]`.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The cell of each vector: that of the centroid with the largest dot product, of equal ones
    /// the first.
    ///
    /// # Shapes
    /// vectors `[rows, dim]` -> `[rows]`
    pub fn assign(&self, vectors: &[f32]) -> Vec<u32> {
        let (dim, cells, isa) = (self.dim, self.values.len() / self.dim, Isa::best());
        let parts = for_each_chunk(vectors, CHUNK * dim, |_, vectors| {
            let rows = vectors.len() / dim;
            let mut products = vec![0.0; rows * cells];
            gemm::gemm(
                isa,
                Matrix::new(vectors, rows, dim),
                &self.panels,
                Start::Zero,
                MatrixMut::new(&mut products, rows, cells),
            );
            products
                .chunks_exact(cells)
                .map(|products| largest(products) as u32)
                .collect::<Vec<_>>()
        });
        parts.concat()
    }
}

/// The position of the largest number, of equal ones the first.
fn largest(numbers: &[f32]) -> usize {
    let most = numbers
        .iter()
        .fold(f32::NEG_INFINITY, |most, number| most.max(*number));
    numbers
        .iter()
        .position(|number| *number == most)
        .unwrap_or(0)
}

/// Scales a vector to unit length. A zero vector stays.
pub fn normalise(vector: &mut [f32]) {
    let length = length(vector);
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|value| value * value).sum::<f32>().sqrt()
}

/// At most `count` rows at equal steps.
fn spaced(vectors: &[f32], dim: usize, count: usize) -> Vec<f32> {
    let rows = vectors.len() / dim;
    let count = count.min(rows);
    (0..count)
        .map(|at| (at as u128 * rows as u128 / count as u128) as usize)
        .flat_map(|row| &vectors[row * dim..(row + 1) * dim])
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_assigned_to_the_centroid_of_their_direction() {
        // Two directions, at different lengths.
        let vectors = [
            3.0f32, 0.1, 0.0, 2.0, 1.0, 0.0, 0.1, 0.5, 9.0, -0.3, 0.0, 0.0,
        ];
        let centroids = Centroids::train(&vectors, 2, 2);
        let cells = centroids.assign(&vectors);
        assert_eq!([cells[0], cells[2], cells[4]], [cells[0]; 3]);
        assert_eq!([cells[1], cells[3]], [cells[1]; 2]);
        assert_ne!(cells[0], cells[1]);
        assert!(
            centroids
                .values()
                .chunks_exact(2)
                .all(|centroid| (length(centroid) - 1.0).abs() < 1e-6)
        );
        // A zero vector has equal products with all centroids.
        assert_eq!(cells[5], 0);
    }

    #[test]
    fn there_are_never_more_centroids_than_vectors() {
        assert_eq!(
            Centroids::train(&[1.0, 0.0, 0.0, 1.0], 2, 9).values().len(),
            4
        );
    }
}
