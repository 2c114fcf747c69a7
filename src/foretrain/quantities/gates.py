"""Gates that a trained network has chosen: functional types of its units, and the nearest gating."""

import numpy as np

from foretrain.vocabulary import TIME_UNIT, declare

declare(
    "gating",
    unit=TIME_UNIT,
    gating_time="Predicted time to half of the best final loss of a candidate gating; infinite if never.",
)
declare(
    "gating",
    gating_final_loss="Lowest loss that linear pathways with a candidate gating can reach.",
    gating_agreement="Agreement of the gates of the trained ReLU network with those of a candidate gating.",
)
declare(
    "gating",
    kind="bool",
    gating_consistent="Whether ReLU units along the weights that a gating's pathways learn have the gating's gates.",
)


def angle_clusters(
    directions: np.ndarray, widest_gap: float = 45.0
) -> tuple[np.ndarray, np.ndarray]:
    """Group plane vectors by direction: two neighbours in angle belong together unless a wide gap lies between.

    Args:
        directions: Shape (unit, 2), none of them zero; only directions count.
        widest_gap: Gap in degrees that parts two groups.

    Returns:
        The group of every unit, numbered from 0 by angle, shape (unit,); and the mean direction of every group in
        degrees, in (-180, 180], shape (group,), ascending.
    """
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    angles = np.degrees(np.arctan2(unit[:, 1], unit[:, 0]))
    order = np.argsort(angles)
    gaps = np.diff(angles[order], prepend=angles[order[-1]] - 360)
    group = np.cumsum(gaps > widest_gap)
    # What lies before the first wide gap belongs with the last group, around the circle.
    group = np.where(group == 0, max(group[-1], 1), group) - 1
    labels = np.empty(len(unit), dtype=int)
    labels[order] = group
    centres = []
    for number in range(labels.max() + 1):
        x, y = unit[labels == number].mean(axis=0)
        centres.append(np.degrees(np.arctan2(y, x)))
    rank = np.argsort(centres)
    return np.argsort(rank)[labels], np.asarray(centres)[rank]


def gate_agreement(
    unit_gates: np.ndarray, contribution: np.ndarray, pathway_gates: np.ndarray
) -> float:
    """Agreement of the gates of a network's units with those of a gating's pathways.

    Each unit is put to the pathway whose gate agrees with its own on the largest fraction of examples; that fraction
    is averaged over units by their contribution, shape (unit,), not negative: 1 where every unit has the gate of some pathway.
    Gates, true where open, have shapes (unit, sample) and (pathway, sample).
    """
    unit_gates, pathway_gates = np.asarray(unit_gates, bool), np.asarray(pathway_gates, bool)
    agree = (unit_gates[:, None, :] == pathway_gates[None]).mean(axis=2)
    return float(np.average(agree.max(axis=1), weights=contribution))


def lead_of_fastest(times: np.ndarray, agreement: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Agreement of trained gates with the fastest gating, minus their agreement with the best of the others.

    All have shape (..., gating): when a network with each gating learns, infinite for what is not asked about; the agreement,
    nan for a network that diverged; and which gatings count among the others.
    """
    # Gatings that are mirror images of each other are equally fast but for rounding.
    fastest = times <= times.min(-1, keepdims=True) * (1 + 1e-6)
    best, other = (
        np.where(chosen, agreement, -np.inf).max(-1) for chosen in (fastest, others & ~fastest)
    )
    return np.where(np.isfinite(agreement).all(-1), best - other, np.nan)
