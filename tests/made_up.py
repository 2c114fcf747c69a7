"""Made-up grids: labelled runs that no network made, on which sentences must hold or fail.

`grid` lays arrays out by the vocabulary; `check` judges one sentence after the other on a grid that is as the study says
(`good`) and on grids that are spoilt for that sentence alone, and insists that no sentence is left out::

    def test_every_sentence_can_hold_and_fail():
        check("one-mode", good, {"closed-form": lambda: good(strength_factor=1.1), ...})
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from foretrain.claims.claim import FAILS, HOLDS, Claim
from foretrain.claims.judge import judge
from foretrain.figures.drawings import drawings
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.quantities.learning_curves import steps
from foretrain.vocabulary import (
    CONVERGED,
    DIVERGED,
    FAILED,
    MISSING,
    OUT_OF_STEPS,
    RUNNING,
    lookup,
)

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

    Args:
        axes: Axis to its values.
        seeds: Number of seeds; 0 leaves the dim out, as in a theory that does not differ by seed.
        variables: Name to array. Own dims are those of the vocabulary; their lengths are taken from the array's last dims.
        step: Step numbers, where a variable has the dim ``step``.
        outcome: Code, or array of shape (axes..., seed); None leaves outcome and steps_taken out (theory).
        labels: Further coordinates, name to (dims, values).
    """
    lead = {name: len(values) for name, values in axes.items()} | ({"seed": seeds} if seeds else {})
    found = {}
    for name, values in variables.items():
        own, values = lookup(name).dims or (), np.asarray(values)
        shape = (*lead.values(), *(values.shape[values.ndim - len(own) :] if own else ()))
        found[name] = ((*lead, *own), np.broadcast_to(values, shape).copy())
    if outcome is not None:
        shape = tuple(lead.values())
        found["outcome"] = (
            tuple(lead),
            np.broadcast_to(np.asarray(outcome, np.int8), shape).copy(),
        )
    data = xr.Dataset(found)
    coords = {name: (name, list(values)) for name, values in axes.items()}
    if seeds:
        coords["seed"] = ("seed", np.arange(seeds))
    if step is not None and "step" in data.dims:
        coords["step"] = ("step", np.asarray(step))
    return data.assign_coords(coords).assign_coords(labels or {})


def changed(made: Grid, variable: str, change: Callable[[xr.DataArray], Any]) -> Grid:
    """The grid with a variable changed, such as ``"loss"``, or ``"flow/loss"`` of a network trained beside it."""
    network, _, name = variable.rpartition("/")
    data = made.network(network)
    data[name] = (data[name].dims, np.asarray(change(data[name].copy())))
    return made


def verdicts(study: str | Path, made: Grid, id: str = "") -> dict[str, list[Claim]]:
    """Id of every sentence that applies, or of the one asked for, to its claims, one per cell."""
    found: dict[str, list[Claim]] = {}
    cells: dict[tuple[str, ...], list[Grid]] = {}
    for said in catalogue.load(study).sentences:
        if id not in ("", said.id):
            continue
        if said.along not in cells:
            cells[said.along] = [one.along(*said.along) for one in made.cells(keep=said.along)]
        for cell in cells[said.along]:
            claim = judge(said, cell)
            if claim is not None:
                found.setdefault(said.id, []).append(claim)
    return found


def ended_grid(made: Grid, how: str) -> Grid:
    """The same grid with runs that ended as `how` says, of which those that ended early have half of their observations.

    As in a store the steps end with the longest run, those of the theory do not.
    """

    def blank(data):
        if "outcome" not in data:
            return data
        number = np.arange(data["outcome"].size).reshape(data["outcome"].shape) % 7 - 1
        ends = data["outcome"].copy(data=number if ENDS[how] is None else 0 * number + ENDS[how])
        changed = {"outcome": ends.astype(np.int8)}
        for name, values in data.drop_vars("outcome").items():
            if set(ends.dims) <= set(values.dims):
                kept = ~ends.isin((FAILED, MISSING))
                if "step" in values.dims:
                    early = xr.ones_like(values["step"], bool)
                    early[values.sizes["step"] // 2 :] = False
                    kept = kept & (early | ends.isin((RUNNING, OUT_OF_STEPS)))
                else:
                    kept = kept & (ends != DIVERGED)
                changed[name] = values.where(kept)
        return _cut(data.assign(changed))

    variants = {name: blank(runs) for name, runs in made.variants.items()}
    return replace(made, simulation=blank(made.simulation), variants=variants)


def _cut(data):
    seen = [
        values.notnull().any([dim for dim in values.dims if dim != "step"])
        for values in data.data_vars.values()
        if "step" in values.dims
    ]
    if not seen or not (there := np.flatnonzero(np.any(seen, axis=0))).size:
        return data
    return data.isel(step=slice(0, there[-1] + 1))


def survives(study: str | Path, made: Grid, drawn: bool, of_diverged: Collection[str]) -> None:
    """Hold that nothing raises however runs end, and that no sentence holds of runs that are missing or diverged."""
    for how, code in ENDS.items():
        ended = ended_grid(made, how)
        claims = verdicts(study, ended)
        holding = {id for id, each in claims.items() if any(one.verdict == HOLDS for one in each)}
        spared = of_diverged if code == DIVERGED else ()
        assert code is None or holding <= set(spared), f"{holding} of {study} hold where {how}"
        if drawn and code != DIVERGED:
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
    good: Callable[[], Grid] | dict[str, Callable[[], Grid]],
    spoilt: dict[str, Any],
    *,
    drawn: bool = True,
    of_diverged: Collection[str] = (),
) -> None:
    """Hold that every sentence holds on a good grid, in some cell, and fails on the grid spoilt for it.

    Args:
        study: Name of the study.
        good: Makes the grid on which all sentences hold, or id to what makes that of each.
        spoilt: Id of every sentence to what makes a grid on which it fails, or to variable and change, see `changed`, of the
            good grid.
        drawn: Whether the good grid has all that the study's figures draw.
        of_diverged: Ids of sentences that may hold where all runs diverged, since diverged runs are what they speak of.
    """
    ids = {said.id for said in catalogue.load(study).sentences}
    assert ids == set(spoilt), f"without a grid on which it fails: {sorted(ids ^ set(spoilt))}"
    survives(study, (good if callable(good) else next(iter(good.values())))(), drawn, of_diverged)
    whole = verdicts(study, good()) if callable(good) else {}
    for id in ids:
        held = whole.get(id, []) if callable(good) else verdicts(study, good[id](), id).get(id, [])
        seen = [
            (claim.label, claim.verdict, claim.measured, claim.uncertainty, claim.reason)
            for claim in held
        ]
        assert any(claim.verdict == HOLDS for claim in held), f"{id} holds nowhere: {seen}"
        makes, bad = good if callable(good) else good[id], spoilt[id]
        failed = verdicts(study, bad() if callable(bad) else changed(makes(), *bad), id).get(id, [])
        seen = [
            (claim.label, claim.verdict, claim.measured, claim.uncertainty, claim.reason)
            for claim in failed
        ]
        assert any(claim.verdict == FAILS for claim in failed), f"{id} fails nowhere: {seen}"
