"""Files that a library writes appear whole, with the mode that the umask gives."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from models.training.checkpoints import Checkpoint, write_checkpoint
from pipeline.base.atomic_files import write_by_library
from pipeline.parsers.adapters.parser_folder import write_parser_folder
from pipeline.vectors.write_folder import write_vectors
from tests.support.parsed_corpora import write_vectors as some_vectors
from tests.support.saved_models import write_model
from tests.support.tiny_transformers import tiny_bert


@pytest.fixture(params=[0o022, 0o077, 0o002])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    former = os.umask(request.param)
    yield request.param
    os.umask(former)


def _vectors(folder: Path) -> None:
    write_vectors(folder, ["a"], np.zeros((1, 2), dtype=np.float32), {})


def _checkpoint(folder: Path) -> None:
    write_checkpoint(folder, Checkpoint(1, {"a": torch.zeros(1)}, {}))


def _parser(folder: Path) -> None:
    write_parser_folder(folder, "toy", {}, {"a": torch.zeros(1)})


def _model(folder: Path) -> None:
    write_model(folder / "model", some_vectors(folder / "given"), views=("LIN", "SEQ"))


@pytest.mark.parametrize("write", [_vectors, _checkpoint, _parser, _model])
def test_whoever_may_read_other_files_may_read_weights(
    tmp_path: Path, umask: int, write: Callable[[Path], None]
) -> None:
    write(tmp_path)
    shutil.rmtree(tmp_path / "given", ignore_errors=True)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".safetensors", ".json"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o666 & ~umask}


def test_a_transformer_that_is_saved_has_that_mode_too(tmp_path: Path, umask: int) -> None:
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    from pipeline.parsers.checkpoints.transformer_folder import save_transformer

    hub = tiny_bert(tmp_path / "hub")
    config, tokenizer = AutoConfig.from_pretrained(hub), AutoTokenizer.from_pretrained(hub)
    tensors = AutoModel.from_pretrained(hub).state_dict()
    save_transformer(tmp_path / "saved", config, tokenizer, tensors)
    weights = tmp_path / "saved" / "model.safetensors"
    assert weights.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_library_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_by_library(path, partial(save_file, {"a": np.zeros(1)}))
    before = path.read_bytes()

    def fail(temporary: Path) -> None:
        temporary.write_bytes(b"half")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        write_by_library(path, fail)
    assert path.read_bytes() == before


def test_what_a_library_fails_to_write_leaves_nothing(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        write_by_library(tmp_path / "weights", fail)
    assert list(tmp_path.iterdir()) == []
