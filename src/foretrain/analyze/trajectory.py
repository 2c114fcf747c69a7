"""One network at several moments of its training: effective parameters, free directions, and their changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax

from foretrain.analyze.analysis import Analysis, analyze, outlook
from foretrain.degeneracy.counts.free_directions import FreeDirections
from foretrain.degeneracy.counts.jacobian_spectrum import Freedom
from foretrain.degeneracy.function import Function, as_function
from foretrain.degeneracy.interactions.wiring import Wiring
from foretrain.degeneracy.network import Network
from foretrain.degeneracy.noise_scale import SCALES, asked_loss, checked_outputs, chosen_scale
from foretrain.errors import argument_error
from foretrain.lazy import xr
from foretrain.report.answer import Finding

_WORDS = {"jacobians": "Jacobians", "synchronized": "synchronised"}


@dataclass(frozen=True, repr=False)
class Trajectory(Finding):
    """Analyses of one network at several moments of its training, at one noise scale.

    Args:
        moments: Steps of training, or the numbers 0, 1, ... of checkpoints without, (moment,), ascending.
        analyses: One for each moment; with wiring only if asked for.
        distance: Loss of the outputs: with labels that of training, else how far they are from the last ones, (moment,).
        axis, label: Label of the moments, and name of the network.
    """

    moments: np.ndarray
    analyses: tuple[Analysis, ...]
    distance: np.ndarray
    doubts: list[str]
    axis: str
    label: str = "The network"

    @property
    def scales(self) -> np.ndarray:
        """Noise scales, (3,), eps in the middle, a tenth and ten times of it."""
        return self.analyses[0].eps * np.array(sorted(SCALES))

    @property
    def effective(self) -> tuple[np.ndarray, np.ndarray]:
        """N by curvature and its error, each (moment, scale)."""
        values, errors = zip(*(a.costs.effective(self.scales) for a in self.analyses), strict=True)
        return np.array(values), np.array(errors)

    @property
    def counts(self) -> list[Freedom]:
        """Free directions that change nothing at all, of each moment; empty where neither rank nor sources are known."""
        counts = [a.exact for a in self.analyses if a.exact and (a.jacobian or a.exact.by_source())]
        return counts if len(counts) == len(self.moments) else []

    @property
    def wirings(self) -> list[Wiring]:
        """Graph and modules of each moment; empty where nobody asked."""
        return [a.wiring for a in self.analyses if a.wiring is not None]

    def by_source(self) -> dict[str, np.ndarray]:
        """Free directions by each source that was counted, "not attributed" and "all", (moment,); empty without counts."""
        if not (counts := self.counts):
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
        counts = [freedom for freedom in self.counts if isinstance(freedom, FreeDirections)]
        columns = {
            "synchronised blocks": [len(freedom.groups) for freedom in counts],
            "modules": [wiring.modules.modules for wiring in self.wirings],
        }
        return {name: np.array(column) for name, column in columns.items() if column}

    def dataset(self):
        """Return an xarray Dataset with dims `moment`, `noise_scale`, and `source` where free directions were counted."""
        data: dict[str, Any] = {"loss": ("moment", self.distance)}
        for name, values in zip(("effective_parameters", "error"), self.effective, strict=True):
            data[name] = ("moment", "noise_scale"), values
        coords: dict[str, Any] = {"moment": self.moments, "noise_scale": self.scales}
        if sources := self.by_source():
            coords["source"] = [*sources]
            data["free_directions"] = ("source", "moment"), np.array([*sources.values()])
            data["exact"] = "moment", [freedom.exact for freedom in self.counts]
        for name, values in self.block_counts().items():
            data[name.replace(" ", "_")] = "moment", values
        return xr.Dataset(data, coords)


def trajectory(
    models: Sequence[Network | Function],
    x: np.ndarray,
    noise_scale: float | None = None,
    *,
    moments: Sequence[float] | None = None,
    y: Any = None,
    loss: str | None = None,
    source: str = "as given",
    wiring: bool = False,
    tell: Callable[[str], object] | None = None,
    **options: Any,
) -> Trajectory:
    """Analyse one network at several moments of its training, without samples.

    Args:
        models: At least two, of the same outputs and number of parameters, in the order of training.
        x, y, loss, source, tell, options: As of `foretrain.analyze.analysis.analyze`.
        noise_scale: Eps; None takes it from the data and the last model.
        moments: Steps of training; by default 0, 1, ...
        wiring: True for the modules of every moment, too, which needs layers.

    Raises:
        ArgumentError: Models or moments are not like this, or an argument is out of range.
    """
    at = np.arange(len(models)) if moments is None else np.asarray(moments, float)
    if len(models) < 2 or len(at) != len(models):
        got = f"are {len(models)} at {len(at)} moments"
        raise argument_error("models", "be at least two, one for each moment", got)
    functions = [as_function(model) if isinstance(model, Network) else model for model in models]
    x = functions[-1].data(x)
    outputs = [checked_outputs(function.outputs(x)) for function in functions]
    sizes = {(function.size, f.shape[1]) for function, f in zip(functions, outputs, strict=True)}
    if len(sizes) > 1:
        rule = "have the same numbers of parameters and outputs"
        raise argument_error("models", rule, f"have {sorted(sizes)}")
    if wiring and any(function.network is None for function in functions):
        rule, repair = "have layers where modules are asked for", "Leave `wiring` out."
        raise argument_error("models", rule, "have none", repair)
    y, loss = asked_loss(y, outputs[-1], loss)
    eps, source, more = chosen_scale(noise_scale, source, outputs[-1], y, loss)
    notes = [line for function in functions for line in function.notes]
    doubts = dict.fromkeys([*notes, *more])  # each once
    options |= {"seconds": 0, "y": y, "loss": loss, "source": source, "wiring": wiring}
    analyses = []
    if tell:
        outlook(tell, functions[0], x, wiring=wiring, moments=len(models))
    for moment, function in zip(at, functions, strict=True):
        if tell:
            tell(f"At {moment:g}: curvature and counts{' and modules' * wiring}.")
        analysis = analyze(function, x, eps, **options)
        analyses.append(analysis)
        doubts |= dict.fromkeys(line for line in analysis.doubts if "The Jacobian of" in line)
    distance = np.array([_loss(of, outputs[-1] if y is None else y, loss) for of in outputs])
    axis = "Model, in the order given" if moments is None else "Moment of training (step)"
    whole = Trajectory(at, tuple(analyses), distance, [*doubts], axis)
    whole.doubts.extend(_doubts(whole))
    return whole


def _doubts(trajectory):
    """Lines that name the moments of which a count is an estimate, or modules are those of chance."""
    counts, moments, analyses = trajectory.counts, trajectory.moments, trajectory.analyses
    kinds = (
        ("Curvature", [not analysis.costs.converged(analysis.eps) for analysis in analyses],
         "is not known to a twentieth"),
        ("Counts", [not freedom.exact for freedom in counts],
         "are estimates: singular values of the Jacobian are not known, or show no gap"),
        ("Sources", [(freedom.unattributed or 0) < 0 for freedom in counts],
         "count more than are free, by effects near rounding"),
        ("Modules", [not wiring.modular for wiring in trajectory.wirings],
         "are those of graphs that are rewired at random, which are as modular"),
    )  # fmt: skip
    for name, which, why in kinds:
        places = [f"{moment:g}" for moment, doubted in zip(moments, which, strict=False) if doubted]
        if places:
            where = "every moment" if len(places) == len(moments) else ", ".join(places)
            yield f"{name} at {where} {why}."


def _loss(outputs, target, loss):
    """Mean squared distance or divergence from other outputs; of whole numbers the cross-entropy."""
    if loss == "mse":
        return float(((outputs - target) ** 2).sum(1).mean())
    logs = log_softmax(outputs, axis=1)
    if target.ndim == 1:
        return float(-logs[np.arange(len(logs)), target].mean())
    own = log_softmax(target, axis=1)
    return float((np.exp(own) * (own - logs)).sum(1).mean())
