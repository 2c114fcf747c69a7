import numpy as np
from made_up import check, grid, runs

from foretrain.quantities.frequency import frequency_shares
from foretrain.studies.parallelograms import study

SEEDS, SIZES = 20, (10, 20, 30, 40, 50)
AXES = {"training_size": SIZES}
STEP = np.array([0, 5000])
SHARE = np.array(SIZES)[:, None] / 55
NEARLY = ([0, 1, 2.1, 3],)  # two of three parallelograms within the tolerance
RANDOM = np.random.default_rng(0)
LINE, OTHERS = np.arange(4.0), ([0, 1, 2, 7.0], [0, 1, 5, 6], [0, 3, 4, 5], [0, 1, 7, 20])


def network(rqi, predicted, real, ideal=1.0, ideal_rqi=1.0, decoder_rqi=0.0):
    """Runs whose accuracy over all samples is `real`, training samples all being right; arrays (size, seed)."""
    validation = (real - SHARE) / (1 - SHARE)
    ends = np.broadcast_arrays(rqi, predicted, validation, decoder_rqi, np.ones_like(real))
    names = ("rqi", "predicted_accuracy", "validation_accuracy", "decoder_rqi", "train_accuracy")
    curves = {
        name: values[..., None] * np.array([0.0, 1.0])
        for name, values in zip(names, ends, strict=True)
    }
    finals = {"ideal_accuracy": ideal, "ideal_rqi": ideal_rqi}
    return runs(AXES, real.shape[1], curves | finals, step=STEP)


def points(places, seeds):
    """Symbols at these places, one list for each seed in turn, (symbol, coordinate) each."""
    chosen = np.array([places[k % len(places)] for k in range(seeds)])[None, :, None]
    data = np.broadcast_to(chosen, (len(SIZES), seeds, 2, *chosen.shape[3:]))
    labels = {"symbol": ("symbol", np.arange(data.shape[3]))}
    loss = RANDOM.uniform(size=(len(SIZES), seeds, 2))
    variables = {"embedding": data, "loss": loss, "validation_accuracy": np.zeros(2)}
    return runs(AXES, seeds, variables, step=STEP, labels=labels)


def build(
    predicted=None,
    above=0.0,
    above_rqi=0.0,
    slow=(LINE, LINE, OTHERS[0]),
    fast=OTHERS,
    plane=0.2,
    before=-1,
    after=1,
    frequencies=((2,),),
):
    """Networks that do as the sentences say, their accuracy or RQI above the ideal at some sizes."""
    rqi = SHARE + 0.01 * RANDOM.uniform(-1, 1, (len(SIZES), SEEDS))
    real = SHARE + (1 - SHARE) * np.clip(rqi, 0, 1)
    flat = real[:, :5]
    gap = flat - flat.mean(1, keepdims=True)  # beside what all seeds have in common
    prediction = flat - plane * RANDOM.uniform(0.5, 1.5, flat.shape)
    angle = 2j * np.pi * np.arange(11) / 11
    circles = [sum(np.exp(nu * angle) for nu in sizes) for sizes in frequencies]
    predicted = real if predicted is None else predicted
    networks = {
        "": network(rqi, predicted, real, ideal=real - above, ideal_rqi=rqi - above_rqi),
        "slow": points([np.reshape(place, (4, 1)) for place in slow], SEEDS),
        "fast": points([np.reshape(place, (4, 1)) for place in fast], SEEDS),
        "plane": network(SHARE + before * gap, prediction, flat, decoder_rqi=SHARE + after * gap),
        "circle": points([np.stack([z.real, z.imag], axis=-1) for z in circles], 40),
    }
    return grid(study.Parameters(), AXES, SEEDS, networks)


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "predicted-accuracy": {"predicted": SHARE * np.ones(SEEDS)},
        "ideal": [{name: np.where(SHARE <= 20 / 55, 0.02, 0.0)} for name in ("above", "above_rqi")],
        "ideal.corrected": [{"above": 0.02}, {"above_rqi": 0.02}],
        "on-lattice": {"slow": NEARLY, "fast": NEARLY},
        "whole-lattice": {"slow": (LINE,), "fast": (LINE,)},
        "slow-is-better": {"slow": (OTHERS[3], OTHERS[3], OTHERS[0])},
        "too-restrictive": {"plane": -0.1},
        "after-decoder": {"before": 1, "after": -1},
        "after-decoder.corrected": [{}, {"before": 1, "after": -1}],
        "circle": {"frequencies": [(1, 2, 3)]},
        "circle.corrected": [{"frequencies": [(1, 2, 3)]}, {"frequencies": [(2,)]}],
    }
    mixed = {"frequencies": [(2,), (1, 2, 3)]}
    good = {"circle.corrected": mixed, "after-decoder.corrected": {"before": 1}}
    check("parallelograms", build, spoilt, good, drawn=False)


def test_random_points_hardly_ever_have_one_frequency():
    random = np.random.default_rng(0).standard_normal((20_000, 11, 2))
    assert (frequency_shares(random).max(-1) > 0.8).mean() < 3e-4
