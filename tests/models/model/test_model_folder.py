"""A model's folder is refused by name where a bit of it has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.edited_json import edit
from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import write_model
from treeviews.models.model.model_folder import load_model


@pytest.mark.parametrize("damage", ["flipped", "edited", "cut", "missing", "of another size"])
def test_damage_is_told_with_one_path_and_one_remedy(tmp_path: Path, damage: str) -> None:
    folder = write_model(tmp_path / "m", write_vectors(tmp_path / "v"), views=("SEQ", "LIN"))
    path = folder / "model.safetensors"
    content = path.read_bytes()
    if damage == "flipped":
        path.write_bytes(content[:-1] + b"x")
    elif damage == "edited":
        path = folder / "model.json"
        path.write_bytes(path.read_bytes().replace(b'"seed": 0', b'"seed": 1'))
    else:
        edit(folder / "model.json", lambda value: value.pop("file_sha256"))
    if damage == "cut":
        path.write_bytes(content[:-1])
    elif damage == "missing":
        path.unlink()
    elif damage == "of another size":
        edit(folder / "model.json", lambda value: value["config"].update(hidden_size=7))

    with pytest.raises(ValueError, match=rf"{path.name}: .*; restore") as refused:
        load_model(folder)
    said = str(refused.value)
    assert said.count(str(path)) == said.count("train again") == 1


def test_a_model_of_an_earlier_release_is_loaded(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", write_vectors(tmp_path / "v"), views=("SEQ", "LIN"))
    path = folder / "model.json"
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if '"file_sha256"' in line)
    kept = [*lines[:start], *lines[start + 3 :]]
    path.write_text("\n".join(line for line in kept if "content_sha256" not in line))

    assert load_model(folder).config.views == ("SEQ", "LIN")
