"""Claims on class collapse; the corrected forms are derived in ``docs/studies/class-collapse.md``."""

import numpy as np

from foretrain.study import claim

from .study import FLOW_STEP, SOURCE, closed_form

OWN = "docs/studies/class-collapse.md"


def end_over_start(name, network=""):
    """Return the quantity "last value over first value" of a variable of a network."""
    return lambda c: c[network].end[name] / c[network].start[name]


def between_fraction(network):
    between, whole = (end_over_start(name, network) for name in ("between", "squared_norm"))
    return lambda c: between(c) / whole(c)


def widening(c):
    """Return how far class means move apart in nine dimensions, 1 where Z is kept and 0 where they stay in place."""
    share = c["wide"].start.within / c["wide"].start.squared_norm
    return 1 + (end_over_start("between", "wide")(c) * (1 - share) - 1) / share.mean("seed")


def flow_gap(c):
    """Return how far both flows are from the closed form, and Z of the normalised one from its start, relatively."""
    drift = c["flow"].squared_norm / c["flow"].start.squared_norm - 1
    gaps = [float(np.abs(drift).max(skipna=False))]
    for network, normalised in (("flow", True), ("flow_control", False)):
        points = c[network].points.transpose("seed", "step", "sample", "coordinate")
        decayed = np.exp(-FLOW_STEP * points["step"].values)
        gaps += [
            np.abs(run - closed_form(run[0], decayed, normalised)).max() / np.abs(run).max()
            for run in points.values
        ]
    return np.array(gaps)


OWN_NETWORK = {
    "source": SOURCE,
    "rank": "headline",
    "where": lambda c: (
        c.p.normalised and c.p.trained == "points" and not (c.p.repulsion or c.p.centred)
    ),
}
TO_ZERO = {
    "near": 0,
    "inside": (0, 0.1),
    "source": SOURCE,
    "why": "A third of the length may be left.",
    "note": "Z, end over start.",
}
CLAIMS = [
    claim(
        "same-class",
        "Images of one class collapse to their class mean under the normalised loss.",
        end_over_start("within"),
        near=0,
        inside=(0, 0.05),
        statistic="median",
        why="Adam ends with steps of its learning rate, which keep some percent of the spread; without a pull it would be 1.",
        note="Squared distances to class means, end over start.",
        **OWN_NETWORK,
    ),
    claim(
        "different-classes",
        "Means of different classes do not collapse under the normalised loss.",
        widening,
        inside=(0, np.inf),
        why="The flow keeps Z, so that class means take what is within classes, and has 1; means that stay in place have 0, a "
        "collapse less. Adam is no flow: what it adds goes with w, too, so that only the side of 0 is said of it.",
        note="1 + (B (1 - w) - 1)/(mean w), B the squared distances of class means, end over start, w the part of Z within "
        "classes at the start; in nine dimensions.",
        **OWN_NETWORK | {"source": f"{SOURCE}; {OWN}"},
    ),
    claim(
        "flow",
        "Under the flow points go to their class means exponentially; that of the normalised loss preserves Z and rescales "
        "all points to it.",
        flow_gap,
        at_most=1e-6,
        rank="headline",
        source=f"{SOURCE}, eq. (33); {OWN}",
        why="A fifth-order solver leaves so much with steps of a tenth of the time constant.",
        note="Largest distance from the closed form over the largest coordinate, of both losses, and change of Z.",
    ),
    *claim(
        "control",
        "The flow of the loss that is not normalised collapses all points to zero.",
        end_over_start("squared_norm", "flow_control"),
        **TO_ZERO,
    ).and_corrected(
        "The flow of the loss that is not normalised collapses each class to its mean, which stays in place.",
        quantity=lambda c: (
            c["flow_control"].end.squared_norm
            / (c["flow_control"].start.squared_norm - c["flow_control"].start.within)
        ),
        near=1,
        inside=(0.999, 1.001),
        rank="headline",
        source=OWN,
        why="After ten time constants e^-20 of the deviations are left.",
        note="Z at the end over that of the class means at the start.",
    ),
    claim(
        "encoder-control",
        "A trained encoder collapses all images to nearly a point if the loss is not normalised.",
        end_over_start("squared_norm", "encoder_control"),
        rank="control",
        statistic="median",
        **TO_ZERO,
    ),
    *claim(
        "encoder",
        "A trained encoder does not collapse globally if the loss is normalised.",
        between_fraction("encoder"),
        inside=(0.5, np.inf),
        source=SOURCE,
        why="Half of the part of Z between classes lost; to join all points of a class only adds to it.",
        note="Fraction of Z between class means, end over start.",
    ).and_corrected(
        "A trained encoder does not collapse globally if the loss is divided by a Z about the mean of all points.",
        quantity=between_fraction("encoder_centred"),
        rank="headline",
        source=OWN,
    ),
    claim(
        "frame",
        "With a little repulsion, and not without, class means go to an equiangular tight frame where dimensions allow.",
        lambda c: c["repelled"].end.frame_gap / c["wide"].end.frame_gap,
        near=0,
        inside=(0, 0.01),
        source=SOURCE,
        why="A degree, which Adam leaves, where the loss without repulsion leaves cosines as they are, far from -1/9.",
        note="Largest |cos + 1/9| between class means at the end, with repulsion over without.",
    ),
]
