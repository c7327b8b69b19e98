"""``python -m pel`` is the command line. The package to import is ``pel_linker``."""
