"""One network at several moments of its training: what of it is free, and when that changes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foretrain.analyze.analysis import exact_counts, layer_widths
from foretrain.degeneracy.counts.free_directions import FreeDirections
from foretrain.degeneracy.counts.jacobian_spectrum import Freedom
from foretrain.degeneracy.counts.unit_costs import costs_of
from foretrain.degeneracy.function import Function, as_function
from foretrain.degeneracy.interactions.wiring import Wiring, wired
from foretrain.degeneracy.network import LOSSES, Network
from foretrain.degeneracy.noise_scale import (
    SCALES,
    asked_loss,
    checked_outputs,
    default_scale,
    doubts_of_scale,
)
from foretrain.errors import argument_error, one_of, real
from foretrain.words import number

_WORDS = {"jacobians": "Jacobians", "synchronized": "synchronised"} | {
    name: name.replace("_", " and ") for name in ("queries_keys", "values_outputs")
}
LISTED = 3  # changes of a count up to which each is told


@dataclass(frozen=True, repr=False)
class Trajectory:
    """Effective parameters, free directions and, if asked for, modules over training.

    Args:
        moments: Steps of training, or the numbers 0, 1, ... of checkpoints without, (moment,), ascending.
        scales: Noise scales, (3,): eps in the middle, a tenth and ten times of it.
        source: Where eps comes from, in words.
        effective, error: N by curvature and its error, (moment, scale).
        distance: Loss of each moment's outputs: with labels that of training, else how far they are from the last ones,
            (moment,).
        loss: "mse" or "kl".
        parameters, answers: Numbers of parameters, and of examples times outputs.
        counts: Free directions that change nothing at all, of each moment; None where neither rank nor sources are known.
        wirings: Graph and modules of each moment; empty where nobody asked.
        doubts: Lines on what is not to be trusted, and why.
        axis: Label of the moments.
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

    def by_source(self) -> dict[str, np.ndarray]:
        """Free directions by each source that was counted, "not attributed" and "all", (moment,); empty without counts."""
        known = [one for one in self.counts if one is not None]
        if len(known) < len(self.moments):
            return {}
        parts = [one.by_source() for one in known]
        found = {_WORDS.get(name, name): [one[name] for one in parts] for name in parts[0]}
        if found and all(one.spectrum is not None for one in known):
            found["not attributed"] = [one.unattributed or 0 for one in known]
        return {
            name: np.array(one)
            for name, one in (found | {"all": [one.free for one in known]}).items()
        }

    def numbers(self) -> dict[str, np.ndarray]:
        """Numbers of blocks of synchronised neurons, and of modules, (moment,), by name; without what was not counted."""
        found = {}
        sections = [one.sections.values() for one in self.counts if isinstance(one, FreeDirections)]
        if len(sections) == len(self.moments):
            blocks = [
                [len(block.neurons) > 1 for one in of for block in one.blocks] for of in sections
            ]
            found["synchronised blocks"] = np.array([sum(one) for one in blocks])
        if self.wirings:
            found["modules"] = np.array([one.modules.modules for one in self.wirings])
        return found

    def changes(self) -> list[str]:
        """Lines on the largest change of the loss and of N between two moments, and on every change of a count."""
        lines = []
        for name, values in (("The loss", self.distance), ("N", self.effective[:, 1])):
            at = int(abs(np.diff(values)).argmax())
            if values[at] == values[at + 1]:
                lines.append(f"{name} does not change.")
                continue
            ends = " to ".join(number(one, 4) for one in values[at : at + 2])
            lines.append(f"{name} changes most between {self._between(at)}: from {ends}.")
        named = {f"Free directions, {name}": one for name, one in self.by_source().items()}
        named |= {name.capitalize(): one for name, one in self.numbers().items()}
        return lines + [self._changes_of(*one) for one in named.items() if one[1].any()]

    def _between(self, at):
        return " and ".join(f"{one:g}" for one in self.moments[at : at + 2])

    def _changes_of(self, name, values):
        """A line on when a count changes."""
        moved = np.flatnonzero(np.diff(values))
        if not moved.size:
            return f"{name}: {values[0]:,} at every moment."
        told = moved[:LISTED]
        parts = [f"{values[at]:,} to {values[at + 1]:,} between {self._between(at)}" for at in told]
        if len(moved) > LISTED:
            at = int(abs(np.diff(values)).argmax())
            most = f"{values[at]:,} to {values[at + 1]:,} between {self._between(at)}"
            whole = f"{values[0]:,} to {values[-1]:,} in {len(moved)} changes"
            parts = [whole, f"first {parts[0]}", f"most {most}"]
        return f"{name}: {'; '.join(parts)}."

    def dataset(self):
        """The same as an xarray Dataset with dims `moment`, `noise_scale`, and `source` where free directions were counted."""
        import xarray as xr

        of, sources = ("moment", "noise_scale"), self.by_source()
        data: dict[str, Any] = {"effective_parameters": (of, self.effective)}
        data |= {"error": (of, self.error), "loss": ("moment", self.distance)}
        coords: dict[str, Any] = {"moment": self.moments, "noise_scale": self.scales}
        if sources:
            coords["source"] = [*sources]
            data["free_directions"] = ("source", "moment"), np.array([*sources.values()])
            data["exact"] = (
                "moment",
                np.array([one is not None and one.exact for one in self.counts]),
            )
        for name, values in self.numbers().items():
            data[name.replace(" ", "_")] = "moment", values
        return xr.Dataset(data, coords)

    def text(self, width: float = math.inf) -> str:
        """All of it in lines of at most `width` columns."""
        from foretrain.analyze import analysis_text

        return analysis_text.trajectory_text(self, width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from foretrain.analyze.analysis_text import html

        return html(self)

    def plot(self):
        """Effective parameters, counts and the loss over training: a matplotlib figure."""
        from foretrain.analyze.analysis_figures import over_training

        return over_training(self).figure


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
    resolution: float | None = None,
    points: int = 5,
    seed: int = 0,
    tell: Callable[[str], object] | None = None,
) -> Trajectory:
    """Effective parameters of one network at several moments of its training, at three noise scales, and its free directions.

    Args:
        models: At least two, of the same outputs and number of parameters, in the order of training.
        x, y, loss, seed: As of `foretrain.analyze.analysis.analyze`.
        noise_scale: Eps; None takes it from the data and the last model.
        moments: Steps of training; by default 0, 1, ...
        axis: Label of the moments.
        source: Where a noise scale that is given comes from.
        wiring: True for the modules of every moment, too, which needs layers.
        resolution, points: Of modules and edges, as of `analyze`.
        tell: Gets a line for each moment.

    Raises:
        ArgumentError: They are fewer than two, have different outputs or parameters, an argument is out of range, or modules
            are asked of a network without layers.

    Cost: that of `foretrain.degeneracy.counts.unit_costs.costs_of` and of the counts for each model; with `wiring` that of
    `foretrain.degeneracy.interactions.wiring.wired`, too.
    """
    if len(models) < 2:
        raise argument_error("models", "be at least two", f"are {len(models)}")
    at = np.arange(len(models)) if moments is None else np.asarray(moments, float)
    if len(at) != len(models):
        got = f"are {len(at)} for {len(models)} models"
        raise argument_error("moments", "be as many as models", got)
    functions = [as_function(one) if isinstance(one, Network) else one for one in models]
    x = functions[-1].data(x)
    outputs = [checked_outputs(one.outputs(x)) for one in functions]
    for what, sizes in (
        ("outputs", [one.shape[1] for one in outputs]),
        ("parameters", [one.size for one in functions]),
    ):
        if len(set(sizes)) > 1:
            raise argument_error("models", f"have the same {what}", f"have {sizes} {what}")
    if loss is not None:
        one_of("loss", loss, LOSSES)
    y, loss = asked_loss(y, outputs[-1], loss)
    if noise_scale is None:
        noise_scale, source = default_scale(outputs[-1], y, loss)
    eps = real("noise_scale", noise_scale, above=0)
    scales = eps * np.array(sorted(SCALES))
    doubts = {line: None for one in functions for line in one.notes}  # each once, in order
    doubts |= dict.fromkeys(doubts_of_scale(eps, outputs[-1], loss))
    found, counts, wirings = [], [], []
    for moment, one in zip(at, functions, strict=True):
        if tell:
            tell(f"At {moment:g}: curvature and counts{' and modules' * wiring}.")
        first = tell if not found else None  # of the others time and memory are the same
        rows, network = one.rows(x), one.network
        wide = layer_widths(network, rows, outputs[0].shape[1], loss) if network else ()
        costs, spectrum, more = costs_of(one, x, loss, float(scales[0]), seed, first)
        found.append(costs.effective(scales))
        doubts |= dict.fromkeys(more)
        if not costs.converged(eps):
            doubts[f"Curvature at {moment:g}: known to {found[-1][1][1]:,.0f} only."] = None
        freedom = exact_counts(one, rows, loss, spectrum)
        counts.append(freedom if spectrum is not None or freedom.by_source() else None)
        if wiring:
            if network is None:
                rule, repair = "have layers where modules are asked for", "Leave `wiring` out."
                raise argument_error("models", rule, "have none", repair)
            options = {"loss": loss, "resolution": resolution, "points": points, "tell": first}
            made, _ = wired(network, rows, eps, few=len(x) < max(wide), **options)
            wirings.append(made)
    doubts |= dict.fromkeys(_doubts(at, counts, wirings))
    effective, error = (np.array(kind) for kind in zip(*found, strict=True))
    distance = np.array([_loss(one, outputs[-1] if y is None else y, loss) for one in outputs])
    return Trajectory(
        at,
        scales,
        source,
        effective,
        error,
        distance,
        loss,
        functions[0].size,
        outputs[0].size,
        tuple(counts),
        tuple(wirings),
        [*doubts],
        axis,
    )


def _doubts(moments, counts, wirings):
    """Lines that name the moments of which a count is an estimate, or modules are those of chance."""
    kinds = (
        ("Counts", [one is not None and not one.exact for one in counts],
         "are estimates: singular values of the Jacobian are not known, or show no gap"),
        ("Sources", [one is not None and (one.unattributed or 0) < 0 for one in counts],
         "count more than are free, by effects near rounding"),
        ("Modules", [not one.modular for one in wirings],
         "are those of graphs that are rewired at random, which are as modular"),
    )  # fmt: skip
    for what, which, why in kinds:
        if any(which):
            named = [f"{moment:g}" for moment, one in zip(moments, which, strict=True) if one]
            where = "every moment" if len(named) == len(moments) else ", ".join(named)
            yield f"{what} at {where} {why}."


def _loss(outputs, target, loss):
    """Mean squared distance or divergence from other outputs; of whole numbers the cross-entropy."""
    from scipy.special import log_softmax

    if loss == "mse":
        return float(((outputs - target) ** 2).sum(1).mean())
    said = log_softmax(outputs, axis=1)
    if target.ndim == 1:
        return float(-said[np.arange(len(said)), target].mean())
    own = log_softmax(target, axis=1)
    return float((np.exp(own) * (own - said)).sum(1).mean())
