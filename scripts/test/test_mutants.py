"""Tests of `scripts/test/mutants` on a small tree, with a Cargo that is a shell script."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

LOADER = importlib.machinery.SourceFileLoader("mutants", str(pathlib.Path(__file__).with_name("mutants")))
mutants = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", LOADER))
LOADER.exec_module(mutants)

SOURCE = """pub fn is_adult(age: u32) -> bool {
    age >= 18
}

#[cfg(test)]
mod tests {
    #[test]
    fn eighteen_is_adult() {
        let age = 18;
        assert!(age >= 18);
    }
}
"""
LIST = """# A comment.

= eighteen is no adult
shared/ages/src/age.rs
- age >= 18
+ age > 18
pel-ages age::tests::eighteen_is_adult

= nobody is an adult
shared/ages/src/age.rs
- age >= 18
+ age > 9000
pel-ages age::tests::eighteen_is_adult
"""
# Fails a test of `age > 18`, and does not build `broken`.
CARGO = """#!/bin/sh
case "$*" in *--no-run*) ! grep -q broken shared/ages/src/age.rs; exit ;; esac
if grep -q 'age > 18' shared/ages/src/age.rs; then
    echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored'
    exit 101
fi
echo 'test result: ok. 1 passed; 0 failed; 0 ignored'
"""


class Lists(unittest.TestCase):
    def test_a_mutation_has_five_lines(self):
        first, second = mutants.parse(LIST)
        self.assertEqual(
            first, ("eighteen is no adult", 3, "shared/ages/src/age.rs", "age >= 18", "age > 18", "pel-ages", "age::tests::eighteen_is_adult")
        )
        self.assertEqual((second.name, second.line), ("nobody is an adult", 9))
        for wrong, message in [
            (LIST.replace("+ age > 18\n", ""), "tests/mutants.txt:3: expected 5 lines"),
            (LIST.replace("+ age > 18\n", "+ age >= 18\n"), "tests/mutants.txt:6: expected a change"),
            (LIST.replace("pel-ages age::tests::eighteen_is_adult\n\n", "pel-ages\n\n"), "tests/mutants.txt:7: expected a package"),
            (LIST.replace("nobody is an adult", "eighteen is no adult"), "tests/mutants.txt:3: expected each name once"),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                mutants.parse(wrong)

    def test_only_code_outside_tests_is_changed(self):
        mutation = mutants.parse(LIST)[0]
        self.assertEqual(mutants.mutated(mutation, SOURCE), SOURCE.replace("age >= 18\n", "age > 18\n"))
        with self.assertRaisesRegex(ValueError, "found it 2 times"):
            mutants.mutated(mutation, SOURCE.replace("\n#[cfg(test)]", "// age >= 18\n#[cfg(test)]"))

    def test_samples_are_evenly_spread(self):
        mutations = mutants.parse(LIST)
        self.assertEqual(mutants.chosen(mutations, ["nobody"], 0), mutations[1:])
        self.assertEqual(mutants.chosen(mutations, [], 1), mutations[:1])
        self.assertEqual(mutants.chosen(mutations, ["age.rs"], 5), mutations)


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, programs = pathlib.Path(folder.name, "tree"), pathlib.Path(folder.name, "programs")
        self.write("shared/ages/src/age.rs", SOURCE)
        self.write("shared/ages/Cargo.toml", '[package]\nname = "pel-ages"\n')
        self.write("tests/mutants.txt", LIST)
        subprocess.run(["git", "init", "--quiet", str(self.root)], check=True)
        programs.mkdir()
        (programs / "cargo").write_text(CARGO)
        (programs / "cargo").chmod(0o755)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        for patch in (
            mock.patch.object(mutants, "ROOT", self.root),
            mock.patch.dict(os.environ, {"PATH": path, "PEL_CACHE": str(pathlib.Path(folder.name, "cache"))}),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run_main(self, *arguments):
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                status = mutants.main(list(arguments))
            except SystemExit as ended:
                status = ended.code
        return status, out.getvalue(), errors.getvalue()

    def test_missed_mutations_fail(self):
        status, out, _ = self.run_main()
        self.assertEqual(status, 1)
        self.assertIn("caught     shared/ages/src/age.rs: eighteen is no adult", out)
        self.assertIn("MISSED     shared/ages/src/age.rs: nobody is an adult", out)
        self.assertIn("1 of 2 mutations are caught", out)
        # Neither the tree nor its copy is left changed.
        self.assertEqual((self.root / "shared/ages/src/age.rs").read_text(), SOURCE)
        self.assertEqual((pathlib.Path(os.environ["PEL_CACHE"]) / "mutants/shared/ages/src/age.rs").read_text(), SOURCE)
        self.assertEqual(self.run_main("eighteen")[0], 0)

    def test_mutations_that_do_not_build_fail(self):
        self.write("tests/mutants.txt", LIST.replace("age > 9000", "broken"))
        status, out, _ = self.run_main("nobody")
        self.assertEqual(status, 1)
        self.assertIn("NO BUILD   shared/ages/src/age.rs: nobody is an adult", out)

    def test_the_list_is_checked_against_the_tree(self):
        self.assertEqual(self.run_main("--check")[:2], (0, "tests/mutants.txt: 2 mutations fit the tree\n"))
        self.write("shared/ages/src/age.rs", SOURCE.replace("eighteen_is_adult", "other"))
        status, _, errors = self.run_main("--check")
        self.assertEqual(status, 1)
        self.assertIn("tests/mutants.txt:7: expected the test eighteen_is_adult in shared/ages/src/age.rs, found none", errors)


if __name__ == "__main__":
    unittest.main()
