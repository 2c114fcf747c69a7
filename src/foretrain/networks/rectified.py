"""A two-layer ReLU network without biases, f(x) = W_out max(0, W_in x), in the weights of a single gated pathway."""


def forward(weights, inputs):
    """Output of the network.

    Args:
        weights: ``in1``, shape (hidden, input), and ``out1``, shape (output, hidden).
        inputs: Shape (..., input).

    Returns:
        Shape (..., output). At exactly zero a unit is closed and passes no gradient.
    """
    arriving = inputs @ weights["in1"].T
    return (arriving * (arriving > 0)) @ weights["out1"].T
