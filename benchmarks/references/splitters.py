"""Other libraries that find sentences, each behind one function: paragraph -> its sentences.

Each is imported when it is asked for, so that a benchmark runs with those that are installed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

Splitter = Callable[[str], list[str]]
"""Paragraph -> its sentences, in order; white space around them and between them is free."""

PUNKT_TRAINED = "nltk's Punkt, trained on the text"
PUNKT_GIVEN = "nltk's Punkt, its English parameters"


def spacy_sentencizer(_: Sequence[str]) -> tuple[str, Splitter]:
    """Returns spaCy's blank English pipeline with its sentencizer."""
    nlp = sentencizer_pipeline()

    def split(paragraph: str) -> list[str]:
        return [sentence.text for sentence in nlp(paragraph).sents]

    return f"spaCy {version('spacy')}'s sentencizer", split


def sentencizer_pipeline() -> Any:
    """Returns the pipeline itself, which has tokens, too."""
    spacy = importlib.import_module("spacy")
    nlp = spacy.blank("en")
    nlp.max_length = 1 << 30
    nlp.add_pipe("sentencizer")
    return nlp


def punkt(texts: Sequence[str]) -> tuple[str, Splitter]:
    """Returns nltk's Punkt with the parameters that nltk finds, else trained on texts.

    Args:
        texts: paragraphs to learn abbreviations and openers of sentences from.
    """
    nltk = importlib.import_module("nltk")
    module = importlib.import_module("nltk.tokenize.punkt")
    try:
        nltk.data.find("tokenizers/punkt_tab/english")
        found: Splitter = module.PunktTokenizer("english").tokenize
        return PUNKT_GIVEN, found
    except LookupError:  # it can only be fetched
        trainer = module.PunktTrainer()
        trainer.train("\n\n".join(texts), finalize=False)
        trainer.finalize_training()
        trained: Splitter = module.PunktSentenceTokenizer(trainer.get_params()).tokenize
        return PUNKT_TRAINED, trained


def pysbd(_: Sequence[str]) -> tuple[str, Splitter]:
    """Returns pysbd's English rules."""
    segmenter = importlib.import_module("pysbd").Segmenter(language="en", clean=False)
    return f"pysbd {version('pysbd')}", segmenter.segment


def nupunkt(_: Sequence[str]) -> tuple[str, Splitter]:
    """Returns nupunkt with its own model."""
    split: Splitter = importlib.import_module("nupunkt").sent_tokenize
    return f"nupunkt {version('nupunkt')}", split


def blingfire(_: Sequence[str]) -> tuple[str, Splitter]:
    """Returns BlingFire's automaton."""
    sentences_of = importlib.import_module("blingfire").text_to_sentences

    def split(paragraph: str) -> list[str]:
        found: list[str] = sentences_of(paragraph).split("\n")
        return found

    return f"BlingFire {version('blingfire')}", split


def sentencex(_: Sequence[str]) -> tuple[str, Splitter]:
    """Returns sentencex' English rules."""
    segment = importlib.import_module("sentencex").segment

    def split(paragraph: str) -> list[str]:
        return list(segment("en", paragraph))

    return f"sentencex {version('sentencex')}", split


SPLITTERS: dict[str, Callable[[Sequence[str]], tuple[str, Splitter]]] = {
    "spacy": spacy_sentencizer,
    "nltk": punkt,
    "pysbd": pysbd,
    "nupunkt": nupunkt,
    "blingfire": blingfire,
    "sentencex": sentencex,
}
"""Package -> what makes its splitter, of texts to train on, with its name in a table."""
