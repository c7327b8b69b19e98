//! Damaged checkpoints are refused.

use super::{outcome, run, world};
use crate::train::checkpoint::reseal;
use pel_artifacts::tensors::{Dtype, NamedTensor, to_bytes};
use std::path::{Path, PathBuf};

/// A run that has ended, and the folder of its last checkpoint.
fn trained(root: &Path) -> (super::Config, PathBuf, PathBuf) {
    let config = world(root);
    let out = root.join("run");
    run(&config, &out).expect("it trains");
    let last = out.join("checkpoints/step-0000005");
    (config, out, last)
}

#[test]
fn a_flipped_bit_in_a_checkpoint_is_refused_by_file() {
    let root = tempfile::tempdir().expect("a folder");
    let (config, out, last) = trained(root.path());
    let before = outcome(&out);
    for name in [
        "model/mention/model.safetensors",
        "model/entity/config.json",
        "optimiser.safetensors",
        "hard.safetensors",
        "state.json",
    ] {
        let path = last.join(name);
        let whole = std::fs::read(&path).expect("kept");
        let mut bytes = whole.clone();
        let at = if name.ends_with(".json") {
            bytes.len() / 2
        } else {
            bytes.len() - 4
        };
        // The lowest bit of a weight, too small to be seen in any figure.
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).expect("written");
        let error = run(&config, &out).expect_err(name).to_string();
        assert!(
            error.contains("step-0000005: this checkpoint cannot be read") && error.contains(name),
            "{error}"
        );
        std::fs::write(&path, whole).expect("written");
    }
    // What a killed process left of another one is removed on the way.
    let left = out.join("checkpoints/.step-0000004.part");
    std::fs::create_dir_all(left.join("model")).expect("made");
    // Without its folder the run goes on from the checkpoint before it, to the same end.
    std::fs::remove_dir_all(&last).expect("removed");
    run(&config, &out).expect("it goes on");
    assert!(outcome(&out).0 == before.0, "other weights");
    assert!(!left.exists());
}

#[test]
fn checkpoint_numbers_out_of_bounds_are_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let (config, out, last) = trained(root.path());
    let numbers = |name: &str, shape: Vec<usize>, values: &[u32]| {
        let bytes = bytemuck::cast_slice::<u32, u8>(values).to_vec();
        (name.to_owned(), shape, bytes)
    };
    let hard = last.join("hard.safetensors");
    let kept = std::fs::read(&hard).expect("read");
    for (example, sequence, said) in [
        (0, 1_000_000, "texts, which are below"),
        (1_000_000, 0, "examples, which are below"),
    ] {
        let all = [
            numbers("examples", vec![1], &[example]),
            numbers("sequences", vec![1, 1], &[sequence]),
        ];
        let tensors = all.iter().map(|(name, shape, bytes)| NamedTensor {
            name: name.clone(),
            dtype: Dtype::U32,
            shape: shape.clone(),
            bytes,
        });
        std::fs::write(
            &hard,
            to_bytes(&tensors.collect::<Vec<_>>()).expect("encoded"),
        )
        .expect("written");
        reseal(&last);
        let error = run(&config, &out).expect_err(said).to_string();
        assert!(
            error.contains("hard.safetensors")
                && error.contains(said)
                && error.contains("found 1000000"),
            "{error}"
        );
    }
    std::fs::write(&hard, kept).expect("written");
    for (name, tensor) in [
        ("model/mention/model.safetensors", "the tensor `"),
        ("optimiser.safetensors", "the tensor `"),
    ] {
        let path = last.join(name);
        let whole = std::fs::read(&path).expect("read");
        let mut bytes = whole.clone();
        let at = bytes.len() - 4;
        bytes[at..].copy_from_slice(&f32::NAN.to_le_bytes());
        std::fs::write(&path, bytes).expect("written");
        reseal(&last);
        let error = run(&config, &out).expect_err(name).to_string();
        assert!(
            error.contains(tensor) && error.contains("expected finite numbers, found NaN"),
            "{error}"
        );
        std::fs::write(&path, whole).expect("written");
    }
    reseal(&last);
    run(&config, &out).expect("whole again");
}
