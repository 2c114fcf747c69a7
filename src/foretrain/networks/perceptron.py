"""Perceptrons of rectified units: with one hidden layer without biases, and with two in the weights of a `Decoder`."""

from foretrain.networks.embedding import Decoder


def layers(weights: Decoder, images) -> tuple:
    """Activities of both hidden layers and the outputs, (sample, unit) and (sample, output).

    Weights are (in, out), biases (out,), images (sample, pixel), of NumPy or JAX, as is the result.
    """
    first = images @ weights.weight_1 + weights.bias_1
    first = first * (first > 0)
    second = first @ weights.weight_2 + weights.bias_2
    second = second * (second > 0)
    return first, second, second @ weights.weight_3 + weights.bias_3


def forward(weights, inputs):
    """f(x) = W_out max(0, W_in x), in the weights of a single gated pathway.

    Output (..., output) of inputs (..., input), with weights ``in1`` (hidden, input) and ``out1`` (output, hidden).
    At exactly zero a unit is closed and passes no gradient.
    """
    arriving = inputs @ weights["in1"].T
    return (arriving * (arriving > 0)) @ weights["out1"].T
