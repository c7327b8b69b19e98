#!/usr/bin/env python3
"""Writes hidden states and sentence vectors of PyTorch's BertModel, as goldens. Needs requirements.txt.

    vectors.py                    goldens/ids.json + ../shared/tests/fixtures/tiny* -> goldens/{tiny,tiny-cased}.json
    vectors.py --minilm FOLDER    also goldens/minilm.json

All values are computed in float64 with eager attention, rounded once to float32, and printed with nine significant digits,
which identify the float32. Shapes are [batch, seq, hidden] and [batch, hidden].

`states` has a padded batch: `embedding_sum` (word + position + segment embeddings, before LayerNorm), then `hidden`
(after the embedding layer, LayerNorm included, and after each layer). Padded positions are set to 0,
because their values have no use. `rows` has single sentences, each run alone, with `mean` (of the last layer, over real
tokens, [CLS] and [SEP] included), `cls` (position 0 of the last layer) and `normalized` (`mean` over its L2 norm).
"""

import argparse
import json
import pathlib

import numpy
import torch
import transformers
from transformers import BertModel

HERE = pathlib.Path(__file__).resolve().parent
GOLDENS, FIXTURES = HERE.parent / "goldens", HERE.parents[1] / "shared" / "tests" / "fixtures"


def number(value):
    text = f"{value:.9g}"
    assert numpy.float32(text) == value
    return text


def array(tensor):
    """{"shape", "values"} as text, values in row-major order."""
    values = tensor.detach().to(torch.float32).numpy()
    flat = ", ".join(map(number, values.ravel()))
    return f'{{"shape": {list(values.shape)}, "values": [{flat}]}}'


def load(folder):
    model, report = BertModel.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float64, output_loading_info=True
    )
    assert not report["missing_keys"], report["missing_keys"]
    return model.eval()


def run(model, ids, segments=None):
    """Last hidden states of token id lists, padded to the longest; also the mask and all hidden states."""
    longest = max(map(len, ids))
    padded = torch.tensor([row + [0] * (longest - len(row)) for row in ids])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in ids])
    segments = torch.zeros_like(padded) if segments is None else segments
    with torch.inference_mode():
        out = model(input_ids=padded, attention_mask=mask, token_type_ids=segments, output_hidden_states=True)
    return padded, mask, segments, out.hidden_states


def pooled(mask, last):
    real = mask.unsqueeze(-1).to(last.dtype)
    mean = (last * real).sum(1) / real.sum(1)
    return mean, last[:, 0], torch.nn.functional.normalize(mean, dim=-1)


def rows(model, texts):
    """JSON lines with one text each, run alone."""
    lines = []
    for row in texts:
        _, mask, _, states = run(model, [row["ids"]])
        mean, cls, normalized = pooled(mask, states[-1])
        arrays = f'"mean": {array(mean[0])}, "cls": {array(cls[0])}, "normalized": {array(normalized[0])}'
        lines.append(f'  {{"text": {json.dumps(row["text"])}, "ids": {row["ids"]}, {arrays}}}')
    return lines


def states(model, texts):
    """The padded batch, with a second segment in its first row."""
    ids = [row["ids"] for row in texts]
    longest = max(map(len, ids))
    segments = torch.zeros(len(ids), longest, dtype=torch.long)
    segments[0, len(ids[0]) // 2 : len(ids[0])] = 1
    padded, mask, segments, hidden = run(model, ids, segments)
    of = model.embeddings
    positions = torch.arange(longest)
    total = of.word_embeddings(padded) + of.position_embeddings(positions) + of.token_type_embeddings(segments)
    assert torch.allclose(of.LayerNorm(total), hidden[0], atol=1e-12)
    real = mask.unsqueeze(-1).to(total.dtype)
    mean, cls, normalized = pooled(mask, hidden[-1])
    lines = [f'  "ids": {padded.tolist()}', f'  "mask": {mask.tolist()}', f'  "segments": {segments.tolist()}']
    lines.append(f'  "embedding_sum": {array(total * real)}')
    lines.append('  "hidden": [\n   ' + ",\n   ".join(array(state * real) for state in hidden) + "]")
    lines += [f'  "mean": {array(mean)}', f'  "cls": {array(cls)}', f'  "normalized": {array(normalized)}']
    return ",\n".join(lines)


def write(name, model, texts, batch):
    made_by = f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}"
    parts = [f' "made_by": {json.dumps(made_by + ", float64, eager attention")}', f' "model": {json.dumps(name)}']
    if batch:
        parts.append(' "states": {\n' + states(model, batch) + "\n }")
    parts.append(' "rows": [\n' + ",\n".join(rows(model, texts)) + "\n ]")
    path = GOLDENS / f"{name}.json"
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="ascii")
    print(f"{path.name}: {path.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minilm", type=pathlib.Path, help="folder with MiniLM's config.json and model.safetensors")
    options = parser.parse_args()
    torch.set_num_threads(1)
    groups = json.loads((GOLDENS / "ids.json").read_text())["groups"]

    def texts(model, of):
        return next(group["rows"] for group in groups if (group["model"], group["sentences"]) == (model, of))

    for name in ("tiny", "tiny-cased"):
        of = texts(name, "tiny")
        # Short rows of unequal lengths, an empty one among them.
        batch = [of[at] for at in (3, 0, 1, 6, 8)]
        write(name, load(FIXTURES / name), of, batch)
    if options.minilm:
        of = texts("minilm", "minilm")
        model = load(options.minilm)
        made_by = f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}"
        lines = []
        for row in of:
            _, mask, _, hidden = run(model, [row["ids"]])
            _, _, normalized = pooled(mask, hidden[-1])
            text = json.dumps(row["text"])
            lines.append(f'  {{"text": {text}, "ids": {row["ids"]},\n   "normalized": {array(normalized[0])}}}')
        head = f'{{\n "made_by": {json.dumps(made_by + ", float64, eager attention")},\n "model": "all-MiniLM-L6-v2",\n'
        path = GOLDENS / "minilm.json"
        path.write_text(head + ' "rows": [\n' + ",\n".join(lines) + "\n ]\n}\n", encoding="ascii")
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
