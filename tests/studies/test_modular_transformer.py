from dataclasses import replace

import numpy as np
import pytest

import foretrain
from foretrain.plans import catalogue, plan
from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.modular_transformer import figures, study
from foretrain.training import transformer

TINY = {
    "symbols": 5,
    "embedding_dim": 6,
    "hidden_width": 8,
    "decoder_learning_rate": [0.01, 0.02],
    "decoder_decay": [0.0, 1.0],
    "accuracy_threshold": 0.2,
    "delay": 1,
    "steps": 60,
    "observe_every": 20,
    "snapshots": 6,
    "circles": 2,
    "compared": False,
}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp("modular") / "a"
    return foretrain.run("modular-transformer", **TINY, seeds=2, out=out, quiet=True, workers=0)


def test_a_run_is_stored_with_its_snapshots_and_judged(result):
    data = result.simulation
    assert set(data["outcome"].values.ravel()) <= {1, 4}
    found = data["projected_accuracy"].transpose("seed", ..., "snapshot", "axes_of", "rank")
    assert found.shape == (2, 2, 2, 6, 3, 2)
    assert list(data["rank"].values) == [2, 4]
    start = data["snapshot_embedding"].isel(snapshot=0)
    # One seed has one start, whatever the rates.
    assert float((start - start.isel(decoder_learning_rate=0, decoder_decay=0)).std()) == 0
    assert {"borders", "decay-helps"} & {claim.id for claim in result.claims}
    figures = {path.stem for path in (result.path / "figures").glob("*.png")}
    assert {"learning-curve", "circles", "projections", "phases"} <= figures


def test_presets_have_the_sizes_that_the_page_states():
    found = catalogue.load("modular-transformer")
    assert set(found.presets) == {"quick", "grok", "paper"}
    paper = plan.make_plan("modular-transformer", {}, preset="paper")
    p = paper.parameters
    assert (p.symbols, p.embedding_dim, p.hidden_width, p.layers) == (53, 256, 256, 2)
    assert len(list(plan.runs(paper))) == 6 * (3 * 5 + 3 * 5 + 2)
    grok = plan.make_plan("modular-transformer", {}, preset="grok")
    assert len(list(plan.runs(grok))) == 6


def test_variants_are_trained_at_their_rate_and_are_possible():
    p = study.Parameters(decoder_learning_rate=0.003, decoder_decay=1.0)
    found = study.variants(p)
    along = {"narrow", "toy", "wide_toy"}
    assert set(found) == along | {"dropout", "decaying"}
    assert set(study.variants(replace(p, decoder_decay=0.5))) == along
    for changed in found.values():
        other = replace(p, **{name: value for name, value in changed.items() if name != "seeds"})
        study.check(other)
        transformer.inputs(other, Seed(0, 0))
    for other in ({"decoder_learning_rate": 0.001}, {"compared": False}, {"dropout": 0.1}):
        assert study.variants(replace(p, **other)) == {}


def test_figures_of_runs_that_never_generalise_are_drawn(result):
    cell = next(Grid(study.Parameters(), seeds=2, simulation=_first(result)).cells())
    never = cell.simulation.assign(validation_step=cell.simulation["validation_step"] * np.nan)
    drawn = figures.draw(Grid(study.Parameters(), seeds=2, simulation=never))
    assert set(drawn) == {"learning-curve", "circles", "projections"}


def _first(result):
    return result.simulation.isel(decoder_learning_rate=0, decoder_decay=0)
