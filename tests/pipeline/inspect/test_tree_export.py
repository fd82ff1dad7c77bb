"""Shards written in the formats that others read, and read back."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import subcommand
from tests.support.looked_at_corpus import ARCS, PLACES, constituent_row, sentence_rows_of
from tests.support.shard_files import sentence_rows, write_rows, write_stage
from tests.support.splitting import split_sentences
from treeviews.pipeline.inspect import tree_export
from treeviews.pipeline.inspect.aligned_rows import select
from treeviews.pipeline.inspect.tree_export import export
from treeviews.pipeline.shards.manifests import read_dataset_manifest, write_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.text import documents, plan
from treeviews.pipeline.text.cleaning_steps import CleaningConfig
from treeviews.pipeline.text.text_files import FilesConfig
from treeviews.pipeline.text.text_sources import TextFiles
from treeviews.pipeline.text.tokenization import SentenceConfig
from treeviews.pipeline.trees.treebanks import read_bracketed, read_treebank

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
    for sentence, (heads, deprels), (name, _) in zip(
        read_treebank([out]), ARCS, PLACES, strict=False
    ):
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


def test_a_row_that_is_no_tree_is_named(tmp_path: Path) -> None:
    arcs = {"heads": [5, 0], "deprels": ["det", "root"]}
    corpus = tmp_path / "corpus"
    write_stage(corpus / "sentences", "sentences", sentence_rows([["It", "ran"]] * 2))
    right = {"heads": [2, 0], "deprels": ["nsubj", "root"]}
    write_stage(corpus / "dependencies", "dependencies", [right, arcs])
    out = tmp_path / "trees.conllu"
    with pytest.raises(
        ValueError, match=r"^0:1 \(.*outside 0 to 2; `inspect check` says"
    ) as raised:
        export(select(corpus), out, "conllu")
    assert "\n" not in str(raised.value) and not out.exists()


# ---- from the source

TEXT = "".join(
    f"Owl {number} said “it's naïve”,\nand wrapped  its li\u00adne. It slept 😀!\n"
    + ("\n" if number % 3 else "   \n\n")
    + ("1 2 3.\n\n" if number % 4 == 0 else "")  # refused
    for number in range(40)
)


def corpus_of(folder: Path, source: Path) -> Path:
    """Returns a corpus that was split from a file, every word hanging on the first one."""
    split_sentences(TextFiles([source]), SentenceConfig(), folder / "sentences")
    for shard in read_dataset_manifest(folder / "sentences", "sentences").shards:
        lengths = [len(row["tokens"]) for row in _rows(folder, shard.number)]
        arcs = [{"heads": [0] + [1] * (n - 1), "deprels": ["dep"] * n} for n in lengths]
        write_rows(folder / "dependencies", "dependencies", shard.number, arcs)
    write_dataset_manifest(
        folder / "dependencies", "dependencies", config={}, num_shards=shard.number + 1
    )
    return folder


def _rows(folder: Path, number: int) -> list[dict[str, Any]]:
    return read_shard(folder / "sentences", "sentences", number).to_pylist()


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl"])
def test_text_and_offsets_are_those_of_the_source(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plan, "_target", lambda number: 8)
    monkeypatch.setattr(documents, "STEP_BYTES", 300)
    content = TEXT.replace("\n", "\r\n").encode()
    if name.endswith("jsonl"):
        content = f"{json.dumps({'text': 'A cat.'})}\n{json.dumps({'text': TEXT})}\n".encode()
    packed = gzip.compress(content) if name.endswith("gz") else content
    (tmp_path / name).write_bytes(packed)
    folder = corpus_of(tmp_path / "corpus", tmp_path / name)
    of_shards = [_rows(folder, number) for number in range(len(list(folder.glob("s*/*.parquet"))))]

    lines = exported(folder, "trees.jsonl", "--from-source").read_text("utf-8").splitlines()

    rows = [json.loads(line) for line in lines]
    assert len(of_shards) > 3 or name.endswith("jsonl")
    assert "without a place" not in capsys.readouterr().out
    for row, known in zip(rows, [row for rows in of_shards for row in rows], strict=True):
        document = "A cat." if row["document_id"] == "a.jsonl:1" else TEXT
        words = [document[start:end] for start, end in row["offsets"]]
        assert words == row["tokens"]
        assert [word.replace("\u00ad", "") for word in words] == known["tokens"]
        given = document[row["start"] :][: len(row["text"])]
        assert row["in_source"] and row["text"] == given.replace("\n", " ")


def test_what_cleaning_changed_or_stands_behind_a_giant_line_has_no_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    giant = f"{'x' * 1000}\n\n"
    (tmp_path / "a.txt").write_text(f"The cat sat.\n\nIt was ﬁne.\n\n{giant}It slept.\n")
    folder = tmp_path / "corpus"
    source = TextFiles([tmp_path / "a.txt"], FilesConfig(max_paragraph_characters=100))
    cleaning = CleaningConfig(normalisation="nfkc")
    split_sentences(source, SentenceConfig(), folder / "sentences", cleaning)
    arcs = [{"heads": [0] + [1] * (len(row["tokens"]) - 1)} for row in _rows(folder, 0)]
    arcs = [row | {"deprels": ["dep"] * len(row["heads"])} for row in arcs]
    write_stage(folder / "dependencies", "dependencies", arcs)

    text = exported(folder, "trees.conllu", "--from-source").read_text("utf-8")

    assert text.count("TokenRange") == len(["The", "cat", "sat", "."])
    assert "2 without a place in the source" in capsys.readouterr().out


def test_a_source_that_is_gone_is_told(
    tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    folder = corpus_of(tmp_path / "from-text", tmp_path / "a.txt")
    (tmp_path / "a.txt").unlink()
    for of, told in ((folder, "a.txt: gone"), (corpus, "plan.json")):
        out = tmp_path / f"{of.name}.conllu"
        assert main(["export", str(of), "--out", str(out), "--from-source"]) == 2
        assert told in capsys.readouterr().err and not out.exists()


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
    corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
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
    monkeypatch.setattr(tree_export, "MOST_IN_ONE_FILE", 3)
    assert main(["export", str(corpus), "--out", str(corpus.parent / "trees.spacy")]) == 2
    assert "--format spacy for a folder of files" in capsys.readouterr().err
