"""Which bundle is opened if none is named."""

from __future__ import annotations

import os
from pathlib import Path

from ._errors import FileError

#: The environment variable that names a bundle.
VARIABLE = "PEL_BUNDLE"

#: The bundle that the wheel brings.
PACKAGED = Path(__file__).parent / "data" / "default"


def default_bundle() -> Path:
    """The bundle that :meth:`Linker.open` uses without a path.

    It is the one that the environment variable ``PEL_BUNDLE`` names, a folder or a ``.pel`` file.
    If that is not set, or empty, it is the one that the package brings.

    :raises FileError: if there is neither.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    if (PACKAGED / "manifest.json").is_file():
        return PACKAGED
    raise FileError(
        f"the package brings no bundle; give Linker.open a path, or name a bundle by the variable {VARIABLE}"
    )
