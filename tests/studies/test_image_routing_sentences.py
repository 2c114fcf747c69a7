"""Every sentence of image routing holds on accuracies as the figures have them, and fails where it should."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from made_up import add, check, grid, times, verdicts

from foretrain.claims.claim import FAILS, HOLDS
from foretrain.plans import catalogue
from foretrain.streams import Seed
from foretrain.studies.image_routing import study, training
from foretrain.tasks import masks

P = study.Parameters(trained_outputs=1, init_scale=0.01)
AXES = {"trained_outputs": (1, 2, 3, 4, 5, 7), "init_scale": (0.01, 0.03, 1.0)}
SEEDS, STEP = 5, np.arange(0, 400, 10)
LIMIT, BEST, CHANCE = 0.15, 0.9, 0.1
HAIR = 1e-4 * np.arange(SEEDS)


def gaps(fraction, scale):
    """Transfer from 40% on from small starts, by chance at K = 1, never from large ones."""
    small = np.where(fraction < 0.15, BEST - CHANCE, np.clip(0.5 * (0.44 - fraction), 0, None))
    return np.where(scale < 1, small, 0.5)


def build(p=P, axes=AXES, gap=gaps, least=(LIMIT, BEST), **changes):
    """Runs with these gaps; `changes` are functions of an array (axes, seed, ...) by variable."""
    outputs, scales = np.meshgrid(*axes.values(), indexing="ij")
    lead = (*outputs.shape, SEEDS)
    trained = BEST + HAIR + np.zeros(lead)
    untrained = trained - gap(outputs / p.domains, scales)[..., None] + 3 * HAIR
    pairs = np.array([masks.circulant(p.domains, k) for k in axes["trained_outputs"]])
    pairs = np.broadcast_to(pairs[:, None, None], (*lead, p.domains, p.domains))
    # Exponential learning; the time to the half goes as the inverse of the start.
    share = np.linspace(0, 1, STEP.size)
    power = 0.5 - LIMIT
    loss = LIMIT + power * (0.01 + 0.99 * (1 - share)) * (1 + HAIR[:, None])
    time = (100 / scales)[..., None, None] * share
    curve = lambda values: values[..., None] + 0 * share  # noqa: E731
    variables = {
        "loss": loss + np.zeros((*lead, 1)),
        "flow_time": time + np.zeros((*lead, 1)) + 1e-3 * HAIR[:, None] * time,
        "trained_accuracy": curve(trained),
        "untrained_accuracy": curve(untrained),
        "trained_pairs": pairs,
        "heldout_accuracy": np.where(
            pairs == 1, *(a[..., None, None] for a in (trained, untrained))
        ),
        "gradient_gap": np.full(lead, 1e-6),
        "imbalance_drift": np.full(lead, 1e-3),
    }
    # Half is learned at .505 of the time; the mean network is a little slower, as the one network is where it is known.
    theory = {
        "least_squares_loss": least[0],
        "least_squares_accuracy": least[1],
        "chance_accuracy": CHANCE,
        "shared_half_time": (51.5 / scales)[..., None] + HAIR,
    }
    first = dataclasses.replace(p, **{name: values[0] for name, values in axes.items()})
    networks = {"": variables, "theory": theory}
    return grid(first, dict(axes), SEEDS, networks, changes, step=STEP)


LEAKY = dataclasses.replace(P, negative_slope=0.01, training="minibatch")
AUTHORS = study.Parameters(
    data="mnist", domains=40, hidden_width=128, training="minibatch", init_law="authors",
    loss_function="cross_entropy",
)  # fmt: skip
THEIRS = {"trained_outputs": (10,), "init_scale": (0.1, 1.0)}


def leaky(closes=0.25):
    return build(
        LEAKY, gap=lambda f, scale: np.clip(0.02 + (closes - f), 0, None), least=(np.nan, np.nan)
    )


def authors(untrained=0.001):
    gap = lambda f, scale: np.where(scale < 1, untrained, 0.27)  # noqa: E731
    shifts = dict.fromkeys(("trained_accuracy", "untrained_accuracy"), add(0.014))
    return build(AUTHORS, THEIRS, gap, least=(np.nan, np.nan), **shifts)


EXCEPTIONS = {
    "small-start": {"gap": lambda f, scale: 0 * f},
    "twenty-five-percent": leaky,
    "authors": authors,
}
SPOILT = {
    "trained-routes-alone": {"gradient_gap": add(0.05)},
    "trained-high": {"trained_accuracy": add(-0.1)},
    "conserved": {"imbalance_drift": add(0.03)},
    "as-one": {"flow_time": times(1.2)},
    "forty-percent": {"gap": lambda f, scale: np.where(f < 0.65, 0.5, 0)},
    "twenty-five-percent": lambda: leaky(0.5),
    "small-start": {},
    "small-start.corrected": {"gap": lambda f, scale: np.where(f < 0.6, 0.1, 0)},
    "large-start": {"gap": lambda f, scale: 0 * f},
    "connected": {"gap": lambda f, scale: BEST - CHANCE + 0 * f},
    "authors": lambda: authors(0.3),
}


def test_every_sentence_can_hold_and_fail():
    check("image-routing", build, SPOILT, EXCEPTIONS)


@pytest.mark.parametrize(
    ("id", "changed"),
    [
        *(("as-one", {"flow_time": times(factor)}) for factor in (0.85, 1.15)),
        # Accuracies over other routes than those of the mask.
        ("trained-routes-alone", {"trained_accuracy": add(-0.05)}),
        ("trained-routes-alone", {"untrained_accuracy": add(-0.05)}),
    ],
)
def test_clocks_that_are_off_and_other_routes_are_noticed(id, changed):
    assert _verdict(id, build(**changed)) == FAILS


def test_each_network_is_judged_by_its_own_numbers():
    assert "forty-percent" not in verdicts("image-routing", leaky())
    assert not {"twenty-five-percent", "authors"} & set(verdicts("image-routing", build()))
    off = authors()
    off.simulation["trained_accuracy"] -= 0.05
    for whole, verdict in ((authors(), HOLDS), (off, FAILS)):
        found = verdicts("image-routing", whole, "authors")["authors"]
        assert [claim.verdict for claim in found] == [verdict] * 2


def _verdict(id, whole):
    (claim,) = verdicts("image-routing", whole, id)[id]
    return claim.verdict


@pytest.mark.slow
@pytest.mark.parametrize("mutated", [False, True])
@pytest.mark.parametrize("kind", ["statistics", "minibatch"])
def test_training_of_routes_that_should_not_be_trained_is_noticed(monkeypatch, kind, mutated):
    from foretrain.networks import image_routing as network

    name, place = ("minibatch_loss", 4) if kind == "minibatch" else ("negative_gradient", 3)
    true = getattr(network, name)

    def of_all_routes(*given):
        return true(*given[:place], jnp.ones_like(given[place]), *given[place + 1 :])

    if mutated:
        monkeypatch.setattr(network, name, of_all_routes)
    p = study.Parameters(
        domains=3, trained_outputs=2, hidden_width=12, training=kind, init_scale=1.0,
        evaluation_samples=50, biases=kind == "minibatch",
    )  # fmt: skip
    known, program = catalogue.load("image-routing"), training.program(p)
    fed = {**training.shared(p), **known.inputs(p, Seed(0, 0)), "root_seed": 0, "seed": 0}
    fed = {name: jnp.asarray(value) for name, value in fed.items()}
    gap = float(program.finish(fed, program.init(fed))["gradient_gap"])
    holds = _verdict("trained-routes-alone", build(gradient_gap=lambda gaps: 0 * gaps + gap))
    assert holds == (FAILS if mutated else HOLDS)
