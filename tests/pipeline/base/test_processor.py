"""What the processor decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeviews.pipeline.base import machine
from treeviews.pipeline.base.machine import mkl_is_fast, processor


@pytest.mark.parametrize(
    ("vendor", "flags", "is_fast"),
    [
        ("GenuineIntel", "avx2 avx512f", True),
        ("GenuineIntel", "avx2", True),
        ("AuthenticAMD", "avx2 avx512f", False),
        ("AuthenticAMD", "avx2", True),
        (None, "", True),
    ],
)
def test_the_library_follows_from_the_processor(
    vendor: str | None,
    flags: str,
    is_fast: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if vendor is not None:
        described = f"processor : 0\nvendor_id : {vendor}\nflags : fpu {flags}\n"
        (tmp_path / "cpuinfo").write_text(described)
    monkeypatch.setattr(machine, "_PROCESSORS", tmp_path / "cpuinfo")
    mkl_is_fast.cache_clear()
    try:
        assert mkl_is_fast() is is_fast
    finally:
        mkl_is_fast.cache_clear()


def test_a_processor_is_told_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_PROCESSORS", tmp_path / "cpuinfo")
    monkeypatch.setattr(machine.platform, "processor", lambda: "arm")
    assert processor() == "arm"
    described = "cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9554\n\n"
    (tmp_path / "cpuinfo").write_text(described * 2)
    assert processor() == "AMD EPYC 9554"
