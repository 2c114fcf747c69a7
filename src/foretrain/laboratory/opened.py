"""A result whose figures can be drawn again, from Python and onto axes of one's own."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from foretrain.claims import markup
from foretrain.errors import ForetrainError, StoreError, argument_error, nearest
from foretrain.figures import Drawing, curves
from foretrain.figures.drawings import drawings
from foretrain.figures.style import drawn_at
from foretrain.laboratory import folder as home
from foretrain.laboratory.judge import any_run
from foretrain.plans.grid import Grid
from foretrain.plans.place import place
from foretrain.plans.plan import Plan, plan_from_dict
from foretrain.plans.study import Study
from foretrain.results.result import Result, open_result
from foretrain.results.root import STORE, altered, warnings
from foretrain.words import say


class StudyResult(Result):
    """A result that knows its study: its figures have names, and any variable over steps can be drawn."""

    study: Study | None = None  # that was run just now; else the folder's

    @property
    def figures(self) -> dict[str, str]:
        """Name of each figure of the study to its title; those of the default where the study draws none."""
        return {name: drawing.title for name, drawing in self._drawn().items()}

    def plot(self, name: str = "", ax: Any = None) -> Any:
        """Draw a figure of the study, or a variable: theory dashed over simulation.

        Args:
            name: One of `figures`, or a variable of the simulation with a dim ``step``, such as "loss"; by default the
                first figure.
            ax: Axes made by ``subplots``, which are taken out: the figure stands in their place, with its panels and its
                legend. By default the figure is one of its own.

        Returns:
            The matplotlib figure, or the part of that of `ax`.

        Raises `ArgumentError` where nothing has that name, or `ax` is not made by ``subplots``.
        """
        figures = self._drawn()
        chosen = name or next(iter(figures), "")
        if chosen in figures:
            return drawn_at(ax, self._drawn, chosen).figure
        grid = self.grid
        over_steps = [str(name) for name, array in grid.simulation.items() if "step" in array.dims]
        if chosen not in over_steps:
            known = nearest(chosen, [*figures, *over_steps])
            raise argument_error("name", "name a figure or a variable", f"is `{name}`", known)
        return drawn_at(ax, lambda: curves.draw(grid, [chosen]), chosen).figure

    def _repr_html_(self) -> str:
        shown = {"simulation": self.simulation, "theory": self.theory, "fits": self.fits}
        shown |= {f"variant {name}": self.variant(name) for name in self.variants}
        parts = [(self.claims.tally(), self.claims._repr_html_())] if self.claims else []
        parts += [(name, data._repr_html_()) for name, data in shown.items() if data.data_vars]
        return markup.render(
            "report/face.html",
            title=f"foretrain result: {self.config.get('study', 'unnamed study')}",
            subtitle="" if self.path is None else str(self.path),
            lines=[],
            parts=parts,
            tables=[],
        )

    @cached_property
    def grid(self) -> Grid:
        """The result as the grid that figures are drawn from; `stored_grid` where its study is not to be found or not run."""
        names = ("parameters", "axes", "seeds", "root_seed") if self.plan is not None else ()
        return replace(self.stored_grid, **{name: getattr(self.plan, name) for name in names})

    @cached_property
    def stored_grid(self) -> Grid:
        """The result as a grid that knows axes and seeds alone: nothing of a study is loaded."""
        networks = {name: self.variant(name) for name in self.variants}
        axes = {name: tuple(values) for name, values in self.config.get("axes", {}).items()}
        seeds = int(self.simulation.sizes.get("seed", 1))
        return Grid(None, axes, seeds, 0, self.simulation, networks, self.theory, self.fits)

    @cached_property
    def plan(self) -> Plan | None:
        """Its plan; None, with a line that says why, where the study has moved, is gone or may not be run."""
        try:
            stored = None if self.path is None else home.stored_plan(self.path)
            return None if stored is None else plan_from_dict(stored, self.study)
        except ForetrainError as error:
            say(f"{self.path}: the figures of its study are not drawn anew. {error}")
            return None

    def _drawn(self) -> Mapping[str, Drawing]:
        if self.plan is None or not any_run(self.simulation):
            return curves.draw(self.grid)

        def lost(name: str, error: BaseException) -> None:
            say(f"{self.path}: the figure `{name}` of the study raised: {place(error)}")

        return drawings(self.plan.study, self.grid, lost)


def opened(path: str | Path, *, strict: bool = True, lazy: bool = False) -> StudyResult:
    """Open the results in a folder; arguments and errors are those of `foretrain.results.result.open_result`.

    Args:
        path: The folder of results, or the ``results.zarr`` in it.
        strict: If False, a store that was changed by hand is read as it is.
        lazy: If True, values are read when they are used.

    Example:
        >>> import foretrain
        >>> stored = foretrain.run("one-mode", seeds=2, out="a", workers=0, quiet=True)
        >>> result = foretrain.open("a")
        >>> result.theory["strength"].equals(stored.theory["strength"])
        True
        >>> list(result.figures)
        ['loss', 'strength']
    """
    result = open_result(path, lazy=lazy)
    if strict and result.path is not None and STORE in altered(result.path, whole=not lazy):
        raise StoreError(
            f"{result.path / STORE} is not as foretrain wrote it. Try foretrain report, which makes it anew from "
            "the journal, or `strict=False` to read it as it is."
        )
    if strict and not lazy and result.path is not None:
        for line in warnings(result.path, result.claims):
            say(line)
    return StudyResult(result.path, result.tree)
