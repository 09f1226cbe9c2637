"""The best order for several servers or pages, with a certificate that no other is better.

Ages are the slots since each server's last visit. A server pays for a visit in advance, ``e(1)``,
and ``e(x + 1) - e(x)`` while it ages from x to x + 1; ages stop at a cap, where the same rise is
paid again and again. For costs that are convex in the distance that is never too much, so that the
cycle of least mean in the finite graph of capped ages is a bound below *every* order; and where no
distance along it is above its cap + 1, its mean is its true cost, and it is the optimum. Otherwise
caps are raised. A cap of 0 means that the age is not looked at, and a visit pays the limit of e:
still a bound, and the exact cost of orders that never visit the server.

Notes
-----
Theorem 3.1 of altman2000 (a periodic order is optimal) with a finite graph that proves it case by
case; catalogue of altman2000, section 3.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.routing.bounds import LinearBound, convex_minorant, linear_bound, slopes
from analytic.routing.spacing import SpacingCosts
from analytic.routing.words import Word, cyclic_distances, least_rotation

__all__ = ["MOST_STATES", "Certified", "certified_word", "charges"]

Array = NDArray[np.floating[Any]]

MOST_STATES = 3_000_000
"""States of all graphs together up to which they are built: some 200 MB, and 20 seconds."""

_SECONDS = 2.5e-6
"""Per state and server, of Howard's 60 rounds or so."""

_PATIENCE = 3.0
"""Seconds after which a person wants to know what goes on."""

_LOG = logging.getLogger(__name__)
_MOST_CODES = 2**26
_VISITED = 1e-9
"""Share in the linear bound above which a server is expected to be visited."""


class Certified(NamedTuple):
    """What the graphs of capped ages gave.

    Attributes
    ----------
    word : tuple of int or None
        The best word found; None where already the first graph was too large.
    cost : float
        Its cost per slot.
    bound : float
        Below the cost of every order.
    caps : tuple of int
        Of the last graph.
    states, rounds : int
        Of the last graph, and Howard's rounds in it.
    ages : ndarray, shape (states, servers)
        Before a slot, of every state of the last graph; None where there was none.
    values : ndarray, shape (states,)
        Its dual values v: with a visit to a from ages x to y, in which every other server's age
        goes up by one up to its cap and that of a becomes 1, ``rises + first - v(x) + v(y)`` is
        at least the bound of that graph, whatever v is (`charges` has rises and firsts).
    """

    word: Word | None
    cost: float
    bound: float
    caps: tuple[int, ...] = ()
    states: int = 0
    rounds: int = 0
    ages: NDArray[Any] | None = None
    values: Array | None = None

    def is_proved(self, costs: SpacingCosts) -> bool:
        """Whether cost and bound differ by no more than rounding."""
        return self.word is not None and self.cost - self.bound <= 1e-12 * _scale(costs)


def certified_word(costs: SpacingCosts, most_states: int = MOST_STATES) -> Certified:
    """The best word of all lengths, or a good one with a bound.

    Parameters
    ----------
    costs : SpacingCosts
    most_states : int
        Of all graphs together; then caps are raised no more.
    """
    bound = linear_bound(costs)
    best, refuted = Certified(None, math.inf, bound.value), set[int]()
    caps: tuple[int, ...] | None = _first_caps(bound)
    while caps is not None and (found := _solved(costs, caps, most_states)) is not None:
        most_states -= found.states
        best = _better(best, found, _scale(costs))
        caps = None if best.is_proved(costs) else _raised(found, refuted)
    return best


def _scale(costs: SpacingCosts) -> float:
    return float(np.abs(costs.table[:, 0]).max())


def _first_caps(bound: LinearBound) -> tuple[int, ...]:
    """Caps a little above the distances that the linear bound suggests."""
    return tuple(
        min(math.ceil(1 / share) + 1, 2**14) if share > _VISITED else 0
        for share in bound.shares.tolist()
    )


def _better(best: Certified, found: Certified, scale: float) -> Certified:
    """The cheaper word with the higher bound; the optimum itself where they meet."""
    cheaper = found if found.cost < best.cost - 1e-13 * scale else best
    return found._replace(word=cheaper.word, cost=cheaper.cost, bound=max(best.bound, found.bound))


def _raised(found: Certified, refuted: set[int]) -> tuple[int, ...] | None:
    """Caps that can prove more; None where there are none.

    A server whose age counts, and that is not visited, is tried with a cap of 0 once.
    """
    assert found.word is not None
    distances = cyclic_distances(found.word)
    caps = list(found.caps)
    for server, cap in enumerate(found.caps):
        own = distances.get(server, ())
        if cap == 0 and own:
            refuted.add(server)
            caps[server] = max(own) + 1
        elif cap and not own:
            caps[server] = 2 * cap if server in refuted else 0
        elif cap and max(own) > cap + 1:
            caps[server] = max(own)
    return tuple(caps) if caps != list(found.caps) else None


def _solved(costs: SpacingCosts, caps: Sequence[int], most_states: int) -> Certified | None:
    """The cycle of least mean in the graph with these caps, or None if it is too large."""
    from analytic.routing.kernels import explored, least_mean_cycle

    tracked = np.maximum(np.array(caps, dtype=np.int64), 1)
    if math.prod(tracked.tolist()) > _MOST_CODES or max(caps) >= costs.longest:
        return None
    ages, after = explored(tracked, most_states)
    if not len(ages):
        return None
    _announce(len(ages), costs.count)
    rise, first = charges(costs, caps)
    policy = _by_index(costs, ages, caps)
    values = np.zeros(len(ages))
    visits, _, low, rounds = least_mean_cycle(ages, after, rise, first, policy, values)
    word = least_rotation(visits.tolist())
    bound = costs.base + float(low)
    return Certified(word, costs.of(word), bound, tuple(caps), len(ages), int(rounds), ages, values)


def _announce(states: int, servers: int) -> None:
    """Say that a large graph takes its time, before it does."""
    if (seconds := states * servers * _SECONDS) > _PATIENCE:
        _LOG.info("%s states of capped ages, about %.0f s", f"{states:,}", seconds)


def charges(costs: SpacingCosts, caps: Sequence[int]) -> tuple[Array, Array]:
    """What each server pays while it ages, by its age; and for a visit, by its number.

    At the cap the smallest mean rise to any greater age, which for convex costs is the next one.
    """
    rise, first = np.zeros((costs.count, max(caps) + 2)), costs.table[:, 0].copy()
    table = costs.table if costs.is_convex else convex_minorant(costs)
    for server, cap in enumerate(caps):
        row = costs.table[server]
        if cap == 0:
            first[server] = costs.limits[server]
            continue
        rise[server, 1:cap] = np.diff(row[:cap])
        later = table[server, cap:] - row[cap - 1]
        if not (costs.beyond and costs.is_convex):
            later = np.append(later, costs.limits[server] - row[cap - 1])
        rise[server, cap] = (later / np.arange(1, len(later) + 1)).min()
    return rise, first


def _by_index(costs: SpacingCosts, ages: NDArray[Any], caps: Sequence[int]) -> NDArray[np.int8]:
    """The visit of least D in every state, to begin with."""
    steep = slopes(costs.table)
    worth = np.empty((len(ages), costs.count))
    for server, cap in enumerate(caps):
        own = steep[server, ages[:, server] - 1] if cap else costs.limits[server]
        worth[:, server] = own
    result: NDArray[np.int8] = worth.argmin(axis=1).astype(np.int8)
    return result
