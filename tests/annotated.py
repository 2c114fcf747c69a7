"""The run-time check of annotations that the tests switch on: beartype's, but of what refuses input itself."""

import random
from typing import Any, Protocol, runtime_checkable

import numpy as np

# Of a list one entry is checked, drawn at random: not from where Hypothesis, and tests, draw.
_shared, random.getrandbits = random.getrandbits, random.Random(0).getrandbits
try:
    from beartype import BeartypeConf, FrozenDict
    from beartype.claw import beartype_package
finally:
    random.getrandbits = _shared

# They take whatever a user or a file gives and say in one line what is wrong with it, which tests put to the proof.
_REFUSE_THEMSELVES = (
    "claims.sentence",
    "figures.drawings",
    "graph",
    "laboratory.conduct",
    "laboratory.train",
    "plans.card",
    "plans.options",
    "plans.plan",
    "quantities.measured",
    "results.manifest",
    "results.result",
)
_LOOK_AT_THEIR_CALLER = ("vocabulary",)
_NAME_TYPES_FOR_A_CHECKER_ALONE = ("engine.cluster", "results.summary")
_HOLDS_SHAPES_WHILE_IT_IS_TRACED = ("dynamics.chebyshev", "networks.image_routing")


@runtime_checkable
class _Array(Protocol):
    """An array of NumPy, or one of JAX in a program, which tuples of arrays hold, too."""

    @property
    def shape(self) -> Any: ...


def install() -> None:
    """Check every annotation of what is imported of foretrain from now on, in this process."""
    some = (
        *_REFUSE_THEMSELVES,
        *_LOOK_AT_THEIR_CALLER,
        *_NAME_TYPES_FOR_A_CHECKER_ALONE,
        *_HOLDS_SHAPES_WHILE_IT_IS_TRACED,
    )
    skipped = tuple(f"foretrain.{name}" for name in some)
    # Whole numbers pass for floats, as everywhere in Python.
    conf = BeartypeConf(
        is_pep484_tower=True,
        claw_is_pep526=False,
        claw_skip_package_names=skipped,
        hint_overrides=FrozenDict({np.ndarray: np.ndarray | _Array}),
    )
    beartype_package("foretrain", conf=conf)
