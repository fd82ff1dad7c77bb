"""The choices that configurations offer by name; no module with torch need be loaded for them."""

from __future__ import annotations

from typing import Literal

Critic = Literal["bilinear", "inner_product"]
"""How a view is scored against another's context."""
Normalise = Literal["none", "batch_norm", "l2"]
"""What happens to a view before the critic."""
Anchor = Literal["excluded", "zeroed", "included"]
"""An anchor among its own candidates: left out, with score 0, or, in the discriminative objective,
as a candidate and a positive like its neighbours."""
ObjectiveName = Literal["contrastive", "generative", "discriminative", "both"]
"""What views are trained to do; both: generative and discriminative."""
DecoderName = Literal["linear", "bijective"]
"""From a sentence's vector to the words' space: one projection, or coupling layers before it."""
Partition = Literal["halves", "alternate"]
"""Which components a coupling layer leaves as they are: a half, or every other one."""
Activation = Literal["relu", "tanh"]
"""Between the layers of a coupling network."""
Init = Literal["xavier", "uniform", "xavier_open", "he", "orthonormal"]
"""How an encoder's weights start."""
Schedule = Literal["constant", "linear", "cosine"]
"""How the learning rate falls."""
WordVectorUse = Literal["frozen", "trained"]
"""Whether word vectors are given and stay, or are learnt."""
WordInit = Literal["xavier", "uniform"]
"""How trained word vectors start; uniform: within 0.1 of zero (QuickThoughts)."""
Embeddings = Literal["shared", "separate"]
"""Whether both views look words up in one table of trained vectors, or each in its own."""
Targets = Literal["soft", "each"]
"""A sentence with several neighbours: one softmax over all candidates with equal targets, or each
neighbour against the negatives alone."""
DepCell = Literal["child_sum", "attentive"]
"""How a dependency node sums its children: equally, or by attention."""
Precision = Literal["float32", "tf32", "bfloat16"]
"""In what precision the encoders multiply."""
KeptWeights = Literal["last", "best"]
"""Which weights a training ends with."""
Pooling = Literal["last", "max", "mean", "min"]
"""How a sentence's states become one vector: the one an encoder gives, or one over all of them."""
