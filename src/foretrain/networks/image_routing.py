"""The routing network on images: M encoders, one hidden matrix, M decoders, trained from statistics or from minibatches.

From statistics the network is linear without biases, and every domain's inputs are written in the eigenbasis of their
own <x x^T>. There the data of domain i are `scales` (roots of the eigenvalues) and `targets` (<y x^T> over scales): all
that a linear network with squared error can tell of any number of images. The change of basis is absorbed by the encoder,
exactly, and in law for any rotation-invariant start. For the same reason permutations of pixels or of labels need not be
carried out: the images are gathered once for all domains, and arrays over domains then have a first axis of length 1.

From minibatches all routes share one batch; there may be biases and leaky ReLUs after encoders and hidden layer.
Source: Saxe, Sodhani & Lewallen (2022), section 5 and appendix D.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from foretrain.networks import routing
from foretrain.networks.routing import Weights


class Biases(NamedTuple):
    """Biases of encoders (input_domain, hidden), hidden layer (hidden,) and decoders (output_domain, output)."""

    encoders: jax.Array
    hidden: jax.Array
    decoders: jax.Array


def random_weights(
    key, domains, hidden_width, input_size, classes, init_scale, *, law, dtype
) -> Weights:
    """Draw weights; see `foretrain.networks.routing.random_weights`.

    The law "authors" is "xavier" with decoders as the authors' code draws them: their M decoders are one array of shape
    (M, hidden, class) whose fans count M and all classes, and so have variance 2 init_scale^2 / ((hidden + M) classes).
    """
    drawn = "xavier" if law == "authors" else law
    weights = routing.random_weights(
        key, domains, hidden_width, input_size, classes, init_scale, law=drawn, dtype=dtype
    )
    if law != "authors":
        return weights
    ratio = ((hidden_width + classes) / ((hidden_width + domains) * classes)) ** 0.5
    return weights._replace(decoders=jnp.asarray(ratio, dtype) * weights.decoders)


def zero_biases(weights: Weights) -> Biases:
    """Biases of a network that starts without any."""
    shapes = (weights.encoders.shape[:2], weights.hidden.shape[:1], weights.decoders.shape[:2])
    return Biases(*(jnp.zeros(shape, weights.hidden.dtype) for shape in shapes))


def negative_gradient(weights: Weights, scales, targets, trained_pairs) -> Weights:
    """-dL/dW of the mean over trained routes and images of 1/2 |error|^2, from statistics.

    Encoders are in the eigenbasis of their domain, scales (input_domain or 1, input), targets (input_domain or 1, class,
    input).

    Cost: about 2 M h^2 d + 2 M^2 h^2 multiply-adds for M domains, hidden width h and d inputs, whatever the number of images:
    less by a factor of about d / h + 2.5 than `foretrain.networks.routing.negative_gradient`, which takes any samples.
    Products of h x h matrices domain by domain are avoided: what the hidden matrix meets are the few rows of the decoders.
    """
    encoders, hidden, decoders = weights
    share = trained_pairs / trained_pairs.sum()
    first = encoders * scales[:, None]
    targets = _full(targets, weights)
    gram = jnp.einsum("ihr,ikr->ihk", first, first)
    association = jnp.einsum("ior,ihr->ioh", targets, first)
    readout = jnp.einsum("jog,gh->joh", decoders, hidden)
    # The error of decoder j times the first layer's activity, mean over the inputs that it is trained with.
    error = _mixed(share.T, association) - jnp.einsum(
        "joh,jhk->jok", readout, _mixed(share.T, gram)
    )
    power = _mixed(share, jnp.einsum("joh,jok->jhk", readout, readout))
    encoder_slope = jnp.einsum("ioh,ior->ihr", _mixed(share, readout), targets)
    encoder_slope -= jnp.einsum("ihk,ikr->ihr", power, first)
    return Weights(
        encoder_slope * scales[:, None],
        jnp.einsum("jog,jok->gk", decoders, error),
        jnp.einsum("jok,gk->jog", error, hidden),
    )


def _mixed(share, arrays):
    """Sums over the first axis of `arrays` with each row of `share` as weights."""
    return (share @ arrays.reshape(len(arrays), -1)).reshape(len(share), *arrays.shape[1:])


def excess_errors(weights: Weights, scales, targets) -> jax.Array:
    """1/2 <|error|^2> of every route above that of least squares, shape (input_domain, output_domain)."""
    second = jnp.einsum("gh,ihr,ir->igr", weights.hidden, weights.encoders, _full(scales, weights))

    def of_input(row):
        activity, target = row
        error = target[None] - jnp.einsum("jog,gr->jor", weights.decoders, activity)
        return 0.5 * jnp.einsum("jor,jor->j", error, error)

    return jax.lax.map(of_input, (second, _full(targets, weights)))


def _full(array, weights):
    return jnp.broadcast_to(array, (weights.encoders.shape[0], *array.shape[1:]))


def hidden_activity(weights: Weights, biases: Biases | None, inputs, maps, negative_slope):
    """Activity of the second hidden layer, shape (input_domain, sample, hidden).

    `biases` is None for none, `inputs` (input_domain or 1, sample, input), `maps`, from the common inputs to those of each
    domain, (input_domain, input, pixel) or None, `negative_slope` that of the leaky ReLUs; 1 is a linear network.
    """
    bend = lambda x: jnp.where(x >= 0, x, negative_slope * x)  # noqa: E731
    encoders = weights.encoders
    if maps is not None:
        encoders = jnp.einsum("ihr,irp->ihp", encoders, maps)
    first = jnp.einsum("ihp,inp->inh", encoders, _full(inputs, weights))
    if biases is not None:
        first = first + biases.encoders[:, None]
    second = jnp.einsum("gh,inh->ing", weights.hidden, bend(first))
    return bend(second if biases is None else second + biases.hidden)


def scores(weights: Weights, biases: Biases | None, activity) -> jax.Array:
    """Output of all decoders for activity (sample, hidden): shape (output_domain, sample, class)."""
    output = jnp.einsum("jog,ng->jno", weights.decoders, activity)
    return output if biases is None else output + biases.decoders[:, None]


def sample_losses(output, labels, loss: str) -> jax.Array:
    """Loss of every sample: 1/2 |one-hot - output|^2 or cross-entropy; output (..., sample, class)."""
    if loss == "cross_entropy":
        places = jnp.broadcast_to(labels[:, None], (*output.shape[:-1], 1))
        chosen = jnp.take_along_axis(output, places, axis=-1)[..., 0]
        return jax.nn.logsumexp(output, axis=-1) - chosen
    error = jax.nn.one_hot(labels, output.shape[-1], dtype=output.dtype) - output
    return 0.5 * (error**2).sum(-1)


def evaluate(weights, biases, inputs, maps, labels, negative_slope, loss):
    """Loss and accuracy of every route on given samples, each of shape (input_domain, output_domain)."""

    def of_input(activity):
        output = scores(weights, biases, activity)
        right = output.argmax(-1) == labels
        return sample_losses(output, labels, loss).mean(-1), right.mean(-1, dtype=output.dtype)

    return jax.lax.map(of_input, hidden_activity(weights, biases, inputs, maps, negative_slope))


def minibatch_loss(network, inputs, maps, labels, trained_pairs, negative_slope, loss) -> jax.Array:
    """Mean loss over trained routes and the samples of a batch; `network` is (weights, biases or None).

    Cost: all M^2 routes are computed, which costs less than the encoders as long as M classes < inputs.
    """
    weights, biases = network
    if (
        maps is not None
    ):  # a batch is smaller than the hidden layer: turn the images, not the encoders
        inputs = jnp.einsum("irp,np->inr", maps, inputs[0])
    activity = hidden_activity(weights, biases, inputs, None, negative_slope)
    output = jnp.einsum("jog,ing->ijno", weights.decoders, activity)
    if biases is not None:
        output = output + biases.decoders[:, None]
    return routing.mean_over(trained_pairs, sample_losses(output, labels, loss).mean(-1))
