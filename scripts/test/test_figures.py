"""Tests of `scripts/test/figures`: a document without a figure or with another value is reported."""
import importlib.machinery
import importlib.util
import pathlib
import unittest

LOADER = importlib.machinery.SourceFileLoader("figures", str(pathlib.Path(__file__).parent / "figures"))
figures = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", LOADER))
LOADER.exec_module(figures)

FIGURE = {"name": "recall", "value": "82.2", "in": {"page": "recall@1 {} %"}}


class Figures(unittest.TestCase):
    def found(self, text, figure=FIGURE):
        return figures.faults([figure], lambda _: text)

    def test_a_document_with_the_value_is_right(self):
        for text in ["It has recall@1 82.2 % here.", "recall@1\n**82.2** %"]:
            self.assertEqual(self.found(text), [], text)

    def test_another_value_is_reported_wherever_it_stands(self):
        self.assertEqual(len(self.found("recall@1 82.2 %, and recall@1 82.3 %")), 1)

    def test_a_missing_figure_is_reported(self):
        self.assertIn("missing", self.found("nothing")[0])

    def test_words_without_a_place_for_the_value_are_reported(self):
        self.assertIn("need one", self.found("", {**FIGURE, "in": {"page": "recall"}})[0])


if __name__ == "__main__":
    unittest.main()
