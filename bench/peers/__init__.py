"""The parts of `peers.py`, one subject per file."""
