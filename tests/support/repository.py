"""Where the repository is, for tests that start programs or read what ships."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
