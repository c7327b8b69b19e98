"""A cross-encoder of `pel train --stage rank` in ONNX Runtime: from token ids of pairs to scores."""

import hashlib
import json
import math
import sys

from peers.encode import config, session, to_onnx, token_ids

# Candidates per mention, and tokens per pair (fewer if the model has a shorter window).
SHAPE = (16, 128)
# The target ratio, and the tolerance of scores between engines.
TARGET, CLOSE = 1.2, 1e-3
PEER = "ort-fp32"
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
FILES = ["config.json", "model.safetensors", "pel.json", "projection.safetensors"]


def described(folder):
    sizes = config(folder)
    names = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "vocab_size")
    return {name: sizes[name] for name in names} | {"pooling": pooling(folder)}


def pooling(folder):
    return json.loads((folder / "pel.json").read_text(encoding="utf-8"))["reduction"]["pooling"]


def pair_scorer(folder):
    """BERT without dropout, pooling and the linear head as one module, like `Ranker::scores`."""
    import torch
    from safetensors.torch import load_file
    from torch.nn import functional

    sizes, pooled = config(folder), pooling(folder)
    # Constants instead of tensor shapes, because the exporter needs constant widths.
    width, heads, epsilon = sizes["hidden_size"], sizes["num_attention_heads"], sizes.get("layer_norm_eps", 1e-12)
    activations = {"gelu": functional.gelu, "relu": functional.relu}
    activate = activations.get(sizes.get("hidden_act", "gelu"), lambda x: functional.gelu(x, approximate="tanh"))

    class Scorer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            # Buffer names must not contain dots.
            for file in ("model", "projection"):
                for name, values in load_file(folder / f"{file}.safetensors").items():
                    self.register_buffer(f"{file}/{name}".replace(".", "/"), values)

        def part(self, name):
            return self.get_buffer(name.replace(".", "/"))

        def linear(self, name, x):
            return functional.linear(x, self.part(f"{name}weight"), self.part(f"{name}bias"))

        def norm(self, name, x):
            return functional.layer_norm(x, (width,), self.part(f"{name}weight"), self.part(f"{name}bias"), epsilon)

        def forward(self, ids, mask, segments):
            def table(name):
                return self.part(f"model.embeddings.{name}_embeddings.weight")

            x = functional.embedding(ids, table("word")) + functional.embedding(segments, table("token_type"))
            x = self.norm("model.embeddings.LayerNorm.", x + table("position")[:ids.shape[1]])
            hidden = (1 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
            for layer in range(sizes["num_hidden_layers"]):
                x = self.layer(f"model.encoder.layer.{layer}.", x, hidden)
            return self.linear("projection.", self.pool(x, mask, segments))[:, 0]

        def layer(self, name, x, hidden):
            def split(part):
                rows = self.linear(f"{name}attention.self.{part}.", x)
                return rows.view(rows.shape[0], -1, heads, width // heads).transpose(1, 2)

            query, key, value = split("query"), split("key"), split("value")
            shares = torch.softmax(query @ key.transpose(2, 3) / math.sqrt(width // heads) + hidden, -1)
            attended = (shares @ value).transpose(1, 2).reshape(x.shape)
            x = self.norm(f"{name}attention.output.LayerNorm.", self.linear(f"{name}attention.output.dense.", attended) + x)
            wide = activate(self.linear(f"{name}intermediate.dense.", x))
            return self.norm(f"{name}output.LayerNorm.", self.linear(f"{name}output.dense.", wide) + x)

        def pool(self, x, mask, segments):
            if pooled == "cls":
                return x[:, 0]
            # Here the mention's tokens are the whole first segment.
            averaged = (mask if pooled == "mean" else mask * (1 - segments)).unsqueeze(-1).to(x.dtype)
            return (x * averaged).sum(1) / averaged.sum(1).clamp(min=1)

    return Scorer().eval()


def exported(folder, cache):
    """Path of the ONNX file; written once per ranker and versions."""
    import onnxruntime
    import torch

    stamp = hashlib.sha256(f"ranker {torch.__version__} {onnxruntime.__version__} 1".encode())
    for name in FILES:
        stamp.update((folder / name).read_bytes())
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / f"{stamp.hexdigest()[:16]}.ranker.onnx"
    if not path.exists():
        to_onnx(pair_scorer(folder), INPUTS, "score", path)
    return path


def ranker(options):
    """A function from (ids, mask, segments) to scores in ONNX Runtime, after a comparison with PyTorch, with padding."""
    import torch

    missing = [name for name in FILES if not (options.ranker / name).is_file()]
    if missing or not json.loads((options.ranker / "pel.json").read_text(encoding="utf-8")).get("ranker"):
        sys.exit(f"{options.ranker}: expected a cross-encoder of `pel train --stage rank`")
    run = session(options, exported(options.ranker, options.cache), INPUTS)
    ids, mask, segments = (values[:4, :24].copy() for values in pairs(options.ranker))
    mask[1:, 16:] = 0
    segments[:, 12:] = 1
    with torch.inference_mode():
        base = pair_scorer(options.ranker)(*(torch.from_numpy(values) for values in (ids, mask, segments)))
    far = apart(run(ids, mask, segments), base)
    if not far <= CLOSE:
        sys.exit(f"the exported cross-encoder differs from PyTorch: by {far:.6f} in a score")
    return run


def apart(scores, others):
    """The greatest difference between two scores of a pair."""
    if len(scores) != len(others) or any(score is None or not math.isfinite(score) for score in scores):
        sys.exit(f"expected {len(others)} scores, found {scores}")
    return max(abs(float(one) - float(other)) for one, other in zip(scores, others))


def pairs(folder):
    """Full rows of token ids, `[batch, seq]`, with their mask and segments: the second half is the candidate, as in `pel bench`."""
    batch, seq = SHAPE
    seq = min(seq, config(folder)["max_position_embeddings"])
    ids, mask = token_ids(folder, batch, seq)
    segments = 0 * ids
    segments[:, seq // 2:] = 1
    return ids, mask, segments
