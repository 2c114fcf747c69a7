import dataclasses
import itertools

import numpy as np
import pytest
from made_up import check, runs, verdicts

from foretrain.plans.grid import Grid
from foretrain.plans.plan import make_plan
from foretrain.studies.image_grokking import study
from foretrain.theory.lazy_perceptron import shrinking

SEEDS = 6
P = study.Parameters()
AXES = {"weight_decay": (0.1, 0.0, 0.04, 0.05, 10.0), "last_learning_rate": (0.003, 0.0003)}
STEP = np.arange(0, P.steps + 1, P.observe_every)
SHAPE = (5, 2, SEEDS)
# The kernel generalises at alpha = 4, give or take.
WHERE = 4.0 + 0.05 * np.arange(SEEDS)
DECAY = np.array(AXES["weight_decay"])[:, None, None]


def per_step():
    found = np.zeros(SHAPE)
    for (row, decay), (column, rate) in itertools.product(*map(enumerate, AXES.values())):
        found[row, column] = shrinking(P.learning_rate, rate, decay)
    return found


def laws():
    with np.errstate(divide="ignore"):
        return {
            "forgetting_step": np.log(P.init_scale) / per_step(),
            "lazy_step": np.log(P.init_scale / WHERE) / per_step(),
        }


def curves(fitted, generalised):
    """Accuracies that reach their thresholds at these steps, (..., seed)."""
    return {
        "train_accuracy": np.where(STEP >= np.asarray(fitted)[..., None], 1.0, 0.5),
        "validation_accuracy": np.where(STEP >= np.asarray(generalised)[..., None], 0.7, 0.1),
        "loss": np.ones(len(STEP)) + np.arange(SEEDS)[:, None],
    }


def grid(late=1.0, power=0.0, fit=300.0, confused=np.inf, forgets=False, never=None, spoilt=None):
    """Runs that do as the kernel's law says.

    Args:
        late: Factor on every step of generalisation; `power` of the decay is another.
        confused: Step at which runs of the largest decay fit.
        never: Step at which runs without decay generalise; None is never.
        fit: Step at which runs fit.
        forgets: Whether steps are those of `forgetting_step`.
        spoilt: Name of a variant to its steps of generalisation.
    """
    theory = laws()
    law = theory["forgetting_step" if forgets else "lazy_step"]
    steps = law * late * np.where(DECAY > 0, DECAY / 0.1, 1.0) ** power
    steps = np.where(DECAY == 0, np.inf if never is None else never, steps)
    fitted = np.broadcast_to(np.where(DECAY == 10, confused, fit), SHAPE)
    steps = np.where(DECAY == 10, np.inf if np.isinf(confused) else confused, steps)
    # A cell of comprehension, of which the laws say nothing.
    fitted, steps = fitted.copy(), steps.copy()
    fitted[3, 1] = steps[3, 1]
    rate = per_step()[0, 0]
    near = steps[0, 0]
    beside = {
        "usual": np.full(SEEDS, 40.0),
        "smaller": np.full(SEEDS, 300.0),
        "larger": near + np.log(4 / 3) / rate,
        "fewer": 2 * near,
        "more": 0.5 * near,
    } | (spoilt or {})
    variants = {}
    for name, when in beside.items():
        one = {
            key: np.zeros((*SHAPE, len(STEP))) for key in ("train_accuracy", "validation_accuracy")
        }
        made = curves(np.full(SEEDS, 40.0), when)
        for key in one:
            one[key][0, 0] = made[key]
        variants[name] = runs(AXES, SEEDS, one, step=STEP)
    return Grid(
        P,
        AXES,
        SEEDS,
        simulation=runs(AXES, SEEDS, curves(fitted, steps), step=STEP),
        variants=variants,
        theory=runs(AXES, SEEDS, theory, outcome=None),
    )


def test_every_sentence_can_hold_and_fail():
    check(
        "image-grokking",
        {
            **dict.fromkeys(
                (
                    "four-phases",
                    "memorises",
                    "larger-start",
                    "usual-start",
                    "logarithm",
                    "more-images",
                    "forgotten.corrected",
                    "inverse-decay",
                ),
                grid,
            ),
            # Where fits take no time, what is so of the step is so of the delay.
            "inverse-decay.corrected": lambda: grid(fit=1.0),
            "forgotten": lambda: grid(forgets=True),
        },
        {
            "four-phases": lambda: grid(confused=300.0),
            "memorises": lambda: grid(never=5000.0),
            "larger-start": lambda: grid(spoilt={"larger": np.full(SEEDS, 400.0)}),
            "usual-start": lambda: grid(spoilt={"usual": np.full(SEEDS, 560.0)}),
            "logarithm": lambda: grid(spoilt={"larger": np.full(SEEDS, 5900.0)}),
            "more-images": lambda: grid(spoilt={"more": np.full(SEEDS, 5900.0)}),
            "forgotten": grid,
            "forgotten.corrected": lambda: grid(late=2.2),
            "inverse-decay": lambda: grid(power=0.5),
            "inverse-decay.corrected": lambda: grid(power=0.5),
        },
    )


def test_never_is_later_than_every_step():
    lost = grid(spoilt={"larger": np.full(SEEDS, np.inf)})
    found = verdicts("image-grokking", lost)
    assert [claim.verdict for claim in found["larger-start"]] == ["holds"]
    assert [claim.verdict for claim in found["logarithm"]] == ["fails"]
    found = verdicts("image-grokking", grid(spoilt={"more": np.full(SEEDS, np.inf)}))
    assert [claim.verdict for claim in found["more-images"]] == ["fails"]


@pytest.mark.parametrize("preset", study.PRESETS)
def test_other_networks_are_trained_in_one_cell_of_every_preset(preset):
    plan = make_plan("image-grokking", {}, preset=preset)
    cells = [
        dataclasses.replace(plan.parameters, **dict(zip(plan.axes, values, strict=True)))
        for values in itertools.product(*plan.axes.values())
    ]
    (beside,) = filter(None, map(study.variants, cells))
    assert set(beside) == {"usual", "smaller", "larger", "fewer", "more"}
    assert beside["larger"]["init_scale"] == pytest.approx(4 / 3 * plan.parameters.init_scale)
