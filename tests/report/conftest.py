"""A headless browser for tests of pages, and a summary with everything in it.

`browser` is one Chromium for the whole session; its tests are skipped with a message where there is
none. `open_page` opens a file in it at a given width, and fails the test if the page logs an error.
"""

import math
import shutil

import numpy as np
import pytest
from made_claims import sample
from matplotlib.figure import Figure

from foretrain.figures import Drawing, save
from foretrain.report.page import PageFigure

_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-dev-shm-usage "
    "--disable-background-networking --disable-component-update --disable-sync --mute-audio"
).split()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless Chromium driven by Selenium."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    driver_program = shutil.which("chromedriver")
    if program is None or driver_program is None:
        pytest.skip("no Chromium with chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in [*_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver_program)
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(30)
    yield driver
    driver.quit()


@pytest.fixture
def open_page(browser):
    """Function (path, width=1280, height=900, dark=False) -> browser with that file open."""

    def open_it(path, width=1280, height=900, dark=False):
        # Device metrics rather than window size: a window cannot be narrower than about 500 pixels.
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        browser.get(path.as_uri())
        return browser

    browser.get_log("browser")
    yield open_it
    errors = [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]
    assert not errors, errors


@pytest.fixture(scope="session")
def summary():
    """Content of a summary.json with every key, and claims of every verdict and kind."""
    spread = np.linspace(-1, 1, 20)
    lost = np.where(np.arange(20) < 2, np.nan, 0.31 + 0.02 * spread)
    source = "Saxe, Sodhani & Lewallen (2022), "
    claims = [
        sample(
            "doubling-time",
            1.03 + 0.02 * spread,
            (0.9, 1.1),
            statement="From small initial weights the time at which a pathway learns its mode is inversely "
            "proportional to the number of output domains that use it, so that the pathway "
            "shared by most domains wins the race.",
            source=source + "eq. (15) and Fig. 4",
            predicted=1.0,
            note="The time is where the mode reaches half of its final strength.",
            why="Corrections are of the order of the logarithm of the initial scale.",
            scale="paper",
        ),
        sample(
            "doubling-time.corrected",
            1.0 + 0.0004 * spread,
            (0.99996 - 0.001, 1.00004 + 0.001),
            statement="The same, with the logarithm of the initial scale kept.",
            source="docs/theory/pathway_race.md",
            predicted=1.0,
            corrects="doubling-time",
            along={"init_scale": (0.05, 0.2)},
        ),
        sample(
            "balance",
            3.2e-13,
            (0.0, 1e-12),
            statement="Gradient flow conserves the difference of the Gram matrices of neighbouring layers.",
            source=source + "eq. (4)",
        ),
        sample(
            "winner",
            0.62 + 0.05 * spread,
            (0.9, math.inf),
            statement="At an initialisation scale of 0.2 the shared pathway carries nine tenths of the "
            "function that is learned.",
            source=source + "Fig. 5",
            predicted=0.94,
            note="The share is that of squared strengths, summed over modes.",
        ),
        sample("gap", lost, (0.3, 0.315), unit="step", reason="2 of 20 runs diverged"),
        sample(
            "lone", [0.5], statement="One seed decides nothing <b>at all</b>.", reason="one seed"
        ),
    ]
    return {
        "study": "pathway-race",
        "summary": "Which of many pathways through a gated network learns shared structure.",
        "source": "Saxe, Sodhani & Lewallen (2022), section 4, Figs. 4 to 6",
        "claims": claims,
        "problems": ["The sentence `slow` raised ValueError: empty (claims.py, line 12)."],
        "remarks": ["Reworded after the first run: winner."],
        "seal": {"predicts": "ab12"},
        "looks": [
            {"seeds": 10, "at": "2026-11-19T09:00:00Z"},
            {"seeds": 10, "at": "2026-11-19T11:30:00Z"},
            {"seeds": 20, "at": "2026-11-20T14:03:11Z"},
        ],
        "preset": "paper",
        "codes": {"a1b2c3d4": 400, "99ff00aa": 200},
        "history": ["200 runs of code a1b2c3d4 were kept beside those of 99ff00aa."],
        "config": {"domains": 10, "init_scale": 0.05, "learning_rate": 1 / 3e4, "law": "flow"},
        "axes": {"init_scale": [0.05, 0.1, 0.2], "trained_outputs": list(range(1, 11))},
        "meanings": {"domains": "Number of input and of output domains, M in the paper."},
        "runs": {"converged": 588, "diverged": 0, "stalled": 10, "out_of_steps": 2},
        "failures": ["Segment journal/w0-3.npz is truncated; its 4 runs were run again."],
        "hash": "9f2c51ab7e03",
        "seeds": 20,
        "root_seed": 12345678901,
        "versions": {"foretrain": "0.1.0", "jax": "0.10.2", "python": "3.11.9"},
        "device": "CPU, 2 cores of Intel Xeon at 2.2 GHz",
        "wall_time_s": 754.2,
        "created_at": "2026-11-20T14:03:11Z",
        "command": "foretrain run pathway-race --init-scale 0.05 0.1 0.2 --seeds 20 --out runs/a",
        "citations": [
            "@article{saxe2022race,\n  title={The neural race reduction},\n  year={2022}\n}"
        ],
    }


@pytest.fixture(scope="session")
def page_figures(tmp_path_factory):
    """Two figures whose SVGs define the same ids, as those of matplotlib do."""
    drawings = {}
    for name, power in (("curves", 1), ("surface", 2)):
        figure = Figure(figsize=(7.2, 3.4), layout="constrained")
        figure.subplots().plot(np.arange(5), np.arange(5) ** power)
        drawings[name] = Drawing(figure, f"Power {power} & more", f"The {name} <as drawn>.")
    paths = save(drawings, tmp_path_factory.mktemp("figures"))
    return [
        PageFigure(
            name,
            drawing.title,
            drawing.caption,
            paths[name].read_text(encoding="utf-8"),
            paths[name].with_suffix(".csv").read_text(encoding="utf-8"),
        )
        for name, drawing in drawings.items()
    ]
