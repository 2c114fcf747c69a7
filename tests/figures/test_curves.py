"""The figures of a study that draws none, on grids made up here."""

import json
from dataclasses import make_dataclass

import numpy as np
import pytest
import xarray as xr

from foretrain.figures import save
from foretrain.figures.curves import draw
from foretrain.figures.live import live
from foretrain.figures.style import INK
from foretrain.plans.grid import Grid
from foretrain.vocabulary import CONVERGED, DIVERGED, OUT_OF_STEPS, STALLED, TIME_UNIT

STEPS = np.arange(0, 400, 10)
AXES = {"init_scale": (0.2, 0.05), "optimiser": ("sgd", "adam"), "rank": (1, 2)}


def curves(axes, seeds=7, modes=0, with_time=True):
    """Losses that fall like a sigmoid, later for a smaller start; strengths of the modes that rise as they fall."""
    random = np.random.default_rng(0)
    shape = tuple(map(len, axes.values()))
    delay = np.ones(shape)
    for position, values in enumerate(axes.values()):
        factor = np.arange(1, len(values) + 1) / 2
        delay = delay * factor.reshape([-1 if n == position else 1 for n in range(len(shape))])
    late = 80 * delay[..., None, None] * random.uniform(0.9, 1.1, (*shape, seeds, 1))
    loss = 1 / (1 + np.exp((STEPS - late) / 15))
    coords = {**{name: list(values) for name, values in axes.items()}, "step": STEPS}
    if with_time:
        coords["time"] = ("step", STEPS * 0.1, {"units": TIME_UNIT})
    data = xr.Dataset({"loss": ((*axes, "seed", "step"), loss)}, coords)
    if modes:
        strength = (1 - loss[..., None]) * np.arange(modes, 0, -1)
        data["mode_strength"] = ((*axes, "seed", "step", "mode"), strength)
    data["outcome"] = ((*axes, "seed"), np.ones((*shape, seeds), int))
    return data


def grid(axes=None, **options):
    axes = axes or {}
    fields = [(name, type(values[0]), values[0]) for name, values in axes.items()]
    parameters = make_dataclass("Parameters", fields, frozen=True)()
    simulation = curves(axes, **options)
    theory = simulation.drop_vars("outcome").mean("seed").drop_vars("time", errors="ignore")
    return Grid(parameters, axes, simulation.sizes["seed"], 0, simulation, {}, theory)


def drawn(ax):
    """The lines but for those that stand for others in the legend."""
    return [line for line in ax.get_lines() if len(line.get_xdata())]


def lines(ax, dashed):
    return [line for line in drawn(ax) if (line.get_linestyle() == "--") == dashed]


def labels(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_every_variable_that_both_have_is_drawn_with_the_loss_first():
    whole = grid(modes=2)
    whole.simulation["conserved"] = ("step", np.ones(STEPS.size))
    drawings = draw(whole)
    assert list(drawings) == ["loss", "mode_strength"]
    assert drawings["mode_strength"].title == "Mode strength"


def test_theory_is_dashed_over_the_mean_over_seeds_with_its_band_and_single_runs():
    whole = grid()
    drawing = draw(whole)["loss"]
    ax, rest = drawing.figure.axes
    left = [line for line in rest.get_lines() if len(line.get_xdata()) > 2]
    assert all(np.abs(line.get_ydata()).max() < 0.01 for line in left)  # theory is the mean
    assert rest.get_ylabel() == "Off theory"
    *single, mean, theory = drawn(ax)
    assert len(single) == 5
    np.testing.assert_allclose(mean.get_ydata(), whole.simulation.loss.mean("seed"))
    np.testing.assert_allclose(theory.get_ydata(), whole.theory.loss)
    np.testing.assert_allclose(theory.get_xdata(), whole.simulation.time)
    assert theory.get_zorder() > mean.get_zorder()
    assert (theory.get_linestyle(), theory.get_color()) == ("--", INK)
    assert rest.get_xlabel() == f"Time ({TIME_UNIT})"
    assert set(labels(drawing.figure)) == {
        "single runs",
        "simulation",
        "theory",
        "band: 95% interval of the mean over 7 seeds",
    }
    assert "in a band of its 95% interval" in drawing.caption
    assert "Dashed: theory." in drawing.caption


def test_the_first_axis_is_panels_the_second_colours_and_others_stay_at_their_first_value():
    whole = grid(AXES)
    drawing = draw(whole)["loss"]
    assert [ax.get_title(loc="left") for ax in drawing.figure.axes] == [
        "Init scale = 0.05",
        "Init scale = 0.2",
    ]
    for ax, scale in zip(drawing.figure.axes, (0.05, 0.2), strict=True):
        theory = lines(ax, dashed=True)
        assert len(theory) == 2
        for line, optimiser in zip(theory, AXES["optimiser"], strict=True):
            expected = whole.theory.loss.sel(init_scale=scale, optimiser=optimiser, rank=1)
            np.testing.assert_allclose(line.get_ydata(), expected)
        assert theory[0].get_color() != theory[1].get_color()
    assert {"optimiser=sgd", "optimiser=adam", "theory"} <= set(labels(drawing.figure))
    assert len({(ax.get_yscale(), ax.get_ylim()) for ax in drawing.figure.axes}) == 1
    assert drawing.caption.endswith("Drawn at rank=1.")


def test_modes_are_colours_and_the_second_axis_stays_at_its_first_value():
    whole = grid({"init_scale": (0.1, 0.2), "rank": (1, 2)}, modes=9)
    whole.simulation.coords["mode"] = np.arange(1, 10)
    drawing = draw(whole)["mode_strength"]
    assert len(lines(drawing.figure.axes[0], dashed=True)) == 5
    assert {"mode 1", "mode 3", "mode 5", "mode 7", "mode 9"} <= set(labels(drawing.figure))
    assert "Of 9 curves, along mode, 5 are drawn." in drawing.caption
    assert "Drawn at rank=1." in drawing.caption
    expected = whole.theory.mode_strength.isel(init_scale=0, rank=0, mode=8)
    np.testing.assert_allclose(lines(drawing.figure.axes[0], True)[-1].get_ydata(), expected)


def test_without_theory_every_curve_of_the_simulation_is_drawn():
    whole = grid(modes=2)
    drawings = draw(Grid(whole.parameters, {}, 7, 0, whole.simulation))
    assert list(drawings) == ["loss", "mode_strength"]
    assert "theory" not in labels(drawings["loss"].figure)
    assert "theory" not in drawings["loss"].caption
    many = whole.simulation.assign({f"more_{n}": ("step", STEPS) for n in range(9)})
    assert len(draw(Grid(whole.parameters, {}, 7, 0, many))) == 6
    named = draw(Grid(whole.parameters, {}, 7, 0, many), ("more_8", "loss"))
    assert list(named) == ["loss", "more_8"]


def test_time_may_differ_from_cell_to_cell():
    whole = grid({"rate": (0.1, 0.2)}, with_time=False)
    whole.simulation.coords["time"] = ("rate", "step"), np.array([[0.1], [0.2]]) * STEPS
    first, second = draw(whole)["loss"].figure.axes
    assert drawn(first)[-1].get_xdata()[-1] == pytest.approx(39)
    assert drawn(second)[-1].get_xdata()[-1] == pytest.approx(78)


def test_theory_that_differs_by_seed_is_drawn_as_its_mean():
    whole = grid()
    whole.theory["loss"] = whole.simulation["loss"] * xr.DataArray(
        [1.0] * 6 + [np.nan], dims="seed"
    )
    drawing = draw(whole)["loss"]
    (theory,) = lines(drawing.figure.axes[0], dashed=True)
    np.testing.assert_allclose(theory.get_ydata(), whole.simulation.loss[:6].mean("seed"))
    assert "Dashed: theory, mean over seeds." in drawing.caption


def test_theory_at_other_steps_stands_at_its_own():
    whole = grid()
    theory = curves({}, seeds=1).mean("seed").drop_vars("time").isel(step=slice(None, None, 2))
    (ax,) = draw(Grid(whole.parameters, {}, 7, 0, whole.simulation, {}, theory))["loss"].figure.axes
    (line,) = lines(ax, dashed=True)
    np.testing.assert_allclose(line.get_xdata(), STEPS[::2] * 0.1)


@pytest.mark.parametrize("lost", [np.nan, np.inf, 1e300])
def test_runs_that_ended_early_or_blew_up_are_left_out_and_an_empty_panel_says_so(lost, tmp_path):
    whole = grid({"rank": (1, 2, 3)})
    whole.simulation.outcome[:] = DIVERGED
    whole.simulation.loss[0, 0, 20:] = lost
    whole.simulation.loss[1] = lost
    whole.theory.loss[1] = np.nan
    drawing = draw(whole)["loss"]
    first, second, third = (ax for ax in drawing.figure.axes if ax.get_visible())
    assert [text.get_text() for text in second.texts] == ["no run"]
    assert not first.texts
    assert not third.texts
    expected = whole.simulation.loss[0, 1:, 25].mean()
    assert lines(first, False)[-1].get_ydata()[25] == pytest.approx(float(expected))
    assert "over 6 to 7 seeds" in " ".join(" ".join(labels(drawing.figure)).split())
    if lost == np.inf:
        save({"loss": drawing}, tmp_path)


def test_runs_that_converged_keep_their_last_value():
    whole = grid()
    whole.simulation.outcome[:] = [CONVERGED, STALLED, OUT_OF_STEPS, CONVERGED, *[DIVERGED] * 3]
    before = whole.simulation.loss.values.copy()
    whole.simulation.loss[:3, 10:] = np.nan
    (ax,) = draw(whole)["loss"].figure.axes
    stored = np.concatenate([before[:2, 9], before[3:, 30]])
    assert lines(ax, False)[-1].get_ydata()[30] == pytest.approx(stored.mean())


@pytest.mark.parametrize(
    ("loss", "scale"),
    [
        (1.1**STEPS, "log"),
        (0.9**STEPS, "log"),  # to 1e-18: what lies below rounding does not set the limits
        (1 / (1 + STEPS), "log"),
        (0.02 + 1 / (1 + STEPS), "linear"),  # a decade and a half
        (np.where(STEPS < 300, 1.0, 0.0), "linear"),  # zero has no logarithm
    ],
)
def test_a_loss_is_drawn_on_a_logarithmic_scale_where_it_crosses_two_decades(loss, scale):
    whole = grid()
    for data in (whole.simulation, whole.theory):
        data["loss"] = data["loss"] * 0 + loss
    drawing = draw(whole)["loss"]
    ax, *_ = drawing.figure.axes
    assert ax.get_yscale() == scale
    assert ("lies below the axis" in drawing.caption) == (0 < loss.min() < 5e-13 * loss.max())
    low, high = ax.get_ylim()
    assert low < max(loss.min(), 1e-12 * loss.max())
    assert high > loss.max()
    assert scale == "linear" or low > 1e-13 * high


def test_neither_a_band_of_few_seeds_nor_a_small_change_sets_the_limits():
    whole = grid(seeds=2, modes=1)
    whole.simulation.mode_strength[1] += 2
    (ax,) = draw(whole)["mode_strength"].figure.axes
    low, high = ax.get_ylim()
    assert -0.5 < low < 0
    assert 3 < high < 3.5
    for data in (whole.simulation, whole.theory):
        data["mode_strength"] = 30 + 1e-4 * data["mode_strength"]
    low, high = draw(whole)["mode_strength"].figure.axes[0].get_ylim()
    assert 29.8 < low < 29.9 < 30.1 < high < 30.2  # what hardly changes is drawn flat


def test_long_curves_are_thinned_and_keep_their_ends():
    steps = np.arange(5000)
    data = xr.Dataset(
        {"loss": (("seed", "step"), np.exp(-steps / 900)[None] * [[1], [1.1]])}, {"step": steps}
    )
    (ax,) = draw(Grid(None, {}, 2, 0, data))["loss"].figure.axes
    x = drawn(ax)[-1].get_xdata()
    assert (len(x), x[0], x[-1]) == (300, 0, 4999)


def test_a_study_without_curves_or_runs_draws_none():
    assert draw(Grid(None)) == {}
    assert draw(Grid(None, simulation=xr.Dataset({"end": ("seed", [1.0])}))) == {}


def test_an_axis_may_change_the_number_of_modes():
    whole = grid({"width": (2, 3)}, modes=3)
    known = np.array([[1, 2, -1], [1, 2, 3]])
    for data in (whole.simulation, whole.theory):
        data["mode_strength"] = data["mode_strength"].where(
            xr.DataArray(known > 0, dims=("width", "mode"))
        )
        data["rank"] = data["mode_strength"].notnull().astype(int) * 3 - 1
        data["rank"].attrs["padding"] = -1
    whole.simulation.coords["mode"] = (("width", "mode"), known)
    drawings = draw(whole)
    assert {"mode 1", "mode 2", "mode 3"} <= set(labels(drawings["mode_strength"].figure))
    for drawing in (drawings["mode_strength"], drawings["rank"]):
        narrow, wide = (lines(ax, dashed=True) for ax in drawing.figure.axes)
        assert (len(narrow), len(wide)) == (2, 3)
    whole.simulation.coords["mode"] = (("width", "mode"), np.array([[4, 5, -1], [1, 2, 3]]))
    assert {"mode 0", "mode 1", "mode 3"} <= set(labels(draw(whole)["mode_strength"].figure))


# The same curves as numbers, for a page.


def test_every_cell_and_line_has_its_mean_its_single_runs_and_its_theory():
    whole = grid(AXES, modes=3)
    drawings = live(whole)
    assert [name for name, _ in drawings["axes"]] == list(AXES)
    assert drawings["axes"][0][1] == ["0.05", "0.2"]
    assert [variable["name"] for variable in drawings["variables"]] == ["loss", "mode_strength"]
    assert [len(variable["lines"]) for variable in drawings["variables"]] == [1, 3]
    assert set(drawings["cells"]) == {
        f"{i},{j},{k}" for i in (0, 1) for j in (0, 1) for k in (0, 1)
    }
    for cell in drawings["cells"].values():
        assert len(cell["curves"][0][0]["seeds"]) == 5
        assert {len(curve["theory"]) for curves in cell["curves"] for curve in curves} == {
            len(cell["x"])
        }
    cell = drawings["cells"]["1,0,1"]
    chosen = whole.simulation.sel(init_scale=0.2, optimiser="sgd", rank=2)
    wanted = np.interp(cell["x"], chosen["time"], chosen["loss"].mean("seed"))
    assert cell["curves"][0][0]["mean"] == pytest.approx(wanted, rel=1e-3)
    json.dumps(drawings, allow_nan=False)
    assert sum(len(cell["x"]) for cell in drawings["cells"].values()) * 4 * 7 <= 60_000
    many = live(grid({name: (1, 2, 3, 4) for name in ("a", "b", "c", "d", "e")}))
    assert 100 < len(many["cells"]) <= 192  # whatever the number of axes


def test_what_is_not_finite_is_nothing_and_no_curve_gives_nothing():
    whole = grid()
    whole.simulation["loss"].values[0, 3:] = np.nan
    whole.simulation["outcome"].values[:] = 2
    runs = live(whole)["cells"][""]["curves"][0][0]
    assert runs["seeds"][0][3:] == [None] * (STEPS.size - 3)
    assert None not in runs["mean"]
    assert live(Grid(None)) is None


def test_runs_that_were_cut_off_are_marked_where_others_converged():
    whole = grid()
    whole.simulation["outcome"].values[:] = CONVERGED
    whole.simulation["outcome"].values[1] = OUT_OF_STEPS
    (ax, *_) = draw(whole)["loss"].figure.axes
    assert "cut off by the number of steps" in labels(ax.figure)
    whole.simulation["outcome"].values[:] = (
        OUT_OF_STEPS  # nothing converges: all took the steps they were to
    )
    (ax, *_) = draw(whole)["loss"].figure.axes
    assert "cut off by the number of steps" not in labels(ax.figure)
