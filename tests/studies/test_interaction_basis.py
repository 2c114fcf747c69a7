import numpy as np
import pytest

import foretrain
from foretrain.studies.interaction_basis.training import needed


@pytest.mark.slow
def test_a_small_run_is_judged_and_drawn(tmp_path):
    small = {"hidden_width": 12, "updates": 60, "modulus": 5}
    result = foretrain.run(
        "interaction-basis", **small, seeds=2, out=tmp_path / "a", quiet=True, workers=1
    )
    verdicts = {claim.id: claim.verdict for claim in result.claims}
    exact = ("identity", "same-importances", "diagonal-edges", "product-blocks")
    assert {verdicts[name] for name in exact} == {"holds"}
    whole = result.simulation["direction_loss"].isel(kept=-1)
    assert np.abs(whole).max() < 1e-12
    assert (result.simulation["edge_loss"].isel(kept_edges=0) > 1e-3).all()
    assert (tmp_path / "a" / "report.html").exists()
    assert {"curves", "graph"} <= {path.stem for path in (tmp_path / "a").rglob("*.svg")}


def test_what_is_needed_lies_between_the_counts():
    counts = np.array([1, 2, 4, 8])
    assert needed(counts, np.array([8.0, 4.0, 2.0, 1.0]), 2.0) == 4
    np.testing.assert_allclose(needed(counts, np.array([8.0, 4.0, 2.0, 1.0]), 3.0), 8 / 3)
    assert needed(counts, np.array([0.5, 0.4, 0.2, 0.1]), 3.0) == 1
    assert needed(counts, np.array([0.5, 4.0, 0.2, 0.1]), 0.4) > 2
    assert np.isnan(needed(counts, np.array([8.0, 4.0, 2.0, 1.0]), 0.1))
