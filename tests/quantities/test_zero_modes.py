"""Components by the spectrum are those by search."""

import numpy as np

from foretrain.quantities.zero_modes import zero_modes
from foretrain.tasks.masks import components


def test_the_spectrum_finds_the_components_that_a_search_finds():
    random = np.random.default_rng(0)
    masks = np.array([random.random((5, 4)) < share for share in np.linspace(0, 1, 40)])
    counts, joined = zero_modes(masks)
    for mask, count, pairs in zip(masks, counts, joined, strict=True):
        inputs, outputs = components(mask)
        assert count == 1 + max(inputs.max(), outputs.max())
        assert np.array_equal(pairs, inputs[:, None] == outputs[None, :])
    assert set(counts.tolist()) >= {1, 2, 3, 9}
