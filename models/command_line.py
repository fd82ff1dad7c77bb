"""How the command lines for encoders end where their user made a mistake."""

from __future__ import annotations

import sys
import traceback

from models.encoding.own_encoder import OwnEncoderError

MISTAKE = 2
"""Exit code of a user's mistake, which argparse gives for one in the options, too."""


def told(error: Exception, *, with_traceback: bool = False) -> int:
    """Says on standard error in one line what is wrong; returns the exit code `MISTAKE`.

    Args:
        with_traceback: whether to say before where it was raised, which in code of the user's own
            is what matters.
    """
    if with_traceback:
        traceback.print_exception(error)
    hint = isinstance(error, OwnEncoderError) and not with_traceback
    text = " ".join(str(error).splitlines()) + ("; --traceback shows where" if hint else "")
    print(f"{type(error).__name__}: {text}", file=sys.stderr)
    return MISTAKE
