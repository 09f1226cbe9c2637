"""Mixtures of Erlang laws with given first two moments."""

from __future__ import annotations

import math
from typing import NamedTuple


class ErlangMixture(NamedTuple):
    """Probabilities of the branches, the phases of each, and the rate of each of these phases."""

    probabilities: tuple[float, ...]
    shapes: tuple[int, ...]
    rates: tuple[float, ...]


def two_moment_match(mean: float, variation: float, most: int) -> ErlangMixture:
    """The usual law with a mean and a squared coefficient of variation c.

    Parameters
    ----------
    mean : float
        Positive.
    variation : float
        c >= 0. At 1 exponential; above, two exponential laws with balanced means; below, a mixture
        of Erlang laws of k - 1 and k phases of one rate, 1/k <= c <= 1/(k - 1).
    most : int
        Phases that it may have; below c = 1 / most an Erlang law of this many, which varies more.

    Notes
    -----
    Tijms, A First Course in Stochastic Models (2003), B.1 and B.2.
    """
    if most == 1 or math.isclose(variation, 1.0, rel_tol=1e-9):
        return ErlangMixture((1.0,), (1,), (1.0 / mean,))
    if variation > 1.0:
        tilt = math.sqrt((variation - 1.0) / (variation + 1.0))
        shares = (1.0 + tilt) / 2, (1.0 - tilt) / 2
        return ErlangMixture(shares, (1, 1), (2 * shares[0] / mean, 2 * shares[1] / mean))
    phases = math.ceil(1.0 / variation - 1e-9) if variation * most > 1.0 else most
    if variation * phases <= 1.0 + 1e-9:
        return ErlangMixture((1.0,), (phases,), (phases / mean,))
    root = math.sqrt(phases * (1 + variation) - phases**2 * variation)
    share = (phases * variation - root) / (1 + variation)
    rate = (phases - share) / mean
    return ErlangMixture((share, 1.0 - share), (phases - 1, phases), (rate, rate))
