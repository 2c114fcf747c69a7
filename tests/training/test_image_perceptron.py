"""The perceptron on images: its steps against AdamW written out, what a start is, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from small_toy import SEED, inputs_of, observed, trained

from foretrain.errors import ArgumentError
from foretrain.networks.embedding import Decoder
from foretrain.training import image_perceptron as perceptron
from foretrain.training.phases import PHASES

SMALL = perceptron.ImagePerceptron(
    training_size=12,
    validation_size=30,
    hidden_width=7,
    last_learning_rate=0.02,
    precision="float64",
)


def written_out(p, steps):
    """Weights after so many steps of AdamW, in NumPy: decay first, 0.9, 0.999, 1e-8, two rates."""
    data = perceptron.inputs(p, SEED)
    weights = [np.array(data[name]) for name in Decoder._fields]
    x, y = data["images"], np.eye(10)[data["labels"]]
    first, second = ([np.zeros_like(w) for w in weights] for _ in range(2))
    for step in range(1, steps + 1):
        w1, b1, w2, b2, w3, b3 = weights
        h = np.maximum(x @ w1 + b1, 0)
        g = np.maximum(h @ w2 + b2, 0)
        back = 2 * (g @ w3 + b3 - y) / y.size
        down = (back @ w3.T) * (g > 0)
        lower = (down @ w2.T) * (h > 0)
        slopes = [x.T @ lower, lower.sum(0), h.T @ down, down.sum(0), g.T @ back, back.sum(0)]
        for n, slope in enumerate(slopes):
            rate = p.learning_rate if n < 4 else p.last_learning_rate
            first[n] = 0.9 * first[n] + 0.1 * slope
            second[n] = 0.999 * second[n] + 0.001 * slope**2
            move = first[n] / (1 - 0.9**step) / (np.sqrt(second[n] / (1 - 0.999**step)) + 1e-8)
            weights[n] = weights[n] * (1 - rate * p.weight_decay) - rate * move
    return weights


@pytest.mark.parametrize("batch_size", [0, 12])
def test_a_run_is_adamw_with_a_rate_of_its_own_for_the_last_layer(batch_size, x64):
    p = replace(SMALL, weight_decay=0.5, batch_size=batch_size)
    state = trained(p, 30, inputs := inputs_of(p))
    for weights, expected in zip(state.weights, written_out(p, 30), strict=True):
        np.testing.assert_allclose(weights, expected, atol=1e-10)
    # What is observed is what stands in the definitions.
    values = observed(p, inputs, state)
    w1, b1, w2, b2, w3, b3 = map(np.asarray, state.weights)
    data = perceptron.inputs(p, SEED)
    for part, name in (("", "train_accuracy"), ("validation_", "validation_accuracy")):
        h = np.maximum(np.maximum(data[f"{part}images"] @ w1 + b1, 0) @ w2 + b2, 0)
        share = np.mean((h @ w3 + b3).argmax(1) == data[f"{part}labels"])
        assert float(values[name]) == pytest.approx(share)


def test_alpha_multiplies_all_parameters_and_training_sets_are_nested():
    item, many = (perceptron.inputs(replace(SMALL, init_scale=scale), SEED) for scale in (1.0, 4.0))
    for name in Decoder._fields:
        np.testing.assert_allclose(many[name], 4 * item[name])
    larger = perceptron.inputs(replace(SMALL, training_size=40), SEED)
    np.testing.assert_array_equal(larger["images"][:12], item["images"])
    np.testing.assert_array_equal(larger["validation_images"], item["validation_images"])
    # No image is both trained and looked at; the digits hold none twice.
    seen = {image.tobytes() for image in larger["images"]}
    assert not seen & {image.tobytes() for image in larger["validation_images"]}


def test_first_steps_and_phases():
    p = perceptron.ImagePerceptron(train_threshold=0.9, validation_threshold=0.6, delay=20)
    low, fit, well = (0.5, 0.1), (0.9, 0.2), (0.8, 0.6)
    rows = [[low, fit, fit, well], [fit, well, well, well], [low, fit, fit, fit], [low] * 4]
    dims = {"seed": range(4), "step": [0, 10, 20, 30], "variable": list(perceptron.CURVES)}
    data = xr.DataArray(np.array(rows, np.float32), dims).to_dataset("variable")
    fitted, generalised = perceptron.first_steps(data, p)
    np.testing.assert_array_equal(fitted, [10, 0, 10, np.inf])
    np.testing.assert_array_equal(generalised, [30, 10, np.inf, np.inf])
    names = [PHASES[n] for n in perceptron.phase(fitted, generalised, p.delay).values]
    assert names == ["grokking", "comprehension", "memorization", "confusion"]
    assert PHASES[int(perceptron.phase(fitted[3], generalised[0], 20))] == "confusion"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"batch_size": 13}, "`batch_size` must be 0, or at most `training_size` = 12"),
        ({"training_size": 1349}, "`training_size` must be at most 1348 for `digits`"),
        ({"validation_size": 450}, "`validation_size` must be at most 449 for `digits`"),
    ],
)
def test_sizes_that_cannot_be_are_refused(changed, words):
    with pytest.raises(ArgumentError, match=words):
        perceptron.check(replace(SMALL, **changed))


def test_too_few_images_of_files_are_refused_when_they_are_read(monkeypatch):
    few = replace(perceptron.images_of("digits"), train_labels=np.zeros(30, int))
    monkeypatch.setattr(perceptron, "images_of", lambda data: few)
    with pytest.raises(ArgumentError, match="`training_size` must be at most 30 for `mnist`"):
        perceptron.inputs(replace(SMALL, data="mnist", training_size=31), SEED)
