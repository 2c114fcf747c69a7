r"""The sorting of rectified units that start small into the four pathways of exclusive-or.

While a ReLU network f(x) = sum_i v_i max(0, w_i . x) is small, every unit moves by itself,
dw/dt = v <y x>_open and dv/dt = <y w.x>_open over the examples x in {-1, 1}^2 that it is open on: generically two
neighbours of opposite target. There the weight w_par along the axis between them stays, and the other one, signed such
that it is driven upwards, obeys du/dt = v/2, dv/dt = u/2. The unit turns until |u| = w_par: it points to one example and
has the sign of that example's target. Both sides of that direction push it back, so that it slides along it, open on
this example alone, with dr/dt = s v, dv/dt = s r, s = sqrt(2)/4 and |w| = r: exactly the gated network's pathway
(Saxe, Sodhani & Lewallen 2022, appendix A.1). Derived in docs/studies/xor.md.
"""

import numpy as np

from foretrain.errors import argument_error, finite_array
from foretrain.theory.gated.reduction import Reduction

_SLIDING_RATE = np.sqrt(2) / 4


def sort_rectified_units(
    input_weights: np.ndarray, output_weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find which example each small rectified unit will specialise on, and how strongly it starts there.

    `input_weights` w are (unit, 2), none zero, `output_weights` v (unit,). Returns the example of every unit, (unit, 2) with
    entries -1 and 1, and its amplitude q >= 0, (unit,): for small weights |w| and |v| tend to q e^{st}. The pathway of an
    example starts at a_0 = sum of q^2 over its units.
    """
    weights = finite_array("input_weights", input_weights, ndim=2).astype(float)
    v = finite_array("output_weights", output_weights, ndim=1).astype(float)
    if weights.shape != (v.size, 2):
        raise argument_error("input_weights", f"have shape ({v.size}, 2)", f"has {weights.shape}")
    if not np.abs(weights).max(axis=1, initial=0).all():
        raise argument_error("input_weights", "not be zero", "has a unit with both weights 0")
    units = np.arange(v.size)
    axis = np.argmax(np.abs(weights), axis=1)
    side = np.sign(weights[units, axis])
    fixed = np.abs(weights[units, axis])
    # Targets are -x_1 x_2: open where the sign of x along the axis is `side`, <y x> drives the other weight by -side v/2.
    driven = -side * weights[units, 1 - axis]
    growing, decaying = (v + driven) / 2, (v - driven) / 2
    # With e = exp(t/2) the driven weight is growing e - decaying / e: it reaches +fixed or -fixed first.
    above = _first_root(growing, fixed, decaying)
    below = _first_root(growing, -fixed, decaying)
    e = np.minimum(above, below)
    end = np.where(above < below, 1.0, -1.0)
    output = np.abs(growing * e + decaying / e)
    amplitude = (np.sqrt(2) * fixed + output) / 2 * np.exp(-_SLIDING_RATE * 2 * np.log(e))
    example = np.empty_like(weights)
    example[units, axis] = side
    example[units, 1 - axis] = -side * end
    return example, amplitude


def self_consistent(
    reduction: Reduction, inputs: np.ndarray, gates: np.ndarray, open_above: float
) -> bool:
    """Return True if rectified units along every pathway's learned input weights open just where the pathway does.

    Args:
        reduction: Of two-layer pathways that divide the examples among them, to one output.
        inputs: The examples, shape (sample, input).
        gates: Shape (pathway, sample).
        open_above: A unit is open where its weights times the input are above this.
    """
    for number, group in enumerate(reduction.groups):
        # Pathways that divide the examples are groups of their own, with one mode each, since there is one output.
        (pathway,) = group.bundles
        projections = inputs @ group.frames["x"][:, 0]
        learns = abs(reduction.singular_values[number, 0]) > 1e-9
        fits = [
            ((sign * projections > open_above) == (gates[pathway] > 0)).all() for sign in (1, -1)
        ]
        if not (learns and any(fits)):
            return False
    return True


def _first_root(growing, target, decaying):
    """Smallest e >= 1 with growing e^2 - target e - decaying = 0; infinite if there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(target**2 + 4 * growing * decaying)
        roots = np.stack([(target - root) / (2 * growing), (target + root) / (2 * growing)])
    # A unit that starts on the border is there at once; rounding must not hide it.
    reached = np.isfinite(roots) & (roots >= 1 - 1e-12)
    return np.where(reached, np.maximum(roots, 1), np.inf).min(axis=0)
