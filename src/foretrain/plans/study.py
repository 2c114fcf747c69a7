"""A study: an object that answers the whole contract, made from the files of a folder, from one file, or from functions.

Its parts are files named by role, ``study.py`` (card, parameters, checks), ``training.py``, ``measurement.py``, ``chains.py``,
``theory.py``, ``claims.py`` and ``figures.py``; what is not found in its own file is looked for in ``study.py``, and what is
not there either has its default here and nowhere else. A part is imported when it is first asked for.

What a study may define, `p` being its ``Parameters`` and `seed` a `foretrain.streams.Seed`:

=====================================  ===========  ==============================================================
name                                   file         default
=====================================  ===========  ==============================================================
docstring, ``SOURCE``, ``COST``        study.py     its first line is the summary
``REFERENCES``, ``EXPLORE``            study.py     ()
``Parameters``                         study.py     required: a frozen dataclass of `parameter` and `default` fields
``AXES``, ``PRESETS``                  study.py     {}
``CONDITIONAL_DEFAULTS``               study.py     {}: ``{(field, value): {field: default, ...}}``
``SEEDS``, ``REVISION``                study.py     10, 1
``check(p)``                           study.py     nothing
``variants(p) -> {name: overrides}``   study.py     {}: ``"seeds": n`` among the overrides limits their seeds
``reads(p[, seed]) -> files``          study.py     (): files of data that a run reads, each `foretrain.study.data(path)`
``estimate(p) -> float``               study.py     ``p.steps``: predicted number of steps of a run; 1 without a program
``labels(p) -> {name: values}``        study.py     {}: labels along the dim of that name, or ``(dim, values)``; ``step``
                                                    numbers what is measured along it, else 0, 1, ...
``time(p, step) -> array``             study.py     ``step * p.learning_rate``; none where p has no learning rate
``program(p) -> Program``              training.py  one of these three is required: a run is trained in lanes,
``measure(p, seed) -> arrays``         measurement  is computed on the host, in a worker,
``posterior(p, seed) -> Posterior``    chains.py    or samples a posterior, see `foretrain.degeneracy.sampled.sampling`
``inputs(p, seed) -> arrays``          training.py  {}: every traced number of p is added by itself
``shared(p) -> arrays``                training.py  {}: large arrays common to all runs of one static signature
``predict(p, step[, seed]) -> arrays`` theory.py    {}: once per seed if it takes one
``explore``, arguments as `predict`    theory.py    ``predict``: of it what sliders show, where all of it takes long
``fit(cell) -> arrays``                theory.py    {}: constants fitted to the runs of a cell
``CLAIMS``                             claims.py    (): rows made by `foretrain.claims.sentence.claim`
``FIGURES``                            figures.py   None: the default figure; name to a row of `foretrain.quantities.panels`
=====================================  ===========  ==============================================================
"""

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.claims.sentence import Sentence
from foretrain.errors import integer
from foretrain.plans.card import Card, StudyError, dictionary
from foretrain.plans.copies import without_copies
from foretrain.plans.labels import labels_of, measured_steps
from foretrain.plans.options import FIELDS
from foretrain.plans.parameters import clean, guarded, rules, traced, types
from foretrain.plans.place import asking
from foretrain.provenance.seal import makes, seal
from foretrain.quantities.panels import FigureRow
from foretrain.streams import Seed
from foretrain.tasks.data_files import DataFile, data

ROLES = ("study", "training", "measurement", "chains", "theory", "claims", "figures")
Names = Mapping[str, Any]
_GIVEN = ("root_seed", "seed", "max_steps")  # inputs of every run that no study makes
# Parameters stand beside these on the command line, in Python and among the inputs of a run.
_TAKEN = {*_GIVEN, *FIELDS, "study", "config", "check", "help"}
_ON_HOST = (("measurement", "measure"), ("chains", "posterior"))


class Study:
    """One study; see the module for what it may define.

    Args:
        card: What is known of it beforehand.
        part: ``part(role)`` gives the names that the file of a role defines, None if there is no such file.
        where: Path of a study of one's own, "" for one of the catalogue.
        files: Its source files, by role.
    """

    def __init__(
        self,
        card: Card,
        part: Callable[[str], Names | None],
        where: str = "",
        files: Mapping[str, str] | None = None,
    ):
        self.card, self.where, self.files = card, where, dict(files or {})
        self._part = part

    def part(self, role: str) -> Names | None:
        """The names that the file of a role defines, None if there is no such file; a file that raises is a `StudyError`."""
        with asking(), without_copies():
            return self._part(role)

    @property
    def name(self) -> str:
        """Its name, with hyphens."""
        return self.card.name

    @property
    def is_own(self) -> bool:
        """True if the study comes from elsewhere than foretrain, with variables of its own."""
        package = Path(__file__).parents[1]
        return not any(Path(file).is_relative_to(package) for file in self.files.values())

    def named(self, name: str) -> "Study":
        """The same study under another name, such as that which a folder of its results knows it by."""
        study = copy.copy(self)
        study.card = replace(self.card, name=name)
        return study

    def __repr__(self) -> str:
        return f"Study({self.name!r})"

    def _find(self, role: str, name: str, default: Any = None) -> Any:
        for names in (self.part(role), self.part("study")):
            if names is not None and name in names:
                part = names[name]
                is_function = callable(part) and not isinstance(part, type)
                return without_copies()(part) if is_function else part
        return default

    def _required(self, role: str, name: str) -> Any:
        if (value := self._find(role, name)) is None:
            name = "`program`, `measure` or `posterior`" if name == "program" else f"`{name}`"
            lack = f"must define {name}, but does not. Put it into {role}.py"
            raise StudyError(f"The study `{self.name}` {lack}.")
        return value

    def _arrays(self, role: str, name: str, *arguments: Any) -> dict[str, Any]:
        """Arrays that a function of the study gives, by name; empty where the study has no such function."""
        function = self._find(role, name)
        return dictionary(name, function(*arguments)) if function else {}

    @cached_property
    def Parameters(self) -> type:
        """Its parameters, a frozen dataclass; raises `StudyError` where they are none that can be used."""
        parameters = self._required("study", "Parameters")
        where = f"`Parameters` of the study `{self.name}`"
        if not (isinstance(parameters, type) and "__dataclass_params__" in vars(parameters)):
            rule = "must be a class with @dataclass(frozen=True) over it"
            raise StudyError(f"{where} {rule}, but is not.")
        try:
            known, kinds = rules(parameters), types(parameters)
        except (TypeError, NameError) as error:
            raise StudyError(f"{self.where or self.name}: {error}") from error
        for name in known:
            if name in _TAKEN:
                rule = f"must have no field `{name}`, which is the name of something else"
                raise StudyError(f"{where} {rule}. Try another name.")
            if (kind := kinds[name]) not in (int, float, bool, str):
                rule = "must be int, float, bool or str"
                raise StudyError(f"Field `{name}` of {where} {rule}, but is {kind}.")
            clean(parameters, name, parameters.__dataclass_fields__[name].default)
        return parameters

    @cached_property
    def axes(self) -> dict[str, tuple]:
        """Axes that it has unless told otherwise."""
        return dictionary("AXES", self._find("study", "AXES", {}))

    @cached_property
    def presets(self) -> dict[str, dict]:
        """Name of each preset to what it sets; ``quick`` is the defaults."""
        presets = dictionary("PRESETS", self._find("study", "PRESETS", {}))
        return {"quick": {}} | {name: dictionary("PRESETS", presets[name]) for name in presets}

    @cached_property
    def conditional_defaults(self) -> dict[tuple[str, Any], dict]:
        """Defaults that depend on a choice."""
        return dictionary("CONDITIONAL_DEFAULTS", self._find("study", "CONDITIONAL_DEFAULTS", {}))

    @cached_property
    def seeds(self) -> int:
        """Default number of seeds."""
        return integer("SEEDS", self._find("study", "SEEDS", 10), minimum=1)

    @cached_property
    def revision(self) -> int:
        """Part of the identity of every run: raised when the author changes what a run computes."""
        return integer("REVISION", self._find("study", "REVISION", 1), minimum=0)

    @cached_property
    def code(self) -> str:
        """Hash (12 hex digits) of the code that makes its runs."""
        return makes(self)

    @cached_property
    def seal(self) -> dict[str, Any]:
        """Hashes of all that its verdicts rest on, see `foretrain.provenance.seal.seal`."""
        return seal(self)

    def check(self, p: Any) -> None:
        """Refuse parameters that do not fit together; raises `ArgumentError`."""
        if check := self._find("study", "check"):
            with asking("check"):
                check(p)

    def variants(self, p: Any) -> dict[str, dict]:
        """Networks to train beside the main one, name to what they override."""
        if not (variants := self._find("study", "variants")):
            return {}
        with asking("variants"):
            by_name = dictionary("variants", variants(p))
        for variant, overrides in by_name.items():
            if not isinstance(variant, str) or not variant or "/" in variant:
                raise StudyError(f"`variants` must give names of networks, but gives {variant!r}.")
            for name, value in dictionary("variants", overrides).items():
                if name == "seeds":
                    integer(f"variants.{variant}.seeds", value, minimum=1)
                elif name not in rules(type(p)) or not np.isscalar(value):
                    got = f"`{name}` = {value!r} in `{variant}`"
                    raise StudyError(f"`variants` must change parameters, but gives {got}.")
        return by_name

    @cached_property
    def reads_data(self) -> bool:
        """True if runs read files of data."""
        return self._find("study", "reads") is not None

    @cached_property
    def reads_by_seed(self) -> bool:
        """True if another seed may read other files."""
        return _takes_seed(self._find("study", "reads"), 1)

    def reads(self, p: Any, seed: Seed) -> tuple[DataFile, ...]:
        """Files of data that one run reads; what they hold is part of its identity. Paths stand for `data` of them."""
        if not (reads := self._find("study", "reads")):
            return ()
        with asking("reads"):
            files = reads(p, seed) if self.reads_by_seed else reads(p)
            if isinstance(files, str | PathLike):
                raise TypeError("it must return a list of files, but returns one path")
            return tuple(file if isinstance(file, DataFile) else data(file) for file in files)

    def estimate(self, p: Any) -> float:
        """Predicted number of steps of a run, used to start long runs first."""
        estimate = self._find("study", "estimate")
        with asking("estimate"):
            steps = float(estimate(p) if estimate else p.steps if self.trains else 1)
        if not 0 <= steps < np.inf:
            raise StudyError(f"`estimate` must give a finite number of steps, but gives {steps:g}.")
        return steps

    def labels(self, p: Any, step: np.ndarray) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
        """Labels along dims of one cell, name to (dims, values), ``time`` along stored steps among them.

        Args:
            p: Parameters of the cell.
            step: Stored step numbers, shape (step,).
        """
        return labels_of(p, step, self._find("study", "labels"), self._find("study", "time"))

    @cached_property
    def trains(self) -> bool:
        """True if a program trains the runs; runs of other studies have no steps."""
        return self._find("training", "program") is not None

    @cached_property
    def computes(self) -> bool:
        """True if runs hold values computed on the host: measured, or sampled from a posterior."""
        return any(self._find(*part) is not None for part in _ON_HOST)

    def stored_steps(self, p: Any) -> np.ndarray:
        """Step numbers of what a run stores, shape (step,): where nothing is trained those of its ``labels``, else none."""
        if self.trains:
            return np.arange(0, p.steps + 1, p.observe_every)
        return measured_steps(p, self._find("study", "labels"))

    def measure(self, p: Any, seed: Seed) -> dict[str, Any]:
        """Arrays that one run computes on the host, by name; empty where the study has no ``measure``."""
        return self._arrays("measurement", "measure", p, seed)

    def posterior(self, p: Any, seed: Seed) -> Any:
        """The posterior that one run samples; None where the study has no ``posterior`` or it returns None."""
        posterior = self._find("chains", "posterior")
        return posterior(p, seed) if posterior else None

    def program(self, p: Any) -> Any:
        """Return the jitted part of a run, a `foretrain.dynamics.program.Program`, for the static fields of `p`.

        The study gets no other field of `p` to read, see `foretrain.plans.parameters.guarded`. None where the runs are
        computed on the host.
        """
        if self.computes and not self.trains:
            return None
        return self._required("training", "program")(guarded(p, "program"))

    def inputs(self, p: Any, seed: Seed) -> dict[str, Any]:
        """Return the inputs of one run's program: the study's draws, and every traced number of `p`."""
        own = self._arrays("training", "inputs", p, seed)
        for name in _GIVEN:
            if name in own:
                raise StudyError(f"`inputs` must give no `{name}`: every run has its own.")
        return {**traced(p), **own}

    def shared(self, p: Any) -> dict[str, Any]:
        """Large arrays common to all runs of one static signature."""
        return self._arrays("training", "shared", guarded(p, "shared"))

    @cached_property
    def predicts(self) -> bool:
        """True if the study has a theory."""
        return self._find("theory", "predict") is not None

    @cached_property
    def predicts_by_seed(self) -> bool:
        """True if the theory depends on the study's draws."""
        return _takes_seed(self._find("theory", "predict"), 2)

    def predict(self, p: Any, step, seed: Seed | None, explored: bool = False) -> dict[str, Any]:
        """The theory of one cell, or what sliders show of it, by name; `seed` is looked at where the theory takes one."""
        name = "explore" if explored and self._find("theory", "explore") else "predict"
        seeds = (seed,) if self.predicts_by_seed else ()
        return self._arrays("theory", name, p, step, *seeds)

    @cached_property
    def fits(self) -> bool:
        """True if constants are fitted to the runs."""
        return self._find("theory", "fit") is not None

    def fit(self, cell: Any) -> dict[str, Any]:
        """Constants fitted to the runs of one cell, and curves made with them; a first dim more is ``seed``."""
        return self._arrays("theory", "fit", cell)

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Its sentences, the rows of ``CLAIMS``; raises `StudyError` where one is none, or two share an id."""
        rows, ids = self._find("claims", "CLAIMS", ()), []
        of = f"of the study `{self.name}` must"
        for sentence in rows:
            if not isinstance(sentence, Sentence):
                rule = f"`CLAIMS` {of} hold rows made by `claim(...)`"
                raise StudyError(f"{rule}, but holds {sentence!r}.")
            for name in sentence.along:
                if name not in rules(self.Parameters):
                    rule = f"The sentence `{sentence.id}` must look along parameters"
                    raise StudyError(f"{rule}, but names `{name}`.")
            if sentence.id in ids:
                raise StudyError(f"Sentences {of} have distinct ids, but two are `{sentence.id}`.")
            ids.append(sentence.id)
        for sentence in rows:
            if sentence.corrects and sentence.corrects not in ids:
                rule = f"The sentence `{sentence.id}` {of} correct one of its sentences"
                raise StudyError(f"{rule}, but names `{sentence.corrects}`.")
        return tuple(rows)

    @cached_property
    def figures(self) -> dict[str, FigureRow] | None:
        """Its figures, by name; None where it declares none."""
        if (rows := self._find("figures", "FIGURES")) is None:
            return None
        for name, row in dictionary("FIGURES", rows).items():
            if not isinstance(row, FigureRow):
                rule = "`FIGURES` must hold rows made by `figure(...)` or `drawn(...)`"
                raise StudyError(f"{rule}, but `{name}` is {row!r}.")
        return dict(rows)


def _takes_seed(function: Callable[..., Any] | None, others: int) -> bool:
    """Say if a part of a study takes a seed behind so many other arguments."""
    return function is not None and len(inspect.signature(function).parameters) > others
