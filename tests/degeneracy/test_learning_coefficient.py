import dataclasses
import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

from foretrain.degeneracy.sampled import curvature, samplers
from foretrain.degeneracy.sampled.learning_coefficient import _extrapolated, learning_coefficient
from foretrain.degeneracy.sampled.posterior import behavioural, posterior
from foretrain.errors import ArgumentError
from foretrain.theory import landscapes
from foretrain.theory.reduced_rank import coefficient_at

CURVATURES = np.array([1.0, 0.3, 0.1, 0.0])
ONE = jnp.zeros(3)  # data of a landscape: nothing


def quadratic(w, data):
    return data + 0.5 * (CURVATURES * w**2).sum()


def discrete_quadratic(curvatures, beta, pull, step):
    """Return 1/2 sum beta h_i / [P_i (1 - e P_i/4)]: the estimate of SGLD with steps e for the loss 1/2 sum h_i w_i^2."""
    steep = beta * curvatures + pull
    if step >= 4 / steep.max():
        return np.inf
    return float(0.5 * (beta * curvatures / (steep * (1 - step * steep / 4))).sum())


def folded(w):
    """A line folded into [-1, 1]: what moves freely on the line is uniform in the box."""
    return jnp.abs((w + 1) % 4 - 2) - 1


def cross(w, data):
    box = folded(w)
    return data + box[0] ** 2 * box[1] ** 2


def linear(weights, data):
    """|W_L ... W_1|^2: a deep linear network at its singular point, inputs white."""
    product = weights[0]
    for weight in weights[1:]:
        product = weight @ product
    return data + (product**2).sum()


def start(*widths):
    return [jnp.zeros((out, into)) for into, out in itertools.pairwise(widths)]


@pytest.fixture(scope="module")
def quadratics():
    """Estimates by SGLD on all data, at three inverse temperatures and a step that is far from small."""
    p = posterior(quadratic, jnp.zeros(4), ONE, beta=[10.0, 100.0, 1000.0])
    options = {"chains": 16, "draws": 1000, "share": 0.3, "halvings": 0, "controlled": False}
    return learning_coefficient(p, sampler="sgld", **options)


def test_sgld_on_a_quadratic_is_as_the_discrete_formula_says(quadratics):
    found = quadratics
    for b, beta in enumerate(found.beta):
        step, bound = found.step[0, b], 4 / (beta + found.pull)
        assert found.bound[0, b] == pytest.approx(bound, rel=1e-4)
        assert step == pytest.approx(0.3 * bound, rel=1e-4)
        parts = [
            discrete_quadratic(CURVATURES, beta, found.pull * pull, step * by)
            for by, pull in ((1, 1), (0.5, 1), (1, 0.5))
        ]
        said = 2 * parts[1] + 2 * parts[2] - 3 * parts[0]
        assert abs(found.value[0, b] - said) < 4 * found.error[0, b]
        raw = found.chains[0, b]
        assert abs(raw.mean() - parts[0]) < 4 * raw.std(ddof=1) / np.sqrt(len(raw))
        assert found.step_shift[0, b] == pytest.approx(2 * (parts[1] - parts[0]), abs=0.05)
        assert found.pull_shift[0, b] == pytest.approx(2 * (parts[2] - parts[0]), abs=0.05)
    # The formula tells e from e/2: with half the variance it would be far off.
    wrong = discrete_quadratic(CURVATURES, 1000.0, 1.0, 2 * found.step[0, 2])
    raw = found.chains[0, 2]
    assert abs(raw.mean() - wrong) > 8 * raw.std(ddof=1) / np.sqrt(len(raw))


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["sghmc", "sgnht"])
def test_samplers_with_momentum_on_a_quadratic(sampler):
    p = posterior(quadratic, jnp.zeros(4), ONE, beta=100.0)
    found = learning_coefficient(
        p, sampler=sampler, chains=32, draws=4000, richardson=False, controlled=False
    )
    e, damping = found.step[0, 0], samplers.DAMPING[sampler]
    said = 0.0
    for h in CURVATURES[:3]:
        steep = 100 * h + found.pull
        map_ = np.array([[1, 1], [-e / 2 * steep, 1 - damping - e / 2 * steep]])
        spread = solve_discrete_lyapunov(map_, np.diag([0, 2 * damping]))[0, 0]
        said += 0.5 * 100 * h * spread * e / 2
    slack = 0.03 * said if sampler == "sgnht" else 0  # its thermostat is not in the formula
    assert abs(found.value[0, 0] - said) < 4 * found.error[0, 0] + slack


def test_baoab_has_no_bias_on_a_quadratic_whatever_the_step():
    """Leimkuhler & Matthews: the variance of places is 1/P; of SGLD with these steps it is 2.5 times that, of all bounds."""
    p = posterior(quadratic, jnp.zeros(4), ONE, beta=100.0)
    found = learning_coefficient(
        p, chains=16, draws=1000, share=0.6, richardson=False, controlled=False
    )
    assert found.sampler == "baoab"
    assert found.step[0, 0] == pytest.approx(0.6 * found.bound[0, 0], rel=1e-4)
    assert abs(found.value[0, 0] - discrete_quadratic(CURVATURES, 100, 1, 0)) < 4 * found.error
    biased = discrete_quadratic(CURVATURES, 100, 1, found.step[0, 0])
    assert biased - found.value[0, 0] > 8 * found.error[0, 0]


def test_a_cross_has_the_coefficient_of_the_table_not_its_limit():
    one = landscapes.product()
    p = posterior(cross, jnp.zeros(2), ONE, beta=[15.0, 240.0])
    found = learning_coefficient(p, chains=48, draws=2000, share=0.04, pull=0.0, richardson=False)
    gap = found.value[0] - one.by_temperature(p.beta)
    assert (np.abs(gap) < 4 * found.error[0] + 0.01 * found.value[0]).all()
    assert (found.error < 0.02).all()
    assert found.value[0, 1] == pytest.approx(0.366, abs=0.03)
    assert (found.effective_parameters / 2 == found.value).all()
    np.testing.assert_allclose(found.scale, found.value / p.beta)


def extrapolated(widths, beta):
    """What an estimate is of that takes out gamma = 1 to first order, exactly."""
    return 2 * coefficient_at(widths, beta, 0.5) - coefficient_at(widths, beta)


def off(widths, betas, **options):
    """By how many of its standard errors each default estimate at a singular point is off, and the estimates."""
    p = posterior(linear, start(*widths), ONE, beta=betas)
    found = learning_coefficient(p, **options)
    exact = np.array([extrapolated(widths, beta) for beta in betas])
    return (found.value[0] - exact) / found.error[0], found


@pytest.mark.slow
def test_defaults_at_a_singular_point_are_within_their_error():
    """Curvature at w* is zero there and has no largest value around it."""
    gaps, found = off((5, 3, 5), [100.0, 1e4], chains=16)
    assert (np.abs(gaps) < 3.5).all()
    assert (found.error < 0.05 * found.value).all()
    assert (found.rhat < 1.05).all()


@pytest.mark.slow
def test_a_step_is_halved_where_it_matters():
    """SGLD at a tenth of the bound is a tenth too large or more at (5, 3, 5); halved until that is gone."""
    p = posterior(linear, start(5, 3, 5), ONE, beta=1000.0)
    exact = coefficient_at((5, 3, 5), 1000.0)
    options = {"sampler": "sgld", "chains": 16, "draws": 4000}
    rough = learning_coefficient(p, **options, richardson=False)
    assert rough.value[0, 0] > 1.08 * exact
    found = learning_coefficient(p, **options)
    assert found.halved[0, 0] >= 1
    assert found.gradients > rough.gradients
    gap = found.value[0, 0] - extrapolated((5, 3, 5), 1000.0)
    assert abs(gap) < 4 * found.error[0, 0]


def circle(w, data):
    """Outputs (r cos a, r sin a), which are to be of length one: the training loss does not see a."""
    return data + (w[0] ** 2 - 1) ** 2


def outputs(w, inputs):
    return inputs * jnp.array([w[0] * jnp.cos(w[1]), w[0] * jnp.sin(w[1])])


@pytest.mark.slow
def test_behavioural_is_at_least_training():
    w, beta = jnp.array([1.0, 0.3]), 1e4
    trained = learning_coefficient(
        posterior(circle, w, ONE, beta=beta), chains=16, draws=4000, share=0.05
    )
    behaved = learning_coefficient(behavioural(outputs, w, jnp.ones((3, 1)), beta=beta), chains=16)
    assert trained.value[0, 0] == pytest.approx(0.5, abs=0.08)
    assert behaved.value[0, 0] == pytest.approx(1.0, abs=0.12)
    assert behaved.value[0, 0] > trained.value[0, 0]
    # Along the circle, to which the prior alone gives an end, chains of such steps have not come round, and say so.
    (line,) = trained.doubts()
    assert "have not come round" in line
    assert behaved.doubts() == []
    assert "beta = 1e+04: trustworthy." in behaved.verdict()


def regression(w, data):
    return 0.5 * (data["x"] @ w - data["y"]) ** 2


@pytest.fixture(scope="module")
def samples():
    random = np.random.default_rng(0)
    x = random.standard_normal((200, 5)).astype(np.float32)
    y = x @ random.standard_normal(5).astype(np.float32) + 0.3 * random.standard_normal(200)
    y = y.astype(np.float32)
    return {"x": x, "y": y}, jnp.asarray(np.linalg.lstsq(x, y, rcond=None)[0])


@pytest.mark.slow
def test_parts_run_in_one_program_and_only_they_move(samples):
    data, w = samples
    parts = {"all": np.ones(5), "two": np.array([1, 0, 0, 1.0, 0])}
    p = posterior(regression, w, data, beta=[200.0, 2000.0], parts=parts)
    compiled = samplers.program(regression, "baoab", None, 600, 1, None, True)
    before = compiled._cache_size()
    found = learning_coefficient(p, chains=16, draws=600)
    assert compiled._cache_size() == before + 1
    np.testing.assert_allclose(found.value[0], 2.5, atol=0.25)
    np.testing.assert_allclose(found.value[1], 1.0, atol=0.15)
    assert found.dimension.tolist() == [5, 2]
    mask = parts["two"][None]
    lanes = samplers.lanes_of([200.0], 1.0, 1e-3, mask, 1, np.float32)
    states, keys = samplers.start(p, "sgld", lanes), samplers.keys_of(0, 1, 1)
    states, _, _ = samplers.advance(p, "sgld", lanes, states, keys, 50)
    moved = np.asarray(samplers.places(p, lanes, states)[0]) != np.asarray(w)
    assert moved.tolist() == [True, False, False, True, False]


@pytest.mark.slow
def test_minibatches_are_unbiased_about_the_loss_of_all_data(samples):
    data, w = samples
    p = posterior(regression, w, data, beta=200.0, batch_size=100)
    whole = float(np.mean(regression(w, data)))
    assert p.start_loss == pytest.approx(whole, rel=1e-6)
    found = learning_coefficient(p, chains=32, draws=2000, share=0.02, richardson=False)
    # Noise of minibatches adds to that of the diffusion; at a fiftieth of the bound by a few per cent.
    assert found.value[0, 0] == pytest.approx(2.5, abs=4 * found.error[0, 0] + 0.15)


def wall(w, data):
    """A quadratic that ends: chains that come too far are lost."""
    return data + jnp.where(w[0] > 0.31, jnp.nan, 0.5 * (w**2).sum())


def test_a_lost_chain_is_left_out_and_told():
    p = posterior(wall, jnp.zeros(2), ONE, beta=100.0)
    step = 0.02 * 4 / 101
    found = learning_coefficient(
        p, sampler="sgld", chains=16, draws=400, richardson=False, step=step
    )
    lost = int(np.isnan(found.chains).sum())
    assert 0 < lost < 16
    assert np.isfinite(found.value[0, 0])
    assert f"{lost} of 16 chains did not stay finite" in found.verdict()


def test_a_step_above_the_bound_is_refused_with_the_bound(samples):
    data, w = samples
    p = posterior(regression, w, data, beta=200.0)
    top = 200 * np.linalg.eigvalsh(data["x"].T @ data["x"] / 200)[-1] + 1
    with pytest.raises(
        ArgumentError, match=r"`step` must be below .*, the bound 4/P_max"
    ) as caught:
        learning_coefficient(p, step=float(4.1 / top))
    assert f"below {4 / top:.3g}"[:-1] in str(caught.value)
    learning_coefficient(p, step=float(3.5 / top), chains=2, draws=10, richardson=False)


def test_curvature_is_the_largest_eigenvalue(samples):
    data, w = samples
    p = posterior(regression, w, data, beta=1.0)
    exact = np.linalg.eigvalsh(data["x"].T @ data["x"] / 200)[-1]
    masks = np.array([[1, 1, 1, 1, 1.0], [0, 1, 0, 0, 0]], np.float32)
    found = curvature.largest(p, np.tile(np.asarray(w), (2, 1)), masks)
    assert found[0] == pytest.approx(exact, rel=1e-4)
    assert found[1] == pytest.approx((data["x"][:, 1] ** 2).mean(), rel=1e-4)


def test_lanczos_finds_the_largest_of_many():
    random = np.random.default_rng(0)
    vectors = np.linalg.qr(random.normal(size=(80, 80)))[0]
    values = np.concatenate([random.uniform(0, 9, 79), [9.5]])
    product, start = lambda v: vectors @ (values * (vectors.T @ v)), random.normal(size=80)
    assert curvature.lanczos(product, start, 300, 1e-7) == pytest.approx(9.5, rel=1e-7)
    assert 9.3 < curvature.lanczos(product, start, 20) < 9.5
    assert curvature.lanczos(lambda v: 3 * v, start, 9) == pytest.approx(3)
    assert curvature.lanczos(lambda v: 0 * v, start, 9) == 0
    assert curvature.lanczos(lambda v: v * np.inf, start, 9) == np.inf


def test_what_cannot_be_sampled_is_refused(samples):
    data, w = samples
    for message, options in {
        "`batch_size` must be between 1 and 200": {"batch_size": 201},
        "`beta` must be greater than 0": {"beta": -1.0},
        r"`parts\['x'\]` must hold zeros and some ones": {"parts": {"x": np.zeros(5)}},
        r"`parts\['x'\]` must be like the parameters": {"parts": {"x": [True, False]}},
    }.items():
        with pytest.raises(ArgumentError, match=message):
            posterior(regression, w, data, **options)
    with pytest.raises(ArgumentError, match="`sampler` must be one for minibatches"):
        learning_coefficient(posterior(regression, w, data, batch_size=20), sampler="nuts")
    with pytest.raises(ArgumentError, match="`sampler` must be one of"):
        learning_coefficient(posterior(regression, w, data), sampler="sgd")
    rough = posterior(lambda w, data: data["y"] * 0 + (w**2).sum() ** 0.75, w * 0, data)
    with pytest.raises(ArgumentError, match="`losses` must have finite second derivatives"):
        learning_coefficient(rough)
    p = posterior(regression, w, data)
    assert p.beta == pytest.approx(200 / np.log(200))
    assert p.at([1.0, 2.0]).beta.tolist() == [1, 2]
    assert dataclasses.replace(p).dimension == 5


def test_the_error_of_what_is_extrapolated_is_as_large_as_its_spread():
    """Kinds that share most of their noise, and kinds that share none: 80 made-up estimates, of 4 chains of 100 draws."""
    random = np.random.default_rng(0)
    for shared in (0.95, 0.0):
        common = random.standard_normal((1, 80, 4, 100))
        own = random.standard_normal((3, 80, 4, 100))
        excess = np.sqrt(shared) * common + np.sqrt(1 - shared) * own + 2
        value, error = _extrapolated(excess, np.ones(80))
        # A deviation is known to 1 / (2 x 80)^(1/2) = 8%, and effective draws of 400 to some per cent.
        assert np.sqrt(np.mean(((value - 2) / error) ** 2)) == pytest.approx(1, abs=0.25)
    lost = excess.copy()
    lost[0, :, :2], lost[1, :, 2:] = np.nan, np.inf
    value, error = _extrapolated(lost, np.ones(80))
    assert np.sqrt(np.mean(((value - 2) / error) ** 2)) == pytest.approx(1, abs=0.25)


def test_the_control_variate_leaves_no_scatter_and_no_bias_of_the_step_on_a_quadratic():
    """By parts E[u . B grad U] = tr B, and grad U is linear: all draws give the same number at a step far too long."""
    options = {"sampler": "sgld", "chains": 4, "draws": 200, "share": 0.6, "richardson": False}
    p = posterior(quadratic, jnp.zeros(4), ONE, beta=100.0, parts={"some": np.array([1, 1, 0, 1])})
    found = learning_coefficient(p, **options)
    exact = discrete_quadratic(CURVATURES[[0, 1, 3]], 100.0, 1.0, 0)
    np.testing.assert_allclose(found.value, exact, rtol=1e-3)
    assert found.error[0, 0] < 1e-3 * exact
    plain = learning_coefficient(p, **options, controlled=False)
    assert abs(plain.value[0, 0] - exact) > 0.1
    # The same draws, in two programs, of which XLA may round either otherwise: to a unit of float32 in each of 800 losses.
    np.testing.assert_allclose(plain.effective, found.effective, rtol=800 * np.finfo("f4").eps)


def test_chains_that_still_spread_from_the_start_are_told_by_their_virial():
    """A flat direction, along which they do not come round within the run."""
    p = posterior(quadratic, jnp.zeros(4), ONE, beta=1e5)
    found = learning_coefficient(p, chains=4, draws=200, pull=1e-3)
    assert found.virial[0, 0] < 0.9
    far = dataclasses.replace(found, virial=np.array([[0.3]]))
    assert any("have not come round" in doubt for doubt in far.doubts())
    round_ = learning_coefficient(p.at(10.0), chains=8, draws=2000, steps=4)
    assert round_.virial[0, 0] == pytest.approx(1, abs=0.15)


def test_units_make_chains_come_round_where_curvatures_differ_by_far():
    def stiff(w, data):
        return data + 0.5 * (jnp.array([1e4, 1.0, 1.0, 0.0]) * w**2).sum()

    p = posterior(stiff, jnp.zeros(4), ONE, beta=100.0)
    units = (1 + 100 * np.array([1e4, 1.0, 1.0, 0.0])) ** -0.5
    options = {"controlled": False, "draws": 200, "richardson": False, "seed": 2}
    plain, scaled = (learning_coefficient(p, units=one, **options) for one in (None, units))
    assert scaled.effective[0, 0] > 3 * plain.effective[0, 0]
    assert abs(scaled.value[0, 0] - 1.49) < 4 * scaled.error[0, 0]
    with pytest.raises(ArgumentError, match="`units` must have shape"):
        learning_coefficient(p, units=np.zeros(4))
