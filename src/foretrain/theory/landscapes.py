"""Loss landscapes whose volume is known: their freedom at every scale, by volume and by temperature.

Of a loss L >= 0 on a box with V(eps) the volume where L < eps, two curves count what is not free:

- lambda(eps) = d ln V / d ln eps, the freedom taken at a cut of the loss;
- lambda_Z(beta) = beta E_beta[L] = -d ln Z / d ln beta, Z = int exp(-beta L), its twin at an inverse temperature, which is
  what samplers estimate.

They are two quantities: Z = beta int V exp(-beta eps) d eps makes lambda_Z(beta) the mean of lambda(eps) under the weight
V(eps) exp(-beta eps), so that they share limits and bounds, not values. Twice either is an effective number of parameters. For
derivations see ``docs/theory/landscapes.md``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import integrate, special

Curve = Callable[[Any], Any]  # of a number or an array of them, of the same shape


@dataclass(frozen=True)
class Landscape:
    """A loss on the box [-1, 1]^d with its exact curves.

    Attributes:
        name, dimension: The formula in text, and d, the number of parameters.
        loss: ``loss(w)``, w of shape (..., d), NumPy or JAX; shape (...).
        by_volume: lambda(eps), for 0 < eps < `below`.
        by_temperature: lambda_Z(beta), beta > 0, of the box; of `crossover` on the whole line.
        below: Scale under which `by_volume` holds.
        limit: lambda, to which both tend as eps goes to 0 and beta to infinity.
        multiplicity: m; both fall short of `limit` by about (m - 1) over ln(1/eps) or ln(beta).
    """

    name: str
    dimension: int
    loss: Callable[[Any], Any]
    by_volume: Curve
    by_temperature: Curve
    limit: float
    below: float = 1.0
    multiplicity: int = 1


def power(k: int) -> Landscape:
    """w^(2k): lambda(eps) = 1/(2k) for eps < 1, and of the box lambda_Z = gamma(1 + s, beta) / gamma(s, beta), s = 1/(2k).

    k is at least 1. There gamma is the lower incomplete gamma function; on the whole line lambda_Z is 1/(2k) at every beta.

    Example:
        >>> landscape = power(2)
        >>> landscape.limit, float(landscape.by_temperature(1e3).round(4))
        (0.25, 0.25)
    """
    exponent = 1 / (2 * k)
    return Landscape(
        name=f"w^{2 * k}",
        dimension=1,
        loss=lambda w: w[..., 0] ** (2 * k),
        by_volume=lambda eps: np.full(np.shape(eps), exponent),
        by_temperature=lambda beta: _gamma(1 + exponent, beta) / _gamma(exponent, beta),
        limit=exponent,
    )


def crossover(c: float) -> Landscape:
    """c^2 w^2 + w^4: quadratic below eps ~ c^4, quartic above it.

    lambda(eps) = [1 + (1 + 4 eps/c^4)^(-1/2)]/4; on the whole line lambda_Z = -z [1 + K'(z)/K(z)], z = beta c^4/8, K the
    modified Bessel function of order 1/4. c is above 0.
    """

    def temperature(beta):
        z = np.asarray(beta, float) * c**4 / 8
        slope = -(special.kve(0.75, z) + special.kve(1.25, z)) / 2
        far = 0.5 - 3 / (64 * z)  # where K'/K is -1 up to rounding
        return np.where(z > 1e6, far, -z * (1 + slope / special.kve(0.25, z)))

    return Landscape(
        name=f"{c:g}²w² + w⁴",
        dimension=1,
        loss=lambda w: c**2 * w[..., 0] ** 2 + w[..., 0] ** 4,
        by_volume=lambda eps: 0.25 * (1 + (1 + 4 * np.asarray(eps) / c**4) ** -0.5),
        by_temperature=temperature,
        limit=0.5,
        below=1 + c**2,
    )


def plane() -> Landscape:
    """w1^2 in three parameters, the document's free directions that do not interact: two are free at every scale."""
    return replace(power(1), name="w₁²", dimension=3)


def product(a: int = 1, b: int = 1) -> Landscape:
    """w1^(2a) w2^(2b), free directions that interact: a cross of two lines on which the loss is zero.

    With p = 1/(2a), q = 1/(2b) the fraction of the box below eps is [p eps^q - q eps^p] / (p - q), and eps^p [1 + p ln(1/eps)]
    where a = b. For w1^2 w2^4 that is 2 eps^(1/4) - eps^(1/2), hence

        lambda(eps) = (1 - eps^(1/4)) / (4 - 2 eps^(1/4)) -> 1/4,
        lambda_Z(beta) = [gamma(5/4, beta) - beta^(-1/4) gamma(3/2, beta)] / [gamma(1/4, beta) - beta^(-1/4) gamma(1/2, beta)].

    For w1^2 w2^2 lambda(eps) = 1/2 - 1/(2 + ln(1/eps)) and lambda_Z(beta) = 1/2 - erf(r) / [2 I(r)], r = sqrt(beta),
    I(x) = int_0^x erf(u)/u du.

    a and b are at least 1. The smaller of 1/(2a), 1/(2b) is the limit, with multiplicity 2 where they are equal.
    """
    p, q = 1 / (2 * a), 1 / (2 * b)
    if a == b:
        volume, temperature = _equal(p)
    else:
        volume, temperature = _unequal(p, q)
    return Landscape(
        name=f"w₁^{2 * a} w₂^{2 * b}",
        dimension=2,
        loss=lambda w: w[..., 0] ** (2 * a) * w[..., 1] ** (2 * b),
        by_volume=volume,
        by_temperature=temperature,
        limit=min(p, q),
        multiplicity=2 if a == b else 1,
    )


def _unequal(p: float, q: float) -> tuple[Curve, Curve]:
    def volume(eps):
        high, low = np.asarray(eps, float) ** p, np.asarray(eps, float) ** q
        return p * q * (low - high) / (p * low - q * high)

    def temperature(beta):
        beta = np.asarray(beta, float)

        def moment(order):
            return _gamma(order + q, beta) - beta ** (q - p) * _gamma(order + p, beta)

        return moment(1) / moment(0)

    return volume, temperature


def _equal(p: float) -> tuple[Curve, Curve]:
    """Z is int_0^1 of that of w1^(2a) at beta w2^(2a), so that lambda_Z = p - p gamma(p, beta)/J(beta)."""

    def volume(eps):
        return p - p / (1 + p * np.log(1 / np.asarray(eps, float)))

    def temperature(beta):
        beta = np.asarray(beta, float)
        return p - p * _gamma(p, beta) / _integral(p, beta)

    return volume, temperature


def _integral(p: float, beta):
    """J(beta) = p int_0^beta gamma(p, t)/t dt."""

    def of_number(value: float) -> float:
        # With t = u^(1/p) the integrand gamma(p, t)/t dt is gamma(p, u^(1/p))/(p u) du, which is smooth at 0.
        top = min(value, 40.0)
        integral = integrate.quad(
            lambda u: special.gammainc(p, u ** (1 / p)) / u, 0, top**p, limit=200, epsabs=0
        )[0]
        return special.gamma(p) * (integral + p * np.log(value / top))

    return np.vectorize(of_number, otypes=[float])(beta)


def _gamma(order: float, beta):
    """Lower incomplete gamma function, not regularised."""
    return special.gammainc(order, np.asarray(beta, float)) * special.gamma(order)


def temperature_from_volume(by_volume: Curve, beta: float, eps) -> float:
    """lambda_Z(beta) as the mean of lambda(eps) under V(eps) exp(-beta eps), V integrated up from lambda by trapezia.

    `by_volume` is lambda(eps), `eps` an ascending grid from far below lambda/beta to far above it. Below its first
    point a power law is taken, above its last nothing. The only way from a curve over eps alone, such as a measured one.
    """
    eps = np.asarray(eps, float)
    curve, log = np.asarray(by_volume(eps), float), np.log(eps)
    volume = np.concatenate([[0], np.cumsum((curve[1:] + curve[:-1]) / 2 * np.diff(log))])
    exponent = volume + log - beta * eps
    weight = np.exp(exponent - exponent.max())
    return float(np.trapezoid(weight * curve, log) / np.trapezoid(weight, log))
