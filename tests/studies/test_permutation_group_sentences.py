"""Every sentence of ``permutation-group`` on made-up runs: some on which it holds, some on which it fails."""

import numpy as np
from made_up import check, runs

from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.tasks.groups import permutation_matrices

STUDY = catalogue.load("permutation-group")
SIZES, SEEDS = (9, 12, 15, 18, 21, 24, 27, 30, 33), 8
HEXAGON = np.exp(1j * np.pi / 3 * np.arange(6))


def made(*, gap=0.1, bound=1.0, shrink=False, start=18, after=True, order="turns", star=False):
    """Representations that grow with the training size, and are learned from 18 samples on.

    Args:
        gap: Real less predicted accuracy.
        bound: What can be deduced, relative to what is there.
        shrink: More samples make worse representations, later.
        start: First size at which the RQI and the accuracy are reached.
        after: Accuracy goes with the decoder's parallelograms, else with those of the matrices.
        order: Even and odd elements take turns around the middle, or are on two sides of it.
        star: Half of the six elements stay inside the triangle of the others.
    """
    size = np.array(SIZES, float)[:, None]
    whole = np.ones((len(SIZES), SEEDS))
    jitter = 1e-3 * np.random.default_rng(0).random(whole.shape)
    rising = (size - 9) / 24 * 0.95 + 0.04 + jitter
    falling = 1.04 - rising
    rqi = falling if shrink else rising
    learned = (size >= start) & (whole > 0)
    rqi = np.where(learned & (start < 40), np.maximum(rqi, 0.96 + rqi / 100), np.minimum(rqi, 0.9))
    steps = np.where(learned, 1000 * (size if shrink else 40 - size) + jitter, np.nan)
    accuracy = 0.5 + rising / 2.5
    place = {"turns": (0, 1, 3, 2, 4, 5), "sides": (0, 5, 4, 1, 2, 3)}[order]
    shape = (HEXAGON * np.where(np.arange(6) % 2, 0.3 if star else 1, 1))[list(place)]
    embedding = np.zeros((6, 9))
    embedding[:, 0], embedding[:, 4] = 2 * shape.real, shape.imag
    curve = lambda values: (values * whole)[..., None]  # noqa: E731
    simulation = runs(
        {"training_size": SIZES},
        SEEDS,
        {
            "train_accuracy": curve(accuracy),
            "validation_accuracy": curve(accuracy),
            "predicted_accuracy": curve(accuracy - gap),
            "rqi": curve(rqi),
            "decoder_rqi": curve(rising if after else falling),
            "ideal_rqi": bound * rqi,
            "rqi_step": steps,
            "validation_step": steps,
            "embedding": np.broadcast_to(embedding, (len(SIZES), SEEDS, 1, 6, 9)),
        },
        step=np.array([0]),
    )
    theory = {"deduction_size": np.full(len(SIZES), 17.0)}
    theory = runs({"training_size": SIZES}, 0, theory, outcome=None)
    p = STUDY.Parameters()
    return Grid(p, {"training_size": SIZES}, SEEDS, simulation=simulation, theory=theory)


def test_every_sentence_can_hold_and_fail():
    # Matrices whose RQI does not go with accuracy, though the decoder's does.
    good = {said.id: made for said in STUDY.sentences}
    good["after-decoder"] = lambda: made(shrink=True, start=99)
    spoilt = {
        "lower-bound": lambda: made(gap=-0.1),
        "deduced-only": lambda: made(bound=0.9),
        "grows": lambda: made(shrink=True, start=99),
        "sooner": lambda: made(shrink=True, start=9),
        "transition": lambda: made(start=99),
        "transition.corrected": lambda: made(start=9),
        "after-decoder": lambda: made(after=False),
        "hexagon": lambda: made(star=True),
        "hexagon.corrected": lambda: made(order="sides"),
    }
    check("permutation-group", good, spoilt)


def test_permutation_matrices_have_all_parallelograms():
    from foretrain.theory import parallelograms
    from foretrain.training import embedding as toy

    task = toy.operation(STUDY.Parameters())
    assert parallelograms.parallelograms_of_matrices(permutation_matrices(3), task).all()
