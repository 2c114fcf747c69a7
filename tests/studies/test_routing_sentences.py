"""Every claim of the routing study holds on networks that do what theory predicts, and fails where it should."""

import dataclasses
from functools import cache

import jax
import numpy as np
import pytest
from made_up import check, runs, verdicts

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE
from foretrain.figures.drawings import drawings
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.routing import study, theory, training
from foretrain.studies.routing.study import Parameters
from foretrain.tasks.masks import circulant, components, islands
from foretrain.training import routing
from foretrain.vocabulary import CONVERGED, DIVERGED, MISSING, OUT_OF_STEPS, STALLED

P = Parameters(learning_rate=0.2, steps=500, observe_every=5)
ALL_TRAINED = dataclasses.replace(P, trained_outputs=P.domains)
RAW = dataclasses.replace(P, data="digits", domains=2, trained_outputs=1, scaling="raw", steps=1500)
SEEDS = 5
LONGER = {"small-init": study.SMALLER, "xavier-small": study.SMALLER, "disagreeing": 2}


@cache
def _predicted(p, seed):
    return theory.predict(p, np.arange(0, p.steps + 1, p.observe_every), Seed(0, seed))


def made(p=P, seeds=SEEDS, theirs=None, predicted=None, outcome=OUT_OF_STEPS, **changes) -> Grid:
    """Runs that follow the theory, each seed a hair beside the others.

    `changes` are functions of an array, by name of a variable, or of network and variable as in ``flow_conserved_drift``;
    `theirs` are the parameters by which the networks were made, where others than `p`; `predicted` changes the theory.
    """
    hair = 1 + 1e-7 * np.arange(seeds)
    expected, seen = (
        {
            name: np.stack([_predicted(q, seed)[name] for seed in range(seeds)])
            for name in _predicted(q, 0)
        }
        for q in (p, theirs or p)
    )
    stack = lambda name: seen[name] * hair.reshape(-1, *[1] * (seen[name].ndim - 1))  # noqa: E731
    tasks = [study.task(p, Seed(0, seed)) for seed in range(seeds)]
    pairs = np.stack([routing.mask(theirs or p, Seed(0, seed)) for seed in range(seeds)])
    loss, zero = stack("loss"), tasks[0].output_power / 2
    excess = 1e-6 * loss[:, :1]
    networks = {
        "": {
            "loss": loss,
            "untrained_error": loss + excess,
            "singular_values": seen["singular_values"],
            "mode_strength": stack("mode_strength"),
            "mode_optimum": np.stack([t.singular_values / t.variances for t in tasks]),
            "mode_singular_value": np.stack([t.singular_values for t in tasks]),
            "off_diagonal_mass": np.where(loss > 0.99 * loss[:, :1], 0.8, 0.01),
            "trained_pairs": pairs,
            "pair_error": loss[:, -1, None, None] + np.where(pairs == 1, 0, excess[..., None]),
            "gradient_gap": 1e-6 * hair,
        },
        "decoupled": {name: seen[f"reduction_{name}"][:1] for name in ("loss", "singular_values")},
        "flow": {"loss": loss[:2], "conserved_drift": 1e-9 + 0 * loss[:2]},
        "one-output": {"loss": 1e-6 * loss, "untrained_error": 2 * zero * hair[:, None] + 0 * loss},
    }
    island = islands(p.domains, max(1, min(p.trained_outputs, p.domains // 2)))
    apart = ~np.equal.outer(*components(island))
    networks["islands"] = {
        "loss": loss,
        "trained_pairs": np.repeat(island[None], seeds, 0),
        "pair_error": (1e-4 + zero * apart) * (1 + hair[:, None, None]),
    }
    if "similarity" in seen:
        networks[""] |= {
            name: stack(name) for name in ("similarity", "alike_within", "alike_between")
        }
        networks[""]["outputs"] = np.ones((seeds, p.domains, p.domains, 7, 4))
        networks |= _with_limits(theirs or p, hair)
    else:
        networks[""]["heldout_accuracy"] = np.ones((seeds, p.domains, p.domains))
    for name, change in changes.items():
        starts = (n for n in networks if n and name.startswith(n.replace("-", "_") + "_"))
        network = next(starts, "")
        variable = name.removeprefix(network.replace("-", "_")).lstrip("_")
        networks[network][variable] = change(networks[network][variable])
    for name, change in (predicted or {}).items():
        expected[name] = change(expected[name])
    data = {
        name: _laid(p, len(arrays["loss"]), arrays, outcome, name)
        for name, arrays in networks.items()
    }
    return Grid(p, {}, seeds, 0, data.pop(""), data, _laid(p, seeds, expected, None))


def _laid(p, seeds, arrays, outcome, network=""):
    step = np.arange(0, LONGER.get(network, 1) * p.steps + 1, p.observe_every)
    labels = {"time": ("step", step * p.learning_rate)}
    if "singular_values" in arrays:
        labels["layer"] = ("layer", list(routing.LAYERS))
    return runs({}, seeds, arrays, step=step, outcome=outcome, labels=labels)


def _with_limits(p, hair):
    """The networks that go on longer than the study's own, from a smaller start or where routes disagree."""
    smaller = {"init_scale": p.init_scale / study.SMALLER, "steps": study.SMALLER * p.steps}
    small, split = _predicted(dataclasses.replace(p, **smaller), 0), _predicted(p, 0)
    modes = study.task(p, Seed(0, 0)).input_modes[0]
    own = lambda part: part * np.eye(p.domains) + (1 - part)  # noqa: E731
    alike = lambda part: np.kron(own(part), modes @ modes.T)  # noqa: E731
    found = {
        "small-init": {name: small[name] for name in ("similarity", "singular_values")},
        "xavier-small": {"similarity": alike(0.03 / study.SMALLER**2)},
        "xavier": {"similarity": alike(0.03)},
        "disagreeing": {f"alike_{name}": split[f"split_{name}"] for name in ("within", "between")},
    }
    for name, arrays in found.items():
        steps = LONGER.get(name, 1) * p.steps // p.observe_every + 1
        arrays["loss"] = np.geomspace(30, 1e-3, steps)
        for variable, values in arrays.items():
            arrays[variable] = np.multiply.outer(hair, values)
    return found


def times(factor):
    return lambda values: values * factor


def add(number):
    return lambda values: values + number


def slower(values):
    """The same curve, later by a tenth."""
    at = np.minimum(np.arange(values.shape[1]) / 1.1, values.shape[1] - 1)
    low = np.floor(at).astype(int)
    high, part = np.minimum(low + 1, values.shape[1] - 1), at - low
    part = part.reshape(-1, *[1] * (values.ndim - 2))
    return values[:, low] * (1 - part) + values[:, high] * part


def layer(name, factor):
    """Singular values of one layer scaled at all steps but the first."""
    place = routing.LAYERS.index(name)

    def change(values):
        values = values.copy()
        values[:, 1:, place] *= factor
        return values

    return change


def from_own_starts(wide, share=0.9):
    """Layers that depart from those of wide weights by a share of what the starts of their runs say."""
    own = np.array([_predicted(P, seed)["start_singular_values"] for seed in range(SEEDS)])
    return wide + share * (own - wide)


SPOILT = {
    "same-mask": lambda: made(trained_pairs=lambda pairs: np.roll(pairs, 2, 1)),
    "trained-routes-alone": lambda: made(gradient_gap=add(0.03)),
    "decoupled": lambda: made(decoupled_loss=times(1 + 1e-6)),
    "conserved": lambda: made(flow_conserved_drift=add(1e-2)),
    "random-start": lambda: made(
        outcome=CONVERGED, loss=lambda v: v[:, :1] * np.linspace(1, 0, v.shape[1])
    ),
    "half-times": lambda: made(mode_strength=slower),
    "own-start": lambda: made(singular_values=lambda v: from_own_starts(v, 0.4)),
    "half-times-digits": lambda: made(RAW, 3, mode_strength=lambda v: np.repeat(v, 2, 1)[:, : v.shape[1]]),
    "larger-first": lambda: made(mode_strength=lambda v: v[..., ::-1], mode_optimum=lambda v: v[..., ::-1]),
    "zero-shot": lambda: made(untrained_error=add(3.0)),
    "zero-shot-needs-chains": lambda: made(one_output_untrained_error=times(0.0)),
    "ratio": lambda: made(singular_values=layer("hidden", 1.2)),
    "ratio.corrected": lambda: made(theirs=ALL_TRAINED),
    "ratio-always": lambda: made(singular_values=layer("encoders", 1.1)),
    "ratio-limit": lambda: made(small_init_singular_values=layer("hidden", 0.98)),
    "shared-limit": lambda: made(small_init_similarity=lambda v: v + 0.05 * np.eye(v.shape[-1])),
    "shared-xavier": lambda: made(xavier_similarity=lambda v: v + 2 * np.eye(v.shape[-1])),
    "shared-xavier.corrected": lambda: made(
        xavier_small_similarity=lambda v: v + 0.05 * np.eye(v.shape[-1])
    ),
    "split-first": lambda: made(disagreeing_alike_between=times(0.8)),
    "split-time": lambda: made(
        disagreeing_alike_between=lambda v: np.repeat(v, 2, 1)[:, : v.shape[1]]
    ),
    "zero-shot-stops-at-islands": lambda: made(islands_pair_error=times(0.0)),
    "end-point": lambda: made(singular_values=layer("hidden", 1.01)),
    "shared": lambda: made(similarity=lambda v: v + 2 * np.eye(v.shape[-1])),
    "shared.corrected": lambda: made(theirs=ALL_TRAINED),
    "submanifold": lambda: made(off_diagonal_mass=add(0.2)),
}  # fmt: skip


def test_every_sentence_can_hold_and_fail():
    good = {"half-times-digits": lambda: made(RAW, 3)}
    good["own-start"] = lambda: made(singular_values=from_own_starts)
    check("routing", {id: good.get(id, made) for id in SPOILT}, SPOILT)


@pytest.mark.parametrize(
    ("mutated", "noticed"),
    [
        ({"trained_pairs": lambda pairs: 1 + 0 * pairs}, ["same-mask"]),
        ({"untrained_error": lambda error: error - 1e-6 * error[:, :1]}, ["same-mask"]),
        ({"predicted": {"mode_strength": slower}}, ["half-times"]),
        ({"predicted": {"singular_values": layer("hidden", 1.1)}}, ["ratio.corrected", "end-point"]),
        ({"predicted": {"reduction_loss": slower}}, ["decoupled"]),
        ({"theirs": ALL_TRAINED}, ["same-mask", "ratio.corrected", "shared.corrected"]),
        ({"islands_pair_error": lambda error: 60 - error}, ["zero-shot-stops-at-islands"]),
        ({"predicted": {"split_between": times(0.9)}}, ["split-first"]),
        ({"singular_values": lambda v: v[:, :, ::-1][:, :, [1, 0, 2]]}, ["ratio", "end-point"]),
    ],
)  # fmt: skip
def test_mutations_are_noticed(mutated, noticed):
    found = verdicts("routing", made(**mutated))
    for id in noticed:
        assert found[id][0].verdict == FAILS, (id, found[id][0])


def test_starts_of_other_runs_explain_nothing():
    predicted = {"start_singular_values": lambda v: np.roll(v, 1, 0)}
    found = verdicts(
        "routing", made(singular_values=from_own_starts, predicted=predicted), "own-start"
    )
    assert found["own-start"][0].verdict != HOLDS
    assert found["own-start"][0].measured < 0.5


def test_a_gradient_from_untrained_routes_shows(monkeypatch):
    from foretrain.networks import routing as network

    p = dataclasses.replace(P, domains=3, trained_outputs=2, hidden_width=8)
    fed = {**catalogue.load("routing").inputs(p, Seed(0, 1)), "root_seed": 0, "seed": 1}
    right, chosen = network.negative_gradient, []

    def of_routes(weights, inputs, targets, pairs, maps):
        """Descent on the trained routes (0), on all of them (1), or on those of the mask transposed (2)."""
        kinds = jax.numpy.stack([pairs, 0 * pairs + 1, pairs.T])
        return right(weights, inputs, targets, kinds[chosen[-1]], maps)

    def gap(arrays, kind):
        chosen.append(kind)
        return training.program(p).init(arrays)[2]

    monkeypatch.setattr(network, "negative_gradient", of_routes)
    once, fed = jax.jit(gap), {name: np.asarray(value) for name, value in fed.items()}
    gaps = [float(once(fed, kind)) for kind in range(3)]
    assert gaps[0] < 1e-5
    assert min(gaps[1:]) > 0.03


def test_what_was_fed_is_what_was_drawn(monkeypatch):
    """A mask rolled on its way into the program stands in the store, and is not the one drawn again."""
    monkeypatch.setattr(training, "mask", lambda p, seed: np.roll(circulant(7, 4), 2, 1))
    fed = training.inputs(P, Seed(0, 0))["trained_pairs"]
    found = verdicts("routing", made(trained_pairs=lambda pairs: fed + 0 * pairs), "same-mask")
    assert found["same-mask"][0].verdict == FAILS


def test_no_sentence_about_the_end_holds_after_a_few_steps():
    short = dataclasses.replace(P, steps=20)
    found = verdicts("routing", made(short))
    for said in catalogue.load("routing").sentences:
        claim = found.get(said.id, [None])[0]
        if said.at_end and claim and "/" not in claim.reads.replace("theory/", ""):
            assert claim.verdict == INCONCLUSIVE, said.id


@pytest.mark.parametrize("law", ["xavier", "gaussian", "decoupled"])
def test_other_starts_are_not_judged_by_the_theory_of_orthogonal_ones(law):
    assert "half-times" not in verdicts(
        "routing", made(dataclasses.replace(P, init_law=law), theirs=P)
    )


@pytest.mark.parametrize(
    ("code", "kept"), [(CONVERGED, 30), (STALLED, 30), (DIVERGED, 2), (MISSING, 0)]
)
def test_nothing_raises_where_runs_end_early(code, kept):
    def end(values):
        values = np.array(values, float)
        values[:, kept:] = np.nan
        return values

    gone = lambda values: values * (np.nan if kept < 3 else 1.0)  # noqa: E731
    curves = ("loss", "untrained_error", "singular_values", "mode_strength", "off_diagonal_mass")
    finals = ("trained_pairs", "pair_error", "gradient_gap", "similarity", "outputs")
    grid = made(outcome=code, **dict.fromkeys(curves, end), **dict.fromkeys(finals, gone))
    found = verdicts("routing", grid)
    if kept < 3:
        held = {id for id, claims in found.items() if claims[0].verdict == HOLDS}
        assert held <= {"decoupled", "conserved"}
    drawings(catalogue.load("routing"), grid)


def test_random_masks_have_no_closed_form_and_are_judged_without():
    grid = made(dataclasses.replace(P, mask="random_rows"), theirs=P)
    found = verdicts("routing", grid)
    assert "ratio" in found
    assert "ratio.corrected" not in found
    assert "own-start" not in drawings(catalogue.load("routing"), grid)
