"""One convention of names and of the order of arguments, over theory and over every public door."""

import ast
import inspect
from pathlib import Path

import pytest

import foretrain
from foretrain import degeneracy, networks, theory
from foretrain.commands import ARGUMENTS

# What takes functions as arguments knows nothing of starts and rates.
FUNCTIONS = [
    function
    for module in [getattr(theory, name) for name in theory.__all__]
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


def test_arguments_have_one_name_each_and_start_times_or_rate_and_steps_come_first():
    assert len(FUNCTIONS) > 150
    for function in FUNCTIONS:
        who = f"{function.__module__}.{function.__name__}"
        names = list(inspect.signature(function).parameters)
        for name in names:
            assert name not in REFUSED, f"{who}: use `{REFUSED[name]}` for `{name}`"
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


DOORS = {
    "learning_rate": "rate rates lr eta",
    "batch_size": "batch minibatch",
    "weight_decay": "decay wd",
    "steps": "iterations n_steps epochs",
    "seeds": "n_seeds number_of_seeds repetitions",
    "loss": "criterion objective",
}
AT_A_DOOR = {name: right for right, wrong in DOORS.items() for name in wrong.split()}


def arguments_of_rooms():
    """File and name of each argument of a public function, and of each field of a public class."""
    package = Path(foretrain.__file__).parent
    for room in ("predict", "explain", "analyze", "elsewhere", "dynamics", "laboratory"):
        for path in sorted((package / room).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
            for node in [*tree.body, *(inner for each in classes for inner in each.body)]:
                place = f"{path.name}: {getattr(node, 'name', '')}"
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                    known = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                    yield from ((place, each.arg) for each in known)
                if isinstance(node, ast.AnnAssign):
                    yield place, ast.unparse(node.target)


def test_a_door_has_one_name_for_each_number_of_a_training():
    options = [
        (verb, name.lstrip("-").replace("-", "_"))
        for verb, arguments in ARGUMENTS.items()
        for names in arguments
        for name in names.split()
    ]
    for place, name in [*arguments_of_rooms(), *options]:
        assert name not in AT_A_DOOR, f"{place}: use `{AT_A_DOOR[name]}` for `{name}`"
