"""The commands of ``pel`` as functions.

Each runs in a process of its own, so that its memory is returned at the end and Ctrl-C ends it
cleanly. Options are those of the command with underscores: ``pel index --entity-tokens 24`` is
``index(..., entity_tokens=24)``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Union

from . import _errors

if TYPE_CHECKING:
    StrPath = Union[str, os.PathLike[str]]

_KINDS: Mapping[int, type[_errors.Error]] = {
    2: _errors.UsageError,
    3: _errors.InputError,
    4: _errors.ArtifactError,
    5: _errors.DeviceError,
    6: _errors.FileError,
    70: _errors.InternalError,
    130: _errors.Interrupted,
}

#: Lines of standard error that an error message is looked for in.
_LINES = 50


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_value(item) for item in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _arguments(options: Mapping[str, Any]) -> Iterable[str]:
    """Options of a command: True is a flag, None and False leave the option out."""
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            yield flag
        elif value is not None and value is not False:
            # One argument, so that a negative number is not read as an option.
            yield f"{flag}={_value(value)}"


def run(command: str, *args: str | os.PathLike[str], progress: bool = False, **options: Any) -> str:
    """Run a command of ``pel`` and return what it prints.

    ``run("export", "bundle", out="encoder")`` is ``pel export bundle --out encoder``. A list is
    joined by commas; an option that is repeated must be given in ``args``.

    :param progress: whether progress and warnings of the command are shown on standard error.
    :raises Error: the subclass for its exit code, with its message.
    :raises KeyboardInterrupt: after Ctrl-C, when the command has ended.
    """
    given = [os.fspath(arg) for arg in args]
    line = [sys.executable, "-m", "pel_linker", command, *given, *_arguments(options)]
    last: deque[str] = deque(maxlen=_LINES)
    process = subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdout is not None and process.stderr is not None
    errors = process.stderr

    def read() -> None:
        for said in errors:
            last.append(said)
            if progress:
                sys.stderr.write(said)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        printed = process.stdout.read()
        code = process.wait()
    except BaseException:
        # Ctrl-C in a terminal has reached the command too; elsewhere it has not.
        process.terminate()
        process.wait()
        raise
    finally:
        reader.join(timeout=1)
        process.stdout.close()
        errors.close()
    if code == 0:
        return printed
    kind = _KINDS.get(code, _errors.Error)
    raise kind(_message(list(last), command, code))


def _message(last: list[str], command: str, code: int) -> str:
    """The message of a command that failed: what follows the last ``pel:`` or ``error:``."""
    for at in range(len(last) - 1, -1, -1):
        for mark in ("pel: ", "error: "):
            if last[at].startswith(mark):
                return "".join(last[at:])[len(mark) :].strip()
    return f"pel {command} ended with exit code {code}"


def _json(command: str, *args: str | os.PathLike[str], progress: bool, **options: Any) -> Any:
    printed = run(command, *args, progress=progress, json=True, **options)
    return json.loads(printed) if printed.strip() else None


def index(
    kb: StrPath, out: StrPath, *, encoder: StrPath | None = None, progress: bool = False, **options: Any
) -> dict[str, Any]:
    """Encode every concept of a knowledge base and write a bundle.

    :param kb: the concept table that ``pel import`` writes, JSONL.
    :param out: the bundle to write: a folder, or one file if the name ends in ``.pel``.
    :param encoder: a folder of an encoder or a bundle. Default: the bundle of ``default_bundle()``.
    :param options: those of ``pel index``.
    :returns: the summary of ``pel index --json``.
    """
    if encoder is None:
        from ._bundle import default_bundle

        encoder = default_bundle()
    found = _json("index", progress=progress, kb=kb, out=out, encoder=encoder, **options)
    return dict(found)


def evaluate(
    bundle: StrPath | None = None,
    *,
    corpus: StrPath | None = None,
    progress: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Measure a bundle on annotated mentions, or with ``raw=True`` on raw text.

    :param bundle: the bundle. Default: that of ``default_bundle()``.
    :param corpus: a corpus folder of ``pel import``; ``notes=FILE`` with ``raw=True`` takes its place.
    :param options: those of ``pel evaluate``.
    :returns: the measures of ``pel evaluate --json``.
    """
    if bundle is None:
        from ._bundle import default_bundle

        bundle = default_bundle()
    found = _json("evaluate", progress=progress, bundle=bundle, corpus=corpus, **options)
    return dict(found)


def calibrate(
    bundle: StrPath, *, corpus: StrPath | None = None, progress: bool = False, **options: Any
) -> dict[str, Any]:
    """Fit the probability of links and choose the NIL threshold. Both are stored in the bundle.

    :param bundle: the bundle, which changes.
    :param corpus: a corpus folder of ``pel import``.
    :param options: those of ``pel calibrate``.
    :returns: the choice and its measures, as ``pel calibrate --json`` prints them.
    """
    found = _json("calibrate", bundle, progress=progress, corpus=corpus, **options)
    return dict(found)


def train(
    config: StrPath | Mapping[str, Any] | None = None,
    out: StrPath | None = None,
    *,
    progress: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Train a bi-encoder, a cross-encoder or a detector. The same call resumes after an interruption.

    :param config: a file, TOML or JSON, or its content as a mapping:
        ``{"optimiser": {"epochs": 3}}``. ``pel train --print`` shows all options.
    :param out: the folder of the run.
    :param options: those of ``pel train``, such as ``stage``, ``corpus``, ``kb``, ``encoder``, ``seed``.
    :returns: the summary of ``pel train --json``; ``model`` is the folder of the model.
    """
    settings: list[str] = []
    if isinstance(config, Mapping):
        settings = [f"--set={key}={json.dumps(value)}" for key, value in _flat(config)]
        config = None
    found = _json("train", *settings, progress=progress, config=config, out=out, **options)
    return dict(found)


def _flat(config: Mapping[str, Any], within: str = "") -> Iterable[tuple[str, Any]]:
    """The settings of a nested mapping, with dotted keys. None leaves a setting out."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{key}.")
        elif value is not None:
            yield f"{within}{key}", os.fspath(value) if isinstance(value, os.PathLike) else value
