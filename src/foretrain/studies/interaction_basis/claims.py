"""What is claimed of the interaction basis: exact facts of linear and of separate networks, and the conjecture of sparsity."""

import numpy as np

from foretrain.study import Exact, sentence

from .study import BASES, SOURCE

APPENDIX = "Bushnaq et al. (2024), appendix A"
ADDITION = (
    "Nanda et al. (2023): modular addition by Fourier modes; docs/studies/interaction-basis.md"
)
GENERALISED = "seeds whose transformer answers nine tenths of the pairs held out"
ROUNDING = "It is exact; double precision leaves 1e-14 times the condition of the activations."
OTHERS = [BASES.index(name) for name in ("pca", "svd", "neurons")]
FEWER = "Below 1 it is sparser than each of the others; the interval over seeds must lie below."


def said(statement, *, where=None, **more):
    """A sentence on the networks of the default task, which stand side by side; of any other task there is one alone."""

    def here(cell):
        return cell.parameters.task == "digits" and (where is None or where(cell))

    return sentence(statement, where=here, **more)


def worst(cell, variant, *names):
    found = cell.variants[variant]
    return Exact(float(max(np.abs(found[name].values).max() for name in names)))


@said(
    "Every layer map of a deep linear network is the identity in its interaction basis, global or local.",
    source=APPENDIX,
    predicted=0,
    allowed=(0, 1e-10),
    why=ROUNDING,
    of="linear",
)
def identity(cell):
    return worst(cell, "linear", "identity_gap")


@said(
    "All layers of a deep linear network have the same importances.",
    source=APPENDIX,
    predicted=0,
    allowed=(0, 1e-10),
    why=ROUNDING,
    of="linear",
)
def same_importances(cell):
    return worst(cell, "linear", "importance_gap")


@said(
    "The edges of a deep linear network join each direction to its own and are as strong as it is important.",
    source=APPENDIX,
    predicted=0,
    allowed=(0, 1e-10),
    why=ROUNDING,
    of="linear",
)
def diagonal_edges(cell):
    return worst(cell, "linear", "edge_gap")


@said(
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


@said(
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


@said(
    "An edge between them grows as the square of a weight that joins them.",
    source="docs/studies/interaction-basis.md",
    predicted=2,
    allowed=(1.95, 2.05),
    why="Contributions are of first order in it, and an edge is their mean square; the next order is smaller by a weight over "
    "a gap of importances.",
    of="blocks",
    where=lambda cell: cell.parameters.centring == "mean",
)
def joined_blocks(cell):
    found = cell.variants["blocks"]["cross_on_joined"].transpose("seed", "joint")
    x = np.log(found["joint"].values.astype(float))
    return np.polyfit(x, np.log(found.values.T), 1)[0]


def learned(data, values):
    """Values by seed, nan where a network does not answer nine tenths of its examples right."""
    return np.where(data["fitted_accuracy"].values >= 0.9, values, np.nan)


def best_other(data, name):
    """What the basis needs over what the best of PCA, SVD and neurons does, by seed."""
    found = data[name].transpose("seed", "basis").values
    return learned(data, found[:, BASES.index("global")] / found[:, OTHERS].min(1))


def local_over_global(data):
    """Edges that the local basis needs over those of the global one, by seed."""
    found = data["edges_needed"].transpose("seed", "basis").values
    return learned(data, found[:, BASES.index("local")] / found[:, BASES.index("global")])


def fewer(network, what, others="PCA, SVD or neurons", of="", id=""):
    """That a network needs fewer directions, or edges, in the interaction basis than in the best of others."""

    def ratio(cell):
        return best_other(cell.variants[of] if of else cell.simulation, f"{what}_needed")

    words = f"{network} needs fewer {what} in the interaction basis than in {others}."
    return said(words, source=SOURCE, allowed=(0, 0.999), why=FEWER, of=of, id=id)(ratio)


ANY = "any of PCA, SVD and neurons"
fewer_directions = fewer("A digits classifier", "directions", ANY, id="fewer-directions")
fewer_edges = fewer("A digits classifier", "edges", ANY, id="fewer-edges")
MODULAR = "A network for modular addition"
modular_directions = fewer(MODULAR, "directions", of="modular", id="modular-directions")
modular_edges = fewer(MODULAR, "edges", of="modular", id="modular-edges")
ATTENTIVE = "A transformer for modular addition"
transformer_directions = fewer(
    ATTENTIVE, "directions", of="transformer", id="transformer-directions"
)
transformer_edges = fewer(ATTENTIVE, "edges", of="transformer", id="transformer-edges")


def generalised(data):
    """Seeds whose transformer answers nine tenths of the pairs held out, (seed,)."""
    return data["unseen_accuracy"].sel(moment="end").values >= 0.9


def one_frequency(data, moment):
    """Share of power at one frequency beyond that with shuffled symbols, over what it can be, mean of layers, by seed."""
    share = (
        data["frequency_share"].sel(moment=moment, basis="global").transpose("seed", "node_layer")
    )
    chance = data["shuffled_share"].sel(moment=moment).transpose("seed", "node_layer").values
    beyond = (share.values - chance) / (1 - chance)
    return np.where(generalised(data), beyond[:, :-1].mean(1), np.nan)


@said(
    "Where the transformer generalised, each direction of its interaction basis has one frequency of the symbols.",
    source=ADDITION,
    predicted=1,
    allowed=(2 / 3, 1),
    why="It is exact where a network treats all symbols alike: its moments commute with shifts of the symbols, and so does "
    "the basis, but where two frequencies are equally important. No trained network does so quite; with symbols shuffled it "
    "is 0.",
    of="transformer",
    among=GENERALISED,
)
def frequencies_at_the_end(cell):
    return one_frequency(cell.variants["transformer"], "end")


@said(
    "When it had only fitted its training set they have none.",
    source=ADDITION,
    predicted=0,
    allowed=(-0.25, 0.25),
    why="With symbols shuffled it is 0; a little of what generalises later may be there.",
    of="transformer",
    among=GENERALISED,
)
def frequencies_when_fitted(cell):
    return one_frequency(cell.variants["transformer"], "fitted")


@said(
    "In the interaction basis directions are nearer to one frequency than in any of PCA, SVD and neurons.",
    source=ADDITION,
    allowed=(0, 0.999),
    why="Best of the others over it, mean of layers; the interval over seeds must lie below 1.",
    of="transformer",
    among=GENERALISED,
)
def frequencies_of_this_basis(cell):
    data = cell.variants["transformer"]
    share = (
        data["frequency_share"].sel(moment="end").transpose("seed", "basis", "node_layer").values
    )
    share = share[:, :, :-1].mean(2)
    ratio = share[:, OTHERS].max(1) / share[:, BASES.index("global")]
    return np.where(generalised(data), ratio, np.nan)


@said(
    "Edges of its interaction graph join directions of the same frequency.",
    source=ADDITION,
    predicted=1,
    allowed=(2 / 3, 1),
    why="Beyond what it would be by chance, over what it can be. Frequencies that add to another one may meet in its layers.",
    of="transformer",
    among=GENERALISED,
)
def edges_within_frequencies(cell):
    data = cell.variants["transformer"]
    share, chance = (data[name].values for name in ("same_frequency", "same_by_chance"))
    return np.where(generalised(data), (share - chance) / (1 - chance), np.nan)


@said(
    "Modules of its interaction graph are its frequencies.",
    source=ADDITION,
    predicted=1,
    allowed=(0.5, 1),
    why="Adjusted Rand index, 0 by chance. The number of modules is found too, and may split a frequency's cosine and sine.",
    of="transformer",
    among=GENERALISED,
)
def modules_are_frequencies(cell):
    data = cell.variants["transformer"]
    return np.where(generalised(data), data["module_agreement"].values, np.nan)


@said(
    "Directions of one module of its graph have one frequency, of which there may be several modules.",
    source="docs/studies/interaction-basis.md",
    corrects="modules-are-frequencies",
    predicted=1,
    allowed=(0.5, 1),
    why="Beyond chance, over what it can be. Cosine and sine, and both tokens, may each have a module of their own.",
    of="transformer",
    among=GENERALISED,
)
def modules_are_frequencies_corrected(cell):
    data = cell.variants["transformer"]
    return np.where(generalised(data), data["module_purity"].values, np.nan)


@said(
    "The local basis, made for sparse edges between neighbouring layers, needs fewer of them than the global one.",
    source="Bushnaq et al. (2024), appendix A: gradients to the next layer, to sparsify interactions",
    allowed=(0, 0.999),
    why="Below 1 it is sparser; the interval over seeds must lie below.",
)
def local_edges(cell):
    return local_over_global(cell.simulation)


@said(
    "The local basis needs as many edges as the global one, within a quarter.",
    source="docs/studies/interaction-basis.md",
    corrects="local-edges",
    predicted=1,
    allowed=(0.75, 1.25),
    why="Of networks this shallow the bases nearly agree: they are the same from the last average over data on.",
)
def local_edges_corrected(cell):
    return local_over_global(cell.simulation)
