"""Training a program without a study."""

import numpy as np
import pytest

import foretrain
from foretrain.results.journal import scan
from foretrain.study import Program


@pytest.mark.slow
def test_another_value_that_a_program_holds_is_trained_again(tmp_path):
    def go(K):
        def observe(inputs, x):
            return {"loss": x}

        def init(inputs):
            return 1.0 + 0 * inputs["rate"]

        p = Program(init=init, step=lambda i, x: x * (1 - K * i["rate"]), observe=observe)
        given = {"steps": 4, "observe_every": 1, "workers": 0, "quiet": True}
        data = foretrain.train(p, {"rate": [0.1]}, seeds=2, out=tmp_path / "out", **given)
        (code,) = scan(tmp_path / "out").codes
        return data["loss"].values.ravel()[:5], code

    first, code = go(1)
    np.testing.assert_allclose(first, 0.9 ** np.arange(5), rtol=1e-5)
    again, same = go(1)
    np.testing.assert_array_equal(again, first)
    other, another = go(5)
    np.testing.assert_allclose(other, 0.5 ** np.arange(5), rtol=1e-5)
    assert code == same != another
