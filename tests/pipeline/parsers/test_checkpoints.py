"""Original checkpoints become parser folders, and nothing that they hold is run."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
import tempfile
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import dill
import pytest
import torch

from tests.support.constituency_trees import tiny_model, toy_treebank
from tests.support.dependency_examples import treebank
from tests.support.library_parsers import benepar_file, from_supar, supar_parser
from tests.support.tiny_transformers import tiny_bert
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.parsers.chart_adapter import BeneparConstituencyParser
from treeviews.pipeline.parsers.convert import convert_checkpoint, main
from treeviews.pipeline.parsers.dependency_adapter import SuparDependencyParser
from treeviews.pipeline.parsers.parser_files import CHECKSUMS_NAME, PARSER_FILES
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.parsers.torch_checkpoint_reader import (
    Inert,
    open_checkpoint,
    read_torch_file,
)

_REBUILDER = b"ctorch._utils\n_rebuild_tensor_v2\n"
"""The opcode that names one of torch's functions."""


def torch_zip(
    path: Path,
    program: bytes,
    records: Mapping[str, bytes] | None = None,
    compression: int = zipfile.ZIP_STORED,
) -> Path:
    """Writes a file of torch's zip format with this pickle and these records; returns its path."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", program)
        for name, content in (records or {}).items():
            archive.writestr(f"archive/{name}", content)
        archive.writestr("archive/version", b"3\n")
    return path


def tensor_program(size: tuple[int, ...], count: int) -> bytes:
    """Returns a pickle of one float32 tensor of this size over a storage of so many numbers."""
    storage = b"(" + _text("storage") + b"ctorch\nFloatStorage\n" + _text("0") + _text("cpu")
    storage += _value(count) + b"tQ"
    stride = tuple([1] * len(size))
    arguments = b"(" + storage + _value(0) + _value(size) + _value(stride) + b"\x89}t"
    return b"\x80\x02" + _REBUILDER + arguments + b"R."


def attribute_program(target: Path) -> bytes:
    """Returns a pickle that renames a function of torch to a path and makes it dump patches."""
    return b"\x80\x02" + _renamed(target) + b"."


def _renamed(target: Path) -> bytes:
    state = _value({"dump_patches": True, "__name__": str(target)})
    return _REBUILDER + b"N" + state + b"\x86b"


def _text(text: str) -> bytes:
    return b"X" + len(text.encode()).to_bytes(4, "little") + text.encode()


def _value(value: Any) -> bytes:
    """Returns the opcodes of a plain value; nothing of it is kept for later use."""
    pickled = io.BytesIO()
    writer = pickle.Pickler(pickled, 2)
    writer.fast = True
    writer.dump(value)
    return pickled.getvalue()[2:-1]


@pytest.fixture
def supar_checkpoint(tmp_path: Path) -> Path:
    supar_parser(tmp_path).save(str(tmp_path / "supar.pt"))
    return tmp_path / "supar.pt"


@pytest.fixture
def benepar_checkpoint(tmp_path: Path) -> Path:
    module = tiny_model(toy_treebank(20)).network
    torch.save(
        {"config": module.config, "state_dict": module.state_dict()}, tmp_path / "benepar.pt"
    )
    return tmp_path / "benepar.pt"


def trusted(checkpoint: Path) -> str:
    file = checkpoint / "benepar_model.bin" if checkpoint.is_dir() else checkpoint
    return sha256_of_file(file) if file.exists() else ""


def convert(checkpoint: Path, **options: str) -> str:
    folder = checkpoint.parent / "converted"
    return convert_checkpoint(str(checkpoint), folder, sha256=trusted(checkpoint), **options)


def opened(checkpoint: Path) -> object:
    scratch = tempfile.mkdtemp(dir=checkpoint.parent)
    return open_checkpoint(checkpoint, Path(scratch))


@pytest.mark.slow
def test_a_user_converts_a_file_whose_sha256_he_gives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser, sentences = supar_parser(tmp_path), [sentence.tokens for sentence in treebank()]
    checkpoint, folder = tmp_path / "supar.pt", tmp_path / "own"
    parser.save(str(checkpoint))
    assert main([str(checkpoint), str(folder), "--sha256", sha256_of_file(checkpoint)]) == 0
    checksum = capsys.readouterr().out.strip()
    converted = load_parser(folder, "dependencies", expected_checksum=checksum)
    expected = SuparDependencyParser(from_supar(parser), name="expected")
    assert converted.parse(sentences) == expected.parse(sentences)
    assert {path.name for path in folder.iterdir()} == {*PARSER_FILES, CHECKSUMS_NAME}


def test_nothing_is_read_without_the_right_sha256(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "any.pt"
    checkpoint.write_bytes(b"whatever it is")
    found = sha256_of_file(checkpoint)
    with pytest.raises(ValueError, match=rf"of sha256 {found}, and not read, as no sha256"):
        convert_checkpoint(str(checkpoint), tmp_path / "out", sha256="")
    assert main([str(checkpoint), str(tmp_path / "out"), "--sha256", "00"]) == 2
    assert f"sha256 {found}, and not read, as 00 is given" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_a_pickle_would_run_is_not_run(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "sprung"),)

    def bytecode() -> str:
        return "of this Python version"

    content = {"name": Trap(), "fn": bytecode, "tensor": torch.ones(2)}
    torch.save(content, tmp_path / "trap.pt", pickle_module=dill)
    read = read_torch_file(tmp_path / "trap.pt")
    assert isinstance(read["name"], Inert)
    assert isinstance(read["fn"], Inert)
    assert read["tensor"].tolist() == [1, 1]
    assert not (tmp_path / "sprung").exists()


def test_a_benepar_file_gives_the_trees_of_its_module(benepar_checkpoint: Path) -> None:
    sentences = [sentence.tokens for sentence in toy_treebank(6, seed=1)]
    checksum = convert(benepar_checkpoint, stage="constituents")
    folder = benepar_checkpoint.parent / "converted"
    expected = BeneparConstituencyParser(tiny_model(toy_treebank(20)), name="x")
    converted = load_parser(folder, "constituents", expected_checksum=checksum)
    assert converted.parse(sentences) == expected.parse(sentences)


def test_what_is_no_checkpoint_is_named(tmp_path: Path, supar_checkpoint: Path) -> None:
    (tmp_path / "notes.txt").write_text("The dog chased a cat.\n" * 50)
    (tmp_path / "cut.pt").write_bytes(supar_checkpoint.read_bytes()[:4000])
    for name in ("notes.txt", "cut.pt"):
        with pytest.raises(ValueError, match=rf"{name}: not a whole file of torch\.save"):
            opened(tmp_path / name)
    for name, files in {"none.zip": (), "two.zip": ("a/model", "b/model")}.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for file in files:
                archive.writestr(file, "x")
        with pytest.raises(ValueError, match=rf"{name}: .*neither one file nor one folder"):
            opened(tmp_path / name)
    with pytest.raises(ValueError, match="gives constituents, not dependencies"):
        convert_checkpoint("benepar_en3", tmp_path / "out", sha256="00", stage="dependencies")
    torch.save({"epoch": 3, "model": {}}, tmp_path / "other.pt")
    with pytest.raises(ValueError, match=r"neither a parser of supar nor one of benepar.*epoch"):
        opened(tmp_path / "other.pt")


def edited(checkpoint: Path, edit: Callable[[Any], object]) -> Path:
    content = torch.load(checkpoint, weights_only=False)
    edit(content)
    torch.save(content, checkpoint, pickle_module=dill)
    return checkpoint


@pytest.mark.parametrize(
    ("library", "edit", "message"),
    [
        ("supar", lambda c: c.update(name="crf-dependency"), "only 'biaffine-dependency'"),
        ("supar", lambda c: setattr(c["args"], "feat", ["tag", "char"]), "cannot be taken over"),
        ("supar", lambda c: c["state_dict"].pop("arc_mlp_d.linear.bias"), "weights do not fit"),
        (
            "benepar",
            lambda c: c["state_dict"].pop("f_label.0.bias"),
            r"fit .*f_label\.0\.bias",
        ),
        ("benepar", lambda c: c["config"]["label_vocab"].update(X=99), "ids are not 0, 1, 2"),
    ],
)
def test_a_parser_that_cannot_be_taken_over_is_refused(
    library: str,
    edit: Callable[[Any], object],
    message: str,
    supar_checkpoint: Path,
    benepar_checkpoint: Path,
) -> None:
    checkpoint = edited({"supar": supar_checkpoint, "benepar": benepar_checkpoint}[library], edit)
    other = {"supar": "constituents", "benepar": "dependencies"}[library]
    with pytest.raises(ValueError, match=f"of {library}, which gives"):
        convert(checkpoint, stage=other)
    with pytest.raises(ValueError, match=message):
        convert(checkpoint)
    assert not list((checkpoint.parent / "converted").iterdir())


def test_a_folder_with_something_else_in_it_is_left_alone(
    tmp_path: Path, benepar_checkpoint: Path
) -> None:
    folder = tmp_path / "mine"
    (folder / "transformer").mkdir(parents=True)
    (folder / "transformer" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"mine: holds .*transformer.*, .* folder that is empty"):
        convert_checkpoint(str(benepar_checkpoint), folder, sha256=trusted(benepar_checkpoint))
    assert (folder / "transformer" / "notes.txt").read_text() == "mine"


def test_a_released_folder_brings_its_transformers_files_along(tmp_path: Path) -> None:
    hub = tiny_bert(tmp_path / "hub")
    content = torch.load(benepar_file(tmp_path, hub))
    released = shutil.copytree(hub, tmp_path / "benepar_xx")
    (released / "model.safetensors").unlink()
    config = json.loads((released / "config.json").read_text())
    config["benepar"] = {**content["config"], "char_vocab": None}
    (released / "config.json").write_text(json.dumps(config))
    torch.save(content["state_dict"], released / "benepar_model.bin")
    shutil.rmtree(hub)
    assert convert(released)
    folder = tmp_path / "converted"
    assert load_parser(folder, "constituents").parse([["Go", "!"]])
    (released / "benepar_model.bin").unlink()
    with pytest.raises(
        ValueError, match=r"no benepar_model\.bin; name a folder that benepar released"
    ):
        opened(released)


ONE = {"data/0": b"\0\0\0\0"}


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (attribute_program(Path("name")), "it sets attributes of torch"),
        (b"\x80\x02ctorch\nFloatStorage\n}X\x01\x00\x00\x00aK\x01sb.", "attributes of a storage"),
        (b"\x80\x02(X\x06\x00\x00\x00moduleK\x01tQ.", "names something of the file that is no"),
        (tensor_program((10**12,), 1), "a tensor of more numbers than its storage has"),
        (tensor_program((1,), 10), "has 1 numbers instead of 10"),
        (tensor_program((1, 1), 1)[:-3], "not a whole file"),
        (tensor_program((1,), 1)[:-1] + b"(\x88\x89Ntb.", "it sets attributes of a tensor"),
    ],
)
def test_what_a_pickle_may_not_say_is_refused(tmp_path: Path, program: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_torch_file(torch_zip(tmp_path / "trap.pt", program, ONE))


LARGE = {"data/0": bytes(10**6)}


@pytest.mark.parametrize(
    ("records", "compression", "message"),
    [
        (LARGE, zipfile.ZIP_DEFLATED, "records larger than the file"),
        ({**ONE, "byteorder": b"big"}, zipfile.ZIP_STORED, "numbers begin at the other end"),
        ({**ONE, "constants.pkl": b"."}, zipfile.ZIP_STORED, "a program of TorchScript"),
        ({**ONE, "code/__torch__.py": b""}, zipfile.ZIP_STORED, "a program of TorchScript"),
    ],
)
def test_an_archive_that_torch_did_not_save_here_is_refused(
    tmp_path: Path, records: dict[str, bytes], compression: int, message: str
) -> None:
    program = tensor_program((1,), len(records["data/0"]) // 4)
    with pytest.raises(ValueError, match=message):
        read_torch_file(torch_zip(tmp_path / "trap.pt", program, records, compression))


def test_what_torch_saves_is_read_as_torch_reads_it(tmp_path: Path) -> None:
    table = torch.arange(12.0).reshape(3, 4)
    module = torch.nn.Linear(2, 2)
    content = {
        "view": table.t(),
        "half": table[1:].half(),
        "counts": torch.tensor([1, 2]),
        "empty": torch.zeros(0, 3),
        "scalar": torch.tensor(2.5),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "state": module.state_dict(),
        "plain": OrderedDict(a=[1, (2.0, None)], b={"x"}),
    }
    torch.save(content, tmp_path / "code.pt")

    found = read_torch_file(tmp_path / "code.pt")
    wanted = torch.load(tmp_path / "code.pt", weights_only=False)
    for name in ("view", "half", "counts", "empty", "scalar", "parameter"):
        assert torch.equal(found[name], wanted[name])
        assert found[name].dtype == wanted[name].dtype
    assert all(torch.equal(found["state"][name], t) for name, t in wanted["state"].items())
    assert found["plain"] == wanted["plain"]
