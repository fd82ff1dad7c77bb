"""One process of `benchmarks.word_vectors`, so that its memory is its own; prints a JSON object.

Arguments of ``python -m benchmarks.word_vectors_process``: ``ours FILE FOLDER``, ``gensim FILE`` or
``open FOLDER ROWS``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from treeviews.pipeline.base.machine import peak_bytes

MIB = 1 << 20


def main() -> None:
    """Does what the arguments say and prints what it took."""
    kind, *rest = sys.argv[1:]
    measures: dict[str, Callable[..., dict[str, Any]]] = {
        "ours": _import,
        "gensim": _load_by_gensim,
        "open": _open,
    }
    print(json.dumps(measures[kind](*rest)))


def _import(file: str, folder: str) -> dict[str, Any]:
    from treeviews.pipeline.vectors.import_vectors import import_vectors

    started = time.perf_counter(), time.process_time()
    words = import_vectors(Path(file), Path(folder))["words"]
    return _taken(*started, words)


def _load_by_gensim(file: str) -> dict[str, Any]:
    from gensim.models import KeyedVectors

    started = time.perf_counter(), time.process_time()
    words = len(KeyedVectors.load_word2vec_format(file, no_header=True))
    return _taken(*started, words)


def _taken(wall: float, cpu: float, words: int) -> dict[str, Any]:
    return {
        "words": words,
        "seconds": round(time.perf_counter() - wall, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "peak_mib": round(peak_bytes() / MIB, 1),
    }


def _open(folder: str, num_rows: str) -> dict[str, Any]:
    """Opens a folder, looks a word up, then reads rows as a text of Zipf's law asks for them."""
    from treeviews.models.words.word_vectors import load_word_vectors
    from treeviews.pipeline.shards.arrow import strings

    before = _resident()
    times = [time.perf_counter()]
    vectors = load_word_vectors(Path(folder))
    times.append(time.perf_counter())
    vectors.token_ids(strings([vectors.index.words[-1].as_py(), "no such word"]))
    times.append(time.perf_counter())
    opened = _resident()
    draw = np.random.default_rng(0)
    ranks = np.exp(draw.uniform(0, np.log(vectors.num_words), 40 * int(num_rows))).astype(np.int64)
    wanted = np.unique(np.minimum(ranks, vectors.num_words - 1))[: int(num_rows)]
    rows = vectors.rows(wanted)
    times.append(time.perf_counter())
    return {
        "open_seconds": round(times[1] - times[0], 3),
        "first_lookup_seconds": round(times[2] - times[1], 3),
        "rows": len(rows),
        "rows_seconds": round(times[3] - times[2], 3),
        "open_mib": round((opened - before) / MIB, 1),
        "rows_mib": round((_resident() - opened) / MIB, 1),
        "rows_own_mib": round(rows.nbytes / MIB, 1),
    }


def _resident() -> int:
    """Returns how many bytes of memory this process takes now, those of mapped files included."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, ModuleNotFoundError) as error:
        sys.exit(str(error))
