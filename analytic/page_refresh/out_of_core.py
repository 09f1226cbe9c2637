"""The best access frequencies of pages that do not fit into memory: coffman1998 (7)-(9) in passes.

Every step of the search for the one multiplier needs sums over the pages only, which are taken part
by part, on any executor, and added in the order of the parts: the same bits for any number of
workers. The frequencies come last, block by block.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from analytic.machinery.progress import Progress
from analytic.machinery.transforms import excess, lifted, log_transform, mean_time
from analytic.page_refresh.optimum import (
    RARE,
    PagesInMemory,
    Split,
    bracket,
    part_of_more,
    ratios,
    start_from,
)
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Distribution

BLOCK = 2**16
"""Pages that a part is asked to hand on at a time."""
_PASSES = 6
"""Readings of all pages that most searches take: two to begin with, three or so, and the last."""
_ANY = (float(np.finfo(float).smallest_subnormal), float(np.finfo(float).max))
_SAMPLE = 2**19
"""Pages from which the search begins."""
_REACH = 0.02
"""How far, relatively, w is from lambda for pages that are about to be given up or accessed."""
_AHEAD = 4
"""Parts that wait for an executor at a time; their frequencies lie in memory."""

Answer = TypeVar("Answer")
Block = tuple[Array, Array]


class Part(Protocol):
    """Some of the pages, wherever they are stored; it can be sent to a worker."""

    @property
    def first(self) -> int:
        """The number of its first page."""

    @property
    def count(self) -> int:
        """How many pages it has."""

    def blocks(self) -> Iterator[Block]:
        """Change rates and weights, some `BLOCK` pages at a time."""


class PageError(ValueError):
    """A page whose change rate or weight is neither 0 nor within the limits."""

    def __init__(self, page: int, name: str, value: float) -> None:
        super().__init__(page, name, value)
        self.page = page
        self.name = name
        self.value = value


@dataclass(frozen=True, slots=True)
class Scale:
    """What makes quotients of the numbers of all pages numbers.

    Parameters
    ----------
    law : Distribution
        Of the time of an access.
    rates : float
        What change rates are multiplied by: 1 but where all changes are rare.
    weight : float
        What weights are divided by: the largest.
    value : float
        ``w_max`` after this.
    """

    law: Distribution
    rates: float
    weight: float
    value: float = 1.0

    def numbers(self, block: Block) -> tuple[NDArray[np.bool_], Array, Array]:
        """Which pages of a block have changes and weight, and the l and w of these."""
        rates, weights = block
        mu = lifted(self.law, rates if self.rates == 1.0 else rates * self.rates)[0]
        asked = (mu > 0) & (weights > 0)
        if not asked.all():
            mu, weights = mu[asked], weights[asked]
        return asked, log_transform(self.law, mu), weights / self.weight / mu

    def pages(self, block: Block) -> PagesInMemory:
        """The pages of a block that have changes and weight."""
        _, exponent, value = self.numbers(block)
        return PagesInMemory(exponent, *ratios(value, self.value))


class Frequencies(NamedTuple):
    """The best frequencies of the pages of one part, and what follows from them.

    Parameters
    ----------
    shares : ndarray, shape (pages,)
    cost : float
        The weighted obsolescence of these pages, accesses at equal distances.
    weight : float
        The sum of their weights: the cost is so much where none is ever up to date.
    without : int
        How many of them are never accessed.
    """

    shares: Array
    cost: float
    weight: float
    without: int


@dataclass(frozen=True, slots=True)
class Multiplier:
    """The solution of coffman1998 (7)-(9): what every frequency follows from.

    Parameters
    ----------
    scale : Scale
    ends : tuple of float
        Neighbouring values of V.
    mixed : float
        The part of the shares of the first end.
    total : float
        The sum of the shares before they are divided by it.
    asked : int
        Pages with changes and weight; where there are none, shares are equal.
    pages, passes : int
        Pages in all, and how often they were read to find it.
    """

    scale: Scale
    ends: tuple[float, float]
    mixed: float
    total: float
    asked: int
    pages: int
    passes: int

    def of(self, part: Part) -> Frequencies:
        """The frequencies of a part."""
        found = [self._of_block(block) for block in part.blocks()]
        shares = np.concatenate([each.shares for each in found])
        cost = math.fsum(each.cost for each in found)
        weight = math.fsum(each.weight for each in found)
        return Frequencies(shares, cost, weight, sum(each.without for each in found))

    def _of_block(self, block: Block) -> Frequencies:
        from analytic.page_refresh.chunk_sums import block_costs, block_shares

        rates, weights = block
        weight = float(weights.sum())
        law = self.scale.law
        if not self.asked:
            shares = np.full(len(rates), 1.0 / self.pages)
            return Frequencies(shares, 0.0, weight, 0)
        which, exponent, value = self.scale.numbers(block)
        pages = PagesInMemory(exponent, *ratios(value, self.scale.value))
        low, high = self.ends
        found = block_shares(low, *pages)
        if high != low:
            found = self.mixed * found + (1.0 - self.mixed) * block_shares(high, *pages)
        found /= self.total
        shares = found
        if len(found) < len(rates):
            shares = np.zeros(len(rates))
            shares[which] = found
        per_change = value * (self.scale.rates * self.scale.weight / mean_time(law))
        cost = block_costs(per_change, exponent, found)
        if not isinstance(law.simplest, Deterministic):
            cost += float(per_change @ excess(law, rates[which]))
        return Frequencies(shares, cost, weight, int(np.count_nonzero(shares == 0.0)))


class _Extent(NamedTuple):
    """The largest numbers of a part, and how many pages have changes and weight."""

    rate: float
    weight: float
    asked: int


class _Summary(NamedTuple):
    """Sums over the pages of a part with changes and weight, and some of the pages."""

    exponents: float
    greatest: float
    least: float
    exponent: Array
    value: Array


class _Sums(NamedTuple):
    share: float
    slope: float


class _Divided(NamedTuple):
    """The sums of most pages of a part, and those pages that a sum says too little about."""

    sums: _Sums
    contested: PagesInMemory


def best_multiplier(
    parts: Sequence[Part],
    law: Distribution,
    executor: Executor | None = None,
    limits: tuple[float, float] = _ANY,
) -> Multiplier:
    """The multiplier from which the best frequencies of pages in parts follow.

    Parameters
    ----------
    parts : sequence of Part
        All pages, in order.
    law : Distribution
        Of the time of one access.
    executor : concurrent.futures.Executor, optional
        Where sums are taken; default: this process. The result is the same anywhere, bit for bit.
    limits : tuple of float
        Of change rates and weights that are not 0; by default they may be any numbers, and the
        frequencies of very unlike ones may not be numbers.

    Raises
    ------
    PageError
        If a rate or weight is neither 0 nor within the limits.
    ValueError
        If there are no pages.

    Notes
    -----
    coffman1998 (7)-(9), as `best_shares`, whose answer it has to 1e-12: see there. The search
    begins at the solution for some half a million of the pages; two to four passes follow.
    """
    pages = sum(part.count for part in parts)
    if not pages:
        raise ValueError("there must be a page, at least")
    progress = Progress(_pass(1, pages))
    extents = list(in_order(partial(_extent, limits), parts, executor, progress))
    rate = max(each.rate for each in extents)
    asked = sum(each.asked for each in extents)
    changes = rate * mean_time(law)
    rare = RARE / changes if 0.0 < changes < RARE else 1.0
    scale = Scale(law, rare, max(each.weight for each in extents) or 1.0)
    if not asked:
        return Multiplier(scale, (1.0, 1.0), 1.0, 1.0, 0, pages, 1)
    every = -(-pages // _SAMPLE)
    progress.begin_again(_pass(2, pages))
    summaries = list(in_order(partial(_summary, scale, every), parts, executor, progress))
    scale = replace(scale, value=max(each.greatest for each in summaries))
    search = _Search(scale, parts, summaries, asked, executor, progress)
    ends = bracket(search)
    sums = [math.exp(search.sum_and_slope(end)[0]) for end in dict.fromkeys(ends)]
    mixed = part_of_more(sums[0], sums[-1]) if len(sums) > 1 else 1.0
    total = mixed * sums[0] + (1.0 - mixed) * sums[-1]
    return Multiplier(scale, ends, mixed, total, asked, pages, search.passes + 2)


def _pass(number: int, pages: int) -> str:
    """Which reading of the pages it is, the last one for the frequencies included."""
    return f"pass {number} of about {max(number + 1, _PASSES)} over {pages:,} pages"


class _Search:
    """The sums over all parts, as `bracket` wants them."""

    def __init__(
        self,
        scale: Scale,
        parts: Sequence[Part],
        summaries: Sequence[_Summary],
        asked: int,
        executor: Executor | None,
        progress: Progress,
    ) -> None:
        self._scale = scale
        self._progress = progress
        self._parts = parts
        self._asked = asked
        self._executor = executor
        self._known: dict[float, tuple[float, float]] = {}
        self._some = PagesInMemory(
            np.concatenate([each.exponent for each in summaries]),
            *ratios(np.concatenate([each.value for each in summaries]), scale.value),
        )
        self.exponents = math.fsum(each.exponents for each in summaries)
        lowest = np.array([min(each.least for each in summaries)])
        self.least = float(ratios(lowest, scale.value)[0][0])
        self.passes = 0

    def start(self) -> float:
        """The solution for some of the pages."""
        taken = len(self._some.exponent)
        return start_from(self._some, self._some.exponents * self._asked / taken)

    def sum_and_slope(self, log_bound: float) -> tuple[float, float]:
        """Logarithm of the sum of shares, and a slope by ln V with which Newton's step is right.

        Shares begin so steeply that the slope itself says little where pages are about to be given
        up: these are taken exactly, the others by their slope.
        """
        if log_bound not in self._known:
            found = list(self._over_parts(partial(_near_and_far, self._scale, log_bound)))
            self._known[log_bound] = _stepping(found, log_bound)
        return self._known[log_bound]

    def split(self, low: float, high: float, middle: float) -> Split | None:
        """The pages that are active at one end only apart from the others; equal ones as one."""
        found = list(self._over_parts(partial(_divided, self._scale, low, high, middle)))
        contested = _merged([each.contested for each in found])
        if not len(contested.exponent):
            return None
        return Split(*_in_logarithms([each.sums for each in found], middle), contested)

    def _over_parts(self, work: Callable[[Part], Answer]) -> Iterator[Answer]:
        self.passes += 1
        pages = sum(part.count for part in self._parts)
        self._progress.begin_again(_pass(2 + self.passes, pages))
        return in_order(work, self._parts, self._executor, self._progress)


def in_order(
    work: Callable[[Part], Answer],
    parts: Sequence[Part],
    executor: Executor | None,
    progress: Progress | None = None,
) -> Iterator[Answer]:
    """The answers for all parts in their order, a few of them at a time on the executor."""
    progress = progress or Progress("pages", sum(part.count for part in parts))
    waiting: deque[tuple[Part, Future[Answer]]] = deque()
    for part in parts:
        if executor is None:
            yield work(part)
            progress.step(part.count)
            continue
        waiting.append((part, executor.submit(work, part)))
        if len(waiting) > _AHEAD:
            done, future = waiting.popleft()
            yield future.result()
            progress.step(done.count)
    for done, future in waiting:
        yield future.result()
        progress.step(done.count)


def _extent(limits: tuple[float, float], part: Part) -> _Extent:
    """The largest numbers of a part, each of which is checked."""
    rate = weight = 0.0
    asked = 0
    place = part.first
    least, most = limits
    for rates, weights in part.blocks():
        for name, values in (("change rate", rates), ("weight", weights)):
            allowed = (values == 0.0) | ((values >= least) & (values <= most))
            if not allowed.all():
                wrong = int(np.argmin(allowed))
                raise PageError(place + wrong, name, float(values[wrong]))
        rate = max(rate, float(rates.max()))
        weight = max(weight, float(weights.max()))
        asked += int(np.count_nonzero((rates > 0.0) & (weights > 0.0)))
        place += len(rates)
    return _Extent(rate, weight, asked)


def _summary(scale: Scale, every: int, part: Part) -> _Summary:
    """What the search is to know of a part before it begins; of its pages every so manyth."""
    sums, exponents, values = [], [], []
    greatest, least = 0.0, math.inf
    for block in part.blocks():
        _, exponent, value = scale.numbers(block)
        if len(value):
            greatest = max(greatest, float(value.max()))
            least = min(least, float(value.min()))
            sums.append(float(exponent.sum()))
            exponents.append(exponent[::every])
            values.append(value[::every])
    empty = np.empty(0)
    return _Summary(
        math.fsum(sums),
        greatest,
        least,
        np.concatenate([empty, *exponents]),
        np.concatenate([empty, *values]),
    )


def _near_and_far(scale: Scale, log_bound: float, part: Part) -> _Divided:
    """The sums over the pages of a part; those about to be given up or accessed stay apart."""
    from analytic.page_refresh.chunk_sums import block_sums

    given_up = -math.expm1(-log_bound)
    sums, near = [], []
    for block in part.blocks():
        pages = scale.pages(block)
        brink = np.abs(pages.ratio - given_up) <= _REACH * given_up
        if 0 < np.count_nonzero(brink) <= len(brink) // 8:
            near.append(PagesInMemory(*(each[brink] for each in pages)))
            pages = pages._replace(exponent=np.where(brink, 0.0, pages.exponent))
        sums.append(block_sums(log_bound, *pages))
    return _Divided(_Sums(*map(math.fsum, zip(*sums, strict=True))), _together(near))


def _stepping(found: Sequence[_Divided], log_bound: float) -> tuple[float, float]:
    """Logarithm of the sum of shares, and what leads from there to a sum of 1 in one step."""
    from scipy.optimize import brentq

    from analytic.page_refresh.chunk_sums import block_sums

    share, slope = map(math.fsum, zip(*(each.sums for each in found), strict=True))
    near = _together([each.contested for each in found])
    here = _Sums(*block_sums(log_bound, *near))
    level, tangent = _in_logarithms([_Sums(share, slope), here], log_bound)

    def surplus(step: float) -> float:
        there = log_bound * math.exp(step)
        return share + slope * (there - log_bound) + float(block_sums(there, *near)[0]) - 1.0

    end = math.copysign(_REACH / 2.0, level)
    if not len(near.exponent) or level == 0.0 or surplus(end) * level >= 0.0:
        return level, tangent
    step = float(brentq(surplus, min(0.0, end), max(0.0, end), xtol=1e-15))
    return level, -level / step if step else tangent


def _divided(scale: Scale, low: float, high: float, middle: float, part: Part) -> _Divided:
    """The sums over the pages of a part that are active at both ends or at none, and the others."""
    sums, contested = [], []
    for block in part.blocks():
        pages = scale.pages(block)
        split = pages.split(low, high, middle)
        if split is None:
            level, slope = pages.sum_and_slope(middle)
        else:
            level, slope = split.level, split.slope
            contested.append(split.contested)
        share = math.exp(level)
        sums.append((share, slope * share / middle))
    return _Divided(_Sums(*map(math.fsum, zip(*sums, strict=True))), _merged(contested))


def _together(pages: Sequence[PagesInMemory]) -> PagesInMemory:
    if not pages:
        return PagesInMemory(*(np.empty(0) for _ in PagesInMemory._fields))
    return PagesInMemory(*(np.concatenate(each) for each in zip(*pages, strict=True)))


def _merged(pages: Sequence[PagesInMemory]) -> PagesInMemory:
    """Pages of the same w as one, whose l is the sum of theirs."""
    exponent, ratio, gap = _together(pages)
    kinds, which = np.unique(np.column_stack([ratio, gap]), axis=0, return_inverse=True)
    together = np.bincount(which.ravel(), exponent).astype(float)
    return PagesInMemory(together, *kinds.T)


def _in_logarithms(found: Sequence[_Sums], log_bound: float) -> tuple[float, float]:
    share, slope = map(math.fsum, zip(*found, strict=True))
    if share == 0.0:
        return -math.inf, 0.0
    return math.log(share), slope * log_bound / share
