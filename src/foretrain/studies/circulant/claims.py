"""What the note says of circulant masks, and whether it is so."""

import numpy as np

from foretrain.claims.sentence import Exact, PerSeed, sentence
from foretrain.studies.circulant.study import LIMIT
from foretrain.training import masked_rank_one_claims as common
from foretrain.training.masked_rank_one import DEPARTURE, ESCAPE
from foretrain.training.masked_rank_one_claims import OURS, slopes
from foretrain.vocabulary import CONVERGED

NOTE = "Note on shared representations, section 3"
ALONG, GRID = ("init_scale",), ("width", "init_scale")
# What the note could reach.
REACHED = 1e-8
# Where weights are small enough for the linearised flow.
SMALL = 1e-2
# A law for small misalignment is fitted where it says less than a tenth, and more than rounding, 1e-16, can blur.
FITTED = (1e-10, 0.1)


def generalised(data) -> np.ndarray:
    """Whether each run reached zero loss and is right on every untrained pair, 1 or 0; nan where it has not run."""
    done = (data["outcome"] == CONVERGED) & (data["final_untrained_error"] < 1e-6)
    return done.where(np.isfinite(data["final_loss"])).values


def small_scales(cell) -> list:
    """The initial scales at which the linearised flow is asked."""
    return [scale for scale in cell.values("init_scale") if scale <= SMALL]


IN_THE_LIMIT = {
    "predicted": 1,
    "allowed": (0.95, 1),
    "why": "A limit looked at from a finite sigma: one seed in twenty may not be there yet.",
    "over": ALONG,
    "statistic": "fraction",
    "at_end": True,
}
REACHABLE = {
    "source": NOTE,
    "over": GRID,
    "statistic": "fraction",
    "at_end": True,
    "note": f"Fraction of seeds that generalise at the narrowest width and the smallest init_scale from {REACHED:g} up, which "
    "is what the note could reach.",
}


@sentence(
    "Any circulant T but the identity generalises perfectly as sigma tends to 0.",
    source=NOTE,
    of="drawn",
    **IN_THE_LIMIT,
)
def generalises(cell):
    if cell.parameters.width == 1 or "drawn" not in cell.variants:
        return None
    runs = cell.variants["drawn"].isel(init_scale=0)
    done, connected = generalised(runs), runs["connected"].values == 1
    note = f"Fraction of circulants whose offsets are drawn at random, at sigma = {LIMIT:g}: of those that are connected "
    note += f"{_mean(done[connected]):.2f}"
    if not connected.all():
        note += f", of the {(~connected).sum()} others {_mean(done[~connected]):.2f}"
    return PerSeed(done, note)


@sentence(
    "Any connected circulant T, a band or not, generalises perfectly as sigma tends to 0.",
    source=OURS,
    corrects="generalises",
    of=("", "drawn"),
    **IN_THE_LIMIT,
)
def generalises_corrected(cell):
    if cell.parameters.width == 1 or "drawn" not in cell.variants:
        return None
    band, drawn = generalised(cell.simulation), cell.variants["drawn"].isel(init_scale=0)
    other = np.where(drawn["connected"].values == 1, generalised(drawn), 1.0)
    shares = ", ".join(
        f"{scale:g}: {_mean(done):.2f}"
        for scale, done in zip(cell.values("init_scale"), band, strict=True)
    )
    note = (
        f"Fraction of seeds, bands at the smallest init_scale and the drawn circulants that are connected at {LIMIT:g}; bands "
        f"alone by init_scale: {shares}."
    )
    return PerSeed(band[0] * other, note)


@sentence(
    "A circulant that falls into c components generalises if, by chance, all take the same sign: once in 2^(c - 1).",
    source=OURS,
    predicted=0,
    allowed=(0, 0),
    why="A count: in the limit the signs of the linearised flow are those of the network.",
    over=GRID,
    of="drawn",
    at_end=True,
)
def components_by_chance(cell):
    if "drawn" not in cell.variants:
        return None
    runs = cell.variants["drawn"].isel(init_scale=0)
    done = generalised(runs)
    law = cell.theory[["drawn_agreement", "drawn_components"]].isel(init_scale=0)
    split = (law["drawn_components"].values > 1) & np.isfinite(done)
    if not split.any():
        return None
    chance = 2.0 ** (1 - law["drawn_components"].values[split])
    note = (
        f"Number of runs, of {split.sum()} in components, that generalise where signs differ in the linearised flow, or do "
        f"not where they agree; {int(done[split].sum())} generalise, {chance.sum():.1f} being expected of chance."
    )
    wrong = done[split] != (law["drawn_agreement"].values[split] == 1)
    return Exact(float(wrong.sum()), note)


@sentence(
    "The linearised flow tells the misalignment of every run when it departs from zero.",
    source=OURS,
    predicted=1,
    allowed=(0.9, 1.1),
    why="The run is seen at the end of a step, in which s u v^T grows by a quarter at most, and the misalignment falls with a "
    "power of it that is below 1/3.",
    over=ALONG,
    note=f"Measured over predicted when 1% of the loss is gone, geometric mean over init_scale <= {SMALL:g}, where "
    f"{FITTED[0]:g} or more is predicted.",
)
def misalignment(cell):
    scales = small_scales(cell)
    if not scales or cell.parameters.width == cell.parameters.domains:
        return None
    measured, predicted = (
        data[name].isel(stage=DEPARTURE).sel(init_scale=scales).values
        for data, name in (
            (cell.simulation, "stage_misalignment"),
            (cell.theory, "predicted_misalignment"),
        )
    )
    ratio = np.log(np.where(predicted >= FITTED[0], measured / predicted, 1.0))
    count = np.maximum((predicted >= FITTED[0]).sum(0), 1)
    return np.exp(ratio.sum(0) / count)


@sentence(
    "A run generalises if the signs of the linearised flow agree where its loss would have halved, and else is stuck.",
    source=OURS,
    predicted=1,
    allowed=(0.9, 1),
    why="The linearised flow is used beyond its range, and signs may still change after escape: nine in ten is asked.",
    over=ALONG,
    at_end=True,
)
def signs_decide(cell):
    scales = small_scales(cell)
    if not scales or cell.parameters.width == cell.parameters.domains:
        return None
    runs = cell.simulation.sel(init_scale=scales)
    converged = runs["outcome"].values == CONVERGED
    told = cell.theory["predicted_agreement"].sel(init_scale=scales)
    sure, guess = (told.isel(stage=stage).values == 1 for stage in (DEPARTURE, ESCAPE))
    note = (
        f"Fraction of init_scale <= {SMALL:g} told right before training. Of {sure.sum()} runs whose signs agree in the "
        f"linearised flow when 1% of the loss is gone, {(sure & ~converged).sum()} are stuck; "
        f"{(~guess & converged).sum()} runs generalise unforeseen."
    )
    known = np.isfinite(runs["final_loss"].values)
    return PerSeed(common.share(guess == converged, known).mean(0), note)


def fitted_exponents(cell) -> np.ndarray:
    """Slope of log misalignment at escape against log sigma over predicted exponent, shape (..., seed); nan out of range."""
    scales = np.array(cell.values("init_scale"))
    left = cell.simulation["stage_misalignment"].isel(stage=ESCAPE)
    exponent = cell.theory["alignment_exponent"]
    law = scales[:, None] ** exponent.isel(init_scale=0).values[..., None, :]
    curves = np.where((law >= FITTED[0]) & (law <= FITTED[1]), np.log(left.values), np.nan)
    rows = curves.reshape(-1, *curves.shape[-2:])
    return np.array([slopes(np.log(scales), row) for row in rows]).reshape(*law.shape[:-2], -1)


@sentence(
    "The misalignment at escape falls as sigma^(1 - s_2/s_1).",
    source=OURS,
    predicted=1,
    allowed=(0.95, 1.05),
    why="The exponents of neighbouring widths differ by more than a tenth of themselves: half of that.",
    over=ALONG,
    statistic="median",
)
def alignment_exponent(cell):
    if len(cell.values("init_scale")) < 2 or cell.parameters.width == cell.parameters.domains:
        return None
    exponent = cell.theory["alignment_exponent"].isel(init_scale=0).values
    found = fitted_exponents(cell) / exponent
    note = (
        "Slope of log misalignment, when half of the loss is gone, against log sigma, over 1 - s_2/s_1 = "
        f"{exponent.mean():.4g}, where sigma to this power lies between {FITTED[0]:g} and {FITTED[1]:g}"
    )
    if not np.isfinite(found).any():
        return PerSeed(found, f"{note}: fewer than two init_scale do, the law is out of reach.")
    return PerSeed(found, f"{note}.")


@sentence(
    "As the circulant width increases, the gap between the largest singular value and the rest grows.",
    source=NOTE,
    predicted=1,
    allowed=(0.9, 1),
    why="Exponents of one seed scatter by a few percent, where those of neighbouring widths differ by a tenth and more: one "
    "seed in ten may have two exchanged.",
    over=GRID,
    statistic="fraction",
    note="Fraction of seeds whose misalignment falls with a larger power of sigma, 1 - s_2/s_1, at every larger width.",
)
def gap_grows(cell):
    if len(cell.values("width")) < 2 or len(cell.values("init_scale")) < 2:
        return None
    found = fitted_exponents(cell)
    found = found[np.isfinite(found).any(1)]
    if len(found) < 2:
        return None
    return common.share((np.diff(found, axis=0) > 0).all(0), np.isfinite(found).all(0))


@sentence(
    "The initialization scale cannot be made small enough to get it to always work.",
    allowed=(0, 0.95),
    why="'Not always': less than nineteen times in twenty.",
    **REACHABLE,
)
def not_always(cell):
    scales = [scale for scale in cell.values("init_scale") if scale >= REACHED]
    if not scales or len(cell.values("width")) < 2:
        return None
    return generalised(cell.simulation.isel(width=0).sel(init_scale=scales[0]))


@sentence(
    "Generalisation is only seen for wider circulant masks.",
    predicted=0,
    allowed=(0, 0.05),
    why="'Only': one seed in twenty may generalise at the narrowest width.",
    **REACHABLE,
)
def only_wide(cell):
    return not_always.measure(cell)


def told_difference(cell) -> float:
    """By how much more often, in the linearised flow, signs agree at the widest than at the narrowest band."""
    told = cell.theory["predicted_agreement"].isel(stage=ESCAPE, width=[0, -1])
    share = told.sel(init_scale=small_scales(cell)).mean(("init_scale", "seed")).values
    return float(share[1] - share[0])


@sentence(
    "Wider circulant masks generalise more often at the same sigma, as much as the linearised flow tells.",
    source=OURS,
    corrects="only-wide",
    predicted=told_difference,
    allowed=lambda cell: (told_difference(cell) - 0.1, told_difference(cell) + 0.1),
    why="One outcome in ten may be told wrong, as in signs-decide.",
    over=GRID,
    at_end=True,
    note=f"Share of init_scale <= {SMALL:g} that generalise, widest minus narrowest.",
)
def only_wide_corrected(cell):
    scales = small_scales(cell)
    if not scales or len(cell.values("width")) < 2:
        return None
    done = generalised(cell.simulation.isel(width=[0, -1]).sel(init_scale=scales)).mean(1)
    return done[1] - done[0]


@sentence(
    "Runs aligned with the leading singular vectors at escape generalise perfectly.",
    source=NOTE,
    predicted=0,
    allowed=(0, 0),
    why="A count.",
    over=GRID,
    at_end=True,
)
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


invariants, zero_loss_generalises, stuck_training, agreeing_signs = common.along(*GRID)
