"""All checks, in the order in which their findings are told."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import luigi

from tasks.preflight.findings import Check, Findings, found_by
from tasks.preflight.machine import (
    check_device,
    check_device_name,
    check_extras,
    check_memory,
)
from tasks.preflight.parameters import (
    check_corpus,
    check_evaluation,
    check_probing,
    check_tables,
    check_training,
)
from tasks.preflight.places import (
    check_evaluation_data,
    check_parsers,
    check_readable_text,
    check_vectors,
    check_work_folder,
)
from tasks.preflight.text import check_disk, check_enough

logger = logging.getLogger("luigi-interface")

OF_WHAT_IS_ASKED: tuple[Check, ...] = (
    check_corpus,
    check_training,
    check_probing,
    check_evaluation,
    check_tables,
    check_device_name,
    check_parsers,
    check_vectors,
    check_evaluation_data,
)
OF_THE_WORK: tuple[Check, ...] = (
    check_extras,
    check_work_folder,
    check_readable_text,
    check_device,
    check_memory,
    check_enough,
    check_disk,
)


def preflight(roots: Sequence[luigi.Task]) -> Findings:
    """Returns what is wrong, or likely to go wrong, with what was asked for.

    What is done already needs neither a machine nor a place for the work.
    """
    findings = found_by(OF_WHAT_IS_ASKED, roots)
    of_work = [found_by(OF_THE_WORK, [root]) for root in roots]
    if any(found != Findings() for found in of_work):
        # Each is asked, in order: the first that is asked is what the command names at its end.
        done = [_is_done(root) for root in roots]
        for found, is_done in zip(of_work, done, strict=True):
            findings = findings if is_done else findings.joined(found)
    return findings


def _is_done(root: luigi.Task) -> bool:
    """Returns whether nothing of a task is to be made; what is wrong with it, its run tells."""
    level = logger.level
    logger.setLevel(logging.ERROR)  # what is gone of it, its run tells, too
    try:
        complete: bool = root.complete()
    except Exception:
        return False
    finally:
        logger.setLevel(level)
    return complete
