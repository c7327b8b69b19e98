#!/usr/bin/env python3
"""Writes tests/goldens/methods.json: BLINK's and T-Biencoder's methods on the tiny model, by PyTorch.

    methods.py

Needs requirements.txt. All values are computed in float64.

`distillation`: the cross-entropy of a student's tempered softmax under a teacher's (BLINK, eq. 7 and 8), and its gradient.
`sum_of_max`: T-Biencoder's eq. 5 over padded token vectors, written as loops, and its gradients.
`rank`: one encoder over pairs of a mention and an entity (segments 0 and 1), a linear layer over the mean of the tokens, softmax
over the candidates (BLINK, section 4.2), with and without FGSM on the entity's tokens.
`transformation`: two towers, cross-entropy L of the scores and L' of those with Z + A Z after layer 1 (T-Biencoder, eq. 8 to 10), and
one step of ascent of both matrices.
"""

import copy
import json
import pathlib

import torch
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import BertModel

HERE = pathlib.Path(__file__).resolve().parent
FIXTURE = HERE.parents[1] / "shared" / "tests" / "fixtures" / "tiny"
NAMES = ["fever", "chest pain", "diabetes mellitus", "heart failure"]
MENTIONS = [("pyrexia", 0), ("pain in the chest", 1), ("diabetes", 2)]
# Candidates of each mention, as indices into NAMES.
CANDIDATES = [[1, 0, 3], [1, 2, 0], [3, 1, 2]]
FGSM_EPSILON, FGSM_LAMBDA = 0.01, 0.7
LAYER, EPSILON, CLIMB = 1, 3.0, 0.1


def wave(count, size):
    """Arbitrary numbers that Python and Rust compute equally."""
    return [size * ((at * 37 % 101) / 50.5 - 1.0) for at in range(count)]


def distillation():
    generator = torch.Generator().manual_seed(3)
    student = 4 * torch.rand(4, 6, generator=generator) - 2
    teacher = 8 * torch.rand(4, 6, generator=generator) - 4
    listed = torch.rand(4, 6, generator=generator) < 0.7
    listed[:, 0] = True
    out = {"student": student.tolist(), "teacher": teacher.tolist(), "listed": listed.int().tolist(), "cases": []}
    for temperature in (1.0, 2.0, 5.0):
        leaf = student.clone().requires_grad_()
        values = []
        for row in range(4):
            own, others = leaf[row][listed[row]] / temperature, teacher[row][listed[row]] / temperature
            values.append(-(others.softmax(0) * own.log_softmax(0)).sum())
        values = torch.stack(values)
        values.sum().backward()
        out["cases"].append({"temperature": temperature, "values": values.tolist(), "gradient": leaf.grad.tolist()})
    return out


def sum_of_max():
    generator = torch.Generator().manual_seed(4)
    shape = lambda *sizes: (2 * torch.rand(*sizes, generator=generator) - 1).requires_grad_()
    mentions, entities = shape(3, 4, 5), shape(2, 6, 5)
    lengths = ([4, 2, 3], [6, 3])
    scores = torch.stack([
        torch.stack([
            sum(
                max(mentions[m, t] @ entities[e, u] for u in range(lengths[1][e]))
                for t in range(lengths[0][m])
            )
            for e in range(2)
        ])
        for m in range(3)
    ])
    factors = torch.tensor(wave(6, 1.0)).reshape(3, 2)
    (scores * factors).sum().backward()
    return {
        "mentions": mentions.tolist(), "entities": entities.tolist(), "lengths": lengths, "scores": scores.tolist(),
        "factors": factors.tolist(), "of_mentions": mentions.grad.tolist(), "of_entities": entities.grad.tolist(),
    }


class Tower(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel.from_pretrained(FIXTURE, attn_implementation="eager", dtype=torch.float64, add_pooling_layer=False).eval()

    def pad(self, rows):
        longest = max(map(len, rows))
        fill = lambda values: torch.tensor([row + [0] * (longest - len(row)) for row in values])
        return fill(rows), fill([[1] * len(row) for row in rows])

    def embed(self, ids, segments):
        table = self.bert.embeddings
        return table.word_embeddings(ids) + table.position_embeddings(torch.arange(ids.shape[1])) + table.token_type_embeddings(segments)

    def layers(self, hidden, mask, first, last):
        blocked = (1.0 - mask[:, None, None, :].double()) * torch.finfo(torch.float64).min
        for layer in self.bert.encoder.layer[first:last]:
            hidden = layer(hidden, attention_mask=blocked)
            hidden = hidden[0] if isinstance(hidden, tuple) else hidden
        return hidden

    def mean(self, hidden, mask):
        real = mask[:, :, None].double()
        return (hidden * real).sum(1) / real.sum(1)


tokenizer = Tokenizer.from_file(str(FIXTURE / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.no_truncation()
cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
pieces = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
of_mention = lambda text: [cls] + pieces(text) + [sep]
# A template without types and without a definition.
of_entity = lambda text: [cls] + pieces(text) + [sep] + [sep] + [sep]


def norm_of(parameters):
    return torch.sqrt(sum((p.grad**2).sum() for p in parameters if p.grad is not None)).item()


def rank(lam):
    tower = Tower()
    hidden = tower.bert.config.hidden_size
    weight = torch.tensor(wave(hidden, 0.5)).requires_grad_()
    pairs = [(of_mention(text), of_entity(NAMES[c])) for (text, _), own in zip(MENTIONS, CANDIDATES) for c in own]
    rows = [m + e[1:] for m, e in pairs]
    ids, mask = tower.pad(rows)
    segments, _ = tower.pad([[0] * len(m) + [1] * (len(e) - 1) for m, e in pairs])
    gold = torch.tensor([own.index(place) for (_, place), own in zip(MENTIONS, CANDIDATES)])

    def score(tower, z, weight):
        states = tower.layers(tower.bert.embeddings.LayerNorm(z), mask, 0, None)
        return (tower.mean(states, mask) @ weight).reshape(len(MENTIONS), 3)

    loss_of = lambda scores: functional.cross_entropy(scores, gold, reduction="sum")
    z = tower.embed(ids, segments)
    scores = score(tower, z, weight)
    loss = loss_of(scores)
    if lam > 0:
        frozen = copy.deepcopy(tower).requires_grad_(False)
        leaf = z.detach().requires_grad_()
        score(frozen, leaf, weight.detach()).sum().backward()
        signs = torch.ones(len(MENTIONS), 3)
        signs[torch.arange(len(MENTIONS)), gold] = -1.0
        step = FGSM_EPSILON * leaf.grad.sign() * signs.reshape(-1, 1, 1) * segments[:, :, None]
        loss = loss + lam * loss_of(score(tower, z + step, weight))
    loss.backward()
    norm = norm_of([*tower.parameters(), weight])
    return {"lambda": lam, "scores": scores.tolist(), "loss": loss.item(), "gradient_norm": norm}


def transformation():
    towers = [Tower(), Tower()]
    hidden = towers[0].bert.config.hidden_size
    matrices = [torch.tensor(wave(hidden * hidden, size)).reshape(hidden, hidden).requires_grad_() for size in (0.04, -0.03)]
    rows = [[of_mention(text) for text, _ in MENTIONS], [of_entity(NAMES[place]) for _, place in MENTIONS]]
    plain, moved = [], []
    for tower, matrix, own in zip(towers, matrices, rows):
        ids, mask = tower.pad(own)
        z = tower.layers(tower.bert.embeddings.LayerNorm(tower.embed(ids, torch.zeros_like(ids))), mask, 0, LAYER)
        plain.append(tower.mean(tower.layers(z, mask, LAYER, None), mask))
        moved.append(tower.mean(tower.layers(z + z @ matrix.T, mask, LAYER, None), mask))
    gold = torch.arange(len(MENTIONS))
    loss_of = lambda vectors: functional.cross_entropy(vectors[0] @ vectors[1].T, gold, reduction="sum")
    own, other = loss_of(plain), loss_of(moved)
    (own + other).backward()
    climbed = [a.detach() + EPSILON * CLIMB * a.grad / a.grad.norm() for a in matrices]
    assert all(a.norm() < EPSILON for a in climbed)
    return {
        "loss": own.item(), "transformed": other.item(), "gradient_norm": norm_of([p for t in towers for p in t.parameters()]),
        "climbed": [[round(v, 9) for v in a.flatten().tolist()] for a in climbed],
    }


def main():
    torch.set_default_dtype(torch.float64)
    data = {
        "distillation": distillation(), "sum_of_max": sum_of_max(), "names": NAMES, "mentions": MENTIONS, "candidates": CANDIDATES,
        "fgsm_epsilon": FGSM_EPSILON, "rank": [rank(0.0), rank(FGSM_LAMBDA)], "epsilon": EPSILON, "climb": CLIMB,
        "transformation": transformation(),
    }
    path = HERE.parent / "goldens" / "methods.json"
    path.write_text(json.dumps(data, separators=(",", ":")).replace('],"', '],\n"') + "\n")
    print(path, path.stat().st_size)


main()
