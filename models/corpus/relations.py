"""Dependency relations by number, whichever parser named them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.shards.arrow import values_of

_OTHER = "_"
_UNIVERSAL = (
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse "
    "dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis "
    "punct reparandum root vocative xcomp"
)
_ENGLISH_SUBTYPES = (
    "acl:relcl advcl:relcl aux:pass cc:preconj compound:prt csubj:outer csubj:pass det:predet "
    "flat:foreign nmod:desc nmod:npmod nmod:poss nmod:tmod nmod:unmarked nsubj:outer nsubj:pass "
    "obl:agent obl:npmod obl:tmod obl:unmarked"
)
_STANFORD = (
    "acomp agent attr auxpass csubjpass dobj infmod mwe neg nn npadvmod nsubjpass num number "
    "partmod pcomp pobj poss possessive preconj predet prep prt quantmod rcmod rel tmod vmod"
)
RELATIONS = (_OTHER, *_UNIVERSAL.split(), *_ENGLISH_SUBTYPES.split(), *_STANFORD.split())
"""Names by number: Universal Dependencies 2 (de Marneffe et al. 2021), the subtypes of its English
treebanks, and what Stanford Dependencies 3 (de Marneffe & Manning 2008) names otherwise. Their
order and number are part of every model that reads relations."""
_NUMBERS = {name: number for number, name in enumerate(RELATIONS)}


def relation_number(name: str) -> int:
    """Returns a relation's number; an unknown subtype is its relation, what else is unknown 0."""
    return _NUMBERS.get(name, _NUMBERS.get(name.partition(":")[0], 0))


def relation_numbers(names: pa.Array | pa.ChunkedArray) -> NDArray[np.int16]:
    """Returns the numbers of relations, int16 of the same length.

    Args:
        names: strings, or a dictionary of them, without nulls.
    """
    whole = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
    encoded = whole if pa.types.is_dictionary(whole.type) else pc.dictionary_encode(whole)
    numbers = [relation_number(name) for name in encoded.dictionary.to_pylist()]
    table = np.array([*numbers, 0], dtype=np.int16)
    result: NDArray[np.int16] = table[values_of(encoded.indices)]
    return result
