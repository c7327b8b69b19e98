"""The compiled part of the package."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, final

import numpy
import numpy.typing

__version__: str

def formats() -> list[str]:
    """The formats of :meth:`Linker.write`, as those of ``pel link --format``."""

def main(args: Sequence[str]) -> int:
    """Run the command line ``pel`` with arguments, without the program's name. Returns its exit code."""

def unpickled(kind: str, state: str) -> object:
    """A link, candidate or concept of a pickle. Not for direct use."""

def chosen_systems(names: Sequence[str]) -> list[str]:
    """The code systems of names, as the option ``codes`` takes them. Not for direct use."""

@final
class Code:
    """A code of a concept in a standard system."""

    def __hash__(self) -> int: ...
    @property
    def system(self) -> str:
        """The system: ``SNOMEDCT``, ``ICD10CM``, ``RXNORM``, ``LOINC`` and others."""
    @property
    def code(self) -> str:
        """The code."""
    @property
    def display(self) -> str | None:
        """The official name; None where it may not be given."""
    @property
    def match(self) -> Literal["exact", "broader", "parts", "combined"]:
        """``exact``: the code means the concept. ``broader``: its meaning contains the concept's. ``parts``: one of
        several codes that mean the concept together."""
    @property
    def billable(self) -> bool | None:
        """Whether the code may be billed, if the system says so."""
    @property
    def uri(self) -> str:
        """The URI of the system in FHIR."""
    def as_dict(self) -> dict[str, Any]:
        """As in a line of ``pel link --format jsonl``."""

@final
class Candidate:
    """A concept with its similarity to a mention."""

    # Comparable, not hashable.
    __hash__: ClassVar[None]  # type: ignore[assignment]
    @property
    def id(self) -> str:
        """The identifier."""
    @property
    def name(self) -> str:
        """The preferred name."""
    @property
    def types(self) -> list[str]:
        """The semantic types, the primary one first."""
    @property
    def sources(self) -> list[str]:
        """The vocabularies that the concept comes from."""
    @property
    def xrefs(self) -> list[str]:
        """The concept in other vocabularies, such as ``ICD10CM:R50.9``."""
    @property
    def score(self) -> float:
        """The similarity to the mention; higher is better."""
    @property
    def code(self) -> Code | None:
        """The primary code of a linked concept; None for another candidate, or without such a code."""
    @property
    def codes(self) -> list[Code]:
        """The codes of a linked concept, the preferred ones first; empty for another candidate."""
    @property
    def ancestors(self) -> list[tuple[str, str | None]]:
        """Identifier and name of the concepts and codes above a linked concept, the nearest first, if the
        option ``ancestors`` asked for them."""
    @property
    def ranker_score(self) -> float | None:
        """The score of the cross-encoder, if one ordered the candidates."""
    def as_dict(self) -> dict[str, Any]:
        """As in a line of ``pel link --format jsonl``."""

@final
class Concept:
    """A concept of the knowledge base."""

    # Comparable, not hashable.
    __hash__: ClassVar[None]  # type: ignore[assignment]
    @property
    def id(self) -> str:
        """The identifier."""
    @property
    def name(self) -> str:
        """The preferred name."""
    @property
    def synonyms(self) -> list[str]:
        """Other names."""
    @property
    def types(self) -> list[str]:
        """The semantic types, the primary one first."""
    @property
    def type_ids(self) -> list[str]:
        """The identifiers of the semantic types, such as TUIs, if the source has them."""
    @property
    def definition(self) -> str | None:
        """The description, if there is one."""
    @property
    def sources(self) -> list[str]:
        """The vocabularies that the concept comes from."""
    @property
    def xrefs(self) -> list[str]:
        """The concept in other vocabularies."""
    @property
    def codes(self) -> list[Code]:
        """Its codes in standard systems, the preferred ones first."""
    @property
    def ancestors(self) -> list[tuple[str, str | None]]:
        """Identifier and name of the concepts and codes above it, the nearest first; empty if the bundle has
        no hierarchy."""
    def as_dict(self) -> dict[str, Any]:
        """As ``pel inspect --concept ID --json`` prints it."""

@final
class Attribute:
    """What stands beside a mention. Offsets count code points."""

    # Comparable, not hashable.
    __hash__: ClassVar[None]  # type: ignore[assignment]
    @property
    def name(self) -> str:
        """What it says: ``strength``, ``dose``, ``route``, ``frequency``, ``value``, ``unit``, ``date``, ``stage`` and others."""
    @property
    def start(self) -> int:
        """The first code point of its words."""
    @property
    def end(self) -> int:
        """The code point after its words."""
    @property
    def text(self) -> str:
        """Its words."""
    @property
    def value(self) -> str | dict[str, Any] | None:
        """The normal form, a dict for a frequency without a code in FHIR; None if the text does not settle it."""
    @property
    def prior(self) -> bool:
        """Whether it is an earlier value beside the present one."""

@final
class Relation:
    """A relation to another mention of the text. Offsets count code points."""

    # Comparable, not hashable.
    __hash__: ClassVar[None]  # type: ignore[assignment]
    @property
    def name(self) -> Literal["indication", "cause", "site", "finding", "excludes", "reaction"]:
        """What the other mention is to this one."""
    @property
    def start(self) -> int:
        """The first code point of the other mention."""
    @property
    def end(self) -> int:
        """The code point after the other mention."""
    @property
    def text(self) -> str:
        """The other mention."""

@final
class Link:
    """A mention with its decision. Offsets count code points unless the name says otherwise."""

    # Comparable, not hashable.
    __hash__: ClassVar[None]  # type: ignore[assignment]
    @property
    def start(self) -> int:
        """The first code point of the mention."""
    @property
    def end(self) -> int:
        """The code point after the mention."""
    @property
    def start_byte(self) -> int:
        """The first byte of the mention in UTF-8."""
    @property
    def end_byte(self) -> int:
        """The byte after the mention in UTF-8."""
    @property
    def fragments(self) -> list[tuple[int, int]]:
        """The pieces of a discontinuous mention, in code points; empty for a continuous one."""
    @property
    def text(self) -> str:
        """The mention; its fragments are joined by a space."""
    @property
    def read_as(self) -> str | None:
        """The long form of an abbreviation that the text defines."""
    @property
    def origin(self) -> Literal["name", "unknown_term", "detector", "given"]:
        """How the mention was found."""
    @property
    def decision(self) -> Literal["linked", "nil"]:
        """Whether the mention has a concept."""
    @property
    def nil_reason(self) -> str | None:
        """Why it has none."""
    @property
    def concept(self) -> Candidate | None:
        """The concept; None for NIL."""
    @property
    def code(self) -> Code | None:
        """The primary code of the concept, which is what a reader of its group expects; None without one."""
    @property
    def codes(self) -> list[Code]:
        """The codes of the concept in standard systems, the preferred ones first; empty for NIL."""
    @property
    def candidates(self) -> list[Candidate]:
        """The best candidates, best first, of NIL too."""
    @property
    def probability(self) -> float | None:
        """The probability that the best candidate is right, 0 to 1; None if the bundle has no such model."""
    @property
    def same_name(self) -> int:
        """How many concepts bear the mention as a name, if two or more and the best candidate is one; else 0."""
    @property
    def answer_sets(self) -> list[dict[str, Any]]:
        """Sets of answers, each with ``coverage``, ``concepts`` (identifiers) and ``nil``; empty unless asked for."""
    @property
    def group(self) -> Literal["problem", "drug", "procedure", "measurement", "anatomy", "device"] | None:
        """What kind of thing the mention is."""
    @property
    def asserted(self) -> bool:
        """Whether it is stated of the patient now."""
    @property
    def negated(self) -> bool:
        """Whether the mention is said to be absent."""
    @property
    def certainty(self) -> Literal["certain", "uncertain", "hypothetical"]:
        """How sure the author is."""
    @property
    def temporality(self) -> Literal["current", "historical", "future"]:
        """When the mention holds."""
    @property
    def experiencer(self) -> Literal["patient", "family", "other"]:
        """Whom the mention is about."""
    @property
    def section(self) -> str | None:
        """The section of the note, as named in the context rules."""
    @property
    def laterality(self) -> str | None:
        """The side of the body."""
    @property
    def severity(self) -> str | None:
        """How severe the problem is."""
    @property
    def allergy(self) -> str | None:
        """``allergen`` of a substance that the patient does not tolerate, ``reaction`` of what one did."""
    @property
    def attributes(self) -> list[Attribute]:
        """What stands beside the mention: doses, values, dates, stages, in the order of the text."""
    @property
    def relations(self) -> list[Relation]:
        """The mentions that the text relates to this one, which is the source."""
    def as_dict(self, doc: str | None = None) -> dict[str, Any]:
        """As a line of ``pel link --format jsonl``, with the field ``doc`` only if it is given here.

        There ``start`` and ``end`` count bytes, and ``start_code_point`` and ``end_code_point`` code points.
        """
    def as_json(self, doc: str | None = None) -> str:
        """:meth:`as_dict` as JSON in one line."""

@final
class RecordBatch:
    """An Arrow record batch. Read it with pyarrow, polars, pandas or any other reader of the C data interface."""

    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Engine:
    """What :class:`pel_linker.Linker` wraps. Not for direct use."""

    def __new__(
        cls,
        path: str,
        threads: int | None = None,
        device: str = "cpu",
        gpu: int | None = None,
        context_rules: str = "english",
        wordings: str | None = None,
        ranker: str | None = None,
        rerank: int | None = None,
    ) -> Engine: ...
    @property
    def threads(self) -> int: ...
    @property
    def dim(self) -> int: ...
    def link(
        self, texts: Iterable[str], spans: Sequence[Any] | None = None, spans_only: bool = False, **options: Any
    ) -> list[list[Link]]: ...
    def link_arrow(
        self,
        texts: Iterable[str],
        ids: Iterable[str | int] | None = None,
        spans: Sequence[Any] | None = None,
        spans_only: bool = False,
        **options: Any,
    ) -> RecordBatch: ...
    def write(
        self,
        text: str,
        format: str,
        name: str,
        date: str | None = None,
        omop_first_id: int | None = None,
        spans: Sequence[Any] | None = None,
        spans_only: bool = False,
        **options: Any,
    ) -> str: ...
    def encode(self, texts: Iterable[str]) -> numpy.typing.NDArray[numpy.float32]: ...
    def search(self, name: str, k: int) -> list[Candidate]: ...
    def concept(self, id: str) -> Concept: ...
    def info(self) -> dict[str, Any]: ...
