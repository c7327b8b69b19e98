"""``python -m pel_linker`` is the command line ``pel``."""

from __future__ import annotations

import sys

from ._pel import main as _main


def main() -> int:
    """Run the command line with the arguments of the process."""
    return _main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
