"""The one place that loads mteb and datasets: the extra, and their behaviour without a network."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pipeline.base.bundled import how_to_install

_SWITCHES = (
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_DATASETS_OFFLINE"),
)
"""Read from the environment when their modules are first loaded, so they are set there, too."""
_VARIABLES = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY")


def import_mteb() -> Any:
    """Returns the library.

    Raises:
        ValueError: it is not installed, or cannot be loaded; names the extra.
    """
    try:
        import mteb
    except ImportError as error:
        raise ValueError(
            f"MTEB's tasks and models need mteb, which cannot be loaded ({error}); "
            f"{how_to_install('mteb')}"
        ) from error
    return mteb


@contextmanager
def offline() -> Iterator[Path]:
    """Keeps mteb, datasets and huggingface_hub from the network, and from the user's caches.

    Environment and modules are as before when it ends.

    Yields:
        A temporary folder, in which datasets keep what they read.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="treeviews-mteb-")))
        stack.enter_context(patch.dict(os.environ, dict.fromkeys(_VARIABLES, "1")))
        import_mteb()
        for module, name in _SWITCHES:
            found = importlib.import_module(module)
            stack.enter_context(patch.object(found, name, True))
        config = importlib.import_module("datasets.config")
        stack.enter_context(patch.object(config, "HF_DATASETS_CACHE", folder / "cache"))
        _forget_connections()
        stack.callback(_forget_connections)
        yield folder


def _forget_connections() -> None:
    """Lets huggingface_hub open new connections, by the rules that hold now."""
    utils = importlib.import_module("huggingface_hub.utils")
    reset = getattr(utils, "reset_sessions", None) or getattr(utils, "close_session", None)
    if reset is not None:
        reset()
