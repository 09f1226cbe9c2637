"""What an access costs, by how long ago the last one was: all that the best order depends on.

Two problems are one (altman2000, section 6). A *server* that gets a packet n packets after its last
one loses one with probability f(n). A *page* accessed n accesses after the last time was fresh for
a mean time ``E min(X_n, S)`` since, where X_n is the time of n accesses and S the exponential time
until it changes. A packet is called an access to its server, too. An access costs ``e(n)`` above
what none at all would cost per slot, and a word costs
``base + (1/n) sum_m sum_j e_m(delta_j^m)``: (6) without the linear terms ``a_m x``, which every
word pays alike, also one that leaves server m out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from analytic.routing.words import average_loss, check_word
from scenarios.arrays import Array

Costs = TypeVar("Costs", float, Array)

Row = Callable[[int], Array]
"""The costs of the distances 1 … n as a function of n."""
Entry = Callable[[int], float]
"""The cost of one distance, however long."""

FIRST_LENGTH = 64
LONGEST = 2**14
"""Distances up to which costs are tabulated."""

_SETTLED = 2.0**-55
"""A row is long enough when it is so near its limit, relatively to how far it began from it; a row
of losses, to how far the one that is nearest to it began."""

_ROUNDING = 1e-12
"""Of a row's largest entry: a rise up to this is none."""

_FAINTEST = 2.0**-133
"""Of a row's own first loss: what is less, 1e-40, would only make graphs that take minutes."""

_ROUNDED = 16 * float(np.finfo(float).eps)
"""Of a cost: what rounding can do to its falling part."""

_GONE = -1.0 + 2.0**-53
"""Relative fall of a row that has reached its limit, whose logarithm is still a number."""


@dataclass(frozen=True)
class SpacingCosts:
    """Costs of accesses by their distances.

    Parameters
    ----------
    table : ndarray, shape (servers, longest)
        ``e_m(n)`` in column n - 1; never increasing in n.
    limits : ndarray, shape (servers,)
        ``C_m``, the limit of e_m: an access never costs less.
    base : float
        What is paid per slot where nobody is ever accessed.
    beyond : tuple of callable
        ``e_m(n)`` at any n, ``g_m(n)`` where `idle` is given, where every e_m is known to be convex
        (exponential services, pages, costs of a file); empty otherwise, and then the last entry
        counts beyond the table.
    subject : str
        What is accessed: "server" or "page".
    paid : ndarray, shape (servers, longest), optional
        ``g_m(n) = e_m(n) + a_m n``, all that is paid between two accesses, where known without
        the cancellation in e + base: of pages, the weighted time for which the copy was stale; of
        servers, costs of a file. There e may go on straight where g does not.
    idle : ndarray, shape (servers,), optional
        ``a_m``, paid per slot by one that is never accessed; finite also of those that are
        `needed`; `base` is their sum.
    outside : float
        The part of the base of those that `of_some` left out.
    drawn : tuple of callable
        All that each server costs per slot by its share > 0, where accesses are drawn; empty where
        that follows from the table.
    needed : tuple of int
        Servers whose cost grows faster than linearly: an order without one costs infinitely much.

    Raises
    ------
    ValueError
        If there is no cost, one that is not finite, or one that increases with the distance: no
        proof holds for such costs.
    """

    table: Array
    limits: Array
    base: float = 0.0
    beyond: tuple[Entry, ...] = ()
    subject: str = "server"
    paid: Array | None = None
    idle: Array | None = None
    outside: float = 0.0
    drawn: tuple[Callable[[float], float], ...] = ()
    needed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.table.ndim != 2 or not self.table.size:
            raise ValueError(f"costs of shape {self.table.shape}: must be servers by distances")
        if self.limits.shape != (self.count,):
            raise ValueError(f"limits of shape {self.limits.shape}: must be one per {self.subject}")
        entries = np.hstack([self.table, self.limits[:, None]])
        if not np.all(np.isfinite(entries)):
            raise ValueError("costs must be finite")
        rises = np.diff(entries, axis=1) > _ROUNDING * self._size
        if rises.any():
            server, before = np.argwhere(rises)[0].tolist()
            less, more = entries[server, before : before + 2].tolist()
            longer = f"{before + 2}" if before + 1 < self.longest else "any longer one"
            raise ValueError(
                f"{self.subject} {server} costs {less:g} at distance {before + 1} and {more:g} at "
                f"{longer}: costs must not increase with the distance"
            )

    @property
    def count(self) -> int:
        """Number of servers or pages."""
        return len(self.table)

    @property
    def longest(self) -> int:
        """The longest distance in the table."""
        return int(self.table.shape[1])

    @cached_property
    def is_convex(self) -> bool:
        """Whether every e_m is convex, but for rounding.

        The limit counts as the next entry where the table is all that is known.
        """
        if self.beyond:
            steps = np.diff(self.table, axis=1)
        else:
            steps = np.diff(self.table, axis=1, append=self.limits[:, None])
        bends = np.diff(steps[:, :-1], axis=1)
        return bool(np.all(bends >= -1e-14 * self._size))

    @property
    def _size(self) -> Array:
        """Of the largest terms that entries were computed from, shape (servers, 1)."""
        largest: Array = np.maximum(np.abs(self.table).max(axis=1), np.abs(self.limits))
        if self.idle is not None and self.subject == "server":
            largest = largest + np.abs(self.idle) * self.longest
        return largest.reshape(-1, 1)

    def of(self, word: Sequence[int]) -> float:
        """Cost per slot of a periodic word: altman2000 (6).

        Raises
        ------
        ValueError
            If the word is empty, or names what there is not.
        """
        check_word(word, self.count, self.subject)
        if not set(self.needed) <= set(word):
            return math.inf
        if self.idle is None:
            return self.base + average_loss(word, self._entry)
        never = np.delete(self.idle, list(set(word)))
        return self.outside + float(never.sum()) + average_loss(word, self._between)

    def entry(self, server: int, distance: int) -> float:
        """``e_m(n)``: of a server the probability ``f_m(n)`` that its packet is lost.

        Raises
        ------
        ValueError
            If there is no such server or page, or the distance is not at least 1.
        """
        check_word((server,), self.count, self.subject)
        if not isinstance(distance, int | np.integer) or distance < 1:
            raise ValueError(f"distance {distance!r}: must be a whole number >= 1")
        return self._entry(server, int(distance))

    def between(self, server: int, distance: int) -> float:
        """``g_m(n)``: all that is paid between two accesses; of losses the same as `entry`.

        Raises
        ------
        ValueError
            If there is no such server or page, or the distance is not at least 1.
        """
        entry = self.entry(server, distance)
        return entry if self.idle is None else self._between(server, int(distance))

    def _between(self, server: int, distance: int) -> float:
        if self.paid is None or distance > self.longest:
            return self.beyond[server](distance)
        return float(self.paid[server, distance - 1])

    @property
    def tilted(self) -> Array:
        """The table, or g of pages: ``(k + 1) e(k) - k e(k + 1)`` is the same of both."""
        return self.table if self.paid is None else self.paid

    def _entry(self, server: int, distance: int) -> float:
        if distance > self.longest and self.beyond:
            idle = 0.0 if self.idle is None else float(self.idle[server])
            value = self.beyond[server](distance) - idle * distance
            return max(value, float(self.limits[server]))
        return float(self.table[server, min(distance, self.longest) - 1])

    def of_some(self, servers: Sequence[int]) -> SpacingCosts:
        """The same for some of the servers only; the others are never accessed."""
        chosen = list(servers)
        beyond = tuple(self.beyond[each] for each in chosen) if self.beyond else ()
        idle, paid, outside = self.idle, self.paid, self.outside
        if self.idle is not None:
            idle = self.idle[chosen]
            outside += float(np.delete(self.idle, chosen).sum())
        if self.paid is not None:
            paid = self.paid[chosen]
        return replace(
            self,
            table=self.table[chosen],
            limits=self.limits[chosen],
            beyond=beyond,
            paid=paid,
            idle=idle,
            outside=outside,
            drawn=tuple(self.drawn[each] for each in chosen) if self.drawn else (),
            needed=tuple(place for place, each in enumerate(chosen) if each in self.needed),
        )

    def straight_from(self, bends: Mapping[int, int]) -> SpacingCosts:
        """The same with e of some servers constant from some distance on, where g rises on.

        Parameters
        ----------
        bends : mapping int -> int
            By server the distance, below the longest.

        Notes
        -----
        The line ``g(L) + (n - L) (g(L + 1) - g(L))`` is below a convex g, so that bounds for it
        are bounds for g. Its part ``a n`` is no greater than what is paid at such distances.
        """
        if not bends:
            return self
        assert self.paid is not None
        assert self.idle is not None
        servers = list(bends)
        ends = np.array([bends[server] for server in servers])
        place = np.arange(len(servers))
        paid = self.paid[servers]
        last = paid[place, ends - 1]
        rises = paid[place, ends] - last
        limits = last - rises * ends
        falling = falling_part(paid, rises, limits)
        falling = np.where(np.arange(self.longest) < ends[:, None], falling, limits[:, None])
        table, all_limits, idle = self.table.copy(), self.limits.copy(), self.idle.copy()
        table[servers], all_limits[servers], idle[servers] = falling, limits, rises
        base = self.outside + float(idle.sum())
        return replace(self, table=table, limits=all_limits, idle=idle, base=base)

    def at_random(self, shares: ArrayLike) -> float:
        """Cost per slot of drawn accesses: ``base + sum_m sum_n p² (1 - p)^(n-1) e(n)``."""
        p = np.asarray(shares, dtype=float)
        if self.drawn and self.idle is not None:
            if not p[list(self.needed)].all():
                return math.inf
            drawn = zip(self.drawn, p.tolist(), strict=True)
            paid = math.fsum(cost(share) for cost, share in drawn if share)
            return self.outside + float(self.idle[p == 0].sum()) + paid
        return float(self.base + random_costs(self.table, self.limits, p)[0].sum())


def falling_part(paid: Array, rises: Array, limits: Array) -> Array:
    """``e(n) = g(n) - a n``, never below its limit, which it is where only rounding says otherwise.

    Parameters
    ----------
    paid : ndarray, shape (servers, longest)
        g.
    rises, limits : ndarray, shape (servers,)
        a, and the limit of e.
    """
    falling = paid - rises[:, None] * np.arange(1, paid.shape[1] + 1)
    # A fall within rounding does not count: a linear cost has none.
    near = np.abs(falling - limits[:, None]) <= _ROUNDED * paid
    return np.where(near, limits[:, None], np.maximum(falling, limits[:, None]))


def random_costs(table: Array, limits: Array, shares: Array) -> tuple[Array, Array]:
    """``sum_n p² (1 - p)^(n - 1) e(n)`` of each server, and its derivative in p, (servers,) both.

    Parameters
    ----------
    table : ndarray, shape (servers, longest)
        e.
    limits : ndarray, shape (servers,)
        To which e tends.
    shares : ndarray, shape (servers,)
        p. Distances between accesses are geometric.

    Notes
    -----
    Beyond the table e is taken to approach its limit by a constant factor s per slot, that of the
    second half of the table: exact for independent gaps and exponential times. The limit of a page
    that hardly ever changes is far below any cost that can be attained.
    """
    p = shares[:, None]
    longest = table.shape[1]
    n = np.arange(1, longest + 1)
    missed = (1 - p) ** (n - 1)
    before = np.hstack([np.zeros_like(p), missed[:, :-1]])  # (1 - p)^(n - 2)
    within = (p**2 * missed * table).sum(axis=1)
    rise = ((2 * p * missed - p**2 * (n - 1) * before) * table).sum(axis=1)

    later, steeper = _beyond(table, limits, shares)
    never = (1 - shares) ** longest
    last = missed[:, -1]
    rise += (never - longest * shares * last) * later + shares * never * steeper
    return within + shares * never * later, rise


def _beyond(table: Array, limits: Array, shares: Array) -> tuple[Array, Array]:
    """Mean of e a geometric distance beyond the table, and its derivative in the share.

    ``C + (e(L) - C) p s / (1 - s + p s)``, without the difference of C and e(L) where s is near 1.
    """
    half = table.shape[1] // 2
    last = table[:, -1]
    middle = table[:, half - 1]
    left = last - limits
    left_before = middle - limits
    is_left = (left > 0) & (left_before > 0)
    ratio = np.divide(last - middle, left_before, out=np.zeros_like(last), where=is_left)
    factor = np.log1p(np.maximum(ratio, _GONE)) / (table.shape[1] - half)
    s = np.exp(factor)
    leaves = -np.expm1(factor)
    whole = leaves + shares * s
    goes_on = is_left & (leaves > 0)
    kept = np.divide(shares * s, whole, out=np.ones_like(last), where=goes_on)
    gone = np.divide(leaves, whole, out=np.zeros_like(last), where=goes_on)
    falls = np.divide(s * leaves, whole**2, out=np.zeros_like(last), where=goes_on)
    return last * kept + limits * gone, left * falls


def tabulated(rows: Sequence[Row], limits: Array, base: float) -> SpacingCosts:
    """A table long enough for all rows to have reached their limits."""
    length = FIRST_LENGTH
    table = np.array([row(length) for row in rows])
    while length < LONGEST and not _settled(table, limits, base):
        length *= 2
        table = np.array([row(length) for row in rows])
    return SpacingCosts(np.maximum(table, limits[:, None]), limits, base)


def _settled(table: Array, limits: Array, base: float) -> bool:
    """Whether the rest of every row is rounding.

    Losses have no base to be compared with: where the fastest server loses 1e-80, a slow one
    matters until it loses as little.
    """
    began = table[:, 0] - limits
    if base == 0.0:
        least = began.min(initial=np.inf, where=began > 0)
        began = np.clip(least, _FAINTEST * began, began)
    return bool(np.all(table[:, -1] - limits <= _SETTLED * began))


def scaled(factor: float, costs: Callable[[int], Costs]) -> Callable[[int], Costs]:
    """Costs, those of all distances up to n or that of n, times a factor."""
    return lambda n: factor * costs(n)


def powers(step: Array, last: Array, length: int) -> Array:
    """Columns ``A^k v`` for k = 0 … length - 1, by doubling."""
    columns = last[:, None]
    power = step
    while columns.shape[1] < length:
        columns = np.hstack([columns, power @ columns])
        power = power @ power
    return columns[:, :length]
