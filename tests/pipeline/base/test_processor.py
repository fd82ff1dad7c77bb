"""What the processor decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.base import machine
from pipeline.base.machine import mkl_is_fast, processor, processor_in_words


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


CPUINFO = """processor\t: {}
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 17
model name\t: AMD EPYC 9554
power management:

"""
CACHES = {
    "index0": ("1", "Data", "32K", "0,64"),
    "index1": ("1", "Instruction", "32K", "0,64"),
    "index2": ("2", "Unified", "1024K", "0,64"),
    "index3": ("3", "Unified", "32768K", "0-7,64-71"),
}


@pytest.fixture
def fake_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of /proc and /sys, empty."""
    monkeypatch.setattr(machine, "_PROCESSORS", tmp_path / "cpuinfo")
    monkeypatch.setattr(machine, "_CACHES", tmp_path / "cache")
    return tmp_path


def test_a_processor_is_told_with_its_generation_and_what_its_cores_share(fake_files: Path) -> None:
    (fake_files / "cpuinfo").write_text(CPUINFO.format(0) + CPUINFO.format(1))
    for index, told in CACHES.items():
        folder = fake_files / "cache" / index
        folder.mkdir(parents=True)
        for name, value in zip(("level", "type", "size", "shared_cpu_list"), told, strict=True):
            (folder / name).write_text(value + "\n")
    assert processor_in_words() == (
        "AMD EPYC 9554, family 25, model 17; "
        "L1d 32 KiB a core, L2 1 MiB a core, L3 32 MiB for 8 cores"
    )


def test_where_the_system_tells_nothing_the_platform_does(
    fake_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.platform, "processor", lambda: "arm")
    assert processor_in_words() == processor() == "arm"


def test_what_the_system_tells_in_part_is_told_in_part(fake_files: Path) -> None:
    (fake_files / "cpuinfo").write_text("model name\t: Some processor\nmodel\t: 7\n")
    (fake_files / "cache" / "index0").mkdir(parents=True)
    assert processor_in_words() == "Some processor, model 7"
