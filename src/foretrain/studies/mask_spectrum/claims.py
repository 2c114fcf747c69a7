"""What the note says of the spectrum of a random mask, and whether it is so. Tolerances stand beside their reasons."""

import math

import numpy as np

from foretrain.claims.claim import Claim, judge
from foretrain.dynamics.program import CONVERGED
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.masked_rank_one import study as toy
from foretrain.theory.random_matrix import bulk_distribution
from foretrain.training.masked_rank_one_claims import OURS, invariants, lines, outcomes

NOTE = "Note on shared representations, section 3"


def judge_grid(runs: LabelledRuns) -> list[Claim]:
    """All claims of every density, pooled over the sizes."""
    if runs.parameters.network == "rank_one":
        return _training(runs.simulation, runs.parameters, "")
    claims = []
    for label, line in lines(runs, "mask_size"):
        claims += [*_outlier(line, label), *_bulk(line, label)]
        # The trained masks are the same whatever the size of the others, unless that is smaller still.
        trained = line.variants["trained"].isel(mask_size=-1)
        claims += _training(trained, line.parameters, label)
    return claims


def _spectra(line):
    """(n, p, largest value of each seed, other values of shape (seed, n - 1)) of every size."""
    p = line.parameters.density
    for n, data in line.simulation.groupby("mask_size"):
        values = data["mask_singular_values"].squeeze("mask_size").transpose("seed", "mode").values
        yield int(n), p, values[:, 0], values[:, 1 : int(n)]


def _outlier(line, label) -> list[Claim]:
    sizes = line.axes["mask_size"]
    p = line.parameters.density
    ratio = [first / (p * n) for n, p, first, _ in _spectra(line)]
    predicted = line.theory["predicted_outlier"].values
    gap = [first - limit for (_, _, first, _), limit in zip(_spectra(line), predicted, strict=True)]
    scatter = math.sqrt(p * (1 - p))
    over = f"mean over n = {', '.join(map(str, sizes))}"
    return [
        judge(
            "outlier" + label,
            "A mask with independent entries has an outlier singular value on the order of pn.",
            NOTE,
            np.mean(ratio, 0),
            # "On the order of": within a factor of two.
            (0.5, 2),
            predicted=1,
            note=f"s_1/(pn), {over}.",
        ),
        judge(
            "outlier-shift" + label,
            "The outlier lies at np + 1 - p.",
            OURS,
            np.mean(gap, 0),
            # Half of the shift 1 - p that is to be seen; single masks scatter by sqrt(p(1 - p)), independently in n.
            (-(1 - p) / 2, (1 - p) / 2),
            predicted=0,
            note=f"s_1 - (np + 1 - p), {over}; a single mask scatters by {scatter:.2g}.",
        ),
        judge(
            "dominates-by-a-lot" + label,
            "The largest singular value is larger than all others by a lot.",
            NOTE,
            np.min([first / rest[:, 0] for _, _, first, rest in _spectra(line)], 0),
            # A factor of two at the smallest size; it grows with the square root of n.
            (2, np.inf),
            predicted=float(
                (line.theory["predicted_outlier"] / line.theory["predicted_second"]).min()
            ),
            note="s_1/s_2, least over the sizes.",
        ),
    ]


def _bulk(line, label) -> list[Claim]:
    theory = line.theory
    spectra = list(_spectra(line))
    note_edge, edge = theory["note_edge"].values, theory["predicted_edge"].values
    inside = lambda ends: np.mean(  # noqa: E731
        [(rest <= end).mean(1) for (*_, rest), end in zip(spectra, ends, strict=True)], 0
    )
    second = theory["predicted_second"].values
    gap = [
        (rest[:, 0] - mean) / _fluctuation(n, p)
        for (n, p, _, rest), mean in zip(spectra, second, strict=True)
    ]
    distance = [_distance(rest, n, p) / (math.log(n) / n) for n, p, _, rest in spectra]
    return [
        judge(
            "bulk-edge" + label,
            "All other singular values concentrate in [0, 2 sqrt(p(1 - p))].",
            NOTE,
            inside(note_edge),
            # "Concentrate": one in a hundred may lie outside.
            (0.99, 1),
            predicted=1,
            note="Fraction inside, mean over sizes.",
        ),
        judge(
            "bulk-edge.corrected" + label,
            "All other singular values concentrate in [0, 2 sqrt(n p(1 - p))].",
            OURS,
            inside(edge),
            (0.99, 1),
            predicted=1,
            note="Fraction inside, mean over sizes.",
        ),
        judge(
            "second-value" + label,
            "The second singular value lies below the edge by the Tracy-Widom correction.",
            OURS,
            np.mean(gap, 0),
            # Half of its own scatter, and well below the correction itself, which is about one scatter.
            (-0.5, 0.5),
            predicted=0,
            note="s_2 minus its predicted mean, in units of the standard deviation of single masks, mean over sizes.",
        ),
        judge(
            "quarter-circle" + label,
            "The rest follow the Marchenko-Pastur law, for singular values of square masks a quarter circle.",
            NOTE,
            np.mean(distance, 0),
            # The values are rigid: each is off by about log(n)/n of the count, not by 1/sqrt(n) as independent ones.
            (0, 2),
            predicted=0,
            note="Largest distance of the distribution functions, in units of log(n)/n, mean over sizes.",
        ),
    ]


def _distance(values, size, density):
    """Kolmogorov distance of each row of singular values from the quarter circle."""
    ordered = np.sort(values, axis=1)
    count = ordered.shape[1]
    law = bulk_distribution(ordered, size, density)
    steps = np.arange(count + 1) / count
    return np.maximum(np.abs(law - steps[1:]).max(1), np.abs(law - steps[:-1]).max(1))


def _fluctuation(size, density):
    """Standard deviation of the second value: that of the Tracy-Widom law, 1.268, in Johnstone's scale."""
    root = math.sqrt(size - 1) + math.sqrt(size)
    spread = root * (1 / math.sqrt(size - 1) + 1 / math.sqrt(size)) ** (1 / 3)
    return math.sqrt(density * (1 - density)) * 1.268 * spread / (2 * root)


def _training(data, parameters, label) -> list[Claim]:
    departing = data.isel(stage=toy.DEPARTURE)
    size = data.sizes["input_domain"]
    sized = _Sized(size, parameters)
    return [
        judge(
            "outlier-in-training" + label,
            "The largest singular value dominates the dynamics: u v^T emerges as the best rank-one approximation of T.",
            NOTE,
            departing["stage_misalignment"].values,
            # "By a lot": a relative distance of a tenth is an angle of 6 degrees.
            (0, 0.1),
            predicted=0,
            note=f"Relative distance when 1% of the loss is gone, n = {size}, init_scale = {parameters.init_scale:g}.",
        ),
        judge(
            "outlier-generalises" + label,
            "Dominated by the outlier, training succeeds and generalises.",
            OURS,
            (data["outcome"] == CONVERGED).values.astype(float),
            # Runs that are not dominated may be stuck: one in twenty.
            (0.95, 1),
            predicted=1,
            note=f"Fraction of seeds; largest untrained error {float(data['final_untrained_error'].max()):.2g}.",
        ),
        *outcomes(data, sized, label),
        invariants(data, sized, label),
    ]


class _Sized:
    """Parameters of the trained masks, in the words of the masked rank-one study."""

    def __init__(self, size, parameters):
        self.domains = size
        self.loss_tolerance = parameters.loss_tolerance
        self.solver_tolerance, self.steps = parameters.solver_tolerance, parameters.steps
