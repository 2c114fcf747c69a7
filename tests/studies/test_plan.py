import pytest

from foretrain.errors import ArgumentError, FolderError
from foretrain.plans import plan as plans


def make(**values):
    seeds = values.pop("seeds", 2)
    return plans.make_plan("routing", values, seeds=seeds)


def test_identity_of_a_run_does_not_depend_on_its_place_in_a_grid():
    alone = {run.identity for run in plans.runs(make(init_scale=0.3))}
    swept = {run.identity for run in plans.runs(make(init_scale=[0.1, 0.3], domains=[7, 8]))}
    assert alone < swept


def test_every_run_of_a_plan_is_distinct_and_variants_limit_their_seeds():
    plan = make(seeds=5)
    seeds = {name: plans.variant_seeds(plan, name) for name in plans.variants(plan)}
    limits = {"": 5, "decoupled": 1, "flow": 2, "islands": 5}
    assert {name: seeds[name] for name in limits} == limits
    assert len({run.identity for run in plans.runs(plan)}) == sum(seeds.values())


def test_plan_survives_its_manifest():
    plan = make(init_scale=[0.1, 0.2], mask="biregular")
    assert plans.plan_from_dict(plan.as_dict()) == plan
    assert plans.plan_from_dict(plan.as_dict()).hash == plan.hash


def test_hash_changes_with_whatever_changes_a_result():
    base = make()
    others = [
        make(init_scale=0.3),
        make(observe_every=10),
        make(precision="float64"),
        make(seeds=3),
    ]
    assert len({plan.hash for plan in [base, *others]}) == 5


def test_a_folder_grows_by_seeds_and_axis_values_and_refuses_other_configurations():
    stored = make(init_scale=[0.1, 0.2])
    grown = make(init_scale=[0.1, 0.2, 0.4], seeds=3)
    assert plans.merge(stored, grown) == grown
    assert plans.merge(grown, stored) == grown
    with pytest.raises(FolderError, match=r"holds `domains` = 7 where 8 is asked"):
        plans.merge(stored, make(init_scale=[0.1, 0.2], domains=8))
    with pytest.raises(FolderError, match=r"holds `init_scale` = \(0.1, 0.2\) where 0.3 is asked"):
        plans.merge(stored, make(init_scale=0.3))


def test_presets_and_choices_bring_their_defaults_and_given_values_win():
    assert plans.make_plan("routing", {"data": "digits"}).parameters.learning_rate == 0.2
    given = plans.make_plan("routing", {"data": "digits", "learning_rate": 0.1})
    assert given.parameters.learning_rate == 0.1
    paper = plans.make_plan("routing", {}, preset="paper")
    assert paper.parameters.loss_function == "authors"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"trained_outputs": 9}, "`trained_outputs` must be between 1 and `domains` = 7, but is 9"),
        ({"trained_outputs": 0}, "`trained_outputs` must be at least 1, but is 0"),
        ({"hidden_width": 0}, "`hidden_width` must be between 4 and 4096, but is 0"),
        ({"hidden_width": -3}, "`hidden_width` must be between 4 and 4096, but is -3"),
        (
            {"hidden_width": 6, "data": "digits"},
            "`hidden_width` must be at least 10, the number of modes",
        ),
        ({"init_scale": float("inf")}, "`init_scale` must be finite, but is inf"),
        ({"init_scale": float("nan")}, "`init_scale` must be finite, but is nan"),
        ({"init_scale": -1.0}, "`init_scale` must be greater than 0, but is -1"),
        (
            {"init_scales": 0.1},
            "`init_scales` must be a parameter of the study, but is not. Did you mean `init_scale`",
        ),
        ({"init_scale": []}, "`init_scale` must have at least one value, but has none"),
        ({"init_scale": [0.1, 0.1]}, "`init_scale` must have distinct values"),
        ({"domains": [3, 5]}, "`trained_outputs` must be between 1 and `domains` = 3, but is 4"),
        ({"mask": "circular"}, "Did you mean `circulant`?"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(values, message):
    with pytest.raises(ArgumentError, match=message.replace("(", r"\(").replace("?", r"\?")):
        plans.make_plan("routing", values)


def test_unknown_study_and_preset_name_the_nearest():
    with pytest.raises(ArgumentError, match=r"is `routng`\. Did you mean `routing`"):
        plans.make_plan("routng", {})
    with pytest.raises(ArgumentError, match="`preset` must be one of"):
        plans.make_plan("routing", {}, preset="papr")
