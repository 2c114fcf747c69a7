"""Claims about estimates that are trusted."""

import numpy as np

from foretrain.study import Exact, NotApplicable, claim

from .study import SOURCE

WITHIN = 1.96  # standard errors of the 95% interval that an estimate states
ALL = {"along": "network", "source": SOURCE}


def gaps(c):
    """Return distances from what is known in standard errors, and relative ones, (network, seed)."""
    gap = abs(c.parameters_sampled - c.parameters_known)
    return gap / np.hypot(c.parameters_error, c.reference_error), gap / abs(c.parameters_known)


def names(c, where):
    """Return a note that names the networks where something is true for some seed."""
    far = [str(name) for name in c.axis("network").values[where.any("seed").values]]
    return f"{len(far)} of {where.sizes['network']} are not, {', '.join(far[:5])}." if far else ""


def inside(c):
    """Return the fraction of trusted estimates whose 95% interval holds the known value, of all networks and seeds."""
    trusted = (c.believed == 1) & (c.trap == 0)
    if not trusted.any():
        return Exact(np.nan)
    missed = trusted & ~(gaps(c)[0] <= WITHIN)
    return Exact(1 - float(missed.sum() / trusted.sum()), names(c, missed))


def share(c):
    """Return the fraction of estimates that are trusted, traps left out."""
    usual = c.trap == 0
    if not usual.any():
        raise NotApplicable("all networks are traps")
    doubted = usual & (c.believed != 1)
    return Exact(1 - float(doubted.sum() / usual.sum()), names(c, doubted))


def trapped(c):
    """Return the number of traps of which an estimate is trusted."""
    traps = c.trap == 1
    if not traps.any():
        raise NotApplicable("no network is a trap")
    return Exact(float((traps & (c.believed == 1)).any("seed").sum()))


def relative(c):
    """Return the median relative distance of trusted estimates from what is known."""
    trusted = (c.believed == 1) & (c.trap == 0)
    return Exact(float(gaps(c)[1].where(trusted).median()))


def far_traps(c):
    """Return the fraction of traps on which chains stray from what is known by more than a twentieth."""
    traps = c.trap == 1
    if not traps.any():
        raise NotApplicable("no network is a trap")
    return Exact(float((gaps(c)[1] > 0.05).where(traps).mean()))


CLAIMS = [
    claim(
        "inside",
        "Of the sampled numbers of effective parameters that the library trusts at least 95% have the known value in their "
        "95% interval.",
        inside,
        near=0.95,
        inside=(0.95, 1),
        rank="headline",
        why="A fraction of trusted estimates, over all networks and seeds; an interval is 1.96 standard errors to each side.",
        **ALL,
    ),
    claim(
        "trusted",
        "Of the networks on which chains can come round at least half are sampled to an estimate that the library trusts.",
        share,
        inside=(0.5, 1),
        rank="headline",
        why="A fraction of networks and seeds; a library that trusts nothing is never wrong.",
        **ALL,
    ),
    claim(
        "traps",
        "No estimate is trusted where chains cannot come round: two basins, a hole at w*, a start that is no minimum, noise "
        "of small minibatches, chains that are cut short.",
        trapped,
        near=0,
        inside=(0, 0),
        rank="headline",
        why="A number of traps; one that passes is too many.",
        **ALL,
    ),
    claim(
        "relative",
        "Trusted estimates are within three per cent of what is known, in the median.",
        relative,
        near=0,
        inside=(0, 0.03),
        why="An error of a twentieth is allowed, which is 1.2 times that of the draws: were all estimates at that limit, the "
        "median distance would be .67 · .05/1.2 = .028.",
        **ALL,
    ),
    claim(
        "traps-mislead",
        "In at least half of the traps the chains are more than a twentieth off: there is something to be seen.",
        far_traps,
        inside=(0.5, 1),
        rank="control",
        why="A fraction of traps and seeds.",
        **ALL,
    ),
]
