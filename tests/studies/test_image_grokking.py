import dataclasses
import itertools

import numpy as np
import pytest
from made_up import check, grid

from foretrain.figures.drawings import drawings
from foretrain.plans import catalogue
from foretrain.plans.plan import make_plan
from foretrain.streams import Seed
from foretrain.studies.image_grokking import study
from foretrain.theory.grokking.lazy_perceptron import shrinking

SEEDS = 6
P = study.Parameters()
AXES = {"weight_decay": (0.1, 0.0, 0.04, 0.05, 10.0), "last_learning_rate": (0.003, 0.0003)}
STEP = np.arange(0, P.steps + 1, P.observe_every)
SHAPE = (5, 2, SEEDS)
DECAY = np.array(AXES["weight_decay"])[:, None, None]
PER_STEP = np.ones(SHAPE)
for (row, decay), (column, rate) in itertools.product(*map(enumerate, AXES.values())):
    PER_STEP[row, column] = shrinking(P.learning_rate, rate, decay)
with np.errstate(divide="ignore"):
    LAWS = {
        "forgetting_step": np.log(P.init_scale) / PER_STEP,
        # The kernel generalises at alpha = 4, give or take.
        "lazy_step": np.log(P.init_scale / (4.0 + 0.05 * np.arange(SEEDS))) / PER_STEP,
        "shorter_lazy_step": np.where(DECAY > 0, 1.0, np.inf) * np.ones(SHAPE),
    }
SMALL = {
    "training_size": 20,
    "validation_size": 50,
    "hidden_width": 20,
    "validation_threshold": 0.3,
    "observe_every": 10,
}


def curves(fitted, generalised):
    """Accuracies that reach their thresholds at these steps, (..., seed)."""
    return {
        "train_accuracy": np.where(STEP >= np.asarray(fitted)[..., None], 1.0, 0.5),
        "validation_accuracy": np.where(STEP >= np.asarray(generalised)[..., None], 0.7, 0.1),
        "loss": np.ones(len(STEP)) + np.arange(SEEDS)[:, None],
    }


def build(late=1.0, power=0.0, fit=300.0, confused=np.inf, never=np.inf, law="lazy_step", **spoilt):
    """Runs that do as the kernel's law says.

    `late`: Factor on every step of generalisation; `power`: Power of the decay, a second factor; `fit`: Step at which runs
    fit; `confused`, `never`: Step at which those of the largest decay, and those without decay, generalise; `law`: Name of
    the law that gives the steps; `**spoilt`: Name of a variant to its steps of generalisation.
    """
    steps = LAWS[law] * late * np.where(DECAY > 0, DECAY / 0.1, 1.0) ** power
    steps = np.where(DECAY == 10, confused, np.where(DECAY == 0, never, steps))
    fitted = np.where(DECAY == 10, confused, fit) * np.ones(SHAPE)
    fitted[3, 1] = steps[3, 1]  # a cell of comprehension
    near = steps[0, 0]
    neighbour = {
        "usual": np.full(SEEDS, 40.0),
        "smaller": np.full(SEEDS, 300.0),
        "larger": near + np.log(4 / 3) / PER_STEP[0, 0],
        "fewer": 2 * near,
        "more": 0.5 * near,
    } | spoilt
    networks = {name: curves(np.full(SEEDS, 40.0), when) for name, when in neighbour.items()}
    networks |= {"": curves(fitted, steps), "theory": LAWS}
    return grid(P, AXES, SEEDS, networks, step=STEP)


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "four-phases": {"confused": 300.0},
        "memorises": {"never": 5000.0},
        "larger-start": [
            {"larger": np.full(SEEDS, 400.0)},
            {"usual": np.full(SEEDS, 560.0), "smaller": np.full(SEEDS, 580.0)},
        ],
        "logarithm": [{"larger": np.full(SEEDS, step)} for step in (5900.0, np.inf)],
        "more-images": [{"more": np.full(SEEDS, step)} for step in (5900.0, np.inf)],
        "forgotten": {},
        "forgotten.corrected": {"late": 2.2},
        "inverse-decay": {"power": 0.5},
        "inverse-decay.corrected": {"power": 0.5},
    }
    exceptions = {
        # Never is later than every step.
        "larger-start": {"larger": np.full(SEEDS, np.inf)},
        # Where fits take no time, what is so of the step is so of the delay.
        "inverse-decay.corrected": {"fit": 1.0},
        "forgotten": {"law": "forgetting_step"},
    }
    # A run that diverges when it has generalised keeps its phase.
    fitted = "four-phases", "inverse-decay", "inverse-decay.corrected"
    check("image-grokking", build, spoilt, exceptions, of_diverged=fitted)


@pytest.mark.parametrize("preset", study.PRESETS)
def test_other_networks_are_trained_in_one_cell_of_every_preset(preset):
    plan = make_plan("image-grokking", {}, preset=preset)
    cells = [
        dataclasses.replace(plan.parameters, **dict(zip(plan.axes, values, strict=True)))
        for values in itertools.product(*plan.axes.values())
    ]
    (neighbour,) = filter(None, map(study.variants, cells))
    assert set(neighbour) == {"usual", "smaller", "larger", "fewer", "more"}
    assert neighbour["larger"]["init_scale"] == pytest.approx(4 / 3 * plan.parameters.init_scale)


def test_what_is_forgotten_is_the_scale_of_the_start():
    p = study.Parameters(**SMALL, last_learning_rate=0.02, init_scale=5.0)
    step = study.predict(p, np.arange(1), Seed(0, 0))["forgetting_step"]
    body, last = (1 - rate * p.weight_decay for rate in (p.learning_rate, p.last_learning_rate))
    assert 5.0**3 * (body**2 * last) ** step == pytest.approx(1, rel=1e-9)
    never = study.predict(dataclasses.replace(p, weight_decay=0.0), np.arange(1), Seed(0, 0))
    assert never["forgetting_step"] == np.inf


@pytest.mark.parametrize("other", [{"training_size": 1000}, {"batch_size": 80}])
def test_training_sets_that_cannot_be_are_not_trained_beside(other):
    assert set(study.variants(study.Parameters(**other))) == {"usual", "smaller", "larger"}


def test_sizes_of_the_training_set_are_drawn_in_the_cell_that_has_them_wherever_it_stands():
    axes = {"weight_decay": (0.0, 0.1, 0.04, 0.05, 10.0), "last_learning_rate": (0.0003, 0.003)}
    runs = dataclasses.replace(build(never=5000.0), axes=axes)
    figure = drawings(catalogue.load("image-grokking"), runs)["delay"].figure
    *_, ax = [ax for ax in figure.axes if ax.get_visible()]
    lines = [line for line in ax.get_lines() if np.isfinite(line.get_ydata()).sum() == 3]
    assert ax.get_title(loc="left").endswith("last learning rate = 0.003")
    assert (len(lines), lines[0].get_label()) == (SEEDS, "weight decay = 0.1")
