"""PEL links mentions in clinical notes and abstracts to concepts of a knowledge base.

>>> from pel_linker import Linker
>>> linker = Linker.open()  # the bundle that the package brings
>>> for link in linker.link("No chest pain. Known COPD."):
...     print(link.text, link.start, link.end, link.negated, link.concept)

Offsets count code points, as Python strings do. No text leaves the machine or is logged.
"""

from __future__ import annotations

from ._bundle import default_bundle
from ._commands import calibrate, evaluate, index, run, train
from ._errors import (
    ArtifactError,
    DeviceError,
    Error,
    FileError,
    InputError,
    InternalError,
    Interrupted,
    UsageError,
)
from ._linker import Linker
from ._pel import Attribute, Candidate, Code, Concept, Link, RecordBatch, Relation, __version__, formats

__all__ = [
    "ArtifactError",
    "Attribute",
    "Candidate",
    "Code",
    "Concept",
    "DeviceError",
    "Error",
    "FileError",
    "InputError",
    "InternalError",
    "Interrupted",
    "Link",
    "Linker",
    "RecordBatch",
    "Relation",
    "UsageError",
    "__version__",
    "calibrate",
    "default_bundle",
    "evaluate",
    "formats",
    "index",
    "run",
    "train",
]
