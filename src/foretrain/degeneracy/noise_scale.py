"""The noise scale eps: the loss below which a difference does not count; its default from the data, and doubts about it."""

from collections.abc import Sequence

import numpy as np
from scipy.special import log_softmax

from foretrain.degeneracy.function import Function
from foretrain.degeneracy.network import LOSSES
from foretrain.errors import argument_error, finite_array, one_of, real

SCALES = (10.0, 1.0, 0.1)  # of the noise scale, at which effective parameters are shown and sampled
SHARE = 1e-4  # of the outputs' variance, where neither a noise scale nor labels are given
ROUNDING = 1e-28  # of mean squares, in double precision: its unit, times a hundred, squared


def checked_outputs(outputs: np.ndarray) -> np.ndarray:
    """Outputs (n, output) in float64, refused where they, or their squares, are too large for double precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        outputs = np.asarray(outputs, np.float64)
        if not np.isfinite((outputs**2).sum()):
            rule = "give outputs whose squares are finite"
            raise argument_error("x", rule, "gives some that are not")
    return outputs


def spread(outputs: np.ndarray, loss: str) -> float:
    """The loss of the best answer that is the same for all examples: variance summed over outputs, or mean divergence.

    Raises:
        ArgumentError: All examples are answered alike.
    """
    if loss == "mse":
        value, least = float(outputs.var(0).sum()), ROUNDING * float((outputs**2).sum(1).mean())
    else:
        value, least = _divergence(outputs), 1e-14
    if not value > least:
        alike = f"the network answers all {len(outputs)} alike"
        got = alike if len(outputs) > 1 else "holds one"
        raise argument_error("x", "hold examples of which the outputs differ", got)
    return value


def _divergence(logits):
    """Mean divergence of probabilities from their mean along the first axis, (n, ..., o)."""
    logs = log_softmax(logits, axis=-1)
    p = np.exp(logs)
    return float((p * (logs - np.log(p.mean(0)))).sum(-1).mean())


def default_scale(outputs: np.ndarray, y: np.ndarray | None, loss: str) -> tuple[float, str]:
    """A noise scale, and its reason in words.

    n independent examples with noise of variance s^2 in each output have the posterior of beta = n/(2 s^2) for the squared
    error, n for the cross-entropy; with beta = 1/(2 eps) that is s^2/n and 1/(2n). Without labels no noise is known: of the
    squared error a ten-thousandth of the outputs' variance is taken.
    """
    n = len(outputs)
    if loss == "kl":
        return 1 / (2 * n), f"1/(2n): what {n:,} examples tell apart, in nats"
    if y is None:
        return SHARE * spread(outputs, loss), "a hundredth of the outputs' deviation, squared"
    error = float(((outputs - y) ** 2).mean())
    if not error > 0:
        rule = "be given where the network fits its labels exactly"
        raise argument_error("noise_scale", rule, "is not")
    return error / n, f"the network's own squared error over n: what {n:,} examples tell apart"


def chosen_scale(
    eps: float | None, source: str, outputs: np.ndarray, y: np.ndarray | None, loss: str
) -> tuple[float, str, list[str]]:
    """The noise scale that is given, or else the default; its reason in words; and doubts about it.

    A scale is doubted at which nothing is left of the network, or only rounding, and logits that look like probabilities.
    """
    most, square = spread(outputs, loss), float((outputs**2).sum(1).mean())
    if eps is None:
        eps, source = default_scale(outputs, y, loss)
    eps, doubts = real("noise_scale", eps, above=0), []
    if eps >= most:
        of = "the variance of the outputs" if loss == "mse" else "what the best single answer costs"
        doubts = [
            f"Noise scale: {eps:.3g} is not below {of}, {most:.3g}: at it a network that answers all examples alike counts as "
            "the same, and nothing that follows says anything of this one."
        ]
    elif loss == "kl" and (outputs >= 0).all() and np.allclose(outputs.sum(1), 1):
        doubts = [
            "Loss: outputs are not negative and sum to one: `kl` takes logits, these look like probabilities."
        ]
    elif loss == "mse" and eps <= ROUNDING * square:
        doubts = [
            f"Noise scale: {eps:.3g} is below the square of what rounding leaves of the outputs, {ROUNDING * square:.2g}: "
            "what is counted at it is rounding."
        ]
    return eps, source, doubts


def variance_between(functions: Sequence[Function], x: np.ndarray, loss: str = "mse") -> float:
    """Spread of several networks' outputs, without bias: of `mse` their variance, summed over outputs, mean over data.

    Of `kl` the mean divergence of each network's probabilities from the mean of all, times k/(k - 1) of k networks.

    Raises:
        ArgumentError: They are fewer than two, or have other outputs.
    """
    k = len(functions)
    if k < 2:
        rule = "be a number where one model is given"
        raise argument_error("noise_scale", rule, "is `seeds`", "Try several models, one per seed.")
    outputs = [function.outputs(x) for function in functions]
    if len({answers.shape for answers in outputs}) > 1:
        got = f"have {[answers.shape[1] for answers in outputs]} outputs"
        raise argument_error("models", "have the same outputs", got)
    if loss == "mse":
        variance = float(np.var(outputs, axis=0, ddof=1).sum(1).mean())
    else:
        variance = _divergence(outputs) * k / (k - 1)
    if not variance > 0:
        raise argument_error("models", "differ in their outputs", "are alike on these data")
    return variance


def asked_loss(y, outputs: np.ndarray, loss: str | None) -> tuple[np.ndarray | None, str]:
    """Labels, checked or None, and the loss: that which is asked for, or that which belongs to the labels.

    Raises:
        ArgumentError: Labels fit no outputs or not the loss, or the divergence of one output is asked for.
    """
    if loss is not None:
        one_of("loss", loss, LOSSES)
    if y is not None:
        y, own = labels(y, outputs)
        if loss not in (None, own):
            rule = f"be `{own}` for labels of this kind"
            raise argument_error("loss", rule, f"is `{loss}`")
        loss = own
    loss = loss or "mse"
    if loss == "kl" and outputs.shape[1] == 1:
        rule = "be `mse` where there is one output"
        raise argument_error("loss", rule, "is `kl`, which is 0 whatever that output is")
    return y, loss


def labels(y, outputs: np.ndarray) -> tuple[np.ndarray, str]:
    """Labels, checked, and the loss that they belong to: whole numbers, classes, "kl"; else targets (n, output), "mse"."""
    y = finite_array("y", y)
    n, many = outputs.shape
    if y.dtype.kind in "iub" and many > 1 and y.shape[1:] in ((), (1,)):
        y = y.reshape(-1)
        if len(y) != n or y.min() < 0 or y.max() >= many:
            rule = f"hold {n} classes from 0 to {many - 1}, one for each example"
            raise argument_error("y", rule, f"holds {len(y)} from {y.min()} to {y.max()}")
        return y.astype(int), "kl"
    y = y[:, None] if y.ndim == 1 else y
    if y.shape != outputs.shape:
        rule = f"have the shape {outputs.shape} of the outputs"
        raise argument_error("y", rule, f"has {y.shape}")
    return y.astype(np.float64), "mse"
