"""The studies: one file per experiment, found by its name.

A study is a module with agreed names (the study ``pathway-race`` is ``studies/pathway_race.py``). Its docstring's first
line is what ``foretrain list`` prints. It defines

- ``SOURCE``, ``COST``: strings: the document and figure; what the default size costs on 2 cores.
- ``REFERENCES``: keys of `foretrain.references`, for ``foretrain cite``.
- ``Parameters``: a frozen dataclass whose fields are made by `foretrain.plans.parameters.parameter`.
  Among them are always ``steps`` (int, the most steps a run may take) and ``observe_every`` (int, static: the stride
  of what is stored along ``step``).
- ``CONDITIONAL_DEFAULTS`` (optional): ``{(field, value): {field: default, ...}}``, defaults that depend on a choice.
- ``AXES`` (optional): ``{field: (value, ...)}``, axes that the study has unless told otherwise.
- ``SEEDS`` (optional): default number of seeds, 10 if absent.
- ``PRESETS``: ``{"paper": {field: value, ...}, ...}``; ``quick`` is the defaults.
- ``program(parameters) -> Program``: the jitted part of a run. It is called once per static signature with every field
  that is not static set to its default, so it cannot depend on what is swept.
- ``inputs(parameters, root_seed, seed) -> dict[str, ndarray]``: what one run feeds to the
  program, made on the host with NumPy.
- ``claims(runs: LabelledRuns) -> list[Claim]``: judged sentences; see `foretrain.plans.grid`.

and, where it needs them,

- ``check(parameters)``: rules between fields; raises `ArgumentError`.
- ``shared(parameters) -> dict[str, ndarray]``: large arrays common to all runs of one static signature.
- ``variants(parameters) -> dict[str, dict]``: further networks to train beside the main one, each a set of parameter
  overrides; ``"seeds": n`` limits their seeds. Stored under ``/variants/<variant>``.
- ``coordinates(parameters, step) -> dict[str, tuple[tuple[str, ...], ndarray]]``: labels along dims of one cell, name
  to (dims, values), such as ``time`` along ``step``; `step` holds the stored step numbers.
- ``predict(parameters, root_seed, seeds) -> xarray.Dataset``: the theory for one cell of the grid, in NumPy and SciPy,
  float64. It has a ``seed`` dim where the prediction depends on what is drawn.
- ``fit(runs: LabelledRuns) -> xarray.Dataset``: theory whose constants are fitted to the runs of one cell, such as an
  effective start per seed; it is stored with the rest of the theory.
- ``estimate(parameters) -> float``: predicted number of steps of a run, used to start long runs first.

The figures of a study are in ``figures/`` under the same name.
"""
