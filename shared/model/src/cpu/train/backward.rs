//! The backward pass: gradients of a layer's input and of its parameters.

use super::attention::{self, Scratch};
use super::products::{Input, Panels, pack_all, weight_gradients};
use super::{Buffer, Group, Saved, cut, drop_values, groups, part};
use crate::layer::{LINEARS, LayerOptions, Params, Site};
use pel_kernels::gemm::Start;
use pel_kernels::matrix::{Matrix, MatrixMut};
use pel_kernels::rows::{activate, activate_backward, layer_norm, layer_norm_backward};
use pel_kernels::sums::{add, add_rows};
use pel_kernels::{Isa, for_each};

/// The gradients of a layer's parameters.
#[derive(Debug)]
pub struct Gradients {
    /// `[in, out]` each, row-major.
    pub weights: [Vec<f32>; LINEARS],
    /// `[out]` each.
    pub biases: [Vec<f32>; LINEARS],
    /// γ and β of both LayerNorms.
    pub norms: [[Vec<f32>; 2]; 2],
}

/// Sums over one group's rows. They are added in the order of the groups.
struct Sums {
    biases: [Vec<f32>; LINEARS],
    norms: [[Vec<f32>; 2]; 2],
}

impl Sums {
    fn new(params: &Params<'_>) -> Self {
        let zeros = |values: &[f32]| vec![0.0; values.len()];
        Self {
            biases: params.biases.map(zeros),
            norms: params.norms.map(|norm| norm.map(zeros)),
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Vec<f32>> {
        self.biases
            .iter_mut()
            .chain(self.norms.iter_mut().flatten())
    }
}

/// Inputs and output gradients of the linear layers, `[rows, in]` and `[rows, out]`, for the weight
/// gradients.
struct Factors {
    /// After the first LayerNorm.
    middle: Buffer,
    /// After the activation.
    active: Buffer,
    qkv: Buffer,
    attended: Buffer,
    wide: Buffer,
    narrow: Buffer,
}

/// The buffers of one group.
struct Work<'a> {
    group: &'a Group,
    grads: &'a mut [f32],
    sums: &'a mut Sums,
    middle: &'a mut [f32],
    active: &'a mut [f32],
    qkv: &'a mut [f32],
    attended: &'a mut [f32],
    wide: &'a mut [f32],
    narrow: &'a mut [f32],
}

/// The backward pass of a layer: replaces the gradient of its output in `grads` by that of its
/// input. Gradients of parameters are computed if `wanted`.
///
/// # Shapes
/// x, grads `[rows, hidden]`, where `rows` is the sum of `lengths`
///
/// # Panics
/// If the sizes disagree.
pub fn backward(
    params: &Params<'_>,
    options: &LayerOptions,
    lengths: &[usize],
    x: &[f32],
    saved: &Saved,
    grads: &mut [f32],
    wanted: bool,
) -> Option<Gradients> {
    let (hidden, inner) = (params.hidden(), params.inner());
    let rows: usize = lengths.iter().sum();
    assert!(
        x.len() == rows * hidden && grads.len() == x.len(),
        "{rows} rows of {hidden} values"
    );
    let panels = pack_all(options.precision, params.weights.map(Matrix::transposed));
    let groups = groups(lengths);
    let mut sums: Vec<Sums> = groups.iter().map(|_| Sums::new(params)).collect();
    let buffer = |width: usize| Buffer::new(rows * width);
    let mut factors = Factors {
        middle: buffer(hidden),
        active: buffer(inner),
        qkv: buffer(3 * hidden),
        attended: buffer(hidden),
        wide: buffer(inner),
        narrow: buffer(hidden),
    };
    let mut grad = cut(&groups, hidden, grads).into_iter();
    let mut middle = cut(&groups, hidden, &mut factors.middle).into_iter();
    let mut active = cut(&groups, inner, &mut factors.active).into_iter();
    let mut qkv = cut(&groups, 3 * hidden, &mut factors.qkv).into_iter();
    let mut attended = cut(&groups, hidden, &mut factors.attended).into_iter();
    let mut wide = cut(&groups, inner, &mut factors.wide).into_iter();
    let mut narrow = cut(&groups, hidden, &mut factors.narrow).into_iter();
    let work = groups.iter().zip(&mut sums).filter_map(|(group, sums)| {
        Some(Work {
            group,
            grads: grad.next()?,
            sums,
            middle: middle.next()?,
            active: active.next()?,
            qkv: qkv.next()?,
            attended: attended.next()?,
            wide: wide.next()?,
            narrow: narrow.next()?,
        })
    });
    for_each(work.collect(), |work| {
        one_group(params, options, &panels, saved, work)
    });
    wanted.then(|| parameters(params, options, rows, x, saved, &factors, sums))
}

fn one_group(
    params: &Params<'_>,
    options: &LayerOptions,
    panels: &[Panels; LINEARS],
    saved: &Saved,
    work: Work<'_>,
) {
    let isa = Isa::best();
    let (hidden, inner, rows) = (params.hidden(), params.inner(), work.group.rows.len());
    let Work {
        group,
        grads,
        sums,
        middle,
        active,
        qkv,
        attended,
        wide,
        narrow,
    } = work;
    let [first_norm, second_norm] = &mut sums.norms;
    let [q_sum, k_sum, v_sum, attended_sum, wide_sum, narrow_sum] = &mut sums.biases;
    // The gradient of a linear layer's input is a product with its transposed weight.
    let back = |which: usize, grads: Matrix<'_>, start: Start<'_>, out: &mut [f32]| {
        let out = MatrixMut::new(out, rows, params.weights[which].rows);
        panels[which].multiply(&Input::new(options.precision, grads), start, out);
    };
    let drop = |site: Site, values: &mut [f32]| {
        drop_values(isa, options, site, group.rows.start, values);
    };
    let norm = |which: usize| params.norm(which, options.epsilon);

    // Recomputed: the forward pass does not save them.
    middle.copy_from_slice(part(group, hidden, &saved.first));
    layer_norm(isa, norm(0), hidden, middle);
    let before = part(group, inner, &saved.wide);
    active.copy_from_slice(before);
    activate(isa, options.activation, active);

    let [gamma, beta] = second_norm;
    layer_norm_backward(
        isa,
        norm(1),
        part(group, hidden, &saved.second),
        grads,
        gamma,
        beta,
    );
    narrow.copy_from_slice(grads);
    drop(Site::FeedForwardOutput, narrow);
    add_rows(narrow_sum, narrow);
    back(5, Matrix::new(narrow, rows, hidden), Start::Zero, wide);
    activate_backward(isa, options.activation, before, wide);
    add_rows(wide_sum, wide);
    back(4, Matrix::new(wide, rows, inner), Start::Sum, grads);

    let [gamma, beta] = first_norm;
    layer_norm_backward(
        isa,
        norm(0),
        part(group, hidden, &saved.first),
        grads,
        gamma,
        beta,
    );
    attended.copy_from_slice(grads);
    drop(Site::AttentionOutput, attended);
    add_rows(attended_sum, attended);
    let mut mixed = Buffer::new(rows * hidden);
    back(
        3,
        Matrix::new(attended, rows, hidden),
        Start::Zero,
        &mut mixed,
    );

    let (mut scratch, mut seen) = (Scratch::default(), 0);
    let mut left = MatrixMut::new(qkv, rows, 3 * hidden);
    let all = Matrix::new(part(group, 3 * hidden, &saved.qkv), rows, 3 * hidden);
    for seq in &group.lengths {
        let (mine, rest) = left.split_rows(*seq);
        left = rest;
        let mixed = Matrix::new(&mixed, rows, hidden).part(seen, *seq, 0, hidden);
        let all = all.part(seen, *seq, 0, 3 * hidden);
        attention::backward(
            isa,
            options,
            group.rows.start + seen,
            all,
            mixed,
            &mut scratch,
            mine,
        );
        seen += seq;
    }
    for row in qkv.chunks_exact(3 * hidden) {
        add(q_sum, &row[..hidden]);
        add(k_sum, &row[hidden..2 * hidden]);
        add(v_sum, &row[2 * hidden..]);
    }
    for which in 0..3 {
        let grad = Matrix::new(qkv, rows, 3 * hidden).part(0, rows, which * hidden, hidden);
        back(which, grad, Start::Sum, grads);
    }
}

/// The gradients of weights, and the total of the groups' sums.
fn parameters(
    params: &Params<'_>,
    options: &LayerOptions,
    rows: usize,
    x: &[f32],
    saved: &Saved,
    factors: &Factors,
    sums: Vec<Sums>,
) -> Gradients {
    let (hidden, inner) = (params.hidden(), params.inner());
    let Factors {
        middle,
        active,
        qkv,
        attended,
        wide,
        narrow,
    } = factors;
    let x = Matrix::new(x, rows, hidden);
    let all = Matrix::new(qkv, rows, 3 * hidden);
    let pairs = [
        (x, all.part(0, rows, 0, hidden)),
        (x, all.part(0, rows, hidden, hidden)),
        (x, all.part(0, rows, 2 * hidden, hidden)),
        (
            Matrix::new(&saved.mixed, rows, hidden),
            Matrix::new(attended, rows, hidden),
        ),
        (
            Matrix::new(middle, rows, hidden),
            Matrix::new(wide, rows, inner),
        ),
        (
            Matrix::new(active, rows, inner),
            Matrix::new(narrow, rows, hidden),
        ),
    ];
    let weights = weight_gradients(options.precision, pairs);
    let mut total = Sums::new(params);
    for mut sums in sums {
        total
            .all()
            .zip(sums.all())
            .for_each(|(total, sum)| add(total, sum));
    }
    Gradients {
        weights,
        biases: total.biases,
        norms: total.norms,
    }
}
