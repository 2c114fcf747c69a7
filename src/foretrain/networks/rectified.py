"""A two-layer ReLU network without biases, f(x) = W_out max(0, W_in x), in the weights of a single gated pathway."""


def forward(weights, inputs):
    """Output (..., output) of inputs (..., input), with weights ``in1`` (hidden, input) and ``out1`` (output, hidden).

    At exactly zero a unit is closed and passes no gradient.
    """
    arriving = inputs @ weights["in1"].T
    return (arriving * (arriving > 0)) @ weights["out1"].T
