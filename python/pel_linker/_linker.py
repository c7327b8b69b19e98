"""The linker: texts in, links out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union, overload

from ._bundle import default_bundle
from ._pel import Candidate, Concept, Engine, Link, RecordBatch, unpickled

if TYPE_CHECKING:
    import numpy
    import numpy.typing
    from typing_extensions import Unpack

    #: A given mention, in code points: (start, end), or the fragments of a discontinuous one.
    Span = Union[tuple[int, int], Sequence[tuple[int, int]]]
    StrPath = Union[str, os.PathLike[str]]

Device = Literal["auto", "cpu", "vulkan", "cuda"]


class LinkOptions(TypedDict, total=False):
    """The keyword options of :meth:`Linker.link` that hold for all texts. All may be left out."""

    k: int
    """Candidates of each mention, 1 to 1000. Default: 5."""
    threshold: float | None
    """NIL threshold in place of the bundle's: the lowest probability that is linked, or the lowest
    score if the bundle has no probabilities."""
    asserted: bool
    """Whether only links are returned that are stated of the patient now: nothing negated,
    uncertain, past, planned or of someone else."""
    sets: bool
    """Whether links have sets of answers that hold the right one with a probability of 90 and 95 %.
    The bundle must have probabilities."""
    xrefs: Sequence[str] | None
    """Prefixes of the cross-references to keep, in any case: ``["ICD10CM", "SNOMED"]``. None keeps
    all."""
    codes: Sequence[str] | None
    """Code systems of the codes to keep, in this order: ``["SNOMEDCT", "ICD10CM"]``. The first one in
    which a concept has a code gives its primary code. None keeps all. The bundle must have codes."""
    under: Sequence[str] | None
    """Only links to these concepts and those below: identifiers of concepts, or codes with their system:
    ``["ICD10CM:E08-E13"]``. None keeps all, and NIL. The bundle must have a hierarchy."""
    ancestors: bool
    """Whether linked concepts have the concepts and codes above them. The bundle must have a
    hierarchy. Tables have no column for them."""
    overlapping: bool
    """Whether nested and overlapping mentions are found too ("knee" in "left knee pain")."""
    names_only: bool
    """Whether only names of the knowledge base are found: neither unknown terms nor what the
    detector of the bundle finds."""
    labels: str | None
    """Set of labels of the bundle's detector. Default: its first one."""


class Linker:
    """An open bundle. Threads may share it.

    It may be pickled: the copy opens the same path with the same options. After a fork the child
    may use it if no other thread of the parent was linking at that time.
    """

    __slots__ = ("_engine", "_opened")
    _engine: Engine
    _opened: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("use Linker.open(path) to open a bundle")

    @classmethod
    def open(
        cls,
        path: StrPath | None = None,
        *,
        threads: int | None = None,
        device: Device = "cpu",
        gpu: int | None = None,
        context_rules: StrPath = "english",
        wordings: StrPath | None = None,
        ranker: StrPath | None = None,
        rerank: int | None = None,
    ) -> Linker:
        """Open a bundle.

        :param path: a bundle of ``pel index``, a folder or a ``.pel`` file; without a path that of
            :func:`default_bundle`.
        :param threads: threads of this linker, 1 to 1024; None uses ``RAYON_NUM_THREADS`` or all cores.
        :param device: where the encoder runs. The published wheels compute on the CPU alone.
        :param gpu: the number of the GPU in ``pel devices``.
        :param context_rules: the rules for negation, certainty, time, person, side, severity and allergy:
            english, german, french, spanish, contextkit, or a rule file.
        :param wordings: a file of wordings that stand for names, in place of those of English, as
            ``pel link --wordings``.
        :param ranker: a cross-encoder of ``pel train --stage rank``, which orders the candidates.
        :param rerank: the number of candidates that it orders, at least 2.
        :raises FileError: if no path is given and no bundle is found, or a file cannot be read.
        :raises ArtifactError: if there is no bundle at the path, or it is damaged.
        :raises DeviceError: if there is no such device in this build or on this machine.
        """
        # An absolute path, so that a pickled linker opens the same bundle.
        at = Path(path) if path is not None else default_bundle()
        opened: dict[str, Any] = {
            "path": os.path.abspath(at),
            "threads": threads,
            "device": device,
            "gpu": gpu,
            "context_rules": os.fspath(context_rules),
            "wordings": None if wordings is None else os.path.abspath(wordings),
            "ranker": None if ranker is None else os.path.abspath(ranker),
            "rerank": rerank,
        }
        return _reopen(opened)

    @property
    def path(self) -> Path:
        """The absolute path of the bundle."""
        return Path(self._opened["path"])

    @property
    def threads(self) -> int:
        """The number of threads."""
        return self._engine.threads

    @property
    def dim(self) -> int:
        """The dimension of the encoder's vectors."""
        return self._engine.dim

    # A string is a sequence of strings too; the first that fits counts.
    @overload
    def link(  # type: ignore[overload-overlap]
        self,
        text: str,
        /,
        *,
        spans: Sequence[Span] | None = ...,
        spans_only: bool = ...,
        **options: Unpack[LinkOptions],
    ) -> list[Link]: ...

    @overload
    def link(
        self,
        texts: Iterable[str],
        /,
        *,
        spans: Sequence[Sequence[Span]] | None = ...,
        spans_only: bool = ...,
        **options: Unpack[LinkOptions],
    ) -> list[list[Link]]: ...

    def link(
        self,
        text: str | Iterable[str],
        /,
        *,
        spans: Sequence[Any] | None = None,
        spans_only: bool = False,
        **options: Unpack[LinkOptions],
    ) -> list[Link] | list[list[Link]]:
        """Find and link the mentions of one text, or of several texts together, which is faster.

        The links of a text are in its order. :class:`LinkOptions` describes the options.

        :param text: a text, or several: a list, a generator, a column of a table, an array of Arrow.
        :param spans: given mentions, in code points: ``(start, end)``, or a list of such pairs for
            a discontinuous mention. For several texts one sequence for each. Mentions that are
            found besides do not overlap them.
        :param spans_only: whether no other mentions are looked for.
        :raises InputError: if an option or a span does not fit.
        :raises DeviceError: if the device fails.
        """
        if isinstance(text, str):
            given = None if spans is None else [spans]
            return self._engine.link([text], given, spans_only, **options)[0]
        return self._engine.link(text, spans, spans_only, **options)

    def link_arrow(
        self,
        texts: Iterable[str],
        /,
        ids: Iterable[str | int] | None = None,
        *,
        spans: Sequence[Sequence[Span]] | None = None,
        spans_only: bool = False,
        **options: Unpack[LinkOptions],
    ) -> RecordBatch:
        """Link texts into an Arrow record batch with a row for each mention.

        pyarrow, polars, pandas and others read the batch through the Arrow C data interface,
        without copies: ``pyarrow.record_batch(batch)``, ``polars.DataFrame(batch)``.

        :param ids: the identifier of each text, a string or a whole number, for the column ``doc``,
            which has strings. Default: its position, "0", "1" and so on.
        """
        return self._engine.link_arrow(texts, ids, spans, spans_only, **options)

    def write(
        self,
        text: str,
        format: str,
        /,
        *,
        name: str = "note",
        date: str | None = None,
        omop_first_id: int | None = None,
        spans: Sequence[Span] | None = None,
        spans_only: bool = False,
        **options: Unpack[LinkOptions],
    ) -> str:
        """Link a text and write its links in a format of ``pel link --format``.

        :param format: one of :func:`formats`, such as ``"jsonl"``, ``"brat"`` or ``"html"``.
        :param name: the name of the note in the output.
        :param date: when the links were made, for formats that state it: ``"2026-11-26"`` or
            ``"2026-11-26T10:45:00Z"``. Default: that of ``SOURCE_DATE_EPOCH``, else now.
        :param omop_first_id: the first ``note_nlp_id`` of the format ``"omop"``. Default: 1, for each
            note, so count on for several notes of one table.
        """
        given = None if spans is None else [spans]
        return self._engine.write(
            text, format, name, date, omop_first_id, given, spans_only, **options
        )

    def encode(self, texts: Iterable[str], /) -> numpy.typing.NDArray[numpy.float32]:
        """The vectors of mentions, each the whole of a text.

        :returns: an array of shape ``[len(texts), dim]``. With cosine similarity rows have length 1.
        """
        return self._engine.encode(texts)

    def search(self, name: str, /, k: int = 5) -> list[Candidate]:
        """The ``k`` concepts whose names are nearest to a name, best first."""
        return self._engine.search(name, k)

    def concept(self, id: str, /) -> Concept:
        """The concept with an identifier. For a retired identifier its successor.

        :raises InputError: if the bundle has no such concept.
        """
        return self._engine.concept(id)

    def info(self) -> dict[str, Any]:
        """The manifest of the bundle: encoder, knowledge base, licences, index, NIL rule, files."""
        return self._engine.info()

    def __repr__(self) -> str:
        return f"<pel_linker.Linker {self._opened['path']!r}, {self.threads} threads>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (dict(self._opened),)


def _unpickled(kind: str, state: str) -> object:
    """A link, candidate or concept. Pickles name this function."""
    return unpickled(kind, state)


def _reopen(opened: Mapping[str, Any]) -> Linker:
    """A linker of the options of :meth:`Linker.open`. Pickles name this function."""
    linker = Linker.__new__(Linker)
    linker._opened = dict(opened)
    linker._engine = Engine(**opened)
    return linker
