"""Made-up grids: labelled runs that no network made, on which sentences must hold or fail.

`grid` lays arrays out by the vocabulary; `check` judges one sentence after the other on a grid that is as the study says
(`good`) and on grids that are spoilt for that sentence alone, and insists that no sentence is left out::

    def test_every_sentence_can_hold_and_fail():
        check("one-mode", good, {"closed-form": {"strength_factor": 1.1}, ...})
"""

import copy
import itertools
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from foretrain.claims.claim import FAILS, HOLDS, Claim
from foretrain.claims.judge import judge
from foretrain.figures.drawings import drawings
from foretrain.laboratory.labelled import dataset
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.quantities.learning_curves import steps
from foretrain.streams import Seed
from foretrain.vocabulary import CONVERGED, DIVERGED, FAILED, MISSING, OUT_OF_STEPS, RUNNING, lookup

ENDS = {"all are missing": MISSING, "all diverged": DIVERGED, "some ended in each way": None}


def runs(
    axes: dict[str, tuple],
    seeds: int,
    variables: dict[str, Any],
    *,
    step: np.ndarray | None = None,
    outcome: Any = CONVERGED,
    labels: dict[str, Any] | None = None,
) -> xr.Dataset:
    """A dataset of runs: arrays of shape (axes..., seed, own dims...) or anything that broadcasts to it.

    No seeds leave that dim out, as in a theory that does not differ by seed. Own dims are those of the vocabulary, as long as
    the array's last dims; `step` numbers the steps, `labels` are further coordinates, name to (dims, values). The outcome is
    a code, or an array of shape (axes..., seed); None leaves outcome and steps_taken out (theory).
    """
    lead = {name: len(values) for name, values in axes.items()} | ({"seed": seeds} if seeds else {})
    arrays = {}
    for name, values in variables.items():
        own, values = lookup(name).dims or (), np.asarray(values)
        shape = (*lead.values(), *(values.shape[values.ndim - len(own) :] if own else ()))
        arrays[name] = ((*lead, *own), np.broadcast_to(values, shape).copy())
    if outcome is not None:
        shape = tuple(lead.values())
        filled = np.broadcast_to(np.asarray(outcome, np.int8), shape).copy()
        arrays["outcome"] = tuple(lead), filled
    data = xr.Dataset(arrays)
    coords = {name: (name, list(values)) for name, values in axes.items()}
    if seeds:
        coords["seed"] = ("seed", np.arange(seeds))
    if step is not None and "step" in data.dims:
        coords["step"] = ("step", np.asarray(step))
    for name, (dims, values) in (labels or {}).items():
        if {*np.atleast_1d(dims)} <= {*data.dims}:
            coords[name] = (dims, values)
    return data.assign_coords(coords)


def grid(
    parameters: Any,
    axes: dict[str, tuple],
    seeds: int,
    networks: dict[str, Any],
    changes: dict[str, Callable] | None = None,
    *,
    outcome: Any = CONVERGED,
    **options,
) -> Grid:
    """A grid of the runs of some networks.

    A network stands as its variables, see `runs`, or as its runs; ``""`` is the study's own, and `theory` and `fits` are what
    is predicted and fitted. Changes are functions of arrays, by variable as in ``"loss"`` or by network and variable as in
    ``"flow/loss"``. Other arguments are those of `runs`.
    """
    networks = spoil(networks, changes or {})
    data = {
        name: runs(
            axes, seeds, values, outcome=None if name in ("theory", "fits") else outcome, **options
        )
        if isinstance(values, dict)
        else values
        for name, values in networks.items()
    }
    parts = {name: data.pop(name) for name in ("theory", "fits") if name in data}
    return Grid(parameters, axes, seeds, simulation=data.pop(""), variants=data, **parts)


def spoil(networks: dict[str, Any], changes: dict[str, Callable]) -> dict[str, Any]:
    """Variables of networks, as `grid` takes them, with its changes made."""
    networks = {name: copy.copy(values) for name, values in networks.items()}
    for name, change in changes.items():
        network, _, variable = name.rpartition("/")
        networks[network][variable] = change(np.array(networks[network][variable]))
    return networks


def predictions(study: Any, p: Any, axes: dict[str, tuple], seeds: int, step: Any = None) -> dict:
    """Predictions of a study's module of every run over some axes, name to an array of shape (axes..., seed, own dims...)."""
    parts: dict[str, list] = {}
    for values in itertools.product(*axes.values()):
        here = replace(p, **dict(zip(axes, values, strict=True)))
        for seed in range(seeds):
            for name, value in study.predict(here, step, Seed(0, seed)).items():
                parts.setdefault(name, []).append(value)
    shape = (*map(len, axes.values()), seeds)
    return {name: np.reshape(v, (*shape, *np.shape(v)[1:])) for name, v in parts.items()}


def fitted(study: Any, whole: Grid) -> Grid:
    """The grid with what a study of the catalogue, already loaded, fits to it."""
    step = whole.simulation["step"].values
    labels = study.labels(whole.parameters, step)
    return replace(whole, fits=dataset(study.fit(whole), labels, step, seeds=whole.seeds))


def times(factor):
    return lambda values: factor * values


def add(number):
    return lambda values: values + number


def changed(whole: Grid, variable: str, change: Callable[[xr.DataArray], Any]) -> Grid:
    """The grid with a variable changed, such as ``"loss"``, or ``"flow/loss"`` of a network trained beside it."""
    network, _, name = variable.rpartition("/")
    data = whole.network(network)
    data[name] = (data[name].dims, np.asarray(change(data[name].copy())))
    return whole


def verdicts(study: str | Path, whole: Grid, id: str = "") -> dict[str, list[Claim]]:
    """Id of every sentence that applies, or of the one asked for, to its claims, one per cell."""
    claims: dict[str, list[Claim]] = {}
    cells: dict[tuple[str, ...], list[Grid]] = {}
    for sentence in catalogue.load(study).sentences:
        if id not in ("", sentence.id):
            continue
        if (along := sentence.along) not in cells:
            cells[along] = [cell.along(*along) for cell in whole.cells(keep=along)]
        if sentence.within is not None:  # a value outside raises; to hold a mean takes more seeds
            judge(sentence, cells[along][0])
            sentence = replace(sentence, within=None)
        if each := [*filter(None, (judge(sentence, cell) for cell in cells[along]))]:
            claims[sentence.id] = each
    return claims


def ended_grid(whole: Grid, how: str) -> Grid:
    """The same grid with runs that ended as `how` says, of which those that ended early have half of their observations.

    As in a store the steps end with the longest run, those of the theory do not.
    """

    def blank(data):
        if "outcome" not in data:
            return data
        number = np.arange(data["outcome"].size).reshape(data["outcome"].shape) % 7 - 1
        codes = number if ENDS[how] is None else 0 * number + ENDS[how]
        ends = xr.Variable(data["outcome"].dims, codes.astype(np.int8))
        there = (ends != FAILED) & (ends != MISSING)
        last = (ends == RUNNING) | (ends == OUT_OF_STEPS)
        changed = {"outcome": ends}
        for name, values in data.drop_vars("outcome").variables.items():
            if name not in data.coords and set(ends.dims) <= set(values.dims):
                steps = values.sizes.get("step", 0)
                early = xr.Variable("step", np.arange(steps) < steps // 2) | last
                changed[name] = values.where(there & (early if steps else ends != DIVERGED))
        return _cut(data.assign(changed))

    variants = {name: blank(runs) for name, runs in whole.variants.items()}
    return replace(whole, simulation=blank(whole.simulation), variants=variants)


def _cut(data):
    seen = [
        values.notnull().any([dim for dim in values.dims if dim != "step"])
        for values in data.data_vars.values()
        if "step" in values.dims
    ]
    if not seen or not (there := np.flatnonzero(np.any(seen, axis=0))).size:
        return data
    return data.isel(step=slice(0, there[-1] + 1))


def survives(study: str | Path, whole: Grid, drawn: bool, of_diverged: Collection[str]) -> None:
    """Hold that nothing raises however runs end, and that no sentence holds of runs that are missing or diverged."""
    for how, code in ENDS.items():
        ended = ended_grid(whole, how)
        claims = verdicts(study, ended)
        holding = {
            id for id, each in claims.items() if any(claim.verdict == HOLDS for claim in each)
        }
        spared = of_diverged if code == DIVERGED else ()
        assert code is None or holding <= set(spared), f"{holding} of {study} hold where {how}"
        if drawn and code is None:
            drawings(catalogue.load(study), ended)


def remember_plateaus(monkeypatch) -> None:
    """Seek the plateaus of curves that are multiples of each other once: they are those of the relative loss."""
    known, seek = {}, steps._diagram

    def sought(times, losses, floor):
        key = (times.tobytes(), np.round(losses / losses[0], 9).tobytes(), floor)
        if key not in known:
            known[key] = seek(times, losses, floor)
        return known[key]

    monkeypatch.setattr(steps, "_diagram", sought)


def check(
    study: str | Path,
    good: Callable[..., Grid],
    spoilt: dict[str, Any],
    exceptions: dict[str, Any] | None = None,
    *,
    drawn: bool = True,
    of_diverged: Collection[str] = (),
) -> None:
    """Hold that every sentence holds on a good grid, in some cell, and fails on the grid spoilt for it.

    A grid stands as the arguments with which `good` makes it, by name; or as a function that makes it; or as a variable
    and a change of it, see `changed`. A list of grids stands for several, on each of which the sentence fails.
    `spoilt` is id of every sentence to a grid on which it fails, `exceptions` of some to one on which these hold; `drawn` says
    if the good grid has all that figures draw. Sentences `of_diverged` runs may hold where all runs diverged.
    """
    exceptions = exceptions or {}
    ids = {sentence.id for sentence in catalogue.load(study).sentences}
    assert ids == set(spoilt), f"without a grid on which it fails: {sorted(ids ^ set(spoilt))}"
    usual = good()
    survives(study, usual, drawn, of_diverged)
    usual_claims = verdicts(study, usual)
    del usual  # it may be large

    def judged(id, recipe):
        if recipe == {}:
            return usual_claims.get(id, [])
        if isinstance(recipe, tuple):
            whole = changed(good(), *recipe)
        else:
            whole = good(**recipe) if isinstance(recipe, dict) else recipe()
        return verdicts(study, whole, id).get(id, [])

    for id in ids:
        wrong = spoilt[id] if isinstance(spoilt[id], list) else [spoilt[id]]
        recipes = [(HOLDS, exceptions.get(id, {})), *((FAILS, recipe) for recipe in wrong)]
        for verdict, recipe in recipes:
            each = judged(id, recipe)
            seen = [(c.label, c.verdict, c.measured, c.uncertainty, c.reason) for c in each]
            assert any(claim.verdict == verdict for claim in each), (
                f"{id} {verdict} nowhere with {recipe}: {seen}"
            )
