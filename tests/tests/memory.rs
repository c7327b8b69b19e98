//! Memory saved by gradient checkpointing. A test program of its own, because buffers are counted
//! per process.

use burn::tensor::Device;
use pel_model::burn::bert::{Bert, BertInput, Pass};
use pel_model::config::BertConfig;
use pel_model::cpu::train::{allocated, release};
use pel_model::layer::Dropout;
use pel_model::tokens::TokenBatch;
use pel_tests::model_bytes;

#[test]
fn recomputation_needs_fewer_buffers_for_equal_gradients() {
    let device = Device::flex().autodiff();
    let config = BertConfig::from_bytes(&model_bytes("tiny", "config.json")).expect("whole");
    let bert = Bert::from_bytes(&config, &model_bytes("tiny", "model.safetensors"), &device)
        .expect("whole");
    let ids = (0..8 * 64)
        .map(|at| (at * 7 % config.vocab_size) as i32)
        .collect();
    let rows = TokenBatch::full(64, ids);
    let run = |recompute: bool| {
        release();
        let before = allocated();
        let input = BertInput::new(&rows, &device);
        let z = bert.embedding_sum(&input).detach().require_grad();
        let pass = Pass {
            dropout: Some(Dropout { rate: 0.1, seed: 3 }),
            recompute,
            ..Pass::default()
        };
        let gradients = bert
            .forward_from_sum(z.clone(), &input.mask, &pass)
            .powi_scalar(2)
            .sum()
            .backward();
        let gradient = z
            .grad(&gradients)
            .expect("requested")
            .into_data()
            .try_to_vec::<f32>()
            .expect("floats");
        (allocated() - before, gradient)
    };
    let ((recomputed, gradient), (kept, expected)) = (run(true), run(false));
    assert_eq!(gradient, expected);
    assert!(
        recomputed < kept,
        "{recomputed} buffers with recomputing, {kept} without"
    );
}
