"""Divergence is a result."""

import json

import pytest

import foretrain
from foretrain.plans import catalogue
from foretrain.plans.parameters import rules

POOR_FIGURES = "of runs that end after three observations"
RATES = ("learning_rate", "relative_rate", "relative_step", "init_scale")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:(over|under|divide|invalid):RuntimeWarning")
@pytest.mark.parametrize("name", [n for n in catalogue.names() if catalogue.load(n).trains])
@pytest.mark.parametrize("how", ["all", "some"])
def test_every_study_concludes_where_runs_diverge_or_are_cut_off(name, how, tmp_path):
    """Steps of any size, scales of any size: whatever the runs do, there is a store, a summary and a page."""
    study = catalogue.load(name)
    fields = study.Parameters.__dataclass_fields__
    options = {"seeds": 2, "workers": 1, "quiet": True, "out": tmp_path / "out"}
    options |= {axis: values[0] for axis, values in study.axes.items()}
    options["steps"] = 3 * fields["observe_every"].default
    rate = next((item for item in RATES if item in fields), None)
    if rate is not None:
        large = rules(study.Parameters)[rate].maximum or 1e6
        options[rate] = large if how == "all" else [fields[rate].default, large]
    result = foretrain.run(name, **options)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["problems"] == []
    assert (tmp_path / "out" / "report.html").exists()
    assert result.simulation.sizes["seed"] == 2
