"""The limit of numbers that the host draws for one network."""

import math
from collections.abc import Iterable

from foretrain.errors import TooLarge

MOST_DRAWN = 2**27  # 1 GiB in float64


def check_drawn(shapes: Iterable[tuple[int, ...]]) -> None:
    """Raise `TooLarge` before memory is taken if matrices of these shapes hold more than `MOST_DRAWN` numbers."""
    numbers = sum(math.prod(shape) for shape in shapes)
    if numbers > MOST_DRAWN:
        raise TooLarge(
            f"The network of a run has {numbers:.3g} numbers to draw, more than {MOST_DRAWN:.3g}. "
            "Try smaller widths."
        )
