import dataclasses
from collections import Counter

import pytest

from foretrain.plans import catalogue, plan
from foretrain.plans.parameters import rules


def twins(parameters):
    if parameters.singular_value == 3.0:
        return {}
    late = {"late": {"steps": 7}} if parameters.singular_value == 4.0 else {}
    seeds = 2 if parameters.singular_value == 1.0 else 3
    return {**late, "twin": {"init_scale": 0.2, "seeds": seeds}}


def make(monkeypatch, values, seeds=4):
    monkeypatch.setitem(catalogue.load("one-mode").part("study"), "variants", twins)
    return plan.make_plan("one-mode", {"singular_value": values}, seeds=seeds)


def test_variants_are_those_of_any_cell_and_cells_without_one_are_skipped(monkeypatch):
    swept = make(monkeypatch, (3.0, 1.0, 4.0))
    assert plan.variants(swept) == ["", "twin", "late"]
    assert [plan.variant_seeds(swept, name) for name in plan.variants(swept)] == [4, 3, 4]
    assert Counter(place[0] for place, _ in plan.grid(swept, "twin")) == {1: 2, 2: 3}
    assert {place[0] for place, _ in plan.grid(swept, "late")} == {2}
    assert all(run.parameters.steps == 7 for _, run in plan.grid(swept, "late"))
    assert len({run.identity for run in plan.runs(swept)}) == 3 * 4 + 2 + 3 + 4


def test_a_variant_is_run_for_no_more_seeds_than_the_plan_has(monkeypatch):
    alone = make(monkeypatch, 1.0, seeds=1)
    assert plan.variants(alone) == ["", "twin"]
    assert plan.variant_seeds(alone, "twin") == 1
    assert len(list(plan.grid(alone, "twin"))) == 1


def test_runs_of_a_variant_are_the_same_in_a_cell_alone_and_in_a_sweep(monkeypatch):
    alone = {run.identity for run in plan.runs(make(monkeypatch, 1.0))}
    assert alone < {run.identity for run in plan.runs(make(monkeypatch, (3.0, 1.0)))}


@pytest.mark.parametrize("study", catalogue.names())
def test_cells_of_one_grid_have_the_same_variants(study):
    result = catalogue.load(study)
    default = result.Parameters()
    for name, rule in rules(result.Parameters).items():
        values = (True, False) if isinstance(getattr(default, name), bool) else rule.choices
        cells = [dataclasses.replace(default, **{name: value}) for value in values]
        same = len({tuple(result.variants(cell)) for cell in cells}) <= 1
        # Beside sampled parts of modules nothing is counted: a preset has them alone.
        exempt = study == "planted-modules" and name in ("part", "activation")
        assert same or not rule.sweepable or exempt, name
