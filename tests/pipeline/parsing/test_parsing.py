from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.base.bundled import BUNDLED_PARSERS
from pipeline.base.refusal import Refusal
from pipeline.parsers import dependency_adapter as supar_adapter
from pipeline.parsers.dependency_model import (
    DependencyModel,
    DependencyVocabulary,
    NetworkSizes,
    build_network,
)
from pipeline.parsers.parser_files import (
    PLAIN_DEPENDENCY,
    TRANSFORMER_DEPENDENCY,
)
from pipeline.parsers.sentence_parser import MAX_TOKENS, ParserFailedError
from pipeline.parsing import parse_shard as parsing
from pipeline.parsing.parse_shard import ParseJob, describe_parsing, parse_shard
from pipeline.shards import shards
from pipeline.shards.manifests import quarantine_path, read_shard_manifest, shard_path
from pipeline.shards.shards import read_shard
from pipeline.text.tokenization import SentenceConfig
from pipeline.trees.flat_trees import ConstituencyParse, DependencyParse
from tests.support.dependency_examples import treebank
from tests.support.memory_source import Memory
from tests.support.repository import REPOSITORY
from tests.support.shard_files import sentence_rows, write_rows, write_stage
from tests.support.splitting import split_sentences


class RightChain:
    """Parses a sentence into a chain of heads to the right; rejects the word ``odd``."""

    name = "right-chain"
    checksum = "abc"

    def __init__(self) -> None:
        self.calls: list[int] = []

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[DependencyParse | Refusal]:
        self.calls.append(len(sentences))
        return [
            Refusal("odd_word", "odd")
            if "odd" in words
            else DependencyParse(
                heads=[*range(2, len(words) + 1), 0],
                deprels=["dep"] * (len(words) - 1) + ["root"],
            )
            for words in sentences
        ]


class FlatBrackets:
    """Parses a sentence into one flat constituent."""

    name = "flat"
    checksum = "def"

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[ConstituencyParse | Refusal]:
        return [
            ConstituencyParse([0], [len(words)], ["S"], ["NN"] * len(words)) for words in sentences
        ]


class Fixed:
    """Gives the same answer for every sentence."""

    name = "fixed"
    checksum = "0"

    def __init__(self, answer) -> None:
        self._answer = answer

    def parse(self, sentences: Sequence[Sequence[str]]) -> list:
        return [self._answer for _ in sentences]


class Failing(RightChain):
    """Fails on every sentence that holds a word."""

    def __init__(self, word: str, reason: str = "parser_error") -> None:
        super().__init__()
        self._word, self._reason = word, reason

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[DependencyParse | Refusal]:
        return [
            Refusal(self._reason, "IndexError: no luck") if self._word in words else answer
            for words, answer in zip(sentences, super().parse(sentences), strict=True)
        ]


def numbered(folder: Path, num_rows: int, num_bad: int) -> ParseJob:
    """Writes sentences of which the last ones hold ``bad``."""
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
    manifest = parse_shard(job(sentences), RightChain())
    table = read_shard(sentences.parent / "parsed", "dependencies", 0)
    assert table["heads"].to_pylist() == [
        [2, 3, 4, 0],
        None,
        [2, 0],
        [2, 3, 4, 5, 6, 7, 8, 0],
    ]
    assert table["deprels"].to_pylist()[2] == ["dep", "root"]
    assert table["deprels"].to_pylist()[1] is None
    assert (manifest.rows, manifest.drops) == (4, {"odd_word": 1})


def test_a_rejection_is_quarantined_with_row_and_document(sentences):
    parse_shard(job(sentences), RightChain())
    text = (sentences.parent / "parsed" / "00000.quarantine.jsonl").read_text()
    assert json.loads(text) == {
        "row": 1,
        "document_id": "a",
        "sentence_index": 1,
        "reason": "odd_word",
        "detail": "odd",
        "excerpt": "An odd one .",
    }


def test_constituents_are_stored_with_their_binarization(sentences):
    parse_shard(job(sentences, "constituents"), FlatBrackets())
    rows = read_shard(sentences.parent / "parsed", "constituents", 0).to_pylist()
    assert rows[0] == {
        "span_starts": [0],
        "span_ends": [4],
        "span_labels": ["S"],
        "tags": ["NN"] * 4,
        "binary_left": [1, 2, -1],
        "binary_right": [-4, -3, -2],
    }


@pytest.mark.parametrize(
    "answer",
    [
        DependencyParse([0, 0], ["root", "root"]),
        DependencyParse([0, 9], ["root", "dep"]),
    ],
)
def test_what_is_no_dependency_tree_is_quarantined(sentences, answer):
    manifest = parse_shard(job(sentences), Fixed(answer))
    assert manifest.drops == {"invalid_tree": 4}


@pytest.mark.parametrize(
    "answer",
    [
        ConstituencyParse([0], [1], ["S"], ["NN", "NN"]),
        ConstituencyParse([0, 0, 1], [3, 2, 3], ["S", "NP", "VP"], ["NN"] * 3),
        ConstituencyParse([0], [4], ["NP|"], ["NN"] * 4),
    ],
)
def test_what_is_no_constituency_tree_is_quarantined(sentences, answer):
    manifest = parse_shard(job(sentences, "constituents"), Fixed(answer))
    assert manifest.drops == {"invalid_tree": 4}
    table = read_shard(sentences.parent / "parsed", "constituents", 0)
    assert all(table[name].null_count == 4 for name in table.column_names)


@pytest.mark.parametrize(
    ("bound", "value", "pools"),
    [
        ("POOL_ROWS", 3, [3, 1]),
        ("POOL_TOKENS", 8, [2, 1, 1]),  # the sentences have 4, 4, 2 and 8 tokens
    ],
)
def test_bytes_do_not_depend_on_pools(sentences, monkeypatch, bound, value, pools):
    whole = parse_shard(job(sentences), RightChain())
    monkeypatch.setattr(parsing, bound, value)
    parser = RightChain()
    pooled = parse_shard(job(sentences, name="pooled"), parser)
    assert parser.calls == pools
    assert pooled.sha256 == whole.sha256


def test_row_groups_of_the_sentences_are_row_groups_of_the_parses(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "ROW_GROUP_ROWS", 3)
    parse_job = numbered(tmp_path, 8, 1)
    manifest = parse_shard(parse_job, Failing("bad", "too_long"))
    file = pq.ParquetFile(shard_path(parse_job.output, 0))
    assert [file.metadata.row_group(i).num_rows for i in range(3)] == [3, 3, 2]
    assert manifest.rows == 8
    assert read_shard(parse_job.output, "dependencies", 0)["heads"].to_pylist() == [[0]] * 7 + [
        None
    ]
    assert '"row": 7' in quarantine_path(parse_job.output, 0).read_text()


def test_a_parser_that_fails_in_a_later_row_group_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "ROW_GROUP_ROWS", 10)
    parse_job = numbered(tmp_path, 40, 15)
    with pytest.raises(RuntimeError, match="nothing was written"):
        parse_shard(parse_job, Failing("bad"))
    assert list(parse_job.output.iterdir()) == []


def test_a_killed_job_leaves_no_shard_and_its_successor_the_same_bytes(sentences, monkeypatch):
    whole = parse_shard(job(sentences), RightChain())
    monkeypatch.setattr(parsing, "POOL_ROWS", 2)

    def killed(self, words):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RightChain, "parse", killed)
        with pytest.raises(KeyboardInterrupt):
            parse_shard(job(sentences, name="killed"), RightChain())
    assert read_shard_manifest(sentences.parent / "killed", 0) is None
    assert parse_shard(job(sentences, name="killed"), RightChain()).sha256 == whole.sha256


@pytest.mark.parametrize("reason", ["parser_error", "invalid_tree"])
@pytest.mark.parametrize(("num_rows", "num_bad"), [(40, 11), (1500, 16)])
def test_a_parser_that_fails_again_and_again_ends_the_job(tmp_path, num_rows, num_bad, reason):
    parse_job = numbered(tmp_path, num_rows, num_bad)
    with pytest.raises(RuntimeError) as caught:
        parse_shard(parse_job, Failing("bad", reason))
    message = str(caught.value)
    assert "the parser right-chain failed on" in message
    assert f"first, at row {num_rows - num_bad}: {reason} (IndexError: no luck)" in message
    assert "nothing was written: check the parser, its libraries and the device" in message
    assert not parse_job.output.exists()


@pytest.mark.parametrize(("num_rows", "num_bad"), [(40, 10), (1500, 15)])
def test_a_few_failures_of_the_parser_are_nulls(tmp_path, num_rows, num_bad):
    manifest = parse_shard(numbered(tmp_path, num_rows, num_bad), Failing("bad"))
    assert manifest.drops == {"parser_error": num_bad}
    assert manifest.rows == num_rows


def test_a_broken_device_leaves_no_shard(sentences, monkeypatch):
    """The adapters' own parse, around a network that fails."""
    parser = tiny_dependency_parser()

    def broken(*arguments, **options):
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(type(parser), "_parse_batch", broken)
    with pytest.raises(RuntimeError, match="CUDA error"):
        parse_shard(job(sentences), parser)
    assert read_shard_manifest(sentences.parent / "parsed", 0) is None


def tiny_dependency_parser() -> supar_adapter.SuparDependencyParser:
    sizes = NetworkSizes(
        word_embedding=2, character_embedding=2, character_hidden=2, character_features=2,
        lstm_hidden=2, lstm_layers=1, arc_mlp=2, relation_mlp=2,
    )  # fmt: skip
    vocabulary = DependencyVocabulary.build(treebank(), min_word_frequency=1)
    model = DependencyModel(build_network(sizes, vocabulary), sizes, vocabulary)
    return supar_adapter.SuparDependencyParser(model, name="tiny")


@pytest.mark.parametrize(
    ("stage", "library"), [("dependencies", "supar"), ("constituents", "benepar")]
)
def test_the_description_names_what_determines_the_rows(monkeypatch, stage, library):
    described = describe_parsing(stage)
    assert described["max_tokens"] == MAX_TOKENS
    assert ("binarization_version" in described) == (stage == "constituents")
    assert "+" not in described["torch"]
    monkeypatch.setattr(parsing, "installed_version", {"torch": "9.0", library: "8.0"}.__getitem__)
    changed = describe_parsing(stage)
    assert (changed["torch"], changed[library]) == ("9.0", "8.0")
    monkeypatch.setattr(parsing, "PARSING_VERSION", 99)
    assert describe_parsing(stage) != changed
    with pytest.raises(ValueError, match="unknown stage 'sentences'"):
        describe_parsing("sentences")


def test_a_transformer_inside_adds_its_libraries_to_the_description():
    plain = describe_parsing("dependencies", kind=PLAIN_DEPENDENCY)
    assert plain == describe_parsing("dependencies")
    within = describe_parsing("dependencies", kind=TRANSFORMER_DEPENDENCY)
    assert set(within) - set(plain) == {"parser_kind", "transformers", "tokenizers"}
    assert within["tokenizers"] == importlib.metadata.version("tokenizers")


def test_a_standing_shard_is_not_parsed_again(sentences):
    first = parse_shard(job(sentences), RightChain())
    parser = RightChain()
    assert parse_shard(job(sentences), parser) == first
    assert parser.calls == []


def test_a_shard_by_another_parser_is_an_error(sentences):
    parse_shard(job(sentences), RightChain())
    other = RightChain()
    other.checksum = "other"
    with pytest.raises(ValueError, match="parser_checksum 'abc', not 'other'; delete"):
        parse_shard(job(sentences), other)


def test_the_manifest_names_parser_and_sentences(sentences):
    manifest = parse_shard(job(sentences), RightChain())
    source = read_shard_manifest(sentences, 0)
    assert source is not None
    assert manifest.extra["parser"] == "right-chain"
    assert manifest.extra["parser_checksum"] == "abc"
    assert manifest.extra["sentences_sha256"] == source.sha256


def test_a_missing_sentence_shard_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="shard 0 is not complete; run the sentence stage"):
        parse_shard(job(tmp_path / "nowhere"), RightChain())


def test_a_broken_sentence_shard_is_an_error(sentences):
    path = shard_path(sentences, 0)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"sha256 differs from its manifest's; delete 00000.parq"):
        parse_shard(job(sentences), RightChain())


def test_jobs_that_make_no_sense_are_errors(tmp_path):
    with pytest.raises(
        ValueError, match="stage must be 'dependencies' or 'constituents', got 'tags'"
    ):
        ParseJob(stage="tags", sentences=tmp_path, output=tmp_path, number=0)
    with pytest.raises(ValueError, match="number must be at least 0, got -1"):
        ParseJob(stage="dependencies", sentences=tmp_path, output=tmp_path, number=-1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stage": None}, "missing parse job fields ['stage']"),
        ({"speed": 3}, "unknown parse job fields ['speed']"),
        ({}, "parser"),
        ({"device": "cuda:99"}, "device 'cuda:99': torch "),
        ({"precision": "half"}, "precision must be 'exact' or 'fast', got 'half'"),
    ],
)
def test_the_command_line_fails_with_a_clear_message(sentences, changes, message):
    fields = {
        "stage": "dependencies",
        "parser": str(sentences.parent / "no-parser"),
        "sentences": str(sentences),
        "output": str(sentences.parent / "parsed"),
        "number": 0,
    } | changes
    path = sentences.parent / "job.json"
    path.write_text(json.dumps({k: v for k, v in fields.items() if v is not None}))
    command = [sys.executable, "-m", "pipeline.parsing.parse_shard", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_flat_lists_hold_empty_rows_and_nulls():
    from pipeline.shards.shards import FlatListColumn

    type_ = pa.list_(pa.field("item", pa.int16(), nullable=False))
    column = FlatListColumn(type_)
    for row in ([1, 2], [], None, [3]):
        column.append(row)
    assert column.to_arrow().to_pylist() == [[1, 2], [], None, [3]]
    with pytest.raises(OverflowError):
        column.append([40_000])


def test_a_parser_without_memory_ends_the_job_and_names_the_row(tmp_path):
    class OutOfMemory(RightChain):
        def parse(self, sentences):
            bad = [words for words in sentences if "bad" in words]
            if bad:
                raise ParserFailedError("no memory to parse a sentence: let fewer run", bad[0])
            return super().parse(sentences)

    parse_job = numbered(tmp_path, 40, 11)
    with pytest.raises(RuntimeError) as caught:
        parse_shard(parse_job, OutOfMemory())
    message = str(caught.value)
    assert message.startswith(f"{parse_job.sentences}/00000.parquet, row 29: no memory to parse")
    assert "complete ones are kept" in message
    assert not parse_job.output.exists()


LIMITED_JOB = """
import resource, sys
from pathlib import Path
from pipeline.parsers.dependency_adapter import SuparDependencyParser as Parser
from pipeline.parsing import parse_shard as parsing

real = Parser.parse

def limited(self, sentences):  # once all is loaded, little more than that
    real(self, [["It", "rains", "."]])
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (40 << 20),) * 2)
    return real(self, sentences)

Parser.parse = limited
sys.exit(parsing.run_job_from_command_line(parsing.ParseShardJob, parsing.execute))
"""


@pytest.mark.slow
def test_a_job_under_a_limit_of_memory_says_so_at_once(tmp_path):
    words = ["the", "old", "telescope", "that", "a", "man", "saw", "from", "some", "hill"]
    numbers = np.random.default_rng(0).integers(3, 60, size=500)
    rows = sentence_rows([list(islice(cycle(words), int(n))) for n in numbers])
    write_stage(tmp_path / "sentences", "sentences", rows)
    path = tmp_path / "job.json"
    job = {"stage": "dependencies", "sentences": str(tmp_path / "sentences"), "number": 0}
    job |= {"output": str(tmp_path / "out"), "parser": str(BUNDLED_PARSERS["dependencies"])}
    path.write_text(json.dumps(job), encoding="utf-8")
    command = [sys.executable, "-c", LIMITED_JOB, str(path)]

    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert "00000.parquet, row " in ended.stderr
    assert "no memory to parse" in ended.stderr
    assert "may have" in ended.stderr
    assert ended.stderr.count("was rejected") <= 2
    assert "Traceback" not in ended.stderr
