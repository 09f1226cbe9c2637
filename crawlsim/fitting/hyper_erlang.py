"""Mixtures of Erlang laws, and those of two or three moments.

All fitted laws of sizes and service times are of this family: exponential (one branch of one
phase), Erlang (one branch), hyperexponential (branches of one phase), and mixtures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from scenarios.arrays import Array

_MOST_PHASES = 1000


@dataclass(frozen=True)
class HyperErlang:
    """A mixture of Erlang laws.

    Attributes
    ----------
    probabilities : tuple of float
        Of the branches.
    shapes : tuple of int
        Phases of each branch.
    rates : tuple of float
        Of each phase of a branch.
    """

    probabilities: tuple[float, ...]
    shapes: tuple[int, ...]
    rates: tuple[float, ...]

    @property
    def means(self) -> Array:
        """Mean of each branch."""
        means: Array = np.array(self.shapes, float) / np.array(self.rates)
        return means

    @property
    def name(self) -> str:
        """What such a law is called."""
        if len(self.shapes) == 1:
            return "exponential" if self.shapes[0] == 1 else f"Erlang({self.shapes[0]})"
        if set(self.shapes) == {1}:
            return f"hyperexponential({len(self.shapes)})"
        return f"mixture of Erlang({', '.join(map(str, self.shapes))})"

    def moment(self, order: int) -> float:
        """E X^order."""
        shapes = np.array(self.shapes, float)
        rates = np.array(self.rates)
        powers = special.poch(shapes, order) / rates**order
        return float(np.array(self.probabilities) @ powers)

    def survival(self, x: ArrayLike) -> Array:
        """P(X > x), of the shape of `x`."""
        x = np.asarray(x, float)[..., None]
        tails = special.gammaincc(np.array(self.shapes), np.array(self.rates) * x)
        result: Array = tails @ np.array(self.probabilities)
        return result

    def scaled(self, factor: float) -> HyperErlang:
        """The law of `factor` times X."""
        return HyperErlang(
            self.probabilities, self.shapes, tuple(rate / factor for rate in self.rates)
        )

    def entry(self) -> dict[str, Any]:
        """The distribution as a scenario file has it."""
        if len(self.shapes) == 1:
            mean = float(self.means[0])
            if self.shapes[0] == 1:
                return {"exponential": {"mean": mean}}
            return {"erlang": {"shape": self.shapes[0], "mean": mean}}
        if set(self.shapes) == {1}:
            entries = {"probabilities": list(self.probabilities), "rates": list(self.rates)}
            return {"hyperexponential": entries}
        alpha, steps = self.phases()
        return {"phase-type": {"alpha": alpha.tolist(), "T": steps.tolist()}}

    def phases(self) -> tuple[Array, Array]:
        """Start vector and sub-generator: the branches one below the other."""
        starts = np.cumsum((0, *self.shapes[:-1]))
        alpha = np.zeros(sum(self.shapes))
        steps = np.zeros((sum(self.shapes),) * 2)
        alpha[starts] = self.probabilities
        rows = np.repeat(self.rates, self.shapes)
        steps[np.diag_indices(len(rows))] = -rows
        inner = np.ones(len(rows) - 1, dtype=bool)
        inner[starts[1:] - 1] = False
        above = np.flatnonzero(inner)
        steps[above, above + 1] = rows[above]
        return alpha, steps


def two_moments(mean: float, variation: float) -> HyperErlang:
    """The usual law with a mean and a squared coefficient of variation c.

    Parameters
    ----------
    mean : float
        Positive.
    variation : float
        c > 0. At 1 exponential; above, hyperexponential with balanced means; below, a mixture of
        Erlang laws of k - 1 and k phases of one rate, 1/k <= c <= 1/(k - 1).

    Raises
    ------
    ValueError
        If c is so small that more than a thousand phases were needed.

    Notes
    -----
    Tijms, A First Course in Stochastic Models (2003), B.1 and B.2.
    """
    if abs(variation - 1.0) < 1e-9:
        return HyperErlang((1.0,), (1,), (1.0 / mean,))
    if variation > 1.0:
        tilt = np.sqrt((variation - 1.0) / (variation + 1.0))
        shares = (float(1.0 + tilt) / 2, float(1.0 - tilt) / 2)
        return HyperErlang(shares, (1, 1), (2 * shares[0] / mean, 2 * shares[1] / mean))
    if variation * _MOST_PHASES < 1.0:
        raise ValueError(f"a variation of {variation:g} needs more than {_MOST_PHASES} phases")
    phases = int(np.ceil(1.0 / variation - 1e-9))
    root = np.sqrt(max(phases * (1 + variation) - phases**2 * variation, 0.0))
    share = float((phases * variation - root) / (1 + variation))
    rate = (phases - share) / mean
    if share < 1e-9:
        return HyperErlang((1.0,), (phases,), (phases / mean,))
    return HyperErlang((share, 1.0 - share), (phases - 1, phases), (rate, rate))


def three_moments(first: float, second: float, third: float, most: int = 100) -> HyperErlang:
    """The mixture of two Erlang laws of one common order with three given moments.

    Parameters
    ----------
    first, second, third : float
        E X, E X^2, E X^3.
    most : int
        Largest number of phases of a branch.

    Raises
    ------
    ValueError
        If no law has these moments, or the order were above `most`.

    Notes
    -----
    avrachenkov2011, section 7, for order n = 1, and the same for any n (Johnson and Taaffe 1989;
    docs/derivations.md): with f_k = E X^k / (n (n+1) … (n+k-1)) the means x_1, x_2 of a phase are
    the roots of ``x^2 - a x + b``, ``a = (f3 - f1 f2) / (f2 - f1^2)``, ``b = (f1 f3 - f2^2) / (f2 -
    f1^2)``. The smallest n with f2 > f1^2 and f1 f3 > f2^2 is taken; there is one for all moments
    but those of a constant.
    """
    if not (first > 0 and second > first**2 and first * third > second**2):
        raise ValueError(f"no positive law has the moments {first:g}, {second:g}, {third:g}")
    for order in range(1, most + 1):
        f1 = first / order
        f2 = second / (order * (order + 1))
        f3 = third / (order * (order + 1) * (order + 2))
        if f2 > f1**2 and f1 * f3 > f2**2:
            return _two_points(f1, f2, f3, order)
    raise ValueError(f"the moments need branches of more than {most} phases")


def _two_points(f1: float, f2: float, f3: float, order: int) -> HyperErlang:
    """The mixture whose mean phase times have moments f1, f2, f3.

    Reckoned from the central moments: so the shares are between 0 and 1 whatever is rounded.
    """
    variance = f2 - f1**2
    skew = (f3 - 3 * f1 * f2 + 2 * f1**3) / variance
    root = np.sqrt(skew**2 + 4 * variance)
    above = (root + skew) / 2 if skew > 0 else 2 * variance / (root - skew)
    below = variance / above
    if not below < f1:
        raise ValueError("rounding leaves no mixture with these moments")
    share = float(below / (above + below))
    rates = (float(1.0 / (f1 + above)), float(1.0 / (f1 - below)))
    return HyperErlang((share, float(above / (above + below))), (order, order), rates)
