"""Tests of `scripts/test/fuzz` with programs that are shell scripts: it counts, resumes, and leaves out what fails."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("fuzz")
# Prints what libFuzzer prints, and copies the corpus when it is to be minimised. Fails if there is a file "fail" beside it.
PROGRAM = """#!/bin/sh
for option in "$@"; do
    case $option in
        -merge=1) merge=yes ;;
        -artifact_prefix=*) crashes=${option#*=} ;;
        */corpus) corpus=$option ;;
        */least) least=$option ;;
    esac
done
if [ -n "$merge" ]; then cp "$corpus"/* "$least"; exit; fi
echo input >"$corpus/a"
echo '#2 INITED cov: 10 ft: 3'
if [ -f "$0.fail" ]; then
    echo input >"${crashes}crash-a"
    echo 'stat::number_of_executed_units: 7'
    exit 77
fi
sleep 1
echo '#400 NEW    cov: 12 ft: 3'
sleep 1
echo 'stat::number_of_executed_units: 500'
"""


class Fuzzing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name, "cache")
        programs = pathlib.Path(folder.name, "programs")
        lines = subprocess.run(["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        host = next(line[6:] for line in lines if line.startswith("host: "))
        self.programs = programs / host / "release"
        self.programs.mkdir(parents=True)
        for name in ("brat", "obo"):
            (self.programs / name).write_text(PROGRAM)
            (self.programs / name).chmod(0o755)
        self.environment = {**os.environ, "PEL_CACHE": str(self.cache), "PEL_FUZZ_TARGET_DIR": str(programs)}

    def fuzz(self, *arguments):
        """The exit status, and the rows of the report by target."""
        command = [str(SCRIPT), "--built", "--minutes", "1", *arguments]
        ran = subprocess.run(
            command, env=self.environment, timeout=120, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        report = self.cache / "fuzz/report.json"
        rows = json.loads(report.read_text()) if report.exists() else []
        return ran.returncode, {row["target"]: row for row in rows}, ran.stdout

    def test_rounds_end_when_all_targets_are_done_or_left_out(self):
        (self.programs / "obo.fail").touch()
        status, rows, output = self.fuzz("--inputs", "600", "--quiet", "1", "brat", "obo")
        self.assertEqual(status, 1, output)
        brat, obo = rows["brat"], rows["obo"]
        # 500 inputs are not enough; the second run finds no edge above 12.
        self.assertEqual((brat["inputs"], brat["first_edges"], brat["edges"], brat["done"]), (1000, 10, 12, True))
        self.assertEqual((brat["corpus"], brat["crashes"]), (1, 0))
        # It was tried five times, with the same crash.
        self.assertEqual((obo["inputs"], obo["crashes"], obo["done"]), (35, 1, False))
        self.assertIn("| brat | 1000 |", (self.cache / "fuzz/report.md").read_text())

    def test_a_killed_run_counts_and_another_program_restarts_the_counts(self):
        self.fuzz("obo")
        folder = self.cache / "fuzz/obo"
        # As a kill leaves it: no final count, and the corpus is being replaced.
        (folder / "running").write_text("0 #2 INITED cov: 10 ft: 3\n4 #90 NEW    cov: 13 ft: 3\n6 #100 pulse cov: 13 ft: 3\n")
        (folder / "corpus").rename(folder / "corpus.old")
        status, rows, output = self.fuzz("--inputs", "1", "obo")
        self.assertEqual(status, 0, output)
        self.assertEqual((rows["obo"]["inputs"], rows["obo"]["edges"], rows["obo"]["corpus"]), (600, 13, 1))
        (self.programs / "obo").write_text(PROGRAM + "# changed\n")
        self.assertEqual(self.fuzz("--inputs", "1", "obo")[1]["obo"]["inputs"], 500)

    def test_a_target_is_fuzzed_once_at_a_time(self):
        folder = self.cache / "fuzz/obo"
        folder.mkdir(parents=True)
        (folder / "pid").write_text(str(os.getpid()))
        status, _, output = self.fuzz("obo")
        self.assertEqual(status, 1)
        self.assertIn(f"obo is being fuzzed by process {os.getpid()}", output)


if __name__ == "__main__":
    unittest.main()
