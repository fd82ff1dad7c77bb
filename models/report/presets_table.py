"""Lists the trainings known by name, as ``treeviews presets`` does.

For each its views, its objective, and how many values it trains with word vectors of a given width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import PRESETS
from treeviews.models.model.model_folder import num_parameters
from treeviews.models.model.sentence_model import SentenceModel
from treeviews.models.report.figures import count
from treeviews.models.report.sections import markdown_table
from treeviews.models.words.word_vectors import WordVectors


def presets_facts(word_size: int) -> list[dict[str, Any]]:
    """Returns what is known of each preset, as JSON has it.

    Raises:
        ValueError: vectors of no width.
    """
    if word_size < 1:
        raise ValueError(f"--word-size must be at least 1, not {word_size}")
    facts = []
    for name, config in PRESETS.items():
        # The number of trained values, and how many more a word of the file's are trained.
        with_one, with_two = (_trained_values(config, word_size, num_words) for num_words in (1, 2))
        facts.append(
            {
                "preset": name,
                "views": list(config.views),
                "objective": config.objective,
                "widths": list(config.view_widths(word_size)),
                "trained_parameters": 2 * with_one - with_two,
                "trained_parameters_a_word": with_two - with_one,
                "config": config.to_dict(),
            }
        )
    return facts


def presets_table(word_size: int) -> str:
    """Returns a row a preset, as Markdown.

    Raises:
        ValueError: vectors of no width.
    """
    rows = []
    for fact in presets_facts(word_size):
        parameters = count(fact["trained_parameters"])
        if of_a_word := fact["trained_parameters_a_word"]:
            parameters += f" + {count(of_a_word)} a word"
        widths = ", ".join(map(str, dict.fromkeys(fact["widths"])))
        rows.append(
            (fact["preset"], ",".join(fact["views"]), fact["objective"], widths, parameters)
        )
    header = ("preset", "views", "objective", "width of a view", "trained parameters")
    return markdown_table(header, rows, num_text_columns=3)


def _trained_values(config: TrainingConfig, word_size: int, num_words: int) -> int:
    """Returns the number of trained values beside so many word vectors; draws none."""
    words = [f"word{number}" for number in range(num_words)]
    vectors = WordVectors.from_rows(words, np.ones((num_words, word_size), dtype=np.float32))
    with torch.device("meta"):
        return num_parameters(SentenceModel(config, vectors))
