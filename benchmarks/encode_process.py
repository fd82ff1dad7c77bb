"""The process that the encoding benchmark measures: it loads an encoder and encodes sentences.

``python -m benchmarks.encode_process ENCODER SENTENCES.json COLD`` prints its figures as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from models.encoding.named_encoder import resolve_encoder
from pipeline.base.memory import peak_bytes


def main() -> None:
    """Encodes one sentence, then so many as are to be cold, then the others."""
    called, path, cold = sys.argv[1:]
    first, *sentences = json.loads(Path(path).read_text(encoding="utf-8"))
    encoder = resolve_encoder(called)
    encoder.encode([first])
    times = [time.process_time()]  # the process began at 0
    parts = sentences[: int(cold)], sentences[int(cold) :]
    for part in parts:
        encoder.encode(part)
        times.append(time.process_time())
    cold_rate, rate = (
        len(part) / max(1e-9, times[number + 1] - times[number])
        for number, part in enumerate(parts)
    )
    figures = {
        "sentences_per_second": round(rate, 1),
        "cold_sentences_per_second": round(cold_rate, 1),
        "first_call_seconds": round(times[0], 2),
        "peak_mib": round(peak_bytes() / (1 << 20), 1),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(str(error))
