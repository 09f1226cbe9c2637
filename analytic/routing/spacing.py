"""What a visit costs, by how long ago the last one was: all that the best order depends on.

Two problems are one (altman2000, section 6). A *server* that gets a packet n packets after its last
one loses one with probability f(n). A *page* accessed n accesses after the last time was fresh for
a mean time ``E min(X_n, S)`` since, where X_n is the time of n accesses and S the exponential time
until it changes. In both, a visit costs ``e(n)`` above what never visiting would cost per slot, and
a word costs ``base + (1/n) sum_m sum_j e_m(delta_j^m)``: (6) without the linear terms ``a_m x``,
which every word pays alike, also one that leaves server m out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from analytic.arrival_process import gap_map, interval_phases
from analytic.phase_type import PhaseLaw
from analytic.routing.losses import gap_law, over_gap, phases_at_arrivals
from analytic.routing.random_visits import random_costs
from analytic.routing.stale_times import powers, stale_time_at, stale_times
from analytic.routing.words import average_loss, check_word
from analytic.transforms import log_transform, mean_time
from scenarios.arrays import Array
from scenarios.laws import Distribution
from scenarios.processes import ArrivalProcess

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

_DEAREST = 1e300
"""Stands for all that is more: as a limit it is never come near to."""

_FAINTEST = 2.0**-133
"""Of a row's own first loss: what is less, 1e-40, would only make graphs that take minutes."""


@dataclass(frozen=True)
class SpacingCosts:
    """Costs of visits by their distances.

    Attributes
    ----------
    table : ndarray, shape (servers, longest)
        ``e_m(n)`` in column n - 1; never increasing in n.
    limits : ndarray, shape (servers,)
        ``C_m``, the limit of e_m: a visit never costs less.
    base : float
        What is paid per slot where nobody is ever visited.
    beyond : tuple of callable
        ``e_m(n)`` at any n, ``g_m(n)`` of pages, where every e_m is known to be convex (exponential
        services, pages); empty otherwise, and then the last entry counts beyond the table.
    subject : str
        What is visited: "server" or "page".
    paid : ndarray, shape (servers, longest), optional
        ``g_m(n) = e_m(n) + a_m n``, all that is paid between two visits, where it is known without
        the cancellation in e + base: of pages, the weighted time for which the copy was stale.
    idle : ndarray, shape (servers,), optional
        ``a_m``, paid per slot by one that is never visited; `base` is their sum.
    outside : float
        The part of the base of those that `of_some` left out.

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

    def __post_init__(self) -> None:
        if self.table.ndim != 2 or not self.table.size:
            raise ValueError(f"costs of shape {self.table.shape}: must be servers by distances")
        if self.limits.shape != (self.count,):
            raise ValueError(f"limits of shape {self.limits.shape}: must be one per {self.subject}")
        entries = np.hstack([self.table, self.limits[:, None]])
        if not np.all(np.isfinite(entries)):
            raise ValueError("costs must be finite")
        rises = np.diff(entries, axis=1) > _ROUNDING * np.abs(entries).max(axis=1, keepdims=True)
        if rises.any():
            server, place = np.argwhere(rises)[0].tolist()
            less, more = entries[server, place : place + 2].tolist()
            longer = f"{place + 2}" if place + 1 < self.longest else "any longer one"
            raise ValueError(
                f"{self.subject} {server} costs {less:g} at distance {place + 1} and {more:g} at "
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
        return bool(np.all(bends >= -1e-14 * np.abs(self.table).max(axis=1, keepdims=True)))

    def of(self, word: Sequence[int]) -> float:
        """Cost per slot of a periodic word: altman2000 (6).

        Raises
        ------
        ValueError
            If the word is empty, or names what there is not.
        """
        check_word(word, self.count, self.subject)
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
        """``g_m(n)``: all that is paid between two visits; of servers the same as `entry`.

        Raises
        ------
        ValueError
            If there is no such server or page, or the distance is not at least 1.
        """
        entry = self.entry(server, distance)
        return entry if self.paid is None else self._between(server, int(distance))

    def _between(self, server: int, distance: int) -> float:
        if self.paid is None or self.idle is None:
            return self._entry(server, distance)
        if distance > self.longest:
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
        """The same for some of the servers only; the others are never visited."""
        chosen = list(servers)
        beyond = tuple(self.beyond[each] for each in chosen) if self.beyond else ()
        table = self.table[chosen]
        limits = self.limits[chosen]
        some = replace(self, table=table, limits=limits, beyond=beyond)
        if self.paid is None or self.idle is None:
            return some
        outside = self.outside + float(np.delete(self.idle, chosen).sum())
        return replace(some, paid=self.paid[chosen], idle=self.idle[chosen], outside=outside)

    def at_random(self, shares: ArrayLike) -> float:
        """Cost per slot where each visit is drawn: ``base + sum_m sum_n p² (1 - p)^(n-1) e(n)``."""
        p = np.asarray(shares, dtype=float)
        return float(self.base + random_costs(self.table, self.limits, p)[0].sum())


def loss_costs(arrivals: ArrivalProcess, services: Sequence[PhaseLaw]) -> SpacingCosts:
    """Costs of packets: the probabilities ``f_m(n)`` that a packet is lost.

    Parameters
    ----------
    arrivals : ArrivalProcess
    services : sequence of PhaseLaw
        Of each server; under the non-preemptive discipline exponential ones only.

    Raises
    ------
    ValueError
        If there is no service, or one that may never end.
    """
    _check_services(services)
    rows = [_survival_row(arrivals, service) for service in services]
    costs = _tabulated(rows, np.zeros(len(rows)), 0.0)
    rates = [_rate_of(service) for service in services]
    if any(rate is None for rate in rates):
        return costs
    return replace(costs, beyond=tuple(_survival_at(arrivals, rate) for rate in rates if rate))


def _check_services(services: Sequence[PhaseLaw]) -> None:
    if not len(services):
        raise ValueError("services are missing: one law per server, and at least one")
    for server, service in enumerate(services):
        leaves = -np.diagonal(service.generator)
        if not (np.all(leaves > 0) and np.all(np.isfinite(leaves))):
            rates = ", ".join(f"{rate + 0.0:g}" for rate in leaves)
            raise ValueError(f"server {server} has the rates {rates}: all must be > 0 and finite")


def visit_costs(arrivals: ArrivalProcess, rates: ArrayLike, weights: ArrayLike) -> SpacingCosts:
    """Costs of pages: minus the weighted time for which a copy is fresh, per access time.

    ``e_m(n) = -c_m E min(X_n, S_m) / E tau``, so that a word costs the weighted obsolescence.

    Parameters
    ----------
    arrivals : ArrivalProcess
        Of the ends of accesses; dependent times between them are allowed.
    rates, weights : array_like, shape (pages,)
        mu and c. A page with one of them 0 costs nothing.

    Raises
    ------
    ValueError
        If there are no pages, not as many weights as rates, or some below 0 or not finite.

    Notes
    -----
    altman2000, section 6 and Remark 6.1: its cost ``c x E tau + (c/mu) (E e^(-mu X_x) - 1)`` is
    ``c E (X_x - S)^+ = c x E tau - c E min(X_x, S)``.
    """
    mu = np.asarray(rates, dtype=float)
    c = np.asarray(weights, dtype=float)
    _check_pages(mu, c)
    matters = (mu > 0) & (c > 0)
    mean = _mean_gap(arrivals)
    changing = np.where(matters, mu, 1.0).tolist()
    fresh = [_fresh_row(arrivals, rate) for rate in changing]
    scales = np.where(matters, c, 0.0) / mean
    rows = [_scaled(row, -scale) for row, scale in zip(fresh, scales, strict=True)]
    with np.errstate(over="ignore"):
        limits = -np.minimum(scales / np.array(changing), _DEAREST)
    costs = _tabulated(rows, limits, float(c[matters].sum()))
    stale = np.array([stale_times(arrivals, rate, costs.longest) for rate in changing])
    paid = scales[:, None] * stale
    far = [stale_time_at(arrivals, rate) for rate in changing]
    beyond = tuple(_times(scale, at) for scale, at in zip(scales.tolist(), far, strict=True))
    idle = np.where(matters, c, 0.0)
    return replace(costs, beyond=beyond, subject="page", paid=paid, idle=idle)


def _check_pages(rates: Array, weights: Array) -> None:
    if rates.ndim != 1 or rates.shape != weights.shape or not rates.size:
        shapes = f"rates of shape {rates.shape} and weights of shape {weights.shape}"
        raise ValueError(f"{shapes}: must be one of each per page, and at least one page")
    for name, values in (("rate", rates), ("weight", weights)):
        wrong = values[~((values >= 0) & np.isfinite(values))]
        if wrong.size:
            raise ValueError(f"a {name} of {wrong[0]:g}: must be >= 0 and finite")


def _scaled(row: Row, factor: float) -> Row:
    return lambda n: factor * row(n)


def _tabulated(rows: Sequence[Row], limits: Array, base: float) -> SpacingCosts:
    """A table as long as it takes until all rows have come to their limits."""
    length = FIRST_LENGTH
    table = np.array([row(length) for row in rows])
    while length < LONGEST and not _settled(table, limits, base):
        length *= 2
        table = np.array([row(length) for row in rows])
    return SpacingCosts(np.maximum(table, limits[:, None]), limits, base)


def _settled(table: Array, limits: Array, base: float) -> bool:
    """Whether the rest of every row is rounding.

    Losses have no base that they could be compared with: where the fastest server loses 1e-80, a
    slow one matters until it loses as little.
    """
    began = table[:, 0] - limits
    if base == 0.0:
        least = began.min(initial=np.inf, where=began > 0)
        began = np.clip(least, _FAINTEST * began, began)
    return bool(np.all(table[:, -1] - limits <= _SETTLED * began))


def _survival_row(arrivals: ArrivalProcess, service: PhaseLaw) -> Row:
    """``f(n) = P(S > X_n)``."""
    law = gap_law(arrivals)
    rate = _rate_of(service)
    if law is not None and rate is not None:
        return _renewal_row(law, rate)
    step = over_gap(arrivals, service.generator)
    start = np.kron(phases_at_arrivals(arrivals), service.start)
    return lambda n: start @ powers(step, step.sum(axis=1), n)


def _survival_at(arrivals: ArrivalProcess, rate: float) -> Entry:
    """``f(n) = E e^(-mu X_n)`` at one distance."""
    law = gap_law(arrivals)
    if law is not None:
        exponent = float(log_transform(law, rate))
        return lambda n: math.exp(-exponent * n)
    step = over_gap(arrivals, np.array([[-rate]]))
    start = phases_at_arrivals(arrivals)
    return lambda n: float(start @ np.linalg.matrix_power(step, n).sum(axis=1))


def _times(factor: float, entry: Entry) -> Entry:
    return lambda n: factor * entry(n)


def _renewal_row(law: Distribution, rate: float) -> Row:
    exponent = float(log_transform(law, rate))
    return lambda n: np.exp(-exponent * np.arange(1, n + 1))


def _rate_of(service: PhaseLaw) -> float | None:
    return float(-service.generator[0, 0]) if len(service.start) == 1 else None


def _fresh_row(arrivals: ArrivalProcess, rate: float) -> Row:
    """``E min(X_n, S)`` of an exponential S: for dependent gaps a sum of positive terms."""
    law = gap_law(arrivals)
    if law is not None:
        exponent = float(log_transform(law, rate))
        return lambda n: -np.expm1(-exponent * np.arange(1, n + 1)) / rate
    hidden, marked = _matrices(arrivals)
    leave = rate * np.eye(len(hidden)) - hidden
    step = np.linalg.solve(leave, marked)
    during = np.linalg.solve(leave, np.ones(len(hidden)))
    start = interval_phases(hidden, marked)
    return lambda n: np.cumsum(start @ powers(step, during, n))


def _matrices(arrivals: ArrivalProcess) -> tuple[Array, Array]:
    matrices = gap_map(arrivals)
    assert matrices is not None
    return matrices


def _mean_gap(arrivals: ArrivalProcess) -> float:
    """Mean time between arrivals."""
    law = gap_law(arrivals)
    if law is not None:
        return mean_time(law)
    hidden, marked = _matrices(arrivals)
    return float(interval_phases(hidden, marked) @ np.linalg.solve(-hidden, np.ones(len(hidden))))
