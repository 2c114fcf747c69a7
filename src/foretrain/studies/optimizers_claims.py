"""What the thread says of Adam and AdamW at rank one, and whether it is so. Tolerances stand beside their reasons."""

import numpy as np

from foretrain.claims import Claim
from foretrain.claims import judge as judge_seeds
from foretrain.measures.plateaus import plateau_length, time_rescaling
from foretrain.plans.labelled import LabelledRuns

THREAD = "Jermyn & Shlegeris (2022), comments"


def judge(runs: LabelledRuns) -> list[Claim]:
    """Every pair of optimisers of the grid, at equal start scale and learning rate."""
    cells = [cell for _, cell in runs.cells()]
    claims = []
    for sgd, adamw, label in _pairs(cells, "sgd", "adamw"):
        claims += _accelerates(sgd, adamw, label)
    for adam, adamw, label in _pairs(cells, "adam", "adamw"):
        claims += _differs(adam, adamw, label)
    return claims


def _pairs(cells, first, second):
    for one in cells:
        for other in cells:
            a, b = one.parameters, other.parameters
            same = (a.init_scale, a.learning_rate) == (b.init_scale, b.learning_rate)
            if (a.optimiser, b.optimiser) == (first, second) and same:
                label = f"[init_scale={a.init_scale:g}, learning_rate={a.learning_rate:g}]"
                yield one, other, label


def _curves(cell: LabelledRuns):
    """Steps and losses of every run, as far as it went."""
    data = cell.simulation.transpose("seed", "step", ...)
    for row in data["loss"].values:
        kept = np.isfinite(row)
        yield data["step"].values[kept], row[kept]


def _rescalings(one: LabelledRuns, other: LabelledRuns):
    pairs = zip(_curves(one), _curves(other), strict=True)
    return [time_rescaling(*first, *second) for first, second in pairs]


def _accelerates(sgd, adamw, label) -> list[Claim]:
    found = _rescalings(sgd, adamw)
    shares = [_plateau_share(cell) for cell in (sgd, adamw)]
    return [
        judge_seeds(
            f"adamw-faster{label}",
            "AdamW is faster than gradient descent at the same learning rate.",
            THREAD,
            [one.factor for one in found],
            # "Accelerates": any factor below one.
            (0, 1 - 1e-9),
            note="Steps of AdamW over steps of descent to equal loss, geometric mean over levels, paired by seed.",
        ),
        judge_seeds(
            f"adamw-just-accelerates{label}",
            "AdamW just accelerates: its loss is that of gradient descent with time rescaled.",
            THREAD,
            [one.residual for one in found],
            # "Just": at no level is the time off by more than some 10% after the best rescaling.
            (0, 0.1),
            predicted=0,
            note="SD over loss levels of the log ratio of times. One time-scale explains "
            f"{np.median([one.explained for one in found]):.2f} of the variance of AdamW's log times (median).",
        ),
        judge_seeds(
            f"adamw-same-plateau{label}",
            "The plateau is as large a part of training under AdamW as under gradient descent.",
            THREAD,
            shares[1] / shares[0],
            # A rescaling of time keeps it; 10% as above.
            (0.9, 1.1),
            predicted=1,
            note="Time from loss 1.1 to .9 over time to loss .1, ratio of the two optimisers, paired by seed.",
        ),
    ]


def _plateau_share(cell) -> np.ndarray:
    shares = []
    for step, losses in _curves(cell):
        learned = plateau_length(step, losses, upper=max(losses[0], 1.2), lower=0.1)
        share = plateau_length(step, losses, upper=1.1, lower=0.9) / learned
        shares.append(share if np.isfinite(share) else np.nan)
    return np.array(shares)


def _differs(adam, adamw, label) -> list[Claim]:
    differences = []
    for (_, one), (_, other) in zip(_curves(adam), _curves(adamw), strict=True):
        length = min(len(one), len(other))
        differences.append(np.abs(one[:length] - other[:length]).max())
    decay = adamw.parameters.weight_decay
    return [
        judge_seeds(
            f"adamw-differs{label}",
            "AdamW's results differ from Adam's.",
            THREAD,
            differences,
            # A difference that a figure shows: 2% of the plateau's height somewhere.
            (0.02, np.inf),
            note=f"Largest difference of loss at equal step, lambda = {decay:g}.",
        )
    ]
