"""What the words of [pages] and of an accessing policy stand for, as numbers.

Change rates and weights are computed once for all who ask, and are read-only.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scenarios.accessing import Accessing
from scenarios.accessing.cyclic import Cyclic
from scenarios.arrays import Array
from scenarios.columns import Column
from scenarios.sections import Pages, Robots, Zipf, ZipfHosts

_GOLDEN = (5**0.5 - 1) / 2


@lru_cache(maxsize=1)
def change_rates(pages: Pages) -> Array:
    """Change rate of each page, shape (pages,)."""
    given = pages.change_rates
    if isinstance(given, Zipf):
        law = given.root
        shares = np.arange(1.0, law.pages + 1) ** -law.exponent
        return _read_only(law.total * shares / shares.sum())
    return _read_only(np.array(given.numbers if isinstance(given, Column) else given))


@lru_cache(maxsize=1)
def page_weights(pages: Pages) -> Array:
    """Weight of each page in the cost and among the queries, shape (pages,)."""
    given = pages.weights
    if given == "change-rate":
        return change_rates(pages)
    if given == "uniform":
        return _read_only(np.ones(pages.count))
    return _read_only(np.array(given.numbers if isinstance(given, Column) else given))


def _read_only(values: Array) -> Array:
    values.flags.writeable = False
    return values


def page_hosts(pages: Pages) -> NDArray[np.intp]:
    """The host of each page, shape (pages,).

    Of hosts given by their sizes, page i lies where the fractional part of ``(i + 1/2) phi`` falls
    among their shares: sizes are right to a few pages, and pages that follow each other are spread.
    """
    given = pages.hosts
    assert given is not None
    if isinstance(given, ZipfHosts):
        law = given.root
        ends = np.cumsum(np.arange(1.0, law.hosts + 1) ** -law.exponent)
        point = (np.arange(pages.count) + 0.5) * _GOLDEN % 1.0
        return np.minimum(np.searchsorted(ends / ends[-1], point, side="right"), law.hosts - 1)
    return np.array(given.numbers if isinstance(given, Column) else given, dtype=np.intp)


def host_spacings(robots: Robots, pages: Pages) -> Array:
    """Least time between the starts of two accesses at each host, shape (hosts,).

    No entries where pages have no hosts, 0 where a host has no limit.
    """
    given = robots.host_spacing
    if given is None:
        return np.zeros(pages.host_count)
    return np.broadcast_to(np.array(given, dtype=float), pages.host_count).copy()


def access_shares(policy: Accessing, pages: Pages) -> Array:
    """Share of the accesses that the policy is to give each page, shape (pages,).

    Those of a template are what it holds; "optimal" must have been resolved to numbers before.
    """
    if isinstance(policy, Cyclic):
        counts = np.bincount(policy.template, minlength=pages.count)
        return counts / len(policy.template)
    frequencies = getattr(policy, "frequencies", "uniform")
    if frequencies == "change-rate":
        rates = change_rates(pages)
        shares: Array = rates / rates.sum()
        return shares
    if frequencies == "uniform":
        return np.full(pages.count, 1.0 / pages.count)
    given = frequencies.numbers if isinstance(frequencies, Column) else frequencies
    return np.array(given, dtype=float)
