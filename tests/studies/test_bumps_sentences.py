"""Every sentence on bumps holds on a made-up grid and fails on another, and none raises whatever became of the runs."""

import numpy as np
from made_up import check, grid, remember_plateaus

from foretrain.studies.bumps import figures
from foretrain.studies.bumps.study import AXES, Parameters

SEEDS = 76  # from 36 on "in every run" can hold, and half of them share a first target
STEP = np.arange(0, 101, 2)


def falls(*phases):
    """A loss curve that falls at rates given as (rate, steps), and at .3 from then on, to 1e-4."""
    rate = np.concatenate([np.full(steps // 2, value) for value, steps in phases] + [[]])
    rate = np.concatenate([rate, np.full(STEP.size, 0.3)])[: STEP.size - 1]
    return np.maximum(np.exp(-np.concatenate([[0], np.cumsum(2 * rate)])), 1e-4)


SMOOTH, ONE = falls(), falls((0, 20))
FEW = AXES | {"relative_rate": (1.0, 4.0)}  # no sentence needs the others


def build(loss=SMOOTH, axes=None, predicted=None, flow=None, signs=None, **given):
    """A grid in which half of the runs share their first target and, unless told otherwise, those have a bump.

    Args:
        loss: Curve of all cells.
        axes: Axes beside those of the study.
        predicted, flow, signs: Functions that give first targets, bumps and first targets of descent by signs in theory of
            those of the runs, which they are by default.
        **given: Variables, shape of the axes, seed and component, or what broadcasts to it, or a function of first targets,
            whether components share them, and a generator.
    """
    axes = FEW | (axes or {})
    shape = (*(len(values) for values in axes.values()), SEEDS, 10)
    random = np.random.default_rng(0)

    def variables(turn):
        # Pairs of components share their first target or do not; the last two pairs do where the others do not.
        alone = turn((np.arange(SEEDS)[:, None] + (np.arange(10) > 5)) % 2)
        first = np.broadcast_to(np.arange(10) // 2 * 2 + np.arange(10) % 2 * alone, shape)
        shares = np.broadcast_to(alone == 0, shape)
        data = {
            "component_bumps": shares.astype(float),
            "first_target_bumps": shares.astype(float),
            "final_alignment": np.full(shape, 0.9),
            "first_target": first,
        }
        for name, value in given.items():
            value = value(first, shares, random) if callable(value) else value
            data[name] = np.broadcast_to(np.asarray(value), shape)
        scale = 1 + 0.002 * np.arange(SEEDS)[:, None]
        data["loss"] = data["relative_loss"] = scale * loss
        return data

    own = variables(lambda which: which)
    theory = {
        "first_target": (predicted or np.asarray)(own["first_target"]),
        "predicted_bumps": (flow or np.asarray)(own["component_bumps"]),
        "first_target_of_signs": (signs or np.asarray)(own["first_target"]),
    }
    networks = {"": own, "exchanged": variables(lambda which: 1 - which), "theory": theory}
    return grid(Parameters(), axes, SEEDS, networks, step=STEP)


def of_optimizers(sgd, adam):
    """Bumps that come with these probabilities."""

    def draw(first, shares, random):
        chance = np.reshape([sgd, adam], (2, *[1] * (first.ndim - 1)))
        return (random.random(first.shape) < chance).astype(float)

    return draw


def chance(shared, other):
    """Bumps that come with these probabilities to components that share their first target and to others."""
    return lambda first, shares, random: (
        random.random(first.shape) < np.where(shares, shared, other)
    ).astype(float)


def close(share):
    return lambda first, shares, random: np.where(random.random(first.shape) < share, 0.9, 0.3)


MORE, FEWER = ({"component_bumps": of_optimizers(*sides)} for sides in ((0.2, 0.8), (0.8, 0.2)))
NONE, ALL = {"component_bumps": 0.0}, {"component_bumps": 1.0}
BACK, STAY = {"first_target_bumps": 1.0}, {"first_target_bumps": 0.0}
FULL = {"axes": {"rank": (100,), "relative_rate": (1.0,)}}
FLAT = {"loss": ONE, **FULL}
CASES = {  # where each holds, and where it fails
    "adam-more-bumps": (MORE, FEWER),
    "varies-by-seed": ({}, ALL),
    "common-at-rank-2": ({}, ALL),
    "one-target": ({}, {"final_alignment": 0.3}),
    "one-target.corrected": ({"final_alignment": close(0.59)}, {}),
    "which-target-start": ({}, {"predicted": lambda first: first + 1}),
    "which-target-start.corrected": ({}, {"signs": lambda first: 1 - first}),
    "bumps-predicted": ({}, {"flow": lambda bumps: 1 - bumps}),
    "competition-makes-bumps": (BACK, STAY),
    "competition-makes-bumps.corrected": (BACK, STAY),
    "competition-matched": ({}, {"component_bumps": of_optimizers(0.45, 0.45)}),
    "competition-matched.corrected": ({"component_bumps": chance(0.5, 0.25)}, {}),
    "low-rank-needed": (FULL, FLAT),
    "low-rank-needed.corrected": (FLAT, FULL),
    "adam-full-rank-plateau": (FLAT, FULL),
    "adam-full-rank-plateau.corrected": (FULL, FLAT),
    "adam-full-rank-bumps": (ALL, NONE),
    "adam-full-rank-bumps.corrected": (NONE, ALL),
}


def test_every_sentence_can_hold_and_fail(monkeypatch):
    remember_plateaus(monkeypatch)
    monkeypatch.setattr(figures, "alignments_of", lambda *_: None)  # trains, and looks at no run
    exceptions, spoilt = ({id: sides[side] for id, sides in CASES.items()} for side in (0, 1))
    check("bumps", build, spoilt, exceptions)
