"""The same networks trained by PyTorch in float64, from the same weights and on the same minibatches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.explain.own_network import batches, described, starts
from foretrain.explain.simulated import Corner, Simulator

torch = pytest.importorskip("torch")
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((12, 6))
Y, CLASSES = np.sin(X[:, :2] * 2), RANDOM.integers(0, 2, 12)
STEPS = 100


def perceptron(shape):
    return lambda w, x: shape(shape(x @ w[0] + w[1]) @ w[2]) @ w[3]


def in_jax(w, x):
    order = ("NCW", "OIW", "NCW")
    maps = jax.lax.conv_general_dilated(x[:, None], w[0], (1,), [(1, 1)], dimension_numbers=order)
    return jax.nn.leaky_relu(maps, 0.1).mean(2) @ w[1]


def in_torch(w, x):
    maps = torch.nn.functional.conv1d(x[:, None], w[0], padding=1)
    return torch.nn.functional.leaky_relu(maps, 0.1).mean(2) @ w[1]


def attention(softmax):
    def apply(w, x):
        tokens = x[..., None] * w[0]
        scores = (tokens @ w[1]) @ (tokens @ w[2]).swapaxes(1, 2)
        return (tokens + softmax(scores, -1) @ tokens).mean(1) @ w[3]

    return apply


DEEP = [(6, 9), (9,), (9, 8), (8, 2)]
HEAD = [(6, 4), (4, 4), (4, 4), (4, 2)]
# Network in JAX, in PyTorch, shapes of its weights, options, PyTorch's optimizer.
CASES = {
    "tanh, descent": (
        perceptron(jnp.tanh), perceptron(torch.tanh), DEEP, {"learning_rate": 0.2},
        lambda w: torch.optim.SGD(w, lr=0.2),
    ),
    "rectified, momentum in batches": (
        perceptron(jax.nn.relu), perceptron(torch.relu), DEEP,
        {"learning_rate": 0.03, "optimizer": "momentum", "momentum": 0.8, "batch_size": 4},
        lambda w: torch.optim.SGD(w, lr=0.03, momentum=0.8),
    ),
    "gelu, Adam in batches": (
        perceptron(jax.nn.gelu),
        perceptron(lambda z: torch.nn.functional.gelu(z, approximate="tanh")), DEEP,
        {"learning_rate": 0.01, "optimizer": "adam", "batch_size": 5}, lambda w: torch.optim.Adam(w, lr=0.01),
    ),
    "convolution, decay": (
        in_jax, in_torch, [(5, 1, 3), (5, 2)], {"learning_rate": 0.1, "weight_decay": 0.02},
        lambda w: torch.optim.SGD(w, lr=0.1, weight_decay=0.02),
    ),
    "attention, cross-entropy, AdamW": (
        attention(jax.nn.softmax), attention(torch.softmax), HEAD,
        {"learning_rate": 0.02, "loss": "cross_entropy", "optimizer": "adamw", "weight_decay": 0.1},
        lambda w: torch.optim.AdamW(w, lr=0.02, weight_decay=0.1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_losses_are_those_of_pytorch(x64, name):
    ours, theirs, shapes, options, optimizer = CASES[name]
    classes = options.get("loss") == "cross_entropy"
    y = CLASSES if classes else Y

    def init(key):
        keys = jax.random.split(key, len(shapes))
        return [
            jax.random.normal(entry, like) / like[0] ** 0.5
            for entry, like in zip(keys, shapes, strict=True)
        ]

    training = described(ours, init, X, y, steps=STEPS, **options)
    drawn, rows = starts(training, 1), batches(training, 1)
    message = (
        Simulator(training, drawn, rows, np.arange(STEPS + 1)).run(Corner(*[True] * 4)).train[0]
    )

    weights = [torch.tensor(np.asarray(leaf[0]), requires_grad=True) for leaf in drawn]
    descent, x, wanted = optimizer(weights), torch.tensor(X), torch.tensor(y)

    def loss(seen):
        result = theirs(weights, x[seen])
        if classes:
            return torch.nn.functional.cross_entropy(result, wanted[seen])
        return ((result - wanted[seen]) ** 2).sum() / 2 / len(result)

    curve = [loss(np.arange(12)).item()]
    for seen in rows[0]:
        descent.zero_grad()
        loss(seen).backward()
        descent.step()
        curve.append(loss(np.arange(12)).item())
    assert curve[-1] < 0.7 * curve[0]
    np.testing.assert_allclose(message, curve, rtol=0, atol=1e-6 * curve[0])
