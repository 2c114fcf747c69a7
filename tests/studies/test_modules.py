from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from foretrain.degeneracy.learning_coefficient import learning_coefficient
from foretrain.degeneracy.posterior import behavioural
from foretrain.streams import Seed, generator
from foretrain.studies.modules import chains, entangled, held, study, training


def measured(number=0, **overrides) -> dict[str, Any]:
    return training.inputs(study.Parameters(**overrides), Seed(0, number))


def test_counts_of_planted_modules_are_those_of_their_symmetries():
    for activation, m, excess in (("relu", 1, 1), ("identity", 2, 6), ("tanh", 2, 0)):
        found = measured(activation=activation, mediators=m)
        assert found["apart_sum"] == found["apart_together"]
        assert found["constrained"] + found["second"] - found["together"] == excess


def test_a_weak_interaction_is_cut_and_volumes_follow_their_law():
    weak, strong = measured(strength=3e-4, mediators=1), measured(strength=0.03, mediators=1)
    assert weak["search_agreement"] == 1
    assert weak["secant_cost"] == weak["derivative_cost"] == 0
    assert abs(strong["secant_cost"] - strong["secant_law"]) < 0.01
    assert abs(strong["derivative_cost"] - 1) < 0.01
    # Two constraints hold an ellipse of a box: ln(pi/4) of volume.
    gap = strong["pair_cost"] - strong["secant_cost"] - strong["other_cost"]
    assert abs(gap - 2 * np.log(np.pi / 4) / np.log(1e-6)) < 0.01


def test_networks_of_equal_function_have_it_and_the_rank_of_their_symmetries():
    found = measured(kind="entangled")
    assert np.nanmax(found["function_gap"]) < 1e-5
    rank: dict[str, Any] = dict(zip(study.ENTANGLED, found["exact_rank"], strict=True))
    known: dict[str, Any] = dict(zip(study.ENTANGLED, found["derived_parameters"], strict=True))
    regular = ("blocks", "rotated", "within", "across", "across rectified", "twice")
    for kind in regular:
        np.testing.assert_array_equal(rank[kind], known[kind])
    # Neurons that idle: their Jacobian is zero, and reduced-rank regression of rank zero counts their outgoing weights.
    h, out = np.array(study.UNITS), entangled.OUT
    for kind, idle in (("idle", 2), ("idle rectified", 2), ("once", h)):
        np.testing.assert_array_equal(known[kind] - rank[kind], idle * out + 0 * h)
    # Modules of the trained pair: nothing crosses in one of them.
    first, own, out, _ = entangled.kinds(2, generator(Seed(0, 1), "weights"), found["x"])[-2]
    module = np.array([0, 0, 1, 1, 0, 1])
    assert first == "tanh"
    assert not own[module[:, None] != np.arange(6) // 3].any()
    assert not out[np.arange(2)[:, None] != module].any()
    assert own.any(1).all()


def test_ranks_of_constrained_losses_are_those_of_what_the_second_module_can_undo():
    found = measured(kind="held", mediators=2, strength=1.0)
    parts = dict(zip(study.PARTS, found["constrained_rank"].T, strict=True))
    surplus = dict(
        zip(study.ACTIVATIONS, parts["first, held"] + parts["second"] - parts["both"], strict=True)
    )
    assert surplus == {"relu": 2, "identity": 6, "tanh": 0}
    np.testing.assert_array_equal(parts["both, apart"], parts["first"] + parts["second, apart"])
    assert held.WIDTHS[1] >= study.SAMPLED["mediators"]


def test_the_constrained_loss_adds_the_mean_square_changes_of_the_mediators():
    found = measured(kind="held", mediators=2, strength=0.7)
    first = {
        name: found[name][study.PARTS.index("first, held")]
        for name in ("target", "counted", "activation")
    }
    w = found["place"][0] + 0.1 * np.random.default_rng(0).standard_normal(found["place"].shape[1])

    def values(w, counted):
        network = first | {"counted": counted, "target": 0 * first["target"]}
        return np.asarray(held.residuals({"x": found["x"]}, network, w))

    outputs = np.r_[1, 1, np.zeros(6)]
    mediators = np.r_[np.zeros(4), 1, 1, 0, 0]

    def loss(w):
        return ((values(w, outputs) - values(found["place"][0], outputs)) ** 2).sum(1).mean()

    moved = (values(w, mediators) - values(found["place"][0], mediators))[:, 4:6]
    constrained = loss(w) + 0.7**2 * (moved**2).sum(1).mean()
    ours = (np.asarray(held.residuals({"x": found["x"]}, first, w)) ** 2).sum(1).mean()
    np.testing.assert_allclose(ours, constrained, rtol=1e-4)  # single precision


@pytest.fixture(scope="module")
def sampled():
    """2 beta E[L] of a quadratic and of u²|v|², coordinates made at v = 0.5; without control and with, by seed and network."""
    import jax
    import jax.numpy as jnp

    beta, pull, paths, seeds = 1e4, 3.0, 240, 6
    slopes = np.random.default_rng(0).standard_normal((20, 4)) * (1, 0.1, 0.1, 0)

    def residuals(inputs, network, w):
        flat = jnp.pad((inputs["slopes"] @ w)[:, None], ((0, 0), (0, 2)))
        return jnp.where(network["singular"], w[0] * w[1:], flat) - network["target"]

    def inputs(controlled):
        product = np.zeros((60, 4))
        product[:, 0] = 0.5  # of u v by u
        made = [
            chains.coordinates(one, np.ones(4, bool), 20, beta, pull, controlled)
            for one in (slopes, product)
        ]
        zero = np.zeros(4)
        for one, singular in zip(made, (False, True), strict=True):
            place = np.array([0, 0.5, 0.5, 0.5]) if singular else zero
            one |= {
                "place": place,
                "centre": zero,
                "target": np.zeros((20, 3)),
                "singular": singular,
            }
        return chains.stacked(made)

    program: Any = chains.program(residuals, lambda inputs, found: found, ("singular",))

    @jax.jit
    @jax.vmap
    def run(seed, networks):
        given = networks | {"slopes": slopes, "root_seed": 0, "seed": seed, "max_steps": paths}
        state = jax.lax.fori_loop(
            0, paths, lambda _, s: program.step(given, s), program.init(given)
        )
        return program.finish(given, state)

    with jax.enable_x64(True):
        many = [inputs(i >= seeds) for i in range(2 * seeds)]
        networks = {name: np.stack([one[name] for one in many]) for name in many[0]}
        found = np.asarray(run(np.arange(2 * seeds), networks))
    return SimpleNamespace(found=found.reshape(2, seeds, 2), beta=beta, pull=pull, slopes=slopes)


def test_chains_give_a_quadratic_exactly_and_without_scatter(sampled):
    steep = sampled.beta * np.linalg.eigvalsh(2 * sampled.slopes.T @ sampled.slopes / 20)
    exact = (steep / (steep + sampled.pull)).sum()
    plain, controlled = sampled.found[..., 0]
    np.testing.assert_allclose(controlled, exact, atol=1e-9)
    assert abs(plain.mean() - exact) < 4 * plain.std() / len(plain) ** 0.5
    assert plain.std() > 0.01


def test_what_takes_off_scatter_adds_no_bias_where_the_loss_is_no_quadratic(sampled):
    u = np.linspace(0, 12 / sampled.pull**0.5, 200_000)
    steep = sampled.pull + 2 * sampled.beta * u**2
    weight = np.exp(-sampled.pull * u**2 / 2) / steep**1.5  # three v integrated out
    exact = (weight * 6 * sampled.beta * u**2 / steep).sum() / weight.sum()
    for values in sampled.found[..., 1]:
        assert abs(values.mean() - exact) < max(0.05, 4 * values.std() / len(values) ** 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rotated", "across rectified"])
def test_the_library_s_nuts_gives_the_derived_coefficient(kind):
    import jax
    import jax.numpy as jnp

    x = np.random.default_rng(0).standard_normal((entangled.EXAMPLES, entangled.IN))
    made = entangled.kinds(1, generator(Seed(0, 0), "weights"), x)
    activation, own, out, _ = made[study.ENTANGLED.index(kind)]
    beta, pull, _ = entangled.SCALES[activation]

    def apply(params, x):
        before = x @ params["own"].T
        return (jnp.maximum(before, 0) if activation == "relu" else before) @ params["out"].T

    with jax.enable_x64(True):
        params = {"own": jnp.asarray(own), "out": jnp.asarray(out)}
        found = learning_coefficient(
            behavioural(apply, params, jnp.asarray(x), beta=beta),
            sampler="nuts", draws=300, warm_up=200, pull=pull, richardson=False,
        )  # fmt: skip
    limit = entangled.limits(1)[study.ENTANGLED.index(kind)]
    assert abs(found.effective_parameters[0, 0] - limit) < 1
