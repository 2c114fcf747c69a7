"""Sampled numbers of effective parameters, and what each check notices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.degeneracy.sampled import effective_parameters
from foretrain.degeneracy.sampled.effective_parameters import sampled_parameters
from foretrain.degeneracy.sampled.posterior import behavioural, posterior
from foretrain.degeneracy.sampled.sampled_trust import Checks, doubts, growth
from foretrain.errors import ArgumentError
from foretrain.theory.reduced_rank import coefficient_at

COSTS = np.array([3.0, 1.0, 0.1, 0.01, 0.001, 0.0])


def quadratic(w, data):
    return data + (COSTS * (jnp.concatenate([w["a"], w["b"]])) ** 2).sum()


def around(start=0.0):
    weights = {"a": jnp.full(2, start), "b": jnp.full(4, start)}
    return posterior(quadratic, weights, jnp.zeros(1), beta=1.0)


def test_a_quadratic_has_the_number_of_the_formula_at_every_scale():
    lines = []
    numbers = sampled_parameters(around(), [0.001, 0.1, 0.01], gradients=600_000, tell=lines.append)
    exact = [(COSTS / (COSTS + eps)).sum() for eps in numbers.eps]
    assert numbers.trusted.all(), numbers.doubts
    assert (np.abs(numbers.value - exact) < 3 * numbers.error).all()
    np.testing.assert_allclose([check.curvature for check in numbers.checks], exact, rtol=1e-4)
    assert all(check.beyond < 0.01 for check in numbers.checks)
    # E[(w - w*) . grad U] = d, of all parameters and of every leaf.
    for check in numbers.checks:
        assert set(check.leaves) == {"['a']", "['b']"}
        assert [size for _, _, size in check.leaves.values()] == [2, 4]
        assert abs(check.virial[0] - 1) < 4 * check.virial[1] < 0.08
    assert numbers.traces.shape[:2] == (3, 16)
    assert len(lines) == 1
    assert "600,000 gradients of all 1 examples in 16 chains" in lines[0]
    # Beta wrong by the number of parameters would be another scale, which the intervals exclude.
    wrong = [(COSTS / (COSTS + eps / 6)).sum() for eps in numbers.eps]
    assert (np.abs(numbers.value - wrong) > 1.96 * numbers.error).all()


def test_a_start_that_is_no_minimum_is_doubted():
    numbers = sampled_parameters(around(0.4), [0.01], gradients=400_000)
    assert "it is negative: w* is no minimum" in numbers.doubts[0]


def test_scales_that_do_not_fit_the_work_are_refused_beforehand():
    numbers = sampled_parameters(around(), [0.001, 0.1], gradients=40_000)
    assert np.isfinite(numbers.value[1])
    assert np.isnan(numbers.value[0])
    assert numbers.doubts[0][0].startswith("not sampled: a scale takes 32,000 gradients at least")
    assert numbers.checks[0] is None
    assert numbers.gradients < 45_000
    # On a narrow ring trajectories that come round are long, and at a smaller scale longer.
    ring = posterior(lambda w, d: d + 1e5 * (w @ w - 1) ** 2, jnp.eye(2)[0], jnp.zeros(1), beta=1.0)
    numbers = sampled_parameters(ring, [0.001, 0.01], gradients=100_000)
    assert numbers.doubts[0] == numbers.doubts[1]
    assert numbers.doubts[0][0].startswith("not sampled: a scale takes")
    assert numbers.gradients < 30_000


def test_chains_that_do_not_fit_the_memory_are_refused_before_any_draw(monkeypatch):
    lines = []
    monkeypatch.setattr(effective_parameters, "MEMORY", 1000)
    numbers = sampled_parameters(around(), [0.001, 0.1], gradients=40_000, tell=lines.append)
    assert np.isnan(numbers.value).all()
    assert numbers.gradients == 0
    assert "not sampled: 16 chains, each with all 1 examples, take" in numbers.doubts[0][0]
    assert lines == [f"Sampling: {numbers.doubts[0][0]}."]


GOOD = Checks(
    virial=(1.002, 0.004, 50),
    leaves={"a": (1.001, 0.01, 20), "b": (0.999, 0.01, 30)},
    rhat=1.01,
    between=1.0,
    effective=900.0,
    lengths=300.0,
    curvature=10.0,
    beyond=0.01,
    accepted=0.8,
)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"virial": (0.98, 0.004, 50)}, "have not come round in all"),
        ({"virial": (1.0, 0.021, 50)}, "is known to 2% of d only"),
        ({"leaves": {"a": (1.001, 0.01, 20), "b": (0.964, 0.01, 30)}}, "have not come round in b"),
        ({"rhat": 1.041}, "chains disagree, R-hat 1.041"),
        ({"between": 3.6}, "chains from w* and from outside differ by 3.6"),
        ({"effective": 399.0}, "399 effective draws"),
        ({"lengths": 99.0}, "99 effective draws of |w - w*|"),
        ({"curvature": 11.0}, "curvature says 11"),
        ({"accepted": 0.39}, "moves in 39%"),
    ],
)
def test_every_threshold_is_held(change, says):
    """Each number is just beyond what is allowed: a looser threshold lets it pass."""
    assert doubts(10.0, 0.2, GOOD) == []
    (line,) = doubts(10.0, 0.2, GOOD._replace(**change))
    assert says in line


def test_draws_that_are_needed_follow_from_each_threshold():
    assert growth(10.0, 0.2, GOOD) == 1
    for change, times in (({"effective": 100.0}, 4), ({"lengths": 25.0}, 4), ({"rhat": 1.0784}, 2)):
        assert growth(10.0, 0.2, GOOD._replace(**change)) == pytest.approx(times, rel=0.01)
    assert growth(10.0, 1.0, GOOD) == pytest.approx(4)


def test_errors_and_signs_of_values_are_held():
    assert doubts(10.0, 0.51, GOOD) == ["standard error 0.51"]
    assert doubts(np.nan, np.nan, GOOD) == ["no chain stayed finite"]
    assert any("negative" in line for line in doubts(-1.0, 0.04, GOOD))
    # What the quadratic does not explain is no reason against the curvature's value, and none for it.
    assert doubts(10.0, 0.2, GOOD._replace(curvature=5.0, beyond=0.5)) == []


def test_numbers_that_are_out_of_range_are_refused():
    for options in ({"chains": 7}, {"gradients": 999}):
        with pytest.raises(ArgumentError):
            sampled_parameters(around(), [0.1], **{"gradients": 1000, **options})
    with pytest.raises(ArgumentError, match="`scales` must be greater than 0"):
        sampled_parameters(around(), [0.0], gradients=1000)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"beta": -1.0}, "`beta` must be greater than 0"),
        ({"pull": 0.0}, "`pull` must be greater than 0"),
        ({"moving": np.zeros(6)}, "`moving` must hold zeros and some ones"),
        ({"moving": [True, False]}, "`moving` must be like the parameters or have shape"),
        ({"beta": None}, "`beta` must be given where there are fewer than three examples"),
    ],
)
def test_posteriors_that_are_none_are_refused(options, says):
    weights = {"a": jnp.zeros(2), "b": jnp.zeros(4)}
    with pytest.raises(ArgumentError, match=says):
        posterior(quadratic, weights, jnp.zeros(1), **{"beta": 1.0, **options})


def test_the_localised_form_is_that_of_its_own_pull_and_of_what_moves():
    """All gradients are taken, at the posterior's own beta, and parameters that are held stay."""
    weights = {"a": jnp.zeros(2), "b": jnp.zeros(4)}
    pulled = posterior(
        quadratic, weights, jnp.zeros(1), beta=50.0, pull=7.0, moving={"a": False, "b": True}
    )
    values = sampled_parameters(pulled, gradients=200_000, until_trusted=False, seed=3)
    cost = COSTS[2:]
    exact = (cost / (cost + 7 * 0.01)).sum()
    assert abs(values.value[0] - exact) < 3 * values.error[0] < 0.1
    assert values.eps.tolist() == [0.01]
    assert 0.97 < values.gradients / 200_000 < 1.03
    assert values.checks[0].curvature == pytest.approx(exact, rel=1e-4)
    assert set(values.checks[0].leaves) == {"['b']"}


def squared(weights, data):
    return data + (linear(weights, jnp.eye(weights[0].shape[1])) ** 2).sum()


def test_a_singular_point_has_the_coefficient_of_its_determinant_not_its_limit():
    """Two linear layers at zero, where the Hessian vanishes and has no largest value around."""
    with jax.enable_x64(True):
        layers = [jnp.zeros((1, 4)), jnp.zeros((3, 1))]
        singular = posterior(squared, layers, jnp.zeros(1), beta=100.0)
        values = sampled_parameters(singular, gradients=400_000, until_trusted=False)
    exact = 2 * coefficient_at((4, 1, 3), 100.0)
    assert abs(values.value[0] - exact) < 3.5 * values.error[0] < 0.2
    assert values.trusted[0]


def circle(w, data):
    """Outputs (r cos a, r sin a), which are to be of length one: the loss of training does not see a."""
    return data + (w[0] ** 2 - 1) ** 2


def test_the_behavioural_loss_has_at_least_the_coefficient_of_training():
    w, options = jnp.array([1.0, 0.3]), {"gradients": 100_000, "until_trusted": False}
    near = {"beta": 1e3, "pull": 10.0}
    trained = sampled_parameters(posterior(circle, w, jnp.zeros(1), **near), **options)
    outputs = lambda w, x: x * w[0] * jnp.array([jnp.cos(w[1]), jnp.sin(w[1])])  # noqa: E731
    behaved = sampled_parameters(behavioural(outputs, w, jnp.ones((3, 1)), **near), **options)
    assert trained.value[0] == pytest.approx(1, abs=0.1)
    assert behaved.value[0] == pytest.approx(2, abs=0.1)


def linear(weights, x):
    for weight in weights:
        x = x @ weight.T
    return x


def test_a_basin_that_chains_from_the_start_do_not_leave_is_seen():
    def wells(w, data):
        far = jnp.clip((w[0] / 1.5) ** 2, 0, 1)
        cost = (1 - far) + 0.05 * far
        return data + 8 * w[0] ** 2 * (w[0] - 1.5) ** 2 + cost * (w[1:] ** 2).sum()

    around = posterior(wells, jnp.zeros(6), jnp.zeros(1), beta=1.0)
    numbers = sampled_parameters(around, [0.01], gradients=400_000)
    assert not numbers.trusted[0]
    assert numbers.checks[0].rhat > 1.2


def test_a_flat_patch_that_few_chains_from_outside_find_is_seen(monkeypatch):
    """Of many some fall in, and one of them is taken."""
    flat = lambda w: jnp.clip(((w - 2 * jnp.eye(6)[0]) ** 2).sum(), 0, 1) ** 2  # noqa: E731
    bowl = lambda w, data: data + w @ w * flat(w)  # noqa: E731
    around = posterior(bowl, jnp.zeros(6), jnp.zeros(1), beta=1.0)
    assert not sampled_parameters(around, [0.001], gradients=400_000).trusted[0]
    monkeypatch.setattr(effective_parameters, "PASSES", 1)
    assert sampled_parameters(around, [0.001], gradients=400_000).trusted[0]


def test_the_share_of_the_virial_is_below_one_while_chains_spread():
    """Draws whose |u| grows: u . p at the end of a trajectory is above 0, of the first leaf alone."""
    walk = effective_parameters._Walk(around(), 8, 0, 1000, lambda line: None)
    still = np.random.default_rng(0).standard_normal((8, 400, 2)) / 3
    draws = effective_parameters.Draws(
        loss=np.abs(still[..., 0]) / 100,
        beyond=np.ones((8, 400)),
        square=still[..., 1] ** 2,
        accepted=np.ones((8, 400)),
        drift=still + np.array([0.5, 0.0]),
    )
    checks = walk._judged(draws, 50.0)[3]
    assert checks.leaves["['a']"][0] == pytest.approx(1 - 0.5 / 2, abs=0.03)
    assert checks.leaves["['b']"][0] == pytest.approx(1, abs=0.03)
    assert checks.virial[0] == pytest.approx(1 - 0.5 / 6, abs=0.02)
