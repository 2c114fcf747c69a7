import numpy as np

from foretrain.networks import perceptron


def test_a_rectified_network_is_a_gated_one_whose_gates_are_its_units_signs():
    generator = np.random.default_rng(0)
    weights = {"in1": generator.standard_normal((5, 3)), "out1": generator.standard_normal((2, 5))}
    x = generator.standard_normal((7, 3))
    for sample, expected in zip(x, perceptron.forward(weights, x), strict=True):
        is_open = weights["in1"] @ sample > 0
        np.testing.assert_allclose(
            weights["out1"][:, is_open] @ weights["in1"][is_open] @ sample, expected, rtol=1e-12
        )
