"""Distribution function and transform of the sojourn time, by class of pages.

The tagged page of `tagged`: classes are "served", "obsolete", "accepted" (all pages that enter)
and "all" (with time 0 for pages refused on arrival).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc

from analytic.indexing_queue.chain import QueueChain
from analytic.indexing_queue.marginals import marginals_of
from analytic.indexing_queue.measures import fate_rates
from analytic.indexing_queue.tables import tables_of, working_space
from analytic.indexing_queue.tagged import CLASSES, ends_at, ends_of, entries, followed
from analytic.progress import Progress
from scenarios.arrays import Array

MOST_JUMPS = 10**6
"""Jumps up to the longest time, at the largest rate of a state."""


def sojourn_transform(chain: QueueChain, law: Array, s: ArrayLike) -> dict[str, Array]:
    """Laplace-Stieltjes transform ``E exp(-s V)`` of the sojourn time V, by class of pages.

    Parameters
    ----------
    chain : QueueChain
    law : ndarray, shape (states,)
        Stationary probabilities.
    s : array_like
        Real, >= 0 (a complex s is refused); per unit time.

    Returns
    -------
    dict of ndarray
        By class, of the shape of s; classes without pages are left out.

    Raises
    ------
    ValueError
        If an s is complex, negative or not finite.

    Notes
    -----
    avrachenkov2011, Theorem 4: ``a (sI - T)^-1 t_c / a (-T)^-1 t_c``.
    """
    points = _not_negative("s", s)
    starts = entries(chain, law)
    progress = Progress(f"sojourn times in a chain of {chain.states:,} states", points.size)
    ends = []
    for each in points.ravel():
        ends.append(ends_of(chain, starts, 1, float(each))[0])
        progress.step()
    shares = np.array(ends).reshape(*points.shape, 2)
    return _by_class(chain, law, starts, shares)


def sojourn_cdf(chain: QueueChain, law: Array, times: ArrayLike) -> dict[str, Array]:
    """Distribution function ``P(V <= t)`` of the sojourn time V, by class of pages.

    Parameters
    ----------
    chain : QueueChain
    law : ndarray, shape (states,)
        Stationary probabilities.
    times : array_like
        t >= 0.

    Returns
    -------
    dict of ndarray
        By class, of the shape of `times`; classes without pages are left out. That of "all" jumps
        at 0 to the loss probability.

    Raises
    ------
    ValueError
        If a time is negative or not finite, or so long that a million jumps are expected in it.

    Notes
    -----
    avrachenkov2011, Theorem 4: ``1 - a e^{Tt} f_c / a f_c`` with ``f_c = (-T)^-1 t_c``, here
    ``∫_0^t a e^{Tu} t_c du`` by uniformisation: the page ends with jump k + 1 of a Poisson process
    with probabilities that are sums of products, and that jump comes before t with probability
    ``gammainc(k + 1, rate t)``. Absolute error below 1e-14 times the number of jumps' logarithm.
    """
    points = _not_negative("times", times)
    starts = entries(chain, law)
    rate = fastest_rate(chain)
    expected = rate * float(points.max(initial=0.0))
    if expected > MOST_JUMPS:
        raise ValueError(
            f"{expected:.3g} jumps are expected up to time {points.max():g}; "
            f"must be at most {MOST_JUMPS}"
        )
    jumps = 1 + math.ceil(expected + 9 * math.sqrt(expected) + 30)
    shares = np.zeros((*points.shape, 2))
    for jump, ends in enumerate(_ends_by_jump(chain, starts, rate, jumps)):
        shares += gammainc(jump + 1, rate * points)[..., None] * ends
    return _by_class(chain, law, starts, shares)


def _not_negative(name: str, values: ArrayLike) -> Array:
    if np.iscomplexobj(values):
        raise ValueError(f"{name} = {values!r} must be real")
    found = np.asarray(values, dtype=float)
    if not np.all((found >= 0) & np.isfinite(found)):
        raise ValueError(f"{name} = {values!r} must be finite and >= 0")
    return found


def fastest_rate(chain: QueueChain) -> float:
    """Largest rate out of a state of the tagged page."""
    service = np.max(-np.diag(chain.service.generator))
    return float(service + (chain.top - 1) * np.max(-np.diag(chain.timer.generator)))


def _by_class(chain: QueueChain, law: Array, starts: list[Array], rates: Array) -> dict[str, Array]:
    """Per page of each class, from rates of served and obsolete pages, shape (…, 2)."""
    pages = ends_of(chain, starts, 1)[0]
    by_class = dict(zip(CLASSES, (rates[..., 0], rates[..., 1], rates.sum(axis=-1)), strict=True))
    found = {
        name: value / getattr(pages, name)
        for name, value in by_class.items()
        if getattr(pages, name) > 0
    }
    fates = fate_rates(chain, marginals_of(chain, law))
    if fates["delivered"] > 0:
        found["all"] = (fates["lost"] + by_class["accepted"]) / fates["delivered"]
    return found


def _ends_by_jump(
    chain: QueueChain, starts: list[Array], rate: float, jumps: int
) -> Iterator[Array]:
    """Rates of pages that end, served and obsolete, with jump 1, 2, … of a Poisson process."""
    from analytic.indexing_queue.kernels import step

    positions = followed(chain)
    tables = tables_of(positions)
    (flow, spare, _) = working_space(positions)
    law = np.concatenate([np.zeros(1), *starts])
    rates = np.empty_like(flow)
    total = law.sum()
    for _ in range(jumps):
        yield (
            np.sum(
                [
                    ends_at(chain, position, law[first:last])
                    for position, first, last in _parts(positions)
                ],
                axis=0,
            )
            / rate
        )
        step(tables, law, (flow, spare, rates), rate)
        if law.sum() <= 1e-18 * total:
            return


def _parts(positions: QueueChain) -> list[tuple[int, int, int]]:
    """Each position, and where its part of a vector begins and ends."""
    starts = positions.starts.tolist()
    return [(level, starts[level], starts[level + 1]) for level in range(1, positions.top + 1)]
