//! The forward pass, which saves activations for the backward pass.

use super::attention::{self, Scratch};
use super::products::{Input, Panels, pack_all};
use super::{Buffer, Group, cut, drop_values, groups, part};
use crate::layer::{LINEARS, LayerOptions, Params, Site};
use pel_kernels::gemm::Start;
use pel_kernels::matrix::{Matrix, MatrixMut};
use pel_kernels::rows::{activate, layer_norm};
use pel_kernels::sums::add;
use pel_kernels::{Isa, for_each};

/// The activations that [`super::backward`] needs. It computes the others again.
#[derive(Debug)]
pub struct Saved {
    /// `[rows, 3 hidden]`
    pub(super) qkv: Buffer,
    /// The output of the heads, `[rows, hidden]`.
    pub(super) mixed: Buffer,
    /// Before the first LayerNorm, `[rows, hidden]`.
    pub(super) first: Buffer,
    /// Before the activation, `[rows, intermediate]`.
    pub(super) wide: Buffer,
    /// Before the second LayerNorm, `[rows, hidden]`.
    pub(super) second: Buffer,
}

impl Saved {
    fn new(rows: usize, hidden: usize, inner: usize) -> Self {
        let buffer = |width: usize| Buffer::new(rows * width);
        let (qkv, mixed, first) = (buffer(3 * hidden), buffer(hidden), buffer(hidden));
        Self {
            qkv,
            mixed,
            first,
            wide: buffer(inner),
            second: buffer(hidden),
        }
    }

    /// The size of the saved activations in bytes.
    pub fn bytes(&self) -> usize {
        4 * [
            &self.qkv,
            &self.mixed,
            &self.first,
            &self.wide,
            &self.second,
        ]
        .iter()
        .map(|one| one.len())
        .sum::<usize>()
    }
}

/// The buffers of one group.
struct Work<'a> {
    group: &'a Group,
    x: &'a [f32],
    qkv: &'a mut [f32],
    mixed: &'a mut [f32],
    first: &'a mut [f32],
    wide: &'a mut [f32],
    second: &'a mut [f32],
    out: &'a mut [f32],
}

/// Runs a layer.
///
/// # Shapes
/// x `[rows, hidden]` -> `[rows, hidden]`, where `rows` is the sum of `lengths`
///
/// # Panics
/// If the sizes disagree.
pub fn forward(
    params: &Params<'_>,
    options: &LayerOptions,
    lengths: &[usize],
    x: &[f32],
) -> (Vec<f32>, Saved) {
    let (hidden, inner) = (params.hidden(), params.inner());
    let rows: usize = lengths.iter().sum();
    assert_eq!(x.len(), rows * hidden, "{rows} rows of {hidden} values");
    let panels = pack_all(options.precision, params.weights);
    let (mut out, mut saved) = (vec![0.0; rows * hidden], Saved::new(rows, hidden, inner));
    let groups = groups(lengths);
    let mut qkv = cut(&groups, 3 * hidden, &mut saved.qkv).into_iter();
    let mut mixed = cut(&groups, hidden, &mut saved.mixed).into_iter();
    let mut first = cut(&groups, hidden, &mut saved.first).into_iter();
    let mut wide = cut(&groups, inner, &mut saved.wide).into_iter();
    let mut second = cut(&groups, hidden, &mut saved.second).into_iter();
    let mut outs = cut(&groups, hidden, &mut out).into_iter();
    let work = groups.iter().filter_map(|group| {
        Some(Work {
            group,
            x: part(group, hidden, x),
            qkv: qkv.next()?,
            mixed: mixed.next()?,
            first: first.next()?,
            wide: wide.next()?,
            second: second.next()?,
            out: outs.next()?,
        })
    });
    for_each(work.collect(), |work| {
        one_group(params, options, &panels, work)
    });
    (out, saved)
}

fn one_group(
    params: &Params<'_>,
    options: &LayerOptions,
    panels: &[Panels; LINEARS],
    work: Work<'_>,
) {
    let isa = Isa::best();
    let (hidden, inner, rows) = (params.hidden(), params.inner(), work.group.rows.len());
    let Work {
        group,
        x,
        qkv,
        mixed,
        first,
        wide,
        second,
        out,
    } = work;
    let input = Input::new(options.precision, Matrix::new(x, rows, hidden));
    let mut left = MatrixMut::new(qkv, rows, 3 * hidden);
    for (panels, bias) in panels.iter().zip(params.biases).take(3) {
        let (mine, rest) = left.split_cols(hidden);
        left = rest;
        panels.multiply(&input, Start::Bias(bias), mine);
    }
    let (mut scratch, mut seen) = (Scratch::default(), 0);
    let mut mixed_left = MatrixMut::new(mixed, rows, hidden);
    for seq in &group.lengths {
        let (mine, rest) = mixed_left.split_rows(*seq);
        mixed_left = rest;
        let qkv = Matrix::new(qkv, rows, 3 * hidden).part(seen, *seq, 0, 3 * hidden);
        attention::forward(
            isa,
            options,
            group.rows.start + seen,
            qkv,
            &mut scratch,
            mine,
        );
        seen += seq;
    }
    let linear = |which: usize, x: &[f32], out: &mut [f32]| {
        let weight = params.weights[which];
        let out = MatrixMut::new(out, rows, weight.cols);
        let input = Input::new(options.precision, Matrix::new(x, rows, weight.rows));
        panels[which].multiply(&input, Start::Bias(params.biases[which]), out);
    };
    let drop = |site: Site, values: &mut [f32]| {
        drop_values(isa, options, site, group.rows.start, values);
    };
    linear(3, mixed, first);
    drop(Site::AttentionOutput, first);
    add(first, x);
    // `out` has the first half of the layer until the second half overwrites it.
    out.copy_from_slice(first);
    layer_norm(isa, params.norm(0, options.epsilon), hidden, out);
    linear(4, out, wide);
    let mut active = Buffer::new(rows * inner);
    active.copy_from_slice(wide);
    activate(isa, options.activation, &mut active);
    linear(5, &active, second);
    drop(Site::FeedForwardOutput, second);
    add(second, out);
    out.copy_from_slice(second);
    layer_norm(isa, params.norm(1, options.epsilon), hidden, out);
}
