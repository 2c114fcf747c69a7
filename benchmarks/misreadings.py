"""Errors of who reads, predicts or trains otherwise than is said, planted beside those of `tests/mutations`."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from mutations.notice import FASTER, RATES  # pyright: ignore[reportMissingImports]
from mutations.plant import (  # pyright: ignore[reportMissingImports]
    Mutation,
    assigned,
    everywhere,
    in_all,
    rolled,
    stopped,
)

from foretrain.laboratory.labelled import theory_over
from foretrain.laboratory.stages import silent
from foretrain.plans.grid import Grid
from foretrain.plans.study import Study

#: Kind and words of the errors of code that trains otherwise than it says; by which factor which options are off.
OTHERWISE = (
    FASTER,
    ("rate", "every learning rate is half of what it says", RATES, 0.5),
    ("rate", "nothing is trained: every learning rate is a thousandth", RATES, 0.001),
    ("start", "every initial scale is ten times what it says", ("init_scale",), 10.0),
    ("decay", "no weight decays", ("weight_decay", "embedding_decay", "decoder_decay"), 0.0),
)


def readings(grid: Grid) -> Iterator[Mutation]:
    """Yield errors that a referee plants besides: who reads the runs reads another network, value, start, seed or unit."""
    for name in grid.variants:
        plant = partial(_exchanged, name=name)
        yield Mutation("network", f"that of {name} and the study's own exchanged", plant)
    for name, values in grid.axes.items():
        plant = partial(everywhere, change=partial(rolled, dim=name))
        if len(values) > 1:
            yield Mutation("axis", f"runs of another {name}", plant)
    plant = partial(in_all, change=partial(stopped, share=0))
    yield Mutation("untrained", "every network stays as it starts", plant)
    networks = (grid.simulation, *grid.variants.values())
    kinds = {str(name): runs[name].dtype.kind for runs in networks for name in runs}
    of_next = partial(rolled, dim="seed")
    for name, kind in kinds.items():
        plant = partial(everywhere, change=of_next, only=name)
        yield Mutation("seed", f"{name} of another seed's run", plant)
        if kind == "f":
            plant = partial(everywhere, change=lambda v: 2 * v, only=name)
            yield Mutation("unit", f"{name} times 2", plant)


def believed(study: Study, grid: Grid) -> Iterator[Mutation]:
    """Yield the errors of who predicts and judges with an option that is twice what the networks had."""
    for name, value in vars(grid.parameters).items():
        if isinstance(value, float) and any(grid.values(name)):
            plant = partial(_believed, study, name)
            yield Mutation("option", f"{name} is taken for twice what it is", plant)


def _believed(study: Study, name: str, grid: Grid) -> Grid:
    twice = {name: tuple(2 * value for value in grid.axes.get(name, ()))}
    p = replace(grid.parameters, **{name: 2 * getattr(grid.parameters, name)})
    study.check(p)
    other = replace(grid, parameters=p, axes={k: twice.get(k, v) for k, v in grid.axes.items()})
    theory = theory_over(study, silent, other) if study.predicts else grid.theory
    data = {key: values.values for key, values in theory.items()}
    return replace(grid, parameters=p, theory=grid.theory.copy(data=data))


def _exchanged(grid: Grid, name: str) -> Grid:
    """The grid in which the study's own network and a variant have changed places, as far as both hold the same."""
    own, other = grid.simulation, grid.variants[name]
    alike = [key for key in own if key in other and own[key].sizes == other[key].sizes]
    variant = other.assign({key: other[key].copy(data=own[key].values) for key in alike})
    whole = replace(grid, variants={**grid.variants, name: variant})
    return assigned(
        whole, "simulation", {key: own[key].copy(data=other[key].values) for key in alike}
    )
