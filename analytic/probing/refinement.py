"""From a good schedule to a local optimum in continuous time (eckstein2005, section 4).

The paper's Algorithm 10 stops near a local optimum, after very many moves
(`analytic.probing.programme`). `refined` goes on to the optimum: each probe in turn to its best
time between its neighbours, then Newton's step for all probes that are inside a cell, until neither
saves anything; where that takes many rounds, all probes at once by small steps. At the optimum most
probes stand on breakpoints of the rates, where the cost has no derivative; they stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from analytic.probing.profile import Cells, Profile, checked_times
from scenarios.arrays import Array

_TINY = 1e-15
"""Saving relative to the cost of an interval that is not worth a move."""
_ROUNDS = 2000
"""Most rounds; fewer for many probes, so that rounds times probes are at most `_WORK`."""
_FEW_ROUNDS = 40
"""Rounds that are made for any number of probes."""
_WORK = 400_000
_EPSILON = 2.0**-52
_LONG = 200
"""From so many probes that keep together on, not every part of them is tried."""
_CONVERGED = 1e-6
"""Slack up to which a schedule counts as a local optimum."""
_EVERY = 8
"""Rounds after which all probes are moved at once: a tight chain crawls otherwise."""
_SMALLEST = 1e-12
"""The least step of those moves, relative to the horizon."""
_REPEATS = 30
"""How often a step is made at most."""
_WORTH = 1e-3
"""Share of all that was saved below which a step is not repeated."""
_TIGHT = 1e-7
"""Relative excess over the spacing below which two probes keep together; a smaller one would let
them jam."""
_ROUNDING = 1e-10
"""Relative errors of a spacing, and of a pivot."""
_HALVINGS = 12
"""Of Newton's step, until it helps."""


class Refined(NamedTuple):
    """A schedule in continuous time, and how it was reached.

    Parameters
    ----------
    times : tuple of float
        p_1, …, p_n = T.
    cost : float
        Its expected cost.
    rounds : int
        Rounds of single probes and Newton's step.
    slack : float
        `slack` of the times: the largest relative violation of the conditions of a local optimum.
    """

    times: tuple[float, ...]
    cost: float
    rounds: int
    slack: float

    @property
    def converged(self) -> bool:
        """Whether this is a local optimum, as far as can be seen."""
        return self.slack <= _CONVERGED


def with_start(profile: Profile, times: Sequence[float], spacing: float) -> Array:
    """The times with p_0 = 0 in front; a ValueError for what is not such a schedule."""
    return np.append(0.0, checked_times(profile, times, spacing))


def refined(profile: Profile, times: Sequence[float], spacing: float = 0.0) -> Refined:
    """A local optimum near a schedule; it never costs more.

    The work is bounded: where the rounds do not suffice, `Refined.converged` is false.

    Parameters
    ----------
    profile : Profile
    times : sequence of float
        p_1, …, p_n = T.
    spacing : float
        delta, the least time between two probes, and before the first.
    """
    from analytic.probing.descent import sweep, total

    cells = profile.cells
    now = with_start(profile, times, spacing)
    whole = profile.between(0.0, profile.horizon)
    noise = float(_EPSILON * whole.updates * whole.importance)  # rounding of a cost of 0
    tiny = _TINY * total(cells, now) / len(times) + noise / len(times) ** 2
    rounds = 0
    saved = math.inf
    most = min(_ROUNDS, max(_FEW_ROUNDS, _WORK // len(now)))
    while saved > tiny * len(now) and rounds < most:
        rounds += 1
        saved = float(sweep(cells, now, spacing, tiny)) if len(now) > 2 else 0.0
        saved += _moved_blocks(cells, now, spacing) if spacing else 0.0
        _snap(cells.edges, now)
        saved += _newton(cells, now, spacing, tiny)
        if rounds % _EVERY == 0 and spacing and len(now) > 2:
            saved += _moved_at_once(cells, now, spacing, tiny * len(now))
    local = tuple(now[1:].tolist())
    cost = float(total(cells, now))
    return Refined(local, cost, rounds, slack(profile, local, spacing))


def _moved_at_once(cells: Cells, times: Array, spacing: float, tiny: float) -> float:
    """Move all probes at once by ever smaller steps, each as often as it helps; what it saves."""
    from analytic.probing.descent import lattice_moves

    saved = 0.0
    room = times[-1] - (len(times) - 1) * spacing
    width = room / 8
    while width > _SMALLEST * times[-1]:
        for _ in range(_REPEATS):
            more = float(lattice_moves(cells, times, spacing, width, tiny))
            saved += more
            if more <= _WORTH * saved:
                break
        width /= 4
    return saved


def _moved_blocks(cells: Cells, times: Array, spacing: float) -> float:
    """Shift the first or the last probes of each group that keeps together; what it saves.

    One by one they cannot move: the jamming of which the paper speaks. Of a long group only those
    are tried with the steepest descent, since all of them would be work of the square.
    """
    from analytic.probing.descent import derivatives, move

    saved = 0.0
    last = len(times) - 1
    before, after, _, _ = derivatives(cells, times)
    for first, end in list(_groups(times, spacing)):
        firsts = lasts = range(first, end + 1) if end > first else range(0)
        if end - first > _LONG:
            members = slice(max(first, 1) - 1, end)
            ahead = max(first, 1) + int(np.argmax(np.cumsum(before[members])))
            behind = min(end, last - 1) - int(np.argmin(np.cumsum(after[members][::-1])))
            firsts = range(ahead, ahead + 1)
            lasts = range(behind, behind + 1)
        for i in firsts if first > 0 else ():
            room = times[first] - times[first - 1] - spacing
            saved += move(cells, times, (first, i), -room) if room > 0 and i < last else 0.0
        for i in lasts if end < last else ():
            room = times[end + 1] - times[end] - spacing
            saved += move(cells, times, (i, end), room) if room > 0 and i > 0 else 0.0
    return saved


def slack(profile: Profile, times: Sequence[float], spacing: float = 0.0) -> float:
    """How far from a local optimum a schedule is: 0 where no direction lowers the cost.

    Parameters
    ----------
    profile : Profile
    times : sequence of float
        p_1, …, p_n = T.
    spacing : float
        delta.

    Returns
    -------
    float
        The steepest descent that is left, of the first probes of a group to the left or of the last
        ones to the right, relative to the largest size that its terms can have.

    Notes
    -----
    One probe alone is a group: ``a_l Lambda(p-, p) <= lambda_l A(p, p+)`` with the values on the
    left, and >= with those on the right, in the interior of a cell both. To first order the cost
    of several moves is the sum of those of each, so that no other direction needs a look.
    """
    from analytic.probing.descent import derivatives

    cells = profile.cells
    now = with_start(profile, times, 0.0)
    _snap(cells.edges, now)
    if len(now) < 3:
        return 0.0
    before, after, _, _ = derivatives(cells, now)
    inside = profile.between(now[:-1], now[1:])
    sizes = cells.weights.max() * inside.updates[:-1] + cells.rates.max() * inside.importance[1:]
    worst = 0.0
    for first, end in _groups(now, spacing):
        members = slice(max(first, 1) - 1, end)
        if first > 0:
            worst = max(worst, float(np.cumsum(before[members]).max(initial=0.0)))
        if end < len(now) - 1:
            worst = max(worst, float(-np.cumsum(after[members][::-1]).min(initial=0.0)))
    return worst / float(sizes.max() or 1.0)


def _groups(times: Array, spacing: float) -> Iterator[tuple[int, int]]:
    """First and last probe of every group that keeps together; 0 is the start, n the horizon."""
    limit = spacing * (1 + _TIGHT) + 4 * np.finfo(float).eps * times[-1]
    tight = np.diff(times) <= limit
    first = 0
    for i in range(1, len(times) + 1):
        if i == len(times) or not tight[i - 1]:
            yield first, i - 1
            first = i


def _snap(edges: Array, times: Array) -> None:
    """Put probes that are a rounding error from an edge on it."""
    after = np.clip(np.searchsorted(edges, times), 1, len(edges) - 1)
    for near in (edges[after - 1], edges[after]):
        close = np.abs(times - near) <= 16 * np.finfo(float).eps * edges[-1]
        snapped = np.where(close, near, times)
        apart = np.diff(snapped) > 0
        alone = np.append(True, apart) & np.append(apart, True)
        times[close & alone] = near[close & alone]


def _newton(cells: Cells, times: Array, spacing: float, tiny: float) -> float:
    """Newton's step, cut where a probe leaves its cell and halved until it helps; what it saves."""
    from analytic.probing.descent import total

    step = _newton_step(cells, times, spacing)
    present = total(cells, times)
    gaps = np.minimum(np.diff(times), spacing * (1 - _ROUNDING))
    for _ in range(_HALVINGS if step.any() else 0):
        trial = times + step
        _snap(cells.edges, trial)
        close = ((np.diff(trial) <= 0) | (np.diff(trial) < gaps)).any()
        if not close and (saved := present - total(cells, trial)) > -tiny:
            times[:] = trial
            return max(float(saved), 0.0)
        step /= 2
    return 0.0


def _newton_step(cells: Cells, times: Array, spacing: float) -> Array:
    """Shifts of all probes p_0, …, p_n: those of one group alike, 0 for fixed ones."""
    from analytic.probing.descent import derivatives

    edges = cells.edges
    last = len(times) - 1
    _, slopes, own, cross = derivatives(cells, times)
    on_edge = edges[np.searchsorted(edges, times)] == times
    step = np.zeros(len(times))
    system = []
    for first, end in _groups(times, spacing):
        fixed = first == 0 or end == last or on_edge[first : end + 1].any()
        members = slice(first - 1, end)
        inner = 2 * float(cross[first - 1 : end - 1].sum()) if not fixed else 0.0
        curve = 0.0 if fixed else float(own[members].sum()) + inner
        slope = 0.0 if fixed else float(slopes[members].sum())
        system.append((first, end, curve, slope))
    shifts = _tridiagonal(system, cross)
    for (first, end, _, _), shift in zip(system, shifts, strict=True):
        step[first : end + 1] = _inside(edges, times[first : end + 1], shift)
    return step


def _tridiagonal(system: list[tuple[int, int, float, float]], cross: Array) -> list[float]:
    """``-H^-1 g`` over the groups that are free and where H is positive definite so far, else 0."""
    pivots: list[float] = []
    sides: list[float] = []
    for first, _, curve, slope in system:
        pivot = curve
        side = -slope
        if pivots and pivots[-1] > 0 and curve > 0:
            factor = cross[first - 2] / pivots[-1]
            pivot -= factor * cross[first - 2]
            side -= factor * sides[-1]
        pivots.append(pivot if pivot > _ROUNDING * curve else 0.0)
        sides.append(side)
    shifts = [0.0] * len(system)
    for k in range(len(system) - 1, -1, -1):
        if pivots[k] > 0:
            end = system[k][1]
            following = cross[end - 1] * shifts[k + 1] if k + 1 < len(system) else 0.0
            shifts[k] = float((sides[k] - following) / pivots[k])
    return shifts


def _inside(edges: Array, members: Array, shift: float) -> float:
    """The shift, cut where a probe comes to the edge of its cell."""
    right = np.minimum(np.searchsorted(edges, members, "right"), len(edges) - 1)
    least = float((edges[right - 1] - members).max())
    return min(max(shift, least), float((edges[right] - members).min()))
