"""What the processor decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.base import machine
from pipeline.base.machine import mkl_is_at_home


@pytest.mark.parametrize(
    ("vendor", "at_home"), [("GenuineIntel", True), ("AuthenticAMD", False), (None, True)]
)
def test_the_library_follows_from_the_processor(
    vendor: str | None, at_home: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if vendor is not None:
        (tmp_path / "cpuinfo").write_text(f"processor : 0\nvendor_id : {vendor}\n")
    monkeypatch.setattr(machine, "_PROCESSORS", tmp_path / "cpuinfo")
    mkl_is_at_home.cache_clear()
    try:
        assert mkl_is_at_home() is at_home
    finally:
        mkl_is_at_home.cache_clear()
