#!/usr/bin/env python3
"""Writes tests/goldens/training.json: losses, their gradients, and short trainings of the tiny model by PyTorch.

    training.py

Needs requirements.txt. All values are computed in float64, so that differences come only from PEL's rounding.

`losses`: scores, the compared pairs, and for each loss its values and the gradient of their sum. Implemented from the
papers: cross-entropy (PEL, eq. 1), the proxy-based loss (eq. 3), the multi-similarity loss over triplets that violate a
margin (SapBERT's miner and loss).

`runs`: two towers, both the tiny model; steps of two micro-batches of two mentions each, negatives from the micro-batch,
AdamW with clipping and the linear schedule, no dropout; with and without FGSM (eq. 5 to 8). For each step its mean loss and
the norm of its gradient before clipping; at the end the vectors of the mentions.
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
NAMES = ["fever", "chest pain", "diabetes mellitus", "heart failure", "cough", "renal failure"]
# Mentions, each with the index of its concept in NAMES; four per step.
MENTIONS = [
    ("pyrexia", 0), ("pain in the chest", 1), ("diabetes", 2), ("cardiac failure", 3),
    ("coughing", 4), ("kidney failure", 5), ("high fever", 0), ("chest pains", 1),
    ("diabetic", 2), ("failing heart", 3), ("dry cough", 4), ("failure of the kidneys", 5),
]
EPSILON, LAMBDA, RATE = 0.01, 0.7, 1e-3
STEPS, MICRO = 3, 2


def cross_entropy(scores, positive, negative):
    masked = scores.masked_fill(~(positive | negative), -torch.inf)
    return -(masked.log_softmax(1) * 1.0).where(positive, torch.zeros(())).sum(1)


def proxy(scores, positive, negative, alpha, delta):
    pull = functional.softplus(-alpha * (scores.where(positive, torch.zeros(())).sum(1) - delta), threshold=700)
    masked = (alpha * (scores + delta)).masked_fill(~negative, -torch.inf)
    # softplus of -inf is 0, but its gradient is NaN
    push = torch.logsumexp(torch.cat([masked, torch.zeros(len(scores), 1)], 1), 1)
    return pull + push


def multi_similarity(scores, positive, negative, alpha=1.0, beta=60.0, base=0.5, margin=0.2):
    total = []
    for row, same, other in zip(scores, positive, negative):
        keep_same, keep_other = set(), set()
        for p in same.nonzero().flatten().tolist():
            for n in other.nonzero().flatten().tolist():
                if row[p] - row[n] <= margin:
                    keep_same.add(p)
                    keep_other.add(n)
        pull = sum(torch.exp(-alpha * (row[p] - base)) for p in keep_same) if keep_same else torch.zeros(())
        push = sum(torch.exp(beta * (row[n] - base)) for n in keep_other) if keep_other else torch.zeros(())
        total.append(torch.log1p(pull) / alpha + torch.log1p(push) / beta)
    return torch.stack(total)


def losses():
    generator = torch.Generator().manual_seed(5)
    rows, columns = 6, 9
    scores = 2 * torch.rand(rows, columns, generator=generator, dtype=torch.float64) - 1
    pairing = torch.zeros(rows, columns, dtype=torch.int64)
    for row in range(rows):
        pairing[row, row] = 1
        others = torch.rand(columns, generator=generator) < 0.7
        pairing[row] = torch.where((pairing[row] == 0) & others, 2, pairing[row])
    pairing[5, 6:] = 0  # one mention with few negatives
    positive, negative = pairing == 1, pairing == 2
    cases = {
        "cross_entropy": lambda s: cross_entropy(s * 5, positive, negative),
        "proxy": lambda s: proxy(s, positive, negative, 32.0, 0.0),
        "proxy_margin": lambda s: proxy(s, positive, negative, 16.0, 0.1),
        "multi_similarity": lambda s: multi_similarity(s, positive, negative),
    }
    out = {"scores": scores.tolist(), "pairing": pairing.tolist()}
    for name, loss in cases.items():
        leaf = scores.clone().requires_grad_()
        values = loss(leaf)
        values.sum().backward()
        out[name] = {"values": values.tolist(), "gradient": leaf.grad.tolist()}
    return out


class Tower(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel.from_pretrained(FIXTURE, attn_implementation="eager", dtype=torch.float64, add_pooling_layer=False).eval()

    def pad(self, rows):
        longest = max(map(len, rows))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        return ids, mask

    def embed(self, ids):
        table = self.bert.embeddings
        positions = torch.arange(ids.shape[1])
        return table.word_embeddings(ids) + table.position_embeddings(positions) + table.token_type_embeddings(torch.zeros_like(ids))

    def from_sum(self, z, mask, unit):
        table = self.bert.embeddings
        hidden = table.LayerNorm(z)
        blocked = (1.0 - mask[:, None, None, :].double()) * torch.finfo(torch.float64).min
        for layer in self.bert.encoder.layer:
            hidden = layer(hidden, attention_mask=blocked)
            hidden = hidden[0] if isinstance(hidden, tuple) else hidden
        real = mask[:, :, None].double()
        pooled = (hidden * real).sum(1) / real.sum(1)
        return functional.normalize(pooled, dim=1) if unit else pooled

    def forward(self, rows, unit):
        ids, mask = self.pad(rows)
        return self.from_sum(self.embed(ids), mask, unit)


def perturbation(tower, rows, mentions, signs, unit):
    """epsilon * sign of the gradient of each pair's similarity with respect to the mention."""
    frozen = copy.deepcopy(tower).requires_grad_(False)
    ids, mask = frozen.pad(rows)
    z = frozen.embed(ids).detach().requires_grad_()
    (frozen.from_sum(z, mask, unit) * mentions.detach()).sum().backward()
    return EPSILON * z.grad.sign() * signs[:, None, None]


def run(kind, lam):
    torch.manual_seed(1)
    tokenizer = Tokenizer.from_file(str(FIXTURE / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    encode = lambda text: [cls] + tokenizer.encode(text, add_special_tokens=False).ids + [sep]
    unit = kind == "proxy"
    mention_tower, entity_tower = Tower(), Tower()
    named = list(mention_tower.named_parameters()) + list(entity_tower.named_parameters())
    groups = [
        {"params": [p for _, p in named if p.ndim > 1], "weight_decay": 0.01},
        {"params": [p for _, p in named if p.ndim == 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=RATE, eps=1e-6)
    warmup = round(0.25 * STEPS)
    found = []
    for step in range(STEPS):
        share = (step + 1) / warmup if step < warmup else (STEPS - step) / max(STEPS - warmup, 1)
        for group in optimiser.param_groups:
            group["lr"] = RATE * share
        optimiser.zero_grad()
        total = 0.0
        for part in range(2):
            rows = MENTIONS[4 * step + MICRO * part :][:MICRO]
            entities = list(dict.fromkeys(place for _, place in rows))
            positive = torch.tensor([[place == entity for entity in entities] for _, place in rows])
            negative = ~positive
            mentions = mention_tower([encode(text) for text, _ in rows], unit)
            names = [encode(NAMES[entity]) for entity in entities]
            loss_of = lambda s: proxy(s, positive, negative, 32.0, 0.0) if unit else cross_entropy(s, positive, negative)
            loss = loss_of(mentions @ entity_tower(names, unit).T)
            if lam > 0:
                pairs = [(m, e) for m in range(len(rows)) for e in range(len(entities))]
                of_pairs = mentions[[m for m, _ in pairs]]
                signs = torch.tensor([-1.0 if positive[m, e] else 1.0 for m, e in pairs], dtype=torch.float64)
                pair_rows = [names[e] for _, e in pairs]
                moved = perturbation(entity_tower, pair_rows, of_pairs, signs, unit)
                ids, mask = entity_tower.pad(pair_rows)
                vectors = entity_tower.from_sum(entity_tower.embed(ids) + moved, mask, unit)
                loss = loss + lam * loss_of((vectors * of_pairs).sum(1).reshape(len(rows), len(entities)))
            (loss.sum() / 4).backward()
            total += loss.sum().item() / 4
        norm = torch.nn.utils.clip_grad_norm_([p for _, p in named if p.grad is not None], 1.0)
        optimiser.step()
        found.append({"loss": total, "gradient_norm": norm.item()})
    with torch.inference_mode():
        vectors = mention_tower([encode(text) for text, _ in MENTIONS], unit)
    return {"kind": kind, "lambda": lam, "steps": found, "vectors": [[round(v, 9) for v in row] for row in vectors.tolist()]}


def main():
    # Masks and zeros get the type of the scores.
    torch.set_default_dtype(torch.float64)
    runs = [run(kind, lam) for kind in ("proxy", "cross-entropy") for lam in (0.0, LAMBDA)]
    data = {"losses": losses(), "names": NAMES, "mentions": MENTIONS, "epsilon": EPSILON, "rate": RATE, "runs": runs}
    path = HERE.parent / "goldens" / "training.json"
    path.write_text(json.dumps(data, separators=(",", ":")).replace('],"', '],\n"') + "\n")
    print(path, path.stat().st_size)


main()
