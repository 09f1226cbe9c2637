"""Costs that no order of servers or pages comes below."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analytic.machinery.bounds import BrokenBoundError
from analytic.routing.spacing import SpacingCosts
from scenarios.arrays import Array

_ROUNDED = 1e-11
"""More than rounding can do to the sum of the widths, and less than any width but the last."""

_ROUNDED_SLOPES = 4 * float(np.finfo(float).eps)
"""Of the terms whose difference a slope is."""

_OF_THE_ACCESSES = 1e-12
_OF_THE_COST = 1e-10
"""Distance of cost and bound that is put down to rounding, relative to the most expensive access
and to the cost itself: both must hold."""


class LinearBound(NamedTuple):
    """A bound on the cost per slot of every order, random and adaptive ones included.

    Attributes
    ----------
    value : float
    shares : ndarray, shape (servers,)
        The shares of the slots that attain it; 0: never accessed.
    multiplier : float
        What one more slot would be worth.
    """

    value: float
    shares: Array
    multiplier: float


def slopes(table: ArrayLike, first: int = 1) -> Array:
    """``D(k) = (k + 1) e(k) - k e(k + 1)``, shape (servers, longest - 1); never increasing in k.

    The derivative of the cost ``x e(1/x)`` of a share x between 1/(k + 1) and 1/k; `first` is the
    distance of the first column.
    """
    e = np.atleast_2d(np.asarray(table, dtype=float))
    k = np.arange(first, first + e.shape[1] - 1)
    return e[:, :-1] - k * np.diff(e, axis=1)


def linear_bound(costs: SpacingCosts) -> LinearBound:
    """The bound ``min sum_m phi_m(x_m)`` over the shares x of the slots.

    ``phi_m(x)``, convex and piecewise linear, is the least cost of a share x for server m alone:
    its slope is D_m(k) between 1/(k + 1) and 1/k. Pieces are taken in the order of their slopes,
    the steepest descent first, until the shares sum to 1.

    Parameters
    ----------
    costs : SpacingCosts
        What an access costs by its distance from the next one.

    Notes
    -----
    Proof in docs/derivations.md, "The linear bound". Costs that are not convex in the distance are
    replaced by their convex minorants, and those beyond the table by their limit: still a bound.
    Attained for two servers.
    """
    table = costs.table if costs.is_convex else convex_minorant(costs)
    k = np.arange(1, costs.longest)
    # The first pieces of each server, up to 1/longest: the limit as slope, then the tangent.
    steep = slopes(costs.tilted if costs.is_convex else table)
    if costs.paid is not None and costs.subject == "server":
        noise = _ROUNDED_SLOPES * (k + 1) * costs.paid[:, 1:]
        settled = np.abs(steep - costs.limits[:, None]) <= noise
        steep = np.where(settled, costs.limits[:, None], steep)
    limits = costs.limits[:, None]
    never = _never_below(costs, table, steep[:, -1:])
    widths = np.tile(1.0 / (k * (k + 1.0)), (costs.count, 1))
    widths = np.hstack([widths, 1.0 / costs.longest - never, never])
    steep = np.hstack([steep, steep[:, -1:], limits])
    order = np.argsort(steep, axis=None, kind="stable")
    pieces = widths.ravel()[order]
    ordered = steep.ravel()[order]
    # Widths sum to 1 but for rounding, which must not be charged at the next slope: it may be
    # greater by many orders of magnitude. With any slope as the multiplier this is a bound.
    last = min(int(np.searchsorted(np.cumsum(pieces), 1.0 - _ROUNDED)), len(pieces) - 1)
    taken = np.where(np.arange(len(pieces)) < last, pieces, 0.0)
    taken[last] = 1.0 - taken.sum()
    servers = order // steep.shape[1]
    shares = np.bincount(servers, weights=taken, minlength=costs.count).astype(float)
    if costs.paid is not None and costs.is_convex:
        near = {float(ordered[last]), float(ordered[min(last + 1, len(ordered) - 1)])}
        value = max(_bound_at(costs, each) for each in near)
    else:
        value = costs.base + float(ordered @ taken)
    return LinearBound(value, shares, float(ordered[last]))


def _bound_at(costs: SpacingCosts, multiplier: float) -> float:
    """``sum_m min_x (phi_m(x) + nu x) - nu``: a bound for any price nu of a slot.

    The least is at a corner ``x = 1/k`` of phi, where what is paid is ``g(k) / k``; below
    1/longest phi lies above `_hardly_ever`. Only terms >= 0 are added, but for the slots that are
    left, ``sum x - 1``, which are counted exactly. An access to a page is never worth less than
    nothing, one to a server may be: its slot has to be used up.
    """
    assert costs.paid is not None
    is_page = costs.subject == "page"
    price = max(-multiplier, 0.0) if is_page else -multiplier
    k = np.arange(1, costs.longest + 1)
    priced = (costs.paid + price) / k
    best = priced.argmin(axis=1)
    page = np.arange(costs.count)
    seldom = _hardly_ever(costs, price) if is_page else _hardly_ever_used(costs, price)
    accessed = priced[page, best] <= seldom
    paid = np.where(accessed, costs.paid[page, best] / k[best], seldom)
    used = sum((Fraction(1, int(n) + 1) for n in best[accessed]), Fraction(0))
    value = costs.outside + float(paid.sum()) + price * float(used - 1)
    if is_page:
        return value
    # Rounding of a price may hide that another distance costs less.
    return value - _ROUNDED_SLOPES * (float(paid.sum()) + abs(price) * float(used))


def _hardly_ever(costs: SpacingCosts, price: float) -> Array:
    """A bound below ``phi(x) + nu x`` for all shares x up to 1/longest, shape (pages,).

    phi lies above the line ``a + C x`` and above its tangent at 1/longest, and so above any mean of
    the two: here the one in which the slot's price makes up for the slope, a little less of the
    line than that, so that rounding keeps it below. Where the tangent alone is too flat for that,
    x = 1/longest is the least.
    """
    assert costs.paid is not None
    assert costs.idle is not None
    n = costs.longest
    last = costs.paid[:, -1]
    fall = np.maximum(-slopes(costs.paid[:, -2:], n - 1)[:, -1], 0.0)
    fall = np.maximum(fall - _ROUNDED_SLOPES * n * last, 0.0)
    steepest = np.maximum(-costs.limits, fall)
    line = np.divide(price - fall, steepest - fall, out=np.ones(len(fall)), where=steepest > fall)
    line = np.clip(line * (1.0 - _ROUNDED_SLOPES), 0.0, 1.0)
    tangent = (last + fall) / n
    mean: Array = line * costs.idle + (1.0 - line) * tangent
    return np.where(price <= fall, (last + price) / n, mean)


def _hardly_ever_used(costs: SpacingCosts, price: float) -> Array:
    """The same of servers, whose slot may have a price below 0, shape (servers,).

    phi lies above its tangent at 1/longest, here a little steeper for rounding, and above
    ``a + C x``: the least of both is above their mean that is constant. A cost that grows faster
    than linearly lies above the straight line from the longest distance on.
    """
    assert costs.paid is not None
    assert costs.idle is not None
    n = costs.longest
    last = costs.paid[:, -1]
    noise = _ROUNDED_SLOPES * n * last
    tangent = slopes(costs.paid[:, -2:], n - 1)[:, -1] + noise
    steeper = tangent + price
    line = costs.limits + price
    crossing = (line < 0) & (steeper > 0)
    share = np.divide(steeper, steeper - line, out=np.ones(costs.count), where=crossing)
    mean = share * costs.idle + (1.0 - share) * (last - tangent) / n
    ends = (last + price) / n
    result: Array = np.where(steeper <= 0, ends, mean)
    needed = list(costs.needed)
    result[needed] = np.minimum(ends, last - costs.paid[:, -2])[needed]
    return result


def _never_below(costs: SpacingCosts, table: Array, last: Array) -> Array:
    """The share up to which the limit is a better bound on ``phi(x) / x`` than the tangent.

    phi lies above its tangent at 1/longest, of slope D(longest - 1), where e is convex beyond the
    table too, and above ``C x`` always.
    """
    largest = np.full((costs.count, 1), 1.0 / costs.longest)
    if not (costs.beyond and costs.is_convex):
        return largest
    fall = table[:, -2:-1] - table[:, -1:]
    steeper = last - costs.limits[:, None]
    meets: Array = np.divide(fall, steeper, out=largest.copy(), where=steeper > 0)
    return np.clip(meets, 0.0, largest)


def convex_minorant(costs: SpacingCosts) -> Array:
    """The largest convex functions of the distance below the table's rows, never increasing."""
    return np.array([_hull(*each) for each in zip(costs.table, costs.limits, strict=True)])


def _hull(row: Array, limit: float) -> Array:
    """Lower hull of the points (n, e(n)), and of the limit far out."""
    corners: list[int] = []
    for n, value in enumerate(row.tolist()):
        while len(corners) > 1 and _is_above(row, corners[-2], corners[-1], n, value):
            corners.pop()
        corners.append(n)
    hull = np.interp(np.arange(len(row)), corners, row[corners])
    return np.maximum(hull, limit)


def _is_above(row: Array, first: int, middle: int, last: int, value: float) -> bool:
    """Whether the middle point lies on or above the line from the first to the last."""
    rise = (row[middle] - row[first]) * (last - first)
    return bool(rise >= (value - row[first]) * (middle - first))


def is_attained(costs: SpacingCosts, cost: float, bound: float) -> bool:
    """Whether the cost of an order and a bound below all of them differ by rounding only.

    Raises
    ------
    BrokenBoundError
        If the bound is above the cost by more than that.
    """
    rounding = _OF_THE_COST * abs(cost)
    rounding += 0.0 if costs.needed else _OF_THE_ACCESSES * costs.base
    rounding += float(np.finfo(float).tiny)
    if bound - cost > rounding:
        raise BrokenBoundError(f"a lower bound of {bound!r} above a cost of {cost!r}")
    dearest = float(np.abs(costs.table[:, 0]).max())
    return cost - bound <= min(_OF_THE_ACCESSES * dearest, _OF_THE_COST * abs(cost))
