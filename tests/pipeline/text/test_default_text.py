"""The text that ships."""

from __future__ import annotations

from pipeline.text.documents import documents_of
from pipeline.text.plan import Plan, plan_of
from pipeline.text.text_sources import PythonDocs, reopen


def test_it_is_the_same_whatever_python_runs() -> None:
    documents = [(d.document_id, list(d.paragraphs)) for d in documents_of(PythonDocs())]
    assert len(documents) == 464
    assert documents[0][0] == "topic/specialnames"
    assert documents[-1][0] == "module/zoneinfo._zoneinfo"
    paragraphs = [paragraph for _, each in documents for paragraph in each]
    assert len(paragraphs) == len({paragraph.text for paragraph in paragraphs}) == 9943
    assert PythonDocs().describe()["python"] == "CPython 3.11.7"


def test_its_parts_are_read_in_any_order() -> None:
    whole = [d.document_id for d in documents_of(PythonDocs())]
    values = plan_of(PythonDocs()).to_dict()
    assert len(values["parts"]) == 2
    parts = [[d.document_id for d in Plan.from_dict(values).documents(n)] for n in (1, 0)]
    assert parts[1] + parts[0] == whole
    assert reopen(values["source"]).describe() == PythonDocs().describe()
