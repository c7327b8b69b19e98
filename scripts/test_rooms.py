"""Tests of `scripts/rooms` on a small tree: right imports pass, each kind of wrong import is named with its file and line."""
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

LOADER = importlib.machinery.SourceFileLoader("rooms", str(pathlib.Path(__file__).with_name("rooms")))
rooms = importlib.util.module_from_spec(importlib.util.spec_from_loader("rooms", LOADER))
LOADER.exec_module(rooms)

DESIGN = """# Design

## Rooms

| `one/src` | what |
| --- | --- |
| `low` `beside` | values |
| `high` | all |

## Another

| `other` | no room |
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


class Rooms(unittest.TestCase):
    def found(self, changed, design=DESIGN):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "DESIGN.md").write_text(design)
            for name, text in {**RIGHT, **changed}.items():
                path = root / "one/src" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return sorted(rooms.check(root))

    def test_imports_of_lower_rooms_tests_comments_and_strings_pass(self):
        self.assertEqual(self.found({}), [])

    def test_an_import_upwards_is_named(self):
        upwards = ["one/src/low.rs:2: room low must not use room high"]
        for line in ["use crate::high::top;", "use super::high;", "fn f() { crate::high::top() }"]:
            self.assertEqual(self.found({"low.rs": f"\n{line}\n"}), upwards, line)
        tree = "use crate::{\n    low::{self, high as name},\n    high::{top},\n};\n"
        self.assertEqual(self.found({"low.rs": tree}), ["one/src/low.rs:3: room low must not use room high"])

    def test_an_import_between_rooms_of_one_row_is_named(self):
        found = self.found({"beside/inner.rs": "use super::super::low;\n"})
        self.assertEqual(found, ["one/src/beside/inner.rs:1: room beside must not use room low"])

    def test_an_import_behind_a_test_is_named(self):
        text = "#[cfg(test)]\nuse crate::high::{top};\nuse crate::high::top;\n"
        self.assertEqual(self.found({"low.rs": text}), ["one/src/low.rs:3: room low must not use room high"])

    def test_the_root_of_the_crate_stands_above_its_rooms(self):
        found = self.found({"high.rs": "use crate::Item;\n"})
        self.assertEqual(found, ["one/src/high.rs:1: room high must not use room Item"])

    def test_rooms_and_rows_are_the_same(self):
        self.assertEqual(len(self.found({"new.rs": ""})), 1)
        self.assertEqual(len(self.found({}, DESIGN.replace("`high`", "`high` `gone`"))), 1)


if __name__ == "__main__":
    unittest.main()
