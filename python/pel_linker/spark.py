"""PEL in Apache Spark: a function for ``DataFrame.mapInArrow`` that links notes.

    from pel_linker.spark import NoteLinker

    link = NoteLinker(bundle="/models/default.pel", text_column="text", id_column="note_id")
    linked = notes.mapInArrow(link, link.schema(notes))

Executors need this package and the bundle. The module imports no part of Spark. Spark passes a
:class:`NoteLinker` by reference, so that all tasks of a worker process share one open bundle.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

from pel_linker import InputError, InternalError, Linker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame  # type: ignore[import-not-found,unused-ignore]

__all__ = ["CODE", "MENTION", "NoteLinker", "ddl"]

#: A code of a concept in a standard system.
CODE = pa.struct(
    [
        ("system", pa.string()),
        ("code", pa.string()),
        ("display", pa.string()),
        ("match", pa.string()),
        ("billable", pa.bool_()),
    ]
)

#: A mention of a note, with the columns of ``Linker.link_arrow``. Offsets are code points.
MENTION = pa.struct(
    [
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("fragments", pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64())]))),
        ("text", pa.string()),
        ("read_as", pa.string()),
        ("origin", pa.string()),
        ("group", pa.string()),
        ("negated", pa.bool_()),
        ("certainty", pa.string()),
        ("temporality", pa.string()),
        ("experiencer", pa.string()),
        ("section", pa.string()),
        ("laterality", pa.string()),
        ("severity", pa.string()),
        ("allergy", pa.string()),
        ("decision", pa.string()),
        ("nil_reason", pa.string()),
        ("probability", pa.float32()),
        ("concept", pa.string()),
        ("name", pa.string()),
        ("types", pa.list_(pa.string())),
        ("xrefs", pa.list_(pa.string())),
        ("codes", pa.list_(CODE)),
        ("score", pa.float32()),
        ("candidates", pa.list_(pa.struct([("id", pa.string()), ("name", pa.string()), ("score", pa.float32())]))),
    ]
)


@dataclass(frozen=True)
class NoteLinker:
    """Links the notes of Arrow record batches: one row a note comes in, and one row a note goes out.

    A row has the column of identifiers as it was, ``mentions``, and ``error``. ``mentions`` is null if
    the note could not be linked; ``error`` then says why. An error never has the text of a note.
    """

    bundle: str | None = None
    """A bundle, as a folder or a packed file, on each executor; ``None`` finds the default bundle."""
    text_column: str = "text"
    """The column of texts."""
    id_column: str = "id"
    """The column of identifiers, of any type."""
    context_rules: str = "english"
    """Rules of context: a built-in set, or a file on each executor."""
    threads: int | None = 1
    """Threads of each worker; as many as ``spark.task.cpus``."""
    batch: int = 64
    """Notes that are linked at once."""
    options: dict[str, Any] = field(default_factory=lambda: {"k": 1})
    """Arguments of ``Linker.link`` for all notes: ``k``, ``threshold``, ``asserted``, ``xrefs`` and so on."""

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise ValueError(f"expected 1 or more notes in a batch, found {self.batch}")
        if self.text_column == self.id_column:
            raise ValueError(f"expected two columns, found {self.text_column} for the text and for the identifier")
        if self.id_column in ("mentions", "error"):
            raise ValueError(f"expected another name than {self.id_column} for the column of identifiers")

    def schema(self, notes: DataFrame) -> str:
        """The schema of the output for a data frame of notes, in Spark's DDL."""
        columns = dict(notes.dtypes)
        for column in (self.id_column, self.text_column):
            if column not in columns:
                raise ValueError(f"expected the column {column}, found {', '.join(columns)}")
        if columns[self.text_column] != "string":
            raise ValueError(f"expected texts in {self.text_column}, found {columns[self.text_column]}")
        return f"`{self.id_column}` {columns[self.id_column]}, mentions {ddl(pa.list_(MENTION))}, error STRING"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Links record batches that have both columns."""
        linker = _open(self.bundle, self.threads, self.context_rules)
        # Options that are wrong stop the task, instead of being an error of each note.
        linker.link("", **self.options)
        for batch in batches:
            for start in range(0, batch.num_rows, self.batch):
                rows = batch.slice(start, self.batch)
                texts = rows.column(self.text_column).to_pylist()
                mentions, errors = self._link(linker, texts)
                yield pa.RecordBatch.from_arrays(
                    [rows.column(self.id_column), mentions, pa.array(errors, pa.string())],
                    names=[self.id_column, "mentions", "error"],
                )

    def _link(self, linker: Linker, texts: Sequence[str | None]) -> tuple[pa.ListArray, list[str | None]]:
        """The mentions and the error of each text."""
        given = [(str(at), text) for at, text in enumerate(texts) if text is not None]
        errors = [None if text is not None else "the note has no text" for text in texts]
        try:
            found = pa.record_batch(
                linker.link_arrow([text for _, text in given], ids=[at for at, _ in given], **self.options)
            )
        except (InputError, InternalError) as error:
            # What is wrong with one note must not stop the others. All else, such as a device that failed, stops the
            # task, and Spark tries it again.
            if len(texts) == 1:
                return pa.nulls(1, pa.list_(MENTION)), [str(error)]
            parts = [self._link(linker, [text]) for text in texts]
            return pa.concat_arrays([mentions for mentions, _ in parts]), [error for _, (error,) in parts]
        return _grouped(found, texts), errors


def _grouped(found: pa.RecordBatch, texts: Sequence[str | None]) -> pa.ListArray:
    """A list of mentions for each text, from rows whose ``doc`` is the position of the text; null for no text."""
    counts = Counter(found.column("doc").to_pylist())
    starts: list[int | None] = []
    total = 0
    for at, text in enumerate(texts):
        starts.append(None if text is None else total)
        total += counts[str(at)]
    columns = [found.column(part.name).cast(part.type) for part in MENTION]
    mentions = pa.StructArray.from_arrays(columns, fields=list(MENTION))
    return pa.ListArray.from_arrays(pa.array([*starts, total], pa.int32()), mentions)


@functools.lru_cache(maxsize=1)
def _open(bundle: str | None, threads: int | None, context_rules: str) -> Linker:
    """The linker of this process, which is opened once: Spark reuses a worker for the next tasks."""
    return Linker.open(bundle, threads=threads, context_rules=context_rules)


def ddl(kind: pa.DataType) -> str:
    """A type of Arrow in Spark's DDL."""
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'`{part.name}`: {ddl(part.type)}' for part in kind)}>"
    if pa.types.is_list(kind):
        return f"ARRAY<{ddl(kind.value_type)}>"
    names = {
        pa.string(): "STRING",
        pa.int32(): "INT",
        pa.int64(): "BIGINT",
        pa.float32(): "FLOAT",
        pa.float64(): "DOUBLE",
        pa.bool_(): "BOOLEAN",
    }
    if kind not in names:
        raise TypeError(f"expected a type that Spark has a name for, found {kind}")
    return names[kind]
