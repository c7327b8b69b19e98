#!/usr/bin/env python3
"""Writes the two tiny BERT checkpoints under shared/tests/fixtures, in Hugging Face layout.

Needs only Python 3.9 or later. It uses no library for random numbers or file formats, so that the bytes are equal everywhere.
With `--check` it compares with the committed files instead of writing.

    tiny        uncased, 3 layers, tokenizer.json with truncation and padding set, as sentence encoders ship it;
                with `embeddings.position_ids`, as in older checkpoints
    tiny-cased  cased, 2 layers, no truncation or padding in tokenizer.json, no `embeddings.position_ids`

The weights are random. They are scaled so that attention is neither uniform nor one-hot, and so that different sentences have
different vectors.
"""

import argparse
import json
import pathlib
import struct
import sys

HIDDEN, HEADS, INTERMEDIATE, POSITIONS, SEGMENTS = 32, 4, 64, 128, 2

WORDS = """
a an and are as at be been by can did due for from had has have he her his in into is it may no none not of on or per
she so than that the then there this to two up very was were which who with without
abdominal abnormal acid acute admitted age allergy anemia arm artery aspirin asthma atrial biopsy bleeding blood bone brain
breast breath cancer cardiac cell cells chest child chronic clinical cm colon common cough daily day days diabetes
diagnosis disease disorder dose drug ear edema effect exam eye failure family female fever fibrillation findings fracture
gene glucose group health heart hepatic high history hospital human hypertension infection injury insulin kidney left leg
levels liver low lower lung male man medical mellitus metformin mg mild mouse muscle nausea negative neck nerve new
normal noted old pain patient patients plasma pneumonia positive pressure protein pulmonary rash reports renal right risk
severe shortness signs skin sleep start stroke study surgery symptoms syndrome test therapy tissue treatment tumor type
unit upper urine vein ventricular viral vomiting water week weight white with woman year years
""".split()

PIECES = """
able ac al algia an ar ary ase ate ation cardi cele cyte dema ectomy ed emia en ent er es gram graphy ia ial ic ide in ine
ing ion ism ist itis ity ium ive ly ment myc nal ness ol oma on opathy or osis ous pathy penia phage plasty pnea ra re
rhea ro scopy se sis ta te ter tes th thermia ti tic tion tomy tor trophy ular um uria us vir yl
""".split()

LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"
PUNCTUATION = list("!\"#%&'()*+,-./:;<=>?@[]^_`{|}~$\\") + ["\u2013", "\u2019", "\u2265", "\u00b0", "\u00b1", "\u00d7"]
# Characters beyond ASCII in the vocabulary (Greek, two CJK characters) and an emoji; all others become [UNK].
BEYOND = ["\u03b1", "\u03b2", "\u03bc", "\u0436", "\u5fc3", "\u810f", "\U0001f637"]
CASED = ["\u00e9", "\u00fc", "\u00d8"]


def vocabulary(cased):
    """Special tokens, unused rows, characters, pieces and words, without duplicates, in this order."""
    words = sorted(set(WORDS))
    tokens = ["[PAD]"] + [f"[unused{at}]" for at in range(10)] + ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = LETTERS + LETTERS.upper() if cased else LETTERS
    characters = list(letters + DIGITS) + BEYOND[:4] + (CASED if cased else [])
    tokens += PUNCTUATION + characters + BEYOND[4:] + ["##" + character for character in characters]
    tokens += ["##" + piece for piece in sorted(set(PIECES))]
    tokens += words
    if cased:
        tokens += [word.capitalize() for word in words if len(word) > 3][::3] + ["##CD", "DNA", "II"]
    return list(dict.fromkeys(tokens))


class SplitMix:
    """SplitMix64 (Steele, Lea and Flood). It uses integers only, so the stream is equal on every machine."""

    def __init__(self, seed):
        self.state = seed

    def integer(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def bell(self):
        """An approximately standard normal number: the sum of twelve uniform 24-bit numbers, exact in a double."""
        return sum(self.integer() >> 40 for _ in range(12)) / 2**24 - 6


def weights(tokens, layers, position_ids, seed):
    """(name, dtype, shape, bytes) of every tensor of a saved `BertModel`, sorted by name."""
    random = SplitMix(seed)

    def normal(name, shape, scale, mean=0.0):
        count = 1
        for side in shape:
            count *= side
        values = [mean + scale * random.bell() for _ in range(count)]
        return name, "F32", shape, struct.pack(f"<{count}f", *values)

    def linear(name, to, of, scale):
        return [normal(name + ".bias", [to], 0.1), normal(name + ".weight", [to, of], scale)]

    def layer_norm(name):
        return [normal(name + ".bias", [HIDDEN], 0.1), normal(name + ".weight", [HIDDEN], 0.1, mean=1.0)]

    tensors = layer_norm("embeddings.LayerNorm")
    tensors.append(normal("embeddings.word_embeddings.weight", [len(tokens), HIDDEN], 0.5))
    tensors.append(normal("embeddings.position_embeddings.weight", [POSITIONS, HIDDEN], 0.15))
    tensors.append(normal("embeddings.token_type_embeddings.weight", [SEGMENTS, HIDDEN], 0.2))
    if position_ids:
        ids = struct.pack(f"<{POSITIONS}q", *range(POSITIONS))
        tensors.append(("embeddings.position_ids", "I64", [1, POSITIONS], ids))
    for at in range(layers):
        layer = f"encoder.layer.{at}."
        # Queries and keys of about unit norm per component give attention scores of about one.
        tensors += linear(layer + "attention.self.query", HIDDEN, HIDDEN, 0.22)
        tensors += linear(layer + "attention.self.key", HIDDEN, HIDDEN, 0.22)
        tensors += linear(layer + "attention.self.value", HIDDEN, HIDDEN, 0.18)
        tensors += linear(layer + "attention.output.dense", HIDDEN, HIDDEN, 0.18)
        tensors += layer_norm(layer + "attention.output.LayerNorm")
        tensors += linear(layer + "intermediate.dense", INTERMEDIATE, HIDDEN, 0.2)
        tensors += linear(layer + "output.dense", HIDDEN, INTERMEDIATE, 0.15)
        tensors += layer_norm(layer + "output.LayerNorm")
    tensors += linear("pooler.dense", HIDDEN, HIDDEN, 0.18)
    return sorted(tensors)


def safetensors(tensors):
    """The safetensors format: header length, header, data. 8-byte tensors come first, so that all are aligned."""
    tensors = sorted(tensors, key=lambda tensor: (tensor[1] != "I64", tensor[0]))
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, dtype, shape, raw in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def tokenizer(tokens, cased):
    """`tokenizer.json` of a BERT WordPiece tokenizer."""
    ids = {token: at for at, token in enumerate(tokens)}

    def special(token):
        return {"SpecialToken": {"id": token, "type_id": 0}}

    sequence = [{"Sequence": {"id": name, "type_id": at}} for at, name in enumerate("AB")]
    sep_b = {"SpecialToken": {"id": "[SEP]", "type_id": 1}}
    added = [
        {"id": ids[token], "special": True, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False}
        for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    ]
    padding = {"strategy": {"Fixed": 16}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": ids["[PAD]"],
               "pad_type_id": 0, "pad_token": "[PAD]"}
    return {
        "version": "1.0",
        "truncation": None if cased else {"max_length": 16, "strategy": "LongestFirst", "stride": 0},
        "padding": None if cased else padding,
        "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": not cased},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [special("[CLS]"), sequence[0], special("[SEP]")],
            "pair": [special("[CLS]"), sequence[0], special("[SEP]"), sequence[1], sep_b],
            "special_tokens": {token: {"id": token, "ids": [ids[token]], "tokens": [token]}
                               for token in ("[CLS]", "[SEP]")},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": ids},
    }


def checkpoint(cased):
    """File name -> bytes."""
    tokens, layers = vocabulary(cased), 2 if cased else 3
    config = {
        "architectures": ["BertModel"], "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1, "hidden_size": HIDDEN, "initializer_range": 0.02,
        "intermediate_size": INTERMEDIATE, "layer_norm_eps": 1e-12, "max_position_embeddings": POSITIONS,
        "model_type": "bert", "num_attention_heads": HEADS, "num_hidden_layers": layers, "pad_token_id": 0,
        "position_embedding_type": "absolute", "type_vocab_size": SEGMENTS, "vocab_size": len(tokens),
    }
    settings = {
        "cls_token": "[CLS]", "do_lower_case": not cased, "mask_token": "[MASK]", "model_max_length": POSITIONS,
        "pad_token": "[PAD]", "sep_token": "[SEP]", "strip_accents": None, "tokenize_chinese_chars": True,
        "tokenizer_class": "BertTokenizer", "unk_token": "[UNK]",
    }

    def pretty(value):
        return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()

    return {
        "config.json": pretty(config),
        "tokenizer_config.json": pretty(settings),
        "tokenizer.json": pretty(tokenizer(tokens, cased)),
        "vocab.txt": ("\n".join(tokens) + "\n").encode(),
        "model.safetensors": safetensors(weights(tokens, layers, not cased, seed=2 if cased else 1)),
        "LICENSE.txt": b"This checkpoint is made by tests/python/tiny.py from nothing but a seed. MIT OR Apache-2.0.\n",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the committed files, write nothing")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "shared" / "tests" / "fixtures")
    options = parser.parse_args()
    differing = []
    for name, cased in (("tiny", False), ("tiny-cased", True)):
        folder = options.out / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in checkpoint(cased).items():
            if options.check:
                if not (folder / file).is_file() or (folder / file).read_bytes() != content:
                    differing.append(str(folder / file))
            else:
                (folder / file).write_bytes(content)
    if differing:
        sys.exit("these files differ from the output of this script: " + ", ".join(differing))


if __name__ == "__main__":
    main()
