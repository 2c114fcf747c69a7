"""Every sentence of the routing study holds on networks that do what theory says, and fails where it should."""

import dataclasses
from functools import cache

import jax
import numpy as np
import pytest
from made_up import check, runs, verdicts

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.routing import study, theory, training
from foretrain.studies.routing.study import Parameters
from foretrain.tasks.masks import circulant, components, islands
from foretrain.training import routing
from foretrain.vocabulary import (
    CONVERGED,
    DIVERGED,
    FAILED,
    MISSING,
    OUT_OF_STEPS,
    RUNNING,
    STALLED,
)

P = Parameters(learning_rate=0.2, steps=500, observe_every=5)
STEP = np.arange(0, 501, 5)
RAW = dataclasses.replace(P, data="digits", domains=2, trained_outputs=1, scaling="raw", steps=1500)
SEEDS = 5


@cache
def _predicted(p, seed):
    return theory.predict(p, np.arange(0, p.steps + 1, p.observe_every), Seed(0, seed))


def made(p=P, seeds=SEEDS, theirs=None, predicted=None, outcome=OUT_OF_STEPS, **changes) -> Grid:
    """Runs that follow the theory, each seed a hair beside the others.

    `changes` are functions of an array, by name of a variable, or of network and variable as in ``flow_conserved_drift``;
    `theirs` are the parameters by which the networks were made, where others than `p`; `predicted` changes the theory.
    """
    step = np.arange(0, p.steps + 1, p.observe_every)
    hair = 1 + 1e-7 * np.arange(seeds)
    arrays = [_predicted(p, seed) for seed in range(seeds)]
    own = [_predicted(theirs or p, seed) for seed in range(seeds)]
    foretold = {name: np.stack([one[name] for one in arrays]) for name in arrays[0]}
    seen = {name: np.stack([one[name] for one in own]) for name in own[0]}
    stack = lambda name: seen[name] * hair.reshape(-1, *[1] * (seen[name].ndim - 1))  # noqa: E731
    tasks = [study.task(p, Seed(0, seed)) for seed in range(seeds)]
    pairs = np.stack([routing.mask(theirs or p, Seed(0, seed)) for seed in range(seeds)])
    loss = stack("loss")
    last = loss[:, -1, None, None]
    simulation = {
        "loss": loss,
        "untrained_error": loss + 1e-6 * loss[:, :1],
        "singular_values": seen["singular_values"],
        "mode_strength": stack("mode_strength"),
        "mode_optimum": np.stack([t.singular_values / t.variances for t in tasks]),
        "mode_singular_value": np.stack([t.singular_values for t in tasks]),
        "off_diagonal_mass": np.where(loss > 0.99 * loss[:, :1], 0.8, 0.01),
        "trained_pairs": pairs,
        "pair_error": np.where(pairs == 1, last, last + 1e-6 * loss[:, :1, None]),
        "gradient_gap": 1e-6 * hair,
    }
    if "similarity" in seen:
        simulation["similarity"] = stack("similarity")
        simulation |= {name: stack(name) for name in ("alike_within", "alike_between")}
        shape = (p.domains, p.domains, 7, 4)
        simulation["outputs"] = np.ones((seeds, *shape))
    else:
        simulation["heldout_accuracy"] = np.ones((seeds, p.domains, p.domains))
    zero = tasks[0].output_power / 2
    decoupled = {name: seen[f"reduction_{name}"][:1] for name in ("loss", "singular_values")}
    one_output = {"loss": 1e-6 * loss, "untrained_error": 2 * zero * hair[:, None] + 0 * loss}
    flow = {"loss": loss[:2], "conserved_drift": 1e-9 + 0 * loss[:2]}
    island = islands(p.domains, max(1, min(p.trained_outputs, p.domains // 2)))
    apart = ~np.equal.outer(*components(island))
    on_islands = {
        "loss": loss,
        "trained_pairs": np.repeat(island[None], seeds, 0),
        "pair_error": (1e-4 + zero * apart) * (1 + hair[:, None, None]),
    }
    networks = {
        "": simulation,
        "decoupled": decoupled,
        "flow": flow,
        "one-output": one_output,
        "islands": on_islands,
    }
    if "similarity" in seen:
        networks |= _with_limits(theirs or p, hair)
    for name, change in changes.items():
        network = next(
            (n for n in networks if n and name.startswith(n.replace("-", "_") + "_")), ""
        )
        variable = name.removeprefix(network.replace("-", "_")).lstrip("_")
        networks[network][variable] = change(networks[network][variable])
    for name, change in (predicted or {}).items():
        foretold[name] = change(foretold[name])
    data = {}
    for name, arrays in networks.items():
        step = np.arange(0, LONGER.get(name, 1) * p.steps + 1, p.observe_every)
        data[name] = runs(
            {},
            len(arrays["loss"]),
            arrays,
            step=step,
            outcome=outcome,
            labels=_labels(p, step, arrays),
        )
    step = np.arange(0, p.steps + 1, p.observe_every)
    names = _labels(p, step, foretold)
    beside = runs({}, seeds, foretold, step=step, outcome=None, labels=names)
    return Grid(p, {}, seeds, 0, data.pop(""), data, beside)


LONGER = {"small-init": study.SMALLER, "xavier-small": study.SMALLER, "disagreeing": 2}


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


def _labels(p, step, arrays):
    layer = {"layer": ("layer", list(routing.LAYERS))} if "singular_values" in arrays else {}
    return {"time": ("step", step * p.learning_rate), **layer}


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


def start_spread(values):
    values = values.copy()
    values[:, 0] *= 1 + 0.5 * np.linspace(-1, 1, values.shape[-1])
    return values


SPOILT = {
    "same-mask": lambda: made(trained_pairs=lambda pairs: np.roll(pairs, 2, 1)),
    "trained-routes-alone": lambda: made(gradient_gap=add(0.03)),
    "decoupled": lambda: made(decoupled_loss=times(1 + 1e-6)),
    "conserved": lambda: made(flow_conserved_drift=add(1e-2)),
    "orthogonal-start": lambda: made(singular_values=start_spread),
    "random-start": lambda: made(
        outcome=CONVERGED, loss=lambda v: v[:, :1] * np.linspace(1, 0, v.shape[1])
    ),
    "half-times": lambda: made(mode_strength=slower),
    "own-start": lambda: made(singular_values=lambda v: from_own_starts(v, 0.4)),
    "half-times-whitened": lambda: made(WHITE, 3, mode_strength=lambda v: np.repeat(v, 2, 1)[:, : v.shape[1]]),
    "half-times-raw": lambda: made(RAW, 3, mode_strength=lambda v: np.repeat(v, 2, 1)[:, : v.shape[1]]),
    "larger-first": lambda: made(mode_strength=lambda v: v[..., ::-1], mode_optimum=lambda v: v[..., ::-1]),
    "more-paths-faster": lambda: made(singular_values=layer("encoders", 4.0)),
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
    "split-alike": lambda: made(disagreeing_alike_between=add(0.2)),
    "zero-shot-stops-at-islands": lambda: made(islands_pair_error=times(0.0)),
    "end-point": lambda: made(singular_values=layer("hidden", 1.01)),
    "shared": lambda: made(similarity=lambda v: v + 2 * np.eye(v.shape[-1])),
    "shared.corrected": lambda: made(theirs=ALL_TRAINED),
    "shared-structure": lambda: made(similarity=add(0.5)),
    "submanifold": lambda: made(off_diagonal_mass=add(0.2)),
}  # fmt: skip
WHITE = dataclasses.replace(RAW, scaling="whitened")
ALL_TRAINED = dataclasses.replace(P, trained_outputs=P.domains)


def test_every_sentence_can_hold_and_fail():
    good = {"half-times-raw": lambda: made(RAW, 3), "half-times-whitened": lambda: made(WHITE, 3)}
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
        if said.at_end and said.of == ("",) and said.id in found:
            assert found[said.id][0].verdict == INCONCLUSIVE, said.id


def test_equal_seeds_carry_no_verdict():
    found = verdicts("routing", made(loss=lambda loss: np.repeat(loss[:1], SEEDS, 0)))
    for id in ("zero-shot", "half-times", "ratio.corrected", "shared"):
        assert found[id][0].verdict == INCONCLUSIVE, id


@pytest.mark.parametrize("law", ["xavier", "gaussian", "decoupled"])
def test_other_starts_are_not_judged_by_the_theory_of_orthogonal_ones(law):
    p = dataclasses.replace(P, init_law=law)
    found = verdicts("routing", made(p, theirs=P))
    assert "half-times" not in found
    assert ("orthogonal-start" in found) == (law == "decoupled")


ENDS = [
    (RUNNING, 1),
    (CONVERGED, 30),
    (STALLED, 30),
    (OUT_OF_STEPS, 1),
    (DIVERGED, 2),
    (FAILED, 0),
    (MISSING, 0),
]


@pytest.mark.parametrize(("code", "kept"), ENDS)
def test_nothing_raises_where_runs_end_early(code, kept):
    def end(values):
        values = np.array(values, float)
        values[:, kept:] = np.nan
        return values

    gone = lambda values: values * (np.nan if kept < 3 else 1.0)  # noqa: E731
    curves = ("loss", "untrained_error", "singular_values", "mode_strength", "off_diagonal_mass")
    finals = ("trained_pairs", "pair_error", "gradient_gap", "similarity", "outputs")
    changes = {name: end for name in curves} | {name: gone for name in finals}
    grid = made(outcome=code, **changes)
    found = verdicts("routing", grid)
    if code in (DIVERGED, FAILED, MISSING):
        assert HOLDS not in {
            found[id][0].verdict for id in found if id not in ("decoupled", "conserved")
        }
    if code in (STALLED, MISSING):
        catalogue.load("routing").draw(grid)


def test_a_lost_run_takes_the_verdict_away():
    outcome = np.array([DIVERGED, *[OUT_OF_STEPS] * (SEEDS - 1)])
    grid = made()
    grid.simulation["outcome"].values[:] = outcome
    grid.simulation["loss"].values[0, 9:] = np.nan
    assert verdicts("routing", grid, "zero-shot")["zero-shot"][0].verdict == INCONCLUSIVE


def test_random_masks_have_no_closed_form_and_are_judged_without():
    grid = made(dataclasses.replace(P, mask="random_rows"), theirs=P)
    found = verdicts("routing", grid)
    assert "ratio" in found
    assert "ratio.corrected" not in found
    catalogue.load("routing").draw(grid)
