"""Two stages that are parses of the same sentences, or why they cannot be compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from pipeline.inspect.dataset import Selection, StageFolder
from pipeline.shards.manifests import PARSED_FROM, manifest_beside, shard_path
from pipeline.shards.shards import read_row_groups

KINDS = ("dependencies", "constituents")
_SHOWN_WORDS = 8


@dataclass(frozen=True, slots=True)
class TwoParses:
    """Two stages of one kind, and the sentences that both are parses of."""

    stage: str
    sentences: StageFolder
    first: StageFolder
    second: StageFolder
    numbers: tuple[int, ...]
    """Shards that both have."""
    left_out: tuple[int, ...]
    """Shards that one of them has."""

    @property
    def names(self) -> tuple[str, str]:
        """Returns how they are called: their folders' names, or paths where these are the same."""
        one, other = self.first.path, self.second.path
        return (str(one), str(other)) if one.name == other.name else (one.name, other.name)


def pairs_of_parses(first: Selection, second: Selection) -> list[TwoParses]:
    """Returns the stages to be compared, of each kind that both have.

    One corpus given twice stands for the two parses of a kind that lie in it.

    Raises:
        ValueError: they have no kind in common, several folders of one, are the same folder, are of
            different sentences, or the sentences are not beside them.
    """
    if first == second and (found := _two_within(first)):
        return found
    kinds = [kind for kind in KINDS if _one_of(first, kind) and _one_of(second, kind)]
    if not kinds:
        raise ValueError(
            f"{_holds(first)}, {_holds(second)}: nothing of one kind to compare; give two "
            "folders of dependencies, two of constituents, or two corpora that have them"
        )
    return [_pair(kind, first, second) for kind in kinds]


def _two_within(corpus: Selection) -> list[TwoParses]:
    """Returns the pairs of a corpus, of each kind of which two lie in it."""
    made = []
    for kind in KINDS:
        if len(folders := corpus.folders_of(kind)) == 2:
            one, other = (replace(corpus, parses=(folder,)) for folder in folders)
            made.append(_pair(kind, one, other))
    return made


def _one_of(selection: Selection, kind: str) -> StageFolder | None:
    """Returns the folder of a kind; None where there is none.

    Raises:
        ValueError: there are several; names them.
    """
    if len(found := selection.folders_of(kind)) > 1:
        names = ", ".join(folder.path.name for folder in found)
        raise ValueError(
            f"{found[0].path.parent}: several folders of {kind}: {names}; give the folders of the "
            f"two parses to compare, such as {found[0].path} and {found[1].path}"
        )
    return found[0] if found else None


def _holds(selection: Selection) -> str:
    parses = [folder for folder in selection.parses if folder.stage in KINDS]
    where = (parses or selection.folders)[0].path
    return f"{where} holds {' and '.join(f.stage for f in parses) or 'no trees'}"


def _pair(kind: str, first: Selection, second: Selection) -> TwoParses:
    one, other = first.folder_of(kind), second.folder_of(kind)
    assert one is not None and other is not None
    if one.path.resolve() == other.path.resolve():
        raise ValueError(f"{one.path}: the same folder twice; give two parses to compare")
    sentences = first.sentences or second.sentences
    if sentences is None:
        raise ValueError(f"no sentences beside {one.path} nor {other.path}; put them beside one")
    sets = [set(first.numbers_in(one)), set(second.numbers_in(other))]
    numbers = sorted(set.intersection(*sets) & set(sentences.numbers()))
    if not numbers:
        raise ValueError(f"no shard that both {one.path} and {other.path} have")
    for number in numbers:
        _check_same_sentences((first.sentences, one), (second.sentences, other), number)
    left_out = sorted(set.union(*sets) - set(numbers))
    return TwoParses(kind, sentences, one, other, tuple(numbers), tuple(left_out))


def _check_same_sentences(
    first: tuple[StageFolder | None, StageFolder],
    second: tuple[StageFolder | None, StageFolder],
    number: int,
) -> None:
    """Refuses parses of different sentences; each comes with the sentences beside it, or none.

    Raises:
        ValueError: names the first row that differs, or what is not known.
    """
    (one, of_one), (other, of_other) = first, second
    if one is not None and other is not None:
        if one.path.resolve() != other.path.resolve():
            _compare_words(one.path, other.path, number)
        return
    shas = (_sha_of_sentences(one, of_one, number), _sha_of_sentences(other, of_other, number))
    if "" in shas or shas[0] != shas[1]:
        lacking = of_one.path if one is None else of_other.path
        raise ValueError(
            f"{shard_path(lacking, number)}: its manifest does not name the sentences of the other "
            "parse; put its own sentences/ beside its folder"
        )


def _sha_of_sentences(sentences: StageFolder | None, parse: StageFolder, number: int) -> str:
    """Returns the sha256 of the sentences that a shard is of; empty where that is not known."""
    manifest = manifest_beside((sentences or parse).path, number)
    if manifest is None:
        return ""
    return manifest.sha256 if sentences else str(manifest.extra.get(PARSED_FROM, ""))


def _compare_words(one: Path, other: Path, number: int) -> None:
    manifests = manifest_beside(one, number), manifest_beside(other, number)
    if all(manifests) and len({manifest.sha256 for manifest in manifests if manifest}) == 1:
        return
    both = zip_longest(_words(one, number), _words(other, number))
    for row, (left, right) in enumerate(both):
        if left != right:
            raise ValueError(
                f"the sentences differ from row {row} of shard {number} on: {one} has "
                f"{_excerpt(left)}, {other} has {_excerpt(right)}; give two parses of one text"
            )


def _words(folder: Path, number: int) -> Iterator[list[str]]:
    for group in read_row_groups(folder, "sentences", number, ["tokens"]):
        yield from group["tokens"].to_pylist()


def _excerpt(words: list[str] | None) -> str:
    if words is None:
        return "no such row"
    more = " …" if len(words) > _SHOWN_WORDS else ""
    return repr(" ".join(words[:_SHOWN_WORDS]) + more)
