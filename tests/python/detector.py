#!/usr/bin/env python3
"""Writes tests/goldens/detector.json: spans, losses and gradients of a detector of mentions on the tiny model, by PyTorch.

    detector.py

Needs requirements.txt. All values are computed in float64, the spans one by one, each window alone without padding.

Weights: the encoder has the embeddings of the tiny model and two layers of its own, which are those of the tiny model in another
order (`layers`), so that layers from the wrong file give other values. The numbers of the head come from `seed`: x becomes
(1664525 x + 1013904223) mod 2^32, and each x gives `scale` * ((x >> 8) / 2^23 - 1), which is a float32 without rounding. The
tensors of `head` follow each other, each in row-major order, the weights of linear layers as [outputs, inputs].

Words: the vector of a word whose first piece is p and last piece is q (`ends`, [CLS] is 0), with the last hidden states h, is

    x = relu(input((h_p + h_q) / 2) + marks[mark] + shapes[shape])

Spans: the logit of label c for the words i to j, at most four, with linear layers `start`, `end`, `first`, `last`, `inside`, is

    z_c = sum_r pair[c, r] * start(x_i)_r * end(x_j)_r + first(x_i)_c + last(x_j)_c
          + (inside(x_i) + ... + inside(x_j))_c / (j - i + 1) + lengths[j - i, c] + matches[match, c]

`logits` is [words, lengths, labels]. Spans that pass the end of the window are 0 and are not to be compared.

Probabilities: p_c = 1 / (1 + exp(-z_c)). `spans` has for each scheme [first, last, label, probability] of the spans that begin at
a word which the window owns: the label of the scheme with the highest p_c, and the sum of its labels' p_c, at most 1.

Losses: that of a window is the sum of -t log p_c - (1 - t) log(1 - p_c) over its spans and its `covered` labels, divided by the
number of its words; t is 1 for the `mentions` [first, last, label of all schemes]. The gradient is that of the sum of all windows
with respect to layers and head, not embeddings: `gradient_norm` of all, `gradient_norms` of each tensor of the head.

Words and pieces come from the crate `tokenizers`. Windows, shapes, marks and matches are made here, from their description, for a
dictionary of `concepts` [name, type].
"""

import json
import math
import pathlib

import torch
from tokenizers import Tokenizer
from transformers import BertModel

HERE = pathlib.Path(__file__).resolve().parent
FIXTURE = HERE.parents[1] / "shared" / "tests" / "fixtures" / "tiny"
INFO = {
    "name": "golden", "licence": "CC0-1.0",
    "schemes": [
        {"name": "clinical", "labels": ["problem", "drug"], "threshold": 0.5},
        {"name": "abstracts", "labels": ["Finding"], "threshold": 0.5},
    ],
    "window": 16, "overlap": 6, "words": 4, "width": 8, "rank": 5,
}
LABELS, LENGTHS = 3, INFO["words"]
SHAPES, MARKS, MATCHES = 12, 16, 8
LAYERS, SEED = [2, 0], 102
TEXT = "Heart failure, no FEVER.\nHx: heart attack on day 2; mRNA of kidney tissue, ASPIRIN 5 mg"
# Name, type, number of the type's group.
CONCEPTS = [
    ("heart failure", "Disease", 1), ("heart", "Body structure", 5), ("fever", "Finding", 1), ("heart attack", "Disease", 1),
    ("kidney tissue", "Organism", 7), ("aspirin", "Drug", 2),
]
MENTIONS = [(0, 1, 0), (4, 4, 2), (8, 9, 0), (14, 17, 2), (19, 21, 1)]
# Which labels the texts of each window have.
COVERED = [[1, 0, 1], [1, 1, 1], [0, 1, 1]]


def tables(hidden):
    """Name, shape and scale of each tensor of the head."""
    width, rank = INFO["width"], INFO["rank"]
    linear = lambda name, inputs, outputs, scale: [
        (f"head.{name}.weight", [outputs, inputs], scale), (f"head.{name}.bias", [outputs], scale),
    ]
    table = lambda name, *shape: (f"head.{name}.weight", list(shape), 0.5)
    return [
        *linear("input", hidden, width, 0.25), table("marks", MARKS, width), table("shapes", SHAPES, width),
        *linear("start", width, rank, 0.5), *linear("end", width, rank, 0.5), table("pair", LABELS, rank),
        *linear("first", width, LABELS, 1.0), *linear("last", width, LABELS, 1.0), *linear("inside", width, LABELS, 1.0),
        table("lengths", LENGTHS, LABELS), table("matches", MATCHES, LABELS),
    ]


def head_of(hidden):
    state, head = SEED, {}
    for name, shape, scale in tables(hidden):
        values = []
        for _ in range(math.prod(shape)):
            state = (state * 1664525 + 1013904223) % 2**32
            values.append(scale * ((state >> 8) / 2**23 - 1))
        values = torch.tensor(values).reshape(shape)
        assert torch.equal(values, values.float().double())
        head[name] = values.requires_grad_()
    return head


def words_of(tokenizer):
    """Ids of all pieces; of each word its text, its place and its first and last piece."""
    encoding = tokenizer.encode(TEXT, add_special_tokens=False)
    words = []
    for piece, (word, (start, end)) in enumerate(zip(encoding.word_ids, encoding.offsets)):
        if word == len(words):
            words.append([start, end, piece, piece])
        words[word][1], words[word][3] = end, piece
    return encoding.ids, [(TEXT[start:end], start, first, last) for start, end, first, last in words]


def shape_of(word, start):
    """In small letters, with a capital, in capitals, mixed, a number, a mark; 6 more at the start of a line."""
    letters = [c for c in word if c.isalpha()]
    if not letters:
        shape = 4 if any(c.isnumeric() for c in word) else 5
    elif word.islower():
        shape = 0
    elif word[0].isupper() and not any(c.isupper() for c in word[1:]):
        shape = 1
    else:
        shape = 2 if word.isupper() else 3
    return shape + 6 * (start == 0 or TEXT[:start].rstrip(" ").endswith("\n"))


def names_of(words):
    """The matches [first, last, group] of all names, and the marks of the longest names from left to right."""
    groups = {tuple(name.split()): group for name, _, group in CONCEPTS}
    small = [text.lower() for text, *_ in words]
    matches, marks, end = [], [0] * len(words), 0
    for first in range(len(words)):
        found = [(last, groups.get(tuple(small[first : last + 1]))) for last in range(first, min(first + 3, len(words)))]
        found = [(last, group) for last, group in found if group]
        matches += [(first, last, group) for last, group in found]
        if found and first >= end:
            last, group = found[-1]
            marks[first : last + 1] = [group] + [group + 7] * (last - first)
            end = last + 1
    return matches, marks


def windows_of(words):
    """The words of each window, as many as fit and at most `overlap` pieces of the last one, and those that it owns."""
    room, found, first = INFO["window"] - 2, [], 0
    while True:
        end = first + 1
        while end < len(words) and words[end][3] - words[first][2] < room:
            end += 1
        own = first
        if found:
            # Halfway between the starts and ends of what both have.
            own = first + (found[-1][0][1] - first) // 2
            found[-1][1][1] = own
        found.append(([first, end], [own, end]))
        if end == len(words):
            return found
        first = end
        while words[end - 1][3] - words[first - 1][2] < INFO["overlap"]:
            first -= 1


def vectors(head, hidden, ends, marks, shapes):
    found = []
    for (first, last), mark, shape in zip(ends, marks, shapes):
        mean = (hidden[first] + hidden[last]) / 2
        x = head["head.input.weight"] @ mean + head["head.input.bias"]
        x = x + head["head.marks.weight"][mark] + head["head.shapes.weight"][shape]
        # No gradient depends on the rounding of a number near 0.
        assert x.abs().min() > 1e-4
        found.append(x.relu())
    return found


def logits_of(head, x, first, last, match):
    linear = lambda name, x: head[f"head.{name}.weight"] @ x + head[f"head.{name}.bias"]
    product = linear("start", x[first]) * linear("end", x[last])
    inside = [linear("inside", x[at]) for at in range(first, last + 1)]
    z = head["head.pair.weight"] @ product + linear("first", x[first]) + linear("last", x[last])
    z = z + torch.stack(inside).mean(0)
    return z + head["head.lengths.weight"][last - first] + head["head.matches.weight"][match]


def main():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    bert = BertModel.from_pretrained(FIXTURE, attn_implementation="eager", dtype=torch.float64, add_pooling_layer=False).eval()
    bert.encoder.layer = torch.nn.ModuleList(bert.encoder.layer[at] for at in LAYERS)
    bert.config.num_hidden_layers = len(LAYERS)
    head = head_of(bert.config.hidden_size)
    tokenizer = Tokenizer.from_file(str(FIXTURE / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    pieces, words = words_of(tokenizer)
    shapes = [shape_of(text, start) for text, start, *_ in words]
    matches, marks = names_of(words)
    match_of = {(first, last): group for first, last, group in matches}
    columns = [range(0, 2), range(2, 3)]

    windows, losses, spans, met = [], [], [[] for _ in columns], set()
    of_windows = windows_of(words)
    assert len(of_windows) == len(COVERED)
    for ((start, end), (own, own_end)), covered in zip(of_windows, COVERED):
        begin = words[start][2]
        ids = [cls] + pieces[begin : words[end - 1][3] + 1] + [sep]
        ends = [[first - begin + 1, last - begin + 1] for _, _, first, last in words[start:end]]
        hidden = bert(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids))).last_hidden_state[0]
        x = vectors(head, hidden, ends, marks[start:end], shapes[start:end])
        logits, loss = torch.zeros(end - start, LENGTHS, LABELS), 0.0
        for first in range(start, end):
            for last in range(first, min(first + LENGTHS, end)):
                z = logits_of(head, x, first - start, last - start, match_of.get((first, last), 0))
                logits[first - start, last - first] = z.detach()
                for label in range(LABELS):
                    target = (first, last, label) in MENTIONS
                    if covered[label]:
                        met |= {(first, last, label)} if target else set()
                        loss = loss - (z[label] if target else -z[label]).sigmoid().log()
                if own <= first < own_end:
                    for scheme, of_scheme in zip(spans, columns):
                        values = [z[label].item() for label in of_scheme]
                        best = max(range(len(values)), key=values.__getitem__)
                        assert all(values[best] - value > 1e-3 for at, value in enumerate(values) if at != best)
                        probability = min(sum(1 / (1 + math.exp(-value)) for value in values), 1.0)
                        scheme.append([first, last, best, round(probability, 9)])
        losses.append(loss / (end - start))
        windows.append({
            "words": [start, end], "own": [own, own_end], "ids": ids, "ends": ends, "covered": covered,
            "logits": [[[round(v, 9) for v in z] for z in of_word] for of_word in logits.tolist()],
        })
    assert met == set(MENTIONS)
    sum(losses).backward()
    norm_of = lambda gradients: torch.sqrt(sum((gradient**2).sum() for gradient in gradients)).item()
    layers = [parameter.grad for parameter in bert.encoder.layer.parameters()]
    data = {
        "model": "tiny", "info": INFO, "layers": LAYERS, "seed": SEED,
        "head": [{"name": name, "shape": shape, "scale": scale} for name, shape, scale in tables(bert.config.hidden_size)],
        "text": TEXT, "concepts": [concept[:2] for concept in CONCEPTS], "shapes": shapes, "marks": marks, "matches": matches,
        "windows": windows, "spans": spans, "mentions": MENTIONS, "losses": [loss.item() for loss in losses],
        "gradient_norm": norm_of([*layers, *(weight.grad for weight in head.values())]),
        "gradient_norms": {name: norm_of([weight.grad]) for name, weight in head.items()},
    }
    path = HERE.parent / "goldens" / "detector.json"
    path.write_text(json.dumps(data, separators=(",", ":")).replace('],"', '],\n"') + "\n")
    print(path, path.stat().st_size)


main()
