//! A linear layer with packed weights: floats, bfloat16 or quantised.

use super::train::{Buffer, Input, Panels};
use crate::layer::Precision;
use crate::weights::Weights;
use pel_kb::error::Result;
use pel_kb::numbers::Numbers;
use pel_kernels::gemm;
use pel_kernels::gemm::Start;
use pel_kernels::int8;
use pel_kernels::int8::Codes;
use pel_kernels::matrix::{Matrix, MatrixMut};
use pel_kernels::rows::{Activation, activate};
use pel_kernels::{Isa, LANES, bf16, for_each};

/// `y = x Wᵀ + b`
#[derive(Clone, Debug)]
pub struct Linear {
    weights: Values,
    bias: Vec<f32>,
    inputs: usize,
}

#[derive(Clone, Debug)]
enum Values {
    F32 {
        panels: Vec<f32>,
    },
    Bf16 {
        panels: Panels,
    },
    Int8 {
        panels: Numbers<i8>,
        scales: Vec<f32>,
        sums: Vec<f32>,
    },
}

/// Some columns of a layer's output.
struct Part<'a> {
    linear: &'a Linear,
    first: usize,
    out: MatrixMut<'a>,
}

impl Linear {
    /// Takes the tensors `name.weight` and `name.bias`. Floats are packed, codes are used in place.
    ///
    /// # Errors
    /// If one is missing or has another shape or type.
    pub fn take(
        weights: &mut Weights<'_>,
        name: &str,
        inputs: usize,
        outputs: usize,
    ) -> Result<Self> {
        let weight = format!("{name}.weight");
        let values = if weights.is_quantised(&weight) {
            let taken = weights.quantised_linear(&weight, outputs, inputs)?;
            Values::Int8 {
                panels: taken.codes,
                scales: taken.scales,
                sums: taken.sums,
            }
        } else {
            let values = weights.numbers(&weight, &[outputs, inputs])?;
            let mut panels = vec![0.0; gemm::packed_len(inputs, outputs)];
            gemm::pack(
                Matrix::new(values.get(), outputs, inputs).transposed(),
                &mut panels,
            );
            Values::F32 { panels }
        };
        Ok(Self {
            weights: values,
            bias: weights.floats(&format!("{name}.bias"), &[outputs])?,
            inputs,
        })
    }

    /// Rounds f32 weights to bfloat16. Inputs are then rounded, too.
    pub fn round(&mut self) {
        if let Values::F32 { panels } = &self.weights {
            let outputs = self.outputs();
            let mut weight = Buffer::new(self.inputs * outputs);
            gemm::unpack(panels, MatrixMut::new(&mut weight, self.inputs, outputs));
            let [panels] = super::train::pack_all(
                Precision::Bf16,
                [Matrix::new(&weight, self.inputs, outputs)],
            );
            self.weights = Values::Bf16 { panels };
        }
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// The columns from `first` on, as many as `out` has.
    fn columns(
        &self,
        isa: Isa,
        input: &Input<'_>,
        codes: &Codes,
        first: usize,
        out: MatrixMut<'_>,
    ) {
        let range = first..first + out.cols();
        let bias = &self.bias[range.clone()];
        match &self.weights {
            Values::F32 { panels } => {
                let panels =
                    &panels[first * self.inputs..][..gemm::packed_len(self.inputs, range.len())];
                gemm::gemm(isa, input.x(), panels, Start::Bias(bias), out);
            }
            Values::Bf16 { panels } => {
                panels.multiply_columns(input, first, Start::Bias(bias), out)
            }
            Values::Int8 {
                panels,
                scales,
                sums,
            } => {
                let inputs = self.inputs.next_multiple_of(int8::GROUP);
                let panels =
                    &panels.get()[first * inputs..][..int8::packed_len(inputs, range.len())];
                let (scales, sums) = (&scales[range.clone()], &sums[range]);
                int8::gemm(
                    isa,
                    codes,
                    int8::Weights {
                        panels,
                        scales,
                        sums,
                        bias,
                    },
                    out,
                );
            }
        }
    }
}

/// Runs layers with the same input, each optionally followed by an activation. Their outputs are
/// concatenated in each row. The columns of each layer are distributed over `team` threads.
///
/// # Shapes
/// x `[n, in]`, out `[n, sum of out]`; `codes` is a buffer for the quantised input
///
/// # Panics
/// If the layers have different inputs, or the sizes disagree.
pub fn forward<const N: usize>(
    linears: [&Linear; N],
    isa: Isa,
    team: usize,
    x: &[f32],
    out: &mut [f32],
    activation: Option<Activation>,
    codes: &mut Codes,
) {
    let inputs = linears[0].inputs;
    assert!(
        linears.iter().all(|linear| linear.inputs == inputs),
        "layers of one input"
    );
    let (rows, team) = (x.len() / inputs, team.max(1));
    if linears
        .iter()
        .any(|linear| matches!(linear.weights, Values::Int8 { .. }))
    {
        codes.fill(isa, x, inputs);
    }
    let rounded = linears
        .iter()
        .any(|linear| matches!(linear.weights, Values::Bf16 { .. }));
    let input = Input::new(
        if rounded {
            Precision::Bf16
        } else {
            Precision::F32
        },
        Matrix::new(x, rows, inputs),
    );
    let mut shares: Vec<Vec<Part<'_>>> = (0..team).map(|_| Vec::with_capacity(N)).collect();
    let mut left = MatrixMut::new(
        out,
        rows,
        linears.iter().map(|linear| linear.outputs()).sum(),
    );
    for linear in linears {
        let outputs = linear.outputs();
        let step = if rounded { bf16::STEP } else { LANES };
        let width = outputs.div_ceil(step).div_ceil(team) * step;
        for (share, first) in shares.iter_mut().zip((0..outputs).step_by(width)) {
            let (out, rest) = left.split_cols(width.min(outputs - first));
            left = rest;
            share.push(Part { linear, first, out });
        }
    }
    for_each(shares, |share| {
        for mut part in share {
            part.linear
                .columns(isa, &input, codes, part.first, part.out.borrow());
            if let Some(activation) = activation {
                (0..rows).for_each(|row| activate(isa, activation, part.out.row(row)));
            }
        }
    });
}
