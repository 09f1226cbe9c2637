"""Closed forms for pages that go through a buffer without limit: M/M/1, pages drawn at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from scenarios.arrays import Array


def unlimited_rates(
    changes: ArrayLike, shares: ArrayLike, deliveries: float, service: float
) -> Array:
    """Obsolescence rate, end to end, where all deliveries can wait, shape (pages,).

    Parameters
    ----------
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.
    deliveries : float
        Poisson rate L of all deliveries.
    service : float
        Rate s of the exponential service.

    Raises
    ------
    ValueError
        If the load ``rho = L / s`` is not below 1.

    Notes
    -----
    ``1 - r = (1 - rho) (a / (1 - rho y) + b / (1 - rho z))``, ``a = f y / (1 - (1 - f) y)``,
    ``b = -a (mu / s) z / (1 - z)``, ``z = 2 s / (B + sqrt(B² - 4 L (1 - f) s))``,
    ``B = mu + s + L``: the bounded solution of the linear system, level by level.
    """
    mu = np.asarray(changes, dtype=float)
    f = np.asarray(shares, dtype=float)
    rho = deliveries / service
    if rho >= 1.0:
        raise ValueError(f"the load {rho:.6g} must be below 1")
    y = service / (service + mu)
    total = mu + service + deliveries
    z = 2.0 * service / (total + np.sqrt(total**2 - 4.0 * deliveries * (1.0 - f) * service))
    with np.errstate(divide="ignore", invalid="ignore"):
        a = f * y / (1.0 - (1.0 - f) * y)
        b = -a * (mu / service) * z / (1.0 - z)
        fresh = (1.0 - rho) * (a / (1.0 - rho * y) + b / (1.0 - rho * z))
    return np.where(mu > 0, np.where(f > 0, 1.0 - fresh, 1.0), 0.0)


def unlimited_age(deliveries: float, service: float) -> float:
    """Mean age of the copy in the index with one page in M/M/1.

    ``(1/s) (1 + 1/rho + rho² / (1 - rho))`` (Kaul, Yates, Gruteser, 2012).

    Parameters
    ----------
    deliveries, service : float
        Rates L and s, L < s.
    """
    rho = deliveries / service
    return (1.0 + 1.0 / rho + rho**2 / (1.0 - rho)) / service
