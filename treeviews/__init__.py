"""Treeviews on a page: sentences in; vectors, likenesses, trees, scores and shards out.

    import treeviews

    vectors = treeviews.encode(["The cat sat.", "It slept."])      # float32 [2, 300]
    cosines = treeviews.similarity(vectors)                        # float32 [2, 2]
    encoder = treeviews.load("english-trees")                      # load once, encode often

Everything here stands in one of the floors below it (`tasks`, `models`, `pipeline`) and is loaded
when it is first called: importing this module loads no torch.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if not (Path(__file__).parent / "pipeline").is_dir():  # a checkout has them beside this package
    __path__.append(str(Path(__file__).resolve().parents[1]))

from treeviews.models import load
from treeviews.pipeline.parsing.parse_text import Parser, parse
from treeviews.pipeline.parsing.parsed_sentence import write_parses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Unpack

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from treeviews.models.encoding.encoder import EncodeOptions, Encoder, OnRefusal
    from treeviews.models.encoding.search import EmbeddingMatrix, Hits, Score
    from treeviews.models.evaluate_tasks import Scores

    FloatArray = npt.NDArray[np.float32]
    AnyEncoder = str | Path | Encoder | Callable[[list[str]], Any] | object

__all__ = [
    "Parser",
    "encode",
    "evaluate",
    "load",
    "open_embeddings",
    "parse",
    "read_shards",
    "search",
    "similarity",
    "similarity_pairwise",
    "write_parses",
]
__version__ = version("treeviews")


def encode(
    sentences: str | Iterable[str],
    encoder: AnyEncoder = "english",
    *,
    device: str = "cpu",
    on_refusal: OnRefusal = "error",
    **options: Unpack[EncodeOptions],
) -> FloatArray:
    """Returns the vectors of sentences, [n, d] of a list and [d] of one string.

        treeviews.encode("It rains.")
        treeviews.encode(["It rains.", "It pours."], "english-trees", normalize=True)

    The encoder of the last call is kept, so a second call with the same name loads nothing.

    Args:
        sentences: raw text; each string is one sentence.
        encoder: a name, a model's folder, an encoder that was loaded, or a function of your own
            from a list of strings to a matrix; see `load`.
        device: torch's name of where to parse and embed; of an encoder by name.
        on_refusal: see `load`; of an encoder by name.
        options: those of `Encoder.encode`: ``pooling``, how a view's states become one vector,
            such as ``mean``, or several side by side; ``batch_size``, sentences embedded at once;
            ``show_progress``, to draw a bar on standard error; ``normalize``, to give each vector
            length 1.

    Raises:
        FileNotFoundError: no such encoder.
        ValueError: no strings, a sentence that cannot be taken, or an option out of range.
    """
    from treeviews.models.encoding.load_encoder import encoder_of

    return encoder_of(encoder, device=device, on_refusal=on_refusal).encode(sentences, **options)


def similarity(a: Any, b: Any = None, *, encoder: AnyEncoder = "english") -> Any:
    """Returns the cosine of each of one list with each of another, float32 [n, m].

        treeviews.similarity(["It rains.", "It pours."], ["The sun shines."])
        treeviews.similarity(treeviews.encode(sentences))

    A vector of zeros is like nothing: its cosines are 0.

    Args:
        a: vectors [n, d] or [d], or sentences.
        b: likewise; None compares ``a`` with itself.
        encoder: of sentences.

    Raises:
        ValueError: they are neither, or of different widths.
    """
    from treeviews.models.encoding.load_encoder import vectors_of
    from treeviews.models.encoding.search import similarity as of_vectors

    return of_vectors(vectors_of(a, encoder), None if b is None else vectors_of(b, encoder))


def similarity_pairwise(a: Any, b: Any, *, encoder: AnyEncoder = "english") -> Any:
    """Returns the cosine of each with the one at its place in the other list, float32 [n].

        treeviews.similarity_pairwise(["It rains.", "It pours."], ["It is dry.", "It is wet."])

    Args:
        a: vectors [n, d] or [d], or sentences.
        b: as many.
        encoder: of sentences.

    Raises:
        ValueError: they are neither, of different widths, or not as many.
    """
    from treeviews.models.encoding.load_encoder import vectors_of
    from treeviews.models.encoding.search import similarity_pairwise as of_vectors

    return of_vectors(vectors_of(a, encoder), vectors_of(b, encoder))


def search(
    queries: Any,
    matrix: Any,
    k: int = 10,
    *,
    score: Score = "cosine",
    encoder: AnyEncoder = "english",
) -> Hits:
    """Returns the k rows of a matrix that suit each query best, with their scores.

        hits = treeviews.search("Where is the cat?", treeviews.encode(sentences), k=3)
        [sentences[row] for row in hits.rows]

    Looks at every row, a block at a time; of equal scores the lower row comes first.

    Args:
        queries: vectors [q, d] or [d], or sentences.
        matrix: vectors [m, d], may be mapped from a file; or sentences.
        k: results of a query.
        score: ``cosine`` or ``dot``.
        encoder: of sentences.

    Raises:
        ValueError: they are neither, of different widths, or not finite.
    """
    from treeviews.models.encoding.load_encoder import vectors_of
    from treeviews.models.encoding.search import search as in_matrix

    wanted, rows = vectors_of(queries, encoder), vectors_of(matrix, encoder)
    return in_matrix(wanted, rows, k, score=score)


def open_embeddings(folder: str | Path, *, unpacked: str | Path | None = None) -> EmbeddingMatrix:
    """Returns the embeddings of a whole corpus as one matrix, mapped from a file.

        corpus = treeviews.open_embeddings("data/work/corpora/python-docs-…/embeddings-english-…")
        hits = treeviews.search("Where is the cat?", corpus.vectors, k=3)
        [corpus.place_of(row) for row in hits.rows]

    A process takes the memory of the rows that it reads. The first call unpacks the shards.

    Args:
        folder: what ``EmbedCorpus`` wrote.
        unpacked: where the unpacked file is to lie; by default beside the shards.

    Raises:
        FileNotFoundError: the stage is not complete.
        ValueError: it holds no embeddings, or is damaged.
    """
    from treeviews.models.encoding.search import open_embeddings as as_matrix

    return as_matrix(folder, unpacked=unpacked)


def evaluate(
    encoder: AnyEncoder,
    data: str | Path,
    *,
    tasks: str | Sequence[str] = "all",
    out: str | Path | None = None,
    name: str | None = None,
    device: str = "cpu",
    on_progress: Callable[[float, str], None] | None = None,
) -> Scores:
    """Returns the scores of an encoder on evaluation tasks, with intervals.

        scores = treeviews.evaluate("english", "senteval/data", tasks=["MR", "STSBenchmark"])
        scores["MR"]["accuracy"].value, scores["MR"]["accuracy"].low
        print(scores.table)

    Args:
        encoder: as in `encode`.
        data: the folder that SentEval calls data.
        tasks: names, or all; ``treeviews evaluate --list`` tells them.
        out: folder of the results, one JSON file a task; None keeps none.
        name: what the table calls the encoder.
        device: torch's name of where to compute.
        on_progress: told the share of the tasks done, and the last one's score in words.

    Raises:
        FileNotFoundError: no such encoder.
        ValueError: an unknown task, data that are not as they must be, or an encoder's answer that
            is no embedding.
    """
    from treeviews.models.evaluate_tasks import scores_of

    return scores_of(
        encoder, data, tasks=tasks, out=out, name=name, device=device, on_progress=on_progress
    )


def read_shards(folder: str | Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Yields the shards of a corpus or of one stage as tables, one in memory at a time.

        for table in treeviews.read_shards("data/work/corpora/python-docs-…", ["tokens", "heads"]):
            ...

    Row i of a table is one sentence in all of its columns: a corpus' stages stand side by side.
    What a parser could not take is null. Bytes are held against their checksums.

    Args:
        folder: of a corpus, which holds stages, or of one stage.
        columns: of any stage, in this order; None for all.

    Raises:
        FileNotFoundError: no shards there, or a stage lacks one.
        ValueError: no such column, or a shard is damaged.
    """
    from treeviews.pipeline.inspect.aligned_rows import read_tables

    return read_tables(Path(folder), columns)
