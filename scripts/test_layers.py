"""Tests of `scripts/layers` on a small tree: correct imports pass; each wrong import is reported with file and line."""
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

LOADER = importlib.machinery.SourceFileLoader("layers", str(pathlib.Path(__file__).with_name("layers")))
layers = importlib.util.module_from_spec(importlib.util.spec_from_loader("layers", LOADER))
LOADER.exec_module(layers)

ARCHITECTURE = """# Architecture

## Layers

| `one/src` | layer | what |
| --- | --- | --- |
| `low` | 1 | values |
| `beside` | 1 | other values |
| `high` | 2 | all |

## Another

| `other` | 3 | no module |
"""

RIGHT = {
    "lib.rs": "pub mod beside;\npub mod high;\npub mod low;\nuse crate::high::top;\n",
    "low.rs": "// crate::high::top\npub fn value() -> &'static str { \"crate::high::top\" }\n"
    "#[cfg(test)]\nmod tests {\n    use crate::high::top;\n}\n",
    "beside/mod.rs": "mod inner;\n#[cfg(test)]\nmod checks;\n",
    "beside/inner.rs": "use super::super::beside;\nuse super::checks;\n",
    "beside/checks.rs": "use crate::high::top;\n",
    "high.rs": "use super::low;\nuse crate::{beside::inner, low::value};\npub fn top() { crate::low::value() }\n",
}


class Layers(unittest.TestCase):
    def found(self, changed, document=ARCHITECTURE):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "ARCHITECTURE.md").write_text(document)
            for name, text in {**RIGHT, **changed}.items():
                path = root / "one/src" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return sorted(layers.check(root))

    def test_imports_of_lower_layers_tests_comments_and_strings_pass(self):
        self.assertEqual(self.found({}), [])

    def test_an_import_of_a_higher_layer_is_reported(self):
        expected = ["one/src/low.rs:2: module low must not use module high"]
        for line in ["use crate::high::top;", "use super::high;", "fn f() { crate::high::top() }"]:
            self.assertEqual(self.found({"low.rs": f"\n{line}\n"}), expected, line)
        tree = "use crate::{\n    low::{self, high as name},\n    high::{top},\n};\n"
        self.assertEqual(self.found({"low.rs": tree}), ["one/src/low.rs:3: module low must not use module high"])

    def test_an_import_within_a_layer_is_reported(self):
        found = self.found({"beside/inner.rs": "use super::super::low;\n"})
        self.assertEqual(found, ["one/src/beside/inner.rs:1: module beside must not use module low"])

    def test_an_import_after_a_test_is_reported(self):
        text = "#[cfg(test)]\nuse crate::high::{top};\nuse crate::high::top;\n"
        self.assertEqual(self.found({"low.rs": text}), ["one/src/low.rs:3: module low must not use module high"])

    def test_an_import_of_the_crate_root_is_reported(self):
        found = self.found({"high.rs": "use crate::Item;\n"})
        self.assertEqual(found, ["one/src/high.rs:1: module high must not use module Item"])

    def test_missing_and_surplus_rows_are_reported(self):
        self.assertEqual(len(self.found({"new.rs": ""})), 1)
        surplus = ARCHITECTURE.replace("| `high` |", "| `gone` | 2 | nothing |\n| `high` |")
        self.assertEqual(len(self.found({}, surplus)), 1)


if __name__ == "__main__":
    unittest.main()
