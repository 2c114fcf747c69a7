"""Four phases of learning, by the first steps at which training and validation accuracy are reached."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from foretrain.errors import argument_error
from foretrain.plans.blocks import Run
from foretrain.plans.parameters import parameter
from foretrain.vocabulary import declare

PHASES = ("comprehension", "grokking", "memorization", "confusion")

declare(
    "step",
    train_accuracy="Share of training samples answered right.",
    validation_accuracy="Share of the other samples answered right; 1 where there are none.",
)
declare(
    unit="step",
    train_step="First step with the accuracy wanted in training.",
    validation_step="First step with the accuracy wanted in validation.",
)
declare(kind="int", phase=f"0 to 3: {', '.join(PHASES)}.")


@dataclass(frozen=True)
class TwoRates(Run):
    """Rates and decays of embeddings and of all else, under AdamW, and the accuracy that counts as reached."""

    embedding_learning_rate: float = parameter(1e-3, "rate of the embeddings, AdamW", minimum=0)
    decoder_learning_rate: float = parameter(1e-3, "rate of all else, AdamW", minimum=0)
    embedding_decay: float = parameter(0.0, "decoupled weight decay of the embeddings", minimum=0)
    decoder_decay: float = parameter(
        0.0, "decoupled weight decay of all else, biases included", minimum=0
    )
    accuracy_threshold: float = parameter(
        0.9, "accuracy in training and in validation that counts as reached", above=0, maximum=1
    )


def check_batch(p: Any) -> None:
    """Refuse batches larger than the training set; raises `ArgumentError`."""
    if not 0 <= p.batch_size <= p.training_size:
        rule = f"be 0, or at most `training_size` = {p.training_size}"
        raise argument_error("batch_size", rule, f"is {p.batch_size}")


def phase(fits, generalises, late, where):
    """Return the place in `PHASES` of the phase of every run, int, of the shape of the runs.

    `fits` and `generalises` are bool: True where the accuracy wanted in training and in validation is reached; `late` where
    validation comes so much later that it is grokking. `where` is that of the arrays' library.
    """
    learned = where(late, PHASES.index("grokking"), PHASES.index("comprehension"))
    failed = where(fits, PHASES.index("memorization"), PHASES.index("confusion"))
    return where(fits & generalises, learned, failed)


def shares_right(right, train, rest) -> tuple[Any, Any]:
    """Return the shares of training samples and of the rest that are right; 1 where there is no rest."""
    import jax.numpy as jnp

    others = (right * rest).sum() / jnp.maximum(rest.sum(), 1)
    return (right * train).sum() / train.sum(), jnp.where(rest.sum() > 0, others, 1)


class State(NamedTuple):
    """State of a run: weights, optimizer memories, steps taken, first step at each threshold (-1: not yet), snapshots."""

    embedding: Any
    decoder: Any
    embedding_memory: Any
    decoder_memory: Any
    taken: Any
    first: Any
    kept: Any = None


def start(embedding, decoder, thresholds: int, kept=None) -> State:
    """Return the state before the first step."""
    import jax.numpy as jnp

    from foretrain.dynamics import descent

    memory, decoder_memory = (descent.start("adamw", part) for part in (embedding, decoder))
    first = jnp.full(thresholds, -1, jnp.int32)
    return State(embedding, decoder, memory, decoder_memory, jnp.int32(0), first, kept)


def first_steps(state: State, reached):
    """Return the first steps at the thresholds, of which `reached` are so at this step."""
    import jax.numpy as jnp

    return jnp.where((state.first < 0) & reached, state.taken, state.first)


def step(inputs, state: State, slopes, first) -> State:
    """Return the state after a step of AdamW on embedding and decoder, each with its own rate and decay.

    `inputs` have the parameters of `TwoRates`; `slopes` are the gradients by embedding and decoder; `first` is that of
    `first_steps`.
    """
    from foretrain.dynamics import descent

    def moved(name, slope):
        rate, decay = inputs[f"{name}_learning_rate"], inputs[f"{name}_decay"]
        weights, memory = getattr(state, name), getattr(state, f"{name}_memory")
        return descent.step("adamw", weights, slope, memory, rate, decay)

    (embedding, memory), (decoder, decoder_memory) = map(moved, ("embedding", "decoder"), slopes)
    return State(embedding, decoder, memory, decoder_memory, state.taken + 1, first, state.kept)


def ends(first, delay, dtype) -> dict[str, Any]:
    """Return the first steps at the thresholds, nan for never, and the phase, of a run that is over."""
    import jax.numpy as jnp

    train, validation = first[:2]
    code = phase(train >= 0, validation >= 0, validation - train >= delay, jnp.where)
    steps = jnp.where(first < 0, jnp.nan, first).astype(dtype)
    names = "train_step", "validation_step", "rqi_step"
    return {**dict(zip(names, steps, strict=False)), "phase": code.astype(jnp.int32)}
