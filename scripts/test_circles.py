"""Tests of `scripts/circles` on a small tree: files that use each other, and arrows against the plan, are reported."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("circles", str(pathlib.Path(__file__).with_name("circles")))
circles = importlib.util.module_from_spec(importlib.util.spec_from_loader("circles", LOADER))
LOADER.exec_module(circles)

PLAN = {"low": ["one/src/low", "one/src/lib"], "high": ["one/src/high", "two/src"]}

RIGHT = {
    "one/src/lib.rs": "pub mod high;\npub mod low;\npub use low::inner::Value;\n",
    "one/src/low/mod.rs": "pub mod inner;\nmod other;\npub struct Shared;\nfn f() { inner::make() }\n",
    "one/src/low/inner.rs": "use super::Shared;\npub struct Value;\npub fn make() {}\n"
    "#[cfg(test)]\nmod tests {\n    use crate::high::Top;\n}\n",
    "one/src/low/other.rs": "use super::inner::{self, Value as Named};\nfn f(x: Named) { inner::make() }\n",
    "one/src/high.rs": "use crate::Value;\npub struct Top(Value);\n",
    "two/src/lib.rs": "use one::high::Top;\n",
}


class Circles(unittest.TestCase):
    def found(self, changed, known=()):
        circles.CRATES, circles.PLAN = {"one": "one/src", "two": "two/src"}, PLAN
        circles.KNOWN = set(known)
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**RIGHT, **changed}.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return circles.main({}, pathlib.Path(folder))

    def test_arrows_down_between_a_folder_and_its_files_and_of_tests_pass(self):
        self.assertEqual(self.found({}), [])

    def test_files_that_use_each_other_are_reported(self):
        found = self.found({"one/src/low/inner.rs": "use super::other::f;\npub struct Value;\npub fn make() {}\n"})
        self.assertEqual(found[0], "circle: one/src/low/inner, one/src/low/other")
        self.assertIn("  one/src/low/inner.rs:1 uses one/src/low/other.rs: super::other::f", found)
        self.assertEqual(self.found({"one/src/low/inner.rs": "use super::other::f;"}, {"one/src/low"}), [])

    def test_re_exports_are_followed(self):
        lib = "pub mod high;\npub mod low;\npub use high::Top as Shown;\n"
        found = self.found({"one/src/low/other.rs": "use crate::Shown;\n", "one/src/lib.rs": lib})
        self.assertIn("one/src/low/other.rs:1: low must not use high: crate::Shown (one/src/high.rs)", found)

    def test_arrows_up_are_reported(self):
        found = self.found({"one/src/low/other.rs": "fn f() { crate::high::Top::new() }\n"})
        self.assertIn("one/src/low/other.rs:1: low must not use high: crate::high::Top::new (one/src/high.rs)", found)


if __name__ == "__main__":
    unittest.main()
