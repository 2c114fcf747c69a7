"""Pictures of chains show which of them have not mixed."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from foretrain.analyze.analysis_figures import chains, rank_shares
from foretrain.degeneracy.sampled.effective_parameters import SampledParameters

RANDOM = np.random.default_rng(0)


def test_ranks_of_mixed_chains_are_uniform_and_those_of_a_chain_apart_are_not():
    mixed = RANDOM.standard_normal((16, 64))
    # Of 80 bars of 64 independent draws each lies within four deviations of a fifth.
    assert abs(rank_shares(mixed) - 0.2).max() < 4 * (0.2 * 0.8 / 64) ** 0.5
    apart = mixed.copy()
    apart[3] += 100
    shares = rank_shares(apart)
    assert shares[3].tolist() == [0, 0, 0, 0, 1]
    assert shares.sum(1) == pytest.approx(1)
    assert shares.mean(0) == pytest.approx(0.2, abs=0.001)


def test_the_picture_has_a_trace_and_a_histogram_of_each_chain_at_each_scale_that_was_sampled():
    traces = RANDOM.standard_normal((3, 8, 64))
    traces[1] = np.nan  # not sampled
    eps, lines = np.array([0.1, 0.01, 0.001]), [[]] * 3
    sampled = SampledParameters(eps, 0 * eps, 0 * eps, lines, [None] * 3, traces, 1)
    axes = chains(sampled).figure.axes
    assert [ax.get_title() for ax in axes] == ["ε = 0.1", "ε = 0.001", "", ""]
    assert {tuple(line.get_ydata()) for line in axes[1].lines} == {tuple(one) for one in traces[2]}
    colours = {label: line.get_color() for line in axes[1].lines for label in [line.get_label()]}
    bars = np.array([bar.get_height() for bar in axes[3].patches]).reshape(8, 5)
    assert bars / bars.sum(1, keepdims=True) == pytest.approx(rank_shares(traces[2]))
    for at, begun in enumerate(["the weights"] * 2 + ["outside"] * 6):  # a quarter begins at w*
        bar = axes[3].patches[5 * at]
        line = next(one for one in axes[1].lines if one.get_ydata()[0] == traces[2, at, 0])
        assert line.get_color() == colours[f"chains from {begun}"] == to_hex(bar.get_facecolor())
        assert bar.get_y() == at
