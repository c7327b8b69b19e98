"""Tests of `scripts/test/instructions`: which counts pass, which fail, and which are not compared."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import unittest

LOADER = importlib.machinery.SourceFileLoader("instructions", str(pathlib.Path(__file__).with_name("instructions")))
instructions = importlib.util.module_from_spec(importlib.util.spec_from_loader("instructions", LOADER))
LOADER.exec_module(instructions)

FOUND = {"architecture": "x86_64", "instructions": "avx2", "rust": "1.95", "build": "debug", "bundle": "b1"}
BASELINES = [
    {**FOUND, "rust": "1.94", "counts": {"encode": 1, "search": 1, "note": 1}},
    {**FOUND, "counts": {"encode": 1000, "search": 2000, "note": 3000}},
]


def judged(counts, **other):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        wrong = instructions.judge({**FOUND, **other}, counts, BASELINES)
    return wrong, said.getvalue()


class Judged(unittest.TestCase):
    def test_up_to_five_percent_more_passes(self):
        self.assertIsNone(judged({"encode": 1050, "search": 2000, "note": 3000})[0])

    def test_more_fails_and_names_the_parts(self):
        wrong, said = judged({"encode": 1051, "search": 2000, "note": 3200})
        self.assertTrue(wrong.startswith("encode, note: more than 1.05"), wrong)
        self.assertIn("1.051", said)

    def test_less_is_told(self):
        wrong, said = judged({"encode": 900, "search": 2000, "note": 3000})
        self.assertIsNone(wrong)
        self.assertIn("encode: less than the baseline", said)

    def test_what_is_not_comparable_is_not_compared(self):
        for name, value in [("architecture", "aarch64"), ("instructions", "base"), ("rust", "1.96"), ("build", "quick")]:
            wrong, said = judged({"encode": 9000, "search": 9000, "note": 9000}, **{name: value})
            self.assertIsNone(wrong)
            self.assertIn("no baseline for ", said)
            self.assertIn(f"{name} {value}", said)

    def test_calls_of_allocating_functions_are_counted(self):
        profile = """fn=(1) main
10 5
cfn=(2) malloc
calls=3 0
11 90
cfn=(3) free
calls=4 0
12 50
fn=(4) other
cfn=(2)
calls=2 0
13 60
cfn=(5) realloc
calls=1 0
14 20
"""
        self.assertEqual(instructions.allocations(profile.splitlines()), 6)

    def test_another_bundle_fails(self):
        wrong, _ = judged({"encode": 1000, "search": 2000, "note": 3000}, bundle="b2")
        self.assertIn("expected counts of bundle b2, found those of b1", wrong)


if __name__ == "__main__":
    unittest.main()
