"""A parser on disk is whole and of the right kind, or refused; its network has its weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from treeviews.pipeline.parsers.parser_files import (
    CHECKSUMS_NAME,
    DESCRIPTION_NAME,
    WEIGHTS_NAME,
    checksum_of_parser_folder,
    read_scores,
)
from treeviews.pipeline.parsers.parser_folder import (
    NetworkDescription,
    built_to_fit,
    read_parser_folder,
    write_parser_folder,
)


class Toy(NetworkDescription):
    kind = "toy"

    size: int = 2


TENSORS = {"weight": torch.tensor([[0.5, -1.25]]), "counts": torch.tensor([3, 4])}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_parser_folder(tmp_path / "parser", Toy(), TENSORS)
    return tmp_path / "parser"


def test_what_is_written_is_read_back_as_float32(folder: Path) -> None:
    description, tensors, checksum = read_parser_folder(folder, Toy)
    assert description == Toy()
    assert tensors["weight"].dtype == torch.float32
    assert torch.equal(tensors["weight"], TENSORS["weight"])
    assert torch.equal(tensors["counts"], TENSORS["counts"])
    assert checksum == checksum_of_parser_folder(folder)
    size = write_parser_folder(folder, Toy(), {"weight": torch.zeros(10_000)}) and (
        (folder / WEIGHTS_NAME).stat().st_size
    )
    assert size < 21_000  # two bytes each


def changed(folder: Path, name: str, old: str, new: str, *, on_purpose: bool = True) -> None:
    file = folder / name
    file.write_bytes(file.read_bytes().replace(old.encode(), new.encode()))
    if on_purpose:
        (folder / CHECKSUMS_NAME).unlink()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / WEIGHTS_NAME).unlink(), rf"{WEIGHTS_NAME}: no such file"),
        (lambda f: (f / WEIGHTS_NAME).write_bytes(b"x"), "sha256 differs"),
        (lambda f: changed(f, DESCRIPTION_NAME, '"toy"', '"chart"'), "of kind 'chart', but 'toy'"),
        (
            lambda f: changed(f, DESCRIPTION_NAME, 'n": 1', 'n": 99'),
            "must be 1, got 99",
        ),
        (
            lambda f: changed(f, DESCRIPTION_NAME, "2", "3", on_purpose=False),
            r"damaged .* restore .* checksums\.json",
        ),
        (lambda f: (f / CHECKSUMS_NAME).write_text('{"file_sha256": 5}'), "an object"),
    ],
)
def test_a_folder_that_is_none_is_refused(
    folder: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(folder)
    with pytest.raises(ValueError, match=message):
        read_parser_folder(folder, Toy)


class Network(nn.Module):
    """Draws its weights, and has constants that no file holds."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.square = nn.Parameter(torch.empty(width, width))
        self.words = nn.Embedding(5, width, padding_idx=0)
        self.register_buffer("places", torch.arange(width), persistent=False)
        self.register_buffer("scale", torch.full((1,), 2.0))
        nn.init.orthogonal_(self.square)
        nn.init.normal_(self.words.weight)


def test_weights_are_those_given_and_constants_those_of_the_code() -> None:
    weights = {name: torch.full_like(value, 7) for name, value in Network().state_dict().items()}
    before = torch.random.get_rng_state()
    network = built_to_fit(Network, weights)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())
    assert network.places.tolist() == [0, 1, 2]
    assert {str(value.device) for value in network.state_dict().values()} == {"cpu"}


def test_weights_of_another_shape_are_refused_before_a_network_takes_memory() -> None:
    def build() -> Network:
        network = Network(4)
        assert network.square.is_meta
        return network

    with pytest.raises(ValueError, match=r"of another shape: .*square"):
        built_to_fit(build, Network().state_dict())


def test_scores_are_read_where_there_are_any(tmp_path: Path) -> None:
    assert read_scores(tmp_path) == {}
    (tmp_path / "scores.json").write_text('{"LAS": 86, "UAS": 89.5}')
    assert read_scores(tmp_path) == {"LAS": 86.0, "UAS": 89.5}
