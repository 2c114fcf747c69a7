"""Claims on the interaction basis: exact facts of linear and of separate networks, and the conjecture of sparsity."""

import numpy as np

from foretrain.study import claim, slope

from .study import SOURCE

APPENDIX = "Bushnaq et al. (2024), appendix A"
OWN = "docs/studies/interaction-basis.md"
OTHERS = ["pca", "svd", "neurons"]


def on_digits(c):
    return c.p.task == "digits"  # other tasks have no variants


def where_learned(values, runs):
    """Return the values of the runs that answer nine tenths of their examples right."""
    return values.where(runs.fitted_accuracy >= 0.9)


def where_generalised(values, c):
    """Return the values of the transformers that answer nine tenths of the pairs held out."""
    return values.where(c["transformer"].unseen_accuracy.sel(moment="end") >= 0.9)


def ratio_to_others(c, name):
    """Return the number needed in the interaction basis over that of the best other, the largest of networks."""
    ratios = []
    for runs in (c.simulation, c["modular"], c["transformer"]):
        best = runs[name].sel(basis=OTHERS).min("basis", skipna=False)
        ratios.append(where_learned(runs[name].sel(basis="global") / best, runs))
    return np.maximum(np.maximum(*ratios[:2]), ratios[2])


def at_best(c, name, moment):
    """Return a fraction of power at the best frequency by layer, without the outputs."""
    return c["transformer"][name].sel(moment=moment).isel(node_layer=slice(None, -1))


def one_frequency(c, moment):
    """Return the power at one frequency beyond that with shuffled symbols, over the largest possible, mean of layers."""
    chance = at_best(c, "shuffled_share", moment)
    beyond = (at_best(c, "frequency_share", moment).sel(basis="global") - chance) / (1 - chance)
    return where_generalised(beyond.mean("node_layer", skipna=False), c)


def others_ratio(c):
    """Return the fraction of power at one frequency in the best of the other bases, over that in the interaction basis."""
    power = at_best(c, "frequency_share", "end").mean("node_layer", skipna=False)
    return where_generalised(power.sel(basis=OTHERS).max("basis") / power.sel(basis="global"), c)


FEWER = {
    "inside": (0, 0.999),
    "rank": "headline",
    "source": SOURCE,
    "where": on_digits,
    "why": "Of the three networks the largest ratio; below 1 the interaction basis is sparser than each of the others.",
}
GENERALISED = {
    "where": on_digits,
    "among": "seeds whose transformer answers nine tenths of the pairs held out",
    "source": "Nanda et al. (2023): modular addition by Fourier modes; docs/studies/interaction-basis.md",
}
CLAIMS = [
    claim(
        "identity",
        "In the interaction bases of a deep linear network every layer map is the identity, all layers have the same "
        "importances, and edges join each direction to its own and are as strong as it is important.",
        lambda c: c["linear"][["identity_gap", "importance_gap", "edge_gap"]].to_array(),
        at_most=1e-10,
        rank="headline",
        source=APPENDIX,
        why="Exact; double precision leaves 1e-14 times the condition of the activations.",
        where=on_digits,
    ),
    claim(
        "product-blocks",
        "Blocks that share nothing have no edge between them, on data that are a product of samples of each.",
        lambda c: c["blocks"].cross_on_product,
        at_most=1e-8,
        source=SOURCE,
        why="Cross moments vanish but for rounding; an edge is a square, and its root is compared.",
        where=lambda c: on_digits(c) and c.p.centring == "mean",
    ),
    claim(
        "sampled-blocks",
        "On independent samples the edges between blocks that share nothing fall as one over the number of samples.",
        lambda c: slope(c["blocks"].cross_on_samples, "sample_count"),
        near=-1,
        inside=(-1.3, -0.7),
        source=OWN,
        why="Sampled cross moments are of order n^(-1/2) and an edge is a square; where importances agree directions mix.",
        where=lambda c: on_digits(c) and c.p.centring == "mean",
    ),
    claim(
        "fewer-directions",
        "Perceptrons on digits and on modular addition, and a transformer on the latter, need fewer directions in the "
        "interaction basis than in PCA, SVD or neurons.",
        lambda c: ratio_to_others(c, "directions_needed"),
        **FEWER,
    ),
    claim(
        "fewer-edges",
        "Perceptrons on digits and on modular addition, and a transformer on the latter, need fewer edges in the interaction "
        "basis than in PCA, SVD or neurons.",
        lambda c: ratio_to_others(c, "edges_needed"),
        **FEWER,
    ),
    claim(
        "frequencies-at-the-end",
        "Each direction of the interaction basis of a transformer that generalised has one frequency of the symbols.",
        lambda c: one_frequency(c, "end"),
        near=1,
        inside=(2 / 3, 1),
        why="Exact where a network treats all symbols alike, as no trained network does quite; with symbols shuffled it is 0.",
        **GENERALISED,
    ),
    claim(
        "frequencies-when-fitted",
        "When the transformer has only fitted its training set, directions of its interaction basis have no frequency.",
        lambda c: one_frequency(c, "fitted"),
        near=0,
        inside=(-0.25, 0.25),
        rank="control",
        why="With symbols shuffled it is 0; a little of what generalises later may be there.",
        **GENERALISED,
    ),
    claim(
        "frequencies-of-this-basis",
        "In the interaction basis of the transformer directions are nearer to one frequency than in PCA, SVD or neurons.",
        others_ratio,
        inside=(0, 0.999),
        why="Best of the others over it, mean of layers; the interval over seeds must lie below 1.",
        **GENERALISED,
    ),
    *claim(
        "modules-are-frequencies",
        "Modules of the interaction graph of a transformer that generalised are its frequencies.",
        lambda c: where_generalised(c["transformer"].module_agreement, c),
        near=1,
        inside=(0.5, 1),
        rank="headline",
        why="Adjusted Rand index, 0 by chance. The number of modules is chosen too, and may split a frequency's cosine and "
        "sine.",
        **GENERALISED,
    ).and_corrected(
        "Directions of one module of the transformer's graph have one frequency, of which there may be several modules.",
        quantity=lambda c: where_generalised(c["transformer"].module_purity, c),
        near=1,
        source=OWN,
        why="Beyond chance, over what it can be. Cosine and sine, and both tokens, may each have a module of their own.",
    ),
    *claim(
        "local-edges",
        "The local basis, made for sparse edges between neighbouring layers, needs fewer edges than the global basis.",
        lambda c: where_learned(
            c.edges_needed.sel(basis="local") / c.edges_needed.sel(basis="global"), c.simulation
        ),
        inside=(0, 0.999),
        source=APPENDIX + ": gradients to the next layer, to sparsify interactions",
        why="Below 1 the local basis is sparser; the interval over seeds must lie below.",
        where=on_digits,
    ).and_corrected(
        "The local basis needs as many edges as the global one, within a quarter.",
        near=1,
        inside=(0.75, 1.25),
        source=OWN,
        why="Of networks this shallow the bases nearly agree: they are the same from the last average over data on.",
    ),
]
