"""Two views of a sentence and the objective that trains them, built from a configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from models.contrastive import ContrastiveConfig, ContrastiveObjective, ContrastiveResult
from models.corpus.sentence_block import SentenceBlock
from models.multi_view import MultiViewConfig, MultiViewEncoder, TokenRange
from models.ranks import ALONE, Ranks, gather_rows
from models.sentence_batch import SentenceBatch
from models.training_config import TrainingConfig
from models.words.embedding import WordEmbedding
from models.words.word_vectors import WordVectors


@dataclass(frozen=True, slots=True, eq=False)
class ContrastiveBatch:
    """Successive sentences ready to be computed; on several ranks, what is one's own of them."""

    sentences: SentenceBatch | None
    """Those that this rank encodes; None if it has none, as of a batch smaller than the ranks."""
    documents: Tensor
    """[B] int64; the document of each sentence that takes part in the objective."""
    sentence_index: Tensor
    """[B] int64; its position there."""
    num_sentences: int
    """Sentences of all ranks together."""
    tokens: TokenRange | None = None
    """Place of this rank's tokens among those of all ranks, where dropout depends on it."""

    def to(self, device: torch.device | str) -> ContrastiveBatch:
        """Returns the batch with its tensors on ``device``."""
        return replace(
            self,
            sentences=None if self.sentences is None else self.sentences.to(device),
            documents=self.documents.to(device),
            sentence_index=self.sentence_index.to(device),
        )


class ContrastiveModel(nn.Module):
    """All that training changes (encoders and critic) and the words it stands on."""

    encoder: MultiViewEncoder
    objective: ContrastiveObjective

    def __init__(self, config: TrainingConfig, vectors: WordVectors) -> None:
        """Draws the initial weights from torch's current random state.

        Args:
            vectors: as loaded; frozen ones are scaled as the configuration says.
        """
        super().__init__()
        self.config = config
        if config.word_vectors == "trained" and config.trained_words is not None:
            vectors = vectors.first(config.trained_words)
        self.vectors = vectors
        """Those that tokens are looked up by."""
        self.encoder = MultiViewEncoder(
            config.views,
            self._embeddings(),
            MultiViewConfig(
                hidden_size=config.hidden_size,
                init=config.init,
                bidirectional=config.bidirectional,
                dep_cell=config.dep_cell,
                word_dropout=config.word_dropout,
                precision=config.precision,
            ),
        )
        self.objective = ContrastiveObjective(
            first_size=config.hidden_size,
            second_size=config.hidden_size,
            config=ContrastiveConfig(
                context_size=config.context_size,
                critic=config.critic,
                normalise=config.normalise,
                symmetric=config.symmetric,
                anchor=config.anchor,
                targets=config.targets,
            ),
        )

    def _embeddings(self) -> list[WordEmbedding]:
        """Returns one embedding for both views, or one for each."""
        config, vectors = self.config, self.vectors
        if config.word_vectors == "trained":
            draw = {"xavier": WordEmbedding.xavier, "uniform": WordEmbedding.uniform}
            num_tables = 2 if config.embeddings == "separate" else 1
            new = draw[config.trained_word_init]
            return [new(len(vectors.words), config.trained_word_size) for _ in range(num_tables)]
        # Two frozen tables would hold the same vectors twice.
        scale = 1.0 if config.vector_rms is None else vectors.scale_to(config.vector_rms)
        return [WordEmbedding.frozen(torch.from_numpy(vectors.matrix), scale=scale)]

    def forward(self, batch: ContrastiveBatch, ranks: Ranks = ALONE) -> ContrastiveResult:
        """Returns the objective of successive sentences; see `ContrastiveObjective`.

        Args:
            batch: made for the same ranks.
            ranks: on several and with ``gather_negatives`` the objective is that of all their
                sentences together, else that of this rank's.
        """
        first, second = self._views(batch)
        if self.config.gather_negatives:
            num_rows = len(batch.documents)
            first, second = (gather_rows(view, ranks, num_rows) for view in (first, second))
        elif batch.sentences is None:
            nothing = first.detach().sum()
            return ContrastiveResult(first.sum(), nothing, nothing, nothing.long())
        result: ContrastiveResult = self.objective(
            first, second, batch.documents, batch.sentence_index
        )
        return result

    def _views(self, batch: ContrastiveBatch) -> tuple[Tensor, Tensor]:
        """Returns both views of this rank's sentences, [b, H] each."""
        if batch.sentences is not None:
            first, second = self.encoder(batch.sentences, batch.tokens)
            return first, second
        like = next(self.encoder.parameters())
        # Differentiable like those of the other ranks, which all take part in the exchange.
        none = like.new_zeros(0, self.config.hidden_size).requires_grad_()
        return none, none

    def training_batch(self, block: SentenceBlock, ranks: Ranks = ALONE) -> ContrastiveBatch:
        """Returns what this rank computes of a block of successive sentences in training."""
        start, stop = ranks.part(len(block))
        part = block.slice(start, stop)
        sentences, tokens = None, None
        if len(part):
            sentences = batch_of(part, share_words=not self.config.word_dropout)
        if self.config.word_dropout:
            ends = int(block.offsets[start]), int(block.offsets[stop])
            tokens = TokenRange(*ends, total=int(block.offsets[-1]))
        positions = positions_of(block if self.config.gather_negatives else part)
        return ContrastiveBatch(sentences, *positions, num_sentences=len(block), tokens=tokens)

    def result_of(self, block: SentenceBlock, device: torch.device) -> ContrastiveResult:
        """Returns the objective of a block of successive sentences, on this process alone."""
        batch = ContrastiveBatch(batch_of(block), *positions_of(block), num_sentences=len(block))
        return self.forward(batch.to(device))


def build_model(config: TrainingConfig, vectors: WordVectors, seed: int) -> ContrastiveModel:
    """Returns an untrained model whose weights are a function of the seed.

    The caller's random state is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ContrastiveModel(config, vectors)


def batch_of(
    block: SentenceBlock, *, share_words: bool = True, with_nodes: bool = False
) -> SentenceBatch:
    """Returns a block's sentences as the encoders take them.

    Args:
        share_words: whether tokens of one word share its vector; see `SentenceBatch`.
        with_nodes: whether all states of the sentences will be asked for; see `SentenceBatch`.
    """
    return SentenceBatch.from_arrays(
        block.token_ids,
        block.offsets,
        block.heads,
        block.binary_left,
        block.binary_right,
        share_words=share_words,
        with_nodes=with_nodes,
    )


def positions_of(block: SentenceBlock) -> tuple[Tensor, Tensor]:
    """Returns each sentence's document and place in it, int64 [B] each."""
    documents = torch.tensor(block.documents, dtype=torch.int64)
    return documents, torch.tensor(block.sentence_index, dtype=torch.int64)
