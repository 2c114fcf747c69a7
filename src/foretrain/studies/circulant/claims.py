"""What the note says of circulant masks, and whether it is so."""

from dataclasses import replace

import numpy as np

from foretrain.quantities.allowed import around
from foretrain.quantities.slopes import slopes
from foretrain.studies.circulant.study import ABOVE, LIMIT
from foretrain.study import CONVERGED, Exact, PerSeed, claim
from foretrain.training import masked_rank_one_claims as common
from foretrain.training.masked_rank_one import DEPARTURE, ESCAPE, STAGES
from foretrain.training.masked_rank_one_claims import OURS, generalised

NOTE = "Note on shared representations, section 3"
ALONG, GRID = ("init_scale",), ("width", "init_scale")
# What the note could reach.
REACHED = 1e-8
# Where weights are small enough for the linearised flow.
SMALL = 1e-2
# A law for small misalignment is fitted where it says less than a tenth, and more than rounding, 1e-16, can blur.
FITTED = (1e-10, 0.1)


def small_scales(cell) -> list:
    """The initial scales at which the linearised flow is asked."""
    return [scale for scale in cell.values("init_scale") if scale <= SMALL]


def drawn_runs(cell, name: str = "drawn"):
    """Runs on drawn circulants, of dims (width, seed); None where the study's own runs are on these."""
    return cell.variants[name].isel(init_scale=0) if name in cell.variants else None


def is_told(cell) -> bool:
    """Whether the linearised flow is asked: at some scale, of a mask that is not full."""
    return bool(small_scales(cell)) and cell.parameters.width < cell.parameters.domains


DRAWN, SHIFTED = ("drawn", "drawn_above"), ("drawn", "drawn_above", "shift")


def counted(done, components) -> str:
    """How many runs generalise by their mask's number of components, in words."""
    counts = []
    for number in np.unique(components):
        mine = done[(components == number) & np.isfinite(done)]
        counts.append(f"{number}: {int(mine.sum())} of {mine.size}")
    return "by number of components " + ", ".join(counts)


def generalises(cell):
    if drawn_runs(cell) is None:
        return None
    low, above = (generalised(drawn_runs(cell, name)) for name in DRAWN)
    shifts = generalised(drawn_runs(cell, "shift"))[0]
    components = cell.theory["drawn_components"].isel(init_scale=0).values
    never = (low == 0) & (above == 0)
    known = np.isfinite(low).any() and np.isfinite(shifts).any()
    note = (
        f"Number of circulants, offsets drawn at random, that generalise neither at sigma = {ABOVE:g} nor at {LIMIT:g}, "
        f"together with shifts. At {LIMIT:g} {counted(low, components)}; {int((shifts == 1).sum())} of "
        f"{shifts.size} shifts."
    )
    return Exact(float(never.sum() + (shifts == 0).sum()) if known else np.nan, note)


def generalises_corrected(cell):
    wide = np.array(cell.values("width")) > 1
    drawn_at_limit = drawn_runs(cell)
    if drawn_at_limit is None or not wide.any():
        return None
    connected = drawn_at_limit["connected"].values == 1
    shares = {}
    drawn = [np.where(connected, generalised(drawn_runs(cell, name)), 1.0) for name in DRAWN]
    for scale, done in zip((LIMIT, ABOVE), drawn, strict=True):
        shares[scale] = _mean(done[connected & np.isfinite(done)])
    bands = generalised(cell.simulation)[wide]
    both = np.concatenate([bands[:, 0], drawn[0][wide]])
    by_scale = ", ".join(
        f"{scale:g}: {_mean(bands[:, place]):.3f}"
        for place, scale in enumerate(cell.values("init_scale"))
    )
    note = (
        "Fraction of seeds that generalise on every band at the smallest init_scale and on every drawn circulant that is "
        f"connected at {LIMIT:g}. Of the latter alone {shares[ABOVE]:.3f} at {ABOVE:g} and {shares[LIMIT]:.3f} at {LIMIT:g}; "
        f"of bands, by init_scale, {by_scale}."
    )
    return PerSeed(np.where(np.isfinite(both).all(0), both.all(0), np.nan), note)


def stuck_rate(cell):
    scales = small_scales(cell)
    if len(scales) < 2:
        return None
    runs = cell.simulation.sel(init_scale=scales)
    stuck = np.where(np.isfinite(runs["final_loss"]), generalised(runs) == 0, np.nan)
    exponent = cell.theory["alignment_exponent"].isel(init_scale=0).values
    rows = [
        common.remaining(np.log(scales), one, each)
        for one, each in zip(stuck, exponent, strict=True)
    ]
    seen, expected = np.array(rows).transpose(1, 0, 2)
    by_width = ", ".join(
        f"{width}: {one.sum():.0f} for {each.sum():.1f}"
        for width, one, each in zip(cell.values("width"), seen, expected, strict=True)
    )
    note = (
        "Runs still stuck at each smaller sigma over (sigma ratio)^(1 - s_2/s_1) of those stuck at the next larger one, all "
        f"init_scale <= {SMALL:g} and widths; by width {by_width}."
    )
    return PerSeed(common.ratio(seen.sum(0), expected.sum(0)), note)


def components_by_chance(cell):
    if drawn_runs(cell) is None:
        return None
    law = cell.theory.isel(init_scale=0)
    low, above = (generalised(drawn_runs(cell, name)) for name in DRAWN)
    parts, agree = law["drawn_components"].values, law["drawn_agreement"].values == 1
    shifts = generalised(drawn_runs(cell, "shift"))[0]
    told = law["shift_agreement"].values[0] == 1
    split, shifted = (parts > 1) & np.isfinite(low), np.isfinite(shifts)
    if not shifted.any():
        return None
    wrong = (low != agree)[split].sum() + (shifts != told)[shifted].sum()
    expected = (2.0 ** (1 - parts[split])).sum() + shifted.sum() * 2.0 ** (
        1 - cell.parameters.domains
    )
    note = (
        f"Number of runs, of {split.sum()} drawn circulants in components and {shifted.sum()} shifts at {LIMIT:g}, that "
        "generalise where signs differ in the linearised flow, or do not where they agree; "
        f"{int(low[split].sum() + shifts[shifted].sum())} generalise, {expected:.1f} being expected of chance. At {ABOVE:g} "
        f"{(above != agree)[split & np.isfinite(above)].sum()} of the former are told wrong."
    )
    return Exact(float(wrong), note)


def misalignment(cell):
    if not is_told(cell):
        return None
    at = {"init_scale": small_scales(cell)}
    measured = cell.simulation["stage_misalignment"].isel(stage=DEPARTURE).sel(at).values
    predicted = cell.fits["predicted_misalignment"].sel(at).values
    return geometric_mean(measured, predicted, predicted >= FITTED[0])


def geometric_mean(measured, predicted, told) -> np.ndarray:
    """Of measured over predicted along the first dim, where it is told."""
    ratio = np.log(np.where(told, measured, 1.0) / np.where(told, predicted, 1.0))
    return np.exp(ratio.sum(0) / np.maximum(told.sum(0), 1))


def shared_scale(cell):
    if not small_scales(cell):
        return None
    at = {"init_scale": small_scales(cell)}
    measured = cell.simulation["stage_scale"].isel(stage=DEPARTURE).sel(at).values
    predicted = cell.fits["predicted_scale"].sel(at).values
    return geometric_mean(np.abs(measured), np.abs(predicted), np.isfinite(predicted))


def signs_decide(cell):
    if not is_told(cell):
        return None
    runs, theory = (
        data.sel(init_scale=small_scales(cell)) for data in (cell.simulation, cell.theory)
    )
    converged, told = runs["outcome"].values == CONVERGED, theory["predicted_agreement"]
    sure, guess = (told.isel(stage=stage).values == 1 for stage in (DEPARTURE, ESCAPE))
    note = (
        f"Fraction of init_scale <= {SMALL:g} told right before training. Of {sure.sum()} runs whose signs agree in the "
        f"linearised flow when 1% of the loss is gone, {(sure & ~converged).sum()} are stuck; "
        f"{(~guess & converged).sum()} runs generalise unforeseen."
    )
    known = np.isfinite(runs["final_loss"].values)
    return PerSeed(np.where(known, guess == converged, np.nan).mean(0), note)


def fitted_exponents(cell) -> np.ndarray:
    """Slope of log misalignment at escape against log sigma over predicted exponent, shape (..., seed); nan out of range."""
    scales = np.array(cell.values("init_scale"))
    left = cell.simulation["stage_misalignment"].isel(stage=ESCAPE)
    exponent = cell.theory["alignment_exponent"]
    law = scales[:, None] ** exponent.isel(init_scale=0).values[..., None, :]
    curves = np.where((law >= FITTED[0]) & (law <= FITTED[1]), np.log(left.values), np.nan)
    rows = curves.reshape(-1, *curves.shape[-2:])
    return np.array([slopes(np.log(scales), row) for row in rows]).reshape(*law.shape[:-2], -1)


def alignment_exponent(cell):
    if len(cell.values("init_scale")) < 2 or cell.parameters.width == cell.parameters.domains:
        return None
    exponent = cell.theory["alignment_exponent"].isel(init_scale=0).values
    found = fitted_exponents(cell) / exponent
    note = (
        "Slope of log misalignment, when half of the loss is gone, against log sigma, over 1 - s_2/s_1 = "
        f"{exponent.mean():.4g}, where sigma to this power lies between {FITTED[0]:g} and {FITTED[1]:g}"
    )
    reached = np.isfinite(found).any()
    end = "." if reached else ": fewer than two init_scale do, the law is out of reach."
    return PerSeed(found, note + end)


def gap_grows(cell):
    if len(cell.values("width")) < 2 or len(cell.values("init_scale")) < 2:
        return None
    found = fitted_exponents(cell)
    found = found[np.isfinite(found).any(1)]
    if len(found) < 2:
        return None
    return np.where(np.isfinite(found).all(0), (np.diff(found, axis=0) > 0).all(0), np.nan)


def not_always(cell):
    scales = [scale for scale in cell.values("init_scale") if scale >= REACHED]
    if not scales or len(cell.values("width")) < 2:
        return None
    return generalised(cell.simulation.isel(width=0).sel(init_scale=scales[0]))


def told_difference(cell) -> float:
    """By how much more often, in the linearised flow, signs agree at the widest than at the narrowest band."""
    told = cell.theory["predicted_agreement"].isel(stage=ESCAPE, width=[0, -1])
    share = told.sel(init_scale=small_scales(cell)).mean(("init_scale", "seed")).values
    return float(share[1] - share[0])


def only_wide_corrected(cell):
    scales = small_scales(cell)
    if not scales or len(cell.values("width")) < 2:
        return None
    done = generalised(cell.simulation.isel(width=[0, -1]).sel(init_scale=scales)).mean(1)
    return done[1] - done[0]


def aligned_generalises(cell):
    runs = cell.simulation
    # |u_i| > 0 for all i if the part across the constant vector is shorter than the constant entries.
    bound = 1 / np.sqrt(cell.parameters.domains + 1)
    aligned = runs["stage_misalignment"].isel(stage=ESCAPE).values < bound
    stuck = generalised(runs) == 0
    note = (
        f"Number of runs that do not among the {aligned.sum()} whose misalignment is below 1/sqrt(n + 1) = {bound:.2g} when "
        f"half of the loss is gone, so that all signs agree; of the others {(~aligned & stuck).sum()} of {(~aligned).sum()} "
        "are stuck."
    )
    return Exact(float((aligned & stuck).sum()) if aligned.any() else np.nan, note)


def _mean(values) -> float:
    return float(np.mean(values)) if values.size else np.nan


COMMON = common.along(*GRID)


_not_always = claim(
    "not-always",
    "No initial scale is small enough for a circulant mask to always generalise.",
    not_always,
    source=NOTE,
    along=GRID,
    inside=(0, 0.95),
    why="'Not always': less than nineteen times in twenty.",
    statistic="fraction",
    at_end=True,
    note=f"Fraction of seeds that generalise at the narrowest width and the smallest init_scale from {REACHED:g} up, which "
    "is what the note could reach.",
)


CLAIMS = [
    *COMMON,
    claim(
        "generalises",
        "Any circulant T but the identity generalises perfectly as sigma tends to 0.",
        generalises,
        source=NOTE,
        along=GRID,
        near=0,
        inside=(0, 0),
        why="A count: one circulant that does not is enough.",
        of=SHIFTED,
        at_end=True,
        rank="headline",
    ),
    claim(
        "generalises.corrected",
        "Any connected circulant T, a band or not, generalises perfectly as sigma tends to 0.",
        generalises_corrected,
        source=OURS,
        along=GRID,
        corrects="generalises",
        near=1,
        inside=(0.95, 1),
        why="One seed in twenty may not be there yet; at what rate they get there is the next sentence's.",
        of=("", *DRAWN),
        statistic="fraction",
        at_end=True,
        rank="headline",
    ),
    claim(
        "stuck-rate",
        "The fraction of stuck runs falls as sigma^(1 - s_2/s_1), and so to zero.",
        stuck_rate,
        source=OURS,
        along=GRID,
        near=1,
        inside=(0.85, 1.18),
        why="Without a fall three quarters would be seen of what is expected, with the exponent of the third mode twice "
        "as many: half way to the nearer of them, in logarithm.",
        at_end=True,
        rank="headline",
    ),
    claim(
        "components-by-chance",
        "A circulant mask of c components generalises if by chance all components take one sign: once in 2^(c - 1).",
        components_by_chance,
        source=OURS,
        along=GRID,
        near=0,
        inside=(0, 0),
        why="A count: in the limit the signs of the linearised flow are those of the network.",
        of=SHIFTED,
        at_end=True,
    ),
    claim(
        "misalignment",
        "The linearised flow predicts the misalignment of every run when it departs from zero.",
        misalignment,
        source=OURS,
        near=1,
        inside=around(1, STAGES[DEPARTURE]),
        why="s u v^T, which the linearised flow leaves out beside T, is half of the share of the loss that is gone, for u"
        " and for v.",
        along=ALONG,
        note=f"Measured over predicted at equal S when 1% of the loss is gone, geometric mean over init_scale <= {SMALL:g}, "
        f"where {FITTED[0]:g} or more is predicted.",
    ),
    claim(
        "shared-scale",
        "At equal S the shared scale s follows from the conserved quantity in the linearised flow.",
        shared_scale,
        source=OURS,
        near=1,
        inside=around(1, STAGES[DEPARTURE]),
        why="What the linearised flow leaves out of ds/dt is half of the share of the loss that is gone, as for u and v.",
        along=ALONG,
        note=f"Measured over predicted when 1% of the loss is gone, geometric mean over init_scale <= {SMALL:g}.",
        rank="control",
    ),
    claim(
        "signs-decide",
        "A run generalises if the signs of the linearised flow agree where its loss would have halved, and is stuck "
        "otherwise.",
        signs_decide,
        source=OURS,
        near=1,
        inside=(0.9, 1),
        why="The linearised flow is used beyond its range, and signs may still change after escape: nine in ten is asked.",
        along=ALONG,
        at_end=True,
    ),
    claim(
        "alignment-exponent",
        "The misalignment at escape falls as sigma^(1 - s_2/s_1).",
        alignment_exponent,
        source=OURS,
        near=1,
        inside=(0.95, 1.05),
        why="The exponents of neighbouring widths differ by more than a tenth of themselves: half of that.",
        along=ALONG,
        statistic="median",
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
    _not_always,
    replace(
        _not_always,
        id="only-wide",
        statement="Only wide circulant masks generalise.",
        near=0,
        inside=(0, 0.05),
        why="'Only': one seed in twenty may generalise at the narrowest width.",
        rank="headline",
    ),
    claim(
        "only-wide.corrected",
        "Wider circulant masks generalise more often at the same sigma, by as much as the linearised flow predicts.",
        only_wide_corrected,
        source=OURS,
        along=GRID,
        corrects="only-wide",
        near=told_difference,
        inside=lambda cell: (told_difference(cell) - 0.1, told_difference(cell) + 0.1),
        why="One outcome in ten may be told wrong, as in signs-decide.",
        at_end=True,
        note=f"Share of init_scale <= {SMALL:g} that generalise, widest minus narrowest.",
        rank="headline",
    ),
    claim(
        "aligned-generalises",
        "Runs aligned with the leading singular vectors at escape generalise perfectly.",
        aligned_generalises,
        source=NOTE,
        along=GRID,
        near=0,
        inside=(0, 0),
        why="A count.",
        at_end=True,
    ),
]
