"""Writes shared/tests/goldens/nil.json: precision-recall curves of NIL by scikit-learn, which `pel_index::metrics` equals, and ratios of
the weights of logistic regressions, which that of `pel_model::nil` equals.

NIL is the positive class; its score is the negated top score. scikit-learn lists a curve by descending threshold, with an extra
point (1, 0); here it is reversed, so that recall rises, and without that point.

Python 3.11, scikit-learn 1.9.1, numpy 2.4.6. Run: python tests/python/nil.py
"""

import json
import random
from pathlib import Path

import numpy
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, precision_recall_curve

cases = []
for seed, size, grid in [(1, 12, 4), (2, 40, 8), (3, 60, 1 << 20), (4, 5, 1)]:
    generator = random.Random(seed)
    # Fractions of powers of two are the same in 32 and 64 bits; a coarse grid gives many equal scores.
    scores = [generator.randrange(grid) / grid for _ in range(size)]
    nil = [generator.random() < 0.7 - 0.5 * score for score in scores]
    nil[0] = True
    negated = [-score for score in scores]
    precision, recall, _ = precision_recall_curve(nil, negated)
    cases.append(
        {
            "scores": scores,
            "nil": nil,
            "average_precision": float(average_precision_score(nil, negated)),
            "precision": [float(value) for value in precision[:-1][::-1]],
            "recall": [float(value) for value in recall[:-1][::-1]],
        }
    )

regressions = []
# The first is fitted without the two further numbers.
for seed, size, dim in [(5, 30, 0), (6, 400, 2)]:
    generator = random.Random(seed)
    features, known = [], []
    for _ in range(size):
        short, exact = generator.random() < 0.25, generator.random() < 0.5
        score, margin, overlap, one, other = (generator.randrange(1 << 12) / (1 << 12) for _ in range(5))
        features.append((score, margin, short, overlap, exact, [one, -other]))
        latent = score + 0.5 * margin - 0.5 * short + 0.25 * overlap + 0.125 * exact + 0.5 * one + 0.25 * other
        known.append(latent + generator.gauss(0, 0.4) > 1.25)
    rows = numpy.array([[*numbers, *vector[:dim]] for *numbers, vector in features], dtype=numpy.float64)
    deviation = rows.std(axis=0)
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit((rows - rows.mean(axis=0)) / deviation, known)
    weights = model.coef_[0] / deviation
    scaled = weights[1:] / weights[0]
    average = -float((rows[:, 1:] @ scaled).mean())
    regressions.append({"features": features, "known": known, "weights": [float(weight) for weight in scaled] + [average]})

out = Path(__file__).resolve().parents[2] / "shared" / "tests" / "goldens" / "nil.json"
out.write_text(json.dumps({"cases": cases, "regressions": regressions}, separators=(",", ":")).replace('},{', '},\n{') + "\n", encoding="utf-8")
