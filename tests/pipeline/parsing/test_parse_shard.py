from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.memory_source import Memory
from tests.support.repository import REPOSITORY
from tests.support.shard_files import sentence_rows, write_rows, write_stage
from tests.support.splitting import split_sentences
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.pipeline.base.machine import MAXRSS_BYTES
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.sentence_parser import MAX_TOKENS, ParserFailedError
from treeviews.pipeline.parsing import parse_shard as parsing
from treeviews.pipeline.parsing.parse_shard import ParseJob, describe_parsing, parse_shard
from treeviews.pipeline.shards.manifests import quarantine_path, read_shard_manifest, shard_path
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.text.tokenization import SentenceConfig
from treeviews.pipeline.trees.flat_trees import ConstituencyParse, DependencyParse


def chain(words: Sequence[str]) -> DependencyParse | Refusal:
    """A chain of heads to the right; the word ``odd`` is rejected."""
    if "odd" in words:
        return Refusal("odd_word", "odd")
    n = len(words)
    return DependencyParse([*range(2, n + 1), 0], ["dep"] * (n - 1) + ["root"])


def flat(words: Sequence[str]) -> ConstituencyParse:
    return ConstituencyParse([0], [len(words)], ["S"], ["NN"] * len(words))


def failing(word: str, reason: str = "parser_error"):
    return lambda w: Refusal(reason, "IndexError: no luck") if word in w else chain(w)


class Scripted:
    """A parser that answers each sentence by a function."""

    name, checksum = "right-chain", "abc"

    def __init__(self, answer=chain) -> None:
        self._answer = answer
        self.calls: list[int] = []

    def parse(self, sentences: Sequence[Sequence[str]]) -> list:
        self.calls.append(len(sentences))
        return [self._answer(words) for words in sentences]


def numbered(folder: Path, num_rows: int, num_bad: int) -> ParseJob:
    """Writes sentences of which the last ones are ``bad``."""
    words = [["good"] if row < num_rows - num_bad else ["bad"] for row in range(num_rows)]
    write_rows(folder / "sentences", "sentences", 0, sentence_rows(words))
    return job(folder / "sentences")


TEXTS = ["Cats sleep well.", "An odd one.", "Go!", "Dogs (and owls) do not."]


@pytest.fixture
def sentences(tmp_path) -> Path:
    folder = tmp_path / "sentences"
    split_sentences(Memory({"a": TEXTS}), SentenceConfig(), folder)
    return folder


def job(sentences: Path, stage: str = "dependencies", name: str = "parsed") -> ParseJob:
    return ParseJob(stage=stage, sentences=sentences, output=sentences.parent / name, number=0)


def test_dependency_rows_stay_aligned_and_rejections_are_null(sentences):
    manifest = parse_shard(job(sentences), Scripted())
    table = read_shard(sentences.parent / "parsed", "dependencies", 0)
    assert table["heads"].to_pylist() == [[2, 3, 4, 0], None, [2, 0], [2, 3, 4, 5, 6, 7, 8, 0]]
    assert table["deprels"].to_pylist()[1:3] == [None, ["dep", "root"]]
    assert (manifest.rows, manifest.drops) == (4, {"odd_word": 1})
    source = read_shard_manifest(sentences, 0)
    assert source is not None
    assert manifest.extra["parser"] == "right-chain"
    assert manifest.extra["parser_checksum"] == "abc"
    assert manifest.extra["sentences_sha256"] == source.sha256
    text = quarantine_path(sentences.parent / "parsed", 0).read_text()
    assert json.loads(text) == {
        "row": 1,
        "document_id": "a",
        "sentence_index": 1,
        "reason": "odd_word",
        "detail": "odd",
        "excerpt": "An odd one .",
    }


@pytest.mark.parametrize(
    ("stage", "answer"),
    [
        ("dependencies", DependencyParse([0, 0], ["root", "root"])),
        ("constituents", ConstituencyParse([0], [1], ["S"], ["NN", "NN"])),
        ("constituents", ConstituencyParse([0], [4], ["NP|"], ["NN"] * 4)),
    ],
)
def test_what_is_no_tree_is_quarantined(sentences, stage, answer):
    manifest = parse_shard(job(sentences, stage), Scripted(lambda words: answer))
    assert manifest.drops == {"invalid_tree": 4}
    table = read_shard(sentences.parent / "parsed", stage, 0)
    assert all(table[name].null_count == 4 for name in table.column_names)


@pytest.mark.parametrize(
    ("bound", "value", "pools"),
    [
        ("POOL_ROWS", 3, [3, 1]),
        ("POOL_TOKENS", 8, [2, 1, 1]),  # the sentences have 4, 4, 2 and 8 tokens
    ],
)
def test_bytes_do_not_depend_on_pools(sentences, monkeypatch, bound, value, pools):
    whole = parse_shard(job(sentences), Scripted())
    monkeypatch.setattr(parsing, bound, value)
    parser = Scripted()
    pooled = parse_shard(job(sentences, name="pooled"), parser)
    assert parser.calls == pools
    assert pooled.sha256 == whole.sha256


def test_a_killed_job_leaves_no_shard_and_its_successor_the_same_bytes(sentences, monkeypatch):
    whole = parse_shard(job(sentences), Scripted())
    monkeypatch.setattr(parsing, "POOL_ROWS", 2)

    def killed(self, words):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Scripted, "parse", killed)
        with pytest.raises(KeyboardInterrupt):
            parse_shard(job(sentences, name="killed"), Scripted())
    assert read_shard_manifest(sentences.parent / "killed", 0) is None
    again = parse_shard(job(sentences, name="killed"), Scripted())
    assert again.sha256 == whole.sha256
    parser = Scripted()
    assert parse_shard(job(sentences, name="killed"), parser) == again
    assert parser.calls == []  # it stands


@pytest.mark.parametrize(("num_rows", "num_bad"), [(40, 11), (1500, 16)])
def test_a_parser_that_fails_again_and_again_ends_the_job(tmp_path, num_rows, num_bad):
    parse_job = numbered(tmp_path, num_rows, num_bad)
    with pytest.raises(RuntimeError) as caught:
        parse_shard(parse_job, Scripted(failing("bad")))
    message = str(caught.value)
    assert f"first, at row {num_rows - num_bad}: parser_error (IndexError: no luck)" in message
    assert not parse_job.output.exists()
    manifest = parse_shard(
        numbered(tmp_path / "fewer", num_rows, num_bad - 1), Scripted(failing("bad"))
    )
    assert (manifest.rows, manifest.drops) == (num_rows, {"parser_error": num_bad - 1})


@pytest.mark.parametrize(
    ("stage", "library"), [("dependencies", "supar"), ("constituents", "benepar")]
)
def test_the_description_names_what_determines_the_rows(monkeypatch, stage, library):
    described = describe_parsing(stage)
    assert described["max_tokens"] == MAX_TOKENS
    assert ("binarization_version" in described) == (stage == "constituents")
    assert "+" not in described["torch"] and library in described
    assert describe_parsing(stage, kind="supar-biaffine-dependency") == described
    within = describe_parsing(stage, kind="supar-biaffine-dependency-transformer")
    assert set(within) - set(described) == {"parser_kind", "transformers", "tokenizers"}
    monkeypatch.setattr(parsing, "PARSING_VERSION", 99)
    assert describe_parsing(stage) != described


def test_what_is_not_there_damaged_or_by_another_parser_is_an_error(sentences, tmp_path):
    with pytest.raises(FileNotFoundError, match="shard 0 is not complete; run the sentence stage"):
        parse_shard(job(tmp_path / "nowhere"), Scripted())
    parse_shard(job(sentences), Scripted())
    other = Scripted()
    other.checksum = "other"
    with pytest.raises(ValueError, match="parser_checksum 'abc', not 'other'; delete"):
        parse_shard(job(sentences), other)
    path = shard_path(sentences, 0)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"sha256 differs from its manifest's; delete 00000.parq"):
        parse_shard(job(sentences), Scripted())


def test_a_parser_without_memory_ends_the_job_and_names_the_row(tmp_path):
    def answer(words):
        if "bad" in words:
            raise ParserFailedError("no memory to parse a sentence: let fewer run", words)
        return chain(words)

    parse_job = numbered(tmp_path, 40, 11)
    with pytest.raises(RuntimeError) as caught:
        parse_shard(parse_job, Scripted(answer))
    message = str(caught.value)
    assert message.startswith(f"{parse_job.sentences}/00000.parquet, row 29: no memory to parse")
    assert "complete ones are kept" in message
    assert not parse_job.output.exists()


def peak_mib(stage: str, folder: Path, sentences: Sequence[Sequence[str]]) -> float:
    """Returns the most memory of a job that parses these sentences, all of which it must parse."""
    job = {
        "stage": stage,
        "parser": str(BUNDLED_PARSERS[stage]),
        "sentences": str(write_stage(folder / "sentences", "sentences", sentence_rows(sentences))),
        "output": str(folder / stage),
        "number": 0,
    }
    (folder / "job.json").write_text(json.dumps(job))
    command = [
        sys.executable,
        "-m",
        "treeviews.pipeline.parsing.parse_shard",
        str(folder / "job.json"),
    ]
    process = subprocess.Popen(command, cwd=REPOSITORY)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    assert read_shard(folder / stage, stage, 0).column(0).null_count == 0
    return usage.ru_maxrss * MAXRSS_BYTES / (1 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("stage", BUNDLED_PARSERS)
def test_a_shard_of_the_longest_sentences_stays_within_its_memory(
    stage: str, tmp_path: Path
) -> None:
    words = np.array(["the", "owl", "saw", "a", "small", "house", ",", "and", "left", "."])
    random = np.random.default_rng(0)
    longest = [random.choice(words, 510).tolist() for _ in range(16)]
    loaded = peak_mib(stage, tmp_path / "short", [["Rain", "fell"]])
    assert peak_mib(stage, tmp_path / "long", longest) - loaded < 512
