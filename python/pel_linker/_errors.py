"""The exceptions of the package, one for each kind of problem that `pel` tells apart."""

from __future__ import annotations


class Error(Exception):
    """The base of all exceptions of this package. Messages name the file, line or option."""


class UsageError(Error, ValueError):
    """Options that contradict each other, such as an output that is also an input. Exit code 2."""


class InputError(Error, ValueError):
    """Invalid input: a text, span, table, corpus or option. Exit code 3."""


class ArtifactError(Error):
    """A damaged or unsuitable bundle, model or index. Exit code 4."""


class DeviceError(Error):
    """A compute device is missing or failed. Exit code 5."""


class FileError(Error, OSError):
    """A file or folder cannot be read or written. Exit code 6."""


class InternalError(Error):
    """A bug in PEL. The message names a source file and line, never text. Exit code 70."""


class Interrupted(Error):
    """A command was ended by a signal other than Ctrl-C, which raises KeyboardInterrupt. Exit code 130."""
