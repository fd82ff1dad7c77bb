"""What the command line of training cannot do is one sentence, and exit code 2."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.constituency_trees import toy_treebank, write_bracketed
from tests.support.dependency_examples import treebank, write_conllu
from tests.support.tiny_transformers import tiny_bert, tiny_t5
from treeviews.pipeline.parser_training.__main__ import main

ARCS = "--train t.conllu --dev t.conllu"
PHRASES = "--train t.mrg --dev t.mrg"
MISTAKES = [
    ("dependncy", "no kind of parser 'dependncy'; did you mean dependency?"),
    (f"dependency out {ARCS} --num-epoch 1", "unrecognized arguments: --num-epoch 1"),
    (f"dependency out {ARCS} --batch-tokens 0", "batch_tokens must be at least 1, got 0"),
    (f"dependency out {ARCS} --altered-share 1.5", "must lie in [0, 1]"),
    (f"dependency out {ARCS} --vectors v", "added to a trained parser; give that as --initial"),
    (f"dependency out {ARCS} --max-sentence-tokens 2", "none of 8 training sentences has at most"),
    (f"dependency out {ARCS} --exclude story", "no sentence in t.conllu but those"),
    (f"constituency out {PHRASES} --max-sentence-tokens 600", "but the model takes 510"),
    (f"constituency out {PHRASES} --exclude a", "name no documents that --exclude"),
    ("constituency out --train none.mrg --dev t.mrg", "none.mrg: no such file"),
    (f"dependency-transformer out {ARCS}", "give either --transformer FOLDER, or --initial PARSER"),
    (f"dependency-transformer out {ARCS} --transformer empty", "no transformer that can be read"),
    (f"dependency-transformer out {ARCS} --transformer t5", "t5: a t5; give an encoder such as"),
    (f"dependency-transformer out {ARCS} --transformer pickled", "a pickle"),
    (f"dependency-transformer out {ARCS} --transformer bert --mixed-layers 5", "4 or fewer"),
    (f"dependency-transformer out {ARCS} --transformer bert --initial x", "x/parser.json: no such"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Treebanks, and transformers of which all but the first cannot be read."""
    folder = tmp_path_factory.mktemp("mistakes")
    write_conllu(treebank(), folder / "t.conllu")
    write_bracketed(folder / "t.mrg", toy_treebank(4))
    bert = tiny_bert(folder / "bert")
    shutil.copytree(bert, folder / "pickled")
    (folder / "pickled" / "pytorch_model.bin").touch()
    (folder / "empty").mkdir()
    tiny_t5(folder / "t5")
    return folder


@pytest.mark.parametrize(("command", "said"), MISTAKES)
def test_a_mistake_is_one_sentence(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    said: str,
) -> None:
    monkeypatch.chdir(folder)
    with suppress(SystemExit):  # of argparse
        assert main(command.split()) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "out").exists()
