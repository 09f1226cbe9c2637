"""Timers of any law, first come first served, with Poisson deliveries and exponential service.

The law of the level is exact; what is approximated is that the timers forget their ages: which
waiting page is dropped, and how soon, is what it is on average at that level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from analytic.indexing_queue import QueueChain
from analytic.indexing_queue.chain import NO_TIMER, controlled_chain
from analytic.markov import birth_death
from analytic.phase_type import PhaseLaw
from analytic.pipeline.exploring import Explored, Move, explore
from analytic.pipeline.old_and_new import (
    Handling,
    OldAndNew,
    OldNewState,
    counted_ages,
    counted_rates,
)
from analytic.transforms import jumps, mean_time, survival
from scenarios.arrays import Array
from scenarios.laws import Distribution

_PANELS = 6_000


class DropRates(NamedTuple):
    """Rates at which waiting pages are dropped, by the number that waits.

    Attributes
    ----------
    oldest, other : ndarray, shape (waiting + 1,)
        Of the page that has waited longest, and of each of the others.
    """

    oldest: Array
    other: Array

    @property
    def total(self) -> Array:
        """Of all waiting pages together."""
        result: Array = self.oldest + self.other * np.maximum(np.arange(len(self.other)) - 1.0, 0.0)
        return result


def drop_rates(law: Distribution, service: float, waiting: int) -> DropRates:
    """Mean rates at which waiting pages are dropped, given how many wait.

    Parameters
    ----------
    law : Distribution
        Of the timers.
    service : float
        Rate s of the exponential service.
    waiting : int
        Places.

    Notes
    -----
    With w waiting pages, of ages ``x_1 > … > x_w``, the stationary density is the product
    ``exp(-s x_1) (1 - G(x_1)) … (1 - G(x_w))`` times the delivery rates below that level, whatever
    these are (Brandt and Brandt, 1999, with one server). Integrated over the younger ones,
    ``W_w = ∫ exp(-s x) (1 - G(x)) F(x)^(w-1) / (w-1)! dx`` with ``F(x) = ∫_0^x (1 - G)``. The flow
    between levels gives the rate of all drops, ``W_(w-1) / W_w - s``; by parts that of the oldest
    page is ``V_w / W_w - s``, V as W with ``(1 - G)² F^(w-2) / (w-2)!``.
    The others share the rest evenly.
    """
    x, width, alive, below = _nodes(law, service, waiting)
    log_alive = np.log(np.maximum(alive, np.finfo(float).tiny))
    log_below = np.log(below)

    def integral(power: int, squared: bool) -> float:
        exponents = (1 + squared) * log_alive + power * log_below - service * x - gammaln(power + 1)
        largest = float(exponents.max())
        return largest + float(np.log(np.exp(exponents - largest) @ width))

    waits = [0.0] + [integral(each, False) for each in range(waiting)]
    oldest = np.zeros(waiting + 1)
    other = np.zeros(waiting + 1)
    for each in range(1, waiting + 1):
        total = max(float(np.exp(waits[each - 1] - waits[each])) - service, 0.0)
        if each == 1:
            oldest[each] = total
            continue
        first = float(np.exp(integral(each - 2, True) - waits[each])) - service
        oldest[each] = min(max(first, 0.0), total)
        other[each] = (total - oldest[each]) / (each - 1)
    return DropRates(oldest, other)


def _nodes(law: Distribution, service: float, waiting: int) -> tuple[Array, Array, Array, Array]:
    """Midpoints of panels, their widths, the survival there, and its integral up to there."""
    farthest = (waiting + 12.0 * np.sqrt(waiting) + 40.0) / service
    near = min(mean_time(law), farthest) * 1e-9
    regular = np.linspace(0.0, farthest, _PANELS + 1)
    edges = np.union1d(regular, np.geomspace(near, farthest, _PANELS))
    edges = np.union1d(edges, [each for each in jumps(law) if 0.0 < each < farthest])
    width = np.diff(edges)
    middle = edges[:-1] + width / 2.0
    alive = survival(law, middle)
    until = np.cumsum(alive * width) - alive * width / 2.0
    seen = alive > 0.0
    return middle[seen], width[seen], alive[seen], until[seen]


def level_law(deliveries: ArrayLike, service: float, drops: DropRates) -> Array:
    """Stationary law of the level, shape (places + 1,); exact whatever the law of the timers.

    Parameters
    ----------
    deliveries : array_like, shape (places + 1,)
        Poisson rates of all deliveries by level; those at the top are lost.
    service : float
    drops : DropRates
    """
    births = np.asarray(deliveries, dtype=float)[:-1]
    return birth_death(births.tolist(), (service + drops.total).tolist())


@dataclass(frozen=True, eq=False)
class _Timed(OldAndNew):
    """Old and new pages; the oldest waiting page is dropped at a rate of its own."""

    drops: DropRates

    def dropped(self, state: OldNewState) -> Iterator[Move]:
        """Waiting pages, at the mean rates of their number."""
        waiting = state.old + state.new
        if not waiting:
            return
        first = float(self.drops.oldest[waiting])
        other = float(self.drops.other[waiting])
        old = state.old * other
        new = state.new * other
        if state.old:
            old += first - other
        else:
            new += first - other
        yield Move(old, state._replace(old=state.old - 1))
        yield Move(new, state._replace(new=state.new - 1))


def _old_and_new(chain: QueueChain, drops: DropRates) -> Explored:
    """The chain of old and new pages, dropped at rates given by the number that waits.

    Parameters
    ----------
    chain : QueueChain
        Without timers.
    drops : DropRates
    """
    walk = _Timed(chain, Handling(), drops)
    return explore(walk.starts(), walk.moves, kinds=2)


class RatesAndAges(NamedTuple):
    """Obsolescence rates of the pages, and mean ages of their copies, inf where never fetched."""

    rates: Array
    ages: Array


def timed_rates_and_ages(
    changes: ArrayLike,
    shares: ArrayLike,
    deliveries: ArrayLike,
    service: float,
    drops: DropRates,
) -> RatesAndAges:
    """Obsolescence rates and ages where waiting pages have timers of any law; approximately.

    Parameters
    ----------
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.
    deliveries : array_like, shape (places + 1,)
        Poisson rates of all deliveries by level.
    service : float
        Rate s of the exponential service.
    drops : DropRates
        Of `drop_rates`.

    Notes
    -----
    As `counted_rates`, and as exact for exponential timers. Others remember how long a page has
    waited; here only how many wait and which of them is the oldest.
    """
    counted = _old_and_new(_plain_chain(deliveries, service), drops)
    law = level_law(deliveries, service, drops)
    rates = counted_rates(counted, law, changes, shares)
    return RatesAndAges(rates, counted_ages(counted, law, shares))


def _plain_chain(deliveries: ArrayLike, service: float) -> QueueChain:
    """The queue of Poisson deliveries by level and exponential service, without timers."""
    rates = np.asarray(deliveries, dtype=float)
    top = len(rates) - 1
    modes = np.stack([-rates, rates], axis=1)[:, :, None, None]
    law = PhaseLaw(np.array([1.0]), np.array([[-service]]))
    return controlled_chain(modes, lambda level: min(level, top), law, NO_TIMER, top, "partial")
