"""What is said of free directions, and whether it is so."""

from functools import partial

import numpy as np

from foretrain.study import Exact, sentence

from .study import SOURCE

PAGE = "docs/studies/free-directions.md"
said = partial(sentence, source=SOURCE + ", section 3")
ours = partial(sentence, source=PAGE)
FEW = "A share of networks; in a few of a hundred a neuron may be on for too few examples to tell."
WITHIN = "At most: a single direction too many breaks it."


def total(data):
    """All sources, (seed, network)."""
    return data["counted"].sum("free_source").transpose("seed", "network").values


def of(data, name):
    """A number for each network, (seed, network)."""
    return data[name].transpose("seed", "network").values


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
    return (total(cell.simulation) == of(cell.simulation, "deficit")).mean(1)


@said(
    "So they do where there are several hidden layers.",
    predicted=1,
    allowed=(0.97, 1),
    why=FEW,
    where=among("deep"),
)
def accounted_deep(cell):
    return (total(cell.simulation) == of(cell.simulation, "deficit")).mean(1)


@ours(
    "Where there are several hidden layers what is counted is free, but it need not be all: neurons that are on for part of "
    "the data only see less than the data span.",
    predicted=0,
    allowed=(0, 0),
    why=WITHIN,
    corrects="accounted-deep",
    where=among("deep"),
)
def counted_is_free(cell):
    beyond = total(cell.simulation) - of(cell.simulation, "deficit")
    missing = float((beyond < 0).mean())
    note = f"Most directions counted that are not free. In {missing:.1%} of the networks more is free than is counted."
    return Exact(float(max(beyond.max(), 0)), note, beyond.size)


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
    "With decay, what the network answers off its data comes to depend on its data alone.",
    predicted=0,
    allowed=(0, 0.01),
    why="The change by a step along directions of zero variance, against that without decay, where it stays of order one.",
    of="decay",
)
def off_data(cell):
    found = cell.variants["decay"]["off_distribution"].transpose("seed", "decayed", "update").values
    return found[:, 1, -1] / found[:, 0, -1]
