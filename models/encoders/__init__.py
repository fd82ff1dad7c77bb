"""Sentence encoders, one a file."""

from models.encoders.bag_of_words import BagOfWords
from models.encoders.base import SentenceEncoder
from models.encoders.child_sum import ChildSumTreeLSTM
from models.encoders.factory import build_encoder
from models.encoders.gru import GRU
from models.encoders.linear_average import LinearAverage
from models.encoders.nary import NaryTreeLSTM

__all__ = [
    "GRU",
    "BagOfWords",
    "ChildSumTreeLSTM",
    "LinearAverage",
    "NaryTreeLSTM",
    "SentenceEncoder",
    "build_encoder",
]
