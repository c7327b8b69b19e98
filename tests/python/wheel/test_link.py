"""Links: values, offsets, options."""

import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy
import pandas
import pyarrow
import pytest

import pel_linker
from pel_linker import InputError, Linker


def by_text(links):
    return {link.text: link for link in links}


def test_links_have_code_points_context_and_concepts(linker, text):
    links = linker.link(text)
    for link in links:
        assert text[link.start : link.end] == link.text
        assert text.encode()[link.start_byte : link.end_byte].decode() == link.text
    found = by_text(links)
    # "😷" is one code point of four bytes.
    assert (found["T2DM"].start, found["T2DM"].start_byte) == (23, 26)
    assert found["T2DM"].concept.id == "SNOMED:44054006"
    assert found["T2DM"].decision == "linked" and found["T2DM"].asserted
    assert found["chest pain"].negated and not found["chest pain"].asserted
    assert found["COPD"].experiencer == "family"
    assert found["COPD"].group == "problem"
    assert 0.5 < found["COPD"].probability <= 1
    assert len(found["COPD"].candidates) == 5
    # Of the candidates, the linked concept alone has its codes.
    assert found["COPD"].candidates[0].id == found["COPD"].concept.id
    assert found["COPD"].concept.codes and not found["COPD"].candidates[0].codes
    assert found["COPD"].concept.name in repr(found["COPD"].concept)


def test_dicts_equal_lines_of_the_command(linker, text, tmp_path):
    note = tmp_path / "note.txt"
    note.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pel_linker", "link", "--bundle", linker.path, note, "--format", "jsonl", "--sets"]
    printed = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    lines = [json.loads(line) for line in printed.splitlines()]
    links = linker.link(text, sets=True)
    assert lines and [link.as_dict("note.txt") for link in links] == [{**line, "doc": "note.txt"} for line in lines]
    assert linker.write(text, "jsonl", name=lines[0]["doc"], sets=True) == printed
    assert "doc" not in links[0].as_dict()
    for link, line in zip(links, lines):
        assert link.probability == line["probability"]
        assert link.candidates[0].score == line["candidates"][0]["score"]
        assert link.candidates[0].as_dict() == line["candidates"][0]
        assert link.answer_sets == line["answer_sets"]


def test_attributes_and_relations_are_objects(linker):
    note = "😷 Started lisinopril 10 mg PO daily for hypertension. Hgb 9.1 g/dL (prior 11.2)."
    found = by_text(linker.link(note))
    drug = found["lisinopril"]
    values = {each.name: each.value for each in drug.attributes}
    assert (values["strength"], values["route"], values["frequency"]) == ("10 mg", "oral", "QD")
    assert all(note[each.start : each.end] == each.text for each in drug.attributes)
    assert [(each.name, each.text) for each in drug.relations] == [("indication", "hypertension")]
    assert note[drug.relations[0].start : drug.relations[0].end] == "hypertension"
    assert pickle.loads(pickle.dumps(drug)).attributes == drug.attributes
    assert "10 mg" not in repr(drug.attributes)
    line = drug.as_dict()
    assert [each.value for each in drug.attributes] == [each["value"] for each in line["attributes"]]
    assert found["hypertension"].relations == []


def test_several_texts_are_as_one_by_one(linker, text):
    texts = [text, "", "Fever.", text]
    assert linker.link(texts) == [linker.link(each) for each in texts]
    assert linker.link([]) == []
    assert linker.link("") == []
    assert linker.link(iter(texts)) == linker.link(tuple(texts)) == linker.link(pandas.Series(texts))


def test_options_change_links(linker, text):
    assert "chest pain" not in by_text(linker.link(text, asserted=True))
    assert all(len(link.candidates) == 1 for link in linker.link(text, k=1))
    assert all(link.decision == "nil" and link.concept is None for link in linker.link(text, threshold=1.0))
    xrefs = by_text(linker.link(text, xrefs=["snomed"]))["T2DM"].concept.xrefs
    assert xrefs and all(xref.startswith("SNOMED:") for xref in xrefs)
    sets = by_text(linker.link(text, sets=True))["T2DM"].answer_sets
    assert [round(each["coverage"], 2) for each in sets] == [0.9, 0.95]
    failure = "Congestive heart failure."
    alone = {link.text for link in linker.link(failure, names_only=True)}
    assert alone < {link.text for link in linker.link(failure, names_only=True, overlapping=True)}
    nested = [link.text for link in linker.link("Left knee pain.", overlapping=True)]
    assert nested == ["Left knee", "Left knee pain", "knee", "knee pain", "pain"]


def test_codes_are_objects_and_can_be_chosen(linker, text):
    copd = by_text(linker.link(text))["COPD"]
    assert copd.codes == copd.concept.codes and copd.code == copd.concept.code
    assert copd.code.system == "ICD10CM" and copd.code.display and copd.code.match in ("exact", "broader")
    assert copd.code.uri == "http://hl7.org/fhir/sid/icd-10-cm"
    assert [code.as_dict() for code in copd.codes] == copd.as_dict()["concept"]["codes"]
    assert copd.codes == linker.concept(copd.concept.id).codes
    assert len(set(copd.codes)) == len(copd.codes) and f"{copd.code.system}:{copd.code.code}" in repr(copd.code)
    assert pickle.loads(pickle.dumps(copd)).codes == copd.codes
    assert pickle.loads(pickle.dumps(copd.code)) == copd.code
    chosen = by_text(linker.link(text, codes=["snomed ct", "ICD10CM"]))["COPD"]
    assert {code.system for code in chosen.codes} == {"SNOMEDCT", "ICD10CM"}
    assert chosen.code.system == chosen.codes[0].system == "SNOMEDCT"
    (bare,) = {len(link.codes) for link in linker.link(text, codes=[])}
    assert bare == 0
    assert all(link.codes == [] and link.code is None for link in linker.link(text, threshold=1.0))


def test_links_are_chosen_by_a_value_set_and_have_ancestors(linker, text):
    every = by_text(linker.link(text, ancestors=True))
    above = every["COPD"].concept.ancestors
    assert above and all(isinstance(id, str) for id, _ in above)
    assert [{"id": id, **({"name": name} if name else {})} for id, name in above] == every["COPD"].as_dict()["concept"]["ancestors"]
    concept = linker.concept(every["COPD"].concept.id)
    assert concept.ancestors == above and "ancestors" not in concept.as_dict()
    assert pickle.loads(pickle.dumps(concept)).ancestors == above
    assert every["COPD"].concept.as_dict()["ancestors"] and not linker.link(text)[0].concept.ancestors
    chapter = next(id for id, name in above if id.startswith("ICD10CM:J00"))
    assert {link.text for link in linker.link(text, under=[chapter])} == {"COPD"}
    assert linker.link(text, under=["ICD10CM:A00-B99"]) == []
    line = linker.write(text, "jsonl", under=[chapter], ancestors=True)
    assert '"ancestors"' in line
    with pytest.raises(InputError, match="ancestors: expected the format json or jsonl"):
        linker.write(text, "csv", ancestors=True)
    with pytest.raises(InputError, match="ancestors: expected no table"):
        linker.link_arrow([text], ancestors=True)


def test_written_formats_have_the_chosen_codes(linker, text):
    head = linker.write(text, "csv", codes=["ICD10CM", "RXNORM"]).splitlines()[0]
    assert head.endswith(",ICD10CM,ICD10CM_match,RXNORM,RXNORM_match")
    with pytest.raises(InputError, match="codes: expected the format"):
        linker.write(text, "brat", codes=["ICD10CM"])


def test_given_spans(linker, text):
    start = text.index("man")
    [link] = linker.link(text, spans=[(start, start + 3)], spans_only=True)
    assert (link.text, link.origin, link.start) == ("man", "given", start)
    both = linker.link(text, spans=[(start, start + 3)])
    assert {"man", "T2DM", "COPD"} <= {link.text for link in both}
    lungs = "breast and ovarian cancer"
    [[split], []] = linker.link([lungs, ""], spans=[[[(0, 6), [19, 25]]], []], spans_only=True)
    assert split.text == "breast cancer"
    assert split.fragments == [(0, 6), (19, 25)]


@pytest.mark.parametrize(
    "options",
    [
        {"spans": [(3, 3)]},
        {"spans": [(0, 1000)]},
        {"spans": [(-1, 3)]},
        {"spans": ["ab"]},
        {"spans": "ab"},
        {"spans": [[]]},
        {"spans_only": True},
        {"k": 0},
        {"k": 1001},
        {"k": -1},
        {"k": 10**30},
        {"k": "5"},
        {"threshold": float("nan")},
        {"threshold": 1.01},
        {"xrefs": [""]},
        {"xrefs": "ICD10CM"},
        {"codes": ["OPCS4"]},
        {"under": ["ICD10CM:ZZZ"]},
        {"under": "ICD10CM:A00-B99"},
        {"ancestors": "yes"},
        {"codes": ["ICD10CM", "icd-10-cm"]},
        {"codes": "ICD10CM"},
        {"labels": "nosuch"},
        {"labels": "clinical", "names_only": True},
    ],
)
def test_wrong_options_are_input_errors(linker, text, options):
    with pytest.raises(InputError) as caught:
        linker.link(text, **options)
    assert isinstance(caught.value, ValueError)
    # No message has the text.
    assert "T2DM" not in str(caught.value)


def test_wrong_types_are_refused(linker):
    with pytest.raises(TypeError):
        linker.link("a", nosuch=1)
    with pytest.raises(TypeError, match="item 1: expected a string, found int"):
        linker.link(["a", 5])
    one = [None, 5, b"COPD", {"COPD": 1}, pandas.DataFrame({"text": ["COPD"]})]
    for wrong in one:
        with pytest.raises(TypeError, match=f"expected a sequence of strings, found {type(wrong).__name__}"):
            linker.link(wrong)
    with pytest.raises(TypeError, match="found str"):
        linker.link_arrow("COPD")
    with pytest.raises(InputError, match="lone surrogate"):
        linker.link("a \ud800 b")
    with pytest.raises(TypeError):
        Linker()


def test_arrays_of_arrow_are_texts(linker, text):
    texts = [text, "Fever.", text]
    expected = linker.link(texts)
    for kind in [pyarrow.string(), pyarrow.large_string(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())]:
        array = pyarrow.array(texts).cast(kind)
        assert linker.link(array) == expected
        assert linker.link(pyarrow.chunked_array([array[:1], array[1:]])) == expected
    with pytest.raises(TypeError, match="item 1: expected a string, found NoneType"):
        linker.link(pyarrow.array(["Fever.", None]))
    with pytest.raises(TypeError, match="expected a sequence of strings, found Table"):
        linker.link(pyarrow.table({"text": texts}))


def test_identifiers_may_be_whole_numbers(linker):
    texts = ["Fever.", "Cough."]
    for ids in [[7, 8], numpy.array([7, 8]), pyarrow.array([7, 8]), pandas.Series([7, 8]), ["7", 8]]:
        assert pyarrow.record_batch(linker.link_arrow(texts, ids=ids)).column("doc").to_pylist() == ["7", "8"]
    for wrong in [[7.0, 8], [True, False], [None, 8]]:
        with pytest.raises(TypeError, match="ids: item 0: expected a string or whole number"):
            linker.link_arrow(texts, ids=wrong)


def test_links_can_be_pickled(linker, text):
    links = linker.link(text, sets=True) + linker.link("breast and ovarian cancer", spans=[[(0, 6), (19, 25)]], spans_only=True)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        state = pickle.dumps(links, protocol)
        copies = pickle.loads(state)
        assert copies == links and pickle.loads(pickle.dumps(copies)) == links
        for link, copy in zip(links, copies):
            assert (copy.text, copy.start, copy.end, copy.fragments) == (link.text, link.start, link.end, link.fragments)
            assert copy.as_dict("a") == link.as_dict("a") and copy.candidates == link.candidates
        # Of the text it has the mentions alone.
        assert b"65-year-old" not in state
    assert pickle.loads(pickle.dumps(links[0].concept)) == links[0].concept
    concept = linker.concept("SNOMED:13645005")
    assert pickle.loads(pickle.dumps(concept)) == concept
    with pytest.raises(InputError, match="pickle"):
        pel_linker._linker._unpickled("link", "{}")


def test_wordings_of_a_file_stand_for_names(linker, tmp_path):
    file = tmp_path / "wordings.tsv"
    file.write_text("hematemesis\tbrought up dark stuff\n", encoding="utf-8")
    own = Linker.open(linker.path, threads=1, wordings=file)
    found = by_text(own.link("She brought up dark stuff."))
    assert found["brought up dark stuff"].read_as == "hematemesis"
    assert "brought up dark stuff" in by_text(pickle.loads(pickle.dumps(own)).link("She brought up dark stuff."))
    assert "brought up dark stuff" not in by_text(linker.link("She brought up dark stuff."))


def test_rows_of_omop_are_numbered_from_a_first_one(linker):
    rows = linker.write("Fever and cough.", "omop", name="7", date="2026-11-26", omop_first_id=41).splitlines()[1:]
    assert [row.split(",")[:2] for row in rows] == [["41", "7"], ["42", "7"]]
    with pytest.raises(InputError, match="omop_first_id"):
        linker.write("Fever.", "omop", omop_first_id=0)


def test_representations_have_no_text(linker, text):
    links = linker.link(text)
    assert "T2DM" not in repr(links) and "SNOMED:44054006" in repr(links)


def test_writes_each_format(linker, text):
    for form in pel_linker.formats():
        written = linker.write(text, form, name="a")
        assert written.strip(), form
    assert linker.write(text, "brat").startswith("T1\t")
    assert "2026-11-26" in linker.write(text, "fhir", date="2026-11-26T10:45:00Z")
    with pytest.raises(InputError, match="date"):
        linker.write(text, "fhir", date="yesterday")
    with pytest.raises(InputError, match="jsonl"):
        linker.write(text, "nosuch")


def test_concepts(linker):
    concept = linker.concept("SNOMED:13645005")
    assert concept.name == "chronic obstructive pulmonary disease"
    assert "COPD" in concept.synonyms and concept.types[0] == "Disease"
    assert concept.as_dict()["id"] == "SNOMED:13645005"
    with pytest.raises(InputError, match="nosuch"):
        linker.concept("nosuch")
    found = linker.search("heart attack", 3)
    assert len(found) == 3
    assert "myocardial infarction" in found[0].name.lower()
    assert linker.search("") == []
    for k in (-1, 0, 1001):
        with pytest.raises(InputError, match="k: expected 1 to 1000"):
            linker.search("fever", k)
    assert linker.info()["kb"]["concepts"] > 40_000


def test_vectors(linker):
    vectors = linker.encode(["heart attack", "", "heart attack", "asthma"])
    assert vectors.shape == (4, linker.dim) and str(vectors.dtype) == "float32"
    assert (vectors[0] == vectors[2]).all() and not vectors[1].any()
    products = vectors @ vectors.T
    assert abs(products[0, 0] - 1) < 1e-3 and products[0, 3] < 0.9
    assert linker.encode([]).shape == (0, linker.dim)


def test_threads_share_a_linker(linker, text):
    expected = linker.link(text)
    with ThreadPoolExecutor(4) as pool:
        assert all(found == expected for found in pool.map(linker.link, [text] * 12))


def test_other_rules_and_threads(text):
    german = Linker.open(context_rules="german", threads=1)
    assert german.threads == 1
    [link] = german.link("Kein COPD.", spans=[(5, 9)], spans_only=True)
    assert link.negated
