import json
import shutil
from pathlib import Path

import pytest
import torch

from pipeline.parsers.parser_files import (
    CHECKSUMS_NAME,
    DESCRIPTION_NAME,
    WEIGHTS_NAME,
    checksum_of_parser_folder,
    read_description,
)
from pipeline.parsers.parser_folder import read_parser_folder, write_parser_folder
from tests.support.repository import REPOSITORY

TENSORS = {"weight": torch.tensor([[0.5, -1.25]]), "counts": torch.tensor([3, 4])}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_parser_folder(tmp_path / "parser", "toy", {"size": 2}, TENSORS)
    return tmp_path / "parser"


def test_what_is_written_is_read_back_as_float32(folder: Path) -> None:
    config, tensors, checksum = read_parser_folder(folder, "toy")
    assert config == {"size": 2}
    assert tensors["weight"].dtype == torch.float32
    assert torch.equal(tensors["weight"], TENSORS["weight"])
    assert torch.equal(tensors["counts"], TENSORS["counts"])
    assert checksum == checksum_of_parser_folder(folder)


def test_floating_weights_take_two_bytes_each(tmp_path: Path) -> None:
    write_parser_folder(tmp_path, "toy", {}, {"weight": torch.zeros(10_000)})
    assert (tmp_path / WEIGHTS_NAME).stat().st_size < 21_000


def test_equal_parsers_have_equal_checksums_and_others_do_not(tmp_path: Path) -> None:
    first = write_parser_folder(tmp_path / "a", "toy", {"size": 2}, TENSORS)
    assert write_parser_folder(tmp_path / "b", "toy", {"size": 2}, TENSORS) == first
    assert write_parser_folder(tmp_path / "c", "toy", {"size": 3}, TENSORS) != first
    other = {**TENSORS, "counts": torch.tensor([3, 5])}
    assert write_parser_folder(tmp_path / "d", "toy", {"size": 2}, other) != first


def test_another_kind_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"parser\.json: a parser of kind 'toy', but 'chart'"):
        read_parser_folder(folder, "chart")


@pytest.mark.parametrize("name", [WEIGHTS_NAME, DESCRIPTION_NAME])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ValueError, match=rf"{name}: no such file"):
        read_parser_folder(folder, "toy")


def test_changed_weights_are_refused(folder: Path) -> None:
    weights = folder / WEIGHTS_NAME
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match=r"weights\.safetensors: sha256 differs"):
        read_parser_folder(folder, "toy")


def test_an_unexpected_checksum_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="differs from the expected 0123"):
        read_parser_folder(folder, "toy", expected_checksum="0123")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", r"description fields must be an object, got \[\]; write it by"),
        ('{"format_version": 1}', r"missing description fields \['kind', 'weights_sha256'"),
        ('{"format_version": 1, "kind": 3, "weights_sha256": "", "config": {}}', "description f"),
        ('{"format_version": NaN}', "not JSON .NaN is no number.; write it by"),
        ("[" * 100_000, "JSON that nests too deeply; write it by"),
    ],
)
def test_a_damaged_description_is_refused(folder: Path, text: str, message: str) -> None:
    (folder / DESCRIPTION_NAME).write_text(text)
    (folder / CHECKSUMS_NAME).unlink()
    with pytest.raises(ValueError, match=rf"parser\.json: {message}"):
        read_parser_folder(folder, "toy")


def test_an_edited_description_is_refused(folder: Path) -> None:
    file = folder / DESCRIPTION_NAME
    file.write_text(file.read_text().replace('"size": 2', '"size": 3'))
    with pytest.raises(ValueError, match=r"parser\.json: damaged .* restore .* checksums\.json"):
        read_parser_folder(folder, "toy")


@pytest.mark.parametrize("text", ["[]", '{"file_sha256": 5}', '{"file_sha256": {"a": 5}}'])
def test_checksums_that_are_none_are_refused(folder: Path, text: str) -> None:
    (folder / CHECKSUMS_NAME).write_text(text)
    with pytest.raises(ValueError, match=r"checksums\.json: .* an object.*; restore the"):
        read_parser_folder(folder, "toy")


@pytest.mark.parametrize("name", ["dependency", "constituency", "constituency-large"])
def test_a_bundled_parser_is_what_its_checksums_say(name: str, tmp_path: Path) -> None:
    bundled = REPOSITORY / "data" / "parsers" / name
    shutil.copytree(bundled, tmp_path / name)
    file = tmp_path / name / DESCRIPTION_NAME
    assert read_description(bundled).kind
    file.write_text(file.read_text().replace('"format_version": 1', '"format_version": 2'))
    with pytest.raises(ValueError, match=r"parser\.json: damaged"):
        read_description(file.parent)


def test_a_later_format_is_refused(folder: Path) -> None:
    file = folder / DESCRIPTION_NAME
    (folder / CHECKSUMS_NAME).unlink()
    file.write_text(json.dumps({**json.loads(file.read_text()), "format_version": 99}))
    with pytest.raises(ValueError, match="format version 99, this version reads 1"):
        read_parser_folder(folder, "toy")


def test_weights_that_are_no_numbers_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="weight 'w' is not finite"):
        write_parser_folder(tmp_path, "toy", {}, {"w": torch.tensor([1e30])})
    assert not (tmp_path / DESCRIPTION_NAME).exists()
