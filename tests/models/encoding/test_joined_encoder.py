"""Views of several encoders as those of one: names, refusals, what is kept of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from models.config.views import Pooling
from models.encoding.encoder_interface import FloatArray, MeasuredEncoder
from models.encoding.named_encoder import EncoderViews, JoinedEncoder
from pipeline.base.refusal import RefusedSentence

SENTENCES = ["a b", "c", "a"]


class Views:
    """An encoder with views of given widths, which refuses sentences that hold a letter."""

    def __init__(self, digest: str, refuses: str = "-", **widths: int) -> None:
        self.digest = digest
        self.calls = 0
        self.refused: list[RefusedSentence] = []
        self._refuses = refuses
        self._widths = {f"{i}-{name[:3]}": width for i, (name, width) in enumerate(widths.items())}

    def widths(self, pooling: Sequence[Pooling] = ("last",)) -> dict[str, int]:
        return {f"{view}.{pool}": width for view, width in self._widths.items() for pool in pooling}

    def encode(self, sentences: Sequence[str]) -> FloatArray:
        raise AssertionError("views are there to be asked for")

    def encode_views(
        self, sentences: Sequence[str], pooling: Sequence[Pooling] = ("last",)
    ) -> dict[str, FloatArray]:
        self.calls += 1
        refused = [i for i, sentence in enumerate(sentences) if self._refuses in sentence]
        self.refused = [RefusedSentence(i, "parser_error", f"no {self._refuses}") for i in refused]
        views: dict[str, FloatArray] = {}
        for key, width in self.widths(pooling).items():
            seed = sum(f"{self.digest} {key}".encode())
            states = np.random.default_rng(seed).normal(size=(len(sentences), width))
            views[key] = states.astype(np.float32)
            views[key][refused] = 0.0
        return views


def test_views_are_numbered_through_in_the_order_asked_for() -> None:
    f, g = Views("f", SEQ=4, LIN=3), Views("g", SEQ=2, LIN=5)
    joined = JoinedEncoder([EncoderViews(g, ("LIN",)), EncoderViews(f)])

    found = joined.encode_views(SENTENCES, ["mean", "max"])

    own_f, own_g = (one.encode_views(SENTENCES, ["mean", "max"]) for one in (f, g))
    expected = {
        "0-LIN.mean": own_g["1-LIN.mean"],
        "0-LIN.max": own_g["1-LIN.max"],
        "1-SEQ.mean": own_f["0-SEQ.mean"],
        "1-SEQ.max": own_f["0-SEQ.max"],
        "2-LIN.mean": own_f["1-LIN.mean"],
        "2-LIN.max": own_f["1-LIN.max"],
    }
    assert list(found) == list(expected)
    for key, matrix in expected.items():
        np.testing.assert_array_equal(found[key], matrix)
    assert joined.widths(["mean"]) == {"0-LIN.mean": 5, "1-SEQ.mean": 4, "2-LIN.mean": 3}
    assert joined.encode(SENTENCES).shape == (3, 12)
    assert isinstance(joined, MeasuredEncoder)


def test_an_encoder_of_two_views_is_asked_once() -> None:
    f, g = Views("f", SEQ=4, INV=3), Views("g", LIN=5)
    parts = [EncoderViews(f, ("INV",)), EncoderViews(g), EncoderViews(f, ("SEQ",))]
    joined = JoinedEncoder(parts)

    assert list(joined.encode_views(SENTENCES)) == ["0-INV.last", "1-LIN.last", "2-SEQ.last"]
    assert (f.calls, g.calls) == (1, 1)


def test_a_sentence_that_one_cannot_take_is_zeros_in_all_views() -> None:
    f, g = Views("f", "b", SEQ=4), Views("g", "c", DEP=5)
    joined = JoinedEncoder([EncoderViews(f), EncoderViews(g)])

    found = joined.encode_views(SENTENCES)

    for matrix in found.values():
        assert not matrix[:2].any() and matrix[2].all()
    assert [(refusal.index, refusal.detail) for refusal in joined.refused] == [
        (0, "no b"),
        (1, "no c"),
    ]


def test_the_digest_tells_encoders_and_views_and_not_how_they_were_called() -> None:
    def digest(*parts: tuple[str, tuple[str, ...]]) -> str:
        made = [EncoderViews(Views(name, SEQ=4, LIN=4), views) for name, views in parts]
        return JoinedEncoder(made).digest

    base = digest(("f", ("SEQ",)), ("g", ("LIN",)))
    assert digest(("f", ("0-SEQ",)), ("g", ("1-LIN",))) == base
    others = {
        digest(("f", ("LIN",)), ("g", ("LIN",))),
        digest(("g", ("SEQ",)), ("f", ("LIN",))),
        digest(("g", ("LIN",)), ("f", ("SEQ",))),
        digest(("f", ()), ("g", ("LIN",))),
    }
    assert len(others | {base}) == 5


@pytest.mark.parametrize(
    ("views", "message"),
    [
        (("DEP",), r"^f-model: no view 'DEP'; the encoder's are 0-SEQ, 1-SEQ, 2-INV$"),
        (("SEQ",), "^f-model: several views are called SEQ; give one of 0-SEQ, 1-SEQ$"),
        (("INV", "2-INV"), r"^f-model: views \['INV', '2-INV'\] name 2-INV twice$"),
    ],
)
def test_views_that_cannot_be_taken_are_named(views: tuple[str, ...], message: str) -> None:
    encoder = Views("f", SEQ_1=4, SEQ_2=4, INV=4)
    with pytest.raises(ValueError, match=message):
        JoinedEncoder([EncoderViews(encoder, views, "f-model")])


def test_a_view_that_is_joined_with_itself_is_refused() -> None:
    parts = [EncoderViews(Views("f", SEQ=4)), EncoderViews(Views("f", SEQ=4), ("SEQ",))]
    with pytest.raises(ValueError, match="views 0-SEQ of one encoder are joined twice"):
        JoinedEncoder(parts)
