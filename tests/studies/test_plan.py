import pytest

from foretrain.errors import FolderError
from foretrain.plans import plan as plans


def make(**values):
    return plans.make_plan("routing", values, seeds=values.pop("seeds", 2))


def test_plan_survives_its_manifest():
    plan = make(init_scale=[0.1, 0.2], mask="biregular")
    assert plans.plan_from_dict(plan.as_dict()) == plan


def test_hash_changes_with_whatever_changes_a_result():
    changes = {"init_scale": 0.3, "observe_every": 10, "precision": "float64", "seeds": 3}
    others = [make(**{name: value}) for name, value in changes.items()]
    assert len({plan.hash for plan in [make(), *others]}) == 5


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
    options = plans.make_plan("routing", {"data": "digits", "learning_rate": 0.1})
    assert options.parameters.learning_rate == 0.1
    assert plans.make_plan("routing", {}, preset="paper").parameters.loss_function == "authors"
