"""Claims on the interaction basis: exact facts of linear and of separate networks, and the conjecture of sparsity."""

from foretrain.quantities.readers import slope
from foretrain.study import claim

from .study import SOURCE

APPENDIX = "Bushnaq et al. (2024), appendix A"
OWN = "docs/studies/interaction-basis.md"
OTHERS = ["pca", "svd", "neurons"]
FEWER = "Below 1 the interaction basis is sparser than each of the others; the interval over seeds must lie below."


def here(c):
    """The default task, beside which all other networks stand; of any other task there is one alone."""
    return c.p.task == "digits"


def centred(c):
    """Activations are measured from their mean."""
    return here(c) and c.p.centring == "mean"


LINEAR = {
    "exact": True,
    "near": 0,
    "inside": (0, 1e-10),
    "source": APPENDIX,
    "why": "Exact; double precision leaves 1e-14 times the condition of the activations.",
    "where": here,
}
GENERALISED = {
    "where": here,
    "among": "seeds whose transformer answers nine tenths of the pairs held out",
    "source": "Nanda et al. (2023): modular addition by Fourier modes; docs/studies/interaction-basis.md",
}


def learned(values, runs):
    """Values of the runs that answer nine tenths of their examples right."""
    return values.where(runs.fitted_accuracy >= 0.9)


def generalised(values, c):
    """Values of the transformers that answer nine tenths of the pairs held out."""
    return values.where(c["transformer"].unseen_accuracy.sel(moment="end") >= 0.9)


def over_others(runs, name):
    """Number that the interaction basis needs over that of the best of PCA, SVD and neurons."""
    needed = runs[name]
    others = needed.sel(basis=OTHERS).min("basis", skipna=False)
    return learned(needed.sel(basis="global") / others, runs)


def fewer(id, network, of, **row):
    """Claim that a network needs fewer directions or edges in the interaction basis than in the best of others."""
    what = id.rpartition("-")[2]
    return claim(
        id,
        f"{network} needs fewer {what} in the interaction basis than in PCA, SVD or neurons.",
        lambda c: over_others(c[of], f"{what}_needed"),
        inside=(0, 0.999),
        source=SOURCE,
        why=FEWER,
        where=here,
        **row,
    )


def local_over_global(c):
    """Edges that the local basis needs over those of the global one."""
    needed = c.edges_needed
    return learned(needed.sel(basis="local") / needed.sel(basis="global"), c.simulation)


def at_best(c, moment):
    """Fraction of power at the best frequency of each direction, by basis and layer, without the outputs."""
    power = c["transformer"].frequency_share.sel(moment=moment)
    return power.isel(node_layer=slice(None, -1))


def one_frequency(c, moment):
    """Fraction of power at one frequency beyond that with shuffled symbols, over what it can be, mean of layers."""
    chance = c["transformer"].shuffled_share.sel(moment=moment).isel(node_layer=slice(None, -1))
    beyond = (at_best(c, moment).sel(basis="global") - chance) / (1 - chance)
    return generalised(beyond.mean("node_layer", skipna=False), c)


def of_others(c):
    """Fraction of power at one frequency in the best of the other bases, over that in the interaction basis."""
    power = at_best(c, "end").mean("node_layer", skipna=False)
    return generalised(power.sel(basis=OTHERS).max("basis") / power.sel(basis="global"), c)


def within_frequencies(c):
    """Strength of edges between directions of one frequency beyond chance, over what it can be."""
    chance = c["transformer"].same_by_chance
    return generalised((c["transformer"].same_frequency - chance) / (1 - chance), c)


DIGITS, MODULAR = "A digits classifier", "A perceptron for modular addition"
ATTENTIVE = "A transformer for modular addition"
_modules = claim(
    "modules-are-frequencies",
    "Modules of the interaction graph of a transformer that generalised are its frequencies.",
    lambda c: generalised(c["transformer"].module_agreement, c),
    near=1,
    inside=(0.5, 1),
    rank="headline",
    why="Adjusted Rand index, 0 by chance. The number of modules is chosen too, and may split a frequency's cosine and sine.",
    **GENERALISED,
)
_local = claim(
    "local-edges",
    "The local basis, made for sparse edges between neighbouring layers, needs fewer edges than the global basis.",
    local_over_global,
    inside=(0, 0.999),
    source=APPENDIX + ": gradients to the next layer, to sparsify interactions",
    why="Below 1 the local basis is sparser; the interval over seeds must lie below.",
    where=here,
)
CLAIMS = [
    claim(
        "identity",
        "In the interaction bases of a deep linear network every layer map is the identity, and all layers have the same "
        "importances.",
        lambda c: c["linear"][["identity_gap", "importance_gap"]].to_array(),
        rank="headline",
        **LINEAR,
    ),
    claim(
        "diagonal-edges",
        "The edges of a deep linear network join each direction to its own and are as strong as it is important.",
        lambda c: c["linear"].edge_gap,
        rank="control",
        **LINEAR,
    ),
    claim(
        "product-blocks",
        "Blocks that share nothing have no edge between them, on data that are a product of samples of each.",
        lambda c: c["blocks"].cross_on_product,
        exact=True,
        near=0,
        inside=(0, 1e-8),
        source=SOURCE,
        why="Cross moments vanish but for rounding; an edge is a square, and its root is compared.",
        where=centred,
    ),
    claim(
        "sampled-blocks",
        "On independent samples the edges between blocks that share nothing fall as one over the number of samples.",
        lambda c: slope(c["blocks"].cross_on_samples, "sample_count"),
        near=-1,
        inside=(-1.3, -0.7),
        source=OWN,
        why="Sampled cross moments are of order n^(-1/2) and an edge is a square. Where importances of both blocks nearly "
        "agree their directions mix first, so that the median over networks is looked at, and may be off by some tenths.",
        where=centred,
    ),
    claim(
        "joined-blocks",
        "An edge between two blocks grows as the square of a weight that joins them.",
        lambda c: slope(c["blocks"].cross_on_joined, "joint"),
        near=2,
        inside=(1.95, 2.05),
        source=OWN,
        why="Contributions are of first order in it, and an edge is their mean square; the next order is smaller by a weight "
        "over a gap of importances.",
        where=centred,
    ),
    fewer("fewer-directions", DIGITS, "", rank="headline"),
    fewer("fewer-edges", DIGITS, "", rank="headline"),
    fewer("modular-directions", MODULAR, "modular"),
    fewer("modular-edges", MODULAR, "modular"),
    fewer("transformer-directions", ATTENTIVE, "transformer"),
    fewer("transformer-edges", ATTENTIVE, "transformer", rank="detail"),
    claim(
        "frequencies-at-the-end",
        "Each direction of the interaction basis of a transformer that generalised has one frequency of the symbols.",
        lambda c: one_frequency(c, "end"),
        near=1,
        inside=(2 / 3, 1),
        rank="detail",
        why="Exact where a network treats all symbols alike: its moments commute with shifts of the symbols, and so does the "
        "basis, but where two frequencies are equally important. No trained network does so quite; with symbols shuffled it "
        "is 0.",
        **GENERALISED,
    ),
    claim(
        "frequencies-when-fitted",
        "When the transformer has only fitted its training set, directions of its interaction basis have no frequency.",
        lambda c: one_frequency(c, "fitted"),
        near=0,
        inside=(-0.25, 0.25),
        why="With symbols shuffled it is 0; a little of what generalises later may be there.",
        **GENERALISED,
    ),
    claim(
        "frequencies-of-this-basis",
        "In the interaction basis of the transformer directions are nearer to one frequency than in PCA, SVD or neurons.",
        of_others,
        inside=(0, 0.999),
        why="Best of the others over it, mean of layers; the interval over seeds must lie below 1.",
        **GENERALISED,
    ),
    claim(
        "edges-within-frequencies",
        "Edges of the interaction graph of the transformer join directions of the same frequency.",
        within_frequencies,
        near=1,
        inside=(2 / 3, 1),
        why="Beyond what it would be by chance, over what it can be. Frequencies that add to another may meet in its layers.",
        **GENERALISED,
    ),
    _modules,
    _modules.corrected(
        "Directions of one module of the transformer's graph have one frequency, of which there may be several modules.",
        quantity=lambda c: generalised(c["transformer"].module_purity, c),
        near=1,
        source=OWN,
        why="Beyond chance, over what it can be. Cosine and sine, and both tokens, may each have a module of their own.",
    ),
    _local,
    _local.corrected(
        "The local basis needs as many edges as the global one, within a quarter.",
        near=1,
        inside=(0.75, 1.25),
        source=OWN,
        why="Of networks this shallow the bases nearly agree: they are the same from the last average over data on.",
    ),
]
