"""Every claim of the routing study holds on networks that do what theory predicts, and fails where it should."""

from dataclasses import replace
from functools import cache

import jax
import numpy as np
import pytest
import xarray as xr
from made_up import add, check, grid, runs, spoil, times, verdicts

import foretrain
from foretrain.claims.claim import INCONCLUSIVE
from foretrain.figures.drawings import drawings
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.plans.plan import make_plan
from foretrain.quantities.cell import Cell
from foretrain.streams import Seed
from foretrain.studies.routing import claims as routing_claims
from foretrain.studies.routing import study, theory, training
from foretrain.studies.routing.study import SMALLER, Parameters
from foretrain.tasks.masks import components, islands
from foretrain.theory.pathways.race import descent, routing_factors
from foretrain.training import routing
from foretrain.vocabulary import CONVERGED, OUT_OF_STEPS

P = Parameters(learning_rate=0.2, steps=500, observe_every=5)
ALL_TRAINED = replace(P, trained_outputs=P.domains)
RAW = replace(P, data="digits", domains=3, trained_outputs=2, scaling="raw", steps=1500)
SEEDS = 5
LONGER = {"small-init": SMALLER, "xavier-small": SMALLER, "disagreeing": 2}


@cache
def _predicted(p, seed):
    return theory.predict(p, np.arange(0, p.steps + 1, p.observe_every), Seed(0, seed))


def _of_seeds(p, seeds):
    return {n: np.stack([_predicted(p, s)[n] for s in range(seeds)]) for n in _predicted(p, 0)}


def build(changes=None, p=P, seeds=SEEDS, theirs=None, outcome=OUT_OF_STEPS) -> Grid:
    """Runs that follow the theory, each seed a hair beside the others.

    `changes` are functions of an array, by network and variable as in ``flow/conserved_drift`` or ``theory/loss``; `theirs`
    are the parameters by which the networks were made, where others than `p`.
    """
    theirs = theirs or p
    hair = 1 + 1e-7 * np.arange(seeds)
    seen = _of_seeds(theirs, seeds)
    tasks = [study.task(p, Seed(0, seed)) for seed in range(seeds)]
    pairs = np.stack([routing.mask(theirs, Seed(0, seed)) for seed in range(seeds)])
    loss, zero = seen["loss"] * hair[:, None], tasks[0].output_power / 2
    excess = 6e-6 * loss[:, :1]
    island = islands(p.domains, max(1, min(p.trained_outputs, p.domains // 2)))
    between = ~np.equal.outer(*components(island))
    networks = {
        "theory": _of_seeds(p, seeds),
        "": {
            "loss": loss,
            "untrained_error": loss + excess,
            "singular_values": seen["singular_values"],
            "mode_strength": seen["mode_strength"] * hair[:, None, None],
            "mode_optimum": np.stack([t.singular_values / t.variances for t in tasks]),
            "mode_singular_value": np.stack([t.singular_values for t in tasks]),
            "mode_variance": np.stack([t.variances for t in tasks]),
            "off_diagonal_mass": np.where(loss > 0.99 * loss[:, :1], 0.8, 0.01),
            "trained_pairs": pairs,
            "pair_error": loss[:, -1, None, None] + np.where(pairs == 1, 0, excess[..., None]),
            "gradient_gap": 1e-6 * hair,
        },
        "decoupled": {name: seen[f"reduction_{name}"][:1] for name in ("loss", "singular_values")},
        "flow": {"loss": loss[:2], "conserved_drift": 1e-9 + 0 * loss[:2]},
        "islands": {
            "loss": loss,
            "trained_pairs": np.repeat(island[None], seeds, 0),
            "pair_error": (1e-4 + zero * between) * (1 + hair[:, None, None]),
        },
    }
    if "similarity" in seen:
        networks[""] |= {
            name: seen[name] for name in ("similarity", "alike_within", "alike_between")
        }
        networks[""]["outputs"] = np.ones((seeds, p.domains, p.domains, 7, 4))
        networks |= _longer(theirs, hair)
    else:
        networks[""]["heldout_accuracy"] = np.ones((seeds, p.domains, p.domains))
    networks = spoil(networks, changes or {})
    for name, arrays in networks.items():
        step = np.arange(0, LONGER.get(name, 1) * p.steps + 1, p.observe_every)
        time, layer = ("step", step * p.learning_rate), ("layer", list(routing.LAYERS))
        networks[name] = runs(
            {},
            len(arrays["loss"]),
            arrays,
            step=step,
            outcome=None if name == "theory" else outcome,
            labels={"time": time, "layer": layer},
        )
    return grid(p, {}, seeds, networks)


def _longer(p, hair):
    """The networks that go on longer than the study's own, from a smaller start or where routes disagree."""
    smaller = replace(p, init_scale=p.init_scale / SMALLER, steps=SMALLER * p.steps)
    modes = study.task(p, Seed(0, 0)).input_modes[0]
    own = lambda part: part * np.eye(p.domains) + (1 - part)  # noqa: E731
    alike = lambda part: np.kron(own(part), modes @ modes.T)  # noqa: E731
    networks = {
        "small-init": {n: _predicted(smaller, 0)[n] for n in ("similarity", "singular_values")},
        "xavier-small": {"similarity": alike(0.03 / SMALLER**2)},
        "xavier": {"similarity": alike(0.03)},
        "disagreeing": {
            f"alike_{name}": _predicted(p, 0)[f"split_{name}"] for name in ("within", "between")
        },
    }
    for name, arrays in networks.items():
        steps = LONGER.get(name, 1) * p.steps // p.observe_every + 1
        arrays["loss"] = np.geomspace(30, 1e-3, steps)
        for variable, values in arrays.items():
            arrays[variable] = np.multiply.outer(hair, values)
    return networks


def late(values):
    """The same curve, at half the pace."""
    return np.repeat(values, 2, 1)[:, : values.shape[1]]


def slower(values):
    """The same curve, later by a tenth."""
    at = np.arange(values.shape[1])
    return np.apply_along_axis(lambda curve: np.interp(at / 1.1, at, curve), 1, values)


def spread(part):
    """Dot products of items to which every domain adds a part of its own."""
    return lambda values: values + part * np.eye(values.shape[-1])


def layer(name, factor):
    """Singular values of one layer scaled at all steps but the first."""
    scale = np.where(np.array(routing.LAYERS) == name, factor, 1.0)[:, None]
    return lambda values: np.concatenate([values[:, :1], values[:, 1:] * scale], 1)


def from_own_starts(wide, share=0.9):
    """Layers that depart from those of wide weights by a share of what the starts of their runs say."""
    return wide + share * (_of_seeds(P, SEEDS)["start_singular_values"] - wide)


def reversed_modes(values):
    return values[..., ::-1]


SPOILT = {
    "trained-routes-alone": {"gradient_gap": add(0.03)},
    "decoupled": {"decoupled/loss": times(1 + 1e-6)},
    "conserved": {"flow/conserved_drift": add(1e-2)},
    "random-start": {"loss": lambda v: v[:, :1] * np.linspace(1, 0, v.shape[1])},
    "half-times": {"mode_strength": slower},
    "own-start": {"singular_values": lambda v: from_own_starts(v, 0.4)},
    "larger-first": {"mode_strength": reversed_modes, "mode_optimum": reversed_modes},
    "zero-shot": {"untrained_error": add(3.0)},
    "ratio": {"singular_values": layer("hidden", 1.2)},
    "ratio.corrected": {"theory/singular_values": layer("hidden", 1.1)},
    "limits": {"small-init/singular_values": layer("hidden", 0.98)},
    "shared-xavier": {"xavier/similarity": spread(2)},
    "split": {"disagreeing/alike_between": late},
    "split-first": {"disagreeing/alike_between": times(0.9)},
    "zero-shot-stops-at-islands": {"islands/pair_error": times(0.0)},
    "shared": {"similarity": spread(2)},
    "shared.corrected": {"theory/similarity": spread(0.1)},
    "submanifold": {"off_diagonal_mass": add(0.2)},
}


MUTATED = {
    "trained-routes-alone": [
        {"changes": {"trained_pairs": lambda v: np.roll(v, 2, 1)}},
        {"theirs": ALL_TRAINED},
        {"changes": {"loss": add(3.0)}},
        {"changes": {"untrained_error": add(3.0)}},
    ],
    "ratio.corrected": [{"theirs": ALL_TRAINED}],
    "zero-shot": [{"changes": {"untrained_error": times(0.0)}}],
    "shared.corrected": [{"theirs": ALL_TRAINED}],
    "decoupled": [{"changes": {"theory/reduction_loss": slower}}],
    "limits": [
        {"changes": {"small-init/similarity": spread(0.05)}},
        {"changes": {"xavier-small/similarity": spread(0.05)}},
    ],
    "split": [
        {"changes": {"disagreeing/alike_between": times(0.5)}},
        {"changes": {"theory/split_between": times(0.5)}},
    ],
    "zero-shot-stops-at-islands": [{"changes": {"islands/pair_error": lambda v: 60 - v}}],
}


def test_every_sentence_can_hold_and_fail():
    digits = {"p": RAW, "seeds": 3}
    exceptions = {
        "own-start": {"changes": {"singular_values": from_own_starts}},
        "half-times-digits": digits,
    }
    spoilt = {id: [{"changes": item}, *MUTATED.get(id, [])] for id, item in SPOILT.items()}
    spoilt["random-start"][0]["outcome"] = CONVERGED
    spoilt["half-times-digits"] = digits | {"changes": {"mode_strength": late}}
    check("routing", build, spoilt, exceptions)


def test_a_quarter_of_what_domains_keep_is_claimed_where_planes_of_parts_hardly_overlap():
    wide, narrow = ((7, 4, 64), (11, 6, 64), (6, 2, 1024)), ((8, 3, 48), (6, 2, 64))
    for domains, outputs, width in (*wide, *narrow):
        p = replace(P, domains=domains, trained_outputs=outputs, hidden_width=width)
        reason = routing_claims.QUARTER(Cell(Grid(p, {}, 2)))
        assert "lambda_1" in reason if (domains, outputs, width) in narrow else not reason
    islands = replace(P, mask="islands", trained_outputs=3)
    assert "more than 100%" in routing_claims.QUARTER(Cell(Grid(islands, {}, 2)))


def test_untrained_routes_of_islands_are_right_up_to_what_no_linear_map_explains():
    least = study.task(RAW, Seed(0, 0)).residual.mean()
    assert least > 0.1 * study.task(RAW, Seed(0, 0)).output_power / 2
    islanded = build({"islands/pair_error": add(least)}, p=RAW, seeds=3)
    assert np.allclose(routing_claims.island_agreement(Cell(islanded)), 1)


def test_half_times_of_runs_that_still_learn_carry_no_verdict():
    cut = build({"loss": lambda v: v + np.linspace(100, 50, v.shape[1])})
    assert verdicts("routing", cut, "half-times")["half-times"][0].verdict == INCONCLUSIVE


def test_half_times_of_digits_do_not_average_out():
    id = "half-times-digits"
    early_and_late = {"mode_strength": lambda v: np.where(np.arange(v.shape[-1]) % 2, v, late(v))}
    (claim,) = verdicts("routing", build(early_and_late, p=RAW, seeds=3), id)[id]
    assert claim.measured > 0.2


def test_starts_of_other_runs_explain_nothing():
    others = {"theory/start_singular_values": lambda v: np.roll(v, 1, 0)}
    whole = build({"singular_values": from_own_starts, **others})
    assert verdicts("routing", whole, "own-start")["own-start"][0].measured < 0.5


def test_a_gradient_from_untrained_routes_shows(monkeypatch):
    from foretrain.networks import routing as network

    p = replace(P, domains=3, trained_outputs=2, hidden_width=8)
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


@pytest.mark.slow
@pytest.mark.parametrize("other", [{"mask": "random_rows"}, {"init_law": "xavier"}])
def test_without_a_closed_form_runs_are_judged_by_the_rest(other):
    whole = build(p=replace(P, **other), theirs=P)
    claims = verdicts("routing", whole)
    assert "ratio" in claims
    assert not {"ratio.corrected", "half-times"} & set(claims)
    assert "own-start" not in drawings(catalogue.load("routing"), whole)


def predicted(seed=0, **values):
    p = make_plan("routing", values).parameters
    return theory.predict(p, np.arange(0, p.steps + 1, p.observe_every), Seed(0, seed))


def test_theory_and_simulation_have_the_same_names_and_labels(routing_folder):
    result = foretrain.open(routing_folder)
    for name in ("loss", "untrained_error", "singular_values", "mode_strength"):
        simulated, predicted = xr.align(result.simulation[name], result.theory[name], join="exact")
        assert simulated.dims == predicted.dims
    assert float(result.simulation["time"][-1]) == pytest.approx(40)
    for name, variable in result.simulation.data_vars.items():
        assert variable.attrs["long_name"], name
        assert variable.attrs["units"], name


def test_reduction_is_the_paper_s_two_numbers_per_mode_for_biregular_masks():
    layers = predicted(steps=300, observe_every=100)["reduction_singular_values"]
    s, d = np.array([13.6015, 6.4031, 3.0, 3.0]) / 4, np.full(4, 0.25)
    outer, hidden = descent((0.2, 0.2), 0.04, 300, s, d, routing_factors(7))
    np.testing.assert_allclose(layers[-1, 1], hidden[-1], rtol=1e-4)
    np.testing.assert_allclose(layers[-1, 0], outer[-1], rtol=1e-4)


def test_authors_loss_is_the_paper_s_with_eight_times_the_step_at_their_size():
    paper = predicted(learning_rate=0.16, steps=50)
    theirs = predicted(learning_rate=0.02, steps=50, loss_function="authors")
    for name in ("loss", "reduction_loss"):
        np.testing.assert_allclose(paper[name], theirs[name], rtol=1e-12)


@pytest.mark.parametrize("values", [{"init_law": "xavier"}, {"mask": "random_rows"}])
def test_nothing_is_predicted_where_the_closed_form_does_not_apply(values):
    predicted = _predicted(replace(P, **values), 0)
    assert np.isnan(predicted["loss"]).all()
    assert np.isfinite(predicted["reduction_loss"]).all()
