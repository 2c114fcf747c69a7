"""What is said of sparse, rectangular masks, most of which fall into components: the connectivity law of this model."""

from typing import Any, NamedTuple

import numpy as np

from foretrain.quantities.slopes import slopes
from foretrain.study import CONVERGED, Exact, PerSeed, claim
from foretrain.training.masked_rank_one_claims import OURS

from .study import LIMIT

BOTH = ("sparse", "limit")
# Where pairs across components are near their limit, and what is left of the loss does not blur how near.
NEAR = (1e-2, 0.1)
RIGHT = 0.05  # a pair is right if s u_i v_j is within this of 1


class Pairs(NamedTuple):
    """One run that converged: what was told of its pairs, a `foretrain.studies.masked_rank_one.theory.Told`, and s u v^T."""

    place: int
    seed: int
    told: Any
    product: np.ndarray


def converged(cell, network: str) -> list[Pairs] | None:
    """All runs of a network that converged, by place along the initial scales; None where there is no such network."""
    from .theory import told_pairs

    if network not in cell.variants:
        return None
    runs = cell.variants[network]
    scales = (LIMIT,) if network == "limit" else cell.values("init_scale")
    left, right, scale = (runs[f"final_{name}"].values for name in ("left", "right", "scale"))
    found = []
    for place, sigma in enumerate(scales):
        for seed in np.flatnonzero(runs["outcome"].values[place] == CONVERGED):
            at = place, seed
            told = told_pairs(cell.parameters.domains, float(sigma), cell.seed(int(seed)))
            found.append(Pairs(place, int(seed), told, scale[at] * np.outer(left[at], right[at])))
    return found


def across(told) -> np.ndarray:
    """Pairs of two components, each domain trained with some other."""
    return ~told.within & ~told.idle


def settled(cell, network: str) -> np.ndarray:
    """Whether each run converged, 1 or 0, nan where it has not run; shape (init_scale, seed)."""
    runs = cell.variants[network]
    done = (runs["outcome"] == CONVERGED).where(np.isfinite(runs["final_loss"])).values
    return done[:1] if network == "limit" else done


def ends(cell):
    found = [run for network in BOTH for run in converged(cell, network) or ()]
    if "sparse" not in cell.variants:
        return None
    p, worst, pairs = cell.parameters, -np.inf, 0
    for _, _, told, product in found:
        allowed = (sum(product.shape) - 1) * np.sqrt(2 * p.loss_tolerance)
        allowed += 2 * p.solver_tolerance * p.steps
        gap = np.abs(np.abs(product) - told.size)
        gap[told.within] = np.abs(product - 1)[told.within]
        worst = max(worst, float((gap / np.maximum(told.size, 1)).max() / allowed))
        pairs += int((~told.trained).sum())
    note = (
        f"Largest | |s u_i v_j| - told | of {pairs} untrained pairs of {len(found)} runs, in units of what the tolerances "
        "allow; within components signs are told as well."
    )
    return Exact(worst if found else np.nan, note)


def across_components(cell):
    scales = np.array(cell.values("init_scale"))
    near = (scales >= NEAR[0]) & (scales <= NEAR[1])
    found = converged(cell, "sparse")
    if found is None or near.sum() < 2:
        return None
    gaps = np.full((scales.size, cell.variants["sparse"].sizes["seed"]), np.nan)
    for place, seed, told, product in found:
        if (apart := across(told)).any():
            gaps[place, seed] = np.abs(np.abs(product) / np.where(apart, told.limit, 1) - 1)[
                apart
            ].max()
    with np.errstate(divide="ignore"):
        logs = np.log(gaps[near])
    return slopes(np.log(scales[near]), np.where(np.isfinite(logs).all(0), logs, np.nan))


def sign_by_chance(cell):
    found = converged(cell, "limit")
    if found is None:
        return None
    wrong, agree, runs = 0, [], 0
    for _, _, told, product in found:
        apart = across(told)
        if not apart.any():
            continue
        runs += 1
        wrong += bool((np.sign(product) != told.sign)[apart].any())
        agree.append((product > 0)[apart].mean())
    above: dict[float, list[bool]] = {}
    for place, _, told, product in converged(cell, "sparse") or ():
        if (apart := across(told)).any():
            right = bool((np.sign(product) == told.sign)[apart].all())
            above.setdefault(cell.values("init_scale")[place], []).append(right)
    shares = ", ".join(f"{scale:g}: {np.mean(right):.3g}" for scale, right in above.items())
    note = (
        f"Number of runs with a pair that has another sign, of {runs} with several components, at sigma = {LIMIT:g}, where "
        f"{np.mean(agree) if agree else np.nan:.2f} of these pairs agree. Share of runs told right by init_scale: {shares}."
    )
    return Exact(float(wrong) if runs else np.nan, note)


def any_mask_trains(cell):
    if "limit" not in cell.variants:
        return None
    shares = ", ".join(
        f"{scale:g}: {row[np.isfinite(row)].mean() if np.isfinite(row).any() else np.nan:.3g}"
        for scale, row in zip(cell.values("init_scale"), settled(cell, "sparse"), strict=True)
    )
    return PerSeed(
        settled(cell, "limit")[0],
        f"Fraction of seeds at sigma = {LIMIT:g}; by init_scale {shares}.",
    )


def connectivity_law(cell):
    found = converged(cell, "limit")
    if found is None:
        return None
    hits, occurring = np.full((2, cell.variants["limit"].sizes["seed"]), np.nan)
    within = apart = 0
    for _, seed, told, product in found:
        open_pairs = ~told.trained
        if not open_pairs.any():
            continue
        right = np.abs(product - 1) < RIGHT
        by_chance = across(told) & (np.abs(told.limit - 1) < RIGHT) & (told.sign > 0)
        hits[seed] = (right == told.within | by_chance)[open_pairs].mean()
        occurring[seed] = (right == ~told.idle)[open_pairs].mean()
        within += int((told.within & open_pairs).sum())
        apart += int(across(told).sum())
    note = (
        f"Share of untrained pairs told right or wrong correctly, sigma = {LIMIT:g}, {within} within components and {apart} "
        f"across; 'right if both domains occur in training' tells {_mean(occurring):.3f} of them."
    )
    return PerSeed(hits, note)


def _mean(values) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else np.nan


CLAIMS = [
    claim(
        "ends",
        "On any mask zero training loss leaves only the sign of each component open: all pairs within a component are"
        " right, the rest follows from what the flow conserves.",
        ends,
        source=OURS,
        along=("init_scale",),
        among="runs that converge",
        near=0,
        inside=(0, 1),
        why="Each pair on a path of at most n + m - 1 trained pairs may be off by sqrt(2 loss), and each step by the "
        "solver's tolerance.",
        of=BOTH,
        rank="control",
    ),
    claim(
        "across-components",
        "As sigma tends to 0 pairs across components tend to plus or minus ((b_1/a_1)(a_2/b_2))^(1/4), a and b the "
        "numbers of their inputs and outputs, as sigma^2.",
        across_components,
        source=OURS,
        along=("init_scale",),
        among="runs that converge",
        near=2,
        inside=(1.9, 2.1),
        why="The next term is smaller by sigma^2 times the number of domains: a tenth at the largest of these scales, "
        "which tilts the slope over a decade by half of that.",
        of=("sparse",),
        note=f"Slope of the logarithm of the largest relative distance from it against log sigma, init_scale {NEAR[0]:g} to "
        f"{NEAR[1]:g}.",
    ),
    claim(
        "sign-by-chance",
        "In the limit of small weights a pair across components has the sign of the starts of their leading modes: "
        "each sign once in two runs.",
        sign_by_chance,
        source=OURS,
        along=("init_scale",),
        among="runs that converge",
        near=0,
        inside=(0, 0),
        why="A count.",
        of=("limit",),
        at_end=True,
    ),
    claim(
        "any-mask-trains",
        "On any mask training succeeds as sigma tends to 0, however sparse or unequal.",
        any_mask_trains,
        source=OURS,
        along=("init_scale",),
        near=1,
        inside=(0.95, 1),
        why="One seed in twenty may not be there yet.",
        of=("limit",),
        among="",
        statistic="fraction",
        at_end=True,
    ),
    claim(
        "connectivity-law",
        "In the limit of small weights an untrained pair is right if one component holds both domains, and otherwise "
        "only by chance: if both components have like proportions and take one sign.",
        connectivity_law,
        source=OURS,
        along=("init_scale",),
        among="runs that converge",
        near=1,
        inside=(0.95, 1),
        why="One pair in twenty may be told wrong.",
        of=("limit",),
        at_end=True,
        rank="headline",
    ),
]
