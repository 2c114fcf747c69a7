"""Modular addition learned by a transformer of two tokens, or by the toy model's decoder of a sum of two embeddings."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.dynamics.program import CONVERGED, RUNNING, Program
from foretrain.errors import argument_error
from foretrain.networks.drawn import check_drawn
from foretrain.networks.embedding import draw_decoder
from foretrain.networks.transformer import draw
from foretrain.plans.parameters import choice, default, parameter, size
from foretrain.streams import Seed, generator, key
from foretrain.training import phases
from foretrain.vocabulary import declare

AXES_OF = ("final", "current", "random")  # of the embeddings at the end, at the snapshot, of none

declare(
    "step",
    effective_dimension="Exponential of the entropy of the shares of variance along the embeddings' principal axes.",
)
declare("snapshot", unit="step", snapshot_step="Step of each snapshot, the last being the end.")
declare(
    "snapshot symbol coordinate", snapshot_embedding="Embedding of every symbol at each snapshot."
)
declare(
    "snapshot axes_of rank",
    projected_accuracy="Validation accuracy when embeddings keep their mean and so many axes only.",
)


@dataclass(frozen=True)
class Modular(phases.TwoRates):
    """Parameters of a transformer on addition modulo p; the steps are the budget of a threshold."""

    symbols: int = size(17, "number of symbols", 1000, minimum=2, symbol="p")
    architecture: str = choice(
        "two tokens, all ordered pairs; or the toy model, a perceptron of the sum of two embeddings, pairs a <= b",
        ("transformer", "toy"),
        sweepable=False,
    )
    operation: str = choice("addition modulo p, or without a modulus", ("cyclic", "addition"))
    embedding_dim: int = size(32, "dimension of an embedding", 10**4, symbol="d")
    hidden_width: int = size(64, "width of the perceptron in a layer, or of the toy model's", 10**5)
    layers: int = size(1, "layers of the transformer", 100)
    training_share: float = parameter(
        0.8, "share of all pairs that are trained", above=0, maximum=1
    )
    init_scale: float = parameter(
        1.0, "standard deviation of the initial embeddings", minimum=0, maximum=1e6
    )
    dropout: float = parameter(
        0.0, "share dropped in every layer", minimum=0, maximum=0.95, static=True
    )
    delay: int = parameter(
        1000, "steps from training to validation from which on it is grokking", minimum=0
    )
    extension: float = parameter(
        1.0,
        "a run goes on for this times the step at which it generalised; below 0 to the last step",
        maximum=1e6,
    )
    snapshots: int = size(
        24,
        "most snapshots of a run: at step 0, then at 8 times powers of the square root of 2",
        57,
        minimum=2,
    )
    circles: int = size(4, "snapshots are projected on 2, 4, ... up to twice so many axes", 100)
    steps: int = default(20_000)
    observe_every: int = default(50)


def check(p: Modular) -> None:
    """Refuse a training set without samples, and dropout in a toy model."""
    if not round(p.training_share * p.symbols**2):
        raise argument_error("training_share", "leave a training sample", f"is {p.training_share}")
    if p.architecture == "toy" and p.dropout:
        raise argument_error("dropout", "be 0 in the toy model", f"is {p.dropout}")


def outcomes(p: Modular) -> int:
    """Number of labels."""
    return p.symbols if p.operation == "cyclic" else 2 * p.symbols - 1


def ranks(p: Modular) -> np.ndarray:
    """Numbers of axes that snapshots are projected on."""
    return 2 * np.arange(1, min(p.circles, axes(p) // 2) + 1) if axes(p) > 1 else np.ones(1, int)


def axes(p: Modular) -> int:
    """Number of principal axes that embeddings can have."""
    return min(p.symbols - 1, p.embedding_dim)


def snapshot_steps(p: Modular) -> np.ndarray:
    """Steps of the snapshots of a run that lasts long enough."""
    return np.round(8 * 2 ** (np.r_[-np.inf, : p.snapshots - 1] / 2)).astype(np.int32)


def labels(p: Modular) -> dict[str, Any]:
    """Return symbols, ranks of projections, and the kinds of their axes."""
    return {"symbol": np.arange(p.symbols), "rank": ranks(p), "axes_of": np.array(AXES_OF)}


def shared(p: Modular) -> dict[str, np.ndarray]:
    """The operation: 1 at the label of every pair, (symbol, symbol, label), and pairs that are samples."""
    number = np.arange(p.symbols)
    label = number[:, None] + number
    label = label % p.symbols if p.operation == "cyclic" else label
    samples = np.ones_like(label) if p.architecture == "transformer" else number[:, None] <= number
    return {"chosen": np.eye(outcomes(p))[label], "samples": samples.astype(float)}


def inputs(p: Modular, seed: Seed) -> dict[str, Any]:
    """Start and training set of one run; training sets are nested, and the scale only multiplies the embedding."""
    sizes = p.symbols, p.embedding_dim
    check_drawn([sizes, (p.embedding_dim, p.hidden_width), (p.symbols, p.symbols, outcomes(p))])
    random = generator(seed, "weights")
    if p.architecture == "toy":
        decoder = draw_decoder(random, p.embedding_dim, p.hidden_width, outcomes(p))
    else:
        decoder = draw(random, p.embedding_dim, p.hidden_width, p.layers, outcomes(p))
    order = generator(seed, "data").random((p.symbols, p.symbols))
    samples = shared(p)["samples"] > 0
    size = max(1, round(p.training_share * samples.sum()))
    last = np.sort(order[samples])[size - 1]
    return {
        "embedding": p.init_scale * generator(seed, "embedding").standard_normal(sizes),
        **decoder._asdict(),
        "training": (samples & (order <= last)).astype(float),
    }


def program(p: Modular) -> Program:
    """The network under AdamW, with every threshold looked at in every step and without dropout."""
    import jax
    import jax.numpy as jnp

    from foretrain.networks import embedding as toy
    from foretrain.networks import transformer

    kind = transformer.Transformer if p.architecture == "transformer" else toy.Decoder
    times = snapshot_steps(p)
    numbers = ranks(p)

    def answers(embedding, decoder, random=None):
        if p.architecture == "transformer":
            return transformer.logits(decoder, embedding, p.dropout, random)
        joined = (embedding[:, None] + embedding).reshape(-1, p.embedding_dim)
        return toy.decode(decoder, joined).reshape(p.symbols, p.symbols, -1)

    def loss(weights, inputs, random=None):
        """Mean cross-entropy over training samples, and the answers to all."""
        outputs = answers(weights[0], weights[1], random)
        each = jax.nn.logsumexp(outputs, axis=-1) - (outputs * inputs["chosen"]).sum(-1)
        return (each * inputs["training"]).sum() / inputs["training"].sum(), outputs

    def accuracies(outputs, inputs):
        """Return accuracy in training and in validation; a tie is no right answer."""
        own = (outputs * inputs["chosen"]).sum(-1)
        others = jnp.where(inputs["chosen"] > 0, -jnp.inf, outputs).max(-1)
        right = (own > others).astype(outputs.dtype)
        train = inputs["training"]
        return jnp.stack(phases.shares_right(right, train, inputs["samples"] - train))

    def first_steps(state, outputs, inputs):
        """First steps at the thresholds, this one included."""
        return phases.first_steps(
            state, accuracies(outputs, inputs) >= inputs["accuracy_threshold"]
        )

    def snapshot(state):
        return jnp.minimum(jnp.searchsorted(jnp.asarray(times), state.taken), p.snapshots - 1)

    def keep(state):
        """Store these weights in the first snapshot whose step is not over yet."""
        weights = state.embedding, state.decoder
        place = snapshot(state)
        return jax.tree.map(lambda every, now: every.at[place].set(now), state.kept, weights)

    def init(inputs):
        weights = inputs["embedding"], kind(*(inputs[name] for name in kind._fields))
        kept = jax.tree.map(lambda part: jnp.zeros((p.snapshots, *part.shape), part.dtype), weights)
        state = phases.start(*weights, 2, kept)
        return state._replace(kept=keep(state))

    def step(inputs, state):
        weights, random = (state.embedding, state.decoder), None
        if p.dropout:
            drop = key(inputs["root_seed"], inputs["seed"], "dropout")
            random = jax.random.fold_in(drop, state.taken)
        (_, outputs), slope = jax.value_and_grad(loss, has_aux=True)(weights, inputs, random)
        first = first_steps(state, answers(*weights) if p.dropout else outputs, inputs)
        moved = phases.step(inputs, state, slope, first)
        return moved._replace(kept=keep(moved))

    def observe(inputs, state):
        value, outputs = loss((state.embedding, state.decoder), inputs)
        train, validation = accuracies(outputs, inputs)
        centred = state.embedding - state.embedding.mean(0)
        gram = centred @ centred.T if p.symbols <= p.embedding_dim else centred.T @ centred
        shares = jnp.maximum(jnp.linalg.eigvalsh(gram), 0)
        shares = shares / jnp.maximum(shares.sum(), jnp.finfo(shares.dtype).tiny)
        return {
            "loss": value,
            "train_accuracy": train,
            "validation_accuracy": validation,
            "effective_dimension": jnp.exp(jax.scipy.special.entr(shares).sum()),
        }

    def done(inputs, state, observed):
        end = (1 + inputs["extension"]) * state.first[1]
        ended = (inputs["extension"] >= 0) & (state.first >= 0).all() & (state.taken >= end)
        return jnp.where(ended, CONVERGED, RUNNING).astype(jnp.int8)

    def principal(embedding):
        """Principal axes, (axis, coordinate), the largest first."""
        centred = embedding - embedding.mean(0)
        return jnp.linalg.svd(centred, full_matrices=False)[2][: numbers[-1]]

    def projected(inputs, weights, bases):
        """Validation accuracy of these weights with embeddings on the first axes of every basis, (basis, rank)."""
        embedding, decoder = weights
        mean = embedding.mean(0)

        def accuracy_on(choice):
            basis, number = choice
            kept = bases[basis] * (jnp.arange(numbers[-1]) < number)[:, None]
            flat = mean + (embedding - mean) @ kept.T @ kept
            return accuracies(answers(flat, decoder), inputs)[1]

        which = np.indices((len(AXES_OF), len(numbers))).reshape(2, -1)
        pairs = jnp.asarray(which[0]), jnp.asarray(numbers[which[1]])
        return jax.lax.map(accuracy_on, pairs).reshape(len(AXES_OF), len(numbers))

    def finish(inputs, state):
        outputs = answers(state.embedding, state.decoder)
        first = first_steps(state, outputs, inputs)
        final = principal(state.embedding)
        any_axes = key(inputs["root_seed"], inputs["seed"], "axes")
        random = jnp.linalg.qr(jax.random.normal(any_axes, final.T.shape, final.dtype))[0].T

        def at(weights):
            return projected(inputs, weights, jnp.stack([final, principal(weights[0]), random]))

        accuracy = jax.lax.map(at, state.kept)
        number, place = jnp.arange(p.snapshots), snapshot(state)
        reached = number <= place
        step = jnp.where(number < place, times, state.taken).astype(accuracy.dtype)
        return {
            **phases.ends(first, inputs["delay"], accuracy.dtype),
            "snapshot_step": jnp.where(reached, step, jnp.nan),
            "snapshot_embedding": jnp.where(reached[:, None, None], state.kept[0], jnp.nan),
            "projected_accuracy": jnp.where(reached[:, None, None], accuracy, jnp.nan),
        }

    return Program(init, step, observe, done, finish)
