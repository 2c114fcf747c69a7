"""One convention of names and of the order of arguments over all public functions of the theory."""

import inspect

import pytest

from foretrain import degeneracy, networks, theory

MODULES = [getattr(theory, name) for name in theory.__all__]
# What takes functions as arguments knows nothing of starts and rates.
FUNCTIONS = [
    function
    for module in MODULES
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
    if module.__name__ != "foretrain.theory.integration"
]
# A name that all functions use, and those that are refused for it.
SYNONYMS = {
    "learning_rate": "rate step_size lr eta",
    "weight_decay": "decay wd",
    "input_variances": "variances variance input_variance",
    "singular_values": "values strengths_of_modes",
    "start": "initial init left_start outer_start hidden_start scale_start outer_starts",
    "times": "ts time_points",
    "until": "horizon end_time",
    "every": "observe_every stride",
    "init_scale": "sigma init_std",
    "hidden_width": "hidden_units hidden_size",
    "fraction": "share portion",
    "trained_pairs": "mask",
}
REFUSED = {name: right for right, wrong in SYNONYMS.items() for name in wrong.split()}


def names_of(function):
    return f"{function.__module__}.{function.__name__}", list(
        inspect.signature(function).parameters
    )


def test_arguments_have_one_name_each():
    assert len(FUNCTIONS) > 150
    for function in FUNCTIONS:
        who, names = names_of(function)
        for name in names:
            assert name not in REFUSED, f"{who}: use `{REFUSED[name]}` for `{name}`"


def test_the_start_or_state_comes_first_then_times_or_rate_and_steps():
    for function in FUNCTIONS:
        who, names = names_of(function)
        for name in {"start", "state", "states"} & {*names}:
            assert names[0] == name or who.endswith(".time_of_probability"), who
        kind = who.rpartition(".")[2].split("_")
        assert not {"descend", "euler", "train", "course", "follow"} & {*kind}, who
        if kind[-1] == "flow" and "times" in names:
            assert names[:2] == ["start", "times"], who
        if kind[:2] == ["flow", "until"]:
            assert names[:2] == ["start", "until"], who
        if "descent" in kind:
            assert names[:2] == ["start", "learning_rate"], who
            assert not {"step", "steps"} & {*names} or names[2] in ("step", "steps"), who
        if "times" in names and "checked" not in kind:
            assert names[0] == "times" or names[1] == "times", who


@pytest.mark.parametrize("package", [theory, networks, degeneracy])
def test_a_package_says_in_words_which_modules_it_holds(package):
    assert dir(package)
    assert dir(package) == package.__all__
    for name in dir(package):
        assert f"`{name}`" in package.__doc__
        assert inspect.ismodule(getattr(package, name))
    with pytest.raises(AttributeError, match="has no attribute"):
        package.nothing  # noqa: B018
