"""Record batches, as pyarrow, pandas and polars read them."""

import gc

import pandas
import polars
import pyarrow
import pytest

from pel_linker import InputError


def test_readers_agree_with_links(linker, text):
    texts = [text, "", "Fever. breast and ovarian cancer"]
    batch = linker.link_arrow(texts, ["a", "b", "c"], k=2)
    links = [(doc, link) for doc, found in zip("abc", linker.link(texts, k=2)) for link in found]
    assert len(batch) == batch.num_rows == len(links)
    table = pyarrow.record_batch(batch)
    assert table.schema.names == batch.column_names
    rows = table.to_pylist()
    for row, (doc, link) in zip(rows, links):
        assert row["doc"] == doc
        names = ["start", "end", "text", "decision", "negated", "section", "group", "start_byte", "origin", "read_as"]
        assert [row[name] for name in names] == [getattr(link, name) for name in names]
        assert row["probability"] == pytest.approx(link.probability)
        assert row["concept"] == (link.concept and link.concept.id)
        assert row["xrefs"] == (link.concept.xrefs if link.concept else [])
        codes = [{name: value for name, value in code.items() if value is not None} for code in row["codes"]]
        assert codes == [code.as_dict() for code in link.codes]
        assert [each["id"] for each in row["candidates"]] == [each.id for each in link.candidates]
        assert [(each["start"], each["end"]) for each in row["fragments"]] == link.fragments
    assert pyarrow.table(batch).to_pylist() == rows
    assert polars.DataFrame(batch).rows() == polars.from_arrow(table).rows()
    assert list(table.to_pandas()["text"]) == [link.text for _, link in links]
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert len(pandas.DataFrame.from_arrow(batch)) == len(links)


def test_batches_outlive_what_made_them(linker, text):
    table = pyarrow.record_batch(linker.link_arrow([text]))
    gc.collect()
    assert table.column("doc").to_pylist() == ["0"] * table.num_rows
    table.validate(full=True)


def test_empty_batch_has_columns(linker):
    batch = pyarrow.record_batch(linker.link_arrow([]))
    assert batch.num_rows == 0 and "concept" in batch.schema.names


def test_ids_must_fit(linker, text):
    with pytest.raises(InputError, match="ids"):
        linker.link_arrow([text], ["a", "b"])
