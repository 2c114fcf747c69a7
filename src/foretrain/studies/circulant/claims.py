"""Claims of the note on circulant masks, and predictions of the linearised flow."""

from dataclasses import replace

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import around
from foretrain.quantities.learning_curves.slopes import slopes
from foretrain.study import CONVERGED, Exact, PerSeed, claim, skip_if
from foretrain.theory.factorization.masked_rank_one import opposing_signs
from foretrain.training import masked_rank_one_claims as shared
from foretrain.training.masked_rank_one import DEPARTURE, ESCAPE, STAGES

from .study import ABOVE, LIMIT

NOTE = "Note on shared representations, section 3"
GRID = ("width", "init_scale")
REACHED = 1e-8  # the smallest scale that the note could reach
SMALL = 1e-2  # where weights are small enough for the linearised flow
# A law for small misalignment is fitted where it says less than a tenth, and more than rounding, 1e-16, can blur.
FITTED = (1e-10, 0.1)
DRAWN = ("drawn", "drawn_above")


def small(c):
    return [scale for scale in c.values("init_scale") if scale <= SMALL]


def is_partial(c):
    """Return True for a mask that is not full, where the linearised flow is compared."""
    return bool(small(c)) and c.p.width < c.p.domains


def drawn_generalise(c):
    """Return which runs generalise on the drawn circulants in the limit and above it, (width, seed), and on the shifts."""
    *drawn, shifts = (shared.generalises(c[name].isel(init_scale=0)) for name in (*DRAWN, "shift"))
    return *drawn, shifts[0]


def generalises(c):
    low, above, shifts = drawn_generalise(c)
    never = ((low == 0) & (above == 0)).sum() + (shifts == 0).sum()
    note = f"{np.nansum(low):.0f} of {low.size} drawn circulants generalise at {LIMIT:g}, {np.nansum(shifts):.0f} shifts."
    known = np.isfinite(low).any() and np.isfinite(shifts).any()
    return Exact(float(never) if known else np.nan, note)


def generalises_connected(c):
    wide = np.array(c.values("width")) > 1
    drawn = c["drawn"].isel(init_scale=0)
    skip_if(not wide.any(), "a shift has as many components as domains")
    done = np.where(drawn["connected"].values == 1, shared.generalises(drawn), 1.0)[wide]
    both = np.concatenate([shared.generalises(c.simulation)[wide][:, 0], done])
    return np.where(np.isfinite(both).all(0), both.all(0), np.nan)


def stuck_rate(c):
    scales = small(c)
    skip_if(len(scales) < 2, "there are fewer than two small scales")
    runs = c.simulation.sel(init_scale=scales)
    stuck = np.where(np.isfinite(runs["final_loss"]), shared.generalises(runs) == 0, np.nan)
    exponent = c.theory.alignment_exponent.isel(init_scale=0).values
    rows = [shared.stuck_counts(np.log(scales), *row) for row in zip(stuck, exponent, strict=True)]
    counted, expected = np.array(rows).transpose(1, 0, 2)
    note = f"{counted.sum():.0f} are seen, {expected.sum():.1f} expected."
    return PerSeed(shared.ratio(counted.sum(0), expected.sum(0)), note)


def components_by_chance(c):
    low, _, shifts = drawn_generalise(c)
    law = c.theory.isel(init_scale=0)
    parts, agree = law["drawn_components"].values, law["drawn_agreement"].values == 1
    split, shifted = (parts > 1) & np.isfinite(low), np.isfinite(shifts)
    skip_if(not shifted.any(), "no shift has run")
    wrong = (low != agree)[split].sum()
    wrong += (shifts != (law["shift_agreement"].values[0] == 1))[shifted].sum()
    expected = (2.0 ** (1 - parts[split])).sum() + shifted.sum() * 2.0 ** (1 - c.p.domains)
    note = f"{low[split].sum() + shifts[shifted].sum():.0f} generalise, {expected:.1f} being expected of chance."
    return Exact(float(wrong), note)


def misalignment(c):
    at = {"init_scale": small(c)}
    measured = c.stage_misalignment.isel(stage=DEPARTURE).sel(at)
    predicted = c.fits.predicted_misalignment.sel(at)
    return np.exp(np.log(measured / predicted).where(predicted >= FITTED[0]).mean("init_scale"))


def signs_decide(c):
    at = {"init_scale": small(c)}
    converged = c.outcome.sel(at) == CONVERGED
    guess = (c.theory.predicted_agreement.sel(at) == 1).isel(stage=ESCAPE)
    note = f"{int((~guess & converged).sum())} runs generalise unforeseen."
    right = (guess == converged).astype(float).where(np.isfinite(c.final_loss.sel(at)))
    return PerSeed(right.mean("init_scale", skipna=False).values, note)


def exponents(c):
    """Return the slope of log misalignment at escape against log sigma, where the law is in range; nan where it is not."""
    skip_if(len(c.values("init_scale")) < 2, "there is one scale")
    sigma = c.axis("init_scale")
    law = sigma ** c.theory.alignment_exponent.isel(init_scale=0)
    logs = np.log(c.stage_misalignment.isel(stage=ESCAPE))
    return xr.apply_ufunc(
        lambda y: slopes(np.log(sigma.values), y.reshape(-1, sigma.size).T).reshape(y.shape[:-1]),
        logs.where((law >= FITTED[0]) & (law <= FITTED[1])),
        input_core_dims=[["init_scale"]],
    )


def alignment_exponent(c):
    over = exponents(c) / c.theory.alignment_exponent.isel(init_scale=0)
    reached = bool(np.isfinite(over).any())
    note = "" if reached else "Fewer than two init_scale are in range: the law is out of reach."
    return PerSeed(over.transpose("seed").values, note)


def gap_grows(c):
    slope = exponents(c).transpose("width", "seed").values
    slope = slope[np.isfinite(slope).any(1)]
    skip_if(len(slope) < 2, "there are fewer than two widths")
    return np.where(np.isfinite(slope).all(0), (np.diff(slope, axis=0) > 0).all(0), np.nan)


def narrowest(c):
    scales = [scale for scale in c.values("init_scale") if scale >= REACHED]
    skip_if(not scales or len(c.values("width")) < 2, "one width, or none of the note's scales")
    return shared.generalises(c.simulation.isel(width=0).sel(init_scale=scales[0]))


def narrowest_by_chance(c):
    width, scales = min(c.values("width")), small(c)
    skip_if(not scales or not 1 < width < c.p.domains, "no small scale, or no band of its width")
    expected = sum(opposing_signs(c.p.domains, width, scale) for scale in scales)
    skip_if(expected < 0.1, "hardly a run is stuck at the narrowest width")
    stuck = 1 - shared.generalises(c.simulation.sel(width=width, init_scale=scales))
    return PerSeed(stuck.sum(0) / expected, f"Of {len(scales)} scales {expected:.2f} are expected.")


ROW = {"source": shared.OURS, "along": GRID, "at_end": True}
_only_wide = claim(
    "only-wide",
    "Only wide circulant masks generalise.",
    narrowest,
    near=0,
    inside=(0, 0.05),
    why="'Only': one seed in twenty may generalise at the narrowest width.",
    statistic="fraction",
    note=f"Fraction of seeds that generalise at the narrowest width and the smallest init_scale from {REACHED:g} up, "
    "which is what the note could reach.",
    rank="headline",
    **ROW | {"source": NOTE},
)
CLAIMS = [
    replace(shared.invariants, along=GRID),
    replace(shared.recorded, along=GRID),
    *claim(
        "generalises",
        "Any circulant T but the identity generalises perfectly as sigma tends to 0.",
        generalises,
        near=0,
        inside=(0, 0),
        why="A count: one circulant that does not is enough.",
        note=f"Number of circulants, offsets drawn at random, that generalise neither at sigma = {ABOVE:g} nor at {LIMIT:g}, "
        "together with shifts.",
        of=(*DRAWN, "shift"),
        rank="headline",
        **ROW | {"source": NOTE},
    ).and_corrected(
        "Any connected circulant T, a band or not, generalises perfectly as sigma tends to 0.",
        quantity=generalises_connected,
        source=shared.OURS,
        near=1,
        inside=(0.95, 1),
        why="One seed in twenty may not be there yet; at what rate they get there is the next sentence's.",
        of=("", *DRAWN),
        statistic="fraction",
        note="Fraction of seeds that generalise on every band at the smallest init_scale and on every drawn circulant that "
        f"is connected at {LIMIT:g}.",
    ),
    claim(
        "stuck-rate",
        "The fraction of stuck runs falls as sigma^(1 - s_2/s_1), and so to zero.",
        stuck_rate,
        near=1,
        inside=(0.85, 1.18),
        why="Without a fall three quarters would be seen of what is expected, with the exponent of the third mode twice "
        "as many: half way to the nearer of them, in logarithm.",
        note="Runs still stuck at each smaller sigma over (sigma ratio)^(1 - s_2/s_1) of those stuck at the next larger one, "
        f"all init_scale <= {SMALL:g} and widths.",
        rank="headline",
        **ROW,
    ),
    claim(
        "components-by-chance",
        "A circulant mask of c components generalises if by chance all components take one sign: once in 2^(c - 1).",
        components_by_chance,
        at_most=0,
        why="A count: in the limit the signs of the linearised flow are those of the network.",
        note=f"Number of drawn circulants in components and of shifts at {LIMIT:g} that generalise where signs differ in the "
        "linearised flow, or do not where they agree.",
        of=(*DRAWN, "shift"),
        **ROW,
    ),
    claim(
        "misalignment",
        "The linearised flow predicts the misalignment of every run when it departs from zero.",
        misalignment,
        source=shared.OURS,
        near=1,
        inside=around(1, STAGES[DEPARTURE]),
        why="s u v^T, which the linearised flow leaves out beside T, is half of the share of the loss that is gone, for u"
        " and for v.",
        along="init_scale",
        where=is_partial,
        note=f"Measured over predicted at equal S when 1% of the loss is gone, geometric mean over init_scale <= {SMALL:g}, "
        f"where {FITTED[0]:g} or more is predicted.",
    ),
    claim(
        "signs-decide",
        "A run generalises if the signs of the linearised flow agree where its loss would have halved, and is stuck "
        "otherwise.",
        signs_decide,
        within=(0, 1),
        near=1,
        inside=(0.9, 1),
        why="The linearised flow is used beyond its range, and signs may still change after escape: nine in ten is asked.",
        note=f"Fraction of init_scale <= {SMALL:g} told right before training.",
        where=is_partial,
        **{**ROW, "along": "init_scale"},
    ),
    claim(
        "alignment-exponent",
        "The misalignment at escape falls as sigma^(1 - s_2/s_1).",
        alignment_exponent,
        source=shared.OURS,
        near=1,
        inside=(0.95, 1.05),
        why="The exponents of neighbouring widths differ by more than a tenth of themselves: half of that.",
        along="init_scale",
        where=lambda c: c.p.width < c.p.domains,
        statistic="median",
        note="Slope of log misalignment, when half of the loss is gone, against log sigma, over 1 - s_2/s_1, where sigma to "
        f"this power lies between {FITTED[0]:g} and {FITTED[1]:g}.",
        rank="headline",
    ),
    claim(
        "gap-grows",
        "The gap between the largest singular value and the rest grows with the width of the circulant mask.",
        gap_grows,
        source=NOTE,
        along=GRID,
        near=1,
        inside=(0.9, 1),
        why="Exponents of one seed scatter by a few percent, where those of neighbouring widths differ by a tenth and "
        "more: one seed in ten may have two exchanged.",
        statistic="fraction",
        note="Fraction of seeds whose misalignment falls with a larger power of sigma, 1 - s_2/s_1, at every larger width.",
    ),
    replace(
        _only_wide,
        id="not-always",
        statement="No initial scale is small enough for a circulant mask to always generalise.",
        near=np.nan,
        inside=(0, 0.95),
        why="'Not always': less than nineteen times in twenty.",
        rank="detail",
    ),
    *_only_wide.and_corrected(
        "A narrow circulant mask generalises, too, but for the share of starts whose leading mode is smaller than "
        "sigma^(1 - s_2/s_1) times the second.",
        quantity=narrowest_by_chance,
        source=shared.OURS,
        near=1,
        inside=(0.5, 1.3),
        why="Half way, in logarithm, to what the exponent of the third mode says at w = 2 of ten, a quarter, and to no fall "
        "at all, 1.75. Less than one is expected: some opposing signs turn after escape.",
        statistic="mean",
        note="Runs that are stuck at the narrowest width over the number in which chance opposes the signs, all init_scale "
        f"<= {SMALL:g}.",
    ),
]
