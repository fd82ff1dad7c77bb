"""Parsers with a transformer inside answer as the libraries' own, and need no hub."""

import json
import operator
import shutil
import socket
from functools import reduce
from pathlib import Path
from typing import Any

import benepar
import pytest

from tests.support.constituency_trees import toy_treebank
from tests.support.dependency_examples import treebank
from tests.support.library_parsers import benepar_file, supar_parser
from tests.support.tiny_transformers import TINY_TRANSFORMERS, tiny_bert
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.checkpoint_conversion import (
    convert_benepar_checkpoint,
    convert_supar_checkpoint,
)
from treeviews.pipeline.parsers.parser_files import CHECKSUMS_NAME, DESCRIPTION_NAME
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.parsers.torch_checkpoint_reader import read_torch_file
from treeviews.pipeline.trees.flat_trees import ConstituencyParse
from treeviews.pipeline.trees.treebanks import to_brackets

SENTENCES = [
    ["The", "dog", "chased", "an", "enormous", "neighbour", "'s", "cat", "."],
    ["Go", "!"],
    ["Unquestionably", "internationalization", "(", "helps", ")", "us", "."],
    ["A"],
    *(sentence.tokens for sentence in treebank()),
]
TOKENIZER = "transformer/tokenizer_config.json"
INDEX = "transformer/model.safetensors.index.json"
MANY_SUBWORDS = ["internationalization"] * 12


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise OSError("no network in tests")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def convert_supar(parser: Any, folder: Path) -> str:
    parser.save(str(folder / "supar.pt"))
    state = read_torch_file(folder / "supar.pt")
    return convert_supar_checkpoint(state, folder / "parser", transformer="")


def convert_benepar(checkpoint: Path, folder: Path) -> str:
    return convert_benepar_checkpoint(read_torch_file(checkpoint), folder, transformer="")


@pytest.mark.parametrize(
    ("transformer", "options"),
    [
        ("bert", {}),
        ("roberta", {"bert_pooling": "last", "n_bert_layers": 0}),
        ("electra", {"scale": 1}),
    ],
)
def test_dependencies_are_those_of_supars_own_prediction(
    tmp_path: Path, transformer: str, options: dict[str, Any]
) -> None:
    files = TINY_TRANSFORMERS[transformer](tmp_path / "hub")
    parser = supar_parser(tmp_path, bert=files, **{"encoder": "bert", **options})
    sentences = [*SENTENCES, MANY_SUBWORDS]  # which supar reads in windows
    theirs = parser.predict([list(s) for s in sentences], tree=True, proj=False, verbose=False)
    checksum = convert_supar(parser, tmp_path)
    shutil.rmtree(files)
    loaded = load_parser(tmp_path / "parser", "dependencies", expected_checksum=checksum)
    ours = loaded.parse(sentences)
    assert [parse.heads for parse in ours] == list(theirs.arcs)
    assert [parse.deprels for parse in ours] == list(theirs.rels)
    assert [loaded.parse([sentence])[0] for sentence in sentences] == ours


@pytest.mark.parametrize(
    ("transformer", "changes"),
    [
        ("bert", {}),
        ("bert", {"use_encoder": False}),
        ("electra", {"predict_tags": False, "force_root_constituent": False}),
        ("roberta", {}),
        ("t5", {}),
    ],
)
def test_constituents_are_those_of_benepars_own_prediction(
    tmp_path: Path, transformer: str, changes: dict[str, Any]
) -> None:
    files = TINY_TRANSFORMERS[transformer](tmp_path / "hub")
    checkpoint = benepar_file(tmp_path, files, **changes)
    sentences = SENTENCES + [sentence.tokens for sentence in toy_treebank(12)]
    inputs = [benepar.InputSentence(words=list(sentence)) for sentence in sentences]
    theirs = [tree[0] for tree in benepar.Parser(str(checkpoint)).parse_sents(inputs)]
    checksum = convert_benepar(checkpoint, tmp_path / "parser")
    shutil.rmtree(files)
    loaded = load_parser(tmp_path / "parser", "constituents", expected_checksum=checksum)
    ours = loaded.parse(sentences)
    for sentence, parse, tree in zip(sentences, ours, theirs, strict=True):
        assert isinstance(parse, ConstituencyParse)
        assert to_brackets(sentence, parse) == " ".join(str(tree).split())
    assert [loaded.parse([sentence])[0] for sentence in sentences] == ours


def test_a_sentence_with_too_many_subwords_or_too_few_is_rejected_alone(tmp_path: Path) -> None:
    files = tiny_bert(tmp_path / "hub", max_positions=50)
    convert_benepar(benepar_file(tmp_path, files), tmp_path / "parser")
    parser = load_parser(tmp_path / "parser", "constituents", precision="fast")
    most = ["x" * 47, "!"]  # 48 subwords and the two marks
    answers = parser.parse([["Go", "!"], ["x" * 48, "!"], most, ["a"] * 39, ["a", "\u200b"]])
    assert isinstance(answers[0], ConstituencyParse)
    assert answers[1] == Refusal("too_many_subwords", "51 subwords, limit 50")
    assert isinstance(answers[2], ConstituencyParse)
    assert answers[3] == Refusal("too_long", "39 tokens, limit 38")
    assert answers[4].reason == "no_subword"


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("converted")
    files = tiny_bert(folder / "hub")
    convert_supar(supar_parser(folder, bert=files, encoder="bert"), folder)
    (folder / "parser").rename(folder / "dependencies")
    convert_benepar(benepar_file(folder, files), folder / "constituents")
    return folder


@pytest.mark.parametrize(
    ("kind", "file", "entry", "value", "message"),
    [
        ("dependencies", "parser.json", "config/network/n_arc_mlp", 120, "do not fit"),
        ("dependencies", "parser.json", "config/network/encoder", "elmo", "its encoder is 'elmo'"),
        ("constituents", "parser.json", "config/hparams/d_ff", 100, "do not fit"),
        ("dependencies", TOKENIZER, "vocab_file", "../../victim", "leads out of the folder"),
        ("constituents", INDEX, "weight_map", {"a": "/etc/passwd"}, "leads out of the folder"),
    ],
)
def test_what_is_described_must_be_of_the_weights_and_inside_the_folder(
    converted: Path, tmp_path: Path, kind: str, file: str, entry: str, value: Any, message: str
) -> None:
    folder = shutil.copytree(converted / kind, tmp_path / kind)
    assert load_parser(folder, kind)
    (folder / CHECKSUMS_NAME).unlink()
    content = json.loads((folder / file).read_text()) if (folder / file).exists() else {}
    *parents, name = entry.split("/")
    reduce(operator.getitem, parents, content)[name] = value
    (folder / file).write_text(json.dumps(content))
    description = json.loads((folder / DESCRIPTION_NAME).read_text())
    description["files"] |= {n: sha256_of_file(folder / n) for n in description["files"]}
    (folder / DESCRIPTION_NAME).write_text(json.dumps(description))
    with pytest.raises(ValueError, match=message):
        load_parser(folder, kind)


def test_the_checksum_covers_every_file(tmp_path: Path) -> None:
    folder = tmp_path / "parser"
    convert_benepar(benepar_file(tmp_path, tiny_bert(tmp_path / "hub")), folder)
    tokenizer = folder / "transformer" / "tokenizer.json"
    tokenizer.write_bytes(tokenizer.read_bytes() + b" ")
    with pytest.raises(ValueError, match=r"tokenizer\.json: sha256 differs"):
        load_parser(folder, "constituents")
