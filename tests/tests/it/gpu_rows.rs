//! The encoder on a GPU, where a layer has kernels of our own, beside the processor: values and
//! gradients, with each activation.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};
use pel_model::burn::bert::{Bert, BertInput, Pass};
use pel_model::config::BertConfig;
use pel_model::layer::Dropout;
use pel_tests::{devices, model_bytes};

const BATCH: usize = 4;
const SEQ: usize = 9;
/// The real tokens of each sequence. The third has a gap, the fourth none.
const REAL: [[u8; SEQ]; BATCH] = [
    [1; SEQ],
    [1, 1, 1, 1, 0, 0, 0, 0, 0],
    [1, 1, 0, 1, 1, 0, 0, 0, 0],
    [0; SEQ],
];

fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().expect("floats")
}

/// Numbers between -1 and 1 that look random.
fn numbers(count: usize) -> Vec<f32> {
    let number = |at: usize| ((at * 7919 + 13) % 257) as f32 / 128.0 - 1.0;
    (0..count).map(number).collect()
}

struct Parameters<'a> {
    path: Vec<String>,
    gradients: &'a Gradients,
    found: Vec<(String, Vec<f32>)>,
}

impl ModuleVisitor for Parameters<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = param.val().grad(self.gradients) {
            self.found.push((self.path.join("."), floats(gradient)));
        }
    }

    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
}

/// The outputs at real tokens, and the gradients of all parameters and of the input embeddings.
fn run(activation: &str, device: &Device, pass: &Pass) -> Vec<(String, Vec<f32>)> {
    let config = String::from_utf8(model_bytes("tiny", "config.json")).expect("it is JSON");
    let config = config.replace("\"gelu\"", &format!("\"{activation}\""));
    let config = BertConfig::from_bytes(config.as_bytes()).expect("it is whole");
    let bert = Bert::from_bytes(&config, &model_bytes("tiny", "model.safetensors"), device)
        .expect("it is whole");
    let shape = [BATCH, SEQ];
    let ids: Vec<i32> = (0..(BATCH * SEQ) as i32)
        .map(|at| at * 5 % 90 + 3)
        .collect();
    let mask: Vec<f32> = REAL.concat().iter().map(|real| f32::from(*real)).collect();
    let mask = Tensor::<2>::from_data(TensorData::new(mask, shape), device);
    let input = BertInput {
        ids: Tensor::<2, Int>::from_data(TensorData::new(ids, shape), device),
        segments: Tensor::<2, Int>::zeros(shape, device),
        own: mask.clone(),
        mask: mask.clone(),
    };
    let sum = bert.embedding_sum(&input).detach().require_grad();
    let embedded = bert.embedding_sum(&input);
    let out = bert.forward_from_sum(embedded + (sum.clone() - sum.clone().detach()), &mask, pass);
    let out = out * mask.reshape([BATCH, SEQ, 1]);
    let factors = TensorData::new(numbers(BATCH * SEQ * bert.hidden()), out.dims());
    let factors = Tensor::<3>::from_data(factors, device);
    let gradients = (out.clone() * factors).sum().backward();
    let mut parameters = Parameters {
        path: Vec::new(),
        gradients: &gradients,
        found: vec![
            ("output".into(), floats(out)),
            (
                "input embeddings".into(),
                floats(sum.grad(&gradients).expect("requested")),
            ),
        ],
    };
    bert.visit(&mut parameters);
    parameters.found
}

#[test]
fn kernels_of_a_gpu_equal_the_processor_forward_and_backward() {
    let devices = devices();
    let Some((name, gpu)) = devices.get(1) else {
        return;
    };
    for activation in ["gelu", "gelu_new", "relu"] {
        let expected = run(
            activation,
            &devices[0].1.clone().autodiff(),
            &Pass::default(),
        );
        let found = run(activation, &gpu.clone().autodiff(), &Pass::default());
        // A bias and γ, β of each LayerNorm have gradients too: nothing is left out.
        assert!(expected.len() > 30, "{} parameters", expected.len());
        assert_eq!(expected.len(), found.len());
        for ((what, found), (of, expected)) in found.iter().zip(&expected) {
            assert_eq!((what, found.len()), (of, expected.len()));
            let largest = expected.iter().fold(1.0_f32, |most, x| most.max(x.abs()));
            for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
                assert!(
                    (found - expected).abs() <= 3e-5 * largest,
                    "{name}, {activation}, {what} {at}: {found}, on the processor {expected}"
                );
            }
        }
    }
}

#[test]
fn dropout_on_a_gpu_follows_its_seed_and_keeps_gradients_finite() {
    let devices = devices();
    let Some((name, gpu)) = devices.get(1) else {
        return;
    };
    let pass = |seed| Pass {
        dropout: Some(Dropout { rate: 0.1, seed }),
        ..Pass::default()
    };
    let gpu = gpu.clone().autodiff();
    let (one, same, other) = (
        run("gelu", &gpu, &pass(1)),
        run("gelu", &gpu, &pass(1)),
        run("gelu", &gpu, &pass(2)),
    );
    assert_eq!(one[0], same[0], "{name}");
    assert_ne!(one[0], other[0], "{name}");
    for (what, values) in &one {
        assert!(values.iter().all(|value| value.is_finite()), "{what}");
    }
}
