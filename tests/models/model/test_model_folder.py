"""A model's folder is refused by name where a bit of it has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.model.model_folder import load_model
from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import write_model


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


def test_a_model_of_an_earlier_release_is_loaded(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", write_vectors(tmp_path / "v"), views=("SEQ", "LIN"))
    path = folder / "model.json"
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if '"file_sha256"' in line)
    kept = [*lines[:start], *lines[start + 3 :]]
    path.write_text("\n".join(line for line in kept if "content_sha256" not in line))

    assert load_model(folder).config.views == ("SEQ", "LIN")
