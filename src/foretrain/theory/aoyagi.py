"""Learning coefficients of deep linear networks, in closed form.

Aoyagi (2024), Consideration on the learning efficiency of multiple-layered neural networks with linear units. A network of
widths H_0, ..., H_L that realises a true map of rank r has, with D_i = H_i - r and the one set Sigma of l + 1 layers for which

    max over Sigma of D < min outside it,   sum over Sigma of D >= l max over Sigma,   sum over Sigma of D < l min outside,

the coefficient lambda = [r (H_0 + H_L) - r^2]/2 + [a (l - a) - (l - 1) s^2]/(4 l) + sum of D_i D_j / 2 over pairs in Sigma,
with s = sum over Sigma of D, a = s - (ceil(s/l) - 1) l, and the multiplicity is a (l - a) + 1. Two layers are reduced-rank
regression.
"""

from typing import NamedTuple

from foretrain.errors import argument_error, integer


class Coefficient(NamedTuple):
    """lambda and m of Z(beta) ~ beta^(-lambda) (ln beta)^(m - 1); for large beta lambda_Z is lambda - (m - 1)/ln(beta)."""

    coefficient: float
    multiplicity: int


def deep_linear(widths, rank: int) -> Coefficient:
    """Coefficient and multiplicity of a deep linear network.

    `widths` H_0 (inputs) to H_L (outputs) are at least two whole numbers from 1 on, `rank` r at most the least of them. The
    loss is quadratic in the map, inputs have full rank, and there is no bias.

    Example:
        >>> deep_linear([5, 4, 5], 2)
        Coefficient(coefficient=10.5, multiplicity=1)
    """
    widths = [integer("widths", width, minimum=1) for width in widths]
    if len(widths) < 2:
        raise argument_error("widths", "be at least two numbers", f"has {len(widths)}")
    rank = integer("rank", rank, minimum=0, maximum=min(widths))
    spare = sorted(width - rank for width in widths)
    inside = spare[: chosen(spare)]
    l, s = len(inside) - 1, sum(inside)  # noqa: E741
    a = s - (-(-s // l) - 1) * l
    pairs = (s**2 - sum(size**2 for size in inside)) / 2
    value = (rank * (widths[0] + widths[-1]) - rank**2) / 2 + pairs / 2
    value += (a * (l - a) - (l - 1) * s**2) / (4 * l)
    return Coefficient(value, a * (l - a) + 1)


def chosen(spare: list[int]) -> int:
    """Size of Sigma, l + 1, for ascending D: Sigma is the so many smallest of them."""
    for size in range(2, len(spare) + 1):
        inside, outside = spare[:size], spare[size:]
        most, total = (size - 1) * inside[-1], sum(inside)
        if total < most or (outside and not inside[-1] < outside[0]):
            continue
        if not outside or total < (size - 1) * outside[0]:
            return size
    raise AssertionError("one set fits, whatever the widths")
