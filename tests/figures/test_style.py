import os
import subprocess
import sys
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgb

from foretrain.claims.interval import interval
from foretrain.errors import ArgumentError
from foretrain.figures import Drawing, points, save
from foretrain.figures.style import (
    PALETTE,
    WIDTH,
    Smooth,
    band_label,
    legend_below,
    log_ticks,
    panel_letters,
    panels,
    seed_band,
    simulation_line,
    style,
    theory_line,
)
from foretrain.quantities.curves import axis_label


@pytest.fixture
def samples():
    """Curves of 12 seeds at 5 points."""
    return np.random.default_rng(3).normal(size=(12, 5)).cumsum(axis=1)


def legend_labels(ax):
    return ax.get_legend_handles_labels()[1]


def ends(band, place):
    """Lowest and highest point of a band there."""
    edge = band.get_paths()[0].vertices
    heights = edge[edge[:, 0] == place][:, 1]
    return heights.min(), heights.max()


def luminance(color):
    """Relative luminance of WCAG 2."""
    channels = np.array(to_rgb(color))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_the_style_leaves_nothing_behind_and_overrides_a_users_settings():
    before = dict(mpl.rcParams)
    with mpl.rc_context({"lines.linestyle": ":", "font.size": 3}):
        with style():
            assert mpl.rcParams["lines.linestyle"] == "-"
            assert mpl.rcParams["font.size"] == 12
        assert mpl.rcParams["font.size"] == 3
    assert dict(mpl.rcParams) == before


def test_theory_is_seen_where_it_agrees_with_simulation():
    for color in [None, *PALETTE.values()]:
        theory, simulation = theory_line(color), simulation_line(color)
        assert theory["zorder"] > simulation["zorder"]
        assert theory["linewidth"] < simulation["linewidth"]
        assert theory["linestyle"] != simulation["linestyle"] == "-"
        if color not in (None, PALETTE["black"]):
            pale = tuple(1 - simulation["alpha"] * (1 - channel) for channel in to_rgb(color))
            dark, light = sorted(map(luminance, (theory["color"], pale)))
            assert light + 0.05 > 3 * (dark + 0.05)  # WCAG's least contrast of graphics
    assert theory_line(label="t", linewidth=9)["linewidth"] == 9
    assert "color" not in simulation_line()


def test_a_band_is_the_interval_that_claims_use_and_says_so(samples):
    with style():
        _, ax = panels()
        x = np.arange(5.0)
        line, band = seed_band(ax, x, samples, "loss")
    np.testing.assert_allclose(line.get_ydata(), samples.mean(axis=0), rtol=1e-14)
    expected = [interval(column) for column in samples.T]
    assert [ends(band, place) for place in x] == [(each.low, each.high) for each in expected]
    assert legend_labels(ax) == ["loss", "band: 95% interval of the mean over 12 seeds"]


def test_a_band_of_the_median_follows_the_median(samples):
    with style():
        line, _ = seed_band(panels()[1], np.arange(5), samples, statistic=np.median)
    np.testing.assert_allclose(line.get_ydata(), np.median(samples, axis=0))
    assert "of the median over 3 to 5 seeds" in band_label([3, 5, 4], "median")


@pytest.mark.parametrize("kind", [bool, int, float])
def test_a_band_of_what_is_so_or_not_is_that_of_a_fraction(kind):
    so = np.array([[False, True, True], [False, False, True], [False, True, True]])
    with style():
        _, ax = panels()
        line, band = seed_band(ax, np.arange(3), so.astype(kind))
        assert legend_labels(ax) == ["band: 95% interval of the fraction over 3 seeds"]
    np.testing.assert_allclose(line.get_ydata(), [0, 2 / 3, 1])
    for place in range(3):
        expected = interval(so[:, place])
        assert expected.method == "Clopper-Pearson"
        assert ends(band, place) == (expected.low, expected.high)


def test_seeds_that_are_not_finite_are_left_out_and_counted(samples):
    samples[0, 2:] = np.nan
    samples[1, 4] = np.inf
    samples[:, 1] = np.nan
    with style():
        _, ax = panels()
        line, _ = seed_band(ax, np.arange(5), samples)
    means = [samples[:, 0].mean(), np.nan, samples[1:, 2].mean(), samples[1:, 3].mean()]
    np.testing.assert_allclose(line.get_ydata()[:4], means)
    assert legend_labels(ax) == [band_label([10, 12])]


def test_few_x_have_marks_and_the_band_of_one_is_a_bar(samples):
    with style():
        _, ax = panels()
        few, _ = seed_band(ax, np.arange(5), samples)
        many, _ = seed_band(ax, np.arange(40), np.tile(samples, 8))
        _, bar = seed_band(ax, [1.0], samples[:, :1])
    assert (few.get_marker(), many.get_marker()) == ("o", "None")
    result = interval(samples[:, 0])
    (ends,) = bar.get_segments()
    assert (ends[0, 1], ends[1, 1]) == (result.low, result.high)


def test_samples_that_do_not_fit_are_refused(samples):
    _, ax = panels()
    with pytest.raises(ArgumentError, match=r"`samples` must have shape \(seed, 4\), but has"):
        seed_band(ax, np.arange(4), samples)


def test_an_axis_is_labelled_with_the_unit_of_its_array():
    time = xr.DataArray([0.0], name="half_time", attrs={"units": "step × learning rate"})
    assert axis_label(time) == "Half time (step × learning rate)"
    assert axis_label(time, r"$t_{1/2}$") == r"$t_{1/2}$ (step × learning rate)"
    assert axis_label(xr.DataArray([0.0], name="loss", attrs={"units": "1"})) == "Loss"
    assert axis_label(xr.DataArray([0.0], name="loss")) == "Loss"


def test_a_legend_below_names_each_label_once_bands_last_and_covers_no_panel():
    with style():
        figure, axes = panels(1, 2)
        for ax in axes:
            ax.fill_between([0, 1], 0, 1, label="band: 95% interval")
            ax.plot([0, 1], label="simulation")
        axes[1].plot([1, 0], label="theory")
        legend = legend_below(figure)
        figure.draw_without_rendering()
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["simulation", "theory", "band: 95% interval"]
    panel_letters(axes)
    assert [ax.get_title(loc="left") for ax in axes] == [r"$\mathbf{a}$", r"$\mathbf{b}$"]
    top = legend.get_window_extent().y1
    assert all(ax.get_tightbbox().y0 >= top for ax in axes)


def test_bands_over_different_numbers_of_seeds_are_one_entry(samples):
    with style():
        figure, ax = panels()
        seed_band(ax, range(5), samples)
        seed_band(ax, range(5), samples[:3], statistic=np.median)
        seed_band(ax, range(5), samples[:7] > 0)
        (text,) = legend_below(figure).get_texts()
    words = " ".join(text.get_text().split())
    assert words == "band: 95% interval of the mean or median or fraction over 3 to 12 seeds"
    with style():
        figure, ax = panels()
        seed_band(ax, range(5), samples)
        seed_band(ax, range(5), samples[:3])
        (text,) = legend_below(figure).get_texts()
    assert text.get_text() == "band: 95% interval of the mean over 3 or 12 seeds"


def test_a_legend_below_stays_within_the_figure_whatever_it_says():
    words = ["simulation", "theory", "a word " * 20, "band: 95% interval of the mean over 20 seeds"]
    with style():
        figure, ax = panels()
        for word in words:
            ax.plot([0, 1], label=word.strip())
        legend = legend_below(figure)
        figure.draw_without_rendering()
        box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width
    assert " ".join(legend.get_texts()[2].get_text().split()) == words[2].strip()


def drawings():
    with style():
        figure, ax = panels()
        ax.plot([1.0, 0.5, 0.25], label="loss")
        ax.legend()
    return {"loss": Drawing(figure, "Loss", "Caption.")}


def test_saving_writes_a_picture_and_the_numbers(tmp_path):
    paths = save(drawings(), tmp_path / "figures")
    assert paths == {"loss": tmp_path / "figures" / "loss.svg"}
    assert {path.name for path in paths["loss"].parent.iterdir()} == {"loss.csv", "loss.svg"}
    head, _, body = paths["loss"].read_text().partition('<g id="patch_1">')
    assert f'width="{72 * WIDTH:g}pt"' in head
    assert 'style="fill: #ffffff"' in body.partition("</g>")[0]  # white, not transparent


def test_equal_figures_give_equal_svgs_that_need_no_font(tmp_path):
    first, second = (save(drawings(), tmp_path / name)["loss"].read_text() for name in "ab")
    assert first == second
    assert "<text" not in first
    assert "font-family" not in first
    assert "<image" not in first


def test_what_has_thousands_of_marks_is_a_picture_in_the_svg_and_the_rest_stays_lines(tmp_path):
    figure, axes = panels(1, 2, height=2)
    x = np.linspace(0, 1, 2000)
    axes[0].scatter(x, x**2)
    axes[0].plot(x, x**3, ".")
    axes[1].plot(x, x)
    path = save({"cloud": Drawing(figure, "Cloud", "As drawn.")}, tmp_path)["cloud"]
    text = path.read_text()
    assert "<image" in text
    assert len(text) < 120_000
    assert len(path.with_suffix(".csv").read_text().splitlines()) == 1 + 3 * 2000


def test_a_figure_that_cannot_be_drawn_leaves_the_old_file(tmp_path):
    path = save(drawings(), tmp_path)["loss"]
    before = path.read_bytes()
    broken, ax = panels()
    ax.set_title(r"$\nosuchsymbol$")
    with pytest.raises(ValueError, match="nosuchsymbol"):
        save({"loss": Drawing(broken, "", "")}, tmp_path)
    assert path.read_bytes() == before


def test_the_page_needs_no_matplotlib():
    code = "import sys, foretrain.report.page; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["nonsense", "module://no_such_package.backend", "gtk4agg"])
def test_a_backend_that_is_not_there_does_not_end_a_run_since_drawing_needs_no_pyplot(
    tmp_path, backend
):
    code = f"""
import os, sys
from foretrain.figures import Drawing, points, save
from foretrain.figures.style import panels
save({{"a": Drawing(panels()[0], "", "")}}, {str(tmp_path)!r})
sys.exit(os.environ["MPLBACKEND"] != {backend!r} or "matplotlib.pyplot" in sys.modules)
"""
    environment = {**os.environ, "MPLBACKEND": backend}
    assert subprocess.run([sys.executable, "-c", code], env=environment, timeout=60).returncode == 0
    assert (tmp_path / "a.svg").exists()


def test_a_curve_over_time_has_no_corners_and_goes_through_its_records():
    seen: list = []
    pen = SimpleNamespace(draw_path=lambda gc, path, *rest: seen.append(path.vertices.T))
    records, place = mpl.path.Path([(0, 0), (1, 0), (2, 1), (3, 1)]), mpl.transforms.Affine2D()
    Smooth().draw_path(pen, None, records, place)
    np.testing.assert_allclose(np.interp(range(4), *seen[0]), [0, 0, 1, 1], atol=1e-12)
    assert 0 <= np.diff(seen[0][1]).min() <= np.abs(np.diff(seen[0][1], 2)).max() < 0.05


def test_short_logarithmic_axes_have_few_labels_and_long_ones_keep_theirs():
    _, ax = panels()
    ax.set(xscale="log", xlim=(2.1e3, 6.4e3), yscale="log", ylim=(1, 1e6))
    log_ticks(ax)
    assert [text.get_text() for text in ax.get_xticklabels() if text.get_text()] == ["3000", "5000"]
    assert {"1", "100", "1e6"} <= {text.get_text() for text in ax.get_yticklabels()}
    ax.set(xscale="linear", xlim=(0, 3e-14))
    log_ticks(ax)
    assert ax.xaxis.get_major_formatter()(2e-14) == "2e-14"


def test_the_numbers_of_a_figure_are_those_of_its_lines_and_points():
    figure, ax = panels()
    ax.plot([1, 2], [3.5, 4], label="line")
    ax.scatter([7], [8])
    ax.set_title("left one", loc="left")
    rows = points(Drawing(figure, "", "")).splitlines()
    assert rows == ["panel,series,x,y", "left one,line,1,3.5", "left one,line,2,4", "left one,,7,8"]
