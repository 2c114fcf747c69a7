import runpy
from pathlib import Path

import numpy as np
import pytest

from foretrain.claims.claim import FAILS, HOLDS
from foretrain.errors import ArgumentError, FolderError
from foretrain.results.result import Result, make_tree, open_result
from foretrain.results.summary import read_summary

FIXTURES = Path(__file__).parent.parent / "fixtures"
KEPT = FIXTURES / "store-v2"
SCRIPT = runpy.run_path(str(FIXTURES / "make_store.py"))


@pytest.fixture(params=["kept", "made now"])
def folder(request, tmp_path):
    """The same result as an earlier version stored it, and as this one does."""
    if request.param == "kept":
        return KEPT
    SCRIPT["make"](tmp_path)
    return tmp_path


def test_a_stored_result_opens_with_every_value_at_its_place(folder):
    result = open_result(folder)
    assert result.simulation.loss.dims == ("learning_rate", "seed", "step")
    for rate in (0.1, 0.2):
        for seed in range(3):
            loss = result.simulation.loss.sel(learning_rate=rate, seed=seed)
            expected = SCRIPT["loss"](rate, loss.step.values).astype(np.float32)
            end = 20 + 10 * seed if (rate, seed) != (0.2, 2) else -1
            np.testing.assert_array_equal(loss, np.where(loss.step <= end, expected, np.nan))
    np.testing.assert_array_equal(result.simulation.outcome, [[1, 1, 1], [1, 1, -1]])
    np.testing.assert_array_equal(result.simulation.time.sel(learning_rate=0.2, step=10), 2.0)
    assert result.config == {"study": "parabola", "axes": {"learning_rate": [0.1, 0.2]}}
    assert result.claims["loss.start"].verdict == HOLDS
    assert result.claims["loss.end"].allowed == (-np.inf, 0.01)
    assert FAILS not in [claim.verdict for claim in result.claims]
    assert repr(tuple(result.claims)) == repr(read_summary(folder).claims)
    assert read_summary(folder).runs == {"missing": 1, "converged": 5}


def test_theory_and_simulation_speak_the_same_labels(folder):
    result = open_result(folder)
    # float32 storage of values of order one half
    difference = abs(result.simulation.loss - result.theory.loss)
    assert float(difference.max()) < 1e-7
    assert difference.dims == result.simulation.loss.dims


def test_variants_may_have_other_seeds(folder):
    result = open_result(folder)
    assert result.variants == ("single",)
    assert result.variant("single").sizes["seed"] == 1
    with pytest.raises(ArgumentError, match=r"is `singel`\. Did you mean `single`\?"):
        result.variant("singel")


def test_the_card_says_what_there_is():
    card = repr(open_result(KEPT))
    assert card.splitlines()[0] == "foretrain result: parabola"
    assert "learning_rate 2, seed 3, step 5" in card
    assert "variants    single" in card
    assert "2 claims: 2 hold" in card


def test_an_empty_result_has_empty_parts_and_a_folder_without_results_is_named(tmp_path):
    result = Result(None, make_tree())
    assert result.simulation.sizes == {}
    assert len(result.claims) == 0
    assert result.variants == ()
    assert "claims      none" in repr(result)
    with pytest.raises(ArgumentError, match="It has none"):
        result.variant("any")
    with pytest.raises(FolderError, match=r"no results of foretrain: there is no results\.zarr"):
        open_result(tmp_path)
    with pytest.raises(FolderError, match="There is no folder"):
        open_result(tmp_path / "nowhere")


def test_what_is_no_path_is_named():
    cases = {
        None: "must be a path, but is None",
        b"runs": "must be a path, but is b'runs'",
        "": "must be a path, but is empty",
        "a\0b": "must be a path, but holds a NUL character",
        "runs/" + "é" * 128: "at most 4000 bytes, 255 for each name in it, but has 260, 256 in",
        "runs5/" * 900: "at most 4000 bytes, .* but has 4500, 5 in",
    }
    for path, message in cases.items():
        with pytest.raises(ArgumentError, match=f"^Argument `path` [^\n]*{message}[^\n]*$"):
            open_result(path)
