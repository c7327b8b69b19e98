//! Quantised tensors: codes of one byte with their scales.

use super::Weights;
use pel_kb::error::{Error, Result};
use pel_kb::numbers::Numbers;
use pel_kernels::{LANES, int8};
use safetensors::tensor::Dtype;

/// A quantised linear layer, packed for the processor.
#[derive(Clone, Debug)]
pub struct QuantisedLinear {
    /// `[out / 16, in / 4, 16, 4]`, rounded up
    pub codes: Numbers<i8>,
    /// `[out]`: value = scale × code
    pub scales: Vec<f32>,
    /// `[out]`: the sum of each output's codes
    pub sums: Vec<f32>,
}

/// A quantised embedding table.
#[derive(Clone, Debug)]
pub struct QuantisedTable {
    /// `[rows, width]`
    pub codes: Numbers<i8>,
    /// `[rows]`: value = scale × code
    pub scales: Vec<f32>,
}

impl QuantisedLinear {
    /// The dequantised values.
    ///
    /// # Shapes
    /// -> `[out, in]`
    pub fn values(&self, inputs: usize) -> Vec<f32> {
        let size = inputs.div_ceil(int8::GROUP) * int8::GROUP * LANES;
        let mut values = Vec::with_capacity(self.scales.len() * inputs);
        for (output, scale) in self.scales.iter().enumerate() {
            let panel = &self.codes.get()[output / LANES * size..][..size];
            let groups = panel
                .chunks_exact(int8::GROUP)
                .skip(output % LANES)
                .step_by(LANES);
            values.extend(
                groups
                    .flatten()
                    .take(inputs)
                    .map(|code| f32::from(*code) * scale),
            );
        }
        values
    }
}

impl QuantisedTable {
    /// The dequantised values.
    ///
    /// # Shapes
    /// -> `[rows, width]`
    pub fn values(&self, width: usize) -> Vec<f32> {
        let rows = self.codes.get().chunks_exact(width).zip(&self.scales);
        rows.flat_map(|(codes, scale)| codes.iter().map(move |code| f32::from(*code) * scale))
            .collect()
    }
}

impl Weights<'_> {
    /// The shape of a linear layer's codes.
    pub fn packed_shape(outputs: usize, inputs: usize) -> [usize; 4] {
        [
            outputs.div_ceil(LANES),
            inputs.div_ceil(int8::GROUP),
            LANES,
            int8::GROUP,
        ]
    }

    /// Takes a quantised linear layer.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape or type.
    pub fn quantised_linear(
        &mut self,
        name: &str,
        outputs: usize,
        inputs: usize,
    ) -> Result<QuantisedLinear> {
        let codes = self.bytes(name, &Self::packed_shape(outputs, inputs))?;
        let scales = self.floats(&format!("{name}_scale"), &[outputs])?;
        let sums = self.floats(&format!("{name}_sum"), &[outputs])?;
        Ok(QuantisedLinear {
            codes,
            scales,
            sums,
        })
    }

    /// Takes a quantised table.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape or type.
    pub fn quantised_table(
        &mut self,
        name: &str,
        rows: usize,
        width: usize,
    ) -> Result<QuantisedTable> {
        let codes = self.bytes(name, &[rows, width])?;
        let scales = self.floats(&format!("{name}_scale"), &[rows])?;
        Ok(QuantisedTable { codes, scales })
    }

    fn bytes(&mut self, name: &str, shape: &[usize]) -> Result<Numbers<i8>> {
        let view = self.shaped(name, shape)?;
        match view.dtype() {
            Dtype::I8 => Ok(Numbers::new(self.lying(&view))),
            other => Err(Error::artifact(format!(
                "the tensor `{name}`: expected I8, found {other:?}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_invert_packing(
            inputs in 1usize..40,
            outputs in 1usize..40,
            seed in any::<u64>(),
        ) {
            let code = |at: usize| (seed.rotate_left(at as u32) as i8).max(-127);
            let columns: Vec<i8> = (0..inputs * outputs).map(code).collect();
            let (codes, sums) = int8::pack(&columns, inputs);
            prop_assert_eq!(
                codes.len(),
                Weights::packed_shape(outputs, inputs)
                    .iter()
                    .product::<usize>()
            );
            let panels = QuantisedLinear {
                codes: Numbers::Copied(codes),
                scales: vec![2.0; outputs],
                sums,
            };
            let expected: Vec<f32> = columns.iter().map(|code| 2.0 * f32::from(*code)).collect();
            prop_assert_eq!(panels.values(inputs), expected);
        }
    }
}
