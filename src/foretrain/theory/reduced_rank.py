"""The learning coefficient of two linear layers at zero, at every inverse temperature: no limit, one determinant.

exp(-beta |V U|^2 - gamma (|U|^2 + |V|^2)/2) with U of shape (h, a), V of shape (b, h). Of V it is Gaussian; what is left is a
density of the d = min(a, h) eigenvalues m of U U^T (of U^T U if a < h) that are not always zero,

    prod |m_i - m_j| prod m_i^((|a - h| - 1)/2) exp(-gamma m_i/2) (gamma + 2 beta m_i)^(-b/2),

whose integral is a Pfaffian of integrals over two of them (de Bruijn 1955), and lambda_Z = -d ln Z/d ln beta.
"""

import numpy as np

from foretrain.errors import argument_error, integer, real

_POINTS = 4000  # of the quadrature in ln m


def coefficient_at(widths, beta: float, pull: float = 1.0) -> float:
    """lambda_Z(beta) = beta E[|V U|^2] around U = V = 0.

    `widths` are (a, h, b), inputs, hidden units, outputs; `beta` > 0 is the inverse temperature of |V U|^2, `pull` gamma > 0,
    and only beta/gamma^2 matters. To some 1e-6 for widths up to eight. For beta -> inf it tends to Aoyagi's coefficient, as
    (m - 1)/ln(beta).
    """
    if len(widths) != 3:
        raise argument_error("widths", "be three numbers", f"has {len(widths)}")
    a, h, b = (integer("widths", width, minimum=1) for width in widths)
    at = np.log(real("beta", beta, above=0) / real("pull", pull, above=0) ** 2)
    step = 1e-3
    up, down = (_log_integral(a, h, b, np.exp(at + shift)) for shift in (step, -step))
    return float((down - up) / (2 * step))


def _log_integral(a: int, h: int, b: int, beta: float) -> float:
    """Logarithm of Z up to a constant, gamma = 1."""
    size = min(a, h)
    t = np.linspace(np.log(1e-10 / beta), np.log(2 * (a + h) + 200.0), _POINTS)
    m = np.exp(t)
    log = (abs(a - h) + 1) / 2 * t - m / 2 - b / 2 * np.log1p(2 * beta * m)
    columns = np.exp(log - log.max())[:, None] * m[:, None] ** np.arange(size) * (t[1] - t[0])
    # Polynomials that are orthogonal on the points: the Pfaffian of powers themselves would be lost to rounding.
    basis, triangle = np.linalg.qr(columns)
    below = np.cumsum(basis, 0) - basis / 2
    inner = below.T @ basis
    matrix = inner - inner.T
    if size % 2:
        total = basis.sum(0)
        matrix = np.block([[matrix, total[:, None]], [-total, np.zeros((1, 1))]])
    value = np.linalg.slogdet(matrix)[1] / 2 + np.log(np.abs(np.diag(triangle))).sum()
    return float(value + size * log.max())
