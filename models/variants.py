"""The choices that configurations offer by name; no module with torch need be loaded for them."""

from __future__ import annotations

from typing import Literal

Critic = Literal["bilinear", "inner_product"]
"""How a view is scored against another's context."""
Normalise = Literal["none", "batch_norm", "l2"]
"""What happens to a view before the critic."""
Anchor = Literal["excluded", "zeroed"]
"""An anchor among its own candidates: left out, or with score 0."""
Init = Literal["xavier", "uniform", "xavier_open"]
"""How an encoder's weights start."""
Schedule = Literal["constant", "linear", "cosine"]
"""How the learning rate falls."""
WordVectorUse = Literal["frozen", "trained"]
"""Whether word vectors are given and stay, or are learnt."""
