"""``python -m pel`` is the command line ``pel``."""

import sys

from pel_linker.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
