"""The command line that makes a plan again: only what differs from the defaults of its study is said."""

from typing import Any

from foretrain.plans.parameters import rules
from foretrain.plans.plan import Plan, laid_out, values_of


def settings(plan: Plan) -> dict[str, Any]:
    """The parameters and axes of a plan that differ from the study's defaults: name to a value, or to a tuple of several.

    Since a choice may move other defaults, what differs is laid out again until nothing does.
    """
    words: dict = {}
    while True:
        parameters, axes, _ = laid_out(plan.study, words)
        differ = {
            name: values
            for name in rules(plan.study.Parameters)
            if (values := values_of(plan, name)) != axes.get(name, (getattr(parameters, name),))
        }
        if not differ.keys() - words.keys():
            return {name: words[name] for name in rules(plan.study.Parameters) if name in words}
        for name, values in differ.items():
            words[name] = values if len(values) > 1 else next(iter(values))


def command(plan: Plan) -> list[str]:
    """The words of the command line that makes the plan again; only what differs from the study's defaults is said."""
    words = ["foretrain", "run", plan.study.where or plan.study.name]
    for name, value in settings(plan).items():
        values = value if isinstance(value, tuple) else (value,)
        words += [
            f"--{name.replace('_', '-')}",
            *(str(value).lower() if isinstance(value, bool) else str(value) for value in values),
        ]
    words += ["--seeds", str(plan.seeds)]
    return words + (["--root-seed", str(plan.root_seed)] if plan.root_seed else [])
