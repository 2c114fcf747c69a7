"""What is said of free directions, and whether it is so."""

from functools import partial

import numpy as np

from foretrain.study import Exact, PerSeed, sentence

from .study import SAMPLED, SCALES, SOURCE, SOURCES

PAGE = "docs/studies/free-directions.md"
said = partial(sentence, source=SOURCE + ", section 3")
ours = partial(sentence, source=PAGE)
FEW = "A share of networks; in a few of a hundred a neuron may be on for too few examples to tell."
DECADE = "Of networks and scales: of order eps is within a factor of ten, N_eff at a tenth and at ten times the bounds."
WITHIN = "At most: a single direction too many breaks it."
TENTH = (
    "No term s²/(s² + eps) falls by more than to a tenth in a decade of the scale: were fewer enough, N_eff at ten times the "
    "scale would be too many as well."
)


def total(data, sources=SOURCES):
    """Counted by these sources, (seed, network)."""
    counted = data["counted"].sel(free_source=list(sources)).sum("free_source")
    return counted.transpose("seed", "network").values


def of(data, name):
    """A number for each network, (seed, network)."""
    return data[name].transpose("seed", "network").values


def at_scale(data, name):
    """A number for each network and scale, (seed, noise_scale, network)."""
    return data[name].transpose("seed", "noise_scale", "network").values


def shallow(cell):
    """Whether networks have a single hidden layer."""
    return cell.parameters.kind in ("drawn", "dependent", "synchronized")


def among(*kinds):
    """The cells of these kinds."""
    return lambda cell: cell.parameters.kind in kinds


@said(
    "Dependent activations, null Jacobians and synchronised neurons account for all that is free: they are as many as the "
    "exact Jacobian lacks in rank.",
    predicted=1,
    allowed=(0.97, 1),
    why=FEW,
    where=shallow,
)
def accounted(cell):
    return (total(cell.simulation, SOURCES[:3]) == of(cell.simulation, "deficit")).mean(1)


@said(
    "So they do where there are several hidden layers.",
    predicted=1,
    allowed=(0.97, 1),
    why=FEW,
    where=among("deep", "deeper"),
)
def accounted_deep(cell):
    return (total(cell.simulation, SOURCES[:3]) == of(cell.simulation, "deficit")).mean(1)


@ours(
    "With what shows only where neurons are read, all that is free is counted.",
    predicted=1,
    allowed=(0.97, 1),
    why="Exact but where readers take back each other's changes, or three layers do: a few of a hundred networks.",
    corrects="accounted-deep",
    where=among("deep", "deeper"),
)
def accounted_where_read(cell):
    return (total(cell.simulation) == of(cell.simulation, "deficit")).mean(1)


@ours(
    "What is counted, by any of the four sources, is free.",
    predicted=0,
    allowed=(0, 0),
    why=WITHIN,
)
def counted_is_free(cell):
    beyond = total(cell.simulation) - of(cell.simulation, "deficit")
    left = float((beyond < 0).mean())
    note = f"Most directions counted that are not free. In {left:.1%} of the networks more is free than is counted."
    return Exact(float(max(beyond.max(), 0)), note, beyond.size)


@ours(
    "The scale of each hidden neuron is not all that is free.",
    predicted=0,
    allowed=(0, 0.1),
    why="The share of networks that counting hidden neurons gets right: 4% of the planted ones have single neurons alone, "
    "and inputs always depend on one another where they are made to.",
    where=among("dependent", "synchronized"),
)
def more_than_scales(cell):
    found = of(cell.simulation, "hidden_neurons") == of(cell.simulation, "deficit")
    return found.mean(1)


@said(
    "A block of synchronised neurons frees s squared directions beyond dependent activations, s the dimension that its "
    "preactivations span.",
    predicted=1,
    allowed=(0.99, 1),
    why="A share of networks, and a fact of each.",
    where=among("synchronized"),
)
def squares(cell):
    found = of(cell.simulation, "counted_by_squares") == of(cell.simulation, "deficit")
    return found.mean(1)


@ours(
    "A block frees s directions for each of its neurons.",
    predicted=1,
    allowed=(0.99, 1),
    why="A share of networks, and a fact of each.",
    corrects="squares",
    where=among("synchronized"),
)
def size_times_span(cell):
    return (total(cell.simulation) == of(cell.simulation, "deficit")).mean(1)


@sentence(
    "There is a basis in which one interaction at least is absent for each direction that dependent activations or "
    "synchronised neurons leave free.",
    source=SOURCE + ", section 4",
    predicted=0,
    allowed=(0, 0),
    why=WITHIN,
)
def sparse(cell):
    counted = cell.simulation["counted"].sel(free_source=["activations", "synchronized"])
    counted = counted.sum("free_source").transpose("seed", "network").values
    gap = of(cell.simulation, "parameters_left") - of(cell.simulation, "parameter_count") + counted
    fewer = float((gap < 0).mean())
    note = f"Most parameters left beyond those not counted. In {fewer:.1%} of the networks fewer are left."
    return Exact(float(max(gap.max(), 0)), note, gap.size)


@ours(
    "In that basis the network answers as before, if each new node keeps the gates of the block that it came from.",
    predicted=0,
    allowed=(0, 1e-8),
    why="Exact but for rounding, times the condition of the blocks that are inverted.",
)
def old_gates(cell):
    gap = of(cell.simulation, "sparsified_gap")
    return Exact(float(gap.max()), "Largest difference over the largest answer.", gap.size)


@said(
    "At noise scale eps singular values of activations and of Jacobians below its root do not count: that leaves N_eff(eps).",
    predicted=1,
    allowed=(0.9, 1),
    why=DECADE,
)
def by_roots(cell):
    return within(cell, "counted_by_roots")


@ours(
    "A pair of directions counts where the product of the squares is at least eps: that leaves N_eff(eps).",
    predicted=1,
    allowed=(0.9, 1),
    why=DECADE + " Activations and Jacobians are taken to be independent.",
    corrects="by-roots",
)
def by_products(cell):
    return within(cell, "counted_at_scale")


@ours(
    "Counting at the scale tells networks from one another.",
    allowed=(0, 1),
    predicted=0,
    why="Its mean distance to N_eff(eps) over that of a share of the parameters that is the same for all networks.",
)
def better_than_share(cell):
    exact = at_scale(cell.simulation, "effective")
    counted = at_scale(cell.simulation, "counted_at_scale")
    parameters = of(cell.simulation, "parameter_count")[:, None]
    share = exact.mean((0, 2), keepdims=True) / parameters.mean()
    return np.abs(counted - exact).mean((1, 2)) / np.abs(share * parameters - exact).mean((1, 2))


def within(cell, name):
    """Share of networks and scales for which a number lies between N_eff at ten times the scale and at a tenth, (seed,)."""
    exact, found = at_scale(cell.simulation, "effective"), at_scale(cell.simulation, name)[:, 1:-1]
    return ((found >= exact[:, 2:]) & (found <= exact[:, :-2])).mean((1, 2))


@said(
    "As the scale goes to 0, N_eff parameters suffice.",
    predicted=0,
    allowed=(0, 0),
    why="Parameters left of the sparsified network beyond the rank of its Jacobian. " + WITHIN,
)
def enough(cell):
    return Exact(*excess(cell))


@said(
    "No fewer do.",
    predicted=0,
    allowed=(0, 0),
    why="Parameters left of the sparsified network short of the rank of its Jacobian. " + WITHIN,
)
def needed(cell):
    return Exact(*excess(cell, -1))


def excess(cell, sign=1):
    """Most parameters beyond (or short of) the rank, in words how often, and the number of networks."""
    p = cell.simulation
    gap = sign * (of(p, "parameters_left") - of(p, "parameter_count") + of(p, "deficit"))
    note = f"Most in one network; in {float((gap > 0).mean()):.1%} of them there are any."
    return float(max(gap.max(), 0)), note, gap.size


@said(
    "At any scale N_eff(eps) parameters suffice for a loss below eps.",
    predicted=1,
    allowed=(0.1, 1),
    why="At the scale where it is largest, what is left of the sparsified networks over N_eff(eps), both summed. "
    + TENTH,
)
def enough_at_scale(cell):
    return most(cell, "left_at_scale")


@ours(
    "They do as interactions between directions of the interaction basis, on the whole; the basis itself is not counted.",
    predicted=1,
    allowed=(0.1, 1),
    why="At the scale where it is largest, the edges that must be kept over N_eff(eps), both summed over networks. "
    + TENTH,
    corrects="enough-at-scale",
)
def edges_at_scale(cell):
    exact, edges = (at_scale(cell.simulation, n) for n in ("effective", "edges_at_scale"))
    note = f"In {float((edges > exact).mean()):.1%} of networks and scales it takes more."
    return PerSeed(most(cell, "edges_at_scale"), note)


def needed_over(cell, name):
    """Fewest that are kept over N_eff at ten times the scale, both summed over networks, the smallest over scales, (seed,)."""
    kept, exact = (at_scale(cell.simulation, n).sum(2) for n in (name, "effective"))
    return (kept[:, :-1] / exact[:, 1:]).min(1)


@ours(
    "No fewer parameters of the sparsified network do than N_eff at ten times the scale.",
    allowed=(1, np.inf),
    why="At the scale where it is smallest, what is left over N_eff(10 eps), both summed: the scale is meant within a decade.",
)
def needed_at_scale(cell):
    return needed_over(cell, "left_at_scale")


@ours(
    "Nor do fewer edges of the interaction basis.",
    allowed=(1, np.inf),
    why="At the scale where it is smallest, the edges that must be kept over N_eff(10 eps), both summed.",
)
def edges_needed_at_scale(cell):
    return needed_over(cell, "edges_at_scale")


@ours(
    "As weights between neurons they do not, at any scale.",
    allowed=(1, np.inf),
    why="At the scale where it is smallest, the weights that must be kept over N_eff(eps), both summed over networks.",
)
def weights_at_scale(cell):
    return ratios(cell, "weights_at_scale").min(1)


def ratios(cell, name):
    """What is kept over N_eff, both summed over networks, (seed, noise_scale)."""
    return at_scale(cell.simulation, name).sum(2) / at_scale(cell.simulation, "effective").sum(2)


def most(cell, name):
    """The largest over scales, (seed,)."""
    return ratios(cell, name).max(1)


@said(
    "Twice the learning coefficient counts the squared singular values of the Jacobian above the scale.",
    predicted=0,
    allowed=(-1, 1),
    why="Decades between the scale and that at which the smoothed count is as sampled, the farther of two scales: O(eps).",
    of="sampled",
)
def by_volume(cell):
    found = cell.variants["sampled"].mean("network")
    smooth = found["smooth"].transpose("seed", "noise_scale").values
    drawn = found["sampled"].transpose("seed", "sampled_scale").values
    places = np.append(np.log10(SCALES), np.log10(SCALES[-1]) + 1)
    worst = []
    for curve, values in zip(smooth, drawn, strict=True):
        beyond = np.append(curve, 2 * curve[-1] - curve[-2])  # straight on for a decade
        off = np.interp(-values, -beyond, places) - np.log10(SAMPLED)
        worst.append(off[np.abs(off).argmax()])
    return np.array(worst)


@said(
    "Where gates agree but for a share of the data, mixing a block costs a loss in proportion to their disagreement.",
    predicted=1,
    allowed=(0.8, 1.2),
    why="The power of the loss in the measure over two decades; were the loss to go as its root or its square, .5 or 2.",
    of="approximate",
)
def rise_power(cell):
    loss, measure = mixed(cell)
    return np.array([np.polyfit(m, y, 1)[0] for m, y in zip(measure, loss, strict=True)])


@ours(
    "The loss is the disagreement itself, weighed by squared mixing weights and summed over outputs of unit weights.",
    predicted=1,
    allowed=(0.5, 2),
    why="In the mean over outgoing weights nothing but squares is left; a factor of 2 for what is drawn.",
    of="approximate",
)
def rise_size(cell):
    loss, measure = mixed(cell)
    return np.exp((loss - measure).mean(1))


@ours(
    "As one neuron passes on a hundredth of another, the loss is the squared outgoing weights of the one times the "
    "disagreement by the preactivations of the other.",
    predicted=1,
    allowed=(0.95, 1.05),
    why="Up to examples on which the change turns a gate, about one in a hundred.",
    of="approximate",
)
def transfer_size(cell):
    found = cell.variants["approximate"][["transfer", "transfer_loss"]].sum(
        ("network", "flipped_share")
    )
    return found["transfer_loss"].values / found["transfer"].values


def mixed(cell):
    """Logarithms of the mean over networks of loss and of measure, each (seed, share)."""
    found = cell.variants["approximate"][["mixing_loss", "disagreement"]].mean("network")
    found = np.log(found.transpose("seed", "flipped_share"))
    return found["mixing_loss"].values, found["disagreement"].values


@said(
    "Weight decay drives weights on directions of zero variance to zero, and nothing else does.",
    predicted=0,
    allowed=(0, 1e-9),
    why="No gradient reaches them: (1 - learning rate x decay)^t with decay, 1 without, but for rounding.",
    of="decay",
)
def forgotten(cell):
    p = cell.parameters
    found = cell.variants["decay"]["null_weight"].transpose("seed", "decayed", "update")
    law = (1 - p.learning_rate * p.weight_decay) ** found["update"].values.astype(float)
    gap = np.abs(found.values[:, 1] / law - 1).max(), np.abs(found.values[:, 0] - 1).max()
    return Exact(float(max(gap)), "Largest relative difference over both trainings.")


@ours(
    "With decay, what the network answers off its data comes to depend on its data alone, as the square of those weights.",
    predicted=1,
    allowed=(0.8, 1.2),
    why="The logarithm of the change by a step along directions of zero variance, against that without decay, over that of "
    "(1 - learning rate x decay)^2t; a decade is left for how else the two networks differ.",
    of="decay",
)
def off_data(cell):
    p = cell.parameters
    found = cell.variants["decay"]["off_distribution"].transpose("seed", "decayed", "update")
    law = 2 * float(found["update"].values[-1]) * np.log(1 - p.learning_rate * p.weight_decay)
    return np.log(found.values[:, 1, -1] / found.values[:, 0, -1]) / law


@ours(
    "All the while both fit their data.",
    predicted=0,
    allowed=(0, 0.01),
    why="The larger of their losses at the end over that at the start; were all weights gone, nothing would be left to see.",
    of="decay",
)
def fitted(cell):
    return (
        cell.variants["decay"]["fit"].transpose("seed", "decayed", "update").values[:, :, -1].max(1)
    )
