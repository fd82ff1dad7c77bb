"""Lists the trainings known by name, as ``treeviews presets`` does.

For each its views, its objective, and how many values it trains with word vectors of a given width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from models.config.training_config import TrainingConfig
from models.config.training_presets import PRESETS
from models.model.model_folder import num_parameters
from models.model.sentence_model import SentenceModel
from models.report.markdown import count, markdown_table
from models.words.word_vectors import WordVectors


def presets_facts(word_size: int) -> list[dict[str, Any]]:
    """Returns what is known of each preset, as JSON has it.

    Raises:
        ValueError: vectors of no width.
    """
    _check_width(word_size)
    parameters = {name: _parameters(config, word_size) for name, config in PRESETS.items()}
    return [
        {
            "preset": name,
            "views": list(config.views),
            "objective": config.objective,
            "widths": list(config.view_widths(word_size)),
            "trained_parameters": parameters[name][0],
            "trained_parameters_a_word": parameters[name][1],
            "config": config.to_dict(),
        }
        for name, config in PRESETS.items()
    ]


def presets_table(word_size: int) -> str:
    """Returns a row a preset, as Markdown.

    Raises:
        ValueError: vectors of no width.
    """
    _check_width(word_size)
    rows = [
        (
            name,
            ",".join(config.views),
            config.objective,
            ", ".join(map(str, dict.fromkeys(config.view_widths(word_size)))),
            _parameters_in_words(config, word_size),
        )
        for name, config in PRESETS.items()
    ]
    header = ("preset", "views", "objective", "width of a view", "trained parameters")
    return markdown_table(header, rows, num_text_columns=3)


def _check_width(word_size: int) -> None:
    if word_size < 1:
        raise ValueError(f"--word-size must be at least 1, not {word_size}")


def _parameters(config: TrainingConfig, word_size: int) -> tuple[int, int]:
    """Returns the number of trained values, and how many more a word of the file's are trained."""
    of_one, of_two = (trained_values(config, word_size, num_words) for num_words in (1, 2))
    return 2 * of_one - of_two, of_two - of_one


def _parameters_in_words(config: TrainingConfig, word_size: int) -> str:
    fixed, of_a_word = _parameters(config, word_size)
    return f"{count(fixed)} + {count(of_a_word)} a word" if of_a_word else count(fixed)


def trained_values(config: TrainingConfig, word_size: int, num_words: int = 1) -> int:
    """Returns the number of trained values beside word vectors of a width; draws none."""
    words = [f"word{number}" for number in range(num_words)]
    vectors = WordVectors.from_rows(words, np.ones((num_words, word_size), dtype=np.float32))
    with torch.device("meta"):
        return num_parameters(SentenceModel(config, vectors))
