"""A transformer learns addition modulo p from some of all pairs; the frequencies of its interaction basis."""

from functools import lru_cache

import numpy as np

from foretrain.arithmetic import arithmetic
from foretrain.degeneracy import folded
from foretrain.degeneracy.interactions.ablation import all_bases
from foretrain.degeneracy.transformer import of_arrays, pairs
from foretrain.training import transformer

from .study import BASES, DRAWN

ACCURACY, SHUFFLES = 0.95, 20  # accuracy on training samples that counts as fitted


@lru_cache(maxsize=8)
def _compiled(p):
    """Compile the first state from inputs, and the training from a state to the end or until the training set is fitted."""
    import jax

    program = transformer.program(p)

    def until(inputs, state, fitted):
        def going(state):
            return (state.taken < inputs["max_steps"]) & ~(fitted & (state.first[0] >= 0))

        return jax.lax.while_loop(going, lambda state: program.step(inputs, state), state)

    return jax.jit(program.init), jax.jit(until)


def train(p, seed):
    """Return the networks of both moments, all pairs, their labels, and which pairs were trained."""
    names = ("embedding_dim", "hidden_width", "training_share")
    sizes = {name: getattr(p, name) for name in names}
    modular = transformer.Modular(symbols=p.modulus, snapshots=2, circles=1, **sizes)
    arrays = transformer.inputs(modular, seed) | transformer.shared(modular)
    for part in ("embedding", "decoder"):
        arrays |= {f"{part}_learning_rate": p.learning_rate, f"{part}_decay": p.weight_decay}
    arrays["accuracy_threshold"] = ACCURACY
    with arithmetic("float32"):
        values: dict = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
        values["max_steps"] = np.int32(p.updates)
        init, until = _compiled(modular)
        fitted = until(values, init(values), True)
        states = fitted, until(values, fitted, False)
    networks = [of_arrays(end.decoder._asdict() | {"embedding": end.embedding}) for end in states]
    labels, training = arrays["chosen"].argmax(-1).ravel(), arrays["training"].ravel() > 0
    return networks, pairs(p.modulus), labels, training


def powers(values):
    """Power of functions of two symbols at each frequency, as shares of all that varies: (k, p, p) to (k, p // 2).

    What is of frequency v has no Fourier modes along either symbol but 0, v and -v. Modes of two frequencies, such as
    cos(a) cos(2 b), are of none.
    """
    p = values.shape[-1]
    power = np.abs(np.fft.fft2(values)) ** 2
    power[:, 0, 0] = 0
    whole = power.sum((1, 2))
    whole = np.where(whole > 1e-12 * whole.max(initial=1e-300), whole, np.inf)
    size = np.minimum(np.arange(p), p - np.arange(p))
    by_frequency = [(size == 0) | (size == v) for v in range(1, p // 2 + 1)]
    return (
        np.stack([power[:, modes][:, :, modes].sum((1, 2)) for modes in by_frequency], 1)
        / whole[:, None]
    )


def frequencies(network, x, bases, random):
    """Measure how far the directions of every layer have one frequency each, in each of the bases.

    A direction weighs by its variance times its mean squared effect on the outputs, by the first basis, of which symbols are
    shuffled too. The declarations of the study explain the arrays, here of one moment.
    """
    p = round(len(x) ** 0.5)
    first = next(iter(bases.values()))
    values = folded.layers(folded.steps(network, first.folded), x, first.folded)
    shares = np.zeros((len(bases), len(values)))
    shuffled, spectra = np.zeros(len(values)), np.zeros((len(bases), DRAWN, p // 2))
    best = np.full((len(values), DRAWN), -1)
    for number, (name, basis) in enumerate(bases.items()):
        layers = zip(basis.layers, first.layers, values, strict=True)
        for at, (layer, whole, f) in enumerate(layers):
            coordinates = layer.coordinates(f)
            weight = coordinates.var(0) * ((whole.forward @ layer.backward) ** 2).sum(0)
            weight = weight / weight.sum()
            grid = coordinates.T.reshape(-1, p, p)
            power = powers(grid)
            shares[number, at] = weight @ power.max(1)
            if number == 0:
                orders = [random.permutation(p) for _ in range(SHUFFLES)]
                mixed = [weight @ powers(grid[:, order][:, :, order]).max(1) for order in orders]
                shuffled[at] = np.mean(mixed)
            if at == 0:
                most = np.argsort(-weight, kind="stable")[:DRAWN]
                spectra[number, : len(most)] = power[most]
            if name == "local":
                best[at, : len(power)] = power.argmax(1)[:DRAWN] + 1
    return {
        "frequency_share": shares,
        "shuffled_share": shuffled,
        "input_spectrum": spectra,
        "direction_frequency": best,
    }


def structure(networks, x, p, random):
    """Return the results of `frequencies` in all bases at both moments, by name; best frequencies at the end alone."""
    options = {"names": BASES, "centre": p.centring == "mean", "few": True}
    by_moment = [frequencies(net, x, all_bases(net, x, **options), random) for net in networks]
    both = {name: np.stack([values[name] for values in by_moment]) for name in by_moment[0]}
    return both | {"direction_frequency": by_moment[-1]["direction_frequency"]}


def agreement(modules, best, random):
    """Measure how far modules of a graph are frequencies, both (layer, direction), -1 for none: agreement and purity."""
    from sklearn.metrics import adjusted_rand_score

    labels, own = modules[modules >= 0], best[modules >= 0]

    def purity(own):
        commonest = [np.bincount(own[labels == module]).max() for module in np.unique(labels)]
        return sum(commonest) / len(own)

    chance = np.mean([purity(random.permutation(own)) for _ in range(5 * SHUFFLES)])
    return {
        "module_agreement": adjusted_rand_score(own, labels),
        "module_purity": (purity(own) - chance) / (1 - chance) if chance < 1 else np.nan,
    }
