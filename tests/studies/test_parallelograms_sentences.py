import numpy as np
from made_up import check, runs

from foretrain.plans.grid import Grid
from foretrain.studies.parallelograms import study

SEEDS, SIZES = 10, (10, 20, 30, 40, 50)
AXES = {"training_size": SIZES}
STEP = np.array([0, 5000])
SHARE = np.array(SIZES)[:, None] / 55
NEARLY = ([0, 1, 2.1, 3],)  # two of three parallelograms within the tolerance
RANDOM = np.random.default_rng(0)
LINE, OTHERS = np.arange(4.0), ([0, 1, 2, 7.0], [0, 1, 5, 6], [0, 3, 4, 5], [0, 1, 7, 20])


def at_end(values):
    """Zero at the start, and this at the end."""
    return np.asarray(values)[..., None] * np.array([0.0, 1.0])


def network(rqi, predicted, real, ideal=1.0, ideal_rqi=1.0, decoder_rqi=0.5, seeds=SEEDS):
    """Runs whose accuracy over all samples is `real`, training samples all being right; arrays (size, seed)."""
    found = np.broadcast_arrays(
        rqi, predicted, (real - SHARE) / (1 - SHARE), decoder_rqi, np.ones((len(SIZES), seeds))
    )
    names = ("rqi", "predicted_accuracy", "validation_accuracy", "decoder_rqi", "train_accuracy")
    curves = {name: at_end(values) for name, values in zip(names, found, strict=True)}
    finals = {"ideal_accuracy": ideal, "ideal_rqi": ideal_rqi}
    return runs(AXES, seeds, curves | finals, step=STEP)


def four(places):
    """Four numbers at these places, one list for each seed in turn."""
    chosen = np.array([places[k % len(places)] for k in range(SEEDS)])[None, :, None, :, None]
    data = np.broadcast_to(chosen, (len(SIZES), SEEDS, 2, 4, 1))
    labels = {"symbol": ("symbol", np.arange(4))}
    return runs(
        AXES,
        SEEDS,
        {"embedding": data, "loss": RANDOM.uniform(size=(len(SIZES), SEEDS, 2))},
        step=STEP,
        labels=labels,
    )


def circle(frequencies=(2,)):
    """Eleven points on a circle, or on as many as there are frequencies."""
    angle = 2j * np.pi * np.arange(11) / 11
    place = sum(np.exp(nu * angle) for nu in frequencies)
    place = np.stack([place.real, place.imag], axis=-1)
    data = np.broadcast_to(place, (len(SIZES), 5, 2, 11, 2))
    return runs(AXES, 5, {"embedding": data, "validation_accuracy": np.zeros(2)}, step=STEP)


def grid(
    main=None,
    above=0.0,
    above_rqi=0.0,
    slow=(LINE, LINE, OTHERS[0]),
    fast=OTHERS,
    plane=0.2,
    after=1.0,
    before=0.0,
    circles=(2,),
):
    """Networks that do as the sentences say, their accuracy or RQI above the ideal at some sizes."""
    noise = 0.01 * RANDOM.uniform(-1, 1, (len(SIZES), SEEDS))
    real = SHARE + (1 - SHARE) * np.clip(SHARE + noise, 0, 1)
    main = {"rqi": SHARE + noise, "predicted": real, "real": real, **(main or {})}
    ideal = {"ideal": main["real"] - above, "ideal_rqi": main["rqi"] - above_rqi}
    flat = real[:, :5]
    apart = network(
        0.1 + before * flat + 0.01 * RANDOM.uniform(size=flat.shape),
        flat - plane * RANDOM.uniform(0.5, 1.5, flat.shape),
        flat,
        decoder_rqi=after * flat + (1 - after) * 0.3,
        seeds=5,
    )
    return Grid(
        study.Parameters(),
        AXES,
        SEEDS,
        simulation=network(**main, **ideal),
        variants={
            "slow": four(slow),
            "fast": four(fast),
            "plane": apart,
            "circle": circle(circles),
        },
    )


def only_few(excess):
    """An excess at the two smallest sizes."""
    return np.where(np.array(SIZES)[:, None] <= 20, excess, 0.0)


def test_every_sentence_can_hold_and_fail():
    noise = RANDOM.uniform(size=(len(SIZES), SEEDS))
    check(
        "parallelograms",
        grid,
        {
            "predicted-accuracy": lambda: grid({"predicted": SHARE * np.ones(SEEDS)}),
            "ideal-accuracy": lambda: grid(above=only_few(0.02)),
            "ideal-rqi": lambda: grid(above_rqi=only_few(0.02)),
            "ideal-accuracy.corrected": lambda: grid(above=0.02),
            "ideal-rqi.corrected": lambda: grid(above_rqi=0.02),
            "grows": lambda: grid({"rqi": 1 - SHARE + 0.01 * noise}),
            "on-lattice": lambda: grid(slow=NEARLY, fast=NEARLY),
            "whole-lattice": lambda: grid(slow=(LINE,), fast=(LINE,)),
            "slow-is-better": lambda: grid(slow=(OTHERS[3], OTHERS[3], OTHERS[0])),
            "too-restrictive": lambda: grid(plane=-0.1),
            "after-decoder": lambda: grid(after=-1.0, before=1.0),
            "circle": lambda: grid(circles=(1, 2, 3)),
        },
    )
