"""PEL as a component of a spaCy pipeline.

``nlp.add_pipe("pel")`` adds it: the package has the entry point ``spacy_factories``. The component links
each document's text and writes

* ``doc.ents``: the longest mentions without overlap. ``label_`` is the clinical group in capitals
  (``PROBLEM``, ``DRUG``, ``PROCEDURE``, ``MEASUREMENT``, ``ANATOMY``, ``DEVICE``, or ``UNKNOWN``), and
  ``kb_id_`` the identifier of the linked concept, or ``NIL``;
* ``doc.spans["pel"]``: all mentions, also overlapping ones;
* extensions of these spans, such as ``span._.pel_concept``. ``import pel_linker.spacy`` registers them,
  which a program needs that only reads documents (``DocBin``) and builds no pipeline.

Offsets of spaCy are tokens. A mention that does not begin and end at tokens is widened to whole tokens;
``doc._.pel_widened`` counts these. ``span._.pel_start`` and ``span._.pel_end`` are exact, in code points.
"""

# No postponed annotations here: spaCy reads those of a factory to check its configuration.
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal, Optional

from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup
from spacy.util import minibatch, raise_error

from pel_linker import Link, Linker, default_bundle
from pel_linker._linker import LinkOptions
from pel_linker._pel import chosen_systems

__all__ = ["CONTEXT", "NIL", "PelComponent", "Settings", "create_pel"]

#: ``kb_id_`` of a mention without a concept, as spaCy's own entity linker writes it.
NIL = "NIL"

#: What ``span._.pel_context`` has.
CONTEXT = ("negated", "certainty", "temporality", "experiencer", "section", "laterality", "severity", "allergy")

#: Fields of a mention that spaCy has by itself, or that count in other units.
_LEFT_OUT = frozenset({"doc", "start", "end", "start_utf16", "end_utf16"})

Record = dict[str, Any]
ErrorHandler = Callable[[str, Any, list[Doc], Exception], None]


@dataclass(frozen=True)
class Settings:
    """The configuration of the component."""

    bundle: Optional[str] = None
    """A bundle, as a folder or a packed file; ``None`` finds the default bundle."""
    threads: Optional[int] = None
    """Threads of each process; ``None`` uses all cores."""
    k: int = 5
    """Candidates of a mention, 1 to 1000."""
    threshold: Optional[float] = None
    """The lowest probability that is linked; ``None`` takes the bundle's threshold."""
    asserted: bool = False
    """Whether mentions that are not stated of the patient now are left out."""
    context_rules: str = "english"
    """Rules of context: ``english``, ``german``, ``french``, ``spanish``, ``contextkit``, or a file."""
    wordings: Optional[str] = None
    """A file of wordings that stand for names; ``None`` takes those of English."""
    xrefs: Optional[list[str]] = None
    """Prefixes of the cross-references to keep; ``None`` keeps all."""
    codes: Optional[list[str]] = None
    """Code systems of the codes to keep, in this order; ``None`` keeps all."""
    keep_ents: bool = False
    """Whether the entities that a document has are linked, and stay."""
    detect: bool = True
    """Whether mentions are detected; without, only the entities kept are linked."""
    names_only: bool = False
    """Whether only names of the knowledge base are found."""
    overlapping: bool = False
    """Whether nested and overlapping mentions are found too. The group of spans has all."""
    span_key: str = "pel"
    """The name of the group of spans."""
    set_ents: bool = True
    """Whether ``doc.ents`` is written."""
    label: Literal["group", "type"] = "group"
    """Labels: the clinical group, or the first type of the best candidate."""

    def __post_init__(self) -> None:
        if not 1 <= self.k <= 1000:
            raise ValueError(f"pel: expected k of 1 to 1000, found {self.k}")
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"pel: expected 1 or more threads, found {self.threads}")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise ValueError(f"pel: expected a finite threshold, found {self.threshold}")
        if self.xrefs is not None and not all(self.xrefs):
            raise ValueError("pel: a prefix of xrefs is empty")
        if self.codes is not None:
            chosen_systems(self.codes)
        if not self.span_key:
            raise ValueError("pel: span_key is empty; give a name")
        if self.label not in ("group", "type"):
            raise ValueError(f"pel: expected group or type as label, found {self.label!r}")
        if not self.detect and not self.keep_ents:
            raise ValueError("pel: without detect and keep_ents there are no mentions to link; set one of them")
        # The bundle is opened later; that there is none is said at once.
        bundle = default_bundle() if self.bundle is None else Path(self.bundle)
        if not bundle.exists():
            raise FileNotFoundError(f"pel: there is no bundle at {bundle}")


@Language.factory(
    "pel",
    default_config={field.name: field.default for field in fields(Settings)},
    assigns=["doc.ents", "doc.spans", "token.ent_type", "token.ent_iob", "token.ent_kb_id"],
)
def create_pel(
    nlp: Language,
    name: str,
    bundle: Optional[str],
    threads: Optional[int],
    k: int,
    threshold: Optional[float],
    asserted: bool,
    context_rules: str,
    wordings: Optional[str],
    xrefs: Optional[list[str]],
    codes: Optional[list[str]],
    keep_ents: bool,
    detect: bool,
    names_only: bool,
    overlapping: bool,
    span_key: str,
    set_ents: bool,
    label: str,
) -> "PelComponent":
    """The factory behind ``nlp.add_pipe("pel")``. :class:`Settings` says what each setting does."""
    settings = Settings(
        bundle=bundle,
        threads=threads,
        k=k,
        threshold=threshold,
        asserted=asserted,
        context_rules=context_rules,
        wordings=wordings,
        xrefs=xrefs,
        codes=codes,
        keep_ents=keep_ents,
        detect=detect,
        names_only=names_only,
        overlapping=overlapping,
        span_key=span_key,
        set_ents=set_ents,
        label=label,  # type: ignore[arg-type]
    )
    return PelComponent(settings, name)


class PelComponent:
    """Links documents. The bundle is opened at the first document of each process."""

    def __init__(self, settings: Settings, name: str = "pel") -> None:
        self.settings = settings
        self.name = name
        self._error_handler: ErrorHandler = raise_error
        self._linker: Optional[Linker] = None

    @property
    def linker(self) -> Linker:
        """The open linker."""
        if self._linker is None:
            settings = self.settings
            linker = Linker.open(
                settings.bundle,
                threads=settings.threads,
                context_rules=settings.context_rules,
                wordings=settings.wordings,
            )
            # Options that do not suit the bundle are an error here, instead of one of each document.
            linker.link("", **self._options())
            self._linker = linker
        return self._linker

    def _options(self) -> LinkOptions:
        settings = self.settings
        return {
            "k": settings.k,
            "threshold": settings.threshold,
            "asserted": settings.asserted,
            "xrefs": settings.xrefs,
            "codes": settings.codes,
            "names_only": settings.names_only,
            "overlapping": settings.overlapping,
        }

    def __getstate__(self) -> dict[str, Any]:
        # Another process opens the bundle itself.
        return {**self.__dict__, "_linker": None}

    def __call__(self, doc: Doc) -> Doc:
        """Links one document."""
        for linked in self.pipe([doc], batch_size=1):
            return linked
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 64) -> Iterator[Doc]:
        """Links documents, `batch_size` at once. If a batch fails, its documents are linked one by
        one, and those that fail go to the error handler, which raises by default. A bundle that
        cannot be opened is always raised: a handler that skips documents would skip all."""
        docs: list[Doc]
        for docs in minibatch(stream, size=batch_size):  # type: ignore[no-untyped-call]
            linker = self.linker
            try:
                self._link(linker, docs)
            except Exception as error:
                if len(docs) == 1:
                    self._error_handler(self.name, self, docs, error)
                else:
                    yield from self.pipe(docs, batch_size=1)
            else:
                yield from docs

    def set_error_handler(self, error_handler: ErrorHandler) -> None:
        """Sets what happens to documents that fail."""
        self._error_handler = error_handler

    def get_error_handler(self) -> ErrorHandler:
        """What happens to documents that fail."""
        return self._error_handler

    # All settings are in the configuration of the pipeline, which spaCy writes.

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Writes nothing: the settings are in ``config.cfg``, and the bundle stays where it is."""

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "PelComponent":
        """Reads nothing, as :meth:`to_disk` writes nothing."""
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """No bytes: the settings are in the configuration, and the bundle stays where it is."""
        return b""

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "PelComponent":
        """Reads nothing, as :meth:`to_bytes` writes nothing."""
        return self

    def _link(self, linker: Linker, docs: Sequence[Doc]) -> None:
        """Links all documents in one call, and writes what was found into them."""
        given = None
        if self.settings.keep_ents:
            given = [[(ent.start_char, ent.end_char) for ent in doc.ents] for doc in docs]
        linked = linker.link(
            [doc.text for doc in docs],
            spans=given,
            spans_only=not self.settings.detect,
            **self._options(),
        )
        for doc, links in zip(docs, linked, strict=True):
            self._write(doc, [_kept(link) for link in links])

    def _write(self, doc: Doc, records: list[Record]) -> None:
        """Writes the spans and entities of one document."""
        key = self.settings.span_key
        old = {(ent.start_char, ent.end_char): ent for ent in doc.ents} if self.settings.keep_ents else {}
        found: list[Span] = []
        kept: dict[tuple[int, int], Span] = {}
        at: dict[tuple[int, int], list[Record]] = {}
        widened = 0
        for record in records:
            place = (record["start"], record["end"])
            span = doc.char_span(*place, alignment_mode="expand")
            # No mention is empty or outside of the text, so that there are tokens for each.
            if span is None:
                raise ValueError(f"pel: expected tokens of the document at {place}, found none")
            widened += (span.start_char, span.end_char) != place
            ent = old.get(place) if record["origin"] == "given" else None
            span = Span(
                doc,
                span.start,
                span.end,
                label=ent.label_ if ent is not None else self._label(record),
                kb_id=record["concept"]["id"] if record["concept"] else NIL,
                span_id=ent.id_ if ent is not None else "",
            )
            record["label"] = span.label_
            record["span_key"] = key
            at.setdefault((span.start_char, span.end_char), []).append(record)
            found.append(span)
            if ent is not None:
                kept[place] = span
        doc.spans[key] = SpanGroup(doc, name=key, spans=found)
        # As JSON: medspaCy, once imported, takes each mapping with a "section" in a DocBin for its own.
        for span in found:
            # Another component of the pipeline may have found mentions at the same tokens.
            others = [record for record in _records(span) if record.get("span_key") != key]
            span._.pel_mentions = json.dumps(at[span.start_char, span.end_char] + others)
        doc._.pel_widened = widened
        if self.settings.set_ents:
            # An entity that was left out, as with `asserted`, stays as it is.
            first = [kept.get(place, ent) for place, ent in old.items()]
            doc.set_ents(first + _longest(found, first))

    def _label(self, record: Record) -> str:
        """The label of a mention that was detected."""
        best = record["candidates"][:1]
        if self.settings.label == "type" and best and best[0].get("types"):
            return str(best[0]["types"][0])
        return str(record.get("group") or "unknown").upper()


def _kept(link: Link) -> Record:
    """What a document keeps of a mention; in code points."""
    kept = {key: value for key, value in link.as_dict().items() if key not in _LEFT_OUT}
    kept["start"] = kept.pop("start_code_point")
    kept["end"] = kept.pop("end_code_point")
    kept.setdefault("concept", None)
    kept.setdefault("candidates", [])
    for name in ("attributes", "relations"):
        kept[name] = [_in_code_points(one) for one in kept.get(name, [])]
    return kept


def _in_code_points(one: Record) -> Record:
    """An attribute or a relation with its place in code points alone."""
    place = {"start": one["start_code_point"], "end": one["end_code_point"]}
    return {key: value for key, value in one.items() if not key.startswith(("start", "end"))} | place


def _longest(spans: Iterable[Span], taken: Iterable[Span]) -> list[Span]:
    """The longest spans that overlap neither each other nor `taken`; of equally long ones the first."""
    tokens = {token for span in taken for token in range(span.start, span.end)}
    chosen = []
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
        covered = range(span.start, span.end)
        if tokens.isdisjoint(covered):
            tokens.update(covered)
            chosen.append(span)
    return chosen


# --- extensions ---


def _records(span: Span) -> list[Record]:
    """The mentions at the tokens of a span, those of the last component first."""
    records: list[Record] = json.loads(span._.pel_mentions or "[]")
    return records


def _record(span: Span) -> Record:
    """The mention that a span stands for; an empty one for a span that PEL did not make.

    Two mentions can have the same tokens ("HTN/DM" can be one token): the label and the concept say
    which one it is.
    """
    records = _records(span)
    for record in records:
        concept = record["concept"]["id"] if record["concept"] else NIL
        if record["label"] == span.label_ and concept == span.kb_id_:
            return record
    return records[0] if records else {}


def _field(name: str, span: Span) -> Any:
    return _record(span).get(name)


def _candidates(span: Span) -> list[Record]:
    candidates: list[Record] = _record(span).get("candidates", [])
    return candidates


def _score(span: Span) -> Optional[float]:
    candidates = _candidates(span)
    return candidates[0]["score"] if candidates else None


def _kb_ents(span: Span) -> list[tuple[str, float]]:
    """Identifiers and scores as scispaCy's linker has them: empty for a mention without a concept."""
    if _record(span).get("concept") is None:
        return []
    return [(candidate["id"], candidate["score"]) for candidate in _candidates(span)]


def _code(span: Span) -> Optional[Record]:
    """The primary code of the linked concept."""
    code: Optional[Record] = (_record(span).get("concept") or {}).get("code")
    return code


def _codes(span: Span) -> list[Record]:
    """The codes of the linked concept in standard systems, the preferred ones first."""
    codes: list[Record] = (_record(span).get("concept") or {}).get("codes", [])
    return codes


def _attributes(span: Span) -> list[Record]:
    """What stands next to the mention: doses, values, dates."""
    attributes: list[Record] = _record(span).get("attributes", [])
    return attributes


def _relations(span: Span) -> list[Record]:
    """The relations whose source is the mention, each with the place and words of its target."""
    relations: list[Record] = _record(span).get("relations", [])
    return relations


def _context(span: Span) -> Record:
    record = _record(span)
    return {name: record.get(name) for name in CONTEXT} if record else {}


def _register() -> None:
    """Registers the extensions. The getters are functions of this module, so that they can be pickled."""
    Span.set_extension("pel_mentions", default=None, force=True)
    Doc.set_extension("pel_widened", default=0, force=True)
    getters: dict[str, Callable[[Span], Any]] = {
        "pel_attributes": _attributes,
        "pel_candidates": _candidates,
        "pel_code": _code,
        "pel_codes": _codes,
        "pel_context": _context,
        "pel_relations": _relations,
        "pel_score": _score,
    }
    for extension, name in [
        ("pel_concept", "concept"),
        ("pel_decision", "decision"),
        ("pel_end", "end"),
        ("pel_fragments", "fragments"),
        ("pel_nil_reason", "nil_reason"),
        ("pel_origin", "origin"),
        ("pel_probability", "probability"),
        ("pel_start", "start"),
    ]:
        getters[extension] = partial(_field, name)
    for extension, getter in getters.items():
        Span.set_extension(extension, getter=getter, force=True)
    # Where scispaCy's linker has registered its own, that one stays.
    if not Span.has_extension("kb_ents"):
        Span.set_extension("kb_ents", getter=_kb_ents)


_register()
