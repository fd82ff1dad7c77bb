"""The corpus that is looked at."""

from pathlib import Path

import pytest

from tests.support.looked_at_corpus import write_looked_at


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_looked_at(tmp_path / "corpus")
