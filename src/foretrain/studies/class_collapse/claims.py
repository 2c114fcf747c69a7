"""What is claimed of class collapse; the corrected forms are derived in ``docs/studies/class-collapse.md``."""

import numpy as np

from foretrain.study import Exact, at_end, claim

from .study import FLOW_STEP, SOURCE, closed_form

OWN = "docs/studies/class-collapse.md"
SOLVER = "What a fifth-order solver leaves with steps of a tenth of the time constant."


def end_over_start(cell, name, network=""):
    """A curve's last value over its first, shape (seed,); None where the network was not trained."""
    runs = cell.network(network)
    if name not in runs:
        return None
    return (at_end(runs[name]) / runs[name].isel(step=0, drop=True)).values


def documented(cell):
    """Whether the study's own network is that of the document."""
    p = cell.parameters
    return p.normalised and p.trained == "points" and not p.repulsion and not p.centred


def conserved(cell):
    if "flow" not in cell.variants:
        return None
    size = cell.variants["flow"]["squared_norm"]
    return Exact(float(np.abs(size / size.isel(step=0, drop=True) - 1).max(skipna=False)))


def flow(cell):
    worst = 0.0
    for name, normalised in (("flow", True), ("flow_control", False)):
        if name not in cell.variants:
            return None
        runs = cell.variants[name]
        decayed = np.exp(-FLOW_STEP * runs["step"].values)
        for points in runs["points"].transpose("seed", "step", "sample", "coordinate").values:
            gap = np.abs(points - closed_form(points[0], decayed, normalised)).max()
            worst = max(worst, float(gap / np.abs(points).max()))
    return Exact(worst)


def control_corrected(cell):
    if "flow_control" not in cell.variants:
        return None
    runs = cell.variants["flow_control"]
    first = runs.isel(step=0, drop=True)
    return (at_end(runs["squared_norm"]) / (first["squared_norm"] - first["within"])).values


def told_apart(cell, network):
    """Share of Z that tells classes apart, end over start, shape (seed,); None where the network was not trained."""
    between, size = (end_over_start(cell, name, network) for name in ("between", "squared_norm"))
    return None if between is None else between / size


def frame_gap(cell, network):
    """Largest |cos + 1/(classes - 1)| between class means at the end, shape (seed,); None where it was not trained."""
    runs = cell.network(network)
    return at_end(runs["frame_gap"]).values if runs.data_vars else None


def _of(id, network, measure, words, **fixed):
    """Return a claim on one number of one network."""
    return claim(id, words, lambda c: measure(c, network), of=network, **fixed)


KEPT = {"inside": (0.5, np.inf), "note": "Share of Z between class means, end over start."}
CLAIMS = [
    claim(
        "same-class",
        "Images of the same class collapse to their class means.",
        lambda c: end_over_start(c, "within") if documented(c) else None,
        source=SOURCE,
        near=0,
        inside=(0, 0.05),
        why="Adam ends with steps of its learning rate, which keep some percent of the spread; without a pull it would be"
        " 1.",
        statistic="median",
        note="Squared distances to class means, end over start.",
    ),
    claim(
        "different-classes",
        "Means of different classes do not collapse.",
        lambda c: end_over_start(c, "between") if documented(c) else None,
        source=SOURCE,
        inside=(0.5, np.inf),
        why="Less than half of the squared distances lost; the flow only ever widens them.",
        note="Squared distances between class means, end over start.",
    ),
    claim(
        "conserved",
        "The flow of the normalised loss preserves Z.",
        conserved,
        source=f"{SOURCE}, eq. (33)",
        near=0,
        inside=(0, 1e-6),
        why=SOLVER,
        of="flow",
        note="Largest relative change.",
    ),
    claim(
        "flow",
        "Under the flow points go to their class means exponentially; the normalised loss rescales all to the Z of "
        "the start.",
        flow,
        source=OWN,
        near=0,
        inside=(0, 1e-6),
        why=SOLVER,
        of=("flow", "flow_control"),
        note="Largest distance from the closed form over the largest coordinate, of both losses.",
    ),
    claim(
        "control",
        "The flow of the loss that is not normalised collapses all points to zero.",
        lambda c: end_over_start(c, "squared_norm", "flow_control"),
        source=SOURCE,
        near=0,
        inside=(0, 0.1),
        why="A third of the length may be left.",
        of="flow_control",
        note="Z, end over start.",
    ),
    claim(
        "control.corrected",
        "The flow of the loss that is not normalised collapses each class to a mean that stays where it was.",
        control_corrected,
        source=OWN,
        near=1,
        inside=(0.999, 1.001),
        why="After ten time constants e^-20 of the deviations are left.",
        of="flow_control",
        note="Z at the end over that of the class means at the start.",
        corrects="control",
    ),
    claim(
        "encoder-control",
        "A trained encoder collapses all images to nearly a point if the loss is not normalised.",
        lambda c: end_over_start(c, "squared_norm", "encoder_control"),
        source=SOURCE,
        near=0,
        inside=(0, 0.1),
        why="A third of the length may be left.",
        of="encoder_control",
        statistic="median",
        note="Z, end over start.",
    ),
    _of(
        "encoder",
        "encoder",
        told_apart,
        "A trained encoder does not collapse globally if the loss is normalised.",
        source=SOURCE,
        why="Half of what tells classes apart lost; to join all points of a class only adds to the share.",
        **KEPT,
    ),
    _of(
        "encoder.corrected",
        "encoder_centred",
        told_apart,
        "A trained encoder does not collapse globally if the loss is divided by a Z about the mean of all points.",
        corrects="encoder",
        source=OWN,
        why="As of the sentence that it corrects.",
        **KEPT,
    ),
    _of(
        "no-frame",
        "wide",
        frame_gap,
        "Without repulsion class means do not go to an equiangular tight frame, even where dimensions allow.",
        source=SOURCE,
        inside=(0.2, np.inf),
        why="Cosines between means that the loss leaves alone; in a frame of ten all are -1/9.",
        note="Largest |cos + 1/9| between class means at the end.",
    ),
    _of(
        "frame",
        "repelled",
        frame_gap,
        "With a little repulsion class means go to an equiangular tight frame.",
        source=SOURCE,
        near=0,
        inside=(0, 0.01),
        why="A degree, which is what Adam leaves.",
        note="Largest |cos + 1/9| between class means at the end, in nine dimensions.",
    ),
]
