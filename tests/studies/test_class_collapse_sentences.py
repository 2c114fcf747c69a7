import numpy as np
from made_up import check, grid, runs

from foretrain.studies.class_collapse import study

SEEDS, STEP = 10, np.array([0, 50, 100])


def curves(within=0.01, between=1.2, squared_norm=0.9, frame_gap=0.6):
    """Two sums that go from 1, or near it, to what is given, and how far from a frame it ends; ten seeds."""
    spread = np.linspace(0.95, 1.05, SEEDS)[:, None]
    path = np.linspace(0, 1, STEP.size)
    ends = {"within": within, "between": between, "squared_norm": squared_norm}
    sums = {name: (1 + path * (spread * end - 1)) for name, end in ends.items()}
    return runs({}, SEEDS, sums | {"frame_gap": spread * frame_gap * np.ones(3)}, step=STEP)


def flow(normalised, pull=1.0, drift=0.0, shrink=0.0):
    """Points under the closed form, their pull changed, swollen towards the end, or shrunk by a share."""
    random = np.random.default_rng(0)
    starts = random.standard_normal((SEEDS, study.CLASSES * 4, 2)) + 0.5
    decayed = np.exp(-study.FLOW_STEP * pull * STEP)
    points = np.array([study.closed_form(start, decayed, normalised) for start in starts])
    path = np.linspace(0, 1, STEP.size)[:, None, None]
    points = points * (1 + drift * path) * (1 - shrink * path)
    sums = np.array([[study.energies(one)[:3] for one in run] for run in points])
    names = ("within", "between", "squared_norm")
    found = {name: sums[..., number] for number, name in enumerate(names)}
    return runs({}, SEEDS, found | {"points": points}, step=STEP)


def build(**changed):
    """Networks that do as every sentence says, two of them as their corrected forms say."""
    networks = {
        "": curves(),
        "flow": flow(True),
        "flow_control": flow(False),
        "encoder": curves(squared_norm=20.0),
        "encoder_centred": curves(),
        "encoder_control": curves(squared_norm=0.02),
        "wide": curves(),
        "repelled": curves(frame_gap=0.001),
    }
    return grid(study.Parameters(), {}, SEEDS, networks | changed)


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "same-class": {"": curves(within=0.1)},
        "different-classes": {"": curves(between=0.3)},
        "flow": {"flow": flow(True, pull=1.001)},
        "control": {},
        "control.corrected": {"flow_control": flow(False, drift=0.01)},
        "encoder-control": {"encoder_control": curves(squared_norm=0.3)},
        "encoder": {},
        "encoder.corrected": {"encoder_centred": curves(between=0.1)},
        "frame": {"wide": curves(frame_gap=0.01)},
    }
    exceptions = {
        "encoder": {"encoder": curves()},
        "control": {"flow_control": flow(False, shrink=0.9)},
    }
    check("class-collapse", build, spoilt, exceptions, drawn=False)
