"""supar's own prediction with the weights of one of our dependency parsers.

The way back from ``supar_conversion``: vocabularies become supar's fields, and the
network, which is supar's anyway, is used as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from supar.parsers import BiaffineDependencyParser
from supar.utils import Config
from supar.utils.field import Field, RawField, SubwordField
from supar.utils.transform import CoNLL
from supar.utils.vocab import Vocab

from treeviews.pipeline.parsers.dependency_model import (
    PAD,
    ROOT,
    UNKNOWN,
    DependencyModel,
    DependencyVocabulary,
)
from treeviews.pipeline.trees.flat_trees import DependencyParse


def supar_parser(model: DependencyModel) -> Any:
    """Returns a ``supar.BiaffineDependencyParser`` around the model's own network."""
    network = model.network.eval()
    network.args.update({"device": "cpu"})
    return BiaffineDependencyParser(
        Config(**vars(network.args)), network, _transform(model.description.vocabulary)
    )


def predict(parser: Any, sentences: Sequence[Sequence[str]]) -> list[DependencyParse]:
    """Returns supar's trees: single-rooted, not necessarily projective, in its default batches.

    Args:
        parser: from ``supar_parser``; each unknown word lengthens its vocabulary.
        sentences: not empty, without tabs, line breaks and empty tokens.
    """
    tokens = [list(sentence) for sentence in sentences]
    dataset = parser.predict(tokens, tree=True, proj=False, verbose=False)
    return [
        DependencyParse(heads=heads, deprels=deprels)
        for heads, deprels in zip(dataset.arcs, dataset.rels, strict=True)
    ]


def _transform(vocabulary: DependencyVocabulary) -> CoNLL:
    specials = {"pad": PAD, "unk": UNKNOWN, "bos": ROOT}
    words = Field("words", lower=True, **specials)
    words.vocab = _vocab(vocabulary.words, unk_index=vocabulary.unknown_word_id)
    characters = SubwordField("chars", fix_len=vocabulary.max_word_characters, **specials)
    characters.vocab = _vocab(vocabulary.characters, unk_index=vocabulary.characters.index(UNKNOWN))
    heads = Field("arcs", bos=ROOT, use_vocab=False, fn=CoNLL.get_arcs)
    relations = Field("rels", bos=ROOT)
    relations.vocab = _vocab(vocabulary.relations, unk_index=0)
    form = (words, RawField("texts"), characters, None, None)
    return CoNLL(FORM=form, HEAD=heads, DEPREL=relations)


def _vocab(entries: Sequence[str], *, unk_index: int) -> Vocab:
    """Returns supar's vocabulary with the entries in their order, which it would sort."""
    return Vocab(Counter(), specials=entries, unk_index=unk_index)
