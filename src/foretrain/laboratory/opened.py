"""A result whose figures can be drawn again, from Python and onto axes of one's own."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from foretrain.claims import markup
from foretrain.errors import ForetrainError, StoreError, argument_error, nearest
from foretrain.figures import Drawing, curves
from foretrain.figures.drawings import drawings
from foretrain.figures.style import drawn_at
from foretrain.laboratory import folder as home
from foretrain.plans.grid import Grid
from foretrain.plans.place import place
from foretrain.plans.plan import plan_from_dict
from foretrain.results.checksum import NAME as STORE
from foretrain.results.result import Result, open_result
from foretrain.results.root import altered, warnings
from foretrain.words import say


class StudyResult(Result):
    """A result that knows its study: its figures have names, and any variable over steps can be drawn."""

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

        Raises:
            ArgumentError: there is neither a figure nor a variable of that name, or `ax` is not made by ``subplots``.
        """
        figures = self._drawn()
        chosen = name or next(iter(figures), "")
        if chosen in figures:
            return drawn_at(ax, self._drawn, chosen).figure
        grid = self.grid
        over_steps = [str(one) for one, held in grid.simulation.items() if "step" in held.dims]
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
        """The result as the grid that figures are drawn from; axes and seeds alone where the study is not to be found."""
        networks = {name: self.variant(name) for name in self.variants}
        data = (self.simulation, networks, self.theory, self.fits)
        if self._plan is not None:
            plan = self._plan
            return Grid(plan.parameters, plan.axes, plan.seeds, plan.root_seed, *data)
        axes = {name: tuple(values) for name, values in self.config.get("axes", {}).items()}
        return Grid(None, axes, int(self.simulation.sizes.get("seed", 1)), 0, *data)

    @cached_property
    def _plan(self) -> Any:
        stored = None if self.path is None else home.stored_plan(self.path)
        if stored is None:
            return None
        try:
            return plan_from_dict(stored)
        except (
            ForetrainError
        ) as error:  # the study has moved, or is not one's own; its curves are still there
            say(f"{self.path}: the figures of its study are not drawn. {error}")
            return None

    def _drawn(self) -> Mapping[str, Drawing]:
        if self._plan is None:
            return curves.draw(self.grid)

        def lost(name: str, error: BaseException) -> None:
            say(f"{self.path}: the figure `{name}` of the study raised: {place(error)}")

        return drawings(self._plan.study, self.grid, lost)


def opened(path: str | Path, *, strict: bool = True, lazy: bool = False) -> StudyResult:
    """Open the results in a folder; arguments and errors are those of `foretrain.results.result.open_result`.

    Args:
        path: The folder of results, or the ``results.zarr`` in it.
        strict: If False, what is whole in a damaged store is read.
        lazy: If True, values are read when they are used.
    """
    found = open_result(path, strict=strict, lazy=lazy)
    if strict and found.path is not None and STORE in altered(found.path, whole=not lazy):
        raise StoreError(
            f"{found.path / STORE} is not as foretrain wrote it. Try foretrain report, which makes it anew from "
            "the journal, or `strict=False` to read it as it is."
        )
    if strict and not lazy and found.path is not None:
        for line in warnings(found.path, found.claims):
            say(line)
    return StudyResult(found.path, found.tree)
