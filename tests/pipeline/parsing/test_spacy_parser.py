"""The parsers in spaCy: a Doc of a sentence, and the component of a pipeline."""

from __future__ import annotations

import logging
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

import treeviews.spacy_component
from tests.pipeline.parsing.test_parsed_sentence import ODD, flat_tree
from tests.support.bundled_parsers import bundled_parser
from tests.support.repository import REPOSITORY

TEXTS = ["Dr. Who left. It's raining (again).", "The cat sees the dog.", "", "Go!"]


def pipeline(**config: Any) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("treeviews_parser", config=config)
    return nlp


@pytest.fixture(scope="module")
def nlp() -> Any:
    return pipeline()


def trees(doc: Doc) -> list[tuple[Any, ...]]:
    return [(t.text, t.head.i, t.dep_, t.tag_, t.is_sent_start) for t in doc]


# ---- a Doc of a sentence


@settings(max_examples=200, deadline=None)
@given(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(ODD)), max_size=40))
def test_a_docs_text_is_the_sentences(text: str) -> None:
    sentence = flat_tree(text)
    if not sentence.tokens:
        return

    doc = sentence.to_doc()

    assert doc.text == text
    words = [token for token in doc if token.tag_ != "_SP"]
    assert [(word.idx, word.idx + len(word)) for word in words] == sentence.offsets
    assert [sent.text_with_ws for sent in doc.sents] == [doc.text]
    assert [word.i for word in words if word.dep_ == "ROOT"] == [words[0].i]
    assert {word.head.i for word in words} == {words[0].i}
    assert [word.tag_ for word in words] == sentence.tags


def test_white_space_hangs_from_the_word_before_it_and_breaks_no_constituent() -> None:
    (sentence,) = bundled_parser().parse([" The cat  sees the dog.\n "])

    doc = sentence.to_doc()

    spaces = [(token.text, token.head.text, token.dep_) for token in doc if token.is_space]
    assert spaces == [(" ", "The", "dep"), (" ", "cat", "dep"), ("\n ", ".", "dep")]
    (sent,) = doc.sents
    assert sent._.parse_string == sentence.to_brackets()
    children = [child.text for child in sent._.children]
    assert children == ["The cat", "sees the dog", "."]
    phrase = doc[4:7]
    assert (phrase.text, phrase._.labels) == ("sees the dog", ("VP",))
    assert [child.text for child in phrase._.children] == ["sees", "the dog"]
    assert phrase._.parent.text == doc.text


# ---- the component


def test_sentences_are_ours_where_none_are_set(nlp: Any) -> None:
    doc = nlp("  Dr. Who left.  He\u00ad is\nback.\n\nA title\n\nIt rains.\n")

    assert [sent.text for sent in doc.sents] == [
        "  Dr. Who left.  ",
        "He\u00ad is\nback.\n\n",
        "A title\n\n",
        "It rains.\n",
    ]
    assert [sent.root.text for sent in doc.sents] == ["left", "back", "title", "rains"]
    assert list(doc.sents)[3]._.parse_string == "(S (NP (PRP It)) (VP (VBZ rains)) (. .))"


def test_sentences_that_are_set_stay(nlp: Any) -> None:
    doc = nlp.make_doc("it rains it pours")
    for token in doc:
        token.is_sent_start = token.i in {0, 2}

    doc = nlp(doc)

    assert [sent.text for sent in doc.sents] == ["it rains", "it pours"]
    assert [token.dep_ for token in doc] == ["nsubj", "ROOT", "nsubj", "ROOT"]


def test_docs_in_batches_of_several_processes_are_docs_one_by_one(nlp: Any) -> None:
    one_by_one = [nlp(text) for text in TEXTS]
    for options in ({"batch_size": 3}, {"batch_size": 1, "n_process": 2}):
        together = list(nlp.pipe(TEXTS, **options))
        assert [doc.text for doc in together] == TEXTS
        assert [trees(doc) for doc in together] == [trees(doc) for doc in one_by_one]
        constituents = [doc._.treeviews_constituents for doc in together]
        assert constituents == [doc._.treeviews_constituents for doc in one_by_one]
    assert next(together[1].sents)._.parse_string.startswith("(S (NP (DT The) (NN cat))")
    (sentence,) = bundled_parser().parse([TEXTS[1]])
    assert trees(together[1]) == trees(sentence.to_doc())
    assert constituents[1] == [list(span) for span in sentence.spans or ()]


def test_a_sentence_that_is_too_long_costs_no_other(
    nlp: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        doc = nlp("word " * 600 + ". It rains.")

    assert doc._.treeviews_refusals == [[0, 601, "too_long", "601 tokens, limit 510"]]
    assert "too_long (601 tokens" in caplog.text
    assert [sent[0].text for sent in doc.sents] == ["word", "It"]
    assert not doc[3].has_head()
    assert [token.dep_ for token in doc[601:]] == ["nsubj", "ROOT", "punct"]


def test_a_refusal_may_be_an_error_and_an_unknown_parser_is() -> None:
    nlp = pipeline(dependency_parser="dependency-larg")
    with pytest.raises(FileNotFoundError, match="did you mean dependency-large"):
        nlp("It rains.")
    nlp = pipeline(on_refusal="error", constituents=False)

    with pytest.raises(ValueError, match=r"sentence 0 \(from 0\): too_long.*on_refusal='skip'"):
        nlp("word " * 600)
    assert len(nlp("  ")) == 1


def test_a_saved_pipeline_brings_its_parsers_and_settings(tmp_path: Path) -> None:
    nlp = pipeline(constituents=False)
    nlp.to_disk(tmp_path / "first")
    moved = (tmp_path / "first").rename(tmp_path / "moved")
    loaded = spacy.load(moved)
    assert trees(loaded(TEXTS[0])) == trees(nlp(TEXTS[0]))
    parsers = loaded.get_pipe("treeviews_parser")._parser.parsers
    assert [*parsers] == ["dependencies"]
    assert parsers["dependencies"].path.is_relative_to(moved)
    loaded.to_disk(moved)  # over what it reads
    assert trees(spacy.load(moved)(TEXTS[0])) == trees(nlp(TEXTS[0]))


@pytest.mark.slow
def test_spacy_finds_the_component_by_its_name(tmp_path: Path) -> None:
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    (entry,) = declared["entry-points"]["spacy_factories"].items()
    info = tmp_path / "treeviews_here-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: treeviews-here\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[spacy_factories]\n{entry[0]} = {entry[1]}\n")
    code = (
        "import spacy\n"
        "nlp = spacy.blank('en')\n"
        "nlp.add_pipe('treeviews_parser', config={'constituents': False})\n"
        "print(nlp.pipe_names, nlp.get_pipe_meta('treeviews_parser').factory)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "", "PYTHONPATH": f"{tmp_path}:{REPOSITORY}", "OMP_NUM_THREADS": "1"},
    )
    assert found.stdout == "['treeviews_parser'] treeviews_parser\n"
    assert treeviews.spacy_component.__all__ == [entry[1].partition(":")[2]]
