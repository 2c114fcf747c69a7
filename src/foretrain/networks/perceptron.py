"""A perceptron with two hidden layers of rectified units, in the weights of `foretrain.networks.embedding.Decoder`."""

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
