"""Paths of square linear layers, whose products add up: weights (path, layer, width, width), the first layer first."""


def products(weights):
    """Return what each path passes on, the product of its layers, (path, output, input)."""
    passed = weights[:, 0]
    for layer in range(1, weights.shape[1]):
        passed = weights[:, layer] @ passed
    return passed


def loss(weights, target):
    """Return 1/2 |target - sum of paths|^2, for white inputs; `target` has shape (output, input)."""
    return 0.5 * ((target - products(weights).sum(0)) ** 2).sum()
