"""What the papers leave open in a decoder, with the published values as defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from models.training_config import Activation, DecoderName, Init, OrthonormalRate, Partition
from pipeline.config_fields import Config, Count, at_least


@dataclass(frozen=True, slots=True)
class DecoderConfig(Config):
    """The decoder of a generative objective. Fields of coupling layers are of "bijective" only."""

    called: ClassVar[str] = "decoder setting"

    decoder: DecoderName = "linear"
    """One projection (Tang & de Sa 2018, section 2.2; 2019, section 3.3.1), or coupling layers
    before it (2019, section 3.3.2)."""
    orthonormal_rate: OrthonormalRate = 0.01
    """β of the update that keeps the projection orthonormal (2018, eq. 2: 0.01); 0 leaves the
    projection free (2018, table 6: "without Invertible Constraint").

    At 0.01 the steps of Adam at 5e-4 outrun the update in the directions that they agree on. After
    1,000 steps from 2048 to 300 dimensions, two thirds of the singular values lie within 0.01 of 1
    and the outermost at 0.84 and 1.43; at 0.5 all lie within 0.003, at the same cost and, where it
    was compared, the same held-out loss. (Measured in batches of 512 sentences of textbooks, with
    tanh of a linear average in the GRU's place.)"""
    coupling_layers: Count = 2
    """Open in the papers; two are the fewest of which every component is changed by one."""
    partition: Partition = "halves"
    """Which components the first layer leaves as they are, open in the papers; the second layer
    leaves the others, and so on in turn."""
    coupling_width: Annotated[int | None, at_least(1)] = None
    """Of the hidden layers of a coupling network; None: as wide as the part that it adds to. Open
    in the papers."""
    coupling_depth: Count = 1
    """Hidden layers of a coupling network; open in the papers."""
    coupling_activation: Activation = "relu"
    """After each of them; open in the papers."""
    init: Init = "xavier"
    """Of the projection and of every layer of the coupling networks. 2018, appendix 3: he; 2019,
    appendix A: orthonormal."""
