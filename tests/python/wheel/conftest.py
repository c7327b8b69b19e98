"""The tests of the installed package pel_linker. scripts/test/wheel-test runs them."""

import pathlib

import pytest

from pel_linker import Linker

ROOT = pathlib.Path(__file__).resolve().parents[3]
TEXT = "😷 65-year-old man with T2DM. No chest pain. Father had COPD."


@pytest.fixture(scope="session")
def linker():
    return Linker.open(threads=2)


@pytest.fixture
def text():
    return TEXT
