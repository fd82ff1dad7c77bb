"""A model's folder is refused by name where a bit of it has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.edited_json import edit
from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import write_model
from treeviews.models.model.model_folder import load_model


@pytest.mark.parametrize("name", ["model.safetensors", "model.json"])
def test_a_model_of_which_a_bit_was_flipped_is_refused(tmp_path: Path, name: str) -> None:
    folder = write_model(tmp_path / "m", write_vectors(tmp_path / "v"), views=("SEQ", "LIN"))
    load_model(folder)
    path = folder / name
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content)

    with pytest.raises(ValueError, match=rf"m/{name}: .* restore the model's files .* train again"):
        load_model(folder)


@pytest.mark.parametrize("damage", ["flipped", "cut", "missing", "of another size"])
def test_damage_is_told_with_one_path_and_one_remedy(tmp_path: Path, damage: str) -> None:
    folder = write_model(tmp_path / "m", write_vectors(tmp_path / "v"), views=("SEQ", "LIN"))
    path = folder / "model.safetensors"
    content = path.read_bytes()
    if damage == "flipped":
        path.write_bytes(content[:-1] + b"x")
    else:
        edit(folder / "model.json", lambda value: value.pop("file_sha256"))
    if damage == "cut":
        path.write_bytes(content[:-1])
    elif damage == "missing":
        path.unlink()
    elif damage == "of another size":
        edit(folder / "model.json", lambda value: value["config"].update(hidden_size=7))

    with pytest.raises(ValueError, match=r"model\.safetensors: .*; restore") as refused:
        load_model(folder)
    said = str(refused.value)
    assert said.count(str(path)) == said.count("train again") == 1


@pytest.mark.parametrize("files", [5, None, {"model.safetensors": 5}])
def test_a_model_that_names_no_sha256_is_refused(tmp_path: Path, files: Any) -> None:
    folder = write_model(tmp_path / "m", write_vectors(tmp_path / "v"), views=("SEQ", "LIN"))
    edit(folder / "model.json", lambda value: value.update(file_sha256=files))

    with pytest.raises(ValueError, match=r"model\.json: .*file_sha256 must be .*; restore"):
        load_model(folder)


def test_a_model_of_an_earlier_release_is_loaded(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", write_vectors(tmp_path / "v"), views=("SEQ", "LIN"))
    path = folder / "model.json"
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if '"file_sha256"' in line)
    kept = [*lines[:start], *lines[start + 3 :]]
    path.write_text("\n".join(line for line in kept if "content_sha256" not in line))

    assert load_model(folder).config.views == ("SEQ", "LIN")
