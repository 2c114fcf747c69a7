"""Singular values of the Jacobian: costs in closed form, and ranks that are called exact only where the gap says so."""

from dataclasses import replace

import jax
import numpy as np
import planted
import pytest
from jax.flatten_util import ravel_pytree

from foretrain.degeneracy.counts import jacobian_rows
from foretrain.degeneracy.counts import jacobian_spectrum as module
from foretrain.degeneracy.counts.grams import jacobian
from foretrain.degeneracy.counts.jacobian_spectrum import Freedom, cost, jacobian_spectrum
from foretrain.degeneracy.network import forward
from foretrain.errors import ArgumentError, TooLarge


def linear(weights, x):
    """Its Jacobian is x itself."""
    return x @ weights["w"]


def with_values(values, many=50):
    """Data of these singular values."""
    random = np.random.default_rng(0)
    left, right = (
        np.linalg.qr(random.normal(size=(n, len(values))))[0] for n in (many, len(values))
    )
    return left * values @ right.T


@pytest.mark.parametrize(
    ("least", "rank", "exact"),
    [(1e-3, 3, True), (1e-10, 3, True), (3e-12, 3, False), (1e-12, 3, False), (3e-13, 2, False), (1e-15, 2, True)],
)  # fmt: skip
def test_a_rank_is_exact_where_no_value_lies_between_rounding_and_a_hundred_times_that(
    least, rank, exact
):
    spectrum = jacobian_spectrum(linear, with_values([5.0, 1.0, 5.0 * least]), {"w": np.ones(3)})
    assert (spectrum.rank, spectrum.exact) == (rank, exact)
    assert ("exact" if exact else "an estimate") in str(spectrum)
    kept, dropped = spectrum.gap
    assert kept == pytest.approx(least if rank == 3 else 0.2, rel=1e-2)
    assert (dropped == 0) == (rank == 3)
    np.testing.assert_allclose(spectrum.costs[:2], [25 / 50, 1 / 50], rtol=1e-12)


def test_squares_lose_half_of_the_digits(monkeypatch):
    """By the Gram matrix a value of 1e-5 of the largest counts, 1e-6 is in doubt; costs are the same."""
    net, x = planted.drawn((3, 4, 3)), planted.data(300, 3)
    whole = jacobian_spectrum(net, x)
    monkeypatch.setattr(module, "cost", lambda *_: {"gram": (0.0, 0.0)})
    spectrum = jacobian_spectrum(net, x)
    assert (whole.rank, whole.exact) == (spectrum.rank, spectrum.exact) == (20, True)
    assert whole.gap[1] < 1e-14 < spectrum.resolution == 1e-7
    np.testing.assert_allclose(spectrum.costs, whole.costs, atol=1e-14 * whole.costs[0])
    for least, exact in ((3e-5, True), (1e-6, False), (1e-10, True)):
        assert jacobian_spectrum(linear, with_values([1, least]), {"w": np.ones(2)}).exact is exact


@pytest.mark.parametrize("way", ["triangle", "gram"])
@pytest.mark.parametrize("examples", [4, 300])
def test_blocks_the_whole_and_numpy_agree(monkeypatch, way, examples):
    net, x = planted.drawn((4, 5, 3), bias=True), planted.data(examples, 4)
    net.params[0]["weight"][2], net.params[0]["bias"][2] = 0.1, -50.0  # dead: columns of zeros
    values = np.linalg.svd(jacobian(net, x), compute_uv=False)
    monkeypatch.setattr(module, "cost", lambda *_: {way: (0.0, 0.0)})
    monkeypatch.setattr(jacobian_rows, "_BLOCK", 2000)
    for memory in (2**30, 2**16):
        monkeypatch.setattr(module, "MEMORY", memory)
        spectrum = jacobian_spectrum(net, x)
        np.testing.assert_allclose(spectrum.values, values, atol=spectrum.resolution * values[0])
        assert spectrum.rank == np.linalg.matrix_rank(jacobian(net, x))
        assert len(spectrum.costs) == min(spectrum.parameters, spectrum.answers)


def test_a_function_of_any_tree_is_as_good_as_a_network():
    net, x = planted.drawn((3, 4, 2), activation="gelu", bias=True), planted.data(40, 3)
    first, last = net.params
    tree = {"body": (first["weight"].astype("f4"), first["bias"]), "head": last}

    def apply(params, data):
        weight, bias = params["body"]
        hidden = jax.nn.gelu(data["x"] @ weight.T + bias, False)
        return hidden @ params["head"]["weight"].T + params["head"]["bias"]

    net = replace(net, params=({**first, "weight": first["weight"].astype("f4")}, last))
    for loss in ("mse", "kl"):
        spectrum = jacobian_spectrum(apply, {"x": x}, tree, loss=loss)
        np.testing.assert_allclose(
            spectrum.values,
            jacobian_spectrum(net, x, loss=loss).values,
            atol=1e-13 * spectrum.values[0],
        )
        assert spectrum.exact
    single = lambda params, data: apply(params, data).astype("float32")  # noqa: E731
    assert jacobian_spectrum(single, {"x": x}, tree).resolution > 1e-5
    with pytest.raises(ArgumentError, match="`params` must be given where `network` is a function"):
        jacobian_spectrum(apply, x)
    for wrong in (x[:0], np.inf * x):
        with pytest.raises(ArgumentError, match="`x` must"):
            jacobian_spectrum(linear, wrong, {"w": np.ones(3)})


def test_costs_are_half_the_hessian_of_the_behavioural_loss():
    net, x = planted.drawn((2, 2, 2), activation="tanh", bias=True), planted.data(30, 2)
    with jax.enable_x64(True):
        start, rebuilt = ravel_pytree(net.params)
        here = forward(net, x)

        def mse(vector):
            return ((forward(net, x, rebuilt(vector)) - here) ** 2).sum(1).mean()

        def kl(vector):
            logs = [jax.nn.log_softmax(z) for z in (here, forward(net, x, rebuilt(vector)))]
            return (jax.numpy.exp(logs[0]) * (logs[0] - logs[1])).sum(1).mean()

        for name, loss in (("mse", mse), ("kl", kl)):
            half = np.linalg.eigvalsh(jax.jit(jax.hessian(loss))(start))[::-1] / 2
            spectrum = jacobian_spectrum(net, x, loss=name).costs
            np.testing.assert_allclose(spectrum, half, atol=1e-12 * half[0])


def test_what_takes_too_long_is_refused_with_what_it_would_take(monkeypatch):
    net, x = planted.drawn((30, 200, 5)), planted.data(2000, 30)
    with pytest.raises(TooLarge, match=r"by its triangle \d min .* by its gram 1 min 3\d s"):
        jacobian_spectrum(net, x)
    small, large = cost(500, 10_000), cost(1000, 10_000)
    assert all(4 < large[way][0] / small[way][0] <= 8 for way in small)
    monkeypatch.setattr(module, "MEMORY", 100)
    with pytest.raises(TooLarge, match="or less than a MB"):
        jacobian_spectrum(planted.drawn((3, 4, 3)), planted.data(9, 3))


class Counted(Freedom):
    def by_source(self):
        return {"all": 1}


def test_at_a_scale_costs_above_it_are_counted():
    """Costs are 1, .1 and 0: what is not exact is called an estimate, and what sources miss or make up is said."""
    spectrum = jacobian_spectrum(linear, with_values([50**0.5, 5**0.5, 0.0]), {"w": np.ones(3)})
    np.testing.assert_allclose(spectrum.costs, [1, 0.1, 0], atol=1e-14)
    assert [spectrum.above(eps) for eps in (0.01, 0.5, 2.0)] == [2, 1, 0]
    assert spectrum.sure(0.5)
    assert not spectrum.sure(float(spectrum.costs[1]) * (1 + 1e-14))
    exact, coarse = (Counted(parameters=3, spectrum=spectrum, scale=eps) for eps in (None, 0.5))
    assert (exact.free, exact.unattributed, str(exact), exact.doubts()) == (1, 0, "1", [])
    assert (coarse.free, coarse.unattributed, str(coarse)) == (2, 1, "2")
    assert coarse.doubts() == ["Counts at the scale: 2 are free; their sources estimate 1."]
    bare = Counted(parameters=3)
    assert (str(bare), bare.free, bare.unattributed) == ("at least 1 (estimate)", 1, None)
    assert str(Counted(parameters=3, scale=0.5)) == "about 1 (estimate)"
    few = Counted(parameters=9, answers=4)
    assert (few.effective, few.free) == (4, 5)
    whole = Freedom(parameters=3, spectrum=spectrum)  # of a function, without sections
    assert (whole.counted, whole.free, whole.unattributed) == (0, 1, 1)
    unsure = Counted(parameters=3, spectrum=replace(spectrum, resolution=1e-2))
    assert str(unsure) == "about 1 (estimate)"
    assert "an estimate" in unsure.doubts()[0]
