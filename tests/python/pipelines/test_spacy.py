"""The component of spaCy, with a real bundle.

Set PEL_BUNDLE to a bundle that has a detector and probabilities, such as the default one. Beside medspaCy one more test runs.
"""

import importlib.metadata
import importlib.util
import multiprocessing
import pickle
from pathlib import Path

import pytest

spacy = pytest.importorskip("spacy")

import pel_linker.spacy as component  # noqa: E402
from pel_linker import Error  # noqa: E402
from spacy.tokens import Doc, DocBin, Span  # noqa: E402

NOTE = "He denies chest pain. Known COPD. Mother had breast cancer. Severe left knee pain."


@pytest.fixture(scope="module")
def nlp():
    nlp = spacy.blank("en")
    nlp.add_pipe("pel", config={"threads": 1})
    return nlp


def facts(doc):
    """All that PEL wrote into a document."""
    return [
        (span.text, span.label_, span.kb_id_, span._.pel_score, span._.pel_probability, span._.pel_context, span._.pel_candidates)
        for span in [*doc.ents, *doc.spans["pel"]]
    ], doc._.pel_widened


def test_the_package_has_the_entry_point():
    names = {point.name: point.value for point in importlib.metadata.entry_points(group="spacy_factories")}
    assert names["pel"] == "pel_linker.spacy:create_pel"


def test_entities_have_concepts_labels_and_context(nlp):
    doc = nlp(NOTE)
    ents = {ent.text: ent for ent in doc.ents}
    assert ents["chest pain"].label_ == "PROBLEM"
    assert ents["COPD"].kb_id_ == "SNOMED:13645005"
    assert ents["COPD"]._.pel_concept["name"] == "chronic obstructive pulmonary disease"
    assert 0 < ents["COPD"]._.pel_probability <= 1
    assert ents["COPD"]._.pel_score == ents["COPD"]._.pel_candidates[0]["score"]
    assert set(ents["COPD"]._.pel_context) == set(component.CONTEXT)
    assert ents["chest pain"]._.pel_context["negated"] is True
    assert ents["COPD"]._.pel_context["negated"] is False
    assert ents["breast cancer"]._.pel_context["experiencer"] == "family"
    pairs = ents["COPD"]._.kb_ents
    assert pairs[0] == ("SNOMED:13645005", ents["COPD"]._.pel_score) and len(pairs) == len(ents["COPD"]._.pel_candidates)
    knee = next(ent for ent in doc.ents if "knee" in ent.text)
    assert knee._.pel_context["laterality"] == "left"
    assert knee._.pel_context["severity"] == "severe"
    assert len(doc.spans["pel"]) >= len(doc.ents)
    # A span that PEL did not make has nothing.
    assert doc[0:1]._.pel_concept is None and doc[0:1]._.pel_candidates == [] and doc[0:1]._.pel_context == {}


def test_a_mention_without_a_concept_is_nil(nlp):
    doc = nlp("Since last month she takes melvanoxine within a trial.")
    (ent,) = [ent for ent in doc.ents if ent.text == "melvanoxine"]
    assert ent.kb_id_ == "NIL"
    assert ent._.kb_ents == []
    assert ent._.pel_concept is None and ent._.pel_decision == "nil" and ent._.pel_nil_reason


def test_offsets_count_code_points_and_are_widened_to_tokens():
    nlp = spacy.blank("en")
    nlp.tokenizer = spacy.tokenizer.Tokenizer(nlp.vocab)  # splits at blanks alone
    nlp.add_pipe("pel", config={"threads": 1})
    text = "😀 e\u0301 COPD/pneumonia, fever."
    doc = nlp(text)
    spans = {(span._.pel_start, span._.pel_end) for span in doc.spans["pel"]}
    assert (text.index("fever"), text.index("fever") + 5) in spans
    assert doc._.pel_widened == len(doc.spans["pel"]) == 3
    # Two mentions have one token: each span has its own concept, and one of them is an entity.
    both = [span for span in doc.spans["pel"] if span.text == "COPD/pneumonia,"]
    assert sorted(text[span._.pel_start : span._.pel_end] for span in both) == ["COPD", "pneumonia"]
    for span in both:
        assert span._.pel_concept["id"] == span.kb_id_
    assert [ent.text for ent in doc.ents] == ["COPD/pneumonia,", "fever."]


def test_overlapping_mentions_are_in_the_group_of_spans():
    nlp = spacy.blank("en")
    nlp.add_pipe("pel", config={"threads": 1, "overlapping": True, "span_key": "all", "names_only": True})
    doc = nlp("Congestive heart failure was seen.")
    assert {"Congestive heart failure", "heart failure"} <= {span.text for span in doc.spans["all"]}
    assert [ent.text for ent in doc.ents] == ["Congestive heart failure"]
    # Names inside what the detector finds.
    nlp.remove_pipe("pel")
    nlp.add_pipe("pel", config={"threads": 1, "overlapping": True})
    doc = nlp("He has lung cancer and left knee pain.")
    assert {"lung", "lung cancer", "knee", "left knee pain"} <= {span.text for span in doc.spans["pel"]}
    assert [ent.text for ent in doc.ents] == ["lung cancer", "left knee pain"]


def test_given_entities_are_kept_and_linked():
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "LUNG", "pattern": "COPD", "id": "mine"}, {"label": "WHO", "pattern": "Mother"}])
    nlp.add_pipe("pel", config={"threads": 1, "keep_ents": True})
    doc = nlp(NOTE)
    ents = {ent.text: ent for ent in doc.ents}
    assert (ents["COPD"].label_, ents["COPD"].id_, ents["COPD"].kb_id_) == ("LUNG", "mine", "SNOMED:13645005")
    assert ents["COPD"]._.pel_origin == "given"
    assert ents["Mother"].label_ == "WHO"
    assert ents["chest pain"].label_ == "PROBLEM"
    # Alone, without others.
    nlp.remove_pipe("pel")
    nlp.add_pipe("pel", config={"threads": 1, "keep_ents": True, "detect": False})
    assert [ent.text for ent in nlp(NOTE).ents] == ["COPD", "Mother"]
    # Without keep_ents they go, and with `asserted` one that is not stated stays as it was.
    nlp.remove_pipe("pel")
    ruler.add_patterns([{"label": "PAIN", "pattern": "chest pain"}])
    nlp.add_pipe("pel", config={"threads": 1, "keep_ents": True, "asserted": True})
    ents = {ent.text: ent for ent in nlp(NOTE).ents}
    assert (ents["chest pain"].label_, ents["chest pain"].kb_id_) == ("PAIN", "")
    nlp.remove_pipe("pel")
    nlp.add_pipe("pel", config={"threads": 1})
    assert "WHO" not in {ent.label_ for ent in nlp(NOTE).ents}


def test_settings_have_effect():
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe(
        "pel", config={"threads": 1, "k": 2, "threshold": 1.0, "xrefs": ["ICD10CM"], "label": "type", "set_ents": False}
    )
    doc = nlp(NOTE)
    assert not doc.ents
    spans = list(doc.spans["pel"])
    assert {span.kb_id_ for span in spans} == {"NIL"}
    assert all(len(span._.pel_candidates) <= 2 for span in spans)
    (copd,) = [span for span in spans if span.text == "COPD"]
    assert copd.label_ == "Disease"
    assert all(xref.startswith("ICD10CM") for span in spans for c in span._.pel_candidates for xref in c.get("xrefs", []))
    assert pipe.settings.k == 2
    nlp = spacy.blank("en")
    nlp.add_pipe("pel", config={"threads": 1, "asserted": True})
    assert [ent.text for ent in nlp("He denies chest pain. Known COPD.").ents] == ["COPD"]


def test_spans_have_codes_of_the_chosen_systems(nlp):
    (copd,) = [ent for ent in nlp(NOTE).ents if ent.text == "COPD"]
    assert copd._.pel_code["system"] == "ICD10CM" and copd._.pel_code["display"]
    assert copd._.pel_code in copd._.pel_codes
    assert all(code["match"] in ("exact", "broader", "parts", "combined") for code in copd._.pel_codes)
    assert nlp(NOTE)[0:1]._.pel_code is None and nlp(NOTE)[0:1]._.pel_codes == []
    chosen = spacy.blank("en")
    chosen.add_pipe("pel", config={"threads": 1, "codes": ["SNOMEDCT", "ICD10CM"]})
    (copd,) = [ent for ent in chosen(NOTE).ents if ent.text == "COPD"]
    assert copd._.pel_code["system"] == "SNOMEDCT"
    assert {code["system"] for code in copd._.pel_codes} == {"SNOMEDCT", "ICD10CM"}


def test_spans_have_attributes_and_relations(nlp):
    doc = nlp("Lisinopril 10 mg daily for hypertension.")
    (drug,) = [ent for ent in doc.ents if ent.text == "Lisinopril"]
    found = {one["name"]: one for one in drug._.pel_attributes}
    assert found["strength"]["value"] == "10 mg"
    assert doc.text[found["frequency"]["start"] : found["frequency"]["end"]] == "daily"
    (relation,) = drug._.pel_relations
    assert relation["name"] == "indication"
    assert doc.text[relation["start"] : relation["end"]] == relation["text"] == "hypertension"
    assert doc[1:2]._.pel_attributes == [] and doc[1:2]._.pel_relations == []


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"k": 0}, "k of 1"),
        ({"k": "many"}, "k"),
        ({"label": "colour"}, "group or type"),
        ({"detect": False}, "keep_ents"),
        ({"span_key": ""}, "span_key"),
        ({"threads": 0}, "threads"),
        ({"threshold": float("nan")}, "threshold"),
        ({"xrefs": [""]}, "xrefs"),
        ({"codes": ["OPCS4"]}, "codes: .*SNOMEDCT, ICD10CM"),
        ({"codes": ["UMLS", "umls"]}, "UMLS twice"),
        ({"bundle": "/nowhere/at/all"}, "/nowhere/at/all"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_errors_name_the_setting(config, said):
    with pytest.raises(Exception, match=said) as error:
        spacy.blank("en").add_pipe("pel", config=config)
    assert isinstance(error.value, (ValueError, OSError))


def test_what_is_no_bundle_is_an_error_of_pel(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("pel", config={"bundle": str(tmp_path)})
    with pytest.raises(Error):
        nlp("COPD")


@pytest.mark.parametrize("config", [{"bundle": ""}, {"threshold": 2.0}, {"context_rules": "klingon"}])
def test_settings_that_suit_no_document_are_raised_and_skip_none(config, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("pel", config={"threads": 1, **{name: value or str(tmp_path) for name, value in config.items()}})
    nlp.set_error_handler(spacy.util.ignore_error)
    with pytest.raises(Error):
        list(nlp.pipe(["COPD"]))


def test_two_components_keep_their_mentions_apart():
    nlp = spacy.blank("en")
    nlp.add_pipe("pel", config={"threads": 1})
    nlp.add_pipe("pel", name="strict", config={"threads": 1, "threshold": 1.0, "span_key": "strict", "set_ents": False})
    doc = nlp("Known COPD.")
    for key, decision, concept in [("pel", "linked", "SNOMED:13645005"), ("strict", "nil", "NIL")]:
        (span,) = doc.spans[key]
        assert (span._.pel_decision, span.kb_id_) == (decision, concept)
        assert (span._.pel_concept or {"id": "NIL"})["id"] == concept
    assert doc.ents[0]._.pel_decision == "linked"


def test_documents_that_fail_go_to_the_error_handler(nlp):
    pipe = nlp.get_pipe("pel")
    calls, linker = [], pipe.linker

    class Failing:
        def link(self, texts, **options):
            calls.append(len(texts))
            if any("bad" in text for text in texts):
                raise Error("a text that fails")
            return linker.link(texts, **options)

    pipe._linker = Failing()
    failed = []
    try:
        with pytest.raises(Error):
            list(nlp.pipe(["COPD", "bad"]))
        nlp.set_error_handler(lambda name, proc, docs, error: failed.extend(docs))
        calls.clear()
        done = list(nlp.pipe(["COPD", "bad", "fever"], batch_size=3))
    finally:
        pipe._linker = linker
        nlp.set_error_handler(spacy.util.raise_error)
    assert [doc.text for doc in done] == ["COPD", "fever"] and [doc.text for doc in failed] == ["bad"]
    # A batch is one call.
    assert calls[0] == 3


def test_batches_and_processes_find_the_same(nlp):
    texts = [NOTE, "", "Fever and cough.", "😀 No fever.", "   "] * 3
    alone = [facts(nlp(text)) for text in texts]
    assert any(spans for spans, _ in alone)
    assert [facts(doc) for doc in nlp.pipe(texts, batch_size=4)] == alone
    # The linker of this process has run: on Linux, its copy in a forked process must run too.
    assert [facts(doc) for doc in nlp.pipe(texts, batch_size=4, n_process=2)] == alone


def test_spawned_processes_find_the_same(nlp):
    before = multiprocessing.get_start_method()
    multiprocessing.set_start_method("spawn", force=True)
    try:
        found = [facts(doc) for doc in nlp.pipe([NOTE, "Fever."] * 2, n_process=2, batch_size=1)]
    finally:
        multiprocessing.set_start_method(before, force=True)
    assert found == [facts(nlp(text)) for text in [NOTE, "Fever."] * 2]


def test_documents_survive_docbin_bytes_and_copies(nlp):
    doc = nlp(NOTE)
    packed = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (read,) = DocBin().from_bytes(packed).get_docs(spacy.blank("en").vocab)
    assert facts(read) == facts(doc)
    assert facts(Doc(nlp.vocab).from_bytes(doc.to_bytes())) == facts(doc)
    assert facts(pickle.loads(pickle.dumps(doc))) == facts(doc)
    # Several documents in one: what spans have goes along, what the document has does not, as spaCy says.
    with pytest.warns(UserWarning, match="pel_widened"):
        both = Doc.from_docs([nlp("Known COPD."), doc])
    assert [ent._.pel_concept and ent._.pel_concept["id"] for ent in both.ents][1:] == [
        ent._.pel_concept and ent._.pel_concept["id"] for ent in doc.ents
    ]


def test_a_pipeline_is_written_and_read(nlp, tmp_path):
    nlp.to_disk(tmp_path / "pipeline")
    expected = facts(nlp(NOTE))
    assert facts(spacy.load(tmp_path / "pipeline")(NOTE)) == expected
    # A setting can be changed when the pipeline is read, for example where the bundle is.
    changed = spacy.load(tmp_path / "pipeline", config={"components": {"pel": {"k": 1}}})
    doc = changed(NOTE)
    assert {len(span._.pel_candidates) for span in doc.spans["pel"]} == {1}
    other = spacy.blank("en")
    other.add_pipe("pel", config={"threads": 1})
    assert facts(other.from_bytes(nlp.to_bytes())(NOTE)) == expected


def test_beside_medspacy():
    if importlib.util.find_spec("medspacy") is None:
        pytest.skip("medspaCy is not installed")
    import medspacy  # noqa: F401

    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("pel", config={"threads": 1})
    nlp.add_pipe("medspacy_context")
    doc = nlp(NOTE)
    ents = {ent.text: ent for ent in doc.ents}
    # Both state the negation, and neither takes anything from the other.
    assert ents["chest pain"]._.is_negated and ents["chest pain"]._.pel_context["negated"]
    assert not ents["COPD"]._.is_negated and not ents["COPD"]._.pel_context["negated"]
    assert ents["breast cancer"]._.is_family and ents["breast cancer"]._.pel_context["experiencer"] == "family"
    assert ents["COPD"].kb_id_ == "SNOMED:13645005"
    # A target matcher of medspaCy before PEL: its entities are kept and linked.
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    matcher = nlp.add_pipe("medspacy_target_matcher")
    from medspacy.target_matcher import TargetRule

    matcher.add([TargetRule("COPD", "LUNG")])
    nlp.add_pipe("pel", config={"threads": 1, "keep_ents": True})
    nlp.add_pipe("medspacy_context")
    ents = {ent.text: ent for ent in nlp(NOTE).ents}
    assert (ents["COPD"].label_, ents["COPD"].kb_id_) == ("LUNG", "SNOMED:13645005")
    assert ents["chest pain"]._.is_negated


def test_the_example_runs():
    path = Path(__file__).parents[3] / "examples" / "spacy" / "pipeline.py"
    spec = importlib.util.spec_from_file_location("pipeline", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    assert example.main(["--notes", "5"]) == 0


def test_extensions_are_there_for_readers():
    assert Span.has_extension("pel_concept") and Doc.has_extension("pel_widened")
