"""What spaCy finds by name: ``spacy.blank("en").add_pipe("treeviews_parser")``.

The entry point ``spacy_factories`` names this file, so nothing has to be imported before. What the
component does stands in `pipeline.parsing.spacy_docs`.
"""

from __future__ import annotations

from spacy.language import Language

from treeviews.pipeline.parsing.parse_text import OnRefusal
from treeviews.pipeline.parsing.spacy_docs import SpacyParser

__all__ = ["make_parser"]


@Language.factory(
    "treeviews_parser",
    assigns=["token.dep", "token.head", "token.is_sent_start", "token.tag", "doc.sents"],
    default_config={
        "dependencies": True,
        "constituents": True,
        "dependency_parser": None,
        "constituency_parser": None,
        "device": "cpu",
        "on_refusal": "skip",
    },
)
def make_parser(
    nlp: Language,
    name: str,
    dependencies: bool,
    constituents: bool,
    dependency_parser: str | None,
    constituency_parser: str | None,
    device: str,
    on_refusal: OnRefusal,
) -> SpacyParser:
    """Returns the component; spaCy calls it with the settings of ``add_pipe``."""
    return SpacyParser(
        dependencies=dependencies,
        constituents=constituents,
        dependency_parser=dependency_parser,
        constituency_parser=constituency_parser,
        device=device,
        on_refusal=on_refusal,
    )
