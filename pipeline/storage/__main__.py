"""Command line: ``python -m pipeline.storage URL FOLDER`` copies a finished stage, verified.

The URL is the stage's folder in the storage, such as
``s3://bucket/prefix/corpora/<corpus>/sentences``. A copy that broke off goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.base.foreign_text import told
from pipeline.storage.location import Storage, named_address, portable_address
from pipeline.storage.stage import StoredStage


def main(argv: Sequence[str] | None = None) -> int:
    """Copies a stage; returns 0, or 2 where it cannot."""
    parser = argparse.ArgumentParser(prog="python -m pipeline.storage", description=__doc__)
    parser.add_argument("url", help="a finished stage's folder: s3://bucket/…/sentences or a path")
    parser.add_argument("folder", type=Path, help="where it is copied to")
    arguments = parser.parse_args(argv)
    try:
        storage = Storage(portable_address(arguments.url))
        count = StoredStage(storage).fetch_dataset(arguments.folder)
    except (ValueError, OSError) as error:
        print(told(error), file=sys.stderr)
        return 2
    print(told(f"{count} shards of {named_address(arguments.url)} are in {arguments.folder}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
