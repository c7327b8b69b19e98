//! An embedding table, read in place from the file.

use crate::weights::Weights;
use pel_kb::error::Result;
use pel_kb::numbers::Numbers;

/// `[rows, width]` vectors, floats or quantised.
#[derive(Clone, Debug)]
pub struct Table {
    values: Values,
    rows: usize,
    width: usize,
}

#[derive(Clone, Debug)]
enum Values {
    F32(Numbers<f32>),
    Int8 {
        codes: Numbers<i8>,
        scales: Vec<f32>,
    },
}

impl Table {
    /// Takes the tensor `name`.
    ///
    /// # Errors
    /// If it is missing or has another shape or type.
    pub fn take(weights: &mut Weights<'_>, name: &str, rows: usize, width: usize) -> Result<Self> {
        let values = if weights.is_quantised(name) {
            let taken = weights.quantised_table(name, rows, width)?;
            Values::Int8 {
                codes: taken.codes,
                scales: taken.scales,
            }
        } else {
            Values::F32(weights.numbers(name, &[rows, width])?)
        };
        Ok(Self {
            values,
            rows,
            width,
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row to `to`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn add(&self, row: usize, to: &mut [f32]) {
        assert!(row < self.rows, "row {row} of a table of {}", self.rows);
        let range = row * self.width..(row + 1) * self.width;
        match &self.values {
            Values::F32(values) => {
                to.iter_mut()
                    .zip(&values.get()[range])
                    .for_each(|(to, value)| *to += value);
            }
            Values::Int8 { codes, scales } => {
                let scale = scales[row];
                to.iter_mut()
                    .zip(&codes.get()[range])
                    .for_each(|(to, code)| *to += scale * f32::from(*code));
            }
        }
    }
}
