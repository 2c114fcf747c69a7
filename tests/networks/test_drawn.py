import numpy as np
import pytest

from foretrain.errors import TooLarge
from foretrain.networks.drawn import MOST_DRAWN, check_drawn
from foretrain.networks.factorization_start import draw_start, draw_target
from foretrain.networks.gated import initial_weights
from foretrain.networks.routing_start import random_start
from foretrain.tasks.logic import xor

WIDE = 10**9


def test_as_many_numbers_are_drawn_as_fit_and_no_more():
    check_drawn([(MOST_DRAWN // 4, 3), (MOST_DRAWN // 4,)])
    with pytest.raises(TooLarge, match=r"has 1\.34e\+08 numbers to draw, more than 1\.34e\+08"):
        check_drawn([(MOST_DRAWN // 4, 3), (MOST_DRAWN // 4 + 1,)])


@pytest.mark.parametrize(
    "draw",
    [
        lambda random: initial_weights(xor(WIDE).graph, random, law="normal", init_scale=1.0),
        lambda random: random_start(random, 10, 10**5, 4, 7),
        lambda random: draw_target(random, 100, WIDE),
        lambda random: draw_start(random, 100, WIDE),
    ],
)
def test_networks_that_fit_into_no_memory_are_refused_at_once(draw):
    with pytest.raises(TooLarge, match="Try smaller widths") as caught:
        draw(np.random.default_rng(0))
    assert "\n" not in str(caught.value)
