"""Tests of `scripts/test/circles` on a small tree: circles of files, and dependencies against ARCHITECTURE.md, are reported."""
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

ARCHITECTURE = "\n## Crates\n\n| crate | what |\n| --- | --- |\n| `shared/one` | low |\n| `trainer/two` | high |\n\n## Decisions\n"

RIGHT = {
    "ARCHITECTURE.md": ARCHITECTURE,
    "shared/one/Cargo.toml": '[package]\nname = "pel-one"\n\n[dependencies]\nserde.workspace = true\n\n[dev-dependencies]\npel-two.workspace = true\n',
    "trainer/two/Cargo.toml": '[package]\nname = "pel-two"\n\n[dependencies]\npel-one.workspace = true\n',
    "shared/one/src/lib.rs": "pub mod high;\npub mod low;\npub use low::inner::Value;\n",
    "shared/one/src/low/mod.rs": "pub mod inner;\nmod other;\npub struct Shared;\nfn f() { inner::make() }\n",
    "shared/one/src/low/inner.rs": "use super::Shared;\npub struct Value;\npub fn make() {}\n"
    "#[cfg(test)]\nmod tests {\n    use crate::high::Top;\n}\n",
    "shared/one/src/low/other.rs": "use super::inner::{self, Value as Named};\nfn f(x: Named) { inner::make() }\n",
    "shared/one/src/high.rs": "use crate::low::Shared;\npub struct Top(Shared);\n",
    "trainer/two/src/lib.rs": "use pel_one::high::Top;\n",
}


class Circles(unittest.TestCase):
    def found(self, changed, known=()):
        circles.KNOWN = set(known)
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**RIGHT, **changed}.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return circles.main(pathlib.Path(folder))

    def test_downward_uses_those_between_a_folder_and_its_files_and_those_of_tests_pass(self):
        self.assertEqual(self.found({}), [])

    def test_files_that_use_each_other_are_reported(self):
        changed = {"shared/one/src/low/inner.rs": "use super::other::f;\npub struct Value;\npub fn make() {}\n"}
        found = self.found(changed)
        self.assertEqual(found[0], "circle: shared/one/src/low/inner, shared/one/src/low/other")
        self.assertIn("  shared/one/src/low/inner.rs:1 uses shared/one/src/low/other.rs: super::other::f", found)
        self.assertEqual(self.found(changed, {"shared/one/src/low"}), [])

    def test_re_exports_are_followed(self):
        lib = "pub mod high;\npub mod low;\npub use high::Top as Shown;\n"
        found = self.found({"shared/one/src/low/other.rs": "use crate::Shown;\n", "shared/one/src/lib.rs": lib})
        self.assertIn("  shared/one/src/low/other.rs:1 uses shared/one/src/high.rs: crate::Shown", found)

    def test_modules_that_use_each_other_are_reported(self):
        found = self.found({"shared/one/src/low/other.rs": "fn f() { crate::high::Top::new() }\n"})
        self.assertEqual(found[0], "circle: shared/one/src/high, shared/one/src/low")

    def test_dependencies_on_crates_that_are_not_above_are_reported(self):
        manifest = RIGHT["shared/one/Cargo.toml"].replace("serde.workspace", "pel-two.workspace")
        wrong = "shared/one/Cargo.toml:5: pel-one must not depend on pel-two, which is not above it in ARCHITECTURE.md"
        self.assertEqual(self.found({"shared/one/Cargo.toml": manifest}), [wrong])

    def test_crates_that_are_not_in_the_table_are_reported(self):
        found = self.found({"ARCHITECTURE.md": ARCHITECTURE.replace("| `trainer/two` | high |\n", "")})
        self.assertEqual(found, ["ARCHITECTURE.md: trainer/two is only in the table or only in the tree"])


if __name__ == "__main__":
    unittest.main()
