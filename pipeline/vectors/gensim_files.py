"""Files that gensim's ``KeyedVectors.save`` wrote: a pickle, and large arrays beside it.

A pickle is a program. Here it can name nothing but what puts numpy's arrays and plain containers
together; gensim's classes become objects that remember their attributes and do nothing, so that
gensim is not needed, either. Of fastText gensim saves no words' vectors but what they are made of;
the means are those that it makes when it loads the file (``FastTextKeyedVectors.adjust_vectors``).
"""

from __future__ import annotations

import pickle
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pipeline.base.refusal import shortened
from pipeline.shards.arrow import strings
from pipeline.vectors.fasttext_binary import ROWS_AT_ONCE, Subwords
from pipeline.vectors.source_files import Block, RefusedRow

_ROWS_AT_ONCE = 16_384
_REMEDY = "give a file of KeyedVectors.save, of gensim 4, with the files that lie beside it"
_MODELS = {"Word2Vec", "FastText", "Doc2Vec"}
"""gensim's classes of whole models, which hold such vectors as ``wv``."""


class _Kept:
    """Stands for an object of gensim's: attributes, and no behaviour."""

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        """Keeps what the object's attributes were."""
        if isinstance(state, dict):
            self.__dict__.update(state)


class _KeptFastText(_Kept):
    """Stands for vectors of words and, apart from them, of their n-grams."""


_CLASSES = {"KeyedVectors": _Kept, "FastTextKeyedVectors": _KeptFastText}


class _WholeModelError(pickle.UnpicklingError):
    """The file holds more than vectors."""


class _ArrayKind:
    """Stands for numpy's class of arrays, which a pickle only names."""


def _array(*_: Any) -> NDArray[Any]:
    """Returns an empty array, whose shape and content a pickle sets next."""
    return np.empty(0, dtype=np.int8)


def _scalar(dtype: Any, content: Any = b"") -> Any:
    if not isinstance(dtype, np.dtype) or dtype.hasobject or not isinstance(content, bytes):
        raise pickle.UnpicklingError("a number of no kind that numpy has")
    return np.frombuffer(content, dtype)[0]


def _encoded(text: str, encoding: str = "latin1") -> bytes:
    """Returns the bytes that protocol 2 spells as text."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"text in {encoding!r}")
    return text.encode("latin1")


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Returns what a name stands for, which is never what it names in its library.

        Raises:
            pickle.UnpicklingError: it is none of these.
        """
        if module.startswith("gensim.models.") and name in _CLASSES:
            return _CLASSES[name]
        if module.startswith("gensim.models.") and name in _MODELS:
            raise _WholeModelError(
                f"a whole {name} of gensim's, not its vectors alone; load it there, call "
                'model.wv.save("vectors.kv") and give that'
            )
        if module in {"numpy.core.multiarray", "numpy._core.multiarray"} and name == "_reconstruct":
            return _array
        if module in {"numpy.core.multiarray", "numpy._core.multiarray"} and name == "scalar":
            return _scalar
        plain = {
            ("numpy", "ndarray"): _ArrayKind,
            ("numpy", "dtype"): np.dtype,
            ("collections", "OrderedDict"): OrderedDict,
            ("collections", "defaultdict"): defaultdict,
            ("builtins", "list"): list,
            ("_codecs", "encode"): _encoded,
        }
        if (module, name) in plain:
            return plain[module, name]
        raise pickle.UnpicklingError(
            f"names {shortened(f'{module}.{name}')}, which is not looked up"
        )


class GensimReader:
    """Reads the words and rows of a file that is not packed."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        """Reads all words, as the format has them in one piece; the rows are mapped.

        Raises:
            ValueError: it is no such file, or what lies beside it is missing or broken.
        """
        self._path = path
        try:
            saved = _Reader(stream).load()
        except _WholeModelError as error:
            raise ValueError(f"{path}: {error}") from None
        except Exception as error:  # a broken pickle raises anything
            raise ValueError(
                f"{path}: not readable as gensim's vectors ({shortened(str(error))}); {_REMEDY}"
            ) from error
        words, counts = getattr(saved, "index_to_key", None), None
        if not isinstance(saved, _Kept) or not isinstance(words, list):
            raise ValueError(f"{path}: holds no KeyedVectors with index_to_key; {_REMEDY}")
        self._words: list[Any] = words
        self._subwords: Subwords | None = None
        if isinstance(saved, _KeptFastText):
            self._rows = self._table(saved, "vectors_vocab", len(words), "words")
            self._subwords = self._read_subwords(saved)
        else:
            self._rows = self._table(saved, "vectors", len(words), "words")
        expandos = getattr(saved, "expandos", None)
        if isinstance(expandos, dict) and isinstance(expandos.get("count"), np.ndarray):
            counts = expandos["count"]
            if counts.shape != (len(words),) or counts.dtype.kind not in "iu":
                counts = None
        self._counts = counts
        self.width = int(self._rows.shape[1])
        self.promised: int | None = len(words)

    def _read_subwords(self, saved: Any) -> Subwords:
        said: list[Any] = [getattr(saved, name, None) for name in ("bucket", "min_n", "max_n")]
        if not all(isinstance(value, int | np.integer) for value in said):
            raise ValueError(f"{self._path}: does not say what n-grams its words have; {_REMEDY}")
        num, shortest, longest = map(int, said)
        buckets = self._table(saved, "vectors_ngrams", num, "buckets") if num else self._rows[:0]
        if buckets.shape[1] != self._rows.shape[1]:
            raise ValueError(
                f"{self._path}: words of {self._rows.shape[1]} numbers and n-grams of "
                f"{buckets.shape[1]}; {_REMEDY}"
            )
        return Subwords(buckets, shortest, longest)

    def _table(self, saved: Any, name: str, num_rows: int, of_what: str) -> NDArray[Any]:
        rows = self._attribute(saved, name)
        if rows.ndim != 2 or rows.dtype.kind != "f" or len(rows) != num_rows:
            raise ValueError(
                f"{self._path}: {num_rows} {of_what} for {name} of shape {list(rows.shape)} "
                f"{rows.dtype}; {_REMEDY}"
            )
        return rows

    def _attribute(self, saved: Any, name: str) -> NDArray[Any]:
        value = getattr(saved, name, None)
        if value is None:
            beside = self._path.with_name(f"{self._path.name}.{name}.npy")
            try:
                value = np.load(beside, mmap_mode="r", allow_pickle=False)
            except (OSError, ValueError) as error:
                raise ValueError(f"{beside}: not readable ({error}); {_REMEDY}") from error
        if not isinstance(value, np.ndarray):
            raise ValueError(f"{self._path}: {name} are no array; {_REMEDY}")
        return value

    def blocks(self) -> Iterator[Block]:
        """Yields the rows; see `VectorReader`."""
        at_once = _ROWS_AT_ONCE if self._subwords is None else ROWS_AT_ONCE
        for first in range(0, len(self._words), at_once):
            raw = self._words[first : first + at_once]
            table = np.array(self._rows[first : first + at_once], dtype=np.float32)
            if self._subwords is not None:
                table = self._subwords.averaged(table, [_in_brackets(word) for word in raw])
            finite = np.all(np.isfinite(table), axis=1).tolist()
            kept, refused = [], []
            for place, word in enumerate(raw):
                number = first + place + 1
                if not isinstance(word, str) or not word or not _is_whole(word):
                    refused.append(RefusedRow(number, "no_word", "the word is no text"))
                elif not finite[place]:
                    refused.append(RefusedRow(number, "no_number", "a number is not finite"))
                else:
                    kept.append(place)
            counts = None
            if self._counts is not None:
                counts = self._counts[first : first + at_once][kept].astype(np.int64)
            words = strings([raw[place] for place in kept])
            yield Block(words, table[kept], first + 1, len(raw), tuple(refused), counts)


def _in_brackets(word: Any) -> bytes:
    """Returns what a word's n-grams are made of, for gensim those of ``</s>``, too."""
    return f"<{word}>".encode() if isinstance(word, str) and _is_whole(word) else b""


def _is_whole(word: str) -> bool:
    """Returns whether a text has no half characters, which UTF-8 cannot spell."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
