"""Everything that determines a training's result, field by field with its source.

Sources: A = Simoulin & Crabbé 2021 (structured views), Q = Logeswaran & Lee 2018 (QuickThoughts,
A's baseline), B = Tang & de Sa 2018 (multi-view frameworks), C = Tang & de Sa 2019 (invertible
decoders). Where a paper leaves a value open, the docstring says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from treeviews.models.config.held_out import HeldOutUnit, HoldOut
from treeviews.models.config.objectives import OBJECTIVES, ObjectiveKind, checked_objective
from treeviews.models.config.views import INVERSE, VIEWS, checked_views
from treeviews.pipeline.base.mistakes import raise_together
from treeviews.pipeline.base.settings import (
    POSITIVE,
    Count,
    FieldCheck,
    Natural,
    Option,
    Positive,
    Range,
    Settings,
    Share,
    ShareBelow1,
    at_least,
    marks_of,
)

TRAINING_VERSION = 5
"""Raised when the same configuration, corpus and word vectors would train to another model."""

RETIRED_SETTINGS = frozenset(
    {
        *("added_to_words", "gather_negatives", "leaves_temperature", "leaves_weight"),
        *("own_words_temperature", "own_words_weight", "pair_negatives", "pair_positives"),
        *("pairs_share", "parts", "path_parts"),
    }
)
"""Settings of earlier releases that models still name."""
_RETIRED_WEIGHTS = ("added_to_words", "leaves_weight", "own_words_weight")
"""Those of them that gave a model weights of their own."""

Partition = Literal["halves", "alternate"]
"""Which components a coupling layer leaves as they are: a half, or every other one."""
Activation = Literal["relu", "tanh"]
"""Between the layers of a coupling network."""
Init = Literal["xavier", "uniform", "xavier_open", "he", "orthonormal"]
"""How an encoder's weights start."""
WordInit = Literal["xavier", "uniform", "given"]
"""How trained word vectors start; uniform: within 0.1 of zero (QuickThoughts); given: as those of
the file."""
SeqCell = Literal["gru", "lstm"]
"""What SEQ reads words with."""
DepCell = Literal["child_sum", "attentive"]
"""How a dependency node sums its children: equally, or by attention."""
Shuffled = Literal["nothing", "words"]
"""A control: whether a sentence's words change places in their tree."""
Precision = Literal["float32", "tf32", "bfloat16"]
"""In what precision the encoders multiply."""


SHAPES = "shapes the untrained encoder"
"""Marks the fields that an untrained encoder depends on, and so the digest of one."""
OrthonormalRate = Annotated[
    float, Range("lie in [0, 0.5], as a larger one overshoots", lambda value: 0 <= value <= 0.5)
]


class TrainingConfig(Settings):
    """A training of one or two views. Machine settings are not here; see `RunSettings`."""

    called: ClassVar[str] = "training setting"

    views: Annotated[tuple[str, ...], FieldCheck(checked_views), SHAPES] = ("DEP", "CONST")
    """A, section Language views: the anchor's view and its context's. B: f and g. A generative
    training has f alone, a discriminative one may have a single view (B, table 6)."""
    objective: Annotated[str, FieldCheck(checked_objective), SHAPES] = "contrastive"
    """A: contrastive; B: generative (section 2.2), discriminative (2.3) or both (appendix 5);
    C: generative. Both predicts words from the first view."""
    hidden_size: Annotated[Count, SHAPES] = 256
    """Width of a view. A, section Experiments: 4800 over two views and two vocabularies, on UMBC; a
    small corpus does not fill that."""
    word_vectors: Annotated[Literal["frozen", "trained"], SHAPES] = "frozen"
    """A, section Experiments: pretrained and frozen, or trained from Xavier's initialisation."""
    trained_word_size: Annotated[Count, SHAPES] = 300
    """Dimensions of trained word vectors (A: 300); given ones bring their own."""
    trained_word_init: Annotated[WordInit, SHAPES] = "xavier"
    """A, section Experiments: Xavier; Q: uniform within 0.1 of zero."""
    trained_words: Annotated[int | None, at_least(1), SHAPES] = None
    """Only so many words are trained, the first of the file of word vectors, which is in order of
    frequency; the others are unknown. A, section Experiments, and Q: 50,000, to which they add
    others by `models.words.vocabulary_expansion`. None trains all."""
    word_weights: Annotated[Literal["none", "sif"], SHAPES] = "none"
    """How much a word counts in all views. None of the papers weighs words; SIF is Arora, Liang &
    Ma's (2017, equation 3)."""
    sif_a: Annotated[Positive, SHAPES] = 1e-3
    """a of a / (a + p). Arora et al. have 1e-3 to 1e-4."""
    unit_words: Annotated[bool, SHAPES] = False
    """Whether the file's vectors are first brought to length 1; frequent words have other lengths
    than rare ones."""
    embeddings: Annotated[Literal["shared", "separate", "side_by_side"], SHAPES] = "shared"
    """Whether the views share trained word vectors (open in A) or have their own (Q: "a distinct
    set of embeddings for each encoder", as A's Method puts it). Frozen ones are the same, but
    those of a model that was trained on separate ones and expanded: they stand side by side."""
    vector_rms: Annotated[float | None, POSITIVE, SHAPES] = 0.35
    """Root mean square of a component to which given vectors are scaled; None leaves them.

    Open in A. Measured: word2vec vectors scaled to about 0.35 train; the same at 1.0 do not."""
    read_rms: Annotated[float | None, POSITIVE, SHAPES] = None
    """Root mean square of a component at which SEQ, DEP, CONST and LIN read every word, whatever it
    weighs; None: as it weighs. Means read words as weighted."""
    words_beside: Annotated[float | None, POSITIVE, SHAPES] = None
    """Weight of one more view of the finished model, the mean of its words. All views are then
    brought to length 1, that of the words to this; None: neither. None of the papers."""
    batch_size: Annotated[int, at_least(2)] = 400
    """Successive sentences in a batch (A, section Experiments; Q)."""
    run_length: Annotated[int | None, at_least(2)] = None
    """Successive sentences at a time, where a batch is to hold such runs from all over its shard;
    None: it is one run, as in A and Q. Short runs leave more of a word's meaning in its vector."""
    context_size: Count = 1
    """Sentences to either side that count as context (A, section Contrastive learning; Q: 1; B,
    discriminative: 3). A generative training predicts the next sentence."""
    epochs: Count = 3
    """Open in A; Q passes once over its books. On the default text the held-out loss falls no
    further."""
    max_tokens: Annotated[int | None, at_least(1)] = 50
    """Longer sentences are skipped (Q; open in A)."""
    learning_rate: Positive = 2e-3
    """Of Adam. A and Q: 5e-4; at a hundredth of their data 2e-3 with decay learns faster."""
    schedule: Literal["constant", "linear", "cosine"] = "linear"
    """How the learning rate falls to zero; A and Q keep it constant."""
    warmup_fraction: ShareBelow1 = 0.05
    """Share of the steps over which the learning rate, constant or falling, first rises."""
    weight_decay: Annotated[float, at_least(0)] = 0.0
    """L2 penalty in Adam; a later text of A has 1e-4."""
    gradient_clip: Annotated[float | None, POSITIVE] = 5.0
    """Largest gradient norm (Q: 5.0; open in A); None does not clip."""
    word_dropout: ShareBelow1 = 0.0
    """Share of each token's word vector that is zeroed in training. A, section
    Experiments: no dropout."""
    precision: Annotated[Precision, SHAPES] = "float32"
    """Of the encoders' products: float32; tf32, which a GPU rounds to (on a CPU it is float32);
    bfloat16, in which the objective stays float32 (under tf32 its products are rounded as well).
    Weights and word vectors are float32. Open in A and Q."""
    normalise: Literal["none", "batch_norm", "l2"] = "batch_norm"
    """What happens to a view before the critic. A: none. Contrastive objective only."""
    symmetric: bool = True
    """Whether each view also predicts the other's context; A trains one side. Contrastive only: B's
    agreement is symmetric."""
    critic: Literal["bilinear", "inner_product"] = "bilinear"
    """A, section Contrastive learning: bilinear; Q: inner product. Contrastive only: B's cosine is
    a part of its objective."""
    anchor: Literal["excluded", "zeroed", "included"] = "excluded"
    """The anchor among its own candidates: left out (a later text of A) or with score 0 (Q). B,
    equation 3: included, as one of its own positives. Not of the generative objective."""
    targets: Literal["soft", "each"] = "soft"
    """Several neighbours: soft targets, equal over them, in one softmax (Q; A trains "using the
    contrastive objective from" Q), or each against the negatives alone (A's formula). Contrastive
    only."""
    remove_top_component: bool = True
    """Whether each view loses its top principal component before the agreement (B, section 2.4).
    Discriminative objective only."""
    power_iterations: Count = 5
    """By which that component is estimated (B, appendix 2)."""
    temperature: Positive = 1.0
    """τ before training, of the agreement and of normalise l2 (B, appendix 3: 1). Some hundred
    steps hardly move it: a short training does well to start lower."""
    temperature_trained: bool = True
    """Whether τ is a parameter; else it stays."""
    negatives: Count = 5
    """Negative samples a word, K (B, appendix 3). Generative objective only, as what follows."""
    shared_negatives: Count = 16_384
    """Words drawn for a batch, over which the expectation of B's equation 1 is taken. Differs from
    B and word2vec, which draw K for every word: see docs/frameworks.md."""
    noise_power: Share = 0.75
    """Of the unigram distribution that they are drawn from (B and C, after equation 1)."""
    decoder: Annotated[Literal["linear", "bijective"], SHAPES] = "linear"
    """B, section 2.2, and C, section 3.3.1: linear; C, section 3.3.2: bijective."""
    orthonormal_rate: OrthonormalRate = 0.01
    """β of the update after each step (B, equation 2); 0 is "without invertible constraint" (B,
    table 6). What it leaves of the distance to 1: `models.objectives.decoders`."""
    coupling_layers: Annotated[Count, SHAPES] = 2
    """Of a bijective decoder; with two, each half has been added to once. Open in C, as what
    follows."""
    coupling_partition: Annotated[Partition, SHAPES] = "halves"
    """Which half of the components a layer leaves as it is; layers take turns."""
    coupling_width: Annotated[int | None, at_least(1), SHAPES] = None
    """Of a coupling network's hidden layers; None: as wide as what it adds to."""
    coupling_depth: Annotated[Count, SHAPES] = 1
    """Hidden layers of a coupling network."""
    coupling_activation: Annotated[Activation, SHAPES] = "relu"
    """After each of them."""
    generative_weight: Positive = 1.0
    """Of the generative loss beside the discriminative one under both. Open in B."""
    bidirectional: Annotated[bool, SHAPES] = False
    """Whether SEQ reads both ways, half of the width each (Q: 600 a direction; B: 1024; C: 1200).
    A: one way."""
    seq_cell: Annotated[SeqCell, SHAPES] = "gru"
    """A, B, C and Q: gru. lstm is for A's baseline of random weights, which Wieting & Kiela (2019)
    call random LSTM; it can be trained, too."""
    dep_cell: Annotated[DepCell, SHAPES] = "child_sum"
    """A, section Language views: Child-Sum; a later text of A: attentive. Of DEP only."""
    shuffled: Annotated[Shuffled, SHAPES] = "nothing"
    """A control, in training and after it: trees stay, but a sentence's words stand at random
    places of them, the same ones each time."""
    init: Annotated[Init, SHAPES] = "xavier"
    """A, section Experiments: Xavier; a later text of A: uniform; B, appendix 3: he, with gates'
    biases of 1; C, appendix A: orthonormal; xavier_open: Xavier, but for forget gates' biases of
    1."""
    held_out_fraction: Annotated[ShareBelow1, Option()] = 0.3
    """Share of documents, or of blocks, that are never trained on."""
    held_out_seed: Annotated[int, Option()] = 0
    """Of the choice of held-out documents; apart from ``seed``, so that runs are comparable."""
    held_out_unit: Annotated[HeldOutUnit, Option()] = "document"
    """Whole documents are held out, or blocks of sentences where documents are few."""
    held_out_block_sentences: Count = 50
    """Length of such a block."""
    held_out_batches: Natural = 100
    """At most so many batches measure the held-out context accuracy."""
    held_out_every_steps: Annotated[int | None, at_least(1)] = None
    """Measures also at every multiple of so many steps, not only before and after each epoch."""
    keep: Literal["last", "best"] = "last"
    """Which weights are the result: the last, or those of the lowest held-out loss. Open in A and
    Q."""
    seed: Annotated[Natural, Option()] = 0
    """Of the initial weights and of the batches' order."""

    def _check_together(self) -> None:
        """Refuses views, objectives and weights that do not go together.

        Raises:
            ValueError: names the fields and what they must be.
        """
        views = ", ".join(self.views)
        kind, name = self.kind, f"the {self.objective} objective"
        is_side_by_side = self.embeddings == "side_by_side"
        are_given = self.word_vectors == "frozen"
        rules = {
            f"hidden_size must be even if bidirectional is true, not {self.hidden_size}": (
                self.bidirectional and self.hidden_size % 2
            ),
            f"run_length must be at most batch_size, {self.batch_size}, not {self.run_length}": (
                (self.run_length or 0) > self.batch_size
            ),
            f"shuffled words is no control of views {views}, which know no order": (
                self.shuffled == "words" and all(VIEWS[v].reads == "words" for v in self.views)
            ),
            "keep best needs held_out_batches of at least 1, not 0": (
                self.keep == "best" and not self.held_out_batches
            ),
            "embeddings side_by_side are two views' halves of given vectors, as an expanded model "
            "has them: train with shared or separate ones": (
                is_side_by_side and not (are_given and len(self.views) == 2)
            ),
            f"{name} needs {' or '.join(map(str, kind.num_views))} views, not {views}": (
                len(self.views) not in kind.num_views
            ),
            f"word_vectors must be frozen under {name}: words that are predicted must not move": (
                kind.predicts_words and not are_given
            ),
            f"anchor must be {' or '.join(kind.anchors)} under {name}, not {self.anchor}": (
                bool(kind.anchors) and self.anchor not in kind.anchors
            ),
        }
        raise_together([ValueError(rule) for rule, is_broken in rules.items() if is_broken])

    @property
    def kind(self) -> ObjectiveKind:
        """What is known of the objective."""
        return OBJECTIVES[self.objective]

    @property
    def hold_out(self) -> HoldOut:
        """Which sentences are never trained on."""
        return HoldOut.of(self)

    def check_trainable(self) -> None:
        """Refuses views that can be embedded by, but not trained.

        Raises:
            ValueError: nothing of the finished model would change, or views of unlike width are to
                agree; names the remedy.
        """
        all_words = not any(VIEWS[view].settings for view in self.views)
        if self.word_vectors == "frozen" and all_words and not self.has_decoder:
            raise ValueError(
                f"views {', '.join(self.views)} of frozen word vectors have nothing to train; take "
                "LIN, or train the words (word_vectors)"
            )
        if self.kind.compares_views:
            self.check_widths()

    def check_widths(self) -> None:
        """Refuses views of unlike width, which cannot agree.

        Raises:
            ValueError: names the view and the remedy.
        """
        of_words = [view for view in self.views if not VIEWS[view].settings]
        if 0 < len(of_words) < len(self.views):
            raise ValueError(
                f"views {', '.join(self.views)} cannot agree: {of_words[0]} is as wide as the word "
                f"vectors; take LIN for {of_words[0]}"
            )

    @property
    def has_lstm(self) -> bool:
        """Whether SEQ is there and is an LSTM."""
        return self.seq_cell == "lstm" and "SEQ" in self.views

    @property
    def has_decoder(self) -> bool:
        """Whether words are predicted, by a decoder whose inverse is one more view."""
        return self.kind.predicts_words

    @property
    def test_views(self) -> tuple[str, ...]:
        """The views of the finished model: those trained, a decoder's inverse, words beside."""
        inverse = (INVERSE,) if self.has_decoder else ()
        return (*self.views, *inverse, *(("BOW",) if self.words_beside else ()))

    def view_widths(self, word_size: int) -> list[int]:
        """Returns the width of each view of an embedding, as `test_views` names them.

        Args:
            word_size: of the file of word vectors.
        """
        if self.word_vectors == "trained" and self.trained_word_init != "given":
            word_size = self.trained_word_size
        if self.embeddings == "side_by_side":
            word_size //= 2
        widths = [self.hidden_size if VIEWS[view].settings else word_size for view in self.views]
        inverse = widths[:1] if self.has_decoder else []
        return [*widths, *inverse, *([word_size] if self.words_beside else [])]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainingConfig:
        """Returns the configuration with these fields; those of earlier releases are passed over.

        Raises:
            ValueError: see `Settings.from_dict`; or weights are asked for that this release has no
                use for.
        """
        if isinstance(values, Mapping):
            if gone := [name for name in _RETIRED_WEIGHTS if values.get(name)]:
                raise ValueError(
                    f"training settings {', '.join(gone)} are of an earlier release; install the "
                    "one that made this model, or train again without them"
                )
            values = {name: v for name, v in values.items() if name not in RETIRED_SETTINGS}
        return super().from_dict(values)

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON knows them.

        Without ``seq_cell`` where SEQ is a GRU or is not there: so models and digests that were
        made before there was another cell are still those of the same training.
        """
        fields = Settings.to_dict(self)
        if not self.has_lstm:
            del fields["seq_cell"]
        return fields

    def architecture(self) -> dict[str, Any]:
        """Returns the fields that an untrained encoder depends on."""
        names = marks_of(TrainingConfig, str)
        return {name: value for name, value in self.to_dict().items() if name in names}

    def idle(self, names: Iterable[str]) -> list[str]:
        """Returns those of the named fields that change nothing in this training.

        They are no mistake, since one set of changes may be handed to several trainings; but
        whoever changes one should know that it does nothing there.
        """
        known = {name for kind in OBJECTIVES.values() for name in kind.settings}
        known |= {name for view in VIEWS.values() for name in view.settings}
        own = {name for view in self.views for name in VIEWS[view].settings}
        are_trained = self.word_vectors == "trained"
        are_given = not are_trained or self.trained_word_init == "given"
        has_no_temperature = self.objective == "contrastive" and self.normalise != "l2"
        is_idle = {
            **{"trained_word_init": not are_trained, "trained_word_size": are_given},
            **{"unit_words": not are_given, "sif_a": self.word_weights == "none"},
            **{"read_rms": not own, "power_iterations": not self.remove_top_component},
            **dict.fromkeys(("temperature", "temperature_trained"), has_no_temperature),
            **{name: self.decoder == "linear" for name in known if name.startswith("coupling_")},
            **dict.fromkeys(known - own - set(self.kind.settings), True),
        }
        return [name for name in names if is_idle.get(name)]
