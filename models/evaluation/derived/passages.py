"""From held-out text to labelled passages: discourse coherence, which asks for text alone.

Chen et al. 2019, section 3. A passage is some successive sentences of one document, or of one
held-out block of it. Every sentence that enough others follow begins one, so passages overlap;
whole documents go to one split, so none does so across splits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from models.evaluation.derived.classes import Candidate
from models.evaluation.derived.held_out.config import ProbingConfig, stable_number
from models.evaluation.derived.held_out.held_out_rows import ParsedSentence

COHERENT = 6
"""Sentences of a passage of discourse coherence; the first and the last are never replaced."""

Passage = tuple[ParsedSentence, ...]


def passages(sentences: Sequence[ParsedSentence], length: int) -> Iterator[Passage]:
    """Yields all runs of so many successive sentences of one unit of text.

    Args:
        sentences: in the order of the corpus; what is left out of it breaks a run.
    """
    run: list[ParsedSentence] = []
    for sentence in sentences:
        follows = run and (sentence.document_id, sentence.unit, sentence.sentence_index) == (
            run[-1].document_id,
            run[-1].unit,
            run[-1].sentence_index + 1,
        )
        run = [*run[1 - length :], sentence] if follows else [sentence]
        if len(run) == length:
            yield tuple(run)


def by_coherence(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
    """Labels passages of six ``coherent`` or ``incoherent``: those that are to have an intruder."""
    labels = ("coherent", "incoherent")
    return [
        Candidate(passage[0], labels[_drawn(config, "coherence", passage) % 2], further=passage[1:])
        for passage in passages(sentences, COHERENT)
    ]


def with_intruders(
    candidates: Sequence[Candidate], config: ProbingConfig
) -> list[Candidate] | None:
    """Returns the passages of a split, a sentence of the incoherent ones replaced.

    The second, third, fourth or fifth gives way to a sentence of another document among these
    passages, so that an intruder is no stranger to its split and nobody's elsewhere.

    Returns:
        None where the passages are of one document.
    """
    pool = sorted(
        {s.row: s for candidate in candidates for s in candidate.sentences}.values(),
        key=lambda s: (s.document_id, s.row),
    )
    places: dict[str, list[int]] = defaultdict(list)
    for place, sentence in enumerate(pool):
        places[sentence.document_id].append(place)
    if len(places) < 2:
        return None

    def finished(candidate: Candidate) -> Candidate:
        if candidate.label == "coherent":
            return candidate
        own = places[candidate.sentence.document_id]
        drawn = _drawn(config, "intruder", candidate.sentences) % (len(pool) - len(own))
        further = list(candidate.further)
        place = _drawn(config, "replaced", candidate.sentences) % (COHERENT - 2)
        further[place] = pool[drawn if drawn < own[0] else drawn + len(own)]
        return replace(candidate, further=tuple(further))

    return [finished(candidate) for candidate in candidates]


def _drawn(config: ProbingConfig, what: str, passage: Sequence[ParsedSentence]) -> int:
    texts = (" ".join(sentence.tokens) for sentence in passage)
    return stable_number(config.seed, what, *texts)
