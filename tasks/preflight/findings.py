"""What a check before a run finds, and how all checks are asked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import luigi

from pipeline.base.mistakes import is_mistake, sentence_of

logger = logging.getLogger("luigi-interface")


@dataclass
class Findings:
    """What the checks found."""

    refusals: list[str] = field(default_factory=list)
    """What cannot be done for certain, each in a sentence with its remedy."""
    warnings: list[str] = field(default_factory=list)
    """What will probably not end well."""

    def refuse(self, sentence: str) -> None:
        """Adds what is certain."""
        if sentence not in self.refusals:
            self.refusals.append(sentence)

    def warn(self, sentence: str) -> None:
        """Adds what is likely."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def joined(self, other: Findings) -> Findings:
        """Returns these findings and then others, each once."""
        return Findings(
            list(dict.fromkeys(self.refusals + other.refusals)),
            list(dict.fromkeys(self.warnings + other.warnings)),
        )

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Adds the user's mistake that ends a ``with`` block, if one does."""
        try:
            yield
        except Exception as error:
            if not is_mistake(error):
                raise
            self.refuse(sentence_of(error))


T = TypeVar("T", bound=luigi.Task)


def as_stage(root: Any, stage: type[T]) -> T:
    """Returns the task of another stage with the parameters that both have."""
    cloned: T = root.clone(stage)
    return cloned


Check = Callable[[Any, Findings], None]
"""Adds what it finds of a task, and of what is below it."""


def found_by(checks: Sequence[Check], roots: Sequence[luigi.Task]) -> Findings:
    """Returns what all checks find of the tasks that were asked for.

    A check that fails itself, as at a file system that answers no question, is passed over: it must
    not hold up a run.
    """
    findings = Findings()
    for root in roots:
        for check in checks:
            try:
                check(root, findings)
            except Exception as error:
                logger.info("not checked before the run: %s", sentence_of(error))
    return findings
