"""Which cells of the study train stably, and what they hold of bumps, for its claims and figures."""

import numpy as np

from foretrain.quantities import competition
from foretrain.quantities.cell import Cell
from foretrain.quantities.curves import mean_of_known
from foretrain.quantities.learning_curves.stability import is_stable
from foretrain.study import DIVERGED

STABLE = {"among": "runs at stable learning rates"}
PAIR = ("", "exchanged")  # the study's own network, and its partner with overlaps exchanged


def stable(c):
    """Return True where no run diverged and half of the runs leave at most a percent of the loss and hardly rise again."""
    curves = c.relative_loss.transpose("seed", "step").values
    there = np.isfinite(curves[:, 0])
    diverged = (c.outcome.values == DIVERGED).any()
    return bool(there.any() and not diverged) and is_stable(curves[there])


def calm(c, **wanted):
    """Return the cells along the axes that are left in which training was stable and parameters are these."""
    return [
        one
        for one in map(Cell, c.cells())
        if all(getattr(one.p, name) == value for name, value in wanted.items()) and stable(one)
    ]


def per_component(c, name, network=""):
    """Return a variable of a network or of "theory", shape (seed, component), without padding to other cells' components."""
    values = c[network][name].transpose("seed", "component").values
    return values[:, : 2 if network == "exchanged" else c.p.components or c.p.rank]


def first_and_bumps(c, network="", bumps="component_bumps"):
    """Return first targets and bumps of the components of every run, shape (seed, component) each."""
    return per_component(c, "first_target", network), per_component(c, bumps, network)


def bumps(c):
    """Return bumps per component that is followed, shape (seed,)."""
    return per_component(c, "component_bumps").mean(1)


def matched_bumps(c):
    """Return the bumps of the run that shares a first target and of its partner without; nan where that decides nothing."""
    return competition.matched_bumps(*(value for one in PAIR for value in first_and_bumps(c, one)))


def mean(cells, measure):
    """Return the mean over cells of what a measure gives per seed; nan where no cell gives a number."""
    return mean_of_known(np.asarray([measure(one) for one in cells] or [[np.nan]], float))


def proportion(measure):
    """Return the quantity "mean of a proportion over stable cells".

    Where it is 0 in all seeds, or 1 in all, it has no spread and is given as booleans: then seeds are counted.
    """

    def quantity(c):
        share = mean(calm(c), measure)
        known = share[np.isfinite(share)]
        constant = known.size and known[0] in (0, 1) and (known == known[0]).all()
        return known == 1 if constant else share

    return quantity
