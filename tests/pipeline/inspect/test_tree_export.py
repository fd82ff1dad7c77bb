"""Shards written in the formats that others read, and read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import subcommand
from tests.support.looked_at_corpus import (
    ARCS,
    PLACES,
    constituent_row,
    sentence_rows_of,
)
from tests.support.shard_files import sentence_rows, write_rows, write_stage
from tests.support.splitting import split_sentences
from treeviews.pipeline.inspect import tree_export
from treeviews.pipeline.inspect.dataset import select
from treeviews.pipeline.inspect.tree_export import export, export_format
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.text.split_corpus import SourceText
from treeviews.pipeline.text.text_sources import TextFiles
from treeviews.pipeline.text.tokenization import SentenceConfig
from treeviews.pipeline.trees.treebanks import read_bracketed, read_conllu

main = subcommand("inspect")


def exported(corpus: Path, name: str, *options: str) -> Path:
    out = corpus.parent / name
    assert main(["export", str(corpus), "--out", str(out), *options]) == 0
    return out


def test_conllu_has_places_and_offsets_and_is_read_back(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = exported(corpus, "trees.conllu", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["sentences"], told["refused"], told["tokens"]) == (3, 1, 14)
    assert (told["format"], told["bytes"]) == ("conllu", out.stat().st_size)
    text = out.read_text("utf-8")
    first = (
        "# newdoc id = first\n# sent_id = 0:0\n# sentence_index = 0\n"
        "# text = The old owl saw a mouse .\n"
        "1\tThe\t_\t_\tDT\t_\t3\tdet\t_\tTokenRange=0:3\n"
        "2\told\t_\t_\tJJ\t_\t3\tamod\t_\tTokenRange=4:7\n"
    )
    assert text.startswith(first)
    assert text.count("# newdoc") == 2
    assert "# sent_id = 1:1" not in text  # it was refused
    for sentence, (heads, deprels), (name, _) in zip(read_conllu(out), ARCS, PLACES, strict=False):
        assert (sentence.heads, sentence.deprels, sentence.document_id) == (heads, deprels, name)


def test_brackets_and_json_lines_have_both_trees_and_the_place(corpus: Path) -> None:
    expected = [row["tokens"] for row in sentence_rows_of()]
    brackets = read_bracketed(exported(corpus, "trees.mrg"))
    assert [sentence.tokens for sentence in brackets] == expected
    lines = exported(corpus, "trees.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [(row["document_id"], row["sentence_index"]) for row in rows] == list(PLACES)
    found = [[row["text"][start:end] for start, end in row["offsets"]] for row in rows]
    assert found == expected
    assert rows[3]["heads"] is None and rows[3]["spans"][0] == [0, 2, "S"]


def test_a_row_says_why_it_has_no_tree(tmp_path: Path) -> None:
    write_stage(tmp_path / "sentences", "sentences", sentence_rows([["a"], ["b"], ["c"]]))
    rows = [{"heads": None, "deprels": None}] * 2 + [{"heads": [0], "deprels": ["root"]}]
    record = {"row": 1, "reason": "too_long", "detail": "shorten it"}
    write_rows(tmp_path / "dependencies", "dependencies", 0, rows, quarantine=[record])
    out = exported(tmp_path, f"{tmp_path.name}.jsonl")
    refusals = [json.loads(line)["refusal"] for line in out.read_text("utf-8").splitlines()]
    assert refusals[0]["reason"] == "rejected"
    assert refusals[1] == {"reason": "too_long", "detail": "shorten it"}
    assert refusals[2] is None


@pytest.mark.parametrize(
    ("arcs", "said"),
    [
        ({"heads": [5, 0], "deprels": ["det", "root"]}, "token 1 has head 5, outside 0 to 2"),
        ({"heads": [0, 0], "deprels": ["root", "root"]}, "2 roots where exactly one is needed"),
        ({"heads": [0], "deprels": ["root"]}, "1 heads and 1 relations for 2 tokens"),
    ],
)
def test_a_row_that_is_no_tree_is_named(tmp_path: Path, arcs: dict[str, Any], said: str) -> None:
    corpus = tmp_path / "corpus"
    write_stage(corpus / "sentences", "sentences", sentence_rows([["It", "ran"]] * 2))
    right = {"heads": [2, 0], "deprels": ["nsubj", "root"]}
    write_stage(corpus / "dependencies", "dependencies", [right, arcs])
    out = tmp_path / "trees.conllu"
    with pytest.raises(ValueError, match=rf"^0:1 \(.*{said}; `inspect check` says") as raised:
        export(select(corpus), out, export_format(out))
    assert "\n" not in str(raised.value) and not out.exists()


# ---- from the source

SOURCE = "It  ran,\nfast. Oh!\n\nHe sat\u00ad down.\n"


@pytest.fixture
def split(tmp_path: Path) -> Path:
    """A corpus that was split from a text, every word hanging on the first one."""
    (tmp_path / "a.txt").write_text(SOURCE, encoding="utf-8")
    folder = tmp_path / "corpus" / "sentences"
    split_sentences(TextFiles([tmp_path / "a.txt"]), SentenceConfig(), folder)
    rows = read_shard(folder, "sentences", 0).to_pylist()
    arcs = [
        {"heads": [0] + [1] * (n - 1), "deprels": ["root"] + ["dep"] * (n - 1)}
        for n in (len(row["tokens"]) for row in rows)
    ]
    write_stage(tmp_path / "corpus" / "dependencies", "dependencies", arcs)
    return tmp_path / "corpus"


def test_text_and_offsets_are_those_of_the_source(split: Path) -> None:
    lines = exported(split, "trees.jsonl", "--from-source").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["text"] for row in rows] == ["It  ran,\nfast.", "Oh!", "He sat\u00ad down."]
    assert [row["start"] for row in rows] == [0, 15, 20]
    assert all(row["in_source"] for row in rows)
    places = [(start, end) for row in rows for start, end in row["offsets"]]
    assert [SOURCE[start:end] for start, end in places] == [
        token for row in rows for token in row["tokens"]
    ]
    text = exported(split, "trees.conllu", "--from-source").read_text("utf-8")
    assert "# text = It ran, fast.\n1\tIt\t" in text
    assert "TokenRange=7:8|SpacesAfter=\\n" in text
    (doc,) = docs_of(exported(split, "trees.spacy", "--from-source"))
    assert doc.user_data["treeviews"]["starts"] == (0, 15, 20)


def test_what_has_no_place_says_so(
    split: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SourceText, "sentences", lambda source, number: iter([None] * 3))
    text = exported(split, "trees.conllu", "--from-source").read_text("utf-8")
    assert "TokenRange" not in text and "1\tOh\t_\t_\t_\t_\t0\troot\t_\t_\n" in text
    assert "3 without a place in the source" in capsys.readouterr().out
    (first, *_) = exported(split, "trees.jsonl", "--from-source").read_text("utf-8").splitlines()
    assert json.loads(first)["in_source"] is False


# ---- spaCy


def docs_of(path: Path) -> list:
    from spacy.lang.en import English
    from spacy.tokens import DocBin

    from treeviews.pipeline.parsing.spacy_docs import register_extensions

    register_extensions()
    return list(DocBin().from_disk(path).get_docs(English().vocab))


def test_a_doc_bin_has_documents_with_trees(corpus: Path) -> None:
    first, second, without_arcs = docs_of(exported(corpus, "trees.spacy"))
    assert first.text == "The old owl saw a mouse . Run ."
    assert [sent.text for sent in first.sents] == ["The old owl saw a mouse .", "Run ."]
    labels = ["det", "nsubj:pass", "aux:pass", "ROOT", "punct"]
    assert [token.dep_ for token in second][:5] == labels
    assert [token.head.text for token in first][:4] == ["owl", "owl", "saw", "saw"]
    assert first[7].head.text == "Run" and first[8].head.text == "Run"
    spans = [(span.text, span.label_) for span in first.spans["constituents"]]
    assert ("a mouse", "NP") in spans and ("Run .", "S+VP") in spans
    own = {"document_id": "second", "sent_ids": ("1:0",), "sentence_indices": (0,)}
    assert second.user_data["treeviews"] == own
    assert without_arcs.user_data["treeviews"]["sent_ids"] == ("1:1",)
    assert next(first.sents)._.parse_string.startswith("(S (NP (DT The) (JJ old) (NN owl))")


def test_sentences_without_dependencies_keep_their_starts(tmp_path: Path) -> None:
    words = [["It", "ran"], ["Oh", "dear"], ["He", "sat"], ["So", "what"]]
    arcs = {"heads": [2, 0], "deprels": ["nsubj", "root"]}
    none = {"heads": None, "deprels": None}
    _, phrases = constituent_row("(S (NP (PRP It)) (VP (VBD hid)))")
    corpus = tmp_path / "corpus"
    write_stage(corpus / "sentences", "sentences", sentence_rows(words))
    write_stage(corpus / "dependencies", "dependencies", [arcs, none, arcs, none])
    refused = dict.fromkeys(phrases)
    write_stage(corpus / "constituents", "constituents", [phrases, refused, phrases, phrases])
    docs = docs_of(exported(corpus, "trees.spacy"))
    assert [
        (name, sent.text)
        for doc in docs
        for name, sent in zip(doc.user_data["treeviews"]["sent_ids"], doc.sents, strict=True)
    ] == [(f"0:{row}", " ".join(tokens)) for row, tokens in enumerate(words)]
    assert [span.label_ for span in docs[3].spans["constituents"]] == ["S", "NP", "VP"]


def test_a_folder_of_doc_bins_has_all_sentences(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_export, "SENTENCES_A_FILE", 3)
    monkeypatch.setattr(tree_export, "SENTENCES_A_DOC", 1)
    out = exported(corpus, "trees", "--format", "spacy")
    files = sorted(out.iterdir())
    assert [path.name for path in files] == ["00000.spacy", "00001.spacy"]
    assert [doc.text for path in files for doc in docs_of(path)] == [
        " ".join(row["tokens"]) for row in sentence_rows_of()
    ]
    assert main(["export", str(corpus), "--out", str(out), "--format", "spacy"]) == 2


def test_one_file_holds_only_so_many_sentences(
    corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_export, "MOST_IN_ONE_FILE", 3)
    out = corpus.parent / "trees.spacy"
    assert main(["export", str(corpus), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert "more than 3 sentences" in error and "--format spacy for a folder of files" in error
    assert not out.exists()
