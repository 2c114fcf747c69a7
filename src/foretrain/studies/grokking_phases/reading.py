"""What is read off a map of phases: who generalises, why others do not, where boundaries are, and when."""

import numpy as np

from foretrain.quantities.rank_correlation import ranks
from foretrain.study import at_end
from foretrain.training.embedding import PHASES, operation
from foretrain.training.embedding_claims import SLACK

RATES = ("decoder_learning_rate", "embedding_learning_rate")
CAUSES = ("data", "representation", "decoder")


def board(data, name):
    """Array (decoder rate, embedding rate, seed)."""
    return data[name].transpose(*RATES, "seed").values


def learned(data):
    """Whether a run reached both accuracies, bool, and whether it reached that of training."""
    phase = board(data, "phase")
    return phase < 2, phase < 3


def tells_enough(p, data):
    """Whether the ideal model of a training set has the validation accuracy wanted, bool of the shape of the runs."""
    total = len(operation(p).samples)
    rest = total - p.training_size
    if not rest:
        return np.ones_like(data["ideal_accuracy"].values, bool)
    ideal = (data["ideal_accuracy"].values * total - p.training_size) / rest
    return ideal >= p.accuracy_threshold - SLACK * total


def learners(cell):
    """Which seeds have a training set that tells enough, bool (seed,)."""
    first = {name: 0 for name in cell.simulation["phase"].dims if name != "seed"}
    return tells_enough(cell.parameters, cell.simulation.isel(first))


def causes(p, data):
    """Number of the cause in `CAUSES` of every run that does not generalise, -1 of others; of the shape of the runs."""
    told = tells_enough(p, data)
    good = at_end(data["rqi"]).values > p.rqi_threshold
    why = np.where(~told, 0, np.where(good, 2, 1))
    return np.where(data["phase"].values >= 2, why, -1)


def log_ratio(cell):
    """log10 of embedding rate over decoder rate, (decoder rate, embedding rate)."""
    decoder, embedding = (np.log10(cell.values(name)) for name in RATES)
    return np.round(embedding[None] - decoder[:, None], 2)


def is_map(cell):
    """Whether both rates are swept, and are above zero."""
    values = [cell.values(name) for name in RATES]
    return all(len(one) > 2 and min(one) > 0 for one in values)


def has_boundary(cell):
    """Whether there are rates of three ratios at least, all above zero: one swept rate is enough."""
    values = [cell.values(name) for name in RATES]
    return all(min(one) > 0 for one in values) and np.unique(log_ratio(cell)).size > 2


def spacing(cell):
    """Largest distance between neighbouring ratios of rates, in decades."""
    return np.diff(np.unique(log_ratio(cell))).max() if has_boundary(cell) else 1.0


def foretold(groups, found, known):
    """Share of the runs of a seed that end as most runs of other seeds in their group, (seed,); ties count in part.

    Args:
        groups: Number of the group of each cell, (decoder rate, embedding rate).
        found: How each run ends, int (decoder rate, embedding rate, seed).
        known: Which runs count, same shape.
    """
    kinds = (found[..., None] == np.unique(found)) & known[..., None]
    credit = np.zeros(found.shape)
    for group in np.unique(groups):
        own = kinds[groups == group]  # (cell, seed, kind)
        counts = own.sum((0, 1)) - own.sum(0)  # of the others, (seed, kind)
        most = (counts == counts.max(1, keepdims=True)) & (counts > 0)
        credit[groups == group] = (own * most / np.maximum(most.sum(1, keepdims=True), 1)).sum(2)
    with np.errstate(invalid="ignore"):
        return credit.sum((0, 1)) / known.sum((0, 1))


def measured_boundary(cell):
    """log10 of the ratio of rates above which runs that fit generalise, with the fewest exceptions, (seed,); nan without."""
    good, fit = learned(cell.simulation)
    ratio = log_ratio(cell)
    places = np.unique(ratio)
    middles = (places[1:] + places[:-1]) / 2
    found = np.full(cell.seeds, np.nan)
    for seed in range(cell.seeds):
        which, x = good[..., seed][fit[..., seed]], ratio[fit[..., seed]]
        if which.any() and not which.all():
            wrong = ((x[:, None] > middles) != which[:, None]).sum(0)
            found[seed] = middles[wrong == wrong.min()].mean()
    return found


def head_start(cell, name, axes=RATES):
    """log10 of the decoder's time over that of the representation, (axis, axis, seed): above 0 the representation is first."""
    times = (cell.theory[one].transpose(*axes, "seed").values for one in ("decoder_step", name))
    with np.errstate(invalid="ignore", divide="ignore"):
        decoder, representation = (np.log10(one) for one in times)
        return decoder - representation


def predicted_boundary(cell, name):
    """log10 of the ratio of rates at which representation and decoder take equally long, (seed,)."""
    return log_ratio(cell)[0, 0] - head_start(cell, name)[0, 0]


def shares(cell, cause, phases):
    """Share of runs of these phases with a cause, and how many there are, both (seed,)."""
    phase, why = board(cell.simulation, "phase"), causes(cell.parameters, laid(cell.simulation))
    which = np.isin(phase, phases)
    count = which.sum((0, 1))
    with np.errstate(invalid="ignore"):
        share = (which & (why == CAUSES.index(cause))).sum((0, 1)) / count
    return np.where(learners(cell), share, np.nan), int(count[learners(cell)].sum())


def good_failures(cell):
    """Share of the runs that do not generalise that have the RQI wanted, (seed,); that of all learners; how many fail."""
    failed = board(cell.simulation, "phase") >= 2
    rqi = board(cell.simulation.assign(rqi=at_end(cell.simulation["rqi"])), "rqi")
    good, count = failed & (rqi > cell.parameters.rqi_threshold), failed.sum((0, 1))
    which = learners(cell)
    with np.errstate(invalid="ignore"):
        share = good.sum((0, 1)) / count
        return share, good[..., which].sum() / failed[..., which].sum(), int(count.sum())


def laid(data):
    """Runs with their dims in the order of `board`."""
    return data.transpose(*RATES, "seed", ...)


def generalised(cell, name="validation_step"):
    """Predicted and measured step of validation, nan where a run does not generalise, (cell, seed); None without theory."""
    if "decoder_step" not in cell.theory:
        return None
    good = learned(cell.simulation)[0] & learners(cell)
    if not good.any():
        return None
    told = board(cell.theory, name)
    if name != "validation_step":
        told = told + board(cell.theory, "decoder_step")
    told, found = (
        np.where(good, one, np.nan).reshape(-1, cell.seeds)
        for one in (told, board(cell.simulation, "validation_step"))
    )
    return told, np.maximum(found, 1)


def by_seed(told, found, measure, fewest=1):
    """A measure of predicted and measured steps of the cells in which a seed generalised, (seed,); nan with too few."""
    values = np.full(told.shape[1], np.nan)
    for seed in range(told.shape[1]):
        known = ~np.isnan(told[:, seed])
        if known.sum() >= fewest:
            values[seed] = measure(told[known, seed], found[known, seed])
    return values


def order_of_seeds(told, found, which):
    """Rank correlation over seeds, mean over cells: what each seed adds to it times their number, (seed,).

    Args:
        told: What is to order them, (cell, seed), or anything that broadcasts to it.
        found: Their steps, (cell, seed); nan where a run does not generalise.
        which: The seeds that count, bool (seed,). Cells count in which all of these generalise.

    Returns:
        The values, nan for other seeds, whose mean is the correlation, and the number of cells; None with too few.
    """
    told, found = (one[:, which] for one in np.broadcast_arrays(told, found))
    known = ~np.isnan(found).any(1)
    if which.sum() < 4 or not known.any():
        return None
    parts = [ranks(one) - ranks(one).mean(1, keepdims=True) for one in (told[known], found[known])]
    size = [np.sqrt((part**2).mean(1, keepdims=True)) for part in parts]
    values = np.full(which.shape, np.nan)
    values[which] = (parts[0] * parts[1] / np.maximum(size[0] * size[1], 1e-12)).mean(0)
    return values, int(known.sum())


def off(told, found):
    """Median over cells of |log2 (predicted / measured)|."""
    return np.median(np.abs(np.log2(told / found)))


def probabilities(data):
    """Probability of each phase, (decoder rate, embedding rate, phase), over seeds."""
    phase = board(data, "phase")
    return np.stack([(phase == code).mean(2) for code in range(len(PHASES))], -1)


def entropy(share):
    """Of probabilities along the last axis, in bits."""
    return -(share * np.log2(np.where(share > 0, share, 1))).sum(-1) + 0.0
