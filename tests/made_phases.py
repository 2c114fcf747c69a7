"""Made-up maps of grokking phases."""

import numpy as np
from made_up import runs

from foretrain.plans import catalogue
from foretrain.plans.grid import Grid

STUDY = catalogue.load("grokking-phases")
AXES = {name: STUDY.axes[name] for name in ("decoder_learning_rate", "embedding_learning_rate")}
SEEDS = 10
EFFECTIVE, DECODER = 1.3, 0.9  # rate times steps


def build(
    *,
    phases="times",
    shift=0.0,
    slower=1.0,
    inverted=False,
    rqi=None,
    untold_learn=False,
    flow=1.0,
    lambda_3=3.0,
):
    """Representation and decoder take what theory says, one after the other; a run that fits first memorises.

    Args:
        phases: What the end depends on: "times", "ratio" or "embedding" only, or "seed".
        shift: Of the boundary, in decades.
        slower: Factor of the step of validation.
        inverted: Cells that should be sooner are later.
        rqi: Of all runs; None follows from the phase.
        untold_learn: Training sets that do not tell enough generalise, too.
        flow: Predicted time of the representation, relative to the real one.
        lambda_3: Stored rate; None is that which tells the step of validation exactly.
    """
    random = np.random.default_rng(0)
    d, e = (np.array(one) for one in AXES.values())
    d, e = d[:, None, None], e[None, :, None]
    whole = np.ones((5, 5, SEEDS))
    spread = 1 + 0.1 * np.linspace(-1, 1, SEEDS)[random.permutation(SEEDS)]
    representation, decoder = EFFECTIVE * spread / e * whole, DECODER * spread / d * whole
    total = representation + decoder
    told = np.arange(SEEDS) < SEEDS - 2
    learns = (np.log10(representation / decoder) < shift) & (total < 20_000 * 2)
    fits = decoder < 20_000
    if phases == "embedding":
        learns = (e > 1e-3) & (whole > 0)
    delayed = total - decoder >= 1000
    if phases == "ratio":
        ratio = np.log10(e / d * whole)
        fits, learns, delayed = whole > 0, ratio > 0.2, ratio < 1.6
    phase = np.where(fits, np.where(learns, delayed.astype(int), 2), 3)
    if phases == "seed":
        phase = random.integers(0, 4, phase.shape)
    if not untold_learn and phases == "times":
        phase = np.where(~told & (phase < 2), 2, phase)
    good = (phase < 2) | ((phase == 3) & (representation < 20_000))
    step = slower * total
    if inverted:
        step = 1e7 / total
    step = np.where(phase < 2, step, np.nan)
    share = np.where(told, 1.0, 0.7)
    simulation = runs(
        AXES,
        SEEDS,
        {
            "phase": phase,
            "validation_step": step,
            "train_step": np.where(phase < 3, decoder, np.nan),
            "rqi_step": np.where(good, representation, np.nan),
            "rqi": (np.where(good, 1.0, 0.3) if rqi is None else rqi * whole)[..., None],
            "ideal_accuracy": (45 + 10 * share) / 55 * whole,
            "lambda_3": 1 / (e * total) if lambda_3 is None else lambda_3 * whole,
        },
        step=np.array([0]),
    )
    theory = {
        "rqi_step": flow * representation,
        "decoder_step": decoder,
        "validation_step": flow * representation + decoder,
    }
    p = STUDY.Parameters()
    theory = runs(AXES, SEEDS, theory, outcome=None)
    return Grid(p, AXES, SEEDS, simulation=simulation, theory=theory)
