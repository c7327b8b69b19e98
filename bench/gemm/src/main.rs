//! Measures PEL's matrix products beside those of rten-gemm, for the shapes of an encoder's linear
//! layers.
//!
//! ```text
//! cargo run --release --manifest-path bench/gemm/Cargo.toml -- [avx2]
//! ```
//!
//! Weights are packed before. Both products add the bias. PEL's product of bytes also gives floats,
//! where rten's gives integers; the second ratio of bytes adds a pass that scales these. Each round
//! runs one after the other; a time is the median of the rounds. A ratio above 1 says that PEL is
//! faster.
//!
//! With `avx2` PEL leaves out AVX-512. rten-gemm takes the best instructions of the processor, and
//! its choice is private: to compare AVX2 on a processor with AVX-512, remove the lines
//! `try_kernel!(...Avx512)` from a copy of rten-gemm and add `--config
//! 'patch.crates-io.rten-gemm.path="COPY"'`.

use pel_kernels::gemm::{self, Start};
use pel_kernels::int8::{self, Codes};
use pel_kernels::matrix::{Matrix, MatrixMut};
use pel_kernels::{Isa, for_each};
use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
use rten_tensor::NdTensorView;
use std::hint::black_box;
use std::time::Instant;

/// Inputs and outputs of the linear layers of MiniLM and BERT-base.
const LAYERS: [(usize, usize); 6] = [
    (384, 384),
    (384, 1536),
    (1536, 384),
    (768, 768),
    (768, 3072),
    (3072, 768),
];
const ROWS: [usize; 5] = [16, 64, 256, 1024, 2048];
/// Multiplications of one measurement, about. It takes less time than a system gives to a process
/// at once, so that other processes disturb few rounds.
const WORK: usize = 20_000_000;
/// Multiplications of all rounds of a product, about.
const ALL_WORK: usize = 4_000_000_000;

fn main() {
    let isa = if std::env::args().any(|argument| argument == "avx2") {
        Isa::Avx2
    } else {
        Isa::best()
    };
    let (floats, bytes) = (
        GemmExecutor::<f32>::new(),
        GemmExecutor::<u8, i8, i32>::new(),
    );
    println!(
        "PEL: {isa:?}; rten: {} for floats, {} for bytes",
        floats.kernel_name(),
        bytes.kernel_name()
    );
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads");
        println!("\n{threads} thread(s)");
        println!(
            "| rows x in x out | floats: PEL, GFLOP/s | rten / PEL | bytes: PEL, GOP/s | rten / \
             PEL | with scaling |"
        );
        println!("| --- | --- | --- | --- | --- | --- |");
        let mut ratios = [const { Vec::new() }; 3];
        pool.install(|| {
            for (inputs, outputs) in LAYERS {
                for rows in ROWS {
                    let shape = [rows, inputs, outputs];
                    let [ours, theirs] = measure_floats(isa, threads, shape, &floats);
                    let [our_bytes, their_bytes, scaled] =
                        measure_bytes(isa, threads, shape, &bytes);
                    let speed =
                        |seconds: f64| 2.0 * (rows * inputs * outputs) as f64 / seconds / 1e9;
                    let found = [theirs / ours, their_bytes / our_bytes, scaled / our_bytes];
                    println!(
                        "| {rows} x {inputs} x {outputs} | {:.0} | {:.2} | {:.0} | {:.2} | {:.2} |",
                        speed(ours),
                        found[0],
                        speed(our_bytes),
                        found[1],
                        found[2]
                    );
                    ratios
                        .iter_mut()
                        .zip(found)
                        .for_each(|(all, ratio)| all.push(ratio));
                }
            }
        });
        let [floats, bytes, scaled] = ratios.map(|mut ratios| median(&mut ratios));
        println!(
            "median of the ratios: floats {floats:.2}, bytes {bytes:.2}, bytes with scaling \
             {scaled:.2}"
        );
    }
}

fn measure_floats(
    isa: Isa,
    threads: usize,
    shape: [usize; 3],
    theirs: &GemmExecutor<f32>,
) -> [f64; 2] {
    let [rows, inputs, outputs] = shape;
    let (a, b, bias) = (
        values(rows * inputs),
        values(inputs * outputs),
        values(outputs),
    );
    let mut panels = vec![0.0; gemm::packed_len(inputs, outputs)];
    gemm::pack(Matrix::new(&b, inputs, outputs), &mut panels);
    let packed = theirs.prepack_b(NdTensorView::from_data([inputs, outputs], &b[..]));
    let (mut out, mut other) = (vec![0.0; rows * outputs], vec![0.0; rows * outputs]);
    let times = interleaved(
        shape,
        [
            &mut || {
                let a = Matrix::new(&a, rows, inputs);
                by_rows(
                    threads,
                    MatrixMut::new(&mut out, rows, outputs),
                    |first, out| {
                        gemm::gemm(
                            isa,
                            a.part(first, out.rows(), 0, inputs),
                            &panels,
                            Start::Bias(&bias),
                            out,
                        );
                    },
                );
            },
            &mut || {
                let a = GemmInputA::Unpacked(NdTensorView::from_data([rows, inputs], &a[..]));
                let options = GemmOptions {
                    bias: Some(BiasVector::Row(&bias)),
                    ..Default::default()
                };
                theirs
                    .gemm(&mut other, a, GemmInputB::Packed(&packed), options)
                    .expect("the sizes agree");
            },
        ],
    );
    for (one, other) in out.iter().zip(&other) {
        assert!((one - other).abs() < 1e-3, "{one}, rten gives {other}");
    }
    times
}

fn measure_bytes(
    isa: Isa,
    threads: usize,
    shape: [usize; 3],
    theirs: &GemmExecutor<u8, i8, i32>,
) -> [f64; 3] {
    let [rows, inputs, outputs] = shape;
    let (a, b, bias) = (
        values(rows * inputs),
        values(inputs * outputs),
        values(outputs),
    );
    let (mut columns, mut scales) = (Vec::new(), Vec::new());
    b.chunks_exact(inputs)
        .for_each(|column| scales.push(int8::quantise_column(column, &mut columns)));
    let (panels, sums) = int8::pack(&columns, inputs);
    let weights = int8::Weights {
        panels: &panels,
        scales: &scales,
        sums: &sums,
        bias: &bias,
    };
    // Each thread's rows, quantised.
    let share = rows.div_ceil(threads);
    let codes: Vec<Codes> = a
        .chunks(share * inputs)
        .map(|a| {
            let mut codes = Codes::default();
            codes.fill(isa, a, inputs);
            codes
        })
        .collect();
    let transposed: Vec<i8> = (0..inputs * outputs)
        .map(|at| columns[at % outputs * inputs + at / outputs])
        .collect();
    let packed = theirs.prepack_b(NdTensorView::from_data([inputs, outputs], &transposed[..]));
    // Seven bits, as PEL's activations have.
    let bytes: Vec<u8> = a.iter().map(|value| ((value + 1.0) * 63.5) as u8).collect();
    let (mut out, mut ints) = (vec![0.0; rows * outputs], vec![0; rows * outputs]);
    let (mut scaled_ints, mut scaled) = (vec![0; rows * outputs], vec![0.0f32; rows * outputs]);
    let product = |ints: &mut [i32]| {
        let a = GemmInputA::Unpacked(NdTensorView::from_data([rows, inputs], &bytes[..]));
        theirs
            .gemm(ints, a, GemmInputB::Packed(&packed), GemmOptions::default())
            .expect("the sizes agree");
    };
    interleaved(
        shape,
        [
            &mut || {
                by_rows(
                    threads,
                    MatrixMut::new(&mut out, rows, outputs),
                    |first, out| {
                        int8::gemm(isa, &codes[first / share], weights, out);
                    },
                );
            },
            &mut || product(&mut ints),
            &mut || {
                product(&mut scaled_ints);
                by_rows(
                    threads,
                    MatrixMut::new(&mut scaled, rows, outputs),
                    |first, mut out| {
                        for row in 0..out.rows() {
                            let ints = &scaled_ints[(first + row) * outputs..][..outputs];
                            let columns = scales.iter().zip(&sums).zip(&bias);
                            for ((out, int), ((scale, sum), bias)) in
                                out.row(row).iter_mut().zip(ints).zip(columns)
                            {
                                *out = scale * (0.01 * *int as f32 + 0.1 * sum) + bias;
                            }
                        }
                    },
                );
            },
        ],
    )
}

/// Hands equal shares of the rows to the threads.
fn by_rows(threads: usize, out: MatrixMut<'_>, work: impl Fn(usize, MatrixMut<'_>) + Send + Sync) {
    let share = out.rows().div_ceil(threads);
    let (mut parts, mut left, mut first) = (Vec::new(), out, 0);
    while left.rows() > 0 {
        let take = share.min(left.rows());
        let (part, rest) = left.split_rows(take);
        parts.push((first, part));
        (left, first) = (rest, first + take);
    }
    for_each(parts, |(first, part)| work(first, part));
}

/// The median time of each, in seconds; all run in each round.
fn interleaved<const N: usize>(shape: [usize; 3], mut work: [&mut dyn FnMut(); N]) -> [f64; N] {
    let once = shape.iter().product::<usize>();
    let calls = (WORK / once).max(1);
    let rounds = (ALL_WORK / (calls * once)).clamp(9, 101);
    let mut times = [const { Vec::new() }; N];
    work.iter_mut().for_each(|work| work());
    for round in 0..rounds {
        for at in 0..N {
            let which = (at + round) % N;
            let start = Instant::now();
            (0..calls).for_each(|_| black_box(&mut *work[which])());
            times[which].push(start.elapsed().as_secs_f64() / calls as f64);
        }
    }
    times.map(|mut times| median(&mut times))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Numbers from -1 to 1.
fn values(count: usize) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}
