"""PyTorch and ONNX Runtime as sentence encoders: token ids in, vectors of unit length out."""

import hashlib
import json
import sys
import warnings

SHAPES = [(1, 32), (1, 128), (16, 64), (32, 128)]
INPUTS = ["input_ids", "attention_mask"]
# Peer -> the corresponding precision of pel, and the target ratio.
PEERS = {"torch": ("f32", 1.2), "ort-fp32": ("f32", 1.2), "ort-int8": ("int8", 1.3)}


def sentence_encoder(folder, attention):
    """BertModel, masked mean and L2 norm as one module, like pel's encode step."""
    import torch
    import transformers
    from transformers import BertModel

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = BertModel.from_pretrained(folder, attn_implementation=attention, dtype=torch.float32,
                                                  add_pooling_layer=False)

        def forward(self, input_ids, attention_mask):
            return torch.nn.functional.normalize(self.pooled(input_ids, attention_mask), dim=-1)

        def pooled(self, input_ids, attention_mask):
            last = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            real = attention_mask.unsqueeze(-1).to(last.dtype)
            return (last * real).sum(1) / real.sum(1)

    return Encoder().eval()


def use_threads(threads):
    import torch

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)


def to_onnx(module, inputs, output, path):
    """Exports a module whose inputs are integer matrices `[batch, seq]`, with one output row or value per batch entry."""
    import torch

    example = tuple(torch.ones(2, 8, dtype=torch.long) for _ in inputs)
    axes = {name: {0: "batch", 1: "seq"} for name in inputs} | {output: {0: "batch"}}
    part = path.with_suffix(".part")
    with warnings.catch_warnings():
        # The tracing exporter needs no further package, but eager attention. The callers verify the file.
        warnings.simplefilter("ignore")
        torch.onnx.export(module, example, str(part), input_names=inputs, output_names=[output], dynamic_axes=axes, opset_version=17,
                          dynamo=False)
    part.rename(path)


def session(options, path, inputs):
    """The ONNX file as a function of its inputs, in order."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.inter_op_num_threads = 1
    held = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    return lambda *values: held.run(None, dict(zip(inputs, values)))[0]


def exported(folder, cache):
    """Paths of the fp32 and the dynamically quantised int8 ONNX file; written once per model file and versions."""
    import onnxruntime
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    stamp = hashlib.sha256((folder / "model.safetensors").read_bytes())
    stamp.update(f"{torch.__version__} {onnxruntime.__version__} 1".encode())
    cache.mkdir(parents=True, exist_ok=True)
    fp32, int8 = (cache / f"{stamp.hexdigest()[:16]}.{kind}.onnx" for kind in ("fp32", "int8"))
    if not fp32.exists():
        to_onnx(sentence_encoder(folder, "eager"), INPUTS, "vector", fp32)
    if not int8.exists():
        part = int8.with_suffix(".part")
        quantize_dynamic(str(fp32), str(part), weight_type=QuantType.QInt8)
        part.rename(int8)
    return fp32, int8


def encoders(options):
    """Name -> function from (ids, mask) to vectors, and name -> least cosine with PyTorch's vectors."""
    import numpy
    import torch

    # PyTorch's default attention, its fastest.
    encoder = sentence_encoder(options.model, "sdpa")
    fp32, int8 = exported(options.model, options.cache)

    def eager(ids, mask):
        with torch.inference_mode():
            return encoder(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()

    engines = {"torch": eager, "ort-fp32": session(options, fp32, INPUTS), "ort-int8": session(options, int8, INPUTS)}
    highest = config(options.model)["vocab_size"]
    ids = numpy.random.default_rng(7).integers(1000 if highest > 2000 else 20, highest, (4, 24))
    mask = numpy.ones_like(ids)
    mask[1:, 16:] = 0
    base = eager(ids, mask)
    closeness = {name: float((run(ids, mask) * base).sum(1).min()) for name, run in engines.items()}
    if closeness["ort-fp32"] < 0.9999:
        sys.exit(f"the exported encoder differs from PyTorch: cosine {closeness['ort-fp32']:.6f}")
    return engines, closeness


def config(folder):
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def token_ids(folder, batch, seq):
    """Full rows of token ids, `[batch, seq]`, with their mask; equal in every run."""
    import numpy

    highest = config(folder)["vocab_size"]
    ids = numpy.random.default_rng([batch, seq]).integers(min(1000, highest // 2), highest, (batch, seq))
    return ids, numpy.ones_like(ids)


def encode_cases(options):
    longest = config(options.model)["max_position_embeddings"]
    return [(shape, *token_ids(options.model, *shape)) for shape in SHAPES if shape[1] <= longest]
