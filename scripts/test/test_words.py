"""Tests of `scripts/test/words`: wrong texts are reported; names in code and links are exempt."""
import importlib.machinery
import importlib.util
import pathlib
import unittest

FOLDER = pathlib.Path(__file__).parent
LOADER = importlib.machinery.SourceFileLoader("words", str(FOLDER / "words"))
words = importlib.util.module_from_spec(importlib.util.spec_from_loader("words", LOADER))
LOADER.exec_module(words)

RULES = words.read_rules((FOLDER / "banned_words.txt").read_text(encoding="utf-8"))

WRONG = [
    "It merges doubles.",
    "The wordings of notes.",
    "Chosen on 104 held notes.",
    "Notes that were held out.",
    "All five roads agree.",
    "It is the yardstick.",
    "Each of the three sides proposes.",
    "A mention that is no name.",
    "These words are no\nnames.",
    "It is none of the names.",
    "It is no name any more.",
    "Weights like those of the batch.",
    "It is loaded anew.",
    "The file beside it.",
    "The table shows what each source gives.",
    "This is what readers compare.",
    "The stream goes on.",
    "11, of which 3 long, of which 2 cold.",
    "expected a name, found another",
    "expected no setting",
]
RIGHT = [
    "`--wordings FILE` and `bench/roads.py` are names.",
    "```sh\npel link --wordings beside.tsv\n```\n",
    "[Paraphrases](wordings.md#those-of) of names.",
    "There is no graph, and it is no longer read.",
    "It is no better than before; held-out notes show it.",
    "The types are problems, of which few are rare.",
    "LOINC has the class Survey.",
    "Besides, the file is small.",
]


class Words(unittest.TestCase):
    def test_each_wrong_text_is_reported(self):
        for text in WRONG:
            with self.subTest(text):
                self.assertTrue(words.hits(text, RULES))

    def test_right_texts_have_no_hit(self):
        for text in RIGHT:
            with self.subTest(text):
                self.assertEqual(words.hits(text, RULES), [])

    def test_hit_has_its_line_and_what_to_write(self):
        [(line, hit, advice)] = words.hits("One line.\nThe file `x` is\nread anew.\n", RULES)
        self.assertEqual((line, hit), (3, "anew"))
        self.assertEqual(advice, "again, reload")

    def test_line_without_advice_is_an_error(self):
        for line in ["anew", "anew\t"]:
            with self.assertRaisesRegex(ValueError, "line 2"):
                words.read_rules("# comment\n" + line)

    def test_list_of_documents_has_the_readme_and_the_manual(self):
        names = {path.relative_to(words.ROOT).as_posix() for path in words.documents()}
        for name in ["README.md", "RESULTS.md", "ARCHITECTURE.md", "docs/link.md", "kb/README.md", "bench/kinds/README.md"]:
            self.assertIn(name, names)


if __name__ == "__main__":
    unittest.main()
