"""Files of ``torch.save`` are read without torch's reader, which can be made to change files."""

from __future__ import annotations

import pickle
import warnings
from collections import OrderedDict
from pathlib import Path

import pytest
import torch

from pipeline.parsers.torch_checkpoint_reader import read_torch_file
from tests.support.hostile_checkpoints import (
    attribute_program,
    legacy_file,
    module_program,
    tar_file,
    tensor_program,
    torch_zip,
)

ONE = {"data/0": b"\0\0\0\0"}


def test_a_hard_link_in_a_tar_does_not_reach_its_victim(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("private")
    victim.chmod(0o600)
    before = victim.stat()
    trap = tar_file(tmp_path / "trap.pt", victim)

    with pytest.raises(ValueError, match=r"trap\.pt: not a whole file .* in its zip format"):
        read_torch_file(trap)
    after = victim.stat()
    assert (after.st_mode, after.st_mtime) == (before.st_mode, before.st_mtime)

    with pytest.raises(pickle.UnpicklingError):  # the trap is one
        torch.load(trap, weights_only=False)
    assert victim.stat().st_mode & 0o7777 == 0o4777


def test_a_persistent_id_of_a_module_writes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = module_program(tmp_path / "planted")
    trap = legacy_file(tmp_path / "trap.pt", program)
    in_zip = torch_zip(tmp_path / "zip.pt", program)

    with pytest.raises(ValueError, match=r"trap\.pt: not a whole file .* in its zip format"):
        read_torch_file(trap)
    with pytest.raises(ValueError, match=r"zip\.pt: .*it sets attributes of torch\._utils\._reb"):
        read_torch_file(in_zip)
    assert not (tmp_path / "planted.patch").exists()

    rebuild = torch._utils._rebuild_tensor_v2
    monkeypatch.setattr(rebuild, "__name__", rebuild.__name__)  # to be as it was afterwards
    monkeypatch.setattr(rebuild, "dump_patches", False, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.load(trap, weights_only=False)  # the trap is one
    assert (tmp_path / "planted.patch").exists()


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
    torch.save(content, tmp_path / "file.pt")

    found = read_torch_file(tmp_path / "file.pt")
    wanted = torch.load(tmp_path / "file.pt", weights_only=False)
    for name in ("view", "half", "counts", "empty", "scalar", "parameter"):
        assert torch.equal(found[name], wanted[name])
        assert found[name].dtype == wanted[name].dtype
    assert all(torch.equal(found["state"][name], t) for name, t in wanted["state"].items())
    assert found["plain"] == wanted["plain"]
