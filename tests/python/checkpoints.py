#!/usr/bin/env python3
"""Writes small encoders in the forms in which BERT, SapBERT, PubMedBERT and BLINK are published, and their vectors.

Needs torch (requirements.txt). The weights are waves, not trained. Names and shapes of tensors are the published ones, with the
sizes of a tiny BERT. The vectors are computed here in float64, not by PEL.
Keys of storages in the stream form are addresses, so these files differ from run to run; their numbers do not.

    bert       as google's BERT of 2018: the stream form of torch.save, `bert.*` with LayerNorm gamma and beta, heads `cls.*` whose
               decoder shares the storage of the word embeddings, one transposed tensor; vocab.txt with `[unused]` rows
    sapbert    as SapBERT and PubMedBERT: the ZIP form, `embeddings.*` with position_ids, pooler; vocab.txt without `[unused]` rows,
               tokenizer_config.json, special_tokens_map.json
    blink      biencoder_wiki_large.bin (stream form) and crossencoder_wiki_large.bin (ZIP form, float16) with their JSON settings
    tests/fuzzed/seeds/torch   one or two tensors in each form
"""

import argparse
import collections
import json
import math
import pathlib
import shutil

import torch

HIDDEN, HEADS, INNER, POSITIONS = 4, 2, 8, 128
UNUSED = ["[unused0]", "[unused1]", "[unused2]"]
SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["fever", "chest", "pain", "##s", "a", "b", ",", "title"]
BERT = ["[PAD]", *UNUSED, *SPECIAL, *WORDS]
SAPBERT = ["[PAD]", *SPECIAL, *WORDS]
LICENCE = "These files are made by tests/python/checkpoints.py from nothing but a formula. MIT OR Apache-2.0.\n"


def wave(number, *shape):
    """Numbers from -0.8 to 0.8 that differ from tensor to tensor."""
    count = math.prod(shape)
    values = [((at * 37 + number * 53 + at * at * 7) % 101 / 50.5 - 1) * 0.8 for at in range(count)]
    return torch.tensor(values, dtype=torch.float32).reshape(shape)


def encoder(words, seed):
    """The tensors of a BertModel with one layer and a pooler."""
    shapes = {
        "embeddings.word_embeddings.weight": (words, HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    layer = "encoder.layer.0."
    for name, out, inputs in [
        ("attention.self.query", HIDDEN, HIDDEN), ("attention.self.key", HIDDEN, HIDDEN),
        ("attention.self.value", HIDDEN, HIDDEN), ("attention.output.dense", HIDDEN, HIDDEN),
        ("intermediate.dense", INNER, HIDDEN), ("output.dense", HIDDEN, INNER),
    ]:
        shapes[layer + name + ".weight"], shapes[layer + name + ".bias"] = (out, inputs), (out,)
    for name in ["attention.output", "output"]:
        shapes[layer + name + ".LayerNorm.weight"] = shapes[layer + name + ".LayerNorm.bias"] = (HIDDEN,)
    shapes["pooler.dense.weight"], shapes["pooler.dense.bias"] = (HIDDEN, HIDDEN), (HIDDEN,)
    tensors = {name: wave(seed + at, *shape) for at, (name, shape) in enumerate(shapes.items())}
    for name in tensors:
        if name.endswith("LayerNorm.weight"):
            tensors[name] += 1
    return tensors


def norm(x, tensors, name):
    x = x - x.mean(-1, keepdim=True)
    x = x / (x.square().mean(-1, keepdim=True) + 1e-12).sqrt()
    return x * tensors[name + ".LayerNorm.weight"] + tensors[name + ".LayerNorm.bias"]


def states(tensors, ids, second=None):
    """The last layer of one sequence without padding, in float64."""
    tensors = {name: tensor.double() for name, tensor in tensors.items()}
    linear = lambda x, name: x @ tensors[name + ".weight"].T + tensors[name + ".bias"]
    segments = [int(second is not None and at >= second) for at in range(len(ids))]
    tables = "embeddings.{}_embeddings.weight"
    x = (tensors[tables.format("word")][ids] + tensors[tables.format("position")][: len(ids)]
         + tensors[tables.format("token_type")][segments])
    x = norm(x, tensors, "embeddings")
    layer = "encoder.layer.0."
    split = lambda name: linear(x, layer + "attention.self." + name).reshape(len(ids), HEADS, -1).transpose(0, 1)
    query, key, value = split("query"), split("key"), split("value")
    weights = torch.softmax(query @ key.transpose(1, 2) / math.sqrt(HIDDEN // HEADS), -1)
    mixed = (weights @ value).transpose(0, 1).reshape(len(ids), HIDDEN)
    x = norm(x + linear(mixed, layer + "attention.output.dense"), tensors, layer + "attention.output")
    inner = torch.nn.functional.gelu(linear(x, layer + "intermediate.dense"))
    return norm(x + linear(inner, layer + "output.dense"), tensors, layer + "output")


def rounded(vector):
    return [float(f"{value:.9g}") for value in vector.tolist()]


def cls(tensors, ids):
    return {"ids": ids, "vector": rounded(states(tensors, ids)[0])}


def configuration(words):
    return {
        "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "hidden_size": HIDDEN, "initializer_range": 0.02, "intermediate_size": INNER, "layer_norm_eps": 1e-12,
        "max_position_embeddings": POSITIONS, "model_type": "bert", "num_attention_heads": HEADS, "num_hidden_layers": 1,
        "pad_token_id": 0, "type_vocab_size": 2, "vocab_size": words,
    }


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def stream(tensors, path):
    torch.save(tensors, path, _use_new_zipfile_serialization=False)


def bert(folder):
    """The form of google's BERT."""
    write_json(folder / "config.json", configuration(len(BERT)))
    (folder / "vocab.txt").write_text("\n".join(BERT) + "\n")
    tensors = encoder(len(BERT), 0)
    named = {}
    for name, tensor in tensors.items():
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        # The same numbers, by columns.
        named["bert." + old] = tensor.T.contiguous().T if name.endswith("query.weight") else tensor
    named["cls.predictions.bias"] = wave(90, len(BERT))
    named["cls.predictions.decoder.weight"] = named["bert.embeddings.word_embeddings.weight"]
    named["cls.seq_relationship.weight"] = wave(91, 2, HIDDEN)
    stream(named, folder / "pytorch_model.bin")
    return cls(tensors, [5, 8, 9, 11, 6])


def sapbert(folder):
    """The form of SapBERT and PubMedBERT."""
    write_json(folder / "config.json", configuration(len(SAPBERT)))
    (folder / "vocab.txt").write_text("\n".join(SAPBERT) + "\n")
    names = {f"{name.lower()}_token": f"[{name}]" for name in ["UNK", "SEP", "PAD", "CLS", "MASK"]}
    write_json(folder / "special_tokens_map.json", names)
    write_json(folder / "tokenizer_config.json", {"do_lower_case": True, **names})
    tensors = encoder(len(SAPBERT), 30)
    positions = torch.arange(POSITIONS).expand((1, -1))
    # As Module.state_dict() makes it.
    state = collections.OrderedDict({"embeddings.position_ids": positions, **tensors})
    state._metadata = collections.OrderedDict({"": {"version": 1}, "embeddings": {"version": 1}})
    torch.save(state, folder / "pytorch_model.bin")
    return cls(tensors, [2, 5, 6, 8, 3])


def blink(folder):
    """BLINK's bi-encoder and cross-encoder."""
    settings = {"bert_model": "bert-large-uncased", "lowercase": True, "max_cand_length": 20, "max_context_length": 16,
                "max_seq_length": 36, "out_dim": 1, "pull_from_layer": -1}
    towers = {"context_encoder": encoder(len(BERT), 40), "cand_encoder": encoder(len(BERT), 60)}
    bi = {f"{tower}.bert_model.{name}": tensor for tower, tensors in towers.items() for name, tensor in tensors.items()}
    stream(bi, folder / "biencoder_wiki_large.bin")
    write_json(folder / "biencoder_wiki_large.json", {**settings, "add_linear": False})

    cross = {name: tensor.half() for name, tensor in encoder(len(BERT), 80).items()}
    linear = {"weight": wave(98, 1, HIDDEN).half(), "bias": wave(99, 1).half()}
    named = {f"encoder.bert_model.{name}": tensor for name, tensor in cross.items()}
    named.update({f"encoder.additional_linear.{name}": tensor for name, tensor in linear.items()})
    torch.save(named, folder / "crossencoder_wiki_large.bin")
    write_json(folder / "crossencoder_wiki_large.json", {**settings, "add_linear": True})

    ids, second = [5, 1, 8, 2, 9, 6, 15, 3, 10, 6], 6
    first = states(cross, ids, second)[0]
    pooled = torch.tanh(cross["pooler.dense.weight"].double() @ first + cross["pooler.dense.bias"].double())
    score = linear["weight"].double() @ pooled + linear["bias"].double()
    mention, entity = (cls(towers[tower], [5, 1, 8, 2, 6]) for tower in ["context_encoder", "cand_encoder"])
    return {"mention": mention, "entity": entity, "pair": {"ids": ids, "second": second, "vector": rounded(score)}}


def seeds(folder):
    """Seeds for the fuzzer."""
    folder.mkdir(parents=True, exist_ok=True)
    words = wave(1, 3, 2)
    torch.save({"a": words, "bert.b": words[1:].T, "cls.c": words}, folder / "archive.bin")
    stream({"a": words.half(), "b": torch.arange(2), "c": words.bfloat16()[1]}, folder / "stream.bin")


def main():
    tests = pathlib.Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=tests / "fixtures" / "checkpoints")
    parser.add_argument("--seeds", type=pathlib.Path, default=tests / "fuzzed" / "seeds" / "torch")
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    golden = {}
    for make in [bert, sapbert, blink]:
        folder = options.out / make.__name__
        folder.mkdir(parents=True)
        golden[make.__name__] = make(folder)
    write_json(options.out / "vectors.json", golden)
    (options.out / "LICENSE.txt").write_text(LICENCE)
    seeds(options.seeds)


if __name__ == "__main__":
    main()
