"""Our tokenizer as a file of the library ``tokenizers``: ``tokenizer.json``.

Our tokenizer is spaCy's, which takes prefixes and suffixes off a chunk in turns until a special
case, an operator or nothing is left, and then cuts the rest at infixes. ``tokenizers`` knows
regular expressions (Oniguruma's) and no turns. So the rules stand here as a chain: text is
cleaned; a mark is put behind each prefix that only prefixes stand before, then before each suffix
that only suffixes stand behind, then between the parts of special cases; letters are made small
where the words are; the text is cut at the marks, and what is no address at infixes.

Differs from spaCy where special cases overlap with affixes in more ways than one: `docs/models.md`
says how many tokens that are. A word's token has `WORD` before it, so that `WORD` alone, a token
too, is what becomes of a word that is not known: it counts in a sentence's length, as with us, and
no library takes it for a token to leave out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from treeviews.pipeline.text.tokenization import EnglishPatterns, english_patterns

WORD = "\u2581"
"""Before each word; by itself the unknown word."""
_MARK = "\ue000"
"""Between tokens, of the private characters."""
_WHOLE = "\ue001"
"""Before a token that no infix divides."""
_IN = f"[^ {_MARK}]"
_BEGINS = f"(?<!{_IN})"
_ENDS = f"(?!{_IN})"

_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_SURROGATES = re.compile("[\ud800-\udfff](?:-[\ud800-\udfff])?")
_PLAIN = re.compile(r"\\?[^\w\s\\]|[^\x00-\x7f]")
_FACE = re.compile(r"[^\w\s]{2,}")
_LITERALS = re.compile(r"\(\?:((?:[^()\[\]\\]|\\[^\w\s])+)\)")
"""Literal texts, one of which is to be taken."""
_SPECIAL = re.compile(r"([\\^$.|?*+()\[\]{}\-&/#~])")


def tokenizer_json(words: Mapping[str, int], *, lower_case: bool) -> dict[str, Any]:
    """Returns the content of ``tokenizer.json``.

    Args:
        words: word -> number of its vector, above 0, each once; 0 is the unknown word's.
        lower_case: whether words are looked up in small letters alone.
    """
    normalizers = _marked()
    if lower_case:
        normalizers.append({"type": "Lowercase"})
    vocabulary = {WORD: 0} | {WORD + word: number for word, number in words.items()}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": _cut()},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": vocabulary,
            "merges": [],
        },
    }


@cache
def _patterns() -> dict[str, str]:
    """Returns the rules as Oniguruma reads them."""
    rules = english_patterns()
    # spaCy joins parts that make up a special case; of marks alone, here they are never parted.
    faces = _trie(case for case in rules.special_cases if _FACE.fullmatch(case))
    prefix = f"(?>{faces}|{_any_of(rules.prefixes)})"
    # spaCy takes the longest suffix that ends a chunk; here the first alternative stands.
    runs_first = sorted(rules.suffixes, key=lambda pattern: not pattern.endswith("+"))
    suffixes = [_LITERALS.sub(_longest_first, pattern) for pattern in runs_first]
    suffix = f"(?>{faces}|{_any_of(suffixes)})"
    begins = re.compile("|".join(f"(?:{one})" for one in rules.prefixes if one))
    ends = re.compile("|".join(f"(?:{one})$" for one in rules.suffixes if one))
    within = re.compile("|".join(one for one in rules.infixes if one))
    groups = (found[1] for pattern in suffixes for found in _LITERALS.finditer(pattern))
    literals = [literal for group in groups for literal in group.split("|")]
    # Only cases that a rule would divide need to be known to it.
    cases = [case for case in rules.special_cases if case.strip() == case]
    kept_before = _trie(case for case in cases if begins.match(case))
    kept_behind = _trie(case for case in cases if ends.search(case))
    kept_whole = [case for case in cases if within.search(case)]
    return {
        "prefix": prefix,
        "suffix": suffix,
        "infix": _any_of(rules.infixes),
        "operator": _ours(rules.operator).removesuffix("$"),
        "address": _ours(rules.address.removeprefix("(?u)").removeprefix("^").removesuffix("$")),
        "units": _trie(one for one in literals if within.search(one)),
        "kept_before": kept_before,
        "kept_behind": kept_behind,
        "kept_whole": _trie([*kept_whole, *(case.lower() for case in kept_whole)]),
    }


def _marked() -> list[dict[str, Any]]:
    """Returns the steps that clean a text and mark where tokens end."""
    rules, is_ = english_patterns(), _patterns()
    run = f"(?=[^A-Za-z]|(?<=[0-9])[A-Za-z])(?:{is_['suffix']})+{_ENDS}"
    rest = f"(?:{is_['suffix']})*{_ENDS}"
    whole = f"(?:{is_['kept_before']}){rest}|(?:{is_['operator']}){_ENDS}"
    after_prefix = rf"(?:{_BEGINS}|\G(?!\A)(?<! ))(?!{whole})(?>{is_['prefix']})\K(?={_IN})"
    kept = rf"(?:{is_['operator']}|{is_['prefix']}){_ENDS}|(?:{is_['kept_behind']})(?={rest})"
    first = rf"{_BEGINS}(?>{kept}|{_IN}+?(?={run}))"
    further = rf"\G(?!\A)(?<![ {_MARK}])(?:{is_['suffix']})"
    before_suffix = rf"(?:{first}|{further})\K(?={run})"
    pairs, tails = _parts(rules)
    return [
        _replace(_ours(rules.dropped), ""),
        _replace(f"(?:{_ours(rules.blank)})+", " "),
        _replace(f"[{_MARK}{_WHOLE}]", " "),
        _replace(after_prefix, _MARK),
        _replace(before_suffix, _MARK),
        _replace(_between(pairs), _MARK),
        _replace(_between(tails), _MARK),
        _replace(rf"[0-9]{_MARK}\K(?=(?:{is_['units']}){_ENDS})", _WHOLE),
    ]


def _cut() -> list[dict[str, Any]]:
    """Returns the steps that cut a marked text."""
    is_ = _patterns()
    address = f"(?=[^.]*\\.)(?:{is_['address']})"
    whole = f"{_WHOLE}.*|{address}|{is_['kept_whole']}|{is_['operator']}|{is_['infix']}"
    return [
        _split(f"[ {_MARK}]+", "Removed"),
        _split(rf"\A(?:{whole})\z|(?!\A)(?:{is_['infix']})", "Isolated"),
        _split(_WHOLE, "Removed"),
        {"type": "Metaspace", "replacement": WORD, "prepend_scheme": "always", "split": False},
    ]


def _replace(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _split(pattern: str, behaviour: str) -> dict[str, Any]:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": behaviour,
        "invert": False,
    }


def _parts(rules: EnglishPatterns) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Returns special cases in two: behind the first token; behind the second, the first marked."""
    cases = [tuple(parts) for parts in rules.special_cases.values()]
    pairs = {(case[0], "".join(case[1:])) for case in cases if len(case) > 1}
    tails = {(_MARK.join(case[:2]), "".join(case[2:])) for case in cases if len(case) > 2}
    return pairs, tails


def _between(pairs: Iterable[tuple[str, str]]) -> str:
    """Returns what stands between a first token and the rest of its chunk."""
    rests: dict[str, set[str]] = {}
    for first, rest in pairs:
        rests.setdefault(first, set()).add(rest)
    ends = {first: rf"\K(?={_trie(rest)}{_ENDS})" for first, rest in rests.items()}
    return f"{_BEGINS}(?:{_trie(ends, ends)})"


def _any_of(patterns: Sequence[str]) -> str:
    """Returns alternatives, single characters as one class and last."""
    ours = [_ours(pattern) for pattern in patterns if pattern.strip()]
    single = [one for one in ours if _PLAIN.fullmatch(one)]
    others = [one for one in ours if not _PLAIN.fullmatch(one)]
    plain = "".join(_SPECIAL.sub(r"\\\1", one.removeprefix("\\")) for one in single)
    return "|".join([*others, *([f"[{plain}]"] if plain else [])])


def _longest_first(literals: re.Match[str]) -> str:
    """Returns literal alternatives, longer ones before shorter ones: mph before m."""
    return f"(?:{'|'.join(sorted(literals[1].split('|'), key=len, reverse=True))})"


def _ours(pattern: str) -> str:
    """Returns a pattern of Python's as Oniguruma reads it."""
    plain = _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), pattern)
    return _SURROGATES.sub("", plain)


def _trie(texts: Iterable[str], ends: Mapping[str, str] | None = None) -> str:
    """Returns a pattern of texts that tries each letter once; longer texts before shorter ones.

    Args:
        ends: what is to follow each text; by default nothing.
    """
    tree: dict[str, Any] = {}
    for text in texts:
        node = tree
        for letter in text:
            node = node.setdefault(letter, {})
        node[""] = ends[text] if ends else ""
    return _branches(tree)


def _branches(tree: Mapping[str, Any]) -> str:
    branches = [
        _SPECIAL.sub(r"\\\1", letter) + _branches(tree[letter]) for letter in sorted(tree) if letter
    ]
    branches += [tree[""]] if "" in tree else []
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
