"""A study from functions, as a notebook has them: ``define("mine", Parameters=Parameters, program=program)``."""

from pathlib import Path
from typing import Any

from foretrain.plans.card import Card, StudyError
from foretrain.plans.study import Study


def define(name: str, *, Parameters: type, **parts: Any) -> Study:
    """A study of these parts.

    Args:
        name: Its name.
        Parameters: A frozen dataclass of `parameter` fields.
        **parts: Whatever else a study may define, under the same names, ``program``, ``measure`` or ``posterior`` among
            them.

    Raises:
        StudyError: nothing says what a run does, or a part has a name that no study knows.
    """
    if not isinstance(name, str) or not name or Path(name).name != name:
        raise StudyError(f"The name of a study must be that of a folder, too, but is {name!r}.")
    unknown = set(parts) - _PARTS
    if unknown:
        known = ", ".join(sorted(_PARTS))
        raise StudyError(f"A study has no part `{sorted(unknown)[0]}`. It may have {known}.")
    if not _WORK & parts.keys():
        raise StudyError("A study must have a part `program`, `measure` or `posterior`.")
    names = {"Parameters": Parameters, **parts}
    card = Card(
        name.replace("_", "-"),
        next(iter((Parameters.__doc__ or "").splitlines()), ""),
        parts.get("SOURCE", ""),
        parts.get("COST", ""),
        tuple(parts.get("REFERENCES", ())),
    )
    return Study(card, lambda role: names if role == "study" else None)


_WORK = {"program", "measure", "posterior"}
_PARTS = _WORK | set(
    "SOURCE COST REFERENCES AXES PRESETS EXPLORE CONDITIONAL_DEFAULTS SEEDS REVISION check variants reads estimate labels "
    "time inputs shared predict explore fit CLAIMS FIGURES".split()
)
