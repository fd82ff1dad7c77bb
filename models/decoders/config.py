"""What the papers leave open in a decoder, with the published values as defaults."""

from __future__ import annotations

from dataclasses import dataclass

from models.config_fields import check_choices
from models.variants import Activation, DecoderName, Init, Partition


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """The decoder of a generative objective. Fields of coupling layers are of "bijective" only."""

    decoder: DecoderName = "linear"
    """One projection (Tang & de Sa 2018, section 2.2; 2019, section 3.3.1), or coupling layers
    before it (2019, section 3.3.2)."""
    orthonormal_rate: float = 0.01
    """β of the update that keeps the projection orthonormal (2018, eq. 2: 0.01); 0 leaves the
    projection free (2018, table 6: "without Invertible Constraint").

    At 0.01 the steps of Adam at 5e-4 outrun the update in the directions that they agree on. After
    1,000 steps from 2048 to 300 dimensions, two thirds of the singular values lie within 0.01 of 1
    and the outermost at 0.84 and 1.43; at 0.5 all lie within 0.003, at the same cost and, where it
    was compared, the same held-out loss. (Measured in batches of 512 sentences of textbooks, with
    tanh of a linear average in the GRU's place.)"""
    coupling_layers: int = 2
    """Open in the papers; two are the fewest of which every component is changed by one."""
    partition: Partition = "halves"
    """Which components the first layer leaves as they are, open in the papers; the second layer
    leaves the others, and so on in turn."""
    coupling_width: int | None = None
    """Of the hidden layers of a coupling network; None: as wide as the part that it adds to. Open
    in the papers."""
    coupling_depth: int = 1
    """Hidden layers of a coupling network; open in the papers."""
    coupling_activation: Activation = "relu"
    """After each of them; open in the papers."""
    init: Init = "xavier"
    """Of the projection and of every layer of the coupling networks. 2018, appendix 3: he; 2019,
    appendix A: orthonormal."""

    def __post_init__(self) -> None:
        """Refuses values out of range.

        Raises:
            ValueError: names the field and the values it may have.
        """
        check_choices(self)
        if not 0 <= self.orthonormal_rate <= 0.5:
            raise ValueError(
                "orthonormal_rate must lie in [0, 0.5], as a larger one overshoots; got "
                f"{self.orthonormal_rate}"
            )
        for name in ("coupling_layers", "coupling_width", "coupling_depth"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be 1 or more, got {value}")
