"""Cosines of lists of vectors, and exact search against sorting all scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import treeviews
from tests.support.command import subcommand
from tests.support.shard_files import sentence_rows, write_stage
from treeviews.models.encoding import search as search_module
from treeviews.models.encoding.search import (
    FloatArray,
    Hits,
    Score,
    open_embeddings,
    search,
    similarity,
    similarity_pairwise,
)
from treeviews.pipeline.shards.arrow import flags, numbers
from treeviews.pipeline.shards.manifests import (
    read_shard_manifest,
    shard_path,
    write_dataset_manifest,
)
from treeviews.pipeline.shards.schema import EMBEDDINGS, Vectors, schema_for
from treeviews.pipeline.shards.shards import ShardWriter

A = np.array([[3, 4], [0, 2], [0, 0]], dtype=np.float32)
B = np.array([[1, 0], [6, 8]], dtype=np.float32)
DRAW = np.random.default_rng(3)


def drawn(rows: int, width: int = 16) -> np.ndarray[Any, np.dtype[np.float32]]:
    return DRAW.normal(size=(rows, width)).astype(np.float32)


def test_all_are_compared_with_all_and_pairs_at_their_place() -> None:
    np.testing.assert_allclose(similarity(A, B), [[0.6, 1], [0, 0.8], [0, 0]], atol=1e-6)
    np.testing.assert_allclose(similarity(A), [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(similarity_pairwise(A[:2], B), [0.6, 0.8], atol=1e-6)
    np.testing.assert_allclose(similarity_pairwise(A[0], B[1]), [1], atol=1e-6)
    assert similarity(A[0], B).shape == (1, 2) and similarity(A, B[0]).shape == (3, 1)
    zeros = np.zeros((2, 3), dtype=np.float32)
    assert not similarity(zeros).any() and not similarity_pairwise(zeros, zeros).any()


def whole(queries: Any, matrix: Any, k: int, score: Score) -> Hits:
    """The oracle: all scores, sorted; of equal ones the lower row comes first."""
    scores = similarity(queries, matrix) if score == "cosine" else queries @ matrix.T
    rows = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Hits(rows, np.take_along_axis(scores, rows, axis=1))


@pytest.mark.parametrize("score", ["cosine", "dot"])
@pytest.mark.parametrize("rows_at_once", [1, 7, 64, 1000])
def test_the_best_rows_are_those_of_sorting_all(
    score: Score, rows_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "ROWS_AT_ONCE", rows_at_once)
    queries, matrix = drawn(9), drawn(300)
    found = search(queries, matrix, 5, score=score)
    expected = whole(queries, matrix, 5, score)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)
    alike = np.array([[0, 1], [1, 0], [-1, 0], [1, 0], [0, -1], [1, 0]], dtype=np.float32)
    found = search(np.array([[1, 0]], dtype=np.float32), alike, 6, score=score)
    assert found.rows.tolist() == [[1, 3, 5, 0, 4, 2]], "of equal scores the lower row comes first"
    assert found.scores.tolist() == [[1, 1, 1, 0, 0, -1]]


@pytest.mark.parametrize(
    ("function", "first", "second", "options", "said"),
    [
        (similarity, A, np.zeros((1, 3)), {}, "vectors of 2 numbers cannot be compared with such"),
        (similarity, ["It rains."], None, {}, "give vectors of numbers"),
        (similarity, np.zeros((2, 2, 2)), None, {}, "not an array of shape [2, 2, 2]"),
        (similarity_pairwise, A, B, {}, "as many vectors on both sides, got 3 and 2"),
        (search, A, A, {"k": 0}, "k must be a whole number from 1 on, got 0"),
        (search, A, A, {"score": "l2"}, "score must be one of cosine, dot, got 'l2'"),
        (search, drawn(1, 3), A, {}, "vectors of 3 numbers cannot be compared with such of 2"),
        (search, A, np.full((4, 2), np.nan), {}, "row 0 (from 0) is not finite"),
        (search, np.full((1, 2), np.inf), A, {}, "query 0 (from 0) is not finite"),
        (search, np.full((1, 2), 3e38), np.full((4, 2), 3e38), {"score": "dot"}, "float32's range"),
        (search, ["where?"], A, {}, "give vectors of numbers"),
    ],
)
def test_what_cannot_be_compared_or_searched_is_named(
    function: Callable[..., Any], first: Any, second: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError) as raised:
        function(first, second, **options)
    assert said in str(raised.value)


inspect = subcommand("inspect")

VECTORS = np.random.default_rng(5).normal(size=(7, 4)).astype(np.float32)
NULL_ROW = 4
ROWS = ((0, 3), (3, 7))


def write_embeddings(
    folder: Path,
    number: int,
    vectors: FloatArray,
    *,
    nulls: Sequence[int] = (),
    digest: str = "d1",
    width: int | None = None,
    sentences_sha256: str = "",
) -> None:
    """Writes a shard of the vectors' own type."""
    kind = Vectors(vectors.shape[1], str(vectors.dtype))  # type: ignore[arg-type]
    is_null = np.isin(np.arange(len(vectors)), nulls)
    schema = schema_for(EMBEDDINGS, kind)
    rows = pa.FixedSizeListArray.from_arrays(
        numbers(vectors.reshape(-1)), type=schema.field(0).type, mask=flags(is_null)
    )
    with ShardWriter(folder, EMBEDDINGS, number, vectors=kind) as writer:
        writer.write(pa.Table.from_arrays([rows], schema=schema))
        writer.finish(
            drops={"no_dependencies": len(nulls)} if nulls else {},
            quarantine=[{"row": row, "reason": "no_dependencies"} for row in nulls],
            extra={
                "encoder": "by-hand",
                "encoder_digest": digest,
                "dtype": kind.dtype,
                "width": width or kind.width,
                "sentences_sha256": sentences_sha256,
            },
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Embeddings of two shards beside their sentences."""
    rows = sentence_rows([[f"word{row}"] for row in range(7)])
    sentences = write_stage(
        tmp_path / "sentences", "sentences", *(rows[start:stop] for start, stop in ROWS)
    )
    place = tmp_path / "embeddings-by-hand"
    for number, (start, stop) in enumerate(ROWS):
        source = read_shard_manifest(sentences, number)
        assert source is not None
        nulls = [NULL_ROW - start] if start <= NULL_ROW < stop else []
        sha256 = source.sha256
        write_embeddings(place, number, VECTORS[start:stop], nulls=nulls, sentences_sha256=sha256)
    write_dataset_manifest(place, EMBEDDINGS, config={})
    return place


def test_all_shards_are_one_matrix_with_zeros_for_nulls(folder: Path) -> None:
    corpus = treeviews.open_embeddings(folder)

    assert len(corpus) == len(VECTORS) and corpus.missing.tolist() == [NULL_ROW]
    is_there = np.arange(len(VECTORS)) != NULL_ROW
    np.testing.assert_array_equal(corpus.vectors[is_there], VECTORS[is_there])
    assert not corpus.vectors[NULL_ROW].any()
    assert [corpus.place_of(row) for row in (0, 2, 3, 6)] == [(0, 0), (0, 2), (1, 0), (1, 3)]
    with pytest.raises(IndexError, match="row 7 is not among 7"):
        corpus.place_of(7)
    assert treeviews.search(VECTORS[5], corpus.vectors, k=1).rows.tolist() == [5]


def test_the_matrix_is_mapped_and_unpacked_where_it_is_asked_for_once(
    folder: Path, tmp_path: Path
) -> None:
    before = sorted(folder.iterdir())
    place = tmp_path / "elsewhere"
    first = open_embeddings(folder, unpacked=place)
    assert isinstance(first.vectors, np.memmap) and not first.vectors.flags.writeable
    assert sorted(folder.iterdir()) == before and list(place.glob("vectors-*.npy"))
    expected = np.array(first.vectors)
    for lost in ("vectors", "missing"):
        (path,) = place.glob(f"{lost}-*.npy")
        path.unlink()
        again = open_embeddings(folder, unpacked=place)
        np.testing.assert_array_equal(again.vectors, expected)
        assert again.missing.tolist() == [NULL_ROW]

    for number in range(len(ROWS)):
        shard_path(folder, number).write_bytes(b"not looked at again")
    np.testing.assert_array_equal(open_embeddings(folder, unpacked=place).vectors, expected)
