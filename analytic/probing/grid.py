"""Probe times of least expected cost on an even grid, and how far they can be from the best.

Exactly n probes on N slots, the last one at the end, each some slots or more after the one
before. The dynamic programme of eckstein2005 counts the probes (`analytic.probing.programme`);
`best_schedule` puts a price on each, which is O(N) for each price that is tried.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.probing.profile import Profile
from scenarios.arrays import Array
from scenarios.rates import Rate
from scenarios.text import counted

if TYPE_CHECKING:
    from analytic.probing.kernels import Grid


Path = NDArray[np.int64]

_ROUNDING = 4 * float(np.finfo(float).eps)
_NEAR = 0.1
"""Share of the links by which two paths differ when only the chord between them is tried."""
_OFF_GRID = 16 * float(np.finfo(float).eps)
_FINEST = 100_000
_LARGEST_COMMON = 1_000_000
_SLOTS = 10_000
_PER_PROBE = 20


class Schedule(NamedTuple):
    """A schedule on a grid.

    Parameters
    ----------
    slots : ndarray, shape (n,)
        Indices of the times t_j = j T / N of the probes 1, …, n.
    cost : float
        Its expected cost.
    lower_bound : float
        That of every schedule on this grid, to rounding errors: the Lagrangian bound, if a price
        was used, and the cost itself otherwise.
    prices : int
        Number of prices that were tried.
    """

    slots: Path
    cost: float
    lower_bound: float
    prices: int = 0


def grid_of(profile: Profile, slots: int) -> Grid:
    """The even grid on [0, T]: its integrals, O(slots + cells).

    Parameters
    ----------
    profile : Profile
    slots : int
        Of the grid, all of the same length.
    """
    from analytic.probing.kernels import slot_sums

    return slot_sums(profile.edges, profile.updates, profile.importance, slots)


def times_of(horizon: float, slots: int, path: Path) -> tuple[float, ...]:
    """The times of the grid at these indices, the last one exactly the horizon.

    Parameters
    ----------
    horizon : float
    slots : int
        Of the grid.
    path : sequence of int
        The indices.
    """
    return (*(path[:-1] * horizon / slots).tolist(), horizon)


def check_room(slots: int, probes: int, apart: int) -> None:
    """Refuse more probes, so far apart, than there is room for."""
    if not all(isinstance(number, int | np.integer) for number in (probes, apart)):
        raise ValueError(f"{probes!r} probes {apart!r} slots apart: both must be whole numbers")
    if probes < 1 or apart < 1:
        raise ValueError(f"{_spaced(probes, apart)}: both must be >= 1")
    if probes * apart > slots:
        have = "has" if slots == 1 else "have"
        raise ValueError(f"{counted(slots, 'slot')} {have} no room for {_spaced(probes, apart)}")


def _spaced(probes: int, apart: int) -> str:
    """So many probes so far apart, in words."""
    return f"{counted(probes, 'probe')} {counted(apart, 'slot')} apart"


class _Tried(NamedTuple):
    """The best path at a price, and its own cost."""

    path: Path
    cost: float
    price: float
    value: float

    @property
    def links(self) -> int:
        """Number of probes."""
        return len(self.path) - 1


def best_schedule(grid: Grid, probes: int, apart: int = 1) -> Schedule:
    """The optimum, in O(N) memory and time for each price that is tried, 2 to some 30 of them.

    Parameters
    ----------
    grid : Grid
        `grid_of` a profile.
    probes : int
        n, exactly, the one at the end included.
    apart : int
        Slots from each probe to the next, at least; from time 0 to the first one, too.

    Raises
    ------
    ValueError
        If there is no room for the probes.

    Notes
    -----
    For ``a <= b <= c <= d`` the cost is Monge:
    ``C(a,d) + C(b,c) - C(a,c) - C(b,d) = Lambda(a,b) A(c,d) >= 0``, also with a spacing (too near
    is infinitely dear: the right side is then infinite whenever the left is). So the least cost
    f(n) is convex in n, and a price on each probe has the optimum for any n as its own, alone or
    among paths of the same priced cost, of which two are joined (`joined`). For any price,
    ``least priced cost - price n`` is a bound below f(n).
    """
    check_room(len(grid.cost), probes, apart)
    search = _Search(grid, probes, apart)
    path = search.run()
    from analytic.probing.kernels import links_cost

    cost = links_cost(grid, path)
    return Schedule(path[1:], cost, min(search.bound, cost), search.count)


class _Search:
    """The price at which a given number of probes is best."""

    def __init__(self, grid: Grid, probes: int, apart: int) -> None:
        self._grid = grid
        self._probes = probes
        self._apart = apart
        self._fewer: _Tried | None = None
        self._more: _Tried | None = None
        self.bound = -math.inf
        self.count = 0
        self._scale = float(grid.L[-1] * grid.A[-1]) or 1.0
        self._stride = 1.02

    def run(self) -> Path:
        """The best path with exactly this many links."""
        price = self._first_price()
        on_chord = False
        while True:
            tried = self._at(price)
            if tried.links == self._probes:
                return tried.path
            fewer = self._fewer
            more = self._more
            if fewer and more and on_chord and self._is_flat(tried, fewer, more):
                return joined(fewer.path, more.path, self._probes)
            if tried.links < self._probes:
                self._fewer = tried
            else:
                self._more = tried
            price, on_chord = self._next_price(tried)

    def _at(self, price: float) -> _Tried:
        from analytic.probing.kernels import chain, links_cost

        prices = np.full(len(self._grid.cost) + 1, price)
        least, path = chain(self._grid, self._apart, prices)
        value = float(least[0])
        self.count += 1
        self.bound = max(self.bound, value - price * self._probes)
        return _Tried(path, links_cost(self._grid, path), price, value)

    def _first_price(self) -> float:
        """``S² / (2 n²)``, for f(n) is about ``S² / (2 n)`` with ``S = int sqrt(lambda a)``."""
        slots = self._grid.updates * self._grid.importance
        root = float(np.sqrt(slots).sum())
        return (root / self._probes) ** 2 / 2 or self._scale / self._probes**2

    def _is_flat(self, tried: _Tried, fewer: _Tried, more: _Tried) -> bool:
        """Whether the paths on both sides are as good as the one found on the chord between them.

        Another one must have a number of links strictly between theirs, so that the search ends.
        """
        tolerance = _ROUNDING * (self._scale + abs(tried.price) * more.links)
        better = fewer.cost + tried.price * fewer.links - tried.value
        return better <= tolerance or not fewer.links < tried.links < more.links

    def _next_price(self, tried: _Tried) -> tuple[float, bool]:
        """The price to try, and whether it is that of the chord: at it both sides are as good.

        Until both sides are known it goes outwards; while they are far apart, by the power law and
        on the chord in turn.
        """
        fewer = self._fewer
        more = self._more
        if fewer is None or more is None:
            return self._outwards(tried), False
        chord = (fewer.cost - more.cost) / (more.links - fewer.links)
        if self.count % 2 or more.price <= 0 or more.links - fewer.links < _NEAR * self._probes:
            return chord, True
        (x, k), (y, m) = ((each.price**-0.5, each.links) for each in (fewer, more))
        between = float((x + (y - x) * (self._probes - k) / (m - k)) ** -2)
        return (between, False) if more.price < between < fewer.price else (chord, True)

    def _outwards(self, tried: _Tried) -> float:
        """A price beyond the one that gave too few probes, or too many; the strides grow.

        Below a hair's breadth of the whole cost prices are negative: probes that cost more than
        they save, which only a spacing makes necessary; never more than all of it.
        """
        hair = _ROUNDING * self._scale
        self._stride **= 1.5
        if tried.links < self._probes:
            power = (tried.links / self._probes) ** 2 * 0.97
            down = min(power, 1 / self._stride) * tried.price
            if down > hair:
                return down
            return max(min(-hair, tried.price * self._stride**2), -1.01 * self._scale)
        power = (tried.links / self._probes) ** 2 * 1.03
        return max(power, self._stride) * tried.price if tried.price > 0 else hair


def joined(fewer: Path, more: Path, links: int) -> Path:
    """A path with this many links from two that are best at one price, with fewer and with more.

    Where one link of `fewer` holds a link of `more`, ``P_i <= Q_{i+y} < Q_{i+y+1} <= P_{i+1}``, the
    paths cross over: that costs nothing, since C is Monge, and no link becomes shorter than the
    one held.
    """
    surplus = len(more) - 1 - links
    first: Any = np.argmax(fewer[1:] >= more[surplus + 1 : surplus + len(fewer)])
    return np.concatenate([fewer[: first + 1], more[surplus + first + 1 :]])


def breaks_on_grid(profile: Profile, slots: int) -> bool:
    """Whether every breakpoint of the two rates is one of the times ``j T / N``, up to rounding.

    Parameters
    ----------
    profile : Profile
    slots : int
        Of the grid, N.
    """
    edges = profile.edges / profile.horizon * slots
    return bool((np.abs(edges - np.round(edges)) <= _OFF_GRID * slots).all())


def grid_error(profile: Profile, slots: int, probes: int) -> tuple[float, bool]:
    """Most that the grid can cost, and whether that is the sharp bound.

    Parameters
    ----------
    profile : Profile
    slots : int
        N; g = T / N is the width of a slot.
    probes : int
        n. They keep no spacing, or one that is a whole number of slots.

    Returns
    -------
    error : float
        A bound of ``C_grid - C*``.
    sharp : bool
        Whether all breakpoints are on the grid.

    Notes
    -----
    With all breakpoints on the grid ``(n - 1) max(lambda a) g² / 4``. Proof: move every probe of
    the optimum up to the next time of the grid if its position in its slot exceeds one common
    uniform variable, else down. Order, spacing and cells are kept, and each probe is on average
    where it was. In a cell the cost is quadratic, with ``a lambda`` of each probe's square and
    ``-lambda(p_i) a(p_{i+1})`` of the products of neighbours, which are positively correlated: it
    grows on average by at most ``sum a lambda Var``, and the variance is at most g² / 4. Some such
    schedule costs no more than the average, and the grid's optimum no more than that one.

    Otherwise Proposition 8 of eckstein2005: ``max(a) max(lambda) (n g² / 2 + T g)``.
    """
    width = profile.horizon / slots
    if breaks_on_grid(profile, slots):
        steepest = float((profile.updates * profile.importance).max())
        return (probes - 1) * steepest * width**2 / 4, True
    largest = float(profile.updates.max() * profile.importance.max())
    return largest * (probes * width**2 / 2 + profile.horizon * width), False


def below_on_grid(profile: Profile, slots: int) -> Profile:
    """Rates that are nowhere above those of a profile, with all breakpoints on the grid.

    In a slot with a breakpoint each rate is the least that it has there. So no schedule costs more
    than with the rates of the profile.

    Parameters
    ----------
    profile : Profile
    slots : int
        Of the grid.
    """
    if breaks_on_grid(profile, slots):
        return profile
    at = profile.edges / profile.horizon * slots
    at = np.where(np.abs(at - np.round(at)) <= _OFF_GRID * slots, np.round(at), at)
    edges = np.unique(np.concatenate([np.floor(at), np.ceil(at)]))
    first = np.searchsorted(at, edges[:-1], "right") - 1
    after = np.searchsorted(at, edges[1:], "left")
    ends = np.column_stack([first, after]).ravel()
    breaks = tuple((edges[:-1] / slots * profile.horizon).tolist())

    def least(rates: Array) -> Rate:
        values = np.minimum.reduceat(np.append(rates, np.inf), ends)[::2]
        return Rate(breaks=breaks, values=tuple(values.tolist()), period=profile.horizon)

    return Profile(least(profile.updates), least(profile.importance), profile.horizon)


def default_slots(profile: Profile, probes: int, apart: float = 0.0) -> int:
    """Number of slots for a file that names none.

    At least ten thousand, and twenty per probe; where that can be, a number whose times include
    every breakpoint, and `apart`, the minimum spacing.

    Parameters
    ----------
    profile : Profile
    probes : int
    apart : float
        Least time between two probes; 0: none.
    """
    wanted = max(_SLOTS, _PER_PROBE * probes)
    common = 1
    for share in np.append(profile.edges, apart) / profile.horizon:
        near = Fraction(float(share)).limit_denominator(_FINEST)
        common = math.lcm(common, near.denominator)
        if abs(float(near) - share) > _OFF_GRID or common > _LARGEST_COMMON:
            return wanted
    return math.ceil(wanted / common) * common
