import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.errors import ForetrainError
from foretrain.explain.corners import corner

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((9, 5))
ORDER = ("NWC", "WIO", "NWC")


def normalised(z):
    return (z - z.mean(-1, keepdims=True)) / jnp.sqrt(z.var(-1, keepdims=True) + 1e-5)


SHAPES = {
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "where": lambda z: jnp.where(z > 0, z, 0.1 * z),
    "silu": lambda z: z * jax.nn.sigmoid(z),
    "layer norm": lambda z: jnp.tanh(normalised(z)),
    "softmax": lambda z: jax.nn.softmax(z) * z,
}


def perceptron(shape):
    def apply(w, x):
        for weight, bias in w[:-1]:
            x = shape(x @ weight + bias)
        return x @ w[-1][0] + w[-1][1]

    return apply


def attention(w, x):
    """One head over five tokens of one number each, embedded by the first leaf."""
    tokens = x[..., None] * w["embed"] + w["place"]
    query, key, value = (tokens @ w[name] for name in ("query", "key", "value"))
    return (tokens + jax.nn.softmax(query @ key.swapaxes(-1, -2) / 2.0) @ value @ w["out"]).mean(1)


def pooled(w, x):
    image = x[:, :, None] * jnp.ones((1, 1, 4))
    maps = jax.lax.conv_general_dilated(image, w[0], (1,), "SAME", dimension_numbers=ORDER)
    pools = jax.lax.reduce_window(
        jax.nn.relu(maps), -jnp.inf, jax.lax.max, (1, 2, 1), (1, 1, 1), "VALID"
    )
    return pools.reshape(len(x), -1) @ w[1]


def drawn(like):
    """Weights of these shapes: a shape is a tuple of whole numbers."""
    if isinstance(like, dict):
        return {name: drawn(leaf) for name, leaf in like.items()}
    if isinstance(like, tuple) and isinstance(like[0], int):
        return RANDOM.standard_normal(like) / 2
    return [drawn(leaf) for leaf in like]


LAYERS = [((5, 6), (6,)), ((6, 6), (6,)), ((6, 3), (3,))]
NETWORKS = {name: (perceptron(shape), LAYERS) for name, shape in SHAPES.items()}
HEAD = {"embed": (4,), "place": (5, 4)} | {
    name: (4, 4) for name in ("query", "key", "value", "out")
}
NETWORKS |= {"attention": (attention, HEAD), "convolution": (pooled, [(3, 4, 3), (12, 2)])}


@pytest.fixture(params=NETWORKS)
def case(request):
    apply, like = NETWORKS[request.param]
    with jax.enable_x64(True):
        yield apply, drawn(like), drawn(like)


def test_every_corner_is_the_network_where_both_points_are_one(case):
    apply, u, _ = case
    for layers in (False, True):
        for gates in (False, True):
            there = corner(apply, layers=layers, gates=gates)(u, u, X)
            assert np.allclose(there, apply(u, X), rtol=0, atol=1e-13)


def test_traced_it_is_every_corner_with_its_slopes():
    apply, like = NETWORKS["attention"]

    def slopes(w, u, layers, gates):
        network = corner(apply, layers=layers, gates=gates)
        return jax.grad(lambda w: (network(w, u, X) ** 2).sum())(w)

    with jax.enable_x64(True):
        points, traced = (drawn(like), drawn(like)), jax.jit(slopes)
        for assumed in ((True, False), (False, True)):
            fixed = jax.jit(slopes, static_argnums=(2, 3))(*points, *assumed)
            pairs = zip(*map(jax.tree.leaves, (traced(*points, *assumed), fixed)), strict=True)
            assert all(np.allclose(*pair, rtol=1e-12, atol=1e-13) for pair in pairs)


def test_the_network_with_both_to_first_order_is_its_kernels(case):
    apply, u, w = case
    change = jax.tree.map(jnp.subtract, w, u)
    value, slope = jax.jit(lambda u: jax.jvp(lambda leaf: apply(leaf, X), (u,), (change,)))(u)
    cornered = corner(apply, layers=False, gates=False)(w, u, X)
    assert np.allclose(cornered, value + slope, rtol=0, atol=1e-12)


def test_with_gates_held_the_network_is_linear_in_every_layer(case):
    apply, u, w = case
    cornered = corner(apply, layers=True, gates=False)
    leaves, tree = jax.tree.flatten(w)
    points = jax.tree.leaves(u)
    for at in range(len(leaves)):
        middle, other = list(leaves), list(leaves)
        middle[at], other[at] = (leaves[at] + points[at]) / 2, points[at]
        outputs = [cornered(tree.unflatten(leaf), u, X) for leaf in (middle, leaves, other)]
        assert np.allclose(outputs[0], (outputs[1] + outputs[2]) / 2, rtol=0, atol=1e-12)


def test_gates_held_at_the_signs_of_a_rectifier_leave_the_network_while_they_stay():
    apply = NETWORKS["relu"][0]
    with jax.enable_x64(True):
        u = drawn(LAYERS)
        w = jax.tree.map(lambda leaf: leaf * (1 + 1e-7), u)
        cornered = corner(apply, layers=True, gates=False)(w, u, X)
        assert np.allclose(cornered, apply(w, X), rtol=0, atol=1e-14)


def test_gates_that_move_do_not_make_layers_learn_together():
    """Of one rectified layer with the last one fixed at u this corner is the network itself."""
    apply = NETWORKS["relu"][0]
    with jax.enable_x64(True):
        u, w = drawn(LAYERS[:1] + LAYERS[2:]), drawn(LAYERS[:1] + LAYERS[2:])
        moved = [w[0], u[1]]
        cornered = corner(apply, layers=False, gates=True)(moved, u, X)
        assert np.allclose(cornered, apply(moved, X), rtol=0, atol=1e-13)
        assert not np.allclose(corner(apply, layers=False, gates=False)(moved, u, X), cornered)


def test_a_loop_is_refused_by_its_name():
    def looped(w, x):
        return jax.lax.scan(lambda z, _: (jnp.tanh(z @ w), None), x, None, length=2)[0]

    words = r"`scan` in line \d+ of test_corners.py cannot be held"
    with pytest.raises(ForetrainError, match=words):
        corner(looped, layers=True, gates=False)(np.eye(5), np.eye(5), X)
