"""The toy model of grokking: embeddings of symbols and a decoder learn an operation from some of its samples."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from foretrain.dynamics.program import CONVERGED, RUNNING, Program
from foretrain.errors import argument_error, finite_array
from foretrain.networks.drawn import check_drawn
from foretrain.networks.embedding import Decoder, decoder_shapes, draw_decoder
from foretrain.plans.parameters import choice, default, parameter, size
from foretrain.streams import Seed, generator, key
from foretrain.tasks.array_files import read_npz
from foretrain.tasks.data_files import DataFile, data
from foretrain.tasks.groups import OPERATIONS, Operation, named, training_size
from foretrain.theory.grokking import effective_loss, parallelograms
from foretrain.training import phases
from foretrain.vocabulary import declare

DELAY = 1000  # steps from training to validation from which on it is grokking
WIDE = 128  # hidden units from which on the state of a run fills the cache of a core
SLACK = 1e-6  # rounding of shares in float32
VECTOR = 16  # samples; products of whole vectors are the fast ones

declare(
    "step",
    rqi="Share of all parallelograms that the embeddings have; 1 where there are none.",
    decoder_rqi="Share of all parallelograms whose two samples the decoder answers alike: their mean squared difference over "
    "outputs is below delta^2 of the outputs' variance.",
    predicted_accuracy="Share of all samples that are trained, or share a parallelogram that the embeddings have with one "
    "that is.",
)
declare(
    "step symbol coordinate",
    embedding="Embedding of every symbol; of matrices the entries, row by row.",
)
declare(unit="step", rqi_step="First step with the RQI wanted.")
declare(
    ideal_accuracy="Predicted accuracy of the parallelograms that must hold.",
    ideal_rqi="Share of all parallelograms that the training samples imply.",
    lambda_3="Slowest rate of the effective loss at unit variance that all samples make positive; 0 where it is not; nan "
    "for matrices.",
)


@dataclass(frozen=True)
class Toy(phases.TwoRates):
    """Parameters of the toy model; the steps are the budget within which a threshold counts as reached."""

    init_law, activation = "uniform", "tanh"  # a study may make parameters of them

    symbols: int = size(10, "number of symbols", 1000, minimum=2, symbol="p")
    operation: str = choice(
        "integers without a modulus, or a group with that many elements", OPERATIONS
    )
    ordered: bool = parameter(
        False, "cyclic: (a, b) and (b, a) are two samples, and symbols matrices", static=True
    )
    embedding_dim: int = size(
        1, "dimension of an embedding; side of the matrix if ordered", 1000, symbol="d"
    )
    init_scale: float = parameter(
        1.0, "embeddings start uniformly in (-s/2, s/2)", symbol="s", minimum=0, maximum=1e6
    )
    training_size: int = parameter(45, "number of training samples", minimum=1)
    objective: str = choice(
        "squared error to a random target of each label, or cross-entropy of the labels",
        ("regression", "classification"),
    )
    hidden_width: int = size(200, "width of both hidden layers of the decoder", 10**4)
    target_dim: int = size(30, "regression: dimension of the targets", 10**4)
    decoder_learning_rate: float = default(1e-4, "rate of the decoder, AdamW")
    batch_size: int = parameter(
        0, "training samples of a step, drawn anew without repetition; 0 is all", static=True
    )
    rqi_threshold: float = parameter(
        0.95, "RQI above which the representation is learned", minimum=0, maximum=1 - 1e-6
    )
    parallelogram_tolerance: float = parameter(
        0.1,
        "delta, root mean square over entries below which a normalised parallelogram is closed; for matrices .71 is usual",
        above=0,
    )
    stop: str = choice(
        "a run ends early when both accuracies are reached; when the RQI is, too; or never",
        ("accuracy", "representation", "never"),
    )
    start_file: str = parameter(
        "",
        "npz with arrays to start from instead of drawn ones, {seed} in its name standing for the seed's number",
    )
    steps: int = default(100_000)
    observe_every: int = default(100)


operation_of = cache(named)


def operation(p: Toy) -> Operation:
    """Return the operation that is learned."""
    return operation_of(p.operation, p.symbols, ordered=p.ordered)


def fractions(c):
    """Return the training sizes as fractions of all samples, with the dim training_size."""
    return c.axis("training_size") / len(operation(c.p).samples)


def accuracy(c, network=""):
    """Return the fraction of all samples that a network answers right at the end of its runs."""
    end, trained = c[network].end, fractions(c)
    return trained * end.train_accuracy + (1 - trained) * end.validation_accuracy


def check(p: Toy) -> None:
    """Refuse impossible sizes of a group, of a training set, of a batch."""
    if p.ordered and p.operation != "cyclic":
        raise argument_error("ordered", "go with operation `cyclic`", f"that is `{p.operation}`")
    training_size(operation(p), p.training_size)
    phases.check_batch(p)
    if p.start_file:  # that of the first seed is there and fits, before anything is trained
        _imported(p, Seed(0, 0))


def labels(p: Toy) -> dict[str, Any]:
    """Numbers of the symbols."""
    return {"symbol": np.arange(p.symbols)}


def shared(p: Toy) -> dict[str, np.ndarray]:
    """The operation as arrays: symbols and label of every sample, and the two samples of every parallelogram."""
    task = operation(p)
    first, second = parallelograms.parallelograms(task)[1].T.astype(np.int32)
    symbol = np.eye(task.symbols)[task.samples]
    return {
        "left": symbol[:, 0],
        "right": symbol[:, 1],
        "chosen": np.eye(task.outcomes)[:, task.labels],
        "pair_first": first,
        "pair_second": second,
    }


def shapes(p: Toy) -> dict[str, tuple[int, ...]]:
    """Shape of every array that a run starts from, but for its training samples."""
    task = operation(p)
    entries = p.embedding_dim if task.commutative else p.embedding_dim**2
    outputs = p.target_dim if p.objective == "regression" else task.outcomes
    return {
        "embedding": (task.symbols, entries),
        **decoder_shapes(entries, p.hidden_width, outputs),
        "targets": (task.outcomes, outputs),
    }


def reads(p: Toy, seed: Seed) -> list[DataFile]:
    """The file that a run starts from."""
    return [data(p.start_file.replace("{seed}", str(seed.number)))] if p.start_file else []


def _imported(p, seed):
    """The arrays of the file, of the shapes that the network has."""
    (file,), sizes = reads(p, seed), shapes(p)
    imported, known = {}, sizes.keys() - ({"targets"} if p.objective != "regression" else set())
    for name, values in read_npz(file.path or file.name).items():
        if name not in known:
            names = ", ".join(sorted(known))
            raise argument_error("start_file", f"hold arrays among {names}", f"holds `{name}`")
        array, wanted = finite_array(name, values), sizes[name]
        if name.startswith("weight"):  # PyTorch keeps a linear layer as (out, in).
            array, wanted = array.T, wanted[::-1]
        if array.shape != sizes[name]:
            raise argument_error(name, f"have shape {wanted}", f"has shape {values.shape}")
        imported[name] = array
    return imported


def inputs(p: Toy, seed: Seed) -> dict[str, Any]:
    """Return the start of one run, and the predictions of its training set.

    One seed has one start: sizes of the training set are nested, and the scale only multiplies the embedding.
    """
    task, sizes = operation(p), shapes(p)
    check_drawn(sizes.values())
    random = generator(seed, "embedding")
    start = random.uniform(-0.5, 0.5, sizes["embedding"])
    if p.init_law == "normal":
        start = random.standard_normal(sizes["embedding"])
    (entries, hidden), outputs = sizes["weight_1"], sizes["targets"][1]
    decoder = draw_decoder(generator(seed, "weights"), entries, hidden, outputs)
    random = generator(seed, "targets").standard_normal(sizes["targets"])
    order = generator(seed, "data").permutation(len(task.samples))
    training = np.argsort(order) < p.training_size
    ideal, rate = parallelograms.ideal(task, training), np.nan
    if task.commutative:
        size = p.embedding_dim * (task.symbols - 1)  # of unbiased variance 1 in each dimension
        rate = effective_loss.grokking_rate(task, training, size)
    return {
        "embedding": p.init_scale * start,
        **decoder._asdict(),
        "targets": random if p.objective == "regression" else np.eye(outputs),
        **(_imported(p, seed) if p.start_file else {}),
        "training": training.astype(float),
        "ideal_accuracy": np.float64(parallelograms.predicted_accuracy(task, training, ideal)),
        "ideal_rqi": np.float64(parallelograms.fraction(ideal)),
        "lambda_3": np.float64(rate),
    }


def program(p: Toy) -> Program:
    """The toy model under AdamW; a step asks for all samples once, for its gradient and for every threshold.

    A threshold is looked at in every step, so that first steps are exact. On a CPU wide networks move one after the other,
    since the state of one fills the cache, and those samples of a whole vector that are only looked at have no slope.
    """
    import jax
    import jax.numpy as jnp

    from foretrain.networks import embedding as network

    task = operation(p)
    large = p.hidden_width >= WIDE and jax.default_backend() == "cpu"
    samples = len(task.samples)
    # With at most so many training samples, the slopes of the others need not be formed.
    most = (samples - 1) // VECTOR * VECTOR if large else 0

    def joined(embedding, inputs):
        left, right = inputs["left"], inputs["right"]
        if task.commutative:
            return network.joined_sums(embedding, left + right)
        return network.joined_products(embedding, left, right)

    def loss(outputs, inputs, part):
        """Mean loss over the samples in `part`, from outputs (output, sample)."""
        targets = inputs["targets"].T @ inputs["chosen"]
        each = network.sample_losses(outputs.T, targets.T, p.objective)
        return (each * part).sum() / part.sum()

    def closed(embedding, entries, inputs):
        """Parallelograms that the embeddings have, whose joined ones are `entries`, bool (parallelogram,)."""
        first, second = inputs["pair_first"], inputs["pair_second"]
        scale = embedding.var(0, ddof=1) if task.commutative else (embedding**2).mean() ** 2
        gap = ((entries[first] - entries[second]) ** 2 / scale).mean(1)
        return gap < inputs["parallelogram_tolerance"] ** 2

    def share(which, dtype):
        return which.astype(dtype).mean() if which.size else jnp.ones((), dtype)

    def levels(which, outputs, inputs):
        """Accuracy in training and validation, and RQI: the share of the parallelograms that are closed."""
        right = network.right_answers(outputs.T, inputs["targets"], inputs["chosen"])
        train = inputs["training"]
        return *phases.shares_right(right, train, 1 - train), share(which, right.dtype)

    def reached(levels, inputs):
        train, validation, rqi = levels
        enough = inputs["accuracy_threshold"]
        return jnp.stack([train >= enough, validation >= enough, rqi > inputs["rqi_threshold"]])

    def init(inputs):
        decoder = network.turned(Decoder(*map(inputs.__getitem__, Decoder._fields)))
        return phases.start(inputs["embedding"], decoder, 3)

    def batch(inputs, state):
        """Weight of every sample in the loss of this step."""
        if not p.batch_size:
            return inputs["training"]
        random = key(inputs["root_seed"], inputs["seed"], "batch")
        random = jax.random.fold_in(random, state.taken)
        order = jax.random.uniform(random, inputs["training"].shape) - inputs["training"]
        rank = jnp.argsort(jnp.argsort(order))
        return (rank < p.batch_size).astype(inputs["training"].dtype)

    def step(inputs, state):
        inputs = {**inputs, "part": batch(inputs, state)}
        if most:  # training samples first; the same in every step, so that XLA does it once
            order = jnp.argsort(-inputs["training"], stable=True)
            place = jnp.argsort(order)
            names = "left", "right", "training", "part"
            inputs |= {name: inputs[name][order] for name in names}
            inputs |= {name: place[inputs[name]] for name in ("pair_first", "pair_second")}
            inputs["chosen"] = inputs["chosen"][:, order]
        entries, pull = jax.vjp(lambda embedding: joined(embedding, inputs), state.embedding)
        first, second, outputs = network.layers(state.decoder, entries, p.activation)
        back = jax.grad(loss)(outputs, inputs, inputs["part"])

        def slope_of(count):
            """Slope by the joined embeddings and by the decoder from the first `count` samples; the others have none."""
            by_decoder, by_entries = network.slopes(
                state.decoder,
                entries[:count],
                first[:count],
                second[:count],
                back[:, :count],
                p.activation,
            )
            return jnp.zeros_like(entries).at[:count].set(by_entries), by_decoder

        whole = lambda: slope_of(samples)  # noqa: E731
        few = inputs["training"].sum() <= most
        by = jax.lax.cond(few, lambda: slope_of(most), whole) if most else whole()
        slope = *pull(by[0]), by[1]
        which = closed(state.embedding, entries, inputs)
        first = phases.first_steps(state, reached(levels(which, outputs, inputs), inputs))
        return phases.step(inputs, state, slope, first)

    def look(inputs, state):
        """Loss, outputs, closed parallelograms and levels of a state."""
        entries = joined(state.embedding, inputs)
        *_, outputs = network.layers(state.decoder, entries, p.activation)
        value = loss(outputs, inputs, inputs["training"])
        which = closed(state.embedding, entries, inputs)
        return value, outputs.T, which, levels(which, outputs, inputs)

    def observe(inputs, state):
        value, outputs, which, (train, validation, rqi) = look(inputs, state)
        first, second, training = inputs["pair_first"], inputs["pair_second"], inputs["training"]
        reach = training.at[first].max(which * training[second])
        reach = reach.at[second].max(which * training[first])
        gap = ((outputs[first] - outputs[second]) ** 2).mean(1)
        alike = gap < inputs["parallelogram_tolerance"] ** 2 * outputs.var(0).mean()
        return {
            "loss": value,
            "train_accuracy": train,
            "validation_accuracy": validation,
            "rqi": rqi,
            "decoder_rqi": share(alike, outputs.dtype),
            "predicted_accuracy": reach.mean(),
            "embedding": state.embedding,
        }

    def done(inputs, state, observed):
        if p.stop == "never":
            return jnp.int8(RUNNING)
        levels = [observed[name] for name in ("train_accuracy", "validation_accuracy", "rqi")]
        which = (state.first >= 0) | reached(levels, inputs)
        ended = which[:2].all() if p.stop == "accuracy" else which.all()
        return jnp.where(ended, CONVERGED, RUNNING).astype(jnp.int8)

    def finish(inputs, state):
        first = phases.first_steps(state, reached(look(inputs, state)[3], inputs))
        known = {name: inputs[name] for name in ("ideal_accuracy", "ideal_rqi", "lambda_3")}
        return {**phases.ends(first, DELAY, state.embedding.dtype), **known}

    return Program(init, step, observe, done, finish, in_turn=large)
