"""A budget of bytes: how large pages are, and what visits of them are expected to fetch.

A visit of a page that has not changed since the last one is answered by a 304 of a few hundred
bytes, any other by the page (docs/how-to/scheduling.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from crawlsim.logs.plan.quantities import bytes_in_words
from crawlsim.logs.read.log import Log
from scenarios import ScenarioError
from scenarios.arrays import Array
from scenarios.text import counted

UNCHANGED = 300.0
"""Bytes of the answer that a page has not changed: a status line and a few headers."""

_TINY = 1e-200


@dataclass(frozen=True)
class ByteBudget:
    """A budget of bytes.

    Attributes
    ----------
    per_second : float
        Bytes, all pages together.
    sizes : mapping str -> float, optional
        Bytes of some URLs; of others what the log says.
    unchanged : float
        Bytes of a visit of a page that has not changed.
    """

    per_second: float
    sizes: Mapping[str, float] | None = None
    unchanged: float = UNCHANGED


def sizes_of(budget: ByteBudget, log: Log) -> tuple[Array, list[str]]:
    """The bytes of each page of a log, shape (pages,), and what was assumed, in sentences.

    Raises
    ------
    ScenarioError
        If nothing says the size of any page.
    """
    sizes = np.full(len(log.urls), np.nan) if log.sizes is None else log.sizes.copy()
    notes = []
    if budget.sizes is not None:
        given = np.array([budget.sizes.get(url, np.nan) for url in log.urls.tolist()])
        sizes = np.where(np.isnan(given), sizes, given)
        unknown = len(budget.sizes) - int(np.isfinite(given).sum())
        if unknown:
            notes.append(f"--sizes: {unknown} of its URLs are not in the plan.")
    missing = np.isnan(sizes)
    if missing.all():
        allowed = (
            "needs the sizes of pages: a column size, bytes, content_length or length of the log, "
            "or --sizes FILE with url,bytes"
        )
        asked = f"{bytes_in_words(budget.per_second * 86400)}/day"
        raise ScenarioError("--budget", asked, allowed)
    if missing.any():
        mean = float(sizes[~missing].mean())
        number = int(missing.sum())
        are = "is of unknown size and is" if number == 1 else "are of unknown size and are"
        notes.append(
            f"{number} of {counted(len(sizes), 'page')} {are} taken to have the mean of the "
            f"others, {bytes_in_words(mean)}."
        )
        sizes[missing] = mean
    return sizes, notes


def roughly_even_visits(budget: float, sizes: Array, unchanged: float, rate: float) -> float:
    """Visits per second, all pages alike, that cost a budget if all changed at one rate.

    Parameters
    ----------
    budget : float
        Bytes per second.
    sizes : ndarray, shape (pages,)
    unchanged : float
    rate : float
        Changes per second of a page.
    """
    pages = len(sizes)
    more = float(sizes.mean()) - unchanged

    def surplus(log_visits: float) -> float:
        visits = np.exp(log_visits)
        return float(visits * (unchanged - more * np.expm1(-rate / visits))) * pages - budget

    ends = [float(np.log(budget / pages / each)) for each in (unchanged, unchanged + more)]
    if surplus(min(ends)) >= 0:
        return pages * float(np.exp(min(ends)))
    return pages * float(np.exp(optimize.brentq(surplus, min(ends), max(ends) + 1e-9)))


@dataclass(frozen=True)
class Fetched:
    """What visits of pages are expected to fetch, where change rates are uncertain.

    Attributes
    ----------
    sizes : ndarray, shape (pages,)
    unchanged : float
    log_visits : ndarray, shape (points,)
        Equally spaced logarithms of visits per second, increasing.
    log_found : ndarray, shape (pages, points)
        Logarithms of the expected visits per second that find a change.
    """

    sizes: Array
    unchanged: float
    log_visits: Array
    log_found: NDArray[np.float32]

    def bytes(self, visits: Array) -> Array:
        """Bytes per second of each page, from its visits per second.

        Notes
        -----
        ``c0 f + c1 E[f (1 - exp(-r / f))]``: concave in f, and never falling. The expectation is
        between the points of the grid the cubic polynomial of four of them, in logarithms.
        """
        logs = np.log(visits)
        step = self.log_visits[1] - self.log_visits[0]
        place = np.clip((logs - self.log_visits[0]) / step, 0.0, len(self.log_visits) - 1.0)
        first = np.clip(place.astype(np.int64), 1, len(self.log_visits) - 3)
        t = place - first
        of_four = (
            -t * (t - 1) * (t - 2) / 6,
            (t + 1) * (t - 1) * (t - 2) / 2,
            -(t + 1) * t * (t - 2) / 2,
            (t + 1) * t * (t - 1) / 6,
        )
        row = np.arange(len(visits))
        found = sum(
            weight * self.log_found[row, first + offset]
            for weight, offset in zip(of_four, (-1, 0, 1, 2), strict=True)
        )
        found = np.exp(found + np.minimum(logs - self.log_visits[0], 0.0))
        return self.unchanged * visits + (self.sizes - self.unchanged) * found

    def of(self, pages: NDArray[np.int64]) -> Fetched:
        """Those of some of the pages."""
        return Fetched(self.sizes[pages], self.unchanged, self.log_visits, self.log_found[pages])


def log_found(weights: Array, grid: Array, log_visits: Array) -> NDArray[np.float32]:
    """Logarithms of the expected visits per second that find a change, shape (pages, visits).

    Parameters
    ----------
    weights : ndarray, shape (pages, points)
        Posterior probabilities of the change rates in `grid`.
    grid : ndarray, shape (points,)
    log_visits : ndarray, shape (visits,)
    """
    visits = np.exp(log_visits)
    found = -visits * np.expm1(-grid[:, None] / visits)
    return np.log(np.maximum(weights @ found, _TINY)).astype(np.float32)


def log_bytes_of_one_more(
    weights: Array, grid: Array, log_visits: Array, sizes: Array, unchanged: float
) -> Array:
    """Logarithms of the bytes that one more visit per second costs, shape (pages, visits).

    Parameters
    ----------
    weights, grid, log_visits
        As those of `log_found`.
    sizes : ndarray, shape (pages,)
    unchanged : float

    Notes
    -----
    The derivative of `Fetched.bytes`: ``c0 + c1 E[1 - (1 + x) exp(-x)]`` at ``x = r / f``. The gain
    of freshness over it falls with f whatever the rates: as f grows, the gains of slow pages fall
    faster than those of quick ones, so that ``E[gain / r] / E[gain]`` falls, and so does the rest.
    """
    seen = weights @ special.gammainc(2.0, grid[:, None] / np.exp(log_visits))
    return np.asarray(np.log(unchanged + (sizes - unchanged)[:, None] * seen))
