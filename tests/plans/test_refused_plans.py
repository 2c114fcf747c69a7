import json

import pytest

from foretrain.errors import ArgumentError, FolderError, StoreError
from foretrain.plans import catalogue, plan
from foretrain.plans.card import StudyError
from foretrain.plans.config import read_sweep

ROUTING = "study = 'routing'\n"
RANGE = ROUTING + "[axes]\ninit_scale = "
HUGE = "9" * 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            RANGE + "{from = 0.1, to = 0.5, number = 3, scael = 'log'}",
            "`init_scale` must be a list, or {from, to, number, scale}, but has `scael`. Did you mean `scale`?",
        ),
        (
            ROUTING + "[parameters]\ninit_scale = 0.1\n[axes]\ninit_scale = [0.1, 0.2]",
            "`init_scale` must stand in one of `[parameters]` and `[axes]`, but stands in both",
        ),
        ("study = 3", "`study` must name a study or the file of one, but is 3"),
        ('study = "a\\nb"', "`study` must name a study"),
        ("seeds = 2", "must name a `study`"),
        (ROUTING + "seeds = = 3\n", "line 2"),
        (ROUTING + "sedes = 2", "Did you mean `seeds`?"),
        (ROUTING + "[axes]\ninit_scal = [0.1]", "Did you mean `init_scale`?"),
        (RANGE + "[]", "`init_scale` must have at least one value, but has none"),
        (RANGE + "[0.1, nan]", "`init_scale` must be finite, but is nan"),
        (RANGE + "{from = 0, to = 1, number = 3, scale = 'log'}", "must be greater than 0"),
        (RANGE + "{from = 0.1}", "must be a list, or {from, to, number, scale}"),
        ("seeds = 10000000\n" + RANGE + "[0.1, 0.2]", "but make 20,000,000. Try --yes."),
        (ROUTING + "parameters = 3", "`parameters` must be a table, `[parameters]`, but is 3"),
        (ROUTING + "[axes]\nseeds = [1, 2]", "`seeds` must stand at the top of the file"),
        ("study = 'routing'\r[axes]\r", "`config` must be valid TOML"),
        (RANGE + "{from = -1e308, to = 1e308, number = 3}", "`init_scale.from` must be between"),
        (ROUTING + "out = 3", "`out` must be the name of a folder, but is 3"),
        (ROUTING + "preset = 3", "`preset` must be one of"),
        (ROUTING + "seeds = {a = 1}", "`seeds` must be a whole number"),
        (ROUTING + f"[parameters]\ninit_scale = {HUGE}", "number of about 400 digits"),
        (ROUTING + f"seeds = {HUGE}", "but is a whole number of about 400 digits"),
        (ROUTING + f"seeds = {HUGE * 20}", "`config` must be readable TOML"),
        (ROUTING + f"seeds = {'[' * 5000}", "`config` must be"),
        (
            RANGE + "{from = 0.1, to = 0.5, number = 100000000000}",
            "`init_scale.number` must be between 1 and 10000000, but is 100000000000",
        ),
        (
            RANGE + "{from = 0.1, to = 0.5, number = 3, scale = 'lgo'}",
            "`init_scale.scale` must be one of `linear`, `log`, but is 'lgo'. Did you mean `log`?",
        ),
    ],
)
def test_bad_sweep_files_are_refused_in_one_line(tmp_path, text, message):
    config = tmp_path / "sweep.toml"
    config.write_bytes(text.encode())
    with pytest.raises(ArgumentError) as refusal:
        read_sweep(config)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_too_many_runs_are_refused_before_any_cell_is_checked(tmp_path, monkeypatch):
    def never(parameters):
        raise AssertionError("a cell was checked")

    monkeypatch.setitem(catalogue.load("routing").part("study"), "check", never)
    config = tmp_path / "sweep.toml"
    third = "{from = 1.0, to = 2.0, number = 1000}"
    config.write_text(
        ROUTING
        + f"seeds = 1\n[axes]\ninit_scale = {third}\nlearning_rate = {third}\nloss_tolerance = {third}"
    )
    with pytest.raises(ArgumentError, match=r"at most 10,000,000 runs, but make 1,000,000,000\."):
        read_sweep(config)
    with pytest.raises(StudyError, match="a cell was checked"):
        read_sweep(config, yes=True)


STORED = plan.make_plan("one-mode", {}, seeds=2).as_dict()


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({**STORED, "seeds": -1}, "`seeds` must be between 1 and 10000000, but is -1"),
        ({**STORED, "parameters": {"start": "centre"}}, "`start` must be one of"),
    ],
)
def test_a_manifest_that_holds_no_plan_is_refused_in_one_line(stored, message):
    stored = json.loads(json.dumps(stored))
    for read in (plan.plan_from_dict, lambda it: plan.join(it, plan.plan_from_dict(STORED))):
        with pytest.raises(StoreError) as refusal:
            read(stored)
        assert message in str(refusal.value)
        assert "\n" not in str(refusal.value)


def test_a_stored_plan_of_an_unknown_study_cannot_be_used():
    words = r"`one-mood` of this folder is none of the catalogue: .* Try"
    with pytest.raises(FolderError, match=words):
        plan.plan_from_dict({**STORED, "study": "one-mood"})
