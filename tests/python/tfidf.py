"""Writes shared/tests/goldens/tfidf.json: character 3-gram TF-IDF by scikit-learn, which `pel_index::lexical::CharTfidf` equals.

Python 3.11, scikit-learn 1.9.1, numpy 2.4.6, scipy 1.17.1. Run: python tests/python/tfidf.py
"""

import json
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer

NAMES = [
    "Fever",
    "fever",  # duplicates count
    "Hay fever",
    "fever, hay",
    "high  fever",
    "Diabetes mellitus, type 2",
    "diabetes mellitus type-2",
    "Type 2 diabetes\tmellitus",
    "vitamin C",
    "C",
    "aaaaaa",  # a gram that repeats
    "mamma mamma",
    "5-HT2A",
    "β-thalassemia",
    "ΘΑΛΑΣΣΑΙΜΙΑ ΟΔΟΣ",  # a final sigma
    "Sjögren's syndrome",
    "SJOGREN SYNDROME",
    "no\u00a0break",
    "unit\u001fseparator",
    "ideographic\u3000space",
    "İstanbul",  # one letter becomes two
    "cold 😷 mask",
    " padded ",
]
QUERIES = [
    "fever",
    "FEVER HAY",
    "hay-fever",
    "type 2 diabetes",
    "diabetes",
    "c",
    "aaaa",
    "mamma",
    "sjögren syndrome",
    "οδος",
    "thalassemia β",
    "istanbul",
    "😷",
    "break no",
    "separator\u001dunit",
    "zzzz",  # no gram is known
    "zzzz fever",
    "",
    "   ",
]

vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3))
names = vectorizer.fit_transform(NAMES)
queries = vectorizer.transform(QUERIES)
golden = {
    "names": NAMES,
    "queries": QUERIES,
    "idf": {gram: float(vectorizer.idf_[at]) for gram, at in sorted(vectorizer.vocabulary_.items())},
    "cosine": [[round(float(cosine), 10) for cosine in row] for row in (queries @ names.T).toarray()],
}
out = Path(__file__).resolve().parents[2] / "shared" / "tests" / "goldens" / "tfidf.json"
out.write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")).replace('],[', '],\n[') + "\n", encoding="utf-8")
