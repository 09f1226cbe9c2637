"""A band around an estimate that holds after every replication at once, so that it may be watched.

A 95 % interval of Student's t is right at one number of replications that was fixed in advance.
Who looks after each replication sees the true value outside of it sooner or later. The band of this
page is left at *any* time with at most the probability `error`: it inverts a test martingale, that
of the t-test with a normal prior on the mean in units of the unknown standard deviation
(lai1976; wang2025), and Ville's inequality bounds its largest value ever.
"""

from __future__ import annotations

import math

PRIOR = 6.0
"""Replications that the prior counts for: the fewest errors to each side are those after 100."""

FIRST = 10
"""Replications before there is a band: fewer are not yet normal, whatever they are means of."""


def errors_to_each_side(replications: int, error: float) -> float:
    """Standard errors to each side of the band; infinite while there is none.

    With n values of mean m and biased variance v, the martingale at a distance d from m is

        sqrt(c / (n + c)) * ((n + c) (v + d²) / ((n + c) v + c d²))^(n/2),

    c being `PRIOR`; the band holds the distances at which it is below 1 / `error`.

    Parameters
    ----------
    replications : int
        n.
    error : float
        Probability that the band is ever left.
    """
    n = replications
    if n < FIRST:
        return math.inf
    factor = ((n + PRIOR) / PRIOR / error**2) ** (1.0 / n)
    reach = n + PRIOR - factor * PRIOR
    if reach <= 0.0:
        return math.inf
    # In units of the standard error, whose square is v / (n - 1).
    return math.sqrt((factor - 1.0) * (n + PRIOR) / reach * (n - 1))
