"""One network at several moments of its training: effective parameters, free directions, and their changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foretrain.analyze.analysis import analyze, outlook
from foretrain.degeneracy.counts.free_directions import FreeDirections
from foretrain.degeneracy.counts.jacobian_spectrum import Freedom
from foretrain.degeneracy.function import Function, as_function
from foretrain.degeneracy.interactions.wiring import Wiring
from foretrain.degeneracy.network import Network
from foretrain.degeneracy.noise_scale import SCALES, asked_loss, checked_outputs, chosen_scale
from foretrain.errors import argument_error
from foretrain.report.answer import Finding

_WORDS = {"jacobians": "Jacobians", "synchronized": "synchronised"}


@dataclass(frozen=True, repr=False)
class Trajectory(Finding):
    """Effective parameters, free directions and, if asked for, modules over training.

    Args:
        moments: Steps of training, or the numbers 0, 1, ... of checkpoints without, (moment,), ascending.
        scales, source: Noise scales, (3,), eps in the middle, a tenth and ten times of it; and where eps comes from.
        effective, error: N by curvature and its error, (moment, scale).
        distance: Loss of the outputs: with labels that of training, else how far they are from the last ones, (moment,).
        loss, parameters, answers: As of an `Analysis`.
        counts: Free directions that change nothing at all, of each moment; None where neither rank nor sources are known.
        wirings: Graph and modules of each moment; empty where nobody asked.
        doubts: Lines on what is not to be trusted, and why.
        axis, label: Label of the moments, and name of the network.
    """

    moments: np.ndarray
    scales: np.ndarray
    source: str
    effective: np.ndarray
    error: np.ndarray
    distance: np.ndarray
    loss: str
    parameters: int
    answers: int
    counts: tuple[Freedom | None, ...]
    wirings: tuple[Wiring, ...] = ()
    doubts: list[str] = field(default_factory=list)
    axis: str = "Moment of training"
    label: str = "The network"

    def by_source(self) -> dict[str, np.ndarray]:
        """Free directions by each source that was counted, "not attributed" and "all", (moment,); empty without counts."""
        counts = [freedom for freedom in self.counts if freedom is not None]
        if len(counts) < len(self.moments):
            return {}
        parts = [freedom.by_source() for freedom in counts]
        names = {name: _WORDS.get(name, name.replace("_", " and ")) for name in parts[0]}
        columns = {word: [part[name] for part in parts] for name, word in names.items()}
        if columns and all(freedom.spectrum is not None for freedom in counts):
            columns["not attributed"] = [freedom.unattributed or 0 for freedom in counts]
        columns["all"] = [freedom.free for freedom in counts]
        return {name: np.array(column) for name, column in columns.items()}

    def block_counts(self) -> dict[str, np.ndarray]:
        """Numbers of blocks of synchronised neurons, and of modules, (moment,), by name; without what was not counted."""
        columns = {}
        counts = [freedom for freedom in self.counts if isinstance(freedom, FreeDirections)]
        if len(counts) == len(self.moments):
            columns["synchronised blocks"] = np.array([len(freedom.groups) for freedom in counts])
        if self.wirings:
            columns["modules"] = np.array([wiring.modules.modules for wiring in self.wirings])
        return columns

    def dataset(self):
        """Return an xarray Dataset with dims `moment`, `noise_scale`, and `source` where free directions were counted."""
        import xarray as xr

        of, sources = ("moment", "noise_scale"), self.by_source()
        data: dict[str, Any] = {"effective_parameters": (of, self.effective)}
        data |= {"error": (of, self.error), "loss": ("moment", self.distance)}
        coords: dict[str, Any] = {"moment": self.moments, "noise_scale": self.scales}
        if sources:
            coords["source"] = [*sources]
            data["free_directions"] = ("source", "moment"), np.array([*sources.values()])
            exact = [freedom is not None and freedom.exact for freedom in self.counts]
            data["exact"] = "moment", np.array(exact)
        for name, values in self.block_counts().items():
            data[name.replace(" ", "_")] = "moment", values
        return xr.Dataset(data, coords)


def trajectory(
    models: Sequence[Network | Function],
    x: np.ndarray,
    noise_scale: float | None = None,
    *,
    moments: Sequence[float] | None = None,
    axis: str = "Moment of training",
    y: Any = None,
    loss: str | None = None,
    source: str = "as given",
    wiring: bool = False,
    tell: Callable[[str], object] | None = None,
    **options: Any,
) -> Trajectory:
    """Effective parameters of one network at several moments of its training, at three noise scales, and its free directions.

    Args:
        models: At least two, of the same outputs and number of parameters, in the order of training.
        x, y, loss, source, tell, **options: As of `foretrain.analyze.analysis.analyze`.
        noise_scale: Eps; None takes it from the data and the last model.
        moments: Steps of training; by default 0, 1, ...
        axis: Label of the moments.
        wiring: True for the modules of every moment, too, which needs layers.

    Raises:
        ArgumentError: They are fewer than two, have different outputs or parameters, an argument is out of range, or modules
            are asked of a network without layers.

    Cost: that of an analysis without samples for each model.
    """
    if len(models) < 2:
        raise argument_error("models", "be at least two", f"are {len(models)}")
    at = np.arange(len(models)) if moments is None else np.asarray(moments, float)
    if len(at) != len(models):
        got = f"are {len(at)} for {len(models)} models"
        raise argument_error("moments", "be as many as models", got)
    functions = [as_function(model) if isinstance(model, Network) else model for model in models]
    x = functions[-1].data(x)
    outputs = [checked_outputs(function.outputs(x)) for function in functions]
    for name, sizes in (
        ("outputs", [values.shape[1] for values in outputs]),
        ("parameters", [function.size for function in functions]),
    ):
        if len(set(sizes)) > 1:
            raise argument_error("models", f"have the same {name}", f"have {sizes} {name}")
    if wiring and any(function.network is None for function in functions):
        rule, repair = "have layers where modules are asked for", "Leave `wiring` out."
        raise argument_error("models", rule, "have none", repair)
    y, loss = asked_loss(y, outputs[-1], loss)
    eps, source, more = chosen_scale(noise_scale, source, outputs[-1], y, loss)
    scales = eps * np.array(sorted(SCALES))
    notes = [line for function in functions for line in function.notes]
    doubts = dict.fromkeys([*notes, *more])  # each once
    effective, counts, wirings = [], [], []
    if tell:
        for line in outlook(functions[0], x, 0, wiring, len(models)):
            tell(line)
    for moment, function in zip(at, functions, strict=True):
        if tell:
            tell(f"At {moment:g}: curvature and counts{' and modules' * wiring}.")
        part = analyze(function, x, eps, y=y, loss=loss, seconds=0, wiring=wiring, **options)
        effective.append(part.costs.effective(scales))
        if part.jacobian is None:
            doubts |= dict.fromkeys(line for line in part.doubts if "The Jacobian of" in line)
        if not part.costs.converged(eps):
            doubts[f"Curvature at {moment:g}: known to {effective[-1][1][1]:,.0f} only."] = None
        known = part.jacobian is not None or part.exact.by_source()  # pyright: ignore[reportOptionalMemberAccess]
        counts.append(part.exact if known else None)
        wirings += [part.wiring] if wiring else []
    doubts |= dict.fromkeys(_doubts(at, counts, wirings))
    values, errors = (np.array(kind) for kind in zip(*effective, strict=True))
    target = outputs[-1] if y is None else y
    return Trajectory(
        moments=at,
        scales=scales,
        source=source,
        effective=values,
        error=errors,
        distance=np.array([_loss(values, target, loss) for values in outputs]),
        loss=loss,
        parameters=functions[0].size,
        answers=outputs[0].size,
        counts=tuple(counts),
        wirings=tuple(wirings),
        doubts=[*doubts],
        axis=axis,
    )


def _doubts(moments, counts, wirings):
    """Lines that name the moments of which a count is an estimate, or modules are those of chance."""
    kinds = (
        ("Counts", [freedom is not None and not freedom.exact for freedom in counts],
         "are estimates: singular values of the Jacobian are not known, or show no gap"),
        ("Sources", [freedom is not None and (freedom.unattributed or 0) < 0 for freedom in counts],
         "count more than are free, by effects near rounding"),
        ("Modules", [not wiring.modular for wiring in wirings],
         "are those of graphs that are rewired at random, which are as modular"),
    )  # fmt: skip
    for name, which, why in kinds:
        places = [f"{moment:g}" for moment, doubted in zip(moments, which, strict=False) if doubted]
        if places:
            where = "every moment" if len(places) == len(moments) else ", ".join(places)
            yield f"{name} at {where} {why}."


def _loss(outputs, target, loss):
    """Mean squared distance or divergence from other outputs; of whole numbers the cross-entropy."""
    from scipy.special import log_softmax

    if loss == "mse":
        return float(((outputs - target) ** 2).sum(1).mean())
    logs = log_softmax(outputs, axis=1)
    if target.ndim == 1:
        return float(-logs[np.arange(len(logs)), target].mean())
    own = log_softmax(target, axis=1)
    return float((np.exp(own) * (own - logs)).sum(1).mean())
