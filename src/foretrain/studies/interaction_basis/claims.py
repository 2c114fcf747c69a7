"""What is claimed of the interaction basis: exact facts of linear and of separate networks, and the conjecture of sparsity."""

import numpy as np

from foretrain.study import Exact, sentence

from .study import BASES, SOURCE

APPENDIX = "Bushnaq et al. (2024), appendix A"
ROUNDING = "It is exact; double precision leaves 1e-14 times the condition of the activations."
OTHERS = [BASES.index(name) for name in ("pca", "svd", "neurons")]
FEWER = "Below 1 it is sparser than each of the others; the interval over seeds must lie below."


def worst(cell, variant, *names):
    found = cell.variants[variant]
    return Exact(float(max(np.abs(found[name].values).max() for name in names)))


@sentence(
    "Every layer map of a deep linear network is the identity in its interaction basis, global or local.",
    source=APPENDIX,
    predicted=0,
    allowed=(0, 1e-10),
    why=ROUNDING,
    of="linear",
)
def identity(cell):
    return worst(cell, "linear", "identity_gap")


@sentence(
    "All layers of a deep linear network have the same importances.",
    source=APPENDIX,
    predicted=0,
    allowed=(0, 1e-10),
    why=ROUNDING,
    of="linear",
)
def same_importances(cell):
    return worst(cell, "linear", "importance_gap")


@sentence(
    "The edges of a deep linear network join each direction to its own and are as strong as it is important.",
    source=APPENDIX,
    predicted=0,
    allowed=(0, 1e-10),
    why=ROUNDING,
    of="linear",
)
def diagonal_edges(cell):
    return worst(cell, "linear", "edge_gap")


@sentence(
    "Blocks that share nothing have no edge between them, on data that are a product of samples of each.",
    source=SOURCE,
    predicted=0,
    allowed=(0, 1e-8),
    why="Cross moments vanish but for rounding; an edge is a square, and its root is compared.",
    of="blocks",
    where=lambda cell: cell.parameters.centring == "mean",
)
def product_blocks(cell):
    return worst(cell, "blocks", "cross_on_product")


@sentence(
    "On independent samples the edges between such blocks fall as one over the number of samples.",
    source="docs/studies/interaction-basis.md",
    predicted=-1,
    allowed=(-1.3, -0.7),
    why="Sampled cross moments are of order n^(-1/2) and an edge is a square. Where importances of both blocks nearly agree "
    "their directions mix first, so that the median over networks is looked at, and may be off by some tenths.",
    of="blocks",
    where=lambda cell: cell.parameters.centring == "mean",
)
def sampled_blocks(cell):
    found = cell.variants["blocks"]["cross_on_samples"].transpose("seed", "sample_count")
    x = np.log(found["sample_count"].values.astype(float))
    return np.polyfit(x, np.log(found.values.T), 1)[0]


def best_other(data, name, basis="global"):
    """What the basis needs over what the best of PCA, SVD and neurons does, by seed."""
    found = data[name].transpose("seed", "basis").values
    return found[:, BASES.index(basis)] / found[:, OTHERS].min(1)


@sentence(
    "A digits classifier needs fewer directions in the interaction basis than in any of PCA, SVD and neurons.",
    source=SOURCE,
    allowed=(0, 0.999),
    why=FEWER,
)
def fewer_directions(cell):
    return best_other(cell.simulation, "directions_needed")


@sentence(
    "A digits classifier needs fewer edges in the interaction basis than in any of PCA, SVD and neurons.",
    source=SOURCE,
    allowed=(0, 0.999),
    why=FEWER,
)
def fewer_edges(cell):
    return best_other(cell.simulation, "edges_needed")


@sentence(
    "A network for modular addition needs fewer directions in the interaction basis than in PCA, SVD or neurons.",
    source=SOURCE,
    allowed=(0, 0.999),
    why=FEWER,
    of="modular",
)
def modular_directions(cell):
    return best_other(cell.variants["modular"], "directions_needed")


@sentence(
    "A network for modular addition needs fewer edges in the interaction basis than in PCA, SVD or neurons.",
    source=SOURCE,
    allowed=(0, 0.999),
    why=FEWER,
    of="modular",
)
def modular_edges(cell):
    return best_other(cell.variants["modular"], "edges_needed")


@sentence(
    "The local basis, made for sparse edges between neighbouring layers, needs fewer of them than the global one.",
    source="Bushnaq et al. (2024), appendix A: gradients to the next layer, to sparsify interactions",
    allowed=(0, 0.999),
    why="Below 1 it is sparser; the interval over seeds must lie below.",
)
def local_edges(cell):
    found = cell.simulation["edges_needed"].transpose("seed", "basis").values
    return found[:, BASES.index("local")] / found[:, BASES.index("global")]


@sentence(
    "The local basis needs as many edges as the global one, within a quarter.",
    source="docs/studies/interaction-basis.md",
    corrects="local-edges",
    predicted=1,
    allowed=(0.75, 1.25),
    why="Of networks this shallow the bases nearly agree: they are the same from the last average over data on.",
)
def local_edges_corrected(cell):
    found = cell.simulation["edges_needed"].transpose("seed", "basis").values
    return found[:, BASES.index("local")] / found[:, BASES.index("global")]
