"""Class collapse: an effective loss of same-label pairs draws images of one class together, and nothing else."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from foretrain import study as lab
from foretrain.study import choice, declare, default, generator, parameter, size
from foretrain.tasks import images
from foretrain.training.image_perceptron import images_of, reads  # noqa: F401

SOURCE = "Liu et al. (2022), Towards understanding grokking, appendix I"
COST = "1 min"
REFERENCES = ("liu2022",)
PRESETS = {"paper": {"seeds": 20, "data": "mnist", "per_class": 100}}
CLASSES = 10
FIXED = {"static": True, "sweepable": False}
FLOW_STEP = 0.1  # of the time in which deviations fall to 1/e
_CURVES = {
    "within": "Sum over points of the squared distance to the mean of their class.",
    "between": "Sum over points of the squared distance of their class's mean to the mean of all.",
    "squared_norm": "Z, the sum over points of |f|².",
    "frame_gap": "Largest |cos + 1/(classes - 1)| over pairs of centred class means; 0 of a simplex frame.",
}
declare("step sample coordinate", points="Representation of each image.")
declare("step", _CURVES)


@dataclass(frozen=True)
class Parameters(lab.Run):
    """Images, the encoder that draws their points, and the training of points or encoder."""

    data: str = parameter(
        "digits",
        "8 x 8 digits, MNIST from files, or random vectors",
        choices=("digits", "mnist", "normal"),
        sweepable=False,
    )
    per_class: int = size(20, "images of each class", 5000, minimum=2)
    output_dim: int = size(2, "dimension of a point", 1000)
    hidden_width: int = parameter(200, "width of the encoder", minimum=1, static=True)
    trained: str = choice(
        "the points themselves or the encoder", ("points", "encoder"), sweepable=False
    )
    normalised: bool = parameter(True, "whether the loss is divided by Z", **FIXED)
    centred: bool = parameter(
        False, "whether that Z is taken about the mean of all points", **FIXED
    )
    repulsion: float = parameter(0.0, "strength of Coulomb forces between class means", minimum=0)
    dynamics: str = choice(
        "Adam, or the flow of points, whose deviations decay at rate 1",
        ("adam", "flow"),
        sweepable=False,
    )
    learning_rate: float = parameter(0.01, "step of Adam or of the flow's solver", above=0)
    steps: int = default(100)
    observe_every: int = default(5)
    precision: str = default("float64")


def check(p):
    """Refuse more digits than there are, and a flow of anything but free points under the plain loss."""
    if p.data == "digits":
        inputs(p, lab.Seed(0, 0))
    if p.dynamics == "flow" and (p.trained == "encoder" or p.repulsion or p.centred):
        rule = "be `adam` where `trained` is `encoder`, or with `repulsion` or `centred`"
        raise lab.argument_error("dynamics", rule, "is `flow`")


def variants(p):
    """Return flow and trained encoder, with and without normalisation, and points in the dimensions that a frame needs."""
    changed = p.repulsion or p.centred or not p.normalised
    if changed or p.dynamics == "flow" or p.trained == "encoder":
        return {}
    flow = {"dynamics": "flow", "learning_rate": FLOW_STEP}
    encoder = {"trained": "encoder", "steps": 400, "observe_every": 20, "learning_rate": 0.002}
    wide, control = {"output_dim": CLASSES - 1}, {"normalised": False}
    repelled = wide | {"repulsion": 1.0, "learning_rate": 0.03, "steps": 4000, "observe_every": 100}
    return {
        "flow": flow,
        "flow_control": flow | control,
        "encoder": encoder,
        "encoder_control": encoder | control,
        "encoder_centred": encoder | {"centred": True},
        "wide": wide,
        "repelled": repelled,
    }


def inputs(p, seed):
    """Draw equally many images of each class, in order of classes, and the weights of the encoder that maps them to points."""
    draw = generator(seed, "data")
    if p.data == "normal":
        pixels = draw.standard_normal((CLASSES * p.per_class, 64))
    else:
        digits = p.data == "digits"
        whole = images.digits(0.0, draw) if digits else images_of(p.data)
        count = len(whole.train_labels)
        # Digits come in an order that is drawn.
        order = np.arange(count) if digits else draw.permutation(count)
        labels = whole.train_labels[order]
        fewest = np.bincount(labels, minlength=CLASSES).min()
        if p.per_class > fewest:
            rule = f"be at most {fewest} for `{p.data}`"
            raise lab.argument_error("per_class", rule, f"is {p.per_class}")
        chosen = [order[labels == number][: p.per_class] for number in range(CLASSES)]
        pixels = images.flatten(whole.train_images[np.concatenate(chosen)])
    widths = (pixels.shape[1], p.hidden_width, p.hidden_width, p.output_dim)
    weights = generator(seed, "weights")
    drawn = (weights.standard_normal(shape) * np.sqrt(2 / shape[0]) for shape in pairwise(widths))
    return {"pixels": pixels, **{f"layer_{number}": layer for number, layer in enumerate(drawn)}}


def encode(pixels, layers, biases=(0.0, 0.0, 0.0)):
    """Return points of images, shape (sample, output_dim), by two ReLU layers and a linear one; NumPy in, NumPy out."""
    for layer, bias in zip(layers[:2], biases, strict=False):
        pixels = pixels @ layer + bias
        pixels = pixels * (pixels > 0)
    return pixels @ layers[2] + biases[2]


def energies(points):
    """Return within, between and Z of points in order of classes, and the centred class means; in any array library."""
    grouped = points.reshape(CLASSES, -1, points.shape[1])
    means = grouped.mean(1)
    within = ((grouped - means[:, None]) ** 2).sum()
    centred = means - means.mean(0)
    return within, (centred**2).sum() * grouped.shape[1], (points**2).sum(), centred


def program(p):
    """Return the training of points or encoder on l_0, or l_0/Z, and repulsion."""
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics import adaptive, descent

    pairs = np.triu_indices(CLASSES, 1)

    def embed(inputs, weights):
        return weights if p.trained == "points" else encode(inputs["pixels"], *weights)

    def loss(weights, inputs):
        points = embed(inputs, weights)
        within, between, size, means = energies(points)
        size = within + between if p.centred else size
        value = p.per_class * within  # the sum over pairs of one class is the sum about its mean
        distances = jnp.sqrt(((means[pairs[0]] - means[pairs[1]]) ** 2).sum(1))
        coulomb = (jnp.sqrt(size / len(points)) / distances).mean()
        return (value / size if p.normalised else value) + inputs["repulsion"] * coulomb

    def init(inputs):
        layers = [inputs[f"layer_{number}"] for number in range(3)]
        weights = layers, [jnp.zeros(layer.shape[1]) for layer in layers]
        if p.trained == "points":
            weights = encode(inputs["pixels"], *weights)
        unit = energies(weights)[2] if p.trained == "points" and p.normalised else jnp.ones(())
        return weights, descent.start("adam", weights), unit / (2 * p.per_class)

    def step(inputs, state):
        weights, memory, unit = state
        if p.dynamics == "flow":
            downhill = lambda x, inputs: -jax.grad(loss)(x, inputs)  # noqa: E731
            size = inputs["learning_rate"] * unit
            return adaptive.fixed_step(downhill, weights, inputs, size), memory, unit
        slope = jax.grad(loss)(weights, inputs)
        return *descent.step("adam", weights, slope, memory, inputs["learning_rate"]), unit

    def observe(inputs, state):
        points = embed(inputs, state[0])
        *sums, means = energies(points)
        unit = means / jnp.sqrt((means**2).sum(1, keepdims=True))
        gap = jnp.abs((unit @ unit.T)[pairs] + 1 / (CLASSES - 1)).max()
        curves = dict(zip(_CURVES, (*sums, gap), strict=True))
        return {"loss": loss(state[0], inputs), "points": points, **curves}

    return lab.Program(init, step, observe)


def closed_form(start, decayed, normalised):
    """Return points under the flow once deviations from class means have fallen to shares `decayed`, (share, sample, 2).

    Means of classes stay; under l_0/Z all points are then rescaled to the Z of the start.
    """
    grouped = start.reshape(CLASSES, -1, start.shape[1])
    means = grouped.mean(1, keepdims=True)
    points = means + np.reshape(decayed, (-1, 1, 1, 1)) * (grouped - means)
    points = points.reshape(-1, *start.shape)
    size = (points**2).sum((-2, -1), keepdims=True)
    return points * np.sqrt((start**2).sum() / size) if normalised else points
