"""How long a large queue remembers that it started empty.

Let d(t) be how far the distribution at time t is from the stationary one. Its areas

    M_k = integral of t^(k - 1) / (k - 1)! d(t) dt,  k = 1, 2, …,

take one factorisation of the generator and one more solution for each k. As d decreases, they bound
what is left of it after a time w: ``d(w) <= k! M_k / w^k``, and the area beyond w is at most
``(k - 1)! M_k / w^(k - 1)``. Eigenvalues would not do: those of a long queue with a drift are lost
in rounding errors, and the start is so rare that they tell little of how long it takes to fill.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from analytic.machinery.markov import birth_death
from scenarios.arrays import Array

_AREAS = 12
"""Areas that are computed; the bounds hardly improve beyond them."""

FORGOTTEN = 0.001
"""Distance from the stationary distribution at which the start is forgotten."""


class Forgetting(NamedTuple):
    """How a system forgets its start.

    Attributes
    ----------
    areas : ndarray, shape (areas,)
        M_1, M_2, …
    """

    areas: Array

    @property
    def time(self) -> float:
        """A time after which the distance is at most `FORGOTTEN`."""
        with np.errstate(divide="ignore"):
            logarithms = (
                scipy.special.gammaln(self._orders + 1) + np.log(self.areas) - math.log(FORGOTTEN)
            )
        return float(np.exp(logarithms / self._orders).min())

    def left(self, warmup: float) -> float:
        """The area of the distance beyond a warm-up."""
        if warmup <= 0:
            return float(self.areas[0])
        with np.errstate(divide="ignore"):
            logarithms = scipy.special.gammaln(self._orders) + np.log(self.areas)
        return float(np.exp(logarithms - (self._orders - 1) * math.log(warmup)).min())

    def slower(self, factor: float) -> Forgetting:
        """The same of a system in which everything takes that many times as long."""
        return Forgetting(self.areas * factor**self._orders)

    @property
    def _orders(self) -> Array:
        return np.arange(1.0, len(self.areas) + 1.0)


def forgetting(generator: Array | scipy.sparse.csr_array, start: Array, likely: int) -> Forgetting:
    """How a chain with one closed class forgets where it started.

    The distance is twice that in total variation. It is taken state by state after integration,
    where the differences of a state that is passed on the way may cancel: so this is a bound by
    experience, which M/M/1 queues at loads of 0.5 to 2 keep (tested), and not by proof.

    Parameters
    ----------
    generator : ndarray or sparse, shape (states, states)
        With its diagonal.
    start : ndarray, shape (states,)
        Distribution at time 0.
    likely : int
        A state that is likely in the long run: all others are related to it.

    Notes
    -----
    The integrals ``x_k`` of ``t^(k - 1) / (k - 1)! (p(t) - p)`` solve ``x_1 Q = p - p(0)`` and
    ``x_(k + 1) Q = -x_k``, and each of them sums to 0.
    """
    balance = scipy.sparse.csc_matrix(generator).T.tocsc()
    others = np.delete(np.arange(balance.shape[0]), likely)
    lu = scipy.sparse.linalg.splu(balance[others][:, others], permc_spec="MMD_AT_PLUS_A")
    stationary = np.ones(len(start))
    stationary[others] = lu.solve(-balance[:, [likely]].toarray().ravel()[others])
    stationary = np.maximum(stationary, 0.0) / np.maximum(stationary, 0.0).sum()
    areas = []
    right = stationary - start
    for _ in range(_AREAS):
        integral = np.zeros(len(start))
        integral[others] = lu.solve(right[others])
        integral -= integral.sum() * stationary
        areas.append(float(np.abs(integral).sum()))
        right = -integral
    return Forgetting(np.array(areas))


def forgetting_of_levels(births: Array, deaths: Array) -> Forgetting:
    """How a birth-death chain on 0 … n forgets that it started in 0.

    Parameters
    ----------
    births, deaths : ndarray, shape (n,)
        Rates from level i to i + 1, and back.
    """
    rates = np.concatenate([births, [0.0]]) + np.concatenate([[0.0], deaths])
    generator = scipy.sparse.diags_array([births, -rates, deaths], offsets=[1, 0, -1])
    start = np.zeros(len(rates))
    start[0] = 1.0
    return forgetting(generator, start, int(np.argmax(birth_death(births, deaths))))
