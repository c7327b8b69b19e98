"""The parts of `peers.py`, one subject a file: what the peers do, what pel does, and how both are set side by side."""
